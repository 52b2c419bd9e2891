//! Keys that divide a tree into ranges of about the same number of leaves, for scans by several threads.

use crate::descent::check_page;
use crate::error::Result;
use crate::key::OwnedKey;
use crate::probe::child_no;
use crate::tree::Tree;
use vaquita_base::PageNo;
use vaquita_format::index_page;
use vaquita_format::index_page::header::{self, is_leaf};
use vaquita_format::record::Offsets;
use vaquita_storage::Storage;

/// Levels looked at; a level has at least twice the pages of the one above.
const LEVELS_MAX: usize = 32;

impl Tree {
    /// At most `n` keys in ascending order that divide the records into ranges of similar size: those below the first
    /// key, those from the first key on and below the second, and so on. They are node pointers of the highest level
    /// that has enough of them, and so only a hint: the tree may change while they are collected and afterwards.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn split_points(&self, storage: &Storage, n: usize) -> Result<Vec<OwnedKey>> {
        let mut pages = vec![self.root];
        let mut keys = Vec::new();
        for _ in 0..LEVELS_MAX {
            let Some((next_keys, children)) = self.pointers_of(storage, &pages)? else { break };
            keys = next_keys;
            if keys.len() >= n {
                break;
            }
            pages = children;
        }
        let n = n.min(keys.len());
        let step = |i: usize| (i + 1) * keys.len() / (n + 1);
        let mut at: Vec<usize> = (0..n).map(step).collect();
        at.dedup();
        Ok(at.into_iter().filter_map(|i| keys.get(i).cloned()).collect())
    }

    /// The keys of all pointers of these pages but the first, whose key is below all, and all children; `None` if the
    /// pages are leaves. Pages that are not of the tree any more are left out.
    fn pointers_of(
        &self,
        storage: &Storage,
        pages: &[PageNo],
    ) -> Result<Option<(Vec<OwnedKey>, Vec<PageNo>)>> {
        let (mut keys, mut children) = (Vec::new(), Vec::new());
        let mut offsets = Offsets::new();
        for &page_no in pages {
            let id = self.page_id(page_no);
            let page = storage.pool().get_shared(id)?;
            if check_page(&self.index, id, &page, None).is_err() {
                continue;
            }
            if is_leaf(&page) {
                return Ok(None);
            }
            for rec in index_page::records(&page).take(usize::from(header::n_heap(&page))) {
                let rec = self.checked(id, rec)?;
                let child = self.checked(id, child_no(&self.index, &page, rec))?;
                if !children.is_empty() {
                    self.checked(id, offsets.parse(&page, rec, self.index.layout()))?;
                    let n = self.index.n_uniq_in_tree().min(offsets.n_fields());
                    let mut key = OwnedKey::default();
                    key.set(&page, rec, &offsets, n);
                    keys.push(key);
                }
                children.push(child);
            }
        }
        Ok(Some((keys, children)))
    }
}
