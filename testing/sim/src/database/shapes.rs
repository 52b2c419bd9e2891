//! The tables of the simulation: definitions, random rows, and the keys their rows have in the model.

use super::model::{Key, Row, Shape};
use vaquita_base::Rng;
use vaquita_engine::{Column, IndexSpec, RowKey, TableSpec};
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_format::index_def::{KeyPart, RowFormat};

/// Values of integer keys: few, so that sessions meet.
const KEYS: u64 = 40;

fn index(name: &str, parts: Vec<KeyPart>, unique: bool) -> IndexSpec {
    IndexSpec { name: name.into(), parts, unique, comment: String::new() }
}

/// The definition of a table.
pub(super) fn spec(name: &str, shape: Shape, rng: &mut Rng) -> TableSpec {
    let columns = match shape {
        Shape::Simple => vec![
            ColumnDef::int("id", 4, false).not_null(),
            ColumnDef::int("a", 4, false),
            ColumnDef::int("u", 8, true),
            ColumnDef::varbinary("pad", 600),
        ],
        Shape::Keyless => vec![ColumnDef::int("a", 2, true), ColumnDef::blob("b", 4)],
        Shape::Composite => vec![
            ColumnDef::varchar("name", 30, Charset::LATIN1).not_null(),
            ColumnDef::int("n", 4, true).not_null(),
            ColumnDef::varchar("t", 100, Charset::LATIN1),
        ],
    };
    let mut spec = TableSpec::new(name, columns.into_iter().map(Column::new).collect());
    spec.row_format = match rng.below(3) {
        0 => RowFormat::Redundant,
        1 => RowFormat::Compact,
        _ => RowFormat::Dynamic,
    };
    spec.file_per_table = !rng.one_in(4);
    match shape {
        Shape::Simple => {
            spec.primary_key = Some(vec![KeyPart::whole(0)]);
            spec.indexes = vec![
                index("by_a", vec![KeyPart::whole(1)], false),
                index("by_u", vec![KeyPart::whole(2)], true),
            ];
        }
        Shape::Keyless => {
            spec.indexes = vec![index("by_b", vec![KeyPart::prefix(1, 20), KeyPart::whole(0)], false)];
        }
        Shape::Composite => {
            spec.primary_key = Some(vec![KeyPart::whole(0), KeyPart::whole(1)]);
            spec.indexes = vec![index("by_t", vec![KeyPart::whole(2), KeyPart::whole(0)], false)];
        }
    }
    // Any part of any key may be descending: of clustered, unique and prefix keys too.
    let clustered = spec.primary_key.iter_mut().flatten();
    let parts = clustered.chain(spec.indexes.iter_mut().flat_map(|index| &mut index.parts));
    parts.for_each(|part| part.descending = rng.one_in(3));
    spec
}

/// Positions of unique secondary indexes' columns.
pub(super) fn unique_column(shape: Shape) -> Option<usize> {
    (shape == Shape::Simple).then_some(2)
}

/// The index that a table may have besides.
pub(super) const EXTRA: &str = "extra";

/// Its column.
pub(super) fn extra_column(shape: Shape) -> usize {
    match shape {
        Shape::Simple | Shape::Composite => 1,
        Shape::Keyless => 0,
    }
}

/// Number of indexes of a table, but for that one.
pub(super) fn n_indexes(shape: Shape) -> usize {
    match shape {
        Shape::Simple => 3,
        Shape::Keyless | Shape::Composite => 2,
    }
}

fn signed(n: u64, bytes: usize) -> Vec<u8> {
    let flipped = n ^ (1 << (bytes * 8 - 1));
    (0..bytes).rev().map(|i| (flipped >> (i * 8)) as u8).collect()
}

fn unsigned(n: u64, bytes: usize) -> Vec<u8> {
    (0..bytes).rev().map(|i| (n >> (i * 8)) as u8).collect()
}

fn bytes(rng: &mut Rng, max: u64) -> Vec<u8> {
    let mut out = vec![0; rng.below(max + 1) as usize];
    rng.fill(&mut out);
    out
}

fn name(rng: &mut Rng) -> Vec<u8> {
    let names: [&[u8]; 6] = [b"anna", b"bo", b"Bo", b"carl ", b"CARL", b"dora"];
    names[rng.index(names.len())].to_vec()
}

fn nullable(rng: &mut Rng, value: Vec<u8>) -> Option<Vec<u8>> {
    (!rng.one_in(5)).then_some(value)
}

/// A random row.
pub(super) fn row(shape: Shape, rng: &mut Rng) -> Row {
    (0..n_columns(shape)).map(|c| value(shape, c, rng)).collect()
}

/// Number of columns.
pub(super) fn n_columns(shape: Shape) -> usize {
    match shape {
        Shape::Simple => 4,
        Shape::Keyless => 2,
        Shape::Composite => 3,
    }
}

/// A random value of a column.
pub(super) fn value(shape: Shape, column: usize, rng: &mut Rng) -> Option<Vec<u8>> {
    match (shape, column) {
        (Shape::Simple, 0) => Some(signed(rng.below(KEYS), 4)),
        (Shape::Simple, 1) => {
            let v = signed(rng.below(10), 4);
            nullable(rng, v)
        }
        (Shape::Simple, 2) => {
            let v = unsigned(rng.below(200), 8);
            nullable(rng, v)
        }
        (Shape::Simple, _) => {
            let v = bytes(rng, 500);
            nullable(rng, v)
        }
        (Shape::Keyless, 0) => {
            let v = unsigned(rng.below(20), 2);
            nullable(rng, v)
        }
        (Shape::Keyless, _) => {
            let long = rng.one_in(3);
            let v = bytes(rng, if long { 9_000 } else { 40 });
            nullable(rng, v)
        }
        (Shape::Composite, 0) => Some(name(rng)),
        (Shape::Composite, 1) => Some(unsigned(rng.below(8), 4)),
        (Shape::Composite, _) => {
            let v = [name(rng), name(rng), vec![b'x'; rng.below(60) as usize]].concat();
            nullable(rng, v)
        }
    }
}

/// Columns of the key.
pub(super) fn key_columns(shape: Shape) -> &'static [usize] {
    match shape {
        Shape::Simple => &[0],
        Shape::Keyless => &[],
        Shape::Composite => &[0, 1],
    }
}

/// Text as `latin1_swedish_ci` compares these names: without case and trailing spaces.
fn folded(text: &[u8]) -> Vec<u8> {
    text.trim_ascii_end().to_ascii_uppercase()
}

/// The key of a row in the model, from its clustered key.
pub(super) fn model_key(shape: Shape, key: &RowKey) -> Key {
    let mut fields: Key = key.fields().map(<[u8]>::to_vec).collect();
    if shape == Shape::Composite {
        fields[0] = folded(&fields[0]);
    }
    fields
}

/// The clustered key of a row that has one of its own.
pub(super) fn row_key(shape: Shape, row: &Row) -> RowKey {
    RowKey::new(key_columns(shape).iter().map(|&c| row[c].as_deref().expect("key columns are never NULL")))
}
