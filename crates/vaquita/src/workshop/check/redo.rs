//! The redo log of a data folder.

use std::io;
use std::path::Path;

use vaquita_base::Lsn;
use vaquita_format::Corruption;

use crate::workshop::recovered::PendingRedo;
use crate::workshop::redo::RedoLog;
use crate::workshop::report::Report;

/// What the log says.
#[derive(Debug)]
pub struct LogSummary {
    /// Number of files.
    pub files: u32,
    /// Bytes of each.
    pub file_size: u64,
    /// Checkpoint.
    pub checkpoint: Lsn,
    /// End of the log.
    pub end: Lsn,
    /// Mini-transactions since the checkpoint.
    pub groups: u64,
    /// What they do.
    pub redo: PendingRedo,
}

impl LogSummary {
    /// Whether nothing is left to apply.
    pub fn is_clean(&self) -> bool {
        self.groups == 0
    }
}

/// Checks the log of a folder; `None` if it has none or it is of no use.
///
/// # Errors
/// If a file cannot be read.
pub fn check_log(dir: &Path, report: &mut Report) -> io::Result<Option<LogSummary>> {
    let log = match RedoLog::open(dir)? {
        None => return Ok(None),
        Some(Err(e)) => {
            report.whole(e);
            return Ok(None);
        }
        Some(Ok(log)) => log,
    };
    for (file, path) in log.paths().iter().enumerate() {
        let header = log.header(file)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if header.group_id != 0 {
            report.whole(Corruption::new("log file header", format!("{name}: group {}", header.group_id)));
        }
        if header.start_lsn.get() % 512 != 0 {
            report.whole(Corruption::new(
                "log file header",
                format!("{name}: starts at LSN {}", header.start_lsn),
            ));
        }
    }
    let checkpoint = match log.checkpoint()? {
        Ok(checkpoint) => checkpoint,
        Err(e) => {
            report.whole(e);
            return Ok(None);
        }
    };
    let (redo, end) = PendingRedo::read(&log, &checkpoint)?;
    if end.blocks == 0 {
        let detail = format!("no valid block at the checkpoint, LSN {}", checkpoint.lsn);
        report.whole(Corruption::new("log block", detail));
    }
    if let Some(e) = end.stopped {
        report.whole(e);
    }
    Ok(Some(LogSummary {
        files: log.geometry().n_files(),
        file_size: log.geometry().file_size(),
        checkpoint: checkpoint.lsn,
        end: end.lsn,
        groups: end.groups,
        redo,
    }))
}
