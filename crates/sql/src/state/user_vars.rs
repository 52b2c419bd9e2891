//! User variables: `@name`.

use std::collections::HashMap;
use vaquita_types::{SqlType, Value};

/// A user variable.
#[derive(Debug, Clone, PartialEq)]
pub struct UserVar {
    /// Its value.
    pub value: Value<'static>,
    /// Its type; the collation of text.
    pub ty: SqlType,
}

/// The user variables of a session, by name without ASCII case.
#[derive(Debug, Default)]
pub struct UserVars(HashMap<Box<[u8]>, UserVar, foldhash::fast::RandomState>);

impl UserVars {
    /// A variable; `None` if it was never set.
    pub fn get(&self, name: &[u8]) -> Option<&UserVar> {
        match name.iter().any(u8::is_ascii_uppercase) {
            false => self.0.get(name),
            true => self.0.get(name.to_ascii_lowercase().as_slice()),
        }
    }

    /// Sets one.
    pub fn set(&mut self, name: &[u8], value: Value<'static>, ty: SqlType) {
        let var = UserVar { value, ty };
        match name.iter().any(u8::is_ascii_uppercase) {
            false if self.0.contains_key(name) => {
                if let Some(old) = self.0.get_mut(name) {
                    *old = var;
                }
            }
            _ => {
                self.0.insert(name.to_ascii_lowercase().into(), var);
            }
        }
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
