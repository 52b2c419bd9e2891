//! Several threads that write pages at once.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::folder;
use crate::slow_disk;

use folder::{PAGE, PAGES, SPACE, check_rows, create_space, open, options, try_open};
use slow_disk::{Barrier, SlowDisk};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;
use vaquita_base::codec::get_u64;
use vaquita_base::{ManualClock, PageId, PageNo, SpaceId};
use vaquita_io::sim::{Fault, Injection, SimDisk};
use vaquita_io::{FileSystem, OpenMode, OpenOptions};
use vaquita_storage::page_cleaner::PageCleaner;
use vaquita_storage::{Options, Services, Storage};

/// Sets the counter of a page, if the disk lets it.
fn change(storage: &Storage, page: PageId, n: u64) -> vaquita_storage::Result<()> {
    let mut mtr = storage.begin()?;
    let held = mtr.get_exclusive(page)?;
    mtr.write_u64(held, 1_000, n * u64::from(page.page_no.0));
    mtr.write_u64(held, 3_000, n * u64::from(page.page_no.0));
    mtr.commit();
    Ok(())
}

/// A folder behind the barrier, clean, and a page of another space.
fn behind_a_barrier(disk: &SimDisk) -> (Arc<Storage>, Arc<Barrier>, PageId) {
    behind_a_barrier_with(disk, 128)
}

/// The same with so many frames.
fn behind_a_barrier_with(disk: &SimDisk, frames: usize) -> (Arc<Storage>, Arc<Barrier>, PageId) {
    let barrier = Arc::new(Barrier::default());
    let fs = Arc::new(SlowDisk { disk: disk.clone(), barrier: barrier.clone() });
    let roomy = Options { buffer_pool_size: frames * 4096, ..options() };
    let storage = Arc::new(Storage::open(fs, Arc::new(ManualClock::new()), roomy).unwrap());
    storage.open_table_space(SPACE, Path::new("/db/t.ibd")).unwrap();
    let segment = create_space(&storage, SpaceId(8), "u");
    let other = PageId::new(SpaceId(8), folder::allocate(&storage, segment));
    change(&storage, other, 1).unwrap();
    storage.flush_everything().unwrap();
    (storage, barrier, other)
}

/// A batch that waits for its disk kept all others waiting: threads that needed a frame stood behind the page cleaner.
#[test]
fn a_batch_does_not_wait_for_another_one() {
    let disk = folder::clean_folder(1);
    let (storage, barrier, other) = behind_a_barrier(&disk);
    change(&storage, PageId::new(SPACE, PAGE), 2).unwrap();
    barrier.close("t.ibd");
    std::thread::scope(|s| {
        let slow = s.spawn(|| storage.flush_older_than(storage.log().current_lsn()));
        barrier.wait_for_a_visitor();
        change(&storage, other, 2).unwrap();
        let (done, second) = mpsc::channel();
        let quick = storage.clone();
        s.spawn(move || done.send(quick.flush_older_than(quick.log().current_lsn())).unwrap());
        let second = second.recv_timeout(Duration::from_secs(60));
        barrier.open();
        assert_eq!(second.expect("the second batch is written meanwhile").unwrap(), 1);
        assert_eq!(slow.join().unwrap().unwrap(), 1);
    });
    storage.flush_everything().unwrap();
}

/// While a page is on its way it is changed again, and somebody else wants all written: he waits until it has arrived, and
/// writes it then. A page that is written twice at once could end as the older one.
#[test]
fn a_page_on_its_way_is_written_again_afterwards() {
    let disk = folder::clean_folder(2);
    let (storage, barrier, _) = behind_a_barrier(&disk);
    let page = PageId::new(SPACE, PAGE);
    change(&storage, page, 2).unwrap();
    barrier.close("t.ibd");
    std::thread::scope(|s| {
        let slow = s.spawn(|| storage.flush_older_than(storage.log().current_lsn()));
        barrier.wait_for_a_visitor();
        change(&storage, page, 3).unwrap();
        assert_eq!(storage.flush_older_than(storage.log().current_lsn()).unwrap(), 0);
        let all = s.spawn(|| storage.flush_everything());
        barrier.open();
        assert_eq!(slow.join().unwrap().unwrap(), 1);
        all.join().unwrap().unwrap();
    });
    assert_eq!(storage.log().checkpoint_lsn(), storage.log().current_lsn());
    disk.power_cut();
    let storage = open(&disk.restart());
    let read = storage.pool().get_shared(page).unwrap();
    assert_eq!(get_u64(&read, 1_000), 3 * u64::from(PAGE.0));
}

/// What happened to a storage that several threads use until the disk ends it: for each page how far its counter was durable.
fn storm(storage: &Storage, cleaners: bool) -> Vec<u64> {
    const THREADS: u32 = 4;
    let run = |thread: u32| {
        let own = || (PAGE.0..PAGE.0 + PAGES).filter(move |no| no % THREADS == thread);
        let mut durable = 0;
        for n in 21.. {
            for no in own() {
                if change(storage, PageId::new(SPACE, PageNo(no)), n).is_err() {
                    return durable;
                }
            }
            let end = storage.log().current_lsn();
            if storage.log().flush_up_to(end).is_err() {
                return durable;
            }
            durable = n;
            let written = match cleaners {
                true => PageCleaner::new().step(storage, true).map(|_| ()),
                false => storage.flush_older_than(end).map(|_| ()),
            };
            if written.is_err() || storage.checkpoint().is_err() {
                return durable;
            }
        }
        durable
    };
    std::thread::scope(|s| {
        let threads: Vec<_> = (0..THREADS).map(|thread| s.spawn(move || run(thread))).collect();
        let durable: Vec<u64> = threads.into_iter().map(|t| t.join().unwrap()).collect();
        (PAGE.0..PAGE.0 + PAGES).map(|no| durable[(no % THREADS) as usize]).collect()
    })
}

fn check(storage: &Storage, durable: &[u64], seed: u64) {
    check_rows(storage);
    for (no, n) in (PAGE.0..).zip(durable) {
        let page = storage.pool().get_shared(PageId::new(SPACE, PageNo(no))).unwrap();
        let found = get_u64(&page, 1_000) / u64::from(no);
        assert!(found >= *n, "seed {seed}: page {no} is at {found}, and {n} was durable");
    }
}

/// A storage for a storm, of every other seed with services: three instances that the cleaner's threads share.
fn stormy(seed: u64) -> (SimDisk, Arc<Storage>, Option<Services>) {
    let disk = folder::clean_folder(seed);
    // Torn pages and writes that the cut loses are the disk's part.
    let roomy = Options { buffer_pool_size: 128 * 4096, buffer_pool_instances: 3, ..options() };
    let storage = Arc::new(try_open(&disk, roomy).unwrap());
    storage.open_table_space(SPACE, Path::new("/db/t.ibd")).unwrap();
    let services = (seed % 2 == 1).then(|| Services::start(&storage).unwrap());
    (disk, storage, services)
}

/// What is in the file of a page's space, whatever is in memory.
fn in_file(disk: &SimDisk, path: &str, page: PageId) -> u64 {
    let file = disk.open(Path::new(path), OpenOptions::new(OpenMode::Read)).unwrap();
    let mut bytes = vec![0; 4096];
    file.read_at(&mut bytes, u64::from(page.page_no.0) * 4096).unwrap();
    get_u64(&bytes, 1_000) / u64::from(page.page_no.0)
}

/// A table's file that somebody is about to copy: what others write to theirs is nothing to it.
#[test]
fn the_pages_of_one_space_are_written_and_those_of_others_are_not() {
    for frames in [128, 60] {
        let disk = folder::clean_folder(8);
        let (storage, barrier, other) = behind_a_barrier_with(&disk, frames);
        let segment = folder::create_segment(&storage, SPACE, 200);
        while folder::allocate(&storage, segment).0 < 64 {}
        storage.flush_everything().unwrap();
        let pages = storage.spaces().get(SPACE).unwrap().size_pages() as usize;
        assert_eq!(pages <= storage.pool().frame_count(), frames == 128, "{pages} pages");
        for no in PAGE.0..PAGE.0 + PAGES {
            change(&storage, PageId::new(SPACE, PageNo(no)), 2).unwrap();
        }
        barrier.close("t.ibd");
        std::thread::scope(|s| {
            // Some of them are on their way already.
            let cleaner = s.spawn(|| storage.flush_older_than(storage.log().current_lsn()));
            barrier.wait_for_a_visitor();
            change(&storage, other, 2).unwrap();
            let (done, ended) = mpsc::channel();
            let flusher = storage.clone();
            s.spawn(move || done.send(flusher.flush_space(SPACE)).unwrap());
            let early = ended.recv_timeout(Duration::from_millis(50));
            barrier.open();
            assert!(early.is_err(), "pages that others are writing are not there yet");
            ended.recv_timeout(Duration::from_secs(60)).expect("it ends").unwrap();
            cleaner.join().unwrap().unwrap();
        });
        assert!(storage.pool().oldest_modification().is_some(), "the other space's page is dirty still");
        assert_eq!(in_file(&disk, "/db/u.ibd", other), 1);
        disk.power_cut();
        let disk = disk.restart();
        for no in PAGE.0..PAGE.0 + PAGES {
            assert_eq!(in_file(&disk, "/db/t.ibd", PageId::new(SPACE, PageNo(no))), 2, "page {no}");
        }
    }
}

/// Who wants everything written that is dirty now was kept by what others changed meanwhile: as long as they went on.
#[test]
fn what_is_changed_meanwhile_keeps_nobody_from_having_written_everything() {
    let disk = folder::clean_folder(9);
    let (storage, barrier, other) = behind_a_barrier(&disk);
    change(&storage, PageId::new(SPACE, PAGE), 2).unwrap();
    let now = storage.log().current_lsn();
    barrier.close("t.ibd");
    std::thread::scope(|s| {
        let everything = s.spawn(|| storage.flush_everything());
        barrier.wait_for_a_visitor();
        change(&storage, other, 2).unwrap();
        barrier.open();
        everything.join().unwrap().unwrap();
    });
    assert!(storage.log().checkpoint_lsn() >= now);
    assert_eq!(in_file(&disk, "/db/t.ibd", PageId::new(SPACE, PAGE)), 2);
    assert!(storage.pool().oldest_modification().is_some(), "nobody waited for what came later");
}

#[test]
fn batches_of_several_threads_survive_a_power_cut() {
    for seed in 0..150 {
        let (disk, storage, services) = stormy(seed);
        disk.arm_cut(disk.ops() + 10 + 7 * seed);
        let durable = storm(&storage, services.is_some());
        assert!(disk.is_off());
        drop((services, storage));
        check(&open(&disk.restart()), &durable, seed);
    }
}

/// A batch fails; others are on their way or begin just then. The failed one's copies may be all that is whole.
#[test]
fn batches_of_several_threads_survive_the_failure_of_one() {
    for seed in 0..100 {
        let (disk, storage, services) = stormy(seed);
        let (fault, victim) = [
            (Fault::SyncError, "t.ibd"),
            (Fault::WriteError, "t.ibd"),
            (Fault::SyncError, "ibdata1"),
            (Fault::WriteError, "ibdata1"),
        ][seed as usize / 2 % 4];
        disk.inject(Injection::new(fault).on_path(victim).after(seed / 4));
        let durable = storm(&storage, services.is_some());
        drop((services, storage));
        disk.power_cut();
        check(&open(&disk.restart()), &durable, seed);
    }
}

/// Threads that waited for room in the log wrote pages themselves, one after the other.
#[test]
fn services_make_the_room_that_users_wait_for() {
    let disk = folder::clean_folder(4);
    let (storage, barrier, _) = behind_a_barrier(&disk);
    barrier.note_threads();
    let services = Services::start(&storage).unwrap();
    std::thread::scope(|s| {
        for thread in 0..4 {
            let storage = &storage;
            s.spawn(move || {
                // Some times round the log together.
                for n in 1..1_500 {
                    let no = PAGE.0 + thread + 4 * (n % 8);
                    let mut mtr = storage.begin().unwrap();
                    let held = mtr.get_exclusive(PageId::new(SPACE, PageNo(no))).unwrap();
                    mtr.write_bytes(held, 200, &[n as u8; 700]);
                    mtr.write_u64(held, 1_000, u64::from(n) * u64::from(no));
                    mtr.write_u64(held, 3_000, u64::from(n) * u64::from(no));
                    mtr.commit();
                }
            });
        }
    });
    assert!(storage.log().stats().room_waits.get() > 0, "there was room all the time, nothing is tested");
    let writers = barrier.threads();
    assert!(writers.iter().all(|name| name.starts_with("vaquita-")), "{writers:?} wrote pages");
    assert!(services.failure().is_none());
    drop(services);
    // Without services all goes on: whoever needs room makes it.
    for n in 1..600 {
        change(&storage, PageId::new(SPACE, PAGE), n).unwrap();
        let mut mtr = storage.begin().unwrap();
        let held = mtr.get_exclusive(PageId::new(SPACE, PageNo(PAGE.0 + 1))).unwrap();
        mtr.write_bytes(held, 200, &[n as u8; 700]);
        mtr.commit();
    }
    storage.log().flush_up_to(storage.log().current_lsn()).unwrap();
    disk.power_cut();
    let storage = open(&disk.restart());
    let read = storage.pool().get_shared(PageId::new(SPACE, PAGE)).unwrap();
    assert_eq!(get_u64(&read, 1_000), 599 * u64::from(PAGE.0));
}
