//! (under construction: record)
