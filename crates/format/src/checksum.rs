//! (under construction: checksum)
