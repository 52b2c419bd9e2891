//! Searches that began before deleted documents were taken off the lists, and before others were deleted: each finds what was committed when it
//! began.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::documents;

use documents::TABLE;
use vaquita_engine::fulltext::{FullTextReader, Mode, Ranking, optimize};
use vaquita_engine::{Engine, Error, RowKey, stored};

const ROWS: i32 = 200;

/// Rows that all have `apple`, in lists.
fn filled() -> Engine {
    documents::filled((0..ROWS).map(|_| "apple".to_owned()))
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
