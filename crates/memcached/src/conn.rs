//! One connection, without its socket: bytes in, bytes out.
//!
//! The first byte decides between the binary protocol (0x80) and the text one, meta commands included. A connection takes
//! all the bytes it is given: what is half a command stays with it until the rest comes. Values that come in pieces are
//! collected without being looked through again.
//!
//! Gets that came together are answered in one visit of the store ([`Store::get`] takes many keys), up to the first command
//! of another kind.

pub use crate::protocol::state::Next;
use crate::protocol::state::{Protocol, Skip, State};
use crate::protocol::{Context, push_failure};
use crate::service::Service;
use crate::store::{Peer, Store};
use std::sync::Arc;

/// Buffers that are kept between commands are no longer than this.
const BUFFER_KEPT_MAX: usize = 16 << 10;

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
