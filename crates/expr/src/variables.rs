//! User variables and system variables.

use super::build::{Collated, New};
use super::node::{Constness, Data, Expr, Node};
use super::row::Row;
use super::scope::CompileCx;
use super::{EvalCx, env};
use vaquita_engine::text::collation::aggregate::Derivation;
use vaquita_parser::ast::{Ident, SystemVar};
use vaquita_session::var_ref::VarRef;
use vaquita_types::decimal::MAX_PRECISION;
use vaquita_types::{Decimal, Kind, SqlResult, SqlType, Value, memory};

/// `@name`: of the type it has while the statement is compiled.
pub(super) fn user(cx: &mut CompileCx<'_>, name: Ident<'_>) -> Expr {
    let connection = env::collation_connection(cx.session.state);
    cx.session.state.noted.user_var(name.name, &cx.session.state.user_vars);
    let ty = match cx.session.state.user_vars.get(name.name) {
        Some(var) if var.ty.kind != Kind::Null => var.ty.clone(),
        _ => SqlType::varchar(16_777_215, connection),
    };
    let text = ty.kind.is_string();
    let by = Collated { collation: ty.collation, derivation: Derivation::Implicit, ascii: false };
    let new = New::call("@", ty, Vec::new(), eval_user)
        .data(Data::Bytes(name.name.into()))
        .nullable()
        .at_least(Constness::Row);
    if text { new.collated(by).build(cx) } else { new.build(cx) }
}

fn eval_user<'r>(e: &'r Expr, _: &'r [Expr], cx: &mut EvalCx<'_>, _: &'r Row<'r>) -> SqlResult<Value<'r>> {
    let value = cx.state.user_vars.get(e.call_bytes()).map_or(Value::Null, |var| var.value.borrowed());
    memory::into_owned(value)
}

/// `@name := value`.
///
/// # Errors
/// 1241.
pub(super) fn assign(cx: &mut CompileCx<'_>, name: Ident<'_>, value: Expr) -> SqlResult<Expr> {
    if let Node::Row(_) = value.node {
        return Err(super::compare::wrong_columns(1));
    }
    let ty = value.ty.clone();
    let by = Collated { derivation: Derivation::Implicit, ..value.collated(cx) };
    let text = ty.kind.is_string();
    cx.session.state.noted.user_var(name.name, &cx.session.state.user_vars);
    // So that names later in the statement have the type that is assigned here.
    if cx.session.state.user_vars.get(name.name).is_none() {
        cx.session.state.user_vars.set(name.name, Value::Null, variable_type(&value))?;
    }
    let new = New::call(":=", ty, vec![value], eval_assign)
        .data(Data::Bytes(name.name.into()))
        .at_least(Constness::Row);
    Ok(if text { new.collated(by).build(cx) } else { new.build(cx) })
}

impl Expr {
    /// Whether evaluating it sets a user variable.
    pub fn assigns(&self) -> bool {
        let mut assigns = false;
        self.walk(&mut |e| assigns |= matches!(e.node(), Node::Call(call) if call.name == ":="));
        assigns
    }
}

/// The type a variable has after it was set to an expression: of integers, BIGINT; times are text.
fn variable_type(e: &Expr) -> SqlType {
    match e.ty.kind {
        kind if kind.is_integer() => SqlType { unsigned: e.ty.unsigned, ..SqlType::bigint(e.ty.unsigned) },
        Kind::Float | Kind::Double => SqlType::double(),
        Kind::Decimal => SqlType { nullable: true, zerofill: false, ..e.ty.clone() },
        Kind::Null => SqlType::varchar(0, 63),
        _ => SqlType::varchar(16_777_215, e.ty.collation),
    }
}

/// The type of a DECIMAL variable: with all the digits of its value.
pub fn digits_of(value: &Decimal, ty: SqlType) -> SqlType {
    let more = u32::from(value.scale().saturating_sub(ty.decimals));
    SqlType { length: (ty.length + more).min(MAX_PRECISION), decimals: value.scale().max(ty.decimals), ..ty }
}

/// Sets a user variable to the value of an expression, as `:=` and SET do.
///
/// # Errors
/// No memory, or not for this session.
pub fn set_user_variable(cx: &mut EvalCx<'_>, name: &[u8], e: &Expr, value: &Value<'_>) -> SqlResult<()> {
    let mut ty = variable_type(e);
    let value = match value {
        Value::Null | Value::Int(_) | Value::UInt(_) | Value::Double(_) => value.clone().into_owned(),
        Value::Decimal(v) => {
            ty = digits_of(v, ty);
            Value::Decimal(*v)
        }
        Value::Float(v) => Value::Double(f64::from(*v)),
        Value::Bytes(_) => memory::into_owned(value.borrowed())?,
        other => {
            if !e.is_text() {
                ty.collation = env::collation_connection(cx.state);
            }
            Value::owned(other.to_text(&e.ty).into_owned())
        }
    };
    cx.state.user_vars.set(name, value, ty)
}

fn eval_assign<'r>(
    e: &'r Expr,
    args: &'r [Expr],
    cx: &mut EvalCx<'_>,
    row: &'r Row<'r>,
) -> SqlResult<Value<'r>> {
    let value = args[0].eval_to_store(cx, row)?;
    set_user_variable(cx, e.call_bytes(), &args[0], &value)?;
    Ok(value)
}

/// `@@name`.
///
/// # Errors
/// 1193 unknown, 1238 of another scope.
pub(super) fn system(cx: &mut CompileCx<'_>, of: &SystemVar<'_>) -> SqlResult<Expr> {
    let var = VarRef::resolve(of)?;
    let ty = var.sql_type();
    let text = ty.kind.is_string();
    let new = New::call("@@", ty.clone(), Vec::new(), eval_system)
        .data(Data::Variable(var))
        .nullable()
        .at_least(Constness::Execution);
    Ok(if text {
        new.collated(Collated { collation: ty.collation, ..Collated::SYSTEM }).build(cx)
    } else {
        new.build(cx)
    })
}

fn eval_system<'r>(e: &'r Expr, _: &'r [Expr], cx: &mut EvalCx<'_>, _: &'r Row<'r>) -> SqlResult<Value<'r>> {
    Ok(e.variable().map_or(Value::Null, |var| var.value(cx.db, cx.state)))
}
