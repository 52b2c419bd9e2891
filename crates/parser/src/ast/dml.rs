//! Statements that change rows.

use super::{ColumnRef, Expr, FileFormat, Hint, Ident, Limit, ObjectName, OrderItem, Query, TableRef, With};

/// `INSERT` and `REPLACE`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Insert<'a> {
    /// `/*+ … */` after the first word.
    pub hints: &'a [Hint<'a>],
    /// `REPLACE` instead of `INSERT`.
    pub replace: bool,
    /// `LOW_PRIORITY`, `DELAYED`, `HIGH_PRIORITY`: no effect on InnoDB tables.
    pub priority: Priority,
    /// `IGNORE`.
    pub ignore: bool,
    /// The table.
    pub table: ObjectName<'a>,
    /// `PARTITION (p, …)`; all when empty.
    pub partitions: &'a [Ident<'a>],
    /// The columns given; `None`: all of them in order. `INSERT t () VALUES ()` has `Some(&[])`.
    pub columns: Option<&'a [ColumnRef<'a>]>,
    /// The rows.
    pub source: InsertSource<'a>,
    /// `AS new [(a, b)]` (8.0).
    pub row_alias: Option<RowAlias<'a>>,
    /// `ON DUPLICATE KEY UPDATE`; empty if there is none.
    pub on_duplicate: &'a [Assignment<'a>],
}

/// Where the rows of an INSERT come from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum InsertSource<'a> {
    /// `VALUES (…), …`, and `SET a = 1` with its columns in [`Insert::columns`]. An entry may be
    /// [`super::ExprKind::Default`]. Rows may differ in length: that is error 1136, not a syntax error.
    Values(&'a [&'a [Expr<'a>]]),
    /// `SELECT …`.
    Query(&'a Query<'a>),
}

/// `AS name [(columns)]` after the rows of an INSERT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowAlias<'a> {
    /// Name of the row.
    pub name: Ident<'a>,
    /// Names of its columns; those of the table when empty.
    pub columns: &'a [Ident<'a>],
}

/// `column = value`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Assignment<'a> {
    /// What is set.
    pub column: ColumnRef<'a>,
    /// To what; may be [`super::ExprKind::Default`].
    pub value: Expr<'a>,
}

/// Priority words of DML.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum Priority {
    #[default]
    Normal,
    Low,
    High,
    Delayed,
}

/// `UPDATE`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Update<'a> {
    /// `/*+ … */` after the first word.
    pub hints: &'a [Hint<'a>],
    /// `WITH …` (8.0).
    pub with: Option<&'a With<'a>>,
    /// `LOW_PRIORITY`.
    pub low_priority: bool,
    /// `IGNORE`.
    pub ignore: bool,
    /// One table, or the joined tables of a multi-table update.
    pub tables: &'a [TableRef<'a>],
    /// `SET`.
    pub assignments: &'a [Assignment<'a>],
    /// `WHERE`.
    pub filter: Option<&'a Expr<'a>>,
    /// `ORDER BY`: one table only (error 1221 otherwise, given by the planner).
    pub order_by: &'a [OrderItem<'a>],
    /// `LIMIT`: one table only.
    pub limit: Option<&'a Limit<'a>>,
}

impl Update<'_> {
    /// Whether it is the multi-table form, with that form's rules.
    #[must_use]
    pub fn is_multi_table(&self) -> bool {
        !matches!(self.tables, [TableRef::Table(_)])
    }
}

/// `DELETE`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Delete<'a> {
    /// `/*+ … */` after the first word.
    pub hints: &'a [Hint<'a>],
    /// `WITH …` (8.0).
    pub with: Option<&'a With<'a>>,
    /// `LOW_PRIORITY`.
    pub low_priority: bool,
    /// `QUICK`.
    pub quick: bool,
    /// `IGNORE`.
    pub ignore: bool,
    /// Tables or aliases whose rows go, in the multi-table forms `DELETE a, b FROM …` and
    /// `DELETE FROM a, b USING …`; empty in the one-table form, where `from` is the table.
    pub targets: &'a [ObjectName<'a>],
    /// One [`TableRef::Table`], or the joined tables.
    pub from: &'a [TableRef<'a>],
    /// `WHERE`.
    pub filter: Option<&'a Expr<'a>>,
    /// `ORDER BY`: one-table form only.
    pub order_by: &'a [OrderItem<'a>],
    /// `LIMIT`: one-table form only.
    pub limit: Option<&'a Limit<'a>>,
}

/// `LOAD DATA`, `LOAD XML`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadData<'a> {
    /// `XML`.
    pub xml: bool,
    /// `LOW_PRIORITY` or `CONCURRENT` (as [`Priority::High`]).
    pub priority: Priority,
    /// `LOCAL`: the client sends the file.
    pub local: bool,
    /// The file.
    pub file: &'a [u8],
    /// What to do about duplicates.
    pub duplicates: LoadDuplicates,
    /// The table.
    pub table: ObjectName<'a>,
    /// `PARTITION (p, …)`; all when empty.
    pub partitions: &'a [Ident<'a>],
    /// `CHARACTER SET`: `character_set_database` when `None`.
    pub charset: Option<Ident<'a>>,
    /// `ROWS IDENTIFIED BY '<tag>'` of XML.
    pub rows_identified: Option<&'a [u8]>,
    /// `FIELDS` and `LINES`.
    pub format: FileFormat<'a>,
    /// `IGNORE n LINES`.
    pub ignore_lines: u64,
    /// Columns and user variables the fields go to; all columns when empty.
    pub targets: &'a [LoadTarget<'a>],
    /// `SET`.
    pub assignments: &'a [Assignment<'a>],
}

/// Where a field of LOAD DATA goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadTarget<'a> {
    /// A column.
    Column(ColumnRef<'a>),
    /// `@name`.
    Var(Ident<'a>),
}

/// `REPLACE` / `IGNORE` of LOAD DATA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum LoadDuplicates {
    /// An error; like `Ignore` with LOCAL.
    Unspecified,
    Replace,
    Ignore,
}

/// `CALL`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CallProcedure<'a> {
    /// The procedure.
    pub name: ObjectName<'a>,
    /// Its arguments.
    pub args: &'a [Expr<'a>],
}
