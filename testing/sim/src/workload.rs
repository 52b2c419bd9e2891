//! What works on the machine, and knows what should be there.

use crate::machine::Machine;
use crate::stop::Stop;
use std::fmt::Debug;
use vaquita_base::{Lsn, PageId, Rng, SpaceId};

/// A workload: operations, and the model of what they did.
///
/// An operation notes in its model what each of its mini-transactions did under the LSN that its commit gave,
/// whether the operation as a whole succeeds or not.
pub trait Workload: Debug {
    /// One random operation.
    ///
    /// # Errors
    /// What the engine says; a wrong answer.
    fn step(&mut self, machine: &mut Machine, rng: &mut Rng) -> Result<(), Stop>;

    /// The log ended at `end` when the machine came up again: what came later never happened.
    fn settle(&mut self, end: Lsn);

    /// Takes hold of its objects again, after the machine came up.
    ///
    /// # Errors
    /// As of [`Workload::step`].
    fn reopen(&mut self, machine: &Machine) -> Result<(), Stop>;

    /// Compares everything with the model and validates every structure.
    ///
    /// # Errors
    /// As of [`Workload::step`].
    fn check(&mut self, machine: &Machine) -> Result<(), Stop>;

    /// The tablespaces that should be there.
    fn spaces(&self) -> Vec<SpaceId>;

    /// Some page whose content the model knows, for faults to hit.
    fn some_page(&self, rng: &mut Rng) -> Option<PageId>;
}
