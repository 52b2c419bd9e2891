//! Versions of a table's rows: columns that came and went without the rows being written anew, as MySQL 8.0.29 has them.
//!
//! A clustered record keeps the fields that were there when it was written ([`vaquita_format::record_layout`]). What fields there
//! ever were, in the order of the records, and with which version each came and went, is kept with the table:
//!
//! | part | encoding |
//! |---|---|
//! | fields behind DB_ROLL_PTR | count; each: kind u8, column, version it came with u8, version it went with u8, default |
//! | column, kind 0 | its position in the table |
//! | column, kind 1: gone | name, main type, precise type, length, widths of characters |
//! | default | u8: 0 NULL, 1 bytes follow |
//!
//! A table without versions has none of it. Fields never change places, so that field numbers in undo records mean the same in all
//! versions; a table that is written anew begins again without versions.

use vaquita_base::codec::{Reader, Truncated, push_compressed};
use vaquita_format::Corruption;
use vaquita_format::column::{ColumnDef, MType};
use vaquita_format::index_def::Instant;

/// The most versions a table can have before its rows have to be written anew: as MySQL.
pub const VERSIONS_MAX: u8 = 64;

/// The fields of a table's records.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RowVersions {
    /// Those behind DB_ROLL_PTR, in the order of the records.
    pub fields: Vec<RowField>,
}

/// A field of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowField {
    /// What it holds.
    pub column: FieldColumn,
    /// The versions that have it.
    pub instant: Instant,
}

/// The column of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldColumn {
    /// A column of the table, by its position.
    Live(usize),
    /// A column that is gone.
    Gone(ColumnDef),
}

/// What a column of a new definition was in the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnOrigin {
    /// The column at this position.
    Kept(usize),
    /// It is new: what rows that are there have in it.
    New(Option<Vec<u8>>),
}

impl RowVersions {
    /// The newest version, in which rows are written.
    pub fn current(&self) -> u8 {
        self.fields.iter().map(|f| f.instant.added.max(f.instant.dropped)).max().unwrap_or(0)
    }

    /// The same fields after columns came, went and moved. `origins`: of every column of the new definition. A column in the key is none
    /// of the fields.
    ///
    /// # Errors
    /// What does not fit, in words: too many versions.
    pub fn changed(&self, before: &[ColumnDef], origins: &[ColumnOrigin]) -> Result<RowVersions, String> {
        let current = self.current();
        if current >= VERSIONS_MAX {
            return Err(format!("{current} versions of its rows, and"));
        }
        let next = current + 1;
        let place = |old: usize| origins.iter().position(|origin| *origin == ColumnOrigin::Kept(old));
        let mut fields = Vec::with_capacity(self.fields.len() + 1);
        for (n, field) in self.fields.iter().enumerate() {
            let mut field = field.clone();
            if let FieldColumn::Live(old) = field.column {
                field.column = match place(old) {
                    Some(new) => FieldColumn::Live(new),
                    None => {
                        field.instant.dropped = next;
                        let def = &before[old];
                        // No column can have the name, which the server of the format gives, too.
                        let name = format!("!hidden!_dropped_v{next}_p{n}_{}", def.name);
                        FieldColumn::Gone(ColumnDef { name, ..def.clone() })
                    }
                };
            }
            fields.push(field);
        }
        for (new, origin) in origins.iter().enumerate() {
            if let ColumnOrigin::New(default) = origin {
                let default = default.clone().map(Vec::into_boxed_slice);
                let instant = Instant { added: next, dropped: 0, default };
                fields.push(RowField { column: FieldColumn::Live(new), instant });
            }
        }
        Ok(RowVersions { fields })
    }

    /// The fields as an index has them. The positions are those of `columns` ([`RowVersions::check`]).
    ///
    /// # Panics
    /// If they are not.
    pub fn defs<'a>(
        &'a self,
        columns: &'a [ColumnDef],
    ) -> impl Iterator<Item = (ColumnDef, Option<Instant>)> + 'a {
        self.fields.iter().map(|field| {
            let column = match &field.column {
                FieldColumn::Live(at) => columns[*at].clone(),
                FieldColumn::Gone(def) => def.clone(),
            };
            let always = field.instant.added | field.instant.dropped == 0;
            (column, (!always).then(|| field.instant.clone()))
        })
    }

    /// Appends the bytes.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let number = |out: &mut Vec<u8>, n: usize| push_compressed(out, u32::try_from(n).unwrap_or(u32::MAX));
        number(out, self.fields.len());
        for field in &self.fields {
            match &field.column {
                FieldColumn::Live(at) => {
                    out.push(LIVE);
                    number(out, *at);
                }
                FieldColumn::Gone(def) => {
                    out.push(GONE);
                    number(out, def.name.len());
                    out.extend_from_slice(def.name.as_bytes());
                    push_compressed(out, def.mtype.code());
                    push_compressed(out, def.prtype);
                    push_compressed(out, def.len);
                    out.extend([def.mbminlen, def.mbmaxlen]);
                }
            }
            out.extend([
                field.instant.added,
                field.instant.dropped,
                u8::from(field.instant.default.is_some()),
            ]);
            if let Some(default) = &field.instant.default {
                number(out, default.len());
                out.extend_from_slice(default);
            }
        }
    }

    /// Reads the bytes. Whether positions are those of columns is for who knows the table ([`RowVersions::check`]).
    ///
    /// # Errors
    /// If they end too early or say what cannot be.
    pub(crate) fn decode(input: &mut Reader<'_>) -> Result<RowVersions, Corruption> {
        let n = number(input)?;
        if n > input.rest().len() {
            return Err(truncated(Truncated { at: input.pos() }));
        }
        (0..n).map(|_| field(input)).collect::<Result<_, _>>().map(|fields| RowVersions { fields })
    }

    /// Whether these can be the fields of a table with so many columns.
    ///
    /// # Errors
    /// Positions beyond the columns, a column twice, versions that follow nothing.
    pub fn check(&self, n_columns: usize) -> Result<(), Corruption> {
        let mut seen = vec![false; n_columns];
        for field in &self.fields {
            let Instant { added, dropped, .. } = field.instant;
            let sound = match field.column {
                FieldColumn::Live(at) => {
                    dropped == 0 && seen.get_mut(at).is_some_and(|seen| !std::mem::replace(seen, true))
                }
                FieldColumn::Gone(_) => dropped > added,
            };
            if !sound {
                return Err(Corruption::new("row versions", format!("{field:?} of {n_columns} columns")));
            }
        }
        Ok(())
    }
}

const LIVE: u8 = 0;
const GONE: u8 = 1;

fn truncated(_: Truncated) -> Corruption {
    Corruption::new("row versions", "they end too early")
}

fn number(input: &mut Reader<'_>) -> Result<usize, Corruption> {
    Ok(input.compressed().map_err(truncated)? as usize)
}

fn field(input: &mut Reader<'_>) -> Result<RowField, Corruption> {
    let column = match input.u8().map_err(truncated)? {
        LIVE => FieldColumn::Live(number(input)?),
        GONE => FieldColumn::Gone(gone(input)?),
        kind => return Err(Corruption::new("row versions", format!("a field of kind {kind}"))),
    };
    let (added, dropped) = (input.u8().map_err(truncated)?, input.u8().map_err(truncated)?);
    let default = match input.u8().map_err(truncated)? {
        0 => None,
        _ => {
            let len = number(input)?;
            Some(input.bytes(len).map_err(truncated)?.into())
        }
    };
    Ok(RowField { column, instant: Instant { added, dropped, default } })
}

fn gone(input: &mut Reader<'_>) -> Result<ColumnDef, Corruption> {
    let len = number(input)?;
    let name = std::str::from_utf8(input.bytes(len).map_err(truncated)?)
        .map_err(|e| Corruption::new("row versions", format!("a name is not UTF-8: {e}")))?;
    let mtype = MType::from_code(number(input)? as u32)?;
    let prtype = number(input)? as u32;
    let mut def = ColumnDef::new(name, mtype, prtype, number(input)? as u32);
    def.mbminlen = input.u8().map_err(truncated)?;
    def.mbmaxlen = input.u8().map_err(truncated)?;
    Ok(def)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(n: usize) -> Vec<ColumnDef> {
        (0..n).map(|i| ColumnDef::int(format!("c{i}"), 4, false)).collect()
    }

    /// Three columns, the first one the key; one goes, one comes first.
    fn changed() -> RowVersions {
        let live = |at| RowField { column: FieldColumn::Live(at), instant: Instant::default() };
        let plain = RowVersions { fields: vec![live(1), live(2)] };
        let origins =
            [ColumnOrigin::New(Some(vec![0x80, 0, 0, 7])), ColumnOrigin::Kept(0), ColumnOrigin::Kept(2)];
        plain.changed(&columns(3), &origins).unwrap()
    }

    #[test]
    fn fields_keep_their_places() {
        let versions = changed();
        let names: Vec<String> = versions.defs(&columns(3)).map(|(def, _)| def.name).collect();
        assert_eq!(names, ["!hidden!_dropped_v1_p0_c1", "c2", "c0"]);
        let numbers = |f: &RowField| (f.instant.added, f.instant.dropped);
        assert_eq!(versions.fields.iter().map(numbers).collect::<Vec<_>>(), [(0, 1), (0, 0), (1, 0)]);
        assert_eq!(versions.current(), 1);
        let again = versions.changed(&columns(3), &[ColumnOrigin::Kept(1), ColumnOrigin::Kept(2)]).unwrap();
        assert_eq!(again.fields.iter().map(numbers).collect::<Vec<_>>(), [(0, 1), (0, 0), (1, 2)]);
        assert_eq!(again.fields[1].column, FieldColumn::Live(1));
    }

    #[test]
    fn what_is_written_is_read_and_damage_is_told() {
        let versions = changed();
        let mut bytes = Vec::new();
        versions.encode(&mut bytes);
        assert_eq!(RowVersions::decode(&mut Reader::new(&bytes)), Ok(versions.clone()));
        assert!((0..bytes.len()).all(|n| RowVersions::decode(&mut Reader::new(&bytes[..n])).is_err()));
        assert!(versions.check(3).is_ok() && versions.check(2).is_err());
    }

    #[test]
    fn there_is_a_last_version() {
        let mut versions = changed();
        while versions.current() < VERSIONS_MAX {
            let origins: Vec<ColumnOrigin> =
                (0..3).map(ColumnOrigin::Kept).chain([ColumnOrigin::New(None)]).collect();
            versions = versions.changed(&columns(4), &origins).unwrap();
            versions.fields.pop();
            versions.fields[0].instant.dropped += 1;
        }
        assert!(versions.changed(&columns(3), &[ColumnOrigin::Kept(0)]).is_err());
    }
}
