//! Rows as items, items as rows.

use super::column::Misfit;
use super::mapping::{Extra, Filler, KeyFields, Mapping, Part, Unfit, find};
use crate::store::Failure;
use smallvec::SmallVec;
use std::sync::Arc;
use vaquita_engine::auto_inc::Wanted;
use vaquita_engine::{Field, RowKey, RowRef, Statement, Table};

/// What a row says of its item besides the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Present {
    pub(crate) flags: u32,
    pub(crate) cas: u64,
    /// Seconds since 1970; 0 for never.
    pub(crate) expires: u32,
}

impl Present {
    /// Whether the item has ended. `now` is asked only if it ends at all.
    #[inline]
    pub(crate) fn is_expired(&self, now: impl FnOnce() -> u32) -> bool {
        self.expires != 0 && self.expires <= now()
    }
}

impl Mapping {
    /// How many columns come before those of the value.
    #[inline]
    pub(crate) fn n_extras(&self) -> usize {
        usize::from(self.flags.is_some())
            + usize::from(self.cas.is_some())
            + usize::from(self.expires.is_some())
    }

    /// What a row says besides the value. Columns are those of [`Mapping::read_columns`].
    #[inline]
    pub(crate) fn present(&self, row: &RowRef<'_>) -> Present {
        let mut at = 0;
        let mut bits = |extra: Option<Extra>| {
            let Some(extra) = extra else { return 0 };
            at += 1;
            row.column(at - 1).map_or(0, |stored| extra.int.bits(stored))
        };
        // A flag or an end of 32 bits comes back from an INT as it was.
        let (flags, cas, expires) = (bits(self.flags), bits(self.cas), bits(self.expires));
        Present { flags: flags as u32, cas, expires: end(expires, self.expires) }
    }

    /// The value of a row: where it lies, or put together in `scratch`.
    ///
    /// # Errors
    /// Errors of pages of long values.
    #[inline]
    pub(crate) fn value<'r>(
        &self,
        row: &RowRef<'r>,
        scratch: &'r mut Vec<u8>,
    ) -> vaquita_engine::Result<&'r [u8]> {
        let first = self.n_extras();
        if let [only] = &self.values[..]
            && only.form.is_plain()
            && !row.is_off_page(first)
        {
            return Ok(row.column(first).unwrap_or_default());
        }
        scratch.clear();
        self.join(&self.values, first, row, scratch)?;
        Ok(scratch)
    }

    /// Appends the values of columns that lie in a row from `first` on, joined by the separator. NULL is empty.
    ///
    /// # Errors
    /// Errors of pages of long values.
    pub(crate) fn join(
        &self,
        parts: &[Part],
        first: usize,
        row: &RowRef<'_>,
        out: &mut Vec<u8>,
    ) -> vaquita_engine::Result<()> {
        for (i, part) in parts.iter().enumerate() {
            if i > 0 {
                out.extend_from_slice(&self.separator);
            }
            if part.form.is_plain() {
                row.read_column(first + i, out)?;
            } else if !row.is_off_page(first + i) {
                if let Some(stored) = row.column(first + i) {
                    part.form.show(stored, out);
                }
            } else {
                let mut whole = Vec::new();
                row.read_column(first + i, &mut whole)?;
                part.form.show(&whole, out);
            }
        }
        Ok(())
    }
}

/// When an item ends. SQL may have written anything: before 1970 is expired, after 2106 far enough.
pub(crate) fn end(bits: u64, of: Option<Extra>) -> u32 {
    match of {
        Some(Extra { int, .. }) if !int.unsigned && int.bytes == 4 => bits as u32,
        Some(Extra { int, .. }) if !int.unsigned && (bits as i64) < 0 => 1,
        _ => u32::try_from(bits).unwrap_or(u32::MAX),
    }
}

/// Where a field of a new row is.
#[derive(Debug, Clone, Copy)]
enum Slot {
    Null,
    /// In the row's own bytes.
    Own(u32, u32),
    /// What the client gave, all of it.
    Given,
}

/// New values of some columns, in stored form.
#[derive(Debug, Default)]
pub(crate) struct NewRow {
    bytes: Vec<u8>,
    fields: Vec<(usize, Slot)>,
}

/// Changes of a row.
pub(crate) type Changes<'c> = SmallVec<[(usize, Field<'c>); 8]>;

impl NewRow {
    /// Empties it.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.fields.clear();
    }

    fn close(&mut self, column: usize, from: usize) {
        self.fields.push((column, Slot::Own(from as u32, self.bytes.len() as u32)));
    }

    /// Sets a column that belongs to an item besides its value, if the mapping has it.
    pub(crate) fn extra(&mut self, extra: Option<Extra>, bits: u64) {
        if let Some(extra) = extra {
            let from = self.bytes.len();
            extra.int.push_bits(bits, &mut self.bytes);
            self.close(extra.column, from);
        }
    }

    /// Sets the columns of the value. Of several, each gets what is before a separator, the last one what is left; columns
    /// for which there is nothing become NULL.
    ///
    /// # Errors
    /// A part does not fit its column.
    pub(crate) fn value(&mut self, mapping: &Mapping, given: &[u8]) -> Result<(), BadValue> {
        if let [only] = &mapping.values[..] {
            if only.form.is_plain() {
                only.form.check(given).map_err(|why| BadValue::Part(only.unfit(given, why)))?;
                self.fields.push((only.column, Slot::Given));
                return Ok(());
            }
            return self.part(only, Some(given));
        }
        let mut rest = Some(given);
        for (i, part) in mapping.values.iter().enumerate() {
            let here = rest.take();
            let end = match here {
                Some(here) if i + 1 < mapping.values.len() => find(here, &mapping.separator),
                _ => None,
            };
            match (here, end) {
                (Some(here), Some(end)) => {
                    self.part(part, Some(&here[..end]))?;
                    rest = Some(&here[end + mapping.separator.len()..]);
                }
                (here, _) => self.part(part, here)?,
            }
        }
        Ok(())
    }

    fn part(&mut self, part: &Part, given: Option<&[u8]>) -> Result<(), BadValue> {
        // NULL is shown as nothing; nothing is no number, so there it is NULL.
        let is_null = match given {
            None => true,
            Some(given) => given.is_empty() && part.nullable && !part.form.is_text(),
        };
        if is_null && part.nullable {
            self.fields.push((part.column, Slot::Null));
            return Ok(());
        }
        let Some(given) = given else {
            return Err(BadValue::Nothing(part.name.clone()));
        };
        let from = self.bytes.len();
        part.form.push(given, &mut self.bytes).map_err(|why| BadValue::Part(part.unfit(given, why)))?;
        self.close(part.column, from);
        Ok(())
    }

    /// Sets the columns that every change sets to the time.
    pub(crate) fn touched(&mut self, mapping: &Mapping, now: impl Fn() -> u32) {
        for part in &mapping.touched {
            let from = self.bytes.len();
            part.form.push_time(now(), &mut self.bytes);
            self.close(part.column, from);
        }
    }

    /// As changes of a row. `given`: what the value was made of.
    pub(crate) fn changes<'c>(&'c self, given: &'c [u8]) -> Changes<'c> {
        self.fields.iter().map(|&(column, slot)| (column, self.field(slot, given))).collect()
    }

    fn field<'c>(&'c self, slot: Slot, given: &'c [u8]) -> Field<'c> {
        match slot {
            Slot::Null => None,
            Slot::Own(from, to) => Some(&self.bytes[from as usize..to as usize]),
            Slot::Given => Some(given),
        }
    }

    /// Inserts it as a row with that key.
    ///
    /// # Errors
    /// Those of inserting.
    pub(crate) fn insert(
        &self,
        s: &mut Statement<'_>,
        mapping: &Mapping,
        key: &KeyFields<'_>,
        given: &[u8],
        now: u32,
    ) -> vaquita_engine::Result<RowKey> {
        let table = &mapping.table;
        let mut made = Vec::new();
        let mut row: SmallVec<[Field<'_>; 16]> = SmallVec::from_elem(None, table.columns.len());
        let mut spans: SmallVec<[(usize, usize, usize); 2]> = SmallVec::new();
        for (column, filler) in &mapping.others {
            let from = made.len();
            match filler {
                Filler::Null => continue,
                Filler::Stored(stored) => {
                    row[*column] = Some(stored);
                    continue;
                }
                Filler::Now(part) => part.form.push_time(now, &mut made),
                Filler::AutoIncrement(int) => int.push_bits(next_auto_increment(s, table)?, &mut made),
            }
            spans.push((*column, from, made.len()));
        }
        for &(column, from, to) in &spans {
            row[column] = Some(&made[from..to]);
        }
        for (part, &field) in mapping.keys.iter().zip(key) {
            row[part.column] = field;
        }
        for &(column, slot) in &self.fields {
            row[column] = self.field(slot, given);
        }
        let done = s.insert_as(table, &row, true)?;
        if let [Part { column, .. }] = &mapping.keys[..]
            && table.columns[*column].auto_increment
            && let Some(stored) = row[*column]
        {
            s.note_auto_inc(table, stored)?;
        }
        Ok(done)
    }
}

fn next_auto_increment(s: &mut Statement<'_>, table: &Arc<Table>) -> vaquita_engine::Result<u64> {
    Ok(s.reserve_auto_inc(table, Wanted::Exactly(1), 1, 1)?.first)
}

/// Why a value is none of a mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BadValue {
    /// It has nothing for this column, which is not NULL.
    Nothing(String),
    /// A part does not fit its column.
    Part(Unfit),
}

impl From<BadValue> for Failure {
    fn from(bad: BadValue) -> Failure {
        match bad {
            BadValue::Nothing(column) => Failure::Client(format!("nothing is given for column {column}")),
            BadValue::Part(Unfit { why: Misfit::TooLong, .. }) => Failure::TooLarge,
            BadValue::Part(Unfit { why, column, .. }) => {
                Failure::Client(format!("the value {why}: column {column}"))
            }
        }
    }
}
