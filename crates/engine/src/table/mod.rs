//! Tables as they are used: columns, indexes with their trees, constraints. Built by the dictionary, immutable but for
//! counters; a changed definition is a new object.

mod observer;
mod parts;

pub use self::observer::Columns;
pub(crate) use self::observer::{RowChange, RowObserver};
pub use self::parts::{Parts, Scheme};

use crate::auto_inc::AutoInc;
use crate::error::{Error, Result};
pub use crate::foreign_key::{ForeignKey, ReferentialAction};
use crate::mark::Mark;
use crate::object::Object;
use crate::stats::TableStats;
pub use crate::unmaintained::Unmaintained;
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use vaquita_base::{IndexId, SpaceId, TableId, TrxId};
use vaquita_btree::Tree;
use vaquita_format::collation;
use vaquita_format::column::ColumnDef;
use vaquita_format::index_def::{IndexDef, KeyPart, RowFormat};
use vaquita_txn::undo::UndoOf;

/// A column value in stored form; `None` is NULL.
pub type Field<'a> = Option<&'a [u8]>;

/// What a column gets if a row does not give it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum DefaultValue {
    /// Nothing: a row must give it.
    #[default]
    None,
    /// NULL.
    Null,
    /// A constant, in stored form.
    Stored(Vec<u8>),
    /// The time of the statement (DATETIME and TIMESTAMP).
    Now,
    /// An expression of the layer above, as text.
    Text(String),
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Name, type, length, collation as the dictionary has them.
    pub def: ColumnDef,
    /// Digits and decimals of a DECIMAL.
    pub decimal: Option<(u32, u32)>,
    /// Labels of an ENUM or SET.
    pub labels: Vec<String>,
    /// Its default.
    pub default: DefaultValue,
    /// ON UPDATE CURRENT_TIMESTAMP.
    pub on_update_now: bool,
    /// AUTO_INCREMENT.
    pub auto_increment: bool,
    /// Comment.
    pub comment: String,
    /// What else the layer above wants kept (its declared SQL type, ZEROFILL …).
    pub extra: String,
    /// A MySQL server's InnoDB has added it (FTS_DOC_ID): no statement sees it.
    pub hidden: bool,
}

impl Column {
    /// A column without anything but its type.
    pub fn new(def: ColumnDef) -> Self {
        let default = if def.is_nullable() { DefaultValue::Null } else { DefaultValue::None };
        Self {
            def,
            decimal: None,
            labels: Vec::new(),
            default,
            on_update_now: false,
            auto_increment: false,
            comment: String::new(),
            extra: String::new(),
            hidden: false,
        }
    }
}

/// What a field of an index record is taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldSource {
    /// A user column: position in the table, bytes of the prefix (0: whole).
    Column {
        /// Position among the user columns.
        column: usize,
        /// Bytes of the prefix, 0 for the whole column.
        prefix_len: u32,
    },
    /// DB_ROW_ID.
    RowId,
    /// DB_TRX_ID.
    TrxId,
    /// DB_ROLL_PTR.
    RollPtr,
    /// A column that is gone, of which older records still have values.
    Gone,
}

/// An index with its tree.
#[derive(Debug)]
pub struct Index {
    /// Its number.
    pub id: IndexId,
    /// Its name.
    pub name: String,
    /// The key as declared; empty for GEN_CLUST_INDEX.
    pub parts: Vec<KeyPart>,
    /// What every field of its records is taken from.
    pub sources: Vec<FieldSource>,
    /// For each key field of the clustered index: which field of this index holds it. (Of the clustered index: itself.)
    /// The field may hold more than the key takes, if that is a prefix: see the source of the clustered index's field.
    pub cluster_key: Vec<usize>,
    /// The tree; its observer is the lock manager's.
    pub tree: Tree,
    /// The transaction that added it: views that do not see it cannot read by this index what they see.
    pub trx_id: TrxId,
    /// Comment.
    pub comment: String,
    /// A MySQL server's InnoDB has added it (FTS_DOC_ID_INDEX): no statement sees it.
    pub hidden: bool,
}

impl Index {
    /// Layout and order of the records.
    #[inline]
    pub fn def(&self) -> &Arc<IndexDef> {
        self.tree.index()
    }

    /// Whether it is the clustered index.
    #[inline]
    pub fn is_clustered(&self) -> bool {
        self.def().is_clustered()
    }

    /// Whether it is unique.
    #[inline]
    pub fn is_unique(&self) -> bool {
        self.def().is_unique()
    }
}

/// A FULLTEXT index: its words are in tables of their own (see [`crate::fulltext`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FullTextIndex {
    /// Its number.
    pub id: IndexId,
    /// Its name.
    pub name: String,
    /// Positions of its columns in the table.
    pub columns: Vec<usize>,
    /// What makes words of its texts, by the name in [`Parsers`](vaquita_fts::parser::Parsers); `None`: InnoDB's own way.
    pub parser: Option<String>,
    /// How its words are divided among its tables, as [`Split`](vaquita_fts::partition::Split) is written; `None`: InnoDB's way. Another one is marked as a
    /// corrupt index in SYS_INDEXES: a MySQL server would look for words in the wrong tables, and does not look at such an index.
    pub split: Option<String>,
}

/// How the documents of a table's rows are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocIds {
    /// Position of the column with the numbers.
    pub column: usize,
    /// The column is InnoDB's: rows get their numbers here. Else the user gives them.
    pub hidden: bool,
    /// Position of the index by which documents are found.
    pub index: usize,
}

impl DocIds {
    /// How documents are numbered in a table of these columns and indexes, of which some are searched.
    pub(crate) fn of(columns: &[Column], indexes: &[Arc<Index>], is_searched: bool) -> Option<DocIds> {
        let column = columns.iter().position(|column| column.def.name == "FTS_DOC_ID")?;
        let hidden = columns[column].hidden;
        let by_it = |index: &Arc<Index>| {
            index.is_unique() && matches!(&index.parts[..], [part] if part.column == column)
        };
        let index = indexes.iter().position(by_it)?;
        (hidden || is_searched).then_some(DocIds { column, hidden, index })
    }
}

/// A table.
#[derive(Debug)]
pub struct Table {
    /// Its number.
    pub id: TableId,
    /// `database/table`, in file name encoding.
    pub name: String,
    /// Its tablespace.
    pub space: SpaceId,
    /// The directory elsewhere that its file is below (DATA DIRECTORY), with a slash at its end.
    pub directory: Option<String>,
    /// Its row format.
    pub row_format: RowFormat,
    /// User columns.
    pub columns: Vec<Column>,
    /// Indexes, the clustered one first.
    pub indexes: Vec<Arc<Index>>,
    /// Foreign keys in which it is the child.
    pub foreign_keys: Vec<Arc<ForeignKey>>,
    /// Foreign keys in which it is the parent.
    pub referenced_by: Vec<Arc<ForeignKey>>,
    /// For each user column: its field in the clustered index.
    pub cluster_fields: Vec<usize>,
    /// For each user column: whether any index (the clustered one too) is ordered by it.
    pub is_ordering: Vec<bool>,
    /// The AUTO_INCREMENT counter.
    pub auto_inc: AutoInc,
    /// Statistics.
    pub stats: TableStats,
    /// Comment.
    pub comment: String,
    /// Default collation.
    pub collation: u16,
    /// What else the layer above wants kept (table options as it declared them).
    pub extra: String,
    /// The collation of a column whose order is not known here: the table can only be read.
    pub unknown_collation: Option<u16>,
    /// Something of a MySQL server's that is not kept up here: the table can only be read.
    pub unmaintained: Option<Unmaintained>,
    /// Its FULLTEXT indexes, which have no trees.
    pub fulltext: Vec<Arc<FullTextIndex>>,
    /// How the documents of its rows are numbered, if it has or had such indexes.
    pub doc_ids: Option<DocIds>,
    /// It is part of a FULLTEXT index of another table: the engine keeps it, no statement changes it, and the locks on that table's
    /// name are its own.
    pub is_auxiliary: bool,
    /// Its triggers, in the order of their making.
    pub triggers: Vec<Arc<Object>>,
    /// Its parts, if it is partitioned: the rows are there, and its own trees nowhere.
    pub parts: Option<Parts>,
    /// It is a part of another table: no statement names it, and the locks on that table's name are its own.
    pub is_part: bool,
    /// Table of the dictionary itself: numbers without flipped sign, no metadata locks.
    pub is_system: bool,
    /// Indexes that are being built: nobody reads or changes their trees, but undo records have what their entries are made of.
    pub(crate) building: Vec<Arc<Index>>,
    /// Columns of FULLTEXT indexes that are being built beside writers: a row whose texts change gets another number, as if the indexes
    /// were there.
    pub(crate) building_texts: Vec<usize>,
    /// Who is told of changes of its rows.
    pub(crate) observers: Vec<Arc<dyn RowObserver>>,
    /// Its tablespace is discarded: there are no rows, and no trees to put any into.
    pub discarded: bool,
    /// Whether it is no more the one of its name: its definition has changed, or it was let go.
    pub(crate) gone: AtomicBool,
    /// Whether rows were changed since somebody has looked.
    pub(crate) mark: Mark,
}

impl Table {
    /// Whether it is a session's own, in the temporary tablespace and in no dictionary.
    #[inline]
    pub fn is_temporary(&self) -> bool {
        self.id.is_temporary()
    }

    /// Which undo logs have the records of its rows.
    #[inline]
    pub(crate) fn undo_of(&self) -> UndoOf {
        if self.is_temporary() { UndoOf::Temporary } else { UndoOf::Tables }
    }

    /// Whether it is no more the one of its name. Who holds a metadata lock on the name knows that it stays as it is.
    #[inline]
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }

    /// Tells of a change of a row: see [`RowObserver`].
    #[inline]
    pub(crate) fn tell(
        &self,
        before: Option<&dyn Columns>,
        after: Option<&dyn Columns>,
        order_changes: bool,
    ) {
        if !self.observers.is_empty() {
            self.tell_observers(&RowChange { before, after, order_changes, taken_back: false });
        }
    }

    /// Tells that a change of a row is taken back.
    #[inline]
    pub(crate) fn tell_taken_back(
        &self,
        before: Option<&dyn Columns>,
        after: Option<&dyn Columns>,
        order_changes: bool,
    ) {
        if !self.observers.is_empty() {
            self.tell_observers(&RowChange { before, after, order_changes, taken_back: true });
        }
    }

    fn tell_observers(&self, change: &RowChange<'_>) {
        self.observers.iter().for_each(|observer| observer.row_changed(self, change));
    }

    /// What every change asks first: an entry put where another order has it could not be found by the server that
    /// knows that order.
    ///
    /// # Errors
    /// [`Error::UnknownCollation`], [`Error::Unmaintained`].
    #[inline]
    pub(crate) fn check_writable(&self) -> Result<()> {
        if self.unknown_collation.is_none() && self.unmaintained.is_none() && !self.discarded {
            return Ok(());
        }
        Err(self.not_writable())
    }

    /// What every search by keys of an index asks first.
    ///
    /// # Errors
    /// [`Error::UnknownCollation`].
    #[inline]
    pub(crate) fn check_order(&self, index: &Index) -> Result<()> {
        if index.def().order_is_known() {
            return Ok(());
        }
        Err(self.unknown_collation(self.unknown_collation.unwrap_or(0)))
    }

    #[cold]
    fn not_writable(&self) -> Error {
        if self.discarded {
            return Error::Discarded(self.name.clone());
        }
        match (self.unmaintained, self.unknown_collation) {
            (Some(why), _) => Error::Unmaintained { table: self.name.clone(), why },
            (None, id) => self.unknown_collation(id.unwrap_or(0)),
        }
    }

    #[cold]
    fn unknown_collation(&self, id: u16) -> Error {
        let collation = collation::name(id).map_or_else(|| id.to_string(), str::to_owned);
        Error::UnknownCollation { table: self.name.clone(), collation }
    }

    /// The clustered index.
    #[inline]
    pub fn clustered(&self) -> &Arc<Index> {
        &self.indexes[0]
    }

    /// Position of a column, by name, ASCII case ignored.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.def.name.eq_ignore_ascii_case(name))
    }

    /// Position of an index, by name, ASCII case ignored.
    pub fn index(&self, name: &str) -> Option<usize> {
        self.indexes.iter().position(|i| i.name.eq_ignore_ascii_case(name))
    }
}

/// The clustered key of a row, owned: what a row is known by between calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct RowKey {
    bytes: SmallVec<[u8; 24]>,
    ends: SmallVec<[u32; 4]>,
    /// The number of the part that has the row, if its table is partitioned; else 0.
    pub(crate) part: TableId,
}

impl RowKey {
    /// A key of these fields; key fields are never NULL.
    pub fn new<'a>(fields: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut key = RowKey::default();
        fields.into_iter().for_each(|f| key.push(f));
        key
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.part = TableId::default();
    }

    /// The number of the part that has the row, if its table is partitioned; else 0.
    pub fn part(&self) -> u64 {
        self.part.get()
    }

    /// Says which part has the row: for a key that was kept as bytes.
    pub fn set_part(&mut self, part: u64) {
        self.part = TableId(part);
    }

    /// Appends a field.
    pub fn push(&mut self, field: &[u8]) {
        self.bytes.extend_from_slice(field);
        self.ends.push(self.bytes.len() as u32);
    }

    /// Number of fields.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The fields.
    pub fn fields(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.ends.len()).map(|i| {
            let start = if i == 0 { 0 } else { self.ends[i - 1] as usize };
            &self.bytes[start..self.ends[i] as usize]
        })
    }
}
