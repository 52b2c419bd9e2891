//! Compiled procedures and functions, as a folder keeps them.
//!
//! | part | file |
//! |---|---|
//! | the compiled form of a body | `code` |
//! | procedures and functions that are compiled | this file |

pub(crate) mod code;

use code::Code;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use vaquita_catalog::object::ObjectBody;
use vaquita_parser::ast::{ConditionItem, ParamMode, ProgramKind};
use vaquita_types::ColumnType;

/// Compiled programs that are kept.
const KEPT_MAX: usize = 4096;

/// A procedure or function.
#[derive(Debug)]
pub(crate) struct Routine {
    pub(crate) kind: ProgramKind,
    pub(crate) database: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) body: ObjectBody,
    pub(crate) params: Box<[Param]>,
    pub(crate) returns: Option<ColumnType>,
    pub(crate) code: Code,
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
}

/// The compiled programs of a folder, by the numbers of their objects.
#[derive(Debug, Default)]
pub(crate) struct Routines {
    compiled: Mutex<HashMap<u64, Arc<Routine>>>,
    /// A statement has called a function: those to come remember their tables.
    has_functions: AtomicBool,
}

impl Routines {
    /// Whether statements have to remember their tables for functions they may call.
    #[inline]
    pub(crate) fn has_functions(&self) -> bool {
        self.has_functions.load(Ordering::Relaxed)
    }

    /// A statement calls a function.
    pub(crate) fn note_function(&self) {
        if !self.has_functions() {
            self.has_functions.store(true, Ordering::Relaxed);
        }
    }

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
