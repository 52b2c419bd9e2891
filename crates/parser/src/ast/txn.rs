//! Transactions and locks.

use super::{Ident, ObjectName, VarScope};

/// Statements about transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Txn<'a> {
    /// `START TRANSACTION …`, `BEGIN [WORK]`.
    Start {
        /// `WITH CONSISTENT SNAPSHOT`.
        consistent_snapshot: bool,
        /// `READ ONLY` or `READ WRITE`, if said.
        access: Option<AccessMode>,
    },
    /// `COMMIT [WORK] …`.
    Commit(Completion),
    /// `ROLLBACK [WORK] …`.
    Rollback(Completion),
    /// `ROLLBACK [WORK] TO [SAVEPOINT] s`.
    RollbackTo(Ident<'a>),
    /// `SAVEPOINT s`.
    Savepoint(Ident<'a>),
    /// `RELEASE SAVEPOINT s`.
    Release(Ident<'a>),
    /// `SET [GLOBAL | SESSION] TRANSACTION …`; implicit scope: the next transaction only.
    Set {
        /// Scope.
        scope: VarScope,
        /// `ISOLATION LEVEL`.
        isolation: Option<Isolation>,
        /// `READ ONLY` or `READ WRITE`.
        access: Option<AccessMode>,
    },
    /// `XA …`.
    Xa(Xa<'a>),
    /// `LOCK TABLES …`.
    LockTables(&'a [TableLock<'a>]),
    /// `UNLOCK TABLES`.
    UnlockTables,
}

/// Access modes of transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum AccessMode {
    ReadOnly,
    ReadWrite,
}

/// Isolation levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Isolation {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

/// `AND [NO] CHAIN`, `[NO] RELEASE`; `completion_type` decides what is not said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Completion {
    /// `AND CHAIN` (true), `AND NO CHAIN` (false).
    pub chain: Option<bool>,
    /// `RELEASE` (true), `NO RELEASE` (false).
    pub release: Option<bool>,
}

/// An XA transaction's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Xid<'a> {
    /// Global transaction id.
    pub gtrid: &'a [u8],
    /// Branch qualifier; empty when not said.
    pub bqual: &'a [u8],
    /// Format id; 1 when not said.
    pub format: u64,
}

/// XA statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Xa<'a> {
    /// `XA START | BEGIN xid [JOIN | RESUME]`.
    Start {
        /// Which.
        xid: Xid<'a>,
        /// `JOIN` or `RESUME`.
        option: XaStartOption,
    },
    /// `XA END xid [SUSPEND [FOR MIGRATE]]`.
    End {
        /// Which.
        xid: Xid<'a>,
        /// `SUSPEND`.
        suspend: bool,
    },
    /// `XA PREPARE xid`.
    Prepare(Xid<'a>),
    /// `XA COMMIT xid [ONE PHASE]`.
    Commit {
        /// Which.
        xid: Xid<'a>,
        /// `ONE PHASE`.
        one_phase: bool,
    },
    /// `XA ROLLBACK xid`.
    Rollback(Xid<'a>),
    /// `XA RECOVER`.
    Recover {
        /// `CONVERT XID` (5.7).
        convert: bool,
    },
}

/// Option of XA START.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum XaStartOption {
    None,
    Join,
    Resume,
}

/// One table of LOCK TABLES.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableLock<'a> {
    /// The table.
    pub name: ObjectName<'a>,
    /// Its alias.
    pub alias: Option<Ident<'a>>,
    /// How.
    pub kind: TableLockKind,
    /// `LOW_PRIORITY WRITE`.
    pub low_priority: bool,
}

/// Kinds of table locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableLockKind {
    /// `READ`.
    Read,
    /// `READ LOCAL`: as `READ` for InnoDB tables.
    ReadLocal,
    /// `[LOW_PRIORITY] WRITE`.
    Write,
}
