//! Threads around the step functions.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::fulltext;
use std::sync::Arc;
use std::time::{Duration, Instant};
use vaquita_base::{ServiceThreads, Stop};
use vaquita_storage::Storage;

/// How long rollback rests between looks.
const REST: Duration = Duration::from_millis(20);
/// How long purge rests when less than a batch is left: a batch costs nearly as much if it is small, and commits come one
/// by one.
const PURGE_REST: Duration = Duration::from_millis(10);
/// How long it rests between looks whether enough documents are deleted.
const FULLTEXT_REST: Duration = Duration::from_secs(1);
/// How long it waits before it tries again what failed.
const FULLTEXT_RETRY: Duration = Duration::from_secs(60);
/// How long rollback waits before it tries again what failed.
const RETRY: Duration = Duration::from_secs(1);

/// The running services of an engine; they end when this is dropped.
#[derive(Debug)]
pub(crate) struct Services {
    /// They end before those of the storage, which they need.
    threads: ServiceThreads<Error>,
    storage: vaquita_storage::Services,
}

impl Services {
    /// Starts those of the storage.
    pub(crate) fn start_storage(storage: &Arc<Storage>) -> Result<Services> {
        Ok(Services {
            threads: ServiceThreads::default(),
            storage: vaquita_storage::Services::start(storage)?,
        })
    }

    /// Starts purge, the rollback of what nobody has any more, and what looks after full-text indexes.
    pub(crate) fn start_core(&mut self, core: &Arc<Core>) -> Result<()> {
        self.spawn("hot-set", core, run_hot_set)?;
        if core.storage.options().read_only {
            return Ok(());
        }
        if core.options.storage.force_recovery.0 < 2 && core.options.purge_threads > 0 {
            self.spawn("purge", core, run_purge)?;
            for _ in 1..core.options.purge_threads {
                self.spawn("purge-helper", core, run_purge_helper)?;
            }
        }
        self.spawn("full-text", core, run_fulltext)?;
        self.spawn("rollback", core, run_rollback)
    }

    fn spawn(&mut self, name: &str, core: &Arc<Core>, run: fn(&Core, &Stop) -> Result<()>) -> Result<()> {
        let started = self.threads.spawn(name, core, run);
        started.map_err(|e| Error::Config(format!("cannot start the {name} thread: {e}")))
    }

    /// How many handles of the core the threads have.
    pub(crate) fn core_handles(&self) -> usize {
        self.threads.running()
    }

    /// The first failure of a service.
    pub(crate) fn failure(&self) -> Option<Error> {
        self.threads.failure().or_else(|| self.storage.failure().map(Error::Storage))
    }
}

fn run_purge(core: &Core, stop: &Stop) -> Result<()> {
    loop {
        let behind = core.purge_step()? && core.is_purge_behind();
        if (behind && stop.is_set()) || (!behind && stop.wait(PURGE_REST)) {
            return Ok(());
        }
    }
}

fn run_purge_helper(core: &Core, stop: &Stop) -> Result<()> {
    core.help_purge(|| stop.is_set());
    Ok(())
}

fn run_hot_set(core: &Core, stop: &Stop) -> Result<()> {
    core.hot_set.is_served_by(std::thread::current());
    while !stop.is_set() {
        if !core.hot_set_step(&|| stop.is_set()) {
            std::thread::park();
        }
    }
    Ok(())
}

fn run_fulltext(core: &Core, stop: &Stop) -> Result<()> {
    loop {
        let begun = Instant::now();
        let rest = match fulltext::optimize_step(core) {
            // As long as it worked: others have the other half.
            Ok(true) => begun.elapsed().clamp(Duration::from_millis(1), FULLTEXT_REST),
            Ok(false) => FULLTEXT_REST,
            Err(e) => {
                core.notes.say(format!("full-text: deleted documents could not be removed: {e}"));
                FULLTEXT_RETRY
            }
        };
        if stop.wait(rest) {
            return Ok(());
        }
    }
}

fn run_rollback(core: &Core, stop: &Stop) -> Result<()> {
    loop {
        let rest = match core.rollback_step() {
            Ok(true) => Duration::ZERO,
            Ok(false) => REST,
            // Damaged or unreadable pages: its rows stay locked, others go on.
            Err(_) => RETRY,
        };
        if stop.is_set() || (rest > Duration::ZERO && stop.wait(rest)) {
            return Ok(());
        }
    }
}
