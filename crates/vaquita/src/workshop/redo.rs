//! The redo log in its files: headers, checkpoints, blocks, mini-transactions.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use vaquita_base::Lsn;
use vaquita_format::Corruption;
use vaquita_format::maker::{self, Foreign};
use vaquita_format::redo_file::{
    BLOCK_SIZE, Block, BlockHeader, CHECKPOINT_1, CHECKPOINT_2, Checkpoint, FileHeader, LogAnchor,
    LogGeometry, block_number, block_start, check_block, lsn_after,
};
use vaquita_format::redo_rec::{self, Record};

/// Bytes of records that may wait for the end of their mini-transaction.
const RUN_MAX: usize = 16 << 20;

/// The log files of a folder.
#[derive(Debug)]
pub struct RedoLog {
    paths: Vec<PathBuf>,
    files: Vec<File>,
    geometry: LogGeometry,
}

/// What is done with a record: the run of bytes it lies in, where its mini-transaction begins and ends.
pub type Visit<'v> = dyn FnMut(&Record, &[u8], Range<Lsn>) + 'v;

/// Bytes of records that were not handed out yet.
#[derive(Debug, Default)]
struct Run {
    bytes: Vec<u8>,
    /// LSN of the first.
    start: Lsn,
}

/// How far the log goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEnd {
    /// LSN after the last byte.
    pub lsn: Lsn,
    /// Blocks from the checkpoint on.
    pub blocks: u64,
    /// Whole mini-transactions since the checkpoint.
    pub groups: u64,
    /// Their records.
    pub records: u64,
    /// Bytes after the last whole mini-transaction.
    pub left_over: usize,
    /// Why the scan stopped, if not at the block that is not full.
    pub stopped: Option<Corruption>,
}

impl RedoLog {
    /// Opens `ib_logfile0` and those that follow it in a folder; `None` if there is no log.
    ///
    /// # Errors
    /// If a file cannot be read. The corruption if the files are no log, or one of a later server.
    pub fn open(dir: &Path) -> io::Result<Option<Result<RedoLog, Corruption>>> {
        if let Some(foreign) = foreign_log(dir)? {
            return Ok(Some(Err(foreign.into_corruption())));
        }
        let paths: Vec<PathBuf> =
            (0..).map(|n| dir.join(format!("ib_logfile{n}"))).take_while(|p| p.is_file()).collect();
        if paths.is_empty() {
            return Ok(None);
        }
        let mut files = Vec::new();
        let mut sizes = Vec::new();
        for path in &paths {
            let file = File::open(path)?;
            sizes.push(file.metadata()?.len());
            files.push(file);
        }
        let size = sizes[0];
        if sizes.iter().any(|&s| s != size) {
            let detail = format!("they have different sizes: {sizes:?}");
            return Ok(Some(Err(Corruption::new("log files", detail))));
        }
        let made =
            LogGeometry::new(files.len() as u32, size).map(|geometry| RedoLog { paths, files, geometry });
        Ok(Some(made))
    }

    /// The files.
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Number and size of the files.
    pub fn geometry(&self) -> LogGeometry {
        self.geometry
    }

    fn block(&self, file: usize, offset: u64) -> io::Result<Block> {
        let mut block = [0; BLOCK_SIZE];
        self.files[file].read_exact_at(&mut block, offset)?;
        Ok(block)
    }

    /// Header of a file.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn header(&self, file: usize) -> io::Result<FileHeader> {
        self.block(file, 0).map(|b| FileHeader::decode(&b))
    }

    /// Both checkpoints.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn checkpoints(&self) -> io::Result<[Result<Checkpoint, Corruption>; 2]> {
        Ok([
            Checkpoint::decode(&self.block(0, CHECKPOINT_1)?),
            Checkpoint::decode(&self.block(0, CHECKPOINT_2)?),
        ])
    }

    /// The checkpoint that holds, if its place lies in the log.
    ///
    /// # Errors
    /// If the file cannot be read; the corruption if no checkpoint is valid.
    pub fn checkpoint(&self) -> io::Result<Result<Checkpoint, Corruption>> {
        let newest = Checkpoint::newest(&self.block(0, CHECKPOINT_1)?, &self.block(0, CHECKPOINT_2)?);
        Ok(newest.and_then(|c| self.geometry.check_anchor(LogAnchor::from(&c)).map(|()| c)))
    }

    /// Reads the log from a checkpoint to its end and hands out every record of whole mini-transactions, with the run
    /// of bytes it lies in and where its mini-transaction begins and ends.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn scan(&self, from: &Checkpoint, visit: &mut Visit<'_>) -> io::Result<LogEnd> {
        let anchor = LogAnchor::from(from);
        let mut lsn = block_start(from.lsn);
        let mut end = LogEnd { lsn: from.lsn, blocks: 0, groups: 0, records: 0, left_over: 0, stopped: None };
        let mut run = Run::default();
        let mut records = Vec::new();
        // The ring holds no more blocks than this: a log that fills it ends there.
        let most = self.geometry.capacity() / BLOCK_SIZE as u64;
        while end.blocks < most {
            let at = self.geometry.position(lsn, anchor);
            let block = self.block(at.file as usize, at.offset)?;
            let header = match check_block(&block, lsn) {
                Ok(header) => header,
                Err(e) => {
                    // A block of another round of the ring is the ordinary end after a full block.
                    if looks_written_now(&block, lsn) {
                        end.stopped = Some(e);
                    }
                    break;
                }
            };
            end.blocks += 1;
            let payload = header.payload();
            let skip = (from.lsn.get().saturating_sub(lsn.get()) as usize).max(payload.start);
            if run.bytes.is_empty() {
                run.start = Lsn(lsn.get() + skip as u64);
            }
            run.bytes.extend_from_slice(block.get(skip..payload.end).unwrap_or_default());
            end.lsn = Lsn(lsn.get() + u64::from(header.data_len)).max(end.lsn);
            if let Err(e) = take_groups(&mut run, &mut records, &mut end, visit) {
                end.stopped = Some(e);
                break;
            }
            if !header.is_full() {
                break;
            }
            lsn = Lsn(lsn.get() + BLOCK_SIZE as u64);
        }
        end.left_over = run.bytes.len();
        Ok(end)
    }
}

/// Whether the log of a folder is in a later server's format.
///
/// # Errors
/// If its first file cannot be read.
pub fn foreign_log(dir: &Path) -> io::Result<Option<Foreign>> {
    let path = dir.join("ib_logfile0");
    if !path.is_file() {
        return Ok(None);
    }
    let mut block = [0; BLOCK_SIZE];
    let file = File::open(path)?;
    if file.metadata()?.len() < BLOCK_SIZE as u64 {
        return Ok(None);
    }
    file.read_exact_at(&mut block, 0)?;
    Ok(maker::of_log(&FileHeader::decode(&block)))
}

/// Whether a block that failed its check carries the number of this round: then it is damaged, not old.
fn looks_written_now(block: &Block, lsn: Lsn) -> bool {
    BlockHeader::read(block).number == block_number(lsn)
}

/// Hands out all whole mini-transactions at the start of `run` and removes them.
fn take_groups(
    run: &mut Run,
    records: &mut Vec<Record>,
    end: &mut LogEnd,
    visit: &mut Visit<'_>,
) -> Result<(), Corruption> {
    let mut done = 0;
    while done < run.bytes.len() {
        let rest = &run.bytes[done..];
        let Some(len) = redo_rec::parse_group(rest, records)? else { break };
        end.groups += 1;
        end.records += records.len() as u64;
        let lsn = lsn_after(run.start, done as u64)..lsn_after(run.start, (done + len) as u64);
        for record in records.iter() {
            visit(record, rest, lsn.clone());
        }
        if len == 0 {
            return Err(Corruption::new("redo record", "a mini-transaction has no bytes"));
        }
        done += len;
    }
    run.bytes.drain(..done);
    run.start = lsn_after(run.start, done as u64);
    if run.bytes.len() > RUN_MAX {
        return Err(Corruption::new("redo record", "a mini-transaction never ends"));
    }
    Ok(())
}
