//! Types as written: limits, defaults of lengths, character sets.

use vaquita_catalog::ColumnDefinition;
use vaquita_catalog::declared::encode_label;
use vaquita_engine::table::DefaultValue;
use vaquita_engine::text::charset::Charset;
use vaquita_engine::text::collation;
use vaquita_parser::ast::{self, IntSize, TypeKind};
use vaquita_session::SessionState;
use vaquita_session::vars;
use vaquita_types::sql_type::{BINARY, NOT_FIXED};
use vaquita_types::{Kind, SqlError, SqlMode, SqlResult, SqlType};

/// Bytes of the longest row, long values left out: bounds VARCHAR.
const ROW_MAX: u32 = 65_535;
const CHAR_MAX: u32 = 255;

/// A type with its labels in Unicode.
#[derive(Debug)]
pub struct Resolved {
    /// The type.
    pub ty: SqlType,
    /// Labels of ENUM and SET.
    pub labels: Vec<String>,
    /// See [`vaquita_catalog::ColumnDefinition::spelled`].
    pub spelled: Option<Box<str>>,
}

/// The collation that `CHARACTER SET` and `COLLATE` name together; `default` without either.
///
/// # Errors
/// 1115, 1273 unknown names; 1253 they do not belong together.
pub fn collation_of(charset: Option<&str>, collation: Option<&str>, default: u16) -> SqlResult<u16> {
    let charset = match charset {
        Some(name) => Some(vars::charset_by_name(name).ok_or_else(|| SqlError::unknown_charset(name))?),
        None => None,
    };
    let Some(name) = collation else { return Ok(charset.unwrap_or(default)) };
    let id = collation::by_name(name).ok_or_else(|| SqlError::unknown_collation(name))?;
    if let Some(charset) = charset
        && vars::charset_name(charset) != vars::charset_name(id)
    {
        let charset = vars::charset_name(charset);
        let message = format!("COLLATION '{name}' is not valid for CHARACTER SET '{charset}'");
        return Err(SqlError::new(1253, message));
    }
    Ok(id)
}

/// What becomes of a VARCHAR or VARBINARY that is longer than any row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LongString {
    /// Error 1074.
    Refused,
    /// The TEXT or BLOB that holds it, with note 1246; in a strict `sql_mode` refused.
    BecomesText,
}

/// The type of a column. `table_collation` is the table's default.
///
/// # Errors
/// 1074, 1425, 1426, 1427, 1439 lengths; 1115, 1273 names; 1291 labels that occur twice.
pub fn resolve(
    written: &ast::ColumnType<'_>,
    name: &str,
    table_collation: u16,
    long: LongString,
    state: &mut SessionState,
) -> SqlResult<Resolved> {
    let text = text_collation(written, table_collation)?;
    let real_as_float = state.vars.sql_mode.has(SqlMode::REAL_AS_FLOAT);
    let mut labels = Vec::new();
    let mut ty = match written.kind {
        TypeKind::Enum(members) => {
            labels = self::labels(members, name, "ENUM", text, state)?;
            labelled(Kind::Enum, text, &labels)
        }
        TypeKind::Set(members) => {
            labels = self::labels(members, name, "SET", text, state)?;
            labelled(Kind::Set, text, &labels)
        }
        TypeKind::Year(Some(width)) if width != 4 => {
            let message =
                format!("YEAR({width}) column type is deprecated. Creating YEAR(4) column instead.");
            state.warnings.warn(1818, message);
            year()
        }
        TypeKind::Year(_) => year(),
        _ => match number(written, name, real_as_float)? {
            Some(ty) => ty,
            None => match string(written, name, text, long, state)? {
                Some(ty) => ty,
                None => temporal(written, name)?,
            },
        },
    };
    ty.zerofill = written.zerofill;
    // POINT and the like are stored alike.
    let spelled = match written.kind {
        TypeKind::Geometry(name) => Some(name.to_string().to_lowercase()).filter(|name| name != "geometry"),
        _ => None,
    };
    Ok(Resolved { ty, labels, spelled: spelled.map(Into::into) })
}

/// The type that a parameter, variable or result of a stored program, or a column of JSON_TABLE, is declared with.
///
/// # Errors
/// Lengths, names of character sets, labels.
pub fn resolve_type(
    written: &ast::ColumnType<'_>,
    name: &str,
    collation: u16,
    state: &mut SessionState,
) -> SqlResult<SqlType> {
    let long = LongString::BecomesText;
    let Resolved { ty, labels, .. } = resolve(written, name, collation, long, state)?;
    let nullable = SqlType { nullable: true, ..ty };
    let collation = nullable.collation;
    Ok(if labels.is_empty() { nullable } else { with_collation(nullable, &labels, collation) })
}

fn text_collation(written: &ast::ColumnType<'_>, table: u16) -> SqlResult<u16> {
    let (charset, collation) =
        (written.charset.map(|c| c.to_string()), written.collation.map(|c| c.to_string()));
    let id = collation_of(charset.as_deref(), collation.as_deref(), table)?;
    if !written.binary {
        return Ok(id);
    }
    let bin = format!("{}_bin", vars::charset_name(id));
    Ok(collation::by_name(&bin).unwrap_or(id))
}

/// A text type in another collation.
pub fn with_collation(ty: SqlType, labels: &[String], collation: u16) -> SqlType {
    match ty.kind {
        Kind::Enum | Kind::Set => SqlType { nullable: ty.nullable, ..labelled(ty.kind, collation, labels) },
        _ => SqlType { collation, ..ty },
    }
}

/// A column's type in another character set: as many characters fit into it, so that a TEXT may become a longer one, and a
/// VARCHAR a TEXT where that is allowed.
///
/// # Errors
/// 1074: a VARCHAR that is longer than any row then.
pub fn converted(state: &mut SessionState, column: &ColumnDefinition, collation: u16) -> SqlResult<SqlType> {
    let ty = column.ty.clone();
    let (was, will) = (width_of(ty.collation), width_of(collation));
    let nullable = ty.nullable;
    let ty = match ty.kind {
        Kind::VarChar if ty.length > ROW_MAX / will => {
            let long = match column.default {
                DefaultValue::None | DefaultValue::Null => LongString::BecomesText,
                _ => LongString::Refused,
            };
            too_long_string(&column.name, ty.length, collation, long, state)?
        }
        Kind::TinyText | Kind::Text | Kind::MediumText | Kind::LongText => {
            let bytes = u64::from(ty.length) / u64::from(was) * u64::from(will);
            sized(bytes.max(ty.length.into()), collation)
        }
        _ => with_collation(ty, &column.labels, collation),
    };
    Ok(SqlType { nullable, ..ty })
}

fn labelled(kind: Kind, collation: u16, labels: &[String]) -> SqlType {
    let mut ty = SqlType { collation, ..SqlType::new(kind) };
    let encoded = labels.iter().map(|l| encode_label(l, collation));
    ty.labels = Some(encoded.collect::<Vec<_>>().into());
    let lengths = labels.iter().map(|l| l.chars().count() as u32);
    ty.length = match kind {
        Kind::Enum => lengths.max().unwrap_or(0),
        _ => lengths.sum::<u32>() + (labels.len() as u32).saturating_sub(1),
    };
    ty
}

fn labels(
    members: &[ast::EnumMember<'_>],
    column: &str,
    kind: &str,
    collation: u16,
    state: &mut SessionState,
) -> SqlResult<Vec<String>> {
    let mut labels: Vec<String> = Vec::with_capacity(members.len());
    for member in members {
        // Bytes of the column's own character set, or text of the statement.
        let own = if member.raw { Charset::of_collation(collation) } else { None };
        let label = match own.and_then(|own| own.decode(member.value)) {
            Some(label) => label,
            None => state.vars.client_text(member.value),
        };
        let label = label.trim_end_matches(' ').to_owned();
        if kind == "SET" && label.contains(',') {
            return Err(SqlError::new(1367, format!("Illegal set '{label}' value found during parsing")));
        }
        if labels.iter().any(|l| l.eq_ignore_ascii_case(&label)) {
            let message = format!("Column '{column}' has duplicated value '{label}' in {kind}");
            if state.vars.sql_mode.is_strict() {
                return Err(SqlError::new(1291, message));
            }
            state.warnings.push(vaquita_types::Level::Note, 1291, message);
        }
        labels.push(label);
    }
    if kind == "SET" && labels.len() > 64 {
        return Err(SqlError::new(1097, format!("Too many strings for column {column} and SET")));
    }
    Ok(labels)
}

fn too_big_precision(wanted: u32, column: &str, most: u32) -> SqlError {
    SqlError::new(
        1426,
        format!("Too big precision {wanted} specified for column '{column}'. Maximum is {most}."),
    )
}

fn year() -> SqlType {
    SqlType { unsigned: true, length: 4, ..SqlType::new(Kind::Year) }
}

fn number(written: &ast::ColumnType<'_>, name: &str, real_as_float: bool) -> SqlResult<Option<SqlType>> {
    // ZEROFILL means UNSIGNED.
    let unsigned = written.unsigned || written.zerofill;
    let int = |kind: Kind, width: Option<u32>, signed: u32, without: u32| {
        let length = width.unwrap_or(if unsigned { without } else { signed });
        if length > 255 {
            let message = format!("Display width out of range for column '{name}' (max = 255)");
            return Err(SqlError::new(1439, message));
        }
        Ok(SqlType { unsigned, length, ..SqlType::new(kind) })
    };
    Ok(Some(match written.kind {
        TypeKind::Bool => SqlType { length: 1, ..SqlType::new(Kind::TinyInt) },
        TypeKind::Serial => SqlType { unsigned: true, length: 20, ..SqlType::new(Kind::BigInt) },
        TypeKind::Int(size, width) => match size {
            IntSize::Tiny => int(Kind::TinyInt, width, 4, 3)?,
            IntSize::Small => int(Kind::SmallInt, width, 6, 5)?,
            IntSize::Medium => int(Kind::MediumInt, width, 9, 8)?,
            IntSize::Int => int(Kind::Int, width, 11, 10)?,
            IntSize::Big => int(Kind::BigInt, width, 20, 20)?,
        },
        TypeKind::Bit(bits) => {
            let length = bits.unwrap_or(1).max(1);
            if length > 64 {
                let message = format!("Display width out of range for column '{name}' (max = 64)");
                return Err(SqlError::new(1439, message));
            }
            SqlType { unsigned: true, length, ..SqlType::new(Kind::Bit) }
        }
        TypeKind::Decimal(precision, scale) => {
            let (precision, scale) = (precision.filter(|p| *p > 0).unwrap_or(10), scale.unwrap_or(0));
            decimals(name, precision, scale, 65)?;
            SqlType { unsigned, ..SqlType::decimal(precision, scale as u8) }
        }
        TypeKind::Float(precision, None) => match precision.unwrap_or(0) {
            0..=24 => float(Kind::Float, unsigned, None),
            25..=53 => float(Kind::Double, unsigned, None),
            _ => {
                let message = format!("Incorrect column specifier for column '{name}'");
                return Err(SqlError::new(1063, message));
            }
        },
        TypeKind::Float(length, Some(scale)) => {
            let length = length.unwrap_or(0);
            decimals(name, length, scale, 255)?;
            float(Kind::Float, unsigned, Some((length, scale)))
        }
        TypeKind::Real(Some((length, scale))) if real_as_float => {
            decimals(name, length, scale, 255)?;
            float(Kind::Float, unsigned, Some((length, scale)))
        }
        TypeKind::Real(None) if real_as_float => float(Kind::Float, unsigned, None),
        TypeKind::Double(fixed) | TypeKind::Real(fixed) => {
            if let Some((length, scale)) = fixed {
                decimals(name, length, scale, 255)?;
            }
            float(Kind::Double, unsigned, fixed)
        }
        _ => return Ok(None),
    }))
}

fn float(kind: Kind, unsigned: bool, fixed: Option<(u32, u32)>) -> SqlType {
    let plain = if kind == Kind::Float { 12 } else { 22 };
    let (length, decimals) = fixed.map_or((plain, NOT_FIXED), |(length, scale)| (length, scale as u8));
    SqlType { unsigned, length, decimals, ..SqlType::new(kind) }
}

/// Checks digits and digits after the point.
fn decimals(name: &str, precision: u32, scale: u32, most: u32) -> SqlResult<()> {
    if scale > 30 {
        let message = format!("Too big scale {scale} specified for column '{name}'. Maximum is 30.");
        return Err(SqlError::new(1425, message));
    }
    if precision > most {
        return Err(too_big_precision(precision, name, most));
    }
    if precision < scale {
        let message =
            format!("For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '{name}').");
        return Err(SqlError::new(1427, message));
    }
    Ok(())
}

fn too_long(name: &str, most: u32) -> SqlError {
    let message =
        format!("Column length too big for column '{name}' (max = {most}); use BLOB or TEXT instead");
    SqlError::new(1074, message)
}

/// Bytes of the longest character of a collation's character set.
fn width_of(collation: u16) -> u32 {
    if collation == BINARY {
        return 1;
    }
    Charset::of_collation(collation).map_or(1, |c| u32::from(c.mb_max_len))
}

fn blob(kind: Kind, length: u32, collation: u16) -> SqlType {
    SqlType { length, collation, ..SqlType::new(kind) }
}

/// The smallest TEXT or BLOB that holds so many bytes.
fn sized(bytes: u64, collation: u16) -> SqlType {
    match bytes {
        0..=255 => blob(Kind::TinyText, 255, collation),
        256..=65_535 => blob(Kind::Text, 65_535, collation),
        65_536..=0xFF_FFFF => blob(Kind::MediumText, 0xFF_FFFF, collation),
        _ => blob(Kind::LongText, u32::MAX, collation),
    }
}

/// A VARCHAR or VARBINARY of more characters than a row holds.
fn too_long_string(
    name: &str,
    length: u32,
    collation: u16,
    long: LongString,
    state: &mut SessionState,
) -> SqlResult<SqlType> {
    let width = width_of(collation);
    if long == LongString::Refused || state.vars.sql_mode.is_strict() {
        return Err(too_long(name, ROW_MAX / width));
    }
    let (from, to) = if collation == BINARY { ("VARBINARY", "BLOB") } else { ("VARCHAR", "TEXT") };
    let message = format!("Converting column '{name}' from {from} to {to}");
    state.warnings.push(vaquita_types::Level::Note, 1246, message);
    Ok(sized(u64::from(length) * u64::from(width), collation))
}

fn string(
    written: &ast::ColumnType<'_>,
    name: &str,
    text: u16,
    long: LongString,
    state: &mut SessionState,
) -> SqlResult<Option<SqlType>> {
    let width = width_of(text);
    let of_length = |length: Option<u32>, width: u32, collation: u16| {
        sized(length.map_or(65_535, |n| u64::from(n) * u64::from(width)), collation)
    };
    Ok(Some(match written.kind {
        TypeKind::Char(n) | TypeKind::Binary(n) => {
            let collation = if matches!(written.kind, TypeKind::Binary(_)) { BINARY } else { text };
            let length = n.unwrap_or(1);
            if length > CHAR_MAX {
                return Err(too_long(name, CHAR_MAX));
            }
            blob(Kind::Char, length, collation)
        }
        TypeKind::VarChar(n) if n > ROW_MAX / width => too_long_string(name, n, text, long, state)?,
        TypeKind::VarChar(n) => SqlType::varchar(n, text),
        TypeKind::VarBinary(n) if n > ROW_MAX => too_long_string(name, n, BINARY, long, state)?,
        TypeKind::VarBinary(n) => SqlType::varchar(n, BINARY),
        TypeKind::TinyText => blob(Kind::TinyText, 255, text),
        TypeKind::Text(n) => of_length(n, width, text),
        TypeKind::MediumText => blob(Kind::MediumText, 0xFF_FFFF, text),
        TypeKind::LongText => blob(Kind::LongText, u32::MAX, text),
        TypeKind::TinyBlob => blob(Kind::TinyText, 255, BINARY),
        TypeKind::Blob(n) => of_length(n, 1, BINARY),
        TypeKind::MediumBlob => blob(Kind::MediumText, 0xFF_FFFF, BINARY),
        TypeKind::LongBlob => blob(Kind::LongText, u32::MAX, BINARY),
        TypeKind::Json => blob(Kind::Json, u32::MAX, BINARY),
        TypeKind::Geometry(_) => blob(Kind::Geometry, u32::MAX, BINARY),
        _ => return Ok(None),
    }))
}

fn temporal(written: &ast::ColumnType<'_>, name: &str) -> SqlResult<SqlType> {
    let (kind, fsp, whole) = match written.kind {
        TypeKind::Time(fsp) => (Kind::Time, fsp, 10),
        TypeKind::DateTime(fsp) => (Kind::DateTime, fsp, 19),
        TypeKind::Timestamp(fsp) => (Kind::Timestamp, fsp, 19),
        _ => return Ok(SqlType { length: 10, ..SqlType::new(Kind::Date) }),
    };
    let fsp = fsp.unwrap_or(0);
    if fsp > 6 {
        return Err(too_big_precision(fsp, name, 6));
    }
    let length = if fsp == 0 { whole } else { whole + 1 + fsp };
    Ok(SqlType { length, decimals: fsp as u8, ..SqlType::new(kind) })
}
