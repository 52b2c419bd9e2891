//! Inserts into the clustered index, and how duplicates are met.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::row::WriteOptions;
use crate::row::clustered::{
    Claim, LIVE, Look, encode, insert_intention, look, modify, record_at, write_values,
};
use crate::row::entry::{check_fields, key_text};
use crate::row::image::Image;
use crate::row::lock::{lock_clustered, parse_clustered, wait};
use crate::row::undo_record::{Modification, insert_body};
use crate::table::Table;
use vaquita_base::{PageNo, TrxId};
use vaquita_btree::{Change, LatchMode, Position, RecBuf};
use vaquita_format::index_page::{SearchMode, SysFields};
use vaquita_format::record::Offsets;
use vaquita_format::tuple::{Tuple, TupleField};
use vaquita_format::undo::record::UndoType;
use vaquita_format::undo::{UndoKind, UndoPlace};
use vaquita_storage::Mtr;
use vaquita_storage::fsp::Reservation;
use vaquita_txn::lock::{LockOutcome, WaitPolicy};
use vaquita_txn::{LockMode, RecordLockKind, Trx};

/// Which lock a duplicate gets: S, or X where it will be replaced.
pub(crate) fn duplicate_mode(exclusive: bool) -> LockMode {
    if exclusive { LockMode::Exclusive } else { LockMode::Shared }
}

enum Placed {
    Inserted,
    /// The key is there, delete-marked and locked.
    Deleted,
}

/// Inserts a record into the clustered index. The system fields of `fields` are filled in here.
///
/// A duplicate gets an S lock on the record, not on the gap, at every isolation level, X if it is to be replaced
/// (observed: MySQL 5.6.24). A delete-marked record with the key is brought back with the new values.
///
/// # Errors
/// Duplicate key, lock waits, space. An undo record may be left that nothing belongs to.
pub(crate) fn insert(
    core: &Core,
    trx: &mut Trx,
    table: &Table,
    fields: &[TupleField<'_>],
    how: WriteOptions,
) -> Result<()> {
    let def = table.clustered().def();
    check_fields(table, def, fields)?;
    let n = def.n_uniq();
    let trx_id = core.txn.assign_id_for(trx, table.undo_of())?;
    if how.without_undo {
        return insert_without_undo(core, trx, table, fields, trx_id);
    }
    loop {
        let undo_no = trx.undo_no();
        let body = insert_body(undo_no, table, &fields[..n]);
        let roll_ptr = core.txn.append_undo(trx, table.undo_of(), UndoKind::Insert, &body)?;
        // Nothing is changed while it waits behind others.
        trx.weigh_undo(undo_no);
        let sys = SysFields { trx_id, roll_ptr };
        let (rec, moved) = encode(table, fields, sys, LIVE)?;
        match place(core, trx, table, &fields[..n], &rec, how.exclusive_duplicates)? {
            Placed::Inserted => {
                trx.weigh_undo(undo_no + 1);
                return write_values(core, table, fields, &moved, sys);
            }
            Placed::Deleted => core.txn.forget_undo(trx, undo_no)?,
        }
        if bring_back(core, trx, table, fields)? {
            return Ok(());
        }
    }
}

/// Inserts a record that has no older version and will not be taken back.
fn insert_without_undo(
    core: &Core,
    trx: &Trx,
    table: &Table,
    fields: &[TupleField<'_>],
    trx_id: TrxId,
) -> Result<()> {
    debug_assert!(
        trx.undo_no() > 0,
        "no undo record would tell the end of {}, who fills {}",
        trx_id,
        table.name
    );
    let nowhere = UndoPlace { insert: true, rseg: 0, page: PageNo(0), offset: 0 };
    let sys = SysFields { trx_id, roll_ptr: nowhere.encode() };
    let (rec, moved) = encode(table, fields, sys, LIVE)?;
    let n = table.clustered().def().n_uniq();
    match place(core, trx, table, &fields[..n], &rec, false)? {
        Placed::Inserted => write_values(core, table, fields, &moved, sys),
        Placed::Deleted => Err(Error::WrongState("a table that is filled without undo has deleted rows")),
    }
}

/// What a look under the latch decides about an insert.
enum Gate {
    Open,
    Wait,
    Deleted,
}

fn gate(
    core: &Core,
    trx: &Trx,
    table: &Table,
    mtr: &Mtr<'_>,
    position: &Position,
    exclusive: bool,
) -> Result<Gate> {
    let index = table.clustered();
    if usize::from(position.found().low_matched) < index.def().n_uniq() {
        return Ok(match insert_intention(core, trx, (table, index), mtr, position)? {
            LockOutcome::MustWait => Gate::Wait,
            _ => Gate::Open,
        });
    }
    let record = record_at(mtr, position);
    let mut offsets = Offsets::new();
    parse_clustered(table, &record, &mut offsets)?;
    let what = (duplicate_mode(exclusive), RecordLockKind::Record);
    match lock_clustered(core, trx, table, &record, &offsets, what, WaitPolicy::Wait)? {
        LockOutcome::MustWait => Ok(Gate::Wait),
        _ if record.is_deleted() => Ok(Gate::Deleted),
        _ => {
            let key = Image::of(table, &record, &offsets);
            Err(Error::DuplicateKey {
                table: table.name.clone(),
                index: index.name.clone(),
                value: key_text(table, index, &key.key_fields()),
            })
        }
    }
}

fn place(
    core: &Core,
    trx: &Trx,
    table: &Table,
    key: &[TupleField<'_>],
    rec: &RecBuf,
    exclusive: bool,
) -> Result<Placed> {
    let tree = &table.clustered().tree;
    debug_assert_eq!(key.len(), table.clustered().def().n_uniq(), "a row comes in by its whole key");
    let key = Tuple::new(key);
    loop {
        let mut mtr = core.storage.begin()?;
        let position = tree.search(&mut mtr, &key, SearchMode::LessOrEqual, LatchMode::Exclusive)?;
        match gate(core, trx, table, &mtr, &position, exclusive)? {
            Gate::Open => {}
            Gate::Deleted => return Ok(Placed::Deleted),
            Gate::Wait => {
                drop(mtr);
                wait(core, trx)?;
                continue;
            }
        }
        if tree.try_insert(&mut mtr, &position, rec)?.is_some() {
            mtr.commit();
            return Ok(Placed::Inserted);
        }
        position.release(&mut mtr);
        let position = tree.search_path(&mut mtr, &key, Change::Insert(rec))?;
        match gate(core, trx, table, &mtr, &position, exclusive)? {
            Gate::Open => {
                tree.insert_at(&mut mtr, position, rec, Reservation::Normal)?;
                mtr.commit();
                return Ok(Placed::Inserted);
            }
            Gate::Deleted => return Ok(Placed::Deleted),
            Gate::Wait => {
                drop(mtr);
                wait(core, trx)?;
            }
        }
    }
}

/// Gives the delete-marked record with the key of `fields` new values and takes its mark away; `false` if purge has
/// taken it or it is live by now.
fn bring_back(core: &Core, trx: &mut Trx, table: &Table, fields: &[TupleField<'_>]) -> Result<bool> {
    let n = table.clustered().def().n_uniq();
    let Look::Row(old) = look(core, trx, table, &fields[..n], Claim::Change)? else { return Ok(false) };
    if !old.is_deleted() {
        return Ok(false);
    }
    let changed: smallvec::SmallVec<[usize; 16]> = (0..fields.len())
        .filter(|&i| i != n && i != n + 1)
        .filter(|&i| old.is_external(i) || fields[i].external || old.field(i) != fields[i].data)
        .collect();
    let change = Modification { ty: UndoType::UpdateDeleted, fields: &changed, order_changes: true };
    modify(core, trx, table, &old, fields, LIVE, change)
}
