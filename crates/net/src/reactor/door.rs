//! What a door has to say: who may come in, and what is done for those who are in.

use super::core::Member;
use super::inbox::{Inbox, Message};
use crate::Accepted;
use parking_lot::Mutex;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

/// How often loops are looked at. Nobody is kept waiting for more than about twice of it.
const LOOK: Duration = Duration::from_millis(4);

/// What the connections of a door have in common.
pub trait Door: Send + Sync + 'static {
    /// A client of this door.
    type Connection: Connection;

    /// Somebody has come: refuses him (`None`, after saying why if the protocol has words for it), or greets him. Must not
    /// block. Counting who is in is the door's business: a connection that is dropped has left.
    fn admit(
        self: &Arc<Self>,
        accepted: Accepted,
        place: Place<Self::Connection>,
    ) -> Option<Self::Connection>;

    /// There are no files left for somebody who has come: tells him, if the protocol has words for it. Must not block.
    fn turn_away(&self, accepted: Accepted);

    /// The connection with this number is on a thread that waits, and nobody wants the result any more: its wait shall end.
    fn interrupt(&self, id: u32);

    /// How often the loops are looked at, to give away those that serve the same connection as at the last look. `None`: a
    /// connection keeps its loop until it gives it away itself.
    fn look(&self) -> Option<Duration> {
        Some(LOOK)
    }

    /// For the log.
    fn trouble(&self, trouble: &Trouble);
}

/// What goes wrong in a loop.
#[derive(Debug)]
pub enum Trouble {
    /// No client can be accepted at present.
    Accept(io::Error),
    /// A client that was let in could not be watched.
    Watch(io::Error),
}

/// A client. Served by one thread at a time, but not always by the same one.
pub trait Connection: Send + 'static {
    /// Working memory of a thread, so that idle connections hold none.
    type Scratch: Scratch;

    /// Its number, for [`Door::interrupt`].
    fn id(&self) -> u32;

    /// Its socket, which is watched edge-triggered: it must be read and written until it blocks.
    fn fd(&self) -> BorrowedFd<'_>;

    /// Does all there is to do: the socket has become readable or writable, the commit it was parked for is durable, or it
    /// was told to end. After [`Next::Closed`] it is dropped, so what ends with it must end here (on a thread that may wait).
    fn serve(&mut self, scratch: &mut Self::Scratch) -> Next;

    /// How long it may wait for `next`, in seconds; then [`Connection::time_out`] is called.
    fn patience_s(&self, next: Next) -> u64;

    /// The other side has closed; there may be bytes before the end. It is served next.
    fn hang_up(&mut self);

    /// It shall end, because somebody wants it or because the server stops. It is served next.
    fn doom(&mut self);

    /// Its patience has ended. It is served next.
    fn time_out(&mut self);

    /// After [`Next::Durable`]: whether what it waits for has happened, or whom to tell. It is served next once it is ready.
    ///
    /// What a connection of a loop waits for happens no later than what others wait for that were parked after it: only the
    /// one parked first is asked.
    fn poll_durable(&mut self, waker: &Waker) -> Poll<()>;

    /// After [`Next::Durable`]: whether waiting on this thread takes no longer than having another one woken for it.
    fn waits_shortly(&self) -> bool;

    /// After [`Next::Durable`]: waits for it on this thread; then [`Connection::poll_durable`] is ready.
    fn wait_durable(&mut self);
}

/// Working memory of a thread.
pub trait Scratch: Default {
    /// Gives back what a connection has needed and the next one need not; called when it has been served.
    fn shrink(&mut self);
}

/// What a connection waits for after it has been served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The client's next bytes.
    Read,
    /// Room in the socket.
    Write,
    /// Its commit.
    Durable,
    /// Its next turn: it has more to do, and others shall not wait for all of it.
    Again,
    /// Nothing: it has ended.
    Closed,
}

/// Where a connection is, for whoever wants something of it.
#[derive(Debug)]
pub struct Place<C> {
    at: Arc<Mutex<At<C>>>,
}

/// A loop, and a connection's number there.
#[derive(Debug)]
struct At<C> {
    inbox: Arc<Inbox<C>>,
    /// `None` while it is on its way to this loop.
    token: Option<u64>,
}

impl<C> Clone for Place<C> {
    fn clone(&self) -> Self {
        Place { at: self.at.clone() }
    }
}

impl<C: Connection> Place<C> {
    /// Ends the connection that is (or was) here, from whatever thread.
    pub fn kill(&self) {
        // Where the loop has ended there is no connection any more.
        let _ = self.at.lock().inbox.post(Message::Kill(self.clone()));
    }

    pub(super) fn new(inbox: Arc<Inbox<C>>, token: u64) -> Place<C> {
        Place { at: Arc::new(Mutex::new(At { inbox, token: Some(token) })) }
    }

    /// The loop.
    pub(super) fn inbox(&self) -> Arc<Inbox<C>> {
        self.at.lock().inbox.clone()
    }

    /// The number at this loop; `None`: the connection is on its way to a loop, this one or another.
    pub(super) fn token_at(&self, inbox: &Arc<Inbox<C>>) -> Option<u64> {
        let at = self.at.lock();
        if Arc::ptr_eq(&at.inbox, inbox) { at.token } else { None }
    }

    /// The number at the loop that it has come to.
    pub(super) fn arrive(&self, token: u64) {
        self.at.lock().token = Some(token);
    }

    /// Sends the connection, whose place this is, to another loop; it comes back if that one has ended.
    ///
    /// Whoever asks for the place meanwhile waits, so what he tells the connection comes to the new loop after it.
    pub(super) fn go(&self, inbox: &Arc<Inbox<C>>, member: Box<Member<C>>) -> Option<Box<Member<C>>> {
        let mut at = self.at.lock();
        match inbox.post(Message::Moved(member)) {
            Some(Message::Moved(member)) => Some(member),
            _ => {
                *at = At { inbox: inbox.clone(), token: None };
                None
            }
        }
    }
}
