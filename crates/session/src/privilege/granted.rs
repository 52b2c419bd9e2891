//! What a session may do.

use super::Priv;
use super::pattern::{covers, like, specificity};

/// Privileges of somebody in a database (a pattern).
#[derive(Debug, Clone)]
pub struct DatabaseGrant {
    /// User of the account.
    pub user: String,
    /// Host of the account, a pattern.
    pub host: String,
    /// Databases: a pattern of LIKE.
    pub database: String,
    /// What is granted.
    pub privileges: Priv,
}

/// Privileges of somebody on a table and its columns.
#[derive(Debug, Clone)]
pub struct TableGrant {
    /// User of the account.
    pub user: String,
    /// Host of the account, a pattern.
    pub host: String,
    /// Database.
    pub database: String,
    /// Table.
    pub table: String,
    /// Who granted it: `user@host`.
    pub grantor: String,
    /// On the table.
    pub privileges: Priv,
    /// On columns, by name.
    pub columns: Vec<(String, Priv)>,
}

/// Privileges of somebody on a procedure or function.
#[derive(Debug, Clone)]
pub struct RoutineGrant {
    /// User of the account.
    pub user: String,
    /// Host of the account, a pattern.
    pub host: String,
    /// Database.
    pub database: String,
    /// Its name as it is compared: in lower case.
    pub routine: String,
    /// A function, not a procedure.
    pub is_function: bool,
    /// Who granted it: `user@host`.
    pub grantor: String,
    /// EXECUTE, ALTER ROUTINE, GRANT OPTION.
    pub privileges: Priv,
}

/// What an account may do, as a session keeps it.
#[derive(Debug, Default)]
pub struct Privileges {
    /// Everywhere.
    pub global: Priv,
    /// Dynamic ones that may be given further.
    pub gives: Priv,
    /// Which state of the grants this is.
    pub version: u64,
    /// In databases.
    pub databases: Vec<DatabaseGrant>,
    /// On tables and columns.
    pub tables: Vec<TableGrant>,
    /// On procedures and functions.
    pub routines: Vec<RoutineGrant>,
    /// Nothing may be done before the password is changed.
    pub password_expired: bool,
    /// Whether there is a password, for messages.
    pub has_password: bool,
}

impl Privileges {
    /// All of them.
    pub fn everything() -> Privileges {
        Privileges { global: Priv::ALL | Priv::GRANT, ..Privileges::default() }
    }

    /// Whether something may be done for which SUPER will do, or a dynamic privilege.
    pub fn may(&self, dynamic: Priv) -> bool {
        self.global.any(Priv::SUPER | dynamic)
    }

    /// In a database.
    pub fn in_database(&self, database: &str) -> Priv {
        let granted = self.databases.iter().filter(|g| like(&g.database, database, true));
        // The most specific pattern counts.
        granted.max_by_key(|g| specificity(&g.database)).map_or(Priv::NONE, |g| g.privileges)
    }

    /// In all databases that a pattern is for: what GRANT may give there.
    pub fn in_pattern(&self, pattern: &str) -> Priv {
        let granted = self.databases.iter().filter(|g| covers(&g.database, pattern));
        granted.max_by_key(|g| specificity(&g.database)).map_or(Priv::NONE, |g| g.privileges)
    }

    /// On a table and on its columns.
    pub fn on_table(&self, database: &str, table: &str) -> Option<&TableGrant> {
        self.tables.iter().find(|g| g.database == database && g.table == table)
    }

    /// On a procedure or function alone.
    pub fn on_routine(&self, database: &str, name: &str, is_function: bool) -> Priv {
        if self.routines.is_empty() {
            return Priv::NONE;
        }
        let name = name.to_lowercase();
        let is =
            |g: &&RoutineGrant| g.is_function == is_function && g.routine == name && g.database == database;
        self.routines.iter().filter(is).fold(Priv::NONE, |all, g| all | g.privileges)
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
            || self.routines.iter().any(|g| g.database == database)
    }
}
