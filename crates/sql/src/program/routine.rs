//! A procedure or function as it is found by its name, a trigger of a table: what the dictionary has, and its compiled form.

use super::{compile, object_kind};
use crate::database::Database;
use crate::routine::code::Code;
use crate::routine::{Fired, Param, Routine, kind_name, property};
use bumpalo::Bump;
use std::sync::Arc;
use vaquita_catalog::TableInfo;
use vaquita_catalog::object::{ObjectBody, Security};
use vaquita_engine::Object;
use vaquita_parser::ast;
use vaquita_parser::ast::{ProgramKind, Stmt};
use vaquita_session::privilege::{Priv, Wanted};
use vaquita_session::{SessionState, vars};
use vaquita_types::{ColumnType, SqlError, SqlMode, SqlResult};

/// A routine by its name.
///
/// # Errors
/// It cannot be read.
pub(crate) fn find(
    db: &Database,
    state: &mut SessionState,
    kind: ProgramKind,
    database: &str,
    name: &str,
) -> SqlResult<Option<Arc<Routine>>> {
    let Ok(file_name) = vaquita_catalog::file_name(database) else { return Ok(None) };
    let objects = db.engine.core().objects();
    let Some(object) = objects.get(object_kind(kind), &file_name, name) else { return Ok(None) };
    if let Some(found) = db.routines.get(object.id) {
        return Ok(Some(found));
    }
    let routine = Arc::new(read(object, kind, database, None, state)?);
    db.routines.put(object.id, routine.clone());
    Ok(Some(routine))
}

/// The statement that makes a routine, as SHOW CREATE has it.
pub(crate) fn create_text(
    kind: ProgramKind,
    name: &str,
    body: &ObjectBody,
    quote: impl Fn(&str) -> String,
) -> String {
    let (user, host) = (quote(&body.definer.0), quote(&body.definer.1));
    let mut out = format!("CREATE DEFINER={user}@{host} {} {}", kind_name(kind), quote(name));
    out.push_str(&format!("({})", body.get(property::PARAMS)));
    if kind == ProgramKind::Function {
        out.push_str(&format!(" RETURNS {}", body.get(property::RETURNS)));
    }
    out.push('\n');
    let access = body.get(property::ACCESS);
    if access != "CONTAINS SQL" {
        out.push_str(&format!("    {access}\n"));
    }
    if body.get(property::DETERMINISTIC) == "YES" {
        out.push_str("    DETERMINISTIC\n");
    }
    if body.security == Security::Invoker {
        out.push_str("    SQL SECURITY INVOKER\n");
    }
    if !body.comment.is_empty() {
        let comment = body.comment.replace('\\', "\\\\").replace('\'', "\\'");
        out.push_str(&format!("    COMMENT '{comment}'\n"));
    }
    out.push_str(&body.text);
    out
}

/// What stands before the body for the compiler. The characteristics and the name are known already.
fn head(body: &ObjectBody, kind: ProgramKind) -> String {
    match kind {
        ProgramKind::Event => "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO ".to_owned(),
        ProgramKind::Trigger => {
            let (timing, event) = (body.get(property::TIMING), body.get(property::EVENT));
            format!("CREATE TRIGGER t {timing} {event} ON t FOR EACH ROW ")
        }
        ProgramKind::Procedure => format!("CREATE PROCEDURE p({}) ", body.get(property::PARAMS)),
        ProgramKind::Function => {
            let (params, returns) = (body.get(property::PARAMS), body.get(property::RETURNS));
            format!("CREATE FUNCTION f({params}) RETURNS {returns} ")
        }
    }
}

/// Reads and compiles what the dictionary has.
fn read(
    object: &Object,
    kind: ProgramKind,
    database: &str,
    table: Option<&Arc<TableInfo>>,
    state: &mut SessionState,
) -> SqlResult<Routine> {
    let body = ObjectBody::of(object)?;
    let name = &object.name;
    let mut text = body.as_sent(&head(&body, kind)).into_owned();
    text.extend_from_slice(&body.source());
    let failed = |e: &dyn std::fmt::Display| {
        let message = format!(
            "Failed to load routine {database}.{name}. The table mysql.proc is missing, corrupt, or contains bad data ({e})"
        );
        SqlError::new(1457, message)
    };
    let arena = Bump::new();
    let sql_mode = vars::for_parser(SqlMode(body.sql_mode));
    let mode = vars::parse_mode(sql_mode, body.client_collation);
    let parsed = vaquita_parser::parse(&text, &arena, mode).map_err(|e| failed(&e))?;
    let Stmt::CreateProgram(program) = parsed.stmt else { return Err(failed(&"another statement")) };
    let before = (state.vars.sql_mode, state.vars.character_set_client, state.vars.collation_connection);
    state.vars.sql_mode = SqlMode(body.sql_mode);
    state.vars.character_set_client = body.client_collation;
    state.vars.collation_connection = body.connection_collation;
    let made = build(program, &text, &body, table.map(|table| &**table), state);
    (state.vars.sql_mode, state.vars.character_set_client, state.vars.collation_connection) = before;
    let (params, returns, code) = match made {
        // A column of the row is no more: that is said as it is.
        Err(e) if kind == ProgramKind::Trigger => return Err(e),
        made => made.map_err(|e| failed(&e.message))?,
    };
    let fired = match (&program.trigger, table) {
        (Some(trigger), Some(table)) => Some(fired(trigger, table)),
        _ => None,
    };
    let (database, name) = (database.into(), name.as_str().into());
    Ok(Routine { kind, database, name, body, params, returns, code, fired })
}

/// A trigger of a table, compiled.
///
/// # Errors
/// It cannot be read; 1054 the table has lost a column that it names.
pub(crate) fn trigger(
    db: &Database,
    state: &mut SessionState,
    object: &Object,
    table: &Arc<TableInfo>,
) -> SqlResult<Arc<Routine>> {
    let of_table =
        |found: &Routine| found.fired.as_ref().is_some_and(|f| f.table.as_ptr() == Arc::as_ptr(table));
    if let Some(found) = db.routines.get(object.id)
        && of_table(&found)
    {
        return Ok(found);
    }
    let database = &table.definition.database;
    let routine = Arc::new(read(object, ProgramKind::Trigger, database, Some(table), state)?);
    db.routines.put(object.id, routine.clone());
    Ok(routine)
}

/// An event, compiled.
///
/// # Errors
/// It cannot be read.
pub(crate) fn event(
    db: &Database,
    state: &mut SessionState,
    object: &Object,
    database: &str,
) -> SqlResult<Arc<Routine>> {
    if let Some(found) = db.routines.get(object.id) {
        return Ok(found);
    }
    let routine = Arc::new(read(object, ProgramKind::Event, database, None, state)?);
    db.routines.put(object.id, routine.clone());
    Ok(routine)
}

/// What a trigger of a table does to its rows.
fn fired(trigger: &ast::TriggerHead<'_>, table: &Arc<TableInfo>) -> Fired {
    let definition = &table.definition;
    let (database, name) = (&definition.database, &definition.name);
    let mut columns = Vec::new();
    let mut wants = vec![Wanted::table(database, name, Priv::TRIGGER)];
    for named in trigger.columns {
        let Some(column) = table.column(&named.name.to_string()) else { continue };
        let privilege = if named.set { Priv::UPDATE } else { Priv::SELECT };
        let column_name = table.columns[column].name.as_str();
        let want = Wanted {
            by_column: true,
            ..Wanted::columns(database, name, privilege, std::iter::once(column_name))
        };
        if !wants.contains(&want) {
            wants.push(want);
        }
        columns.push(column);
    }
    columns.sort_unstable();
    columns.dedup();
    Fired {
        before: trigger.before,
        event: trigger.event,
        table: Arc::downgrade(table),
        columns: columns.into(),
        wants: wants.into(),
    }
}

type Built = (Box<[Param]>, Option<ColumnType>, Code);

fn build(
    program: &ast::CreateProgram<'_>,
    sql: &[u8],
    body: &ObjectBody,
    table: Option<&TableInfo>,
    state: &mut SessionState,
) -> SqlResult<Built> {
    let collation = body.database_collation;
    let code = compile::compile(program, sql, collation, table, state)?;
    let mut params = Vec::new();
    for param in program.params {
        let name = param.name.to_string();
        let ty = compile::column_type(&param.data_type, &name, collation, state)?;
        params.push(Param { mode: param.mode, name, ty });
    }
    let returns = match &program.returns {
        Some(ty) => Some(compile::column_type(ty, "", collation, state)?),
        None => None,
    };
    Ok((params.into(), returns, code))
}
