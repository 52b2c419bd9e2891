//! (under construction: index_page)
