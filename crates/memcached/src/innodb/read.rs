//! Reading items: by keys, and stretches of keys.

use super::connection::{InnodbStore, Kind, Work};
use super::mapping::{KeyBuffer, KeyFields, Mapping};
use crate::store::{Expiry, Item, Range, Result};
use smallvec::SmallVec;
use std::ops::ControlFlow;
use vaquita_engine::{Cursor, Direction, LOOKUP_GROUP, ReadOptions, RowRef, Seek, Statement};

/// Receives items, each with its key's place in the list. It is a trait object: generic over each caller's closure, everything down
/// to the pages would be compiled once for each.
pub(crate) type Show<'s> = dyn FnMut(usize, &Item<'_>) -> ControlFlow<()> + 's;

impl InnodbStore {
    /// See [`crate::store::Store::get`], without a new end.
    pub(crate) fn read_keys(&mut self, keys: &[&[u8]], found: &mut Show<'_>) -> Result<()> {
        let mut at = 0;
        while let Some(key) = keys.get(at) {
            let Some(key) = self.enter(key)? else {
                if self.show_table(at, keys[at], found).is_break() {
                    return Ok(());
                }
                at += 1;
                continue;
            };
            // Keys that name no mapping are of the same one: one visit.
            let same = keys[at + 1..].iter().take_while(|k| !k.starts_with(b"@@")).count();
            let end = at + 1 + same;
            // An operation that is run again goes on where it was: shown is shown.
            let mut next = at;
            let mut stopped = false;
            self.operate(Kind::Read((end - at) as u64), |s, work| {
                while next < end && !stopped {
                    let first = next;
                    let named = |i: usize| if i == at { key } else { keys[i] };
                    if first + 1 == end {
                        let shown = show_key(s, work, named(first), |item| found(first, item))?;
                        // Not before: if the table has changed, it is this key that is read again.
                        next = end;
                        return Ok(shown.map(|flow| stopped = flow.is_break()));
                    }
                    let done = show_keys(
                        s,
                        work,
                        end - first,
                        |i| named(first + i),
                        |i, item| {
                            next = first + i + 1;
                            let flow = item.map_or(ControlFlow::Continue(()), |item| found(first + i, item));
                            stopped |= flow.is_break();
                            flow
                        },
                    )?;
                    if let Err(failure) = done {
                        return Ok(Err(failure));
                    }
                }
                Ok(Ok(()))
            })??;
            if stopped {
                return Ok(());
            }
            at = end;
        }
        Ok(())
    }

    /// Shows the committed item of a key of the mapping in use; no transaction is open.
    pub(crate) fn read_committed(
        &mut self,
        key: &[u8],
        found: &mut dyn FnMut(&Item<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let flow = self.operate_alone(Kind::Committed, |s, work| show_key(s, work, key, &mut *found))?;
        flow.map(drop)
    }

    fn show_table(&self, at: usize, key: &[u8], found: &mut Show<'_>) -> ControlFlow<()> {
        let name = self.table_name();
        let expires = Expiry::default();
        found(at, &Item { key, flags: 0, cas: 0, expires, access: None, value: name.as_bytes() })
    }

    /// See [`crate::store::Store::range`].
    pub(crate) fn read_range(
        &mut self,
        range: &Range<'_>,
        found: &mut dyn FnMut(&Item<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut enter = |key: Option<&[u8]>| -> Result<Option<Vec<u8>>> {
            let Some(key) = key else { return Ok(None) };
            Ok(self.enter(key)?.filter(|rest| !rest.is_empty()).map(<[u8]>::to_vec))
        };
        // An end of the stretch may name the mapping, too.
        let from = enter(range.from)?;
        let to = enter(range.to)?;
        if range.from.is_none() && range.to.is_none() {
            self.enter(b"")?;
        }
        let (mut low, mut high) = (KeyBuffer::default(), KeyBuffer::default());
        let mapping = &self.bound().mapping;
        if let Some(from) = &from {
            low.fill_prefix(mapping, from)?;
        }
        if let Some(to) = &to {
            high.fill_prefix(mapping, to)?;
        }
        // A statement is run again only if the table has changed before it could show anything.
        let mut shown = 0;
        let (low, high) = (from.is_some().then_some(&low), to.is_some().then_some(&high));
        let (included, past) = (range.from_included, range.to_included);
        let bounds = match mapping.is_descending() {
            false => {
                Bounds { low, high, low_included: included, high_included: past, backward: range.descending }
            }
            // What is less in the order of values comes later in that of the index.
            true => Bounds {
                low: high,
                high: low,
                low_included: past,
                high_included: included,
                backward: !range.descending,
            },
        };
        self.operate(Kind::Read(1), |s, work| {
            let now = work.tables.now();
            let mut cursor = bounds.cursor(s, &work.bound.mapping)?;
            let mapping = &work.bound.mapping;
            let n_columns = mapping.read_columns().len();
            let (mut key, mut failed) = (Vec::new(), None);
            let value = &mut work.buffers.value;
            s.for_each(&mut cursor, bounds.direction(), |row| {
                if shown >= range.limit {
                    return ControlFlow::Break(());
                }
                let present = mapping.present(row);
                // A row without a key is no item.
                let has_key = (0..mapping.keys.len()).all(|i| row.column(n_columns + i).is_some());
                if !has_key || present.is_expired(|| now) {
                    return ControlFlow::Continue(());
                }
                key.clear();
                let item = mapping
                    .join(&mapping.keys, n_columns, row, &mut key)
                    .and_then(|()| mapping.value(row, value));
                match item {
                    Ok(value) => {
                        let expires = Expiry(present.expires);
                        let (flags, cas) = (present.flags, present.cas);
                        shown += 1;
                        found(&Item { key: &key, flags, cas, expires, access: None, value })
                    }
                    Err(e) => {
                        failed = Some(e);
                        ControlFlow::Break(())
                    }
                }
            })?;
            failed.map_or(Ok(()), Err)
        })
    }
}

/// Shows the items of the first of `n` keys, as many as are read together; `None` for a key without one. Until `found` breaks.
fn show_keys<'k>(
    s: &mut Statement<'_>,
    work: &mut Work<'_>,
    n: usize,
    key: impl Fn(usize) -> &'k [u8],
    mut found: impl FnMut(usize, Option<&Item<'_>>) -> ControlFlow<()>,
) -> vaquita_engine::Result<Result<()>> {
    let Work { bound, buffers, tables } = work;
    let mapping = &bound.mapping;
    let mut filled = 0;
    let mut bad = None;
    for (i, buffer) in buffers.keys.iter_mut().enumerate().take(n) {
        if let Err(why) = buffer.fill(mapping, key(i)) {
            bad = Some(why);
            break;
        }
        filled += 1;
    }
    let fields: SmallVec<[KeyFields<'_>; LOOKUP_GROUP]> =
        buffers.keys[..filled].iter().map(KeyBuffer::fields).collect();
    let value = &mut buffers.value;
    let (mut failed, mut stopped) = (None, false);
    s.get_many(&mut bound.read, &fields, |i, row| {
        let flow = match row.map_or(Ok(None), |row| item_of(mapping, row, key(i), value, || tables.now())) {
            Ok(item) => found(i, item.as_ref()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        };
        stopped = flow.is_break();
        flow
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    match bad {
        Some(bad) if !stopped && bad.is_mistake() => Ok(Err(bad.into())),
        // No row has such a key.
        Some(_) if !stopped => {
            let _it_is_the_last = found(filled, None);
            Ok(Ok(()))
        }
        _ => Ok(Ok(())),
    }
}

/// The item that a row is, unless it has expired.
#[inline]
fn item_of<'r>(
    mapping: &Mapping,
    row: &RowRef<'r>,
    key: &'r [u8],
    value: &'r mut Vec<u8>,
    now: impl FnOnce() -> u32,
) -> vaquita_engine::Result<Option<Item<'r>>> {
    let present = mapping.present(row);
    if present.is_expired(now) {
        return Ok(None);
    }
    let value = mapping.value(row, value)?;
    let (flags, cas, expires) = (present.flags, present.cas, Expiry(present.expires));
    Ok(Some(Item { key, flags, cas, expires, access: None, value }))
}

/// Shows the item of a key, if there is one.
#[inline]
fn show_key(
    s: &mut Statement<'_>,
    work: &mut Work<'_>,
    key: &[u8],
    found: impl FnOnce(&Item<'_>) -> ControlFlow<()>,
) -> vaquita_engine::Result<Result<ControlFlow<()>>> {
    let Work { bound, buffers, tables } = work;
    let mapping = &bound.mapping;
    match buffers.key.fill(mapping, key) {
        Ok(()) => {}
        Err(bad) if bad.is_mistake() => return Ok(Err(bad.into())),
        Err(_) => return Ok(Ok(ControlFlow::Continue(()))),
    }
    let value = &mut buffers.value;
    let shown = s.get(&mut bound.read, &buffers.key.fields(), |row| {
        let item = item_of(mapping, row, key, value, || tables.now())?;
        Ok(item.map_or(ControlFlow::Continue(()), |item| found(&item)))
    })?;
    shown.unwrap_or(Ok(ControlFlow::Continue(()))).map(Ok)
}

/// A stretch in stored form, in the order of the index.
struct Bounds<'b> {
    low: Option<&'b KeyBuffer>,
    high: Option<&'b KeyBuffer>,
    low_included: bool,
    high_included: bool,
    /// It is read from its end.
    backward: bool,
}

impl Bounds<'_> {
    fn direction(&self) -> Direction {
        if self.backward { Direction::Backward } else { Direction::Forward }
    }

    /// A cursor at the beginning of the stretch that ends at its end.
    fn cursor(&self, s: &mut Statement<'_>, mapping: &Mapping) -> vaquita_engine::Result<Cursor> {
        let mut columns = mapping.read_columns();
        columns.extend(mapping.keys.iter().map(|p| p.column));
        let options = ReadOptions::by_index(mapping.index).columns(columns);
        let mut cursor = s.cursor(&mapping.table, &options)?;
        let (low, high) = (self.low.map(KeyBuffer::fields), self.high.map(KeyBuffer::fields));
        if self.backward {
            match &high {
                Some(key) if self.high_included => cursor.seek(key, Seek::LessOrEqual)?,
                Some(key) => cursor.seek(key, Seek::Less)?,
                None => cursor.seek_last(),
            }
            if let Some(key) = &low {
                cursor.set_lower(key, self.low_included)?;
            }
        } else {
            match &low {
                Some(key) if self.low_included => cursor.seek(key, Seek::GreaterOrEqual)?,
                Some(key) => cursor.seek(key, Seek::Greater)?,
                None => cursor.seek_first(),
            }
            if let Some(key) = &high {
                cursor.set_upper(key, self.high_included)?;
            }
        }
        Ok(cursor)
    }
}
