//! A file's pages go through a [`Pass`] into another file: one thread reads them and looks at their checksums, one converts them, one
//! stamps and writes them, a megabyte at a time. Chunks that were written are read into again; there are never more of them than
//! [`CHUNKS`].

use super::convert::{Found, Pass};
use super::file::Source;
use crate::error::Error;
use crate::waits::check_interrupt;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use vaquita_base::PageNo;
use vaquita_format::checksum::{self, ChecksumAlgorithm, PageState};
use vaquita_format::{Corruption, PageSize};
use vaquita_io::File;
use vaquita_txn::TrxShared;

/// Bytes that are read at once.
const CHUNK: usize = 1 << 20;
/// Chunks there are: each of the three has one, and one waits between any two.
const CHUNKS: usize = 5;

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
    bytes: Vec<u8>,
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
    let (written, free) = channel();
    for _ in 0..CHUNKS {
        let bytes = Vec::with_capacity(CHUNK.max(size.physical()));
        written.send(Chunk { first: PageNo(0), bytes }).expect("the other end is in this function");
    }
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
        let writer = scope.spawn(|| write_all(to, (size, algorithm), to_write, written));
        let converted = converting();
        let end = |thread: std::thread::ScopedJoinHandle<'_, Result<(), Failure>>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        (end(reader), converted, end(writer))
    });
    // The first page that is wrong is told, however far the others were.
    let pass = converted?;
    reading?;
    writing?;
    pass.end(source).map_err(Failure::Whole)
}

fn convert(
    pass: &mut Pass<'_>,
    chunk: &mut Chunk,
    states: Vec<Result<PageState, Corruption>>,
    size: PageSize,
) -> Result<(), Failure> {
    let pages = chunk.bytes.chunks_exact_mut(size.physical());
    for (at, (page, state)) in pages.zip(states).enumerate() {
        let no = PageNo(chunk.first.get() + at as u32);
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
        chunk.bytes.resize(pages as usize * size.physical(), 0);
        source.read(chunk.first, &mut chunk.bytes).map_err(io)?;
        let states = checksum::verify_all(&chunk.bytes, size, algorithm);
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
    to_write: Receiver<Chunk>,
    written: std::sync::mpsc::Sender<Chunk>,
) -> Result<(), Failure> {
    for mut chunk in to_write {
        checksum::stamp_all(&mut chunk.bytes, size, algorithm);
        to.write_at(&chunk.bytes, u64::from(chunk.first.get()) * size.physical() as u64).map_err(io)?;
        // All may have been read.
        let _ = written.send(chunk);
    }
    Ok(())
}
