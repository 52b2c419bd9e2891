//! Events, routines and their parameters with stock clients and by the protocol, beside MySQL 5.6.24; a server that is killed while
//! events are executed.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;

use common::{Scratch, vaquita};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use vaquita_clients::Vaquita;
use vaquita_clients::wire::{Answer, Wire};
use vaquita_peers::{Mysql56, Options};

fn start(scratch: &Scratch, options: &[&str]) -> Vaquita {
    Vaquita::start(Path::new(env!("CARGO_BIN_EXE_vaquita")), &scratch.0.join("data"), options).unwrap()
}

/// What a client prints.
fn run(command: &mut Command, stdin: &str) -> String {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

const PROGRAMS: &str = "
create database shop default character set utf8mb4; use shop;
create table t (id int primary key, n int);
set time_zone = '+02:00';
create event once on schedule at '2037-01-01 00:00:00' on completion preserve disable comment 'it''s' do insert into t values (1, 1);
set sql_mode = 'ANSI_QUOTES';
delimiter //
create event \"often\" on schedule every '1:30' minute_second starts '2036-01-31 00:00:00' ends '2037-05-05 05:05:05'
  do begin declare \"x\" int; set x = 'ö'; end//
set sql_mode = '', time_zone = '+00:00'//
create event `odd ``name` on schedule every 3 quarter starts '2036-01-01' disable on slave do select 1//
create procedure p(in a int, out b varchar(20)) begin set b = a; end//
create function f(a int) returns int deterministic return a + 1//
create trigger tr before insert on t for each row set new.n = new.n + 1//
delimiter ;
";

/// What is there after a dump was loaded.
const LOOK: &str = "use shop; show create event once; show create event often; show create event `odd ``name`; show events; \
                    show create procedure p; show create function f";
const LOOK_AT_TRIGGER: &str = "use shop; show create trigger tr";

#[test]
fn dumps_there_and_back() {
    let scratch = Scratch::new("events-dumps");
    let ours = start(&scratch, &["--character-set-server=utf8mb4"]);
    let theirs = Mysql56::start(Options::new().set("character_set_server", "utf8mb4")).unwrap();
    let dump =
        ["--routines", "--triggers", "--events", "--no-data", "--databases", "shop", "--skip-dump-date"];
    let from_us =
        |arguments: &[&str], stdin: &str| run(ours.client("mariadb").unwrap().args(arguments), stdin);
    let from_them = |arguments: &[&str], stdin: &str| run(theirs.client("mariadb").args(arguments), stdin);
    from_us(&[], PROGRAMS);
    let first = from_us(&["-e", LOOK], "");
    let text = run(ours.client("mariadb-dump").unwrap().args(dump), "");
    // The other server, as it takes the dump of this one, and back.
    from_them(&[], &text);
    let there = from_them(&["-e", LOOK], "");
    // Dumps write words in capitals that were not; what was made is the same.
    assert_eq!(there.to_lowercase(), first.to_lowercase());
    assert_eq!(
        from_them(&["-e", LOOK_AT_TRIGGER], "").to_lowercase(),
        from_us(&["-e", LOOK_AT_TRIGGER], "").to_lowercase()
    );
    // This client asks of tables what 5.6 does not know: they stay there.
    let back = run(theirs.client("mariadb-dump").args(dump).arg("--ignore-table=shop.t"), "");
    for (text, look) in [(&text, LOOK_AT_TRIGGER), (&back, LOOK)] {
        let before = from_us(&["-e", look], "");
        from_us(&["-e", "drop database shop"], "");
        assert_eq!(from_us(&["-N", "-e", "select count(*) from information_schema.events"], ""), "0\n");
        from_us(&[], text);
        assert_eq!(from_us(&["-e", look], "").to_lowercase(), before.to_lowercase());
        assert_eq!(from_us(&["-e", LOOK], "").to_lowercase(), first.to_lowercase());
    }
}

/// Logs in as a client that takes several results of a prepared statement.
fn log_in(port: u16) -> Wire {
    let mut wire = Wire::dial("127.0.0.1", port).unwrap();
    assert!(wire.greeting().unwrap().is_none());
    let mut login = Wire::login("root", b"");
    let capabilities = u32::from_le_bytes(login[..4].try_into().unwrap()) | 1 << 17 | 1 << 18;
    login[..4].copy_from_slice(&capabilities.to_le_bytes());
    wire.send(&login).unwrap();
    while wire.packet().unwrap()[0] != 0 {
        wire.send(b"").unwrap();
    }
    wire
}

/// The packets that answer a text, up to the last OK or an error: what they are, and the status of those that have one, without
/// SERVER_QUERY_NO_INDEX_USED.
fn statuses(wire: &mut Wire, sql: &str) -> Vec<String> {
    let mut out = Vec::new();
    wire.command(&[b"\x03", sql.as_bytes()].concat()).unwrap();
    loop {
        let packet = wire.packet().unwrap();
        let status = |at: usize| u16::from_le_bytes([packet[at], packet[at + 1]]) & !32;
        match packet[0] {
            0xFE if packet.len() == 5 => out.push(format!("EOF {}", status(3))),
            0 if packet.len() == 7 => {
                out.push(format!("OK {}", status(3)));
                if status(3) & 8 == 0 {
                    return out;
                }
            }
            0xFF => {
                out.push(packet.escape_ascii().to_string());
                return out;
            }
            _ => out.push("-".into()),
        }
    }
}

#[test]
fn results_of_programs_are_sent_as_by_mysql() {
    let scratch = Scratch::new("events-results");
    let ours = start(&scratch, &[]);
    let theirs = Mysql56::start(Options::new()).unwrap();
    let (mut us, mut them) = (log_in(ours.port()), log_in(theirs.port()));
    for sql in [
        "create database d",
        "use d",
        "create table t (id int primary key, n bigint unsigned)",
        "insert into t values (1, 9), (2, 1)",
        "create procedure handled() begin declare continue handler for 1690 begin end; select id, n - 5 from t; select 7; end",
        "create procedure fails() begin select 1; select id, n - 5 from t; select 7; end",
        "create procedure works() begin select 1; start transaction; select id from t; rollback; select 2; end",
        "create procedure outer_one() begin declare exit handler for sqlexception select 'x'; call fails(); end",
    ] {
        let (ours, theirs) = (us.query(sql).unwrap(), them.query(sql).unwrap());
        assert_eq!((ours.code(), theirs.code()), (0, 0), "{sql}: {ours:?} {theirs:?}");
    }
    for sql in ["call handled()", "call fails()", "call works()"] {
        assert_eq!(statuses(&mut us, sql), statuses(&mut them, sql), "{sql}");
    }
    // If the handler is a caller's, 5.6 does not end the result, and clients take what comes next for rows of it.
    let got = statuses(&mut us, "call outer_one()");
    let eof = "EOF 10";
    let wanted = ["-", "-", eof, "-", eof, "-", "-", "-", eof, "-", eof, "-", "-", eof, "-", eof, "OK 2"];
    assert_eq!(got, wanted);
}

/// The packets that answer a prepared CALL, up to its OK.
fn packets(wire: &mut Wire, sql: &str, params: &[&[u8]]) -> Vec<String> {
    let id = wire.prepare(sql).unwrap();
    wire.command(&Wire::execution(id, params)).unwrap();
    let mut out = Vec::new();
    loop {
        let packet = wire.packet().unwrap();
        out.push(packet.escape_ascii().to_string());
        let status = |at: usize| u16::from_le_bytes([packet[at], packet[at + 1]]);
        let is_ok = packet[0] == 0 && packet.len() == 7;
        if packet[0] == 0xFF || is_ok && status(3) & 8 == 0 {
            return out;
        }
    }
}

#[test]
fn out_parameters_are_sent_as_by_mysql() {
    let scratch = Scratch::new("events-out");
    let ours = start(&scratch, &[]);
    let theirs = Mysql56::start(Options::new()).unwrap();
    let (mut us, mut them) = (log_in(ours.port()), log_in(theirs.port()));
    for sql in [
        "create database d default character set utf8mb4",
        "use d",
        "set names utf8mb4",
        "create procedure p(in a int, out b varchar(20), inout c decimal(8,2), out d datetime, out e bigint unsigned) \
         begin set b = concat('ö', a), c = c * 2, d = '2024-02-29 01:02:03', e = 18446744073709551615; end",
        "create procedure none(in a int) set @a = a",
        "create procedure only(out a int) set a = 7",
        "create procedure fails(out a int) begin set a = 7; signal sqlstate '45000' set message_text = 'no'; end",
    ] {
        let (ours, theirs) = (us.query(sql).unwrap(), them.query(sql).unwrap());
        assert_eq!((ours.code(), theirs.code()), (0, 0), "{sql}: {ours:?} {theirs:?}");
    }
    for (sql, params) in [
        ("call p(?, ?, ?, ?, ?)", &[&b"5"[..], b"", b"1.25", b"", b""][..]),
        ("call none(?)", &[b"5"]),
        ("call only(?)", &[b"1"]),
        ("call fails(?)", &[b"1"]),
    ] {
        let (mut ours, theirs) = (packets(&mut us, sql, params), packets(&mut them, sql, params));
        // 5.6 calls a text binary here, whatever its character set.
        ours.iter_mut().for_each(|packet| *packet = packet.replace("\\x0c-\\x00P", "\\x0c?\\x00P"));
        assert_eq!(ours, theirs, "{sql}");
    }
    // A client that cannot take them gets none.
    let mut plain = Wire::connect(ours.port(), "root").unwrap();
    plain.query("use d").unwrap();
    let id = plain.prepare("call only(?)").unwrap();
    assert!(matches!(plain.execute(id, &[b"1"]).unwrap(), Answer::Ok(_)));
}

/// What must hold whenever a server is killed while events are executed: each is executed at most once for a time, and what it did
/// is there whole or not at all.
#[test]
fn killed_with_events_at_work() {
    let scratch = Scratch::new("events-killed");
    let mut server = start(&scratch, &["--event-scheduler=ON"]);
    let event = |name: &str, every: u32| {
        format!(
            "create event {name} on schedule every {every} second do begin start transaction; \
             insert into a (what, at) values ('{name}', unix_timestamp()); \
             insert into b values (last_insert_id(), repeat('x', 300)); commit; end//\n"
        )
    };
    let made = format!(
        "create database d; use d;\n\
         create table a (id int primary key auto_increment, what varchar(20), at int unsigned, unique key (what, at));\n\
         create table b (id int primary key, pad varchar(400));\ndelimiter //\n{}{}",
        event("moves", 1),
        event("twice", 2)
    );
    run(&mut server.client("mariadb").unwrap(), &made);
    let mut executed = BTreeSet::new();
    for round in 0..6_u64 {
        // One that is executed once, about when the server is killed.
        let once = format!(
            "use d; create event once{round} on schedule at now() + interval 1 second do \
             insert into a (what, at) values ('once{round}', 0)"
        );
        server.sql(&once).unwrap();
        std::thread::sleep(Duration::from_millis(900 + round * 60));
        server.kill();
        let (code, out, err) = vaquita(&[&"check", &scratch.0.join("data")]);
        assert_eq!((code, &*err), (0, ""), "round {round}:\n{out}");
        server.start_again().unwrap();
        let whole =
            "select count(*) from d.a left join d.b using (id) where what not like 'once%' and b.id is null";
        assert_eq!(server.sql(whole).unwrap(), "0\n", "round {round}");
        let strays = "select count(*) from d.b left join d.a using (id) where a.id is null";
        assert_eq!(server.sql(strays).unwrap(), "0\n", "round {round}");
        // Whoever was not executed before is now, and nobody twice: the key forbids it, and the log would tell.
        std::thread::sleep(Duration::from_millis(1_500));
        let done = format!("select count(*) from d.a where what = 'once{round}'");
        let done = server.sql(&done).unwrap();
        assert!(matches!(&*done, "0\n" | "1\n"), "round {round}: {done}");
        let waits = "select count(*) from information_schema.events where event_name like 'once%' and status = 'ENABLED'";
        assert_eq!(server.sql(waits).unwrap(), "0\n", "round {round}");
        if done == "1\n" {
            executed.insert(round);
        }
        assert!(!server.log().contains("Duplicate entry"), "round {round}: {}", server.log());
        for table in ["a", "b"] {
            assert!(server.sql(&format!("check table d.{table}")).unwrap().contains("OK"), "round {round}");
        }
    }
    assert!(!executed.is_empty(), "none of those that are executed once was");
    server.stop().unwrap();
    let (code, out, _) = vaquita(&[&"check", &scratch.0.join("data")]);
    assert_eq!(code, 0, "{out}");
}
