//! PARTITION BY of CREATE TABLE and ALTER TABLE: from what is written to the clause that is kept.

use super::directories;
use crate::statement::StmtCx;
use vaquita_catalog::Definition;
use vaquita_catalog::partitioning::{Bound, Partition, Partitioned, Values, WhichText};
use vaquita_engine::lower::charset::Charset;
use vaquita_expr::scope::unknown_column;
use vaquita_expr::{CompileCx, Resolved, Row, Scope, compile};
use vaquita_parser::ast::{self, ColumnRef, ExprKind};
use vaquita_plan::partition::check;
use vaquita_types::{SqlError, SqlResult, Value};

/// What is said of a table that has no partitions.
pub(crate) fn not_partitioned() -> SqlError {
    SqlError::new(1505, "Partition management on a not partitioned table is not possible")
}

/// Gives a table that is made its clause.
///
/// # Errors
/// Those of the clause and its constants; of directories, as [`directories::settle_partitions`].
pub(super) fn settle(
    cx: &mut StmtCx<'_>,
    definition: &mut Definition,
    written: &ast::Partitioning<'_>,
    sql: &[u8],
) -> SqlResult<()> {
    let text = which_text(cx, sql);
    let mut partitioned = Partitioned::read(written, text, &mut |e| constant(cx, e))?;
    if directories::settle_partitions(cx, &definition.name, written.partitions)? {
        partitioned.partitions.iter_mut().for_each(Partition::leave_directory);
    }
    // There is no file that it would be of.
    definition.directory = None;
    keep(definition, &mut partitioned)
}

/// The text of a statement.
pub(super) fn which_text<'t>(cx: &StmtCx<'_>, sql: &'t [u8]) -> WhichText<'t> {
    WhichText { text: sql, collation: cx.state.vars.character_set_client }
}

/// Holds a clause against its table, which has it from then on.
///
/// # Errors
/// Those of the clause.
pub(super) fn keep(definition: &mut Definition, partitioned: &mut Partitioned) -> SqlResult<()> {
    in_character_sets(definition, partitioned);
    check::checked(definition, partitioned)?;
    definition.partitioning = partitioned.to_clause();
    Ok(())
}

/// A constant of a partition.
pub(super) fn constant(cx: &mut StmtCx<'_>, e: &ast::Expr<'_>) -> SqlResult<(Value<'static>, u16)> {
    refuse_functions(e)?;
    let mut compiling = CompileCx::new(Some(cx.db), cx.state);
    let expr = compile(e, &Nothing, &mut compiling)?;
    let collation = expr.ty().collation;
    let value = expr.eval(&mut compiling.session, &Row::default())?.into_owned();
    Ok((value, collation))
}

/// Constants are made of the same functions as partition functions.
fn refuse_functions(e: &ast::Expr<'_>) -> SqlResult<()> {
    match &e.kind {
        ExprKind::Call(call) => {
            let name = call.name.to_string().to_ascii_lowercase();
            match check::ALLOWED.contains(&name.as_str()) {
                true => call.args.iter().try_for_each(refuse_functions),
                false => Err(SqlError::new(1564, "This partition function is not allowed")),
            }
        }
        ExprKind::Subquery(_) | ExprKind::Exists(_) | ExprKind::Case(_) => {
            Err(SqlError::new(1564, "This partition function is not allowed"))
        }
        _ => Ok(()),
    }
}

/// There are no columns.
struct Nothing;

impl Scope for Nothing {
    fn resolve(&self, name: &ColumnRef<'_>) -> SqlResult<Resolved> {
        Err(unknown_column(name, "partition function"))
    }
}

/// Constants of texts get the character sets of their columns.
fn in_character_sets(definition: &Definition, partitioned: &mut Partitioned) {
    let Some(columns) = partitioned.method.columns().map(<[String]>::to_vec) else { return };
    for p in &mut partitioned.partitions {
        let rows: Vec<&mut Vec<Bound>> = match &mut p.values {
            Values::None => Vec::new(),
            Values::LessThan(bounds) => vec![bounds],
            Values::In(rows) => rows.iter_mut().collect(),
        };
        for (name, bound) in rows.into_iter().flat_map(|row| columns.iter().zip(row)) {
            let column = definition.column(name).map(|at| &definition.columns[at].ty);
            let (Some(ty), Bound::Text { collation, bytes }) = (column, bound) else { continue };
            let to = if ty.kind.is_string() {
                Charset::of_any_collation(ty.collation)
            } else {
                Charset::by_name("latin1")
            };
            let (Some(from), Some(to)) = (Charset::of_any_collation(*collation), to) else { continue };
            let decoded = from.decode(bytes).map(std::borrow::Cow::into_owned);
            if let Some(text) = decoded.filter(|_| from != to) {
                let mut out = Vec::new();
                text.chars().for_each(|c| {
                    if !to.push(c.into(), &mut out) {
                        out.push(b'?');
                    }
                });
                (*collation, *bytes) = (to.default_collation(), out);
            }
        }
    }
}
