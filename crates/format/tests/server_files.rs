//! Pages, system pages and logs that a real server wrote pass every check and hold what the server says.
#![allow(clippy::unwrap_used, reason = "test code")]

use crate::common;

use common::{DataDir, ibd_files};
use vaquita_base::codec::get_u32;
use vaquita_base::{IndexId, Lsn, PageNo, SegmentId, SpaceId, TableId, TrxId};
use vaquita_format::checksum::{ChecksumAlgorithm, PageState, identify, stamp, verify};
use vaquita_format::dict::DictHeader;
use vaquita_format::fil::{self, PageType};
use vaquita_format::flags::SpaceFlags;
use vaquita_format::flst::{FileAddress, ListBase, SegmentHeader};
use vaquita_format::fsp::check::{SpaceSummary, check_space};
use vaquita_format::fsp::{Inode, SpaceHeader, Xdes};
use vaquita_format::redo_file::{
    self, Block, BlockHeader, Checkpoint, FileHeader, LogAnchor, LogGeometry, check_block,
};
use vaquita_format::rseg::RollbackSegment;
use vaquita_format::trx_sys::{self, Doublewrite};
use vaquita_format::undo::record::{UndoHeader, UndoRecord, UndoType, UpdateWriter, push_insert};
use vaquita_format::undo::{LogHeader, SegmentState, UndoKind, UndoPage, UndoPlace};
use vaquita_format::{PageSize, fsp, ibuf};

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

fn check_file(file: &[u8]) -> vaquita_format::Result<SpaceSummary> {
    let phys = page_size(file).physical();
    check_space(&|no: PageNo| {
        let at = no.get() as usize * phys;
        file.get(at..at + phys)
    })
}

#[test]
fn space_management_of_every_table_is_sound() {
    let mut states = [0; 5];
    for path in ibd_files() {
        let file = std::fs::read(&path).unwrap();
        let summary = check_file(&file).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let (header, size) = (summary.header, summary.page_size);
        assert_eq!(header.space, fil::space_id(&file));
        assert!(header.size as usize * size.physical() <= file.len());
        assert_eq!(header.encode(), file[38..150]);
        summary.extents.iter().zip(&mut states).for_each(|(n, sum)| *sum += n);
        // Two segments for each tree: the first one is the root's.
        let first = Inode::at(size, &file[2 * size.physical()..3 * size.physical()], 50).unwrap();
        assert_eq!((first.segment_id(), first.fragment(0)), (SegmentId(1), Some(PageNo(3))));
        assert!(summary.segments.len() >= 2 && summary.segments.len().is_multiple_of(2));
    }
    assert!(states[1] > 0 && states[2] > 0 && states[4] > 0, "{states:?}");
}

#[test]
fn damaged_space_management_is_named() {
    let file = std::fs::read(common::corpus().join("tree.ibd")).unwrap();
    let sound = check_file(&file).unwrap();
    assert!(sound.extents[4] > 0, "the table owns extents");
    let inode_page = 2 * 16384;
    for (at, what) in [
        (61, "used fragment pages"),
        (53, "free limit"),
        (65, "list base of the space header"),
        (150 + 23, "extent on a list"),
        (150 + 24, "used fragment pages"),
        (150 + 40 + 23, "extent on a list"),
        (inode_page + 50 + 60, "segment inode magic"),
        (inode_page + 50 + 192 + 11, "used pages of NOT_FULL extents"),
        (inode_page + 50 + 66, "fragment page"),
        (inode_page + 50 + 192 + 67, "fragment page"),
    ] {
        let mut bad = file.clone();
        bad[at] ^= 1;
        let err = check_file(&bad).unwrap_err();
        assert!(err.check == what || err.check == "list" || err.check == "extent state", "byte {at}: {err}");
    }
    // Any single damaged byte of header, descriptors and inodes gives an answer, sound or not.
    let mut bad = file.clone();
    for at in (38..3000).chain(inode_page + 38..inode_page + 1000) {
        for bit in [1, 0x80] {
            bad[at] ^= bit;
            let _ = check_space(&|no: PageNo| bad.chunks_exact(16384).nth(no.get() as usize));
            bad[at] ^= bit;
        }
    }
}

#[test]
fn change_buffer_bits_of_every_table() {
    for path in ibd_files() {
        let file = std::fs::read(&path).unwrap();
        let size = page_size(&file);
        let phys = size.physical();
        // Bitmap pages above the free limit are not made yet.
        let limit = SpaceHeader::read(&file).free_limit.min((file.len() / phys) as u32);
        for no in (0..limit).map(PageNo) {
            let page = &file[no.get() as usize * phys..][..phys];
            if fsp::is_bitmap_page(size, no) {
                assert_eq!(fil::page_type(page), Some(PageType::IbufBitmap), "{}", path.display());
            }
            let at = fsp::bitmap_page(size, no).get() as usize * phys;
            let bits = ibuf::get(size, &file[at..at + phys], no);
            // Exported tables have nothing buffered, and only the system tablespace has the tree.
            assert!(!bits.buffered && !bits.ibuf, "{} page {no}", path.display());
        }
    }
}

/// Pages of `ibdata1`.
struct System(Vec<u8>);

impl System {
    fn page(&self, no: u32) -> &[u8] {
        &self.0[no as usize * 16384..][..16384]
    }
}

fn in_page_2(offset: u16) -> SegmentHeader {
    SegmentHeader { space: SpaceId(0), inode: FileAddress::new(PageNo(2), offset) }
}

#[test]
fn system_pages_of_a_clean_shutdown() {
    let dir = DataDir::unpack("system");
    let system = System(dir.read("ibdata1"));
    let summary = check_file(&system.0).unwrap();
    assert_eq!((summary.header.size, summary.header.free_limit), (768, 576));
    let x = Xdes::of(PageSize::DEFAULT, system.page(0), PageNo(64));
    assert!(x.bitmap().is_full(), "the first doublewrite block");
    assert_eq!(SpaceHeader::read(system.page(0)), summary.header);

    let trx_sys = system.page(5);
    assert_eq!(trx_sys::trx_id_store(trx_sys), TrxId(28416));
    assert!((0..128).all(|n| trx_sys::rseg(trx_sys, n).is_some()));
    assert_eq!(trx_sys::rseg(trx_sys, 0), Some((SpaceId(0), PageNo(6))));
    assert_eq!(trx_sys::rseg(trx_sys, 1), Some((SpaceId(0), PageNo(45))));
    let area = Doublewrite::read(trx_sys).unwrap().unwrap();
    let want =
        Doublewrite { segment: in_page_2(2738), blocks: [PageNo(64), PageNo(128)], space_id_stored: true };
    assert_eq!(area, want);
    assert_eq!(trx_sys::file_format(trx_sys), Some(1));
    assert_eq!(trx_sys::LogInfo::read(trx_sys, trx_sys::binlog_offset(16384)), None);

    let dict = DictHeader::read(system.page(7));
    let want = DictHeader {
        row_id: 512,
        table_id: TableId(37),
        index_id: IndexId(44),
        space_id: SpaceId(22),
        ..DictHeader::new(in_page_2(626))
    };
    assert_eq!(dict, want);
    let mut again = system.page(7).to_vec();
    again[38..104].fill(0xEE);
    again[90..94].fill(0);
    dict.write(&mut again);
    assert_eq!(again, system.page(7));
}

#[test]
fn a_new_rollback_segment_is_the_servers() {
    let dir = DataDir::unpack("rseg");
    let system = System(dir.read("ibdata1"));
    let mut empty = 0;
    for n in 0..128 {
        let (_, no) = trx_sys::rseg(system.page(5), n).unwrap();
        let page = system.page(no.get());
        let rseg = RollbackSegment::new(page);
        assert_eq!(rseg.max_size(), vaquita_format::rseg::MAX_SIZE_VALUE);
        assert!(rseg.history().is_plausible());
        if rseg.used_slots().count() == 0 && rseg.history() == ListBase::EMPTY {
            let mut ours = vec![0u8; 16384];
            vaquita_format::rseg::init_page(&mut ours, SpaceId(0), no, rseg.segment());
            assert_eq!(ours[24..16376], page[24..16376], "rollback segment {n}");
            empty += 1;
        }
    }
    assert!(empty > 50, "{empty} segments never used");
}

/// Key fields of the tables whose undo records are left in the fixture.
fn key_fields(table: TableId) -> usize {
    match table.get() {
        // SYS_COLUMNS, SYS_INDEXES, SYS_FIELDS, SYS_FOREIGN_COLS, innodb_table_stats, FULLTEXT index tables.
        2..=4 | 12 | 15 | 30..=35 => 2,
        // innodb_index_stats.
        16 => 4,
        _ => 1,
    }
}

#[test]
fn undo_logs_left_behind_are_read_to_their_ends_and_written_again() {
    let dir = DataDir::unpack("undo");
    let system = System(dir.read("ibdata1"));
    let (mut inserts, mut others, mut logs) = (0, 0, 0);
    for n in 0..128u8 {
        let (_, rseg_page) = trx_sys::rseg(system.page(5), n.into()).unwrap();
        let rseg = RollbackSegment::new(system.page(rseg_page.get()));
        for (_, no) in rseg.used_slots() {
            let page = UndoPage::new(system.page(no.get())).unwrap();
            assert_eq!(page.state(), Ok(SegmentState::Cached));
            assert_eq!(page.pages(), ListBase::single(FileAddress::new(no, 44)));
            let mut log = page.last_log();
            while log != 0 {
                logs += 1;
                let header = LogHeader::read(system.page(no.get()), log).unwrap();
                let records = page.records_of(Some(log)).unwrap();
                let mut last = None;
                for record in records.iter() {
                    let (off, body) = record.unwrap();
                    assert_eq!(records.prev(off).unwrap(), last);
                    last = Some(off);
                    let again = written_again(body);
                    assert_eq!(again, body, "page {no} offset {off}");
                    match UndoHeader::parse(body).unwrap().ty {
                        UndoType::Insert => inserts += 1,
                        _ => others += 1,
                    }
                }
                assert_eq!(records.last().unwrap(), last);
                assert!(header.trx_id > TrxId(0) && last.is_some());
                log = header.prev;
            }
            let kind = page.kind().unwrap();
            assert!(kind == UndoKind::Insert || rseg.history().len <= 1);
        }
    }
    assert!(logs > 20 && inserts > 100 && others > 20, "{logs} logs, {inserts} inserts, {others} others");
}

fn written_again(body: &[u8]) -> Vec<u8> {
    let header = UndoHeader::parse(body).unwrap();
    let record = UndoRecord::parse(body, key_fields(header.table_id)).unwrap();
    let mut out = Vec::new();
    let Some(old) = record.old else {
        push_insert(&mut out, header.undo_no, header.table_id, record.key());
        return out;
    };
    assert!(UndoPlace::decode(old.roll_ptr).rseg < 128);
    let mut writer = UpdateWriter::new(&mut out, header, old);
    writer.key(record.key());
    if header.ty != UndoType::DeleteMark {
        writer.updates(record.updates().collect::<Vec<_>>());
    }
    if writer.needs_ordering() {
        writer.ordering(record.ordering()).unwrap();
    }
    out
}
