//! A transcript: every statement with all that its client learns, in a form that two servers can be compared by.
//!
//! ```text
//! > select 1, null
//! 1    NULL              names, then rows, separated by tabs
//! 1    NULL
//! = 1 row
//! > insert into t values (300)
//! = affected 1, insert id 7, Records: 1  Duplicates: 0  Warnings: 1
//! ! Warning 1264 Out of range value for column 'a' at row 1
//! > select nope
//! ! error 1054 (42S22) Unknown column 'nope' in 'field list'
//! ```

use super::backend::Backend;
use super::print::{Heading, Output, Summary, write_escaped};
use std::io::{self, Write};
use vaquita_sql::SqlError;

struct Lines<'o> {
    out: &'o mut dyn Write,
    rows: Option<u64>,
    warnings: u16,
}

impl Lines<'_> {
    fn line<'v>(&mut self, cells: impl Iterator<Item = Option<&'v [u8]>>) -> io::Result<()> {
        for (i, cell) in cells.enumerate() {
            if i > 0 {
                self.out.write_all(b"\t")?;
            }
            match cell {
                None => self.out.write_all(b"NULL")?,
                Some(cell) => write_escaped(self.out, cell)?,
            }
        }
        self.out.write_all(b"\n")
    }
}

impl Output for Lines<'_> {
    fn columns(&mut self, columns: Vec<Heading>) -> io::Result<()> {
        self.rows = Some(0);
        self.line(columns.iter().map(|c| Some(c.name.as_bytes())))
    }

    fn row(&mut self, values: &[Option<&[u8]>]) -> io::Result<()> {
        self.rows = self.rows.map(|n| n + 1);
        self.line(values.iter().copied())
    }

    fn end(&mut self, summary: Summary) -> io::Result<()> {
        self.warnings = summary.warnings;
        match self.rows.take() {
            Some(1) => writeln!(self.out, "= 1 row"),
            Some(n) => writeln!(self.out, "= {n} rows"),
            None => {
                write!(self.out, "= affected {}", summary.affected_rows)?;
                if summary.insert_id != 0 {
                    write!(self.out, ", insert id {}", summary.insert_id)?;
                }
                if !summary.info.is_empty() {
                    write!(self.out, ", {}", summary.info)?;
                }
                writeln!(self.out)
            }
        }
    }
}

/// The rows of SHOW WARNINGS, one a line.
struct Conditions<'o>(&'o mut dyn Write);

impl Output for Conditions<'_> {
    fn columns(&mut self, _: Vec<Heading>) -> io::Result<()> {
        Ok(())
    }

    fn row(&mut self, values: &[Option<&[u8]>]) -> io::Result<()> {
        let words: Vec<_> = values.iter().map(|v| String::from_utf8_lossy(v.unwrap_or(b"NULL"))).collect();
        writeln!(self.0, "! {}", words.join(" "))
    }

    fn end(&mut self, _: Summary) -> io::Result<()> {
        Ok(())
    }
}

/// Runs a statement and writes down what comes of it.
pub(super) fn statement(backend: &mut dyn Backend, text: &[u8], out: &mut dyn Write) -> io::Result<()> {
    write!(out, "> ")?;
    out.write_all(text.trim_ascii())?;
    writeln!(out)?;
    let mut lines = Lines { out, rows: None, warnings: 0 };
    let done = backend.run(text, &mut lines);
    let warnings = lines.warnings;
    let failed = |out: &mut dyn Write, e: &SqlError| {
        writeln!(out, "! error {} ({}) {}", e.code, e.sqlstate, e.message)
    };
    match done {
        Err(e) => failed(out, &e)?,
        Ok(()) if warnings > 0 => {
            if let Err(e) = backend.run(b"show warnings", &mut Conditions(out)) {
                failed(out, &e)?;
            }
        }
        Ok(()) => {}
    }
    out.flush()
}
