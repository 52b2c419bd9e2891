//! Forms of a text that stand for its place in the order: hashes, sort keys, WEIGHT_STRING().

use vaquita_base::codec;

use super::scheme::{CodePoint, General, MALFORMED, OneEach as _, Scheme, Utf8, with_scheme};
use super::{Collation, Order, east_asian, trim_spaces};
use crate::ascii;
use crate::charset::{self, Charset};

impl Collation {
    /// A hash of the text: equal texts, whatever their bytes, have equal hashes. Not for untrusted keys without a
    /// `seed` of one's own.
    pub fn hash(self, text: &[u8], seed: u64) -> u64 {
        match self.order {
            Order::Binary => hash_bytes(text, seed),
            Order::Bytes => hash_bytes(trim_spaces(text), seed),
            Order::Table(weights) | Order::ByteTable(weights) => hash_table(weights, text, seed),
            Order::Utf8General => hash_utf8_general(trim_spaces(text), seed),
            _ => with_scheme!(self, scheme => hash_weights(scheme, text, seed)),
        }
    }

    /// Appends the key of the text: keys compare as bytes as the texts compare, and no key is the start of another one
    /// that is not equal to it, so keys of several columns may be put one after the other.
    ///
    /// Every weight takes as many bytes as the widest of its order; in `utf8_general_ci` and `utf8mb4_general_ci` as many
    /// as its code in UTF-8. Where texts are padded, a run of spaces is followed by a byte that tells whether what comes
    /// next is less than a space (1), nothing (2) or more (3), and by the length of the run: so the spaces that pad a text
    /// need not be written.
    pub fn sort_key(self, text: &[u8], out: &mut Vec<u8>) {
        match self.order {
            Order::Utf8General => return utf8_general_key(text, out),
            Order::Bytes => return byte_key(|byte| byte, text, out),
            Order::Table(weights) | Order::ByteTable(weights) => {
                return byte_key(|byte| weights[usize::from(byte)], text, out);
            }
            _ => {}
        }
        with_scheme!(self, scheme => match scheme.pad() {
            Some(space) => padded_key(scheme, text, space, out),
            None => bare_key(scheme, text, out),
        });
    }

    /// Whether the weights of a text begin with those of `start`: `stras` is the start of `straße` where `ß` weighs as `ss`. Where weights
    /// have levels, as many characters of the text must be equal to it, too.
    pub fn starts_with(self, text: &[u8], start: &[u8]) -> bool {
        if let Order::Levels(levels) = self.order
            && let Some(letters_do) = levels.letters_start_with(text, start)
        {
            let chars = self.charset().char_count(start);
            return letters_do && self.equal(self.charset().substring(text, 0, chars), start);
        }
        with_scheme!(self, scheme => {
            let mut weights = scheme.weights(text);
            scheme.weights(start).all(|weight| weights.next() == Some(weight))
        })
    }

    /// Appends the first `len` bytes of the key of [`Collation::sort_key`], or more of it. Of a long text the start is read.
    pub fn key_start(self, text: &[u8], len: usize, out: &mut Vec<u8>) {
        // A character that is cut has up to three weights of two bytes each, and the end of a key has two.
        const CUT: usize = 8;
        let (from, enough) = (out.len(), 2 * len + CUT);
        if text.len() > enough && self.is_by_bytes() {
            self.sort_key(&text[..enough], out);
            if out.len() - from >= len + CUT {
                out.truncate(from + len);
                return;
            }
            out.truncate(from);
        }
        self.sort_key(text, out);
    }

    /// Whether what a key begins with follows from what a text begins with.
    fn is_by_bytes(self) -> bool {
        matches!(
            self.order,
            Order::Binary | Order::Bytes | Order::Table(_) | Order::ByteTable(_) | Order::Utf8General
        )
    }

    /// Appends what WEIGHT_STRING() of MySQL returns.
    pub fn weight_string(self, text: &[u8], out: &mut Vec<u8>) {
        match self.order {
            Order::Bytes if self.charset() == Charset::UTF8 => code_points(text, 2, out),
            Order::Bytes if self.charset() == Charset::UTF8MB4 => code_points(text, 3, out),
            Order::Ucs2Bin => out.extend_from_slice(text),
            Order::Sjis => sjis_weights(text, out),
            Order::ByteTable(_) | Order::Gbk | Order::Big5 => east_asian::weight_string(self, text, out),
            Order::Levels(levels) => levels.key(text, out),
            _ => with_scheme!(self, scheme => weights(scheme, text, out)),
        }
    }
}

const SPACES_THEN_LESS: u8 = 1;
const SPACES_THEN_NOTHING: u8 = 2;
const SPACES_THEN_MORE: u8 = 3;

fn padded_key<S: Scheme>(scheme: S, text: &[u8], space: u32, out: &mut Vec<u8>) {
    out.reserve(text.len() * S::WIDTH + S::WIDTH + 1);
    let mut spaces = 0usize;
    scheme.each_weight(text, |weight| {
        if weight == space {
            spaces += 1;
            return;
        }
        if spaces > 0 {
            push_weight::<S>(space, out);
            push_run(spaces, weight > space, out);
            spaces = 0;
        }
        push_weight::<S>(weight, out);
    });
    push_weight::<S>(space, out);
    out.push(SPACES_THEN_NOTHING);
}

/// One weight per byte: runs between spaces are written as a whole.
#[inline]
fn byte_key(weight: impl Fn(u8) -> u8, text: &[u8], out: &mut Vec<u8>) {
    let space = weight(b' ');
    out.reserve(text.len() + 2);
    let mut rest = text;
    loop {
        let len = rest.iter().position(|&byte| weight(byte) == space).unwrap_or(rest.len());
        out.extend(rest[..len].iter().map(|&byte| weight(byte)));
        rest = &rest[len..];
        let spaces = rest.iter().position(|&byte| weight(byte) != space).unwrap_or(rest.len());
        rest = &rest[spaces..];
        out.push(space);
        let Some(&next) = rest.first() else { return out.push(SPACES_THEN_NOTHING) };
        push_run(spaces, weight(next) > space, out);
    }
}

/// Weights of ASCII are its capital letters: thirty-two or eight characters at a time.
fn utf8_general_key(text: &[u8], out: &mut Vec<u8>) {
    const SPACE: u32 = b' ' as u32;
    out.reserve(text.len() + 8);
    let mut spaces = 0;
    let mut rest = text;
    while !rest.is_empty() {
        if spaces == 0 {
            while let Some((block, after)) = rest.split_first_chunk::<32>()
                && let Some(upper) = ascii::upper_block(block)
            {
                out.extend_from_slice(&upper);
                rest = after;
            }
            let mut bytes = [b' '; 8];
            let len = rest.len().min(8);
            bytes[..len].copy_from_slice(&rest[..len]);
            let word = codec::get_u64(&bytes, 0);
            let plain = ascii::plain_bytes(word);
            if plain > 0 {
                let end = out.len() + plain;
                codec::push_u64(out, ascii::upper_word(word & !ascii::HIGH_BITS));
                out.truncate(end);
                rest = &rest[plain..];
                continue;
            }
            if rest.is_empty() {
                break;
            }
        }
        let (weight, len) = match rest[0] {
            ascii @ ..0x80 => (u32::from(ascii.to_ascii_uppercase()), 1),
            _ => General::<Utf8>::first(rest),
        };
        rest = &rest[len..];
        if weight == SPACE {
            spaces += 1;
            continue;
        }
        if spaces > 0 {
            out.push(b' ');
            push_run(spaces, weight > SPACE, out);
            spaces = 0;
        }
        push_as_utf8(weight, out);
    }
    out.extend_from_slice(&[b' ', SPACES_THEN_NOTHING]);
}

/// A weight as UTF-8 has the character of that code; malformed bytes come after them all.
fn push_as_utf8(weight: u32, out: &mut Vec<u8>) {
    let tail = |shift: u32| 0x80 | (weight >> shift & 0x3F) as u8;
    match weight {
        0..0x80 => out.push(weight as u8),
        0x80..0x800 => out.extend_from_slice(&[0xC0 | (weight >> 6) as u8, tail(0)]),
        0x800..0x1_0000 => out.extend_from_slice(&[0xE0 | (weight >> 12) as u8, tail(6), tail(0)]),
        _ => out.extend_from_slice(&[0xFF, weight as u8]),
    }
}

/// A longer run comes later if less than a space follows it, earlier if more follows.
fn push_run(spaces: usize, then_more: bool, out: &mut Vec<u8>) {
    let flip = if then_more { 0xFF } else { 0 };
    out.push(if then_more { SPACES_THEN_MORE } else { SPACES_THEN_LESS });
    let mut rest = spaces;
    while rest >= 0xFF {
        out.push(0xFF ^ flip);
        rest -= 0xFF;
    }
    out.push(rest as u8 ^ flip);
}

/// A zero ends the key; a weight of zero is followed by 0xFF.
fn bare_key<S: Scheme>(scheme: S, text: &[u8], out: &mut Vec<u8>) {
    out.reserve((text.len() + 1) * S::WIDTH + 1);
    scheme.each_weight(text, |weight| {
        push_weight::<S>(weight, out);
        if weight == 0 {
            out.push(0xFF);
        }
    });
    push_weight::<S>(0, out);
    out.push(0);
}

/// Weights of malformed bytes do not fit two bytes: they are written after 0xFFFF, and so is 0xFFFF itself.
#[inline]
fn push_weight<S: Scheme>(weight: u32, out: &mut Vec<u8>) {
    let [upper, high, low] = [(weight >> 16) as u8, (weight >> 8) as u8, weight as u8];
    match S::WIDTH {
        1 => out.push(low),
        2 if weight < 0xFFFF => out.extend_from_slice(&[high, low]),
        2 => out.extend_from_slice(&[0xFF, 0xFF, upper, high, low]),
        _ => out.extend_from_slice(&[upper, high, low]),
    }
}

/// Code points of a text in UTF-8; 0 and the end at a malformed byte.
fn code_points(text: &[u8], width: usize, out: &mut Vec<u8>) {
    for code in CodePoint(Utf8).weights(text).take_while(|&code| code < MALFORMED) {
        codec::push_uint(out, width, u64::from(code));
    }
}

fn weights<S: Scheme>(scheme: S, text: &[u8], out: &mut Vec<u8>) {
    for weight in scheme.weights(text).take_while(|&weight| weight < MALFORMED) {
        codec::push_uint(out, S::WIDTH, u64::from(weight));
    }
}

/// One byte or two, lower case folded.
fn sjis_weights(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while !rest.is_empty() {
        match charset::sjis_len(rest) {
            Some(2) => {
                out.extend_from_slice(&rest[..2]);
                rest = &rest[2..];
            }
            _ => {
                out.push(rest[0].to_ascii_uppercase());
                rest = &rest[1..];
            }
        }
    }
}

fn hash_bytes(text: &[u8], seed: u64) -> u64 {
    let mut mixer = Mixer::new(seed);
    let mut words = text.chunks_exact(8);
    for word in &mut words {
        mixer.whole(codec::get_u64(word, 0));
    }
    for &byte in words.remainder() {
        mixer.byte(byte);
    }
    mixer.finish()
}

fn hash_utf8_general(text: &[u8], seed: u64) -> u64 {
    let mut mixer = Mixer::new(seed);
    let mut words = text.chunks_exact(8);
    let mut done = 0;
    for word in &mut words {
        let word = codec::get_u64(word, 0);
        if word & ascii::HIGH_BITS != 0 {
            break;
        }
        mixer.whole(ascii::upper_word(word));
        done += 8;
    }
    // No space is left at the end, so the weights need no look at the padding.
    for weight in General(Utf8).weights(&text[done..]) {
        mixer.weight(weight);
    }
    mixer.finish()
}

fn hash_weights<S: Scheme>(scheme: S, text: &[u8], seed: u64) -> u64 {
    let mut mixer = Mixer::new(seed);
    let pad = scheme.pad();
    let mut spaces = 0;
    scheme.each_weight(text, |weight| {
        if Some(weight) == pad {
            spaces += 1;
            return;
        }
        for _ in 0..std::mem::take(&mut spaces) {
            mixer.half_word(pad.unwrap_or(0));
        }
        mixer.half_word(weight);
    });
    mixer.finish()
}

fn hash_table(weights: &[u8; 256], text: &[u8], seed: u64) -> u64 {
    let mut mixer = Mixer::new(seed);
    for byte in trim_spaces(text) {
        mixer.byte(weights[usize::from(*byte)]);
    }
    mixer.finish()
}

/// Mixes bytes, eight at a time.
struct Mixer {
    state: u64,
    word: u64,
    bytes: u64,
}

impl Mixer {
    fn new(seed: u64) -> Mixer {
        Mixer { state: seed ^ 0x243F_6A88_85A3_08D3, word: 0, bytes: 0 }
    }

    /// Eight bytes; none may be waiting.
    #[inline]
    fn whole(&mut self, word: u64) {
        let product = u128::from(self.state ^ word) * u128::from(0x9E37_79B9_7F4A_7C15u64);
        self.state = (product as u64 ^ (product >> 64) as u64).wrapping_add(0x1319_8A2E_0370_7344);
        self.bytes += 8;
    }

    #[inline]
    fn byte(&mut self, byte: u8) {
        self.word = self.word << 8 | u64::from(byte);
        self.bytes += 1;
        if self.bytes.is_multiple_of(8) {
            self.bytes -= 8;
            self.whole(self.word);
            self.word = 0;
        }
    }

    /// A weight of any kind. Not to be mixed with the other ways of taking weights.
    #[inline]
    fn half_word(&mut self, weight: u32) {
        self.word = self.word << 16 ^ u64::from(weight);
        self.bytes += 2;
        if self.bytes.is_multiple_of(8) {
            self.bytes -= 8;
            self.whole(self.word);
            self.word = 0;
        }
    }

    /// Small weights take a byte, so that ASCII can be mixed eight characters at a time.
    #[inline]
    fn weight(&mut self, weight: u32) {
        if weight > 0xFFFF {
            self.byte((weight >> 16) as u8);
        }
        if weight >= 0x80 {
            self.byte((weight >> 8) as u8);
        }
        self.byte(weight as u8);
    }

    fn finish(mut self) -> u64 {
        self.whole(self.word);
        self.whole(self.bytes);
        self.state
    }
}
