//! Tables that are written anew, beside changes and in between, with pages that no log has; and a recovery so short of memory that
//! it goes through the log in many rounds.
//!
//! One thread changes rows, writes tables anew while another session changes their rows, adds and drops indexes, truncates, drops and
//! makes tables. Files come and go in the log in any number between two checkpoints. After each power cut or kill, the tables must
//! be those of before or after the statement that was cut off, and every page of them sound.

use std::collections::BTreeMap;
use std::sync::Arc;
use vaquita_base::{ManualClock, Rng};
use vaquita_engine::check::check_table;
use vaquita_engine::{
    Column, Concurrency, ConvertRow, Engine, Error, Field, IndexSpec, KeptKeys, Options, ReadOptions, RowKey,
    Session, TableSpec, stored,
};
use vaquita_format::PageSize;
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_format::index_def::KeyPart;
use vaquita_io::sim::SimDisk;
use vaquita_storage::SystemFile;

const TABLES: u64 = 3;
/// Rows that one statement inserts, and a table has at most.
const INSERTED: i32 = 400;
const ROWS_MAX: i32 = 2_000;
/// Bytes of a row's text; pages of 4 KiB have five.
const TEXT: usize = 700;

/// Rows of tables: by id, the number in its text.
type Tables = BTreeMap<String, BTreeMap<i32, u64>>;

/// What a run did.
#[derive(Debug, Clone, Copy, Default)]
pub struct RebuildReport {
    /// Power cuts and kills.
    pub cuts: u64,
    /// Tables that were written anew.
    pub rebuilds: u64,
    /// Recoveries of several rounds.
    pub rounds: u64,
}

/// Runs the scenario of a seed.
///
/// # Errors
/// What went wrong.
pub fn run_seed(seed: u64) -> Result<RebuildReport, String> {
    let mut rng = Rng::new(seed ^ 0x0BE1_1D5E);
    let disk = SimDisk::new(seed);
    disk.put_dir("/db".as_ref());
    let mut run = Run {
        disk,
        pool_frames: 128 + rng.index(128),
        rng,
        stamp: 0,
        states: vec![Tables::new()],
        report: RebuildReport::default(),
    };
    run.all().map_err(|text| format!("rebuilds of seed {seed}: cut {}: {text}", run.report.cuts))?;
    Ok(run.report)
}

struct Run {
    disk: SimDisk,
    pool_frames: usize,
    rng: Rng,
    stamp: u64,
    /// What there may be: as of the last statement that was done, and after what was begun since.
    states: Vec<Tables>,
    report: RebuildReport,
}

impl Run {
    fn all(&mut self) -> Result<(), String> {
        for _ in 0..3 {
            let engine = self.open()?;
            let mut session = engine.session();
            let ops = self.disk.ops();
            let cut = self.rng.one_in(2);
            if cut {
                self.disk.arm_cut(ops + 1 + self.rng.below(900));
            }
            for _ in 0..4 + self.rng.below(12) {
                match self.statement(&mut session, &engine) {
                    Ok(()) => drop(self.states.drain(..self.states.len() - 1)),
                    Err(_) if self.disk.is_off() => break,
                    Err(e) => return Err(format!("without a fault: {e}")),
                }
            }
            let next = match self.disk.is_off() || self.rng.one_in(2) {
                true => None,
                false => Some(self.disk.after_kill()),
            };
            if !self.disk.is_off() {
                self.disk.power_cut();
            }
            drop(session);
            drop(engine);
            self.disk = next.unwrap_or_else(|| self.disk.restart());
            self.report.cuts += 1;
        }
        self.open().map(drop)
    }

    fn options(&self) -> Options {
        let mut options = Options { background: false, ..Options::new("/db") };
        options.storage.page_size = PageSize::new(4_096).expect("a page size");
        options.storage.buffer_pool_size = self.pool_frames * 4_096;
        options.storage.log_file_size = 4 << 20;
        options.storage.data_file_path = vec![SystemFile { name: "ibdata1".into(), size_bytes: 1 << 20 }];
        options.txn.rollback_segments = 2;
        options.build_threads = 1;
        options
    }

    /// Opens the folder, through power cuts perhaps, and looks at everything in it.
    fn open(&mut self) -> Result<Engine, String> {
        loop {
            if self.report.cuts > 0 && self.rng.one_in(3) {
                self.disk.arm_cut(self.disk.ops() + 1 + self.rng.below(400));
            }
            let opened =
                Engine::open_with(Arc::new(self.disk.clone()), Arc::new(ManualClock::new()), self.options());
            let looked = opened.and_then(|engine| {
                while engine.core().rollback_step()? {}
                let found = look(&engine)?;
                Ok((engine, found))
            });
            match looked {
                Ok((engine, found)) if self.states.contains(&found) => {
                    self.states = vec![found];
                    let recovery = engine.core().storage.report().recovery.as_ref();
                    self.report.rounds += u64::from(recovery.is_some_and(|done| done.rounds > 1));
                    return Ok(engine);
                }
                Ok((_, found)) => {
                    let rows = |tables: &Tables| {
                        tables.iter().map(|(name, rows)| (name.clone(), rows.len())).collect::<Vec<_>>()
                    };
                    let wanted: Vec<_> = self.states.iter().map(rows).collect();
                    return Err(format!("tables {:?}, not one of {wanted:?}", rows(&found)));
                }
                Err(_) if self.disk.is_off() => {
                    self.report.cuts += 1;
                    self.disk = self.disk.restart();
                }
                Err(e) => return Err(format!("opening: {e}")),
            }
        }
    }

    fn now(&self) -> &Tables {
        self.states.last().expect("there is always one")
    }

    fn change(&mut self, change: impl FnOnce(&mut Tables)) {
        let mut next = self.now().clone();
        change(&mut next);
        self.states.push(next);
    }

    fn statement(&mut self, session: &mut Session, engine: &Engine) -> Result<(), Error> {
        let name = format!("d/t{}", self.rng.below(TABLES));
        let Some(rows) = self.now().get(&name).map(BTreeMap::len) else {
            self.change(|tables| drop(tables.insert(name.clone(), BTreeMap::new())));
            session.create_table(&spec(&name))?;
            return self.insert(session, &name);
        };
        match self.rng.below(20) {
            0 => {
                self.change(|tables| drop(tables.remove(&name)));
                session.drop_table(&name)
            }
            1 => {
                self.change(|tables| drop(tables.insert(name.clone(), BTreeMap::new())));
                session.truncate_table(&name)
            }
            2..6 => self.insert(session, &name),
            6..9 => self.index(session, engine, &name),
            9..12 => self.update(session, &name),
            12 => engine.core().storage.checkpoint().map(drop).map_err(Error::from),
            _ if rows == 0 => self.insert(session, &name),
            _ => self.rebuild(session, engine, &name),
        }
    }

    fn insert(&mut self, session: &mut Session, name: &str) -> Result<(), Error> {
        let from = self.now()[name].keys().next_back().map_or(0, |last| last + 1);
        if from >= ROWS_MAX {
            return self.update(session, name);
        }
        self.stamp += 1;
        let stamp = self.stamp;
        self.change(|tables| {
            let rows = tables.get_mut(name).expect("it is there");
            rows.extend((from..from + INSERTED).map(|id| (id, stamp)));
        });
        session.run(|s| {
            let table = s.table(name)?;
            for id in from..from + INSERTED {
                s.insert(&table, &[Some(&stored::int(id)), Some(&text(id, stamp))])?;
            }
            Ok(())
        })
    }

    /// Gives some rows another text.
    fn update(&mut self, session: &mut Session, name: &str) -> Result<(), Error> {
        let rows: Vec<i32> = self.now()[name].keys().copied().collect();
        if rows.is_empty() {
            return Ok(());
        }
        self.stamp += 1;
        let stamp = self.stamp;
        let ids: Vec<i32> = (0..1 + self.rng.below(40)).map(|_| rows[self.rng.index(rows.len())]).collect();
        self.change(|tables| {
            let rows = tables.get_mut(name).expect("it is there");
            rows.extend(ids.iter().map(|&id| (id, stamp)));
        });
        session.run(|s| {
            let table = s.table(name)?;
            for &id in &ids {
                let key = RowKey::new([&stored::int(id)[..]]);
                s.update(&table, &key, &[(1, Some(&text(id, stamp)))])?;
            }
            Ok(())
        })
    }

    fn index(&mut self, session: &mut Session, engine: &Engine, name: &str) -> Result<(), Error> {
        if engine.core().table(name)?.indexes.len() > 1 {
            return session.drop_index(name, "by_v");
        }
        let parts = vec![KeyPart::whole(1)];
        let index = IndexSpec { name: "by_v".into(), parts, unique: false, comment: String::new() };
        session.add_indexes(name, &[index])
    }

    fn rebuild(&mut self, session: &mut Session, engine: &Engine, name: &str) -> Result<(), Error> {
        self.report.rebuilds += 1;
        let (keys, origins) = (KeptKeys::default(), [Some(0), Some(1)]);
        let anew = spec(&format!("d/#sql-vq{}", self.report.rebuilds));
        let left = self.now()[name].len();
        let others = Others { session: engine.session(), name: name.to_owned(), left, run: self };
        session
            .rebuild_table_beside(name, &anew, keys, &origins, Concurrency::Writes, |_, _| Ok(others))
            .map(drop)
    }
}

/// Rows stay as they are. During the first copy another session changes some now and then.
struct Others<'r> {
    session: Session,
    name: String,
    /// Rows that the first copy still has to read. Changed rows are copied again after it, the last of them under an exclusive lock:
    /// a change would wait for that lock for ever, in the thread that holds it.
    left: usize,
    run: &'r mut Run,
}

impl ConvertRow<Error> for Others<'_> {
    fn convert(
        &mut self,
        row: &[Field<'_>],
        with: &mut dyn FnMut(&[Field<'_>]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let is_first_copy = self.left > 0;
        self.left = self.left.saturating_sub(1);
        if is_first_copy && self.run.rng.one_in(150) {
            self.run.update(&mut self.session, &self.name)?;
        }
        with(row)
    }
}

fn text(id: i32, stamp: u64) -> Vec<u8> {
    format!("{:05}{stamp:08}{}", i64::from(id) * 7_919 % 10_007, "x".repeat(TEXT)).into_bytes()
}

fn spec(name: &str) -> TableSpec {
    let columns = vec![
        Column::new(ColumnDef::int("id", 4, false).not_null()),
        Column::new(ColumnDef::varchar("v", 720, Charset::LATIN1)),
    ];
    let mut spec = TableSpec::new(name, columns);
    spec.primary_key = Some(vec![KeyPart::whole(0)]);
    spec
}

/// The rows of all tables, every page and entry of which is looked at.
fn look(engine: &Engine) -> Result<Tables, Error> {
    let core = engine.core();
    let mut tables = Tables::new();
    let mut session = engine.session();
    for name in core.user_tables()? {
        check_table(core, &*core.table(&name)?)?;
        let rows = session.run(|s| {
            let table = s.table(&name)?;
            let mut cursor = s.cursor(&table, &ReadOptions::by_index(0))?;
            cursor.seek_first();
            let (mut rows, mut value) = (BTreeMap::new(), Vec::new());
            while let Some(row) = s.next(&mut cursor)? {
                value.clear();
                row.read_column(0, &mut value)?;
                let id = vaquita_base::codec::get_u32(&value, 0) ^ 1 << 31;
                value.clear();
                row.read_column(1, &mut value)?;
                let stamp = value.get(5..13).and_then(|digits| std::str::from_utf8(digits).ok());
                let stamp = stamp.and_then(|digits| digits.parse().ok());
                rows.insert(id as i32, stamp.ok_or_else(|| Error::Corrupt("a text without a stamp".into()))?);
            }
            Ok(rows)
        })?;
        tables.insert(name, rows);
    }
    Ok(tables)
}
