//! How a table is partitioned: the clause PARTITION BY as data, read from statements and from the text that is kept ([`read`]), and as
//! text again.
//!
//! The text that is kept is that of a `.frm` of MySQL 5.6: expressions as they were written, constants as numbers, strings as hexadecimal
//! digits behind their character set, every partition with its engine.

mod print;
mod read;

pub use read::{Constant, WhichText};

use crate::names::same_name;
use crate::written::quoted_name;
use vaquita_engine::PartSpec;

/// Most partitions of a table, subpartitions counted.
pub const PARTITIONS_MAX: u64 = 8192;

/// How a table is partitioned.
#[derive(Debug, Clone, PartialEq)]
pub struct Partitioned {
    /// How rows are divided.
    pub method: Method,
    /// How those of a partition are divided.
    pub sub: Option<Sub>,
    /// The partitions.
    pub partitions: Vec<Partition>,
    /// How they were given.
    pub given: Given,
}

/// How partitions were given: as they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    /// Not at all.
    Not,
    /// By their number.
    Count,
    /// One by one.
    List,
}

/// How rows are divided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Method {
    /// RANGE (expression as written).
    Range(String),
    /// LIST.
    List(String),
    /// RANGE COLUMNS.
    RangeColumns(Vec<String>),
    /// LIST COLUMNS.
    ListColumns(Vec<String>),
    /// HASH.
    Hash {
        /// LINEAR.
        linear: bool,
        /// The expression as written.
        expr: String,
    },
    /// KEY.
    Key {
        /// LINEAR.
        linear: bool,
        /// Numbers and times are hashed as before MySQL 5.5 (ALGORITHM = 1).
        old: bool,
        /// The columns; those of the primary key if there are none.
        columns: Vec<String>,
    },
}

/// SUBPARTITION BY.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sub {
    /// HASH or KEY.
    pub method: Method,
    /// Subpartitions of a partition.
    pub count: u64,
    /// How they were given.
    pub given: Given,
}

/// A partition or subpartition.
#[derive(Debug, Clone, PartialEq)]
pub struct Partition {
    /// Its name.
    pub name: String,
    /// Which rows it has.
    pub values: Values,
    /// COMMENT.
    pub comment: String,
    /// MAX_ROWS; 0: not said.
    pub max_rows: u64,
    /// MIN_ROWS.
    pub min_rows: u64,
    /// TABLESPACE, which means nothing.
    pub tablespace: Option<String>,
    /// DATA DIRECTORY.
    pub data_directory: Option<String>,
    /// Its subpartitions.
    pub subpartitions: Vec<Partition>,
}

/// Which rows a partition has.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Not said: HASH, KEY, subpartitions.
    None,
    /// LESS THAN.
    LessThan(Vec<Bound>),
    /// IN: one list for each combination.
    In(Vec<Vec<Bound>>),
}

/// A constant of a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bound {
    /// MAXVALUE.
    Max,
    /// NULL.
    Null,
    /// A number.
    Number(i128),
    /// A string of a character set, which its default collation tells.
    Text {
        /// That collation.
        collation: u16,
        /// Its bytes.
        bytes: Vec<u8>,
    },
}

impl Partition {
    /// A partition of which nothing is said but its name.
    pub fn new(name: impl Into<String>) -> Partition {
        Partition {
            name: name.into(),
            values: Values::None,
            comment: String::new(),
            max_rows: 0,
            min_rows: 0,
            tablespace: None,
            data_directory: None,
            subpartitions: Vec::new(),
        }
    }

    /// Its files, and those of its subpartitions, are in the folder.
    pub fn leave_directory(&mut self) {
        self.data_directory = None;
        self.subpartitions.iter_mut().for_each(Partition::leave_directory);
    }
}

impl Method {
    /// Its name in information_schema.
    pub fn name(&self) -> &'static str {
        match self {
            Method::Range(_) => "RANGE",
            Method::List(_) => "LIST",
            Method::RangeColumns(_) => "RANGE COLUMNS",
            Method::ListColumns(_) => "LIST COLUMNS",
            Method::Hash { linear: false, .. } => "HASH",
            Method::Hash { linear: true, .. } => "LINEAR HASH",
            Method::Key { linear: false, .. } => "KEY",
            Method::Key { linear: true, .. } => "LINEAR KEY",
        }
    }

    /// Its columns, if it has a list of them.
    pub fn columns(&self) -> Option<&[String]> {
        match self {
            Method::RangeColumns(columns) | Method::ListColumns(columns) | Method::Key { columns, .. } => {
                Some(columns)
            }
            _ => None,
        }
    }

    /// Its expression, if it has one.
    pub fn expr(&self) -> Option<&str> {
        match self {
            Method::Range(expr) | Method::List(expr) | Method::Hash { expr, .. } => Some(expr),
            _ => None,
        }
    }

    /// RANGE, with or without COLUMNS.
    pub fn is_range(&self) -> bool {
        matches!(self, Method::Range(_) | Method::RangeColumns(_))
    }

    /// LIST, with or without COLUMNS.
    pub fn is_list(&self) -> bool {
        matches!(self, Method::List(_) | Method::ListColumns(_))
    }

    /// As information_schema shows what it looks at.
    pub fn shown(&self) -> String {
        match (self.columns(), self.expr()) {
            (Some(columns), _) => columns.iter().map(|name| quoted_name(name)).collect::<Vec<_>>().join(","),
            (None, expr) => expr.unwrap_or_default().to_owned(),
        }
    }
}

impl Partitioned {
    /// Position of a partition, by name without case.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.partitions.iter().position(|p| same_name(&p.name, name))
    }

    /// Subpartitions of each partition; 1 without any.
    pub fn per_partition(&self) -> usize {
        self.sub.as_ref().map_or(1, |sub| sub.count as usize)
    }

    /// All parts in order: the partition each belongs to, and the partition or subpartition that it is.
    pub fn parts(&self) -> impl Iterator<Item = (&Partition, &Partition)> {
        self.partitions.iter().flat_map(|p| {
            let own = p.subpartitions.is_empty().then_some(p);
            own.into_iter().chain(&p.subpartitions).map(move |part| (p, part))
        })
    }

    /// How the files of the parts are named, in order.
    pub fn file_parts(&self) -> Vec<String> {
        use vaquita_engine::lower::filename::encode;
        let file = |name: &str| encode(name).unwrap_or_else(|_| name.to_owned());
        let one = |(p, part): (&Partition, &Partition)| match std::ptr::eq(p, part) {
            true => file(&p.name),
            false => format!("{}#SP#{}", file(&p.name), file(&part.name)),
        };
        self.parts().map(one).collect()
    }

    /// The parts as the engine is to make them.
    pub fn part_specs(&self) -> Vec<PartSpec> {
        let directories = self.parts().map(|(_, part)| part.data_directory.clone());
        let each = self.file_parts().into_iter().zip(directories);
        each.map(|(name, directory)| PartSpec { name, directory }).collect()
    }

    /// The parts that a partition or subpartition of that name is, by number; `None` if there is none.
    pub fn parts_named(&self, name: &str) -> Option<Vec<usize>> {
        let per = self.per_partition();
        if let Some(at) = self.position(name) {
            return Some((at * per..(at + 1) * per).collect());
        }
        let mut parts = self.parts();
        let at = parts.position(|(p, part)| !std::ptr::eq(p, part) && same_name(&part.name, name))?;
        Some(vec![at])
    }

    /// The name of a part: that of its partition, and of its subpartition behind `_`, as EXPLAIN has it.
    pub fn explained(&self, part: usize) -> String {
        match self.parts().nth(part) {
            Some((p, part)) if std::ptr::eq(p, part) => p.name.clone(),
            Some((p, part)) => format!("{}_{}", p.name, part.name),
            None => String::new(),
        }
    }
}
