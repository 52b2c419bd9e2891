//! Users, passwords, grants: kept in the tables of database `mysql`, cached for every check.
//!
//! | part | file |
//! |---|---|
//! | privileges as sets, what statements want | `privilege` |
//! | what accounts have, in memory; who is who | `grants` |
//! | checks of statements | `check` |

mod check;
mod grants;
mod privilege;

pub use grants::Privileges;
pub use privilege::{Priv, Wanted};

use crate::connection::Transport;
use crate::statement::StmtCx;
use crate::virtual_tables::Listing;
use grants::Grants;
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use vaquita_engine::Engine;
use vaquita_parser::ast;
use vaquita_types::{SqlError, SqlResult};

/// What a door needs to authenticate somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// User part.
    pub user: String,
    /// Host part: a pattern.
    pub host: String,
    /// `mysql_native_password` or `caching_sha2_password`.
    pub plugin: String,
    /// Stored form of the password: `*` and 40 hex digits, or `$A$005$` and what follows; empty: none.
    pub authentication: Vec<u8>,
    /// REQUIRE SSL.
    pub require_ssl: bool,
    /// The password must be changed first.
    pub password_expired: bool,
    /// Nobody may log in.
    pub locked: bool,
}

/// The accounts of a folder.
#[derive(Debug)]
pub struct Accounts {
    grants: RwLock<Arc<Grants>>,
    /// Grows with every change: sessions look whether theirs is the present one.
    version: AtomicU64,
}

impl Accounts {
    /// The accounts of a folder; a new one gets `root@localhost`.
    pub(crate) fn open(_engine: &Engine) -> SqlResult<Accounts> {
        Ok(Accounts { grants: RwLock::new(Arc::new(Grants::initial())), version: AtomicU64::new(1) })
    }

    /// Reads them again (FLUSH PRIVILEGES).
    pub(crate) fn reload(&self, _engine: &Engine) -> SqlResult<()> {
        self.version.fetch_add(1, Ordering::Release);
        Ok(())
    }

    pub(crate) fn grants(&self) -> Arc<Grants> {
        self.grants.read().clone()
    }

    /// The account for a user that comes from there: the most specific host first, then the most specific user, as
    /// MySQL sorts them. An account that may come in only over loopback or the socket is not found for others.
    pub fn find(&self, user: &str, host: &str, transport: &Transport) -> Option<Account> {
        self.grants().find(user, host, transport)
    }

    /// What an account may do.
    pub(crate) fn privileges(&self, user: &str, host: &str) -> Arc<Privileges> {
        let version = self.version.load(Ordering::Acquire);
        Arc::new(self.grants().privileges(user, host, version))
    }

    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Whether the account has SUPER: such a one may come in when there are too many.
    pub(crate) fn is_super(&self, user: &str, host: &str) -> bool {
        self.privileges(user, host).global.has(Priv::SUPER)
    }

    /// Connections the account may have at a time; 0: no limit of its own.
    pub(crate) fn max_connections(&self, user: &str, host: &str) -> u64 {
        self.grants().account(user, host).map_or(0, |a| a.max_user_connections)
    }

    /// User part of the account: empty for anonymous ones, whoever uses it.
    pub(crate) fn account_user(&self, user: &str, host: &str) -> String {
        let grants = self.grants();
        let anonymous = grants.account(user, host).is_none() && grants.account("", host).is_some();
        if anonymous { String::new() } else { user.to_owned() }
    }
}

/// SHOW CREATE USER.
///
/// # Errors
/// 1141 no such account.
pub(crate) fn show_create_user(_cx: &StmtCx<'_>, _user: &ast::UserName<'_>) -> SqlResult<Listing> {
    Err(SqlError::unsupported("SHOW CREATE USER"))
}

/// SHOW GRANTS.
///
/// # Errors
/// 1141 no such account.
pub(crate) fn show_grants(_cx: &StmtCx<'_>, _user: Option<&ast::UserName<'_>>) -> SqlResult<Listing> {
    Err(SqlError::unsupported("SHOW GRANTS"))
}
