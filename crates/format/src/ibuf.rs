//! (under construction: ibuf)
