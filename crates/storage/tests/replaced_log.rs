//! A log of another size takes the place of the old one, and a power cut at any moment of that loses nothing.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::folder;

use folder::{check_rows, clean_folder, crashed_folder, options, try_open};
use std::path::Path;
use vaquita_io::sim::SimDisk;
use vaquita_storage::{Options, Storage};

fn wanted() -> Options {
    Options { log_file_size: 256 << 10, log_files_in_group: 3, resize_log: true, ..options() }
}

fn check(storage: &Storage) {
    storage.open_table_space(folder::SPACE, Path::new("/db/t.ibd")).unwrap();
    check_rows(storage);
}

fn log_of(storage: &Storage) -> (u32, u64) {
    (storage.log().geometry().n_files(), storage.log().geometry().file_size())
}

#[test]
fn a_log_is_replaced_when_that_is_asked_for() {
    let disk = clean_folder(1);
    let storage = try_open(&disk, Options { resize_log: false, ..wanted() }).unwrap();
    assert_eq!(log_of(&storage), (2, 512 << 10), "nobody asked");
    storage.close().unwrap();
    drop(storage);
    let storage = try_open(&disk, wanted()).unwrap();
    assert_eq!(log_of(&storage), (3, 256 << 10));
    assert_eq!(storage.report().log_replaced, Some((2, 512 << 10)));
    check(&storage);
    folder::work(&storage, 3);
    storage.close().unwrap();
    drop(storage);
    let storage = try_open(&disk, wanted()).unwrap();
    assert_eq!(storage.report().log_replaced, None, "it is as it is to be");
    check(&storage);
}

#[test]
fn a_power_cut_at_any_step_of_the_replacement_loses_nothing() {
    for make in [clean_folder as fn(u64) -> SimDisk, crashed_folder] {
        let (mut cuts, mut replaced) = (0, 0);
        for step in (0..).step_by(4) {
            let disk = make(step % 7);
            disk.arm_cut(disk.ops() + step + 1);
            let opened = try_open(&disk, wanted());
            let done = opened.as_ref().is_ok_and(|storage| storage.report().log_replaced.is_some());
            drop(opened);
            disk.power_cut();
            let disk = disk.restart();
            // Whether or not the same is asked for again.
            let next = if cuts % 2 == 0 { wanted() } else { options() };
            let storage = try_open(&disk, next).unwrap();
            check(&storage);
            replaced += u32::from(log_of(&storage) == (3, 256 << 10));
            cuts += 1;
            if done {
                break;
            }
        }
        assert!(cuts > 8, "the cuts hit {cuts} steps only");
        assert!(replaced > 4, "the new log was there {replaced} times only");
    }
}
