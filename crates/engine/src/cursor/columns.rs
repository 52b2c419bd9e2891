//! Which columns of a row are wanted, and where they lie in the records of an index.

use super::consistent::Source;
use crate::core::Core;
use crate::error::{Error, Result};
use crate::table::{FieldSource, Index, Table};
use std::sync::Arc;
use vaquita_format::index_def::IndexDef;
use vaquita_txn::TrxShared;

/// Fields of the records of one index, in the order in which the columns are wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<'a> {
    /// Field of each wanted column.
    pub(crate) at: &'a [usize],
    /// How many fields have to be decoded to find them; 0 if they all lie at constant places.
    pub(crate) decode: usize,
    /// Bytes from the origin on that hold the fields at constant places.
    pub(crate) const_len: usize,
}

impl<'a> Fields<'a> {
    /// Fields of `def`. With `with_key` the fields that order the tree are found too.
    pub(crate) fn new(def: &IndexDef, at: &'a [usize], with_key: bool) -> Fields<'a> {
        let n_key = if with_key { def.n_uniq_in_tree() } else { 0 };
        let n = at.iter().map(|&f| f + 1).max().unwrap_or(0).max(n_key);
        let n_const = n_const(def);
        let decode = if n <= n_const { 0 } else { n };
        Fields { at, decode, const_len: const_len(def, n.min(n_const)) }
    }
}

/// Leading fields at constant places, where a record has no offsets of its own.
#[inline]
pub(crate) fn n_const(def: &IndexDef) -> usize {
    if def.layout().comp() { def.layout().n_const() } else { 0 }
}

/// Bytes of the first `n` fields, which lie at constant places.
fn const_len(def: &IndexDef, n: usize) -> usize {
    match n {
        0 => 0,
        n => {
            let last = &def.layout().fields()[n - 1];
            usize::from(last.offset) + usize::from(last.fixed_len)
        }
    }
}

/// [`Fields`], owned.
#[derive(Debug, Clone)]
struct OwnedFields {
    at: Vec<usize>,
    decode: usize,
    const_len: usize,
}

impl OwnedFields {
    fn new(def: &IndexDef, at: Vec<usize>, with_key: bool) -> Self {
        let Fields { decode, const_len, .. } = Fields::new(def, &at, with_key);
        Self { at, decode, const_len }
    }

    fn fields(&self) -> Fields<'_> {
        Fields { at: &self.at, decode: self.decode, const_len: self.const_len }
    }
}

/// What is read of a table: by which index, and which columns.
#[derive(Debug, Clone)]
pub(crate) struct Spec {
    pub(crate) table: Arc<Table>,
    pub(crate) index: Arc<Index>,
    own: Option<OwnedFields>,
    clustered: OwnedFields,
}

impl Spec {
    /// The columns `wanted`, or all.
    ///
    /// # Errors
    /// If there is no such index or column.
    pub(crate) fn new(table: Arc<Table>, index: usize, wanted: Option<&[usize]>) -> Result<Spec> {
        let Some(index) = table.indexes.get(index).cloned() else {
            return Err(Error::WrongState("an index is asked for that the table does not have"));
        };
        let all: Vec<usize>;
        let wanted = match wanted {
            Some(wanted) => wanted,
            None => {
                all = (0..table.columns.len()).collect();
                &all
            }
        };
        let in_clustered: Option<Vec<usize>> =
            wanted.iter().map(|&c| table.cluster_fields.get(c).copied()).collect();
        let Some(in_clustered) = in_clustered else {
            return Err(Error::WrongState("a column is asked for that the table does not have"));
        };
        let own: Option<Vec<usize>> = match index.is_clustered() {
            true => Some(in_clustered.clone()),
            false => wanted.iter().map(|&c| whole_column(&index, c)).collect(),
        };
        Ok(Spec {
            own: own.map(|at| OwnedFields::new(index.def(), at, true)),
            clustered: OwnedFields::new(table.clustered().def(), in_clustered, index.is_clustered()),
            table,
            index,
        })
    }

    /// No columns, and no keys either: to count.
    pub(crate) fn without_rows(table: Arc<Table>, index: usize) -> Result<Spec> {
        let mut spec = Spec::new(table, index, Some(&[]))?;
        spec.own = Some(OwnedFields::new(spec.index.def(), Vec::new(), false));
        spec.clustered = OwnedFields::new(spec.table.clustered().def(), Vec::new(), false);
        Ok(spec)
    }

    /// Number of columns wanted.
    pub(crate) fn n_columns(&self) -> usize {
        self.clustered.at.len()
    }

    /// What the ways to read work with.
    #[inline]
    pub(crate) fn source<'a>(&'a self, core: &'a Core, trx: &'a TrxShared) -> Source<'a> {
        Source {
            core,
            trx,
            table: &self.table,
            index: &self.index,
            own: self.own.as_ref().map(OwnedFields::fields),
            clustered: self.clustered.fields(),
        }
    }
}

/// The field of an index that holds all of a column.
pub(crate) fn whole_column(index: &Index, column: usize) -> Option<usize> {
    let is = |s: &FieldSource| *s == FieldSource::Column { column, prefix_len: 0 };
    index.sources.iter().position(is)
}
