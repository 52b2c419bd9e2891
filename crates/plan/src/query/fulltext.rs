//! `MATCH .. AGAINST`: which index it means.

use super::access::Access;
use super::merged::MergedView;
use super::names::BlockScope;
use crate::columns::column_of_slot;
use crate::tree::{Path, Source};
use std::sync::Arc;
use vaquita_catalog::TableInfo;
use vaquita_engine::fulltext::{Mode, doc_id_column};
use vaquita_engine::table::FullTextIndex;
use vaquita_expr::fulltext::matching;
use vaquita_expr::{CompileCx, Expr, Node, Resolved, ResolvedColumn, Scope as _, compile};
use vaquita_parser::ast;
use vaquita_types::{SqlError, SqlResult};

impl BlockScope<'_, '_> {
    /// Compiles it.
    ///
    /// # Errors
    /// 1210 the columns are not of one table, or what is searched for is not constant; 1214 the table is none that has such
    /// indexes; 1191 none of its indexes has these columns.
    pub(crate) fn matching(&self, of: &ast::Match<'_>, cx: &mut CompileCx<'_>) -> SqlResult<Expr> {
        let wrong = || SqlError::new(1210, "Incorrect arguments to MATCH");
        let mut columns = Vec::with_capacity(of.columns.len());
        let mut place = None;
        for name in of.columns {
            let (level, table, column) = match self.resolve(name)? {
                Resolved::Column(ResolvedColumn { level, table, column, .. }) => (level, table, column),
                Resolved::Expr(e) => match e.node() {
                    Node::Column { level, table, column, .. } => (*level, *table, *column),
                    _ => return Err(wrong()),
                },
            };
            if place.is_some_and(|place| place != (level, table)) {
                return Err(wrong());
            }
            place = Some((level, table));
            columns.push(usize::from(column));
        }
        let (level, table) = place.ok_or_else(wrong)?;
        let mut scope = self;
        for _ in 0..level {
            scope = scope.outer.ok_or_else(wrong)?;
        }
        let slot = scope.slot(table.into()).ok_or_else(wrong)?;
        let none = || SqlError::new(1214, "The used table type doesn't support FULLTEXT indexes");
        // A derived table has no indexes, whether it is merged or not.
        let of_derived = |name: &&ast::ColumnRef<'_>| {
            let found = scope.find(name).ok().flatten();
            found.is_some_and(|(at, _)| scope.view(at).is_some_and(MergedView::is_derived))
        };
        if of.columns.iter().any(|name| of_derived(&name)) {
            return Err(none());
        }
        let Source::Stored(info) = &slot.source else { return Err(none()) };
        let (info, document) = (info.clone(), doc_id_column(&info.table));
        let (Some(index), Some(document)) = (index_of(&info, &columns), document) else {
            return Err(SqlError::new(1191, "Can't find FULLTEXT index matching the column list"));
        };
        let at = usize::from(table) - scope.base;
        let Resolved::Column(document) = scope.resolved(at, document, level)? else { return Err(wrong()) };
        let collation = info.table.columns[index.columns[0]].def.collation_id();
        let mode = match of.mode {
            ast::MatchMode::Natural => Mode::Natural,
            ast::MatchMode::Boolean => Mode::Boolean,
            ast::MatchMode::QueryExpansion => Mode::Expanded,
        };
        let against = compile(&of.against, self, cx)?;
        let search = (self.planner.searchable)(info, index, mode);
        matching(cx, search, Expr::column(document), against, collation)
    }
}

/// The index that has these columns, in whatever order, and no others.
fn index_of(info: &TableInfo, columns: &[usize]) -> Option<Arc<FullTextIndex>> {
    let has_all = |index: &&Arc<FullTextIndex>| {
        index.columns.len() == columns.len() && columns.iter().all(|column| index.columns.contains(column))
    };
    info.table.fulltext.iter().find(has_all).cloned()
}

/// Cost of looking up what a search finds: above that of one row by the primary key, below that of most ways.
const COST: f64 = 4.5;

/// The way to read a table by a condition, if that is a `MATCH .. AGAINST` of it.
pub(super) fn access(info: &TableInfo, slot: usize, condition: &Expr) -> Option<Access> {
    let (document, _) = condition.full_text()?;
    let column = column_of_slot(document, slot)?;
    let by_document = |index: &Arc<vaquita_engine::Index>| {
        index.is_unique() && matches!(&index.parts[..], [part] if part.column == column)
    };
    let index = info.table.indexes.iter().position(by_document)?;
    let name = condition.full_text_index()?.into();
    let path = Path::FullText { index, matching: condition.clone(), name };
    Some(Access {
        path,
        rows: 1.0,
        fanout: 1.0,
        cost: COST,
        covering: false,
        possible: Vec::new(),
        hash: false,
    })
}
