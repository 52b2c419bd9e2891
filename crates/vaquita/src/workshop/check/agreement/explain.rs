//! Which entries are missing or too many, and why.
//!
//! Only entries of key space parts that differ are kept, and of those only as many parts as memory allows: entries
//! that are on both sides cancel each other out while the two trees are read, what is left are the differences.

use std::collections::HashMap;

use vaquita_base::{PageNo, SpaceId, TrxId};
use vaquita_format::index_page::{self, header};
use vaquita_format::record::Offsets;
use vaquita_format::record::header::is_deleted;
use vaquita_format::{Corruption, ibuf};

use super::super::undo::{Row, Transactions};
use super::entry::{self, EntryPlan};
use super::{BUCKETS, ChangeBuffer, Tally, bucket, index_of_leaf};
use crate::workshop::metadata::TableIndex;
use crate::workshop::progress::Progress;
use crate::workshop::report::Report;
use crate::workshop::roots::root_at;
use crate::workshop::source::PageSource;
use crate::workshop::walk::for_each_leaf;

/// Entries kept at a time.
const ENTRIES_MAX: i64 = 50_000;
/// Differences told of each index.
const TOLD: usize = 20;

/// The two indexes that differ.
pub(super) struct Subject<'a> {
    pub(super) src: &'a dyn PageSource,
    pub(super) space: SpaceId,
    pub(super) table: &'a str,
    pub(super) clustered: &'a TableIndex,
    pub(super) secondary: &'a TableIndex,
    /// From row to entry.
    pub(super) plan: &'a EntryPlan,
    pub(super) transactions: Option<&'a Transactions>,
    pub(super) buffer: ChangeBuffer<'a>,
}

/// An entry that only one side has.
#[derive(Debug)]
struct Odd {
    /// Above zero: rows want it; below: it is there.
    balance: i64,
    bytes: Vec<u8>,
    /// Page and record; `None` in the change buffer.
    place: Option<(PageNo, u16)>,
    /// Of the row that wants it.
    trx_id: Option<TrxId>,
}

/// The row that has the key of an entry without a row.
#[derive(Debug, Default)]
struct Found {
    row: Option<FoundRow>,
}

#[derive(Debug)]
struct FoundRow {
    deleted: bool,
    trx_id: Option<TrxId>,
    entry: Vec<u8>,
}

/// What MySQL, and Vaquita, names a table that ALTER TABLE fills, before it takes the old one's place. A crash leaves it behind, with
/// the rows that had come over and the indexes that had been built; a row that was on its way may be in some of them.
const INTERMEDIATE: [&str; 2] = ["#sql-ib", vaquita_engine::ddl::TEMPORARY_PREFIX];

/// Tells the differences.
pub(super) fn explain(subject: &Subject<'_>, tally: &Tally, report: &mut Report) {
    let name = subject.name();
    let table = name.rsplit('/').next().unwrap_or_default();
    if INTERMEDIATE.iter().any(|prefix| table.starts_with(prefix)) {
        report.remark(format!("{name}: half-built by an ALTER TABLE that a crash ended"));
        return;
    }
    let mut search =
        Search { subject, selected: selected(tally), odd: HashMap::new(), marked: HashMap::new() };
    search.entries();
    search.buffered();
    search.rows();
    let keys = search.keys_without_row();
    let partial = (0..BUCKETS).any(|b| tally.sums[b] != 0 && !search.selected[b]);
    search.tell(&keys, partial, report);
}

/// The parts to look through: all that differ, if memory allows.
fn selected(tally: &Tally) -> Box<[bool]> {
    let each = tally.expected.max(tally.found).max(1) / BUCKETS as i64 + 1;
    let most = (ENTRIES_MAX / each).max(1) as usize;
    let mut out = vec![false; BUCKETS];
    let differing = (0..BUCKETS).filter(|&b| tally.sums[b] != 0);
    differing.take(most).for_each(|b| out[b] = true);
    out.into()
}

struct Search<'a> {
    subject: &'a Subject<'a>,
    selected: Box<[bool]>,
    odd: HashMap<u128, Odd>,
    /// Delete-marked entries.
    marked: HashMap<u128, (PageNo, u16)>,
}

/// A leaf record in a second walk.
type Leaf<'a> = (PageNo, &'a [u8], u16, &'a Offsets);

impl Search<'_> {
    /// Walks the leaves of an index; faults were found by the first walk.
    fn walk(&self, index: &TableIndex, visit: &mut dyn FnMut(Leaf<'_>)) {
        let Some(root) = root_at(self.subject.src, index.root) else { return };
        let layout = index.def.layout();
        let mut offsets = Offsets::new();
        let mut leaf = |no: PageNo, page: &[u8], _: &mut Report| {
            for rec in index_page::records(page).map_while(Result::ok) {
                if offsets.parse(page, rec, layout).is_ok() {
                    visit((no, page, rec, &offsets));
                }
            }
            Ok::<(), std::convert::Infallible>(())
        };
        let (mut report, mut progress) = (Report::new(), Progress::hidden());
        match for_each_leaf(self.subject.src, &root, layout, &mut report, &mut progress, &mut leaf) {
            Ok(()) => {}
            Err(never) => match never {},
        }
    }

    fn entries(&mut self) {
        let def = &self.subject.secondary.def;
        let (mut odd, mut marked, mut buf) = (HashMap::new(), HashMap::new(), Vec::new());
        self.walk(self.subject.secondary, &mut |(no, page, rec, offsets)| {
            if !entry::stored(page, rec, offsets, 0, def.n_fields(), &mut buf) {
                return;
            }
            let hash = entry::hash(&buf);
            if !self.selected[bucket(hash)] {
                return;
            }
            if is_deleted(page, rec, header::is_comp(page)) {
                marked.insert(hash, (no, rec));
            } else {
                add(&mut odd, hash, -1, || Odd::new(&buf, Some((no, rec)), None));
            }
        });
        (self.odd, self.marked) = (odd, marked);
    }

    fn buffered(&mut self) {
        let ChangeBuffer::Known(changes, system) = self.subject.buffer else { return };
        let (src, def) = (self.subject.src, &self.subject.secondary.def);
        let (selected, odd) = (&self.selected, &mut self.odd);
        changes.for_each(system, self.subject.space, &mut |change| {
            let hash = entry::hash(change.entry);
            let balance = match change.operation {
                ibuf::Operation::Insert => -1,
                ibuf::Operation::DeleteMark => 1,
                ibuf::Operation::Delete => return,
            };
            if selected[bucket(hash)] && index_of_leaf(src, change.page, std::iter::once(def)).is_some() {
                add(odd, hash, balance, || Odd::new(change.entry, None, None));
            }
        });
    }

    fn rows(&mut self) {
        let subject = self.subject;
        let (mut odd, mut buf) = (std::mem::take(&mut self.odd), Vec::new());
        self.walk(subject.clustered, &mut |(no, page, rec, offsets)| {
            if is_deleted(page, rec, header::is_comp(page))
                || !subject.plan.derive(subject.src, (page, rec, offsets), &mut buf)
            {
                return;
            }
            let hash = entry::hash(&buf);
            if self.selected[bucket(hash)] {
                let trx_id = subject.trx_id(page, rec, offsets);
                add(&mut odd, hash, 1, || Odd::new(&buf, Some((no, rec)), trx_id));
            }
        });
        self.odd = odd;
    }

    /// For the keys of all entries that are too many: the row with that key, if there is one.
    fn keys_without_row(&self) -> HashMap<Vec<u8>, Found> {
        let mut keys: HashMap<Vec<u8>, Found> = HashMap::new();
        let Some(to_key) = self.subject.to_key() else { return keys };
        let mut buf = Vec::new();
        for odd in self.odd.values().filter(|o| o.balance < 0) {
            to_key.derive_from_entry(&odd.bytes, &mut buf);
            keys.entry(buf.clone()).or_default();
        }
        if keys.is_empty() {
            return keys;
        }
        let (subject, n_key) = (self.subject, self.subject.clustered.def.n_uniq());
        let mut derived = Vec::new();
        self.walk(subject.clustered, &mut |(_, page, rec, offsets)| {
            if !entry::stored(page, rec, offsets, 0, n_key, &mut buf) {
                return;
            }
            let Some(found) = keys.get_mut(&buf) else { return };
            if !subject.plan.derive(subject.src, (page, rec, offsets), &mut derived) {
                derived.clear();
            }
            found.row = Some(FoundRow {
                deleted: is_deleted(page, rec, header::is_comp(page)),
                trx_id: subject.trx_id(page, rec, offsets),
                entry: derived.clone(),
            });
        });
        keys
    }

    fn tell(&self, keys: &HashMap<Vec<u8>, Found>, partial: bool, report: &mut Report) {
        let mut odd: Vec<(&u128, &Odd)> = self.odd.iter().collect();
        odd.sort_by_key(|(_, o)| (o.balance, o.place));
        let (mut told, mut more, mut explained) = (0, 0u64, 0u64);
        for (hash, odd) in odd {
            let Some((page, detail)) = self.difference(*hash, odd, keys) else {
                explained += 1;
                continue;
            };
            if told == TOLD {
                more += 1;
                continue;
            }
            told += 1;
            let what = Corruption::new("secondary index", detail);
            match page {
                Some(page) => report.page(page, what),
                None => report.whole(what),
            }
        }
        let name = self.subject.name();
        if more > 0 || partial {
            let rest = if partial { "at least " } else { "" };
            let detail = format!("{name}: {rest}{more} more entries do not agree with the rows");
            report.whole(Corruption::new("secondary index", detail));
        }
        if explained > 0 {
            report.remark(format!(
                "{name}: {explained} entries differ from rows that active transactions change"
            ));
        }
    }

    /// Place and words of a difference; `None` if an active transaction explains it.
    fn difference(
        &self,
        hash: u128,
        odd: &Odd,
        keys: &HashMap<Vec<u8>, Found>,
    ) -> Option<(Option<PageNo>, String)> {
        let subject = self.subject;
        let name = subject.name();
        let shown = |bytes: &[u8]| entry::shown(subject.secondary.def.fields(), bytes);
        let entry = shown(&odd.bytes);
        let (page, at) = match odd.place {
            Some((page, rec)) => (Some(page), format!("at {rec}")),
            None => (None, "in the change buffer".to_owned()),
        };
        if odd.balance > 0 {
            if odd.trx_id.is_some_and(|id| subject.may_be_live(id)) {
                return None;
            }
            let marked = match self.marked.get(&hash) {
                Some((no, rec)) => format!(": it is delete-marked, on page {no} at {rec}"),
                None => String::new(),
            };
            let row = if odd.place.is_some() { format!("the row {at}") } else { "a delete-mark".to_owned() };
            return Some((page, format!("{name}: {row} has no entry ({entry}){marked}")));
        }
        let mut key = Vec::new();
        let found = subject.to_key().and_then(|to_key| {
            to_key.derive_from_entry(&odd.bytes, &mut key);
            keys.get(&key)?.row.as_ref()
        });
        let why = match found {
            Some(row) if row.trx_id.is_some_and(|id| subject.may_be_live(id)) => return None,
            Some(row) if row.deleted => "its row is delete-marked".to_owned(),
            Some(row) => format!("its row says ({})", shown(&row.entry)),
            None => "there is no such row".to_owned(),
        };
        Some((page, format!("{name}: entry ({entry}) {at}: {why}")))
    }
}

impl Subject<'_> {
    fn name(&self) -> String {
        format!("{}.{}", self.table, self.secondary.def.name())
    }

    /// From entry to key.
    fn to_key(&self) -> Option<EntryPlan> {
        EntryPlan::new(&self.secondary.def, &self.clustered.def, self.clustered.def.n_uniq())
    }

    fn trx_id(&self, page: &[u8], rec: u16, offsets: &Offsets) -> Option<TrxId> {
        let row = Row { def: &self.clustered.def, table: None, page, rec, offsets };
        row.version().map(|(id, _)| id)
    }

    fn may_be_live(&self, id: TrxId) -> bool {
        self.transactions.is_some_and(|t| t.is_partial() || t.is_live(id))
    }
}

impl Odd {
    fn new(bytes: &[u8], place: Option<(PageNo, u16)>, trx_id: Option<TrxId>) -> Odd {
        Odd { balance: 0, bytes: bytes.to_vec(), place, trx_id }
    }
}

/// Adds to an entry's balance; one that is on both sides is forgotten.
fn add(odd: &mut HashMap<u128, Odd>, hash: u128, balance: i64, new: impl FnOnce() -> Odd) {
    let entry = odd.entry(hash).or_insert_with(new);
    entry.balance += balance;
    if entry.balance == 0 {
        odd.remove(&hash);
    }
}
