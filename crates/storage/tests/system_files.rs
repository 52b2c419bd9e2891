//! The system tablespace in several files, of which the last grows.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::folder;

use folder::{allocate, options, try_open};
use std::path::Path;
use vaquita_base::codec::get_u64;
use vaquita_base::{PageId, SpaceId};
use vaquita_io::sim::SimDisk;
use vaquita_storage::fsp::{self, HeaderPlace};
use vaquita_storage::{Options, Storage, SystemFile};

const MIB: u64 = 1 << 20;

fn three_files() -> Options {
    let file = |name: &str, mib: u64| SystemFile { name: name.into(), size_bytes: mib * MIB };
    Options { data_file_path: vec![file("ibdata1", 3), file("ibdata2", 2), file("ibdata3", 1)], ..options() }
}

fn mib(disk: &SimDisk, name: &str) -> u64 {
    disk.contents(&Path::new("/db").join(name)).unwrap().len() as u64 / MIB
}

fn write(storage: &Storage, page: PageId, value: u64) {
    let mut mtr = storage.begin().unwrap();
    let page = mtr.get_exclusive(page).unwrap();
    mtr.write_u64(page, 1_000, value);
    mtr.commit();
}

#[test]
fn pages_fill_the_files_in_turn_and_only_the_last_one_grows() {
    for crash in [false, true] {
        let disk = SimDisk::new(3);
        disk.put_dir(Path::new("/db"));
        let storage = try_open(&disk, three_files()).unwrap();
        let mut mtr = storage.begin().unwrap();
        mtr.keep_before_images();
        let place = HeaderPlace::OnFirstPage { offset: 100 };
        let segment = fsp::create_segment(&mut mtr, SpaceId::SYSTEM, place).unwrap().header;
        mtr.commit();
        // 4K pages: 1,536 in the files as created; go well beyond.
        let pages: Vec<PageId> =
            (0..1_500).map(|_| PageId::new(SpaceId::SYSTEM, allocate(&storage, segment))).collect();
        for (i, &page) in pages.iter().enumerate() {
            write(&storage, page, i as u64);
        }
        if crash {
            storage.log().flush_up_to(storage.log().current_lsn()).unwrap();
            drop(storage);
            disk.power_cut();
        } else {
            storage.close().unwrap();
            drop(storage);
        }
        let disk = disk.restart();
        let storage = try_open(&disk, three_files()).unwrap();
        assert_eq!(storage.report().recovery.is_some(), crash);
        for (i, &page) in pages.iter().enumerate() {
            let page = storage.pool().get_shared(page).unwrap();
            assert_eq!(get_u64(&page, 1_000), i as u64);
        }
        assert_eq!((mib(&disk, "ibdata1"), mib(&disk, "ibdata2")), (3, 2));
        assert!(mib(&disk, "ibdata3") > 1, "the last file has grown");
        fsp::validate(&mut storage.begin_read(), SpaceId::SYSTEM).unwrap();
        storage.close().unwrap();
    }
}

#[test]
fn a_missing_file_in_the_middle_is_named() {
    let disk = SimDisk::new(4);
    disk.put_dir(Path::new("/db"));
    try_open(&disk, three_files()).unwrap().close().unwrap();
    vaquita_io::FileSystem::remove_file(&disk, Path::new("/db/ibdata2")).unwrap();
    let error = try_open(&disk, three_files()).unwrap_err().to_string();
    assert!(error.contains("ibdata2"), "{error}");
}
