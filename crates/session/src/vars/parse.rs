//! From what SET, an option file or a command line gives to what a variable can hold.

use super::{Kind, VarDef, VarValue, sql_mode};
use std::borrow::Cow;
use vaquita_engine::fulltext::NamedRanking;
use vaquita_engine::lower::charset::Charset;
use vaquita_engine::lower::collation;
use vaquita_types::{SqlError, SqlResult, Value, Warnings};

/// `utf8_general_ci`: of names and of variables' texts.
pub(super) const UTF8_GENERAL_CI: u16 = 33;

/// What a variable is to be set to.
#[derive(Debug, Clone, Copy)]
pub enum Given<'a> {
    /// A value of an expression.
    Value(&'a Value<'a>),
    /// A bare word, or the text of an option: numbers are recognized in it, `K`, `M`, `G` too.
    Option(&'a str),
}

impl Given<'_> {
    fn text(&self) -> Option<Cow<'_, str>> {
        match self {
            Given::Option(text) => Some(Cow::Borrowed(text)),
            Given::Value(Value::Bytes(bytes)) => Some(String::from_utf8_lossy(bytes)),
            Given::Value(Value::Label { text, .. }) => Some(String::from_utf8_lossy(text)),
            Given::Value(_) => None,
        }
    }

    /// For messages.
    pub fn shown(&self) -> String {
        match self {
            Given::Value(value) => show_value(value),
            Given::Option(text) => (*text).to_owned(),
        }
    }

    fn is_null(&self) -> bool {
        matches!(self, Given::Value(Value::Null))
    }

    /// A whole number: negative or not, and its size. `None`: it is no number.
    fn whole(&self) -> Option<(bool, u64)> {
        match self {
            Given::Value(Value::Int(n)) => Some((*n < 0, n.unsigned_abs())),
            Given::Value(Value::UInt(n)) => Some((false, *n)),
            Given::Value(Value::Bit { value, .. }) => Some((false, *value)),
            Given::Value(_) => None,
            Given::Option(text) => sized(text),
        }
    }
}

fn show_value(value: &Value<'_>) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Int(n) => n.to_string(),
        Value::UInt(n) | Value::Bit { value: n, .. } => n.to_string(),
        Value::Float(n) => n.to_string(),
        Value::Double(n) => n.to_string(),
        Value::Bytes(text) | Value::Label { text, .. } => String::from_utf8_lossy(text).into_owned(),
        other => format!("{other:?}"),
    }
}

/// `12`, `-3`, `16M`.
fn sized(text: &str) -> Option<(bool, u64)> {
    let text = text.trim();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let shift = match digits.as_bytes().last()?.to_ascii_uppercase() {
        b'K' => 10,
        b'M' => 20,
        b'G' => 30,
        b'T' => 40,
        _ => 0,
    };
    let digits = if shift == 0 { digits } else { &digits[..digits.len() - 1] };
    let number: u64 = digits.parse().ok()?;
    Some((negative, number.saturating_mul(1 << shift)))
}

/// Error 1231.
pub fn wrong_value(name: &str, value: &str) -> SqlError {
    SqlError::new(1231, format!("Variable '{name}' can't be set to the value of '{value}'"))
}

fn wrong_type(name: &str) -> SqlError {
    SqlError::new(1232, format!("Incorrect argument type to variable '{name}'"))
}

/// What the variable holds after it was set so. Numbers out of range are moved into it, with warning 1292; under
/// STRICT_ALL_TABLES (`strict`) that is error 1231.
///
/// # Errors
/// 1231, 1232, and those of character sets, collations, time zones, locales, engines that are unknown.
pub fn parse(def: &VarDef, given: Given<'_>, strict: bool, warnings: &mut Warnings) -> SqlResult<VarValue> {
    let name = def.name;
    let mut clipped = |to: VarValue| {
        if strict {
            return Err(wrong_value(name, &given.shown()));
        }
        warnings.warn(1292, format!("Truncated incorrect {name} value: '{}'", given.shown()));
        Ok(to)
    };
    match def.kind {
        Kind::Bool => choice(def, given, &["OFF", "ON"], true),
        Kind::Enum(names) => choice(def, given, names, false),
        Kind::UInt(min, max, block) => {
            let Some((negative, size)) = given.whole() else { return Err(wrong_type(name)) };
            let wanted = if negative { 0 } else { size };
            let within = wanted.clamp(min, max);
            let rounded = (within / block * block).max(min);
            if rounded == wanted && !(negative && size > 0) {
                return Ok(VarValue::UInt(rounded));
            }
            clipped(VarValue::UInt(rounded))
        }
        Kind::Int(min, max) => {
            let Some((negative, size)) = given.whole() else { return Err(wrong_type(name)) };
            let wanted = if negative { -i128::from(size) } else { i128::from(size) };
            let within = wanted.clamp(min.into(), max.into());
            let value = VarValue::Int(i64::try_from(within).unwrap_or_default());
            if within == wanted { Ok(value) } else { clipped(value) }
        }
        Kind::Double(min, max) => {
            let wanted = match given {
                Given::Value(Value::Double(n)) => *n,
                Given::Value(Value::Float(n)) => f64::from(*n),
                Given::Value(Value::Decimal(n)) => n.to_f64(),
                Given::Option(text) => text.trim().parse().map_err(|_| wrong_type(name))?,
                Given::Value(_) => match given.whole() {
                    Some((negative, size)) => (if negative { -1.0 } else { 1.0 }) * size as f64,
                    None => return Err(wrong_type(name)),
                },
            };
            // A time that will not come is no time to stand still at.
            if wanted.is_nan() || name == "timestamp" && wanted > max {
                return Err(wrong_value(name, &given.shown()));
            }
            let within = wanted.clamp(min, max);
            if within == wanted { Ok(VarValue::Double(within)) } else { clipped(VarValue::Double(within)) }
        }
        Kind::Set(names) => match (given.text(), given.whole()) {
            (Some(text), _) if given.whole().is_none() => {
                let mut bits = 0;
                for part in text.split(',').filter(|p| !p.is_empty()) {
                    let at = names.iter().position(|n| n.eq_ignore_ascii_case(part.trim()));
                    bits |= 1u64 << at.ok_or_else(|| wrong_value(name, part))?;
                }
                Ok(VarValue::UInt(bits))
            }
            (_, Some((false, bits))) if bits < 1 << names.len() => Ok(VarValue::UInt(bits)),
            (_, Some(_)) => Err(wrong_value(name, &given.shown())),
            _ if given.is_null() => Err(wrong_value(name, "NULL")),
            _ => Err(wrong_type(name)),
        },
        Kind::Switches(names) => parse_switches(def, given, names),
        Kind::SqlMode => match (given.whole(), given.text()) {
            (Some((false, bits)), _) if bits < 1 << 32 => Ok(VarValue::UInt(sql_mode::expanded(bits).0)),
            (Some(_), _) => Err(wrong_value(name, &given.shown())),
            (None, Some(text)) => {
                let mode = sql_mode::parse(&text).map_err(|word| wrong_value(name, word))?;
                Ok(VarValue::UInt(mode.0))
            }
            _ if given.is_null() => Err(wrong_value(name, "NULL")),
            _ => Err(wrong_type(name)),
        },
        Kind::Text => match given {
            Given::Value(Value::Null) => Ok(VarValue::Null),
            _ => {
                let text = given.text().ok_or_else(|| wrong_type(name))?;
                Ok(VarValue::Text(text.as_ref().into()))
            }
        },
        Kind::Charset { nullable } => {
            if given.is_null() {
                return if nullable { Ok(VarValue::Null) } else { Err(wrong_value(name, "NULL")) };
            }
            let collation = match (given.text(), given.whole()) {
                (Some(text), _) => charset_by_name(&text)
                    .ok_or_else(|| SqlError::new(1115, format!("Unknown character set: '{text}'")))?,
                (None, Some((false, id))) => known_collation(id)
                    .ok_or_else(|| SqlError::new(1115, format!("Unknown character set: '{id}'")))?,
                _ => return Err(wrong_type(name)),
            };
            if name == "character_set_client" {
                check_client(collation)?;
            }
            Ok(VarValue::UInt(collation.into()))
        }
        Kind::Collation => match (given.text(), given.whole()) {
            (Some(text), _) => match collation::by_name(&text) {
                Some(id) => Ok(VarValue::UInt(id.into())),
                None => Err(unknown_collation(&text)),
            },
            (None, Some((false, id))) => match known_collation(id) {
                Some(id) => Ok(VarValue::UInt(id.into())),
                None => Err(unknown_collation(&id.to_string())),
            },
            _ if given.is_null() => Err(wrong_value(name, "NULL")),
            _ => Err(wrong_type(name)),
        },
        Kind::Engine => {
            let Some(text) = given.text() else {
                return Err(if given.is_null() { wrong_value(name, "NULL") } else { wrong_type(name) });
            };
            if !text.eq_ignore_ascii_case("innodb") {
                if !is_other_engine(&text) {
                    return Err(SqlError::new(1286, format!("Unknown storage engine '{text}'")));
                }
                warnings.warn(1266, format!("Using storage engine InnoDB instead of '{text}' for {name}"));
            }
            Ok(VarValue::Text("InnoDB".into()))
        }
        Kind::TimeZone => {
            let text = given.text().ok_or_else(|| unknown_time_zone(&given.shown()))?;
            vaquita_types::TimeZone::find(&text)
                .map(|_| VarValue::Text(text.as_ref().into()))
                .ok_or_else(|| unknown_time_zone(&text))
        }
        Kind::Locale => {
            let text = given.text().unwrap_or_default();
            match LOCALES.iter().find(|l| l.eq_ignore_ascii_case(&text)) {
                Some(locale) => Ok(VarValue::Text((*locale).into())),
                None => Err(SqlError::new(1649, format!("Unknown locale: '{}'", given.shown()))),
            }
        }
        Kind::Ranking => {
            let text = given.text().ok_or_else(|| wrong_value(name, &given.shown()))?;
            match text.eq_ignore_ascii_case("index") || text.parse::<NamedRanking>().is_ok() {
                true => Ok(VarValue::Text(text.as_ref().into())),
                false => Err(wrong_value(name, &given.shown())),
            }
        }
        Kind::Version => {
            let text = given.text().filter(|text| is_version(text));
            let text = text.ok_or_else(|| wrong_value(name, &given.shown()))?;
            Ok(VarValue::Text(text.as_ref().into()))
        }
    }
}

/// `8.0.36`, and what may follow the numbers: clients parse it, and it has to fit into a greeting.
fn is_version(text: &str) -> bool {
    const LONGEST: usize = 60;
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (numbers, rest) = text.split_at(end);
    let numbers: Vec<&str> = numbers.split('.').collect();
    let sound = |n: &&str| matches!(n.len(), 1..=2);
    text.len() <= LONGEST
        && numbers.len() == 3
        && numbers.iter().all(sound)
        && (rest.is_empty() || rest.starts_with('-'))
        && rest.bytes().all(|b| b.is_ascii_graphic())
}

/// Engines of MySQL and MariaDB that schemas and option files name: a table of theirs becomes one of InnoDB.
const OTHER_ENGINES: &[&str] =
    &["MyISAM", "MEMORY", "HEAP", "MERGE", "MRG_MYISAM", "CSV", "ARCHIVE", "BLACKHOLE", "Aria"];

/// Whether others have an engine of that name.
pub fn is_other_engine(name: &str) -> bool {
    OTHER_ENGINES.iter().any(|engine| engine.eq_ignore_ascii_case(name))
}

/// Locales of MySQL 5.6.24.
#[rustfmt::skip]
const LOCALES: &[&str] = &[
    "ar_AE", "ar_BH", "ar_DZ", "ar_EG", "ar_IN", "ar_IQ", "ar_JO", "ar_KW", "ar_LB", "ar_LY", "ar_MA",
    "ar_OM", "ar_QA", "ar_SA", "ar_SD", "ar_SY", "ar_TN", "ar_YE", "be_BY", "bg_BG", "ca_ES", "cs_CZ",
    "da_DK", "de_AT", "de_BE", "de_CH", "de_DE", "de_LU", "el_GR", "en_AU", "en_CA", "en_GB", "en_IN",
    "en_NZ", "en_PH", "en_US", "en_ZA", "en_ZW", "es_AR", "es_BO", "es_CL", "es_CO", "es_CR", "es_DO",
    "es_EC", "es_ES", "es_GT", "es_HN", "es_MX", "es_NI", "es_PA", "es_PE", "es_PR", "es_PY", "es_SV",
    "es_US", "es_UY", "es_VE", "et_EE", "eu_ES", "fi_FI", "fo_FO", "fr_BE", "fr_CA", "fr_CH", "fr_FR",
    "fr_LU", "gl_ES", "gu_IN", "he_IL", "hi_IN", "hr_HR", "hu_HU", "id_ID", "is_IS", "it_CH", "it_IT",
    "ja_JP", "ko_KR", "lt_LT", "lv_LV", "mk_MK", "mn_MN", "ms_MY", "nb_NO", "nl_BE", "nl_NL", "no_NO",
    "pl_PL", "pt_BR", "pt_PT", "rm_CH", "ro_RO", "ru_RU", "ru_UA", "sk_SK", "sl_SI", "sq_AL", "sr_RS",
    "sv_FI", "sv_SE", "ta_IN", "te_IN", "th_TH", "tr_TR", "uk_UA", "ur_PK", "vi_VN", "zh_CN", "zh_HK",
    "zh_TW",
];

fn unknown_time_zone(text: &str) -> SqlError {
    SqlError::new(1298, format!("Unknown or incorrect time zone: '{text}'"))
}

/// Whether a client may write statements in the character set of that collation: not where ASCII is no bytes of ASCII.
///
/// # Errors
/// 1231.
pub fn check_client(collation: u16) -> SqlResult<()> {
    match charset_name(collation) {
        set @ ("ucs2" | "utf16" | "utf16le" | "utf32") => Err(wrong_value("character_set_client", set)),
        _ => Ok(()),
    }
}

/// Error 1273.
pub fn unknown_collation(text: &str) -> SqlError {
    SqlError::new(1273, format!("Unknown collation: '{text}'"))
}

fn choice(def: &VarDef, given: Given<'_>, names: &[&str], flag: bool) -> SqlResult<VarValue> {
    let by_number = |n: u64| match usize::try_from(n) {
        Ok(at) if at < names.len() => Ok(VarValue::UInt(n)),
        _ => Err(wrong_value(def.name, &given.shown())),
    };
    if let Some(text) = given.text() {
        // TRUE and FALSE are numbers in SQL; option files know them as words.
        let words: &[&[&str]] =
            &[names, if flag && matches!(given, Given::Option(_)) { &["FALSE", "TRUE"] } else { &[] }];
        for list in words {
            if let Some(at) = list.iter().position(|n| n.eq_ignore_ascii_case(&text)) {
                return Ok(VarValue::UInt(at as u64));
            }
        }
        return match text.parse() {
            Ok(n) if matches!(given, Given::Option(_)) => by_number(n),
            _ => Err(wrong_value(def.name, &text)),
        };
    }
    match given.whole() {
        Some((false, n)) => by_number(n),
        Some(_) => Err(wrong_value(def.name, &given.shown())),
        None if given.is_null() => Err(wrong_value(def.name, "NULL")),
        None => Err(wrong_type(def.name)),
    }
}

/// `a=on,b=off,default`: what is not named stays as it is by default.
fn parse_switches(def: &VarDef, given: Given<'_>, names: &[&str]) -> SqlResult<VarValue> {
    if let Some((false, bits)) = given.whole() {
        return Ok(VarValue::UInt(bits & ((1 << names.len()) - 1)));
    }
    let text = given.text().ok_or_else(|| wrong_type(def.name))?;
    let defaults = switch_bits(def.default, names).unwrap_or(0);
    let mut bits = defaults;
    for part in text.split(',').filter(|p| !p.is_empty()) {
        let part = part.trim();
        if part.eq_ignore_ascii_case("default") {
            bits = defaults;
            continue;
        }
        let one = part.split_once('=').and_then(|(switch, to)| {
            let bit = names.iter().position(|n| n.eq_ignore_ascii_case(switch.trim()))?;
            let mask = 1u64 << bit;
            match to.trim().to_ascii_lowercase().as_str() {
                "on" => Some((mask, mask)),
                "off" => Some((mask, 0)),
                "default" => Some((mask, defaults & mask)),
                _ => None,
            }
        });
        let (mask, to) = one.ok_or_else(|| wrong_value(def.name, part))?;
        bits = bits & !mask | to;
    }
    Ok(VarValue::UInt(bits))
}

fn switch_bits(text: &str, names: &[&str]) -> Option<u64> {
    let mut bits = 0;
    for part in text.split(',') {
        let (switch, to) = part.split_once('=')?;
        let bit = names.iter().position(|n| *n == switch)?;
        bits |= u64::from(to == "on") << bit;
    }
    Some(bits)
}

/// The default, which the table has as text.
pub fn default_value(def: &VarDef) -> VarValue {
    match (def.default, def.kind) {
        ("\0", _) => VarValue::Null,
        ("@version", _) => VarValue::Text(crate::VERSION.into()),
        (text, Kind::TimeZone | Kind::Text | Kind::Locale) => VarValue::Text(text.into()),
        (text, _) => {
            let value = parse(def, Given::Option(text), false, &mut Warnings::new(0));
            value.unwrap_or(VarValue::Null)
        }
    }
}

/// Members of a set by its bits.
pub fn members(names: &[&str], bits: u64) -> String {
    let set = names.iter().enumerate().filter(|(bit, _)| bits & 1 << bit != 0);
    set.map(|(_, name)| *name).collect::<Vec<_>>().join(",")
}

/// Switches with their states.
pub fn switches(names: &[&str], bits: u64) -> String {
    let one =
        |(bit, name): (usize, &&str)| format!("{name}={}", if bits & 1 << bit != 0 { "on" } else { "off" });
    names.iter().enumerate().map(one).collect::<Vec<_>>().join(",")
}

fn known_collation(id: u64) -> Option<u16> {
    let id = u16::try_from(id).ok()?;
    Some(id).filter(|&id| collation::is_known(id))
}

/// The default collation of the character set of that name.
pub fn charset_by_name(name: &str) -> Option<u16> {
    let name = if name.eq_ignore_ascii_case("utf8mb3") { "utf8" } else { name };
    let of = |id: u16| Charset::of_collation(id).is_some_and(|c| c.name.eq_ignore_ascii_case(name));
    Charset::by_name(name)?;
    (1..=255).find(|&id| collation::is_primary(id) && of(id))
}

/// Name of a collation's character set.
pub fn charset_name(collation: u16) -> &'static str {
    Charset::of_collation(collation).map_or("", |c| c.name)
}

/// The default collation of a collation's character set.
pub fn primary(collation: u16) -> u16 {
    charset_by_name(charset_name(collation)).unwrap_or(collation)
}

/// Name of a collation.
pub fn collation_name(id: u16) -> &'static str {
    collation::name(id).unwrap_or_default()
}
