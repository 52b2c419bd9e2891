//! What opening a folder found and did.

use vaquita_base::Lsn;

/// What recovery found and did.
#[derive(Debug, Clone, Default)]
pub struct RecoveryReport {
    /// The checkpoint it started from.
    pub checkpoint: Lsn,
    /// The end of the log.
    pub end: Lsn,
    /// Bytes of redo scanned.
    pub redo_bytes: u64,
    /// Records kept.
    pub records: u64,
    /// Pages that were changed.
    pub pages: usize,
    /// Pages repaired from the doublewrite area.
    pub torn_pages_repaired: usize,
    /// Rounds of applying; more than one when the redo outgrew the memory for it.
    pub rounds: usize,
    /// Damage that `force_recovery` let pass, in words.
    pub tolerated: Vec<String>,
}

/// What opening a folder found.
#[derive(Debug, Clone, Default)]
pub struct OpenReport {
    /// The folder was new.
    pub created: bool,
    /// Number and size of the log files before, if they have been replaced.
    pub log_replaced: Option<(u32, u64)>,
    /// Another server made it, and it has not been taken over: it is open for reading only.
    pub foreign: bool,
    /// Another server made it; this opening has taken it over.
    pub taken_over: bool,
    /// What recovery did; `None` when there was nothing to recover.
    pub recovery: Option<RecoveryReport>,
}

impl OpenReport {
    /// What there is to tell, a line each: for logs.
    pub fn lines(&self) -> Vec<String> {
        let Some(done) = &self.recovery else { return Vec::new() };
        let mut lines = vec![format!(
            "recovery: {} bytes of redo from LSN {} to {} applied: {} records on {} pages; {} torn pages repaired",
            done.redo_bytes, done.checkpoint, done.end, done.records, done.pages, done.torn_pages_repaired
        )];
        lines.extend(done.tolerated.iter().map(|damage| format!("recovery: tolerated: {damage}")));
        lines
    }
}
