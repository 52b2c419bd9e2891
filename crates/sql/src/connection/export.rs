//! FLUSH TABLES .. FOR EXPORT and .. WITH READ LOCK of named tables: these are locked as by LOCK TABLES .. READ, and their files may be
//! copied meanwhile.

use super::{Connection, text_of};
use vaquita_base::SpaceId;
use vaquita_catalog::{engine_name, error};
use vaquita_engine::{AccessMode, Error};
use vaquita_parser::ast::{ObjectName, TableLock, TableLockKind};
use vaquita_types::{SqlError, SqlResult};

/// Times that it begins again because somebody gave a table another version of its rows.
const TRIES: usize = 10;

impl Connection {
    /// Locks the tables and makes their files complete. A table whose rows have versions is written anew before.
    pub(super) fn export_tables(&mut self, tables: &[ObjectName<'_>]) -> SqlResult<()> {
        if self.engine.settings.access == AccessMode::ReadOnly {
            return Err(SqlError::new(1792, "Cannot execute statement in a READ ONLY transaction."));
        }
        let names = self.names_to_export(tables)?;
        let host = self.db.globals().text("hostname").unwrap_or_default();
        for _ in 0..TRIES {
            for name in tables {
                self.make_plain(*name)?;
            }
            self.lock_to_read(tables)?;
            match self.export_locked(&names, &host) {
                Ok(()) => return Ok(()),
                Err(e) => {
                    self.unlock_tables();
                    if !matches!(e, Error::TableChanged(_)) {
                        return Err(error::engine(&e));
                    }
                }
            }
        }
        Err(SqlError::new(1412, "Table definition has changed, please retry transaction"))
    }

    /// FLUSH TABLES .. WITH READ LOCK: any tables and views. Those are described beside their files that can be.
    pub(super) fn lock_and_write(&mut self, tables: &[ObjectName<'_>]) -> SqlResult<()> {
        self.lock_to_read(tables)?;
        let host = self.db.globals().text("hostname").unwrap_or_default();
        let core = self.db.engine.core().clone();
        let mut opened = Vec::with_capacity(tables.len());
        for table in tables {
            let database = table.schema.map_or_else(|| self.state.database.clone(), text_of);
            let name = text_of(table.name);
            let is_hidden = vaquita_session::access::has_temporary(&self.engine, &database, &name);
            let engine_name = engine_name(&database, &name)?;
            if !is_hidden && core.objects().view(&engine_name).is_none() {
                opened.push(error::of_engine(core.table(&engine_name))?);
            }
        }
        opened.retain(vaquita_engine::can_be_exported);
        let done = error::of_engine(self.engine.export_tables(&opened, &host));
        if done.is_err() {
            self.unlock_tables();
        }
        done
    }

    fn lock_to_read(&mut self, tables: &[ObjectName<'_>]) -> SqlResult<()> {
        let locks: Vec<TableLock<'_>> = tables
            .iter()
            .map(|name| TableLock { name: *name, alias: None, kind: TableLockKind::Read })
            .collect();
        self.lock_tables(&locks, false)?;
        self.state.give_way();
        Ok(())
    }

    /// The engine's names of tables, all of which have files of their own kind.
    fn names_to_export(&mut self, tables: &[ObjectName<'_>]) -> SqlResult<Vec<String>> {
        let mut names = Vec::with_capacity(tables.len());
        for table in tables {
            let database = match table.schema {
                Some(schema) => text_of(schema),
                None if self.state.database.is_empty() => {
                    return Err(SqlError::new(1046, "No database selected"));
                }
                None => self.state.database.clone(),
            };
            let name = text_of(table.name);
            if crate::ddl::views::find(&self.cx(), &database, &name).is_some() {
                return Err(SqlError::new(1347, format!("'{database}.{name}' is not BASE TABLE")));
            }
            let engine_name = engine_name(&database, &name)?;
            if names.contains(&engine_name) {
                return Err(SqlError::new(1066, format!("Not unique table/alias: '{name}'")));
            }
            // A temporary table of the name does not hide it.
            error::of_engine(self.db.engine.core().table(&engine_name))?;
            names.push(engine_name);
        }
        Ok(names)
    }

    /// Writes a table anew whose rows have versions, which no other server's file has.
    fn make_plain(&mut self, name: ObjectName<'_>) -> SqlResult<()> {
        let database = name.schema.map_or_else(|| self.state.database.clone(), text_of);
        let table = self.db.engine.core().table(&engine_name(&database, &text_of(name.name))?);
        match error::of_engine(table)?.clustered().def().layout().version() {
            0 => Ok(()),
            _ => crate::ddl::recreate(&mut self.cx(), name),
        }
    }

    fn export_locked(&mut self, names: &[String], host: &str) -> Result<(), Error> {
        let core = self.db.engine.core().clone();
        let tables = names.iter().map(|name| core.table(name)).collect::<Result<Vec<_>, Error>>()?;
        self.engine.export_tables(&tables, host)?;
        let shown = |name: &str| {
            let (database, table) = vaquita_catalog::sql_name(name);
            format!("'\"{database}\".\"{table}\"'")
        };
        for table in tables.iter().filter(|table| table.space == SpaceId::SYSTEM) {
            let message = format!("InnoDB: Table {} in system tablespace", shown(&table.name));
            self.state.warnings.warn(1809, message);
        }
        Ok(())
    }
}
