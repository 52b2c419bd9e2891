//! The load: one thread, one epoll set, many connections, each with a window of requests under way.

use super::speech::{Operation, Protocol};
use crate::Failure;
use rustix::event::epoll;
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use vaquita_base::Rng;

/// What each connection does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub(super) operation: Operation,
    /// Requests under way on each connection.
    pub(super) depth: usize,
    /// Keys are drawn from so many, evenly.
    pub(super) rows: u64,
    /// Instead: every key once, in order, and then the end.
    pub(super) fill: bool,
}

/// What it came to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Figures {
    /// Keys got or set.
    pub(super) operations: u64,
    /// For so long.
    pub(super) elapsed: Duration,
    /// 95 % of the requests were answered within this.
    pub(super) p95: Duration,
}

struct Talker {
    stream: TcpStream,
    protocol: Protocol,
    input: Vec<u8>,
    out: Vec<u8>,
    /// When the requests under way were sent.
    sent: VecDeque<Instant>,
}

/// Runs a load on connected sockets for a time.
///
/// # Errors
/// A socket fails, an answer is not that of a hit.
pub(super) fn run(
    sockets: Vec<(TcpStream, Protocol)>,
    load: Load,
    time: Duration,
) -> Result<Figures, Failure> {
    let set = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let mut talkers = Vec::new();
    for (i, (stream, protocol)) in sockets.into_iter().enumerate() {
        stream.set_nonblocking(true)?;
        epoll::add(&set, &stream, epoll::EventData::new_u64(i as u64), epoll::EventFlags::IN)?;
        talkers.push(Talker { stream, protocol, input: Vec::new(), out: Vec::new(), sent: VecDeque::new() });
    }
    let mut keys = Keys { rng: Rng::new(0xC0FFEE), next: 0, load, drawn: Vec::new() };
    let begun = Instant::now();
    let mut histogram = Histogram::default();
    for talker in &mut talkers {
        talker.refill(&mut keys, begun)?;
    }
    let mut events = Vec::with_capacity(256);
    let keys_each = if let Operation::Get(keys) = load.operation { u64::from(keys) } else { 1 };
    let mut operations = 0;
    loop {
        events.clear();
        let wait = rustix::event::Timespec { tv_sec: 10, tv_nsec: 0 };
        match epoll::wait(&set, rustix::buffer::spare_capacity(&mut events), Some(&wait)) {
            Ok(0) => return Err("no answer for ten seconds".into()),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        for event in &events {
            let talker = &mut talkers[event.data.u64() as usize];
            talker.receive()?;
            let now = Instant::now();
            operations += keys_each * talker.count(load.operation, now, &mut histogram)?;
            if now.duration_since(begun) < time || load.fill {
                talker.refill(&mut keys, now)?;
            }
        }
        let idle = talkers.iter().all(|talker| talker.sent.is_empty());
        if idle || (!load.fill && begun.elapsed() >= time) {
            return Ok(Figures { operations, elapsed: begun.elapsed(), p95: histogram.p95() });
        }
    }
}

struct Keys {
    rng: Rng,
    next: u64,
    load: Load,
    /// Of the present request: SQL gives a row that is asked for twice once, so no key comes twice.
    drawn: Vec<u64>,
}

impl Keys {
    fn are_left(&self) -> bool {
        !self.load.fill || self.next < self.load.rows
    }

    fn draw(&mut self) -> u64 {
        if !self.load.fill {
            loop {
                let key = self.rng.below(self.load.rows);
                if !self.drawn.contains(&key) || self.drawn.len() as u64 >= self.load.rows {
                    self.drawn.push(key);
                    return key;
                }
            }
        }
        self.next += 1;
        self.next - 1
    }
}

impl Talker {
    /// Fills the window and sends what was added, all in one write.
    fn refill(&mut self, keys: &mut Keys, now: Instant) -> Result<(), Failure> {
        while self.sent.len() < keys.load.depth && keys.are_left() {
            let operation = keys.load.operation;
            keys.drawn.clear();
            self.protocol.push(operation, || keys.draw(), &mut self.out);
            self.sent.push_back(now);
        }
        // The window is far smaller than what a socket takes in: it never is full for long.
        let mut from = 0;
        while from < self.out.len() {
            match self.stream.write(&self.out[from..]) {
                Ok(n) => from += n,
                Err(e) if e.kind() == ErrorKind::WouldBlock => std::thread::yield_now(),
                Err(e) => return Err(e.into()),
            }
        }
        self.out.clear();
        Ok(())
    }

    fn receive(&mut self) -> Result<(), Failure> {
        let mut piece = [0; 64 << 10];
        match self.stream.read(&mut piece) {
            Ok(0) => Err("the server closed a connection".into()),
            Ok(n) => {
                self.input.extend_from_slice(&piece[..n]);
                Ok(())
            }
            Err(e) if e.kind() == ErrorKind::WouldBlock => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    /// Takes the whole answers; how many.
    fn count(
        &mut self,
        operation: Operation,
        now: Instant,
        histogram: &mut Histogram,
    ) -> Result<u64, Failure> {
        let (mut at, mut answers) = (0, 0);
        while let Some(len) = self.protocol.answer(operation, &self.input[at..])? {
            at += len;
            answers += 1;
            let sent = self.sent.pop_front().ok_or("an answer that nobody asked for")?;
            histogram.add(now - sent);
            if at == self.input.len() {
                break;
            }
        }
        self.input.drain(..at);
        Ok(answers)
    }
}

/// Times by eighths of powers of two of a nanosecond.
struct Histogram {
    counts: [u64; 512],
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { counts: [0; 512] }
    }
}

impl Histogram {
    fn add(&mut self, time: Duration) {
        let nanos = time.as_nanos().clamp(8, u128::from(u64::MAX)) as u64;
        let power = nanos.ilog2();
        let eighth = (nanos >> (power - 3)) & 7;
        self.counts[(power * 8) as usize + eighth as usize] += 1;
    }

    /// The upper end of the step that holds the 95th percentile.
    fn p95(&self) -> Duration {
        let wanted = (self.counts.iter().sum::<u64>() * 95).div_ceil(100);
        let mut seen = 0;
        for (i, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted && seen > 0 {
                let (power, eighth) = (i as u32 / 8, i as u64 % 8);
                return Duration::from_nanos((8 + eighth + 1) << (power - 3));
            }
        }
        Duration::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_within_an_eighth() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.p95(), Duration::ZERO);
        for micros in 1..=100 {
            histogram.add(Duration::from_micros(micros));
        }
        let p95 = histogram.p95().as_nanos() as f64;
        assert!((95_000.0..95_000.0 * 1.13).contains(&p95), "{p95}");
    }
}
