//! What a statement keeps of its subqueries while it runs.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Results of subqueries, kept while a statement runs; what they look like is known to who runs them.
#[derive(Default)]
pub struct SubqueryResults {
    /// The statement says IGNORE: a subquery of several rows where one is wanted is NULL, with a warning.
    pub ignore: bool,
    /// Statements that run, one in the other.
    running: u32,
    /// By the place of the plan, which stays where it is while the statement runs.
    results: HashMap<usize, Arc<dyn Any + Send + Sync>, foldhash::fast::RandomState>,
}

impl fmt::Debug for SubqueryResults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubqueryResults").field("kept", &self.results.len()).finish_non_exhaustive()
    }
}

impl SubqueryResults {
    /// A statement runs.
    pub fn begin(&mut self) {
        self.running += 1;
    }

    /// It has ended.
    pub fn end(&mut self) {
        self.running = self.running.saturating_sub(1);
        if self.running == 0 {
            self.results.clear();
        }
    }

    /// Whether results may be kept: a statement runs.
    pub fn are_kept(&self) -> bool {
        self.running > 0
    }

    /// What is kept of the plan at a place.
    pub fn get<T: Any + Send + Sync>(&self, place: usize) -> Option<Arc<T>> {
        self.results.get(&place).cloned().and_then(|kept| kept.downcast().ok())
    }

    /// The same, to add to it; nothing is kept so far: something empty. `None` while somebody reads it.
    pub fn get_mut<T: Any + Send + Sync + Default>(&mut self, place: usize) -> Option<&mut T> {
        let kept = self.results.entry(place).or_insert_with(|| Arc::new(T::default()));
        Arc::get_mut(kept)?.downcast_mut()
    }

    /// Keeps it in place of what was there.
    pub fn put<T: Any + Send + Sync>(&mut self, place: usize, kept: Arc<T>) {
        self.results.insert(place, kept);
    }

    /// Keeps it no longer.
    pub fn take<T: Any + Send + Sync>(&mut self, place: usize) -> Option<Arc<T>> {
        self.results.remove(&place).and_then(|kept| kept.downcast().ok())
    }
}
