//! Tables of several parts ([`crate::partition`]): found by the names of their parts.
//!
//! SYS_TABLES has a row for each part, `db/t#P#p0`, and none for the table. Every part has the whole definition, the clause PARTITION BY
//! with it: of tables made here it is kept with each, of those of a MySQL server it is in the `.frm` that they share. A change of
//! the table changes all of its parts in one transaction.

use super::Dictionary;
use super::build::TableParts;
use super::load::{TableRow, Told};
use super::rows;
use crate::error::{Error, Result};
use crate::kept::{Extra, option};
use crate::partition::{Parts, Scheming, part_name, whole_id};
use crate::table::{FieldSource, Index, Table, Unmaintained};
use std::sync::Arc;
use vaquita_base::{IndexId, TrxId};
use vaquita_btree::Tree;
use vaquita_format::PageSize;
use vaquita_format::column::ColumnDef;
use vaquita_format::index_def::{IndexDef, IndexSpec, KeyPart};
use vaquita_storage::Storage;

impl Dictionary {
    /// The rows of the parts of a table, in the order of their names; none if it has none.
    pub(crate) fn part_rows(&self, storage: &Storage, name: &str) -> Result<Vec<TableRow>> {
        if !name.contains('/') {
            return Ok(Vec::new());
        }
        let tables = self.sys.core.tables.clustered();
        let found = rows::read_beginning(storage, tables, &part_name(name, ""))?;
        Ok(found.iter().map(TableRow::of).collect())
    }

    /// Whether there is a table of that name: it has a row, or its parts have.
    pub(crate) fn has_table(&self, storage: &Storage, name: &str) -> Result<bool> {
        Ok(self.table_row(storage, name)?.is_some() || !self.part_rows(storage, name)?.is_empty())
    }

    /// Whether our own table says what a table is that has the name.
    pub(crate) fn is_described(&self, storage: &Storage, name: &str) -> Result<bool> {
        let row = match self.table_row(storage, name)? {
            Some(row) => Some(row),
            None => self.part_rows(storage, name)?.into_iter().next(),
        };
        row.map_or(Ok(false), |row| Ok(self.read_extra(storage, row.id)?.is_some()))
    }

    /// A table of several parts. The caller holds the dictionary's latch.
    pub(crate) fn load_whole(&self, storage: &Storage, name: &str) -> Result<Option<Table>> {
        let rows = self.part_rows(storage, name)?;
        let Some(first) = rows.first() else { return Ok(None) };
        let definition = self.whole_parts(storage, first, name, Told::ByWhoWroteLast)?;
        let defs = definition.index_defs()?;
        let columns: Vec<ColumnDef> = definition.columns.iter().map(|c| c.def.clone()).collect();
        let page_size = definition.page_size;
        let mut table = definition.detached()?;
        table.triggers = self.objects.now().triggers_of(name).to_vec();
        let kept = Extra::parse(&table.extra);
        let clause = kept.get(option::PARTITIONING).unwrap_or_default().to_owned();
        let known = self.partitioning.get().map(|partitioning| partitioning.understand(&table, &clause));
        let (names, scheme) = match known {
            Some(Ok(Scheming { parts, scheme })) => (parts, Some(scheme)),
            _ => (rows.iter().map(|row| row.name[part_name(name, "").len()..].to_owned()).collect(), None),
        };
        let mut tables = Vec::with_capacity(names.len());
        for part in &names {
            tables.push(self.part(storage, &part_name(name, part)).map_err(|e| match e {
                // None of the others is read, and none changes, until it is there again.
                Error::Discarded(_) => Error::Discarded(name.to_owned()),
                e => e,
            })?);
        }
        // What the clause names last may come first in the order of names.
        table.id = whole_id(tables[0].id);
        table.unmaintained = match () {
            () if scheme.is_none() || rows.len() != names.len() => Some(Unmaintained::Partition),
            () if self.has_server_triggers(storage, name)? => Some(Unmaintained::Triggers),
            () => tables.iter().find_map(|part: &Arc<Table>| part.unmaintained),
        };
        scheme
            .iter()
            .flat_map(|scheme| scheme.columns())
            .for_each(|&column| table.is_ordering[column] = true);
        let keys = scheme.iter().flat_map(|scheme| scheme.keys());
        let keys = keys.map(|key| key_index(&table, &columns, &defs[0], page_size, &key).map(Arc::new));
        let keys = keys.collect::<Result<_>>()?;
        table.parts = Some(Parts { clause, names, tables, scheme, keys });
        Ok(Some(table))
    }

    /// What the dictionary says of a table of several parts, whose first this is.
    fn whole_parts(&self, storage: &Storage, first: &TableRow, name: &str, told: Told) -> Result<TableParts> {
        let mut definition = self.read_parts_by(storage, first, told)?;
        definition.discarded = false;
        (definition.id, definition.name) = (whole_id(first.id), name.to_owned());
        definition.directory = None;
        Ok(definition)
    }

    /// What the dictionary says of a table, or of one of several parts, wherever its rows are; `None` if there is none. The caller holds
    /// the dictionary's latch.
    pub(crate) fn described(&self, storage: &Storage, name: &str, told: Told) -> Result<Option<Table>> {
        let definition = match self.table_row(storage, name)? {
            Some(row) => self.read_parts_by(storage, &row, told)?,
            None => match self.part_rows(storage, name)?.first() {
                Some(first) => self.whole_parts(storage, first, name, told)?,
                None => return Ok(None),
            },
        };
        let mut table = definition.detached()?;
        table.foreign_keys = self.foreign_keys(storage, 1, name)?;
        Ok(Some(table))
    }

    /// What the dictionary says of a table of several parts of which some are discarded; `None` if none is.
    pub(super) fn discarded_whole(&self, storage: &Storage, name: &str) -> Result<Option<Table>> {
        let rows = self.part_rows(storage, name)?;
        let Some(first) = rows.first() else { return Ok(None) };
        let mut discarded = false;
        for row in &rows {
            discarded |= self.read_parts(storage, row)?.discarded;
        }
        if !discarded {
            return Ok(None);
        }
        let mut definition = self.whole_parts(storage, first, name, Told::ByWhoWroteLast)?;
        definition.discarded = true;
        let mut table = definition.detached()?;
        table.triggers = self.objects.now().triggers_of(name).to_vec();
        Ok(Some(table))
    }

    fn part(&self, storage: &Storage, name: &str) -> Result<Arc<Table>> {
        if let Some(part) = self.cache.by_name(name) {
            return Ok(part);
        }
        let part = self.load(storage, name)?.ok_or_else(|| Error::TableUnusable {
            table: name.to_owned(),
            detail: "the dictionary does not have this partition".to_owned(),
            damaged: false,
        })?;
        Ok(self.cache.insert(part))
    }
}

/// An index of columns that a partition function looks at, without a tree.
fn key_index(
    table: &Table,
    columns: &[ColumnDef],
    clustered: &IndexDef,
    page_size: PageSize,
    key: &[usize],
) -> Result<Index> {
    let name = String::from("partitioning");
    let parts: Vec<KeyPart> = key.iter().map(|&column| KeyPart::whole(column)).collect();
    let id = IndexId(0);
    let spec = IndexSpec { id, name: name.clone(), row_format: table.row_format, page_size };
    let def = IndexDef::secondary(spec, columns, &parts, false, clustered);
    let def = def.map_err(|c| Error::Corrupt(format!("table {}: {c}", table.name)))?;
    let sources = key.iter().map(|&column| FieldSource::Column { column, prefix_len: 0 }).collect();
    Ok(Index {
        id,
        name,
        parts,
        sources,
        cluster_key: Vec::new(),
        tree: Tree::detached(table.space, Arc::new(def)),
        trx_id: TrxId(0),
        comment: String::new(),
        hidden: true,
    })
}
