//! Definitions as the engine has them: its description of a new table is made of a definition here and nowhere else, and a
//! definition is read from a table of the engine here and nowhere else.
//!
//! The engine has columns, keys and constraints in InnoDB's terms; what it keeps without understanding it is text: see
//! [`vaquita_engine::kept`].

use crate::checks;
use crate::declared;
use crate::definition::{
    ColumnDefinition, Definition, ForeignKeyDefinition, Generated, KeyDefinition, KeyKind, KeyPart,
    TableOptions, width_of,
};
use crate::error::constraint_name;
use crate::names::{engine_name, same_name, sql_name};
use crate::partitioning::Partitioned;
use std::sync::Arc;
use vaquita_engine::kept::{self, Extra, index_option, option, split_names};
use vaquita_engine::lower::RowFormat;
use vaquita_engine::table::{DefaultValue, ForeignKey};
use vaquita_engine::{Column, ForeignKeySpec, FullTextSpec, Index, IndexSpec, Table, TableSpec};
use vaquita_types::{ColumnType, Kind, SqlError, SqlResult, TimeZone};

/// Name of a primary key.
pub(crate) const PRIMARY: &str = "PRIMARY";
/// The collation of a column with labels, among what is kept of it: the dictionary has none for it.
const COLLATE: &str = "collate";
/// What a column is calculated by, and that it is VIRTUAL.
const GENERATED: &str = "generated";
const VIRTUAL: &str = "virtual";
/// Columns that the expressions of a column look at.
const USES: &str = "uses";
/// INVISIBLE, of a column or an index.
const INVISIBLE: &str = "invisible";
/// A column is the expression that a key is of.
const FUNCTIONAL: &str = "functional";

impl Definition {
    /// The definition of a table that exists, hidden columns included; hidden keys and the hidden clustered index are left out.
    pub fn of(table: &Table) -> Definition {
        let (database, name) = sql_name(&table.name);
        let mut extra = Extra::parse(&table.extra);
        let keys = keys_of(table, &extra);
        let checks = checks::of_extra(&name, &extra);
        extra.retain(|name| !kept::is_of_index(name) && !kept::is_of_check(name));
        let columns = table.columns.iter().enumerate();
        Definition {
            database,
            name,
            columns: columns
                .map(|(i, c)| Arc::new(column_of(c, i, table.collation, table.row_format)))
                .collect(),
            keys: keys.into_iter().map(Arc::new).collect(),
            foreign_keys: table.foreign_keys.iter().map(|key| foreign_key_of(key)).collect(),
            checks,
            collation: table.collation,
            comment: table.comment.clone(),
            row_format: table.row_format,
            auto_increment: None,
            partitioning: {
                let clause = extra.get(option::PARTITIONING).unwrap_or_default().to_owned();
                extra.set(option::PARTITIONING, None);
                clause
            },
            options: TableOptions { kept: extra },
            directory: table.directory.clone(),
        }
    }

    /// The engine's description, under another name if one is given. Foreign keys that the table has already are left out.
    ///
    /// # Errors
    /// Names that cannot be; 1072 a key has a column that is not there; 1235 keys that the engine does not make.
    pub fn to_spec(&self, name: Option<&str>) -> SqlResult<TableSpec> {
        let engine_name = match name {
            Some(name) => name.to_owned(),
            None => engine_name(&self.database, &self.name)?,
        };
        let mut spec =
            TableSpec::new(engine_name, self.columns.iter().map(|c| to_column(c, self.row_format)).collect());
        for key in &self.keys {
            let parts = self.key_parts(key)?;
            match key.kind {
                KeyKind::Primary => spec.primary_key = Some(parts),
                KeyKind::FullText => spec.fulltext.push(FullTextSpec {
                    name: key.name.clone(),
                    columns: parts.iter().map(|part| part.column).collect(),
                    parser: key.parser.clone(),
                    split: key.split.clone(),
                }),
                KeyKind::Spatial => return Err(SqlError::unsupported("SPATIAL indexes")),
                KeyKind::Unique | KeyKind::Plain => spec.indexes.push(IndexSpec {
                    name: key.name.clone(),
                    parts,
                    unique: key.is_unique(),
                    comment: key.comment.clone(),
                }),
            }
        }
        // MySQL's order decides which of two duplicates is told.
        let mut indexes = std::mem::take(&mut spec.indexes);
        indexes.sort_by_key(|index| {
            let nullable = index.parts.iter().any(|p| spec.columns[p.column].def.is_nullable());
            class(false, index.unique, nullable)
        });
        spec.indexes = indexes;
        for key in self.foreign_keys.iter().filter(|k| !k.exists) {
            spec.foreign_keys.push(key.to_spec()?);
        }
        spec.row_format = self.row_format;
        spec.auto_increment = self.auto_increment;
        spec.collation = self.collation;
        spec.comment = self.comment.clone();
        spec.extra = self.kept_text();
        spec.directory.clone_from(&self.directory);
        if !self.partitioning.is_empty() {
            spec.parts = Partitioned::of_clause(&self.partitioning)?.part_specs();
        }
        Ok(spec)
    }

    /// What the engine keeps with the table as text.
    fn kept_text(&self) -> String {
        let mut extra = self.options.kept.clone();
        for key in &self.keys {
            let mut keep = |option, value| extra.set(&index_option(&key.name, option), value);
            keep("using", key.using.map(str::to_owned));
            keep("key_block_size", key.key_block_size.map(|n| n.to_string()));
            keep("generated", key.generated.then(|| "1".to_owned()));
            keep(INVISIBLE, key.invisible.then(|| "1".to_owned()));
            // The engine keeps those of the others.
            let keeps_comment = key.is_primary() || key.kind == KeyKind::FullText;
            keep("comment", Some(key.comment.clone()).filter(|c| keeps_comment && !c.is_empty()));
        }
        let clause = Some(&self.partitioning).filter(|clause| !clause.is_empty());
        extra.set(option::PARTITIONING, clause.cloned());
        checks::keep(&self.name, &self.checks, &mut extra);
        extra.to_text()
    }

    /// A key's parts as the engine has them: prefixes in bytes.
    fn key_parts(&self, key: &KeyDefinition) -> SqlResult<Vec<vaquita_engine::lower::KeyPart>> {
        use vaquita_engine::lower::KeyPart;
        let part = |part: &crate::definition::KeyPart| {
            let column = self.key_column(&part.column);
            let column = column.ok_or_else(|| SqlError::key_column_missing(&part.column))?;
            let width = width_of(&self.columns[column].ty);
            let prefix_len = part.prefix.map_or(0, |chars| chars * width);
            Ok(KeyPart { column, prefix_len, descending: part.descending })
        };
        key.parts.iter().map(part).collect()
    }
}

impl ForeignKeyDefinition {
    /// The engine's description.
    ///
    /// # Errors
    /// Names that cannot be.
    pub fn to_spec(&self) -> SqlResult<ForeignKeySpec> {
        Ok(ForeignKeySpec {
            name: self.name.clone(),
            columns: self.columns.clone(),
            parent: engine_name(&self.parent.0, &self.parent.1)?,
            parent_columns: self.parent_columns.clone(),
            on_delete: self.on_delete,
            on_update: self.on_update,
        })
    }
}

fn to_column(definition: &ColumnDefinition, format: RowFormat) -> Column {
    let mut column = Column::new(definition.ty.to_def(&definition.name));
    if definition.ty.kind == Kind::Decimal {
        column.decimal = Some((definition.ty.length, definition.ty.decimals.into()));
    }
    column.labels.clone_from(&definition.labels);
    let stored = ColumnType::of_def(definition.ty.clone(), &column.def, format);
    column.default = in_form(&definition.default, &definition.codec(), &stored);
    column.on_update_now = definition.on_update_now;
    column.auto_increment = definition.auto_increment;
    column.comment.clone_from(&definition.comment);
    let mut extra = definition.kept.clone();
    extra.head = definition.declared().into_owned();
    extra.set(COLLATE, definition.is_labelled().then(|| definition.ty.collation.to_string()));
    let generated = definition.generated.as_ref();
    extra.set(GENERATED, generated.map(|g| g.clause.clone()));
    extra.set(VIRTUAL, generated.filter(|g| !g.stored).map(|_| "1".to_owned()));
    let uses = kept::join_names(definition.uses.iter().map(String::as_str));
    extra.set(USES, Some(uses).filter(|uses| !uses.is_empty()));
    extra.set(INVISIBLE, definition.invisible.then(|| "1".to_owned()));
    extra.set(FUNCTIONAL, definition.functional.then(|| "1".to_owned()));
    column.extra = extra.to_text();
    column
}

/// A default whose constant is in the form of one column, in that of another of the same type.
fn in_form(default: &DefaultValue, from: &ColumnType, to: &ColumnType) -> DefaultValue {
    match default {
        DefaultValue::Stored(bytes) if from != to => {
            let mut out = Vec::new();
            to.encode(&from.decode(Some(bytes), &TimeZone::UTC), &TimeZone::UTC, &mut out);
            DefaultValue::Stored(out)
        }
        same => same.clone(),
    }
}

pub(crate) fn column_of(
    column: &Column,
    at: usize,
    table_collation: u16,
    format: RowFormat,
) -> ColumnDefinition {
    let mut kept = Extra::parse(&column.extra);
    let labels_in = kept.number(COLLATE).and_then(|n| u16::try_from(n).ok());
    let ty = declared::sql_type(column, &kept.head, labels_in.unwrap_or(table_collation));
    let head = std::mem::take(&mut kept.head);
    let stored = kept.get(VIRTUAL).is_none();
    let generated = kept.get(GENERATED).map(|clause| Generated { clause: clause.to_owned(), stored });
    let uses = kept.get(USES).map(split_names).unwrap_or_default();
    let invisible = kept.get(INVISIBLE).is_some();
    let functional = kept.get(FUNCTIONAL).is_some();
    [COLLATE, GENERATED, VIRTUAL, USES, INVISIBLE, FUNCTIONAL]
        .into_iter()
        .for_each(|option| kept.set(option, None));
    let stored = ColumnType::of_def(ty.clone(), &column.def, format);
    let mut definition = ColumnDefinition {
        name: column.def.name.clone(),
        spelled: (!head.is_empty() && head != ty.column_type()).then(|| head.into()),
        ty,
        labels: column.labels.clone(),
        default: DefaultValue::None,
        generated,
        uses,
        invisible,
        functional,
        on_update_now: column.on_update_now,
        auto_increment: column.auto_increment,
        comment: column.comment.clone(),
        hidden: column.hidden || functional,
        kept,
        origin: Some(at),
    };
    definition.default = in_form(&column.default, &stored, &definition.codec());
    definition
}

/// The keys that are shown, as MySQL sorts them.
fn keys_of(table: &Table, extra: &Extra) -> Vec<KeyDefinition> {
    let shown = table.indexes.iter().filter(|index| !index.parts.is_empty() && !index.hidden);
    let mut keys: Vec<(u8, KeyDefinition)> = Vec::new();
    for index in shown {
        let key = key_of(index, table, extra);
        let nullable = index.parts.iter().any(|p| table.columns[p.column].def.is_nullable());
        keys.push((class(key.is_primary(), index.is_unique(), nullable), key));
    }
    keys.sort_by_key(|(class, _)| *class);
    let words = table.fulltext.iter().map(|index| {
        let parts = index.columns.iter().map(|at| KeyPart::whole(&table.columns[*at].def.name)).collect();
        let key = KeyDefinition::new(KeyKind::FullText, &index.name, parts);
        with_options(KeyDefinition { parser: index.parser.clone(), split: index.split.clone(), ..key }, extra)
    });
    keys.into_iter().map(|(_, key)| key).chain(words).collect()
}

/// The place of a key among others: the primary key, unique keys without NULL, other unique ones, the rest.
fn class(primary: bool, unique: bool, nullable: bool) -> u8 {
    match (primary, unique, nullable) {
        (true, _, _) => 0,
        (_, true, false) => 1,
        (_, true, true) => 2,
        _ => 3,
    }
}

fn key_of(index: &Index, table: &Table, extra: &Extra) -> KeyDefinition {
    let part = |p: &vaquita_engine::lower::KeyPart| {
        let column = &table.columns[p.column].def;
        let width = u32::from(column.mbmaxlen.max(1));
        let prefix = (p.prefix_len > 0).then(|| p.prefix_len / width);
        KeyPart { column: column.name.clone(), prefix, descending: p.descending }
    };
    let parts: Vec<KeyPart> = index.parts.iter().map(part).collect();
    // A key that is named like its foreign key and has just its columns was made for it.
    let is_of_constraint = |f: &Arc<ForeignKey>| {
        same_name(constraint_name(&f.id), &index.name)
            && f.child_columns.len() == parts.len()
            && f.child_columns.iter().zip(&parts).all(|(a, b)| same_name(a, &b.column))
    };
    let key = KeyDefinition {
        kind: match index.is_unique() {
            _ if index.name == PRIMARY => KeyKind::Primary,
            true => KeyKind::Unique,
            false => KeyKind::Plain,
        },
        name: index.name.clone(),
        comment: index.comment.clone(),
        using: None,
        key_block_size: None,
        generated: table.foreign_keys.iter().any(is_of_constraint),
        invisible: false,
        parser: None,
        split: None,
        parts,
    };
    with_options(key, extra)
}

/// A key with what is kept of it as options of the table.
pub(crate) fn with_options(mut key: KeyDefinition, extra: &Extra) -> KeyDefinition {
    let option = |name: &str| extra.get(&index_option(&key.name, name));
    let generated = key.generated || option("generated").is_some();
    let invisible = option(INVISIBLE).is_some();
    let using = option("using").map(|u| if u == "HASH" { "HASH" } else { "BTREE" });
    let key_block_size = option("key_block_size").and_then(|n| n.parse().ok());
    key.generated = generated && !key.is_unique();
    if let Some(comment) = option("comment") {
        key.comment = comment.to_owned();
    }
    KeyDefinition { using, key_block_size, invisible, ..key }
}

fn foreign_key_of(key: &ForeignKey) -> ForeignKeyDefinition {
    ForeignKeyDefinition {
        name: Some(constraint_name(&key.id).to_owned()),
        columns: key.child_columns.clone(),
        parent: sql_name(&key.parent),
        parent_columns: key.parent_columns.clone(),
        on_delete: key.on_delete,
        on_update: key.on_update,
        exists: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::TableOption;
    use vaquita_engine::lower::column::{ColumnDef, MType, mysql_type, prtype};
    use vaquita_types::SqlType;

    fn people() -> Definition {
        let mut table = Definition::new("d", "people", 33, RowFormat::Dynamic);
        let id = SqlType { unsigned: true, length: 10, ..SqlType::new(Kind::Int) }.not_null();
        let mut id = ColumnDefinition::new("id", id, Vec::new());
        id.auto_increment = true;
        let mut name = ColumnDefinition::new("name", SqlType::varchar(40, 33), Vec::new());
        name.comment = "as told".to_owned();
        let labels = vec!["é".to_owned(), "b".to_owned()];
        let encoded = labels.iter().map(|l| declared::encode_label(l, 8)).collect();
        let kind = SqlType { length: 1, collation: 8, labels: Some(encoded), ..SqlType::new(Kind::Enum) };
        let kind = ColumnDefinition::new("kind", kind, labels);
        table.columns = [id, name, kind].map(Arc::new).into();
        let key = |kind, name, parts: Vec<KeyPart>| KeyDefinition::new(kind, name, parts);
        let prefix = KeyPart { prefix: Some(7), ..KeyPart::whole("name") };
        let mut by_name = key(KeyKind::Plain, "by_name", vec![prefix, KeyPart::whole("kind")]);
        by_name.using = Some("HASH");
        let unique = key(KeyKind::Unique, "u", vec![KeyPart::whole("name")]);
        let primary = key(KeyKind::Primary, PRIMARY, vec![KeyPart::whole("id")]);
        table.keys = [by_name, unique, primary].map(Arc::new).into();
        table.options.set(TableOption::MaxRows, Some("100".to_owned()));
        table.options.set_created(7);
        table
    }

    /// The engine's table of a description, without trees.
    fn columns_back(spec: &TableSpec) -> Vec<ColumnDefinition> {
        spec.columns
            .iter()
            .enumerate()
            .map(|(i, c)| column_of(c, i, spec.collation, spec.row_format))
            .collect()
    }

    #[test]
    fn columns_there_and_back() {
        let table = people();
        let spec = table.to_spec(None).unwrap();
        assert_eq!(spec.name, "d/people");
        let back = columns_back(&spec);
        for (was, is) in table.columns.iter().zip(&back) {
            assert_eq!((&is.name, &is.ty, &is.labels), (&was.name, &was.ty, &was.labels));
            assert_eq!((&is.default, &is.comment), (&was.default, &was.comment));
            assert_eq!((is.auto_increment, is.on_update_now), (was.auto_increment, was.on_update_now));
            assert_eq!((&is.spelled, &is.kept), (&None, &Extra::default()));
        }
        assert_eq!(back[0].default, DefaultValue::None);
        // What is kept of a column as text: its type, and the collation of its labels.
        assert_eq!(spec.columns[0].extra, "int(10) unsigned");
        assert_eq!(spec.columns[2].extra, "enum('é','b')\ncollate=8");
    }

    #[test]
    fn keys_are_sorted_and_their_options_kept() {
        let spec = people().to_spec(Some("d/other")).unwrap();
        assert_eq!(spec.name, "d/other");
        let names: Vec<&str> = spec.indexes.iter().map(|i| i.name.as_str()).collect();
        assert_eq!(names, ["u", "by_name"]);
        assert!(spec.primary_key.is_some());
        // Seven characters of three bytes.
        assert_eq!(spec.indexes[1].parts[0].prefix_len, 21);
        assert_eq!(spec.extra, "\nmax_rows=100\ncreate_time=7\nindex/by_name/using=HASH");
    }

    /// A type that SQL has no more than a name for keeps it when the table is written anew.
    #[test]
    fn what_a_type_is_called_survives() {
        let geometry = SqlType { length: u32::MAX, ..SqlType::new(Kind::Geometry) };
        let mut column = to_column(&ColumnDefinition::new("p", geometry, Vec::new()), RowFormat::Dynamic);
        column.extra = "point".to_owned();
        let read = column_of(&column, 0, 8, RowFormat::Dynamic);
        assert_eq!(read.declared(), "point");
        assert_eq!(to_column(&read, RowFormat::Compact).extra, "point");
    }

    /// A REDUNDANT table keeps a CHAR with all its bytes.
    #[test]
    fn constants_are_in_the_form_of_the_table() {
        let utf8 = SqlType { length: 4, collation: 33, ..SqlType::new(Kind::Char) };
        let mut column = ColumnDefinition::new("c", utf8, Vec::new());
        column.default = DefaultValue::Stored(b"ab  ".to_vec());
        for (format, bytes) in [(RowFormat::Dynamic, 4), (RowFormat::Compact, 4), (RowFormat::Redundant, 12)]
        {
            let stored = to_column(&column, format);
            let DefaultValue::Stored(constant) = &stored.default else { panic!("{:?}", stored.default) };
            assert_eq!((&constant[..4], constant.len()), (&b"ab  "[..], bytes));
            assert_eq!(column_of(&stored, 0, 33, format).default, column.default);
        }
    }

    /// Times of tables older than MySQL 5.6.4 are numbers; a table that is made anew has the form of today.
    #[test]
    fn constants_of_old_times() {
        let flags = u32::from(mysql_type::DATETIME) | prtype::BINARY_TYPE;
        let mut old = Column::new(ColumnDef::new("t", MType::Int, flags, 8));
        old.extra = "datetime".to_owned();
        let number = 20_140_709_123_456_u64 | 1 << 63;
        old.default = DefaultValue::Stored((0..8).rev().map(|n| (number >> (8 * n)) as u8).collect());
        let read = column_of(&old, 0, 8, RowFormat::Compact);
        let stored = to_column(&read, RowFormat::Compact);
        let DefaultValue::Stored(constant) = &stored.default else { panic!("{:?}", stored.default) };
        assert_eq!(constant.len(), 5);
        let codec = read.codec();
        let value = codec.decode(Some(constant), &TimeZone::UTC);
        assert_eq!(&*value.to_text(&read.ty), b"2014-07-09 12:34:56");
    }

    #[test]
    fn a_key_needs_its_columns() {
        let mut table = people();
        table.columns.remove(0);
        assert_eq!(table.to_spec(None).unwrap_err().code, 1072);
    }
}
