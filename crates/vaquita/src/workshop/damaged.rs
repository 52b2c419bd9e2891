//! Pages whose checksum does not hold, for those who read rows: kept back, or handed out as if it held.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;

use vaquita_base::PageNo;
use vaquita_format::checksum::{self, ChecksumAlgorithm};
use vaquita_format::{Corruption, PageSize};

use super::source::{PageSource, ReadError};

/// A tablespace of which every page has been checked.
pub struct CheckedPages<'a> {
    src: &'a dyn PageSource,
    take_damaged: bool,
    damaged: RefCell<BTreeMap<PageNo, Corruption>>,
}

impl<'a> CheckedPages<'a> {
    /// The pages of `src`; those that fail their checksum only with `take_damaged`, and then with one that holds.
    pub fn new(src: &'a dyn PageSource, take_damaged: bool) -> CheckedPages<'a> {
        CheckedPages { src, take_damaged, damaged: RefCell::default() }
    }

    /// The pages that were handed out all the same, in order.
    pub fn damaged(&self) -> Vec<PageNo> {
        self.damaged.borrow().keys().copied().collect()
    }

    /// What is wrong with a page that was handed out all the same.
    pub fn damage_of(&self, no: PageNo) -> Option<Corruption> {
        self.damaged.borrow().get(&no).cloned()
    }
}

impl PageSource for CheckedPages<'_> {
    fn page_size(&self) -> PageSize {
        self.src.page_size()
    }

    fn n_pages(&self) -> u32 {
        self.src.n_pages()
    }

    fn page(&self, no: PageNo) -> Result<Cow<'_, [u8]>, ReadError> {
        let page = self.src.page(no)?;
        match checksum::verify(&page, self.page_size(), ChecksumAlgorithm::Innodb) {
            Ok(_) => Ok(page),
            Err(e) if !self.take_damaged => Err(ReadError::Page(e)),
            Err(e) => {
                self.damaged.borrow_mut().insert(no, e);
                let mut page = page.into_owned();
                checksum::stamp(&mut page, self.page_size(), ChecksumAlgorithm::Crc32);
                Ok(Cow::Owned(page))
            }
        }
    }
}
