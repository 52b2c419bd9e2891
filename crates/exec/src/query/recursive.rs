//! WITH RECURSIVE: the first rows, then again and again what becomes of those that came last, until there are none.

mod keys;

use self::keys::Keys;
use super::kept::Rows;
use super::{Flow, Limit, Output, convert, give, run_query};
use std::sync::Arc;
use vaquita_engine::text::charset::Charset;
use vaquita_expr::{EvalCx, Row};
use vaquita_plan::{QueryPlan, Recursion};
use vaquita_session::temp::TmpFolders;
use vaquita_types::{Kind, SqlError, SqlResult, SqlType, Value};

/// Runs a recursion; the number of rows as of [`run_query`].
pub(super) fn run(
    plan: &QueryPlan,
    recursion: &Recursion,
    cx: &mut EvalCx<'_>,
    row: &Row<'_>,
    count_all: bool,
    out: &mut dyn Output,
) -> SqlResult<u64> {
    let limit = Limit::of(plan.limit.as_ref(), cx, row, count_all)?;
    if limit.is_empty() {
        return Ok(0);
    }
    let memory = cx.state.vars.tmp_memory();
    let folders = cx.state.vars.tmp_folders.clone();
    let mut taking = Taking {
        plan,
        recursion,
        from: &recursion.first.types,
        seen: recursion.distinct.then(|| Keys::new(memory, cx.state.vars.sort_room())),
        rows: Rows::new(memory, folders.clone()),
        limit,
        stopped: false,
        out,
    };
    run_query(&recursion.first, cx, row, false, &mut taking)?;
    let place = Arc::as_ptr(&recursion.last).addr();
    let done = repeat(&mut taking, place, memory, &folders, cx, row);
    cx.state.subqueries.take::<Rows>(place);
    done.map(|()| taking.limit.seen)
}

fn repeat(
    taking: &mut Taking<'_>,
    place: usize,
    memory: usize,
    folders: &Arc<TmpFolders>,
    cx: &mut EvalCx<'_>,
    row: &Row<'_>,
) -> SqlResult<()> {
    let mut depth = 0;
    let mut spare = None;
    while !taking.stopped && !taking.rows.is_empty() {
        depth += 1;
        if depth > cx.state.vars.cte_max_recursion_depth {
            return Err(SqlError::new(
                3636,
                format!(
                    "Recursive query aborted after {depth} iterations. Try increasing @@cte_max_recursion_depth to \
                     a larger value."
                ),
            ));
        }
        taking.rows.complete(cx)?;
        let empty = spare.take().unwrap_or_else(|| Rows::new(memory, folders.clone()));
        let last = std::mem::replace(&mut taking.rows, empty);
        cx.state.subqueries.put(place, Arc::new(last));
        for part in &taking.recursion.next {
            taking.from = &part.types;
            run_query(part, cx, row, false, taking)?;
            if taking.stopped {
                break;
            }
        }
        spare = cx.state.subqueries.take(place).and_then(Arc::into_inner).map(Rows::emptied);
        cx.state.poll()?;
    }
    Ok(())
}

/// Takes the rows of a part: they go on to whoever asked, and become the last ones.
struct Taking<'t> {
    plan: &'t QueryPlan,
    recursion: &'t Recursion,
    /// Types of the part's columns.
    from: &'t [SqlType],
    seen: Option<Keys>,
    rows: Rows,
    limit: Limit,
    stopped: bool,
    out: &'t mut dyn Output,
}

impl Output for Taking<'_> {
    fn row(&mut self, cx: &mut EvalCx<'_>, values: &[Value<'_>]) -> SqlResult<Flow> {
        let mut row: smallvec::SmallVec<[Value<'_>; 8]> = smallvec::SmallVec::new();
        for (i, ((value, from), to)) in values.iter().zip(self.from).zip(self.plan.types.iter()).enumerate() {
            row.push(fit(value, from, to, &self.recursion.columns[i], self.limit.seen + 1, cx)?);
        }
        if let Some(seen) = &mut self.seen
            && !seen.take(&row, &self.plan.types)?
        {
            return Ok(Flow::Go);
        }
        if self.rows.push(row.iter().map(Value::borrowed)) == Flow::Pause {
            self.rows.relieve()?;
        }
        if !give(&row, &mut self.limit, cx, self.out)? {
            self.stopped = true;
            return Ok(Flow::Stop);
        }
        Ok(Flow::Go)
    }
}

/// A value as the recursion's column has it, whose type follows from the first rows.
///
/// # Errors
/// In strict mode: 1406 a text is too long, 1264 a number is too large.
fn fit<'v>(
    value: &'v Value<'_>,
    from: &SqlType,
    to: &SqlType,
    name: &str,
    row: u64,
    cx: &mut EvalCx<'_>,
) -> SqlResult<Value<'v>> {
    // Most are whole numbers that fit.
    if let Value::Int(v) = *value
        && !to.unsigned
        && (to.kind == Kind::BigInt || to.kind == Kind::Int && i32::try_from(v).is_ok())
    {
        return Ok(Value::Int(v));
    }
    let refuse = |code: u16, what: &str, cut: Value<'v>, cx: &mut EvalCx<'_>| {
        let strict = cx.state.vars.sql_mode.is_strict();
        let told = match (code, strict) {
            (1406, false) => (1265, format!("Data truncated for column '{name}' at row {row}")),
            _ => (code, format!("{what} for column '{name}' at row {row}")),
        };
        if strict {
            return Err(SqlError::new(told.0, told.1));
        }
        cx.warn(told.0, told.1);
        Ok(cut)
    };
    let is_text = matches!(to.kind, Kind::VarChar | Kind::Char);
    if to.kind == Kind::Decimal && !value.is_null() {
        let (fitted, _, clipped) = value.to_decimal(&mut cx.convert()).fit(to.length.max(1), to.decimals);
        return match clipped {
            true => refuse(1264, "Out of range value", Value::Decimal(fitted), cx),
            false => Ok(Value::Decimal(fitted)),
        };
    }
    if let (Some((least, greatest)), false) = (range_of(to), value.is_null()) {
        let wide = match value {
            Value::Int(v) => i128::from(*v),
            Value::UInt(v) => i128::from(*v),
            Value::Decimal(_) | Value::Float(_) | Value::Double(_) => {
                let whole = value.to_decimal(&mut cx.convert()).round(0);
                whole.ok().and_then(|v| v.to_string().parse().ok()).unwrap_or(i128::MAX)
            }
            other => i128::from(other.to_i64(&mut cx.convert())),
        };
        let clipped = wide.clamp(least, greatest);
        let fitted = if to.unsigned { Value::UInt(clipped as u64) } else { Value::Int(clipped as i64) };
        return match clipped == wide {
            true => Ok(fitted),
            false => refuse(1264, "Out of range value", fitted, cx),
        };
    }
    let value = convert(value, from, to, cx)?;
    let Value::Bytes(text) = &value else { return Ok(value) };
    // No character has more than one of so many bytes.
    if !is_text || text.len() <= to.length as usize {
        return Ok(value);
    }
    let charset = Charset::of_collation(to.collation).unwrap_or(Charset::BINARY);
    let end = charset.prefix_len(text, to.length as usize);
    if end == text.len() {
        return Ok(value);
    }
    let cut = Value::owned(text[..end].to_vec());
    refuse(1406, "Data too long", cut, cx)
}

/// The least and the greatest value of an integer type.
fn range_of(ty: &SqlType) -> Option<(i128, i128)> {
    let bits = match ty.kind {
        Kind::TinyInt => 8,
        Kind::SmallInt => 16,
        Kind::MediumInt => 24,
        Kind::Int => 32,
        Kind::BigInt => 64,
        _ => return None,
    };
    Some(match ty.unsigned {
        true => (0, (1 << bits) - 1),
        false => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
    })
}
