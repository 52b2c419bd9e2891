//! The assignments of ON DUPLICATE KEY UPDATE: their names are those of the row that is there, and of the tables of the SELECT
//! that the new rows come from.
//!
//! The row that such an expression is evaluated for has the row that is there as table 0, the one that was to come in as table 1,
//! and from [`SELECTED`] on the rows of the SELECT's tables. What is looked at of these is selected besides the statement's own items.

use super::changed::InsertView;
use super::matching::refuse_value;
use super::names::{BlockScope, Opened, Slot, SlotColumn, VIEWS, Visible};
use crate::planner::Planner;
use crate::tree::Source;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use vaquita_catalog::{TableInfo, same_name};
use vaquita_expr::scope::unknown_column;
use vaquita_expr::{CompileCx, CompiledSubquery, Expr, Resolved, ResolvedColumn, Scope, compile};
use vaquita_parser::ast;
use vaquita_types::SqlResult;

/// The first table of the SELECT, in the row that the assignments are evaluated for.
pub const SELECTED: usize = 2;

/// What an INSERT is to do with a row that is there already.
#[derive(Debug)]
pub struct Updates<'a> {
    info: &'a Arc<TableInfo>,
    view: Option<&'a InsertView>,
    alias: Option<&'a ast::RowAlias<'a>>,
    assignments: &'a [ast::Assignment<'a>],
    planned: Option<PlannedUpdates>,
}

/// The same, planned.
#[derive(Debug, Default)]
pub struct PlannedUpdates {
    /// Columns that are set, and to what; `None`: DEFAULT.
    pub assignments: Vec<(usize, Option<Expr>)>,
    /// Columns of the table that are looked at.
    pub reads: Vec<usize>,
    /// What is selected behind the statement's own items: table of the SELECT, column.
    pub selected: Vec<(usize, usize)>,
    /// How many columns each table of the SELECT has.
    pub widths: Vec<usize>,
}

impl<'a> Updates<'a> {
    /// Of an INSERT into that table.
    pub fn new(
        info: &'a Arc<TableInfo>,
        alias: Option<&'a ast::RowAlias<'a>>,
        assignments: &'a [ast::Assignment<'a>],
    ) -> Updates<'a> {
        Updates { info, view: None, alias, assignments, planned: None }
    }

    /// The same of an INSERT into a view of the table.
    #[must_use]
    pub fn by_view(self, view: Option<&'a InsertView>) -> Updates<'a> {
        Updates { view, ..self }
    }

    /// What was planned; if the SELECT's tables cannot be named (it groups its rows, or is a UNION), or there is none, the
    /// assignments are compiled now.
    ///
    /// # Errors
    /// Of the expressions.
    pub fn finish(mut self, planner: &Planner<'_>, cx: &mut CompileCx<'_>) -> SqlResult<PlannedUpdates> {
        match self.planned.take() {
            Some(planned) => Ok(planned),
            None => self.compiled(planner, None, cx),
        }
    }

    /// Compiles the assignments within a SELECT; what is to be selected besides its own items.
    pub(crate) fn compile_within(
        &mut self,
        select: &BlockScope<'_, '_>,
        cx: &mut CompileCx<'_>,
    ) -> SqlResult<Vec<(usize, usize)>> {
        let planned = self.compiled(select.planner, Some(select), cx)?;
        let selected = planned.selected.clone();
        self.planned = Some(planned);
        Ok(selected)
    }

    fn compiled(
        &self,
        planner: &Planner<'_>,
        select: Option<&BlockScope<'_, '_>>,
        cx: &mut CompileCx<'_>,
    ) -> SqlResult<PlannedUpdates> {
        let scope = UpdateScope::new(planner, (self.info, self.view), self.alias, select);
        let mut assignments = Vec::with_capacity(self.assignments.len());
        for assignment in self.assignments {
            let column = scope.position(&assignment.column)?;
            let value = match assignment.value.kind {
                ast::ExprKind::Default => None,
                _ => {
                    refuse_value(self.info, column)?;
                    Some(compile(&assignment.value, &scope, cx)?)
                }
            };
            assignments.push((column, value));
        }
        let (target, selected) = (&scope.block.slots[0], scope.block.slots.iter().skip(SELECTED));
        let used = |slot: &Slot| -> Vec<usize> {
            let used = slot.used.borrow();
            used.iter().enumerate().filter(|(_, used)| **used).map(|(column, _)| column).collect()
        };
        let of_table = |(at, slot): (usize, &Slot)| used(slot).into_iter().map(move |column| (at, column));
        Ok(PlannedUpdates {
            assignments,
            reads: used(target),
            selected: selected.clone().enumerate().flat_map(of_table).collect(),
            widths: selected.map(|slot| slot.columns.len()).collect(),
        })
    }
}

/// Names in the assignments.
struct UpdateScope<'t, 's, 'p> {
    /// Its tables are those of the row that the assignments are evaluated for.
    block: BlockScope<'s, 'p>,
    info: &'t TableInfo,
    view: Option<&'t InsertView>,
    /// Other names of the new row (`AS new (a, b)`).
    alias: Option<&'t ast::RowAlias<'t>>,
}

impl<'t, 's, 'p> UpdateScope<'t, 's, 'p> {
    fn new(
        planner: &'s Planner<'p>,
        (info, view): (&'t Arc<TableInfo>, Option<&'t InsertView>),
        alias: Option<&'t ast::RowAlias<'t>>,
        select: Option<&BlockScope<'_, '_>>,
    ) -> Self {
        let target = match view {
            Some(view) => slot_of_view(info, view),
            None => slot_of_table(info, &info.definition.name),
        };
        // Nothing is called so: the new row is named by VALUES() and its alias.
        let slots = vec![target, slot_of_table(info, "")];
        let shown = slots[0].shown().map(|column| Visible { slot: 0, column });
        let mut visible: Vec<Visible> = shown.collect();
        let mut opened = Opened { slots, order: vec![0, 1], ..Opened::default() };
        if let Some(select) = select {
            let number = |at: usize| if at < VIEWS { at + SELECTED } else { at };
            opened.slots.extend(select.slots.iter().map(same_slot));
            opened.views.extend(select.views.iter().map(|view| view.moved(SELECTED)));
            opened.order.extend(select.order.iter().map(|&at| number(at)));
            let of_select = select.visible.borrow();
            visible.extend(of_select.iter().map(|v| Visible { slot: number(v.slot), column: v.column }));
        }
        let block = BlockScope::of(planner, None, opened);
        *block.visible.borrow_mut() = visible;
        UpdateScope { block, info, view, alias }
    }

    /// Position of a column that is set: one of the table.
    fn position(&self, name: &ast::ColumnRef<'_>) -> SqlResult<usize> {
        let is = |ident: Option<ast::Ident<'_>>, text: &str| ident.is_none_or(|i| i.name == text.as_bytes());
        if let Some(view) = self.view {
            return view.position(name);
        }
        let is_ours =
            is(name.schema, &self.info.definition.database) && is(name.table, &self.info.definition.name);
        let found = is_ours.then(|| self.info.named_column(&name.name.to_string())).flatten();
        found.ok_or_else(|| unknown_column(name, "field list"))
    }

    fn resolved(&self, table: u16, column: usize) -> ResolvedColumn {
        let ty = self.info.columns[column].sql_type().clone();
        ResolvedColumn { level: 0, table, column: column as u16, ty }
    }

    /// A column of the new row by the names of `AS new (a, b)`.
    fn of_alias(&self, name: &ast::ColumnRef<'_>) -> Option<usize> {
        let alias = self.alias?;
        if name.table.is_some_and(|t| t != alias.name) || name.schema.is_some() {
            return None;
        }
        match alias.columns.is_empty() {
            true => name.table.and_then(|_| self.info.column(&name.name.to_string())),
            false => alias.columns.iter().position(|c| same_name(&c.to_string(), &name.name.to_string())),
        }
    }
}

/// The table as a view names it.
fn slot_of_view(info: &Arc<TableInfo>, view: &InsertView) -> Slot {
    let mut slot = slot_of_table(info, &view.name);
    slot.database.clone_from(&view.database);
    slot.name.clone_from(&view.name);
    for (at, column) in slot.columns.iter_mut().enumerate() {
        match view.columns.iter().find(|(_, position)| *position == at) {
            Some((name, _)) => column.name.clone_from(name),
            None => column.hidden = true,
        }
        column.invisible = false;
    }
    slot
}

fn slot_of_table(info: &Arc<TableInfo>, alias: &str) -> Slot {
    let columns = info.columns.iter().map(|c| SlotColumn {
        name: c.name.clone(),
        ty: c.sql_type().clone(),
        hidden: c.hidden,
        invisible: c.invisible,
    });
    Slot {
        database: if alias.is_empty() { String::new() } else { info.definition.database.clone() },
        name: info.definition.name.clone(),
        alias: alias.to_owned(),
        source: Source::Stored(info.clone()),
        columns: columns.collect(),
        nullable: Cell::new(false),
        used: RefCell::new(vec![false; info.columns.len()]),
        allowed: None,
        allowed_words: None,
        force: false,
        methods: super::names::Methods::default(),
        after: vaquita_expr::TableSet::default(),
        depends: super::names::Depends::default(),
        substituted: RefCell::default(),
        searched: RefCell::default(),
        subqueries: RefCell::default(),
        padded: Cell::new(false),
        view: None,
        parts: None,
        within: None,
    }
}

/// A table of the SELECT, of which nothing is looked at yet.
fn same_slot(slot: &Slot) -> Slot {
    Slot {
        database: slot.database.clone(),
        name: slot.name.clone(),
        alias: slot.alias.clone(),
        source: slot.source.clone(),
        columns: slot.columns.clone(),
        nullable: slot.nullable.clone(),
        used: RefCell::new(vec![false; slot.columns.len()]),
        allowed: None,
        allowed_words: None,
        force: false,
        methods: super::names::Methods::default(),
        after: vaquita_expr::TableSet::default(),
        depends: super::names::Depends::default(),
        substituted: RefCell::default(),
        searched: RefCell::default(),
        subqueries: RefCell::default(),
        padded: Cell::new(false),
        view: None,
        parts: slot.parts.clone(),
        within: slot.within.clone(),
    }
}

impl Scope for UpdateScope<'_, '_, '_> {
    fn resolve(&self, name: &ast::ColumnRef<'_>) -> SqlResult<Resolved> {
        if let Some(column) = self.of_alias(name) {
            return Ok(Resolved::Column(self.resolved(1, column)));
        }
        match self.block.resolve(name) {
            // `_rowid`, hidden columns.
            Err(e) if e.code == 1054 => {
                let column = self.position(name).map_err(|_| e)?;
                Ok(Resolved::Column(self.block.column(0, column)))
            }
            resolved => resolved,
        }
    }

    fn full_name(&self, column: &ResolvedColumn, written: &ast::ColumnRef<'_>) -> String {
        self.block.full_name(column, written)
    }

    fn subquery(&self, query: &ast::Query<'_>, cx: &mut CompileCx<'_>) -> SqlResult<CompiledSubquery> {
        self.block.subquery(query, cx)
    }

    fn default_of(&self, column: &ast::ColumnRef<'_>) -> SqlResult<Expr> {
        // The default is no column that is read.
        let used = self.block.used();
        let default = self.block.default_of(column);
        self.block.set_used(used);
        default
    }

    fn inserted_value(&self, column: &ast::ColumnRef<'_>) -> SqlResult<Option<ResolvedColumn>> {
        let column = self.position(column)?;
        Ok(Some(self.resolved(1, column)))
    }
}
