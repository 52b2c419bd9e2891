//! Pages of the system tablespace: transaction system, rollback segments, dictionary header; change buffer records.

use vaquita_format::PageSize;
use vaquita_format::dict::DictHeader;
use vaquita_format::ibuf::Metadata;
use vaquita_format::rseg::RollbackSegment;
use vaquita_format::trx_sys::{self, Doublewrite, LogInfo};

/// The input is the front and the back of a page, read as every kind of system page.
pub(super) fn pages(data: &[u8]) {
    let mut page = vec![0; 4096];
    let half = data.len().min(4096) / 2;
    let (front, back) = (&data[..half], &data[half..data.len().min(4096)]);
    page[..half].copy_from_slice(front);
    let at = page.len() - back.len();
    page[at..].copy_from_slice(back);

    let _ = (trx_sys::trx_id_store(&page), trx_sys::file_format(&page));
    let _ = trx_sys::next_trx_id(trx_sys::trx_id_store(&page));
    for n in 0..trx_sys::N_RSEGS {
        let _ = trx_sys::rseg(&page, n);
    }
    if let Ok(Some(area)) = Doublewrite::read(&page) {
        let size = PageSize::new(page.len()).expect("a page size");
        assert!(area.contains(size, area.blocks[0]));
    }
    for offset in [1024, 2048] {
        if let Some(info) = LogInfo::read(&page, offset) {
            let mut again = page.clone();
            let stored = info.encode();
            again[offset..offset + stored.len()].copy_from_slice(&stored);
            assert_eq!(LogInfo::read(&again, offset), Some(info));
        }
    }
    let segment = RollbackSegment::new(&page);
    let used = segment.used_slots().count();
    assert_eq!(segment.first_empty_slot().is_none(), used == segment.n_slots());
    let _ = (segment.max_size(), segment.history(), segment.segment());
    let _ = DictHeader::read(&page);

    if let Ok(metadata) = Metadata::decode(data) {
        assert_eq!(metadata.fields().count() * 6 + 4, data.len());
    }
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let mut page = vec![0xFF; 4096];
    page[38..200].fill(0);
    let metadata = [0, 1, 0, 1, 6, 3, 0, 4, 0, 33];
    vec![page, metadata.to_vec(), metadata[..4].to_vec()]
}
