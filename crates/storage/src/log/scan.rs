//! Reading the log back: from the newest checkpoint to its end, once, in large reads.
//!
//! The log ends at the first block that is not full, or has not the number or checksum expected at its place, or
//! carries a smaller checkpoint number than the block before (I3 of the module: a remnant). The last
//! mini-transaction may be incomplete; it is not delivered, and appending goes on at its start.
//!
//! # Crash
//! What is read may exist in the system's cache only: the process before was killed before it synced, or its sync
//! failed, after which a further one would succeed without effect. Recovery therefore writes what it reads, and
//! syncs that, before it hands out a record: pages must not get ahead of the log.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use vaquita_base::{Clock, Lsn};
use vaquita_format::Corruption;
use vaquita_format::redo_file::{
    BLOCK_HEADER_SIZE, BLOCK_SIZE, Block, BlockHeader, Checkpoint, LogAnchor, LogGeometry, block_start,
    check_block, lsn_of, sn_of,
};
use vaquita_format::redo_rec;
use vaquita_io::{BatchOp, FileSystem, OpenMode, OpenOptions, Transfer};

use super::error::{LogError, Result};
use super::files::{FolderId, LogFiles, label_text};
use super::{LogConfig, RedoLog};

/// Bytes of the first read; most logs found at a start are short.
const BATCH_BYTES_FIRST: usize = 128 << 10;
/// Bytes of later reads, at most.
const BATCH_BYTES_MAX: usize = 512 << 10;
/// Bytes of one transfer of a read.
const TRANSFER_BYTES: usize = 128 << 10;

/// The records of a mini-transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group<'a> {
    /// LSN of the first byte.
    pub start: Lsn,
    /// LSN after the last byte: that of the pages it changed.
    pub end: Lsn,
    /// The bytes.
    pub payload: &'a [u8],
}

/// Records without block headers and trailers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// LSN of the first byte; that of others follows by [`vaquita_format::redo_file::lsn_after`].
    pub start: Lsn,
    /// The bytes.
    pub payload: &'a [u8],
}

/// What opening a log for reading found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSummary {
    /// The checkpoint that holds.
    pub checkpoint: Checkpoint,
    /// Number and size of the files.
    pub geometry: LogGeometry,
    /// Label of the first file, escaped.
    pub label: String,
    /// Whether the label is that of a hot backup.
    pub hot_backup: bool,
}

/// Reads a log from its newest checkpoint on.
#[derive(Debug)]
pub struct LogReader {
    fs: Arc<dyn FileSystem>,
    dir: PathBuf,
    files: LogFiles,
    summary: LogSummary,
    anchor: LogAnchor,
    /// Block to be read next.
    next_block: Lsn,
    /// Checkpoint number of the block before.
    checkpoint_no: Option<u32>,
    raw: Vec<u8>,
    /// Records read; those before `taken` were delivered.
    records: Vec<u8>,
    taken: usize,
    /// Position of `records[0]`.
    records_sn: u64,
    ended: Option<String>,
    /// What is read is written again and synced before it is delivered.
    write_back: bool,
}

impl LogReader {
    /// Opens the log in `dir` for reading and finds its newest checkpoint. `folder` is the identity the log must
    /// have, if it has one (logs of MySQL have none); `None` takes any.
    ///
    /// # Errors
    /// A missing file, differing sizes, a label of another folder, no valid checkpoint; each says what to do.
    pub fn open(fs: Arc<dyn FileSystem>, dir: &Path, folder: Option<FolderId>) -> Result<Self> {
        let files = LogFiles::open(fs.as_ref(), dir, folder, OpenOptions::new(OpenMode::Read))?;
        Self::start(fs, dir, files)
    }

    /// Opens the log for recovery, as `config` says: every record it hands out is durable.
    ///
    /// # Errors
    /// As of [`LogReader::open`].
    pub fn open_for_recovery(
        fs: Arc<dyn FileSystem>,
        config: &LogConfig,
        folder: Option<FolderId>,
    ) -> Result<Self> {
        // Through the page cache: the log is read in order, and what is written again is synced before it is delivered.
        let options = OpenOptions { direct: false, ..config.open_options(OpenMode::ReadWrite) };
        let files = LogFiles::open(fs.as_ref(), &config.dir, folder, options)?;
        Ok(Self { write_back: true, ..Self::start(fs, &config.dir, files)? })
    }

    fn start(fs: Arc<dyn FileSystem>, dir: &Path, files: LogFiles) -> Result<Self> {
        let checkpoint = files.read_checkpoint()?;
        let start = lsn_of(sn_of(checkpoint.lsn));
        if start != checkpoint.lsn {
            let damage =
                Corruption::new("checkpoint LSN", format!("{} is in a block's header", checkpoint.lsn));
            let offset = Checkpoint::slot(checkpoint.number);
            return Err(LogError::Corrupt { path: files.path(0).to_owned(), offset, damage });
        }
        let header = files.first_header();
        let summary = LogSummary {
            checkpoint,
            geometry: files.geometry(),
            label: label_text(&header.label),
            hot_backup: header.is_hot_backup(),
        };
        Ok(Self {
            fs,
            dir: dir.to_owned(),
            files,
            anchor: LogAnchor::from(&checkpoint),
            summary,
            next_block: block_start(start),
            checkpoint_no: None,
            raw: Vec::new(),
            records: Vec::new(),
            taken: 0,
            records_sn: sn_of(start),
            ended: None,
            write_back: false,
        })
    }

    /// What was found.
    pub fn summary(&self) -> &LogSummary {
        &self.summary
    }

    /// Where reading starts.
    pub fn checkpoint_lsn(&self) -> Lsn {
        self.summary.checkpoint.lsn
    }

    /// LSN of the next byte to be delivered; after the end was reached, the end of the log.
    pub fn end_lsn(&self) -> Lsn {
        lsn_of(self.records_sn + self.taken as u64)
    }

    /// Why the log ends where it does, once that is known: in words, for the person who starts the database.
    pub fn end_reason(&self) -> Option<&str> {
        self.ended.as_deref()
    }

    /// The next complete mini-transaction; `None` at the end.
    ///
    /// # Errors
    /// Records that break the format, as [`LogError::Corrupt`]; a failed read; a log that ends before its
    /// checkpoint.
    pub fn next_group(&mut self) -> Result<Option<Group<'_>>> {
        self.next_group_by(|run| Ok(redo_rec::next_group(run)?.map(|group| group.len)))
    }

    /// As [`LogReader::next_group`], with a parser of the caller's: of the run of records it is given it tells the
    /// length of the mini-transaction at the front, or `None` if the run ends before it does. It is asked again
    /// with a longer run then.
    ///
    /// # Errors
    /// As there; what the parser finds wrong.
    ///
    /// # Panics
    /// If the length is 0 or beyond the run.
    pub fn next_group_by(
        &mut self,
        mut parse: impl FnMut(&[u8]) -> std::result::Result<Option<usize>, Corruption>,
    ) -> Result<Option<Group<'_>>> {
        let len = loop {
            let front = &self.records[self.taken..];
            if !front.is_empty() {
                match parse(front) {
                    Ok(Some(len)) => break len,
                    Ok(None) => {}
                    Err(damage) => return Err(self.corrupt(damage)),
                }
            }
            if !self.read_more()? {
                return Ok(None);
            }
        };
        assert!(len > 0 && len <= self.records.len() - self.taken, "a mini-transaction of {len} bytes");
        let at = self.taken;
        self.taken += len;
        let sn = self.records_sn + at as u64;
        let payload = &self.records[at..self.taken];
        Ok(Some(Group { start: lsn_of(sn), end: lsn_of(sn + len as u64), payload }))
    }

    /// All records that are at hand, or else those of the next read; `None` at the end. They may end within a
    /// mini-transaction.
    ///
    /// # Errors
    /// A failed read; a log that ends before its checkpoint.
    pub fn next_chunk(&mut self) -> Result<Option<Chunk<'_>>> {
        while self.taken == self.records.len() {
            if !self.read_more()? {
                return Ok(None);
            }
        }
        let at = std::mem::replace(&mut self.taken, self.records.len());
        Ok(Some(Chunk { start: lsn_of(self.records_sn + at as u64), payload: &self.records[at..] }))
    }

    /// Opens the log for appending where reading ended: behind the last delivered mini-transaction. A checkpoint
    /// with the next number is written at the same LSN; nothing else changes.
    ///
    /// # Errors
    /// A failed read, write or sync.
    ///
    /// # Panics
    /// If the end was not reached, or `config` names another folder: what follows would be overwritten unread.
    pub fn into_log(self, clock: Arc<dyn Clock>, config: LogConfig) -> Result<RedoLog> {
        assert!(self.ended.is_some(), "a log is read to its end before it is appended to");
        assert_eq!(self.dir, config.dir, "one folder");
        let end = self.end_lsn();
        RedoLog::reopen(self.fs.as_ref(), clock, config, self.summary.checkpoint, end)
    }

    /// Goes back to the checkpoint, when the end was reached: the log is read a second time. What was read was made durable if
    /// that was wanted; it is not written again.
    ///
    /// # Panics
    /// If the end was not reached: not everything is durable.
    pub(crate) fn rewind(&mut self) {
        assert!(self.ended.take().is_some(), "a log is read to its end before it is read again");
        let start = lsn_of(sn_of(self.summary.checkpoint.lsn));
        self.next_block = block_start(start);
        self.checkpoint_no = None;
        self.records.clear();
        self.taken = 0;
        self.records_sn = sn_of(start);
        self.write_back = false;
    }

    /// File and offset of `lsn`, in words.
    pub fn describe(&self, lsn: Lsn) -> String {
        let place = self.summary.geometry.position(lsn, self.anchor);
        format!("{} at byte {}", self.files.path(place.file).display(), place.offset)
    }

    #[cold]
    fn corrupt(&self, damage: Corruption) -> LogError {
        let lsn = self.end_lsn();
        let place = self.summary.geometry.position(lsn, self.anchor);
        let damage =
            Corruption { detail: format!("{} (mini-transaction at LSN {lsn})", damage.detail), ..damage };
        LogError::Corrupt { path: self.files.path(place.file).to_owned(), offset: place.offset, damage }
    }

    /// Reads on; false at the end of the log. Forgets what was delivered.
    fn read_more(&mut self) -> Result<bool> {
        if self.ended.is_some() {
            return Ok(false);
        }
        let start = self.next_block;
        let first = block_start(self.summary.checkpoint.lsn);
        let left = self.summary.geometry.capacity() - (start.get() - first.get());
        if left == 0 {
            self.ended = Some("it fills all files".to_owned());
            return Ok(false);
        }
        self.read_raw(start, left)?;
        self.records.drain(..self.taken);
        self.records_sn += std::mem::take(&mut self.taken) as u64;
        let raw = std::mem::take(&mut self.raw);
        let mut used = 0;
        let result = raw.as_chunks::<BLOCK_SIZE>().0.iter().try_for_each(|block| {
            let before = self.records.len();
            let accepted = self.accept(block);
            used += usize::from(accepted.is_ok() || self.records.len() > before);
            accepted
        });
        if self.write_back {
            self.files.write_blocks(start, self.anchor, &raw[..used * BLOCK_SIZE], false)?;
            self.files.sync_written()?;
        }
        self.raw = raw;
        match result {
            Ok(()) => Ok(true),
            Err(End::Of) => Ok(true),
            Err(End::Error(error)) => Err(error),
        }
    }

    /// Fills `raw` from block `start` on; at most `left` bytes.
    fn read_raw(&mut self, start: Lsn, left: u64) -> Result<()> {
        let geometry = self.summary.geometry;
        let len =
            if self.raw.is_empty() { BATCH_BYTES_FIRST } else { (self.raw.len() * 4).min(BATCH_BYTES_MAX) };
        self.raw.resize(len.min(left as usize), 0);
        let (mut ops, mut rest, mut at) = (Vec::new(), self.raw.as_mut_slice(), start);
        while !rest.is_empty() {
            let len = rest.len().min(TRANSFER_BYTES).min(geometry.contiguous(at, self.anchor) as usize);
            let (buf, later) = rest.split_at_mut(len);
            let place = geometry.position(at, self.anchor);
            let file = self.files.file(place.file);
            ops.push(BatchOp { file, offset: place.offset, transfer: Transfer::Read(buf) });
            (rest, at) = (later, Lsn(at.get() + len as u64));
        }
        let mut outcome = Ok(());
        self.fs.run_batch(&mut ops, &mut |_, _, result| {
            if let Err(error) = result {
                outcome = Err(error);
            }
        });
        Ok(outcome?)
    }

    /// Takes over the records of the next block, or finds the end of the log.
    fn accept(&mut self, block: &Block) -> std::result::Result<(), End> {
        let lsn = self.next_block;
        let checked = check_block(block, lsn).map_err(|damage| damage.to_string()).and_then(|header| {
            let before = self.checkpoint_no.unwrap_or(header.checkpoint_no);
            if (header.checkpoint_no.wrapping_sub(before) as i32) < 0 {
                return Err(format!("the block at LSN {lsn} was written before the log was last opened"));
            }
            Ok(header)
        });
        let checkpoint = self.summary.checkpoint.lsn;
        let from = if lsn == block_start(checkpoint) {
            let from = (checkpoint.get() - lsn.get()) as usize;
            match &checked {
                Ok(header) if usize::from(header.data_len) >= from => {}
                Ok(header) => {
                    return Err(End::Error(self.too_short(format!("{} bytes used", header.data_len))));
                }
                Err(reason) => return Err(End::Error(self.too_short(reason.clone()))),
            }
            from
        } else {
            BLOCK_HEADER_SIZE
        };
        let header = match checked {
            Ok(header) => header,
            Err(reason) => {
                self.ended = Some(reason);
                return Err(End::Of);
            }
        };
        self.records.extend_from_slice(&block[from..header.payload().end]);
        if !header.is_full() {
            self.ended = Some(format!("the block at LSN {lsn} is its last"));
            return Err(End::Of);
        }
        self.checkpoint_no = Some(header.checkpoint_no);
        self.next_block = Lsn(lsn.get() + BLOCK_SIZE as u64);
        Ok(())
    }

    #[cold]
    fn too_short(&self, detail: String) -> LogError {
        let checkpoint = self.summary.checkpoint.lsn;
        let place = self.summary.geometry.position(checkpoint, self.anchor);
        LogError::TooShort {
            path: self.files.path(place.file).to_owned(),
            offset: place.offset,
            checkpoint,
            detail,
        }
    }
}

/// Why no further block is taken.
enum End {
    /// The end of the log.
    Of,
    Error(LogError),
}

/// The block that holds `lsn`, unchecked beyond its number: whatever does not belong there comes as zeros.
pub(super) fn read_block(files: &LogFiles, anchor: LogAnchor, lsn: Lsn) -> Result<Block> {
    let start = block_start(lsn);
    let place = files.geometry().position(start, anchor);
    let mut block = [0; BLOCK_SIZE];
    files.file(place.file).read_at(&mut block, place.offset)?;
    let number = vaquita_format::redo_file::block_number(start);
    Ok(if BlockHeader::read(&block).number == number { block } else { [0; BLOCK_SIZE] })
}
