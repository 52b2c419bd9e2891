//! Procedures and functions.

use super::making::{Cells, Making, text, text_or_null};
use super::schema_tables::{data_type, measures};
use crate::program::find;
use crate::routine::{Routine, kind_name, mode_name, property};
use std::sync::Arc;
use vaquita_catalog::object::Security;
use vaquita_parser::ast::ProgramKind;
use vaquita_session::privilege::Priv;
use vaquita_session::vars::{self, VarValue, id};
use vaquita_types::{Kind, SqlResult, SqlType, Value};

/// Those the session may know of, with whether it may read their bodies.
fn all(m: &mut Making<'_, '_>, database_column: usize) -> SqlResult<Vec<(Arc<Routine>, bool)>> {
    let mut out = Vec::new();
    // Who reads `mysql.proc` knows of them all.
    let privileges = &m.state().privileges;
    let reads_all = (privileges.global | privileges.in_database("mysql")).has(Priv::SELECT);
    let databases = match reads_all {
        true => m.all_databases(database_column)?,
        false => m.databases(database_column)?,
    };
    for (database, file_name) in databases {
        for kind in [ProgramKind::Function, ProgramKind::Procedure] {
            let objects = m.db.engine.core().objects();
            let of_kind = crate::program::object_kind(kind);
            let names: Vec<String> = objects.list(of_kind, &file_name).map(|o| o.name.clone()).collect();
            for name in names {
                let found = find(m.db, m.cx.state, kind, &database, &name)?;
                let Some(routine) = found else { continue };
                let access = m.db.routine_access(m.cx.state, &routine);
                if access.any(Priv::EXECUTE | Priv::ALTER_ROUTINE | Priv::CREATE_ROUTINE | Priv::SELECT) {
                    out.push((routine, access.has(Priv::SELECT)));
                }
            }
        }
    }
    out.sort_by(|(a, _), (b, _)| (&a.database, &a.name).cmp(&(&b.database, &b.name)));
    Ok(out)
}

/// Data type, lengths, precisions, character set, the type as declared.
fn type_cells(ty: Option<&SqlType>) -> Cells {
    let Some(ty) = ty else {
        let mut cells = vec![text("")];
        cells.extend((0..8).map(|_| Value::Null));
        return cells;
    };
    let is_text = (ty.kind.is_string() || matches!(ty.kind, Kind::Enum | Kind::Set))
        && ty.collation != vaquita_types::sql_type::BINARY;
    let declared = ty.column_type();
    let mut cells = vec![text(data_type(&declared))];
    let [chars, bytes, digits, mut scale, seconds] = measures(ty);
    if ty.kind.is_integer() {
        scale = Value::UInt(0);
    }
    cells.extend([chars, bytes, digits, scale, seconds]);
    cells.push(text_or_null(is_text.then(|| vars::charset_name(ty.collation))));
    cells.push(text_or_null(is_text.then(|| vars::collation_name(ty.collation))));
    cells.push(text(declared));
    cells
}

/// ROUTINES.
pub(super) fn routines(m: &mut Making<'_, '_>) -> SqlResult<()> {
    for (routine, reads) in all(m, 2)? {
        let body = &routine.body;
        let kind = text(kind_name(routine.kind));
        let mut row =
            vec![text(&*routine.name), text("def"), text(&*routine.database), text(&*routine.name), kind];
        row.extend(type_cells(routine.returns.as_ref().map(|returns| &returns.ty)));
        let (created, modified) = (m.local(body.created as i64), m.local(body.modified as i64));
        row.extend([
            text("SQL"),
            text_or_null(reads.then_some(&body.text)),
            Value::Null,
            Value::Null,
            text("SQL"),
            text(body.get(property::DETERMINISTIC)),
            text(body.get(property::ACCESS)),
            Value::Null,
            text(if body.security == Security::Invoker { "INVOKER" } else { "DEFINER" }),
            created,
            modified,
            text(VarValue::UInt(body.sql_mode).show(id::SQL_MODE.def().kind)),
            text(&body.comment),
            text(format!("{}@{}", body.definer.0, body.definer.1)),
            text(vars::charset_name(body.client_collation)),
            text(vars::collation_name(body.connection_collation)),
            text(vars::collation_name(body.database_collation)),
        ]);
        m.push(row);
    }
    Ok(())
}

/// PARAMETERS: of a function, its value comes first.
pub(super) fn parameters(m: &mut Making<'_, '_>) -> SqlResult<()> {
    for (routine, _) in all(m, 1)? {
        let mut push = |at: usize, mode: Value<'static>, name: Value<'static>, ty: &SqlType| {
            let mut row = vec![text("def"), text(&*routine.database), text(&*routine.name)];
            row.extend([Value::UInt(at as u64), mode, name]);
            row.extend(type_cells(Some(ty)));
            row.push(text(kind_name(routine.kind)));
            m.push(row);
        };
        if let Some(returns) = &routine.returns {
            push(0, Value::Null, Value::Null, &returns.ty);
        }
        for (at, param) in routine.params.iter().enumerate() {
            push(at + 1, text(mode_name(param.mode)), text(&param.name), &param.ty.ty);
        }
    }
    Ok(())
}
