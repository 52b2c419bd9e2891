//! What an alteration in place does while others use the table: it builds indexes, and holds the rows against foreign keys.
//!
//! | step | others may use the tables |
//! |---|---|
//! | [`Beside::begin`] | no |
//! | [`Beside::fill`] | yes, all but change definitions |
//! | [`Beside::finish`]: the dictionary changes | no |
//!
//! Indexes and foreign keys begin at the same moment, so that an index that is being built shows a foreign key the rows of that moment.
//!
//! # Crash
//! As [`index_build`](super::index_build) and [`held`](super::held) say: until the dictionary's transaction commits nothing has
//! happened.

use super::held::Held;
use super::index_build::{self, IndexBuild};
use super::{Alteration, IndexSpec, alter_table};
use crate::core::Core;
use crate::error::Result;
use crate::progress::Progress;
use vaquita_txn::{Trx, TrxRef};

/// Indexes that are being built, and rows that are being held against foreign keys.
#[derive(Debug)]
pub(crate) struct Beside {
    build: Option<IndexBuild>,
    held: Option<Held>,
}

impl Beside {
    /// Begins. Nobody uses the tables, and the transaction has them locked. `writes`: others will change rows; `checks`: the planned
    /// foreign keys are held against the rows.
    ///
    /// # Errors
    /// As [`index_build::begin`]. Nothing is left behind then.
    pub(crate) fn begin(
        core: &Core,
        trx: &mut Trx,
        table: &str,
        indexes: &[IndexSpec],
        alteration: &Alteration<'_>,
        (writes, checks): (bool, bool),
    ) -> Result<Self> {
        let build = match indexes {
            [] => None,
            _ => Some(index_build::begin(core, trx, table, indexes, alteration, writes, |_| Ok(()))?),
        };
        let mut begun = Self { build, held: None };
        let keys = alteration.planned_keys;
        if checks && !keys.is_empty() {
            match Held::begin(core, trx, table, (keys, alteration.words), begun.build.as_mut()) {
                Ok(held) => begun.held = Some(held),
                Err(e) => {
                    begun.give_up(core);
                    return Err(e);
                }
            }
        }
        Ok(begun)
    }

    /// The tables whose objects know of it.
    pub(crate) fn tables(&self) -> Vec<String> {
        let built = self.build.iter().map(|build| build.table_name().to_owned());
        built.chain(self.held.iter().flat_map(Held::tables)).collect()
    }

    /// Does what takes its time. `run` runs a part of it that an interruption of a transaction ends.
    ///
    /// # Errors
    /// As [`IndexBuild::fill`] and [`Held::scan`]. It is to be given up then.
    pub(crate) fn fill(
        &mut self,
        core: &Core,
        progress: &Progress,
        run: impl Fn(&TrxRef, &mut dyn FnMut() -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        if let Some(build) = &mut self.build {
            run(&build.reader(), &mut || build.fill(core, progress))?;
        }
        if let Some(held) = &mut self.held {
            run(&held.reader(), &mut || held.scan(core, progress))?;
        }
        Ok(())
    }

    /// Does the rest and changes the dictionary. Nobody uses the tables, and the transaction has them locked.
    ///
    /// # Errors
    /// As [`IndexBuild::fill`] and [`Held::finish`]. Nothing is left behind then but objects that are to be forgotten.
    pub(crate) fn finish(
        mut self,
        core: &Core,
        trx: &mut Trx,
        progress: &Progress,
        table: &str,
        alteration: &Alteration<'_>,
    ) -> Result<()> {
        // Indexes first: they show which rows refer to what is not there.
        let completed = self.build.as_mut().map_or(Ok(()), |build| build.complete(core, trx, progress));
        let held = || self.held.as_ref().map_or(Ok(()), |held| held.finish(core, progress));
        if let Err(e) = completed.and_then(|()| held()) {
            self.give_up(core);
            return Err(e);
        }
        let done = match self.build {
            Some(build) => build.finish(core, trx, progress, alteration),
            None => alter_table(core, trx, table, alteration),
        };
        if let Some(held) = self.held {
            held.end(core);
        }
        done
    }

    /// Gets rid of what was made. Objects of tables that somebody uses go on noting and logging nothing.
    pub(crate) fn give_up(self, core: &Core) {
        if let Some(build) = self.build {
            build.give_up(core);
        }
        if let Some(held) = self.held {
            held.end(core);
        }
    }
}
