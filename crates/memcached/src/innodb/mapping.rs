//! A mapping: what a row of `containers` makes of a table.
//!
//! What must hold, or the mapping is refused with a message that says why:
//! - the table, its columns and a unique index of that name exist;
//! - the columns of the index are those of the key, in this order, whole;
//! - no column has two meanings;
//! - flags, cas and expiry are integers; cas and what is declared of it has eight bytes, expiry and flags four or more;
//! - every other column can do without a value: it is nullable, has a constant or CURRENT_TIMESTAMP as its default, or is
//!   AUTO_INCREMENT;
//! - the table asks nothing of its rows that only SQL understands: it has no CHECK constraints, generated columns and defaults that
//!   are expressions.

use super::column::{Form, Int, Misfit, Room};
use super::config::{Config, Container};
use crate::store::{Failure, Result};
use smallvec::SmallVec;
use std::sync::Arc;
use vaquita_engine::kept;
use vaquita_engine::lower::filename;
use vaquita_engine::table::{DefaultValue, FieldSource};
use vaquita_engine::{Field, ReadLock, ReadOptions, Table, cursor::PointRead};

/// A column and how its values look.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    /// Its place in the table.
    pub(crate) column: usize,
    /// How its values look.
    pub(crate) form: Form,
    /// Its name, for messages.
    pub(crate) name: String,
    /// Whether it takes NULL.
    pub(crate) nullable: bool,
}

impl Part {
    /// That this does not fit it.
    #[cold]
    pub(crate) fn unfit(&self, given: &[u8], why: Misfit) -> Unfit {
        Unfit { column: self.name.clone(), why, given: given.len(), room: self.form.room() }
    }
}

/// What does not fit its column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unfit {
    /// The column's name.
    pub(crate) column: String,
    /// Why.
    pub(crate) why: Misfit,
    /// Bytes that were given.
    pub(crate) given: usize,
    /// How much the column takes, if that can be said.
    pub(crate) room: Option<Room>,
}

/// A column for what belongs to an item besides its value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extra {
    /// Its place in the table.
    pub(crate) column: usize,
    /// Its integers.
    pub(crate) int: Int,
}

/// What a column gets that the mapping does not know.
#[derive(Debug, Clone)]
pub(crate) enum Filler {
    /// NULL.
    Null,
    /// A constant in stored form.
    Stored(Vec<u8>),
    /// The time.
    Now(Part),
    /// The next AUTO_INCREMENT value.
    AutoIncrement(Int),
}

/// A table as a key-value store.
#[derive(Debug)]
pub(crate) struct Mapping {
    /// The row of `containers`.
    pub(crate) container: Container,
    /// The table.
    pub(crate) table: Arc<Table>,
    /// Which index.
    pub(crate) index: usize,
    /// Columns of the key.
    pub(crate) keys: Vec<Part>,
    /// Columns of the value.
    pub(crate) values: Vec<Part>,
    /// Column of the flags.
    pub(crate) flags: Option<Extra>,
    /// Column of the number.
    pub(crate) cas: Option<Extra>,
    /// Column of the end.
    pub(crate) expires: Option<Extra>,
    /// Between values of several columns, and between keys of several.
    pub(crate) separator: Vec<u8>,
    /// All other columns.
    pub(crate) others: Vec<(usize, Filler)>,
    /// Other columns that a change of the row sets to the time.
    pub(crate) touched: Vec<Part>,
}

impl Mapping {
    /// Whether the index has greater keys first.
    pub(crate) fn is_descending(&self) -> bool {
        self.table.indexes[self.index].parts[0].descending
    }

    /// The table's name in file name encoding.
    ///
    /// # Errors
    /// It cannot be encoded.
    pub(crate) fn table_name(container: &Container) -> Result<String> {
        let encode = |name: &str| {
            filename::encode(name).map_err(|_| Failure::Server(format!("{name:?} is no name of a table")))
        };
        Ok(format!("{}/{}", encode(&container.schema)?, encode(&container.table)?))
    }

    /// What a container makes of its table.
    ///
    /// # Errors
    /// What does not hold of the list above.
    pub(crate) fn new(container: &Container, config: &Config, table: Arc<Table>) -> Result<Mapping> {
        let bad = |why: String| {
            let name = String::from_utf8_lossy(&container.name);
            Failure::Server(format!("mapping {name}: {why}"))
        };
        Self::build(container, config, table).map_err(bad)
    }

    fn build(
        container: &Container,
        config: &Config,
        table: Arc<Table>,
    ) -> std::result::Result<Mapping, String> {
        let part = |name: &String| part(&table, name);
        let keys = container.keys.iter().map(part).collect::<std::result::Result<Vec<_>, _>>()?;
        let values = container.values.iter().map(part).collect::<std::result::Result<Vec<_>, _>>()?;
        if keys.is_empty() {
            return Err("key_columns is empty".into());
        }
        if values.is_empty() {
            return Err("value_columns is empty".into());
        }
        refuse_rules(&table)?;
        let index = index(&table, &container.index, &keys)?;
        let extra =
            |name: &Option<String>, bytes| name.as_ref().map(|name| extra(&table, name, bytes)).transpose();
        let (flags, cas) = (extra(&container.flags, 4)?, extra(&container.cas, 8)?);
        let expires = extra(&container.expires, 4)?;
        let mut known: Vec<usize> = keys.iter().chain(&values).map(|p| p.column).collect();
        known.extend([flags, cas, expires].iter().flatten().map(|e| e.column));
        if let Some(twice) = (1..known.len()).find(|&i| known[..i].contains(&known[i])) {
            return Err(format!("column {} has two meanings", table.columns[known[twice]].def.name));
        }
        let mut others = Vec::new();
        let mut touched = Vec::new();
        for (at, column) in table.columns.iter().enumerate().filter(|(at, _)| !known.contains(at)) {
            others.push((at, filler(&table, at)?));
            if column.on_update_now {
                touched.push(part_at(&table, at)?);
            }
        }
        Ok(Mapping {
            container: container.clone(),
            index,
            keys,
            values,
            flags,
            cas,
            expires,
            separator: config.separator.clone(),
            others,
            touched,
            table,
        })
    }

    /// Columns that are read: flags, number and end, as far as there are such, then the values.
    pub(crate) fn read_columns(&self) -> Vec<usize> {
        let extras = [self.flags, self.cas, self.expires];
        let extras = extras.iter().flatten().map(|e| e.column);
        extras.chain(self.values.iter().map(|p| p.column)).collect()
    }

    /// A column that belongs to items besides their value.
    ///
    /// # Errors
    /// Why it cannot.
    pub(crate) fn extra_column(
        table: &Table,
        name: &str,
        bytes: usize,
    ) -> std::result::Result<Extra, String> {
        extra(table, name, bytes)
    }

    /// A prepared read of its index.
    ///
    /// # Errors
    /// None that a mapping of this kind could have.
    pub(crate) fn point_read(&self, lock: ReadLock) -> vaquita_engine::Result<PointRead> {
        let options = ReadOptions::by_index(self.index).columns(self.read_columns()).locking(lock);
        PointRead::new(self.table.clone(), options)
    }

    /// Whether its key is the clustered one.
    pub(crate) fn by_primary(&self) -> bool {
        self.index == 0
    }
}

fn part(table: &Table, name: &str) -> std::result::Result<Part, String> {
    let at = table.column(name).ok_or_else(|| no_column(table, name))?;
    part_at(table, at)
}

fn part_at(table: &Table, column: usize) -> std::result::Result<Part, String> {
    let def = &table.columns[column];
    let form = Form::of(def, table.row_format, table.collation)?;
    Ok(Part { column, form, name: def.def.name.clone(), nullable: def.def.is_nullable() })
}

fn no_column(table: &Table, name: &str) -> String {
    format!("{} has no column {name}", table.name)
}

fn extra(table: &Table, name: &str, bytes: usize) -> std::result::Result<Extra, String> {
    let part = part(table, name)?;
    match part.form {
        Form::Int(int) if int.bytes >= bytes => Ok(Extra { column: part.column, int }),
        _ => Err(format!("column {name} is no integer of {bytes} bytes or more")),
    }
}

/// The index by name; its columns must be those of the key.
fn index(table: &Table, name: &str, keys: &[Part]) -> std::result::Result<usize, String> {
    let at = table.index(name).ok_or_else(|| format!("{} has no index {name}", table.name))?;
    let index = &table.indexes[at];
    if !index.is_unique() || index.parts.is_empty() {
        return Err(format!("index {name} is not unique"));
    }
    if index.parts.iter().any(|part| part.descending != index.parts[0].descending) {
        return Err(format!("some columns of index {name} are descending, some are not"));
    }
    let n = index.parts.len();
    let is_key = n == keys.len()
        && keys
            .iter()
            .zip(&index.sources)
            .all(|(key, source)| *source == FieldSource::Column { column: key.column, prefix_len: 0 });
    match is_key {
        true => Ok(at),
        false => {
            Err(format!("the columns of index {name} are not those of key_columns, whole and in this order"))
        }
    }
}

/// Rows are written here without SQL, which alone knows expressions.
fn refuse_rules(table: &Table) -> std::result::Result<(), String> {
    if kept::Extra::parse(&table.extra).of_checks().next().is_some() {
        return Err("the table has CHECK constraints".into());
    }
    let calculated = |column: &vaquita_engine::Column| {
        matches!(column.default, DefaultValue::Text(_))
            || kept::Extra::parse(&column.extra).get("generated").is_some()
    };
    match table.columns.iter().find(|column| calculated(column)) {
        Some(column) => Err(format!("column {} is calculated, which only SQL does", column.def.name)),
        None => Ok(()),
    }
}

/// What a column gets in a new row.
fn filler(table: &Table, at: usize) -> std::result::Result<Filler, String> {
    let column = &table.columns[at];
    if column.auto_increment
        && let Form::Int(int) = Form::of(column, table.row_format, table.collation)?
    {
        return Ok(Filler::AutoIncrement(int));
    }
    match &column.default {
        DefaultValue::Stored(stored) => Ok(Filler::Stored(stored.clone())),
        DefaultValue::Now => Ok(Filler::Now(part_at(table, at)?)),
        // A hidden one is the number of a document of FULLTEXT indexes, which the engine gives.
        _ if column.def.is_nullable() || column.hidden => Ok(Filler::Null),
        _ => Err(format!("column {} has no default and is not mapped", column.def.name)),
    }
}

/// The fields of a key in stored form.
#[derive(Debug, Default)]
pub(crate) struct KeyBuffer {
    bytes: Vec<u8>,
    ends: SmallVec<[u32; 4]>,
}

/// Fields of a key.
pub(crate) type KeyFields<'k> = SmallVec<[Field<'k>; 4]>;

impl KeyBuffer {
    /// Takes the key that a client gave apart, and stores its fields.
    ///
    /// # Errors
    /// It has fewer fields than the mapping, or one does not fit its column; [`Misfit`] says how.
    #[inline]
    pub(crate) fn fill(&mut self, mapping: &Mapping, key: &[u8]) -> std::result::Result<(), BadKey> {
        self.bytes.clear();
        self.ends.clear();
        if let [only] = &mapping.keys[..] {
            return self.push(only, key);
        }
        let mut rest = key;
        for (i, part) in mapping.keys.iter().enumerate() {
            let last = i + 1 == mapping.keys.len();
            let end = if last { None } else { find(rest, &mapping.separator) };
            let field = match end {
                Some(end) => &rest[..end],
                None if last => rest,
                None => return Err(BadKey::Fields(mapping.keys.len())),
            };
            self.push(part, field)?;
            rest = end.map_or(&[][..], |end| &rest[end + mapping.separator.len()..]);
        }
        Ok(())
    }

    /// The same for the first fields only: where a stretch of keys begins or ends.
    ///
    /// # Errors
    /// A field does not fit its column.
    pub(crate) fn fill_prefix(&mut self, mapping: &Mapping, key: &[u8]) -> std::result::Result<(), BadKey> {
        self.bytes.clear();
        self.ends.clear();
        let mut rest = Some(key);
        for (i, part) in mapping.keys.iter().enumerate() {
            let Some(here) = rest.take() else { break };
            let last = i + 1 == mapping.keys.len();
            match find(here, &mapping.separator).filter(|_| !last) {
                Some(end) => {
                    self.push(part, &here[..end])?;
                    rest = Some(&here[end + mapping.separator.len()..]).filter(|rest| !rest.is_empty());
                }
                None => self.push(part, here)?,
            }
        }
        Ok(())
    }

    #[inline]
    fn push(&mut self, part: &Part, field: &[u8]) -> std::result::Result<(), BadKey> {
        part.form.push(field, &mut self.bytes).map_err(|why| BadKey::Field(part.unfit(field, why)))?;
        self.ends.push(self.bytes.len() as u32);
        Ok(())
    }

    /// The fields.
    #[inline]
    pub(crate) fn fields(&self) -> KeyFields<'_> {
        let mut from = 0;
        let field = |&end: &u32| {
            let field = &self.bytes[from..end as usize];
            from = end as usize;
            Some(field)
        };
        self.ends.iter().map(field).collect()
    }
}

/// Why a key is none of a mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BadKey {
    /// It needs so many fields.
    Fields(usize),
    /// A field does not fit its column.
    Field(Unfit),
}

impl BadKey {
    /// Whether a client that asks for it is mistaken; other keys are only ones that no row can have.
    pub(crate) fn is_mistake(&self) -> bool {
        matches!(self, BadKey::Fields(_) | BadKey::Field(Unfit { why: Misfit::NotOfType, .. }))
    }
}

impl From<BadKey> for Failure {
    fn from(bad: BadKey) -> Failure {
        Failure::Client(match bad {
            BadKey::Fields(n) => format!("the key needs {n} fields"),
            BadKey::Field(Unfit { column, why, .. }) => format!("the key {why}: column {column}"),
        })
    }
}

/// Where `needle` is first; never if it is empty.
pub(crate) fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    match needle {
        [] => None,
        [byte] => text.iter().position(|b| b == byte),
        _ => text.windows(needle.len()).position(|w| w == needle),
    }
}
