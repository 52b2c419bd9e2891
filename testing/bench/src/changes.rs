//! What changes of single rows cost in processor time: through the engine's API, each a transaction of its own, purge
//! included. Commits are not waited for: what the log's files cost is another question.

use std::sync::Arc;
use std::time::Duration;

use vaquita_base::rng::Rng;
use vaquita_engine::{
    AccessMode, Column, Engine, Error, IndexSpec, Options, RowKey, Session, Table, TableSpec, stored,
};
use vaquita_format::column::ColumnDef;
use vaquita_format::index_def::KeyPart;

use crate::Failure;
use crate::own::cpu_times;
use crate::workload::Scratch;

/// `sysbench`'s table: a key, an indexed number, 120 and 60 characters.
fn spec() -> TableSpec {
    let int = |name: &str| Column::new(ColumnDef::int(name, 4, false).not_null());
    let text = |name: &str, len| Column::new(ColumnDef::varbinary(name, len).not_null());
    let mut spec =
        TableSpec::new("bench/changes", vec![int("id"), int("k"), text("c", 120), text("pad", 60)]);
    spec.primary_key = Some(vec![KeyPart::whole(0)]);
    let parts = vec![KeyPart::whole(1)];
    spec.indexes = vec![IndexSpec { name: "k_1".into(), parts, unique: false, comment: String::new() }];
    spec
}

/// One change, of the row with a number.
type Step = fn(&mut Rows<'_>, i32) -> Result<(), Error>;

const KINDS: [(&str, Step); 6] = [
    ("update_index", update_index),
    ("update_non_index", update_non_index),
    ("delete", delete),
    ("insert", insert),
    ("replace", replace),
    ("delete_insert", delete_insert),
];

struct Rows<'e> {
    session: Session,
    table: &'e Arc<Table>,
    rng: Rng,
    rows: i32,
}

impl Rows<'_> {
    fn row<R>(&mut self, id: i32, give: impl FnOnce(&mut Session, &Arc<Table>, &[Option<&[u8]>]) -> R) -> R {
        let mut text = [0; 180];
        self.rng.fill(&mut text);
        let (id, k) = (stored::int(id), stored::int(self.rng.below(self.rows as u64) as i32));
        let row: [Option<&[u8]>; 4] = [Some(&id), Some(&k), Some(&text[..120]), Some(&text[120..])];
        give(&mut self.session, self.table, &row)
    }
}

fn key(id: i32) -> RowKey {
    RowKey::new([&stored::int(id)[..]])
}

fn insert(rows: &mut Rows<'_>, id: i32) -> Result<(), Error> {
    let id = rows.rows + id;
    rows.row(id, |session, table, row| session.run_detached(|s| s.insert(table, row)).map(drop))
}

fn update_index(rows: &mut Rows<'_>, id: i32) -> Result<(), Error> {
    let k = stored::int(rows.rng.below(rows.rows as u64) as i32);
    let table = rows.table;
    rows.session.run_detached(|s| s.update(table, &key(id), &[(1, Some(&k))])).map(drop)
}

fn update_non_index(rows: &mut Rows<'_>, id: i32) -> Result<(), Error> {
    rows.row(id, |session, table, row| {
        session.run_detached(|s| s.update(table, &key(id), &[(2, row[2])])).map(drop)
    })
}

fn delete(rows: &mut Rows<'_>, id: i32) -> Result<(), Error> {
    let table = rows.table;
    rows.session.run_detached(|s| s.delete(table, &key(id))).map(drop)
}

/// All columns but the key, as REPLACE and a cache's `set` do.
fn replace(rows: &mut Rows<'_>, id: i32) -> Result<(), Error> {
    rows.row(id, |session, table, row| {
        let changes = [(1, row[1]), (2, row[2]), (3, row[3])];
        session.run_detached(|s| s.update(table, &key(id), &changes)).map(drop)
    })
}

/// As in `sysbench`'s transactions: a row goes and comes back under its key.
fn delete_insert(rows: &mut Rows<'_>, id: i32) -> Result<(), Error> {
    rows.session.begin(AccessMode::ReadWrite, false)?;
    delete(rows, id)?;
    rows.row(id, |session, table, row| session.run(|s| s.insert(table, row)))?;
    rows.session.commit().map(drop)
}

/// Every kind of change whose name contains `wanted`, of every row of a table of its own once, in no order.
///
/// # Errors
/// The engine's.
pub fn changes(rows: u64, wanted: &str) -> Result<(), Failure> {
    let rows = i32::try_from(rows)?;
    for (name, step) in KINDS.iter().filter(|(name, _)| name.contains(wanted)) {
        one(name, *step, rows)?;
    }
    Ok(())
}

fn one(name: &str, step: Step, n: i32) -> Result<(), Failure> {
    let scratch = Scratch::new()?;
    let mut options = Options::new(scratch.path().join("data"));
    options.storage.buffer_pool_size = 256 << 20;
    options.storage.log_file_size = 256 << 20;
    options.storage.live.checksum_algorithm = vaquita_format::checksum::ChecksumAlgorithm::Crc32;
    options.flush_log_at_trx_commit = 0;
    let engine = Engine::open(options)?;
    let mut session = engine.session();
    session.create_table(&spec())?;
    let table = session.run(|s| s.table("bench/changes"))?;
    let mut rows = Rows { session, table: &table, rng: Rng::new(7), rows: n };
    rows.session.begin(AccessMode::ReadWrite, false)?;
    for id in 0..n {
        rows.row(id, |session, table, row| session.run(|s| s.insert(table, row)))?;
    }
    rows.session.commit()?.wait()?;
    let mut order: Vec<i32> = (0..n).collect();
    for i in (1..order.len()).rev() {
        let other = rows.rng.below(i as u64 + 1) as usize;
        order.swap(i, other);
    }
    let before = cpu_times();
    let in_client = measured(&engine, &mut rows, step, &order)?;
    let after = cpu_times();
    let each = |time: Duration| time.as_nanos() as f64 / f64::from(n) / 1e3;
    println!(
        "{name:<18} {:6.2} us user, {:6.2} us system; {:.2} us passed",
        each(after.0 - before.0),
        each(after.1 - before.1),
        each(in_client)
    );
    drop(rows);
    drop(table);
    Ok(engine.close()?)
}

/// The part that a profiler is to look at: the changes, and purge after them.
#[inline(never)]
fn measured(engine: &Engine, rows: &mut Rows<'_>, step: Step, order: &[i32]) -> Result<Duration, Failure> {
    let start = std::time::Instant::now();
    for &id in order {
        step(rows, id)?;
    }
    let passed = start.elapsed();
    while engine.core().txn.history_len() > 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(passed)
}
