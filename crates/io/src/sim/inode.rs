//! One simulated file: what is surely on the medium, what the running system sees, and the changes between.
//!
//! # Invariants
//! - I1: without a failed sync behind it, `seen` equals `durable` with all of `pending` applied in order.
//! - I2: a change marked `forced` (written with O_DSYNC) survives every power cut, and so does any length it
//!   implied; the first pending change is never forced.

use super::image::Image;
use crate::aligned::SECTOR;
use std::ops::Range;
use std::sync::Arc;
use vaquita_base::Rng;

/// Unsynced bytes a file may hold; beyond it, the oldest reach the medium, as the system writes back in the
/// background.
const PENDING_BYTES_MAX: usize = 64 << 20;

/// An unsynced change.
#[derive(Debug, Clone)]
struct Change {
    what: What,
    forced: bool,
}

#[derive(Debug, Clone)]
enum What {
    Write { offset: u64, bytes: Arc<[u8]> },
    SetLen(u64),
}

impl What {
    fn len_after(&self, len: u64) -> u64 {
        match self {
            What::Write { offset, bytes } => len.max(offset + bytes.len() as u64),
            What::SetLen(new) => *new,
        }
    }

    fn apply(&self, image: &mut Image) {
        if let What::Write { offset, bytes } = self {
            image.put(*offset, bytes);
        }
        let len = self.len_after(image.len());
        if len != image.len() {
            image.set_len(len);
        }
    }
}

/// How the medium treats unsynced changes at one power cut. Uniform chance alone would hardly ever produce the
/// extremes, which find the most.
#[derive(Debug, Clone, Copy)]
pub(super) enum Mood {
    /// Nothing unsynced survives.
    Nothing,
    /// Everything does.
    Everything,
    /// Changes of one file, or of names, survive in order up to a point.
    Prefix,
    /// Each by itself, with a chance of so many in 16 to survive.
    Each(u64),
}

impl Mood {
    pub(super) fn choose(rng: &mut Rng) -> Self {
        match rng.below(8) {
            0 => Mood::Nothing,
            1 => Mood::Everything,
            2 => Mood::Prefix,
            _ => Mood::Each([1, 4, 8, 12, 15][rng.index(5)]),
        }
    }

    /// Which of `n` changes survive, but for torn ones.
    pub(super) fn survivors(self, n: usize, rng: &mut Rng) -> Vec<bool> {
        match self {
            Mood::Nothing => vec![false; n],
            Mood::Everything => vec![true; n],
            Mood::Prefix => {
                let kept = rng.index(n + 1);
                (0..n).map(|i| i < kept).collect()
            }
            Mood::Each(of_16) => (0..n).map(|_| rng.below(16) < of_16).collect(),
        }
    }

    /// How many length changes survive, of which the first `at_least` must: a file system orders those.
    fn lengths(self, at_least: usize, n: usize, rng: &mut Rng) -> usize {
        match self {
            Mood::Nothing => at_least,
            Mood::Everything => n,
            Mood::Prefix | Mood::Each(_) => at_least + rng.index(n - at_least + 1),
        }
    }
}

/// A file's state.
#[derive(Debug, Clone, Default)]
pub(super) struct Inode {
    durable: Image,
    seen: Image,
    pending: Vec<Change>,
    pending_bytes: usize,
    /// A failed sync left data in the cache that will never reach the medium.
    diverged: bool,
    /// Open files.
    pub(super) handles: u32,
}

impl Inode {
    /// A file that is durable as it stands.
    pub(super) fn durable(bytes: &[u8]) -> Self {
        let mut image = Image::default();
        image.put(0, bytes);
        image.set_len(bytes.len() as u64);
        Self::from_image(image)
    }

    pub(super) fn from_image(image: Image) -> Self {
        Self { durable: image.clone(), seen: image, ..Self::default() }
    }

    /// The same file, open nowhere.
    pub(super) fn closed(&self) -> Self {
        Self { handles: 0, ..self.clone() }
    }

    /// What the running system sees.
    pub(super) fn seen(&self) -> &Image {
        &self.seen
    }

    pub(super) fn write(&mut self, offset: u64, bytes: &[u8], forced: bool) {
        self.pending_bytes += bytes.len();
        self.change(What::Write { offset, bytes: bytes.into() }, forced);
    }

    pub(super) fn set_len(&mut self, len: u64) {
        self.change(What::SetLen(len), false);
    }

    fn change(&mut self, what: What, forced: bool) {
        what.apply(&mut self.seen);
        self.pending.push(Change { what, forced });
        let forced_first = self.pending.iter().take_while(|c| c.forced).count();
        self.write_back(forced_first);
        if self.pending_bytes > PENDING_BYTES_MAX {
            self.write_back(self.pending.len().div_ceil(2));
        }
    }

    /// Makes the first `n` changes durable.
    fn write_back(&mut self, n: usize) {
        for change in self.pending.drain(..n) {
            change.what.apply(&mut self.durable);
            if let What::Write { bytes, .. } = &change.what {
                self.pending_bytes -= bytes.len();
            }
        }
    }

    /// Makes everything durable that has not been given up.
    pub(super) fn sync(&mut self) {
        if self.diverged {
            self.write_back(self.pending.len());
            return;
        }
        self.durable = self.seen.clone();
        self.pending.clear();
        self.pending_bytes = 0;
    }

    /// A sync that failed: some of the data reached the medium, the rest never will. The running system may go on
    /// seeing it (still cached) or not (evicted).
    pub(super) fn fail_sync(&mut self, rng: &mut Rng) {
        self.durable = self.after_cut(Mood::choose(rng), rng);
        self.pending.clear();
        self.pending_bytes = 0;
        self.diverged = !rng.one_in(2);
        if !self.diverged {
            self.seen = self.durable.clone();
        }
    }

    /// Inverts a bit of the medium; false if nothing is there.
    pub(super) fn rot(&mut self, offset: u64, bit: u8) -> bool {
        if offset >= self.durable.len() {
            return false;
        }
        self.durable.flip(offset, bit);
        let rewritten = self.pending.iter().any(|c| match &c.what {
            What::Write { offset: from, bytes } => (*from..*from + bytes.len() as u64).contains(&offset),
            What::SetLen(len) => offset >= *len,
        });
        if !rewritten && offset < self.seen.len() {
            self.seen.flip(offset, bit);
        }
        true
    }

    /// What the medium holds after the power went off.
    pub(super) fn after_cut(&self, mood: Mood, rng: &mut Rng) -> Image {
        let mut image = self.durable.clone();
        if self.pending.is_empty() {
            return image;
        }
        let survive = mood.survivors(self.pending.len(), rng);
        let torn_chance = if matches!(mood, Mood::Each(_)) { 3 } else { 0 };
        let forced_len = self.pending.iter().rposition(|c| c.forced).map_or(0, |last| last + 1);
        let lengths_kept = mood.lengths(forced_len, self.pending.len(), rng);
        let mut len = image.len();
        for (i, change) in self.pending.iter().enumerate() {
            if let What::Write { offset, bytes } = &change.what {
                let torn = torn_chance > 0 && rng.one_in(torn_chance);
                for part in
                    kept_parts(*offset, bytes.len(), change.forced || survive[i], torn, change.forced, rng)
                {
                    image.put(offset + part.start as u64, &bytes[part]);
                }
            }
            if i < lengths_kept {
                len = change.what.len_after(len);
                // Cutting clears what stood there, also for a later growth.
                image.set_len(len);
            }
        }
        image.set_len(len);
        image
    }
}

fn kept_parts(
    offset: u64,
    len: usize,
    survives: bool,
    torn: bool,
    forced: bool,
    rng: &mut Rng,
) -> Vec<Range<usize>> {
    if torn && !forced {
        some_sectors(offset, len, rng)
    } else if survives {
        std::iter::once(0..len).collect()
    } else {
        Vec::new()
    }
}

/// A random part of a range, in whole sectors of the file: any subset, or a beginning, or an end.
pub(super) fn some_sectors(offset: u64, len: usize, rng: &mut Rng) -> Vec<Range<usize>> {
    let sectors: Vec<Range<usize>> = sectors(offset, len).collect();
    let way = rng.below(4);
    let split = rng.index(sectors.len() + 1);
    let keep = |i: usize, rng: &mut Rng| match way {
        0 => i < split,
        1 => i >= split,
        _ => rng.one_in(2),
    };
    sectors.into_iter().enumerate().filter(|(i, _)| keep(*i, rng)).map(|(_, s)| s).collect()
}

/// The sectors of the file that a range touches, as parts of the range.
fn sectors(offset: u64, len: usize) -> impl Iterator<Item = Range<usize>> {
    let lead = (offset % SECTOR as u64) as usize;
    let count = if len == 0 { 0 } else { (lead + len).div_ceil(SECTOR) };
    (0..count).map(move |i| (i * SECTOR).saturating_sub(lead)..((i + 1) * SECTOR - lead).min(len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_follow_the_file_not_the_write() {
        let parts = |offset, len| sectors(offset, len).collect::<Vec<_>>();
        assert_eq!(parts(0, 1024), [0..512, 512..1024]);
        assert_eq!(parts(500, 100), [0..12, 12..100]);
        assert_eq!(parts(1024, 10), [0..10; 1]);
        assert_eq!(parts(7, 0), [] as [Range<usize>; 0]);
    }

    /// Length changes are ordered: no outcome has a length that never was.
    #[test]
    fn lengths_are_those_of_a_moment() {
        let mut inode = Inode::durable(&[1; 1000]);
        inode.set_len(500);
        inode.write(2000, &[2; 100], false);
        inode.set_len(50);
        let mut seen = std::collections::BTreeSet::new();
        let mut rng = Rng::new(1);
        for _ in 0..500 {
            let image = inode.after_cut(Mood::choose(&mut rng), &mut rng);
            seen.insert(image.len());
            if image.len() == 2100 {
                assert!(image.to_vec()[500..2000].iter().all(|&b| b == 0), "what was cut stays cut");
            }
        }
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [50, 500, 1000, 2100]);
    }

    #[test]
    fn background_write_back_bounds_what_is_pending() {
        let mut inode = Inode::default();
        let block = vec![3; 1 << 20];
        for i in 0..200_u64 {
            inode.write(i << 20, &block, false);
            assert!(inode.pending_bytes <= PENDING_BYTES_MAX);
        }
        assert!(inode.after_cut(Mood::Nothing, &mut Rng::new(1)).len() >= 100 << 20);
        assert_eq!(inode.pending_bytes, inode.pending.len() << 20);
    }
}
