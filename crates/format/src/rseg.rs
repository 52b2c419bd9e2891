//! (under construction: rseg)
