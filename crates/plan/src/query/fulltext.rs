//! `MATCH .. AGAINST`: which index it means.

use super::access::Access;
use super::group;
use super::merged::MergedView;
use super::names::BlockScope;
use crate::columns::column_of_slot;
use crate::planner::Known;
use crate::tree::{BlockPlan, Path, SortValue, Source, SourceLock, Step};
use std::sync::Arc;
use vaquita_catalog::TableInfo;
use vaquita_engine::ReadLock;
use vaquita_engine::fulltext::{Mode, doc_id_column};
use vaquita_engine::table::FullTextIndex;
use vaquita_expr::fulltext::matching;
use vaquita_expr::node::CmpOp;
use vaquita_expr::{
    Aggregate, CompileCx, Constness, Expr, FullText, Node, Resolved, ResolvedColumn, Scope as _, compile,
};
use vaquita_parser::ast::{self, AggregateKind};
use vaquita_types::{SqlError, SqlResult, Value};

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
        let (mut looked_at, mut around) = (vec![self.used()], self.outer);
        while let Some(scope) = around {
            looked_at.push(scope.used());
            around = scope.outer;
        }
        for name in of.columns {
            let (level, table, column) = match self.resolve(name)? {
                Resolved::Column(ResolvedColumn { level, table, column, .. }) => (level, table, column),
                Resolved::Expr(e) => match e.node() {
                    Node::Column { level, table, column, .. } => (*level, *table, *column),
                    _ => return Err(wrong()),
                },
                Resolved::Outer(..) => return Err(wrong()),
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
        // As the manual has it, hints count in boolean mode only.
        let allowed = slot.allowed_words.as_deref().filter(|_| of.mode == ast::MatchMode::Boolean);
        let (Some(index), Some(document)) = (index_of(&info, &columns, allowed), document) else {
            return Err(SqlError::new(1191, "Can't find FULLTEXT index matching the column list"));
        };
        let at = usize::from(table) - scope.base;
        for &column in &columns {
            // Privileges are asked for, texts are not.
            if !looked_at[usize::from(level)][at][column] {
                slot.used.borrow_mut()[column] = false;
                slot.searched.borrow_mut().push(column);
            }
        }
        if info.table.columns[document].hidden {
            // Nobody can have privileges on it.
            slot.substituted.borrow_mut().push(document);
        }
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

impl BlockScope<'_, '_> {
    /// The first FULLTEXT index with a column, of those that hints leave.
    pub(crate) fn words_of_column(&self, text: &Expr) -> Option<Arc<dyn FullText>> {
        let Node::Column { level, table, column, .. } = text.node() else { return None };
        let mut scope = self;
        for _ in 0..*level {
            scope = scope.outer?;
        }
        let slot = scope.slot((*table).into())?;
        let Source::Stored(info) = &slot.source else { return None };
        let is_allowed =
            |at: usize| slot.allowed_words.as_deref().is_none_or(|allowed| allowed.contains(&at));
        let mut indexes = info.table.fulltext.iter().enumerate();
        let has = |index: &FullTextIndex| index.columns.contains(&usize::from(*column));
        let (_, index) = indexes.find(|(at, index)| is_allowed(*at) && has(index))?;
        Some((self.planner.searchable)(info.clone(), index.clone(), Mode::Boolean))
    }
}

/// The first index that has these columns, in whatever order, and no others; of those that hints leave.
fn index_of(info: &TableInfo, columns: &[usize], allowed: Option<&[usize]>) -> Option<Arc<FullTextIndex>> {
    let has_all = |index: &Arc<FullTextIndex>| {
        index.columns.len() == columns.len() && columns.iter().all(|column| index.columns.contains(column))
    };
    let is_allowed = |at: usize| allowed.is_none_or(|allowed| allowed.contains(&at));
    let mut indexes = info.table.fulltext.iter().enumerate();
    indexes.find(|(at, index)| is_allowed(*at) && has_all(index)).map(|(_, index)| index.clone())
}

/// Cost of looking up what a search finds: above that of one row by the primary key, below that of most ways.
const COST: f64 = 4.5;

/// Whether all that is asked is how many rows a search finds.
pub(super) fn counts_found(block: &BlockPlan) -> bool {
    let Some(group) = &block.group else { return false };
    let ([Step::Table { filter, .. }], [read]) = (&block.steps[..], &block.reads[..]) else { return false };
    let ([condition], Path::FullText { .. }) = (&filter[..], &read.path) else { return false };
    let is_of_rows = |e: &Expr| {
        !e.ty().nullable
            && (e.constness() == Constness::Const || matches!(e.node(), Node::Column { level: 0, .. }))
    };
    let counts = |a: &Aggregate| {
        matches!(a.kind, AggregateKind::CountStar)
            || matches!(a.kind, AggregateKind::Count) && !a.distinct && a.args.iter().all(is_of_rows)
    };
    condition.full_text().is_some()
        && group.keys.is_empty()
        && group.carried.is_empty()
        && !group.aggregates.is_empty()
        && group.aggregates.iter().all(counts)
        && read.lock == ReadLock::None
        && read.source_lock == SourceLock::None
}

/// Whether the rows that a search finds come in the order that is wanted, which is that of their ranks, the best first.
pub(super) fn comes_by_rank(path: &Path, block: &BlockPlan, known: Known<'_>) -> bool {
    let (Path::FullText { matching, .. }, [key]) = (path, &block.order[..]) else { return false };
    if !key.descending || block.group.is_some() || block.distinct || block.windows.is_some() {
        return false;
    }
    let wanted = match &key.value {
        SortValue::Item(at) => block.items.get(*at),
        SortValue::Expr(expr) => Some(expr),
    };
    wanted.is_some_and(|wanted| wanted.full_text().is_some() && group::same(wanted, matching, known))
}

/// The search that a condition asks to find something: itself, or one whose rank is to be above a number that is none of a row that is not found.
fn searched<'e>(condition: &'e Expr, known: Known<'_>) -> Option<&'e Expr> {
    let Node::Compare { op, sides, .. } = condition.node() else { return Some(condition) };
    let (matching, least, is_strict) = match (op, &**sides) {
        (CmpOp::Gt, [matching, least]) | (CmpOp::Lt, [least, matching]) => (matching, least, true),
        (CmpOp::Ge, [matching, least]) | (CmpOp::Le, [least, matching]) => (matching, least, false),
        _ => return None,
    };
    let is_enough = |value: &Value<'_>| {
        let number = match value {
            Value::Int(v) => *v as f64,
            Value::UInt(v) => *v as f64,
            Value::Double(v) => *v,
            Value::Decimal(v) => v.to_f64(),
            _ => return false,
        };
        number > 0.0 || is_strict && number == 0.0
    };
    matching.full_text()?;
    let is_above = match least.node() {
        Node::Const(value) => is_enough(value),
        Node::Param(param) => known.is(*param, is_enough),
        _ => false,
    };
    is_above.then_some(matching)
}

/// The way to read a table of which the rows of the best ranks are wanted, and no others as long as there are some: those that a search finds, then
/// the rest.
pub(super) fn by_rank_alone(info: &TableInfo, slot: usize, block: &BlockPlan) -> Option<Access> {
    let [key] = &block.order[..] else { return None };
    let plain = block.group.is_none() && !block.distinct && block.windows.is_none() && block.having.is_none();
    if !key.descending || !plain || block.limit.is_none() {
        return None;
    }
    let matching = match &key.value {
        SortValue::Item(at) => block.items.get(*at)?,
        SortValue::Expr(expr) => expr,
    };
    let access = found(info, slot, matching)?;
    let Path::FullText { index, matching, name, .. } = access.path else { return None };
    Some(Access { path: Path::FullText { index, matching, name, then_others: true }, ..access })
}

/// The way to read a table by a condition, if that is a `MATCH .. AGAINST` of it.
pub(super) fn access(info: &TableInfo, slot: usize, condition: &Expr, known: Known<'_>) -> Option<Access> {
    found(info, slot, searched(condition, known)?)
}

/// The way by what a search finds.
fn found(info: &TableInfo, slot: usize, condition: &Expr) -> Option<Access> {
    let (document, _) = condition.full_text()?;
    let column = column_of_slot(document, slot)?;
    let by_document = |index: &Arc<vaquita_engine::Index>| {
        index.is_unique() && matches!(&index.parts[..], [part] if part.column == column)
    };
    let index = info.table.indexes.iter().position(by_document)?;
    let name = condition.full_text_index()?.into();
    let path = Path::FullText { index, matching: condition.clone(), name, then_others: false };
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
