//! Literals and parameters.

use super::build::{Collated, charset_of, date_type, datetime_type, int_type, time_type};
use super::cast::charset_named;
use super::env;
use super::node::{Constness, Derivation, Expr, Info, Node};
use super::scope::CompileCx;
use vaquita_engine::text::charset;
use vaquita_parser::ast::{self, Literal, TemporalKind};
use vaquita_types::temporal::parse::{parse_datetime, parse_time};
use vaquita_types::{Decimal, SqlError, SqlResult, SqlType, Value};

/// A literal.
///
/// # Errors
/// 1525 no date or time, 1115 no such character set, 1300 malformed text.
pub fn literal(cx: &mut CompileCx<'_>, of: &Literal<'_>) -> SqlResult<Expr> {
    Ok(match *of {
        Literal::Null => Expr::null(),
        Literal::Bool(truth) => {
            let mut e = Expr::constant(Value::bool(truth), int_type(1));
            e.info.truth = true;
            e
        }
        Literal::Int(v) => integer(v),
        Literal::Decimal(digits) => decimal(digits),
        Literal::Float(digits) => float(digits)?,
        Literal::String(text) => {
            let collation = Collated::connection(cx).collation;
            match cx.session.state.vars.of_literals() {
                None => string(text, collation),
                Some((from, to)) => {
                    let mut out = Vec::with_capacity(text.len());
                    charset::convert(from, to, text, &mut out);
                    string(&out, collation)
                }
            }
        }
        Literal::Introduced { charset, value } => {
            let charset = charset_named(charset)?;
            let value = padded(value, charset.mb_min_len.into());
            if charset.complete_len(&value) != value.len() {
                let hex: String = value.iter().take(6).map(|b| format!("{b:02X}")).collect();
                let message = format!("Invalid {} character string: '{hex}'", charset.name);
                return Err(SqlError::new(1300, message));
            }
            string(&value, charset.default_collation())
        }
        Literal::Hex(bytes) | Literal::Bit(bytes) => bits(bytes),
        Literal::Temporal { kind, text } => temporal(cx, kind, text)?,
    })
}

fn integer(v: u64) -> Expr {
    let digits = v.checked_ilog10().unwrap_or(0) + 1;
    match i64::try_from(v) {
        Ok(v) => Expr::constant(Value::Int(v), int_type(digits)),
        Err(_) => Expr::constant(Value::UInt(v), SqlType { unsigned: true, ..int_type(digits) }),
    }
}

fn decimal(text: &[u8]) -> Expr {
    let v = Decimal::parse(text).value;
    let point = text.iter().position(|&b| b == b'.');
    let whole = point.unwrap_or(text.len()) as u32;
    let precision = (whole + u32::from(v.scale())).clamp(1, 81);
    Expr::constant(Value::Decimal(v), SqlType::decimal(precision, v.scale()))
}

fn float(text: &[u8]) -> SqlResult<Expr> {
    let parsed = vaquita_types::number::parse_f64(text);
    if parsed.overflow {
        let text = String::from_utf8_lossy(text);
        return Err(SqlError::new(1367, format!("Illegal double '{text}' value found during parsing")));
    }
    let ty = SqlType { length: text.len() as u32, ..SqlType::double() };
    Ok(Expr::constant(Value::Double(parsed.value), ty))
}

fn string(text: &[u8], collation: u16) -> Expr {
    let chars = charset_of(collation).char_count(text) as u32;
    Expr::constant(Value::owned(text.to_vec()), SqlType::varchar(chars, collation))
}

/// Zero bytes before text of a character set with wider units.
fn padded(text: &[u8], unit: usize) -> Vec<u8> {
    let missing = text.len().next_multiple_of(unit) - text.len();
    let mut out = vec![0; missing];
    out.extend_from_slice(text);
    out
}

/// Hexadecimal and bit literals: binary strings that are numbers where numbers are wanted.
fn bits(bytes: &[u8]) -> Expr {
    let ty = SqlType::varchar(bytes.len() as u32, 63);
    // Of a long one the lowest 64 bits.
    let number = bytes.iter().fold(0, |v, b| v << 8 | u64::from(*b));
    let value = match bytes.len() {
        len @ ..=8 => Value::Bit { value: number, bytes: len as u8 },
        _ => Value::Label { number, text: bytes.to_vec().into() },
    };
    let mut e = Expr::constant(value, ty);
    e.info.ascii = bytes.is_ascii();
    e
}

impl Expr {
    /// A hexadecimal literal as the number it is; everything else as it is.
    pub(super) fn into_number(self) -> Expr {
        match self.node {
            Node::Const(Value::Bit { value, bytes }) if self.ty.kind.is_string() => {
                let ty = SqlType { unsigned: true, ..int_type(u32::from(bytes) * 3) };
                Expr::constant(Value::UInt(value), ty)
            }
            node => Expr { node, ..self },
        }
    }
}

/// What `{d '…'}`, `{t '…'}` and `{ts '…'}` are, if the text is a date, a time, or both. Words in capitals do not count.
pub(super) fn escaped(cx: &mut CompileCx<'_>, word: ast::Ident<'_>, value: &ast::Expr<'_>) -> Option<Expr> {
    let kind = match word.name {
        b"d" => TemporalKind::Date,
        b"t" => TemporalKind::Time,
        b"ts" => TemporalKind::Timestamp,
        _ => return None,
    };
    match value.kind {
        ast::ExprKind::Literal(Literal::String(text))
        | ast::ExprKind::Lifted { literal: Literal::String(text), .. } => temporal(cx, kind, text).ok(),
        _ => None,
    }
}

fn temporal(cx: &mut CompileCx<'_>, kind: TemporalKind, text: &[u8]) -> SqlResult<Expr> {
    let date = cx.session.convert_strictly().date;
    let wrong = |what: &str| {
        let text = String::from_utf8_lossy(text);
        SqlError::new(1525, format!("Incorrect {what} value: '{text}'"))
    };
    let fsp = fraction_digits(text);
    Ok(match kind {
        TemporalKind::Date => {
            let parsed = parse_datetime(text, &date);
            match parsed.value {
                Some(v) if !parsed.has_time && !parsed.truncated => {
                    Expr::constant(Value::Date(v.date), date_type())
                }
                _ => return Err(wrong("DATE")),
            }
        }
        TemporalKind::Time => {
            let parsed = parse_time(text);
            match parsed.value {
                Some(v) if !parsed.truncated && !parsed.clipped => {
                    Expr::constant(Value::Time(v), time_type(fsp))
                }
                _ => return Err(wrong("TIME")),
            }
        }
        TemporalKind::DateTime | TemporalKind::Timestamp => {
            let parsed = parse_datetime(text, &date);
            match parsed.value {
                Some(v) if parsed.has_time && !parsed.truncated => {
                    Expr::constant(Value::DateTime(v), datetime_type(fsp))
                }
                _ => return Err(wrong("DATETIME")),
            }
        }
    })
}

/// Digits after the point at the end of a time.
fn fraction_digits(text: &[u8]) -> u8 {
    let digits = text.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let has_point = text.len() > digits && text[text.len() - digits - 1] == b'.';
    if has_point && text.contains(&b':') { digits.min(6) as u8 } else { 0 }
}

/// A parameter: of the type given for this execution; text if none is known.
pub(super) fn param(cx: &mut CompileCx<'_>, no: u32) -> Expr {
    let collation = env::collation_connection(cx.session.state);
    let ty = cx.param_types.get(no as usize).cloned();
    let ty = ty.unwrap_or_else(|| SqlType::varchar(0, collation));
    let mut e = param_of(no, ty);
    e.info.quiet = true;
    e
}

/// A local variable of a stored program: its values are the parameters of the program's statements. Text insists on its
/// collation as a column's does.
pub(super) fn local(cx: &mut CompileCx<'_>, place: u32) -> Expr {
    let mut e = param(cx, place);
    e.info.quiet = super::quiet::is_long_text(&e.ty);
    match e.is_text() {
        true => Expr { info: Info { derivation: Derivation::Implicit, ascii: false, ..e.info }, ..e },
        false => e,
    }
}

/// A lifted literal: a parameter, of the type that values of its kind have wherever they come from.
///
/// # Errors
/// As [`literal`].
pub(super) fn lifted(cx: &mut CompileCx<'_>, no: u32, of: &Literal<'_>) -> SqlResult<Expr> {
    match cx.param_types.get(no as usize) {
        Some(ty) => Ok(param_of(no, ty.clone())),
        None => literal(cx, of),
    }
}

fn param_of(no: u32, ty: SqlType) -> Expr {
    let shape = Expr::constant(Value::Null, ty.clone());
    let ascii = !ty.kind.is_string();
    let info = Info { constness: Constness::Execution, ascii, ..shape.info };
    Expr { node: Node::Param(no), ty: SqlType { nullable: true, ..ty }, info }
}
