//! The doublewrite area: whole copies of pages, durable before the pages' places are touched.
//!
//! Two runs of an extent each in the system tablespace, recorded in the TRX_SYS page, as InnoDB places them
//! (pages 64–127 and 128–191 of a folder with 16K pages). A slot holds a page verbatim; it is identified by its
//! own space id and page number. What it protects from is a page of which only some 512-byte sectors reached the
//! disk: redo cannot be applied to such a mixture.
//!
//! # Crash
//! See [`crate::flush`]; the repair is in `recovery::torn_pages`.

use crate::buf::BufferPool;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::space::{PageLocation, SpaceMap};
use vaquita_base::{Lsn, PageId, PageNo, SpaceId};
use vaquita_format::checksum::{self, ChecksumAlgorithm};
use vaquita_format::{PageSize, fil};
use vaquita_io::{AlignedBuf, BatchOp, FlushMethod, Transfer};

/// Pages of a batch at most: two megabytes of 16K pages.
const COPIES_MAX: usize = 128;

/// Copies of pages, one after the other in aligned memory.
#[derive(Debug)]
pub(crate) struct PageCopies {
    bytes: AlignedBuf,
    page_len: usize,
    ids: Vec<PageId>,
}

impl PageCopies {
    /// Copies a batch holds: what fits both runs of the doublewrite area, and half the pool at most.
    pub(crate) fn capacity_of(pool: &BufferPool) -> usize {
        COPIES_MAX.min((pool.frame_count() / 2).max(1))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    pub(crate) fn push(&mut self, id: PageId, bytes: &[u8]) {
        let at = self.ids.len() * self.page_len;
        self.bytes[at..at + self.page_len].copy_from_slice(bytes);
        self.ids.push(id);
    }

    fn page(&self, i: usize) -> &[u8] {
        &self.bytes[i * self.page_len..(i + 1) * self.page_len]
    }

    pub(crate) fn newest_lsn(&self) -> Lsn {
        (0..self.ids.len()).map(|i| fil::lsn(self.page(i))).max().unwrap_or(Lsn::ZERO)
    }

    /// Sets checksums and trailers.
    pub(crate) fn stamp(&mut self, algorithm: ChecksumAlgorithm) {
        let size = PageSize::new(self.page_len).expect("frames have a page size");
        let used = self.ids.len() * self.page_len;
        for page in self.bytes[..used].chunks_exact_mut(self.page_len) {
            checksum::stamp(page, size, algorithm);
        }
    }
}

/// The area and the buffer for it.
#[derive(Debug)]
pub(crate) struct Doublewrite {
    enabled: bool,
    sync_data: bool,
    blocks: Option<[PageNo; 2]>,
    spare: Option<PageCopies>,
}

impl Doublewrite {
    pub(crate) fn new(options: &Options) -> Self {
        let sync_data = options.flush_method != FlushMethod::NoSync;
        Self { enabled: options.doublewrite, sync_data, blocks: None, spare: None }
    }

    pub(crate) fn set_blocks(&mut self, blocks: Option<[PageNo; 2]>) {
        self.blocks = blocks;
    }

    /// An empty set of copies.
    pub(crate) fn take_copies(&mut self, page_len: usize) -> PageCopies {
        self.spare.take().unwrap_or_else(|| PageCopies {
            bytes: AlignedBuf::zeroed(COPIES_MAX * page_len),
            page_len,
            ids: Vec::with_capacity(COPIES_MAX),
        })
    }

    /// Keeps the memory for the next batch.
    pub(crate) fn give_back(&mut self, mut copies: PageCopies) {
        copies.ids.clear();
        self.spare = Some(copies);
    }

    /// Writes stamped copies: to the area, then to their places; all durable on return.
    pub(crate) fn write(&self, spaces: &SpaceMap, copies: &PageCopies) -> Result<()> {
        if let Some(blocks) = self.blocks.filter(|_| self.enabled) {
            Self::write_area(spaces, copies, blocks)?;
        }
        let mut places: Vec<(usize, PageLocation)> = Vec::with_capacity(copies.ids.len());
        for (i, &id) in copies.ids.iter().enumerate() {
            match spaces.locate(id) {
                Ok(location) => places.push((i, location)),
                // The tablespace was dropped after the page was copied.
                Err(Error::NoSuchSpace(_)) => {}
                Err(e) => return Err(e),
            }
        }
        let mut ops: Vec<BatchOp<'_>> = places
            .iter()
            .map(|(i, location)| BatchOp {
                file: &*location.file,
                offset: location.offset,
                transfer: Transfer::Write(copies.page(*i)),
            })
            .collect();
        let mut outcome = Ok(());
        spaces.fs().run_batch(&mut ops, &mut |i, _, result| {
            places[i].1.mark_written();
            if let Err(e) = result {
                outcome = Err(e);
            }
        });
        outcome?;
        match self.sync_data {
            true => Self::sync_places(spaces, &places),
            false => Ok(()),
        }
    }

    /// Syncs the files that were written, each once.
    fn sync_places(spaces: &SpaceMap, places: &[(usize, PageLocation)]) -> Result<()> {
        let mut synced: Vec<&PageLocation> = Vec::new();
        for (_, place) in places {
            if !synced.iter().any(|s| s.is_in_file_of(place)) {
                place.sync(spaces)?;
                synced.push(place);
            }
        }
        Ok(())
    }

    fn write_area(spaces: &SpaceMap, copies: &PageCopies, blocks: [PageNo; 2]) -> Result<()> {
        let run = PageSize::new(copies.page_len).expect("frames have a page size").extent_pages() as usize;
        let used = &copies.bytes[..copies.ids.len() * copies.page_len];
        for (part, first) in used.chunks(run * copies.page_len).zip(blocks) {
            let location = spaces.locate(PageId::new(SpaceId::SYSTEM, first))?;
            location.file.write_at(part, location.offset)?;
            location.mark_written();
        }
        spaces.sync(&*spaces.get(SpaceId::SYSTEM)?)
    }
}
