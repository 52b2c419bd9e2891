//! Changes of secondary indexes.
//!
//! A secondary entry is inserted, delete-marked or unmarked in one mini-transaction; there is no undo for it, rollback
//! and purge build the entry from versions of the row. The leaf's MAX_TRX_ID says that a transaction has been there.
//!
//! # Locks
//! The row in the clustered index is locked by who changes its entries, so no other writer is in the way; a reader that
//! locked the entry may be. Marking and unmarking therefore ask whether an X lock on the entry would be free; it is then
//! held implicitly.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::row::clustered::{insert_intention, record_at, too_big};
use crate::row::duplicate;
use crate::row::entry::{check_fields, same_order};
use crate::row::lock::{parse_secondary, record_id, wait};
use crate::table::{Index, Table};
use vaquita_base::TrxId;
use vaquita_btree::{Change, Cursor, LatchMode, Position, RecBuf};
use vaquita_format::fil;
use vaquita_format::index_page::header::infimum;
use vaquita_format::index_page::{FieldUpdate, SearchMode, fits_in_place};
use vaquita_format::record::Offsets;
use vaquita_format::record::header::is_deleted;
use vaquita_format::tuple::{Tuple, TupleField};
use vaquita_storage::fsp::Reservation;
use vaquita_storage::{Mtr, PageRef};
use vaquita_txn::Trx;
use vaquita_txn::lock::{LockOutcome, WaitPolicy};

/// An index of a table.
pub(crate) type Of<'t> = (&'t Table, &'t Index);

/// The record of an entry.
fn encode((table, index): Of<'_>, fields: &[TupleField<'_>]) -> Result<RecBuf> {
    check_fields(table, index.def(), fields)?;
    index.tree.record(&Tuple::new(fields)).map_err(|e| too_big(table, e))
}

/// Inserts an entry, checking uniqueness first; an equal entry that is delete-marked becomes live again.
///
/// # Errors
/// Duplicate key, lock waits, space.
pub(crate) fn insert(
    core: &Core,
    trx: &Trx,
    of: Of<'_>,
    fields: &[TupleField<'_>],
    exclusive_duplicates: bool,
) -> Result<()> {
    let (_, index) = of;
    let def = index.def();
    debug_assert_eq!(fields.len(), def.n_fields(), "an entry has all fields of its index");
    debug_assert!(trx.id().0 != 0, "who inserts has an id, which is the entry's implicit lock");
    let rec = encode(of, fields)?;
    let n_uniq = def.n_uniq();
    // NULLs are equal to nothing.
    let is_unique = def.is_unique() && fields[..n_uniq].iter().all(|f| f.data.is_some());
    let mut unchecked = is_unique;
    loop {
        let n = if unchecked { n_uniq } else { def.n_fields() };
        let key = Tuple::new(fields).compare_first(n);
        let mut mtr = core.storage.begin()?;
        let position = index.tree.search(&mut mtr, &key, SearchMode::LessOrEqual, LatchMode::Exclusive)?;
        let place = Place { fields, rec: &rec, key, unchecked, is_unique };
        match step(core, trx, of, mtr, position, &place)? {
            Step::Done => return Ok(()),
            Step::Again => {}
            Step::Wait => wait(core, trx)?,
            Step::Check if duplicate::check(core, trx, of, fields, exclusive_duplicates)? => {
                unchecked = false
            }
            Step::Check => wait(core, trx)?,
        }
    }
}

/// An entry that is to come in.
struct Place<'e> {
    fields: &'e [TupleField<'e>],
    rec: &'e RecBuf,
    /// What it is searched by.
    key: Tuple<'e>,
    /// The search is by the unique fields, and equal ones have not been looked for.
    unchecked: bool,
    /// No other entry may have the unique fields.
    is_unique: bool,
}

/// Whether an entry equal in the unique fields is to be looked for: the one below is, or one may be on the leaf before. Of
/// entries that have been looked for, and their range locked, none is live beside the place.
fn may_be_duplicate(index: &Index, mtr: &Mtr<'_>, position: &Position, place: &Place<'_>) -> bool {
    if !place.is_unique {
        return false;
    }
    let (def, found, page) = (index.def(), position.found(), mtr.page(position.page()));
    let (comp, n_uniq) = (def.layout().comp(), def.n_uniq());
    if place.unchecked {
        return usize::from(found.low_matched) >= n_uniq
            || found.low == infimum(comp)
                && !fil::prev(page).is_null()
                && index.tree.may_lie_before(mtr, position.page(), &place.key);
    }
    let is_live = |rec: u16, matched: u16| {
        (n_uniq..def.n_fields()).contains(&usize::from(matched)) && !is_deleted(page, rec, comp)
    };
    is_live(found.low, found.low_matched) || is_live(found.up, found.up_matched)
}

enum Step {
    Done,
    Again,
    Wait,
    /// There may be a duplicate.
    Check,
}

/// One try at inserting an entry, or at unmarking the equal one; `position` is where it belongs.
fn step(
    core: &Core,
    trx: &Trx,
    of: Of<'_>,
    mut mtr: Mtr<'_>,
    position: Position,
    place: &Place<'_>,
) -> Result<Step> {
    let (_, index) = of;
    let n_fields = index.def().n_fields();
    if may_be_duplicate(index, &mtr, &position, place) {
        return Ok(Step::Check);
    }
    if usize::from(position.found().low_matched) == n_fields {
        return unmark_at(core, Some(trx), of, mtr, position, place.fields, place.rec);
    }
    if insert_intention(core, trx, of, &mtr, &position)? == LockOutcome::MustWait {
        return Ok(Step::Wait);
    }
    if index.tree.try_insert(&mut mtr, &position, place.rec)?.is_some() {
        index.tree.raise_max_trx_id(&mut mtr, position.page(), trx.id());
        mtr.commit();
        return Ok(Step::Done);
    }
    position.release(&mut mtr);
    // Nobody held the leaf meanwhile: all is looked at again.
    let position = index.tree.search_path(&mut mtr, &place.key, Change::Insert(place.rec))?;
    if may_be_duplicate(index, &mtr, &position, place) {
        return Ok(Step::Check);
    }
    if usize::from(position.found().low_matched) == n_fields {
        return Ok(Step::Again);
    }
    if insert_intention(core, trx, of, &mtr, &position)? == LockOutcome::MustWait {
        return Ok(Step::Wait);
    }
    let (page, _) = index.tree.insert_at(&mut mtr, position, place.rec, Reservation::Normal)?;
    index.tree.raise_max_trx_id(&mut mtr, page, trx.id());
    mtr.commit();
    Ok(Step::Done)
}

/// Makes the entry at a position live, with exactly these bytes. Without a transaction no lock is asked for.
fn unmark_at(
    core: &Core,
    trx: Option<&Trx>,
    of: Of<'_>,
    mut mtr: Mtr<'_>,
    position: Position,
    fields: &[TupleField<'_>],
    rec: &RecBuf,
) -> Result<Step> {
    let (table, index) = of;
    let record = record_at(&mtr, &position);
    let mut offsets = Offsets::new();
    parse_secondary(index, &record, &mut offsets)?;
    if let Some(trx) = trx {
        if !record.is_deleted() {
            let (name, page) = (&index.name, record.page_id);
            return Err(Error::Corrupt(format!(
                "index {name} of {} has an entry of a new row on page {page}",
                table.name
            )));
        }
        if modify_lock(core, trx, of, &mtr, &position)? == LockOutcome::MustWait {
            return Ok(Step::Wait);
        }
    }
    let (page, origin) = (position.page(), record.rec);
    let trx_id = trx.map_or(TrxId(0), Trx::id);
    let updates: smallvec::SmallVec<[FieldUpdate<'_>; 8]> = (0..fields.len())
        .filter(|&i| record.field(&offsets, i) != fields[i].data)
        .map(|pos| FieldUpdate { pos, data: fields[pos].data })
        .collect();
    if updates.is_empty() {
        index.tree.set_delete_mark(&mut mtr, page, origin, false, None)?;
        return finish(of, mtr, page, trx_id);
    }
    if fits_in_place(index.def().layout(), &offsets, &updates) {
        index.tree.update_in_place(&mut mtr, page, origin, 0, &updates, None)?;
        return finish(of, mtr, page, trx_id);
    }
    if index.tree.try_update(&mut mtr, &position, rec)?.is_some() {
        return finish(of, mtr, page, trx_id);
    }
    position.release(&mut mtr);
    let key = Tuple::new(fields);
    let position = index.tree.search_path(&mut mtr, &key, Change::Update(rec))?;
    if usize::from(position.found().low_matched) != index.def().n_fields() {
        return Ok(Step::Again);
    }
    if let Some(trx) = trx
        && modify_lock(core, trx, of, &mtr, &position)? == LockOutcome::MustWait
    {
        return Ok(Step::Wait);
    }
    let room = if trx.is_some() { Reservation::Normal } else { Reservation::Rollback };
    let (page, _) = index.tree.update_at(&mut mtr, position, rec, room)?;
    finish(of, mtr, page, trx_id)
}

fn finish((_, index): Of<'_>, mut mtr: Mtr<'_>, page: PageRef, trx_id: TrxId) -> Result<Step> {
    if trx_id != TrxId(0) {
        index.tree.raise_max_trx_id(&mut mtr, page, trx_id);
    }
    mtr.commit();
    Ok(Step::Done)
}

/// Asks for the X lock on an entry that is about to be changed in place.
fn modify_lock(
    core: &Core,
    trx: &Trx,
    (table, index): Of<'_>,
    mtr: &Mtr<'_>,
    position: &Position,
) -> Result<LockOutcome> {
    let id = record_id(table, index, &record_at(mtr, position));
    Ok(core.txn.locks().lock_for_change(trx, id, WaitPolicy::Wait)?)
}

/// Delete-marks the entry of a row that goes or changes.
///
/// # Errors
/// Lock waits, errors of pages; damage, if it is not there.
pub(crate) fn mark(core: &Core, trx: &Trx, of: Of<'_>, fields: &[TupleField<'_>]) -> Result<()> {
    mark_before(core, trx, of, fields, None).map(drop)
}

/// Delete-marks the entry of a row and inserts the one that the changed row has, in one mini-transaction if they lie close
/// together.
///
/// # Errors
/// Those of [`mark`] and [`insert`].
pub(crate) fn exchange(
    core: &Core,
    trx: &Trx,
    of: Of<'_>,
    old: &[TupleField<'_>],
    new: &[TupleField<'_>],
    exclusive_duplicates: bool,
) -> Result<()> {
    // Whether a unique entry may come in is to be found out first.
    let together = !of.1.def().is_unique();
    match mark_before(core, trx, of, old, together.then_some(new))? {
        true => Ok(()),
        false => insert(core, trx, of, new, exclusive_duplicates),
    }
}

/// Delete-marks an entry; whether the one that follows it came in at the same time, which is no more than an attempt.
fn mark_before(
    core: &Core,
    trx: &Trx,
    of: Of<'_>,
    fields: &[TupleField<'_>],
    follower: Option<&[TupleField<'_>]>,
) -> Result<bool> {
    let (table, index) = of;
    debug_assert_eq!(fields.len(), index.def().n_fields(), "an entry has all fields of its index");
    debug_assert!(trx.id().0 != 0, "who marks has an id, which is the entry's implicit lock");
    let key = Tuple::new(fields);
    loop {
        let mut mtr = core.storage.begin()?;
        let position = index.tree.search(&mut mtr, &key, SearchMode::LessOrEqual, LatchMode::Exclusive)?;
        if usize::from(position.found().low_matched) != index.def().n_fields() {
            return Err(Error::Corrupt(format!(
                "index {} of {} has no entry of a row",
                index.name, table.name
            )));
        }
        if record_at(&mtr, &position).is_deleted() {
            return Ok(false);
        }
        if modify_lock(core, trx, of, &mtr, &position)? == LockOutcome::MustWait {
            drop(mtr);
            wait(core, trx)?;
            continue;
        }
        let page = position.page();
        let follows = match follower {
            Some(follower) => insert_near(core, of, &mut mtr, page, follower)?,
            None => false,
        };
        index.tree.set_delete_mark(&mut mtr, page, position.found().low, true, None)?;
        index.tree.raise_max_trx_id(&mut mtr, page, trx.id());
        mtr.commit();
        return Ok(follows);
    }
}

/// Inserts an entry into a leaf that is held, if it belongs there, nobody has locks there, and no record moves for it.
fn insert_near(
    core: &Core,
    of: Of<'_>,
    mtr: &mut Mtr<'_>,
    leaf: PageRef,
    fields: &[TupleField<'_>],
) -> Result<bool> {
    let (table, index) = of;
    let Some(position) = index.tree.place_within(mtr, leaf, &Tuple::new(fields))? else { return Ok(false) };
    if usize::from(position.found().low_matched) == index.def().n_fields()
        || core.txn.locks().has_locks_on(mtr.id(leaf))
    {
        return Ok(false);
    }
    check_fields(table, index.def(), fields)?;
    let rec = index.tree.record(&Tuple::new(fields)).map_err(|e| too_big(table, e))?;
    if !index.tree.has_room(mtr, &position, &rec)? {
        return Ok(false);
    }
    Ok(index.tree.try_insert(mtr, &position, &rec)?.is_some())
}

/// What is to become of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Somebody needs it: nothing is changed.
    Keep,
    /// It is delete-marked.
    Mark,
    /// It goes.
    Remove,
}

/// Decides the fate of an entry under its leaf's exclusive latch and brings it about; nothing if there is no such entry.
/// `decide` is told whether it is delete-marked. Whether it was removed.
///
/// # Errors
/// Errors of pages, damage, and those of `decide`.
///
/// # Latching
/// `decide` may latch pages of the clustered index, of undo, and of off-page values.
pub fn settle(
    core: &Core,
    (_, index): (&Table, &Index),
    fields: &[TupleField<'_>],
    mut decide: impl FnMut(bool) -> Result<Fate>,
) -> Result<bool> {
    let key = Tuple::new(fields);
    let n = index.def().n_fields();
    debug_assert!(!index.is_clustered(), "the fate of a clustered record is not that of an entry");
    debug_assert_eq!(fields.len(), n, "an entry has all fields of its index");
    let mut mtr = core.storage.begin()?;
    let position = index.tree.search(&mut mtr, &key, SearchMode::LessOrEqual, LatchMode::Exclusive)?;
    if usize::from(position.found().low_matched) != n {
        return Ok(false);
    }
    let is_deleted = record_at(&mtr, &position).is_deleted();
    match decide(is_deleted)? {
        Fate::Keep => return Ok(false),
        Fate::Mark => {
            if !is_deleted {
                index.tree.set_delete_mark(&mut mtr, position.page(), position.found().low, true, None)?;
                mtr.commit();
            }
            return Ok(false);
        }
        Fate::Remove => {}
    }
    if !index.tree.try_remove(&mut mtr, &position)? {
        position.release(&mut mtr);
        let position = index.tree.search_path(&mut mtr, &key, Change::Remove)?;
        if usize::from(position.found().low_matched) != n {
            return Ok(false);
        }
        // Nobody held the page meanwhile.
        if decide(record_at(&mtr, &position).is_deleted())? != Fate::Remove {
            return Ok(false);
        }
        index.tree.remove_at(&mut mtr, position)?;
    }
    mtr.commit();
    Ok(true)
}

/// Whether an index that nobody else uses has a live entry, other than this one, that is equal to it in the unique fields. NULLs
/// are equal to nothing.
///
/// # Errors
/// Errors of pages, damage.
pub(crate) fn has_equal(core: &Core, of: Of<'_>, fields: &[TupleField<'_>]) -> Result<bool> {
    let (_, index) = of;
    let n_uniq = index.def().n_uniq();
    if fields[..n_uniq].iter().any(|f| f.data.is_none()) {
        return Ok(false);
    }
    let key = Tuple::new(&fields[..n_uniq]);
    let mut walk = Cursor::new(&index.tree, &core.storage);
    let mut on_record = walk.seek(&key, SearchMode::GreaterOrEqual)?;
    let mut offsets = Offsets::new();
    while on_record {
        let record = walk.record().expect("the cursor is on a record");
        parse_secondary(index, &record, &mut offsets)?;
        let found: Vec<TupleField<'_>> =
            (0..offsets.n_fields()).map(|i| TupleField::nullable(record.field(&offsets, i))).collect();
        if !same_order(index.def(), &found[..n_uniq], &fields[..n_uniq]) {
            return Ok(false);
        }
        if !record.is_deleted() && !same_order(index.def(), &found, fields) {
            return Ok(true);
        }
        on_record = walk.next()?;
    }
    Ok(false)
}

/// Makes sure that an entry is live and has exactly these bytes: what the older version of a row needs that a rollback
/// brings back.
///
/// # Errors
/// Space, though it takes what others leave; errors of pages, damage.
pub(crate) fn restore(core: &Core, of: Of<'_>, fields: &[TupleField<'_>]) -> Result<()> {
    let (_, index) = of;
    let rec = encode(of, fields)?;
    let key = Tuple::new(fields);
    loop {
        let mut mtr = core.storage.begin()?;
        let position = index.tree.search(&mut mtr, &key, SearchMode::LessOrEqual, LatchMode::Exclusive)?;
        if usize::from(position.found().low_matched) == index.def().n_fields() {
            match unmark_at(core, None, of, mtr, position, fields, &rec)? {
                Step::Done => return Ok(()),
                Step::Again | Step::Wait | Step::Check => continue,
            }
        }
        if index.tree.try_insert(&mut mtr, &position, &rec)?.is_none() {
            position.release(&mut mtr);
            let position = index.tree.search_path(&mut mtr, &key, Change::Insert(&rec))?;
            if usize::from(position.found().low_matched) == index.def().n_fields() {
                continue;
            }
            index.tree.insert_at(&mut mtr, position, &rec, Reservation::Rollback)?;
        }
        mtr.commit();
        return Ok(());
    }
}
