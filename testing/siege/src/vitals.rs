//! What a process holds.

use crate::Failure;
use std::fs;

/// What a server holds at a moment of rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vitals {
    /// Resident memory in KiB.
    pub resident_kib: u64,
    /// Open files.
    pub files: u64,
    /// Threads.
    pub threads: u64,
    /// Sessions, the one that looks included.
    pub sessions: u64,
}

impl Vitals {
    /// Looks at a process; `sessions` come from its own count.
    ///
    /// # Errors
    /// There is no such process.
    pub fn of(pid: u32, sessions: u64) -> Result<Vitals, Failure> {
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let word = line.and_then(|line| line.split_whitespace().next()).and_then(|n| n.parse().ok());
            word.ok_or_else(|| Failure(format!("no {name} in the status of process {pid}")))
        };
        Ok(Vitals {
            resident_kib: number("VmRSS:")?,
            threads: number("Threads:")?,
            files: fs::read_dir(format!("/proc/{pid}/fd"))?.count() as u64,
            sessions,
        })
    }
}

/// More of it than this is growth, KiB: caches fill unevenly.
const RESIDENT_SLACK_KIB: u64 = 6 << 10;
/// And so much more, shared among the looks of a third: after a few rounds a server is still warming up.
const WARM_UP_KIB: u64 = 32 << 10;
/// Tables that happen to be open, threads that are about to end.
const SLACK: u64 = 12;

/// Name, reading, what it may grow by.
type Kind = (&'static str, fn(&Vitals) -> u64, u64);

/// Whether a series of looks at rest grows: its last third is above its middle third, the first one being the warm-up.
/// What grew, in words.
pub fn has_grown(curve: &[Vitals]) -> Option<String> {
    let third = curve.len() / 3;
    if third == 0 {
        return None;
    }
    let most = |part: &[Vitals], of: fn(&Vitals) -> u64| part.iter().map(of).max().unwrap_or(0);
    let (middle, last) = (&curve[third..2 * third], &curve[2 * third..]);
    let uneven = RESIDENT_SLACK_KIB + WARM_UP_KIB / third as u64 + most(middle, |v| v.resident_kib) / 20;
    let kinds: [Kind; 4] = [
        ("resident KiB", |v| v.resident_kib, uneven),
        ("open files", |v| v.files, SLACK),
        ("threads", |v| v.threads, SLACK),
        ("sessions", |v| v.sessions, 0),
    ];
    let grown = kinds.iter().filter_map(|(name, of, slack)| {
        let (before, after) = (most(middle, *of), most(last, *of));
        (after > before + slack).then(|| format!("{name} grew from {before} to {after}"))
    });
    let grown: Vec<String> = grown.collect();
    (!grown.is_empty()).then(|| grown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(resident: impl Fn(u64) -> u64, files: impl Fn(u64) -> u64) -> Vec<Vitals> {
        let at = |i| Vitals { resident_kib: resident(i), files: files(i), threads: 10, sessions: 1 };
        (0..30).map(at).collect()
    }

    #[test]
    fn growth_is_told_from_warming_up() {
        assert_eq!(has_grown(&curve(|_| 50_000, |_| 40)), None);
        assert_eq!(has_grown(&curve(|i| 50_000 + 4_000 * i.min(9), |i| 40 + i % 5)), None, "caches fill");
        let grown = has_grown(&curve(|i| 50_000 + 1_500 * i, |_| 40)).expect("1.5 MB between looks");
        assert!(grown.starts_with("resident KiB"), "{grown}");
        assert!(has_grown(&curve(|_| 50_000, |i| 40 + 2 * i)).is_some(), "two files between looks");
    }
}
