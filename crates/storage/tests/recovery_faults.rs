//! Faults of recovery that simulation found, each reduced to its story.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::folder;

use folder::{PAGE, PAGES, SPACE, check_rows, create_space, open, options, try_open, work};
use std::path::Path;
use vaquita_base::codec::get_u64;
use vaquita_base::{PageId, PageNo, SpaceId};
use vaquita_io::sim::{Fault, Injection, SimDisk};
use vaquita_storage::fsp;
use vaquita_storage::{Error, Options, Storage};

/// A folder with counters, running, everything on disk.
fn running(seed: u64) -> (SimDisk, Storage) {
    running_with(seed, options())
}

fn running_with(seed: u64, options: Options) -> (SimDisk, Storage) {
    let disk = folder::clean_folder(seed);
    let storage = try_open(&disk, options).unwrap();
    storage.open_table_space(SPACE, Path::new("/db/t.ibd")).unwrap();
    (disk, storage)
}

fn change(storage: &Storage, page: u32, n: u64) {
    let mut mtr = storage.begin().unwrap();
    let held = mtr.get_exclusive(PageId::new(SPACE, PageNo(page))).unwrap();
    mtr.write_u64(held, 1_000, n * u64::from(page));
    mtr.write_u64(held, 3_000, n * u64::from(page));
    mtr.commit();
}

/// Recovery that runs out of memory for records applies what it has. It did so in the middle of a mini-transaction,
/// whose other half was then taken for applied: the page's LSN said so.
#[test]
fn recovery_short_of_memory_splits_no_mini_transaction() {
    let (disk, storage) = running(1);
    let (words, pages) = (450, 20);
    for no in PAGE.0..PAGE.0 + pages {
        let mut mtr = storage.begin().unwrap();
        let page = mtr.get_exclusive(PageId::new(SPACE, PageNo(no))).unwrap();
        (0..words).for_each(|i| mtr.write_u64(page, 200 + 8 * i, u64::from(no)));
        mtr.commit();
    }
    storage.log().flush_up_to(storage.log().current_lsn()).unwrap();
    disk.power_cut();
    let storage = open(&disk.restart());
    let recovery = storage.report().recovery.clone().unwrap();
    assert!(recovery.rounds > 1, "the records fit the memory, nothing is tested: {recovery:?}");
    for no in PAGE.0..PAGE.0 + pages {
        let page = storage.pool().get_shared(PageId::new(SPACE, PageNo(no))).unwrap();
        for i in 0..words {
            assert_eq!(get_u64(&page, 200 + 8 * i), u64::from(no), "word {i}");
        }
    }
}

/// A killed process leaves writes in the system's cache. Recovery brought pages up to the end of a log that was not
/// durable, and reused the doublewrite area while pages it protected were not: a power cut then made pages newer
/// than the log, or left them torn without a copy.
#[test]
fn what_a_killed_process_left_in_the_cache_is_made_durable_first() {
    for seed in 0..60 {
        let (disk, storage) = running(seed);
        storage.log().flush_up_to(storage.log().current_lsn()).unwrap();
        // Pages of this batch are written, but never synced.
        for no in 0..20 {
            change(&storage, PAGE.0 + no, 30);
        }
        disk.inject(Injection::new(Fault::SyncError).on_path("t.ibd"));
        disk.inject(Injection::new(Fault::WriteError).on_path("t.ibd").after(seed % 20));
        storage.flush_everything().unwrap_err();
        drop(storage);

        let disk = disk.after_kill();
        let storage = open(&disk);
        for no in 20..PAGES {
            change(&storage, PAGE.0 + no, 31);
        }
        storage.log().write_up_to(storage.log().current_lsn()).unwrap();
        drop(storage);

        let disk = disk.after_kill();
        disk.arm_cut(8 + seed);
        if let Ok(storage) = try_open(&disk, options()) {
            let _ = storage.flush_everything();
        }
        let storage = open(&disk.restart());
        check_rows(&storage);
    }
}

/// After a failed sync the cache may go on showing data that no further sync will save. Recovery on the same machine
/// found pages and log in order, wrote nothing, and moved the checkpoint on.
#[test]
fn a_failed_sync_is_survived_without_a_reboot() {
    for seed in 0..90 {
        // A log that bypasses the page cache has no syncs of its own.
        let (victim, fault) = [
            ("t.ibd", Fault::SyncError),
            ("ib_logfile", Fault::SyncError),
            ("ib_logfile", Fault::WriteError),
        ][seed as usize % 3];
        let log_file_buffering = fault == Fault::SyncError;
        let (disk, storage) = running_with(seed, Options { log_file_buffering, ..options() });
        (0..PAGES).for_each(|no| change(&storage, PAGE.0 + no, 50));
        disk.inject(Injection::new(fault).on_path(victim));
        storage.flush_everything().unwrap_err();
        drop(storage);

        let disk = disk.after_kill();
        let storage = open(&disk);
        let expected: Vec<u64> = (0..PAGES).map(|no| counter(&storage, PAGE.0 + no)).collect();
        storage.flush_everything().unwrap();
        disk.power_cut();
        let storage = open(&disk.restart());
        storage.open_table_space(SPACE, Path::new("/db/t.ibd")).unwrap();
        let found: Vec<u64> = (0..PAGES).map(|no| counter(&storage, PAGE.0 + no)).collect();
        assert_eq!(found, expected, "seed {seed}: {fault:?} of {victim}");
    }
}

/// The same, and the power goes off after the doublewrite area has been used for other pages: those of the failed sync
/// were torn on the disk, and nothing had mended them.
#[test]
fn pages_of_a_failed_sync_are_whole_before_their_copies_go() {
    for seed in 0..60 {
        let (disk, storage) = running(seed);
        (0..PAGES).for_each(|no| change(&storage, PAGE.0 + no, 50));
        disk.inject(Injection::new(Fault::SyncError).on_path("t.ibd").after(1));
        storage.flush_everything().unwrap_err();
        drop(storage);

        let disk = disk.after_kill();
        // Room for all pages, so that recovery writes none; they go out in two batches.
        let larger = Options { buffer_pool_size: 64 * 4096, ..options() };
        let storage = try_open(&disk, larger).unwrap();
        disk.arm_cut(disk.ops() + 1 + seed);
        let _ = storage.flush_everything();
        disk.power_cut();
        check_rows(&open(&disk.restart()));
    }
}

fn counter(storage: &Storage, page: u32) -> u64 {
    get_u64(&storage.pool().get_shared(PageId::new(SPACE, PageNo(page))).unwrap(), 1_000)
}

/// A read that ends early was taken for the end of the file, and the page for an empty one.
#[test]
fn a_short_read_in_recovery_is_an_error() {
    for skip in 0..60 {
        let disk = folder::crashed_folder(9);
        disk.inject(Injection::new(Fault::ShortRead).on_path("t.ibd").after(skip));
        let opened = try_open(&disk, options());
        disk.clear_injections();
        match opened {
            Ok(storage) => check_rows(&storage),
            Err(e) => assert!(matches!(e, Error::Io(_)), "{e}"),
        }
        check_rows(&open(&disk));
    }
}

/// The folder's own name was left to chance: a power cut after everything in it was durable could take it away.
#[test]
fn a_new_folder_has_a_durable_name() {
    for seed in 0..20 {
        let disk = SimDisk::new(seed);
        let storage = open(&disk);
        create_space(&storage, SpaceId(9), "s");
        storage.close().unwrap();
        disk.power_cut();
        let disk = disk.restart();
        assert!(!open(&disk).report().created, "seed {seed}: the folder is gone");
    }
}

/// The doublewrite area keeps copies of earlier batches in the slots that later ones did not need. Such a copy was
/// taken to repair a page that had rotted, and brought an old page back that no redo made current.
#[test]
fn a_leftover_copy_does_not_stand_in_for_a_rotten_page() {
    let (disk, storage) = running(3);
    let (last, first) = (PAGE.0 + PAGES - 1, PAGE.0);
    work(&storage, 1);
    storage.flush_everything().unwrap();
    for (page, n) in [(last, 77), (first, 78)] {
        change(&storage, page, n);
        storage.flush_everything().unwrap();
    }
    change(&storage, first, 79);
    storage.log().flush_up_to(storage.log().current_lsn()).unwrap();
    disk.power_cut();
    let disk = disk.restart();
    assert!(disk.rot(Path::new("/db/t.ibd"), u64::from(last) * 4096 + 2_000, 3));

    let storage = open(&disk);
    assert_eq!(counter(&storage, first), 79 * u64::from(first));
    match storage.pool().get_shared(PageId::new(SPACE, PageNo(last))) {
        Err(Error::Page { page, .. }) => assert_eq!(page.page_no.0, last),
        Err(e) => panic!("{e}"),
        Ok(page) => assert_eq!(get_u64(&page, 1_000), 77 * u64::from(last), "an old page is served"),
    }
}

/// A tablespace was dropped and another one created under its name. Recovery from before the drop took the new file for
/// the old tablespace's, and removed it.
#[test]
fn a_name_used_again_keeps_its_new_file() {
    for flushed in [false, true] {
        for seed in 0..10 {
            let (disk, storage) = running(seed);
            let young = SpaceId(8);
            storage.drop_table_space(SPACE, "t").unwrap();
            let segment = create_space(&storage, young, "t");
            let page = PageId::new(young, folder::allocate(&storage, segment));
            let mut mtr = storage.begin().unwrap();
            let held = mtr.get_exclusive(page).unwrap();
            mtr.write_u64(held, 1_000, 4711);
            let lsn = mtr.commit();
            storage.log().flush_up_to(lsn).unwrap();
            if flushed {
                storage.flush_older_than(lsn).unwrap();
            }
            disk.power_cut();
            let disk = disk.restart();
            let storage = open(&disk);
            assert_eq!(get_u64(&storage.pool().get_shared(page).unwrap(), 1_000), 4711);
            fsp::validate(&mut storage.begin_read(), young).unwrap();
            assert!(!storage.spaces().contains(SPACE), "the dropped tablespace is back");
        }
    }
}

/// A tablespace was made, changed and dropped, and there was more redo than recovery keeps at once: it made the file of the
/// dropped tablespace anew for the first of its records.
#[test]
fn no_file_is_made_for_a_tablespace_that_the_log_drops() {
    let (disk, storage) = running(3);
    let young = SpaceId(8);
    let segment = create_space(&storage, young, "u");
    let page = PageId::new(young, folder::allocate(&storage, segment));
    let mut mtr = storage.begin().unwrap();
    let held = mtr.get_exclusive(page).unwrap();
    mtr.write_u64(held, 1_000, 4711);
    mtr.commit();
    work(&storage, 30);
    storage.drop_table_space(young, "u").unwrap();
    storage.log().flush_up_to(storage.log().current_lsn()).unwrap();
    let disk = disk.after_kill();
    disk.set_trace(true);
    let storage = open(&disk);
    let recovery = storage.report().recovery.clone().unwrap();
    assert!(recovery.rounds > 1, "the records fit the memory, nothing is tested: {recovery:?}");
    let touched: Vec<_> = disk.trace().into_iter().filter(|op| op.path.ends_with("u.ibd")).collect();
    assert!(touched.is_empty(), "{touched:?}");
    assert!(!storage.spaces().contains(young));
    check_rows(&storage);
}

/// Pages without redo were durable, the name of their file was not: recovery made the file anew without them.
#[test]
fn a_file_with_pages_without_redo_has_a_durable_name() {
    for seed in 0..20 {
        let (disk, storage) = running(seed);
        let young = SpaceId(8);
        create_space(&storage, young, "u");
        let page = storage.never_used(young).unwrap();
        let space = storage.spaces().get(young).unwrap();
        storage.spaces().grow(&space, page.0 + 1).unwrap();
        storage.build_page(PageId::new(young, page), |bytes| bytes[1_000..1_008].fill(7)).unwrap();
        storage.settle_built(young, &[page], false).unwrap();
        storage.log().flush_up_to(storage.log().current_lsn()).unwrap();
        disk.power_cut();
        let storage = open(&disk.restart());
        let found = storage.pool().get_shared(PageId::new(young, page)).unwrap();
        assert_eq!(found[1_000..1_008], [7; 8], "seed {seed}");
    }
}

/// A system tablespace that lost its tail was opened for writing.
#[test]
fn a_system_tablespace_that_was_cut_is_refused() {
    let disk = folder::clean_folder(1);
    let fs: &dyn vaquita_io::FileSystem = &disk;
    let file =
        fs.open(Path::new("/db/ibdata1"), vaquita_io::OpenOptions::new(vaquita_io::OpenMode::ReadWrite));
    let file = file.unwrap();
    file.set_len(file.len().unwrap() / 4).unwrap();
    drop(file);
    let refused = try_open(&disk, options()).unwrap_err().to_string();
    assert!(
        refused.contains("stored in the header is 1792 pages, but the sum of its file sizes is only 448"),
        "{refused}"
    );
    let level = vaquita_storage::ForceRecovery(1);
    try_open(&disk, Options { force_recovery: level, ..options() }).map(drop).unwrap();
}

/// Recovery was silent until it had ended; a log that is too large was called damaged.
#[test]
fn recovery_tells_how_far_it_is() {
    use std::sync::{Arc, Mutex};
    let (disk, storage) = running(5);
    work(&storage, 60);
    storage.log().flush_up_to(storage.log().current_lsn()).unwrap();
    disk.power_cut();
    let disk = disk.restart();
    let lines = Arc::new(Mutex::new(Vec::new()));
    let told = lines.clone();
    let progress = vaquita_storage::Progress::to(move |line| told.lock().unwrap().push(line.to_owned()));
    drop(try_open(&disk, Options { progress, ..options() }).unwrap());
    let lines = lines.lock().unwrap().join("\n");
    for part in ["reading the redo log from LSN", "the redo log ends at LSN", "%", "applied in"] {
        assert!(lines.contains(part), "{part}: {lines}");
    }
    let huge = Options { log_file_size: 512 << 30, ..options() };
    let refused = try_open(&SimDisk::new(1), huge).unwrap_err().to_string();
    assert!(refused.contains("log_file_size times log_files_in_group"), "{refused}");
}
