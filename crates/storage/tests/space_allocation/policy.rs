//! Which page is handed out, and what becomes of pages given back.

use crate::space_allocation::bed::{Bed, SPACE};
use vaquita_base::{PageId, PageNo, SegmentId};
use vaquita_format::fsp::inode::{self, Inode};
use vaquita_format::{PageSize, flst::SegmentHeader};
use vaquita_storage::Error;
use vaquita_storage::fsp::{self, Direction, HeaderPlace, SegmentUsage};

fn allocate(bed: &Bed, segment: SegmentHeader, hint: u32, direction: Direction) -> u32 {
    bed.change(|mtr| fsp::allocate_page(mtr, segment, PageNo(hint), direction)).unwrap().get()
}

fn usage(bed: &Bed, segment: SegmentHeader) -> (u64, u64) {
    let SegmentUsage { reserved, used } = bed.read(|mtr| fsp::segment_usage(mtr, segment)).unwrap();
    (reserved, used)
}

/// The two segments of an index: the root page on page 3, the leaf segment empty.
fn index(bed: &Bed) -> (SegmentHeader, SegmentHeader) {
    bed.change(|mtr| {
        let top = fsp::create_segment(mtr, SPACE, HeaderPlace::OnFirstPage { offset: 84 })?;
        let leaf = fsp::create_segment(mtr, SPACE, HeaderPlace::On { page: top.page, offset: 74 })?;
        Ok((top.header, leaf.header))
    })
    .unwrap()
}

#[test]
fn fragments_come_first_then_extents() {
    let bed = Bed::with_table(16384);
    let (_, leaf) = index(&bed);
    // Pages 4.. of the first extent, one after the other, up to half an extent.
    for n in 0..32 {
        assert_eq!(allocate(&bed, leaf, 0, Direction::Up), 4 + n);
    }
    assert_eq!(usage(&bed, leaf), (32, 32));
    // Then extents: the first extent is shared, so the next one.
    assert_eq!(allocate(&bed, leaf, 36, Direction::Up), 64);
    assert_eq!(usage(&bed, leaf), (96, 33));
    for n in 1..64 {
        assert_eq!(allocate(&bed, leaf, 64 + n, Direction::Up), 64 + n);
    }
    assert_eq!(usage(&bed, leaf), (96, 96));
    bed.validate();
}

#[test]
fn a_free_hint_in_an_own_extent_is_taken() {
    let bed = Bed::with_table(16384);
    let (_, leaf) = index(&bed);
    bed.allocate_n(leaf, 33);
    assert_eq!(allocate(&bed, leaf, 100, Direction::Up), 100);
    // Used now: the next free one after it, in whatever direction the index grows.
    assert_eq!(allocate(&bed, leaf, 100, Direction::None), 101);
    assert_eq!(allocate(&bed, leaf, 127, Direction::None), 127);
    // Around the extent: its first page is used.
    assert_eq!(allocate(&bed, leaf, 127, Direction::None), 65);
    bed.validate();
}

#[test]
fn a_full_enough_segment_follows_hint_or_direction_into_new_extents() {
    let bed = Bed::with_table(16384);
    let (top, leaf) = index(&bed);
    bed.allocate_n(leaf, 96);
    bed.change(|mtr| fsp::reserve_free_extents(mtr, SPACE, 3, fsp::Reservation::Normal)).unwrap();
    // 3 with direction down: the last page of the first free extent.
    assert_eq!(allocate(&bed, leaf, 0, Direction::Down), 191);
    assert_eq!(usage(&bed, leaf), (160, 97));
    // Unused pages: 63 of 160, not less than an eighth. So 5: the first page of the NOT_FULL extent.
    assert_eq!(allocate(&bed, leaf, 0, Direction::Up), 128);
    for _ in 0..55 {
        allocate(&bed, leaf, 128, Direction::None);
    }
    // 2: hint in a free extent, 7 of 160 unused.
    assert_eq!(usage(&bed, leaf), (160, 153));
    assert_eq!(allocate(&bed, leaf, 261, Direction::None), 261);
    assert_eq!(usage(&bed, leaf), (224, 154));
    // 2 does not apply to a segment that still lives in fragments.
    assert_eq!(allocate(&bed, top, 330, Direction::Up), 36);
    // A hint beyond the end is no hint.
    assert_eq!(allocate(&bed, top, u32::MAX, Direction::Up), 37);
    bed.validate();
}

#[test]
fn small_pages_have_larger_extents() {
    let bed = Bed::with_table(4096);
    let (_, leaf) = index(&bed);
    for n in 0..128 {
        assert_eq!(allocate(&bed, leaf, 0, Direction::Up), 4 + n);
    }
    assert_eq!(allocate(&bed, leaf, 0, Direction::Up), 256);
    assert_eq!(usage(&bed, leaf), (128 + 256, 129));
    bed.validate();
}

#[test]
fn a_large_segment_takes_extents_ahead() {
    let bed = Bed::with_table(16384);
    let (_, leaf) = index(&bed);
    bed.allocate_n(leaf, 32 + 39 * 64);
    let (reserved, used) = usage(&bed, leaf);
    assert_eq!(reserved, used);
    let mut unused_max = 0;
    for _ in 0..12 {
        bed.allocate_n(leaf, 64);
        let (reserved, used) = usage(&bed, leaf);
        unused_max = unused_max.max(reserved - used);
    }
    assert!((64..=4 * 64).contains(&unused_max), "{unused_max} pages unused");
    bed.validate();
}

#[test]
fn what_is_freed_is_found_again() {
    let bed = Bed::with_table(16384);
    let (top, leaf) = index(&bed);
    bed.allocate_n(leaf, 40);
    let before = bed.free_extents();
    // A fragment: its slot and its page are the next to be taken.
    bed.change(|mtr| fsp::free_page(mtr, leaf, PageNo(10))).unwrap();
    assert!(!bed.is_allocated(10) && bed.is_allocated(11));
    assert_eq!(usage(&bed, leaf).1, 39);
    assert_eq!(allocate(&bed, top, 5, Direction::None), 10);
    // The pages of an extent: with the last one the extent goes back.
    for page in 64..72 {
        assert_eq!(usage(&bed, leaf).0, 31 + 64);
        bed.change(|mtr| fsp::free_page(mtr, leaf, PageNo(page))).unwrap();
        bed.validate();
    }
    assert_eq!(usage(&bed, leaf), (31, 31));
    assert_eq!(bed.free_extents(), before + 1);
}

#[test]
fn freeing_what_is_not_owned_is_refused_and_changes_nothing() {
    let bed = Bed::with_table(16384);
    let (top, leaf) = index(&bed);
    bed.allocate_n(leaf, 40);
    let before: Vec<_> = (0..4).map(|n| bed.page(n)).collect();
    // Free; another segment's fragment; another segment's extent; fixed pages; the inode page; beyond the limit.
    for (segment, page) in [
        (leaf, 63),
        (leaf, 80),
        (leaf, 3),
        (top, 4),
        (top, 64),
        (leaf, 0),
        (leaf, 1),
        (leaf, 2),
        (leaf, 1_000_000),
        (leaf, u32::MAX),
    ] {
        let error = bed.change(|mtr| fsp::free_page(mtr, segment, PageNo(page))).unwrap_err();
        assert!(matches!(error, Error::Structure { .. }), "page {page}: {error}");
    }
    assert_eq!((0..4).map(|n| bed.page(n)).collect::<Vec<_>>(), before);
    bed.validate();
}

#[test]
fn a_segment_is_freed_step_by_step_and_its_header_page_last() {
    let bed = Bed::with_table(16384);
    let (top, leaf) = index(&bed);
    bed.allocate_n(leaf, 32 + 64 + 10);
    bed.allocate_n(top, 5);
    let step = |segment, keep: Option<u32>| {
        let done = bed.change(|mtr| fsp::free_segment_step(mtr, segment, keep.map(PageNo))).unwrap();
        bed.validate();
        done
    };
    // Two extents, 32 fragments; the last one takes the inode along.
    let mut steps = 1;
    while !step(leaf, None) {
        steps += 1;
    }
    assert_eq!(steps, 34);
    let error = bed.read(|mtr| fsp::segment_usage(mtr, leaf)).unwrap_err();
    assert!(error.to_string().contains("slot is free"), "{error}");
    // Five fragments beside the root.
    let mut steps = 1;
    while !step(top, Some(3)) {
        steps += 1;
    }
    assert_eq!(steps, 5);
    assert_eq!(usage(&bed, top), (1, 1));
    assert!(bed.is_allocated(3) && bed.is_allocated(2));
    assert!(step(top, Some(3)), "nothing is left but the page to keep");
    assert!(step(top, None));
    // With the last segment the inode page went; what is left is the empty tablespace.
    assert!(!bed.is_allocated(3) && !bed.is_allocated(2));
    let summary = bed.validate();
    assert_eq!(summary.segments, []);
    assert_eq!((summary.header.frag_n_used, summary.header.free_frag.len), (2, 1));
    assert_eq!(summary.header.next_segment_id, SegmentId(3));
}

#[test]
fn inode_pages_come_and_go() {
    for size in [4096, 16384] {
        let bed = Bed::with_table(size);
        let per_page = PageSize::new(size).unwrap().inodes_per_page();
        let segments: Vec<_> = (0..2 * per_page + 1).map(|_| bed.create_segment()).collect();
        let summary = bed.validate();
        assert_eq!((summary.header.inodes_full.len, summary.header.inodes_free.len), (2, 1));
        // A slot in the middle of a full page becomes free, and is the next to be used.
        let freed = segments[3];
        bed.free_segment(freed);
        let summary = bed.validate();
        assert_eq!((summary.header.inodes_full.len, summary.header.inodes_free.len), (1, 2));
        let last = *segments.last().unwrap();
        bed.free_segment(last);
        assert_eq!(bed.validate().header.inodes_free.len, 1);
        let again = bed.create_segment();
        assert_eq!(again.inode, freed.inode);
        let page = bed.page(again.inode.page.get());
        let inode = Inode::at(PageSize::new(size).unwrap(), &page, again.inode.offset).unwrap();
        assert_eq!(inode.segment_id(), SegmentId(2 * per_page as u64 + 2));
        assert_eq!(inode::n_used(PageSize::new(size).unwrap(), &page), per_page);
        bed.validate();
    }
}

#[test]
fn segment_headers_are_read_and_checked() {
    let bed = Bed::with_table(16384);
    let (top, leaf) = index(&bed);
    assert_eq!(bed.segment_header(3, 84).unwrap(), top);
    assert_eq!(bed.segment_header(3, 74).unwrap(), leaf);
    assert_eq!(top.inode.offset, 50);
    assert_eq!(leaf.inode.offset, 242);
    assert!(bed.segment_header(3, 100).is_err());
}

#[test]
fn an_emptied_tablespace_is_a_new_one() {
    let bed = Bed::with_table(4096);
    let (_, leaf) = index(&bed);
    bed.allocate_n(leaf, 5_000);
    bed.init(4);
    let summary = bed.validate();
    assert_eq!((summary.header.size, summary.header.free_limit, summary.segments.len()), (4, 256, 0));
    let (_, leaf) = index(&bed);
    assert_eq!(leaf.inode.page, PageNo(2));
    bed.allocate_n(leaf, 5_000);
    bed.validate();
}

/// Redo of what a page was before may still be applied to it after a crash: a failed reuse must not touch it.
#[test]
fn a_failed_reuse_leaves_the_old_page() {
    let bed = Bed::with_table(16384);
    let (_, leaf) = index(&bed);
    bed.allocate_n(leaf, 5);
    bed.change(|mtr| {
        let page = mtr.get_exclusive(PageId::new(SPACE, PageNo(6)))?;
        mtr.write_bytes(page, 5_000, b"what was here before");
        Ok(())
    })
    .unwrap();
    bed.change(|mtr| fsp::free_page(mtr, leaf, PageNo(6))).unwrap();
    let before: Vec<_> = [0, 2, 6].map(|n| bed.page(n)).into();
    let error = bed.change(|mtr| {
        let page = fsp::create_page(mtr, leaf, PageNo(6), Direction::None)?;
        assert_eq!(mtr.id(page).page_no, PageNo(6));
        assert!(mtr.page(page)[38..].iter().all(|&b| b == 0));
        fsp::free_page(mtr, leaf, PageNo(0))
    });
    assert!(error.is_err());
    assert_eq!([0, 2, 6].map(|n| bed.page(n)).to_vec(), before);
}
