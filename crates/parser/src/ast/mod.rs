//! The syntax tree.
//!
//! Nodes live in an arena and borrow the statement's text; all of them are `Copy`. Names and strings are bytes in
//! the connection's character set: this crate does not convert. The tree says what was written; whether a name
//! exists or a width is allowed is the business of those who use it.

mod account;
mod admin;
mod dml;
mod event;
mod expr;
mod hint;
mod program;
mod query;
mod schema;
mod show;
mod table;
mod txn;
mod types;

use std::fmt;

pub use account::*;
pub use admin::*;
pub use dml::*;
pub use event::*;
pub use expr::*;
pub use hint::*;
pub use program::*;
pub use query::*;
pub use schema::*;
pub use show::*;
pub use table::*;
pub use txn::*;
pub use types::*;

/// A range of bytes of the statement's text, end exclusive. Offsets count from the start of the text given to
/// [`crate::parse`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// Byte after the last one.
    pub end: u32,
}

impl Span {
    /// The text it covers; empty if the span is not of this text.
    #[must_use]
    pub fn of(self, sql: &[u8]) -> &[u8] {
        sql.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// A name, without its quotes, in the connection's character set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Ident<'a> {
    /// The bytes.
    pub name: &'a [u8],
}

impl<'a> Ident<'a> {
    /// A name of these bytes.
    #[must_use]
    pub const fn new(name: &'a [u8]) -> Self {
        Self { name }
    }

    /// The name if it is UTF-8.
    #[must_use]
    pub fn as_str(self) -> Option<&'a str> {
        std::str::from_utf8(self.name).ok()
    }

    /// Equal but for the case of ASCII letters.
    #[must_use]
    pub fn is(self, word: &str) -> bool {
        self.name.eq_ignore_ascii_case(word.as_bytes())
    }
}

impl fmt::Debug for Ident<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", String::from_utf8_lossy(self.name))
    }
}

impl fmt::Display for Ident<'_> {
    /// The bare name; bytes that are not UTF-8 become U+FFFD.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(self.name))
    }
}

/// `[schema.]name` of a table, view or stored program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ObjectName<'a> {
    /// Database, if said.
    pub schema: Option<Ident<'a>>,
    /// Name.
    pub name: Ident<'a>,
}

/// A statement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stmt<'a> {
    /// SELECT and everything else that yields rows by itself.
    Query(&'a Query<'a>),
    /// INSERT, REPLACE.
    Insert(&'a Insert<'a>),
    /// UPDATE.
    Update(&'a Update<'a>),
    /// DELETE.
    Delete(&'a Delete<'a>),
    /// LOAD DATA, LOAD XML.
    LoadData(&'a LoadData<'a>),
    /// DO.
    Do(&'a [Expr<'a>]),
    /// CALL.
    Call(&'a CallProcedure<'a>),
    /// HANDLER.
    Handler(&'a Handler<'a>),

    /// CREATE TABLE.
    CreateTable(&'a CreateTable<'a>),
    /// ALTER TABLE.
    AlterTable(&'a AlterTable<'a>),
    /// DROP TABLE.
    DropTable(&'a DropTables<'a>),
    /// TRUNCATE [TABLE].
    Truncate(ObjectName<'a>),
    /// RENAME TABLE: pairs of old and new.
    RenameTables(&'a [(ObjectName<'a>, ObjectName<'a>)]),
    /// CREATE INDEX.
    CreateIndex(&'a CreateIndex<'a>),
    /// DROP INDEX.
    DropIndex(&'a DropIndex<'a>),
    /// CREATE DATABASE.
    CreateDatabase(&'a Database<'a>),
    /// ALTER DATABASE.
    AlterDatabase(&'a Database<'a>),
    /// DROP DATABASE.
    DropDatabase(DropDatabase<'a>),
    /// CREATE VIEW, ALTER VIEW.
    CreateView(&'a CreateView<'a>),
    /// DROP VIEW.
    DropView(&'a DropTables<'a>),
    /// CREATE PROCEDURE, FUNCTION, TRIGGER, EVENT.
    CreateProgram(&'a CreateProgram<'a>),
    /// DROP PROCEDURE, FUNCTION, TRIGGER, EVENT.
    DropProgram(DropProgram<'a>),
    /// ALTER PROCEDURE, FUNCTION.
    AlterProgram(&'a AlterProgram<'a>),
    /// ALTER EVENT.
    AlterEvent(&'a AlterEvent<'a>),
    /// SIGNAL, RESIGNAL.
    Signal(&'a Signal<'a>),
    /// GET DIAGNOSTICS.
    GetDiagnostics(&'a GetDiagnostics<'a>),
    /// CREATE TABLESPACE.
    CreateTablespace(&'a CreateTablespace<'a>),
    /// IMPORT TABLE FROM.
    ImportTables(&'a ImportTables<'a>),
    /// DROP TABLESPACE.
    DropTablespace(Ident<'a>),

    /// BEGIN, COMMIT, XA, LOCK TABLES and the like.
    Txn(&'a Txn<'a>),
    /// SET: the assignments in order. SET TRANSACTION is a [`Stmt::Txn`].
    Set(&'a [SetItem<'a>]),
    /// USE.
    Use(Ident<'a>),
    /// SHOW, and DESCRIBE of a table.
    Show(&'a Show<'a>),
    /// EXPLAIN, DESCRIBE of a statement.
    Explain(&'a Explain<'a>),
    /// PREPARE.
    Prepare(&'a Prepare<'a>),
    /// EXECUTE.
    Execute(&'a Execute<'a>),
    /// DEALLOCATE PREPARE, DROP PREPARE.
    Deallocate(Ident<'a>),
    /// ANALYZE, CHECK, OPTIMIZE, REPAIR, CHECKSUM TABLE.
    Maintain(&'a Maintain<'a>),
    /// KILL.
    Kill(&'a Kill<'a>),
    /// FLUSH.
    Flush(&'a Flush<'a>),
    /// RESET.
    Reset(&'a [ResetOption]),
    /// HELP: the topic.
    Help(&'a [u8]),
    /// SHUTDOWN.
    Shutdown,

    /// CREATE USER, ALTER USER.
    CreateUser(&'a CreateUser<'a>),
    /// DROP USER.
    DropUser(&'a DropUser<'a>),
    /// RENAME USER: pairs of old and new.
    RenameUsers(&'a [(UserName<'a>, UserName<'a>)]),
    /// GRANT, REVOKE.
    Grant(&'a Grant<'a>),
    /// Roles: `CREATE ROLE`, `SET ROLE`…
    Role(&'a RoleStmt<'a>),

    /// Nothing but comments: succeeds and does nothing.
    Empty,
    /// A statement of MySQL that is read loosely, up to its end, and that nothing here can execute: error 1235
    /// names the feature.
    Unsupported {
        /// For the message, as `CHANGE MASTER TO`.
        feature: &'static str,
    },
}
