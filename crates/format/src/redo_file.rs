//! (under construction: redo_file)
