//! Log files: names, creation, opening, positioned writes.
//!
//! `ib_logfile0` to `ib_logfile<n-1>` of one size, as [`vaquita_format::redo_file`] describes them. The label in
//! block 0 of each file says which folder it belongs to: `vaquita ` and the folder's id in 24 hexadecimal digits.
//!
//! # Crash
//! A log exists exactly when `ib_logfile0` does. Creation makes the other files first, then file 0 under the name
//! `ib_logfile101`, syncs all and the directory, and renames last; removal removes file 0 first and syncs the
//! directory before it goes on. Whatever a power cut leaves is thus a whole log or none; leftovers of none are
//! removed by the next creation. To change number or size of the files after a clean shutdown: write the LSN of
//! the end into the system tablespace durably, [`remove`], create at that LSN. With the LSN there and no log, a
//! start after a crash in between creates the log anew.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use vaquita_base::Lsn;
use vaquita_format::Corruption;
use vaquita_format::redo_file::{
    BLOCK_SIZE, Block, BlockHeader, CHECKPOINT_1, CHECKPOINT_2, Checkpoint, FILE_HEADER_SIZE, FileHeader,
    LogAnchor, LogGeometry, block_number, block_start, seal_block,
};
use vaquita_io::{File, FileSystem, OpenMode, OpenOptions};

use super::error::{LogError, Result};

/// Log files of a group, at least.
pub const FILES_MIN: u32 = 2;
/// Log files of a group, at most: InnoDB's limit.
pub const FILES_MAX: u32 = 100;
/// Blocks of records of a log file, at least.
pub const FILE_BLOCKS_MIN: u64 = 16;
/// Bytes of all files together, less than: a block's number must not come again while old blocks are there.
const TOTAL_MAX: u64 = 512 << 30;

/// Name of file 0 while it is being made.
const TEMPORARY: &str = "ib_logfile101";
/// Bytes written at once when a file is made.
const FILL_BYTES: usize = 1 << 20;

/// Identity of a database folder, as its log files' labels carry it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FolderId(pub [u8; 12]);

impl FolderId {
    const PREFIX: &[u8; 8] = b"vaquita ";

    /// The 32 bytes of the label.
    pub fn label(self) -> [u8; 32] {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut label = [0; 32];
        label[..8].copy_from_slice(Self::PREFIX);
        for (pair, byte) in label[8..].chunks_mut(2).zip(self.0) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        label
    }

    /// The folder that a label names; `None` for labels of other servers.
    pub(crate) fn of_label(label: &[u8; 32]) -> Option<FolderId> {
        let digits = label.strip_prefix(Self::PREFIX)?;
        let mut id = [0; 12];
        for (byte, pair) in id.iter_mut().zip(digits.chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(FolderId(id))
    }
}

impl std::fmt::Display for FolderId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A label in words.
pub(super) fn label_text(label: &[u8; 32]) -> String {
    let end = label.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
    label[..end].escape_ascii().to_string()
}

/// Whether a label names a folder other than `folder`. Labels of MySQL name none.
fn is_foreign(label: &[u8; 32], folder: FolderId) -> bool {
    label.starts_with(FolderId::PREFIX) && *label != folder.label()
}

/// Path of log file `no`.
pub fn file_path(dir: &Path, no: u32) -> PathBuf {
    dir.join(format!("ib_logfile{no}"))
}

/// Whether there is a log in `dir`.
pub fn exists(fs: &dyn FileSystem, dir: &Path) -> bool {
    fs.exists(&file_path(dir, 0))
}

/// Removes the log in `dir`, and leftovers of one. Fine if there is none.
///
/// # Errors
/// What the file layer says; the log is then either whole or gone.
pub fn remove(fs: &dyn FileSystem, dir: &Path) -> Result<()> {
    if exists(fs, dir) {
        fs.remove_file(&file_path(dir, 0))?;
        fs.sync_dir(dir)?;
    }
    for path in fs.list_dir(dir)? {
        if log_file_no(&path).is_some() {
            fs.remove_file(&path)?;
        }
    }
    fs.sync_dir(dir)?;
    Ok(())
}

/// Number in the name of a log file; the temporary name counts.
fn log_file_no(path: &Path) -> Option<u32> {
    path.file_name()?.to_str()?.strip_prefix("ib_logfile")?.parse().ok()
}

/// Number and size of new log files, and where they begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewLog {
    /// Number of files.
    pub files: u32,
    /// Bytes of each, header included.
    pub file_bytes: u64,
    /// The log begins at the first block start at or after this LSN.
    pub first_lsn: Lsn,
}

impl NewLog {
    /// Two files of 48 MiB, InnoDB's default, for a new database.
    pub const DEFAULT: NewLog =
        NewLog { files: 2, file_bytes: 48 << 20, first_lsn: vaquita_format::redo_file::FIRST_LSN };

    /// The LSN of the first record.
    pub(super) fn start(&self) -> Lsn {
        const BLOCK: u64 = BLOCK_SIZE as u64;
        const HEADER: u64 = vaquita_format::redo_file::BLOCK_HEADER_SIZE as u64;
        Lsn(self.first_lsn.get().saturating_sub(HEADER).next_multiple_of(BLOCK) + HEADER)
    }

    pub(super) fn geometry(&self) -> std::result::Result<LogGeometry, Corruption> {
        let geometry = LogGeometry::new(self.files, self.file_bytes)?;
        check_geometry(geometry)?;
        Ok(geometry)
    }
}

/// The limits beyond those of the format.
fn check_geometry(geometry: LogGeometry) -> std::result::Result<(), Corruption> {
    let (files, bytes) = (geometry.n_files(), geometry.file_size());
    if !(FILES_MIN..=FILES_MAX).contains(&files)
        || geometry.file_capacity() < FILE_BLOCKS_MIN * BLOCK_SIZE as u64
        || u64::from(files) * bytes > TOTAL_MAX
    {
        let detail = format!(
            "{files} files of {bytes} bytes; {FILES_MIN} to {FILES_MAX} of at least {} bytes, {TOTAL_MAX} in all",
            FILE_HEADER_SIZE + FILE_BLOCKS_MIN * BLOCK_SIZE as u64
        );
        return Err(Corruption::new("log files", detail));
    }
    Ok(())
}

/// Creates the files. The first checkpoint, number 0, is at the log's start.
pub(super) fn create(fs: &dyn FileSystem, dir: &Path, new: NewLog, folder: FolderId) -> Result<()> {
    let path = file_path(dir, 0);
    if fs.exists(&path) {
        return Err(LogError::Exists { path });
    }
    new.geometry().map_err(|damage| LogError::Corrupt { path, offset: 0, damage })?;
    remove(fs, dir)?;
    let start = new.start();
    for no in (0..new.files).rev() {
        let path = if no == 0 { dir.join(TEMPORARY) } else { file_path(dir, no) };
        let file = fs.open(&path, OpenOptions::new(OpenMode::CreateNew))?;
        fill_with_zeros(file.as_ref(), new.file_bytes)?;
        let mut header = FileHeader::new(if no == 0 { block_start(start) } else { Lsn::ZERO });
        header.label = folder.label();
        file.write_at(&header.encode(), 0)?;
        if no == 0 {
            let checkpoint = Checkpoint { number: 0, lsn: start, offset: 0, buffer_size: 0 };
            let anchor = first_anchor(start);
            file.write_at(&Checkpoint { offset: anchor.offset, ..checkpoint }.encode(), CHECKPOINT_1)?;
            file.write_at(&empty_block(start), FILE_HEADER_SIZE)?;
        }
        file.sync()?;
    }
    fs.sync_dir(dir)?;
    fs.rename(&dir.join(TEMPORARY), &file_path(dir, 0))?;
    fs.sync_dir(dir)?;
    Ok(())
}

/// The place of a new log's start.
fn first_anchor(start: Lsn) -> LogAnchor {
    LogAnchor { lsn: start, offset: FILE_HEADER_SIZE + start.get() % BLOCK_SIZE as u64 }
}

/// The block of a log that ends right behind the block's header.
fn empty_block(lsn: Lsn) -> Block {
    let used = (lsn.get() % BLOCK_SIZE as u64) as u16;
    let mut block = [0; BLOCK_SIZE];
    let number = block_number(lsn);
    BlockHeader { number, flush: true, data_len: used, first_group: used, checkpoint_no: 0 }
        .write(&mut block);
    seal_block(&mut block);
    block
}

/// Real blocks, written once: later writes then change no metadata that a sync would have to write too.
fn fill_with_zeros(file: &dyn File, len: u64) -> Result<()> {
    let zeros = vec![0; FILL_BYTES.min(len as usize)];
    let mut at = 0;
    while at < len {
        let n = zeros.len().min((len - at) as usize);
        file.write_at(&zeros[..n], at)?;
        at += n as u64;
    }
    Ok(())
}

/// One open log file.
#[derive(Debug)]
struct LogFile {
    file: Arc<dyn File>,
    /// Written since the last sync.
    dirty: AtomicBool,
}

/// The open files of a log.
#[derive(Debug)]
pub(super) struct LogFiles {
    files: Vec<LogFile>,
    headers: Vec<FileHeader>,
    geometry: LogGeometry,
    /// All writes are durable when they return.
    dsync: bool,
    /// The files bypass the page cache: a write that shall be durable costs one request if it says so.
    direct: bool,
}

impl LogFiles {
    /// Opens the log in `dir`, checks sizes and labels.
    pub(super) fn open(
        fs: &dyn FileSystem,
        dir: &Path,
        folder: Option<FolderId>,
        options: OpenOptions,
    ) -> Result<Self> {
        let (mut files, mut headers, mut size) = (Vec::new(), Vec::new(), 0);
        for no in 0..count_files(fs, dir)? {
            let path = file_path(dir, no);
            let file = fs.open(&path, options)?;
            let found = file.len()?;
            if no == 0 {
                size = found;
            } else if found != size {
                return Err(LogError::SizesDiffer { path, found, expected: size });
            }
            if found < FILE_HEADER_SIZE {
                let damage = Corruption::new("log file length", format!("{found} bytes"));
                return Err(LogError::Corrupt { path, offset: 0, damage });
            }
            headers.push(read_header(file.as_ref(), path, folder)?);
            files.push(LogFile { file, dirty: AtomicBool::new(false) });
        }
        let corrupt = |damage| LogError::Corrupt { path: file_path(dir, 0), offset: 0, damage };
        let geometry = LogGeometry::new(files.len() as u32, size).map_err(corrupt)?;
        check_geometry(geometry).map_err(corrupt)?;
        Ok(Self { files, headers, geometry, dsync: options.dsync, direct: options.direct })
    }

    pub(super) fn geometry(&self) -> LogGeometry {
        self.geometry
    }

    /// Header of file 0 as it was when opened.
    pub(super) fn first_header(&self) -> &FileHeader {
        &self.headers[0]
    }

    pub(super) fn path(&self, no: u32) -> &Path {
        self.files[no as usize].file.path()
    }

    pub(super) fn file(&self, no: u32) -> &dyn File {
        self.files[no as usize].file.as_ref()
    }

    /// The newer valid checkpoint.
    pub(super) fn read_checkpoint(&self) -> Result<Checkpoint> {
        let file = self.file(0);
        let (mut first, mut second) = ([0; BLOCK_SIZE], [0; BLOCK_SIZE]);
        file.read_at(&mut first, CHECKPOINT_1)?;
        file.read_at(&mut second, CHECKPOINT_2)?;
        let checkpoint = Checkpoint::newest(&first, &second).map_err(|damage| {
            let other = Checkpoint::decode(&second).err().unwrap_or_else(|| damage.clone());
            LogError::NoCheckpoint { path: file.path().to_owned(), first: damage, second: Box::new(other) }
        })?;
        self.geometry.check_anchor(LogAnchor::from(&checkpoint)).map_err(|damage| LogError::Corrupt {
            path: file.path().to_owned(),
            offset: Checkpoint::slot(checkpoint.number),
            damage,
        })?;
        Ok(checkpoint)
    }

    /// Whether a write that shall be durable should say so, instead of being synced.
    pub(super) fn writes_through(&self) -> bool {
        self.direct && !self.dsync
    }

    /// Writes whole blocks from block start `lsn` on, wrapping over the files, and makes them durable if asked to; gives the
    /// number of write calls.
    pub(super) fn write_blocks(
        &self,
        lsn: Lsn,
        anchor: LogAnchor,
        blocks: &[u8],
        durably: bool,
    ) -> Result<u64> {
        let (mut at, mut rest, mut writes) = (lsn, blocks, 0);
        while !rest.is_empty() {
            let place = self.geometry.position(at, anchor);
            let len = rest.len().min(self.geometry.contiguous(at, anchor) as usize);
            let file = &self.files[place.file as usize];
            if durably {
                file.file.write_durable_at(&rest[..len], place.offset)?;
            } else {
                file.file.write_at(&rest[..len], place.offset)?;
                // Release, after the write: whoever clears the mark and syncs, syncs this write too.
                file.dirty.store(true, Ordering::Release);
            }
            rest = &rest[len..];
            at = Lsn(at.get() + len as u64);
            writes += 1;
        }
        Ok(writes)
    }

    /// Writes the header of file `no`, which is being reused from `start` on.
    pub(super) fn write_header(&self, no: u32, start: Lsn, folder: FolderId) -> Result<()> {
        let file = &self.files[no as usize];
        let header = FileHeader { label: folder.label(), ..FileHeader::new(start) };
        file.file.write_at(&header.encode(), 0)?;
        file.dirty.store(true, Ordering::Release);
        Ok(())
    }

    /// Puts this folder's label on files that carry another (those of MySQL).
    pub(super) fn relabel(&self, folder: FolderId) -> Result<()> {
        for (file, header) in self.files.iter().zip(&self.headers) {
            if header.label != folder.label() {
                file.file.write_at(&FileHeader { label: folder.label(), ..*header }.encode(), 0)?;
            }
        }
        Ok(())
    }

    /// Writes a checkpoint and makes it durable.
    pub(super) fn write_checkpoint(&self, checkpoint: &Checkpoint) -> Result<()> {
        let (file, slot) = (self.file(0), Checkpoint::slot(checkpoint.number));
        if self.writes_through() {
            return Ok(file.write_durable_at(&checkpoint.encode(), slot)?);
        }
        file.write_at(&checkpoint.encode(), slot)?;
        if !self.dsync {
            file.sync()?;
        }
        Ok(())
    }

    /// Makes durable what was written; gives the number of sync calls.
    pub(super) fn sync_written(&self) -> Result<u64> {
        let mut syncs = 0;
        for file in &self.files {
            if file.dirty.swap(false, Ordering::AcqRel) && !self.dsync {
                file.file.sync()?;
                syncs += 1;
            }
        }
        Ok(syncs)
    }

    /// Makes everything durable that any process wrote into the files.
    pub(super) fn sync_all(&self) -> Result<()> {
        self.files.iter().try_for_each(|file| Ok(file.file.sync()?))
    }
}

/// Number of files: those from 0 on without a gap, and none beyond a gap.
fn count_files(fs: &dyn FileSystem, dir: &Path) -> Result<u32> {
    let mut numbers: Vec<u32> =
        fs.list_dir(dir)?.iter().filter_map(|path| log_file_no(path)).filter(|&no| no < FILES_MAX).collect();
    numbers.sort_unstable();
    let gap = (0..).zip(&numbers).find(|(expected, no)| expected != *no).map(|(expected, _)| expected);
    let missing = gap.or((numbers.len() < FILES_MIN as usize).then_some(numbers.len() as u32));
    match missing {
        Some(no) => Err(LogError::Missing { path: file_path(dir, no) }),
        None => Ok(numbers.len() as u32),
    }
}

fn read_header(file: &dyn File, path: PathBuf, folder: Option<FolderId>) -> Result<FileHeader> {
    let mut block = [0; BLOCK_SIZE];
    file.read_at(&mut block, 0)?;
    let header = FileHeader::decode(&block);
    match folder {
        Some(folder) if is_foreign(&header.label, folder) => Err(LogError::Foreign {
            path,
            expected: label_text(&folder.label()),
            found: label_text(&header.label),
        }),
        _ => Ok(header),
    }
}
