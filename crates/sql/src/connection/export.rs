//! FLUSH TABLES .. FOR EXPORT and .. WITH READ LOCK of named tables: these are locked as by LOCK TABLES .. READ, and their files may be
//! copied meanwhile.

use super::Connection;
use std::sync::Arc;
use vaquita_base::SpaceId;
use vaquita_catalog::frm::write::server_file;
use vaquita_catalog::{engine_name, error};
use vaquita_engine::lower::frm::Unwritable;
use vaquita_engine::{AccessMode, Error, ServerFile, Table};
use vaquita_parser::ast::{ObjectName, TableLock, TableLockKind};
use vaquita_session::vars::id;
use vaquita_types::{SqlError, SqlResult};

/// Times that it begins again because somebody gave a table another version of its rows.
const TRIES: usize = 10;

impl Connection {
    /// Locks the tables and makes their files complete. A table whose rows have versions is written anew before.
    pub(super) fn export_tables(&mut self, tables: &[ObjectName<'_>]) -> SqlResult<()> {
        if self.engine.settings.access == AccessMode::ReadOnly {
            return Err(SqlError::new(1792, "Cannot execute statement in a READ ONLY transaction."));
        }
        for table in self.base_tables(tables)? {
            let mut fields = table.indexes.iter().flat_map(|index| index.def().fields());
            if fields.any(|field| field.descending) {
                return Err(SqlError::unsupported(
                    "FLUSH TABLES .. FOR EXPORT of a table with descending keys",
                ));
            }
        }
        for _ in 0..TRIES {
            for name in tables {
                self.make_plain(*name)?;
            }
            let locked = self.lock_to_read(tables)?;
            let kept = locked.iter().map(|table| self.server_file(table)).collect::<SqlResult<Vec<_>>>();
            if kept.is_err() {
                self.unlock_tables();
            }
            let kept = kept?;
            match self.describe(&locked, &kept) {
                Err(Error::TableChanged(_)) => {}
                Err(e) => return Err(error::engine(&e)),
                Ok(()) => {
                    self.warn_of_system_tablespace(&locked);
                    return Ok(());
                }
            }
        }
        Err(SqlError::new(1412, "Table definition has changed, please retry transaction"))
    }

    /// FLUSH TABLES .. WITH READ LOCK. Those are described beside their files that can be.
    pub(super) fn lock_and_write(&mut self, tables: &[ObjectName<'_>]) -> SqlResult<()> {
        self.base_tables(tables)?;
        let mut locked = self.lock_to_read(tables)?;
        locked.retain(vaquita_engine::can_be_exported);
        let mut kept = Vec::with_capacity(locked.len());
        for table in &locked {
            kept.push(match self.server_file(table) {
                Ok(file) => file,
                Err(why) => {
                    self.state.warnings.warn(why.code, why.message);
                    None
                }
            });
        }
        error::of_engine(self.describe(&locked, &kept))?;
        self.warn_of_system_tablespace(&locked);
        Ok(())
    }

    /// Tables that have no file that could be copied.
    fn warn_of_system_tablespace(&mut self, tables: &[Arc<Table>]) {
        for table in tables.iter().filter(|table| table.space == SpaceId::SYSTEM) {
            let (database, name) = vaquita_catalog::sql_name(&table.name);
            let text = format!("InnoDB: Table '\"{database}\".\"{name}\"' in system tablespace");
            self.state.warnings.warn(1809, text);
        }
    }

    /// What a MySQL server would keep of a table (`vaquita_export_frm`); `None` if it is not asked for, or stands there already.
    ///
    /// # Errors
    /// 1235 names what a server of 5.6 cannot be told; errors of reading what stands there.
    fn server_file(&self, table: &Table) -> SqlResult<Option<ServerFile>> {
        let wanted = self.state.vars.get(id::VAQUITA_EXPORT_FRM).uint() != 0;
        if !wanted || error::of_engine(self.db.engine.core().needs_server_file(&table.name))? {
            return Ok(None);
        }
        let refused = |what: Unwritable| {
            let (database, name) = vaquita_catalog::sql_name(&table.name);
            SqlError::unsupported(&format!(
                "FLUSH TABLES .. FOR EXPORT of `{database}`.`{name}` with a .frm: {what}"
            ))
        };
        server_file(table).map(Some).map_err(refused)
    }

    /// Makes the files of tables that are locked complete; if it fails they are locked no more.
    fn describe(&mut self, tables: &[Arc<Table>], kept: &[Option<ServerFile>]) -> Result<(), Error> {
        let host = self.db.globals().text("hostname").unwrap_or_default();
        let done = self.engine.export_tables(tables, &host, kept);
        if done.is_err() {
            self.unlock_tables();
        }
        done
    }

    /// Locks the tables that have the names.
    fn lock_to_read(&mut self, tables: &[ObjectName<'_>]) -> SqlResult<Vec<Arc<Table>>> {
        let to_lock = self.tables_to_lock(&locks(tables), false)?;
        self.lock_these(to_lock, false)?;
        self.state.give_way();
        let found = self.base_tables(tables)?;
        for table in tables {
            let (database, name) = self.named(table)?;
            let engine_name = engine_name(&database, &name)?;
            if found.iter().all(|table| table.name != engine_name) {
                let text = format!("InnoDB: Tablespace has been discarded for table '{name}'");
                self.state.warnings.warn(1814, text);
            }
        }
        Ok(found)
    }

    /// The tables that have the names, but for those whose tablespace is discarded; temporary ones do not hide them, and views are none.
    fn base_tables(&mut self, tables: &[ObjectName<'_>]) -> SqlResult<Vec<Arc<Table>>> {
        for table in tables {
            let (database, _) = self.named(table)?;
            if database.eq_ignore_ascii_case("information_schema") {
                return Err(self.database_denied(&database));
            }
        }
        // Who may not lock them is told nothing else of them.
        self.tables_to_lock(&locks(tables), false)?;
        let mut found: Vec<Arc<Table>> = Vec::with_capacity(tables.len());
        for table in tables {
            let (database, name) = self.named(table)?;
            if crate::ddl::views::find(&self.cx(), &database, &name).is_some() {
                return Err(SqlError::new(1347, format!("'{database}.{name}' is not BASE TABLE")));
            }
            let engine_name = engine_name(&database, &name)?;
            if found.iter().any(|table| table.name == engine_name) {
                return Err(SqlError::new(1066, format!("Not unique table/alias: '{name}'")));
            }
            match self.db.engine.core().table(&engine_name) {
                Err(Error::Discarded(_)) => {}
                table => found.push(error::of_engine(table)?),
            }
        }
        Ok(found)
    }

    /// Writes a table anew whose rows have versions, which no other server's file has.
    fn make_plain(&mut self, name: ObjectName<'_>) -> SqlResult<()> {
        let (database, named) = self.named(&name)?;
        let table = self.db.engine.core().table(&engine_name(&database, &named)?);
        if matches!(table, Err(Error::Discarded(_))) {
            return Ok(());
        }
        if error::of_engine(table)?.clustered().def().layout().version() == 0 {
            return Ok(());
        }
        match vaquita_session::access::has_temporary(&self.engine, &database, &named) {
            // ALTER TABLE would mean the temporary one.
            true => Err(SqlError::unsupported(
                "FLUSH TABLES .. FOR EXPORT of a table whose rows have versions and whose name a temporary table has",
            )),
            false => crate::ddl::recreate(&mut self.cx(), name),
        }
    }
}

fn locks<'n>(tables: &'n [ObjectName<'n>]) -> Vec<TableLock<'n>> {
    let lock = |name: &ObjectName<'n>| TableLock {
        name: *name,
        alias: None,
        kind: TableLockKind::Read,
        low_priority: false,
    };
    tables.iter().map(lock).collect()
}
