//! Removing expired rows in the background: a table at a time, some thousand rows a second, in the order of the primary key.
//!
//! Rows are looked at without locks. One that seems expired is locked, if it is free, looked at again and deleted if it is
//! expired still.

use super::config::Container;
use super::connection::failure;
use super::mapping::{Extra, Mapping};
use super::row::end;
use super::tables::Tables;
use crate::store::Result;
use std::ops::ControlFlow;
use std::sync::Arc;
use vaquita_engine::{
    Direction, Error, Field, Isolation, PointRead, ReadLock, ReadOptions, RowKey, Seek, Statement, Table,
    WaitPolicy,
};

/// Rows looked at in one go.
const LOOKED_AT: usize = 10_000;
/// Rows deleted in one go.
const DELETED: usize = 1_000;

/// Where the collector is.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    /// The mapping whose table is being looked through.
    mapping: Vec<u8>,
    /// The last row looked at.
    last: Option<RowKey>,
}

impl Tables {
    /// Removes some of the expired rows.
    ///
    /// # Errors
    /// The table cannot be used; it goes on with the next one.
    pub(crate) fn collect_expired(self: &Arc<Self>) -> Result<()> {
        // Another thread that does the same is enough.
        let Some(mut collector) = self.collector().try_lock() else { return Ok(()) };
        let config = self.config();
        let Some(container) = next_table(&config.containers, &collector) else { return Ok(()) };
        if collector.mapping != container.name {
            *collector = Collector { mapping: container.name.clone(), last: None };
        }
        let done = self.collect_from(container, &mut collector);
        if !matches!(done, Ok(true)) {
            // At the end, or unusable: the next one is next.
            collector.last = None;
        }
        done.map(drop)
    }

    fn collect_from(&self, container: &Container, collector: &mut Collector) -> Result<bool> {
        let name = Mapping::table_name(container)?;
        let mut session = self.session();
        session.settings.isolation = Isolation::ReadCommitted;
        session.settings.metadata_lock_timeout = 0;
        session.settings.lock_wait_timeout = 0;
        session.settings.flush_log_at_trx_commit = 2;
        let (mut last, now) = (collector.last.take(), self.now());
        let done = session.run_detached(|s| {
            let table = s.table(&name)?;
            let Some(column) = expiry_column(&table, container) else { return Ok((false, 0)) };
            let (expired, more) = look(s, &table, column, now, &mut last)?;
            Ok((more, remove(s, &table, column, now, &expired)?))
        });
        match done {
            Ok(((more, removed), _)) => {
                self.counters.reclaimed.add(removed);
                collector.last = last;
                Ok(more)
            }
            // Somebody changes its definition, or has taken a lock in between: the next round will see.
            Err(Error::MetadataLockTimeout(_) | Error::LockWaitTimeout | Error::Deadlock(_)) => Ok(false),
            Err(Error::NoSuchTable(_) | Error::TableChanged(_)) => Ok(false),
            Err(e) => Err(failure(e)),
        }
    }
}

/// The table to be looked through: the one begun, else the one behind it. Tables mapped more than once count once if their
/// expiry column is the same.
fn next_table<'c>(containers: &'c [Container], collector: &Collector) -> Option<&'c Container> {
    let same =
        |a: &Container, b: &Container| (&a.schema, &a.table, &a.expires) == (&b.schema, &b.table, &b.expires);
    let is_first = |at: usize| !containers[..at].iter().any(|c| same(c, &containers[at]));
    let expiring: Vec<&Container> = (0..containers.len())
        .filter(|&at| containers[at].expires.is_some() && is_first(at))
        .map(|at| &containers[at])
        .collect();
    let at = expiring.iter().position(|c| c.name == collector.mapping);
    match at {
        Some(at) if collector.last.is_some() => Some(expiring[at]),
        Some(at) => expiring.get(at + 1).or(expiring.first()).copied(),
        None => expiring.first().copied(),
    }
}

fn expiry_column(table: &Arc<Table>, container: &Container) -> Option<Extra> {
    let name = container.expires.as_deref()?;
    Mapping::extra_column(table, name, 4).ok()
}

/// Keys of rows that seem expired, behind `last`, which goes on; whether there is more to look at.
fn look(
    s: &mut Statement<'_>,
    table: &Arc<Table>,
    column: Extra,
    now: u32,
    last: &mut Option<RowKey>,
) -> vaquita_engine::Result<(Vec<RowKey>, bool)> {
    let mut cursor = s.cursor(table, &ReadOptions::by_index(0).columns([column.column]))?;
    if let Some(last) = last {
        let fields: Vec<Field<'_>> = last.fields().map(Some).collect();
        cursor.seek(&fields, Seek::Greater)?;
    }
    let (mut expired, mut failed, mut looked) = (Vec::new(), None, 0);
    let more = s.for_each(&mut cursor, Direction::Forward, |row| {
        looked += 1;
        let is_expired = row.column(0).is_some_and(|stored| is_expired(stored, column, now));
        let enough = looked == LOOKED_AT || expired.len() + usize::from(is_expired) == DELETED;
        if !is_expired && !enough {
            return ControlFlow::Continue(());
        }
        let mut key = RowKey::default();
        if let Err(e) = row.row_key(&mut key) {
            failed = Some(e);
            return ControlFlow::Break(());
        }
        if enough {
            *last = Some(key.clone());
        }
        if is_expired {
            expired.push(key);
        }
        if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    failed.map_or(Ok((expired, more)), Err)
}

/// Deletes those that are expired still; how many.
fn remove(
    s: &mut Statement<'_>,
    table: &Arc<Table>,
    column: Extra,
    now: u32,
    expired: &[RowKey],
) -> vaquita_engine::Result<u64> {
    let options = ReadOptions::by_index(0)
        .columns([column.column])
        .locking(ReadLock::Exclusive)
        .wait(WaitPolicy::SkipLocked);
    let mut read = PointRead::new(table.clone(), options)?;
    let mut removed = 0;
    for key in expired {
        let fields: Vec<Field<'_>> = key.fields().map(Some).collect();
        let still = s.get(&mut read, &fields, |row| {
            row.column(0).is_some_and(|stored| is_expired(stored, column, now))
        })?;
        if still == Some(true) && s.delete(table, key)? {
            removed += 1;
        }
    }
    Ok(removed)
}

fn is_expired(stored: &[u8], column: Extra, now: u32) -> bool {
    let end = end(column.int.bits(stored), Some(column));
    end != 0 && end <= now
}
