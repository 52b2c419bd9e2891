//! `MATCH .. AGAINST`: the rank of a row, by the number of its document.
//!
//! Who searches is not known here: a [`FullText`] is given with the compiled expression, as a planned subquery is.

use super::EvalCx;
use super::build::{New, double_type};
use super::node::{Constness, Data, Expr, Node};
use super::query::{FoundDocuments, FullText};
use super::row::Row;
use super::scope::CompileCx;
use std::sync::Arc;
use vaquita_types::{SqlError, SqlResult, Value};

/// Decimals of a number that has as many as it has.
const NOT_FIXED: u8 = 31;

/// The expression: `document` is the number of the row's document, `collation` that of the index.
///
/// # Errors
/// 1210 what is searched for changes from row to row.
pub fn matching(
    cx: &mut CompileCx<'_>,
    search: Arc<dyn FullText>,
    document: Expr,
    against: Expr,
    collation: u16,
) -> SqlResult<Expr> {
    if against.constness() == Constness::Row || matches!(against.node, Node::Row(_)) {
        return Err(SqlError::new(1210, "Incorrect arguments to AGAINST"));
    }
    let against = cx.converted(against, collation);
    let new = New::call("match", double_type(NOT_FIXED), vec![document, against], eval);
    let mut e = new.data(Data::FullText(search)).build_not_null(cx);
    // It reads other tables: never while a row is looked at on its page.
    e.info.has_subquery = true;
    Ok(e)
}

fn eval<'r>(e: &'r Expr, args: &'r [Expr], cx: &mut EvalCx<'_>, row: &'r Row<'r>) -> SqlResult<Value<'r>> {
    let nothing = Ok(Value::Double(0.0));
    let Some(search) = search_of(e) else { return nothing };
    // Without a row there is no document.
    let Some(document) = args[0].integer(cx, row)? else { return nothing };
    let Some(query) = args[1].text(cx, row)? else { return nothing };
    let rank = search.rank(cx, &query, document as u64)?;
    Ok(Value::Double(rank))
}

fn search_of(e: &Expr) -> Option<&Arc<dyn FullText>> {
    match &e.node {
        Node::Call(call) => match &call.data {
            Data::FullText(search) => Some(search),
            _ => None,
        },
        _ => None,
    }
}

impl Expr {
    /// Of `MATCH .. AGAINST`: the number of the document, and what is searched for.
    pub fn full_text(&self) -> Option<(&Expr, &Expr)> {
        let Node::Call(call) = &self.node else { return None };
        let [document, against] = &call.args[..] else { return None };
        search_of(self).map(|_| (document, against))
    }

    /// Of `MATCH .. AGAINST`: the name of the index.
    pub fn full_text_index(&self) -> Option<&str> {
        search_of(self).map(|search| search.index())
    }

    /// The documents that `MATCH .. AGAINST` finds, the best first; at least the `first` ones, if that is enough.
    ///
    /// # Errors
    /// 1064 the query is none; those of reading.
    pub fn documents(
        &self,
        cx: &mut EvalCx<'_>,
        row: &Row<'_>,
        first: Option<usize>,
    ) -> SqlResult<FoundDocuments> {
        let (Some(search), Some((_, against))) = (search_of(self), self.full_text()) else {
            return Ok(FoundDocuments::default());
        };
        match (against.text(cx, row)?, first) {
            (Some(query), None) => search.documents(cx, &query),
            (Some(query), Some(n)) => search.best(cx, &query, n),
            // It is no search: nothing is found, whoever asks.
            (None, _) => Ok(FoundDocuments { all_seen: true, ..FoundDocuments::default() }),
        }
    }
}
