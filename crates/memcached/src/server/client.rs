//! A client: from its socket to its store and back.

use super::roster::Seat;
use super::{ClientStore, Keeper, Shared};
use crate::conn::{self, Conn};
use crate::store::{Peer, Store, now_s};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Poll, Waker};
use vaquita_engine::{BeforeWait, Durability};
use vaquita_net::{Buffer, Channel, Next, Received, hand_over, hand_over_if_busy};

/// Space to receive into.
const INPUT_LEN: usize = 64 << 10;

/// Memory a thread keeps for answers between clients.
const OUTPUT_KEPT: usize = 512 << 10;

/// So often a client is received from before others have their turn.
const RECEIVES: usize = 16;

/// The first byte of a client that begins with TLS: a record of its handshake. No memcached command begins so.
const TLS_HANDSHAKE: u8 = 0x16;

/// Working memory of a thread.
#[derive(Debug)]
pub(super) struct Scratch {
    input: Buffer,
    raw: Vec<u8>,
    out: Vec<u8>,
}

impl Default for Scratch {
    fn default() -> Self {
        Scratch { input: Buffer::over(vec![0; INPUT_LEN]), raw: Vec::new(), out: Vec::new() }
    }
}

impl vaquita_net::Scratch for Scratch {
    fn shrink(&mut self) {
        if self.input.capacity() > 4 * INPUT_LEN {
            self.input = Buffer::over(vec![0; INPUT_LEN]);
        }
        if self.out.capacity() > OUTPUT_KEPT {
            self.out = Vec::new();
        }
    }
}

/// A client.
pub(super) struct Client<K: Keeper> {
    shared: Arc<Shared<K>>,
    seat: Arc<Seat>,
    channel: Channel,
    conn: Conn,
    /// From the first bytes on.
    store: Option<K::Store>,
    /// Answers that wait until [`Client::durable`] is.
    held: Vec<u8>,
    /// The last commit that answers to come tell of.
    durable: Option<Durability>,
    /// The connection has more answers when those before are sent.
    more: bool,
    /// The end, when the answers are sent.
    ending: bool,
    /// The last receive emptied the socket.
    drained: bool,
    /// The other side has closed: a short receive is not the last one, its end is still to come.
    hung_up: bool,
    /// Comes from waiting for its commit, not from an event: nothing to receive.
    resumed: bool,
    /// Its patience has ended.
    timed_out: bool,
    /// To be closed at the next chance.
    doomed: bool,
}

/// How far a send came.
enum Sent {
    All,
    Part,
    Broken,
}

impl<K: Keeper> Client<K> {
    pub(super) fn new(shared: Arc<Shared<K>>, seat: Arc<Seat>, fd: OwnedFd) -> Self {
        let mut conn = Conn::new(shared.service.clone());
        conn.set_peer(Peer { addr: seat.addr, tls: false });
        Client {
            seat,
            channel: Channel::new(fd),
            conn,
            store: None,
            held: Vec::new(),
            durable: None,
            more: false,
            ending: false,
            drained: false,
            hung_up: false,
            resumed: false,
            timed_out: false,
            doomed: false,
            shared,
        }
    }

    /// Receives, does, answers, until the socket is empty or something is to be waited for.
    fn turn(&mut self, scratch: &mut Scratch) -> Next {
        scratch.out.clear();
        if !self.held.is_empty() {
            scratch.out.append(&mut self.held);
            self.held = Vec::new();
        }
        if !std::mem::take(&mut self.resumed) {
            self.drained = false;
        }
        if std::mem::take(&mut self.timed_out) && !self.may_stay() {
            return Next::Closed;
        }
        for _ in 0..RECEIVES {
            // Nothing more is taken in from a client that does not take its answers.
            match self.send(scratch) {
                Sent::All => {}
                Sent::Part => return Next::Write,
                Sent::Broken => return Next::Closed,
            }
            if self.ending {
                return Next::Closed;
            }
            if self.more {
                self.advance(scratch);
            } else if self.drained {
                return Next::Read;
            } else if !self.receive(scratch) {
                return Next::Closed;
            }
            self.durable.take_if(|durable| !durable.is_to_be_waited_for());
            if self.durable.is_some() && !scratch.out.is_empty() {
                self.held.extend_from_slice(&scratch.out);
                return Next::Durable;
            }
        }
        match self.send(scratch) {
            Sent::All if self.ending => Next::Closed,
            Sent::All => Next::Again,
            Sent::Part => Next::Write,
            Sent::Broken => Next::Closed,
        }
    }

    /// Receives once and does what came. `false`: it cannot go on.
    fn receive(&mut self, scratch: &mut Scratch) -> bool {
        match self.channel.receive(&mut scratch.input, &mut scratch.raw) {
            Ok(Received::Bytes(more)) => {
                self.drained = !more && !self.hung_up;
                if self.store.is_none() && !self.first_bytes(scratch) {
                    return false;
                }
                if !scratch.input.is_empty() {
                    self.advance(scratch);
                }
                true
            }
            Ok(Received::Nothing) => {
                self.drained = true;
                true
            }
            // It may still read.
            Ok(Received::End) => {
                self.ending = true;
                true
            }
            Err(_) => false,
        }
    }

    /// Before the first command: TLS, if the client begins with it. `false`: it cannot go on.
    fn first_bytes(&mut self, scratch: &mut Scratch) -> bool {
        if self.channel.tls().is_some() {
            return true;
        }
        if scratch.input.bytes().first() == Some(&TLS_HANDSHAKE)
            && let Some(config) = self.shared.tls.lock().clone()
        {
            let all = scratch.input.take(scratch.input.len());
            let begun = scratch.input.get(&all).to_vec();
            self.conn.set_peer(Peer { addr: self.seat.addr, tls: true });
            return self.channel.start_tls(config, &begun, &mut scratch.input).is_ok();
        }
        if self.shared.require_tls.load(Ordering::Relaxed) && !self.seat.is_local() {
            scratch.out.extend_from_slice(b"CLIENT_ERROR TLS is required\r\n");
            let _ = self.send(scratch);
            return false;
        }
        true
    }

    /// Does the commands that are whole.
    fn advance(&mut self, scratch: &mut Scratch) {
        let now_s = now_s();
        if self.seat.last_s.load(Ordering::Relaxed) != now_s {
            self.seat.last_s.store(now_s, Ordering::Relaxed);
        }
        let store = match &mut self.store {
            Some(store) => store,
            None => {
                let store =
                    self.shared.keeper.open(Arc::new(BeforeWait { lock: hand_over, log: hand_over_if_busy }));
                self.seat.set_interrupter(store.interrupter());
                self.store.insert(store)
            }
        };
        let input = scratch.input.take(scratch.input.len());
        let next = self.conn.advance(scratch.input.get(&input), now_s, store, &mut scratch.out);
        if let Some(durable) = store.durability() {
            // Whatever was committed before is durable before.
            self.durable = Some(durable);
        }
        self.more = next == conn::Next::Write;
        self.ending |= next == conn::Next::Close;
    }

    fn send(&mut self, scratch: &mut Scratch) -> Sent {
        if scratch.out.is_empty() && !self.channel.has_unsent() {
            return Sent::All;
        }
        let sent = self.channel.send(&mut scratch.out);
        if scratch.out.capacity() > OUTPUT_KEPT {
            scratch.out = Vec::new();
        }
        match sent {
            Ok(true) => Sent::All,
            Ok(false) => Sent::Part,
            Err(_) => Sent::Broken,
        }
    }

    /// It has been silent for long: commits what it left open. `false`: it has to go.
    fn may_stay(&mut self) -> bool {
        if let Some(store) = self.store.as_mut().filter(|store| store.in_transaction())
            && let Err(failure) = store.idle()
        {
            (self.shared.log)(&format!("memcached: an idle transaction could not be committed: {failure}"));
            return false;
        }
        let limit = self.shared.idle_timeout_s;
        let silent = now_s().saturating_sub(self.seat.last_s.load(Ordering::Relaxed));
        if limit == 0 || silent < limit {
            return true;
        }
        self.shared.roster.idle_kicks.fetch_add(1, Ordering::Relaxed);
        false
    }

    /// What became of its commit.
    fn set_durable(&mut self, done: vaquita_engine::Result<()>) {
        self.durable = None;
        self.resumed = true;
        if let Err(error) = done {
            (self.shared.log)(&format!("memcached: a commit may be lost: {error}"));
            // Nobody may be told that it has succeeded.
            self.held = Vec::new();
            self.doomed = true;
        }
    }

    /// Answers whose commit became durable in time, and good-bye.
    fn close(&mut self) {
        if !self.held.is_empty() && self.durable.is_none() {
            let _ = self.channel.send(&mut self.held);
        }
        self.channel.close();
        if let Some(mut store) = self.store.take() {
            if store.in_transaction() {
                hand_over_if_busy();
            }
            if let Err(failure) = store.finish() {
                (self.shared.log)(&format!("memcached: a transaction could not be committed: {failure}"));
            }
        }
    }
}

impl<K: Keeper> vaquita_net::Connection for Client<K> {
    type Scratch = Scratch;

    fn id(&self) -> u32 {
        self.seat.id
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.channel.fd()
    }

    fn serve(&mut self, scratch: &mut Scratch) -> Next {
        let next = if self.doomed { Next::Closed } else { self.turn(scratch) };
        if next == Next::Closed {
            self.close();
        }
        let (received, sent) = self.channel.take_counts();
        self.shared.roster.bytes_read.add(received);
        self.shared.roster.bytes_written.add(sent);
        next
    }

    fn patience_s(&self, _: Next) -> u64 {
        match (&self.store, self.shared.idle_timeout_s) {
            (Some(store), _) if store.in_transaction() => 0,
            (_, 0) => u64::MAX,
            (_, seconds) => u64::from(seconds),
        }
    }

    fn hang_up(&mut self) {
        self.hung_up = true;
    }

    fn doom(&mut self) {
        self.doomed = true;
    }

    fn time_out(&mut self) {
        self.timed_out = true;
    }

    fn poll_durable(&mut self, waker: &Waker) -> Poll<()> {
        Durability::poll_held(&mut self.durable, waker)
            .map(|done| done.into_iter().for_each(|done| self.set_durable(done)))
    }

    fn waits_shortly(&self) -> bool {
        self.durable.as_ref().is_none_or(Durability::waits_shortly)
    }

    fn wait_durable(&mut self) {
        if let Some(done) = Durability::wait_held(&mut self.durable) {
            self.set_durable(done);
        }
    }
}

impl<K: Keeper> Drop for Client<K> {
    fn drop(&mut self) {
        self.shared.roster.leave(&self.seat);
    }
}
