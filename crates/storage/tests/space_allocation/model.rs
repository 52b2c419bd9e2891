//! Long random runs against a model: the set of pages of each segment.

use crate::space_allocation::bed::{Bed, SPACE};
use std::collections::{BTreeMap, BTreeSet};
use vaquita_base::PageNo;
use vaquita_base::Rng;
use vaquita_format::flst::SegmentHeader;
use vaquita_format::fsp as layout;
use vaquita_format::fsp::ExtentState;
use vaquita_storage::Error;
use vaquita_storage::fsp::{self, Direction, Reservation};

struct Segment {
    header: SegmentHeader,
    pages: BTreeSet<PageNo>,
    /// One of them; freed last.
    header_page: PageNo,
}

struct Run {
    bed: Bed,
    rng: Rng,
    segments: BTreeMap<u64, Segment>,
    owned: BTreeSet<PageNo>,
}

impl Run {
    fn new(page_size: usize, seed: u64) -> Self {
        let bed = Bed::with_table(page_size);
        Self { bed, rng: Rng::new(seed), segments: BTreeMap::new(), owned: BTreeSet::new() }
    }

    fn pick(&mut self) -> Option<u64> {
        let ids: Vec<u64> = self.segments.keys().copied().collect();
        if ids.is_empty() { None } else { Some(ids[self.rng.index(ids.len())]) }
    }

    fn take(&mut self, page: PageNo) {
        assert!(self.owned.insert(page), "page {page} was handed out twice");
        assert!(page.get() < self.bed.size(), "page {page} lies beyond the end");
    }

    fn create(&mut self) {
        let (id, header, header_page) = self.bed.create_segment_at(84);
        self.take(header_page);
        self.segments.insert(id.get(), Segment { header, pages: BTreeSet::from([header_page]), header_page });
    }

    fn allocate(&mut self) {
        let Some(id) = self.pick() else { return self.create() };
        let many = if self.rng.one_in(20) { self.rng.below(400) } else { 1 + self.rng.below(8) };
        let direction = [Direction::Up, Direction::Down, Direction::None][self.rng.index(3)];
        let mut last = None;
        for _ in 0..many {
            let segment = &self.segments[&id];
            let hint = match self.rng.below(10) {
                0 => PageNo(self.rng.below(u64::from(self.bed.size()) + 600) as u32),
                1 => PageNo(0),
                2..=5 => {
                    let at = self.rng.index(segment.pages.len());
                    *segment.pages.iter().nth(at).unwrap()
                }
                _ => last.map_or(PageNo(0), |page: PageNo| match direction {
                    Direction::Down => PageNo(page.get().saturating_sub(1)),
                    _ => PageNo(page.get() + 1),
                }),
            };
            let header = segment.header;
            let page = self
                .bed
                .change(|mtr| {
                    fsp::reserve_free_extents(mtr, SPACE, 3, Reservation::Normal)?;
                    let page = fsp::create_page(mtr, header, hint, direction)?;
                    Ok(mtr.id(page).page_no)
                })
                .unwrap();
            self.take(page);
            self.segments.get_mut(&id).unwrap().pages.insert(page);
            last = Some(page);
        }
    }

    fn free(&mut self) {
        let Some(id) = self.pick() else { return };
        let many = if self.rng.one_in(10) { self.rng.below(500) } else { 1 + self.rng.below(8) };
        for _ in 0..many {
            let segment = self.segments.get_mut(&id).unwrap();
            let at = self.rng.index(segment.pages.len());
            let page = *segment.pages.iter().nth(at).unwrap();
            if page == segment.header_page {
                continue;
            }
            self.bed.change(|mtr| fsp::free_page(mtr, segment.header, page)).unwrap();
            segment.pages.remove(&page);
            self.owned.remove(&page);
        }
    }

    fn drop_segment(&mut self) {
        let Some(id) = self.pick() else { return };
        let segment = self.segments.remove(&id).unwrap();
        let keep = Some(segment.header_page);
        while !self.bed.change(|mtr| fsp::free_segment_step(mtr, segment.header, keep)).unwrap() {}
        assert!(self.bed.change(|mtr| fsp::free_segment_step(mtr, segment.header, None)).unwrap());
        for page in segment.pages {
            self.owned.remove(&page);
        }
    }

    /// A change that fails after it has begun leaves no trace.
    fn fail(&mut self) {
        let Some(id) = self.pick() else { return };
        let header = self.segments[&id].header;
        let outcome: Result<(), Error> = self.bed.change(|mtr| {
            for _ in 0..3 {
                fsp::allocate_page(mtr, header, PageNo(0), Direction::Up)?;
            }
            // Page 0 is nobody's.
            fsp::free_page(mtr, header, PageNo(0))
        });
        assert!(outcome.is_err());
    }

    fn check(&self) {
        let summary = self.bed.validate();
        let model: Vec<_> = self.segments.iter().map(|(&id, s)| (id.into(), s.pages.len() as u64)).collect();
        assert_eq!(summary.segments, model);
        // Exactly the model's pages are allocated, beside descriptor, bitmap and inode pages.
        let size = summary.page_size;
        let inode_pages = summary.header.inodes_full.len + summary.header.inodes_free.len;
        let fixed = 2 * summary.header.free_limit.div_ceil(size.pages_per_xdes_page());
        let mut allocated = 0;
        for first in (0..summary.header.free_limit).step_by(size.extent_pages() as usize).map(PageNo) {
            let page = self.bed.page(layout::descriptor_page(size, first).get());
            let x = layout::Xdes::of(size, &page, first);
            if x.state() != Ok(ExtentState::Free) {
                allocated += x.bitmap().n_used();
                for j in 0..size.extent_pages() {
                    let page = PageNo(first.get() + j);
                    assert!(
                        !self.owned.contains(&page) || !x.bitmap().is_free(j),
                        "page {page} is marked free"
                    );
                }
            }
        }
        assert_eq!(allocated as usize, self.owned.len() + (inode_pages + fixed) as usize);
    }

    fn run(&mut self, steps: u32) {
        for step in 0..steps {
            match self.rng.below(20) {
                0..=1 => self.create(),
                2..=10 => self.allocate(),
                11..=17 => self.free(),
                18 => self.fail(),
                _ => self.drop_segment(),
            }
            if step % 25 == 0 {
                self.check();
            }
        }
        self.check();
        while !self.segments.is_empty() {
            self.drop_segment();
        }
        self.check();
    }
}

#[test]
fn random_runs_agree_with_the_model() {
    for (page_size, steps) in [(4096, 300), (8192, 250), (16384, 300), (32768, 150), (65536, 150)] {
        for seed in 0..8 {
            Run::new(page_size, seed * 1_000 + page_size as u64).run(steps);
        }
    }
}

#[test]
fn one_long_run_over_several_descriptor_pages() {
    let mut run = Run::new(4096, 7);
    for _ in 0..6 {
        run.create();
    }
    while run.bed.size() < 3 * 4_096 {
        run.allocate();
        run.allocate();
        run.free();
    }
    run.run(300);
    let summary = run.bed.validate();
    assert!(summary.header.free_limit > 2 * 4_096);
    assert_eq!(summary.extents[ExtentState::Segment.as_u32() as usize], 0);
}
