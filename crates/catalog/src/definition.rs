//! What a table is in SQL. This is the one place that says it; everything else is a view of it:
//!
//! | view | where |
//! |---|---|
//! | what the engine is told to make, and keeps | [`stored`](crate::stored) |
//! | a `.frm` of a MySQL server, read and written | [`frm`](crate::frm) |
//! | SHOW CREATE TABLE | [`show_create`](crate::show_create) |
//! | what queries look at for every row | [`table`](crate::table) |
//!
//! CREATE TABLE makes a definition, ALTER TABLE edits one; information_schema reads it. Columns and keys are shared: a copy that is
//! edited has new ones only where it differs.
//!
//! A property of a column, of a key or of the table is a field here, is kept by [`stored`](crate::stored) and printed by
//! [`show_create`](crate::show_create); nothing else has to learn of it. A temporary table is one whose definition a session has; a
//! view is no table and has none.

use crate::names::same_name;
use std::borrow::Cow;
use std::sync::Arc;
use vaquita_engine::kept::{Extra, option};
use vaquita_engine::lower::RowFormat;
use vaquita_engine::lower::charset::Charset;
use vaquita_engine::table::{DefaultValue, ReferentialAction};
use vaquita_types::sql_type::BINARY;
use vaquita_types::{ColumnType, Kind, SqlType};

/// A table.
#[derive(Debug, Clone)]
pub struct Definition {
    /// Database.
    pub database: String,
    /// Name.
    pub name: String,
    /// Columns in order. Hidden ones are here too as long as nobody edits the definition: see [`Definition::to_edit`].
    pub columns: Vec<Arc<ColumnDefinition>>,
    /// Keys as SHOW INDEX lists them; while a statement edits them, in its order.
    pub keys: Vec<Arc<KeyDefinition>>,
    /// Foreign keys in which it is the child.
    pub foreign_keys: Vec<ForeignKeyDefinition>,
    /// CHECK constraints, by name.
    pub checks: Vec<CheckDefinition>,
    /// Default collation of new columns.
    pub collation: u16,
    /// Comment.
    pub comment: String,
    /// The row format it has, declared or not.
    pub row_format: RowFormat,
    /// The next AUTO_INCREMENT value that a statement asks for. The engine counts: of a table that exists this is `None`.
    pub auto_increment: Option<u64>,
    /// Options as declared.
    pub options: TableOptions,
    /// The directory elsewhere that its file is below (DATA DIRECTORY).
    pub directory: Option<String>,
    /// The PARTITION BY clause as a `.frm` has it, empty if there is none.
    pub partitioning: String,
}

/// A column.
#[derive(Debug, Clone)]
pub struct ColumnDefinition {
    /// Name as declared.
    pub name: String,
    /// Type.
    pub ty: SqlType,
    /// The type as text, where it says more than `ty` knows (`point`).
    pub spelled: Option<Box<str>>,
    /// Labels of an ENUM or SET in Unicode; those of `ty` are made of them.
    pub labels: Vec<String>,
    /// Its default; constants are in the stored form of [`ColumnDefinition::codec`], whatever the table's row format.
    pub default: DefaultValue,
    /// What it is calculated by.
    pub generated: Option<Generated>,
    /// Columns that this expression, or the one of the default, looks at.
    pub uses: Vec<String>,
    /// INVISIBLE: `*` leaves it out, and INSERT without a list of columns.
    pub invisible: bool,
    /// It is the expression that a key is of, and hidden.
    pub functional: bool,
    /// ON UPDATE CURRENT_TIMESTAMP.
    pub on_update_now: bool,
    /// AUTO_INCREMENT.
    pub auto_increment: bool,
    /// Comment.
    pub comment: String,
    /// The engine has it for itself: no statement sees it, neither by name nor in `*`, SHOW and information_schema.
    pub hidden: bool,
    /// What the engine keeps of it that is not understood here.
    pub kept: Extra,
    /// Position in the table that the definition was read from, which gives the values if the table is written anew; `None`: the
    /// column is new, its default does.
    pub origin: Option<usize>,
}

/// `GENERATED ALWAYS AS`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generated {
    /// The expression as text that means the same in every session.
    pub clause: String,
    /// STORED; otherwise VIRTUAL. The row has the value in both cases.
    pub stored: bool,
}

/// Kinds of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// PRIMARY KEY.
    Primary,
    /// UNIQUE.
    Unique,
    /// Neither.
    Plain,
    /// FULLTEXT.
    FullText,
    /// SPATIAL.
    Spatial,
}

/// What a key is ordered by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPart {
    /// Name of the column.
    pub column: String,
    /// Characters (bytes of binary strings) of the prefix; `None`: the whole column.
    pub prefix: Option<u32>,
    /// DESC.
    pub descending: bool,
}

/// A key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyDefinition {
    /// Kind.
    pub kind: KeyKind,
    /// Name; `PRIMARY` of the primary key.
    pub name: String,
    /// Its columns.
    pub parts: Vec<KeyPart>,
    /// Comment.
    pub comment: String,
    /// `USING`, as declared.
    pub using: Option<&'static str>,
    /// KEY_BLOCK_SIZE, as declared.
    pub key_block_size: Option<u64>,
    /// Made for a foreign key only: it goes when a key comes that serves as well.
    pub generated: bool,
    /// INVISIBLE: plans do not read it.
    pub invisible: bool,
    /// `WITH PARSER` of a FULLTEXT key.
    pub parser: Option<String>,
    /// How the words of a FULLTEXT key are divided among its tables: its comment said so when it was made.
    pub split: Option<String>,
}

/// A foreign key.
#[derive(Debug, Clone)]
pub struct ForeignKeyDefinition {
    /// Without database; `None`: a name is made.
    pub name: Option<String>,
    /// Columns by name.
    pub columns: Vec<String>,
    /// Database and name of the parent.
    pub parent: (String, String),
    /// Columns of the parent by name.
    pub parent_columns: Vec<String>,
    /// When a parent row goes.
    pub on_delete: ReferentialAction,
    /// When a parent row's key changes.
    pub on_update: ReferentialAction,
    /// Whether the table has it already.
    pub exists: bool,
}

/// A CHECK constraint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckDefinition {
    /// Name.
    pub name: String,
    /// The condition as text that means the same in every session.
    pub clause: String,
    /// The columns in it.
    pub columns: Vec<String>,
    /// Rows are held against it.
    pub enforced: bool,
}

/// Options of a table that are kept as declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableOption {
    /// MIN_ROWS.
    MinRows,
    /// MAX_ROWS.
    MaxRows,
    /// AVG_ROW_LENGTH.
    AvgRowLength,
    /// PACK_KEYS.
    PackKeys,
    /// STATS_PERSISTENT.
    StatsPersistent,
    /// STATS_AUTO_RECALC.
    StatsAutoRecalc,
    /// STATS_SAMPLE_PAGES.
    StatsSamplePages,
    /// CHECKSUM.
    Checksum,
    /// DELAY_KEY_WRITE.
    DelayKeyWrite,
    /// ROW_FORMAT; the format that the table has is [`Definition::row_format`].
    RowFormat,
    /// KEY_BLOCK_SIZE.
    KeyBlockSize,
}

impl TableOption {
    /// All, in the order of SHOW CREATE TABLE.
    pub const ALL: [TableOption; 11] = [
        TableOption::MinRows,
        TableOption::MaxRows,
        TableOption::AvgRowLength,
        TableOption::PackKeys,
        TableOption::StatsPersistent,
        TableOption::StatsAutoRecalc,
        TableOption::StatsSamplePages,
        TableOption::Checksum,
        TableOption::DelayKeyWrite,
        TableOption::RowFormat,
        TableOption::KeyBlockSize,
    ];

    /// Its name in lower case: in information_schema, and where it is kept.
    pub fn name(self) -> &'static str {
        match self {
            TableOption::MinRows => option::MIN_ROWS,
            TableOption::MaxRows => option::MAX_ROWS,
            TableOption::AvgRowLength => option::AVG_ROW_LENGTH,
            TableOption::PackKeys => option::PACK_KEYS,
            TableOption::StatsPersistent => option::STATS_PERSISTENT,
            TableOption::StatsAutoRecalc => option::STATS_AUTO_RECALC,
            TableOption::StatsSamplePages => option::STATS_SAMPLE_PAGES,
            TableOption::Checksum => option::CHECKSUM,
            TableOption::DelayKeyWrite => option::DELAY_KEY_WRITE,
            TableOption::RowFormat => option::ROW_FORMAT,
            TableOption::KeyBlockSize => option::KEY_BLOCK_SIZE,
        }
    }
}

/// The options of a table that were declared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// As the engine keeps them, those of keys left out: see [`vaquita_engine::kept`].
    pub(crate) kept: Extra,
}

/// Name of the time of creation among what is kept.
const CREATE_TIME: &str = "create_time";

impl TableOptions {
    /// What was declared; numbers in decimal digits.
    pub fn get(&self, option: TableOption) -> Option<&str> {
        self.kept.get(option.name())
    }

    /// Declares an option, or takes it away.
    pub fn set(&mut self, option: TableOption, value: Option<String>) {
        self.kept.set(option.name(), value);
    }

    /// When the table was created or written anew, in seconds since 1970.
    pub fn created(&self) -> Option<u64> {
        self.kept.number(CREATE_TIME)
    }

    /// Notes when the table is created.
    pub fn set_created(&mut self, seconds: i64) {
        self.kept.set(CREATE_TIME, Some(seconds.to_string()));
    }
}

impl Definition {
    /// A table of which nothing is said yet.
    pub fn new(database: &str, name: &str, collation: u16, row_format: RowFormat) -> Definition {
        Definition {
            database: database.to_owned(),
            name: name.to_owned(),
            columns: Vec::new(),
            keys: Vec::new(),
            foreign_keys: Vec::new(),
            checks: Vec::new(),
            collation,
            comment: String::new(),
            row_format,
            auto_increment: None,
            options: TableOptions::default(),
            directory: None,
            partitioning: String::new(),
        }
    }

    /// A copy for a statement that changes it: without hidden columns that the engine adds by itself.
    pub fn to_edit(&self) -> Definition {
        let mut copy = self.clone();
        copy.columns.retain(|column| !column.hidden || column.functional);
        copy
    }

    /// Position of a column that can be named, by name without case.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| !c.hidden && same_name(&c.name, name))
    }

    /// The same for what a key is of, which may be an expression.
    pub fn key_column(&self, name: &str) -> Option<usize> {
        let functional = || self.columns.iter().position(|c| c.functional && c.name == name);
        self.column(name).or_else(functional)
    }

    /// Position of a key, by name without case.
    pub fn key(&self, name: &str) -> Option<usize> {
        self.keys.iter().position(|k| same_name(&k.name, name))
    }

    /// Position of a CHECK constraint.
    pub fn check(&self, name: &str) -> Option<usize> {
        self.checks.iter().position(|c| c.name == name)
    }

    /// Whether rows have to be held against something, or made complete, beyond what their types ask for.
    pub fn has_rules(&self) -> bool {
        let calculated =
            |c: &Arc<ColumnDefinition>| c.generated.is_some() || matches!(c.default, DefaultValue::Text(_));
        self.checks.iter().any(|check| check.enforced) || self.columns.iter().any(calculated)
    }

    /// A column, to change it.
    pub fn column_mut(&mut self, at: usize) -> &mut ColumnDefinition {
        Arc::make_mut(&mut self.columns[at])
    }
}

impl ColumnDefinition {
    /// A new column: it can be NULL if its type can, and has no attributes.
    pub fn new(name: impl Into<String>, ty: SqlType, labels: Vec<String>) -> ColumnDefinition {
        ColumnDefinition {
            name: name.into(),
            default: if ty.nullable { DefaultValue::Null } else { DefaultValue::None },
            ty,
            spelled: None,
            labels,
            generated: None,
            uses: Vec::new(),
            invisible: false,
            functional: false,
            on_update_now: false,
            auto_increment: false,
            comment: String::new(),
            hidden: false,
            kept: Extra::default(),
            origin: None,
        }
    }

    /// The type as SHOW COLUMNS prints it.
    pub fn declared(&self) -> Cow<'_, str> {
        match &self.spelled {
            Some(text) => Cow::Borrowed(text),
            None => Cow::Owned(self.ty.column_type()),
        }
    }

    /// The form that constants of the definition are in: as a new table of the DYNAMIC format stores them.
    pub fn codec(&self) -> ColumnType {
        ColumnType::new(self.ty.clone(), RowFormat::Dynamic)
    }

    /// NULL is not allowed any more: it is in a primary key.
    pub(crate) fn forbid_null(&mut self) {
        self.ty.nullable = false;
        if self.default == DefaultValue::Null {
            self.default = DefaultValue::None;
        }
    }

    /// Whether it has labels.
    pub fn is_labelled(&self) -> bool {
        matches!(self.ty.kind, Kind::Enum | Kind::Set)
    }

    /// Whether its values are characters of a character set.
    pub fn is_text(&self) -> bool {
        (self.ty.kind.is_string() || self.is_labelled()) && self.ty.collation != BINARY
    }
}

impl KeyDefinition {
    /// A key of which nothing more is said.
    pub fn new(kind: KeyKind, name: impl Into<String>, parts: Vec<KeyPart>) -> KeyDefinition {
        let name = name.into();
        KeyDefinition {
            kind,
            name,
            parts,
            comment: String::new(),
            using: None,
            key_block_size: None,
            generated: false,
            invisible: false,
            parser: None,
            split: None,
        }
    }

    /// Whether no two rows may have equal values.
    pub fn is_unique(&self) -> bool {
        matches!(self.kind, KeyKind::Primary | KeyKind::Unique)
    }

    /// Whether it is an index of its columns' order.
    pub fn has_tree(&self) -> bool {
        matches!(self.kind, KeyKind::Primary | KeyKind::Unique | KeyKind::Plain)
    }

    /// Whether it is the primary key.
    pub fn is_primary(&self) -> bool {
        self.kind == KeyKind::Primary
    }

    /// Whether it is in the order of these columns, whole, first of all.
    pub fn begins_with(&self, columns: &[String]) -> bool {
        self.has_tree()
            && self.parts.len() >= columns.len()
            && self.parts.iter().zip(columns).all(|(p, c)| p.prefix.is_none() && same_name(&p.column, c))
    }

    /// Whether these columns, whole, begin with its own.
    pub fn is_beginning_of(&self, columns: &[String]) -> bool {
        self.parts.len() <= columns.len() && self.begins_with(&columns[..self.parts.len()])
    }
}

impl KeyPart {
    /// A whole column.
    pub fn whole(column: impl Into<String>) -> KeyPart {
        KeyPart { column: column.into(), prefix: None, descending: false }
    }
}

/// Most bytes of a character of a type's text.
pub fn width_of(ty: &SqlType) -> u32 {
    match ty.collation {
        BINARY => 1,
        id => Charset::of_collation(id).map_or(1, |c| u32::from(c.mb_max_len)),
    }
}
