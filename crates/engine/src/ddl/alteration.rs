//! What one ALTER TABLE in place does to the dictionary: foreign keys and indexes that go, indexes that were built, foreign keys that
//! come, and the definition afterwards are one change.

use super::change::Change;
use super::{ForeignKeySpec, FullTextBuild, FullTextSpec, TableSpec, foreign, indexes, redefine};
use crate::dict::build::TableParts;
use crate::dict::row_versions::ColumnOrigin;
use crate::error::Result;
use crate::kept::{Extra, index_option};
use crate::table::ForeignKey;

/// What goes, and what the table is afterwards, beside the indexes that come.
#[derive(Debug, Clone, Copy, Default)]
pub struct Alteration<'a> {
    /// Foreign keys that go, named without their database.
    pub dropped_keys: &'a [String],
    /// Indexes that go. An index that comes may have the name of one of them.
    pub dropped_indexes: &'a [String],
    /// FULLTEXT indexes that come: who may change a table builds them before, and gives them as `words`.
    pub fulltext: &'a [FullTextSpec],
    /// Those that were built.
    pub words: Option<&'a FullTextBuild>,
    /// Foreign keys that come; one may have the name of a key that goes. Who may change a table plans them and holds the rows against
    /// them before.
    pub added_keys: &'a [ForeignKeySpec],
    /// Those that were: nobody else gives any.
    pub planned_keys: &'a [ForeignKey],
    /// The definition afterwards, with all indexes, and what each of its columns was. Without it names and options stay.
    pub definition: Option<(&'a TableSpec, &'a [ColumnOrigin])>,
}

impl Alteration<'_> {
    /// Whether an index of that name goes.
    pub(super) fn drops(&self, index: &str) -> bool {
        self.dropped_indexes.iter().any(|name| name.eq_ignore_ascii_case(index))
    }

    /// Foreign keys go and others come, indexes go. Another index may be needed by a foreign key then: `parts` has those that come.
    pub(super) fn exchange(
        &self,
        change: &mut Change<'_>,
        table: &str,
        parts: Option<&TableParts>,
    ) -> Result<()> {
        self.dropped_keys.iter().try_for_each(|key| foreign::drop_key(change, table, key))?;
        foreign::insert_all(change, table, self.planned_keys)?;
        let come = parts.map_or(&[][..], |parts| &parts.indexes);
        self.dropped_indexes.iter().try_for_each(|index| indexes::drop(change, table, index, come))
    }

    /// The definition is what it is to be.
    pub(super) fn settle(&self, change: &mut Change<'_>) -> Result<()> {
        if let Some(words) = self.words {
            words.settle(change)?;
        }
        match self.definition {
            Some((spec, origins)) => redefine::redefine(change, spec, origins),
            None => Ok(()),
        }
    }
}

/// Takes the options of an index away: another one may come by its name.
pub(super) fn forget_options(parts: &mut TableParts, index: &str) {
    let mut extra = Extra::parse(&parts.extra);
    let of_gone = index_option(index, "");
    extra.retain(|option| !option.starts_with(&of_gone));
    parts.extra = extra.to_text();
}
