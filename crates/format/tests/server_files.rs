//! Pages, system pages and logs that a real server wrote pass every check and hold what the server says.
#![allow(clippy::unwrap_used, reason = "test code")]

mod common;

use common::{DataDir, ibd_files};
use vaquita_base::codec::get_u32;
use vaquita_base::{Lsn, PageNo};
use vaquita_format::PageSize;
use vaquita_format::checksum::{ChecksumAlgorithm, PageState, identify, stamp, verify};
use vaquita_format::fil::{self, PageType};
use vaquita_format::flags::SpaceFlags;
use vaquita_format::redo_file::{
    self, Block, BlockHeader, Checkpoint, FileHeader, LogAnchor, LogGeometry, check_block,
};

/// Offset of the space flags on page 0.
const FLAGS: usize = 54;
/// Space id of `shop/doc`, KEY_BLOCK_SIZE 4, in the data directory.
const COMPRESSED_TABLE: u32 = 9;

fn page_size(file: &[u8]) -> PageSize {
    SpaceFlags::decode(get_u32(file, FLAGS)).unwrap().page_size()
}

#[test]
fn every_page_of_every_table_passes() {
    let (mut pages, mut fresh, mut sizes) = (0, 0, std::collections::HashSet::new());
    for path in ibd_files() {
        let file = std::fs::read(&path).unwrap();
        let size = page_size(&file);
        sizes.insert(size);
        assert_eq!(file.len() % size.physical(), 0, "{}", path.display());
        for (no, page) in file.chunks_exact(size.physical()).enumerate() {
            let state = verify(page, size, ChecksumAlgorithm::StrictInnodb)
                .unwrap_or_else(|e| panic!("{} page {no}: {e}", path.display()));
            pages += 1;
            if state == PageState::Fresh {
                fresh += 1;
                continue;
            }
            assert_eq!(fil::page_no(page), PageNo(no as u32), "{}", path.display());
            assert_eq!(fil::space_id(page), fil::space_id(&file));
            assert!(fil::page_type(page).is_some());
            assert_eq!(identify(page, size), Some(ChecksumAlgorithm::Innodb));
            // Stamping gives back the bytes the server wrote.
            let mut again = page.to_vec();
            fil::set_checksum(&mut again, 0);
            stamp(&mut again, size, ChecksumAlgorithm::Innodb);
            assert_eq!(again, page, "{} page {no}", path.display());
        }
    }
    assert!(pages > 600 && fresh > 50, "{pages} pages, {fresh} fresh");
    assert_eq!(sizes.len(), 6, "16K plain and 1K to 16K compressed: {sizes:?}");
}

#[test]
fn every_flipped_byte_of_a_server_page_is_detected() {
    for name in ["delmark.ibd", "zip1.ibd"] {
        let file = std::fs::read(common::corpus().join(name)).unwrap();
        let size = page_size(&file);
        let mut page = file[3 * size.physical()..4 * size.physical()].to_vec();
        assert_eq!(fil::page_type(&page), Some(PageType::Index));
        for at in 0..page.len() {
            let covered = match at {
                26..34 => false,
                34..38 => size.is_compressed(),
                16..24 => !size.is_compressed(),
                // One fold of 16K costs 30 microseconds: a sample of the body is enough.
                100.. if at % 13 != 0 && at + 8 < page.len() => continue,
                _ => true,
            };
            page[at] ^= 1 << (at % 8);
            assert_eq!(verify(&page, size, ChecksumAlgorithm::Innodb).is_err(), covered, "{name} byte {at}");
            page[at] ^= 1 << (at % 8);
        }
    }
}

#[test]
fn system_tablespace_of_a_clean_shutdown_passes() {
    let dir = DataDir::unpack("ibdata");
    let file = dir.read("ibdata1");
    let size = page_size(&file);
    assert_eq!((size, file.len()), (PageSize::DEFAULT, 12 << 20));
    let zip4 = PageSize::compressed(16384, 4096).unwrap();
    let mut compressed_copies = 0;
    for (no, page) in file.chunks_exact(size.physical()).enumerate() {
        // The doublewrite area holds copies of other pages, compressed ones in the first bytes of their place.
        let copy = (64..192).contains(&no);
        if copy && fil::space_id(page).get() == COMPRESSED_TABLE {
            verify(&page[..4096], zip4, ChecksumAlgorithm::StrictInnodb).unwrap();
            assert!(page[4096..].iter().all(|&b| b == 0));
            compressed_copies += 1;
            continue;
        }
        let state = verify(page, size, ChecksumAlgorithm::StrictInnodb).unwrap();
        assert!(copy || state == PageState::Fresh || fil::page_no(page) == PageNo(no as u32));
    }
    assert!(compressed_copies > 0);
    let types: Vec<_> =
        file.chunks_exact(size.physical()).take(13).map(|p| fil::page_type(p).unwrap()).collect();
    use PageType::{FspHdr, IbufBitmap, Index, Inode, Sys, TrxSys};
    assert_eq!(
        types,
        [FspHdr, IbufBitmap, Inode, Sys, Index, TrxSys, Sys, Sys, Index, Index, Index, Index, Index]
    );
    assert_eq!(fil::flush_lsn(&file), Lsn(1_750_900));
}

fn block(file: &[u8], at: u64) -> &Block {
    file[at as usize..].first_chunk().unwrap()
}

#[test]
fn log_of_a_clean_shutdown_is_read_to_its_end() {
    let dir = DataDir::unpack("log");
    let files = [dir.read("ib_logfile0"), dir.read("ib_logfile1")];
    let header = FileHeader::decode(block(&files[0], 0));
    assert_eq!(header, FileHeader::new(Lsn(1_643_520)));
    assert_eq!(&header.encode(), block(&files[0], 0));

    let blocks = (block(&files[0], redo_file::CHECKPOINT_1), block(&files[0], redo_file::CHECKPOINT_2));
    let first = Checkpoint::decode(blocks.0).unwrap();
    assert_eq!((first.number, first.lsn, first.offset), (0, Lsn(1_643_532), 2060));
    let newest = Checkpoint::newest(blocks.0, blocks.1).unwrap();
    assert_eq!((newest.number, newest.lsn, newest.offset), (1, Lsn(1_750_900), 109_428));
    assert_eq!(newest.buffer_size, 8 << 20);
    for (checkpoint, stored) in [(first, blocks.0), (newest, blocks.1)] {
        assert_eq!(&checkpoint.encode(), stored);
        assert_eq!(block(&files[0], Checkpoint::slot(checkpoint.number)), stored);
    }

    // From the first checkpoint the log is read to where the second says it ends.
    let geometry = LogGeometry::new(2, files[0].len() as u64).unwrap();
    let anchor = LogAnchor::from(&first);
    geometry.check_anchor(anchor).unwrap();
    let mut lsn = redo_file::block_start(first.lsn);
    let last = loop {
        let at = geometry.position(lsn, anchor);
        let block = block(&files[at.file as usize], at.offset);
        let header = check_block(block, lsn).unwrap();
        let mut again = *block;
        again[508..].fill(0);
        header.write(&mut again);
        redo_file::seal_block(&mut again);
        assert_eq!(&again, block);
        if !header.is_full() {
            break header;
        }
        lsn = Lsn(lsn.get() + 512);
    };
    assert_eq!(lsn.get() + u64::from(last.data_len), 1_750_900);
    let want = BlockHeader { number: 3420, flush: true, data_len: 372, first_group: 189, checkpoint_no: 1 };
    assert_eq!(last, want);
}
