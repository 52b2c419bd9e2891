//! One connection, without its socket: bytes in, bytes out.
//!
//! The first byte decides between the binary protocol (0x80) and the text one, meta commands included. A connection takes
//! all the bytes it is given: what is half a command stays with it until the rest comes. Values that come in pieces are
//! collected without being looked through again.
//!
//! Gets that came together are answered in one visit of the store ([`Store::get`] takes many keys), up to the first command
//! of another kind.

use crate::protocol::run::{Run, Stopped};
use crate::protocol::{Context, binary, push_failure, storage, text};
use crate::service::Service;
use crate::store::{Peer, Store};
use memchr::memchr;
use std::sync::Arc;

/// Buffers that are kept between commands are no longer than this.
const BUFFER_KEPT_MAX: usize = 16 << 10;
/// What is set aside for a value before any of it has come: lengths may lie.
const VALUE_FIRST_MAX: usize = 64 << 10;

/// What a connection asks for next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
pub enum Next {
    /// More bytes from the client.
    Read,
    /// To be called again, with nothing new, when the answers so far are sent: there are enough of them for now.
    Write,
    /// The end, when the answers so far are sent.
    Close,
}

/// The protocol of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    /// Nothing came yet.
    Unknown,
    Text,
    Binary,
}

/// What comes next on the wire and is to be passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Skip {
    No,
    Bytes(u64),
    Line,
}

/// What became of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Done up to there, or gathered.
    Done(usize),
    /// As `Done`; the run ends with it.
    DoneVisit(usize),
    /// The run is to be answered before the command here can be done.
    Visit,
    /// Half a command.
    Need,
    /// The end of the connection.
    Close,
}

/// A storage command whose value is still coming.
#[derive(Debug)]
pub(crate) struct Body {
    /// Its line, or its frame without the value.
    pub(crate) head: Vec<u8>,
    pub(crate) value: Vec<u8>,
    /// How long the value will be, its end of line included.
    pub(crate) need: usize,
}

impl Body {
    pub(crate) fn new(head: &[u8], begun: &[u8], need: usize) -> Self {
        let mut value = Vec::with_capacity(need.min(begun.len().max(VALUE_FIRST_MAX)));
        value.extend_from_slice(begun);
        Body { head: head.to_vec(), value, need }
    }
}

/// One connection.
#[derive(Debug)]
pub struct Conn {
    service: Arc<Service>,
    state: State,
}

impl Conn {
    /// A connection from which nothing came yet.
    pub fn new(service: Arc<Service>) -> Self {
        let state = State {
            authenticated: service.users.is_none(),
            protocol: Protocol::Unknown,
            stash: Vec::new(),
            looked: 0,
            skip: Skip::No,
            body: None,
            gets: None,
            peer: Peer::default(),
            closed: false,
        };
        Conn { service, state }
    }

    /// Tells where the client comes from, for logins.
    pub fn set_peer(&mut self, peer: Peer) {
        self.state.peer = peer;
    }

    /// Takes `input`, does the commands that are whole, and appends their answers to `out`. `now` is in seconds since 1970.
    ///
    /// The answers must not be sent before what [`Store::durability`] gives is durable.
    pub fn advance<S: Store>(&mut self, input: &[u8], now: u32, store: &mut S, out: &mut Vec<u8>) -> Next {
        if self.state.closed {
            return Next::Close;
        }
        let answered = out.len();
        store.together();
        let next = self.work_through(input, now, store, out);
        let Err(failure) = store.settle() else { return next };
        // What was answered has not happened.
        out.truncate(answered);
        self.state.closed = true;
        if self.state.protocol == Protocol::Text {
            push_failure(out, &failure);
        }
        Next::Close
    }

    fn work_through<S: Store>(&mut self, input: &[u8], now: u32, store: &mut S, out: &mut Vec<u8>) -> Next {
        let state = &mut self.state;
        let mut cx = Context { service: &self.service, now, store, out };
        let input = state.collect(input, &mut cx);
        if state.stash.is_empty() {
            let (done, next) = state.work(input, &mut cx);
            state.stash.extend_from_slice(&input[done..]);
            return next;
        }
        let mut stash = std::mem::take(&mut state.stash);
        stash.extend_from_slice(input);
        let (done, next) = state.work(&stash, &mut cx);
        stash.drain(..done);
        if !stash.is_empty() || stash.capacity() <= BUFFER_KEPT_MAX {
            state.stash = stash;
        }
        next
    }

    /// Whether the connection holds half a command.
    pub fn is_half(&self) -> bool {
        let state = &self.state;
        !state.stash.is_empty() || state.body.is_some() || state.gets.is_some() || state.skip != Skip::No
    }

    /// Bytes of memory it holds for half a command.
    pub fn memory(&self) -> usize {
        let body = self.state.body.as_ref().map_or(0, |body| body.head.capacity() + body.value.capacity());
        self.state.stash.capacity() + body
    }
}

/// What a connection knows of the client, and has of half a command.
#[derive(Debug)]
pub(crate) struct State {
    protocol: Protocol,
    /// What came of commands that are not whole, or not yet done.
    stash: Vec<u8>,
    /// How much of the stash was looked through for the end of a line.
    pub(crate) looked: usize,
    pub(crate) skip: Skip,
    pub(crate) body: Option<Body>,
    pub(crate) gets: Option<text::Gets>,
    /// Whether the client has shown who it is, where that is demanded.
    pub(crate) authenticated: bool,
    /// Where the client comes from.
    pub(crate) peer: Peer,
    closed: bool,
}

impl State {
    /// Gives the value that is being collected its bytes; the rest of the input.
    fn collect<'a, S: Store>(&mut self, input: &'a [u8], cx: &mut Context<'_, S>) -> &'a [u8] {
        let Some(mut body) = self.body.take() else { return input };
        let missing = body.need - body.value.len();
        let (of_it, rest) = input.split_at(missing.min(input.len()));
        body.value.extend_from_slice(of_it);
        if body.value.len() < body.need {
            self.body = Some(body);
            return rest;
        }
        match self.protocol {
            Protocol::Binary => binary::finish(&body.head, &body.value, cx),
            Protocol::Unknown | Protocol::Text => storage::finish(&body.head, &body.value, cx),
        }
        rest
    }

    /// Does what is whole in `data`; how far it came.
    fn work<S: Store>(&mut self, data: &[u8], cx: &mut Context<'_, S>) -> (usize, Next) {
        let mut run = Run::new(data);
        let mut pos = 0;
        loop {
            // A value that is being collected took the rest.
            if pos == data.len() || self.body.is_some() {
                return self.end_run(&mut run, pos, Next::Read, cx);
            }
            if self.skip != Skip::No {
                pos = self.pass_over(data, pos);
                continue;
            }
            let step = self.step(data, pos, &mut run, cx);
            let visit = match step {
                Step::Done(end) => {
                    pos = end;
                    run.is_full()
                }
                Step::DoneVisit(end) => {
                    pos = end;
                    true
                }
                Step::Visit => true,
                Step::Need => return self.end_run(&mut run, pos, Next::Read, cx),
                Step::Close => {
                    self.closed = true;
                    return (data.len(), Next::Close);
                }
            };
            if visit && let Some(stopped) = run.visit(cx) {
                return (self.stop(stopped, cx), Next::Write);
            }
            if run.is_empty() && cx.is_full() && pos < data.len() {
                cx.service.stats.conn_yields.add(1);
                return (pos, Next::Write);
            }
        }
    }

    fn end_run<S: Store>(
        &mut self,
        run: &mut Run<'_>,
        pos: usize,
        next: Next,
        cx: &mut Context<'_, S>,
    ) -> (usize, Next) {
        match run.visit(cx) {
            Some(stopped) => (self.stop(stopped, cx), Next::Write),
            None => (pos, next),
        }
    }

    /// Remembers where answers stopped; where that is.
    fn stop<S>(&mut self, stopped: Stopped, cx: &Context<'_, S>) -> usize {
        self.looked = 0;
        cx.service.stats.conn_yields.add(1);
        if let Some(gets) = stopped.amid {
            self.gets = Some(gets);
        }
        stopped.at
    }

    fn pass_over(&mut self, data: &[u8], pos: usize) -> usize {
        match self.skip {
            Skip::No => pos,
            Skip::Bytes(count) => {
                let passed = count.min((data.len() - pos) as u64);
                self.skip = if passed == count { Skip::No } else { Skip::Bytes(count - passed) };
                pos + passed as usize
            }
            Skip::Line => match memchr(b'\n', &data[pos..]) {
                Some(newline) => {
                    self.skip = Skip::No;
                    pos + newline + 1
                }
                None => data.len(),
            },
        }
    }

    #[inline]
    fn step<'a, S: Store>(
        &mut self,
        data: &'a [u8],
        pos: usize,
        run: &mut Run<'a>,
        cx: &mut Context<'_, S>,
    ) -> Step {
        match self.protocol {
            Protocol::Text => text::step(self, data, pos, run, cx),
            Protocol::Binary => binary::step(self, data, pos, run, cx),
            Protocol::Unknown => {
                if data[pos] == binary::frame::REQUEST {
                    self.protocol = Protocol::Binary;
                } else if !self.authenticated {
                    cx.line("CLIENT_ERROR unauthenticated");
                    return Step::Close;
                } else {
                    self.protocol = Protocol::Text;
                }
                Step::Done(pos)
            }
        }
    }
}
