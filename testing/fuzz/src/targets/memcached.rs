//! What a memcached client sends: text and meta commands, binary frames.

use std::sync::Arc;

use vaquita_memcached::cache::{Cache, CacheStore, Seconds};
use vaquita_memcached::conn::{Conn, Next};
use vaquita_memcached::service::Service;

const NOW: u32 = 1_700_000_000;
const LINES: [&str; 2] = [
    include_str!("../../../../crates/memcached/tests/scripts/classic.txt"),
    include_str!("../../../../crates/memcached/tests/scripts/meta.txt"),
];

/// A stream in pieces of `piece` bytes on a fresh cache: its answers, and whether it was closed.
fn talk(stream: &[u8], piece: usize) -> (Vec<u8>, bool) {
    let mut service = Service::new(NOW);
    service.limits.item_size_max = 4096;
    service.limits.output_max = 2048;
    let cache = Arc::new(Cache::new(1 << 20, 4096));
    let mut store = CacheStore::new(cache.clone(), Arc::new(Seconds::new(NOW)));
    let mut conn = Conn::new(Arc::new(service));
    let mut answers = Vec::new();
    for mut part in stream.chunks(piece.max(1)) {
        loop {
            let mut out = Vec::new();
            let next = conn.advance(part, NOW, &mut store, &mut out);
            assert!(out.len() < 2048 + 16384, "{} bytes of answers at once", out.len());
            assert!(conn.memory() < 512 << 10, "{} bytes for half a command", conn.memory());
            answers.extend_from_slice(&out);
            match next {
                Next::Read => break,
                Next::Write => part = &[],
                Next::Close => return (answers, true),
            }
        }
    }
    assert!(cache.stats().bytes <= 1 << 20, "the cache stays within its limit");
    (answers, false)
}

/// However a stream is cut, its answers are the same.
fn stream(data: &[u8], first: &[u8]) {
    let Some((&piece, rest)) = data.split_first() else { return };
    let stream = [first, rest].concat();
    let whole = talk(&stream, stream.len());
    let cut = talk(&stream, usize::from(piece));
    // What the program says of itself passes with time.
    if !rest.windows(5).any(|word| word == b"stats") && !rest.contains(&0x10) {
        assert!(whole == cut, "pieces of {piece} are answered in another way");
    }
}

/// Text and meta commands.
pub(super) fn text(data: &[u8]) {
    stream(data, b"set a 0 0 3\r\nabc\r\nset n 0 0 1\r\n7\r\n");
}

/// Binary frames.
pub(super) fn binary(data: &[u8]) {
    stream(data, b"\x80\x0a\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
}

pub(super) fn text_seeds() -> Vec<Vec<u8>> {
    let lines = LINES.iter().flat_map(|lines| lines.lines());
    let mut seeds: Vec<Vec<u8>> =
        lines.map(|line| format!("\u{7}{}\r\nget a n\r\n", line.replace('|', "\r\n")).into_bytes()).collect();
    seeds.push(format!("\u{7}get {}\r\n", "a no ".repeat(4000)).into_bytes());
    seeds.push(b"\x07rget - <n limit=2 desc keys cas\r\nmr >a - v k N1 MD Ox\r\nmr YQ== - b v\r\n".to_vec());
    seeds.push(
        format!("\u{7}set b 1 0 3000\r\n{}\r\nget b b\r\nappend b 0 0 3000\r\n{0}\r\n", "b".repeat(3000))
            .into_bytes(),
    );
    seeds
}

pub(super) fn binary_seeds() -> Vec<Vec<u8>> {
    let frame = |opcode: u8, extras: &[u8], key: &[u8], value: &[u8]| {
        let length = (extras.len() + key.len() + value.len()) as u8;
        let mut frame = vec![0x80, opcode, 0, key.len() as u8, extras.len() as u8, 0, 0, 0, 0, 0, 0, length];
        frame.extend_from_slice(&[1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0]);
        [&frame, extras, key, value].concat()
    };
    let mut seeds = vec![];
    for opcode in 0..=0x25 {
        let get = [&[9][..], &frame(1, &[0; 8], b"a", b"7"), &frame(opcode, b"", b"a", b"")].concat();
        seeds.push(get);
        seeds.push([&[9][..], &frame(opcode, &[0; 8], b"a", b"value"), &frame(0, b"", b"a", b"")].concat());
        seeds.push([&[9][..], &frame(opcode, &[0; 4], b"a", b""), &frame(opcode, b"", b"", b"")].concat());
        seeds.push([&[9][..], &frame(opcode, &[0; 20], b"a", b""), &frame(10, b"", b"", b"")].concat());
        seeds.push([&[9][..], &frame(opcode, b"", b"PLAIN", b"\0u\0p"), &frame(11, b"", b"", b"")].concat());
    }
    seeds
}
