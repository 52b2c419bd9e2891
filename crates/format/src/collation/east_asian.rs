//! Orders of the East Asian character sets.
//!
//! | collation | characters of one byte | of more |
//! |---|---|---|
//! | `ujis_japanese_ci`, `eucjpms_japanese_ci`, `euckr_korean_ci` | lower case folded | their bytes, each by the same table |
//! | `gb2312_chinese_ci` | the same, and `[` after `]` | their bytes |
//! | `big5_chinese_ci` | the same | their codes |
//! | `gbk_chinese_ci` | the same | weights of the packed file |
//!
//! (`sjis_japanese_ci` and `cp932_japanese_ci`: [`super::scheme::Sjis`].) Bytes of `euckr` that are letters of ASCII are
//! folded behind a lead byte, too, as the server's indexes have it.

use std::sync::OnceLock;

use super::scheme::{OneEach, Scheme};
use crate::charset::Charset;
use crate::packed::section;

/// ASCII, small letters as capital ones.
pub(super) static FOLDED: [u8; 256] = folded(false);
/// The same, the brackets turned: `\` weighs as `]`, `]` as `[`, `[` as `\`.
pub(super) static BRACKETS: [u8; 256] = folded(true);

const fn folded(brackets: bool) -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'[' if brackets => b'\\',
            b'\\' if brackets => b']',
            b']' if brackets => b'[',
            byte => byte.to_ascii_uppercase(),
        };
        byte += 1;
    }
    table
}

/// A weight per byte, though characters may have several.
#[derive(Clone, Copy)]
pub(super) struct ByteTable(pub(super) &'static [u8; 256], pub(super) Charset);

impl Scheme for ByteTable {
    const WIDTH: usize = 1;

    fn weights(self, text: &[u8]) -> impl Iterator<Item = u32> {
        text.iter().map(move |&byte| u32::from(self.0[usize::from(byte)]))
    }

    #[inline]
    fn code(self, text: &[u8]) -> (u32, usize) {
        self.1.code(text)
    }

    #[inline]
    fn ascii_weight(self, byte: u8) -> Option<u32> {
        Some(u32::from(self.0[usize::from(byte)]))
    }

    #[inline]
    fn same(self, a: &[u8], b: &[u8]) -> Option<(usize, usize)> {
        match self.code(a).1 {
            1 => (self.0[usize::from(a[0])] == self.0[usize::from(b[0])]).then_some((1, 1)),
            len => (len <= b.len() && a[..len] == b[..len]).then_some((len, len)),
        }
    }
}

/// `gbk_chinese_ci`.
#[derive(Clone, Copy)]
pub(super) struct Gbk;

/// `big5_chinese_ci`.
#[derive(Clone, Copy)]
pub(super) struct Big5;

macro_rules! one_each {
    ($($name:ident: $charset:expr, $wide:expr;)*) => {
        $(
            impl OneEach for $name {
                const WIDTH: usize = 2;
                const ASCII: bool = true;

                #[inline]
                fn decode(text: &[u8]) -> Option<(u32, usize)> {
                    Some($charset.code(text)).filter(|&(code, _)| code < super::scheme::MALFORMED)
                }

                #[inline]
                fn weight(code: u32) -> u32 {
                    let wide: fn(u32) -> u32 = $wide;
                    if code < 0x100 { u32::from(BRACKETS[code as usize]) } else { wide(code) }
                }
            }
        )*
    };
}

one_each! {
    Gbk: Charset::GBK, gbk_weight;
    Big5: Charset::BIG5, |code| code;
}

/// Weight of a character of two bytes in `gbk_chinese_ci`.
fn gbk_weight(code: u32) -> u32 {
    static WEIGHTS: OnceLock<Vec<u16>> = OnceLock::new();
    wide_weight(WEIGHTS.get_or_init(|| wide("collation.gbk")), code)
}

/// The character that weighs most in `gbk_chinese_ci`.
pub(super) fn greatest_of_gbk() -> u32 {
    (0x8140..=0xFEFE).max_by_key(|&code| gbk_weight(code)).unwrap_or(0xFEFE)
}

/// What WEIGHT_STRING() gives for a character of two bytes in `big5_chinese_ci`: the strokes it is written with, not the
/// order that texts are compared by.
fn big5_strokes(code: u32) -> u32 {
    static WEIGHTS: OnceLock<Vec<u16>> = OnceLock::new();
    wide_weight(WEIGHTS.get_or_init(|| wide("collation.big5")), code)
}

fn wide_weight(weights: &[u16], code: u32) -> u32 {
    let at = code.wrapping_sub(0x8000) as usize;
    weights.get(at).map_or(code, |&weight| u32::from(weight))
}

fn wide(name: &str) -> Vec<u16> {
    let mut from = section(name);
    let mut weight = 0u16;
    let next = || {
        weight = weight.wrapping_add(from.u16());
        weight
    };
    std::iter::repeat_with(next).take(0x8000).collect()
}

/// WEIGHT_STRING(): a byte of the table, or the weight of what is longer.
pub(super) fn weight_string(collation: super::Collation, text: &[u8], out: &mut Vec<u8>) {
    let charset = collation.charset();
    let (table, wide): (_, fn(u32) -> u32) = match collation.order {
        super::Order::Gbk => (&BRACKETS, gbk_weight),
        super::Order::Big5 => (&BRACKETS, big5_strokes),
        super::Order::ByteTable(table) => (table, |code| code),
        _ => (&FOLDED, |code| code),
    };
    let mut rest = text;
    while !rest.is_empty() {
        match charset.char_len(rest) {
            Some(2) => {
                let weight = wide(u32::from(rest[0]) << 8 | u32::from(rest[1]));
                vaquita_base::codec::push_uint(out, 2, weight.into());
                rest = &rest[2..];
            }
            len => {
                let len = len.unwrap_or(1);
                out.extend(rest[..len].iter().map(|&byte| table[usize::from(byte)]));
                rest = &rest[len..];
            }
        }
    }
}
