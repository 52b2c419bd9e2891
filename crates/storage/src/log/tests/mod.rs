//! Tests of the redo log, by subject.

mod append;
mod crash;
mod failures;
mod files;
mod group_commit;
mod model;
mod mysql;
mod room;
mod threads;

use std::path::Path;
use std::sync::Arc;

use vaquita_base::codec::{get_u32, get_u64, put_u32, put_u64};
use vaquita_base::{Clock, Lsn, ManualClock, Rng};
use vaquita_format::Corruption;
use vaquita_format::redo_file::FIRST_LSN;
use vaquita_io::FileSystem;
use vaquita_io::sim::SimDisk;

use super::{Appended, BUFFER_BYTES_MIN, FolderId, LogConfig, LogReader, NewLog, RedoLog, Result};

const DIR: &str = "/db";
const FOLDER: FolderId = FolderId([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);

/// Bytes of the shortest test mini-transaction.
const GROUP_MIN: usize = 12;

/// A made-up mini-transaction: its length, its id, bytes that follow from both.
fn group(id: u64, len: usize) -> Vec<u8> {
    assert!(len >= GROUP_MIN);
    let mut bytes = vec![0; len];
    Rng::new(id ^ (len as u64) << 40).fill(&mut bytes[GROUP_MIN..]);
    put_u32(&mut bytes, 0, len as u32);
    put_u64(&mut bytes, 4, id);
    bytes
}

/// Length of the made-up mini-transaction at the front.
fn parse(run: &[u8]) -> std::result::Result<Option<usize>, Corruption> {
    if run.len() < GROUP_MIN {
        return Ok(None);
    }
    let len = get_u32(run, 0) as usize;
    if len < GROUP_MIN {
        return Err(Corruption::new("test group", format!("length {len}")));
    }
    Ok((len <= run.len()).then_some(len))
}

/// Checks a made-up mini-transaction and gives its id.
fn id_of(payload: &[u8]) -> u64 {
    let id = get_u64(payload, 4);
    assert!(payload == group(id, payload.len()), "mini-transaction {id} was changed");
    id
}

fn config(buffer_bytes: usize) -> LogConfig {
    LogConfig { buffer_bytes, ..LogConfig::new(DIR, FOLDER) }
}

/// The same without the page cache.
fn direct(buffer_bytes: usize) -> LogConfig {
    LogConfig { direct: true, ..config(buffer_bytes) }
}

fn new_log(files: u32, file_bytes: u64) -> NewLog {
    NewLog { files, file_bytes, first_lsn: FIRST_LSN }
}

/// Two small files and the smallest buffer.
const SMALL: NewLog = NewLog { files: 2, file_bytes: 64 << 10, first_lsn: FIRST_LSN };

fn disk(seed: u64) -> SimDisk {
    let disk = SimDisk::new(seed);
    disk.put_dir(Path::new(DIR));
    disk
}

fn clock() -> Arc<dyn Clock> {
    Arc::new(ManualClock::new())
}

fn create(disk: &SimDisk, new: NewLog) -> RedoLog {
    RedoLog::create(disk, clock(), config(BUFFER_BYTES_MIN), new).unwrap()
}

fn open(disk: &SimDisk) -> Result<LogReader> {
    let fs: Arc<dyn FileSystem> = Arc::new(disk.clone());
    LogReader::open(fs, Path::new(DIR), Some(FOLDER))
}

/// Appends and closes a mini-transaction.
fn append(log: &RedoLog, id: u64, len: usize) -> Appended {
    let appended = log.append(&group(id, len));
    log.closed(&appended);
    appended
}

/// A mini-transaction as scanned or as remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    start: Lsn,
    end: Lsn,
    id: u64,
}

impl Seen {
    fn new(id: u64, appended: Appended) -> Self {
        Self { start: appended.start, end: appended.end, id }
    }
}

/// All mini-transactions from the checkpoint on.
fn scan(reader: &mut LogReader) -> Result<Vec<Seen>> {
    let mut seen = Vec::new();
    while let Some(g) = reader.next_group_by(parse)? {
        seen.push(Seen { start: g.start, end: g.end, id: id_of(g.payload) });
    }
    assert!(reader.end_reason().is_some());
    assert_eq!(reader.end_lsn(), seen.last().map_or(reader.checkpoint_lsn(), |s| s.end));
    Ok(seen)
}

/// Scans and opens for appending.
fn reopen(disk: &SimDisk) -> (Vec<Seen>, RedoLog) {
    let mut reader = open(disk).unwrap();
    let seen = scan(&mut reader).unwrap();
    (seen, reader.into_log(clock(), config(BUFFER_BYTES_MIN)).unwrap())
}

/// Mostly short lengths, some longer than a block, a few longer than the smallest buffer.
fn random_len(rng: &mut Rng) -> usize {
    GROUP_MIN
        + match rng.below(20) {
            0 => rng.index(3 * BUFFER_BYTES_MIN),
            1..5 => rng.index(1500),
            _ => rng.index(150),
        }
}
