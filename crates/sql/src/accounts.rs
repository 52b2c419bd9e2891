//! Users, passwords, grants: kept in the tables of database `mysql`, cached for every check.

use crate::connection::Transport;

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
#[derive(Debug, Default)]
pub struct Accounts {}

impl Accounts {
    /// The account for a user that comes from there: the most specific host first, then the most specific user, as
    /// MySQL sorts them. An account that may come in only over loopback or the socket is not found for others.
    pub fn find(&self, _user: &str, _host: &str, _transport: &Transport) -> Option<Account> {
        unimplemented!()
    }
}
