//! Indexes that are being built beside writers: what changes of rows do to their entries is logged.
//!
//! The log of an index has entries that came and entries that went, in the order in which the changes of each row were made.
//! To apply it to the tree that was built of an earlier moment gives the tree of the later one: of what was logged of an entry
//! the last counts, and entries of different rows are different entries. An entry that comes and is there already, or goes and is
//! not there, is nothing to wonder about: changes that failed half-way are logged when they are taken back.

use super::packed;
use super::row_log::{LogReader, RowLog};
use crate::core::Core;
use crate::error::{Error, Result};
use crate::row::entry::{Entry, build, key_text, same_bytes};
use crate::row::secondary::{self, Fate};
use crate::table::{Columns, Index, RowChange, RowObserver, Table};
use smallvec::SmallVec;
use std::sync::Arc;
use vaquita_format::tuple::TupleField;

const WENT: u8 = 0;
const CAME: u8 = 1;

/// An index being built, and its log.
#[derive(Debug)]
struct Stub {
    index: Arc<Index>,
    log: RowLog,
}

/// The indexes of one table that are built together.
#[derive(Debug)]
pub(crate) struct IndexLogs {
    stubs: Vec<Stub>,
}

impl IndexLogs {
    /// For these indexes of a table, which nobody changes at this moment.
    pub(crate) fn new(core: &Core, indexes: &[Arc<Index>]) -> IndexLogs {
        let stub = |index: &Arc<Index>| Stub {
            index: index.clone(),
            log: RowLog::new(core, format!("log-{:x}", index.id.get())),
        };
        IndexLogs { stubs: indexes.iter().map(stub).collect() }
    }

    /// Records of all logs so far.
    pub(crate) fn records(&self) -> u64 {
        self.stubs.iter().map(|stub| stub.log.records()).sum()
    }

    /// Nothing is logged any more.
    pub(crate) fn close(&self) {
        self.stubs.iter().for_each(|stub| stub.log.close());
    }

    /// Readers of the logs.
    pub(crate) fn readers(&self) -> Vec<LogReader> {
        self.stubs.iter().map(|_| LogReader::default()).collect()
    }

    /// Applies what was logged, to its end if nobody logs any more (`last`). `check` is asked before every record.
    ///
    /// # Errors
    /// [`Error::DuplicateKey`] of unique entries; [`Error::OnlineLogTooBig`]; errors of pages and files; those of `check`.
    pub(crate) fn apply(
        &self,
        core: &Core,
        table: &Table,
        readers: &mut [LogReader],
        last: bool,
        check: &dyn Fn() -> Result<()>,
    ) -> Result<()> {
        for (stub, reader) in self.stubs.iter().zip(readers) {
            let index = &*stub.index;
            let each = |record: &[u8]| {
                check()?;
                apply(core, (table, index), record)
            };
            match last {
                true => reader.finish(&stub.log, &index.name, each)?,
                false => reader.catch_up(&stub.log, &index.name, each)?,
            }
        }
        Ok(())
    }
}

impl RowObserver for IndexLogs {
    fn row_changed(&self, table: &Table, change: &RowChange<'_>) {
        if !change.order_changes {
            return;
        }
        let mut record = Vec::new();
        for Stub { index, log } in &self.stubs {
            let of = |row: Option<&'_ dyn Columns>, out: &mut Vec<u8>, what| {
                let Some(row) = row else { return };
                out.clear();
                out.push(what);
                let mut fields = Entry::new();
                build(table, index, row, &mut fields);
                packed::push_all(out, &fields);
                log.append(out);
            };
            if let (Some(before), Some(after)) = (change.before, change.after) {
                let (mut old, mut new) = (Entry::new(), Entry::new());
                build(table, index, before, &mut old);
                build(table, index, after, &mut new);
                if same_bytes(&old, &new) {
                    continue;
                }
            }
            of(change.before, &mut record, WENT);
            of(change.after, &mut record, CAME);
        }
    }
}

/// Does what a record says. Nobody else uses the tree.
fn apply(core: &Core, of: (&Table, &Index), record: &[u8]) -> Result<()> {
    let (table, index) = of;
    let Some((&what, entry)) = record.split_first() else {
        return Err(Error::Corrupt(format!("the log of index {} has a record without bytes", index.name)));
    };
    let fields: SmallVec<[TupleField<'_>; 8]> = packed::fields(entry).collect();
    if what == WENT {
        // Views that would need it are older than the index.
        return secondary::settle(core, of, &fields, |_| Ok(Fate::Remove)).map(drop);
    }
    if index.is_unique() && secondary::has_equal(core, of, &fields)? {
        return Err(Error::DuplicateKey {
            table: table.name.clone(),
            index: index.name.clone(),
            value: key_text(table, index, &fields),
        });
    }
    secondary::restore(core, of, &fields)
}
