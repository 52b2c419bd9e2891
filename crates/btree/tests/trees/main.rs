//! Trees on the simulated disk: against a model, under several threads, across crashes, on damaged pages.
#![allow(clippy::unwrap_used, reason = "a test")]

mod bed;
mod blobs;
mod bookmarks;
mod bulk;
mod crash;
mod cursors;
mod damage;
mod free_bits;
mod model;
mod observer;
mod samples;
mod server_files;
mod shape;
mod text_keys;
mod threads;
