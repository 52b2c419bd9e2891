//! What the sessions of a folder share, as far as running statements needs it.

use crate::process::Processes;
use crate::status::Status;
use crate::vars::Globals;
use std::any::Any;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use vaquita_catalog::Catalog;
use vaquita_engine::Engine;

/// A folder as its statements see it.
pub struct Shared {
    /// The engine.
    pub engine: Engine,
    /// Tables with their SQL types.
    pub catalog: Catalog,
    /// Global system variables.
    pub globals: Globals,
    /// Status counters.
    pub status: Status,
    /// Connected sessions, named locks.
    pub processes: Processes,
    /// Lower bits of the next UUID_SHORT(): the second of opening, and a number.
    short_uuids: AtomicU64,
    /// The number of the next plan.
    plans: AtomicU64,
    /// Who runs stored programs: known to expressions, which ask for it by its type.
    pub programs: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl AsRef<Shared> for Shared {
    fn as_ref(&self) -> &Shared {
        self
    }
}

impl Shared {
    /// Of an engine, with these variables; `opened`: when, in seconds since 1970.
    pub fn new(engine: Engine, globals: Globals, opened: u64) -> Shared {
        Shared {
            engine,
            catalog: Catalog::default(),
            globals,
            status: Status::default(),
            processes: Processes::default(),
            short_uuids: AtomicU64::new(opened << 24),
            plans: AtomicU64::new(0),
            programs: OnceLock::new(),
        }
    }

    /// UUID_SHORT(): `server_id` in the highest byte, then the second of opening, then a number.
    pub fn next_short_uuid(&self) -> u64 {
        let number = self.short_uuids.fetch_add(1, Ordering::Relaxed);
        (self.globals.uint("server_id") & 0xFF) << 56 | (number & ((1 << 56) - 1))
    }

    /// A number that no other plan of the folder has.
    pub fn next_plan(&self) -> u64 {
        self.plans.fetch_add(1, Ordering::Relaxed)
    }

    /// The engine below.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Global variables.
    pub fn globals(&self) -> &Globals {
        &self.globals
    }

    /// Status counters; doors count here what they see.
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// Who is connected.
    pub fn processes(&self) -> &Processes {
        &self.processes
    }

    /// Tables as SQL sees them.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }
}
