//! Where in a tree a key would be, as a share of all records: for estimates of how many records a range has.
//!
//! A descent notes on every level how many records the page has and how many of them are before the key. The place in
//! the whole tree follows from that as if all pages of a level were as full as those on the way. Two places on the same
//! leaf differ by exactly the records between them.

use crate::descent::check_page;
use crate::error::Result;
use crate::probe::{Probe, child_no};
use crate::tree::Tree;
use vaquita_format::index_page::header::{infimum, is_comp, is_leaf, n_recs, supremum};
use vaquita_format::index_page::{self, SearchMode, next_rec};
use vaquita_format::tuple::Tuple;
use vaquita_storage::Storage;

/// Levels a tree can have; more are damage.
const LEVELS_MAX: usize = 32;

/// A place between two records of a tree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    /// Share of the records before it, 0 to 1.
    pub fraction: f64,
    /// Records of the tree, if all pages were as full as those on the way.
    pub records: f64,
}

impl Place {
    /// The records between this place and a later one.
    #[must_use]
    pub fn records_to(&self, later: &Place) -> u64 {
        let share = (later.fraction - self.fraction).max(0.0);
        (share * (self.records + later.records) / 2.0).round() as u64
    }
}

impl Tree {
    /// The place before the first record (`None`), or the place of a key: before the records equal to it, or with
    /// `after` behind them.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn place_of(&self, storage: &Storage, key: &Tuple<'_>, after: bool) -> Result<Place> {
        let mode = if after { SearchMode::Greater } else { SearchMode::GreaterOrEqual };
        self.place(storage, &Probe::key(&self.index, key, mode), Some((key, mode)))
    }

    /// The place at the end of the tree that the rightmost pages are on the way to; `records` is the estimate.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn place_of_end(&self, storage: &Storage) -> Result<Place> {
        self.place(storage, &Probe::Last, None)
    }

    /// The place before the first record.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn place_of_start(&self, storage: &Storage) -> Result<Place> {
        self.place(storage, &Probe::First, None)
    }

    fn place(
        &self,
        storage: &Storage,
        probe: &Probe<'_>,
        key: Option<(&Tuple<'_>, SearchMode)>,
    ) -> Result<Place> {
        let mut page = storage.pool().get_shared(self.page_id(self.root))?;
        check_page(&self.index, page.id(), &page, None)?;
        let mut at = Place { fraction: 0.0, records: 1.0 };
        let mut share = 1.0;
        for _ in 0..LEVELS_MAX {
            let n = f64::from(n_recs(&page)).max(1.0);
            at.records *= n;
            share /= n;
            if is_leaf(&page) {
                let before = match (probe, key) {
                    (Probe::First, _) => 0,
                    (_, None) => usize::from(n_recs(&page)),
                    (_, Some((key, mode))) => {
                        let found = index_page::search(&page, &self.index, key, mode);
                        let found = found.map_err(|c| self.corrupt(page.id(), c))?;
                        rank(&page, found.up)
                    }
                };
                at.fraction += share * before as f64;
                if n_recs(&page) == 0 {
                    at.records = 0.0;
                }
                return Ok(at);
            }
            let (rec, child) = probe.child_in(&self.index, &page).map_err(|c| self.corrupt(page.id(), c))?;
            debug_assert_eq!(child_no(&self.index, &page, rec).ok(), Some(child));
            at.fraction += share * rank(&page, rec) as f64;
            let id = self.page_id(child);
            // From parent to child, as latching allows.
            let next = storage.pool().get_shared(id)?;
            check_page(&self.index, id, &next, None)?;
            page = next;
        }
        Ok(at)
    }
}

/// User records before `rec`.
fn rank(page: &[u8], rec: u16) -> usize {
    let comp = is_comp(page);
    let (mut at, end) = (infimum(comp), supremum(comp));
    for n in 0..=usize::from(n_recs(page)) {
        at = match next_rec(page, at) {
            Ok(next) => next,
            Err(_) => return n,
        };
        if at == rec || at == end {
            return n;
        }
    }
    usize::from(n_recs(page))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_records_between_two_places_follow_from_their_shares() {
        let low = Place { fraction: 0.25, records: 1_000.0 };
        let high = Place { fraction: 0.75, records: 3_000.0 };
        assert_eq!(low.records_to(&high), 1_000);
        assert_eq!(high.records_to(&low), 0);
    }
}
