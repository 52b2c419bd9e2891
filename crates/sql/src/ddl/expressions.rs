//! Expressions in definitions: what may stand in them, and the text that is kept of them.

use crate::statement::StmtCx;
use vaquita_catalog::Definition;
use vaquita_expr::scope::unknown_column;
use vaquita_parser::{NotPrinted, ast, print_expression};
use vaquita_types::SqlError;

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
    let printed = print_expression(written, &unicode).map_err(|e| match e {
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
