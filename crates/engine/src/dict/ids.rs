//! Numbers of tables, indexes and tablespaces, and DB_ROW_ID values, from the dictionary header.
//!
//! # Invariants
//! - I1: the header page says of a number that it is given before anything that uses it is logged: no number is given
//!   twice, crash or not.
//! - I2: row ids below `limit` may be given; the header's bound plus its margin is at least `limit`.

use crate::error::{Error, Result};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use vaquita_base::codec::{get_u32, get_u64};
use vaquita_base::{IndexId, PageId, SpaceId, TableId};
use vaquita_format::dict::{self, DictHeader};
use vaquita_storage::{Mtr, PageRef, Storage};

/// Most DB_ROW_ID values: 48 bits.
const ROW_ID_MAX: u64 = 1 << 48;
/// Numbers of tablespaces from here on have special meanings.
const SPACE_ID_MAX: u32 = 0xFFFF_FFF0;

/// Gives numbers.
#[derive(Debug)]
pub(crate) struct Ids {
    next_row: AtomicU64,
    row_limit: AtomicU64,
    /// Taken while the bound of row ids moves.
    moving: Mutex<()>,
}

impl Ids {
    /// Goes on where the header says.
    pub(crate) fn new(header: &DictHeader) -> Self {
        let next = header.next_row_id();
        // Nothing may be given before the bound has moved.
        Self { next_row: AtomicU64::new(next), row_limit: AtomicU64::new(next), moving: Mutex::new(()) }
    }

    /// A DB_ROW_ID.
    #[inline]
    pub(crate) fn row_id(&self, storage: &Storage) -> Result<u64> {
        loop {
            let id = self.next_row.load(Ordering::Relaxed);
            if id >= self.row_limit.load(Ordering::Acquire) {
                self.move_row_limit(storage)?;
                continue;
            }
            let given = self.next_row.compare_exchange_weak(id, id + 1, Ordering::Relaxed, Ordering::Relaxed);
            if given.is_ok() {
                let limit = self.row_limit.load(Ordering::Relaxed);
                debug_assert!(
                    id < limit,
                    "I2: row id {id} is given, the header knows of those below {limit}"
                );
                return Ok(id);
            }
        }
    }

    #[cold]
    fn move_row_limit(&self, storage: &Storage) -> Result<()> {
        let _moving = self.moving.lock();
        let limit = self.row_limit.load(Ordering::Acquire);
        if self.next_row.load(Ordering::Relaxed) < limit {
            return Ok(());
        }
        if limit >= ROW_ID_MAX {
            return Err(Error::Corrupt("there are no row ids left".into()));
        }
        let (mut mtr, page) = header_page(storage)?;
        mtr.write_u64(page, dict::ROW_ID, limit);
        mtr.commit();
        self.row_limit.store(limit + dict::ROW_ID_MARGIN, Ordering::Release);
        Ok(())
    }

    /// Sees to it that row ids come from beyond `id`, which a file from elsewhere has.
    pub(crate) fn raise_row_id(&self, storage: &Storage, id: u64) -> Result<()> {
        let _moving = self.moving.lock();
        if id < self.next_row.load(Ordering::Relaxed) {
            return Ok(());
        }
        let bound = (id / dict::ROW_ID_MARGIN + 1) * dict::ROW_ID_MARGIN;
        let (mut mtr, page) = header_page(storage)?;
        mtr.write_u64(page, dict::ROW_ID, bound);
        mtr.commit();
        self.next_row.fetch_max(bound, Ordering::Relaxed);
        self.row_limit.store(bound + dict::ROW_ID_MARGIN, Ordering::Release);
        Ok(())
    }
}

/// The next number of a table.
pub(crate) fn table_id(storage: &Storage) -> Result<TableId> {
    next_u64(storage, dict::TABLE_ID).map(TableId)
}

/// The next number of an index.
pub(crate) fn index_id(storage: &Storage) -> Result<IndexId> {
    next_u64(storage, dict::INDEX_ID).map(IndexId)
}

/// The next number of a tablespace.
pub(crate) fn space_id(storage: &Storage) -> Result<SpaceId> {
    let (mut mtr, page) = header_page(storage)?;
    let id = get_u32(mtr.page(page), dict::SPACE_ID) + 1;
    if id >= SPACE_ID_MAX {
        return Err(Error::Corrupt("there are no tablespace numbers left".into()));
    }
    mtr.write_u32(page, dict::SPACE_ID, id);
    mtr.commit();
    Ok(SpaceId(id))
}

fn next_u64(storage: &Storage, at: usize) -> Result<u64> {
    let (mut mtr, page) = header_page(storage)?;
    let id = get_u64(mtr.page(page), at) + 1;
    mtr.write_u64(page, at, id);
    mtr.commit();
    Ok(id)
}

fn header_page(storage: &Storage) -> Result<(Mtr<'_>, PageRef)> {
    let mut mtr = storage.begin()?;
    let page = mtr.get_exclusive(PageId::new(SpaceId::SYSTEM, dict::PAGE))?;
    Ok((mtr, page))
}
