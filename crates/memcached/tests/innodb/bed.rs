//! A folder on the simulated disk with the tables of `innodb_memcache`, and some tables that are mapped.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use vaquita_base::ManualClock;
use vaquita_engine::table::DefaultValue;
use vaquita_engine::{Column, Engine, Field, IndexSpec, PlainWait, Session, Table, TableSpec, stored};
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_format::index_def::KeyPart;
use vaquita_io::sim::SimDisk;
use vaquita_memcached::innodb::{InnodbStore, Settings, Tables};
use vaquita_memcached::store::{Expiry, Failure, Mode, NewItem, Outcome, Result, Store};
use vaquita_testkit::engine_folder::EngineFolder;

pub(crate) struct Bed {
    pub(crate) disk: SimDisk,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) engine: Engine,
    pub(crate) tables: Arc<Tables>,
    pub(crate) settings: Arc<Settings>,
    /// Seconds since 1970.
    pub(crate) now: Arc<AtomicU32>,
}

impl Bed {
    pub(crate) fn new() -> Bed {
        Self::with_key(KeyPart::whole(0))
    }

    /// The same with another primary key.
    pub(crate) fn with_key(key: KeyPart) -> Bed {
        let folder = EngineFolder::new(1);
        let engine = folder.open().expect("the folder opens");
        let mut session = engine.session();
        make_config(&mut session);
        make_demo(&mut session, key);
        drop(session);
        drop(engine);
        // What was made is in the log: opening again recovers it.
        Self::open(folder.disk)
    }

    pub(crate) fn open(disk: SimDisk) -> Bed {
        let folder = EngineFolder::on(disk);
        let engine = folder.open().expect("the folder opens");
        let settings = Arc::new(Settings::default());
        settings.lock_wait_timeout.store(0, Ordering::Relaxed);
        let now = Arc::new(AtomicU32::new(1_000_000));
        let wall = now.clone();
        let wall = Arc::new(move || wall.load(Ordering::Relaxed));
        let tables =
            Tables::with_clock(engine.core(), settings.clone(), wall).expect("the configuration is read");
        let EngineFolder { disk, clock, .. } = folder;
        Bed { disk, clock, engine, tables, settings, now }
    }

    pub(crate) fn store(&self) -> InnodbStore {
        self.tables.store(Arc::new(PlainWait))
    }

    pub(crate) fn session(&self) -> Session {
        self.engine.session()
    }

    pub(crate) fn table(&self, name: &str) -> Arc<Table> {
        self.engine.core().table(name).expect("the table is there")
    }

    /// Adds a row to `containers`; empty for NULL.
    pub(crate) fn map(&self, row: [&str; 9]) {
        insert_text(&mut self.session(), "innodb_memcache/containers", &row);
    }

    /// All rows of a table, as stored.
    pub(crate) fn rows(&self, name: &str) -> Vec<Vec<Option<Vec<u8>>>> {
        let table = self.table(name);
        let mut session = self.session();
        let mut out = Vec::new();
        session
            .run(|s| {
                let mut cursor = s.cursor(&table, &vaquita_engine::ReadOptions::by_index(0))?;
                while let Some(row) = s.next(&mut cursor)? {
                    let mut values = Vec::new();
                    for i in 0..row.n_columns() {
                        let mut value = Vec::new();
                        values.push(row.read_column(i, &mut value)?.then_some(value));
                    }
                    out.push(values);
                }
                Ok(())
            })
            .expect("the table is read");
        out
    }
}

/// Inserts a row of text columns; empty for NULL.
pub(crate) fn insert_text(session: &mut Session, table: &str, row: &[&str]) {
    let row: Vec<Field<'_>> = row.iter().map(|v| Some(v.as_bytes()).filter(|v| !v.is_empty())).collect();
    insert(session, table, &row);
}

pub(crate) fn insert(session: &mut Session, table: &str, row: &[Field<'_>]) {
    session
        .run(|s| {
            let table = s.table(table)?;
            s.insert(&table, row)
        })
        .expect("the row is inserted");
}

pub(crate) fn text(name: &str, len: u32) -> ColumnDef {
    ColumnDef::varchar(name, len, Charset::LATIN1)
}

pub(crate) fn index(name: &str, columns: &[usize], unique: bool) -> IndexSpec {
    let parts = columns.iter().map(|&c| KeyPart::whole(c)).collect();
    IndexSpec { name: name.into(), parts, unique, comment: String::new() }
}

pub(crate) fn spec(name: &str, columns: Vec<ColumnDef>, primary: &[usize]) -> TableSpec {
    let mut spec = TableSpec::new(name, columns.into_iter().map(Column::new).collect());
    spec.primary_key = Some(primary.iter().map(|&c| KeyPart::whole(c)).collect());
    spec
}

/// The tables of `innodb_memcache` as the plugin's script makes them.
fn make_config(session: &mut Session) {
    let mut columns = vec![text("name", 50).not_null()];
    columns.extend(["db_schema", "db_table", "key_columns"].map(|n| text(n, 250).not_null()));
    columns.push(text("value_columns", 250));
    columns.push(text("flags", 250).not_null());
    columns.extend(["cas_column", "expire_time_column"].map(|n| text(n, 250)));
    columns.push(text("unique_idx_name_on_key", 250).not_null());
    session.create_table(&spec("innodb_memcache/containers", columns, &[0])).expect("made");
    let columns = vec![text("name", 50).not_null(), text("value", 50)];
    session.create_table(&spec("innodb_memcache/config_options", columns, &[0])).expect("made");
    let mut policies = spec("innodb_memcache/cache_policies", vec![text("policy_name", 40).not_null()], &[0]);
    for name in ["get_policy", "set_policy", "delete_policy", "flush_policy"] {
        let mut column = Column::new(ColumnDef::enumeration(name, 4).not_null());
        column.labels = ["innodb_only", "cache_only", "caching", "disabled"].map(str::to_owned).to_vec();
        policies.columns.push(column);
    }
    session.create_table(&policies).expect("made");
    insert_text(session, "innodb_memcache/config_options", &["separator", "|"]);
    insert_text(session, "innodb_memcache/config_options", &["table_map_delimiter", "."]);
    let one: Field<'_> = Some(&[1]);
    insert(session, "innodb_memcache/cache_policies", &[Some(b"cache_policy"), one, one, one, one]);
    let default = ["default", "test", "demo_test", "c1", "c2", "c3", "c4", "c5", "PRIMARY"];
    insert_text(session, "innodb_memcache/containers", &default);
}

/// `test.demo_test`, as the plugin's script makes it.
fn make_demo(session: &mut Session, key: KeyPart) {
    let columns = vec![
        text("c1", 32).not_null(),
        text("c2", 1024),
        ColumnDef::int("c3", 4, false),
        ColumnDef::int("c4", 8, true),
        ColumnDef::int("c5", 4, false),
    ];
    let mut spec = spec("test/demo_test", columns, &[0]);
    spec.columns[0].default = DefaultValue::Stored(Vec::new());
    spec.primary_key = Some(vec![key]);
    session.create_table(&spec).expect("made");
    let (flags, cas, end) = (stored::int(8), stored::bigint_unsigned(0), stored::int(0));
    let row = [&b"AA"[..], b"HELLO, HELLO", &flags, &cas, &end].map(Some);
    insert(session, "test/demo_test", &row);
}

/// An item as tests compare it: flags, number, value.
pub(crate) type Seen = (u32, u64, Vec<u8>);

/// Short ways to the operations.
pub(crate) trait Ops {
    fn all(&mut self, keys: &[&str]) -> Result<Vec<(usize, Seen)>>;
    fn one(&mut self, key: &str) -> Option<Seen>;
    fn value(&mut self, key: &str) -> Option<String>;
    fn keep(&mut self, mode: Mode, key: &str, value: &str) -> Result<Outcome>;
    fn set(&mut self, key: &str, value: &str) -> u64;
    fn set_until(&mut self, key: &str, value: &str, end: u32);
}

impl<S: Store> Ops for S {
    fn all(&mut self, keys: &[&str]) -> Result<Vec<(usize, Seen)>> {
        let keys: Vec<&[u8]> = keys.iter().map(|k| k.as_bytes()).collect();
        let mut seen = Vec::new();
        self.get(&keys, None, |at, item| {
            seen.push((at, (item.flags, item.cas, item.value.to_vec())));
            std::ops::ControlFlow::Continue(())
        })?;
        Ok(seen)
    }

    fn one(&mut self, key: &str) -> Option<Seen> {
        self.all(&[key]).expect("a read works").pop().map(|(_, seen)| seen)
    }

    fn value(&mut self, key: &str) -> Option<String> {
        self.one(key).map(|(_, _, value)| String::from_utf8_lossy(&value).into_owned())
    }

    fn keep(&mut self, mode: Mode, key: &str, value: &str) -> Result<Outcome> {
        let item = NewItem { flags: 0, expires: Expiry(0), value: value.as_bytes() };
        self.store(mode, key.as_bytes(), &item, 0)
    }

    fn set(&mut self, key: &str, value: &str) -> u64 {
        match self.keep(Mode::Set, key, value) {
            Ok(Outcome::Done(cas)) => cas,
            other => panic!("set {key}: {other:?}"),
        }
    }

    fn set_until(&mut self, key: &str, value: &str, end: u32) {
        let item = NewItem { flags: 0, expires: Expiry(end), value: value.as_bytes() };
        let done = self.store(Mode::Set, key.as_bytes(), &item, 0);
        assert!(matches!(done, Ok(Outcome::Done(_))), "set {key}: {done:?}");
    }
}

/// The text of a client's mistake.
pub(crate) fn mistake<R: std::fmt::Debug>(done: Result<R>) -> String {
    match done {
        Err(Failure::Client(text)) => text,
        other => panic!("expected a client's mistake, got {other:?}"),
    }
}
