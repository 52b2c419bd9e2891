//! IS_UUID, UUID_TO_BIN, BIN_TO_UUID, FORMAT_BYTES, FORMAT_PICO_TIME of MySQL 8.0.

use super::encode::{binary, lower_hex_of};
use super::{Function, arg, evals, f};
use crate::build::{Collated, New, int_type, text_type};
use crate::node::{EvalFn, Expr};
use crate::scope::CompileCx;
use vaquita_types::{SqlError, SqlResult, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    f("is_uuid", 1, 1, |cx, name, args| Ok(New::call(name, int_type(1), args, eval_is_uuid).build(cx))),
    f("uuid_to_bin", 1, 2, |cx, name, args| binary(cx, name, 16, args, eval_uuid_to_bin, true)),
    f("bin_to_uuid", 1, 2, |cx, name, args| short(cx, name, 36, args, eval_bin_to_uuid)),
    f("format_bytes", 1, 1, |cx, name, args| short(cx, name, 17, args, eval_format_bytes)),
    f("format_pico_time", 1, 1, |cx, name, args| short(cx, name, 17, args, eval_format_pico_time)),
];

fn short(
    cx: &mut CompileCx<'_>,
    name: &'static str,
    chars: u64,
    args: Vec<Expr>,
    eval: EvalFn,
) -> SqlResult<Expr> {
    let by = Collated::connection(cx);
    Ok(New::call(name, text_type(chars, by), args, eval).collated(by).nullable().build(cx))
}

/// The bytes of a UUID: 32 hexadecimal digits, with dashes in their places or none, with braces around those or none.
fn parsed(text: &[u8]) -> Option<[u8; 16]> {
    let text = text.strip_prefix(b"{").and_then(|text| text.strip_suffix(b"}")).map_or_else(
        || text,
        // Braces are for the form with dashes.
        |inside| if inside.len() == 36 { inside } else { b"" },
    );
    let digits: Vec<u8> = match text.len() {
        36 => {
            let is_dash = |at: usize| matches!(at, 8 | 13 | 18 | 23);
            if text.iter().enumerate().any(|(at, &b)| is_dash(at) != (b == b'-')) {
                return None;
            }
            text.iter().copied().filter(|&b| b != b'-').collect()
        }
        32 => text.to_vec(),
        _ => return None,
    };
    let digit = |b: u8| char::from(b).to_digit(16).map(|digit| digit as u8);
    let mut out = [0; 16];
    for (byte, pair) in out.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(out)
}

/// The parts of the time change places, so that values that are made one after the other sort so.
fn swapped(b: [u8; 16]) -> [u8; 16] {
    [b[6], b[7], b[4], b[5], b[0], b[1], b[2], b[3], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]]
}

fn back(b: [u8; 16]) -> [u8; 16] {
    [b[4], b[5], b[6], b[7], b[2], b[3], b[0], b[1], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]]
}

/// Error 1411.
fn wrong(text: &[u8], name: &str) -> SqlError {
    let text = String::from_utf8_lossy(text);
    SqlError::new(1411, format!("Incorrect string value: '{text}' for function {name}"))
}

evals! {
    eval_is_uuid(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        Ok(Value::bool(parsed(&text).is_some()))
    }
    eval_uuid_to_bin(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        let swap = arg!(args.get(1).map_or(Ok(Some(0)), |e| e.integer(cx, row))) != 0;
        let bytes = parsed(&text).ok_or_else(|| wrong(&text, "uuid_to_bin"))?;
        Ok(Value::owned(if swap { swapped(bytes) } else { bytes }.to_vec()))
    }
    eval_bin_to_uuid(e, args, cx, row) {
        let bytes = arg!(args[0].text(cx, row));
        let swap = arg!(args.get(1).map_or(Ok(Some(0)), |e| e.integer(cx, row))) != 0;
        let given = <[u8; 16]>::try_from(&*bytes).map_err(|_| wrong(&bytes, "bin_to_uuid"))?;
        let digits = lower_hex_of(&if swap { back(given) } else { given });
        let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
        Ok(Value::owned(parts.join(&b'-')))
    }
    eval_format_bytes(e, args, cx, row) {
        let bytes = arg!(args[0].double(cx, row));
        const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        if bytes.abs() < 1024.0 {
            return Ok(Value::owned(format!("{:4} bytes", bytes.trunc()).into_bytes()));
        }
        let mut value = bytes;
        let mut unit = "";
        for name in UNITS {
            if value.abs() < 1024.0 {
                break;
            }
            (value, unit) = (value / 1024.0, name);
        }
        Ok(Value::owned(scaled(value, unit)))
    }
    eval_format_pico_time(e, args, cx, row) {
        let picoseconds = arg!(args[0].double(cx, row));
        const UNITS: [(f64, &str); 7] = [
            (86_400e12, "d"),
            (3_600e12, "h"),
            (60e12, "min"),
            (1e12, "s"),
            (1e9, "ms"),
            (1e6, "us"),
            (1e3, "ns"),
        ];
        let unit = UNITS.iter().find(|(size, _)| picoseconds.abs() >= *size);
        Ok(Value::owned(match unit {
            Some((size, name)) => scaled(picoseconds / size, name),
            None => format!("{:3} ps", picoseconds.trunc()).into_bytes(),
        }))
    }
}

/// Two digits after the point, or an exponent.
fn scaled(value: f64, unit: &str) -> Vec<u8> {
    if value.abs() < 100_000.0 {
        return format!("{value:.2} {unit}").into_bytes();
    }
    let text = format!("{value:.2e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    format!("{digits}e+{exponent:0>2} {unit}").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Examples of the manual of 8.0.
    #[test]
    fn forms_of_uuids() {
        let bytes = parsed(b"6ccd780c-baba-1026-9564-5b8c656024db").unwrap();
        for same in ["6CCD780CBABA102695645B8C656024DB", "{6ccd780c-baba-1026-9564-5b8c656024db}"] {
            assert_eq!(parsed(same.as_bytes()), Some(bytes), "{same}");
        }
        for wrong in [
            "",
            "{6CCD780CBABA102695645B8C656024DB}",
            "6ccd780c-baba-1026-9564-5b8c6560",
            "6ccd780c-baba-1026-9564-5b8c656024dg",
            "6ccd780c-baba-10269-564-5b8c656024db",
            "{6ccd780c-baba-1026-9564-5b8c656024db",
        ] {
            assert_eq!(parsed(wrong.as_bytes()), None, "{wrong}");
        }
        assert_eq!(lower_hex_of(&swapped(bytes)), b"1026baba6ccd780c95645b8c656024db");
        assert_eq!(back(swapped(bytes)), bytes);
    }
}
