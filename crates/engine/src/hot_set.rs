//! What was asked for about the list of the buffer pool's pages, and how far it is. Who asks does not wait: a service does it
//! ([`crate::pool_dump`]).

use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;

/// How far a dump or a load is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Progress {
    /// Nobody has asked for one.
    #[default]
    NotStarted,
    /// It is under way, or it ended without having been done: in words.
    Said(String),
    /// It was done at that time of the engine's clock, in microseconds.
    Completed {
        /// When.
        at_us: u64,
        /// What else there is to say of it.
        remark: &'static str,
    },
}

/// What can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// Write the list.
    Dump,
    /// Read the pages of the list.
    Load,
    /// End the load that is under way.
    AbortLoad,
}

/// Settings.
#[derive(Debug, Clone)]
pub struct HotSetSettings {
    /// The file, relative to the data folder unless absolute.
    pub file: PathBuf,
    /// Percent of the pool that is listed.
    pub pct: u32,
    /// Whether closing writes the list.
    pub dump_at_shutdown: bool,
}

/// What was asked for, and what became of it.
#[derive(Debug)]
pub struct HotSet {
    settings: Mutex<HotSetSettings>,
    pub(crate) dump_asked: AtomicBool,
    pub(crate) load_asked: AtomicBool,
    pub(crate) abort: AtomicBool,
    pub(crate) dump: Mutex<Progress>,
    pub(crate) load: Mutex<Progress>,
    /// A load was cut off by the end: the pool is not what the list says it should be.
    pub(crate) is_half_loaded: AtomicBool,
    server: OnceLock<Thread>,
}

impl HotSet {
    pub(crate) fn new(settings: HotSetSettings, load_at_startup: bool) -> HotSet {
        HotSet {
            settings: Mutex::new(settings),
            dump_asked: AtomicBool::new(false),
            load_asked: AtomicBool::new(load_at_startup),
            abort: AtomicBool::new(false),
            dump: Mutex::default(),
            load: Mutex::default(),
            is_half_loaded: AtomicBool::new(false),
            server: OnceLock::new(),
        }
    }

    /// Asks for something: the service does it.
    pub fn ask(&self, what: Ask) {
        match what {
            Ask::Dump => self.dump_asked.store(true, Ordering::Release),
            Ask::Load => {
                self.abort.store(false, Ordering::Release);
                self.load_asked.store(true, Ordering::Release);
            }
            Ask::AbortLoad => self.abort.store(true, Ordering::Release),
        }
        if let Some(server) = self.server.get() {
            server.unpark();
        }
    }

    /// The thread to be woken when something is asked for.
    pub(crate) fn is_served_by(&self, thread: Thread) {
        let _ = self.server.set(thread);
    }

    /// Settings, to be looked at or changed; they count for what is done from now on.
    pub fn settings(&self) -> parking_lot::MutexGuard<'_, HotSetSettings> {
        self.settings.lock()
    }

    /// How far the last dump is, and the last load.
    pub fn progress(&self) -> (Progress, Progress) {
        (self.dump.lock().clone(), self.load.lock().clone())
    }
}
