//! User variables: `@name`.

use crate::temp::values::memory_of;
use std::collections::HashMap;
use std::sync::Arc;
use vaquita_types::memory::account::Account;
use vaquita_types::{SqlResult, SqlType, Value};

/// Bytes of a variable besides its name and its value.
const PLACE: usize = size_of::<UserVar>() + 32;

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
pub struct UserVars {
    by_name: HashMap<Box<[u8]>, UserVar, foldhash::fast::RandomState>,
    /// Who pays for them.
    account: Arc<Account>,
    /// How often one was set.
    sets: u64,
}

impl UserVars {
    /// None; the account pays for those to come.
    pub fn of(account: Arc<Account>) -> UserVars {
        UserVars { account, ..UserVars::default() }
    }

    /// A variable; `None` if it was never set.
    pub fn get(&self, name: &[u8]) -> Option<&UserVar> {
        match name.iter().any(u8::is_ascii_uppercase) {
            false => self.by_name.get(name),
            true => self.by_name.get(name.to_ascii_lowercase().as_slice()),
        }
    }

    /// Sets one.
    ///
    /// # Errors
    /// 4081, 4082: the session may not keep so much.
    pub fn set(&mut self, name: &[u8], value: Value<'static>, ty: SqlType) -> SqlResult<()> {
        let lower: Vec<u8>;
        let name = match name.iter().any(u8::is_ascii_uppercase) {
            false => name,
            true => {
                lower = name.to_ascii_lowercase();
                lower.as_slice()
            }
        };
        // A hexadecimal or bit literal is a number where it stands; in a variable it is the binary string.
        let value = match value {
            Value::Bit { .. } | Value::Label { .. } if ty.kind.is_string() => {
                Value::owned(value.to_text(&ty).into_owned())
            }
            value => value,
        };
        self.sets += 1;
        let new = memory_of(&value);
        let var = UserVar { value, ty };
        match self.by_name.get_mut(name) {
            Some(old) => {
                let before = memory_of(&old.value);
                self.account.may_keep(new.saturating_sub(before))?;
                *old = var;
                self.account.keep(new as i64 - before as i64);
            }
            None => {
                let bytes = PLACE + name.len() + new;
                self.account.may_keep(bytes)?;
                self.by_name.insert(name.into(), var);
                self.account.keep(bytes as i64);
            }
        }
        Ok(())
    }

    /// How often one was set: whether any was since somebody looked.
    pub fn sets(&self) -> u64 {
        self.sets
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        let one = |name: &[u8], var: &UserVar| PLACE + name.len() + memory_of(&var.value);
        let bytes: usize = self.by_name.iter().map(|(name, var)| one(name, var)).sum();
        self.by_name = HashMap::default();
        self.account.keep(-(bytes as i64));
    }
}
