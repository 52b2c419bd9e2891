//! What becomes of a value that does nothing: it is refused, or taken with a warning.
//!
//! A value that says how things are anyway is neither: the default, the value the variable has, and the few that are listed here.

use super::parse::wrong_value;
use super::reasons::NOT_COUNTED;
use super::{Effect, Given, Kind, VarDef, VarId, VarValue, parse};
use vaquita_types::{SqlError, SqlResult, Warnings};

/// Values that say how things are though they are not the default. Clients and dumps set them.
const AS_IT_IS: &[(&str, &[&str])] = &[
    ("information_schema_stats_expiry", &["0"]),
    ("innodb_data_home_dir", &["", ".", "./"]),
    ("innodb_log_group_home_dir", &["", "."]),
    ("innodb_undo_directory", &["", "./"]),
    ("lc_messages", ENGLISH),
    ("pseudo_slave_mode", &["ON"]),
    ("skip_name_resolve", &["ON"]),
    ("sql_log_bin", &["OFF"]),
];

const ENGLISH: &[&str] = &["en_US", "en_GB", "en_AU", "en_CA", "en_IN", "en_NZ", "en_PH", "en_ZA", "en_ZW"];

/// Limits that hold only where the program's allocator counts.
const MEMORY_LIMITS: &[&str] = &["connection_memory_limit", "global_connection_memory_limit"];

/// Why a value of a variable that works is refused, if it is.
pub fn part_refused(def: &VarDef, value: &VarValue) -> Option<&'static str> {
    if MEMORY_LIMITS.contains(&def.name)
        && *value != parse::default_value(def)
        && !vaquita_types::memory::account::is_counted()
    {
        return Some(NOT_COUNTED);
    }
    None
}

/// Whether a value says how things are.
pub fn is_as_it_is(def: &VarDef, value: &VarValue, now: &VarValue) -> bool {
    let listed = || {
        let text = shown(def.kind, value);
        AS_IT_IS.iter().any(|(name, values)| *name == def.name && values.contains(&text.as_str()))
    };
    value == now || *value == parse::default_value(def) || listed()
}

fn shown(kind: Kind, value: &VarValue) -> String {
    value.show(kind)
}

/// Error 1231 with the reason behind it, for a value that is refused.
pub fn refused(def: &VarDef, value: &str, why: &str) -> SqlError {
    let error = wrong_value(def.name, value);
    SqlError { message: format!("{}: {why}", error.message).into(), ..error }
}

/// What is warned of when a value does nothing.
pub fn without_effect(def: &VarDef) -> String {
    format!("'{}' has no effect here", def.name)
}

/// What an option gives, if it is taken; what has to be said of it goes to `notes`.
///
/// # Errors
/// 1231, 1232: values that it cannot have, or that are refused.
pub fn of_option(def: &VarDef, text: &str, notes: &mut Vec<String>) -> SqlResult<VarValue> {
    let default = parse::default_value(def);
    let mut clipped = Warnings::new(1);
    let parsed = parse::parse(def, Given::Option(text), false, &mut clipped);
    let parsed = match (def.effect, parsed) {
        (Effect::Refused(why), Ok(value)) if !is_as_it_is(def, &value, &default) => {
            return Err(refused(def, text, why));
        }
        (Effect::Refused(why), Err(_)) => return Err(refused(def, text, why)),
        (_, parsed) => parsed?,
    };
    if let Some(why) = part_refused(def, &parsed) {
        return Err(refused(def, text, why));
    }
    notes.extend(clipped.list().iter().map(|warning| warning.message.to_string()));
    match def.effect {
        Effect::Tuning | Effect::Absent if !is_as_it_is(def, &parsed, &default) => {
            notes.push(without_effect(def));
            Ok(if def.effect == Effect::Absent { default } else { parsed })
        }
        _ => Ok(parsed),
    }
}

/// Why an option cannot be taken, if that is so because what it asks for is not here: `loose-` before it leaves it out.
pub fn refusal(var: VarId, text: &str) -> Option<SqlError> {
    let def = var.def();
    match def.effect {
        Effect::Refused(_) => of_option(def, text, &mut Vec::new()).err(),
        _ => None,
    }
}
