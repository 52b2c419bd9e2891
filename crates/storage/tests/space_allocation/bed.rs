//! A folder on a simulated disk to allocate in.

use std::path::PathBuf;
use std::sync::Arc;
use vaquita_base::{ManualClock, SpaceId};
use vaquita_format::PageSize;
use vaquita_format::flags::SpaceFlags;
use vaquita_io::FileSystem;
use vaquita_io::sim::SimDisk;
use vaquita_storage::fsp;
use vaquita_storage::{LiveSettings, Options, Result, Storage, SystemFile};

/// The tablespace most tests use.
pub(crate) const SPACE: SpaceId = SpaceId(7);

/// Frames of the pool: fewer than the pages of most tests.
const FRAMES: usize = 64;

pub(crate) struct Bed {
    pub(crate) disk: SimDisk,
    pub(crate) storage: Storage,
    pub(crate) page_size: PageSize,
}

impl Bed {
    /// A new folder.
    pub(crate) fn new(page_size: usize) -> Self {
        let disk = SimDisk::new(page_size as u64);
        disk.put_dir("/db".as_ref());
        Self::open(disk, page_size).unwrap()
    }

    /// A folder that may exist.
    pub(crate) fn open(disk: SimDisk, page_size: usize) -> Result<Self> {
        let page_size = PageSize::new(page_size).unwrap();
        let extent_bytes = u64::from(page_size.extent_pages()) * page_size.physical() as u64;
        let options = Options {
            page_size,
            buffer_pool_size: FRAMES * page_size.logical(),
            data_file_path: vec![SystemFile { name: "ibdata1".into(), size_bytes: 6 * extent_bytes }],
            live: LiveSettings { autoextend_increment_bytes: 2 * extent_bytes, ..LiveSettings::default() },
            log_file_size: 2 << 20,
            log_buffer_size: 64 << 10,
            ..Options::new("/db")
        };
        let fs: Arc<dyn FileSystem> = Arc::new(disk.clone());
        let storage = Storage::open(fs, Arc::new(ManualClock::new()), options)?;
        Ok(Self { disk, storage, page_size })
    }

    /// A tablespace whose file has this many pages, empty.
    pub(crate) fn create(&self, id: SpaceId, flags: SpaceFlags, pages: u32) {
        let path = PathBuf::from(format!("/db/{id}.ibd"));
        self.storage.spaces().create(id, flags.encode(), self.page_size, &path, pages).unwrap();
        self.change(|mtr| fsp::init_space(mtr, id, flags, pages)).unwrap();
    }

    /// Lets the disk take this many bytes more.
    pub(crate) fn limit_disk_to(&self, more: u64) {
        self.storage.flush_everything().unwrap();
        self.disk.set_capacity(Some(self.disk.used() + more));
    }

    pub(crate) fn unlimit_disk(&self) {
        self.disk.set_capacity(None);
    }
}
