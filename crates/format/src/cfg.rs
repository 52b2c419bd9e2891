//! (under construction: cfg)
