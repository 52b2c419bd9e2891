//! Speed of undo logs on the real disk: `cargo run --release -p vaquita-txn --example undo_speed [DIR]`.
//!
//! Prints nanoseconds per operation: a million records of 60 bytes appended by one transaction, read by roll pointer,
//! taken back from the newest on; transactions of one record each; the history of those read and freed.

use std::sync::Arc;
use std::time::Instant;
use vaquita_base::{RollPtr, SystemClock, TableId, TrxId};
use vaquita_format::undo::UndoKind;
use vaquita_format::undo::record::{OldVersion, UndoHeader, UndoType, UndoValue, UpdateWriter};
use vaquita_io::real::{RealDisk, RealDiskOptions};
use vaquita_storage::{Options, Services, Storage};
use vaquita_txn::undo::{History, UndoBuf, UndoOf};
use vaquita_txn::{AccessMode, Isolation, Result, Trx, TrxSystem};

const RECORDS: u64 = 1_000_000;
const TRANSACTIONS: u64 = 200_000;

fn main() -> Result<()> {
    let dir = std::env::args().nth(1);
    let dir = dir.map_or_else(|| std::env::temp_dir().join("vaquita-undo-speed"), Into::into);
    if dir.exists() {
        std::fs::remove_dir_all(&dir).expect("an old folder of this program can be removed");
    }
    let fs = Arc::new(RealDisk::new(RealDiskOptions::default()));
    let options = Options { log_file_size: 256 << 20, buffer_pool_size: 512 << 20, ..Options::new(&dir) };
    let storage = Arc::new(Storage::open(fs, Arc::new(SystemClock::new()), options)?);
    let services = Services::start(&storage)?;
    let (system, _) = TrxSystem::open(storage.clone(), vaquita_txn::Options::default())?;
    let mut trx = system.new_trx();

    system.start(&mut trx, Isolation::RepeatableRead, AccessMode::ReadWrite);
    let mut places = Vec::with_capacity(RECORDS as usize);
    time("append", RECORDS, || {
        (0..RECORDS).try_for_each(|_| append(&system, &mut trx).map(|place| places.push(place)))
    })?;
    let mut out = UndoBuf::default();
    time("read", RECORDS, || {
        places.iter().try_for_each(|place| system.read_undo(UndoOf::Tables, *place, &mut out))
    })?;
    time("take back", RECORDS, || {
        while system.newest_undo(&trx, 0, &mut out)?.is_some() {
            let no = trx.undo_no() - 1;
            system.forget_undo(&mut trx, no)?;
        }
        Ok(())
    })?;
    system.finish_rollback(&mut trx)?;

    time("transaction of one record", TRANSACTIONS, || {
        (0..TRANSACTIONS).try_for_each(|_| {
            system.start(&mut trx, Isolation::RepeatableRead, AccessMode::ReadWrite);
            append(&system, &mut trx)?;
            system.commit(&mut trx).map(|_| ())
        })
    })?;
    assert_eq!(system.history_len(), TRANSACTIONS + 1);
    time("purge of such a one", TRANSACTIONS, || {
        let (mut history, mut records) = (History::default(), Vec::new());
        while history.fetch(&system, &system.oldest_view(), 300, &mut records)? {
            history.truncate(&system)?;
            records.clear();
        }
        Ok(())
    })?;
    assert_eq!(system.history_len(), 0);
    drop(services);
    storage.close()?;
    std::fs::remove_dir_all(&dir).expect("the folder of this program can be removed");
    Ok(())
}

/// Appends the record of a deletion.
fn append(system: &TrxSystem, trx: &mut Trx) -> Result<RollPtr> {
    let mut body = Vec::with_capacity(64);
    let header = UndoHeader {
        ty: UndoType::DeleteMark,
        cmpl_info: 0,
        external_updated: false,
        undo_no: trx.undo_no(),
        table_id: TableId(1_000),
    };
    let old = OldVersion { info_bits: 0, trx_id: TrxId(1), roll_ptr: RollPtr(1 << 55) };
    let mut writer = UpdateWriter::new(&mut body, header, old);
    writer.key([UndoValue::Inline(&[7; 8])]);
    writer
        .ordering([(0, UndoValue::Inline(&[7; 8])), (3, UndoValue::Inline(&[8; 12]))])
        .expect("it is short");
    system.append_undo(trx, UndoOf::Tables, UndoKind::Update, &body)
}

fn time(name: &str, n: u64, work: impl FnOnce() -> Result<()>) -> Result<()> {
    let start = Instant::now();
    work()?;
    println!("{name:28} {:8.1} ns", start.elapsed().as_nanos() as f64 / n as f64);
    Ok(())
}
