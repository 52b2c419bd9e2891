//! Background services: each is a step function; here are the threads that loop around them.
//!
//! What they can meet are failures to write pages or the log, which are final for the folder: the service ends, and the
//! listener hears why.

use crate::error::Error;
use crate::page_cleaner::PageCleaner;
use crate::storage::Storage;
use std::sync::Arc;
use std::time::Duration;
use vaquita_base::{Health, Listener, Lsn, Service, ServiceThreads};

/// Threads of the page cleaner: one for each instance of the pool, up to this many.
const CLEANERS_MAX: usize = 4;
/// The page cleaner's rhythm.
const CLEANER_PERIOD: Duration = Duration::from_secs(1);
/// How often is looked whether the log is about to run out, if nobody calls before.
const ROOM_PERIOD: Duration = Duration::from_millis(50);
/// How often read-ahead requests are looked for, and the pool's clock is moved.
const TICK: Duration = Duration::from_millis(5);
/// How long the log service sleeps when nobody wakes it.
const LOG_PERIOD: Duration = Duration::from_millis(100);

/// The running services of a storage instance; they end when this is dropped.
#[derive(Debug)]
pub struct Services {
    storage: Arc<Storage>,
    threads: ServiceThreads<Error>,
}

impl Services {
    /// Starts the page cleaner, who makes room in the log, the log's service and read-ahead.
    ///
    /// # Errors
    /// [`Error::Config`] if the system gives no threads.
    pub fn start(storage: &Arc<Storage>) -> crate::Result<Services> {
        Self::start_heard(storage, Arc::new(|_| {}))
    }

    /// As [`Services::start`]; `listener` hears of services that end by a failure.
    ///
    /// # Errors
    /// As [`Services::start`].
    pub fn start_heard(storage: &Arc<Storage>, listener: Listener) -> crate::Result<Services> {
        let mut services = Services { storage: storage.clone(), threads: ServiceThreads::new(listener) };
        services.spawn("page-cleaner", run_cleaner)?;
        for _ in 1..storage.pool().instances().len().min(CLEANERS_MAX) {
            services.spawn("page-cleaner-helper", run_cleaner_helper)?;
        }
        storage.room_service.begin();
        if let Err(e) = services.spawn("log-room", run_room) {
            storage.room_service.end();
            return Err(e);
        }
        services.spawn("log", run_log)?;
        services.spawn("read-ahead", run_read_ahead)?;
        Ok(services)
    }

    fn spawn(&mut self, name: &str, run: fn(&Storage, &Service) -> crate::Result<()>) -> crate::Result<()> {
        let started = self.threads.spawn(name, &self.storage, run);
        started.map_err(|e| Error::Config(format!("cannot start the {name} thread: {e}")))
    }

    /// How the services are, by name.
    pub fn health(&self) -> Vec<(String, Health)> {
        self.threads.health()
    }

    /// The first failure of a service, which has then stopped. Writers meet the same failure by themselves.
    pub fn failure(&self) -> Option<Error> {
        self.threads.failure()
    }
}

impl Drop for Services {
    fn drop(&mut self) {
        self.threads.ask_to_end();
        self.storage.pool().shortage.call();
        self.storage.room_service.end();
        self.storage.log().wake();
    }
}

fn run_cleaner(storage: &Storage, service: &Service) -> crate::Result<()> {
    let mut cleaner = PageCleaner::new();
    let mut last_lsn = Lsn::ZERO;
    let mut next_step_us = 0;
    while !service.is_to_end() {
        if storage.pool().shortage.rest(CLEANER_PERIOD / 20) && !service.is_to_end() {
            cleaner.free_frames(storage)?;
        }
        let now = storage.clock().now_us();
        if now >= next_step_us {
            next_step_us = now + CLEANER_PERIOD.as_micros() as u64;
            let lsn = storage.log().current_lsn();
            cleaner.step(storage, lsn == last_lsn)?;
            last_lsn = lsn;
        }
    }
    Ok(())
}

fn run_cleaner_helper(storage: &Storage, service: &Service) -> crate::Result<()> {
    storage.cleaners.help(|| service.is_to_end(), |share| share.clean(storage.pool(), storage.flusher()));
    Ok(())
}

fn run_room(storage: &Storage, _: &Service) -> crate::Result<()> {
    let mut done = Ok(());
    while done.is_ok() && storage.room_service.wait_for_call(ROOM_PERIOD) {
        done = storage.make_room_for_all();
    }
    // Who waits makes room for himself now, or meets the failure.
    storage.room_service.end();
    storage.log().wake_for_room();
    done
}

fn run_log(storage: &Storage, service: &Service) -> crate::Result<()> {
    while !service.rest(Duration::ZERO) {
        if storage.log().step()? == crate::log::Progress::Idle {
            storage.log().wait_for_work(LOG_PERIOD);
        }
    }
    Ok(())
}

fn run_read_ahead(storage: &Storage, service: &Service) -> crate::Result<()> {
    while !service.is_to_end() {
        storage.pool().rest_until_wanted(TICK);
        storage.pool().tick(storage.clock().now_us());
        while storage.pool().read_ahead_step() {}
    }
    Ok(())
}
