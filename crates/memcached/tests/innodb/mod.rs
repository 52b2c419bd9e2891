//! The store on tables, at the engine: no protocol, no SQL.

mod batches;
mod bed;
mod crash;
mod definitions;
mod expiring;
mod joined;
mod like_memcached;
mod mappings;
mod mixed;
mod model;
mod operations;
use crate::support;
mod threads;
