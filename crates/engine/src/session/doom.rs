//! Transactions that cannot go on.
//!
//! A statement that fails is taken back, and so is what comes after a savepoint. Where that is impossible (a damaged page, no
//! disk), the transaction holds a part of a statement, which nobody asked for: it is *doomed*. From then on everything is
//! refused but its rollback as a whole; a commit, in whatever form it comes, rolls back instead and says so. If that fails
//! as well, the transaction goes to the background with its locks, as after a crash.
//!
//! A statement that is taken back in parts (one row of many, what a function did) is not lost yet when one part fails: if
//! the whole statement can be taken back, with it goes what was left.

use super::Session;
use crate::error::{Error, Fate, Result};
use crate::row;

/// Why a transaction is doomed.
#[derive(Debug)]
pub(super) struct Doom {
    /// Changes from this undo number on could not all be taken back.
    from: u64,
    cause: String,
}

impl Session {
    /// Whether the transaction can only be rolled back.
    #[inline]
    pub fn is_doomed(&self) -> bool {
        self.doom.is_some()
    }

    /// That the transaction may go on.
    ///
    /// # Errors
    /// [`Error::Doomed`].
    #[inline]
    pub fn check_sound(&self) -> Result<()> {
        match &self.doom {
            None => Ok(()),
            Some(doom) => Err(doom.refusal(Fate::Open)),
        }
    }

    /// Takes back what the transaction changed from undo number `from` on. If that is impossible, the transaction is doomed.
    ///
    /// # Errors
    /// Why it is impossible.
    pub(super) fn take_back_from(&mut self, from: u64) -> Result<()> {
        match row::rollback_to(&self.core, &mut self.trx, from) {
            Ok(()) => {
                if self.doom.as_ref().is_some_and(|doom| from <= doom.from) {
                    self.doom = None;
                }
                Ok(())
            }
            Err(e) => {
                let from = self.doom.as_ref().map_or(from, |doom| doom.from.min(from));
                self.doom = Some(Doom { from, cause: e.to_string() });
                Err(e)
            }
        }
    }

    /// What a commit does first: a doomed transaction is rolled back.
    ///
    /// # Errors
    /// [`Error::Doomed`].
    #[inline]
    pub(super) fn refuse_doomed(&mut self) -> Result<()> {
        match self.doom.is_some() {
            false => Ok(()),
            true => self.end_doomed(),
        }
    }

    #[cold]
    fn end_doomed(&mut self) -> Result<()> {
        let Some(doom) = self.doom.take() else { return Ok(()) };
        let fate = if self.rollback().is_ok() { Fate::RolledBack } else { Fate::InBackground };
        Err(doom.refusal(fate))
    }
}

impl Doom {
    #[cold]
    fn refusal(&self, fate: Fate) -> Error {
        Error::Doomed { cause: self.cause.clone(), fate }
    }
}
