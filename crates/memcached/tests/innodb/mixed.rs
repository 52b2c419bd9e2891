//! `cache_policies`: where the items of each command are.

use crate::innodb::bed::{Bed, Ops};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use vaquita_engine::{Field, PlainWait, RowKey};
use vaquita_memcached::cache::Cache;
use vaquita_memcached::innodb::{MixedStore, Shelves};
use vaquita_memcached::server::ClientStore;
use vaquita_memcached::store::{Count, Counted, Expiry, Failure, Mode, Outcome, Store};

const INNODB: u8 = 1;
const MEMORY: u8 = 2;
const CACHING: u8 = 3;
const DISABLED: u8 = 4;

/// Sets the policies of get, set, delete and flush.
fn set_policies(bed: &Bed, policies: [u8; 4]) {
    let table = bed.table("innodb_memcache/cache_policies");
    let key = RowKey::new([&b"cache_policy"[..]]);
    let values = policies.map(|p| [p]);
    let changes: Vec<(usize, Field<'_>)> =
        values.iter().enumerate().map(|(i, v)| (i + 1, Some(&v[..]))).collect();
    bed.session().run(|s| s.update(&table, &key, &changes)).expect("the row is there");
    bed.tables.sweep().expect("it is read");
}

fn shelves(bed: &Bed, policies: [u8; 4]) -> Arc<Shelves> {
    set_policies(bed, policies);
    Shelves::new(bed.tables.clone(), Cache::new(8 << 20, 1 << 20))
}

fn store(shelves: &Arc<Shelves>) -> MixedStore {
    shelves.store(Arc::new(PlainWait))
}

/// UPDATE by SQL.
fn update(bed: &Bed, key: &str, value: &str) {
    let table = bed.table("test/demo_test");
    let key = RowKey::new([key.as_bytes()]);
    assert!(
        bed.session().run(|s| s.update(&table, &key, &[(1, Some(value.as_bytes()))])).expect("it is free")
    );
}

#[test]
fn in_memory_alone() {
    let bed = Bed::new();
    let shelves = shelves(&bed, [MEMORY; 4]);
    let (mut a, mut b) = (store(&shelves), store(&shelves));
    assert_eq!(a.one("AA"), None);
    a.set("k", "1");
    assert_eq!(b.value("k"), Some("1".into()));
    let up = Count { delta: 1, down: false, initial: None, expires: None, cas: 0 };
    assert!(matches!(b.count(b"k", &up), Ok(Counted::Done(2, _))));
    assert!(a.durability().is_none());
    assert_eq!(bed.rows("test/demo_test").len(), 1);
    // Mappings are apart in memory, too.
    bed.map(["other", "test", "demo_test", "c1", "c2", "0", "", "", "PRIMARY"]);
    assert_eq!(a.value("@@other.k"), None);
    a.set("k", "other");
    assert_eq!(b.value("k"), Some("2".into()));
    b.flush_all(Expiry(0)).unwrap();
    assert_eq!(b.value("k"), None);
    assert_eq!(a.value("k"), Some("other".into()));
    assert_eq!(a.delete(b"k", 0), Ok(Outcome::Done(0)));
}

#[test]
fn reads_fill_the_memory_and_changes_clear_it() {
    let bed = Bed::new();
    let shelves = shelves(&bed, [CACHING; 4]);
    let (mut a, mut b) = (store(&shelves), store(&shelves));
    assert_eq!(a.value("AA"), Some("HELLO, HELLO".into()));
    // SQL is not noticed: that is how one sees that it comes from memory.
    update(&bed, "AA", "sql");
    assert_eq!(b.value("AA"), Some("HELLO, HELLO".into()));
    let cas = b.set("AA", "new");
    assert_eq!(a.one("AA"), Some((0, cas, b"new".to_vec())));
    update(&bed, "AA", "sql");
    assert_eq!(a.one("AA"), Some((0, cas, b"new".to_vec())));
    assert!(matches!(a.keep(Mode::Append, "AA", "+"), Ok(Outcome::Done(_))));
    assert_eq!(b.value("AA"), Some("sql+".into()));
    assert_eq!(b.delete(b"AA", 0), Ok(Outcome::Done(0)));
    assert_eq!(a.value("AA"), None);
    a.set("x", "1");
    a.value("x");
    b.flush_all(Expiry(0)).unwrap();
    assert_eq!(a.value("x"), None);
    assert_eq!(bed.rows("test/demo_test").len(), 0);
}

#[test]
fn what_is_emptied_later_is_forgotten_too() {
    let bed = Bed::new();
    let shelves = shelves(&bed, [CACHING; 4]);
    let mut store = store(&shelves);
    store.flush_all(Expiry(1_000_005)).unwrap();
    bed.now.store(1_000_006, Relaxed);
    // Its moment has come, and the rows are there still: what is read goes to memory.
    assert_eq!(store.value("AA"), Some("HELLO, HELLO".into()));
    bed.tables.sweep().unwrap();
    assert_eq!(store.value("AA"), None);
}

#[test]
fn memory_forgets_when_a_batch_is_committed() {
    let bed = Bed::new();
    bed.settings.w_batch_size.store(2, Relaxed);
    let shelves = shelves(&bed, [CACHING; 4]);
    let (mut a, mut b) = (store(&shelves), store(&shelves));
    a.set("k", "1");
    // Level 0 would read it, but memory holds what is committed.
    assert_eq!(b.value("k"), None);
    a.set("l", "1");
    assert_eq!(b.value("k"), Some("1".into()));
    a.set("k", "2");
    assert_eq!(b.value("k"), Some("1".into()));
    a.finish().unwrap();
    assert_eq!(b.value("k"), Some("2".into()));
}

#[test]
fn refused_commands() {
    let bed = Bed::new();
    let shelves = shelves(&bed, [DISABLED; 4]);
    let mut store = store(&shelves);
    let refused = |command: &str| {
        Failure::NotSupported(format!("{command} is disabled in innodb_memcache.cache_policies"))
    };
    assert_eq!(store.all(&["AA"]), Err(refused("get")));
    assert_eq!(store.keep(Mode::Set, "AA", "1"), Err(refused("set")));
    assert_eq!(store.delete(b"AA", 0), Err(refused("delete")));
    assert_eq!(store.touch(b"AA", Expiry(0)), Err(refused("touch")));
    assert_eq!(store.flush_all(Expiry(0)), Err(refused("flush_all")));
    // Changed while it runs.
    set_policies(&bed, [INNODB, DISABLED, INNODB, DISABLED]);
    assert_eq!(store.value("AA"), Some("HELLO, HELLO".into()));
    assert_eq!(store.delete(b"AA", 0), Ok(Outcome::Done(0)));
}

/// What a client was told to be overwritten is not shown to anybody.
#[test]
fn nothing_old_is_shown() {
    let bed = Bed::new();
    bed.settings.lock_wait_timeout.store(50, Relaxed);
    let shelves = shelves(&bed, [CACHING; 4]);
    let told = std::sync::atomic::AtomicU64::new(0);
    store(&shelves).set("n", "0");
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut store = store(&shelves);
            for n in 1..=1_500_u64 {
                store.set("n", &n.to_string());
                told.store(n, std::sync::atomic::Ordering::SeqCst);
            }
        });
        for _ in 0..3 {
            scope.spawn(|| {
                let mut store = store(&shelves);
                loop {
                    let least = told.load(std::sync::atomic::Ordering::SeqCst);
                    let seen: u64 = store.value("n").unwrap().parse().unwrap();
                    assert!(seen >= least, "{seen} after {least}");
                    if least == 1_500 {
                        break;
                    }
                }
            });
        }
        writer.join().unwrap();
    });
}
