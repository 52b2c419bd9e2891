//! Uniqueness of secondary indexes.
//!
//! Run when an entry with equal unique fields has been seen, or may be on the leaf before. All such entries are locked, record
//! and gap, S or (for REPLACE and the like) X, and with them the first entry above, also if there is none any more, at every
//! isolation level: so nobody can bring an equal one in until the transaction ends. The scan ends at the first live equal entry, which is the duplicate. (Observed:
//! MySQL 5.6.24, `innodb_status_output_locks`.)

use crate::core::Core;
use crate::error::{Error, Result};
use crate::row::cluster_insert::duplicate_mode;
use crate::row::entry::key_text;
use crate::row::lock::lock_secondary;
use crate::row::scan::{At, Next, Scan};
use crate::row::secondary::Of;
use vaquita_format::tuple::TupleField;
use vaquita_txn::lock::{LockOutcome, WaitPolicy};
use vaquita_txn::{RecordLockKind, Trx};

/// Checks that no live entry has the unique fields of `fields`, and locks the range. `false` if a lock was queued: when the wait
/// is over, whether there is anything to check is to be looked at again.
///
/// # Errors
/// Duplicate key, lock waits.
pub(crate) fn check(
    core: &Core,
    trx: &Trx,
    of: Of<'_>,
    fields: &[TupleField<'_>],
    exclusive: bool,
) -> Result<bool> {
    let (table, index) = of;
    let n_uniq = index.def().n_uniq();
    debug_assert!(index.is_unique(), "index {} may have equal entries", index.name);
    debug_assert!(fields[..n_uniq].iter().all(|f| f.data.is_some()), "NULLs are equal to nothing");
    let mode = duplicate_mode(exclusive);
    let scan = Scan { core, trx, of, key: &fields[..n_uniq], after: None };
    scan.run_once(|at, is_equal| {
        let At::Record(record, offsets) = at else {
            // An equal entry may come in here, or on the next page.
            return Ok(Next::Lock(mode, RecordLockKind::NextKey));
        };
        let what = (mode, RecordLockKind::NextKey);
        if lock_secondary(core, trx, of, record, offsets, what, WaitPolicy::Wait)? == LockOutcome::MustWait {
            return Ok(Next::Wait);
        }
        if !is_equal {
            return Ok(Next::Stop);
        }
        if record.is_deleted() {
            return Ok(Next::Go);
        }
        Err(Error::DuplicateKey {
            table: table.name.clone(),
            index: index.name.clone(),
            value: key_text(table, index, fields),
        })
    })
}
