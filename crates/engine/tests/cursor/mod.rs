//! Reading rows: what views see, what locks are taken, where cursors go.
#![allow(clippy::unwrap_used, reason = "tests")]

mod bed;
mod locks;
mod server_files;
mod shapes;
mod threads;
mod visibility;
mod waits;
mod watch;
