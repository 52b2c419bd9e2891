//! A file's pages go through a [`Pass`] into another file: one thread reads them and looks at their checksums, one converts them,
//! [`WRITERS`] stamp and write them, a megabyte at a time. Chunks that were written are read into again; there are never more of them
//! than [`CHUNKS`].
//!
//! What is read has most often just been copied there, and is in the system's cache. What is written goes past it, where data files do:
//! the disk is busy while the next pages are converted, not afterwards.

use super::convert::{Found, Pass};
use super::file::Source;
use crate::error::Error;
use crate::waits::check_interrupt;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use vaquita_base::PageNo;
use vaquita_format::checksum::{self, ChecksumAlgorithm, PageState};
use vaquita_format::{Corruption, PageSize};
use vaquita_io::File;
use vaquita_io::aligned::AlignedBuf;
use vaquita_txn::TrxShared;

/// Bytes that are read at once.
const CHUNK: usize = 1 << 20;
/// Threads that write: while one waits for the disk, the other stamps.
const WRITERS: usize = 2;
/// Chunks there are: each thread has one, and one waits between any two kinds of them.
const CHUNKS: usize = 4 + WRITERS;

/// What ends a conversion.
pub(super) enum Failure {
    /// The page is not what it should be.
    Page(PageNo, String),
    /// All pages are, and do not belong together.
    Whole(String),
    Other(Error),
}

fn io(e: vaquita_io::Error) -> Failure {
    Failure::Other(Error::Storage(e.into()))
}

/// Pages one behind the other.
struct Chunk {
    first: PageNo,
    bytes: AlignedBuf,
    /// Bytes that are pages: of the last chunk not all are.
    len: usize,
}

impl Chunk {
    fn pages(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn pages_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.len]
    }
}

/// A chunk as it was read, and what the checksum of each page says.
type Read = (Chunk, Vec<Result<PageState, Corruption>>);

/// Writes the converted file; it is not yet durable.
pub(super) fn copy(
    source: &Source,
    to: &dyn File,
    mut pass: Pass<'_>,
    (size, algorithm): (PageSize, ChecksumAlgorithm),
    watched: &TrxShared,
) -> Result<Found, Failure> {
    let (read, to_convert) = sync_channel(1);
    let (converted, to_write) = sync_channel(1);
    // Theirs alone: when all have failed, the one that converts is told.
    let to_write = Arc::new(Mutex::new(to_write));
    let (written, free) = channel();
    for _ in 0..CHUNKS {
        let bytes = AlignedBuf::zeroed(CHUNK.max(size.physical()));
        written.send(Chunk { first: PageNo(0), bytes, len: 0 }).expect("the other end is in this function");
    }
    to.set_len(u64::from(source.n_pages) * size.physical() as u64).map_err(io)?;
    let converting = || {
        for (mut chunk, states) in to_convert {
            check_interrupt(watched).map_err(Failure::Other)?;
            convert(&mut pass, &mut chunk, states, size)?;
            // Nobody writes: that thread's error is told.
            if converted.send(chunk).is_err() {
                break;
            }
        }
        drop(converted);
        Ok(pass)
    };
    let (reading, converted, writing) = std::thread::scope(|scope| {
        let reader = scope.spawn(|| read_all(source, (size, algorithm), free, read));
        let writers = [(); WRITERS].map(|()| {
            let (to_write, written) = (to_write.clone(), written.clone());
            scope.spawn(move || write_all(to, (size, algorithm), &to_write, &written))
        });
        drop((to_write, written));
        let converted = converting();
        let end = |thread: std::thread::ScopedJoinHandle<'_, Result<(), Failure>>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        (end(reader), converted, writers.map(end))
    });
    // The first page that is wrong is told, however far the others were.
    let pass = converted?;
    reading?;
    writing.into_iter().collect::<Result<(), _>>()?;
    pass.end(source).map_err(Failure::Whole)
}

fn convert(
    pass: &mut Pass<'_>,
    chunk: &mut Chunk,
    states: Vec<Result<PageState, Corruption>>,
    size: PageSize,
) -> Result<(), Failure> {
    let first = chunk.first.get();
    let pages = chunk.pages_mut().chunks_exact_mut(size.physical());
    for (at, (page, state)) in pages.zip(states).enumerate() {
        let no = PageNo(first + at as u32);
        let converted = state.map_err(|e| e.to_string()).and_then(|state| pass.page(no, page, state));
        converted.map_err(|e| Failure::Page(no, e))?;
    }
    Ok(())
}

/// Reads the file into chunks that are free. Nobody converting is not this thread's error.
fn read_all(
    source: &Source,
    (size, algorithm): (PageSize, ChecksumAlgorithm),
    free: Receiver<Chunk>,
    read: SyncSender<Read>,
) -> Result<(), Failure> {
    let at_once = (CHUNK / size.physical()).max(1) as u32;
    let mut no = 0;
    while no < source.n_pages {
        let Ok(mut chunk) = free.recv() else { break };
        let pages = at_once.min(source.n_pages - no);
        chunk.first = PageNo(no);
        chunk.len = pages as usize * size.physical();
        source.read(chunk.first, chunk.pages_mut()).map_err(io)?;
        let states = checksum::verify_all(chunk.pages(), size, algorithm);
        if read.send((chunk, states)).is_err() {
            break;
        }
        no += pages;
    }
    Ok(())
}

/// Writes chunks until there are no more.
fn write_all(
    to: &dyn File,
    (size, algorithm): (PageSize, ChecksumAlgorithm),
    to_write: &Mutex<Receiver<Chunk>>,
    written: &Sender<Chunk>,
) -> Result<(), Failure> {
    loop {
        // Whoever waits for one keeps the other from waiting for the next, not from writing.
        let Ok(mut chunk) = to_write.lock().recv() else { return Ok(()) };
        checksum::stamp_all(chunk.pages_mut(), size, algorithm);
        to.write_at(chunk.pages(), u64::from(chunk.first.get()) * size.physical() as u64).map_err(io)?;
        // All may have been read.
        let _ = written.send(chunk);
    }
}
