//! Which locks changes of rows leave, as MySQL 5.6.24 shows them (`innodb_status_output_locks`) for the same statements:
//! at REPEATABLE READ and READ COMMITTED alike, unless a test says otherwise.

use crate::rows::bed::{Bed, column, index, int};
use std::sync::Arc;
use vaquita_engine::ddl::{ForeignKeySpec, TableSpec};
use vaquita_engine::row::{self, WriteOptions};
use vaquita_engine::table::ReferentialAction;
use vaquita_engine::{AccessMode, Error, Isolation, RowKey, Session, Table};
use vaquita_format::column::ColumnDef;
use vaquita_format::index_def::KeyPart;
use vaquita_txn::lock::LockTarget;

const LEVELS: [Isolation; 2] = [Isolation::RepeatableRead, Isolation::ReadCommitted];

/// Record locks of a session, as `index mode kind heap numbers`.
fn locks(bed: &Bed, session: &Session) -> Vec<String> {
    locks_of(bed, session.transaction().serial())
}

fn locks_of(bed: &Bed, serial: u64) -> Vec<String> {
    let core = bed.engine.core();
    let mut out: Vec<String> = Vec::new();
    for row in core.txn.locks().snapshot().locks.iter().filter(|row| row.lock.serial == serial) {
        let LockTarget::Record { table, index, kind, .. } = row.lock.target else { continue };
        let table = core.table_by_id(table).unwrap().unwrap();
        let index = table.indexes.iter().find(|i| i.id == index).unwrap();
        let heaps: Vec<String> = row.heaps.iter().map(|h| h.0.to_string()).collect();
        out.push(format!("{} {:?} {kind:?} {}", index.name, row.lock.mode, heaps.join(",")));
    }
    out.sort();
    out
}

/// `a INT PRIMARY KEY, b INT UNIQUE (ub)` with (1, 10), (5, 50), (9, 90): heap numbers 2, 3, 4.
fn unique_table(bed: &Bed) -> Arc<Table> {
    let mut spec = TableSpec::new(
        "test/t",
        vec![column(ColumnDef::int("a", 4, false).not_null()), column(ColumnDef::int("b", 4, false))],
    );
    spec.primary_key = Some(vec![KeyPart::whole(0)]);
    spec.indexes = vec![index("ub", &[KeyPart::whole(1)], true)];
    let table = bed.create(&spec);
    let mut session = bed.session();
    for (a, b) in [(1, 10), (5, 50), (9, 90)] {
        insert(&mut session, &table, a, b).unwrap();
    }
    table
}

fn insert(session: &mut Session, table: &Arc<Table>, a: i32, b: i32) -> vaquita_engine::Result<RowKey> {
    let (a, b) = (int(a), int(b));
    session.run(|s| s.insert(table, &[a.as_deref(), b.as_deref()]))
}

fn key(a: i32) -> RowKey {
    RowKey::new([&int(a).unwrap()[..]])
}

fn begin(bed: &Bed, level: Isolation) -> Session {
    let mut session = bed.session();
    session.settings.isolation = level;
    session.begin(AccessMode::ReadWrite, false).unwrap();
    session
}

#[test]
fn a_duplicate_of_the_primary_key_is_locked_without_its_gap() {
    for level in LEVELS {
        let bed = Bed::new(1);
        let table = unique_table(&bed);
        let mut session = begin(&bed, level);
        let refused = insert(&mut session, &table, 5, 1).unwrap_err();
        assert_eq!(refused.to_string(), "duplicate entry '5' for key 'PRIMARY' of table test/t");
        assert_eq!(locks(&bed, &session), ["PRIMARY Shared Record 3"]);
    }
}

#[test]
fn a_duplicate_of_a_unique_index_is_locked_with_its_gap() {
    for level in LEVELS {
        let bed = Bed::new(1);
        let table = unique_table(&bed);
        let mut session = begin(&bed, level);
        let refused = insert(&mut session, &table, 6, 50).unwrap_err();
        assert_eq!(refused.to_string(), "duplicate entry '50' for key 'ub' of table test/t");
        assert_eq!(locks(&bed, &session), ["ub Shared NextKey 3"]);
    }
}

/// The entry that was deleted, the one above, and the gap before the new entry, which it inherits.
#[test]
fn a_deleted_duplicate_and_the_entry_above_are_locked() {
    let bed = Bed::new(1);
    let table = unique_table(&bed);
    bed.session().run(|s| s.delete(&table, &key(5))).unwrap();
    let mut session = begin(&bed, Isolation::RepeatableRead);
    insert(&mut session, &table, 6, 50).unwrap();
    assert_eq!(locks(&bed, &session), ["ub Shared Gap 5", "ub Shared NextKey 3,4"]);
}

/// The X lock on the row brought back is implicit.
#[test]
fn a_deleted_row_comes_back() {
    for level in LEVELS {
        let bed = Bed::new(1);
        let table = unique_table(&bed);
        bed.session().run(|s| s.delete(&table, &key(5))).unwrap();
        let mut session = begin(&bed, level);
        insert(&mut session, &table, 5, 50).unwrap();
        assert_eq!(locks(&bed, &session), ["PRIMARY Shared Record 3", "ub Shared NextKey 3,4"]);
    }
}

#[test]
fn who_meets_a_new_row_makes_its_lock_explicit_and_waits() {
    for level in LEVELS {
        let bed = Bed::new(1);
        let table = unique_table(&bed);
        let mut first = begin(&bed, level);
        insert(&mut first, &table, 6, 60).unwrap();
        assert_eq!(locks(&bed, &first), [""; 0]);
        let mut second = begin(&bed, level);
        assert!(matches!(insert(&mut second, &table, 6, 61), Err(Error::LockWaitTimeout)));
        assert_eq!(locks(&bed, &first), ["PRIMARY Exclusive Record 5"]);
        assert!(matches!(insert(&mut second, &table, 7, 60), Err(Error::LockWaitTimeout)));
        assert_eq!(locks(&bed, &first), ["PRIMARY Exclusive Record 5", "ub Exclusive Record 5"]);
        first.rollback().unwrap();
        insert(&mut second, &table, 7, 60).unwrap();
    }
}

#[test]
fn updates_and_deletes_lock_the_row() {
    for level in LEVELS {
        let bed = Bed::new(1);
        let table = unique_table(&bed);
        let mut session = begin(&bed, level);
        let b = int(55);
        session.run(|s| s.update(&table, &key(5), &[(1, b.as_deref())])).unwrap();
        assert_eq!(locks(&bed, &session), ["PRIMARY Exclusive Record 3"]);
        session.rollback().unwrap();
        let mut session = begin(&bed, level);
        session.run(|s| s.delete(&table, &key(5))).unwrap();
        assert_eq!(locks(&bed, &session), ["PRIMARY Exclusive Record 3"]);
    }
}

/// Parent `p (a INT PRIMARY KEY)`, child `t (a INT PRIMARY KEY, b INT, KEY kb (b))`.
fn family(
    bed: &Bed,
    on_delete: ReferentialAction,
    parents: &[i32],
    children: &[i32],
) -> (Arc<Table>, Arc<Table>) {
    let mut parent = TableSpec::new("test/p", vec![column(ColumnDef::int("a", 4, false).not_null())]);
    parent.primary_key = Some(vec![KeyPart::whole(0)]);
    let parent = bed.create(&parent).name.clone();
    let mut child = TableSpec::new(
        "test/t",
        vec![column(ColumnDef::int("a", 4, false).not_null()), column(ColumnDef::int("b", 4, false))],
    );
    child.primary_key = Some(vec![KeyPart::whole(0)]);
    child.indexes = vec![index("kb", &[KeyPart::whole(1)], false)];
    child.foreign_keys = vec![ForeignKeySpec {
        name: None,
        columns: vec!["b".into()],
        parent: "test/p".into(),
        parent_columns: vec!["a".into()],
        on_delete,
        on_update: ReferentialAction::Restrict,
    }];
    let child = bed.create(&child);
    let parent = bed.table(&parent);
    let mut session = bed.session();
    for &a in parents {
        session.run(|s| s.insert(&parent, &[int(a).as_deref()])).unwrap();
    }
    for &a in children {
        insert(&mut session, &child, a, a).unwrap();
    }
    (parent, child)
}

#[test]
fn a_child_locks_its_parent_or_the_gap_where_it_would_be() {
    for level in LEVELS {
        let bed = Bed::new(1);
        let (_, child) = family(&bed, ReferentialAction::Restrict, &[1, 5, 9], &[]);
        let mut session = begin(&bed, level);
        insert(&mut session, &child, 1, 5).unwrap();
        assert_eq!(locks(&bed, &session), ["PRIMARY Shared Record 3"]);
        session.rollback().unwrap();
        let mut session = begin(&bed, level);
        let refused = insert(&mut session, &child, 1, 6).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "cannot add or update a row of test/t: foreign key test/t_ibfk_1 finds no row with '6'"
        );
        assert_eq!(locks(&bed, &session), ["PRIMARY Shared Gap 4"]);
    }
}

#[test]
fn a_parent_locks_its_child_or_the_gap_where_it_would_be() {
    for level in LEVELS {
        let bed = Bed::new(1);
        let (parent, _) = family(&bed, ReferentialAction::Restrict, &[1, 5, 9], &[1, 9]);
        let mut session = begin(&bed, level);
        session.run(|s| s.delete(&parent, &key(5))).unwrap();
        assert_eq!(locks(&bed, &session), ["PRIMARY Exclusive Record 3", "kb Shared Gap 3"]);
        session.rollback().unwrap();
        let mut session = begin(&bed, level);
        let refused = session.run(|s| s.delete(&parent, &key(9))).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "cannot delete or update a row of test/p: foreign key test/t_ibfk_1 has rows with '9'"
        );
        assert_eq!(locks(&bed, &session), ["PRIMARY Exclusive Record 4", "kb Shared Record 3"]);
    }
}

#[test]
fn an_empty_child_table_is_locked_at_its_end() {
    let bed = Bed::new(1);
    let (parent, child) = family(&bed, ReferentialAction::Restrict, &[5], &[]);
    let mut session = begin(&bed, Isolation::ReadCommitted);
    session.run(|s| s.delete(&parent, &key(5))).unwrap();
    assert_eq!(locks(&bed, &session), ["PRIMARY Exclusive Record 2", "kb Shared NextKey 1"]);
    let mut other = begin(&bed, Isolation::ReadCommitted);
    assert!(matches!(insert(&mut other, &child, 1, 5), Err(Error::LockWaitTimeout)));
}

#[test]
fn a_cascade_locks_the_children_and_the_gap_behind_them() {
    for level in LEVELS {
        let bed = Bed::new(1);
        let (parent, child) = family(&bed, ReferentialAction::Cascade, &[1, 5, 9], &[1, 5, 9]);
        let mut session = begin(&bed, level);
        session.run(|s| s.delete(&parent, &key(5))).unwrap();
        assert_eq!(bed.rows(&child).len(), 2);
        assert_eq!(
            locks(&bed, &session),
            [
                "PRIMARY Exclusive Record 3",
                "PRIMARY Exclusive Record 3",
                "kb Shared Gap 4",
                "kb Shared Record 3"
            ]
        );
    }
}

/// What REPLACE and ON DUPLICATE KEY UPDATE ask for: X locks on duplicates.
#[test]
fn duplicates_to_be_replaced_are_locked_exclusively() {
    let how = WriteOptions { exclusive_duplicates: true, ..WriteOptions::default() };
    for (row, expected) in [((5, 51), "PRIMARY Exclusive Record 3"), ((6, 50), "ub Exclusive NextKey 3")] {
        let bed = Bed::new(1);
        let table = unique_table(&bed);
        let core = bed.engine.core();
        let mut trx = core.txn.new_trx();
        core.txn.start(&mut trx, Isolation::RepeatableRead, AccessMode::ReadWrite);
        let (a, b) = (int(row.0), int(row.1));
        let refused = row::insert(core, &mut trx, &table, &[a.as_deref(), b.as_deref()], how);
        assert!(matches!(refused, Err(Error::DuplicateKey { .. })), "{refused:?}");
        assert_eq!(locks_of(&bed, trx.shared().serial()), [expected]);
        row::rollback_to(core, &mut trx, 0).unwrap();
        core.txn.finish_rollback(&mut trx).unwrap();
        bed.purge_and_check(&table);
    }
}
