//! Benchmarks, with other engines beside.
#![forbid(unsafe_code)]
