use super::*;
use proptest::prelude::*;

fn dec(text: &str) -> Decimal {
    let parsed = Decimal::parse(text.as_bytes());
    assert_eq!(parsed.used, text.len(), "{text}");
    parsed.value
}

/// Digits as a reference: schoolbook arithmetic on decimal digits, least significant first.
mod school {
    pub(super) fn digits(text: &str) -> Vec<u8> {
        text.bytes().rev().filter(u8::is_ascii_digit).map(|b| b - b'0').collect()
    }

    pub(super) fn text(mut digits: Vec<u8>, scale: usize) -> String {
        while digits.len() > scale + 1 && digits.last() == Some(&0) {
            digits.pop();
        }
        digits.resize(digits.len().max(scale + 1), 0);
        let mut out: String = digits.iter().rev().map(|d| char::from(b'0' + d)).collect();
        if scale > 0 {
            out.insert(out.len() - scale, '.');
        }
        out
    }

    pub(super) fn mul(a: &[u8], b: &[u8]) -> Vec<u8> {
        let mut out = vec![0u32; a.len() + b.len() + 1];
        for (i, &x) in a.iter().enumerate() {
            for (j, &y) in b.iter().enumerate() {
                out[i + j] += u32::from(x) * u32::from(y);
            }
        }
        for i in 0..out.len() - 1 {
            out[i + 1] += out[i] / 10;
            out[i] %= 10;
        }
        out.into_iter().map(|d| d as u8).collect()
    }

    pub(super) fn add(a: &[u8], b: &[u8]) -> Vec<u8> {
        let mut carry = 0;
        let mut out = Vec::new();
        for i in 0..=a.len().max(b.len()) {
            let sum = a.get(i).unwrap_or(&0) + b.get(i).unwrap_or(&0) + carry;
            out.push(sum % 10);
            carry = sum / 10;
        }
        out
    }
}

fn number(ints: usize, fracs: usize) -> impl Strategy<Value = String> {
    (prop::collection::vec(0u8..10, 1..=ints), prop::collection::vec(0u8..10, 0..=fracs), any::<bool>())
        .prop_map(|(ints, fracs, negative)| {
            let digits = |d: Vec<u8>| d.iter().map(|d| char::from(b'0' + d)).collect::<String>();
            let ints = digits(ints);
            let ints = ints.trim_start_matches('0');
            let fracs = digits(fracs);
            let zero = ints.is_empty() && fracs.bytes().all(|b| b == b'0');
            let sign = if negative && !zero { "-" } else { "" };
            let point = if fracs.is_empty() { "" } else { "." };
            format!("{sign}{}{point}{fracs}", if ints.is_empty() { "0" } else { ints })
        })
}

proptest! {
    #[test]
    fn text_and_back(text in number(35, 30)) {
        prop_assert_eq!(dec(&text).to_string(), text);
    }

    #[test]
    fn products_are_exact(a in number(20, 14), b in number(20, 14)) {
        let (x, y) = (dec(&a), dec(&b));
        let product = school::mul(&school::digits(&a), &school::digits(&b));
        let want = school::text(product, usize::from(x.scale() + y.scale()));
        prop_assert_eq!(x.abs().mul(&y.abs()).unwrap().to_string(), want);
        let negative = x.is_negative() != y.is_negative() && !x.is_zero() && !y.is_zero();
        prop_assert_eq!(x.mul(&y).unwrap().is_negative(), negative);
    }

    #[test]
    fn sums_are_exact(a in number(35, 30), b in number(35, 30)) {
        let (x, y) = (dec(&a).abs(), dec(&b).abs());
        let scale = x.scale().max(y.scale());
        let widen = |t: &str, s: u8| {
            let mut d = vec![0; usize::from(scale - s)];
            d.extend(school::digits(t));
            d
        };
        let sum = school::add(&widen(&a, x.scale()), &widen(&b, y.scale()));
        prop_assert_eq!(x.add(&y).unwrap().to_string(), school::text(sum, scale.into()));
    }

    #[test]
    fn a_difference_undoes_a_sum(a in number(35, 30), b in number(35, 30)) {
        let (x, y) = (dec(&a), dec(&b));
        prop_assert_eq!(x.add(&y).unwrap().sub(&y).unwrap(), x);
        prop_assert_eq!(x.cmp(&y), y.cmp(&x).reverse());
        prop_assert_eq!(x.cmp(&y), x.sub(&y).unwrap().cmp(&Decimal::ZERO));
    }

    #[test]
    fn a_remainder_is_what_the_whole_quotient_leaves(a in number(30, 9), b in number(12, 9)) {
        let (x, y) = (dec(&a), dec(&b));
        match (x.int_div(&y).unwrap(), x.rem(&y).unwrap()) {
            (Some(q), Some(r)) => {
                prop_assert_eq!(q.mul(&y).unwrap().add(&r).unwrap(), x);
                prop_assert!(r.abs() < y.abs());
                prop_assert!(r.is_zero() || r.is_negative() == x.is_negative());
            }
            _ => prop_assert!(y.is_zero()),
        }
    }

    #[test]
    fn stored_and_back(a in number(35, 30)) {
        let d = dec(&a);
        for (precision, scale) in [(65, 30), (65, d.scale()), (d.precision(), d.scale())] {
            let (fitted, rounded, clipped) = d.fit(precision, scale);
            prop_assert!(!rounded && !clipped);
            let mut stored = Vec::new();
            fitted.push_stored(precision, scale, &mut stored);
            prop_assert_eq!(stored.len(), vaquita_format::value::decimal_len(precision, scale.into()));
            prop_assert_eq!(Decimal::from_stored(&stored, precision, scale).to_string(), fitted.to_string());
        }
    }

    /// The stored form is that of the engine's own codec.
    #[test]
    fn the_stored_form_is_the_engines(a in number(12, 6)) {
        use vaquita_format::value::{Value, ValueType};
        let d = dec(&a).with_scale(6).unwrap();
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        d.push_stored(18, 6, &mut ours);
        let ty = ValueType::Decimal { precision: 18, scale: 6 };
        ty.encode(&Value::Decimal(d.to_string().into()), &mut theirs).unwrap();
        prop_assert_eq!(ours, theirs);
    }

    #[test]
    fn equal_numbers_hash_equally(a in number(20, 10), zeros in 0u8..15) {
        use std::hash::{BuildHasher as _, RandomState};
        let d = dec(&a);
        let wider = d.with_scale(d.scale() + zeros).unwrap();
        prop_assert_eq!(d, wider);
        let state = RandomState::new();
        prop_assert_eq!(state.hash_one(d), state.hash_one(wider));
    }

    #[test]
    fn any_bytes_are_some_number(bytes in prop::collection::vec(any::<u8>(), 0..32), text in ".{0,40}") {
        let d = Decimal::from_stored(&bytes, 18, 6);
        d.to_string();
        Decimal::from_stored(&bytes, 65, 30).mul(&d).ok();
        let parsed = Decimal::parse(text.as_bytes());
        prop_assert!(parsed.used <= text.len());
    }

    #[test]
    fn floats_are_the_nearest(a in number(25, 20)) {
        prop_assert_eq!(dec(&a).to_f64(), a.parse::<f64>().unwrap());
    }
}

#[test]
fn exponents_shift_the_point() {
    for (text, want) in [
        ("1e3", "1000"),
        ("1.5e-7", "0.00000015"),
        ("123.45E+1", "1234.5"),
        ("0e10", "0"),
        ("00012.50", "12.50"),
        (".5", "0.5"),
        ("5.", "5"),
        (" +7", "7"),
    ] {
        assert_eq!(dec(text).to_string(), want, "{text}");
    }
    assert!(Decimal::parse(b"1e400").overflow);
    assert_eq!(Decimal::parse(b"12abc").used, 2);
    assert_eq!(Decimal::parse(b"1e").used, 1);
    assert_eq!(Decimal::parse(b"abc").used, 0);
    assert_eq!(Decimal::parse(b"-").used, 0);
}

#[test]
fn bounds_are_kept() {
    let most = Decimal::max(65, 0, false);
    assert_eq!(most.to_string(), "9".repeat(65));
    assert_eq!(most.add(&Decimal::ONE).unwrap().to_string(), format!("1{}", "0".repeat(65)));
    assert_eq!(most.mul(&most), Err(Overflow));
    assert_eq!(dec("9223372036854775807.4").to_i64(), Ok(i64::MAX));
    assert_eq!(dec("9223372036854775807.5").to_i64(), Err(i64::MAX));
    assert_eq!(dec("-9223372036854775808.4").to_i64(), Ok(i64::MIN));
    assert_eq!(dec("-0.5").to_u64(), Err(0));
    assert_eq!(dec("-0.4").to_u64(), Ok(0));
    assert_eq!(dec("999.995").fit(5, 2), (dec("999.99"), false, true));
    assert_eq!(dec("9.994").fit(5, 2), (dec("9.99"), true, false));
    assert_eq!(dec("5").div(&dec("0.00"), 4), Ok(None));
}
