//! The clause as text.

use super::{Bound, Given, Method, Partition, Partitioned, Values};
use crate::written::{name_in, push_literal};
use std::fmt::Write as _;
use vaquita_engine::lower::charset::Charset;
use vaquita_parser::is_quoted_in_partitions;

/// For whom the text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum For {
    /// It is kept, with all that is known.
    Keeping,
    /// SHOW CREATE TABLE, within a comment; what stands around names.
    Showing(char),
}

impl Partitioned {
    /// The text that is kept, and in `.frm` files.
    pub fn to_clause(&self) -> String {
        self.text(For::Keeping)
    }

    /// The text within the comment of SHOW CREATE TABLE, with `quote` around names that need it, and the version of MySQL that the comment
    /// is for.
    pub fn shown(&self, quote: char) -> (&'static str, String) {
        let columns = matches!(self.method, Method::RangeColumns(_) | Method::ListColumns(_));
        (if columns { "50500" } else { "50100" }, self.text(For::Showing(quote)))
    }

    fn text(&self, whom: For) -> String {
        let mut out = String::from(" PARTITION BY ");
        method(&self.method, whom, &mut out);
        if self.given == Given::Count {
            put(&mut out, format_args!("\nPARTITIONS {}", self.partitions.len()));
        }
        if let Some(sub) = &self.sub {
            out.push_str("\nSUBPARTITION BY ");
            method(&sub.method, whom, &mut out);
            if sub.given == Given::Count {
                put(&mut out, format_args!("\nSUBPARTITIONS {}", sub.count));
            }
        }
        if self.given == Given::List {
            let with_subs = self.sub.as_ref().is_some_and(|sub| sub.given == Given::List);
            for (at, p) in self.partitions.iter().enumerate() {
                out.push_str(if at == 0 { "\n(" } else { ",\n " });
                partition(p, &self.method, with_subs, whom, &mut out);
            }
            out.push(')');
        }
        out
    }
}

fn put(out: &mut String, args: std::fmt::Arguments<'_>) {
    out.write_fmt(args).expect("writing to a String does not fail");
}

fn name(name: &str, whom: For) -> String {
    match whom {
        _ if !is_quoted_in_partitions(name.as_bytes()) => name.to_owned(),
        For::Keeping => name_in('`', name),
        For::Showing(quote) => name_in(quote, name),
    }
}

fn method(of: &Method, whom: For, out: &mut String) {
    let list = |columns: &[String]| columns.iter().map(|c| name(c, whom)).collect::<Vec<_>>().join(",");
    let linear = |linear: bool| if linear { "LINEAR " } else { "" };
    match of {
        Method::Range(expr) => put(out, format_args!("RANGE ({expr})")),
        Method::List(expr) => put(out, format_args!("LIST ({expr})")),
        Method::RangeColumns(columns) => put(out, format_args!("RANGE  COLUMNS({})", list(columns))),
        Method::ListColumns(columns) => put(out, format_args!("LIST  COLUMNS({})", list(columns))),
        Method::Hash { linear: is, expr } => put(out, format_args!("{}HASH ({expr})", linear(*is))),
        Method::Key { linear: is, old, columns } => {
            let algorithm = match (whom, old) {
                (For::Keeping, true) => "/*!50611 ALGORITHM = 1 */ ",
                (For::Keeping, false) => "/*!50611 ALGORITHM = 2 */ ",
                // The comment around it ends, and begins again.
                (For::Showing(_), true) => "*/ /*!50611 ALGORITHM = 1 */ /*!50100 ",
                (For::Showing(_), false) => "",
            };
            put(out, format_args!("{}KEY {algorithm}({})", linear(*is), list(columns)));
        }
    }
}

fn partition(p: &Partition, of: &Method, with_subs: bool, whom: For, out: &mut String) {
    put(out, format_args!("PARTITION {}", name(&p.name, whom)));
    match (&p.values, of) {
        (Values::LessThan(bounds), Method::Range(_)) if bounds[..] == [Bound::Max] => {
            out.push_str(" VALUES LESS THAN MAXVALUE");
        }
        (Values::LessThan(bounds), _) => put(out, format_args!(" VALUES LESS THAN ({})", row(bounds, whom))),
        (Values::In(rows), _) => put(out, format_args!(" VALUES IN ({})", rows_text(rows, whom))),
        (Values::None, _) => {}
    }
    if !with_subs {
        return options(p, whom, out);
    }
    for (at, sub) in p.subpartitions.iter().enumerate() {
        out.push_str(if at == 0 { "\n (" } else { ",\n  " });
        put(out, format_args!("SUBPARTITION {}", name(&sub.name, whom)));
        options(sub, whom, out);
    }
    out.push(')');
}

fn rows_text(rows: &[Vec<Bound>], whom: For) -> String {
    let one = |bounds: &Vec<Bound>| match bounds.len() {
        1 => row(bounds, whom),
        _ => format!("({})", row(bounds, whom)),
    };
    rows.iter().map(one).collect::<Vec<_>>().join(",")
}

fn row(bounds: &[Bound], whom: For) -> String {
    bounds.iter().map(|bound| bound_text(bound, whom)).collect::<Vec<_>>().join(",")
}

fn bound_text(bound: &Bound, whom: For) -> String {
    match bound {
        Bound::Max => "MAXVALUE".to_owned(),
        Bound::Null => "NULL".to_owned(),
        Bound::Number(n) => n.to_string(),
        Bound::Text { collation, bytes } => {
            let charset = Charset::of_any_collation(*collation);
            match (whom, charset) {
                (For::Showing(_), Some(charset)) => literal(&charset.decode(bytes).unwrap_or_default(), "''"),
                (_, charset) => {
                    let hex: String = bytes.iter().map(|b| format!("{b:02X}")).collect();
                    match hex.is_empty() {
                        true => format!("_{} ''", charset.map_or("binary", |c| c.name)),
                        false => format!("_{} 0x{hex}", charset.map_or("binary", |c| c.name)),
                    }
                }
            }
        }
    }
}

/// A string between quotes; `quote` stands for one in it.
fn literal(text: &str, quote: &str) -> String {
    let mut out = String::new();
    push_literal(text, quote, &mut out);
    out
}

fn options(p: &Partition, whom: For, out: &mut String) {
    if let Some(tablespace) = &p.tablespace {
        put(out, format_args!(" TABLESPACE = {}", name(tablespace, whom)));
    }
    if p.max_rows != 0 {
        put(out, format_args!(" MAX_ROWS = {}", p.max_rows));
    }
    if p.min_rows != 0 {
        put(out, format_args!(" MIN_ROWS = {}", p.min_rows));
    }
    if let Some(directory) = &p.data_directory {
        put(out, format_args!(" DATA DIRECTORY = {}", literal(directory, "\\'")));
    }
    if !p.comment.is_empty() {
        put(out, format_args!(" COMMENT = {}", literal(&p.comment, "\\'")));
    }
    out.push_str(" ENGINE = InnoDB");
}

impl Values {
    /// PARTITION_DESCRIPTION of information_schema.
    pub fn described(&self) -> Option<String> {
        match self {
            Values::None => None,
            Values::LessThan(bounds) => Some(row(bounds, For::Showing('`'))),
            Values::In(rows) => Some(rows_text(rows, For::Showing('`'))),
        }
    }
}
