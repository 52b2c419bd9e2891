//! Measures changes of rows: inserts of a 200-byte row with two secondary indexes, updates, and their rollback.
//!
//! `cargo run --release -p vaquita-engine --example row_speed [ROWS]`

use std::time::Instant;
use vaquita_engine::ddl::{IndexSpec, TableSpec};
use vaquita_engine::{AccessMode, Column, Engine, Options, RowKey};
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_format::index_def::KeyPart;

fn int(n: u32) -> [u8; 4] {
    vaquita_engine::stored::int(n as i32)
}

/// Wall time and this thread's time on a processor.
struct Watch {
    wall: Instant,
    cpu_ns: u64,
}

/// Nanoseconds this thread has had a processor; 0 where the system does not tell.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0)
}

impl Watch {
    fn start() -> Watch {
        Watch { wall: Instant::now(), cpu_ns: cpu_ns() }
    }

    fn report(&self, what: &str, n: u32) {
        let cpu = (cpu_ns() - self.cpu_ns) / u64::from(n);
        let wall = self.wall.elapsed();
        let each = wall.as_nanos() / u128::from(n);
        let seconds = wall.as_secs_f64();
        println!("{what:<30} {n:>8} rows {seconds:>7.2} s {each:>7} ns/row, {cpu:>6} ns of processor time");
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let n: u32 = std::env::args().nth(1).map_or(Ok(1_000_000), |a| a.parse())?;
    let dir = std::env::temp_dir().join(format!("vaquita-row-speed-{}", std::process::id()));
    std::fs::create_dir_all(&dir)?;
    let mut options = Options::new(&dir);
    options.storage.buffer_pool_size = 1 << 30;
    options.storage.log_file_size = 512 << 20;
    options.flush_log_at_trx_commit = 0;
    let engine = Engine::open(options)?;
    let columns = vec![
        Column::new(ColumnDef::int("id", 4, false).not_null()),
        Column::new(ColumnDef::int("a", 4, false).not_null()),
        Column::new(ColumnDef::varchar("b", 20, Charset::LATIN1).not_null()),
        Column::new(ColumnDef::varchar("pad", 200, Charset::LATIN1).not_null()),
    ];
    let mut spec = TableSpec::new("test/t", columns);
    spec.primary_key = Some(vec![KeyPart::whole(0)]);
    let index = |name: &str, column| IndexSpec {
        name: name.into(),
        parts: vec![KeyPart::whole(column)],
        unique: false,
        comment: String::new(),
    };
    spec.indexes = vec![index("a", 1), index("b", 2)];
    let mut session = engine.session();
    session.create_table(&spec)?;
    let pad = [b'x'; 160];

    session.begin(AccessMode::ReadWrite, false)?;
    let table = session.run(|s| s.table("test/t"))?;
    let insert = |session: &mut vaquita_engine::Session, from: u32, n: u32| -> vaquita_engine::Result<()> {
        for i in from..from + n {
            let random = i.wrapping_mul(2_654_435_761);
            let b = format!("name{:012}", random);
            let (id, a) = (int(i), int(random >> 1));
            session.run(|s| s.insert(&table, &[Some(&id), Some(&a), Some(b.as_bytes()), Some(&pad)]))?;
        }
        Ok(())
    };
    let watch = Watch::start();
    insert(&mut session, 0, n)?;
    watch.report("insert, two secondary indexes", n);
    session.commit()?.wait()?;

    let key = |i: u32| RowKey::new([&int(i)[..]]);
    session.begin(AccessMode::ReadWrite, false)?;
    let other = [b'y'; 160];
    let watch = Watch::start();
    for i in 0..n {
        session.run(|s| s.update(&table, &key(i), &[(3, Some(&other))]))?;
    }
    watch.report("update in place", n);
    let watch = Watch::start();
    session.rollback()?;
    watch.report("rollback of it", n);

    session.begin(AccessMode::ReadWrite, false)?;
    let watch = Watch::start();
    for i in 0..n / 4 {
        session.run(|s| s.update(&table, &key(i), &[(1, Some(&int(i)))]))?;
    }
    watch.report("update of a secondary key", n / 4);
    let watch = Watch::start();
    session.rollback()?;
    watch.report("rollback of it", n / 4);

    session.begin(AccessMode::ReadWrite, false)?;
    let watch = Watch::start();
    for i in 0..n / 4 {
        session.run(|s| s.delete(&table, &key(i)))?;
    }
    watch.report("delete", n / 4);
    let watch = Watch::start();
    session.rollback()?;
    watch.report("rollback of it", n / 4);

    session.begin(AccessMode::ReadWrite, false)?;
    insert(&mut session, n, n / 4)?;
    let watch = Watch::start();
    session.rollback()?;
    watch.report("rollback of inserts", n / 4);
    drop((table, session));
    engine.close()?;
    std::fs::remove_dir_all(&dir)?;
    Ok(())
}
