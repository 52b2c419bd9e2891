//! Redo log files: headers, checkpoints, blocks.

use vaquita_base::ids::Lsn;
use vaquita_format::redo_file::{self, Checkpoint, FileHeader};

/// Blocks of 512 bytes, each read as every kind of block.
pub(super) fn file_blocks(data: &[u8]) {
    let blocks = data.as_chunks::<512>().0;
    for block in blocks {
        let header = FileHeader::decode(block);
        let _ = header.is_hot_backup();
        let _ = Checkpoint::decode(block);
        let lsn = Lsn(u64::from(block[0]) << 9);
        let _ = redo_file::check_block(block, lsn);

        // Past the checksum: the lengths inside are hostile still.
        let mut sealed = *block;
        redo_file::seal_block(&mut sealed);
        let number = redo_file::BlockHeader::read(&sealed).number;
        let lsn = Lsn(u64::from(number.wrapping_sub(1)) * 512);
        if let Ok(header) = redo_file::check_block(&sealed, lsn) {
            let payload = header.payload();
            assert!(payload.end <= 512 && payload.start <= payload.end, "{payload:?}");
        }
    }
    if let [first, second, ..] = blocks {
        let _ = Checkpoint::newest(first, second);
    }
}

pub(super) fn file_seeds() -> Vec<Vec<u8>> {
    let header = FileHeader::new(Lsn(8192)).encode();
    let mut block = [0; 512];
    block[3] = 17;
    block[4] = 2;
    redo_file::seal_block(&mut block);
    vec![header.to_vec(), block.to_vec(), [header, block, block].concat()]
}
