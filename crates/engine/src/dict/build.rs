//! Table objects from definitions: index layouts, what each field is taken from, trees opened.

use crate::auto_inc::AutoInc;
use crate::dict::row_versions::RowVersions;
use crate::error::{Error, Result};
use crate::mark::Mark;
use crate::stats::TableStats;
use crate::table::{Column, DocIds, FieldSource, FullTextIndex, Index, Table};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use vaquita_base::{IndexId, PageNo, SpaceId, TableId, TrxId};
use vaquita_btree::{Observer, Tree};
use vaquita_format::PageSize;
use vaquita_format::column::{ColumnDef, DB_ROLL_PTR, DB_ROW_ID, DB_TRX_ID, MType};
use vaquita_format::index_def::{FieldCmp, FieldDef, IndexDef, IndexSpec, KeyPart, RowFormat};
use vaquita_storage::Storage;

/// An index without its tree.
#[derive(Debug, Clone)]
pub struct IndexParts {
    /// Number.
    pub id: IndexId,
    /// Name.
    pub name: String,
    /// The key; empty for GEN_CLUST_INDEX.
    pub parts: Vec<KeyPart>,
    /// Whether it is unique.
    pub unique: bool,
    /// Root of its tree; null as long as there is none.
    pub root: PageNo,
    /// The transaction that added it.
    pub trx_id: TrxId,
    /// Comment.
    pub comment: String,
    /// See [`Index::hidden`].
    pub hidden: bool,
}

/// A table without its trees: all that the dictionary says of it.
#[derive(Debug, Clone)]
pub struct TableParts {
    /// Number.
    pub id: TableId,
    /// `database/table`.
    pub name: String,
    /// Tablespace.
    pub space: SpaceId,
    /// The directory elsewhere that its file is below, with a slash at its end.
    pub directory: Option<String>,
    /// Row format.
    pub row_format: RowFormat,
    /// Page size of the tablespace.
    pub page_size: PageSize,
    /// User columns.
    pub columns: Vec<Column>,
    /// Indexes with trees, the clustered one first.
    pub indexes: Vec<IndexParts>,
    /// FULLTEXT indexes.
    pub fulltext: Vec<FullTextIndex>,
    /// Comment.
    pub comment: String,
    /// Default collation.
    pub collation: u16,
    /// What the layer above wants kept.
    pub extra: String,
    /// Least AUTO_INCREMENT value.
    pub auto_inc_from: u64,
    /// What its rows hold, if columns came or went without them.
    pub versions: Option<RowVersions>,
    /// Its tablespace is discarded: its trees have no roots.
    pub discarded: bool,
    /// Table of the dictionary itself.
    pub is_system: bool,
}

impl TableParts {
    /// Layouts of all indexes.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if there is no clustered index or a part names no column.
    pub fn index_defs(&self) -> Result<Vec<Arc<IndexDef>>> {
        let bad = |c: vaquita_format::Corruption| Error::Corrupt(format!("table {}: {c}", self.name));
        let columns: Vec<ColumnDef> = self.columns.iter().map(|c| c.def.clone()).collect();
        let mut defs: Vec<Arc<IndexDef>> = Vec::with_capacity(self.indexes.len());
        for index in &self.indexes {
            let spec = IndexSpec {
                id: index.id,
                name: index.name.clone(),
                row_format: self.row_format,
                page_size: self.page_size,
            };
            let def = match defs.first() {
                None => {
                    let key = (!index.parts.is_empty()).then_some(&index.parts[..]);
                    match &self.versions {
                        None => IndexDef::clustered(spec, &columns, key),
                        Some(versions) => {
                            IndexDef::clustered_with_versions(spec, &columns, key, versions.defs(&columns))
                        }
                    }
                }
                Some(clustered) => IndexDef::secondary(spec, &columns, &index.parts, index.unique, clustered),
            };
            defs.push(Arc::new(def.map_err(bad)?));
        }
        if defs.is_empty() {
            return Err(Error::Corrupt(format!("table {} has no clustered index", self.name)));
        }
        Ok(defs)
    }

    /// The table, its trees opened.
    ///
    /// # Errors
    /// Errors of reading the roots, damage, trees that cannot be used.
    pub fn open(self, storage: &Storage, observer: Option<&Arc<dyn Observer>>) -> Result<Table> {
        let defs = self.index_defs()?;
        let mut trees = Vec::with_capacity(defs.len());
        for (index, def) in self.indexes.iter().zip(defs) {
            let tree = Tree::open(storage, self.space, index.root, def)?;
            trees.push(match observer {
                Some(observer) => tree.with_observer(observer.clone()),
                None => tree,
            });
        }
        self.with_trees(trees)
    }

    /// The table without its trees, which are nowhere: what a definition says, and nothing of rows.
    ///
    /// # Errors
    /// Definitions that contradict themselves.
    pub fn detached(self) -> Result<Table> {
        let trees = self.index_defs()?.into_iter().map(|def| Tree::detached(self.space, def)).collect();
        self.with_trees(trees)
    }

    fn with_trees(self, trees: Vec<Tree>) -> Result<Table> {
        assert_eq!(trees.len(), self.indexes.len(), "trees, and indexes, of table {}", self.name);
        let clustered = trees[0].index().clone();
        let position = |f: &FieldDef| self.columns.iter().position(|c| c.def.name == f.column.name);
        let no_column = |f: &FieldDef| {
            Error::Corrupt(format!("table {}: index field {} is no column", self.name, f.column.name))
        };
        let mut indexes = Vec::with_capacity(trees.len());
        let mut is_ordering = vec![false; self.columns.len()];
        for (parts, tree) in self.indexes.into_iter().zip(trees) {
            let mut sources = Vec::with_capacity(tree.index().n_fields());
            for (i, field) in tree.index().fields().iter().enumerate() {
                let source = match system_field(field) {
                    Some(source) => source,
                    None if field.is_dropped() => FieldSource::Gone,
                    None => {
                        let column = position(field).ok_or_else(|| no_column(field))?;
                        is_ordering[column] |= i < tree.index().n_uniq_in_tree();
                        FieldSource::Column { column, prefix_len: field.prefix_len }
                    }
                };
                sources.push(source);
            }
            let cluster_key = cluster_key(&clustered, tree.index());
            let cluster_key = cluster_key.ok_or_else(|| {
                Error::Corrupt(format!("table {}: index {} lacks the clustered key", self.name, parts.name))
            })?;
            debug_assert_eq!(parts.id, tree.index().id(), "index {} has the tree of another", parts.name);
            indexes.push(Arc::new(Index {
                id: parts.id,
                name: parts.name,
                parts: parts.parts,
                sources,
                cluster_key,
                tree,
                trx_id: parts.trx_id,
                comment: parts.comment,
                hidden: parts.hidden,
            }));
        }
        let whole = |c: &Column| {
            let found =
                clustered.fields().iter().position(|f| f.column.name == c.def.name && f.prefix_len == 0);
            found.ok_or_else(|| {
                Error::Corrupt(format!("table {}: no field holds column {}", self.name, c.def.name))
            })
        };
        let unknown_collation = self.columns.iter().find_map(|c| match FieldCmp::of(&c.def) {
            FieldCmp::Unknown(id) | FieldCmp::UnknownDown(id) => Some(id),
            _ => None,
        });
        let cluster_fields = self.columns.iter().map(whole).collect::<Result<_>>()?;
        let doc_ids = DocIds::of(&self.columns, &indexes, !self.fulltext.is_empty());
        Ok(Table {
            id: self.id,
            name: self.name,
            space: self.space,
            directory: self.directory,
            row_format: self.row_format,
            columns: self.columns,
            indexes,
            foreign_keys: Vec::new(),
            referenced_by: Vec::new(),
            cluster_fields,
            is_ordering,
            auto_inc: AutoInc::with_hint(self.auto_inc_from),
            stats: TableStats::default(),
            comment: self.comment,
            collation: self.collation,
            extra: self.extra,
            unknown_collation,
            unmaintained: None,
            fulltext: self.fulltext.into_iter().map(Arc::new).collect(),
            doc_ids,
            is_auxiliary: false,
            parts: None,
            is_part: false,
            triggers: Vec::new(),
            is_system: self.is_system,
            building: Vec::new(),
            building_texts: Vec::new(),
            observers: Vec::new(),
            discarded: self.discarded,
            gone: AtomicBool::new(false),
            mark: Mark::default(),
        })
    }
}

fn system_field(field: &FieldDef) -> Option<FieldSource> {
    if field.column.mtype != MType::Sys {
        return None;
    }
    match field.column.name.as_str() {
        DB_ROW_ID => Some(FieldSource::RowId),
        DB_TRX_ID => Some(FieldSource::TrxId),
        DB_ROLL_PTR => Some(FieldSource::RollPtr),
        _ => None,
    }
}

/// For each key field of the clustered index the field of `index` that holds it: the whole column if it is there, else
/// the last field with the same prefix, which is the one appended.
fn cluster_key(clustered: &IndexDef, index: &IndexDef) -> Option<Vec<usize>> {
    let fields = index.fields();
    let find = |key: &FieldDef| {
        let whole = fields.iter().position(|f| f.column.name == key.column.name && f.prefix_len == 0);
        let same = || {
            fields.iter().rposition(|f| f.column.name == key.column.name && f.prefix_len == key.prefix_len)
        };
        whole.or_else(same)
    };
    if index.is_clustered() {
        return Some((0..clustered.n_uniq()).collect());
    }
    clustered.fields()[..clustered.n_uniq()].iter().map(find).collect()
}
