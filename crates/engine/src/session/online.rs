//! Changes of definitions beside readers and writers: exclusive metadata locks at the beginning and the end, weaker ones between.

use super::Session;
use crate::ddl::index_build::{self, IndexBuild};
use crate::ddl::{Alteration, IndexSpec};
use crate::error::Result;
use crate::mdl::MdlMode;
use crate::online::Concurrency;
use crate::progress::Stage;
use std::time::Duration;

impl Session {
    /// Adds indexes to a table. Others may do with it what `beside` says, but for moments at the beginning and the end, for which
    /// transactions that use the table are waited for. Those that come meanwhile wait behind that.
    ///
    /// # Errors
    /// No such table, definitions that cannot be; duplicates, also such that others made meanwhile; whoever uses the table did
    /// not end in time; [`crate::Error::OnlineLogTooBig`], [`crate::Error::Interrupted`], no space. The table is as it was then.
    ///
    /// # Crash
    /// The table has all of the indexes or none.
    pub fn add_indexes_beside(
        &mut self,
        table: &str,
        indexes: &[IndexSpec],
        beside: Concurrency,
    ) -> Result<()> {
        self.check_changeable()?;
        self.commit()?.wait()?;
        self.as_change(|session| {
            let done = match session.lock_related(&[table]) {
                Ok(locked) => session.build_indexes(&locked, table, indexes, &Alteration::default(), beside),
                Err(e) => Err(e),
            };
            session.release_locks();
            done
        })
    }

    /// The same with tables that are locked, and stay so; what else is to be done to the table is done with it.
    pub(super) fn build_indexes(
        &mut self,
        locked: &[String],
        table: &str,
        indexes: &[IndexSpec],
        alteration: &Alteration<'_>,
        beside: Concurrency,
    ) -> Result<()> {
        let begun = self.change_locked(locked, |core, trx| {
            let online = beside == Concurrency::Writes;
            let build = index_build::begin(core, trx, table, indexes, alteration, online, |_| Ok(()))?;
            // Its lock of the table is for the beginning.
            match core.txn.commit(trx) {
                Ok(_) => Ok(build),
                Err(e) => {
                    build.give_up(core);
                    Err(e.into())
                }
            }
        });
        let build = begun.flatten()?;
        let done = self.filled(locked, build, beside);
        let done = done.and_then(|build| self.finished(locked, build, alteration));
        self.progress.enter(Stage::Idle);
        done
    }

    fn finished(&mut self, locked: &[String], build: IndexBuild, alteration: &Alteration<'_>) -> Result<()> {
        let (core, progress) = (self.core.clone(), self.progress.clone());
        let table = build.table_name().to_owned();
        let mut build = Some(build);
        let done = self.change_locked(locked, |core, trx| match build.take() {
            Some(build) => build.finish(core, trx, &progress, alteration),
            None => Ok(()),
        });
        if let Some(build) = build {
            // The table could not be locked: by a prepared transaction, say.
            build.give_up(&core);
            core.dict.forget(&table);
        }
        done.flatten()
    }

    /// Fills indexes beside others; nobody uses the table any more when it returns.
    fn filled(
        &mut self,
        locked: &[String],
        mut build: IndexBuild,
        beside: Concurrency,
    ) -> Result<IndexBuild> {
        self.let_in(locked, beside);
        let (core, reader) = (self.core.clone(), build.reader());
        let filled = self.waiter.lock_in(&reader, || build.fill(&core, &self.progress));
        match filled.and_then(|()| self.keep_out(locked, self.metadata_patience())) {
            Ok(()) => Ok(build),
            Err(e) => {
                let table = build.table_name().to_owned();
                build.give_up(&core);
                // Where somebody uses the table, its object stays.
                if self.keep_out(locked, Duration::ZERO).is_ok() {
                    core.dict.forget(&table);
                }
                Err(e)
            }
        }
    }

    /// Lets others at tables that the session keeps to itself. Those of LOCK TABLES stay its own.
    fn let_in(&mut self, locked: &[String], beside: Concurrency) {
        let mode = match beside {
            Concurrency::Nothing => return,
            Concurrency::Reads => MdlMode::SharedNoWrite,
            Concurrency::Writes => MdlMode::SharedUpgradable,
        };
        if self.kept_locks == 0 {
            locked.iter().for_each(|name| self.core.mdl.weaken(&mut self.mdl, name, mode));
        }
    }

    /// Waits until nobody else uses the tables, and keeps them from others again.
    fn keep_out(&mut self, locked: &[String], timeout: Duration) -> Result<()> {
        let core = self.core.clone();
        locked.iter().try_for_each(|name| core.mdl.acquire(&mut self.mdl, name, MdlMode::Exclusive, timeout))
    }
}
