//! Who may come in and what they may do: the accounts of a folder in memory, looked at by every check. Statements change them
//! (`dcl`, which keeps them in the tables of database `mysql`).
//!
//! | part | file |
//! |---|---|
//! | privileges as sets, what statements want | [`vaquita_session::privilege`] |
//! | what accounts have, in memory; who is who | `grants` |
//! | their names in statements and messages | `name` |
//! | what REQUIRE demands of a client's TLS | `demand` |
//! | what accounts may do in an hour, and have done | `limits` |
//! | roles: who is granted whom | `roles` |

mod demand;
pub(crate) mod grants;
pub(crate) mod limits;
pub(crate) mod name;
pub(crate) mod roles;

pub use demand::{Demand, TlsClient};
pub use vaquita_session::privilege::{Priv, Privileges, Wanted};

use grants::{Grants, Login};
use limits::Usage;
use name::Name;
use parking_lot::{Mutex, MutexGuard, RwLock};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::time::Instant;
use vaquita_session::Transport;
use vaquita_types::{SqlError, SqlResult};

/// The tables of `mysql` that accounts, and the logs, are kept in: `dcl::store` says what is in them.
pub(crate) const TABLES: [&str; 11] = [
    "user",
    "db",
    "tables_priv",
    "columns_priv",
    "proxies_priv",
    "procs_priv",
    "role_edges",
    "default_roles",
    "global_grants",
    "general_log",
    "slow_log",
];

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
    /// REQUIRE.
    pub demand: Demand,
    /// The password must be changed first.
    pub password_expired: bool,
    /// Nobody may log in.
    pub locked: bool,
    /// Whatever is given as a password is right.
    pub unchecked: bool,
}

impl Account {
    /// Of somebody who needs none.
    fn of_anybody(user: &str, host: &str) -> Account {
        Account {
            user: user.to_owned(),
            host: host.to_owned(),
            plugin: vaquita_session::password::NATIVE.to_owned(),
            authentication: Vec::new(),
            demand: Demand::Nothing,
            password_expired: false,
            locked: false,
            unchecked: true,
        }
    }
}

/// Who may come in.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Door {
    /// Those who have an account.
    Accounts,
    /// Everybody, with all privileges: `--skip-grant-tables`.
    Everybody,
    /// Nobody.
    Nobody(Closed),
}

/// Why nobody may come in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closed {
    /// In words.
    pub reason: String,
    /// The tables of accounts are missing or damaged: a server should not start then. Otherwise there are just no accounts
    /// yet, or none that are read here.
    pub broken: bool,
}

/// The accounts of a folder.
#[derive(Debug)]
pub struct Accounts {
    grants: RwLock<Arc<Grants>>,
    door: RwLock<Door>,
    /// Grows with every change: sessions look whether theirs is the present one.
    version: AtomicU64,
    /// `default_password_lifetime`.
    default_lifetime: AtomicU16,
    /// `mandatory_roles`.
    mandatory_roles: RwLock<Vec<Name>>,
    /// `activate_all_roles_on_login`.
    activate_all_roles: AtomicBool,
    /// Held while they are changed.
    changing: Mutex<()>,
    /// What accounts with limits have done in their hours, by user and host.
    usage: Mutex<HashMap<(String, String), Arc<Usage>>>,
}

impl Accounts {
    /// None, until the tables are read.
    pub(crate) fn initial() -> Accounts {
        Accounts {
            grants: RwLock::default(),
            door: RwLock::new(Door::Nobody(Closed {
                reason: "the accounts are not read yet".into(),
                broken: false,
            })),
            version: AtomicU64::new(1),
            default_lifetime: AtomicU16::new(0),
            mandatory_roles: RwLock::default(),
            activate_all_roles: AtomicBool::new(false),
            changing: Mutex::default(),
            usage: Mutex::default(),
        }
    }

    /// Why nobody may come in, if so.
    pub fn closed(&self) -> Option<Closed> {
        match &*self.door.read() {
            Door::Nobody(closed) => Some(closed.clone()),
            Door::Accounts | Door::Everybody => None,
        }
    }

    /// Whether everybody may come in and do everything.
    pub fn are_skipped(&self) -> bool {
        *self.door.read() == Door::Everybody
    }

    /// Whether accounts can be changed and asked for.
    ///
    /// # Errors
    /// 1290 with `--skip-grant-tables`; 1105 if the tables are missing or damaged.
    pub(crate) fn check_usable(&self) -> SqlResult<()> {
        match &*self.door.read() {
            Door::Everybody => Err(SqlError::new(
                1290,
                "The MySQL server is running with the --skip-grant-tables option so it cannot execute this statement",
            )),
            Door::Nobody(closed) if closed.broken => {
                let text = format!("{}; FLUSH PRIVILEGES makes tables that are missing", closed.reason);
                Err(SqlError::new(1105, text))
            }
            Door::Nobody(_) | Door::Accounts => Ok(()),
        }
    }

    /// Only one at a time changes them: held from reading what there is to replacing it.
    pub(crate) fn lock_changes(&self) -> MutexGuard<'_, ()> {
        self.changing.lock()
    }

    /// From now on nobody is asked who they are.
    pub(crate) fn let_everybody_in(&self) {
        *self.door.write() = Door::Everybody;
    }

    /// From now on nobody may come in.
    pub(crate) fn close(&self, reason: &str, broken: bool) {
        *self.door.write() = Door::Nobody(Closed { reason: reason.to_owned(), broken });
    }

    /// These are the accounts from now on.
    pub(crate) fn replace(&self, mut grants: Grants) {
        grants.roles.mandatory = self.mandatory_roles.read().clone();
        grants.roles.activate_all = self.activate_all_roles.load(Ordering::Relaxed);
        match grants.accounts.is_empty() {
            true => self.close("mysql.user has no account", false),
            false => *self.door.write() = Door::Accounts,
        }
        let grants = Arc::new(grants);
        *self.grants.write() = grants.clone();
        self.version.fetch_add(1, Ordering::Release);
        // Sessions that are there have the new limits from now on.
        self.usage.lock().retain(|(user, host), usage| {
            let account = grants.account(user, host);
            account.inspect(|account| usage.set_limits(account.limits)).is_some()
        });
    }

    /// What sessions of an account count together; `None`: it has no limits.
    pub(crate) fn usage(&self, user: &str, host: &str, now: Instant) -> Option<Arc<Usage>> {
        let mut usage = self.usage.lock();
        let grants = self.grants();
        let account = grants.account(user, host)?;
        if account.limits == [0; 3] && account.max_user_connections == 0 {
            return None;
        }
        let new = || Arc::new(Usage::new(user, account.limits, now));
        Some(usage.entry((account.user.clone(), account.host.clone())).or_insert_with(new).clone())
    }

    /// Forgets what these accounts (user, host) have done in their hours.
    pub(crate) fn reset_usage(&self, whose: impl Fn(&str, &str) -> bool) {
        let now = Instant::now();
        let usage = self.usage.lock();
        usage.iter().filter(|((user, host), _)| whose(user, host)).for_each(|(_, usage)| usage.reset(now));
    }

    pub(crate) fn grants(&self) -> Arc<Grants> {
        self.grants.read().clone()
    }

    /// The account for a user that comes from there: the most specific host first, then the most specific user, as
    /// MySQL sorts them. An account that may come in only over loopback or the socket is not found for others.
    pub fn find(&self, user: &str, host: &str, transport: &Transport) -> Option<Account> {
        match &*self.door.read() {
            Door::Accounts => self.grants().find(user, host, transport, self.login_now()),
            Door::Everybody => Some(Account::of_anybody(user, host)),
            Door::Nobody(_) => None,
        }
    }

    /// The method of one of the accounts, chosen by `draw`.
    pub fn method_by(&self, draw: u64) -> String {
        let grants = self.grants();
        let chosen = draw.checked_rem(grants.accounts.len() as u64).unwrap_or(0);
        let account = grants.accounts.get(chosen as usize);
        account.map_or(vaquita_session::password::NATIVE, |a| a.plugin.as_str()).to_owned()
    }

    /// What an account may do for whoever came in by it at `login_at`, in seconds since 1970, and has these roles. Passwords do
    /// not grow old under the hands of who is there.
    pub(crate) fn privileges(
        &self,
        user: &str,
        host: &str,
        login_at: i64,
        roles: &[Name],
    ) -> Arc<Privileges> {
        let version = self.version.load(Ordering::Acquire);
        let login = Login { at: login_at, ..self.login_now() };
        Arc::new(self.grants().privileges(user, host, login, version, roles))
    }

    /// Roles of an account that comes in, or whose programs run.
    pub(crate) fn first_roles(&self, user: &str, host: &str) -> Vec<Name> {
        self.grants().first_roles(&(user.to_owned(), host.to_owned()))
    }

    /// Leaves those of a session's roles that its account still has.
    pub(crate) fn keep_granted(&self, user: &str, host: &str, roles: &mut Vec<Name>) {
        if !roles.is_empty() {
            let granted = self.grants().roles_of(&(user.to_owned(), host.to_owned()));
            roles.retain(|role| granted.contains(role));
        }
    }

    /// `mandatory_roles`: these are everybody's from now on.
    pub(crate) fn set_mandatory_roles(&self, roles: Vec<Name>) {
        *self.mandatory_roles.write() = roles;
        self.roles_changed();
    }

    /// `activate_all_roles_on_login`.
    pub(crate) fn activate_all_roles(&self, all: bool) {
        self.activate_all_roles.store(all, Ordering::Relaxed);
        self.roles_changed();
    }

    /// A variable about roles has another value. Who may come in stays as it is.
    fn roles_changed(&self) {
        let _one_at_a_time = self.lock_changes();
        let mut grants = (*self.grants()).clone();
        grants.roles.mandatory = self.mandatory_roles.read().clone();
        grants.roles.activate_all = self.activate_all_roles.load(Ordering::Relaxed);
        *self.grants.write() = Arc::new(grants);
        self.version.fetch_add(1, Ordering::Release);
    }

    fn login_now(&self) -> Login {
        Login { at: seconds_now(), default_lifetime: self.default_lifetime.load(Ordering::Relaxed) }
    }

    /// `default_password_lifetime`: days; 0: passwords that say nothing about it are good for ever.
    pub(crate) fn set_default_lifetime(&self, days: u16) {
        self.default_lifetime.store(days, Ordering::Relaxed);
    }

    /// Whether the folder keeps when passwords were set, and how long they are good for.
    pub(crate) fn keep_lifetimes(&self) -> bool {
        self.are_skipped() || self.grants().keeps_lifetimes
    }

    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Whether there is an account of exactly that name.
    pub(crate) fn has_account(&self, user: &str, host: &str) -> bool {
        self.grants().account(user, host).is_some()
    }

    /// Whether the account has SUPER or CONNECTION_ADMIN: such a one may come in when there are too many.
    pub(crate) fn is_super(&self, user: &str, host: &str) -> bool {
        let roles = self.first_roles(user, host);
        self.privileges(user, host, seconds_now(), &roles).may(Priv::CONNECTION_ADMIN)
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

/// Seconds since 1970.
pub(crate) fn seconds_now() -> i64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_secs() as i64)
}
