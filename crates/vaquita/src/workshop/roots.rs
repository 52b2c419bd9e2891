//! Finds the trees of a tablespace whose metadata is missing: [`vaquita_format::roots`] on whatever has its pages.

use super::source::PageSource;
use vaquita_base::PageNo;
pub use vaquita_format::roots::Root;

/// All roots of a tablespace, in the order of their index numbers, which is that of their creation.
pub fn find_roots(src: &dyn PageSource) -> Vec<Root> {
    vaquita_format::roots::find_roots(src.page_size(), src.n_pages(), &|no| src.page(no).ok())
}

/// The root at this page, if it is one.
pub fn root_at(src: &dyn PageSource, no: PageNo) -> Option<Root> {
    let page = src.page(no).ok()?;
    Root::of_page(&page, no)
}
