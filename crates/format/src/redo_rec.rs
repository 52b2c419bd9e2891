//! (under construction: redo_rec)
