//! A folder is created, changed, closed, reopened, cut off; its pages are what they should be each time.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;
use vaquita_base::codec::get_u64;
use vaquita_base::{ManualClock, PageId, PageNo, Rng, SpaceId};
use vaquita_format::PageSize;
use vaquita_format::flags::SpaceFlags;
use vaquita_format::flst::SegmentHeader;
use vaquita_io::FileSystem;
use vaquita_io::sim::SimDisk;
use vaquita_storage::fsp::{self, Direction, HeaderPlace};
use vaquita_storage::{LiveSettings, Options, Storage, SystemFile};

const SPACE: SpaceId = SpaceId(7);

fn options(page_size: PageSize) -> Options {
    let page = page_size.logical() as u64;
    Options {
        page_size,
        buffer_pool_size: 48 * page as usize,
        data_file_path: vec![SystemFile { name: "ibdata1".into(), size_bytes: 4 << 20 }],
        live: LiveSettings { autoextend_increment_bytes: 1 << 20, ..LiveSettings::default() },
        log_file_size: 512 << 10,
        log_buffer_size: 64 << 10,
        ..Options::new("/db")
    }
}

fn open(disk: &SimDisk, page_size: PageSize) -> Storage {
    let fs: Arc<dyn FileSystem> = Arc::new(disk.clone());
    Storage::open(fs, Arc::new(ManualClock::new()), options(page_size)).expect("the folder opens")
}

fn create_space(storage: &Storage) -> SegmentHeader {
    let size = storage.options().page_size;
    let flags = SpaceFlags::new(size, false, false).unwrap();
    storage.create_table_space(SPACE, flags, "t").unwrap();
    let mut mtr = storage.begin().unwrap();
    mtr.keep_before_images();
    let made = fsp::create_segment(&mut mtr, SPACE, HeaderPlace::OnFirstPage { offset: 100 }).unwrap();
    mtr.commit();
    made.header
}

fn allocate(storage: &Storage, segment: SegmentHeader) -> PageNo {
    let mut mtr = storage.begin().unwrap();
    mtr.keep_before_images();
    let page = fsp::create_page(&mut mtr, segment, PageNo::NULL, Direction::Up).unwrap();
    let no = mtr.id(page).page_no;
    mtr.commit();
    no
}

fn write(storage: &Storage, page: PageNo, value: u64) -> vaquita_base::Lsn {
    let mut mtr = storage.begin().unwrap();
    let page = mtr.get_exclusive(PageId::new(SPACE, page)).unwrap();
    mtr.write_u64(page, 1_000, value);
    mtr.write_u64(page, 3_000, value);
    mtr.commit()
}

fn read(storage: &Storage, page: PageNo) -> u64 {
    let page = storage.pool().get_shared(PageId::new(SPACE, page)).unwrap();
    assert_eq!(get_u64(&page, 1_000), get_u64(&page, 3_000), "half a mini-transaction");
    get_u64(&page, 1_000)
}

#[test]
fn a_clean_shutdown_leaves_nothing_to_recover() {
    for size in [4096, 8192, 16384, 32768].map(|s| PageSize::new(s).unwrap()) {
        let disk = SimDisk::new(1);
        disk.put_dir("/db".as_ref());
        let storage = open(&disk, size);
        assert!(storage.report().created);
        let segment = create_space(&storage);
        let pages: Vec<PageNo> = (0..100).map(|_| allocate(&storage, segment)).collect();
        for (i, &page) in pages.iter().enumerate() {
            write(&storage, page, i as u64);
        }
        storage.pool().validate();
        storage.close().unwrap();
        drop(storage);

        let storage = open(&disk, size);
        assert!(!storage.report().created && storage.report().recovery.is_none());
        storage.open_table_space(SPACE, "/db/t.ibd".as_ref()).unwrap();
        for (i, &page) in pages.iter().enumerate() {
            assert_eq!(read(&storage, page), i as u64);
        }
    }
}

#[test]
fn what_was_durable_survives_power_cuts_anywhere() {
    let size = PageSize::new(4096).unwrap();
    for seed in 0..120 {
        let mut rng = Rng::new(seed);
        let disk = SimDisk::new(seed);
        disk.put_dir("/db".as_ref());
        let storage = open(&disk, size);
        let segment = create_space(&storage);
        let pages: Vec<PageNo> = (0..60).map(|_| allocate(&storage, segment)).collect();
        let mut last = vaquita_base::Lsn::ZERO;
        for &page in &pages {
            last = write(&storage, page, 0);
        }
        storage.log().flush_up_to(last).unwrap();
        disk.arm_cut(disk.ops() + 1 + rng.below(400));

        let mut durable = vec![0u64; pages.len()];
        let mut newest = vec![0u64; pages.len()];
        for n in 1.. {
            let i = rng.index(pages.len());
            let Ok(mut mtr) = storage.begin() else { break };
            let Ok(page) = mtr.get_exclusive(PageId::new(SPACE, pages[i])) else { break };
            mtr.write_u64(page, 1_000, n);
            mtr.write_u64(page, 3_000, n);
            let lsn = mtr.commit();
            newest[i] = n;
            if rng.one_in(3) {
                if storage.log().flush_up_to(lsn).is_err() {
                    break;
                }
                durable.copy_from_slice(&newest);
            }
            if rng.one_in(40) && storage.checkpoint().is_err() {
                break;
            }
        }
        drop(storage);

        let disk = disk.restart();
        let storage = open(&disk, size);
        for (i, &page) in pages.iter().enumerate() {
            let found = read(&storage, page);
            assert!(
                (durable[i]..=newest[i]).contains(&found),
                "seed {seed}: page {page} holds {found}, durable was {}, newest {}",
                durable[i],
                newest[i]
            );
        }
        storage.pool().validate();
        let mut mtr = storage.begin_read();
        fsp::validate(&mut mtr, SPACE).unwrap();
    }
}
