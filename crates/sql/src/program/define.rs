//! CREATE, ALTER, DROP of procedures and functions.

use super::{compile, events, find, object_kind, triggers, unknown};
use crate::accounts::seconds_now;
use crate::routine::{kind_name, property};
use crate::statement::StmtCx;
use vaquita_catalog::error;
use vaquita_catalog::object::{ObjectBody, Security};
use vaquita_engine::{Object, Put};
use vaquita_exec::Outcome;
use vaquita_parser::ast::{self, Characteristics, DataAccess, ObjectName, ProgramKind, Stmt};
use vaquita_session::privilege::Priv;
use vaquita_types::{Level, SqlError, SqlResult};

/// Most characters of a name.
pub(super) const NAME_MAX: usize = 64;

/// Executes a definition of a stored program. What was open is committed; `timing`: the schedule of an event, if one is said.
///
/// # Errors
/// Of the statement.
pub(crate) fn execute(
    cx: &mut StmtCx<'_>,
    stmt: &Stmt<'_>,
    sql: &[u8],
    timing: Option<&events::Timing>,
) -> SqlResult<Outcome> {
    match stmt {
        Stmt::CreateProgram(program) => match program.kind {
            ProgramKind::Procedure | ProgramKind::Function => create(cx, program, sql),
            ProgramKind::Trigger => triggers::create(cx, program, sql),
            ProgramKind::Event => events::create(cx, program, sql, timing),
        },
        Stmt::AlterProgram(alter) => self::alter(cx, alter),
        Stmt::AlterEvent(alter) => events::alter(cx, alter, sql, timing),
        Stmt::DropProgram(drop) => self::drop(cx, drop),
        _ => Err(SqlError::unsupported("this definition")),
    }
}

/// Database and name, with the database's name in files.
pub(super) fn names(cx: &StmtCx<'_>, name: &ObjectName<'_>) -> SqlResult<(String, String, String)> {
    let database = match name.schema {
        Some(schema) => schema.to_string(),
        None if cx.state.database.is_empty() => return Err(SqlError::new(1046, "No database selected")),
        None => cx.state.database.clone(),
    };
    let unknown = || SqlError::new(1049, format!("Unknown database '{database}'"));
    let file_name = vaquita_catalog::file_name(&database).map_err(|_| unknown())?;
    Ok((database.clone(), file_name, name.name.to_string()))
}

fn create(cx: &mut StmtCx<'_>, program: &ast::CreateProgram<'_>, sql: &[u8]) -> SqlResult<Outcome> {
    let (database, file_name, name) = names(cx, &program.name)?;
    if vaquita_catalog::is_virtual_database(&database) {
        let (user, host) = (&cx.state.account_user, &cx.state.account_host);
        return Err(SqlError::database_denied(user, host, &database));
    }
    if name.chars().count() > NAME_MAX {
        return Err(SqlError::new(1059, format!("Identifier name '{name}' is too long")));
    }
    if name.is_empty() || name.ends_with(' ') {
        return Err(SqlError::new(1371, format!("Incorrect routine name '{name}'")));
    }
    let of_database = vaquita_catalog::database_options(cx.db.engine.core(), &file_name)?;
    let Some(options) = of_database else {
        return Err(SqlError::new(1049, format!("Unknown database '{database}'")));
    };
    let collation = options.unwrap_or(cx.state.vars.collation_server);
    let definer = definer(cx, program.definer.as_ref())?;
    compile::compile(program, sql, collation, None, cx.state)?;
    if let Some(returns) = &program.returns {
        compile::column_type(returns, "", collation, cx.state)?;
    }
    let text = |span: ast::Span| cx.state.vars.client_text(span.of(sql)).into_owned();
    let now = seconds_now() as u64;
    let mut body = ObjectBody {
        definer,
        sql_mode: cx.state.vars.sql_mode.0,
        client_collation: cx.state.vars.character_set_client,
        connection_collation: cx.state.vars.collation_connection,
        database_collation: collation,
        created: now,
        modified: now,
        ..ObjectBody::default()
    };
    body.set_text(program.body.of(sql), text(program.body));
    body.set(property::PARAMS, text(program.params_text));
    if let Some(returns) = &program.returns {
        let column = compile::column_type(returns, "", collation, cx.state)?;
        body.set(property::RETURNS, super::declared(&column.ty));
    }
    body.set(property::DETERMINISTIC, "NO");
    body.set(property::ACCESS, access_name(DataAccess::Contains));
    characterize(&mut body, &program.characteristics, cx);
    let object = Object::new(object_kind(program.kind), file_name, name.clone(), body.encode());
    match cx.engine.put_object(&object, Put::New) {
        Err(vaquita_engine::Error::ObjectExists(_)) => {
            Err(SqlError::new(1304, format!("{} {name} already exists", kind_name(program.kind))))
        }
        done => {
            error::of_engine(done)?;
            crate::dcl::routines::made(cx, &database, &name, program.kind == ProgramKind::Function)?;
            Ok(Outcome::default())
        }
    }
}

fn access_name(access: DataAccess) -> &'static str {
    match access {
        DataAccess::Contains => "CONTAINS SQL",
        DataAccess::No => "NO SQL",
        DataAccess::Reads => "READS SQL DATA",
        DataAccess::Modifies => "MODIFIES SQL DATA",
    }
}

fn characterize(body: &mut ObjectBody, said: &Characteristics<'_>, cx: &StmtCx<'_>) {
    if let Some(deterministic) = said.deterministic {
        body.set(property::DETERMINISTIC, if deterministic { "YES" } else { "NO" });
    }
    if let Some(access) = said.access {
        body.set(property::ACCESS, access_name(access));
    }
    if let Some(invoker) = said.invoker {
        body.security = if invoker { Security::Invoker } else { Security::Definer };
    }
    if let Some(comment) = said.comment {
        body.comment = cx.state.vars.client_text(comment).into_owned();
    }
}

/// Who a program belongs to: another than the session's account only with SUPER.
pub(super) fn definer(cx: &mut StmtCx<'_>, said: Option<&ast::UserName<'_>>) -> SqlResult<(String, String)> {
    said.map_or(Ok(()), crate::accounts::name::check_length)?;
    let own = (cx.state.account_user.clone(), cx.state.account_host.clone());
    let Some(said) = said.filter(|said| !said.current) else { return Ok(own) };
    let text = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
    let said = (text(said.user), said.host.map_or_else(|| "%".to_owned(), text));
    if said == own {
        return Ok(own);
    }
    cx.state.check_super_or(Priv::SET_USER_ID)?;
    if !cx.db.accounts().has_account(&said.0, &said.1) {
        let message = format!("The user specified as a definer ('{}'@'{}') does not exist", said.0, said.1);
        cx.state.warnings.push(Level::Note, 1449, message);
    }
    Ok(said)
}

/// Whether the session may alter or drop a procedure or function.
///
/// # Errors
/// 1370.
fn may_alter(cx: &mut StmtCx<'_>, kind: ProgramKind, database: &str, name: &str) -> SqlResult<()> {
    if !matches!(kind, ProgramKind::Procedure | ProgramKind::Function) {
        return Ok(());
    }
    // One that cannot be read any more can be dropped by whoever may drop all of its database.
    let privileges = &cx.state.privileges;
    if (privileges.global | privileges.in_database(database)).has(Priv::ALTER_ROUTINE) {
        return Ok(());
    }
    // Whether there is one is nobody's business who may not.
    let found = find(cx.db, cx.state, kind, database, name)?;
    if found.as_ref().is_some_and(|r| cx.db.routine_access(cx.state, r).has(Priv::ALTER_ROUTINE)) {
        return Ok(());
    }
    let (user, host) = (&cx.state.account_user, &cx.state.host);
    let name = found.as_ref().map_or(name, |routine| &routine.name);
    let message =
        format!("alter routine command denied to user '{user}'@'{host}' for routine '{database}.{name}'");
    Err(SqlError::new(1370, message))
}

fn alter(cx: &mut StmtCx<'_>, alter: &ast::AlterProgram<'_>) -> SqlResult<Outcome> {
    let (database, file_name, name) = names(cx, &alter.name)?;
    let kind = if alter.function { ProgramKind::Function } else { ProgramKind::Procedure };
    may_alter(cx, kind, &database, &name)?;
    let objects = cx.db.engine.core().objects();
    let Some(object) = objects.get(object_kind(kind), &file_name, &name) else {
        return Err(unknown(kind, &format!("{database}.{name}")));
    };
    let mut body = ObjectBody::of(object)?;
    characterize(&mut body, &alter.characteristics, cx);
    body.modified = seconds_now() as u64;
    let object = Object::new(object.kind, file_name, object.name.clone(), body.encode());
    error::of_engine(cx.engine.put_object(&object, Put::Existing))?;
    Ok(Outcome::default())
}

fn drop(cx: &mut StmtCx<'_>, drop: &ast::DropProgram<'_>) -> SqlResult<Outcome> {
    match drop.kind {
        ProgramKind::Trigger => return triggers::drop(cx, drop),
        ProgramKind::Event => return events::drop(cx, drop),
        ProgramKind::Procedure | ProgramKind::Function => {}
    }
    let (database, file_name, name) = names(cx, &drop.name)?;
    may_alter(cx, drop.kind, &database, &name)?;
    let kind = object_kind(drop.kind);
    if error::of_engine(cx.engine.drop_object(kind, &file_name, &name))? {
        crate::dcl::routines::dropped(cx, &database, &name, drop.kind == ProgramKind::Function)?;
        return Ok(Outcome::default());
    }
    let missing = unknown(drop.kind, &format!("{database}.{name}"));
    if !drop.if_exists {
        return Err(missing);
    }
    cx.state.warnings.push(Level::Note, missing.code, missing.message);
    Ok(Outcome::default())
}
