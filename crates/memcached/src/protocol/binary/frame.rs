//! Frames: a header of 24 bytes, then extras, key and value.
//!
//! ```text
//! byte  0      1       2..4        4            5          6..8              8..12        12..16   16..24
//!       magic  opcode  key length  extras len.  data type  vbucket / status  body length  opaque   cas
//! ```

use crate::store::{Failure, Item};
use vaquita_base::codec::{get_u16, get_u32, get_u64, push_u16, push_u32, push_u64};

/// First byte of a request.
pub(crate) const REQUEST: u8 = 0x80;
/// First byte of an answer.
const RESPONSE: u8 = 0x81;
/// Length of a header.
pub(crate) const HEADER_LEN: usize = 24;

/// Opcodes. Those of storage commands and such have a quiet form; see [`loud`].
#[allow(missing_docs)]
pub(crate) mod op {
    pub(crate) const GET: u8 = 0x00;
    pub(crate) const SET: u8 = 0x01;
    pub(crate) const ADD: u8 = 0x02;
    pub(crate) const REPLACE: u8 = 0x03;
    pub(crate) const DELETE: u8 = 0x04;
    pub(crate) const INCREMENT: u8 = 0x05;
    pub(crate) const DECREMENT: u8 = 0x06;
    pub(crate) const QUIT: u8 = 0x07;
    pub(crate) const FLUSH: u8 = 0x08;
    pub(crate) const GETQ: u8 = 0x09;
    pub(crate) const NOOP: u8 = 0x0a;
    pub(crate) const VERSION: u8 = 0x0b;
    pub(crate) const GETK: u8 = 0x0c;
    pub(crate) const GETKQ: u8 = 0x0d;
    pub(crate) const APPEND: u8 = 0x0e;
    pub(crate) const PREPEND: u8 = 0x0f;
    pub(crate) const STAT: u8 = 0x10;
    pub(crate) const SETQ: u8 = 0x11;
    pub(crate) const FLUSHQ: u8 = 0x18;
    pub(crate) const APPENDQ: u8 = 0x19;
    pub(crate) const PREPENDQ: u8 = 0x1a;
    pub(crate) const VERBOSITY: u8 = 0x1b;
    pub(crate) const TOUCH: u8 = 0x1c;
    pub(crate) const GAT: u8 = 0x1d;
    pub(crate) const GATQ: u8 = 0x1e;
    pub(crate) const SASL_LIST: u8 = 0x20;
    pub(crate) const SASL_AUTH: u8 = 0x21;
    pub(crate) const SASL_STEP: u8 = 0x22;
    pub(crate) const GATK: u8 = 0x23;
    pub(crate) const GATKQ: u8 = 0x24;
}

/// The loud form of an opcode, and whether it was quiet. Gets keep their opcodes: quiet means there that misses are.
pub(crate) fn loud(opcode: u8) -> (u8, bool) {
    match opcode {
        op::SETQ..op::FLUSHQ => (opcode - op::SETQ + op::SET, true),
        op::FLUSHQ => (op::FLUSH, true),
        op::APPENDQ => (op::APPEND, true),
        op::PREPENDQ => (op::PREPEND, true),
        _ => (opcode, false),
    }
}

/// What an answer says of its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Status {
    Success = 0x00,
    NotFound = 0x01,
    Exists = 0x02,
    TooLarge = 0x03,
    InvalidArguments = 0x04,
    NotStored = 0x05,
    NotANumber = 0x06,
    AuthFailure = 0x20,
    AuthContinue = 0x21,
    UnknownCommand = 0x81,
    NoMemory = 0x82,
    NotSupported = 0x83,
    Internal = 0x84,
    Busy = 0x85,
}

impl Status {
    /// What memcached says with it.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Status::Success | Status::AuthContinue => "",
            Status::NotFound => "Not found",
            Status::Exists => "Data exists for key.",
            Status::TooLarge => "Too large.",
            Status::InvalidArguments => "Invalid arguments",
            Status::NotStored => "Not stored.",
            Status::NotANumber => "Non-numeric server-side value for incr or decr",
            Status::AuthFailure => "Auth failure.",
            Status::UnknownCommand => "Unknown command",
            Status::NoMemory => "Out of memory",
            Status::NotSupported => "Not supported",
            Status::Internal => "Internal error",
            Status::Busy => "Temporary failure",
        }
    }
}

/// A request's header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    pub(crate) opcode: u8,
    pub(crate) key_len: usize,
    pub(crate) extras_len: usize,
    pub(crate) body_len: usize,
    pub(crate) opaque: u32,
    pub(crate) cas: u64,
}

impl Header {
    /// Reads a header; `bytes` begins with it, and its magic was looked at.
    pub(crate) fn read(bytes: &[u8]) -> Self {
        Header {
            opcode: bytes[1],
            key_len: usize::from(get_u16(bytes, 2)),
            extras_len: usize::from(bytes[4]),
            body_len: get_u32(bytes, 8) as usize,
            opaque: get_u32(bytes, 12),
            cas: get_u64(bytes, 16),
        }
    }

    /// How long the value is; `None` if the lengths lie.
    pub(crate) fn value_len(&self) -> Option<usize> {
        self.body_len.checked_sub(self.key_len + self.extras_len)
    }
}

/// A get as it is to be answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) opcode: u8,
    pub(crate) opaque: u32,
}

impl Asked {
    fn with_key(self) -> bool {
        matches!(self.opcode, op::GETK | op::GETKQ | op::GATK | op::GATKQ)
    }

    fn is_quiet(self) -> bool {
        matches!(self.opcode, op::GETQ | op::GETKQ | op::GATQ | op::GATKQ)
    }
}

/// What stands in an answer's header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) opcode: u8,
    pub(crate) opaque: u32,
    pub(crate) status: Status,
    pub(crate) cas: u64,
}

impl Answer {
    /// Success.
    pub(crate) fn to(header: &Header) -> Self {
        Answer { opcode: header.opcode, opaque: header.opaque, status: Status::Success, cas: 0 }
    }
}

/// Appends an answer.
#[inline]
pub(crate) fn push(out: &mut Vec<u8>, answer: Answer, extras: &[u8], key: &[u8], value: &[u8]) {
    let body_len = extras.len() + key.len() + value.len();
    out.reserve(HEADER_LEN + body_len);
    out.extend_from_slice(&[RESPONSE, answer.opcode]);
    push_u16(out, key.len() as u16);
    out.extend_from_slice(&[extras.len() as u8, 0]);
    push_u16(out, answer.status as u16);
    push_u32(out, body_len as u32);
    push_u32(out, answer.opaque);
    push_u64(out, answer.cas);
    out.extend_from_slice(extras);
    out.extend_from_slice(key);
    out.extend_from_slice(value);
}

/// Appends an error with its text.
pub(crate) fn push_error(out: &mut Vec<u8>, opcode: u8, opaque: u32, status: Status) {
    push(out, Answer { opcode, opaque, status, cas: 0 }, &[], &[], status.text().as_bytes());
}

/// Appends a failure of the store.
pub(crate) fn push_failure(out: &mut Vec<u8>, opcode: u8, opaque: u32, failure: &Failure) {
    let status = match failure {
        Failure::Client(_) => Status::InvalidArguments,
        Failure::TooLarge => return push_error(out, opcode, opaque, Status::TooLarge),
        Failure::NoMemory => return push_error(out, opcode, opaque, Status::NoMemory),
        Failure::Busy(_) => Status::Busy,
        Failure::Server(_) => Status::Internal,
        Failure::NotSupported(_) => Status::NotSupported,
    };
    push(out, Answer { opcode, opaque, status, cas: 0 }, &[], &[], failure.to_string().as_bytes());
}

/// Appends an item that was asked for.
#[inline]
pub(crate) fn push_item(out: &mut Vec<u8>, asked: &Asked, key: &[u8], item: &Item<'_>) {
    let mut flags = [0; 4];
    vaquita_base::codec::put_u32(&mut flags, 0, item.flags);
    let answer =
        Answer { opcode: asked.opcode, opaque: asked.opaque, status: Status::Success, cas: item.cas };
    push(out, answer, &flags, if asked.with_key() { key } else { &[] }, item.value);
}

/// Appends what is answered where nothing was found: nothing, if it is a quiet get.
pub(crate) fn push_miss(out: &mut Vec<u8>, asked: &Asked, key: &[u8]) {
    if asked.is_quiet() {
        return;
    }
    let answer = Answer { opcode: asked.opcode, opaque: asked.opaque, status: Status::NotFound, cas: 0 };
    if asked.with_key() {
        push(out, answer, &[], key, &[]);
    } else {
        push(out, answer, &[], &[], Status::NotFound.text().as_bytes());
    }
}
