//! An encoded record on its way into a page, reusable from record to record.

use crate::error::{Error, Result};
use vaquita_base::PageNo;
use vaquita_format::index_def::IndexDef;
use vaquita_format::record::fields_of_record;
use vaquita_format::record::{Offsets, RecSize, encode, encode_sized, encoded_size};
use vaquita_format::tuple::{Tuple, TupleField};

/// Room in front of the record in [`RecBuf::as_page`], so that its origin is one a page could have.
const FRONT: usize = 128;

/// A record as it will lie in a page.
#[derive(Debug, Clone, Default)]
pub struct RecBuf {
    bytes: Vec<u8>,
    extra: usize,
}

impl RecBuf {
    /// An empty buffer.
    pub fn new() -> Self {
        Self::default()
    }

    /// The record of a leaf tuple, checked to fit.
    ///
    /// # Errors
    /// [`Error::RecordTooBig`].
    ///
    /// # Panics
    /// If the tuple does not have the fields of the index, or a value does not fit its field.
    pub fn of(index: &IndexDef, tuple: &Tuple<'_>) -> Result<Self> {
        let mut buf = Self::new();
        buf.set(index, tuple)?;
        Ok(buf)
    }

    /// Replaces the content by the record of a leaf tuple.
    ///
    /// # Errors
    /// [`Error::RecordTooBig`], for the record or for the node pointer that a split may make of it.
    ///
    /// # Panics
    /// As [`RecBuf::of`].
    pub fn set(&mut self, index: &IndexDef, tuple: &Tuple<'_>) -> Result<()> {
        self.set_sized(index, tuple, encoded_size(index.layout(), tuple))
    }

    /// The same for who knows the record's size.
    ///
    /// # Errors
    /// As [`RecBuf::set`].
    ///
    /// # Panics
    /// As [`RecBuf::of`].
    pub(crate) fn set_sized(&mut self, index: &IndexDef, tuple: &Tuple<'_>, whole: RecSize) -> Result<()> {
        let (layout, size, max) = (index.layout(), whole.total(), index.rec_size_max());
        if size > max {
            return Err(Error::RecordTooBig { size, max });
        }
        // The key alone may make a node pointer that is larger than a small record; long ones are looked at only.
        if size + 4 + 2 * layout.n_node_key() > max {
            let key = &tuple.fields()[..layout.n_node_key()];
            let size = encoded_size(layout, &Tuple::node_ptr(key, PageNo(0))).total();
            if size > max {
                return Err(Error::RecordTooBig { size, max });
            }
        }
        self.extra = encode_sized(layout, tuple, whole, &mut self.bytes);
        Ok(())
    }

    /// The node pointer to `child` whose key is that of a record.
    pub(crate) fn node_ptr(
        index: &IndexDef,
        page: &[u8],
        rec: u16,
        info_bits: u8,
        child: PageNo,
    ) -> std::result::Result<Self, vaquita_format::Corruption> {
        let n = index.n_uniq_in_tree();
        let mut offsets = Offsets::new();
        offsets.parse(page, rec, index.layout())?;
        let whole = offsets.n_fields() >= n && (0..n).all(|i| key_field_fits(index, &offsets, i));
        if !whole {
            let detail = format!("{} fields, or a length that its key cannot have", offsets.n_fields());
            return Err(vaquita_format::Corruption::new("key of a record", detail).at(rec.into()));
        }
        let mut key: Vec<TupleField<'_>> = Vec::with_capacity(n);
        fields_of_record(page, rec, &offsets, n, &mut key);
        let mut buf = Self::new();
        let tuple = Tuple::node_ptr(&key, child).with_info_bits(info_bits);
        buf.extra = encode(index.layout(), &tuple, &mut buf.bytes);
        Ok(buf)
    }

    /// The bytes, those below the origin first.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Bytes below the origin.
    #[inline]
    pub fn extra(&self) -> usize {
        self.extra
    }

    /// Bytes in all.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether it holds no record.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The record within something that record functions take for a page, and its origin there.
    pub(crate) fn as_page(&self) -> (Vec<u8>, u16) {
        let mut page = vec![0; FRONT + self.bytes.len() + 8];
        page[FRONT..FRONT + self.bytes.len()].copy_from_slice(&self.bytes);
        (page, (FRONT + self.extra) as u16)
    }
}

/// Whether encoding the field again is possible: a damaged page must not bring the encoder's checks down.
fn key_field_fits(index: &IndexDef, offsets: &Offsets, i: usize) -> bool {
    let field = &index.layout().fields()[i];
    if offsets.is_null(i) {
        return field.nullable;
    }
    let len = offsets.range(i).len();
    if offsets.is_external(i) {
        return false;
    }
    match (index.layout().comp(), field.fixed_len, field.big) {
        (true, 0, false) => len <= 0xFF,
        (true, 0, true) => len <= 0x3FFF,
        (true, fixed, _) => len == usize::from(fixed),
        (false, ..) => len <= 0x3FFF,
    }
}
