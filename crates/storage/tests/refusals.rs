//! Folders that cannot be opened say what is wrong, where, and what to do, and stay as they are.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::folder;

use folder::{PAGE, SPACE, clean_folder, crashed_folder, open, options, try_open};
use std::path::Path;
use std::sync::Arc;
use vaquita_base::{ManualClock, PageId, PageNo};
use vaquita_io::sim::SimDisk;
use vaquita_io::{FileSystem, OpenMode, OpenOptions};
use vaquita_storage::{Error, ForceRecovery, LiveSettings, Options, Storage};

fn change(disk: &SimDisk, path: &str, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = disk.contents(Path::new(path)).unwrap();
    change(&mut bytes);
    disk.remove_file(Path::new(path)).unwrap();
    disk.put_file(Path::new(path), &bytes);
}

/// Opening fails with all of `words` in the message, and no file is touched.
fn refused(disk: &SimDisk, options: Options, words: &[&str]) -> Error {
    let before = snapshot(disk);
    let error = try_open(disk, options).expect_err("the folder must be refused");
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "{word:?} is missing in: {text}");
    }
    assert!(snapshot(disk) == before, "a refused folder was changed: {text}");
    error
}

fn snapshot(disk: &SimDisk) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    disk.files().into_iter().map(|path| (path.clone(), disk.contents(&path).unwrap())).collect()
}

#[test]
fn a_missing_second_log_file_is_named() {
    let disk = crashed_folder(1);
    disk.remove_file(Path::new("/db/ib_logfile1")).unwrap();
    refused(&disk, options(), &["ib_logfile1"]);
}

#[test]
fn log_files_of_different_sizes_are_named() {
    let disk = crashed_folder(2);
    change(&disk, "/db/ib_logfile1", |b| b.truncate(b.len() / 2 / 512 * 512));
    refused(&disk, options(), &["ib_logfile1"]);
}

#[test]
fn two_bad_checkpoints_are_reported_with_their_offsets() {
    let disk = crashed_folder(3);
    change(&disk, "/db/ib_logfile0", |b| {
        b[512 + 8] ^= 1;
        b[1536 + 8] ^= 1;
    });
    refused(&disk, options(), &["ib_logfile0", "512", "1536"]);
}

#[test]
fn one_bad_checkpoint_is_survived_by_the_other() {
    let disk = crashed_folder(4);
    // The newer checkpoint is torn: the older one still leads to everything.
    let number = |b: &[u8], at: usize| vaquita_base::codec::get_u64(b, at);
    let bytes = disk.contents(Path::new("/db/ib_logfile0")).unwrap();
    let newer = if number(&bytes, 512) > number(&bytes, 1536) { 512 } else { 1536 };
    change(&disk, "/db/ib_logfile0", |b| b[newer + 8] ^= 1);
    match try_open(&disk, options()) {
        Ok(storage) => folder::check_rows(&storage),
        // The log wrapped since the older checkpoint, so it cannot be used; then it must be refused.
        Err(e) => assert!(matches!(e, Error::Log(_)), "{e}"),
    }
}

#[test]
fn a_log_of_another_folder_is_refused() {
    let (mine, other) = (crashed_folder(5), crashed_folder(6));
    for file in ["/db/ib_logfile0", "/db/ib_logfile1"] {
        let bytes = other.contents(Path::new(file)).unwrap();
        change(&mine, file, |b| *b = bytes);
    }
    refused(&mine, options(), &["another folder"]);
}

#[test]
fn an_older_log_of_the_same_folder_is_noticed() {
    let disk = crashed_folder(7);
    let old: Vec<_> =
        ["/db/ib_logfile0", "/db/ib_logfile1"].map(|f| (f, disk.contents(Path::new(f)).unwrap())).into();
    let storage = open(&disk);
    folder::work(&storage, 500);
    storage.close().unwrap();
    drop(storage);
    for (file, bytes) in old {
        change(&disk, file, |b| *b = bytes);
    }
    // Either opening notices, or the first page that is newer than the log does.
    match try_open(&disk, options()) {
        Err(e) => assert!(matches!(e, Error::FutureLsn { .. }), "{e}"),
        Ok(storage) => {
            storage.open_table_space(SPACE, "/db/t.ibd".as_ref()).unwrap();
            let outcome = storage.pool().get_shared(PageId::new(SPACE, PAGE)).map(|_| ());
            assert!(matches!(outcome, Err(Error::FutureLsn { .. })), "{outcome:?}");
        }
    }
}

#[test]
fn an_unknown_record_is_refused_and_named() {
    let disk = crashed_folder(8);
    let reader =
        vaquita_storage::log::LogReader::open(Arc::new(disk.clone()), Path::new("/db"), None).unwrap();
    let checkpoint = reader.checkpoint_lsn();
    let place = reader.describe(checkpoint);
    let at: usize = place.rsplit("byte ").next().unwrap().parse().unwrap();
    let file = place.split(" at byte").next().unwrap().to_owned();
    drop(reader);
    change(&disk, &file, |b| {
        b[at] = 127;
        let block = at / 512 * 512;
        let sum = vaquita_base::checksum::redo_block(&b[block..block + 508]);
        vaquita_base::codec::put_u32(b, block + 508, sum);
    });
    let error = refused(&disk, options(), &["ib_logfile", "0x7f"]);
    assert!(matches!(error, Error::Log(_)));
}

#[test]
fn a_missing_tablespace_is_named_and_can_be_forced() {
    let disk = crashed_folder(9);
    disk.remove_file(Path::new("/db/t.ibd")).unwrap();
    refused(&disk, options(), &["tablespace 7", "force_recovery=1"]);
    let forced = Options { force_recovery: ForceRecovery::IGNORE_CORRUPT, ..options() };
    let storage = try_open(&disk, forced).unwrap();
    let report = storage.report().recovery.clone().unwrap();
    assert!(report.tolerated.iter().any(|line| line.contains("tablespace 7")), "{report:?}");
}

#[test]
fn a_missing_system_file_is_named() {
    let disk = clean_folder(10);
    disk.remove_file(Path::new("/db/ibdata1")).unwrap();
    refused(&disk, options(), &["ibdata1"]);
}

#[test]
fn logs_may_be_removed_after_a_clean_shutdown_only() {
    for (disk, fine) in [(clean_folder(11), true), (crashed_folder(12), false)] {
        disk.remove_file(Path::new("/db/ib_logfile0")).unwrap();
        disk.remove_file(Path::new("/db/ib_logfile1")).unwrap();
        if fine {
            let storage = open(&disk);
            storage.open_table_space(SPACE, "/db/t.ibd".as_ref()).unwrap();
            folder::check_rows(&storage);
        } else {
            refused(&disk, options(), &["redo log files", "put ib_logfile0"]);
        }
    }
}

#[test]
fn a_damaged_page_is_reported_with_its_place_and_can_be_forced() {
    let disk = clean_folder(13);
    let at = PAGE.0 as usize * 4096;
    change(&disk, "/db/t.ibd", |b| b[at + 2_000] ^= 0x10);
    let storage = open(&disk);
    storage.open_table_space(SPACE, "/db/t.ibd".as_ref()).unwrap();
    let id = PageId::new(SPACE, PAGE);
    for _ in 0..2 {
        let error = storage.pool().get_shared(id).map(|_| ()).unwrap_err();
        let Error::Page { page, offset, .. } = &error else { panic!("{error}") };
        assert_eq!((*page, *offset as usize), (id, at));
    }
    storage.pool().validate();
}

#[test]
fn another_page_size_is_refused_with_the_right_one() {
    let disk = clean_folder(14);
    let wrong =
        Options { page_size: vaquita_format::PageSize::DEFAULT, buffer_pool_size: 4 << 20, ..options() };
    refused(&disk, wrong, &["ibdata1", "page_size=4096"]);
}

#[test]
fn a_read_only_opening_needs_a_clean_folder_and_changes_nothing() {
    let crashed = crashed_folder(15);
    refused(&crashed, Options { read_only: true, ..options() }, &["read_only"]);
    let clean = clean_folder(16);
    let before = snapshot(&clean);
    let storage = try_open(&clean, Options { read_only: true, ..options() }).unwrap();
    storage.open_table_space(SPACE, "/db/t.ibd".as_ref()).unwrap();
    folder::check_rows(&storage);
    assert!(matches!(storage.begin().map(|_| ()), Err(Error::Config(_))));
    storage.close().unwrap();
    assert!(snapshot(&clean) == before);
}

#[test]
fn settings_out_of_range_name_the_setting_and_the_range() {
    let disk = SimDisk::new(17);
    let wrong = Options { live: LiveSettings { old_blocks_pct: 99, ..options().live }, ..options() };
    let error = try_open(&disk, wrong).unwrap_err();
    assert_eq!(error.to_string(), "old_blocks_pct is 99; allowed are 5 to 95");
}

#[test]
fn a_failed_sync_is_final_until_the_folder_is_reopened() {
    use vaquita_io::sim::{Fault, Injection};
    let disk = crashed_folder(18);
    let storage = try_open(&disk, Options { log_file_buffering: true, ..options() }).unwrap();
    disk.inject(Injection::new(Fault::SyncError).on_path("ib_logfile").times(1));
    let mut mtr = storage.begin().unwrap();
    let page = mtr.get_exclusive(PageId::new(SPACE, PAGE)).unwrap();
    mtr.write_u64(page, 1_000, 99);
    let lsn = mtr.commit();
    assert!(storage.log().flush_up_to(lsn).is_err());
    assert!(matches!(storage.begin().map(|_| ()), Err(Error::Poisoned(_))));
    assert!(storage.log().flush_up_to(lsn).is_err(), "never acknowledged, however often it is asked");
    assert!(storage.close().is_err());
    drop(storage);
    let storage = open(&disk);
    assert!(storage.begin().is_ok());
}

#[test]
fn a_full_disk_at_creation_leaves_a_folder_that_can_be_created_later() {
    let disk = SimDisk::new(19);
    disk.put_dir(Path::new("/db"));
    disk.set_capacity(Some(3 << 20));
    let fs: Arc<dyn FileSystem> = Arc::new(disk.clone());
    let error = Storage::open(fs, Arc::new(ManualClock::new()), options()).unwrap_err();
    assert!(matches!(&error, Error::Io(e) if e.kind == vaquita_io::ErrorKind::NoSpace), "{error}");
    disk.set_capacity(None);
    assert!(open(&disk).report().created);
}

#[test]
fn an_interrupted_creation_is_started_again() {
    for cut in 1..200 {
        let disk = SimDisk::new(cut);
        disk.put_dir(Path::new("/db"));
        disk.arm_cut(cut);
        let done = try_open(&disk, options()).is_ok();
        let disk = disk.restart();
        let storage = open(&disk);
        assert!(storage.report().created || done || !disk.exists(Path::new("/db/vaquita.creating")));
        storage.close().unwrap();
        if done {
            break;
        }
    }
}

#[test]
fn files_that_are_no_tablespaces_do_not_disturb() {
    let disk = crashed_folder(20);
    disk.put_file(Path::new("/db/notes.ibd"), b"not a tablespace");
    let file = disk.open(Path::new("/db/empty.ibd"), OpenOptions::new(OpenMode::CreateNew)).unwrap();
    file.sync().unwrap();
    let storage = open(&disk);
    folder::check_rows(&storage);
    let _unused: PageNo = PAGE;
}
