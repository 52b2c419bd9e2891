//! What an operation of the store on tables costs, in nanoseconds of CPU: `items [ROWS [TIMES]]`, in release.
//!
//! A table of an INT key and a value of 100 bytes in VARBINARY, all in memory. Beside each read of the store the same read
//! straight through the engine's session is measured.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::sync::Arc;
use vaquita_base::Rng;
use vaquita_engine::stored::int;
use vaquita_engine::{
    AccessMode, Column, Engine, Field, Options, PlainWait, PointRead, ReadOptions, Session, TableSpec,
};
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_format::index_def::KeyPart;
use vaquita_memcached::innodb::{InnodbStore, Settings, Tables};
use vaquita_memcached::store::{Expiry, Mode, NewItem, Store};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let number = |n, otherwise| std::env::args().nth(n).map_or(Ok(otherwise), |text| text.parse());
    let (rows, count) = (number(1, 1_000_000)?, number(2, 200_000)?);
    let dir = std::env::temp_dir().join(format!("vaquita-items-{}", std::process::id()));
    let mut options = Options::new(&dir);
    options.storage.buffer_pool_size = 512 << 20;
    options.storage.log_file_size = 64 << 20;
    options.flush_log_at_trx_commit = 0;
    let engine = Engine::open(options)?;
    fill(&mut engine.session(), rows)?;
    let settings = Settings::default();
    settings.flush_log_at_trx_commit.store(0, std::sync::atomic::Ordering::Relaxed);
    let tables = Tables::new(engine.core(), Arc::new(settings))?;
    measure(&engine, &mut tables.store(Arc::new(PlainWait)), rows, count)?;
    drop(tables);
    engine.close()?;
    std::fs::remove_dir_all(&dir)?;
    Ok(())
}

fn fill(session: &mut Session, rows: u64) -> Result<(), Failure> {
    let text = |name| ColumnDef::varchar(name, 250, Charset::LATIN1);
    let names = ["db_schema", "db_table", "key_columns", "value_columns", "flags", "cas_column"];
    let mut columns = vec![Column::new(ColumnDef::varchar("name", 50, Charset::LATIN1).not_null())];
    columns.extend(names.map(|name| Column::new(text(name))));
    columns.extend(["expire_time_column", "unique_idx_name_on_key"].map(|name| Column::new(text(name))));
    let mut spec = TableSpec::new("innodb_memcache/containers", columns);
    spec.primary_key = Some(vec![KeyPart::whole(0)]);
    session.create_table(&spec)?;
    let row = ["default", "test", "items", "k", "v", "0", "0", "0", "PRIMARY"];
    let row: Vec<Field<'_>> = row.iter().map(|v| Some(v.as_bytes())).collect();
    session.run(|s| {
        let table = s.table("innodb_memcache/containers")?;
        s.insert(&table, &row)
    })?;
    let columns = [ColumnDef::int("k", 4, false).not_null(), ColumnDef::varbinary("v", 200)];
    let mut spec = TableSpec::new("test/items", columns.map(Column::new).into());
    spec.primary_key = Some(vec![KeyPart::whole(0)]);
    session.create_table(&spec)?;
    for from in (0..rows).step_by(10_000) {
        session.begin(AccessMode::ReadWrite, false)?;
        session.run(|s| {
            let table = s.table("test/items")?;
            for id in from..rows.min(from + 10_000) {
                s.insert(&table, &[Some(&int(id as i32)), Some(&[b'v'; 100])])?;
            }
            Ok(())
        })?;
        session.commit()?.wait()?;
    }
    Ok(())
}

/// Nanoseconds this thread has run.
fn cpu_ns() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// The least of five rounds, as other work only makes it slower.
fn report(name: &str, count: u64, mut round: impl FnMut() -> Result<(), Failure>) -> Result<(), Failure> {
    let mut least = u64::MAX;
    for _ in 0..5 {
        let from = cpu_ns();
        round()?;
        least = least.min(cpu_ns() - from);
    }
    println!("{name:34}{:9.0} ns", least as f64 / count as f64);
    Ok(())
}

/// Keys of one get.
const KEYS: u64 = 50;
/// Sets that come together.
const TOGETHER: u64 = 16;

fn measure(engine: &Engine, store: &mut InnodbStore, rows: u64, count: u64) -> Result<(), Failure> {
    read_straight(engine, rows, count)?;
    gets(store, rows, count)?;
    sets(store, rows, count)
}

fn read_straight(engine: &Engine, rows: u64, count: u64) -> Result<(), Failure> {
    let mut rng = Rng::new(1);
    let mut session = engine.session();
    let table = session.run(|s| s.table("test/items"))?;
    let mut read = PointRead::new(table, ReadOptions::default().columns([1]))?;
    let mut touch = |s: &mut vaquita_engine::Statement<'_>, id: u64| {
        s.get(&mut read, &[Some(&int(id as i32))], |row| black_box(row.column(0).map(<[u8]>::len)))
    };
    report("engine: read, autocommit", count, || {
        for _ in 0..count {
            let id = rng.below(rows);
            let _ = session.run_detached(|s| touch(s, id))?;
        }
        Ok(())
    })?;
    report("engine: read, 50 in a statement", count, || {
        for _ in 0..count / KEYS {
            let _ =
                session.run_detached(|s| (0..KEYS).try_for_each(|_| touch(s, rng.below(rows)).map(drop)))?;
        }
        Ok(())
    })
}

fn gets(store: &mut InnodbStore, rows: u64, count: u64) -> Result<(), Failure> {
    let (mut rng, mut key) = (Rng::new(2), String::new());
    let mut show = |_: usize, item: &vaquita_memcached::store::Item<'_>| {
        black_box(item.value.len());
        ControlFlow::Continue(())
    };
    report("get", count, || {
        for _ in 0..count {
            write_key(&mut key, rng.below(rows));
            store.get(&[key.as_bytes()], None, &mut show)?;
        }
        Ok(())
    })?;
    let mut keys = vec![String::new(); KEYS as usize];
    report("get of 50 keys, each", count, || {
        for _ in 0..count / KEYS {
            keys.iter_mut().for_each(|key| write_key(key, rng.below(rows)));
            let keys: Vec<&[u8]> = keys.iter().map(|k| k.as_bytes()).collect();
            store.get(&keys, None, &mut show)?;
        }
        Ok(())
    })
}

fn sets(store: &mut InnodbStore, rows: u64, count: u64) -> Result<(), Failure> {
    let (mut rng, mut key, mut value) = (Rng::new(3), String::new(), [b'x'; 100]);
    let mut set = |store: &mut InnodbStore, id: u64, n: u64| {
        write_key(&mut key, id);
        value[..8].copy_from_slice(&n.to_le_bytes());
        let item = NewItem { flags: 0, expires: Expiry(0), value: &value };
        store.store(Mode::Set, key.as_bytes(), &item, 0)
    };
    report("set of a row that is there", count, || {
        for n in 0..count {
            set(store, rng.below(rows), n)?;
        }
        Ok(())
    })?;
    report("sixteen sets together, each", count, || {
        for n in 0..count / TOGETHER {
            store.together();
            for _ in 0..TOGETHER {
                set(store, rng.below(rows), count + n)?;
            }
            store.settle()?;
        }
        Ok(())
    })?;
    let mut next = rows;
    report("set of a new row", count, || {
        for n in 0..count {
            next += 1;
            set(store, next, n)?;
        }
        Ok(())
    })
}

fn write_key(key: &mut String, id: u64) {
    use std::fmt::Write as _;
    key.clear();
    // Writing to a string does not fail.
    let _ = write!(key, "{id}");
}
