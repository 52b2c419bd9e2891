//! How the copy of a row is found by the row, and the log of rows that change.

use crate::core::Core;
use crate::error::Result;
use crate::online::key_log::KeyLog;
use crate::table::{FieldSource, Index, Table};
use std::sync::Arc;

/// How a row of the new table is found by one of the old.
#[derive(Debug)]
pub(super) enum NewKey {
    /// By the same key.
    Same,
    /// By the values of these columns of the old table.
    Other(Vec<usize>),
    /// By what was noted of its copy ([`Places`](crate::online::places::Places)).
    Noted,
}

impl NewKey {
    /// `origins` tells for each new column which old one has the same values, if one has.
    pub(super) fn of(from: &Table, to: &Table, origins: &[Option<usize>]) -> NewKey {
        let key = |table: &Table| table.clustered().sources[..table.clustered().def().n_uniq()].to_vec();
        let (old, new) = (key(from), key(to));
        let as_old = |source: &FieldSource| match *source {
            FieldSource::Column { column, prefix_len } => {
                origins[column].map(|column| FieldSource::Column { column, prefix_len })
            }
            other => Some(other),
        };
        let Some(new) = new.iter().map(as_old).collect::<Option<Vec<FieldSource>>>() else {
            return NewKey::Noted;
        };
        let column = |source: &FieldSource| match *source {
            FieldSource::Column { column, .. } => Some(column),
            _ => None,
        };
        let directions = |table: &Table| -> Vec<bool> {
            let def = table.clustered().def();
            def.fields()[..def.n_uniq()].iter().map(|field| field.descending).collect()
        };
        match new == old && directions(from) == directions(to) {
            true => NewKey::Same,
            false => new.iter().map(column).collect::<Option<_>>().map_or(NewKey::Noted, NewKey::Other),
        }
    }
}

/// The old table with a log of the keys of its rows that change.
pub(super) fn with_log(
    core: &Core,
    from: &Table,
    to: &Table,
    key: &NewKey,
) -> Result<(Arc<Table>, Arc<KeyLog>)> {
    let columns = match key {
        NewKey::Same | NewKey::Noted => None,
        NewKey::Other(columns) => Some(columns.clone()),
    };
    let log = Arc::new(KeyLog::new(core, from, columns.clone()));
    let table = core.dict.reopen(&core.storage, &from.name, |table| {
        table.observers.push(log.clone());
        let Some(columns) = columns else { return };
        columns.iter().for_each(|&column| table.is_ordering[column] = true);
        // As much of these columns is wanted as of those of an index.
        table.building.push(Arc::new(key_of_other(to, &columns)));
    })?;
    Ok((table, log))
}

/// The key of the new table as one of columns of the old.
fn key_of_other(to: &Table, columns: &[usize]) -> Index {
    let index = to.clustered();
    let prefix = |source: &FieldSource| match *source {
        FieldSource::Column { prefix_len, .. } => prefix_len,
        _ => 0,
    };
    let source = |(source, &column)| FieldSource::Column { column, prefix_len: prefix(source) };
    Index {
        id: index.id,
        name: index.name.clone(),
        parts: index.parts.clone(),
        sources: index.sources.iter().zip(columns).map(source).collect(),
        cluster_key: Vec::new(),
        tree: index.tree.clone(),
        trx_id: index.trx_id,
        comment: String::new(),
        hidden: true,
    }
}
