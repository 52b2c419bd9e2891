//! Changes of rows of a table that nobody else knows: no locks, no undo. The table goes as a whole if it is not to be.
//!
//! # Crash
//! A row may be in some of the indexes then; nobody looks at it any more.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::row::clustered::{self, LIVE, encode, too_big, write_values};
use crate::row::entry::{Columns, Entry, check_fields, entry, key_text};
use crate::row::image::Image;
use crate::row::secondary::{self, Fate};
use crate::row::versions::find_row;
use crate::table::{Index, Table};
use vaquita_base::codec::{put_u48, put_u56};
use vaquita_base::{PageNo, TrxId};
use vaquita_btree::{Change, LatchMode};
use vaquita_format::column::{ROLL_PTR_LEN, TRX_ID_LEN};
use vaquita_format::index_page::{SearchMode, SysFields};
use vaquita_format::tuple::{Tuple, TupleField};
use vaquita_format::undo::UndoPlace;
use vaquita_storage::fsp::Reservation;

/// The system fields of rows that were inserted by a transaction that has committed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stamp {
    sys: SysFields,
    trx_id: [u8; TRX_ID_LEN],
    roll_ptr: [u8; ROLL_PTR_LEN],
}

impl Stamp {
    pub(crate) fn of(trx_id: TrxId) -> Stamp {
        let nowhere = UndoPlace { insert: true, rseg: 0, page: PageNo(0), offset: 0 };
        let sys = SysFields { trx_id, roll_ptr: nowhere.encode() };
        let mut stamp = Stamp { sys, trx_id: [0; TRX_ID_LEN], roll_ptr: [0; ROLL_PTR_LEN] };
        put_u48(&mut stamp.trx_id, 0, sys.trx_id.get());
        put_u56(&mut stamp.roll_ptr, 0, sys.roll_ptr.get());
        stamp
    }

    /// DB_TRX_ID and DB_ROLL_PTR as they are stored.
    pub(crate) fn fields(&self) -> [&[u8]; 2] {
        [&self.trx_id, &self.roll_ptr]
    }

    pub(crate) fn trx_id(&self) -> TrxId {
        self.sys.trx_id
    }

    /// The clustered record of a row, its system fields filled in.
    pub(crate) fn record<'a>(&'a self, table: &Table, row: &'a dyn Columns) -> Result<Entry<'a>> {
        let index = table.clustered();
        let mut fields = entry(table, index, row);
        let at = index.def().n_uniq();
        fields[at] = TupleField::new(&self.trx_id);
        fields[at + 1] = TupleField::new(&self.roll_ptr);
        check_fields(table, index.def(), &fields)?;
        Ok(fields)
    }
}

/// The unique index that has the key of a row already, if one has; the key as text.
///
/// # Errors
/// Errors of pages, damage.
pub(crate) fn duplicate(core: &Core, table: &Table, row: &dyn Columns) -> Result<Option<Error>> {
    let error = |index: &Index, fields: &[TupleField<'_>]| Error::DuplicateKey {
        table: table.name.clone(),
        index: index.name.clone(),
        value: key_text(table, index, fields),
    };
    let clustered = table.clustered();
    let fields = entry(table, clustered, row);
    let n = clustered.def().n_uniq();
    if clustered.tree.lookup(&core.storage, &Tuple::new(&fields[..n]), |_| ())?.is_some() {
        return Ok(Some(error(clustered, &fields)));
    }
    for index in table.indexes[1..].iter().filter(|index| index.is_unique()) {
        let fields = entry(table, index, row);
        if secondary::has_equal(core, (table, index), &fields)? {
            return Ok(Some(error(index, &fields)));
        }
    }
    Ok(None)
}

/// Inserts a row whose unique keys are not there.
///
/// # Errors
/// Values that do not fit, no space, errors of pages.
pub(crate) fn insert(core: &Core, table: &Table, row: &dyn Columns, stamp: &Stamp) -> Result<()> {
    let fields = stamp.record(table, row)?;
    let (rec, moved) = encode(table, &fields, stamp.sys, LIVE)?;
    let tree = &table.clustered().tree;
    let key = Tuple::new(&fields[..table.clustered().def().n_uniq()]);
    let mut mtr = core.storage.begin()?;
    let position = tree.search(&mut mtr, &key, SearchMode::LessOrEqual, LatchMode::Exclusive)?;
    if tree.try_insert(&mut mtr, &position, &rec)?.is_none() {
        position.release(&mut mtr);
        let position = tree.search_path(&mut mtr, &key, Change::Insert(&rec))?;
        tree.insert_at(&mut mtr, position, &rec, Reservation::Normal).map_err(|e| too_big(table, e))?;
    }
    mtr.commit();
    write_values(core, table, &fields, &moved, stamp.sys)?;
    for index in &table.indexes[1..] {
        secondary::restore(core, (table, index), &entry(table, index, row))?;
    }
    Ok(())
}

/// Removes the row with a clustered key, if there is one; it is given back.
///
/// # Errors
/// Errors of pages, damage.
pub(crate) fn remove(core: &Core, table: &Table, key: &[TupleField<'_>]) -> Result<Option<Image>> {
    let Some(mut row) = find_row(core, table, key)? else { return Ok(None) };
    row.load_external(core, table)?;
    for index in &table.indexes[1..] {
        secondary::settle(core, (table, index), &entry(table, index, &row), |_| Ok(Fate::Remove))?;
    }
    clustered::remove(core, table, &row, |_, _| true)?;
    Ok(Some(row))
}
