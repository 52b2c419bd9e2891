//! Benchmarks, with other engines beside.
