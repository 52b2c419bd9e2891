//! A table's definition in SQL's terms: what CREATE TABLE describes, ALTER TABLE changes, SHOW CREATE TABLE prints.

use vaquita_catalog::error::constraint_name;
use vaquita_catalog::extra::{Extra, index_option};
use vaquita_catalog::{TableInfo, engine_name, same_name, sql_name};
use vaquita_engine::lower::charset::Charset;
use vaquita_engine::lower::{KeyPart, RowFormat};
use vaquita_engine::table::{DefaultValue, ReferentialAction};
use vaquita_engine::{Column, ForeignKeySpec, IndexSpec, TableSpec};
use vaquita_types::sql_type::BINARY;
use vaquita_types::{Kind, SqlError, SqlResult, SqlType};

/// A table.
#[derive(Debug, Clone)]
pub(super) struct Definition {
    pub(super) database: String,
    pub(super) name: String,
    pub(super) columns: Vec<ColumnDefinition>,
    pub(super) keys: Vec<KeyDefinition>,
    pub(super) foreign_keys: Vec<ForeignKeyDefinition>,
    pub(super) collation: u16,
    pub(super) comment: String,
    pub(super) row_format: RowFormat,
    /// The next AUTO_INCREMENT value, if one is asked for.
    pub(super) auto_increment: Option<u64>,
    pub(super) extra: Extra,
}

/// A column.
#[derive(Debug, Clone)]
pub(super) struct ColumnDefinition {
    pub(super) name: String,
    pub(super) ty: SqlType,
    /// Of an ENUM or SET, in Unicode.
    pub(super) labels: Vec<String>,
    pub(super) default: DefaultValue,
    pub(super) on_update_now: bool,
    pub(super) auto_increment: bool,
    pub(super) comment: String,
    /// Options besides the first line.
    pub(super) extra: Extra,
    /// Which column of the table before the change gives the values; `None`: its default does.
    pub(super) source: Option<usize>,
}

/// Kinds of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyKind {
    Primary,
    Unique,
    Plain,
}

/// A key.
#[derive(Debug, Clone)]
pub(super) struct KeyDefinition {
    pub(super) kind: KeyKind,
    pub(super) name: String,
    /// Columns by name, with prefixes in characters (bytes of binary strings).
    pub(super) parts: Vec<(String, Option<u32>)>,
    pub(super) comment: String,
    /// `USING`, as written.
    pub(super) using: Option<&'static str>,
    pub(super) key_block_size: Option<u64>,
    /// Made for a foreign key only: it goes when a key comes that serves as well.
    pub(super) generated: bool,
}

/// A foreign key.
#[derive(Debug, Clone)]
pub(super) struct ForeignKeyDefinition {
    /// Without database; `None`: a name is made.
    pub(super) name: Option<String>,
    pub(super) columns: Vec<String>,
    pub(super) parent: (String, String),
    pub(super) parent_columns: Vec<String>,
    pub(super) on_delete: ReferentialAction,
    pub(super) on_update: ReferentialAction,
    /// Whether the table has it already.
    pub(super) exists: bool,
}

impl Definition {
    /// The definition of a table that exists.
    pub(super) fn of(info: &TableInfo) -> Definition {
        let table = &info.table;
        let columns = info.shown_columns().map(|(i, c)| ColumnDefinition {
            name: c.name.clone(),
            ty: c.sql_type().clone(),
            labels: table.columns[i].labels.clone(),
            default: c.default.clone(),
            on_update_now: c.on_update_now,
            auto_increment: c.auto_increment,
            comment: table.columns[i].comment.clone(),
            extra: c.extra.clone(),
            source: Some(i),
        });
        // A key that is named like its foreign key and has just its columns was made for it.
        let is_of_constraint = |key: &str, parts: &[String]| {
            table.foreign_keys.iter().any(|f| {
                same_name(constraint_name(&f.id), key)
                    && f.child_columns.len() == parts.len()
                    && f.child_columns.iter().zip(parts).all(|(a, b)| same_name(a, b))
            })
        };
        let keys = info.keys.iter().map(|k| {
            let names: Vec<String> = k.parts.iter().map(|p| info.columns[p.column].name.clone()).collect();
            let option = |name: &str| info.extra.get(&index_option(&k.name, name));
            KeyDefinition {
                kind: match (k.primary, k.unique) {
                    (true, _) => KeyKind::Primary,
                    (false, true) => KeyKind::Unique,
                    (false, false) => KeyKind::Plain,
                },
                name: k.name.clone(),
                parts: k.parts.iter().map(|p| (info.columns[p.column].name.clone(), p.prefix)).collect(),
                comment: table.indexes[k.index].comment.clone(),
                using: option("using").map(|u| if u == "HASH" { "HASH" } else { "BTREE" }),
                key_block_size: option("key_block_size").and_then(|n| n.parse().ok()),
                generated: !k.unique && (option("generated").is_some() || is_of_constraint(&k.name, &names)),
            }
        });
        let foreign_keys = table.foreign_keys.iter().map(|f| ForeignKeyDefinition {
            name: Some(constraint_name(&f.id).to_owned()),
            columns: f.child_columns.clone(),
            parent: sql_name(&f.parent),
            parent_columns: f.parent_columns.clone(),
            on_delete: f.on_delete,
            on_update: f.on_update,
            exists: true,
        });
        Definition {
            database: info.database.clone(),
            name: info.name.clone(),
            columns: columns.collect(),
            keys: keys.collect(),
            foreign_keys: foreign_keys.collect(),
            collation: table.collation,
            comment: table.comment.clone(),
            row_format: table.row_format,
            auto_increment: None,
            extra: info.extra.clone(),
        }
    }

    /// Position of a column.
    pub(super) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| same_name(&c.name, name))
    }

    /// Position of a key.
    pub(super) fn key(&self, name: &str) -> Option<usize> {
        self.keys.iter().position(|k| same_name(&k.name, name))
    }

    /// The engine's description, under another name if one is given. Foreign keys that the table has already are left out.
    ///
    /// # Errors
    /// Names that cannot be.
    pub(super) fn to_spec(&self, name: Option<&str>) -> SqlResult<TableSpec> {
        let engine_name = match name {
            Some(name) => name.to_owned(),
            None => engine_name(&self.database, &self.name)?,
        };
        let mut extra = self.extra.clone();
        for key in &self.keys {
            extra.set(&index_option(&key.name, "using"), key.using.map(str::to_owned));
            extra.set(&index_option(&key.name, "key_block_size"), key.key_block_size.map(|n| n.to_string()));
            extra.set(&index_option(&key.name, "generated"), key.generated.then(|| "1".to_owned()));
        }
        let mut spec = TableSpec::new(engine_name, self.columns.iter().map(to_column).collect());
        for key in &self.keys {
            let parts = self.key_parts(key)?;
            match key.kind {
                KeyKind::Primary => spec.primary_key = Some(parts),
                kind => spec.indexes.push(IndexSpec {
                    name: key.name.clone(),
                    parts,
                    unique: kind == KeyKind::Unique,
                    comment: key.comment.clone(),
                }),
            }
        }
        // In MySQL's order, which decides which of two duplicates is told: unique keys without NULL, other unique ones.
        let nullable =
            |index: &IndexSpec| index.parts.iter().any(|p| spec.columns[p.column].def.is_nullable());
        let class = |index: &IndexSpec| match (index.unique, nullable(index)) {
            (true, false) => 0,
            (true, true) => 1,
            (false, _) => 2,
        };
        let mut indexes = std::mem::take(&mut spec.indexes);
        indexes.sort_by_key(class);
        spec.indexes = indexes;
        for key in self.foreign_keys.iter().filter(|k| !k.exists) {
            spec.foreign_keys.push(key.to_spec()?);
        }
        spec.row_format = self.row_format;
        spec.auto_increment = self.auto_increment;
        spec.collation = self.collation;
        spec.comment = self.comment.clone();
        spec.extra = extra.to_text();
        Ok(spec)
    }

    /// A key's parts as the engine has them: prefixes in bytes.
    ///
    /// # Errors
    /// 1072 a column is not there.
    pub(super) fn key_parts(&self, key: &KeyDefinition) -> SqlResult<Vec<KeyPart>> {
        let part = |(name, prefix): &(String, Option<u32>)| {
            let column = self.column(name).ok_or_else(|| SqlError::key_column_missing(name))?;
            let width = width_of(&self.columns[column].ty);
            Ok(match prefix {
                Some(chars) => KeyPart { column, prefix_len: chars * width },
                None => KeyPart::whole(column),
            })
        };
        key.parts.iter().map(part).collect()
    }
}

impl ForeignKeyDefinition {
    /// The engine's description.
    ///
    /// # Errors
    /// Names that cannot be.
    pub(super) fn to_spec(&self) -> SqlResult<ForeignKeySpec> {
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

/// Most bytes of a character of a type's text.
pub(super) fn width_of(ty: &SqlType) -> u32 {
    match ty.collation {
        BINARY => 1,
        id => Charset::of_collation(id).map_or(1, |c| u32::from(c.mb_max_len)),
    }
}

fn to_column(definition: &ColumnDefinition) -> Column {
    let mut column = Column::new(definition.ty.to_def(&definition.name));
    if definition.ty.kind == Kind::Decimal {
        column.decimal = Some((definition.ty.length, definition.ty.decimals.into()));
    }
    column.labels.clone_from(&definition.labels);
    column.default = definition.default.clone();
    column.on_update_now = definition.on_update_now;
    column.auto_increment = definition.auto_increment;
    column.comment.clone_from(&definition.comment);
    let mut extra = definition.extra.clone();
    extra.head = definition.ty.column_type();
    let labelled = matches!(definition.ty.kind, Kind::Enum | Kind::Set);
    extra.set("collate", labelled.then(|| definition.ty.collation.to_string()));
    column.extra = extra.to_text();
    column
}
