//! The tablespace of temporary tables: its pages are pages as others are, and leave no trace in the log, in the doublewrite
//! area, or behind a crash.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::folder;

use folder::{PAGE, SPACE, check_rows, clean_folder, open, options, try_open, work};
use std::path::Path;
use vaquita_base::codec::get_u64;
use vaquita_base::{PageId, PageNo, SpaceId};
use vaquita_format::flst::SegmentHeader;
use vaquita_io::FileSystem;
use vaquita_io::sim::SimDisk;
use vaquita_storage::fsp::{self, HeaderPlace};
use vaquita_storage::{Options, Storage};

fn create_segment(storage: &Storage) -> SegmentHeader {
    let mut mtr = storage.begin().unwrap();
    mtr.keep_before_images();
    let place = HeaderPlace::OnFirstPage { offset: 100 };
    let made = fsp::create_segment(&mut mtr, SpaceId::TEMPORARY, place).unwrap();
    mtr.commit();
    made.header
}

fn write(storage: &Storage, page: PageId, n: u64) {
    let mut mtr = storage.begin().unwrap();
    let page = mtr.get_exclusive(page).unwrap();
    mtr.write_u64(page, 1_000, n);
    mtr.commit();
}

fn read(storage: &Storage, page: PageId) -> u64 {
    get_u64(&storage.pool().get_shared(page).unwrap(), 1_000)
}

fn is_there(disk: &SimDisk) -> bool {
    disk.exists(Path::new("/db/ibtmp1"))
}

#[test]
fn pages_live_through_a_pool_that_is_too_small_and_log_nothing() {
    let disk = clean_folder(1);
    // What an earlier process has left is no obstacle.
    disk.put_file(Path::new("/db/ibtmp1"), b"left over");
    let storage = try_open(&disk, Options { buffer_pool_size: 64 * 4096, ..options() }).unwrap();
    assert!(!is_there(&disk));
    let before = storage.log().current_lsn();
    storage.make_temporary_space().unwrap();
    let segment = create_segment(&storage);
    let pages: Vec<PageId> =
        (0..300).map(|_| PageId::new(SpaceId::TEMPORARY, folder::allocate(&storage, segment))).collect();
    for round in 1..=3 {
        for (i, &page) in pages.iter().enumerate() {
            write(&storage, page, round * 1_000 + i as u64);
        }
    }
    for (i, &page) in pages.iter().enumerate() {
        assert_eq!(read(&storage, page), 3_000 + i as u64);
    }
    assert_eq!(storage.log().current_lsn(), before, "nothing is logged");
    assert!(storage.pool().stats.evicted.get() > 300, "the pool was never under pressure");
    // They hold nothing back, and are not written for a checkpoint.
    write(&storage, pages[0], 7);
    storage.flush_everything().unwrap();
    assert_eq!(storage.log().checkpoint_lsn(), storage.log().current_lsn());
    storage.pool().validate();
    storage.drop_temporary_space().unwrap();
    assert!(!is_there(&disk));
    storage.pool().validate();
    // Again, and gone with the folder's closing.
    storage.make_temporary_space().unwrap();
    create_segment(&storage);
    storage.close().unwrap();
    assert!(!is_there(&disk));
}

#[test]
fn one_mini_transaction_may_change_both_kinds() {
    let disk = clean_folder(2);
    let storage = open(&disk);
    storage.open_table_space(SPACE, Path::new("/db/t.ibd")).unwrap();
    storage.make_temporary_space().unwrap();
    let segment = create_segment(&storage);
    let page = PageId::new(SpaceId::TEMPORARY, folder::allocate(&storage, segment));
    let logged = PageId::new(SPACE, PAGE);
    let mut mtr = storage.begin().unwrap();
    let (one, other) = (mtr.get_exclusive(logged).unwrap(), mtr.get_exclusive(page).unwrap());
    mtr.write_u64(other, 1_000, 5);
    mtr.write_u64(one, 1_000, 40);
    mtr.write_u64(one, 3_000, 40);
    let lsn = mtr.commit();
    assert_eq!(read(&storage, page), 5);
    // One that is given up takes both back.
    let mut mtr = storage.begin().unwrap();
    mtr.keep_before_images();
    let (one, other) = (mtr.get_exclusive(logged).unwrap(), mtr.get_exclusive(page).unwrap());
    mtr.write_u64(other, 1_000, 6);
    mtr.write_u64(one, 1_000, 41);
    drop(mtr);
    assert_eq!((read(&storage, page), read(&storage, logged)), (5, 40));
    // And one that has changed nothing else.
    let mut mtr = storage.begin().unwrap();
    mtr.keep_before_images();
    let other = mtr.get_exclusive(page).unwrap();
    mtr.write_u64(other, 1_000, 6);
    drop(mtr);
    assert_eq!(read(&storage, page), 5);
    storage.log().flush_up_to(lsn).unwrap();
    drop(storage);
    disk.power_cut();
    let disk = disk.restart();
    let storage = open(&disk);
    storage.open_table_space(SPACE, Path::new("/db/t.ibd")).unwrap();
    assert_eq!(read(&storage, logged), 40, "what is logged is repeated");
}

/// Whatever operation the power goes at: the folder opens, its tables are whole, and nothing temporary is left.
#[test]
fn a_power_cut_leaves_nothing_of_it() {
    for cut in 0..80 {
        let disk = clean_folder(3);
        let storage = try_open(&disk, Options { buffer_pool_size: 64 * 4096, ..options() }).unwrap();
        storage.open_table_space(SPACE, Path::new("/db/t.ibd")).unwrap();
        disk.arm_cut(disk.ops() + cut * 3);
        let used = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            storage.make_temporary_space().unwrap();
            let segment = create_segment(&storage);
            for n in 0..200 {
                let no = folder::allocate(&storage, segment);
                write(&storage, PageId::new(SpaceId::TEMPORARY, no), n);
            }
            work(&storage, 1);
            storage.flush_everything().unwrap();
        }));
        drop(used);
        disk.power_cut();
        drop(storage);
        let disk = disk.restart();
        let storage = open(&disk);
        storage.open_table_space(SPACE, Path::new("/db/t.ibd")).unwrap();
        assert!(!is_there(&disk), "cut {cut}");
        check_rows(&storage);
        assert!(!storage.spaces().contains(SpaceId::TEMPORARY));
        // A page number that the earlier file had is nothing now.
        storage.make_temporary_space().unwrap();
        assert!(storage.pool().get_shared(PageId::new(SpaceId::TEMPORARY, PageNo(100))).is_err());
        storage.close().unwrap();
    }
}
