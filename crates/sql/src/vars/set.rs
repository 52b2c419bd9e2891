//! Reading `@@name`, and SET.

use super::globals::{together, unknown};
use super::session::id;
use super::{Access, Effect, Given, Kind, Scope, VarId, VarValue, bounds, effect, parse};
use crate::accounts::Priv;
use crate::database::Database;
use crate::state::SessionState;
use std::time::UNIX_EPOCH;
use vaquita_parser::ast::{self, VarScope};
use vaquita_types::{SqlError, SqlResult, SqlType, Value};

/// A system variable as an expression refers to it: `@@name`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VarRef {
    id: VarId,
    global: bool,
}

impl VarRef {
    /// What a name refers to.
    ///
    /// # Errors
    /// 1193 no such variable, 1238 it has no value of that scope.
    pub fn resolve(var: &ast::SystemVar<'_>) -> SqlResult<VarRef> {
        let found = match var.instance {
            None => VarId::find(var.name.name),
            Some(_) => None,
        };
        let id = found.ok_or_else(|| unknown(&var.name.to_string()))?;
        let def = id.def();
        let wrong = |scope| SqlError::new(1238, format!("Variable '{}' is a {scope} variable", def.name));
        let global = match (var.scope, def.scope) {
            (VarScope::Global, Scope::Session) => return Err(wrong("SESSION")),
            (VarScope::Session, Scope::Global) => return Err(wrong("GLOBAL")),
            (VarScope::Global, _) | (VarScope::Implicit, Scope::Global) => true,
            _ => false,
        };
        Ok(VarRef { id, global })
    }

    /// Type of its value.
    pub fn sql_type(&self) -> SqlType {
        self.id.def().kind.sql_type()
    }

    /// Its value.
    pub fn value(&self, db: Option<&Database>, state: &SessionState) -> Value<'static> {
        let kind = self.id.def().kind;
        match (self.global, db) {
            (true, Some(db)) => db.globals().get(self.id).value(kind),
            (true, None) => Value::Null,
            (false, _) => read_session(self.id, state).value(kind),
        }
    }
}

/// A session's value of a variable; some are not stored with the others.
pub(crate) fn read_session(var: VarId, state: &SessionState) -> VarValue {
    match var {
        id::LAST_INSERT_ID | id::IDENTITY => VarValue::UInt(state.last_insert_id),
        id::WARNING_COUNT => VarValue::UInt(state.warnings.count().into()),
        id::ERROR_COUNT => VarValue::UInt(state.error_count.into()),
        id::PSEUDO_THREAD_ID => {
            VarValue::UInt(state.vars.pseudo_thread_id.unwrap_or(state.connection_id.into()))
        }
        // MySQL never gives them back.
        id::RAND_SEED1 | id::RAND_SEED2 => VarValue::UInt(0),
        id::TIMESTAMP => {
            let us = state.vars.timestamp_us.unwrap_or(match state.now_us {
                0 => std::time::SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .map_or(0, |d| d.as_micros() as i64),
                now => now,
            });
            VarValue::Double(us as f64 / 1e6)
        }
        _ => state.vars.get(var).clone(),
    }
}

fn needs_super(state: &SessionState) -> SqlResult<()> {
    if state.privileges.global.has(Priv::SUPER) {
        return Ok(());
    }
    Err(SqlError::new(
        1227,
        "Access denied; you need (at least one of) the SUPER privilege(s) for this operation",
    ))
}

/// Variables whose session value only SUPER may set.
const SUPER_ONLY: [VarId; 7] = [
    id::CONNECTION_MEMORY_CHUNK_SIZE,
    id::CONNECTION_MEMORY_LIMIT,
    id::GLOBAL_CONNECTION_MEMORY_TRACKING,
    id::PSEUDO_THREAD_ID,
    id::SQL_LOG_BIN,
    id::SQL_LOG_OFF,
    id::SQL_REQUIRE_PRIMARY_KEY,
];

/// Checks an assignment before any of the statement is done: the variable it is about.
///
/// # Errors
/// 1193, 1227, 1228, 1229, 1238.
pub(crate) fn target(var: &ast::SystemVar<'_>, state: &SessionState) -> SqlResult<(VarId, bool)> {
    let found = match var.instance {
        None => VarId::find(var.name.name),
        Some(_) => None,
    };
    let id = found.ok_or_else(|| unknown(&var.name.to_string()))?;
    let def = id.def();
    let name = def.name;
    if def.access != Access::Live {
        return Err(SqlError::new(1238, format!("Variable '{name}' is a read only variable")));
    }
    let global = var.scope == VarScope::Global;
    match (global, def.scope) {
        (true, Scope::Session) => Err(SqlError::new(
            1228,
            format!("Variable '{name}' is a SESSION variable and can't be used with SET GLOBAL"),
        )),
        (false, Scope::Global) => Err(SqlError::new(
            1229,
            format!("Variable '{name}' is a GLOBAL variable and should be set with SET GLOBAL"),
        )),
        (false, _)
            if matches!(id, id::MAX_ALLOWED_PACKET)
                || matches!(name, "net_buffer_length" | "max_user_connections") =>
        {
            Err(SqlError::new(
                1621,
                format!("SESSION variable '{name}' is read-only. Use SET GLOBAL to assign the value"),
            ))
        }
        _ => {
            if global || SUPER_ONLY.contains(&id) {
                needs_super(state)?;
            }
            Ok((id, global))
        }
    }
}

/// What a checked assignment will store. `None` is DEFAULT.
///
/// # Errors
/// 1231, 1232 and those of what is named.
pub(crate) fn value_for(
    var: VarId,
    global: bool,
    given: Option<Given<'_>>,
    db: &Database,
    state: &mut SessionState,
) -> SqlResult<VarValue> {
    let def = var.def();
    let strict = state.vars.sql_mode.has(vaquita_types::SqlMode::STRICT_ALL_TABLES);
    match given {
        Some(given) => {
            let value = parse::parse(def, given, strict, &mut state.warnings)?;
            match def.effect {
                Effect::Refused(why) if !is_as_it_is(var, global, &value, db, state) => {
                    Err(effect::refused(def, &value.show(def.kind), why))
                }
                _ => match effect::part_refused(def, &value) {
                    Some(why) => Err(effect::refused(def, &value.show(def.kind), why)),
                    None => Ok(value),
                },
            }
        }
        None if matches!(var, id::TIMESTAMP) => Ok(VarValue::Double(0.0)),
        // Nothing is asked for.
        None if def.name.starts_with("innodb_monitor_") => Ok(VarValue::Text("".into())),
        None if global => Ok(db.globals().compiled(var)),
        None if def.scope == Scope::Both => Ok(db.globals().get(var)),
        None => Ok(db.globals().compiled(var)),
    }
}

/// Whether a value changes nothing.
fn is_as_it_is(var: VarId, global: bool, value: &VarValue, db: &Database, state: &SessionState) -> bool {
    let now = if global { db.globals().get(var) } else { read_session(var, state) };
    effect::is_as_it_is(var.def(), value, &now)
}

/// Stores what was checked.
///
/// # Errors
/// A log whose file cannot be opened.
pub(crate) fn assign(
    var: VarId,
    global: bool,
    value: VarValue,
    db: &Database,
    state: &mut SessionState,
) -> SqlResult<()> {
    let effect = var.def().effect;
    if matches!(effect, Effect::Tuning | Effect::Absent) && !is_as_it_is(var, global, &value, db, state) {
        state.warnings.warn(1105, effect::without_effect(var.def()));
        if effect == Effect::Absent {
            return Ok(());
        }
    }
    if global {
        if var.def().effect == Effect::AtStart {
            let message = format!(
                "The value of '{}' is used from the next start on, if it is given then",
                var.def().name
            );
            state.warnings.warn(1105, message);
        }
        let value = bounds::within(var, value, db, &mut state.warnings)?;
        return db.set_global(var, value);
    }
    match var {
        id::LAST_INSERT_ID | id::IDENTITY => state.last_insert_id = value.uint(),
        id::PSEUDO_THREAD_ID => state.vars.pseudo_thread_id = Some(value.uint()),
        id::RAND_SEED1 => state.rand[0] = (value.uint() % 0x3FFF_FFFF) as u32,
        id::RAND_SEED2 => state.rand[1] = (value.uint() % 0x3FFF_FFFF) as u32,
        id::SQL_NOTES => state.warnings.keep_notes(value.uint() != 0),
        id::MAX_ERROR_COUNT => state.warnings.set_limit(value.uint() as usize),
        _ => {}
    }
    for (other, value) in together(var, &value) {
        state.vars.put(other, value);
    }
    state.vars.put(var, value);
    Ok(())
}

/// SET NAMES.
///
/// # Errors
/// 1115, 1231, 1253, 1273.
pub(crate) fn names(
    charset: Option<&str>,
    collation: Option<&str>,
    db: &Database,
    state: &mut SessionState,
) -> SqlResult<()> {
    let by_default = db.globals().get(id::CHARACTER_SET_CLIENT).uint() as u16;
    let client = match charset {
        Some(name) => charset_number(name)?,
        None => by_default,
    };
    let collation = match collation {
        None => client,
        Some(name) => {
            let number = vaquita_engine::lower::collation::by_name(name)
                .ok_or_else(|| parse::unknown_collation(name))?;
            let set = parse::charset_name(client);
            if parse::charset_name(number) != set {
                return Err(SqlError::new(
                    1253,
                    format!("COLLATION '{name}' is not valid for CHARACTER SET '{set}'"),
                ));
            }
            number
        }
    };
    parse::check_client(client)?;
    set_client(state, client);
    state.vars.put(id::CHARACTER_SET_CONNECTION, VarValue::UInt(parse::primary(collation).into()));
    state.vars.put(id::COLLATION_CONNECTION, VarValue::UInt(collation.into()));
    Ok(())
}

/// SET CHARACTER SET: client and results; the connection takes the database's.
///
/// # Errors
/// 1115, 1231.
pub(crate) fn character_set(charset: Option<&str>, db: &Database, state: &mut SessionState) -> SqlResult<()> {
    let client = match charset {
        Some(name) => charset_number(name)?,
        None => db.globals().get(id::CHARACTER_SET_CLIENT).uint() as u16,
    };
    parse::check_client(client)?;
    set_client(state, client);
    let collation = state.vars.collation_database;
    state.vars.put(id::CHARACTER_SET_CONNECTION, VarValue::UInt(parse::primary(collation).into()));
    state.vars.put(id::COLLATION_CONNECTION, VarValue::UInt(collation.into()));
    Ok(())
}

fn set_client(state: &mut SessionState, collation: u16) {
    let primary = VarValue::UInt(parse::primary(collation).into());
    state.vars.put(id::CHARACTER_SET_CLIENT, primary.clone());
    state.vars.put(id::CHARACTER_SET_RESULTS, primary);
}

/// The three variables of the collation that a client asks for in its handshake.
pub(crate) fn connect_collation(state: &mut SessionState, collation: u16) {
    // What no statement can be written in is passed over, as what is not known.
    if vaquita_engine::lower::collation::name(collation).is_none() || parse::check_client(collation).is_err()
    {
        return;
    }
    set_client(state, collation);
    state.vars.put(id::CHARACTER_SET_CONNECTION, VarValue::UInt(parse::primary(collation).into()));
    state.vars.put(id::COLLATION_CONNECTION, VarValue::UInt(collation.into()));
}

fn charset_number(name: &str) -> SqlResult<u16> {
    parse::charset_by_name(name)
        .ok_or_else(|| SqlError::new(1115, format!("Unknown character set: '{name}'")))
}

/// Lines of SHOW VARIABLES.
pub(crate) fn list(global: bool, db: &Database, state: &SessionState) -> Vec<(&'static str, String)> {
    let values = db.globals().snapshot();
    let line = |var: VarId| {
        let def = var.def();
        let value = match (global, def.scope) {
            (true, Scope::Session) => return None,
            (true, _) | (false, Scope::Global) => values[var.at()].clone(),
            (false, _) => read_session(var, state),
        };
        Some((def.name, value.show(def.kind)))
    };
    VarId::all().filter_map(line).collect()
}

/// Value of `kind` for documentation: what can be given.
pub fn describe(kind: Kind) -> String {
    match kind {
        Kind::Bool => "ON, OFF".to_owned(),
        Kind::UInt(0, u64::MAX, _) => "number".to_owned(),
        Kind::UInt(min, u64::MAX, _) => format!("from {min}"),
        Kind::UInt(min, max, _) => format!("{min} to {max}"),
        Kind::Int(..) => "number".to_owned(),
        Kind::Double(min, max) => format!("{min} to {max}"),
        Kind::Enum(names) => names.join(", "),
        Kind::Set(names) => format!("any of {}", names.join(", ")),
        Kind::Switches(_) => "switches".to_owned(),
        Kind::SqlMode => "modes".to_owned(),
        Kind::Text => "text".to_owned(),
        Kind::Charset { .. } => "character set".to_owned(),
        Kind::Collation => "collation".to_owned(),
        Kind::Engine => "InnoDB".to_owned(),
        Kind::TimeZone => "time zone".to_owned(),
        Kind::Locale => "locale".to_owned(),
    }
}
