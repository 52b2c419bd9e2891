//! Users and privileges.

use super::{Ident, ObjectName};

/// `'user'@'host'`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserName<'a> {
    /// User; empty for anonymous ones.
    pub user: &'a [u8],
    /// Host; `%` when `None`.
    pub host: Option<&'a [u8]>,
    /// `CURRENT_USER`: the other fields are empty.
    pub current: bool,
}

/// A user with how they log in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserSpec<'a> {
    /// Who.
    pub name: UserName<'a>,
    /// `IDENTIFIED …`.
    pub auth: Option<Auth<'a>>,
}

/// `IDENTIFIED …`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auth<'a> {
    /// `BY 'password'`.
    Password(&'a [u8]),
    /// `BY PASSWORD 'hash'`.
    Hash(&'a [u8]),
    /// `WITH plugin`.
    Plugin {
        /// Plugin.
        plugin: Ident<'a>,
        /// `BY 'password'` (5.7).
        password: Option<&'a [u8]>,
        /// `AS 'hash'`.
        hash: Option<&'a [u8]>,
    },
}

/// `CREATE USER`, `ALTER USER`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CreateUser<'a> {
    /// `ALTER` instead of `CREATE`.
    pub alter: bool,
    /// `IF NOT EXISTS`, `IF EXISTS` (5.7).
    pub if_exists: bool,
    /// The users.
    pub users: &'a [UserSpec<'a>],
    /// `REQUIRE …`.
    pub require: Option<Require<'a>>,
    /// `WITH …` limits.
    pub limits: ResourceLimits,
    /// `PASSWORD EXPIRE …`.
    pub expire: Option<PasswordExpire>,
    /// `ACCOUNT LOCK` (true), `ACCOUNT UNLOCK` (5.7).
    pub locked: Option<bool>,
    /// `DEFAULT ROLE …` (8.0).
    pub default_role: Option<RoleChoice<'a>>,
}

/// Statements about roles (8.0). A role is an account that others are granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoleStmt<'a> {
    /// `CREATE ROLE`.
    Create {
        /// `IF NOT EXISTS`.
        if_not_exists: bool,
        /// The roles.
        roles: &'a [UserName<'a>],
    },
    /// `DROP ROLE`.
    Drop {
        /// `IF EXISTS`.
        if_exists: bool,
        /// The roles.
        roles: &'a [UserName<'a>],
    },
    /// `GRANT role, … TO user, …`.
    Grant {
        /// What is granted.
        roles: &'a [UserName<'a>],
        /// To whom.
        users: &'a [UserName<'a>],
        /// `WITH ADMIN OPTION`.
        admin: bool,
    },
    /// `REVOKE role, … FROM user, …`.
    Revoke {
        /// What is taken.
        roles: &'a [UserName<'a>],
        /// From whom.
        users: &'a [UserName<'a>],
        /// `IF EXISTS`, `IGNORE UNKNOWN USER`.
        forgives: Forgives,
    },
    /// `SET ROLE`.
    Set(RoleChoice<'a>),
    /// `SET DEFAULT ROLE … TO user, …`.
    SetDefault {
        /// Which roles.
        choice: RoleChoice<'a>,
        /// Of whom.
        users: &'a [UserName<'a>],
    },
}

/// Which of an account's roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoleChoice<'a> {
    /// `DEFAULT`.
    Default,
    /// `NONE`.
    None,
    /// `ALL`, `ALL EXCEPT role, …`.
    AllBut(&'a [UserName<'a>]),
    /// `role, …`.
    Listed(&'a [UserName<'a>]),
}

/// `PASSWORD EXPIRE …`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasswordExpire {
    /// Now.
    Now,
    /// `NEVER`.
    Never,
    /// `DEFAULT`.
    Default,
    /// `INTERVAL n DAY`.
    Days(u64),
}

/// `REQUIRE …`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Require<'a> {
    /// `NONE`.
    None,
    /// `SSL`.
    Ssl,
    /// `X509`.
    X509,
    /// `CIPHER`, `ISSUER`, `SUBJECT`.
    Details {
        /// `CIPHER`.
        cipher: Option<&'a [u8]>,
        /// `ISSUER`.
        issuer: Option<&'a [u8]>,
        /// `SUBJECT`.
        subject: Option<&'a [u8]>,
    },
}

/// `MAX_QUERIES_PER_HOUR n` and so on; `None` when not said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct ResourceLimits {
    pub queries_per_hour: Option<u64>,
    pub updates_per_hour: Option<u64>,
    pub connections_per_hour: Option<u64>,
    pub user_connections: Option<u64>,
}

/// `DROP USER`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DropUser<'a> {
    /// `IF EXISTS` (5.7).
    pub if_exists: bool,
    /// The users.
    pub users: &'a [UserName<'a>],
}

/// `GRANT`, `REVOKE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant<'a> {
    /// `REVOKE` instead of `GRANT`.
    pub revoke: bool,
    /// What.
    pub what: GrantWhat<'a>,
    /// To or from whom.
    pub users: &'a [UserSpec<'a>],
    /// `REQUIRE …`.
    pub require: Option<Require<'a>>,
    /// `WITH GRANT OPTION`.
    pub grant_option: bool,
    /// `WITH …` limits.
    pub limits: ResourceLimits,
    /// `IF EXISTS`, `IGNORE UNKNOWN USER` of REVOKE.
    pub forgives: Forgives,
}

/// What is granted or revoked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GrantWhat<'a> {
    /// `ALL [PRIVILEGES] ON …`.
    All(GrantLevel<'a>),
    /// `SELECT (a, b), INSERT ON …`.
    Privileges(&'a [PrivilegeItem<'a>], GrantLevel<'a>),
    /// `REVOKE ALL PRIVILEGES, GRANT OPTION FROM …`.
    Everything,
    /// `PROXY ON user`.
    Proxy(UserName<'a>),
}

/// One privilege with its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrivilegeItem<'a> {
    /// Which.
    pub privilege: Privilege,
    /// Columns; the whole object when empty.
    pub columns: &'a [Ident<'a>],
}

/// Privileges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Privilege {
    Alter,
    AlterRoutine,
    Create,
    CreateRoutine,
    CreateTablespace,
    CreateTemporaryTables,
    CreateUser,
    CreateView,
    Delete,
    Drop,
    Event,
    Execute,
    File,
    GrantOption,
    Index,
    Insert,
    LockTables,
    Process,
    References,
    Reload,
    ReplicationClient,
    ReplicationSlave,
    Select,
    ShowDatabases,
    ShowView,
    Shutdown,
    Super,
    Trigger,
    Update,
    Usage,
    CreateRole,
    DropRole,
    ConnectionAdmin,
    FlushStatus,
    FlushTables,
    FlushUserResources,
    RoleAdmin,
    SessionVariablesAdmin,
    SetUserId,
    ShowRoutine,
    SystemVariablesAdmin,
    /// A privilege of 8.0 for what is not here.
    Unused(&'static str),
}

/// What REVOKE forgives (8.0).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Forgives {
    /// `IF EXISTS`: what was not granted.
    pub not_granted: bool,
    /// `IGNORE UNKNOWN USER`: who is not there.
    pub unknown_users: bool,
}

/// Where a privilege holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GrantLevel<'a> {
    /// `*.*`.
    Global,
    /// `*`: the current database (global if there is none).
    Current,
    /// `d.*`: a pattern.
    Database(Ident<'a>),
    /// `[d.]t`, `TABLE [d.]t`.
    Table(ObjectName<'a>),
    /// `PROCEDURE [d.]p`, `FUNCTION [d.]f`.
    Program(super::ProgramKind, ObjectName<'a>),
}
