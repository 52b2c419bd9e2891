//! Whether the session may do what a statement is about to do.

use super::Connection;
use std::sync::Arc;
use vaquita_parser::ast::{self, Stmt};
use vaquita_session::access::has_temporary;
use vaquita_session::names::{Meaning, StatementNames};
use vaquita_session::privilege::{OF_PARENTS, Priv, Privileges, Through, Wanted};
use vaquita_types::{SqlError, SqlResult};

/// Privileges in one database.
#[derive(Debug)]
pub(super) struct InDatabase {
    /// Of these.
    of: Arc<Privileges>,
    database: String,
    privileges: Priv,
}

/// The table that a part of CREATE TABLE refers to by a foreign key.
fn parent_of<'a>(element: &ast::TableElement<'a>) -> Option<&'a ast::ObjectName<'a>> {
    match element {
        ast::TableElement::ForeignKey(key) => Some(&key.references.table),
        _ => None,
    }
}

/// Whether a statement says in which directory a table's files are to be: of the server's machine, as whoever may read and write its
/// files may say.
fn names_directory(stmt: &Stmt<'_>) -> bool {
    let option = |o: &ast::TableOption<'_>| {
        matches!(o, ast::TableOption::DataDirectory(_) | ast::TableOption::IndexDirectory(_))
    };
    let parts = |parts: &[ast::PartitionDef<'_>]| {
        let said = |part: &ast::PartitionDef<'_>| part.options.iter().any(option);
        parts.iter().any(|part| said(part) || part.subpartitions.iter().any(said))
    };
    match stmt {
        Stmt::CreateTable(create) => {
            create.options.iter().any(option) || create.partitioning.is_some_and(|p| parts(p.partitions))
        }
        Stmt::AlterTable(alter) => {
            let action = |action: &ast::AlterAction<'_>| match action {
                ast::AlterAction::Partition(ast::PartitionAction::Add { partitions, .. }) => {
                    parts(partitions)
                }
                ast::AlterAction::Partition(ast::PartitionAction::Reorganize { into, .. }) => parts(into),
                _ => false,
            };
            alter.partitioning.is_some_and(|p| parts(p.partitions)) || alter.actions.iter().any(action)
        }
        _ => false,
    }
}

/// What is needed to change an event; nothing if there is no database.
fn events_in(name: &ast::ObjectName<'_>, current: &str) -> Option<Wanted> {
    let database = name.schema.map_or_else(|| current.to_owned(), |schema| schema.to_string());
    (!database.is_empty()).then(|| Wanted::table(&database, "", Priv::EVENT))
}

impl Connection {
    /// Looks at the grants again if they have changed.
    #[inline]
    pub(super) fn refresh_privileges(&mut self) {
        if self.state.privileges.version != self.db.accounts.version() && !self.has_everything {
            self.take_privileges();
        }
    }

    /// What the session may do with the roles that it has, as far as they are still granted.
    pub(super) fn take_privileges(&mut self) {
        let (accounts, state) = (&self.db.accounts, &mut self.state);
        let (user, host) = (&state.account_user, &state.account_host);
        accounts.keep_granted(user, host, &mut state.roles);
        if !self.has_everything {
            state.privileges = accounts.privileges(user, host, self.login_at, &state.roles);
        }
    }

    /// Whether the session has a global privilege.
    ///
    /// # Errors
    /// 1227.
    pub(super) fn needs(&mut self, privilege: Priv) -> SqlResult<()> {
        self.refresh_privileges();
        self.state.check_global(privilege)
    }

    /// Whether the session has what a statement wants.
    ///
    /// # Errors
    /// 1142 of a table, 1143 of a column, 1044 of a database.
    #[inline]
    pub(super) fn check_wanted(&mut self, wanted: &[Wanted]) -> SqlResult<()> {
        self.refresh_privileges();
        let global = self.state.privileges.global;
        if wanted.iter().all(|w| w.through.is_none() && global.has(w.privileges | w.any_of)) {
            return Ok(());
        }
        wanted.iter().try_for_each(|w| match &w.through {
            Some(through) => self.check_through(w, through),
            None if w.own => Ok(()),
            None => self.check_one(w),
        })
    }

    /// Whether whoever a view's privileges are looked up for has what the view wants.
    ///
    /// # Errors
    /// 1356; 1449 the definer is no more.
    fn check_through(&mut self, want: &Wanted, through: &Through) -> SqlResult<()> {
        let accounts = &self.db.accounts;
        let allowed = match &through.definer {
            _ if accounts.are_skipped() => true,
            None => self.state.privileges.allow(want),
            Some((user, host)) => {
                if accounts.grants().account(user, host).is_none() {
                    let text = format!("The user specified as a definer ('{user}'@'{host}') does not exist");
                    return Err(SqlError::new(1449, text));
                }
                let roles = accounts.first_roles(user, host);
                accounts.privileges(user, host, crate::accounts::seconds_now(), &roles).allow(want)
            }
        };
        if allowed { Ok(()) } else { Err(through.invalid()) }
    }

    /// Whether the session may be told how views are executed, and with that what they read: what it could find out by SHOW CREATE VIEW
    /// and by reading the tables itself.
    ///
    /// # Errors
    /// 1345.
    pub(super) fn check_explained(&self, wanted: &[Wanted]) -> SqlResult<()> {
        let may = |want: &Wanted| match &want.view {
            Some(_) => {
                self.state.privileges.allow(&Wanted::table(&want.database, &want.table, Priv::SHOW_VIEW))
            }
            None => want.through.is_none() || self.state.privileges.allow(want),
        };
        match wanted.iter().all(may) {
            true => Ok(()),
            false => {
                let text = "EXPLAIN/SHOW can not be issued; lacking privileges for underlying table";
                Err(SqlError::new(1345, text))
            }
        }
    }

    /// Whether the definer of a view is there.
    ///
    /// # Errors
    /// 1449.
    pub(super) fn check_definer(&self, (user, host): &(String, String)) -> SqlResult<()> {
        let accounts = &self.db.accounts;
        if accounts.are_skipped() || accounts.grants().account(user, host).is_some() {
            return Ok(());
        }
        let text = format!("The user specified as a definer ('{user}'@'{host}') does not exist");
        Err(SqlError::new(1449, text))
    }

    /// What the session may do in a database. That of the last one asked for is kept: it is mostly the same.
    fn database_privileges(&mut self, database: &str) -> Priv {
        let privileges = &self.state.privileges;
        match &self.last_database {
            Some(last) if Arc::ptr_eq(&last.of, privileges) && last.database == database => last.privileges,
            _ => {
                let granted = privileges.global | privileges.in_database(database);
                self.last_database = Some(InDatabase {
                    of: privileges.clone(),
                    database: database.to_owned(),
                    privileges: granted,
                });
                granted
            }
        }
    }

    fn check_one(&mut self, want: &Wanted) -> SqlResult<()> {
        let database = self.database_privileges(&want.database);
        self.state.check_one(want, database)
    }

    /// What a change of definitions needs: tables and databases that are changed, or looked at. What their names stand for is
    /// decided here, and kept for the execution.
    pub(super) fn wanted_of_definition(&mut self, stmt: &Stmt<'_>) -> Vec<Wanted> {
        let current = self.state.database.clone();
        let mut wanted = Vec::new();
        let mut parents: Vec<(&ast::ObjectName<'_>, &ast::ObjectName<'_>)> = Vec::new();
        let mut names = StatementNames::default();
        let engine = &self.engine;
        // `meaning`: `Own` where a temporary table hides what else has the name.
        let mut want = |name: &ast::ObjectName<'_>, privileges: Priv, meaning: Meaning| {
            let database = name.schema.map_or_else(|| current.clone(), |s| s.to_string());
            let table = name.name.to_string();
            let own = meaning == Meaning::Own && has_temporary(engine, &database, &table);
            if own || meaning == Meaning::Shared {
                names.add(&database, &table, meaning);
            }
            wanted.push(Wanted::table(&database, &table, privileges).of_own(own));
        };
        match stmt {
            Stmt::CreateTable(create) => {
                if create.temporary {
                    want(&create.name, Priv::NONE, Meaning::Own);
                } else {
                    want(&create.name, Priv::CREATE, Meaning::Shared);
                }
                if let Some(like) = &create.like {
                    want(like, Priv::SELECT, Meaning::Own);
                }
                if create.select.is_some() && !create.temporary {
                    want(&create.name, Priv::INSERT, Meaning::Shared);
                }
                parents.extend(create.elements.iter().filter_map(parent_of).map(|p| (p, &create.name)));
                if create.temporary {
                    // A privilege of databases: no table can be granted it.
                    let database = create.name.schema.map_or_else(|| current.clone(), |s| s.to_string());
                    wanted.push(Wanted::table(&database, "", Priv::CREATE_TMP));
                }
            }
            Stmt::AlterTable(alter) => {
                // Rows and names go both ways.
                let exchange = Priv::ALTER | Priv::INSERT | Priv::CREATE | Priv::DROP;
                match alter.exchanged_with() {
                    Some(with) => {
                        [&alter.name, with].into_iter().for_each(|name| want(name, exchange, Meaning::Own))
                    }
                    None => want(&alter.name, Priv::ALTER, Meaning::Own),
                }
                for action in alter.actions {
                    match action {
                        ast::AlterAction::Rename(to) => {
                            want(&alter.name, Priv::DROP, Meaning::Own);
                            want(to, Priv::CREATE | Priv::INSERT, Meaning::Shared);
                        }
                        // Rows go.
                        ast::AlterAction::Partition(
                            ast::PartitionAction::Drop(_) | ast::PartitionAction::Truncate(_),
                        ) => want(&alter.name, Priv::DROP, Meaning::Own),
                        ast::AlterAction::AddForeignKey(key) => {
                            parents.push((&key.references.table, &alter.name));
                        }
                        _ => {}
                    }
                }
            }
            Stmt::CreateView(create) => {
                want(&create.name, crate::ddl::views::wanted_to_create(create), Meaning::Shared)
            }
            // Temporary tables are the session's own.
            Stmt::DropTable(drop) if drop.temporary => {
                drop.names.iter().for_each(|n| want(n, Priv::NONE, Meaning::Own))
            }
            Stmt::DropTable(drop) => drop.names.iter().for_each(|n| want(n, Priv::DROP, Meaning::Own)),
            Stmt::DropView(drop) => drop.names.iter().for_each(|n| want(n, Priv::DROP, Meaning::Shared)),
            Stmt::Truncate(name) => want(name, Priv::DROP, Meaning::Own),
            Stmt::RenameTables(pairs) => {
                for (from, to) in *pairs {
                    want(from, Priv::ALTER | Priv::DROP, Meaning::Shared);
                    want(to, Priv::CREATE | Priv::INSERT, Meaning::Shared);
                }
            }
            Stmt::CreateIndex(create) => want(&create.table, Priv::INDEX, Meaning::Own),
            Stmt::DropIndex(drop) => want(&drop.table, Priv::INDEX, Meaning::Own),
            Stmt::Maintain(maintain) => {
                let privileges = match maintain.action {
                    ast::MaintainAction::Check | ast::MaintainAction::Checksum => Priv::SELECT,
                    _ => Priv::SELECT | Priv::INSERT,
                };
                maintain.tables.iter().for_each(|n| want(n, privileges, Meaning::Own));
            }
            Stmt::CreateDatabase(database) => {
                let name = database.name.map_or_else(|| current.clone(), |n| n.to_string());
                wanted.push(Wanted::table(&name, "", Priv::CREATE));
            }
            Stmt::AlterDatabase(database) => {
                let name = database.name.map_or_else(|| current.clone(), |n| n.to_string());
                wanted.push(Wanted::table(&name, "", Priv::ALTER));
            }
            Stmt::CreateProgram(program) if program.kind == ast::ProgramKind::Trigger => {
                if let Some((database, table)) = crate::program::triggers::table_of(program, &current) {
                    wanted.push(Wanted::table(&database, &table, Priv::TRIGGER));
                }
            }
            Stmt::DropProgram(drop) if drop.kind == ast::ProgramKind::Trigger => {
                let named = crate::program::triggers::named(&self.db, &drop.name, &current);
                if let Some((database, table)) = named {
                    wanted.push(Wanted::table(&database, &table, Priv::TRIGGER));
                }
            }
            Stmt::CreateProgram(ast::CreateProgram { name, event: Some(_), .. })
            | Stmt::DropProgram(ast::DropProgram { name, kind: ast::ProgramKind::Event, .. }) => {
                wanted.extend(events_in(name, &current));
            }
            Stmt::AlterEvent(alter) => {
                wanted.extend(events_in(&alter.name, &current));
                wanted.extend(alter.head.rename.and_then(|to| events_in(&to, &current)));
            }
            Stmt::CreateProgram(program) => {
                let name = program.name.schema.map_or_else(|| current.clone(), |s| s.to_string());
                if !name.is_empty() {
                    wanted.push(Wanted::table(&name, "", Priv::CREATE_ROUTINE));
                }
            }
            Stmt::DropDatabase(drop) => wanted.push(Wanted::table(&drop.name.to_string(), "", Priv::DROP)),
            _ => {}
        }
        for (parent, child) in parents {
            // Without a database the parent is beside the child.
            let database = parent.schema.or(child.schema).map_or_else(|| current.clone(), |s| s.to_string());
            wanted.push(Wanted::any(&database, &parent.name.to_string(), OF_PARENTS));
        }
        if names_directory(stmt) {
            wanted.push(Wanted::global(Priv::FILE));
        }
        self.state.names = names;
        wanted
    }

    /// Whether a list of tables has one twice.
    ///
    /// # Errors
    /// 1066.
    pub(super) fn check_unique_names(&self, stmt: &Stmt<'_>) -> SqlResult<()> {
        let names: &[ast::ObjectName<'_>] = match stmt {
            Stmt::DropTable(drop) | Stmt::DropView(drop) => drop.names,
            Stmt::Maintain(maintain) => maintain.tables,
            _ => return Ok(()),
        };
        let named = |name: &ast::ObjectName<'_>| {
            let database = name.schema.map_or_else(|| self.state.database.clone(), |s| s.to_string());
            (database, name.name.to_string())
        };
        let mut seen = Vec::with_capacity(names.len());
        for name in names.iter().map(named) {
            if seen.contains(&name) {
                return Err(SqlError::new(1066, format!("Not unique table/alias: '{}'", name.1)));
            }
            seen.push(name);
        }
        Ok(())
    }

    /// Whether the session may load this file into this table.
    ///
    /// # Errors
    /// 1045 of files, 1142 of the table.
    pub(super) fn check_load(&mut self, load: &ast::LoadData<'_>) -> SqlResult<()> {
        if !load.local {
            self.check_wanted(&[Wanted::global(Priv::FILE)])?;
        }
        let database = load.table.schema.map_or_else(|| self.state.database.clone(), |s| s.to_string());
        let delete = if load.duplicates == ast::LoadDuplicates::Replace { Priv::DELETE } else { Priv::NONE };
        let table = load.table.name.to_string();
        let own = has_temporary(&self.engine, &database, &table);
        let wanted = [Wanted::table(&database, &table, Priv::INSERT | delete).of_own(own)];
        self.check_wanted(&wanted)?;
        self.check_locked(&wanted)
    }
}
