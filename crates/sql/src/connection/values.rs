//! Values of statements: literals that were lifted out of a text, and parameters.
//!
//! Both have types by their kind alone, so that one plan serves `id = 5`, `id = 6` and `id = ?`. A plan belongs to the key
//! that the digest gives with the kinds of the values ([`vaquita_parser::ValueTag`]).

use smallvec::SmallVec;
use vaquita_engine::text::charset::{Charset, convert, is_same_in};
use vaquita_parser::{Digest, ParseMode, Source, ValueTag};
use vaquita_types::{Kind, SqlType, Value};

/// Values of a statement, in the order of the text.
pub(super) type Values<'a> = SmallVec<[Value<'a>; 8]>;

/// Types of them.
pub(super) type Types = SmallVec<[SqlType; 8]>;

/// Most characters of text whose length is not known.
const TEXT_MAX: u32 = 16_383;

/// The tag of a parameter whose value is not known yet.
pub(super) const UNKNOWN: ValueTag = ValueTag::Other(99);

/// What of a value a plan depends on.
#[inline]
pub(super) fn tag(value: &Value<'_>) -> ValueTag {
    match value {
        Value::Int(_) => ValueTag::Int,
        Value::UInt(_) => ValueTag::UInt,
        Value::Decimal(v) => ValueTag::Decimal(v.scale()),
        Value::Float(_) | Value::Double(_) => ValueTag::Float,
        Value::Bytes(_) | Value::Label { .. } => ValueTag::String,
        Value::Null => ValueTag::Other(0),
        Value::Bit { .. } => ValueTag::Other(1),
        Value::Date(_) => ValueTag::Other(2),
        Value::Time(v) if v.micros == 0 => ValueTag::Other(3),
        Value::DateTime(v) if v.micros == 0 => ValueTag::Other(4),
        Value::Time(_) => ValueTag::Other(6),
        Value::DateTime(_) => ValueTag::Other(7),
        Value::Json(_) => ValueTag::Other(5),
    }
}

/// Type of all values with the tag of this one. Text of any length may come next time, and NULL.
pub(super) fn type_of(value: &Value<'_>, collation: u16) -> SqlType {
    let ty = match value {
        Value::Null => SqlType::new(Kind::Null),
        Value::Int(_) => SqlType::bigint(false),
        Value::UInt(_) => SqlType::bigint(true),
        Value::Float(_) | Value::Double(_) => SqlType::double(),
        Value::Decimal(v) => SqlType::decimal(65, v.scale()),
        Value::Bytes(_) | Value::Label { .. } => unknown_type(collation),
        Value::Bit { bytes, .. } => SqlType::varchar(u32::from(*bytes), vaquita_types::sql_type::BINARY),
        Value::Date(_) => SqlType { length: 10, ..SqlType::new(Kind::Date) },
        Value::Time(v) if v.micros == 0 => SqlType { length: 10, ..SqlType::new(Kind::Time) },
        Value::DateTime(v) if v.micros == 0 => SqlType { length: 19, ..SqlType::new(Kind::DateTime) },
        Value::Time(_) => SqlType { decimals: 6, length: 17, ..SqlType::new(Kind::Time) },
        Value::DateTime(_) => SqlType { decimals: 6, length: 26, ..SqlType::new(Kind::DateTime) },
        Value::Json(_) => SqlType::new(Kind::Json),
    };
    SqlType { nullable: true, ..ty }
}

/// Type of a column that is made of a parameter: it has room for this value, and need not for others.
pub(super) fn type_of_column(value: &Value<'_>, collation: u16) -> SqlType {
    let ty = type_of(value, collation);
    match value {
        Value::Int(_) | Value::UInt(_) => SqlType { length: 21, nullable: false, ..ty },
        Value::Float(_) | Value::Double(_) => SqlType { nullable: false, ..ty },
        Value::Decimal(v) => SqlType { nullable: true, ..SqlType::decimal(v.precision(), v.scale()) },
        Value::Bytes(text) => SqlType { nullable: false, ..type_of_text(text, collation) },
        _ => ty,
    }
}

/// Type of a text. What is no text of the character set is bytes.
fn type_of_text(text: &[u8], collation: u16) -> SqlType {
    let charset = Charset::of_collation(collation).filter(|charset| charset.first_malformed(text).is_none());
    let (characters, collation) = match charset {
        Some(charset) => (charset.char_count(text), collation),
        None => (text.len(), vaquita_types::sql_type::BINARY),
    };
    let length = u32::try_from(characters).unwrap_or(u32::MAX);
    let most = charset.map_or(1, |charset| u32::from(charset.mb_max_len));
    match length.saturating_mul(most) {
        0..=65_532 => SqlType::varchar(length, collation),
        65_533..=0xFF_FFFF => SqlType { kind: Kind::MediumText, ..SqlType::varchar(0xFF_FFFF, collation) },
        _ => SqlType { kind: Kind::LongText, ..SqlType::varchar(u32::MAX, collation) },
    }
}

/// Type of a column that is made of a local variable, as MySQL 5.6 chooses it.
pub(super) fn type_of_local(ty: &SqlType) -> SqlType {
    let of = |kind| SqlType { kind, ..ty.clone() };
    match ty.kind {
        Kind::TinyInt | Kind::SmallInt | Kind::MediumInt => of(Kind::Int),
        Kind::Int => of(Kind::BigInt),
        Kind::Char | Kind::Enum | Kind::Set => {
            SqlType { nullable: true, ..SqlType::varchar(ty.length, ty.collation) }
        }
        Kind::Year => SqlType { nullable: true, ..SqlType::varchar(4, ty.collation) },
        _ => ty.clone(),
    }
}

/// Type of a parameter of which nothing is known.
pub(super) fn unknown_type(collation: u16) -> SqlType {
    SqlType::varchar(TEXT_MAX, collation)
}

/// Types of all values of a statement; parameters have none yet if `params` is `None`.
pub(super) fn types_of(
    digest: &Digest,
    literals: &[Value<'_>],
    params: Option<&[Value<'_>]>,
    collation: u16,
) -> Types {
    let ty = |source| match (source, params) {
        (Source::Literal(number), _) => type_of(&literals[number], collation),
        (Source::Param { .. }, None) => unknown_type(collation),
        (Source::Param { number, .. }, Some(params)) => type_of(&params[number], collation),
    };
    digest.sources().map(ty).collect()
}

/// The literals among the values, with their places.
pub(super) fn placed(digest: &Digest, literals: &[Value<'_>]) -> Box<[(usize, Value<'static>)]> {
    let literal = |(at, source)| match source {
        Source::Literal(number) => Some((at, literals[number].borrowed().into_owned())),
        Source::Param { .. } => None,
    };
    digest.sources().enumerate().filter_map(literal).collect()
}

/// All values of an execution: the parameters with the literals between them.
pub(super) fn merged<'v>(literals: &'v [(usize, Value<'static>)], params: &'v [Value<'_>]) -> Values<'v> {
    let (mut literals, mut params) = (literals.iter().peekable(), params.iter());
    let mut values = Values::new();
    loop {
        let value = match literals.next_if(|(at, _)| *at == values.len()) {
            Some((_, literal)) => Some(literal.borrowed()),
            None => params.next().map(Value::borrowed),
        };
        match value {
            Some(value) => values.push(value),
            None => return values,
        }
    }
}

/// A statement with its parameters in their places, as logs have it.
pub(super) fn written(sql: &[u8], mode: ParseMode, params: &[Value<'_>], collation: u16) -> Vec<u8> {
    let mut out = Vec::with_capacity(sql.len() + 16 * params.len());
    let mut copied = 0;
    for (at, param) in vaquita_parser::param_positions(sql, mode).zip(params) {
        out.extend_from_slice(&sql[copied..at]);
        copied = at + 1;
        let text = param.to_text(&type_of(param, collation));
        match param {
            Value::Null => out.extend_from_slice(b"NULL"),
            Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Float(_) | Value::Double(_) => {
                out.extend_from_slice(&text);
            }
            _ => push_quoted(&text, &mut out),
        }
    }
    out.extend_from_slice(&sql[copied..]);
    out
}

/// A text as a literal.
fn push_quoted(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'\'');
    for &byte in text {
        let escaped = match byte {
            0 => b'0',
            b'\n' => b'n',
            b'\r' => b'r',
            0x1A => b'Z',
            b'\'' | b'"' | b'\\' => byte,
            _ => {
                out.push(byte);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', escaped]);
    }
    out.push(b'\'');
}

/// Texts of a client in the character set of the connection.
pub(super) fn convert_texts(values: &mut [Value<'_>], (from, to): (Charset, Charset)) {
    for value in values {
        if let Value::Bytes(text) = value
            && !is_same_in(text, from, to)
        {
            let mut out = Vec::with_capacity(text.len());
            convert(from, to, text, &mut out);
            *value = Value::owned(out);
        }
    }
}

/// Types of parameters of a statement whose literals are not lifted.
pub(super) fn param_types(params: &[Value<'_>], collation: u16) -> Types {
    params.iter().map(|v| type_of(v, collation)).collect()
}
