//! (under construction: fsp)
