//! Prepared statements, of the protocol and of SQL.

use super::flag;
use super::plans::Fresh;
use super::program::OutParameter;
use super::text::{is_planned, syntax_error};
use super::values::{self, Types, Values, merged, tag};
use super::{Connection, Prepared, text_of};
use crate::plan_cache::Cached;
use bumpalo::Bump;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use vaquita_engine::text::charset::{self, Charset};
use vaquita_exec::{Outcome, Planned};
use vaquita_parser::ValueTag;
use vaquita_parser::ast::{self, PrepareSource, Stmt, Txn};
use vaquita_session::sink::{ColumnMeta, Completion, ResultSink};
use vaquita_session::state::Conditions;
use vaquita_session::status::Com;
use vaquita_types::{Kind, SqlError, SqlResult, SqlType, Value, memory};

/// The prepared statements of a session.
#[derive(Debug, Default)]
pub(super) struct Statements {
    by_id: HashMap<u32, Entry, foldhash::fast::RandomState>,
    by_name: HashMap<String, u32>,
    last_id: u32,
}

#[derive(Debug)]
struct Entry {
    sql: Arc<[u8]>,
    params: u16,
    kind: Com,
    /// The plan of the last execution.
    plan: Option<Box<Kept>>,
    planned: bool,
    /// Hints hold for it as a whole: it is read anew for each execution.
    hinted: bool,
    /// What needs no text: BEGIN, COMMIT, ROLLBACK.
    txn: Option<Txn<'static>>,
    /// Bytes that the session keeps for it.
    memory: usize,
}

/// A plan that is at hand for the next execution.
#[derive(Debug)]
struct Kept {
    plan: Arc<dyn Planned>,
    made: Made,
    conditions: Conditions,
    /// Literals that were lifted out of the text, with their places among the values.
    literals: Box<[(usize, Value<'static>)]>,
}

/// How a statement is planned, for one execution.
struct Planning {
    /// Where its plan is in the cache; none: its kind is not cached.
    key: Option<Vec<u8>>,
    types: Types,
    literals: Box<[(usize, Value<'static>)]>,
}

/// What a plan of a prepared statement was made for.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Made {
    fingerprint: u64,
    database: String,
    params: SmallVec<[ValueTag; 8]>,
    generation: u64,
    /// Of the session's temporary tables.
    temporaries: u64,
}

impl Connection {
    /// Prepares a statement.
    ///
    /// # Errors
    /// Syntax, names, what cannot be prepared (1295), too many (1461).
    pub fn prepare(&mut self, sql: &[u8]) -> SqlResult<Prepared> {
        let _paid = self.state.memory.enter();
        self.begin("Prepare", sql, Com::Prepare);
        let done = self.make_prepared(sql);
        match &done {
            Ok(_) => self.took = self.took_so_far(),
            Err(e) => self.fail(e),
        }
        self.process.idle(self.took.micros);
        let (id, columns) = done?;
        let params = self.prepared.by_id.get(&id).map_or(0, |s| s.params);
        let warnings = u16::try_from(self.state.warnings.new_count()).unwrap_or(u16::MAX);
        Ok(Prepared { id, params, columns, warnings })
    }

    fn make_prepared(&mut self, sql: &[u8]) -> SqlResult<(u32, Arc<[ColumnMeta]>)> {
        if !self.may_run(sql) {
            return Err(super::text::password_expired());
        }
        let limit = self.db.globals().uint("max_prepared_stmt_count");
        if self.db.prepared_count.load(Ordering::Relaxed) >= limit {
            return Err(SqlError::new(
                1461,
                format!("Can't create more than max_prepared_stmt_count statements (current value: {limit})"),
            ));
        }
        let before = memory::account::grown();
        let planning = self.planning(sql, None)?;
        let arena = Bump::new();
        let mode = self.parse_mode(planning.key.is_some());
        let parsed = vaquita_parser::parse(sql, &arena, mode).map_err(|e| syntax_error(&e))?;
        // A zero byte that ends the text is no second statement.
        if let Some(next) = parsed.next.filter(|&next| sql[next..].trim_ascii() != [0]) {
            return Err(syntax_error(&vaquita_parser::ParseError::syntax(sql, next)));
        }
        if !can_be_prepared(&parsed.stmt) {
            return Err(SqlError::new(
                1295,
                "This command is not supported in the prepared statement protocol yet",
            ));
        }
        self.check_unique_names(&parsed.stmt)?;
        let params = u16::try_from(parsed.params)
            .map_err(|_| SqlError::new(1390, "Prepared statement contains too many placeholders"))?;
        if params > 0 && matches!(parsed.stmt, Stmt::CreateView(_)) {
            return Err(crate::program::view_with_variables());
        }
        let planned = is_planned(&parsed.stmt);
        let mut columns: Arc<[ColumnMeta]> = Arc::from([]);
        let mut plan = None;
        if planned {
            let (made, kept) = self.plan_to_describe(&parsed.stmt, sql, params, planning)?;
            if let Some(of_plan) = made.columns() {
                columns = of_plan.clone();
            }
            plan = kept.filter(|_| params == 0).map(Box::new);
        } else if let Stmt::Show(show) = &parsed.stmt {
            columns = crate::show::show_columns(show, &self.state.database);
        } else if let Stmt::Explain(explain) = &parsed.stmt {
            columns = vaquita_plan::explain_columns(explain);
        }
        let kind = Com::of(&parsed.stmt);
        let hinted = !ast::Hint::of_statement(&parsed.stmt).is_empty();
        let txn = plain_txn(&parsed.stmt);
        drop(arena);
        // With the plan, though others may share it.
        let grown = memory::account::grown().saturating_sub(before) as usize;
        let memory = grown.max(size_of::<Entry>()) + sql.len();
        self.state.memory.may_keep(memory)?;
        self.state.memory.keep(memory as i64);
        self.prepared.last_id = self.prepared.last_id.wrapping_add(1).max(1);
        let id = self.prepared.last_id;
        let entry = Entry { sql: sql.into(), params, kind, plan, planned, hinted, txn, memory };
        self.prepared.by_id.insert(id, entry);
        self.db.prepared_count.fetch_add(1, Ordering::Relaxed);
        Ok((id, columns))
    }

    /// A plan that tells the columns of the result. Types of parameters are not known yet.
    fn plan_to_describe(
        &mut self,
        stmt: &Stmt<'_>,
        sql: &[u8],
        params: u16,
        planning: Planning,
    ) -> SqlResult<(Arc<dyn Planned>, Option<Kept>)> {
        let Planning { key, mut types, literals } = planning;
        if key.is_none() {
            let collation = self.state.vars.collation_connection;
            types.resize(params.into(), values::unknown_type(collation));
        }
        let found = key.as_deref().and_then(|key| self.shared_plan(key));
        let generated = self.state.generated;
        let looked = self.in_look(|c| {
            let fresh = match &found {
                Some(found) => Fresh { plan: found.plan.clone(), kept: Some(found.conditions.clone()) },
                // Only without parameters are all values known.
                None if params == 0 => c.plan(stmt, sql, &merged(&literals, &[]), &types)?,
                None => c.plan(stmt, sql, &[], &types)?,
            };
            c.check_wanted(fresh.plan.wants())?;
            Ok(fresh)
        });
        // What is only described looks for nothing.
        self.state.generated = generated;
        let Fresh { plan, kept } = looked?;
        if let (Some(key), None, Some(conditions)) = (&key, found, &kept) {
            self.share_plan(Cached::new(key, plan.clone(), Com::of(stmt), conditions.clone()));
        }
        let made = self.made_for(&[]);
        let kept = kept.map(|conditions| Kept { plan: plan.clone(), made, conditions, literals });
        Ok((plan, kept))
    }

    /// A plan of the cache, unless temporary tables of the session might hide its tables.
    fn shared_plan(&self, key: &[u8]) -> Option<Arc<Cached>> {
        match self.engine.temporary_generation() {
            0 => self.db.plans.find(key, &self.state.user_vars),
            _ => None,
        }
    }

    /// Puts a plan into the cache, unless it might be one on temporary tables.
    pub(super) fn share_plan(&self, plan: Cached) {
        if self.engine.temporary_generation() == 0 {
            self.db.plans.insert(plan);
        }
    }

    /// Runs a prepared statement.
    ///
    /// # Errors
    /// 1243 no such statement, 1210 wrong number of parameters, those of the statement.
    pub fn execute(&mut self, id: u32, params: &[Value<'_>], sink: &mut dyn ResultSink) -> SqlResult<()> {
        let _paid = self.state.memory.enter();
        let Some(entry) = self.prepared.by_id.get(&id) else {
            let e = SqlError::new(
                1243,
                format!("Unknown prepared statement handler ({id}) given to mysqld_stmt_execute"),
            );
            self.begin("Execute", b"", Com::Execute);
            return self.end(Err(e), 0, sink);
        };
        let (sql, kind) = (entry.sql.clone(), entry.kind);
        let logged = self.db.logs.general_on() || self.db.logs.slow_on();
        match logged && params.len() == usize::from(entry.params) {
            true => {
                let text = values::written(
                    &sql,
                    self.parse_mode(false),
                    params,
                    self.state.vars.collation_connection,
                );
                self.begin("Execute", &text, kind);
            }
            false => self.begin("Execute", &sql, kind),
        }
        self.state.status.count(Com::Execute);
        let before = std::mem::take(&mut self.program.given);
        let done = match self.may_run(&sql) {
            true => match self.state.vars.of_literals() {
                None => self.run_prepared(id, params, sink),
                Some(charsets) => {
                    let mut params: Values<'_> = params.iter().map(Value::borrowed).collect();
                    values::convert_texts(&mut params, charsets);
                    self.run_prepared(id, &params, sink)
                }
            },
            false => Err(super::text::password_expired()),
        };
        let given = std::mem::replace(&mut self.program.given, before);
        let done = match done {
            Ok(outcome) if !given.is_empty() => self.send_given(given, sink).map(|()| outcome),
            done => done,
        };
        self.end(done, 0, sink)
    }

    /// Sends what parameters of a CALL are given.
    fn send_given(&mut self, given: Vec<OutParameter>, sink: &mut dyn ResultSink) -> SqlResult<()> {
        let to = self.state.vars.character_set_results.and_then(Charset::of_collation);
        let column = |out: &OutParameter| {
            let of = ColumnMeta::new(&out.name, out.ty.clone());
            let mut column = ColumnMeta {
                schema: out.routine.0.as_bytes().into(),
                table: out.routine.1.as_bytes().into(),
                org_table: out.routine.1.as_bytes().into(),
                org_name: of.name.clone(),
                // Of numbers 5.6 does not say here that they are some.
                flags: of.flags & vaquita_catalog::flag::UNSIGNED
                    | if is_time(&out.ty) { vaquita_catalog::flag::BINARY } else { 0 },
                ..of
            };
            if let Some(to) = to {
                column.convert_names(to);
            }
            column
        };
        let columns: Arc<[ColumnMeta]> = given.iter().map(column).collect();
        let value = |out: OutParameter| match (&out.value, Charset::of_collation(out.ty.collation), to) {
            (Value::Bytes(text), Some(from), Some(to))
                if out.ty.kind.is_string() && needs_change(from, to) =>
            {
                let mut converted = Vec::with_capacity(text.len());
                charset::convert(from, to, text, &mut converted);
                Value::owned(converted)
            }
            _ => out.value,
        };
        let row: Vec<Value<'static>> = given.into_iter().map(value).collect();
        let status = self.status_flags() | flag::MORE_RESULTS | flag::PS_OUT_PARAMS;
        sink.out_parameters(&columns, &row, Completion { status, affected_rows: 1, ..Completion::default() })
    }

    fn run_prepared(
        &mut self,
        id: u32,
        params: &[Value<'_>],
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Outcome> {
        let Some(entry) = self.prepared.by_id.get_mut(&id) else {
            return Err(SqlError::new(1243, "Unknown prepared statement handler given to EXECUTE"));
        };
        if params.len() != usize::from(entry.params) {
            return Err(SqlError::new(1210, "Incorrect arguments to EXECUTE"));
        }
        if let Some(txn) = entry.txn {
            return self.txn(&txn, sink);
        }
        // Taken out while it runs: a hit must neither allocate nor count references.
        let taken = entry.plan.take();
        let (sql, planned, hinted) = (entry.sql.clone(), entry.planned, entry.hinted);
        if hinted {
            return self.run_parsed(&sql, params, sink);
        }
        if let Some(kept) = taken
            && self.fits(&kept, params)
        {
            match self.run_kept(&kept, params, sink) {
                Err(e) if vaquita_exec::is_stale(&e) => {}
                done => {
                    self.keep(id, kept);
                    return done;
                }
            }
        }
        if !planned {
            return self.run_parsed(&sql, params, sink);
        }
        let planning = self.planning(&sql, Some(params))?;
        let Some(key) = &planning.key else { return self.plan_and_keep(id, &sql, params, planning, sink) };
        let Some(found) = self.shared_plan(key) else {
            return self.plan_and_keep(id, &sql, params, planning, sink);
        };
        let made = self.made_for(params);
        let kept = Box::new(Kept {
            plan: found.plan.clone(),
            made,
            conditions: found.conditions.clone(),
            literals: planning.literals.clone(),
        });
        match self.run_kept(&kept, params, sink) {
            Err(e) if vaquita_exec::is_stale(&e) => {
                self.db.plans.remove(&found);
                self.plan_and_keep(id, &sql, params, planning, sink)
            }
            done => {
                self.keep(id, kept);
                done
            }
        }
    }

    /// A statement that is read anew.
    fn run_parsed(
        &mut self,
        sql: &[u8],
        params: &[Value<'_>],
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Outcome> {
        let arena = Bump::new();
        let mode = self.parse_mode(false);
        let parsed = vaquita_parser::parse(sql, &arena, mode).map_err(|e| syntax_error(&e))?;
        self.dispatch(&parsed.stmt, sql, params, sink)
    }

    fn run_kept(
        &mut self,
        kept: &Kept,
        params: &[Value<'_>],
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Outcome> {
        self.state.status.plans_reused += 1;
        if kept.literals.is_empty() {
            return self.run_plan(&kept.plan, params, sink);
        }
        self.run_plan(&kept.plan, &merged(&kept.literals, params), sink)
    }

    fn keep(&mut self, id: u32, kept: Box<Kept>) {
        if let Some(entry) = self.prepared.by_id.get_mut(&id) {
            entry.plan = Some(kept);
        }
    }

    /// Under which key a statement with these parameters is cached, and the types it is planned with. `None`: nothing is
    /// known of the parameters.
    fn planning(&mut self, sql: &[u8], params: Option<&[Value<'_>]>) -> SqlResult<Planning> {
        let collation = self.state.vars.collation_connection;
        let mode = self.parse_mode(true);
        let mut scratch = std::mem::take(&mut self.scratch);
        let digest = &mut scratch.digest;
        let done = match vaquita_parser::digest(sql, mode, digest) {
            true => {
                let mut key = Vec::with_capacity(digest.key.len() + 64);
                self.plan_key(&[]).push(&mut key);
                digest.push_key(|n| params.map_or(values::UNKNOWN, |params| tag(&params[n])), &mut key);
                self.literal_values(&digest.literals, sql, mode).map(|literals| Planning {
                    key: Some(key),
                    types: values::types_of(digest, &literals, params, collation),
                    literals: values::placed(digest, &literals),
                })
            }
            false => {
                let types = values::param_types(params.unwrap_or_default(), collation);
                Ok(Planning { key: None, types, literals: Box::default() })
            }
        };
        self.scratch = scratch;
        done
    }

    fn plan_and_keep(
        &mut self,
        id: u32,
        sql: &[u8],
        params: &[Value<'_>],
        planning: Planning,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Outcome> {
        let Planning { key, types, literals } = planning;
        let arena = Bump::new();
        let mode = self.parse_mode(key.is_some());
        let parsed = vaquita_parser::parse(sql, &arena, mode).map_err(|e| syntax_error(&e))?;
        self.xa.check_statement()?;
        let values = merged(&literals, params);
        for _ in 0..8 {
            let done = self.in_statement(|c| {
                let fresh = c.plan(&parsed.stmt, sql, &values, &types)?;
                let outcome = c.run_started(&fresh.plan, &values, sink)?;
                Ok((fresh, outcome))
            });
            match done {
                Err(e) if vaquita_exec::is_stale(&e) => {}
                Err(e) => return Err(e),
                Ok((Fresh { plan, kept }, outcome)) => {
                    if let Some(conditions) = kept {
                        if let Some(key) = &key {
                            let kind = Com::of(&parsed.stmt);
                            let cached = Cached::new(key, plan.clone(), kind, conditions.clone());
                            self.share_plan(cached);
                        }
                        let made = self.made_for(params);
                        let literals = literals.clone();
                        self.keep(id, Box::new(Kept { plan, made, conditions, literals }));
                    }
                    return Ok(outcome);
                }
            }
        }
        Err(SqlError::new(1615, "Prepared statement needs to be re-prepared"))
    }

    fn made_for(&self, params: &[Value<'_>]) -> Made {
        Made {
            fingerprint: self.state.vars.plan_fingerprint(),
            database: self.state.database.clone(),
            params: params.iter().map(tag).collect(),
            generation: self.db.plans.generation(),
            temporaries: self.engine.temporary_generation(),
        }
    }

    fn fits(&self, kept: &Kept, params: &[Value<'_>]) -> bool {
        let made = &kept.made;
        made.fingerprint == self.state.vars.plan_fingerprint()
            && made.generation == self.db.plans.generation()
            && made.temporaries == self.engine.temporary_generation()
            && made.database == self.state.database
            && kept.conditions.hold(&self.state.user_vars)
            // NULL is of every type.
            && params.iter().zip(&made.params).all(|(v, &t)| tag(v) == t || v.is_null())
    }

    /// Forgets a prepared statement; one that is not there is ignored.
    pub fn close_statement(&mut self, id: u32) {
        if let Some(closed) = self.prepared.by_id.remove(&id) {
            self.state.memory.keep(-(closed.memory as i64));
            self.prepared.by_name.retain(|_, named| *named != id);
            self.db.prepared_count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Forgets all of them.
    pub(super) fn close_all_statements(&mut self) {
        let n = self.prepared.by_id.len() as u64;
        let memory: usize = self.prepared.by_id.values().map(|entry| entry.memory).sum();
        self.state.memory.keep(-(memory as i64));
        self.db.prepared_count.fetch_sub(n, Ordering::Relaxed);
        self.prepared = Statements::default();
    }

    /// PREPARE.
    pub(super) fn sql_prepare(&mut self, prepare: &ast::Prepare<'_>) -> SqlResult<Outcome> {
        let name = text_of(prepare.name).to_lowercase();
        let sql = match prepare.source {
            PrepareSource::Text(text) => text.to_vec(),
            PrepareSource::Var(var) => match self.state.user_vars.get(var.name) {
                Some(var) => var.value.to_text(&var.ty).into_owned(),
                None => b"NULL".to_vec(),
            },
        };
        // A statement of that name goes even if the new one cannot be prepared.
        if let Some(old) = self.prepared.by_name.get(&name).copied() {
            self.close_statement(old);
        }
        let (id, _) = self.make_prepared(&sql)?;
        self.prepared.by_name.insert(name, id);
        self.state_changed = true;
        Ok(Outcome { info: "Statement prepared".into(), ..Outcome::default() })
    }

    /// EXECUTE.
    pub(super) fn sql_execute(
        &mut self,
        execute: &ast::Execute<'_>,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Outcome> {
        let name = text_of(execute.name);
        let Some(&id) = self.prepared.by_name.get(&name.to_lowercase()) else {
            return Err(SqlError::new(
                1243,
                format!("Unknown prepared statement handler ({name}) given to EXECUTE"),
            ));
        };
        let var = |var: &ast::Ident<'_>| {
            self.state.user_vars.get(var.name).map_or(Value::Null, |v| v.value.clone())
        };
        let params: SmallVec<[Value<'static>; 8]> = execute.using.iter().map(var).collect();
        if let Some(entry) = self.prepared.by_id.get(&id) {
            self.kind = entry.kind;
        }
        let before = std::mem::take(&mut self.program.given);
        // Its parameters are not the variables of a program that has it.
        let types = self.program.types.take();
        let done = self.run_prepared(id, &params, sink);
        self.program.types = types;
        let given = std::mem::replace(&mut self.program.given, before);
        let done = done?;
        for out in given {
            if let Some(var) = execute.using.get(out.number) {
                self.set_user_var(var.name, out.value, &out.ty)?;
            }
        }
        Ok(done)
    }

    /// DEALLOCATE PREPARE.
    pub(super) fn sql_deallocate(&mut self, name: &str) -> SqlResult<Outcome> {
        match self.prepared.by_name.remove(&name.to_lowercase()) {
            Some(id) => {
                self.close_statement(id);
                self.state_changed = true;
                Ok(Outcome::default())
            }
            None => Err(SqlError::new(
                1243,
                format!("Unknown prepared statement handler ({name}) given to DEALLOCATE PREPARE"),
            )),
        }
    }
}

/// BEGIN, COMMIT and ROLLBACK, which are executed as often as anything and have no part of the text in them.
fn plain_txn(stmt: &Stmt<'_>) -> Option<Txn<'static>> {
    let Stmt::Txn(txn) = stmt else { return None };
    match **txn {
        Txn::Start { consistent_snapshot, access } => Some(Txn::Start { consistent_snapshot, access }),
        Txn::Commit(how) => Some(Txn::Commit(how)),
        Txn::Rollback(how) => Some(Txn::Rollback(how)),
        _ => None,
    }
}

fn is_time(ty: &SqlType) -> bool {
    matches!(ty.kind, Kind::Date | Kind::Time | Kind::DateTime | Kind::Timestamp)
}

/// Whether a text of one character set is another one in the other.
fn needs_change(from: Charset, to: Charset) -> bool {
    from != to && from != Charset::BINARY && to != Charset::BINARY && !(from.is_utf8() && to.is_utf8())
}

/// Statements that work as prepared ones.
fn can_be_prepared(stmt: &Stmt<'_>) -> bool {
    !matches!(
        stmt,
        Stmt::Prepare(_)
            | Stmt::Execute(_)
            | Stmt::Deallocate(_)
            | Stmt::Use(_)
            | Stmt::LoadData(_)
            | Stmt::Handler(_)
            | Stmt::Help(_)
            | Stmt::Shutdown
            | Stmt::AlterEvent(_)
            | Stmt::CreateProgram(ast::CreateProgram { event: Some(_), .. })
            | Stmt::DropProgram(ast::DropProgram { kind: ast::ProgramKind::Event, .. })
            | Stmt::Txn(ast::Txn::LockTables(_) | ast::Txn::UnlockTables)
    )
}
