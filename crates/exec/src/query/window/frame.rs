//! Frames: from which row on to which one a function looks.

use super::store::{Cursor, Store};
use std::cmp::Ordering;
use vaquita_expr::window::{Bound, Distance};
use vaquita_expr::{EvalCx, Row};
use vaquita_plan::WindowFunction;
use vaquita_session::temp::values::Values;
use vaquita_types::compare::CompareAs;
use vaquita_types::{SqlError, SqlResult, Value};

/// Where the present row is.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    /// Number of rows.
    pub(super) n: u64,
    /// Number of the row, from 0.
    pub(super) i: u64,
    /// The first of its peers.
    pub(super) start: u64,
    /// The row behind the last of them.
    pub(super) end: u64,
    /// Groups of peers up to it.
    pub(super) group: u64,
}

/// The ends of a frame, with what is the same for all rows.
pub(super) struct Ends {
    rows: bool,
    start: End,
    end: End,
    by: Option<(usize, bool)>,
}

enum End {
    First,
    Last,
    Present,
    /// Rows before (`true`) or behind.
    Rows(bool, u64),
    /// So much less or more, in the direction of the order.
    Number(bool, Value<'static>),
    /// Where this input says.
    Input(usize, CompareAs),
}

impl Ends {
    pub(super) fn new(of: &WindowFunction, cx: &mut EvalCx<'_>, base: &Row<'_>) -> SqlResult<Ends> {
        let Some(frame) = &of.frame else {
            let end = if of.ordered { End::Present } else { End::Last };
            return Ok(Ends { rows: false, start: End::First, end, by: None });
        };
        let mut end = |bound: &Bound| {
            Ok(match bound {
                Bound::UnboundedPreceding => End::First,
                Bound::UnboundedFollowing => End::Last,
                Bound::CurrentRow => End::Present,
                Bound::Preceding(distance) => distance_of(distance, true, frame.rows, cx, base)?,
                Bound::Following(distance) => distance_of(distance, false, frame.rows, cx, base)?,
            })
        };
        Ok(Ends { rows: frame.rows, start: end(&frame.start)?, end: end(&frame.end)?, by: of.by })
    }

    /// Whether it asks for the peers of the present row.
    pub(super) fn needs_peers(&self) -> bool {
        let whole = |end: &End| matches!(end, End::First | End::Last);
        !(self.rows || whole(&self.start) && whole(&self.end))
    }

    /// Whether every frame begins with the first row.
    pub(super) fn begins_with_first(&self) -> bool {
        matches!(self.start, End::First)
    }

    /// How many rows behind the present one (and its peers, if these count) frames are known with; `None`: with all.
    pub(super) fn lookahead(&self) -> Option<u64> {
        let of = |end: &End| match end {
            End::First | End::Present | End::Rows(true, _) | End::Number(true, _) => Some(0),
            End::Rows(false, n) => Some(*n),
            End::Last | End::Number(false, _) | End::Input(..) => None,
        };
        Some(of(&self.start)?.max(of(&self.end)?))
    }

    /// Cursors for a partition.
    pub(super) fn begin(&self) -> Seeking {
        let seek = |end: &End| {
            let seeks = self.by.is_some() && matches!(end, End::Number(..) | End::Input(..));
            seeks.then(|| Seek { cursor: Cursor::default(), at: 0, value: None })
        };
        Seeking { start: seek(&self.start), end: seek(&self.end) }
    }

    /// The first row and the one behind the last.
    pub(super) fn of(
        &self,
        seeking: &mut Seeking,
        store: &Store,
        place: &Place,
        body: &[u8],
        cx: &mut EvalCx<'_>,
    ) -> SqlResult<(u64, u64)> {
        let Place { n, i, .. } = *place;
        let start = match &self.start {
            End::First => 0,
            End::Last => n,
            End::Present if self.rows => i,
            End::Present => place.start,
            End::Rows(true, distance) => i.saturating_sub(*distance),
            End::Rows(false, distance) => i.saturating_add(*distance).min(n),
            by => self.seek(seeking.start.as_mut(), (by, false), store, place, body, cx)?,
        };
        let end = match &self.end {
            End::First => 0,
            End::Last => n,
            End::Present if self.rows => i + 1,
            End::Present => place.end,
            End::Rows(true, distance) => (i + 1).saturating_sub(*distance),
            End::Rows(false, distance) => (i + 1).saturating_add(*distance).min(n),
            by => self.seek(seeking.end.as_mut(), (by, true), store, place, body, cx)?,
        };
        Ok((start, end.max(start)))
    }

    /// The first row that is not before the bound, or (`behind`) the first one behind it.
    fn seek(
        &self,
        seek: Option<&mut Seek>,
        (end, behind): (&End, bool),
        store: &Store,
        place: &Place,
        body: &[u8],
        cx: &mut EvalCx<'_>,
    ) -> SqlResult<u64> {
        let (Some(seek), Some((by, descending))) = (seek, self.by) else { return Ok(place.n) };
        let input = |at: usize| Values::new(body).nth(at).unwrap_or(Value::Null);
        let present = input(by);
        if present.is_null() {
            return Ok(if behind { place.end } else { place.start });
        }
        let (bound, how) = match end {
            End::Number(preceding, distance) => moved(&present, distance, *preceding != descending, cx),
            End::Input(at, how) => (input(*at), *how),
            _ => return Ok(place.n),
        };
        // Beyond all dates there are.
        if bound.is_null() {
            return Ok(if behind { place.end } else { place.start });
        }
        loop {
            if seek.value.is_none() {
                if !seek.cursor.advance(store)? {
                    return Ok(place.n);
                }
                let value = Values::new(seek.cursor.body(store)).nth(by).unwrap_or(Value::Null);
                seek.value = Some(value.into_owned());
            }
            let Some(value) = &seek.value else { return Ok(place.n) };
            let order = match how.compare(value, &bound, &mut cx.convert()) {
                // NULLs come first, or last.
                None if descending => return Ok(seek.at),
                None => Ordering::Less,
                Some(order) if descending => order.reverse(),
                Some(order) => order,
            };
            if order.is_gt() || order.is_eq() && !behind {
                return Ok(seek.at);
            }
            seek.value = None;
            seek.at += 1;
        }
    }
}

/// A number so far away, and as what numbers are compared with it.
fn moved(
    present: &Value<'_>,
    distance: &Value<'_>,
    less: bool,
    cx: &mut EvalCx<'_>,
) -> (Value<'static>, CompareAs) {
    // Most are whole numbers.
    let distance_int = match distance {
        Value::Int(v) => Some(*v),
        Value::UInt(v) => i64::try_from(*v).ok(),
        _ => None,
    };
    if let (Value::Int(v), Some(by)) = (present, distance_int)
        && let Some(moved) = if less { v.checked_sub(by) } else { v.checked_add(by) }
    {
        return (Value::Int(moved), CompareAs::Int);
    }
    let inexact = |v: &Value<'_>| matches!(v, Value::Float(_) | Value::Double(_) | Value::Bytes(_));
    if !inexact(present) && !inexact(distance) {
        let (a, b) = (present.to_decimal(&mut cx.convert()), distance.to_decimal(&mut cx.convert()));
        if let Ok(moved) = if less { a.sub(&b) } else { a.add(&b) } {
            return (Value::Decimal(moved), CompareAs::Decimal);
        }
    }
    let (a, b) = (present.to_f64(&mut cx.convert()), distance.to_f64(&mut cx.convert()));
    (Value::Double(if less { a - b } else { a + b }), CompareAs::Double)
}

fn distance_of(
    distance: &Distance,
    preceding: bool,
    rows: bool,
    cx: &mut EvalCx<'_>,
    base: &Row<'_>,
) -> SqlResult<End> {
    let wrong =
        || SqlError::new(3586, "Window: frame start or end is negative, NULL or of non-integral type");
    match distance {
        Distance::Interval(bound, how) => match bound.node() {
            vaquita_expr::Node::Column { column, .. } => Ok(End::Input(usize::from(*column), *how)),
            _ => Err(wrong()),
        },
        Distance::Number(e) => {
            let value = e.eval(cx, base)?;
            if !rows {
                let negative = value.to_f64(&mut cx.convert()) < 0.0;
                return match value.is_null() || negative {
                    true => Err(wrong()),
                    false => Ok(End::Number(preceding, value.into_owned())),
                };
            }
            match value {
                Value::Int(v) if v >= 0 => Ok(End::Rows(preceding, v as u64)),
                Value::UInt(v) => Ok(End::Rows(preceding, v)),
                _ => Err(wrong()),
            }
        }
    }
}

/// Cursors at the ends of frames of values.
pub(super) struct Seeking {
    start: Option<Seek>,
    end: Option<Seek>,
}

impl Seeking {
    /// Rows before this one are not looked at any more.
    pub(super) fn needs(&self) -> u64 {
        let next = |seek: &Option<Seek>| seek.as_ref().map_or(u64::MAX, |seek| seek.cursor.next);
        next(&self.start).min(next(&self.end))
    }
}

struct Seek {
    cursor: Cursor,
    /// Number of the row that `value` is of.
    at: u64,
    value: Option<Value<'static>>,
}
