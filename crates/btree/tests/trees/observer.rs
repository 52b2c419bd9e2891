//! An observer that keeps something by page and heap number and is told where it goes.

use crate::bed::{Bed, Kind, Row, fields, insert, n_key, read_row, remove, row, shuffle, tree_cursor};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use vaquita_base::{HeapNo, PageId, Rng};
use vaquita_btree::Observer;
use vaquita_btree::observer::Moved;
use vaquita_format::index_def::RowFormat;
use vaquita_format::tuple::Tuple;

/// The key of the record at each place.
#[derive(Debug, Default)]
struct Watch(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    current: Row,
    aside: Option<(PageId, Row)>,
    places: HashMap<(PageId, HeapNo), Row>,
}

impl State {
    fn relocate(&mut self, from: PageId, to: PageId, moved: Moved<'_>) {
        let taken: Vec<_> = moved
            .iter()
            .map(|&(old, new)| (new, self.places.remove(&(from, old)).expect("a record was there")))
            .collect();
        for (heap, key) in taken {
            assert!(self.places.insert((to, heap), key).is_none(), "{to} {heap} is taken");
        }
    }

    fn least_of(&self, page: PageId) -> Option<&Row> {
        self.places.iter().filter(|((p, _), _)| *p == page).map(|(_, key)| key).min()
    }

    fn is_empty(&self, page: PageId) -> bool {
        self.places.keys().all(|(p, _)| *p != page)
    }
}

impl Observer for Watch {
    fn reorganized(&self, page: PageId, moved: Moved<'_>) {
        self.0.lock().unwrap().relocate(page, page, moved);
    }

    fn split_right(&self, left: PageId, right: PageId, moved: Moved<'_>) {
        self.0.lock().unwrap().relocate(left, right, moved);
    }

    fn split_left(&self, left: PageId, right: PageId, first: HeapNo) {
        let state = self.0.lock().unwrap();
        assert!(state.is_empty(left));
        assert_eq!(state.places.get(&(right, first)), state.least_of(right));
    }

    fn merged(&self, left: PageId, right: PageId, left_last: HeapNo, moved: Moved<'_>) {
        let mut state = self.0.lock().unwrap();
        assert!(left_last == HeapNo(0) || state.places.contains_key(&(left, left_last)));
        state.relocate(right, left, moved);
        assert!(state.is_empty(right));
    }

    fn root_raised(&self, root: PageId, child: PageId, moved: Moved<'_>) {
        let mut state = self.0.lock().unwrap();
        state.relocate(root, child, moved);
        assert!(state.is_empty(root));
    }

    fn root_lifted(&self, root: PageId, child: PageId, moved: Moved<'_>) {
        let mut state = self.0.lock().unwrap();
        state.relocate(child, root, moved);
        assert!(state.is_empty(child));
    }

    fn discarded(&self, page: PageId, heirs: &[(PageId, HeapNo)]) {
        let state = self.0.lock().unwrap();
        assert!(state.is_empty(page) && !heirs.is_empty());
        for &(heir, next) in heirs {
            if next == HeapNo(1) {
                let before = |((p, _), key): (&(PageId, HeapNo), &Row)| *p != heir || *key < state.current;
                assert!(state.places.iter().all(before));
            } else {
                let first = state.least_of(heir);
                assert!(first > Some(&state.current));
                assert_eq!(state.places.get(&(heir, next)), first);
            }
        }
    }

    fn inserted(&self, page: PageId, rec: HeapNo, next: HeapNo) {
        let mut state = self.0.lock().unwrap();
        let key = state.current.clone();
        assert!(state.places.insert((page, rec), key).is_none());
        assert!(next == HeapNo(1) || state.places.contains_key(&(page, next)));
    }

    fn set_aside(&self, page: PageId, rec: HeapNo) {
        let mut state = self.0.lock().unwrap();
        assert!(state.aside.is_none());
        let row = state.places.remove(&(page, rec)).expect("a record was there");
        state.aside = Some((page, row));
    }

    fn put_back(&self, page: PageId, rec: HeapNo, from: PageId) {
        let mut state = self.0.lock().unwrap();
        let (aside, key) = state.aside.take().expect("something was set aside");
        assert_eq!(aside, from);
        assert!(state.places.insert((page, rec), key).is_none());
    }

    fn removing(&self, page: PageId, rec: HeapNo, next: HeapNo) {
        let mut state = self.0.lock().unwrap();
        assert!(next == HeapNo(1) || state.places.contains_key(&(page, next)));
        assert_eq!(state.places.remove(&(page, rec)).as_ref(), Some(&state.current));
    }
}

#[test]
fn records_are_followed_wherever_they_go() {
    for (kind, format) in [
        (Kind::IntKey, RowFormat::Redundant),
        (Kind::IntKey, RowFormat::Compact),
        (Kind::LongKey, RowFormat::Dynamic),
        (Kind::Nullable, RowFormat::Compact),
    ] {
        let bed = Bed::new(4096, 64, 1);
        let watch = Arc::new(Watch::default());
        let tree = bed.tree(kind, format).with_observer(watch.clone());
        let mut rng = Rng::new(1);
        let n = n_key(&tree);
        let check = || {
            let mut places = HashMap::new();
            let mut cursor = tree_cursor(&bed, &tree);
            let mut more = cursor.first().unwrap();
            while more {
                let record = cursor.record().unwrap();
                let key = read_row(&bed, &tree, &record).0[..n].to_vec();
                places.insert((record.page_id, record.heap_no()), key);
                more = cursor.next().unwrap();
            }
            assert_eq!(watch.0.lock().unwrap().places, places, "{kind:?} {format:?}");
        };
        let mut keys: Vec<u32> = (0..900).collect();
        for round in 0..3 {
            match round {
                0 => shuffle(&mut rng, &mut keys),
                1 => keys.sort_unstable(),
                _ => keys.reverse(),
            }
            for (i, &key) in keys.iter().enumerate() {
                let row = row(kind, key, &mut rng, 0);
                watch.0.lock().unwrap().current = row[..n].to_vec();
                insert(&bed, &tree, &row).unwrap();
                if i % 60 == 0 {
                    check();
                }
            }
            for (i, &key) in keys.iter().enumerate().filter(|&(i, _)| i % 2 == 0) {
                let row = row(kind, key, &mut rng, 0);
                let all = fields(&row);
                assert!(tree.update(&bed.storage, &Tuple::new(&all)).unwrap().is_some());
                if i % 60 == 0 {
                    check();
                }
            }
            shuffle(&mut rng, &mut keys);
            for (i, &key) in keys.iter().enumerate() {
                let row = row(kind, key, &mut rng, 0);
                watch.0.lock().unwrap().current = row[..n].to_vec();
                assert!(remove(&bed, &tree, &row));
                if i % 60 == 0 {
                    check();
                }
            }
            check();
        }
        let stats = tree.stats();
        assert!(stats.merges.get() > 0 && stats.root_lifts.get() + stats.discards.get() > 0);
    }
}
