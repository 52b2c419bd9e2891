//! The real disk.
