//! From syntax to compiled form.

use super::node::Expr;
use super::scope::{CompileCx, Scope};
use vaquita_parser::ast;
use vaquita_types::SqlResult;

/// Compiles an expression.
///
/// # Errors
/// Names, types, wrong arguments, unknown functions, collations that cannot be brought together.
pub fn compile(ast: &ast::Expr<'_>, scope: &dyn Scope, cx: &mut CompileCx<'_>) -> SqlResult<Expr> {
    let _ = (ast, scope, cx);
    unimplemented!()
}

/// Compiles a condition: as [`compile`], but a value that is only asked for its truth.
///
/// # Errors
/// As [`compile`].
pub fn compile_condition(ast: &ast::Expr<'_>, scope: &dyn Scope, cx: &mut CompileCx<'_>) -> SqlResult<Expr> {
    compile(ast, scope, cx)
}
