//! Databases, views, stored programs, tablespaces.

use super::{Characteristics, ColumnType, EventHead, Ident, ObjectName, ProgramStmt, Query, Span, UserName};

/// `CREATE DATABASE`, `ALTER DATABASE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Database<'a> {
    /// `IF NOT EXISTS` (CREATE only).
    pub if_not_exists: bool,
    /// Name; the current database when `None` (ALTER only).
    pub name: Option<Ident<'a>>,
    /// `CHARACTER SET`; the inner `None` is `DEFAULT`.
    pub charset: Option<Option<Ident<'a>>>,
    /// `COLLATE`; the inner `None` is `DEFAULT`.
    pub collation: Option<Option<Ident<'a>>>,
    /// `ENCRYPTION` (8.0).
    pub encryption: Option<&'a [u8]>,
}

/// `DROP DATABASE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DropDatabase<'a> {
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// Name.
    pub name: Ident<'a>,
}

/// `CREATE VIEW`, `ALTER VIEW`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CreateView<'a> {
    /// `ALTER` instead of `CREATE`.
    pub alter: bool,
    /// `OR REPLACE`.
    pub or_replace: bool,
    /// `ALGORITHM=`.
    pub algorithm: ViewAlgorithm,
    /// `DEFINER=`; the current user when `None`.
    pub definer: Option<UserName<'a>>,
    /// `SQL SECURITY INVOKER`, or `DEFINER`.
    pub invoker: Option<bool>,
    /// Name.
    pub name: ObjectName<'a>,
    /// Column names; those of the query when empty.
    pub columns: &'a [Ident<'a>],
    /// The query.
    pub query: &'a Query<'a>,
    /// Its text.
    pub text: Span,
    /// `WITH … CHECK OPTION`.
    pub check: ViewCheck,
}

/// `ALGORITHM=` of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum ViewAlgorithm {
    #[default]
    Undefined,
    Merge,
    TempTable,
}

/// `WITH [CASCADED | LOCAL] CHECK OPTION`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum ViewCheck {
    #[default]
    None,
    Local,
    Cascaded,
}

/// Kinds of stored programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ProgramKind {
    Procedure,
    Function,
    Trigger,
    Event,
}

/// `CREATE PROCEDURE | FUNCTION | TRIGGER | EVENT`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CreateProgram<'a> {
    /// Which.
    pub kind: ProgramKind,
    /// `IF NOT EXISTS` (events).
    pub if_not_exists: bool,
    /// `DEFINER=`; the current user when `None`.
    pub definer: Option<UserName<'a>>,
    /// Name.
    pub name: ObjectName<'a>,
    /// Parameters of procedures and functions.
    pub params: &'a [ProgramParam<'a>],
    /// `RETURNS` of functions.
    pub returns: Option<ColumnType<'a>>,
    /// Time, event and table of a trigger.
    pub trigger: Option<TriggerHead<'a>>,
    /// Text of the parameters, without the parentheses.
    pub params_text: Span,
    /// Text of the type that a function returns.
    pub returns_text: Span,
    /// What a procedure or function says of itself.
    pub characteristics: Characteristics<'a>,
    /// Schedule and the like of an event.
    pub event: Option<EventHead<'a>>,
    /// The body.
    pub code: &'a ProgramStmt<'a>,
    /// Its text.
    pub body: Span,
}

/// What a trigger stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TriggerHead<'a> {
    /// `BEFORE` (true) or `AFTER`.
    pub before: bool,
    /// Insert, update, delete.
    pub event: TriggerEvent,
    /// The table.
    pub table: ObjectName<'a>,
    /// `FOLLOWS` (true) or `PRECEDES` another trigger.
    pub order: Option<(bool, Ident<'a>)>,
    /// Text from `TRIGGER` to what stands before `ON`.
    pub head: Span,
    /// Text of `ON table`.
    pub on: Span,
    /// Text of `FOR EACH ROW`.
    pub each: Span,
    /// Columns of `NEW` and `OLD` that the body names, in order.
    pub columns: &'a [RowColumn<'a>],
}

/// A column of the row a trigger is fired for, where its body names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowColumn<'a> {
    /// Of `NEW` (true) or `OLD`.
    pub new: bool,
    /// It is set by SET; otherwise looked at.
    pub set: bool,
    /// Its name.
    pub name: Ident<'a>,
}

/// What fires a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TriggerEvent {
    Insert,
    Update,
    Delete,
}

/// A parameter of a stored program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramParam<'a> {
    /// In, out, both.
    pub mode: ParamMode,
    /// Name.
    pub name: Ident<'a>,
    /// Type.
    pub data_type: ColumnType<'a>,
}

/// Direction of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ParamMode {
    In,
    Out,
    InOut,
}

/// `DROP PROCEDURE | FUNCTION | TRIGGER | EVENT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DropProgram<'a> {
    /// Which.
    pub kind: ProgramKind,
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// Name.
    pub name: ObjectName<'a>,
}

/// `CREATE TABLESPACE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CreateTablespace<'a> {
    /// Name.
    pub name: Ident<'a>,
    /// `ADD DATAFILE`.
    pub datafile: Option<&'a [u8]>,
    /// `FILE_BLOCK_SIZE`.
    pub file_block_size: Option<u64>,
    /// `ENGINE`.
    pub engine: Option<Ident<'a>>,
}

/// `IMPORT TABLE FROM`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportTables<'a> {
    /// The files of the tables.
    pub files: &'a [&'a [u8]],
    /// `USING`: a file with definitions of the tables.
    pub definitions: Option<&'a [u8]>,
}
