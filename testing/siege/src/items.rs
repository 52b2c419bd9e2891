//! The same over memcached's protocols: clients that break rules, and sessions that count.

use crate::abuse::{Target, until};
use crate::load::run;
use crate::{Failure, sure};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::ops::AddAssign;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use vaquita_base::{Rng, codec};
use vaquita_clients::wire::Wire;

/// Numbers that sessions add to. A session mostly waits for another one's lock.
const TOTALS: u64 = 4;
/// Longest item, bytes: memcached's default.
const ITEM_MAX: usize = 1 << 20;

/// A client.
struct Talk(BufReader<TcpStream>);

impl Talk {
    fn to(port: u16) -> io::Result<Talk> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        stream.set_write_timeout(Some(Duration::from_secs(60)))?;
        stream.set_nodelay(true)?;
        Ok(Talk(BufReader::new(stream)))
    }

    fn say(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.get_mut().write_all(bytes)
    }

    /// The next line, without its end.
    fn line(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        self.0.read_until(b'\n', &mut line)?;
        match line.strip_suffix(b"\r\n") {
            Some(line) => Ok(String::from_utf8_lossy(line).into_owned()),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn ask(&mut self, text: &str) -> io::Result<String> {
        self.say(text.as_bytes())?;
        self.line()
    }

    /// Says no more; whether the server then ends the connection, whatever it says before that.
    fn let_go(mut self) -> bool {
        let _ = self.0.get_mut().shutdown(Shutdown::Write);
        let end = io::copy(&mut self.0, &mut io::sink());
        end.map_or_else(|e| e.kind() == io::ErrorKind::ConnectionReset, |_| true)
    }
}

/// Opened, left in the middle of something, and dropped at once.
pub(crate) fn dropped(target: &Target) -> Result<(), Failure> {
    let begun: [&[u8]; 6] =
        [b"", b"get tot", b"set half 0 0 100000\r\nxx", b"\x80\x01\0\x04", b"mg", b"get total.0 total.1\r\n"];
    for i in 0..300 {
        let mut talk = Talk::to(target.memcached)?;
        talk.say(begun[i % begun.len()])?;
    }
    until("connections of memcached's are served", || Ok(Talk::to(target.memcached)?.ask("mn\r\n")? == "MN"))
}

/// Lines that are wrong: what memcached 1.6.18 answers, and the connection goes on.
pub(crate) fn wrong_lines(target: &Target) -> Result<(), Failure> {
    let long = "k".repeat(251);
    let too_much = format!("set big 0 0 {}\r\n{}\r\n", ITEM_MAX + 1, "x".repeat(ITEM_MAX + 1));
    let mut talk = Talk::to(target.memcached)?;
    for (line, wanted) in [
        ("nonsense\r\n", "ERROR"),
        ("get\r\n", "ERROR"),
        (&format!("get {long}\r\n"), "CLIENT_ERROR bad command line format"),
        (&format!("delete {long}\r\n"), "CLIENT_ERROR bad command line format"),
        ("set k 0 0 -1\r\n", "CLIENT_ERROR bad command line format"),
        ("incr k x\r\n", "CLIENT_ERROR invalid numeric delta argument"),
        ("touch k x\r\n", "CLIENT_ERROR invalid exptime argument"),
        (&too_much, "SERVER_ERROR object too large for cache"),
        ("mn\r\n", "MN"),
    ] {
        let answer = talk.ask(line)?;
        sure(answer == wanted, || format!("{line:.40}: wanted {wanted}, got {answer}"))?;
    }
    sure(talk.let_go(), || "the connection stays".into())
}

/// Frames whose lengths lie, and bytes of no protocol. Nothing of them may change an item: their keys would need luck.
pub(crate) fn random_bytes(target: &Target) -> Result<(), Failure> {
    let mut rng = Rng::new(target.seed ^ 0x80);
    for round in 0..60 {
        let mut talk = Talk::to(target.memcached)?;
        for _ in 0..rng.index(12) {
            let mut bytes = vec![0; 24 + rng.index(200)];
            rng.fill(&mut bytes);
            // A request of the binary protocol, but no flush; of a body that may come.
            if round % 2 == 0 {
                bytes[0] = 0x80;
                bytes[1] = [0, 1, 4, 5, 0x0A, 0x0C, 0x10, 0x1C, 0x20, 0x21, 0x60][rng.index(11)];
                codec::put_u32(&mut bytes, 8, rng.below(4000) as u32);
            }
            if talk.say(&bytes).is_err() {
                break;
            }
        }
        sure(talk.let_go(), || format!("round {round}: the connection stays"))?;
    }
    Ok(())
}

/// Many megabytes are asked for and a few bytes of them read.
pub(crate) fn unread(target: &Target) -> Result<(), Failure> {
    let mut talk = Talk::to(target.memcached)?;
    let value = "v".repeat(1000);
    let stored = talk.ask(&format!("set long 0 0 {}\r\n{value}\r\n", value.len()))?;
    sure(stored == "STORED", || format!("a value: {stored}"))?;
    for asked in [1_000, 20_000] {
        let mut talk = Talk::to(target.memcached)?;
        talk.0.get_ref().set_write_timeout(Some(Duration::from_secs(1)))?;
        // The server stops to read, too: not all of it can be sent.
        let _ = talk.say("get long\r\n".repeat(asked).as_bytes());
        let mut first = [0; 20];
        talk.0.read_exact(&mut first)?;
        sure(first.starts_with(b"VALUE long 0 1000\r\n"), || format!("{first:?}"))?;
    }
    Ok(())
}

/// What sessions have added.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counted {
    /// Told to be done.
    pub done: u64,
    /// Asked for when the server went away.
    pub unsure: u64,
}

impl AddAssign for Counted {
    fn add_assign(&mut self, other: Counted) {
        self.done += other.done;
        self.unsure += other.unsure;
    }
}

/// Makes the numbers.
///
/// # Errors
/// Of the server.
pub fn prepare(memcached: u16) -> Result<(), Failure> {
    let mut talk = Talk::to(memcached)?;
    for i in 0..TOTALS {
        let answer = talk.ask(&format!("set total.{i} 0 0 1\r\n0\r\n"))?;
        sure(answer == "STORED", || format!("a number: {answer}"))?;
    }
    Ok(())
}

/// Adds to the numbers until it is told to stop or the server goes away: by incr and by cas.
///
/// # Errors
/// An answer that must not be.
pub fn count(memcached: u16, seed: u64, stop: &AtomicBool) -> Result<Counted, Failure> {
    let mut counted = Counted::default();
    let mut rng = Rng::new(seed);
    let Ok(mut talk) = Talk::to(memcached) else { return Ok(counted) };
    while !stop.load(Ordering::Relaxed) {
        let key = format!("total.{}", rng.below(TOTALS));
        let answer = match rng.below(3) {
            0 => by_cas(&mut talk, &key),
            _ => talk.ask(&format!("incr {key} 1\r\n")),
        };
        match answer.as_deref() {
            Ok("EXISTS") => {}
            Ok("STORED") => counted.done += 1,
            Ok(number) if number.parse::<u64>().is_ok() => counted.done += 1,
            Ok(other) => return Err(Failure(format!("{key}: {other}"))),
            Err(_) => {
                counted.unsure += 1;
                break;
            }
        }
    }
    Ok(counted)
}

/// Reads a number and puts the next one in its place, unless somebody else did.
fn by_cas(talk: &mut Talk, key: &str) -> io::Result<String> {
    let head = talk.ask(&format!("gets {key}\r\n"))?;
    let words: Vec<&str> = head.split(' ').collect();
    let ["VALUE", _, _, _, cas] = words[..] else { return Ok(head) };
    let value = talk.line()?;
    let end = talk.line()?;
    let Ok(number) = value.trim_end().parse::<u64>() else { return Ok(format!("a number: {value}")) };
    if end != "END" {
        return Ok(end);
    }
    let next = (number + 1).to_string();
    talk.ask(&format!("cas {key} 0 0 {} {cas}\r\n{next}\r\n", next.len()))
}

/// The sum of the numbers is what it was and what was added; all that was done, nothing twice. The new sum.
///
/// # Errors
/// It is another one, the table is broken, or the server does not answer.
pub fn check(port: u16, before: u64, counted: Counted) -> Result<u64, Failure> {
    let mut root = Wire::connect(port, "root")?;
    let answer =
        root.query("select cast(sum(c2) as unsigned) from test.demo_test where c1 like 'total.%'")?;
    let sum: Option<u64> = answer.value().and_then(|n| n.parse().ok());
    let (least, most) = (before + counted.done, before + counted.done + counted.unsure);
    let sum = sum.filter(|sum| (least..=most).contains(sum));
    let sum = sum.ok_or_else(|| Failure(format!("the numbers: {answer:?}, not {least} to {most}")))?;
    crate::load::check_tables(&mut root, &["test.demo_test"])?;
    run(&mut root, "delete from test.demo_test where c1 not like 'total.%'")?;
    Ok(sum)
}
