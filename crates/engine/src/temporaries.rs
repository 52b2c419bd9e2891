//! Temporary tables: a session's own, in the temporary tablespace, in no dictionary.
//!
//! A temporary table is a [`Table`] like any other, and its rows are changed by the same functions. What is different:
//! its number is above [`TableId::FIRST_TEMPORARY`], so nothing of it is locked; reads see the newest version; its undo
//! records are in logs of their own ([`vaquita_txn::undo`]), which are purged by the session itself when the transaction
//! is over. Its trees are in no dictionary: they go with the session, and with the process at the latest.

use crate::table::Table;
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use vaquita_base::{IndexId, TableId};

/// Those of all sessions, by number: rollback and purge know no names.
#[derive(Debug, Default)]
pub(crate) struct Temporaries {
    tables: RwLock<HashMap<TableId, Arc<Table>>>,
    /// Numbers given, of tables and indexes.
    numbers: AtomicU64,
}

impl Temporaries {
    pub(crate) fn get(&self, id: TableId) -> Option<Arc<Table>> {
        self.tables.read().get(&id).cloned()
    }

    /// All of them, the oldest first.
    pub(crate) fn all(&self) -> Vec<Arc<Table>> {
        let mut tables: Vec<Arc<Table>> = self.tables.read().values().cloned().collect();
        tables.sort_by_key(|table| table.id.get());
        tables
    }

    pub(crate) fn count(&self) -> usize {
        self.tables.read().len()
    }

    /// A number for a table to come.
    pub(crate) fn table_id(&self) -> TableId {
        TableId(self.number())
    }

    /// A number for an index to come.
    pub(crate) fn index_id(&self) -> IndexId {
        IndexId(self.number())
    }

    fn number(&self) -> u64 {
        TableId::FIRST_TEMPORARY.get() + self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    /// A number that no session has had for its temporary tables.
    pub(crate) fn generation(&self) -> u64 {
        self.number()
    }

    /// A table that was made.
    pub(crate) fn enter(&self, table: &Arc<Table>) {
        self.tables.write().insert(table.id, table.clone());
    }

    /// A table goes: whoever has prepared something with it finds out.
    pub(crate) fn leave(&self, table: &Table) {
        self.tables.write().remove(&table.id);
        table.gone.store(true, Ordering::Release);
    }
}
