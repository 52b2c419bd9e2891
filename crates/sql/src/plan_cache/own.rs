//! A session's own way to the plans it has run: what it runs again it finds without a word that other sessions write.
//!
//! The plans are those of the shared cache. A session that takes one from there keeps a handle of it, whose references are
//! counted for the session alone, and later finds it by a hash of the text in a table of its own. The table has a mutex,
//! which nobody else takes but who throws plans away: these are taken out of the tables of all sessions, also of those that
//! are idle, so that a session keeps no plan alive which the shared cache does not have.

use super::{Cached, Key, PlanCache};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use vaquita_session::state::UserVars;

/// Plans of one session: an application's statements, say, as its workspaces.
const PLANS_MAX: usize = 128;

/// Bytes that one takes besides the plan, roughly.
const BYTES_OF_ONE: usize = size_of::<(u64, Entry)>() + size_of::<Handle>() + 2 * size_of::<usize>();

/// A plan, as one session has it.
#[derive(Debug)]
pub(crate) struct Handle(Arc<Cached>);

impl std::ops::Deref for Handle {
    type Target = Arc<Cached>;

    #[inline]
    fn deref(&self) -> &Arc<Cached> {
        &self.0
    }
}

#[derive(Debug)]
struct Entry {
    handle: Arc<Handle>,
    used: u64,
}

/// Keys are hashes already.
#[derive(Debug, Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = self.0 << 8 | u64::from(byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[derive(Debug, Default)]
pub(super) struct Table {
    plans: HashMap<u64, Entry, BuildHasherDefault<AsItIs>>,
    clock: u64,
}

impl Table {
    /// Lets go what the shared cache has let go.
    pub(super) fn sweep(&mut self) {
        self.plans.retain(|_, entry| !entry.handle.is_gone());
    }

    fn keep(&mut self, hash: u64, handle: Arc<Handle>) {
        if self.plans.len() >= PLANS_MAX && !self.plans.contains_key(&hash) {
            let oldest = self.plans.iter().min_by_key(|(_, entry)| entry.used).map(|(&hash, _)| hash);
            oldest.and_then(|hash| self.plans.remove(&hash));
        }
        self.clock += 1;
        self.plans.insert(hash, Entry { handle, used: self.clock });
    }
}

/// The plans that a session has at hand.
#[derive(Debug)]
pub(crate) struct OwnPlans {
    cache: Arc<PlanCache>,
    table: Arc<Mutex<Table>>,
    /// Its number among the sessions of the cache.
    number: u64,
    /// Bytes by which the table has grown since somebody asked.
    grown: usize,
}

impl OwnPlans {
    pub(crate) fn new(cache: &Arc<PlanCache>) -> OwnPlans {
        let table = Arc::new(Mutex::new(Table::default()));
        let number = cache.enter(&table);
        OwnPlans { cache: cache.clone(), table, number, grown: 0 }
    }

    /// The plan under a key, if it is good for a session with these variables: at hand, or of the shared cache, then at hand
    /// from now on.
    pub(crate) fn find(&mut self, key: Key<'_>, vars: &UserVars) -> Option<Arc<Handle>> {
        let hash = self.cache.hash(key);
        self.at_hand(hash, key, vars).or_else(|| self.fetch(hash, key, vars))
    }

    #[inline]
    fn at_hand(&self, hash: u64, key: Key<'_>, vars: &UserVars) -> Option<Arc<Handle>> {
        let mut table = self.table.lock();
        let table = &mut *table;
        let entry = table.plans.get_mut(&hash)?;
        let handle = &entry.handle;
        if handle.is_gone() || !key.is(&handle.key) || !handle.conditions.hold(vars) {
            return None;
        }
        handle.touch();
        table.clock += 1;
        entry.used = table.clock;
        Some(entry.handle.clone())
    }

    #[cold]
    fn fetch(&mut self, hash: u64, key: Key<'_>, vars: &UserVars) -> Option<Arc<Handle>> {
        let handle = Arc::new(Handle(self.cache.find(&key.bytes(), vars)?));
        let mut table = self.table.lock();
        let before = table.plans.capacity();
        table.keep(hash, handle.clone());
        self.grown += table.plans.capacity().saturating_sub(before) * BYTES_OF_ONE;
        // Thrown away meanwhile: whoever did that has either seen it in the table, or is seen here.
        table.sweep();
        Some(handle)
    }

    /// Bytes that the table takes more than when this was asked last.
    #[inline]
    pub(crate) fn grown(&mut self) -> usize {
        std::mem::take(&mut self.grown)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.table.lock().plans.len()
    }
}

impl Drop for OwnPlans {
    fn drop(&mut self) {
        self.cache.leave(self.number);
    }
}
