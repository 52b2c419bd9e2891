//! Vaquita: InnoDB's files and engine as a library, and the `vaquita` command.
//!
//! [`workshop`] works on files of any MySQL 5.6 server: look, check, dump. [`cli`] is the command line over it.
#![forbid(unsafe_code)]

pub mod cli;
pub mod workshop;
