//! Reading partitioned tables: a cursor of the table has one for each of its parts that is read. They are placed as it is, and give
//! rows in the order of the index, as a merge, or part after part.
//!
//! A cursor of a part gives its next row when the one before is left, so that the row at hand is always one of a cursor that stands on
//! it: locks are given back and rows locked again there. A merge that locks has locked a row of every part, as that of MySQL 5.6.

use super::{Cursor, Direction, PointRead, ReadLock, ReadOptions, RowRef};
use crate::core::Core;
use crate::error::{Error, Result};
use crate::partition::Parts;
use crate::table::{Field, Index, Table};
use std::cmp::Ordering;
use std::ops::ControlFlow;
use std::sync::Arc;
use vaquita_btree::OwnedKey;
use vaquita_txn::Trx;

/// The cursors of a table's parts.
#[derive(Debug)]
pub(super) struct Merged {
    options: ReadOptions,
    /// By part; those that were never read are not there.
    cursors: Vec<Option<Box<Cursor>>>,
    /// The parts that are read, in order.
    wanted: Vec<usize>,
    /// Rows are wanted in the order of the index; otherwise part after part.
    ordered: bool,
    /// They are placed as the table's cursor is.
    placed: bool,
    dir: Direction,
    /// The part whose row was given last.
    at: Option<usize>,
    /// A merge: parts with a row that was not given yet, the next one last. Else: those that are still to be read.
    ahead: Vec<usize>,
    /// Index keys of these rows, by part.
    keys: Vec<OwnedKey>,
}

impl Merged {
    /// For a table; `None` if it has no parts.
    pub(super) fn new(table: &Table, options: &ReadOptions) -> Option<Box<Merged>> {
        let parts = table.parts.as_ref()?.tables.len();
        Some(Box::new(Merged {
            options: options.clone(),
            cursors: (0..parts).map(|_| None).collect(),
            wanted: (0..parts).collect(),
            ordered: true,
            placed: false,
            dir: Direction::Forward,
            at: None,
            ahead: Vec::new(),
            keys: Vec::new(),
        }))
    }

    /// The table's cursor has another place.
    pub(super) fn unplace(&mut self) {
        (self.placed, self.at) = (false, None);
        self.ahead.clear();
    }

    pub(super) fn read(&mut self, wanted: Option<&[usize]>) {
        match wanted {
            Some(wanted) => self.wanted = wanted.to_vec(),
            None => self.wanted = (0..self.cursors.len()).collect(),
        }
        self.unplace();
    }

    pub(super) fn set_ordered(&mut self, on: bool) {
        self.ordered = on;
        self.unplace();
    }

    pub(super) fn memory(&self) -> usize {
        self.cursors.iter().flatten().map(|cursor| size_of::<Cursor>() + cursor.memory()).sum()
    }

    /// The cursor of the row given last.
    pub(super) fn present(&self) -> Option<&Cursor> {
        self.cursors[self.at?].as_deref()
    }

    pub(super) fn present_mut(&mut self) -> Option<&mut Cursor> {
        self.cursors[self.at?].as_deref_mut()
    }

    /// The cursor of a part, placed as `whole`.
    fn place(&mut self, whole: &Cursor, part: usize) -> Result<&mut Cursor> {
        let parts = whole.spec.table.parts.as_ref().expect("only partitioned tables have cursors of parts");
        let place = &mut self.cursors[part];
        if place.is_none() {
            *place = Some(Box::new(Cursor::open(parts.tables[part].clone(), &self.options)?));
        }
        let cursor = place.as_deref_mut().expect("it was opened");
        cursor.place_as(whole);
        Ok(cursor)
    }

    /// Goes to the next row in a direction; whether there is one.
    pub(super) fn step(
        &mut self,
        whole: &Cursor,
        core: &Core,
        trx: &mut Trx,
        dir: Direction,
    ) -> Result<bool> {
        match self.ordered {
            true => self.step_merge(whole, core, trx, dir),
            false => self.step_sequence(whole, core, trx, dir),
        }
    }

    fn step_merge(&mut self, whole: &Cursor, core: &Core, trx: &mut Trx, dir: Direction) -> Result<bool> {
        if !self.placed || self.dir != dir {
            let turned = self.placed;
            self.ahead.clear();
            self.keys.resize_with(self.cursors.len(), OwnedKey::default);
            for part in self.wanted.clone() {
                if !turned {
                    self.place(whole, part)?;
                }
                // A cursor that has turned is before the row that was last, given or not: those were beyond the present one.
                self.advance(whole, core, trx, part, dir)?;
            }
            (self.placed, self.dir) = (true, dir);
        } else if let Some(part) = self.at.take() {
            self.advance(whole, core, trx, part, dir)?;
        }
        self.at = self.ahead.pop();
        Ok(self.at.is_some())
    }

    /// Goes on in a part, whose row takes its place among those that are ahead.
    fn advance(
        &mut self,
        whole: &Cursor,
        core: &Core,
        trx: &mut Trx,
        part: usize,
        dir: Direction,
    ) -> Result<()> {
        let Some(cursor) = self.cursors[part].as_deref_mut() else { return Ok(()) };
        if cursor.fetch(core, trx, dir)?.is_none() {
            return Ok(());
        }
        cursor.key_at(&mut self.keys[part]);
        let index: &Index = &whole.spec.index;
        let (key, keys) = (&self.keys[part], &self.keys);
        let comes_before = |other: usize| {
            let order = keys[other].order(index.def(), key).then(other.cmp(&part));
            if dir == Direction::Forward { order == Ordering::Less } else { order == Ordering::Greater }
        };
        let at = self.ahead.partition_point(|&other| !comes_before(other));
        self.ahead.insert(at, part);
        Ok(())
    }

    fn step_sequence(&mut self, whole: &Cursor, core: &Core, trx: &mut Trx, dir: Direction) -> Result<bool> {
        self.begin_sequence(dir);
        loop {
            if let Some(cursor) = self.present_mut()
                && cursor.fetch(core, trx, dir)?.is_some()
            {
                return Ok(true);
            }
            if !self.next_part(whole)? {
                return Ok(false);
            }
        }
    }

    /// Calls `each` for the following rows, part after part or as a merge; whether it broke.
    pub(super) fn for_each(
        &mut self,
        whole: &Cursor,
        core: &Core,
        trx: &mut Trx,
        dir: Direction,
        each: &mut dyn FnMut(&RowRef<'_>) -> ControlFlow<()>,
    ) -> Result<bool> {
        if self.ordered {
            while self.step_merge(whole, core, trx, dir)? {
                let row = self.present().and_then(|cursor| cursor.current(core));
                if row.is_some_and(|row| each(&row).is_break()) {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        self.begin_sequence(dir);
        loop {
            if let Some(cursor) = self.present_mut()
                && cursor.for_each(core, trx, dir, &mut *each)?
            {
                return Ok(true);
            }
            if !self.next_part(whole)? {
                return Ok(false);
            }
        }
    }

    fn begin_sequence(&mut self, dir: Direction) {
        debug_assert!(!self.placed || self.dir == dir, "part after part there is one direction");
        if !self.placed {
            self.ahead.clear();
            match dir {
                Direction::Forward => self.ahead.extend(self.wanted.iter().rev()),
                Direction::Backward => self.ahead.extend(&self.wanted),
            }
            (self.placed, self.dir, self.at) = (true, dir, None);
        }
    }

    fn next_part(&mut self, whole: &Cursor) -> Result<bool> {
        self.at = self.ahead.pop();
        let Some(part) = self.at else { return Ok(false) };
        self.place(whole, part)?;
        Ok(true)
    }
}

/// Which parts may have the row of a unique key: the one that the partition function tells, if it looks at nothing but the key.
pub(super) fn parts_of_key(
    table: &Table,
    parts: &Parts,
    index: &Index,
    key: &[Field<'_>],
) -> Result<Vec<usize>> {
    let all = || (0..parts.tables.len()).collect();
    let Some(scheme) = &parts.scheme else { return Ok(all()) };
    let value = |column: usize| {
        let at = index.parts.iter().position(|part| part.column == column && part.prefix_len == 0)?;
        key.get(at).copied()
    };
    if scheme.columns().iter().any(|&column| value(column).is_none()) {
        return Ok(all());
    }
    match parts.part_of(table, &|column| value(column).flatten()) {
        Ok(part) => Ok(vec![part]),
        Err(Error::NoPartition(_)) => Ok(Vec::new()),
        Err(e) => Err(e),
    }
}

/// What reads single rows of a table's parts.
#[derive(Debug)]
pub(super) struct PartReads {
    reads: Vec<Option<Box<PointRead>>>,
    /// The parts that are read; `None`: all.
    pub(super) wanted: Option<Vec<usize>>,
}

impl PartReads {
    /// For a table; `None` if it has no parts.
    pub(super) fn new(table: &Table) -> Option<PartReads> {
        let parts = table.parts.as_ref()?;
        Some(PartReads { reads: parts.tables.iter().map(|_| None).collect(), wanted: None })
    }

    /// Calls `row` for the row of a key.
    pub(super) fn get<R>(
        &mut self,
        (table, index): (&Arc<Table>, &Index),
        options: &ReadOptions,
        (core, trx, lock): (&Core, &mut Trx, ReadLock),
        key: &[Field<'_>],
        row: impl FnOnce(&RowRef<'_>) -> R,
    ) -> Result<Option<R>> {
        let parts = table.parts.as_ref().expect("only partitioned tables are read by parts");
        let mut row = Some(row);
        for part in parts_of_key(table, parts, index, key)? {
            if self.wanted.as_ref().is_some_and(|wanted| !wanted.contains(&part)) {
                continue;
            }
            let place = &mut self.reads[part];
            if place.is_none() {
                *place = Some(Box::new(PointRead::new(parts.tables[part].clone(), options.clone())?));
            }
            let read = place.as_deref_mut().expect("it was prepared");
            let found = read.get_alone(core, trx, lock, key, |seen| row.take().map(|row| row(seen)))?;
            if let Some(found) = found.flatten() {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}
