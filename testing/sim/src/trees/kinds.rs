//! Kinds of trees, and rows for them.

use std::sync::Arc;
use vaquita_base::{IndexId, Rng};
use vaquita_format::PageSize;
use vaquita_format::column::ColumnDef;
use vaquita_format::index_def::{IndexDef, IndexSpec, KeyPart, RowFormat};
use vaquita_format::tuple::TupleField;

/// Values of the fields of a record, in index order; `None` is NULL.
pub(super) type Row = Vec<Option<Vec<u8>>>;

/// What the records of a tree look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Clustered on an integer, a variable value.
    IntKey,
    /// Clustered on a variable binary key, two values that may leave the page.
    Blobs,
    /// Secondary: two nullable fields and the clustered key.
    Nullable,
    /// Long keys: few records on a node page, so tall trees.
    LongKey,
}

const KINDS: [Kind; 4] = [Kind::IntKey, Kind::Blobs, Kind::Nullable, Kind::LongKey];
const FORMATS: [RowFormat; 3] = [RowFormat::Redundant, RowFormat::Compact, RowFormat::Dynamic];

impl Kind {
    pub(super) fn pick(rng: &mut Rng) -> (Kind, RowFormat) {
        (KINDS[rng.index(KINDS.len())], FORMATS[rng.index(FORMATS.len())])
    }

    pub(super) fn index(self, id: u64, format: RowFormat, page_size: PageSize) -> Arc<IndexDef> {
        let spec = |id| IndexSpec { id: IndexId(id), name: "i".into(), row_format: format, page_size };
        let key = [KeyPart::whole(0)];
        let made = match self {
            Kind::IntKey => {
                let columns = [ColumnDef::int("id", 4, false).not_null(), ColumnDef::varbinary("v", 400)];
                IndexDef::clustered(spec(id), &columns, Some(&key))
            }
            Kind::Blobs => {
                let columns = [
                    ColumnDef::varbinary("k", 60).not_null(),
                    ColumnDef::blob("v", 3),
                    ColumnDef::blob("w", 3),
                    ColumnDef::int("n", 8, false),
                ];
                IndexDef::clustered(spec(id), &columns, Some(&key))
            }
            Kind::Nullable => {
                let columns = [
                    ColumnDef::int("id", 8, false).not_null(),
                    ColumnDef::int("a", 2, false),
                    ColumnDef::varbinary("b", 40),
                ];
                let clustered = IndexDef::clustered(spec(id), &columns, Some(&key));
                let parts = [KeyPart::whole(1), KeyPart::whole(2)];
                clustered.and_then(|c| IndexDef::secondary(spec(id), &columns, &parts, false, &c))
            }
            Kind::LongKey => {
                let columns =
                    vec![ColumnDef::varbinary("k", 900).not_null(), ColumnDef::int("n", 4, true).not_null()];
                IndexDef::plain(spec(id), columns, 1)
            }
        };
        Arc::new(made.expect("the definitions above are sound"))
    }

    /// A row with this number as its key; what is not key is random. The keys of different numbers differ.
    pub(super) fn row(self, number: u32, rng: &mut Rng, page_len: usize) -> Row {
        let bytes = |rng: &mut Rng, max: usize| {
            let mut value = vec![rng.next_u64() as u8; rng.index(max + 1)];
            if let Some(first) = value.first_mut() {
                *first = rng.next_u64() as u8;
            }
            Some(value)
        };
        let trx = Some(vec![0, 0, 0, 0, 1, 2]);
        let roll = Some(vec![0x80, 0, 0, 0, 0, 0, 0]);
        match self {
            Kind::IntKey => {
                let v = if rng.one_in(8) { None } else { bytes(rng, 400) };
                vec![Some(be(number.into(), 4)), trx, roll, v]
            }
            Kind::Blobs => {
                let mut k = be(number.into(), 4);
                k.extend(std::iter::repeat_n(7, number as usize % 50));
                let v = if rng.one_in(12) { bytes(rng, 4 * page_len) } else { bytes(rng, 100) };
                let w = if rng.one_in(12) { bytes(rng, page_len) } else { None };
                let n = if rng.one_in(2) { None } else { Some(be(rng.next_u64(), 8)) };
                vec![Some(k), trx, roll, v, w, n]
            }
            Kind::Nullable => {
                // Derived from the number, as all of it is the key.
                let a = if number.is_multiple_of(7) { None } else { Some(be(u64::from(number % 5), 2)) };
                let b = if number.is_multiple_of(3) { None } else { Some(vec![b'x'; number as usize % 40]) };
                vec![a, b, Some(be(number.into(), 8))]
            }
            Kind::LongKey => {
                let mut k = vec![b'k'; 100 + number as usize % 700];
                k.extend(be(number.into(), 4));
                k[..2].copy_from_slice(&be(u64::from(number) * 2_654_435_761 % 65_536, 2));
                vec![Some(k), Some(be(rng.below(1 << 32), 4))]
            }
        }
    }

    /// The field that an update in place may overwrite with a value of the same length.
    pub(super) fn field_in_place(self) -> Option<usize> {
        match self {
            Kind::IntKey => Some(3),
            Kind::Blobs => Some(5),
            Kind::LongKey => Some(1),
            Kind::Nullable => None,
        }
    }
}

fn be(v: u64, n: usize) -> Vec<u8> {
    (0..n).rev().map(|i| (v >> (8 * i)) as u8).collect()
}

/// The fields of a tuple.
pub(super) fn fields(row: &[Option<Vec<u8>>]) -> Vec<TupleField<'_>> {
    row.iter().map(|f| TupleField::nullable(f.as_deref())).collect()
}
