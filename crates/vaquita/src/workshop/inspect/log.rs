//! The redo log.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use vaquita_base::SpaceId;
use vaquita_format::redo_file::Checkpoint;

use super::{InspectError, fact, grouped, size_of};
use crate::workshop::redo::RedoLog;

pub(super) fn show(dir: &Path, out: &mut dyn Write) -> Result<bool, InspectError> {
    let unusable = |why: String| InspectError::Path(dir.to_path_buf(), why);
    let log = match RedoLog::open(dir).map_err(|e| unusable(e.to_string()))? {
        None => return Err(unusable("there is no ib_logfile0 here".to_owned())),
        Some(Err(e)) => return Err(unusable(e.to_string())),
        Some(Ok(log)) => log,
    };
    let io = |e: std::io::Error| unusable(e.to_string());
    writeln!(out, "redo log in {}", dir.display())?;
    let g = log.geometry();
    fact(out, "files", format!("{} of {}", g.n_files(), size_of(g.file_size())))?;
    for (n, path) in log.paths().iter().enumerate() {
        let header = log.header(n).map_err(io)?;
        let label = String::from_utf8_lossy(&header.label).trim_matches(['\0', ' ']).to_owned();
        let label = if label.is_empty() { String::new() } else { format!(", made by {label:?}") };
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        fact(out, &name, format!("data from LSN {}{label}", header.start_lsn))?;
    }
    let mut sound = true;
    for (n, checkpoint) in log.checkpoints().map_err(io)?.iter().enumerate() {
        let text = match checkpoint {
            Ok(c) => describe(c),
            Err(e) => format!("not valid: {e}"),
        };
        fact(out, &format!("checkpoint {}", n + 1), text)?;
    }
    let checkpoint = match log.checkpoint().map_err(io)? {
        Ok(checkpoint) => checkpoint,
        Err(e) => {
            fact(out, "checkpoint", format!("NONE: {e}"))?;
            return Ok(false);
        }
    };
    let (mut types, mut spaces) = (BTreeMap::<String, (u64, u64)>::new(), BTreeMap::<SpaceId, u64>::new());
    let end = log
        .scan(&checkpoint, &mut |record, _, _| {
            let entry = types.entry(format!("{:?}", record.ty)).or_default();
            entry.0 += 1;
            entry.1 += record.total_len() as u64;
            if record.ty.has_page() {
                *spaces.entry(record.page.space).or_default() += 1;
            }
        })
        .map_err(io)?;
    fact(
        out,
        "end of log",
        format!(
            "LSN {}, {} bytes after the checkpoint",
            end.lsn,
            grouped(end.lsn.get().saturating_sub(checkpoint.lsn.get()))
        ),
    )?;
    fact(out, "blocks", grouped(end.blocks))?;
    fact(out, "mini-transactions", format!("{} with {} records", grouped(end.groups), grouped(end.records)))?;
    if end.left_over > 0 {
        fact(out, "cut off", format!("{} bytes of a mini-transaction that did not end", end.left_over))?;
    }
    if let Some(e) = &end.stopped {
        fact(out, "STOPPED", e)?;
        sound = false;
    }
    if !types.is_empty() {
        writeln!(out, "\nrecords by type {:>24} {:>14}", "number", "bytes")?;
        let mut sorted: Vec<_> = types.into_iter().collect();
        sorted.sort_by_key(|(_, (n, _))| std::cmp::Reverse(*n));
        for (name, (n, bytes)) in sorted {
            writeln!(out, "  {name:<26} {:>12} {:>14}", grouped(n), grouped(bytes))?;
        }
        writeln!(out, "\nrecords by tablespace")?;
        for (space, n) in spaces {
            writeln!(out, "  {space:<26} {:>12}", grouped(n))?;
        }
    }
    Ok(sound)
}

fn describe(c: &Checkpoint) -> String {
    format!("number {}, LSN {}, offset {}", c.number, c.lsn, c.offset)
}
