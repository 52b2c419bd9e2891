//! Redo log files: the header of four blocks, checkpoints, 512-byte log blocks, and where an LSN lies.
//!
//! A log is `n` files of one size. The first 2048 bytes of each file are four header blocks; the rest of all files
//! together is one ring of log blocks.
//!
//! Block 0 of a file:
//!
//! | off | size | field |
//! |---|---|---|
//! | 0 | 4 | group id, 0 |
//! | 4 | 8 | LSN at which the data of this file starts, set whenever the file is reused |
//! | 12 | 4 | archived file number, 0 |
//! | 16 | 32 | label: 4 spaces and zeros by a server, "ibbackup ..." by a hot backup |
//!
//! Blocks 1 and 3 of file 0 are the two checkpoints; even checkpoint numbers go to block 1, odd ones to block 3:
//!
//! | off | size | field |
//! |---|---|---|
//! | 0 | 8 | checkpoint number |
//! | 8 | 8 | checkpoint LSN |
//! | 16 | 4 | offset of that LSN in the files laid end to end, low half |
//! | 20 | 4 | log buffer size in bytes |
//! | 24 | 8 | archived LSN, all ones |
//! | 32 | 256 | archive entries, zeros |
//! | 288 | 4 | `fold(0..288)` |
//! | 292 | 4 | `fold(8..292)` |
//! | 296 | 8 | unused |
//! | 304 | 4 | offset, high half |
//!
//! A log block:
//!
//! | off | size | field |
//! |---|---|---|
//! | 0 | 4 | number `(lsn / 512 & 3FFFFFFF) + 1`; bit 31: first block of a write |
//! | 4 | 2 | bytes used, this header included; 512 when full, less in the last block of the log |
//! | 6 | 2 | offset of the first mini-transaction that starts here, 0 for none |
//! | 8 | 4 | low half of the number of the next checkpoint at the time of writing |
//! | 12 | 496 | records |
//! | 508 | 4 | checksum |
//!
//! # Invariants
//! - I1: LSNs count every byte of the ring, block headers and trailers included; the LSN of a byte of records is
//!   never in a header or trailer.
//! - I2: "sn" counts bytes of records alone, 496 to a block; [`lsn_of`] and [`sn_of`] convert, both monotone.
//!
//! # Crash
//! A checkpoint is written over the older of the two, so one valid one is left whatever happens. The log ends at
//! the first block whose number or checksum is not the expected one, or which is not full.

use vaquita_base::Lsn;
use vaquita_base::checksum::fold;
use vaquita_base::codec::{get_u16, get_u32, get_u64, put_u16, put_u32, put_u64};

use crate::{Corruption, Result};

/// Bytes of a log block.
pub const BLOCK_SIZE: usize = 512;
/// Bytes of a block's header.
pub const BLOCK_HEADER_SIZE: usize = 12;
/// Bytes of a block's trailer.
pub const BLOCK_TRAILER_SIZE: usize = 4;
/// Bytes of records in a full block.
pub const BLOCK_PAYLOAD: usize = BLOCK_SIZE - BLOCK_HEADER_SIZE - BLOCK_TRAILER_SIZE;
/// Bytes of header blocks at the start of each file.
pub const FILE_HEADER_SIZE: u64 = 4 * BLOCK_SIZE as u64;
/// Offset in file 0 of the checkpoint with even numbers.
pub const CHECKPOINT_1: u64 = BLOCK_SIZE as u64;
/// Offset in file 0 of the checkpoint with odd numbers.
pub const CHECKPOINT_2: u64 = 3 * BLOCK_SIZE as u64;
/// LSN of the first block of a new database.
pub const START_LSN: Lsn = Lsn(16 * BLOCK_SIZE as u64);
/// LSN of the first record of a new database.
pub const FIRST_LSN: Lsn = Lsn(START_LSN.0 + BLOCK_HEADER_SIZE as u64);

const BLOCK_NUMBER: usize = 0;
const BLOCK_DATA_LEN: usize = 4;
const BLOCK_FIRST_GROUP: usize = 6;
const BLOCK_CHECKPOINT_NO: usize = 8;
const BLOCK_CHECKSUM: usize = BLOCK_SIZE - BLOCK_TRAILER_SIZE;
const FLUSH_BIT: u32 = 1 << 31;

const _: () = assert!(BLOCK_PAYLOAD == 496 && FIRST_LSN.0 == 8204);

/// A whole block.
pub type Block = [u8; BLOCK_SIZE];

/// First block of a log file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileHeader {
    /// Log group, 0.
    pub group_id: u32,
    /// LSN at which the data of this file starts.
    pub start_lsn: Lsn,
    /// Archived file number, 0.
    pub archived_file_no: u32,
    /// Who made the file.
    pub label: [u8; 32],
}

impl FileHeader {
    const START_LSN: usize = 4;
    const ARCHIVED_FILE_NO: usize = 12;
    const LABEL: usize = 16;

    /// Header of the first file of a new log.
    pub fn new(start_lsn: Lsn) -> Self {
        let mut label = [0; 32];
        label[..4].fill(b' ');
        Self { group_id: 0, start_lsn, archived_file_no: 0, label }
    }

    /// Reads a header block, which carries no checksum.
    pub fn decode(block: &Block) -> Self {
        let mut label = [0; 32];
        label.copy_from_slice(&block[Self::LABEL..Self::LABEL + 32]);
        Self {
            group_id: get_u32(block, 0),
            start_lsn: Lsn(get_u64(block, Self::START_LSN)),
            archived_file_no: get_u32(block, Self::ARCHIVED_FILE_NO),
            label,
        }
    }

    /// The stored form.
    pub fn encode(&self) -> Block {
        let mut block = [0; BLOCK_SIZE];
        put_u32(&mut block, 0, self.group_id);
        put_u64(&mut block, Self::START_LSN, self.start_lsn.get());
        put_u32(&mut block, Self::ARCHIVED_FILE_NO, self.archived_file_no);
        block[Self::LABEL..Self::LABEL + 32].copy_from_slice(&self.label);
        block
    }

    /// Whether a hot backup made the file: a server does not start from it as it is.
    pub fn is_hot_backup(&self) -> bool {
        self.label.starts_with(b"ibbackup")
    }
}

/// Where recovery starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checkpoint {
    /// Counts checkpoints; the valid one with the larger number holds.
    pub number: u64,
    /// Every change before it is in the data files.
    pub lsn: Lsn,
    /// Where that LSN lies, in the files laid end to end.
    pub offset: u64,
    /// Log buffer of the writer, for information.
    pub buffer_size: u32,
}

impl Checkpoint {
    const LSN: usize = 8;
    const OFFSET_LOW: usize = 16;
    const BUFFER_SIZE: usize = 20;
    const ARCHIVED_LSN: usize = 24;
    const CHECKSUM_1: usize = 288;
    const CHECKSUM_2: usize = 292;
    const OFFSET_HIGH: usize = 304;

    /// Reads and checks a checkpoint block.
    ///
    /// # Errors
    /// [`Corruption`] if one of the two checksums does not match.
    pub fn decode(block: &Block) -> Result<Self> {
        for (at, covered) in
            [(Self::CHECKSUM_1, 0..Self::CHECKSUM_1), (Self::CHECKSUM_2, Self::LSN..Self::CHECKSUM_2)]
        {
            let (stored, expected) = (get_u32(block, at), fold(&block[covered]));
            if stored != expected {
                let detail = format!("stored {stored:#010x}, expected {expected:#010x}");
                return Err(Corruption::new("checkpoint checksum", detail).at(at));
            }
        }
        let high = get_u32(block, Self::OFFSET_HIGH);
        Ok(Self {
            number: get_u64(block, 0),
            lsn: Lsn(get_u64(block, Self::LSN)),
            offset: u64::from(high) << 32 | u64::from(get_u32(block, Self::OFFSET_LOW)),
            buffer_size: get_u32(block, Self::BUFFER_SIZE),
        })
    }

    /// The stored form.
    pub fn encode(&self) -> Block {
        let mut block = [0; BLOCK_SIZE];
        put_u64(&mut block, 0, self.number);
        put_u64(&mut block, Self::LSN, self.lsn.get());
        put_u32(&mut block, Self::OFFSET_LOW, self.offset as u32);
        put_u32(&mut block, Self::BUFFER_SIZE, self.buffer_size);
        put_u64(&mut block, Self::ARCHIVED_LSN, u64::MAX);
        put_u32(&mut block, Self::OFFSET_HIGH, (self.offset >> 32) as u32);
        let first = fold(&block[..Self::CHECKSUM_1]);
        put_u32(&mut block, Self::CHECKSUM_1, first);
        let second = fold(&block[Self::LSN..Self::CHECKSUM_2]);
        put_u32(&mut block, Self::CHECKSUM_2, second);
        block
    }

    /// Offset in file 0 at which checkpoint `number` is written.
    pub const fn slot(number: u64) -> u64 {
        if number.is_multiple_of(2) { CHECKPOINT_1 } else { CHECKPOINT_2 }
    }

    /// The one that holds, of the blocks at [`CHECKPOINT_1`] and [`CHECKPOINT_2`].
    ///
    /// # Errors
    /// The damage of the first block if neither is valid.
    pub fn newest(first: &Block, second: &Block) -> Result<Self> {
        match (Self::decode(first), Self::decode(second)) {
            (Ok(a), Ok(b)) => Ok(if a.number >= b.number { a } else { b }),
            (Ok(one), Err(_)) | (Err(_), Ok(one)) => Ok(one),
            (Err(damage), Err(_)) => Err(damage),
        }
    }
}

/// Header of a log block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockHeader {
    /// Number, which follows from the LSN.
    pub number: u32,
    /// Whether a write began with this block.
    pub flush: bool,
    /// Bytes used, header included.
    pub data_len: u16,
    /// Offset of the first mini-transaction that starts in this block; 0 for none.
    pub first_group: u16,
    /// Low half of a checkpoint number.
    pub checkpoint_no: u32,
}

impl BlockHeader {
    /// Reads the header without checking anything.
    ///
    /// # Panics
    /// If `block` is shorter than a header.
    #[inline]
    pub fn read(block: &[u8]) -> Self {
        let number = get_u32(block, BLOCK_NUMBER);
        Self {
            number: number & !FLUSH_BIT,
            flush: number & FLUSH_BIT != 0,
            data_len: get_u16(block, BLOCK_DATA_LEN),
            first_group: get_u16(block, BLOCK_FIRST_GROUP),
            checkpoint_no: get_u32(block, BLOCK_CHECKPOINT_NO),
        }
    }

    /// Writes the header.
    ///
    /// # Panics
    /// If `block` is shorter than a header.
    #[inline]
    pub fn write(&self, block: &mut [u8]) {
        put_u32(block, BLOCK_NUMBER, self.number | if self.flush { FLUSH_BIT } else { 0 });
        put_u16(block, BLOCK_DATA_LEN, self.data_len);
        put_u16(block, BLOCK_FIRST_GROUP, self.first_group);
        put_u32(block, BLOCK_CHECKPOINT_NO, self.checkpoint_no);
    }

    /// Whether the block is full, so that the log goes on behind it.
    #[inline]
    pub const fn is_full(&self) -> bool {
        self.data_len as usize == BLOCK_SIZE
    }

    /// Where the records of the block lie.
    #[inline]
    pub fn payload(&self) -> std::ops::Range<usize> {
        BLOCK_HEADER_SIZE..(self.data_len as usize).clamp(BLOCK_HEADER_SIZE, BLOCK_CHECKSUM)
    }
}

/// Number of the block that holds `lsn`.
#[inline]
pub const fn block_number(lsn: Lsn) -> u32 {
    ((lsn.0 / BLOCK_SIZE as u64) & 0x3FFF_FFFF) as u32 + 1
}

/// LSN of the first byte of the block that holds `lsn`.
#[inline]
pub const fn block_start(lsn: Lsn) -> Lsn {
    Lsn(lsn.0 - lsn.0 % BLOCK_SIZE as u64)
}

/// Checksum of a block, over everything before its trailer.
///
/// The definition adds byte by byte, with the sum cut to 31 bits before each byte and shifts that repeat every 25
/// bytes. Cutting commutes with adding, so all but the last byte may be summed in any order; the loop below has no
/// chain of dependencies and the compiler vectorises it. Recovery passes every byte of the log through here.
#[inline]
pub fn block_checksum(block: &Block) -> u32 {
    const PERIOD: usize = 25;
    const LAST: usize = BLOCK_CHECKSUM - 1;
    let weight = |i: usize| 1u32.wrapping_add(1 << (i % PERIOD));
    let mut columns = [0u32; PERIOD];
    let (rows, rest) = block[..LAST].as_chunks::<PERIOD>();
    for row in rows {
        for (column, &byte) in columns.iter_mut().zip(row) {
            *column += u32::from(byte);
        }
    }
    for (column, &byte) in columns.iter_mut().zip(rest) {
        *column += u32::from(byte);
    }
    let mut sum = 1u32;
    for (i, column) in columns.into_iter().enumerate() {
        sum = sum.wrapping_add(column.wrapping_mul(weight(i)));
    }
    (sum & 0x7FFF_FFFF).wrapping_add(u32::from(block[LAST]).wrapping_mul(weight(LAST)))
}

/// Sets the checksum of a block whose other bytes are final.
#[inline]
pub fn seal_block(block: &mut Block) {
    let sum = block_checksum(block);
    put_u32(block, BLOCK_CHECKSUM, sum);
}

/// Checks the block read for `lsn` and gives its header.
///
/// # Errors
/// [`Corruption`] if the number is not that of `lsn`, the checksum does not match, or the lengths are impossible.
/// When scanning, any of these is the end of the log.
pub fn check_block(block: &Block, lsn: Lsn) -> Result<BlockHeader> {
    let header = BlockHeader::read(block);
    let number = block_number(lsn);
    if header.number != number {
        let detail = format!("found {}, expected {number} for LSN {lsn}", header.number);
        return Err(Corruption::new("log block number", detail).at(BLOCK_NUMBER));
    }
    let (stored, expected) = (get_u32(block, BLOCK_CHECKSUM), block_checksum(block));
    if stored != expected {
        let detail = format!("stored {stored:#010x}, expected {expected:#010x}, LSN {lsn}");
        return Err(Corruption::new("log block checksum", detail).at(BLOCK_CHECKSUM));
    }
    let used = header.data_len as usize;
    if used != BLOCK_SIZE && !(BLOCK_HEADER_SIZE..BLOCK_CHECKSUM).contains(&used) {
        let detail = format!("{used} bytes used, LSN {lsn}");
        return Err(Corruption::new("log block data length", detail).at(BLOCK_DATA_LEN));
    }
    let group = header.first_group as usize;
    if group != 0 && !(BLOCK_HEADER_SIZE..=used.min(BLOCK_CHECKSUM)).contains(&group) {
        let detail = format!("offset {group} with {used} bytes used, LSN {lsn}");
        return Err(Corruption::new("log block first group", detail).at(BLOCK_FIRST_GROUP));
    }
    Ok(header)
}

/// Bytes of records before `lsn`. An LSN in a header or trailer counts as the nearest record byte at or after it.
#[inline]
pub const fn sn_of(lsn: Lsn) -> u64 {
    let (blocks, within) = (lsn.0 / BLOCK_SIZE as u64, (lsn.0 % BLOCK_SIZE as u64) as usize);
    let within = if within < BLOCK_HEADER_SIZE {
        0
    } else if within > BLOCK_CHECKSUM {
        BLOCK_PAYLOAD
    } else {
        within - BLOCK_HEADER_SIZE
    };
    blocks * BLOCK_PAYLOAD as u64 + within as u64
}

/// LSN of record byte `sn`.
#[inline]
pub const fn lsn_of(sn: u64) -> Lsn {
    let payload = BLOCK_PAYLOAD as u64;
    Lsn(sn / payload * BLOCK_SIZE as u64 + sn % payload + BLOCK_HEADER_SIZE as u64)
}

/// LSN that a mini-transaction of `len` bytes of records, begun at `lsn`, ends at.
#[inline]
pub const fn lsn_after(lsn: Lsn, len: u64) -> Lsn {
    lsn_of(sn_of(lsn) + len)
}

/// A known place of the log: this LSN lies at this offset of the files laid end to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogAnchor {
    /// The LSN.
    pub lsn: Lsn,
    /// Its offset, header blocks included.
    pub offset: u64,
}

impl From<&Checkpoint> for LogAnchor {
    fn from(c: &Checkpoint) -> Self {
        Self { lsn: c.lsn, offset: c.offset }
    }
}

/// A place in a log file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogPosition {
    /// Which file.
    pub file: u32,
    /// Offset in it, header blocks included.
    pub offset: u64,
}

/// Number and size of the log files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogGeometry {
    n_files: u32,
    file_size: u64,
}

impl LogGeometry {
    /// `n_files` files of `file_size` bytes each.
    ///
    /// # Errors
    /// [`Corruption`] if there is no file, or the size is not a number of blocks beyond the header.
    pub fn new(n_files: u32, file_size: u64) -> Result<Self> {
        let whole_blocks = file_size.is_multiple_of(BLOCK_SIZE as u64);
        let total = u64::from(n_files).checked_mul(file_size);
        if n_files == 0
            || file_size <= FILE_HEADER_SIZE
            || !whole_blocks
            || total.is_none_or(|t| t >> 62 != 0)
        {
            let detail = format!("{n_files} files of {file_size} bytes");
            return Err(Corruption::new("log files", detail));
        }
        Ok(Self { n_files, file_size })
    }

    /// Number of files.
    #[inline]
    pub const fn n_files(self) -> u32 {
        self.n_files
    }

    /// Bytes of each file, header blocks included.
    #[inline]
    pub const fn file_size(self) -> u64 {
        self.file_size
    }

    /// Bytes of log blocks in one file.
    #[inline]
    pub const fn file_capacity(self) -> u64 {
        self.file_size - FILE_HEADER_SIZE
    }

    /// Bytes of the ring: LSNs this far apart share their place.
    #[inline]
    pub const fn capacity(self) -> u64 {
        self.n_files as u64 * self.file_capacity()
    }

    /// Checks that an anchor read from a file lies in the ring, within its block as its LSN does.
    ///
    /// # Errors
    /// [`Corruption`] naming the offset and the LSN.
    pub fn check_anchor(self, anchor: LogAnchor) -> Result<()> {
        let inside = anchor.offset < u64::from(self.n_files) * self.file_size
            && anchor.offset % self.file_size >= FILE_HEADER_SIZE;
        if inside && anchor.offset % BLOCK_SIZE as u64 == anchor.lsn.get() % BLOCK_SIZE as u64 {
            return Ok(());
        }
        let detail = format!(
            "LSN {} at offset {} of {} files of {} bytes",
            anchor.lsn, anchor.offset, self.n_files, self.file_size
        );
        Err(Corruption::new("checkpoint offset", detail))
    }

    /// Where `lsn` lies, given one known place. LSNs before the anchor wrap backwards.
    #[inline]
    pub const fn position(self, lsn: Lsn, anchor: LogAnchor) -> LogPosition {
        let capacity = self.capacity();
        let start = self.ring_offset(anchor.offset) % capacity;
        let ring = if lsn.0 >= anchor.lsn.0 {
            (start + (lsn.0 - anchor.lsn.0) % capacity) % capacity
        } else {
            (start + capacity - (anchor.lsn.0 - lsn.0) % capacity) % capacity
        };
        LogPosition {
            file: (ring / self.file_capacity()) as u32,
            offset: ring % self.file_capacity() + FILE_HEADER_SIZE,
        }
    }

    /// Offset of `lsn` in the files laid end to end: what a checkpoint stores.
    #[inline]
    pub const fn offset(self, lsn: Lsn, anchor: LogAnchor) -> u64 {
        let at = self.position(lsn, anchor);
        at.file as u64 * self.file_size + at.offset
    }

    /// Bytes from the place of `lsn` to the end of its file: what one write may carry.
    #[inline]
    pub const fn contiguous(self, lsn: Lsn, anchor: LogAnchor) -> u64 {
        self.file_size - self.position(lsn, anchor).offset
    }

    /// Offset in the ring, without headers, of an offset in the files laid end to end.
    const fn ring_offset(self, offset: u64) -> u64 {
        offset.saturating_sub(FILE_HEADER_SIZE * (1 + offset / self.file_size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vaquita_base::Rng;
    use vaquita_base::checksum::redo_block;

    fn random_block(rng: &mut Rng) -> Block {
        let mut block = [0; BLOCK_SIZE];
        block.fill_with(|| rng.next_u64() as u8);
        block
    }

    #[test]
    fn fast_checksum_is_the_defined_one() {
        let mut rng = Rng::new(1);
        for fill in [0x00, 0x01, 0x7F, 0xFF] {
            assert_eq!(block_checksum(&[fill; BLOCK_SIZE]), redo_block(&[fill; 508]));
        }
        for _ in 0..500 {
            let block = random_block(&mut rng);
            assert_eq!(block_checksum(&block), redo_block(&block[..508]));
        }
    }

    #[test]
    fn block_numbers_of_the_reference() {
        assert_eq!(block_number(Lsn(1_750_528)), 3420);
        assert_eq!(block_number(Lsn(1_750_900)), 3420);
        assert_eq!(block_number(Lsn(0x4000_0000 * 512)), 1);
        let mut block = [0; BLOCK_SIZE];
        let header =
            BlockHeader { number: 3420, flush: true, data_len: 372, first_group: 189, checkpoint_no: 1 };
        header.write(&mut block);
        assert_eq!(block[..12], [0x80, 0, 0x0d, 0x5c, 0x01, 0x74, 0, 0xbd, 0, 0, 0, 1]);
        seal_block(&mut block);
        assert_eq!(check_block(&block, Lsn(1_750_600)), Ok(header));
        assert_eq!(header.payload(), 12..372);
        assert_eq!(check_block(&block, Lsn(1_750_000)).unwrap_err().check, "log block number");
    }

    #[test]
    fn every_flipped_bit_of_a_block_ends_the_log() {
        let mut rng = Rng::new(2);
        let mut block = random_block(&mut rng);
        let lsn = Lsn(8192);
        BlockHeader { number: 17, flush: false, data_len: 512, first_group: 12, checkpoint_no: 3 }
            .write(&mut block);
        seal_block(&mut block);
        assert!(check_block(&block, lsn).is_ok());
        for bit in 0..BLOCK_SIZE * 8 {
            block[bit / 8] ^= 1 << (bit % 8);
            // The top bit of the number is a flag, but the checksum covers it.
            assert!(check_block(&block, lsn).is_err(), "bit {bit}");
            block[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn impossible_lengths_are_refused() {
        for (data_len, first_group, ok) in [
            (512, 0, true),
            (512, 508, true),
            (512, 509, false),
            (508, 0, false),
            (511, 0, false),
            (513, 0, false),
            (0, 0, false),
            (11, 0, false),
            (12, 0, true),
            (12, 12, true),
            (100, 101, false),
            (100, 11, false),
        ] {
            let mut block = [0; BLOCK_SIZE];
            BlockHeader { number: 17, flush: false, data_len, first_group, checkpoint_no: 0 }
                .write(&mut block);
            seal_block(&mut block);
            assert_eq!(check_block(&block, Lsn(8192)).is_ok(), ok, "{data_len} {first_group}");
        }
    }

    #[test]
    fn checkpoint_of_the_reference() {
        let checkpoint =
            Checkpoint { number: 1, lsn: Lsn(0x1a_b774), offset: 0x1_ab74, buffer_size: 0x80_0000 };
        let block = checkpoint.encode();
        let head = [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0x1a, 0xb7, 0x74, 0, 1, 0xab, 0x74, 0, 0x80, 0, 0];
        assert_eq!(block[..24], head);
        assert_eq!(block[24..32], [0xff; 8]);
        assert_eq!(block[288..296], [0x5a, 0x57, 0x2a, 0xf2, 0xbb, 0xe0, 0x3b, 0xc6]);
        assert_eq!(Checkpoint::decode(&block), Ok(checkpoint));
        assert_eq!((Checkpoint::slot(0), Checkpoint::slot(1)), (512, 1536));
        for at in 0..296 {
            let mut bad = block;
            bad[at] ^= 0x10;
            assert!(Checkpoint::decode(&bad).is_err(), "byte {at}");
        }
    }

    #[test]
    fn the_newer_valid_checkpoint_holds() {
        let old = Checkpoint { number: 6, lsn: Lsn(9000), offset: 5 << 32, buffer_size: 1 };
        let new = Checkpoint { number: 7, lsn: Lsn(9999), ..old };
        let broken = [7; BLOCK_SIZE];
        assert_eq!(Checkpoint::newest(&old.encode(), &new.encode()), Ok(new));
        assert_eq!(Checkpoint::newest(&old.encode(), &broken), Ok(old));
        assert_eq!(Checkpoint::newest(&broken, &new.encode()), Ok(new));
        assert!(Checkpoint::newest(&broken, &broken).is_err());
        assert_eq!(Checkpoint::decode(&old.encode()).unwrap().offset, 5 << 32);
    }

    #[test]
    fn file_header_round_trips() {
        let header = FileHeader::new(Lsn(0x19_1400));
        let block = header.encode();
        assert_eq!(block[..20], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0x19, 0x14, 0, 0, 0, 0, 0, 32, 32, 32, 32]);
        assert!(block[20..].iter().all(|&b| b == 0));
        assert_eq!(FileHeader::decode(&block), header);
        assert!(!header.is_hot_backup());
    }

    #[test]
    fn sn_counts_record_bytes_only() {
        assert_eq!(sn_of(FIRST_LSN), 16 * 496);
        assert_eq!(lsn_of(16 * 496), FIRST_LSN);
        assert_eq!(lsn_after(FIRST_LSN, 495), Lsn(8192 + 507));
        // A block that is exactly filled ends at the first record byte of the next one.
        assert_eq!(lsn_after(FIRST_LSN, 496), Lsn(8192 + 512 + 12));
        assert_eq!(lsn_after(FIRST_LSN, 497), Lsn(8192 + 512 + 13));
        let mut last = 0;
        for lsn in 8192..8192 + 1100 {
            let sn = sn_of(Lsn(lsn));
            assert!(sn == last || sn == last + 1 || last == 0);
            last = sn;
            let within = lsn % 512;
            if (12..508).contains(&within) {
                assert_eq!(lsn_of(sn), Lsn(lsn));
            }
        }
    }

    #[test]
    fn positions_follow_the_ring() {
        let g = LogGeometry::new(2, 4 << 20).unwrap();
        assert_eq!(g.capacity(), 2 * ((4 << 20) - 2048));
        let anchor = LogAnchor { lsn: Lsn(1_643_520), offset: 2048 };
        g.check_anchor(anchor).unwrap();
        // The fixture: log recreated at 1643520, later checkpoint at 1750900 = offset 109428.
        assert_eq!(g.offset(Lsn(1_750_900), anchor), 109_428);
        let end = Lsn(1_643_520 + g.file_capacity());
        assert_eq!(g.position(end, anchor), LogPosition { file: 1, offset: 2048 });
        assert_eq!(g.offset(end, anchor), (4 << 20) + 2048);
        assert_eq!(g.contiguous(end, anchor), g.file_capacity());
        assert_eq!(g.contiguous(Lsn(end.0 - 512), anchor), 512);
        assert_eq!(g.position(Lsn(1_643_520 + g.capacity()), anchor), LogPosition { file: 0, offset: 2048 });
        assert_eq!(
            g.position(Lsn(1_643_520 - 512), anchor),
            LogPosition { file: 1, offset: (4 << 20) - 512 }
        );
    }

    #[test]
    fn any_anchor_of_the_same_log_gives_the_same_places() {
        let g = LogGeometry::new(3, 1 << 20).unwrap();
        let first = LogAnchor { lsn: START_LSN, offset: 2048 };
        let mut rng = Rng::new(3);
        for _ in 0..2000 {
            let lsn = Lsn(8192 + rng.next_u64() % (1 << 40));
            let other = Lsn(8192 + rng.next_u64() % (1 << 40));
            let second = LogAnchor { lsn: other, offset: g.offset(other, first) };
            g.check_anchor(second).unwrap();
            assert_eq!(g.position(lsn, second), g.position(lsn, first));
        }
    }

    #[test]
    fn impossible_geometries_and_anchors() {
        for (n, size) in [(0, 1 << 20), (2, 2048), (2, 1000), (1, (1 << 20) + 1), (u32::MAX, 1 << 60)] {
            assert!(LogGeometry::new(n, size).is_err(), "{n} {size}");
        }
        let g = LogGeometry::new(2, 1 << 20).unwrap();
        for offset in [0, 2047, (1 << 20) + 100, 2 << 20, u64::MAX, 2048 + 13] {
            let anchor = LogAnchor { lsn: Lsn(8204), offset };
            assert!(g.check_anchor(anchor).is_err(), "{offset}");
            g.position(Lsn(1), anchor); // must not panic
        }
    }
}
