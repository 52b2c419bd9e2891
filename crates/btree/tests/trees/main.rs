//! Trees on the simulated disk, against a model, under several threads, across crashes.
#![allow(clippy::unwrap_used, reason = "a test")]

mod bed;
mod model;
