//! The simulated machine: a disk, and the storage that runs on it while the power is on.

use crate::scenario::{Canary, DIR, Scenario};
use crate::stop::{EngineError, Stop};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use vaquita_base::{Lsn, ManualClock, PageId, Rng, SpaceId};
use vaquita_io::FileSystem;
use vaquita_io::sim::SimDisk;
use vaquita_storage::page_cleaner::PageCleaner;
use vaquita_storage::{Options, Storage};

/// A machine.
#[derive(Debug)]
pub struct Machine {
    /// Its disk.
    pub disk: SimDisk,
    options: Options,
    clock: Arc<ManualClock>,
    running: Option<Running>,
    /// Everything up to here was reported durable, in this life or an earlier one.
    pub durable: Lsn,
    /// End of the last mini-transaction that ended, in this life or an earlier one.
    pub issued: Lsn,
    next_space: u32,
    /// Tablespaces whose creation is in the log, and where. A file alone may be left of one whose creation was lost.
    pub created: BTreeMap<SpaceId, Lsn>,
    canary: Canary,
    /// Pages that a fault of the disk may have made old or wrong.
    pub suspects: BTreeSet<PageId>,
    /// Pages that recovery repaired from the doublewrite area.
    pub torn_pages_repaired: usize,
}

#[derive(Debug)]
struct Running {
    storage: Storage,
    cleaner: PageCleaner,
}

impl Machine {
    /// A machine that is off.
    pub fn new(disk: SimDisk, scenario: &Scenario) -> Self {
        Self {
            disk,
            options: scenario.options(),
            clock: Arc::default(),
            running: None,
            durable: Lsn::ZERO,
            issued: Lsn::ZERO,
            next_space: 1,
            created: BTreeMap::new(),
            canary: scenario.canary,
            suspects: BTreeSet::new(),
            torn_pages_repaired: 0,
        }
    }

    /// The settings of its storage.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The storage.
    ///
    /// # Panics
    /// If it is not running.
    pub fn storage(&self) -> &Storage {
        &self.running.as_ref().expect("the storage is running").storage
    }

    /// Whether the storage is running.
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Opens the folder. Returns the LSN the log ends at.
    ///
    /// # Errors
    /// Those of opening.
    pub fn open(&mut self) -> Result<Lsn, EngineError> {
        let fs: Arc<dyn FileSystem> = Arc::new(self.disk.clone());
        let storage = Storage::open(fs, self.clock.clone(), self.options.clone())?;
        if let Some(recovery) = &storage.report().recovery {
            self.torn_pages_repaired += recovery.torn_pages_repaired;
        }
        if let Canary::SkipRedoRecord(n) = self.canary {
            storage.canary().skip_one_redo_record_in(n);
        }
        let end = storage.log().current_lsn();
        let cleaner = PageCleaner::new();
        self.running = Some(Running { storage, cleaner });
        Ok(end)
    }

    /// Takes note of how far the log has come, in memory and on disk.
    pub fn observe(&mut self) {
        if let Some(running) = &self.running {
            self.durable = self.durable.max(running.storage.log().flushed_lsn());
            self.issued = self.issued.max(running.storage.log().current_lsn());
        }
    }

    /// The storage is gone, as in a crash.
    pub fn stop(&mut self) {
        self.observe();
        self.running = None;
    }

    /// The power goes off, if it has not yet, and comes back.
    pub fn restart(&mut self) {
        self.stop();
        self.disk = self.disk.restart();
    }

    /// The process is killed; the machine goes on.
    pub fn kill(&mut self) {
        self.stop();
        self.disk = self.disk.after_kill();
    }

    /// One step of a service that runs in the background, or of none.
    ///
    /// # Errors
    /// Those of the service.
    pub fn serve(&mut self, rng: &mut Rng) -> Result<(), Stop> {
        self.clock.advance(Duration::from_millis(rng.below(400)));
        let running = self.running.as_mut().expect("the storage is running");
        let storage = &running.storage;
        match rng.below(16) {
            0..3 => {
                running.cleaner.step(storage, rng.one_in(2))?;
            }
            3..6 => {
                storage.log().step()?;
            }
            6 => {
                storage.log().writer_step()?;
            }
            7..10 => storage.log().flush_up_to(storage.log().current_lsn())?,
            10..12 => {
                storage.checkpoint()?;
            }
            12 if rng.one_in(4) => storage.flush_everything()?,
            13 => {
                use vaquita_base::Clock;
                storage.pool().tick(self.clock.now_us());
            }
            _ => {
                storage.pool().read_ahead_step();
            }
        }
        Ok(())
    }

    /// A number no tablespace had before, and the name that goes with it.
    pub fn new_space(&mut self) -> (SpaceId, String) {
        let id = SpaceId(self.next_space);
        self.next_space += 1;
        (id, space_name(id))
    }
}

/// The name of a tablespace.
pub fn space_name(id: SpaceId) -> String {
    format!("t{}", id.get())
}

/// The file of a tablespace.
pub fn space_path(id: SpaceId) -> PathBuf {
    PathBuf::from(format!("{DIR}/t{}.ibd", id.get()))
}
