//! The life of a table in the engine: transactions of inserts, updates and deletes, some taken back, and what is there
//! in the end.

use super::Values;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use vaquita_base::Rng;
use vaquita_engine::check::{TableReport, check_table};
use vaquita_engine::table::FieldSource;
use vaquita_engine::{
    AccessMode, Column, Direction, Engine, Error, IndexSpec, Options, ReadOptions, RowKey, Session, Table,
    TableSpec,
};
use vaquita_format::index_def::IndexDef;
use vaquita_format::value::Value;
use vaquita_io::FlushMethod;
use vaquita_testkit::table_builder::{Key, KeyKind, TableDef, TableFiles, random_value};

/// A row in stored form.
type Stored = Vec<Option<Vec<u8>>>;

/// For a folder of a server that the peers start, or a new one. Purge works when it is told to.
pub(crate) fn options(dir: &Path) -> Options {
    let mut options = Options { background: false, flush_log_at_trx_commit: 2, ..Options::new(dir) };
    options.storage.buffer_pool_size = 48 << 20;
    options.storage.log_file_size = 16 << 20;
    options.storage.take_over = true;
    options.storage.flush_method = FlushMethod::NoSync;
    options
}

/// Opens a folder with these options.
pub(crate) fn open(dir: &Path) -> Engine {
    Engine::open(options(dir)).unwrap()
}

/// The same, to read only.
pub(crate) fn open_read_only(dir: &Path) -> Engine {
    let mut options = options(dir);
    options.storage.read_only = true;
    Engine::open(options).unwrap()
}

/// The definition in the engine's terms.
pub(crate) fn spec(def: &TableDef) -> TableSpec {
    let column = |c: &vaquita_testkit::table_builder::Column| Column {
        decimal: match (c.sql.contains("DECIMAL"), &c.params[..]) {
            (true, &[digits, scale]) => Some((digits, scale)),
            (true, &[digits]) => Some((digits, 0)),
            _ => None,
        },
        labels: c.labels.clone(),
        ..Column::new(c.def.clone())
    };
    let primary = def.keys.iter().find(|k| k.kind() == KeyKind::Primary);
    TableSpec {
        primary_key: primary.map(|k| k.parts(&def.columns)),
        indexes: def.keys.iter().filter(|k| k.kind() != KeyKind::Primary).map(|k| index(def, k)).collect(),
        row_format: def.row_format,
        ..TableSpec::new(format!("test/{}", def.name), def.columns.iter().map(column).collect())
    }
}

/// A secondary index in the engine's terms.
pub(crate) fn index(def: &TableDef, key: &Key) -> IndexSpec {
    IndexSpec {
        name: key.name().to_owned(),
        parts: key.parts(&def.columns),
        unique: key.kind() == KeyKind::Unique,
        comment: String::new(),
    }
}

/// A row and what it is known by.
#[derive(Debug)]
struct Live {
    key: RowKey,
    values: Values,
}

/// A table, one who works on it, and a model of its rows.
#[derive(Debug)]
pub(crate) struct Life<'e> {
    engine: &'e Engine,
    def: TableDef,
    name: String,
    session: Session,
    rng: Rng,
    rows: Vec<Rc<Live>>,
    made: i64,
    /// Its number, and how many live with it.
    among: (i64, i64),
    done: u32,
    refused: u32,
    /// The transaction was rolled back by the engine.
    lost: bool,
}

impl<'e> Life<'e> {
    /// Of an empty table that is there. A column `id` INT and a column `u` INT are unique by themselves; a column `wide`
    /// has long values, for trees of many levels.
    pub(crate) fn new(engine: &'e Engine, def: &TableDef, seed: u64) -> Life<'e> {
        Life {
            engine,
            def: def.clone(),
            name: format!("test/{}", def.name),
            session: engine.session(),
            rng: Rng::new(seed),
            rows: Vec::new(),
            made: 0,
            among: (0, 1),
            done: 0,
            refused: 0,
            lost: false,
        }
    }

    /// One of several who live in the same table at the same time, each with rows of its own.
    pub(crate) fn among(mut self, number: i64, all: i64) -> Life<'e> {
        self.among = (number, all);
        self
    }

    /// For changes of the definition.
    pub(crate) fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    /// The table goes on under another name.
    pub(crate) fn rename(&mut self, name: &str) {
        let to = format!("test/{name}");
        self.session.rename_table(&self.name, &to).unwrap();
        self.def = self.def.clone().named(name);
        self.name = to;
    }

    /// The table is emptied.
    pub(crate) fn truncate(&mut self) {
        self.session.truncate_table(&self.name).unwrap();
        self.rows.clear();
    }

    fn invent(&mut self, column: usize) -> Value<'static> {
        let of = &self.def.columns[column];
        match of.name() {
            "id" => {
                // Every number once, in no order.
                self.made += 1;
                Value::Int((self.made * self.among.1 + self.among.0) * 7_919 % 1_000_003)
            }
            "u" if self.rng.one_in(6) => Value::Null,
            "u" => Value::Int(self.rng.below(1_000_000) as i64),
            "wide" => {
                let mut bytes = vec![0; 300 + self.rng.index(400)];
                self.rng.fill(&mut bytes);
                Value::Bytes(bytes.into())
            }
            _ if of.sql.contains("LONGBLOB") && self.rng.one_in(30) => {
                let mut bytes = vec![0; 100_000];
                self.rng.fill(&mut bytes);
                Value::Bytes(bytes.into())
            }
            _ => random_value(&mut self.rng, of, self.def.row_format),
        }
    }

    /// What the engine may refuse; the statement is taken back then.
    fn taken<T>(&mut self, done: Result<T, Error>) -> Option<T> {
        match done {
            Ok(value) => {
                self.done += 1;
                Some(value)
            }
            Err(Error::DuplicateKey { .. } | Error::RowTooBig { .. } | Error::UndoRecordTooBig(_)) => {
                self.refused += 1;
                None
            }
            Err(Error::Deadlock(_)) if self.among.1 > 1 => {
                self.lost = true;
                None
            }
            Err(e) => panic!("{}: {e}", self.name),
        }
    }

    fn insert(&mut self) {
        let values: Values = (0..self.def.columns.len()).map(|c| self.invent(c)).collect();
        let stored = stored(&self.def, &values);
        let row: Vec<_> = stored.iter().map(Option::as_deref).collect();
        let done = self.session.run(|s| {
            let table = s.table(&self.name)?;
            s.insert(&table, &row)
        });
        if let Some(key) = self.taken(done) {
            self.rows.push(Rc::new(Live { key, values }));
        }
    }

    /// Some columns of some row get other values.
    fn update(&mut self) {
        let at = self.rng.index(self.rows.len());
        let row = self.rows[at].clone();
        let mut values = row.values.clone();
        let mut columns: Vec<usize> = Vec::new();
        for _ in 0..1 + self.rng.below(3) {
            let column = self.rng.index(values.len());
            if !columns.contains(&column) {
                values[column] = self.invent(column);
                columns.push(column);
            }
        }
        let stored = stored(&self.def, &values);
        let changes: Vec<_> = columns.iter().map(|&c| (c, stored[c].as_deref())).collect();
        let done = self.session.run(|s| {
            let table = s.table(&self.name)?;
            s.update(&table, &row.key, &changes)?;
            Ok(key_of(&table, &stored, &row.key))
        });
        if let Some(key) = self.taken(done) {
            self.rows[at] = Rc::new(Live { key, values });
        }
    }

    fn delete(&mut self) {
        let at = self.rng.index(self.rows.len());
        let row = self.rows.swap_remove(at);
        let done = self.session.run(|s| {
            let table = s.table(&self.name)?;
            s.delete(&table, &row.key)
        });
        assert_ne!(self.taken(done), Some(false), "the row is there");
    }

    fn step(&mut self) {
        match self.rng.below(18) {
            0..5 => self.insert(),
            5..14 if !self.rows.is_empty() => self.update(),
            14.. if !self.rows.is_empty() => self.delete(),
            _ => {}
        }
    }

    /// Inserts rows, some transactions of them.
    pub(crate) fn fill(&mut self, rows: usize) {
        let all = self.rows.len() + rows;
        while self.rows.len() < all {
            let before = self.rows.clone();
            self.session.begin(AccessMode::ReadWrite, false).unwrap();
            for _ in 0..100.min(all - self.rows.len()) {
                self.insert();
            }
            self.end_transaction(before, false);
        }
    }

    /// So many transactions, with savepoints; a quarter of them is rolled back. One more, of so many statements, is, too.
    pub(crate) fn change(&mut self, transactions: usize, rolled_back: u64) {
        for n in 0..=transactions {
            let (before, mut saved) = (self.rows.clone(), None);
            self.session.begin(AccessMode::ReadWrite, false).unwrap();
            let steps = if n == transactions { rolled_back } else { 1 + self.rng.below(25) };
            for _ in 0..steps {
                match (self.rng.below(16), &saved) {
                    _ if self.lost => break,
                    (0, _) => {
                        self.session.savepoint("here");
                        saved = Some(self.rows.clone());
                    }
                    (1, Some(rows)) => {
                        self.session.rollback_to_savepoint("here").unwrap();
                        self.rows = rows.clone();
                    }
                    _ => self.step(),
                }
            }
            let back = n == transactions || self.rng.one_in(4);
            self.end_transaction(before, back);
            if self.rng.one_in(12) {
                self.engine.core().purge_step().unwrap();
            }
        }
    }

    fn end_transaction(&mut self, before: Vec<Rc<Live>>, back: bool) {
        if std::mem::take(&mut self.lost) || back {
            self.session.rollback().unwrap();
            self.rows = before;
        } else {
            self.session.commit().unwrap().wait().unwrap();
        }
    }

    /// The values of all rows it leaves.
    pub(crate) fn leave(self) -> Vec<Values> {
        let (done, refused) = (self.done, self.refused);
        assert!(done > 5 * refused, "{}: {done} statements done, {refused} refused", self.name);
        self.rows.iter().map(|row| row.values.clone()).collect()
    }

    /// The end of a table where nobody else lives, as [`settle`]. The values of all rows, and what the check counted.
    pub(crate) fn end(self) -> (Vec<Values>, TableReport) {
        let (engine, def) = (self.engine, self.def.clone());
        let values = self.leave();
        let report = settle(engine, &def, &values);
        (values, report)
    }
}

/// Purges everything; then the engine is content with the table and shows these rows. What the check counted.
pub(crate) fn settle(engine: &Engine, def: &TableDef, rows: &[Values]) -> TableReport {
    let core = engine.core();
    while core.purge_step().unwrap() {}
    let table = core.table(&format!("test/{}", def.name)).unwrap();
    let report = check_table(core, &table).unwrap();
    assert!(report.is_purged() && report.leaked_pages() == 0, "{}: {report:?}", def.name);
    assert_eq!(report.rows, rows.len() as u64, "{}", def.name);
    shows(engine, def, &def.name, rows);
    report
}

fn stored(def: &TableDef, values: &[Value<'_>]) -> Stored {
    let columns = def.columns.iter().zip(values);
    columns.map(|(column, value)| column.encode(value, def.row_format).unwrap()).collect()
}

/// What a row is known by that has these values now; a row id stays.
fn key_of(table: &Table, stored: &Stored, before: &RowKey) -> RowKey {
    let clustered = table.clustered();
    let mut key = RowKey::default();
    for source in &clustered.sources[..clustered.def().n_uniq()] {
        match *source {
            FieldSource::Column { column, prefix_len: 0 } => key.push(stored[column].as_deref().unwrap()),
            FieldSource::RowId => return before.clone(),
            other => panic!("{other:?} in a key"),
        }
    }
    key
}

/// The table's rows, read through a cursor, are these.
pub(crate) fn shows(engine: &Engine, def: &TableDef, name: &str, rows: &[Values]) {
    let mut found: Vec<Stored> = Vec::new();
    let mut session = engine.session();
    let scan = session.run(|s| {
        let table = s.table(&format!("test/{name}"))?;
        let mut cursor = s.cursor(&table, &ReadOptions::default())?;
        s.for_each(&mut cursor, Direction::Forward, |row| {
            let value = |i: usize| {
                let mut out = Vec::new();
                row.read_column(i, &mut out).unwrap().then_some(out)
            };
            found.push((0..row.n_columns()).map(value).collect());
            ControlFlow::Continue(())
        })
    });
    scan.unwrap();
    let mut expected: Vec<Stored> = rows.iter().map(|row| stored(def, row)).collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found.len(), expected.len(), "{name}");
    for (found, expected) in found.iter().zip(&expected) {
        for (i, column) in def.columns.iter().enumerate() {
            let (found, expected) = (&found[i], &expected[i]);
            assert!(found == expected, "{name}: {}: {found:x?}, not {expected:x?}", column.sql);
        }
    }
}

/// Writes the description that IMPORT TABLESPACE wants, into `dir`: of a table in the engine's folder.
pub(crate) fn describe(engine: &Engine, def: &TableDef, dir: &Path) -> TableFiles {
    let core = engine.core();
    let table: Arc<Table> = core.table(&format!("test/{}", def.name)).unwrap();
    let indexes: Vec<(&IndexDef, _)> = table.indexes.iter().map(|i| (&**i.def(), i.tree.root())).collect();
    let cfg = dir.join(format!("{}.cfg", def.name));
    fs::create_dir_all(dir).unwrap();
    fs::write(&cfg, def.describe(table.space, &indexes, 0).write()).unwrap();
    let folder = &core.options.storage.dir;
    TableFiles { ibd: folder.join(format!("test/{}.ibd", def.name)), cfg }
}
