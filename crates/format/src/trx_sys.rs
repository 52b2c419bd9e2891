//! The transaction system page: page 5 of the system tablespace.
//!
//! | off | size | field |
//! |---|---|---|
//! | 38 | 8 | transaction id store: upper bound of the ids given, written every 256 |
//! | 46 | 10 | segment header |
//! | 56 | 128 * 8 | rollback segments: space u32, header page u32; page `FIL_NULL`: unused |
//! | P-2000 | | replication master's position, see below |
//! | P-1000 | | binary log position, see below |
//! | P-200 | 38 | doublewrite area, see below |
//! | P-16 | 8 | file format tag: A3AC72B5D9505B81 + n |
//!
//! Log positions: magic 873422344 u32, offset u64, NUL-terminated name of at most 512 bytes; zeros if never used.
//!
//! Doublewrite: +0 segment header, +10 magic 536853855, +14 first page of block 1, +18 of block 2, +22 the same
//! three again, +34 1783657386: space ids are stored in pages. Each block is an extent: 64 pages of 16K.
//!
//! # Invariants
//! - I1: every transaction id ever given is below the stored bound plus [`TRX_ID_MARGIN`].
//! - I2: rollback segment 0 has its header in the system tablespace.
//!
//! # Crash
//! Ids between the last one given and the stored bound are lost: [`next_trx_id`] skips them.

use vaquita_base::codec::{get_u32, get_u64, put_u32, put_u64};
use vaquita_base::{PageNo, SpaceId, TrxId};

use crate::fil::{self, PageType};
use crate::flst::SegmentHeader;
use crate::{Corruption, PageSize, Result};

/// The page.
pub const PAGE: PageNo = PageNo(5);
/// Offset of the transaction id store.
pub const TRX_ID_STORE: usize = 38;
/// Offset of the segment header.
pub const SEGMENT: usize = 46;
/// Offset of the rollback segment slots.
pub const RSEGS: usize = 56;
/// Number of rollback segment slots.
pub const N_RSEGS: usize = 128;
/// Bytes of a rollback segment slot.
pub const RSEG_SLOT_SIZE: usize = 8;
/// Slots in pages made by versions with one rollback segment: cleared to unused, of which 128 are used.
const N_OLD_RSEGS: usize = 256;
/// The transaction id store moves in steps of this many ids.
pub const TRX_ID_MARGIN: u64 = 256;
/// Bytes of the doublewrite information.
pub const DOUBLEWRITE_SIZE: usize = 38;

const LOG_INFO_MAGIC: u32 = 873_422_344;
const LOG_INFO_NAME: usize = 12;
/// Longest name of a log file.
pub const LOG_NAME_MAX: usize = 511;
const DOUBLEWRITE_MAGIC: u32 = 536_853_855;
const SPACE_ID_STORED: u32 = 1_783_657_386;
const FORMAT_TAG: u64 = 0xA3AC_72B5_D950_5B81;

/// Offset of the replication master's position on a page of `len` bytes.
#[inline]
pub const fn master_log_offset(len: usize) -> usize {
    len - 2000
}

/// Offset of the binary log position on a page of `len` bytes.
#[inline]
pub const fn binlog_offset(len: usize) -> usize {
    len - 1000
}

/// Offset of the doublewrite information on a page of `len` bytes.
#[inline]
pub const fn doublewrite_offset(len: usize) -> usize {
    len - 200
}

/// Offset of the file format tag on a page of `len` bytes.
#[inline]
pub const fn format_tag_offset(len: usize) -> usize {
    len - 16
}

/// Stored upper bound of transaction ids.
///
/// # Panics
/// If `page` is not a whole page.
#[inline]
pub fn trx_id_store(page: &[u8]) -> TrxId {
    TrxId(get_u64(page, TRX_ID_STORE))
}

/// First transaction id to give after a restart that found `stored`.
#[inline]
pub const fn next_trx_id(stored: TrxId) -> TrxId {
    TrxId(stored.0.div_ceil(TRX_ID_MARGIN).saturating_add(2).saturating_mul(TRX_ID_MARGIN))
}

/// Offset of rollback segment slot `n`.
#[inline]
pub const fn rseg_offset(n: usize) -> usize {
    RSEGS + n * RSEG_SLOT_SIZE
}

/// Header page of rollback segment `n`, `None` for an unused slot.
///
/// # Panics
/// If `page` is not a whole page or `n` is not below [`N_RSEGS`].
pub fn rseg(page: &[u8], n: usize) -> Option<(SpaceId, PageNo)> {
    assert!(n < N_RSEGS, "no rollback segment slot {n}");
    let at = rseg_offset(n);
    let no = PageNo(get_u32(page, at + 4)).some()?;
    Some((SpaceId(get_u32(page, at)), no))
}

/// Stored form of a rollback segment slot.
pub fn encode_rseg(rseg: Option<(SpaceId, PageNo)>) -> [u8; RSEG_SLOT_SIZE] {
    let (space, page) = rseg.unwrap_or((SpaceId(u32::MAX), PageNo::NULL));
    let mut out = [0; RSEG_SLOT_SIZE];
    put_u32(&mut out, 0, space.get());
    put_u32(&mut out, 4, page.get());
    out
}

/// A position in somebody's log: the server's own binary log, or the master's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogInfo {
    /// Byte offset in the log file.
    pub offset: u64,
    /// Name of the log file.
    pub name: Vec<u8>,
}

impl LogInfo {
    /// Reads the position at `off`; `None` if none was ever stored.
    ///
    /// # Panics
    /// If it does not lie within `page`.
    pub fn read(page: &[u8], off: usize) -> Option<Self> {
        if get_u32(page, off) != LOG_INFO_MAGIC {
            return None;
        }
        let name = &page[off + LOG_INFO_NAME..off + LOG_INFO_NAME + LOG_NAME_MAX + 1];
        let len = name.iter().position(|&b| b == 0).unwrap_or(LOG_NAME_MAX);
        Some(Self { offset: get_u64(page, off + 4), name: name[..len].to_vec() })
    }

    /// The stored form, up to and including the NUL of the name; a name too long is cut.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![0; LOG_INFO_NAME];
        put_u32(&mut out, 0, LOG_INFO_MAGIC);
        put_u64(&mut out, 4, self.offset);
        out.extend_from_slice(&self.name[..self.name.len().min(LOG_NAME_MAX)]);
        out.push(0);
        out
    }
}

/// Where the doublewrite area lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Doublewrite {
    /// Segment of the area.
    pub segment: SegmentHeader,
    /// First page of each block of [`Doublewrite::block_pages`].
    pub blocks: [PageNo; 2],
    /// Whether the pages of the data files carry their space id (since MySQL 4.1).
    pub space_id_stored: bool,
}

impl Doublewrite {
    const MAGIC: usize = 10;
    const REPEAT: usize = 22;
    const SPACE_ID_STORED: usize = 34;

    /// Reads where the area lies; `None` if there is none.
    ///
    /// # Errors
    /// [`Corruption`] if the two copies of the block numbers differ and it cannot be told which is right.
    ///
    /// # Panics
    /// If `page` is not a whole page.
    pub fn read(page: &[u8]) -> Result<Option<Self>> {
        let at = doublewrite_offset(page.len());
        let info = &page[at..at + DOUBLEWRITE_SIZE];
        let copy = |off: usize| {
            let blocks = [PageNo(get_u32(info, off + 4)), PageNo(get_u32(info, off + 8))];
            (get_u32(info, off) == DOUBLEWRITE_MAGIC).then_some(blocks)
        };
        let blocks = match (copy(Self::MAGIC), copy(Self::REPEAT)) {
            (None, None) => return Ok(None),
            (Some(a), Some(b)) if a != b => {
                let detail = format!("blocks at {a:?} or at {b:?}");
                return Err(Corruption::new("doublewrite information", detail).at(at));
            }
            (Some(one), _) | (None, Some(one)) => one,
        };
        let space_id_stored = get_u32(info, Self::SPACE_ID_STORED) == SPACE_ID_STORED;
        Ok(Some(Self { segment: SegmentHeader::read(info, 0), blocks, space_id_stored }))
    }

    /// The stored form, for [`doublewrite_offset`].
    pub fn encode(&self) -> [u8; DOUBLEWRITE_SIZE] {
        let mut out = [0; DOUBLEWRITE_SIZE];
        out[..Self::MAGIC].copy_from_slice(&self.segment.encode());
        for at in [Self::MAGIC, Self::REPEAT] {
            put_u32(&mut out, at, DOUBLEWRITE_MAGIC);
            put_u32(&mut out, at + 4, self.blocks[0].get());
            put_u32(&mut out, at + 8, self.blocks[1].get());
        }
        if self.space_id_stored {
            put_u32(&mut out, Self::SPACE_ID_STORED, SPACE_ID_STORED);
        }
        out
    }

    /// Pages of each block: an extent.
    pub const fn block_pages(size: PageSize) -> u32 {
        size.extent_pages()
    }

    /// Whether `page` of a system tablespace of this page size is part of the area.
    pub fn contains(&self, size: PageSize, page: PageNo) -> bool {
        self.blocks.iter().any(|b| page.get().wrapping_sub(b.get()) < Self::block_pages(size))
    }
}

/// Newest file format used in the database: 0 Antelope, 1 Barracuda; `None` if no tag is stored.
///
/// # Panics
/// If `page` is not a whole page.
pub fn file_format(page: &[u8]) -> Option<u8> {
    let n = get_u64(page, format_tag_offset(page.len())).wrapping_sub(FORMAT_TAG);
    u8::try_from(n).ok().filter(|&n| n < 26)
}

/// Stored form of the file format tag.
pub fn encode_file_format(format: u8) -> [u8; 8] {
    let mut out = [0; 8];
    put_u64(&mut out, 0, FORMAT_TAG + u64::from(format));
    out
}

/// Makes `page` the transaction system page of a new database, without rollback segments and doublewrite area.
///
/// # Panics
/// If `page` is not a whole page.
pub fn init_page(page: &mut [u8], segment: SegmentHeader) {
    fil::init(page, SpaceId::SYSTEM, PAGE);
    fil::set_page_type(page, PageType::TrxSys);
    put_u64(page, TRX_ID_STORE, 1);
    page[SEGMENT..RSEGS].copy_from_slice(&segment.encode());
    page[RSEGS..RSEGS + N_OLD_RSEGS * RSEG_SLOT_SIZE].fill(0xFF);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flst::FileAddress;

    #[test]
    fn doublewrite_of_the_reference() {
        let bytes = [
            0, 0, 0, 0, 0, 0, 0, 2, 0x0a, 0xb2, 0x1f, 0xff, 0xbd, 0x5f, 0, 0, 0, 0x40, 0, 0, 0, 0x80, 0x1f,
            0xff, 0xbd, 0x5f, 0, 0, 0, 0x40, 0, 0, 0, 0x80, 0x6a, 0x50, 0x73, 0xaa,
        ];
        let mut page = vec![0u8; 16384];
        assert_eq!(Doublewrite::read(&page), Ok(None));
        page[16184..16222].copy_from_slice(&bytes);
        let area = Doublewrite::read(&page).unwrap().unwrap();
        let inode = FileAddress::new(PageNo(2), 2738);
        assert_eq!(area.segment, SegmentHeader { space: SpaceId(0), inode });
        assert_eq!((area.blocks, area.space_id_stored), ([PageNo(64), PageNo(128)], true));
        assert_eq!(area.encode(), bytes);
        let has = |size, no| area.contains(size, PageNo(no));
        assert!(has(PageSize::DEFAULT, 64) && has(PageSize::DEFAULT, 191));
        assert!(!has(PageSize::DEFAULT, 63) && !has(PageSize::DEFAULT, 192));
        // An extent of 8K pages is 128 pages.
        let size = PageSize::new(8192).unwrap();
        assert!(has(size, 255) && !has(size, 256));
        // One damaged copy is made good by the other; two that disagree are not.
        page[16184 + 10] ^= 1;
        assert_eq!(Doublewrite::read(&page), Ok(Some(area)));
        page[16184 + 10] ^= 1;
        page[16184 + 17] ^= 1;
        assert!(Doublewrite::read(&page).is_err());
    }

    #[test]
    fn slots_tag_and_ids() {
        let mut page = vec![0u8; 16384];
        init_page(&mut page, SegmentHeader { space: SpaceId(0), inode: FileAddress::new(PageNo(2), 242) });
        assert!((0..N_RSEGS).all(|n| rseg(&page, n).is_none()));
        let slot = encode_rseg(Some((SpaceId(0), PageNo(6))));
        assert_eq!(slot, [0, 0, 0, 0, 0, 0, 0, 6]);
        page[56..64].copy_from_slice(&slot);
        assert_eq!(rseg(&page, 0), Some((SpaceId(0), PageNo(6))));
        assert_eq!(encode_rseg(None), [0xff; 8]);
        assert_eq!(file_format(&page), None);
        page[16368..16376].copy_from_slice(&encode_file_format(1));
        assert_eq!(page[16368..16376], [0xa3, 0xac, 0x72, 0xb5, 0xd9, 0x50, 0x5b, 0x82]);
        assert_eq!(file_format(&page), Some(1));
        assert_eq!(next_trx_id(TrxId(28416)), TrxId(28416 + 512));
        assert_eq!(next_trx_id(TrxId(28417)), TrxId(28416 + 768));
        assert_eq!(next_trx_id(TrxId(u64::MAX)).get(), u64::MAX);
    }

    #[test]
    fn log_positions() {
        let mut page = vec![0u8; 16384];
        let at = binlog_offset(page.len());
        assert_eq!(LogInfo::read(&page, at), None);
        let info = LogInfo { offset: 0x1_0000_0002, name: b"bin.000007".to_vec() };
        let bytes = info.encode();
        assert_eq!(bytes[..12], [0x34, 0x0f, 0x5e, 0x08, 0, 0, 0, 1, 0, 0, 0, 2]);
        page[at..at + bytes.len()].copy_from_slice(&bytes);
        assert_eq!(LogInfo::read(&page, at), Some(info));
        page[at + 12..at + 12 + 512].fill(b'x');
        assert_eq!(LogInfo::read(&page, at).unwrap().name.len(), LOG_NAME_MAX);
    }
}
