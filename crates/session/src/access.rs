//! Whether a session may do what a statement wants.

use crate::privilege::{OF_PARENTS, Priv, Privileges, Wanted};
use crate::state::SessionState;
use vaquita_catalog::is_for_everybody;
use vaquita_engine::Session;
use vaquita_types::{SqlError, SqlResult};

/// Whether the session has a temporary table of that name.
#[inline]
pub fn has_temporary(session: &Session, database: &str, table: &str) -> bool {
    let has = |name: String| session.temporary_table(&name).is_some();
    session.temporary_generation() != 0 && vaquita_catalog::engine_name(database, table).is_ok_and(has)
}

impl Privileges {
    /// Whether they are what is wanted of a table.
    pub fn allow(&self, want: &Wanted) -> bool {
        let grant = self.on_table(&want.database, &want.table);
        let table = self.global
            | self.in_database(&want.database)
            | grant.map_or(Priv::NONE, |grant| grant.privileges);
        let missing = want.privileges - table;
        if !want.any_of.is_none() && !table.any(want.any_of) {
            return false;
        }
        let columns = grant.map_or(&[][..], |g| &g.columns);
        let has = |name: &str, needed: Priv| {
            columns.iter().any(|(n, has)| n.eq_ignore_ascii_case(name) && has.has(needed))
        };
        missing.is_none()
            || (want.columns.is_empty() && columns.iter().any(|(_, has)| has.any(missing)))
            || !want.columns.is_empty()
                && want.columns.iter().all(|(name, needed)| has(name, *needed & missing))
    }
}

impl SessionState {
    /// Whether the session has what a part of a statement wants that is known only while the statement runs. With temporary
    /// tables of its own it may do what it likes.
    ///
    /// # Errors
    /// 1142 of a table, 1143 of a column, 1044 of a database.
    pub fn check_privileges(&self, wanted: &[Wanted]) -> SqlResult<()> {
        wanted.iter().filter(|want| !want.own).try_for_each(|want| {
            self.check_one(want, self.privileges.global | self.privileges.in_database(&want.database))
        })
    }

    /// Whether the session has a global privilege.
    ///
    /// # Errors
    /// 1227.
    pub fn check_global(&self, privilege: Priv) -> SqlResult<()> {
        match self.privileges.global.has(privilege) {
            true => Ok(()),
            false => Err(lacks(privilege)),
        }
    }

    /// Whether the session has SUPER, or a dynamic privilege that will do.
    ///
    /// # Errors
    /// 1227.
    pub fn check_super_or(&self, dynamic: Priv) -> SqlResult<()> {
        if self.privileges.may(dynamic) { Ok(()) } else { Err(lacks(Priv::SUPER)) }
    }

    /// `database`: what the session may do in the database.
    pub fn check_one(&self, want: &Wanted, database: Priv) -> SqlResult<()> {
        let privileges = &self.privileges;
        if privileges.password_expired {
            return Err(SqlError::new(1820, "You must SET PASSWORD before executing this statement"));
        }
        if want.table.is_empty() {
            return match database.has(want.privileges) {
                true => Ok(()),
                // Files belong to no database.
                false if want.privileges == Priv::FILE => Err(self.denied_everywhere()),
                false if want.database.is_empty() => Err(lacks(want.privileges)),
                false => Err(self.denied_database(&want.database)),
            };
        }
        let grant = privileges.on_table(&want.database, &want.table);
        let table = database | grant.map_or(Priv::NONE, |g| g.privileges);
        if !want.any_of.is_none() && !table.any(want.any_of) {
            // Of foreign keys MySQL says both names, and REFERENCES whatever would do.
            return Err(match want.any_of == OF_PARENTS {
                true => self.denied_table(Priv::REFERENCES, &format!("{}.{}", want.database, want.table)),
                false => self.denied_table(want.any_of.first(), &want.table),
            });
        }
        let missing = want.privileges - table;
        if missing.is_none() {
            return Ok(());
        }
        let columns = grant.map_or(&[][..], |g| &g.columns);
        let on_columns = columns.iter().fold(Priv::NONE, |all, (_, p)| all | *p);
        let at_all = on_columns.any(missing) || want.by_column;
        if !at_all || want.columns.is_empty() && !on_columns.has(missing) {
            return Err(self.denied_table(missing, &want.table));
        }
        for (name, needed) in &want.columns {
            let needed = *needed & missing;
            let has =
                columns.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map_or(Priv::NONE, |(_, p)| *p);
            if !has.has(needed) {
                let (user, host) = (&self.account_user, &self.host);
                return Err(SqlError::new(
                    1143,
                    format!(
                        "{} command denied to user '{user}'@'{host}' for column '{name}' in table '{}'",
                        (needed - has).first_name(),
                        want.table
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Whether the session may know that there is such a table, being about to do one of these to it: who may not learns
    /// nothing about tables that are there or not.
    ///
    /// # Errors
    /// 1142.
    pub fn check_known(&self, session: &Session, database: &str, table: &str, one_of: Priv) -> SqlResult<()> {
        let privileges = &self.privileges;
        let on_table = || {
            let grant = privileges.on_table(database, table)?;
            Some(grant.columns.iter().fold(grant.privileges, |all, (_, p)| all | *p))
        };
        let known = (privileges.global | privileges.in_database(database)).any(one_of)
            || on_table().is_some_and(|has| has.any(one_of));
        // Without a database there is another error; who has been asked already wants nothing more.
        let no_table = database.is_empty() || is_for_everybody(database);
        match known || no_table || one_of.is_none() || has_temporary(session, database, table) {
            true => Ok(()),
            false => Err(self.denied_table(one_of.first(), table)),
        }
    }

    /// Whether SHOW may tell of a table's columns and keys.
    ///
    /// # Errors
    /// 1142.
    pub fn check_shown(&self, database: &str, table: &str) -> SqlResult<()> {
        let privileges = &self.privileges;
        match (privileges.global | privileges.in_database(database)).has(Priv::SELECT)
            || privileges.on_table(database, table).is_some()
        {
            true => Ok(()),
            false => Err(self.denied_table(Priv::SELECT, table)),
        }
    }

    /// Error 1045 of somebody who came in long ago.
    pub fn denied_everywhere(&self) -> SqlError {
        let (user, host) = (&self.account_user, &self.account_host);
        let using = if self.privileges.has_password { "YES" } else { "NO" };
        SqlError::new(1045, format!("Access denied for user '{user}'@'{host}' (using password: {using})"))
    }

    /// Error 1142: what is missing of a table.
    pub fn denied_table(&self, missing: Priv, table: &str) -> SqlError {
        let (user, host) = (&self.account_user, &self.host);
        let command = missing.names().collect::<Vec<_>>().join(", ").replace("GRANT OPTION", "GRANT");
        SqlError::new(1142, format!("{command} command denied to user '{user}'@'{host}' for table '{table}'"))
    }

    fn denied_database(&self, database: &str) -> SqlError {
        let (user, host) = (&self.account_user, &self.account_host);
        SqlError::new(1044, format!("Access denied for user '{user}'@'{host}' to database '{database}'"))
    }
}

/// Error 1227.
fn lacks(privilege: Priv) -> SqlError {
    let name = privilege.first_name();
    let text =
        format!("Access denied; you need (at least one of) the {name} privilege(s) for this operation");
    SqlError::new(1227, text)
}
