//! (under construction: redo_apply)
