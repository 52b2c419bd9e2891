//! SET, DO, KILL, FLUSH, SHUTDOWN.

use super::{Connection, text_of};
use crate::database::DoorFlush;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use vaquita_engine::AccessMode;
use vaquita_exec::Outcome;
use vaquita_expr::scope::unknown_column;
use vaquita_expr::{CompileCx, CompiledSubquery, EvalCx, Resolved, Row, Scope, compile};
use vaquita_parser::ast::{self, ExprKind, FlushOption, FlushWhat, SetItem, VarScope};
use vaquita_session::privilege::Priv;
use vaquita_session::sink::{ColumnMeta, Completion, ResultSink, SessionChange};
use vaquita_session::vars::{self, Given, VarId, VarValue, id};
use vaquita_types::{SqlError, SqlResult, SqlType, Value, memory};

/// An assignment of SET that was checked, to be done when all are.
enum Assignment {
    System {
        var: VarId,
        global: bool,
        value: VarValue,
    },
    User {
        name: Box<[u8]>,
        value: Value<'static>,
        ty: SqlType,
    },
    /// The next transaction's isolation level or access mode.
    NextTransaction {
        isolation: Option<u8>,
        access: Option<AccessMode>,
    },
}

/// The scope of an expression outside of queries. It knows no tables, but notices subqueries.
#[derive(Debug, Default)]
pub(super) struct OutsideQueries {
    has_subquery: Cell<bool>,
}

impl OutsideQueries {
    /// Whether the expression has a subquery.
    pub(super) fn has_subquery(&self) -> bool {
        self.has_subquery.get()
    }
}

impl Scope for OutsideQueries {
    fn resolve(&self, name: &ast::ColumnRef<'_>) -> SqlResult<Resolved> {
        Err(unknown_column(name, "field list"))
    }

    fn subquery(&self, query: &ast::Query<'_>, _: &mut CompileCx<'_>) -> SqlResult<CompiledSubquery> {
        let _ = query;
        self.has_subquery.set(true);
        Err(SqlError::unsupported("subquery in this place"))
    }
}

/// Takes the only value of a result.
#[derive(Debug, Default)]
pub(super) struct OneValue {
    ty: Option<SqlType>,
    value: Option<Value<'static>>,
}

impl OneValue {
    /// The value, NULL without a row, and its type.
    pub(super) fn into_value(self) -> (Value<'static>, SqlType) {
        (self.value.unwrap_or_default(), self.ty.unwrap_or_else(|| SqlType::new(vaquita_types::Kind::Null)))
    }
}

impl ResultSink for OneValue {
    fn columns(&mut self, columns: &Arc<[ColumnMeta]>) -> SqlResult<()> {
        self.ty = columns.first().map(|c| c.ty.clone());
        Ok(())
    }

    fn row(&mut self, values: &[Value<'_>]) -> SqlResult<()> {
        // Of an ENUM that was calculated the text counts.
        let text = |v| if let Value::Label { text, .. } = v { Value::Bytes(text) } else { v };
        self.value = values.first().map(|v| memory::into_owned(text(v.borrowed()))).transpose()?;
        Ok(())
    }

    fn end(&mut self, _: Completion) -> SqlResult<()> {
        Ok(())
    }
}

impl Connection {
    /// Value of an expression outside of queries. Only one with subqueries is a statement of the engine.
    pub(super) fn evaluate(
        &mut self,
        expr: &ast::Expr<'_>,
        sql: &[u8],
        params: &[Value<'_>],
    ) -> SqlResult<(Value<'static>, SqlType)> {
        let types = self.param_types(params);
        let db: &crate::Database = &self.db;
        let scope = OutsideQueries::default();
        let mut cx = CompileCx { param_types: &types, ..CompileCx::new(Some(db), &mut self.state) };
        let compiled = match compile(expr, &scope, &mut cx) {
            Err(_) if scope.has_subquery() => None,
            // Stored functions run statements.
            compiled => Some(compiled?).filter(|e| !e.info().has_subquery),
        };
        let Some(compiled) = compiled else {
            self.xa.check_statement()?;
            return self.in_statement(|connection| connection.evaluate_as_query(expr, sql, params, &types));
        };
        if self.state.interrupt.is_set() {
            return Err(SqlError::new(1317, "Query execution was interrupted"));
        }
        let mut cx = EvalCx { db: Some(db), state: &mut self.state, engine: Some(&mut self.engine) };
        let value = memory::into_owned(compiled.eval_to_store(&mut cx, &Row::constant(params))?)?;
        let ty = compiled.ty().clone();
        let ty = match &value {
            Value::Decimal(v) => vaquita_expr::variables::digits_of(v, ty),
            _ => ty,
        };
        Ok((value, ty))
    }

    /// Value of an expression with subqueries: that of `SELECT expression`, with its privileges and locks.
    fn evaluate_as_query(
        &mut self,
        expr: &ast::Expr<'_>,
        sql: &[u8],
        params: &[Value<'_>],
        types: &[SqlType],
    ) -> SqlResult<(Value<'static>, SqlType)> {
        let items = [ast::SelectItem::Expr { expr: *expr, alias: None, span: ast::Span::default() }];
        let select = ast::Select::of_items(&items);
        let query = ast::Query::of_select(&select);
        let plan = self.plan(&ast::Stmt::Query(&query), sql, params, types)?;
        let mut row = OneValue::default();
        self.run_started(&plan.plan, params, &mut row)?;
        Ok(row.into_value())
    }

    /// DO.
    pub(super) fn do_exprs(
        &mut self,
        exprs: &[ast::Expr<'_>],
        sql: &[u8],
        params: &[Value<'_>],
    ) -> SqlResult<Outcome> {
        self.xa.check_statement()?;
        for expr in exprs {
            self.evaluate(expr, sql, params)?;
        }
        Ok(Outcome::default())
    }

    /// SET: all values are calculated before anything changes, so `SET @a = 1, @b = @a` gives `@b` what `@a` was.
    pub(super) fn set(
        &mut self,
        items: &[SetItem<'_>],
        sql: &[u8],
        params: &[Value<'_>],
    ) -> SqlResult<Outcome> {
        let mut checked = Vec::with_capacity(items.len());
        for item in items {
            match item {
                SetItem::SystemVar(var, expr) => {
                    checked.push(self.check_assignment(var, expr, sql, params)?);
                }
                SetItem::UserVar(name, expr) => {
                    let (value, ty) = self.evaluate(expr, sql, params)?;
                    checked.push(Assignment::User { name: name.name.into(), value, ty });
                }
                SetItem::Names { charset, collation } => {
                    let (charset, collation) = (charset.map(text_of), collation.map(text_of));
                    crate::set::names(charset.as_deref(), collation.as_deref(), &self.db, &mut self.state)?;
                    self.track_charset();
                }
                SetItem::CharacterSet(charset) => {
                    crate::set::character_set(charset.map(text_of).as_deref(), &self.db, &mut self.state)?;
                    self.track_charset();
                }
                SetItem::Password { user, value } => {
                    self.check_locked_accounts()?;
                    self.before_account_change()?;
                    self.refresh_privileges();
                    crate::dcl::set_password(&mut self.cx(), user.as_ref(), value)?;
                }
            }
        }
        for assignment in checked {
            match assignment {
                Assignment::System { var, global, value } => self.assign(var, global, value)?,
                Assignment::NextTransaction { isolation, access } => {
                    self.set_next_transaction(isolation, access)?;
                }
                Assignment::User { name, value, ty } => self.state.user_vars.set(&name, value, ty)?,
            }
        }
        Ok(Outcome::default())
    }

    /// The value that a hint gives a variable.
    pub(super) fn hinted_value(
        &mut self,
        var: &ast::SystemVar<'_>,
        expr: &ast::Expr<'_>,
    ) -> SqlResult<VarValue> {
        match self.check_assignment(var, expr, b"", &[])? {
            Assignment::System { value, .. } => Ok(value),
            _ => Err(SqlError::new(1231, "the variable is no setting of the session")),
        }
    }

    fn check_assignment(
        &mut self,
        var: &ast::SystemVar<'_>,
        expr: &ast::Expr<'_>,
        sql: &[u8],
        params: &[Value<'_>],
    ) -> SqlResult<Assignment> {
        let (id, global) = crate::set::target(var, &self.state)?;
        // A bare word is a value, not a column.
        let word = match &expr.kind {
            ExprKind::Column(column) if column.table.is_none() => {
                Some(Value::owned(column.name.name.to_vec()))
            }
            _ => None,
        };
        let value = match (&expr.kind, word) {
            (ExprKind::Default, _) => None,
            (_, Some(word)) => Some(word),
            _ => Some(self.evaluate(expr, sql, params)?.0),
        };
        let given = value.as_ref().map(Given::Value);
        let value = crate::set::value_for(id, global, given, &self.db, &mut self.state)?;
        // `SET @@tx_isolation = …`, without SESSION, is about the next transaction, as SET TRANSACTION is.
        let is_next = matches!(
            id,
            id::TX_ISOLATION | id::TRANSACTION_ISOLATION | id::TX_READ_ONLY | id::TRANSACTION_READ_ONLY
        ) && var.scope == VarScope::Implicit;
        if is_next {
            let number = value.uint();
            return Ok(match id {
                id::TX_ISOLATION | id::TRANSACTION_ISOLATION => {
                    Assignment::NextTransaction { isolation: Some(number as u8), access: None }
                }
                _ => Assignment::NextTransaction {
                    isolation: None,
                    access: Some(if number == 0 { AccessMode::ReadWrite } else { AccessMode::ReadOnly }),
                },
            });
        }
        if id == id::SQL_LOG_BIN && self.engine.in_transaction() {
            return Err(SqlError::new(1694, "Cannot modify @@session.sql_log_bin inside a transaction"));
        }
        Ok(Assignment::System { var: id, global, value })
    }

    fn assign(&mut self, var: VarId, global: bool, value: VarValue) -> SqlResult<()> {
        let turns_on_autocommit = var == id::AUTOCOMMIT && !global && value.uint() != 0;
        if turns_on_autocommit && !self.state.vars.autocommit {
            self.xa.check_local()?;
            self.implicit_commit()?;
        }
        if !global {
            self.track(var, &value);
        }
        crate::set::assign(var, global, value, &self.db, &mut self.state)?;
        if !global {
            self.forget_characteristic(var);
        }
        self.settings_changed();
        Ok(())
    }

    /// Tells a client that follows a variable of its new value.
    fn track(&mut self, var: VarId, value: &VarValue) {
        let def = var.def();
        self.state_changed = true;
        let VarValue::Text(tracked) = self.state.vars.get(id::SESSION_TRACK_SYSTEM_VARIABLES) else { return };
        if tracked.split(',').any(|name| name.trim() == "*" || name.trim().eq_ignore_ascii_case(def.name)) {
            let change = SessionChange::Variable { name: def.name.to_owned(), value: value.show(def.kind) };
            self.state.changes.push(change);
        }
    }

    fn track_charset(&mut self) {
        for var in [id::CHARACTER_SET_CLIENT, id::CHARACTER_SET_CONNECTION, id::CHARACTER_SET_RESULTS] {
            let value = self.state.vars.get(var).clone();
            self.track(var, &value);
        }
    }

    /// KILL.
    pub(super) fn kill(
        &mut self,
        kill: &ast::Kill<'_>,
        sql: &[u8],
        params: &[Value<'_>],
    ) -> SqlResult<Outcome> {
        let (value, _) = self.evaluate(&kill.id, sql, params)?;
        let mut cx = EvalCx { db: Some(&self.db), state: &mut self.state, engine: None };
        let id = value.to_i64(&mut cx.convert()) as u64;
        let unknown = || SqlError::new(1094, format!("Unknown thread id: {id}"));
        let id = u32::try_from(id).map_err(|_| unknown())?;
        let process = self.db.processes.find(id).ok_or_else(unknown)?;
        self.refresh_privileges();
        let own = process.doing().user == self.state.user;
        if !own && !self.state.privileges.may(Priv::CONNECTION_ADMIN) {
            return Err(SqlError::new(1095, format!("You are not owner of thread {id}")));
        }
        self.db.processes.kill(id, kill.query);
        if id == self.id() {
            return Err(SqlError::new(1317, "Query execution was interrupted"));
        }
        Ok(Outcome::default())
    }

    /// FLUSH.
    pub(super) fn flush(&mut self, flush: &ast::Flush<'_>) -> SqlResult<Outcome> {
        self.refresh_privileges();
        let by_name = flush_privileges(&flush.what);
        if by_name.is_none() || !self.state.privileges.global.has(by_name) {
            self.needs(Priv::RELOAD)?;
        }
        self.xa.check_ddl()?;
        if let FlushWhat::Tables { lock: ast::FlushLock::Read | ast::FlushLock::Export, .. } = &flush.what
            && self.locked.is_active()
        {
            return Err(super::lock_tables::tables_are_locked());
        }
        if let FlushWhat::Tables { tables, lock: ast::FlushLock::None } = &flush.what {
            self.check_locked_flush(tables)?;
        }
        self.implicit_commit()?;
        match &flush.what {
            FlushWhat::Tables { tables, lock } => self.flush_tables(tables, *lock)?,
            FlushWhat::Options(options) => {
                for option in *options {
                    match option {
                        FlushOption::Privileges => crate::dcl::reload(&self.db)?,
                        FlushOption::Status => self.flush_status(),
                        FlushOption::Hosts => self.db.flush_door(DoorFlush::Hosts),
                        FlushOption::Logs => {
                            self.db.logs.reopen()?;
                            self.db.flush_door(DoorFlush::Logs);
                        }
                        FlushOption::UserResources => self.db.accounts().reset_usage(|_, _| true),
                        // Nothing of these is kept here.
                        FlushOption::QueryCache
                        | FlushOption::DesKeyFile
                        | FlushOption::Master
                        | FlushOption::Slave
                        | FlushOption::OptimizerCosts => {}
                    }
                }
            }
        }
        Ok(Outcome::default())
    }

    fn flush_tables(&mut self, tables: &[ast::ObjectName<'_>], lock: ast::FlushLock) -> SqlResult<()> {
        self.db.plans.clear();
        if tables.is_empty() {
            self.db.status.flushed_tables.fetch_add(1, Ordering::Relaxed);
        }
        match lock {
            ast::FlushLock::None => Ok(()),
            ast::FlushLock::Read if tables.is_empty() => {
                vaquita_catalog::error::of_engine(self.engine.lock_globally())
            }
            ast::FlushLock::Export => self.export_tables(tables),
            ast::FlushLock::Read => self.lock_and_write(tables),
        }
    }

    /// SHUTDOWN.
    pub(super) fn shutdown(&mut self) -> SqlResult<Outcome> {
        self.needs(Priv::SHUTDOWN)?;
        self.db.request_shutdown();
        Ok(Outcome::default())
    }

    /// A database is gone: whoever has it as the current one has none.
    pub(super) fn database_dropped(&mut self, name: &str) {
        if self.state.database == name {
            self.state.database.clear();
            self.process.set_database("");
            let server = self.state.vars.collation_server;
            self.state.vars.put(id::COLLATION_DATABASE, VarValue::UInt(server.into()));
            self.state.vars.put(id::CHARACTER_SET_DATABASE, VarValue::UInt(vars::primary(server).into()));
        }
    }
}

/// What will do for a FLUSH instead of RELOAD; none: nothing else.
fn flush_privileges(what: &FlushWhat<'_>) -> Priv {
    let FlushWhat::Options(options) = what else { return Priv::FLUSH_TABLES };
    let mut all = Priv::NONE;
    for option in *options {
        all |= match option {
            FlushOption::Status => Priv::FLUSH_STATUS,
            FlushOption::UserResources => Priv::FLUSH_USER_RESOURCES,
            _ => return Priv::NONE,
        };
    }
    all
}
