//! Keys that divide a tree into ranges of about the same number of leaves, for scans by several threads.

use crate::error::Result;
use crate::key::OwnedKey;
use crate::sample::Pointer;
use crate::tree::Tree;
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
        let mut level = vec![Pointer::to_root(self)];
        let mut keys = Vec::new();
        for _ in 0..LEVELS_MAX {
            let Some(children) = self.children(storage, &level)? else { break };
            // The first key is below all.
            keys = children.iter().skip(1).map(|child| child.key.clone()).collect();
            if keys.len() >= n {
                break;
            }
            level = children;
        }
        let n = n.min(keys.len());
        let step = |i: usize| (i + 1) * keys.len() / (n + 1);
        let mut at: Vec<usize> = (0..n).map(step).collect();
        at.dedup();
        Ok(at.into_iter().filter_map(|i| keys.get(i).cloned()).collect())
    }
}
