//! Entries of secondary indexes: as they are stored, and as they follow from a row.
//!
//! Both are written down in one form: for each field its length (u32, all ones for NULL) and its bytes. Equal entries
//! are equal bytes, and a set of entries is summed up by the hashes of those.

use std::borrow::Cow;

use vaquita_base::codec::{get_u32, le, push_u32};
use vaquita_format::charset::Charset;
use vaquita_format::column::ColumnDef;
use vaquita_format::index_def::{FieldDef, IndexDef};
use vaquita_format::record::{EXTERN_REF_LEN, ExternRef, Offsets};
use vaquita_format::text::TextType;

use crate::workshop::blob::read_blob;
use crate::workshop::source::PageSource;

/// Stored length of NULL.
const NULL_LEN: u32 = u32::MAX;
/// Characters shown of a value.
const SHOWN: usize = 40;

/// Appends a value.
fn push_value(out: &mut Vec<u8>, value: Option<&[u8]>) {
    match value {
        None => push_u32(out, NULL_LEN),
        Some(bytes) => {
            push_u32(out, bytes.len() as u32);
            out.extend_from_slice(bytes);
        }
    }
}

/// The values of an entry written down before.
pub(super) fn values(entry: &[u8]) -> impl Iterator<Item = Option<&[u8]>> {
    let mut rest = entry;
    std::iter::from_fn(move || {
        let (head, tail) = rest.split_at_checked(4)?;
        let len = get_u32(head, 0);
        if len == NULL_LEN {
            rest = tail;
            return Some(None);
        }
        let (value, tail) = tail.split_at_checked(len as usize)?;
        rest = tail;
        Some(Some(value))
    })
}

/// Writes down the entry that a record holds; whether it has all fields.
pub(super) fn stored(
    page: &[u8],
    rec: u16,
    offsets: &Offsets,
    from: usize,
    n: usize,
    out: &mut Vec<u8>,
) -> bool {
    out.clear();
    if offsets.n_fields() < from + n {
        return false;
    }
    for i in from..from + n {
        push_value(out, offsets.field(page, rec, i));
    }
    true
}

/// How a value is cut to the prefix that an index holds.
#[derive(Debug, Clone, Copy)]
enum Cut {
    Whole,
    Bytes(usize),
    Chars(Charset, usize),
}

impl Cut {
    fn of(field: &FieldDef) -> Cut {
        let (bytes, column) = (field.prefix_len as usize, &field.column);
        if bytes == 0 {
            return Cut::Whole;
        }
        let mbmaxlen = (column.mbminmaxlen() / 5) as usize;
        let charset = Charset::of_collation(column.collation_id());
        match charset.filter(|_| column.mtype.is_string() && !column.is_binary() && mbmaxlen > 1) {
            Some(charset) => Cut::Chars(charset, bytes / mbmaxlen),
            None => Cut::Bytes(bytes),
        }
    }

    fn apply(self, value: &[u8]) -> &[u8] {
        match self {
            Cut::Whole => value,
            Cut::Bytes(n) => &value[..n.min(value.len())],
            Cut::Chars(charset, n) => &value[..charset.prefix_len(value, n).min(value.len())],
        }
    }
}

/// Which field of the source gives a field, and how much of it.
#[derive(Debug, Clone)]
struct Source {
    field: usize,
    cut: Cut,
    /// Bytes that are enough for the cut.
    need: usize,
}

/// How the records of one index give the entries of another.
#[derive(Debug, Clone)]
pub(super) struct EntryPlan {
    sources: Vec<Source>,
}

impl EntryPlan {
    /// The plan for the first `n` fields of `wanted`, from records of `from`; `None` if those lack a column.
    pub(super) fn new(from: &IndexDef, wanted: &IndexDef, n: usize) -> Option<EntryPlan> {
        let source = |field: &FieldDef| {
            let whole = |f: &FieldDef| f.column.name == field.column.name && f.prefix_len == 0;
            let same = |f: &FieldDef| f.column.name == field.column.name && f.prefix_len == field.prefix_len;
            let at = from.fields().iter().position(whole);
            let (at, cut) = match at {
                Some(at) => (at, Cut::of(field)),
                None => (from.fields().iter().position(same)?, Cut::Whole),
            };
            let need = if field.prefix_len > 0 { field.prefix_len } else { field.column.len };
            Some(Source { field: at, cut, need: need as usize })
        };
        let sources = wanted.fields()[..n].iter().map(source).collect::<Option<Vec<_>>>()?;
        Some(EntryPlan { sources })
    }

    /// Writes down the entry that follows from a record; whether all of it could be read.
    pub(super) fn derive(
        &self,
        src: &dyn PageSource,
        (page, rec, offsets): (&[u8], u16, &Offsets),
        out: &mut Vec<u8>,
    ) -> bool {
        out.clear();
        for source in &self.sources {
            if source.field >= offsets.n_fields() {
                return false;
            }
            let Some(local) = offsets.field(page, rec, source.field) else {
                push_value(out, None);
                continue;
            };
            let value = if offsets.is_external(source.field) {
                match with_off_page(src, local, source.need) {
                    Some(value) => value,
                    None => return false,
                }
            } else {
                Cow::Borrowed(local)
            };
            push_value(out, Some(source.cut.apply(&value)));
        }
        true
    }

    /// The entry that follows from one written down before.
    pub(super) fn derive_from_entry(&self, entry: &[u8], out: &mut Vec<u8>) {
        out.clear();
        let values: Vec<Option<&[u8]>> = values(entry).collect();
        for source in &self.sources {
            let value = values.get(source.field).copied().flatten();
            push_value(out, value.map(|v| source.cut.apply(v)));
        }
    }
}

/// The first `need` bytes of an off-page column; `None` if they cannot be read.
fn with_off_page<'p>(src: &dyn PageSource, local: &'p [u8], need: usize) -> Option<Cow<'p, [u8]>> {
    let prefix = &local[..local.len().checked_sub(EXTERN_REF_LEN)?];
    if prefix.len() >= need {
        return Some(Cow::Borrowed(prefix));
    }
    let reference = ExternRef::of_field(local).ok()??;
    let bytes = std::cell::RefCell::new(prefix.to_vec());
    let read = read_blob(src, &reference, &mut |_| bytes.borrow().len() < need, &mut |part| {
        bytes.borrow_mut().extend_from_slice(part);
    });
    let bytes = bytes.into_inner();
    (read.is_ok() || bytes.len() >= need).then_some(Cow::Owned(bytes))
}

/// A hash of 128 bits. Not made against an adversary: equal sums mean equal sets but for bad luck.
pub(super) fn hash(entry: &[u8]) -> u128 {
    const K: [u64; 4] =
        [0x9E37_79B9_7F4A_7C15, 0xC2B2_AE3D_27D4_EB4F, 0x1656_67B1_9E37_79F9, 0xD6E8_FEB8_6659_FD93];
    let fold = |a: u64, b: u64| {
        let wide = u128::from(a) * u128::from(b);
        wide as u64 ^ (wide >> 64) as u64
    };
    let (mut a, mut b) = (K[0] ^ entry.len() as u64, K[1]);
    for chunk in entry.chunks(8) {
        let word = le::get_uint(chunk, 0, chunk.len()) ^ (chunk.len() as u64) << 56;
        a = fold(a ^ word, K[2]).rotate_left(23) ^ b;
        b = fold(b ^ word.rotate_left(32), K[3]).wrapping_add(a);
    }
    u128::from(fold(a ^ K[3], b | 1)) << 64 | u128::from(fold(b ^ K[2], a | 1))
}

/// An entry for people: `a=5, b='x', id=3`.
pub(super) fn shown(fields: &[FieldDef], entry: &[u8]) -> String {
    let parts = fields.iter().zip(values(entry)).map(|(field, value)| {
        format!(
            "{}={}",
            field.column.name,
            value.map_or("NULL".to_owned(), |v| shown_value(&field.column, v))
        )
    });
    parts.collect::<Vec<_>>().join(", ")
}

fn shown_value(column: &ColumnDef, value: &[u8]) -> String {
    let ty = TextType::of_column(column);
    let mut text = String::new();
    if ty.write(value, &mut text).is_err() {
        text.clear();
        vaquita_format::text::hex(value, &mut text);
    }
    if text.chars().count() > SHOWN {
        text = text.chars().take(SHOWN).chain("...".chars()).collect();
    }
    if ty.is_number() || ty.is_hex() { text } else { format!("'{}'", text.escape_debug()) }
}
