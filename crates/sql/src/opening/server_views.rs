//! Views of a folder that a MySQL server made: their `.frm` files are read once, when the folder is taken over; then they are objects
//! of the dictionary as any other.
//!
//! | a crash | leaves |
//! |---|---|
//! | before all are there | those that are there; the others come when the folder is opened again |
//! | after | all of them, and a file that says so: what is dropped later does not come back |

use crate::database::Database;
use crate::ddl::views::set_options;
use bumpalo::Bump;
use vaquita_catalog::{ObjectBody, Security, error};
use vaquita_engine::lower::charset::Charset;
use vaquita_engine::lower::collation;
use vaquita_engine::lower::frm_view::FrmView;
use vaquita_engine::{Object, ObjectKind, Put};
use vaquita_parser::ast::{ViewAlgorithm, ViewCheck};
use vaquita_types::sql_mode::SqlMode;
use vaquita_types::temporal::calendar::to_unix;
use vaquita_types::temporal::parse::parse_datetime;
use vaquita_types::temporal::{Date, DateContext};
use vaquita_types::{SqlError, SqlResult};

/// Takes over what the server has left. What cannot be is said in the log, and is no reason not to open the folder.
pub(super) fn take_over(db: &Database) {
    let report = db.engine().report();
    if report.foreign || db.engine().core().storage.options().read_only {
        return;
    }
    let views = match db.engine().core().server_views() {
        Ok(views) => views,
        Err(e) => return db.say_at_start(format!("the views of the server cannot be read: {e}")),
    };
    let mut complete = true;
    for (database, name, file) in views {
        let view = format!("`{database}`.`{name}`");
        let made = file.map_err(|e| SqlError::new(1105, e.to_string())).and_then(|file| {
            let object = Object::new(ObjectKind::View, database, name, body_of(&file)?.encode());
            match db.engine().session().put_object(&object, Put::New) {
                // It was here before, or has been made anew.
                Err(vaquita_engine::Error::ObjectExists(_)) => Ok(()),
                put => put.map_err(|e| {
                    complete = false;
                    error::engine(&e)
                }),
            }
        });
        if let Err(e) = made {
            db.say_at_start(format!("view {view} is not taken over: {}", e.message));
        }
    }
    if complete && let Err(e) = db.engine().core().note_server_views() {
        db.say_at_start(format!("the views of the server will be read again: {e}"));
    }
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
