//! What an order says about characters: their lengths, their weights, which two are the same.
//!
//! Everything done with an order (comparing, hashing, sort keys, LIKE, searching) is written once, over [`Scheme`], and
//! compiled for each of the orders.

use super::general_weight;
use crate::charset::{self, Charset};

/// Weight of malformed byte 0; above every character's.
pub(super) const MALFORMED: u32 = 0x20_0000;

/// How a character set of Unicode writes characters.
pub(super) trait Decode: Copy {
    /// Whether ASCII characters are single bytes.
    const ASCII: bool = false;

    /// First character of a text that is not empty and its length; `None` if malformed.
    fn next(text: &[u8]) -> Option<(u32, usize)>;
}

macro_rules! decoders {
    ($($name:ident: $ascii:expr, $next:path;)*) => {
        $(
            #[derive(Clone, Copy)]
            pub(super) struct $name;

            impl Decode for $name {
                const ASCII: bool = $ascii;

                #[inline]
                fn next(text: &[u8]) -> Option<(u32, usize)> {
                    $next(text)
                }
            }
        )*
    };
}

decoders! {
    Utf8: true, charset::next_utf8;
    Ucs2: false, charset::next_ucs2;
    Utf16: false, charset::next_utf16;
    Utf16le: false, charset::next_utf16le;
    Utf32: false, charset::next_utf32;
}

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

    /// Hands over the weights of a text one by one: faster than asking for each where much of it is ASCII.
    #[inline]
    fn each_weight(self, text: &[u8], take: impl FnMut(u32)) {
        self.weights(text).for_each(take);
    }

    /// Code and length of the first character of a text that is not empty.
    fn code(self, text: &[u8]) -> (u32, usize);

    /// Weight of an ASCII character, if that is a byte of its own and has exactly one weight: a quick way to see that
    /// something does not begin here.
    #[inline]
    fn ascii_weight(self, _byte: u8) -> Option<u32> {
        None
    }

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
            Order::Utf8General => case!(kinds::General(kinds::Utf8)),
            Order::Utf8OldGeneral => case!(kinds::OldGeneral(kinds::Utf8)),
            Order::Ucs2OldGeneral => case!(kinds::OldGeneral(kinds::Ucs2)),
            Order::Ucs2General => case!(kinds::General(kinds::Ucs2)),
            Order::Utf16General => case!(kinds::General(kinds::Utf16)),
            Order::Utf32General => case!(kinds::General(kinds::Utf32)),
            Order::Ucs2Bin => case!(kinds::CodePoint(kinds::Ucs2)),
            Order::Utf16Bin => case!(kinds::CodePoint(kinds::Utf16)),
            Order::Utf32Bin => case!(kinds::CodePoint(kinds::Utf32)),
            Order::Sjis => case!(kinds::Sjis),
            Order::ByteTable(weights) => {
                case!($crate::collation::east_asian::ByteTable(weights, collation.charset()))
            }
            Order::Gbk => case!($crate::collation::east_asian::Gbk),
            Order::Big5 => case!($crate::collation::east_asian::Big5),
            Order::Levels(levels) => case!(levels),
            Order::Uca(version) => case!($crate::collation::uca::Elements(version, kinds::Utf8)),
            Order::Ucs2Uca(version) => case!($crate::collation::uca::Elements(version, kinds::Ucs2)),
            Order::Utf16Uca(version) => case!($crate::collation::uca::Elements(version, kinds::Utf16)),
            Order::Utf32Uca(version) => case!($crate::collation::uca::Elements(version, kinds::Utf32)),
            Order::Utf16leGeneral => case!(kinds::General(kinds::Utf16le)),
            Order::Utf16leBin => case!(kinds::CodePoint(kinds::Utf16le)),
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
    fn ascii_weight(self, byte: u8) -> Option<u32> {
        Some(u32::from(byte))
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
    fn ascii_weight(self, byte: u8) -> Option<u32> {
        Some(u32::from(byte))
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
    fn ascii_weight(self, byte: u8) -> Option<u32> {
        Some(u32::from(self.0[usize::from(byte)]))
    }

    #[inline]
    fn same(self, a: &[u8], b: &[u8]) -> Option<(usize, usize)> {
        (self.0[usize::from(a[0])] == self.0[usize::from(b[0])]).then_some((1, 1))
    }
}

/// One weight per character, found from its code.
pub(super) trait OneEach: Copy {
    const WIDTH: usize;
    /// Whether ASCII characters are single bytes.
    const ASCII: bool;

    fn decode(text: &[u8]) -> Option<(u32, usize)>;
    fn weight(code: u32) -> u32;

    #[inline]
    fn first(text: &[u8]) -> (u32, usize) {
        Self::decode(text).map_or_else(|| malformed(text), |(code, len)| (Self::weight(code), len))
    }
}

impl<T: OneEach> Scheme for T {
    const WIDTH: usize = T::WIDTH;

    fn weights(self, text: &[u8]) -> impl Iterator<Item = u32> {
        let mut rest = text;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let (weight, len) = T::first(rest);
            rest = &rest[len..];
            Some(weight)
        })
    }

    #[inline]
    fn each_weight(self, text: &[u8], mut take: impl FnMut(u32)) {
        let mut rest = text;
        while let Some((&byte, after)) = rest.split_first() {
            if T::ASCII && byte < 0x80 {
                take(T::weight(u32::from(byte)));
                rest = after;
            } else {
                let (weight, len) = T::first(rest);
                take(weight);
                rest = &rest[len..];
            }
        }
    }

    #[inline]
    fn code(self, text: &[u8]) -> (u32, usize) {
        T::decode(text).unwrap_or_else(|| malformed(text))
    }

    #[inline]
    fn ascii_weight(self, byte: u8) -> Option<u32> {
        T::ASCII.then(|| T::weight(u32::from(byte)))
    }

    #[inline]
    fn same(self, a: &[u8], b: &[u8]) -> Option<(usize, usize)> {
        let ((x, x_len), (y, y_len)) = (T::first(a), T::first(b));
        (x == y).then_some((x_len, y_len))
    }
}

/// `*_general_ci` of Unicode character sets.
#[derive(Clone, Copy)]
pub(super) struct General<D>(pub(super) D);

impl<D: Decode> OneEach for General<D> {
    const WIDTH: usize = 2;
    const ASCII: bool = D::ASCII;

    #[inline]
    fn decode(text: &[u8]) -> Option<(u32, usize)> {
        D::next(text)
    }

    #[inline]
    fn weight(code: u32) -> u32 {
        u32::from(general_weight(code))
    }
}

/// `*_general_mysql500_ci`: sharp s is no S.
#[derive(Clone, Copy)]
pub(super) struct OldGeneral<D>(pub(super) D);

impl<D: Decode> OneEach for OldGeneral<D> {
    const WIDTH: usize = 2;
    const ASCII: bool = D::ASCII;

    #[inline]
    fn decode(text: &[u8]) -> Option<(u32, usize)> {
        D::next(text)
    }

    #[inline]
    fn weight(code: u32) -> u32 {
        if code == 0xDF { code } else { u32::from(general_weight(code)) }
    }
}

/// Code points.
#[derive(Clone, Copy)]
pub(super) struct CodePoint<D>(pub(super) D);

impl<D: Decode> OneEach for CodePoint<D> {
    const WIDTH: usize = 3;
    const ASCII: bool = D::ASCII;

    #[inline]
    fn decode(text: &[u8]) -> Option<(u32, usize)> {
        D::next(text)
    }

    #[inline]
    fn weight(code: u32) -> u32 {
        code
    }
}

/// `sjis_japanese_ci` and `cp932_japanese_ci`. Two-byte characters weigh their code and one-byte characters as if a zero byte followed, so the
/// order is that of the bytes; spaces keep the weight of the padding and control characters stay below it.
#[derive(Clone, Copy)]
pub(super) struct Sjis;

impl OneEach for Sjis {
    const WIDTH: usize = 2;
    const ASCII: bool = true;

    #[inline]
    fn decode(text: &[u8]) -> Option<(u32, usize)> {
        Some(match charset::sjis_len(text)? {
            2 => (u32::from(text[0]) << 8 | u32::from(text[1]), 2),
            _ => (u32::from(text[0]), 1),
        })
    }

    #[inline]
    fn weight(code: u32) -> u32 {
        match code {
            0..=0x20 | 0x100.. => code,
            0x61..=0x7A => (code - 0x20) << 8,
            _ => code << 8,
        }
    }
}

/// Weight and length of a byte that fits nowhere.
#[inline]
pub(super) fn malformed(s: &[u8]) -> (u32, usize) {
    (MALFORMED + u32::from(s[0]), 1)
}
