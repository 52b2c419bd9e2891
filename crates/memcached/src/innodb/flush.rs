//! `flush_all`: all rows of the mapping's table are deleted.
//!
//! They are deleted in transactions of a thousand rows. Rows that others have locked are waited for, as by any DELETE;
//! readers go on seeing what their views see. It is no TRUNCATE: it does not wait for transactions that have only read the
//! table, nor they for it; foreign keys are checked, and AUTO_INCREMENT goes on.

use super::connection::{InnodbStore, Kind, Work};
use super::tables::Tables;
use crate::store::{Expiry, Failure, Result};
use std::ops::ControlFlow;
use std::sync::Arc;
use vaquita_engine::{Direction, Field, PlainWait, ReadLock, ReadOptions, RowKey, Seek, Statement};

/// Rows of one transaction.
const CHUNK: usize = 1_000;

impl InnodbStore {
    /// See [`crate::store::Store::flush_all`].
    pub(crate) fn flush(&mut self, at: Expiry) -> Result<()> {
        // A key that names nothing: the mapping in use.
        self.enter(b"")?;
        if at.0 > self.tables.now() {
            let name = self.bound().mapping.container.name.clone();
            self.tables.flush_at(&name, at.0);
            return Ok(());
        }
        // What is open ends here, as with a statement that changes a definition.
        self.commit()?;
        let mut last = None;
        while self.delete_chunk(&mut last)? {}
        Ok(())
    }

    /// Deletes some rows behind `last`, which goes on to the last of them; whether there may be more.
    fn delete_chunk(&mut self, last: &mut Option<RowKey>) -> Result<bool> {
        let keys = self.operate_alone(Kind::Write, |s, work| delete_some(s, work, last.as_ref()))?;
        let more = keys.len() == CHUNK;
        *last = keys.into_iter().next_back();
        Ok(more)
    }
}

fn delete_some(
    s: &mut Statement<'_>,
    work: &mut Work<'_>,
    last: Option<&RowKey>,
) -> vaquita_engine::Result<Vec<RowKey>> {
    let table = &work.bound.mapping.table;
    let options = ReadOptions::by_index(0).columns([]).locking(ReadLock::Exclusive);
    let mut cursor = s.cursor(table, &options)?;
    if let Some(last) = last {
        let fields: Vec<Field<'_>> = last.fields().map(Some).collect();
        cursor.seek(&fields, Seek::Greater)?;
    }
    let (mut keys, mut failed) = (Vec::new(), None);
    s.for_each(&mut cursor, Direction::Forward, |row| {
        let mut key = RowKey::default();
        if let Err(e) = row.row_key(&mut key) {
            failed = Some(e);
            return ControlFlow::Break(());
        }
        keys.push(key);
        if keys.len() == CHUNK { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    if let Some(e) = failed {
        return Err(e);
    }
    for key in &keys {
        s.delete(table, key)?;
    }
    Ok(keys)
}

impl Tables {
    /// Empties the mappings whose moment has come.
    pub(crate) fn flush_due(self: &Arc<Self>) -> Result<()> {
        while let Some(name) = self.take_due_flush() {
            let mut store = self.store(Arc::new(PlainWait));
            let done = store.choose(&name).and_then(|()| store.flush(Expiry::default()));
            match done {
                // The mapping is gone, or the rows are locked: the latter is tried again.
                Err(Failure::Busy(_)) => self.flush_at(&name, self.now()),
                done => {
                    done?;
                    self.was_emptied(&name);
                }
            }
        }
        Ok(())
    }
}
