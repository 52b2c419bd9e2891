//! (under construction: flags)
