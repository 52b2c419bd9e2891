//! The form section: counts, screens, columns, names, labels, comments.
//!
//! Screens are what a program of the eighties showed: up to [`SCREEN_ROWS`] columns on each, every one a line with its name, then a
//! field. Nobody reads them any more.
//!
//! | screen | |
//! |---|---|
//! | 0 | u16: its length |
//! | 2 | entries, then columns among them: all but the title |
//! | 4 | the title: line 2, column 20, length 41, 40 spaces, 0 |
//! | then | for each column: line, 0, length, its name as far as it fits, 0 |

use super::super::columns::{ColumnDefault, FrmColumn, code};
use super::super::{DeclaredFormat, Frm, table_options};
use super::record::Layout;
use super::{BLOCK, Out, Result, form_room, name, two_bytes, unwritable};
use crate::charset::Charset;
use vaquita_base::codec::le;

/// Counts and offsets at its start.
const FORM_INFO: usize = 288;
/// Comments of tables up to this length stand in the form.
const SHORT_COMMENT: usize = 180;
const SCREEN_WIDTH: usize = 80;
/// The first line of columns, and how many there are.
const FIRST_ROW: usize = 4;
const SCREEN_ROWS: usize = 19;
/// What a name can have of a line.
const NAME_BYTES: usize = SCREEN_WIDTH - 3;

/// Whether a comment of a table stands in the extra section.
pub(super) fn is_long(comment: &str) -> bool {
    comment.len() > SHORT_COMMENT
}

pub(super) fn encode(frm: &Frm, layout: &Layout) -> Result<Vec<u8>> {
    let n = frm.columns.len();
    let screens = screens(frm)?;
    let labels = Labels::of(frm)?;
    let mut names = Out::default();
    let mut comments = Vec::new();
    for column in &frm.columns {
        names.u8(0xFF);
        names.bytes(name(&column.name)?);
        comments.extend_from_slice(column.comment.as_bytes());
    }
    names.bytes(&[0xFF, 0]);
    let mut columns = Out::default();
    for (at, column) in frm.columns.iter().enumerate() {
        encode_column(column, at, layout.positions[at], labels.set_of[at], &mut columns)?;
    }
    let parts = [&screens, &columns.0, &names.0, &labels.bytes, &comments];
    let len = FORM_INFO + parts.iter().map(|p| p.len()).sum::<usize>();
    let mut out = vec![0; FORM_INFO];
    let mut put = |at, n: usize, v: usize| le::put_uint(&mut out, at, n, v as u64);
    put(0, 2, two_bytes(len, "bytes of columns, labels and comments")?.into());
    put(2, 2, two_bytes(form_room(len), "bytes of columns, labels and comments")?.into());
    put(46, 1, if is_long(&frm.comment) { 0xFF } else { frm.comment.len() });
    put(256, 2, n.div_ceil(SCREEN_ROWS));
    put(258, 2, two_bytes(n, "columns")?.into());
    put(260, 2, screens.len());
    // It has no more than the low half.
    put(262, 2, frm.columns.iter().map(|c| c.length as usize).sum::<usize>() & 0xFFFF);
    put(266, 2, two_bytes(layout.record_len, "bytes in a row")?.into());
    put(268, 2, names.0.len());
    put(270, 2, labels.sets);
    put(272, 2, labels.parts);
    put(274, 2, labels.bytes.len());
    put(278, 2, SCREEN_WIDTH);
    put(280, 2, 22);
    put(282, 2, frm.columns.iter().filter(|c| c.nullable).count());
    put(284, 2, comments.len());
    if !is_long(&frm.comment) {
        out[47..47 + frm.comment.len()].copy_from_slice(frm.comment.as_bytes());
    }
    parts.iter().for_each(|part| out.extend_from_slice(part));
    debug_assert!(form_room(out.len()) >= BLOCK, "a form is never less than a block");
    Ok(out)
}

/// Bytes of a name on its line, and the line's position behind it.
fn on_screen(column: &FrmColumn) -> (&[u8], usize) {
    let name = column.name.as_bytes();
    let shown = &name[..name.len().min(NAME_BYTES)];
    (shown, shown.len() + 1)
}

fn screens(frm: &Frm) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    for columns in frm.columns.chunks(SCREEN_ROWS) {
        let mut screen = Out::default();
        screen.bytes(&[columns.len() as u8 + 1, columns.len() as u8, 2, 20, 41]);
        screen.bytes(&[b' '; 40]);
        screen.u8(0);
        for (row, column) in columns.iter().enumerate() {
            let (shown, width) = on_screen(column);
            screen.bytes(&[(FIRST_ROW + row) as u8, 0, width as u8]);
            screen.bytes(shown);
            screen.u8(0);
        }
        le_u16(&mut out, 2 + screen.0.len());
        out.extend_from_slice(&screen.0);
    }
    two_bytes(out.len(), "bytes of names of columns")?;
    Ok(out)
}

/// A screen has 19 names at most: its length fits.
fn le_u16(out: &mut Vec<u8>, v: usize) {
    out.extend_from_slice(&[v as u8, (v >> 8) as u8]);
}

fn encode_column(c: &FrmColumn, at: usize, position: usize, labels: u8, out: &mut Out) -> Result<()> {
    let length = two_bytes(c.length as usize, "bytes in a column")?;
    let (_, width) = on_screen(c);
    let (low, high) = match c.type_code {
        code::GEOMETRY => (c.geometry, 0),
        _ => ((c.collation & 0xFF) as u8, (c.collation >> 8) as u8),
    };
    out.u8((FIRST_ROW + at % SCREEN_ROWS) as u8);
    out.u8(width as u8);
    out.u8(usize::from(length & 0xFF).min(SCREEN_WIDTH - 1 - width) as u8);
    out.u16(length);
    out.uint(3, position as u64 + 1);
    out.u16(c.pack_flags());
    out.u8(c.special);
    out.bytes(&[high, labels, c.type_code, low]);
    out.u16(two_bytes(c.comment.len(), "bytes in the comment of a column")?);
    Ok(())
}

/// Sets of labels: columns with the same labels, byte for byte, share one.
struct Labels {
    bytes: Vec<u8>,
    sets: usize,
    /// Labels of all sets, and one more for each.
    parts: usize,
    /// Number of each column's set, from 1.
    set_of: Vec<u8>,
}

impl Labels {
    fn of(frm: &Frm) -> Result<Labels> {
        let mut seen: Vec<Vec<Vec<u8>>> = Vec::new();
        let mut set_of = Vec::with_capacity(frm.columns.len());
        for column in &frm.columns {
            if !matches!(column.type_code, code::ENUM | code::SET) {
                set_of.push(0);
                continue;
            }
            let labels = column.labels.iter().map(|l| label(l, column)).collect::<Result<Vec<_>>>()?;
            let at = seen.iter().position(|s| *s == labels).unwrap_or(seen.len());
            if at == seen.len() {
                seen.push(labels);
            }
            let number = u8::try_from(at + 1);
            set_of.push(number.or_else(|_| unwritable("more than 255 different lists of labels"))?);
        }
        let mut bytes = Vec::new();
        for labels in &seen {
            let separator = separator(labels)?;
            bytes.push(separator);
            for label in labels {
                bytes.extend_from_slice(label);
                bytes.push(separator);
            }
            bytes.push(0);
        }
        two_bytes(bytes.len(), "bytes of labels")?;
        let parts: usize = seen.iter().map(|s| s.len() + 1).sum();
        two_bytes(parts, "labels")?;
        Ok(Labels { bytes, sets: seen.len(), parts, set_of })
    }
}

/// 255, unless a label has it; then a comma; then the first byte that none has.
fn separator(labels: &[Vec<u8>]) -> Result<u8> {
    let is_free = |byte: &u8| labels.iter().all(|label| !label.contains(byte));
    let found = [0xFF, b','].into_iter().chain(1..=0xFE).find(is_free);
    found.map_or_else(|| unwritable("labels with every byte there is"), Ok)
}

/// A label in the column's character set; where that has zero bytes, as hexadecimal digits.
fn label(text: &str, column: &FrmColumn) -> Result<Vec<u8>> {
    let charset = Charset::of_any_collation(column.collation).unwrap_or(Charset::LATIN1);
    let mut bytes = Vec::new();
    if !text.chars().all(|c| charset.push(u32::from(c), &mut bytes)) {
        return unwritable(format!("label {text:?} of column {}", column.name));
    }
    if charset.mb_min_len > 1 {
        return Ok(bytes.iter().map(|b| format!("{b:02X}")).collect::<String>().into_bytes());
    }
    if bytes.contains(&0) {
        return unwritable(format!("label {text:?} of column {}", column.name));
    }
    Ok(bytes)
}

impl Frm {
    /// Whether rows of such a table have no reserved bit before their null bits: those of tables with columns of variable length, and
    /// of the format DYNAMIC.
    pub fn packs_records(columns: &[FrmColumn], format: DeclaredFormat) -> bool {
        let blob = columns.iter().any(FrmColumn::is_blob);
        let varchar = columns.iter().any(|c| c.type_code == code::VARCHAR);
        blob || format == DeclaredFormat::Dynamic || (varchar && format != DeclaredFormat::Fixed)
    }

    /// Whether the first bit of a row is reserved.
    pub(super) fn has_reserved_bit(&self) -> bool {
        self.options & table_options::PACK_RECORD == 0
    }
}

/// Whether the bit of a nullable column is set in the default record.
pub(super) fn is_null(column: &FrmColumn) -> bool {
    column.nullable && !matches!(column.default, ColumnDefault::Row(_))
}
