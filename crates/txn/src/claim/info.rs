//! Locks, waits and deadlocks as plain data, and in the words of SHOW ENGINE INNODB STATUS.

use super::modes::{LockMode, RecordLockKind};
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

/// The number that tables of monitors show for a transaction: its id, or one beyond all ids, made of the number of its object,
/// while it has none.
pub(crate) fn shown_id(trx: TrxId, serial: u64) -> u64 {
    if trx.0 == 0 { (1 << 48) + serial } else { trx.0 }
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
    /// The number that tables of monitors show for its transaction.
    pub fn shown_trx(&self) -> u64 {
        shown_id(self.trx, self.serial)
    }

    /// The lock's name in information_schema.INNODB_LOCKS: transaction, space, page and heap number, or transaction and
    /// table.
    pub fn id(&self) -> String {
        let trx = self.shown_trx();
        match self.target {
            LockTarget::Table(table) => format!("{trx}:{table}"),
            LockTarget::Record { page, heap, .. } => format!("{trx}:{}:{}:{heap}", page.space, page.page_no),
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
    pub(crate) fn new(members: Vec<DeadlockMember>, victim: usize) -> Self {
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
