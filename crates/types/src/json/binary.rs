//! The binary form: writing, and reading without copying. Whatever bytes are read, nothing panics: what lies outside
//! reads as `null`.

use super::{DEPTH_MAX, Json};
use crate::decimal::Decimal;
use crate::{SqlError, SqlResult, memory};
use vaquita_base::codec::le;

const SMALL_OBJECT: u8 = 0;
const LARGE_OBJECT: u8 = 1;
const SMALL_ARRAY: u8 = 2;
const LARGE_ARRAY: u8 = 3;
const LITERAL: u8 = 4;
const INT16: u8 = 5;
const UINT16: u8 = 6;
const INT32: u8 = 7;
const UINT32: u8 = 8;
const INT64: u8 = 9;
const UINT64: u8 = 10;
const DOUBLE: u8 = 11;
const STRING: u8 = 12;
const OPAQUE: u8 = 15;

/// Type code of exact numbers, which are opaque values.
const DECIMAL: u8 = 246;

/// Most bytes of a container in the small form, and most elements of it.
const SMALL_MAX: usize = 0xFFFF;

/// Writes a document.
///
/// # Errors
/// 3150: beyond 4 GB; those of [`memory::reserve`].
pub fn encode(doc: &Json) -> SqlResult<Vec<u8>> {
    let mut out = vec![0];
    out[0] = push_value(doc, &mut out)?;
    memory::give_back_rest(&mut out);
    Ok(out)
}

fn push_le(out: &mut Vec<u8>, bytes: usize, v: u64) -> SqlResult<()> {
    let at = out.len();
    memory::reserve(out, bytes)?;
    out.resize(at + bytes, 0);
    le::put_uint(out, at, bytes, v);
    Ok(())
}

/// Appends a value, gives its type.
///
/// # Errors
/// As [`encode`].
pub(super) fn push_value(v: &Json, out: &mut Vec<u8>) -> SqlResult<u8> {
    memory::short(1)?;
    match v {
        Json::Null => push_fixed(out, LITERAL, 1, 0),
        Json::Bool(true) => push_fixed(out, LITERAL, 1, 1),
        Json::Bool(false) => push_fixed(out, LITERAL, 1, 2),
        &Json::Int(v) => {
            let (ty, bytes) = if i16::try_from(v).is_ok() {
                (INT16, 2)
            } else if i32::try_from(v).is_ok() {
                (INT32, 4)
            } else {
                (INT64, 8)
            };
            push_fixed(out, ty, bytes, v as u64)
        }
        &Json::UInt(v) => {
            let (ty, bytes) = if u16::try_from(v).is_ok() {
                (UINT16, 2)
            } else if u32::try_from(v).is_ok() {
                (UINT32, 4)
            } else {
                (UINT64, 8)
            };
            push_fixed(out, ty, bytes, v)
        }
        Json::Decimal(v) => {
            let mut text = Vec::new();
            v.push_text(&mut text);
            push_sized(out, Some(DECIMAL), &text)?;
            Ok(OPAQUE)
        }
        Json::Double(v) => push_fixed(out, DOUBLE, 8, v.to_bits()),
        Json::Text(text) => {
            push_sized(out, None, text)?;
            Ok(STRING)
        }
        Json::Opaque(code, bytes) => {
            push_sized(out, Some(*code), bytes)?;
            Ok(OPAQUE)
        }
        Json::Array(items) => push_container(out, None, items.iter(), is_small(v)),
        Json::Object(members) => {
            let mut keys: Vec<&[u8]> = Vec::new();
            memory::reserve(&mut keys, members.len())?;
            keys.extend(members.iter().map(|(key, _)| &key[..]));
            push_container(out, Some(&keys), members.iter().map(|(_, value)| value), is_small(v))
        }
    }
}

fn push_fixed(out: &mut Vec<u8>, ty: u8, bytes: usize, v: u64) -> SqlResult<u8> {
    push_le(out, bytes, if bytes == 8 { v } else { v & ((1 << (8 * bytes)) - 1) })?;
    Ok(ty)
}

/// A length and bytes, behind a type code if there is one.
fn push_sized(out: &mut Vec<u8>, code: Option<u8>, bytes: &[u8]) -> SqlResult<()> {
    memory::reserve(out, bytes.len() + 11)?;
    out.extend(code);
    push_length(out, bytes.len());
    out.extend_from_slice(bytes);
    Ok(())
}

/// Length, seven bits in a byte.
fn push_length(out: &mut Vec<u8>, mut len: usize) {
    while len >= 0x80 {
        out.push(len as u8 | 0x80);
        len >>= 7;
    }
    out.push(len as u8);
}

/// Whether a container fits the small form. Told before anything is written: what is tried and done again in every level takes twice
/// the time of the level below.
fn is_small(container: &Json) -> bool {
    let mut room = SMALL_MAX;
    takes_small(&mut room, container).is_some()
}

/// An object or array.
fn push_container<'j>(
    out: &mut Vec<u8>,
    keys: Option<&[&[u8]]>,
    values: impl ExactSizeIterator<Item = &'j Json>,
    is_small: bool,
) -> SqlResult<u8> {
    fill_container(out, keys, values, if is_small { 2 } else { 4 })?;
    Ok(match (keys.is_some(), is_small) {
        (true, true) => SMALL_OBJECT,
        (true, false) => LARGE_OBJECT,
        (false, true) => SMALL_ARRAY,
        (false, false) => LARGE_ARRAY,
    })
}

/// Takes what a value needs besides its entry in a container of the small form, and all within it, from the room; `None`: there is not
/// so much.
fn takes_small(room: &mut usize, value: &Json) -> Option<()> {
    let sized = |len: usize| len + (1..5).find(|bytes| len >> (7 * bytes) == 0).unwrap_or(5);
    let bytes = match value {
        Json::Null | Json::Bool(_) => 0,
        &Json::Int(v) if i16::try_from(v).is_ok() => 0,
        &Json::UInt(v) if u16::try_from(v).is_ok() => 0,
        &Json::Int(v) if i32::try_from(v).is_ok() => 4,
        &Json::UInt(v) if u32::try_from(v).is_ok() => 4,
        Json::Int(_) | Json::UInt(_) | Json::Double(_) => 8,
        Json::Text(text) => sized(text.len()),
        Json::Opaque(_, bytes) => 1 + sized(bytes.len()),
        Json::Decimal(v) => {
            let mut text = Vec::new();
            v.push_text(&mut text);
            1 + sized(text.len())
        }
        Json::Array(items) => 4 + items.len().checked_mul(3)?,
        Json::Object(members) => 4 + members.len().checked_mul(7)?,
    };
    *room = room.checked_sub(bytes)?;
    match value {
        Json::Array(items) => items.iter().try_for_each(|item| takes_small(room, item)),
        Json::Object(members) => members.iter().try_for_each(|(key, value)| {
            *room = room.checked_sub(key.len())?;
            takes_small(room, value)
        }),
        _ => Some(()),
    }
}

/// Writes the container with offsets of so many bytes.
fn fill_container<'j>(
    out: &mut Vec<u8>,
    keys: Option<&[&[u8]]>,
    values: impl ExactSizeIterator<Item = &'j Json>,
    width: usize,
) -> SqlResult<()> {
    let too_large = || SqlError::of(3150, &[]);
    let start = out.len();
    let count = values.len();
    push_le(out, width, count as u64)?;
    push_le(out, width, 0)?;
    let key_entries = out.len();
    let key_count = keys.map_or(0, <[&[u8]]>::len);
    let value_entries = key_entries + key_count * (width + 2);
    let entries_end = value_entries + count * (1 + width);
    memory::reserve(out, entries_end - out.len())?;
    out.resize(entries_end, 0);
    let limit = if width == 2 { SMALL_MAX as u64 } else { u64::from(u32::MAX) };
    for (i, key) in keys.unwrap_or_default().iter().enumerate() {
        let entry = key_entries + i * (width + 2);
        let offset = (out.len() - start) as u64;
        if offset > limit {
            return Err(too_large());
        }
        le::put_uint(out, entry, width, offset);
        le::put_uint(out, entry + width, 2, key.len().min(0xFFFF) as u64);
        memory::append(out, &key[..key.len().min(0xFFFF)])?;
    }
    for (i, value) in values.enumerate() {
        let entry = value_entries + i * (1 + width);
        let at = out.len();
        let ty = push_value(value, out)?;
        let len = out.len() - at;
        let inline = match ty {
            LITERAL | INT16 | UINT16 => true,
            INT32 | UINT32 => width == 4,
            _ => false,
        };
        if inline {
            let mut v = le::get_uint(out, at, len);
            // Signed numbers fill the entry.
            if ty == INT16 && width == 4 {
                v = u64::from(v as u16 as i16 as u32);
            }
            le::put_uint(out, entry + 1, width, v);
            out.truncate(at);
        } else {
            let offset = (at - start) as u64;
            if offset > limit {
                return Err(too_large());
            }
            le::put_uint(out, entry + 1, width, offset);
        }
        out[entry] = ty;
    }
    let size = (out.len() - start) as u64;
    if size > limit {
        return Err(too_large());
    }
    le::put_uint(out, start + width, width, size);
    Ok(())
}

/// A value within a document.
#[derive(Debug, Clone, Copy)]
pub enum Node<'d> {
    /// `null`.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number above zero.
    UInt(u64),
    /// A float.
    Double(f64),
    /// An exact number.
    Decimal(Decimal),
    /// Text in UTF-8.
    Text(&'d [u8]),
    /// MySQL type code and bytes.
    Opaque(u8, &'d [u8]),
    /// An array.
    Array(Container<'d>),
    /// An object.
    Object(Container<'d>),
}

/// An array or object.
#[derive(Debug, Clone, Copy)]
pub struct Container<'d> {
    bytes: &'d [u8],
    /// Bytes of counts and offsets.
    width: usize,
    count: usize,
    object: bool,
    /// Levels that may follow.
    depth: usize,
}

/// A little-endian number, if it lies within.
fn number(bytes: &[u8], at: usize, len: usize) -> Option<u64> {
    (at.checked_add(len)? <= bytes.len()).then(|| le::get_uint(bytes, at, len))
}

/// Length in seven-bit pieces, and the bytes it takes.
fn length(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut len = 0usize;
    for (i, &b) in bytes.iter().take(5).enumerate() {
        len |= usize::from(b & 0x7F) << (7 * i);
        if b & 0x80 == 0 {
            return Some((len, i + 1));
        }
    }
    None
}

/// Bytes that a scalar of that type takes.
pub(super) fn sized_len(bytes: &[u8], ty: u8) -> Option<usize> {
    let sized = |bytes: &[u8]| length(bytes).and_then(|(len, used)| len.checked_add(used));
    let len = match ty {
        LITERAL => 1,
        INT16 | UINT16 => 2,
        INT32 | UINT32 => 4,
        INT64 | UINT64 | DOUBLE => 8,
        STRING => sized(bytes)?,
        OPAQUE => 1 + sized(bytes.get(1..)?)?,
        _ => return None,
    };
    (len <= bytes.len()).then_some(len)
}

impl<'d> Node<'d> {
    /// The document's value; `None` if the bytes are none.
    pub fn of(doc: &'d [u8]) -> Option<Node<'d>> {
        let (&ty, bytes) = doc.split_first()?;
        Node::read(ty, bytes, DEPTH_MAX)
    }

    fn read(ty: u8, bytes: &'d [u8], depth: usize) -> Option<Node<'d>> {
        let sized = |bytes: &'d [u8]| {
            let (len, used) = length(bytes)?;
            bytes.get(used..used.checked_add(len)?)
        };
        Some(match ty {
            LITERAL => literal(*bytes.first()?),
            INT16 => Node::Int((number(bytes, 0, 2)? as i16).into()),
            UINT16 => Node::UInt(number(bytes, 0, 2)?),
            INT32 => Node::Int((number(bytes, 0, 4)? as i32).into()),
            UINT32 => Node::UInt(number(bytes, 0, 4)?),
            INT64 => Node::Int(number(bytes, 0, 8)? as i64),
            UINT64 => Node::UInt(number(bytes, 0, 8)?),
            DOUBLE => Node::Double(f64::from_bits(number(bytes, 0, 8)?)),
            STRING => Node::Text(sized(bytes)?),
            OPAQUE => match (*bytes.first()?, sized(&bytes[1..])?) {
                (DECIMAL, text) => Node::Decimal(Decimal::parse(text).value),
                (code, bytes) => Node::Opaque(code, bytes),
            },
            SMALL_OBJECT | LARGE_OBJECT | SMALL_ARRAY | LARGE_ARRAY => {
                let width = if matches!(ty, SMALL_OBJECT | SMALL_ARRAY) { 2 } else { 4 };
                let object = matches!(ty, SMALL_OBJECT | LARGE_OBJECT);
                let count = number(bytes, 0, width)? as usize;
                let size = number(bytes, width, width)? as usize;
                let depth = depth.checked_sub(1)?;
                let c = Container { bytes: bytes.get(..size)?, width, count, object, depth };
                let entries = count.checked_mul(1 + width + if object { width + 2 } else { 0 })?;
                (2 * width + entries <= size).then_some(())?;
                if object { Node::Object(c) } else { Node::Array(c) }
            }
            _ => return None,
        })
    }

    /// The value as a tree.
    ///
    /// # Errors
    /// As [`memory::reserve`].
    pub fn to_tree(&self) -> SqlResult<Json> {
        memory::short(size_of::<Json>())?;
        Ok(match self {
            Node::Null => Json::Null,
            Node::Bool(v) => Json::Bool(*v),
            Node::Int(v) => Json::Int(*v),
            Node::UInt(v) => Json::UInt(*v),
            Node::Double(v) => Json::Double(*v),
            Node::Decimal(v) => Json::Decimal(*v),
            Node::Text(t) => Json::Text(memory::copied(t)?),
            Node::Opaque(code, b) => Json::Opaque(*code, memory::copied(b)?),
            Node::Array(c) => {
                let mut items = Vec::new();
                memory::reserve(&mut items, c.len())?;
                for e in c.elements() {
                    items.push(e.to_tree()?);
                }
                Json::Array(items)
            }
            Node::Object(c) => {
                let mut members = Vec::new();
                memory::reserve(&mut members, c.len())?;
                for (k, v) in c.members() {
                    members.push((memory::copied(k)?, v.to_tree()?));
                }
                Json::Object(members)
            }
        })
    }
}

fn literal(v: u8) -> Node<'static> {
    match v {
        1 => Node::Bool(true),
        2 => Node::Bool(false),
        _ => Node::Null,
    }
}

impl<'d> Container<'d> {
    /// Elements or members.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The key of a member.
    pub fn key(&self, i: usize) -> Option<&'d [u8]> {
        if !self.object || i >= self.count {
            return None;
        }
        let entry = 2 * self.width + i * (self.width + 2);
        let offset = number(self.bytes, entry, self.width)? as usize;
        let len = number(self.bytes, entry + self.width, 2)? as usize;
        self.bytes.get(offset..offset.checked_add(len)?)
    }

    /// An element, or the value of a member.
    pub fn value(&self, i: usize) -> Option<Node<'d>> {
        if i >= self.count {
            return None;
        }
        let keys = if self.object { self.count * (self.width + 2) } else { 0 };
        let entry = 2 * self.width + keys + i * (1 + self.width);
        let ty = *self.bytes.get(entry)?;
        if self.is_inline(ty) {
            return Node::read(ty, self.bytes.get(entry + 1..)?, self.depth);
        }
        let offset = number(self.bytes, entry + 1, self.width)? as usize;
        Node::read(ty, self.bytes.get(offset..self.end_of(entry))?, self.depth)
    }

    /// Where the value that the entry points to ends at the latest: where the next one starts. Values do not overlap, or
    /// a small broken document could stand for endlessly many of them.
    fn end_of(&self, entry: usize) -> usize {
        let keys = if self.object { self.count * (self.width + 2) } else { 0 };
        let last = 2 * self.width + keys + self.count * (1 + self.width);
        let mut next = entry + 1 + self.width;
        while next < last {
            if !self.is_inline(self.bytes.get(next).copied().unwrap_or(LITERAL)) {
                return number(self.bytes, next + 1, self.width).map_or(self.bytes.len(), |v| v as usize);
            }
            next += 1 + self.width;
        }
        self.bytes.len()
    }

    /// Whether values of this type are in their entries.
    fn is_inline(&self, ty: u8) -> bool {
        match ty {
            LITERAL | INT16 | UINT16 => true,
            INT32 | UINT32 => self.width == 4,
            _ => false,
        }
    }

    /// The value of the member with this key.
    pub fn member(&self, key: &[u8]) -> Option<Node<'d>> {
        self.value(self.position(key)?)
    }

    /// The number of the member with this key.
    pub fn position(&self, key: &[u8]) -> Option<usize> {
        let (mut low, mut high) = (0, if self.object { self.count } else { 0 });
        while low < high {
            let middle = low + (high - low) / 2;
            match super::key_order(self.key(middle)?, key) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Some(middle),
            }
        }
        None
    }

    /// All elements or values.
    pub fn elements(&self) -> impl Iterator<Item = Node<'d>> + use<'d> {
        let c = *self;
        (0..c.count).map(move |i| c.value(i).unwrap_or(Node::Null))
    }

    /// All members.
    pub fn members(&self) -> impl Iterator<Item = (&'d [u8], Node<'d>)> + use<'d> {
        let c = *self;
        (0..c.count).map(move |i| (c.key(i).unwrap_or_default(), c.value(i).unwrap_or(Node::Null)))
    }
}
