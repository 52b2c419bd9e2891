//! What other threads tell a loop.

use super::Next;
use super::core::Member;
use crate::Accepted;
use parking_lot::Mutex;
use rustix::event::EventfdFlags;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Wake;

/// A message to a loop.
#[derive(Debug)]
pub(super) enum Message<C> {
    /// A new client.
    New(Accepted),
    /// A connection comes back from a thread that had waited.
    Return(Box<Member<C>>, Next),
    /// The commit of this connection is durable, or the log has failed.
    Durable(u64),
    /// This connection shall end.
    Kill(u64),
    /// All shall end.
    Stop,
}

/// The part of a loop that other threads reach.
#[derive(Debug)]
pub(super) struct Inbox<C> {
    messages: Mutex<Vec<Message<C>>>,
    bell: OwnedFd,
    /// The bell has been rung and not been heard.
    rung: AtomicBool,
    /// Connections that belong to the loop, to find the one with the fewest.
    pub(super) connections: AtomicUsize,
}

impl<C: Send + 'static> Inbox<C> {
    pub(super) fn new() -> io::Result<Inbox<C>> {
        Ok(Inbox {
            messages: Mutex::default(),
            bell: rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            rung: AtomicBool::new(false),
            connections: AtomicUsize::new(0),
        })
    }

    pub(super) fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// Leaves a message and wakes the loop.
    pub(super) fn post(&self, message: Message<C>) {
        self.messages.lock().push(message);
        if !self.rung.swap(true, Ordering::AcqRel) {
            // Fails only if the count is at its end, and then the loop is awake anyway.
            let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
        }
    }

    /// Takes all messages; the bell has been heard.
    pub(super) fn take(&self) -> Vec<Message<C>> {
        if self.rung.load(Ordering::Acquire) {
            let mut count = [0; 8];
            let _ = rustix::io::read(&self.bell, &mut count);
            // From here on another post rings again.
            self.rung.store(false, Ordering::Release);
        }
        std::mem::take(&mut *self.messages.lock())
    }

    /// Who is woken when a connection's commit is durable.
    pub(super) fn durable_waker(self: &Arc<Self>, token: u64) -> std::task::Waker {
        Arc::new(Durable { inbox: self.clone(), token }).into()
    }
}

struct Durable<C> {
    inbox: Arc<Inbox<C>>,
    token: u64,
}

impl<C: Send + 'static> Wake for Durable<C> {
    fn wake(self: Arc<Self>) {
        self.inbox.post(Message::Durable(self.token));
    }
}
