//! What the loops of a server share, and how many are in.

use crate::backend::{Backend, Happening};
use crate::decoy::Decoys;
use crate::error_log::ErrorLog;
use crate::errors;
use crate::hosts::Hosts;
use crate::sha2_cache::Sha2Cache;
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use vaquita_net::Accepted;
use vaquita_sql::SqlError;

/// What the loops of a server share.
pub(crate) struct Shared {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) log: Arc<ErrorLog>,
    pub(crate) version: String,
    pub(crate) hosts: Hosts,
    pub(crate) sha2_cache: Sha2Cache,
    pub(crate) decoys: Decoys,
    pub(crate) stopping: AtomicBool,
    pub(crate) tls: Mutex<Option<Arc<rustls::ServerConfig>>>,
    pub(crate) connected: AtomicUsize,
    pub(crate) shutdown_wanted: Arc<(Mutex<bool>, Condvar)>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shared")
    }
}

impl Shared {
    pub(crate) fn tls(&self) -> Option<Arc<rustls::ServerConfig>> {
        self.tls.lock().clone()
    }

    /// Counts a client in, or refuses it.
    pub(crate) fn let_in(self: &Arc<Self>, accepted: &Accepted) -> Result<Pass, SqlError> {
        if self.stopping.load(Ordering::Acquire) {
            return Err(errors::shutting_down());
        }
        let limits = self.backend.limits();
        if let Some(addr) = accepted.addr
            && self.hosts.is_blocked(addr.ip(), limits.max_connect_errors)
        {
            self.backend.count(Happening::AbortedConnect);
            return Err(errors::host_blocked(&addr.ip().to_string()));
        }
        // One more may come in: the database keeps that place for SUPER.
        let room = |n: usize| (n <= limits.max_connections as usize).then_some(n + 1);
        if self.connected.fetch_update(Ordering::AcqRel, Ordering::Acquire, room).is_err() {
            self.backend.count(Happening::TooMany);
            self.backend.count(Happening::AbortedConnect);
            return Err(errors::too_many_connections());
        }
        Ok(Pass(self.clone()))
    }

    /// Somebody who may has asked the server to end.
    pub(crate) fn request_shutdown(&self) {
        let (wanted, told) = &*self.shutdown_wanted;
        *wanted.lock() = true;
        told.notify_all();
    }
}

/// Somebody is in; dropped when he leaves.
#[derive(Debug)]
pub(crate) struct Pass(Arc<Shared>);

impl Drop for Pass {
    fn drop(&mut self) {
        self.0.connected.fetch_sub(1, Ordering::AcqRel);
    }
}
