//! Window functions and their windows.

use super::{Compiler, aggregate};
use crate::build::{double_type, int_type};
use crate::control::union_type;
use crate::convert::as_type;
use crate::functions::date_arith;
use crate::node::{Constness, Expr, Info, Node};
use crate::query::CompiledSubquery;
use crate::scope::{CompileCx, Resolved, ResolvedColumn, Scope};
use crate::window::{Bound, Distance, Frame, UNNAMED, Window, WindowCall, WindowKind, misplaced};
use crate::{Derivation, Row, compare};
use vaquita_parser::ast::{self, AggregateKind, ExprKind, FrameBound, Over, WindowSpec};
use vaquita_types::{Kind, SqlError, SqlResult, SqlType, Value};

/// The scope of what is inside of a window function: no other one.
struct Within<'s> {
    scope: &'s dyn Scope,
    /// In the definition of a window: its name.
    window: Option<&'s str>,
}

impl Scope for Within<'_> {
    fn resolve(&self, name: &ast::ColumnRef<'_>) -> SqlResult<Resolved> {
        self.scope.resolve(name)
    }

    fn resolve_argument(&self, name: &ast::ColumnRef<'_>) -> SqlResult<Resolved> {
        self.scope.resolve_argument(name)
    }

    fn full_name(&self, column: &ResolvedColumn, written: &ast::ColumnRef<'_>) -> String {
        self.scope.full_name(column, written)
    }

    fn allows_aggregates(&self) -> bool {
        self.scope.allows_aggregates()
    }

    fn window_refusal(&self, function: &str) -> Option<SqlError> {
        Some(match self.window {
            None => misplaced(function),
            Some(window) => SqlError::new(
                3595,
                format!("You cannot nest a window function in the specification of window '{window}'."),
            ),
        })
    }

    fn subquery(&self, query: &ast::Query<'_>, cx: &mut CompileCx<'_>) -> SqlResult<CompiledSubquery> {
        self.scope.subquery(query, cx)
    }

    fn default_of(&self, column: &ast::ColumnRef<'_>) -> SqlResult<Expr> {
        self.scope.default_of(column)
    }
}

/// A call with OVER that is no aggregate.
///
/// # Errors
/// 3593 where window functions are not allowed, 1210 arguments, those of the window.
pub(super) fn call(
    compiler: &mut Compiler<'_, '_, '_>,
    of: &ast::Call<'_>,
    over: &Over<'_>,
) -> SqlResult<Expr> {
    let name = of.name.to_string().to_ascii_lowercase();
    let (kind, least, most) = match name.as_str() {
        "row_number" => (WindowKind::RowNumber, 0, 0),
        "rank" => (WindowKind::Rank, 0, 0),
        "dense_rank" => (WindowKind::DenseRank, 0, 0),
        "percent_rank" => (WindowKind::PercentRank, 0, 0),
        "cume_dist" => (WindowKind::CumeDist, 0, 0),
        "ntile" => (WindowKind::Ntile, 1, 1),
        "lag" => (WindowKind::Lag, 1, 3),
        "lead" => (WindowKind::Lead, 1, 3),
        "first_value" => (WindowKind::FirstValue, 1, 1),
        "last_value" => (WindowKind::LastValue, 1, 1),
        "nth_value" => (WindowKind::NthValue, 2, 2),
        _ => {
            let message = format!(
                "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version \
                 for the right syntax to use: '{name}' is no window function"
            );
            return Err(SqlError::new(1064, message));
        }
    };
    if let Some(refused) = compiler.scope.window_refusal(&name) {
        return Err(refused);
    }
    if of.from_last {
        return Err(SqlError::new(1235, "This version of MySQL doesn't yet support 'FROM LAST'"));
    }
    if of.ignore_nulls {
        return Err(SqlError::new(1235, "This version of MySQL doesn't yet support 'IGNORE NULLS'"));
    }
    if of.args.len() < least || of.args.len() > most {
        return Err(SqlError::new(1210, format!("Incorrect arguments to {name}")));
    }
    let within = Within { scope: compiler.scope, window: None };
    let mut below = Compiler { scope: &within, cx: compiler.cx };
    let mut args = below.values(of.args)?;
    let mut count = None;
    if let WindowKind::Ntile = kind {
        count = args.pop();
    } else if args.len() > 1 {
        count = Some(args.remove(1));
    }
    if let Some(count) = &count {
        check_count(count, !matches!(kind, WindowKind::Lag | WindowKind::Lead), &name, compiler.cx)?;
    }
    let window = window(compiler, over)?;
    let (ty, info) = result_of(compiler.cx, &kind, &mut args)?;
    Ok(noted(compiler.cx, WindowCall { kind, args, count, window, ty: ty.clone() }, ty, info))
}

/// An aggregate with OVER.
///
/// # Errors
/// As [`call`].
pub(super) fn over(
    compiler: &mut Compiler<'_, '_, '_>,
    of: &ast::Aggregate<'_>,
    over: &Over<'_>,
) -> SqlResult<Expr> {
    let name = aggregate_name(of.kind);
    if let Some(refused) = compiler.scope.window_refusal(name) {
        return Err(refused);
    }
    if of.distinct && !matches!(of.kind, AggregateKind::Min | AggregateKind::Max) {
        return Err(SqlError::new(
            1235,
            "This version of MySQL doesn't yet support '<window function>(DISTINCT ..)'",
        ));
    }
    if of.kind == AggregateKind::GroupConcat {
        return Err(SqlError::new(
            1235,
            "This version of MySQL doesn't yet support 'group_concat as window function'",
        ));
    }
    let within = Within { scope: compiler.scope, window: None };
    let mut below = Compiler { scope: &within, cx: compiler.cx };
    let aggregate = aggregate::build(&mut below, of)?;
    let window = window(compiler, over)?;
    let (ty, info) = (aggregate.ty.clone(), *aggregate.info());
    let kind = WindowKind::Aggregate(Box::new(aggregate));
    let call = WindowCall { kind, args: Vec::new(), count: None, window, ty: ty.clone() };
    Ok(noted(compiler.cx, call, ty, info))
}

fn aggregate_name(kind: AggregateKind) -> &'static str {
    use AggregateKind as K;
    match kind {
        K::CountStar | K::Count => "count",
        K::Sum => "sum",
        K::Avg => "avg",
        K::Min => "min",
        K::Max => "max",
        K::BitAnd => "bit_and",
        K::BitOr => "bit_or",
        K::BitXor => "bit_xor",
        K::StddevPop => "std",
        K::StddevSamp => "stddev_samp",
        K::VarPop => "variance",
        K::VarSamp => "var_samp",
        K::GroupConcat => "group_concat",
        K::JsonArrayAgg => "json_arrayagg",
        K::JsonObjectAgg => "json_objectagg",
        K::Grouping => "grouping",
    }
}

fn noted(cx: &mut CompileCx<'_>, call: WindowCall, ty: SqlType, info: Info) -> Expr {
    let calls = &mut cx.windows.calls;
    let at = calls.iter().position(|known| known.same_as(&call)).unwrap_or_else(|| {
        calls.push(call);
        calls.len() - 1
    });
    let info =
        Info { constness: Constness::Row, has_aggregate: true, has_subquery: false, quiet: true, ..info };
    Expr { node: Node::Window(at as u32), ty, info }
}

/// n of NTILE and its kin: a whole number that is the same for all rows.
fn check_count(count: &Expr, positive: bool, name: &str, cx: &mut CompileCx<'_>) -> SqlResult<()> {
    let wrong = || SqlError::new(1210, format!("Incorrect arguments to {name}"));
    match count.constness() {
        Constness::Row => Err(wrong()),
        Constness::Execution => Ok(()),
        Constness::Const => match count.eval(&mut cx.session, &Row::constant(&[]))? {
            Value::Int(v) if v > 0 || v == 0 && !positive => Ok(()),
            Value::UInt(v) if v > 0 || !positive => Ok(()),
            _ => Err(wrong()),
        },
    }
}

fn result_of(cx: &mut CompileCx<'_>, kind: &WindowKind, args: &mut [Expr]) -> SqlResult<(SqlType, Info)> {
    let plain = Info { derivation: Derivation::Numeric, ..Info::CONST };
    Ok(match (kind, args) {
        (WindowKind::PercentRank | WindowKind::CumeDist, _) => {
            (SqlType { nullable: false, ..double_type(31) }, plain)
        }
        (_, [value, default]) => {
            let ty = SqlType { nullable: true, ..union_type(cx, &[&*value, &*default])? };
            *value = as_type(cx, value.clone(), &ty);
            *default = as_type(cx, default.clone(), &ty);
            let info = Info { derivation: value.info.derivation, ascii: false, ..plain };
            (ty, info)
        }
        (_, [value]) => {
            let info = Info { derivation: value.info.derivation, ascii: value.info.ascii, ..plain };
            (SqlType { nullable: true, ..value.ty.clone() }, info)
        }
        _ => (SqlType { unsigned: true, nullable: matches!(kind, WindowKind::Ntile), ..int_type(21) }, plain),
    })
}

/// The windows of a WINDOW clause; they are left in the context.
///
/// # Errors
/// 3591 two of one name, 3579 and 3580 what they are made of, those of their parts.
pub fn compile_windows(
    windows: &[ast::NamedWindow<'_>],
    scope: &dyn Scope,
    cx: &mut CompileCx<'_>,
) -> SqlResult<()> {
    for (i, one) in windows.iter().enumerate() {
        if windows[..i].iter().any(|other| same_name(&other.name, &one.name)) {
            return Err(SqlError::new(3591, format!("Window '{}' is defined twice.", one.name)));
        }
    }
    let mut left: Vec<&ast::NamedWindow<'_>> = windows.iter().collect();
    while !left.is_empty() {
        let known = |name: &ast::Ident<'_>, cx: &CompileCx<'_>| {
            cx.windows.named.iter().any(|w| w.name.eq_ignore_ascii_case(&name.to_string()))
        };
        let Some(next) = left.iter().position(|w| w.spec.base.is_none_or(|base| known(&base, cx))) else {
            let missing = left.iter().filter_map(|w| w.spec.base);
            let unknown = missing.into_iter().find(|base| !windows.iter().any(|w| same_name(&w.name, base)));
            return Err(match unknown {
                Some(base) => not_defined(&base.to_string()),
                None => SqlError::new(3580, "There is a circularity in the window dependency graph."),
            });
        };
        let next = left.remove(next);
        let name = next.name.to_string();
        let window = defined(&mut Compiler { scope, cx }, &next.spec, &name)?;
        cx.windows.named.push(window);
    }
    Ok(())
}

fn same_name(a: &ast::Ident<'_>, b: &ast::Ident<'_>) -> bool {
    a.to_string().eq_ignore_ascii_case(&b.to_string())
}

fn not_defined(name: &str) -> SqlError {
    SqlError::new(3579, format!("Window name '{name}' is not defined."))
}

fn named(cx: &CompileCx<'_>, name: &str) -> SqlResult<Window> {
    let found = cx.windows.named.iter().find(|w| w.name.eq_ignore_ascii_case(name));
    found.cloned().ok_or_else(|| not_defined(name))
}

fn window(compiler: &mut Compiler<'_, '_, '_>, over: &Over<'_>) -> SqlResult<Window> {
    match over {
        Over::Named(name) => named(compiler.cx, &name.to_string()),
        Over::Spec(spec) => defined(compiler, spec, UNNAMED),
    }
}

fn defined(compiler: &mut Compiler<'_, '_, '_>, spec: &WindowSpec<'_>, name: &str) -> SqlResult<Window> {
    let base = spec.base.map(|base| named(compiler.cx, &base.to_string())).transpose()?;
    if let Some(base) = &base {
        if !spec.partition_by.is_empty() {
            let message = "A window which depends on another cannot define partitioning.";
            return Err(SqlError::new(3581, message));
        }
        if base.frame.is_some() {
            return Err(SqlError::new(
                3582,
                format!(
                    "Window '{}' has a frame definition, so cannot be referenced by another window.",
                    base.name
                ),
            ));
        }
        if !base.order.is_empty() && !spec.order_by.is_empty() {
            let message = format!(
                "Window '{name}' cannot inherit '{}' since both contain an ORDER BY clause.",
                base.name
            );
            return Err(SqlError::new(3583, message));
        }
    }
    let within = Within { scope: compiler.scope, window: Some(name) };
    let mut below = Compiler { scope: &within, cx: compiler.cx };
    let mut key = |e: &ast::Expr<'_>| {
        if let ExprKind::Literal(ast::Literal::Int(_)) = e.kind {
            return Err(SqlError::new(
                3592,
                format!(
                    "Window '{name}': ORDER BY or PARTITION BY uses legacy position indication which is not \
                     supported, use expression."
                ),
            ));
        }
        below.value(e)
    };
    let mut partition = spec.partition_by.iter().map(&mut key).collect::<SqlResult<Vec<_>>>()?;
    let mut order = Vec::with_capacity(spec.order_by.len());
    for item in spec.order_by {
        order.push((key(&item.expr)?, item.descending));
    }
    if let Some(base) = base {
        partition = base.partition;
        if order.is_empty() {
            order = base.order;
        }
    }
    let frame = spec.frame.map(|frame| compile_frame(&mut below, frame, &order, name)).transpose()?;
    Ok(Window { name: name.to_owned(), partition, order, frame })
}

fn compile_frame(
    compiler: &mut Compiler<'_, '_, '_>,
    frame: &ast::Frame<'_>,
    order: &[(Expr, bool)],
    name: &str,
) -> SqlResult<Frame> {
    let end = frame.end.unwrap_or(FrameBound::CurrentRow);
    let wrong = |code: u16, what: &str| Err(SqlError::new(code, format!("Window '{name}'{what}")));
    match (&frame.start, &end) {
        (FrameBound::UnboundedFollowing, _) => {
            return wrong(3584, ": frame start cannot be UNBOUNDED FOLLOWING.");
        }
        (_, FrameBound::UnboundedPreceding) => {
            return wrong(3585, ": frame end cannot be UNBOUNDED PRECEDING.");
        }
        (FrameBound::CurrentRow, FrameBound::Preceding(_))
        | (FrameBound::Following(_), FrameBound::Preceding(_) | FrameBound::CurrentRow) => {
            return Err(wrong_bound(name));
        }
        _ => {}
    }
    let mut bound = |of: &FrameBound<'_>| {
        Ok(match of {
            FrameBound::UnboundedPreceding => Bound::UnboundedPreceding,
            FrameBound::CurrentRow => Bound::CurrentRow,
            FrameBound::UnboundedFollowing => Bound::UnboundedFollowing,
            FrameBound::Preceding(e) => {
                Bound::Preceding(distance(compiler, e, frame.rows, true, order, name)?)
            }
            FrameBound::Following(e) => {
                Bound::Following(distance(compiler, e, frame.rows, false, order, name)?)
            }
        })
    };
    Ok(Frame { rows: frame.rows, start: bound(&frame.start)?, end: bound(&end)? })
}

/// Error 3586.
fn wrong_bound(name: &str) -> SqlError {
    let message = format!("Window '{name}': frame start or end is negative, NULL or of non-integral type");
    SqlError::new(3586, message)
}

fn distance(
    compiler: &mut Compiler<'_, '_, '_>,
    of: &ast::Expr<'_>,
    rows: bool,
    preceding: bool,
    order: &[(Expr, bool)],
    name: &str,
) -> SqlResult<Distance> {
    let wrong = |code: u16, what: &str| Err(SqlError::new(code, format!("Window '{name}'{what}")));
    let interval = match &of.kind {
        ExprKind::DateAdd { base, amount, unit, .. } if std::ptr::eq(*base, *amount) => Some((amount, *unit)),
        _ => None,
    };
    if rows && interval.is_some() {
        return wrong(3596, ": INTERVAL can only be used with RANGE frames.");
    }
    let amount = compiler.value(interval.map_or(of, |(amount, _)| amount))?;
    if amount.constness() == Constness::Row {
        return wrong(3590, " has a non-constant frame bound.");
    }
    if amount.constness() == Constness::Const {
        let cx = &mut compiler.cx.session;
        let none = Row::constant(&[]);
        let value = amount.eval(cx, &none)?;
        let whole = matches!(value, Value::Int(_) | Value::UInt(_));
        let negative = value.to_f64(&mut cx.convert()) < 0.0;
        if value.is_null() || negative || rows && !whole {
            return Err(wrong_bound(name));
        }
    }
    if rows {
        return Ok(Distance::Number(amount));
    }
    let [(by, descending)] = order else {
        return wrong(
            3587,
            " with RANGE N PRECEDING/FOLLOWING frame requires exactly one ORDER BY expression, of numeric or temporal \
             type",
        );
    };
    let temporal = by.ty.kind.is_temporal();
    let numeric = by.ty.kind.is_integer()
        || matches!(by.ty.kind, Kind::Decimal | Kind::Float | Kind::Double | Kind::Bit);
    match (temporal, numeric, interval) {
        (false, true, None) => Ok(Distance::Number(amount)),
        (false, true, Some(_)) => wrong(
            3589,
            " with RANGE frame has ORDER BY expression of numeric type, INTERVAL bound value not allowed.",
        ),
        (true, _, None) => wrong(
            3588,
            " with RANGE frame has ORDER BY expression of datetime type. Only INTERVAL bound value allowed.",
        ),
        (true, _, Some((_, unit))) => {
            let subtract = preceding != *descending;
            let mut bound = date_arith::add(compiler.cx, by.clone(), amount, unit, subtract);
            let how = compare::compare_as(compiler.cx, " < ", &mut by.clone(), &mut bound)?;
            Ok(Distance::Interval(bound, how))
        }
        _ => wrong(
            3587,
            " with RANGE N PRECEDING/FOLLOWING frame requires exactly one ORDER BY expression, of numeric or temporal \
             type",
        ),
    }
}
