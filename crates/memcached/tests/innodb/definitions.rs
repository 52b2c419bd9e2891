//! Tables whose definition changes while they are mapped.

use crate::innodb::bed::{Bed, Ops, spec};
use std::sync::atomic::Ordering::Relaxed;
use vaquita_engine::{Error, stored};
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_memcached::store::{Failure, Mode, Store};

/// As it is, but the value is a number.
fn other_demo() -> vaquita_engine::TableSpec {
    let columns = vec![
        ColumnDef::varchar("c1", 32, Charset::LATIN1).not_null(),
        ColumnDef::int("c5", 4, false),
        ColumnDef::int("c3", 4, false),
        ColumnDef::int("c2", 4, false),
        ColumnDef::int("c4", 8, true),
    ];
    spec("test/demo_test", columns, &[0])
}

#[test]
fn without_kept_locks_a_table_may_change_at_any_time() {
    let bed = Bed::new();
    let (mut store, mut sql) = (bed.store(), bed.session());
    sql.settings.metadata_lock_timeout = 0;
    store.set("k", "v");
    sql.truncate_table("test/demo_test").unwrap();
    assert_eq!(store.one("k"), None);
    store.set("k", "v");
    sql.drop_table("test/demo_test").unwrap();
    let gone = Err(Failure::Server("table test/demo_test does not exist".into()));
    assert_eq!(store.all(&["k"]), gone);
    assert!(store.keep(Mode::Set, "k", "v").is_err());
    sql.create_table(&other_demo()).unwrap();
    store.set("k", "17");
    assert_eq!(store.value("k"), Some("17".into()));
    assert_eq!(bed.rows("test/demo_test")[0][3], Some(stored::int(17).to_vec()));
    assert!(matches!(store.keep(Mode::Set, "k", "text"), Err(Failure::Client(_))));
}

#[test]
fn an_open_transaction_keeps_the_definition() {
    let bed = Bed::new();
    bed.settings.w_batch_size.store(10, Relaxed);
    let (mut store, mut sql) = (bed.store(), bed.session());
    sql.settings.metadata_lock_timeout = 0;
    store.set("k", "v");
    assert!(matches!(sql.drop_table("test/demo_test"), Err(Error::MetadataLockTimeout(_))));
    store.commit().unwrap();
    sql.drop_table("test/demo_test").unwrap();
}

#[test]
fn kept_locks_keep_definitions_until_the_mapping_goes() {
    let bed = Bed::new();
    bed.settings.enable_mdl.store(true, Relaxed);
    let (mut store, mut sql) = (bed.store(), bed.session());
    sql.settings.metadata_lock_timeout = 0;
    // Not used yet.
    sql.truncate_table("test/demo_test").unwrap();
    store.set("k", "v");
    let refused =
        |done: vaquita_engine::Result<()>| assert!(matches!(done, Err(Error::MetadataLockTimeout(_))));
    refused(sql.truncate_table("test/demo_test"));
    refused(sql.drop_table("test/demo_test"));
    assert_eq!(store.value("k"), Some("v".into()));
    // Rows are still everybody's.
    let table = bed.table("test/demo_test");
    sql.run(|s| s.delete(&table, &vaquita_engine::RowKey::new([&b"k"[..]]))).unwrap();
    assert_eq!(store.one("k"), None);
    store.set("k", "v");
    // Turned off while it runs: the next operation gives it back.
    bed.settings.enable_mdl.store(false, Relaxed);
    store.value("k");
    sql.truncate_table("test/demo_test").unwrap();
    bed.settings.enable_mdl.store(true, Relaxed);
    store.set("k", "v");
    refused(sql.truncate_table("test/demo_test"));
    drop(store);
    sql.truncate_table("test/demo_test").unwrap();
}

#[test]
fn a_definition_being_changed_is_waited_for() {
    let bed = Bed::new();
    let (mut store, mut sql) = (bed.store(), bed.session());
    store.set("k", "v");
    sql.lock_table_name("test/demo_test", vaquita_engine::MdlMode::Exclusive).unwrap();
    assert!(matches!(store.all(&["k"]), Err(Failure::Busy(_))));
    assert!(matches!(store.keep(Mode::Set, "k", "w"), Err(Failure::Busy(_))));
    bed.settings.lock_wait_timeout.store(50, Relaxed);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let value = store.value("k");
            (value, store)
        });
        sql.unlock_tables();
        let (value, mut store) = waiting.join().unwrap();
        assert_eq!(value, Some("v".into()));
        assert_eq!(store.delete(b"k", 0).map(|_| ()), Ok(()));
    });
}

/// Whatever happens to the table meanwhile, an operation works, or says that the table is not there or in use.
#[test]
fn definitions_change_under_load() {
    let bed = Bed::new();
    bed.settings.lock_wait_timeout.store(50, Relaxed);
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for n in 0..3 {
            let (bed, done) = (&bed, &done);
            scope.spawn(move || {
                let mut store = bed.store();
                let mut worked = 0;
                while !done.load(Relaxed) || worked == 0 {
                    let key = format!("k{}", worked % 7);
                    let outcome = match n {
                        0 => store.all(&[&key, "k1"]).map(drop),
                        1 => store.keep(Mode::Set, &key, "17").map(drop),
                        _ => store.delete(key.as_bytes(), 0).map(drop),
                    };
                    match outcome {
                        Ok(()) => worked += 1,
                        Err(Failure::Busy(_)) => {}
                        Err(Failure::Server(text)) => assert_eq!(text, "table test/demo_test does not exist"),
                        Err(other) => panic!("{other:?}"),
                    }
                }
            });
        }
        let mut sql = bed.session();
        for round in 0..12 {
            sql.truncate_table("test/demo_test").unwrap();
            sql.drop_table("test/demo_test").unwrap();
            sql.create_table(&other_demo()).unwrap();
            if round % 3 == 0 {
                sql.rename_table("test/demo_test", "test/away").unwrap();
                sql.rename_table("test/away", "test/demo_test").unwrap();
            }
        }
        done.store(true, Relaxed);
    });
    let mut store = bed.store();
    store.set("k", "1");
    assert_eq!(store.value("k"), Some("1".into()));
}

/// Whoever changes the configuration's tables themselves makes nobody wait: what they said counts until that is over.
#[test]
fn a_configuration_that_is_locked_says_what_it_said() {
    let bed = Bed::new();
    let (mut store, mut sql) = (bed.store(), bed.session());
    store.set("k", "v");
    bed.map(["second", "test", "demo_test", "c1", "c2", "c3", "c4", "c5", "PRIMARY"]);
    sql.lock_table_name("innodb_memcache/containers", vaquita_engine::MdlMode::Exclusive).unwrap();
    bed.tables.sweep().unwrap();
    assert_eq!(store.value("k"), Some("v".into()));
    store.bind(b"default").unwrap();
    assert_eq!(crate::innodb::bed::mistake(store.bind(b"second")), "there is no mapping second");
    sql.unlock_tables();
    store.bind(b"second").unwrap();
    assert_eq!(store.value("k"), Some("v".into()));
}

/// The first get after a change of the definition shows what is there, be it of one key or of several.
#[test]
fn nothing_is_missed_when_a_definition_has_changed() {
    let bed = Bed::new();
    let (mut store, mut sql) = (bed.store(), bed.session());
    store.set("a", "1");
    store.set("b", "2");
    for keys in [&["a"][..], &["a", "b"], &["none", "b"]] {
        let wanted = store.all(keys);
        sql.add_indexes("test/demo_test", &[crate::innodb::bed::index("more", &[1], false)]).unwrap();
        assert_eq!(store.all(keys), wanted, "{keys:?}");
        sql.drop_index("test/demo_test", "more").unwrap();
        assert_eq!(store.all(keys), wanted, "{keys:?}");
    }
}
