//! Views and derived tables whose block becomes part of the one that names them (ALGORITHM = MERGE): their tables stand among its own,
//! what they select stands for their columns, their conditions are among those that it checks. "View" is said for both here;
//! [`super::derived`] has what is particular to derived tables.
//!
//! A view is compiled in a scope of its own, whose slots have the numbers that they will have in the block around it. Of what it
//! selects only that is looked at which the statement names: a column that the view has lost is no harm to who does not name it.

use super::block::{Builder, order_of};
use super::derived;
use super::from::{Tree, join_tree, open_table_of, uses_of};
use super::names::{Aliases, BlockScope, Item, Named, Opened, SlotColumn};
use super::view::is_of_view;
use crate::columns::column_of;
use crate::planner::Planner;
use crate::tree::{OrderKey, SortValue, SubqueryPlan, TableUse};
use crate::view::is_mergeable;
use std::cell::RefCell;
use std::sync::Arc;
use vaquita_catalog::ObjectBody;
use vaquita_engine::{MdlMode, Object};
use vaquita_expr::{CompileCx, Expr, Seen, TableSet, compile, selected};
use vaquita_parser::ast::{self, SelectItem, TableRef};
use vaquita_session::privilege::{Through, ViewId};
use vaquita_types::{SqlError, SqlResult, SqlType};

/// What a view looks like to those who use it: for privileges and messages.
#[derive(Debug)]
pub struct Face {
    /// Database.
    pub database: String,
    /// Name.
    pub name: String,
    /// As the statement calls it.
    pub alias: String,
    /// Which view it is; `None`: a derived table.
    pub id: Option<Arc<ViewId>>,
    /// The view by which it is used.
    pub through: Option<Arc<Through>>,
    /// Names of its columns, with the slot and column that each is, if it is one.
    pub columns: Vec<(String, Option<(usize, usize)>)>,
}

/// By what a table is read that a merged view reads.
#[derive(Debug, Clone)]
pub struct Within {
    /// The views, the innermost first.
    pub faces: Vec<Arc<Face>>,
    /// With whose privileges it is read, if a view does.
    pub through: Option<Arc<Through>>,
}

impl Within {
    /// As the statement calls the view.
    pub(crate) fn alias(&self) -> &String {
        &self.faces[self.faces.len() - 1].alias
    }
}

/// A view whose block is merged into another.
#[derive(Debug)]
pub(crate) struct MergedView {
    pub(crate) face: Arc<Face>,
    pub(crate) columns: Vec<SlotColumn>,
    /// Columns that are looked at.
    pub(crate) used: RefCell<Vec<bool>>,
    /// What each column stands for, or what is wrong with it.
    exprs: Vec<SqlResult<Expr>>,
    /// Its joins with its conditions, until the block around it takes them.
    tree: RefCell<Option<Tree>>,
    /// Its tables.
    pub(crate) tables: TableSet,
    /// No outer joins are in it.
    pub(crate) inner_only: bool,
    /// Its ORDER BY.
    order: Vec<OrderKey>,
    /// What a row must satisfy to be seen through it.
    conditions: Vec<Expr>,
    /// What WITH CHECK OPTION asks of rows that are changed through it.
    pub(crate) checks: Vec<Expr>,
    /// What views within it are used for.
    pub(crate) uses: Vec<TableUse>,
    /// What its subqueries read, and of a derived table itself.
    pub(crate) reads: Vec<TableUse>,
    pub(crate) subqueries: RefCell<Vec<(Arc<SubqueryPlan>, bool)>>,
    /// Tables of the block around the one that names it which it refers to.
    pub(crate) outer_tables: TableSet,
    /// It refers to a row of some block around the one that names it.
    pub(crate) correlated: bool,
}

impl MergedView {
    pub(crate) fn named(&self) -> Named<'_> {
        let Face { database, name, alias, .. } = &*self.face;
        Named { database, name, alias, columns: &self.columns }
    }

    /// What a column stands for.
    ///
    /// # Errors
    /// 1356 and others: why it cannot be used.
    pub(crate) fn column(&self, column: usize) -> SqlResult<&Expr> {
        self.exprs[column].as_ref().map_err(SqlError::clone)
    }

    /// Whether it is a derived table: columns of its tables are columns of its own.
    pub(crate) fn is_derived(&self) -> bool {
        self.face.id.is_none()
    }

    /// Its joins; once.
    pub(crate) fn take_tree(&self) -> Tree {
        self.tree.take().unwrap_or_else(|| Tree::Inner { parts: Vec::new(), on: Vec::new(), straight: false })
    }

    /// The same view with its tables at other places, for expressions that name its columns.
    pub(crate) fn moved(&self, by: usize) -> MergedView {
        let to = |level: u16, table: u16| (level, table + by as u16);
        MergedView {
            face: self.face.clone(),
            columns: self.columns.clone(),
            used: RefCell::new(vec![false; self.columns.len()]),
            exprs: self
                .exprs
                .iter()
                .map(|e| e.as_ref().map(|e| e.moved(&to)).map_err(SqlError::clone))
                .collect(),
            tree: RefCell::default(),
            tables: TableSet(self.tables.0 << by),
            inner_only: self.inner_only,
            order: Vec::new(),
            conditions: Vec::new(),
            checks: Vec::new(),
            uses: Vec::new(),
            reads: Vec::new(),
            subqueries: RefCell::default(),
            outer_tables: self.outer_tables,
            correlated: self.correlated,
        }
    }
}

/// What is merged.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Naming<'n> {
    View(OfView<'n>),
    Derived(&'n ast::DerivedTable<'n>),
}

/// A view, its database, name and alias, and with whose privileges it is used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OfView<'n> {
    pub(crate) object: &'n Object,
    pub(crate) body: &'n ObjectBody,
    pub(crate) names: (&'n str, &'n str, &'n str),
    pub(crate) through: &'n Arc<Through>,
    pub(crate) outer: &'n Option<Arc<Through>>,
}

/// The SELECT of a view that can be merged.
pub(crate) fn mergeable<'q>(body: &ObjectBody, query: &'q ast::Query<'q>) -> Option<&'q ast::Select<'q>> {
    let ast::QueryBody::Select(select) = &query.body else { return None };
    let can = body.get(ALGORITHM) != "TEMPTABLE"
        && is_mergeable(query)
        && query.locking.is_empty()
        && select.from.iter().all(has_names_only);
    can.then_some(select)
}

/// Name of the algorithm in what is kept of a view.
const ALGORITHM: &str = "algorithm";
/// Name of its CHECK OPTION there.
const CHECK: &str = "check";

fn has_names_only(table: &TableRef<'_>) -> bool {
    match table {
        TableRef::Table(_) => true,
        TableRef::Derived(_) | TableRef::Json(_) => false,
        TableRef::Join(join) => has_names_only(&join.left) && has_names_only(&join.right),
        TableRef::List(list) => list.iter().all(has_names_only),
    }
}

/// Compiles a view as part of a block; its tables become slots of `opened`. `outer` is the block around that one, `how`: see
/// [`open_table_of`]. `None`: rows of NULLs could not be told from its own, it has to be made first.
pub(crate) fn open<'p>(
    planner: &Planner<'p>,
    naming: Naming<'_>,
    (query, select): (&ast::Query<'_>, &ast::Select<'_>),
    opened: &mut Opened,
    outer: Option<&BlockScope<'_, 'p>>,
    cx: &mut CompileCx<'_>,
    (mode, nullable): (MdlMode, bool),
) -> SqlResult<Option<MergedView>> {
    let read_before = planner.uses.borrow().len();
    let base = opened.base + opened.slots.len();
    let mut own = Opened { base, merges: opened.merges.within(), ..Opened::default() };
    for table in select.from {
        open_table_of(planner, table, outer, cx, (mode, nullable), &mut own)?;
    }
    let scope = BlockScope::of(planner, outer, own);
    let straight_join = select.options.straight_join;
    let builder = Builder { planner, scope: &scope, select, straight_join };
    cx.aggregates = Vec::new();
    let mut tree = join_tree(&scope, select.from, cx)?;
    if let (Tree::Inner { straight, .. }, true) = (&mut tree, straight_join) {
        *straight = true;
    }
    let filter = builder.filter(cx)?;
    let (mut on, mut inner_only) = (Vec::new(), true);
    look_through(&tree, &scope, &mut on, &mut inner_only);
    inner_only &= scope.views.iter().all(|view| view.inner_only);
    let used = scope.used();
    let Some((names, exprs)) = selects(&builder, naming, nullable, cx)? else {
        planner.uses.borrow_mut().truncate(read_before);
        return Ok(None);
    };
    let order = order(&builder, query.order_by, &exprs, cx)?;
    let through = naming.through(planner);
    if let Naming::Derived(_) = naming {
        // Who selects something must be allowed to, whether it is looked at or not.
        planner.note_uses(uses_of(&scope, &[]));
    }
    let uses = uses(&scope, &through);
    // What is selected counts when it is named.
    scope.set_used(used);
    let own_conditions: Vec<Expr> = filter.iter().cloned().chain(on).collect();
    let of_views = scope.views.iter().flat_map(|view| view.conditions.iter().cloned());
    let conditions: Vec<Expr> = own_conditions.iter().cloned().chain(of_views).collect();
    let checks = match naming.check_option() {
        "CASCADED" => conditions.clone(),
        "LOCAL" => own_conditions,
        _ => Vec::new(),
    };
    let mut reads = planner.uses.borrow_mut().split_off(read_before);
    reads.extend(scope.views.iter().flat_map(|view| view.reads.iter().cloned()));
    let face = face(naming, names, &exprs)?;
    let tables = tree.tables();
    let tree = match filter.is_empty() {
        true => tree,
        false => Tree::Inner { parts: vec![tree], on: filter, straight: false },
    };
    let columns = columns(&face, &exprs);
    let subqueries = scope.subqueries.take();
    let (outer_tables, correlated) = (scope.outer_tables.get(), scope.correlated.get());
    let mut slots = scope.into_opened().slots;
    for slot in &mut slots {
        let within = slot
            .within
            .get_or_insert_with(|| Box::new(Within { faces: Vec::new(), through: through.clone() }));
        within.faces.push(face.clone());
    }
    opened.slots.append(&mut slots);
    Ok(Some(MergedView {
        used: RefCell::new(vec![false; columns.len()]),
        face,
        columns,
        exprs,
        tables,
        tree: RefCell::new(Some(tree)),
        inner_only,
        order,
        conditions,
        checks,
        uses,
        reads,
        subqueries: RefCell::new(subqueries),
        outer_tables,
        correlated,
    }))
}

impl Naming<'_> {
    /// With whose privileges its tables are read, if a view does.
    fn through(&self, planner: &Planner<'_>) -> Option<Arc<Through>> {
        match self {
            Naming::View(view) => Some(view.through.clone()),
            Naming::Derived(_) => planner.through.borrow().clone(),
        }
    }

    fn check_option(&self) -> &str {
        match self {
            Naming::View(view) => view.body.get(CHECK),
            Naming::Derived(_) => "",
        }
    }
}

/// Names of columns, and what they stand for or what is wrong with them.
type Selected = (Vec<String>, Vec<SqlResult<Expr>>);

/// What a view selects. `nullable`: rows of NULLs of an outer join may stand for its own, and its columns are NULL in them.
fn selects(
    builder: &Builder<'_, '_, '_>,
    naming: Naming<'_>,
    nullable: bool,
    cx: &mut CompileCx<'_>,
) -> SqlResult<Option<Selected>> {
    let scope = builder.scope;
    let view = match naming {
        Naming::View(view) => view,
        Naming::Derived(table) => {
            let Some(columns) = derived::columns_of(builder, table.columns, nullable, cx)? else {
                return Ok(None);
            };
            derived::keep_items(scope, &columns);
            return Ok(Some(columns.into_iter().map(|(name, expr)| (name, Ok(expr))).unzip()));
        }
    };
    let name_of = |item: &SelectItem<'_>| match item {
        SelectItem::Expr { alias: Some(alias), .. } => alias.to_string(),
        _ => String::new(),
    };
    let mut exprs = items(scope, builder.select, view.through, cx)?;
    for expr in exprs.iter_mut().flatten().filter(|e| nullable && column_of(e).is_none()) {
        let Some(row) = derived::row_of(scope) else { return Ok(None) };
        let value = std::mem::replace(expr, Expr::null());
        *expr = selected(cx, value, Some(row), true, Seen::AsItself);
    }
    Ok(Some((builder.select.items.iter().map(name_of).collect(), exprs)))
}

/// Conditions of the joins of a view, without those of the views in it; whether all joins are inner ones.
fn look_through(tree: &Tree, scope: &BlockScope<'_, '_>, on: &mut Vec<Expr>, inner_only: &mut bool) {
    if scope.views.iter().any(|view| view.tables == tree.tables()) {
        return;
    }
    match tree {
        Tree::Table(_) => {}
        Tree::Inner { parts, on: own, .. } => {
            on.extend(own.iter().cloned());
            parts.iter().for_each(|part| look_through(part, scope, on, inner_only));
        }
        Tree::Left { outer, inner, on: own } => {
            *inner_only = false;
            on.extend(own.iter().cloned());
            look_through(outer, scope, on, inner_only);
            look_through(inner, scope, on, inner_only);
        }
    }
}

/// What a view selects; a name that means nothing any more is an error of who uses that column.
fn items(
    scope: &BlockScope<'_, '_>,
    select: &ast::Select<'_>,
    through: &Through,
    cx: &mut CompileCx<'_>,
) -> SqlResult<Vec<SqlResult<Expr>>> {
    scope.clause.set("field list");
    let mut exprs = Vec::new();
    for item in select.items {
        let SelectItem::Expr { expr, alias, .. } = item else { return Err(through.invalid()) };
        let compiled = match compile(expr, scope, cx) {
            Err(e) if is_of_view(e.code) => Err(through.invalid()),
            compiled => compiled,
        };
        if let Ok(expr) = &compiled {
            let name = alias.map_or_else(String::new, |alias| alias.to_string());
            scope.items.borrow_mut().push(Item { name, expr: expr.clone() });
        }
        exprs.push(compiled);
    }
    Ok(exprs)
}

fn order(
    builder: &Builder<'_, '_, '_>,
    order_by: &[ast::OrderItem<'_>],
    exprs: &[SqlResult<Expr>],
    cx: &mut CompileCx<'_>,
) -> SqlResult<Vec<OrderKey>> {
    // Places among the items are those of the columns only if all of them are there.
    if exprs.iter().any(SqlResult::is_err) {
        return Ok(Vec::new());
    }
    builder.scope.clause.set("order clause");
    let mut keys = Vec::new();
    for key in order_by {
        let value = match builder.order_value(&key.expr, cx)? {
            SortValue::Item(at) => builder.scope.items.borrow()[at].expr.clone(),
            SortValue::Expr(expr) => expr,
        };
        let how = order_of(value.ty());
        keys.push(OrderKey { value: SortValue::Expr(value), descending: key.descending, how });
    }
    builder.scope.aliases.set(Aliases::Ignored);
    Ok(keys)
}

/// What the views within a view are used for.
fn uses(scope: &BlockScope<'_, '_>, through: &Option<Arc<Through>>) -> Vec<TableUse> {
    let mut uses = Vec::new();
    for view in &scope.views {
        let used = view.used.borrow();
        let columns = view.columns.iter().zip(&*used).filter(|(_, used)| **used);
        if let Some(id) = &view.face.id {
            uses.push(TableUse {
                database: view.face.database.clone(),
                table: view.face.name.clone(),
                renamed: false,
                columns: columns.map(|(c, _)| c.name.clone()).collect(),
                locked: false,
                for_update: false,
                derived: false,
                view: Some(id.clone()),
                through: through.clone(),
                own: false,
            });
        }
        uses.extend(view.uses.iter().cloned());
    }
    uses
}

fn face(naming: Naming<'_>, names: Vec<String>, exprs: &[SqlResult<Expr>]) -> SqlResult<Arc<Face>> {
    let base = |expr: &SqlResult<Expr>| expr.as_ref().ok().and_then(column_of);
    let columns = names.into_iter().zip(exprs.iter().map(base)).collect();
    Ok(Arc::new(match naming {
        Naming::View(OfView { object, names: (database, name, alias), outer, .. }) => {
            let definer = super::view::definer_of(object)?;
            let id = ViewId { name: object.lock_name().into(), id: object.id, definer };
            Face {
                database: database.to_owned(),
                name: name.to_owned(),
                alias: alias.to_owned(),
                id: Some(Arc::new(id)),
                through: outer.clone(),
                columns,
            }
        }
        Naming::Derived(table) => Face {
            database: String::new(),
            name: String::new(),
            alias: table.alias.to_string(),
            id: None,
            through: None,
            columns,
        },
    }))
}

fn columns(face: &Face, exprs: &[SqlResult<Expr>]) -> Vec<SlotColumn> {
    let column = |((name, _), expr): (&(String, Option<_>), &SqlResult<Expr>)| SlotColumn {
        name: name.clone(),
        ty: expr.as_ref().map_or_else(|_| SqlType::bigint(false), |expr| expr.ty().clone()),
        hidden: false,
        invisible: false,
    };
    face.columns.iter().zip(exprs).map(column).collect()
}

/// The order that the one view in FROM gives a block without an order of its own.
pub(crate) fn order_of_only(scope: &BlockScope<'_, '_>) -> Vec<OrderKey> {
    let ([_], [view]) = (&scope.order[..], &scope.views[..]) else { return Vec::new() };
    view.order.iter().filter_map(|key| key.value.expr()).for_each(|expr| scope.use_all(expr));
    view.order.clone()
}
