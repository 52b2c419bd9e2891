//! Modes and kinds of locks, and which of them exclude each other.
//!
//! Compatibility of modes, for locks of two transactions on one thing:
//!
//! | | IS | IX | S | X | AUTO-INC |
//! |---|---|---|---|---|---|
//! | **IS** | + | + | + | - | + |
//! | **IX** | + | + | - | - | + |
//! | **S** | + | - | + | - | - |
//! | **X** | - | - | - | - | - |
//! | **AUTO-INC** | + | + | - | - | - |
//!
//! Records know S and X only, and what of a record is locked decides too ([`must_wait`]): the gap before it, the
//! record, or both. Gap locks exist to keep inserts out and never exclude each other.

use vaquita_base::HeapNo;
use vaquita_btree::observer::SUPREMUM;

/// Strength of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LockMode {
    /// Intention to lock records in S mode.
    IntentionShared,
    /// Intention to lock records in X mode.
    IntentionExclusive,
    /// To read.
    Shared,
    /// To change.
    Exclusive,
    /// To draw AUTO_INCREMENT values until the end of the statement.
    AutoInc,
}

/// What a record lock covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RecordLockKind {
    /// The record, not the gap before it.
    Record,
    /// The gap before the record.
    Gap,
    /// Both.
    NextKey,
    /// The intention to insert into the gap before the record; waits for gap locks of others only.
    InsertIntention,
}

use LockMode::{AutoInc, Exclusive, IntentionExclusive, IntentionShared, Shared};

/// Per mode, the set of modes that others may hold beside it.
const COMPATIBLE: [u8; LockMode::COUNT] = [0b1_0111, 0b1_0011, 0b0_0101, 0, 0b0_0011];
/// Per mode, the set of modes that its holder need not ask for.
const COVERED: [u8; LockMode::COUNT] = [0b0_0001, 0b0_0011, 0b0_0101, 0b1_1111, 0b1_0000];

impl LockMode {
    /// Number of modes.
    pub(crate) const COUNT: usize = 5;
    /// All of them.
    pub const ALL: [LockMode; 5] = [IntentionShared, IntentionExclusive, Shared, Exclusive, AutoInc];

    /// Whether two transactions may hold the modes on one thing.
    #[inline]
    pub fn is_compatible(self, other: LockMode) -> bool {
        ModeSet(COMPATIBLE[self as usize]).has(other)
    }

    /// Whether who holds this one need not ask for `other`.
    #[inline]
    pub fn covers(self, other: LockMode) -> bool {
        ModeSet(COVERED[self as usize]).has(other)
    }

    /// Its name: `IS`, `IX`, `S`, `X`, `AUTO-INC`.
    pub fn name(self) -> &'static str {
        match self {
            IntentionShared => "IS",
            IntentionExclusive => "IX",
            Shared => "S",
            Exclusive => "X",
            AutoInc => "AUTO-INC",
        }
    }
}

/// A set of modes, in one byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ModeSet(u8);

impl ModeSet {
    #[inline]
    pub(crate) fn has(self, mode: LockMode) -> bool {
        self.0 & 1 << mode as u8 != 0
    }

    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    #[inline]
    pub(crate) fn add(&mut self, mode: LockMode) {
        self.0 |= 1 << mode as u8;
    }

    #[inline]
    pub(crate) fn remove(&mut self, mode: LockMode) {
        self.0 &= !(1 << mode as u8);
    }

    /// Whether one of the modes covers `mode`.
    #[inline]
    pub(crate) fn covers(self, mode: LockMode) -> bool {
        self.iter().any(|m| m.covers(mode))
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = LockMode> {
        LockMode::ALL.into_iter().filter(move |&m| self.has(m))
    }
}

/// Mode and kind of a record lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Claim {
    pub(crate) mode: LockMode,
    pub(crate) kind: RecordLockKind,
}

impl Claim {
    /// A claim as it is entered for a record. At the supremum there is but a gap: all but insert intentions are alike.
    #[inline]
    pub(crate) fn on(mode: LockMode, kind: RecordLockKind, heap: HeapNo) -> Claim {
        let all = heap == SUPREMUM && kind != RecordLockKind::InsertIntention;
        Claim { mode, kind: if all { RecordLockKind::NextKey } else { kind } }
    }

    #[inline]
    pub(crate) fn is_insert_intention(self) -> bool {
        self.kind == RecordLockKind::InsertIntention
    }

    /// Whether a lock of this claim keeps others from inserting before the record.
    pub(crate) fn covers_gap(self) -> bool {
        match self.kind {
            RecordLockKind::Gap | RecordLockKind::NextKey => true,
            RecordLockKind::Record | RecordLockKind::InsertIntention => false,
        }
    }

    /// Whether the holder of this one need not ask for `other` on the same record. An insert intention is asked for
    /// at each insert.
    #[inline]
    pub(crate) fn covers(self, other: Claim) -> bool {
        use RecordLockKind::{Gap, InsertIntention, NextKey, Record};
        if !self.mode.covers(other.mode) {
            return false;
        }
        match (self.kind, other.kind) {
            (InsertIntention, _) | (_, InsertIntention) => false,
            (NextKey, _) => true,
            (Record, Record) | (Gap, Gap) => true,
            _ => false,
        }
    }
}

/// Whether a request must wait for another transaction's lock, or earlier request, on the same record.
///
/// | request \ other | Record | Gap | NextKey | InsertIntention |
/// |---|---|---|---|---|
/// | Record | waits | | waits | |
/// | Gap | | | | |
/// | NextKey | waits | | waits | |
/// | InsertIntention | | waits | waits | |
///
/// "waits" if the modes are incompatible. There is no record at the supremum, so only insert intentions wait there.
#[inline]
pub(crate) fn must_wait(request: Claim, other: Claim, heap: HeapNo) -> bool {
    use RecordLockKind::{Gap, InsertIntention, Record};
    if request.mode.is_compatible(other.mode) || other.kind == InsertIntention {
        return false;
    }
    if request.kind == InsertIntention {
        return other.kind != Record;
    }
    request.kind != Gap && other.kind != Gap && heap != SUPREMUM
}
