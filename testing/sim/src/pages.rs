//! Pages with stamps: the storage layer without trees.
//!
//! Tablespaces come and go; in them segments, in these pages. A page's body is divided into regions, each a head
//! (eight bytes, a stamp) and a pattern that follows from another stamp. Mini-transactions stamp several pages of
//! several tablespaces at once, so that half a mini-transaction shows.

use crate::history::History;
use crate::machine::{Machine, space_name, space_path};
use crate::stop::Stop;
use crate::workload::Workload;
use vaquita_base::codec::get_u64;
use vaquita_base::{Lsn, PageId, PageNo, Rng, SpaceId};
use vaquita_format::flags::SpaceFlags;
use vaquita_format::flst::SegmentHeader;
use vaquita_storage::fsp::{self, Direction, HeaderPlace};
use vaquita_storage::{Mtr, PageRef, Storage};

/// Where a segment's header lies on its first page.
const SEGMENT_HEADER: usize = 50;
/// Where the regions begin.
const BODY: usize = 96;
/// Regions of a page.
const REGIONS: usize = 8;

/// Tablespaces at most.
const SPACES_MAX: usize = 6;
/// Segments of a tablespace at most.
const SEGMENTS_MAX: usize = 8;
/// Pages of a segment at most.
const PAGES_MAX: usize = 60;

/// A segment, by its tablespace and its first page.
type SegmentKey = (SpaceId, PageNo);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Segment {
    header: SegmentHeader,
    /// It is being freed, in steps.
    dying: bool,
}

/// The stamps of a page: head and pattern of each region.
type Stamps = [(u64, u64); REGIONS];

/// The workload.
#[derive(Debug, Default)]
pub struct Pages {
    spaces: History<SpaceId, ()>,
    segments: History<SegmentKey, Segment>,
    pages: History<(SegmentKey, PageNo), Stamps>,
    next_stamp: u64,
}

fn region(page_len: usize, i: usize) -> std::ops::Range<usize> {
    let len = ((page_len - 8 - BODY) / REGIONS) & !7;
    BODY + i * len..BODY + (i + 1) * len
}

/// The bytes that a stamp gives to a region of `len` bytes, its head excluded.
fn pattern(stamp: u64, len: usize) -> Vec<u8> {
    if stamp == 0 {
        return vec![0; len];
    }
    let word = stamp.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes();
    word.into_iter().cycle().take(len).collect()
}

/// Any element of an iterator.
fn any<T>(rng: &mut Rng, items: impl Iterator<Item = T>) -> Option<T> {
    let mut all: Vec<T> = items.collect();
    if all.is_empty() { None } else { Some(all.swap_remove(rng.index(all.len()))) }
}

impl Pages {
    /// Nothing yet.
    pub fn new() -> Self {
        Self { next_stamp: 1, ..Self::default() }
    }

    fn stamp(&mut self) -> u64 {
        self.next_stamp += 1;
        self.next_stamp
    }

    fn some_segment(&self, rng: &mut Rng) -> Option<(SegmentKey, SegmentHeader)> {
        any(rng, self.segments.iter().filter(|(_, s)| !s.dying).map(|(k, s)| (*k, s.header)))
    }

    fn pages_of(&self, segment: SegmentKey) -> impl DoubleEndedIterator<Item = (PageNo, &Stamps)> {
        let all = (segment, PageNo(0))..=(segment, PageNo::NULL);
        self.pages.range(all).map(|((_, no), stamps)| (*no, stamps))
    }

    fn create_space(&mut self, machine: &mut Machine) -> Result<(), Stop> {
        let (id, name) = machine.new_space();
        let storage = machine.storage();
        let flags =
            SpaceFlags::new(storage.options().page_size, false, false).expect("an ordinary page size");
        storage.create_table_space(id, flags, &name).map_err(Stop::file_op)?;
        let lsn = storage.log().current_lsn();
        self.spaces.set(lsn, id, Some(()));
        machine.created.insert(id, lsn);
        Ok(())
    }

    fn drop_space(&mut self, machine: &Machine, rng: &mut Rng) -> Result<(), Stop> {
        let Some(id) = any(rng, self.spaces.iter().map(|(id, ())| *id)) else { return Ok(()) };
        let storage = machine.storage();
        let before = storage.log().current_lsn();
        let outcome = storage.drop_table_space(id, &space_name(id));
        let after = storage.log().current_lsn();
        if after != before {
            let segments: Vec<SegmentKey> =
                self.segments.range((id, PageNo(0))..=(id, PageNo::NULL)).map(|(k, _)| *k).collect();
            segments.into_iter().for_each(|s| self.forget_segment(s, after));
            self.spaces.set(after, id, None);
        } else if outcome.is_ok() {
            return Err(Stop::wrong(format!("tablespace {id} was dropped without a record in the log")));
        }
        outcome.map_err(Stop::file_op)
    }

    fn forget_segment(&mut self, segment: SegmentKey, lsn: Lsn) {
        self.forget_pages(segment, lsn);
        self.segments.set(lsn, segment, None);
    }

    fn forget_pages(&mut self, segment: SegmentKey, lsn: Lsn) {
        let pages: Vec<PageNo> = self.pages_of(segment).map(|(no, _)| no).collect();
        pages.into_iter().for_each(|no| self.pages.set(lsn, (segment, no), None));
    }

    fn create_segment(&mut self, storage: &Storage, rng: &mut Rng) -> Result<(), Stop> {
        let Some(space) = any(rng, self.spaces.iter().map(|(id, ())| *id)) else { return Ok(()) };
        if self.segments.range((space, PageNo(0))..=(space, PageNo::NULL)).count() >= SEGMENTS_MAX {
            return Ok(());
        }
        let mut mtr = storage.begin()?;
        mtr.keep_before_images();
        let place = HeaderPlace::OnFirstPage { offset: SEGMENT_HEADER as u16 };
        let made = fsp::create_segment(&mut mtr, space, place)?;
        let first = mtr.id(made.page).page_no;
        let lsn = mtr.commit();
        let key = (space, first);
        self.segments.set(lsn, key, Some(Segment { header: made.header, dying: false }));
        self.pages.set(lsn, (key, first), Some(Stamps::default()));
        Ok(())
    }

    fn free_segment_step(&mut self, storage: &Storage, rng: &mut Rng, begin: bool) -> Result<(), Stop> {
        let candidates = self.segments.iter().filter(|(_, s)| s.dying != begin);
        let Some((key, segment)) = any(rng, candidates.map(|(k, s)| (*k, *s))) else { return Ok(()) };
        let mut mtr = storage.begin()?;
        mtr.keep_before_images();
        let mut done = fsp::free_segment_step(&mut mtr, segment.header, Some(key.1))?;
        if done {
            done = fsp::free_segment_step(&mut mtr, segment.header, None)?;
        }
        let lsn = mtr.commit();
        if begin {
            self.forget_pages(key, lsn);
        }
        let left = (!done).then_some(Segment { dying: true, ..segment });
        self.segments.set(lsn, key, left);
        Ok(())
    }

    fn allocate(&mut self, machine: &Machine, rng: &mut Rng) -> Result<(), Stop> {
        let storage = machine.storage();
        let Some((key, header)) = self.some_segment(rng) else { return Ok(()) };
        if self.pages_of(key).count() >= PAGES_MAX {
            return Ok(());
        }
        let last = self.pages_of(key).next_back().map_or(PageNo::NULL, |(no, _)| no);
        let (hint, direction) = match rng.below(4) {
            0 => (PageNo::NULL, Direction::None),
            1 => (PageNo(rng.below(300) as u32), Direction::None),
            2 => (PageNo(last.0.saturating_sub(1)), Direction::Down),
            _ => (PageNo(last.0.saturating_add(1)), Direction::Up),
        };
        let mut mtr = storage.begin()?;
        mtr.keep_before_images();
        let mut made = Vec::new();
        for _ in 0..1 + rng.index(3) {
            let page = fsp::create_page(&mut mtr, header, hint, direction)?;
            let mut stamps = Stamps::default();
            let stamp = self.stamp();
            stamp_region(&mut mtr, page, &mut stamps, rng.index(REGIONS), stamp, rng.one_in(2));
            made.push((mtr.id(page).page_no, stamps));
        }
        if rng.one_in(10) {
            // Never mind: dropped, it undoes itself.
            return Ok(());
        }
        let lsn = mtr.commit();
        for (no, stamps) in made {
            let known_damage = machine.suspects.iter().any(|s| s.space == key.0);
            if self.pages.get(&(key, no)).is_some() && !known_damage {
                return Err(Stop::wrong(format!("page {}:{no} was allocated twice", key.0)));
            }
            self.pages.set(lsn, (key, no), Some(stamps));
        }
        Ok(())
    }

    fn free_page(&mut self, storage: &Storage, rng: &mut Rng) -> Result<(), Stop> {
        let Some((key, header)) = self.some_segment(rng) else { return Ok(()) };
        // The first page holds the segment header.
        let Some(no) = any(rng, self.pages_of(key).map(|(no, _)| no).filter(|no| *no != key.1)) else {
            return Ok(());
        };
        let mut mtr = storage.begin()?;
        mtr.keep_before_images();
        fsp::free_page(&mut mtr, header, no)?;
        let lsn = mtr.commit();
        self.pages.set(lsn, (key, no), None);
        Ok(())
    }

    /// Stamps up to four pages at once.
    fn write(&mut self, storage: &Storage, rng: &mut Rng) -> Result<(), Stop> {
        let mut chosen: Vec<(SegmentKey, PageNo)> = Vec::new();
        for _ in 0..1 + rng.index(4) {
            let Some((key, _)) = self.some_segment(rng) else { return Ok(()) };
            let Some(no) = any(rng, self.pages_of(key).map(|(no, _)| no)) else { continue };
            if !chosen.contains(&(key, no)) {
                chosen.push((key, no));
            }
        }
        let mut mtr = storage.begin()?;
        let undo = rng.one_in(6);
        if undo || rng.one_in(2) {
            mtr.keep_before_images();
        }
        let mut held = Vec::new();
        for (key, no) in &chosen {
            held.push(mtr.get_exclusive(PageId::new(key.0, *no))?);
        }
        let mut changed = Vec::new();
        for (&(key, no), &page) in chosen.iter().zip(&held) {
            let mut stamps = *self.pages.get(&(key, no)).expect("chosen from the model");
            for _ in 0..1 + rng.index(3) {
                let (at, whole) = (rng.index(REGIONS), rng.one_in(2));
                let len = if whole { region(mtr.page(page).len(), at).len() } else { 8 };
                if mtr.log_len() + len + 64 < storage.mtr_log_max() {
                    let stamp = self.stamp();
                    stamp_region(&mut mtr, page, &mut stamps, at, stamp, whole);
                }
            }
            changed.push(((key, no), stamps));
        }
        if undo {
            return Ok(());
        }
        let lsn = mtr.commit();
        for (key, stamps) in changed {
            self.pages.set(lsn, key, Some(stamps));
        }
        Ok(())
    }

    fn compare(&self, machine: &Machine, key: SegmentKey, no: PageNo, stamps: &Stamps) -> Result<(), Stop> {
        let id = PageId::new(key.0, no);
        let page = machine.storage().pool().get_shared(id)?;
        if self.is_suspect(machine, id) {
            return Ok(());
        }
        for (i, &(head, body)) in stamps.iter().enumerate() {
            let at = region(page.len(), i);
            let found = get_u64(&page, at.start);
            if found != head {
                return Err(Stop::wrong(format!("page {id}: region {i} has stamp {found}, not {head}")));
            }
            let bytes = &page[at.start + 8..at.end];
            if bytes != pattern(body, bytes.len()) {
                return Err(Stop::wrong(format!("page {id}: region {i} has not the pattern of {body}")));
            }
        }
        Ok(())
    }

    /// Whether a fault may have made the page wrong: itself, or the pages that say whose it is.
    fn is_suspect(&self, machine: &Machine, page: PageId) -> bool {
        let known = |suspect: &PageId| {
            let mut segments =
                self.segments.range((suspect.space, PageNo(0))..=(suspect.space, PageNo::NULL));
            segments.any(|(key, _)| self.pages.get(&(*key, suspect.page_no)).is_some())
        };
        machine.suspects.iter().any(|s| *s == page || s.space == page.space && !known(s))
    }

    fn read(&self, machine: &Machine, rng: &mut Rng) -> Result<(), Stop> {
        let Some((key, _)) = self.some_segment(rng) else { return Ok(()) };
        if rng.one_in(8) {
            return self.pages_of(key).try_for_each(|(no, stamps)| self.compare(machine, key, no, stamps));
        }
        match any(rng, self.pages_of(key)) {
            Some((no, stamps)) => self.compare(machine, key, no, stamps),
            None => Ok(()),
        }
    }

    fn check_segment(&self, machine: &Machine, key: SegmentKey, segment: &Segment) -> Result<(), Stop> {
        let storage = machine.storage();
        let mut mtr = storage.begin_read();
        let usage = fsp::segment_usage(&mut mtr, segment.header)?;
        drop(mtr);
        let pages = self.pages_of(key).count() as u64;
        if !segment.dying && usage.used != pages && !machine.suspects.iter().any(|s| s.space == key.0) {
            return Err(Stop::wrong(format!("segment {key:?} uses {} pages, not {pages}", usage.used)));
        }
        self.pages_of(key).try_for_each(|(no, stamps)| self.compare(machine, key, no, stamps))
    }
}

/// Gives a region another stamp.
fn stamp_region(mtr: &mut Mtr<'_>, page: PageRef, stamps: &mut Stamps, i: usize, stamp: u64, whole: bool) {
    let at = region(mtr.page(page).len(), i);
    if whole {
        let mut bytes = vec![0; 8];
        vaquita_base::codec::put_u64(&mut bytes, 0, stamps[i].0);
        bytes.extend(pattern(stamp, at.len() - 8));
        mtr.write_bytes(page, at.start, &bytes);
        stamps[i].1 = stamp;
    } else {
        mtr.write_u64(page, at.start, stamp);
        stamps[i].0 = stamp;
    }
}

impl Workload for Pages {
    fn step(&mut self, machine: &mut Machine, rng: &mut Rng) -> Result<(), Stop> {
        let n_spaces = self.spaces.iter().count();
        if n_spaces == 0 || (n_spaces < SPACES_MAX && rng.one_in(60)) {
            return self.create_space(machine);
        }
        if rng.one_in(300) {
            return self.drop_space(machine, rng);
        }
        if self.segments.iter().count() < 2 || rng.one_in(40) {
            return self.create_segment(machine.storage(), rng);
        }
        match rng.below(100) {
            0..2 => self.free_segment_step(machine.storage(), rng, true),
            2..10 => self.free_segment_step(machine.storage(), rng, false),
            10..30 => self.allocate(machine, rng),
            30..36 => self.free_page(machine.storage(), rng),
            36..56 => self.read(machine, rng),
            _ => self.write(machine.storage(), rng),
        }
    }

    fn settle(&mut self, end: Lsn) {
        self.spaces.settle(end);
        self.segments.settle(end);
        self.pages.settle(end);
    }

    fn reopen(&mut self, machine: &Machine) -> Result<(), Stop> {
        for (id, ()) in self.spaces.iter() {
            machine.storage().open_table_space(*id, &space_path(*id))?;
        }
        Ok(())
    }

    fn check(&mut self, machine: &Machine) -> Result<(), Stop> {
        for (id, ()) in self.spaces.iter() {
            let mut mtr = machine.storage().begin_read();
            fsp::validate(&mut mtr, *id)?;
        }
        self.segments.iter().try_for_each(|(key, segment)| self.check_segment(machine, *key, segment))
    }

    fn spaces(&self) -> Vec<SpaceId> {
        self.spaces.iter().map(|(id, ())| *id).collect()
    }

    fn some_page(&self, rng: &mut Rng) -> Option<PageId> {
        let (key, _) = self.some_segment(rng)?;
        any(rng, self.pages_of(key).map(|(no, _)| PageId::new(key.0, no)))
    }
}
