//! Engines with small pages, pools and logs, so that a short test meets every edge of them.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;
use vaquita_base::ManualClock;
use vaquita_engine::{Engine, Options, Result};
use vaquita_format::PageSize;
use vaquita_io::sim::SimDisk;
use vaquita_storage::SystemFile;

fn options() -> Options {
    let mut options = Options { background: false, ..Options::new("/db") };
    options.storage.page_size = PageSize::new(4096).unwrap();
    options.storage.buffer_pool_size = 300 * 4096;
    options.storage.log_file_size = 256 << 10;
    options.storage.log_buffer_size = 64 << 10;
    options.storage.data_file_path = vec![SystemFile { name: "ibdata1".into(), size_bytes: 4 << 20 }];
    options.txn.rollback_segments = 2;
    options
}

/// Opens the folder of a disk.
pub(crate) fn open(disk: &SimDisk) -> Result<Engine> {
    Engine::open_with(Arc::new(disk.clone()), Arc::new(ManualClock::new()), options())
}
