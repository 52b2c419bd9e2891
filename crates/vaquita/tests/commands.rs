//! Tests of the commands and of files, without a server.
#![allow(clippy::unwrap_used, reason = "tests")]

mod check;
mod check_words;
mod common;
mod dump;
mod engine_folders;
mod fulltext_split;
mod inspect;
mod own_parsers;
