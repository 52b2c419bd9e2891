//! Files that a real MySQL 5.6 server wrote: the same first pages, and allocation goes on in them.

use crate::space_allocation::bed::Bed;
use std::path::PathBuf;
use vaquita_base::codec::get_u32;
use vaquita_base::{PageId, PageNo, SpaceId};
use vaquita_format::flags::SpaceFlags;
use vaquita_format::flst::{FileAddress, SegmentHeader};
use vaquita_format::fsp::inode::{self, Inode};
use vaquita_format::fsp::{SpaceHeader, is_bitmap_page, is_descriptor_page};
use vaquita_format::{PageSize, fil};
use vaquita_storage::fsp::{self, Direction, HeaderPlace, Reservation};

fn fixture(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testing/fixtures/mysql56").join(name);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A page without what every writing changes: checksums and LSN.
fn comparable(page: &[u8]) -> Vec<u8> {
    let mut page = page.to_vec();
    page[..4].fill(0);
    page[fil::LSN..fil::LSN + 8].fill(0);
    let end = page.len();
    page[end - 8..].fill(0);
    page
}

#[test]
fn a_new_table_has_the_pages_of_the_server() {
    // File, indexes with trees, pages of the file.
    for (name, indexes, size) in [
        ("empty.ibd", 1, 6),
        ("types_dynamic.ibd", 1, 6),
        ("fts.ibd", 2, 7),
        ("parent.ibd", 2, 7),
        ("child.ibd", 3, 8),
        ("uniqclust.ibd", 3, 8),
    ] {
        let real = fixture(name);
        let real: Vec<&[u8]> = real.chunks(16384).collect();
        let header = SpaceHeader::read(real[0]);
        let bed = Bed::new(16384);
        bed.create(header.space, SpaceFlags::decode(header.flags).unwrap(), 4);
        for n in 0..indexes {
            bed.change(|mtr| {
                let top = fsp::create_segment(mtr, header.space, HeaderPlace::OnFirstPage { offset: 84 })?;
                assert_eq!(mtr.id(top.page).page_no, PageNo(3 + n));
                fsp::create_segment(mtr, header.space, HeaderPlace::On { page: top.page, offset: 74 })
            })
            .unwrap();
        }
        assert_eq!((bed.size_of(header.space), real.len() as u32), (size, size), "{name}");
        for no in [0, 2] {
            let ours = bed.page_of(header.space, no);
            assert_eq!(comparable(&ours), comparable(real[no as usize]), "{name}: page {no}");
        }
        // The bitmap says how full secondary leaf pages are; the rest of it and its header are the same.
        let (ours, theirs) = (bed.page_of(header.space, 1), real[1]);
        assert_eq!(comparable(&ours)[..94], comparable(theirs)[..94], "{name}: page 1");
        // The segment headers on the root pages.
        for root in 3..3 + indexes {
            let ours = bed.page_of(header.space, root);
            assert_eq!(ours[74..94], real[root as usize][74..94], "{name}: root {root}");
        }
        bed.validate_space(header.space);
    }
}

/// Puts the pages of the space management of a file into a tablespace of the same number.
fn load(file: &[u8]) -> (Bed, SpaceId) {
    let header = SpaceHeader::read(file);
    let flags = SpaceFlags::decode(header.flags).unwrap();
    let bed = Bed::new(16384);
    bed.create(header.space, flags, (file.len() / 16384) as u32);
    for (no, page) in file.chunks(16384).enumerate() {
        let no = PageNo(no as u32);
        let wanted = is_descriptor_page(PageSize::DEFAULT, no)
            || is_bitmap_page(PageSize::DEFAULT, no)
            || fil::page_type(page) == Some(fil::PageType::Inode);
        if wanted {
            bed.change(|mtr| {
                let held = mtr.create_page(PageId::new(header.space, no))?;
                mtr.write_u16(held, fil::TYPE, fil::raw_type(page));
                mtr.write_bytes(held, fil::BODY, &page[fil::BODY..page.len() - 8]);
                Ok(())
            })
            .unwrap();
        }
    }
    (bed, header.space)
}

fn segments(file: &[u8], space: SpaceId) -> Vec<SegmentHeader> {
    let size = PageSize::DEFAULT;
    let mut found = Vec::new();
    for (no, page) in file.chunks(16384).enumerate() {
        if fil::page_type(page) == Some(fil::PageType::Inode) {
            for slot in (0..size.inodes_per_page()).filter(|&s| !Inode::of(size, page, s).is_free()) {
                let address = FileAddress::new(PageNo(no as u32), inode::offset(size, slot) as u16);
                found.push(SegmentHeader { space, inode: address });
            }
        }
    }
    found
}

#[test]
fn allocation_goes_on_in_files_of_the_server() {
    for name in [
        "empty.ibd",
        "tree.ibd",
        "vkey.ibd",
        "child.ibd",
        "tree_redundant.ibd",
        "blob_compact.ibd",
        "blob_dynamic.ibd",
        "nopk.ibd",
        "fts.ibd",
        "defaults@0020@0p@002d1.ibd",
    ] {
        let file = fixture(name);
        let (bed, space) = load(&file);
        bed.validate_space(space);
        let segments = segments(&file, space);
        assert!(segments.len() >= 2, "{name}");
        let mut taken = Vec::new();
        for n in 0..150 {
            for &segment in &segments {
                let page = bed
                    .change(|mtr| {
                        fsp::reserve_free_extents(mtr, space, 3, Reservation::Normal)?;
                        fsp::allocate_page(mtr, segment, PageNo(n), Direction::Up)
                    })
                    .unwrap();
                taken.push((segment, page));
            }
        }
        bed.validate_space(space);
        for &(segment, page) in taken.iter().rev() {
            bed.change(|mtr| fsp::free_page(mtr, segment, page)).unwrap();
        }
        bed.validate_space(space);
        for segment in segments {
            while !bed.change(|mtr| fsp::free_segment_step(mtr, segment, None)).unwrap() {}
        }
        assert_eq!(bed.validate_space(space).segments, [], "{name}");
    }
}

/// The server stopped growing `tree.ibd` at 11 extents: at 10 a reservation of three would not have held.
#[test]
fn reservations_fit_the_sizes_of_the_server() {
    let file = fixture("tree.ibd");
    let (bed, space) = load(&file);
    let reserve =
        |n| bed.change(|mtr| fsp::reserve_free_extents(mtr, space, n, Reservation::Normal)).unwrap();
    assert_eq!(get_u32(&file, 46), 704);
    reserve(3);
    assert_eq!(bed.size_of(space), 704);
    assert_eq!(bed.free_extents_of(space), 6);
    reserve(4);
    assert_eq!(bed.size_of(space), 768);
}
