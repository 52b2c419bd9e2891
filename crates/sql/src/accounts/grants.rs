//! What accounts have, in memory: an image of the tables of `mysql`, replaced as a whole when it changes.

use super::name::Name;
use super::roles::Roles;
use super::{Account, Demand};
use vaquita_session::Transport;
use vaquita_session::privilege::pattern::{like, specificity};
use vaquita_session::privilege::{DatabaseGrant, Priv, Privileges, RoutineGrant, TableGrant};

/// An account and its privileges.
#[derive(Debug, Clone, Default)]
pub(crate) struct AccountGrants {
    pub(crate) user: String,
    pub(crate) host: String,
    pub(crate) plugin: String,
    pub(crate) authentication: Vec<u8>,
    pub(crate) ssl: SslKind,
    /// Of REQUIRE: issuer, subject, cipher; empty: not asked for.
    pub(crate) demanded: [Vec<u8>; 3],
    pub(crate) password_expired: bool,
    /// When the password was set, in seconds since 1970; `None`: nobody knows, and it does not grow old.
    pub(crate) password_changed: Option<i64>,
    /// Days it is good for; 0: for ever; `None`: as many as `default_password_lifetime` says.
    pub(crate) password_lifetime: Option<u16>,
    pub(crate) locked: bool,
    pub(crate) limits: [u64; 3],
    pub(crate) max_user_connections: u64,
    pub(crate) global: Priv,
    /// Dynamic privileges that it may give further.
    pub(crate) gives: Priv,
    /// Only over loopback and the socket, as long as it has no password.
    pub(crate) local_only: bool,
}

/// REQUIRE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum SslKind {
    #[default]
    None,
    Any,
    X509,
    Specified,
}

/// All of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Grants {
    /// The most specific host first, then the most specific user.
    pub(crate) accounts: Vec<AccountGrants>,
    pub(crate) databases: Vec<DatabaseGrant>,
    pub(crate) tables: Vec<TableGrant>,
    pub(crate) routines: Vec<RoutineGrant>,
    pub(crate) roles: Roles,
    /// Whether `mysql.user` has the columns for the lifetime of passwords.
    pub(crate) keeps_lifetimes: bool,
    /// Whether it has one for accounts that are locked.
    pub(crate) keeps_locks: bool,
    /// Whether there is a table for privileges on procedures and functions.
    pub(crate) keeps_routines: bool,
    /// Whether `mysql.user` has columns for the privileges about roles.
    pub(crate) keeps_of_roles: bool,
    /// Whether there is a table for dynamic privileges.
    pub(crate) keeps_dynamic: bool,
}

/// At what time somebody comes in, and how long passwords are good for whose accounts say nothing about it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Login {
    /// In seconds since 1970.
    pub(crate) at: i64,
    /// Days: `default_password_lifetime`.
    pub(crate) default_lifetime: u16,
}

/// Whether a host pattern is for a client's host.
fn host_matches(pattern: &str, host: &str) -> bool {
    if let Some((network, mask)) = pattern.split_once('/') {
        let parse = |s: &str| s.parse::<std::net::Ipv4Addr>().ok().map(u32::from);
        return match (parse(network), parse(mask), parse(host)) {
            (Some(network), Some(mask), Some(host)) => host & mask == network,
            _ => false,
        };
    }
    like(pattern, host, false)
}

impl AccountGrants {
    /// The password is a new one.
    pub(crate) fn password_set(&mut self, now: i64) {
        self.password_expired = false;
        self.password_changed = Some(now);
    }

    /// Whether the password is to be changed by whoever came in then.
    fn is_expired(&self, login: Login) -> bool {
        let days = self.password_lifetime.unwrap_or(login.default_lifetime);
        let is_old = |changed: i64| login.at.saturating_sub(changed) > i64::from(days) * 86_400;
        self.password_expired || (days > 0 && self.password_changed.is_some_and(is_old))
    }

    /// What the account demands of a client's TLS.
    fn demand(&self) -> Demand {
        match self.ssl {
            SslKind::None => Demand::Nothing,
            SslKind::Any => Demand::Tls,
            SslKind::X509 => Demand::Certificate,
            SslKind::Specified => {
                let [issuer, subject, cipher] = self.demanded.clone();
                Demand::Details { issuer, subject, cipher }
            }
        }
    }
}

impl Grants {
    /// Those of a new folder.
    pub(crate) fn initial(now: i64) -> Grants {
        let root = AccountGrants {
            user: "root".into(),
            host: "localhost".into(),
            plugin: vaquita_session::password::NATIVE.into(),
            global: Priv::ALL | Priv::GRANT,
            local_only: true,
            password_changed: Some(now),
            ..AccountGrants::default()
        };
        let roles = Roles { kept: true, ..Roles::default() };
        Grants {
            accounts: vec![root],
            keeps_lifetimes: true,
            keeps_locks: true,
            keeps_routines: true,
            keeps_of_roles: true,
            keeps_dynamic: true,
            roles,
            ..Grants::default()
        }
    }

    /// In the order in which they are looked at.
    pub(crate) fn sort(&mut self) {
        self.accounts.sort_by(|a, b| {
            let key = |g: &AccountGrants| (std::cmp::Reverse(specificity(&g.host)), g.user.is_empty());
            key(a).cmp(&key(b))
        });
        self.roles.sort();
    }

    /// The account of exactly that name.
    pub(crate) fn account(&self, user: &str, host: &str) -> Option<&AccountGrants> {
        self.accounts.iter().find(|a| a.user == user && a.host.eq_ignore_ascii_case(host))
    }

    /// The same, to change it.
    pub(crate) fn account_mut(&mut self, user: &str, host: &str) -> Option<&mut AccountGrants> {
        self.accounts.iter_mut().find(|a| a.user == user && a.host.eq_ignore_ascii_case(host))
    }

    pub(crate) fn find(
        &self,
        user: &str,
        host: &str,
        transport: &Transport,
        login: Login,
    ) -> Option<Account> {
        let local = match transport {
            Transport::Embedded | Transport::Socket => true,
            Transport::Tcp(at) | Transport::Tls(at) => at.ip().is_loopback(),
        };
        let ip = match transport {
            Transport::Embedded | Transport::Socket => None,
            Transport::Tcp(at) | Transport::Tls(at) => Some(at.ip().to_string()),
        };
        let found = self.accounts.iter().find(|a| {
            // Over loopback a client is `localhost` too, and its address.
            let from_here = host_matches(&a.host, host)
                || (local && host_matches(&a.host, "localhost"))
                || ip.as_deref().is_some_and(|ip| host_matches(&a.host, ip));
            let may = !a.local_only || !a.authentication.is_empty() || local;
            (a.user.is_empty() || a.user == user) && from_here && may
        })?;
        Some(Account {
            user: found.user.clone(),
            host: found.host.clone(),
            plugin: found.plugin.clone(),
            authentication: found.authentication.clone(),
            demand: found.demand(),
            password_expired: found.is_expired(login),
            locked: found.locked,
            unchecked: false,
        })
    }

    /// What an account may do for whoever came in by it and has these roles.
    pub(crate) fn privileges(
        &self,
        user: &str,
        host: &str,
        login: Login,
        version: u64,
        roles: &[Name],
    ) -> Privileges {
        let Some(account) = self.account(user, host) else {
            return Privileges { version, ..Privileges::default() };
        };
        let expired = account.is_expired(login);
        let of_account = |u: &str, h: &str| (u.is_empty() || u == user) && h.eq_ignore_ascii_case(host);
        let mut privileges = Privileges {
            // Nobody does anything before the password is changed.
            global: if expired { Priv::NONE } else { account.global },
            gives: if expired { Priv::NONE } else { account.gives },
            version,
            databases: self.databases.iter().filter(|g| of_account(&g.user, &g.host)).cloned().collect(),
            tables: self.tables.iter().filter(|g| of_account(&g.user, &g.host)).cloned().collect(),
            routines: self.routines.iter().filter(|g| of_account(&g.user, &g.host)).cloned().collect(),
            password_expired: expired,
            has_password: !account.authentication.is_empty(),
        };
        if !roles.is_empty() && !expired {
            self.add_roles(&mut privileges, roles);
        }
        privileges
    }
}
