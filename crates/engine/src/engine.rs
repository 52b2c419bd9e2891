//! Opening and closing a folder.

use crate::core::Core;
use crate::error::Result;
use crate::options::Options;
use crate::session::Session;
use std::sync::Arc;
use vaquita_base::Clock;
use vaquita_io::FileSystem;

/// A folder opened as a database. Dropping it without [`Engine::close`] is a crash: nothing acknowledged is lost.
#[derive(Debug)]
pub struct Engine {
    core: Arc<Core>,
}

impl Engine {
    /// Opens a folder, creating it if it does not exist; recovers it if need be.
    ///
    /// # Errors
    /// The folder is in use (names the holder's process), damaged, or a setting is wrong.
    pub fn open(options: Options) -> Result<Engine> {
        let _ = options;
        unimplemented!()
    }

    /// The same on a given file layer and clock.
    ///
    /// # Errors
    /// As [`Engine::open`].
    pub fn open_with(fs: Arc<dyn FileSystem>, clock: Arc<dyn Clock>, options: Options) -> Result<Engine> {
        let _ = (fs, clock, options);
        unimplemented!()
    }

    /// A session.
    pub fn session(&self) -> Session {
        Session::new(self.core.clone())
    }

    /// What sessions and services share.
    pub fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// Shuts down cleanly: sessions have ended; services stop; everything is on disk.
    ///
    /// # Errors
    /// Errors of writing.
    pub fn close(self) -> Result<()> {
        unimplemented!()
    }
}
