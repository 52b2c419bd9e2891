//! CALL: parameters, and what a program runs with.

use super::{Frame, Next, OutParameter};
use crate::connection::Connection;
use crate::connection::text::syntax_error;
use crate::program::{find, unknown};
use crate::routine::Routine;
use bumpalo::Bump;
use std::sync::Arc;
use vaquita_catalog::object::Security;
use vaquita_exec::Outcome;
use vaquita_parser::ast::{self, ExprKind, ParamMode, ProgramKind, Stmt};
use vaquita_session::SessionState;
use vaquita_session::privilege::{Priv, Privileges};
use vaquita_session::sink::ResultSink;
use vaquita_session::status::Com;
use vaquita_session::vars::{self, VarValue, id};
use vaquita_types::{Kind, SqlError, SqlResult, SqlType, Value};

/// Calls on the thread's stack, one in the other: functions, and procedures that prepared statements call.
const DEPTH_MAX: u32 = 24;

/// Where the value of a parameter goes when the program has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Given {
    Nowhere,
    User(Box<[u8]>),
    Local(u32),
    /// A `?` of a prepared statement, by its number.
    Prepared(usize),
}

/// What a program runs with in place of what its caller has.
#[derive(Debug)]
pub(super) struct Before {
    database: Option<String>,
    sql_mode: u64,
    client: u16,
    collation: u16,
    account: Option<Account>,
}

#[derive(Debug)]
struct Account {
    privileges: Arc<Privileges>,
    roles: Vec<(String, String)>,
    user: String,
    host: String,
    everything: bool,
}

/// Whether one more call may go on the thread's stack.
///
/// # Errors
/// 1436.
pub(super) fn check_depth(depth: u32) -> SqlResult<()> {
    match depth < DEPTH_MAX {
        true => Ok(()),
        false => Err(SqlError::new(
            1436,
            "Thread stack overrun: stored programs call each other too deeply on the thread's stack",
        )),
    }
}

/// Error 1370.
fn denied(state: &SessionState, database: &str, name: &str) -> SqlError {
    let (user, host) = (&state.account_user, &state.host);
    let message = format!("execute command denied to user '{user}'@'{host}' for routine '{database}.{name}'");
    SqlError::new(1370, message)
}

/// What who calls a routine that is not there is told: 1305, or 1370 where it may not call what is.
pub(super) fn unknown_to(state: &SessionState, kind: ProgramKind, database: &str, name: &str) -> SqlError {
    let privileges = &state.privileges;
    let may =
        state.program.everything || (privileges.global | privileges.in_database(database)).has(Priv::EXECUTE);
    if may { unknown(kind, &format!("{database}.{name}")) } else { denied(state, database, name) }
}

/// A procedure, what gets the values of its parameters, and the values they have at first.
type Entering = (Arc<Routine>, Vec<Given>, Vec<Value<'static>>);

impl Connection {
    /// CALL, as a statement of a client.
    pub(in crate::connection) fn call(
        &mut self,
        call: &ast::CallProcedure<'_>,
        sql: &[u8],
        params: &[Value<'_>],
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Outcome> {
        let target_of = |expr: &ast::Expr<'_>| match &expr.kind {
            ExprKind::UserVar(name) => Given::User(name.name.into()),
            ExprKind::Param(number) => Given::Prepared(*number as usize),
            _ => Given::Nowhere,
        };
        let (routine, given, values) =
            self.arguments(call, target_of, |c, expr| c.evaluate(expr, sql, params))?;
        check_depth(self.state.program.depth)?;
        self.state.program.depth += 1;
        let done = self.enter(routine, given, values).and_then(|frame| {
            let ended = self.run_frame(frame, sink)?;
            self.give_back(&ended, None)
        });
        self.state.program.depth -= 1;
        done?;
        let affected_rows = u64::try_from(self.state.row_count).unwrap_or(0);
        self.kind = Com::Call;
        Ok(Outcome { affected_rows, ..Outcome::default() })
    }

    /// CALL in a program.
    pub(super) fn call_part(&mut self, frame: &Frame, fragment: usize) -> SqlResult<Next> {
        let code = frame.routine.clone();
        let fragment = &code.code.fragments[fragment];
        self.state.warnings.begin_statement();
        let arena = Bump::new();
        let mode = self.parse_mode(false);
        let parsed = vaquita_parser::parse_with(&fragment.text, &arena, mode, &fragment.locals)
            .map_err(|e| syntax_error(&e))?;
        let Stmt::Call(call) = &parsed.stmt else {
            return Err(SqlError::new(1105, "a call of a stored program that is none"));
        };
        let outer = self.program.types.replace(frame.types.clone());
        let target_of = |expr: &ast::Expr<'_>| match &expr.kind {
            ExprKind::Local(place) => {
                let of_row = code.code.vars[*place as usize].of_row.as_ref();
                match of_row.is_none_or(|of_row| of_row.writable) {
                    true => Given::Local(*place),
                    false => Given::Nowhere,
                }
            }
            ExprKind::UserVar(name) => Given::User(name.name.into()),
            _ => Given::Nowhere,
        };
        let found = self.arguments(call, target_of, |c, expr| match &expr.kind {
            ExprKind::Local(place) => {
                let at = *place as usize;
                Ok((frame.locals[at].clone(), frame.types[at].clone()))
            }
            _ => c.evaluate(expr, &fragment.text, &frame.locals),
        });
        self.program.types = outer;
        let (routine, given, values) = found?;
        self.enter(routine, given, values).map(|frame| Next::Call(Box::new(frame)))
    }

    /// The procedure that is called, and its arguments: `target_of` tells what gets the value of a parameter. What functions in them
    /// have changed is taken back if one of them fails.
    fn arguments(
        &mut self,
        call: &ast::CallProcedure<'_>,
        target_of: impl Fn(&ast::Expr<'_>) -> Given,
        value: impl FnMut(&mut Connection, &ast::Expr<'_>) -> SqlResult<(Value<'static>, SqlType)>,
    ) -> SqlResult<Entering> {
        let is_plain = |arg: &ast::Expr<'_>| {
            let kind = &arg.kind;
            matches!(
                kind,
                ExprKind::Literal(_) | ExprKind::Local(_) | ExprKind::UserVar(_) | ExprKind::Param(_)
            )
        };
        match call.args.iter().all(is_plain) {
            true => self.find_arguments(call, target_of, value),
            false => self.as_one_statement(|connection| connection.find_arguments(call, target_of, value)),
        }
    }

    fn find_arguments(
        &mut self,
        call: &ast::CallProcedure<'_>,
        target_of: impl Fn(&ast::Expr<'_>) -> Given,
        mut value: impl FnMut(&mut Connection, &ast::Expr<'_>) -> SqlResult<(Value<'static>, SqlType)>,
    ) -> SqlResult<Entering> {
        let database = match call.name.schema {
            Some(schema) => schema.to_string(),
            None if self.state.database.is_empty() => {
                return Err(SqlError::new(1046, "No database selected"));
            }
            None => self.state.database.clone(),
        };
        let name = call.name.name.to_string();
        let db = self.db.clone();
        let found = find(&db, &mut self.state, ProgramKind::Procedure, &database, &name)?;
        let Some(routine) = found else {
            self.refresh_privileges();
            return Err(unknown_to(&self.state, ProgramKind::Procedure, &database, &name));
        };
        self.may_execute(&routine)?;
        if call.args.len() != routine.params.len() {
            let message = format!(
                "Incorrect number of arguments for PROCEDURE {database}.{name}; expected {}, got {}",
                routine.params.len(),
                call.args.len()
            );
            return Err(SqlError::new(1318, message));
        }
        self.check_recursion(&routine)?;
        let (mut given, mut values) = (Vec::new(), Vec::new());
        for (at, (arg, param)) in call.args.iter().zip(&routine.params).enumerate() {
            let target = if param.mode == ParamMode::In { Given::Nowhere } else { target_of(arg) };
            if param.mode != ParamMode::In && target == Given::Nowhere {
                // Before it is evaluated, but behind the arguments before it.
                let message = format!(
                    "OUT or INOUT argument {} for routine {database}.{name} is not a variable or NEW pseudo-variable \
                     in BEFORE trigger",
                    at + 1
                );
                return Err(SqlError::new(1414, message));
            }
            given.push(target);
            let strict = self.state.vars.sql_mode.is_strict() && param.mode != ParamMode::Out;
            let before = self.state.warnings.refuse(strict);
            let found = value(self, arg);
            let (found, from) = self.state.warnings.end_refusing(before, found)?;
            let found = if param.mode == ParamMode::Out { Value::Null } else { found };
            values.push(self.stored(&param.ty, &param.name, found, &from)?);
        }
        Ok((routine, given, values))
    }

    /// Whether the session may execute a routine.
    pub(super) fn may_execute(&mut self, routine: &Routine) -> SqlResult<()> {
        self.refresh_privileges();
        if self.db.routine_access(&self.state, routine).has(Priv::EXECUTE) {
            return Ok(());
        }
        Err(denied(&self.state, &routine.database, &routine.name))
    }

    /// Enters a program: its parameters have their values, the session is as it was when it was made.
    pub(super) fn enter(
        &mut self,
        routine: Arc<Routine>,
        given: Vec<Given>,
        mut locals: Vec<Value<'static>>,
    ) -> SqlResult<Frame> {
        self.check_recursion(&routine)?;
        let code = &routine.code;
        locals.resize(code.vars.len(), Value::Null);
        let account = self.definer_of(&routine)?;
        let body = &routine.body;
        let before = Before {
            database: self.enter_database(&routine.database),
            sql_mode: self.state.vars.sql_mode.0,
            client: self.state.vars.character_set_client,
            collation: self.state.vars.collation_connection,
            account,
        };
        self.put_mode(body.sql_mode);
        self.put_charsets(body.client_collation, body.connection_collation);
        let key = (routine.kind, routine.database.clone(), routine.name.clone());
        self.state.program.running.push(key);
        let within = self.state.warnings.for_program();
        let outside = std::mem::replace(&mut self.state.warnings, within);
        let (types, cursors) = (code.types.clone(), (0..code.cursors.len()).map(|_| None).collect());
        Ok(Frame {
            locals,
            types,
            cursors,
            given,
            before,
            at: 0,
            handlers: Vec::new(),
            activations: Vec::new(),
            returned: None,
            assigned: Vec::new(),
            outside,
            fails: false,
            routine,
        })
    }

    fn check_recursion(&mut self, routine: &Routine) -> SqlResult<()> {
        let same = |(kind, database, name): &&(ProgramKind, Arc<str>, Arc<str>)| {
            *kind == routine.kind && *database == routine.database && name.eq_ignore_ascii_case(&routine.name)
        };
        let times = self.state.program.running.iter().filter(same).count() as u64;
        if times == 0 {
            return Ok(());
        }
        if matches!(routine.kind, ProgramKind::Function | ProgramKind::Trigger) {
            return Err(SqlError::new(1424, "Recursive stored functions and triggers are not allowed."));
        }
        let limit = self.state.vars.get(id::MAX_SP_RECURSION_DEPTH).uint();
        if times <= limit {
            return Ok(());
        }
        let message = format!(
            "Recursive limit {limit} (as set by the max_sp_recursion_depth variable) was exceeded for routine {}",
            routine.name
        );
        let e = SqlError::new(1456, message);
        // Who asks for more than the error is told that it is not there, too.
        self.note_error_once(&e);
        self.note_error_once(&unknown(routine.kind, &format!("{}.{}", routine.database, routine.name)));
        Err(e)
    }

    /// Ends a program, however it ends.
    pub(super) fn leave(&mut self, frame: &mut Frame) {
        for cursor in 0..frame.cursors.len() {
            self.close_cursor(frame, cursor);
        }
        if let Some(first) = frame.activations.first() {
            self.program.caught.truncate(first.caught);
        }
        self.state.program.running.pop();
        let outside = std::mem::take(&mut frame.outside);
        let within = std::mem::replace(&mut self.state.warnings, outside);
        match frame.routine.kind {
            ProgramKind::Trigger if !frame.fails => self.state.warnings.after_trigger(&within),
            _ => self.state.warnings.after_program(within),
        }
        self.put_mode(frame.before.sql_mode);
        self.put_charsets(frame.before.client, frame.before.collation);
        if let Some(database) = frame.before.database.take() {
            self.enter_database(&database);
        }
        if let Some(account) = frame.before.account.take() {
            self.state.privileges = account.privileges;
            self.state.roles = account.roles;
            self.state.account_user = account.user;
            self.state.account_host = account.host;
            self.has_everything = account.everything;
            self.state.program.everything = account.everything;
        }
    }

    /// Gives parameters to the caller: another program, or the client.
    pub(super) fn give_back(&mut self, ended: &Frame, mut caller: Option<&mut Frame>) -> SqlResult<()> {
        for (at, given) in ended.given.iter().enumerate() {
            let (value, ty) = (ended.locals[at].clone(), &ended.types[at]);
            match (given, &mut caller) {
                (Given::Nowhere, _) | (Given::Local(_), None) => {}
                (Given::Local(place), Some(caller)) => self.set_local(caller, *place, value, ty)?,
                (Given::User(name), _) => self.set_user_var(name, value, ty)?,
                (Given::Prepared(number), _) => {
                    let name = ended.routine.params[at].name.clone();
                    let routine = (ended.routine.database.clone(), ended.routine.name.clone());
                    let (number, ty) = (*number, ty.clone());
                    self.program.given.push(OutParameter { routine, number, name, value, ty });
                }
            }
        }
        Ok(())
    }

    /// A user variable gets the value of a local one.
    pub(in crate::connection) fn set_user_var(
        &mut self,
        name: &[u8],
        value: Value<'static>,
        ty: &SqlType,
    ) -> SqlResult<()> {
        let (value, ty) = match (ty.kind, value) {
            (kind, value) if kind.is_integer() || kind == Kind::Year => (value, SqlType::bigint(ty.unsigned)),
            (Kind::Float | Kind::Double, Value::Float(v)) => (Value::Double(v.into()), SqlType::double()),
            (Kind::Float | Kind::Double, value) => (value, SqlType::double()),
            (Kind::Decimal, value) => (value, SqlType { nullable: true, zerofill: false, ..ty.clone() }),
            (kind, Value::Null) => {
                let collation =
                    if kind.is_string() { ty.collation } else { self.state.vars.collation_connection };
                (Value::Null, SqlType::varchar(16_777_215, collation))
            }
            (kind, value) => {
                let collation =
                    if kind.is_string() { ty.collation } else { self.state.vars.collation_connection };
                let text = value.to_text(ty).into_owned();
                (Value::owned(text), SqlType::varchar(16_777_215, collation))
            }
        };
        self.state.user_vars.set(name, value, ty)
    }

    /// The current database becomes another one; what it was, unless it is the same.
    fn enter_database(&mut self, database: &str) -> Option<String> {
        if self.state.database == database {
            return None;
        }
        let before = std::mem::replace(&mut self.state.database, database.to_owned());
        let collation = match database.is_empty() {
            true => self.state.vars.collation_server,
            false => self.database_collation(database).unwrap_or(self.state.vars.collation_server),
        };
        self.state.vars.put(id::COLLATION_DATABASE, VarValue::UInt(collation.into()));
        let charset = vars::primary(collation);
        self.state.vars.put(id::CHARACTER_SET_DATABASE, VarValue::UInt(charset.into()));
        Some(before)
    }

    fn put_mode(&mut self, mode: u64) {
        if self.state.vars.sql_mode.0 != mode {
            self.state.vars.put(id::SQL_MODE, VarValue::UInt(mode));
        }
    }

    /// `character_set_client`, of which the text is, and `collation_connection`, in which its literals are.
    fn put_charsets(&mut self, client: u16, collation: u16) {
        if self.state.vars.character_set_client != client {
            self.state.vars.put(id::CHARACTER_SET_CLIENT, VarValue::UInt(client.into()));
        }
        if self.state.vars.collation_connection != collation {
            let charset = VarValue::UInt(vars::primary(collation).into());
            self.state.vars.put(id::CHARACTER_SET_CONNECTION, charset);
            self.state.vars.put(id::COLLATION_CONNECTION, VarValue::UInt(collation.into()));
        }
    }

    /// Lets the session do what the definer may; what it was before.
    fn definer_of(&mut self, routine: &Routine) -> SqlResult<Option<Account>> {
        let (user, host) = &routine.body.definer;
        let same = *user == self.state.account_user && *host == self.state.account_host;
        if routine.body.security == Security::Invoker || same || self.db.accounts().are_skipped() {
            return Ok(None);
        }
        if !self.db.accounts().has_account(user, host) {
            let message = format!("The user specified as a definer ('{user}'@'{host}') does not exist");
            return Err(SqlError::new(1449, message));
        }
        let roles = self.db.accounts().first_roles(user, host);
        let privileges = self.db.accounts().privileges(user, host, self.login_at, &roles);
        let state = &mut self.state;
        let account = Account {
            privileges: std::mem::replace(&mut state.privileges, privileges),
            roles: std::mem::replace(&mut state.roles, roles),
            user: std::mem::replace(&mut state.account_user, user.clone()),
            host: std::mem::replace(&mut state.account_host, host.clone()),
            everything: std::mem::replace(&mut self.has_everything, false),
        };
        state.program.everything = false;
        Ok(Some(account))
    }
}
