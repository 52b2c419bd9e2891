//! Names of a query block: what the compiler of expressions asks.
//!
//! Every table in FROM has a *slot*. Unqualified names are looked up among the *visible* columns: those of all tables,
//! but of columns that NATURAL or USING merge only one. Which are visible differs from clause to clause (ON sees its own
//! operands), as does whether select aliases count and which come first.

use super::derived::Merges;
use super::merged::{MergedView, Within};
use super::subquery::plan_subquery;
use crate::columns::column_of;
use crate::planner::Planner;
use crate::tree::{Making, Source, SubqueryPlan};
use crate::view::quoted;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use vaquita_catalog::{is_row_id, same_name};
use vaquita_expr::scope::unknown_column;
use vaquita_expr::window::misplaced;
use vaquita_expr::{CompileCx, CompiledSubquery, Expr, FullText, Resolved, ResolvedColumn, Scope, TableSet};
use vaquita_parser::ast;
use vaquita_session::privilege::ViewId;
use vaquita_types::{SqlError, SqlResult, SqlType};

/// Most tables of a query block.
pub(crate) const TABLES_MAX: usize = 61;

/// From here on numbers of what can be named are those of merged views; before, they are slots.
pub(crate) const VIEWS: usize = 64;

/// A column of a table in FROM.
#[derive(Debug, Clone)]
pub struct SlotColumn {
    /// Name.
    pub name: String,
    /// Type.
    pub ty: SqlType,
    /// See [`vaquita_catalog::ColumnInfo::hidden`].
    pub hidden: bool,
    /// INVISIBLE: to be named only.
    pub invisible: bool,
}

/// What hints say of the ways to read a table; indexes by position in the engine's table, `None`: all.
#[derive(Debug, Clone, Default)]
pub struct Methods {
    /// Of those that are allowed, those whose ranges may be read.
    pub ranged: Option<Vec<usize>>,
    /// Those that may give the order of ORDER BY.
    pub sorting: Option<Vec<usize>>,
    /// Those that may give the order of GROUP BY.
    pub grouping: Option<Vec<usize>>,
    /// One of `sorting` or `grouping` is to give the order if it can: sorting is a last resort.
    pub sorted: bool,
    /// It is to be joined by hash, or not.
    pub by_hash: Option<bool>,
}

/// A table in FROM.
#[derive(Debug)]
pub struct Slot {
    /// Database; empty for derived tables.
    pub database: String,
    /// Name in the database; empty for derived tables.
    pub name: String,
    /// As the statement calls it.
    pub alias: String,
    /// Where its rows come from.
    pub source: Source,
    /// Its columns.
    pub columns: Vec<SlotColumn>,
    /// It is inner to an outer join: its columns can be NULL.
    pub nullable: Cell<bool>,
    /// Columns that are looked at.
    pub used: RefCell<Vec<bool>>,
    /// Indexes that hints allow, by position in the engine's table; `None`: all.
    pub allowed: Option<Vec<usize>>,
    /// FULLTEXT indexes that hints leave to searches in boolean mode, by their positions; `None`: all.
    pub allowed_words: Option<Vec<usize>>,
    /// FORCE INDEX: a full scan is a last resort.
    pub force: bool,
    /// What hints say of the ways to read it.
    pub methods: Methods,
    /// Tables that hints put before it.
    pub after: TableSet,
    /// Of a derived table: what it refers to.
    pub depends: Depends,
    /// Columns that are looked at only because they have the values of expressions that the query holds.
    pub(crate) substituted: RefCell<Vec<usize>>,
    /// Columns that are searched by a full-text index, whose texts nobody looks at for it.
    pub(crate) searched: RefCell<Vec<usize>>,
    /// Subqueries in the document of JSON_TABLE, and whether they refer to rows around them.
    pub(crate) subqueries: RefCell<Vec<(Arc<SubqueryPlan>, bool)>>,
    /// It is inner to an outer join of those that come before what is being planned.
    pub(crate) padded: Cell<bool>,
    /// It is a view, whose rows are made first.
    pub view: Option<Arc<ViewId>>,
    /// The parts of a partitioned table that are named (`PARTITION (..)`).
    pub parts: Option<Arc<[usize]>>,
    /// A merged view reads it: it cannot be named.
    pub(crate) within: Option<Box<Within>>,
}

/// What FROM opens.
#[derive(Debug, Default)]
pub(crate) struct Opened {
    /// Tables, those of merged views among them.
    pub(crate) slots: Vec<Slot>,
    /// Views whose blocks are merged into this one.
    pub(crate) views: Vec<MergedView>,
    /// What can be named, in the order of the text: slots, and from [`VIEWS`] on views.
    pub(crate) order: Vec<usize>,
    /// Number of the first slot: not 0 within a merged view, whose tables stand among those of the block around it.
    pub(crate) base: usize,
    /// Which derived tables may be merged.
    pub(crate) merges: Merges,
}

/// A table that can be named: of a slot, or a merged view.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Named<'n> {
    pub(crate) database: &'n str,
    pub(crate) name: &'n str,
    pub(crate) alias: &'n str,
    pub(crate) columns: &'n [SlotColumn],
}

impl<'n> Named<'n> {
    /// Whether it is the one that a name's table part means.
    pub(crate) fn is(self, schema: Option<ast::Ident<'_>>, table: ast::Ident<'_>) -> bool {
        self.alias.as_bytes() == table.name
            && schema.is_none_or(|s| !self.database.is_empty() && same_database(self.database, s.name))
    }

    /// Whether `*` and NATURAL leave a column out that can be named.
    pub(crate) fn leaves_out(self, column: usize) -> bool {
        self.columns[column].invisible
    }

    /// Positions of the columns that can be named.
    pub(crate) fn shown(self) -> impl Iterator<Item = usize> + 'n {
        self.columns.iter().enumerate().filter(|(_, c)| !c.hidden).map(|(i, _)| i)
    }
}

impl Opened {
    /// What has that number in `order`.
    pub(crate) fn named(&self, at: usize) -> Named<'_> {
        named(&self.slots, &self.views, at)
    }
}

fn named<'n>(slots: &'n [Slot], views: &'n [MergedView], at: usize) -> Named<'n> {
    match at.checked_sub(VIEWS) {
        Some(view) => views[view].named(),
        None => {
            let Slot { database, name, alias, columns, .. } = &slots[at];
            Named { database, name, alias, columns }
        }
    }
}

/// What a derived table refers to outside of itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct Depends {
    /// When it is made.
    pub making: Making,
    /// Tables of its own block, of LATERAL.
    pub lateral: TableSet,
    /// Tables of the block around its own.
    pub(crate) outer_tables: TableSet,
    /// Some row of a block around its own.
    pub(crate) correlated: bool,
}

impl Slot {
    /// Whether it is a temporary table of the session.
    pub(crate) fn is_temporary(&self) -> bool {
        matches!(&self.source, Source::Stored(info) if info.table.is_temporary())
    }

    /// The column that `_rowid` names; see [`TableInfo::row_id`].
    fn row_id(&self) -> Option<usize> {
        match &self.source {
            Source::Stored(info) => info.row_id(),
            Source::Derived(_) | Source::Virtual(_) | Source::Recursive(_) | Source::Json(_) => None,
        }
    }

    /// Positions of the columns that can be named.
    pub(crate) fn shown(&self) -> impl Iterator<Item = usize> {
        self.columns.iter().enumerate().filter(|(_, c)| !c.hidden).map(|(i, _)| i)
    }
}

/// A column that can be named without its table.
#[derive(Debug, Clone)]
pub(crate) struct Visible {
    pub(crate) slot: usize,
    pub(crate) column: usize,
}

/// Whether names may be select aliases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aliases {
    /// No.
    Ignored,
    /// If no column has the name (GROUP BY, expressions in ORDER BY).
    Last,
    /// Rather than a column (HAVING, ORDER BY of a plain name).
    First,
}

/// An item of the select list that can be referred to.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    /// Its alias, or the column's name.
    pub(crate) name: String,
    pub(crate) expr: Expr,
}

/// The names of one query block.
pub struct BlockScope<'s, 'p> {
    pub(crate) planner: &'s Planner<'p>,
    pub(crate) outer: Option<&'s BlockScope<'s, 'p>>,
    pub(crate) slots: Vec<Slot>,
    /// Views whose blocks are merged into this one.
    pub(crate) views: Vec<MergedView>,
    /// What can be named, in the order of the text: see [`Opened::order`].
    pub(crate) order: Vec<usize>,
    /// Number of the first slot: see [`Opened::base`].
    pub(crate) base: usize,
    pub(crate) visible: RefCell<Vec<Visible>>,
    pub(crate) clause: Cell<&'static str>,
    pub(crate) aggregates: Cell<bool>,
    pub(crate) windows: Cell<bool>,
    pub(crate) aliases: Cell<Aliases>,
    pub(crate) items: RefCell<Vec<Item>>,
    /// Names of items of the select list that are still to come: nobody can refer to them.
    pub(crate) coming: RefCell<Vec<String>>,
    /// Columns that GROUP BY names. HAVING means them rather than items of the select list.
    pub(crate) grouped: RefCell<Vec<(usize, usize)>>,
    /// Names that were taken for one of two things that they may mean: warnings 1052.
    pub(crate) doubtful: RefCell<Vec<SqlError>>,
    /// In HAVING: the columns that are selected or grouped by, for only they can be named; anywhere else `None`.
    pub(crate) nameable: RefCell<Option<Vec<(usize, usize)>>>,
    /// Tables of the enclosing block that this one refers to.
    pub(crate) outer_tables: Cell<TableSet>,
    /// It refers to some row further out.
    pub(crate) correlated: Cell<bool>,
    /// Subqueries in its expressions, and whether they refer to rows around them.
    pub(crate) subqueries: RefCell<Vec<(Arc<SubqueryPlan>, bool)>>,
}

impl<'s, 'p> BlockScope<'s, 'p> {
    pub(crate) fn new(
        planner: &'s Planner<'p>,
        outer: Option<&'s BlockScope<'s, 'p>>,
        slots: Vec<Slot>,
    ) -> Self {
        let order = (0..slots.len()).collect();
        Self::of(planner, outer, Opened { slots, order, ..Opened::default() })
    }

    pub(crate) fn of(
        planner: &'s Planner<'p>,
        outer: Option<&'s BlockScope<'s, 'p>>,
        opened: Opened,
    ) -> Self {
        let Opened { slots, views, order, base, merges: _ } = opened;
        let subqueries = views.iter().flat_map(|view| view.subqueries.take()).collect();
        let of_slots = slots.iter().map(|t| t.depends.outer_tables);
        let outer_tables = of_slots.chain(views.iter().map(|view| view.outer_tables));
        let outer_tables = outer_tables.fold(TableSet::default(), TableSet::union);
        let correlated =
            slots.iter().any(|t| t.depends.correlated) || views.iter().any(|view| view.correlated);
        BlockScope {
            planner,
            outer,
            slots,
            views,
            order,
            base,
            visible: RefCell::default(),
            clause: Cell::new("field list"),
            aggregates: Cell::new(false),
            windows: Cell::new(false),
            aliases: Cell::new(Aliases::Ignored),
            items: RefCell::default(),
            coming: RefCell::default(),
            grouped: RefCell::default(),
            doubtful: RefCell::default(),
            nameable: RefCell::default(),
            outer_tables: Cell::new(outer_tables),
            correlated: Cell::new(correlated),
            subqueries: RefCell::new(subqueries),
        }
    }

    /// What FROM opened, given back.
    pub(crate) fn into_opened(self) -> Opened {
        let BlockScope { slots, views, order, base, .. } = self;
        Opened { slots, views, order, base, merges: Merges::default() }
    }

    /// A table that can be named.
    pub(crate) fn named(&self, at: usize) -> Named<'_> {
        named(&self.slots, &self.views, at)
    }

    /// The merged view that a number is, if it is one.
    pub(crate) fn view(&self, at: usize) -> Option<&MergedView> {
        self.views.get(at.checked_sub(VIEWS)?)
    }

    /// All columns that can be named, of everything in FROM.
    pub(crate) fn all_visible(&self) -> Vec<Visible> {
        let of_one = |&slot: &usize| self.named(slot).shown().map(move |column| Visible { slot, column });
        self.order.iter().flat_map(of_one).collect()
    }

    /// How many blocks there are from the outermost one to this one.
    pub(crate) fn depth(&self) -> u16 {
        1 + self.outer.map_or(0, BlockScope::depth)
    }

    /// Which columns are looked at so far, by slot, then by view.
    pub(crate) fn used(&self) -> Vec<Vec<bool>> {
        let of_views = self.views.iter().map(|view| &view.used);
        self.slots.iter().map(|slot| &slot.used).chain(of_views).map(|used| used.borrow().clone()).collect()
    }

    /// Forgets what was looked at since [`BlockScope::used`].
    pub(crate) fn set_used(&self, used: Vec<Vec<bool>>) {
        let of_views = self.views.iter().map(|view| &view.used);
        let all = self.slots.iter().map(|slot| &slot.used).chain(of_views);
        all.zip(used).for_each(|(at, used)| *at.borrow_mut() = used);
    }

    /// Marks a column of a slot as looked at and describes it.
    pub(crate) fn column(&self, slot: usize, column: usize) -> ResolvedColumn {
        let table = &self.slots[slot];
        table.used.borrow_mut()[column] = true;
        let mut ty = table.columns[column].ty.clone();
        ty.nullable |= table.nullable.get();
        ResolvedColumn { level: 0, table: (slot + self.base) as u16, column: column as u16, ty }
    }

    /// The slot with that number in compiled expressions.
    pub(crate) fn slot(&self, table: usize) -> Option<&Slot> {
        self.slots.get(table.checked_sub(self.base)?)
    }

    /// Marks what an expression looks at in this block.
    pub(crate) fn use_all(&self, expr: &Expr) {
        expr.walk(&mut |e| {
            if let Some((table, column)) = column_of(e)
                && let Some(slot) = self.slot(table)
            {
                slot.used.borrow_mut()[column] = true;
            }
        });
    }

    /// What a column of a table that can be named stands for, as seen from a block so many further in; it is marked as looked at.
    ///
    /// # Errors
    /// 1356 the column of a view is not there any more.
    pub(crate) fn resolved(&self, at: usize, column: usize, level: u16) -> SqlResult<Resolved> {
        let Some(view) = self.view(at) else {
            return Ok(Resolved::Column(ResolvedColumn { level, ..self.column(at, column) }));
        };
        view.used.borrow_mut()[column] = true;
        let expr = view.column(column)?;
        if let Some((table, column)) = column_of(expr) {
            return Ok(Resolved::Column(ResolvedColumn { level, ..self.column(table - self.base, column) }));
        }
        self.use_all(expr);
        Ok(Resolved::Expr(match level {
            0 => expr.clone(),
            _ => expr.moved(&|at, table| (at + level, table)),
        }))
    }

    /// Whether something is the one a name's table part means.
    pub(crate) fn is_meant(&self, at: usize, schema: Option<ast::Ident<'_>>, table: ast::Ident<'_>) -> bool {
        self.named(at).is(schema, table)
    }

    pub(crate) fn find(&self, name: &ast::ColumnRef<'_>) -> SqlResult<Option<(usize, usize)>> {
        let wanted = name.name.to_string();
        let mut found = None;
        // Of the columns of a union that have one name, the first is meant.
        let of_union = |slot: usize| self.named(slot).alias.is_empty();
        let mut add = |slot: usize, column: usize| match found {
            Some(_) if of_union(slot) => Ok(()),
            Some(at) if at != (slot, column) => Err(self.ambiguous(name)),
            _ => {
                found = Some((slot, column));
                Ok(())
            }
        };
        match name.table {
            None => {
                for v in &*self.visible.borrow() {
                    if same_name(&self.named(v.slot).columns[v.column].name, &wanted) {
                        add(v.slot, v.column)?;
                    }
                }
            }
            Some(table) => {
                let visible = self.visible.borrow();
                for &i in &self.order {
                    let meant = self.named(i);
                    if !meant.is(name.schema, table)
                        || self.clause.get() == "on clause" && !visible.iter().any(|v| v.slot == i)
                    {
                        continue;
                    }
                    if let Some(c) = meant.shown().find(|&c| same_name(&meant.columns[c].name, &wanted)) {
                        add(i, c)?;
                    }
                }
            }
        }
        Ok(found.or_else(|| if is_row_id(&wanted) { self.find_row_id(name) } else { None }))
    }

    /// What `_rowid` names; without its table it must be the only one.
    fn find_row_id(&self, name: &ast::ColumnRef<'_>) -> Option<(usize, usize)> {
        let is_meant = |&at: &usize| match name.table {
            Some(table) => self.is_meant(at, name.schema, table),
            None => self.order.len() == 1,
        };
        let slot = self.order.iter().copied().find(is_meant)?;
        Some((slot, self.slots.get(slot)?.row_id()?))
    }

    fn ambiguous(&self, name: &ast::ColumnRef<'_>) -> SqlError {
        let table = name.table.map_or(String::new(), |t| format!("{t}."));
        SqlError::new(1052, format!("Column '{table}{}' in {} is ambiguous", name.name, self.clause.get()))
    }

    /// The item of the select list that a name means. What is no column is the item as soon as it has the name.
    pub(crate) fn find_item(&self, name: &ast::ColumnRef<'_>) -> SqlResult<Option<Expr>> {
        if name.table.is_some() {
            return Ok(None);
        }
        let wanted = name.name.to_string();
        let items = self.items.borrow();
        let mut found: Option<&Item> = None;
        for item in items.iter().filter(|i| same_name(&i.name, &wanted)) {
            let Some(column) = column_of(&item.expr) else {
                found = Some(item);
                break;
            };
            match found {
                Some(other) if column_of(&other.expr) != Some(column) => return Err(self.ambiguous(name)),
                _ => found = Some(item),
            }
        }
        let Some(first) = found else { return Ok(None) };
        if first.expr.has_window() && !self.windows.get() {
            return Err(SqlError::new(
                3594,
                format!(
                    "You cannot use the alias '{wanted}' of an expression containing a window function in this \
                     context.'"
                ),
            ));
        }
        Ok(Some(first.expr.clone()))
    }

    /// The column that GROUP BY names and a name of HAVING means.
    ///
    /// # Errors
    /// 1052 it is one of two.
    fn find_grouped(&self, name: &ast::ColumnRef<'_>) -> SqlResult<Option<(usize, usize)>> {
        let wanted = name.name.to_string();
        let grouped = self.grouped.borrow();
        let mut found = None;
        for &(table, column) in &*grouped {
            let is_meant = |slot: &Slot| same_name(&slot.columns[column].name, &wanted);
            if !self.slot(table).is_some_and(is_meant) {
                continue;
            }
            let at = (table - self.base, column);
            if found.is_some_and(|other| other != at) {
                return Err(self.ambiguous(name));
            }
            found = Some(at);
        }
        Ok(found)
    }

    /// Notes a warning that a name may mean something else.
    pub(crate) fn note_doubt(&self, name: &ast::ColumnRef<'_>) {
        self.doubtful.borrow_mut().push(self.ambiguous(name));
    }

    /// An item of the select list that a subquery names, as its block sees it. Conditions are there before the items.
    ///
    /// # Errors
    /// 1247 it is not known yet, or is calculated of groups.
    fn find_item_from_within(&self, name: &ast::ColumnRef<'_>) -> SqlResult<Option<Expr>> {
        if name.table.is_some() || matches!(self.clause.get(), "where clause" | "on clause") {
            return Ok(None);
        }
        let refused =
            |why: &str| SqlError::new(1247, format!("Reference '{}' not supported ({why})", name.name));
        match self.find_item(name)? {
            Some(item) if item.info().has_aggregate => Err(refused("reference to group function")),
            Some(item) => Ok(Some(item)),
            None => {
                let wanted = name.name.to_string();
                match self.coming.borrow().iter().any(|other| same_name(other, &wanted)) {
                    true => Err(refused("forward reference in item list")),
                    false => Ok(None),
                }
            }
        }
    }

    /// A column as a view's text has it.
    pub(crate) fn written(&self, slot: usize, column: usize) -> String {
        let table = self.named(slot);
        let name = quoted(&table.columns[column].name);
        // Columns of views say no database.
        let is_view = slot >= VIEWS || self.slots[slot].view.is_some();
        if table.alias.is_empty() {
            return name;
        }
        match table.alias == table.name && !table.database.is_empty() && !is_view {
            true => format!("{}.{}.{name}", quoted(table.database), quoted(table.name)),
            false => format!("{}.{name}", quoted(table.alias)),
        }
    }

    /// Notes what a name stands for, if somebody wants to know.
    fn note(&self, name: &ast::ColumnRef<'_>, slot: usize, column: usize) {
        if let Some(names) = &mut *self.planner.names.borrow_mut() {
            names.note_column(name, self.written(slot, column));
        }
    }

    /// Notes that a name stands for an item of the select list: what is no column keeps its name.
    pub(crate) fn note_item(&self, name: &ast::ColumnRef<'_>, expr: &Expr, by_name: bool) {
        match column_of(expr).filter(|_| !by_name) {
            Some((slot, column)) if self.slot(slot).is_some_and(|slot| slot.within.is_none()) => {
                self.note(name, slot - self.base, column);
            }
            _ => {
                if let Some(names) = &mut *self.planner.names.borrow_mut() {
                    names.note_column(name, quoted(&name.name.to_string()));
                }
            }
        }
    }

    /// Whether HAVING may name a column, if it is HAVING that is compiled.
    fn is_nameable(&self, slot: usize, column: usize) -> bool {
        let nameable = self.nameable.borrow();
        let Some(nameable) = nameable.as_ref() else { return true };
        match self.view(slot).map(|view| view.column(column).map(column_of)) {
            None => nameable.contains(&(slot, column)),
            Some(Ok(Some(base))) => nameable.contains(&base),
            Some(_) => true,
        }
    }

    /// A name in this block only.
    fn resolve_here(&self, name: &ast::ColumnRef<'_>) -> SqlResult<Option<Resolved>> {
        let aliases = self.aliases.get();
        if aliases == Aliases::First
            && let Some(expr) = self.find_item(name)?
        {
            if let Some((slot, column)) = self.find_grouped(name)?
                && column_of(&expr) != Some((slot + self.base, column))
            {
                self.note_doubt(name);
                self.note(name, slot, column);
                return self.resolved(slot, column, 0).map(Some);
            }
            self.note_item(name, &expr, true);
            return Ok(Some(Resolved::Expr(expr)));
        }
        if let Some((slot, column)) = self.find(name)? {
            self.note(name, slot, column);
            return match self.is_nameable(slot, column) {
                true => self.resolved(slot, column, 0).map(Some),
                false => Ok(None),
            };
        }
        if aliases == Aliases::Last
            && let Some(expr) = self.find_item(name)?
        {
            self.note_item(name, &expr, false);
            return Ok(Some(Resolved::Expr(expr)));
        }
        Ok(None)
    }
}

fn same_database(a: &str, b: &[u8]) -> bool {
    a.as_bytes() == b || vaquita_catalog::is_virtual_database(a) && a.as_bytes().eq_ignore_ascii_case(b)
}

impl Scope for BlockScope<'_, '_> {
    fn resolve(&self, name: &ast::ColumnRef<'_>) -> SqlResult<Resolved> {
        if let Some(found) = self.resolve_here(name)? {
            return Ok(found);
        }
        let (mut level, mut inner, mut scope) = (1, self, self.outer);
        let mut between: Vec<&BlockScope<'_, '_>> = Vec::new();
        while let Some(outer) = scope {
            if let Some((slot, column)) = outer.find(name)? {
                outer.note(name, slot, column);
                let tables = match outer.view(slot) {
                    Some(view) => view.column(column)?.tables(),
                    None => TableSet::of((slot + outer.base) as u16),
                };
                inner.outer_tables.set(inner.outer_tables.get().union(tables));
                self.correlated.set(true);
                between.iter().for_each(|b| b.correlated.set(true));
                return outer.resolved(slot, column, level);
            }
            if let Some(item) = outer.find_item_from_within(name)? {
                outer.note_item(name, &item, true);
                outer.use_all(&item);
                inner.outer_tables.set(inner.outer_tables.get().union(item.tables()));
                self.correlated.set(true);
                between.iter().for_each(|b| b.correlated.set(true));
                return Ok(Resolved::Outer(item, level));
            }
            between.push(outer);
            (level, inner, scope) = (level + 1, outer, outer.outer);
        }
        Err(unknown_column(name, self.clause.get()))
    }

    fn resolve_argument(&self, name: &ast::ColumnRef<'_>) -> SqlResult<Resolved> {
        // There a name is a column of the tables first.
        let nameable = self.nameable.take();
        let aliases = self.aliases.get();
        if aliases == Aliases::First {
            self.aliases.set(Aliases::Last);
        }
        let resolved = self.resolve(name);
        self.aliases.set(aliases);
        *self.nameable.borrow_mut() = nameable;
        resolved
    }

    fn full_name(&self, column: &ResolvedColumn, _: &ast::ColumnRef<'_>) -> String {
        let mut scope = self;
        for _ in 0..column.level {
            match scope.outer {
                Some(outer) => scope = outer,
                None => return String::new(),
            }
        }
        let Some(table) = scope.slot(column.table.into()) else { return String::new() };
        let name = &table.columns[usize::from(column.column)].name;
        match table.database.as_str() {
            "" => format!("`{}`.`{name}`", table.alias),
            database => format!("`{database}`.`{}`.`{name}`", table.alias),
        }
    }

    fn allows_aggregates(&self) -> bool {
        self.aggregates.get()
    }

    fn window_refusal(&self, function: &str) -> Option<SqlError> {
        (!self.windows.get()).then(|| misplaced(function))
    }

    fn subquery(&self, query: &ast::Query<'_>, cx: &mut CompileCx<'_>) -> SqlResult<CompiledSubquery> {
        let (plan, compiled) = plan_subquery(self.planner, query, Some(self), cx)?;
        let correlated = plan.correlated;
        self.subqueries.borrow_mut().push((plan, correlated));
        Ok(compiled)
    }

    fn full_text(&self, matching: &ast::Match<'_>, cx: &mut CompileCx<'_>) -> SqlResult<Expr> {
        self.matching(matching, cx)
    }

    fn words_of(&self, text: &Expr) -> Option<Arc<dyn FullText>> {
        self.words_of_column(text)
    }

    fn default_of(&self, column: &ast::ColumnRef<'_>) -> SqlResult<Expr> {
        let Resolved::Column(found) = self.resolve(column)? else {
            return Err(unknown_column(column, self.clause.get()));
        };
        let mut scope = self;
        for _ in 0..found.level {
            scope = scope.outer.ok_or_else(|| unknown_column(column, self.clause.get()))?;
        }
        match scope.slot(found.table.into()) {
            Some(slot) => default_of(&slot.source, usize::from(found.column)),
            None => Err(unknown_column(column, self.clause.get())),
        }
    }
}

/// DEFAULT(column); of a derived table's column that of the column it is.
fn default_of(source: &Source, column: usize) -> SqlResult<Expr> {
    match source {
        Source::Stored(info) => {
            let ty = info.columns[column].sql_type().clone();
            Ok(Expr::constant(vaquita_catalog::default_value(info, column)?, ty))
        }
        Source::Derived(query) => {
            let crate::tree::Body::Block(block) = &query.body else {
                return Err(SqlError::unsupported("DEFAULT() of a UNION's column"));
            };
            match block.items.get(column).and_then(column_of) {
                Some((slot, column)) => default_of(&block.reads[slot].source, column),
                None => Err(SqlError::unsupported("DEFAULT() of a calculated column")),
            }
        }
        Source::Virtual(_) => Err(SqlError::unsupported("DEFAULT() in information_schema")),
        Source::Recursive(_) => Err(SqlError::unsupported("DEFAULT() of a recursive table's column")),
        Source::Json(_) => Err(SqlError::unsupported("DEFAULT() of a column of JSON_TABLE")),
    }
}
