//! Numbers that rows get while they are copied: those of documents, AUTO_INCREMENT values.

use crate::auto_inc::{AutoInc, decode, limit_of};
use crate::dict::fulltext::{DOC_ID, doc_id_key};
use crate::row::image::Image;
use crate::table::{Columns, Field, Table};
use std::collections::HashMap;
use vaquita_base::codec::get_u64;

/// Numbers the documents of a table that has a column for it which nobody has declared, the last one.
#[derive(Debug, Default)]
pub(super) struct Documents {
    /// The last number that was given.
    pub(super) last: u64,
    /// Those up to this number were there when the words of the table were gathered.
    pub(super) listed: u64,
    /// Which of them are gone.
    pub(super) gone: Vec<u64>,
}

impl Documents {
    pub(super) fn of(to: &Table) -> Option<Documents> {
        numbers_documents(to).then(Documents::default)
    }

    pub(super) fn next(&mut self) -> [u8; 8] {
        self.last += 1;
        doc_id_key(self.last)
    }

    /// A row of `to` is no more.
    pub(super) fn went(&mut self, to: &Table, row: &Image) {
        let stored = row.column(to, to.columns.len() - 1).filter(|stored| stored.len() == 8);
        self.gone.extend(stored.map(|stored| get_u64(stored, 0)).filter(|doc| *doc <= self.listed));
    }
}

/// Whether the rows get numbers of documents here.
pub(super) fn numbers_documents(to: &Table) -> bool {
    to.columns.last().is_some_and(|column| column.hidden && column.def.name == DOC_ID)
}

/// An AUTO_INCREMENT column that gives values to rows that are there, in the order in which they come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbered {
    /// The column of the new table.
    pub column: usize,
    /// It was not there before: every row gets a number. Elsewhere some do, and the others have values of their own.
    pub is_new: bool,
    /// `auto_increment_increment`.
    pub step: u64,
    /// `auto_increment_offset`.
    pub offset: u64,
}

/// The values of such a column. In a new one a row that is copied again keeps its number.
#[derive(Debug)]
pub(super) struct Numbers {
    what: Numbered,
    /// The values from here on are free.
    pub(super) next: u64,
    limit: u64,
    /// Those of rows whose copies were taken out, by the packed keys of the rows.
    kept: HashMap<Vec<u8>, u64>,
}

impl Numbers {
    pub(super) fn new(what: Numbered, to: &Table) -> Numbers {
        let limit = limit_of(&to.columns[what.column].def);
        Numbers { what, next: to.auto_inc.hint.max(1), limit, kept: HashMap::new() }
    }

    /// A number for the next row, if there is one left: it is free until [`Numbers::has`] tells of it.
    pub(super) fn offer(&self) -> Option<u64> {
        let mut next = self.next;
        let taken = AutoInc::take(&mut next, 1, self.what.step.max(1), self.what.offset, self.limit);
        taken.map(|range| range.first)
    }

    /// The same for a row that may be copied again.
    pub(super) fn offer_again(&self, key: &[u8]) -> Option<u64> {
        self.kept.get(key).copied().or_else(|| self.offer())
    }

    /// A row of the new table is this one: no other gets its number.
    pub(super) fn has(&mut self, to: &Table, row: &[Field<'_>]) {
        if let Some(number) = row[self.what.column].map(|stored| self.value(to, stored)) {
            self.next = self.next.max(number.saturating_add(1));
        }
    }

    /// The copy of a row is taken out.
    pub(super) fn went(&mut self, to: &Table, key: &[u8], copy: &Image) {
        if let Some(stored) = copy.column(to, self.what.column).filter(|_| self.what.is_new) {
            self.kept.insert(key.to_vec(), self.value(to, stored));
        }
    }

    /// The row could not be copied, and gets the number later.
    pub(super) fn keep(&mut self, key: &[u8], number: u64) {
        if self.what.is_new {
            self.kept.insert(key.to_vec(), number);
        }
    }

    /// The row is copied, or no more.
    pub(super) fn forget(&mut self, key: &[u8]) {
        self.kept.remove(key);
    }

    fn value(&self, to: &Table, stored: &[u8]) -> u64 {
        decode(&to.columns[self.what.column].def, stored)
    }
}
