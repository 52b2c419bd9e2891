//! (under construction: zip)
