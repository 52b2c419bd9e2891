//! What the buffer pool does under pressure: eviction, read-ahead, warm-up, file limits, many threads.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::folder;

use folder::{PAGE, PAGES, SPACE, allocate, clean_folder, create_space, open, options, try_open, work};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use vaquita_base::codec::get_u64;
use vaquita_base::{ManualClock, PageId, PageNo, Rng, SpaceId};
use vaquita_io::FileSystem;
use vaquita_io::sim::SimDisk;
use vaquita_storage::buf::read_hot_set;
use vaquita_storage::page_cleaner::PageCleaner;
use vaquita_storage::{FlushNeighbors, LiveSettings, Options, Services, Storage};

fn open_with(disk: &SimDisk, options: Options) -> Storage {
    let storage = try_open(disk, options).unwrap();
    storage.open_table_space(SPACE, Path::new("/db/t.ibd")).unwrap();
    storage
}

fn id(i: u32) -> PageId {
    PageId::new(SPACE, PageNo(PAGE.0 + i))
}

#[test]
fn many_threads_on_a_pool_smaller_than_the_data_lose_nothing() {
    for instances in [1, 2] {
        let disk = clean_folder(1);
        let options = Options { buffer_pool_instances: instances, buffer_pool_size: 64 * 4096, ..options() };
        let storage = Arc::new(open_with(&disk, options));
        let services = Services::start(&storage).unwrap();
        let segment = create_space(&storage, SpaceId(8), "u");
        let pages: Vec<PageId> =
            (0..300).map(|_| PageId::new(SpaceId(8), allocate(&storage, segment))).collect();
        for &page in &pages {
            add(&storage, page, 0);
        }
        let total = AtomicU64::new(0);
        std::thread::scope(|s| {
            for t in 0..4 {
                let (storage, pages, total) = (&storage, &pages, &total);
                s.spawn(move || {
                    let mut rng = Rng::new(t);
                    for n in 0..3_000u64 {
                        let page = pages[rng.index(pages.len())];
                        if rng.one_in(3) {
                            let guard = storage.pool().get_shared(page).unwrap();
                            assert_eq!(get_u64(&guard, 1_000), get_u64(&guard, 3_000));
                        } else if rng.one_in(2)
                            && let Some(seen) = storage.pool().optimistic(page)
                        {
                            let pair = (seen.bytes().uint(1_000, 8), seen.bytes().uint(3_000, 8));
                            assert!(!seen.validate() || pair.0 == pair.1, "half a change passed validation");
                        } else {
                            add(storage, page, n % 7);
                            total.fetch_add(n % 7, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        let sum = |storage: &Storage| -> u64 {
            pages.iter().map(|&p| get_u64(&storage.pool().get_shared(p).unwrap(), 1_000)).sum()
        };
        assert_eq!(sum(&storage), total.load(Ordering::Relaxed));
        assert!(storage.pool().stats.evicted.get() > 300, "the pool was never under pressure");
        drop(services);
        storage.pool().validate();
        storage.close().unwrap();
        drop(storage);
        let storage = open(&disk);
        storage.open_table_space(SpaceId(8), Path::new("/db/u.ibd")).unwrap();
        assert_eq!(sum(&storage), total.load(Ordering::Relaxed));
    }
}

fn add(storage: &Storage, page: PageId, n: u64) {
    let mut mtr = storage.begin().unwrap();
    let page = mtr.get_exclusive(page).unwrap();
    let now = get_u64(mtr.page(page), 1_000) + n;
    mtr.write_u64(page, 1_000, now);
    mtr.write_u64(page, 3_000, now);
    mtr.commit();
}

#[test]
fn reading_an_extent_in_order_reads_the_next_one_ahead() {
    let disk = clean_folder(2);
    let big = Options { buffer_pool_size: 512 * 4096, ..options() };
    let storage = open_with(&disk, big.clone());
    let segment = create_space(&storage, SpaceId(8), "u");
    while allocate(&storage, segment).0 < 300 {}
    storage.close().unwrap();
    drop(storage);

    let read_forward = |threshold: u32| {
        let storage = open_with(
            &disk,
            Options { live: LiveSettings { read_ahead_threshold: threshold, ..big.live }, ..big.clone() },
        );
        storage.open_table_space(SpaceId(8), Path::new("/db/u.ibd")).unwrap();
        for no in 128..192 {
            storage.pool().get_shared(PageId::new(SpaceId(8), PageNo(no))).unwrap();
        }
        while storage.pool().read_ahead_step() {}
        let ahead =
            (192..256).filter(|&no| storage.pool().contains(PageId::new(SpaceId(8), PageNo(no)))).count();
        assert_eq!(storage.pool().stats.read_ahead.get() as usize, ahead);
        ahead
    };
    assert_eq!(read_forward(56), 64);
    assert_eq!(read_forward(64), 0, "64 turns it off");
}

#[test]
fn random_read_ahead_completes_an_extent_of_which_much_is_in_use() {
    let disk = clean_folder(3);
    let random = Options {
        live: LiveSettings { random_read_ahead: true, old_blocks_time_ms: 0, ..options().live },
        ..options()
    };
    let storage = open_with(&disk, Options { buffer_pool_size: 256 * 4096, ..random });
    for i in 0..14 {
        storage.pool().get_shared(id(i * 2)).unwrap();
        storage.pool().get_shared(id(i * 2)).unwrap();
    }
    while storage.pool().read_ahead_step() {}
    assert!(storage.pool().stats.read_ahead.get() > 0);
    assert!(storage.pool().contains(id(5)));
}

#[test]
fn the_hot_set_survives_a_restart() {
    let disk = clean_folder(4);
    let storage = open_with(&disk, options());
    for i in 0..10 {
        storage.pool().get_shared(id(i)).unwrap();
    }
    let path = Path::new("/db/ib_buffer_pool");
    let named = storage.pool().dump_hot_set(&disk, path, 100).unwrap();
    assert!(named >= 10);
    storage.close().unwrap();
    drop(storage);

    let storage = open_with(&disk, options());
    assert!(!storage.pool().contains(id(3)));
    let load = |pages: &mut [PageId]| storage.pool().load_pages(pages, &mut |_| true).unwrap();
    assert!(load(&mut read_hot_set(&disk, path).unwrap()) > 0);
    assert!((0..10).all(|i| storage.pool().contains(id(i))));
    // A list that names what is not there does no harm.
    disk.put_file(Path::new("/db/other"), b"7,4\n99,1\n7,4000000\n 4294967295 , 4294967295\n0,1");
    load(&mut read_hot_set(&disk, Path::new("/db/other")).unwrap());
    disk.put_file(Path::new("/db/empty"), b"");
    assert_eq!(read_hot_set(&disk, Path::new("/db/empty")).unwrap(), []);
    // What is no list is not taken for one.
    for (bytes, line) in
        [(&b"7,4\nnonsense\n"[..], 2), (b"\xff\xfe,3\n", 1), (b"7,4\n7,4294967296\n", 2), (b"7,1\n\n", 2)]
    {
        disk.put_file(Path::new("/db/bad"), bytes);
        let error = read_hot_set(&disk, Path::new("/db/bad")).unwrap_err().to_string();
        assert!(error.contains(&format!("/db/bad: line {line} ")), "{error}");
    }
    assert!(read_hot_set(&disk, Path::new("/db/absent")).is_err());
    // A list takes the place of a list, never of anything else.
    assert!(storage.pool().dump_hot_set(&disk, Path::new("/db/other"), 50).is_ok());
    let error = storage.pool().dump_hot_set(&disk, Path::new("/db/t.ibd"), 100).unwrap_err();
    assert!(error.to_string().contains("/db/t.ibd is there and is no list of pages"), "{error}");
    // It ends when it is told to.
    let mut looks = 0;
    let mut pages: Vec<PageId> = (0..10).map(|i| PageId::new(SpaceId(99), PageNo(i))).collect();
    let end = |looks: &mut i32| {
        *looks += 1;
        false
    };
    assert_eq!(storage.pool().load_pages(&mut pages, &mut |_| end(&mut looks)).unwrap(), 0);
    assert_eq!(looks, 1);
    storage.pool().validate();
}

#[test]
fn no_more_files_are_open_than_allowed_and_all_can_be_used() {
    let disk = SimDisk::new(5);
    disk.put_dir(Path::new("/db"));
    let storage = try_open(&disk, Options { open_files: 10, ..options() }).unwrap();
    let pages: Vec<PageId> = (0..30)
        .map(|i| {
            let space = SpaceId(100 + i);
            let segment = create_space(&storage, space, &format!("t{i}"));
            PageId::new(space, allocate(&storage, segment))
        })
        .collect();
    for round in 0..3 {
        for &page in &pages {
            add(&storage, page, round);
        }
        storage.flush_everything().unwrap();
        assert!(storage.spaces().open_file_count() <= 11, "{}", storage.spaces().open_file_count());
    }
    storage.close().unwrap();
}

#[test]
fn dropping_a_table_space_removes_its_pages_and_its_file() {
    let disk = clean_folder(6);
    let storage = open_with(&disk, options());
    work(&storage, 1);
    storage.drop_table_space(SPACE, "t").unwrap();
    assert!(!disk.exists(Path::new("/db/t.ibd")));
    assert!(storage.pool().get_shared(id(0)).is_err());
    storage.pool().validate();
    storage.flush_everything().unwrap();
    disk.power_cut();
    let disk = disk.restart();
    let storage = open(&disk);
    assert!(!storage.spaces().contains(SPACE));
}

#[test]
fn the_cleaner_writes_old_pages_and_moves_the_checkpoint() {
    let disk = clean_folder(7);
    let storage = open_with(&disk, options());
    let mut cleaner = PageCleaner::new();
    work(&storage, 1);
    let before = storage.log().checkpoint_lsn();
    assert!(storage.pool().oldest_modification().is_some());
    for _ in 0..3 {
        cleaner.step(&storage, true).unwrap();
    }
    assert_eq!(storage.pool().oldest_modification(), None);
    assert!(storage.log().checkpoint_lsn() > before);
    assert_eq!(storage.log().checkpoint_lsn(), storage.log().current_lsn());
}

#[test]
fn neighbours_are_written_as_configured() {
    // Dirty pages 0 1 2, and 4: the oldest is page 1.
    for (neighbors, written) in
        [(FlushNeighbors::None, 1), (FlushNeighbors::Contiguous, 3), (FlushNeighbors::Extent, 4)]
    {
        let disk = clean_folder(8);
        let storage = open_with(
            &disk,
            Options { live: LiveSettings { flush_neighbors: neighbors, ..options().live }, ..options() },
        );
        for i in [1, 0, 2, 4] {
            add(&storage, id(i), 1);
        }
        let oldest = storage.pool().oldest_modification().unwrap();
        let n = storage.flush_older_than(vaquita_base::Lsn(oldest.0 + 1)).unwrap();
        assert_eq!(n, written, "{neighbors:?}");
    }
}

#[test]
fn a_read_error_is_passed_on_and_forgotten() {
    use vaquita_io::sim::{Fault, Injection};
    for fault in [Fault::ReadError, Fault::ShortRead] {
        let disk = clean_folder(9);
        let storage = open_with(&disk, options());
        disk.inject(Injection::new(fault).on_path("t.ibd"));
        assert!(storage.pool().get_shared(id(0)).is_err());
        storage.pool().validate();
        assert!(storage.pool().get_shared(id(0)).is_ok());
    }
}

#[test]
fn two_instances_live_in_one_process() {
    let disks = [clean_folder(10), clean_folder(11)];
    let storages = disks.each_ref().map(|disk| open_with(disk, options()));
    add(&storages[0], id(0), 1);
    let value = |s: &Storage| get_u64(&s.pool().get_shared(id(0)).unwrap(), 1_000);
    assert_eq!(value(&storages[0]), value(&storages[1]) + 1);
    let fs: Arc<dyn FileSystem> = Arc::new(disks[0].clone());
    drop((fs, ManualClock::new(), PAGES));
}

#[test]
fn whoever_waits_for_a_page_is_told_before() {
    let disk = clean_folder(1);
    let storage = open_with(&disk, options());
    let told = Arc::new(AtomicU64::new(0));
    let tell = told.clone();
    storage.pool().set_before_wait(Box::new(move || {
        tell.fetch_add(1, Ordering::Relaxed);
    }));
    let reads = storage.pool().stats.reads.get();
    assert!(!storage.pool().contains(id(3)));
    drop(storage.pool().get_shared(id(3)).unwrap());
    assert_eq!((told.load(Ordering::Relaxed), storage.pool().stats.reads.get() - reads), (1, 1));
    // In the pool: nobody waits.
    drop(storage.pool().get_shared(id(3)).unwrap());
    assert_eq!(told.load(Ordering::Relaxed), 1);
}

#[test]
fn a_table_space_that_cannot_be_made_leaves_nothing() {
    use vaquita_format::flags::SpaceFlags;
    use vaquita_io::sim::{Fault, Injection};
    for fault in [Fault::WriteError, Fault::NoSpace, Fault::SyncError] {
        let disk = clean_folder(8);
        let storage = open_with(&disk, options());
        disk.inject(Injection::new(fault).on_path("new.ibd"));
        let flags = SpaceFlags::decode(storage.spaces().get(SPACE).unwrap().flags()).unwrap();
        storage.create_table_space(SpaceId(77), flags, "new").unwrap_err();
        assert!(!disk.exists(Path::new("/db/new.ibd")), "{fault:?}");
        assert!(!storage.spaces().contains(SpaceId(77)), "{fault:?}");
        storage.create_table_space(SpaceId(77), flags, "new").unwrap();
        storage.pool().validate();
        storage.close().unwrap();
    }
}

/// Seven instances, into which the frames do not divide evenly: each frame is of one, and has its links there.
#[test]
fn frames_are_shared_out_among_any_number_of_instances() {
    let disk = clean_folder(9);
    let storage =
        open_with(&disk, Options { buffer_pool_instances: 7, buffer_pool_size: 400 * 4096, ..options() });
    let frames = storage.pool().frame_count();
    assert!(!frames.is_multiple_of(7));
    for round in 0..3 {
        work(&storage, round);
        storage.pool().validate();
    }
    storage.flush_everything().unwrap();
    storage.pool().validate();
    storage.close().unwrap();
}

/// An address that leads to a page which is held shared is damage of whatever has the address, and no reason to stop.
#[test]
fn a_page_that_is_held_shared_is_not_latched_exclusively() {
    let storage = open_with(&clean_folder(1), options());
    let id = PageId::new(SpaceId::SYSTEM, PageNo(5));
    let mut mtr = storage.begin().unwrap();
    let page = mtr.get_shared(id).unwrap();
    let error = mtr.get_exclusive(id).unwrap_err();
    assert!(error.is_corruption(), "{error}");
    mtr.release(page);
    let page = mtr.get_exclusive(id).unwrap();
    assert!(mtr.is_exclusive(page));
}

/// The page cleaner keeps so many frames free.
#[test]
fn as_many_frames_are_kept_free_as_are_asked_for() {
    for depth in [3, 7, 12] {
        let disk = clean_folder(12);
        let live = LiveSettings { lru_scan_depth: depth, ..options().live };
        let storage = open_with(&disk, Options { buffer_pool_size: 128 * 4096, live, ..options() });
        let segment = create_space(&storage, SpaceId(8), "u");
        for _ in 0..300 {
            let page = PageId::new(SpaceId(8), allocate(&storage, segment));
            add(&storage, page, 1);
        }
        PageCleaner::new().step(&storage, false).unwrap();
        assert_eq!(storage.pool().free_count(), depth as usize);
    }
}
