//! (under construction: column)
