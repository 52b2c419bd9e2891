//! Damaged allocation pages: errors, never a panic, an endless loop or a half change.

use crate::space_allocation::bed::{Bed, SPACE};
use vaquita_base::{PageId, PageNo, Rng};
use vaquita_format::flst::SegmentHeader;
use vaquita_storage::Error;
use vaquita_storage::fsp::{self, Direction, HeaderPlace, Reservation};

fn bed_with_segments() -> (Bed, Vec<SegmentHeader>) {
    let bed = Bed::with_table(4096);
    let segments: Vec<_> = (0..9).map(|_| bed.create_segment()).collect();
    for (n, &segment) in segments.iter().enumerate() {
        bed.allocate_n(segment, 60 * n as u32);
    }
    bed.validate();
    (bed, segments)
}

fn overwrite(bed: &Bed, page: u32, offset: usize, bytes: &[u8]) {
    bed.change(|mtr| {
        let page = mtr.get_exclusive(PageId::new(SPACE, PageNo(page)))?;
        mtr.write_bytes(page, offset, bytes);
        Ok(())
    })
    .unwrap();
}

/// Whether any request notices.
fn exercise(bed: &Bed, segments: &[SegmentHeader], rng: &mut Rng) -> Result<(), Error> {
    for _ in 0..6 {
        let segment = segments[rng.index(segments.len())];
        let page = PageNo(rng.below(u64::from(bed.file_size()) + 10) as u32);
        match rng.below(6) {
            0 | 1 => bed
                .change(|mtr| {
                    fsp::reserve_free_extents(mtr, SPACE, 3, Reservation::Normal)?;
                    fsp::create_page(mtr, segment, page, Direction::Down)
                })
                .map(drop)?,
            2 => match bed.change(|mtr| fsp::free_page(mtr, segment, page)) {
                Err(e) if !e.to_string().contains("to be freed") && !e.to_string().contains("free limit") => {
                    return Err(e);
                }
                _ => {}
            },
            3 => bed.change(|mtr| fsp::free_segment_step(mtr, segment, None)).map(drop)?,
            4 => bed
                .change(|mtr| fsp::create_segment(mtr, SPACE, HeaderPlace::OnFirstPage { offset: 84 }))
                .map(drop)?,
            _ => {
                bed.read(|mtr| fsp::is_page_allocated(mtr, SPACE, page))?;
                bed.read(|mtr| fsp::segment_usage(mtr, segment))?;
                bed.read(|mtr| fsp::free_extents(mtr, SPACE))?;
            }
        }
    }
    Ok(())
}

#[test]
fn random_damage_is_an_error_or_harmless() {
    let mut noticed = 0;
    for seed in 0..150 {
        let mut rng = Rng::new(seed);
        let (bed, segments) = bed_with_segments();
        for _ in 0..1 + rng.below(3) {
            let (page, end) = match rng.below(4) {
                0 => (0, 150),
                1 => (0, 150 + 6 * 88),
                2 => (2, 1_300),
                _ => (segments[8].inode.page.get(), 700),
            };
            let offset = 38 + rng.index(end - 38);
            let value = match rng.below(3) {
                0 => vec![rng.next_u64() as u8],
                1 => vec![0xFF; 4],
                _ => vec![0; 6],
            };
            overwrite(&bed, page, offset, &value);
        }
        if bed.try_validate().is_err() {
            noticed += 1;
        }
        if let Err(error) = exercise(&bed, &segments, &mut rng) {
            assert!(!error.to_string().is_empty());
        }
    }
    assert!(noticed > 75, "the check notices {noticed} of 150");
}

#[test]
fn each_damage_is_reported_by_its_name() {
    type Request = fn(&Bed, SegmentHeader) -> Result<(), Error>;
    let allocate: Request =
        |bed, s| bed.change(|mtr| fsp::allocate_page(mtr, s, PageNo(0), Direction::Up)).map(drop);
    let reserve: Request =
        |bed, _| bed.change(|mtr| fsp::reserve_free_extents(mtr, SPACE, 1, Reservation::Normal));
    let cases: [(u32, usize, &[u8], Request, &str); 8] = [
        // The header: flags of another page size, the space id, the size, the free limit.
        (0, 54, &[0, 0, 1, 0], reserve, "space header"),
        (0, 38, &[0, 0, 9, 9], reserve, "space header"),
        (0, 46, &[0, 1, 0, 0], reserve, "size of the tablespace"),
        (0, 50, &[0, 0, 0x70, 0], reserve, "free limit"),
        // The inode: magic, first address of NOT_FULL.
        (2, 50 + 60, &[1, 2, 3, 4], allocate, "segment inode magic"),
        (
            2,
            50 + 28,
            &[0, 0, 0, 1, 0, 0, 0, 0, 0, 77, 0, 0, 0, 0, 0, 77],
            allocate,
            "address of an extent descriptor",
        ),
        // The page type of the inode page.
        (2, 24, &[0, 0], allocate, "type of an inode page"),
        // The base of FREE_FRAG: two nodes, one address.
        (0, 78, &[0, 0, 0, 2, 0xff, 0xff, 0xff, 0xff], reserve, "list base"),
    ];
    for (page, offset, bytes, request, text) in cases {
        let bed = Bed::with_table(4096);
        let segment = bed.create_segment();
        request(&bed, segment).unwrap();
        overwrite(&bed, page, offset, bytes);
        let error = request(&bed, segment).unwrap_err();
        assert!(matches!(error, Error::Structure { .. }), "{error:?}");
        assert!(error.to_string().contains(text), "{error}: expected {text}");
        assert!(bed.try_validate().is_err());
    }
}

#[test]
fn validate_finds_what_no_list_shows() {
    let bed = Bed::with_table(4096);
    let (one, other) = (bed.create_segment(), bed.create_segment());
    bed.allocate_n(one, 10);
    let slot = |segment: SegmentHeader, n: usize| usize::from(segment.inode.offset) + 64 + 4 * n;
    let inodes = bed.page(2);
    // A page in two segments.
    overwrite(&bed, 2, slot(other, 7), &inodes[slot(one, 3)..slot(one, 4)]);
    let error = bed.try_validate().unwrap_err().to_string();
    assert!(error.contains("owned twice"), "{error}");
    overwrite(&bed, 2, slot(other, 7), &[0xff; 4]);
    bed.validate();
    // A page of nobody.
    overwrite(&bed, 2, slot(one, 3), &[0xff; 4]);
    let error = bed.try_validate().unwrap_err().to_string();
    assert!(error.contains("used by nobody"), "{error}");
}
