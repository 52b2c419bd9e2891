//! Plans by statement text.
//!
//! The key is what the digest leaves of a text, the current database and what of the session's settings plans depend
//! on. Found in one of a few shards by one hash, without allocating; a full shard lets go what was not used since the hand
//! of its clock came by last. Full is a shard by the number of its plans or by the bytes of their keys, which the plans are
//! roughly proportional to. A plan notices itself that a definition has changed (its run ends with 1412); whoever changes
//! definitions here throws the plans of those tables away, so that nothing of a dropped table is kept.
//!
//! I1: a plan that is found answers what a plan made for the statement in the session that asks would answer. Whatever a plan is
//! made from is in its key (text, kinds of values, database, variables, see `PLANS_DEPEND_ON`), or in its [`Conditions`] (types of
//! user variables), or is looked at when it runs (values, privileges, transaction, day), or keeps the plan out of the cache
//! (values that were compared while planning).
//!
//! Texts and prepared statements share plans: the key has the kinds of values, wherever they come from
//! (`connection::values`). A prepared statement has the plan of its last execution at hand and comes here with values of
//! other kinds, or when the generation has changed.

use parking_lot::RwLock;
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use vaquita_exec::Planned;
use vaquita_session::privilege::Wanted;
use vaquita_session::state::{Conditions, UserVars};
use vaquita_session::status::Com;

const SHARDS: usize = 16;

/// Plans in one shard.
const SHARD_PLANS: usize = 256;

/// Bytes of the keys in one shard.
const SHARD_BYTES: usize = 256 << 10;

/// A longer text's plan is not kept.
const KEY_MAX: usize = 16 << 10;

/// A plan that is kept.
#[derive(Debug)]
pub(crate) struct Cached {
    pub(crate) plan: Arc<dyn Planned>,
    pub(crate) kind: Com,
    pub(crate) conditions: Conditions,
    used: AtomicBool,
}

impl Cached {
    pub(crate) fn new(plan: Arc<dyn Planned>, kind: Com, conditions: Conditions) -> Cached {
        Cached { plan, kind, conditions, used: AtomicBool::new(true) }
    }
}

#[derive(Debug, Default)]
struct Shard {
    plans: HashMap<Box<[u8]>, Arc<Cached>, foldhash::fast::RandomState>,
    /// Keys in the order of the clock.
    clock: Vec<Box<[u8]>>,
    hand: usize,
    /// Bytes of the keys.
    bytes: usize,
}

/// The cache; shared by all sessions of a folder.
#[derive(Debug, Default)]
pub(crate) struct PlanCache {
    shards: [RwLock<Shard>; SHARDS],
    hasher: foldhash::fast::RandomState,
    /// Grows when plans become useless.
    generation: AtomicU64,
}

impl PlanCache {
    fn shard(&self, key: &[u8]) -> &RwLock<Shard> {
        &self.shards[self.hasher.hash_one(key) as usize % SHARDS]
    }

    /// The plan under a key, if it is good for a session with these variables.
    pub(crate) fn find(&self, key: &[u8], vars: &UserVars) -> Option<Arc<Cached>> {
        let shard = self.shard(key).read();
        let found = shard.plans.get(key).filter(|found| found.conditions.hold(vars))?;
        // Not written each time: the line is shared by all who use the plan.
        if !found.used.load(Ordering::Relaxed) {
            found.used.store(true, Ordering::Relaxed);
        }
        Some(found.clone())
    }

    /// Keeps a plan.
    pub(crate) fn insert(&self, key: &[u8], cached: Cached) {
        if key.len() > KEY_MAX {
            return;
        }
        let mut shard = self.shard(key).write();
        let shard = &mut *shard;
        if let Some(old) = shard.plans.get_mut(key) {
            *old = Arc::new(cached);
            return;
        }
        while shard.clock.len() >= SHARD_PLANS || shard.bytes + key.len() > SHARD_BYTES {
            shard.evict();
        }
        shard.bytes += key.len();
        shard.plans.insert(key.into(), Arc::new(cached));
        shard.clock.push(key.into());
    }

    /// Forgets a plan.
    pub(crate) fn remove(&self, key: &[u8]) {
        let mut shard = self.shard(key).write();
        let shard = &mut *shard;
        if shard.plans.remove(key).is_some() {
            shard.clock.retain(|k| **k != *key);
            shard.bytes -= key.len();
        }
    }

    /// Forgets the plans that use a table.
    pub(crate) fn forget(&self, is_changed: impl Fn(&Wanted) -> bool) {
        self.generation.fetch_add(1, Ordering::Release);
        for shard in &self.shards {
            let Shard { plans, clock, bytes, .. } = &mut *shard.write();
            plans.retain(|_, cached| !cached.plan.wants().iter().any(&is_changed));
            clock.retain(|key| plans.contains_key(key));
            *bytes = clock.iter().map(|key| key.len()).sum();
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
    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|s| s.read().plans.len()).sum()
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
                self.bytes -= key.len();
                return;
            }
            self.hand += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vaquita_exec::Outcome;
    use vaquita_session::SessionCx;
    use vaquita_session::sink::{ColumnMeta, ResultSink};
    use vaquita_types::{SqlResult, Value};

    #[derive(Debug)]
    struct Nothing;

    impl Planned for Nothing {
        fn columns(&self) -> Option<&Arc<[ColumnMeta]>> {
            None
        }

        fn wants(&self) -> &[Wanted] {
            &[]
        }

        fn run(&self, _: &mut SessionCx<'_>, _: &[Value<'_>], _: &mut dyn ResultSink) -> SqlResult<Outcome> {
            Ok(Outcome::default())
        }
    }

    fn insert(cache: &PlanCache, key: &[u8]) {
        cache.insert(key, Cached::new(Arc::new(Nothing), Com::Select, Conditions::default()));
    }

    fn is_in(cache: &PlanCache, key: &[u8]) -> bool {
        cache.find(key, &UserVars::default()).is_some()
    }

    #[test]
    fn neither_many_texts_nor_long_ones_fill_more_than_the_cache() {
        let cache = PlanCache::default();
        for n in 0..20_000_u32 {
            insert(&cache, &n.to_le_bytes());
            assert!(is_in(&cache, &n.to_le_bytes()));
        }
        assert_eq!(cache.len(), SHARDS * SHARD_PLANS);
        for n in 0..2_000_u32 {
            let mut key = n.to_le_bytes().to_vec();
            key.resize(KEY_MAX, b'x');
            insert(&cache, &key);
            assert!(is_in(&cache, &key));
            key.push(b'x');
            insert(&cache, &key);
            assert!(!is_in(&cache, &key));
        }
        for shard in &cache.shards {
            let shard = shard.read();
            assert_eq!(shard.bytes, shard.plans.keys().map(|key| key.len()).sum::<usize>());
            assert!(shard.bytes <= SHARD_BYTES && shard.clock.len() == shard.plans.len());
        }
        insert(&cache, b"again");
        insert(&cache, b"again");
        cache.remove(b"again");
        cache.remove(b"again");
        cache.forget(|_| true);
        assert!(!is_in(&cache, b"again"));
        cache.clear();
        assert!(cache.len() == 0 && cache.shards.iter().all(|s| s.read().bytes == 0));
    }
}
