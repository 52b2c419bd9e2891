//! Global values.

use super::session::{SessionVars, id};
use super::{Access, Given, Scope, VarId, VarValue, bounds, effect, parse};
use parking_lot::{Mutex, RwLock};
use std::sync::Arc;
use vaquita_types::{SqlError, SqlResult, Warnings};

/// Who is told of a changed global value: the variable's name, its number (0 if it is none).
type Watcher = Box<dyn Fn(&'static str, u64) + Send + Sync>;

/// Global values. Sessions start with a copy that they share until they set something.
pub struct Globals {
    state: RwLock<State>,
    watchers: Mutex<Vec<Watcher>>,
    /// What SET … = DEFAULT goes back to: the table's defaults.
    compiled: Box<[VarValue]>,
    /// What has to be said of the values given at start.
    notes: Vec<String>,
}

impl std::fmt::Debug for Globals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Globals").field("state", &*self.state.read()).finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct State {
    values: Arc<[VarValue]>,
    /// What a session starts with.
    template: SessionVars,
}

impl Globals {
    /// The defaults, changed by what option files and the command line say. Names may be written with `-` for `_`.
    ///
    /// # Errors
    /// 1193 unknown names, 1238 those that cannot be given, 1231 and 1232 wrong values.
    pub fn new(given: &[(String, String)]) -> SqlResult<Globals> {
        let compiled: Box<[VarValue]> = super::all().iter().map(parse::default_value).collect();
        let mut values = compiled.to_vec();
        let mut notes = Vec::new();
        for (name, value) in given {
            let name = name.replace('-', "_");
            let id = VarId::find(name.as_bytes()).ok_or_else(|| unknown(&name))?;
            let def = id.def();
            if def.access == Access::Fact || def.scope == Scope::Session {
                return Err(SqlError::new(1238, format!("Variable '{name}' is a read only variable")));
            }
            values[id.at()] = effect::of_option(def, value, &mut notes)?;
            for (other, value) in together(id, &values[id.at()]) {
                values[other.at()] = value;
            }
        }
        if matches!(&values[id::TMPDIR.at()], VarValue::Text(folders) if folders.trim().is_empty()) {
            values[id::TMPDIR.at()] = VarValue::Text(std::env::temp_dir().display().to_string().into());
        }
        let is_given = |var: VarId| {
            given.iter().any(|(name, _)| name.replace('-', "_").eq_ignore_ascii_case(var.def().name))
        };
        bounds::at_start(&mut values, &is_given, &mut notes);
        let values: Arc<[VarValue]> = values.into();
        let template = SessionVars::new(values.clone());
        Ok(Globals {
            state: RwLock::new(State { values, template }),
            watchers: Mutex::default(),
            compiled,
            notes,
        })
    }

    /// What has to be said of the values given at start: those that have no effect, and those that were out of range.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// A session's values to begin with.
    pub fn session(&self) -> SessionVars {
        self.state.read().template.clone()
    }

    /// A value.
    pub fn get(&self, id: VarId) -> VarValue {
        self.state.read().values[id.at()].clone()
    }

    /// All values at this moment.
    pub fn snapshot(&self) -> Arc<[VarValue]> {
        self.state.read().values.clone()
    }

    /// What SET … = DEFAULT gives.
    pub fn compiled(&self, id: VarId) -> VarValue {
        self.compiled[id.at()].clone()
    }

    /// Makes a value the default, and the present one: what follows from the machine.
    pub fn put_default(&mut self, id: VarId, value: VarValue) {
        self.compiled[id.at()] = value.clone();
        self.put(id, value);
    }

    /// Sets a value.
    pub fn put(&self, id: VarId, value: VarValue) {
        // Held throughout, so that watchers are told in the order of the changes.
        let watchers = self.watchers.lock();
        let mut state = self.state.write();
        let mut values = state.values.to_vec();
        for (other, value) in together(id, &value) {
            values[other.at()] = value;
        }
        let number = value.uint();
        values[id.at()] = value;
        let values: Arc<[VarValue]> = values.into();
        *state = State { template: SessionVars::new(values.clone()), values };
        drop(state);
        watchers.iter().for_each(|watcher| watcher(id.def().name, number));
    }

    /// Tells somebody of every value that is set from now on: what other doors have that follows system variables.
    pub fn watch(&self, watcher: impl Fn(&'static str, u64) + Send + Sync + 'static) {
        self.watchers.lock().push(Box::new(watcher));
    }

    /// A number, for doors and the executor: 0 if there is no such variable.
    pub fn uint(&self, name: &str) -> u64 {
        VarId::find(name.as_bytes()).map_or(0, |id| self.state.read().values[id.at()].uint())
    }

    /// Whether a flag is set.
    pub fn is_on(&self, name: &str) -> bool {
        self.uint(name) != 0
    }

    /// A value as text; `None` if it is NULL or there is no such variable.
    pub fn text(&self, name: &str) -> Option<String> {
        let id = VarId::find(name.as_bytes())?;
        self.state.read().values[id.at()].text(id.def().kind)
    }

    /// Sets a fact that is known only after opening (`hostname`, `port`, `have_ssl`, `socket`): by doors.
    ///
    /// # Errors
    /// As [`Globals::new`].
    pub fn set_fact(&self, name: &str, value: &str) -> SqlResult<()> {
        let id = VarId::find(name.as_bytes()).ok_or_else(|| unknown(name))?;
        let value = parse::parse(id.def(), Given::Option(value), false, &mut Warnings::new(0))?;
        self.put(id, value);
        Ok(())
    }
}

/// Error 1193.
pub fn unknown(name: &str) -> SqlError {
    SqlError::new(1193, format!("Unknown system variable '{name}'"))
}

/// Variables that change with another one: a collation with its character set and the other way round, two names of one
/// thing.
pub fn together(changed: VarId, value: &VarValue) -> Vec<(VarId, VarValue)> {
    let collation = |other: VarId| vec![(other, value.clone())];
    let charset = |other: VarId| vec![(other, VarValue::UInt(parse::primary(value.uint() as u16).into()))];
    match changed {
        id::CHARACTER_SET_CONNECTION => collation(id::COLLATION_CONNECTION),
        id::CHARACTER_SET_DATABASE => collation(id::COLLATION_DATABASE),
        id::CHARACTER_SET_SERVER => collation(id::COLLATION_SERVER),
        id::COLLATION_CONNECTION => charset(id::CHARACTER_SET_CONNECTION),
        id::COLLATION_DATABASE => charset(id::CHARACTER_SET_DATABASE),
        id::COLLATION_SERVER => charset(id::CHARACTER_SET_SERVER),
        id::TX_ISOLATION => vec![(id::TRANSACTION_ISOLATION, value.clone())],
        id::TRANSACTION_ISOLATION => vec![(id::TX_ISOLATION, value.clone())],
        id::TX_READ_ONLY => vec![(id::TRANSACTION_READ_ONLY, value.clone())],
        id::TRANSACTION_READ_ONLY => vec![(id::TX_READ_ONLY, value.clone())],
        // Who sets a limit wants it to hold, and who takes it away lets everything through.
        id::MAX_JOIN_SIZE => {
            vec![(id::SQL_BIG_SELECTS, VarValue::UInt(u64::from(value.uint() == u64::MAX)))]
        }
        id::LAST_INSERT_ID => vec![(id::IDENTITY, value.clone())],
        id::IDENTITY => vec![(id::LAST_INSERT_ID, value.clone())],
        _ => Vec::new(),
    }
}
