//! (under construction: value)
