//! (under construction: blob)
