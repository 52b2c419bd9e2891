//! LOCK TABLES: metadata locks that are held until UNLOCK TABLES, and what may be used meanwhile; without `autocommit` also
//! locks of InnoDB, which are held until the transaction ends.

use super::{Connection, text_of};
use vaquita_catalog::error;
use vaquita_engine::{LockMode, MdlMode, ObjectKind};
use vaquita_exec::Outcome;
use vaquita_parser::ast::{
    Maintain, MaintainAction, ObjectName, ProgramKind, Stmt, TableLock, TableLockKind,
};
use vaquita_session::privilege::{Priv, Wanted};
use vaquita_session::vars::id;
use vaquita_types::{SqlError, SqlResult};

/// Tables that LOCK TABLES has locked.
#[derive(Debug, Default)]
pub(super) struct LockedTables {
    tables: Vec<Locked>,
    active: bool,
}

/// One of them.
#[derive(Debug)]
pub(super) struct Locked {
    database: String,
    name: String,
    write: bool,
}

impl LockedTables {
    pub(super) fn is_active(&self) -> bool {
        self.active
    }
}

impl Connection {
    /// LOCK TABLES.
    pub(super) fn lock_tables(&mut self, locks: &[TableLock<'_>]) -> SqlResult<Outcome> {
        self.xa.check_ddl()?;
        self.unlock_tables();
        self.implicit_commit()?;
        let tables = self.tables_to_lock(locks, true)?;
        self.lock_these(tables, true)?;
        for _ in locks.iter().filter(|lock| lock.low_priority) {
            self.state.warnings.warn(
                1287,
                "'LOW_PRIORITY WRITE' is deprecated and will be removed in a future release. Please use WRITE instead",
            );
        }
        Ok(Outcome::default())
    }

    /// The tables that locks are asked for, those of views among them, as far as the session may lock them. `own_hide`: of a name that
    /// a temporary table has nothing is locked, as nobody else uses that.
    ///
    /// # Errors
    /// 1046, those of privileges.
    pub(super) fn tables_to_lock(
        &mut self,
        locks: &[TableLock<'_>],
        own_hide: bool,
    ) -> SqlResult<Vec<Locked>> {
        let mut tables = Vec::with_capacity(locks.len());
        for lock in locks {
            let (database, name) = self.named(&lock.name)?;
            if own_hide && vaquita_session::access::has_temporary(&self.engine, &database, &name) {
                continue;
            }
            self.check_wanted(&[
                Wanted::table(&database, "", Priv::LOCK_TABLES),
                Wanted::table(&database, &name, Priv::SELECT),
            ])?;
            if crate::logs::is_table(&database, &name) {
                return Err(super::run::log_table_locked());
            }
            let write = lock.kind == TableLockKind::Write;
            if let Some(view) = crate::ddl::views::find(&self.cx(), &database, &name) {
                for (database, name) in crate::ddl::views::base_tables(&self.cx(), &view)? {
                    tables.push(Locked { database, name, write });
                }
            }
            tables.push(Locked { database, name, write });
        }
        Ok(tables)
    }

    /// Locks tables until UNLOCK TABLES. `for_session`: InnoDB's locks, too, where the session has them so.
    ///
    /// # Errors
    /// A table that is not there, or is not free in time.
    pub(super) fn lock_these(&mut self, mut tables: Vec<Locked>, for_session: bool) -> SqlResult<()> {
        // In the order of names, so that two such statements do not wait for each other.
        tables.sort_by(|a, b| (&a.database, &a.name).cmp(&(&b.database, &b.name)));
        let mut opened = Vec::with_capacity(tables.len());
        for table in &tables {
            let engine_name = vaquita_catalog::engine_name(&table.database, &table.name)?;
            let mode = if table.write { MdlMode::SharedNoReadWrite } else { MdlMode::SharedNoWrite };
            let locked = error::of_engine(self.engine.lock_table_name(&engine_name, mode));
            // The name is locked whether there is a table or not.
            let core = self.db.engine.core();
            if locked.is_ok() && core.objects().view(&engine_name).is_some() {
                continue;
            }
            let found = core.table(&engine_name);
            // A table without a file has no rows to lock.
            if locked.is_ok() && matches!(found, Err(vaquita_engine::Error::Discarded(_))) {
                continue;
            }
            match locked.and_then(|()| error::of_engine(found)) {
                Ok(found) => opened.push((found, table.write)),
                Err(e) => {
                    self.engine.unlock_tables();
                    return Err(e);
                }
            }
        }
        if for_session && self.locks_in_engine() {
            let locked = self.engine.run(|statement| {
                opened.iter().try_for_each(|(table, write)| {
                    statement.lock_table(table, if *write { LockMode::Exclusive } else { LockMode::Shared })
                })
            });
            if let Err(e) = error::of_engine(locked) {
                self.engine.unlock_tables();
                error::of_engine(self.engine.rollback())?;
                return Err(e);
            }
        }
        self.locked = LockedTables { tables, active: true };
        Ok(())
    }

    /// Database and name of a table, as a statement says them.
    ///
    /// # Errors
    /// 1046: no database is current.
    pub(super) fn named(&self, name: &ObjectName<'_>) -> SqlResult<(String, String)> {
        let database = match name.schema {
            Some(schema) => text_of(schema),
            None if self.state.database.is_empty() => return Err(SqlError::no_database()),
            None => self.state.database.clone(),
        };
        Ok((database, text_of(name.name)))
    }

    /// Whether LOCK TABLES begins a transaction that locks the tables: those who use them without asking for metadata locks,
    /// and transactions that are older than the server's start, are waited for.
    fn locks_in_engine(&self) -> bool {
        !self.state.vars.autocommit && self.state.vars.get(id::INNODB_TABLE_LOCKS).uint() != 0
    }

    /// Tables that were dropped are locked no more; with the last one the statement's effect ends.
    pub(super) fn unlock_dropped(&mut self, names: &[ObjectName<'_>]) -> SqlResult<()> {
        if !self.locked.active {
            return Ok(());
        }
        for name in names {
            let (database, table) = self.named(name)?;
            let is_there =
                self.db.engine.core().table(&vaquita_catalog::engine_name(&database, &table)?).is_ok();
            if !is_there {
                self.locked.tables.retain(|t| t.name != table || t.database != database);
            }
        }
        if self.locked.tables.is_empty() {
            self.unlock_tables();
        }
        Ok(())
    }

    /// Gives table locks back; whether there were any.
    pub(super) fn unlock_tables(&mut self) -> bool {
        if !std::mem::take(&mut self.locked).active {
            return false;
        }
        self.engine.unlock_tables();
        true
    }

    /// Whether a statement may change definitions while tables are locked: those of tables locked with WRITE, their triggers, and temporary
    /// tables.
    ///
    /// # Errors
    /// 1099 locked with READ only, 1100 not locked; 1192: what is no table's, or gives a table another name.
    pub(super) fn check_locked_definition(&self, stmt: &Stmt<'_>) -> SqlResult<()> {
        if !self.locked.active {
            return Ok(());
        }
        match stmt {
            Stmt::RenameTables(_)
            | Stmt::CreateDatabase(_)
            | Stmt::AlterDatabase(_)
            | Stmt::DropDatabase(_)
            | Stmt::CreateView(_)
            | Stmt::DropView(_)
            | Stmt::AlterProgram(_)
            | Stmt::AlterEvent(_) => Err(tables_are_locked()),
            Stmt::CreateProgram(create) => match &create.trigger {
                Some(trigger) => self.check_locked_to_change(&trigger.table),
                None => Err(tables_are_locked()),
            },
            Stmt::DropProgram(drop) if drop.kind == ProgramKind::Trigger => {
                self.check_locked_trigger(&drop.name)
            }
            Stmt::DropProgram(_) => Err(tables_are_locked()),
            Stmt::CreateTable(create) if !create.temporary => self.check_locked_to_create(&create.name),
            Stmt::CreateUser(_)
            | Stmt::DropUser(_)
            | Stmt::RenameUsers(_)
            | Stmt::Grant(_)
            | Stmt::Role(_) => self.check_locked_accounts(),
            Stmt::AlterTable(alter) => {
                self.check_locked_to_change(&alter.name)?;
                alter.exchanged_with().map_or(Ok(()), |with| self.check_locked_to_change(with))
            }
            Stmt::CreateIndex(create) => self.check_locked_to_change(&create.table),
            Stmt::DropIndex(drop) => self.check_locked_to_change(&drop.table),
            Stmt::Truncate(name) => self.check_locked_to_change(name),
            Stmt::DropTable(drop) => drop.names.iter().try_for_each(|name| self.check_locked_to_change(name)),
            _ => Ok(()),
        }
    }

    /// A table that is made must have been locked by its name, which only one has that is there.
    fn check_locked_to_create(&self, name: &ObjectName<'_>) -> SqlResult<()> {
        let (database, table) = self.named(name)?;
        match self.locked.tables.iter().any(|t| t.name == table && t.database == database) {
            true => Ok(()),
            false => Err(not_locked(&table)),
        }
    }

    /// Whether SHOW CREATE TABLE may open its table.
    ///
    /// # Errors
    /// 1100 not locked.
    pub(super) fn check_locked_shown(&self, name: &ObjectName<'_>) -> SqlResult<()> {
        if !self.locked.active {
            return Ok(());
        }
        let (database, table) = self.named(name)?;
        let free = vaquita_catalog::is_virtual_database(&database)
            || vaquita_session::access::has_temporary(&self.engine, &database, &table);
        if free { Ok(()) } else { self.check_locked_to_create(name) }
    }

    /// What keeps a statement from looking after each of its tables: one that writes it needs a table that is locked with WRITE. It is
    /// told in the result.
    pub(super) fn refused_by_locks(&self, maintain: &Maintain<'_>) -> Vec<Option<SqlError>> {
        let check = |name: &ObjectName<'_>| match maintain.action {
            _ if !self.locked.active => Ok(()),
            MaintainAction::Optimize | MaintainAction::Repair => self.check_locked_to_change(name),
            _ => self.check_locked_shown(name),
        };
        maintain.tables.iter().map(|name| check(name).err()).collect()
    }

    /// A trigger that is there goes with its table.
    fn check_locked_trigger(&self, name: &ObjectName<'_>) -> SqlResult<()> {
        let (database, trigger) = self.named(name)?;
        let objects = self.db.engine.core().objects();
        let found = objects.get(ObjectKind::Trigger, &vaquita_catalog::file_name(&database)?, &trigger);
        let Some(of) = found.and_then(|found| found.table_name()) else { return Ok(()) };
        self.check_locked_with_write(&database, &vaquita_catalog::sql_name(&of).1)
    }

    /// Whether FLUSH TABLES may be: of tables that are locked with WRITE.
    ///
    /// # Errors
    /// 1099 locked with READ only, 1100 not locked.
    pub(super) fn check_locked_flush(&self, tables: &[ObjectName<'_>]) -> SqlResult<()> {
        if !self.locked.active {
            return Ok(());
        }
        if tables.is_empty() {
            let read = self.locked.tables.iter().find(|t| !t.write);
            return read.map_or(Ok(()), |t| Err(read_only(&t.name)));
        }
        tables.iter().try_for_each(|name| self.check_locked_to_change(name))
    }

    fn check_locked_to_change(&self, name: &ObjectName<'_>) -> SqlResult<()> {
        let (database, table) = self.named(name)?;
        if vaquita_session::access::has_temporary(&self.engine, &database, &table) {
            return Ok(());
        }
        self.check_locked_with_write(&database, &table)
    }

    /// Whether accounts, which are rows of the tables of `mysql`, may change.
    ///
    /// # Errors
    /// 1099 locked with READ only, 1100 not locked.
    pub(super) fn check_locked_accounts(&self) -> SqlResult<()> {
        if !self.locked.active {
            return Ok(());
        }
        self.check_locked_with_write("mysql", "user")
    }

    fn check_locked_with_write(&self, database: &str, table: &str) -> SqlResult<()> {
        match self.locked.tables.iter().find(|t| t.name == table && t.database == database) {
            None => Err(not_locked(table)),
            Some(locked) if !locked.write => Err(read_only(table)),
            Some(_) => Ok(()),
        }
    }

    /// Whether a statement may use its tables while others are locked.
    ///
    /// # Errors
    /// 1099 locked with READ only, 1100 not locked.
    pub(crate) fn check_locked(&self, wanted: &[Wanted]) -> SqlResult<()> {
        if !self.locked.active {
            return Ok(());
        }
        // What a view reads is locked with the view.
        let own = |w: &&Wanted| !w.table.is_empty() && w.through.is_none() && !w.own;
        let changes = |w: &Wanted| w.privileges.any(Priv::INSERT | Priv::UPDATE | Priv::DELETE);
        // Of a view that rows are changed by, its table is what must be locked for that.
        for want in wanted.iter().filter(|w| w.through.is_some() && w.view.is_none() && changes(w)) {
            let is = |t: &&Locked| *t.name == *want.table && *t.database == *want.database;
            if !self.locked.tables.iter().filter(is).any(|t| t.write) {
                return Err(read_only(&want.table));
            }
        }
        for want in wanted.iter().filter(own) {
            let found =
                self.locked.tables.iter().find(|t| *t.name == *want.table && *t.database == *want.database);
            match found {
                None => return Err(not_locked(&want.table)),
                Some(table) if changes(want) && !table.write => return Err(read_only(&want.table)),
                Some(_) => {}
            }
        }
        Ok(())
    }
}

/// 1192.
pub(super) fn tables_are_locked() -> SqlError {
    SqlError::new(
        1192,
        "Can't execute the given command because you have active locked tables or an active transaction",
    )
}

fn read_only(table: &str) -> SqlError {
    SqlError::new(1099, format!("Table '{table}' was locked with a READ lock and can't be updated"))
}

fn not_locked(table: &str) -> SqlError {
    SqlError::new(1100, format!("Table '{table}' was not locked with LOCK TABLES"))
}
