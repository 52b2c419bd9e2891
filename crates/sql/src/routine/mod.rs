//! Compiled procedures, functions and triggers, as a folder keeps them.
//!
//! | part | file |
//! |---|---|
//! | the compiled form of a body | `code` |
//! | procedures, functions, triggers that are compiled | this file |

pub(crate) mod code;

use code::Code;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use vaquita_catalog::TableInfo;
use vaquita_catalog::object::ObjectBody;
use vaquita_parser::ast::{ConditionItem, ParamMode, ProgramKind, TriggerEvent};
use vaquita_session::privilege::Wanted;
use vaquita_types::ColumnType;

/// Compiled programs that are kept.
const KEPT_MAX: usize = 4096;

/// A procedure, function or trigger.
#[derive(Debug)]
pub(crate) struct Routine {
    pub(crate) kind: ProgramKind,
    pub(crate) database: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) body: ObjectBody,
    pub(crate) params: Box<[Param]>,
    pub(crate) returns: Option<ColumnType>,
    pub(crate) code: Code,
    /// What a trigger has besides.
    pub(crate) fired: Option<Fired>,
}

/// When a trigger is fired, and what it does to the row.
#[derive(Debug)]
pub(crate) struct Fired {
    pub(crate) before: bool,
    pub(crate) event: TriggerEvent,
    /// The table it was compiled for.
    pub(crate) table: Weak<TableInfo>,
    /// Columns of the row that it looks at or sets.
    pub(crate) columns: Box<[usize]>,
    /// What its definer must be allowed to do.
    pub(crate) wants: Box<[Wanted]>,
}

/// A parameter: the local variable of the same number.
#[derive(Debug)]
pub(crate) struct Param {
    pub(crate) mode: ParamMode,
    pub(crate) name: String,
    pub(crate) ty: ColumnType,
}

/// Properties of a routine besides those that all objects have.
pub(crate) mod property {
    pub(crate) const PARAMS: &str = "params";
    pub(crate) const RETURNS: &str = "returns";
    pub(crate) const DETERMINISTIC: &str = "deterministic";
    pub(crate) const ACCESS: &str = "access";

    /// The place of a trigger that is the only one of its moment.
    pub(crate) const ONLY_PLACE: &str = "5";
    pub(crate) use vaquita_catalog::trigger::{EACH, EVENT, HEAD, ON, ORDER, TABLE, TIMING};
}

/// The compiled programs of a folder, by the numbers of their objects.
#[derive(Debug, Default)]
pub(crate) struct Routines {
    compiled: Mutex<HashMap<u64, Arc<Routine>>>,
}

impl Routines {
    /// The compiled form of the object of that number.
    pub(crate) fn get(&self, object: u64) -> Option<Arc<Routine>> {
        self.compiled.lock().get(&object).cloned()
    }

    /// Keeps it.
    pub(crate) fn put(&self, object: u64, routine: Arc<Routine>) {
        let mut compiled = self.compiled.lock();
        // Those of objects that are gone go with the others.
        if compiled.len() >= KEPT_MAX {
            compiled.clear();
        }
        compiled.insert(object, routine);
    }
}

/// How messages call a kind of program.
pub(crate) fn kind_name(kind: ProgramKind) -> &'static str {
    match kind {
        ProgramKind::Procedure => "PROCEDURE",
        ProgramKind::Function => "FUNCTION",
        ProgramKind::Trigger => "TRIGGER",
        ProgramKind::Event => "EVENT",
    }
}

/// How a parameter's mode is written.
pub(crate) fn mode_name(mode: ParamMode) -> &'static str {
    match mode {
        ParamMode::In => "IN",
        ParamMode::Out => "OUT",
        ParamMode::InOut => "INOUT",
    }
}

/// How an item of a condition is written.
pub(crate) fn item_name(item: ConditionItem) -> &'static str {
    match item {
        ConditionItem::ClassOrigin => "CLASS_ORIGIN",
        ConditionItem::SubclassOrigin => "SUBCLASS_ORIGIN",
        ConditionItem::ConstraintCatalog => "CONSTRAINT_CATALOG",
        ConditionItem::ConstraintSchema => "CONSTRAINT_SCHEMA",
        ConditionItem::ConstraintName => "CONSTRAINT_NAME",
        ConditionItem::CatalogName => "CATALOG_NAME",
        ConditionItem::SchemaName => "SCHEMA_NAME",
        ConditionItem::TableName => "TABLE_NAME",
        ConditionItem::ColumnName => "COLUMN_NAME",
        ConditionItem::CursorName => "CURSOR_NAME",
        ConditionItem::MessageText => "MESSAGE_TEXT",
        ConditionItem::MysqlErrno => "MYSQL_ERRNO",
        ConditionItem::ReturnedSqlstate => "RETURNED_SQLSTATE",
    }
}

/// How the change that fires a trigger is written.
pub(crate) fn event_name(event: TriggerEvent) -> &'static str {
    match event {
        TriggerEvent::Insert => "INSERT",
        TriggerEvent::Update => "UPDATE",
        TriggerEvent::Delete => "DELETE",
    }
}
