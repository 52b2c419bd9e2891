//! (under construction: text)
