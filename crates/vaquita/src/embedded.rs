//! The whole database inside a process: a folder, connections, SQL. No server, no sockets.
//!
//! ```no_run
//! use vaquita::{Database, Error};
//!
//! fn main() -> Result<(), Error> {
//!     let db = Database::open("./shop")?;
//!     let mut conn = db.connect()?;
//!     conn.execute("create database if not exists shop", ())?;
//!     conn.execute("use shop", ())?;
//!     conn.execute("create table if not exists item (id int primary key auto_increment, name varchar(80), price decimal(8,2))", ())?;
//!     let done = conn.execute("insert into item (name, price) values (?, ?)", ("lamp", "12.50"))?;
//!     println!("item {}", done.last_insert_id);
//!     for row in conn.query("select id, name, price from item where price < ?", (20,))? {
//!         let (id, name): (u32, String) = (row.get(0)?, row.get("name")?);
//!         println!("{id} {name} {}", row.get::<String>("price")?);
//!     }
//!     drop(conn);
//!     db.close()
//! }
//! ```
//!
//! Errors are those a client of the server gets: MySQL's numbers, SQLSTATEs and messages. A statement returns when what
//! it committed is as durable as `innodb_flush_log_at_trx_commit` asks for.

/// What parsers of one's own are made of: see [`OpenOptions::parser`].
pub mod fulltext {
    pub use vaquita_engine::fulltext::parser::{Parser, Parsers, RawWord, Segments, Words};
    pub use vaquita_engine::lower::charset::Charset;
}
mod params;
mod rows;
mod values;

pub use params::{Params, ToValue};
pub use rows::{Row, RowIndex, Rows};
pub use values::FromValue;

use fulltext::{Charset, Parser, Parsers};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use vaquita_sql::{self as sql, ColumnMeta, Completion, ConnectInfo, ResultSink, SqlError, SqlResult, Value};

/// How a folder is opened.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    variables: Vec<(String, String)>,
    parsers: Parsers,
}

impl OpenOptions {
    /// All defaults.
    pub fn new() -> OpenOptions {
        OpenOptions::default()
    }

    /// Sets a system variable, as `--name=value` does for a server: `("innodb_buffer_pool_size", "256M")`.
    #[must_use]
    pub fn set(mut self, name: impl Into<String>, value: impl Into<String>) -> OpenOptions {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Adds a parser that makes words of texts in a character set: `FULLTEXT (column) WITH PARSER name`. Indexes that name it
    /// can be searched and kept up only where it is there, and it must find the same words in the same text for ever.
    #[must_use]
    pub fn parser(
        mut self,
        name: impl Into<String>,
        make: impl Fn(Charset) -> Box<dyn Parser> + Send + Sync + 'static,
    ) -> OpenOptions {
        self.parsers.add(name, make);
        self
    }

    /// Opens the folder, creating it if it is not there.
    ///
    /// # Errors
    /// The folder is in use or damaged; a variable is unknown or cannot have that value.
    pub fn open(self, dir: impl Into<PathBuf>) -> SqlResult<Database> {
        let options = sql::Options { dir: dir.into(), variables: self.variables };
        Ok(Database { inner: sql::Database::open_with_parsers(options, self.parsers)? })
    }
}

/// A folder opened as a database. Cheap to clone; the folder is closed when the last clone and the last connection go,
/// or by [`Database::close`].
#[derive(Debug, Clone)]
pub struct Database {
    inner: Arc<sql::Database>,
}

impl Database {
    /// Opens a folder with default settings, creating it if it is not there.
    ///
    /// # Errors
    /// As [`OpenOptions::open`].
    pub fn open(dir: impl Into<PathBuf>) -> SqlResult<Database> {
        OpenOptions::new().open(dir)
    }

    /// A new session, with all privileges.
    ///
    /// # Errors
    /// Too many connections.
    pub fn connect(&self) -> SqlResult<Connection> {
        Ok(Connection { inner: self.inner.connect(ConnectInfo::embedded())? })
    }

    /// What doors (the MySQL server) stand on.
    pub fn shared(&self) -> &Arc<sql::Database> {
        &self.inner
    }

    /// Closes the folder: open transactions are rolled back, a checkpoint makes the next opening quick. Without it
    /// nothing is lost either: the next opening recovers.
    ///
    /// # Errors
    /// A [`Connection`] is still there: names it. Files.
    pub fn close(self) -> SqlResult<()> {
        self.inner.close()
    }
}

/// What a statement did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Rows inserted, changed or deleted; of a query, rows returned.
    pub affected_rows: u64,
    /// The first AUTO_INCREMENT value the statement made, 0 if none.
    pub last_insert_id: u64,
    /// Number of warnings: `show warnings` lists them.
    pub warnings: u16,
    /// Text such as `Rows matched: 1  Changed: 1  Warnings: 0`.
    pub info: String,
}

/// A session: one transaction at a time. Belongs to one thread at a time; open more for more threads.
#[derive(Debug)]
pub struct Connection {
    inner: sql::Connection,
}

impl Connection {
    /// Runs a statement and drops its rows, if it has any. Without parameters (`()`) the text may hold several
    /// statements; the outcome is the last one's.
    ///
    /// # Errors
    /// Those of the statement; those before it in the text are done.
    pub fn execute(&mut self, text: &str, params: impl Params) -> SqlResult<Outcome> {
        let mut sink = EachRow {
            row: |_: Row<'_>| ControlFlow::Continue(()),
            columns: None,
            outcome: Outcome::default(),
        };
        self.run(text, params, &mut sink)?;
        Ok(sink.outcome)
    }

    /// Runs a query and collects its rows. For results that do not fit in memory: [`Connection::query_each`].
    ///
    /// # Errors
    /// Those of the statement.
    pub fn query(&mut self, text: &str, params: impl Params) -> SqlResult<Rows> {
        let mut rows = Rows::default();
        self.run(text, params, &mut rows)?;
        Ok(rows)
    }

    /// Runs a query and hands over its rows one by one as they are found, until there are no more or `row` breaks off.
    /// Pages may be latched during the call: it must not use the database.
    ///
    /// # Errors
    /// Those of the statement.
    pub fn query_each(
        &mut self,
        text: &str,
        params: impl Params,
        row: impl FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> SqlResult<Outcome> {
        let mut sink = EachRow { row, columns: None, outcome: Outcome::default() };
        match self.run(text, params, &mut sink) {
            Err(e) if e == broken_off() => Ok(sink.outcome),
            done => done.map(|()| sink.outcome),
        }
    }

    fn run(&mut self, text: &str, params: impl Params, sink: &mut dyn ResultSink) -> SqlResult<()> {
        params.with(&mut |values| {
            if values.is_empty() {
                return self.inner.query(text.as_bytes(), sink);
            }
            let prepared = self.inner.prepare(text.as_bytes())?;
            let done = self.inner.execute(prepared.id, values, sink);
            self.inner.close_statement(prepared.id);
            done
        })
    }

    /// Prepares a statement to be run more than once.
    ///
    /// # Errors
    /// Syntax, names, statements that cannot be prepared.
    pub fn prepare(&mut self, text: &str) -> SqlResult<Statement> {
        let prepared = self.inner.prepare(text.as_bytes())?;
        Ok(Statement { prepared, connection: self.inner.id() })
    }

    /// Begins a transaction, which is rolled back when dropped unless it is committed.
    ///
    /// # Errors
    /// Of the commit of a transaction that is open.
    pub fn transaction(&mut self) -> SqlResult<Transaction<'_>> {
        self.execute("start transaction", ())?;
        Ok(Transaction { connection: self, open: true })
    }

    /// The session below: for doors and tools.
    pub fn session(&mut self) -> &mut sql::Connection {
        &mut self.inner
    }
}

/// A prepared statement of one connection. Kept by the connection until [`Statement::close`] or the connection's end.
#[derive(Debug, Clone)]
pub struct Statement {
    prepared: sql::Prepared,
    connection: u32,
}

impl Statement {
    /// Number of parameters.
    pub fn params(&self) -> usize {
        self.prepared.params.into()
    }

    /// Names of the result's columns.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = &str> {
        self.prepared.columns.iter().map(|c| std::str::from_utf8(&c.name).unwrap_or("?"))
    }

    /// Runs it and drops its rows, if it has any.
    ///
    /// # Errors
    /// Those of the statement; wrong number of parameters; it is another connection's.
    pub fn execute(&self, connection: &mut Connection, params: impl Params) -> SqlResult<Outcome> {
        let mut sink = EachRow {
            row: |_: Row<'_>| ControlFlow::Continue(()),
            columns: None,
            outcome: Outcome::default(),
        };
        self.run(connection, params, &mut sink)?;
        Ok(sink.outcome)
    }

    /// Runs it and collects its rows.
    ///
    /// # Errors
    /// As [`Statement::execute`].
    pub fn query(&self, connection: &mut Connection, params: impl Params) -> SqlResult<Rows> {
        let mut rows = Rows::default();
        self.run(connection, params, &mut rows)?;
        Ok(rows)
    }

    /// Runs it and hands over its rows one by one: see [`Connection::query_each`].
    ///
    /// # Errors
    /// As [`Statement::execute`].
    pub fn query_each(
        &self,
        connection: &mut Connection,
        params: impl Params,
        row: impl FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> SqlResult<Outcome> {
        let mut sink = EachRow { row, columns: None, outcome: Outcome::default() };
        match self.run(connection, params, &mut sink) {
            Err(e) if e == broken_off() => Ok(sink.outcome),
            done => done.map(|()| sink.outcome),
        }
    }

    fn run(
        &self,
        connection: &mut Connection,
        params: impl Params,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        if self.connection != connection.inner.id() {
            return Err(SqlError::new(1243, "The prepared statement belongs to another connection"));
        }
        params.with(&mut |values| connection.inner.execute(self.prepared.id, values, sink))
    }

    /// Lets the connection forget it.
    pub fn close(self, connection: &mut Connection) {
        if self.connection == connection.inner.id() {
            connection.inner.close_statement(self.prepared.id);
        }
    }
}

/// A transaction; use it as the connection it borrows. Dropped without [`Transaction::commit`] it is rolled back.
#[derive(Debug)]
pub struct Transaction<'c> {
    connection: &'c mut Connection,
    open: bool,
}

impl Transaction<'_> {
    /// Commits; durable when it returns, if `innodb_flush_log_at_trx_commit` is 1.
    ///
    /// # Errors
    /// The log cannot be written: whether the commit is durable is unknown.
    pub fn commit(mut self) -> SqlResult<()> {
        self.open = false;
        self.connection.execute("commit", ()).map(drop)
    }

    /// Rolls back.
    ///
    /// # Errors
    /// Storage.
    pub fn rollback(mut self) -> SqlResult<()> {
        self.open = false;
        self.connection.execute("rollback", ()).map(drop)
    }
}

impl std::ops::Deref for Transaction<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}

impl std::ops::DerefMut for Transaction<'_> {
    fn deref_mut(&mut self) -> &mut Connection {
        self.connection
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.open {
            // A rollback that fails leaves the storage unusable, and the next statement says so.
            let _ = self.connection.execute("rollback", ());
        }
    }
}

/// The error by which a caller's `Break` goes through the executor.
fn broken_off() -> SqlError {
    SqlError::new(1317, "the caller wants no more rows")
}

impl Outcome {
    fn take(&mut self, done: Completion) -> SqlResult<()> {
        *self = Outcome {
            affected_rows: done.affected_rows,
            last_insert_id: done.insert_id,
            warnings: done.warnings,
            info: done.info.into_owned(),
        };
        match done.durability {
            None => Ok(()),
            Some(durability) => {
                durability.wait().map_err(|e| SqlError::new(1180, format!("Got error during COMMIT: {e}")))
            }
        }
    }
}

/// Hands rows to a function.
struct EachRow<F> {
    row: F,
    columns: Option<Arc<[ColumnMeta]>>,
    outcome: Outcome,
}

impl<F: FnMut(Row<'_>) -> ControlFlow<()>> ResultSink for EachRow<F> {
    fn columns(&mut self, columns: &Arc<[ColumnMeta]>) -> SqlResult<()> {
        self.columns = Some(columns.clone());
        Ok(())
    }

    fn row(&mut self, values: &[Value<'_>]) -> SqlResult<()> {
        let Some(columns) = &self.columns else { return Ok(()) };
        match (self.row)(Row { columns, values }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(broken_off()),
        }
    }

    fn end(&mut self, done: Completion) -> SqlResult<()> {
        self.outcome.take(done)
    }
}
