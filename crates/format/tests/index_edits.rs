//! Random edits: pages stay valid, and redo makes the same bytes. Random bytes: errors, never panics.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use proptest::prelude::*;
use std::collections::BTreeMap;
use vaquita_base::{IndexId, PageId, PageNo, Rng, RollPtr, SpaceId, TrxId};
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_format::index_def::{IndexDef, IndexSpec, KeyPart, RowFormat};
use vaquita_format::index_page::edit::{self, FieldUpdate, SysFields, fits_in_place};
use vaquita_format::index_page::header::{is_comp, max_trx_id, n_recs, set_level_and_index};
use vaquita_format::index_page::logged::{self, PageLog};
use vaquita_format::index_page::{
    SearchMode, SteppedSearch, first_rec, max_insert_size, max_insert_size_after_reorganize, records, search,
    validate,
};
use vaquita_format::record::header::is_deleted;
use vaquita_format::record::{Offsets, RecSize, encode};
use vaquita_format::redo_apply::apply;
use vaquita_format::redo_rec::{self, Parsed, RecType, Record};
use vaquita_format::tuple::{Tuple, TupleField};
use vaquita_format::{Corruption, PageSize};

const PAGE: PageId = PageId::new(SpaceId(7), PageNo(300));

fn spec(row_format: RowFormat, page_size: usize) -> IndexSpec {
    let page_size = PageSize::new(page_size).unwrap();
    IndexSpec { id: IndexId(70), name: "i".into(), row_format, page_size }
}

/// A clustered and a secondary index of one table, and a plain one with a key at constant places.
fn indexes(row_format: RowFormat, page_size: usize) -> Vec<IndexDef> {
    let columns = [
        ColumnDef::int("id", 8, true).not_null(),
        ColumnDef::varchar("name", 60, Charset::UTF8),
        ColumnDef::int("n", 4, false),
        ColumnDef::varbinary("long", 600),
        ColumnDef::char("c", 5, Charset::LATIN1),
    ];
    let s = || spec(row_format, page_size);
    let clustered = IndexDef::clustered(s(), &columns, Some(&[KeyPart::whole(0)])).unwrap();
    let parts = [KeyPart::whole(2), KeyPart::prefix(1, 30)];
    let secondary = IndexDef::secondary(s(), &columns, &parts, false, &clustered).unwrap();
    let key = vec![
        ColumnDef::int("a", 4, true).not_null(),
        ColumnDef::int("b", 4, true).not_null(),
        ColumnDef::varbinary("v", 100),
    ];
    let plain = IndexDef::plain(s(), key, 2).unwrap();
    vec![clustered, secondary, plain]
}

/// Stored values of one record: random, short enough for many to fit, keys from a small range.
fn values(index: &IndexDef, rng: &mut Rng) -> Vec<Option<Vec<u8>>> {
    index
        .fields()
        .iter()
        .map(|f| {
            if f.column.is_nullable() && rng.one_in(4) {
                return None;
            }
            let len = match f.fixed_len {
                0 if f.column.is_big() && rng.one_in(3) => 100 + rng.index(200),
                0 => rng.index(20),
                fixed => fixed as usize,
            };
            let mut value = vec![b'a' + rng.below(3) as u8; len];
            if let Some(last) = value.last_mut() {
                *last = rng.below(200) as u8 & 0x7F;
            }
            Some(value)
        })
        .collect()
}

fn fields(values: &[Option<Vec<u8>>]) -> Vec<TupleField<'_>> {
    values.iter().map(|v| TupleField::nullable(v.as_deref())).collect()
}

/// A page, the log of its edits, and a copy of how it began.
struct Edited<'i> {
    index: &'i IndexDef,
    page: Vec<u8>,
    start: Vec<u8>,
    log: Vec<u8>,
}

impl<'i> Edited<'i> {
    fn new(index: &'i IndexDef) -> Self {
        let mut page = vec![0; index.page_size().logical()];
        edit::create(&mut page, index.layout().comp());
        set_level_and_index(&mut page, 0, index.id());
        Self { index, start: page.clone(), page, log: Vec::new() }
    }

    fn step(&mut self, rng: &mut Rng) {
        let n = u64::from(n_recs(&self.page));
        let all: Vec<u16> = records(&self.page).map(|r| r.unwrap()).collect();
        let any = |rng: &mut Rng| all[rng.index(all.len())];
        let mut log = PageLog::new(PAGE, &mut self.log);
        match rng.below(20) {
            _ if n == 0 => self.insert(rng),
            0..=10 => self.insert(rng),
            11..=13 => logged::delete(&mut self.page, &mut log, self.index, any(rng)).unwrap(),
            14 if rng.one_in(4) => {
                let rec = any(rng);
                logged::delete_list_from(&mut self.page, &mut log, self.index, rec).unwrap();
            }
            15 if rng.one_in(4) => {
                let rec = any(rng);
                logged::delete_list_to(&mut self.page, &mut log, self.index, rec).unwrap();
            }
            16 => logged::reorganize(&mut self.page, &mut log, self.index).unwrap(),
            17 => self.delete_mark(any(rng), rng),
            _ => self.update(any(rng), rng),
        }
    }

    fn insert(&mut self, rng: &mut Rng) {
        let values = values(self.index, rng);
        let fields = fields(&values);
        let tuple = Tuple::new(&fields);
        let n_key = self.index.n_uniq_in_tree();
        let key = tuple.compare_first(n_key);
        let mut log = PageLog::new(PAGE, &mut self.log);
        let found = search(&self.page, self.index, &key, SearchMode::LessOrEqual).unwrap();
        if usize::from(found.low_matched) >= n_key {
            return;
        }
        let mut rec = Vec::new();
        let extra = encode(self.index.layout(), &tuple, &mut rec);
        let room = max_insert_size(&self.page, 1);
        let inserted = logged::insert(&mut self.page, &mut log, self.index, found.low, &rec, extra).unwrap();
        assert!(inserted.is_some() || room < rec.len());
        if inserted.is_none() && max_insert_size_after_reorganize(&self.page, 1) >= rec.len() {
            logged::reorganize(&mut self.page, &mut log, self.index).unwrap();
            assert!(max_insert_size(&self.page, 1) >= rec.len());
        }
    }

    fn delete_mark(&mut self, rec: u16, rng: &mut Rng) {
        let mut log = PageLog::new(PAGE, &mut self.log);
        let mark = !is_deleted(&self.page, rec, is_comp(&self.page));
        if self.index.is_clustered() {
            let sys = (!rng.one_in(3)).then(|| sys_fields(rng));
            logged::set_delete_mark_clustered(&mut self.page, &mut log, self.index, rec, mark, sys).unwrap();
        } else {
            logged::set_delete_mark_secondary(&mut self.page, &mut log, rec, mark).unwrap();
            logged::raise_max_trx_id(&mut self.page, &mut log, TrxId(rng.below(1 << 48)));
        }
    }

    fn update(&mut self, rec: u16, rng: &mut Rng) {
        let mut offsets = Offsets::new();
        offsets.parse(&self.page, rec, self.index.layout()).unwrap();
        let values = values(self.index, rng);
        let first = self.index.trx_id_pos().map_or(self.index.n_uniq_in_tree(), |p| p + 2);
        let updates: Vec<FieldUpdate<'_>> = (first..values.len())
            .map(|pos| FieldUpdate { pos, data: values[pos].as_deref() })
            .filter(|u| fits_in_place(self.index.layout(), &offsets, &[*u]))
            .collect();
        let sys = self.index.is_clustered().then(|| sys_fields(rng));
        let mut log = PageLog::new(PAGE, &mut self.log);
        logged::update_in_place(&mut self.page, &mut log, self.index, rec, 0, &updates, sys).unwrap();
        offsets.parse(&self.page, rec, self.index.layout()).unwrap();
        for u in &updates {
            assert_eq!(offsets.field(&self.page, rec, u.pos), u.data);
        }
    }

    /// Applies the log to the page as it was and compares.
    fn replay(&self) {
        let mut page = self.start.clone();
        for r in parsed(&self.log) {
            apply(r.ty, r.page, r.body(&self.log), &mut page).unwrap();
        }
        assert!(page == self.page, "the replayed page differs");
    }
}

fn sys_fields(rng: &mut Rng) -> SysFields {
    SysFields { trx_id: TrxId(rng.below(1 << 48)), roll_ptr: RollPtr(rng.below(1 << 56)) }
}

/// The records of a log.
fn parsed(log: &[u8]) -> Vec<Record> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < log.len() {
        match redo_rec::parse_at(log, at).unwrap() {
            Parsed::Record(r) => {
                assert_eq!(r.page, PAGE);
                at = r.end;
                out.push(r);
            }
            Parsed::Incomplete => panic!("a record is cut off"),
        }
    }
    out
}

/// The record equal to a tuple, by a search step by step.
fn stepped(page: &[u8], index: &IndexDef, tuple: &Tuple<'_>) -> Result<Option<u16>, Corruption> {
    let mut search = SteppedSearch::begin(page, index)?;
    while search.next().is_some() {
        search.step(page, index, tuple)?;
    }
    Ok(search.equal())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn edits_keep_pages_valid_and_redo_repeats_them(seed: u64, kind in 0usize..3, format in 0usize..3, small: bool) {
        let row_format = [RowFormat::Redundant, RowFormat::Compact, RowFormat::Dynamic][format];
        let index = indexes(row_format, if small { 4096 } else { 16_384 }).swap_remove(kind);
        let mut rng = Rng::new(seed);
        let mut edited = Edited::new(&index);
        for i in 0..300 {
            edited.step(&mut rng);
            if i % 10 == 0 {
                validate(&edited.page, Some(&index)).unwrap();
            }
        }
        validate(&edited.page, Some(&index)).unwrap();
        edited.replay();
    }

    #[test]
    fn list_ends_move_to_another_page(seed: u64, kind in 0usize..3, redundant: bool) {
        let row_format = if redundant { RowFormat::Redundant } else { RowFormat::Compact };
        let index = indexes(row_format, 16_384).swap_remove(kind);
        let mut rng = Rng::new(seed);
        let mut left = Edited::new(&index);
        for _ in 0..rng.below(150) + 2 {
            left.insert(&mut rng);
        }
        left.log.clear();
        let before = left.page.clone();
        left.start = before.clone();
        let all: Vec<u16> = records(&before).map(|r| r.unwrap()).collect();
        let at = rng.index(all.len());

        let mut right = Edited::new(&index);
        let mut log = PageLog::new(PAGE, &mut right.log);
        logged::copy_list_end(&mut right.page, &mut log, &index, &before, all[at]).unwrap();
        let mut log = PageLog::new(PAGE, &mut left.log);
        logged::delete_list_from(&mut left.page, &mut log, &index, all[at]).unwrap();
        prop_assert_eq!(usize::from(n_recs(&right.page)), all.len() - at);
        prop_assert_eq!(usize::from(n_recs(&left.page)), at);
        for page in [&left, &right] {
            validate(&page.page, Some(&index)).unwrap();
            page.replay();
        }
        let size = |page: &[u8], rec| RecSize::of(page, rec, index.layout()).unwrap();
        prop_assert_eq!(size(&right.page, first_rec(&right.page).unwrap()), size(&before, all[at]));
    }

    #[test]
    fn max_trx_id_only_rises(ids in proptest::collection::vec(1u64..1000, 1..10)) {
        let index = indexes(RowFormat::Compact, 4096).swap_remove(1);
        let mut page = Edited::new(&index).page;
        let mut highest = 0;
        for id in ids {
            let mut log = Vec::new();
            logged::raise_max_trx_id(&mut page, &mut PageLog::new(PAGE, &mut log), TrxId(id));
            prop_assert_eq!(log.is_empty(), id <= highest);
            highest = highest.max(id);
            prop_assert_eq!(max_trx_id(&page), highest);
        }
    }

    /// A page keeps the order of a sorted map of keys, whatever the insert order.
    #[test]
    fn a_page_is_a_sorted_map(keys in proptest::collection::vec((0u32..50, 0u32..4, 0usize..40), 1..150), redundant: bool) {
        let row_format = if redundant { RowFormat::Redundant } else { RowFormat::Dynamic };
        let index = indexes(row_format, 16_384).swap_remove(2);
        let mut page = Edited::new(&index).page;
        let mut model = BTreeMap::new();
        let mut rec = Vec::new();
        for (a, b, len) in keys {
            let (a, b, v) = ([0, 0, 0, a as u8], [0, 0, 0, b as u8], vec![b'v'; len]);
            let fields = [TupleField::new(&a), TupleField::new(&b), TupleField::new(&v)];
            let tuple = Tuple::new(&fields);
            let found = search(&page, &index, &tuple.compare_first(2), SearchMode::LessOrEqual).unwrap();
            prop_assert_eq!(found.low_matched == 2, model.contains_key(&(a, b)));
            let equal = stepped(&page, &index, &tuple.compare_first(2)).unwrap();
            prop_assert_eq!(equal, (found.low_matched == 2).then_some(found.low));
            if found.low_matched < 2 {
                let extra = encode(index.layout(), &tuple, &mut rec);
                prop_assert!(edit::insert(&mut page, index.layout(), found.low, &rec, extra).unwrap().is_some());
                model.insert((a, b), v);
            }
        }
        let mut offsets = Offsets::new();
        let mut model = model.into_iter();
        for rec in records(&page) {
            let rec = rec.unwrap();
            offsets.parse(&page, rec, index.layout()).unwrap();
            let ((a, b), v) = model.next().unwrap();
            prop_assert_eq!(offsets.field(&page, rec, 0), Some(&a[..]));
            prop_assert_eq!(offsets.field(&page, rec, 1), Some(&b[..]));
            prop_assert_eq!(offsets.field(&page, rec, 2), Some(&v[..]));
        }
        prop_assert_eq!(model.next(), None);
    }

    /// Damage somewhere in a good page, or a page of noise: every function returns.
    #[test]
    fn damaged_pages_never_panic(seed: u64, kind in 0usize..3, redundant: bool, noise: bool, hits in 1usize..30) {
        let row_format = if redundant { RowFormat::Redundant } else { RowFormat::Compact };
        let index = indexes(row_format, 4096).swap_remove(kind);
        let mut rng = Rng::new(seed);
        let mut edited = Edited::new(&index);
        for _ in 0..60 {
            edited.step(&mut rng);
        }
        let mut page = edited.page.clone();
        if noise {
            rng.fill(&mut page[38..]);
            page[42] = if redundant { page[42] & 0x7F } else { page[42] | 0x80 };
        }
        for _ in 0..hits {
            let at = 38 + rng.index(page.len() - 46);
            page[at] = rng.below(256) as u8;
        }
        let _ = validate(&page, Some(&index));
        let _ = validate(&page, None);
        let _ = records(&page).count();
        let values = values(&index, &mut rng);
        let fields = fields(&values);
        let tuple = Tuple::new(&fields);
        for mode in [SearchMode::Less, SearchMode::LessOrEqual, SearchMode::GreaterOrEqual, SearchMode::Greater] {
            let _ = search(&page, &index, &tuple, mode);
            let _ = search(&page, &index, &tuple.compare_first(1), mode);
        }
        let _ = stepped(&page, &index, &tuple);
        let mut rec = Vec::new();
        let extra = encode(index.layout(), &tuple, &mut rec);
        let any = |rng: &mut Rng| rng.below(4200) as u16;
        let layout = index.layout();
        for at in [99, 101, 112, 116, any(&mut rng), any(&mut rng)] {
            let _ = edit::insert(&mut page.clone(), layout, at, &rec, extra);
            let _ = edit::delete(&mut page.clone(), layout, at);
            let _ = edit::delete_list_from(&mut page.clone(), layout, at);
            let _ = edit::delete_list_to(&mut page.clone(), layout, at);
            let _ = edit::set_delete_mark(&mut page.clone(), at, true);
            let updates = [FieldUpdate { pos: 0, data: None }, FieldUpdate { pos: 1, data: Some(b"xx") }];
            let _ = edit::update_in_place(&mut page.clone(), layout, at, 0, &updates);
            let _ = edit::set_sys_fields(&mut page.clone(), layout, at, 1, sys_fields(&mut rng));
            let _ = RecSize::of(&page, at, layout);
            let _ = Offsets::new().parse(&page, at, layout);
        }
        let _ = edit::reorganize(&mut page.clone(), layout);
        // Good records on a bad page, and damaged records.
        for r in parsed(&edited.log) {
            let _ = apply(r.ty, PAGE, r.body(&edited.log), &mut page.clone());
            let mut body = r.body(&edited.log).to_vec();
            if !body.is_empty() {
                let at = rng.index(body.len());
                body[at] = rng.below(256) as u8;
            }
            let _ = apply(r.ty, PAGE, &body, &mut page);
        }
    }

    #[test]
    fn random_bodies_never_panic(ty in 0..RecType::ALL.len(), body in proptest::collection::vec(any::<u8>(), 0..80)) {
        let index = indexes(RowFormat::Compact, 4096).swap_remove(2);
        let mut page = Edited::new(&index).page;
        let ty = RecType::ALL[ty];
        let _ = apply(ty, PAGE, &body, &mut page);
        let mut with_index = index.redo_description().to_vec();
        with_index.extend_from_slice(&body);
        let _ = apply(ty, PAGE, &with_index, &mut page);
    }
}
