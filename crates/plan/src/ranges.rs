//! From search arguments to intervals of an index.
//!
//! For each key part the arguments give the intervals of its column; where all of them are points, those of the next part
//! follow. What comes out covers all rows for which the arguments hold, perhaps more.

use crate::bound::{Bounded, bound, follows_index};
use crate::sarg::{Leaf, Sarg, Test};
use std::cmp::Ordering;
use vaquita_catalog::TableInfo;
use vaquita_engine::Index;
use vaquita_engine::lower::FieldCmp;
use vaquita_engine::row::entry::cut;
use vaquita_engine::text::charset::Charset;
use vaquita_engine::text::collation::Collation;
use vaquita_expr::node::CmpOp;
use vaquita_expr::{EvalCx, Expr, Row};
use vaquita_types::SqlResult;
use vaquita_types::compare::CompareAs;

/// A field of a key; `None`: NULL.
pub type KeyField = Option<Vec<u8>>;

/// Most intervals of a range; beyond, only the key parts before count.
const RANGES_MAX: usize = 8192;

/// Characters added to the least text with a prefix.
const FILL_MAX: usize = 32;

/// An interval of an index; an empty key is no bound.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyRange {
    /// The least key.
    pub lower: Vec<KeyField>,
    /// It belongs to the interval.
    pub lower_inclusive: bool,
    /// The greatest key.
    pub upper: Vec<KeyField>,
    /// It belongs to the interval.
    pub upper_inclusive: bool,
}

impl KeyRange {
    /// Whether it holds the records equal to one key.
    pub fn is_point(&self) -> bool {
        self.lower_inclusive && self.upper_inclusive && !self.lower.is_empty() && self.lower == self.upper
    }
}

/// An interval of the values of one column: `None` is no bound; the flag says whether the bound belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Interval {
    low: Option<(KeyField, bool)>,
    high: Option<(KeyField, bool)>,
}

impl Interval {
    fn point(value: KeyField) -> Interval {
        Interval { low: Some((value.clone(), true)), high: Some((value, true)) }
    }

    fn is_point(&self) -> bool {
        matches!((&self.low, &self.high), (Some((a, true)), Some((b, true))) if a == b)
    }
}

/// The intervals of an index in which the rows lie that satisfy `sarg`, in order, none overlapping; `None`: all of it.
///
/// # Errors
/// Of evaluating the values.
pub fn ranges_of(
    info: &TableInfo,
    index: &Index,
    sarg: &Sarg,
    row: &Row<'_>,
    cx: &mut EvalCx<'_>,
) -> SqlResult<Option<Vec<KeyRange>>> {
    let mut prefixes: Vec<Vec<KeyField>> = vec![Vec::new()];
    for (i, part) in index.parts.iter().enumerate() {
        let mut column = Column { info, index, part: i, row };
        let Some(intervals) = column.intervals(sarg, cx)? else {
            return Ok((i > 0).then(|| points(prefixes)));
        };
        let last = i + 1 == index.parts.len();
        let go_on = part.prefix_len == 0 && intervals.iter().all(Interval::is_point);
        if prefixes.len() * intervals.len() > RANGES_MAX && i > 0 {
            return Ok(Some(points(prefixes)));
        }
        if !go_on || last {
            return Ok(Some(compose(&prefixes, &intervals)));
        }
        let mut longer = Vec::with_capacity(prefixes.len() * intervals.len());
        for prefix in &prefixes {
            for interval in &intervals {
                let mut key = prefix.clone();
                key.extend(interval.low.iter().map(|(value, _)| value.clone()));
                longer.push(key);
            }
        }
        prefixes = longer;
    }
    Ok(Some(points(prefixes)))
}

fn points(keys: Vec<Vec<KeyField>>) -> Vec<KeyRange> {
    let point = |key: Vec<KeyField>| KeyRange {
        lower: key.clone(),
        lower_inclusive: true,
        upper: key,
        upper_inclusive: true,
    };
    keys.into_iter().map(point).collect()
}

fn compose(prefixes: &[Vec<KeyField>], intervals: &[Interval]) -> Vec<KeyRange> {
    let mut ranges = Vec::with_capacity(prefixes.len() * intervals.len());
    for prefix in prefixes {
        for interval in intervals {
            let end = |bound: &Option<(KeyField, bool)>| {
                let mut key = prefix.clone();
                match bound {
                    Some((value, inclusive)) => {
                        key.push(value.clone());
                        (key, *inclusive)
                    }
                    None => (key, true),
                }
            };
            let (lower, lower_inclusive) = end(&interval.low);
            let (upper, upper_inclusive) = end(&interval.high);
            ranges.push(KeyRange { lower, lower_inclusive, upper, upper_inclusive });
        }
    }
    ranges
}

/// Intervals of one key part.
struct Column<'c> {
    info: &'c TableInfo,
    index: &'c Index,
    part: usize,
    row: &'c Row<'c>,
}

type Intervals = Option<Vec<Interval>>;

impl Column<'_> {
    fn order(&self, a: &KeyField, b: &KeyField) -> Ordering {
        match (a, b) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(a), Some(b)) => match self.index.def().compare_plan()[self.part] {
                FieldCmp::Bytes | FieldCmp::Unknown(_) => a.cmp(b),
                FieldCmp::Text(collation) => collation.compare(a, b),
                FieldCmp::Float => float(a).total_cmp(&float(b)),
                FieldCmp::Double => double(a).total_cmp(&double(b)),
            },
        }
    }

    /// `None`: any value.
    fn intervals(&mut self, sarg: &Sarg, cx: &mut EvalCx<'_>) -> SqlResult<Intervals> {
        match sarg {
            Sarg::Leaf(leaf) if leaf.column == self.index.parts[self.part].column => self.leaf(leaf, cx),
            Sarg::Leaf(_) => Ok(None),
            Sarg::And(list) => {
                let mut all = Vec::new();
                for sarg in list {
                    all.extend(self.intervals(sarg, cx)?);
                }
                // Two by two: the first would be gone through again and again.
                while all.len() > 1 {
                    let pair = |pair: &[Vec<Interval>]| match pair {
                        [a, b] => self.both(a, b),
                        alone => alone.concat(),
                    };
                    all = all.chunks(2).map(pair).collect();
                }
                Ok(all.pop())
            }
            Sarg::Or(list) => {
                let mut all = Vec::new();
                for sarg in list {
                    match self.intervals(sarg, cx)? {
                        Some(mut more) => all.append(&mut more),
                        None => return Ok(None),
                    }
                }
                Ok(Some(self.united(all)))
            }
        }
    }

    fn leaf(&mut self, leaf: &Leaf, cx: &mut EvalCx<'_>) -> SqlResult<Intervals> {
        let null = Some((None, false));
        Ok(match &leaf.test {
            Test::Null { negated: false } => Some(vec![Interval::point(None)]),
            Test::Null { negated: true } => Some(vec![Interval { low: null, high: None }]),
            Test::Compare { op, how, value } => self.compare(*op, *how, value, cx)?,
            Test::Between { how, low, high } => {
                let low = self.compare(CmpOp::Ge, *how, low, cx)?;
                let high = self.compare(CmpOp::Le, *how, high, cx)?;
                match (low, high) {
                    (Some(a), Some(b)) => Some(self.both(&a, &b)),
                    (a, b) => a.or(b),
                }
            }
            Test::In { list } => {
                let mut all = Vec::with_capacity(list.len());
                for (how, value) in list {
                    match self.compare(CmpOp::Eq, *how, value, cx)? {
                        Some(mut more) => all.append(&mut more),
                        None => return Ok(None),
                    }
                }
                Some(self.united(all))
            }
            Test::Like { pattern, escape, collation } => self.like(pattern, *escape, *collation, cx)?,
        })
    }

    fn compare(
        &mut self,
        op: CmpOp,
        how: CompareAs,
        value: &Expr,
        cx: &mut EvalCx<'_>,
    ) -> SqlResult<Intervals> {
        let part = self.index.parts[self.part];
        let column = &self.info.columns[part.column];
        let equal = matches!(op, CmpOp::Eq | CmpOp::NullSafeEq);
        if !follows_index(column.sql_type(), how, equal) {
            return Ok(None);
        }
        let evaluated = value.eval(cx, self.row)?;
        let mut stored = Vec::new();
        let mut is = bound(column, &evaluated, value.ty(), how, cx, &mut stored);
        let engine_column = &self.info.table.columns[part.column];
        let whole = cut(engine_column, part.prefix_len, &stored).len();
        let shortened = part.prefix_len > 0;
        stored.truncate(whole);
        if shortened && is != Bounded::Exact && is != Bounded::Null {
            is = Bounded::Unknown;
        }
        let above = |inclusive: bool| {
            vec![Interval { low: Some((Some(stored.clone()), inclusive || shortened)), high: None }]
        };
        let below = |inclusive: bool| {
            vec![Interval {
                low: Some((None, false)),
                high: Some((Some(stored.clone()), inclusive || shortened)),
            }]
        };
        Ok(match (op, is) {
            (_, Bounded::Unknown) => None,
            (CmpOp::NullSafeEq, Bounded::Null) => Some(vec![Interval::point(None)]),
            (_, Bounded::Null) => Some(Vec::new()),
            (CmpOp::Eq | CmpOp::NullSafeEq, Bounded::Exact) => {
                Some(vec![Interval::point(Some(stored.clone()))])
            }
            (CmpOp::Eq | CmpOp::NullSafeEq, _) => Some(Vec::new()),
            (CmpOp::Ne, Bounded::Exact) if !shortened => {
                let mut both = below(false);
                both.append(&mut above(false));
                Some(both)
            }
            (CmpOp::Ne, _) => Some(vec![Interval { low: Some((None, false)), high: None }]),
            (CmpOp::Lt | CmpOp::Le, Bounded::Above) => Some(below(false)),
            (CmpOp::Lt | CmpOp::Le, Bounded::Below) => Some(below(true)),
            (CmpOp::Gt | CmpOp::Ge, Bounded::Above) => Some(above(true)),
            (CmpOp::Gt | CmpOp::Ge, Bounded::Below) => Some(above(false)),
            (CmpOp::Lt, Bounded::Exact) => Some(below(false)),
            (CmpOp::Le, Bounded::Exact) => Some(below(true)),
            (CmpOp::Gt, Bounded::Exact) => Some(above(false)),
            (CmpOp::Ge, Bounded::Exact) => Some(above(true)),
        })
    }

    /// `LIKE 'abc%'`, of collations whose text orders byte by byte behind a prefix.
    fn like(
        &mut self,
        pattern: &Expr,
        escape: Option<u32>,
        collation: u16,
        cx: &mut EvalCx<'_>,
    ) -> SqlResult<Intervals> {
        let part = self.index.parts[self.part];
        let column = &self.info.columns[part.column];
        let ty = column.sql_type();
        let ascii = |id| Charset::of_collation(id).is_some_and(Charset::is_ascii_based);
        if !ty.kind.is_string()
            || ty.collation != collation
            || !ascii(collation)
            || !ascii(pattern.ty().collation)
        {
            return Ok(None);
        }
        let value = pattern.eval(cx, self.row)?;
        let vaquita_types::Value::Bytes(pattern) = &value else {
            return Ok(if value.is_null() { Some(Vec::new()) } else { None });
        };
        let prefix = literal_prefix(pattern, escape);
        // An ASCII prefix is whole characters with weights of their own; trailing spaces do not count in comparisons.
        if prefix.is_empty() || !prefix.is_ascii() || prefix.ends_with(b" ") {
            return Ok(None);
        }
        let binary = ty.collation == vaquita_types::sql_type::BINARY;
        // Of letters and digits the next one orders above every text with the prefix, if it orders above the last letter
        // (in some languages `y` is `i`) and no letter begins another one together with the next.
        let plain = |b: u8| {
            let known = Collation::of(collation);
            known.is_some_and(|known| known.is_plain_prefix(&[b]) && known.compare(&[b], &[b + 1]).is_lt())
        };
        if !binary && !Collation::of(collation).is_some_and(|known| known.is_plain_prefix(&prefix)) {
            return Ok(None);
        }
        let mut above = prefix.clone();
        let next = above
            .last_mut()
            .filter(|b| binary || b.is_ascii_alphanumeric() && !b"zZ9".contains(b) && plain(**b));
        let above = next.map(|end| *end += 1).map(|()| above);
        let mut least = prefix;
        if let Some(lowest) = lowest_character(ty.collation) {
            let fill = (ty.length as usize).min(least.len() + FILL_MAX).saturating_sub(least.len());
            least.resize(least.len() + fill, lowest);
        }
        let engine_column = &self.info.table.columns[part.column];
        let short = |value: &[u8]| cut(engine_column, part.prefix_len, value).to_vec();
        Ok(Some(vec![Interval {
            low: Some((Some(short(&least)), true)),
            high: above.map(|above| (Some(short(&above)), true)),
        }]))
    }

    /// What is in both; each is in order, and none of its intervals overlap.
    fn both(&self, a: &[Interval], b: &[Interval]) -> Vec<Interval> {
        let mut out = Vec::new();
        let (mut i, mut j) = (0, 0);
        while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
            let low = self.tighter(Ordering::Greater, &x.low, &y.low);
            let high = self.tighter(Ordering::Less, &x.high, &y.high);
            // What ends first meets nothing that comes later.
            match (&x.high, &y.high) {
                (_, None) => i += 1,
                (None, _) => j += 1,
                (Some(x), Some(y)) if self.order(&x.0, &y.0) == Ordering::Less => i += 1,
                _ => j += 1,
            }
            if self.is_possible(&low, &high) {
                out.push(Interval { low, high });
            }
        }
        self.united(out)
    }

    fn is_possible(&self, low: &Option<(KeyField, bool)>, high: &Option<(KeyField, bool)>) -> bool {
        match (low, high) {
            (Some((a, a_in)), Some((b, b_in))) => match self.order(a, b) {
                Ordering::Less => true,
                Ordering::Equal => *a_in && *b_in,
                Ordering::Greater => false,
            },
            _ => true,
        }
    }

    /// The tighter of two bounds: the one that stands in `order` to the other (`Greater` for low bounds, `Less` for high
    /// ones); of equal ones the exclusive one.
    fn tighter(
        &self,
        order: Ordering,
        a: &Option<(KeyField, bool)>,
        b: &Option<(KeyField, bool)>,
    ) -> Option<(KeyField, bool)> {
        match (a, b) {
            (None, other) | (other, None) => other.clone(),
            (Some(x), Some(y)) => Some(match self.order(&x.0, &y.0) {
                Ordering::Equal => (x.0.clone(), x.1 && y.1),
                found if found == order => x.clone(),
                _ => y.clone(),
            }),
        }
    }

    /// Sorted, with those that touch made one.
    fn united(&self, mut list: Vec<Interval>) -> Vec<Interval> {
        list.sort_by(|a, b| match (&a.low, &b.low) {
            (None, None) => Ordering::Equal,
            (None, _) => Ordering::Less,
            (_, None) => Ordering::Greater,
            (Some((x, x_in)), Some((y, y_in))) => self.order(x, y).then(y_in.cmp(x_in)),
        });
        let mut out: Vec<Interval> = Vec::with_capacity(list.len());
        for next in list {
            let Some(last) = out.last_mut() else {
                out.push(next);
                continue;
            };
            let touches = match (&last.high, &next.low) {
                (None, _) | (_, None) => true,
                (Some((high, high_in)), Some((low, low_in))) => match self.order(low, high) {
                    Ordering::Less => true,
                    Ordering::Equal => *high_in || *low_in,
                    Ordering::Greater => false,
                },
            };
            if !touches {
                out.push(next);
                continue;
            }
            let further = match (&last.high, &next.high) {
                (None, _) | (_, None) => None,
                (Some(x), Some(y)) => Some(match self.order(&x.0, &y.0) {
                    Ordering::Greater => x.clone(),
                    Ordering::Less => y.clone(),
                    Ordering::Equal => (x.0.clone(), x.1 || y.1),
                }),
            };
            last.high = further;
        }
        out
    }
}

/// The part of a pattern before the first wildcard, escapes resolved.
fn literal_prefix(pattern: &[u8], escape: Option<u32>) -> Vec<u8> {
    let mut prefix = Vec::new();
    let mut bytes = pattern.iter();
    while let Some(&b) = bytes.next() {
        match b {
            b'%' | b'_' => break,
            b if escape == Some(b.into()) => prefix.extend(bytes.next()),
            b => prefix.push(b),
        }
    }
    prefix
}

/// What the least text with a prefix goes on with. Where comparisons pad with spaces, text that goes on with a control
/// character is less than its beginning.
fn lowest_character(collation: u16) -> Option<u8> {
    let name = vaquita_engine::lower::collation::name(collation).unwrap_or("binary");
    match name {
        "binary" => None,
        _ if name.contains("0900") => None,
        _ if Collation::of(collation).is_some_and(Collation::has_weightless) => Some(b'\t'),
        _ => Some(0),
    }
}

fn float(b: &[u8]) -> f32 {
    let v = b.first_chunk().map_or(0.0, |b| f32::from_le_bytes(*b));
    if v == 0.0 { 0.0 } else { v }
}

fn double(b: &[u8]) -> f64 {
    let v = b.first_chunk().map_or(0.0, |b| f64::from_le_bytes(*b));
    if v == 0.0 { 0.0 } else { v }
}
