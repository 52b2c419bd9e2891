//! The forms of output.
//!
//! | form | values |
//! |---|---|
//! | tsv | as `mysql --batch` prints them: a line of names, tabs, `NULL`, escapes `\t \n \\ \0` |
//! | csv | RFC 4180: a line of names, quotes where needed, nothing for NULL |
//! | json | one object per line; numbers bare, hexadecimal digits of bytes as text |
//! | sql | CREATE TABLE if the `.frm` or a statement is there, then INSERT statements |

use std::io::{self, Write};

use vaquita_format::text::{TextType, escape_batch, push_sql_string};

use crate::workshop::metadata::{ShownColumn, TableInfo};

/// Form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Tab-separated, as `mysql --batch`.
    Tsv,
    /// Comma-separated.
    Csv,
    /// One JSON object per line.
    Json,
    /// Statements.
    Sql,
}

/// Name of the extra column that tells delete-marked rows.
const DELETED: &str = "(deleted)";

/// Rows of an INSERT statement.
const ROWS_PER_INSERT: u64 = 100;

/// Writes rows; values may come in pieces.
pub(super) struct RowWriter<'a, 'w> {
    format: Format,
    table: &'a TableInfo,
    /// Whether rows say if they are delete-marked.
    tells_deleted: bool,
    out: &'w mut dyn Write,
    /// Rows in the INSERT statement that has begun.
    in_insert: u64,
    values: usize,
    /// A CSV value that is being quoted.
    quoted: bool,
    buffer: String,
    /// A delete-marked row of SQL output: a comment.
    hidden: bool,
}

impl<'a, 'w> RowWriter<'a, 'w> {
    pub(super) fn new(format: Format, table: &'a TableInfo, deleted: bool, out: &'w mut dyn Write) -> Self {
        RowWriter {
            format,
            table,
            tells_deleted: deleted,
            out,
            in_insert: 0,
            values: 0,
            quoted: false,
            buffer: String::new(),
            hidden: false,
        }
    }

    pub(super) fn begin(&mut self) -> io::Result<()> {
        match self.format {
            Format::Tsv => self.names("\t", escape_batch),
            Format::Csv => self.names(",", csv_name),
            Format::Json => Ok(()),
            Format::Sql => match &self.table.create {
                Some(Ok(statement)) => writeln!(self.out, "{statement};"),
                Some(Err(e)) => writeln!(self.out, "-- no CREATE TABLE: {e}"),
                None => Ok(()),
            },
        }
    }

    fn names(&mut self, separator: &str, escape: impl Fn(&str, &mut String)) -> io::Result<()> {
        let deleted = self.tells_deleted.then_some(DELETED);
        let names = deleted.into_iter().chain(self.table.columns.iter().map(|c| c.name.as_str()));
        let mut line = String::new();
        for (i, name) in names.enumerate() {
            if i > 0 {
                line.push_str(separator);
            }
            escape(name, &mut line);
        }
        line.push('\n');
        self.out.write_all(line.as_bytes())
    }

    pub(super) fn begin_row(&mut self, deleted: bool) -> io::Result<()> {
        self.values = 0;
        match self.format {
            Format::Tsv | Format::Csv if self.tells_deleted => {
                self.values = 1;
                self.out.write_all(if deleted { b"1" } else { b"0" })
            }
            Format::Tsv | Format::Csv => Ok(()),
            Format::Json if deleted => {
                self.values = 1;
                write!(self.out, "{{\"{DELETED}\":true")
            }
            Format::Json => self.out.write_all(b"{"),
            Format::Sql => self.begin_sql_row(deleted),
        }
    }

    fn begin_sql_row(&mut self, deleted: bool) -> io::Result<()> {
        self.hidden = deleted;
        if deleted {
            self.close_insert()?;
            return self.out.write_all(b"-- deleted: (");
        }
        if self.in_insert == 0 {
            let name = self.table.name.replace('`', "``");
            writeln!(self.out, "INSERT INTO `{name}` VALUES")?;
        } else {
            self.out.write_all(b",\n")?;
        }
        self.in_insert += 1;
        self.out.write_all(b"(")
    }

    fn close_insert(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.in_insert) > 0 { self.out.write_all(b";\n") } else { Ok(()) }
    }

    pub(super) fn end_row(&mut self) -> io::Result<()> {
        match self.format {
            Format::Tsv | Format::Csv => self.out.write_all(b"\n"),
            Format::Json => self.out.write_all(b"}\n"),
            Format::Sql if self.hidden => self.out.write_all(b")\n"),
            Format::Sql => {
                self.out.write_all(b")")?;
                if self.in_insert == ROWS_PER_INSERT { self.close_insert() } else { Ok(()) }
            }
        }
    }

    pub(super) fn end(&mut self) -> io::Result<()> {
        self.close_insert()?;
        self.out.flush()
    }

    /// The separator before a value, and its name where values carry one.
    pub(super) fn begin_value(&mut self, column: &ShownColumn) -> io::Result<()> {
        let first = self.values == 0;
        self.values += 1;
        match self.format {
            Format::Tsv if first => Ok(()),
            Format::Tsv => self.out.write_all(b"\t"),
            Format::Csv if first => Ok(()),
            Format::Csv | Format::Sql if !first => self.out.write_all(b","),
            Format::Sql | Format::Csv => Ok(()),
            Format::Json => {
                self.buffer.clear();
                json_string(&column.name, &mut self.buffer);
                let comma = if first { "" } else { "," };
                write!(self.out, "{comma}\"{}\":", self.buffer)
            }
        }
    }

    pub(super) fn null(&mut self) -> io::Result<()> {
        match self.format {
            Format::Tsv | Format::Sql => self.out.write_all(b"NULL"),
            Format::Csv => Ok(()),
            Format::Json => self.out.write_all(b"null"),
        }
    }

    pub(super) fn begin_text(&mut self, column: &ShownColumn) -> io::Result<()> {
        self.quoted = !column.text.is_number();
        match self.format {
            Format::Tsv => Ok(()),
            Format::Csv if self.quoted => self.out.write_all(b"\""),
            Format::Json if self.quoted => self.out.write_all(b"\""),
            Format::Sql if column.text == TextType::Bit => self.out.write_all(b"0x"),
            Format::Sql if column.text.is_hex() => self.out.write_all(b"x'"),
            Format::Sql if self.quoted => self.out.write_all(b"'"),
            Format::Csv | Format::Json | Format::Sql => Ok(()),
        }
    }

    /// A piece of the value.
    pub(super) fn text(&mut self, text: &str) -> io::Result<()> {
        self.buffer.clear();
        match self.format {
            Format::Tsv => escape_batch(text, &mut self.buffer),
            Format::Csv => text.chars().for_each(|c| {
                if c == '"' {
                    self.buffer.push('"');
                }
                self.buffer.push(c);
            }),
            Format::Json => json_string(text, &mut self.buffer),
            Format::Sql => push_sql_string(text, &mut self.buffer),
        }
        self.out.write_all(self.buffer.as_bytes())
    }

    pub(super) fn end_text(&mut self, column: &ShownColumn) -> io::Result<()> {
        match self.format {
            Format::Csv | Format::Json if self.quoted => self.out.write_all(b"\""),
            Format::Sql if column.text != TextType::Bit && self.quoted => self.out.write_all(b"'"),
            _ => Ok(()),
        }
    }
}

fn csv_name(name: &str, out: &mut String) {
    out.push('"');
    out.push_str(&name.replace('"', "\"\""));
    out.push('"');
}

/// Appends the inside of a JSON string.
fn json_string(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
}
