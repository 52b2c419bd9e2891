//! Tables whose files may be copied until their locks go.

use super::{Session, auto_inc};
use crate::dict::server_files::ServerFile;
use crate::error::Result;
use crate::export::{Export, check_exportable};
use crate::row;
use crate::table::Table;
use std::sync::Arc;
use vaquita_base::SpaceId;
use vaquita_txn::LockMode;

impl Session {
    /// Makes the files of tables complete, with a description beside each, until [`Session::unlock_tables`]. The tables are locked by
    /// [`Session::lock_table_name`] so that nobody changes rows. Tables in the system tablespace have no file of their own: nothing is
    /// done for them. `host` is what the descriptions say of where they were made; `kept` has for each of the tables what a MySQL server
    /// would keep beside its file, or nothing.
    ///
    /// # Errors
    /// A table that a transaction without a session has changed (a prepared one) and does not end in time; one whose file does
    /// not say what it is, because of versions of rows or descending keys; errors of writing.
    pub fn export_tables(
        &mut self,
        tables: &[Arc<Table>],
        host: &str,
        kept: &[Option<ServerFile>],
    ) -> Result<()> {
        let whole = tables;
        let tables: &[Arc<Table>] = &with_parts(tables);
        for table in tables {
            check_exportable(table)?;
        }
        self.wait_for_writers(tables)?;
        let core = self.core.clone();
        let mut export = Export::begin(core.clone());
        for table in tables.iter().filter(|table| table.space != SpaceId::SYSTEM) {
            core.storage.flush_space(table.space)?;
            // The description has it, whether anybody has asked for a value or not.
            auto_inc::next(&core, table)?;
            export.describe(table, host)?;
        }
        for (table, kept) in whole.iter().zip(kept).filter(|(table, _)| has_file(table)) {
            kept.iter().try_for_each(|kept| export.keep(table, kept))?;
        }
        self.export = Some(export);
        Ok(())
    }

    /// Waits for transactions that have changed tables and have no metadata locks.
    fn wait_for_writers(&mut self, tables: &[Arc<Table>]) -> Result<()> {
        let core = self.core.clone();
        let mut trx = self.start_beside();
        let shared = trx.shared().clone();
        let lock = |table: &Arc<Table>| row::lock::lock_table(&core, &trx, table, LockMode::Shared);
        let locked = self.waiter.lock_in(&shared, || tables.iter().try_for_each(lock));
        core.txn.commit(&mut trx)?;
        locked
    }
}

/// Whether it, or its parts, are not in the system tablespace.
fn has_file(table: &Table) -> bool {
    table.parts.is_some() || table.space != SpaceId::SYSTEM
}

/// Tables, the parts of those that have any in their place.
fn with_parts(tables: &[Arc<Table>]) -> Vec<Arc<Table>> {
    let parts = |table: &Arc<Table>| match &table.parts {
        Some(parts) => parts.tables.clone(),
        None => vec![table.clone()],
    };
    tables.iter().flat_map(parts).collect()
}
