//! Active transactions by id, for those that meet an id in a record and want its locks.

use crate::trx::TrxRef;
use crossbeam_utils::CachePadded;
use foldhash::fast::FixedState;
use parking_lot::Mutex;
use std::collections::HashMap;
use vaquita_base::TrxId;

/// Shards; a power of two. Ids follow each other, so neighbours are in different shards.
const SHARDS: usize = 64;

type Shard = CachePadded<Mutex<HashMap<TrxId, TrxRef, FixedState>>>;

/// Transactions from the moment they have an id until they are published.
#[derive(Debug)]
pub(super) struct ActiveMap {
    shards: Box<[Shard]>,
}

impl ActiveMap {
    pub(super) fn new() -> Self {
        Self { shards: std::iter::repeat_with(Shard::default).take(SHARDS).collect() }
    }

    fn shard(&self, id: TrxId) -> &Shard {
        &self.shards[id.0 as usize % SHARDS]
    }

    pub(super) fn insert(&self, id: TrxId, trx: TrxRef) {
        let before = self.shard(id).lock().insert(id, trx);
        debug_assert!(before.is_none(), "id {id} is given twice: {before:?}");
    }

    pub(super) fn remove(&self, id: TrxId) {
        let left = self.shard(id).lock().remove(&id);
        debug_assert!(left.is_some(), "transaction {id} leaves and was not among the active ones");
    }

    pub(super) fn get(&self, id: TrxId) -> Option<TrxRef> {
        self.shard(id).lock().get(&id).cloned()
    }

    /// All, oldest first.
    pub(super) fn all(&self) -> Vec<TrxRef> {
        let mut all: Vec<(TrxId, TrxRef)> = Vec::new();
        for shard in &self.shards {
            all.extend(shard.lock().iter().map(|(id, trx)| (*id, trx.clone())));
        }
        all.sort_unstable_by_key(|(id, _)| *id);
        all.into_iter().map(|(_, trx)| trx).collect()
    }
}
