//! A file, or everything in a data folder.
//!
//! In a folder the parts are checked together: the redo log first; the system tablespace, whose dictionary describes the
//! others and whose undo logs and change buffer concern them; the tablespaces; at last the dictionary against the files.
//!
//! A folder that was not shut down cleanly is checked as recovery would make it: the changes of the log are applied in
//! memory ([`crate::workshop::recovered`]).
//!
//! What later servers made in formats of their own is a finding with the maker's name, not damage.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use vaquita_base::{PageNo, SpaceId};
use vaquita_format::fsp::SpaceHeader;
use vaquita_format::maker::Foreign;
use vaquita_format::{Corruption, fil};

use super::files::{FoundFile, check_files};
use super::outcome::Printer;
use super::redo::{LogSummary, check_log};
use super::space::{Described, SpaceSummary, SystemSummary, SystemView, UndoSpace, check_space_of};
use super::undo_space::{check_undo_space, holds_rollback_segments};
use super::words::{Tables, check_words};
use crate::workshop::catalog::Catalog;
use crate::workshop::definition::TableTexts;
use crate::workshop::dictionary::{DictTable, Dictionary};
use crate::workshop::links;
use crate::workshop::metadata::{MetadataError, MetadataFiles, TableInfo, table_of};
use crate::workshop::progress::Progress;
use crate::workshop::recovered::{PendingRedo, Recovered};
use crate::workshop::redo::foreign_log;
use crate::workshop::report::Report;
use crate::workshop::source::{PageSource, ReadError, SpaceFile};

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
pub fn check_path(path: &Path, sql: Option<&TableTexts>, out: &mut dyn Write) -> Result<bool, CheckError> {
    let unusable = |why: &str| CheckError::Path(path.to_path_buf(), why.to_owned());
    let kind = std::fs::metadata(path).map_err(|e| unusable(&e.to_string()))?;
    if kind.is_dir() {
        return FolderCheck::run(path, sql, out);
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut check = FolderCheck::new(path.parent().unwrap_or(Path::new(".")), out, name.len().max(8));
    check.sql = sql.cloned();
    if name.starts_with("ib_logfile") {
        check.log()?;
    } else {
        check.file(&FileToCheck { path: path.to_path_buf(), shown: name, name: None }, None)?;
    }
    Ok(check.faulty == 0)
}

/// A tablespace to be checked.
struct FileToCheck {
    path: PathBuf,
    /// Its path, for people.
    shown: String,
    /// `db/table`.
    name: Option<String>,
}

struct FolderCheck<'a> {
    dir: &'a Path,
    printer: Printer<'a>,
    log: Option<Rc<LogSummary>>,
    dictionary: Dictionary,
    /// What tables are that neither the dictionary nor a file describes.
    sql: Option<TableTexts>,
    checked: u32,
    faulty: u32,
}

impl<'a> FolderCheck<'a> {
    fn new(dir: &'a Path, out: &'a mut dyn Write, width: usize) -> FolderCheck<'a> {
        let dictionary = Dictionary::default();
        let printer = Printer { out, width };
        FolderCheck { dir, printer, log: None, dictionary, sql: None, checked: 0, faulty: 0 }
    }

    fn run(dir: &Path, sql: Option<&TableTexts>, out: &mut dyn Write) -> Result<bool, CheckError> {
        let unusable = |why: String| CheckError::Path(dir.to_path_buf(), why);
        let mut files = Vec::new();
        collect(dir, dir, &mut files).map_err(|e| unusable(e.to_string()))?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let system = dir.join("ibdata1");
        if files.is_empty() && !system.is_file() {
            return Err(unusable("there is no .ibd, ibdata1 or ib_logfile0 below this folder".to_owned()));
        }
        let width = files.iter().map(|f| f.shown.chars().count()).max().unwrap_or(0).clamp(10, 64);
        let mut check = FolderCheck::new(dir, out, width);
        check.sql = sql.cloned();
        check.log()?;
        if foreign_log(dir).map_err(|e| unusable(e.to_string()))?.is_some() {
            check.printer.note("the folder is another server's: the other files were not checked")?;
        } else if system.is_file() {
            check.system_and_files(&system, &files)?;
        } else {
            for file in &files {
                check.file(file, None)?;
            }
        }
        writeln!(check.printer.out, "{} checked, {} faulty", check.checked, check.faulty)?;
        Ok(check.faulty == 0)
    }

    fn count(&mut self, report: &Report) {
        self.checked += 1;
        self.faulty += u32::from(!report.is_clean());
    }

    fn log(&mut self) -> Result<(), CheckError> {
        let mut report = Report::new();
        let unusable = |e: io::Error| CheckError::Path(self.dir.to_path_buf(), e.to_string());
        let mut log = check_log(self.dir, &mut report).map_err(unusable)?;
        if let Some(log) = log.as_mut().filter(|log| !log.is_clean())
            && let Ok(system) = SpaceFile::open_with_followers(&self.dir.join("ibdata1"))
        {
            log.redo.add_doublewrite(&system);
        }
        self.log = log.map(Rc::new);
        if self.log.is_some() || !report.is_clean() {
            self.printer.log(self.log.as_deref(), &report)?;
            self.count(&report);
        }
        Ok(())
    }

    /// A folder with its system tablespace.
    fn system_and_files(&mut self, system: &Path, files: &[FileToCheck]) -> Result<(), CheckError> {
        let log = self.log.clone();
        let opened = SpaceFile::open_with_followers(system).ok();
        let src = opened.as_ref().map(|src| recovered(src, SpaceId::SYSTEM, log.as_deref()));
        let src: Option<&dyn PageSource> = src.as_ref().map(AsRef::as_ref);
        let undo_files: Vec<SpaceFile> = undo_files(self.dir);
        let undo_pages: Vec<(SpaceId, Box<dyn PageSource + '_>)> = undo_files
            .iter()
            .map(|file| (space_of(file), recovered(file, space_of(file), log.as_deref())))
            .collect();
        let undo: Vec<UndoSpace<'_>> = undo_pages
            .iter()
            .map(|(space, pages)| UndoSpace { space: *space, src: pages.as_ref() })
            .collect();
        let outside = self.undo_spaces(src, &undo_files, &undo)?;
        let settled = log.as_ref().is_none_or(|log| log.is_clean());
        let before = src.map(|src| SystemView { src, system: &outside, undo: &undo, settled });
        let file = FileToCheck { path: system.to_path_buf(), shown: "ibdata1".to_owned(), name: None };
        let summary = self.file(&file, before)?;
        if let Some(summary) = &summary {
            self.shutdown_note(summary)?;
        }
        if let Some(src) = src {
            // Its faults have been told.
            self.dictionary = Dictionary::read(src, &mut Report::new());
        }
        let system = summary.as_ref().and_then(|s| s.system.as_ref());
        let folder = src.zip(system).map(|(src, system)| SystemView { src, system, undo: &undo, settled });
        let mut found = Vec::new();
        for file in files {
            let summary = self.file(file, folder)?;
            found.push(FoundFile {
                name: file.name.clone().unwrap_or_default(),
                shown: file.shown.clone(),
                space: summary.as_ref().map(|s| s.space),
                flags: summary.and_then(|s| s.flags),
            });
        }
        let Some(folder) = folder else { return Ok(()) };
        self.words(folder, files, &found)?;
        let settled = settled && !folder.system.transactions.change_dictionary();
        self.catalog(folder.src, &found, settled)
    }

    /// The FULLTEXT indexes of all tables.
    fn words(
        &mut self,
        folder: SystemView<'_>,
        files: &[FileToCheck],
        found: &[FoundFile],
    ) -> Result<(), CheckError> {
        let log = self.log.clone();
        let files = files.iter().zip(found);
        let paths: BTreeMap<SpaceId, &Path> =
            files.filter_map(|(file, found)| Some((found.space?, &*file.path))).collect();
        // Folders may have more files than a process may have open.
        let visit = |space: SpaceId, body: &mut dyn FnMut(&dyn PageSource)| {
            if space == SpaceId::SYSTEM {
                body(folder.src);
                return Ok(true);
            }
            let Some(path) = paths.get(&space) else { return Ok(false) };
            let file = SpaceFile::open_with_followers(path)?;
            body(recovered(&file, space, log.as_deref()).as_ref());
            Ok(true)
        };
        let tables = Tables { dictionary: &self.dictionary, visit: &visit };
        let transactions = &folder.system.transactions;
        let settled = transactions.active().chain(transactions.prepared()).next().is_none();
        let mut parts = Vec::new();
        for table in self.dictionary.tables.iter().filter(|table| !table.fulltext.is_empty()) {
            // A table without its file has been told of, or is discarded.
            let has_file = table.space == SpaceId::SYSTEM || paths.contains_key(&table.space);
            if !has_file || vaquita_engine::ddl::is_temporary(&table.name) {
                continue;
            }
            let mut report = Report::new();
            let summary = check_words(&tables, table, settled, &mut report).map_err(|(space, e)| {
                let path = paths.get(&space).map_or(self.dir, |path| path);
                CheckError::Path(path.to_owned(), e.to_string())
            })?;
            parts.push((format!("words of {}", table.name), report, summary));
        }
        for (name, report, summary) in parts {
            let about = format!(
                "{} FULLTEXT indexes, {} documents, {} words of documents",
                summary.indexes, summary.documents, summary.words
            );
            self.printer.head(&name, &report, &about)?;
            self.printer.findings(&report)?;
            self.count(&report);
        }
        Ok(())
    }

    /// The undo tablespaces; what they hold.
    fn undo_spaces(
        &mut self,
        system: Option<&dyn PageSource>,
        files: &[SpaceFile],
        undo: &[UndoSpace<'_>],
    ) -> Result<SystemSummary, CheckError> {
        let mut out = SystemSummary::default();
        let Some(system) = system else { return Ok(out) };
        for (file, undo) in files.iter().zip(undo) {
            let name = file.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
            let mut report = Report::new();
            let mut progress = Progress::new(&name, u64::from(undo.src.n_pages()));
            let (summary, transactions) = check_undo_space(*undo, system, &mut report, &mut progress);
            drop(progress);
            if !holds_rollback_segments(system, undo.space) {
                report.remark("no rollback segment is in it");
            }
            out.transactions.merge(&transactions);
            self.printer.space(&name, &summary, &report)?;
            self.count(&report);
        }
        Ok(out)
    }

    fn catalog(
        &mut self,
        src: &dyn PageSource,
        files: &[FoundFile],
        settled: bool,
    ) -> Result<(), CheckError> {
        let mut report = Report::new();
        // What cannot be read of the SYS tables has been told.
        let mut damage = Report::new();
        let catalog = Catalog::read(src, &mut damage);
        if !damage.is_clean() {
            self.printer.note("the dictionary is damaged: it was not compared with the files")?;
            return Ok(());
        }
        check_files(&catalog, files, settled, &mut report);
        let about = format!("{} tables, {} foreign keys", catalog.tables.len(), catalog.foreign.len());
        self.printer.head("dictionary", &report, &about)?;
        self.printer.findings(&report)?;
        self.count(&report);
        Ok(())
    }

    /// A tablespace; `None` if it cannot be opened as one.
    fn file(
        &mut self,
        file: &FileToCheck,
        folder: Option<SystemView<'_>>,
    ) -> Result<Option<SpaceSummary>, CheckError> {
        let mut report = Report::new();
        let src = match SpaceFile::open_with_followers(&file.path) {
            Ok(src) => src,
            Err(ReadError::Io(e)) => return Err(CheckError::Path(file.path.clone(), e.to_string())),
            Err(e) => {
                report.whole(e.into_corruption());
                if self.may_be_unfinished(file, None) {
                    report.demote();
                }
                self.printer.head(&file.shown, &report, "")?;
                self.printer.findings(&report)?;
                self.count(&report);
                return Ok(None);
            }
        };
        if src.tail() != 0 {
            let detail = format!("{} bytes follow the last whole page", src.tail());
            report.whole(Corruption::new("file length", detail));
        }
        let space = space_of(&src);
        let summary = {
            let pages = recovered(&src, space, self.log.as_deref());
            let tables =
                describe(pages.as_ref(), &file.path, &self.dictionary, self.sql.as_ref(), &mut report);
            let starts: Vec<PageNo> = src.file_starts().collect();
            let mut progress = Progress::new(&file.shown, u64::from(src.n_pages()));
            let starts_file = |no| starts.contains(&no);
            check_space_of(folder, pages.as_ref(), &tables, &starts_file, &mut report, &mut progress)
        };
        if self.may_be_unfinished(file, Some(summary.space)) {
            report.demote();
        }
        if let Some(log) = &self.log
            && !log.redo.applies_to(space, src.page_size())
        {
            report.demote();
            report.remark(
                "the log has changes of compressed pages: they are not applied here, nothing is certain",
            );
        }
        self.printer.space(&file.shown, &summary, &report)?;
        self.count(&report);
        Ok(Some(summary))
    }

    /// Whether a crash explains whatever is wrong with a file: it was being made or dropped and belongs to no table, or to one that
    /// ALTER TABLE was filling, which goes when the folder is opened; or it cannot be opened and recovery makes it again.
    fn may_be_unfinished(&self, file: &FileToCheck, space: Option<SpaceId>) -> bool {
        let Some(log) = self.log.as_ref().filter(|log| !log.is_clean()) else { return false };
        // Without a dictionary nobody knows.
        let Some(name) = file.name.as_deref().filter(|_| !self.dictionary.tables.is_empty()) else {
            return false;
        };
        if vaquita_engine::ddl::is_temporary(name) {
            return true;
        }
        // No table's file holds the system tablespace: its first page is not written yet.
        let space = space.filter(|&space| space != SpaceId::SYSTEM);
        match (self.dictionary.tables.iter().find(|t| t.name == name), space) {
            (Some(table), None) => log.redo.makes(table.space),
            (None, None) => true,
            (_, Some(space)) => self.dictionary.in_space(space).next().is_none(),
        }
    }

    fn shutdown_note(&mut self, summary: &SpaceSummary) -> io::Result<()> {
        let Some(log) = &self.log else { return Ok(()) };
        let text = if !log.is_clean() {
            "the server was not shut down cleanly: the pages are checked with the changes of the log"
                .to_owned()
        } else if summary.flush_lsn != log.checkpoint {
            format!(
                "the tablespace was last shut down at LSN {}, the log ends at {}",
                summary.flush_lsn, log.end
            )
        } else {
            return Ok(());
        };
        self.printer.note(&text)
    }
}

/// The pages with the changes of the log, if there are any.
fn recovered<'s>(
    src: &'s SpaceFile,
    space: SpaceId,
    log: Option<&'s LogSummary>,
) -> Box<dyn PageSource + 's> {
    let redo: Option<&PendingRedo> = log.filter(|log| !log.is_clean()).map(|log| &log.redo);
    match redo {
        Some(redo) => Box::new(Recovered::new(src, space, redo)),
        None => Box::new(src),
    }
}

/// The tablespace in a file, as the file itself says.
fn space_of(src: &SpaceFile) -> SpaceId {
    let first = src.page(PageNo(0)).map(|page| SpaceHeader::read(&page).space).unwrap_or_default();
    match first {
        SpaceId::SYSTEM => src.page(PageNo(1)).map(|p| fil::space_id(&p)).unwrap_or_default(),
        space => space,
    }
}

/// The undo tablespaces of a folder, `undo001` and so on.
fn undo_files(dir: &Path) -> Vec<SpaceFile> {
    let paths = (1..128).map(|n| dir.join(format!("undo{n:03}"))).take_while(|p| p.is_file());
    paths.map_while(|path| SpaceFile::open(&[path]).ok()).collect()
}

/// The tables in a tablespace: as the dictionary says, else as files beside it say.
fn describe(
    src: &dyn PageSource,
    path: &Path,
    dictionary: &Dictionary,
    sql: Option<&TableTexts>,
    report: &mut Report,
) -> Vec<Described> {
    let space = src.page(PageNo(1)).map(|p| fil::space_id(&p)).unwrap_or_default();
    if space == SpaceId::SYSTEM {
        // The check of the system tablespace reads its own dictionary.
        return Vec::new();
    }
    let from_dictionary: Vec<Described> = dictionary.in_space(space).map(DictTable::described).collect();
    if !from_dictionary.is_empty() {
        return from_dictionary;
    }
    let mut files = MetadataFiles::beside(path);
    if files.frm.is_none() {
        files.sql = sql.cloned();
    }
    match table_of(src, path, &files) {
        Ok(TableInfo { frm: Some(frm), .. }) if frm.extras.descending => {
            report.whole(Foreign::new(frm.maker(), "keys in descending order").into_corruption());
            Vec::new()
        }
        Ok(table) if !table.indexes.is_empty() => vec![Described::new(table.name, table.indexes)],
        Ok(_) | Err(MetadataError::Needed) => Vec::new(),
        Err(MetadataError::Foreign(foreign)) => {
            report.whole(foreign.into_corruption());
            Vec::new()
        }
        Err(e) => {
            report.remark(e.to_string());
            Vec::new()
        }
    }
}

/// All tablespaces below a folder, those that `.isl` files lead to included.
fn collect(root: &Path, dir: &Path, files: &mut Vec<FileToCheck>) -> io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        // A link may stand for a whole database; further down links are not followed, they could lead in circles.
        let kind = if dir == root { std::fs::metadata(&path) } else { std::fs::symlink_metadata(&path) };
        if kind.is_ok_and(|k| k.is_dir()) {
            collect(root, &path, files)?;
            continue;
        }
        let relative = path.strip_prefix(root).unwrap_or(&path);
        let name = Some(relative.with_extension("").display().to_string());
        match path.extension().and_then(|e| e.to_str()) {
            Some("ibd") => {
                files.push(FileToCheck { shown: relative.display().to_string(), path: path.clone(), name });
            }
            Some("isl") => {
                let target = links::target(&path)?;
                if target.is_file() && !target.starts_with(root) {
                    files.push(FileToCheck { shown: target.display().to_string(), path: target, name });
                }
            }
            _ => {}
        }
    }
    Ok(())
}
