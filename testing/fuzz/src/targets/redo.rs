//! The redo log: files, blocks, records, and records applied to pages.

use std::sync::LazyLock;

use vaquita_base::ids::Lsn;
use vaquita_base::{PageId, PageNo, SpaceId};
use vaquita_format::redo_apply;
use vaquita_format::redo_file::{self, Checkpoint, FileHeader};
use vaquita_format::redo_rec::apply::FileOp;
use vaquita_format::redo_rec::{self, Parsed, RedoIndex};
use vaquita_format::undo::{self, UndoKind};

use super::{index, undo as undo_target};

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

/// A choice of page, the length of the page's patch, the patch, and a run of records.
pub(super) fn records(data: &[u8]) {
    let Some((&[choice, high, low], rest)) = data.split_first_chunk::<3>() else { return };
    let (patch, run) = rest.split_at((usize::from(high) << 8 | usize::from(low)).min(rest.len()));
    let mut page = base_page(choice);
    let len = patch.len().min(page.len());
    page[..len].copy_from_slice(&patch[..len]);

    let mut at = 0;
    let mut group = Vec::new();
    while let Ok(Some(len)) = redo_rec::parse_group(&run[at..], &mut group) {
        assert!(len > 0 && at + len <= run.len());
        let counted = redo_rec::next_group(&run[at..]).expect("parsed before").expect("whole");
        assert_eq!((counted.len, counted.n_records), (len, group.len()));
        for record in &group {
            let body = record.body(&run[at..]);
            if record.ty.is_file() {
                let _ = FileOp::parse(record.ty, record.page, body);
            } else {
                let _ = redo_apply::apply(record.ty, record.page, body, &mut page);
            }
        }
        assert_eq!(redo_rec::group_records(&run[at..at + len]).filter_map(Result::ok).count(), group.len());
        at += len;
    }
    if let Ok(Parsed::Record(record)) = redo_rec::parse(&run[at..]) {
        assert!(record.end <= run.len() - at && record.body_start <= record.end);
    }
    if let Ok((index, _)) = RedoIndex::parse(run) {
        assert_eq!(index.fields().count(), index.n_fields());
    }
}

/// Pages that records meet: index pages of every kind, an undo page, garbage, too short ones, fresh ones.
fn base_page(choice: u8) -> Vec<u8> {
    static INDEX_PAGES: LazyLock<Vec<Vec<u8>>> =
        LazyLock::new(|| (0..8).map(|number| index::sample(number, number as u32 * 5).0).collect());
    match choice % 16 {
        0..8 => INDEX_PAGES[usize::from(choice % 16)].clone(),
        8 => {
            let mut page = vec![0; 4096];
            undo::init_page(&mut page, UndoKind::Update);
            page
        }
        9 => vec![0xFF; 4096],
        10 => vec![0; 1024],
        _ => vec![0; 4096],
    }
}

/// Runs that build index and undo pages, and whole runs onto the page they build.
pub(super) fn record_seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for number in 0..6u8 {
        let (_, mut run) = index::sample(number.into(), 12);
        redo_rec::encode::push_multi_rec_end(&mut run);
        seeds.push([&[15, 0, 0], run.as_slice()].concat());
        seeds.push([&[number, 0, 0], run.as_slice()].concat());
    }
    let page = PageId::new(SpaceId(5), PageNo(7));
    let mut run = Vec::new();
    redo_rec::encode::push_undo_init(&mut run, page, UndoKind::Update);
    for body in undo_target::record_seeds() {
        redo_rec::encode::push_undo_insert(&mut run, page, &body);
    }
    redo_rec::encode::push_undo_erase_end(&mut run, page);
    redo_rec::encode::push_write_string(&mut run, page, 200, b"some bytes");
    redo_rec::encode::push_bytes8(&mut run, page, 300, u64::MAX);
    redo_rec::encode::push_file_delete(&mut run, SpaceId(5), b"db/table");
    redo_rec::encode::push_multi_rec_end(&mut run);
    seeds.push([&[11, 0, 0], run.as_slice()].concat());
    seeds
}
