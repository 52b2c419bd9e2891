//! A session as its statements see it, and what the sessions of a folder share: everything that stands below names, plans
//! and rows.
//!
//! | part | module |
//! |---|---|
//! | what a session remembers | [`state`](mod@state) |
//! | what code gets that runs for a session | [`SessionCx`] |
//! | what all sessions share, as far as running statements needs it | [`shared`] |
//! | system variables | [`vars`] |
//! | `@@name` in expressions | [`var_ref`] |
//! | status counters | [`status`] |
//! | privileges: had, wanted, checked; passwords | [`privilege`], `access`, [`password`] |
//! | what names of tables in a definition stand for | [`names`] |
//! | who is connected and what they do; KILL; GET_LOCK | [`process`] |
//! | how a client came in | `transport` |
//! | where files that statements name may be | [`files`] |
//! | where results go | [`sink`] |
//! | rows that are kept for a while: sorts, DISTINCT, temporary files | [`temp`] |
#![forbid(unsafe_code)]

pub mod access;
mod cx;
pub mod files;
pub mod names;
pub mod password;
pub mod privilege;
pub mod process;
pub mod shared;
pub mod sink;
pub mod state;
pub mod status;
pub mod temp;
mod transport;
pub mod var_ref;
pub mod vars;

/// What `@@version` and the greeting say: clients look for features by the number.
pub const VERSION: &str = concat!("5.7.44-vaquita-", env!("CARGO_PKG_VERSION"));

pub use cx::{EvalCx, SessionCx};
pub use shared::Shared;
pub use state::SessionState;
pub use transport::Transport;
