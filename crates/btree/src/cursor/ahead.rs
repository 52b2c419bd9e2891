//! Asking for the leaves that a walk over a whole tree comes to next.
//!
//! Where leaves follow each other in the file, the rest of the extent is asked for; where that was so over the border of the
//! last extent, the next one, too, when half of this one is left. Linear read-ahead sees what was read, not who reads: it does not begin
//! where some pages of an extent are in the pool already, as they are of a table that was just made.

use vaquita_base::{PageId, PageNo};
use vaquita_storage::buf::BufferPool;

/// Leaves that follow each other before more of them are expected.
const FEW: u32 = 4;

/// How far a walk has asked.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ahead {
    /// Leaves in a row that followed each other in the file.
    follows: u32,
    /// Before which page all has been asked for.
    until: u32,
}

impl Ahead {
    /// The walk goes from one leaf to the next.
    pub(super) fn goes(&mut self, pool: &BufferPool, from: PageId, to: PageId) {
        if let Some((first, pages)) = self.wants(from.page_no.0, to.page_no.0, pool.extent_pages()) {
            pool.read_soon(PageId::new(to.space, PageNo(first)), pages);
        }
    }

    /// The pages to be asked for on the way from one to the next, of which the first one follows `here` or what has been asked for.
    fn wants(&mut self, last: u32, here: u32, extent: u32) -> Option<(u32, u32)> {
        if last.checked_add(1) != Some(here) {
            *self = Ahead::default();
            return None;
        }
        self.follows += 1;
        if self.follows < FEW {
            return None;
        }
        let at = here % extent;
        let goes_on = self.follows > at && self.follows > extent / 2 && at >= extent / 2;
        let end = (here - at).saturating_add(if goes_on { 2 * extent } else { extent });
        let first = self.until.max(here.saturating_add(1));
        if first >= end {
            return None;
        }
        self.until = end;
        Some((first, end - first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a walk over these pages asks for, and where it was then.
    fn asked(pages: impl IntoIterator<Item = u32>) -> Vec<(u32, u32, u32)> {
        let mut ahead = Ahead::default();
        let pages: Vec<u32> = pages.into_iter().collect();
        let steps = pages.windows(2);
        steps.filter_map(|s| ahead.wants(s[0], s[1], 64).map(|(first, pages)| (s[1], first, pages))).collect()
    }

    #[test]
    fn leaves_in_a_row_are_asked_for_once_and_half_an_extent_before_they_come() {
        let all = [(74, 75, 53), (128, 129, 63), (160, 192, 64), (224, 256, 64), (288, 320, 64)];
        assert_eq!(asked(70..300), all);
    }

    #[test]
    fn nothing_is_asked_for_where_leaves_are_anywhere() {
        assert_eq!(asked((0..1_000).map(|n| n * 7 % 1_000)), []);
        assert_eq!(asked((0..1_000).rev()), []);
    }

    /// Two trees that have every other extent: the extent of the other one is asked for by none.
    #[test]
    fn another_trees_extent_is_not_asked_for() {
        let pages = (0..4).flat_map(|extent| extent * 128..extent * 128 + 64);
        assert!(asked(pages).iter().all(|(_, first, pages)| first % 128 < 64 && first % 128 + pages <= 64));
    }
}
