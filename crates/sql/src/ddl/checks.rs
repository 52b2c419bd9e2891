//! CHECK constraints as written.

use super::expressions::{self, Refusal};
use crate::statement::StmtCx;
use vaquita_catalog::checks::{duplicate, numbered};
use vaquita_catalog::{CheckDefinition, Definition, same_name};
use vaquita_expr::CompileCx;
use vaquita_parser::ast::{self, TableElement};
use vaquita_plan::rules::compile_of_table;
use vaquita_types::{SqlError, SqlResult};

/// The constraints of CREATE TABLE, those of columns and those of the table, in their order.
///
/// # Errors
/// As [`add`].
pub(super) fn as_written(
    cx: &mut StmtCx<'_>,
    definition: &mut Definition,
    written: &ast::CreateTable<'_>,
) -> SqlResult<()> {
    let mut numbers = 1..;
    let mut name = |definition: &Definition| numbered(&definition.name, numbers.next().unwrap_or(u32::MAX));
    for element in written.elements {
        match element {
            TableElement::Check(check) => add(cx, definition, check, None, &mut name)?,
            TableElement::Column(column) => {
                let of = column.name.to_string();
                for check in column.checks {
                    add(cx, definition, check, Some(&of), &mut name)?;
                }
            }
            TableElement::Index(_) | TableElement::ForeignKey(_) => {}
        }
    }
    Ok(())
}

/// Adds a constraint that ALTER TABLE names, or that is numbered on; `of_column`: it is one of this column.
///
/// # Errors
/// As [`add`].
pub(super) fn add_one(
    cx: &mut StmtCx<'_>,
    definition: &mut Definition,
    written: &ast::Check<'_>,
    of_column: Option<&str>,
) -> SqlResult<()> {
    add(cx, definition, written, of_column, &mut Definition::next_check_name)
}

/// Adds a constraint to a definition whose columns are complete.
///
/// # Errors
/// 3812 to 3818, 3820 what it is not to be or to hold; 3822, 1059 its name; those of the expression.
fn add(
    cx: &mut StmtCx<'_>,
    definition: &mut Definition,
    written: &ast::Check<'_>,
    of_column: Option<&str>,
    next_name: &mut dyn FnMut(&Definition) -> String,
) -> SqlResult<()> {
    let name = written.name.map_or_else(|| next_name(definition), |name| name.to_string());
    let err = |code, text: String| Err(SqlError::new(code, text));
    if matches!(written.expr.kind, ast::ExprKind::Row(_)) {
        return err(3817, format!("Check constraint '{name}' cannot refer to a row value."));
    }
    let printed = match expressions::print(cx, &written.expr, definition) {
        Ok(printed) => printed,
        Err(Refusal::Variable) => {
            return err(
                3816,
                format!(
                    "An expression of a check constraint '{name}' cannot refer to a user or system variable."
                ),
            );
        }
        Err(Refusal::Part) => {
            return err(
                3815,
                format!("An expression of a check constraint '{name}' contains disallowed function."),
            );
        }
        Err(Refusal::Unknown(_)) if of_column.is_some() => {
            return err(3813, format!("Column check constraint '{name}' references other column."));
        }
        Err(Refusal::Unknown(column)) => {
            return err(3820, format!("Check constraint '{name}' refers to non-existing column '{column}'."));
        }
        Err(Refusal::Foreign(e)) => return Err(e),
    };
    if let Some(of) = of_column
        && printed.columns.iter().any(|column| !same_name(column, of))
    {
        return err(3813, format!("Column check constraint '{name}' references other column."));
    }
    if let Some(function) = printed.functions.iter().find(|f| !expressions::is_deterministic(f)) {
        return err(
            3814,
            format!("An expression of a check constraint '{name}' contains disallowed function: {function}."),
        );
    }
    if !printed.is_condition {
        return err(
            3812,
            format!("An expression of non-boolean type specified to a check constraint '{name}'."),
        );
    }
    for column in &printed.columns {
        if definition.column(column).is_some_and(|at| definition.columns[at].auto_increment) {
            return err(3818, format!("Check constraint '{name}' cannot refer to an auto-increment column."));
        }
    }
    compile_of_table(&printed.text, definition, &name, &mut CompileCx::new(Some(cx.db), cx.state))?;
    let expressions::Text { text, columns, .. } = printed;
    definition.add_check(CheckDefinition { name, clause: text, columns, enforced: written.enforced })
}

/// Refuses names of constraints that other tables of the database have. `table`: the engine's name of the one that gets them.
///
/// # Errors
/// 3822.
pub(super) fn refuse_taken(
    cx: &StmtCx<'_>,
    definition: &Definition,
    before: Option<&Definition>,
    table: &str,
) -> SqlResult<()> {
    let is_new = |check: &&CheckDefinition| before.is_none_or(|before| before.check(&check.name).is_none());
    let new: Vec<&CheckDefinition> = definition.checks.iter().filter(is_new).collect();
    if new.is_empty() {
        return Ok(());
    }
    let core = cx.db.engine.core();
    let file_name = vaquita_catalog::file_name(&definition.database)?;
    let names =
        core.dict.tables(&core.storage, &file_name).map_err(|e| vaquita_catalog::error::engine(&e))?;
    for other in names.iter().filter(|name| *name != table) {
        // One that cannot be used, or is dropped meanwhile, takes no names.
        let Ok(other) = core.table(other) else { continue };
        if !other.extra.contains("\ncheck/") {
            continue;
        }
        let info = cx.db.catalog.info(&other)?;
        if let Some(taken) = new.iter().find(|check| info.definition.check(&check.name).is_some()) {
            return Err(duplicate(&taken.name));
        }
    }
    Ok(())
}

/// 3821.
pub(super) fn not_found(name: &str) -> SqlError {
    let message = format!("Check constraint '{name}' is not found in the table.");
    SqlError::new(3821, message)
}
