//! Reading: cursors over an index, with and without locks.

use crate::table::{Index, Table};
use std::sync::Arc;

/// What reading does about locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ReadLock {
    /// Nothing: a consistent read (dirty in READ UNCOMMITTED, S locks in SERIALIZABLE transactions).
    #[default]
    None,
    /// S locks (LOCK IN SHARE MODE).
    Shared,
    /// X locks (FOR UPDATE, UPDATE, DELETE).
    Exclusive,
}

/// A place in an index of a table, and how it reads.
#[derive(Debug)]
pub struct Cursor {
    table: Arc<Table>,
    index: Arc<Index>,
    lock: ReadLock,
}

/// A row under the cursor, its values straight from page bytes where they can be.
#[derive(Debug)]
pub struct RowRef<'p> {
    _page: &'p [u8],
}

impl Cursor {
    /// The table.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// The index.
    pub fn index(&self) -> &Arc<Index> {
        &self.index
    }

    /// What it does about locks.
    pub fn lock(&self) -> ReadLock {
        self.lock
    }
}
