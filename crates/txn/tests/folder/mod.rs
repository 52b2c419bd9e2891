//! A folder on the simulated disk, for tests of transactions.
#![allow(clippy::unwrap_used, dead_code, reason = "helpers of tests, of which each uses some")]

use std::sync::Arc;
use vaquita_base::{ManualClock, RollPtr, TableId, TrxId};
use vaquita_format::undo::UndoKind;
use vaquita_format::undo::record::{
    NO_ORDER_CHANGE, OldVersion, UndoHeader, UndoType, UndoValue, UpdateWriter, push_insert,
};
use vaquita_io::FileSystem;
use vaquita_io::sim::SimDisk;
use vaquita_storage::{LiveSettings, Storage, SystemFile};
use vaquita_txn::trx_sys::Resurrected;
use vaquita_txn::undo::{UndoBuf, UndoOf};
use vaquita_txn::{Options, Trx, TrxSystem};

/// An empty disk with the folder's parent.
pub(crate) fn disk(seed: u64) -> SimDisk {
    let disk = SimDisk::new(seed);
    disk.put_dir("/db".as_ref());
    disk
}

/// Opens the folder of a disk.
pub(crate) fn storage(disk: &SimDisk) -> Arc<Storage> {
    let options = vaquita_storage::Options {
        buffer_pool_size: 4 << 20,
        data_file_path: vec![SystemFile { name: "ibdata1".into(), size_bytes: 8 << 20 }],
        live: LiveSettings { autoextend_increment_bytes: 1 << 20, ..LiveSettings::default() },
        log_file_size: 1 << 20,
        log_buffer_size: 64 << 10,
        ..vaquita_storage::Options::new("/db")
    };
    let fs: Arc<dyn FileSystem> = Arc::new(disk.clone());
    Arc::new(Storage::open(fs, Arc::new(ManualClock::new()), options).unwrap())
}

/// Opens the transactions of a disk.
pub(crate) fn open(disk: &SimDisk) -> (Arc<TrxSystem>, Vec<Resurrected>) {
    let options = Options { rollback_segments: 4, ..Options::default() };
    TrxSystem::open(storage(disk), options).unwrap()
}

/// The transactions of a new folder.
pub(crate) fn fresh(seed: u64) -> Arc<TrxSystem> {
    open(&disk(seed)).0
}

/// Writes an undo record, as a change of a row does.
pub(crate) fn change(sys: &TrxSystem, trx: &mut Trx, kind: UndoKind) -> Option<RollPtr> {
    let (table_id, undo_no) = (TableId(1_000), trx.undo_no());
    let (mut body, key) = (Vec::new(), undo_no.to_le_bytes());
    if kind == UndoKind::Insert {
        push_insert(&mut body, undo_no, table_id, [UndoValue::Inline(&key)]);
    } else {
        let ty = UndoType::UpdateExisting;
        let header =
            UndoHeader { ty, cmpl_info: NO_ORDER_CHANGE, external_updated: false, undo_no, table_id };
        let old = OldVersion { info_bits: 0, trx_id: TrxId(1), roll_ptr: RollPtr(1 << 55) };
        let mut writer = UpdateWriter::new(&mut body, header, old);
        writer.key([UndoValue::Inline(&key)]);
        writer.updates([(4, UndoValue::Null)]);
    }
    sys.append_undo(trx, UndoOf::Tables, kind, &body).ok()
}

/// Takes all records back; how many there were.
pub(crate) fn take_back(sys: &TrxSystem, trx: &mut Trx) -> Option<u64> {
    let (mut out, mut count) = (UndoBuf::default(), 0);
    while sys.newest_undo(trx, 0, &mut out).ok()?.is_some() {
        let undo_no = UndoHeader::parse(out.body()).unwrap().undo_no;
        assert_eq!(undo_no + 1, trx.undo_no(), "newest first, none left out");
        sys.forget_undo(trx, undo_no).ok()?;
        count += 1;
    }
    Some(count)
}

/// Rolls a transaction back; how many records it had.
pub(crate) fn roll_back(sys: &TrxSystem, trx: &mut Trx) -> u64 {
    sys.unprepare_undo(trx).unwrap();
    let count = take_back(sys, trx).unwrap();
    sys.finish_rollback(trx).unwrap();
    count
}
