//! Looking at the database: tables as the model has them, and whether everything is in order when all is quiet.

use super::model::{Db, Key, Row, Shape, TableModel, difference};
use super::run::DIR;
use super::shapes;
use super::work::Halt;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;
use vaquita_engine::check::check_table;
use vaquita_engine::{Engine, Error, ReadOptions, RowKey, Statement};
use vaquita_io::sim::SimDisk;

/// All rows a statement sees in a table, by one of its indexes.
pub(super) fn read_table(
    s: &mut Statement<'_>,
    name: &str,
    shape: Shape,
    index: usize,
    backward: bool,
) -> Result<BTreeMap<Key, Row>, Error> {
    let table = s.table(name)?;
    let mut cursor = s.cursor(&table, &ReadOptions::by_index(index))?;
    if backward {
        cursor.seek_last();
    } else {
        cursor.seek_first();
    }
    let mut rows = BTreeMap::new();
    let mut key = RowKey::default();
    loop {
        let row = match backward {
            true => s.prev(&mut cursor)?,
            false => s.next(&mut cursor)?,
        };
        let Some(row) = row else { return Ok(rows) };
        let mut values = Vec::with_capacity(row.n_columns());
        for i in 0..row.n_columns() {
            let mut value = Vec::new();
            values.push(row.read_column(i, &mut value)?.then_some(value));
        }
        row.row_key(&mut key)?;
        if rows.insert(shapes::model_key(shape, &key), values).is_some() {
            return Err(Error::Corrupt(format!("{name}: index {index} shows a row twice")));
        }
    }
}

/// Every table, as a new session sees it. `known` says what shape tables have; tables it does not know, because a
/// statement was cut off, are told by their columns.
pub(super) fn read_all(engine: &Engine, known: &Db) -> Result<Db, Halt> {
    let mut session = engine.session();
    session.settings.lock_wait_timeout = 0;
    session.settings.metadata_lock_timeout = 0;
    let mut found = Db::new();
    for name in engine.core().user_tables()? {
        let (columns, indexes) = session.run(|s| {
            let table = s.table(&name)?;
            Ok((table.columns.len(), table.indexes.len()))
        })?;
        let shape = known.get(&name).map_or_else(|| shape_of(columns), |table| table.shape);
        let extra = indexes > shapes::n_indexes(shape);
        let mut by_index: Option<BTreeMap<Key, Row>> = None;
        for index in 0..indexes {
            let rows = session.run(|s| read_table(s, &name, shape, index, index == 1))?;
            match &by_index {
                Some(first) if *first != rows => {
                    let wrap = |rows| wrap(&name, TableModel { shape, rows, extra });
                    let (a, b) = (wrap(first.clone()), wrap(rows));
                    let text = format!("index {index} and the rows disagree: {}", difference(&a, &b));
                    return Err(Halt::Wrong(text));
                }
                Some(_) => {}
                None => by_index = Some(rows),
            }
        }
        found.extend(wrap(&name, TableModel { shape, rows: by_index.unwrap_or_default(), extra }));
    }
    Ok(found)
}

fn wrap(name: &str, table: TableModel) -> Db {
    Db::from([(name.to_owned(), Rc::new(table))])
}

pub(super) fn shape_of(columns: usize) -> Shape {
    match columns {
        4 => Shape::Simple,
        2 => Shape::Keyless,
        _ => Shape::Composite,
    }
}

/// Nothing runs: after purge the history is empty, the indexes agree, files are those of the tables.
pub(super) fn all_quiet_or(engine: &Engine, disk: &SimDisk, tables: &Db) -> Result<(), Halt> {
    let files = disk.files().into_iter().map(|p| p.to_string_lossy().into_owned());
    let files: BTreeSet<String> = files.filter(|p| p.ends_with(".ibd")).collect();
    all_quiet_with(engine, DIR, &files, tables)
}

/// The same of a folder with these tablespace files.
pub(super) fn all_quiet_with(
    engine: &Engine,
    dir: &str,
    files: &BTreeSet<String>,
    tables: &Db,
) -> Result<(), Halt> {
    let core = engine.core();
    while core.rollback_step()? {}
    while core.purge_step()? {}
    if core.txn.history_len() != 0 {
        return Err(Halt::Wrong(format!("{} undo logs are left when all is purged", core.txn.history_len())));
    }
    for name in tables.keys() {
        let table = core.table(name)?;
        let report = match check_table(core, &table) {
            Ok(report) => report,
            Err(Error::Corrupt(text)) => return Err(Halt::Wrong(format!("{name}: {text}"))),
            Err(other) => return Err(other.into()),
        };
        if !report.is_purged() {
            return Err(Halt::Wrong(format!("{name} is not purged: {report:?}")));
        }
    }
    files_are_tables(engine, dir, files, tables).map_err(Halt::Wrong)
}

fn files_are_tables(engine: &Engine, dir: &str, found: &BTreeSet<String>, tables: &Db) -> Result<(), String> {
    let core = engine.core();
    let mut wanted = BTreeSet::new();
    for name in tables.keys() {
        let table = core.table(name).map_err(|e| e.to_string())?;
        if table.space.get() != 0 {
            wanted.insert(format!("{dir}/{name}.ibd"));
        }
    }
    match *found == wanted {
        true => Ok(()),
        false => Err(format!("files {found:?}, but the tables have {wanted:?}")),
    }
}

/// The tablespace files below a real folder.
pub(super) fn ibd_files(dir: &Path) -> BTreeSet<String> {
    let folders = std::fs::read_dir(dir).into_iter().flatten().flatten().filter(|e| e.path().is_dir());
    let files = folders.flat_map(|f| std::fs::read_dir(f.path()).into_iter().flatten().flatten());
    files.map(|f| f.path().to_string_lossy().into_owned()).filter(|p| p.ends_with(".ibd")).collect()
}

/// The same on a sound disk.
pub(super) fn all_quiet(engine: &Engine, disk: &SimDisk, tables: &Db) -> Result<(), String> {
    match all_quiet_or(engine, disk, tables) {
        Ok(()) => Ok(()),
        Err(Halt::Wrong(text)) => Err(text),
        Err(Halt::Engine(e)) => Err(format!("when all was quiet: {e} ({e:?})")),
    }
}
