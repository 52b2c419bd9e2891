//! (under construction: charset)
