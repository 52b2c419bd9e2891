//! SELECT … INTO variables or a file.

use crate::exec::{Flow, Output};
use crate::expr::{CompileCx, EvalCx};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use vaquita_parser::ast;
use vaquita_types::{SqlError, SqlResult, SqlType, Value};

/// Where rows go.
#[derive(Debug)]
pub(super) enum Into {
    /// User variables.
    Vars(Vec<Vec<u8>>),
    /// INTO DUMPFILE.
    DumpFile(Vec<u8>),
    /// INTO OUTFILE.
    OutFile(Vec<u8>, Format),
}

/// FIELDS and LINES.
#[derive(Debug, Clone)]
pub(super) struct Format {
    fields_terminated: Vec<u8>,
    enclosed: Option<u8>,
    optionally: bool,
    escaped: Option<u8>,
    lines_starting: Vec<u8>,
    lines_terminated: Vec<u8>,
}

impl Into {
    pub(super) fn new(into: &ast::IntoClause<'_>, columns: usize, _: &CompileCx<'_>) -> SqlResult<Into> {
        Ok(match into {
            ast::IntoClause::Vars(vars) => {
                let mut names = Vec::new();
                for var in *vars {
                    match var {
                        ast::IntoVar::User(name) => names.push(name.name.to_vec()),
                        ast::IntoVar::Local(name) => {
                            return Err(SqlError::new(1327, format!("Undeclared variable: {name}")));
                        }
                    }
                }
                if names.len() != columns {
                    return Err(SqlError::new(
                        1222,
                        "The used SELECT statements have a different number of columns",
                    ));
                }
                Into::Vars(names)
            }
            ast::IntoClause::DumpFile(file) => Into::DumpFile(file.to_vec()),
            ast::IntoClause::OutFile { file, format, .. } => {
                let first = |b: Option<&[u8]>| b.and_then(|b| b.first().copied());
                let format = Format {
                    fields_terminated: format.fields_terminated.unwrap_or(b"\t").to_vec(),
                    enclosed: first(format.fields_enclosed),
                    optionally: format.optionally_enclosed,
                    escaped: format.fields_escaped.map_or(Some(b'\\'), |b| b.first().copied()),
                    lines_starting: format.lines_starting.unwrap_or_default().to_vec(),
                    lines_terminated: format.lines_terminated.unwrap_or(b"\n").to_vec(),
                };
                Into::OutFile(file.to_vec(), format)
            }
        })
    }

    /// Takes the rows of one execution.
    pub(super) fn output<'i>(&'i self, types: &'i [SqlType], cx: &EvalCx<'_>) -> SqlResult<Storing<'i>> {
        let file = match self {
            Into::Vars(_) => None,
            Into::DumpFile(name) | Into::OutFile(name, _) => Some(create(name, cx)?),
        };
        Ok(Storing { into: self, types, file, rows: 0, line: Vec::new() })
    }
}

fn create(name: &[u8], cx: &EvalCx<'_>) -> SqlResult<BufWriter<File>> {
    let text = String::from_utf8_lossy(name).into_owned();
    let mut path = PathBuf::from(&text);
    if path.is_relative() {
        // Beside the tables of the current database, as MySQL has it.
        let dir = cx.db.map(|db| db.engine().core().storage.options().dir.join(&cx.state.database));
        path = dir.unwrap_or_default().join(path);
    }
    match File::options().write(true).create_new(true).open(&path) {
        Ok(file) => Ok(BufWriter::new(file)),
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(SqlError::new(1086, format!("File '{text}' already exists")))
        }
        Err(e) => {
            let errno = e.raw_os_error().unwrap_or(0);
            Err(SqlError::new(1, format!("Can't create/write to file '{text}' (Errcode: {errno} - {e})")))
        }
    }
}

/// Stores rows.
pub(super) struct Storing<'i> {
    into: &'i Into,
    types: &'i [SqlType],
    file: Option<BufWriter<File>>,
    rows: u64,
    line: Vec<u8>,
}

impl Output for Storing<'_> {
    fn row(&mut self, cx: &mut EvalCx<'_>, values: &[Value<'_>]) -> SqlResult<Flow> {
        self.rows += 1;
        match self.into {
            Into::Vars(_) | Into::DumpFile(_) if self.rows > 1 => {
                return Err(SqlError::new(1172, "Result consisted of more than one row"));
            }
            Into::Vars(names) => {
                for ((name, value), ty) in names.iter().zip(values).zip(self.types) {
                    cx.state.user_vars.set(name, value.borrowed().into_owned(), ty.clone());
                }
                return Ok(Flow::Go);
            }
            Into::DumpFile(_) => {
                self.line.clear();
                values.iter().zip(self.types).for_each(|(v, ty)| text(v, ty, &mut self.line));
            }
            Into::OutFile(_, format) => {
                self.line.clear();
                format.line(values, self.types, &mut self.line);
            }
        }
        if let Some(file) = &mut self.file {
            file.write_all(&self.line).map_err(|e| write_error(&e))?;
        }
        Ok(Flow::Go)
    }
}

fn write_error(e: &std::io::Error) -> SqlError {
    SqlError::new(3, format!("Error writing file (Errcode: {} - {e})", e.raw_os_error().unwrap_or(0)))
}

fn text(value: &Value<'_>, ty: &SqlType, out: &mut Vec<u8>) {
    match value {
        Value::Bytes(b) => out.extend_from_slice(b),
        Value::Label { text, .. } => out.extend_from_slice(text),
        value => value.push_text(ty, out),
    }
}

impl Storing<'_> {
    /// All rows have come: how many.
    pub(super) fn finish(self, cx: &mut EvalCx<'_>) -> SqlResult<u64> {
        if let Some(mut file) = self.file {
            file.flush().map_err(|e| write_error(&e))?;
        }
        if self.rows == 0 {
            cx.state.warnings.warn(1329, "No data - zero rows fetched, selected, or processed");
        }
        Ok(self.rows)
    }
}

impl Format {
    fn line(&self, values: &[Value<'_>], types: &[SqlType], out: &mut Vec<u8>) {
        out.extend_from_slice(&self.lines_starting);
        let mut raw = Vec::new();
        for (i, (value, ty)) in values.iter().zip(types).enumerate() {
            if i > 0 {
                out.extend_from_slice(&self.fields_terminated);
            }
            if value.is_null() {
                match self.escaped {
                    Some(escape) => out.extend_from_slice(&[escape, b'N']),
                    None => out.extend_from_slice(b"NULL"),
                }
                continue;
            }
            raw.clear();
            text(value, ty, &mut raw);
            let is_text = matches!(value, Value::Bytes(_) | Value::Label { .. } | Value::Json(_));
            let enclosed = self.enclosed.filter(|_| !self.optionally || is_text);
            out.extend(enclosed);
            for &b in &raw {
                self.push(b, enclosed.is_some(), out);
            }
            out.extend(enclosed);
        }
        out.extend_from_slice(&self.lines_terminated);
    }

    /// A byte of a field, escaped where reading it back needs that.
    fn push(&self, b: u8, enclosed: bool, out: &mut Vec<u8>) {
        let Some(escape) = self.escaped else { return out.push(b) };
        let terminator = if enclosed { None } else { self.fields_terminated.first().copied() };
        let line = self.lines_terminated.first().copied();
        let special = b == escape || Some(b) == self.enclosed || Some(b) == terminator || Some(b) == line;
        match b {
            0 => out.extend_from_slice(&[escape, b'0']),
            b if special => out.extend_from_slice(&[escape, b]),
            b => out.push(b),
        }
    }
}
