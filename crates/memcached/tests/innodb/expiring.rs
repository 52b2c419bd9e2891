//! Removing expired rows in the background.

use crate::innodb::bed::{Bed, Ops};
use std::sync::atomic::Ordering::Relaxed;
use vaquita_engine::{AccessMode, RowKey, stored};
use vaquita_memcached::store::{Expiry, Store};

const NOW: u32 = 1_000_000;

#[test]
fn expired_rows_go_and_others_stay() {
    let bed = Bed::new();
    let mut store = bed.store();
    for n in 0..50 {
        store.set_until(&format!("k{n}"), "v", NOW + 10 * (n % 2));
    }
    assert_eq!(bed.rows("test/demo_test").len(), 51);
    bed.now.store(NOW + 1, Relaxed);
    bed.tables.sweep().unwrap();
    assert_eq!(bed.rows("test/demo_test").len(), 26);
    bed.now.store(NOW + 11, Relaxed);
    bed.tables.sweep().unwrap();
    assert_eq!(bed.rows("test/demo_test").len(), 1);
    let mut lines = Vec::new();
    assert!(store.stats(b"", &mut |name, value| lines.push(format!("{name} {value}"))));
    assert!(lines.contains(&"crawler_reclaimed 50".to_owned()), "{lines:?}");
}

#[test]
fn it_goes_on_where_it_was() {
    let bed = Bed::new();
    let mut store = bed.store();
    for n in 0..2_500 {
        store.set_until(&format!("k{n}"), "v", NOW);
    }
    let mut left = Vec::new();
    for _ in 0..4 {
        bed.tables.sweep().unwrap();
        left.push(bed.rows("test/demo_test").len());
    }
    // A thousand at a time.
    assert_eq!(left, [1_501, 501, 1, 1]);
}

#[test]
fn rows_that_are_locked_or_live_again_are_left() {
    let bed = Bed::new();
    let (mut store, mut sql) = (bed.store(), bed.session());
    store.set_until("a", "v", NOW);
    store.set_until("b", "v", NOW);
    store.set_until("c", "v", NOW);
    let table = bed.table("test/demo_test");
    sql.begin(AccessMode::ReadWrite, false).unwrap();
    // Not committed: the collector sees the old end, and must not delete the row.
    sql.run(|s| s.update(&table, &RowKey::new([&b"b"[..]]), &[(4, Some(&stored::int(0)))])).unwrap();
    bed.tables.sweep().unwrap();
    drop(sql.commit().unwrap());
    assert_eq!(
        store.all(&["a", "b", "c"]).map(|all| all.iter().map(|a| a.0).collect::<Vec<_>>()),
        Ok(vec![1])
    );
    assert_eq!(bed.rows("test/demo_test").len(), 2);
    assert!(store.touch(b"b", Expiry(NOW + 5)).is_ok());
}

/// Rows that the engine has shown to anybody.
fn rows_read(bed: &Bed) -> u64 {
    let metrics = bed.engine.core().metrics();
    metrics.iter().find(|(name, _)| *name == "dml_reads").map(|(_, n)| *n).expect("there is such a counter")
}

/// Neither tables without ends nor those whose ends are to come are looked through for nothing, nor is the configuration.
#[test]
fn nothing_is_read_while_nothing_happens() {
    let bed = Bed::new();
    let (mut store, mut sql) = (bed.store(), bed.session());
    let reads = |sweeps: usize| {
        let before = rows_read(&bed);
        (0..sweeps).for_each(|_| bed.tables.sweep().unwrap());
        rows_read(&bed) - before
    };
    store.set("for ever", "v");
    store.set_until("later", "v", NOW + 10);
    assert!(reads(1) > 0);
    assert_eq!(reads(5), 0, "nobody has changed anything");
    store.value("later");
    assert_eq!(reads(1), 0, "reading changes nothing");
    store.set_until("sooner", "v", NOW + 5);
    assert!(reads(1) > 0);
    assert_eq!(reads(5), 0);
    bed.now.store(NOW + 5, Relaxed);
    assert!(reads(1) > 0, "an end has come");
    assert_eq!(bed.rows("test/demo_test").len(), 3);
    // What was deleted is a change as others are.
    reads(1);
    assert_eq!(reads(5), 0);
    // Rows that are locked are looked at until they are not.
    let table = bed.table("test/demo_test");
    let key = RowKey::new([&b"later"[..]]);
    sql.begin(AccessMode::ReadWrite, false).unwrap();
    sql.run(|s| s.update(&table, &key, &[(2, Some(&stored::int(7)))])).unwrap();
    bed.now.store(NOW + 10, Relaxed);
    reads(3);
    assert_eq!(bed.rows("test/demo_test").len(), 3);
    drop(sql.commit().unwrap());
    reads(2);
    assert_eq!(bed.rows("test/demo_test").len(), 2);
    reads(1);
    assert_eq!(reads(5), 0);
}

/// A table that always changes does not keep the others from their turn.
#[test]
fn every_table_has_its_turn() {
    let bed = Bed::new();
    let mut session = bed.session();
    for name in ["b", "c"] {
        let columns = vec![
            crate::innodb::bed::text("c1", 32).not_null(),
            crate::innodb::bed::text("c2", 32),
            vaquita_format::column::ColumnDef::int("c5", 4, false),
        ];
        let name_in_schema = format!("test/{name}");
        session.create_table(&crate::innodb::bed::spec(&name_in_schema, columns, &[0])).unwrap();
        bed.map([name, "test", name, "c1", "c2", "0", "", "c5", "PRIMARY"]);
    }
    bed.tables.sweep().unwrap();
    let mut store = bed.store();
    store.set_until("@@c.k", "v", NOW + 1);
    bed.now.store(NOW + 1, Relaxed);
    for n in 0..9 {
        store.set(&format!("@@b.{n}"), "v");
        store.set(&format!("@@default.{n}"), "v");
        bed.tables.sweep().unwrap();
    }
    assert_eq!(bed.rows("test/c").len(), 0);
}
