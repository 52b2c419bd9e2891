//! SHOW, DESCRIBE, EXPLAIN.

use super::{Expr, Ident, Limit, ObjectName, ProgramKind, Stmt, UserName, VarScope};

/// `LIKE 'pattern'` or `WHERE expr` of SHOW.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ShowFilter<'a> {
    /// Neither.
    None,
    /// `LIKE`.
    Like(&'a [u8]),
    /// `WHERE`.
    Where(&'a Expr<'a>),
}

/// `SHOW …`. `schema` is what `FROM db` / `IN db` said.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub enum Show<'a> {
    Databases(ShowFilter<'a>),
    /// `SHOW [FULL] TABLES`.
    Tables {
        full: bool,
        schema: Option<Ident<'a>>,
        filter: ShowFilter<'a>,
    },
    TableStatus {
        schema: Option<Ident<'a>>,
        filter: ShowFilter<'a>,
    },
    OpenTables {
        schema: Option<Ident<'a>>,
        filter: ShowFilter<'a>,
    },
    /// `SHOW [FULL] COLUMNS | FIELDS FROM t [FROM d]`; `DESCRIBE t [column]` has the column as LIKE.
    Columns {
        full: bool,
        table: ObjectName<'a>,
        filter: ShowFilter<'a>,
    },
    /// `SHOW INDEX | INDEXES | KEYS`; the filter is none or WHERE.
    Index {
        table: ObjectName<'a>,
        filter: ShowFilter<'a>,
    },
    Triggers {
        schema: Option<Ident<'a>>,
        filter: ShowFilter<'a>,
    },
    Events {
        schema: Option<Ident<'a>>,
        filter: ShowFilter<'a>,
    },
    CreateTable(ObjectName<'a>),
    CreateView(ObjectName<'a>),
    CreateDatabase {
        name: Ident<'a>,
        if_not_exists: bool,
    },
    CreateProgram {
        kind: ProgramKind,
        name: ObjectName<'a>,
    },
    CreateUser(UserName<'a>),
    /// `SHOW [GLOBAL | SESSION] VARIABLES`; implicit is session.
    Variables {
        scope: VarScope,
        filter: ShowFilter<'a>,
    },
    /// `SHOW [GLOBAL | SESSION] STATUS`; implicit is session.
    Status {
        scope: VarScope,
        filter: ShowFilter<'a>,
    },
    Warnings(Option<&'a Limit<'a>>),
    Errors(Option<&'a Limit<'a>>),
    CountWarnings,
    CountErrors,
    Processlist {
        full: bool,
    },
    Engines,
    /// `SHOW ENGINE e STATUS | MUTEX | LOGS`; `ALL` has no name.
    Engine {
        name: Option<Ident<'a>>,
        what: ShowEngine,
    },
    CharacterSet(ShowFilter<'a>),
    Collation(ShowFilter<'a>),
    /// `SHOW GRANTS [FOR user [USING role, …]]`.
    Grants {
        user: Option<UserName<'a>>,
        using: &'a [UserName<'a>],
    },
    Privileges,
    Plugins,
    /// `SHOW PROCEDURE STATUS`, `SHOW FUNCTION STATUS`.
    ProgramStatus {
        kind: ProgramKind,
        filter: ShowFilter<'a>,
    },
    ProgramCode {
        kind: ProgramKind,
        name: ObjectName<'a>,
    },
    Profiles,
    Profile,
    MasterStatus,
    SlaveStatus,
    SlaveHosts,
    BinaryLogs,
    /// `SHOW BINLOG EVENTS`, `SHOW RELAYLOG EVENTS`.
    BinlogEvents {
        relay: bool,
        log: Option<&'a [u8]>,
        from: Option<u64>,
        limit: Option<&'a Limit<'a>>,
    },
    Authors,
    Contributors,
}

/// What of an engine is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ShowEngine {
    Status,
    Mutex,
    Logs,
}

/// `EXPLAIN`, `DESCRIBE statement`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Explain<'a> {
    /// Form of the answer.
    pub format: ExplainFormat<'a>,
    /// `EXTENDED`.
    pub extended: bool,
    /// `PARTITIONS`.
    pub partitions: bool,
    /// `ANALYZE` (8.0).
    pub analyze: bool,
    /// What is explained.
    pub target: ExplainTarget<'a>,
}

/// `FORMAT=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplainFormat<'a> {
    /// A table (`TRADITIONAL`), the default.
    Traditional,
    /// `JSON`.
    Json,
    /// A name that 5.6 does not know: error 1791.
    Other(Ident<'a>),
}

/// What EXPLAIN explains.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ExplainTarget<'a> {
    /// SELECT, INSERT, REPLACE, UPDATE, DELETE.
    Statement(&'a Stmt<'a>),
    /// `FOR CONNECTION n` (5.7).
    Connection(u64),
}
