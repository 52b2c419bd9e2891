//! Where statements run.

use super::print::{Heading, Output, Summary};
use super::progress::{Activity, Done, StageDone};
use crate::embedded::{Connection, Database, OpenOptions};
use std::io;
use std::sync::Arc;
use vaquita_sql::process::stage_name;
use vaquita_sql::types::Kind;
use vaquita_sql::{ColumnMeta, Completion, ResultSink, SqlError, SqlResult, Value};

/// Ends the statement that runs, from another thread.
///
/// # Errors
/// For people: why it could not.
pub(super) type Killer = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;

/// Runs statements.
pub(super) trait Backend {
    /// Runs one statement.
    fn run(&mut self, text: &[u8], output: &mut dyn Output) -> Result<(), SqlError>;

    /// What the database does, to show progress; none if it cannot be known.
    fn activity(&self) -> Option<Activity> {
        None
    }

    /// Ends what [`Backend::run`] runs.
    fn killer(&self) -> Killer;

    /// Says good-bye.
    fn close(&mut self) -> Result<(), SqlError>;

    /// A greeting for people.
    fn greeting(&self) -> String;
}

/// A folder in this process.
pub(super) struct Local {
    dir: String,
    db: Database,
    /// `None` when closed.
    connection: Option<Connection>,
    /// The session's number.
    id: u32,
}

impl Local {
    pub(super) fn open(dir: &str, variables: Vec<(String, String)>) -> SqlResult<Local> {
        let options = variables.into_iter().fold(OpenOptions::new(), |o, (name, value)| o.set(name, value));
        let db = options.open(dir)?;
        let mut connection = db.connect()?;
        let id = connection.session().id();
        Ok(Local { dir: dir.to_owned(), db, connection: Some(connection), id })
    }
}

impl Backend for Local {
    fn run(&mut self, text: &[u8], output: &mut dyn Output) -> Result<(), SqlError> {
        let Some(connection) = &mut self.connection else {
            return Err(SqlError::new(1053, "Server shutdown in progress"));
        };
        let mut sink = Sink { output, columns: None, text: Vec::new(), ends: Vec::new() };
        connection.session().query(text, &mut sink)
    }

    fn activity(&self) -> Option<Activity> {
        let core = self.db.shared().engine().core().clone();
        let counts = move || {
            let metrics = core.metrics();
            let of = |names: &[&str]| -> u64 {
                metrics.iter().filter(|(name, _)| names.contains(name)).map(|(_, value)| value).sum()
            };
            (of(&["dml_reads"]), of(&["dml_inserts", "dml_updates", "dml_deletes"]))
        };
        let before = counts();
        let process = self.db.shared().processes().find(self.id);
        Some(Box::new(move || {
            let now = counts();
            let sight = process.as_ref().and_then(|process| process.sight());
            let stage = sight.and_then(|sight| {
                Some(StageDone {
                    name: stage_name(sight.stage)?,
                    stage: sight.phase,
                    stages: sight.phases,
                    done: sight.phase_completed,
                    of: sight.phase_estimated,
                })
            });
            Done { read: now.0.saturating_sub(before.0), changed: now.1.saturating_sub(before.1), stage }
        }))
    }

    fn killer(&self) -> Killer {
        let (db, id) = (Arc::downgrade(self.db.shared()), self.id);
        Arc::new(move || {
            // A folder that was closed meanwhile runs nothing.
            db.upgrade().map(|db| db.processes().kill(id, true));
            Ok(())
        })
    }

    fn close(&mut self) -> Result<(), SqlError> {
        self.connection = None;
        self.db.clone().close()
    }

    fn greeting(&self) -> String {
        format!("Vaquita {}, folder {}", env!("CARGO_PKG_VERSION"), self.dir)
    }
}

/// Values as text into an output.
struct Sink<'o> {
    output: &'o mut dyn Output,
    columns: Option<Arc<[ColumnMeta]>>,
    text: Vec<u8>,
    /// End of each value in `text`, and whether it is there at all.
    ends: Vec<Option<usize>>,
}

fn written(done: io::Result<()>) -> SqlResult<()> {
    done.map_err(|e| SqlError::new(1160, format!("Got an error writing the result: {e}")))
}

impl ResultSink for Sink<'_> {
    fn columns(&mut self, columns: &Arc<[ColumnMeta]>) -> SqlResult<()> {
        self.columns = Some(columns.clone());
        let heading = |c: &ColumnMeta| Heading {
            name: String::from_utf8_lossy(&c.name).into_owned(),
            number: c.ty.kind.is_integer() || matches!(c.ty.kind, Kind::Decimal | Kind::Float | Kind::Double),
            binary: c.ty.kind == Kind::Bit || c.ty.kind.is_string() && c.ty.collation == 63,
        };
        written(self.output.columns(columns.iter().map(heading).collect()))
    }

    fn row(&mut self, values: &[Value<'_>]) -> SqlResult<()> {
        let Some(columns) = &self.columns else { return Ok(()) };
        self.text.clear();
        self.ends.clear();
        for (value, column) in values.iter().zip(columns.iter()) {
            if value.is_null() {
                self.ends.push(None);
            } else {
                value.push_text(&column.ty, &mut self.text);
                self.ends.push(Some(self.text.len()));
            }
        }
        let mut start = 0;
        let cells: Vec<Option<&[u8]>> = self
            .ends
            .iter()
            .map(|end| {
                end.map(|end| {
                    let cell = &self.text[start..end];
                    start = end;
                    cell
                })
            })
            .collect();
        written(self.output.row(&cells))
    }

    fn end(&mut self, done: Completion) -> SqlResult<()> {
        if let Some(durability) = done.durability {
            durability.wait().map_err(|e| SqlError::new(1180, format!("Got error during COMMIT: {e}")))?;
        }
        let summary = Summary {
            affected_rows: done.affected_rows,
            insert_id: done.insert_id,
            warnings: done.warnings,
            info: done.info.into_owned(),
        };
        written(self.output.end(summary))
    }

    fn local_infile(&mut self, name: &[u8], take: &mut dyn FnMut(&[u8]) -> SqlResult<()>) -> SqlResult<()> {
        let path = String::from_utf8_lossy(name);
        let bad = |e: io::Error| SqlError::new(2, format!("File '{path}' not found (OS errno: {e})"));
        let mut file = std::fs::File::open(&*path).map_err(bad)?;
        let mut piece = vec![0; 1 << 16];
        loop {
            let n = io::Read::read(&mut file, &mut piece).map_err(bad)?;
            if n == 0 {
                return Ok(());
            }
            take(&piece[..n])?;
        }
    }
}
