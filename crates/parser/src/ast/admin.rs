//! SET, prepared statements, table maintenance, server administration.

use super::{Expr, Ident, ObjectName, SystemVar, UserName};

/// One assignment of SET.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SetItem<'a> {
    /// `@name = value`.
    UserVar(Ident<'a>, Expr<'a>),
    /// `[GLOBAL | SESSION | @@…] name = value`. A bare word is a column reference: `SET x = ON`, `SET sql_mode =
    /// ansi`; `DEFAULT` is [`super::ExprKind::Default`]; `ON`, `ALL`, `BINARY` are column references too.
    SystemVar(SystemVar<'a>, Expr<'a>),
    /// `NAMES cs [COLLATE c]`; `NAMES DEFAULT` has no character set.
    Names {
        /// Character set.
        charset: Option<Ident<'a>>,
        /// Collation.
        collation: Option<Ident<'a>>,
    },
    /// `CHARACTER SET cs`; `None` is `DEFAULT`.
    CharacterSet(Option<Ident<'a>>),
    /// `PASSWORD [FOR user] = …`.
    Password {
        /// Whose; the current user's when `None`.
        user: Option<UserName<'a>>,
        /// The password.
        value: SetPassword<'a>,
    },
}

/// What SET PASSWORD assigns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetPassword<'a> {
    /// `'…'`: a hash in 5.6, the password itself since 5.7.
    Text(&'a [u8]),
    /// `PASSWORD('…')`.
    Password(&'a [u8]),
    /// `OLD_PASSWORD('…')`.
    OldPassword(&'a [u8]),
}

/// `PREPARE name FROM …`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prepare<'a> {
    /// Name.
    pub name: Ident<'a>,
    /// Text.
    pub source: PrepareSource<'a>,
}

/// Text of PREPARE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrepareSource<'a> {
    /// `'…'`.
    Text(&'a [u8]),
    /// `@name`.
    Var(Ident<'a>),
}

/// `EXECUTE name [USING @a, …]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Execute<'a> {
    /// Name.
    pub name: Ident<'a>,
    /// User variables.
    pub using: &'a [Ident<'a>],
}

/// Maintenance of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Maintain<'a> {
    /// What is done.
    pub action: MaintainAction,
    /// `NO_WRITE_TO_BINLOG`, `LOCAL`.
    pub no_binlog: bool,
    /// The tables.
    pub tables: &'a [ObjectName<'a>],
    /// `ALTER TABLE .. PARTITION`: which partitions of the one table.
    pub partitions: Option<MaintainPartitions<'a>>,
    /// `QUICK`, `FAST`, `MEDIUM`, `EXTENDED`, `CHANGED`, `FOR UPGRADE`, `USE_FRM`.
    pub options: MaintainOptions,
}

/// Partitions that ALTER TABLE maintains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaintainPartitions<'a> {
    /// By name; none: `ALL`.
    pub names: &'a [Ident<'a>],
    /// `ALTER IGNORE`.
    pub ignore: bool,
}

/// Words after CHECK TABLE, REPAIR TABLE, CHECKSUM TABLE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct MaintainOptions {
    pub quick: bool,
    pub fast: bool,
    pub medium: bool,
    pub extended: bool,
    pub changed: bool,
    pub for_upgrade: bool,
    pub use_frm: bool,
}

/// Maintenance statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum MaintainAction {
    Analyze,
    Check,
    Optimize,
    Repair,
    Checksum,
}

/// `KILL`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kill<'a> {
    /// `QUERY`: only the statement.
    pub query: bool,
    /// The connection.
    pub id: Expr<'a>,
}

/// `FLUSH`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flush<'a> {
    /// `NO_WRITE_TO_BINLOG`, `LOCAL`.
    pub no_binlog: bool,
    /// What.
    pub what: FlushWhat<'a>,
}

/// What FLUSH flushes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlushWhat<'a> {
    /// `TABLES [t, …] [WITH READ LOCK | FOR EXPORT]`.
    Tables {
        /// All when empty.
        tables: &'a [ObjectName<'a>],
        /// Lock.
        lock: FlushLock,
    },
    /// `PRIVILEGES`, `LOGS`, `STATUS` and so on, in order.
    Options(&'a [FlushOption]),
}

/// Lock kept by FLUSH TABLES.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum FlushLock {
    None,
    Read,
    Export,
}

/// Options of FLUSH.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum FlushOption {
    Privileges,
    /// `LOGS` and `BINARY | ENGINE | ERROR | GENERAL | RELAY | SLOW LOGS`.
    Logs,
    Status,
    Hosts,
    QueryCache,
    DesKeyFile,
    UserResources,
    Master,
    Slave,
    OptimizerCosts,
}

/// `RESET …`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ResetOption {
    Master,
    Slave,
    QueryCache,
}
