//! Stored programs: how they are defined, found and compiled. Sessions run them (`connection::program`).
//!
//! | part | file |
//! |---|---|
//! | from syntax to it | `compile` |
//! | a program as it is found by its name | `routine` |
//! | CREATE, ALTER, DROP | `define` |
//! | CREATE, ALTER and DROP EVENT | `events` |
//! | CREATE and DROP TRIGGER; triggers as they are listed | `triggers` |

mod compile;
mod define;
pub(crate) mod events;
mod routine;
pub(crate) mod triggers;

pub(crate) use define::execute;
pub(crate) use routine::{create_text, event, find, trigger};

use crate::routine::{item_name, kind_name};
pub(crate) use compile::{check_called, view_with_variables};
use vaquita_engine::ObjectKind;
use vaquita_parser::ast::{ConditionItem, Expr, ProgramKind};
use vaquita_session::vars;
use vaquita_types::sql_type::BINARY;
use vaquita_types::{Kind, SqlError, SqlResult, SqlType};

/// A type as the text of a definition has it: with its character set where it has one.
pub(crate) fn declared(ty: &SqlType) -> String {
    let is_text = ty.kind.is_string() || matches!(ty.kind, Kind::Enum | Kind::Set);
    let text = ty.column_type();
    if !is_text || ty.collation == BINARY {
        return text;
    }
    let charset = vars::charset_name(ty.collation);
    match vars::primary(ty.collation) == ty.collation {
        true => format!("{text} CHARSET {charset}"),
        false => format!("{text} CHARSET {charset} COLLATE {}", vars::collation_name(ty.collation)),
    }
}

/// A kind of program as the engine calls it.
pub(crate) fn object_kind(kind: ProgramKind) -> ObjectKind {
    match kind {
        ProgramKind::Procedure => ObjectKind::Procedure,
        ProgramKind::Function => ObjectKind::Function,
        ProgramKind::Trigger => ObjectKind::Trigger,
        ProgramKind::Event => ObjectKind::Event,
    }
}

/// Error 1305.
pub(crate) fn unknown(kind: ProgramKind, name: &str) -> SqlError {
    SqlError::new(1305, format!("{} {name} does not exist", kind_name(kind)))
}

/// Items of SIGNAL: each once.
///
/// # Errors
/// 1641.
pub(crate) fn check_items(items: &[(ConditionItem, Expr<'_>)]) -> SqlResult<()> {
    for (at, (item, _)) in items.iter().enumerate() {
        if items[..at].iter().any(|(before, _)| before == item) {
            return Err(SqlError::new(
                1641,
                format!("Duplicate condition information item '{}'", item_name(*item)),
            ));
        }
    }
    Ok(())
}
