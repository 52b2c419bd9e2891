//! Changing items: conditions are looked at under the row's X lock, so that nothing comes between.
//!
//! A plain `set` by the primary key asks for nothing, so it goes straight to the change of the row and inserts one only if
//! there was none. `add` goes straight to the insert. Everything else reads and locks the row first.

use super::connection::{InnodbStore, Kind, Work};
use super::mapping::{BadKey, Mapping};
use super::read::Show;
use super::row::{BadValue, Present};
use crate::decimal::push_number;
use crate::store::{Count, Counted, Expiry, Failure, Item, Mode, NewItem, Outcome, Result};
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use vaquita_engine::{Error, LockMode, RowKey, Statement};

/// What an operation found out: its outcome, or a failure of its own.
type Found<R> = vaquita_engine::Result<Result<R>>;

/// How often the change of a row and the insert of one are tried in turn: both fail only if others delete and insert the same
/// key in between.
const TURNS: u32 = 100;

impl InnodbStore {
    /// Runs a change of the item of a key.
    fn change<R>(
        &mut self,
        key: &[u8],
        body: impl FnMut(&mut Statement<'_>, &mut Work<'_>) -> Found<R>,
    ) -> Result<R> {
        match self.enter(key)? {
            Some(key) => self.change_here(key, body),
            None => Err(Failure::Client("there is no key behind the mapping's name".into())),
        }
    }

    /// The same in the mapping in use.
    fn change_here<R>(
        &mut self,
        key: &[u8],
        mut body: impl FnMut(&mut Statement<'_>, &mut Work<'_>) -> Found<R>,
    ) -> Result<R> {
        self.operate(Kind::Write, |s, work| {
            if let Err(bad) = work.buffers.key.fill(&work.bound.mapping, key) {
                if let BadKey::Field(unfit) = &bad {
                    work.tables.note_misfit(&work.bound.mapping, "key", unfit);
                }
                return Ok(Err(bad.into()));
            }
            if work.tables.settings.disable_rowlock.load(Ordering::Relaxed) {
                s.lock_table(&work.bound.mapping.table, LockMode::Exclusive)?;
            }
            body(s, work)
        })?
    }

    /// See [`crate::store::Store::store`].
    pub(crate) fn keep(&mut self, mode: Mode, key: &[u8], item: &NewItem<'_>, cas: u64) -> Result<Outcome> {
        self.change(key, |s, work| match mode {
            Mode::Set if cas == 0 => set(s, work, item),
            Mode::Add if cas == 0 => add(s, work, item),
            _ => keep_if(s, work, mode, item, cas),
        })
    }

    /// See [`crate::store::Store::count`].
    pub(crate) fn count_item(&mut self, key: &[u8], count: &Count) -> Result<Counted> {
        self.change(key, |s, work| count_in(s, work, count))
    }

    /// See [`crate::store::Store::delete`].
    pub(crate) fn delete_item(&mut self, key: &[u8], cas: u64) -> Result<Outcome> {
        self.change(key, |s, work| {
            let Some((row, present)) = lock_row(s, work, Want::Head)? else {
                return Ok(Ok(Outcome::NotFound));
            };
            let expired = present.is_expired(|| work.tables.now());
            if !expired && cas != 0 && cas != present.cas {
                return Ok(Ok(Outcome::Exists));
            }
            s.delete(&work.bound.mapping.table, &row)?;
            Ok(Ok(if expired { Outcome::NotFound } else { Outcome::Done(0) }))
        })
    }

    /// See [`crate::store::Store::touch`].
    pub(crate) fn touch_item(&mut self, key: &[u8], expires: Expiry) -> Result<Outcome> {
        self.change(key, |s, work| {
            let found = lock_live(s, work, Want::Head)?;
            let Some((row, present)) = found else { return Ok(Ok(Outcome::NotFound)) };
            set_end(s, work, &row, expires)?;
            Ok(Ok(Outcome::Done(present.cas)))
        })
    }

    /// See [`crate::store::Store::get`], with a new end.
    pub(crate) fn read_and_touch(
        &mut self,
        keys: &[&[u8]],
        expires: Expiry,
        found: &mut Show<'_>,
    ) -> Result<()> {
        for (at, &key) in keys.iter().enumerate() {
            let Some(bare) = self.enter(key)? else {
                let mut flow = ControlFlow::Continue(());
                self.read_keys(&keys[at..=at], &mut |_, item| {
                    flow = found(at, item);
                    flow
                })?;
                if flow.is_break() {
                    return Ok(());
                }
                continue;
            };
            let item = self.change_here(bare, |s, work| {
                let Some((row, present)) = lock_live(s, work, Want::Value)? else { return Ok(Ok(None)) };
                set_end(s, work, &row, expires)?;
                Ok(Ok(Some(present)))
            })?;
            if let Some(Present { flags, cas, .. }) = item {
                let value = self.value_buffer();
                if found(at, &Item { key: bare, flags, cas, expires, access: None, value }).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// How much of a row is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Want {
    /// What is there besides the value.
    Head,
    /// The value too, in the buffer.
    Value,
}

/// Locks the row of the key and reads it; expired ones too.
fn lock_row(
    s: &mut Statement<'_>,
    work: &mut Work<'_>,
    want: Want,
) -> vaquita_engine::Result<Option<(RowKey, Present)>> {
    let Work { bound, buffers, .. } = work;
    let mapping = &bound.mapping;
    let out = &mut buffers.value;
    let found = s.get(&mut bound.lock, &buffers.key.fields(), |row| {
        let mut key = RowKey::default();
        row.row_key(&mut key)?;
        if want == Want::Value {
            out.clear();
            mapping.join(&mapping.values, mapping.n_extras(), row, out)?;
        }
        Ok((key, mapping.present(row)))
    })?;
    found.transpose()
}

/// Locks the row of the key and reads it, unless it has expired.
fn lock_live(
    s: &mut Statement<'_>,
    work: &mut Work<'_>,
    want: Want,
) -> vaquita_engine::Result<Option<(RowKey, Present)>> {
    let found = lock_row(s, work, want)?;
    Ok(found.filter(|(_, present)| !present.is_expired(|| work.tables.now())))
}

/// Makes the columns of a new item; its number.
fn make(work: &mut Work<'_>, item: &NewItem<'_>) -> Result<u64> {
    let cas = next_number(work);
    let Work { bound, buffers, tables } = work;
    let (mapping, row) = (&bound.mapping, &mut buffers.row);
    row.clear();
    row.extra(mapping.flags, item.flags.into());
    row.extra(mapping.cas, cas);
    row.extra(mapping.expires, item.expires.0.into());
    row.value(mapping, item.value).inspect_err(|bad| {
        if let BadValue::Part(unfit) = bad {
            tables.note_misfit(mapping, "value", unfit);
        }
    })?;
    row.touched(mapping, || tables.now());
    Ok(cas)
}

fn next_number(work: &mut Work<'_>) -> u64 {
    match work.bound.mapping.cas {
        Some(_) => work.buffers.numbers.take(&work.tables.numbers),
        None => 0,
    }
}

/// Changes a row to what was made; whether there is such a row that was not so already.
fn update(
    s: &mut Statement<'_>,
    work: &Work<'_>,
    row: &RowKey,
    given: &[u8],
) -> vaquita_engine::Result<bool> {
    s.update(&work.bound.mapping.table, row, &work.buffers.row.changes(given))
}

/// Inserts a row of what was made. `false`: the key is there by now, and the row locked.
fn insert(s: &mut Statement<'_>, work: &Work<'_>, given: &[u8]) -> vaquita_engine::Result<bool> {
    let mapping = &work.bound.mapping;
    let mark = s.mark();
    let key = work.buffers.key.fields();
    match work.buffers.row.insert(s, mapping, &key, given, work.tables.now()) {
        Ok(_) => Ok(true),
        Err(Error::DuplicateKey { index, .. }) if is_index(mapping, &index) => {
            s.take_back(mark)?;
            Ok(false)
        }
        Err(e) => Err(e),
    }
}

fn is_index(mapping: &Mapping, name: &str) -> bool {
    mapping.table.indexes[mapping.index].name == name
}

/// Whatever there is becomes the new item.
fn set(s: &mut Statement<'_>, work: &mut Work<'_>, item: &NewItem<'_>) -> Found<Outcome> {
    let cas = match make(work, item) {
        Ok(cas) => cas,
        Err(failure) => return Ok(Err(failure)),
    };
    if !work.bound.mapping.by_primary() {
        return put(s, work, item.value, cas);
    }
    let mut row = std::mem::take(&mut work.buffers.row_key);
    row.clear();
    work.buffers.key.fields().iter().for_each(|field| row.push(field.unwrap_or_default()));
    let done = put_by_primary(s, work, &row, item, cas);
    work.buffers.row_key = row;
    done
}

/// Puts what was made where the row of that clustered key is.
fn put_by_primary(
    s: &mut Statement<'_>,
    work: &Work<'_>,
    row: &RowKey,
    item: &NewItem<'_>,
    cas: u64,
) -> Found<Outcome> {
    let mut was_there = false;
    for _ in 0..TURNS {
        if update(s, work, row, item.value)? || was_there {
            return Ok(Ok(Outcome::Done(cas)));
        }
        // There is none, or it is so already: that can be told only if every change gets a number.
        if insert(s, work, item.value)? {
            return Ok(Ok(Outcome::Done(cas)));
        }
        was_there = true;
    }
    Ok(Err(contended()))
}

/// Puts what was made where a row is that must be looked for by a secondary index.
fn put(s: &mut Statement<'_>, work: &mut Work<'_>, given: &[u8], cas: u64) -> Found<Outcome> {
    for _ in 0..TURNS {
        match lock_row(s, work, Want::Head)? {
            Some((row, _)) => {
                update(s, work, &row, given)?;
                return Ok(Ok(Outcome::Done(cas)));
            }
            None if insert(s, work, given)? => return Ok(Ok(Outcome::Done(cas))),
            None => {}
        }
    }
    Ok(Err(contended()))
}

fn contended() -> Failure {
    Failure::Busy("others delete and insert the key all the time".into())
}

/// A new item, if there is none.
fn add(s: &mut Statement<'_>, work: &mut Work<'_>, item: &NewItem<'_>) -> Found<Outcome> {
    let cas = match make(work, item) {
        Ok(cas) => cas,
        Err(failure) => return Ok(Err(failure)),
    };
    for _ in 0..TURNS {
        if insert(s, work, item.value)? {
            return Ok(Ok(Outcome::Done(cas)));
        }
        let Some((row, present)) = lock_row(s, work, Want::Head)? else { continue };
        if !present.is_expired(|| work.tables.now()) {
            return Ok(Ok(Outcome::NotStored));
        }
        update(s, work, &row, item.value)?;
        return Ok(Ok(Outcome::Done(cas)));
    }
    Ok(Err(contended()))
}

/// The other modes, and any with a number to compare.
fn keep_if(
    s: &mut Statement<'_>,
    work: &mut Work<'_>,
    mode: Mode,
    item: &NewItem<'_>,
    cas: u64,
) -> Found<Outcome> {
    let joins = matches!(mode, Mode::Append | Mode::Prepend);
    let found = lock_live(s, work, if joins { Want::Value } else { Want::Head })?;
    let Some((row, present)) = found else {
        return match mode {
            _ if cas != 0 => Ok(Ok(Outcome::NotFound)),
            Mode::Add => add(s, work, item),
            Mode::Set => set(s, work, item),
            Mode::Replace | Mode::Append | Mode::Prepend => Ok(Ok(Outcome::NotStored)),
        };
    };
    if mode == Mode::Add {
        return Ok(Ok(Outcome::NotStored));
    }
    if cas != 0 && cas != present.cas {
        return Ok(Ok(Outcome::Exists));
    }
    if !joins {
        return replace(s, work, &row, item);
    }
    let mut value = std::mem::take(&mut work.buffers.value);
    if mode == Mode::Append {
        value.extend_from_slice(item.value);
    } else {
        value.splice(..0, item.value.iter().copied());
    }
    let joined = NewItem { flags: present.flags, expires: Expiry(present.expires), value: &value };
    let done = replace(s, work, &row, &joined);
    work.buffers.value = value;
    done
}

/// A row that is locked becomes the new item.
fn replace(s: &mut Statement<'_>, work: &mut Work<'_>, row: &RowKey, item: &NewItem<'_>) -> Found<Outcome> {
    match make(work, item) {
        Ok(cas) => {
            update(s, work, row, item.value)?;
            Ok(Ok(Outcome::Done(cas)))
        }
        Err(failure) => Ok(Err(failure)),
    }
}

fn set_end(
    s: &mut Statement<'_>,
    work: &mut Work<'_>,
    row: &RowKey,
    expires: Expiry,
) -> vaquita_engine::Result<()> {
    let Work { bound, buffers, .. } = work;
    buffers.row.clear();
    buffers.row.extra(bound.mapping.expires, expires.0.into());
    s.update(&bound.mapping.table, row, &buffers.row.changes(&[]))?;
    Ok(())
}

fn count_in(s: &mut Statement<'_>, work: &mut Work<'_>, count: &Count) -> Found<Counted> {
    let Some((row, present)) = lock_live(s, work, Want::Value)? else {
        // As in memcached, an item is made whatever number was asked for: there is none to compare it with.
        let Some((initial, expires)) = count.initial else {
            return Ok(Ok(Counted::Not(Outcome::NotFound)));
        };
        let mut value = Vec::new();
        push_number(&mut value, initial);
        let made = add(s, work, &NewItem { flags: 0, expires, value: &value })?;
        return match made {
            Ok(Outcome::Done(cas)) => Ok(Ok(Counted::Done(initial, cas))),
            // Somebody else has made it in between, and it is locked now.
            Ok(Outcome::NotStored) => count_in(s, work, count),
            Ok(other) => Ok(Ok(Counted::Not(other))),
            Err(failure) => Ok(Err(failure)),
        };
    };
    // As memcached has it: of nothing it is told before the number is compared.
    if !work.buffers.value.is_empty() && count.cas != 0 && count.cas != present.cas {
        return Ok(Ok(Counted::Not(Outcome::Exists)));
    }
    let Some(old) = Count::parse(&work.buffers.value) else { return Ok(Ok(Counted::NotANumber)) };
    let new = count.apply(old);
    let mut value = Vec::new();
    push_number(&mut value, new);
    let expires = count.expires.unwrap_or(Expiry(present.expires));
    let done = replace(s, work, &row, &NewItem { flags: present.flags, expires, value: &value })?;
    Ok(done.map(|outcome| match outcome {
        Outcome::Done(cas) => Counted::Done(new, cas),
        other => Counted::Not(other),
    }))
}
