//! Aggregate functions.
//!
//! Compiling an expression with aggregates puts each of them on the list of [`CompileCx::aggregates`]; what is left refers
//! to their results. Accumulators live with the groups; the [`Aggregate`] they belong to is part of the plan.

use super::document;
use super::node::{Expr, Info};
use super::print::out_of_range;
use super::{EvalCx, env, row::Row};
use smallvec::SmallVec;
use std::cmp::Ordering;
use vaquita_engine::text::charset::Charset;
use vaquita_parser::ast::AggregateKind;
use vaquita_session::temp::SortRoom;
use vaquita_session::temp::distinct::{Came, Distinct};
use vaquita_session::temp::values::memory_of;
use vaquita_types::compare::CompareAs;
use vaquita_types::json::Json;
use vaquita_types::{Decimal, Kind, SqlResult, SqlType, Value, memory};

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
    pub(super) info: Info,
    /// Sums are DOUBLE, not DECIMAL.
    pub(super) double: bool,
    /// How values are compared, for MIN, MAX and DISTINCT.
    pub(super) how: Box<[CompareAs]>,
    pub(super) order_how: Box<[CompareAs]>,
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
    pub fn counts_values(&self) -> bool {
        self.distinct && self.kind == AggregateKind::Count
    }

    /// Whether both are the same call.
    pub(super) fn same_as(&self, other: &Aggregate) -> bool {
        self.kind == other.kind
            && self.distinct == other.distinct
            && self.separator == other.separator
            && self.args.len() == other.args.len()
            && self.args.iter().zip(&other.args).all(|(a, b)| a.same_as(b))
            && self.order_by.len() == other.order_by.len()
            && self.order_by.iter().zip(&other.order_by).all(|(a, b)| a.0.same_as(&b.0) && a.1 == b.1)
    }

    /// How two values of its first argument are ordered.
    pub fn order(&self, a: &Value<'_>, b: &Value<'_>) -> Ordering {
        self.how.first().map_or(Ordering::Equal, |how| how.order(a, b))
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
    /// Elements of JSON_ARRAYAGG, bytes they take.
    JsonArray(Vec<Json>, usize),
    /// Members of JSON_OBJECTAGG, bytes they take.
    JsonObject(Vec<(Vec<u8>, Json)>, usize),
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
            K::JsonArrayAgg => State::JsonArray(Vec::new(), 0),
            K::JsonObjectAgg => State::JsonObject(Vec::new(), 0),
            _ => State::Count(0),
        }
    }
}

impl Accumulator {
    /// Bytes that the values of DISTINCT and the texts of GROUP_CONCAT take.
    pub fn memory(&self) -> usize {
        let texts = match &self.state {
            State::Concat(list) => list.memory,
            State::JsonArray(_, bytes) | State::JsonObject(_, bytes) => *bytes,
            _ => 0,
        };
        texts + self.seen.as_ref().map_or(0, |seen| seen.memory())
    }

    /// Whether values are to be written to a file: [`Accumulator::relieve`].
    pub fn is_full(&self) -> bool {
        self.seen.as_ref().is_some_and(|seen| seen.is_full())
    }

    /// Writes values to a file if there are too many. No page may be latched.
    ///
    /// # Errors
    /// The temporary file.
    pub fn relieve(&mut self) -> SqlResult<()> {
        self.seen.as_mut().map_or(Ok(()), |seen| seen.relieve())
    }

    /// Whether there were more values than memory for them.
    pub fn is_spilled(&self) -> bool {
        self.seen.as_ref().is_some_and(|seen| seen.is_late())
    }

    /// Takes a row of the group.
    ///
    /// # Errors
    /// Of the arguments; overflow.
    pub fn add(&mut self, of: &Aggregate, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<()> {
        // That of GROUPING() follows from the row that the groups make, not from those of the group.
        if matches!(of.kind, AggregateKind::CountStar | AggregateKind::Grouping) {
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
            State::JsonArray(items, bytes) => {
                let item = document::value_of(&of.args[0], cx, row)?;
                *bytes += item.memory();
                cx.state.worked(item.memory())?;
                memory::reserve(items, 1)?;
                items.push(item);
            }
            State::JsonObject(members, bytes) => {
                let key = document::key_of(&of.args[0], cx, row)?;
                let value = document::value_of(&of.args[1], cx, row)?;
                let size = key.len() + value.memory();
                *bytes += size;
                cx.state.worked(size)?;
                memory::reserve(members, 1)?;
                members.push((key, value));
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

    /// Whether it is a sum or average of DOUBLE, which is one of numbers.
    pub fn sums_doubles(&self) -> bool {
        matches!(self.state, State::SumDouble(..))
    }

    /// The number that a row gives to a sum of DOUBLE, if its value is not NULL.
    ///
    /// # Errors
    /// Of the argument.
    pub fn addend(of: &Aggregate, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Option<f64>> {
        of.args[0].double(cx, row)
    }

    /// Takes numbers, one after the other, into a sum of DOUBLE.
    pub fn add_doubles<'n>(&mut self, numbers: impl Iterator<Item = &'n f64>) {
        if let State::SumDouble(sum, n) = &mut self.state {
            for v in numbers {
                *sum += v;
                *n += 1;
            }
        }
    }

    /// Whether rows can be taken away again with nothing lost.
    pub fn can_remove(&self) -> bool {
        matches!(self.state, State::Count(_) | State::Sum(..))
    }

    /// Takes a row away that was added.
    ///
    /// # Errors
    /// Of the arguments.
    pub fn remove(&mut self, of: &Aggregate, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<()> {
        match &mut self.state {
            State::Count(n) => {
                for arg in &of.args {
                    if arg.eval(cx, row)?.is_null() {
                        return Ok(());
                    }
                }
                *n -= 1;
            }
            State::Sum(sum, n) => {
                let Some(v) = of.args[0].decimal(cx, row)? else { return Ok(()) };
                *n -= 1;
                *sum = match sum {
                    Some(sum) if *n > 0 => {
                        Some(sum.sub(&v).map_err(|_| out_of_range("DECIMAL", &of.args[0]))?)
                    }
                    _ => None,
                };
            }
            _ => {}
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
            // The least BIT is a number, the least FLOAT a DOUBLE, until it is a column again.
            State::Extreme(best) => match best.clone().unwrap_or_default() {
                Value::Bit { value, .. } => Value::UInt(value),
                Value::Float(v) => Value::Double(v.into()),
                best => best,
            },
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
            State::JsonArray(items, _) if items.is_empty() => Value::Null,
            State::JsonObject(members, _) if members.is_empty() => Value::Null,
            State::JsonArray(items, _) => {
                // What is there stays, for a window's next row.
                let tree = Json::Array(std::mem::take(items));
                let document = tree.to_document();
                if let Json::Array(list) = tree {
                    *items = list;
                }
                Value::Json(document?.into())
            }
            State::JsonObject(members, _) => {
                let tree = Json::object(std::mem::take(members))?;
                let document = tree.to_document();
                if let Json::Object(list) = tree {
                    *members = list;
                }
                Value::Json(document?.into())
            }
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
