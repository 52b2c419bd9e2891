//! (under construction: frm)
