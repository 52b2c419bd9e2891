//! Which operations of the simulated disk fail, and how.
//!
//! A fault happens by chance (a rate for each kind) or by appointment (an [`Injection`]: at an operation, on a
//! path, after so many others). Appointments are asked first, in the order they were made.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use vaquita_base::Rng;

/// A misbehaviour of the disk other than losing power. The module docs of [`crate::sim`] tell what each does and
/// who must survive or report it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// A write fails; nothing or a part of it is written.
    WriteError,
    /// A write, a growth or a creation fails for lack of space; of a write, a beginning may be written.
    NoSpace,
    /// A write succeeds, at another place of the same file.
    MisdirectedWrite,
    /// A sync fails; a part of the unsynced data is durable, the rest never will be.
    SyncError,
    /// A read fails.
    ReadError,
    /// A read ends early.
    ShortRead,
    /// A bit of what is about to be read is inverted on the medium, for good.
    BitRot,
}

/// What an operation can suffer from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Class {
    Write,
    Grow,
    Sync,
    Read,
}

impl Class {
    fn faults(self) -> &'static [Fault] {
        match self {
            Class::Write => &[Fault::WriteError, Fault::NoSpace, Fault::MisdirectedWrite],
            Class::Grow => &[Fault::NoSpace],
            Class::Sync => &[Fault::SyncError],
            Class::Read => &[Fault::ReadError, Fault::ShortRead, Fault::BitRot],
        }
    }
}

/// A fault by appointment. Conditions add up; without any, the next operation that can suffer the fault does.
#[derive(Debug, Clone)]
pub struct Injection {
    fault: Fault,
    path: Option<String>,
    op: Option<u64>,
    skip: u64,
    times: u64,
}

impl Injection {
    /// Once, at the next operation.
    pub fn new(fault: Fault) -> Self {
        Self { fault, path: None, op: None, skip: 0, times: 1 }
    }

    /// Only on paths that contain `part`.
    #[must_use]
    pub fn on_path(mut self, part: impl Into<String>) -> Self {
        self.path = Some(part.into());
        self
    }

    /// Only at this operation, as counted by [`super::SimDisk::ops`] (for faults of reads,
    /// [`super::SimDisk::reads`]) right after it.
    #[must_use]
    pub fn at_op(mut self, op: u64) -> Self {
        self.op = Some(op);
        self
    }

    /// Lets the first `count` operations that fit pass.
    #[must_use]
    pub fn after(mut self, count: u64) -> Self {
        self.skip = count;
        self
    }

    /// Happens `count` times instead of once.
    #[must_use]
    pub fn times(mut self, count: u64) -> Self {
        self.times = count;
        self
    }

    /// Happens at every operation that fits.
    #[must_use]
    pub fn always(self) -> Self {
        self.times(u64::MAX)
    }

    /// Counts an operation; whether the fault happens to it.
    fn strikes(&mut self, op: u64, path: &Path) -> bool {
        let fits = self.op.is_none_or(|at| at == op)
            && self.path.as_ref().is_none_or(|part| path.to_string_lossy().contains(part));
        if !fits || self.times == 0 {
            return false;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        self.times -= 1;
        true
    }
}

/// A fault that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fired {
    /// Number of the operation (of the read, for faults of reads).
    pub op: u64,
    /// What happened.
    pub fault: Fault,
    /// To which file.
    pub path: PathBuf,
    /// Offset and length of the range: that of the operation, of a misdirected write the place it went to, of bit
    /// rot the byte.
    pub range: Option<(u64, usize)>,
}

/// Rates and appointments.
#[derive(Debug, Clone, Default)]
pub(super) struct Plan {
    pub(super) one_in: BTreeMap<Fault, u64>,
    pub(super) injections: Vec<Injection>,
}

impl Plan {
    /// The fault that happens to an operation, if any.
    pub(super) fn strike(&mut self, class: Class, op: u64, path: &Path, rng: &mut Rng) -> Option<Fault> {
        let possible = class.faults();
        let appointed = self
            .injections
            .iter_mut()
            .find_map(|i| (possible.contains(&i.fault) && i.strikes(op, path)).then_some(i.fault));
        self.injections.retain(|i| i.times > 0);
        appointed.or_else(|| {
            possible.iter().copied().find(|f| self.one_in.get(f).is_some_and(|&n| n > 0 && rng.one_in(n)))
        })
    }
}
