//! A folder on a simulated disk with one table of several kinds of columns and indexes, and a model of its rows.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use vaquita_base::{ManualClock, Rng};
use vaquita_engine::ddl::{IndexSpec, TableSpec};
use vaquita_engine::stored::int;
use vaquita_engine::{
    Column, Direction, Engine, Options, ReadOptions, RowKey, RowRef, Session, Statement, Table,
};
use vaquita_format::PageSize;
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_format::index_def::{KeyPart, RowFormat};
use vaquita_io::sim::SimDisk;
use vaquita_storage::SystemFile;

pub(crate) const TABLE: &str = "test/t";
pub(crate) const PRIMARY: usize = 0;
pub(crate) const BY_A: usize = 1;
pub(crate) const BY_B: usize = 2;
pub(crate) const BY_A_T: usize = 3;
pub(crate) const BY_U: usize = 4;
pub(crate) const BY_C: usize = 5;
pub(crate) const INDEXES: [usize; 6] = [PRIMARY, BY_A, BY_B, BY_A_T, BY_U, BY_C];

/// A row: `a` INT, `b` VARBINARY indexed by a prefix, `t` case-insensitive text, `u` unique, `c` a BLOB that may lie off
/// the page, indexed by a prefix.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) id: i32,
    pub(crate) a: Option<i32>,
    pub(crate) b: Option<Vec<u8>>,
    pub(crate) t: Vec<u8>,
    pub(crate) u: Option<i32>,
    pub(crate) c: Option<Vec<u8>>,
}

impl std::fmt::Debug for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = |v: &Option<Vec<u8>>| match v {
            Some(v) if v.len() > 20 => format!("{} x {}", v.len(), v[0] as char),
            Some(v) => String::from_utf8_lossy(v).into_owned(),
            None => "NULL".to_owned(),
        };
        let (b, t, c) = (text(&self.b), String::from_utf8_lossy(&self.t), text(&self.c));
        write!(f, "({} a {:?} b {b} t {t:?} u {:?} c {c})", self.id, self.a, self.u)
    }
}

pub(crate) type Rows = BTreeMap<i32, Row>;

pub(crate) fn options(page_size: usize) -> Options {
    let page_size = PageSize::new(page_size).unwrap();
    let mut options = Options::new("/db");
    options.background = false;
    options.flush_log_at_trx_commit = 0;
    options.txn.rollback_segments = 2;
    options.storage = vaquita_storage::Options {
        page_size,
        buffer_pool_size: 2_000 * page_size.logical(),
        data_file_path: vec![SystemFile { name: "ibdata1".into(), size_bytes: 12 << 20 }],
        log_file_size: 16 << 20,
        ..vaquita_storage::Options::new("/db")
    };
    options
}

pub(crate) fn engine(seed: u64, page_size: usize) -> Engine {
    let disk = SimDisk::new(seed);
    disk.put_dir("/db".as_ref());
    Engine::open_with(Arc::new(disk), Arc::new(ManualClock::new()), options(page_size)).expect("it opens")
}

pub(crate) fn index(name: &str, parts: &[KeyPart], unique: bool) -> IndexSpec {
    IndexSpec { name: name.into(), parts: parts.to_vec(), unique, comment: String::new() }
}

pub(crate) fn create(engine: &Engine, format: RowFormat) -> Arc<Table> {
    let columns = vec![
        Column::new(ColumnDef::int("id", 4, false).not_null()),
        Column::new(ColumnDef::int("a", 4, false)),
        Column::new(ColumnDef::varbinary("b", 40)),
        Column::new(ColumnDef::varchar("t", 10, Charset::LATIN1).not_null()),
        Column::new(ColumnDef::int("u", 4, false)),
        Column::new(ColumnDef::blob("c", 3)),
    ];
    let spec = TableSpec {
        primary_key: Some(vec![KeyPart::whole(0)]),
        indexes: vec![
            index("a", &[KeyPart::whole(1)], false),
            index("b", &[KeyPart::prefix(2, 3)], false),
            index("a_t", &[KeyPart::whole(1), KeyPart::whole(3)], false),
            index("u", &[KeyPart::whole(4)], true),
            index("c", &[KeyPart::prefix(5, 10)], false),
        ],
        row_format: format,
        ..TableSpec::new(TABLE, columns)
    };
    create_table(engine, spec)
}

pub(crate) fn create_table(engine: &Engine, spec: TableSpec) -> Arc<Table> {
    let mut session = engine.session();
    session.create_table(&spec).unwrap();
    session.run(|s| s.table(&spec.name)).unwrap()
}

/// Stored values of a row, in table order.
pub(crate) fn values(row: &Row) -> Vec<Option<Vec<u8>>> {
    vec![
        Some(int(row.id).to_vec()),
        row.a.map(|a| int(a).to_vec()),
        row.b.clone(),
        Some(row.t.clone()),
        row.u.map(|u| int(u).to_vec()),
        row.c.clone(),
    ]
}

pub(crate) fn fields(values: &[Option<Vec<u8>>]) -> Vec<Option<&[u8]>> {
    values.iter().map(Option::as_deref).collect()
}

pub(crate) fn random_row(rng: &mut Rng, id: i32, long: usize) -> Row {
    let some = |rng: &mut Rng, of: u64| !rng.one_in(of);
    let bytes = |rng: &mut Rng, max: usize| {
        let len = rng.index(max + 1);
        let mut v: Vec<u8> = (0..len).map(|_| b'a' + rng.below(3) as u8).collect();
        v.truncate(max);
        v
    };
    Row {
        id,
        a: some(rng, 6).then(|| rng.below(8) as i32 - 4),
        b: some(rng, 6).then(|| bytes(rng, 6)),
        t: [&b"a"[..], b"A", b"a ", b"b", b"B", b"c"][rng.index(6)].to_vec(),
        u: some(rng, 5).then(|| id * 4 + rng.below(4) as i32),
        c: some(rng, 4)
            .then(|| if rng.one_in(3) { vec![b'x' + rng.below(3) as u8; long] } else { bytes(rng, 12) }),
    }
}

/// A whole row as a reader of all columns is shown it.
pub(crate) fn read(row: &RowRef<'_>) -> Row {
    let number = |v: &[u8]| vaquita_engine::stored::to_signed(v) as i32;
    let value = |i: usize| {
        let mut out = Vec::new();
        row.read_column(i, &mut out).unwrap().then_some(out)
    };
    Row {
        id: number(row.column(0).unwrap()),
        a: row.column(1).map(number),
        b: value(2),
        t: value(3).unwrap(),
        u: row.column(4).map(number),
        c: value(5),
    }
}

/// Text as latin1_swedish_ci compares it.
pub(crate) fn folded(t: &[u8]) -> Vec<u8> {
    let mut t = t.to_ascii_uppercase();
    while t.last() == Some(&b' ') {
        t.pop();
    }
    t
}

/// Rows in the order of an index.
pub(crate) fn in_order(rows: &Rows, index: usize) -> Vec<Row> {
    let mut out: Vec<Row> = rows.values().cloned().collect();
    let prefix = |v: &Option<Vec<u8>>, n: usize| v.as_ref().map(|v| v[..v.len().min(n)].to_vec());
    match index {
        PRIMARY => {}
        BY_A => out.sort_by_key(|r| (r.a, r.id)),
        BY_B => out.sort_by_key(|r| (prefix(&r.b, 3), r.id)),
        BY_A_T => out.sort_by_key(|r| (r.a, folded(&r.t), r.id)),
        BY_U => out.sort_by_key(|r| (r.u, r.id)),
        BY_C => out.sort_by_key(|r| (prefix(&r.c, 10), r.id)),
        _ => unreachable!(),
    }
    out
}

/// A row that depends on its id alone, without long values.
pub(crate) fn one(id: i32) -> Row {
    Row {
        id,
        a: Some(id + 1),
        b: Some(vec![b'b'; id as usize % 7]),
        t: b"t".to_vec(),
        u: Some(id * 4),
        c: Some(vec![b'c'; id as usize % 90]),
    }
}

/// Inserts rows, each in a transaction of its own.
pub(crate) fn fill(engine: &Engine, table: &Arc<Table>, rows: impl Iterator<Item = Row>) {
    let mut session = engine.session();
    for row in rows {
        let values = values(&row);
        session.run(|s| s.insert(table, &fields(&values))).unwrap();
    }
}

/// Ids of the rows that a scan gives, by ascending id.
pub(crate) fn scan_ids(
    session: &mut Session,
    table: &Arc<Table>,
    options: &ReadOptions,
) -> vaquita_engine::Result<Vec<i32>> {
    let mut ids = Vec::new();
    session.run(|s| {
        let mut cursor = s.cursor(table, options)?;
        s.for_each(&mut cursor, Direction::Forward, |row| {
            ids.push(vaquita_engine::stored::to_signed(row.column(0).unwrap()) as i32);
            ControlFlow::Continue(())
        })
    })?;
    ids.sort_unstable();
    Ok(ids)
}

/// Inserts a row in a statement.
pub(crate) fn insert(s: &mut Statement<'_>, table: &Arc<Table>, row: &Row) -> vaquita_engine::Result<RowKey> {
    let values = values(row);
    s.insert(table, &fields(&values))
}
