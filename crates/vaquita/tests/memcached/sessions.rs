//! The example sessions of the articles: several tables, bind, another delimiter; SQL and memcached on the same rows.

use crate::memcached::Bed;
use vaquita_peers::until;

const TABLES: &str = "
create database my_database;
create table test.new_demo (c1 varchar(32) not null, c2 varchar(1024), c3 int, c4 bigint unsigned, c5 int,
  id int primary key auto_increment, unique key secondary_index_x (c1));
create table my_database.my_demo (c1 varchar(32), c2 varchar(1024), c3 int, c4 bigint unsigned, c5 int,
  unique key idx (c1));
insert into my_database.my_demo values ('key_a', 'of the third', 0, 0, 0), ('key_b', 'of the third, too', 0, 0, 0);
insert into innodb_memcache.containers values
  ('setup_1', 'test', 'demo_test', 'c1', 'c2', 'c3', 'c4', 'c5', 'PRIMARY'),
  ('setup_2', 'test', 'new_demo', 'c1', 'c2', 'c3', 'c4', 'c5', 'secondary_index_x'),
  ('setup_3', 'my_database', 'my_demo', 'c1', 'c2', 'c3', 'c4', 'c5', 'idx');
";

#[test]
fn three_tables() {
    let bed = Bed::new("three", &[]);
    bed.sql(TABLES);
    let mut talk = bed.connect();
    assert_eq!(
        talk.ask("get @@setup_3.key_a\r\n", "END"),
        "VALUE @@setup_3.key_a 0 12\r\nof the third\r\nEND\r\n"
    );
    // The mapping stays the connection's own.
    assert_eq!(talk.ask("get key_b\r\n", "END"), "VALUE key_b 0 17\r\nof the third, too\r\nEND\r\n");
    assert_eq!(talk.ask("set key_c 5 0 7\r\nvalue_c\r\n", "STORED"), "STORED\r\n");
    assert_eq!(bed.sql("select c2, c3 from my_database.my_demo where c1 = 'key_c'"), "value_c\t5\n");
    // Another connection has its own.
    let mut other = bed.connect();
    assert_eq!(other.ask("get key_b\r\n", "END"), "END\r\n");
    assert_eq!(other.ask("get AA\r\n", "END"), "VALUE AA 8 12\r\nHELLO, HELLO\r\nEND\r\n");
    assert_eq!(other.ask("get @@setup_2\r\n", "END"), "VALUE @@setup_2 0 13\r\ntest/new_demo\r\nEND\r\n");
    assert_eq!(other.ask("set @@setup_3\r\n", "OK"), "OK\r\n");
    assert_eq!(other.ask("get key_b\r\n", "END"), "VALUE key_b 0 17\r\nof the third, too\r\nEND\r\n");
    assert_eq!(other.ask("set @@setup_2\r\n", "OK"), "OK\r\n");
    assert_eq!(other.ask("set key_d 0 0 1\r\nd\r\n", "STORED"), "STORED\r\n");
    assert_eq!(bed.sql("select id, c1, c2 from test.new_demo"), "1\tkey_d\td\n");
    assert_eq!(talk.ask("get key_d\r\n", "END"), "END\r\n");
}

#[test]
fn bind() {
    let bed = Bed::new("bind", &[]);
    bed.sql(TABLES);
    let mut talk = bed.connect();
    assert_eq!(talk.ask("bind setup_3\r\n", ""), "OK\r\n");
    assert_eq!(talk.ask("get key_a\r\n", "END"), "VALUE key_a 0 12\r\nof the third\r\nEND\r\n");
    assert!(talk.ask("bind no_such\r\n", "").starts_with("CLIENT_ERROR"));
    assert_eq!(talk.ask("get key_a\r\n", "END"), "VALUE key_a 0 12\r\nof the third\r\nEND\r\n");
    assert_eq!(talk.ask("bind setup_1\r\n", ""), "OK\r\n");
    assert_eq!(talk.ask("get AA\r\n", "END"), "VALUE AA 8 12\r\nHELLO, HELLO\r\nEND\r\n");
}

/// The table of the record: an integer as key, and nothing besides the value.
#[test]
fn a_key_and_a_value_alone() {
    let bed = Bed::new("alone", &[]);
    bed.sql(
        "create table test.memc_test (id int not null primary key, value3 text);
         insert into test.memc_test values (1, 'one'), (2, 'two'), (-3, null);
         use innodb_memcache;
         INSERT INTO containers VALUES
         (\"memc1\", \"test\", \"memc_test\", \"id\", \"value3\", null, null, null, \"PRIMARY\");",
    );
    let mut talk = bed.connect();
    assert_eq!(talk.ask("bind memc1\r\n", ""), "OK\r\n");
    let wanted = "VALUE 2 0 3 0\r\ntwo\r\nVALUE 1 0 3 0\r\none\r\nVALUE -3 0 0 0\r\n\r\nEND\r\n";
    assert_eq!(talk.ask("gets 2 1 77 -3\r\n", "END"), wanted);
    // There is nowhere to keep flags, a number or an end.
    assert_eq!(talk.ask("set 4 9 1 4\r\nfour\r\n", "STORED"), "STORED\r\n");
    assert_eq!(talk.ask("gets 4\r\n", "END"), "VALUE 4 0 4 0\r\nfour\r\nEND\r\n");
    assert_eq!(talk.ask("cas 4 0 0 1 5\r\nx\r\n", "EXISTS"), "EXISTS\r\n");
    assert!(talk.ask("get four\r\n", "").starts_with("CLIENT_ERROR"));
    assert_eq!(bed.sql("select * from test.memc_test where id = 4"), "4\tfour\n");
}

/// What keeps a definition: an open transaction, and with `innodb_api_enable_mdl` every connection that has used the mapping.
#[test]
fn definitions_are_locked_as_enable_mdl_says() {
    let alter = "set session lock_wait_timeout = 1; alter table test.demo_test add column more int";
    for (mdl, refused) in [("OFF", false), ("ON", true)] {
        let option = format!("--innodb-api-enable-mdl={mdl}");
        let bed = Bed::new(&format!("mdl-{mdl}"), &[&option]);
        let mut talk = bed.connect();
        assert_eq!(talk.ask("get AA\r\n", "END").lines().count(), 3);
        let done = bed.server.sql(alter);
        let told = done.as_ref().err().map(ToString::to_string).unwrap_or_default();
        assert_eq!((done.is_err(), told.contains("1205")), (refused, refused), "{mdl}: {told}");
        assert_eq!(talk.ask("get AA\r\n", "END").lines().count(), 3);
        drop(talk);
        if refused {
            // The connection's end is seen soon.
            while bed.server.sql(alter).is_err() {}
        }
        assert_eq!(bed.ask("get AA\r\n", "END").lines().count(), 3, "mapped anew");
    }
}

#[test]
fn another_delimiter() {
    let bed = Bed::new("delimiter", &[]);
    bed.sql(TABLES);
    bed.sql("update innodb_memcache.config_options set value = '::' where name = 'table_map_delimiter'");
    let mut talk = bed.connect();
    let mut get = || talk.ask("get @@setup_3::key_a\r\nmn\r\n", "MN");
    // Seen within a second.
    until("the new delimiter is seen", || get().contains("of the third"));
    assert_eq!(get(), "VALUE @@setup_3::key_a 0 12\r\nof the third\r\nEND\r\nMN\r\n");
}

#[test]
fn batches_are_seen_by_sql_when_they_are_committed() {
    let options = ["--daemon-memcached-w-batch-size=3", "--innodb-api-bk-commit-interval=1"];
    let bed = Bed::new("batches", &options);
    bed.sql("set global innodb_api_bk_commit_interval = 1000000");
    let mut talk = bed.connect();
    let mut set = |key: &str| {
        assert_eq!(talk.ask(&format!("set {key} 0 0 1\r\nx\r\n"), "STORED"), "STORED\r\n");
    };
    let seen = || bed.sql("select count(*) from test.demo_test where c2 = 'x'").trim_end().to_owned();
    let uncommitted = "set session transaction isolation level read uncommitted; \
                       select count(*) from test.demo_test where c2 = 'x'";
    set("a");
    set("b");
    assert_eq!((seen(), bed.sql(uncommitted).trim_end()), ("0".to_owned(), "2"));
    set("c");
    assert_eq!(seen(), "3");
    // What is idle for too long is committed in the background.
    set("d");
    assert_eq!(seen(), "3");
    bed.sql("set global innodb_api_bk_commit_interval = 1");
    until("what is idle is committed", || seen() == "4");
    assert_eq!(bed.stat("innodb_idle_commits"), 1);
    // Who leaves has said all there is.
    set("e");
    drop(talk);
    until("what a connection left is committed", || seen() == "5");
}

#[test]
fn locks_of_sql_are_respected() {
    let bed = Bed::new("locks", &["--memcached-threads=1", "--innodb-lock-wait-timeout=1"]);
    let mut client = bed.server.client("mariadb").expect("a client");
    client.args(["--unbuffered", "--batch", "--skip-column-names"]);
    client.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut client = client.spawn().expect("a client");
    let mut input = client.stdin.take().expect("its input");
    let mut output = std::io::BufReader::new(client.stdout.take().expect("its output"));
    let mut line = String::new();
    use std::io::{BufRead, Write};
    input.write_all(b"begin; select c2 from test.demo_test where c1 = 'AA' for update;\n").expect("a send");
    output.read_line(&mut line).expect("an answer");
    assert_eq!(line, "HELLO, HELLO\n");
    let mut waiting = bed.connect();
    waiting.say("set AA 0 0 3\r\nnew\r\n");
    // The only loop serves others meanwhile; reads wait for nobody.
    let mut other = bed.connect();
    assert_eq!(other.ask("get AA\r\n", "END"), "VALUE AA 8 12\r\nHELLO, HELLO\r\nEND\r\n");
    let refused = waiting.hear("SERVER_ERROR");
    assert!(refused.contains("lock wait timeout"), "{refused}");
    input.write_all(b"commit; select 1;\n").expect("a send");
    line.clear();
    output.read_line(&mut line).expect("an answer");
    assert_eq!(waiting.ask("set AA 0 0 3\r\nnew\r\n", "STORED"), "STORED\r\n");
    drop(input);
    client.wait().expect("the client ends");
    assert_eq!(bed.sql("select c2 from test.demo_test where c1 = 'AA'"), "new\n");
}

/// The answer of the protocol names nothing, so the log does; once, however many such items come.
#[test]
fn columns_that_are_too_short_are_named_in_the_log() {
    let bed = Bed::new("misfits", &[]);
    let mut talk = bed.connect();
    let (key, value) = ("k".repeat(33), "v".repeat(1_025));
    for _ in 0..3 {
        assert!(talk.ask(&format!("set {key} 0 0 1\r\nx\r\n"), "").starts_with("CLIENT_ERROR"));
        assert!(talk.ask(&format!("set k 0 0 1025\r\n{value}\r\n"), "").starts_with("SERVER_ERROR"));
    }
    // To ask for it is no mistake: there is no such item.
    assert_eq!(talk.ask(&format!("get {key}0\r\n"), "END"), "END\r\n");
    let log = bed.server.log();
    let lines: Vec<&str> = log.lines().filter_map(|l| l.split_once("memcached: a ")).map(|l| l.1).collect();
    assert_eq!(
        lines,
        [
            "key of 33 bytes is too long for column c1 of test.demo_test, which takes 32 bytes",
            "value of 1025 bytes is too long for column c2 of test.demo_test, which takes 1024 bytes",
        ]
    );
}

/// The mapping that the manual gives for everything that clients of memcached may send.
#[test]
fn the_mapping_for_all_keys_and_values_takes_them() {
    let manual = include_str!("../../../../docs/memcached.md");
    let example =
        manual.split("```sql\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let bed = Bed::new("largest", &[]);
    bed.sql(example);
    let mut talk = bed.connect();
    let key = "k".repeat(250);
    // Of a MiB memcached takes 59 bytes itself.
    let value = "v".repeat((1 << 20) - 59 - key.len());
    assert_eq!(talk.ask("bind items\r\n", ""), "OK\r\n");
    let set = format!("set {key} 0 0 {}\r\n{value}\r\n", value.len());
    assert_eq!(talk.ask(&set, ""), "STORED\r\n");
    let got = talk.ask(&format!("get {key}\r\n"), "END");
    assert!(got == format!("VALUE {key} 0 {}\r\n{value}\r\nEND\r\n", value.len()), "{}", got.len());
    let larger = format!("set {key} 0 0 {}\r\nv{value}\r\n", value.len() + 1);
    assert_eq!(talk.ask(&larger, ""), "SERVER_ERROR object too large for cache\r\n");
    assert!(!bed.server.log().contains("too long"), "{}", bed.server.log());
}
