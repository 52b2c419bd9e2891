//! Plans of statements: names, access paths, join order; EXPLAIN.
