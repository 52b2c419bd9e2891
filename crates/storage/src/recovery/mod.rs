//! Crash recovery: from the newest checkpoint to the end of the log.
//!
//! 1. Find the tablespaces: the system files, and every `.ibd` below the folder by the space id in its pages.
//!    All files and names are synced: what a killed process left in the cache must not be lost after it was used.
//! 2. Repair torn pages from the doublewrite area (`torn_pages`).
//! 3. Scan the log to its end for file operations: which tablespaces it drops, and where (`fates`).
//! 4. Read it again. Records go to the `redo_store` by page; file operations are repeated at once. What the log has for a
//!    tablespace before its drop is left out.
//!    Pages are read in batches by several threads, and a page's records are applied when it is read
//!    ([`crate::buf::AfterRead`]). Records that outgrow the memory limit are applied, and reading goes on.
//! 5. Files are grown to the size in their headers, where the growth was not durable.
//! 6. Everything applied is dirty like after any change; the page cleaner writes it, a checkpoint follows.
//!
//! After ARIES, redo phase only; undo is the transaction layer's.
//!
//! # Invariants
//! - I1: no record is applied to a tablespace that the log drops further on, and no file is made for it. Its file may be gone, and
//!   with it pages that were never logged ([`crate::built`]): the records do not lead to what they were made for.
//! - I2: a file that is made anew had no pages without redo: its name is durable before anybody refers to such pages.
//!
//! # Crash
//! Recovery changes files only through the flusher (doublewrite, write-ahead rule), by repairing torn pages in
//! place, which repeats what was being written, and by repeating file operations, whose records are durable. The
//! checkpoint moves only when all is applied and written, so a crash during recovery leads to the same recovery
//! again.

mod discover;
mod fates;
mod redo_store;
mod torn_pages;

pub(crate) use discover::{FoundSpace, find_table_spaces, read_space_id, sync_folders};
pub(crate) use torn_pages::repair_torn_pages;

use crate::buf::BufferPool;
use crate::error::{Error, Result};
use crate::flush::Flusher;
use crate::folders::create_dir_durably;
use crate::fsp::INITIAL_PAGES;
use crate::links::Links;
use crate::log::LogReader;
use crate::options::{ForceRecovery, Options};
use crate::report::RecoveryReport;
use crate::space::SpaceMap;
use fates::Fates;
use parking_lot::Mutex;
use redo_store::{Filling, RedoStore};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use vaquita_base::{Clock, Lsn, PageId, PageNo, SpaceId};
use vaquita_format::flags::SpaceFlags;
use vaquita_format::fsp::SpaceHeader;
use vaquita_format::redo_rec::apply::FileOp;
use vaquita_format::redo_rec::{self, Record};

/// Bytes of records kept before they are applied, at most.
const RECORD_MEMORY: usize = 96 << 20;
/// Pages one applying thread takes at a time.
const APPLY_CHUNK: usize = 64;

/// Damage that was tolerated.
#[derive(Debug, Default)]
pub(crate) struct DamageReport {
    lines: Mutex<Vec<String>>,
}

impl DamageReport {
    pub(crate) fn add(&self, line: String) {
        self.lines.lock().push(line);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.lines.lock())
    }
}

/// A mini-transaction, taken out of the reader's buffer.
struct Pending {
    start: Lsn,
    end: Lsn,
    payload: Vec<u8>,
    records: Vec<Record>,
}

/// Why filling a store stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// The store is full.
    Full,
    /// A file operation comes next, and pages are being read and written.
    FileOperation,
    /// The log is at its end.
    End,
}

/// Whose a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// There is no file.
    NoFile,
    /// None of its pages has been written.
    Unknown,
    /// The space's in question.
    This,
    /// Another space's.
    Another,
}

/// What was found beside the files that were attached.
#[derive(Debug, Default)]
pub(crate) struct Unattached {
    /// Files whose pages the pool cannot hold: compressed ones.
    pub(crate) unreadable: BTreeMap<SpaceId, PathBuf>,
    /// Links that lead nowhere: themselves and where.
    pub(crate) dangling: Vec<(PathBuf, PathBuf)>,
}

/// A running recovery.
pub(crate) struct Recovery<'a> {
    options: &'a Options,
    clock: &'a dyn Clock,
    pool: Arc<BufferPool>,
    flusher: Arc<Flusher>,
    spaces: Arc<SpaceMap>,
    /// One is filled while the other is applied.
    stores: [Arc<RedoStore>; 2],
    damage: Arc<DamageReport>,
    /// A mini-transaction that was read and not kept yet.
    pending: Option<Pending>,
    /// Spaces with redo but without a file, and where they were first met.
    missing: BTreeMap<SpaceId, Lsn>,
    found: Unattached,
    /// What becomes of tablespaces further on in the log.
    fates: Fates,
    /// Spaces whose drop was repeated.
    deleted: BTreeSet<SpaceId>,
    /// The last name of spaces that were renamed.
    renamed: BTreeMap<SpaceId, String>,
    /// Names that spaces have given up and none has taken since: links under them may be left.
    given_up: BTreeSet<String>,
    /// Spaces whose header page has redo: their size may have changed.
    resized: BTreeSet<SpaceId>,
    /// Where the log ends.
    log_end: Lsn,
    /// The share of the log that was told to be applied.
    told_percent: u64,
    /// The space of the last record that was kept.
    last_wanted: Option<SpaceId>,
    report: RecoveryReport,
}

impl<'a> Recovery<'a> {
    pub(crate) fn new(
        options: &'a Options,
        clock: &'a dyn Clock,
        (pool, flusher): (Arc<BufferPool>, Arc<Flusher>),
        spaces: Arc<SpaceMap>,
        damage: Arc<DamageReport>,
        found: Unattached,
    ) -> Self {
        // Small enough to stay in the processor's caches between scan and application, large enough that a round
        // brings several records to most pages; the rest of the pool is for the pages.
        let frames_max = (RECORD_MEMORY / pool.page_len()).min(pool.frame_count() / 6);
        let tolerate = options.force_recovery >= ForceRecovery::IGNORE_CORRUPT;
        let stores =
            [(); 2].map(|()| Arc::new(RedoStore::new(pool.clone(), frames_max, tolerate, damage.clone())));
        Self {
            options,
            clock,
            pool,
            flusher,
            spaces,
            stores,
            damage,
            pending: None,
            missing: BTreeMap::new(),
            found,
            fates: Fates::default(),
            deleted: BTreeSet::new(),
            renamed: BTreeMap::new(),
            given_up: BTreeSet::new(),
            resized: BTreeSet::new(),
            log_end: Lsn::ZERO,
            told_percent: 0,
            last_wanted: None,
            report: RecoveryReport::default(),
        }
    }

    /// Scans the log and applies it.
    pub(crate) fn run(mut self, reader: &mut LogReader) -> Result<RecoveryReport> {
        self.report.checkpoint = reader.checkpoint_lsn();
        let began = self.clock.now_us();
        let progress = &self.options.progress;
        progress.tell(&format!("recovery: reading the redo log from LSN {} on", self.report.checkpoint));
        self.fates = Fates::read(reader)?;
        self.log_end = reader.end_lsn();
        progress.tell(&format!(
            "recovery: the redo log ends at LSN {}; {} bytes were read in {} ms and are applied now",
            self.log_end,
            self.log_end.0 - self.report.checkpoint.0,
            self.ms_since(began)
        ));
        let began = self.clock.now_us();
        reader.rewind();
        let written = self.flusher.stats.pages.get();
        self.pool.set_sorted_flush_insertion(true);
        let outcome =
            self.scan_and_apply(reader).and_then(|()| self.repeat_renames()).and_then(|()| self.grow_files());
        let outcome = outcome.and_then(|()| self.remove_links());
        self.pool.set_after_read(None);
        self.pool.set_sorted_flush_insertion(false);
        outcome?;
        self.options.progress.tell(&format!("recovery: applied in {} ms", self.ms_since(began)));
        self.report.end = reader.end_lsn();
        let (lsn, page) = self.stores[0].newest().max(self.stores[1].newest());
        if lsn > self.report.end && !self.stores[0].tolerates() {
            return Err(Error::FutureLsn { page, lsn, log_end: self.report.end });
        }
        self.report.pages = self.pool.dirty_count() + (self.flusher.stats.pages.get() - written) as usize;
        self.report.redo_bytes = self.report.end.0 - self.report.checkpoint.0;
        self.report.tolerated = self.damage.take();
        Ok(self.report)
    }

    fn ms_since(&self, began: u64) -> u64 {
        (self.clock.now_us() - began) / 1_000
    }

    /// Tells how much of the log has been taken, whenever it is another tenth.
    fn tell_how_far(&mut self, at: Lsn) {
        let all = (self.log_end.0 - self.report.checkpoint.0).max(1);
        let percent = (at.0 - self.report.checkpoint.0) * 100 / all;
        if percent / 10 > self.told_percent / 10 && percent < 100 {
            self.told_percent = percent;
            self.options.progress.tell(&format!("recovery: applied up to LSN {at}, {percent} %"));
        }
    }

    /// Fills and applies stores in turn until the log ends. With several threads the next store is filled while the
    /// last one is applied.
    fn scan_and_apply(&mut self, reader: &mut LogReader) -> Result<()> {
        let mut turn = 0;
        let mut stop = self.fill(reader, turn, true)?;
        loop {
            if stop == Stop::End {
                self.check_missing()?;
            }
            let full = self.stores[turn].clone();
            let pages = full.pages();
            self.report.rounds += usize::from(!pages.is_empty());
            self.pool.set_after_read(Some(full.clone()));
            self.tell_how_far(reader.end_lsn());
            let threads = self.options.recovery_threads;
            if threads == 1 || stop == Stop::End {
                apply_pages(&self.pool, &pages, threads)?;
                full.clear();
                if stop == Stop::End {
                    return Ok(());
                }
                stop = self.fill(reader, turn, true)?;
                continue;
            }
            turn = 1 - turn;
            let (pool, next) = (self.pool.clone(), turn);
            let (applied, filled) = std::thread::scope(|scope| {
                let applying = scope.spawn(|| apply_pages(&pool, &pages, threads));
                let filled = self.fill(reader, next, false);
                (applying.join(), filled)
            });
            applied.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            full.clear();
            stop = match filled? {
                Stop::FileOperation => self.fill(reader, turn, true)?,
                other => other,
            };
        }
    }

    /// Reads mini-transactions into a store. `files_at_rest`: file operations may be repeated, because no page is being
    /// read or written.
    fn fill(&mut self, reader: &mut LogReader, store: usize, files_at_rest: bool) -> Result<Stop> {
        let store = self.stores[store].clone();
        let mut filling = store.fill();
        let mut records = Vec::new();
        if let Some(pending) = self.pending.take() {
            self.keep_group(&mut filling, &pending.records, &pending.payload, pending.start, pending.end)?;
        }
        while !filling.is_full() {
            let group = reader.next_group_by(|run| redo_rec::parse_group(run, &mut records))?;
            let Some(group) = group else { return Ok(Stop::End) };
            if !files_at_rest && records.iter().any(|r| r.ty.is_file()) {
                let payload = group.payload.to_vec();
                self.pending = Some(Pending { start: group.start, end: group.end, payload, records });
                return Ok(Stop::FileOperation);
            }
            self.keep_group(&mut filling, &records, group.payload, group.start, group.end)?;
        }
        Ok(Stop::Full)
    }

    fn keep_group(
        &mut self,
        filling: &mut Filling<'_>,
        records: &[Record],
        run: &[u8],
        start: Lsn,
        end: Lsn,
    ) -> Result<()> {
        for record in records {
            let page = record.page;
            if record.ty.is_file() {
                self.repeat_file_operation(record, run, start)?;
            } else if !self.is_wanted(page.space, start) {
                continue;
            } else {
                self.report.records += 1;
                if page.page_no == PageNo(0) {
                    self.resized.insert(page.space);
                }
                filling.add(page, record.ty, record.body(run), start, end);
            }
        }
        Ok(())
    }

    /// Whether a space's records are to be kept; notes spaces without a file.
    #[inline]
    fn is_wanted(&mut self, space: SpaceId, start: Lsn) -> bool {
        if self.last_wanted == Some(space) {
            return true;
        }
        if self.fates.is_dropped_after(space, start) || self.deleted.contains(&space) {
            return false;
        }
        if !self.spaces.contains(space) {
            self.missing.entry(space).or_insert(start);
            return false;
        }
        self.last_wanted = Some(space);
        true
    }

    fn links(&self) -> Links<'_> {
        Links::of(&**self.spaces.fs(), &self.options.dir)
    }

    /// Path of the file a log record names `database/table`.
    fn path_of(&self, name: &[u8]) -> Result<PathBuf> {
        self.links().file_of(&String::from_utf8_lossy(name))
    }

    fn repeat_file_operation(&mut self, record: &Record, run: &[u8], start: Lsn) -> Result<()> {
        let space = record.page.space;
        self.last_wanted = None;
        let op = file_operation(record, run)?;
        let dropped_later = self.fates.is_dropped_after(space, start);
        match op {
            // Its file is not there, or stays as it is until then.
            FileOp::Create { .. } if dropped_later => {}
            FileOp::Rename { old, .. } if dropped_later => {
                self.given_up.insert(String::from_utf8_lossy(old).into_owned());
            }
            FileOp::Create { flags, name, .. } => {
                let path = self.path_of(name)?;
                self.repeat_creation(space, flags.unwrap_or(0), &path)?;
                self.given_up.remove(&*String::from_utf8_lossy(name));
                self.deleted.remove(&space);
            }
            FileOp::Delete { name } => {
                self.pool.discard_space(space);
                self.deleted.insert(space);
                self.renamed.remove(&space);
                let file = match self.spaces.detach(space) {
                    Some(open) => open.path(),
                    None => self.path_of(name)?,
                };
                // The name may be another space's by now. A file that does not say whose it is may be that one's too,
                // whose creation comes later in the log then, and makes it again.
                if matches!(self.owner_of(&file, space)?, Owner::This | Owner::Unknown) {
                    self.remove_durably(&file)?;
                }
                self.given_up.insert(String::from_utf8_lossy(name).into_owned());
            }
            FileOp::Rename { old, new } => {
                let new = String::from_utf8_lossy(new).into_owned();
                self.given_up.insert(String::from_utf8_lossy(old).into_owned());
                self.given_up.remove(&new);
                self.renamed.insert(space, new);
            }
        }
        Ok(())
    }

    /// Removes the links that files have left behind.
    fn remove_links(&self) -> Result<()> {
        let links = self.links();
        for name in &self.given_up {
            let leads_to_file = match links.target(name)? {
                Some(target) => self.spaces.fs().is_there(&target)?,
                None => false,
            };
            if !leads_to_file {
                links.remove(name)?;
            }
        }
        Ok(())
    }

    /// Gives every space the last name the log has for it. The names before it are not gone through again: other spaces
    /// may have them by now. What stands at the last name is this space's file, or is about to leave it too.
    fn repeat_renames(&self) -> Result<()> {
        let links = self.links();
        let mut left: Vec<(SpaceId, &String)> = self.renamed.iter().map(|(&id, name)| (id, name)).collect();
        loop {
            let before = left.len();
            let mut waiting = Vec::new();
            for (space, name) in left {
                // Otherwise it was dropped.
                let Ok(open) = self.spaces.get(space) else { continue };
                let to = links.renamed(&open.path(), name);
                if open.path() == to {
                    continue;
                }
                match self.owner_of(&to, space)? {
                    Owner::Another => waiting.push((space, name)),
                    Owner::NoFile | Owner::Unknown | Owner::This => {
                        links.rename(&self.spaces, space, name)?
                    }
                }
            }
            match waiting.first() {
                None => return Ok(()),
                Some((space, name)) if waiting.len() == before => {
                    return Err(Error::Folder(format!(
                        "the file of {name} should hold tablespace {space} but holds another; move it away"
                    )));
                }
                Some(_) => left = waiting,
            }
        }
    }

    /// Finds the file of a space whose creation is in the log, or makes it again: all that was in it follows in the
    /// log. The name may have been another space's before, or be another's by now.
    fn repeat_creation(&mut self, space: SpaceId, raw_flags: u32, path: &Path) -> Result<()> {
        if self.spaces.contains(space) {
            return Ok(());
        }
        let size = SpaceFlags::decode(raw_flags).map_or(self.options.page_size, |f| f.page_size());
        match self.owner_of(path, space)? {
            // Its file has another name by now, and is not found by that: what refers to it says so.
            Owner::Another => Ok(()),
            Owner::This | Owner::Unknown => {
                self.spaces.attach(space, raw_flags, size, &[path.to_owned()]).map(|_| ())
            }
            // It was elsewhere: its directory is not there.
            Owner::NoFile if SpaceFlags::decode(raw_flags).is_ok_and(SpaceFlags::data_dir) => Ok(()),
            // Its name was not durable; or it was taken for an earlier space's, and dropped with that.
            Owner::NoFile => {
                let folder = path.parent().unwrap_or(&self.options.dir);
                create_dir_durably(&**self.spaces.fs(), folder)?;
                let made = self.spaces.create(space, raw_flags, size, path, INITIAL_PAGES)?;
                made.mark_written();
                self.spaces.sync(&made)?;
                Ok(self.spaces.fs().sync_dir(folder)?)
            }
        }
    }

    /// Whose file it is, by what its pages say.
    fn owner_of(&self, path: &Path, space: SpaceId) -> Result<Owner> {
        if !self.spaces.fs().is_there(path)? {
            return Ok(Owner::NoFile);
        }
        let found = read_space_id(&**self.spaces.fs(), path, self.options.page_size)?;
        Ok(match found {
            None => Owner::Unknown,
            Some(found) if found.id == space => Owner::This,
            Some(_) => Owner::Another,
        })
    }

    fn remove_durably(&self, file: &Path) -> Result<()> {
        self.spaces.fs().remove_file(file)?;
        self.spaces.fs().sync_dir(file.parent().unwrap_or(&self.options.dir))?;
        Ok(())
    }

    /// The links that lead nowhere, as part of a sentence.
    fn nowhere(&self) -> String {
        let line = |(link, to): &(PathBuf, PathBuf)| {
            format!("; {} leads to {}, which is not there", link.display(), to.display())
        };
        self.found.dangling.iter().map(line).collect()
    }

    fn check_missing(&self) -> Result<()> {
        for (space, lsn) in self.missing.iter().filter(|(space, _)| !self.deleted.contains(space)) {
            let text = match self.found.unreadable.get(space) {
                Some(path) => format!(
                    "{} has compressed pages and changes in the redo log from LSN {lsn} on, which are not applied to such \
                     pages: let the server that made it recover the folder, or set innodb_force_recovery=1 to lose these \
                     changes",
                    path.display()
                ),
                None => format!(
                    "tablespace {space} has redo from LSN {lsn} on, but no file below {} belongs to it{}; put the file \
                     back, or set innodb_force_recovery=1 to go on without it",
                    self.options.dir.display(),
                    self.nowhere()
                ),
            };
            if self.options.force_recovery < ForceRecovery::IGNORE_CORRUPT {
                return Err(Error::Folder(text));
            }
            self.damage.add(text);
        }
        Ok(())
    }

    /// Makes files as long as their headers say: the growth of a file is durable only with its next sync, the
    /// header's change with the log.
    fn grow_files(&self) -> Result<()> {
        for &id in self.resized.difference(&self.deleted) {
            let page = self.pool.get_shared(PageId::new(id, PageNo(0)))?;
            let header = SpaceHeader::read(&page);
            drop(page);
            // A header that is damaged is for its users to report.
            if header.space == id && header.check().is_ok() {
                let space = self.spaces.get(id)?;
                if header.size > space.size_pages() {
                    self.spaces.grow(&space, header.size)?;
                    // The next checkpoint ends the redo that tells of it, whether or not a page is written before.
                    self.spaces.sync(&space)?;
                }
            }
        }
        Ok(())
    }
}

/// What a record says of a file.
fn file_operation<'r>(record: &Record, run: &'r [u8]) -> Result<FileOp<'r>> {
    FileOp::parse(record.ty, record.page, record.body(run))
        .map_err(|c| Error::Log(format!("redo record of a file operation: {c}")))
}

/// Brings pages up to date, by several threads.
fn apply_pages(pool: &BufferPool, pages: &[PageId], threads: usize) -> Result<()> {
    let next = AtomicUsize::new(0);
    let failure: Mutex<Option<Error>> = Mutex::new(None);
    let work = || {
        while failure.lock().is_none() {
            let from = next.fetch_add(APPLY_CHUNK, Ordering::Relaxed);
            let Some(chunk) = pages.get(from..).map(|rest| &rest[..rest.len().min(APPLY_CHUNK)]) else {
                break;
            };
            if chunk.is_empty() {
                break;
            }
            if let Err(e) = pool.bring_up_to_date(chunk) {
                failure.lock().get_or_insert(e);
            }
        }
    };
    if threads == 1 || pages.len() <= APPLY_CHUNK {
        work();
    } else {
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(work);
            }
        });
    }
    failure.into_inner().map_or(Ok(()), Err)
}

/// Reads over the log without keeping anything; returns how many bytes of records it holds.
///
/// # Errors
/// As of [`LogReader::next_group`]; an unknown record is one.
pub(crate) fn skip_log(reader: &mut LogReader) -> Result<u64> {
    let start = reader.end_lsn();
    while reader.next_group()?.is_some() {}
    Ok(reader.end_lsn().0 - start.0)
}
