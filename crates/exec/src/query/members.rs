//! Which values a subquery of one column gives, for `x IN (subquery)`: a set of keys in memory, or more than fit there in a
//! file in their order.

use super::{Flow, Output};
use std::collections::HashSet;
use vaquita_expr::{Conversion, EvalCx};
use vaquita_session::temp::SortRoom;
use vaquita_session::temp::sort::Sorter;
use vaquita_session::temp::spill::RowFile;
use vaquita_session::temp::values::push_key;
use vaquita_types::compare::CompareAs;
use vaquita_types::{Kind, SqlResult, SqlType, Value};

/// Bytes of a key besides its own.
const PLACE: usize = 48;

/// Whether a column of that type compared with that value can be looked up by key: both are compared as what they are, so
/// that no conversion has anything to tell of a row.
pub(crate) fn tells(how: CompareAs, wanted: &Value<'_>, ty: &SqlType) -> bool {
    match how {
        CompareAs::Int => ty.kind.is_integer() && matches!(wanted, Value::Int(_) | Value::UInt(_)),
        CompareAs::Text(_) => ty.kind.is_string() && matches!(wanted, Value::Bytes(_)),
        CompareAs::Decimal => {
            (ty.kind == Kind::Decimal || ty.kind.is_integer())
                && matches!(wanted, Value::Decimal(_) | Value::Int(_) | Value::UInt(_))
        }
        CompareAs::Date | CompareAs::DateTime => {
            matches!(ty.kind, Kind::Date | Kind::DateTime | Kind::Timestamp)
                && matches!(wanted, Value::Date(_) | Value::DateTime(_))
        }
        CompareAs::Time => ty.kind == Kind::Time && matches!(wanted, Value::Time(_)),
        CompareAs::Double | CompareAs::LooseDateTime | CompareAs::Json => false,
    }
}

/// The values there are.
#[derive(Debug)]
pub(crate) struct Members {
    keys: HashSet<Box<[u8]>, foldhash::fast::RandomState>,
    /// All keys in their order, if they are not in memory.
    file: Option<RowFile>,
    has_null: bool,
}

impl Members {
    /// Those of the rows that `run` gives, after a conversion.
    pub(crate) fn of(
        (how, conversion): (CompareAs, Option<&Conversion<'_>>),
        cx: &mut EvalCx<'_>,
        run: impl FnOnce(&mut EvalCx<'_>, &mut dyn Output) -> SqlResult<()>,
    ) -> SqlResult<Members> {
        let mut collecting = Collecting {
            how,
            conversion,
            keys: HashSet::default(),
            memory: 0,
            limit: cx.state.vars.tmp_memory(),
            sorter: None,
            room: cx.state.vars.sort_room(),
            has_null: false,
            key: Vec::new(),
        };
        run(cx, &mut collecting)?;
        cx.state.note_spill(collecting.sorter.is_some(), collecting.memory);
        let Collecting { keys, sorter, has_null, .. } = collecting;
        let file = sorter.map(|sorter| file_of(sorter, cx)).transpose()?;
        Ok(Members { keys, file, has_null })
    }

    /// Whether a value is among them: `None` is unknown.
    pub(crate) fn contains(&self, how: CompareAs, wanted: &Value<'_>) -> SqlResult<Option<Option<bool>>> {
        if wanted.is_null() {
            return Ok(None);
        }
        let mut key = Vec::new();
        push_key(how, wanted, false, &mut key);
        let mut found = self.keys.contains(&key[..]);
        if let Some(file) = &self.file {
            let mut rows = file.starting_at(&key);
            while !found && rows.advance()? && rows.key() <= &key[..] {
                found = rows.key() == key;
            }
        }
        Ok(Some(if found || !self.has_null { Some(found) } else { None }))
    }
}

/// Each key once.
fn file_of(sorter: Sorter, cx: &mut EvalCx<'_>) -> SqlResult<RowFile> {
    let mut file = RowFile::new(&cx.state.vars.tmp_folders)?;
    let mut last: Vec<u8> = Vec::new();
    sorter.finish(|key, _| {
        if *key != last[..] {
            file.push(key, &[]);
            last.clear();
            last.extend_from_slice(key);
            if file.is_full() {
                file.relieve()?;
            }
        }
        cx.state.poll().map(|()| true)
    })?;
    file.relieve()?;
    Ok(file)
}

/// Takes the rows of the subquery.
struct Collecting<'e> {
    how: CompareAs,
    conversion: Option<&'e Conversion<'e>>,
    keys: HashSet<Box<[u8]>, foldhash::fast::RandomState>,
    memory: usize,
    limit: usize,
    /// All keys, once there are too many.
    sorter: Option<Sorter>,
    room: SortRoom,
    has_null: bool,
    key: Vec<u8>,
}

impl Output for Collecting<'_> {
    fn row(&mut self, cx: &mut EvalCx<'_>, values: &[Value<'_>]) -> SqlResult<Flow> {
        let converted = self.conversion.map(|convert| convert(cx, values)).transpose()?;
        let value = match converted.as_ref().or(values.first()) {
            None | Some(Value::Null) => {
                self.has_null = true;
                return Ok(Flow::Go);
            }
            Some(value) => value,
        };
        self.key.clear();
        push_key(self.how, value, false, &mut self.key);
        if let Some(sorter) = &mut self.sorter {
            sorter.push(&self.key, &[]);
            return Ok(if sorter.is_full() { Flow::Pause } else { Flow::Go });
        }
        if !self.keys.contains(&self.key[..]) {
            self.memory += PLACE + self.key.len();
            self.keys.insert(self.key.as_slice().into());
        }
        Ok(if self.memory > self.limit { Flow::Pause } else { Flow::Go })
    }

    fn pause(&mut self, _: &mut EvalCx<'_>) -> SqlResult<()> {
        if self.memory > self.limit && self.sorter.is_none() {
            let mut sorter = Sorter::new(self.room.clone(), None);
            for key in std::mem::take(&mut self.keys) {
                sorter.push_and_spill(&key, &[])?;
            }
            self.sorter = Some(sorter);
        }
        self.sorter.as_mut().map_or(Ok(()), Sorter::relieve)
    }

    fn in_place(&self) -> bool {
        true
    }
}
