//! A connection: from the greeting to the last reply.
//!
//! [`Connection::serve`] is the whole of it: receive once, answer every complete packet in order, send once. It runs on
//! whichever thread has the connection at the moment; buffers are the thread's ([`Scratch`]), so that an idle connection
//! holds none.

mod active;
mod commands;
mod fields;
mod login;
mod reply;
mod report;

use crate::backend::{Happening, Hooks, SessionLimits};
use crate::channel::{Channel, ChannelError};
use crate::error_log::Gravity;
use crate::errors;
use crate::packet::{Input, Output, Packet};
use crate::protocol::Capabilities;
use crate::protocol::reply::push_error;
use crate::shared::{Pass, Shared};
use active::Active;
use login::LoginState;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Poll, Waker};
use vaquita_engine::BeforeWait;
use vaquita_net::{Accepted, Next, Place, Received, hand_over, hand_over_if_busy, tls};
use vaquita_sql::{Durability, SqlError, Transport};

/// Space to receive into.
const INPUT_LEN: usize = 64 << 10;

/// From this length on what has been received is the session's while it is answered.
const LONG_INPUT: usize = 4 * INPUT_LEN;

/// Replies are sent when there is this much of them.
const OUTPUT_FULL: usize = 64 << 10;

/// Memory a thread keeps for replies between connections.
const OUTPUT_KEPT: usize = 256 << 10;

/// Memory a connection keeps for replies that wait for a commit: those to statements that change rows fit in.
const HELD_KEPT: usize = 64;

/// Longest packet before login.
const LOGIN_PACKET_MAX: usize = 128 << 10;

/// Working memory of a thread.
#[derive(Debug)]
pub(crate) struct Scratch {
    input: Vec<u8>,
    raw: Vec<u8>,
    out: Output,
}

impl Default for Scratch {
    fn default() -> Self {
        Scratch { input: vec![0; INPUT_LEN], raw: Vec::new(), out: Output::default() }
    }
}

impl vaquita_net::Scratch for Scratch {
    /// Gives back what large packets have taken.
    fn shrink(&mut self) {
        if self.input.len() > 4 * INPUT_LEN {
            self.input = vec![0; INPUT_LEN];
        }
        if self.out.buf.capacity() > OUTPUT_KEPT {
            self.out.buf = Vec::new();
        }
    }
}

/// Where a client comes from.
#[derive(Debug)]
struct Peer {
    addr: Option<SocketAddr>,
    /// As accounts and messages name it.
    host: String,
}

/// A client's connection.
#[derive(Debug)]
pub(crate) struct Connection {
    shared: Arc<Shared>,
    place: Place<Connection>,
    /// Counts it among those who are in.
    _pass: Pass,
    id: u32,
    peer: Peer,
    input: Input,
    channel: Channel,
    /// Until somebody is logged in, and again while the user changes.
    login: Option<Box<LoginState>>,
    active: Option<Box<Active>>,
    /// Replies that wait until [`Connection::durable`] is.
    held: Vec<u8>,
    durable: Option<Durability>,
    /// The last receive emptied the socket.
    drained: bool,
    /// The other side has closed: a short receive is not the last one, its end is still to come.
    hung_up: bool,
    /// Comes from waiting for its commit, not from an event: nothing to receive.
    resumed: bool,
    /// To be closed at the next chance.
    doom: Option<Doom>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doom {
    Killed,
    TimedOut,
}

impl Connection {
    /// Greets a client that has just come in.
    pub(crate) fn greet(
        shared: Arc<Shared>,
        pass: Pass,
        place: Place<Connection>,
        accepted: Accepted,
    ) -> io::Result<Connection> {
        let id = shared.backend.reserve_id();
        let host = match accepted.addr {
            Some(addr) if !addr.ip().is_loopback() => addr.ip().to_string(),
            _ => "localhost".to_owned(),
        };
        let mut connection = Connection {
            login: Some(Box::new(LoginState::new(crate::challenge::challenge()?))),
            active: None,
            peer: Peer { addr: accepted.addr, host },
            input: Input::default(),
            channel: Channel::new(accepted.fd),
            held: Vec::new(),
            durable: None,
            drained: true,
            hung_up: false,
            resumed: false,
            doom: None,
            shared,
            place,
            _pass: pass,
            id,
        };
        let mut out = Output::default();
        connection.push_greeting(&mut out);
        connection.input.expect_seq(out.seq);
        if !connection.channel.send(&mut out.buf)? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(connection)
    }

    fn limits(&self) -> SessionLimits {
        self.active.as_ref().map_or_else(SessionLimits::default, |active| active.client.limits())
    }

    /// What became of its commit.
    fn set_durable(&mut self, done: Result<(), vaquita_engine::Error>) {
        self.durable = None;
        self.resumed = true;
        if let Err(error) = done {
            self.shared.log.error(&format!("A commit may be lost: {error}"));
            // Nobody may be told that it has succeeded.
            self.held = Vec::new();
            self.doom = Some(Doom::Killed);
        }
    }

    fn serve_lent(&mut self, scratch: &mut Scratch) -> Next {
        scratch.out.buf.clear();
        if !self.held.is_empty() {
            scratch.out.buf.append(&mut self.held);
            if self.held.capacity() > HELD_KEPT {
                self.held = Vec::new();
            }
        }
        let resumed = std::mem::take(&mut self.resumed);
        if resumed && self.drained && self.input.is_empty() {
            return self.send(scratch, Next::Read);
        }
        if self.channel.has_unsent() && self.send(scratch, Next::Read) != Next::Read {
            return if self.channel.has_unsent() { Next::Write } else { Next::Closed };
        }
        loop {
            let max = self.packet_max();
            let received = self.channel.receive(&mut self.input, &mut scratch.raw, max);
            let ended = match received {
                Ok(Received::Bytes(more)) => {
                    self.drained = !more && !self.hung_up;
                    false
                }
                Ok(Received::Nothing) => {
                    self.drained = true;
                    false
                }
                Ok(Received::End) => true,
                Err(ChannelError::Packet(e)) => {
                    push_error(&mut scratch.out, &errors::packet(e));
                    let _ = self.send(scratch, Next::Closed);
                    return Next::Closed;
                }
                Err(ChannelError::Io) => true,
            };
            if self.input.capacity() > LONG_INPUT
                && let Some(active) = &mut self.active
                && let Err(error) = active.buffers_hold(self.input.capacity())
            {
                // What the client goes on to send is not to be read.
                self.broke_off(&error.message);
                scratch.out.seq = 1;
                push_error(&mut scratch.out, &error);
                let _ = self.send(scratch, Next::Closed);
                return Next::Closed;
            }
            let going_on = self.answer(scratch);
            if ended && going_on {
                self.broke_off("Got an error reading communication packets");
            }
            self.durable.take_if(|durable| !durable.is_to_be_waited_for());
            if self.durable.is_some() && !scratch.out.buf.is_empty() {
                if going_on && !ended {
                    self.held.extend_from_slice(&scratch.out.buf);
                    return Next::Durable;
                }
                vaquita_net::Connection::wait_durable(self);
                if self.doom.is_some() {
                    scratch.out.buf.clear();
                }
            }
            let next = if ended || !going_on { Next::Closed } else { Next::Read };
            let sent = self.send(scratch, next);
            if sent != Next::Read || self.drained {
                return sent;
            }
        }
    }

    fn packet_max(&self) -> usize {
        match &self.active {
            Some(active) => active.client.limits().max_allowed_packet,
            None => LOGIN_PACKET_MAX,
        }
    }

    /// Answers every complete packet. `false`: the connection ends when the replies are sent.
    fn answer(&mut self, scratch: &mut Scratch) -> bool {
        loop {
            if self.login.is_none() {
                self.input.expect_seq(0);
            }
            let packet = match self.input.next(self.packet_max()) {
                Ok(Some(packet)) => packet,
                Ok(None) => return true,
                Err(e) => {
                    let error = errors::packet(e);
                    self.broke_off(&error.message);
                    // The reply follows what the client has sent, as far as it can be counted.
                    scratch.out.seq = 1;
                    push_error(&mut scratch.out, &error);
                    return false;
                }
            };
            scratch.out.seq = packet.seq.wrapping_add(1);
            if !self.answer_one(&packet, scratch) {
                return false;
            }
            if scratch.out.buf.len() >= OUTPUT_FULL && !self.relieve(scratch) {
                return false;
            }
        }
    }

    fn answer_one(&mut self, packet: &Packet, scratch: &mut Scratch) -> bool {
        if self.login.is_some() {
            let going_on = self.login_step(packet, scratch);
            self.input.expect_seq(scratch.out.seq);
            return going_on;
        }
        let outcome = match &mut self.active {
            Some(active) => {
                let mut line = commands::Line {
                    channel: &mut self.channel,
                    out: &mut scratch.out,
                    durable: &mut self.durable,
                    leftover: Vec::new(),
                };
                let outcome = active.command(&self.shared, self.input.payload(packet), &mut line);
                let leftover = line.leftover;
                self.input.push(&leftover);
                outcome
            }
            None => commands::Outcome::Quit,
        };
        match outcome {
            commands::Outcome::Done => true,
            commands::Outcome::Quit => false,
            commands::Outcome::ChangeUser => self.begin_change_user(packet, scratch),
            commands::Outcome::Gone(error) => {
                self.broke_off(&error.message);
                false
            }
        }
    }

    /// Sends replies that have grown long in the middle of a batch, waiting for a slow client.
    fn relieve(&mut self, scratch: &mut Scratch) -> bool {
        let timeout_s = self.limits().net_write_timeout_s;
        let mut line = commands::Line {
            channel: &mut self.channel,
            out: &mut scratch.out,
            durable: &mut self.durable,
            leftover: Vec::new(),
        };
        match line.send_all(timeout_s) {
            Ok(()) => true,
            Err(error) => {
                self.broke_off(&error.message);
                false
            }
        }
    }

    /// Sends replies as far as the socket takes them.
    fn send(&mut self, scratch: &mut Scratch, then: Next) -> Next {
        let sent = self.channel.send(&mut scratch.out.buf);
        if scratch.out.buf.capacity() > OUTPUT_KEPT {
            scratch.out.buf = Vec::new();
        }
        match (sent, then) {
            (Err(_), _) | (_, Next::Closed) => Next::Closed,
            (Ok(true), then) => then,
            (Ok(false), _) => Next::Write,
        }
    }

    fn say_doom(&mut self, doom: Doom, scratch: &mut Scratch) {
        if doom == Doom::TimedOut {
            self.broke_off("Got timeout reading communication packets");
        }
        scratch.out.buf.clear();
        if !self.held.is_empty() && self.durable.is_none() {
            // A reply whose commit became durable in time.
            scratch.out.buf.append(&mut self.held);
            let _ = self.channel.send(&mut scratch.out.buf);
        }
        if self.shared.stopping.load(Ordering::Relaxed) && self.active.is_some() {
            scratch.out.seq = 0;
            push_error(&mut scratch.out, &errors::shutting_down());
            let _ = self.channel.send(&mut scratch.out.buf);
        }
    }

    /// For the log and the counters: the connection ends, and not because the client said good-bye.
    fn broke_off(&mut self, why: &str) {
        match &self.active {
            None => {
                self.shared.backend.count(Happening::AbortedConnect);
                if let Some(ip) = self.ip() {
                    self.shared.hosts.failed(ip);
                }
            }
            Some(active) => {
                self.shared.backend.count(Happening::AbortedClient);
                let text = format!(
                    "Aborted connection {} to db: '{}' user: '{}' host: '{}' ({why})",
                    self.id, active.database, active.user, self.peer.host
                );
                self.shared.log.write(Gravity::Note, self.id, &text);
            }
        }
    }

    fn ip(&self) -> Option<IpAddr> {
        self.peer.addr.map(|addr| addr.ip())
    }

    fn transport(&self) -> Transport {
        match self.peer.addr {
            None => Transport::Socket,
            Some(addr) if self.channel.tls().is_some() => Transport::Tls(addr),
            Some(addr) => Transport::Tcp(addr),
        }
    }

    /// Whether nobody else can read what is sent.
    fn is_secure(&self) -> bool {
        self.peer.addr.is_none() || self.channel.tls().is_some()
    }

    fn hooks(&self, capabilities: Capabilities) -> Hooks {
        let place = self.place.clone();
        Hooks {
            wait: Arc::new(BeforeWait { lock: hand_over, log: hand_over_if_busy }),
            pause: Arc::new(hand_over_if_busy),
            kill: Arc::new(move || place.kill()),
            tls: self.channel.tls().and_then(tls::names),
            compressed: capabilities.has(Capabilities::COMPRESS),
            tells_after_rows: capabilities.has(Capabilities::DEPRECATE_EOF),
        }
    }

    /// Ends the session: rolls back what is open.
    fn close(&mut self) {
        self.channel.close();
        if self.active.as_ref().is_some_and(|active| active.in_transaction()) {
            hand_over_if_busy();
        }
        self.active = None;
        self.login = None;
    }

    fn fail(&mut self, scratch: &mut Scratch, error: &SqlError) -> bool {
        push_error(&mut scratch.out, error);
        false
    }
}

impl vaquita_net::Connection for Connection {
    type Scratch = Scratch;

    fn id(&self) -> u32 {
        self.id
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.channel.fd()
    }

    fn serve(&mut self, scratch: &mut Scratch) -> Next {
        let next = match self.doom {
            Some(doom) => {
                self.say_doom(doom, scratch);
                Next::Closed
            }
            None => {
                self.input.lend(&mut scratch.input);
                let next = self.serve_lent(scratch);
                self.input.give_back(&mut scratch.input);
                next
            }
        };
        if next == Next::Closed {
            self.close();
        }
        if let Some(active) = &mut self.active {
            let (received, sent) = self.channel.take_counts();
            active.client.count_bytes(received, sent);
            // What is too much is refused when it grows.
            let _ = active.buffers_hold(self.input.capacity() + self.held.capacity() + self.channel.unsent());
        }
        next
    }

    fn patience_s(&self, next: Next) -> u64 {
        let limits = self.limits();
        let seconds = match (&self.active, next) {
            (None, _) => self.shared.backend.limits().connect_timeout_s,
            (_, Next::Write) => limits.net_write_timeout_s,
            (_, _) if !self.input.is_empty() => limits.net_read_timeout_s,
            _ => limits.idle_timeout_s,
        };
        u64::from(seconds)
    }

    fn hang_up(&mut self) {
        self.hung_up = true;
    }

    fn doom(&mut self) {
        self.doom = Some(Doom::Killed);
    }

    fn time_out(&mut self) {
        self.doom = Some(Doom::TimedOut);
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
