//! From search arguments to intervals of an index.
//!
//! For each key part the arguments give the intervals of its column; where all of them are points, those of the next part
//! follow. What comes out covers all rows for which the arguments hold, perhaps more.

use crate::bound::{Bounded, bound, follows_index};
use crate::intervals::{Interval, both, united};
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

pub use crate::intervals::KeyField;

/// Most intervals of a range; beyond, only the key parts before count.
const RANGES_MAX: usize = 8192;

/// Characters added to the least text with a prefix.
const FILL_MAX: usize = 32;

/// An interval of an index, in its order; an empty key is no bound.
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
        let Some(mut intervals) = column.intervals(sarg, cx)? else {
            return Ok((i > 0).then(|| points(prefixes)));
        };
        if part.descending {
            backwards(&mut intervals);
        }
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

/// The same intervals in the order of a descending key part, in which their ends change places.
fn backwards(intervals: &mut [Interval]) {
    intervals.reverse();
    intervals.iter_mut().for_each(|interval| std::mem::swap(&mut interval.low, &mut interval.high));
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
    /// The order of the key part's values.
    fn order(&self) -> impl Fn(&[u8], &[u8]) -> Ordering {
        let by = self.index.def().compare_plan()[self.part].of_values();
        move |a, b| match by {
            FieldCmp::Text(collation) | FieldCmp::TextDown(collation) => collation.compare(a, b),
            FieldCmp::Float | FieldCmp::FloatDown => float(a).total_cmp(&float(b)),
            FieldCmp::Double | FieldCmp::DoubleDown => double(a).total_cmp(&double(b)),
            FieldCmp::Bytes | FieldCmp::BytesDown | FieldCmp::Unknown(_) | FieldCmp::UnknownDown(_) => {
                a.cmp(b)
            }
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
                        [a, b] => both(a, b, &self.order()),
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
                Ok(Some(united(all, &self.order())))
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
                    (Some(a), Some(b)) => Some(both(&a, &b, &self.order())),
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
                Some(united(all, &self.order()))
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
        if shortened && !matches!(is, Bounded::Exact | Bounded::Null | Bounded::Absent) {
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
            (_, Bounded::Absent) => None,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_begins_with_what_stands_before_its_first_wildcard() {
        let prefix = |pattern: &str, escape: char| {
            let prefix = literal_prefix(pattern.as_bytes(), Some(escape.into()));
            String::from_utf8(prefix).expect("text")
        };
        assert_eq!(prefix("abc%", '\\'), "abc");
        assert_eq!(prefix("a_c%", '\\'), "a");
        assert_eq!(prefix("%abc", '\\'), "");
        assert_eq!(prefix("abc", '\\'), "abc");
        assert_eq!(prefix("a\\%b\\_c%", '\\'), "a%b_c");
        assert_eq!(prefix("a|%b%", '|'), "a%b");
        // An escape character at the end stands for nothing.
        assert_eq!(prefix("ab|", '|'), "ab");
        assert_eq!(literal_prefix(b"a\\%", None), b"a\\");
    }

    /// The key parts before the last one that counts are points.
    #[test]
    fn keys_of_several_parts_are_prefixes_with_the_bounds_of_the_last() {
        let field = |b: u8| Some(vec![b]);
        let prefixes = [vec![field(1)], vec![field(2)]];
        let above_five = Interval { low: Some((field(5), false)), high: None };
        let ranges = compose(&prefixes, &[Interval::point(None), above_five]);
        let point = |key: Vec<KeyField>| KeyRange {
            lower: key.clone(),
            lower_inclusive: true,
            upper: key,
            upper_inclusive: true,
        };
        let from = |first: u8| KeyRange {
            lower: vec![field(first), field(5)],
            lower_inclusive: false,
            // No bound of the last part is the end of the prefix.
            upper: vec![field(first)],
            upper_inclusive: true,
        };
        assert_eq!(ranges, [point(vec![field(1), None]), from(1), point(vec![field(2), None]), from(2)]);
        assert_eq!(points(prefixes.to_vec()), [point(vec![field(1)]), point(vec![field(2)])]);
        assert!(ranges[0].is_point() && !ranges[1].is_point());
        assert!(!KeyRange::default().is_point(), "no bound is the whole index");
    }
}
