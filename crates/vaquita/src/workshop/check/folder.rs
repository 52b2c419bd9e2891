//! A file, or everything in a data folder.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use vaquita_base::PageNo;

use super::redo::{LogSummary, check_log};
use super::space::{Described, SpaceSummary, SystemView, check_space_of};
use crate::workshop::dictionary::{DictTable, Dictionary};
use crate::workshop::metadata::{MetadataError, MetadataFiles, table_of};
use crate::workshop::progress::Progress;
use crate::workshop::report::Report;
use crate::workshop::source::{PageSource, ReadError, SpaceFile};

/// Findings shown of each file.
const SHOWN: usize = 50;

/// Why a check could not be run.
#[derive(Debug)]
pub enum CheckError {
    /// The path is of no use.
    Path(PathBuf, String),
    /// The output cannot be written.
    Output(io::Error),
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckError::Path(path, why) => write!(f, "{}: {why}", path.display()),
            CheckError::Output(e) => write!(f, "cannot write: {e}"),
        }
    }
}

impl std::error::Error for CheckError {}

impl From<io::Error> for CheckError {
    fn from(e: io::Error) -> Self {
        CheckError::Output(e)
    }
}

/// Checks what lies at a path and tells about it; whether nothing is wrong.
///
/// # Errors
/// If there is nothing to check at the path.
pub fn check_path(path: &Path, out: &mut dyn Write) -> Result<bool, CheckError> {
    let unusable = |why: &str| CheckError::Path(path.to_path_buf(), why.to_owned());
    let kind = std::fs::metadata(path).map_err(|e| unusable(&e.to_string()))?;
    if kind.is_dir() {
        return check_folder(path, out);
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let sound = if name.starts_with("ib_logfile") {
        let dir = path.parent().unwrap_or(Path::new("."));
        check_log_file(dir, out)?
    } else {
        check_file(path, &name, name.len(), &Dictionary::default(), None, out)?.sound
    };
    Ok(sound)
}

/// What came of one tablespace.
struct FileOutcome {
    sound: bool,
    summary: Option<SpaceSummary>,
}

fn check_file(
    path: &Path,
    shown: &str,
    width: usize,
    dictionary: &Dictionary,
    folder: Option<SystemView<'_>>,
    out: &mut dyn Write,
) -> Result<FileOutcome, CheckError> {
    let src = match SpaceFile::open_with_followers(path) {
        Ok(src) => src,
        Err(ReadError::Io(e)) => return Err(CheckError::Path(path.to_path_buf(), e.to_string())),
        Err(e) => {
            writeln!(out, "{shown:<width$} FAULTY")?;
            writeln!(out, "    {e}")?;
            return Ok(FileOutcome { sound: false, summary: None });
        }
    };
    let mut report = Report::new();
    if src.tail() != 0 {
        let detail = format!("{} bytes follow the last whole page", src.tail());
        report.whole(vaquita_format::Corruption::new("file length", detail));
    }
    let tables = describe(&src, path, dictionary, &mut report);
    let starts: Vec<PageNo> = src.file_starts().collect();
    let mut progress = Progress::new(shown, u64::from(src.n_pages()));
    let starts_file = |no| starts.contains(&no);
    let summary = check_space_of(folder, &src, &tables, &starts_file, &mut report, &mut progress);
    drop(progress);
    print_outcome((shown, width), &summary, &report, out)?;
    Ok(FileOutcome { sound: report.is_clean(), summary: Some(summary) })
}

/// The tables in a tablespace: as the dictionary says, else as files beside it say.
fn describe(src: &SpaceFile, path: &Path, dictionary: &Dictionary, report: &mut Report) -> Vec<Described> {
    let space = src.page(PageNo(1)).map(|p| vaquita_format::fil::space_id(&p)).unwrap_or_default();
    if space.get() == 0 {
        // The check of the system tablespace reads its own dictionary.
        return Vec::new();
    }
    let from_dictionary: Vec<Described> = dictionary.in_space(space).map(DictTable::described).collect();
    if !from_dictionary.is_empty() {
        return from_dictionary;
    }
    let files = MetadataFiles::beside(path);
    match table_of(src, path, &files) {
        Ok(table) if !table.indexes.is_empty() => {
            vec![Described::new(table.name, table.indexes)]
        }
        Ok(_) | Err(MetadataError::Needed) => Vec::new(),
        Err(e) => {
            report.remark(e.to_string());
            Vec::new()
        }
    }
}

fn print_outcome(
    (shown, width): (&str, usize),
    summary: &SpaceSummary,
    report: &Report,
    out: &mut dyn Write,
) -> io::Result<()> {
    let verdict = if report.is_clean() { "ok" } else { "FAULTY" };
    let trees = summary.trees.len() + summary.undescribed;
    let pages: u64 = summary.trees.iter().flat_map(|t| &t.stats.pages).sum();
    let rows: u64 = summary.trees.iter().map(|t| t.stats.records).sum();
    writeln!(
        out,
        "{shown:<width$} {verdict:<7} {:>8} pages, {:>8} in use, {trees:>3} trees of {pages} pages, {rows} records",
        summary.pages, summary.used
    )?;
    for finding in report.findings().iter().take(SHOWN) {
        writeln!(out, "    {finding}")?;
    }
    if report.count() > SHOWN as u64 {
        writeln!(out, "    ... and {} more faults", report.count() - SHOWN as u64)?;
    }
    if let Some(system) = &summary.system {
        writeln!(out, "    undo: {}", system.transactions)?;
        for note in system.transactions.notes() {
            writeln!(out, "    note: {note}")?;
        }
    }
    for remark in report.remarks() {
        writeln!(out, "    note: {remark}")?;
    }
    Ok(())
}

fn check_log_file(dir: &Path, out: &mut dyn Write) -> Result<bool, CheckError> {
    let (sound, _) = log_outcome(dir, 0, out)?;
    Ok(sound)
}

fn log_outcome(
    dir: &Path,
    width: usize,
    out: &mut dyn Write,
) -> Result<(bool, Option<LogSummary>), CheckError> {
    let mut report = Report::new();
    let log = check_log(dir, &mut report).map_err(|e| CheckError::Path(dir.to_path_buf(), e.to_string()))?;
    let verdict = if report.is_clean() { "ok" } else { "FAULTY" };
    match &log {
        Some(log) => writeln!(
            out,
            "{:<width$} {verdict:<7} {} files of {} bytes, checkpoint {}, end {}, {} mini-transactions to apply",
            "redo log", log.files, log.file_size, log.checkpoint, log.end, log.groups
        )?,
        None if report.is_clean() => return Ok((true, None)),
        None => writeln!(out, "{:<width$} {verdict}", "redo log")?,
    }
    for finding in report.findings() {
        writeln!(out, "    {finding}")?;
    }
    Ok((report.is_clean(), log))
}

fn check_folder(dir: &Path, out: &mut dyn Write) -> Result<bool, CheckError> {
    let mut files = Vec::new();
    collect(dir, &mut files).map_err(|e| CheckError::Path(dir.to_path_buf(), e.to_string()))?;
    files.sort();
    let system = dir.join("ibdata1");
    if files.is_empty() && !system.is_file() {
        let why = "there is no .ibd, ibdata1 or ib_logfile0 below this folder".to_owned();
        return Err(CheckError::Path(dir.to_path_buf(), why));
    }
    let shown = |f: &Path| f.strip_prefix(dir).unwrap_or(f).display().to_string();
    let width = files.iter().map(|f| shown(f).chars().count()).max().unwrap_or(0).clamp(8, 64);
    let (mut sound, mut checked, mut faulty) = (true, 0, 0);
    let mut count = |ok: bool| {
        checked += 1;
        faulty += u32::from(!ok);
        sound &= ok;
    };
    let (log_sound, log) = log_outcome(dir, width, out)?;
    if log.is_some() || !log_sound {
        count(log_sound);
    }
    let mut dictionary = Dictionary::default();
    let (mut system_file, mut system_summary) = (None, None);
    if system.is_file() {
        let outcome = check_file(&system, "ibdata1", width, &dictionary, None, out)?;
        count(outcome.sound);
        if let Ok(src) = SpaceFile::open_with_followers(&system) {
            // Its faults are in the outcome above.
            dictionary = Dictionary::read(&src, &mut Report::new());
            system_file = Some(src);
        }
        if let (Some(log), Some(summary)) = (&log, &outcome.summary) {
            shutdown_note(log, summary, out)?;
        }
        system_summary = outcome.summary.and_then(|s| s.system);
    }
    let folder = system_file.as_ref().zip(system_summary.as_ref());
    let folder = folder.map(|(src, system)| SystemView { src, system });
    for file in files {
        count(check_file(&file, &shown(&file), width, &dictionary, folder, out)?.sound);
    }
    writeln!(out, "{checked} checked, {faulty} faulty")?;
    Ok(sound)
}

fn shutdown_note(log: &LogSummary, summary: &SpaceSummary, out: &mut dyn Write) -> io::Result<()> {
    if !log.is_clean() {
        writeln!(
            out,
            "    note: the log holds changes that pages may lack: the server was not shut down cleanly"
        )?;
    } else if summary.flush_lsn != log.checkpoint {
        writeln!(
            out,
            "    note: the tablespace was last shut down at LSN {}, the log ends at {}",
            summary.flush_lsn, log.end
        )?;
    }
    Ok(())
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let path = entry.path();
        // Symbolic links to folders are not followed: they could lead in circles.
        if entry.file_type()?.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "ibd") {
            files.push(path);
        }
    }
    Ok(())
}
