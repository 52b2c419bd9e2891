//! What other threads tell a loop.

use super::core::Member;
use super::{Next, Place};
use parking_lot::Mutex;
use rustix::event::EventfdFlags;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};

/// A message to a loop.
#[derive(Debug)]
pub(super) enum Message<C> {
    /// A connection that belongs here, from another loop.
    Moved(Box<Member<C>>),
    /// A connection comes back from a thread that had waited.
    Return(Box<Member<C>>, Next),
    /// A commit that was to tell is durable, or the log has failed.
    Durable,
    /// The connection of this place shall end, wherever it has got to.
    Kill(Place<C>),
    /// All shall end.
    Stop,
}

/// The part of a loop that other threads reach.
#[derive(Debug)]
pub(super) struct Inbox<C> {
    messages: Mutex<Messages<C>>,
    bell: OwnedFd,
    /// The bell has been rung and not been heard.
    rung: AtomicBool,
}

#[derive(Debug)]
struct Messages<C> {
    left: Vec<Message<C>>,
    /// The loop has ended.
    ended: bool,
}

impl<C: Send + 'static> Inbox<C> {
    pub(super) fn new() -> io::Result<Inbox<C>> {
        Ok(Inbox {
            messages: Mutex::new(Messages { left: Vec::new(), ended: false }),
            bell: rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            rung: AtomicBool::new(false),
        })
    }

    pub(super) fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// Leaves a message and wakes the loop. It comes back if the loop has ended.
    pub(super) fn post(&self, message: Message<C>) -> Option<Message<C>> {
        let mut messages = self.messages.lock();
        if messages.ended {
            return Some(message);
        }
        messages.left.push(message);
        drop(messages);
        if !self.rung.swap(true, Ordering::AcqRel) {
            // Fails only if the count is at its end, and then the loop is awake anyway.
            let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
        }
        None
    }

    /// Takes no more messages, unless there are some.
    pub(super) fn end(&self) -> bool {
        let mut messages = self.messages.lock();
        messages.ended = messages.left.is_empty();
        messages.ended
    }

    /// Takes all messages; the bell has been heard.
    pub(super) fn take(&self) -> Vec<Message<C>> {
        if self.rung.load(Ordering::Acquire) {
            let mut count = [0; 8];
            let _ = rustix::io::read(&self.bell, &mut count);
            // From here on another post rings again.
            self.rung.store(false, Ordering::Release);
        }
        std::mem::take(&mut self.messages.lock().left)
    }

    /// Who is woken when a commit is durable. The same for all commits of the loop.
    pub(super) fn durable_waker(self: &Arc<Self>) -> Waker {
        Arc::new(Durable(self.clone())).into()
    }
}

struct Durable<C>(Arc<Inbox<C>>);

impl<C: Send + 'static> Wake for Durable<C> {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // A loop that has ended awaits nothing.
        let _ = self.0.post(Message::Durable);
    }
}
