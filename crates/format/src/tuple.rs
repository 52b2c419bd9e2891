//! (under construction: tuple)
