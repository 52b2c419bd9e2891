//! Appending on one thread, wrapping around, reading back.

use proptest::prelude::{ProptestConfig, any, prop_assert, prop_assert_eq, proptest};

use super::super::{LogPressure, Progress};
use super::*;

#[test]
fn lsns_count_headers_and_trailers() {
    let disk = disk(1);
    let log = create(&disk, SMALL);
    assert_eq!(log.current_lsn(), Lsn(8204));
    // 496 bytes of records fill a block exactly; the next record starts behind the next header.
    assert_eq!(append(&log, 1, 495), Appended { start: Lsn(8204), end: Lsn(8204 + 495) });
    let last = append(&log, 2, 497);
    assert_eq!(last, Appended { start: Lsn(8699), end: Lsn(8192 + 1024 + 12) });
    assert_eq!(log.append(&[]), Appended { start: last.end, end: last.end });
}

#[test]
fn what_was_flushed_is_read_back_in_order() {
    let disk = disk(2);
    let log = create(&disk, new_log(2, 1 << 20));
    let mut rng = Rng::new(2);
    let mut expected = Vec::new();
    for id in 0..1_000 {
        expected.push(Seen::new(id, append(&log, id, random_len(&mut rng))));
        if rng.one_in(5) {
            log.flush_up_to(expected.last().unwrap().end).unwrap();
        }
    }
    assert!(log.stats().buffer_waits.get() > 0, "the buffer was meant to be too small");
    log.flush_up_to(log.current_lsn()).unwrap();
    let (seen, again) = reopen(&disk.after_kill());
    assert_eq!(seen, expected);
    assert_eq!(again.current_lsn(), log.current_lsn());
}

#[test]
fn chunks_and_groups_carry_the_same_bytes() {
    let disk = disk(3);
    let log = create(&disk, new_log(3, 100 << 10));
    let mut rng = Rng::new(3);
    let mut all = Vec::new();
    for id in 0..400 {
        let bytes = group(id, random_len(&mut rng));
        all.extend_from_slice(&bytes);
        log.closed(&log.append(&bytes));
    }
    assert!((200_000..300_000).contains(&all.len()), "{} bytes", all.len());
    log.flush_step().unwrap();
    let mut reader = open(&disk).unwrap();
    let (mut read, mut chunks) = (Vec::new(), 0);
    while let Some(chunk) = reader.next_chunk().unwrap() {
        assert_eq!(chunk.start, vaquita_format::redo_file::lsn_after(FIRST_LSN, read.len() as u64));
        read.extend_from_slice(chunk.payload);
        chunks += 1;
    }
    assert!(chunks > 1);
    assert!(read == all);
    assert_eq!(reader.end_lsn(), log.current_lsn());
}

#[test]
fn the_log_wraps_many_times_and_goes_on_after_every_opening() {
    let mut disk = disk(4);
    let mut log = create(&disk, new_log(3, 2048 + 512 * 40));
    let mut rng = Rng::new(4);
    let mut expected: Vec<Seen> = Vec::new();
    let mut id = 0;
    for _life in 0..30 {
        for _ in 0..200 {
            let len = random_len(&mut rng);
            if log.try_reserve_room(len).map(|room| log.release_room(room)).is_none() {
                // Any mini-transaction's start may be the checkpoint.
                let at = rng.index(expected.len());
                log.write_checkpoint(expected[at].start).unwrap();
                expected.drain(..at);
                if log.try_reserve_room(len).map(|room| log.release_room(room)).is_none() {
                    log.write_checkpoint(log.current_lsn()).unwrap();
                    expected.clear();
                }
            }
            expected.push(Seen::new(id, append(&log, id, len)));
            id += 1;
            if rng.one_in(3) {
                log.flush_up_to(expected.last().unwrap().end).unwrap();
            }
        }
        log.flush_step().unwrap();
        let lives = (log.current_lsn(), log.checkpoint_lsn());
        disk = disk.after_kill();
        let (seen, next) = reopen(&disk);
        assert_eq!(seen, expected);
        assert_eq!((next.current_lsn(), next.checkpoint_lsn()), lives);
        log = next;
    }
    assert!(log.current_lsn().get() > 40 * log.capacity());
}

#[test]
fn an_incomplete_last_group_is_cut_off_and_overwritten() {
    for cut in 1..1500usize {
        let disk = disk(5);
        let log = create(&disk, SMALL);
        let first = Seen::new(1, append(&log, 1, 300));
        // A prefix of a mini-transaction: what a torn write of its blocks leaves.
        log.closed(&log.append(&group(2, 1500)[..cut]));
        log.flush_step().unwrap();
        let disk = disk.after_kill();
        let (seen, log) = reopen(&disk);
        assert_eq!(seen, [first]);
        let third = Seen::new(3, append(&log, 3, 700));
        assert_eq!(third.start, first.end);
        log.flush_step().unwrap();
        assert_eq!(reopen(&disk.after_kill()).0, [first, third], "cut at {cut}");
    }
}

#[test]
fn steps_write_when_the_buffer_fills_and_sync_when_time_has_passed() {
    let disk = disk(6);
    let clock = Arc::new(ManualClock::new());
    let log = RedoLog::create(&disk, clock.clone(), config(BUFFER_BYTES_MIN), SMALL).unwrap();
    assert_eq!(log.step().unwrap(), Progress::Idle);
    append(&log, 1, 100);
    assert_eq!(log.step().unwrap(), Progress::Idle);
    let second = append(&log, 2, BUFFER_BYTES_MIN / 2);
    assert_eq!(log.step().unwrap(), Progress::Worked);
    assert_eq!((log.written_lsn(), log.flushed_lsn()), (second.end, FIRST_LSN));
    clock.advance(std::time::Duration::from_secs(1));
    assert_eq!(log.step().unwrap(), Progress::Worked);
    assert_eq!(log.flushed_lsn(), second.end);
    assert_eq!(log.step().unwrap(), Progress::Idle);
    assert_eq!(log.pressure(), LogPressure::Low);
}

#[test]
fn policies_wait_for_what_they_promise() {
    use super::super::CommitPolicy as P;
    assert_eq!([0, 1, 2, 3].map(P::from_number), [Some(P::Lazy), Some(P::Flush), Some(P::Write), None]);
    let disk = disk(7);
    let log = create(&disk, SMALL);
    let lazy = append(&log, 1, 100).end;
    log.commit_wait(lazy, P::Lazy).unwrap();
    assert_eq!((log.written_lsn(), log.flushed_lsn()), (FIRST_LSN, FIRST_LSN));
    let write = append(&log, 2, 100).end;
    log.commit_wait(write, P::Write).unwrap();
    assert_eq!((log.written_lsn(), log.flushed_lsn()), (write, FIRST_LSN));
    let flush = append(&log, 3, 100).end;
    log.commit_wait(flush, P::Flush).unwrap();
    assert_eq!((log.written_lsn(), log.flushed_lsn()), (flush, flush));
}

#[test]
fn dirty_pages_are_added_in_any_order() {
    let disk = disk(8);
    let log = create(&disk, SMALL);
    let appended: Vec<_> = (0..4).map(|id| log.append(&group(id, 100))).collect();
    for (closing, added) in [(2, 0), (0, 1), (3, 1), (1, 4)] {
        log.closed(&appended[closing]);
        let expected = if added == 0 { FIRST_LSN } else { appended[added - 1].end };
        assert_eq!(log.dirty_pages_added_up_to(), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Any lengths, any buffer size, any places of the first record: what comes back is what went in.
    #[test]
    fn any_lengths_come_back(
        lens in proptest::collection::vec(GROUP_MIN..6_000usize, 1..40),
        blocks in 8usize..40,
        start in 8_204u64..20_000,
        flush in any::<u64>(),
    ) {
        let disk = disk(9);
        let new = NewLog { first_lsn: Lsn(start), ..new_log(2, 256 << 10) };
        let log = RedoLog::create(&disk, clock(), config(blocks * 512), new).unwrap();
        prop_assert!(log.current_lsn() >= Lsn(start) && log.current_lsn().get() % 512 == 12);
        let mut expected = Vec::new();
        for (id, &len) in lens.iter().enumerate() {
            let appended = append(&log, id as u64, len);
            prop_assert_eq!(appended.end, vaquita_format::redo_file::lsn_after(appended.start, len as u64));
            expected.push(Seen::new(id as u64, appended));
            if flush >> (id % 64) & 1 == 1 {
                log.write_up_to(appended.end).unwrap();
            }
        }
        log.flush_up_to(log.current_lsn()).unwrap();
        prop_assert_eq!(scan(&mut open(&disk).unwrap()).unwrap(), expected);
    }
}
