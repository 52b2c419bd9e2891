//! Eight sessions write all the time while the table is written anew, again and again.

use crate::rebuilds::{Bed, Keep, Kind, TABLE, spec};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use vaquita_base::{ManualClock, Rng};
use vaquita_engine::check::check_table;
use vaquita_engine::{
    AccessMode, Concurrency, Engine, Error, KeptKeys, Options, ReadOptions, Result, RowKey, Session,
    TableSpec, stored,
};
use vaquita_io::sim::SimDisk;

const KEYS: u64 = 300;
const OTHER: &str = "d/u";

fn transaction(session: &mut Session, rng: &mut Rng, numbers: &AtomicI64) -> Result<()> {
    session.begin(AccessMode::ReadWrite, false)?;
    for _ in 0..1 + rng.below(5) {
        let id = stored::int(rng.below(KEYS) as i32);
        let own = stored::bigint(numbers.fetch_add(1, Ordering::Relaxed));
        let long = rng.one_in(6);
        let mut b = vec![0; rng.index(if long { 20_000 } else { 60 })];
        rng.fill(&mut b);
        let v = vec![b'a' + rng.below(20) as u8; rng.index(100)];
        let kind = rng.below(6);
        let to = stored::int(rng.below(KEYS) as i32);
        // The row's lock in the first table keeps the row of the other one, too. A row that is not there has none: another transaction
        // may make it in both meanwhile.
        for name in [TABLE, OTHER] {
            let done = session.run(|s| {
                let table = s.table(name)?;
                if table.clustered().parts.first().is_none_or(|part| part.column != 0)
                    || table.columns.len() != 4
                {
                    return Err(Error::TableChanged(name.into()));
                }
                let key = RowKey::new([&id[..]]);
                match kind {
                    0 => s.delete(&table, &key),
                    1 => s.update(&table, &key, &[(2, Some(&v))]),
                    2 => s.update(&table, &key, &[(3, Some(&b)), (1, Some(&own))]),
                    3 => s.update(&table, &key, &[(0, Some(&to))]),
                    _ => s.insert(&table, &[Some(&id), Some(&own), Some(&v), Some(&b)]).map(|_| true),
                }
            })?;
            if !done {
                break;
            }
        }
    }
    if rng.one_in(3) {
        return session.rollback();
    }
    session.commit().map(drop)
}

fn write(engine: &Engine, seed: u64, ended: &AtomicBool, numbers: &AtomicI64) {
    let mut rng = Rng::new(seed);
    let mut session = engine.session();
    session.settings.lock_wait_timeout = 5;
    while !ended.load(Ordering::Relaxed) {
        match transaction(&mut session, &mut rng, numbers) {
            Ok(()) => {}
            Err(Error::DuplicateKey { .. } | Error::Deadlock(_) | Error::TableChanged(_)) => {
                session.rollback().unwrap();
            }
            Err(e) => panic!("{seed}: {e}"),
        }
    }
}

/// The rows of a table that nobody uses, but for system fields.
fn rows(engine: &Engine, name: &str) -> Vec<Vec<Option<Vec<u8>>>> {
    let mut session = engine.session();
    let mut rows = session
        .run(|s| {
            let table = s.table(name)?;
            let mut cursor = s.cursor(&table, &ReadOptions::default())?;
            let mut rows = Vec::new();
            while let Some(row) = s.next(&mut cursor)? {
                let column = |i| {
                    let mut value = Vec::new();
                    Ok(row.read_column(i, &mut value)?.then_some(value))
                };
                rows.push((0..4).map(column).collect::<Result<Vec<_>>>()?);
            }
            Ok(rows)
        })
        .unwrap();
    rows.sort();
    rows
}

fn same_rows(engine: &Engine, round: u64) {
    let (got, wanted) = (rows(engine, TABLE), rows(engine, OTHER));
    let without = |some: &[Vec<Option<Vec<u8>>>], others: &[Vec<Option<Vec<u8>>>]| -> Vec<String> {
        let lost = some.iter().filter(|row| !others.contains(row));
        lost.map(|row| {
            format!(
                "{:?} {:?} {:?} {:?}",
                row[0],
                row[1],
                row[2].as_ref().map(Vec::len),
                row[3].as_ref().map(Vec::len)
            )
        })
        .collect()
    };
    assert!(
        got == wanted,
        "round {round}: too many {:?}, missing {:?}",
        without(&got, &wanted),
        without(&wanted, &got)
    );
}

/// Every transaction writes the same to another table. What is in the one that was written anew is what is there.
#[test]
fn eight_writers_and_rebuilds_again_and_again() {
    let disk = SimDisk::new(11);
    disk.put_dir("/db".as_ref());
    let mut options = Options { background: true, sort_buffer_size: 64 << 10, ..Options::new("/db") };
    options.storage.buffer_pool_size = 16 << 20;
    let engine = Engine::open_with(Arc::new(disk.clone()), Arc::new(ManualClock::new()), options).unwrap();
    let bed = Bed { disk, engine: Arc::new(engine) };
    let engine = &*bed.engine;
    engine.session().create_table(&spec()).unwrap();
    engine.session().create_table(&TableSpec { name: OTHER.into(), ..spec() }).unwrap();
    let numbers = AtomicI64::new(0);
    for round in 0..8 {
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (ended, numbers) = (&ended, &numbers);
                scope.spawn(move || write(engine, round * 8 + thread, ended, numbers));
            }
            let mut session = engine.session();
            let kind = [Kind::Same, Kind::OtherKey, Kind::NumberKey, Kind::NoKey][round as usize % 4];
            let done = anew(&mut session, kind);
            ended.store(true, Ordering::Relaxed);
            done.unwrap();
        });
        let core = engine.core();
        let report = check_table(core, &core.table(TABLE).unwrap()).unwrap();
        assert!(report.rows > 5, "{round}: {report:?}");
        same_rows(engine, round);
        anew(&mut engine.session(), Kind::Same).unwrap();
        same_rows(engine, round);
    }
}

fn anew(session: &mut Session, kind: Kind) -> Result<()> {
    let (spec, origins) = kind.of(&spec());
    let keep = Keep::new(kind, &origins, u32::MAX, None);
    session
        .rebuild_table_beside(TABLE, &spec, KeptKeys::default(), &origins, Concurrency::Writes, |_, _| {
            Ok::<_, Error>(keep)
        })
        .map(drop)
}
