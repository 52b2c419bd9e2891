//! SHOW: most answers are rows of information_schema.
//!
//! | part | file |
//! |---|---|
//! | columns and rows of an answer, LIKE and WHERE | `listing` |
//! | SHOW GRANTS, SHOW CREATE USER | `grants` |
//! | SHOW PRIVILEGES | `privilege_list` |
//! | SHOW CREATE PROCEDURE, FUNCTION | `programs` |
//! | SHOW ENGINE INNODB STATUS | `monitor` |

mod grants;
mod listing;
mod monitor;
mod privilege_list;
mod programs;

use crate::statement::StmtCx;
use crate::virtual_tables::{self, Cells, rows_of, text, text_or_null};
use listing::Listing;
use std::sync::Arc;
use vaquita_exec::Outcome;
use vaquita_parser::ast::{self, Ident, ObjectName, Show, ShowEngine, ShowFilter, VarScope};
use vaquita_plan::Wanted;
use vaquita_session::access::has_temporary;
use vaquita_session::privilege::Priv;
use vaquita_session::sink::{ColumnMeta, ResultSink};
use vaquita_session::vars;
use vaquita_types::{Level, SqlError, SqlResult, SqlType, Value};

/// Columns of SHOW COLUMNS, those of FULL, and where they are in COLUMNS.
const COLUMNS: &[(&str, &str, usize)] = &[
    ("Field", "varchar(64)!", 3),
    ("Type", "longtext!", 15),
    ("Null", "varchar(3)!", 6),
    ("Key", "varchar(3)!", 16),
    ("Default", "longtext", 5),
    ("Extra", "varchar(30)!", 17),
];
const FULL_COLUMNS: &[(&str, &str, usize)] = &[
    ("Field", "varchar(64)!", 3),
    ("Type", "longtext!", 15),
    ("Collation", "varchar(32)", 14),
    ("Null", "varchar(3)!", 6),
    ("Key", "varchar(3)!", 16),
    ("Default", "longtext", 5),
    ("Extra", "varchar(30)!", 17),
    ("Privileges", "varchar(80)!", 18),
    ("Comment", "varchar(1024)!", 19),
];
const INDEX: &[(&str, &str, usize)] = &[
    ("Table", "varchar(64)!", 2),
    ("Non_unique", "bigint(1)!", 3),
    ("Key_name", "varchar(64)!", 5),
    ("Seq_in_index", "bigint(2)!", 6),
    ("Column_name", "varchar(64)!", 7),
    ("Collation", "varchar(1)", 8),
    ("Cardinality", "bigint(21)", 9),
    ("Sub_part", "bigint(3)", 10),
    ("Packed", "varchar(10)", 11),
    ("Null", "varchar(3)!", 12),
    ("Index_type", "varchar(16)!", 13),
    ("Comment", "varchar(16)", 14),
    ("Index_comment", "varchar(1024)!", 15),
];
const TABLE_STATUS: &[(&str, &str, usize)] = &[
    ("Name", "varchar(64)!", 2),
    ("Engine", "varchar(64)", 4),
    ("Version", "bigint(21) unsigned", 5),
    ("Row_format", "varchar(10)", 6),
    ("Rows", "bigint(21) unsigned", 7),
    ("Avg_row_length", "bigint(21) unsigned", 8),
    ("Data_length", "bigint(21) unsigned", 9),
    ("Max_data_length", "bigint(21) unsigned", 10),
    ("Index_length", "bigint(21) unsigned", 11),
    ("Data_free", "bigint(21) unsigned", 12),
    ("Auto_increment", "bigint(21) unsigned", 13),
    ("Create_time", "datetime", 14),
    ("Update_time", "datetime", 15),
    ("Check_time", "datetime", 16),
    ("Collation", "varchar(32)", 17),
    ("Checksum", "bigint(21) unsigned", 18),
    ("Create_options", "varchar(255)", 19),
    ("Comment", "varchar(2048)!", 20),
];
const ENGINES: &[(&str, &str, usize)] = &[
    ("Engine", "varchar(64)!", 0),
    ("Support", "varchar(8)!", 1),
    ("Comment", "varchar(80)!", 2),
    ("Transactions", "varchar(3)", 3),
    ("XA", "varchar(3)", 4),
    ("Savepoints", "varchar(3)", 5),
];
const CHARACTER_SET: &[(&str, &str, usize)] = &[
    ("Charset", "varchar(32)!", 0),
    ("Description", "varchar(60)!", 2),
    ("Default collation", "varchar(32)!", 1),
    ("Maxlen", "bigint(3)!", 3),
];
const COLLATION: &[(&str, &str, usize)] = &[
    ("Collation", "varchar(32)!", 0),
    ("Charset", "varchar(32)!", 1),
    ("Id", "bigint(11)!", 2),
    ("Default", "varchar(3)!", 3),
    ("Compiled", "varchar(3)!", 4),
    ("Sortlen", "bigint(3)!", 5),
];
const PROCESSLIST: &[(&str, &str, usize)] = &[
    ("Id", "bigint(21)!", 0),
    ("User", "varchar(32)!", 1),
    ("Host", "varchar(64)!", 2),
    ("db", "varchar(64)", 3),
    ("Command", "varchar(16)!", 4),
    ("Time", "int(7)", 5),
    ("State", "varchar(64)", 6),
    ("Info", "longtext", 7),
];
const WARNINGS: &[(&str, &str)] =
    &[("Level", "varchar(7)!"), ("Code", "int(4) unsigned!"), ("Message", "varchar(512)!")];
const PAIRS: &[(&str, &str)] = &[("Variable_name", "varchar(64)!"), ("Value", "varchar(1024)")];
const TRIGGERS: &[(&str, &str, usize)] = &[
    ("Trigger", "varchar(64)!", 2),
    ("Event", "varchar(6)!", 3),
    ("Table", "varchar(64)!", 6),
    ("Statement", "longtext!", 9),
    ("Timing", "varchar(6)!", 11),
    ("Created", "datetime", 16),
    ("sql_mode", "varchar(8192)!", 17),
    ("Definer", "varchar(77)!", 18),
    ("character_set_client", "varchar(32)!", 19),
    ("collation_connection", "varchar(32)!", 20),
    ("Database Collation", "varchar(32)!", 21),
];
const EVENTS: &[(&str, &str, usize)] = &[
    ("Db", "varchar(64)!", 1),
    ("Name", "varchar(64)!", 2),
    ("Definer", "varchar(77)!", 3),
    ("Time zone", "varchar(64)!", 4),
    ("Type", "varchar(9)!", 7),
    ("Execute at", "datetime", 8),
    ("Interval value", "varchar(256)", 9),
    ("Interval field", "varchar(18)", 10),
    ("Starts", "datetime", 12),
    ("Ends", "datetime", 13),
    ("Status", "varchar(18)!", 14),
    ("Originator", "bigint(10)!", 20),
    ("character_set_client", "varchar(32)!", 21),
    ("collation_connection", "varchar(32)!", 22),
    ("Database Collation", "varchar(32)!", 23),
];
const PROGRAMS: &[(&str, &str, usize)] = &[
    ("Db", "varchar(64)!", 2),
    ("Name", "varchar(64)!", 3),
    ("Type", "varchar(9)!", 4),
    ("Definer", "varchar(77)!", 27),
    ("Modified", "datetime!", 24),
    ("Created", "datetime!", 23),
    ("Security_type", "varchar(7)!", 22),
    ("Comment", "longtext!", 26),
    ("character_set_client", "varchar(32)!", 28),
    ("collation_connection", "varchar(32)!", 29),
    ("Database Collation", "varchar(32)!", 30),
];

fn definitions<'d>(columns: &'d [(&'d str, &'d str, usize)]) -> Vec<(&'d str, &'d str)> {
    columns.iter().map(|&(name, ty, _)| (name, ty)).collect()
}

/// Rows of a table of information_schema, some of its columns.
fn project(
    cx: &mut StmtCx<'_>,
    table: &str,
    columns: &[(&str, &str, usize)],
    equal: Vec<(usize, Value<'static>)>,
) -> SqlResult<Listing> {
    let mut listing = Listing::new(&definitions(columns));
    // 5.6 makes the list of sessions by itself.
    listing.of_schema = table != "PROCESSLIST";
    let wanted = Wanted { equal: equal.clone(), columns: Vec::new() };
    for row in rows_of(table, cx, &wanted)? {
        if equal.iter().any(|(at, value)| row.get(*at) != Some(value)) {
            continue;
        }
        let cell = |&(_, _, at): &(&str, &str, usize)| row.get(at).cloned().unwrap_or_default();
        listing.rows.push(columns.iter().map(cell).collect());
    }
    Ok(listing)
}

fn name_of(name: Ident<'_>) -> String {
    String::from_utf8_lossy(name.name).into_owned()
}

/// The database that is named, or the current one.
fn database(cx: &StmtCx<'_>, schema: Option<Ident<'_>>) -> SqlResult<String> {
    let name = schema.map_or_else(|| cx.state.database.clone(), name_of);
    if name.is_empty() {
        return Err(SqlError::new(1046, "No database selected"));
    }
    Ok(vaquita_catalog::virtual_database(&name).map_or(name, str::to_owned))
}

/// The same, which must exist and may be seen.
fn existing_database(cx: &StmtCx<'_>, schema: Option<Ident<'_>>) -> SqlResult<String> {
    let name = database(cx, schema)?;
    if vaquita_catalog::is_for_everybody(&name) {
        return Ok(name);
    }
    // Whoever has anything everywhere may ask for any database, and sees of it what they may.
    let privileges = &cx.state.privileges;
    if !privileges.any_in_database(&name) && privileges.global.is_none() {
        let (user, host) = (&cx.state.account_user, &cx.state.account_host);
        return Err(SqlError::new(
            1044,
            format!("Access denied for user '{user}'@'{host}' to database '{name}'"),
        ));
    }
    if vaquita_catalog::is_virtual_database(&name) {
        return Ok(name);
    }
    let unknown = || SqlError::new(1049, format!("Unknown database '{name}'"));
    let file_name = vaquita_catalog::file_name(&name).map_err(|_| unknown())?;
    vaquita_catalog::database_options(cx.db.engine.core(), &file_name)?.ok_or_else(unknown)?;
    Ok(name)
}

/// Database and table, which must exist.
fn existing_table(cx: &mut StmtCx<'_>, name: &ObjectName<'_>) -> SqlResult<(String, String)> {
    let database = database(cx, name.schema)?;
    let table = name_of(name.name);
    if vaquita_catalog::is_virtual_database(&database) {
        if !vaquita_catalog::is_for_everybody(&database) {
            cx.state.check_shown(&database, &table)?;
        }
        return match virtual_tables::table(&database, &table) {
            Some(found) => Ok((database, found.name().to_owned())),
            None if vaquita_catalog::is_for_everybody(&database) => {
                Err(SqlError::new(1109, format!("Unknown table '{table}' in information_schema")))
            }
            None => Err(SqlError::no_such_table(&database, &table)),
        };
    }
    if !has_temporary(cx.engine, &database, &table) {
        cx.state.check_shown(&database, &table)?;
        exists(cx, &database, &table)?;
    }
    Ok((database, table))
}

fn exists(cx: &StmtCx<'_>, database: &str, table: &str) -> SqlResult<()> {
    let engine_name = vaquita_catalog::engine_name(database, table)?;
    let core = cx.db.engine.core();
    if core.objects().view(&engine_name).is_some() {
        return Ok(());
    }
    match core.table(&engine_name) {
        Err(vaquita_engine::Error::Discarded(_)) => Ok(()),
        found => vaquita_catalog::error::of_engine(found).map(drop),
    }
}

/// SHOW.
///
/// # Errors
/// Of the statement.
pub(crate) fn show(
    cx: &mut StmtCx<'_>,
    show: &Show<'_>,
    params: (&[Value<'_>], &[SqlType]),
    sink: &mut dyn ResultSink,
) -> SqlResult<Outcome> {
    let (listing, filter) = list(cx, show)?;
    listing.filter(&filter, params, cx)?.send(cx, sink)
}

fn list<'a>(cx: &mut StmtCx<'_>, show: &Show<'a>) -> SqlResult<(Listing, ShowFilter<'a>)> {
    let no = ShowFilter::None;
    Ok(match show {
        Show::Databases(filter) => (databases(cx, filter)?, *filter),
        Show::Tables { full, schema, filter } => (tables(cx, *full, *schema, filter)?, *filter),
        Show::TableStatus { schema, filter } => {
            let name = existing_database(cx, *schema)?;
            (project(cx, "TABLES", TABLE_STATUS, vec![(1, text(name))])?, *filter)
        }
        Show::OpenTables { schema, filter } => (open_tables(cx, *schema)?, *filter),
        Show::Columns { full, table, filter } => {
            let (database, table) = existing_table(cx, table)?;
            if !vaquita_session::access::has_temporary(cx.engine, &database, &table)
                && let Some(view) = crate::ddl::views::find(cx, &database, &table)
            {
                crate::ddl::views::check(cx, &view)?;
            }
            let columns = if *full { FULL_COLUMNS } else { COLUMNS };
            (project(cx, "COLUMNS", columns, vec![(1, text(database)), (2, text(table))])?, *filter)
        }
        Show::Index { table, filter } => {
            let (database, table) = existing_table(cx, table)?;
            (project(cx, "STATISTICS", INDEX, vec![(1, text(database)), (2, text(table))])?, *filter)
        }
        Show::Triggers { schema, filter } => {
            existing_database(cx, *schema)?;
            let name = database(cx, *schema)?;
            let mut listing = project(cx, "TRIGGERS", TRIGGERS, vec![(1, text(name))])?;
            listing.like = 2;
            (listing, *filter)
        }
        Show::Events { schema, filter } => {
            let name = database(cx, *schema)?;
            let mut listing = match vaquita_catalog::is_virtual_database(&name) {
                true => Listing::new(&definitions(EVENTS)),
                false => {
                    programs::check_events(cx, &name)?;
                    project(cx, "EVENTS", EVENTS, vec![(1, text(name))])?
                }
            };
            listing.like = 1;
            (listing, *filter)
        }
        Show::CreateTable(name) => (create_table(cx, name)?, no),
        Show::CreateView(name) => (create_view(cx, name)?, no),
        Show::CreateDatabase { name, if_not_exists } => (create_database(cx, *name, *if_not_exists)?, no),
        Show::CreateProgram { kind, name } => {
            if matches!(kind, ast::ProgramKind::Procedure | ast::ProgramKind::Function) {
                return Ok((programs::create(cx, *kind, name)?, no));
            }
            if *kind == ast::ProgramKind::Trigger {
                return Ok((programs::create_trigger(cx, name)?, no));
            }
            (programs::create_event(cx, name)?, no)
        }
        Show::CreateUser(user) => (grants::show_create_user(cx, user)?, no),
        Show::Variables { scope, filter } => {
            let mut listing = Listing::new(PAIRS);
            listing.of_schema = true;
            for (name, value) in crate::set::list(*scope == VarScope::Global, cx.db, cx.state) {
                listing.rows.push(vec![text(name), text(value)]);
            }
            (listing, *filter)
        }
        Show::Status { scope, filter } => {
            let mut listing = Listing::new(PAIRS);
            let own = (*scope != VarScope::Global).then_some(&*cx.state);
            for (name, value) in crate::status::list(cx.db, own) {
                listing.rows.push(vec![text(name), text(value)]);
            }
            (listing, *filter)
        }
        Show::Warnings(limit) => (warnings(cx, false, *limit)?, no),
        Show::Errors(limit) => (warnings(cx, true, *limit)?, no),
        Show::CountWarnings => {
            let mut listing = Listing::new(&[("@@session.warning_count", "bigint(21)")]);
            listing.rows.push(vec![Value::UInt(cx.state.warnings.count().into())]);
            (listing, no)
        }
        Show::CountErrors => {
            let mut listing = Listing::new(&[("@@session.error_count", "bigint(21)")]);
            listing.rows.push(vec![Value::UInt(cx.state.error_count.into())]);
            (listing, no)
        }
        Show::Processlist { full } => {
            let mut listing = project(cx, "PROCESSLIST", PROCESSLIST, Vec::new())?;
            if !full {
                for row in &mut listing.rows {
                    if let Some(Value::Bytes(info)) = row.last_mut() {
                        info.to_mut().truncate(100);
                    }
                }
            }
            (listing, no)
        }
        Show::Engines => (project(cx, "ENGINES", ENGINES, Vec::new())?, no),
        Show::Engine { name, what } => (engine(cx, *name, *what)?, no),
        Show::CharacterSet(filter) => (project(cx, "CHARACTER_SETS", CHARACTER_SET, Vec::new())?, *filter),
        Show::Collation(filter) => (project(cx, "COLLATIONS", COLLATION, Vec::new())?, *filter),
        Show::Grants { user, using } => (grants::show_grants(cx, user.as_ref(), using)?, no),
        Show::Privileges => (privileges(), no),
        Show::Plugins => (plugins(cx.db), no),
        Show::ProgramStatus { kind, filter } => {
            let kind = text(crate::routine::kind_name(*kind));
            (project(cx, "ROUTINES", PROGRAMS, vec![(4, kind)])?, *filter)
        }
        Show::ProgramCode { .. } => {
            return Err(SqlError::new(
                1289,
                "The 'SHOW PROCEDURE|FUNCTION CODE' feature is disabled; you need MySQL built with '--with-debug' to have it working",
            ));
        }
        Show::Profiles => (
            Listing::new(&[("Query_ID", "int(11)!"), ("Duration", "double!"), ("Query", "varchar(300)!")]),
            no,
        ),
        Show::Profile => (Listing::new(&[("Status", "varchar(30)!"), ("Duration", "double!")]), no),
        Show::MasterStatus | Show::SlaveStatus | Show::BinaryLogs
            if !cx.state.privileges.global.any(Priv::SUPER | Priv::REPL_CLIENT) =>
        {
            return Err(SqlError::new(
                1227,
                "Access denied; you need (at least one of) the SUPER, REPLICATION CLIENT privilege(s) for this operation",
            ));
        }
        Show::MasterStatus => {
            let columns = [
                ("File", "varchar(255)!"),
                ("Position", "bigint(20)!"),
                ("Binlog_Do_DB", "varchar(255)!"),
                ("Binlog_Ignore_DB", "varchar(255)!"),
                ("Executed_Gtid_Set", "varchar(255)!"),
            ];
            (Listing::new(&columns), no)
        }
        Show::SlaveStatus => (Listing::new(listing::SLAVE_STATUS), no),
        Show::SlaveHosts => {
            let columns = [
                ("Server_id", "int(10)!"),
                ("Host", "varchar(20)!"),
                ("Port", "int(7)!"),
                ("Master_id", "int(10)!"),
                ("Slave_UUID", "varchar(36)!"),
            ];
            (Listing::new(&columns), no)
        }
        Show::BinaryLogs => return Err(SqlError::new(1381, "You are not using binary logging")),
        Show::BinlogEvents { .. } => {
            let columns = [
                ("Log_name", "varchar(20)!"),
                ("Pos", "bigint(20)!"),
                ("Event_type", "varchar(20)!"),
                ("Server_id", "bigint(10)!"),
                ("End_log_pos", "bigint(20)!"),
                ("Info", "varchar(20)!"),
            ];
            (Listing::new(&columns), no)
        }
        Show::Authors => (
            Listing::new(&[
                ("Name", "varchar(40)!"),
                ("Location", "varchar(40)!"),
                ("Comment", "varchar(512)!"),
            ]),
            no,
        ),
        Show::Contributors => (
            Listing::new(&[
                ("Name", "varchar(40)!"),
                ("Location", "varchar(40)!"),
                ("Comment", "varchar(512)!"),
            ]),
            no,
        ),
    })
}

/// Columns of SHOW in a session whose database is `current`, for prepared statements.
pub(crate) fn show_columns(show: &Show<'_>, current: &str) -> Arc<[ColumnMeta]> {
    let of = |columns: &[(&str, &str, usize)]| Listing::new(&definitions(columns)).meta(None);
    match show {
        Show::Databases(filter) => {
            Listing::new(&[(&format!("Database{}", like_suffix(filter)), "varchar(64)!")]).meta(None)
        }
        Show::Columns { full: false, .. } => of(COLUMNS),
        Show::Columns { full: true, .. } => of(FULL_COLUMNS),
        Show::Index { .. } => of(INDEX),
        Show::TableStatus { .. } => of(TABLE_STATUS),
        Show::Engines => of(ENGINES),
        Show::CharacterSet(_) => of(CHARACTER_SET),
        Show::Collation(_) => of(COLLATION),
        Show::Processlist { .. } => of(PROCESSLIST),
        Show::Variables { .. } | Show::Status { .. } => Listing::new(PAIRS).meta(None),
        Show::Warnings(_) | Show::Errors(_) => Listing::new(WARNINGS).meta(None),
        Show::Events { .. } => of(EVENTS),
        Show::CreateTable(_) => Listing::new(CREATE_TABLE).meta(None),
        Show::CreateView(_) => Listing::new(CREATE_VIEW).meta(None),
        Show::CreateDatabase { .. } => Listing::new(CREATE_DATABASE).meta(None),
        Show::Tables { full, schema, filter } => {
            let database = schema.map_or_else(|| current.to_owned(), name_of);
            let name = format!("Tables_in_{database}{}", like_suffix(filter));
            match full {
                false => Listing::new(&[(&name, "varchar(64)!")]).meta(None),
                true => Listing::new(&[(&name, "varchar(64)!"), ("Table_type", "varchar(64)!")]).meta(None),
            }
        }
        _ => Arc::from([]),
    }
}

const CREATE_TABLE: &[(&str, &str)] = &[("Table", "varchar(64)!"), ("Create Table", "varchar(1024)!")];
const CREATE_VIEW: &[(&str, &str)] = &[
    ("View", "varchar(64)!"),
    ("Create View", "varchar(1024)!"),
    ("character_set_client", "varchar(32)!"),
    ("collation_connection", "varchar(32)!"),
];
const CREATE_DATABASE: &[(&str, &str)] =
    &[("Database", "varchar(64)!"), ("Create Database", "varchar(1024)!")];

/// What a LIKE adds to a column's name.
fn like_suffix(filter: &ShowFilter<'_>) -> String {
    match filter {
        ShowFilter::Like(pattern) => format!(" ({})", String::from_utf8_lossy(pattern)),
        _ => String::new(),
    }
}

fn databases(cx: &mut StmtCx<'_>, filter: &ShowFilter<'_>) -> SqlResult<Listing> {
    let skip = cx.db.globals.is_on("skip_show_database");
    if skip && !cx.state.privileges.global.has(Priv::SHOW_DB) {
        return Err(SqlError::new(
            1227,
            "Access denied; you need (at least one of) the SHOW DATABASES privilege(s) for this operation",
        ));
    }
    let name = format!("Database{}", like_suffix(filter));
    project(cx, "SCHEMATA", &[(&name, "varchar(64)!", 1)], Vec::new())
}

fn tables(
    cx: &mut StmtCx<'_>,
    full: bool,
    schema: Option<Ident<'_>>,
    filter: &ShowFilter<'_>,
) -> SqlResult<Listing> {
    let name = existing_database(cx, schema)?;
    let first = format!("Tables_in_{name}{}", like_suffix(filter));
    let mut columns = vec![(first.as_str(), "varchar(64)!")];
    if full {
        columns.push(("Table_type", "varchar(64)!"));
    }
    let mut listing = Listing::new(&columns);
    listing.of_schema = true;
    let push = |listing: &mut Listing, table: &str, kind: &str| {
        let mut row: Cells = vec![text(table)];
        if full {
            row.push(text(kind));
        }
        listing.rows.push(row);
    };
    if vaquita_catalog::is_virtual_database(&name) {
        for table in virtual_tables::tables_of(&name) {
            push(&mut listing, table.name(), table.kind());
        }
        return Ok(listing);
    }
    // By names alone: no table is opened.
    let core = cx.db.engine.core();
    let file_name = vaquita_catalog::file_name(&name)?;
    let privileges = &cx.state.privileges;
    let all = (privileges.global | privileges.in_database(&name)).any(Priv::TABLE | Priv::GRANT);
    let mut names: Vec<String> =
        vaquita_catalog::error::of_engine(core.dict.tables(&core.storage, &file_name))?
            .iter()
            .filter(|table| !vaquita_engine::lower::filename::is_intermediate(table))
            .map(|table| vaquita_catalog::sql_name(table).1)
            .filter(|table| all || privileges.on_table(&name, table).is_some())
            .collect();
    let objects = core.objects();
    let views = objects.list(vaquita_engine::ObjectKind::View, &file_name);
    let views = views.map(|view| vaquita_catalog::sql_name(&view.lock_name()).1);
    let views: Vec<String> = views.filter(|view| all || privileges.on_table(&name, view).is_some()).collect();
    names.extend(views.iter().cloned());
    names.sort();
    for table in &names {
        push(&mut listing, table, if views.contains(table) { "VIEW" } else { "BASE TABLE" });
    }
    Ok(listing)
}

fn open_tables(cx: &mut StmtCx<'_>, schema: Option<Ident<'_>>) -> SqlResult<Listing> {
    let columns = [
        ("Database", "varchar(64)!"),
        ("Table", "varchar(64)!"),
        ("In_use", "int(1)!"),
        ("Name_locked", "int(4)!"),
    ];
    let mut listing = Listing::new(&columns);
    listing.of_schema = true;
    if let Some(schema) = schema {
        let name = existing_database(cx, Some(schema))?;
        let core = cx.db.engine.core();
        let file_name = vaquita_catalog::file_name(&name)?;
        for table in vaquita_catalog::error::of_engine(core.dict.tables(&core.storage, &file_name))? {
            let table = vaquita_catalog::sql_name(&table).1;
            listing.rows.push(vec![text(&name), text(table), Value::Int(0), Value::Int(0)]);
        }
    }
    Ok(listing)
}

fn create_table(cx: &mut StmtCx<'_>, name: &ObjectName<'_>) -> SqlResult<Listing> {
    let database = database(cx, name.schema)?;
    let table = name_of(name.name);
    let mut listing = Listing::new(CREATE_TABLE);
    if vaquita_catalog::is_virtual_database(&database) {
        let (_, table) = existing_table(cx, name)?;
        let sql = virtual_tables::create_virtual(&database, &table);
        listing.rows.push(vec![text(&table), text(sql)]);
        return Ok(listing);
    }
    let privileges = &cx.state.privileges;
    let of_tables = Priv::TABLE | Priv::GRANT;
    let own = has_temporary(cx.engine, &database, &table);
    // Of some columns is not enough to see all of them.
    if !own
        && !(privileges.global | privileges.in_database(&database)).any(of_tables)
        && !privileges.on_table(&database, &table).is_some_and(|g| g.privileges.any(of_tables))
    {
        let (user, host) = (&cx.state.account_user, &cx.state.host);
        return Err(SqlError::new(
            1142,
            format!("SHOW command denied to user '{user}'@'{host}' for table '{table}'"),
        ));
    }
    if !own {
        if crate::ddl::views::find(cx, &database, &table).is_some() {
            return create_view(cx, name);
        }
        exists(cx, &database, &table)?;
    }
    let sql = crate::ddl::show_create_table(cx, &database, &table, own)?;
    listing.rows.push(vec![text(&table), text(sql)]);
    Ok(listing)
}

fn create_view(cx: &mut StmtCx<'_>, name: &ObjectName<'_>) -> SqlResult<Listing> {
    let database = database(cx, name.schema)?;
    let view = name_of(name.name);
    let needed = Priv::SELECT | Priv::SHOW_VIEW;
    let privileges = &cx.state.privileges;
    let on_view = privileges.on_table(&database, &view).map_or(Priv::NONE, |g| g.privileges);
    let has = privileges.global | privileges.in_database(&database) | on_view;
    let Some(object) = crate::ddl::views::find(cx, &database, &view) else {
        // A temporary table of that name is no view, and lends no right to ask for one.
        if !vaquita_catalog::is_virtual_database(&database) {
            cx.state.check_shown(&database, &view)?;
        }
        let (database, table) = existing_table(cx, name)?;
        return Err(SqlError::new(1347, format!("'{database}.{table}' is not VIEW")));
    };
    if !has.has(needed) {
        let missing = needed - has;
        return Err(cx.state.denied_table(missing, &view));
    }
    let body = vaquita_catalog::ObjectBody::of(&object)?;
    if let Err(e) = crate::ddl::views::columns_of(cx, &object) {
        let invalid = crate::ddl::views::invalid(&object);
        if e.code == 1054 {
            return Err(invalid);
        }
        cx.state.warnings.push(Level::Warning, invalid.code, invalid.message);
    }
    let sql = crate::ddl::views::show_create(cx, &object, &body)?;
    let (charset, collation) = crate::ddl::views::charset_names(&body);
    let mut listing = Listing::new(CREATE_VIEW);
    listing.rows.push(vec![text(&view), definition(cx, &body, sql), text(charset), text(collation)]);
    Ok(listing)
}

/// The text of an object for the client: where results are not converted, which is how dumps ask, as whoever made it would send it, for
/// with that character set it is to be made again.
fn definition(cx: &StmtCx<'_>, body: &vaquita_catalog::ObjectBody, text: String) -> Value<'static> {
    if cx.state.vars.character_set_results.is_some_and(|to| vars::charset_name(to) != "binary") {
        return Value::owned(text.into_bytes());
    }
    match text.strip_suffix(&body.text) {
        Some(head) => Value::owned([&*body.as_sent(head), &*body.source()].concat()),
        None => Value::owned(body.as_sent(&text).into_owned()),
    }
}

fn create_database(cx: &mut StmtCx<'_>, name: Ident<'_>, if_not_exists: bool) -> SqlResult<Listing> {
    let asked = database(cx, Some(name))?;
    if !vaquita_catalog::is_for_everybody(&asked) && !cx.state.privileges.any_in_database(&asked) {
        let (user, host) = (&cx.state.account_user, &cx.state.account_host);
        return Err(SqlError::database_denied(user, host, &asked));
    }
    let name = existing_database(cx, Some(name))?;
    let collation = match vaquita_catalog::is_virtual_database(&name) {
        true => virtual_tables::NAMES,
        false => {
            let file_name = vaquita_catalog::file_name(&name)?;
            let of_database = vaquita_catalog::database_options(cx.db.engine.core(), &file_name)?.flatten();
            of_database.unwrap_or(cx.state.vars.collation_server)
        }
    };
    let charset = vars::charset_name(collation);
    let collate = match vars::primary(collation) == collation {
        true => String::new(),
        false => format!(" COLLATE {}", vars::collation_name(collation)),
    };
    let exists = if if_not_exists { "/*!32312 IF NOT EXISTS*/ " } else { "" };
    let quoted = crate::ddl::show_style(&cx.state.vars).name(&name);
    let mut listing = Listing::new(CREATE_DATABASE);
    let sql =
        format!("CREATE DATABASE {exists}{quoted} /*!40100 DEFAULT CHARACTER SET {charset}{collate} */");
    listing.rows.push(vec![text(name), text(sql)]);
    Ok(listing)
}

fn warnings(cx: &StmtCx<'_>, errors_only: bool, limit: Option<&ast::Limit<'_>>) -> SqlResult<Listing> {
    let number = |e: &ast::Expr<'_>| match e.kind {
        ast::ExprKind::Literal(ast::Literal::Int(n)) => usize::try_from(n).unwrap_or(usize::MAX),
        _ => usize::MAX,
    };
    let (skip, take) = match limit {
        None => (0, usize::MAX),
        Some(limit) => (limit.offset.as_ref().map_or(0, number), number(&limit.count)),
    };
    let mut listing = Listing::new(WARNINGS);
    let shown = cx.state.warnings.list().iter().filter(|w| !errors_only || w.level == Level::Error);
    for warning in shown.skip(skip).take(take) {
        let level = match warning.level {
            Level::Note => "Note",
            Level::Warning => "Warning",
            Level::Error => "Error",
        };
        listing.rows.push(vec![
            text(level),
            Value::UInt(warning.code.into()),
            text(warning.message.as_bytes()),
        ]);
    }
    Ok(listing)
}

fn engine(cx: &mut StmtCx<'_>, name: Option<Ident<'_>>, what: ShowEngine) -> SqlResult<Listing> {
    if let Some(name) = name
        && !name.is("innodb")
    {
        return Err(SqlError::new(1286, format!("Unknown storage engine '{name}'")));
    }
    if !cx.state.privileges.global.has(Priv::PROCESS) {
        return Err(SqlError::new(
            1227,
            "Access denied; you need (at least one of) the PROCESS privilege(s) for this operation",
        ));
    }
    let mut listing =
        Listing::new(&[("Type", "varchar(10)!"), ("Name", "varchar(512)!"), ("Status", "longtext!")]);
    if what == ShowEngine::Status {
        listing.rows.push(vec![text("InnoDB"), text(""), text(monitor::status(cx.db))]);
    }
    Ok(listing)
}

fn privileges() -> Listing {
    let mut listing = Listing::new(&[
        ("Privilege", "varchar(10)!"),
        ("Context", "varchar(15)!"),
        ("Comment", "varchar(32)!"),
    ]);
    for (name, context, comment) in privilege_list::PRIVILEGES {
        listing.rows.push(vec![text(name), text(context), text(comment)]);
    }
    listing
}

fn plugins(db: &crate::database::Database) -> Listing {
    let columns = [
        ("Name", "varchar(64)!"),
        ("Status", "varchar(10)!"),
        ("Type", "varchar(80)!"),
        ("Library", "varchar(64)"),
        ("License", "varchar(80)"),
    ];
    let mut listing = Listing::new(&columns);
    for (name, kind) in virtual_tables::plugin_list(db) {
        let library = text_or_null(None::<&str>);
        listing.rows.push(vec![text(name), text("ACTIVE"), text(kind), library, text("MIT OR Apache-2.0")]);
    }
    listing
}
