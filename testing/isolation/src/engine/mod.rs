//! Vaquita's engine under test: a layer as thin as can be between the scripts' SQL, or the random transactions, and the
//! engine API. It uses the API as MySQL's SQL layer uses a handler; what locks are taken is the engine's doing.

mod access;
mod database;
mod executor;
mod schema;
mod server;

pub use database::EngineDatabase;
pub use server::EngineServer;

use std::path::PathBuf;
use vaquita_engine::{Engine, Isolation, Options};

use crate::Level;

/// An engine in a scratch folder, which goes with it.
#[derive(Debug)]
pub struct ScratchEngine {
    engine: Option<Engine>,
    folder: PathBuf,
}

impl ScratchEngine {
    /// Opens one with its services running.
    ///
    /// # Errors
    /// The folder cannot be made, the engine does not open.
    pub fn open() -> Result<ScratchEngine, String> {
        let folder = vaquita_peers::scratch_dir("vq-iso").map_err(|e| e.to_string())?;
        let mut options = Options::new(&folder);
        // Isolation is at stake here, not durability.
        options.flush_log_at_trx_commit = 0;
        options.lock_wait_timeout = 50;
        let engine = Engine::open(options).map_err(|e| e.to_string())?;
        Ok(ScratchEngine { engine: Some(engine), folder })
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        self.engine.as_ref().expect("there until it is dropped")
    }
}

impl Drop for ScratchEngine {
    fn drop(&mut self) {
        drop(self.engine.take());
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn isolation(level: Level) -> Isolation {
    match level {
        Level::ReadUncommitted => Isolation::ReadUncommitted,
        Level::ReadCommitted => Isolation::ReadCommitted,
        Level::RepeatableRead => Isolation::RepeatableRead,
        Level::Serializable => Isolation::Serializable,
    }
}
