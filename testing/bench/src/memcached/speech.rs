//! The same operations in three protocols: requests as bytes, answers counted and checked.

use crate::Failure;
use vaquita_base::codec::{get_u32, put_u32, put_u64};
use vaquita_clients::wire::Wire;

/// Bytes of a value.
pub(super) const VALUE: usize = 100;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    /// So many keys in one request.
    Get(u32),
    /// One key.
    Set,
}

/// How it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Text,
    Binary,
    /// MySQL's, by these prepared statements.
    Mysql(Statements),
}

/// Numbers of prepared statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Statements {
    /// The row of a key.
    pub(super) select: u32,
    /// The rows of as many keys as [`super::MULTI_GET`].
    pub(super) select_in: u32,
    /// The replacement of a row.
    pub(super) replace: u32,
}

/// Bytes of a key.
const KEY: usize = 12;

/// The key of a row.
pub(super) fn push_key(key: u64, out: &mut Vec<u8>) {
    let mut digits = [b'0'; KEY];
    digits[..4].copy_from_slice(b"key:");
    let mut rest = key;
    for digit in digits[4..].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    out.extend_from_slice(&digits);
}

fn push_value(key: u64, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + VALUE, b'v');
    put_u64(out, start, key);
    out[start..start + 8].iter_mut().for_each(|b| *b = b'a' + *b % 26);
}

impl Protocol {
    /// Appends one request; `key` draws keys.
    pub(super) fn push(self, operation: Operation, mut key: impl FnMut() -> u64, out: &mut Vec<u8>) {
        match (self, operation) {
            (Protocol::Text, Operation::Get(keys)) => {
                out.extend_from_slice(b"get");
                for _ in 0..keys {
                    out.push(b' ');
                    push_key(key(), out);
                }
                out.extend_from_slice(b"\r\n");
            }
            (Protocol::Text, Operation::Set) => {
                let key = key();
                out.extend_from_slice(b"set ");
                push_key(key, out);
                out.extend_from_slice(b" 0 0 100\r\n");
                push_value(key, out);
                out.extend_from_slice(b"\r\n");
            }
            (Protocol::Binary, Operation::Get(keys)) => {
                for n in 1..=keys {
                    // The quiet GETs of several keys end with a loud one: one request, as many answers as keys.
                    push_header(if n == keys { 0x00 } else { 0x09 }, 0, 12, out);
                    push_key(key(), out);
                }
            }
            (Protocol::Binary, Operation::Set) => {
                let key = key();
                push_header(0x01, 8, 8 + 12 + VALUE as u32, out);
                out.extend_from_slice(&[0; 8]);
                push_key(key, out);
                push_value(key, out);
            }
            (Protocol::Mysql(statements), Operation::Get(keys)) => {
                let mut text = Vec::with_capacity(KEY * keys as usize);
                (0..keys).for_each(|_| push_key(key(), &mut text));
                let keys: Vec<&[u8]> = text.chunks_exact(KEY).collect();
                let statement = if keys.len() == 1 { statements.select } else { statements.select_in };
                push_packet(&Wire::execution(statement, &keys), out);
            }
            (Protocol::Mysql(statements), Operation::Set) => {
                let key = key();
                let (mut text, mut value) = (Vec::with_capacity(KEY), Vec::with_capacity(VALUE));
                push_key(key, &mut text);
                push_value(key, &mut value);
                push_packet(&Wire::execution(statements.replace, &[&text, &value]), out);
            }
        }
    }

    /// The length of one whole answer at the beginning of `input`, if it is all there.
    ///
    /// # Errors
    /// It is not the answer of a hit.
    pub(super) fn answer(self, operation: Operation, input: &[u8]) -> Result<Option<usize>, Failure> {
        match (self, operation) {
            (Protocol::Text, Operation::Get(keys)) => text_values(keys, input),
            (Protocol::Text, Operation::Set) => match input.get(..8) {
                None => Ok(None),
                Some(b"STORED\r\n") => Ok(Some(8)),
                Some(_) => Err(wrong(input)),
            },
            (Protocol::Binary, Operation::Get(keys)) => binary_answers(keys, 4 + VALUE, input),
            (Protocol::Binary, Operation::Set) => binary_answers(1, 0, input),
            (Protocol::Mysql(..), operation) => mysql_answer(operation, input),
        }
    }
}

fn wrong(input: &[u8]) -> Failure {
    format!("answer of a miss or an error: {:?}", String::from_utf8_lossy(&input[..input.len().min(120)]))
        .into()
}

fn push_header(opcode: u8, extras: u8, body: u32, out: &mut Vec<u8>) {
    let mut header = [0; 24];
    header[..5].copy_from_slice(&[0x80, opcode, 0, 12, extras]);
    put_u32(&mut header, 8, body);
    out.extend_from_slice(&header);
}

fn push_packet(payload: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(payload.len() as u32).to_le_bytes()[..3]);
    out.push(0);
    out.extend_from_slice(payload);
}

/// `VALUE key flags 100\r\n`, the value, a line end; as many as keys; `END\r\n`. Drawn keys may repeat.
fn text_values(keys: u32, input: &[u8]) -> Result<Option<usize>, Failure> {
    // All keys are twelve bytes, flags are 0.
    const HEAD: &[u8] = b"VALUE key:00000000 0 100\r\n";
    const ONE: usize = HEAD.len() + VALUE + 2;
    let whole = keys as usize * ONE + 5;
    if input.len() < whole {
        let shown = input.len().min(6);
        let as_expected = input[..shown] == HEAD[..shown];
        return if as_expected { Ok(None) } else { Err(wrong(input)) };
    }
    let values = input[..whole - 5].chunks_exact(ONE);
    let hits =
        values.filter(|v| v[..10] == HEAD[..10] && v[18..26] == HEAD[18..26] && v[ONE - 2..] == *b"\r\n");
    match hits.count() == keys as usize && input[whole - 5..whole] == *b"END\r\n" {
        true => Ok(Some(whole)),
        false => Err(wrong(input)),
    }
}

/// So many successful answers with bodies of that length.
fn binary_answers(count: u32, body: usize, input: &[u8]) -> Result<Option<usize>, Failure> {
    let mut at = 0;
    for _ in 0..count {
        let Some(head) = input.get(at..at + 24) else { return Ok(None) };
        if head[0] != 0x81 || head[6..8] != [0, 0] || get_u32(head, 8) as usize != body {
            return Err(wrong(&input[at..]));
        }
        at += 24 + body;
    }
    Ok((input.len() >= at).then_some(at))
}

/// OK for a change; for a query packets up to the second EOF, a row for each key between.
fn mysql_answer(operation: Operation, input: &[u8]) -> Result<Option<usize>, Failure> {
    let (mut at, mut packets, mut ends) = (0, 0u32, 0);
    loop {
        let Some(head) = input.get(at..at + 4) else { return Ok(None) };
        let len = usize::from(head[0]) | usize::from(head[1]) << 8 | usize::from(head[2]) << 16;
        let Some(payload) = input.get(at + 4..at + 4 + len) else { return Ok(None) };
        at += 4 + len;
        packets += 1;
        match (operation, payload.first()) {
            (Operation::Set, Some(0)) => return Ok(Some(at)),
            (Operation::Get(_), Some(0xFE)) if len < 9 => ends += 1,
            (Operation::Get(_), Some(1..0xFB)) if packets < 3 => {}
            (Operation::Get(keys), Some(0)) if packets > 3 && packets < 4 + keys && len > VALUE => {}
            _ => return Err(wrong(payload)),
        }
        if let (2, Operation::Get(keys)) = (ends, operation) {
            // Number of columns, a column, EOF, the rows, EOF.
            return if packets == 4 + keys { Ok(Some(at)) } else { Err(wrong(input)) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(protocol: Protocol, operation: Operation) -> Vec<u8> {
        let mut out = Vec::new();
        let mut key = 6;
        protocol.push(
            operation,
            || {
                key += 1;
                key
            },
            &mut out,
        );
        out
    }

    #[test]
    fn requests_in_text() {
        assert_eq!(request(Protocol::Text, Operation::Get(2)), b"get key:00000007 key:00000008\r\n");
        let set = request(Protocol::Text, Operation::Set);
        assert!(set.starts_with(b"set key:00000007 0 0 100\r\naaaaaaah") && set.ends_with(b"v\r\n"));
        assert_eq!(set.len(), 26 + VALUE + 2);
    }

    #[test]
    fn answers_in_text() {
        let mut two = Vec::new();
        for key in [b'7', b'8'] {
            two.extend_from_slice(b"VALUE key:0000000");
            two.push(key);
            two.extend_from_slice(b" 0 100\r\n");
            two.extend_from_slice(&[b'v'; VALUE]);
            two.extend_from_slice(b"\r\n");
        }
        two.extend_from_slice(b"END\r\n");
        let whole = two.len();
        two.extend_from_slice(b"VALUE");
        let answer = |n, input: &[u8]| Protocol::Text.answer(Operation::Get(n), input);
        assert_eq!(answer(2, &two).expect("hits"), Some(whole));
        assert_eq!(answer(2, &two[..whole - 1]).expect("a part"), None);
        assert!(answer(1, b"END\r\n").is_err(), "a miss");
        let mut missing = two[26 + VALUE + 2..].to_vec();
        missing.resize(two.len(), b'x');
        assert!(answer(2, &missing).is_err(), "one of two");
        assert!(Protocol::Text.answer(Operation::Set, b"SERVER_ERROR out of memory\r\n").is_err());
        assert_eq!(Protocol::Text.answer(Operation::Set, b"STORED\r\nSTO").expect("stored"), Some(8));
    }

    #[test]
    fn rows_of_sql() {
        let statements = Statements { select: 1, select_in: 2, replace: 3 };
        let request = |keys| request(Protocol::Mysql(statements), Operation::Get(keys));
        assert_eq!((request(1)[5], request(3)[5]), (1, 2), "the statement");
        assert!(request(3).ends_with(b"\x0ckey:00000007\x0ckey:00000008\x0ckey:00000009"));
        let packet = |payload: &[u8]| [&[payload.len() as u8, 0, 0, 0], payload].concat();
        let end = packet(&[0xFE, 0, 0, 2, 0]);
        let row = packet(&[&[0, 0, VALUE as u8][..], &[b'v'; VALUE]].concat());
        let answer = |rows: usize| {
            [packet(&[1]), packet(b"\x03def"), end.clone(), row.repeat(rows), end.clone()].concat()
        };
        let read = |keys, input: &[u8]| mysql_answer(Operation::Get(keys), input);
        assert_eq!(read(1, &answer(1)).expect("a row"), Some(answer(1).len()));
        assert_eq!(read(3, &answer(3)).expect("rows"), Some(answer(3).len()));
        assert_eq!(read(3, &answer(3)[..200]).expect("a part"), None);
        assert!(read(3, &answer(2)).is_err() && read(1, &answer(2)).is_err(), "other numbers of rows");
        assert!(read(1, &packet(b"\xFF\x15\x04#28000No")).is_err(), "an error");
    }

    #[test]
    fn binary_frames() {
        let get = request(Protocol::Binary, Operation::Get(2));
        assert_eq!((get.len(), get[1], get[36 + 1]), (72, 9, 0), "a quiet one, a loud one");
        let mut answer = vec![0x81, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 104];
        answer.resize(24 + 104, 0);
        let read = |input: &[u8]| Protocol::Binary.answer(Operation::Get(1), input);
        assert_eq!(read(&answer).expect("a hit"), Some(128));
        assert_eq!(read(&answer[..100]).expect("a part"), None);
        answer[7] = 1;
        assert!(read(&answer).is_err(), "key not found");
    }
}
