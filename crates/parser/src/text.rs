//! The values of string, number, hex and bit tokens.

use bumpalo::Bump;
use bumpalo::collections::Vec;

use crate::lexer::Lexer;
use crate::mode::TwoByte;
use crate::token::{JOINED, Token};

/// The bytes of a string token whose opening quote is `prefix` bytes after its start.
///
/// Borrowed from the text if nothing has to be resolved.
pub(crate) fn string_value<'a>(
    sql: &'a [u8],
    token: &Token,
    prefix: usize,
    lexer: &Lexer<'a>,
    arena: &'a Bump,
) -> &'a [u8] {
    let quoted = quoted(sql, token, prefix);
    if token.flags == 0 {
        return quoted.get(1..quoted.len() - 1).unwrap_or_default();
    }
    let mut value = Vec::with_capacity_in(quoted.len(), arena);
    resolve(sql, token, prefix, lexer, |bytes| value.extend_from_slice(bytes));
    value.into_bump_slice()
}

fn quoted<'a>(sql: &'a [u8], token: &Token, prefix: usize) -> &'a [u8] {
    sql.get(token.start as usize + prefix..token.end as usize).unwrap_or_default()
}

/// Gives the bytes of a string token piece by piece.
pub(crate) fn resolve(
    sql: &[u8],
    token: &Token,
    prefix: usize,
    lexer: &Lexer<'_>,
    mut push: impl FnMut(&[u8]),
) {
    unescape(quoted(sql, token, prefix), lexer.escapes(), lexer.two_byte(), &mut push);
    if token.flags & JOINED != 0 {
        for (start, end) in lexer.joined(token.end as usize) {
            unescape(&sql[start..end], lexer.escapes(), lexer.two_byte(), &mut push);
        }
    }
}

/// Resolves escapes and doubled quotes of `quoted`, which includes its quotes.
pub(crate) fn unescape(quoted: &[u8], escapes: bool, two_byte: TwoByte, mut push: impl FnMut(&[u8])) {
    let Some((&quote, rest)) = quoted.split_first() else { return };
    let content = &rest[..rest.len().saturating_sub(1)];
    let mut pos = 0;
    let escape = if escapes && quote != b'`' { b'\\' } else { quote };
    let special = |rest: &[u8]| match two_byte {
        TwoByte::None => rest.iter().position(|&byte| byte == quote || byte == escape),
        wide => wide.find(rest, quote, escape),
    };
    while let Some(length) = special(&content[pos..]) {
        push(&content[pos..pos + length]);
        pos += length;
        let Some(&next) = content.get(pos + 1) else { break };
        if content[pos] == quote {
            push(&[quote]);
        } else {
            match next {
                b'0' => push(&[0]),
                b'b' => push(&[8]),
                b'n' => push(b"\n"),
                b'r' => push(b"\r"),
                b't' => push(b"\t"),
                b'Z' => push(&[0x1A]),
                // Patterns keep these two for LIKE.
                b'%' => push(b"\\%"),
                b'_' => push(b"\\_"),
                other => push(&[other]),
            }
        }
        pos += 2;
    }
    push(content.get(pos..).unwrap_or_default());
}

/// The bytes of hex digits, the first one alone if their number is odd.
pub(crate) fn hex_value<'a>(digits: &[u8], arena: &'a Bump) -> &'a [u8] {
    let nibble = |digit: u8| match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit & 0xDF) - b'A' + 10,
    };
    let odd = digits.len() % 2;
    let bytes = digits.len() / 2 + odd;
    arena.alloc_slice_fill_with(bytes, |at| {
        let low = nibble(digits[at * 2 + 1 - odd]);
        if at == 0 && odd == 1 { low } else { nibble(digits[at * 2 - odd]) << 4 | low }
    })
}

/// The bytes of binary digits, big-endian.
pub(crate) fn bit_value<'a>(digits: &[u8], arena: &'a Bump) -> &'a [u8] {
    let bytes = digits.len().div_ceil(8);
    let missing = bytes * 8 - digits.len();
    arena.alloc_slice_fill_with(bytes, |at| {
        (0..8).fold(0, |byte, bit| {
            let digit = (at * 8 + bit).checked_sub(missing).map_or(b'0', |digit| digits[digit]);
            byte << 1 | (digit - b'0')
        })
    })
}

/// The number that decimal digits are; `None` beyond 64 bits.
#[inline]
pub(crate) fn int_value(digits: &[u8]) -> Option<u64> {
    if digits.len() < 20 {
        // Nineteen digits fit.
        return Some(digits.iter().fold(0, |number, &digit| number * 10 + u64::from(digit - b'0')));
    }
    digits
        .iter()
        .try_fold(0u64, |number, &digit| number.checked_mul(10)?.checked_add(u64::from(digit - b'0')))
}
