//! Opening a folder: the engine's settings, accounts and logs, what is to be done at the start.
//!
//! | part | file |
//! |---|---|
//! | the engine's settings from system variables | `options` |
//! | what a folder and its server are | `identity` |
//! | how much memory all sessions may take | `memory` |
//! | views and triggers of the MySQL server that made the folder | `server_views`, `server_triggers` |
//!
//! What a [`Database`] asks for that stands above it is put in here: the tables of information_schema, sessions for
//! statements of its own.

mod identity;
mod memory;
mod options;
mod server_triggers;
mod server_views;

use crate::connection::{Connection, FunctionsOfFolder};
use crate::database::Database;
use crate::insider::{Insider, Insiders};
use crate::virtual_tables::InfoTables;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use vaquita_catalog::frm::write::ServerFiles;
use vaquita_catalog::{quoted_name, sql_name};
use vaquita_engine::fulltext::parser::Parsers;
use vaquita_engine::{Engine, ServerObjects};
use vaquita_expr::stored::AnyPrograms;
use vaquita_session::vars::{Globals, VarId, VarValue, id};
use vaquita_types::{SqlError, SqlResult};

/// How to open.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder; created if it is not there.
    pub dir: PathBuf,
    /// System variables, by name, as text: what `--name=value` and option files give.
    pub variables: Vec<(String, String)>,
}

/// Makes sessions of a folder for statements of its own. It is a part of the folder: therefore weakly.
#[derive(Debug)]
struct OfFolder(Weak<Database>);

impl Insiders for OfFolder {
    fn session(&self) -> Option<SqlResult<Box<dyn Insider>>> {
        let session = Connection::insider(self.0.upgrade()?);
        Some(session.map(|session| Box::new(session) as Box<dyn Insider>))
    }
}

impl Database {
    /// Opens a folder; a new one gets its system tables and `root@localhost`.
    ///
    /// # Errors
    /// The folder cannot be used, a variable is unknown or has a value it cannot have.
    pub fn open(options: Options) -> SqlResult<Arc<Database>> {
        Database::open_with_parsers(options, Parsers::default())
    }

    /// Opens a folder as [`Database::open`] does; `progress` is told how far recovery is, while it runs.
    ///
    /// # Errors
    /// As [`Database::open`].
    pub fn open_and_tell(
        options: Options,
        progress: vaquita_engine::RecoveryProgress,
    ) -> SqlResult<Arc<Database>> {
        Database::open_told(options, Parsers::default(), progress)
    }

    /// The same with parsers of one's own, which FULLTEXT keys may name. A variable says the size of `ngram`.
    ///
    /// # Errors
    /// As [`Database::open`].
    pub fn open_with_parsers(options: Options, parsers: Parsers) -> SqlResult<Arc<Database>> {
        Database::open_told(options, parsers, vaquita_engine::RecoveryProgress::default())
    }

    fn open_told(
        options: Options,
        parsers: Parsers,
        progress: vaquita_engine::RecoveryProgress,
    ) -> SqlResult<Arc<Database>> {
        let mut globals = Globals::new(&options.variables)?;
        let mut engine_options = options::engine_options(&options.dir, &globals)?;
        let ngram_size = std::mem::replace(&mut engine_options.parsers, parsers).ngram_size;
        engine_options.parsers.ngram_size = ngram_size;
        engine_options.storage.progress = progress;
        // Without a word about it the log of a folder stays as it is.
        let of_log = ["innodb_log_file_size", "innodb_log_files_in_group"];
        engine_options.storage.resize_log = options
            .variables
            .iter()
            .any(|(name, _)| of_log.iter().any(|of_log| name.replace('-', "_").eq_ignore_ascii_case(of_log)));
        globals.session().tmp_folders.check()?;
        memory::limit_by_machine(&mut globals, &options.variables);
        let engine = Engine::open(engine_options).map_err(|e| SqlError::new(1105, e.to_string()))?;
        engine.core().dict.set_partitioning(Arc::new(vaquita_plan::partition::Functions));
        open_on(engine, globals, &options.dir)
    }

    /// Whether opening would find a folder that another server made and nobody has taken over. Changes nothing.
    ///
    /// # Errors
    /// As [`Database::open`].
    pub fn is_of_another_server(options: &Options) -> SqlResult<bool> {
        let globals = Globals::new(&options.variables)?;
        let engine_options = options::engine_options(&options.dir, &globals)?;
        let origin = Engine::origin(&engine_options).map_err(|e| SqlError::new(1105, e.to_string()))?;
        Ok(origin == vaquita_engine::Origin::Other)
    }

    /// On an engine that is open already: for simulations.
    ///
    /// # Errors
    /// As [`Database::open`].
    pub fn on_engine(engine: Engine, variables: &[(String, String)]) -> SqlResult<Arc<Database>> {
        let globals = Globals::new(variables)?;
        open_on(engine, globals, "/".as_ref())
    }
}

fn open_on(engine: Engine, globals: Globals, dir: &Path) -> SqlResult<Arc<Database>> {
    let files_are_right = engine.keep_server_files(Arc::new(ServerFiles)).unwrap_or_else(|e| {
        engine
            .core()
            .notes
            .say(format!("files of tables that a MySQL server goes by are not as they should be: {e}"));
        false
    });
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    globals.put(id::DATADIR, VarValue::Text(format!("{}/", dir.display()).into()));
    if let Ok(name) = std::fs::read_to_string("/proc/sys/kernel/hostname") {
        globals.put(id::HOSTNAME, VarValue::Text(name.trim().into()));
    }
    put_what_is(&engine, &globals);
    identity::tell(&globals, &dir, engine.core().storage.options().read_only)?;
    let db = Arc::new_cyclic(|db| {
        let virtual_tables = Box::new(InfoTables::of(db.clone()));
        Database::new(engine, globals, dir, virtual_tables, Arc::new(OfFolder(db.clone())))
    });
    let functions: AnyPrograms = Box::new(FunctionsOfFolder(Arc::downgrade(&db)));
    let _ = db.programs.set(Box::new(functions));
    crate::dcl::open(&db)?;
    // What differs then is what the server has done.
    if files_are_right && is_shared_with_a_server(&db) {
        take_over_objects(&db);
    }
    // Not before: the accounts may have to be made first.
    db.apply_at_start();
    db.start_logs()?;
    db.do_what_start_asks_for();
    run_init_file(&db)?;
    let folder = Arc::downgrade(&db);
    db.events.set_starter(Box::new(move |signal| crate::scheduler::start(folder.clone(), signal)));
    db.start_events()?;
    Ok(db)
}

/// Takes over what the server has done to views and triggers. What cannot be is said in the log, and is no reason not to open the folder.
fn take_over_objects(db: &Database) {
    match db.engine().core().server_objects() {
        Ok(ServerObjects { views, triggers }) => {
            server_views::take_over(db, views);
            server_triggers::take_over(db, &triggers);
        }
        Err(e) => db.say_at_start(format!("the views and triggers of the server cannot be read: {e}")),
    }
}

/// The name of a table or view for people; `name` is the engine's.
fn shown(name: &str) -> String {
    let (database, name) = sql_name(name);
    format!("{}.{}", quoted_name(&database), quoted_name(&name))
}

/// Whether the files of a MySQL server say what it has done meanwhile.
fn is_shared_with_a_server(db: &Database) -> bool {
    let core = db.engine().core();
    !db.engine().report().foreign && !core.storage.options().read_only && core.is_folder_of_a_server()
}

/// `init_file`: statements, up to the first that fails. What there is to say of it is for the log.
///
/// # Errors
/// 29: the file cannot be read.
fn run_init_file(db: &Arc<Database>) -> SqlResult<()> {
    let Some(name) = db.globals.text("init_file").filter(|name| !name.is_empty()) else {
        return Ok(());
    };
    let text = std::fs::read(db.dir.join(&name))
        .map_err(|e| SqlError::new(29, format!("init_file: File '{name}' cannot be read: {e}")))?;
    let mut connection = Connection::insider(db.clone())?;
    connection.set_multi_statements(true);
    db.say_at_start(format!("Execution of init_file '{name}' started."));
    if let Err(e) = connection.query(&text, &mut vaquita_session::sink::Collected::default()) {
        db.say_at_start(format!("ERROR: {}  {}", e.code, e.message));
    }
    db.say_at_start(format!("Execution of init_file '{name}' ended."));
    Ok(())
}

/// Values that follow from what the folder is, whatever was asked for.
fn put_what_is(engine: &Engine, globals: &Globals) {
    let storage = &engine.core().storage;
    let log = storage.log().geometry();
    let facts = [
        ("innodb_log_file_size", log.file_size()),
        ("innodb_log_files_in_group", log.n_files().into()),
        ("innodb_read_only", u64::from(storage.options().read_only)),
        ("innodb_use_native_aio", u64::from(engine.has_native_aio())),
    ];
    for (name, value) in facts {
        if let Some(id) = VarId::find(name.as_bytes()) {
            globals.put(id, VarValue::UInt(value));
        }
    }
}
