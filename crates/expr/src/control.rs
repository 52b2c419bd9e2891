//! Choosing a value: CASE, IF, IFNULL, COALESCE, NULLIF, GREATEST, LEAST; the common type of several expressions.

use super::arith::int_digits_of;
use super::build::{Collated, New, chars, double_type, int_type, text_type};
use super::compare::{compare_as, wrong_columns};
use super::convert::{as_type, convert};
use super::node::{Call, CompareAs, Data, EvalFn, Expr, Node};
use super::row::Row;
use super::scope::CompileCx;
use super::{EvalCx, eval};
use std::cmp::Ordering;
use vaquita_engine::text::collation::aggregate::Purpose;
use vaquita_types::{Kind, SqlResult, SqlType, Value};

/// The kind that holds the values of both.
pub(super) fn merged_kind(a: &SqlType, b: &SqlType) -> Kind {
    use Kind as K;
    if a.kind == b.kind && a.unsigned == b.unsigned {
        return match a.kind {
            K::Enum | K::Set => K::VarChar,
            K::Char => K::VarChar,
            kind => kind,
        };
    }
    let text = |k: Kind| k.is_string() || matches!(k, K::Enum | K::Set | K::Json | K::Geometry);
    let (x, y) = (a.kind, b.kind);
    if x == K::Null {
        return y;
    }
    if y == K::Null {
        return x;
    }
    if text(x) && text(y) {
        return longer_text(x).max_by(longer_text(y));
    }
    if text(x) || text(y) {
        let of_text = if text(x) { x } else { y };
        return longer_text(of_text).0;
    }
    if x.is_temporal() && y.is_temporal() {
        return K::DateTime;
    }
    if x.is_temporal() || y.is_temporal() || x == K::Bit || y == K::Bit {
        let (integer, other) = if x == K::Bit { (y, x) } else { (x, y) };
        return if other == K::Bit && integer.is_integer() { K::BigInt } else { K::VarChar };
    }
    if matches!(x, K::Double | K::Float) || matches!(y, K::Double | K::Float) {
        return if x == K::Float && y == K::Float { K::Float } else { K::Double };
    }
    if x == K::Decimal || y == K::Decimal {
        return K::Decimal;
    }
    let wider = if rank(x) >= rank(y) { x } else { y };
    // Signed and unsigned of 64 bits have only a DECIMAL in common.
    if a.unsigned != b.unsigned && wider == K::BigInt {
        let unsigned = if a.unsigned { x } else { y };
        if unsigned == K::BigInt {
            return K::Decimal;
        }
    }
    wider
}

fn rank(k: Kind) -> u8 {
    match k {
        Kind::Year => 0,
        Kind::TinyInt => 1,
        Kind::SmallInt => 2,
        Kind::MediumInt => 3,
        Kind::Int => 4,
        _ => 5,
    }
}

/// Text kinds of results, in the order of what they hold.
fn longer_text(k: Kind) -> TextKind {
    TextKind(match k {
        Kind::TinyText => Kind::TinyText,
        Kind::Text => Kind::Text,
        Kind::MediumText => Kind::MediumText,
        Kind::LongText | Kind::Json => Kind::LongText,
        Kind::Geometry => Kind::LongText,
        _ => Kind::VarChar,
    })
}

struct TextKind(Kind);

impl TextKind {
    fn max_by(self, other: TextKind) -> Kind {
        let order = |k: Kind| match k {
            Kind::VarChar => 0,
            Kind::TinyText => 1,
            Kind::Text => 2,
            Kind::MediumText => 3,
            _ => 4,
        };
        if order(self.0) >= order(other.0) { self.0 } else { other.0 }
    }
}

/// The type that holds the values of all of them; those of other types are converted. `what`: named in collation
/// errors.
///
/// # Errors
/// Collations.
pub fn merge(cx: &mut CompileCx<'_>, what: &str, list: &mut [&mut Expr]) -> SqlResult<SqlType> {
    for e in list.iter() {
        if let Node::Row(_) = e.node {
            return Err(wrong_columns(1));
        }
    }
    let (ty, _) = merged(cx, what, list)?;
    for e in list.iter_mut() {
        let old = std::mem::replace(*e, Expr::null());
        **e = as_type(cx, old, &ty);
    }
    Ok(ty)
}

fn merged(
    cx: &mut CompileCx<'_>,
    what: &str,
    list: &mut [&mut Expr],
) -> SqlResult<(SqlType, Option<Collated>)> {
    let mut ty = match list.first() {
        Some(first) => SqlType { labels: None, ..first.ty.clone() },
        None => SqlType::new(Kind::Null),
    };
    if matches!(ty.kind, Kind::Enum | Kind::Set | Kind::Char) {
        ty.kind = Kind::VarChar;
    }
    for e in list.iter().skip(1) {
        ty.kind = merged_kind(&ty, &e.ty);
        let unsigned_of = |t: &SqlType| t.kind == Kind::Null || t.unsigned;
        ty.unsigned = (ty.unsigned || ty.length == 0) && unsigned_of(&e.ty);
        ty.nullable |= e.ty.nullable;
    }
    ty.unsigned =
        list.iter().all(|e| e.ty.kind == Kind::Null || e.ty.unsigned) && list.iter().any(|e| e.ty.unsigned);
    ty.zerofill = list.len() == 1 && ty.zerofill;
    ty.nullable = list.iter().any(|e| e.ty.nullable);
    if ty.kind == Kind::Float {
        // What is chosen is calculated with.
        ty.kind = Kind::Double;
    }
    let known = || list.iter().filter(|e| e.ty.kind != Kind::Null);
    let decimals = known().map(|e| e.ty.decimals).max().unwrap_or(0);
    match ty.kind {
        Kind::Null => {}
        Kind::Decimal => {
            let digits = known().map(|e| int_digits_of(e)).max().unwrap_or(0);
            ty.decimals = decimals.min(30);
            ty.length = (digits + u32::from(ty.decimals)).min(65);
            ty.collation = 63;
        }
        Kind::Double | Kind::Float => {
            let width = known().map(|e| chars(&e.ty)).max().unwrap_or(0);
            ty.decimals = decimals;
            ty.length = width.max(double_type(decimals).length.min(width));
            ty.collation = 63;
        }
        Kind::Json => ty = SqlType { nullable: ty.nullable, ..SqlType::new(Kind::Json) },
        Kind::Date => ty.length = 10,
        Kind::Time => ty = SqlType { nullable: ty.nullable, ..super::build::time_type(decimals) },
        Kind::DateTime | Kind::Timestamp => {
            ty = SqlType {
                nullable: ty.nullable,
                kind: ty.kind,
                ..super::build::datetime_type(decimals.min(6))
            };
        }
        kind if kind.is_integer() || kind == Kind::Bit => {
            ty.length = known().map(|e| chars(&e.ty)).max().unwrap_or(0);
            ty.decimals = 0;
        }
        kind => {
            let longest = known().map(|e| e.chars()).max().unwrap_or(0);
            let mut texts: Vec<&mut Expr> = list.iter_mut().map(|e| &mut **e).collect();
            let by = cx.unify(what, &mut texts, Purpose::Text)?;
            let nullable = ty.nullable;
            ty = SqlType { kind, nullable, ..text_type(longest.into(), by) };
            ty.decimals = 31;
            return Ok((ty, Some(by)));
        }
    }
    Ok((ty, None))
}

/// The type of the result as UNION and derived tables see it: of columns of these types.
///
/// # Errors
/// Collations.
pub fn union_type(cx: &mut CompileCx<'_>, columns: &[&Expr]) -> SqlResult<SqlType> {
    let mut copies: Vec<Expr> = columns.iter().map(|e| (*e).clone()).collect();
    let mut refs: Vec<&mut Expr> = copies.iter_mut().collect();
    merged(cx, "UNION", &mut refs).map(|(ty, _)| ty)
}

/// [`as_type`], and DECIMALs get exactly the digits of the type.
fn exactly(cx: &mut CompileCx<'_>, e: Expr, ty: &SqlType) -> Expr {
    let same = e.ty.kind == Kind::Decimal && e.ty.decimals == ty.decimals;
    if ty.kind != Kind::Decimal || same || e.ty.kind == Kind::Null {
        return as_type(cx, e, ty);
    }
    New::call("", SqlType { nullable: false, ..ty.clone() }, vec![e], convert).build(cx)
}

/// The result of a chosen value: derivation and collation as the type has them.
fn choice(
    cx: &mut CompileCx<'_>,
    name: &'static str,
    ty: SqlType,
    args: Vec<Expr>,
    values: &[usize],
    eval: EvalFn,
) -> New {
    let by = if ty.kind.is_string() {
        let strongest = values.iter().map(|&i| args[i].info.derivation).min();
        let ascii = values.iter().all(|&i| args[i].info.ascii);
        strongest.map(|derivation| Collated { collation: ty.collation, derivation, ascii })
    } else {
        None
    };
    let _ = cx;
    let new = New::call(name, ty, args, eval);
    match by {
        Some(by) => new.collated(by),
        None => new,
    }
}

/// `CASE [operand] WHEN … THEN … ELSE … END`.
///
/// # Errors
/// Collations, rows.
pub(super) fn case(
    cx: &mut CompileCx<'_>,
    operand: Option<Expr>,
    branches: Vec<(Expr, Expr)>,
    otherwise: Option<Expr>,
) -> SqlResult<Expr> {
    let n = branches.len();
    let (mut whens, mut values): (Vec<_>, Vec<_>) = branches.into_iter().unzip();
    let has_else = otherwise.is_some();
    values.extend(otherwise);
    values = bits_as_numbers(cx, values);
    let mut refs: Vec<&mut Expr> = values.iter_mut().collect();
    let ty = merge(cx, "case", &mut refs)?;
    let nullable = ty.nullable || !has_else;
    // Arguments: conditions, values, then ELSE; a simple CASE compares.
    if let Some(operand) = operand {
        whens = whens
            .into_iter()
            .map(|when| {
                super::compare::named_comparison(cx, super::node::CmpOp::Eq, "case", operand.clone(), when)
            })
            .collect::<SqlResult<_>>()?;
    }
    let mut args = whens;
    args.extend(values);
    let of: Vec<usize> = (n..args.len()).collect();
    let new = choice(cx, "case", ty, args, &of, eval_case).data(Data::Number(n as u64));
    Ok(if nullable { new.nullable().build_not_null(cx) } else { new.build_not_null(cx) })
}

fn eval_case<'r>(
    e: &'r Expr,
    args: &'r [Expr],
    cx: &mut EvalCx<'_>,
    row: &'r Row<'r>,
) -> SqlResult<Value<'r>> {
    let n = e.number() as usize;
    let (whens, values) = args.split_at(n);
    for (when, value) in whens.iter().zip(values) {
        if when.eval_bool(cx, row)? == Some(true) {
            return value.eval(cx, row);
        }
    }
    values.get(n).map_or(Ok(Value::Null), |otherwise| otherwise.eval(cx, row))
}

/// IF(condition, a, b).
///
/// # Errors
/// Collations, rows.
pub(super) fn if_function(cx: &mut CompileCx<'_>, mut args: Vec<Expr>) -> SqlResult<Expr> {
    let values = bits_as_numbers(cx, args.split_off(1));
    args.extend(values);
    let [_, a, b] = &mut args[..] else { return Err(wrong_columns(1)) };
    let ty = merge(cx, "if", &mut [a, b])?;
    let nullable = ty.nullable;
    let new = choice(cx, "if", ty, args, &[1, 2], eval_if);
    Ok(if nullable { new.nullable().build_not_null(cx) } else { new.build_not_null(cx) })
}

fn eval_if<'r>(_: &'r Expr, args: &'r [Expr], cx: &mut EvalCx<'_>, row: &'r Row<'r>) -> SqlResult<Value<'r>> {
    let chosen = if args[0].eval_bool(cx, row)? == Some(true) { 1 } else { 2 };
    args[chosen].eval(cx, row)
}

/// COALESCE(), IFNULL().
///
/// # Errors
/// Collations, rows.
pub(super) fn coalesce(cx: &mut CompileCx<'_>, name: &'static str, mut args: Vec<Expr>) -> SqlResult<Expr> {
    args = bits_as_numbers(cx, args);
    let mut refs: Vec<&mut Expr> = args.iter_mut().collect();
    let ty = merge(cx, name, &mut refs)?;
    let args: Vec<Expr> = args.into_iter().map(|e| exactly(cx, e, &ty)).collect();
    let nullable = args.iter().all(|e| e.ty.nullable);
    let of: Vec<usize> = (0..args.len()).collect();
    let new = choice(cx, name, ty, args, &of, eval_coalesce);
    Ok(if nullable { new.nullable().build_not_null(cx) } else { new.build_not_null(cx) })
}

fn eval_coalesce<'r>(
    _: &'r Expr,
    args: &'r [Expr],
    cx: &mut EvalCx<'_>,
    row: &'r Row<'r>,
) -> SqlResult<Value<'r>> {
    for a in args {
        let v = a.eval(cx, row)?;
        if !v.is_null() {
            return Ok(v);
        }
    }
    Ok(Value::Null)
}

/// NULLIF(a, b).
///
/// # Errors
/// Collations, rows.
pub(super) fn nullif(cx: &mut CompileCx<'_>, args: Vec<Expr>) -> SqlResult<Expr> {
    let [a, b] = <[Expr; 2]>::try_from(args).map_err(|_| wrong_columns(1))?;
    if matches!(a.node, Node::Row(_)) || matches!(b.node, Node::Row(_)) {
        return Err(wrong_columns(1));
    }
    let (mut left, mut right) = (a.clone(), b);
    let how = compare_as(cx, "nullif", &mut left, &mut right)?;
    let kind = if a.ty.kind.is_temporal() || a.is_text() { Kind::VarChar } else { a.ty.kind };
    let decimals = if kind == Kind::VarChar { 31 } else { a.ty.decimals };
    let ty = SqlType { kind, length: a.chars(), labels: None, decimals, ..a.ty.clone() };
    let ty = match kind {
        Kind::Decimal => SqlType { length: a.ty.length, ..ty },
        k if k.is_integer() => SqlType { kind: Kind::BigInt, ..ty },
        _ => ty,
    };
    let ty = match kind {
        Kind::Bit => SqlType { length: a.ty.length, ..SqlType::bigint(true) },
        Kind::Float => SqlType { kind: Kind::Double, ..ty },
        _ => ty,
    };
    let by = a.collated(cx);
    let text = kind == Kind::VarChar;
    let value = match ty.kind {
        Kind::VarChar => as_type(cx, a, &SqlType { collation: by.collation, ..ty.clone() }),
        _ => as_type(cx, a, &ty),
    };
    let new =
        New::call("nullif", ty, vec![value, left, right], eval_nullif).data(Data::Compare([how].into()));
    let new = if text { new.collated(by) } else { new };
    Ok(new.nullable().build(cx))
}

fn eval_nullif<'r>(
    e: &'r Expr,
    args: &'r [Expr],
    cx: &mut EvalCx<'_>,
    row: &'r Row<'r>,
) -> SqlResult<Value<'r>> {
    let a = args[1].eval(cx, row)?;
    if a.is_null() {
        return Ok(Value::Null);
    }
    let b = args[2].eval(cx, row)?;
    let how = e.compare_as(0);
    let (a, b) = (args[1].compared(how, a), args[2].compared(how, b));
    if eval::compare(how, &a, &b, cx) == Some(Ordering::Equal) {
        return Ok(Value::Null);
    }
    args[0].eval(cx, row)
}

/// Beside numbers, and by itself, a BIT is the number it stands for.
fn bits_as_numbers(cx: &mut CompileCx<'_>, args: Vec<Expr>) -> Vec<Expr> {
    let is_number =
        |kind: Kind| kind.is_integer() || matches!(kind, Kind::Decimal | Kind::Float | Kind::Double);
    if args.iter().any(|e| !is_number(e.ty.kind) && !matches!(e.ty.kind, Kind::Bit | Kind::Null)) {
        return args;
    }
    let as_number = |e: Expr| match e.ty.kind {
        Kind::Bit => {
            let number = SqlType { length: e.ty.length, ..SqlType::bigint(true) };
            as_type(cx, e, &number)
        }
        _ => e,
    };
    args.into_iter().map(as_number).collect()
}

/// GREATEST(), LEAST().
///
/// # Errors
/// Collations, rows.
pub(super) fn extreme(cx: &mut CompileCx<'_>, name: &'static str, mut args: Vec<Expr>) -> SqlResult<Expr> {
    for e in &args {
        if let Node::Row(_) = e.node {
            return Err(wrong_columns(1));
        }
    }
    args = bits_as_numbers(cx, args);
    let all_text = args.iter().all(|e| e.is_text() || e.ty.kind == Kind::Null);
    let any_time = args.iter().any(|e| e.ty.kind.is_temporal());
    let eval: EvalFn = if name == "greatest" { eval_greatest } else { eval_least };
    let (ty, how, by);
    if all_text || any_time {
        let longest = args.iter().map(Expr::chars).max().unwrap_or(0);
        let unified = cx.unify_all(name, &mut args, Purpose::Compare)?;
        by = Some(unified);
        how = if any_time { CompareAs::DateTime } else { CompareAs::Text(unified.collation) };
        let all_time = args.iter().all(|e| e.ty.kind.is_temporal());
        ty = if all_time {
            let mut refs: Vec<&mut Expr> = args.iter_mut().collect();
            merge(cx, name, &mut refs)?
        } else {
            text_type(longest.into(), unified)
        };
        if ty.kind.is_string() && !any_time {
            args = args.into_iter().map(|e| as_type(cx, e, &ty)).collect();
        }
        let how = match ty.kind {
            Kind::Time => CompareAs::Time,
            Kind::Date | Kind::DateTime | Kind::Timestamp => CompareAs::DateTime,
            _ => how,
        };
        let new = New::call(name, ty, args, eval).data(Data::Compare([how].into()));
        let new =
            if let (Some(by), true) = (by, how == CompareAs::DateTime || matches!(how, CompareAs::Text(_))) {
                if new.is_text() { new.collated(by) } else { new }
            } else {
                new
            };
        return Ok(new.build(cx));
    }
    // Text among numbers compares as DOUBLE, and so is the result.
    if args.iter().any(Expr::is_text) {
        let double = double_type(31);
        args = args.into_iter().map(|e| as_type(cx, e, &double)).collect();
    }
    let mut refs: Vec<&mut Expr> = args.iter_mut().collect();
    let merged = merge(cx, name, &mut refs)?;
    args = args.into_iter().map(|e| exactly(cx, e, &merged)).collect();
    let merged = match merged.kind {
        k if k.is_integer() => SqlType { unsigned: merged.unsigned, ..int_type(merged.length) },
        _ => merged,
    };
    how = match merged.kind {
        Kind::Double | Kind::Float => CompareAs::Double,
        Kind::Decimal => CompareAs::Decimal,
        _ => CompareAs::Int,
    };
    Ok(New::call(name, merged, args, eval).data(Data::Compare([how].into())).build(cx))
}

fn eval_greatest<'r>(
    e: &'r Expr,
    args: &'r [Expr],
    cx: &mut EvalCx<'_>,
    row: &'r Row<'r>,
) -> SqlResult<Value<'r>> {
    pick(Ordering::Greater, e, args, cx, row)
}

fn eval_least<'r>(
    e: &'r Expr,
    args: &'r [Expr],
    cx: &mut EvalCx<'_>,
    row: &'r Row<'r>,
) -> SqlResult<Value<'r>> {
    pick(Ordering::Less, e, args, cx, row)
}

fn pick<'r>(
    wanted: Ordering,
    e: &'r Expr,
    args: &'r [Expr],
    cx: &mut EvalCx<'_>,
    row: &'r Row<'r>,
) -> SqlResult<Value<'r>> {
    let how = e.compare_as(0);
    let mut best: Option<(Value<'r>, &Expr)> = None;
    for a in args {
        let v = a.eval(cx, row)?;
        if v.is_null() {
            return Ok(Value::Null);
        }
        match &best {
            Some((so_far, _)) if eval::compare(how, &v, so_far, cx) != Some(wanted) => {}
            _ => best = Some((v, a)),
        }
    }
    let Some((v, from)) = best else { return Ok(Value::Null) };
    if e.ty.kind.is_string() && !matches!(v, Value::Bytes(_)) {
        return Ok(Value::owned(v.to_text(&from.ty).into_owned()));
    }
    Ok(v)
}

impl Expr {
    /// Whether it is a value that CASE, IF, IFNULL or COALESCE has chosen.
    pub(super) fn is_choice(&self) -> bool {
        !self.choices().is_empty()
    }

    /// The values one of which it is, if CASE, IF, IFNULL or COALESCE chooses it.
    fn choices(&self) -> &[Expr] {
        match &self.node {
            Node::Call(call) => call.choices(),
            _ => &[],
        }
    }

    /// Whether it is an integer chosen among some that are UNSIGNED and some that are not: it is calculated with as a DECIMAL.
    pub(super) fn is_of_both_signs(&self) -> bool {
        let is_integer = |e: &Expr| e.ty.kind.is_integer();
        let mut integers = self.choices().iter().filter(|e| is_integer(e));
        let Some(first) = integers.next().filter(|_| is_integer(self)) else { return false };
        integers.any(|e| e.ty.unsigned != first.ty.unsigned)
            || self.choices().iter().any(Expr::is_of_both_signs)
    }
}

impl Call {
    /// The arguments one of which is its value, if it is CASE, IF, IFNULL or COALESCE.
    pub(super) fn choices(&self) -> &[Expr] {
        match (self.name, &self.data) {
            ("coalesce" | "ifnull", _) => &self.args,
            ("if", _) => &self.args[1..],
            ("case", Data::Number(conditions)) => &self.args[*conditions as usize..],
            _ => &[],
        }
    }
}

/// ANY_VALUE: its argument, but for ONLY_FULL_GROUP_BY.
pub(super) fn any_value(cx: &mut CompileCx<'_>, mut args: Vec<Expr>) -> Expr {
    if !matches!(args[0].info.constness, super::node::Constness::Row) {
        return args.remove(0);
    }
    let ty = args[0].ty.clone();
    let by = ty.kind.is_string().then(|| args[0].collated(cx));
    let new = New::call("any_value", ty, args, eval_any_value);
    by.into_iter().fold(new, New::collated).build(cx)
}

fn eval_any_value<'r>(
    _: &'r Expr,
    args: &'r [Expr],
    cx: &mut EvalCx<'_>,
    row: &'r Row<'r>,
) -> SqlResult<Value<'r>> {
    args[0].eval(cx, row)
}
