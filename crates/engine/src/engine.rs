//! Opening and closing a folder.

use crate::core::Core;
use crate::ddl;
use crate::dict::server_files::ServerFileMaker;
use crate::dict::{CreateSystem, Dictionary};
use crate::error::{Error, Result};
use crate::fulltext;
use crate::notes::Notes;
use crate::options::Options;
use crate::recovery;
use crate::services::Services;
use crate::session::Session;
use crate::unmaintained::Unmaintained;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use vaquita_base::{Clock, Health, SystemClock};
use vaquita_io::real::AsyncIo;
use vaquita_io::{FileSystem, RealDisk};
use vaquita_storage::{ForceRecovery, OpenReport, Origin, Storage};
use vaquita_txn::TrxSystem;

/// A folder opened as a database. Dropping it without [`Engine::close`] is a crash: nothing acknowledged is lost.
#[derive(Debug)]
pub struct Engine {
    /// Threads around the steps; none without [`Options::background`]. They stop before the rest is dropped.
    services: Mutex<Option<Services>>,
    core: Arc<Core>,
    leftovers: Vec<String>,
    native_aio: bool,
}

impl Engine {
    /// Opens a folder, creating it if it does not exist; recovers it if need be.
    ///
    /// # Errors
    /// The folder is in use (names the holder's process), damaged, or a setting is wrong.
    pub fn open(options: Options) -> Result<Engine> {
        let disk = RealDisk::new(options.disk);
        let native_aio = disk.async_io() == AsyncIo::Uring;
        let engine = Self::open_with(Arc::new(disk), Arc::new(SystemClock::new()), options)?;
        Ok(Engine { native_aio, ..engine })
    }

    /// Whose the folder is, before it is opened. Changes nothing.
    ///
    /// # Errors
    /// The folder is of a server whose formats are not read here, or the settings do not fit its files.
    pub fn origin(options: &Options) -> Result<Origin> {
        Ok(vaquita_storage::origin(&RealDisk::default(), &options.storage)?)
    }

    /// The same on a given file layer and clock.
    ///
    /// # Errors
    /// As [`Engine::open`].
    pub fn open_with(fs: Arc<dyn FileSystem>, clock: Arc<dyn Clock>, options: Options) -> Result<Engine> {
        options.validate()?;
        let storage = Storage::open_with(fs, clock, options.storage.clone(), &mut CreateSystem::default())?;
        let storage = Arc::new(storage);
        let notes = Notes::default();
        // The log and the page cleaner run while unfinished work is taken back.
        let mut services = match options.background {
            true => Some(Services::start_storage(&storage, &notes)?),
            false => None,
        };
        let force = options.storage.force_recovery;
        let of_txn = vaquita_txn::Options {
            scan_undo: force < ForceRecovery::NO_UNDO_LOG_SCAN,
            ..options.txn.clone()
        };
        let (txn, resurrected) = TrxSystem::open(storage.clone(), of_txn).map_err(|e| match e {
            vaquita_txn::Error::Storage(e) => force.with_ways_out(e).into(),
            other => Error::from(other),
        })?;
        let dict = Dictionary::open(&storage, Some(txn.locks().observer()), options.table_definition_cache)?;
        let core = Arc::new(Core::new(options, storage, txn, dict, notes));
        let reader = Arc::downgrade(&core);
        core.documents.set_loader(Box::new(move |table, stopwords| match reader.upgrade() {
            Some(core) => fulltext::load(&core, table, stopwords),
            None => Err(Error::WrongState("the engine is closed")),
        }));
        recovery::run(&core, resurrected)?;
        let leftovers = core.leftovers.lock().clone();
        if let Some(services) = &mut services {
            services.start_core(&core)?;
        }
        Ok(Engine { services: Mutex::new(services), core, leftovers, native_aio: false })
    }

    /// A session.
    pub fn session(&self) -> Session {
        Session::new(self.core.clone())
    }

    /// Keeps up what a MySQL server keeps of tables, if one made the folder, and puts right what a crash has left; `false`: the folder is
    /// not changed.
    ///
    /// # Errors
    /// Errors of files and of the dictionary: it is tried again at the next opening.
    pub fn keep_server_files(&self, maker: Arc<dyn ServerFileMaker>) -> Result<bool> {
        let core = self.core();
        let _ = core.dict.server_files.set(maker);
        // Who has read the definition before did not know what the server's triggers are.
        core.dict.forget_all_of(Unmaintained::Triggers);
        let only_read = core.storage.options().read_only;
        let only_read = only_read || core.options.storage.force_recovery >= ForceRecovery::NO_TRX_UNDO;
        if only_read {
            return Ok(false);
        }
        ddl::put_server_files_right(core).map(|()| true)
    }

    /// What sessions and services share.
    pub fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// What opening found.
    pub fn report(&self) -> &OpenReport {
        self.core.storage.report()
    }

    /// Whether many transfers at once are given to the kernel's rings (`use_native_aio`, and the kernel has them); else threads
    /// carry them.
    pub fn has_native_aio(&self) -> bool {
        self.native_aio
    }

    /// Tables that a crash left behind under temporary names (an ALTER TABLE that was cut off), as opening found them: they
    /// are dropped in the background.
    pub fn leftovers(&self) -> &[String] {
        &self.leftovers
    }

    /// Has `hook` called by every thread that is about to wait for the disk because a page is not in the pool. Pages may be
    /// latched then. There is one such hook in an engine; later ones are ignored.
    pub fn on_page_wait(&self, hook: impl Fn() + Send + Sync + 'static) {
        self.core.storage.pool().set_before_wait(Box::new(hook));
    }

    /// How the background services are, by name. None without any.
    pub fn services(&self) -> Vec<(String, Health)> {
        self.services.lock().as_ref().map(Services::health).unwrap_or_default()
    }

    /// The first failure of a background service, which has then stopped.
    pub fn failure(&self) -> Option<Error> {
        self.services.lock().as_ref().and_then(Services::failure)
    }

    /// Shuts down cleanly: services stop, everything is on disk. With `fast_shutdown` 0 the history is purged first; with
    /// 2 only the log is made durable, and the next opening recovers. Unfinished rollbacks go on at the next opening.
    ///
    /// # Errors
    /// Sessions are still open; errors of writing.
    pub fn close(&self) -> Result<()> {
        let mut services = self.services.lock();
        let held_by_services = services.as_ref().map_or(0, Services::core_handles);
        if Arc::strong_count(&self.core) > 1 + held_by_services {
            return Err(Error::WrongState("sessions are still open"));
        }
        let core = &self.core;
        let how = core.live.fast_shutdown.load(Ordering::Relaxed);
        if how == 0 && !core.storage.options().read_only {
            // What is damaged is for the next opening, too.
            while core.rollback_round(|| false).unwrap_or(false) {}
            while core.purge_step()? {}
        }
        if how < 2 && !core.storage.options().read_only {
            fulltext::write_all(core);
        }
        drop(services.take());
        core.dump_hot_set_at_end();
        match how {
            2 => {
                let log = core.storage.log();
                Ok(log.flush_up_to(log.current_lsn()).map_err(vaquita_storage::Error::from)?)
            }
            _ => Ok(core.storage.close()?),
        }
    }
}
