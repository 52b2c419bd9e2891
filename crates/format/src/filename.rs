//! (under construction: filename)
