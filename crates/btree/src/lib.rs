//! Index trees on mini-transactions.
