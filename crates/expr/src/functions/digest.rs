//! Checksums, digests, passwords, random bytes, UUIDs.

use super::encode::{binary, lower_hex_of};
use super::{Function, arg, evals, f};
use crate::build::{Collated, New, int_type, text_type};
use crate::node::{Constness, EvalFn, Expr};
use crate::scope::CompileCx;
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};
use std::io::Read;
use vaquita_base::md5;
use vaquita_types::{SqlError, SqlResult, SqlType, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    f("md5", 1, 1, |cx, name, args| digits(cx, name, 32, args, eval_md5)),
    f("sha1", 1, 1, |cx, _, args| digits(cx, "sha", 40, args, eval_sha1)),
    f("sha", 1, 1, |cx, name, args| digits(cx, name, 40, args, eval_sha1)),
    f("sha2", 2, 2, sha2),
    f("crc32", 1, 1, |cx, name, args| {
        Ok(New::call(name, SqlType { unsigned: true, ..int_type(10) }, args, eval_crc32).build(cx))
    }),
    f("password", 1, 1, |cx, name, args| {
        let by = Collated::connection(cx);
        Ok(New::call(name, text_type(41, by), args, eval_password).collated(by).build_not_null(cx))
    }),
    f("random_bytes", 1, 1, |cx, name, args| {
        let args = vec![args.into_iter().next().unwrap_or_else(Expr::null)];
        let ty = text_type(1024, Collated::BINARY);
        let new = New::call(name, ty, args, eval_random_bytes).collated(Collated::BINARY);
        Ok(new.at_least(Constness::Row).nullable().build(cx))
    }),
    f("uuid", 0, 0, |cx, name, args| {
        let by = Collated { derivation: crate::Derivation::Coercible, ..Collated::SYSTEM };
        let new = New::call(name, text_type(36, by), args, eval_uuid).collated(by);
        Ok(new.at_least(Constness::Row).build_not_null(cx))
    }),
    f("uuid_short", 0, 0, |cx, name, args| {
        let ty = SqlType { unsigned: true, ..int_type(21) };
        Ok(New::call(name, ty, args, eval_uuid_short).at_least(Constness::Row).build_not_null(cx))
    }),
    f("uncompressed_length", 1, 1, |cx, name, args| {
        Ok(New::call(name, int_type(10), args, eval_uncompressed_length).build(cx))
    }),
    f("compress", 1, 1, |cx, name, args| {
        let bytes = u64::from(args[0].bytes(cx)) * 120 / 100 + 12;
        binary(cx, name, bytes, args, eval_compress, true)
    }),
    f("uncompress", 1, 1, |cx, name, args| binary(cx, name, 64 << 20, args, eval_uncompress, true)),
];

fn digits(
    cx: &mut CompileCx<'_>,
    name: &'static str,
    chars: u64,
    args: Vec<Expr>,
    eval: EvalFn,
) -> SqlResult<Expr> {
    let by = Collated::connection(cx);
    Ok(New::call(name, text_type(chars, by), args, eval).collated(by).build(cx))
}

fn sha2(cx: &mut CompileCx<'_>, name: &'static str, args: Vec<Expr>) -> SqlResult<Expr> {
    let chars = match args[1].as_const() {
        Some(Value::Int(n @ (224 | 256 | 384 | 512))) => *n as u64 / 4,
        Some(Value::Int(0)) => 64,
        _ => 128,
    };
    let by = Collated::connection(cx);
    Ok(New::call(name, text_type(chars, by), args, eval_sha2).collated(by).nullable().build(cx))
}

evals! {
    eval_md5(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        Ok(Value::owned(lower_hex_of(&md5(&text))))
    }
    eval_sha1(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        Ok(Value::owned(lower_hex_of(&Sha1::digest(&*text))))
    }
    eval_sha2(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        // NULL counts as 0.
        let bits = args[1].integer(cx, row)?.unwrap_or(0);
        Ok(Value::owned(match bits {
            224 => lower_hex_of(&Sha224::digest(&*text)),
            0 | 256 => lower_hex_of(&Sha256::digest(&*text)),
            384 => lower_hex_of(&Sha384::digest(&*text)),
            512 => lower_hex_of(&Sha512::digest(&*text)),
            _ => {
                cx.warn(1583, "Incorrect parameters in the call to native function 'sha2'");
                return Ok(Value::Null);
            }
        }))
    }
    eval_crc32(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        Ok(Value::UInt(crc32(&text).into()))
    }
    eval_password(e, args, cx, row) {
        let Some(text) = args[0].text(cx, row)? else { return Ok(Value::bytes(b"")) };
        Ok(Value::owned(vaquita_session::password::native_stored(&text)))
    }
    eval_random_bytes(e, args, cx, row) {
        let n = arg!(args[0].integer(cx, row));
        if !(1..=1024).contains(&n) {
            return Err(SqlError::new(1690, "length value is out of range in 'random_bytes'"));
        }
        let mut out = vec![0; n as usize];
        random(&mut out)?;
        Ok(Value::owned(out))
    }
    eval_uuid(e, args, cx, row) {
        let mut random_part = [0; 8];
        random(&mut random_part)?;
        Ok(Value::owned(uuid(now_100ns(), random_part)))
    }
    eval_uuid_short(e, args, cx, row) {
        let db = cx.db.ok_or_else(|| SqlError::new(1105, "there is no server here to count for"))?;
        Ok(Value::UInt(db.next_short_uuid()))
    }
    eval_uncompressed_length(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        if text.is_empty() {
            return Ok(Value::Int(0));
        }
        let Some(length) = text.first_chunk::<4>().filter(|_| text.len() > 4) else {
            cx.warn(1259, "ZLIB: Input data corrupted");
            return Ok(Value::Int(0));
        };
        Ok(Value::Int(i64::from(u32::from_le_bytes(*length) & 0x3FFF_FFFF)))
    }
    eval_compress(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        Ok(super::zip::compress(&text)?.map_or(Value::Null, Value::owned))
    }
    eval_uncompress(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        if text.is_empty() {
            return Ok(Value::bytes(b""));
        }
        match super::zip::uncompress(&text, crate::env::max_allowed_packet(cx.state))? {
            Ok(out) => Ok(Value::owned(out)),
            Err((code, message)) => {
                cx.warn(code, message);
                Ok(Value::Null)
            }
        }
    }
}

/// The operating system's random bytes.
pub(super) fn random(out: &mut [u8]) -> SqlResult<()> {
    let read = std::fs::File::open("/dev/urandom").and_then(|mut f| f.read_exact(out));
    read.map_err(|e| SqlError::new(1105, format!("no random bytes: {e}")))
}

/// 100 nanoseconds since the Gregorian calendar began.
fn now_100ns() -> u64 {
    const GREGORIAN_TO_UNIX: u64 = 0x01B2_1DD2_1381_4000;
    let unix = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    unix.map_or(0, |d| (d.as_nanos() / 100) as u64) + GREGORIAN_TO_UNIX
}

/// A new one.
///
/// # Errors
/// No random bytes.
pub fn new_uuid() -> SqlResult<String> {
    let mut bytes = [0; 8];
    random(&mut bytes)?;
    Ok(String::from_utf8_lossy(&uuid(now_100ns(), bytes)).into_owned())
}

/// Version 1, with a random node: its multicast bit tells that it is none of a card.
fn uuid(time: u64, random: [u8; 8]) -> Vec<u8> {
    let node: String =
        random[2..].iter().enumerate().map(|(i, b)| format!("{:02x}", b | u8::from(i == 0))).collect();
    let clock = u16::from(random[0]) << 8 | u16::from(random[1]);
    let (low, mid, high) = (time & 0xFFFF_FFFF, time >> 32 & 0xFFFF, time >> 48 & 0xFFF);
    format!("{low:08x}-{mid:04x}-1{high:03x}-{:04x}-{node}", clock & 0x3FFF | 0x8000).into_bytes()
}

/// CRC-32 of zlib.
fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut i = 0;
        while i < 256 {
            let mut v = i as u32;
            let mut bit = 0;
            while bit < 8 {
                v = if v & 1 != 0 { v >> 1 ^ 0xEDB8_8320 } else { v >> 1 };
                bit += 1;
            }
            table[i] = v;
            i += 1;
        }
        table
    };
    !bytes.iter().fold(!0, |v: u32, &b| TABLE[usize::from(v as u8 ^ b)] ^ v >> 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc32_of_the_check_string() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }
}
