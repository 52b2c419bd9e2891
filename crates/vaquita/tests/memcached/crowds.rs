//! Many clients, clients that do not read, clients that do not say anything.

use crate::memcached::{Bed, Talk};
use std::io::{Read, Write};
use std::net::TcpStream;
use vaquita_peers::until;

fn descriptors(bed: &Bed) -> usize {
    let pid = bed.server.pid().expect("it runs");
    std::fs::read_dir(format!("/proc/{pid}/fd")).expect("its descriptors").count()
}

/// Resident memory, KiB.
fn memory(bed: &Bed) -> u64 {
    let pid = bed.server.pid().expect("it runs");
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("its status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    line.trim().split(' ').next().and_then(|n| n.parse().ok()).expect("a number")
}

#[test]
fn ten_thousand_come_and_go_and_leave_nothing() {
    let bed = Bed::new("crowd", &[]);
    let mut before = (0, 0);
    for round in 0..100 {
        let mut talks: Vec<Talk> = (0..100).map(|_| bed.connect()).collect();
        for (i, talk) in talks.iter_mut().enumerate() {
            match i % 4 {
                // Says nothing.
                0 => {}
                // Half a command, half a value, half a frame.
                1 => talk.say("get A"),
                2 => talk.say(if i % 8 == 2 { &b"set a 0 0 100000\r\nxx"[..] } else { b"\x80\x01\0\x02" }),
                _ => assert_eq!(talk.ask("get AA\r\n", "END").lines().count(), 3),
            }
        }
        if round == 9 {
            before = (descriptors(&bed), memory(&bed));
        }
    }
    until("the others have left", || bed.stat("curr_connections") == 1);
    assert!(bed.stat("total_connections") > 10_000);
    assert!(descriptors(&bed) < before.0, "descriptors");
    // Nine thousand connections later: less than 200 bytes of each are left.
    assert!(memory(&bed) < before.1 + 2_000, "{} KiB, before {} KiB", memory(&bed), before.1);
}

#[test]
fn too_many_are_told_so() {
    let bed = Bed::new("many", &["--memcached-max-connections=3"]);
    let mut inside: Vec<Talk> = (0..3).map(|_| bed.connect()).collect();
    inside.iter_mut().for_each(|talk| assert_eq!(talk.ask("mn\r\n", "MN"), "MN\r\n"));
    let mut refused = String::new();
    TcpStream::connect(bed.addr()).expect("a connection").read_to_string(&mut refused).expect("an answer");
    assert_eq!(refused, "ERROR Too many open connections\r\n");
    inside.pop();
    // The place is free as soon as the server has seen the end.
    loop {
        let mut talk = bed.connect();
        if talk.0.write_all(b"mn\r\n").is_ok() && talk.hear("").starts_with("MN") {
            break;
        }
    }
    assert_eq!(inside[0].ask("mn\r\n", "MN"), "MN\r\n");
}

#[test]
fn silent_clients_are_sent_away() {
    let bed = Bed::new("silent", &["--memcached-idle-timeout=1"]);
    let mut talk = bed.connect();
    assert_eq!(talk.ask("mn\r\n", "MN"), "MN\r\n");
    assert_eq!(talk.hear("nothing"), "");
    assert_eq!(bed.stat("idle_kicks"), 1);
}

/// A client asks for three hundred megabytes and does not read: the server stops at its limit of output, others are served,
/// and what was asked for comes when it is read.
#[test]
fn who_does_not_read_is_waited_for() {
    const ASKED: usize = 300;
    let bed = Bed::new("unread", &["--memcached-threads=1"]);
    bed.sql("alter table test.demo_test modify c2 mediumtext");
    let long = "x".repeat(1_000_000);
    assert_eq!(bed.ask(&format!("set long 0 0 1000000\r\n{long}\r\n"), ""), "STORED\r\n");
    let before = memory(&bed);
    let mut slow = bed.connect();
    slow.say("get long\r\n".repeat(ASKED));
    let mut other = bed.connect();
    for _ in 0..100 {
        assert_eq!(other.ask("get AA\r\n", "END").lines().count(), 3);
    }
    assert!(memory(&bed) < before + 30_000, "{} KiB, before {before} KiB", memory(&bed));
    let (mut got, mut piece) = (0, vec![0; 1 << 20]);
    let wanted = ASKED * ("VALUE long 0 1000000\r\n\r\nEND\r\n".len() + long.len());
    while got < wanted {
        let n = slow.0.read(&mut piece).expect("more");
        assert!(n > 0, "it ended after {got} of {wanted} bytes");
        got += n;
    }
    assert_eq!((got, slow.ask("mn\r\n", "MN")), (wanted, "MN\r\n".into()));
}

#[test]
fn pipelined_commands_are_answered_in_order() {
    let bed = Bed::new("pipelined", &[]);
    let mut talk = bed.connect();
    let (mut said, mut wanted) = (String::new(), String::new());
    for i in 0..2000 {
        let value = format!("value {i}");
        said += &format!("set k{} 0 0 {}\r\n{value}\r\nget k{}\r\n", i % 50, value.len(), i % 50);
        wanted += &format!("STORED\r\nVALUE k{} 0 {}\r\n{value}\r\nEND\r\n", i % 50, value.len());
    }
    talk.say(&said);
    talk.say("mn\r\n");
    wanted += "MN\r\n";
    assert_eq!(talk.hear("MN"), wanted);
    // Half closed: the answers still come.
    let mut talk = bed.connect();
    talk.say("set half 0 0 1\r\nx\r\nget half\r\n");
    talk.0.shutdown(std::net::Shutdown::Write).expect("half of it");
    assert_eq!(talk.hear("nothing"), "STORED\r\nVALUE half 0 1\r\nx\r\nEND\r\n");
}

#[test]
fn a_socket_file() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixStream;
    let bed = Bed::new("socket", &["--memcached-socket=mc.sock", "--require-secure-transport"]);
    let path = bed.dir.join("data/mc.sock");
    assert!(bed.server.ready().ends_with(&format!("memcached_socket={}", path.display())));
    let mode = std::fs::metadata(&path).expect("the socket").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let mut stream = UnixStream::connect(&path).expect("a connection");
    stream.write_all(b"get AA\r\nquit\r\n").expect("a send");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert_eq!(answer, "VALUE AA 8 12\r\nHELLO, HELLO\r\nEND\r\n");
    // TCP in clear is closed.
    assert_eq!(bed.ask("get AA\r\n", "nothing"), "CLIENT_ERROR TLS is required\r\n");
}

/// Changes of several keys in one piece: one transaction, in the counters too.
#[test]
fn changes_in_one_piece_are_one_transaction() {
    let bed = Bed::new("piece", &[]);
    let mut talk = bed.connect();
    let joined = bed.stat("innodb_joined");
    let piece: String = (0..16).map(|i| format!("set k{i} 0 0 1\r\nx\r\n")).collect();
    talk.say(&piece);
    talk.say("mn\r\n");
    assert_eq!(talk.hear("MN"), "STORED\r\n".repeat(16) + "MN\r\n");
    // The first is alone; a piece may come in two.
    let joined = bed.stat("innodb_joined") - joined;
    assert!((1..=2).contains(&joined), "{joined}");
    assert_eq!(bed.sql("select count(*) from test.demo_test where c2 = 'x'"), "16\n");
}

/// What the groups of `stats` tell.
#[test]
fn statistics() {
    let bed = Bed::new("stats", &["--memcached-threads=2"]);
    let mut talk = bed.connect();
    let _other = bed.connect();
    let piece = "get AA\r\nget none\r\nset a 0 0 1\r\n5\r\nincr a 1\r\ndelete none\r\ntouch a 0\r\nmn\r\n";
    assert!(talk.ask(piece, "MN").ends_with("MN\r\n"));
    for (name, value) in [
        ("cmd_get", 2),
        ("get_hits", 1),
        ("get_misses", 1),
        ("cmd_set", 1),
        ("incr_hits", 1),
        ("delete_misses", 1),
        ("touch_hits", 1),
        ("threads", 2),
    ] {
        assert_eq!(bed.stat(name), value, "{name}");
    }
    let conns = talk.ask("stats conns\r\n", "END");
    assert!(conns.matches(":addr tcp:127.0.0.1:").count() >= 2, "{conns}");
    assert!(conns.contains(":secs_since_last_cmd "), "{conns}");
    let settings = talk.ask("stats settings\r\n", "END");
    for line in ["item_size_max 1048576", "auth_enabled_sasl no", "num_threads 2", "ssl_enabled yes"] {
        assert!(settings.contains(&format!("STAT {line}\r\n")), "{line}: {settings}");
    }
    // Rows have neither slabs nor classes of sizes.
    assert_eq!(talk.ask("stats items\r\n", "END"), "END\r\n");
    assert_eq!(talk.ask("stats slabs\r\n", "END"), "END\r\n");
    assert_eq!(talk.ask("stats sizes\r\n", "END"), "STAT sizes_status disabled\r\nEND\r\n");
    assert_eq!(talk.ask("verbosity 1\r\n", ""), "OK\r\n");
    assert_eq!(talk.ask("stats reset\r\n", ""), "RESET\r\n");
    assert_eq!((bed.stat("cmd_get"), bed.stat("cmd_set")), (0, 0));
}
