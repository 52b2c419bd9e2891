//! Read views: which transactions' changes a snapshot sees, opened at constant cost.
//!
//! No list of active transactions is copied. Every read-write transaction is entered in a map from id to *commit
//! sequence number* while anybody may ask for it ([`crate::trx_sys`]); a view is four numbers:
//!
//! | number | rule |
//! |---|---|
//! | `up_limit` | ids below are seen: all had committed |
//! | `low_limit` | ids from here on are not seen: they began later |
//! | `snapshot` | in between, an id is seen if its commit sequence number is below this, or if the map has forgotten it |
//! | `low_limit_no` | undo logs with a transaction number below this are not needed for the view |
//!
//! A transaction sees its own changes whatever the numbers say.

use vaquita_base::TrxId;

/// A snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadView {
    /// Whose changes are always seen; 0 for nobody's.
    pub creator: TrxId,
    /// Ids below are seen.
    pub up_limit: TrxId,
    /// Ids from here on are not seen.
    pub low_limit: TrxId,
    /// Commit sequence numbers below are seen.
    pub snapshot: u64,
    /// Undo logs below are not needed.
    pub low_limit_no: TrxId,
}

impl ReadView {
    /// Whether all changes on a secondary index page are seen, judged by the page's greatest transaction id.
    #[inline]
    pub fn sees_all_up_to(&self, max_trx_id: TrxId) -> bool {
        max_trx_id < self.up_limit
    }
}
