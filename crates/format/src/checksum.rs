//! Page checksums: which bytes each algorithm covers, stamping before a write, verification after a read.
//!
//! Pages of uncompressed tablespaces, P bytes:
//!
//! | algorithm | field at 0 | field at P-8 |
//! |---|---|---|
//! | innodb | `fold(4..26) + fold(38..P-8)` | `fold(0..26)`, which covers the field at 0 |
//! | crc32 | `crc32c(4..26) ^ crc32c(38..P-8)` | the same |
//! | none | `DEADBEEF` | the same |
//!
//! Pages of compressed tablespaces (every page type), Z bytes, have only the field at 0, over `4..16`, `24..26`
//! and `34..Z`: Adler-32 run through the three from 0 (innodb), the exclusive or of their CRC-32C (crc32),
//! `DEADBEEF` (none).
//!
//! # Invariants
//! - I1: [`verify`] accepts what [`stamp`] wrote, under every algorithm that is not a strict other one.
//! - I2: a page of nothing but zeros is valid: allocated in the file, never written.
//! - I3: where there is a trailer, its half of the LSN is compared whatever the algorithm: a torn page never passes.
//!
//! The flush LSN and, on uncompressed pages, the space id are covered by no checksum; on compressed pages the
//! LSN is not.

use vaquita_base::checksum::{FOLD_LANES, adler32, crc32c, fold, fold_lanes};
use vaquita_base::codec::{get_u32, put_u32};

use crate::fil;
use crate::{Corruption, PageSize, Result};

/// What the checksum fields hold under algorithm "none".
pub const NO_CHECKSUM: u32 = 0xDEAD_BEEF;

/// How pages are stamped and what is accepted on read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ChecksumAlgorithm {
    /// Stamps `innodb`; accepts every algorithm and the forms of very old versions. MySQL 5.6's default.
    #[default]
    Innodb,
    /// Stamps `crc32`; accepts every algorithm.
    Crc32,
    /// Stamps a constant; checks nothing but the LSN in the trailer.
    None,
    /// Stamps and accepts `innodb` alone.
    StrictInnodb,
    /// Stamps and accepts `crc32` alone.
    StrictCrc32,
    /// Stamps and accepts the constant alone.
    StrictNone,
}

impl ChecksumAlgorithm {
    /// The algorithm that stamps, without the rule of acceptance.
    pub const fn stamps(self) -> ChecksumAlgorithm {
        match self {
            Self::Innodb | Self::StrictInnodb => Self::Innodb,
            Self::Crc32 | Self::StrictCrc32 => Self::Crc32,
            Self::None | Self::StrictNone => Self::None,
        }
    }

    /// Whether pages stamped by other algorithms are refused.
    pub const fn is_strict(self) -> bool {
        matches!(self, Self::StrictInnodb | Self::StrictCrc32 | Self::StrictNone)
    }
}

/// What a page that passes is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageState {
    /// All zeros: allocated in the file and never written.
    Fresh,
    /// Carries a checksum that matches.
    Valid,
}

/// Both checksum fields of a page; the second has no place on pages of compressed tablespaces.
type Sums = (u32, u32);

/// Sets the checksum fields, and the trailer's copy of the LSN, for writing the page out.
///
/// # Panics
/// If `page` is not `size.physical()` bytes.
pub fn stamp(page: &mut [u8], size: PageSize, algorithm: ChecksumAlgorithm) {
    stamp_folded(page, size, algorithm, None);
}

/// [`stamp`] of pages that lie one behind the other: `innodb` sums of many cost a fraction of those of one and one. Those of nothing
/// but zeros stay so (I2).
///
/// # Panics
/// If they are no whole pages.
pub fn stamp_all(pages: &mut [u8], size: PageSize, algorithm: ChecksumAlgorithm) {
    let folds = Folds::of(pages, size, |_| algorithm.stamps() == ChecksumAlgorithm::Innodb);
    for (i, page) in pages.chunks_mut(size.physical()).enumerate() {
        if !is_fresh(page) {
            stamp_folded(page, size, algorithm, folds.get(i));
        }
    }
}

fn stamp_folded(page: &mut [u8], size: PageSize, algorithm: ChecksumAlgorithm, folded: Option<u32>) {
    assert_eq!(page.len(), size.physical(), "a page is stamped in the form it has in the file");
    let (new, old) = sums(page, size, algorithm.stamps(), folded);
    fil::set_checksum(page, new);
    if !size.is_compressed() {
        let lsn_low = fil::lsn(page).get() as u32;
        let len = page.len();
        put_u32(page, fil::trailer_checksum_offset(len), old);
        put_u32(page, fil::trailer_lsn_offset(len), lsn_low);
    }
}

/// Checks a page as read from the file.
///
/// # Errors
/// [`Corruption`] with stored and expected values: a wrong length, a torn page, a checksum that none of the
/// accepted algorithms gives.
pub fn verify(page: &[u8], size: PageSize, algorithm: ChecksumAlgorithm) -> Result<PageState> {
    verify_folded(page, size, algorithm, None)
}

/// [`verify`] of pages that lie one behind the other, each for itself: `innodb` sums of many cost a fraction of those of one and one.
pub fn verify_all(pages: &[u8], size: PageSize, algorithm: ChecksumAlgorithm) -> Vec<Result<PageState>> {
    let folds = Folds::of(pages, size, |page| may_be_folded(page, size, algorithm));
    let page = |(i, page)| verify_folded(page, size, algorithm, folds.get(i));
    pages.chunks(size.physical()).enumerate().map(page).collect()
}

fn verify_folded(
    page: &[u8],
    size: PageSize,
    algorithm: ChecksumAlgorithm,
    folded: Option<u32>,
) -> Result<PageState> {
    if page.len() != size.physical() {
        let detail = format!("expected a page of {} bytes, found {}", size.physical(), page.len());
        return Err(Corruption::new("page length", detail));
    }
    if is_fresh(page) {
        return Ok(PageState::Fresh);
    }
    if !size.is_compressed() {
        check_not_torn(page)?;
    }
    if accepts(page, size, algorithm, folded) {
        return Ok(PageState::Valid);
    }
    Err(mismatch(page, size, algorithm))
}

/// The algorithm whose sums the page carries, if any; `None` for a fresh page too.
pub fn identify(page: &[u8], size: PageSize) -> Option<ChecksumAlgorithm> {
    if page.len() != size.physical() {
        return None;
    }
    identify_folded(page, size, None)
}

fn identify_folded(page: &[u8], size: PageSize, folded: Option<u32>) -> Option<ChecksumAlgorithm> {
    // Cheapest first; the fold costs ten times a CRC.
    [ChecksumAlgorithm::None, ChecksumAlgorithm::Crc32, ChecksumAlgorithm::Innodb]
        .into_iter()
        .find(|&algorithm| carries(page, size, algorithm, folded))
}

/// Whether the page's sums are `innodb`'s, if they are any that count: those of the others have both fields alike.
fn may_be_folded(page: &[u8], size: PageSize, algorithm: ChecksumAlgorithm) -> bool {
    let counts = algorithm != ChecksumAlgorithm::None
        && (!algorithm.is_strict() || algorithm == ChecksumAlgorithm::StrictInnodb);
    let stored = stored(page, size);
    counts && stored.0 != stored.1
}

/// Folds of pages one behind the other, as [`innodb_new`] has them.
struct Folds(Vec<Option<u32>>);

impl Folds {
    /// Of those that want it, where that is less work than each for itself.
    fn of(pages: &[u8], size: PageSize, wanted: impl Fn(&[u8]) -> bool) -> Folds {
        /// Fewer are not worth a group's work.
        const WORTH: usize = 4;
        let (physical, body) = (size.physical(), |page: &[u8]| fil::BODY..page.len() - fil::TRAILER_SIZE);
        if size.is_compressed() || pages.len() < WORTH * physical {
            return Folds(Vec::new());
        }
        let all: Vec<&[u8]> = pages.chunks_exact(physical).collect();
        let mut folds = vec![None; all.len()];
        let those: Vec<usize> = (0..all.len()).filter(|&i| wanted(all[i])).collect();
        for group in those.chunks(FOLD_LANES).filter(|group| group.len() >= WORTH) {
            // Lanes that are left do the last page again.
            let page = |lane: usize| all[group[lane.min(group.len() - 1)]];
            let bodies = fold_lanes(std::array::from_fn(|lane| &page(lane)[body(page(lane))]));
            for (&i, body) in group.iter().zip(bodies) {
                folds[i] = Some(folded_head(all[i]).wrapping_add(body));
            }
        }
        Folds(folds)
    }

    fn get(&self, i: usize) -> Option<u32> {
        self.0.get(i).copied().flatten()
    }
}

/// Whether every byte is zero. The first bytes decide for nearly every page.
fn is_fresh(page: &[u8]) -> bool {
    page[..fil::BODY].iter().all(|&b| b == 0) && page.iter().all(|&b| b == 0)
}

fn check_not_torn(page: &[u8]) -> Result<()> {
    let (head, tail) = (fil::lsn(page).get() as u32, fil::trailer_lsn(page));
    if head == tail {
        return Ok(());
    }
    let detail = format!("low half of the LSN is {head:#010x} in the header and {tail:#010x} in the trailer");
    Err(Corruption::new("page torn", detail).at(fil::trailer_lsn_offset(page.len())))
}

fn accepts(page: &[u8], size: PageSize, algorithm: ChecksumAlgorithm, folded: Option<u32>) -> bool {
    let identified = || identify_folded(page, size, folded).is_some();
    match algorithm {
        ChecksumAlgorithm::None => true,
        _ if algorithm.is_strict() => carries(page, size, algorithm.stamps(), folded),
        ChecksumAlgorithm::Innodb => identified() || (!size.is_compressed() && carries_legacy(page)),
        _ => identified(),
    }
}

/// Whether the stored sums are those of exactly this algorithm.
fn carries(page: &[u8], size: PageSize, algorithm: ChecksumAlgorithm, folded: Option<u32>) -> bool {
    let stored = stored(page, size);
    let same = size.is_compressed() || stored.0 == stored.1;
    match algorithm {
        ChecksumAlgorithm::Innodb => stored == sums(page, size, algorithm, folded),
        // Both fields are equal under these two, which decides nearly always without reading the page.
        _ => same && stored == sums(page, size, algorithm, folded),
    }
}

/// Very old versions: no checksum at 0, or the high half of the LSN in the old field.
fn carries_legacy(page: &[u8]) -> bool {
    let (new, old) = (fil::checksum(page), fil::trailer_checksum(page));
    let old_ok = old == get_u32(page, fil::LSN) || old == fold(&page[..fil::FLUSH_LSN]);
    old_ok && (new == 0 || new == innodb_new(page))
}

fn stored(page: &[u8], size: PageSize) -> Sums {
    let old = if size.is_compressed() { 0 } else { fil::trailer_checksum(page) };
    (fil::checksum(page), old)
}

/// The sums the page should carry. The second is 0 for compressed tablespaces. `folded` is [`innodb_new`] of the page, where it is known.
fn sums(page: &[u8], size: PageSize, algorithm: ChecksumAlgorithm, folded: Option<u32>) -> Sums {
    if size.is_compressed() {
        return (compressed_sum(page, algorithm), 0);
    }
    match algorithm.stamps() {
        ChecksumAlgorithm::Innodb => {
            let new = folded.unwrap_or_else(|| innodb_new(page));
            (new, innodb_old(page, new))
        }
        ChecksumAlgorithm::Crc32 => {
            let body = &page[fil::BODY..page.len() - fil::TRAILER_SIZE];
            let sum = crc32c(&page[fil::PAGE_NO..fil::FLUSH_LSN]) ^ crc32c(body);
            (sum, sum)
        }
        _ => (NO_CHECKSUM, NO_CHECKSUM),
    }
}

fn innodb_new(page: &[u8]) -> u32 {
    let body = &page[fil::BODY..page.len() - fil::TRAILER_SIZE];
    folded_head(page).wrapping_add(fold(body))
}

fn folded_head(page: &[u8]) -> u32 {
    fold(&page[fil::PAGE_NO..fil::FLUSH_LSN])
}

/// The old checksum of a page whose field at 0 holds (or will hold) `new`.
fn innodb_old(page: &[u8], new: u32) -> u32 {
    let mut head = [0u8; fil::FLUSH_LSN];
    head.copy_from_slice(&page[..fil::FLUSH_LSN]);
    put_u32(&mut head, fil::CHECKSUM, new);
    fold(&head)
}

fn compressed_sum(page: &[u8], algorithm: ChecksumAlgorithm) -> u32 {
    let parts = [&page[fil::PAGE_NO..fil::LSN], &page[fil::TYPE..fil::FLUSH_LSN], &page[fil::SPACE_ID..]];
    match algorithm.stamps() {
        // Starts from 0, where zlib starts from 1.
        ChecksumAlgorithm::Innodb => parts.iter().fold(0, |sum, part| adler32(sum, part)),
        ChecksumAlgorithm::Crc32 => parts.iter().fold(0, |sum, part| sum ^ crc32c(part)),
        _ => NO_CHECKSUM,
    }
}

#[cold]
fn mismatch(page: &[u8], size: PageSize, algorithm: ChecksumAlgorithm) -> Corruption {
    let (new, old) = stored(page, size);
    let mut detail = if size.is_compressed() {
        format!("stored {new:#010x}; expected")
    } else {
        format!("stored {new:#010x} and {old:#010x} in the trailer; expected")
    };
    for (name, other) in [
        ("innodb", ChecksumAlgorithm::Innodb),
        ("crc32", ChecksumAlgorithm::Crc32),
        ("none", ChecksumAlgorithm::None),
    ] {
        if algorithm.is_strict() && algorithm.stamps() != other {
            continue;
        }
        let (new, old) = sums(page, size, other, None);
        detail += &format!(" {name} {new:#010x}");
        if !size.is_compressed() {
            detail += &format!("/{old:#010x}");
        }
    }
    Corruption::new("page checksum", detail).at(fil::CHECKSUM)
}

#[cfg(test)]
mod tests {
    use super::*;
    use vaquita_base::codec::{put_u16, put_u64};
    use vaquita_base::{Lsn, PageNo, Rng, SpaceId};

    const ALL: [ChecksumAlgorithm; 6] = [
        ChecksumAlgorithm::Innodb,
        ChecksumAlgorithm::Crc32,
        ChecksumAlgorithm::None,
        ChecksumAlgorithm::StrictInnodb,
        ChecksumAlgorithm::StrictCrc32,
        ChecksumAlgorithm::StrictNone,
    ];

    fn sizes() -> [PageSize; 4] {
        [
            PageSize::DEFAULT,
            PageSize::new(4096).unwrap(),
            PageSize::compressed(16384, 1024).unwrap(),
            PageSize::compressed(16384, 16384).unwrap(),
        ]
    }

    fn random_page(size: PageSize, seed: u64) -> Vec<u8> {
        let mut rng = Rng::new(seed);
        let mut page: Vec<u8> = (0..size.physical()).map(|_| rng.next_u64() as u8).collect();
        fil::set_page_no(&mut page, PageNo(3));
        fil::set_space_id(&mut page, SpaceId(5));
        fil::set_lsn(&mut page, Lsn(0x1234_5678_9abc_def0));
        page
    }

    #[test]
    fn pages_behind_each_other_are_as_each_alone() {
        let mut rng = Rng::new(19);
        for size in sizes() {
            for n in [0, 1, 3, 4, 5, 16, 17, 40] {
                let stamps = [ChecksumAlgorithm::Innodb, ChecksumAlgorithm::Crc32, ChecksumAlgorithm::None];
                let raw: Vec<Vec<u8>> = (0..n).map(|i| random_page(size, i)).collect();
                for algorithm in ALL {
                    let mut together = raw.concat();
                    stamp_all(&mut together, size, algorithm);
                    let mut alone = raw.clone();
                    alone.iter_mut().for_each(|page| stamp(page, size, algorithm));
                    assert_eq!(together, alone.concat(), "{n} pages of {size:?}, {algorithm:?}");
                }
                let mut never_written = vec![0; size.physical() * n as usize];
                stamp_all(&mut never_written, size, ChecksumAlgorithm::Innodb);
                assert!(never_written.iter().all(|&b| b == 0));
                let mut mixed = raw;
                for page in &mut mixed {
                    stamp(page, size, stamps[rng.below(3) as usize]);
                    match rng.below(6) {
                        0 => page.fill(0),
                        1 => page[rng.below(size.physical() as u64) as usize] ^= 0x40,
                        _ => {}
                    }
                }
                for algorithm in ALL {
                    let alone: Vec<_> = mixed.iter().map(|page| verify(page, size, algorithm)).collect();
                    assert_eq!(verify_all(&mixed.concat(), size, algorithm), alone, "{n} of {size:?}");
                }
            }
        }
    }

    #[test]
    fn each_setting_accepts_what_the_table_says() {
        for size in sizes() {
            for written in ALL {
                let mut page = random_page(size, 1);
                stamp(&mut page, size, written);
                assert_eq!(identify(&page, size), Some(written.stamps()));
                for setting in ALL {
                    let ok = !setting.is_strict() || setting.stamps() == written.stamps();
                    let got = verify(&page, size, setting);
                    assert_eq!(got.is_ok(), ok, "{size:?} written {written:?} read {setting:?}: {got:?}");
                }
            }
        }
    }

    #[test]
    fn every_flipped_covered_bit_is_detected() {
        for size in sizes() {
            for algorithm in [ChecksumAlgorithm::Innodb, ChecksumAlgorithm::Crc32] {
                let mut page = random_page(size, 2);
                stamp(&mut page, size, algorithm);
                for at in 0..page.len() {
                    let covered = match (at, size.is_compressed()) {
                        (26..34, _) | (34..38, false) | (16..24, true) => false,
                        // The fold is expensive: sample the middle of the body.
                        (100.., _) if at % 97 != 0 && at + 100 < page.len() => continue,
                        _ => true,
                    };
                    page[at] ^= 1 << (at % 8);
                    assert_eq!(
                        verify(&page, size, algorithm).is_err(),
                        covered,
                        "{size:?} {algorithm:?} {at}"
                    );
                    page[at] ^= 1 << (at % 8);
                }
            }
        }
    }

    #[test]
    fn a_page_of_zeros_is_fresh_and_almost_zeros_is_not() {
        for size in sizes() {
            let mut page = vec![0u8; size.physical()];
            for algorithm in ALL {
                assert_eq!(verify(&page, size, algorithm), Ok(PageState::Fresh));
            }
            let last = page.len() - 9;
            page[last] = 1;
            assert!(verify(&page, size, ChecksumAlgorithm::Crc32).is_err());
            assert!(verify(&page, size, ChecksumAlgorithm::StrictInnodb).is_err());
            assert_eq!(verify(&page, size, ChecksumAlgorithm::None), Ok(PageState::Valid));
        }
    }

    #[test]
    fn a_torn_page_is_refused_under_every_setting() {
        let size = PageSize::DEFAULT;
        for algorithm in ALL {
            let mut page = random_page(size, 3);
            stamp(&mut page, size, algorithm);
            put_u64(&mut page, fil::LSN, 77);
            let err = verify(&page, size, algorithm).unwrap_err();
            assert_eq!(err.check, "page torn");
            assert!(err.detail.contains("0x0000004d") && err.detail.contains("0x9abcdef0"), "{err}");
        }
    }

    #[test]
    fn forms_of_very_old_versions() {
        let size = PageSize::DEFAULT;
        let mut page = random_page(size, 4);
        stamp(&mut page, size, ChecksumAlgorithm::Innodb);
        put_u32(&mut page, size.physical() - 8, 0x1234_5678);
        assert!(verify(&page, size, ChecksumAlgorithm::Innodb).is_ok());
        assert!(verify(&page, size, ChecksumAlgorithm::StrictInnodb).is_err());
        put_u32(&mut page, 0, 0);
        assert!(verify(&page, size, ChecksumAlgorithm::Innodb).is_ok());
        let old = fold(&page[..26]);
        put_u32(&mut page, size.physical() - 8, old);
        assert!(verify(&page, size, ChecksumAlgorithm::Innodb).is_ok());
        put_u32(&mut page, size.physical() - 8, !old);
        assert!(verify(&page, size, ChecksumAlgorithm::Innodb).is_err());
    }

    #[test]
    fn the_error_names_stored_and_expected_values() {
        let size = PageSize::DEFAULT;
        let mut page = random_page(size, 5);
        stamp(&mut page, size, ChecksumAlgorithm::Crc32);
        let good = fil::checksum(&page);
        put_u32(&mut page, 0, 0x0bad_c0de);
        let err = verify(&page, size, ChecksumAlgorithm::StrictCrc32).unwrap_err();
        assert!(err.detail.contains("0x0badc0de"), "{err}");
        assert!(err.detail.contains(&format!("crc32 {good:#010x}")), "{err}");
        assert!(!err.detail.contains("innodb"), "{err}");
        assert!(verify(&page[..100], size, ChecksumAlgorithm::None).is_err());
    }

    /// The segment id and state of an inode page change nothing outside the covered ranges.
    #[test]
    fn sums_depend_on_the_documented_ranges_only() {
        let size = PageSize::compressed(16384, 2048).unwrap();
        let mut page = random_page(size, 6);
        stamp(&mut page, size, ChecksumAlgorithm::Innodb);
        put_u64(&mut page, fil::LSN, 1);
        put_u64(&mut page, fil::FLUSH_LSN, 1);
        assert!(verify(&page, size, ChecksumAlgorithm::StrictInnodb).is_ok());
        put_u16(&mut page, fil::TYPE, 2);
        assert!(verify(&page, size, ChecksumAlgorithm::StrictInnodb).is_err());
    }
}
