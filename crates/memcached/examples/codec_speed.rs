//! What reading commands and answering them costs, on the cache in memory: nanoseconds per key, the best of many rounds.
//! With an argument only the script of that name runs, once: for callgrind.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;
use vaquita_memcached::cache::{Cache, CacheStore, Seconds};
use vaquita_memcached::conn::{Conn, Next};
use vaquita_memcached::service::Service;

const NOW: u32 = 1_700_000_000;
const ITEMS: usize = 10_000;
const ROUNDS: usize = 400;

/// A script: its name, its bytes, the keys it asks for.
struct Script {
    name: &'static str,
    input: Vec<u8>,
    keys: usize,
}

fn key(number: usize) -> String {
    format!("memtier-{:08}", number * 7919 % ITEMS)
}

fn frame(opcode: u8, key: &str) -> Vec<u8> {
    let length = key.len() as u8;
    let mut frame = vec![0x80, opcode, 0, length, 0, 0, 0, 0, 0, 0, 0, length];
    frame.extend_from_slice(&[0; 12]);
    frame.extend_from_slice(key.as_bytes());
    frame
}

fn scripts() -> Vec<Script> {
    let text = |name, keys: usize, command: &dyn Fn(usize) -> String| Script {
        name,
        input: (0..keys).map(command).collect::<String>().into_bytes(),
        keys,
    };
    let list = |first: usize| (0..50).map(|number| format!(" {}", key(first + number))).collect::<String>();
    vec![
        text("get, alone", 1, &|number| format!("get {}\r\n", key(number))),
        text("get, 16 in a row", 16, &|number| format!("get {}\r\n", key(number))),
        text("get, 500 in a row", 500, &|number| format!("get {}\r\n", key(number))),
        Script { keys: 500, ..text("get of 50 keys", 10, &|number| format!("get{}\r\n", list(number * 50))) },
        text("get of nothing, 16 in a row", 16, &|number| format!("get no{number:010}\r\n")),
        text("mg v, 16 in a row", 16, &|number| format!("mg {} v\r\n", key(number))),
        Script {
            name: "binary getk, 16 in a row",
            input: (0..16).flat_map(|number| frame(0x0c, &key(number))).collect(),
            keys: 16,
        },
        text("set of 100 bytes, 16 in a row", 16, &|number| {
            format!("set {} 0 0 100\r\n{}\r\n", key(number), "v".repeat(100))
        }),
    ]
}

fn main() {
    let only = std::env::args().nth(1);
    let service = Arc::new(Service::new(NOW));
    let cache = Arc::new(Cache::new(64 << 20, 1 << 20));
    let mut store = CacheStore::new(cache, Arc::new(Seconds::new(NOW)));
    let mut out = Vec::with_capacity(1 << 20);
    let mut send = |conn: &mut Conn, input: &[u8], out: &mut Vec<u8>| {
        out.clear();
        let next = conn.advance(black_box(input), NOW, &mut store, out);
        assert!(next == Next::Read, "the answers fit");
    };
    let mut conn = Conn::new(service.clone());
    for number in 0..ITEMS {
        let set = format!("set {} 0 0 100\r\n{}\r\n", key(number), "v".repeat(100));
        send(&mut conn, set.as_bytes(), &mut out);
    }
    for script in scripts() {
        if only.as_ref().is_some_and(|only| only != script.name) {
            continue;
        }
        let repeats = if only.is_some() { 1_000_000 / script.keys } else { 16_000 / script.keys };
        let mut conn = Conn::new(service.clone());
        let mut best = f64::MAX;
        for _ in 0..if only.is_some() { 1 } else { ROUNDS } {
            let started = Instant::now();
            (0..repeats).for_each(|_| send(&mut conn, &script.input, &mut out));
            let spent = started.elapsed().as_nanos() as f64 / (repeats * script.keys) as f64;
            best = best.min(spent);
        }
        println!("{:32} {best:8.1} ns per key, {} bytes of answers", script.name, out.len());
    }
}
