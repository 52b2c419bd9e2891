//! Reading `@@name`.

use crate::shared::Shared;
use crate::state::SessionState;
use crate::vars::{Scope, VarId, VarValue, id, unknown};
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
    pub fn value(&self, db: Option<&Shared>, state: &SessionState) -> Value<'static> {
        let kind = self.id.def().kind;
        match (self.global, db) {
            (true, Some(db)) => db.globals().get(self.id).value(kind),
            (true, None) => Value::Null,
            (false, _) => read_session(self.id, state).value(kind),
        }
    }
}

/// A session's value of a variable; some are not stored with the others.
pub fn read_session(var: VarId, state: &SessionState) -> VarValue {
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
