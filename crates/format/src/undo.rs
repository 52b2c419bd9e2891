//! (under construction: undo)
