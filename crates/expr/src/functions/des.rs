//! DES_ENCRYPT, DES_DECRYPT: Triple-DES in chained blocks, as MySQL 5.6.24 answers. A text as the key goes through MD5; the keys with
//! numbers are those of a key file, which there is none of: they are zeros.
//!
//! The first byte of what is encrypted says so (128) and which key it was: its number, or 127 for a text.

use super::encode::binary;
use super::{Function, arg, evals, f};
use crate::node::Expr;
use crate::{EvalCx, Row};
use des::TdesEde3;
use des::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use vaquita_base::md5;
use vaquita_types::{SqlResult, Value, memory};

pub(super) const FUNCTIONS: &[Function] = &[
    f("des_encrypt", 1, 2, |cx, name, args| {
        let bytes = u64::from(args[0].bytes(cx)) + BLOCK as u64 + 1;
        binary(cx, name, bytes, args, eval_des_encrypt, true)
    }),
    f("des_decrypt", 1, 2, |cx, name, args| {
        let bytes = args[0].bytes(cx).into();
        binary(cx, name, bytes, args, eval_des_decrypt, true)
    }),
];

/// Bytes of a block.
const BLOCK: usize = 8;
/// In the first byte: it is encrypted.
const ENCRYPTED: u8 = 128;
/// In place of the key's number: it was a text.
const TEXT_KEY: u8 = 127;
/// The greatest number of a key.
const KEY_MAX: i128 = 9;

/// A key with its number.
struct Key {
    number: u8,
    cipher: TdesEde3,
}

impl Key {
    /// Three keys of DES: the digest of the text, and half of the digest of that with the text.
    fn of_text(text: &[u8]) -> Key {
        let first = md5(text);
        let second = md5(&[&first[..], text].concat());
        let mut bytes = [0; 24];
        bytes[..16].copy_from_slice(&first);
        bytes[16..].copy_from_slice(&second[..8]);
        Key { number: TEXT_KEY, cipher: TdesEde3::new(&bytes.into()) }
    }

    fn of_number(number: u8) -> Key {
        Key { number, cipher: TdesEde3::new(&[0; 24].into()) }
    }
}

/// The key of DES_ENCRYPT: the first one if none is named; `None`: there is none such.
fn key_to_encrypt(args: &[Expr], cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Option<Key>> {
    let Some(key) = args.get(1) else { return Ok(Some(Key::of_number(0))) };
    if key.ty().kind.is_integer() {
        let number = key.integer(cx, row)?.filter(|n| (0..=KEY_MAX).contains(n));
        return Ok(number.map(|n| Key::of_number(n as u8)));
    }
    Ok(key.text(cx, row)?.map(|text| Key::of_text(&text)))
}

/// The key of DES_DECRYPT: a text, or that which the first byte names.
fn key_to_decrypt(first: u8, args: &[Expr], cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Option<Key>> {
    match args.get(1) {
        Some(key) => Ok(key.text(cx, row)?.map(|text| Key::of_text(&text))),
        None => {
            let number = first & !ENCRYPTED;
            Ok((i128::from(number) <= KEY_MAX).then(|| Key::of_number(number)))
        }
    }
}

fn refused<'r>(name: &str, cx: &mut EvalCx<'_>) -> Value<'r> {
    cx.warn(1108, format!("Incorrect parameters to procedure '{name}'"));
    Value::Null
}

evals! {
    eval_des_encrypt(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        if text.is_empty() {
            return Ok(Value::bytes(b""));
        }
        let Some(key) = key_to_encrypt(args, cx, row)? else { return Ok(refused("des_encrypt", cx)) };
        let padded = (text.len() / BLOCK + 1) * BLOCK;
        let mut out = memory::with_room(1 + padded)?;
        out.push(ENCRYPTED | key.number);
        out.extend_from_slice(&text);
        // The last byte of the padding tells how long it is.
        out.resize(padded, b'*');
        out.push((padded - text.len()) as u8);
        let mut before = [0; BLOCK];
        for block in out[1..].as_chunks_mut::<BLOCK>().0 {
            block.iter_mut().zip(before).for_each(|(byte, with)| *byte ^= with);
            key.cipher.encrypt_block(Array::cast_from_core_mut(block));
            before = *block;
        }
        Ok(Value::owned(out))
    }
    eval_des_decrypt(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        let first = text.first().copied().unwrap_or(0);
        if text.len() <= BLOCK || text.len() % BLOCK != 1 || first & ENCRYPTED == 0 {
            // It is not encrypted.
            return Ok(Value::owned(text.into_owned()));
        }
        let Some(key) = key_to_decrypt(first, args, cx, row)? else { return Ok(refused("des_decrypt", cx)) };
        let mut out = memory::with_room(text.len())?;
        out.extend_from_slice(&text[1..]);
        let mut before = [0; BLOCK];
        for block in out.as_chunks_mut::<BLOCK>().0 {
            let encrypted = *block;
            key.cipher.decrypt_block(Array::cast_from_core_mut(block));
            block.iter_mut().zip(before).for_each(|(byte, with)| *byte ^= with);
            before = encrypted;
        }
        match out.last().map(|&padding| usize::from(padding)) {
            Some(padding) if padding <= BLOCK => {
                out.truncate(out.len() - padding);
                Ok(Value::owned(out))
            }
            _ => Ok(Value::Null),
        }
    }
}
