//! How many records a tree has, and how many different beginnings its keys have: counted where the tree is small, worked
//! out from some of its leaves where it is not.
//!
//! The number of different values of the first `k` fields is one more than the number of neighbours that differ in them.
//! Two node pointers that agree in `k` fields have between them a leaf in which nothing changes; only the other leaves are
//! looked at, some of them for each `k`, and what is found there stands for the rest. So an index of few values and one of
//! many are both told well, which leaves picked blindly do not do.
//!
//! Whoever changes the tree meanwhile makes the numbers a little older than they are. Pages that have left the tree are
//! passed over.

use crate::descent::check_page;
use crate::error::Result;
use crate::key::OwnedKey;
use crate::probe::child_no;
use crate::tree::Tree;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use vaquita_base::PageNo;
use vaquita_format::index_page;
use vaquita_format::index_page::header::{self, is_comp, is_leaf};
use vaquita_format::record::header::is_deleted;
use vaquita_format::record::{Offsets, compare_fields};
use vaquita_storage::Storage;
use vaquita_storage::fsp;

/// Pages of one level that are read at most to find the next one; of more, as many are picked.
const NODE_PAGES_MAX: usize = 64;
/// Levels a tree can have; more are damage.
const LEVELS_MAX: usize = 32;

/// What was found out about a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sample {
    /// Records that are not delete-marked.
    pub records: u64,
    /// Leaf pages.
    pub leaf_pages: u64,
    /// For each number of leading fields: how many different values they have; NULL is one of them.
    pub distinct: Vec<u64>,
    /// Leaf pages that were read.
    pub leaves_read: u64,
    /// Every leaf was read.
    pub is_exact: bool,
}

/// A page as the level above shows it.
#[derive(Debug)]
pub(crate) struct Pointer {
    page: PageNo,
    /// The least key that may be there; that of a level's first page says nothing.
    pub(crate) key: OwnedKey,
    /// The one after it in the list is its neighbour in the tree.
    is_followed: bool,
}

impl Pointer {
    /// The root, to which no page points.
    pub(crate) fn to_root(tree: &Tree) -> Pointer {
        Pointer { page: tree.root, key: OwnedKey::default(), is_followed: false }
    }
}

/// What a leaf holds, or several one after the other.
#[derive(Debug, Default)]
struct Leaf {
    records: u64,
    /// By number of leading fields that agree: neighbours.
    changes: Vec<u64>,
    /// The last record's key.
    last: OwnedKey,
}

impl Leaf {
    fn new(fields: usize) -> Leaf {
        Leaf { changes: vec![0; fields + 1], ..Leaf::default() }
    }
}

impl Tree {
    /// Looks at `leaves` leaves for each of the first `fields` fields, or at all if there are not many more.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn sample(&self, storage: &Storage, fields: usize, leaves: usize) -> Result<Sample> {
        Ok(self.sample_while(storage, fields, leaves, &mut || true)?.unwrap_or_default())
    }

    /// The same; `go_on` is asked before every leaf, while none is latched. `None`: it said no.
    ///
    /// # Errors
    /// As [`Tree::sample`].
    pub fn sample_while(
        &self,
        storage: &Storage,
        fields: usize,
        leaves: usize,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Sample>> {
        let fields = fields.min(self.index.n_uniq_in_tree());
        let (pointers, scale) = self.leaves(storage)?;
        let all = (0..pointers.len()).collect::<Vec<_>>();
        if scale <= 1.0 && pointers.len() <= leaves.max(1) * fields.max(1) {
            return self.count(storage, &pointers, fields, go_on);
        }
        let mut read = BTreeMap::new();
        let chosen = spread(&all, leaves);
        if !self.read_leaves(storage, &pointers, (&chosen, fields), &mut read, go_on)? {
            return Ok(None);
        }
        let average = |of: &[usize], read: &BTreeMap<usize, Leaf>, number: &dyn Fn(&Leaf) -> u64| {
            let sum: u64 = of.iter().filter_map(|at| read.get(at)).map(number).sum();
            sum as f64 / of.len().max(1) as f64
        };
        let leaf_pages = pointers.len() as f64 * scale;
        let records = (average(&chosen, &read, &|leaf| leaf.records) * leaf_pages).round() as u64;
        let mut distinct = Vec::with_capacity(fields);
        for k in 1..=fields {
            let mixed: Vec<usize> =
                all.iter().copied().filter(|&at| self.may_change(&pointers, at, k)).collect();
            let chosen = spread(&mixed, leaves);
            if !self.read_leaves(storage, &pointers, (&chosen, fields), &mut read, go_on)? {
                return Ok(None);
            }
            let changes = average(&chosen, &read, &|leaf| leaf.changes[..k].iter().sum());
            let found = (changes * mixed.len() as f64 * scale).round() as u64 + 1;
            distinct.push(found.min(records));
        }
        let leaves_read = read.len() as u64;
        let leaf_pages = leaf_pages.round() as u64;
        Ok(Some(Sample { records, leaf_pages, distinct, leaves_read, is_exact: false }))
    }

    /// Reads all leaves. `None`: `go_on` said no.
    fn count(
        &self,
        storage: &Storage,
        pointers: &[Pointer],
        fields: usize,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Sample>> {
        let mut all = Leaf::new(fields);
        for pointer in pointers {
            if !go_on() {
                return Ok(None);
            }
            self.read_leaf(storage, pointer.page, fields, &mut all)?;
        }
        let leaf_pages = pointers.len() as u64;
        let distinct = |k| all.changes[..k].iter().sum::<u64>() + u64::from(all.records > 0);
        Ok(Some(Sample {
            records: all.records,
            leaf_pages,
            distinct: (1..=fields).map(distinct).collect(),
            leaves_read: leaf_pages,
            is_exact: true,
        }))
    }

    /// Pages that the two segments of the tree have reserved, off-page values and free pages among them.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn reserved_pages(&self, storage: &Storage) -> Result<u64> {
        let mut pages = 0;
        for segment in [self.top_segment, self.leaf_segment] {
            let mut mtr = storage.begin_read();
            pages += fsp::segment_usage(&mut mtr, segment)?.reserved;
        }
        Ok(pages)
    }

    /// The leaves in their order, and how many of the tree's each stands for.
    fn leaves(&self, storage: &Storage) -> Result<(Vec<Pointer>, f64)> {
        let mut level = vec![Pointer::to_root(self)];
        let mut scale = 1.0;
        for _ in 0..LEVELS_MAX {
            if level.len() > NODE_PAGES_MAX && !self.is_leaf_page(storage, level[0].page)? {
                scale *= level.len() as f64 / NODE_PAGES_MAX as f64;
                let chosen = spread(&(0..level.len()).collect::<Vec<_>>(), NODE_PAGES_MAX);
                let mut at = 0..;
                level.retain(|_| at.next().is_some_and(|at| chosen.binary_search(&at).is_ok()));
                level.iter_mut().for_each(|pointer| pointer.is_followed = false);
            }
            match self.children(storage, &level)? {
                Some(children) => level = children,
                None => break,
            }
        }
        Ok((level, scale))
    }

    fn is_leaf_page(&self, storage: &Storage, page: PageNo) -> Result<bool> {
        let id = self.page_id(page);
        let page = storage.pool().get_shared(id)?;
        Ok(check_page(&self.index, id, &page, None).is_err() || is_leaf(&page))
    }

    /// The children of pages; `None` if these are leaves. Pages that are not of the tree any more are left out.
    pub(crate) fn children(&self, storage: &Storage, pages: &[Pointer]) -> Result<Option<Vec<Pointer>>> {
        let mut children = Vec::new();
        let mut offsets = Offsets::new();
        for pointer in pages {
            let id = self.page_id(pointer.page);
            let page = storage.pool().get_shared(id)?;
            if check_page(&self.index, id, &page, None).is_err() {
                continue;
            }
            if is_leaf(&page) {
                return Ok(None);
            }
            for rec in index_page::records(&page).take(usize::from(header::n_heap(&page))) {
                let rec = self.checked(id, rec)?;
                let page_no = self.checked(id, child_no(&self.index, &page, rec))?;
                self.checked(id, offsets.parse(&page, rec, self.index.layout()))?;
                let mut key = OwnedKey::default();
                key.set(&page, rec, &offsets, self.index.n_uniq_in_tree().min(offsets.n_fields()));
                children.push(Pointer { page: page_no, key, is_followed: true });
            }
            if let Some(last) = children.last_mut() {
                last.is_followed = pointer.is_followed;
            }
        }
        Ok(Some(children))
    }

    /// Whether anything may change in the first `k` fields from the beginning of a leaf to that of the next.
    fn may_change(&self, pointers: &[Pointer], at: usize, k: usize) -> bool {
        match next_of(pointers, at) {
            Some(next) if at > 0 => self.common(&pointers[at].key, next) < k,
            _ => true,
        }
    }

    /// Leading fields in which two keys agree.
    fn common(&self, a: &OwnedKey, b: &OwnedKey) -> usize {
        a.iter()
            .zip(b.iter())
            .zip(self.index.compare_plan())
            .take_while(|((a, b), cmp)| compare_fields(**cmp, a.data, b.data).is_eq())
            .count()
    }

    /// Reads those of the chosen leaves that were not read yet, as long as `go_on` says so; whether it did to the end.
    fn read_leaves(
        &self,
        storage: &Storage,
        pointers: &[Pointer],
        (chosen, fields): (&[usize], usize),
        read: &mut BTreeMap<usize, Leaf>,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<bool> {
        for &at in chosen {
            let Entry::Vacant(unread) = read.entry(at) else { continue };
            if !go_on() {
                return Ok(false);
            }
            let mut leaf = Leaf::new(fields);
            self.read_leaf(storage, pointers[at].page, fields, &mut leaf)?;
            // The next leaf's first record is not asked for: its least key stands for it.
            if let Some(next) = next_of(pointers, at).filter(|_| leaf.records > 0) {
                leaf.changes[self.common(&leaf.last, next).min(fields)] += 1;
            }
            unread.insert(leaf);
        }
        Ok(true)
    }

    /// Adds a leaf's records to what was read of those before it.
    fn read_leaf(&self, storage: &Storage, page: PageNo, fields: usize, leaf: &mut Leaf) -> Result<()> {
        let id = self.page_id(page);
        let page = storage.pool().get_shared(id)?;
        if check_page(&self.index, id, &page, Some(0)).is_err() {
            return Ok(());
        }
        let comp = is_comp(&page);
        let mut offsets = Offsets::new();
        let mut key = OwnedKey::default();
        for rec in index_page::records(&page).take(usize::from(header::n_heap(&page))) {
            let rec = self.checked(id, rec)?;
            if is_deleted(&page, rec, comp) {
                continue;
            }
            self.checked(id, offsets.parse(&page, rec, self.index.layout()))?;
            key.set(&page, rec, &offsets, fields.min(offsets.n_fields()));
            if leaf.records > 0 {
                leaf.changes[self.common(&leaf.last, &key).min(fields)] += 1;
            }
            leaf.records += 1;
            std::mem::swap(&mut leaf.last, &mut key);
        }
        Ok(())
    }
}

/// The least key of the leaf after a leaf, where it is known.
fn next_of(pointers: &[Pointer], at: usize) -> Option<&OwnedKey> {
    pointers.get(at + 1).filter(|_| pointers[at].is_followed).map(|next| &next.key)
}

/// `n` of them, as far from each other as can be; all if there are no more.
fn spread(of: &[usize], n: usize) -> Vec<usize> {
    if of.len() <= n {
        return of.to_vec();
    }
    // The middle of each of n equal parts.
    (0..n).map(|i| of[(2 * i + 1) * of.len() / (2 * n)]).collect()
}

#[cfg(test)]
mod tests {
    use super::spread;

    #[test]
    fn what_is_picked_lies_apart() {
        let all: Vec<usize> = (0..100).collect();
        assert_eq!(spread(&all, 4), [12, 37, 62, 87]);
        assert_eq!(spread(&all[..3], 4), [0, 1, 2]);
        assert!(spread(&[], 4).is_empty());
    }
}
