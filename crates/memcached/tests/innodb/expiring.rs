//! Removing expired rows in the background.

use crate::bed::{Bed, Ops};
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
