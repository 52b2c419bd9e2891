//! AES_ENCRYPT, AES_DECRYPT, OLD_PASSWORD.

use super::encode::binary;
use super::{Function, arg, evals, f};
use crate::build::{Collated, New, text_type};
use crate::node::Expr;
use crate::scope::CompileCx;
use crate::{EvalCx, Row};
use aes::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use aes::{Aes128, Aes192, Aes256};
use vaquita_session::vars::id;
use vaquita_types::{SqlError, SqlResult, Value, memory};

pub(super) const FUNCTIONS: &[Function] = &[
    f("aes_encrypt", 2, 3, |cx, name, args| {
        let bytes = (u64::from(args[0].bytes(cx)) / BLOCK as u64 + 1) * BLOCK as u64;
        binary(cx, name, bytes, args, eval_aes_encrypt, false)
    }),
    f("aes_decrypt", 2, 3, |cx, name, args| {
        let bytes = args[0].bytes(cx).into();
        binary(cx, name, bytes, args, eval_aes_decrypt, true)
    }),
    f("old_password", 1, 1, old_password),
];

/// Bytes of a block of AES, and of an initialization vector.
const BLOCK: usize = 16;

type Block = [u8; BLOCK];

fn old_password(cx: &mut CompileCx<'_>, name: &'static str, args: Vec<Expr>) -> SqlResult<Expr> {
    const OLD: &str =
        "'OLD_PASSWORD' is deprecated and will be removed in a future release. Please use PASSWORD instead";
    cx.session.warn(1287, OLD);
    let by = Collated::connection(cx);
    Ok(New::call(name, text_type(16, by), args, eval_old_password).collated(by).build(cx))
}

evals! {
    eval_aes_encrypt(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        let key = arg!(args[1].text(cx, row));
        let mode = Mode::of(args, "aes_encrypt", cx, row)?;
        let padded = (text.len() / BLOCK + 1) * BLOCK;
        let mut out = memory::with_room(padded)?;
        out.extend_from_slice(&text);
        // Every byte of the padding tells how long it is.
        out.resize(padded, (padded - text.len()) as u8);
        mode.encrypt(&key, &mut out);
        Ok(Value::owned(out))
    }
    eval_aes_decrypt(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        let key = arg!(args[1].text(cx, row));
        let mode = Mode::of(args, "aes_decrypt", cx, row)?;
        if text.is_empty() || text.len() % BLOCK != 0 {
            return Ok(Value::Null);
        }
        let mut out = memory::with_room(text.len())?;
        out.extend_from_slice(&text);
        mode.decrypt(&key, &mut out);
        Ok(match padding(&out) {
            Some(bytes) => {
                out.truncate(out.len() - bytes);
                Value::owned(out)
            }
            None => Value::Null,
        })
    }
    eval_old_password(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        Ok(match text.is_empty() {
            true => Value::bytes(b""),
            false => Value::owned(old_hash(&text).into_bytes()),
        })
    }
}

/// How `block_encryption_mode` has blocks made.
struct Mode {
    /// Bytes of the key: 16, 24, 32.
    key: usize,
    /// What the first block is mixed with, and each one with the one before (`cbc`); `None`: every block by itself (`ecb`).
    vector: Option<Block>,
}

impl Mode {
    /// # Errors
    /// 1582: the mode wants an initialization vector and there is none; 1882: it is too short, or NULL.
    fn of(args: &[Expr], name: &str, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Mode> {
        // In the order in which the variable's table has them.
        let mode = cx.state.vars.get(id::BLOCK_ENCRYPTION_MODE).uint();
        let key = [16, 24, 32][mode as usize % 3];
        let chained = mode >= 3;
        let vector = match (chained, args.get(2)) {
            (false, given) => {
                if given.is_some() {
                    cx.warn(1618, "<IV> option ignored");
                }
                None
            }
            (true, None) => return Err(SqlError::parameter_count(name)),
            (true, Some(vector)) => {
                let vector = vector.text(cx, row)?;
                let first = vector.as_deref().and_then(|v| v.first_chunk::<BLOCK>());
                Some(*first.ok_or_else(|| {
                    let text = format!(
                        "The initialization vector supplied to {name} is too short. Must be at least {BLOCK} bytes long"
                    );
                    SqlError::new(1882, text)
                })?)
            }
        };
        Ok(Mode { key, vector })
    }

    fn encrypt(&self, key: &[u8], text: &mut [u8]) {
        match self.key {
            16 => encrypt(&Aes128::new(&folded(key)), self.vector, text),
            24 => encrypt(&Aes192::new(&folded(key)), self.vector, text),
            _ => encrypt(&Aes256::new(&folded(key)), self.vector, text),
        }
    }

    fn decrypt(&self, key: &[u8], text: &mut [u8]) {
        match self.key {
            16 => decrypt(&Aes128::new(&folded(key)), self.vector, text),
            24 => decrypt(&Aes192::new(&folded(key)), self.vector, text),
            _ => decrypt(&Aes256::new(&folded(key)), self.vector, text),
        }
    }
}

/// A key of any length: its bytes go around, each mixed with those that were there.
fn folded<N: aes::cipher::array::ArraySize>(key: &[u8]) -> Array<u8, N> {
    let mut out = Array::<u8, N>::default();
    let len = out.len();
    for (at, byte) in key.iter().enumerate() {
        out[at % len] ^= byte;
    }
    out
}

fn mix(block: &mut Block, with: &Block) {
    block.iter_mut().zip(with).for_each(|(byte, with)| *byte ^= with);
}

fn encrypt<C>(cipher: &C, mut before: Option<Block>, text: &mut [u8])
where
    C: BlockCipherEncrypt<BlockSize = aes::cipher::consts::U16>,
{
    for block in text.as_chunks_mut::<BLOCK>().0 {
        if let Some(before) = &before {
            mix(block, before);
        }
        cipher.encrypt_block(Array::cast_from_core_mut(block));
        before = before.map(|_| *block);
    }
}

fn decrypt<C>(cipher: &C, mut before: Option<Block>, text: &mut [u8])
where
    C: BlockCipherDecrypt<BlockSize = aes::cipher::consts::U16>,
{
    for block in text.as_chunks_mut::<BLOCK>().0 {
        let encrypted = *block;
        cipher.decrypt_block(Array::cast_from_core_mut(block));
        if let Some(before) = &before {
            mix(block, before);
        }
        before = before.map(|_| encrypted);
    }
}

/// Bytes of the padding at the end; `None`: it is none, the key is another one.
fn padding(text: &[u8]) -> Option<usize> {
    let bytes = usize::from(*text.last()?);
    let is_one = (1..=BLOCK).contains(&bytes) && text.len() >= bytes;
    (is_one && text[text.len() - bytes..].iter().all(|&byte| usize::from(byte) == bytes)).then_some(bytes)
}

/// The digest of passwords before MySQL 4.1, which clients that ask for `mysql_old_password` make, too: 16 hexadecimal digits.
/// Spaces and tabs do not count.
fn old_hash(text: &[u8]) -> String {
    let (mut a, mut b, mut sum) = (1_345_345_333_u32, 0x1234_5671_u32, 7_u32);
    for &byte in text.iter().filter(|byte| !matches!(byte, b' ' | b'\t')) {
        let byte = u32::from(byte);
        a ^= ((a & 63).wrapping_add(sum)).wrapping_mul(byte).wrapping_add(a << 8);
        b = b.wrapping_add((b << 8) ^ a);
        sum = sum.wrapping_add(byte);
    }
    format!("{:08x}{:08x}", a & 0x7FFF_FFFF, b & 0x7FFF_FFFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What MySQL 5.6.24 answers.
    #[test]
    fn old_passwords() {
        for (text, hash) in
            [("abc", "7cd2b5942be28759"), ("a b\tc", "7cd2b5942be28759"), ("schöner", "6e1ec32a5ae19d6f")]
        {
            assert_eq!(old_hash(text.as_bytes()), hash, "{text}");
        }
    }

    #[test]
    fn padding_is_whole_or_none() {
        assert_eq!(padding(&[16; 16]), Some(16));
        assert_eq!(padding(&[0, 3, 3, 3]), Some(3));
        assert_eq!(padding(&[0, 2, 3, 3]), None);
        assert_eq!(padding(&[0; 16]), None);
        assert_eq!(padding(&[17; 16]), None);
        assert_eq!(padding(&[]), None);
    }
}
