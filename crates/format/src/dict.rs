//! (under construction: dict)
