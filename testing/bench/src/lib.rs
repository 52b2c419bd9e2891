//! Benchmarks, with other engines beside.
//!
//! A [`Store`] is an ordered map from `u64` keys to 100-byte values that survives a crash; each engine is one, in
//! its most natural form. A [`workload::Workload`] drives any store. `cargo xtask bench` runs every workload on every
//! engine several times, each time in a fresh folder, and prints the medians and their ratios.
//!
//! What is compared is what a user gets from each engine's defaults: commits are durable when they return, reads
//! are one transaction each.
#![deny(unsafe_code)]

pub mod alters;
pub mod calls;
pub mod changes;
pub mod database;
pub mod engines;
pub mod fulltext;
pub mod importing;
pub mod locks;
pub mod memcached;
pub mod oltp;
pub mod own;
pub mod reading;
pub mod report;
mod settings;
pub mod views;
pub mod windows;
pub mod workload;

use std::error::Error;
use std::path::Path;

/// Length of every value.
pub const VALUE_LEN: usize = 100;

/// What went wrong in an engine; a benchmark stops at it.
pub type Failure = Box<dyn Error + Send + Sync>;

/// An ordered, durable map.
pub trait Store: Send + Sync {
    /// Inserts `keys` in order, each with [`value_of`] it, `per_transaction` to a transaction. Each commit is durable
    /// when the next begins.
    ///
    /// # Errors
    /// The engine's own.
    fn insert(&self, keys: &mut dyn Iterator<Item = u64>, per_transaction: usize) -> Result<(), Failure>;

    /// The first byte of the value of `key`, read in a transaction of its own; `None` if it is absent.
    ///
    /// # Errors
    /// The engine's own.
    fn get(&self, key: u64) -> Result<Option<u8>, Failure>;

    /// Visits `count` rows from `first` on in order and adds up the first bytes of their values.
    ///
    /// # Errors
    /// The engine's own.
    fn scan(&self, first: u64, count: usize) -> Result<u64, Failure>;
}

/// An engine to measure: opens a fresh store in an empty folder.
#[derive(Debug, Clone, Copy)]
pub struct Engine {
    /// As the table shows it.
    pub name: &'static str,
    /// Makes the store.
    pub open: fn(&Path) -> Result<Box<dyn Store>, Failure>,
}

/// The value stored under a key: the key first, then filler that depends on it.
pub fn value_of(key: u64) -> [u8; VALUE_LEN] {
    let mut value = [key as u8; VALUE_LEN];
    value[1..9].copy_from_slice(&key.to_le_bytes());
    value
}
