//! What a check knows of every page: one byte each.

use vaquita_base::PageNo;

/// It cannot be read, fails its checksum, or carries another number: already reported.
pub(in crate::workshop) const BAD: u8 = 1;
/// All zeros.
pub(in crate::workshop) const FRESH: u8 = 2;
/// The extent descriptors call it used.
pub(in crate::workshop) const ALLOCATED: u8 = 4;
/// Something refers to it.
pub(in crate::workshop) const REACHED: u8 = 8;

/// Marks of all pages of a tablespace.
#[derive(Debug)]
pub(in crate::workshop) struct Marks {
    bytes: Vec<u8>,
}

impl Marks {
    pub(in crate::workshop) fn new(n_pages: u32) -> Marks {
        Marks { bytes: vec![0; n_pages as usize] }
    }

    pub(in crate::workshop) fn set(&mut self, no: PageNo, mark: u8) {
        if let Some(byte) = self.bytes.get_mut(no.get() as usize) {
            *byte |= mark;
        }
    }

    /// Whether a page has the mark; pages beyond the end have none.
    pub(in crate::workshop) fn has(&self, no: PageNo, mark: u8) -> bool {
        self.bytes.get(no.get() as usize).is_some_and(|b| b & mark != 0)
    }

    pub(in crate::workshop) fn exists(&self, no: PageNo) -> bool {
        (no.get() as usize) < self.bytes.len()
    }

    /// Pages with all marks of `with` and none of `without`.
    pub(in crate::workshop) fn pages(&self, with: u8, without: u8) -> impl Iterator<Item = PageNo> {
        let wanted = move |b: &u8| b & with == with && b & without == 0;
        self.bytes.iter().enumerate().filter(move |(_, b)| wanted(b)).map(|(no, _)| PageNo(no as u32))
    }
}
