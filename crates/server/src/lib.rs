//! The MySQL door: packets, authentication, connections.
#![forbid(unsafe_code)]

pub mod packet;
