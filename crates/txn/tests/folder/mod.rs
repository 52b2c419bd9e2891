//! A folder on the simulated disk, for tests of transactions.
#![allow(clippy::unwrap_used, dead_code, reason = "helpers of tests, of which each uses some")]

use std::sync::Arc;
use vaquita_base::ManualClock;
use vaquita_io::FileSystem;
use vaquita_io::sim::SimDisk;
use vaquita_storage::{Bootstrap, Mtr, NoBootstrap, PageRef, Storage, SystemFile};
use vaquita_txn::trx_sys::Resurrected;
use vaquita_txn::{Options, TrxSystem};

/// Makes the rollback segment and leaves the rest empty.
struct Undo;

impl Bootstrap for Undo {
    fn change_buffer_root(&mut self, mtr: &mut Mtr<'_>, root: PageRef) -> vaquita_storage::Result<()> {
        NoBootstrap.change_buffer_root(mtr, root)
    }

    fn rollback_segment(&mut self, storage: &Storage) -> vaquita_storage::Result<()> {
        NoBootstrap.rollback_segment(storage)
    }

    fn dictionary(&mut self, storage: &Storage) -> vaquita_storage::Result<()> {
        NoBootstrap.dictionary(storage)
    }
}

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
        autoextend_increment_bytes: 1 << 20,
        log_file_size: 1 << 20,
        log_buffer_size: 64 << 10,
        ..vaquita_storage::Options::new("/db")
    };
    let fs: Arc<dyn FileSystem> = Arc::new(disk.clone());
    Arc::new(Storage::open_with(fs, Arc::new(ManualClock::new()), options, &mut Undo).unwrap())
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
