//! A procedure or function as it is found by its name: what the dictionary has, and its compiled form.

use super::{compile, object_kind};
use crate::database::Database;
use crate::routine::code::Code;
use crate::routine::{Param, Routine, kind_name, property};
use bumpalo::Bump;
use std::sync::Arc;
use vaquita_catalog::object::{ObjectBody, Security};
use vaquita_engine::Object;
use vaquita_parser::ast::{ProgramKind, Stmt};
use vaquita_parser::{ParseMode, ast};
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
    let routine = Arc::new(read(object, kind, database, state)?);
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

/// A name in quotes that every mode reads as a name.
fn backquoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Reads and compiles what the dictionary has.
fn read(object: &Object, kind: ProgramKind, database: &str, state: &mut SessionState) -> SqlResult<Routine> {
    let body = ObjectBody::of(object)?;
    let name = &object.name;
    // The characteristics are known already: only what has to be compiled.
    let returns = match kind {
        ProgramKind::Function => format!(" RETURNS {}", body.get(property::RETURNS)),
        _ => String::new(),
    };
    let text = format!(
        "CREATE {} {}({}){returns} {}",
        kind_name(kind),
        backquoted(name),
        body.get(property::PARAMS),
        body.text
    );
    let failed = |e: &dyn std::fmt::Display| {
        let message = format!(
            "Failed to load routine {database}.{name}. The table mysql.proc is missing, corrupt, or contains bad data ({e})"
        );
        SqlError::new(1457, message)
    };
    let arena = Bump::new();
    let sql_mode = vars::for_parser(SqlMode(body.sql_mode));
    let mode = ParseMode { sql_mode, ..ParseMode::default() };
    let parsed = vaquita_parser::parse(text.as_bytes(), &arena, mode).map_err(|e| failed(&e))?;
    let Stmt::CreateProgram(program) = parsed.stmt else { return Err(failed(&"another statement")) };
    let before = state.vars.sql_mode;
    state.vars.sql_mode = SqlMode(body.sql_mode);
    let made = build(program, text.as_bytes(), &body, state);
    state.vars.sql_mode = before;
    let (params, returns, code) = made.map_err(|e| failed(&e.message))?;
    let (database, name) = (database.into(), name.as_str().into());
    Ok(Routine { kind, database, name, body, params, returns, code })
}

type Built = (Box<[Param]>, Option<ColumnType>, Code);

fn build(
    program: &ast::CreateProgram<'_>,
    sql: &[u8],
    body: &ObjectBody,
    state: &mut SessionState,
) -> SqlResult<Built> {
    let collation = body.database_collation;
    let code = compile::compile(program, sql, collation, state)?;
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
