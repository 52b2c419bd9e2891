//! A folder on a simulated disk with an engine that is small and does nothing by itself: no threads in the background, a clock
//! that stands until it is set, no patience with locks. What a test wants otherwise it says with [`EngineFolder::with`].

use std::path::Path;
use std::sync::Arc;
use vaquita_base::{Clock, ManualClock};
use vaquita_engine::{Engine, Options, Result};
use vaquita_io::sim::SimDisk;
use vaquita_storage::SystemFile;

/// Where the folder is on its disk.
pub const FOLDER: &str = "/db";

/// The folder. It can be opened any number of times, one after the other.
#[derive(Debug)]
pub struct EngineFolder {
    /// Its disk.
    pub disk: SimDisk,
    /// Its clock.
    pub clock: Arc<ManualClock>,
    options: Options,
}

impl EngineFolder {
    /// An empty one. `seed` is that of the disk's faults.
    pub fn new(seed: u64) -> EngineFolder {
        let disk = SimDisk::new(seed);
        disk.put_dir(Path::new(FOLDER));
        EngineFolder::on(disk)
    }

    /// The one that is on a disk.
    pub fn on(disk: SimDisk) -> EngineFolder {
        let mut options = Options::new(FOLDER);
        options.background = false;
        options.lock_wait_timeout = 0;
        options.storage.buffer_pool_size = 24 << 20;
        options.storage.data_file_path = vec![SystemFile { name: "ibdata1".into(), size_bytes: 12 << 20 }];
        options.storage.log_file_size = 8 << 20;
        EngineFolder { disk, clock: Arc::new(ManualClock::new()), options }
    }

    /// With other settings.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Options)) -> EngineFolder {
        change(&mut self.options);
        self
    }

    /// Opens it: makes it if there is nothing, else recovers what is there.
    ///
    /// # Errors
    /// As [`Engine::open_with`].
    pub fn open(&self) -> Result<Engine> {
        self.open_by(self.clock.clone())
    }

    /// The same by another clock.
    ///
    /// # Errors
    /// As [`Engine::open_with`].
    pub fn open_by(&self, clock: Arc<dyn Clock>) -> Result<Engine> {
        Engine::open_with(Arc::new(self.disk.clone()), clock, self.options.clone())
    }
}
