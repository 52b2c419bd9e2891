//! Expressions in definitions: what may stand in them, and the text that is kept of them.

use crate::statement::StmtCx;
use std::sync::Arc;
use vaquita_catalog::declared::labels_of;
use vaquita_catalog::{ColumnDefinition, Definition, Generated, same_name};
use vaquita_engine::table::DefaultValue;
use vaquita_expr::CompileCx;
use vaquita_expr::scope::unknown_column;
use vaquita_parser::{NotPrinted, ast, print_expression};
use vaquita_plan::rules::compile_of_table;
use vaquita_types::{Kind, SqlError, SqlResult, SqlType};

/// Attributes that a generated column cannot have.
///
/// # Errors
/// 1221.
pub(super) fn check_attributes(written: &ast::ColumnDef<'_>) -> SqlResult<()> {
    let attribute = match written {
        w if w.default.is_some() => "DEFAULT",
        w if w.auto_increment => "AUTO_INCREMENT",
        w if w.on_update_now.is_some() => "ON UPDATE",
        _ => return Ok(()),
    };
    Err(SqlError::new(1221, format!("Incorrect usage of {attribute} and generated column")))
}

/// Notes the expression of a column, or of its default, in a definition whose columns are complete.
///
/// # Errors
/// 3102, 3763 to 3765 of a generated column, 3769 to 3772 of a default; 1054; those of the expression.
pub(super) fn of_column(
    cx: &mut StmtCx<'_>,
    definition: &mut Definition,
    written: &ast::ColumnDef<'_>,
) -> SqlResult<()> {
    match (written.generated, &written.default) {
        (Some(generated), _) => note(cx, definition, &written.name.to_string(), &generated.expr, true),
        (None, Some(default)) => of_default(cx, definition, &written.name.to_string(), default),
        (None, None) => Ok(()),
    }
}

/// Notes the expression of a default, if it is one.
///
/// # Errors
/// As [`of_column`].
pub(super) fn of_default(
    cx: &mut StmtCx<'_>,
    definition: &mut Definition,
    column: &str,
    default: &ast::DefaultValue<'_>,
) -> SqlResult<()> {
    match default {
        ast::DefaultValue::Expr(expr) => note(cx, definition, column, expr, false),
        ast::DefaultValue::Literal(_) | ast::DefaultValue::Now(_) => Ok(()),
    }
}

fn note(
    cx: &mut StmtCx<'_>,
    definition: &mut Definition,
    column: &str,
    expr: &ast::Expr<'_>,
    generated: bool,
) -> SqlResult<()> {
    let Some(at) = definition.column(column) else { return Ok(()) };
    let what = match generated {
        true => format!("Expression of generated column '{column}'"),
        false => format!("Default value expression of column '{column}'"),
    };
    let err = |codes: [u16; 2], text: &str| {
        Err(SqlError::new(if generated { codes[0] } else { codes[1] }, format!("{what} {text}")))
    };
    if matches!(expr.kind, ast::ExprKind::Row(_)) {
        return err([3764, 3771], "cannot refer to a row value.");
    }
    let printed = match print(cx, expr, definition) {
        Ok(printed) => printed,
        Err(Refusal::Variable) => return err([3765, 3772], "cannot refer user or system variables."),
        Err(Refusal::Part) => return err([3102, 3769], "contains a disallowed function."),
        Err(Refusal::Unknown(name)) => {
            let clause = if generated { "generated column function" } else { "default value expression" };
            return Err(SqlError::new(1054, format!("Unknown column '{name}' in '{clause}'")));
        }
        Err(Refusal::Foreign(e)) => return Err(e),
    };
    let allowed = |function: &&String| match generated {
        true => is_deterministic(function),
        // Any function of ours that takes no part in the statement, and gives nothing to who inserts that only whoever made the
        // table, or only who inserts, may have.
        false => {
            let refused = matches!(function.as_str(), "default" | "values" | "load_file");
            !refused && vaquita_expr::is_function(function)
        }
    };
    if let Some(function) = printed.functions.iter().find(|f| !allowed(f)) {
        return err([3763, 3770], &format!("contains a disallowed function: {function}."));
    }
    let Text { text, columns, .. } = printed;
    compile_of_table(&text, definition, column, &mut CompileCx::new(Some(cx.db), cx.state))?;
    let column = definition.column_mut(at);
    column.uses = columns;
    match &mut column.generated {
        Some(generated) => generated.clause = text,
        None => column.default = DefaultValue::Text(text),
    }
    Ok(())
}

/// Adds the hidden column that has the values of an expression that a key is of; its name.
///
/// # Errors
/// 3753, 3757, 3758, 3762, 3800; 1054; those of the expression.
pub(super) fn of_key(
    cx: &mut StmtCx<'_>,
    definition: &mut Definition,
    key: &str,
    expr: &ast::Expr<'_>,
) -> SqlResult<String> {
    let disallowed = || {
        let message = format!("Expression of functional index '{key}' contains a disallowed function.");
        SqlError::new(3758, message)
    };
    match expr.kind {
        ast::ExprKind::Row(_) => {
            let message = format!("Expression of functional index '{key}' cannot refer to a row value.");
            return Err(SqlError::new(3800, message));
        }
        ast::ExprKind::Column(_) => {
            return Err(SqlError::new(
                3762,
                "Functional index on a column is not supported. Consider using a regular index instead.",
            ));
        }
        ast::ExprKind::Cast { to: ast::CastType::Later(name), .. } if name.is("array") => {
            return Err(SqlError::unsupported("multi-valued indexes"));
        }
        _ => {}
    }
    let printed = print(cx, expr, definition).map_err(|e| match e {
        Refusal::Variable | Refusal::Part => disallowed(),
        Refusal::Unknown(name) => {
            SqlError::new(1054, format!("Unknown column '{name}' in 'functional index'"))
        }
        Refusal::Foreign(e) => e,
    })?;
    if !printed.functions.iter().all(|function| is_deterministic(function)) {
        return Err(disallowed());
    }
    let compiled =
        compile_of_table(&printed.text, definition, key, &mut CompileCx::new(Some(cx.db), cx.state))?;
    let ty = SqlType { nullable: true, ..key_type(compiled.ty())? };
    let short: String = key.chars().take(40).collect();
    let name = (0..).map(|n| format!("!hidden!{short}!{n}!0"));
    let taken = |name: &String| definition.columns.iter().any(|c| same_name(&c.name, name));
    let Some(name) = { name }.find(|name| !taken(name)) else { return Err(disallowed()) };
    vaquita_catalog::limits::check_column_count(definition.columns.len() + 1)?;
    let mut column = ColumnDefinition::new(&*name, ty.clone(), labels_of(&ty));
    column.generated = Some(Generated { clause: printed.text, stored: false });
    column.uses = printed.columns;
    (column.hidden, column.functional) = (true, true);
    definition.columns.push(Arc::new(column));
    Ok(name)
}

/// The type of a column that has the values of an expression.
///
/// # Errors
/// 3753, 3757.
fn key_type(of: &SqlType) -> SqlResult<SqlType> {
    let mut ty = of.clone();
    match ty.kind {
        Kind::Json | Kind::Geometry => {
            return Err(SqlError::new(
                3753,
                "Cannot create a functional index on a function that returns a JSON or GEOMETRY value.",
            ));
        }
        Kind::Null => ty = SqlType { kind: Kind::Char, length: 1, ..ty },
        Kind::VarChar if ty.length == 0 => ty.length = 1,
        kind if kind.is_blob() || kind == Kind::VarChar && ty.length > 16_383 => {
            return Err(SqlError::new(
                3757,
                "Cannot create a functional index on an expression that returns a BLOB or TEXT. Please consider using \
                 CAST.",
            ));
        }
        _ => {}
    }
    Ok(ty)
}

/// An expression of a definition.
#[derive(Debug)]
pub(super) struct Text {
    /// Its text, which means the same in every session.
    pub(super) text: String,
    /// Columns of the table in it, as the table calls them, each once.
    pub(super) columns: Vec<String>,
    /// Functions in it, in small letters.
    pub(super) functions: Vec<String>,
    /// It is a truth value by its form.
    pub(super) is_condition: bool,
}

/// Why an expression cannot be kept.
#[derive(Debug)]
pub(super) enum Refusal {
    /// A variable.
    Variable,
    /// A subquery, an aggregate, a parameter, something that has no value of its own.
    Part,
    /// There is no such column in the table.
    Unknown(String),
    /// It names another table.
    Foreign(SqlError),
}

/// The text of an expression, and what is in it.
///
/// # Errors
/// It holds what is not of a row of the table.
pub(super) fn print(
    cx: &StmtCx<'_>,
    written: &ast::Expr<'_>,
    definition: &Definition,
) -> Result<Text, Refusal> {
    let unicode = |bytes: &[u8]| cx.state.vars.client_text(bytes).into_owned();
    let charset = vaquita_session::vars::charset_name(cx.state.vars.collation_connection);
    let printed = print_expression(written, &unicode, charset).map_err(|e| match e {
        NotPrinted::Variable => Refusal::Variable,
        NotPrinted::Subquery | NotPrinted::Aggregate | NotPrinted::Param | NotPrinted::Other => Refusal::Part,
    })?;
    let mut columns: Vec<String> = Vec::new();
    for column in &printed.columns {
        let is = |part: Option<ast::Ident<'_>>, name: &str| part.is_none_or(|p| p.name == name.as_bytes());
        if !is(column.schema, &definition.database) || !is(column.table, &definition.name) {
            return Err(Refusal::Foreign(unknown_column(column, "field list")));
        }
        let name = column.name.to_string();
        let at = definition.column(&name).ok_or(Refusal::Unknown(name))?;
        let name = &definition.columns[at].name;
        if !columns.contains(name) {
            columns.push(name.clone());
        }
    }
    let vaquita_parser::Printed { text, functions, is_condition, .. } = printed;
    Ok(Text { text, columns, functions, is_condition })
}

/// Whether a function always gives the same for the same arguments, whoever calls it and when, and is one of ours: stored and
/// loaded functions are not.
pub(super) fn is_deterministic(function: &str) -> bool {
    const NOT: [&str; 46] = [
        "benchmark",
        "charset",
        "coercibility",
        "collation",
        "connection_id",
        "curdate",
        "current_date",
        "current_role",
        "current_time",
        "current_timestamp",
        "current_user",
        "curtime",
        "database",
        "default",
        "found_rows",
        "get_lock",
        "icu_version",
        "is_free_lock",
        "is_used_lock",
        "last_insert_id",
        "load_file",
        "localtime",
        "localtimestamp",
        "master_pos_wait",
        "name_const",
        "now",
        "rand",
        "random_bytes",
        "release_all_locks",
        "release_lock",
        "row_count",
        "schema",
        "session_user",
        "sleep",
        "sysdate",
        "system_user",
        "unix_timestamp",
        "user",
        "utc_date",
        "utc_time",
        "utc_timestamp",
        "uuid",
        "uuid_short",
        "values",
        "version",
        "statement_digest",
    ];
    !NOT.contains(&function) && vaquita_expr::is_function(function)
}
