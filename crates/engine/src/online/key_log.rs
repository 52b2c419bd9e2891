//! A table that is written anew beside writers: which of its rows have changed is logged.
//!
//! A record has the clustered key of a row that has changed, in whatever way, and nothing of the change: when the record is
//! applied the row is read as it is then. So rows with long values cost no more than others, a change that is taken back is one
//! change more, and neither purge nor rollback has to keep anything for the log.
//!
//! If the new table has another clustered key, the record also has the values that the row had, before the change, in
//! the columns of that key: by them the row is found that was copied of it. For a row that changes several times the first
//! record tells where its copy is; afterwards who applies the log knows. (If the first record is that a change is taken
//! back, the change itself was not told of: it failed half-way. What the row becomes is what it was then.)

use super::packed;
use super::row_log::RowLog;
use crate::core::Core;
use crate::row::entry::{Entry, build, same_bytes};
use crate::table::{Columns, RowChange, RowObserver, Table};
use vaquita_format::tuple::TupleField;

/// The log of one table.
#[derive(Debug)]
pub(crate) struct KeyLog {
    pub(crate) log: RowLog,
    /// Columns of the old table that the key of the new one is made of; `None`: it is the same key.
    other_key: Option<Vec<usize>>,
}

/// A record of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Logged {
    /// The key of the row, packed.
    pub(crate) key: Vec<u8>,
    /// What the columns of the other key were, if it is logged and there was such a row.
    pub(crate) before: Option<Vec<Option<Vec<u8>>>>,
}

impl KeyLog {
    /// For a table, which nobody changes at this moment.
    pub(crate) fn new(core: &Core, table: &Table, other_key: Option<Vec<usize>>) -> KeyLog {
        KeyLog { log: RowLog::new(core, format!("log-{:x}", table.clustered().id.get())), other_key }
    }

    /// Reads a record.
    pub(crate) fn parse(&self, record: &[u8], n_key: usize) -> Logged {
        let mut fields = packed::fields(record);
        let mut key = Vec::new();
        (&mut fields).take(n_key).for_each(|field| packed::push(&mut key, field.data));
        let before: Vec<Option<Vec<u8>>> = fields.map(|field| field.data.map(<[u8]>::to_vec)).collect();
        let there = self.other_key.as_ref().is_some_and(|columns| columns.len() == before.len());
        Logged { key, before: there.then_some(before) }
    }

    fn push(&self, table: &Table, key: &[TupleField<'_>], before: Option<&dyn Columns>) {
        let mut record = Vec::new();
        packed::push_all(&mut record, key);
        if let (Some(columns), Some(before)) = (&self.other_key, before) {
            columns.iter().for_each(|&column| packed::push(&mut record, before.column(table, column)));
        }
        self.log.append(&record);
    }
}

impl RowObserver for KeyLog {
    fn row_changed(&self, table: &Table, change: &RowChange<'_>) {
        let clustered = table.clustered();
        let n_key = clustered.def().n_uniq();
        let key_of = |row| {
            let mut fields = Entry::new();
            build(table, clustered, row, &mut fields);
            fields.truncate(n_key);
            fields
        };
        let origin = if change.taken_back { change.after } else { change.before };
        let before = change.before.map(key_of);
        if let Some(key) = &before {
            self.push(table, key, origin);
        }
        if let Some(key) = change.after.map(key_of)
            && before.as_ref().is_none_or(|before| !same_bytes(before, &key))
        {
            self.push(table, &key, origin.filter(|_| change.taken_back));
        }
    }
}
