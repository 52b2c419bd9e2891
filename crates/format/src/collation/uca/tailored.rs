//! What languages have otherwise than `_unicode_ci`: letters of their own, and pairs of letters that are one.

use std::sync::OnceLock;

use super::{Contraction, POOLED, STARTS, Table, UNKNOWN, tables};
use crate::packed::{Reader, section};

/// Languages, in the order of their collations' numbers; those of `utf8` are 193 to 213 and 215.
pub(super) const LANGUAGES: usize = 22;

/// The table of a language.
pub(super) fn table(language: u8) -> &'static Table {
    static ALL: OnceLock<Vec<Table>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let mut from = section("collation.uca");
        let n = usize::from(from.u8());
        assert!(n == LANGUAGES, "the file is made with every language");
        (0..n).map(|_| Tailoring::read(&mut from).apply()).collect()
    });
    &all[usize::from(language)]
}

/// The differences of one language.
struct Tailoring {
    chars: Vec<(u16, Vec<u16>)>,
    pairs: Vec<([u16; 2], u16)>,
}

impl Tailoring {
    fn read(from: &mut Reader) -> Tailoring {
        let _number = from.u16();
        let char = |from: &mut Reader| {
            let (char, n) = (from.u16(), from.u8());
            (char, (0..n).map(|_| from.u16()).collect())
        };
        let chars = (0..from.u16()).map(|_| char(from)).collect();
        let pairs = (0..from.u16()).map(|_| ([from.u16(), from.u16()], from.u16())).collect();
        Tailoring { chars, pairs }
    }

    /// The table of `_unicode_ci` with the differences.
    fn apply(self) -> Table {
        let base = tables::v400();
        let mut made =
            Made { page_of: base.page_of.clone(), pages: base.pages.clone(), pool: base.pool.clone() };
        for (char, weights) in &self.chars {
            let entry = match weights[..] {
                [one @ 1..POOLED] => one,
                _ => made.pooled(weights, 0),
            };
            *made.entry(*char) = entry;
        }
        let mut contractions = Vec::with_capacity(self.pairs.len());
        for &([first, second], weight) in &self.pairs {
            let place = made.pooled(&[weight], 0) - POOLED;
            contractions.push(Contraction { chars: [first.into(), second.into(), 0], place });
            let own = *made.entry(first);
            if own < POOLED {
                *made.entry(first) = made.pooled(&[own], STARTS);
            }
        }
        contractions.sort_by_key(|c| c.chars);
        let ascii = Box::new(std::array::from_fn(|c| made.only_weight(c as u16)));
        let Made { page_of, pages, pool } = made;
        Table { ascii, page_of, pages, pool, contractions }
    }
}

/// Parts of a table that is being made.
struct Made {
    page_of: Vec<u8>,
    pages: Vec<[u16; 256]>,
    pool: Vec<u16>,
}

impl Made {
    fn entry(&mut self, char: u16) -> &mut u16 {
        let page = &mut self.page_of[usize::from(char >> 8)];
        if *page == 255 {
            *page = self.pages.len() as u8;
            self.pages.push([UNKNOWN; 256]);
        }
        &mut self.pages[usize::from(*page)][usize::from(char & 0xFF)]
    }

    /// The entry of a character with these weights.
    fn pooled(&mut self, weights: &[u16], flags: u16) -> u16 {
        let place = self.pool.len();
        assert!(place < usize::from(UNKNOWN - POOLED), "the pool of a table has room");
        self.pool.push(weights.len() as u16 | flags);
        self.pool.extend_from_slice(weights);
        POOLED + place as u16
    }

    /// Of a character of ASCII, which has one or none.
    fn only_weight(&mut self, char: u16) -> u16 {
        match *self.entry(char) {
            single @ ..POOLED => single,
            entry => self.pool[usize::from(entry - POOLED) + 1],
        }
    }
}
