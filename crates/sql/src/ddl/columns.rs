//! Columns as written.

use super::expressions;
use crate::statement::StmtCx;
use vaquita_catalog::{ColumnDefinition, Generated, limits};
use vaquita_engine::table::DefaultValue;
use vaquita_expr::scope::NoTables;
use vaquita_expr::{CompileCx, EvalCx, Row, compile};
use vaquita_parser::ast;
use vaquita_plan::column_type::{self as types, LongString};
use vaquita_types::convert::store::{StoreMode, store};
use vaquita_types::temporal::DateContext;
use vaquita_types::{Cx, Date, Kind, Level, SqlError, SqlMode, SqlResult, SqlType, Warnings};

/// Most characters of a column's comment.
const COMMENT_MAX: usize = 1_024;

/// The definition of a column, `first_timestamp`: no TIMESTAMP column before it. A key that its attributes ask for is
/// the caller's business.
///
/// # Errors
/// As [`vaquita_plan::column_type::resolve`]; 1067 default, 1101, 1294, 1063, 1629 comment; 1235 what is not there yet.
pub(super) fn define(
    cx: &mut StmtCx<'_>,
    written: &ast::ColumnDef<'_>,
    collation: u16,
    first_timestamp: bool,
) -> SqlResult<ColumnDefinition> {
    let name = written.name.to_string();
    if written.srid.is_some() {
        return Err(SqlError::unsupported("SRID"));
    }
    limits::check_column_name(&name)?;
    if name.chars().count() > 64 {
        return Err(SqlError::too_long_name(&name));
    }
    // A TEXT could not keep the default.
    let long = match &written.default {
        None
        | Some(ast::DefaultValue::Literal(ast::Expr {
            kind: ast::ExprKind::Literal(ast::Literal::Null),
            ..
        })) => LongString::BecomesText,
        Some(_) => LongString::Refused,
    };
    let types::Resolved { mut ty, labels, spelled } =
        types::resolve(&written.data_type, &name, collation, long, cx.state)?;
    let serial = matches!(written.data_type.kind, ast::TypeKind::Serial);
    let auto_increment = written.auto_increment || serial;
    let silent_timestamp = ty.kind == Kind::Timestamp
        && written.nullable != Some(true)
        && !cx.state.vars.explicit_defaults_for_timestamp;
    ty.nullable = match written.nullable {
        Some(nullable) => nullable && !auto_increment,
        None => !(auto_increment || written.primary || silent_timestamp),
    };
    let comment = written.comment.map(|c| cx.state.vars.client_text(c).into_owned()).unwrap_or_default();
    if comment.chars().count() > COMMENT_MAX {
        let message = format!("Comment for field '{name}' is too long (max = {COMMENT_MAX})");
        return Err(SqlError::new(1629, message));
    }
    let new = ColumnDefinition::new(name, ty, labels);
    let invisible = written.invisible;
    let mut column = ColumnDefinition { spelled, auto_increment, comment, invisible, ..new };
    if auto_increment
        && !(column.ty.kind.is_integer() || matches!(column.ty.kind, Kind::Float | Kind::Double))
    {
        let message = format!("Incorrect column specifier for column '{}'", column.name);
        return Err(SqlError::new(1063, message));
    }
    if let Some(generated) = written.generated {
        expressions::check_attributes(written)?;
        // Its text follows when all columns are known.
        column.generated = Some(Generated { clause: String::new(), stored: generated.stored });
        column.ty.nullable = written.nullable != Some(false) && !written.primary;
        column.default = if column.ty.nullable { DefaultValue::Null } else { DefaultValue::None };
        return Ok(column);
    }
    on_update(&mut column, written)?;
    column.default = match &written.default {
        Some(default) => self::default(cx, default, &column)?,
        None if silent_timestamp && first_timestamp && !column.on_update_now => {
            column.on_update_now = true;
            DefaultValue::Now
        }
        None if silent_timestamp => zero_timestamp(cx, &column)?,
        None if column.ty.nullable => DefaultValue::Null,
        None => DefaultValue::None,
    };
    Ok(column)
}

fn on_update(column: &mut ColumnDefinition, written: &ast::ColumnDef<'_>) -> SqlResult<()> {
    let Some(fsp) = written.on_update_now else { return Ok(()) };
    let is_moment = matches!(column.ty.kind, Kind::DateTime | Kind::Timestamp);
    if !is_moment || u32::from(column.ty.decimals) != fsp {
        let message = format!("Invalid ON UPDATE clause for '{}' column", column.name);
        return Err(SqlError::new(1294, message));
    }
    column.on_update_now = true;
    Ok(())
}

/// What a TIMESTAMP gets that says nothing, all but the first.
fn zero_timestamp(cx: &StmtCx<'_>, column: &ColumnDefinition) -> SqlResult<DefaultValue> {
    let mode = cx.state.vars.sql_mode;
    if mode.is_strict() && mode.has(SqlMode::NO_ZERO_DATE) {
        return Err(SqlError::invalid_default(&column.name));
    }
    let mut out = Vec::new();
    column.codec().push_implicit_default(&mut out);
    Ok(DefaultValue::Stored(out))
}

/// A default as written, for a column whose type is known.
///
/// # Errors
/// 1067, 1101; those of the expression.
pub(super) fn default(
    cx: &mut StmtCx<'_>,
    written: &ast::DefaultValue<'_>,
    column: &ColumnDefinition,
) -> SqlResult<DefaultValue> {
    let invalid = || SqlError::invalid_default(&column.name);
    if column.auto_increment {
        return Err(invalid());
    }
    let expr = match written {
        ast::DefaultValue::Now(fsp) => {
            let is_moment = matches!(column.ty.kind, Kind::DateTime | Kind::Timestamp);
            let fits = is_moment && u32::from(column.ty.decimals) == *fsp;
            return if fits { Ok(DefaultValue::Now) } else { Err(invalid()) };
        }
        // Its text follows when all columns are known.
        ast::DefaultValue::Expr(_) => return Ok(DefaultValue::Text(String::new())),
        ast::DefaultValue::Literal(expr) => expr,
    };
    let mut compile_cx = CompileCx::new(Some(cx.db), cx.state);
    let compiled = compile(expr, &NoTables { clause: "default" }, &mut compile_cx)?;
    let mut eval = EvalCx { db: Some(cx.db), state: cx.state, engine: None };
    let row = Row::constant(&[]);
    let value = compiled.eval(&mut eval, &row)?.into_owned();
    if value.is_null() {
        return if column.ty.nullable { Ok(DefaultValue::Null) } else { Err(invalid()) };
    }
    let long = matches!(column.ty.kind, Kind::TinyText | Kind::Text | Kind::MediumText | Kind::LongText);
    if long || matches!(column.ty.kind, Kind::Json | Kind::Geometry) {
        let message = format!("BLOB/TEXT column '{}' can't have a default value", column.name);
        // An empty one is taken where modes allow. SHOW does not name it, but rows get it without a warning.
        let empty = long && value.to_text(compiled.ty()).is_empty();
        if !empty || cx.state.vars.sql_mode.is_strict() {
            return Err(SqlError::new(1101, message));
        }
        cx.state.warnings.warn(1101, message);
        return Ok(if column.ty.nullable { DefaultValue::Null } else { DefaultValue::Stored(Vec::new()) });
    }
    let stored = stored_default(cx, column, &value, compiled.ty())?;
    Ok(DefaultValue::Stored(stored))
}

/// A default must fit as it is: what would be a warning is an error.
///
/// # Errors
/// 1067.
pub(super) fn stored_default(
    cx: &StmtCx<'_>,
    column: &ColumnDefinition,
    value: &vaquita_types::Value<'_>,
    from: &SqlType,
) -> SqlResult<Vec<u8>> {
    let mut warnings = Warnings::new(8);
    let date = DateContext { mode: cx.state.vars.sql_mode, today: Date::default() };
    let mut convert = Cx { date, time_zone: &cx.state.vars.time_zone, warnings: &mut warnings };
    let mode = StoreMode { strict: true, null_is_error: true, row: 1 };
    let ty = column.codec();
    let mut out = Vec::new();
    let done = store(&ty, &column.name, value, from, mode, &mut convert, &mut out);
    let warned = warnings.list().iter().any(|w| w.level != Level::Note);
    match done {
        Ok(_) if !warned => Ok(out),
        _ => Err(SqlError::invalid_default(&column.name)),
    }
}
