//! What clients do that they should not, and what MySQL answers.

use crate::load::run;
use crate::{Failure, death, flood, items, sure};
use std::io::{ErrorKind, Write};
use std::net::UdpSocket;
use std::time::{Duration, Instant};
use vaquita_base::Rng;
use vaquita_clients::wire::{Answer, Wire};

/// A server with [`crate::OPTIONS`] that [`prepare`] was run on.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its port.
    pub port: u16,
    /// Its port of memcached's protocols.
    pub memcached: u16,
    /// For what is random.
    pub seed: u64,
}

/// Something that clients do.
#[derive(Debug, Clone, Copy)]
pub struct Abuse {
    /// In words.
    pub name: &'static str,
    /// Does it once and checks the answers.
    pub run: fn(&Target) -> Result<(), Failure>,
    /// It needs the server for itself: it takes all connections, or is shut out for a while.
    pub alone: bool,
}

const fn abuse(name: &'static str, run: fn(&Target) -> Result<(), Failure>) -> Abuse {
    Abuse { name, run, alone: false }
}

/// All of them.
pub const ABUSES: &[Abuse] = &[
    Abuse { alone: true, ..abuse("more connections than may be", flood::connections) },
    abuse("connections opened and dropped", flood::dropped),
    abuse("logins that take too long", flood::slow_logins),
    abuse("halves of packets", halves),
    abuse("passwords that are wrong", passwords),
    Abuse { alone: true, ..abuse("a host that never logs in", blocked_host) },
    abuse("packets that are too long", oversized),
    abuse("random bytes after the login", random_bytes),
    abuse("clients that go away in the middle of a result", gone_in_a_result),
    abuse("clients that do not read", unread),
    abuse("clients that go away in the middle of a file", gone_in_a_file),
    abuse("statements that are killed", death::queries),
    abuse("changes that are killed", death::changes),
    abuse("connections that are killed", death::connections),
    abuse("memcached: connections opened and dropped", items::dropped),
    abuse("memcached: lines that are wrong", items::wrong_lines),
    abuse("memcached: random bytes", items::random_bytes),
    abuse("memcached: clients that do not read", items::unread),
];

/// Rows of the table that statements work long on.
pub(crate) const ROWS: u64 = 20_000;

/// Makes the tables and accounts that abuses use.
///
/// # Errors
/// Of a statement.
pub fn prepare(port: u16) -> Result<(), Failure> {
    let mut root = Wire::connect(port, "root")?;
    run(&mut root, "create database siege")?;
    run(&mut root, "create user clerk@'%' identified by ''")?;
    run(&mut root, "create user locked@'%' identified by 'a password'")?;
    run(&mut root, "grant all on siege.* to clerk@'%', locked@'%'")?;
    run(&mut root, "create table siege.big (id int primary key, k int, pad varchar(200) not null, key (k))")?;
    for first in (0..ROWS).step_by(1000) {
        let row = |id| format!("({id}, {}, '{}')", id * 7919 % ROWS, "pad ".repeat((id % 50) as usize));
        let rows: Vec<String> = (first..first + 1000).map(row).collect();
        run(&mut root, &format!("insert into siege.big values {}", rows.join(",")))?;
    }
    run(&mut root, "create table siege.other like siege.big")?;
    run(&mut root, "create table siege.loaded (id int primary key, v varchar(100))")
}

/// As a user without SUPER.
pub(crate) fn clerk(target: &Target) -> Result<Wire, Failure> {
    Ok(Wire::connect(target.port, "clerk")?)
}

/// The number of rows of a table.
pub(crate) fn rows_of(target: &Target, table: &str) -> Result<u64, Failure> {
    let answer = clerk(target)?.query(&format!("select count(*) from siege.{table}"))?;
    let count = answer.value().and_then(|n| n.parse().ok());
    count.ok_or_else(|| Failure(format!("rows of {table}: {answer:?}")))
}

/// The answer is this error.
pub(crate) fn expect(answer: &Answer, code: u16, what: &str) -> Result<(), Failure> {
    sure(answer.code() == code, || {
        let mut shown = format!("{answer:?}");
        shown.truncate(300);
        format!("{what}: wanted error {code}, got {shown}")
    })
}

/// Waits until something is so, two minutes at most.
pub(crate) fn until(what: &str, mut so: impl FnMut() -> Result<bool, Failure>) -> Result<(), Failure> {
    let end = Instant::now() + Duration::from_secs(120);
    while !so()? {
        sure(Instant::now() < end, || format!("{what}: not within two minutes"))?;
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

fn halves(target: &Target) -> Result<(), Failure> {
    let mut wires = Vec::new();
    for bytes in [&b"\x05"[..], b"\x20\0\0\0\x03select", b"\xff\xff\x03\0\x03", b"\x01\0\0"] {
        let mut wire = clerk(target)?;
        wire.stream.write_all(bytes)?;
        wires.push(wire);
    }
    // The rest of one comes in time; on a machine that is busy otherwise it may not.
    let mut late = clerk(target)?;
    let begun = Instant::now();
    late.stream.write_all(b"\x09\0\0\0\x03sel")?;
    std::thread::sleep(Duration::from_millis(300));
    let answer = late.stream.write_all(b"ect 1").and_then(|()| late.answer());
    if begun.elapsed() < Duration::from_millis(1500) {
        sure(answer?.value().as_deref() == Some("1"), || "a packet in two halves".into())?;
    }
    for (i, wire) in wires.iter_mut().enumerate() {
        sure(wire.is_closed(), || format!("half {i}: the server waits on"))?;
    }
    Ok(())
}

fn passwords(target: &Target) -> Result<(), Failure> {
    let mut rng = Rng::new(target.seed);
    for round in 0..20 {
        let mut proof = [0; 20];
        rng.fill(&mut proof);
        let (user, proof) = match round % 4 {
            0 => ("locked", &proof[..]),
            1 => ("locked", &[][..]),
            2 => ("nobody", &proof[..]),
            _ => ("root", &proof[..]),
        };
        let mut wire = Wire::dial("127.0.0.1", target.port)?;
        expect(&wire.log_in(user, proof)?, 1045, "a wrong password")?;
        sure(wire.is_closed(), || "a wrong password: the connection stays".into())?;
    }
    // The same for a change of user.
    let mut wire = clerk(target)?;
    wire.command(b"\x11locked\0\x14aaaaaaaaaaaaaaaaaaaa\0\x2d\0mysql_native_password\0")?;
    let mut answer = wire.packet()?;
    if answer.first() == Some(&0xFE) {
        wire.send(&[1; 20])?;
        answer = wire.packet()?;
    }
    sure(answer.get(..3) == Some(&[0xFF, 0x15, 0x04]), || format!("a change of user: {answer:?}"))?;
    sure(wire.is_closed(), || "a failed change of user: the connection stays".into())
}

/// An address of this machine that is not loopback: hosts there are never shut out.
fn own_address() -> Option<String> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    // Nothing is sent: the address is one of documentation.
    socket.connect("192.0.2.1:9").ok()?;
    let ip = socket.local_addr().ok()?.ip();
    (!ip.is_loopback() && !ip.is_unspecified()).then(|| ip.to_string())
}

/// 1129 after `max_connect_errors` logins that broke off, until FLUSH HOSTS. Needs an address besides loopback.
fn blocked_host(target: &Target) -> Result<(), Failure> {
    let Some(host) = own_address() else {
        eprintln!("this machine has only loopback: blocked hosts are not tried");
        return Ok(());
    };
    let mut root = Wire::connect(target.port, "root")?;
    run(&mut root, "flush hosts")?;
    for _ in 0..5 {
        let mut wire = Wire::dial(&host, target.port)?;
        sure(wire.greeting()?.is_none(), || "blocked too early".into())?;
        drop(wire);
    }
    until("a host is blocked", || {
        let mut wire = Wire::dial(&host, target.port)?;
        match wire.greeting()? {
            Some(Answer::Error(1129, text)) => {
                sure(text.contains("is blocked because of many connection errors"), || text.clone())?;
                Ok(true)
            }
            None => Ok(false),
            other => Err(Failure(format!("a blocked host gets {other:?}"))),
        }
    })?;
    clerk(target)?;
    run(&mut root, "flush hosts")?;
    let mut wire = Wire::dial(&host, target.port)?;
    sure(matches!(wire.log_in("clerk", b"")?, Answer::Ok(_)), || "blocked after FLUSH HOSTS".into())
}

/// `max_allowed_packet` is a megabyte here.
fn oversized(target: &Target) -> Result<(), Failure> {
    const TEXT: &str = "Got a packet bigger than 'max_allowed_packet' bytes";
    let mut wire = clerk(target)?;
    let fits = format!("select length('{}')", "x".repeat((1 << 20) - 100));
    sure(wire.query(&fits)?.value().as_deref() == Some("1048476"), || "just fits".into())?;
    let sent = wire.say(&format!("select '{}'", "x".repeat(2 << 20)));
    // The server may hang up while we still talk.
    match wire.answer() {
        Ok(answer) => {
            sure(answer == Answer::Error(1153, TEXT.into()), || {
                format!("2 MB: {:.200}", format!("{answer:?}"))
            })?;
        }
        Err(e) => sure(sent.is_err() || e.kind() == ErrorKind::ConnectionReset, || format!("2 MB: {e}"))?,
    }
    let mut wire = clerk(target)?;
    wire.stream.write_all(b"\xff\xff\xff\0\x03select")?;
    expect(&wire.answer()?, 1153, "a header of 16 MB")?;
    sure(wire.is_closed(), || "a header of 16 MB: the connection stays".into())?;
    // Pieces of a parameter.
    let mut wire = clerk(target)?;
    let id = wire.prepare("select length(?)")?;
    let mut piece = vec![0x18];
    piece.extend_from_slice(&id.to_le_bytes());
    piece.extend_from_slice(&[0, 0]);
    piece.resize(600 << 10, b'x');
    for _ in 0..3 {
        wire.command(&piece)?;
    }
    let mut execution = vec![0x17];
    execution.extend_from_slice(&id.to_le_bytes());
    execution.extend_from_slice(&[0, 1, 0, 0, 0, 0, 1, 253, 0]);
    wire.command(&execution)?;
    let answer = wire.packet()?;
    sure(answer.first() == Some(&0xFF), || format!("1.8 MB in pieces: {:?}", answer.get(..20)))?;
    // A value that gets too long is NULL with a warning.
    let answer = wire.query("select repeat('x', 2000000) is null, @@warning_count")?;
    sure(answer.value().as_deref() == Some("1"), || format!("{answer:?}"))
}

fn random_bytes(target: &Target) -> Result<(), Failure> {
    let mut rng = Rng::new(target.seed);
    for round in 0..60 {
        let mut wire = clerk(target)?;
        for _ in 0..rng.index(12) {
            let mut payload = vec![0; rng.index(200)];
            rng.fill(&mut payload);
            if round % 2 == 0 {
                // A command as far as its number goes; SHUTDOWN and KILL are refused, they would still be others' end.
                if let Some(first) = payload.first_mut() {
                    *first = rng.index(34) as u8;
                    if matches!(*first, 1 | 8 | 12 | 17) {
                        *first = 3;
                    }
                }
                if wire.command(&payload).is_err() {
                    break;
                }
            } else if wire.stream.write_all(&payload).is_err() {
                break;
            }
        }
        // The server may have hung up.
        if wire.finish().is_ok() {
            sure(wire.is_closed(), || format!("round {round}: the connection stays"))?;
        }
    }
    clerk(target).map(drop)
}

fn gone_in_a_result(target: &Target) -> Result<(), Failure> {
    let mut rng = Rng::new(target.seed);
    for _ in 0..10 {
        let mut wire = clerk(target)?;
        wire.say(match rng.index(3) {
            0 => "select * from siege.big a join siege.big b on b.k = a.id order by a.pad",
            1 => "select a.id, b.pad from siege.big a, siege.big b where a.id < 100",
            _ => "select k, count(*), max(pad) from siege.big group by k",
        })?;
        for _ in 0..rng.index(50) {
            wire.packet()?;
        }
    }
    Ok(())
}

/// A client that reads nothing is left after `net_write_timeout`.
fn unread(target: &Target) -> Result<(), Failure> {
    let mut wire = clerk(target)?;
    let id = wire.query("select connection_id()")?.value().unwrap_or_default();
    wire.say("select a.id, b.pad from siege.big a, siege.big b where b.id < 1000")?;
    let list = format!("select count(*) from information_schema.processlist where id = {id}");
    let mut root = Wire::connect(target.port, "root")?;
    until("a client that does not read is left", || Ok(root.query(&list)?.value().as_deref() == Some("0")))
}

fn gone_in_a_file(target: &Target) -> Result<(), Failure> {
    let load = |wire: &mut Wire| -> Result<(), Failure> {
        match wire.query("load data local infile 'made up' into table siege.loaded")? {
            Answer::File(name) => sure(name == "made up", || format!("the file {name}")),
            other => Err(Failure(format!("LOAD DATA: {other:?}"))),
        }
    };
    let rows = |first: u64| -> String { (first..first + 500).map(|n| format!("{n}\tvalue {n}\n")).collect() };
    for pieces in 0..4 {
        let mut wire = clerk(target)?;
        load(&mut wire)?;
        for piece in 0..pieces {
            wire.send(rows(piece * 500).as_bytes())?;
        }
        // Half a packet, and gone.
        wire.stream.write_all(b"\xff\0\0")?;
    }
    let mut slow = clerk(target)?;
    load(&mut slow)?;
    slow.send(rows(0).as_bytes())?;
    sure(slow.is_closed(), || "a file that does not come: the server waits on".into())?;
    until("what came of the files is gone", || Ok(rows_of(target, "loaded")? == 0))?;
    let mut wire = clerk(target)?;
    load(&mut wire)?;
    wire.send(rows(0).as_bytes())?;
    wire.send(b"")?;
    sure(wire.answer()? == Answer::Ok(500), || "a whole file".into())?;
    run(&mut wire, "delete from siege.loaded")
}
