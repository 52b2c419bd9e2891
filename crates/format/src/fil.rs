//! (under construction: fil)
