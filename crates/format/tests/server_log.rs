//! The redo log of a real server is parsed to its exact end, and replaying it makes the pages the server wrote.
#![allow(clippy::unwrap_used, reason = "test code")]

use crate::common;

use std::collections::{BTreeMap, BTreeSet};

use common::DataDir;
use vaquita_base::{Lsn, PageId, SpaceId};
use vaquita_format::fil::{self, PageType};
use vaquita_format::redo_file::{
    self, Checkpoint, LogAnchor, LogGeometry, block_start, check_block, lsn_of, sn_of,
};
use vaquita_format::redo_rec::apply::FileOp;
use vaquita_format::redo_rec::{RecType, Record, RedoIndex, apply_simple, next_group, parse_group};

/// Record bytes of the log, from its first checkpoint on, and the LSN they begin at.
fn log_bytes(dir: &DataDir) -> (Vec<u8>, Lsn) {
    let files = [dir.read("ib_logfile0"), dir.read("ib_logfile1")];
    let at = redo_file::CHECKPOINT_1 as usize;
    let first = Checkpoint::decode(files[0][at..].first_chunk().unwrap()).unwrap();
    let geometry = LogGeometry::new(2, files[0].len() as u64).unwrap();
    let (mut bytes, mut lsn) = (Vec::new(), block_start(first.lsn));
    loop {
        let at = geometry.position(lsn, LogAnchor::from(&first));
        let block = files[at.file as usize][at.offset as usize..].first_chunk().unwrap();
        let header = check_block(block, lsn).unwrap();
        // The first mini-transaction of a block starts where the header says.
        if header.first_group != 0 {
            let group = bytes.len() + usize::from(header.first_group) - redo_file::BLOCK_HEADER_SIZE;
            let mut walked = 0;
            while walked < group.min(bytes.len()) {
                let Some(g) = next_group(&bytes[walked..]).unwrap() else { break };
                walked += g.len;
            }
            assert!(walked == group || walked < bytes.len() || group >= bytes.len(), "LSN {lsn}");
        }
        bytes.extend_from_slice(&block[header.payload()]);
        if !header.is_full() {
            return (bytes, first.lsn);
        }
        lsn = Lsn(lsn.get() + 512);
    }
}

struct Change {
    record: Record,
    body: Vec<u8>,
    /// End of its mini-transaction.
    lsn: Lsn,
}

/// Every record of the log by page, and the file records.
fn changes(bytes: &[u8], start: Lsn) -> (BTreeMap<PageId, Vec<Change>>, Vec<Change>) {
    let (mut pages, mut file_ops): (BTreeMap<_, Vec<_>>, _) = (BTreeMap::new(), Vec::new());
    let (mut at, mut records) = (0, Vec::new());
    while at < bytes.len() {
        let run = &bytes[at..];
        let len = parse_group(run, &mut records).unwrap().expect("a clean log ends with a whole group");
        let lsn = lsn_of(sn_of(start) + (at + len) as u64);
        for &record in &records {
            let change = Change { record, body: record.body(run).to_vec(), lsn };
            if record.ty.is_file() {
                file_ops.push(change);
            } else {
                pages.entry(record.page).or_default().push(change);
            }
        }
        at += len;
    }
    (pages, file_ops)
}

#[test]
fn the_log_is_parsed_to_its_end() {
    let dir = DataDir::unpack("parse");
    let (bytes, start) = log_bytes(&dir);
    let (pages, file_ops) = changes(&bytes, start);
    // The log ends at the LSN of the last checkpoint, of a clean shutdown.
    assert_eq!(lsn_of(sn_of(start) + bytes.len() as u64), Lsn(1_750_900));
    let types: BTreeSet<RecType> = pages.values().flatten().chain(&file_ops).map(|c| c.record.ty).collect();
    for ty in [
        RecType::Bytes1,
        RecType::Bytes8,
        RecType::RecInsert,
        RecType::UndoInsert,
        RecType::UndoInit,
        RecType::UndoHdrCreate,
        RecType::UndoHdrReuse,
        RecType::InitFilePage,
        RecType::WriteString,
        RecType::CompRecInsert,
        RecType::CompPageCreate,
        RecType::FileCreate2,
        RecType::ZipPageCompress,
    ] {
        assert!(types.contains(&ty), "{ty:?} not among {types:?}");
    }
    for change in pages.values().flatten().filter(|c| c.record.ty.has_index()) {
        let (index, _) = RedoIndex::parse(&change.body).unwrap();
        if index.is_clustered() {
            use vaquita_format::redo_rec::FieldLen::Fixed;
            let n = usize::from(index.n_uniq);
            assert_eq!(index.field(n).map(|f| (f.not_null, f.len)), Some((true, Fixed(6))));
            assert_eq!(index.field(n + 1).map(|f| (f.not_null, f.len)), Some((true, Fixed(7))));
        }
    }
    let made: Vec<(SpaceId, Vec<u8>)> = file_ops
        .iter()
        .filter_map(|c| match FileOp::parse(c.record.ty, c.record.page, &c.body).unwrap() {
            FileOp::Create { name, .. } => Some((c.record.page.space, name.to_vec())),
            _ => None,
        })
        .collect();
    assert!(made.iter().any(|(s, name)| (s.get(), &name[..]) == (7, b"shop/customer")), "{made:?}");
}

/// A page whose life begins in the log with INIT_FILE_PAGE, and to which nothing but simple changes were made since,
/// is made again from the log alone.
#[test]
fn replaying_makes_the_pages_of_the_server() {
    let dir = DataDir::unpack("replay");
    let (bytes, start) = log_bytes(&dir);
    let (pages, file_ops) = changes(&bytes, start);
    let mut files: BTreeMap<SpaceId, Vec<u8>> = BTreeMap::from([(SpaceId(0), dir.read("ibdata1"))]);
    for change in &file_ops {
        if let FileOp::Create { name, .. } =
            FileOp::parse(change.record.ty, change.record.page, &change.body).unwrap()
        {
            let name = String::from_utf8(name.to_vec()).unwrap();
            if let Some(file) = dir.try_read(&format!("{name}.ibd")) {
                files.insert(change.record.page.space, file);
            }
        }
    }
    let (mut compared, mut by_type, mut replayed_types) = (0, BTreeMap::new(), BTreeSet::new());
    for (id, changes) in &pages {
        let Some(file) = files.get(&id.space) else { continue };
        let Some(first) = changes.iter().rposition(|c| c.record.ty == RecType::InitFilePage) else {
            continue;
        };
        let changes = &changes[first..];
        // Compressed tables have pages of other sizes.
        if id.space == SpaceId(9) || !changes.iter().all(|c| c.record.ty.is_simple()) {
            continue;
        }
        let Some(server) = file.get(id.page_no.get() as usize * 16384..).and_then(|f| f.get(..16384)) else {
            continue;
        };
        let mut page = vec![0u8; 16384];
        for change in changes {
            let ty = change.record.ty;
            apply_simple(ty, *id, &change.body, &mut page).unwrap();
            replayed_types.insert(ty);
        }
        let last = changes.last().unwrap().lsn;
        assert_eq!(fil::lsn(server), last, "page {id} of {:?}", fil::page_type(server));
        fil::set_lsn(&mut page, last);
        let differ: Vec<usize> =
            (4..16376).filter(|&i| page[i] != server[i] && !(26..34).contains(&i)).collect();
        assert!(
            differ.is_empty(),
            "page {id}, {:?}: bytes {differ:?} differ, {:?}",
            fil::page_type(server),
            changes.iter().map(|c| c.record.ty).collect::<Vec<_>>()
        );
        compared += 1;
        *by_type.entry(fil::page_type(server).map(PageType::name)).or_insert(0) += 1;
    }
    assert!(compared > 20, "{compared} {by_type:?} {replayed_types:?}");
}

/// Of pages that are older than the log only the end is known. Replaying onto it, from the point where a log header
/// begins anew, writes nothing that the server did not write.
#[test]
fn replaying_reused_undo_logs_onto_the_end_changes_nothing() {
    let dir = DataDir::unpack("reuse");
    let (bytes, start) = log_bytes(&dir);
    let (pages, _) = changes(&bytes, start);
    let system = dir.read("ibdata1");
    let mut compared = 0;
    for (id, changes) in pages.iter().filter(|(id, _)| id.space == SpaceId(0)) {
        let Some(first) = changes.iter().rposition(|c| c.record.ty == RecType::UndoHdrReuse) else {
            continue;
        };
        let server = &system[id.page_no.get() as usize * 16384..][..16384];
        let mut page = server.to_vec();
        for change in &changes[first..] {
            apply_simple(change.record.ty, *id, &change.body, &mut page).unwrap();
        }
        assert_eq!(fil::lsn(server), changes.last().unwrap().lsn);
        let differ: Vec<usize> = (0..16384).filter(|&i| page[i] != server[i]).collect();
        assert!(differ.is_empty(), "page {id}: bytes {differ:?} differ");
        compared += 1;
    }
    assert!(compared > 3, "{compared}");
}
