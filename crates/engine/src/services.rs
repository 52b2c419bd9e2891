//! Threads around the step functions.
//!
//! What may pass, or concerns one object, ends no service: it rests, longer and longer, and tries again, and the rest of its
//! work goes on as far as possible ([`vaquita_base::Service`]). What is final for the folder, a failure to write the log or
//! pages, ends it. Either is told to [`Core::notes`], once.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::fulltext;
use crate::notes::Notes;
use std::sync::Arc;
use std::time::{Duration, Instant};
use vaquita_base::{Health, Listener, Service, ServiceThreads};
use vaquita_storage::Storage;

/// How long rollback rests between looks.
const REST: Duration = Duration::from_millis(20);
/// How long purge rests when less than a batch is left: a batch costs nearly as much if it is small, and commits come one
/// by one.
const PURGE_REST: Duration = Duration::from_millis(10);
/// How long it rests between looks whether enough documents are deleted.
const FULLTEXT_REST: Duration = Duration::from_secs(1);

/// The running services of an engine; they end when this is dropped.
#[derive(Debug)]
pub(crate) struct Services {
    /// They end before those of the storage, which they need.
    threads: ServiceThreads<Error>,
    storage: vaquita_storage::Services,
}

impl Services {
    /// Starts those of the storage.
    pub(crate) fn start_storage(storage: &Arc<Storage>, notes: &Notes) -> Result<Services> {
        let notes = notes.clone();
        let listener: Listener = Arc::new(move |line| notes.say(line));
        Ok(Services {
            threads: ServiceThreads::new(listener.clone()),
            storage: vaquita_storage::Services::start_heard(storage, listener)?,
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

    fn spawn(&mut self, name: &str, core: &Arc<Core>, run: fn(&Core, &Service) -> Result<()>) -> Result<()> {
        let started = self.threads.spawn(name, core, run);
        started.map_err(|e| Error::Config(format!("cannot start the {name} thread: {e}")))
    }

    /// How many handles of the core the threads have.
    pub(crate) fn core_handles(&self) -> usize {
        self.threads.running()
    }

    /// How the services are, those of the storage among them, by name.
    pub(crate) fn health(&self) -> Vec<(String, Health)> {
        let mut all = self.storage.health();
        all.extend(self.threads.health());
        all
    }

    /// The first failure of a service that has ended by it.
    pub(crate) fn failure(&self) -> Option<Error> {
        self.threads.failure().or_else(|| self.storage.failure().map(Error::Storage))
    }
}

/// One turn of a service that may fail: how long to rest, as the work itself says or until it is tried again.
///
/// # Errors
/// What is final for the folder.
fn turn(service: &Service, done: Result<Duration>) -> Result<Duration> {
    match done {
        Ok(rest) => {
            service.works();
            Ok(rest)
        }
        Err(e) if e.is_final() => Err(e),
        Err(e) => Ok(service.fails(&e)),
    }
}

fn run_purge(core: &Core, service: &Service) -> Result<()> {
    loop {
        let step = core.purge_step();
        let rest = step.map(|more| if more && core.is_purge_behind() { Duration::ZERO } else { PURGE_REST });
        let rest = turn(service, rest)?;
        let behind = rest == Duration::ZERO;
        if (behind && service.is_to_end()) || (!behind && service.rest(rest)) {
            return Ok(());
        }
    }
}

fn run_purge_helper(core: &Core, service: &Service) -> Result<()> {
    core.help_purge(|| service.is_to_end());
    Ok(())
}

fn run_hot_set(core: &Core, service: &Service) -> Result<()> {
    core.hot_set.is_served_by(std::thread::current());
    while !service.is_to_end() {
        if !core.hot_set_step(&|| service.is_to_end()) {
            std::thread::park();
        }
    }
    Ok(())
}

fn run_fulltext(core: &Core, service: &Service) -> Result<()> {
    loop {
        let begun = Instant::now();
        let step = fulltext::optimize_step(core);
        // As long as it worked: others have the other half.
        let rest = step.map(|worked| match worked {
            true => begun.elapsed().clamp(Duration::from_millis(1), FULLTEXT_REST),
            false => FULLTEXT_REST,
        });
        if service.rest(turn(service, rest)?) {
            return Ok(());
        }
    }
}

fn run_rollback(core: &Core, service: &Service) -> Result<()> {
    loop {
        let mut more = false;
        let step = core.rollback_round(|| service.is_to_end()).map(|left| {
            more = left;
            REST
        });
        let rest = if more { Duration::ZERO } else { turn(service, step)? };
        if service.is_to_end() || (rest > Duration::ZERO && service.rest(rest)) {
            return Ok(());
        }
    }
}
