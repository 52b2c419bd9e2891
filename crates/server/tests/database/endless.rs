//! Statements that do not end in the time of a test: nobody waits for them, and they end when they are told to.

use super::{Answer, Client, Place, does, until, value};
use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

/// Ten to the twelfth rows.
const MANY: &str = "d.n a, d.n b, d.n c, d.n d, d.n e, d.n f, d.n g, d.n h, d.n i, d.n j, d.n k, d.n l";

fn with_numbers(place: &Place) -> Client<TcpStream> {
    let mut client = place.client();
    does(&mut client, "CREATE DATABASE d");
    does(&mut client, "CREATE TABLE d.n (i INT PRIMARY KEY) ENGINE=InnoDB");
    does(&mut client, "INSERT INTO d.n VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)");
    client
}

fn has_answered(client: &mut Client<TcpStream>) -> bool {
    client.stream.set_nonblocking(true).expect("it can be set");
    let peeked = client.stream.peek(&mut [0]);
    client.stream.set_nonblocking(false).expect("it can be set");
    !matches!(peeked, Err(e) if e.kind() == ErrorKind::WouldBlock)
}

/// Begins a statement; meanwhile others are served. Its connection's number.
fn begin(place: &Place, other: &mut Client<TcpStream>, client: &mut Client<TcpStream>, sql: &str) -> String {
    let id = value(client, "SELECT CONNECTION_ID()");
    client.say(sql);
    let runs =
        format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id} AND command = 'Query'");
    until(other, &runs, "1");
    assert_eq!(value(&mut place.client(), "SELECT 1"), "1");
    assert_eq!(value(other, "SELECT i FROM d.n WHERE i = 7"), "7");
    assert!(!has_answered(client), "{sql} has ended by itself");
    id
}

#[test]
fn nobody_waits_for_a_long_statement_and_it_can_be_killed() {
    let place = Place::open("endless", 1);
    let mut other = with_numbers(&place);
    let repeated = format!("SELECT SUM(LENGTH(REPEAT('a', 1000000))) FROM {MANY}");
    let nested = format!("SELECT SUM(LENGTH(HEX(HEX(HEX(REPEAT('a', 300000)))))) FROM {MANY}");
    let joined = format!("SELECT GROUP_CONCAT(a.i ORDER BY b.i) FROM {MANY}");
    let statements = [
        &repeated[..],
        &nested[..],
        &joined[..],
        "SELECT BENCHMARK(1000000000000, MD5('x'))",
        // Letters of this collation may have no weight: each place is looked at.
        "SELECT LOCATE(CONCAT(REPEAT('ä', 300000), 'b'), REPEAT('ä', 1000000) COLLATE utf8_unicode_ci)",
    ];
    for sql in statements {
        let mut client = place.client();
        does(&mut client, "SET NAMES utf8");
        let id = begin(&place, &mut other, &mut client, sql);
        does(&mut other, &format!("KILL QUERY {id}"));
        assert_eq!(client.answer().code(), 1317, "{sql}");
        assert_eq!(value(&mut client, "SELECT 1"), "1");
    }
}

/// Answers that others must get while a statement runs. If its loop waited for it, they would get one or two.
const SERVED: usize = 10;

/// A table of 1000 rows, and rows for it.
const TABLE: &str =
    "(id INT PRIMARY KEY AUTO_INCREMENT, a INT, b INT, s VARCHAR(200), KEY (a, b), KEY (s, a)) ENGINE=InnoDB";
const ROWS: &str =
    "SELECT a.i, b.i, CONCAT(d.i, c.i, b.i, a.i, REPEAT('x', 90)) FROM d.n a, d.n b, d.n c, d.n d";

fn make_table(client: &mut Client<TcpStream>, name: &str) {
    does(client, &format!("CREATE TABLE {name} {TABLE}"));
    does(client, &format!("INSERT INTO {name} (a, b, s) {ROWS} WHERE d.i < 1"));
}

/// How often others are served until a statement has ended, each time with a new connection among them.
fn served_meanwhile(
    place: &Place,
    other: &mut Client<TcpStream>,
    client: &mut Client<TcpStream>,
    sql: &str,
) -> usize {
    client.say(sql);
    let mut served = 0;
    while !has_answered(client) {
        assert_eq!(value(other, "SELECT i FROM d.n WHERE i = 7"), "7");
        assert_eq!(value(&mut place.client(), "SELECT 1"), "1");
        served += 1;
    }
    match client.answer() {
        Answer::Ok { .. } => {}
        Answer::Rows(rows, _) => {
            let told = rows.iter().map(|row| row.last().cloned().flatten().unwrap_or_default());
            let told: Vec<_> = told.map(|text| String::from_utf8(text).expect("text")).collect();
            assert_eq!(told.last().map(String::as_str), Some("OK"), "{sql}: {told:?}");
        }
        other => panic!("{sql}: {other:?}"),
    }
    served
}

#[test]
fn nobody_waits_for_work_on_whole_tables() {
    let place = Place::open("whole", 1);
    let mut other = with_numbers(&place);
    let mut client = place.client();
    // Few pages of a large table are looked at for its statistics: there are more tables instead.
    let many: Vec<String> = (0..32).map(|i| format!("d.w{i}")).collect();
    for name in many.iter().map(String::as_str).chain(["d.w"]) {
        make_table(&mut other, name);
    }
    let analyze = format!("ANALYZE TABLE {}", many.join(", "));
    let mut size = 1_000;
    for (sql, undo) in [
        (&analyze[..], ""),
        ("CHECK TABLE d.w", ""),
        ("CREATE INDEX more ON d.w (b, s)", "DROP INDEX more ON d.w"),
        (
            "ALTER TABLE d.w ADD INDEX more (s, b), ADD UNIQUE INDEX other (s, id)",
            "ALTER TABLE d.w DROP INDEX more, DROP INDEX other",
        ),
        ("ALTER TABLE d.w MODIFY a BIGINT", "ALTER TABLE d.w MODIFY a INT"),
        ("ALTER TABLE d.w ENGINE=InnoDB", ""),
        ("OPTIMIZE TABLE d.w", ""),
    ] {
        loop {
            let served = served_meanwhile(&place, &mut other, &mut client, sql);
            if !undo.is_empty() {
                does(&mut other, undo);
            }
            if served >= SERVED {
                break;
            }
            // It may have been over too soon.
            assert!(size < 100_000, "{sql}: others got {served} answers while it went through {size} rows");
            for _ in 0..2 {
                does(&mut other, &format!("INSERT INTO d.w (a, b, s) {ROWS}"));
                size += 10_000;
            }
        }
    }
}

/// KILL while an index is being built from temporary files.
#[test]
fn a_killed_index_build_leaves_nothing() {
    let place = Place::open("killed-build", 1);
    let mut other = with_numbers(&place);
    make_table(&mut other, "d.w");
    does(&mut other, &format!("INSERT INTO d.w (a, b, s) {ROWS}"));
    let sort_files = || {
        let names =
            std::fs::read_dir(&place.dir).expect("the folder").map(|file| file.expect("a file").file_name());
        names.filter(|name| name.to_string_lossy().starts_with("#sql-vaquita-sort-")).count()
    };
    let mut client = place.client();
    let id = value(&mut client, "SELECT CONNECTION_ID()");
    let mut killed = false;
    for _ in 0..20 {
        client.say("ALTER TABLE d.w ADD UNIQUE KEY one (s, id), ADD KEY two (b, s)");
        while sort_files() == 0 && !has_answered(&mut client) {}
        does(&mut other, &format!("KILL QUERY {id}"));
        match client.answer() {
            Answer::Error(code, _) => {
                assert_eq!(code, 1317);
                killed = true;
            }
            // It was over before it could be ended.
            _ => does(&mut other, "ALTER TABLE d.w DROP KEY one, DROP KEY two"),
        }
        assert_eq!(sort_files(), 0);
        let indexes =
            "SELECT COUNT(DISTINCT index_name) FROM information_schema.statistics WHERE table_name = 'w'";
        assert_eq!(value(&mut other, indexes), "3");
        if killed {
            break;
        }
    }
    assert!(killed, "no build was under way when it was ended");
    let checked = other.query("CHECK TABLE d.w");
    assert!(matches!(&checked, Answer::Rows(rows, _) if rows[0][3].as_deref() == Some(b"OK")), "{checked:?}");
    does(&mut client, "ALTER TABLE d.w ADD UNIQUE KEY one (s, id), ADD KEY two (b, s)");
}

#[test]
fn a_long_expression_looks_at_its_time() {
    let place = Place::open("overtime", 1);
    let mut client = with_numbers(&place);
    does(&mut client, "SET NAMES utf8");
    does(&mut client, "SET max_execution_time = 50");
    for sql in [
        "SELECT LOCATE(CONCAT(REPEAT('ä', 300000), 'b'), REPEAT('ä', 1000000) COLLATE utf8_unicode_ci)",
        &format!("SELECT SUM(LENGTH(HEX(HEX(REPEAT('a', 300000))))) FROM {MANY}"),
    ] {
        assert_eq!(client.query(sql).code(), 3024, "{sql}");
    }
    // In the order of bytes, or with one weight for each character, this takes no time.
    does(&mut client, "SET max_execution_time = 0");
    let found = "SELECT LOCATE(REPEAT('a', 200000), CONCAT(REPEAT('a', 199999), 'b', REPEAT('a', 200000)))";
    assert_eq!(value(&mut client, found), "200001");
}

#[test]
fn a_pipe_is_waited_for_by_its_session_alone() {
    let place = Place::open("pipe", 1);
    let mut other = with_numbers(&place);
    let pipe = std::env::temp_dir().join(format!("vaquita-fifo-{}", std::process::id()));
    let _ = std::fs::remove_file(&pipe);
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
    let load = format!("LOAD DATA INFILE '{}' INTO TABLE d.n", pipe.display());
    let mut client = place.client();
    let id = begin(&place, &mut other, &mut client, &load);
    does(&mut other, &format!("KILL QUERY {id}"));
    assert_eq!(client.answer().code(), 1317);
    // Somebody writes at last, in pieces.
    begin(&place, &mut other, &mut client, &load);
    let mut writer = std::fs::File::options().write(true).open(&pipe).expect("its other end is open");
    writer.write_all(b"10\n1").expect("it is read");
    assert_eq!(value(&mut other, "SELECT 1"), "1");
    assert!(!has_answered(&mut client));
    writer.write_all(b"1\n").expect("it is read");
    drop(writer);
    let answer = client.answer();
    assert!(matches!(answer, Answer::Ok { affected: 2, .. }), "{answer:?}");
    assert_eq!(value(&mut other, "SELECT SUM(i) FROM d.n"), "66");
    std::fs::remove_file(&pipe).expect("it is there");
    assert_eq!(client.query("LOAD DATA INFILE '/dev/zero' INTO TABLE d.n").code(), 1085);
}

#[test]
fn too_many_columns_and_keys_are_counted_first() {
    let place = Place::open("columns", 1);
    let mut client = with_numbers(&place);
    client.stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout can be set");
    let list = |n: usize, each: &str| {
        (0..n).map(|i| each.replace('#', &i.to_string())).collect::<Vec<_>>().join(", ")
    };
    for n in [1018, 30_000] {
        let answer = client.query(&format!("CREATE TABLE d.c ({})", list(n, "c# INT")));
        assert_eq!(answer, Answer::Error(1117, "Too many columns".into()), "{n}");
    }
    for n in [65, 20_000] {
        let answer = client.query(&format!("CREATE TABLE d.c (a INT, {})", list(n, "KEY k# (a)")));
        let message = "Too many keys specified; max 64 keys allowed";
        assert_eq!(answer, Answer::Error(1069, message.into()), "{n}");
    }
    does(&mut client, &format!("CREATE TABLE d.c (a INT, {})", list(64, "KEY k# (a)")));
    assert_eq!(client.query("ALTER TABLE d.c ADD KEY (a)").code(), 1069);
}
