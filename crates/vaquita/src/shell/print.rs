//! Results as text: tables, one value a line, tab-separated lines; [`super::forms`] has the forms for other programs.

use super::forms;
use std::io::{self, Write};
use std::time::Duration;
use unicode_width::UnicodeWidthStr;

/// Forms of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Form {
    /// With frames and padding
    Table,
    /// One value a line
    Vertical,
    /// Separated by tabs, as MySQL's client in scripts
    Tsv,
    /// Separated by commas, quoted where need be; NULL is nothing, the empty text is ""
    Csv,
    /// An array of objects for each result
    Json,
    /// A table of Markdown
    Markdown,
}

/// How results look.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    pub(super) form: Form,
    /// With column names; JSON always has them.
    pub(super) names: bool,
}

/// A column's heading.
#[derive(Debug, Clone)]
pub(super) struct Heading {
    pub(super) name: String,
    /// Numbers stand at the right of tables.
    pub(super) number: bool,
    /// Binary strings that are no text are shown in hexadecimal in tables.
    pub(super) binary: bool,
}

/// What a statement did.
#[derive(Debug, Clone, Default)]
pub(super) struct Summary {
    pub(super) affected_rows: u64,
    pub(super) insert_id: u64,
    pub(super) warnings: u16,
    pub(super) info: String,
}

/// Takes results.
pub(super) trait Output {
    fn columns(&mut self, columns: Vec<Heading>) -> io::Result<()>;
    /// Values as text; `None` is NULL.
    fn row(&mut self, values: &[Option<&[u8]>]) -> io::Result<()>;
    fn end(&mut self, summary: Summary) -> io::Result<()>;
}

/// Drops everything.
pub(super) struct Nothing;

impl Output for Nothing {
    fn columns(&mut self, _: Vec<Heading>) -> io::Result<()> {
        Ok(())
    }

    fn row(&mut self, _: &[Option<&[u8]>]) -> io::Result<()> {
        Ok(())
    }

    fn end(&mut self, _: Summary) -> io::Result<()> {
        Ok(())
    }
}

/// Keeps rows as text.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub(super) rows: Vec<Vec<Option<String>>>,
}

impl Output for Collected {
    fn columns(&mut self, _: Vec<Heading>) -> io::Result<()> {
        Ok(())
    }

    fn row(&mut self, values: &[Option<&[u8]>]) -> io::Result<()> {
        let text = |value: &Option<&[u8]>| value.map(|v| String::from_utf8_lossy(v).into_owned());
        self.rows.push(values.iter().map(text).collect());
        Ok(())
    }

    fn end(&mut self, _: Summary) -> io::Result<()> {
        Ok(())
    }
}

/// Rows of a table are held back to learn their widths, up to so many bytes; later ones may stand out.
const HELD_BYTES: usize = 16 << 20;

/// Prints results.
pub(super) struct Printer<'o> {
    layout: Layout,
    out: &'o mut dyn Write,
    columns: Vec<Heading>,
    held: Vec<Vec<String>>,
    held_bytes: usize,
    widths: Vec<usize>,
    frame_open: bool,
    rows: u64,
    in_result: bool,
    /// A line about what was done that still wants the time.
    done: Vec<(String, u16, String)>,
}

impl<'o> Printer<'o> {
    pub(super) fn new(layout: Layout, out: &'o mut dyn Write) -> Printer<'o> {
        Printer {
            layout,
            out,
            columns: Vec::new(),
            held: Vec::new(),
            held_bytes: 0,
            widths: Vec::new(),
            frame_open: false,
            rows: 0,
            in_result: false,
            done: Vec::new(),
        }
    }

    /// After the statement, failed or not. Gives the lines about what was done.
    pub(super) fn finish(mut self, took: Duration) -> io::Result<String> {
        self.close_result()?;
        let mut out = String::new();
        for (what, warnings, info) in std::mem::take(&mut self.done) {
            let warned = match warnings {
                0 => String::new(),
                1 => ", 1 warning".to_owned(),
                n => format!(", {n} warnings"),
            };
            out += &format!("{what}{warned} ({:.2} sec)\n", took.as_secs_f64());
            if !info.is_empty() {
                out += &format!("{info}\n");
            }
            out.push('\n');
        }
        Ok(out)
    }

    fn rule(&mut self) -> io::Result<()> {
        for width in &self.widths {
            write!(self.out, "+{}", "-".repeat(width + 2))?;
        }
        writeln!(self.out, "+")
    }

    fn framed_row(&mut self, cells: &[String], heading: bool) -> io::Result<()> {
        for (i, cell) in cells.iter().enumerate() {
            let pad = " ".repeat(self.widths[i].saturating_sub(cell.width()));
            if self.columns[i].number && !heading {
                write!(self.out, "| {pad}{cell} ")?;
            } else {
                write!(self.out, "| {cell}{pad} ")?;
            }
        }
        writeln!(self.out, "|")
    }

    /// Prints the rows that were held back, below the heading.
    fn open_frame(&mut self) -> io::Result<()> {
        self.frame_open = true;
        let held = std::mem::take(&mut self.held);
        for cells in &held {
            for (width, cell) in self.widths.iter_mut().zip(cells) {
                *width = (*width).max(cell.width());
            }
        }
        self.rule()?;
        if self.layout.names {
            let names: Vec<String> = self.columns.iter().map(|c| c.name.clone()).collect();
            self.framed_row(&names, true)?;
            self.rule()?;
        }
        held.iter().try_for_each(|cells| self.framed_row(cells, false))
    }

    fn close_result(&mut self) -> io::Result<()> {
        if self.layout.form == Form::Json && self.in_result {
            self.out.write_all(if self.rows == 0 { b"[]\n" } else { b"\n]\n" })?;
        }
        if self.layout.form == Form::Table && (self.frame_open || !self.held.is_empty()) {
            if !self.frame_open {
                self.open_frame()?;
            }
            self.rule()?;
        }
        self.frame_open = false;
        self.held_bytes = 0;
        Ok(())
    }

    fn vertical_row(&mut self, values: &[Option<&[u8]>]) -> io::Result<()> {
        writeln!(self.out, "{0} {1}. row {0}", "*".repeat(27), self.rows)?;
        let widest = self.columns.iter().map(|c| c.name.width()).max().unwrap_or(0);
        for (column, value) in self.columns.iter().zip(values) {
            let pad = " ".repeat(widest.saturating_sub(column.name.width()));
            write!(self.out, "{pad}{}: ", column.name)?;
            self.out.write_all(value.unwrap_or(b"NULL"))?;
            writeln!(self.out)?;
        }
        Ok(())
    }

    fn tabbed_row(&mut self, values: &[Option<&[u8]>]) -> io::Result<()> {
        for (i, value) in values.iter().enumerate() {
            if i > 0 {
                self.out.write_all(b"\t")?;
            }
            match value {
                None => self.out.write_all(b"NULL")?,
                Some(value) => write_escaped(self.out, value)?,
            }
        }
        self.out.write_all(b"\n")
    }
}

/// Tabs, line ends, NUL and backslashes would break tab-separated lines.
pub(super) fn write_escaped(out: &mut dyn Write, value: &[u8]) -> io::Result<()> {
    let mut plain = 0;
    for (i, byte) in value.iter().enumerate() {
        let escape = match byte {
            b'\t' => b"\\t",
            b'\n' => b"\\n",
            0 => b"\\0",
            b'\\' => b"\\\\",
            _ => continue,
        };
        out.write_all(&value[plain..i])?;
        out.write_all(escape)?;
        plain = i + 1;
    }
    out.write_all(&value[plain..])
}

pub(super) fn cell(value: Option<&[u8]>, column: &Heading) -> String {
    let Some(value) = value else { return "NULL".to_owned() };
    match std::str::from_utf8(value) {
        Ok(text) if !column.binary || !text.chars().any(char::is_control) => text.to_owned(),
        _ if column.binary => {
            let digits: String = value.iter().map(|b| format!("{b:02X}")).collect();
            format!("0x{digits}")
        }
        _ => String::from_utf8_lossy(value).into_owned(),
    }
}

impl Output for Printer<'_> {
    fn columns(&mut self, columns: Vec<Heading>) -> io::Result<()> {
        self.widths = columns.iter().map(|c| if self.layout.names { c.name.width() } else { 0 }).collect();
        self.columns = columns;
        (self.rows, self.in_result) = (0, true);
        match self.layout.form {
            // As MySQL's client: no heading without a row; the row writes it.
            Form::Tsv if self.layout.names => {
                self.held = vec![self.columns.iter().map(|c| c.name.clone()).collect()];
                Ok(())
            }
            Form::Csv if self.layout.names => forms::csv_heading(self.out, &self.columns),
            Form::Markdown => forms::markdown_heading(self.out, &self.columns, self.layout.names),
            _ => Ok(()),
        }
    }

    fn row(&mut self, values: &[Option<&[u8]>]) -> io::Result<()> {
        self.rows += 1;
        match self.layout.form {
            Form::Vertical => return self.vertical_row(values),
            Form::Tsv => {
                for names in std::mem::take(&mut self.held) {
                    let names: Vec<Option<&[u8]>> = names.iter().map(|n| Some(n.as_bytes())).collect();
                    self.tabbed_row(&names)?;
                }
                return self.tabbed_row(values);
            }
            Form::Csv => return forms::csv_row(self.out, values, &self.columns),
            Form::Json => {
                self.out.write_all(if self.rows == 1 { b"[\n" } else { b",\n" })?;
                return forms::json_row(self.out, values, &self.columns);
            }
            Form::Markdown => return forms::markdown_row(self.out, values, &self.columns),
            Form::Table => {}
        }
        let cells: Vec<String> = values.iter().zip(&self.columns).map(|(v, c)| cell(*v, c)).collect();
        if self.frame_open {
            return self.framed_row(&cells, false);
        }
        self.held_bytes += cells.iter().map(String::len).sum::<usize>();
        self.held.push(cells);
        if self.held_bytes > HELD_BYTES {
            self.open_frame()?;
        }
        Ok(())
    }

    fn end(&mut self, summary: Summary) -> io::Result<()> {
        self.close_result()?;
        self.held.clear();
        let plural = |n: u64| if n == 1 { "row" } else { "rows" };
        let what = match (self.in_result, self.rows) {
            (true, 0) => "Empty set".to_owned(),
            (true, n) => format!("{n} {} in set", plural(n)),
            (false, _) => {
                let n = summary.affected_rows;
                format!("Query OK, {n} {} affected", plural(n))
            }
        };
        self.in_result = false;
        self.done.push((what, summary.warnings, summary.info));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(layout: Layout, rows: &[&[Option<&[u8]>]]) -> String {
        let mut out = Vec::new();
        let mut printer = Printer::new(layout, &mut out);
        let heading = |name: &str, number| Heading { name: name.into(), number, binary: false };
        printer.columns(vec![heading("id", true), heading("naïve", false)]).expect("printing to memory");
        rows.iter().for_each(|row| printer.row(row).expect("printing to memory"));
        printer.end(Summary::default()).expect("printing to memory");
        printer.finish(Duration::ZERO).expect("printing to memory");
        String::from_utf8(out).expect("text")
    }

    const ROWS: &[&[Option<&[u8]>]] = &[&[Some(b"1"), Some("größe".as_bytes())], &[Some(b"22"), None]];

    #[test]
    fn as_a_table() {
        let layout = Layout { form: Form::Table, names: true };
        let wanted = "\
+----+-------+
| id | naïve |
+----+-------+
|  1 | größe |
| 22 | NULL  |
+----+-------+
";
        assert_eq!(printed(layout, ROWS), wanted);
        assert_eq!(printed(layout, &[]), "");
    }

    #[test]
    fn one_value_a_line() {
        let layout = Layout { form: Form::Vertical, names: true };
        let stars = "*".repeat(27);
        let wanted = format!(
            "{stars} 1. row {stars}\n   id: 1\nnaïve: größe\n{stars} 2. row {stars}\n   id: 22\nnaïve: NULL\n"
        );
        assert_eq!(printed(layout, ROWS), wanted);
    }

    #[test]
    fn tab_separated() {
        let layout = Layout { form: Form::Tsv, names: true };
        let rows: &[&[Option<&[u8]>]] = &[&[Some(b"1"), Some(b"a\tb\\c\n")]];
        assert_eq!(printed(layout, rows), "id\tnaïve\n1\ta\\tb\\\\c\\n\n");
        assert_eq!(printed(layout, &[]), "");
        assert_eq!(printed(Layout { names: false, ..layout }, ROWS), "1\tgröße\n22\tNULL\n");
    }

    #[test]
    fn for_other_programs() {
        let rows: &[&[Option<&[u8]>]] =
            &[&[Some(b"1"), Some(b"a|b,\"c\"\n\x01")], &[Some(b"007"), None], &[None, Some(b"")]];
        let of = |form| printed(Layout { form, names: true }, rows);
        assert_eq!(of(Form::Csv), "id,naïve\n1,\"a|b,\"\"c\"\"\n\u{1}\"\n007,\n,\"\"\n");
        assert_eq!(
            of(Form::Json),
            "[\n{\"id\": 1, \"naïve\": \"a|b,\\\"c\\\"\\n\\u0001\"},\n\
             {\"id\": \"007\", \"naïve\": null},\n{\"id\": null, \"naïve\": \"\"}\n]\n"
        );
        assert_eq!(
            of(Form::Markdown),
            "| id | naïve |\n|---:|---|\n| 1 | a\\|b,\"c\"<br>\u{1} |\n| 007 | NULL |\n| NULL |  |\n"
        );
        for (form, wanted) in [
            (Form::Csv, "id,naïve\n"),
            (Form::Json, "[]\n"),
            (Form::Markdown, "| id | naïve |\n|---:|---|\n"),
        ] {
            assert_eq!(printed(Layout { form, names: true }, &[]), wanted);
        }
    }
}
