//! Locks and waits as plain data, and in the words of SHOW ENGINE INNODB STATUS.

use super::modes::Claim;
use super::page_locks::{Granted, Owner, Request};
use super::table_locks::TableRequest;
use super::{LockMode, LockSys, RecordLockKind};
use crate::trx::TrxRef;
use std::collections::HashSet;
use std::fmt::{self, Write};
use vaquita_base::{HeapNo, IndexId, PageId, TableId, TrxId};
use vaquita_btree::observer::SUPREMUM;

/// What is locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockTarget {
    /// A table.
    Table(TableId),
    /// A record.
    Record {
        /// Its table.
        table: TableId,
        /// Its index.
        index: IndexId,
        /// Its page.
        page: PageId,
        /// Its heap number.
        heap: HeapNo,
        /// What of it.
        kind: RecordLockKind,
    },
}

/// A lock or a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LockInfo {
    /// The transaction's id, 0 if it has none.
    pub trx: TrxId,
    /// The number of its object.
    pub serial: u64,
    /// Whether it is a request that waits.
    pub waiting: bool,
    /// How strong.
    pub mode: LockMode,
    /// On what.
    pub target: LockTarget,
}

/// How names of tables and indexes are found for a report.
pub trait Names {
    /// The name of a table, as it is to be shown.
    fn table(&self, table: TableId) -> String;
    /// The name of an index of it.
    fn index(&self, table: TableId, index: IndexId) -> String;
}

/// Numbers instead of names.
#[derive(Debug, Clone, Copy, Default)]
pub struct Numbers;

impl Names for Numbers {
    fn table(&self, table: TableId) -> String {
        table.to_string()
    }

    fn index(&self, _: TableId, index: IndexId) -> String {
        index.to_string()
    }
}

impl LockInfo {
    fn of_record(
        page: PageId,
        trx: &TrxRef,
        claim: Claim,
        owner: Owner,
        heap: HeapNo,
        waiting: bool,
    ) -> Self {
        let Owner { table, index } = owner;
        let target = LockTarget::Record { table, index, page, heap, kind: claim.kind };
        LockInfo { trx: trx.id(), serial: trx.serial, waiting, mode: claim.mode, target }
    }

    pub(super) fn of_granted(page: PageId, lock: &Granted, heap: HeapNo) -> Self {
        Self::of_record(page, &lock.trx, lock.claim, lock.owner, heap, false)
    }

    pub(super) fn of_request(page: PageId, request: &Request) -> Self {
        Self::of_record(page, &request.trx, request.claim, request.owner, request.heap, true)
    }

    pub(super) fn of_table(table: TableId, trx: &TrxRef, mode: LockMode, waiting: bool) -> Self {
        let target = LockTarget::Table(table);
        LockInfo { trx: trx.id(), serial: trx.serial, waiting, mode, target }
    }

    pub(super) fn of_table_request(table: TableId, request: &TableRequest) -> Self {
        Self::of_table(table, &request.trx, request.mode, true)
    }

    /// The lock's name in information_schema.INNODB_LOCKS: transaction, space, page and heap number, or transaction and
    /// table.
    pub fn id(&self) -> String {
        match self.target {
            LockTarget::Table(table) => format!("{}:{table}", self.trx),
            LockTarget::Record { page, heap, .. } => {
                format!("{}:{}:{}:{heap}", self.trx, page.space, page.page_no)
            }
        }
    }

    /// `lock_mode` of information_schema.INNODB_LOCKS: `X`, `S,GAP`, `AUTO_INC`.
    pub fn mode_column(&self) -> String {
        use RecordLockKind::{Gap, InsertIntention};
        let mode = if self.mode == LockMode::AutoInc { "AUTO_INC" } else { self.mode.name() };
        match self.target {
            LockTarget::Record { kind: Gap | InsertIntention, heap, .. } if heap != SUPREMUM => {
                format!("{mode},GAP")
            }
            LockTarget::Record { .. } | LockTarget::Table(_) => mode.to_owned(),
        }
    }

    /// `lock_type` of information_schema.INNODB_LOCKS.
    pub fn type_column(&self) -> &'static str {
        match self.target {
            LockTarget::Table(_) => "TABLE",
            LockTarget::Record { .. } => "RECORD",
        }
    }

    /// Mode and kind in the words of the monitor, without "waiting".
    fn words(&self) -> String {
        use RecordLockKind::{Gap, InsertIntention, NextKey, Record};
        let LockTarget::Record { kind, heap, .. } = self.target else {
            return format!("lock mode {}", self.mode.name());
        };
        let mode = if self.mode == LockMode::Shared { "lock mode S" } else { "lock_mode X" };
        let kind = match (kind, heap == SUPREMUM) {
            (Record, _) => " locks rec but not gap",
            (Gap, _) => " locks gap before rec",
            (NextKey, _) => "",
            (InsertIntention, false) => " locks gap before rec insert intention",
            (InsertIntention, true) => " insert intention",
        };
        format!("{mode}{kind}")
    }

    /// The lock as a line of the monitor, and for a record a second one with its heap number.
    pub fn describe(&self, names: &dyn Names) -> String {
        let waiting = if self.waiting { " waiting" } else { "" };
        let (words, trx) = (self.words(), self.trx);
        match self.target {
            LockTarget::Table(table) => {
                format!("TABLE LOCK table {} trx id {trx} {words}{waiting}\n", names.table(table))
            }
            LockTarget::Record { table, index, page, heap, .. } => {
                let (space, page_no) = (page.space, page.page_no);
                let (table, index) = (names.table(table), names.index(table, index));
                let supremum = if heap == SUPREMUM { " supremum" } else { "" };
                format!(
                    "RECORD LOCKS space id {space} page no {page_no} index {index} of table {table} \
                     trx id {trx} {words}{waiting}\nRecord lock, heap no {heap}{supremum}\n"
                )
            }
        }
    }
}

impl fmt::Display for LockInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe(&Numbers))
    }
}

/// A transaction of a cycle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadlockMember {
    /// Its id, 0 if it has none.
    pub trx: TrxId,
    /// The number of its object.
    pub serial: u64,
    /// Its undo records.
    pub undo_records: u64,
    /// Its lock structures.
    pub lock_structs: usize,
    /// Records it has locked.
    pub record_locks: usize,
    /// The lock, or earlier request, for which the one before it in the cycle waits.
    pub holds: LockInfo,
    /// What it waits for.
    pub waits_for: LockInfo,
}

/// A cycle of waits.
#[derive(Debug, Clone)]
pub struct DeadlockReport {
    /// The report, as SHOW ENGINE INNODB STATUS shows it, with numbers for names.
    pub text: String,
    /// Each waits for the one behind it, the last one, whose wait closed the cycle, for the first.
    pub members: Vec<DeadlockMember>,
    /// Which of them is rolled back.
    pub victim: usize,
}

impl DeadlockReport {
    pub(super) fn new(members: Vec<DeadlockMember>, victim: usize) -> Self {
        let mut report = DeadlockReport { text: String::new(), members, victim };
        report.text = report.describe(&Numbers);
        report
    }

    /// The report with names.
    pub fn describe(&self, names: &dyn Names) -> String {
        let mut text = String::new();
        for (i, member) in self.members.iter().enumerate() {
            let n = i + 1;
            let DeadlockMember { trx, undo_records, lock_structs, record_locks, .. } = member;
            let _ = writeln!(text, "*** ({n}) TRANSACTION:\nTRANSACTION {trx}");
            let _ = write!(text, "LOCK WAIT {lock_structs} lock struct(s), {record_locks} row lock(s)");
            let _ = match undo_records {
                0 => writeln!(text),
                n => writeln!(text, ", undo log entries {n}"),
            };
            let _ = write!(text, "*** ({n}) HOLDS THE LOCK(S):\n{}", member.holds.describe(names));
            let waits_for = member.waits_for.describe(names);
            let _ = write!(text, "*** ({n}) WAITING FOR THIS LOCK TO BE GRANTED:\n{waits_for}");
        }
        let _ = writeln!(text, "*** WE ROLL BACK TRANSACTION ({})", self.victim + 1);
        text
    }
}

/// A lock structure: one transaction's locks of one mode and kind on a page, or its lock on a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockRow {
    /// The first of its locks.
    pub lock: LockInfo,
    /// Of a record lock all heap numbers.
    pub heaps: Vec<HeapNo>,
}

/// One transaction waits for another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitRow {
    /// The request.
    pub requested: LockInfo,
    /// What it waits for; may be a request itself.
    pub blocking: LockInfo,
}

/// All locks and waits: of each page and table as of one moment, of different ones as of different moments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LockSnapshot {
    /// Table locks by table and transaction, then record locks by page, in the order of the queues.
    pub locks: Vec<LockRow>,
    /// For information_schema.INNODB_LOCK_WAITS.
    pub waits: Vec<WaitRow>,
}

impl LockSys {
    /// All locks and waits.
    pub fn snapshot(&self) -> LockSnapshot {
        let (mut locks, mut waits) = (Vec::new(), Vec::new());
        let wait_rows = |requested: &LockInfo, blocking: Vec<(TrxRef, LockInfo)>| {
            let row = |(_, blocking)| WaitRow { requested: requested.clone(), blocking };
            blocking.into_iter().map(row).collect::<Vec<_>>()
        };
        self.tables.each(|table, queue| {
            for (trx, modes) in queue.sorted() {
                let rows = modes.iter().map(|mode| LockInfo::of_table(table, trx, mode, false));
                locks.extend(rows.map(|lock| ((0, table.get()), LockRow { lock, heaps: Vec::new() })));
            }
            for (at, request) in queue.waiting.iter().enumerate() {
                let lock = LockInfo::of_table_request(table, request);
                waits.extend(wait_rows(&lock, queue.blocking(table, at)));
                locks.push(((0, table.get()), LockRow { lock, heaps: Vec::new() }));
            }
        });
        self.pages.each(|page, queue| {
            let key = (1, page.as_u64());
            for granted in &queue.granted {
                let heaps: Vec<_> = granted.heaps.iter().collect();
                if let Some(&first) = heaps.first() {
                    locks.push((key, LockRow { lock: LockInfo::of_granted(page, granted, first), heaps }));
                }
            }
            for (at, request) in queue.waiting.iter().enumerate() {
                let lock = LockInfo::of_request(page, request);
                waits.extend(wait_rows(&lock, queue.blocking(page, at)));
                locks.push((key, LockRow { lock, heaps: vec![request.heap] }));
            }
        });
        locks.sort_by_key(|&(key, _)| key);
        waits.sort_by_key(|w| w.requested.serial);
        LockSnapshot { locks: locks.into_iter().map(|(_, row)| row).collect(), waits }
    }
}

impl LockSnapshot {
    /// The rows of information_schema.INNODB_LOCKS: what somebody waits for, and what keeps him waiting.
    pub fn contended(&self) -> Vec<&LockInfo> {
        let mut seen = HashSet::new();
        self.waits
            .iter()
            .flat_map(|w| [&w.requested, &w.blocking])
            .filter(|lock| seen.insert(*lock))
            .collect()
    }
}
