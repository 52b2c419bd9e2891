//! Objects of SQL that are not tables: made, replaced, dropped and renamed as rows of SYS_VAQUITA_OBJECTS.

use super::change::Change;
use super::definition::delete_all;
use crate::core::Core;
use crate::dict::objects::{Object, ObjectChange, ObjectKind, Objects, rows_of};
use crate::dict::rows;
use crate::error::{Error, Result};
use crate::table::Table;
use std::sync::Arc;
use vaquita_txn::Trx;

/// What making an object takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// There is none of its name.
    New,
    /// There is one of its name, which goes.
    Existing,
    /// Either.
    Any,
}

fn sys_table(core: &Core) -> Result<Arc<Table>> {
    let missing = || Error::WrongState("objects cannot be changed: SYS_VAQUITA_OBJECTS is missing");
    core.dict.sys.objects.clone().ok_or_else(missing)
}

fn now(change: &Change<'_>) -> Arc<Objects> {
    change.core.dict.objects.now()
}

fn remove(change: &mut Change<'_>, object: &Arc<Object>) -> Result<()> {
    change.describes_object(object);
    remove_untold(change, object)
}

/// The same where a server knows already.
fn remove_untold(change: &mut Change<'_>, object: &Arc<Object>) -> Result<()> {
    let table = sys_table(change.core)?;
    let id = rows::u64_value(object.id).unwrap_or_default();
    delete_all(change, &table, &[&id])?;
    change.changes_object(ObjectChange::Gone(object.clone()));
    // What is known of a table names its triggers.
    object.table_name().iter().for_each(|table| change.changes(table));
    Ok(())
}

fn add(change: &mut Change<'_>, object: Object) -> Result<()> {
    change.describes_object(&object);
    add_untold(change, object)
}

/// The same where a server knows already.
fn add_untold(change: &mut Change<'_>, object: Object) -> Result<()> {
    let table = sys_table(change.core)?;
    let object = Arc::new(Object { id: change.core.dict.objects.next_id(), ..object });
    rows_of(&object).iter().try_for_each(|row| change.insert(&table, row))?;
    object.table_name().iter().for_each(|table| change.changes(table));
    change.changes_object(ObjectChange::Made(object));
    Ok(())
}

/// Makes an object, or puts it in the place of the one of its name. The metadata locks are the caller's business.
///
/// # Errors
/// [`Error::ObjectExists`], [`Error::NoSuchObject`]; [`Error::TableExists`] for a view that has the name of a table;
/// [`Error::NoSuchTable`] for a trigger of a table that is not there.
///
/// # Crash
/// The object is the old or the new one, whole.
pub fn put_object(core: &Core, trx: &mut Trx, object: &Object, put: Put) -> Result<()> {
    Change::run(core, trx, |change| {
        let now = now(change);
        let there = now.get(object.kind, &object.database, &object.name);
        match (there, put) {
            (Some(_), Put::New) => return Err(Error::ObjectExists(object.name.clone())),
            (None, Put::Existing) => return Err(Error::NoSuchObject(object.name.clone())),
            _ => {}
        }
        if object.kind == ObjectKind::View {
            let name = object.lock_name();
            super::check::table_name(&name)?;
            if change.core.dict.has_table(change.storage(), &name)? {
                return Err(Error::TableExists(name));
            }
        }
        if let Some(table) = object.table_name()
            && !change.core.dict.has_table(change.storage(), &table)?
        {
            return Err(Error::NoSuchTable(table));
        }
        if let Some(there) = there {
            remove(change, there)?;
        }
        add(change, object.clone())
    })
}

/// Drops an object; whether there was one.
///
/// # Errors
/// Errors of writing.
pub fn drop_object(core: &Core, trx: &mut Trx, kind: ObjectKind, database: &str, name: &str) -> Result<bool> {
    Change::run(core, trx, |change| match now(change).get(kind, database, name) {
        Some(object) => remove(change, object).map(|()| true),
        None => Ok(false),
    })
}

/// The object of that number, if it is still there under its name.
fn still_there(change: &Change<'_>, object: &Object) -> Option<Arc<Object>> {
    let now = now(change);
    let there = now.get(object.kind, &object.database, &object.name)?;
    (there.id == object.id).then(|| there.clone())
}

/// Gives an object another body and leaves it its number; whether it is still the one of that number. What is known of it by its
/// number must not depend on what changes.
///
/// # Errors
/// Errors of writing.
///
/// # Crash
/// The body is the old or the new one, whole.
pub fn update_object(core: &Core, trx: &mut Trx, object: &Object) -> Result<bool> {
    Change::run(core, trx, |change| {
        let Some(there) = still_there(change, object) else { return Ok(false) };
        let table = sys_table(change.core)?;
        let id = rows::u64_value(object.id).unwrap_or_default();
        delete_all(change, &table, &[&id])?;
        let object = Arc::new(Object { body: object.body.clone(), ..Object::clone(&there) });
        rows_of(&object).iter().try_for_each(|row| change.insert(&table, row))?;
        change.changes_object(ObjectChange::Made(object));
        Ok(true)
    })
}

/// Puts an object in the place of another one of its kind that has another name, which goes.
///
/// # Errors
/// [`Error::NoSuchObject`]; [`Error::ObjectExists`] the new name is taken.
///
/// # Crash
/// There is the old one or the new one.
pub fn move_object(core: &Core, trx: &mut Trx, from: (&str, &str), object: &Object) -> Result<()> {
    Change::run(core, trx, |change| {
        let now = now(change);
        let Some(old) = now.get(object.kind, from.0, from.1) else {
            return Err(Error::NoSuchObject(from.1.to_owned()));
        };
        if now.get(object.kind, &object.database, &object.name).is_some() {
            return Err(Error::ObjectExists(object.name.clone()));
        }
        remove(change, old)?;
        add(change, object.clone())
    })
}

/// Drops an object if it is still the one of that number; whether it was.
///
/// # Errors
/// Errors of writing.
pub fn drop_this_object(core: &Core, trx: &mut Trx, object: &Object) -> Result<bool> {
    Change::run(core, trx, |change| match still_there(change, object) {
        Some(there) => remove(change, &there).map(|()| true),
        None => Ok(false),
    })
}

/// Lets triggers be what a server has made of them: its files say so already, and are not written.
///
/// # Errors
/// One that is to go is not there; errors of writing.
///
/// # Crash
/// All of it is done, or nothing.
pub fn follow_server(core: &Core, trx: &mut Trx, gone: &[Arc<Object>], made: &[Object]) -> Result<()> {
    Change::run(core, trx, |change| {
        for object in gone {
            let there =
                still_there(change, object).ok_or_else(|| Error::NoSuchObject(object.name.clone()))?;
            remove_untold(change, &there)?;
        }
        made.iter().try_for_each(|object| add_untold(change, object.clone()))
    })
}

/// Gives views other names, all at once; names are the engine's, and the new ones are known to be free then.
///
/// # Errors
/// No such view.
pub(super) fn rename_views<'n>(
    change: &mut Change<'_>,
    pairs: impl Iterator<Item = (&'n str, &'n str)>,
) -> Result<()> {
    let now = now(change);
    let mut renamed = Vec::new();
    for (from, to) in pairs {
        let old = now.view(from).ok_or_else(|| Error::NoSuchTable(from.to_owned()))?;
        let (database, name) = to.split_once('/').ok_or_else(|| Error::BadDefinition(to.to_owned()))?;
        renamed.push(Object { database: database.to_owned(), name: name.to_owned(), ..Object::clone(old) });
        remove(change, old)?;
    }
    renamed.into_iter().try_for_each(|view| add(change, view))
}

/// Whether the engine's name is that of a view.
pub(super) fn is_view(change: &Change<'_>, name: &str) -> bool {
    now(change).view(name).is_some()
}

/// Drops the triggers of a table.
pub(super) fn drop_triggers(change: &mut Change<'_>, table: &str) -> Result<()> {
    now(change).triggers_of(table).iter().try_for_each(|trigger| remove(change, trigger))
}

/// Lets triggers go with their table.
///
/// # Errors
/// [`Error::TriggerInWrongDatabase`].
pub(super) fn rename_triggers(change: &mut Change<'_>, from: &str, to: &str) -> Result<()> {
    let now = now(change);
    let triggers = now.triggers_of(from);
    if triggers.is_empty() {
        return Ok(());
    }
    let (Some((old, _)), Some((new, table))) = (from.split_once('/'), to.split_once('/')) else {
        return Err(Error::BadDefinition(to.to_owned()));
    };
    if old != new {
        return Err(Error::TriggerInWrongDatabase);
    }
    // The order of their making is that of their numbers, which they get anew.
    for trigger in triggers {
        remove(change, trigger)?;
        add(change, Object { table: table.to_owned(), ..Object::clone(trigger) })?;
    }
    Ok(())
}

/// Drops everything of a database that is not a table.
pub(super) fn drop_all(change: &mut Change<'_>, database: &str) -> Result<()> {
    let now = now(change);
    for kind in ObjectKind::ALL {
        now.list(kind, database).try_for_each(|object| remove(change, object))?;
    }
    Ok(())
}
