//! Plans by statement text.
//!
//! The key is what the digest leaves of a text, the current database and what of the session's settings plans depend
//! on. Found in one of a few shards by one hash, without allocating; a full shard lets go what was not used since the hand
//! of its clock came by last. A plan notices itself that a definition has changed (its run ends with 1412); whoever changes
//! definitions here throws the plans of those tables away, so that nothing of a dropped table is kept.
//!
//! Texts and prepared statements share plans: the key has the kinds of values, wherever they come from
//! (`connection::values`). A prepared statement has the plan of its last execution at hand and comes here with values of
//! other kinds, or when the generation has changed.

use crate::accounts::Wanted;
use crate::statement::Planned;
use crate::status::Com;
use parking_lot::RwLock;
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const SHARDS: usize = 16;

/// Plans in one shard.
const SHARD_PLANS: usize = 256;

/// A plan that is kept.
#[derive(Debug)]
pub(crate) struct Cached {
    pub(crate) plan: Arc<dyn Planned>,
    pub(crate) kind: Com,
    used: AtomicBool,
}

impl Cached {
    pub(crate) fn new(plan: Arc<dyn Planned>, kind: Com) -> Cached {
        Cached { plan, kind, used: AtomicBool::new(true) }
    }
}

#[derive(Debug, Default)]
struct Shard {
    plans: HashMap<Box<[u8]>, Arc<Cached>, foldhash::fast::RandomState>,
    /// Keys in the order of the clock.
    clock: Vec<Box<[u8]>>,
    hand: usize,
}

/// The cache; shared by all sessions of a folder.
#[derive(Debug, Default)]
pub struct PlanCache {
    shards: [RwLock<Shard>; SHARDS],
    hasher: foldhash::fast::RandomState,
    /// Grows when plans become useless.
    generation: AtomicU64,
}

impl PlanCache {
    fn shard(&self, key: &[u8]) -> &RwLock<Shard> {
        &self.shards[self.hasher.hash_one(key) as usize % SHARDS]
    }

    /// The plan under a key.
    pub(crate) fn find(&self, key: &[u8]) -> Option<Arc<Cached>> {
        let shard = self.shard(key).read();
        let found = shard.plans.get(key)?;
        // Not written each time: the line is shared by all who use the plan.
        if !found.used.load(Ordering::Relaxed) {
            found.used.store(true, Ordering::Relaxed);
        }
        Some(found.clone())
    }

    /// Keeps a plan.
    pub(crate) fn insert(&self, key: &[u8], cached: Cached) {
        let mut shard = self.shard(key).write();
        let shard = &mut *shard;
        if let Some(old) = shard.plans.get_mut(key) {
            *old = Arc::new(cached);
            return;
        }
        if shard.clock.len() >= SHARD_PLANS {
            shard.evict();
        }
        shard.plans.insert(key.into(), Arc::new(cached));
        shard.clock.push(key.into());
    }

    /// Forgets a plan.
    pub(crate) fn remove(&self, key: &[u8]) {
        let mut shard = self.shard(key).write();
        if shard.plans.remove(key).is_some() {
            shard.clock.retain(|k| **k != *key);
        }
    }

    /// Forgets the plans that use a table.
    pub(crate) fn forget(&self, is_changed: impl Fn(&Wanted) -> bool) {
        self.generation.fetch_add(1, Ordering::Release);
        for shard in &self.shards {
            let Shard { plans, clock, .. } = &mut *shard.write();
            plans.retain(|_, cached| !cached.plan.wants().iter().any(&is_changed));
            clock.retain(|key| plans.contains_key(key));
        }
    }

    /// Forgets all plans.
    pub(crate) fn clear(&self) {
        self.generation.fetch_add(1, Ordering::Release);
        for shard in &self.shards {
            *shard.write() = Shard::default();
        }
    }

    /// Plans that were made under another generation are of no use.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// How many plans there are.
    pub fn len(&self) -> usize {
        self.shards.iter().map(|s| s.read().plans.len()).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Shard {
    fn evict(&mut self) {
        for _ in 0..2 * self.clock.len() {
            if self.hand >= self.clock.len() {
                self.hand = 0;
            }
            let used =
                self.plans.get(&self.clock[self.hand]).is_some_and(|c| c.used.swap(false, Ordering::Relaxed));
            if !used {
                let key = self.clock.swap_remove(self.hand);
                self.plans.remove(&key);
                return;
            }
            self.hand += 1;
        }
    }
}
