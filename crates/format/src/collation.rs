//! (under construction: collation)
