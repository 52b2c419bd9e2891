//! Functions of replication: sets of transaction numbers are calculated with, though none are given here; who waits for a
//! replica that does not run gets NULL, as MySQL 5.6 answers without one.

use super::{Function, arg, evals, f};
use crate::build::{Collated, New, int_type, text_type};
use crate::node::Constness;
use std::collections::BTreeMap;
use vaquita_types::{SqlError, SqlResult, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    f("gtid_subset", 2, 2, |cx, name, args| {
        Ok(New::call(name, int_type(21), args, eval_subset).build_not_null(cx))
    }),
    f("gtid_subtract", 2, 2, |cx, name, args| {
        let by = Collated::connection(cx);
        // As the server has it: where the first set is too short to be one it says the most.
        let [from, set] = [&args[0], &args[1]].map(|e| u64::from(e.chars()));
        let chars = (from * 4 + set * 10).checked_sub(90).unwrap_or(1 << 24);
        let ty = text_type(chars.min(1 << 24), by);
        Ok(New::call(name, ty, args, eval_subtract).collated(by).nullable().build(cx))
    }),
    f("master_pos_wait", 2, 4, |cx, name, args| {
        let new = New::call(name, int_type(21), args, eval_wait_for_position);
        Ok(new.at_least(Constness::Execution).nullable().build(cx))
    }),
    f("wait_until_sql_thread_after_gtids", 1, 3, |cx, name, args| {
        let new = New::call(name, int_type(21), args, eval_wait_for_set);
        Ok(new.at_least(Constness::Execution).nullable().build(cx))
    }),
];

/// Numbers of transactions by server, in intervals that do not touch.
type Set = BTreeMap<[u8; 16], Vec<(i64, i64)>>;

/// The greatest number of a transaction.
const NUMBER_MAX: i64 = i64::MAX - 1;

/// Error 1772.
fn malformed(text: &[u8]) -> SqlError {
    let text = String::from_utf8_lossy(text);
    SqlError::new(1772, format!("Malformed GTID set specification '{text}'."))
}

/// Reads `uuid:1-5:7, uuid:3`.
fn parsed(text: &[u8]) -> SqlResult<Set> {
    let bad = || malformed(text);
    let mut set = Set::new();
    for part in text.split(|&b| b == b',').map(<[u8]>::trim_ascii).filter(|part| !part.is_empty()) {
        let mut pieces = part.split(|&b| b == b':').map(<[u8]>::trim_ascii);
        let server = pieces.next().and_then(server).ok_or_else(bad)?;
        let intervals = set.entry(server).or_default();
        for piece in pieces {
            let mut ends = piece.splitn(2, |&b| b == b'-').map(<[u8]>::trim_ascii);
            let first = ends.next().and_then(number).ok_or_else(bad)?;
            let last = ends.next().map_or(Some(first), number).ok_or_else(bad)?;
            if first < 1 {
                return Err(bad());
            }
            // One that ends before it begins holds nothing.
            if first <= last {
                intervals.push((first, last));
            }
        }
        normalize(intervals);
    }
    set.retain(|_, intervals| !intervals.is_empty());
    Ok(set)
}

fn server(text: &[u8]) -> Option<[u8; 16]> {
    let is_dash = |at: usize| matches!(at, 8 | 13 | 18 | 23);
    if text.len() != 36 || text.iter().enumerate().any(|(at, &b)| is_dash(at) != (b == b'-')) {
        return None;
    }
    let digits = text.iter().filter(|&&b| b != b'-');
    let mut out = [0; 16];
    for (at, &digit) in digits.enumerate() {
        out[at / 2] = out[at / 2] << 4 | char::from(digit).to_digit(16)? as u8;
    }
    Some(out)
}

fn number(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()))?;
    text.parse().ok().filter(|number| *number <= NUMBER_MAX)
}

/// In order, with those that touch made one.
fn normalize(intervals: &mut Vec<(i64, i64)>) {
    intervals.sort_unstable();
    let mut out: Vec<(i64, i64)> = Vec::with_capacity(intervals.len());
    for &(first, last) in intervals.iter() {
        match out.last_mut() {
            Some((_, end)) if first <= *end + 1 => *end = last.max(*end),
            _ => out.push((first, last)),
        }
    }
    *intervals = out;
}

/// What of the first set is not in the second.
fn subtracted(from: Set, set: &Set) -> Set {
    let mut out = Set::new();
    for (server, intervals) in from {
        let without = set.get(&server).map_or(&[][..], Vec::as_slice);
        let mut left = Vec::new();
        for (mut first, last) in intervals {
            for &(begin, end) in without {
                if end < first || begin > last {
                    continue;
                }
                if begin > first {
                    left.push((first, begin - 1));
                }
                first = end + 1;
            }
            if first <= last {
                left.push((first, last));
            }
        }
        if !left.is_empty() {
            out.insert(server, left);
        }
    }
    out
}

/// As the server writes sets.
fn shown(set: &Set) -> String {
    let mut parts = Vec::new();
    for (server, intervals) in set {
        let digits = String::from_utf8_lossy(&super::encode::lower_hex_of(server)).into_owned();
        let (a, b, c, d, e) = (&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]);
        let mut text = format!("{a}-{b}-{c}-{d}-{e}");
        for (first, last) in intervals {
            text += &if first == last { format!(":{first}") } else { format!(":{first}-{last}") };
        }
        parts.push(text);
    }
    parts.join(",\n")
}

evals! {
    eval_subset(e, args, cx, row) {
        let part = arg!(args[0].text(cx, row));
        let whole = arg!(args[1].text(cx, row));
        let (part, whole) = (parsed(&part)?, parsed(&whole)?);
        Ok(Value::bool(subtracted(part, &whole).is_empty()))
    }
    eval_subtract(e, args, cx, row) {
        let from = arg!(args[0].text(cx, row));
        let set = arg!(args[1].text(cx, row));
        let (from, set) = (parsed(&from)?, parsed(&set)?);
        Ok(Value::owned(shown(&subtracted(from, &set)).into_bytes()))
    }
    eval_wait_for_position(e, args, cx, row) {
        args.iter().try_for_each(|e| e.eval(cx, row).map(|_| ()))?;
        Ok(Value::Null)
    }
    eval_wait_for_set(e, args, cx, row) {
        args.iter().try_for_each(|e| e.eval(cx, row).map(|_| ()))?;
        Ok(Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What MySQL 5.6.24 answers.
    #[test]
    fn sets_of_transactions() {
        const A: &str = "3E11FA47-71CA-11E1-9E33-C80AA9429561";
        const B: &str = "3E11FA47-71CA-11E1-9E33-C80AA9429562";
        let of = |text: String| parsed(text.as_bytes()).unwrap();
        let from = of(format!("{B}:21-57:60-70:5,{A}:1"));
        let left = subtracted(from, &of(format!("{B}:23-25:57")));
        let (a, b) = (A.to_lowercase(), B.to_lowercase());
        assert_eq!(shown(&left), format!("{a}:1,\n{b}:5:21-22:26-56:60-70"));
        assert_eq!(shown(&of(format!(" {B} : 7 : 21 - 57 ,, "))), format!("{b}:7:21-57"));
        assert_eq!(shown(&of(format!("{B}:7-3"))), "");
        assert_eq!(shown(&of(B.to_owned())), "");
        assert_eq!(shown(&of(format!("{B}:1-3:4:2-9"))), format!("{b}:1-9"));
        assert_eq!(shown(&of(format!("{B}:1-9223372036854775806"))), format!("{b}:1-9223372036854775806"));
        for bad in
            ["x".to_owned(), format!("{B}:0-3"), B.replace('-', ""), format!("{B}:1-9223372036854775807")]
        {
            assert!(parsed(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
