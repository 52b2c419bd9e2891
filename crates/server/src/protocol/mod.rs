//! What payloads mean: pure code between bytes and values, no sockets.
//!
//! | part | module |
//! |---|---|
//! | what client and server agreed on | [`capabilities`] |
//! | greeting, login, TLS request, change of user, switch of method | [`login`] |
//! | commands | [`command`] |
//! | OK, EOF, errors, session changes | [`reply`] |
//! | column definitions | [`columns`] |
//! | rows as text, rows in binary form | [`text_row`], [`binary_row`] |
//! | parameters of prepared statements | [`params`] |

pub mod binary_row;
pub mod capabilities;
pub mod columns;
pub mod command;
pub mod login;
pub mod params;
pub mod reply;
pub mod text_row;

pub use capabilities::Capabilities;
pub use command::Command;
