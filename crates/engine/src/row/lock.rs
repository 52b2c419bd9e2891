//! Locks of row operations: requests, implicit locks made explicit, waits.
//!
//! A transaction that wrote a record holds an X lock on it that nobody stored (*implicit*): in the clustered index it
//! is known by DB_TRX_ID, in a secondary index by the page's MAX_TRX_ID and the versions of the row
//! ([`crate::row::versions::secondary_owner`]). Whoever asks for a lock on such a record, or on the gap before it, stores the
//! owner's lock first, so that there is something to queue behind. The owner itself does so too when it reads the record
//! with a lock: as in InnoDB, that lock weighs when a victim is chosen, and goes over to the gap if the record goes.
//!
//! # Latching
//! Requests are made with the record's page latched and never wait. Of [`LockOutcome::MustWait`] the caller gives all
//! latches up, calls [`wait`] and looks for the record again: it may have moved or gone meanwhile.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::row::versions;
use crate::table::{Index, Table};
use vaquita_base::codec::get_uint;
use vaquita_base::{HeapNo, TrxId};
use vaquita_btree::RecordRef;
use vaquita_btree::observer::SUPREMUM;
use vaquita_format::column::{ROLL_PTR_LEN, TRX_ID_LEN};
use vaquita_format::index_page::header::max_trx_id;
use vaquita_format::record::Offsets;
use vaquita_storage::buf::assert_no_page_latched;
use vaquita_txn::lock::{LockOutcome, RecordId, WaitPolicy};
use vaquita_txn::{LockMode, RecordLockKind, Trx, TrxState};

/// Waits for the transaction's queued request.
///
/// # Errors
/// Timeout, deadlock, interruption.
pub fn wait(core: &Core, trx: &Trx) -> Result<()> {
    wait_unless_granted(core, trx).map(drop)
}

/// As [`wait`]; whether there was a wait. A request that stood behind the victim of a deadlock alone needs none.
///
/// # Errors
/// As [`wait`].
pub fn wait_unless_granted(core: &Core, trx: &Trx) -> Result<bool> {
    Ok(core.txn.locks().wait(trx)?)
}

/// Locks a table, waiting if need be. Whoever is going to change rows asks for [`LockMode::IntentionExclusive`] here.
///
/// # Errors
/// Timeout, deadlock, no memory for locks.
pub fn lock_table(core: &Core, trx: &Trx, table: &Table, mode: LockMode) -> Result<()> {
    assert_no_page_latched("a table is locked");
    debug_assert_ne!(
        trx.state(),
        TrxState::NotStarted,
        "locks of {} that nothing would give back",
        table.name
    );
    if let Some(parts) = &table.parts {
        // One number is given at a time: the first part's lock is the table's.
        let locked = if mode == LockMode::AutoInc { &parts.tables[..1] } else { &parts.tables[..] };
        return locked.iter().try_for_each(|part| lock_table(core, trx, part, mode));
    }
    match core.txn.locks().lock_table(trx, table.id, mode, WaitPolicy::Wait)? {
        LockOutcome::MustWait => wait(core, trx)?,
        LockOutcome::Granted(_) | LockOutcome::Skipped => {}
    }
    if mode == LockMode::IntentionExclusive {
        debug_assert!(
            table.is_temporary() || core.txn.locks().is_being_changed(table.id),
            "a watch would not see changes of {}",
            table.name
        );
        table.mark.set();
    }
    Ok(())
}

/// How the lock manager knows a record.
pub fn record_id(table: &Table, index: &Index, record: &RecordRef<'_>) -> RecordId {
    RecordId { table: table.id, index: index.id, page: record.page_id, heap: record.heap_no() }
}

/// The supremum of a record's page.
pub fn supremum_id(table: &Table, index: &Index, record: &RecordRef<'_>) -> RecordId {
    RecordId { heap: SUPREMUM, ..record_id(table, index, record) }
}

/// Any record of a page, by heap number.
pub fn heap_id(table: &Table, index: &Index, record: &RecordRef<'_>, heap: HeapNo) -> RecordId {
    RecordId { heap, ..record_id(table, index, record) }
}

/// Decodes a clustered record and checks that it has the fields of its table.
///
/// # Errors
/// Damage.
pub fn parse_clustered(table: &Table, record: &RecordRef<'_>, offsets: &mut Offsets) -> Result<()> {
    let def = table.clustered().def();
    record.parse(def, offsets)?;
    let sys = def.n_uniq();
    let whole = offsets.n_fields() == def.n_fields()
        && offsets.range(sys).len() == TRX_ID_LEN
        && offsets.range(sys + 1).len() == ROLL_PTR_LEN
        && (0..sys + 2).all(|i| !offsets.is_null(i) && !offsets.is_external(i));
    if whole { Ok(()) } else { Err(bad_record(record, offsets)) }
}

/// Decodes a secondary entry and checks that it has the fields of its index.
///
/// # Errors
/// Damage.
pub fn parse_secondary(index: &Index, record: &RecordRef<'_>, offsets: &mut Offsets) -> Result<()> {
    record.parse(index.def(), offsets)?;
    let whole = offsets.n_fields() == index.def().n_fields() && !offsets.any_external();
    if whole { Ok(()) } else { Err(bad_record(record, offsets)) }
}

#[cold]
fn bad_record(record: &RecordRef<'_>, offsets: &Offsets) -> Error {
    let (page, rec, n) = (record.page_id, record.rec, offsets.n_fields());
    Error::Corrupt(format!(
        "record at byte {rec} of page {page} has {n} fields, or system fields of other sizes"
    ))
}

/// DB_TRX_ID of a clustered record.
pub fn trx_id_of(table: &Table, record: &RecordRef<'_>, offsets: &Offsets) -> TrxId {
    let at = usize::from(record.rec) + offsets.range(table.clustered().def().n_uniq()).start;
    TrxId(get_uint(record.page, at, TRX_ID_LEN))
}

/// Stores the implicit lock of the active transaction that wrote a clustered record.
fn make_clustered_explicit(
    core: &Core,
    trx: &Trx,
    table: &Table,
    record: &RecordRef<'_>,
    offsets: &Offsets,
) -> Result<()> {
    let writer = trx_id_of(table, record, offsets);
    if writer < core.txn.min_active_id() {
        return Ok(());
    }
    let id = record_id(table, table.clustered(), record);
    if writer == trx.id() {
        core.txn.locks().make_explicit(trx.shared(), id)?;
    } else if let Some(owner) = core.txn.find_active(writer) {
        core.txn.locks().make_explicit(&owner, id)?;
    }
    Ok(())
}

/// Asks for a lock on a record of the clustered index.
///
/// # Errors
/// Refusal by policy, deadlock, no memory for locks.
pub fn lock_clustered(
    core: &Core,
    trx: &Trx,
    table: &Table,
    record: &RecordRef<'_>,
    offsets: &Offsets,
    (mode, kind): (LockMode, RecordLockKind),
    policy: WaitPolicy,
) -> Result<LockOutcome> {
    make_clustered_explicit(core, trx, table, record, offsets)?;
    let id = record_id(table, table.clustered(), record);
    Ok(core.txn.locks().lock_record(trx, id, mode, kind, policy)?)
}

/// As [`lock_clustered`], without a wait: what would have to wait is queued for as long as it takes to look for a deadlock.
///
/// # Errors
/// Deadlock, no memory for locks.
pub fn try_lock_clustered(
    core: &Core,
    trx: &Trx,
    table: &Table,
    record: &RecordRef<'_>,
    offsets: &Offsets,
    (mode, kind): (LockMode, RecordLockKind),
) -> Result<LockOutcome> {
    make_clustered_explicit(core, trx, table, record, offsets)?;
    let id = record_id(table, table.clustered(), record);
    Ok(core.txn.locks().try_record(trx, id, mode, kind)?)
}

/// Asks for X on a clustered record that is about to be changed, which locks it implicitly.
///
/// # Errors
/// As [`lock_clustered`].
pub fn lock_clustered_for_change(
    core: &Core,
    trx: &Trx,
    table: &Table,
    record: &RecordRef<'_>,
    offsets: &Offsets,
) -> Result<LockOutcome> {
    make_clustered_explicit(core, trx, table, record, offsets)?;
    let id = record_id(table, table.clustered(), record);
    Ok(core.txn.locks().lock_for_change(trx, id, WaitPolicy::Wait)?)
}

/// Asks for a lock on an entry of a secondary index.
///
/// # Errors
/// Refusal by policy, deadlock, no memory for locks; errors of reading the row's versions.
///
/// # Latching
/// Latches a page of the clustered index while the entry's page is held, if the entry may be locked implicitly.
pub fn lock_secondary(
    core: &Core,
    trx: &Trx,
    (table, index): (&Table, &Index),
    record: &RecordRef<'_>,
    offsets: &Offsets,
    (mode, kind): (LockMode, RecordLockKind),
    policy: WaitPolicy,
) -> Result<LockOutcome> {
    let id = record_id(table, index, record);
    if TrxId(max_trx_id(record.page)) >= core.txn.min_active_id()
        && let Some(owner) = versions::secondary_owner(core, table, index, record, offsets)?
    {
        core.txn.locks().make_explicit(&owner, id)?;
    }
    Ok(core.txn.locks().lock_record(trx, id, mode, kind, policy)?)
}
