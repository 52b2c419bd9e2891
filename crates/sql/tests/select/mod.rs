//! SELECT through a connection.

mod harness;
mod statements;
