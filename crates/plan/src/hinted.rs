//! Optimizer hints by themselves, apart from the text that they stood in.

use vaquita_parser::ast::{Hint, HintOrder, HintPurpose, HintWhat};

/// What a hint of tables asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    Order(HintOrder),
    Indexes {
        purpose: HintPurpose,
        use_them: bool,
    },
    /// Derived tables and views become part of the block that names them, or not.
    Merge(bool),
    /// Tables are joined by hash, or not.
    Hash(bool),
    /// No ranges of indexes are read.
    NoRanges,
    /// What is not among the ways of this planner.
    Nothing,
}

impl Wish {
    /// What a hint about a method asks for. BNL and NO_BNL are about hash joins in MySQL, too, from 8.0.20 on.
    fn of_method(name: &str) -> Wish {
        match name {
            "MERGE" => Wish::Merge(true),
            "NO_MERGE" => Wish::Merge(false),
            "BNL" | "HASH_JOIN" => Wish::Hash(true),
            "NO_BNL" | "NO_HASH_JOIN" => Wish::Hash(false),
            "NO_RANGE_OPTIMIZATION" => Wish::NoRanges,
            _ => Wish::Nothing,
        }
    }
}

/// A hint of tables, by itself.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) name: &'static str,
    pub(crate) wish: Wish,
    pub(crate) tables: Vec<String>,
    pub(crate) indexes: Vec<String>,
}

/// Hints that are for blocks which have not been planned yet, with the blocks' names.
#[derive(Debug, Default)]
pub(crate) struct Waiting(pub(crate) Vec<(String, Asked)>);

pub(crate) use vaquita_catalog::quoted_name as quoted;

impl Asked {
    /// What a hint asks; `None`: it is not about tables.
    pub(crate) fn of(hint: &Hint<'_>) -> Option<Asked> {
        let wish = match hint.what {
            HintWhat::Order(order) => Wish::Order(order),
            HintWhat::Indexes { purpose, use_them } => Wish::Indexes { purpose, use_them },
            HintWhat::Method => Wish::of_method(hint.name),
            HintWhat::Subquery => Wish::Nothing,
            _ => return None,
        };
        Some(Asked {
            name: hint.name,
            wish,
            tables: hint.tables.iter().map(|table| table.name.to_string()).collect(),
            indexes: hint.indexes.iter().map(|name| name.to_string()).collect(),
        })
    }

    /// What it takes as its own: a second hint with the same conflicts with it.
    pub(crate) fn claims(&self) -> Vec<String> {
        let base = self.name.trim_start_matches("NO_");
        match self.wish {
            // Several orders may hold at once.
            Wish::Order(HintOrder::These) => Vec::new(),
            Wish::Order(_) => vec![base.to_owned()],
            Wish::Nothing | Wish::NoRanges if !self.indexes.is_empty() => {
                let of = |index| format!("{base} {} {index}", self.tables.join(","));
                self.indexes.iter().map(of).collect()
            }
            _ if self.tables.is_empty() => vec![base.to_owned()],
            _ => self.tables.iter().map(|table| format!("{base} {table}")).collect(),
        }
    }

    /// As messages have what stands between its parentheses.
    pub(crate) fn arguments(&self) -> String {
        let tables: Vec<String> = self.tables.iter().map(|name| quoted(name)).collect();
        let indexes: Vec<String> = self.indexes.iter().map(|name| quoted(name)).collect();
        let (tables, indexes) = (tables.join(", "), indexes.join(", "));
        if indexes.is_empty() { tables } else { format!("{tables} {indexes}") }
    }
}
