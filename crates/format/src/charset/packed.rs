//! Character sets whose tables are in the packed file: the East Asian ones, and four of 8 bits.

use std::sync::OnceLock;

use vaquita_base::codec;

use super::{euc_jp_len, sjis_len, two_byte};
use crate::packed::{Reader, section};

/// An East Asian character set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EastAsian {
    Big5,
    Cp932,
    Eucjpms,
    Euckr,
    Gb2312,
    Gbk,
    Ujis,
}

/// A character set of 8 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EightBit {
    Armscii8,
    Geostd8,
    Keybcs2,
    Swe7,
}

/// 256 characters or codes of the same high byte; 0: none.
type Page = Option<Box<[u16; 256]>>;

/// Characters of three bytes, which all begin with 0x8F, are told by the other two, the last one without its high bit.
struct Tables {
    /// Characters by lead byte: without one, of two bytes, of three.
    forward: Vec<Page>,
    /// Such codes by the character's high byte.
    back: Vec<Page>,
    upper: Vec<(u32, u32)>,
    lower: Vec<(u32, u32)>,
}

const THREE_BYTES: u32 = 0x8F_0000;

impl EastAsian {
    /// Bytes of the first character of a text that is not empty; `None` if it is malformed.
    #[inline]
    pub(super) fn char_len(self, s: &[u8]) -> Option<usize> {
        match self {
            EastAsian::Cp932 => sjis_len(s),
            EastAsian::Big5 => two_byte(s, 0xA1..=0xF9, |t| matches!(t, 0x40..=0x7E | 0xA1..=0xFE)),
            EastAsian::Gbk => two_byte(s, 0x81..=0xFE, |t| matches!(t, 0x40..=0x7E | 0x80..=0xFE)),
            EastAsian::Gb2312 => two_byte(s, 0xA1..=0xF7, |t| matches!(t, 0xA1..=0xFE)),
            EastAsian::Euckr => {
                two_byte(s, 0x81..=0xFE, |t| matches!(t, 0x41..=0x5A | 0x61..=0x7A | 0x81..=0xFE))
            }
            EastAsian::Ujis | EastAsian::Eucjpms => euc_jp_len(s),
        }
    }

    /// The first character of a text that is not empty, and its length.
    pub(super) fn next(self, s: &[u8]) -> Option<(u32, usize)> {
        let len = self.char_len(s)?;
        if s[0] < 0x80 {
            return Some((u32::from(s[0]), 1));
        }
        let (lead, last) = match len {
            1 => (0, s[0]),
            2 => (usize::from(s[0]), s[1]),
            _ => (0x100 | usize::from(s[1]), s[2]),
        };
        let code = self.tables().forward[lead].as_ref()?[usize::from(last)];
        (code != 0).then_some((u32::from(code), len))
    }

    /// Appends the character; `false` if the character set has none.
    pub(super) fn push(self, code: u32, out: &mut Vec<u8>) -> bool {
        if code < 0x80 {
            out.push(code as u8);
            return true;
        }
        let Ok(code) = u16::try_from(code) else { return false };
        let page = self.tables().back[usize::from(code >> 8)].as_ref();
        let found = page.map_or(0, |page| page[usize::from(code & 0xFF)]);
        let [high, low] = [(found >> 8) as u8, found as u8];
        match (high, low) {
            (0, 0) => return false,
            (0, _) => out.push(low),
            (_, 0x80..) => out.extend_from_slice(&[high, low]),
            // Trail bytes below 0x80 are of the sets that have no characters of three bytes.
            _ if self.has_three_bytes() => out.extend_from_slice(&[0x8F, high, low | 0x80]),
            _ => out.extend_from_slice(&[high, low]),
        }
        true
    }

    /// Code of the character's bytes in upper or lower case.
    pub(super) fn change_case(self, character: &[u8], upper: bool) -> Option<u32> {
        let code = character.iter().fold(0, |code, &byte| code << 8 | u32::from(byte));
        let pairs = if upper { &self.tables().upper } else { &self.tables().lower };
        let at = pairs.binary_search_by_key(&code, |pair| pair.0).ok()?;
        Some(pairs[at].1)
    }

    fn has_three_bytes(self) -> bool {
        matches!(self, EastAsian::Ujis | EastAsian::Eucjpms)
    }

    fn tables(self) -> &'static Tables {
        static ALL: [OnceLock<Tables>; 7] = [const { OnceLock::new() }; 7];
        let (n, name) = match self {
            EastAsian::Big5 => (0, "big5"),
            EastAsian::Cp932 => (1, "cp932"),
            EastAsian::Eucjpms => (2, "eucjpms"),
            EastAsian::Euckr => (3, "euckr"),
            EastAsian::Gb2312 => (4, "gb2312"),
            EastAsian::Gbk => (5, "gbk"),
            EastAsian::Ujis => (6, "ujis"),
        };
        ALL[n].get_or_init(|| Tables::expand(name))
    }
}

impl Tables {
    fn expand(name: &str) -> Tables {
        let mut from = section(&format!("charset.{name}"));
        let (mut forward, mut back) = (empty(512), empty(256));
        let mut code = 0u16;
        loop {
            let [plane, lead, first, count] = [(); 4].map(|()| from.u8());
            if count == 0 {
                break;
            }
            for trail in first..=first + (count - 1) {
                code = code.wrapping_add(from.u16());
                if code == 0 {
                    continue;
                }
                let three = usize::from(plane != 0) << 8;
                set(&mut forward, three | usize::from(lead), trail, code);
                let packed = u16::from(lead) << 8 | u16::from(if plane == 0 { trail } else { trail & 0x7F });
                // Of several characters that are the same one in Unicode the first one comes back.
                let first = back[usize::from(code >> 8)].as_ref();
                if first.is_none_or(|page| page[usize::from(code & 0xFF)] == 0) {
                    set(&mut back, usize::from(code >> 8), code as u8, packed);
                }
            }
        }
        for _ in 0..from.u16() {
            let (code, packed) = (from.u16(), from.u16());
            set(&mut back, usize::from(code >> 8), code as u8, packed);
        }
        let mut case = section(&format!("case.{name}"));
        let mut pairs = || (0..case.u16()).map(|_| (case.u24(), case.u24())).collect();
        Tables { forward, back, upper: pairs(), lower: pairs() }
    }
}

fn empty(pages: usize) -> Vec<Page> {
    std::iter::repeat_with(|| None).take(pages).collect()
}

fn set(pages: &mut [Page], page: usize, at: u8, value: u16) {
    pages[page].get_or_insert_with(|| Box::new([0; 256]))[usize::from(at)] = value;
}

/// Appends the bytes of a character that [`EastAsian::change_case`] gave.
pub(super) fn push_code(code: u32, out: &mut Vec<u8>) {
    let len = if code >= THREE_BYTES { 3 } else { 1 + usize::from(code > 0xFF) };
    codec::push_uint(out, len, u64::from(code));
}

impl EightBit {
    /// The character of a byte.
    pub(super) fn decode(self, byte: u8) -> Option<u32> {
        let code = self.table()[usize::from(byte)];
        (code != 0 || byte == 0).then_some(u32::from(code))
    }

    /// The byte of a character.
    pub(super) fn encode(self, code: u32) -> Option<u8> {
        if code == 0 {
            return Some(0);
        }
        self.table().iter().position(|&c| u32::from(c) == code).map(|at| at as u8)
    }

    fn table(self) -> &'static [u16; 256] {
        static ALL: OnceLock<Box<[[u16; 256]; 4]>> = OnceLock::new();
        let tables = ALL.get_or_init(|| {
            let mut from: Reader = section("charset.8bit");
            let mut tables = Box::new([[0; 256]; 4]);
            tables.iter_mut().flatten().for_each(|code| *code = from.u16());
            tables
        });
        &tables[self as usize]
    }
}
