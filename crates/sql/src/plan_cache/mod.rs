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
//! other kinds, or when the generation has changed. Who runs texts has the plans at hand that it has run ([`OwnPlans`]), until
//! they go from here.

mod own;

pub(crate) use own::OwnPlans;

use parking_lot::{Mutex, RwLock};
use std::borrow::Borrow;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
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

/// Evictions after which sessions are asked to let go what was evicted.
const SWEEP_EVERY: u64 = 256;

/// What a plan of a text is found by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key<'k> {
    /// Variables that plans depend on.
    pub(crate) fingerprint: u64,
    /// The current database.
    pub(crate) database: &'k str,
    /// The text's digest.
    pub(crate) text: &'k [u8],
}

impl Key<'_> {
    /// Appends it as the cache has it.
    pub(crate) fn push(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.fingerprint.to_le_bytes());
        out.extend_from_slice(self.database.as_bytes());
        out.push(0);
        out.extend_from_slice(self.text);
    }

    fn bytes(self) -> Vec<u8> {
        let mut out = Vec::with_capacity(9 + self.database.len() + self.text.len());
        self.push(&mut out);
        out
    }

    /// Whether these are its bytes.
    #[inline]
    fn is(self, bytes: &[u8]) -> bool {
        let Some((fingerprint, rest)) = bytes.split_first_chunk::<8>() else { return false };
        let Some(rest) = rest.strip_prefix(self.database.as_bytes()) else { return false };
        u64::from_le_bytes(*fingerprint) == self.fingerprint
            && rest.split_first().is_some_and(|(&end, text)| end == 0 && text == self.text)
    }
}

/// A plan that is kept.
#[derive(Debug)]
pub(crate) struct Cached {
    key: Box<[u8]>,
    pub(crate) plan: Arc<dyn Planned>,
    pub(crate) kind: Com,
    pub(crate) conditions: Conditions,
    used: AtomicBool,
    /// The cache has let it go.
    gone: AtomicBool,
}

impl Cached {
    pub(crate) fn new(key: &[u8], plan: Arc<dyn Planned>, kind: Com, conditions: Conditions) -> Cached {
        let (used, gone) = (AtomicBool::new(true), AtomicBool::new(false));
        Cached { key: key.into(), plan, kind, conditions, used, gone }
    }

    /// Not written each time: the line is shared by all who use the plan.
    #[inline]
    fn touch(&self) {
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
    }

    #[inline]
    fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }

    fn goes(&self) {
        self.gone.store(true, Ordering::Release);
    }
}

/// A plan, found by its key.
#[derive(Debug)]
struct ByKey(Arc<Cached>);

impl Borrow<[u8]> for ByKey {
    fn borrow(&self) -> &[u8] {
        &self.0.key
    }
}

impl Hash for ByKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.key.hash(state);
    }
}

impl PartialEq for ByKey {
    fn eq(&self, other: &Self) -> bool {
        self.0.key == other.0.key
    }
}

impl Eq for ByKey {}

#[derive(Debug, Default)]
struct Shard {
    plans: HashSet<ByKey, foldhash::fast::RandomState>,
    /// The same in the order of the clock.
    clock: Vec<Arc<Cached>>,
    hand: usize,
    /// Bytes of the keys.
    bytes: usize,
}

/// The tables of the sessions, by their numbers.
#[derive(Debug, Default)]
struct Sessions {
    tables: HashMap<u64, Weak<Mutex<own::Table>>>,
    last: u64,
}

/// The cache; shared by all sessions of a folder.
#[derive(Debug, Default)]
pub(crate) struct PlanCache {
    shards: [RwLock<Shard>; SHARDS],
    hasher: foldhash::fast::RandomState,
    /// Grows when plans become useless.
    generation: AtomicU64,
    evictions: AtomicU64,
    sessions: Mutex<Sessions>,
}

impl PlanCache {
    fn shard(&self, key: &[u8]) -> &RwLock<Shard> {
        &self.shards[self.hasher.hash_one(key) as usize % SHARDS]
    }

    /// A hash of a key for the tables of sessions.
    #[inline]
    fn hash(&self, key: Key<'_>) -> u64 {
        self.hasher.hash_one(key.text)
    }

    /// The plan under a key, if it is good for a session with these variables.
    pub(crate) fn find(&self, key: &[u8], vars: &UserVars) -> Option<Arc<Cached>> {
        let shard = self.shard(key).read();
        let ByKey(found) = shard.plans.get(key)?;
        if !found.conditions.hold(vars) {
            return None;
        }
        found.touch();
        Some(found.clone())
    }

    /// Keeps a plan.
    pub(crate) fn insert(&self, cached: Cached) {
        if cached.key.len() > KEY_MAX {
            return;
        }
        let cached = Arc::new(cached);
        let evicted = self.shard(&cached.key).write().insert(cached);
        let before = self.evictions.fetch_add(evicted, Ordering::Relaxed);
        if before / SWEEP_EVERY != (before + evicted) / SWEEP_EVERY {
            self.sweep_sessions();
        }
    }

    /// Forgets a plan, unless another one is in its place already.
    pub(crate) fn remove(&self, cached: &Arc<Cached>) {
        let mut shard = self.shard(&cached.key).write();
        let shard = &mut *shard;
        if shard.plans.get(&*cached.key).is_some_and(|ByKey(there)| Arc::ptr_eq(there, cached)) {
            shard.plans.remove(&*cached.key);
            shard.clock.retain(|other| !Arc::ptr_eq(other, cached));
            shard.bytes -= cached.key.len();
        }
        cached.goes();
    }

    /// Forgets the plans that use a table.
    pub(crate) fn forget(&self, is_changed: impl Fn(&Wanted) -> bool) {
        self.generation.fetch_add(1, Ordering::Release);
        for shard in &self.shards {
            let Shard { plans, clock, bytes, .. } = &mut *shard.write();
            clock.retain(|cached| {
                let goes = cached.plan.wants().iter().any(&is_changed);
                if goes {
                    cached.goes();
                    plans.remove(&*cached.key);
                    *bytes -= cached.key.len();
                }
                !goes
            });
        }
        self.sweep_sessions();
    }

    /// Forgets all plans.
    pub(crate) fn clear(&self) {
        self.forget_all();
        self.sweep_sessions();
    }

    fn forget_all(&self) {
        self.generation.fetch_add(1, Ordering::Release);
        for shard in &self.shards {
            let mut shard = shard.write();
            shard.clock.iter().for_each(|cached| cached.goes());
            *shard = Shard::default();
        }
    }

    /// A session begins to keep plans in its table; its number.
    fn enter(&self, table: &Arc<Mutex<own::Table>>) -> u64 {
        let mut sessions = self.sessions.lock();
        sessions.last += 1;
        let number = sessions.last;
        sessions.tables.insert(number, Arc::downgrade(table));
        number
    }

    fn leave(&self, number: u64) {
        self.sessions.lock().tables.remove(&number);
    }

    /// Takes what is gone out of the tables of all sessions.
    fn sweep_sessions(&self) {
        let tables: Vec<_> = self.sessions.lock().tables.values().filter_map(Weak::upgrade).collect();
        tables.iter().for_each(|table| table.lock().sweep());
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
    /// Puts a plan in, in place of one with the same key; how many others had to go for it.
    fn insert(&mut self, cached: Arc<Cached>) -> u64 {
        if let Some(ByKey(old)) = self.plans.replace(ByKey(cached.clone())) {
            old.goes();
            let place = self.clock.iter_mut().find(|there| Arc::ptr_eq(there, &old));
            place.into_iter().for_each(|place| *place = cached.clone());
            return 0;
        }
        self.bytes += cached.key.len();
        let mut evicted = 0;
        while !self.clock.is_empty() && (self.clock.len() >= SHARD_PLANS || self.bytes > SHARD_BYTES) {
            self.evict();
            evicted += 1;
        }
        self.clock.push(cached);
        evicted
    }

    fn evict(&mut self) {
        for _ in 0..2 * self.clock.len() {
            if self.hand >= self.clock.len() {
                self.hand = 0;
            }
            if !self.clock[self.hand].used.swap(false, Ordering::Relaxed) {
                let cached = self.clock.swap_remove(self.hand);
                self.plans.remove(&*cached.key);
                self.bytes -= cached.key.len();
                cached.goes();
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
        cache.insert(Cached::new(key, Arc::new(Nothing), Com::Select, Conditions::default()));
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
            assert_eq!(shard.bytes, shard.plans.iter().map(|ByKey(cached)| cached.key.len()).sum::<usize>());
            assert!(shard.bytes <= SHARD_BYTES && shard.clock.len() == shard.plans.len());
        }
        insert(&cache, b"again");
        let old = cache.find(b"again", &UserVars::default()).expect("it is there");
        insert(&cache, b"again");
        // Another one has its place.
        cache.remove(&old);
        assert!(is_in(&cache, b"again"));
        let new = cache.find(b"again", &UserVars::default()).expect("it is there");
        cache.remove(&new);
        cache.remove(&new);
        cache.forget(|_| true);
        assert!(!is_in(&cache, b"again"));
        cache.clear();
        assert!(cache.len() == 0 && cache.shards.iter().all(|s| s.read().bytes == 0));
    }

    fn key(text: &str) -> Key<'_> {
        Key { fingerprint: 7, database: "d", text: text.as_bytes() }
    }

    #[test]
    fn what_a_session_has_at_hand_goes_with_the_shared_plan() {
        let cache = Arc::new(PlanCache::default());
        let (mut a, mut idle) = (OwnPlans::new(&cache), OwnPlans::new(&cache));
        let vars = UserVars::default();
        let plan: Arc<dyn Planned> = Arc::new(Nothing);
        let alive = |plan: &Arc<dyn Planned>| Arc::strong_count(plan) - 1;
        let insert = || {
            let cached = Cached::new(&key("x").bytes(), plan.clone(), Com::Select, Conditions::default());
            cache.insert(cached);
        };
        insert();
        for own in [&mut a, &mut idle] {
            assert!(own.find(key("x"), &vars).is_some() && own.len() == 1);
            assert!(own.find(key("y"), &vars).is_none());
            assert!(own.find(Key { database: "e", ..key("x") }, &vars).is_none());
            assert!(own.find(Key { fingerprint: 8, ..key("x") }, &vars).is_none());
        }
        assert_eq!(alive(&plan), 1);
        cache.forget(|_| true);
        assert!(alive(&plan) == 1 && a.len() == 1, "it wants no table");
        cache.clear();
        assert!(alive(&plan) == 0 && a.len() + idle.len() == 0);
        insert();
        let held = a.find(key("x"), &vars).expect("it is there");
        idle.find(key("x"), &vars).expect("it is there");
        cache.remove(&held);
        assert!(a.find(key("x"), &vars).is_none(), "who runs it finds it no more");
        // One that is evicted goes from all tables before so many more are.
        insert();
        assert!(a.find(key("x"), &vars).is_some() && idle.find(key("x"), &vars).is_some());
        drop(held);
        for n in 0..4 * (SHARDS * SHARD_PLANS) as u64 {
            super::tests::insert(&cache, &n.to_le_bytes());
        }
        assert_eq!(alive(&plan), 0, "nobody uses it");
    }

    #[test]
    fn a_session_has_a_number_of_plans_at_hand() {
        let cache = Arc::new(PlanCache::default());
        let mut own = OwnPlans::new(&cache);
        insert(&cache, &key("often").bytes());
        for n in 0..1_000 {
            let text = n.to_string();
            insert(&cache, &key(&text).bytes());
            assert!(own.find(key(&text), &UserVars::default()).is_some());
            assert!(own.find(key("often"), &UserVars::default()).is_some());
        }
        // What is used all the time stays at hand.
        let locks: Vec<_> = cache.shards.iter().map(|shard| shard.write()).collect();
        assert!(own.find(key("often"), &UserVars::default()).is_some());
        drop(locks);
        let bytes = own.grown();
        assert!(own.len() == 128 && (4_000..64 << 10).contains(&bytes) && own.grown() == 0, "{bytes}");
    }

    #[test]
    fn what_is_at_hand_is_found_without_a_shared_lock_or_count() {
        let cache = Arc::new(PlanCache::default());
        let (mut a, mut b) = (OwnPlans::new(&cache), OwnPlans::new(&cache));
        insert(&cache, &key("x").bytes());
        let vars = UserVars::default();
        let shared: Arc<Cached> =
            a.find(key("x"), &vars).map(|handle| Arc::clone(&**handle)).expect("it is there");
        b.find(key("x"), &vars).expect("it is there");
        let count = Arc::strong_count(&shared);
        // Whoever took one of these would never come back.
        let locks: Vec<_> = cache.shards.iter().map(|shard| shard.write()).collect();
        let sessions = cache.sessions.lock();
        let held = [a.find(key("x"), &vars), b.find(key("x"), &vars)];
        assert!(held.iter().all(Option::is_some) && Arc::strong_count(&shared) == count);
        drop((locks, sessions));
    }
}
