//! What sessions may take of the memory: whoever passes a limit is told so, and lives; nobody else notices.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::{Path, PathBuf};
use vaquita_clients::Vaquita;
use vaquita_clients::wire::{Answer, Wire};

const MB: u64 = 1 << 20;

/// A server; the folder goes with it.
struct Place {
    server: Vaquita,
    dir: PathBuf,
}

impl Place {
    fn start(name: &str, options: &[&str]) -> Place {
        let dir = std::env::temp_dir().join(format!("vaquita-memory-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        let mut all = vec!["--innodb-buffer-pool-size=32M", "--max-allowed-packet=64M"];
        all.extend_from_slice(options);
        let server =
            Vaquita::start(Path::new(env!("CARGO_BIN_EXE_vaquita")), &dir.join("data"), &all).unwrap();
        Place { server, dir }
    }

    fn wire(&self) -> Wire {
        Wire::connect(self.server.port(), "root").unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What it says no test asks for.
        let _ = self.server.stop();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn does(wire: &mut Wire, sql: &str) {
    let answer = wire.query(sql).unwrap();
    assert!(matches!(answer, Answer::Ok(_)), "{sql:.100}: {answer:?}");
}

fn value(wire: &mut Wire, sql: &str) -> String {
    let answer = wire.query(sql).unwrap();
    answer.value().unwrap_or_else(|| panic!("{sql:.100}: {answer:?}"))
}

/// `Global_connection_memory`.
fn taken(wire: &mut Wire) -> u64 {
    let sql = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS \
               WHERE VARIABLE_NAME = 'Global_connection_memory'";
    value(wire, sql).parse().unwrap()
}

/// A hundred thousand numbers.
fn with_numbers(wire: &mut Wire) {
    does(wire, "CREATE DATABASE d");
    does(wire, "CREATE TABLE d.ten (i INT PRIMARY KEY)");
    does(wire, "INSERT INTO d.ten VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)");
    does(wire, "CREATE TABLE d.n (i INT PRIMARY KEY)");
    does(
        wire,
        "INSERT INTO d.n SELECT a.i + 10 * b.i + 100 * c.i + 1000 * d.i + 10000 * e.i \
         FROM d.ten a, d.ten b, d.ten c, d.ten d, d.ten e",
    );
}

/// A parameter in pieces of 64 KB; not answered.
fn long_data(wire: &mut Wire, id: u32, param: u16, pieces: usize) {
    let mut piece = vec![0x18];
    piece.extend_from_slice(&id.to_le_bytes());
    piece.extend_from_slice(&param.to_le_bytes());
    piece.resize(piece.len() + (64 << 10), b'x');
    (0..pieces).for_each(|_| wire.command(&piece).unwrap());
}

#[test]
fn a_session_that_passes_its_limit_is_told_and_lives() {
    let place = Place::start("session", &[]);
    let mut other = place.wire();
    with_numbers(&mut other);
    let mut wire = place.wire();
    does(&mut wire, "SET SESSION connection_memory_limit = 4194304, group_concat_max_len = 100000000");
    does(&mut wire, "SET SESSION tmp_table_size = 1000000000, max_heap_table_size = 1000000000");
    does(&mut wire, "SET SESSION sort_buffer_size = 1000000000, join_buffer_size = 1000000000");
    does(&mut wire, "SET @small_document = CAST(CONCAT('[', REPEAT('\"abc\",', 50000), '1]') AS JSON)");
    let list = |n: usize| vec!["1"; n].join(", ");
    let statements = [
        // Long values.
        "SELECT LENGTH(REPEAT('a', 10000000))".to_owned(),
        "SELECT LENGTH(CONCAT(HEX(REPEAT('a', 1000000)), HEX(REPEAT('b', 1000000))))".to_owned(),
        "SELECT LENGTH(CONVERT(REPEAT('ä', 1500000) USING utf16))".to_owned(),
        "SET @long = REPEAT('a', 5000000)".to_owned(),
        // What becomes of many rows.
        "SELECT LENGTH(GROUP_CONCAT(i, REPEAT('x', 50))) FROM d.n".to_owned(),
        "SELECT COUNT(DISTINCT i, REPEAT('x', 50)) FROM d.n".to_owned(),
        "SELECT SUM(DISTINCT i), COUNT(DISTINCT i + 1), AVG(DISTINCT i + 2) FROM d.n".to_owned(),
        "SELECT DISTINCT CONCAT(i, REPEAT('x', 50)) FROM d.n".to_owned(),
        "SELECT /*+ NO_MERGE(t) */ STRAIGHT_JOIN COUNT(*) FROM d.ten JOIN (SELECT REPEAT('x', 50) AS t, i FROM d.n) AS t ON t.i = ten.i"
            .to_owned(),
        "SELECT MAX(t) FROM (SELECT REPEAT('x', 50) AS t FROM d.n GROUP BY i + 1) AS t".to_owned(),
        "SELECT i FROM d.n ORDER BY CONCAT(REPEAT('x', 50), i)".to_owned(),
        "SELECT COUNT(*) FROM d.ten WHERE CONCAT(i, 'x') IN (SELECT CONCAT(i, REPEAT('x', 50)) FROM d.n)"
            .to_owned(),
        // Documents: parsed, printed, changed, merged, searched, and made of many rows.
        "SELECT LENGTH(CAST(CONCAT('[', REPEAT('1,', 200000), '1]') AS JSON))".to_owned(),
        "SELECT JSON_LENGTH(CONCAT('[', REPEAT('1,', 200000), '1]'))".to_owned(),
        "SELECT LENGTH(JSON_QUOTE(REPEAT(CHAR(1), 900000)))".to_owned(),
        "SELECT JSON_LENGTH(JSON_MERGE_PRESERVE(@small_document, @small_document, @small_document))".to_owned(),
        "SELECT JSON_LENGTH(JSON_ARRAY_APPEND(@small_document, '$', @small_document))".to_owned(),
        "SELECT JSON_LENGTH(JSON_EXTRACT(@small_document, '$[*]'))".to_owned(),
        "SELECT JSON_LENGTH(JSON_SEARCH(@small_document, 'all', '%'))".to_owned(),
        "SELECT COUNT(*) FROM JSON_TABLE(@small_document, '$[*]' COLUMNS (c INT PATH '$')) t".to_owned(),
        "SELECT JSON_LENGTH(JSON_ARRAYAGG(i)) FROM d.n".to_owned(),
        "SELECT JSON_LENGTH(JSON_OBJECTAGG(i, i)) FROM d.n".to_owned(),
        "SELECT @small_document < CONCAT('[', REPEAT('1,', 300000), '1]') OR CAST(REPEAT(' 1', 1) AS JSON) < CAST(CONCAT('[', REPEAT('1,', 300000), '1]') AS JSON)"
            .to_owned(),
        "WITH RECURSIVE c AS (SELECT 1 AS k, CAST('[1]' AS JSON) AS d UNION ALL SELECT k + 1, JSON_MERGE_PRESERVE(d, d) FROM c WHERE k < 30) SELECT MAX(JSON_LENGTH(d)) FROM c"
            .to_owned(),
        // A long text, what is read from it, and what is planned for it.
        format!("SELECT 1 IN ({})", list(400_000)),
        format!("DO '{}'", "x".repeat(5_000_000)),
    ];
    let before = taken(&mut other);
    for sql in statements {
        let is_too_long = sql.len() > 4_000_000;
        match wire.query(&sql) {
            Ok(answer) => {
                assert_eq!(answer.code(), 4082, "{sql:.100}: {:.200}", format!("{answer:?}"));
            }
            // Refused while it is sent: the connection may be reset before the answer is read.
            Err(e) => assert!(is_too_long, "{sql:.100}: {e}"),
        }
        if is_too_long {
            // The packet itself: what else the client has said is not read.
            assert!(wire.is_closed());
            wire = place.wire();
            does(
                &mut wire,
                "SET SESSION connection_memory_limit = 4194304, group_concat_max_len = 100000000",
            );
        }
        assert_eq!(value(&mut wire, "SELECT 'lives'"), "lives");
    }
    assert!(taken(&mut other) < before + MB, "nothing of it stays");
    // Results are the same, if there is room.
    does(&mut wire, "SET SESSION tmp_table_size = 65536, sort_buffer_size = 65536, join_buffer_size = 65536");
    assert_eq!(
        value(&mut wire, "SELECT COUNT(*) FROM (SELECT DISTINCT CONCAT(i, REPEAT('x', 50)) FROM d.n) t"),
        "100000"
    );
    assert_eq!(
        value(&mut wire, "SELECT i FROM d.n ORDER BY CONCAT(REPEAT('x', 50), i) LIMIT 20000, 1"),
        "27999"
    );
}

#[test]
fn documents_that_grow_beyond_the_memory_there_is_end_the_statement() {
    // Limits of sessions are out of the way: the system refuses the memory.
    let place = Place::start("documents", &["--connection-memory-limit=18446744073709551615"]);
    // A session is served before the limit: threads of the server reserve address space when they begin.
    let mut wire = place.wire();
    does(&mut wire, "SET GLOBAL global_connection_memory_limit = 18446744073709551615");
    let pid = place.server.pid().unwrap();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
    let kilobytes: u64 = kilobytes.trim().trim_end_matches(" kB").parse().unwrap();
    let limited = std::process::Command::new("prlimit")
        .args(["--pid", &pid.to_string(), &format!("--as={}", kilobytes * 1024 + 500 * MB)])
        .status()
        .unwrap();
    assert!(limited.success());
    for (first, step) in [
        ("JSON_ARRAY(REPEAT('x', 1000000))", "JSON_ARRAY_APPEND(@d, '$', JSON_EXTRACT(@d, '$[*]'))"),
        ("CAST('[1]' AS JSON)", "JSON_MERGE_PRESERVE(@d, @d)"),
        ("CAST('[1.5]' AS JSON)", "JSON_ARRAY(@d, @d)"),
        ("CAST('{\"a\": [true]}' AS JSON)", "JSON_MERGE_PRESERVE(@d, @d)"),
    ] {
        does(&mut wire, &format!("SET @d = {first}"));
        let refused = (0..40).find_map(|_| {
            let answer = wire.query(&format!("SET @d = {step}")).unwrap();
            (!matches!(answer, Answer::Ok(_))).then(|| answer.code())
        });
        assert_eq!(refused, Some(5), "{step}");
        // What is there by now does not fit once more.
        for use_of in
            ["JSON_LENGTH(JSON_PRETTY(@d))", "JSON_LENGTH(JSON_EXTRACT(@d, '$**[0]'))", "LENGTH(@d)"]
        {
            let answer = wire.query(&format!("SELECT {use_of}")).unwrap();
            assert!([0, 5].contains(&answer.code()), "{use_of}: {answer:?}");
        }
        does(&mut wire, "SET @d = NULL");
        assert_eq!(value(&mut wire, "SELECT 'lives'"), "lives");
    }
}

#[test]
fn what_others_have_sent_is_not_a_sessions() {
    let place = Place::start("others", &[]);
    let limit = "SET SESSION connection_memory_limit = 4194304";
    let long = format!("DO '{}'", "x".repeat(5_000_000));
    for _ in 0..16 {
        // On the thread that serves the next one, too: they take turns.
        let mut other = place.wire();
        does(&mut other, limit);
        // Refused while it is sent: the answer may be lost.
        assert!(other.query(&long).map_or(true, |answer| answer.code() == 4082));
        assert!(other.is_closed());
        let mut wire = place.wire();
        does(&mut wire, limit);
        assert_eq!(value(&mut wire, "SELECT 'lives'"), "lives");
    }
}

#[test]
fn what_a_session_keeps_is_counted_until_it_gives_it_up() {
    let place = Place::start("kept", &[]);
    let mut other = place.wire();
    with_numbers(&mut other);
    let mut wire = place.wire();
    let before = taken(&mut other);
    // As it is, not as it grew: a variable of 10 MB is one of 10 MB.
    does(&mut wire, "SET @v = REPEAT('a', 10485760)");
    let with_variable = taken(&mut other);
    assert!((10 * MB..11 * MB).contains(&with_variable), "{before} {with_variable}");
    does(&mut wire, "SET @v = NULL");
    assert!(taken(&mut other) < before + MB);

    does(&mut wire, "SET SESSION connection_memory_limit = 4194304");
    // Variables, few long ones or many short ones.
    let mut set = 0;
    let refused = loop {
        let answer = wire.query(&format!("SET @V{set} = REPEAT('a', 100000)")).unwrap();
        if answer.code() != 0 {
            break answer.code();
        }
        set += 1;
        assert!(set < 100);
    };
    assert_eq!((refused, set > 35), (4082, true), "{set}");
    // A way out.
    does(&mut wire, "SET @v1 = NULL, @v2 = NULL");
    does(&mut wire, "SET @more = REPEAT('a', 100000)");
    assert_eq!(value(&mut wire, "SELECT LENGTH(@V3)"), "100000");
    wire.command(&[0x1F]).unwrap();
    wire.answer().unwrap();
    assert!(taken(&mut other) < before + MB, "COM_RESET_CONNECTION forgets them");

    // Prepared statements.
    does(&mut wire, "SET SESSION connection_memory_limit = 4194304");
    let mut ids = Vec::new();
    let refused = loop {
        match wire.prepare(&format!("SELECT {}, '{}'", ids.len(), "x".repeat(50_000))) {
            Ok(id) => ids.push(id),
            Err(e) => break e.to_string(),
        }
        assert!(ids.len() < 100);
    };
    assert!(refused.contains("4082") && ids.len() > 5, "{} {refused}", ids.len());
    for id in ids {
        let mut close = vec![0x19];
        close.extend_from_slice(&id.to_le_bytes());
        wire.command(&close).unwrap();
    }
    assert_eq!(value(&mut wire, "SELECT 1"), "1");
    assert!(taken(&mut other) < before + MB);
}

#[test]
fn what_the_door_holds_is_counted() {
    let place = Place::start("door", &[]);
    let mut other = place.wire();
    with_numbers(&mut other);
    let mut wire = place.wire();
    let before = taken(&mut other);
    // Parameters in pieces: 3 MB each, and one statement after the other.
    let id = wire.prepare("SELECT LENGTH(?)").unwrap();
    long_data(&mut wire, id, 0, 48);
    assert_eq!(value(&mut wire, "SELECT 1"), "1");
    let held = taken(&mut other);
    assert!((before + 3 * MB..before + 7 * MB).contains(&held), "{before} {held}");
    does(&mut wire, "SET SESSION connection_memory_limit = 8388608");
    long_data(&mut wire, id, 0, 200);
    let answer = wire.execute(id, &[b""]).unwrap();
    assert_eq!(answer.code(), 4082, "{answer:?}");
    assert_eq!(value(&mut wire, "SELECT 1"), "1");
    assert!(taken(&mut other) < before + MB);

    // A cursor's rows.
    let id = wire.prepare("SELECT i, REPEAT('x', 100) FROM d.n").unwrap();
    let mut open = vec![0x17];
    open.extend_from_slice(&id.to_le_bytes());
    open.extend_from_slice(&[1, 1, 0, 0, 0]);
    wire.command(&open).unwrap();
    let answer = wire.answer().unwrap();
    assert_eq!(answer.code(), 4082, "{answer:?}");
    let id = wire.prepare("SELECT i, REPEAT('x', 100) FROM d.n WHERE i < 20000").unwrap();
    let mut open = vec![0x17];
    open.extend_from_slice(&id.to_le_bytes());
    open.extend_from_slice(&[1, 1, 0, 0, 0]);
    wire.command(&open).unwrap();
    // Two columns, and an EOF behind them.
    (0..4).for_each(|_| drop(wire.packet().unwrap()));
    assert!(taken(&mut other) > before + 2 * MB, "{before} {}", taken(&mut other));
    let mut close = vec![0x19];
    close.extend_from_slice(&id.to_le_bytes());
    wire.command(&close).unwrap();
    assert_eq!(value(&mut wire, "SELECT 1"), "1");
    assert!(taken(&mut other) < before + MB);
}

#[test]
fn all_sessions_together_have_a_limit() {
    let place = Place::start("all", &["--global-connection-memory-limit=32M"]);
    let mut other = place.wire();
    with_numbers(&mut other);
    let mut holders: Vec<Wire> = (0..6).map(|_| place.wire()).collect();
    let answers: Vec<u16> =
        holders.iter_mut().map(|wire| wire.query("SET @v = REPEAT('a', 8000000)").unwrap().code()).collect();
    assert_eq!(answers, [0, 0, 0, 0, 4081, 4081]);
    // Short statements go on.
    assert_eq!(value(&mut other, "SELECT COUNT(*) FROM d.n WHERE i < 5000"), "5000");
    does(&mut other, "INSERT INTO d.n VALUES (-1)");
    // A connection that ends gives back what it had.
    let mut waiting = holders.pop().unwrap();
    holders.remove(0);
    let begun = std::time::Instant::now();
    while waiting.query("SET @v = REPEAT('a', 8000000)").unwrap().code() != 0 {
        assert!(begun.elapsed().as_secs() < 60);
    }
    does(&mut other, "SET GLOBAL global_connection_memory_limit = 1000000000");
    does(&mut other, "SET @v = REPEAT('a', 8000000)");
}

#[test]
fn limits_are_variables() {
    let place = Place::start("variables", &[]);
    let mut wire = place.wire();
    // Without a word about it: a part of what there is.
    let limit: u64 = value(&mut wire, "SELECT @@global_connection_memory_limit").parse().unwrap();
    assert!((64 * MB..1 << 50).contains(&limit), "{limit}");
    does(&mut wire, "SET GLOBAL global_connection_memory_limit = 18446744073709551615");
    assert_eq!(value(&mut wire, "SELECT @@global_connection_memory_limit"), u64::MAX.to_string());
    does(&mut wire, "SET GLOBAL global_connection_memory_limit = DEFAULT");
    assert_eq!(value(&mut wire, "SELECT @@global_connection_memory_limit"), limit.to_string());
    assert_eq!(value(&mut wire, "SELECT @@connection_memory_limit"), u64::MAX.to_string());
    // New sessions begin with the global value, and only SUPER changes its own.
    does(&mut wire, "SET GLOBAL connection_memory_limit = 3000000");
    does(&mut wire, "CREATE USER u@localhost");
    let mut user = Wire::connect(place.server.port(), "u").unwrap();
    assert_eq!(user.query("SET connection_memory_limit = 100000000").unwrap().code(), 1227);
    assert_eq!(user.query("SET global_connection_memory_tracking = OFF").unwrap().code(), 1227);
    assert_eq!(user.query("SELECT LENGTH(REPEAT('a', 3000000))").unwrap().code(), 4082);
    // What is not tracked is not shown; it is counted for the limits all the same.
    let before = taken(&mut wire);
    let mut hidden = place.wire();
    does(&mut hidden, "SET connection_memory_limit = 100000000, global_connection_memory_tracking = OFF");
    does(&mut hidden, "SET @v = REPEAT('a', 20000000)");
    assert!(taken(&mut wire) < before + MB);
    does(&mut wire, "SET GLOBAL global_connection_memory_limit = 30000000");
    does(&mut wire, "SET connection_memory_limit = DEFAULT");
    does(&mut wire, "SET connection_memory_limit = 100000000");
    assert_eq!(wire.query("SELECT LENGTH(REPEAT('a', 20000000))").unwrap().code(), 4081);
}
