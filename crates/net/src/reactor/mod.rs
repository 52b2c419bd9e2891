//! Loops: which thread serves which connection, and what happens when a statement waits.
//!
//! A *loop* is an epoll set with the connections that belong to it (`Core`). One thread runs it: it receives, runs
//! statements right there, sends. A statement that has to wait calls the wait hook first, which gives the loop, the box
//! that holds all of it, to a spare thread (`handover`). The thread that waited finishes its statement, sends the reply,
//! posts the connection back to the loop's inbox and becomes a spare thread.
//!
//! ```text
//! thread A: run(core) -> serve(conn): statement .. waits for a row .. goes on .. reply -> inbox of the loop -> spare
//!                                            | hand over
//! thread B: spare ------------------------> run(core)
//! ```
//!
//! While a statement runs, the loop lies in its berth (`handover`): the hook takes it from there, and who finds the berth
//! empty afterwards, or with a later run of the loop in it, knows that it is no loop's thread any more. A statement that does
//! not wait pays for two moves of a pointer under a lock that hardly anybody else takes.
//!
//! A statement that computes for long, or is held up where there is no hook, does not give its loop away. A thread of its own
//! looks at the berths every few milliseconds and does it for such a statement (`watch`): nobody waits for what somebody
//! else's statement does, whatever it is.
//!
//! A page that is not in the buffer pool is read in about the time that it takes to wake a thread: for it the loop is given
//! away only if it is wanted, or if the connection reads one page after the other (`hand_over_for_page`).
//!
//! A commit's wait for the log parks the session, not the thread: the reply is held back and other connections are served.
//! When none of them has anything to do, and what has come meanwhile is served too, the loop waits for the newest of the
//! parked commits itself if that is shortly over ([`Connection::waits_shortly`]) and most of its connections do nothing but
//! commit: one write and one sync answer them all, and nobody has to be woken. Otherwise the oldest of them is registered to tell the loop (`Message::Durable`), which looks then
//! how far the others are: a sync costs one wake-up, however many commits it made durable. With a single busy connection
//! nobody else would profit, so the loop waits itself however long it takes.
//!
//! There are more loops than serve: connections begin on the first one, and go to others when it has no time left (`width`).
//!
//! Sockets are watched edge-triggered. An event for a connection that is away with a waiting thread is remembered in its
//! slot; the end of such a connection ends its statement.

mod core;
mod door;
mod handover;
mod inbox;
mod loops;
mod pool;
mod slots;
mod watch;
mod width;

use self::core::Core;
pub use door::{Connection, Door, Next, Place, Scratch, Trouble};
pub use handover::{hand_over, hand_over_for_page, hand_over_if_busy};
use inbox::{Inbox, Message};
pub use loops::Loops;
