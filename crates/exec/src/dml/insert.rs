//! INSERT and REPLACE.
//!
//! A statement with few rows is compiled as a whole, so that its plan can be kept ([`plan_insert`]). One with many rows
//! of literals is compiled without its rows, which are then read from the syntax tree one by one ([`plan_bulk`]):
//! nothing is made per row but its stored form.

use super::literal::Literals;
use super::rules::refuse_given;
use super::scope::TableScope;
use super::store::must_be_given;
use super::writer::{Assigned, OnDuplicate, Writer};
use crate::select;
use crate::statement::{Outcome, PlanCx, Planned};
use std::sync::Arc;
use vaquita_catalog::table::{open_base_table, open_table};
use vaquita_catalog::{self, TableInfo, error};
use vaquita_engine::MdlMode;
use vaquita_expr::stored::triggers_of;
use vaquita_expr::trigger::TableTriggers;
use vaquita_expr::{EvalCx, Expr, Row, TableRow, compile};
use vaquita_parser::ast::{self, TriggerEvent};
use vaquita_plan::{
    Doing, InsertView, PlannedUpdates, Planner, SelectPlan, SourceLock, TableRules, TableUse, Updates,
    open_to_insert, plan_select_for, refuse_reading, wanted_of,
};
use vaquita_session::privilege::{Priv, Wanted};
use vaquita_session::sink::{ColumnMeta, ResultSink};
use vaquita_session::temp::sort::Sorter;
use vaquita_session::temp::values::{Values, push_value};
use vaquita_session::{SessionCx, SessionState};
use vaquita_types::{SqlError, SqlResult, Value};

/// A value of a row: `None` is DEFAULT.
type Cell = Option<Expr>;

/// Where the rows come from.
#[derive(Debug)]
enum Source {
    /// VALUES, SET.
    Rows(Box<[Box<[Cell]>]>),
    /// SELECT.
    Query(Box<Select>),
    /// Rows are handed over by the caller.
    Caller,
}

/// The SELECT of an INSERT.
#[derive(Debug)]
struct Select {
    plan: SelectPlan,
    /// It reads the table that is inserted into: all rows are read before the first is written.
    reads_target: bool,
    /// What is selected for ON DUPLICATE KEY UPDATE behind the statement's own items: table, column.
    selected: Vec<(usize, usize)>,
    /// How many columns its tables have.
    widths: Vec<usize>,
}

/// A planned INSERT or REPLACE.
#[derive(Debug)]
pub struct InsertPlan {
    info: Arc<TableInfo>,
    /// The parts of a partitioned table that are named.
    parts: Option<Arc<[usize]>>,
    replace: bool,
    ignore: bool,
    /// Columns given, in the order of the values.
    targets: Box<[usize]>,
    /// Columns not given.
    missing: Box<[usize]>,
    /// Of these the first without a default.
    without_default: Box<[usize]>,
    source: Source,
    /// Values look at columns of the row.
    reads_row: bool,
    on_duplicate: Box<[Assigned]>,
    rules: Option<Arc<TableRules>>,
    triggers: Option<Arc<TableTriggers>>,
    /// The view that the statement names instead of the table.
    view: Option<Arc<InsertView>>,
    wants: Vec<Wanted>,
}

/// Plans an INSERT or REPLACE with its rows.
///
/// # Errors
/// 1146, 1054, 1110, 1136, those of expressions.
pub fn plan_insert(ast: &ast::Insert<'_>, cx: &mut PlanCx<'_>) -> SqlResult<InsertPlan> {
    let mut plan = plan_header(ast, cx)?;
    match ast.source {
        ast::InsertSource::Values(rows) => {
            check_lengths(rows, plan.targets.len(), ast.columns.is_none())?;
            plan.source = Source::Rows(plan.compile_rows(rows, cx)?);
            Ok(plan)
        }
        ast::InsertSource::Query(query) => {
            let (select, updates) = {
                let (info, view) = (plan.info.clone(), plan.view.clone());
                let (planner, mut compile) = cx.planning();
                let planner = planner.locking_sources(SourceLock::AboveReadCommitted);
                let updates = Updates::new(&info, ast.row_alias.as_ref(), ast.on_duplicate);
                let mut updates = updates.by_view(view.as_deref());
                let within = (!ast.on_duplicate.is_empty()).then_some(&mut updates);
                let mut select = plan_select_for(&planner, query, within, &mut compile)?;
                let updates = updates.finish(&planner, &mut compile)?;
                select.uses.extend(planner.take_uses());
                (select, updates)
            };
            if select.columns().len() != plan.targets.len() {
                return Err(SqlError::new(1136, "Column count doesn't match value count at row 1"));
            }
            let state = &*cx.session.state;
            plan.targets.iter().try_for_each(|&column| refuse_given(&plan.info, column, state))?;
            plan.wants.extend(wanted_of(select.uses()));
            let reads_target = select.tables().iter().any(|t| t.table.id == plan.info.table.id);
            let (selected, widths) = plan.put_updates(ast, updates);
            plan.source = Source::Query(Box::new(Select { plan: select, reads_target, selected, widths }));
            Ok(plan)
        }
    }
}

/// Rows from which on a statement's rows are read from its syntax tree.
const BULK: usize = 8;

/// Whether an INSERT has so many rows that keeping a plan of it is of no use: to be planned by [`plan_bulk`] and run by
/// [`InsertPlan::run_bulk`].
pub fn is_bulk(ast: &ast::Insert<'_>) -> bool {
    matches!(ast.source, ast::InsertSource::Values(rows) if rows.len() >= BULK)
}

/// Plans an INSERT ... VALUES without its rows.
///
/// # Errors
/// As [`plan_insert`].
pub fn plan_bulk(ast: &ast::Insert<'_>, cx: &mut PlanCx<'_>) -> SqlResult<InsertPlan> {
    let plan = plan_header(ast, cx)?;
    if let ast::InsertSource::Values(rows) = ast.source {
        check_lengths(rows, plan.targets.len(), ast.columns.is_none())?;
    }
    Ok(plan)
}

/// Everything but the rows.
fn plan_header(ast: &ast::Insert<'_>, cx: &mut PlanCx<'_>) -> SqlResult<InsertPlan> {
    let given: Vec<&ast::ColumnRef<'_>> = ast.columns.into_iter().flatten().collect();
    let InsertTarget { info, view } = open_for_change(&ast.table, &given, false, cx)?;
    let (planner, mut compile_cx) = cx.planning();
    let planner = planner.locking_sources(SourceLock::Always);
    let scope = TableScope { info: &info, view: view.as_deref(), planner: &planner };
    let targets = match (ast.columns, &view) {
        // INSERT INTO t () VALUES ()
        (Some(columns), None) | (Some(columns @ [_, ..]), Some(_)) => {
            let mut targets: Vec<usize> = Vec::with_capacity(columns.len());
            for name in columns {
                let column = scope.position(name)?;
                if targets.contains(&column) {
                    return Err(SqlError::new(1110, format!("Column '{}' specified twice", name.name)));
                }
                targets.push(column);
            }
            targets
        }
        // Of a view all columns are meant then.
        (_, Some(view)) => view.columns.iter().map(|(_, column)| *column).collect(),
        (None, None) => match ast.source {
            ast::InsertSource::Values([[], ..]) => Vec::new(),
            _ => info.visible_columns().map(|(c, _)| c).collect(),
        },
    };
    let missing: Box<[usize]> = (0..info.columns.len()).filter(|c| !targets.contains(c)).collect();
    let without_default = missing.iter().copied().filter(|&c| must_be_given(&info.columns[c])).collect();
    // Those of a SELECT may look at its tables: they are planned with it.
    let updates = match ast.source {
        ast::InsertSource::Values(_) => {
            let updates = Updates::new(&info, ast.row_alias.as_ref(), ast.on_duplicate);
            let updates = updates.by_view(view.as_deref());
            Some(updates.finish(&planner, &mut compile_cx)?)
        }
        ast::InsertSource::Query(_) => None,
    };
    let rules = TableRules::of(&info.definition, &mut compile_cx)?;
    let triggers = triggers_of(&mut compile_cx, &info.table, events(ast))?;
    let target = InsertTarget { info, view };
    let mut wants = wants(ast, &target, &targets);
    let uses = planner.take_uses();
    target.refuse_read(&uses)?;
    wants.extend(wanted_of(&uses));
    wants.extend(target.view.iter().flat_map(|view| wanted_of(&view.uses)));
    let parts = target.parts(ast.partitions)?;
    let InsertTarget { info, view } = target;
    let mut plan = InsertPlan {
        parts,
        replace: ast.replace,
        ignore: ast.ignore,
        targets: targets.into(),
        missing,
        without_default,
        source: Source::Caller,
        reads_row: false,
        on_duplicate: Box::default(),
        rules,
        triggers,
        view,
        wants,
        info,
    };
    if let Some(updates) = updates {
        plan.put_updates(ast, updates);
    }
    Ok(plan)
}

/// The changes of rows that an INSERT or REPLACE may make.
fn events(ast: &ast::Insert<'_>) -> &'static [TriggerEvent] {
    match (ast.replace, ast.on_duplicate.is_empty()) {
        (true, _) => &[TriggerEvent::Insert, TriggerEvent::Delete],
        (false, true) => &[TriggerEvent::Insert],
        (false, false) => &[TriggerEvent::Insert, TriggerEvent::Update],
    }
}

/// What rows come into.
#[derive(Debug)]
pub(crate) struct InsertTarget {
    /// The table.
    pub(crate) info: Arc<TableInfo>,
    /// The view of it that the statement names.
    pub(crate) view: Option<Arc<InsertView>>,
}

impl InsertTarget {
    /// The parts of a partitioned table that rows may come into, of those that the view names; `None`: all.
    ///
    /// # Errors
    /// 1747 the table has none; 1735 it has no such one.
    pub(crate) fn parts(&self, named: &[ast::Ident<'_>]) -> SqlResult<Option<Arc<[usize]>>> {
        let named = vaquita_plan::partition::parts_named(&self.info, named)?;
        let of_view = self.view.as_ref().and_then(|view| view.parts.clone());
        Ok(match (named, of_view) {
            (Some(named), Some(of_view)) => {
                Some(named.iter().copied().filter(|part| of_view.contains(part)).collect())
            }
            (named, of_view) => named.or(of_view),
        })
    }
}

/// Opens a table, or the view of one, that rows are to come into, with the columns that are named; `load`: by LOAD DATA.
///
/// # Errors
/// 1046, 1146; of a view that takes none.
pub(crate) fn open_for_change(
    name: &ast::ObjectName<'_>,
    given: &[&ast::ColumnRef<'_>],
    load: bool,
    plan: &mut PlanCx<'_>,
) -> SqlResult<InsertTarget> {
    let cx = &mut plan.session;
    let database = name.schema.map_or_else(|| cx.state.database.clone(), |s| s.to_string());
    let table = name.name.to_string();
    if vaquita_catalog::is_virtual_database(&database) {
        let (user, host) = (&cx.state.account_user, &cx.state.account_host);
        return Err(SqlError::database_denied(user, host, &database));
    }
    cx.state.check_known(cx.engine, &database, &table, Priv::INSERT)?;
    // The rows of CREATE TABLE .. SELECT go into the table that it makes.
    let open = match cx.state.names.mean_shared(&database, &table) {
        true => open_base_table,
        false => open_table,
    };
    let opened = open(&cx.db.catalog, &mut cx.engine.statement(), &database, &table, MdlMode::SharedWrite);
    let view = match &opened {
        Err(e) if e.code == 1146 => {
            let name = vaquita_catalog::engine_name(&database, &table)?;
            cx.engine.objects().view(&name).cloned()
        }
        _ => None,
    };
    let Some(object) = view else { return Ok(InsertTarget { info: opened?, view: None }) };
    let (planner, mut compile) = plan.planning();
    let planner = planner.locking_sources(SourceLock::Always);
    let view = open_to_insert(&planner, &object, (&database, &table), given, load, &mut compile)?;
    Ok(InsertTarget { info: view.info.clone(), view: Some(Arc::new(view)) })
}

impl InsertTarget {
    /// What an INSERT needs to do this to columns of the table, or (`None`) to rows as a whole.
    pub(crate) fn wants(&self, privilege: Priv, columns: Option<&[usize]>) -> Vec<Wanted> {
        let definition = &self.info.definition;
        match (&self.view, columns) {
            (Some(view), _) => view.changed.wants(&self.info, privilege, columns),
            (None, Some(columns)) => vec![want(&self.info, privilege, columns)],
            (None, None) => {
                let want = Wanted::table(&definition.database, &definition.name, privilege);
                vec![want.of_own(self.info.table.is_temporary())]
            }
        }
    }

    /// Values may not be read from what rows come into.
    ///
    /// # Errors
    /// 1093, 1443.
    pub(crate) fn refuse_read(&self, uses: &[TableUse]) -> SqlResult<()> {
        let definition = &self.info.definition;
        let view = self.view.as_ref().map(|view| (view.database.as_str(), view.name.as_str()));
        let name = view.map_or(definition.name.as_str(), |(_, name)| name);
        refuse_reading(uses, definition, name, view, Doing::Insert)
    }
}

/// Every row has as many values as columns were named.
fn check_lengths(rows: &[&[ast::Expr<'_>]], columns: usize, all: bool) -> SqlResult<()> {
    // `INSERT INTO t VALUES ()` gives every column its default.
    let wanted = if all && rows.first().is_some_and(|r| r.is_empty()) { 0 } else { columns };
    match rows.iter().position(|row| row.len() != wanted) {
        Some(at) => {
            Err(SqlError::new(1136, format!("Column count doesn't match value count at row {}", at + 1)))
        }
        None => Ok(()),
    }
}

/// What is asked for on columns of the table that is inserted into.
fn want(info: &TableInfo, privilege: Priv, columns: &[usize]) -> Wanted {
    let names = columns.iter().map(|&c| info.columns[c].name.as_str());
    let want = Wanted::columns(&info.definition.database, &info.definition.name, privilege, names);
    want.of_own(info.table.is_temporary())
}

/// What an INSERT does to its own table as far as rows come in: it sets columns, and REPLACE deletes rows.
fn wants(ast: &ast::Insert<'_>, target: &InsertTarget, targets: &[usize]) -> Vec<Wanted> {
    let mut wants = target.wants(Priv::INSERT, Some(targets));
    if ast.replace {
        wants.extend(target.wants(Priv::DELETE, None));
    }
    wants
}

impl InsertPlan {
    fn scope<'t, 'p>(&'t self, planner: &'t Planner<'p>) -> TableScope<'t, 'p> {
        TableScope { info: &self.info, view: self.view.as_deref(), planner }
    }

    /// Takes over what is done about rows that are there: columns are set, others are read. What of the SELECT is for that.
    fn put_updates(
        &mut self,
        ast: &ast::Insert<'_>,
        updates: PlannedUpdates,
    ) -> (Vec<(usize, usize)>, Vec<usize>) {
        let PlannedUpdates { assignments, reads, selected, widths } = updates;
        let target = InsertTarget { info: self.info.clone(), view: self.view.clone() };
        let own = target.wants(Priv::INSERT, None).len() * (usize::from(ast.replace) + 1);
        let mut wants = Vec::new();
        if !assignments.is_empty() {
            let set: Vec<usize> = assignments.iter().map(|(column, _)| *column).collect();
            wants.extend(target.wants(Priv::UPDATE, Some(&set)));
        }
        if !reads.is_empty() {
            let all = target.wants(Priv::SELECT, Some(&reads)).into_iter();
            wants.extend(all.map(|want| Wanted { by_column: true, ..want }));
        }
        // Behind what the table itself is asked for: that is the order of the messages.
        let at = own.min(self.wants.len());
        self.wants.splice(at..at, wants);
        let assigned = assignments.into_iter().map(|(column, value)| Assigned { column, value });
        self.on_duplicate = assigned.collect();
        (selected, widths)
    }

    fn compile_rows(
        &mut self,
        rows: &[&[ast::Expr<'_>]],
        cx: &mut PlanCx<'_>,
    ) -> SqlResult<Box<[Box<[Cell]>]>> {
        let (planner, mut compile_cx) = cx.planning();
        let planner = planner.locking_sources(SourceLock::Always);
        let mut reads_row = false;
        let mut out = Vec::with_capacity(rows.len());
        for row in rows {
            let mut cells = Vec::with_capacity(row.len());
            for cell in *row {
                let value = match cell.kind {
                    ast::ExprKind::Default => None,
                    _ => {
                        refuse_given(&self.info, self.targets[cells.len()], compile_cx.session.state)?;
                        Some(compile(cell, &self.scope(&planner), &mut compile_cx)?)
                    }
                };
                reads_row |= value.as_ref().is_some_and(|v| !v.tables().is_empty());
                cells.push(value);
            }
            out.push(cells.into());
        }
        self.reads_row = reads_row;
        let uses = planner.take_uses();
        InsertTarget { info: self.info.clone(), view: self.view.clone() }.refuse_read(&uses)?;
        self.wants.extend(wanted_of(&uses));
        Ok(out.into())
    }

    fn writer(&self, state: &mut SessionState, rows: Option<u64>) -> Writer<'_> {
        let on_duplicate = match (self.replace, self.on_duplicate.is_empty(), self.ignore) {
            (true, _, _) => OnDuplicate::Replace,
            (_, false, ignore) => OnDuplicate::Update { assignments: &self.on_duplicate, ignore },
            (_, _, true) => OnDuplicate::Ignore,
            _ => OnDuplicate::Fail,
        };
        let writer = Writer::new(&self.info, state, rows, self.ignore, on_duplicate);
        let writer = writer.with_rules(self.rules.as_deref()).firing(self.triggers.as_deref());
        writer.by_view(self.view.as_ref().map(|view| &*view.changed)).into_parts(self.parts.as_ref())
    }

    /// Columns that must be given and are not: once for the statement.
    fn check_missing(&self, writer: &Writer<'_>, state: &mut SessionState) -> SqlResult<()> {
        match &self.view {
            None => self
                .without_default
                .iter()
                .try_for_each(|&c| writer.store.missing(&self.info.columns[c], state)),
            // That is said once.
            Some(view) if !self.without_default.is_empty() => {
                writer.store.not_given(view.no_default(), state)
            }
            Some(_) => Ok(()),
        }
    }

    /// Evaluates and sets a column.
    fn set_expr(
        &self,
        writer: &mut Writer<'_>,
        column: usize,
        expr: &Expr,
        cx: &mut EvalCx<'_>,
        params: &[Value<'_>],
    ) -> SqlResult<()> {
        if expr.tables().is_empty() {
            let row = Row::constant(params);
            let value = expr.eval_to_store(cx, &row)?;
            return writer.set_value(column, &value, expr.ty(), cx.state);
        }
        // Columns that were set before have their values, the others their defaults.
        let tz = cx.state.vars.time_zone.clone();
        let columns = self.info.columns.iter().enumerate();
        let values: Vec<Value<'static>> =
            columns.map(|(i, c)| c.ty.decode(writer.row.field(&self.info, i), &tz).into_owned()).collect();
        let tables = [TableRow::Values(&values)];
        let row = Row { tables: &tables, params, ..Row::default() };
        let value = expr.eval_to_store(cx, &row)?;
        writer.set_value(column, &value, expr.ty(), cx.state)
    }

    /// Nothing is computed, and no trigger fires, for a table that has changed: the statement begins again then.
    fn hold_table(&self, cx: &mut EvalCx<'_>) -> SqlResult<()> {
        let mut statement = super::writer::engine(cx)?.statement();
        error::of_engine(statement.hold_table(&self.info.table, MdlMode::SharedWrite))
    }

    fn run_rows(
        &self,
        rows: &[Box<[Cell]>],
        cx: &mut EvalCx<'_>,
        params: &[Value<'_>],
    ) -> SqlResult<Outcome> {
        let mut writer = self.writer(cx.state, Some(rows.len() as u64));
        let done = self.write_rows(&mut writer, rows, cx, params);
        self.outcome(&writer, cx.state, done)
    }

    fn write_rows(
        &self,
        writer: &mut Writer<'_>,
        rows: &[Box<[Cell]>],
        cx: &mut EvalCx<'_>,
        params: &[Value<'_>],
    ) -> SqlResult<()> {
        self.check_missing(writer, cx.state)?;
        for row in rows {
            writer.begin_row(&self.missing, cx.state);
            if self.reads_row {
                self.targets.iter().for_each(|&c| writer.store.absent(c, cx.state, &mut writer.row));
            }
            for (cell, &column) in row.iter().zip(&self.targets) {
                match cell {
                    Some(expr) => self.set_expr(writer, column, expr, cx, params)?,
                    None => writer.set_default(column, cx.state)?,
                }
            }
            writer.write(cx, params)?;
        }
        Ok(())
    }

    fn run_query(&self, select: &Select, cx: &mut EvalCx<'_>, params: &[Value<'_>]) -> SqlResult<Outcome> {
        let mut writer = self.writer(cx.state, None);
        let done = self.write_query(&mut writer, select, cx, params);
        self.outcome(&writer, cx.state, done)
    }

    fn write_query(
        &self,
        writer: &mut Writer<'_>,
        select: &Select,
        cx: &mut EvalCx<'_>,
        params: &[Value<'_>],
    ) -> SqlResult<()> {
        self.check_missing(writer, cx.state)?;
        let types = &select.plan.query().types;
        writer.selected = select.widths.iter().map(|&width| vec![Value::Null; width]).collect();
        let mut write = |cx: &mut EvalCx<'_>, values: &[Value<'_>]| {
            writer.begin_row(&self.missing, cx.state);
            for ((value, ty), &column) in values.iter().zip(types.iter()).zip(&self.targets) {
                writer.set_value(column, value, ty, cx.state)?;
            }
            for (value, &(table, column)) in values.iter().skip(self.targets.len()).zip(&select.selected) {
                writer.selected[table][column] = value.borrowed().into_owned();
            }
            writer.write(cx, params)
        };
        if select.reads_target {
            // Without a key rows stay in the order in which they came.
            let mut rows = Sorter::new(cx.state.vars.sort_room(), None);
            let mut body = Vec::new();
            select::for_each(&select.plan, cx, params, &mut |_, values| {
                body.clear();
                values.iter().for_each(|value| push_value(value, &mut body));
                rows.push_and_spill(&[], &body)
            })?;
            rows.finish(|_, body| {
                let values: Vec<Value<'_>> = Values::new(body).collect();
                write(cx, &values)?;
                Ok(true)
            })
        } else {
            select::for_each(&select.plan, cx, params, &mut write)
        }
    }

    /// Runs a plan made by [`plan_bulk`] with the rows of the statement.
    ///
    /// # Errors
    /// Of the statement.
    pub fn run_bulk(&self, ast: &ast::Insert<'_>, cx: &mut PlanCx<'_>) -> SqlResult<Outcome> {
        let ast::InsertSource::Values(rows) = ast.source else {
            return Err(SqlError::unsupported("INSERT ... SELECT"));
        };
        let before = cx.session.state.warnings.refuse(self.is_strict(cx.session.state));
        let mut writer = self.writer(cx.session.state, Some(rows.len() as u64));
        let done = self.write_bulk(&mut writer, rows, cx);
        let done = self.outcome(&writer, cx.session.state, done);
        cx.session.state.warnings.end_refusing(before, done)
    }

    /// Whether what its expressions warn of is an error.
    fn is_strict(&self, state: &SessionState) -> bool {
        state.vars.sql_mode.is_strict() && !self.ignore
    }

    fn write_bulk(
        &self,
        writer: &mut Writer<'_>,
        rows: &[&[ast::Expr<'_>]],
        cx: &mut PlanCx<'_>,
    ) -> SqlResult<()> {
        let literals = Literals::new(cx.session.state);
        self.check_missing(writer, cx.session.state)?;
        for &row in rows {
            writer.begin_row(&self.missing, cx.session.state);
            for (cell, &column) in row.iter().zip(&self.targets) {
                if matches!(cell.kind, ast::ExprKind::Default) {
                    writer.set_default(column, cx.session.state)?;
                    continue;
                }
                if let Some((value, ty)) = literals.value(cell) {
                    writer.set_value(column, &value, ty, cx.session.state)?;
                    continue;
                }
                let expr = {
                    let (planner, mut compile_cx) = cx.planning();
                    let planner = planner.locking_sources(SourceLock::Always);
                    let expr = compile(cell, &self.scope(&planner), &mut compile_cx)?;
                    let uses = planner.take_uses();
                    InsertTarget { info: self.info.clone(), view: self.view.clone() }.refuse_read(&uses)?;
                    cx.session.state.check_privileges(&wanted_of(&uses))?;
                    expr
                };
                let mut eval = cx.session.eval();
                self.set_expr(writer, column, &expr, &mut eval, cx.params)?;
            }
            let mut eval = cx.session.eval();
            writer.write(&mut eval, cx.params)?;
        }
        Ok(())
    }

    /// What the client is told. A statement that fails after a row got a generated value leaves it as LAST_INSERT_ID().
    fn outcome(
        &self,
        writer: &Writer<'_>,
        state: &mut SessionState,
        done: SqlResult<()>,
    ) -> SqlResult<Outcome> {
        if let Err(e) = done {
            let first = writer.auto_inc.as_ref().and_then(|auto| auto.first());
            state.last_insert_id = first.unwrap_or(state.last_insert_id);
            return Err(e);
        }
        let counts = writer.counts;
        let found = if state.client_found_rows { counts.touched } else { counts.updated };
        let mut insert_id = 0;
        if let Some(auto) = &writer.auto_inc {
            state.generates = auto.first().is_some();
            state.new_insert_id = auto.first().or(state.new_insert_id);
            // Values that were given are not told of where the rows may have gone other ways, as in MySQL.
            let straight = self.info.table.triggers.is_empty() && self.on_duplicate.is_empty();
            let told = counts.copied > 0 && (straight || !matches!(self.source, Source::Query(_)));
            insert_id = auto.first().or(state.new_insert_id).unwrap_or(if told { auto.last() } else { 0 });
        }
        let duplicates = match self.ignore {
            true => counts.records - counts.copied.min(counts.records),
            false => counts.deleted + counts.updated,
        };
        let info = match &self.source {
            Source::Rows(rows) if rows.len() <= 1 => String::new(),
            Source::Caller if counts.records <= 1 => String::new(),
            _ => format!(
                "Records: {}  Duplicates: {duplicates}  Warnings: {}",
                counts.records,
                state.warnings.count()
            ),
        };
        // An update that changed something counts once as copied, once as updated.
        Ok(Outcome {
            affected_rows: counts.copied + counts.deleted + found,
            insert_id,
            info: info.into(),
            ..Outcome::default()
        })
    }
}

impl Planned for InsertPlan {
    fn columns(&self) -> Option<&Arc<[ColumnMeta]>> {
        None
    }

    fn wants(&self) -> &[Wanted] {
        &self.wants
    }

    fn run(
        &self,
        cx: &mut SessionCx<'_>,
        params: &[Value<'_>],
        _: &mut dyn ResultSink,
    ) -> SqlResult<Outcome> {
        let mut eval = cx.eval();
        self.hold_table(&mut eval)?;
        let before = eval.state.warnings.refuse(self.is_strict(eval.state));
        let done = match &self.source {
            Source::Rows(rows) => self.run_rows(rows, &mut eval, params),
            Source::Query(select) => self.run_query(select, &mut eval, params),
            Source::Caller => Err(super::writer::no_engine()),
        };
        eval.state.warnings.end_refusing(before, done)
    }
}
