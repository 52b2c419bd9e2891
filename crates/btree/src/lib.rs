//! Index trees on mini-transactions.
#![forbid(unsafe_code)]
