//! Parameters of prepared statements, as COM_STMT_EXECUTE carries them.
//!
//! ```text
//! | NULL bits, first parameter at bit 0 | 1: types follow | types, 2 bytes each | values that are not NULL |
//! ```
//!
//! Types are sent once and hold until others come. A parameter whose bytes came in pieces has no value here.

use super::columns::wire_type as t;
use crate::packet::lenenc::{Malformed, Reader};
use smallvec::SmallVec;
use vaquita_sql::Value;
use vaquita_sql::types::{Date, DateTime, Decimal, Time};

/// The values of one execution. Few statements have more parameters than fit without an allocation.
pub type Params<'a> = SmallVec<[Value<'a>; 8]>;

/// In the second byte of a type.
const UNSIGNED: u8 = 0x80;

/// Reads the parameters behind the header of COM_STMT_EXECUTE.
///
/// `types` keeps what the last execution bound; `pieces(i)` gives the bytes that came for parameter `i` beforehand.
///
/// # Errors
/// Cut off, types never bound, a type that is none, a value that cannot be.
pub fn parse<'a>(
    bytes: &'a [u8],
    count: u16,
    types: &mut Vec<[u8; 2]>,
    pieces: impl Fn(usize) -> Option<&'a [u8]>,
) -> Result<Params<'a>, Malformed> {
    let mut params = Params::new();
    let count = usize::from(count);
    if count == 0 {
        return Ok(params);
    }
    let mut r = Reader::new(bytes);
    let nulls = r.bytes(count.div_ceil(8))?;
    if r.u8()? == 1 {
        let bound = r.bytes(count * 2)?;
        types.clear();
        types.extend(bound.chunks_exact(2).map(|pair| [pair[0], pair[1]]));
    }
    if types.len() != count {
        return Err(Malformed);
    }
    for (i, &[kind, sign]) in types.iter().enumerate() {
        let value = if let Some(pieces) = pieces(i) {
            Value::bytes(pieces)
        } else if nulls[i / 8] >> (i % 8) & 1 == 1 {
            Value::Null
        } else {
            value(&mut r, kind, sign & UNSIGNED != 0)?
        };
        params.push(value);
    }
    Ok(params)
}

fn value<'a>(r: &mut Reader<'a>, kind: u8, unsigned: bool) -> Result<Value<'a>, Malformed> {
    let integer = |bits: u64, signed: i64| if unsigned { Value::UInt(bits) } else { Value::Int(signed) };
    Ok(match kind {
        t::NULL => Value::Null,
        t::TINY => r.u8().map(|v| integer(u64::from(v), i64::from(v as i8)))?,
        t::SHORT | t::YEAR => r.u16().map(|v| integer(u64::from(v), i64::from(v as i16)))?,
        t::LONG | t::INT24 => r.u32().map(|v| integer(u64::from(v), i64::from(v as i32)))?,
        t::LONGLONG => r.u64().map(|v| integer(v, v as i64))?,
        t::FLOAT => Value::Double(f64::from(f32::from_bits(r.u32()?))),
        t::DOUBLE => Value::Double(f64::from_bits(r.u64()?)),
        t::DATE | t::DATETIME | t::TIMESTAMP => datetime(r.string8()?, kind == t::DATE)?,
        t::TIME => time(r.string8()?)?,
        t::DECIMAL | t::NEWDECIMAL => decimal(r.string()?),
        t::VARCHAR | t::BIT | t::JSON..=t::GEOMETRY => Value::bytes(r.string()?),
        _ => return Err(Malformed),
    })
}

/// Numbers beyond DECIMAL's range are clipped, as in literals.
fn decimal(text: &[u8]) -> Value<'_> {
    Value::Decimal(Decimal::parse(text).value)
}

fn datetime<'a>(bytes: &[u8], date_only: bool) -> Result<Value<'a>, Malformed> {
    let mut r = Reader::new(bytes);
    let mut moment = DateTime::default();
    if !matches!(bytes.len(), 0 | 4 | 7 | 11) {
        return Err(Malformed);
    }
    if !bytes.is_empty() {
        moment.date = Date { year: r.u16()?, month: r.u8()?, day: r.u8()? };
    }
    if bytes.len() >= 7 {
        (moment.hour, moment.minute, moment.second) = (r.u8()?, r.u8()?, r.u8()?);
    }
    if bytes.len() == 11 {
        moment.micros = r.u32()?;
    }
    let Date { year, month, day } = moment.date;
    let sound = year <= 9999
        && month <= 12
        && day <= 31
        && moment.hour <= 23
        && moment.minute <= 59
        && moment.second <= 59
        && moment.micros <= 999_999;
    // As in MySQL, what is no date arrives as the zero date.
    let moment = if sound { moment } else { DateTime::default() };
    Ok(if date_only { Value::Date(moment.date) } else { Value::DateTime(moment) })
}

fn time<'a>(bytes: &[u8]) -> Result<Value<'a>, Malformed> {
    let mut r = Reader::new(bytes);
    let mut time = Time::default();
    match bytes.len() {
        0 => return Ok(Value::Time(time)),
        8 | 12 => {}
        _ => return Err(Malformed),
    }
    time.negative = r.u8()? != 0;
    let hours = u64::from(r.u32()?) * 24 + u64::from(r.u8()?);
    (time.minutes, time.seconds) = (r.u8()?, r.u8()?);
    if bytes.len() == 12 {
        time.micros = r.u32()?;
    }
    if time.minutes > 59 || time.seconds > 59 || time.micros > 999_999 {
        return Ok(Value::Time(Time::default()));
    }
    time.hours = hours.min(838) as u16;
    if hours > 838 {
        (time.minutes, time.seconds, time.micros) = (59, 59, 0);
    }
    Ok(Value::Time(time))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none<'a>(_: usize) -> Option<&'a [u8]> {
        None
    }

    #[test]
    fn every_type_once() {
        let mut bytes = vec![0b10, 0, 1];
        let kinds = [
            (t::TINY, 0),
            (t::LONG, 0),
            (t::LONGLONG, UNSIGNED),
            (t::SHORT, 0),
            (t::DOUBLE, 0),
            (t::FLOAT, 0),
            (t::VAR_STRING, 0),
            (t::DATETIME, 0),
            (t::DATE, 0),
            (t::TIME, 0),
            (t::BLOB, 0),
            (t::TIMESTAMP, 0),
        ];
        bytes.extend(kinds.iter().flat_map(|&(kind, sign)| [kind, sign]));
        bytes.push(0xFF);
        bytes.extend(u64::MAX.to_le_bytes());
        bytes.extend((-2_i16).to_le_bytes());
        bytes.extend(1.5_f64.to_le_bytes());
        bytes.extend(2.5_f32.to_le_bytes());
        bytes.extend(b"\x02ab");
        bytes.extend(b"\x0b\xea\x07\x0b\x15\x01\x02\x03\x04\0\0\0");
        bytes.extend(b"\x04\xea\x07\x0b\x15");
        bytes.extend(b"\x08\x01\x01\0\0\0\x02\x03\x04");
        bytes.extend(b"\x03\0\xff\0");
        bytes.extend(b"\0");
        let mut types = Vec::new();
        let params = parse(&bytes, 12, &mut types, none).unwrap();
        let date = Date { year: 2026, month: 11, day: 21 };
        let expected = [
            Value::Int(-1),
            Value::Null,
            Value::UInt(u64::MAX),
            Value::Int(-2),
            Value::Double(1.5),
            Value::Double(2.5),
            Value::bytes(b"ab"),
            Value::DateTime(DateTime { date, hour: 1, minute: 2, second: 3, micros: 4 }),
            Value::Date(date),
            Value::Time(Time { negative: true, hours: 26, minutes: 3, seconds: 4, micros: 0 }),
            Value::bytes(b"\0\xff\0"),
            Value::DateTime(DateTime::default()),
        ];
        assert_eq!(params.as_slice(), expected);
        for cut in 0..bytes.len() {
            assert_eq!(parse(&bytes[..cut], 12, &mut Vec::new(), none), Err(Malformed), "cut at {cut}");
        }
    }

    #[test]
    fn types_hold_until_others_come() {
        let mut types = Vec::new();
        assert_eq!(parse(b"\0\0\x05", 1, &mut types, none), Err(Malformed), "never bound");
        let first = parse(b"\0\x01\x01\0\x05", 1, &mut types, none).unwrap();
        assert_eq!(first.as_slice(), [Value::Int(5)]);
        let again = parse(b"\0\0\x06", 1, &mut types, none).unwrap();
        assert_eq!(again.as_slice(), [Value::Int(6)]);
    }

    #[test]
    fn pieces_stand_for_a_value() {
        let pieces = |i: usize| (i == 0).then_some(&b"pieces"[..]);
        let got = parse(b"\0\x01\xfc\0\x01\0\x07", 2, &mut Vec::new(), pieces).unwrap();
        assert_eq!(got.as_slice(), [Value::bytes(b"pieces"), Value::Int(7)]);
    }

    #[test]
    fn what_cannot_be() {
        assert_eq!(parse(b"\0\x01\x99\0\x05", 1, &mut Vec::new(), none), Err(Malformed), "no such type");
        let dates: [&[u8]; 2] = [b"\0\x01\x0c\0\x05\xea\x07\x0b\x15\0", b"\0\x01\x0b\0\x07\0\0\0\0\0\0\0"];
        for bytes in dates {
            assert_eq!(parse(bytes, 1, &mut Vec::new(), none), Err(Malformed));
        }
        let month_13 = parse(b"\0\x01\x0c\0\x04\xea\x07\x0d\x15", 1, &mut Vec::new(), none).unwrap();
        assert_eq!(month_13.as_slice(), [Value::DateTime(DateTime::default())]);
        let endless = parse(b"\0\x01\x0b\0\x08\0\xff\xff\xff\xff\0\0\0", 1, &mut Vec::new(), none).unwrap();
        let most = Time { hours: 838, minutes: 59, seconds: 59, ..Time::default() };
        assert_eq!(endless.as_slice(), [Value::Time(most)]);
    }

    #[test]
    fn signs_widths_and_decimals() {
        let one = |kind: u8, sign: u8, bytes: &[u8]| {
            let packet = [&[0, 1, kind, sign], bytes].concat();
            parse(&packet, 1, &mut Vec::new(), none)
                .map(|params| vaquita_sql::types::memory::into_owned(params[0].borrowed()).unwrap())
        };
        assert_eq!(one(t::TINY, UNSIGNED, &[0xFF]), Ok(Value::UInt(255)));
        assert_eq!(one(t::SHORT, 0, &[0, 0x80]), Ok(Value::Int(-32_768)));
        assert_eq!(one(t::YEAR, UNSIGNED, &[0xEA, 7]), Ok(Value::UInt(2026)));
        assert_eq!(one(t::INT24, 0, &[0xFF, 0xFF, 0xFF, 0xFF]), Ok(Value::Int(-1)));
        assert_eq!(one(t::LONG, UNSIGNED, &[0, 0, 0, 0x80]), Ok(Value::UInt(1 << 31)));
        assert_eq!(one(t::LONGLONG, 0, &i64::MIN.to_le_bytes()), Ok(Value::Int(i64::MIN)));
        for kind in [t::DECIMAL, t::NEWDECIMAL] {
            assert_eq!(one(kind, 0, b"\x06-12.50"), Ok(Value::Decimal(Decimal::parse(b"-12.50").value)));
        }
        assert_eq!(one(t::NULL, 0, &[]), Ok(Value::Null));
        let micros = Time { negative: false, hours: 1, minutes: 2, seconds: 3, micros: 4 };
        assert_eq!(one(t::TIME, 0, b"\x0c\0\0\0\0\0\x01\x02\x03\x04\0\0\0"), Ok(Value::Time(micros)));
        // Strings of any length form.
        let long = [&[0xFC, 0x2C, 0x01][..], &[b'x'; 300]].concat();
        assert_eq!(one(t::BLOB, 0, &long), Ok(Value::bytes(&[b'x'; 300])));
        assert_eq!(one(t::VARCHAR, 0, b"\x05abc"), Err(Malformed), "less than its length");
    }

    #[test]
    fn null_bits_of_many_parameters() {
        // Nine parameters: the ninth's bit is the first of the second byte.
        let mut packet = vec![0b1010_1010, 1, 1];
        packet.extend([t::TINY, 0].repeat(9));
        packet.extend([1, 3, 5, 7]);
        let params = parse(&packet, 9, &mut Vec::new(), none).unwrap();
        let wanted: Vec<Value<'_>> =
            (1..=9).map(|i| if i % 2 == 0 || i == 9 { Value::Null } else { Value::Int(i) }).collect();
        assert_eq!(params.as_slice(), wanted);
        // A parameter that came in pieces has neither value nor NULL bit that counts.
        let pieces = |i: usize| (i == 1).then_some(&b"p"[..]);
        let params = parse(&packet, 9, &mut Vec::new(), pieces).unwrap();
        assert_eq!(params[1], Value::bytes(b"p"));
        assert!(parse(&[], 0, &mut Vec::new(), none).unwrap().is_empty());
    }
}
