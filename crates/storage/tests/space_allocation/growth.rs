//! Sizes of tablespaces, reservations, descriptor pages, full disks.

use crate::space_allocation::bed::{Bed, SPACE};
use vaquita_base::{PageNo, SpaceId};
use vaquita_format::fil::{self, PageType};
use vaquita_storage::Error;
use vaquita_storage::fsp::{self, Direction, HeaderPlace, Reservation};

fn reserve(bed: &Bed, n: u32, kind: Reservation) -> vaquita_storage::Result<()> {
    bed.change(|mtr| fsp::reserve_free_extents(mtr, SPACE, n, kind))
}

#[test]
fn tables_grow_by_pages_then_extents_then_four() {
    // Page size, then sizes in pages after each growth from a whole number of extents on.
    let cases: [(usize, &[u32]); 3] = [
        // 16K: extents of 64 pages; one by one below 32 MiB.
        (16384, &[64, 128, 192, 256]),
        // 4K: extents of 256 pages.
        (4096, &[256, 512, 768]),
        // 64K: extents of 64 pages.
        (65536, &[64, 128, 192]),
    ];
    for (page_size, sizes) in cases {
        let bed = Bed::with_table(page_size);
        let segment = bed.create_segment();
        let mut seen = vec![bed.size()];
        while bed.size() < *sizes.last().unwrap() {
            bed.change(|mtr| fsp::allocate_page(mtr, segment, PageNo(0), Direction::Up)).unwrap();
            if seen.last() != Some(&bed.size()) {
                seen.push(bed.size());
            }
        }
        let extent = sizes[0];
        let small: Vec<u32> = seen.iter().copied().filter(|&s| s < extent).collect();
        assert!(small.windows(2).all(|w| w[1] == w[0] + 1), "{small:?}");
        let large: Vec<u32> = seen.iter().copied().filter(|&s| s > extent).collect();
        assert!(large.iter().all(|s| sizes.contains(s)), "{large:?} of {sizes:?}");
    }
}

#[test]
fn large_tables_grow_by_four_megabytes() {
    // The step changes at min(32 MiB, bytes of a page) pages: 2,048 for 16K pages, 4,096 for 4K pages.
    for (page_size, extent, limit) in [(16384, 64, 2_048), (4096, 256, 4_096), (8192, 128, 4_096)] {
        let (bed, _) = Bed::with_large_table(page_size);
        let mut sizes = Vec::new();
        let mut n = 1;
        while bed.size() < 2 * limit {
            reserve(&bed, n, Reservation::Cleaning).unwrap();
            sizes.push(bed.size());
            n += 1;
        }
        let steps: Vec<u32> = sizes.windows(2).map(|w| w[1] - w[0]).filter(|&d| d > 0).collect();
        let below = sizes.iter().filter(|&&s| s <= limit && s >= extent);
        assert!(below.clone().count() > 5);
        assert!(below.clone().all(|s| s % extent == 0));
        assert!(steps.contains(&extent) && steps.contains(&(4 * extent)), "{steps:?}");
        let first_large = sizes.windows(2).find(|w| w[1] - w[0] == 4 * extent).unwrap();
        assert_eq!(first_large[0], limit);
    }
}

#[test]
fn a_reservation_leaves_extents_for_others() {
    let bed = Bed::with_table(16384);
    let segment = bed.create_segment();
    bed.allocate_n(segment, 40);
    // More than 2 + 1% + n, as InnoDB has it.
    for n in [6, 9, 12] {
        reserve(&bed, n, Reservation::Normal).unwrap();
        let reserve = 2 + bed.size() / 64 / 100;
        assert_eq!(bed.free_extents(), reserve + n + 1);
    }
    let size = bed.size();
    reserve(&bed, 13, Reservation::Undo).unwrap();
    reserve(&bed, 14, Reservation::Cleaning).unwrap();
    assert_eq!(bed.size(), size, "the others may use what normal operations leave");
    reserve(&bed, 15, Reservation::Cleaning).unwrap();
    assert_eq!(bed.size(), size + 64);
}

#[test]
fn small_tables_reserve_two_pages() {
    let bed = Bed::with_table(16384);
    let segment = bed.create_segment();
    for _ in 0..50 {
        reserve(&bed, 3, Reservation::Normal).unwrap();
        let used = bed.validate().header.frag_n_used;
        assert_eq!(bed.size(), (used + 2).max(4));
        bed.change(|mtr| fsp::allocate_page(mtr, segment, PageNo(0), Direction::Up)).unwrap();
        if bed.size() >= 64 {
            break;
        }
    }
}

#[test]
fn the_system_tablespace_grows_by_its_increment() {
    let bed = Bed::with_table(16384);
    let before = bed.size_of(SpaceId::SYSTEM);
    let segment = bed
        .change(|mtr| fsp::create_segment(mtr, SpaceId::SYSTEM, HeaderPlace::OnFirstPage { offset: 62 }))
        .unwrap()
        .header;
    while bed.size_of(SpaceId::SYSTEM) == before {
        bed.change(|mtr| {
            fsp::reserve_free_extents(mtr, SpaceId::SYSTEM, 1, Reservation::Undo)?;
            fsp::allocate_page(mtr, segment, PageNo(0), Direction::Up)
        })
        .unwrap();
    }
    let increment = (bed.autoextend_increment_bytes() / 16384) as u32;
    assert_eq!(bed.size_of(SpaceId::SYSTEM), before + increment);
    bed.validate_space(SpaceId::SYSTEM);
}

#[test]
fn descriptor_pages_come_with_their_ranges() {
    let bed = Bed::with_table(4096);
    let segment = bed.create_segment();
    bed.allocate_n(segment, 14_000);
    let summary = bed.validate();
    assert!(summary.header.free_limit > 3 * 4_096);
    for first in [4_096, 8_192, 12_288] {
        let (descriptors, bitmap) = (bed.page(first), bed.page(first + 1));
        assert_eq!(fil::page_type(&descriptors), Some(PageType::Xdes));
        assert_eq!(fil::page_type(&bitmap), Some(PageType::IbufBitmap));
        assert_eq!((fil::page_no(&descriptors), fil::space_id(&descriptors)), (PageNo(first), SPACE));
        // The area of the space header is zero there.
        assert!(descriptors[38..150].iter().all(|&b| b == 0));
        assert!(bitmap[38..4_088].iter().all(|&b| b == 0));
        assert!(bed.is_allocated(first) && bed.is_allocated(first + 1) && !bed.is_allocated(first + 2));
    }
    // Their extents are for fragments: two pages used in each of three, and the first one.
    assert_eq!(summary.header.free_frag.len, 4);
    bed.free_segment(segment);
    let summary = bed.validate();
    assert_eq!(summary.header.frag_n_used, 2 * summary.header.free_frag.len);
}

#[test]
fn a_full_disk_is_reported_and_leaves_the_tablespace_valid() {
    for page_size in [4096, 16384] {
        let bed = Bed::with_table(page_size);
        let segment = bed.create_segment();
        bed.allocate_n(segment, 300);
        let pages = bed.size();
        bed.limit_disk_to(0);
        // What the file has can still be used, by operations that do not reserve.
        let mut taken = Vec::new();
        let error = loop {
            match bed.change(|mtr| {
                fsp::create_page(mtr, segment, PageNo(0), Direction::Up).map(|p| mtr.id(p).page_no)
            }) {
                Ok(page) => taken.push(page),
                Err(e) => break e,
            }
        };
        assert!(matches!(error, Error::SpaceFull { space: SPACE, .. }), "{error}");
        bed.validate();
        assert_eq!(bed.size(), pages);
        let before: Vec<_> = (0..3).map(|n| bed.page(n)).collect();
        for kind in [Reservation::Normal, Reservation::Undo, Reservation::Cleaning] {
            let error = reserve(&bed, 2, kind).unwrap_err();
            assert!(matches!(error, Error::SpaceFull { .. }), "{error}");
        }
        assert!(
            bed.change(|mtr| fsp::create_segment(mtr, SPACE, HeaderPlace::OnFirstPage { offset: 84 }))
                .is_err()
        );
        assert_eq!(
            (0..3).map(|n| bed.page(n)).collect::<Vec<_>>(),
            before,
            "a refused request changes nothing"
        );
        // Freed pages can be had again, and growth goes on when there is room.
        for &page in &taken {
            bed.change(|mtr| fsp::free_page(mtr, segment, page)).unwrap();
        }
        reserve(&bed, 0, Reservation::Cleaning).unwrap();
        bed.unlimit_disk();
        reserve(&bed, bed.free_extents(), Reservation::Normal).unwrap();
        assert!(bed.size() > pages);
        bed.validate();
    }
}

#[test]
fn when_a_whole_step_does_not_fit_one_extent_is_tried() {
    let (bed, _) = Bed::with_large_table(16384);
    while bed.size() < 2_048 {
        let n = bed.free_extents();
        reserve(&bed, n, Reservation::Cleaning).unwrap();
    }
    let (n, size) = (bed.free_extents(), bed.size());
    bed.limit_disk_to(64 * 16384);
    reserve(&bed, n, Reservation::Cleaning).unwrap();
    assert_eq!(bed.size(), size + 64);
    assert!(reserve(&bed, n + 1, Reservation::Cleaning).is_err());
    bed.validate();
}

#[test]
fn a_file_longer_than_its_header_says_is_grown_into() {
    let bed = Bed::with_table(16384);
    let segment = bed.create_segment();
    bed.grow_file(2_000);
    bed.allocate_n(segment, 200);
    assert!(bed.size() > 200 && bed.size() < 1_000);
    assert_eq!(bed.file_size(), 2_000);
    bed.validate();
}
