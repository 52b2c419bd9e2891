//! Random operations on a tree and on an ordered map, which must agree.

use crate::bed::{
    Bed, KINDS, Kind, Row, contents, fields, insert, n_key, read_row, remove, row, tree_cursor,
};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::{Bound, ControlFlow};
use vaquita_base::Rng;
use vaquita_btree::{Change, Error, LOOKUP_GROUP, LatchMode, Restored, Tree};
use vaquita_format::index_def::RowFormat;
use vaquita_format::index_page::SearchMode;
use vaquita_format::tuple::Tuple;
use vaquita_storage::fsp::Reservation;

type Model = BTreeMap<Row, (Row, bool)>;

struct Run<'b> {
    bed: &'b Bed,
    tree: Tree,
    kind: Kind,
    rng: Rng,
    model: Model,
    keys: u32,
    big: usize,
}

const FORMATS: [RowFormat; 3] = [RowFormat::Redundant, RowFormat::Compact, RowFormat::Dynamic];

#[test]
fn trees_with_4k_pages_agree_with_a_map() {
    for (i, format) in FORMATS.into_iter().enumerate() {
        for kind in KINDS {
            run(4096, 44, kind, format, 100 + i as u64, 4_000);
        }
    }
}

#[test]
fn trees_with_8k_pages_agree_with_a_map() {
    for (i, format) in FORMATS.into_iter().enumerate() {
        for kind in KINDS {
            run(8192, 64, kind, format, 200 + i as u64, 3_000);
        }
    }
}

#[test]
fn trees_with_16k_pages_agree_with_a_map() {
    for (i, format) in FORMATS.into_iter().enumerate() {
        for kind in KINDS {
            run(16384, 64, kind, format, 300 + i as u64, 3_000);
        }
    }
}

fn run(page_size: usize, frames: usize, kind: Kind, format: RowFormat, seed: u64, steps: u32) {
    let bed = Bed::new(page_size, frames, seed);
    let mut run = Run {
        bed: &bed,
        tree: bed.tree(kind, format),
        kind,
        rng: Rng::new(seed),
        model: Model::new(),
        keys: 1_500,
        big: page_size * 5 / 2,
    };
    // Growing, steady, shrinking.
    for phase in [8, 4, 1] {
        for step in 0..steps / 3 {
            run.step(phase);
            if step % 400 == 399 {
                run.check();
            }
        }
    }
    run.check();
    let all: Vec<Row> = run.model.keys().cloned().collect();
    for key in all {
        assert!(remove(&bed, &run.tree, &key));
    }
    let report = bed.validate(&run.tree);
    assert_eq!((report.records, report.height, report.leaf_pages), (0, 1, 1), "{kind:?} {format:?}");
    assert_eq!((report.off_page_pages, report.leaked_pages), (0, 0), "{kind:?} {format:?}");
}

impl Run<'_> {
    fn step(&mut self, insert_weight: u64) {
        match self.rng.below(insert_weight + 9) {
            0 => self.update_in_place(),
            1 | 2 => self.update(),
            3 => self.delete_mark(),
            4 | 5 => self.remove(),
            6 => self.look_up(),
            7 => self.scan(),
            8 => self.look_up_many(),
            _ => self.insert(),
        }
    }

    fn random_row(&mut self) -> Row {
        let key = self.rng.below(self.keys.into()) as u32;
        row(self.kind, key, &mut self.rng, self.big)
    }

    fn insert(&mut self) {
        let row = self.random_row();
        let key = row[..n_key(&self.tree)].to_vec();
        let done = insert(self.bed, &self.tree, &row);
        match self.model.entry(key) {
            Entry::Occupied(_) => assert!(matches!(done, Err(Error::Duplicate)), "{done:?}"),
            Entry::Vacant(place) => {
                done.unwrap();
                place.insert((row, false));
            }
        }
    }

    fn update(&mut self) {
        let row = self.random_row();
        let n = n_key(&self.tree);
        let known = self.model.contains_key(&row[..n]);
        let key = fields(&row[..n]);
        if known {
            self.tree.free_owned(&self.bed.storage, &Tuple::new(&key), |_, _| true).unwrap();
        }
        let all = fields(&row);
        let tuple = Tuple::new(&all);
        let stored = self.tree.store(&self.bed.storage, &tuple).unwrap();
        let done = self.tree.update_record(&self.bed.storage, &tuple, &stored.record).unwrap();
        assert_eq!(done.is_some(), known);
        if known {
            self.model.insert(row[..n].to_vec(), (row, false));
        } else {
            stored.abandon(&self.tree, &self.bed.storage).unwrap();
        }
    }

    /// Sets the last field to a value of the same length.
    fn update_in_place(&mut self) {
        let row = self.random_row();
        let n = n_key(&self.tree);
        let Some((old, _)) = self.model.get_mut(&row[..n]) else { return };
        let last = old.len() - 1;
        if last < n {
            return;
        }
        let Some(value) = &mut old[last] else { return };
        value.iter_mut().for_each(|b| *b = b.wrapping_add(1));
        let key = fields(&row[..n]);
        let mut mtr = self.bed.storage.begin().unwrap();
        let position = self
            .tree
            .search(&mut mtr, &Tuple::new(&key), SearchMode::LessOrEqual, LatchMode::Exclusive)
            .unwrap();
        let change = [vaquita_format::index_page::FieldUpdate { pos: last, data: Some(value) }];
        let bits = vaquita_format::record::header::info_bits(
            mtr.page(position.page()),
            position.found().low,
            self.tree.index().layout().comp(),
        );
        self.tree
            .update_in_place(&mut mtr, position.page(), position.found().low, bits, &change, None)
            .unwrap();
        mtr.commit();
    }

    fn delete_mark(&mut self) {
        let row = self.random_row();
        let n = n_key(&self.tree);
        let Some((_, deleted)) = self.model.get_mut(&row[..n]) else { return };
        *deleted = !*deleted;
        let key = fields(&row[..n]);
        let mut mtr = self.bed.storage.begin().unwrap();
        let position = self
            .tree
            .search(&mut mtr, &Tuple::new(&key), SearchMode::LessOrEqual, LatchMode::Exclusive)
            .unwrap();
        assert_eq!(usize::from(position.found().low_matched), n);
        self.tree.set_delete_mark(&mut mtr, position.page(), position.found().low, *deleted, None).unwrap();
        mtr.commit();
    }

    fn remove(&mut self) {
        let row = self.random_row();
        let key = row[..n_key(&self.tree)].to_vec();
        let known = self.model.remove(&key).is_some();
        assert_eq!(remove(self.bed, &self.tree, &key), known);
    }

    fn look_up(&mut self) {
        let row = self.random_row();
        let key = &row[..n_key(&self.tree)];
        let found = self
            .tree
            .lookup(&self.bed.storage, &Tuple::new(&fields(key)), |r| read_row(self.bed, &self.tree, &r))
            .unwrap();
        assert_eq!(found.as_ref(), self.model.get(key));
    }

    fn look_up_many(&mut self) {
        let n_rows = self.rng.index(3 * LOOKUP_GROUP) + 1;
        let rows: Vec<Row> = (0..n_rows).map(|_| self.random_row()).collect();
        let keys: Vec<_> = rows.iter().map(|row| fields(&row[..n_key(&self.tree)])).collect();
        let tuples: Vec<_> = keys.iter().map(|key| Tuple::new(key)).collect();
        let stop = self.rng.one_in(4).then(|| self.rng.index(n_rows));
        let mut next = 0;
        let all = self.tree.lookup_many(&self.bed.storage, &tuples, |i, record| {
            assert_eq!(i, next, "in the order of the keys");
            next += 1;
            let found = record.map(|r| read_row(self.bed, &self.tree, &r));
            assert_eq!(found.as_ref(), self.model.get(&rows[i][..n_key(&self.tree)]));
            if stop == Some(i) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(all.unwrap(), stop.is_none());
        assert_eq!(next, stop.map_or(n_rows, |at| at + 1));
    }

    fn scan(&mut self) {
        let from = self.random_row();
        let key = from[..n_key(&self.tree)].to_vec();
        let keys = fields(&key);
        let tuple = Tuple::new(&keys);
        let mut cursor = tree_cursor(self.bed, &self.tree);
        let (mode, up) = match self.rng.below(4) {
            0 => (SearchMode::Less, false),
            1 => (SearchMode::LessOrEqual, false),
            2 => (SearchMode::GreaterOrEqual, true),
            _ => (SearchMode::Greater, true),
        };
        let bound = match mode {
            SearchMode::Less | SearchMode::Greater => Bound::Excluded(key.clone()),
            _ => Bound::Included(key.clone()),
        };
        let want: Vec<&(Row, bool)> = if up {
            self.model.range((bound, Bound::Unbounded)).map(|(_, v)| v).take(60).collect()
        } else {
            self.model.range((Bound::Unbounded, bound)).rev().map(|(_, v)| v).take(60).collect()
        };
        let mut more = cursor.seek(&tuple, mode).unwrap();
        for (i, want) in want.iter().enumerate() {
            assert!(more, "the scan ends at record {i}");
            let found = read_row(self.bed, &self.tree, &cursor.record().unwrap());
            assert_eq!(&&found, want, "record {i} of the scan");
            if self.rng.one_in(4) {
                cursor.store().unwrap();
                assert!(cursor.record().is_none());
                if self.rng.one_in(2) {
                    assert_eq!(cursor.restore().unwrap(), Restored::Same);
                }
            }
            more = if up { cursor.next().unwrap() } else { cursor.prev().unwrap() };
        }
        if want.len() < 60 {
            assert!(!more, "the scan goes on after the last record");
        }
    }

    fn check(&self) {
        let report = self.bed.validate(&self.tree);
        assert_eq!(report.records, self.model.len() as u64);
        assert_eq!(report.delete_marked, self.model.values().filter(|v| v.1).count() as u64);
        assert_eq!(report.leaked_pages, 0);
        assert_eq!(contents(self.bed, &self.tree), self.model);
    }
}

/// The structure paths called directly, also where the leaf alone would do.
#[test]
fn structure_changes_where_none_is_needed() {
    let bed = Bed::new(4096, 64, 5);
    let tree = bed.tree(Kind::IntKey, RowFormat::Dynamic);
    let mut rng = Rng::new(5);
    for key in 0..600u32 {
        let row = row(Kind::IntKey, key * 7 % 600, &mut rng, 0);
        let all = fields(&row);
        let key = Tuple::new(&all).compare_first(1);
        let rec = tree.record(&Tuple::new(&all)).unwrap();
        let mut mtr = bed.storage.begin().unwrap();
        let position = tree.search_path(&mut mtr, &key, Change::Insert(&rec)).unwrap();
        assert!(position.allows_structure_change());
        tree.insert_at(&mut mtr, position, &rec, Reservation::Normal).unwrap();
        mtr.commit();
        let mut mtr = bed.storage.begin().unwrap();
        let position = tree.search_path(&mut mtr, &key, Change::Update(&rec)).unwrap();
        tree.update_at(&mut mtr, position, &rec, Reservation::Normal).unwrap();
        mtr.commit();
    }
    assert_eq!(bed.validate(&tree).records, 600);
    for key in 0..600u32 {
        let row = row(Kind::IntKey, key * 11 % 600, &mut rng, 0);
        let all = fields(&row[..1]);
        let key = Tuple::new(&all);
        let mut mtr = bed.storage.begin().unwrap();
        let position = tree.search_path(&mut mtr, &key, Change::Remove).unwrap();
        tree.remove_at(&mut mtr, position).unwrap();
        mtr.commit();
    }
    let report = bed.validate(&tree);
    assert_eq!((report.records, report.height), (0, 1));
}

/// Dropping a mini-transaction in the middle of a structure change undoes it, latches and all.
#[test]
fn a_dropped_structure_change_is_undone() {
    let bed = Bed::new(4096, 64, 6);
    let tree = bed.tree(Kind::LongKey, RowFormat::Compact);
    let mut rng = Rng::new(6);
    for key in 0..200u32 {
        let row = row(Kind::LongKey, key, &mut rng, 0);
        let all = fields(&row);
        let rec = tree.record(&Tuple::new(&all)).unwrap();
        let before = bed.validate(&tree);
        for keep in [false, true] {
            let mut mtr = bed.storage.begin().unwrap();
            let position =
                tree.search_path(&mut mtr, &Tuple::new(&all).compare_first(1), Change::Insert(&rec)).unwrap();
            tree.insert_at(&mut mtr, position, &rec, Reservation::Normal).unwrap();
            if keep {
                mtr.commit();
            } else {
                drop(mtr);
                assert_eq!(bed.validate(&tree), before);
            }
        }
    }
    assert_eq!(bed.validate(&tree).records, 200);
}
