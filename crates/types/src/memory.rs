//! Memory for long values: an allocation that fails ends the statement, not the process.
//!
//! A failed allocation of a few bytes cannot be told from inside most code, and ends the process. So a long one is refused
//! while there is still room for many short ones: it succeeds only if [`HEADROOM`] could be had behind it. What a session's
//! statement may have at all, [`account`] knows.

pub mod account;

pub use account::check;

use crate::{SqlError, SqlResult, Value};
use std::borrow::Cow;
use vaquita_format::charset::{Charset, is_same_in};

/// From this length on an allocation is a long one.
const LONG: usize = 256 << 10;

/// What a long allocation leaves for others, in bytes.
const HEADROOM: usize = 64 << 20;

/// Error 5: so many bytes cannot be had.
#[cold]
pub fn no_memory(bytes: usize) -> SqlError {
    SqlError::new(5, format!("Out of memory (Needed {bytes} bytes)"))
}

/// Room for so many more elements; for exactly so many if the vector is empty.
///
/// # Errors
/// 5; 4081 and 4082 beyond what the statement may have.
#[inline]
pub fn reserve<T>(out: &mut Vec<T>, more: usize) -> SqlResult<()> {
    if more <= out.capacity() - out.len() { Ok(()) } else { grow(out, more) }
}

fn grow<T>(out: &mut Vec<T>, more: usize) -> SqlResult<()> {
    let bytes = more.saturating_mul(size_of::<T>());
    if bytes.max(out.capacity().saturating_mul(size_of::<T>())) >= LONG {
        check(bytes)?;
    }
    let grown = if out.is_empty() { out.try_reserve_exact(more) } else { out.try_reserve(more) };
    grown.map_err(|_| no_memory(bytes))?;
    if out.capacity().saturating_mul(size_of::<T>()) >= LONG && !has_headroom() {
        out.shrink_to_fit();
        return Err(no_memory(bytes));
    }
    Ok(())
}

/// To be called by what makes a value out of many short allocations, for each of them: what they come to is asked for as if it were
/// long ones, and somebody who ends the statement is heard meanwhile.
///
/// # Errors
/// 5; 4081 and 4082 beyond what the statement may have; 1317 interrupted.
#[inline]
pub fn short(bytes: usize) -> SqlResult<()> {
    let sum = SHORT_ONES.get().saturating_add(bytes);
    SHORT_ONES.set(sum);
    if sum < LONG { Ok(()) } else { many_short() }
}

thread_local! {
    /// Bytes of short allocations since they were last asked for.
    static SHORT_ONES: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

#[cold]
fn many_short() -> SqlResult<()> {
    SHORT_ONES.set(0);
    account::interrupted()?;
    check(0)?;
    if has_headroom() { Ok(()) } else { Err(no_memory(LONG)) }
}

/// Whether code that cannot be refused may allocate so many bytes at once.
///
/// # Errors
/// As [`reserve`].
pub fn may_take(bytes: usize) -> SqlResult<()> {
    if bytes < LONG {
        return Ok(());
    }
    drop(with_room(bytes)?);
    Ok(())
}

/// Whether there is room for what cannot be refused.
fn has_headroom() -> bool {
    // Taken and given back: nothing of it is touched.
    let mut headroom: Vec<u8> = Vec::new();
    let there = headroom.try_reserve_exact(HEADROOM).is_ok();
    // The allocation must not be thought away.
    std::hint::black_box(&mut headroom);
    there
}

/// Puts an element at the end.
///
/// # Errors
/// As [`reserve`].
#[inline]
pub fn push<T>(out: &mut Vec<T>, element: T) -> SqlResult<()> {
    reserve(out, 1)?;
    out.push(element);
    Ok(())
}

/// A short text of its own, or a long one; one of many.
///
/// # Errors
/// As [`reserve`] and [`short`].
pub fn copied(bytes: &[u8]) -> SqlResult<Vec<u8>> {
    short(bytes.len() + size_of::<Vec<u8>>())?;
    let mut out = with_room(bytes.len())?;
    out.extend_from_slice(bytes);
    Ok(out)
}

/// An empty vector with room for so many bytes.
///
/// # Errors
/// 5.
pub fn with_room(bytes: usize) -> SqlResult<Vec<u8>> {
    let mut out = Vec::new();
    reserve(&mut out, bytes)?;
    Ok(out)
}

/// Gives back room that a long text turned out not to need, if there is much of it.
pub fn give_back_rest(out: &mut Vec<u8>) {
    if out.capacity() >= LONG && out.capacity() / 4 > out.len() / 3 {
        out.shrink_to_fit();
    }
}

/// Puts bytes at the end.
///
/// # Errors
/// 5.
#[inline]
pub fn append(out: &mut Vec<u8>, bytes: &[u8]) -> SqlResult<()> {
    reserve(out, bytes.len())?;
    out.extend_from_slice(bytes);
    Ok(())
}

/// So many times the same byte.
///
/// # Errors
/// 5.
pub fn filled(byte: u8, len: usize) -> SqlResult<Vec<u8>> {
    let mut out = with_room(len)?;
    out.resize(len, byte);
    Ok(out)
}

/// A text so many times.
///
/// # Errors
/// 5.
pub fn repeated(text: &[u8], times: usize) -> SqlResult<Vec<u8>> {
    let len = text.len().checked_mul(times).ok_or_else(|| no_memory(usize::MAX))?;
    let mut out = with_room(len)?;
    if len > 0 {
        out.extend_from_slice(text);
    }
    while out.len() < len {
        out.extend_from_within(..out.len().min(len - out.len()));
    }
    Ok(out)
}

/// The most bytes that a long text has in another character set; of a short one a guess.
pub fn converted_len_max(from: Charset, to: Charset, text: &[u8]) -> usize {
    /// Below it the text may grow as it likes, in bytes.
    const SHORT: usize = 64 << 10;
    match text.len() < SHORT || is_same_in(text, from, to) {
        true => text.len() + 8,
        false => (text.len() / usize::from(from.mb_min_len).max(1)).saturating_mul(to.mb_max_len.into()) + 8,
    }
}

/// A value that borrows nothing.
///
/// # Errors
/// 5.
pub fn into_owned(value: Value<'_>) -> SqlResult<Value<'static>> {
    match value {
        Value::Bytes(Cow::Borrowed(bytes)) if bytes.len() >= LONG => {
            let mut out = with_room(bytes.len())?;
            out.extend_from_slice(bytes);
            Ok(Value::owned(out))
        }
        Value::Json(Cow::Borrowed(bytes)) if bytes.len() >= LONG => {
            let mut out = with_room(bytes.len())?;
            out.extend_from_slice(bytes);
            Ok(Value::Json(out.into()))
        }
        value => Ok(value.into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_had_is_an_error() {
        let refused = with_room(isize::MAX as usize).unwrap_err();
        assert_eq!(refused.code, 5);
        assert_eq!(refused.message, format!("Out of memory (Needed {} bytes)", isize::MAX));
        assert_eq!(repeated(b"ab", usize::MAX).unwrap_err().code, 5);
        let mut kept = b"abc".to_vec();
        assert_eq!(reserve(&mut kept, usize::MAX / 2).unwrap_err().code, 5);
        assert_eq!(kept, b"abc");
    }

    #[test]
    fn texts_are_repeated() {
        assert_eq!(repeated(b"abc", 0).unwrap(), b"");
        assert_eq!(repeated(b"", 7).unwrap(), b"");
        assert_eq!(repeated(b"abc", 1).unwrap(), b"abc");
        assert_eq!(repeated(b"abc", 5).unwrap(), b"abcabcabcabcabc");
        assert_eq!(repeated(b"xy", 300_000).unwrap().len(), 600_000);
        assert_eq!(filled(b' ', 3).unwrap(), b"   ");
    }
}
