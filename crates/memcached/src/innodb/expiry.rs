//! Removing expired rows in the background: a table at a time, some thousand rows a second, in the order of the primary key.
//!
//! Rows are looked at without locks. One that seems expired is locked, if it is free, looked at again and deleted if it is
//! expired still.
//!
//! A table that was looked through rests until the first of its ends comes or somebody changes a row: tables that nobody
//! uses do not wander through the buffer pool.

use super::config::Container;
use super::connection::failure;
use super::mapping::{Extra, Mapping};
use super::row::end;
use super::tables::Tables;
use crate::store::Result;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use vaquita_engine::{
    Direction, Error, Field, Isolation, PointRead, ReadLock, ReadOptions, RowKey, Seek, Statement, Table,
    WaitPolicy, Watch,
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
    /// What the present round has found out.
    round: Option<Round>,
    /// Tables that rest.
    resting: HashMap<Place, Round>,
}

/// What is looked through: a table, by one of its columns.
type Place = (String, String, Option<String>);

fn place(container: &Container) -> Place {
    (container.schema.clone(), container.table.clone(), container.expires.clone())
}

/// One time through a table.
#[derive(Debug)]
struct Round {
    /// The table as it was at the beginning.
    watch: Watch,
    /// The first of the ends to come.
    next_end: u32,
}

impl Round {
    /// Whether another round would find nothing.
    fn may_rest(&self, now: u32) -> bool {
        self.next_end > now && !self.watch.may_have_changed()
    }
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
        let now = self.now();
        collector.resting.retain(|_, round| round.may_rest(now));
        let Some(container) = next_table(&config.containers, &collector) else { return Ok(()) };
        if collector.mapping != container.name {
            collector.mapping = container.name.clone();
            (collector.last, collector.round) = (None, None);
        }
        let done = self.collect_from(container, &mut collector);
        if !matches!(done, Ok(true)) {
            // At the end, or unusable: the next one is next.
            collector.last = None;
        }
        let round = collector.round.take_if(|_| !matches!(done, Ok(true)));
        if let (Ok(false), Some(round)) = (&done, round) {
            collector.resting.insert(place(container), round);
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
        let (mut last, mut round, now) = (collector.last.take(), collector.round.take(), self.now());
        let done = session.run_detached(|s| {
            let table = s.table(&name)?;
            let Some(column) = expiry_column(&table, container) else { return Ok((false, 0)) };
            if last.is_none() {
                // Before the view is opened.
                round = Some(Round { watch: Watch::new(self.core(), &table), next_end: u32::MAX });
            }
            let (expired, more) = look(s, &table, column, now, &mut last, round.as_mut())?;
            let removed = remove(s, &table, column, now, &expired)?;
            if removed < expired.len() as u64 {
                // The others are locked, or live again: another round will see.
                round = None;
            }
            Ok((more, removed))
        });
        match done {
            Ok(((more, removed), _)) => {
                self.counters.reclaimed.add(removed);
                (collector.last, collector.round) = (last, round);
                Ok(more)
            }
            // Somebody changes its definition, or has taken a lock in between: the next round will see.
            Err(Error::MetadataLockTimeout(_) | Error::LockWaitTimeout | Error::Deadlock(_)) => Ok(false),
            Err(Error::NoSuchTable(_) | Error::TableChanged(_)) => Ok(false),
            Err(e) => Err(failure(e)),
        }
    }
}

/// The table to be looked through: the one begun, else the one behind it that does not rest. Tables mapped more than once
/// count once if their expiry column is the same.
fn next_table<'c>(containers: &'c [Container], collector: &Collector) -> Option<&'c Container> {
    let same =
        |a: &Container, b: &Container| (&a.schema, &a.table, &a.expires) == (&b.schema, &b.table, &b.expires);
    let is_first = |at: usize| !containers[..at].iter().any(|c| same(c, &containers[at]));
    let expiring: Vec<&Container> = (0..containers.len())
        .filter(|&at| containers[at].expires.is_some() && is_first(at))
        .map(|at| &containers[at])
        .collect();
    let at = expiring.iter().position(|c| c.name == collector.mapping);
    if let Some(at) = at.filter(|_| collector.last.is_some()) {
        return Some(expiring[at]);
    }
    let (before, behind) = expiring.split_at(at.map_or(0, |at| at + 1));
    behind.iter().chain(before).find(|c| !collector.resting.contains_key(&place(c))).copied()
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
    round: Option<&mut Round>,
) -> vaquita_engine::Result<(Vec<RowKey>, bool)> {
    let mut cursor = s.cursor(table, &ReadOptions::by_index(0).columns([column.column]))?;
    if let Some(last) = last {
        let fields: Vec<Field<'_>> = last.fields().map(Some).collect();
        cursor.seek(&fields, Seek::Greater)?;
    }
    let (mut expired, mut failed, mut looked) = (Vec::new(), None, 0);
    let mut next_end = u32::MAX;
    let more = s.for_each(&mut cursor, Direction::Forward, |row| {
        looked += 1;
        let end = row.column(0).map_or(0, |stored| end_of(stored, column));
        let is_expired = end != 0 && end <= now;
        if end > now {
            next_end = next_end.min(end);
        }
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
    if let Some(round) = round {
        round.next_end = round.next_end.min(next_end);
    }
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
            row.column(0).is_some_and(|stored| (1..=now).contains(&end_of(stored, column)))
        })?;
        if still == Some(true) && s.delete(table, key)? {
            removed += 1;
        }
    }
    Ok(removed)
}

/// When the item of a row ends; 0 for never.
fn end_of(stored: &[u8], column: Extra) -> u32 {
    end(column.int.bits(stored), Some(column))
}
