//! Searching a text for another: INSTR(), LOCATE(), POSITION().

use super::scheme::{MALFORMED, Scheme, with_scheme};
use super::{Collation, Order};

impl Collation {
    /// Byte position of the first place in `text`, at byte `from` or after, whose next bytes equal `needle`. An empty
    /// needle is found at `from`; `from` has to lie between characters.
    ///
    /// As many bytes are compared as the needle has, not as many characters, as MySQL does it: so `'ß'` is found by
    /// `'ss'` in `utf8_unicode_ci`, both being two bytes long, but `'é'` is not found by `'e'`.
    pub fn find(self, text: &[u8], needle: &[u8], from: usize) -> Option<usize> {
        let rest = text.get(from..)?;
        let at = match self.order {
            Order::Binary => find_bytes(rest, needle),
            _ => with_scheme!(self, scheme => find(scheme, rest, needle)),
        };
        at.map(|at| from + at)
    }
}

/// Byte position of the first place whose bytes are those of `needle`.
pub fn find_bytes(text: &[u8], needle: &[u8]) -> Option<usize> {
    let Some((&first, tail)) = needle.split_first() else { return Some(0) };
    let mut from = 0;
    while from + needle.len() <= text.len() {
        let last = text.len() - tail.len();
        let at = from + text[from..last].iter().position(|&byte| byte == first)?;
        if text[at + 1..].starts_with(tail) {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

fn find<S: Scheme>(scheme: S, text: &[u8], needle: &[u8]) -> Option<usize> {
    let first = scheme.weights(needle).next();
    // The piece may end within a character: then what there is of it counts for nothing where characters may, too.
    let counts = |weight: &u32| !(S::WEIGHTLESS && *weight >= MALFORMED);
    let mut at = 0;
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
            return Some(at);
        }
        at += scheme.code(&text[at..]).1;
    }
    None
}
