//! What every door of the server stands on: sockets, TLS and the loops that serve them. Nothing here knows a protocol or a
//! database.
//!
//! | part | module |
//! |---|---|
//! | where clients come in | [`listener`] |
//! | a socket that never blocks, under TLS or in clear | [`channel`] |
//! | received bytes, lent memory | [`buffer`] |
//! | certificates | [`tls`], [`certificate`] |
//! | the limit of open files | [`files`] |
//! | loops, threads, waits | [`reactor`] |
//!
//! A door implements [`Door`] (who may come in) and [`Connection`] (what happens when there is something to do), and
//! starts its [`Loops`].
#![forbid(unsafe_code)]

pub mod buffer;
pub mod certificate;
pub mod channel;
pub mod files;
pub mod listener;
pub mod reactor;
pub mod tls;

pub use buffer::Buffer;
pub use channel::{Channel, Received};
pub use listener::{Accepted, Listener};
pub use reactor::{
    Connection, Door, Loops, Next, Place, Scratch, Trouble, hand_over, hand_over_for_page, hand_over_if_busy,
};
