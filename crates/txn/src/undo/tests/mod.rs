//! Tests of undo logs below the transaction system: rollback segments of a folder on a simulated disk.

mod damage;
mod golden;
mod life;
mod model;
mod threads;

use super::history::{History, PurgeRecord};
use super::log::TrxUndo;
use super::read::UndoBuf;
use super::rseg::{FoundTrx, RollbackSegments};
use crate::options::Options;
use std::sync::Arc;
use vaquita_base::{ManualClock, PageId, RollPtr, SpaceId, TableId, TrxId};
use vaquita_format::PageSize;
use vaquita_format::checksum::ChecksumAlgorithm;
use vaquita_format::flst::ListBase;
use vaquita_format::rseg::RollbackSegment;
use vaquita_format::undo::record::{
    NO_ORDER_CHANGE, OldVersion, UndoHeader, UndoType, UndoValue, UpdateWriter, push_insert,
};
use vaquita_format::undo::{SegmentState, UndoKind, UndoPage};
use vaquita_io::FileSystem;
use vaquita_io::sim::SimDisk;
use vaquita_storage::fsp;
use vaquita_storage::{LiveSettings, Storage, SystemFile};

/// Numbers from here on are nobody's.
pub(super) const EVERYTHING: TrxId = TrxId(u64::MAX);

pub(super) struct Bed {
    pub(super) disk: SimDisk,
    pub(super) storage: Arc<Storage>,
    pub(super) rsegs: RollbackSegments,
}

pub(super) fn storage_options(page_size: usize, frames: usize) -> vaquita_storage::Options {
    let page_size = PageSize::new(page_size).unwrap();
    let extent = u64::from(page_size.extent_pages()) * page_size.physical() as u64;
    vaquita_storage::Options {
        page_size,
        buffer_pool_size: frames * page_size.logical(),
        data_file_path: vec![SystemFile { name: "ibdata1".into(), size_bytes: 4 * extent }],
        live: LiveSettings {
            autoextend_increment_bytes: extent,
            checksum_algorithm: ChecksumAlgorithm::Crc32,
            ..LiveSettings::default()
        },
        log_file_size: 2 << 20,
        log_buffer_size: 256 << 10,
        ..vaquita_storage::Options::new("/db")
    }
}

pub(super) fn open_storage(disk: &SimDisk, page_size: usize, frames: usize) -> Arc<Storage> {
    let fs: Arc<dyn FileSystem> = Arc::new(disk.clone());
    let options = storage_options(page_size, frames);
    Arc::new(Storage::open(fs, Arc::new(ManualClock::new()), options).expect("the folder opens"))
}

pub(super) fn open_rsegs(storage: &Arc<Storage>, n: usize) -> (RollbackSegments, Vec<FoundTrx>) {
    let options = Options { rollback_segments: n, ..Options::default() };
    RollbackSegments::open(storage, &options).unwrap_or_else(|e| panic!("{e}"))
}

impl Bed {
    pub(super) fn new(page_size: usize, frames: usize, rsegs: usize, seed: u64) -> Self {
        let disk = SimDisk::new(seed);
        disk.put_dir("/db".as_ref());
        let (bed, found) = Self::open(disk, page_size, frames, rsegs);
        assert!(found.is_empty());
        bed
    }

    pub(super) fn open(
        disk: SimDisk,
        page_size: usize,
        frames: usize,
        rsegs: usize,
    ) -> (Self, Vec<FoundTrx>) {
        let storage = open_storage(&disk, page_size, frames);
        let (rsegs, found) = open_rsegs(&storage, rsegs);
        (Self { disk, storage, rsegs }, found)
    }

    pub(super) fn make_durable(&self) -> bool {
        self.storage.log().flush_up_to(self.storage.log().current_lsn()).is_ok()
    }

    pub(super) fn append(
        &self,
        trx: &mut TrxUndo,
        id: u64,
        kind: UndoKind,
        len: usize,
    ) -> (RollPtr, Vec<u8>) {
        let body = body(kind, trx.next_no(), len);
        let ptr = self.rsegs.append(trx, TrxId(id), false, kind, &body).unwrap();
        (ptr, body)
    }

    /// Commits with that number and forgets the logs.
    pub(super) fn commit(&self, trx: &mut TrxUndo, no: u64) {
        self.rsegs.commit(trx, || TrxId(no)).unwrap();
        self.rsegs.release(trx).unwrap();
    }

    pub(super) fn read(&self, ptr: RollPtr) -> Vec<u8> {
        let mut out = UndoBuf::default();
        self.rsegs.read(ptr, &mut out).unwrap_or_else(|e| panic!("{e}"));
        out.body().to_vec()
    }

    /// Takes back all records from the newest on, and gives them.
    pub(super) fn roll_back(&self, trx: &mut TrxUndo, from: u64) -> Vec<(RollPtr, Vec<u8>)> {
        let (mut out, mut all) = (UndoBuf::default(), Vec::new());
        while let Some(ptr) = self.rsegs.newest(trx, from, &mut out).unwrap() {
            let no = UndoHeader::parse(out.body()).unwrap().undo_no;
            assert_eq!(no + 1, trx.next_no(), "the newest record");
            all.push((ptr, out.body().to_vec()));
            self.rsegs.forget(trx, no).unwrap();
        }
        all
    }

    /// Reads and frees everything.
    pub(super) fn purge_all(&self, history: &mut History) -> Vec<PurgeRecord> {
        let mut out = Vec::new();
        while history.fetch_below(&self.rsegs, EVERYTHING, 20, &mut out).unwrap() {
            history.truncate_all(&self.rsegs).unwrap();
        }
        history.truncate_all(&self.rsegs).unwrap();
        out
    }

    /// Segments of the system tablespace besides undo segments, after a check of the space.
    pub(super) fn other_segments(&self) -> usize {
        let mut mtr = self.storage.begin_read();
        let summary = fsp::validate(&mut mtr, SpaceId::SYSTEM).unwrap_or_else(|e| panic!("{e}"));
        drop(mtr);
        summary.segments.len() - self.slots().len()
    }

    /// State and number of pages of the segments in slots.
    pub(super) fn slots(&self) -> Vec<(SegmentState, u32)> {
        let mut all = Vec::new();
        for rseg in self.rsegs.all() {
            let firsts: Vec<_> = {
                let page = self.storage.pool().get_shared(rseg.header).unwrap();
                RollbackSegment::new(&page).used_slots().map(|(_, no)| no).collect()
            };
            for no in firsts {
                let page = self.storage.pool().get_shared(PageId::new(rseg.header.space, no)).unwrap();
                let view = UndoPage::new(&page).unwrap();
                all.push((view.state().unwrap(), view.pages().len));
            }
        }
        all
    }

    /// Nothing is left but cached segments; the other segments are as many as `expected`.
    pub(super) fn check_idle(&self, expected: usize) {
        assert_eq!(self.rsegs.history_len(), 0);
        for rseg in self.rsegs.all() {
            let page = self.storage.pool().get_shared(rseg.header).unwrap();
            let view = RollbackSegment::new(&page);
            assert_eq!((view.history(), view.history_size()), (ListBase::EMPTY, 0), "{:?}", rseg.no);
        }
        for slot in self.slots() {
            assert_eq!(slot, (SegmentState::Cached, 1));
        }
        let cached: usize = self
            .rsegs
            .all()
            .map(|r| {
                let mut state = r.state.lock();
                state.cached(UndoKind::Insert).len() + state.cached(UndoKind::Update).len()
            })
            .sum();
        assert_eq!(cached, self.slots().len(), "cached lists and slots");
        assert_eq!(self.other_segments(), expected, "segments that are nobody's");
    }
}

/// A record body of about `len` bytes. Kind UPDATE: a deletion, or an update of no interest to purge if `len` is a
/// multiple of three.
pub(super) fn body(kind: UndoKind, undo_no: u64, len: usize) -> Vec<u8> {
    let table_id = TableId(1_000);
    let value = vec![undo_no as u8; len];
    let mut out = Vec::new();
    if kind == UndoKind::Insert {
        push_insert(&mut out, undo_no, table_id, [UndoValue::Inline(&value)]);
        return out;
    }
    let plain = len.is_multiple_of(3);
    let ty = if plain { UndoType::UpdateExisting } else { UndoType::DeleteMark };
    let cmpl_info = if plain { NO_ORDER_CHANGE } else { 0 };
    let header = UndoHeader { ty, cmpl_info, external_updated: false, undo_no, table_id };
    let old = OldVersion { info_bits: 0, trx_id: TrxId(1), roll_ptr: RollPtr(1 << 55) };
    let mut writer = UpdateWriter::new(&mut out, header, old);
    writer.key([UndoValue::Inline(&value)]);
    if plain {
        writer.updates([(4, UndoValue::Null)]);
    } else {
        writer.ordering([(0, UndoValue::Inline(b"key"))]).unwrap();
    }
    out
}
