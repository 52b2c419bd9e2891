//! What leads to a leaf, seen from the leaf.
//!
//! Records that equal a key in its leading fields lie side by side, but not always in one leaf. The least of them that a leaf can
//! hold is told by the pointer to it, which may be older than every record in it.

use crate::descent::check_page;
use crate::probe::Probe;
use crate::tree::Tree;
use smallvec::SmallVec;
use vaquita_format::index_page::header::is_leaf;
use vaquita_format::index_page::{SearchMode, search};
use vaquita_format::tuple::Tuple;
use vaquita_storage::buf::OptimisticPage;
use vaquita_storage::{Mtr, PageRef};

/// Levels a tree can have; more are damage.
const LEVELS_MAX: usize = 32;

impl Tree {
    /// Whether records that equal the key in all fields compared may lie in the leaf before this one, which is held and is where
    /// a `LessOrEqual` search for the key ends: a pointer on the way to it equals the key. `true` also if that cannot be told
    /// now.
    ///
    /// # Latching
    /// None: pages above that are not held are read optimistically. What they say of a leaf stays true while that is held.
    pub fn may_lie_before(&self, mtr: &Mtr<'_>, leaf: PageRef, key: &Tuple<'_>) -> bool {
        self.matched_on_the_way(mtr, leaf, key).is_none_or(|matched| matched >= key.n_cmp())
    }

    /// The most leading fields of the key that a pointer on the way to a leaf equals; `None` if a page above is not to be read,
    /// or leads elsewhere.
    fn matched_on_the_way(&self, mtr: &Mtr<'_>, leaf: PageRef, key: &Tuple<'_>) -> Option<usize> {
        let pool = mtr.storage().pool();
        let probe = Probe::key(&self.index, key, SearchMode::LessOrEqual);
        let mut seen: SmallVec<[OptimisticPage<'_>; 4]> = SmallVec::new();
        let mut copy = Vec::new();
        let (mut id, mut matched) = (self.page_id(self.root), 0);
        for _ in 0..LEVELS_MAX {
            if id == mtr.id(leaf) {
                return seen.iter().all(OptimisticPage::validate).then_some(matched);
            }
            let page: &[u8] = match mtr.find(id) {
                Some(held) => mtr.page(held),
                None => {
                    let page = pool.optimistic(id)?;
                    copy.resize(page.bytes().page_len(), 0);
                    if !page.bytes().copy(0, &mut copy) || !page.validate() {
                        return None;
                    }
                    seen.push(page);
                    &copy
                }
            };
            check_page(&self.index, id, page, None).ok().filter(|()| !is_leaf(page))?;
            let found = search(page, &self.index, key, SearchMode::LessOrEqual).ok()?;
            matched = matched.max(usize::from(found.low_matched));
            id = self.page_id(probe.child_in(&self.index, page).ok()?.1);
        }
        None
    }
}
