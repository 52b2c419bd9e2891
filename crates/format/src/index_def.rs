//! (under construction: index_def)
