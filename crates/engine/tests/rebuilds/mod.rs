//! Tables that are written anew while others read and change the rows.
#![allow(clippy::unwrap_used, reason = "a test")]

mod collations;
mod cut_off;
mod order;
mod threads;

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use vaquita_base::ManualClock;
use vaquita_engine::check::check_table;
use vaquita_engine::{
    AccessMode, Column, Concurrency, ConvertRow, Engine, Error, Field, IndexSpec, KeptKeys, Numbered,
    Options, ReadOptions, Result, RowKey, Session, TableSpec, stored,
};
use vaquita_format::PageSize;
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_format::index_def::KeyPart;
use vaquita_io::FileSystem;
use vaquita_io::sim::SimDisk;
use vaquita_storage::SystemFile;

pub(crate) const TABLE: &str = "d/t";
pub(crate) const ANEW: &str = "d/#sql-vq1";
pub(crate) const ROWS: i32 = 400;

type Event = Box<dyn FnOnce()>;

/// Keeps all columns and gives a new one a value; something happens at one of the rows.
pub(crate) struct Keep {
    pub(crate) origins: Vec<Option<usize>>,
    pub(crate) at: u32,
    pub(crate) event: Option<Event>,
    kind: Kind,
    number: [u8; 4],
}

impl Keep {
    pub(crate) fn new(kind: Kind, origins: &[Option<usize>], at: u32, event: Option<Event>) -> Keep {
        Keep { origins: origins.to_vec(), at, event, kind, number: [0; 4] }
    }
}

impl ConvertRow<Error> for Keep {
    fn convert(&mut self, row: &[Field<'_>], with: &mut dyn FnMut(&[Field<'_>]) -> Result<()>) -> Result<()> {
        if self.at == 0
            && let Some(event) = self.event.take()
        {
            event();
        }
        self.at = self.at.saturating_sub(1);
        let is_new = if self.kind.numbers() { &self.number[..] } else { b"new" };
        let mut new: Vec<Field<'_>> =
            self.origins.iter().map(|o| o.map_or(Some(is_new), |at| row[at])).collect();
        let turned;
        if self.kind == Kind::Turned {
            turned = turn(row[0].unwrap());
            new[0] = Some(&turned);
        }
        if new.contains(&Some(b"no such value")) {
            return Err(Error::NullNotAllowed { table: TABLE.into(), column: "v".into() });
        }
        with(&new)
    }

    fn numbered(&self) -> Option<Numbered> {
        self.kind.numbers().then_some(Numbered { column: 4, is_new: true, step: 1, offset: 1 })
    }

    fn number(&mut self, number: Option<u64>) {
        self.number = stored::int(number.unwrap() as i32);
    }
}

/// An INT of the other end of the order.
fn turn(stored: &[u8]) -> Vec<u8> {
    stored.iter().map(|byte| !byte).collect()
}

fn index(name: &str, parts: Vec<KeyPart>, unique: bool) -> IndexSpec {
    IndexSpec { name: name.into(), parts, unique, comment: String::new() }
}

/// `id`, a number that no two rows share, text, and a value that may be off the page.
pub(crate) fn spec() -> TableSpec {
    let columns = vec![
        Column::new(ColumnDef::int("id", 4, false).not_null()),
        Column::new(ColumnDef::int("own", 8, false).not_null()),
        Column::new(ColumnDef::varchar("v", 200, Charset::LATIN1)),
        Column::new(ColumnDef::blob("b", 4)),
    ];
    let mut spec = TableSpec::new(TABLE, columns);
    spec.primary_key = Some(vec![KeyPart::whole(0)]);
    spec.indexes = vec![
        index("by_own", vec![KeyPart::whole(1)], true),
        index("by_v", vec![KeyPart::prefix(2, 30), KeyPart::prefix(3, 40)], false),
    ];
    spec
}

/// How a table becomes another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The same once more.
    Same,
    /// Columns in another order, and a new one.
    Columns,
    /// The other unique column is the key.
    OtherKey,
    /// There is none any more.
    NoKey,
    /// It has other values, in another order.
    Turned,
    /// Rows get numbers.
    Numbered,
    /// These are the key.
    NumberKey,
}

impl Kind {
    pub(crate) const ALL: [Kind; 7] = [
        Kind::Same,
        Kind::Columns,
        Kind::OtherKey,
        Kind::NoKey,
        Kind::Turned,
        Kind::Numbered,
        Kind::NumberKey,
    ];

    fn numbers(self) -> bool {
        matches!(self, Kind::Numbered | Kind::NumberKey)
    }

    /// What the engine is told of the columns' origins.
    pub(crate) fn told(self, origins: &[Option<usize>]) -> Vec<Option<usize>> {
        let mut told = origins.to_vec();
        if self == Kind::Turned {
            told[0] = None;
        }
        told
    }

    /// The new definition, and where its columns come from.
    pub(crate) fn of(self, old: &TableSpec) -> (TableSpec, Vec<Option<usize>>) {
        let mut spec = TableSpec { name: ANEW.into(), ..old.clone() };
        let mut origins: Vec<Option<usize>> = (0..spec.columns.len()).map(Some).collect();
        match self {
            Kind::Same => {}
            Kind::Columns => {
                spec.columns.insert(0, Column::new(ColumnDef::varchar("new", 10, Charset::LATIN1)));
                spec.columns.swap(2, 4);
                origins.insert(0, None);
                origins.swap(2, 4);
                let moved = |part: &KeyPart| {
                    let column = origins.iter().position(|o| *o == Some(part.column)).unwrap();
                    KeyPart { column, ..*part }
                };
                spec.primary_key = spec.primary_key.map(|key| key.iter().map(moved).collect());
                spec.indexes.iter_mut().for_each(|i| i.parts = i.parts.iter().map(moved).collect());
            }
            Kind::OtherKey => {
                spec.primary_key = Some(vec![KeyPart::whole(1)]);
                spec.indexes[0] = index("by_id", vec![KeyPart::whole(0)], true);
            }
            Kind::NoKey => {
                spec.primary_key = None;
                spec.indexes[0] = index("by_id", vec![KeyPart::whole(0)], false);
            }
            Kind::Turned => {}
            Kind::Numbered | Kind::NumberKey => {
                let number = Column::new(ColumnDef::int("number", 4, false).not_null());
                spec.columns.push(Column { auto_increment: true, ..number });
                origins.push(None);
                spec.indexes.push(index("by_number", vec![KeyPart::whole(4)], true));
                if self == Kind::NumberKey {
                    spec.primary_key = Some(vec![KeyPart::whole(4)]);
                    spec.indexes[2] = index("by_id", vec![KeyPart::whole(0)], true);
                }
            }
        }
        (spec, origins)
    }
}

pub(crate) fn options() -> Options {
    let mut options = Options { background: false, sort_buffer_size: 8 << 10, ..Options::new("/db") };
    options.storage.page_size = PageSize::new(4096).unwrap();
    options.storage.buffer_pool_size = 100 * 4096;
    options.storage.log_file_size = 1 << 20;
    options.storage.data_file_path = vec![SystemFile { name: "ibdata1".into(), size_bytes: 4 << 20 }];
    options.txn.rollback_segments = 2;
    options
}

/// A folder with a table of some rows.
pub(crate) struct Bed {
    pub(crate) disk: SimDisk,
    pub(crate) engine: Arc<Engine>,
}

impl Bed {
    pub(crate) fn open(disk: SimDisk, fs: Arc<dyn FileSystem>) -> Bed {
        let engine = Engine::open_with(fs, Arc::new(ManualClock::new()), options()).unwrap();
        Bed { disk, engine: Arc::new(engine) }
    }

    pub(crate) fn new() -> Bed {
        let disk = SimDisk::new(5);
        disk.put_dir("/db".as_ref());
        let bed = Bed::open(disk.clone(), Arc::new(disk));
        let mut session = bed.engine.session();
        session.create_table(&spec()).unwrap();
        (0..ROWS).for_each(|id| insert(&mut session, id, &format!("row {id}")).unwrap());
        bed
    }

    /// Writes the table anew, with something happening at a row.
    pub(crate) fn rebuild(&self, session: &mut Session, kind: Kind, at: u32, event: Event) -> Result<()> {
        let (spec, origins) = kind.of(&spec());
        let keep = Keep::new(kind, &origins, at, Some(event));
        let keys = KeptKeys::default();
        session
            .rebuild_table_beside(TABLE, &spec, keys, &kind.told(&origins), Concurrency::Writes, |_, _| {
                Ok::<_, Error>(keep)
            })
            .map(drop)
    }

    /// `id` and `number` of all rows.
    fn numbers(&self) -> Vec<(i64, u64)> {
        let table = self.engine.core().table(TABLE).unwrap();
        let mut session = self.engine.session();
        let rows = session.run(|s| {
            let mut cursor = s.cursor(&table, &ReadOptions::default())?;
            let mut rows = Vec::new();
            while let Some(row) = s.next(&mut cursor)? {
                let number = |column| stored::to_signed(row.column(column).unwrap());
                rows.push((number(0), number(4) as u64));
            }
            Ok(rows)
        });
        rows.unwrap()
    }

    /// All rows by `id` are whole; the values of `v` in the order of `id`. No other file is there, and no page is lost.
    pub(crate) fn whole(&self) -> Vec<(i64, String)> {
        let core = self.engine.core();
        while core.rollback_step().unwrap() {}
        while core.purge_step().unwrap() {}
        let table = core.table(TABLE).unwrap();
        let report = check_table(core, &table).unwrap();
        assert!(report.is_purged(), "{report:?}");
        assert_eq!(report.leaked_pages(), 0);
        let files: Vec<_> = self.disk.files().into_iter().filter(|f| f.starts_with("/db/d")).collect();
        assert_eq!(files, [std::path::PathBuf::from("/db/d/t.ibd")]);
        let sorts = self.disk.files().iter().filter(|f| f.to_string_lossy().contains("#sql")).count();
        assert_eq!(sorts, 0);
        let (id, v) = (table.column("id").unwrap(), table.column("v").unwrap());
        let mut session = self.engine.session();
        let mut rows = session
            .run(|s| {
                let mut cursor = s.cursor(&table, &ReadOptions::default())?;
                let mut rows = Vec::new();
                while let Some(row) = s.next(&mut cursor)? {
                    let text = String::from_utf8_lossy(row.column(v).unwrap_or(b"NULL")).into_owned();
                    rows.push((stored::to_signed(row.column(id).unwrap()), text));
                }
                Ok(rows)
            })
            .unwrap();
        rows.sort();
        rows
    }
}

pub(crate) fn insert(s: &mut Session, id: i32, v: &str) -> Result<()> {
    let b = vec![id as u8; if id % 7 == 0 { 6_000 } else { 30 }];
    insert_own(s, id, 100_000 - i64::from(id), v, &b)
}

fn insert_own(s: &mut Session, id: i32, own: i64, v: &str, b: &[u8]) -> Result<()> {
    s.run(|s| {
        let table = s.table(TABLE)?;
        let row = [Some(&stored::int(id)[..]), Some(&stored::bigint(own)), Some(v.as_bytes()), Some(b)];
        s.insert(&table, &row).map(drop)
    })
}

pub(crate) fn update(s: &mut Session, id: i32, changes: &[(usize, Field<'_>)]) -> Result<bool> {
    s.run(|s| {
        let table = s.table(TABLE)?;
        s.update(&table, &RowKey::new([&stored::int(id)[..]]), changes)
    })
}

pub(crate) fn delete(s: &mut Session, id: i32) -> Result<bool> {
    s.run(|s| {
        let table = s.table(TABLE)?;
        s.delete(&table, &RowKey::new([&stored::int(id)[..]]))
    })
}

/// Changes of all kinds, some of them taken back.
pub(crate) fn some_changes(s: &mut Session) -> Result<()> {
    insert(s, ROWS, "a new one")?;
    assert!(update(s, 5, &[(2, Some(b"another value"))])?);
    assert!(update(s, 14, &[(3, Some(&[9; 9_000]))])?);
    assert!(update(s, 21, &[(3, None)])?);
    assert!(delete(s, 7)?);
    assert!(delete(s, 8)?);
    insert(s, 8, "it is back")?;
    // Two that exchange what no two rows may share.
    let own = |n: i64| stored::bigint(n);
    assert!(update(s, 40, &[(1, Some(&own(1)))])?);
    assert!(update(s, 41, &[(1, Some(&own(100_000 - 40)))])?);
    assert!(update(s, 40, &[(1, Some(&own(100_000 - 41)))])?);
    // One whose key changes.
    assert!(update(s, 30, &[(0, Some(&stored::int(ROWS + 9)))])?);
    s.begin(AccessMode::ReadWrite, false)?;
    insert(s, ROWS + 1, "never was")?;
    assert!(update(s, 50, &[(2, Some(b"not for long")), (3, Some(&[1; 9_000]))])?);
    assert!(delete(s, 51)?);
    assert!(delete(s, ROWS)?);
    insert(s, ROWS, "over what was deleted")?;
    assert!(update(s, 52, &[(1, Some(&own(2)))])?);
    s.rollback()?;
    // One that fails half-way: the number is taken.
    match update(s, 60, &[(1, Some(&own(100_000 - 61)))]) {
        Err(Error::DuplicateKey { .. }) => Ok(()),
        Err(e) => Err(e),
        Ok(_) => panic!("two rows have the number"),
    }
}

/// What the table holds then.
pub(crate) fn after_some_changes() -> Vec<(i64, String)> {
    let value = |id: i32| match id {
        5 => Some("another value".to_owned()),
        8 => Some("it is back".to_owned()),
        7 | 30 => None,
        id if id == ROWS => Some("a new one".to_owned()),
        id if id == ROWS + 9 => Some("row 30".to_owned()),
        id if id > ROWS => None,
        id => Some(format!("row {id}")),
    };
    (0..ROWS + 10).filter_map(|id| Some((i64::from(id), value(id)?))).collect()
}

/// What others commit or take back while the table is written anew is in it, wherever the scan is then.
#[test]
fn changes_made_meanwhile_are_in_the_new_table() {
    for kind in Kind::ALL {
        for at in [0, 20, ROWS as u32 - 1] {
            let bed = Bed::new();
            let before = bed.engine.core().table(TABLE).unwrap().id;
            let other = bed.engine.session();
            let event = move || some_changes(&mut { other }).unwrap();
            bed.rebuild(&mut bed.engine.session(), kind, at, Box::new(event)).unwrap();
            let table = bed.engine.core().table(TABLE).unwrap();
            assert_ne!(table.id, before);
            let mut rows = bed.whole();
            if kind == Kind::Turned {
                rows = rows.into_iter().map(|(id, v)| (-1 - id, v)).rev().collect();
            }
            assert!(rows == after_some_changes(), "{kind:?} at {at}");
            if kind.numbers() {
                numbers_are_kept(&bed.numbers());
                let next = bed.engine.session().statement().next_auto_inc(&table).unwrap();
                assert!(next > bed.numbers().into_iter().map(|(_, number)| number).max(), "{next:?}");
            }
        }
    }
}

/// The rows that were there have the numbers that the scan gave them, whatever became of them; others have greater ones.
fn numbers_are_kept(numbers: &[(i64, u64)]) {
    let mut seen = std::collections::HashSet::new();
    for &(id, number) in numbers {
        assert!(seen.insert(number), "{id} has {number}, as another one");
        match id < i64::from(ROWS) {
            true => assert_eq!(number as i64, id + 1),
            false => assert!(number > ROWS as u64, "{id} has {number}"),
        }
    }
}

/// Rows without a key get one; their DB_ROW_ID is how they are known until then.
#[test]
fn a_table_without_a_key_gets_one_beside_writers() {
    let bed = Bed::new();
    let mut session = bed.engine.session();
    session.drop_table(TABLE).unwrap();
    let mut keyless = spec();
    keyless.primary_key = None;
    keyless
        .columns
        .iter_mut()
        .take(2)
        .for_each(|c| *c = Column::new(ColumnDef::int(&c.def.name, c.def.len, false)));
    keyless.indexes = vec![index("by_id", vec![KeyPart::whole(0)], false)];
    session.create_table(&keyless).unwrap();
    (0..ROWS).for_each(|id| insert(&mut session, ROWS - id, "a row").unwrap());
    let (new, origins) = Kind::Same.of(&spec());
    let mut other = bed.engine.session();
    let event = move || {
        for id in [3, 4, 5] {
            let mut keys = Vec::new();
            other
                .run(|s| {
                    let table = s.table(TABLE)?;
                    let mut cursor = s.cursor(&table, &ReadOptions::by_index(1))?;
                    cursor.seek(&[Some(&stored::int(id))], vaquita_engine::Seek::Equal)?;
                    while let Some(row) = s.next(&mut cursor)? {
                        let mut key = RowKey::default();
                        row.row_key(&mut key)?;
                        keys.push(key);
                    }
                    for key in &keys {
                        match id {
                            3 => drop(s.delete(&table, key)?),
                            4 => drop(s.update(&table, key, &[(0, Some(&stored::int(ROWS + 50)))])?),
                            _ => drop(s.update(&table, key, &[(2, Some(b"changed"))])?),
                        }
                    }
                    Ok(())
                })
                .unwrap();
            assert_eq!(keys.len(), 1);
        }
        insert(&mut other, 3, "in its place").unwrap();
    };
    let keep = Keep::new(Kind::Same, &origins, 100, Some(Box::new(event)));
    session
        .rebuild_table_beside(TABLE, &new, KeptKeys::default(), &origins, Concurrency::Writes, |_, _| {
            Ok::<_, Error>(keep)
        })
        .unwrap();
    let want = (1..=ROWS + 50).filter_map(|id| {
        let text = match id {
            3 => "in its place",
            4 => return None,
            5 => "changed",
            id if id > ROWS && id < ROWS + 50 => return None,
            _ => "a row",
        };
        Some((i64::from(id), text.to_owned()))
    });
    assert!(bed.whole() == want.collect::<Vec<_>>());
}

#[test]
fn what_cannot_be_converted_or_is_there_twice_ends_it() {
    for (sql_like, event) in [
        (
            "a value",
            Box::new(|s: &mut Session| assert!(update(s, 9, &[(2, Some(b"no such value"))]).unwrap()))
                as Box<dyn Fn(&mut Session)>,
        ),
        ("an open transaction", Box::new(|_: &mut Session| {})),
    ] {
        let bed = Bed::new();
        let other = Arc::new(Mutex::new(bed.engine.session()));
        let of_event = other.clone();
        let stays_open = sql_like == "an open transaction";
        let happens = move || {
            let mut s = of_event.lock();
            if stays_open {
                s.begin(AccessMode::ReadWrite, false).unwrap();
                assert!(update(&mut s, 3, &[(2, Some(b"not committed"))]).unwrap());
            }
            event(&mut s);
        };
        let mut session = bed.engine.session();
        session.settings.metadata_lock_timeout = 0;
        let done = bed.rebuild(&mut session, Kind::Columns, 30, Box::new(happens));
        match stays_open {
            true => assert!(matches!(&done, Err(Error::MetadataLockTimeout(t)) if t == TABLE), "{done:?}"),
            false => assert!(matches!(done, Err(Error::NullNotAllowed { .. })), "{done:?}"),
        }
        let mut s = other.lock();
        assert!(update(&mut s, 4, &[(2, Some(b"as before"))]).unwrap());
        s.commit().unwrap().wait().unwrap();
        drop(s);
        assert_eq!(bed.whole().len(), ROWS as usize);
        assert_eq!(bed.engine.core().table(TABLE).unwrap().columns.len(), 4);
    }
}

/// A key that rows share, by what was there or by what somebody writes meanwhile, is 1062.
#[test]
fn a_key_that_rows_share_ends_it() {
    for meanwhile in [false, true] {
        let bed = Bed::new();
        let mut session = bed.engine.session();
        let mut other = bed.engine.session();
        let twice = move || {
            assert!(update(&mut other, 8, &[(2, Some(b"row 9"))]).unwrap());
        };
        let event: Event = if meanwhile {
            Box::new(twice)
        } else {
            let mut twice = twice;
            twice();
            Box::new(|| {})
        };
        let (mut new, origins) = Kind::Same.of(&spec());
        new.columns[2] = Column::new(ColumnDef::varchar("v", 200, Charset::LATIN1).not_null());
        new.primary_key = Some(vec![KeyPart::whole(2)]);
        let keep = Keep::new(Kind::Same, &origins, 100, Some(event));
        let done = session.rebuild_table_beside(
            TABLE,
            &new,
            KeptKeys::default(),
            &origins,
            Concurrency::Writes,
            |_, _| Ok::<_, Error>(keep),
        );
        match done.map(drop) {
            Err(Error::DuplicateKey { index, value, .. }) => {
                assert_eq!((&*index, &*value), ("PRIMARY", "row 9"))
            }
            other => panic!("{meanwhile}: {other:?}"),
        }
        assert_eq!(bed.whole().len(), ROWS as usize);
    }
}

#[test]
fn a_log_that_outgrows_its_limit_ends_it() {
    let bed = Bed::new();
    bed.engine.core().live.online_alter_log_max_size.store(64 << 10, Ordering::Relaxed);
    let mut other = bed.engine.session();
    let many = move || {
        (0..9_000).for_each(|n| {
            assert!(update(&mut other, n % 50, &[(2, Some(format!("{n}").as_bytes()))]).unwrap())
        })
    };
    let done = bed.rebuild(&mut bed.engine.session(), Kind::Same, 10, Box::new(many));
    assert!(matches!(&done, Err(Error::OnlineLogTooBig(table)) if table == TABLE), "{done:?}");
    assert_eq!(bed.whole().len(), ROWS as usize);
}

/// A view that was opened before the tables changed places does not see the new one, when ever it was opened.
#[test]
fn older_views_do_not_see_the_new_table() {
    let bed = Bed::new();
    let old = Arc::new(Mutex::new(bed.engine.session()));
    let of_event = old.clone();
    let event = move || of_event.lock().begin(AccessMode::ReadWrite, true).unwrap();
    bed.rebuild(&mut bed.engine.session(), Kind::Same, 10, Box::new(event)).unwrap();
    let read = |s: &mut Session| {
        s.run(|s| {
            let table = s.table(TABLE)?;
            let mut cursor = s.cursor(&table, &ReadOptions::default())?;
            Ok(s.next(&mut cursor)?.is_some())
        })
    };
    let mut s = old.lock();
    assert!(matches!(read(&mut s), Err(Error::ViewTooOld(_))));
    s.commit().unwrap().wait().unwrap();
    assert!(read(&mut s).unwrap());
}
