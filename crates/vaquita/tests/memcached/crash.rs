//! kill -9.

use crate::memcached::{Bed, Talk};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicU32, Ordering};

/// Keys of one writer that sends changes together.
const TOGETHER: usize = 5;

/// Sets `NAME.0` and so on to 1, 2, 3, .. until the server is gone, `together` of them in one piece; the last one that was
/// acknowledged.
fn write_until_the_end(mut talk: Talk, name: &str, together: usize, done: &AtomicU32) -> u32 {
    for n in 1.. {
        let piece: String =
            (0..together).map(|key| format!("set {name}.{key} 0 0 8\r\n{n:08}\r\n")).collect();
        let mut answer = vec![0; 8 * together];
        let said = talk.0.write_all(piece.as_bytes());
        if said.and_then(|()| talk.0.read_exact(&mut answer)).is_err() {
            return n - 1;
        }
        assert_eq!(answer, b"STORED\r\n".repeat(together));
        done.fetch_add(1, Ordering::Relaxed);
    }
    0
}

/// How many keys the writer of that number has.
fn keys_of(writer: usize) -> usize {
    if writer.is_multiple_of(2) { 1 } else { TOGETHER }
}

#[test]
fn no_acknowledged_set_is_lost() {
    let mut bed = Bed::new("killed", &[]);
    for round in 0..3 {
        let done = AtomicU32::new(0);
        let last: Vec<u32> = std::thread::scope(|scope| {
            let names = (0..8).map(|i| (bed.connect(), format!("r{round}w{i}"), keys_of(i)));
            let done = &done;
            let writers: Vec<_> = names
                .map(|(talk, name, keys)| scope.spawn(move || write_until_the_end(talk, &name, keys, done)))
                .collect();
            while done.load(Ordering::Relaxed) < 300 {
                std::thread::yield_now();
            }
            bed.server.kill();
            writers.into_iter().map(|writer| writer.join().expect("a writer")).collect()
        });
        bed.server.start_again().expect("it opens again");
        for (i, last) in last.iter().enumerate() {
            for key in 0..keys_of(i) {
                let answer = bed.ask(&format!("get r{round}w{i}.{key}\r\n"), "END");
                let kept: u32 = answer.lines().nth(1).map_or(0, |value| value.parse().expect("a number"));
                // The one that was not acknowledged any more may be there.
                assert!(
                    kept == *last || kept == last + 1,
                    "round {round}, {i}.{key}: {last} acknowledged, {kept} kept"
                );
            }
        }
    }
}

#[test]
fn the_end_of_a_server_commits_what_is_open() {
    let mut bed = Bed::new("ended", &["--daemon-memcached-w-batch-size=1000"]);
    let mut talk = bed.connect();
    assert_eq!(talk.ask("set open 0 0 1\r\nx\r\n", "STORED"), "STORED\r\n");
    bed.server.stop().expect("a clean end");
    bed.server.start_again().expect("it opens again");
    assert_eq!(bed.sql("select c2 from test.demo_test where c1 = 'open'"), "x\n");
}
