//! What an order says about characters: their lengths, their weights, which two are the same.
//!
//! Everything done with an order (comparing, hashing, sort keys, LIKE, searching) is written once, over [`Scheme`], and
//! compiled for each of the orders.

use super::general_weight;
use crate::charset::{self, Charset};

/// Weight of malformed byte 0; above every character's.
pub(super) const MALFORMED: u32 = 0x20_0000;

/// First character of a text that is not empty and its length; `None` if malformed.
pub(super) type Decode = fn(&[u8]) -> Option<(u32, usize)>;

/// An order of characters.
pub(super) trait Scheme: Copy {
    /// Bytes that hold any weight of a well-formed character.
    const WIDTH: usize;
    /// There are characters without weight.
    const WEIGHTLESS: bool = false;

    /// Weight of the space that pads the shorter text; `None`: it is not padded.
    fn pad(self) -> Option<u32> {
        Some(u32::from(b' '))
    }

    /// The weights of a text.
    fn weights(self, text: &[u8]) -> impl Iterator<Item = u32>;

    /// Code and length of the first character of a text that is not empty.
    fn code(self, text: &[u8]) -> (u32, usize);

    /// Lengths of the first characters of two texts that are not empty, if LIKE takes them for the same.
    fn same(self, a: &[u8], b: &[u8]) -> Option<(usize, usize)>;
}

/// Evaluates an expression with the scheme of a collation.
macro_rules! with_scheme {
    ($collation:expr, $scheme:ident => $body:expr) => {{
        use $crate::collation::{Order, scheme as kinds};
        let collation: $crate::collation::Collation = $collation;
        macro_rules! case {
            ($kind:expr) => {{
                let $scheme = $kind;
                $body
            }};
        }
        match collation.order {
            Order::Binary => case!(kinds::Binary),
            Order::Bytes => case!(kinds::Bytes(collation.charset())),
            Order::Table(weights) => case!(kinds::Table(weights)),
            Order::Utf8General => case!(kinds::General($crate::charset::next_utf8)),
            Order::Ucs2General => case!(kinds::General($crate::charset::next_ucs2)),
            Order::Utf16General => case!(kinds::General($crate::charset::next_utf16)),
            Order::Utf32General => case!(kinds::General($crate::charset::next_utf32)),
            Order::Ucs2Bin => case!(kinds::CodePoint($crate::charset::next_ucs2)),
            Order::Utf16Bin => case!(kinds::CodePoint($crate::charset::next_utf16)),
            Order::Utf32Bin => case!(kinds::CodePoint($crate::charset::next_utf32)),
            Order::Sjis => case!(kinds::Sjis),
            Order::Uca(version) => case!(version),
        }
    }};
}
pub(super) use with_scheme;

/// `binary`.
#[derive(Clone, Copy)]
pub(super) struct Binary;

impl Scheme for Binary {
    const WIDTH: usize = 1;

    fn pad(self) -> Option<u32> {
        None
    }

    fn weights(self, text: &[u8]) -> impl Iterator<Item = u32> {
        text.iter().map(|&byte| u32::from(byte))
    }

    #[inline]
    fn code(self, text: &[u8]) -> (u32, usize) {
        (u32::from(text[0]), 1)
    }

    #[inline]
    fn same(self, a: &[u8], b: &[u8]) -> Option<(usize, usize)> {
        (a[0] == b[0]).then_some((1, 1))
    }
}

/// Characters in the order of their bytes.
#[derive(Clone, Copy)]
pub(super) struct Bytes(pub(super) Charset);

impl Scheme for Bytes {
    const WIDTH: usize = 1;

    fn weights(self, text: &[u8]) -> impl Iterator<Item = u32> {
        text.iter().map(|&byte| u32::from(byte))
    }

    #[inline]
    fn code(self, text: &[u8]) -> (u32, usize) {
        self.0.code(text)
    }

    #[inline]
    fn same(self, a: &[u8], b: &[u8]) -> Option<(usize, usize)> {
        let len = self.code(a).1;
        (len <= b.len() && a[..len] == b[..len]).then_some((len, len))
    }
}

/// A weight per byte.
#[derive(Clone, Copy)]
pub(super) struct Table(pub(super) &'static [u8; 256]);

impl Scheme for Table {
    const WIDTH: usize = 1;

    fn pad(self) -> Option<u32> {
        Some(u32::from(self.0[usize::from(b' ')]))
    }

    fn weights(self, text: &[u8]) -> impl Iterator<Item = u32> {
        text.iter().map(move |&byte| u32::from(self.0[usize::from(byte)]))
    }

    #[inline]
    fn code(self, text: &[u8]) -> (u32, usize) {
        (u32::from(text[0]), 1)
    }

    #[inline]
    fn same(self, a: &[u8], b: &[u8]) -> Option<(usize, usize)> {
        (self.0[usize::from(a[0])] == self.0[usize::from(b[0])]).then_some((1, 1))
    }
}

/// One weight per character, found from its code.
macro_rules! one_weight_each {
    ($kind:ty, $width:expr, $weight:expr) => {
        impl Scheme for $kind {
            const WIDTH: usize = $width;

            fn weights(self, text: &[u8]) -> impl Iterator<Item = u32> {
                let mut rest = text;
                std::iter::from_fn(move || {
                    if rest.is_empty() {
                        return None;
                    }
                    let (weight, len) = self.first(rest);
                    rest = &rest[len..];
                    Some(weight)
                })
            }

            #[inline]
            fn code(self, text: &[u8]) -> (u32, usize) {
                self.decode(text)
            }

            #[inline]
            fn same(self, a: &[u8], b: &[u8]) -> Option<(usize, usize)> {
                let ((x, x_len), (y, y_len)) = (self.first(a), self.first(b));
                (x == y).then_some((x_len, y_len))
            }
        }

        impl $kind {
            #[inline]
            fn first(self, text: &[u8]) -> (u32, usize) {
                let (code, len) = self.decode(text);
                let weight: fn(u32) -> u32 = $weight;
                (if code < MALFORMED { weight(code) } else { code }, len)
            }
        }
    };
}

/// `*_general_ci` of Unicode character sets.
#[derive(Clone, Copy)]
pub(super) struct General(pub(super) Decode);

impl General {
    #[inline]
    fn decode(self, text: &[u8]) -> (u32, usize) {
        self.0(text).unwrap_or_else(|| malformed(text))
    }
}

one_weight_each!(General, 2, |code| u32::from(general_weight(code)));

/// Code points.
#[derive(Clone, Copy)]
pub(super) struct CodePoint(pub(super) Decode);

impl CodePoint {
    #[inline]
    fn decode(self, text: &[u8]) -> (u32, usize) {
        self.0(text).unwrap_or_else(|| malformed(text))
    }
}

one_weight_each!(CodePoint, 3, |code| code);

/// `sjis_japanese_ci`. Two-byte characters weigh their code and one-byte characters as if a zero byte followed, so the
/// order is that of the bytes; spaces keep the weight of the padding and control characters stay below it.
#[derive(Clone, Copy)]
pub(super) struct Sjis;

impl Sjis {
    #[inline]
    fn decode(self, text: &[u8]) -> (u32, usize) {
        match charset::sjis_len(text) {
            Some(2) => (u32::from(text[0]) << 8 | u32::from(text[1]), 2),
            Some(_) => (u32::from(text[0]), 1),
            None => malformed(text),
        }
    }
}

one_weight_each!(Sjis, 2, |code| match code {
    0..=0x20 | 0x100.. => code,
    0x61..=0x7A => (code - 0x20) << 8,
    _ => code << 8,
});

/// Weight and length of a byte that fits nowhere.
#[inline]
pub(super) fn malformed(s: &[u8]) -> (u32, usize) {
    (MALFORMED + u32::from(s[0]), 1)
}
