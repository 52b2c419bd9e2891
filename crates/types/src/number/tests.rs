use super::*;

fn double(v: f64) -> String {
    let mut out = Vec::new();
    push_f64(v, &mut out);
    String::from_utf8(out).unwrap()
}

/// Of two shortest texts that are equally near the even one is printed, whatever the number looks like.
#[test]
fn digits_are_those_of_rounding() {
    assert_eq!(double(30_295_177.0 / 16_384.0), "1849.0708618164062");
    let mut bits = 0x9E37_79B9_7F4A_7C15_u64;
    let mut midway = 0;
    for n in 0..400_000 {
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        let v = match n % 4 {
            0 => f64::from_bits(bits),
            1 => f64::from(f32::from_bits(bits as u32)),
            2 => bits as f64 * 0.5f64.powi(n % 80),
            _ => (bits >> (n % 60)) as f64 * 0.5f64.powi(n % 20),
        };
        if !v.is_finite() || v.fract() == 0.0 && v.abs() < 1e15 {
            continue;
        }
        let shortest = Scientific::of(format_args!("{v:e}"));
        let rounded = Scientific::of(format_args!("{v:.*e}", shortest.len - 1));
        let is_other = rounded.digits != shortest.digits && rounded.value() == v.abs();
        midway += u32::from(is_other && shortest.len >= 15);
        let wanted = if is_other && shortest.len >= 15 { rounded } else { shortest };
        let mut out = Vec::new();
        wanted.push(v < 0.0, &mut out);
        assert_eq!(double(v).as_bytes(), out, "{v:e}");
    }
    assert!(midway > 500, "{midway}");
}

#[test]
fn integers_print() {
    for v in [0, 1, 9, 10, 99, 100, 12_345, u64::MAX] {
        let mut out = Vec::new();
        push_u64(v, &mut out);
        assert_eq!(out, v.to_string().as_bytes());
    }
    for v in [i64::MIN, -1, 0, i64::MAX] {
        let mut out = Vec::new();
        push_i64(v, &mut out);
        assert_eq!(out, v.to_string().as_bytes());
    }
}

/// As MySQL 5.6.24 prints them.
#[test]
fn floats_change_form_at_fifteen_digits() {
    for (v, want) in [
        (1e14, "100000000000000"),
        (1e15, "1e15"),
        (1e-15, "0.000000000000001"),
        (1e-16, "1e-16"),
        (1_234_567_890_123_456.8, "1234567890123456.8"),
        (0.1 + 0.2, "0.30000000000000004"),
        (-0.0, "-0"),
        (f64::MAX, "1.7976931348623157e308"),
    ] {
        assert_eq!(double(v), want);
    }
    let mut out = Vec::new();
    push_fixed(1.005, 2, &mut out);
    assert_eq!(out, b"1.00");
    push_zerofill(b"42", 5, &mut out);
    assert_eq!(out, b"1.0000042");
}

#[test]
fn leading_numbers_are_found() {
    let f = |t: &str| {
        let p = parse_f64(t.as_bytes());
        (p.value, p.used, p.clean)
    };
    assert_eq!(f(" 1.5e2x"), (150.0, 6, false));
    assert_eq!(f("1e"), (1.0, 1, false));
    assert_eq!(f(".5 "), (0.5, 2, true));
    assert_eq!(f("."), (0.0, 0, false));
    assert_eq!(f("-"), (0.0, 0, false));
    assert_eq!(f("inf"), (0.0, 0, false));
    assert!(parse_f64(b"-1e400").overflow);
    assert_eq!(parse_f64(b"-1e400").value, f64::MIN);
    let i = |t: &str| {
        let p = parse_int(t.as_bytes());
        (p.value, p.overflow, p.clean)
    };
    assert_eq!(i("-9223372036854775808"), (Integer::Signed(i64::MIN), false, true));
    assert_eq!(i("-9223372036854775809"), (Integer::Signed(i64::MIN), true, true));
    assert_eq!(i("18446744073709551615 "), (Integer::Unsigned(u64::MAX), false, true));
    assert_eq!(i("18446744073709551616"), (Integer::Unsigned(u64::MAX), true, true));
    assert_eq!(i("12.5"), (Integer::Signed(12), false, false));
    assert_eq!(i(""), (Integer::Signed(0), false, false));
}
