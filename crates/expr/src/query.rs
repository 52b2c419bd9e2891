//! What somebody else finds for an expression: the rows of a planned subquery, the documents of a full-text search.

use super::EvalCx;
use super::properties::{Constness, TableSet};
use super::row::Row;
use std::fmt::Debug;
use std::sync::Arc;
use vaquita_engine::fulltext::Analyzer;
use vaquita_engine::text::collation::Collation;
use vaquita_types::compare::CompareAs;
use vaquita_types::{SqlResult, SqlType, Value};

/// What a row of a subquery is compared as, if not as it is: text in another character set.
pub type Conversion<'f> = dyn Fn(&mut EvalCx<'_>, &[Value<'_>]) -> SqlResult<Value<'static>> + 'f;

/// Called for each row of a subquery; `false`: no more rows are wanted.
pub type TakeRow<'t> = dyn FnMut(&mut EvalCx<'_>, &[Value<'_>]) -> SqlResult<bool> + 't;

/// A planned subquery.
pub trait Subquery: Debug + Send + Sync {
    /// Runs it for a row of the enclosing block and hands over its rows, without latches held.
    ///
    /// # Errors
    /// Of the statement, those of `take`.
    fn rows(&self, cx: &mut EvalCx<'_>, outer: &Row<'_>, take: &mut TakeRow<'_>) -> SqlResult<()>;

    /// `left IN (subquery)`, compared as `how` after a conversion of its rows' first column, by a better way than looking at all rows (index lookup, hash). `None`: there is none;
    /// `Some(None)`: unknown.
    ///
    /// # Errors
    /// As [`Subquery::rows`].
    fn contains(
        &self,
        cx: &mut EvalCx<'_>,
        outer: &Row<'_>,
        left: &[Value<'_>],
        how: (&[CompareAs], Option<&Conversion<'_>>),
    ) -> SqlResult<Option<Option<bool>>> {
        let _ = (cx, outer, left, how);
        Ok(None)
    }
}

/// A planned subquery with what the compiler must know of it.
#[derive(Debug, Clone)]
pub struct CompiledSubquery {
    /// The plan.
    pub plan: Arc<dyn Subquery>,
    /// Types of its columns.
    pub columns: Arc<[SqlType]>,
    /// Tables of the enclosing block that it refers to.
    pub outer_tables: TableSet,
    /// [`Constness::Execution`] if it refers to no outer row: its result is then kept for one execution.
    pub constness: Constness,
}

/// A full-text index that is searched in one way.
pub trait FullText: Debug + Send + Sync {
    /// Name of the index.
    fn index(&self) -> &str;

    /// How well a document answers; 0: not at all.
    ///
    /// # Errors
    /// 1064 the query is none; those of reading.
    fn rank(&self, cx: &mut EvalCx<'_>, query: &[u8], document: u64) -> SqlResult<f64>;

    /// The documents that answer, the best first.
    ///
    /// # Errors
    /// As [`FullText::rank`].
    fn documents(&self, cx: &mut EvalCx<'_>, query: &[u8]) -> SqlResult<FoundDocuments>;

    /// At least the best `n` of the documents that answer, if there are so many: [`FoundDocuments::are_all`] says whether there are more.
    ///
    /// # Errors
    /// As [`FullText::rank`].
    fn best(&self, cx: &mut EvalCx<'_>, query: &[u8], n: usize) -> SqlResult<FoundDocuments>;

    /// What makes words of texts of a collation as the index makes them of its own.
    ///
    /// # Errors
    /// The index has a parser that is not there; those of reading.
    fn analyzer(&self, cx: &mut EvalCx<'_>, collation: Collation) -> SqlResult<Arc<Analyzer>>;
}

/// Documents in the order of their ranks.
pub trait InOrder: Debug + Send + Sync {
    /// The document at a place of the order, which begins with 0, the best one.
    fn at(&self, place: usize) -> Option<u64>;
}

/// No documents.
impl InOrder for () {
    fn at(&self, _place: usize) -> Option<u64> {
        None
    }
}

impl Default for FoundDocuments {
    fn default() -> FoundDocuments {
        FoundDocuments { documents: Arc::new(()), count: 0, above: 0, all_seen: false, are_all: true }
    }
}

/// What a full-text search has found.
#[derive(Debug, Clone)]
pub struct FoundDocuments {
    /// The best first.
    pub documents: Arc<dyn InOrder>,
    /// How many they are.
    pub count: usize,
    /// How many of them, the first ones, have a rank above 0.
    pub above: usize,
    /// The rows of all of them are to be seen by the statement: none has to be looked at for that.
    pub all_seen: bool,
    /// No others answer.
    pub are_all: bool,
}
