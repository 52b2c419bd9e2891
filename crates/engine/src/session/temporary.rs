//! The temporary tables of a session ([`crate::temporaries`]).

use super::Session;
use crate::core::Core;
use crate::ddl::{self, TableSpec, Temporary};
use crate::error::{Error, Result};
use crate::table::Table;
use std::sync::Arc;
use vaquita_txn::undo::TrxUndo;

impl Session {
    /// Makes a temporary table, which hides one of its name. No transaction: it stays if that is rolled back, without the
    /// rows that came in it.
    ///
    /// # Errors
    /// The session has one of that name; definitions that cannot be; space.
    pub fn create_temporary_table(&mut self, spec: &TableSpec) -> Result<Arc<Table>> {
        if self.temporary_table(&spec.name).is_some() {
            return Err(Error::TableExists(spec.name.clone()));
        }
        let made = ddl::create_temporary_table(&self.core, spec)?;
        let table = made.table.clone();
        self.temporary.push(made);
        self.temporaries_changed();
        Ok(table)
    }

    /// The temporary table of that name.
    #[inline]
    pub fn temporary_table(&self, name: &str) -> Option<&Arc<Table>> {
        self.temporary.iter().map(|temporary| &temporary.table).find(|table| table.name == name)
    }

    /// A number that changes with every change of the session's temporary tables, and that no other session has; 0 while it
    /// has none.
    #[inline]
    pub fn temporary_generation(&self) -> u64 {
        self.temporary_generation
    }

    fn temporaries_changed(&mut self) {
        let any = !self.temporary.is_empty();
        self.temporary_generation = if any { self.core.temporaries.generation() } else { 0 };
    }

    fn temporary_at(&self, name: &str) -> Result<usize> {
        let at = self.temporary.iter().position(|temporary| temporary.table.name == name);
        at.ok_or_else(|| Error::NoSuchTable(name.to_owned()))
    }

    /// Drops a temporary table; whether there is one of that name.
    ///
    /// # Errors
    /// Errors of pages. The table is gone all the same.
    pub fn drop_temporary_table(&mut self, name: &str) -> Result<bool> {
        let Ok(at) = self.temporary_at(name) else { return Ok(false) };
        let gone = self.temporary.remove(at);
        self.temporaries_changed();
        ddl::drop_temporary_table(&self.core, &gone.table)?;
        Ok(true)
    }

    /// Empties a temporary table; its AUTO_INCREMENT values begin anew.
    ///
    /// # Errors
    /// There is none of that name; space.
    pub fn truncate_temporary_table(&mut self, name: &str) -> Result<()> {
        let at = self.temporary_at(name)?;
        let made = ddl::create_temporary_like(&self.core, &self.temporary[at])?;
        self.replace_temporary(name, made)
    }

    /// Renames a temporary table.
    ///
    /// # Errors
    /// There is none of that name; the session has one of the new name.
    pub fn rename_temporary_table(&mut self, from: &str, to: &str) -> Result<()> {
        let at = self.temporary_at(from)?;
        if self.temporary_table(to).is_some() {
            return Err(Error::TableExists(to.to_owned()));
        }
        self.temporary[at] = ddl::rename_temporary_table(&self.core, &self.temporary[at], to)?;
        self.temporaries_changed();
        Ok(())
    }

    /// Puts a table in the place of the one of that name, which goes.
    pub(super) fn replace_temporary(&mut self, name: &str, made: Temporary) -> Result<()> {
        let at = self.temporary_at(name)?;
        let gone = std::mem::replace(&mut self.temporary[at], made);
        self.temporaries_changed();
        ddl::drop_temporary_table(&self.core, &gone.table)
    }

    /// Drops all of them: the session is reset, or ends.
    pub fn drop_temporary_tables(&mut self) {
        while let Some(gone) = self.temporary.pop() {
            // What is not freed goes with the process.
            let _ = ddl::drop_temporary_table(&self.core, &gone.table);
        }
        self.temporaries_changed();
    }
}

/// Ends the undo logs of temporary tables of a transaction that is over: old versions and deleted rows go.
///
/// What cannot be read or written now stays where it is, deleted rows marked, until the table goes: the transaction is over
/// all the same.
pub(super) fn end(core: &Core, undo: TrxUndo) {
    let done = core.txn.end_temporary::<Error>(undo, |record| crate::purge::purge_now(core, record));
    if let Err(e) = done {
        core.notes.say(format!("deleted rows of temporary tables are left: {e}"));
    }
}
