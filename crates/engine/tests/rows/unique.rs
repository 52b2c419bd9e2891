//! A value of a unique index that belongs at the start of a leaf: an equal one may lie on the leaf before, if the pointer to the
//! leaf is older than all of its entries.

use crate::rows::bed::{Bed, column, folder, index, int};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use vaquita_base::SystemClock;
use vaquita_btree::Cursor;
use vaquita_engine::ddl::TableSpec;
use vaquita_engine::row::lock::{parse_secondary, record_id};
use vaquita_engine::{AccessMode, Error, Result, RowKey, Session, Table, stored};
use vaquita_format::column::ColumnDef;
use vaquita_format::index_def::KeyPart;
use vaquita_format::record::Offsets;
use vaquita_testkit::engine_folder::EngineFolder;
use vaquita_txn::lock::{RecordId, WaitPolicy};
use vaquita_txn::{LockMode, RecordLockKind};

const ROWS: i32 = 3_000;

fn bed(seed: u64) -> Bed {
    let folder = folder(EngineFolder::new(seed).disk).with(|o| o.lock_wait_timeout = 600);
    let engine = folder.open_by(Arc::new(SystemClock::new())).unwrap();
    Bed { disk: folder.disk, engine }
}

fn insert(session: &mut Session, table: &Arc<Table>, a: i32, b: i32) -> Result<RowKey> {
    let (a, b) = (int(a), int(b));
    session.run(|s| s.insert(table, &[a.as_deref(), b.as_deref()]))
}

/// `a INT PRIMARY KEY, b INT UNIQUE (ub)` with rows (3, 30), (6, 60) and so on.
fn filled(bed: &Bed) -> Arc<Table> {
    let columns =
        vec![column(ColumnDef::int("a", 4, false).not_null()), column(ColumnDef::int("b", 4, false))];
    let mut spec = TableSpec::new("test/t", columns);
    spec.primary_key = Some(vec![KeyPart::whole(0)]);
    spec.indexes = vec![index("ub", &[KeyPart::whole(1)], true)];
    let table = bed.create(&spec);
    let mut session = bed.session();
    session.begin(AccessMode::ReadWrite, false).unwrap();
    (1..=ROWS).for_each(|n| drop(insert(&mut session, &table, 3 * n, 30 * n).unwrap()));
    let _durable = session.commit().unwrap();
    table
}

/// The value of `b` and the place of the first entry of the second leaf of `ub`.
fn second_leaf(bed: &Bed, table: &Table) -> (i32, RecordId) {
    let ub = &table.indexes[1];
    let mut cursor = Cursor::new(&ub.tree, &bed.engine.core().storage);
    assert!(cursor.first().unwrap());
    let first = cursor.record().unwrap().page_id;
    while cursor.record().unwrap().page_id == first {
        assert!(cursor.next().unwrap(), "there is one leaf only");
    }
    let record = cursor.record().unwrap();
    let mut offsets = Offsets::new();
    parse_secondary(ub, &record, &mut offsets).unwrap();
    let b = stored::to_signed(record.field(&offsets, 0).unwrap()) as i32;
    (b, record_id(table, ub, &record))
}

/// Takes the first row of the second leaf away for good: the pointer to the leaf keeps its value, which is given.
fn pointer_without_entry(bed: &Bed, table: &Arc<Table>) -> i32 {
    let (b, _) = second_leaf(bed, table);
    let key = RowKey::new([&int(b / 10).unwrap()[..]]);
    assert!(bed.session().run(|s| s.delete(table, &key)).unwrap());
    bed.purge_and_check(table);
    b
}

/// Two sessions insert one value that is not there. Both have looked before either inserts: a third one holds the gap.
#[test]
fn two_sessions_do_not_insert_one_value_at_the_start_of_a_leaf() {
    // The new rows' keys: both belong to the second leaf, or one of them to the end of the first.
    for (left, right) in [(100_001, 100_002), (1, 100_002)] {
        let bed = bed(1);
        let table = filled(&bed);
        let b = pointer_without_entry(&bed, &table);
        let core = bed.engine.core();
        let (_, above) = second_leaf(&bed, &table);
        let mut holder = bed.session();
        holder.begin(AccessMode::ReadWrite, false).unwrap();
        // A lock of the gap alone, as a locking read of the range leaves it.
        let mut trx = core.txn.new_trx();
        core.txn.start(&mut trx, holder.isolation(), AccessMode::ReadWrite);
        let before = RecordId { page: leaf_before(&bed, &table), heap: vaquita_base::HeapNo(1), ..above };
        for place in [above, before] {
            let (mode, kind) = (LockMode::Exclusive, RecordLockKind::Gap);
            core.txn.locks().lock_record(&trx, place, mode, kind, WaitPolicy::Wait).unwrap();
        }
        let ended = AtomicUsize::new(0);
        let done: Vec<Result<RowKey>> = std::thread::scope(|scope| {
            let threads = [left, right].map(|a| {
                let (bed, table, ended) = (&bed, &table, &ended);
                scope.spawn(move || {
                    let mut session = bed.session();
                    session.begin(AccessMode::ReadWrite, false).unwrap();
                    let done = insert(&mut session, table, a, b);
                    if done.is_ok() {
                        session.commit().unwrap().wait().unwrap();
                    } else {
                        session.rollback().unwrap();
                    }
                    ended.fetch_add(1, Ordering::SeqCst);
                    done
                })
            });
            let waiting = || core.txn.locks().snapshot().locks.iter().filter(|row| row.lock.waiting).count();
            while ended.load(Ordering::SeqCst) == 0 && waiting() < 2 {
                std::thread::yield_now();
            }
            core.txn.finish_rollback(&mut trx).unwrap();
            threads.map(|t| t.join().unwrap()).into()
        });
        assert_eq!(done.iter().filter(|d| d.is_ok()).count(), 1, "{done:?}");
        assert!(
            done.iter().any(|d| matches!(d, Err(Error::Deadlock(_) | Error::DuplicateKey { .. }))),
            "{done:?}"
        );
        let report = bed.purge_and_check(&table);
        assert_eq!(report.rows, ROWS as u64);
    }
}

/// The first leaf.
fn leaf_before(bed: &Bed, table: &Table) -> vaquita_base::PageId {
    let mut cursor = Cursor::new(&table.indexes[1].tree, &bed.engine.core().storage);
    assert!(cursor.first().unwrap());
    cursor.record().unwrap().page_id
}

fn record_locks(bed: &Bed, session: &Session) -> usize {
    let serial = session.transaction().serial();
    let snapshot = bed.engine.core().txn.locks().snapshot();
    snapshot.locks.iter().filter(|row| row.lock.serial == serial).map(|row| row.heaps.len()).sum()
}

/// The range is locked where an equal value may be, and only there: most values at the start of a leaf are above the pointer.
#[test]
fn the_start_of_a_leaf_is_locked_only_where_an_equal_value_may_be_before_it() {
    let bed = bed(2);
    let table = filled(&bed);
    let b = pointer_without_entry(&bed, &table);
    let mut session = bed.session();
    session.begin(AccessMode::ReadWrite, false).unwrap();
    let before = record_locks(&bed, &session);
    insert(&mut session, &table, 100_001, b + 1).unwrap();
    assert_eq!(record_locks(&bed, &session), before, "no lock: the pointer is below the value");
    session.rollback().unwrap();
    session.begin(AccessMode::ReadWrite, false).unwrap();
    insert(&mut session, &table, 100_001, b).unwrap();
    assert!(record_locks(&bed, &session) > before, "the end of the leaf before, and the first entry above");
    session.rollback().unwrap();
    bed.purge_and_check(&table);
}
