//! The engine API.
#![forbid(unsafe_code)]
