//! A database in a folder of its own, and results as text.

use std::path::PathBuf;
use std::sync::Arc;
use vaquita_sql::{
    ColumnMeta, Completion, ConnectInfo, Connection, Database, Options, ResultSink, SqlResult, Value,
};

/// What a statement gave, as text.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) names: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
    columns: Option<Arc<[ColumnMeta]>>,
}

impl ResultSink for Rows {
    fn columns(&mut self, columns: &Arc<[ColumnMeta]>) -> SqlResult<()> {
        self.names = columns.iter().map(|c| String::from_utf8_lossy(&c.name).into_owned()).collect();
        self.columns = Some(columns.clone());
        Ok(())
    }

    fn row(&mut self, values: &[Value<'_>]) -> SqlResult<()> {
        let columns = self.columns.as_ref().expect("columns come first");
        let text = |(value, column): (&Value<'_>, &ColumnMeta)| match value {
            Value::Null => "NULL".to_owned(),
            value => String::from_utf8_lossy(&value.to_text(&column.ty)).into_owned(),
        };
        self.rows.push(values.iter().zip(columns.iter()).map(text).collect());
        Ok(())
    }

    fn end(&mut self, _: Completion) -> SqlResult<()> {
        Ok(())
    }
}

/// A database, gone when it is dropped.
pub(super) struct Server {
    dir: PathBuf,
    pub(super) db: Arc<Database>,
    pub(super) connection: Connection,
}

impl Server {
    pub(super) fn new(name: &str) -> Server {
        let dir = std::env::temp_dir().join(format!("vaquita-select-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        let db = Database::open(Options { dir: dir.clone(), variables: Vec::new() }).expect("opens");
        let info = ConnectInfo { collation: 33, ..ConnectInfo::embedded() };
        let mut connection = db.connect(info).expect("connects");
        connection.query(b"CREATE DATABASE d", &mut Rows::default()).expect("a database");
        connection.use_database("d").expect("is there");
        Server { dir, db, connection }
    }

    pub(super) fn run(&mut self, sql: &str) -> Rows {
        self.try_run(sql).unwrap_or_else(|e| panic!("{sql}: {e}"))
    }

    pub(super) fn try_run(&mut self, sql: &str) -> SqlResult<Rows> {
        let mut rows = Rows::default();
        self.connection.query(sql.as_bytes(), &mut rows)?;
        Ok(rows)
    }

    /// Rows as lines, columns apart by commas.
    pub(super) fn lines(&mut self, sql: &str) -> Vec<String> {
        self.run(sql).rows.iter().map(|row| row.join(",")).collect()
    }

    /// The number of the error a statement ends in.
    pub(super) fn error(&mut self, sql: &str) -> u16 {
        match self.try_run(sql) {
            Ok(_) => 0,
            Err(e) => e.code,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.db.close();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
