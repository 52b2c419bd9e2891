//! Searching a text for another: INSTR(), LOCATE(), POSITION().

use super::scheme::{MALFORMED, Scheme, with_scheme};
use super::{Collation, Order};
use std::convert::Infallible;

/// Texts up to this length are looked for place by place: each costs little.
const SHORT: usize = 32;

/// Bytes of work between two reports.
const REPORT: usize = 16 << 10;

/// Is told how many bytes were looked at; its error ends the search.
type Worked<'w, E> = &'w mut dyn FnMut(usize) -> Result<(), E>;

impl Collation {
    /// Byte position of the first place in `text`, at byte `from` or after, whose next bytes equal `needle`. An empty
    /// needle is found at `from`; `from` has to lie between characters.
    ///
    /// As many bytes are compared as the needle has, not as many characters, as MySQL does it: so `'ß'` is found by
    /// `'ss'` in `utf8_unicode_ci`, both being two bytes long, but `'é'` is not found by `'e'`.
    pub fn find(self, text: &[u8], needle: &[u8], from: usize) -> Option<usize> {
        match self.find_while(text, needle, from, &mut |_| Ok::<_, Infallible>(())) {
            Ok(found) => found,
        }
    }

    /// As [`Collation::find`]; tells from time to time how many bytes were looked at, and ends when that is an error.
    ///
    /// # Errors
    /// That one.
    pub fn find_while<E>(
        self,
        text: &[u8],
        needle: &[u8],
        from: usize,
        worked: &mut dyn FnMut(usize) -> Result<(), E>,
    ) -> Result<Option<usize>, E> {
        let Some(rest) = text.get(from..) else { return Ok(None) };
        let at = match self.order {
            Order::Binary => find_bytes(rest, needle),
            // A letter's weights are not apart from those around it.
            Order::Levels(levels) => find_by_place(levels, rest, needle, 0, worked)?,
            _ => with_scheme!(self, scheme => find(scheme, rest, needle, worked)?),
        };
        Ok(at.map(|at| from + at))
    }
}

/// Byte position of the first place whose bytes are those of `needle`.
pub fn find_bytes(text: &[u8], needle: &[u8]) -> Option<usize> {
    memchr::memmem::find(text, needle)
}

/// In a time that does not grow with the needle's length, if every character of both has one weight.
fn find<S: Scheme, E>(
    scheme: S,
    text: &[u8],
    needle: &[u8],
    worked: Worked<'_, E>,
) -> Result<Option<usize>, E> {
    if needle.len() <= SHORT || S::WEIGHTLESS {
        return find_by_place(scheme, text, needle, 0, worked);
    }
    let Some(pattern) = Pattern::of(scheme, needle) else {
        return find_by_place(scheme, text, needle, 0, worked);
    };
    pattern.find(scheme, text, needle, worked)
}

/// Place by place.
fn find_by_place<S: Scheme, E>(
    scheme: S,
    text: &[u8],
    needle: &[u8],
    mut at: usize,
    worked: Worked<'_, E>,
) -> Result<Option<usize>, E> {
    let first = scheme.weights(needle).next();
    // The piece may end within a character: then what there is of it counts for nothing where characters may, too.
    let counts = |weight: &u32| !(S::WEIGHTLESS && *weight >= MALFORMED);
    let mut unreported = 0;
    while at + needle.len() <= text.len() {
        let byte = text.get(at).copied().unwrap_or(b' ');
        if byte < 0x80
            && scheme.ascii_weight(byte).is_some_and(|weight| Some(weight) != first)
            && !needle.is_empty()
        {
            at += 1;
            continue;
        }
        let piece = &text[at..at + needle.len()];
        if piece == needle || scheme.weights(piece).take_while(counts).eq(scheme.weights(needle)) {
            return Ok(Some(at));
        }
        unreported += needle.len();
        if unreported >= REPORT {
            worked(std::mem::take(&mut unreported))?;
        }
        at += scheme.code(&text[at..]).1;
    }
    Ok(None)
}

/// The weights of what is looked for, one of each character, and for each beginning of them the longest shorter one that it
/// ends with (Knuth, Morris and Pratt).
struct Pattern {
    weights: Vec<u32>,
    shorter: Vec<u32>,
}

impl Pattern {
    /// `None`: not every character has one weight, or some are malformed, or there is no memory.
    fn of<S: Scheme>(scheme: S, needle: &[u8]) -> Option<Pattern> {
        let mut weights: Vec<u32> = Vec::new();
        let mut shorter: Vec<u32> = Vec::new();
        weights.try_reserve_exact(needle.len()).ok()?;
        shorter.try_reserve_exact(needle.len()).ok()?;
        let mut at = 0;
        while at < needle.len() {
            let (weight, len) = one_weight(scheme, &needle[at..])?;
            weights.push(weight);
            at += len;
        }
        let mut matched = 0;
        shorter.push(0);
        for i in 1..weights.len() {
            while matched > 0 && weights[i] != weights[matched] {
                matched = shorter[matched - 1] as usize;
            }
            matched += usize::from(weights[i] == weights[matched]);
            shorter.push(matched as u32);
        }
        Some(Pattern { weights, shorter })
    }

    fn find<S: Scheme, E>(
        &self,
        scheme: S,
        text: &[u8],
        needle: &[u8],
        worked: Worked<'_, E>,
    ) -> Result<Option<usize>, E> {
        // The characters before `at` match so many weights of the pattern; the first of these begins at `start`.
        let (mut at, mut start, mut matched) = (0, 0, 0);
        let mut reported = 0;
        while at < text.len() {
            let Some((weight, len)) = one_weight(scheme, &text[at..]) else {
                return find_by_place(scheme, text, needle, start, worked);
            };
            at += len;
            let mut kept = matched;
            while kept > 0 && (kept == self.weights.len() || weight != self.weights[kept]) {
                kept = self.shorter[kept - 1] as usize;
            }
            for _ in kept..matched {
                start += scheme.code(&text[start..]).1;
            }
            matched = kept;
            if weight == self.weights[matched] {
                matched += 1;
            } else {
                start = at;
            }
            if matched == self.weights.len() && at - start == needle.len() {
                return Ok(Some(start));
            }
            if at - reported >= REPORT {
                worked(at - reported)?;
                reported = at;
            }
        }
        Ok(None)
    }
}

/// Weight and length of the first character, if it has one weight and is well formed.
fn one_weight<S: Scheme>(scheme: S, text: &[u8]) -> Option<(u32, usize)> {
    if let Some(&byte) = text.first()
        && byte < 0x80
        && let Some(weight) = scheme.ascii_weight(byte)
    {
        return Some((weight, 1));
    }
    let len = scheme.code(text).1.min(text.len());
    let mut weights = scheme.weights(&text[..len]);
    let weight = weights.next().filter(|&weight| weight < MALFORMED)?;
    weights.next().is_none().then_some((weight, len))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collation;

    #[test]
    fn long_texts_are_found_where_each_place_is_looked_at() {
        // Of few letters, so that much matches in part; some are written in several lengths, some are malformed.
        let letters: [&[u8]; 6] = [b"a", b"A", b"b", "ä".as_bytes(), "ſ".as_bytes(), b"\xC3"];
        let mut x = 88_172_645_463_325_252_u64;
        let mut next = |n: u64| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            (x >> 20) % n
        };
        let mut found = 0;
        for name in ["utf8_general_ci", "utf8_bin", "latin1_swedish_ci", "sjis_japanese_ci"] {
            let collation = Collation::of(collation::by_name(name).unwrap()).unwrap();
            for round in 0..400 {
                let kinds = if round % 8 == 0 { 6 } else { 2 + round % 4 };
                let mut make = |len| -> Vec<u8> {
                    (0..len)
                        .flat_map(|_| {
                            let kinds = if next(20) > 0 { 2 } else { kinds };
                            letters[next(kinds) as usize]
                        })
                        .copied()
                        .collect()
                };
                let piece = make(20);
                let text = [make(30), piece.clone(), make(3), piece.repeat(3), make(20)].concat();
                let needle = [&piece[..], &piece[..(round as usize * 7) % piece.len()]].concat();
                let none = &mut |_| Ok::<_, Infallible>(());
                let by_place =
                    with_scheme!(collation, scheme => find_by_place(scheme, &text, &needle, 0, none));
                let Ok(by_place) = by_place;
                let Ok(quick) = with_scheme!(collation, scheme => match Pattern::of(scheme, &needle) {
                    Some(pattern) => pattern.find(scheme, &text, &needle, none),
                    None => find_by_place(scheme, &text, &needle, 0, none),
                });
                assert_eq!(quick, by_place, "{name} {text:?} {needle:?}");
                found += usize::from(quick.is_some());
            }
        }
        assert!(found > 1_000, "{found}");
    }

    #[test]
    fn a_search_of_long_texts_is_short_and_can_be_ended() {
        let text = [vec![b'a'; 200_000], b"b".to_vec(), vec![b'a'; 200_000]].concat();
        let needle = [vec![b'A'; 199_999], b"c".to_vec()].concat();
        for name in ["utf8_general_ci", "latin1_swedish_ci", "utf8_unicode_ci"] {
            let collation = Collation::of(collation::by_name(name).unwrap()).unwrap();
            let mut bytes = 0;
            let ended = collation.find_while(&text, &needle, 0, &mut |n| {
                bytes += n;
                if bytes > 1 << 20 { Err(()) } else { Ok(()) }
            });
            // Where letters may have no weight or several, places are looked at one by one.
            assert_eq!(ended, if name == "utf8_unicode_ci" { Err(()) } else { Ok(None) }, "{name}");
        }
    }
}
