//! SHOW CREATE PROCEDURE, FUNCTION, TRIGGER, EVENT.

use super::listing::Listing;
use super::{definition, name_of, text};
use crate::event::EventState;
use crate::program::{create_text, events, find, triggers, unknown};
use crate::statement::StmtCx;
use vaquita_catalog::object::ObjectBody;
use vaquita_engine::ObjectKind;
use vaquita_parser::ast::{ObjectName, ProgramKind};
use vaquita_session::privilege::{Priv, Wanted};
use vaquita_session::vars::{self, VarValue, id};
use vaquita_types::{SqlError, SqlResult, Value};

/// The statement that makes a procedure or function; NULL for whoever may not read it.
pub(super) fn create(cx: &mut StmtCx<'_>, kind: ProgramKind, name: &ObjectName<'_>) -> SqlResult<Listing> {
    let database = name.schema.map_or_else(|| cx.state.database.clone(), name_of);
    let name = name_of(name.name);
    let found = find(cx.db, cx.state, kind, &database, &name)?;
    let routine = found.ok_or_else(|| unknown(kind, &name))?;
    let access = cx.db.routine_access(cx.state, &routine);
    if !access.any(Priv::EXECUTE | Priv::ALTER_ROUTINE | Priv::CREATE_ROUTINE | Priv::SELECT) {
        return Err(unknown(kind, &name));
    }
    let is_function = kind == ProgramKind::Function;
    let mut listing = Listing::new(&[
        (if is_function { "Function" } else { "Procedure" }, "varchar(64)!"),
        ("sql_mode", "varchar(8192)!"),
        (if is_function { "Create Function" } else { "Create Procedure" }, "longtext"),
        ("character_set_client", "varchar(32)!"),
        ("collation_connection", "varchar(32)!"),
        ("Database Collation", "varchar(32)!"),
    ]);
    let style = crate::ddl::show_style(&cx.state.vars);
    let body = &routine.body;
    let made = create_text(kind, &routine.name, body, |name| style.name(name));
    listing.rows.push(vec![
        text(&*routine.name),
        text(VarValue::UInt(body.sql_mode).show(id::SQL_MODE.def().kind)),
        match access.has(Priv::SELECT) {
            true => definition(cx, body, made),
            false => Value::Null,
        },
        text(vars::charset_name(body.client_collation)),
        text(vars::collation_name(body.connection_collation)),
        text(vars::collation_name(body.database_collation)),
    ]);
    Ok(listing)
}

/// Whether the session may know of the events of a database.
///
/// # Errors
/// 1044.
pub(super) fn check_events(cx: &StmtCx<'_>, database: &str) -> SqlResult<()> {
    let privileges = &cx.state.privileges;
    if (privileges.global | privileges.in_database(database)).has(Priv::EVENT) {
        return Ok(());
    }
    let (user, host) = (&cx.state.account_user, &cx.state.account_host);
    Err(SqlError::database_denied(user, host, database))
}

/// The statement that makes an event.
///
/// # Errors
/// 1539; 1044 without the privilege EVENT.
pub(super) fn create_event(cx: &mut StmtCx<'_>, name: &ObjectName<'_>) -> SqlResult<Listing> {
    let database = name.schema.map_or_else(|| cx.state.database.clone(), name_of);
    if database.is_empty() {
        return Err(SqlError::new(1046, "No database selected"));
    }
    check_events(cx, &database)?;
    let name = name_of(name.name);
    let objects = cx.db.engine.core().objects();
    let file_name = vaquita_catalog::file_name(&database).ok();
    let object = file_name.and_then(|database| objects.get(ObjectKind::Event, &database, &name));
    let object = object.ok_or_else(|| events::unknown(&name))?;
    let body = ObjectBody::of(object)?;
    let style = crate::ddl::show_style(&cx.state.vars);
    let mut listing = Listing::new(&[
        ("Event", "varchar(64)!"),
        ("sql_mode", "varchar(8192)!"),
        ("time_zone", "varchar(64)!"),
        ("Create Event", "varchar(1024)!"),
        ("character_set_client", "varchar(32)!"),
        ("collation_connection", "varchar(32)!"),
        ("Database Collation", "varchar(32)!"),
    ]);
    listing.rows.push(vec![
        text(&*object.name),
        text(VarValue::UInt(body.sql_mode).show(id::SQL_MODE.def().kind)),
        text(EventState::of(&body).time_zone),
        definition(cx, &body, events::create_text(&object.name, &body, |name| style.name(name))),
        text(vars::charset_name(body.client_collation)),
        text(vars::collation_name(body.connection_collation)),
        text(vars::collation_name(body.database_collation)),
    ]);
    Ok(listing)
}

/// The statement that makes a trigger.
///
/// # Errors
/// 1360; 1227 without the privilege TRIGGER on its table.
pub(super) fn create_trigger(cx: &mut StmtCx<'_>, name: &ObjectName<'_>) -> SqlResult<Listing> {
    let database = name.schema.map_or_else(|| cx.state.database.clone(), name_of);
    if database.is_empty() {
        return Err(SqlError::new(1046, "No database selected"));
    }
    let object = triggers::find(cx.db, &database, &name_of(name.name)).ok_or_else(triggers::missing)?;
    let objects = cx.db.engine.core().objects();
    let table = object.table_name().unwrap_or_default();
    let listed = triggers::of_table(objects.triggers_of(&table))?;
    let listed = listed.into_iter().find(|t| t.object.id == object.id).ok_or_else(triggers::missing)?;
    if !cx.state.privileges.allow(&Wanted::table(&listed.database, &listed.table, Priv::TRIGGER)) {
        let text = "Access denied; you need (at least one of) the TRIGGER privilege(s) for this operation";
        return Err(SqlError::new(1227, text));
    }
    let mut listing = Listing::new(&[
        ("Trigger", "varchar(64)!"),
        ("sql_mode", "varchar(8192)!"),
        ("SQL Original Statement", "longtext!"),
        ("character_set_client", "varchar(32)!"),
        ("collation_connection", "varchar(32)!"),
        ("Database Collation", "varchar(32)!"),
    ]);
    let body = &listed.body;
    listing.rows.push(vec![
        text(&*listed.object.name),
        text(VarValue::UInt(body.sql_mode).show(id::SQL_MODE.def().kind)),
        definition(cx, body, triggers::create_text(&listed)),
        text(vars::charset_name(body.client_collation)),
        text(vars::collation_name(body.connection_collation)),
        text(vars::collation_name(body.database_collation)),
    ]);
    Ok(listing)
}
