//! SET of system variables, SHOW VARIABLES.

use crate::database::Database;
use vaquita_parser::ast::{self, VarScope};
use vaquita_session::SessionState;
use vaquita_session::privilege::Priv;
use vaquita_session::var_ref::read_session;
use vaquita_session::vars::bounds::{CAPACITY, CAPACITY_MAX, DIRTY, DIRTY_LWM, LWM_TOO_HIGH, TOO_HIGH};
use vaquita_session::vars::{
    Access, Effect, Given, Scope, VarId, VarValue, effect, id, parse, together, unknown,
};
use vaquita_types::{SqlError, SqlResult, Warnings};

/// Who may set a variable for all, or one for the session that is not anybody's to set.
fn check_allowed(state: &SessionState, id: VarId, global: bool) -> SqlResult<()> {
    match global {
        false => state.check_super_or(Priv::SESSION_VARIABLES_ADMIN | Priv::SYSTEM_VARIABLES_ADMIN),
        true => {
            state.check_super_or(Priv::SYSTEM_VARIABLES_ADMIN)?;
            match id {
                id::MANDATORY_ROLES => state.check_super_or(Priv::ROLE_ADMIN),
                _ => Ok(()),
            }
        }
    }
}

/// Variables whose session value not everybody may set.
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
                check_allowed(state, id, global)?;
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
            let shown = (var == id::EVENT_SCHEDULER).then(|| given.shown());
            let value = parse::parse(def, given, strict, &mut state.warnings)?;
            if let Some(shown) = shown.filter(|_| value.uint() > 1) {
                // Only an option can say DISABLED.
                return Err(parse::wrong_value(def.name, &shown));
            }
            if let ("innodb_ft_server_stopword_table" | "innodb_ft_user_stopword_table", VarValue::Text(name)) =
                (def.name, &value)
                && !db.is_stopword_table(name)
            {
                return Err(parse::wrong_value(def.name, name));
            }
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
        let value = within(var, value, db, &mut state.warnings)?;
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
    let mut lines: Vec<_> = VarId::all().filter_map(line).collect();
    // The older name, which programs still look for.
    if let Some((_, engine)) = lines.iter().find(|(name, _)| *name == "default_storage_engine") {
        let engine = engine.clone();
        let at = lines.partition_point(|(name, _)| *name < "storage_engine");
        lines.insert(at, ("storage_engine", engine));
    }
    lines
}

/// What a global variable gets if `value` is asked for. Another variable may follow it.
///
/// # Errors
/// Of setting that one.
fn within(var: VarId, value: VarValue, db: &Database, warnings: &mut Warnings) -> SqlResult<VarValue> {
    let other = |var: VarId| db.globals().get(var).uint();
    let wanted = value.uint();
    let mut clipped = |complaint: &str, name: &str, to: u64| {
        warnings.warn(1210, complaint.to_owned());
        warnings.warn(1210, format!("Setting {name} to {to}"));
        Ok(VarValue::UInt(to))
    };
    match var {
        CAPACITY if wanted > other(CAPACITY_MAX) => {
            clipped(TOO_HIGH, "innodb_io_capacity", other(CAPACITY_MAX))
        }
        CAPACITY_MAX if wanted < other(CAPACITY) => {
            let complaint = "innodb_io_capacity_max cannot be set lower than innodb_io_capacity.";
            clipped(complaint, "innodb_io_capacity_max", other(CAPACITY))
        }
        DIRTY_LWM if wanted > other(DIRTY) => {
            clipped(LWM_TOO_HIGH, "innodb_max_dirty_page_pct_lwm", other(DIRTY))
        }
        DIRTY if wanted < other(DIRTY_LWM) => {
            let complaint =
                "innodb_max_dirty_pages_pct cannot be set lower than innodb_max_dirty_pages_pct_lwm.";
            warnings.warn(1210, complaint);
            warnings.warn(1210, format!("Lowering innodb_max_dirty_page_pct_lwm to {wanted}"));
            db.set_global(DIRTY_LWM, VarValue::UInt(wanted))?;
            Ok(value)
        }
        _ => Ok(value),
    }
}
