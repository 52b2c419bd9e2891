//! CREATE TABLE, ALTER TABLE, indexes, partitions.

use super::{ColumnType, Expr, Ident, ObjectName, OrderItem, Query, Span};

/// `CREATE TABLE`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CreateTable<'a> {
    /// `TEMPORARY`.
    pub temporary: bool,
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// The table.
    pub name: ObjectName<'a>,
    /// `LIKE t`, `(LIKE t)`: nothing below is set then.
    pub like: Option<ObjectName<'a>>,
    /// Columns, indexes and constraints in their order.
    pub elements: &'a [TableElement<'a>],
    /// Options in their order; of one written twice the last counts.
    pub options: &'a [TableOption<'a>],
    /// `PARTITION BY`.
    pub partitioning: Option<&'a Partitioning<'a>>,
    /// `[IGNORE | REPLACE] [AS] SELECT …`.
    pub select: Option<&'a Query<'a>>,
    /// What that SELECT does about duplicates.
    pub select_duplicates: SelectDuplicates,
}

/// `IGNORE` / `REPLACE` of CREATE TABLE … SELECT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum SelectDuplicates {
    #[default]
    Error,
    Ignore,
    Replace,
}

/// One entry between the parentheses of CREATE TABLE.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TableElement<'a> {
    /// A column.
    Column(&'a ColumnDef<'a>),
    /// An index, PRIMARY KEY and UNIQUE among them.
    Index(&'a IndexDef<'a>),
    /// `FOREIGN KEY`.
    ForeignKey(&'a ForeignKey<'a>),
    /// `CHECK (…)`.
    Check(&'a Check<'a>),
}

/// A column's definition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ColumnDef<'a> {
    /// Name.
    pub name: Ident<'a>,
    /// Type.
    pub data_type: ColumnType<'a>,
    /// `NULL` (`Some(true)`), `NOT NULL` (`Some(false)`), or not said.
    pub nullable: Option<bool>,
    /// `DEFAULT`.
    pub default: Option<DefaultValue<'a>>,
    /// `ON UPDATE CURRENT_TIMESTAMP[(fsp)]`: the fsp, 0 when not written.
    pub on_update_now: Option<u32>,
    /// `AUTO_INCREMENT`.
    pub auto_increment: bool,
    /// `PRIMARY KEY`, `KEY`.
    pub primary: bool,
    /// `UNIQUE [KEY]`, `SERIAL DEFAULT VALUE`.
    pub unique: bool,
    /// `COMMENT`.
    pub comment: Option<&'a [u8]>,
    /// `[GENERATED ALWAYS] AS (…)` (5.7).
    pub generated: Option<&'a Generated<'a>>,
    /// `REFERENCES …` after a column: parsed and without effect on InnoDB tables.
    pub references: Option<&'a References<'a>>,
    /// `CHECK (…)`, any number of them.
    pub checks: &'a [&'a Check<'a>],
    /// `INVISIBLE` (8.0.23).
    pub invisible: bool,
    /// `SRID n` (8.0).
    pub srid: Option<u32>,
    /// `COLUMN_FORMAT` (1 fixed, 2 dynamic; NDB only) and `STORAGE` (1 disk, 2 memory): without effect.
    pub ndb: (u8, u8),
}

/// A default.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DefaultValue<'a> {
    /// A literal, perhaps signed ([`super::ExprKind::Unary`] with `Neg`), NULL among them.
    Literal(Expr<'a>),
    /// `CURRENT_TIMESTAMP`, `NOW()`, `LOCALTIME` … `[(fsp)]`.
    Now(u32),
    /// `(expr)` (8.0.13).
    Expr(Expr<'a>),
}

/// A generated column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Generated<'a> {
    /// The expression.
    pub expr: Expr<'a>,
    /// `STORED`, `PERSISTENT`; otherwise virtual.
    pub stored: bool,
}

/// A CHECK constraint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Check<'a> {
    /// `CONSTRAINT name`.
    pub name: Option<Ident<'a>>,
    /// The condition.
    pub expr: Expr<'a>,
    /// False for `NOT ENFORCED`.
    pub enforced: bool,
}

/// Kinds of indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum IndexKind {
    Primary,
    Unique,
    Plain,
    FullText,
    Spatial,
}

/// An index in CREATE TABLE, ALTER TABLE, CREATE INDEX.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IndexDef<'a> {
    /// Kind.
    pub kind: IndexKind,
    /// `CONSTRAINT name` before PRIMARY or UNIQUE: the index's name if it has no other.
    pub constraint: Option<Ident<'a>>,
    /// Name.
    pub name: Option<Ident<'a>>,
    /// Key parts, at least one.
    pub parts: &'a [KeyPart<'a>],
    /// Options.
    pub options: IndexOptions<'a>,
}

/// Options of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexOptions<'a> {
    /// `USING BTREE | HASH | RTREE`.
    pub algorithm: Option<IndexAlgorithm>,
    /// `KEY_BLOCK_SIZE`.
    pub key_block_size: Option<u64>,
    /// `COMMENT`.
    pub comment: Option<&'a [u8]>,
    /// `WITH PARSER`.
    pub parser: Option<Ident<'a>>,
    /// `INVISIBLE` (8.0).
    pub invisible: bool,
}

/// `USING …` of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum IndexAlgorithm {
    BTree,
    Hash,
    RTree,
}

/// A key part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KeyPart<'a> {
    /// Column, or an expression in parentheses (8.0.13).
    pub target: KeyTarget<'a>,
    /// `(n)`: prefix in characters or bytes.
    pub prefix: Option<u32>,
    /// `DESC`: parsed and without effect before 8.0.
    pub descending: bool,
}

/// What a key part indexes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum KeyTarget<'a> {
    /// A column.
    Column(Ident<'a>),
    /// `((expr))`.
    Expr(Expr<'a>),
}

/// `FOREIGN KEY`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForeignKey<'a> {
    /// `CONSTRAINT name`.
    pub constraint: Option<Ident<'a>>,
    /// Name after FOREIGN KEY: of the index made for it.
    pub index_name: Option<Ident<'a>>,
    /// Referencing columns.
    pub columns: &'a [Ident<'a>],
    /// What they refer to.
    pub references: References<'a>,
}

/// `REFERENCES t (…) …`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct References<'a> {
    /// The table.
    pub table: ObjectName<'a>,
    /// Its columns; may be empty in the syntax.
    pub columns: &'a [Ident<'a>],
    /// `MATCH`: without effect, but makes ON DELETE and ON UPDATE be ignored.
    pub match_kind: Option<ReferenceMatch>,
    /// `ON DELETE`.
    pub on_delete: Option<ReferenceAction>,
    /// `ON UPDATE`.
    pub on_update: Option<ReferenceAction>,
}

/// `MATCH …`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ReferenceMatch {
    Full,
    Partial,
    Simple,
}

/// Actions of foreign keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ReferenceAction {
    Restrict,
    Cascade,
    SetNull,
    NoAction,
    SetDefault,
}

/// A table option. Numbers are as written, unchecked; `Option` stands for `DEFAULT`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TableOption<'a> {
    /// `ENGINE`, `TYPE`.
    Engine(Ident<'a>),
    /// `AUTO_INCREMENT`.
    AutoIncrement(u64),
    /// `[DEFAULT] CHARACTER SET`; `None` is `DEFAULT`.
    Charset(Option<Ident<'a>>),
    /// `[DEFAULT] COLLATE`; `None` is `DEFAULT`.
    Collation(Option<Ident<'a>>),
    /// `COMMENT`.
    Comment(&'a [u8]),
    /// `ROW_FORMAT`.
    RowFormat(RowFormatOption),
    /// `KEY_BLOCK_SIZE`.
    KeyBlockSize(u64),
    /// `STATS_PERSISTENT`.
    StatsPersistent(Option<u64>),
    /// `STATS_AUTO_RECALC`.
    StatsAutoRecalc(Option<u64>),
    /// `STATS_SAMPLE_PAGES`.
    StatsSamplePages(Option<u64>),
    /// `DATA DIRECTORY`.
    DataDirectory(&'a [u8]),
    /// `INDEX DIRECTORY`.
    IndexDirectory(&'a [u8]),
    /// `TABLESPACE`.
    Tablespace(Ident<'a>),
    /// `STORAGE DISK` (true) or `MEMORY`.
    StorageDisk(bool),
    /// `AVG_ROW_LENGTH`.
    AvgRowLength(u64),
    /// `MAX_ROWS`.
    MaxRows(u64),
    /// `MIN_ROWS`.
    MinRows(u64),
    /// `CHECKSUM`, `TABLE_CHECKSUM`.
    Checksum(u64),
    /// `DELAY_KEY_WRITE`.
    DelayKeyWrite(u64),
    /// `PACK_KEYS`.
    PackKeys(Option<u64>),
    /// `PASSWORD`.
    Password(&'a [u8]),
    /// `CONNECTION`.
    Connection(&'a [u8]),
    /// `COMPRESSION` (5.7).
    Compression(&'a [u8]),
    /// `ENCRYPTION` (5.7).
    Encryption(&'a [u8]),
    /// `INSERT_METHOD`: of MERGE tables.
    InsertMethod(Ident<'a>),
    /// `UNION`: of MERGE tables.
    Union(&'a [ObjectName<'a>]),
}

/// `ROW_FORMAT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum RowFormatOption {
    Default,
    Dynamic,
    Fixed,
    Compressed,
    Redundant,
    Compact,
}

/// `PARTITION BY …`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Partitioning<'a> {
    /// How rows are divided.
    pub method: PartitionMethod<'a>,
    /// `PARTITIONS n`.
    pub count: Option<u64>,
    /// `SUBPARTITION BY` with its `SUBPARTITIONS n`.
    pub sub: Option<(PartitionMethod<'a>, Option<u64>)>,
    /// The partitions; empty if only counted.
    pub partitions: &'a [PartitionDef<'a>],
    /// The text of the whole clause.
    pub span: Span,
}

/// Ways to divide rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PartitionMethod<'a> {
    /// `[LINEAR] HASH (expr)`.
    Hash {
        /// `LINEAR`.
        linear: bool,
        /// On what.
        on: PartitionExpr<'a>,
    },
    /// `[LINEAR] KEY [ALGORITHM=n] (columns)`.
    Key {
        /// `LINEAR`.
        linear: bool,
        /// `ALGORITHM`.
        algorithm: Option<u64>,
        /// Columns; the primary key when empty.
        columns: &'a [Ident<'a>],
    },
    /// `RANGE (expr)`.
    Range(PartitionExpr<'a>),
    /// `RANGE COLUMNS (…)`.
    RangeColumns(&'a [Ident<'a>]),
    /// `LIST (expr)`.
    List(PartitionExpr<'a>),
    /// `LIST COLUMNS (…)`.
    ListColumns(&'a [Ident<'a>]),
}

/// The expression of a partition function.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PartitionExpr<'a> {
    /// It.
    pub expr: Expr<'a>,
    /// All between the parentheses, but for what stands behind the last word.
    pub text: Span,
}

/// `PARTITION p …`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PartitionDef<'a> {
    /// Name.
    pub name: Ident<'a>,
    /// Its rows.
    pub values: PartitionValues<'a>,
    /// `ENGINE`, `COMMENT`, `DATA DIRECTORY`, `MAX_ROWS` and so on.
    pub options: &'a [TableOption<'a>],
    /// Subpartitions.
    pub subpartitions: &'a [PartitionDef<'a>],
}

/// `VALUES …` of a partition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PartitionValues<'a> {
    /// Not said.
    None,
    /// `LESS THAN (…)`; an entry that is `None` is `MAXVALUE`.
    LessThan(&'a [Option<Expr<'a>>]),
    /// `LESS THAN MAXVALUE`.
    MaxValue,
    /// `IN (…)`: rows of one or more values.
    In(&'a [&'a [Option<Expr<'a>>]]),
}

/// `ALTER TABLE`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AlterTable<'a> {
    /// `IGNORE` (until 5.6).
    pub ignore: bool,
    /// The table.
    pub name: ObjectName<'a>,
    /// What to do, in order. Options follow one another without comma: each is an action of its own.
    pub actions: &'a [AlterAction<'a>],
    /// `ALGORITHM=`.
    pub algorithm: AlterAlgorithm,
    /// `LOCK=`.
    pub lock: AlterLock,
    /// `PARTITION BY`.
    pub partitioning: Option<&'a Partitioning<'a>>,
}

/// `ALGORITHM=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum AlterAlgorithm {
    #[default]
    Default,
    Inplace,
    Copy,
    /// 8.0.
    Instant,
}

/// `LOCK=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum AlterLock {
    #[default]
    Default,
    None,
    Shared,
    Exclusive,
}

/// Where a column goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnPlace<'a> {
    /// Where it is, or last.
    Unspecified,
    /// `FIRST`.
    First,
    /// `AFTER c`.
    After(Ident<'a>),
}

/// One step of ALTER TABLE.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AlterAction<'a> {
    /// `ADD [COLUMN] …`; `ADD (a …, b …)` is one for each.
    AddColumn {
        /// The column.
        column: &'a ColumnDef<'a>,
        /// Its place.
        place: ColumnPlace<'a>,
    },
    /// `ADD INDEX | KEY | UNIQUE | PRIMARY KEY | FULLTEXT | SPATIAL`.
    AddIndex(&'a IndexDef<'a>),
    /// `ADD FOREIGN KEY`.
    AddForeignKey(&'a ForeignKey<'a>),
    /// `ADD CHECK`.
    AddCheck(&'a Check<'a>),
    /// `DROP [COLUMN] c`.
    DropColumn(Ident<'a>),
    /// `DROP INDEX | KEY i`.
    DropIndex(Ident<'a>),
    /// `DROP PRIMARY KEY`.
    DropPrimaryKey,
    /// `DROP FOREIGN KEY f`.
    DropForeignKey(Ident<'a>),
    /// `DROP CHECK c` (8.0).
    DropCheck(Ident<'a>),
    /// `DROP CONSTRAINT c` (8.0): of any kind.
    DropConstraint(Ident<'a>),
    /// `ALTER CHECK | CONSTRAINT c [NOT] ENFORCED` (8.0).
    EnforceCheck {
        /// The constraint.
        name: Ident<'a>,
        /// `CONSTRAINT` was written, which may be of any kind.
        any_kind: bool,
        /// False for `NOT ENFORCED`.
        enforced: bool,
    },
    /// `CHANGE old new …`.
    ChangeColumn {
        /// Its name until now.
        old: Ident<'a>,
        /// What it becomes.
        column: &'a ColumnDef<'a>,
        /// Its place.
        place: ColumnPlace<'a>,
    },
    /// `MODIFY c …`.
    ModifyColumn {
        /// What it becomes.
        column: &'a ColumnDef<'a>,
        /// Its place.
        place: ColumnPlace<'a>,
    },
    /// `RENAME COLUMN a TO b` (8.0).
    RenameColumn {
        /// Its name until now.
        old: Ident<'a>,
        /// What it becomes.
        new: Ident<'a>,
    },
    /// `RENAME INDEX a TO b` (5.7).
    RenameIndex {
        /// Its name until now.
        old: Ident<'a>,
        /// What it becomes.
        new: Ident<'a>,
    },
    /// `ALTER c SET DEFAULT x`, `ALTER c DROP DEFAULT` (`None`).
    SetDefault {
        /// The column.
        column: Ident<'a>,
        /// The default.
        default: Option<DefaultValue<'a>>,
    },
    /// `ALTER c SET VISIBLE | INVISIBLE` (8.0.23).
    ColumnVisibility {
        /// The column.
        column: Ident<'a>,
        /// `VISIBLE`.
        visible: bool,
    },
    /// `ALTER INDEX i VISIBLE | INVISIBLE` (8.0).
    IndexVisibility {
        /// The index.
        index: Ident<'a>,
        /// `VISIBLE`.
        visible: bool,
    },
    /// `RENAME [TO | AS] t`.
    Rename(ObjectName<'a>),
    /// A table option.
    Option(TableOption<'a>),
    /// `CONVERT TO CHARACTER SET cs [COLLATE c]`; no charset is `DEFAULT`.
    ConvertCharset {
        /// Character set.
        charset: Option<Ident<'a>>,
        /// Collation.
        collation: Option<Ident<'a>>,
    },
    /// `ORDER BY`.
    OrderBy(&'a [OrderItem<'a>]),
    /// `FORCE`.
    Force,
    /// `ENABLE KEYS` (true), `DISABLE KEYS`: without effect on InnoDB tables.
    Keys(bool),
    /// `DISCARD TABLESPACE`.
    DiscardTablespace,
    /// `IMPORT TABLESPACE`.
    ImportTablespace,
    /// An action on partitions.
    Partition(PartitionAction<'a>),
    /// `REMOVE PARTITIONING`.
    RemovePartitioning,
}

/// ALTER TABLE's actions on partitions. An empty list of names is `ALL`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub enum PartitionAction<'a> {
    Add { partitions: &'a [PartitionDef<'a>], count: Option<u64> },
    Drop(&'a [Ident<'a>]),
    Coalesce(u64),
    Reorganize { names: &'a [Ident<'a>], into: &'a [PartitionDef<'a>] },
    Exchange { name: Ident<'a>, table: ObjectName<'a>, validation: bool },
    Truncate(&'a [Ident<'a>]),
    Analyze(&'a [Ident<'a>]),
    Check(&'a [Ident<'a>]),
    Optimize(&'a [Ident<'a>]),
    Rebuild(&'a [Ident<'a>]),
    Repair(&'a [Ident<'a>]),
    DiscardTablespace(&'a [Ident<'a>]),
    ImportTablespace(&'a [Ident<'a>]),
}

/// What becomes of tablespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TablespaceAction {
    /// `DISCARD`.
    Discard,
    /// `IMPORT`.
    Import,
}

impl<'a> AlterTable<'a> {
    /// What it does to tablespaces, if that is all it does, and of which partitions: `None` of the table, none named of all.
    pub fn tablespace_action(&self) -> Option<(TablespaceAction, Option<&'a [Ident<'a>]>)> {
        let [action] = self.actions else { return None };
        let alone = self.partitioning.is_none()
            && self.algorithm == AlterAlgorithm::Default
            && self.lock == AlterLock::Default;
        let found = match action {
            AlterAction::DiscardTablespace => (TablespaceAction::Discard, None),
            AlterAction::ImportTablespace => (TablespaceAction::Import, None),
            AlterAction::Partition(PartitionAction::DiscardTablespace(names)) if alone => {
                (TablespaceAction::Discard, Some(*names))
            }
            AlterAction::Partition(PartitionAction::ImportTablespace(names)) if alone => {
                (TablespaceAction::Import, Some(*names))
            }
            _ => return None,
        };
        Some(found)
    }

    /// The table that EXCHANGE PARTITION names beside its own.
    pub fn exchanged_with(&self) -> Option<&ObjectName<'_>> {
        self.actions.iter().find_map(|action| match action {
            AlterAction::Partition(PartitionAction::Exchange { table, .. }) => Some(table),
            _ => None,
        })
    }
}

/// `CREATE INDEX`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CreateIndex<'a> {
    /// The table.
    pub table: ObjectName<'a>,
    /// The index; its name is set.
    pub index: IndexDef<'a>,
    /// `ALGORITHM=`.
    pub algorithm: AlterAlgorithm,
    /// `LOCK=`.
    pub lock: AlterLock,
}

/// `DROP INDEX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DropIndex<'a> {
    /// The table.
    pub table: ObjectName<'a>,
    /// The index; `PRIMARY` is the primary key.
    pub name: Ident<'a>,
    /// `ALGORITHM=`.
    pub algorithm: AlterAlgorithm,
    /// `LOCK=`.
    pub lock: AlterLock,
}

/// `DROP TABLE`, `DROP VIEW`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DropTables<'a> {
    /// `TEMPORARY` (tables only).
    pub temporary: bool,
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// At least one.
    pub names: &'a [ObjectName<'a>],
}
