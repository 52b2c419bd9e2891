//! Folders on simulated disks, and what their tables answer.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;
use vaquita_base::ManualClock;
use vaquita_engine::{Engine, Options};
use vaquita_io::sim::SimDisk;
use vaquita_sql::sink::Collected;
use vaquita_sql::{ConnectInfo, Connection, Database, SqlError};

/// Opens the folder of a disk, without services.
pub(crate) fn open(disk: &SimDisk) -> Result<Arc<Database>, SqlError> {
    let mut options = Options { background: false, ..Options::new("/db") };
    options.storage.buffer_pool_size = 8 << 20;
    options.storage.log_file_size = 1 << 20;
    options.txn.rollback_segments = 4;
    let opened = Engine::open_with(Arc::new(disk.clone()), Arc::new(ManualClock::new()), options);
    let engine = opened.map_err(|e| SqlError::new(1105, e.to_string()))?;
    Database::on_engine(engine, &[])
}

/// A session that may send several statements at once.
pub(crate) fn session(db: &Arc<Database>) -> Connection {
    let mut session = db.connect(ConnectInfo::embedded()).unwrap();
    session.set_multi_statements(true);
    session
}

/// The rows of the statement that has some, cells joined by `|`.
pub(crate) fn run(session: &mut Connection, sql: &str) -> Result<Vec<String>, SqlError> {
    let mut sink = Collected::default();
    session.query(sql.as_bytes(), &mut sink)?;
    let result = sink.results.into_iter().find(|result| !result.columns.is_empty());
    let rows = result.map(|result| result.rows).unwrap_or_default();
    let cell = |cell: &Option<String>| cell.clone().unwrap_or_else(|| "NULL".into());
    Ok(rows.iter().map(|row| row.iter().map(cell).collect::<Vec<_>>().join("|")).collect())
}
