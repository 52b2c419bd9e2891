//! Ground of Vaquita: ids, codecs, checksums, MD5, clock, random numbers, sharded counters, threads that
//! help and serve.
//!
//! Nothing here knows InnoDB's structures; the names of ids are the only words borrowed from it. Every other
//! crate may use this one, and this one uses none of them.
#![forbid(unsafe_code)]

pub mod checksum;
pub mod clock;
pub mod codec;
pub mod counter;
pub mod crew;
pub mod ids;
pub mod md5;
pub mod rng;
pub mod service;

pub use clock::{Clock, ManualClock, SystemClock};
pub use counter::ShardedCounter;
pub use crew::Crew;
pub use ids::{
    FIL_NULL, HeapNo, IndexId, Lsn, PageId, PageNo, PageOffset, RollPtr, SegmentId, SpaceId, TableId, TrxId,
};
pub use md5::md5;
pub use rng::Rng;
pub use service::{Health, Listener, Service, ServiceThreads, Stop};
