//! Vaquita: InnoDB's files and engine as a library, and the `vaquita` command.
//!
//! An [`Engine`] is a folder opened as a database inside this process: see the example `bank`. [`workshop`] works on files
//! of any MySQL 5.6 server: look, check, dump. [`cli`] is the command line over it.
#![forbid(unsafe_code)]

pub mod cli;
pub mod workshop;

pub use vaquita_engine::*;
pub use vaquita_format::column::ColumnDef;
pub use vaquita_format::index_def::KeyPart;

// The program of the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
