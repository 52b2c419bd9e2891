//! Small folders for tests: one table space with counters in its pages, cleanly shut or crashed.
#![allow(dead_code, reason = "each test program uses its part")]
#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::Path;
use std::sync::Arc;
use vaquita_base::codec::get_u64;
use vaquita_base::{ManualClock, PageId, PageNo, SpaceId};
use vaquita_format::PageSize;
use vaquita_format::flags::SpaceFlags;
use vaquita_format::flst::SegmentHeader;
use vaquita_io::FileSystem;
use vaquita_io::sim::SimDisk;
use vaquita_storage::fsp::{self, Direction, HeaderPlace};
use vaquita_storage::{LiveSettings, Options, Result, Storage, SystemFile};

/// The table space.
pub(crate) const SPACE: SpaceId = SpaceId(7);
/// Its first page with a counter; the next ones follow.
pub(crate) const PAGE: PageNo = PageNo(4);
/// Pages with counters.
pub(crate) const PAGES: u32 = 40;

pub(crate) fn options() -> Options {
    Options {
        page_size: PageSize::new(4096).unwrap(),
        buffer_pool_size: 40 * 4096,
        data_file_path: vec![SystemFile { name: "ibdata1".into(), size_bytes: 4 << 20 }],
        live: LiveSettings { autoextend_increment_bytes: 1 << 20, ..LiveSettings::default() },
        log_file_size: 512 << 10,
        log_buffer_size: 64 << 10,
        ..Options::new("/db")
    }
}

pub(crate) fn try_open(disk: &SimDisk, options: Options) -> Result<Storage> {
    let fs: Arc<dyn FileSystem> = Arc::new(disk.clone());
    Storage::open(fs, Arc::new(ManualClock::new()), options)
}

pub(crate) fn open(disk: &SimDisk) -> Storage {
    try_open(disk, options()).expect("the folder opens")
}

pub(crate) fn allocate(storage: &Storage, segment: SegmentHeader) -> PageNo {
    let mut mtr = storage.begin().unwrap();
    mtr.keep_before_images();
    let page = fsp::create_page(&mut mtr, segment, PageNo::NULL, Direction::Up).unwrap();
    let no = mtr.id(page).page_no;
    mtr.commit();
    no
}

/// A new segment of a new table space `name`.
pub(crate) fn create_space(storage: &Storage, space: SpaceId, name: &str) -> SegmentHeader {
    let flags = SpaceFlags::new(storage.options().page_size, false, false).unwrap();
    storage.create_table_space(space, flags, name).unwrap();
    create_segment(storage, space, 100)
}

/// A new segment, whose header is there on the first page.
pub(crate) fn create_segment(storage: &Storage, space: SpaceId, offset: u16) -> SegmentHeader {
    let mut mtr = storage.begin().unwrap();
    mtr.keep_before_images();
    let made = fsp::create_segment(&mut mtr, space, HeaderPlace::OnFirstPage { offset }).unwrap();
    mtr.commit();
    made.header
}

/// Sets every counter to `n` times its page number, in `n` rounds.
pub(crate) fn work(storage: &Storage, n: u64) {
    for round in 1..=n {
        for no in PAGE.0..PAGE.0 + PAGES {
            let mut mtr = storage.begin().unwrap();
            let page = mtr.get_exclusive(PageId::new(SPACE, PageNo(no))).unwrap();
            mtr.write_u64(page, 1_000, round * u64::from(no));
            mtr.write_u64(page, 3_000, round * u64::from(no));
            mtr.commit();
        }
    }
}

/// All counters agree on the number of rounds.
pub(crate) fn check_rows(storage: &Storage) {
    for no in PAGE.0..PAGE.0 + PAGES {
        let page = storage.pool().get_shared(PageId::new(SPACE, PageNo(no))).unwrap();
        let n = get_u64(&page, 1_000);
        assert_eq!(n, get_u64(&page, 3_000), "half a mini-transaction on page {no}");
        assert!(n > 0 && n.is_multiple_of(u64::from(no)), "page {no} holds {n}");
    }
}

fn folder(seed: u64) -> (SimDisk, Storage) {
    let disk = SimDisk::new(seed);
    disk.put_dir(Path::new("/db"));
    let storage = open(&disk);
    let segment = create_space(&storage, SPACE, "t");
    let first = allocate(&storage, segment);
    assert_eq!(first, PAGE);
    for _ in 1..PAGES {
        allocate(&storage, segment);
    }
    work(&storage, 20);
    (disk, storage)
}

/// A folder that was shut down cleanly.
pub(crate) fn clean_folder(seed: u64) -> SimDisk {
    let (disk, storage) = folder(seed);
    storage.close().unwrap();
    disk
}

/// A folder whose power went off with everything durable in the log and much of it not in the pages.
pub(crate) fn crashed_folder(seed: u64) -> SimDisk {
    let (disk, storage) = folder(seed);
    storage.flush_everything().unwrap();
    work(&storage, 10);
    storage.log().flush_up_to(storage.log().current_lsn()).unwrap();
    disk.power_cut();
    disk.restart()
}
