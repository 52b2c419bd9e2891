//! SET, DO, KILL, FLUSH, SHUTDOWN.

use super::{Connection, text_of};
use crate::accounts::Priv;
use crate::database::DoorFlush;
use crate::expr::scope::NoTables;
use crate::expr::{CompileCx, EvalCx, Row, compile};
use crate::sink::SessionChange;
use crate::statement::Outcome;
use crate::vars::{self, Given, VarId, VarValue, id};
use vaquita_engine::AccessMode;
use vaquita_parser::ast::{self, ExprKind, FlushOption, FlushWhat, SetItem, VarScope};
use vaquita_types::{SqlError, SqlResult, SqlType, Value};

/// An assignment of SET that was checked, to be done when all are.
enum Assignment {
    System {
        var: VarId,
        global: bool,
        value: VarValue,
    },
    /// The next transaction's isolation level or access mode.
    NextTransaction {
        isolation: Option<u8>,
        access: Option<AccessMode>,
    },
}

impl Connection {
    /// Value of an expression without tables.
    pub(super) fn evaluate(&mut self, expr: &ast::Expr<'_>) -> SqlResult<(Value<'static>, SqlType)> {
        let db: &crate::Database = &self.db;
        let scope = NoTables { clause: "field list" };
        let compiled = compile(expr, &scope, &mut CompileCx::new(Some(db), &mut self.state))?;
        let mut cx = EvalCx { db: Some(db), state: &mut self.state, engine: Some(&mut self.engine) };
        let value = compiled.eval(&mut cx, &Row::constant(&[]))?.into_owned();
        Ok((value, compiled.ty().clone()))
    }

    /// DO.
    pub(super) fn do_exprs(&mut self, exprs: &[ast::Expr<'_>], _sql: &[u8]) -> SqlResult<Outcome> {
        self.xa.check_statement()?;
        self.without_transaction(|connection| {
            for expr in exprs {
                connection.evaluate(expr)?;
            }
            Ok(Outcome::default())
        })
    }

    /// SET: system variables change only if all assignments can be done; user variables change one by one.
    pub(super) fn set(&mut self, items: &[SetItem<'_>], _sql: &[u8]) -> SqlResult<Outcome> {
        let mut checked = Vec::with_capacity(items.len());
        for item in items {
            match item {
                SetItem::SystemVar(var, expr) => checked.push(self.check_assignment(var, expr)?),
                SetItem::UserVar(name, expr) => {
                    let (value, ty) = self.without_transaction(|c| c.evaluate(expr))?;
                    self.state.user_vars.set(name.name, value, ty);
                }
                SetItem::Names { charset, collation } => {
                    let (charset, collation) = (charset.map(text_of), collation.map(text_of));
                    vars::names(charset.as_deref(), collation.as_deref(), &self.db, &mut self.state)?;
                    self.track_charset();
                }
                SetItem::CharacterSet(charset) => {
                    vars::character_set(charset.map(text_of).as_deref(), &self.db, &mut self.state)?;
                    self.track_charset();
                }
                SetItem::Password { user, value } => self.set_password(user.as_ref(), value)?,
            }
        }
        for assignment in checked {
            match assignment {
                Assignment::System { var, global, value } => self.assign(var, global, value)?,
                Assignment::NextTransaction { isolation, access } => {
                    self.set_next_transaction(isolation, access)?;
                }
            }
        }
        Ok(Outcome::default())
    }

    fn check_assignment(&mut self, var: &ast::SystemVar<'_>, expr: &ast::Expr<'_>) -> SqlResult<Assignment> {
        let (id, global) = vars::target(var, &self.state)?;
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
            _ => Some(self.without_transaction(|c| c.evaluate(expr))?.0),
        };
        let given = value.as_ref().map(Given::Value);
        let value = vars::value_for(id, global, given, &self.db, &mut self.state)?;
        // `SET @@tx_isolation = …`, without SESSION, is about the next transaction, as SET TRANSACTION is.
        let is_next = matches!(
            id,
            id::TX_ISOLATION | id::TRANSACTION_ISOLATION | id::TX_READ_ONLY | id::TRANSACTION_READ_ONLY
        ) && var.scope == VarScope::Implicit
            && var_is_at_at(var);
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
        vars::assign(var, global, value, &self.db, &mut self.state);
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
    pub(super) fn kill(&mut self, kill: &ast::Kill<'_>, _sql: &[u8]) -> SqlResult<Outcome> {
        let (value, _) = self.without_transaction(|c| c.evaluate(&kill.id))?;
        let id = match value {
            Value::Int(n) => u64::try_from(n).unwrap_or(u64::MAX),
            Value::UInt(n) => n,
            _ => 0,
        };
        let unknown = || SqlError::new(1094, format!("Unknown thread id: {id}"));
        let id = u32::try_from(id).map_err(|_| unknown())?;
        let process = self.db.processes.find(id).ok_or_else(unknown)?;
        self.refresh_privileges();
        let own = process.doing().user == self.state.user;
        if !own && !self.state.privileges.global.has(Priv::SUPER) {
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
        self.needs(Priv::RELOAD)?;
        self.xa.check_ddl()?;
        if let FlushWhat::Tables { lock: ast::FlushLock::Read | ast::FlushLock::Export, .. } = &flush.what
            && self.locked.is_active()
        {
            return Err(SqlError::new(
                1192,
                "Can't execute the given command because you have active locked tables or an active transaction",
            ));
        }
        self.implicit_commit()?;
        match &flush.what {
            FlushWhat::Tables { tables, lock } => self.flush_tables(tables, *lock)?,
            FlushWhat::Options(options) => {
                for option in *options {
                    match option {
                        FlushOption::Privileges => self.db.accounts().reload(&self.db)?,
                        FlushOption::Status => *self.db.status.ended.lock() = Default::default(),
                        FlushOption::Hosts => self.db.flush_door(DoorFlush::Hosts),
                        FlushOption::Logs => self.db.flush_door(DoorFlush::Logs),
                        // Nothing of these is kept here.
                        FlushOption::QueryCache
                        | FlushOption::DesKeyFile
                        | FlushOption::UserResources
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
        match lock {
            ast::FlushLock::None => Ok(()),
            ast::FlushLock::Read if tables.is_empty() => crate::error::of_engine(self.engine.lock_globally()),
            ast::FlushLock::Read | ast::FlushLock::Export => {
                let locks: Vec<ast::TableLock<'_>> = tables
                    .iter()
                    .map(|name| ast::TableLock { name: *name, alias: None, kind: ast::TableLockKind::Read })
                    .collect();
                self.lock_tables(&locks).map(|_| ())
            }
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

/// Whether an assignment was written with `@@`; the syntax tree does not say, and MySQL treats a bare name as SESSION.
fn var_is_at_at(_var: &ast::SystemVar<'_>) -> bool {
    false
}
