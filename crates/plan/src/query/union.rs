//! Types of the columns of a union.

use vaquita_types::sql_type::{BINARY, NOT_FIXED};
use vaquita_types::{Kind, SqlError, SqlResult, SqlType};

/// The type that can hold the values of both.
///
/// # Errors
/// 1267 if their collations cannot be brought together.
pub(crate) fn common_type(a: &SqlType, b: &SqlType) -> SqlResult<SqlType> {
    let nullable = a.nullable || b.nullable;
    let mut ty = match (a.kind, b.kind) {
        _ if a == b => a.clone(),
        (Kind::Null, _) => b.clone(),
        (_, Kind::Null) => a.clone(),
        (x, y) if x.is_integer() && y.is_integer() => integers(a, b),
        (x, y) if is_exact(x) && is_exact(y) => decimals(a, b),
        (x, y) if is_number(x) && is_number(y) => SqlType::double(),
        (x, y) if x == y && x.is_temporal() => {
            SqlType { decimals: a.decimals.max(b.decimals), length: a.length.max(b.length), ..a.clone() }
        }
        (x, y) if is_date(x) && is_date(y) => SqlType {
            decimals: a.decimals.max(b.decimals),
            length: a.length.max(b.length),
            ..SqlType::new(Kind::DateTime)
        },
        _ => strings(a, b)?,
    };
    ty.nullable = nullable;
    Ok(ty)
}

fn is_exact(kind: Kind) -> bool {
    kind.is_integer() || kind == Kind::Decimal
}

fn is_number(kind: Kind) -> bool {
    is_exact(kind) || matches!(kind, Kind::Float | Kind::Double)
}

fn is_date(kind: Kind) -> bool {
    matches!(kind, Kind::Date | Kind::DateTime | Kind::Timestamp)
}

fn integers(a: &SqlType, b: &SqlType) -> SqlType {
    let size = |ty: &SqlType| match ty.kind {
        Kind::TinyInt => 0,
        Kind::SmallInt | Kind::Year => 1,
        Kind::MediumInt => 2,
        Kind::Int => 3,
        _ => 4,
    };
    if a.unsigned != b.unsigned {
        // 64 bits do not hold all of BIGINT UNSIGNED and a sign: MySQL 5.6 changes values, later servers make a DECIMAL.
        return match size(if a.unsigned { a } else { b }) {
            4 => decimals(a, b),
            _ => SqlType { length: a.length.max(b.length), ..SqlType::bigint(false) },
        };
    }
    let wider = if size(a) >= size(b) { a } else { b };
    let kind = if wider.kind == Kind::Year { Kind::Int } else { wider.kind };
    SqlType { kind, length: a.length.max(b.length), zerofill: false, ..wider.clone() }
}

fn decimals(a: &SqlType, b: &SqlType) -> SqlType {
    let digits = |ty: &SqlType| match ty.kind {
        Kind::Decimal => ty.length.saturating_sub(ty.decimals.into()),
        Kind::TinyInt => 3,
        Kind::SmallInt | Kind::Year => 5,
        Kind::MediumInt => 8,
        Kind::Int => 10,
        _ => 20,
    };
    let scale = |ty: &SqlType| if ty.kind == Kind::Decimal { ty.decimals } else { 0 };
    let decimals = scale(a).max(scale(b));
    let unsigned = a.unsigned && b.unsigned;
    let length = (digits(a).max(digits(b)) + u32::from(decimals)).min(65);
    SqlType { unsigned, ..SqlType::decimal(length, decimals) }
}

/// Characters that the text of a value has at most.
fn text_length(ty: &SqlType) -> u32 {
    match ty.kind {
        Kind::Decimal => ty.length + 2,
        Kind::Float | Kind::Double if ty.decimals == NOT_FIXED => 23,
        Kind::Date => 10,
        Kind::Time => 10 + fraction(ty),
        Kind::DateTime | Kind::Timestamp => 19 + fraction(ty),
        Kind::Bit => ty.length.div_ceil(8),
        _ => ty.length,
    }
}

fn fraction(ty: &SqlType) -> u32 {
    if ty.decimals > 0 { u32::from(ty.decimals) + 1 } else { 0 }
}

fn strings(a: &SqlType, b: &SqlType) -> SqlResult<SqlType> {
    let is_text = |ty: &SqlType| {
        ty.kind.is_string()
            || matches!(ty.kind, Kind::Enum | Kind::Set | Kind::Json | Kind::Geometry | Kind::Bit)
    };
    let collation = match (is_text(a), is_text(b)) {
        (true, true) if a.collation == b.collation => a.collation,
        (true, true) if a.collation == BINARY || b.collation == BINARY => BINARY,
        (true, true) => common_collation(a.collation, b.collation)?,
        (true, false) => a.collation,
        (false, true) => b.collation,
        (false, false) => BINARY,
    };
    let long = |ty: &SqlType| match ty.kind {
        Kind::LongText | Kind::Json | Kind::Geometry => 3,
        Kind::MediumText => 2,
        Kind::Text | Kind::TinyText => 1,
        _ => 0,
    };
    let kind = match long(a).max(long(b)) {
        0 => Kind::VarChar,
        1 => Kind::Text,
        2 => Kind::MediumText,
        _ => Kind::LongText,
    };
    let length = text_length(a).max(text_length(b));
    Ok(SqlType { length, collation, ..SqlType::new(kind) })
}

/// The collation of two texts of equal rights: Unicode takes in the others, `_bin` wins within a character set.
fn common_collation(a: u16, b: u16) -> SqlResult<u16> {
    let name = |id| vaquita_engine::lower::collation::name(id).unwrap_or("binary");
    let charset = |id| name(id).split('_').next().unwrap_or_default();
    let rank = |id| match charset(id) {
        "utf8mb4" => 3,
        "utf8" | "utf8mb3" => 2,
        "ascii" => 0,
        _ => 1,
    };
    match rank(a).cmp(&rank(b)) {
        std::cmp::Ordering::Greater => Ok(a),
        std::cmp::Ordering::Less => Ok(b),
        std::cmp::Ordering::Equal if name(a).ends_with("_bin") => Ok(a),
        std::cmp::Ordering::Equal if name(b).ends_with("_bin") => Ok(b),
        std::cmp::Ordering::Equal => {
            Err(SqlError::new(1271, "Illegal mix of collations for operation 'UNION'"))
        }
    }
}
