//! Runs the statements of a script on a session of the engine, as MySQL's SQL layer runs them on a handler.
//!
//! Rows that do not match are unlocked at once (which the engine does below REPEATABLE READ only), an UPDATE below
//! REPEATABLE READ reads semi-consistently, an UPDATE that changes nothing is no update, and one that would move the rows
//! it reads finds them all first.

use super::access::{Access, Place, choose};
use super::{isolation, schema};
use crate::Level;
use crate::script::{Plan, Reply};
use crate::sql::{self, Aggregate, Expr, Item, LockClause, Value};
use std::sync::Arc;
use vaquita_engine::cursor::{ReadOptions, Seek};
use vaquita_engine::{AccessMode, Cursor, Error, Field, ReadLock, RowKey, Session, Statement, Table};

const ER_DUP_ENTRY: u16 = 1062;
const ER_LOCK_WAIT_TIMEOUT: u16 = 1205;
const ER_LOCK_DEADLOCK: u16 = 1213;
const ER_BAD_NULL_ERROR: u16 = 1048;
const ER_QUERY_INTERRUPTED: u16 = 1317;
const ER_SP_DOES_NOT_EXIST: u16 = 1305;

/// Why a statement was not done.
#[derive(Debug)]
enum Trouble {
    /// The engine said no: an outcome.
    Engine(Error),
    /// The script or this executor is wrong.
    Broken(String),
}

impl From<Error> for Trouble {
    fn from(e: Error) -> Self {
        Trouble::Engine(e)
    }
}

impl From<String> for Trouble {
    fn from(text: String) -> Self {
        Trouble::Broken(text)
    }
}

type Done<T> = Result<T, Trouble>;

/// A row that was read.
struct Row {
    table: Arc<Table>,
    values: Vec<Value>,
}

impl sql::Row for Row {
    fn value(&self, column: &str) -> Option<Value> {
        self.values.get(self.table.column(column)?).cloned()
    }
}

/// One session of a script.
#[derive(Debug)]
pub(super) struct Executor {
    session: Session,
    /// Before table names.
    prefix: String,
}

impl Executor {
    pub(super) fn new(mut session: Session, prefix: &str, level: Level) -> Executor {
        session.settings.isolation = isolation(level);
        Executor { session, prefix: prefix.to_owned() }
    }

    pub(super) fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    pub(super) fn execute(&mut self, text: &str, plan: Option<&Plan>) -> Reply {
        let done = match sql::parse(text) {
            Ok(statement) => self.run(&statement, plan),
            Err(e) => Err(Trouble::Broken(e)),
        };
        done.unwrap_or_else(|trouble| {
            let code = match trouble {
                Trouble::Broken(text) => return Reply::Broken(text),
                Trouble::Engine(Error::DuplicateKey { .. }) => ER_DUP_ENTRY,
                Trouble::Engine(Error::LockWaitTimeout) => ER_LOCK_WAIT_TIMEOUT,
                Trouble::Engine(Error::Deadlock(_)) => ER_LOCK_DEADLOCK,
                Trouble::Engine(Error::NullNotAllowed { .. }) => ER_BAD_NULL_ERROR,
                Trouble::Engine(Error::Interrupted) => ER_QUERY_INTERRUPTED,
                Trouble::Engine(Error::NoSuchSavepoint(_)) => ER_SP_DOES_NOT_EXIST,
                Trouble::Engine(other) => return Reply::Broken(other.to_string()),
            };
            Reply::Error(code)
        })
    }

    fn run(&mut self, statement: &sql::Statement, plan: Option<&Plan>) -> Done<Reply> {
        match statement {
            sql::Statement::CreateTable { table, columns, keys } => {
                let spec = schema::table_spec(&format!("{}/{table}", self.prefix), columns, keys)?;
                self.session.create_table(&spec)?;
            }
            sql::Statement::Begin { snapshot } => self.session.begin(AccessMode::ReadWrite, *snapshot)?,
            sql::Statement::Commit => self.session.commit()?.wait()?,
            sql::Statement::Rollback => self.session.rollback()?,
            sql::Statement::Savepoint(name) => self.session.savepoint(name),
            sql::Statement::RollbackTo(name) => self.session.rollback_to_savepoint(name)?,
            sql::Statement::SetLevel(level) => self.session.settings.isolation = isolation(*level),
            sql::Statement::SetLockWaitTimeout(seconds) => {
                self.session.settings.lock_wait_timeout = *seconds;
            }
            rows => return self.run_on_rows(rows, plan),
        }
        Ok(Reply::Affected(0))
    }

    /// A statement in the engine's sense. What is not the engine's error must not pass through it.
    fn run_on_rows(&mut self, statement: &sql::Statement, plan: Option<&Plan>) -> Done<Reply> {
        let prefix = self.prefix.clone();
        let mut broken = None;
        let done = self.session.run(|s| {
            let mut work = Work { s, prefix: &prefix, plan };
            match work.run(statement) {
                Ok(reply) => Ok(reply),
                Err(Trouble::Engine(e)) => Err(e),
                Err(Trouble::Broken(text)) => {
                    broken = Some(text);
                    Err(Error::WrongState("see the executor's own text"))
                }
            }
        });
        match broken {
            Some(text) => Err(Trouble::Broken(text)),
            None => Ok(done?),
        }
    }
}

/// A statement at work.
struct Work<'a, 's> {
    s: &'a mut Statement<'s>,
    prefix: &'a str,
    plan: Option<&'a Plan>,
}

impl Work<'_, '_> {
    fn run(&mut self, statement: &sql::Statement) -> Done<Reply> {
        match statement {
            sql::Statement::Insert { table, rows } => self.insert(table, rows),
            sql::Statement::Update { table, set, filter } => self.update(table, set, filter.as_ref()),
            sql::Statement::Delete { table, filter } => self.delete(table, filter.as_ref()),
            sql::Statement::Select { items, table, filter, order, lock } => {
                self.select(items, table, filter.as_ref(), order.as_deref(), *lock)
            }
            other => Err(Trouble::Broken(format!("{other:?} works on no rows"))),
        }
    }

    fn table(&mut self, name: &str) -> Done<Arc<Table>> {
        Ok(self.s.table(&format!("{}/{name}", self.prefix))?)
    }

    fn insert(&mut self, table: &str, rows: &[Vec<Value>]) -> Done<Reply> {
        let table = self.table(table)?;
        for row in rows {
            let values = row.iter().enumerate().map(|(at, value)| schema::stored(&table, at, value));
            let values = values.collect::<Result<Vec<_>, _>>()?;
            let fields: Vec<Field<'_>> = values.iter().map(Option::as_deref).collect();
            self.s.insert(&table, &fields)?;
        }
        Ok(Reply::Affected(rows.len() as u64))
    }

    fn select(
        &mut self,
        items: &[Item],
        table: &str,
        filter: Option<&Expr>,
        order: Option<&str>,
        lock: LockClause,
    ) -> Done<Reply> {
        let table = self.table(table)?;
        let lock = match lock {
            LockClause::Update => ReadLock::Exclusive,
            LockClause::Share => ReadLock::Shared,
            LockClause::None => ReadLock::None,
        };
        let mut rows = Vec::new();
        self.scan(&table, filter, lock, false, |_, row, _| {
            rows.push(row);
            Ok(())
        })?;
        if let Some(column) = order {
            rows.sort_by_key(|row| sql::evaluate(&Expr::Column(column.to_owned()), row));
        }
        Ok(Reply::Rows(project(items, &table, &rows)))
    }

    fn update(&mut self, table: &str, set: &[(String, Expr)], filter: Option<&Expr>) -> Done<Reply> {
        let table = self.table(table)?;
        let columns = set
            .iter()
            .map(|(name, _)| table.column(name).ok_or_else(|| Trouble::Broken(format!("no column {name}"))));
        let columns = columns.collect::<Done<Vec<usize>>>()?;
        // Rows would move within the index that is read.
        let moves = self.plan.is_some_and(|plan| plan.buffered);
        // Only what was read can be compared; where rows are found first, their keys are.
        let read = |name: &String| {
            let in_key =
                || table.clustered().parts.iter().any(|part| table.column(name) == Some(part.column));
            set.iter().any(|(_, expr)| expr.mentions(name))
                || filter.is_some_and(|filter| filter.mentions(name))
                || moves && in_key()
        };
        let compares = set.iter().all(|(name, _)| read(name));
        let mut found = Vec::new();
        let mut affected = 0;
        let change = |s: &mut Statement<'_>, row: &Row, key: &RowKey| -> Done<u64> {
            let values = set.iter().map(|(_, expr)| sql::evaluate(expr, row)).collect::<Vec<_>>();
            if columns.iter().zip(&values).all(|(at, value)| row.values[*at] == *value) {
                if !compares {
                    s.count_unchanged();
                }
                return Ok(0);
            }
            let stored = columns.iter().zip(&values).map(|(at, value)| schema::stored(&table, *at, value));
            let stored = stored.collect::<Result<Vec<_>, _>>()?;
            let changes: Vec<(usize, Field<'_>)> =
                columns.iter().copied().zip(stored.iter().map(Option::as_deref)).collect();
            Ok(u64::from(s.update(&table, key, &changes)?))
        };
        self.scan(&table, filter, ReadLock::Exclusive, true, |s, row, key| {
            if moves {
                found.push((row, key));
            } else {
                affected += change(s, &row, &key)?;
            }
            Ok(())
        })?;
        for (row, key) in &found {
            affected += change(self.s, row, key)?;
        }
        Ok(Reply::Affected(affected))
    }

    fn delete(&mut self, table: &str, filter: Option<&Expr>) -> Done<Reply> {
        let table = self.table(table)?;
        let mut affected = 0;
        self.scan(&table, filter, ReadLock::Exclusive, false, |s, _, key| {
            affected += u64::from(s.delete(&table, &key)?);
            Ok(())
        })?;
        Ok(Reply::Affected(affected))
    }

    /// Calls `each` for every row that matches.
    fn scan(
        &mut self,
        table: &Arc<Table>,
        filter: Option<&Expr>,
        lock: ReadLock,
        semi_consistent: bool,
        mut each: impl FnMut(&mut Statement<'_>, Row, RowKey) -> Done<()>,
    ) -> Done<()> {
        let Access { index, places } = choose(table, self.plan, filter)?;
        let mut options = ReadOptions::by_index(index).locking(lock);
        let covering = self.plan.is_some_and(|plan| plan.covering);
        let columns: Vec<usize> = match covering {
            true => covered(table, index),
            false => (0..table.columns.len()).collect(),
        };
        options = options.columns(columns.clone());
        let mut cursor = self.s.cursor(table, &options)?;
        cursor.set_semi_consistent(semi_consistent);
        // MySQL tells a secondary index of a range that locks only if it pushes the condition down; otherwise it looks at
        // the row beyond, which is locked then.
        let tells_end = lock == ReadLock::None || index == 0 || self.plan.is_some_and(|plan| plan.pushed);
        for place in &places {
            go(&mut cursor, place, tells_end)?;
            let mut key = RowKey::default();
            while let Some(found) = self.s.next(&mut cursor)? {
                let semi = found.was_semi_consistent();
                let mut row = read(&found, table, &columns)?;
                if !tells_end && is_beyond(place, &row, table, index) {
                    self.s.unlock_row(&mut cursor)?;
                    break;
                }
                found.row_key(&mut key)?;
                if semi && sql::is_true(filter, &row) {
                    match self.s.lock_current(&mut cursor)? {
                        Some(found) => row = read(&found, table, &columns)?,
                        None => continue,
                    }
                }
                if sql::is_true(filter, &row) {
                    each(self.s, row, key.clone())?;
                } else {
                    self.s.unlock_row(&mut cursor)?;
                }
            }
        }
        Ok(())
    }
}

/// The columns that an index has.
fn covered(table: &Table, index: usize) -> Vec<usize> {
    let parts = table.indexes[index].parts.iter().chain(&table.clustered().parts);
    let mut columns: Vec<usize> = parts.map(|part| part.column).collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// Whether a row lies behind the end of its range.
fn is_beyond(place: &Place, row: &Row, table: &Table, index: usize) -> bool {
    let Place::Between { end: Some(end), .. } = place else { return false };
    let value = &row.values[table.indexes[index].parts[0].column];
    *value > end.value || (!end.inclusive && *value == end.value)
}

fn go(cursor: &mut Cursor, place: &Place, tells_end: bool) -> Done<()> {
    match place {
        Place::All => cursor.seek_first(),
        Place::Equal(key) => {
            let key: Vec<Field<'_>> = key.iter().map(Option::as_deref).collect();
            cursor.seek(&key, Seek::Equal)?;
        }
        Place::Between { low, high, .. } => {
            match low {
                Some((key, true)) => cursor.seek(&[key.as_deref()], Seek::GreaterOrEqual)?,
                Some((key, false)) => cursor.seek(&[key.as_deref()], Seek::Greater)?,
                None => cursor.seek_first(),
            }
            if let Some((key, inclusive)) = high.as_ref().filter(|_| tells_end) {
                cursor.set_upper(&[key.as_deref()], *inclusive)?;
            }
        }
    }
    Ok(())
}

fn read(found: &vaquita_engine::RowRef<'_>, table: &Arc<Table>, columns: &[usize]) -> Done<Row> {
    let mut values = vec![Value::Null; table.columns.len()];
    for (place, column) in columns.iter().enumerate() {
        let mut bytes = Vec::new();
        let field = found.read_column(place, &mut bytes)?.then_some(bytes.as_slice());
        values[*column] = schema::loaded(table, *column, field)?;
    }
    Ok(Row { table: table.clone(), values })
}

/// The result set.
fn project(items: &[Item], table: &Table, rows: &[Row]) -> Vec<Vec<Option<String>>> {
    if items.iter().any(|item| matches!(item, Item::Aggregate(_))) {
        return vec![items.iter().map(|item| aggregate(item, rows)).collect()];
    }
    let names: Vec<&str> = items
        .iter()
        .flat_map(|item| match item {
            Item::Column(name) => vec![name.as_str()],
            _ => table.columns.iter().map(|column| column.def.name.as_str()).collect(),
        })
        .collect();
    let of_row = |row: &Row| {
        let value = |name: &&str| sql::Row::value(row, name).and_then(|value| value.to_text());
        names.iter().map(value).collect()
    };
    rows.iter().map(of_row).collect()
}

fn aggregate(item: &Item, rows: &[Row]) -> Option<String> {
    match item {
        Item::Aggregate(Aggregate::Count) => Some(rows.len().to_string()),
        Item::Aggregate(Aggregate::Sum(column)) => {
            let values = rows.iter().filter_map(|row| match sql::Row::value(row, column) {
                Some(Value::Int(n)) => Some(n),
                _ => None,
            });
            values.reduce(|a, b| a + b).map(|sum| sum.to_string())
        }
        _ => None,
    }
}
