//! The power goes off while another server's folder is being taken over, at every write: it is theirs still or ours already, opens
//! as what it is, and holds what it held.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::folder;

use folder::{SPACE, check_rows, clean_folder, crashed_folder, options, try_open, work};
use std::path::Path;
use vaquita_format::checksum::{self, ChecksumAlgorithm};
use vaquita_format::trx_sys;
use vaquita_io::sim::SimDisk;
use vaquita_storage::{Options, Origin, Storage, origin};

/// Where a redo log file has its label, and how MySQL fills it.
const LABEL: std::ops::Range<usize> = 16..48;

/// The folder as a MySQL server would have made it: without our mark and label.
fn as_mysql_made_it(disk: SimDisk) -> SimDisk {
    let system = Path::new("/db/ibdata1");
    let size = options().page_size;
    let mut bytes = disk.contents(system).unwrap();
    let at = trx_sys::PAGE.0 as usize * size.physical();
    let page = &mut bytes[at..at + size.physical()];
    let mark = trx_sys::master_log_offset(page.len()) - 64;
    assert!(page[mark..].starts_with(b"VAQUITA1"));
    page[mark..mark + 20].fill(0);
    checksum::stamp(page, size, ChecksumAlgorithm::Innodb);
    disk.put_file(system, &bytes);
    for log in disk.files().into_iter().filter(|path| path.to_string_lossy().contains("ib_logfile")) {
        let mut bytes = disk.contents(&log).unwrap();
        bytes[LABEL].fill(0);
        bytes[LABEL][..4].fill(b' ');
        disk.put_file(&log, &bytes);
    }
    assert_eq!(whose(&disk), Origin::Other);
    disk
}

fn whose(disk: &SimDisk) -> Origin {
    origin(disk, &options()).unwrap()
}

fn take_over(disk: &SimDisk) -> vaquita_storage::Result<Storage> {
    try_open(disk, Options { take_over: true, ..options() })
}

fn rows_are_there(storage: &Storage) {
    storage.open_table_space(SPACE, Path::new("/db/t.ibd")).unwrap();
    check_rows(storage);
}

fn contents(disk: &SimDisk) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    disk.files().into_iter().map(|path| (path.clone(), disk.contents(&path).unwrap())).collect()
}

/// What is left of a folder whose taking over was cut off.
fn opens_as_what_it_is(disk: &SimDisk, was_clean: bool, cut: u64) {
    if whose(disk) == Origin::Other {
        // Only for reading, and not at all if the log has to be applied.
        let before = contents(disk);
        match try_open(disk, options()) {
            Ok(storage) => {
                assert!(storage.report().foreign);
                rows_are_there(&storage);
            }
            Err(e) => assert!(e.to_string().contains("--take-over"), "cut {cut}, clean {was_clean}: {e}"),
        }
        assert!(contents(disk) == before, "cut {cut}: something was written");
    }
    let storage = take_over(disk).unwrap_or_else(|e| panic!("cut {cut}, clean {was_clean}: {e}"));
    rows_are_there(&storage);
    storage.close().unwrap();
    drop(storage);
    assert_eq!(whose(disk), Origin::Ours);
    rows_are_there(&try_open(disk, options()).unwrap());
}

#[test]
fn a_cut_while_it_is_taken_over() {
    for was_clean in [true, false] {
        let whole = as_mysql_made_it(if was_clean { clean_folder(11) } else { crashed_folder(11) });
        let (mut theirs, mut ours) = (0, 0);
        for cut in 1.. {
            let disk = whole.fork(cut);
            disk.arm_cut(disk.ops() + cut);
            let opened = take_over(&disk);
            if !disk.is_off() {
                opened.unwrap();
                break;
            }
            drop(opened);
            let disk = disk.restart();
            match whose(&disk) {
                Origin::Ours => ours += 1,
                _ => theirs += 1,
            }
            opens_as_what_it_is(&disk, was_clean, cut);
        }
        assert!(theirs > 5 && ours > 0, "{theirs} cuts before the mark, {ours} after it");
    }
}

/// Once it was opened for writing it is ours, whatever comes after.
#[test]
fn a_cut_after_it_was_taken_over() {
    for seed in 0..20 {
        let disk = as_mysql_made_it(clean_folder(seed));
        let storage = take_over(&disk).unwrap();
        assert!(storage.report().taken_over);
        storage.open_table_space(SPACE, Path::new("/db/t.ibd")).unwrap();
        disk.arm_cut(disk.ops() + 1 + seed);
        work(&storage, 2);
        let _ = storage.log().flush_up_to(storage.log().current_lsn());
        let _ = storage.checkpoint();
        drop(storage);
        let disk = disk.restart();
        assert_eq!(whose(&disk), Origin::Ours, "seed {seed}");
        rows_are_there(&try_open(&disk, options()).unwrap());
    }
}
