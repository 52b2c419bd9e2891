//! Files, headers, checkpoints, and what is said when they are not as they should be.

use vaquita_format::redo_file::{BlockHeader, CHECKPOINT_1, CHECKPOINT_2, Checkpoint, FileHeader};
use vaquita_io::{FlushMethod, OpenMode, OpenOptions};

use super::super::{LogError, files};
use super::*;

fn path(no: u32) -> std::path::PathBuf {
    files::file_path(Path::new(DIR), no)
}

fn block(disk: &SimDisk, no: u32, offset: usize) -> [u8; 512] {
    disk.contents(&path(no)).unwrap()[offset..offset + 512].try_into().unwrap()
}

/// Changes bytes of a file behind the log's back.
fn damage(disk: &SimDisk, no: u32, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = disk.contents(&path(no)).unwrap();
    change(&mut bytes);
    disk.put_file(&path(no), &bytes);
}

#[test]
fn a_new_log_has_the_documented_bytes() {
    let disk = disk(1);
    let log = create(&disk, new_log(3, 64 << 10));
    assert_eq!(log.geometry().n_files(), 3);
    assert_eq!(log.capacity(), 3 * ((64 << 10) - 2048));
    assert_eq!(disk.files().len(), 3);
    for no in 0..3 {
        let header = FileHeader::decode(&block(&disk, no, 0));
        assert_eq!(&header.label, b"vaquita 0102030405060708090a0b0c");
        assert_eq!(header.start_lsn, if no == 0 { Lsn(8192) } else { Lsn(0) });
    }
    let checkpoint = Checkpoint::decode(&block(&disk, 0, CHECKPOINT_1 as usize)).unwrap();
    assert_eq!(checkpoint, Checkpoint { number: 0, lsn: Lsn(8204), offset: 2060, buffer_size: 0 });
    assert!(Checkpoint::decode(&block(&disk, 0, CHECKPOINT_2 as usize)).is_err());
    let first = vaquita_format::redo_file::check_block(&block(&disk, 0, 2048), Lsn(8192)).unwrap();
    assert_eq!(
        first,
        BlockHeader { number: 17, flush: true, data_len: 12, first_group: 12, checkpoint_no: 0 }
    );
}

#[test]
fn blocks_carry_first_group_flush_bit_and_next_checkpoint() {
    let disk = disk(2);
    let log = create(&disk, SMALL);
    append(&log, 1, 1_000);
    append(&log, 2, 100);
    log.flush_step().unwrap();
    let header = |n: usize| BlockHeader::read(&block(&disk, 0, 2048 + n * 512));
    assert_eq!(
        [0, 1, 2].map(header),
        [
            BlockHeader { number: 17, flush: true, data_len: 512, first_group: 12, checkpoint_no: 1 },
            BlockHeader { number: 18, flush: false, data_len: 512, first_group: 0, checkpoint_no: 1 },
            // The first ends 8 bytes behind the header, the second starts there.
            BlockHeader { number: 19, flush: false, data_len: 120, first_group: 20, checkpoint_no: 1 },
        ]
    );
    log.write_checkpoint(log.current_lsn()).unwrap();
    append(&log, 3, 10_000);
    log.flush_step().unwrap();
    assert_eq!((header(2).checkpoint_no, header(2).first_group), (2, 20));
}

#[test]
fn checkpoints_alternate_and_the_newer_one_counts() {
    let disk = disk(3);
    let log = create(&disk, SMALL);
    for number in 1..6u64 {
        let end = append(&log, number, 1_000).end;
        log.write_checkpoint(end).unwrap();
        let slot = if number % 2 == 0 { 512 } else { 1536 };
        let written = Checkpoint::decode(&block(&disk, 0, slot)).unwrap();
        assert_eq!((written.number, written.lsn), (number, end));
        assert_eq!(open(&disk).unwrap().checkpoint_lsn(), end);
        // Not above the last: nothing to do.
        let ops = disk.ops();
        log.write_checkpoint(end).unwrap();
        assert_eq!(disk.ops(), ops);
    }
    // The newest (5, at 1536) torn: the one before still serves, and the scan finds the rest.
    damage(&disk, 0, |bytes| bytes[1536 + 8] ^= 1);
    let mut reader = open(&disk).unwrap();
    assert_eq!(reader.summary().checkpoint.number, 4);
    assert_eq!(scan(&mut reader).unwrap().iter().map(|s| s.id).collect::<Vec<_>>(), [5]);
    damage(&disk, 0, |bytes| bytes[512 + 8] ^= 1);
    let error = open(&disk).unwrap_err();
    assert!(matches!(error, LogError::NoCheckpoint { .. }));
    let text = error.to_string();
    assert!(text.contains("ib_logfile0") && text.contains("byte 512") && text.contains("1536"), "{text}");
}

#[test]
fn opening_begins_a_life_with_a_checkpoint() {
    let disk = disk(4);
    let log = create(&disk, SMALL);
    append(&log, 1, 1_000);
    log.flush_step().unwrap();
    let disk = disk.after_kill();
    let (_, log) = reopen(&disk);
    assert_eq!(open(&disk).unwrap().summary().checkpoint.number, 1);
    assert_eq!(log.checkpoint_lsn(), FIRST_LSN);
    append(&log, 2, 1_000);
    log.flush_step().unwrap();
    assert_eq!(BlockHeader::read(&block(&disk, 0, 2048 + 3 * 512)).checkpoint_no, 2);
}

#[test]
fn a_reused_file_tells_its_start() {
    let disk = disk(5);
    let log = create(&disk, new_log(2, 2048 + 512 * 20));
    for id in 0..100 {
        append(&log, id, 450);
        log.write_checkpoint(log.current_lsn()).unwrap();
        let lap = |lsn: u64| (lsn - 8192) / log.capacity();
        let starts = [0, 1].map(|no| FileHeader::decode(&block(&disk, no, 0)).start_lsn.get());
        let block_start = log.written_lsn().get() / 512 * 512;
        let current = starts.into_iter().max().unwrap();
        assert!(current <= block_start && block_start - current < 512 * 20, "{starts:?} {block_start}");
        assert!(lap(block_start) == 0 || starts.iter().all(|&s| s > 0 && (s - 8192) % (512 * 20) == 0));
    }
}

#[test]
fn errors_name_the_file_and_what_to_do() {
    let disk = disk(6);
    assert!(matches!(open(&disk), Err(LogError::Missing { path: p }) if p == path(0)));
    drop(create(&disk, new_log(3, 64 << 10)));
    assert!(matches!(
        RedoLog::create(&disk, clock(), config(4096), SMALL),
        Err(LogError::Exists { path: p }) if p == path(0)
    ));

    let other = disk.fork(1);
    other.remove_file(&path(1)).unwrap();
    assert!(matches!(open(&other), Err(LogError::Missing { path: p }) if p == path(1)));

    let other = disk.fork(2);
    damage(&other, 2, |bytes| bytes.truncate(60 << 10));
    let error = open(&other).unwrap_err();
    assert!(
        matches!(&error, LogError::SizesDiffer { path: p, found: 61440, expected: 65536 } if *p == path(2))
    );

    let other = disk.fork(3);
    damage(&other, 1, |bytes| bytes[16 + 8..16 + 32].fill(b'f'));
    let text = open(&other).unwrap_err().to_string();
    assert!(text.contains("ib_logfile1") && text.contains("vaquita ffffffffffffffffffffffff"), "{text}");
    assert!(text.contains("vaquita 0102030405060708090a0b0c"), "{text}");
    let fs: Arc<dyn FileSystem> = Arc::new(other);
    assert!(LogReader::open(fs, Path::new(DIR), None).is_ok());

    let other = disk.fork(4);
    damage(&other, 0, |bytes| bytes[2048 + 100] ^= 1);
    let error = scan(&mut open(&other).unwrap()).unwrap_err();
    assert!(matches!(&error, LogError::TooShort { checkpoint: FIRST_LSN, offset: 2060, .. }), "{error}");
    assert!(error.to_string().contains("checksum"), "{error}");

    let other = disk.fork(5);
    damage(&other, 0, |bytes| {
        let wrong = Checkpoint { number: 1, lsn: Lsn(9000), offset: 2060, buffer_size: 0 };
        bytes[1536..2048].copy_from_slice(&wrong.encode());
    });
    assert!(matches!(open(&other), Err(LogError::Corrupt { offset: 1536, .. })));

    let other = disk.fork(6);
    for no in 0..3 {
        damage(&other, no, |bytes| bytes.truncate(4_000));
    }
    assert!(matches!(open(&other), Err(LogError::Corrupt { .. })));
}

#[test]
fn sizes_out_of_bounds_are_refused_before_anything_is_made() {
    for (n, bytes) in
        [(1, 64 << 10), (2, 2048 + 15 * 512), (2, (64 << 10) + 100), (101, 64 << 10), (2, 1 << 40)]
    {
        let disk = disk(7);
        let refused = RedoLog::create(&disk, clock(), config(4096), new_log(n, bytes));
        assert!(matches!(refused, Err(LogError::Corrupt { .. })), "{n} x {bytes}");
        assert_eq!(disk.ops(), 0);
    }
}

#[test]
fn resizing_is_removal_and_creation_at_the_end() {
    let disk = disk(8);
    let log = create(&disk, new_log(4, 64 << 10));
    append(&log, 1, 1_000);
    log.write_checkpoint(log.current_lsn()).unwrap();
    let end = log.current_lsn();
    drop(log);
    files::remove(&disk, Path::new(DIR)).unwrap();
    assert!(!files::exists(&disk, Path::new(DIR)) && disk.files().is_empty());
    let log = create(&disk, NewLog { first_lsn: end, ..new_log(2, 128 << 10) });
    assert!(log.current_lsn() >= end && log.current_lsn().get() < end.get() + 512);
    let seen = Seen::new(2, append(&log, 2, 1_000));
    log.flush_step().unwrap();
    assert_eq!(reopen(&disk.after_kill()).0, [seen]);
}

#[test]
fn creation_and_removal_survive_a_power_cut_anywhere() {
    let old = disk(9);
    let log = create(&old, new_log(3, 64 << 10));
    append(&log, 1, 1_000);
    log.write_checkpoint(log.current_lsn()).unwrap();
    let end = log.current_lsn();
    drop(log);
    let new = NewLog { first_lsn: end, ..new_log(2, 128 << 10) };
    let replace = |disk: &SimDisk| -> Result<RedoLog> {
        files::remove(disk, Path::new(DIR))?;
        RedoLog::create(disk, clock(), config(4096), new)
    };
    for cut in 1.. {
        let disk = old.fork(cut);
        disk.arm_cut(disk.ops() + cut);
        if replace(&disk).is_ok() {
            assert!(cut > 10);
            break;
        }
        let disk = disk.restart();
        if files::exists(&disk, Path::new(DIR)) {
            let mut reader = open(&disk).unwrap_or_else(|e| panic!("cut {cut}: {e}"));
            assert_eq!(scan(&mut reader).unwrap(), []);
            assert!(reader.end_lsn() >= end && reader.end_lsn().get() < end.get() + 512);
        }
        replace(&disk).unwrap();
        assert_eq!(disk.files().len(), 2);
    }
}

#[test]
fn flush_methods_open_the_files_their_way() {
    for (method, direct, syncs) in [
        (FlushMethod::Fsync, false, 1),
        (FlushMethod::Fsync, true, 1),
        (FlushMethod::ODirect, false, 1),
        (FlushMethod::ODirect, true, 0),
        (FlushMethod::ODirectNoFsync, true, 0),
        (FlushMethod::ODsync, true, 0),
        (FlushMethod::NoSync, true, 1),
    ] {
        let disk = disk(10);
        let config = LogConfig { flush_method: method, direct, ..config(4096) };
        let log = RedoLog::create(&disk, clock(), config, SMALL).unwrap();
        // The file's first block comes with its header, which is not what is counted here.
        let first = Seen::new(1, append(&log, 1, 1_000));
        log.flush_up_to(first.end).unwrap();
        let before = log.stats().syncs.get();
        let second = Seen::new(2, append(&log, 2, 1_000));
        log.flush_up_to(second.end).unwrap();
        assert_eq!(log.stats().syncs.get() - before, syncs, "{method:?}, direct {direct}");
        disk.power_cut();
        if method != FlushMethod::NoSync {
            assert_eq!(reopen(&disk.restart()).0, [first, second], "{method:?}, direct {direct}");
        }
    }
}

/// Without the page cache: what was only written waits for the next sync, whichever way that comes.
#[test]
fn what_was_written_without_the_page_cache_is_synced_with_what_follows() {
    for seed in 0..40 {
        let disk = disk(seed);
        let log = RedoLog::create(&disk, clock(), direct(BUFFER_BYTES_MIN), SMALL).unwrap();
        let first = Seen::new(1, append(&log, 1, 1_500));
        log.write_up_to(first.end).unwrap();
        assert_eq!(log.stats().syncs.get(), 0, "seed {seed}");
        let second = Seen::new(2, append(&log, 2, 100));
        log.flush_up_to(second.end).unwrap();
        assert_eq!(log.stats().syncs.get(), 1, "the blocks of the first were only written");
        let third = Seen::new(3, append(&log, 3, 3_000));
        log.flush_up_to(third.end).unwrap();
        assert_eq!(log.stats().syncs.get(), 1, "the write is enough");
        disk.power_cut();
        assert_eq!(reopen(&disk.restart()).0, [first, second, third], "seed {seed}");
    }
}

#[test]
fn damaged_files_never_panic() {
    let disk = disk(11);
    let log = create(&disk, new_log(2, 2048 + 512 * 30));
    let mut rng = Rng::new(11);
    for id in 0..60 {
        append(&log, id, GROUP_MIN + rng.index(300));
        if id % 20 == 0 {
            log.write_checkpoint(log.current_lsn()).unwrap();
        }
    }
    log.flush_step().unwrap();
    let files = [0, 1].map(|no| disk.contents(&path(no)).unwrap());
    for _ in 0..3_000 {
        let other = self::disk(12);
        for (no, bytes) in files.iter().enumerate() {
            let mut bytes = bytes.clone();
            for _ in 0..1 + rng.index(4) {
                let at = if rng.one_in(2) { rng.index(2048) } else { rng.index(bytes.len()) };
                bytes[at] = rng.next_u64() as u8;
            }
            if rng.one_in(10) {
                bytes.truncate(rng.index(20_000));
            }
            other.put_file(&path(no as u32), &bytes);
        }
        let Ok(mut reader) = open(&other) else { continue };
        while let Ok(Some(_)) = reader.next_chunk() {}
    }
}

#[test]
fn a_foreign_file_beside_the_log_is_left_alone() {
    let disk = disk(12);
    let beside = Path::new(DIR).join("ibdata1");
    disk.put_file(&beside, b"data");
    disk.put_file(&Path::new(DIR).join("ib_logfile1"), b"left over");
    drop(create(&disk, SMALL));
    assert_eq!(disk.contents(&beside).unwrap(), b"data");
    let file = disk.open(&path(1), OpenOptions::new(OpenMode::Read)).unwrap();
    assert_eq!(file.len().unwrap(), 64 << 10);
}
