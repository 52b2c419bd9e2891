//! FROM: opens the tables, builds the tree of joins.

use super::block;
use super::json_table;
use super::merged::{self, Within};
use super::names::{BlockScope, Depends, Methods, Opened, Slot, SlotColumn, TABLES_MAX, VIEWS, Visible};
use super::view::{self, OpenedView};
use super::with::named_columns;
use crate::common::{CommonColumn, CommonRows, CommonTable};
use crate::planner::Planner;
use crate::source::VirtualColumn;
use crate::tree::TableUse;
use crate::tree::{Making, Source};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use vaquita_catalog::table::{open_base_table, open_table};
use vaquita_catalog::{ColumnInfo, TableInfo, same_name};
use vaquita_engine::{MdlMode, Object};
use vaquita_expr::{CompileCx, Expr, TableSet, compile, compile_condition};
use vaquita_parser::ast::{self, JoinCondition, JoinKind, TableRef};
use vaquita_session::privilege::{Priv, ViewId};
use vaquita_session::sink::ColumnMeta;
use vaquita_types::{SqlError, SqlResult};

/// A tree of joins. RIGHT joins have become LEFT ones.
#[derive(Debug)]
pub(crate) enum Tree {
    /// A table, by slot.
    Table(usize),
    /// All of them, and all conditions hold. `straight`: in this order.
    Inner { parts: Vec<Tree>, on: Vec<Expr>, straight: bool },
    /// Rows of `outer` with those of `inner` for which `on` holds, or NULLs.
    Left { outer: Box<Tree>, inner: Box<Tree>, on: Vec<Expr> },
}

impl Tree {
    /// Its tables.
    pub(crate) fn tables(&self) -> TableSet {
        match self {
            Tree::Table(slot) => TableSet::of(*slot as u16),
            Tree::Inner { parts, .. } => parts.iter().fold(TableSet::default(), |s, p| s.union(p.tables())),
            Tree::Left { outer, inner, .. } => outer.tables().union(inner.tables()),
        }
    }
}

/// Opens all tables of FROM, in the order of the text. `outer` is the block around this one.
pub(crate) fn open_tables<'p>(
    planner: &Planner<'p>,
    from: &[TableRef<'_>],
    outer: Option<&BlockScope<'_, 'p>>,
    cx: &mut CompileCx<'_>,
    mode: MdlMode,
    opened: &mut Opened,
) -> SqlResult<()> {
    from.iter().try_for_each(|table| open_table_of(planner, table, outer, cx, (mode, false), opened))
}

/// `how`: the metadata lock, and whether rows of NULLs of an outer join may stand for those of the table.
pub(crate) fn open_table_of<'p>(
    planner: &Planner<'p>,
    table: &TableRef<'_>,
    outer: Option<&BlockScope<'_, 'p>>,
    cx: &mut CompileCx<'_>,
    how: (MdlMode, bool),
    opened: &mut Opened,
) -> SqlResult<()> {
    match table {
        TableRef::Table(named) => match common_slot(planner, named, outer)? {
            Some(slot) => push_slot(opened, slot),
            None => open_named(planner, named, cx, how, opened),
        },
        TableRef::Derived(derived) => {
            if merge_derived(planner, derived, outer, cx, how, opened)? {
                return Ok(());
            }
            let slot = open_derived(planner, derived, outer, cx, opened)?;
            push_slot(opened, slot)
        }
        TableRef::Json(table) => {
            let slot = open_json(planner, table, outer, cx, opened)?;
            push_slot(opened, slot)
        }
        TableRef::Join(join) => {
            let (mode, nullable) = how;
            let (of_left, of_right) = (join.kind == JoinKind::Right, join.kind == JoinKind::Left);
            let first = opened.slots.len();
            open_table_of(planner, &join.left, outer, cx, (mode, nullable || of_left), opened)?;
            let right = opened.slots.len();
            open_table_of(planner, &join.right, outer, cx, (mode, nullable || of_right), opened)?;
            let padded = match join.kind {
                JoinKind::Left => right..opened.slots.len(),
                JoinKind::Right => first..right,
                JoinKind::Inner | JoinKind::Straight => return Ok(()),
            };
            opened.slots[padded].iter().for_each(|slot| slot.padded.set(true));
            Ok(())
        }
        TableRef::List(list) => {
            list.iter().try_for_each(|table| open_table_of(planner, table, outer, cx, how, opened))
        }
    }
}

/// Makes a derived table part of the block; whether that can be.
fn merge_derived<'p>(
    planner: &Planner<'p>,
    table: &ast::DerivedTable<'_>,
    outer: Option<&BlockScope<'_, 'p>>,
    cx: &mut CompileCx<'_>,
    how: (MdlMode, bool),
    opened: &mut Opened,
) -> SqlResult<bool> {
    if table.alias.name.is_empty() {
        // The rows of a union that are ordered.
        return Ok(false);
    }
    let tables = opened.base + opened.slots.len();
    let Some(select) = opened.merges.mergeable(table, tables) else { return Ok(false) };
    check_new(opened, "", &table.alias.to_string(), 1)?;
    let aggregates = std::mem::take(&mut cx.aggregates);
    let windows = std::mem::take(&mut cx.windows);
    planner.blocks.set(planner.blocks.get() + 1);
    let naming = merged::Naming::Derived(table);
    let done = merged::open(planner, naming, (table.query, select), opened, outer, cx, how);
    planner.blocks.set(planner.blocks.get() - 1);
    cx.aggregates = aggregates;
    cx.windows = windows;
    let Some(merged) = done? else { return Ok(false) };
    opened.order.push(VIEWS + opened.views.len());
    opened.views.push(merged);
    Ok(true)
}

/// A derived table. It sees nothing of its own block, unless it is LATERAL: then the tables before it, which are `slots`.
fn open_derived<'p>(
    planner: &Planner<'p>,
    derived: &ast::DerivedTable<'_>,
    outer: Option<&BlockScope<'_, 'p>>,
    cx: &mut CompileCx<'_>,
    opened: &mut Opened,
) -> SqlResult<Slot> {
    let aggregates = std::mem::take(&mut cx.aggregates);
    let windows = std::mem::take(&mut cx.windows);
    planner.derived.set(planner.derived.get() + 1);
    let (planned, depends) = match derived.lateral {
        false => {
            let planned = block::plan_query(planner, derived.query, outer, cx);
            let depends = planned.as_ref().map_or(Depends::default(), |planned| Depends {
                outer_tables: planned.outer_tables,
                correlated: planned.correlated,
                ..Depends::default()
            });
            (planned, depends)
        }
        true => plan_lateral(planner, derived, outer, cx, opened),
    };
    planner.derived.set(planner.derived.get() - 1);
    cx.aggregates = aggregates;
    cx.windows = windows;
    let mut planned = planned?;
    planned.plan.store_items(cx);
    let columns = match derived.alias.name.is_empty() {
        true => planned.columns.iter().map(result_column).collect(),
        false => named_columns(&planned, derived.columns)?,
    };
    let source = Source::Derived(Arc::new(planned.plan));
    let slot =
        slot_of(derived.alias.to_string(), String::new(), String::new(), source, slot_columns(columns));
    Ok(Slot { depends, ..slot })
}

fn plan_lateral<'p>(
    planner: &Planner<'p>,
    derived: &ast::DerivedTable<'_>,
    outer: Option<&BlockScope<'_, 'p>>,
    cx: &mut CompileCx<'_>,
    opened: &mut Opened,
) -> (SqlResult<block::Planned>, Depends) {
    let before = scope_before(planner, outer, opened);
    let planned = block::plan_query(planner, derived.query, Some(&before), cx);
    let lateral = planned.as_ref().map_or(TableSet::default(), |planned| planned.outer_tables);
    let depends = leave(before, lateral, opened);
    (planned, depends)
}

/// The names of the tables before a LATERAL one, which are taken out of `opened`.
fn scope_before<'s, 'p>(
    planner: &'s Planner<'p>,
    outer: Option<&'s BlockScope<'s, 'p>>,
    opened: &mut Opened,
) -> BlockScope<'s, 'p> {
    // The subqueries of views stay theirs: the next scope takes them.
    let kept: Vec<_> = opened.views.iter().map(|view| view.subqueries.take()).collect();
    let merges = opened.merges.clone();
    let before = BlockScope::of(planner, outer, std::mem::take(opened));
    opened.merges = merges;
    before.views.iter().zip(kept).for_each(|(view, kept)| *view.subqueries.borrow_mut() = kept);
    *before.visible.borrow_mut() = before.all_visible();
    before.slots.iter().for_each(|slot| slot.nullable.set(slot.nullable.get() || slot.padded.get()));
    before
}

/// What a LATERAL table that looks at these tables depends on; the tables go back into `opened`.
fn leave(before: BlockScope<'_, '_>, lateral: TableSet, opened: &mut Opened) -> Depends {
    let is_alone = lateral.is_empty() && !before.correlated.get();
    let making = if is_alone { Making::default() } else { Making { level: 0, once: false } };
    let depends = Depends {
        making,
        lateral,
        outer_tables: before.outer_tables.get(),
        correlated: before.correlated.get(),
    };
    *opened = Opened { merges: std::mem::take(&mut opened.merges), ..before.into_opened() };
    // Those that outer joins within a view have made so stay so.
    let stays = |slot: &Slot| slot.nullable.get() && slot.within.is_some() && !slot.padded.get();
    opened.slots.iter().for_each(|slot| slot.nullable.set(stays(slot)));
    depends
}

/// JSON_TABLE, whose document may look at the tables before it.
fn open_json<'p>(
    planner: &Planner<'p>,
    table: &ast::JsonTable<'_>,
    outer: Option<&BlockScope<'_, 'p>>,
    cx: &mut CompileCx<'_>,
    opened: &mut Opened,
) -> SqlResult<Slot> {
    let before = scope_before(planner, outer, opened);
    before.clause.set("a table function argument");
    let doc = compile(&table.doc, &before, cx);
    let subqueries = before.subqueries.take();
    let lateral = doc.as_ref().map_or(TableSet::default(), Expr::tables);
    let depends = leave(before, lateral, opened);
    let doc = doc?;
    let (planned, columns) = json_table::plan(planner, table, doc, cx)?;
    let source = Source::Json(Arc::new(planned));
    let slot = slot_of(table.alias.to_string(), String::new(), String::new(), source, slot_columns(columns));
    *slot.subqueries.borrow_mut() = subqueries;
    Ok(Slot { depends, ..slot })
}

/// A table of WITH, if the name is one's.
fn common_slot<'p>(
    planner: &Planner<'p>,
    named: &ast::NamedTable<'_>,
    outer: Option<&BlockScope<'_, 'p>>,
) -> SqlResult<Option<Slot>> {
    if named.name.schema.is_some() || planner.common.borrow().is_empty() {
        return Ok(None);
    }
    let name = named.name.name.to_string();
    let found = planner.common.borrow().iter().rev().find(|common| common.name == name).cloned();
    let Some(common) = found else { return Ok(None) };
    refuse_parts(named)?;
    let alias = named.alias.map_or(name, |alias| alias.to_string());
    if let Some(index) = named.hints.iter().flat_map(|hint| hint.indexes).next() {
        return Err(SqlError::new(1176, format!("Key '{index}' doesn't exist in table '{alias}'")));
    }
    let new = |source: Source, columns: Vec<CommonColumn>| {
        slot_of(alias, String::new(), String::new(), source, slot_columns(columns))
    };
    match common.rows {
        CommonRows::Failed(e) => Err(e),
        CommonRows::Recursive(recursing) => {
            let columns = recursing.name_it(planner.blocks.get())?;
            Ok(Some(new(Source::Recursive(recursing.last.clone()), columns)))
        }
        CommonRows::Planned(table) => {
            planner.uses.borrow_mut().extend(table.uses.iter().cloned());
            let slot = new(Source::Derived(table.plan.clone()), table.columns.clone());
            Ok(Some(Slot { depends: depends_of(&table, outer), ..slot }))
        }
    }
}

/// What naming a table of WITH makes a block depend on. The blocks between refer to the same row.
fn depends_of(table: &CommonTable, outer: Option<&BlockScope<'_, '_>>) -> Depends {
    if !table.correlated {
        return Depends { making: Making { level: 1, once: true }, ..Depends::default() };
    }
    let depth = outer.map_or(0, BlockScope::depth);
    let mut between = outer;
    while let Some(scope) = between.filter(|scope| scope.depth() > table.depth) {
        scope.correlated.set(true);
        if scope.depth() == table.depth + 1 {
            scope.outer_tables.set(scope.outer_tables.get().union(table.outer_tables));
        }
        between = scope.outer;
    }
    Depends {
        making: Making { level: 1 + depth - table.depth, once: false },
        lateral: TableSet::default(),
        outer_tables: if depth == table.depth { table.outer_tables } else { TableSet::default() },
        correlated: true,
    }
}

/// A column of a union's result.
fn result_column(column: &ColumnMeta) -> CommonColumn {
    (String::from_utf8_lossy(&column.name).into_owned(), column.ty.clone())
}

fn slot_columns(columns: Vec<CommonColumn>) -> Vec<SlotColumn> {
    columns.into_iter().map(|(name, ty)| SlotColumn { name, ty, hidden: false, invisible: false }).collect()
}

/// Whether one more table may be called so.
///
/// # Errors
/// 1066, 1116.
fn check_new(opened: &Opened, database: &str, alias: &str, tables: usize) -> SqlResult<()> {
    let is = |&at: &usize| {
        let named = opened.named(at);
        named.alias == alias && named.database == database
    };
    if opened.order.iter().any(is) {
        return Err(SqlError::new(1066, format!("Not unique table/alias: '{alias}'")));
    }
    if opened.base + opened.slots.len() + tables > TABLES_MAX {
        return Err(SqlError::new(
            1116,
            format!("Too many tables; MySQL can only use {TABLES_MAX} tables in a join"),
        ));
    }
    Ok(())
}

fn push_slot(opened: &mut Opened, slot: Slot) -> SqlResult<()> {
    check_new(opened, &slot.database, &slot.alias, 1)?;
    opened.order.push(opened.slots.len());
    opened.slots.push(slot);
    Ok(())
}

fn slot_of(alias: String, database: String, name: String, source: Source, columns: Vec<SlotColumn>) -> Slot {
    let used = RefCell::new(vec![false; columns.len()]);
    let nullable = Cell::new(false);
    let depends = Depends::default();
    Slot {
        database,
        name,
        alias,
        source,
        columns,
        nullable,
        used,
        allowed: None,
        allowed_words: None,
        force: false,
        methods: Methods::default(),
        after: TableSet::default(),
        depends,
        substituted: RefCell::default(),
        searched: RefCell::default(),
        subqueries: RefCell::default(),
        padded: Cell::new(false),
        view: None,
        parts: None,
        within: None,
    }
}

fn open_named(
    planner: &Planner<'_>,
    named: &ast::NamedTable<'_>,
    cx: &mut CompileCx<'_>,
    (mode, nullable): (MdlMode, bool),
    opened: &mut Opened,
) -> SqlResult<()> {
    let name = named.name.name.to_string();
    let database = named.name.schema.map_or_else(|| cx.session.state.database.clone(), |s| s.to_string());
    let alias = named.alias.map_or_else(|| name.clone(), |a| a.to_string());
    if let Some(table) = planner.virtual_tables.find(&database, &name) {
        let columns = table.columns().iter();
        let column = |c: &VirtualColumn| SlotColumn {
            name: c.name.clone(),
            ty: c.ty.clone(),
            hidden: false,
            invisible: false,
        };
        let columns = columns.map(column).collect();
        let (database, name) = (table.database().to_owned(), table.name().to_owned());
        refuse_parts(named)?;
        return push_slot(opened, slot_of(alias, database, name, Source::Virtual(table), columns));
    }
    let one_of = match mode {
        MdlMode::SharedRead => Priv::SELECT,
        _ => planner.changing,
    };
    if planner.through.borrow().is_none() {
        cx.session.state.check_known(&planner.session.borrow(), &database, &name, one_of)?;
    }
    let found = {
        let mut session = planner.session.borrow_mut();
        let open = match planner.through.borrow().is_some() {
            // A view does not mean a session's own tables.
            true => open_base_table,
            false => open_table,
        };
        open(planner.db.catalog(), &mut session.statement(), &database, &name, mode)
    };
    let info = match found {
        Ok(info) => info,
        Err(e) if e.code == 1146 => match view::find(planner, &database, &name)? {
            Some(object) => {
                if let Some(index) = named.hints.iter().flat_map(|hint| hint.indexes).next() {
                    let message = format!("Key '{index}' doesn't exist in table '{alias}'");
                    return Err(SqlError::new(1176, message));
                }
                refuse_parts(named)?;
                let names = (database, name, alias);
                return open_view(planner, &object, names, cx, (mode, nullable), opened);
            }
            None => return Err(e),
        },
        Err(e) => return Err(e),
    };
    let column = |c: &ColumnInfo| SlotColumn {
        name: c.name.clone(),
        ty: c.sql_type().clone(),
        hidden: c.hidden,
        invisible: c.invisible,
    };
    let columns = info.columns.iter().map(column).collect();
    let mut slot = slot_of(alias, database, name, Source::Stored(info.clone()), columns);
    apply_hints(&mut slot, named.hints, &info)?;
    slot.parts = crate::partition::parts_named(&info, named.partitions)?;
    push_slot(opened, slot)
}

/// # Errors
/// 1747: partitions are named of what has none.
fn refuse_parts(named: &ast::NamedTable<'_>) -> SqlResult<()> {
    match named.partitions.is_empty() {
        true => Ok(()),
        false => Err(SqlError::new(1747, "PARTITION () clause on non partitioned table")),
    }
}

/// A view: one that can be is merged into the block, of another the rows are made before anything else, as those of a derived table.
fn open_view(
    planner: &Planner<'_>,
    object: &Arc<Object>,
    (database, name, alias): (String, String, String),
    cx: &mut CompileCx<'_>,
    how: (MdlMode, bool),
    opened: &mut Opened,
) -> SqlResult<()> {
    check_new(opened, &database, &alias, 1)?;
    let planned = match view::open(planner, object, (&database, &name, &alias), opened, cx, how)? {
        OpenedView::Merged(merged) => {
            opened.order.push(VIEWS + opened.views.len());
            opened.views.push(merged);
            return Ok(());
        }
        OpenedView::Derived(planned) => planned,
    };
    let definer = view::definer_of(object)?;
    let id = ViewId { name: object.lock_name().into(), id: object.id, definer };
    let named = planned.columns.iter().zip(planned.plan.types.iter());
    let column = |(meta, ty): (&vaquita_session::sink::ColumnMeta, &vaquita_types::SqlType)| SlotColumn {
        name: String::from_utf8_lossy(&meta.name).into_owned(),
        ty: ty.clone(),
        hidden: false,
        invisible: false,
    };
    let columns = named.map(column).collect();
    let mut slot = slot_of(alias, database, name, Source::Derived(Arc::new(planned.plan)), columns);
    slot.view = Some(Arc::new(id));
    push_slot(opened, slot)
}

/// USE, FORCE, IGNORE INDEX.
fn apply_hints(slot: &mut Slot, hints: &[ast::IndexHint<'_>], info: &TableInfo) -> SqlResult<()> {
    let mut chosen = [IndexChoice::default(), IndexChoice::default(), IndexChoice::default()];
    // FULLTEXT indexes are numbered behind the others.
    let count = info.table.indexes.len();
    for hint in hints {
        let mut indexes = Vec::new();
        for name in hint.indexes {
            let name = name.to_string();
            let tree = info.key(&name).filter(|key| !key.invisible).map(|key| key.index);
            let of_words = || info.table.fulltext.iter().position(|index| same_name(&index.name, &name));
            let found = tree.or_else(|| Some(count + of_words()?));
            indexes.push(found.ok_or_else(|| {
                SqlError::new(1176, format!("Key '{name}' doesn't exist in table '{}'", slot.alias))
            })?);
        }
        let of = match hint.scope {
            Some(ast::IndexHintScope::OrderBy) => 1,
            Some(ast::IndexHintScope::GroupBy) => 2,
            _ => 0,
        };
        match hint.kind {
            ast::IndexHintKind::Ignore => chosen[of].ignored.append(&mut indexes),
            kind => {
                let force = kind == ast::IndexHintKind::Force;
                slot.force |= force && of == 0;
                slot.methods.sorted |= force && of > 0;
                chosen[of].used.get_or_insert_default().append(&mut indexes);
            }
        }
    }
    let [for_rows, for_order, for_groups] = &mut chosen;
    for_rows.ignored.extend(info.keys.iter().filter(|key| key.invisible).map(|key| key.index));
    let all = count + info.table.fulltext.len();
    let trees = |allowed: Option<Vec<usize>>| {
        allowed.map(|allowed| allowed.into_iter().filter(|index| *index < count).collect())
    };
    let for_rows = for_rows.allowed(all);
    slot.allowed_words = for_rows
        .as_ref()
        .map(|allowed| allowed.iter().filter_map(|index| index.checked_sub(count)).collect());
    slot.allowed = trees(for_rows);
    slot.methods.sorting = trees(for_order.allowed(all));
    slot.methods.grouping = trees(for_groups.allowed(all));
    Ok(())
}

/// Indexes that hints of one purpose name.
#[derive(Debug, Default)]
struct IndexChoice {
    used: Option<Vec<usize>>,
    ignored: Vec<usize>,
}

impl IndexChoice {
    /// Those that are left, of so many; `None`: all.
    fn allowed(&mut self, count: usize) -> Option<Vec<usize>> {
        if self.used.is_none() && self.ignored.is_empty() {
            return None;
        }
        let all = self.used.take().unwrap_or_else(|| (0..count).collect());
        Some(all.into_iter().filter(|i| !self.ignored.contains(i)).collect())
    }
}

/// What the tables of a block are used for, for privilege checks; those of merged views behind the views that read them.
pub(crate) fn uses_of(scope: &BlockScope<'_, '_>, locking: &[ast::Locking<'_>]) -> Vec<TableUse> {
    let for_update = locking.iter().any(|l| l.strength == ast::LockStrength::Update);
    let names =
        |columns: &[SlotColumn], used: &RefCell<Vec<bool>>, left_out: &[usize], searched: &[usize]| {
            let used = used.borrow();
            let is_used = |(at, (_, used)): &(usize, (&SlotColumn, &bool))| {
                **used && !left_out.contains(at) || searched.contains(at)
            };
            columns.iter().zip(&*used).enumerate().filter(is_used).map(|(_, (c, _))| c.name.clone()).collect()
        };
    let none = RefCell::default();
    let mut uses = Vec::new();
    for &at in &scope.order {
        let named = scope.named(at);
        let (used, substituted, searched, view, own) = match scope.view(at) {
            Some(view) => (&view.used, &none, &none, view.face.id.clone(), false),
            None => {
                let slot = &scope.slots[at];
                (&slot.used, &slot.substituted, &slot.searched, slot.view.clone(), slot.is_temporary())
            }
        };
        if !named.name.is_empty() {
            uses.push(TableUse {
                database: named.database.to_owned(),
                table: named.name.to_owned(),
                renamed: named.alias != named.name,
                columns: names(named.columns, used, &substituted.borrow(), &searched.borrow()),
                locked: !locking.is_empty(),
                for_update,
                derived: false,
                view,
                through: None,
                own,
            });
        }
        uses.extend(scope.view(at).into_iter().flat_map(|view| view.uses.iter().cloned()));
    }
    let within = scope.slots.iter().filter_map(|slot| Some((slot, slot.within.as_deref()?)));
    uses.extend(within.map(|(slot, within): (&Slot, &Within)| TableUse {
        database: slot.database.clone(),
        table: slot.name.clone(),
        renamed: false,
        columns: names(&slot.columns, &slot.used, &slot.substituted.borrow(), &slot.searched.borrow()),
        locked: false,
        for_update: false,
        derived: within.faces.iter().any(|face| face.id.is_none()),
        view: slot.view.clone(),
        through: within.through.clone(),
        own: slot.is_temporary(),
    }));
    uses
}

/// Builds the tree of joins and compiles the conditions of ON; the visible columns of all of FROM are left in the
/// scope.
pub(crate) fn join_tree(
    scope: &BlockScope<'_, '_>,
    from: &[TableRef<'_>],
    cx: &mut CompileCx<'_>,
) -> SqlResult<Tree> {
    let mut next = 0;
    let (tree, visible) = list(scope, from, cx, &mut next)?;
    *scope.visible.borrow_mut() = visible;
    Ok(tree)
}

type Joined = (Tree, Vec<Visible>);

fn list(
    scope: &BlockScope<'_, '_>,
    tables: &[TableRef<'_>],
    cx: &mut CompileCx<'_>,
    next: &mut usize,
) -> SqlResult<Joined> {
    let (mut parts, mut visible) = (Vec::new(), Vec::new());
    for table in tables {
        let (tree, mut columns) = one(scope, table, cx, next)?;
        parts.push(tree);
        visible.append(&mut columns);
    }
    let tree = match parts.len() {
        1 => parts.remove(0),
        _ => Tree::Inner { parts, on: Vec::new(), straight: false },
    };
    Ok((tree, visible))
}

fn one(
    scope: &BlockScope<'_, '_>,
    table: &TableRef<'_>,
    cx: &mut CompileCx<'_>,
    next: &mut usize,
) -> SqlResult<Joined> {
    match table {
        TableRef::Table(_) | TableRef::Derived(_) | TableRef::Json(_) => {
            let slot = scope.order[*next];
            *next += 1;
            let visible = scope.named(slot).shown().map(|column| Visible { slot, column }).collect();
            let tree = match scope.view(slot) {
                Some(view) => view.take_tree(),
                None => Tree::Table(slot + scope.base),
            };
            Ok((tree, visible))
        }
        TableRef::List(tables) => list(scope, tables, cx, next),
        TableRef::Join(join) => joined(scope, join, cx, next),
    }
}

fn joined(
    scope: &BlockScope<'_, '_>,
    join: &ast::Join<'_>,
    cx: &mut CompileCx<'_>,
    next: &mut usize,
) -> SqlResult<Joined> {
    let left = one(scope, &join.left, cx, next)?;
    let right = one(scope, &join.right, cx, next)?;
    // Inner tables of an outer join are nullable before anything outside of it is compiled, ON itself excepted.
    let (on, visible) = condition(scope, join, &left, &right, cx)?;
    let (left, right) = (left.0, right.0);
    let set_nullable = |tree: &Tree| {
        let tables = tree.tables();
        let is_inner = |i: usize| TableSet::of((i + scope.base) as u16).is_subset(tables);
        let inner = scope.slots.iter().enumerate().filter(|(i, _)| is_inner(*i));
        inner.for_each(|(_, slot)| slot.nullable.set(true));
    };
    let tree = match join.kind {
        JoinKind::Inner => Tree::Inner { parts: vec![left, right], on, straight: false },
        JoinKind::Straight => Tree::Inner { parts: vec![left, right], on, straight: true },
        JoinKind::Left => {
            set_nullable(&right);
            Tree::Left { outer: Box::new(left), inner: Box::new(right), on }
        }
        JoinKind::Right => {
            let tables = right.tables();
            let inside = |slot: usize| TableSet::of((slot + scope.base) as u16).is_subset(tables);
            let mut derived = scope.slots.iter().enumerate().filter(|(slot, _)| inside(*slot));
            if let Some((_, slot)) = derived.find(|(_, slot)| slot.depends.lateral.0 & left.tables().0 != 0) {
                return Err(SqlError::of(3668, &[&slot.alias]));
            }
            set_nullable(&left);
            Tree::Left { outer: Box::new(right), inner: Box::new(left), on }
        }
    };
    Ok((tree, visible))
}

/// The condition of a join and the columns that are visible behind it.
fn condition(
    scope: &BlockScope<'_, '_>,
    join: &ast::Join<'_>,
    left: &Joined,
    right: &Joined,
    cx: &mut CompileCx<'_>,
) -> SqlResult<(Vec<Expr>, Vec<Visible>)> {
    let all = || left.1.iter().chain(&right.1).cloned().collect::<Vec<_>>();
    let name_of = |v: &Visible| scope.named(v.slot).columns[v.column].name.clone();
    let common: Vec<String> = match join.condition {
        JoinCondition::None => return Ok((Vec::new(), all())),
        JoinCondition::On(condition) => {
            *scope.visible.borrow_mut() = all();
            let before = scope.clause.replace("on clause");
            let on = compile_condition(&condition, scope, cx);
            scope.clause.set(before);
            return Ok((conjuncts(on?), all()));
        }
        JoinCondition::Using(names) => {
            let mut names: Vec<String> = names.iter().map(ToString::to_string).collect();
            // `*` gives them in the order of the table that is read first.
            let first = if join.kind == JoinKind::Right { &right.1 } else { &left.1 };
            let place = |name: &String| first.iter().position(|v| same_name(&name_of(v), name));
            names.sort_by_key(place);
            names
        }
        JoinCondition::Natural => {
            let seen = |v: &&Visible| !scope.named(v.slot).leaves_out(v.column);
            let names = left.1.iter().filter(seen).map(&name_of);
            names.filter(|n| right.1.iter().filter(seen).any(|r| same_name(&name_of(r), n))).collect()
        }
    };
    let find = |side: &[Visible], name: &str| {
        let mut found = side.iter().filter(|v| same_name(&name_of(v), name));
        match (found.next(), found.next()) {
            (Some(one), None) => Ok(one.clone()),
            (None, _) => Err(SqlError::new(1054, format!("Unknown column '{name}' in 'from clause'"))),
            _ => Err(SqlError::new(1052, format!("Column '{name}' in from clause is ambiguous"))),
        }
    };
    let (mut on, mut visible) = (Vec::new(), Vec::new());
    let (mut merged_left, mut merged_right) = (Vec::new(), Vec::new());
    for name in &common {
        let (l, r) = (find(&left.1, name)?, find(&right.1, name)?);
        on.push(equality(scope, &l, &r, cx)?);
        if let Some(names) = &mut *scope.planner.names.borrow_mut() {
            names.note_pair(join, scope.written(l.slot, l.column), scope.written(r.slot, r.column));
        }
        visible.push(if join.kind == JoinKind::Right { r.clone() } else { l.clone() });
        merged_left.push((l.slot, l.column));
        merged_right.push((r.slot, r.column));
    }
    let rest = |side: &[Visible], merged: &[(usize, usize)]| {
        side.iter().filter(|v| !merged.contains(&(v.slot, v.column))).cloned().collect::<Vec<_>>()
    };
    let (mut l, mut r) = (rest(&left.1, &merged_left), rest(&right.1, &merged_right));
    if join.kind == JoinKind::Right {
        std::mem::swap(&mut l, &mut r);
    }
    visible.append(&mut l);
    visible.append(&mut r);
    Ok((on, visible))
}

/// `left = right`, as if it was written.
fn equality(scope: &BlockScope<'_, '_>, l: &Visible, r: &Visible, cx: &mut CompileCx<'_>) -> SqlResult<Expr> {
    let name = |v: &Visible| {
        let table = scope.named(v.slot);
        (table.database.to_owned(), table.alias.to_owned(), table.columns[v.column].name.clone())
    };
    let (left, right) = (name(l), name(r));
    let span = ast::Span::default();
    let left = column_ref(&left);
    let right = column_ref(&right);
    let left = ast::Expr { kind: ast::ExprKind::Column(&left), span };
    let right = ast::Expr { kind: ast::ExprKind::Column(&right), span };
    let kind = ast::ExprKind::Binary { op: ast::BinaryOp::Eq, left: &left, right: &right };
    compile_condition(&ast::Expr { kind, span }, scope, cx)
}

fn column_ref(name: &(String, String, String)) -> ast::ColumnRef<'_> {
    ast::ColumnRef {
        schema: (!name.0.is_empty()).then(|| ast::Ident::new(name.0.as_bytes())),
        table: Some(ast::Ident::new(name.1.as_bytes())),
        name: ast::Ident::new(name.2.as_bytes()),
    }
}

/// The conditions that all must hold.
pub(crate) fn conjuncts(condition: Expr) -> Vec<Expr> {
    match condition.node() {
        vaquita_expr::Node::And(list) => list.iter().cloned().flat_map(conjuncts).collect(),
        _ => vec![condition],
    }
}
