//! The engine under random transactions, used as a program would use it, without SQL.

use super::{ScratchEngine, isolation};
use crate::Level;
use crate::workload::{Database, Failure, GROUP, LIST_EVERY, List, Session};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use vaquita_engine::cursor::{ReadOptions, Seek};
use vaquita_engine::stored::{bigint, to_signed};
use vaquita_engine::{
    self as engine, AccessMode, Column, Error, Field, IndexSpec, ReadLock, RowKey, RowRef, Statement, Table,
    TableSpec,
};
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_format::index_def::KeyPart;

const LIST_BYTES: u32 = 4000;
/// Columns of the registers' table: key, group, value.
const KEY: usize = 0;
const VALUE: usize = 2;

/// An engine in a scratch folder.
#[derive(Debug)]
pub struct EngineDatabase {
    scratch: ScratchEngine,
    runs: AtomicU32,
    tables: Mutex<Option<Tables>>,
}

#[derive(Debug, Clone)]
struct Tables {
    list: Arc<Table>,
    register: Arc<Table>,
}

struct EngineSession {
    session: engine::Session,
    tables: Tables,
}

/// Plain reads of SERIALIZABLE transactions lock by themselves.
fn shared(lock: bool) -> ReadLock {
    if lock { ReadLock::Shared } else { ReadLock::None }
}

fn failure(e: Error) -> Failure {
    match e {
        Error::Deadlock(_) | Error::LockWaitTimeout => Failure::Aborted(e.to_string()),
        e => Failure::Broken(e.to_string()),
    }
}

fn stored(n: u64) -> [u8; 8] {
    bigint(n as i64)
}

fn loaded(bytes: Field<'_>) -> u64 {
    bytes.map_or(0, |bytes| to_signed(bytes) as u64)
}

fn elements(bytes: &[u8]) -> Vec<u64> {
    let text = String::from_utf8_lossy(bytes);
    text.split_terminator(',').filter_map(|element| element.parse().ok()).collect()
}

impl EngineDatabase {
    /// On a new engine.
    ///
    /// # Errors
    /// It does not open.
    pub fn open() -> Result<EngineDatabase, String> {
        Ok(EngineDatabase {
            scratch: ScratchEngine::open()?,
            runs: AtomicU32::new(0),
            tables: Mutex::default(),
        })
    }

    fn create(&self, session: &mut engine::Session) -> Result<Tables, Error> {
        let run = self.runs.fetch_add(1, Ordering::Relaxed);
        let number = |name: &str| Column::new(ColumnDef::int(name, 8, false).not_null());
        let letters = ColumnDef::varchar("v", LIST_BYTES, Charset::LATIN1).not_null();
        let mut list = TableSpec::new(format!("run{run}/list"), vec![number("k"), Column::new(letters)]);
        list.primary_key = Some(vec![KeyPart::whole(0)]);
        let mut register =
            TableSpec::new(format!("run{run}/register"), vec![number("k"), number("g"), number("v")]);
        register.primary_key = Some(vec![KeyPart::whole(0)]);
        register.indexes.push(IndexSpec {
            name: "gv".into(),
            parts: vec![KeyPart::whole(1), KeyPart::whole(2)],
            unique: false,
            comment: String::new(),
        });
        session.create_table(&list)?;
        session.create_table(&register)?;
        session.run(|s| Ok(Tables { list: s.table(&list.name)?, register: s.table(&register.name)? }))
    }
}

impl Database for EngineDatabase {
    fn prepare(&self, lists: u64, registers: u64) -> Result<(), Failure> {
        let mut session = self.scratch.engine().session();
        let tables = self.create(&mut session).map_err(failure)?;
        session
            .run(|s| {
                for key in (0..lists).step_by(LIST_EVERY as usize) {
                    s.insert(&tables.list, &[Some(&stored(key)), Some(b"")])?;
                }
                for key in 0..registers {
                    let row = [stored(key), stored(key / GROUP), stored(0)];
                    s.insert(&tables.register, &row.each_ref().map(|field| Some(field.as_slice())))?;
                }
                Ok(())
            })
            .map_err(failure)?;
        *self.tables.lock().unwrap_or_else(PoisonError::into_inner) = Some(tables);
        Ok(())
    }

    fn session(&self) -> Result<Box<dyn Session>, Failure> {
        let mut session = self.scratch.engine().session();
        session.settings.lock_wait_timeout = 5;
        let tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let tables = tables.ok_or_else(|| Failure::Broken("not prepared".into()))?;
        Ok(Box::new(EngineSession { session, tables }))
    }
}

impl EngineSession {
    /// The value column of the row with this key, with its key for a change.
    fn value_of(
        s: &mut Statement<'_>,
        table: &Arc<Table>,
        key: u64,
        lock: ReadLock,
    ) -> Result<Option<(RowKey, Vec<u8>)>, Error> {
        let mut cursor = s.cursor(table, &ReadOptions::by_index(0).locking(lock))?;
        cursor.seek(&[Some(&stored(key))], Seek::Equal)?;
        let Some(row) = s.next(&mut cursor)? else { return Ok(None) };
        let mut row_key = RowKey::default();
        row.row_key(&mut row_key)?;
        let mut value = Vec::new();
        row.read_column(table.columns.len() - 1, &mut value)?;
        Ok(Some((row_key, value)))
    }
}

impl Session for EngineSession {
    fn begin(&mut self, level: Level) -> Result<(), Failure> {
        self.session.settings.isolation = isolation(level);
        self.session.begin(AccessMode::ReadWrite, false).map_err(failure)
    }

    fn append(&mut self, key: u64, value: u64) -> Result<(), Failure> {
        let table = self.tables.list.clone();
        let element = format!("{value},");
        let inserted = self.session.run(|s| {
            s.insert(&table, &[Some(&stored(key)), Some(element.as_bytes())])?;
            Ok(())
        });
        match inserted {
            Err(Error::DuplicateKey { .. }) => {}
            other => return other.map_err(failure),
        }
        let changed = self.session.run(|s| {
            let Some((row, mut list)) = Self::value_of(s, &table, key, ReadLock::Exclusive)? else {
                return Ok(false);
            };
            list.extend_from_slice(element.as_bytes());
            s.update(&table, &row, &[(1, Some(&list))])
        });
        // Below REPEATABLE READ the duplicate's lock covers it too, so that it cannot go away in between.
        if changed.map_err(failure)? { Ok(()) } else { Err(Failure::Broken(format!("list {key} is gone"))) }
    }

    fn list(&mut self, key: u64, lock: bool) -> Result<Vec<u64>, Failure> {
        let lock = shared(lock);
        let table = self.tables.list.clone();
        let found = self.session.run(|s| Self::value_of(s, &table, key, lock)).map_err(failure)?;
        Ok(found.map(|(_, list)| elements(&list)).unwrap_or_default())
    }

    fn lists(&mut self, from: u64, to: u64, lock: bool) -> Result<Vec<List>, Failure> {
        let options = ReadOptions::by_index(0).locking(shared(lock));
        let table = self.tables.list.clone();
        let read = self.session.run(|s| {
            let mut cursor = s.cursor(&table, &options)?;
            cursor.seek(&[Some(&stored(from))], Seek::GreaterOrEqual)?;
            cursor.set_upper(&[Some(&stored(to))], false)?;
            let mut lists = Vec::new();
            while let Some(row) = s.next(&mut cursor)? {
                let mut list = Vec::new();
                row.read_column(1, &mut list)?;
                lists.push((loaded(row.column(0)), elements(&list)));
            }
            Ok(lists)
        });
        read.map_err(failure)
    }

    fn write(&mut self, key: u64, value: u64) -> Result<u64, Failure> {
        let table = self.tables.register.clone();
        let written = self.session.run(|s| {
            let Some((row, old)) = Self::value_of(s, &table, key, ReadLock::Exclusive)? else {
                return Ok(None);
            };
            s.update(&table, &row, &[(VALUE, Some(&stored(value)))])?;
            Ok(Some(loaded(Some(&old))))
        });
        written.map_err(failure)?.ok_or_else(|| Failure::Broken(format!("no register {key}")))
    }

    fn replace(&mut self, key: u64, value: u64) -> Result<u64, Failure> {
        let table = self.tables.register.clone();
        let written = self.session.run(|s| {
            let Some((row, old)) = Self::value_of(s, &table, key, ReadLock::Exclusive)? else {
                return Ok(None);
            };
            s.delete(&table, &row)?;
            let row = [stored(key), stored(key / GROUP), stored(value)];
            s.insert(&table, &row.each_ref().map(|field| Some(field.as_slice())))?;
            Ok(Some(loaded(Some(&old))))
        });
        written.map_err(failure)?.ok_or_else(|| Failure::Broken(format!("no register {key}")))
    }

    fn read(&mut self, key: u64, lock: bool) -> Result<Option<u64>, Failure> {
        let lock = shared(lock);
        let table = self.tables.register.clone();
        let found = self.session.run(|s| Self::value_of(s, &table, key, lock)).map_err(failure)?;
        Ok(found.map(|(_, value)| loaded(Some(&value))))
    }

    fn group(&mut self, group: u64, lock: bool) -> Result<Vec<(u64, u64)>, Failure> {
        // The index has both columns: the rows themselves need not be read.
        let options = ReadOptions::by_index(1).locking(shared(lock)).columns([KEY, VALUE]);
        let table = self.tables.register.clone();
        let read = self.session.run(|s| {
            let mut cursor = s.cursor(&table, &options)?;
            cursor.seek(&[Some(&stored(group))], Seek::Equal)?;
            let mut rows = Vec::new();
            let pair = |row: &RowRef<'_>| (loaded(row.column(0)), loaded(row.column(1)));
            while let Some(row) = s.next(&mut cursor)? {
                rows.push(pair(&row));
            }
            Ok(rows)
        });
        read.map_err(failure)
    }

    fn savepoint(&mut self) -> Result<(), Failure> {
        self.session.savepoint("s");
        Ok(())
    }

    fn rollback_to_savepoint(&mut self) -> Result<(), Failure> {
        self.session.rollback_to_savepoint("s").map_err(failure)
    }

    fn commit(&mut self) -> Result<(), Failure> {
        self.session.commit().and_then(|done| done.wait()).map_err(failure)
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        self.session.rollback().map_err(failure)
    }
}
