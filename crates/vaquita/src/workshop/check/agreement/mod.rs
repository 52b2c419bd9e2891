//! Whether the secondary indexes of a table say what its rows say.
//!
//! The newest versions count: every row that is not delete-marked has exactly one entry in each secondary index that is
//! not delete-marked, and no other entry of that index is live. Older versions have delete-marked entries only.
//! Changes that wait in the change buffer count as done.
//!
//! The check rides along the walk over the trees. For each index it sums up the hashes of all entries that follow from
//! rows and takes away those of the entries that are there: nothing is left if both sets are equal, whatever the order.
//! Memory is a few sums per index. Only when something is left, the parts of the key space that differ are looked
//! through again for the entries themselves (`explain`).
//!
//! | rule | module |
//! |---|---|
//! | what entry follows from a row: prefixes, NULLs, off-page columns | `entry` |
//! | changes in the change buffer | `buffered` |
//! | which entries are missing or too many, and why | `explain` |
//!
//! Roll pointers of the rows are judged on the way.
//!
//! # What a crash leaves
//! A statement may have changed the row and not yet all indexes. The row's transaction is active then: such
//! differences are noted, not reported.

mod buffered;
mod entry;
mod explain;

use vaquita_base::codec::get_uint;
use vaquita_base::{PageNo, SpaceId, TrxId};
use vaquita_format::index_def::IndexDef;
use vaquita_format::index_page::header;
use vaquita_format::{Corruption, fsp, ibuf};

use super::space::Described;
use super::tree::{LeafObserver, LeafRecord};
use super::undo::{RollPointers, Row, Transactions};
use crate::workshop::report::Report;
use crate::workshop::source::PageSource;
use entry::EntryPlan;

pub use buffered::Buffered;

/// Parts of the key space that are summed up apart.
const BUCKETS: usize = 1024;
/// Findings of rows kept, for each table.
const KEPT: usize = 100;

/// What is left of a set of entries.
#[derive(Debug, Clone)]
struct Tally {
    /// Entries that follow from rows.
    expected: i64,
    /// Entries that are there.
    found: i64,
    sums: Box<[u128]>,
}

impl Tally {
    fn new() -> Tally {
        Tally { expected: 0, found: 0, sums: vec![0; BUCKETS].into() }
    }

    fn expect(&mut self, entry: &[u8]) {
        let hash = entry::hash(entry);
        let sum = &mut self.sums[bucket(hash)];
        *sum = sum.wrapping_add(hash);
        self.expected += 1;
    }

    fn find(&mut self, entry: &[u8], n: i64) {
        let hash = entry::hash(entry);
        let sum = &mut self.sums[bucket(hash)];
        *sum = if n > 0 { sum.wrapping_sub(hash) } else { sum.wrapping_add(hash) };
        self.found += n;
    }

    fn agrees(&self) -> bool {
        self.expected == self.found && self.sums.iter().all(|&s| s == 0)
    }
}

fn bucket(hash: u128) -> usize {
    (hash % BUCKETS as u128) as usize
}

/// What is known of the change buffer.
#[derive(Clone, Copy)]
pub(super) enum ChangeBuffer<'a> {
    /// It is in this tablespace.
    Known(&'a Buffered, &'a dyn PageSource),
    /// It is not at hand.
    Unknown,
}

/// Compares the indexes of one table.
pub(super) struct Agreement<'a> {
    src: &'a dyn PageSource,
    space: SpaceId,
    table: &'a Described,
    /// For each secondary index how its entries follow from rows; `None` if they do not.
    plans: Vec<Option<EntryPlan>>,
    tallies: Vec<Tally>,
    /// Which tree is being walked.
    walked: usize,
    /// Rows whose entries could not be told.
    unreadable: u64,
    pointers: Option<RollPointers<'a>>,
    /// Every DB_ROW_ID ever given is below.
    row_id_bound: Option<u64>,
    findings: Vec<(PageNo, Corruption)>,
    more_findings: u64,
    buf: Vec<u8>,
}

impl<'a> Agreement<'a> {
    pub(super) fn new(
        src: &'a dyn PageSource,
        space: SpaceId,
        table: &'a Described,
        pointers: Option<RollPointers<'a>>,
        row_id_bound: Option<u64>,
    ) -> Agreement<'a> {
        let (clustered, others) = table.indexes.split_first().map_or((None, &[][..]), |(c, o)| (Some(c), o));
        let plan = |def: &IndexDef| EntryPlan::new(&clustered?.def, def, def.n_fields());
        Agreement {
            src,
            space,
            table,
            plans: others.iter().map(|i| plan(&i.def)).collect(),
            tallies: vec![Tally::new(); others.len()],
            walked: 0,
            unreadable: 0,
            pointers,
            row_id_bound,
            findings: Vec::new(),
            more_findings: 0,
            buf: Vec::new(),
        }
    }

    /// The next tree to be walked.
    pub(super) fn begin(&mut self, index: usize) {
        self.walked = index;
    }

    fn row(&mut self, record: &LeafRecord<'_>) {
        let Some(clustered) = self.table.indexes.first() else { return };
        let row = Row {
            def: &clustered.def,
            table: self.table.id,
            page: record.page,
            rec: record.rec,
            offsets: record.offsets,
        };
        if let Some(what) = self.pointers.as_mut().and_then(|p| p.judge(&row)) {
            let name = &self.table.name;
            let detail = format!("record of {name} at {}: {}", record.rec, what.detail);
            self.finding(record.no, Corruption::new(what.check, detail));
        }
        self.row_id(&row, record);
        if record.deleted {
            return;
        }
        for (plan, tally) in self.plans.iter().zip(&mut self.tallies) {
            let Some(plan) = plan else { continue };
            if plan.derive(self.src, (record.page, record.rec, record.offsets), &mut self.buf) {
                tally.expect(&self.buf);
            } else {
                self.unreadable += 1;
            }
        }
    }

    /// The hidden key of a table without one.
    fn row_id(&mut self, row: &Row<'_>, record: &LeafRecord<'_>) {
        let Some(bound) = self.row_id_bound.filter(|_| row.def.is_generated()) else { return };
        let id = record.offsets.field(record.page, record.rec, 0).filter(|id| id.len() == 6);
        if let Some(id) = id.map(|id| get_uint(id, 0, 6)).filter(|&id| id >= bound) {
            let name = &self.table.name;
            let detail = format!("record of {name} at {}: {id}, ids end before {bound}", record.rec);
            self.finding(record.no, Corruption::new("row id", detail));
        }
    }

    fn finding(&mut self, page: PageNo, what: Corruption) {
        if self.findings.len() < KEPT {
            self.findings.push((page, what));
        } else {
            self.more_findings += 1;
        }
    }

    /// The verdict, after all trees. `sound`: all of them could be walked without a fault.
    pub(super) fn finish(
        mut self,
        sound: bool,
        buffer: ChangeBuffer<'_>,
        buffered: u64,
        report: &mut Report,
    ) {
        for (page, what) in std::mem::take(&mut self.findings) {
            report.page(page, what);
        }
        if self.more_findings > 0 {
            let detail = format!("{}: {} more faults of its rows", self.table.name, self.more_findings);
            report.whole(Corruption::new("rows", detail));
        }
        if !sound || self.tallies.is_empty() {
            return;
        }
        if self.unreadable > 0 {
            report.remark(format!(
                "{}: some off-page columns are not written yet: indexes were not compared with rows",
                self.table.name
            ));
            return;
        }
        if !self.take_buffered(buffer, buffered, report) {
            return;
        }
        for n in 0..self.tallies.len() {
            let def = &self.table.indexes[n + 1].def;
            let Some(plan) = &self.plans[n] else {
                let detail = format!("{}.{} has a column that rows do not have", self.table.name, def.name());
                report.whole(Corruption::new("secondary index", detail));
                continue;
            };
            if self.tallies[n].agrees() {
                continue;
            }
            if being_built(def) {
                let name = &self.table.name;
                report.remark(format!("{name}: index {} was being built, it is not compared", def.id()));
                continue;
            }
            let known = self.pointers.as_ref().map(RollPointers::transactions);
            self.explain(n, plan, known, buffer, report);
        }
    }

    fn explain(
        &self,
        n: usize,
        plan: &EntryPlan,
        known: Option<&Transactions>,
        buffer: ChangeBuffer<'_>,
        report: &mut Report,
    ) {
        let Some((clustered, secondary)) = self.table.indexes.first().zip(self.table.indexes.get(n + 1))
        else {
            return;
        };
        let subject = explain::Subject {
            src: self.src,
            space: self.space,
            table: &self.table.name,
            clustered,
            secondary,
            plan,
            transactions: known,
            buffer,
        };
        explain::explain(&subject, &self.tallies[n], report);
    }

    /// Counts changes in the change buffer as done; whether the indexes can be compared.
    fn take_buffered(&mut self, buffer: ChangeBuffer<'_>, buffered: u64, report: &mut Report) -> bool {
        let ChangeBuffer::Known(changes, system) = buffer else {
            if buffered > 0 {
                report.remark(format!(
                    "{}: {buffered} pages have changes in a change buffer that is not here: indexes were not compared \
                     with rows",
                    self.table.name
                ));
            }
            return buffered == 0;
        };
        let (src, indexes, tallies) = (self.src, &self.table.indexes, &mut self.tallies);
        let mut lost: Option<PageNo> = None;
        let all = changes.for_each(system, self.space, &mut |change| {
            let Some(n) = index_of_leaf(src, change.page, indexes.iter().map(|i| &i.def)) else { return };
            let Some(tally) = n.checked_sub(1).and_then(|n| tallies.get_mut(n)) else { return };
            if !is_marked(src, change.page) {
                lost = Some(change.page);
            }
            match change.operation {
                ibuf::Operation::Insert => tally.find(change.entry, 1),
                ibuf::Operation::DeleteMark => tally.find(change.entry, -1),
                ibuf::Operation::Delete => {}
            }
        });
        if let Some(page) = lost {
            let detail = format!("the change buffer has changes of page {page}, its bit is not set");
            report.page(
                fsp::bitmap_page(src.page_size(), page),
                Corruption::new("change buffer bitmap", detail),
            );
        }
        if !all {
            report.remark(format!(
                "{}: the change buffer cannot be read: indexes were not compared",
                self.table.name
            ));
        }
        all
    }
}

impl LeafObserver for Agreement<'_> {
    /// The newest transaction that changed a leaf of a secondary index: who is older than that need not look at rows.
    fn leaf(&mut self, no: PageNo, page: &[u8]) {
        let Some(known) = self.pointers.as_ref().map(|p| p.transactions()) else { return };
        let (newest, bound) = (TrxId(header::max_trx_id(page)), known.bound());
        if self.walked > 0 && newest >= bound {
            let detail = format!("{newest}: every id ever given is below {bound}");
            self.finding(no, Corruption::new("newest transaction of a leaf", detail));
        }
    }

    fn record(&mut self, record: &LeafRecord<'_>) {
        let Some(n) = self.walked.checked_sub(1) else { return self.row(record) };
        let Some(index) = self.table.indexes.get(self.walked).filter(|_| !record.deleted) else { return };
        let n_fields = index.def.n_fields();
        if entry::stored(record.page, record.rec, record.offsets, 0, n_fields, &mut self.buf) {
            self.tallies[n].find(&self.buf, 1);
        }
    }
}

/// Names of indexes that are being built begin with the byte FF, which is no UTF-8.
fn being_built(def: &IndexDef) -> bool {
    def.name().starts_with(char::REPLACEMENT_CHARACTER)
}

/// Which of the indexes a page is a leaf of.
fn index_of_leaf<'d>(
    src: &dyn PageSource,
    no: PageNo,
    mut defs: impl Iterator<Item = &'d IndexDef>,
) -> Option<usize> {
    let page = src.page(no).ok()?;
    let id = header::index_id(&page);
    let used = crate::workshop::walk::is_allocated(src, no).unwrap_or(false) && header::is_leaf(&page);
    defs.position(|def| used && def.id() == id)
}

fn is_marked(src: &dyn PageSource, no: PageNo) -> bool {
    let size = src.page_size();
    src.page(fsp::bitmap_page(size, no)).is_ok_and(|bitmap| ibuf::get(size, &bitmap, no).buffered)
}
