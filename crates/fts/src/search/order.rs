//! Documents by rank: whoever wants the best few does not wait for the others to be sorted.

use super::Match;
use crate::DocId;

/// What was found, the best first, then by number: the order in which InnoDB gives it. It is sorted as far as it was asked for.
#[derive(Debug, Clone, Default)]
pub struct BestFirst {
    /// Ranks as numbers whose order is the other way round, and documents.
    found: Vec<(u32, DocId)>,
    sorted: usize,
}

/// How many are sorted at first; then as many times more.
const FIRST: usize = 64;
const MORE: usize = 16;

impl BestFirst {
    /// For these documents.
    pub fn new(matches: &[Match]) -> BestFirst {
        let found = matches.iter().map(|found| (descending(found.rank), found.doc)).collect();
        BestFirst { found, sorted: 0 }
    }

    /// The document at a place of the order, which begins with 0.
    pub fn at(&mut self, place: usize) -> Option<DocId> {
        if place >= self.sorted && place < self.found.len() {
            self.sort_beyond(place);
        }
        self.found.get(place).map(|found| found.1)
    }

    fn sort_beyond(&mut self, place: usize) {
        let rest = &mut self.found[self.sorted..];
        let wanted = (place + 1 - self.sorted).max(self.sorted * MORE).max(FIRST);
        let some = if wanted * 2 < rest.len() {
            rest.select_nth_unstable(wanted);
            &mut rest[..wanted]
        } else {
            rest
        };
        some.sort_unstable();
        self.sorted += some.len();
    }
}

/// Numbers that are sorted as [`f32::total_cmp`] does, the greatest first.
fn descending(rank: f32) -> u32 {
    let bits = rank.to_bits();
    // Negative ones are turned, so that they ascend; then all are.
    if bits >> 31 == 1 { bits } else { !bits & (u32::MAX >> 1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::best_first;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_order_is_that_of_all(
            ranks in vec(prop_oneof![-2f32..9.0, Just(0.5), Just(-0.0), Just(0.0), any::<f32>()], 0..1500),
            first in 0usize..300,
        ) {
            let number = |(n, rank)| Match { doc: DocId(n as u64), rank };
            let mut matches: Vec<Match> = ranks.into_iter().enumerate().map(number).collect();
            let mut order = BestFirst::new(&matches);
            let asked = order.at(first);
            let found: Vec<DocId> = (0..).map_while(|place| order.at(place)).collect();
            best_first(&mut matches);
            prop_assert_eq!(asked, matches.get(first).map(|found| found.doc));
            prop_assert_eq!(found, matches.iter().map(|found| found.doc).collect::<Vec<_>>());
        }
    }
}
