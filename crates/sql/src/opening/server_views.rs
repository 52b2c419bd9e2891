//! Views of a folder that a MySQL server made: their `.frm` files are objects of the dictionary, each kept with its file, byte for byte.
//!
//! | when the folder is opened | |
//! |---|---|
//! | there is a file and no view | the server has made it: it becomes a view |
//! | the file is not that which is kept with the view | the server has made the view anew: it is what the file says |
//! | no file of a view that had one | the server has dropped the view: it goes |
//! | the file cannot be read | the log says so; a view that was there before stays as it was |
//!
//! Before that the files were put right which a crash had left as they should not be (`vaquita_engine::ddl`), so what differs is the
//! server's doing. A view that is kept without a file was made where no server was to be told of it, and is what the dictionary says.
//!
//! # Crash
//! Each view is taken over, or goes, by a change of its own: what was not done is done when the folder is opened again.

use super::shown;
use crate::database::Database;
use crate::ddl::views::set_options;
use bumpalo::Bump;
use std::collections::HashSet;
use vaquita_catalog::{ObjectBody, Security, error};
use vaquita_engine::lower::charset::Charset;
use vaquita_engine::lower::collation;
use vaquita_engine::lower::frm_view::FrmView;
use vaquita_engine::{Object, ObjectKind, Put, ServerView, Standing};
use vaquita_parser::ast::{ViewAlgorithm, ViewCheck};
use vaquita_types::sql_mode::SqlMode;
use vaquita_types::temporal::calendar::to_unix;
use vaquita_types::temporal::parse::parse_datetime;
use vaquita_types::temporal::{Date, DateContext};
use vaquita_types::{SqlError, SqlResult};

/// Takes over what the server has done to views, whose files these are.
pub(super) fn take_over(db: &Database, files: Vec<ServerView>) {
    let core = db.engine().core();
    let mut there = HashSet::new();
    for (database, name, file) in files {
        there.insert((database.clone(), name.clone()));
        if let Err(e) = take_file(db, &database, &name, &file) {
            let view = shown(&format!("{database}/{name}"));
            db.say_at_start(format!("view {view} is not taken over: {}", e.message));
        }
    }
    let views: Vec<_> = db.engine().session().objects().all(ObjectKind::View).cloned().collect();
    for view in views {
        let had_file = ObjectBody::of(&view).is_ok_and(|body| body.server_file().is_some());
        if !had_file || there.contains(&(view.database.clone(), view.name.clone())) {
            continue;
        }
        let name = shown(&view.lock_name());
        // What stands there now is not the view's: it is of a table, or nothing.
        let gone =
            error::of_engine(core.server_file_of(&view.lock_name())).and_then(|standing| match standing {
                Standing::View => Ok(false),
                _ => error::of_engine(db.engine().session().drop_this_object(&view)),
            });
        match gone {
            Ok(true) => db.say_at_start(format!("view {name} is gone: the server has dropped it")),
            Ok(false) => {}
            Err(e) => db.say_at_start(format!("view {name} stays: {}", e.message)),
        }
    }
}

/// Makes a view what its file says, unless it is.
fn take_file(db: &Database, database: &str, name: &str, file: &[u8]) -> SqlResult<()> {
    let mut session = db.engine().session();
    let there = session.objects().view(&format!("{database}/{name}")).cloned();
    if let Some(view) = there
        && ObjectBody::of(&view)?.server_file().is_none_or(|kept| kept == file)
    {
        return Ok(());
    }
    let view = FrmView::parse(file).map_err(|e| SqlError::new(1105, e.to_string()))?;
    let mut body = body_of(&view)?;
    body.set_server_file(file);
    let object = Object::new(ObjectKind::View, database, name, body.encode());
    error::of_engine(session.put_object(&object, Put::Any))
}

/// A view as it is kept.
fn body_of(file: &FrmView) -> SqlResult<ObjectBody> {
    let arena = Bump::new();
    vaquita_plan::view::parse_kept(&file.query, &arena)?;
    let written = parse_datetime(
        file.timestamp.as_bytes(),
        &DateContext { mode: SqlMode::default(), today: Date::default() },
    )
    .value;
    let created = written.map_or(0, |time| u64::try_from(to_unix(time)).unwrap_or(0));
    let server = Charset::UTF8MB4.default_collation();
    let connection = collation::by_name(&file.connection_collation).unwrap_or(server);
    let client = Charset::by_name(&file.client_charset).map_or(server, Charset::default_collation);
    let mut body = ObjectBody {
        definer: file.definer.clone(),
        security: if file.invoker { Security::Invoker } else { Security::Definer },
        client_collation: client,
        connection_collation: connection,
        database_collation: connection,
        created,
        modified: created,
        text: file.query.clone(),
        ..ObjectBody::default()
    };
    let algorithm = match file.algorithm {
        1 => ViewAlgorithm::TempTable,
        2 => ViewAlgorithm::Merge,
        _ => ViewAlgorithm::Undefined,
    };
    let check = match file.check {
        1 => ViewCheck::Local,
        2 => ViewCheck::Cascaded,
        _ => ViewCheck::None,
    };
    set_options(&mut body, algorithm, check);
    Ok(body)
}
