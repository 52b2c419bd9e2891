//! The numbers of documents: rows of a table with FULLTEXT indexes get one when they come and another when their texts change, so
//! that a number stands for the same texts for ever.
//!
//! InnoDB's hidden column is filled here; a column of the user's own is checked as MySQL 5.6.24 does it. What comes and goes is noted
//! with the transaction ([`crate::documents`]).

use super::WriteOptions;
use crate::core::Core;
use crate::documents;
use crate::error::{Error, Result};
use crate::row::image::Image;
use crate::table::{Columns, DocIds, Field, RowKey, Table};
use std::sync::Arc;
use vaquita_base::codec::put_u64;
use vaquita_txn::Trx;

/// Inserts a row of a table with numbered documents: see [`crate::row::insert`].
pub(super) fn insert(
    core: &Core,
    trx: &mut Trx,
    table: &Arc<Table>,
    ids: &DocIds,
    row: &[Field<'_>],
    how: WriteOptions,
) -> Result<RowKey> {
    table.check_writable()?;
    let undo_no = trx.undo_no();
    let given = row.get(ids.column).copied().flatten();
    let number = match given {
        Some(_) => documents::number_in(table, ids, given)?,
        None => 0,
    };
    if ids.hidden && number == 0 {
        let number = core.documents.number(trx, table)?;
        let mut stored = [0; 8];
        put_u64(&mut stored, 0, number);
        let mut row = row.to_vec();
        if let Some(field) = row.get_mut(ids.column) {
            *field = Some(&stored);
        }
        let key = super::insert::insert(core, trx, table, &row, how)?;
        documents::note(&core.documents, trx, undo_no, table, number, true);
        return Ok(key);
    }
    // Hidden numbers that are given are those of a copy of the table.
    let checked = match ids.hidden {
        true => Ok(false),
        false => core.documents.check_number(trx, table, number, true),
    };
    let checked = match checked {
        Err(Error::BadDocId(_)) => None,
        checked => Some(checked?),
    };
    // As in 5.6.24 a row that is there already is told first.
    let key = super::insert::insert(core, trx, table, row, how)?;
    // The greatest number may come again if its row is gone. As long as its words are somewhere, they are another text's.
    if checked.is_none_or(|is_listed| is_listed) || !ids.hidden && core.documents.is_used(table, number)? {
        return Err(Error::BadDocId(table.name.clone()));
    }
    documents::note(&core.documents, trx, undo_no, table, number, true);
    Ok(key)
}

/// A row whose document gets another number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Renumbered {
    pub(super) before: u64,
    pub(super) number: u64,
    /// The column that changes with it; `None`: the user has changed it.
    pub(super) column: Option<usize>,
}

/// The number that the document of a row gets if these columns change; `None`: it stays.
///
/// # Errors
/// [`Error::BadDocId`]: texts change and the user's own number does not, or to one that cannot be.
pub(super) fn renumber(
    core: &Core,
    trx: &mut Trx,
    table: &Arc<Table>,
    old: &Image,
    changes: &[(usize, Field<'_>)],
) -> Result<Option<Renumbered>> {
    let Some(ids) = &table.doc_ids else { return Ok(None) };
    let changed = |column: &usize| changes.iter().any(|(changed, _)| changed == column);
    let mut texts = table.fulltext.iter().flat_map(|index| &index.columns).chain(&table.building_texts);
    let texts_change = texts.any(changed);
    let own = changes.iter().find(|(column, _)| !ids.hidden && *column == ids.column);
    if !texts_change && own.is_none() {
        return Ok(None);
    }
    let before = documents::number_in(table, ids, old.column(table, ids.column))?;
    match own {
        Some((_, number)) => {
            let number = documents::number_in(table, ids, *number)?;
            core.documents.check_number(trx, table, number, false)?;
            Ok(Some(Renumbered { before, number, column: None }))
        }
        None if ids.hidden => {
            let number = core.documents.number(trx, table)?;
            Ok(Some(Renumbered { before, number, column: Some(ids.column) }))
        }
        None => Err(Error::BadDocId(table.name.clone())),
    }
}
