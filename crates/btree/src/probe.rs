//! What a descent looks for, and finding the child to follow in a node page that nobody latched.
//!
//! A [`Probe`] is made once per search: a key of fixed-length fields that compare as bytes becomes one string of
//! bytes, of up to eight a number. In an unlatched page every value is read once, by atomic loads, and may be torn;
//! all that follows from it stays within the page or comes to nothing, and means nothing until the version of the
//! page validates.

use std::cmp::Ordering;
use vaquita_base::PageNo;
use vaquita_base::codec::{get_u32, get_u64};
use vaquita_format::index_def::{FieldCmp, IndexDef};
use vaquita_format::index_page::header::{N_DIR_SLOTS, N_HEAP, SLOT_OWNED_MAX, infimum, supremum};
use vaquita_format::index_page::{self, SearchMode};
use vaquita_format::record::header::{COMP_HEADER, INFO_MIN_REC, header_len};
use vaquita_format::record::offsets::{EXTERN_FLAG, LONG_FLAG};
use vaquita_format::record::{RecSize, compare, compare_fields};
use vaquita_format::tuple::Tuple;
use vaquita_format::{Corruption, fil};
use vaquita_storage::{OptimisticBytes, WINDOW};

/// Longest key that is compared as one byte string.
const CONST_KEY_MAX: usize = 64;
/// Words of eight bytes of a text that are compared first.
const TEXT_WORDS: usize = 4;
/// Bytes below the origin that a copied node pointer may have.
const FRONT: usize = 128;
/// Bytes of a copied node pointer from its origin on.
const DATA_MAX: usize = 1_024;

/// What is known of the node pointers of an index once and for all.
#[derive(Debug, Clone)]
pub(crate) struct NodeShape {
    comp: bool,
    /// Key fields of a node pointer.
    n_key: usize,
    /// Offset of the child page number where all node pointers have it at the same place.
    child_at: Option<usize>,
    /// Bytes to copy from the origin on, to compare a key outside its page.
    copy: usize,
    /// Whether a node pointer's header fits into [`FRONT`].
    copyable: bool,
    /// Most bytes of a node pointer, as far as the columns tell.
    pub(crate) node_ptr_max: usize,
}

impl NodeShape {
    pub(crate) fn new(index: &IndexDef) -> Self {
        let layout = index.layout();
        let n = index.n_uniq_in_tree();
        let comp = layout.comp();
        let fields = &index.fields()[..n];
        let key_max: usize = fields
            .iter()
            .zip(layout.fields())
            .map(|(f, stored)| match (f.fixed_len, f.prefix_len) {
                (0, 0) => f.column.len.max(255) as usize,
                (0, prefix) => prefix as usize,
                // A NULL of a REDUNDANT record is as wide as the whole column, wider than a prefix of it.
                (fixed, _) => (fixed as usize).max(stored.null_len.into()),
            })
            .sum();
        let all_const = n <= layout.n_const();
        let const_len: usize = layout.fields()[..n].iter().map(|f| usize::from(f.fixed_len)).sum();
        let extra = header_len(comp) + if comp { layout.null_bytes() + 2 * n } else { 2 * (n + 1) };
        Self {
            comp,
            n_key: n,
            child_at: all_const.then_some(const_len),
            copy: (key_max + 4).min(DATA_MAX),
            copyable: extra <= FRONT,
            node_ptr_max: (extra + key_max + 4).min(index.rec_size_max()),
        }
    }
}

/// The form of a key that is compared fastest.
#[derive(Debug, Clone, Copy)]
enum Fast {
    /// At most eight bytes, as a number.
    Int { key: u64, len: usize },
    /// At most [`CONST_KEY_MAX`] bytes.
    Bytes { key: [u8; CONST_KEY_MAX], len: usize },
    /// One field of variable length, never NULL, in COMPACT records: its length lies so far below the origin, in two bytes if
    /// it is great and the field is `big`. `words`: the first bytes of the key, as far as it has them.
    Text { len_at: usize, big: bool, words: [u64; TEXT_WORDS] },
    /// Anything.
    Fields,
}

/// What a descent looks for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Probe<'k> {
    /// The leftmost leaf.
    First,
    /// The rightmost leaf.
    Last,
    /// The leaf of a key.
    Key(KeyProbe<'k>),
}

/// A key to descend to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyProbe<'k> {
    tuple: Tuple<'k>,
    mode: SearchMode,
    fast: Fast,
}

impl<'k> Probe<'k> {
    /// The leaf in which a search with `mode` ends.
    #[inline]
    pub(crate) fn key(index: &IndexDef, tuple: &Tuple<'k>, mode: SearchMode) -> Self {
        let tuple = tuple.compare_first(tuple.n_cmp().min(index.n_uniq_in_tree()));
        Probe::Key(KeyProbe { tuple, mode: mode.on_node_pages(), fast: fast_form(index, &tuple) })
    }

    /// The child to follow in a latched page of a level above the leaves, and its pointer.
    ///
    /// # Errors
    /// If the page is damaged.
    pub(crate) fn child_in(&self, index: &IndexDef, page: &[u8]) -> Result<(u16, PageNo), Corruption> {
        let rec = match self {
            Probe::First => index_page::first_rec(page)?,
            Probe::Last => index_page::last_rec(page)?,
            Probe::Key(key) => {
                let found = index_page::search(page, index, &key.tuple, key.mode)?;
                // Only a damaged parent leads to a page whose first key is above the one looked for.
                if found.low == infimum(index.layout().comp()) { found.up } else { found.low }
            }
        };
        Ok((rec, child_no(index, page, rec)?))
    }

    /// The child to follow in a page that is not latched. `None` if the bytes make no sense: the page changed, or
    /// it is damaged, or its keys are too long for this way of reading.
    #[inline]
    pub(crate) fn child_in_optimistic(
        &self,
        index: &IndexDef,
        shape: &NodeShape,
        page: &OptimisticBytes<'_>,
    ) -> Option<PageNo> {
        if (page.u8(N_HEAP) & 0x80 != 0) != shape.comp {
            return None;
        }
        let view = NodeView { page, shape, len: page.page_len() };
        let rec = match self {
            Probe::First => view.next(usize::from(infimum(shape.comp)))?,
            Probe::Last => view.last()?,
            Probe::Key(probe) => {
                let equal_is_low = probe.mode == SearchMode::LessOrEqual;
                match probe.fast {
                    Fast::Int { key, len } => {
                        view.search(equal_is_low, |rec| Some(key.cmp(&int_at(page, rec, len)?)))?
                    }
                    Fast::Bytes { key, len } => view.search(equal_is_low, |rec| {
                        let mut stored = [0; CONST_KEY_MAX];
                        page.copy(rec, &mut stored[..len]).then(|| key[..len].cmp(&stored[..len]))
                    })?,
                    Fast::Text { len_at, big, words } => {
                        let key = probe.tuple.fields()[0].data;
                        let key_len = key.map_or(0, <[u8]>::len).min(8 * TEXT_WORDS);
                        let order = index.compare_plan()[0];
                        let mut buffer = [0; WINDOW + 8];
                        view.search(equal_is_low, |rec| {
                            let len = text_len(page, rec.checked_sub(len_at)?, big)?;
                            let quick = by_first_difference(page, rec, &words, key_len.min(len), order);
                            if quick.is_some() {
                                return quick;
                            }
                            match page.window(rec, len, &mut buffer) {
                                Some(stored) => Some(compare_fields(order, key, Some(stored))),
                                None => compare_copy(index, shape, page, rec, &probe.tuple),
                            }
                        })?
                    }
                    Fast::Fields => {
                        let mut copy = RecCopy::new(shape)?;
                        view.search(equal_is_low, |rec| {
                            copy.take(page, rec, shape)?;
                            let mut matched = 0;
                            compare(index, &copy.bytes, FRONT as u16, &probe.tuple, &mut matched).ok()
                        })?
                    }
                }
            }
        };
        let child = match (shape.child_at, self) {
            (Some(at), _) => page.uint(rec + at, 4) as u32,
            // The only key field: the child follows it.
            (None, Probe::Key(KeyProbe { fast: Fast::Text { len_at, big, .. }, .. })) if shape.n_key == 1 => {
                page.uint(rec + text_len(page, rec.checked_sub(*len_at)?, *big)?, 4) as u32
            }
            (None, _) => {
                let mut copy = RecCopy::new(shape)?;
                copy.take(page, rec, shape)?;
                child_no(index, &copy.bytes, FRONT as u16).ok()?.get()
            }
        };
        Some(PageNo(child))
    }
}

/// The number in `len` (1 to 8) bytes at `at`, from two aligned loads.
#[inline(always)]
fn int_at(page: &OptimisticBytes<'_>, at: usize, len: usize) -> Option<u64> {
    let (high, low) = (page.word(at & !7)?, page.word((at & !7) + 8)?);
    Some(shifted(high, low, at) >> (64 - 8 * len))
}

/// The eight bytes at `at`, of which `high` are those before the next multiple of eight and `low` those behind.
#[inline(always)]
fn shifted(high: u64, low: u64, at: usize) -> u64 {
    let skip = 8 * (at as u32 & 7);
    if skip == 0 { high } else { high << skip | low >> (64 - skip) }
}

/// Compares a text, whose first bytes are `words`, with one in the page by the first byte in which they differ, which is among
/// the first `n` of both; `None` if there is none, or the order depends on more.
#[inline(always)]
fn by_first_difference(
    page: &OptimisticBytes<'_>,
    at: usize,
    words: &[u64; TEXT_WORDS],
    n: usize,
    order: FieldCmp,
) -> Option<Ordering> {
    let mut high = page.word(at & !7)?;
    for (i, word) in words.iter().enumerate().take(n.div_ceil(8)) {
        let low = page.word((at & !7) + 8 * (i + 1))?;
        let stored = shifted(high, low, at);
        let differ = word ^ stored;
        if differ != 0 {
            let byte = differ.leading_zeros() as usize / 8;
            let of = |word: u64| (word >> (56 - 8 * byte)) as u8;
            return if 8 * i + byte < n { order.by_differing_bytes(of(*word), of(stored)) } else { None };
        }
        high = low;
    }
    None
}

/// The length of a field of variable length whose highest byte lies at `at`; `None` if that is outside the page.
#[inline(always)]
fn text_len(page: &OptimisticBytes<'_>, at: usize, big: bool) -> Option<usize> {
    let first = page.u8(at);
    if !big || first & LONG_FLAG == 0 {
        return Some(first.into());
    }
    Some(usize::from(first & !(LONG_FLAG | EXTERN_FLAG)) << 8 | usize::from(page.u8(at.checked_sub(1)?)))
}

/// Compares a node pointer that is too long to be looked at in place.
#[cold]
fn compare_copy(
    index: &IndexDef,
    shape: &NodeShape,
    page: &OptimisticBytes<'_>,
    rec: usize,
    tuple: &Tuple<'_>,
) -> Option<Ordering> {
    let mut copy = RecCopy::new(shape)?;
    copy.take(page, rec, shape)?;
    compare(index, &copy.bytes, FRONT as u16, tuple, &mut 0).ok()
}

/// The fastest form of a key, if its compared fields are those that lie at constant places and compare as bytes.
#[inline]
fn fast_form(index: &IndexDef, tuple: &Tuple<'_>) -> Fast {
    let n = tuple.n_cmp().min(index.n_uniq_in_tree());
    if tuple.info_bits() & INFO_MIN_REC != 0 {
        return Fast::Fields;
    }
    if n > index.n_const_bytes() {
        return text_form(index, tuple, n).unwrap_or(Fast::Fields);
    }
    let mut key = [0; CONST_KEY_MAX];
    let mut len = 0;
    for (field, layout) in tuple.fields()[..n].iter().zip(index.layout().fields()) {
        match field.data {
            Some(data)
                if data.len() == usize::from(layout.fixed_len) && len + data.len() <= CONST_KEY_MAX =>
            {
                key[len..len + data.len()].copy_from_slice(data);
                len += data.len();
            }
            _ => return Fast::Fields,
        }
    }
    match len {
        0 => Fast::Fields,
        1..=8 => {
            let key = key[..len].iter().fold(0, |v, &b| v << 8 | u64::from(b));
            Fast::Int { key, len }
        }
        _ => Fast::Bytes { key, len },
    }
}

#[inline]
fn text_form(index: &IndexDef, tuple: &Tuple<'_>, n: usize) -> Option<Fast> {
    let layout = index.layout();
    let field = &layout.fields()[0];
    let is_text = n == 1 && layout.comp() && field.fixed_len == 0 && !field.nullable;
    let len_at = COMP_HEADER + layout.null_bytes() + 1;
    let key = tuple.fields()[0].data.filter(|_| is_text)?;
    let mut bytes = [0; 8 * TEXT_WORDS];
    let n = key.len().min(bytes.len());
    bytes[..n].copy_from_slice(&key[..n]);
    let words = std::array::from_fn(|i| get_u64(&bytes, 8 * i));
    Some(Fast::Text { len_at, big: field.big, words })
}

/// The child page number that ends a node pointer.
///
/// # Errors
/// If there is no node pointer at `rec`, or it leads nowhere.
pub(crate) fn child_no(index: &IndexDef, page: &[u8], rec: u16) -> Result<PageNo, Corruption> {
    let size = RecSize::of(page, rec, index.layout())?;
    let at = usize::from(rec) + size.data;
    if size.data < 4 || rec <= supremum(index.layout().comp()) {
        return Err(Corruption::new("node pointer", "no child page number").at(rec.into()));
    }
    PageNo(get_u32(page, at - 4))
        .some()
        .ok_or_else(|| Corruption::new("node pointer", "leads to no page").at(rec.into()))
}

/// A node pointer outside its page.
struct RecCopy {
    bytes: [u8; FRONT + DATA_MAX],
}

impl RecCopy {
    fn new(shape: &NodeShape) -> Option<Self> {
        shape.copyable.then_some(Self { bytes: [0; FRONT + DATA_MAX] })
    }

    fn take(&mut self, page: &OptimisticBytes<'_>, rec: usize, shape: &NodeShape) -> Option<()> {
        // The infimum lies at 99, so what is below FRONT is within the page header: short fronts are enough there.
        let front = FRONT.min(rec);
        let data = shape.copy.min(page.page_len() - rec);
        page.copy(rec - front, &mut self.bytes[FRONT - front..FRONT + data]).then_some(())
    }
}

/// The record list of an unlatched page.
struct NodeView<'a, 'p> {
    page: &'a OptimisticBytes<'p>,
    shape: &'a NodeShape,
    len: usize,
}

impl NodeView<'_, '_> {
    /// An origin within the page, far enough from its ends for every header.
    #[inline]
    fn checked(&self, rec: usize) -> Option<usize> {
        (rec >= usize::from(infimum(self.shape.comp)) && rec + fil::TRAILER_SIZE <= self.len).then_some(rec)
    }

    #[inline]
    fn next(&self, rec: usize) -> Option<usize> {
        let link = usize::from(self.page.u16(rec - 2));
        self.checked(if self.shape.comp { (rec + link) & 0xFFFF } else { link })
    }

    #[inline]
    fn slot(&self, n: usize) -> Option<usize> {
        self.checked(usize::from(self.page.u16(self.len - fil::TRAILER_SIZE - 2 * (n + 1))))
    }

    #[inline]
    fn n_slots(&self) -> Option<usize> {
        let n = usize::from(self.page.u16(N_DIR_SLOTS));
        (n >= 2 && n * 2 <= self.len / 2).then_some(n)
    }

    #[inline]
    fn last(&self) -> Option<usize> {
        let supremum = usize::from(supremum(self.shape.comp));
        let mut at = self.slot(self.n_slots()? - 2)?;
        for _ in 0..=SLOT_OWNED_MAX {
            let next = self.next(at)?;
            if next == supremum {
                return (at != usize::from(infimum(self.shape.comp))).then_some(at);
            }
            at = next;
        }
        None
    }

    /// The last record that is below the key, or equal to it if `equal_is_low`; the first record if none is.
    #[inline(always)]
    fn search(&self, equal_is_low: bool, mut order: impl FnMut(usize) -> Option<Ordering>) -> Option<usize> {
        let comp = self.shape.comp;
        let infimum = usize::from(infimum(comp));
        let supremum = usize::from(supremum(comp));
        let first = self.next(infimum)?;
        let flags = self.page.u8(first - header_len(comp));
        let min_rec = if flags & INFO_MIN_REC != 0 { first } else { 0 };
        let mut is_low = |rec: usize| -> Option<bool> {
            Some(
                rec == min_rec || {
                    let o = order(rec)?;
                    o == Ordering::Greater || equal_is_low && o == Ordering::Equal
                },
            )
        };
        let (mut low_slot, mut up_slot) = (0, self.n_slots()? - 1);
        while up_slot - low_slot > 1 {
            let mid = (low_slot + up_slot) / 2;
            if is_low(self.slot(mid)?)? {
                low_slot = mid;
            } else {
                up_slot = mid;
            }
        }
        let mut low = self.slot(low_slot)?;
        let end = self.slot(up_slot)?;
        for _ in 0..=SLOT_OWNED_MAX {
            let up = self.next(low)?;
            if up == end || !is_low(up)? {
                let low = if low == infimum { first } else { low };
                return (low != supremum).then_some(low);
            }
            low = up;
        }
        None
    }
}
