//! Searches that began before deleted documents were taken off the lists, and before others were deleted: each finds what was committed when it
//! began.
#![allow(clippy::unwrap_used, reason = "a test")]

mod small;

use small::open;
use vaquita_engine::fulltext::{FullTextReader, Mode, Ranking, flush, optimize};
use vaquita_engine::{Column, Engine, Error, FullTextSpec, RowKey, TableSpec, stored};
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_format::index_def::KeyPart;
use vaquita_io::sim::SimDisk;

const TABLE: &str = "a/t";
const ROWS: i32 = 200;

/// Rows that all have `apple`, in lists.
fn filled() -> Engine {
    let disk = SimDisk::new(5);
    disk.put_dir("/db/a".as_ref());
    let engine = open(&disk).unwrap();
    let columns = vec![
        Column::new(ColumnDef::int("id", 4, false).not_null()),
        Column::new(ColumnDef::varchar("a", 200, Charset::UTF8)),
    ];
    let fulltext = FullTextSpec { name: "k".into(), columns: vec![1], parser: None, split: None };
    let spec = TableSpec {
        primary_key: Some(vec![KeyPart::whole(0)]),
        fulltext: vec![fulltext],
        ..TableSpec::new(TABLE, columns)
    };
    let mut session = engine.session();
    session.create_table(&spec).unwrap();
    session
        .run(|s| {
            let table = s.table(TABLE)?;
            for id in 0..ROWS {
                s.insert(&table, &[Some(&stored::int(id)), Some(b"apple"), None])?;
            }
            Ok::<_, Error>(())
        })
        .unwrap();
    flush(engine.core(), &engine.core().table(TABLE).unwrap()).unwrap();
    engine
}

fn delete(engine: &Engine, ids: std::ops::Range<i32>) {
    let mut session = engine.session();
    session
        .run(|s| {
            let table = s.table(TABLE)?;
            for id in ids {
                assert!(s.delete(&table, &RowKey::new([&stored::int(id)[..]]))?);
            }
            Ok::<_, Error>(())
        })
        .unwrap();
}

/// A search that has begun, and what it finds, which is asked for later.
fn begin(engine: &Engine) -> FullTextReader<'_> {
    let table = engine.core().table(TABLE).unwrap();
    FullTextReader::open(engine.core(), &table, &table.fulltext[0]).unwrap()
}

fn found(reader: &FullTextReader<'_>) -> usize {
    let query = b"apple";
    let all = reader.search(Mode::Natural, &Ranking::Innodb, query).unwrap();
    let best = reader.search_best(Mode::Natural, &Ranking::Innodb, query, 1000).unwrap().unwrap();
    assert_eq!(best, all, "all ranks are equal");
    all.len()
}

#[test]
fn each_finds_what_was_there_when_it_began() {
    // Whether what the lists have is kept from a search before.
    for kept in [false, true] {
        let engine = filled();
        let table = engine.core().table(TABLE).unwrap();
        if kept {
            assert_eq!(found(&begin(&engine)), 200);
        }
        let first = begin(&engine);
        delete(&engine, 0..30);
        let second = begin(&engine);
        delete(&engine, 30..50);
        let third = begin(&engine);
        if kept {
            assert_eq!(found(&begin(&engine)), 150);
        }
        assert!(optimize(engine.core(), &table, u64::MAX).unwrap());
        let fourth = begin(&engine);
        delete(&engine, 50..55);
        assert!(optimize(engine.core(), &table, u64::MAX).unwrap());
        let searches = [&first, &second, &third, &fourth, &begin(&engine)];
        assert_eq!(searches.map(found), [200, 170, 150, 150, 145], "kept: {kept}");
    }
}
