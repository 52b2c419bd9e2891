//! What accounts have, in memory: an image of the tables of `mysql`, replaced as a whole when it changes.

use super::{Account, Priv};
use crate::connection::Transport;

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
    pub(crate) locked: bool,
    pub(crate) limits: [u64; 3],
    pub(crate) max_user_connections: u64,
    pub(crate) global: Priv,
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

/// Privileges of somebody in a database (a pattern).
#[derive(Debug, Clone)]
pub(crate) struct DatabaseGrant {
    pub(crate) user: String,
    pub(crate) host: String,
    pub(crate) database: String,
    pub(crate) privileges: Priv,
}

/// Privileges of somebody on a table and its columns.
#[derive(Debug, Clone)]
pub(crate) struct TableGrant {
    pub(crate) user: String,
    pub(crate) host: String,
    pub(crate) database: String,
    pub(crate) table: String,
    pub(crate) grantor: String,
    pub(crate) privileges: Priv,
    pub(crate) columns: Vec<(String, Priv)>,
}

/// All of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Grants {
    /// The most specific host first, then the most specific user.
    pub(crate) accounts: Vec<AccountGrants>,
    pub(crate) databases: Vec<DatabaseGrant>,
    pub(crate) tables: Vec<TableGrant>,
}

/// What an account may do, as a session keeps it.
#[derive(Debug, Default)]
pub struct Privileges {
    /// Everywhere.
    pub global: Priv,
    /// Which state of the grants this is.
    pub(crate) version: u64,
    pub(crate) databases: Vec<DatabaseGrant>,
    pub(crate) tables: Vec<TableGrant>,
    pub(crate) password_expired: bool,
    /// Whether there is a password, for messages.
    pub(crate) has_password: bool,
}

impl Privileges {
    /// All of them.
    pub(crate) fn everything() -> Privileges {
        Privileges { global: Priv::ALL | Priv::GRANT, ..Privileges::default() }
    }

    /// In a database.
    pub(crate) fn in_database(&self, database: &str) -> Priv {
        let granted = self.databases.iter().filter(|g| like(&g.database, database, true));
        // The most specific pattern counts.
        granted.max_by_key(|g| specificity(&g.database)).map_or(Priv::NONE, |g| g.privileges)
    }

    /// In all databases that a pattern is for: what GRANT may give there.
    pub(crate) fn in_pattern(&self, pattern: &str) -> Priv {
        let granted = self.databases.iter().filter(|g| covers(&g.database, pattern));
        granted.max_by_key(|g| specificity(&g.database)).map_or(Priv::NONE, |g| g.privileges)
    }

    /// On a table and on its columns.
    pub(crate) fn on_table(&self, database: &str, table: &str) -> Option<&TableGrant> {
        self.tables.iter().find(|g| g.database == database && g.table == table)
    }

    /// Whether there is any privilege in a database or on something in it.
    pub fn any_in_database(&self, database: &str) -> bool {
        let on_anything = Priv::ALL
            - (Priv::RELOAD
                | Priv::SHUTDOWN
                | Priv::PROCESS
                | Priv::FILE
                | Priv::SUPER
                | Priv::SHOW_DB
                | Priv::REPL_SLAVE
                | Priv::REPL_CLIENT
                | Priv::CREATE_USER
                | Priv::CREATE_TABLESPACE);
        self.global.any(on_anything)
            || !self.in_database(database).is_none()
            || self.tables.iter().any(|g| g.database == database)
    }
}

/// Characters before the first wildcard.
fn specificity(pattern: &str) -> usize {
    let mut escaped = false;
    for (at, c) in pattern.char_indices() {
        match c {
            '\\' if !escaped => {
                escaped = true;
                continue;
            }
            '%' | '_' if !escaped => return at,
            _ => {}
        }
        escaped = false;
    }
    usize::MAX
}

/// Whether a text matches a pattern of LIKE with `\` as escape.
pub(crate) fn like(pattern: &str, text: &str, case: bool) -> bool {
    let same = |a: char, b: char| a == b || (!case && a.to_lowercase().eq(b.to_lowercase()));
    let (mut p, mut t) = (pattern.chars(), text.chars());
    // Where the last `%` may take one character more.
    let mut again: Option<(std::str::Chars<'_>, std::str::Chars<'_>)> = None;
    loop {
        let fits = match (p.next(), t.clone().next()) {
            (None, None) => return true,
            (Some('%'), _) => {
                again = Some((p.clone(), t.clone()));
                continue;
            }
            (Some('_'), Some(_)) => true,
            (Some('\\'), Some(c)) => match p.next() {
                Some(escaped) => same(escaped, c),
                None => same('\\', c),
            },
            (Some(wanted), Some(c)) => same(wanted, c),
            (_, _) => false,
        };
        if fits {
            t.next();
            continue;
        }
        let Some((rest, from)) = &mut again else { return false };
        if from.next().is_none() {
            return false;
        }
        (p, t) = (rest.clone(), from.clone());
    }
}

/// A piece of a pattern of LIKE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    Exactly(char),
    One,
    Any,
}

fn pieces(pattern: &str) -> Vec<Piece> {
    let mut chars = pattern.chars();
    let mut out = Vec::new();
    while let Some(c) = chars.next() {
        out.push(match c {
            '%' => Piece::Any,
            '_' => Piece::One,
            '\\' => Piece::Exactly(chars.next().unwrap_or('\\')),
            c => Piece::Exactly(c),
        });
    }
    out
}

/// Whether every name that matches `pattern` matches `wider`, as far as one look from left to right can tell.
fn covers(wider: &str, pattern: &str) -> bool {
    let (wider, pattern) = (pieces(wider), pieces(pattern));
    let fits = |w: Piece, p: Piece| w == p || w == Piece::One && p != Piece::Any;
    let (mut w, mut p) = (0, 0);
    // Where the last `%` may take one piece more.
    let mut again: Option<(usize, usize)> = None;
    while p < pattern.len() {
        match wider.get(w) {
            Some(Piece::Any) => {
                again = Some((w + 1, p));
                w += 1;
            }
            Some(&piece) if fits(piece, pattern[p]) => (w, p) = (w + 1, p + 1),
            _ => match &mut again {
                Some((rest, from)) => {
                    *from += 1;
                    (w, p) = (*rest, *from);
                }
                None => return false,
            },
        }
    }
    wider[w..].iter().all(|piece| *piece == Piece::Any)
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

impl Grants {
    /// Those of a new folder.
    pub(crate) fn initial() -> Grants {
        let root = AccountGrants {
            user: "root".into(),
            host: "localhost".into(),
            plugin: crate::password::NATIVE.into(),
            global: Priv::ALL | Priv::GRANT,
            local_only: true,
            ..AccountGrants::default()
        };
        Grants { accounts: vec![root], ..Grants::default() }
    }

    /// In the order in which they are looked at.
    pub(crate) fn sort(&mut self) {
        self.accounts.sort_by(|a, b| {
            let key = |g: &AccountGrants| (std::cmp::Reverse(specificity(&g.host)), g.user.is_empty());
            key(a).cmp(&key(b))
        });
    }

    /// The account of exactly that name.
    pub(crate) fn account(&self, user: &str, host: &str) -> Option<&AccountGrants> {
        self.accounts.iter().find(|a| a.user == user && a.host.eq_ignore_ascii_case(host))
    }

    /// The same, to change it.
    pub(crate) fn account_mut(&mut self, user: &str, host: &str) -> Option<&mut AccountGrants> {
        self.accounts.iter_mut().find(|a| a.user == user && a.host.eq_ignore_ascii_case(host))
    }

    pub(crate) fn find(&self, user: &str, host: &str, transport: &Transport) -> Option<Account> {
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
            require_ssl: found.ssl != SslKind::None,
            password_expired: found.password_expired,
            locked: found.locked,
            unchecked: false,
        })
    }

    pub(crate) fn privileges(&self, user: &str, host: &str, version: u64) -> Privileges {
        let Some(account) = self.account(user, host) else {
            return Privileges { version, ..Privileges::default() };
        };
        let of_account = |u: &str, h: &str| (u.is_empty() || u == user) && h.eq_ignore_ascii_case(host);
        Privileges {
            // Nobody does anything before the password is changed.
            global: if account.password_expired { Priv::NONE } else { account.global },
            version,
            databases: self.databases.iter().filter(|g| of_account(&g.user, &g.host)).cloned().collect(),
            tables: self.tables.iter().filter(|g| of_account(&g.user, &g.host)).cloned().collect(),
            password_expired: account.password_expired,
            has_password: !account.authentication.is_empty(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_names() {
        for (pattern, text, expected) in [
            ("sbtest", "sbtest", true),
            ("sbtest", "sbtest1", false),
            ("sb_est", "sbtest", true),
            ("sb\\_est", "sbtest", false),
            ("sb\\_est", "sb_est", true),
            ("%", "", true),
            ("%", "anything", true),
            ("%a%b", "xaxbxab", true),
            ("%a%b", "xaxbxac", false),
            ("a%", "ba", false),
            ("a%%", "a", true),
            ("_", "", false),
            ("__", "é", false),
            ("_", "é", true),
            ("10.%.%.1", "10.2.3.1", true),
            ("10.%.%.1", "10.2.1", false),
            ("a\\", "a\\", true),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(like(pattern, text, true), expected, "{pattern} {text}");
        }
        for (wider, pattern, expected) in [
            ("a_b", "a_b", true),
            ("a_b", "a\\_b", true),
            ("a_b", "axb", true),
            ("a\\_b", "a_b", false),
            ("a\\_b", "a\\_b", true),
            ("a", "a%", false),
            ("a%", "a%", true),
            ("a%", "a_x%b", true),
            ("a_", "a%", false),
            ("%b", "a%", false),
            ("%b", "a%b", true),
            ("%", "", true),
            ("", "%", false),
        ] {
            assert_eq!(covers(wider, pattern), expected, "{wider} {pattern}");
        }
        assert!(like("HOST%", "hostname", false) && !like("HOST%", "hostname", true));
    }
}
