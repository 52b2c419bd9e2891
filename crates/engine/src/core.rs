//! What all sessions and services of a folder share.

use crate::dict::Dictionary;
use crate::mdl::MdlSys;
use crate::metrics::Metrics;
use crate::options::Options;
use std::sync::Arc;
use vaquita_storage::Storage;
use vaquita_txn::TrxSystem;

/// The shared state of an engine. Row functions take it as their first argument.
#[derive(Debug)]
pub struct Core {
    /// The settings.
    pub options: Options,
    /// Pages, log, files.
    pub storage: Arc<Storage>,
    /// Ids, undo, views, locks.
    pub txn: Arc<TrxSystem>,
    /// Tables.
    pub dict: Dictionary,
    /// Metadata locks.
    pub mdl: MdlSys,
    /// Counters.
    pub metrics: Metrics,
}
