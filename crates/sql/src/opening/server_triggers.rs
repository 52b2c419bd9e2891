//! Triggers of a folder that a MySQL server made: those of its `.TRG` files are objects of the dictionary.
//!
//! | when the folder is opened | |
//! |---|---|
//! | a table's file does not say what is kept of its triggers | the server has changed them: they are what the file says |
//! | no file of a table whose triggers are known to the server | the server has dropped them, or the table: they go |
//! | one trigger of a file cannot be read | the log says so; the table's triggers stay as they were, and the table can only be read |
//! | the table is none of InnoDB's | the file is the server's alone |
//!
//! Before that the files were put right which a crash had left as they should not be (`vaquita_engine::ddl`), so what differs is the
//! server's doing. A trigger that was made where no server was to be told of it is what the dictionary says.
//!
//! # Crash
//! The triggers of each table are taken over, or go, by a change of its own: what was not done is done when the folder is opened again.

use super::shown;
use crate::database::Database;
use crate::ddl::trigger_files;
use std::sync::Arc;
use vaquita_catalog::{ObjectBody, error, quoted_name, trigger};
use vaquita_engine::{Object, ObjectKind};
use vaquita_types::{SqlError, SqlResult};

/// Takes over what the server has done to triggers, of which these tables have lists.
pub(super) fn take_over(db: &Database, tables: &[String]) {
    for table in tables {
        if let Err(e) = take_table(db, table) {
            db.say_at_start(format!("triggers of table {} are not taken over: {}", shown(table), e.message));
        }
    }
    let objects = db.engine().core().objects();
    let is_left = |object: &&Arc<Object>| {
        is_told(object) && object.table_name().is_some_and(|table| !tables.contains(&table))
    };
    let gone: Vec<_> = objects.all(ObjectKind::Trigger).filter(is_left).cloned().collect();
    if let Err(e) = follow(db, &gone, &[]) {
        db.say_at_start(format!("triggers that the server has dropped stay: {}", e.message));
    }
}

/// Makes the triggers of a table what their file says, unless they are.
fn take_table(db: &Database, table: &str) -> SqlResult<()> {
    let core = db.engine().core();
    if !error::of_engine(core.has_table(table))? || !error::of_engine(core.has_server_triggers(table))? {
        return Ok(());
    }
    let Some(listed) = error::of_engine(core.server_triggers(table))? else { return Ok(()) };
    let listed = listed.map_err(|e| SqlError::new(1105, e.to_string()))?;
    let made = listed.iter().map(|told| trigger_files::read(table, told)).collect::<SqlResult<Vec<_>>>()?;
    let objects = core.objects();
    let named = |made: &Object| objects.get(ObjectKind::Trigger, &made.database, &made.name);
    if let Some(ours) = made.iter().filter_map(named).find(|object| !is_told(object)) {
        return Err(SqlError::new(1105, format!("trigger {} was made here", quoted_name(&ours.name))));
    }
    let of_table = objects.triggers_of(table).iter().filter(|object| is_told(object));
    let mut gone: Vec<_> = of_table.chain(made.iter().filter_map(named)).cloned().collect();
    gone.sort_by_key(|object| object.id);
    gone.dedup_by_key(|object| object.id);
    follow(db, &gone, &made)
}

fn follow(db: &Database, gone: &[Arc<Object>], made: &[Object]) -> SqlResult<()> {
    if gone.is_empty() && made.is_empty() {
        return Ok(());
    }
    error::of_engine(db.engine().session().follow_server(gone, made))?;
    let stays = |gone: &&Arc<Object>| {
        made.iter().any(|made| (&made.database, &made.name) == (&gone.database, &gone.name))
    };
    for object in gone.iter().filter(|object| !stays(object)) {
        let table = object.table_name().unwrap_or_default();
        let name = quoted_name(&object.name);
        db.say_at_start(format!(
            "trigger {name} of table {} is gone: the server has dropped it",
            shown(&table)
        ));
    }
    Ok(())
}

fn is_told(object: &Object) -> bool {
    ObjectBody::of(object).is_ok_and(|body| trigger::is_told(&body))
}
