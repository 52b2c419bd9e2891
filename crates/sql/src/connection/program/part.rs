//! Statements and expressions of a program: planned when they are first run, with the local variables as parameters.

use super::{Cursor, Frame};
use crate::connection::admin::{OneValue, OutsideQueries};
use crate::connection::text::{is_planned, syntax_error};
use crate::connection::{Connection, flag};
use crate::routine::code::{Fragment, Made, Null, OfRow, What};
use bumpalo::Bump;
use std::sync::Arc;
use std::time::Instant;
use vaquita_exec::{Outcome, Planned};
use vaquita_expr::{CompileCx, EvalCx, Row, compile};
use vaquita_parser::ast::{self, Stmt};
use vaquita_session::sink::{ColumnMeta, Completion, ResultSink};
use vaquita_session::state::{Noted, Place, Taken};
use vaquita_session::status::Com;
use vaquita_types::convert::store::{StoreMode, store};
use vaquita_types::{ColumnType, Level, SqlError, SqlResult, SqlType, Value, memory};

/// Times a statement is planned anew because definitions change under it.
const REPLANS: usize = 8;

/// Rows of a cursor.
#[derive(Debug, Default)]
struct Rows {
    rows: Vec<Box<[Value<'static>]>>,
    types: Option<Arc<[SqlType]>>,
    memory: usize,
}

impl ResultSink for Rows {
    fn columns(&mut self, columns: &Arc<[ColumnMeta]>) -> SqlResult<()> {
        self.types = Some(columns.iter().map(|c| c.ty.clone()).collect());
        Ok(())
    }

    fn row(&mut self, values: &[Value<'_>]) -> SqlResult<()> {
        let row: Vec<_> =
            values.iter().map(|v| memory::into_owned(v.borrowed())).collect::<SqlResult<_>>()?;
        self.memory += row.iter().map(vaquita_session::temp::values::memory_of).sum::<usize>();
        self.memory += row.len() * size_of::<Value<'_>>();
        self.rows.push(row.into());
        Ok(())
    }

    fn end(&mut self, _: Completion) -> SqlResult<()> {
        Ok(())
    }
}

/// Where the results of a program's statements go. It knows whether one has begun and not ended: should its statement fail then, and
/// a handler take care of that, a client gets it as far as it came.
pub(super) struct Results<'s> {
    sink: &'s mut dyn ResultSink,
    open: bool,
    /// Status flags of the results of the statement at hand.
    status: u16,
}

impl<'s> Results<'s> {
    pub(super) fn new(sink: &'s mut dyn ResultSink) -> Results<'s> {
        Results { sink, open: false, status: 0 }
    }
}

impl ResultSink for Results<'_> {
    fn columns(&mut self, columns: &Arc<[ColumnMeta]>) -> SqlResult<()> {
        self.sink.announce(self.status);
        self.sink.columns(columns)?;
        self.open = true;
        Ok(())
    }

    fn row(&mut self, values: &[Value<'_>]) -> SqlResult<()> {
        self.sink.row(values)
    }

    fn is_full(&self) -> bool {
        self.sink.is_full()
    }

    fn flush(&mut self) -> SqlResult<()> {
        self.sink.flush()
    }

    fn end(&mut self, done: Completion) -> SqlResult<()> {
        self.open = false;
        self.sink.end(done)
    }

    fn local_infile(&mut self, name: &[u8], take: &mut dyn FnMut(&[u8]) -> SqlResult<()>) -> SqlResult<()> {
        self.sink.local_infile(name, take)
    }
}

impl Connection {
    /// Ends the result of a statement that has failed after it began, for a handler takes care of the failure.
    pub(super) fn cut(&mut self, results: &mut Results<'_>) -> SqlResult<()> {
        match results.open {
            true => results.end(Completion { status: results.status, ..Completion::default() }),
            false => Ok(()),
        }
    }

    /// A statement of a program begins.
    fn begin_part(&mut self, kind: Com) {
        if !self.program.inside {
            // Functions have one time from their beginning to their end.
            let deadline = self.state.deadline;
            self.state.begin_statement(Instant::now());
            self.state.deadline = deadline;
        }
        self.state.status.queries += 1;
        self.state.status.count(kind);
        self.state.warnings.begin_statement();
        if kind.clears_warnings() {
            self.state.warnings.forget_old();
        }
        self.kind = kind;
    }

    /// It has ended well.
    fn end_part(&mut self, frame: &mut Frame, outcome: Outcome, sink: &mut dyn ResultSink) -> SqlResult<()> {
        if let Some(id) = self.state.new_insert_id.take() {
            self.state.last_insert_id = id;
        }
        self.state.generated |= self.state.generates;
        if let Some(rows) = outcome.found_rows {
            self.state.found_rows = rows;
        }
        // What was asked for goes on to be asked for.
        if self.kind != Com::GetDiagnostics {
            self.state.row_count = if outcome.has_result { -1 } else { outcome.affected_rows as i64 };
        }
        if !self.kind.shows_warnings() {
            self.state.error_count = 0;
        }
        self.after_part();
        if outcome.has_result {
            sink.end(Completion {
                affected_rows: outcome.affected_rows,
                insert_id: outcome.insert_id,
                warnings: u16::try_from(self.state.warnings.new_count()).unwrap_or(u16::MAX),
                status: self.status_flags()
                    | self.work_flags(self.took_so_far())
                    | outcome.status
                    | flag::MORE_RESULTS,
                info: outcome.info,
                ..Completion::default()
            })?;
        }
        let taken = std::mem::take(&mut self.state.program.taken);
        let is_diagnostics = self.kind == Com::GetDiagnostics && !taken.is_empty();
        let conditions = is_diagnostics.then(|| self.state.warnings.set_aside());
        let done = self.take(frame, taken);
        let Some(conditions) = conditions else { return done };
        // What was asked for stays; what a variable cannot take is one condition more, and no failure.
        self.state.warnings = conditions;
        if let Err(e) = done {
            self.state.row_count = -1;
            self.state.warnings.append(Level::Error, e.code, e.message);
        }
        Ok(())
    }

    /// Whatever came of it.
    fn after_part(&mut self) {
        if self.program.inside {
            return;
        }
        self.engine.end_change();
        if !self.engine.in_transaction() {
            self.transaction_over();
        }
    }

    /// A step has failed: the client may ask for it, and so may a handler.
    pub(super) fn note_failure(&mut self, e: &SqlError) {
        self.state.program.taken.clear();
        self.state.warnings.forget_old();
        self.state.row_count = -1;
        self.state.error_count = 1;
        self.state.new_insert_id = None;
        self.note_error_once(e);
        self.after_part();
    }

    /// Runs a statement.
    pub(super) fn run_part(
        &mut self,
        frame: &mut Frame,
        fragment: usize,
        results: &mut Results<'_>,
    ) -> SqlResult<()> {
        let routine = frame.routine.clone();
        let fragment = &routine.code.fragments[fragment];
        self.begin_part(fragment.kind);
        results.status = self.status_flags() | flag::MORE_RESULTS;
        let outer = self.program.types.replace(frame.types.clone());
        let done = self.run_fragment(frame, fragment, results);
        self.program.types = outer;
        let outcome = match done {
            Ok(outcome) => outcome,
            Err(e) => {
                self.take_before_failure(frame)?;
                return Err(e);
            }
        };
        self.end_part(frame, outcome, results)
    }

    /// SELECT .. INTO that fails behind its first row has stored that.
    ///
    /// # Errors
    /// What its values did not fit into was met first.
    fn take_before_failure(&mut self, frame: &mut Frame) -> SqlResult<()> {
        if self.kind == Com::GetDiagnostics {
            return Ok(());
        }
        let taken = std::mem::take(&mut self.state.program.taken);
        self.take(frame, taken)
    }

    /// Gives variables their values, in their order: those behind one that cannot take its value keep theirs.
    fn take(&mut self, frame: &mut Frame, taken: Vec<Taken>) -> SqlResult<()> {
        taken.into_iter().try_for_each(|Taken { into, value, ty }| match into {
            Place::Local(place) => self.set_local(frame, place, value, &ty),
            Place::User(name) => self.state.user_vars.set(&name, value, ty),
        })
    }

    fn run_fragment(
        &mut self,
        frame: &Frame,
        fragment: &Fragment,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Outcome> {
        if let Some(made) = self.made(fragment)
            && let What::Plan(plan) = &made.what
        {
            match self.run_plan(plan, &frame.locals, sink) {
                Err(e) if vaquita_exec::is_stale(&e) => {}
                done => return done,
            }
        }
        let arena = Bump::new();
        let mode = self.parse_mode(false);
        let parsed = vaquita_parser::parse_with(&fragment.text, &arena, mode, &fragment.locals)
            .map_err(|e| syntax_error(&e))?;
        match &parsed.stmt {
            Stmt::Insert(insert) if vaquita_exec::dml::is_bulk(insert) => {
                self.plan_and_run(&parsed.stmt, &fragment.text, &frame.locals, None, sink)
            }
            stmt if is_planned(stmt) && !ast::Hint::of_statement(stmt).is_empty() => {
                self.with_hints(stmt, |c| c.plan_and_run(stmt, &fragment.text, &frame.locals, None, sink))
            }
            stmt if is_planned(stmt) => {
                self.plan_fragment(frame, fragment, stmt, sink, false).map(|(_, outcome)| outcome)
            }
            Stmt::Signal(signal) => self.signal(signal, &fragment.text, &frame.locals, &fragment.conditions),
            Stmt::GetDiagnostics(get) => self.get_diagnostics(get, &fragment.text, &frame.locals),
            stmt => self.dispatch(stmt, &fragment.text, &frame.locals, sink),
        }
    }

    /// What was made of a fragment, if it is still good.
    fn made(&self, fragment: &Fragment) -> Option<Arc<Made>> {
        let made = fragment.made.read().clone()?;
        let fits = made.fingerprint == self.state.vars.plan_fingerprint()
            && made.generation == self.db.plans.generation()
            && made.temporaries == self.engine.temporary_generation()
            && made.conditions.hold(&self.state.user_vars);
        fits.then_some(made)
    }

    fn keep_made(&self, fragment: &Fragment, what: What, noted: vaquita_session::state::Conditions) {
        *fragment.made.write() = Some(Arc::new(Made {
            what,
            fingerprint: self.state.vars.plan_fingerprint(),
            generation: self.db.plans.generation(),
            temporaries: self.engine.temporary_generation(),
            conditions: noted,
        }));
    }

    /// Plans a statement and runs it. `raw`: its rows stay here, so their texts are not converted for the client.
    fn plan_fragment(
        &mut self,
        frame: &Frame,
        fragment: &Fragment,
        stmt: &Stmt<'_>,
        sink: &mut dyn ResultSink,
        raw: bool,
    ) -> SqlResult<(Arc<dyn Planned>, Outcome)> {
        self.xa.check_statement()?;
        let mut tries = 0;
        loop {
            let done = self.in_statement(|c| {
                let results = c.state.vars.character_set_results;
                if raw {
                    c.state.vars.character_set_results = None;
                }
                let fresh = c.plan(stmt, &fragment.text, &frame.locals, &frame.types);
                c.state.vars.character_set_results = results;
                let fresh = fresh?;
                c.program.evaluates = true;
                let outcome = c.run_started(&fresh.plan, &frame.locals, sink)?;
                Ok((fresh, outcome))
            });
            match done {
                Err(e) if vaquita_exec::is_stale(&e) && tries < REPLANS => tries += 1,
                Err(e) => return Err(e),
                Ok((fresh, outcome)) => {
                    if let Some(noted) = fresh.kept {
                        self.keep_made(fragment, What::Plan(fresh.plan.clone()), noted);
                    }
                    return Ok((fresh.plan, outcome));
                }
            }
        }
    }

    // Expressions.

    /// The value of an expression, and its type.
    pub(super) fn value_of(
        &mut self,
        frame: &Frame,
        fragment: usize,
    ) -> SqlResult<(Value<'static>, SqlType)> {
        let outer = std::mem::replace(&mut self.program.gives_value, true);
        let types = self.program.types.replace(frame.types.clone());
        let found = self.find_value(frame, fragment);
        self.program.types = types;
        self.program.gives_value = outer;
        found
    }

    fn find_value(&mut self, frame: &Frame, fragment: usize) -> SqlResult<(Value<'static>, SqlType)> {
        let routine = frame.routine.clone();
        let fragment = &routine.code.fragments[fragment];
        let made = self.made(fragment);
        self.program.evaluates = made.is_some();
        match made.as_deref() {
            Some(Made { what: What::Expr(e), .. }) => {
                let mut cx =
                    EvalCx { db: Some(&self.db), state: &mut self.state, engine: Some(&mut self.engine) };
                let value = memory::into_owned(e.eval_to_store(&mut cx, &Row::constant(&frame.locals))?)?;
                Ok((value, e.ty().clone()))
            }
            Some(Made { what: What::Plan(plan), .. }) => {
                let mut row = OneValue::default();
                match self.run_plan(plan, &frame.locals, &mut row) {
                    Err(e) if vaquita_exec::is_stale(&e) => self.compile_value(frame, fragment),
                    Err(e) => Err(e),
                    Ok(_) => Ok(row.into_value()),
                }
            }
            None => self.compile_value(frame, fragment),
        }
    }

    /// The value of an expression that is to be stored: in strict mode what it warns of is an error.
    pub(super) fn strict_value_of(
        &mut self,
        frame: &Frame,
        fragment: usize,
    ) -> SqlResult<(Value<'static>, SqlType)> {
        let before = self.state.warnings.refuse(self.state.vars.sql_mode.is_strict());
        let value = self.value_of(frame, fragment);
        self.state.warnings.end_refusing(before, value)
    }

    /// Runs what evaluates an expression and stores its value. What functions in it have changed is taken back if the value cannot be
    /// stored, which happens in strict mode alone.
    pub(super) fn undoing(
        &mut self,
        frame: &mut Frame,
        fragment: usize,
        run: impl FnOnce(&mut Connection, &mut Frame) -> SqlResult<()>,
    ) -> SqlResult<()> {
        let made = self.made(&frame.routine.clone().code.fragments[fragment]);
        let changes_nothing = matches!(made.as_deref(), Some(Made { what: What::Expr(_), .. }));
        if changes_nothing || !self.state.vars.sql_mode.is_strict() {
            return run(self, frame);
        }
        self.as_one_statement(|connection| run(connection, frame))
    }

    /// Runs what evaluates several things as one statement of the engine.
    pub(super) fn as_one_statement<R>(
        &mut self,
        run: impl FnOnce(&mut Connection) -> SqlResult<R>,
    ) -> SqlResult<R> {
        self.in_statement(|connection| {
            let outer = std::mem::replace(&mut connection.program.stores, true);
            let done = run(connection);
            connection.program.stores = outer;
            done
        })
    }

    /// Whether a condition holds.
    pub(super) fn holds(&mut self, frame: &Frame, fragment: usize) -> SqlResult<bool> {
        let (value, _) = self.value_of(frame, fragment)?;
        let mut cx = EvalCx { db: Some(&self.db), state: &mut self.state, engine: None };
        Ok(value.to_bool(&mut cx.convert()) == Some(true))
    }

    fn compile_value(&mut self, frame: &Frame, fragment: &Fragment) -> SqlResult<(Value<'static>, SqlType)> {
        self.program.evaluates = false;
        let arena = Bump::new();
        let mode = self.parse_mode(false);
        let parsed = vaquita_parser::parse_with(&fragment.text, &arena, mode, &fragment.locals)
            .map_err(|e| syntax_error(&e))?;
        let Stmt::Do([expr]) = parsed.stmt else {
            return Err(SqlError::new(1105, "an expression of a stored program that is none"));
        };
        self.state.noted = Noted::default();
        self.refresh_privileges();
        let scope = OutsideQueries::default();
        let db: &crate::Database = &self.db;
        let mut cx = CompileCx { param_types: &frame.types, ..CompileCx::new(Some(db), &mut self.state) };
        let compiled = match compile(expr, &scope, &mut cx) {
            Err(_) if scope.has_subquery() => None,
            // What runs statements is one itself.
            compiled => Some(compiled?).filter(|e| !e.info().has_subquery),
        };
        let Some(compiled) = compiled else { return self.value_by_query(frame, fragment, expr) };
        let noted = std::mem::take(&mut self.state.noted);
        self.program.evaluates = true;
        let mut cx = EvalCx { db: Some(db), state: &mut self.state, engine: Some(&mut self.engine) };
        let value = memory::into_owned(compiled.eval_to_store(&mut cx, &Row::constant(&frame.locals))?)?;
        let ty = compiled.ty().clone();
        if let Some(noted) = noted.conditions() {
            self.keep_made(fragment, What::Expr(Box::new(compiled)), noted);
        }
        Ok((value, ty))
    }

    /// Value of an expression with subqueries or functions: that of `SELECT expression`.
    fn value_by_query(
        &mut self,
        frame: &Frame,
        fragment: &Fragment,
        expr: &ast::Expr<'_>,
    ) -> SqlResult<(Value<'static>, SqlType)> {
        let items = [ast::SelectItem::Expr { expr: *expr, alias: None, span: ast::Span::default() }];
        let select = ast::Select::of_items(&items);
        let query = ast::Query::of_select(&select);
        let mut row = OneValue::default();
        self.plan_fragment(frame, fragment, &Stmt::Query(&query), &mut row, true)?;
        Ok(row.into_value())
    }

    // Variables.

    /// Gives a local variable a value.
    pub(super) fn set_local(
        &mut self,
        frame: &mut Frame,
        place: u32,
        value: Value<'static>,
        from: &SqlType,
    ) -> SqlResult<()> {
        let at = place as usize;
        let routine = frame.routine.clone();
        let var = &routine.code.vars[at];
        if let (Some(of_row), Some(ty)) = (&var.of_row, &var.ty) {
            frame.assigned.push(place);
            let stored = self.stored_in_row(of_row, ty, value, from);
            // A NULL that is refused leaves a zero, should a handler take care of it.
            let (value, refused) = match stored {
                Ok(value) => (value, Ok(())),
                Err(e) => {
                    let mut zero = Vec::new();
                    ty.push_implicit_default(&mut zero);
                    (memory::into_owned(ty.decode(Some(&zero), &self.state.vars.time_zone))?, Err(e))
                }
            };
            frame.locals[at] = value;
            return refused;
        }
        match &var.ty {
            Some(ty) => match self.stored(ty, &var.name, value, from) {
                Ok(value) => frame.locals[at] = value,
                Err(e) => {
                    frame.has_no_value(place);
                    return Err(e);
                }
            },
            None => {
                if frame.types[at] != *from {
                    let mut types: Vec<SqlType> = frame.types.to_vec();
                    types[at] = from.clone();
                    frame.types = types.into();
                }
                frame.locals[at] = value;
            }
        }
        Ok(())
    }

    /// A value as a column of the row of a trigger has it: what does not fit is made to, with a warning in strict mode too.
    fn stored_in_row(
        &mut self,
        of_row: &OfRow,
        ty: &ColumnType,
        value: Value<'static>,
        from: &SqlType,
    ) -> SqlResult<Value<'static>> {
        if value.is_null() {
            return match of_row.null {
                Null::Allowed => Ok(value),
                Null::Refused => Err(vaquita_catalog::error::null_not_allowed(&of_row.name)),
                Null::Now => {
                    let mut date = self.state.local_now();
                    let unit = 10u32.pow(6 - u32::from(ty.ty.decimals.min(6)));
                    date.micros -= date.micros % unit;
                    Ok(Value::DateTime(date))
                }
            };
        }
        let mode = StoreMode { strict: false, null_is_error: false, row: 1 };
        let date = self.state.date_context();
        let mut bytes = Vec::new();
        let time_zone = self.state.vars.time_zone.clone();
        let mut cx = vaquita_types::Cx { date, time_zone: &time_zone, warnings: &mut self.state.warnings };
        let there = store(ty, &of_row.name, &value, from, mode, &mut cx, &mut bytes)?;
        let stored = there.then_some(bytes.as_slice());
        memory::into_owned(ty.decode(stored, &time_zone))
    }

    /// A value as a variable of that type has it.
    pub(super) fn stored(
        &mut self,
        ty: &ColumnType,
        name: &str,
        value: Value<'static>,
        from: &SqlType,
    ) -> SqlResult<Value<'static>> {
        vaquita_expr::stored::as_variable(&mut self.state, ty, name, value, from)
    }

    // Cursors.

    pub(super) fn open_cursor(&mut self, frame: &mut Frame, cursor: usize) -> SqlResult<()> {
        let routine = frame.routine.clone();
        let fragment = &routine.code.fragments[routine.code.cursors[cursor]];
        self.begin_part(Com::Select);
        if frame.cursors[cursor].is_some() {
            return Err(SqlError::new(1325, "Cursor is already open"));
        }
        let types = self.program.types.replace(frame.types.clone());
        let found = self.rows_of_cursor(frame, fragment);
        self.program.types = types;
        let rows = found?;
        self.after_part();
        self.state.memory.may_keep(rows.memory)?;
        self.state.memory.keep(rows.memory as i64);
        let types = rows.types.unwrap_or_default();
        let open = Cursor { rows: rows.rows.into_iter(), types, memory: rows.memory };
        frame.cursors[cursor] = Some(open);
        Ok(())
    }

    fn rows_of_cursor(&mut self, frame: &Frame, fragment: &Fragment) -> SqlResult<Rows> {
        let mut rows = Rows::default();
        let mut done = false;
        if let Some(made) = self.made(fragment)
            && let What::Plan(plan) = &made.what
        {
            match self.run_plan(plan, &frame.locals, &mut rows) {
                Err(e) if vaquita_exec::is_stale(&e) => rows = Rows::default(),
                Err(e) => return Err(e),
                Ok(_) => done = true,
            }
        }
        if !done {
            let arena = Bump::new();
            let mode = self.parse_mode(false);
            let parsed = vaquita_parser::parse_with(&fragment.text, &arena, mode, &fragment.locals)
                .map_err(|e| syntax_error(&e))?;
            match is_planned(&parsed.stmt) {
                true => self.plan_fragment(frame, fragment, &parsed.stmt, &mut rows, true).map(drop)?,
                false => self.dispatch(&parsed.stmt, &fragment.text, &frame.locals, &mut rows).map(drop)?,
            }
        }
        Ok(rows)
    }
}
