//! What the undo logs tell of transactions: who is active or prepared, and where each log lies.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use vaquita_base::{PageNo, SpaceId, TableId, TrxId};
use vaquita_format::trx_sys::N_RSEGS;
use vaquita_format::undo::{LOG_HEADER_SIZE, LOG_HEADER_XID_SIZE, SegmentState, UndoKind, Xid};

use super::segment::{Log, UndoSegment};

/// A transaction that has not ended.
#[derive(Debug, Clone)]
struct Live {
    state: SegmentState,
    rseg: usize,
    /// Undo records: changes that would be taken back.
    records: u64,
    xid: Option<String>,
    of_dictionary: bool,
}

/// Where a log lies whose records must still be there.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogPlace {
    pub(super) space: SpaceId,
    pub(super) rseg: usize,
    pub(super) segment: u32,
    pub(super) first: PageNo,
    /// Its records on the first page.
    pub(super) start: u16,
    pub(super) end: u16,
    /// Whether purge may have cut off its beginning.
    pub(super) may_be_cut: bool,
    /// Whether the segment passed its own check.
    pub(super) sound: bool,
}

/// What the rollback segments say of the transactions of a folder.
#[derive(Debug, Clone, Default)]
pub struct Transactions {
    /// Every id ever given is below.
    pub(super) bound: TrxId,
    /// Logs on the history lists.
    pub(super) history: u64,
    /// Records of tables that the dictionary does not have, by table: only their heads could be read.
    pub(super) unknown_tables: BTreeMap<TableId, u64>,
    /// The tablespace whose rollback segments are taken in.
    space: SpaceId,
    /// Rollback segments that exist.
    rsegs: Vec<bool>,
    /// Those that were looked at: others lie in tablespaces that are not at hand.
    seen: Vec<bool>,
    /// Whether something was wrong with the undo logs.
    pub(super) damaged: bool,
    live: BTreeMap<TrxId, Live>,
    logs: HashMap<(TrxId, bool), LogPlace>,
    /// The segment of each undo page.
    pages: HashMap<(SpaceId, PageNo), u32>,
    n_segments: u32,
}

impl Transactions {
    pub(super) fn new(bound: TrxId, space: SpaceId) -> Transactions {
        let none = vec![false; N_RSEGS];
        Transactions { bound, space, rsegs: none.clone(), seen: none, ..Transactions::default() }
    }

    pub(super) fn add_rollback_segment(&mut self, slot: usize, here: bool) {
        self.rsegs[slot] = true;
        self.seen[slot] |= here;
    }

    /// Takes in what another tablespace with rollback segments holds.
    pub(in crate::workshop::check) fn merge(&mut self, other: &Transactions) {
        let first = self.n_segments;
        self.bound = self.bound.max(other.bound);
        self.history += other.history;
        self.damaged |= other.damaged;
        self.n_segments += other.n_segments;
        self.seen.resize(N_RSEGS, false);
        self.rsegs.resize(N_RSEGS, false);
        for (seen, also) in self.seen.iter_mut().zip(&other.seen) {
            *seen |= also;
        }
        for (exists, also) in self.rsegs.iter_mut().zip(&other.rsegs) {
            *exists |= also;
        }
        for (table, n) in &other.unknown_tables {
            *self.unknown_tables.entry(*table).or_default() += n;
        }
        self.pages.extend(other.pages.iter().map(|(page, segment)| (*page, segment + first)));
        let moved = |log: &LogPlace| LogPlace { segment: log.segment + first, ..*log };
        self.logs.extend(other.logs.iter().map(|(key, log)| (*key, moved(log))));
        self.live.extend(other.live.iter().map(|(id, live)| (*id, live.clone())));
    }

    /// Takes in a segment; the contradiction to those before, if there is one.
    pub(super) fn add_segment(&mut self, found: &UndoSegment) -> Result<(), String> {
        let segment = self.n_segments;
        self.n_segments += 1;
        self.pages.extend(found.pages.iter().map(|&no| ((self.space, no), segment)));
        for log in found.logs.iter().filter(|log| log.in_history) {
            self.add_log(found, log, segment);
        }
        let Some(newest) = found.logs.last().filter(|_| found.is_open()) else { return Ok(()) };
        self.add_log(found, newest, segment);
        self.add_live(found, newest)
    }

    fn add_log(&mut self, found: &UndoSegment, log: &Log, segment: u32) {
        let header_ends = |size: usize| usize::from(log.offset) + size == usize::from(log.header.start);
        let at_its_header = header_ends(LOG_HEADER_SIZE) || header_ends(LOG_HEADER_XID_SIZE);
        let place = LogPlace {
            space: self.space,
            rseg: found.rseg,
            segment,
            first: found.first,
            start: log.header.start.min(log.end),
            end: log.end,
            may_be_cut: !at_its_header || log.header.start >= log.end,
            sound: found.sound,
        };
        self.logs.insert((log.header.trx_id, found.kind == UndoKind::Insert), place);
    }

    fn add_live(&mut self, found: &UndoSegment, log: &Log) -> Result<(), String> {
        let id = log.header.trx_id;
        let new = Live {
            state: found.state,
            rseg: found.rseg,
            records: log.records,
            xid: found.xid.as_ref().map(shown_xid),
            of_dictionary: found.of_dictionary,
        };
        let Some(known) = self.live.get_mut(&id) else {
            self.live.insert(id, new);
            return Ok(());
        };
        known.records += new.records;
        known.of_dictionary |= new.of_dictionary;
        if known.state != new.state {
            return Err(format!(
                "transaction {id} is {:?} here and {:?} in its other log",
                new.state, known.state
            ));
        }
        if known.rseg != new.rseg {
            return Err(format!(
                "transaction {id} has logs in rollback segments {} and {}",
                known.rseg, new.rseg
            ));
        }
        Ok(())
    }

    /// Whether a transaction has not ended, as far as is known.
    pub fn is_live(&self, id: TrxId) -> bool {
        self.live.contains_key(&id)
    }

    /// Transactions that are active: they would be rolled back.
    pub fn active(&self) -> impl Iterator<Item = TrxId> {
        self.live.iter().filter(|(_, t)| t.state == SegmentState::Active).map(|(id, _)| *id)
    }

    /// Transactions that are prepared: they wait for a decision.
    pub fn prepared(&self) -> impl Iterator<Item = TrxId> {
        self.live.iter().filter(|(_, t)| t.state == SegmentState::Prepared).map(|(id, _)| *id)
    }

    /// Whether a transaction that has not ended changes the dictionary.
    pub fn change_dictionary(&self) -> bool {
        self.live.values().any(|t| t.of_dictionary)
    }

    /// Committed logs that wait for purge.
    pub fn history(&self) -> u64 {
        self.history
    }

    /// Whether not all of this is known: some rollback segments lie in tablespaces that were not looked at, or are
    /// damaged.
    pub fn is_partial(&self) -> bool {
        self.damaged || self.rsegs.iter().zip(&self.seen).any(|(exists, seen)| *exists && !seen)
    }

    /// Every transaction id ever given is below this.
    pub fn bound(&self) -> TrxId {
        self.bound
    }

    pub(super) fn has_rollback_segment(&self, slot: u8) -> bool {
        self.rsegs.get(usize::from(slot)).copied().unwrap_or(false)
    }

    pub(super) fn log(&self, id: TrxId, insert: bool) -> Option<&LogPlace> {
        self.logs.get(&(id, insert))
    }

    pub(super) fn segment_of(&self, space: SpaceId, page: PageNo) -> Option<u32> {
        self.pages.get(&(space, page)).copied()
    }

    /// One line for each transaction that has not ended.
    pub fn notes(&self) -> Vec<String> {
        let note = |(id, t): (&TrxId, &Live)| {
            let state = if t.state == SegmentState::Prepared { "prepared" } else { "active" };
            let xid = t.xid.as_ref().map_or(String::new(), |xid| format!(", {xid}"));
            format!(
                "transaction {id} is {state}: {} undo records in rollback segment {}{xid}",
                t.records, t.rseg
            )
        };
        self.live.iter().map(note).collect()
    }
}

/// As XA statements have it: global part, branch part, format.
fn shown_xid(xid: &Xid) -> String {
    format!("xid '{}','{}',{}", xid.gtrid().escape_ascii(), xid.bqual().escape_ascii(), xid.format)
}

impl fmt::Display for Transactions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rsegs = self.rsegs.iter().filter(|&&r| r).count();
        write!(
            f,
            "{rsegs} rollback segments, {} undo segments of {} pages; {} transactions active, {} prepared, {} logs in \
             the history",
            self.n_segments,
            self.pages.len(),
            self.active().count(),
            self.prepared().count(),
            self.history
        )?;
        match self.unknown_tables.values().sum::<u64>() {
            0 => Ok(()),
            n => write!(f, "; {n} records of dropped tables were read in part"),
        }
    }
}
