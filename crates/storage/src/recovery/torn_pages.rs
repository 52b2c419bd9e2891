//! Repair of torn pages from the doublewrite area.
//!
//! The area holds whole copies of the pages that were last written. A page whose place holds something that fails
//! its checks is replaced by its copy, if the copy passes them. A place whose content passes is left alone, whatever
//! its LSN: the copy may be older (the batch before) or newer (the places had not been reached).
//!
//! A place that holds what the copy holds is written again: after a failed sync it may be whole in the system's cache
//! only, and torn on the disk, where nothing but a new write mends it. The copies are overwritten soon.
//!
//! A copy that is not newer than the checkpoint is left over from a batch that ended well, and its place may have
//! been written again since, by a batch that reused other slots. Redo would not make such a copy current: if its
//! place is damaged, that is no torn write, and it has to be reported.

use crate::error::{Error, Result};
use crate::space::SpaceMap;
use vaquita_base::{Lsn, PageId, PageNo, SpaceId};
use vaquita_format::checksum::{self, ChecksumAlgorithm, PageState};
use vaquita_format::{PageSize, fil};
use vaquita_io::AlignedBuf;

/// Looks at every copy in the area; returns how many places were repaired.
///
/// # Errors
/// I/O errors. Copies of pages that no open space has are skipped.
pub(crate) fn repair_torn_pages(
    spaces: &SpaceMap,
    blocks: [PageNo; 2],
    page_size: PageSize,
    algorithm: ChecksumAlgorithm,
    checkpoint: Lsn,
) -> Result<usize> {
    let mut copy = AlignedBuf::zeroed(page_size.logical());
    let mut place = AlignedBuf::zeroed(page_size.logical());
    let mut repaired = 0;
    for no in blocks.into_iter().flat_map(|first| (0..page_size.extent_pages()).map(move |i| first.0 + i)) {
        let slot = spaces.locate(PageId::new(SpaceId::SYSTEM, PageNo(no)))?;
        slot.file.read_at(&mut copy, slot.offset)?;
        if !matches!(checksum::verify(&copy, page_size, algorithm), Ok(PageState::Valid)) {
            continue;
        }
        let id = PageId::new(fil::space_id(&copy), fil::page_no(&copy));
        if fil::lsn(&copy) <= checkpoint {
            continue;
        }
        let target = match spaces.locate(id) {
            Ok(target) => target,
            // Beyond the end: the growth of the file was not synced before the crash. All of the page is in the log.
            Err(Error::NoSuchSpace(_) | Error::BeyondEnd { .. }) => continue,
            Err(e) => return Err(e),
        };
        target.file.read_at(&mut place, target.offset)?;
        let own = (fil::space_id(&place), fil::page_no(&place)) == (id.space, id.page_no);
        // An empty place would do for a page that was never written, but here a copy says that it was.
        if !own || !matches!(checksum::verify(&place, page_size, algorithm), Ok(PageState::Valid)) {
            target.file.write_at(&copy, target.offset)?;
            repaired += 1;
        } else if fil::lsn(&place) == fil::lsn(&copy) {
            target.file.write_at(&place, target.offset)?;
        } else {
            continue;
        }
        target.mark_written();
    }
    spaces.sync_all()?;
    Ok(repaired)
}
