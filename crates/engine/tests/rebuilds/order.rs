//! Rows that come in the order of the new key are loaded as they are read; where the order ends, all is begun again, and they are sorted.

use crate::rebuilds::{Bed, ROWS, TABLE, index, insert_own, options, spec, update};
use std::sync::Arc;
use vaquita_base::ManualClock;
use vaquita_engine::{Concurrency, ConvertRow, Engine, Error, Field, KeptKeys, Options, Result, stored};
use vaquita_format::index_def::KeyPart;
use vaquita_io::sim::SimDisk;

/// Counts the rows, and how often they came again. Something happens at one of them.
#[derive(Default)]
struct Counted {
    rows: u32,
    again: u32,
    at: u32,
    event: Option<crate::rebuilds::Event>,
}

impl ConvertRow<Error> for Counted {
    fn convert(&mut self, row: &[Field<'_>], with: &mut dyn FnMut(&[Field<'_>]) -> Result<()>) -> Result<()> {
        self.rows += 1;
        if self.rows == self.at {
            self.event.take().into_iter().for_each(|event| event());
        }
        with(row)
    }

    fn begin_again(&mut self) {
        self.again += 1;
    }
}

fn bed(threads: usize, own: impl Fn(i32) -> i64) -> Bed {
    let disk = SimDisk::new(5);
    disk.put_dir("/db".as_ref());
    let options = Options { build_threads: threads, ..options() };
    let engine = Engine::open_with(Arc::new(disk.clone()), Arc::new(ManualClock::new()), options).unwrap();
    let bed = Bed { disk, engine: Arc::new(engine) };
    let mut session = bed.engine.session();
    session.create_table(&spec()).unwrap();
    for id in 0..ROWS {
        let b = vec![id as u8; if id % 7 == 0 { 6_000 } else { 300 }];
        insert_own(&mut session, id, own(id), "a row", &b).unwrap();
    }
    bed
}

/// The other number becomes the key, and a row is changed at row `at`.
fn rebuild(bed: &Bed, at: u32) -> Result<Counted> {
    let mut new = spec();
    new.name = crate::rebuilds::ANEW.into();
    new.primary_key = Some(vec![KeyPart::whole(1)]);
    new.indexes[0] = index("by_id", vec![KeyPart::whole(0)], true);
    new.auto_increment = Some(5_000);
    let mut other = bed.engine.session();
    let event: crate::rebuilds::Event = Box::new(move || {
        assert!(update(&mut other, 3, &[(2, Some(b"changed"))]).unwrap());
        assert!(update(&mut other, 4, &[(1, Some(&stored::bigint(1_000_000)))]).unwrap());
    });
    let origins: Vec<Option<usize>> = (0..4).map(Some).collect();
    let counted = Counted { at, event: Some(event), ..Counted::default() };
    let mut session = bed.engine.session();
    session
        .rebuild_table_beside(TABLE, &new, KeptKeys::default(), &origins, Concurrency::Writes, |_, _| {
            Ok::<_, Error>(counted)
        })
        .map(|(counted, rows)| {
            assert_eq!(rows, ROWS as u64);
            counted
        })
}

fn is_whole(bed: &Bed) {
    let rows = bed.whole();
    let text = |id| if id == 3 { "changed" } else { "a row" };
    assert!(rows == (0..ROWS).map(|id| (i64::from(id), text(id).to_owned())).collect::<Vec<_>>());
    let table = bed.engine.core().table(TABLE).unwrap();
    assert_eq!(table.clustered().parts[0].column, 1);
}

#[test]
fn rows_in_order_are_read_once() {
    for threads in [1, 2] {
        let bed = bed(threads, |id| i64::from(id) * 2);
        let counted = rebuild(&bed, 200).unwrap();
        assert_eq!(counted.again, 0);
        // And those two that were changed.
        assert!((ROWS as u32..=ROWS as u32 + 2).contains(&counted.rows), "{}", counted.rows);
        is_whole(&bed);
    }
}

#[test]
fn where_the_order_ends_all_is_begun_again() {
    for threads in [1, 2] {
        for last in [1, 2, ROWS / 2, ROWS - 1] {
            for at in [1, 200, ROWS as u32] {
                let bed = bed(threads, |id| if id == last { -1 } else { i64::from(id) * 2 });
                let counted = rebuild(&bed, at).unwrap();
                assert_eq!(counted.again, 1, "{threads}, {last}, {at}");
                assert!(counted.rows > (ROWS + last) as u32, "{}", counted.rows);
                is_whole(&bed);
            }
        }
    }
}

/// Rows of the same key that follow each other are told by sorting.
#[test]
fn two_of_the_same_key_in_order_are_told() {
    for threads in [1, 2] {
        let bed = bed(threads, i64::from);
        let mut session = bed.engine.session();
        session.drop_index(TABLE, "by_own").unwrap();
        assert!(update(&mut session, 201, &[(1, Some(&stored::bigint(200)))]).unwrap());
        match rebuild(&bed, 0).map(drop) {
            Err(Error::DuplicateKey { index, value, .. }) => {
                assert_eq!((&*index, &*value), ("PRIMARY", "200"), "{threads}");
            }
            other => panic!("{threads}: {other:?}"),
        }
    }
}
