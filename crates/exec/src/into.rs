//! SELECT … INTO variables or a file.

use crate::files::{display_width, server_file};
use crate::query::{Flow, Output};
use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use vaquita_expr::EvalCx;
use vaquita_plan::into::{Into, Target};
use vaquita_session::state::{Place, Taken};
use vaquita_types::{Kind, SqlError, SqlResult, SqlType, Value};

fn write_error(into: &Into, e: &std::io::Error) -> SqlError {
    let name = match into {
        Into::Vars(_) => Cow::Borrowed(""),
        Into::DumpFile(name) | Into::OutFile(name, _) => String::from_utf8_lossy(name),
    };
    vaquita_catalog::error::writing(&name, e)
}

/// Takes the rows of one execution.
pub(crate) fn output<'i>(into: &'i Into, types: &'i [SqlType], cx: &EvalCx<'_>) -> SqlResult<Storing<'i>> {
    let file = match into {
        Into::Vars(_) => None,
        Into::DumpFile(name) | Into::OutFile(name, _) => Some(create(name, cx)?),
    };
    Ok(Storing { into, types, file, rows: 0, line: Vec::new() })
}

/// A file that is being written. Dropped before it is finished it is removed: who asked for it would find a part of it
/// and could not have the statement write it again.
struct NewFile {
    writer: BufWriter<File>,
    /// Where it is, until it is finished.
    path: PathBuf,
}

impl NewFile {
    fn create(path: &Path) -> std::io::Result<NewFile> {
        let file = File::options().write(true).create_new(true).open(path)?;
        Ok(NewFile { writer: BufWriter::new(file), path: path.to_owned() })
    }

    /// All of it was written.
    fn finish(mut self) -> std::io::Result<()> {
        self.writer.flush()?;
        self.path.clear();
        Ok(())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if self.path.as_os_str().is_empty() {
            return;
        }
        // The error that brought us here says more than a second one.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn create(name: &[u8], cx: &EvalCx<'_>) -> SqlResult<NewFile> {
    let text = cx.state.vars.client_text(name);
    let file = cx.state.vars.file_name(name);
    let path = match cx.db {
        Some(db) => server_file(&file, db, &cx.state.database)?,
        None => PathBuf::from(OsStr::from_bytes(&file)),
    };
    match NewFile::create(&path) {
        Ok(file) => Ok(file),
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
pub(crate) struct Storing<'i> {
    into: &'i Into,
    types: &'i [SqlType],
    file: Option<NewFile>,
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
                    let value = vaquita_types::memory::into_owned(value.borrowed())?;
                    let taken = &mut cx.state.program.taken;
                    let into = match name {
                        Target::User(name) if taken.is_empty() => {
                            cx.state.user_vars.set(name, value, ty.clone())?;
                            continue;
                        }
                        Target::User(name) => Place::User(name.as_slice().into()),
                        Target::Local(place) => Place::Local(*place),
                    };
                    taken.push(Taken { into, value, ty: ty.clone() });
                }
                return Ok(Flow::Go);
            }
            Into::DumpFile(_) => {
                self.line.clear();
                values.iter().zip(self.types).for_each(|(v, ty)| text(v, ty, &mut self.line));
            }
            Into::OutFile(_, format) => {
                self.line.clear();
                let texts: Vec<Option<Cow<'_, [u8]>>> = values
                    .iter()
                    .zip(self.types)
                    .map(|(value, ty)| (!value.is_null()).then(|| text_of(value, ty)))
                    .collect();
                let fields = texts.iter().zip(self.types).map(|(text, ty)| (text.as_deref(), is_quoted(ty)));
                let widths: Vec<usize> = self.types.iter().map(display_width).collect();
                format.push_row(fields, &widths, &mut self.line);
            }
        }
        if let Some(file) = &mut self.file {
            file.writer.write_all(&self.line).map_err(|e| write_error(self.into, &e))?;
        }
        Ok(Flow::Go)
    }
}

fn text(value: &Value<'_>, ty: &SqlType, out: &mut Vec<u8>) {
    if !value.is_null() {
        out.extend_from_slice(&text_of(value, ty));
    }
}

fn text_of<'v>(value: &'v Value<'_>, ty: &SqlType) -> Cow<'v, [u8]> {
    match value {
        Value::Bytes(b) => Cow::Borrowed(b),
        Value::Label { text, .. } => Cow::Borrowed(text),
        value => value.to_text(ty),
    }
}

/// Whether OPTIONALLY ENCLOSED encloses it: all but numbers.
fn is_quoted(ty: &SqlType) -> bool {
    !ty.kind.is_integer() && !matches!(ty.kind, Kind::Decimal | Kind::Float | Kind::Double | Kind::Null)
}

impl Storing<'_> {
    /// All rows have come: how many.
    pub(crate) fn finish(self, cx: &mut EvalCx<'_>) -> SqlResult<u64> {
        if let Some(file) = self.file {
            file.finish().map_err(|e| write_error(self.into, &e))?;
        }
        if self.rows == 0 && matches!(self.into, Into::Vars(_)) {
            cx.state.warnings.warn(1329, "No data - zero rows fetched, selected, or processed");
        }
        Ok(self.rows)
    }
}
