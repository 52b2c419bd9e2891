//! Failed writes and syncs are final.

use std::sync::mpsc;

use vaquita_io::ErrorKind;
use vaquita_io::sim::{Fault, Injection};

use super::super::{CommitPolicy, LogError};
use super::*;

fn is_final(result: Result<()>) -> bool {
    matches!(result, Err(LogError::Failed(_)))
}

/// After `fault`, nothing is acknowledged and nothing is written.
fn fails_for_good(fault: Fault, config: LogConfig) {
    let disk = disk(1);
    let log = RedoLog::create(&disk, clock(), config, SMALL).unwrap();
    let durable = append(&log, 1, 600).end;
    log.flush_up_to(durable).unwrap();
    disk.inject(Injection::new(fault).on_path("ib_logfile0"));
    let lost = append(&log, 2, 600).end;
    let (sender, outcomes) = mpsc::channel();
    let later = sender.clone();
    log.on_durable(lost, Box::new(move |r| sender.send(r.is_err()).unwrap()));
    assert!(matches!(log.flush_up_to(lost), Err(LogError::Io(_))));
    assert_eq!(outcomes.try_recv(), Ok(true));

    let ops = disk.ops();
    // The disk is fine again, but the log does not go on.
    assert!(is_final(log.flush_up_to(lost)) && is_final(log.flush_up_to(durable)));
    let more = append(&log, 3, 5 * BUFFER_BYTES_MIN).end;
    for policy in [CommitPolicy::Lazy, CommitPolicy::Write, CommitPolicy::Flush] {
        assert!(is_final(log.commit_wait(more, policy)));
    }
    log.on_durable(lost, Box::new(move |r| later.send(r.is_err()).unwrap()));
    assert_eq!(outcomes.try_recv(), Ok(true));
    assert!(is_final(log.write_checkpoint(lost)));
    assert!(is_final(log.step().map(drop)) && is_final(log.flush_step().map(drop)));
    assert!(is_final(log.writer_step().map(drop)));
    assert!(is_final(log.wait_for_room(100, || true).map(|room| assert!(room.is_none()))));
    assert!(log.failure().is_some());
    assert_eq!((log.flushed_lsn(), disk.ops()), (durable, ops));

    let (seen, _) = reopen(&disk.after_kill());
    assert!(seen.iter().map(|s| s.id).eq([1]) || seen.iter().map(|s| s.id).eq([1, 2]), "{seen:?}");
}

#[test]
fn a_failed_write_is_final() {
    fails_for_good(Fault::WriteError, config(BUFFER_BYTES_MIN));
    fails_for_good(Fault::WriteError, direct(BUFFER_BYTES_MIN));
}

#[test]
fn a_full_disk_is_final() {
    fails_for_good(Fault::NoSpace, config(BUFFER_BYTES_MIN));
    fails_for_good(Fault::NoSpace, direct(BUFFER_BYTES_MIN));
}

#[test]
fn a_failed_sync_is_final() {
    fails_for_good(Fault::SyncError, config(BUFFER_BYTES_MIN));
}

#[test]
fn a_failed_checkpoint_is_final() {
    for (fault, config) in
        [(Fault::SyncError, config(BUFFER_BYTES_MIN)), (Fault::WriteError, direct(BUFFER_BYTES_MIN))]
    {
        let disk = disk(2);
        let log = RedoLog::create(&disk, clock(), config, SMALL).unwrap();
        let end = append(&log, 1, 600).end;
        log.flush_up_to(end).unwrap();
        disk.inject(Injection::new(fault).on_path("ib_logfile0"));
        assert!(matches!(log.write_checkpoint(end), Err(LogError::Io(_))));
        assert!(is_final(log.flush_up_to(end)));
        assert_eq!(log.checkpoint_lsn(), FIRST_LSN);
    }
}

#[test]
fn appenders_that_wait_for_the_buffer_are_let_go() {
    let disk = disk(3);
    let log = create(&disk, new_log(2, 1 << 20));
    disk.inject(Injection::new(Fault::WriteError).on_path("ib_logfile").after(5).always());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let log = &log;
            scope.spawn(move || {
                let mut rng = Rng::new(thread);
                for n in 0..300 {
                    append(log, thread << 32 | n, random_len(&mut rng));
                }
                assert!(is_final(log.flush_up_to(log.current_lsn())));
            });
        }
    });
    assert!(matches!(log.failure(), Some(LogError::Io(e)) if e.kind == ErrorKind::Other));
    assert_eq!(log.dirty_pages_added_up_to(), log.current_lsn());
    // What was dropped from the buffer never reached the files.
    disk.clear_injections();
    scan(&mut open(&disk.after_kill()).unwrap()).unwrap();
}

#[test]
fn the_log_stops_before_it_overwrites_its_checkpoint() {
    let disk = disk(4);
    let log = create(&disk, SMALL);
    let mut expected = Vec::new();
    let failure = loop {
        let id = expected.len() as u64;
        let seen = Seen::new(id, append(&log, id, 1_000));
        if let Err(error) = log.flush_up_to(seen.end) {
            break error;
        }
        expected.push(seen);
    };
    assert!(matches!(failure, LogError::Full { checkpoint: FIRST_LSN, .. }), "{failure}");
    assert!(log.age() > log.capacity() - 2_048);
    let seen = scan(&mut open(&disk.after_kill()).unwrap()).unwrap();
    assert_eq!(seen, expected);
}

#[test]
fn an_lsn_of_another_log_is_refused_without_harm() {
    let disk = disk(5);
    let log = create(&disk, SMALL);
    let end = append(&log, 1, 100).end;
    let beyond = Lsn(end.get() + 1);
    assert!(matches!(log.flush_up_to(beyond), Err(LogError::Future { .. })));
    assert!(matches!(log.write_up_to(beyond), Err(LogError::Future { .. })));
    let (sender, outcomes) = mpsc::channel();
    log.on_durable(beyond, Box::new(move |r| sender.send(r.is_err()).unwrap()));
    assert_eq!(outcomes.try_recv(), Ok(true));
    log.flush_up_to(end).unwrap();
}

#[test]
#[should_panic(expected = "dirty pages are added only up to")]
fn a_checkpoint_above_the_flush_lists_is_a_bug() {
    let disk = disk(6);
    let log = create(&disk, SMALL);
    let appended = log.append(&group(1, 100));
    let _ = log.write_checkpoint(appended.end);
}
