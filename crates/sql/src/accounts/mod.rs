//! Users, passwords, grants: kept in the tables of database `mysql`, cached for every check.
//!
//! | part | file |
//! |---|---|
//! | privileges as sets, what statements want | `privilege` |
//! | what accounts have, in memory; who is who | `grants` |
//! | checks of statements | `check` |
//! | the tables they are kept in | `store` |
//! | CREATE USER, GRANT and the like; SHOW GRANTS | `statements` |

mod check;
mod grants;
mod privilege;
mod statements;
mod store;

pub(crate) use statements::{show_create_user, show_grants};

pub(crate) use check::InDatabase;
pub use grants::Privileges;
pub use privilege::{Priv, Wanted};

use crate::connection::Transport;
use crate::database::Database;
use grants::Grants;
use parking_lot::{Mutex, RwLock};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use vaquita_types::SqlResult;

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
    /// Held while they are changed.
    changing: Mutex<()>,
}

impl Accounts {
    /// Those of a new folder: to begin with, until [`Accounts::open`] has read the tables.
    pub(crate) fn initial() -> Accounts {
        Accounts {
            grants: RwLock::new(Arc::new(Grants::initial())),
            version: AtomicU64::new(1),
            changing: Mutex::default(),
        }
    }

    /// Reads the accounts of a folder; a new one gets the tables and `root@localhost`.
    pub(crate) fn open(db: &Arc<Database>) -> SqlResult<()> {
        let core = db.engine.core();
        let first = store::create_missing(&db.engine)?;
        if core.storage.options().read_only
            && crate::error::of_engine(core.dict.find(&core.storage, "mysql/user"))?.is_none()
        {
            return Ok(());
        }
        let mut insider = store::insider(db)?;
        if first {
            let root = [("root".to_owned(), "localhost".to_owned())];
            store::save(&mut insider, &Grants::initial(), &root)?;
        }
        let loaded = store::load(&mut insider)?;
        db.accounts.replace(loaded);
        Ok(())
    }

    /// Reads them again (FLUSH PRIVILEGES).
    pub(crate) fn reload(&self, db: &Arc<Database>) -> SqlResult<()> {
        let _one_at_a_time = self.changing.lock();
        let loaded = store::load(&mut store::insider(db)?)?;
        self.replace(loaded);
        Ok(())
    }

    fn replace(&self, grants: Grants) {
        *self.grants.write() = Arc::new(grants);
        self.version.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn grants(&self) -> Arc<Grants> {
        self.grants.read().clone()
    }

    /// The account for a user that comes from there: the most specific host first, then the most specific user, as
    /// MySQL sorts them. An account that may come in only over loopback or the socket is not found for others.
    pub fn find(&self, user: &str, host: &str, transport: &Transport) -> Option<Account> {
        self.grants().find(user, host, transport)
    }

    /// The method of one of the accounts, chosen by `draw`.
    pub fn method_by(&self, draw: u64) -> String {
        let grants = self.grants();
        let chosen = draw.checked_rem(grants.accounts.len() as u64).unwrap_or(0);
        let account = grants.accounts.get(chosen as usize);
        account.map_or(crate::password::NATIVE, |a| a.plugin.as_str()).to_owned()
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
