//! Aggregate functions.
//!
//! Compiling an expression with aggregates puts each of them on the list of [`CompileCx::aggregates`]; what is left refers
//! to their results. Accumulators live with the groups; the [`Aggregate`] they belong to is part of the plan.

use super::arith::{Numeric, int_digits, numeric, out_of_range};
use super::build::{Collated, chars, double_type, int_type, text_type};
use super::compile::Compiler;
use super::node::{Constness, Derivation, Expr, Info, Node};
use super::scope::{CompileCx, Resolved, ResolvedColumn, Scope};
use super::subquery::CompiledSubquery;
use super::{EvalCx, env, row::Row};
use crate::exec::SortRoom;
use crate::exec::distinct::{Came, Distinct};
use crate::exec::values::memory_of;
use smallvec::SmallVec;
use std::cmp::Ordering;
use vaquita_engine::text::charset::{Charset, convert};
use vaquita_engine::text::collation::aggregate::Purpose;
use vaquita_parser::ast::{self, AggregateKind};
use vaquita_types::compare::CompareAs;
use vaquita_types::{Decimal, Kind, SqlError, SqlResult, SqlType, Value, memory};

/// A compiled aggregate call.
#[derive(Debug, Clone)]
pub struct Aggregate {
    /// Which.
    pub kind: AggregateKind,
    /// DISTINCT.
    pub distinct: bool,
    /// Arguments.
    pub args: Box<[Expr]>,
    /// ORDER BY of GROUP_CONCAT; `true`: descending.
    pub order_by: Box<[(Expr, bool)]>,
    /// SEPARATOR of GROUP_CONCAT, in the result's character set.
    pub separator: Box<[u8]>,
    /// Type of the result.
    pub ty: SqlType,
    info: Info,
    /// Sums are DOUBLE, not DECIMAL.
    double: bool,
    /// How values are compared, for MIN, MAX and DISTINCT.
    how: Box<[CompareAs]>,
    order_how: Box<[CompareAs]>,
}

/// As what values of a type are ordered.
pub fn order_of(ty: &SqlType) -> CompareAs {
    match ty.kind {
        Kind::Null => CompareAs::Int,
        kind if kind.is_integer() => CompareAs::Int,
        Kind::Bit => CompareAs::Int,
        Kind::Decimal => CompareAs::Decimal,
        Kind::Float | Kind::Double => CompareAs::Double,
        Kind::Date => CompareAs::Date,
        Kind::Time => CompareAs::Time,
        Kind::DateTime | Kind::Timestamp => CompareAs::DateTime,
        Kind::Json => CompareAs::Json,
        _ => CompareAs::Text(ty.collation),
    }
}

/// The scope of an aggregate's arguments: no aggregates within.
struct Inner<'s>(&'s dyn Scope);

impl Scope for Inner<'_> {
    fn resolve(&self, name: &ast::ColumnRef<'_>) -> SqlResult<Resolved> {
        self.0.resolve_argument(name)
    }

    fn subquery(&self, query: &ast::Query<'_>, cx: &mut CompileCx<'_>) -> SqlResult<CompiledSubquery> {
        self.0.subquery(query, cx)
    }

    fn default_of(&self, column: &ast::ColumnRef<'_>) -> SqlResult<Expr> {
        self.0.default_of(column)
    }

    fn inserted_value(&self, column: &ast::ColumnRef<'_>) -> SqlResult<Option<ResolvedColumn>> {
        self.0.inserted_value(column)
    }

    fn full_text(&self, matching: &ast::Match<'_>, cx: &mut CompileCx<'_>) -> SqlResult<Expr> {
        self.0.full_text(matching, cx)
    }
}

/// An aggregate call: put on the list; the expression is its result.
///
/// # Errors
/// 1111 where aggregates are not allowed, 1235 window functions, those of the arguments.
pub(super) fn compile(compiler: &mut Compiler<'_, '_, '_>, of: &ast::Aggregate<'_>) -> SqlResult<Expr> {
    if of.over.is_some() {
        return Err(SqlError::unsupported("window functions"));
    }
    if !compiler.scope.allows_aggregates() {
        return Err(SqlError::new(1111, "Invalid use of group function"));
    }
    let inner = Inner(compiler.scope);
    let mut below = Compiler { scope: &inner, cx: compiler.cx };
    let mut args: Vec<Expr> =
        below.values(of.args)?.into_iter().map(Expr::number_operand_for(of.kind)).collect();
    let order_by = of
        .order_by
        .iter()
        .map(|item| {
            // A number stands for an argument.
            let place = match item.expr.kind {
                ast::ExprKind::Literal(ast::Literal::Int(n))
                | ast::ExprKind::Lifted { literal: ast::Literal::Int(n), .. } => Some(n),
                _ => None,
            };
            let argument = |n: u64| {
                let found = usize::try_from(n).ok().and_then(|n| args.get(n.checked_sub(1)?));
                found
                    .cloned()
                    .ok_or_else(|| SqlError::new(1054, format!("Unknown column '{n}' in 'order clause'")))
            };
            let by = match place {
                Some(n) if of.kind == AggregateKind::GroupConcat => argument(n)?,
                _ => below.value(&item.expr)?,
            };
            Ok((by, item.descending))
        })
        .collect::<SqlResult<Vec<_>>>()?;
    let cx = &mut *compiler.cx;
    let (ty, info, double) = result_of(cx, of.kind, &mut args)?;
    let how = args.iter().map(|e| order_of(&e.ty)).collect();
    let order_how = order_by.iter().map(|(e, _)| order_of(&e.ty)).collect();
    let aggregate = Aggregate {
        kind: of.kind,
        distinct: of.distinct && !matches!(of.kind, AggregateKind::Min | AggregateKind::Max),
        args: args.into(),
        order_by: order_by.into(),
        separator: separator(of.separator, cx.state.vars.character_set_client, ty.collation),
        ty: ty.clone(),
        info,
        double,
        how,
        order_how,
    };
    let at = cx.aggregates.iter().position(|known| known.same_as(&aggregate)).unwrap_or_else(|| {
        cx.aggregates.push(aggregate);
        cx.aggregates.len() - 1
    });
    let info = Info { constness: Constness::Row, has_aggregate: true, has_subquery: false, ..info };
    Ok(Expr { node: Node::Aggregate(at as u32), ty, info })
}

impl Expr {
    /// Hexadecimal literals are numbers in SUM() and the like, text elsewhere.
    fn number_operand_for(kind: AggregateKind) -> fn(Expr) -> Expr {
        use AggregateKind as K;
        match kind {
            K::Min | K::Max | K::Count | K::CountStar | K::GroupConcat => |e| e,
            _ => Expr::into_number,
        }
    }
}

/// The separator of a statement in the character set of the texts it comes between.
fn separator(given: Option<&[u8]>, client: u16, collation: u16) -> Box<[u8]> {
    let given = given.unwrap_or(b",");
    let of = |id| Charset::of_collation(id).unwrap_or(Charset::BINARY);
    let mut out = Vec::with_capacity(given.len());
    convert(of(client), of(collation), given, &mut out);
    out.into()
}

/// Type of the result; whether sums are DOUBLE.
fn result_of(
    cx: &mut CompileCx<'_>,
    kind: AggregateKind,
    args: &mut [Expr],
) -> SqlResult<(SqlType, Info, bool)> {
    use AggregateKind as K;
    let plain = Info::CONST;
    let nullable = |ty: SqlType| SqlType { nullable: true, ..ty };
    let not_null = |ty: SqlType| SqlType { nullable: false, ..ty };
    if let K::Count | K::CountStar = kind {
        return Ok((not_null(int_type(21)), plain, false));
    }
    if kind == K::GroupConcat {
        let by = cx.unify_all("group_concat", args, Purpose::Text)?;
        let limit = env::group_concat_max_len(cx.state) as u64;
        let ty = nullable(text_type(limit / u64::from(super::build::mb_max(by.collation)), by));
        let info = Info { derivation: by.derivation, ascii: by.ascii, ..plain };
        return Ok((ty, info, false));
    }
    let Some(arg) = args.first() else { return Err(SqlError::unsupported("JSON functions")) };
    let how = numeric(&arg.ty);
    let double = how == Numeric::Double;
    let of = &arg.ty;
    let scale = if double { if arg.is_text() { 31 } else { of.decimals } } else { exact_scale(of) };
    Ok(match kind {
        K::Sum if double => (nullable(double_type(scale)), plain, true),
        K::Sum => {
            let precision = (int_digits(of) + u32::from(scale) + 22).min(65);
            (nullable(SqlType::decimal(precision, scale)), plain, false)
        }
        K::Avg => {
            let increment = env::div_precision_increment(cx.state);
            if double {
                (nullable(double_type(scale.saturating_add(increment))), plain, true)
            } else {
                let wider = (scale + increment).min(30);
                let precision = (int_digits(of) + u32::from(scale) + u32::from(increment)).min(65);
                (nullable(SqlType::decimal(precision, wider)), plain, false)
            }
        }
        K::Min | K::Max => {
            let by: Collated = arg.collated(cx);
            let mut ty = SqlType { labels: None, ..of.clone() };
            if matches!(of.kind, Kind::Enum | Kind::Set | Kind::Char) {
                ty.kind = Kind::VarChar;
                ty.length = chars(of);
            }
            let derivation = if arg.is_text() { by.derivation } else { Derivation::Numeric };
            (nullable(ty), Info { derivation, ascii: arg.info.ascii, ..plain }, double)
        }
        K::BitAnd | K::BitOr | K::BitXor => {
            (not_null(SqlType { unsigned: true, ..int_type(21) }), plain, false)
        }
        K::StddevPop | K::StddevSamp | K::VarPop | K::VarSamp => (nullable(double_type(31)), plain, true),
        _ => return Err(SqlError::unsupported("JSON functions")),
    })
}

fn exact_scale(ty: &SqlType) -> u8 {
    match ty.kind {
        Kind::Decimal | Kind::Time | Kind::DateTime | Kind::Timestamp => ty.decimals.min(30),
        _ => 0,
    }
}

impl Aggregate {
    /// An empty accumulator for it, with so many bytes of memory for the values that COUNT(DISTINCT) has met, and for sorting
    /// those for which there is no room.
    pub fn accumulator(&self, memory: usize, sort: impl FnOnce() -> SortRoom) -> Accumulator {
        // What else is made of different values needs the values themselves.
        let memory = if self.counts_values() { memory } else { usize::MAX / 2 };
        let seen = self.distinct.then(|| Box::new(Distinct::new(memory, sort())));
        Accumulator { state: State::of(self), seen }
    }

    /// COUNT(DISTINCT).
    pub(crate) fn counts_values(&self) -> bool {
        self.distinct && self.kind == AggregateKind::Count
    }

    /// Whether both are the same call.
    fn same_as(&self, other: &Aggregate) -> bool {
        self.kind == other.kind
            && self.distinct == other.distinct
            && self.separator == other.separator
            && self.args.len() == other.args.len()
            && self.args.iter().zip(&other.args).all(|(a, b)| a.same_as(b))
            && self.order_by.len() == other.order_by.len()
            && self.order_by.iter().zip(&other.order_by).all(|(a, b)| a.0.same_as(&b.0) && a.1 == b.1)
    }

    /// What is known of the result.
    pub fn info(&self) -> &Info {
        &self.info
    }
}

/// The state of one aggregate over one group.
#[derive(Debug)]
pub struct Accumulator {
    state: State,
    /// The values that were taken, for DISTINCT.
    seen: Option<Box<Distinct>>,
}

#[derive(Debug)]
enum State {
    Count(i64),
    Sum(Option<Decimal>, u64),
    SumDouble(f64, u64),
    Extreme(Option<Value<'static>>),
    Bits(u64),
    /// Number, mean, sum of squared distances from it.
    Variance(u64, f64, f64),
    Concat(Texts),
}

/// A text of GROUP_CONCAT behind the keys it is sorted by.
type Text = (Vec<Value<'static>>, Vec<u8>);

/// What GROUP_CONCAT has taken. Texts that cannot come into the result, because those before them fill it, are not kept.
#[derive(Debug, Default)]
struct Texts {
    texts: Vec<Text>,
    /// Bytes of the texts and keys.
    memory: usize,
    /// When more than these are there, those that are not wanted go.
    prune_at: usize,
}

impl Texts {
    fn push(
        &mut self,
        of: &Aggregate,
        cx: &mut EvalCx<'_>,
        keys: Vec<Value<'static>>,
        text: Vec<u8>,
    ) -> SqlResult<()> {
        let limit = env::group_concat_max_len(cx.state);
        let new = (keys, text);
        let memory = Texts::memory_of(&new);
        memory::reserve(&mut self.texts, 1)?;
        self.texts.push(new);
        self.memory += memory;
        if self.memory > self.prune_at {
            self.prune(of, limit);
        }
        cx.state.worked(memory)
    }

    fn memory_of((keys, text): &Text) -> usize {
        size_of::<Text>() + text.len() + keys.iter().map(memory_of).sum::<usize>()
    }

    /// Those that come after a result that is full already go. The order of those that stay is kept.
    fn prune(&mut self, of: &Aggregate, limit: usize) {
        self.sort(of);
        let mut bytes = 0;
        let full = self.texts.iter().position(|(_, text)| {
            bytes += text.len();
            bytes > limit
        });
        if let Some(last) = full {
            self.texts.truncate(last + 1);
        }
        self.memory = self.texts.iter().map(Texts::memory_of).sum();
        self.prune_at = (2 * self.memory).max(PRUNE_MIN);
    }

    fn sort(&mut self, of: &Aggregate) {
        if !of.order_by.is_empty() {
            self.texts.sort_by(|a, b| by_keys(of, &a.0, &b.0));
        }
    }
}

/// Fewer bytes of GROUP_CONCAT are not looked through for those that are not wanted.
const PRUNE_MIN: usize = 64 << 10;

impl State {
    /// Of no rows.
    fn of(aggregate: &Aggregate) -> State {
        use AggregateKind as K;
        match aggregate.kind {
            K::Sum | K::Avg if aggregate.double => State::SumDouble(0.0, 0),
            K::Sum | K::Avg => State::Sum(None, 0),
            K::Min | K::Max => State::Extreme(None),
            K::BitAnd => State::Bits(u64::MAX),
            K::BitOr | K::BitXor => State::Bits(0),
            K::StddevPop | K::StddevSamp | K::VarPop | K::VarSamp => State::Variance(0, 0.0, 0.0),
            K::GroupConcat => State::Concat(Texts::default()),
            _ => State::Count(0),
        }
    }
}

impl Accumulator {
    /// Bytes that the values of DISTINCT and the texts of GROUP_CONCAT take.
    pub(crate) fn memory(&self) -> usize {
        let texts = if let State::Concat(list) = &self.state { list.memory } else { 0 };
        texts + self.seen.as_ref().map_or(0, |seen| seen.memory())
    }

    /// Whether values are to be written to a file: [`Accumulator::relieve`].
    pub(crate) fn is_full(&self) -> bool {
        self.seen.as_ref().is_some_and(|seen| seen.is_full())
    }

    /// Writes values to a file if there are too many. No page may be latched.
    ///
    /// # Errors
    /// The temporary file.
    pub(crate) fn relieve(&mut self) -> SqlResult<()> {
        self.seen.as_mut().map_or(Ok(()), |seen| seen.relieve())
    }

    /// Whether there were more values than memory for them.
    pub(crate) fn is_spilled(&self) -> bool {
        self.seen.as_ref().is_some_and(|seen| seen.is_late())
    }

    /// Takes a row of the group.
    ///
    /// # Errors
    /// Of the arguments; overflow.
    pub fn add(&mut self, of: &Aggregate, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<()> {
        if of.kind == AggregateKind::CountStar {
            if let State::Count(n) = &mut self.state {
                *n += 1;
            }
            return Ok(());
        }
        if self.is_repeated(of, cx, row)? {
            return Ok(());
        }
        match &mut self.state {
            State::Count(n) => {
                for arg in &of.args {
                    if arg.eval(cx, row)?.is_null() {
                        return Ok(());
                    }
                }
                *n += 1;
            }
            State::Sum(sum, n) => {
                let Some(v) = of.args[0].decimal(cx, row)? else { return Ok(()) };
                *n += 1;
                *sum = Some(match sum {
                    None => v,
                    Some(sum) => sum.add(&v).map_err(|_| out_of_range("DECIMAL", &of.args[0]))?,
                });
            }
            State::SumDouble(sum, n) => {
                let Some(v) = of.args[0].double(cx, row)? else { return Ok(()) };
                *n += 1;
                *sum += v;
            }
            State::Extreme(best) => {
                let v = of.args[0].eval(cx, row)?;
                if v.is_null() {
                    return Ok(());
                }
                let wanted = if of.kind == AggregateKind::Min { Ordering::Less } else { Ordering::Greater };
                let better = best.as_ref().is_none_or(|best| of.how[0].order(&v, best) == wanted);
                if better {
                    *best = Some(v.into_owned());
                }
            }
            State::Bits(bits) => {
                let Some(v) = of.args[0].bits(cx, row)? else { return Ok(()) };
                match of.kind {
                    AggregateKind::BitAnd => *bits &= v,
                    AggregateKind::BitOr => *bits |= v,
                    _ => *bits ^= v,
                }
            }
            State::Variance(n, mean, squares) => {
                let Some(v) = of.args[0].double(cx, row)? else { return Ok(()) };
                *n += 1;
                let before = *mean;
                *mean += (v - before) / *n as f64;
                *squares += (v - before) * (v - *mean);
            }
            State::Concat(list) => {
                let mut text = Vec::new();
                for arg in &of.args {
                    let Some(part) = arg.text(cx, row)? else { return Ok(()) };
                    memory::append(&mut text, &part)?;
                }
                let mut keys = Vec::with_capacity(of.order_by.len());
                for (key, _) in &of.order_by {
                    keys.push(memory::into_owned(key.eval(cx, row)?)?);
                }
                list.push(of, cx, keys, text)?;
            }
        }
        Ok(())
    }

    /// DISTINCT: whether these values were there before. Rows with a NULL are left to the aggregate.
    fn is_repeated(&mut self, of: &Aggregate, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<bool> {
        let Some(seen) = &mut self.seen else { return Ok(false) };
        let mut values: SmallVec<[Value<'_>; 2]> = SmallVec::new();
        for arg in &of.args {
            let v = arg.eval(cx, row)?;
            if v.is_null() {
                return Ok(false);
            }
            values.push(v);
        }
        Ok(match seen.take(&values, of.how.iter().copied()) {
            Came::First => false,
            Came::Again => true,
            Came::Late => {
                seen.push_late(&[]);
                true
            }
        })
    }

    /// The result over the rows taken.
    ///
    /// # Errors
    /// Overflow.
    pub fn finish(&mut self, of: &Aggregate, cx: &mut EvalCx<'_>) -> SqlResult<Value<'static>> {
        use AggregateKind as K;
        Ok(match &mut self.state {
            State::Count(n) => {
                if let Some(seen) = &mut self.seen {
                    *n += seen.count_late(|| cx.state.poll())? as i64;
                }
                Value::Int(*n)
            }
            State::Sum(None, _) | State::SumDouble(_, 0) | State::Variance(0, ..) => Value::Null,
            State::Sum(Some(sum), n) if of.kind == K::Avg => average(sum, *n, of, cx)?,
            State::Sum(Some(sum), _) => Value::Decimal(sum.round(of.ty.decimals.into()).unwrap_or(*sum)),
            State::SumDouble(sum, n) if of.kind == K::Avg => Value::Double(*sum / *n as f64),
            State::SumDouble(sum, _) => Value::Double(*sum),
            State::Extreme(best) => best.clone().unwrap_or_default(),
            State::Bits(bits) => Value::UInt(*bits),
            State::Variance(n, _, squares) => {
                let sample = matches!(of.kind, K::StddevSamp | K::VarSamp);
                if sample && *n < 2 {
                    return Ok(Value::Null);
                }
                let variance = *squares / if sample { *n - 1 } else { *n } as f64;
                let root = matches!(of.kind, K::StddevPop | K::StddevSamp);
                Value::Double(if root { variance.sqrt() } else { variance })
            }
            State::Concat(list) if list.texts.is_empty() => Value::Null,
            State::Concat(list) => {
                list.sort(of);
                joined(&list.texts, of, cx)?
            }
        })
    }
}

fn average(sum: &Decimal, n: u64, of: &Aggregate, cx: &EvalCx<'_>) -> SqlResult<Value<'static>> {
    let increment = env::div_precision_increment(cx.state);
    let overflow = || out_of_range("DECIMAL", &of.args[0]);
    let v = sum.div(&Decimal::from(n), increment).map_err(|_| overflow())?;
    let Some(v) = v else { return Ok(Value::Null) };
    v.round(of.ty.decimals.into()).map(Value::Decimal).map_err(|_| overflow())
}

fn by_keys(of: &Aggregate, a: &[Value<'_>], b: &[Value<'_>]) -> Ordering {
    for (i, how) in of.order_how.iter().enumerate() {
        let order = how.order(&a[i], &b[i]);
        let order = if of.order_by[i].1 { order.reverse() } else { order };
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

/// Texts with the separator between them, cut at `group_concat_max_len` with warning 1260.
fn joined(list: &[Text], of: &Aggregate, cx: &mut EvalCx<'_>) -> SqlResult<Value<'static>> {
    let limit = env::group_concat_max_len(cx.state);
    let mut out = Vec::new();
    for (i, (_, text)) in list.iter().enumerate() {
        if i > 0 {
            memory::append(&mut out, &of.separator)?;
        }
        // No more than can be part of the result.
        let room = limit.saturating_sub(out.len()) + 1;
        memory::append(&mut out, &text[..text.len().min(room)])?;
        cx.state.worked(text.len())?;
        if out.len() > limit {
            let charset = Charset::of_collation(of.ty.collation).unwrap_or(Charset::BINARY);
            out.truncate(limit);
            out.truncate(charset.complete_len(&out));
            cx.warn(1260, format!("Row {} was cut by GROUP_CONCAT()", i + 1));
            break;
        }
    }
    Ok(Value::owned(out))
}
