//! What a statement costs in allocations once it is known: none, by either protocol, from the socket and back.

#[path = "door/client.rs"]
#[allow(dead_code)]
mod client;

use client::{Answer, Client};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use vaquita_server::{DatabaseBackend, Server, ServerOptions};
use vaquita_sql::{Database, Options};

/// The system's allocator, which counts what each thread asks of it.
struct Counting;

/// What one thread has asked for; a number of 0 is a free place.
struct Asked {
    thread: AtomicI32,
    times: AtomicU64,
}

/// A process of this test starts about twenty threads; those that find no place would not be counted.
static ASKED: [Asked; 64] = [const { Asked { thread: AtomicI32::new(0), times: AtomicU64::new(0) } }; 64];

/// Places that are given away.
static TAKEN: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The thread's place in `ASKED`.
    static PLACE: Cell<Option<usize>> = const { Cell::new(None) };
}

fn count() {
    let place = PLACE.get().unwrap_or_else(|| {
        let place = TAKEN.fetch_add(1, Ordering::Relaxed);
        if let Some(asked) = ASKED.get(place) {
            asked.thread.store(rustix::thread::gettid().as_raw_nonzero().get(), Ordering::Relaxed);
        }
        PLACE.set(Some(place));
        place
    });
    if let Some(asked) = ASKED.get(place) {
        asked.times.fetch_add(1, Ordering::Relaxed);
    }
}

/// What the threads of the server's loops have asked for: background services allocate by the clock, so how much of it
/// falls into a number of statements says nothing of these.
fn of_loops() -> u64 {
    let taken = TAKEN.load(Ordering::Relaxed);
    assert!(taken <= ASKED.len(), "{taken} threads");
    let is_loop = |asked: &&Asked| {
        let name = format!("/proc/self/task/{}/comm", asked.thread.load(Ordering::Relaxed));
        std::fs::read_to_string(name).is_ok_and(|name| name.trim_end() == "vaquita-loop")
    };
    let loops: Vec<&Asked> = ASKED[..taken].iter().filter(is_loop).collect();
    assert!(!loops.is_empty(), "no thread serves");
    loops.iter().map(|asked| asked.times.load(Ordering::Relaxed)).sum()
}

// SAFETY: every call goes to the system's allocator as it is; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Executions that are counted, and as many before.
const TIMES: u64 = 400;

/// Of so many executions one may fall together with something that a loop does by the clock.
const RARE: u64 = 20;

/// A command that succeeds; how many rows it gives.
fn ask(client: &mut Client<TcpStream>, packet: &[u8]) -> usize {
    client.command(packet);
    let first = client.packet().expect("an answer");
    assert_ne!(first[0], 0xFF, "{}", String::from_utf8_lossy(&first));
    if first[0] == 0 {
        return 0;
    }
    let columns = u64::from(first[0]);
    (0..=columns).for_each(|_| assert!(client.packet().is_some()));
    match client.rows(columns, true) {
        Answer::Rows(rows, _) => rows.len(),
        other => panic!("{other:?}"),
    }
}

fn query(sql: &str) -> Vec<u8> {
    [b"\x03", sql.as_bytes()].concat()
}

/// Prepares a statement; its number.
fn prepare(client: &mut Client<TcpStream>, sql: &str) -> u32 {
    client.command(&[b"\x16", sql.as_bytes()].concat());
    let first = client.packet().expect("an answer");
    assert_eq!(first[0], 0, "{sql}: {:?}", String::from_utf8_lossy(&first));
    let number = |at: usize| usize::from(u16::from_le_bytes([first[at], first[at + 1]]));
    // Parameters and columns each end in an EOF.
    let packets = |n: usize| if n == 0 { 0 } else { n + 1 };
    for _ in 0..packets(number(5)) + packets(number(7)) {
        client.packet().expect("a definition");
    }
    u32::from_le_bytes([first[1], first[2], first[3], first[4]])
}

/// Executes it with these numbers.
fn execute(id: u32, params: &[i32]) -> Vec<u8> {
    let mut packet = vec![0x17];
    packet.extend_from_slice(&id.to_le_bytes());
    packet.extend_from_slice(&[0, 1, 0, 0, 0]);
    if !params.is_empty() {
        packet.extend(std::iter::repeat_n(0, params.len().div_ceil(8)));
        packet.push(1);
        packet.extend(params.iter().flat_map(|_| [3, 0]));
        packet.extend(params.iter().flat_map(|n| n.to_le_bytes()));
    }
    packet
}

/// Allocations of so many rounds, after as many that are not counted.
fn allocations(client: &mut Client<TcpStream>, packet: impl Fn(u64) -> Vec<u8>) -> u64 {
    let mut rounds = |from: u64| {
        let before = of_loops();
        for n in from..from + TIMES {
            ask(client, &packet(n));
        }
        of_loops() - before
    };
    rounds(0);
    rounds(TIMES)
}

#[test]
fn a_statement_that_is_known_allocates_nothing() {
    let dir = std::env::temp_dir().join(format!("vaquita-allocations-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    let variables = [("innodb_buffer_pool_size", "16M"), ("innodb_flush_log_at_trx_commit", "1")]
        .map(|(a, b)| (a.to_owned(), b.to_owned()));
    let db =
        Database::open(Options { dir: dir.clone(), variables: variables.to_vec() }).expect("a new folder");
    let options = ServerOptions { loops: 1, ..ServerOptions::default() };
    let server = Server::start(Arc::new(DatabaseBackend::new(db.clone())), options).expect("it starts");
    let mut client = Client::connect(server.addr().expect("it listens"));
    let columns: String = (0..60).map(|n| format!(", c{n} INT NOT NULL DEFAULT {n}")).collect();
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        &format!(
            "CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL, s CHAR(60) NOT NULL{columns}) ENGINE=InnoDB"
        ),
        "INSERT INTO t (id, v, s) VALUES (0, 0, 'zero'), (1, 0, 'one'), (2, 0, 'two'), (3, 0, 'three')",
    ] {
        ask(&mut client, &query(sql));
    }
    let of_text = allocations(&mut client, |n| query(&format!("SELECT s FROM t WHERE id = {}", n % 4)));
    assert!(of_text < TIMES / RARE, "text: {of_text} for {TIMES}");
    let select = prepare(&mut client, "SELECT s, v FROM t WHERE id = ?");
    let of_prepared = allocations(&mut client, |n| execute(select, &[n as i32 % 4]));
    assert!(of_prepared < TIMES / RARE, "prepared: {of_prepared} for {TIMES}");
    // More statements than there are places for their columns' definitions.
    let many: Vec<u32> =
        (0..60).map(|n| prepare(&mut client, &format!("SELECT c{n}, v FROM t WHERE id = ?"))).collect();
    let of_many = allocations(&mut client, |n| execute(many[n as usize % many.len()], &[n as i32 % 4]));
    assert!(of_many < TIMES / RARE, "many: {of_many} for {TIMES}");
    // Transactions without changes.
    let transaction =
        ["BEGIN", "SELECT s, v FROM t WHERE id = ?", "COMMIT"].map(|sql| prepare(&mut client, sql));
    let of_transactions = allocations(&mut client, |n| {
        let at = n as usize % 3;
        execute(transaction[at], if at == 1 { &[2] } else { &[] })
    });
    assert!(of_transactions < TIMES / RARE, "transactions: {of_transactions} for {TIMES}");
    let of_texts = allocations(&mut client, |n| match n % 3 {
        0 => query("BEGIN"),
        1 => query("SELECT s, v FROM t WHERE id = 2"),
        _ => query("COMMIT"),
    });
    assert!(of_texts < TIMES / RARE, "transactions by text: {of_texts} for {TIMES}");
    drop(client);
    assert!(server.shutdown(Duration::from_secs(60)));
    db.close().expect("it closes");
    let _ = std::fs::remove_dir_all(&dir);
}
