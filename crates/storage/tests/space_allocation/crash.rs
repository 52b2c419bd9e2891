//! The power fails at any operation: after recovery the allocation state is whole.

use crate::space_allocation::bed::{Bed, SPACE};
use std::collections::BTreeSet;
use vaquita_base::{PageNo, Rng};
use vaquita_format::flags::SpaceFlags;
use vaquita_format::flst::SegmentHeader;
use vaquita_io::sim::SimDisk;
use vaquita_storage::fsp::{self, Direction, HeaderPlace, Reservation};
use vaquita_storage::{Error, Result};

/// Random changes until the power fails. The log is made durable now and then.
fn run(bed: &Bed, rng: &mut Rng, durable: &mut BTreeSet<PageNo>) -> Result<()> {
    let mut segments: Vec<(SegmentHeader, Vec<PageNo>)> = Vec::new();
    loop {
        match rng.below(12) {
            0 => {
                let (header, page) = bed.change(|mtr| {
                    let new = fsp::create_segment(mtr, SPACE, HeaderPlace::OnFirstPage { offset: 84 })?;
                    Ok((new.header, mtr.id(new.page).page_no))
                })?;
                segments.push((header, vec![page]));
            }
            n if segments.is_empty() || n == 1 => {
                let lsn = bed.storage.log().current_lsn();
                bed.storage.log().flush_up_to(lsn)?;
                *durable = segments.iter().flat_map(|(_, pages)| pages.iter().copied()).collect();
            }
            n => {
                let at = rng.index(segments.len());
                let (header, pages) = &mut segments[at];
                for _ in 0..rng.below(40) {
                    // What is freed is not promised to be there any more, however the crash comes out.
                    if n > 8 && pages.len() > 1 {
                        let page = pages.swap_remove(1 + rng.index(pages.len() - 1));
                        durable.remove(&page);
                        bed.change(|mtr| fsp::free_page(mtr, *header, page))?;
                    } else {
                        let page = bed.change(|mtr| {
                            fsp::reserve_free_extents(mtr, SPACE, 3, Reservation::Normal)?;
                            let page = fsp::create_page(mtr, *header, pages[pages.len() - 1], Direction::Up)?;
                            Ok(mtr.id(page).page_no)
                        })?;
                        pages.push(page);
                    }
                }
            }
        }
    }
}

#[test]
fn a_power_cut_leaves_whole_changes() {
    let mut recovered = 0;
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let page_size = [4096, 16384][rng.index(2)];
        let disk = SimDisk::new(seed);
        disk.put_dir("/db".as_ref());
        let bed = Bed::open(disk, page_size).unwrap();
        bed.storage
            .create_table_space(SPACE, SpaceFlags::new(bed.page_size, false, false).unwrap(), "t")
            .unwrap();
        bed.storage.flush_everything().unwrap();
        bed.disk.arm_cut(bed.disk.ops() + 20 + rng.below(400));
        let mut durable = BTreeSet::new();
        let error = run(&bed, &mut rng, &mut durable).unwrap_err();
        assert!(bed.disk.is_off(), "{error}");
        assert!(!matches!(error, Error::Structure { .. } | Error::Page { .. }), "{error}");

        let again = Bed::open(bed.disk.restart(), page_size).unwrap();
        recovered += usize::from(again.storage.report().recovery.is_some());
        again.storage.open_table_space(SPACE, "/db/t.ibd".as_ref()).unwrap();
        again.validate();
        for page in durable {
            assert!(again.is_allocated(page.get()), "seed {seed}: page {page} was allocated durably");
        }
        // Life goes on.
        let segment = again.create_segment();
        again.allocate_n(segment, 200);
        again.free_segment(segment);
        again.validate();
    }
    assert!(recovered > 40, "{recovered} of 60 found something to recover");
}
