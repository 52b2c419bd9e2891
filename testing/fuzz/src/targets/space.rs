//! Space management: header, extent descriptors, inodes and their lists, as one small tablespace.
//!
//! The input is a patch list over a file of zeros: page number, offset in sixteenths of the page, length, bytes. So a
//! kilobyte of input is a whole tablespace whose lists can be wrong in every way.

use std::collections::BTreeMap;

use vaquita_base::ids::PageNo;
use vaquita_format::fsp::{check, header, inode, xdes};
use vaquita_format::{PageSize, ibuf};

use crate::seeds;

const PAGES: u32 = 96;

/// Checks the whole space; what passes can be walked.
pub(super) fn space(data: &[u8]) {
    let Some(pages) = File::patched(data) else { return };
    let summary = check::check_space(&|no| pages.page(no));
    let first = pages.page(PageNo(0)).expect("page 0 is within the file");
    let head = header::SpaceHeader::read(first);
    let _ = head.check();
    if let Ok(summary) = summary {
        assert_eq!(summary.header, head);
        let counted: u32 = summary.extents.iter().sum();
        assert!(
            counted <= PAGES.div_ceil(summary.page_size.extent_pages()).max(head.free_limit),
            "{counted} extents"
        );
    }
    for no in [0, 1, 2, 3] {
        let page = pages.page(PageNo(no)).expect("within the file");
        views(pages.size, page, data);
    }
}

/// Every page read as an inode page, a descriptor page and a bitmap page.
fn views(size: PageSize, page: &[u8], data: &[u8]) {
    let used = inode::n_used(size, page);
    assert_eq!(inode::find_free_slot(size, page).is_none(), used == size.inodes_per_page());
    for number in 0..4 {
        let _ = xdes::Xdes::of(size, page, PageNo(number * size.extent_pages())).state();
        let bits = xdes::Xdes::of(size, page, PageNo(number * size.extent_pages())).bitmap();
        assert_eq!(bits.find_free(number).is_none(), bits.is_full());
        let _ = ibuf::get(size, page, PageNo(number));
    }
    if let Some(&[high, low]) = data.first_chunk::<2>() {
        let offset = u16::from(high) << 8 | u16::from(low);
        if let Ok(inode) = inode::Inode::at(size, page, offset) {
            let _ = (inode.reserved_and_used(size), inode.fragments().count(), inode.first_empty_fragment());
        }
    }
}

struct File {
    size: PageSize,
    zeros: Vec<u8>,
    pages: BTreeMap<u32, Vec<u8>>,
}

impl File {
    /// The file that `data` describes; its page size is what page 0 says.
    fn patched(data: &[u8]) -> Option<File> {
        let first = patches(data).find(|patch| patch.page == 0 && patch.unit == 0)?;
        let size = header::read_flags(first.bytes).ok()?.page_size();
        let zeros = vec![0; size.physical()];
        let mut pages = BTreeMap::new();
        for patch in patches(data) {
            let page: &mut Vec<u8> = pages.entry(patch.page % PAGES).or_insert_with(|| zeros.clone());
            let at = usize::from(patch.unit) * (size.physical() / 256);
            let len = patch.bytes.len().min(page.len() - at);
            page[at..at + len].copy_from_slice(&patch.bytes[..len]);
        }
        Some(File { size, zeros, pages })
    }

    fn page(&self, no: PageNo) -> Option<&[u8]> {
        (no.get() < PAGES).then(|| self.pages.get(&no.get()).unwrap_or(&self.zeros).as_slice())
    }
}

struct Patch<'a> {
    page: u32,
    /// Place in the page, in units of a 256th of it.
    unit: u8,
    bytes: &'a [u8],
}

fn patches(mut data: &[u8]) -> impl Iterator<Item = Patch<'_>> {
    std::iter::from_fn(move || {
        let (&[page, unit, low, high], rest) = data.split_first_chunk::<4>()?;
        let len = usize::from(u16::from_le_bytes([low, high])).min(rest.len());
        let (bytes, after) = rest.split_at(len);
        data = after;
        Some(Patch { page: page.into(), unit, bytes })
    })
}

/// The fronts of pages 0 and 2 of every fixture: header, descriptors, inodes.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (_, bytes) in seeds::files(&["ibd"]) {
        let Ok(flags) = header::read_flags(&bytes) else { continue };
        let size = flags.page_size().physical();
        let mut seed = Vec::new();
        for (page, front) in [(0u8, 640), (2u8, 1024)] {
            let front = &bytes[usize::from(page) * size..][..front.min(size)];
            seed.extend([page, 0]);
            seed.extend((front.len() as u16).to_le_bytes());
            seed.extend(front);
        }
        seeds.push(seed);
    }
    seeds
}
