//! How fast statements are parsed and digested.
//!
//! `cargo run --release -p vaquita-parser --example parse_speed`

use std::hint::black_box;
use std::time::{Duration, Instant};

use bumpalo::Bump;
use vaquita_parser::{Digest, ParseMode, digest, parse};

const PAD: &str = "68487932199-96439406143-93774651418-41631865787-96406072701-20604855487-25459966574-28203206787-41238978918-19503783441";

/// Each measurement repeats for this long.
const SPAN: Duration = Duration::from_millis(300);
const BATCH: Duration = Duration::from_micros(200);

fn main() {
    let insert = format!("INSERT INTO sbtest1 (id, k, c, pad) VALUES (0, 5021, '{PAD}', '{PAD}')");
    let update = format!("UPDATE sbtest1 SET c='{PAD}' WHERE id=5014");
    let statements = [
        ("point select", "SELECT c FROM sbtest1 WHERE id=5014"),
        ("range select", "SELECT c FROM sbtest1 WHERE id BETWEEN 5014 AND 5113"),
        ("sum range", "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN 5014 AND 5113"),
        ("order range", "SELECT c FROM sbtest1 WHERE id BETWEEN 5014 AND 5113 ORDER BY c"),
        ("distinct range", "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN 5014 AND 5113 ORDER BY c"),
        ("update index", "UPDATE sbtest1 SET k=k+1 WHERE id=5014"),
        ("update non-index", &update),
        ("delete", "DELETE FROM sbtest1 WHERE id=5014"),
        ("insert", &insert),
        ("commit", "COMMIT"),
        (
            "join",
            "SELECT a.x, COUNT(*) FROM t1 a JOIN t2 b ON a.id=b.id LEFT JOIN t3 c ON c.id=b.id WHERE a.y > 5 AND b.z IN (1,2,3) GROUP BY a.x HAVING COUNT(*) > 1 ORDER BY 2 DESC LIMIT 10",
        ),
    ];
    println!("{:<18}{:>10}{:>10}{:>8}", "", "parse ns", "digest ns", "bytes");
    for (name, sql) in statements {
        let (parsed, digested) = measure(sql.as_bytes());
        println!("{name:<18}{parsed:>10.0}{digested:>10.0}{:>8}", sql.len());
    }
    bulk();
}

/// Nanoseconds of one parse and of one digest.
fn measure(sql: &[u8]) -> (f64, f64) {
    let mode = ParseMode { lift: true, ..ParseMode::default() };
    let mut arena = Bump::new();
    let parsed = repeat(|| {
        arena.reset();
        black_box(parse(black_box(sql), &arena, mode)).is_ok()
    });
    let mut key = Digest::default();
    let digested = repeat(|| black_box(digest(black_box(sql), mode, &mut key)));
    (parsed, digested)
}

/// The best of many batches: others may use the machine meanwhile.
fn repeat(mut run: impl FnMut() -> bool) -> f64 {
    let start = Instant::now();
    let mut best = f64::INFINITY;
    while start.elapsed() < SPAN {
        let batch = Instant::now();
        let mut count = 0;
        while count == 0 || batch.elapsed() < BATCH {
            for _ in 0..16 {
                run();
            }
            count += 16;
        }
        best = best.min(batch.elapsed().as_nanos() as f64 / f64::from(count));
    }
    best
}

/// INSERT of many rows.
fn bulk() {
    let mut short = String::from("INSERT INTO t VALUES ");
    let mut long = String::from("INSERT INTO sbtest1 VALUES ");
    for row in 0..1_000 {
        let comma = if row == 0 { "" } else { "," };
        short += &format!("{comma}({row},'name{row}',{},NULL,'2026-01-01')", row * 7);
        long += &format!("{comma}({row},{},'{PAD}','{}')", row * 7, &PAD[..59]);
    }
    for (name, sql) in [("short rows", &short), ("sysbench rows", &long)] {
        let mode = ParseMode::default();
        let mut arena = Bump::new();
        let ns = repeat(|| {
            arena.reset();
            black_box(parse(black_box(sql.as_bytes()), &arena, mode)).is_ok()
        });
        println!("{name:<18}{:>7.0} MB/s", sql.len() as f64 * 1e3 / ns);
    }
}
