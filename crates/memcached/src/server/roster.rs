//! Who is connected: what `stats`, `stats settings` and `stats conns` tell of it.

use crate::service;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use vaquita_base::counter::ShardedCounter;

/// What does not change while a door is open.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) max_connections: usize,
    pub(super) idle_timeout_s: u32,
    pub(super) loops: usize,
    pub(super) tls: bool,
    pub(super) addr: Option<SocketAddr>,
    pub(super) socket: Option<PathBuf>,
}

/// A client's entry.
pub(super) struct Seat {
    pub(super) id: u32,
    pub(super) addr: Option<SocketAddr>,
    /// When it said something last, in seconds since 1970.
    pub(super) last_s: AtomicU32,
    interrupter: Mutex<Option<Box<dyn Fn() + Send + Sync>>>,
}

impl fmt::Debug for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seat").field("id", &self.id).field("addr", &self.addr).finish_non_exhaustive()
    }
}

impl Seat {
    /// Whether it came by the Unix socket.
    pub(super) fn is_local(&self) -> bool {
        self.addr.is_none()
    }

    /// How waits of the client's store are ended.
    pub(super) fn set_interrupter(&self, interrupter: Box<dyn Fn() + Send + Sync>) {
        *self.interrupter.lock() = Some(interrupter);
    }
}

/// All clients. Locked when one comes or goes, never for a command.
#[derive(Debug)]
pub(super) struct Roster {
    facts: Facts,
    seats: Mutex<BTreeMap<u32, Arc<Seat>>>,
    next_id: AtomicU32,
    total: AtomicU64,
    rejected: AtomicU64,
    pub(super) idle_kicks: AtomicU64,
    pub(super) bytes_read: ShardedCounter,
    pub(super) bytes_written: ShardedCounter,
}

impl Roster {
    pub(super) fn new(facts: Facts) -> Roster {
        Roster {
            facts,
            seats: Mutex::default(),
            next_id: AtomicU32::new(1),
            total: AtomicU64::new(0),
            rejected: AtomicU64::new(0),
            idle_kicks: AtomicU64::new(0),
            bytes_read: ShardedCounter::new(),
            bytes_written: ShardedCounter::new(),
        }
    }

    /// A place for a client; `None`: all are taken. Give it back with [`Roster::leave`].
    pub(super) fn enter(&self, addr: Option<SocketAddr>, now_s: u32) -> Option<Arc<Seat>> {
        let mut seats = self.seats.lock();
        if seats.len() >= self.facts.max_connections {
            self.rejected.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        self.total.fetch_add(1, Ordering::Relaxed);
        loop {
            let id = self.next_id.fetch_add(1, Ordering::Relaxed);
            if id == 0 || seats.contains_key(&id) {
                continue;
            }
            let seat =
                Arc::new(Seat { id, addr, last_s: AtomicU32::new(now_s), interrupter: Mutex::default() });
            seats.insert(id, seat.clone());
            return Some(seat);
        }
    }

    pub(super) fn leave(&self, seat: &Seat) {
        self.seats.lock().remove(&seat.id);
    }

    pub(super) fn connected(&self) -> usize {
        self.seats.lock().len()
    }

    /// Ends what a client waits for.
    pub(super) fn interrupt(&self, id: u32) {
        let seat = self.seats.lock().get(&id).cloned();
        if let Some(seat) = seat
            && let Some(interrupt) = &*seat.interrupter.lock()
        {
            interrupt();
        }
    }
}

impl service::Server for Roster {
    fn general(&self, line: &mut dyn FnMut(&str, &str)) {
        let connected = self.connected();
        let count = |n: &AtomicU64| n.load(Ordering::Relaxed).to_string();
        line("max_connections", &self.facts.max_connections.to_string());
        line("curr_connections", &connected.to_string());
        line("total_connections", &count(&self.total));
        line("rejected_connections", &count(&self.rejected));
        line("connection_structures", &connected.to_string());
        line("idle_kicks", &count(&self.idle_kicks));
        line("bytes_read", &self.bytes_read.get().to_string());
        line("bytes_written", &self.bytes_written.get().to_string());
        line("accepting_conns", "1");
        line("threads", &self.facts.loops.to_string());
    }

    fn settings(&self, line: &mut dyn FnMut(&str, &str)) {
        let facts = &self.facts;
        let socket = facts.socket.as_ref().map_or_else(|| "NULL".to_owned(), |p| p.display().to_string());
        line("maxconns", &facts.max_connections.to_string());
        line("tcpport", &facts.addr.map_or(0, |a| a.port()).to_string());
        line("udpport", "0");
        line("inter", &facts.addr.map_or_else(|| "NULL".to_owned(), |a| a.ip().to_string()));
        line("domain_socket", &socket);
        line("num_threads", &facts.loops.to_string());
        line("idle_timeout", &facts.idle_timeout_s.to_string());
        line("maxconns_fast", "yes");
        line("ssl_enabled", if facts.tls { "yes" } else { "no" });
    }

    fn connections(&self, line: &mut dyn FnMut(&str, &str)) {
        let now = crate::store::now_s();
        let seats: Vec<Arc<Seat>> = self.seats.lock().values().cloned().collect();
        for seat in seats {
            let addr = match seat.addr {
                Some(addr) if addr.is_ipv6() => format!("tcp6:{addr}"),
                Some(addr) => format!("tcp:{addr}"),
                None => "unix".to_owned(),
            };
            let silent = now.saturating_sub(seat.last_s.load(Ordering::Relaxed));
            line(&format!("{}:addr", seat.id), &addr);
            line(&format!("{}:secs_since_last_cmd", seat.id), &silent.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::Server as _;

    fn roster(max_connections: usize) -> Roster {
        Roster::new(Facts {
            max_connections,
            idle_timeout_s: 0,
            loops: 2,
            tls: false,
            addr: None,
            socket: None,
        })
    }

    #[test]
    fn who_leaves_makes_room() {
        let roster = roster(2);
        let first = roster.enter(None, 1).unwrap();
        let second = roster.enter(None, 1).unwrap();
        assert_ne!(first.id, second.id);
        assert!(roster.enter(None, 1).is_none());
        roster.leave(&first);
        assert!(roster.enter(None, 1).is_some());
        let mut lines = Vec::new();
        roster.general(&mut |name, value| lines.push(format!("{name} {value}")));
        for line in ["curr_connections 2", "total_connections 3", "rejected_connections 1", "threads 2"] {
            assert!(lines.iter().any(|l| l == line), "{line} in {lines:?}");
        }
    }

    #[test]
    fn waits_are_ended_by_number() {
        let roster = roster(10);
        let seat = roster.enter(None, 1).unwrap();
        let ended = Arc::new(AtomicU32::new(0));
        let told = ended.clone();
        roster.interrupt(seat.id);
        seat.set_interrupter(Box::new(move || {
            told.fetch_add(1, Ordering::Relaxed);
        }));
        roster.interrupt(seat.id);
        roster.leave(&seat);
        roster.interrupt(seat.id);
        assert_eq!(ended.load(Ordering::Relaxed), 1);
    }
}
