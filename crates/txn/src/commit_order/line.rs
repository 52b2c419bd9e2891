//! Ascending numbers that leave in any order, of which the least is always known.

use std::collections::VecDeque;

/// Dead marks are swept out when there are this many, and more of them than living numbers.
pub(crate) const DEAD_MAX: usize = 64;

/// The numbers: a queue with marks on those that left from its middle.
#[derive(Debug, Default)]
pub(crate) struct Line {
    entries: VecDeque<(u64, bool)>,
    alive: usize,
}

impl Line {
    /// Enters a number greater than all before.
    pub(crate) fn push(&mut self, number: u64) {
        debug_assert!(
            self.entries.back().is_none_or(|(last, _)| *last < number),
            "{number} enters behind {:?}",
            self.entries.back()
        );
        self.entries.push_back((number, true));
        self.alive += 1;
    }

    /// A number leaves.
    ///
    /// # Panics
    /// If it is not there.
    pub(crate) fn remove(&mut self, number: u64) {
        let at = self.entries.binary_search_by_key(&number, |(n, _)| *n);
        let entry = at.ok().and_then(|at| self.entries.get_mut(at)).filter(|(_, alive)| *alive);
        entry.expect("a number leaves once, after it was entered").1 = false;
        self.alive -= 1;
        while self.entries.front().is_some_and(|(_, alive)| !alive) {
            self.entries.pop_front();
        }
        let dead = self.entries.len() - self.alive;
        if dead > DEAD_MAX && dead > self.alive {
            self.entries.retain(|(_, alive)| *alive);
        }
    }

    /// The least number.
    pub(crate) fn first(&self) -> Option<u64> {
        self.entries.front().map(|(n, _)| *n)
    }

    /// How many numbers there are.
    pub(crate) fn len(&self) -> usize {
        self.alive
    }
}

#[cfg(test)]
impl Line {
    /// Marks and numbers.
    pub(crate) fn entries(&self) -> usize {
        self.entries.len()
    }
}
