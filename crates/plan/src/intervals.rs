//! Sets of values of one column, as intervals in order.

use std::cmp::Ordering;

/// A field of a key; `None`: NULL, which is below all values.
pub type KeyField = Option<Vec<u8>>;

/// An end of an interval: the flag says whether the value belongs to it. `None` is no bound.
type Bound = Option<(KeyField, bool)>;

/// An interval of the values of one column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Interval {
    pub(crate) low: Bound,
    pub(crate) high: Bound,
}

impl Interval {
    pub(crate) fn point(value: KeyField) -> Interval {
        Interval { low: Some((value.clone(), true)), high: Some((value, true)) }
    }

    pub(crate) fn is_point(&self) -> bool {
        matches!((&self.low, &self.high), (Some((a, true)), Some((b, true))) if a == b)
    }
}

/// The order of two values that are not NULL.
type Order<'o> = &'o dyn Fn(&[u8], &[u8]) -> Ordering;

fn compare(a: &KeyField, b: &KeyField, order: Order<'_>) -> Ordering {
    match (a, b) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Less,
        (Some(_), None) => Ordering::Greater,
        (Some(a), Some(b)) => order(a, b),
    }
}

/// What is in both; each is in order, and none of its intervals overlap.
pub(crate) fn both(a: &[Interval], b: &[Interval], order: Order<'_>) -> Vec<Interval> {
    let mut out = Vec::new();
    let (mut i, mut j) = (0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        let low = tighter(Ordering::Greater, &x.low, &y.low, order);
        let high = tighter(Ordering::Less, &x.high, &y.high, order);
        // What ends first meets nothing that comes later.
        match (&x.high, &y.high) {
            (_, None) => i += 1,
            (None, _) => j += 1,
            (Some(x), Some(y)) if compare(&x.0, &y.0, order) == Ordering::Less => i += 1,
            _ => j += 1,
        }
        if is_possible(&low, &high, order) {
            out.push(Interval { low, high });
        }
    }
    united(out, order)
}

fn is_possible(low: &Bound, high: &Bound, order: Order<'_>) -> bool {
    match (low, high) {
        (Some((a, a_in)), Some((b, b_in))) => match compare(a, b, order) {
            Ordering::Less => true,
            Ordering::Equal => *a_in && *b_in,
            Ordering::Greater => false,
        },
        _ => true,
    }
}

/// The tighter of two bounds: the one that stands in `side` to the other (`Greater` for low bounds, `Less` for high ones); of
/// equal ones the exclusive one.
fn tighter(side: Ordering, a: &Bound, b: &Bound, order: Order<'_>) -> Bound {
    match (a, b) {
        (None, other) | (other, None) => other.clone(),
        (Some(x), Some(y)) => Some(match compare(&x.0, &y.0, order) {
            Ordering::Equal => (x.0.clone(), x.1 && y.1),
            found if found == side => x.clone(),
            _ => y.clone(),
        }),
    }
}

/// Sorted, with those that touch made one.
pub(crate) fn united(mut list: Vec<Interval>, order: Order<'_>) -> Vec<Interval> {
    list.sort_by(|a, b| match (&a.low, &b.low) {
        (None, None) => Ordering::Equal,
        (None, _) => Ordering::Less,
        (_, None) => Ordering::Greater,
        (Some((x, x_in)), Some((y, y_in))) => compare(x, y, order).then(y_in.cmp(x_in)),
    });
    let mut out: Vec<Interval> = Vec::with_capacity(list.len());
    for next in list {
        let Some(last) = out.last_mut() else {
            out.push(next);
            continue;
        };
        let touches = match (&last.high, &next.low) {
            (None, _) | (_, None) => true,
            (Some((high, high_in)), Some((low, low_in))) => match compare(low, high, order) {
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
            (Some(x), Some(y)) => Some(match compare(&x.0, &y.0, order) {
                Ordering::Greater => x.clone(),
                Ordering::Less => y.clone(),
                Ordering::Equal => (x.0.clone(), x.1 || y.1),
            }),
        };
        last.high = further;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use vaquita_base::Rng;

    /// Bounds are even, so that there are values between any two of them.
    const BOUND_MAX: u64 = 12;

    /// The other way round than bytes: nothing may lean on their order.
    fn backwards(a: &[u8], b: &[u8]) -> Ordering {
        b.cmp(a)
    }

    fn holds(interval: &Interval, value: &KeyField) -> bool {
        let inside = |bound: &Bound, outside: Ordering| match bound {
            None => true,
            Some((end, inclusive)) => match compare(value, end, &backwards) {
                Ordering::Equal => *inclusive,
                found => found != outside,
            },
        };
        inside(&interval.low, Ordering::Less) && inside(&interval.high, Ordering::Greater)
    }

    fn values() -> impl Iterator<Item = KeyField> {
        std::iter::once(None).chain((0..=BOUND_MAX as u8 + 1).map(|b| Some(vec![b])))
    }

    fn some_bound(rng: &mut Rng) -> Bound {
        let value = match rng.below(8) {
            0 => return None,
            1 => None,
            _ => Some(vec![(rng.below(BOUND_MAX / 2 + 1) * 2) as u8]),
        };
        Some((value, rng.below(2) == 0))
    }

    /// Intervals that are possible, in no order.
    fn some_intervals(rng: &mut Rng) -> Vec<Interval> {
        let n = rng.below(5);
        let any = (0..n).map(|_| Interval { low: some_bound(rng), high: some_bound(rng) });
        any.filter(|i| is_possible(&i.low, &i.high, &backwards)).collect()
    }

    fn is_in(list: &[Interval], value: &KeyField) -> bool {
        list.iter().any(|interval| holds(interval, value))
    }

    /// In order, and between two of them lies a value, or a bound that belongs to neither.
    fn assert_apart(list: &[Interval]) {
        for pair in list.windows(2) {
            let (Some((high, high_in)), Some((low, low_in))) = (&pair[0].high, &pair[1].low) else {
                panic!("{pair:?} are one")
            };
            match compare(high, low, &backwards) {
                Ordering::Less => {}
                Ordering::Equal => assert!(!high_in && !low_in, "{pair:?} touch"),
                Ordering::Greater => panic!("{pair:?} overlap"),
            }
        }
    }

    #[test]
    fn united_intervals_hold_what_one_of_them_holds() {
        let mut rng = Rng::new(3);
        for _ in 0..5_000 {
            let list = some_intervals(&mut rng);
            let out = united(list.clone(), &backwards);
            assert_apart(&out);
            for value in values() {
                assert_eq!(is_in(&out, &value), is_in(&list, &value), "{value:?} of {list:?} in {out:?}");
            }
        }
    }

    #[test]
    fn both_hold_what_each_of_them_holds() {
        let mut rng = Rng::new(4);
        for _ in 0..5_000 {
            let a = united(some_intervals(&mut rng), &backwards);
            let b = united(some_intervals(&mut rng), &backwards);
            let out = both(&a, &b, &backwards);
            assert_apart(&out);
            for value in values() {
                let wanted = is_in(&a, &value) && is_in(&b, &value);
                assert_eq!(is_in(&out, &value), wanted, "{value:?} of {a:?} and {b:?} in {out:?}");
            }
        }
    }

    #[test]
    fn a_point_is_one_value_and_null_is_below_all() {
        let point = Interval::point(Some(vec![4]));
        assert!(point.is_point() && !Interval { low: point.low.clone(), high: None }.is_point());
        let not_null = Interval { low: Some((None, false)), high: None };
        assert!(!holds(&not_null, &None) && values().skip(1).all(|value| holds(&not_null, &value)));
        assert_eq!(both(&[not_null], &[Interval::point(None)], &backwards), []);
    }
}
