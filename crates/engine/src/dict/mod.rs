//! The data dictionary: tables found by name and number, built from the SYS_* tables of the system tablespace and one
//! table of our own for what MySQL keeps in `.frm` files.

use crate::core::Core;
use crate::error::Result;
use crate::table::Table;
use std::sync::Arc;
use vaquita_base::TableId;
use vaquita_storage::Bootstrap;
use vaquita_storage::{Mtr, PageRef, Storage};

/// The dictionary: a cache over its tables.
#[derive(Debug, Default)]
pub struct Dictionary {}

impl Dictionary {
    /// The table of that name.
    ///
    /// # Errors
    /// [`crate::Error::NoSuchTable`]; it cannot be used.
    pub fn table(&self, core: &Core, name: &str) -> Result<Arc<Table>> {
        let _ = (core, name);
        unimplemented!()
    }

    /// The table of that number; `None` if it is gone: what refers to it (undo, purge) has nothing to do.
    ///
    /// # Errors
    /// It cannot be used.
    pub fn table_by_id(&self, core: &Core, id: TableId) -> Result<Option<Arc<Table>>> {
        let _ = (core, id);
        unimplemented!()
    }

    /// A new DB_ROW_ID.
    ///
    /// # Errors
    /// Errors of writing the bound.
    pub fn next_row_id(&self, core: &Core) -> Result<u64> {
        let _ = core;
        unimplemented!()
    }
}

/// Makes the change buffer's root, rollback segment 0 and the dictionary's trees when a folder is created.
#[derive(Debug, Default)]
pub struct CreateSystem {}

impl Bootstrap for CreateSystem {
    fn change_buffer_root(&mut self, mtr: &mut Mtr<'_>, root: PageRef) -> vaquita_storage::Result<()> {
        let _ = (mtr, root);
        unimplemented!()
    }

    fn rollback_segment(&mut self, storage: &Storage) -> vaquita_storage::Result<()> {
        let _ = storage;
        unimplemented!()
    }

    fn dictionary(&mut self, storage: &Storage) -> vaquita_storage::Result<()> {
        let _ = storage;
        unimplemented!()
    }
}
