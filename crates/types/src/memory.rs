//! Memory for long values: an allocation that fails ends the statement, not the process.
//!
//! A failed allocation of a few bytes cannot be told from inside most code, and ends the process. So a long one is refused
//! while there is still room for many short ones: it succeeds only if [`HEADROOM`] could be had behind it. What a session's
//! statement may have at all, [`account`] knows.

pub mod account;

pub use account::check;

use crate::{SqlError, SqlResult, Value};
use std::borrow::Cow;

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
    if out.capacity().saturating_mul(size_of::<T>()) >= LONG {
        // Taken and given back: nothing of it is touched.
        let mut headroom: Vec<u8> = Vec::new();
        if headroom.try_reserve_exact(HEADROOM).is_err() {
            out.shrink_to_fit();
            return Err(no_memory(bytes));
        }
        // The allocation must not be thought away.
        std::hint::black_box(&mut headroom);
    }
    Ok(())
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
