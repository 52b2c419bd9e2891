//! (under construction: flst)
