//! The tables of `mysql` that keep accounts and grants: made at the first start, read into memory, written account by
//! account.

use crate::accounts::grants::{AccountGrants, Grants, SslKind};
use crate::accounts::roles::Edge;
use crate::database::Database;
use crate::insider::{Insider, quoted as quote};
use std::fmt::Write;
use vaquita_catalog::error;
use vaquita_engine::lower::KeyPart;
use vaquita_engine::table::DefaultValue;
use vaquita_engine::{Column, Engine, TableSpec};
use vaquita_session::privilege::{DatabaseGrant, RoutineGrant, TableGrant};
use vaquita_session::privilege::{NAMES, Priv};
use vaquita_types::{ColumnType, Kind, SqlResult, SqlType};

/// Collation of names: `utf8_bin`.
const EXACT: u16 = 83;
/// Collation of hosts where keys are short: `ascii_bin`.
const EXACT_ASCII: u16 = 65;
/// Of the rest: `utf8_general_ci`.
const GENERAL: u16 = 33;

/// A column: name, type.
type ColumnText = (&'static str, &'static str);

const YES_NO: &str = "enum('N','Y')";

// Columns of `mysql.user` that 5.6 has not: a table that was made by it, or by an earlier version of this program, lacks them.
const LAST_CHANGED: &str = "password_last_changed";
const LIFETIME: &str = "password_lifetime";
const LOCKED: &str = "account_locked";
const CREATES_ROLES: &str = "Create_role_priv";
const DROPS_ROLES: &str = "Drop_role_priv";
const OPTIONAL: [&str; 5] = [LAST_CHANGED, LIFETIME, LOCKED, CREATES_ROLES, DROPS_ROLES];

/// Tables with the columns before and after their privileges, the column of privileges that the level has, and how many
/// columns the key has.
struct Kept {
    name: &'static str,
    before: &'static [ColumnText],
    privileges: Priv,
    after: &'static [ColumnText],
    key: usize,
}

const SET_OF_PRIVILEGES: &str = "set('Select','Insert','Update','Delete','Create','Drop','Grant','References','Index','Alter',\
                                 'Create View','Show view','Trigger')";
const SET_OF_ROUTINE_PRIVILEGES: &str = "set('Execute','Alter Routine','Grant')";
const SET_OF_COLUMN_PRIVILEGES: &str = "set('Select','Insert','Update','References')";

const TABLES: &[Kept] = &[
    Kept {
        name: "user",
        before: &[("Host", "char(60)"), ("User", "char(32)"), ("Password", "char(41)")],
        privileges: GLOBAL_LEVEL,
        after: &[
            ("ssl_type", "enum('','ANY','X509','SPECIFIED')"),
            ("ssl_cipher", "blob"),
            ("x509_issuer", "blob"),
            ("x509_subject", "blob"),
            ("max_questions", "int(11) unsigned"),
            ("max_updates", "int(11) unsigned"),
            ("max_connections", "int(11) unsigned"),
            ("max_user_connections", "int(11) unsigned"),
            ("plugin", "char(64)"),
            ("authentication_string", "text"),
            ("password_expired", YES_NO),
            (LAST_CHANGED, "timestamp null"),
            (LIFETIME, "smallint(5) unsigned null"),
            (LOCKED, YES_NO),
            (CREATES_ROLES, YES_NO),
            (DROPS_ROLES, YES_NO),
        ],
        key: 2,
    },
    Kept {
        name: "db",
        before: &[("Host", "char(60)"), ("Db", "char(64)"), ("User", "char(32)")],
        privileges: Priv(Priv::DATABASE.0 | Priv::GRANT.0),
        after: &[],
        key: 3,
    },
    Kept {
        name: "tables_priv",
        before: &[
            ("Host", "char(60)"),
            ("Db", "char(64)"),
            ("User", "char(32)"),
            ("Table_name", "char(64)"),
            ("Grantor", "char(93)"),
            ("Timestamp", "timestamp"),
            ("Table_priv", SET_OF_PRIVILEGES),
            ("Column_priv", SET_OF_COLUMN_PRIVILEGES),
        ],
        privileges: Priv::NONE,
        after: &[],
        key: 4,
    },
    Kept {
        name: "columns_priv",
        before: &[
            ("Host", "char(60)"),
            ("Db", "char(64)"),
            ("User", "char(32)"),
            ("Table_name", "char(64)"),
            ("Column_name", "char(64)"),
            ("Timestamp", "timestamp"),
            ("Column_priv", SET_OF_COLUMN_PRIVILEGES),
        ],
        privileges: Priv::NONE,
        after: &[],
        key: 5,
    },
    Kept {
        name: "proxies_priv",
        before: &[
            ("Host", "char(60)"),
            ("User", "char(32)"),
            ("Proxied_host", "char(60)"),
            ("Proxied_user", "char(32)"),
            ("With_grant", "tinyint(1)"),
            ("Grantor", "char(93)"),
            ("Timestamp", "timestamp"),
        ],
        privileges: Priv::NONE,
        after: &[],
        key: 4,
    },
    Kept {
        name: "procs_priv",
        before: &[
            ("Host", "char(60)"),
            ("Db", "char(64)"),
            ("User", "char(32)"),
            ("Routine_name", "char(64)"),
            ("Routine_type", "enum('FUNCTION','PROCEDURE')"),
            ("Grantor", "char(93)"),
            ("Proc_priv", SET_OF_ROUTINE_PRIVILEGES),
            ("Timestamp", "timestamp"),
        ],
        privileges: Priv::NONE,
        after: &[],
        key: 5,
    },
    // Which roles are granted to whom, and which of them are active from the beginning: as in 8.0.
    Kept {
        name: "role_edges",
        before: &[
            ("FROM_HOST", "char(60)"),
            ("FROM_USER", "char(32)"),
            ("TO_HOST", "char(60)"),
            ("TO_USER", "char(32)"),
            ("WITH_ADMIN_OPTION", YES_NO),
        ],
        privileges: Priv::NONE,
        after: &[],
        key: 4,
    },
    Kept {
        name: "default_roles",
        before: &[
            ("HOST", "char(60)"),
            ("USER", "char(32)"),
            ("DEFAULT_ROLE_HOST", "char(60)"),
            ("DEFAULT_ROLE_USER", "char(32)"),
        ],
        privileges: Priv::NONE,
        after: &[],
        key: 4,
    },
    // Privileges without columns, as in 8.0.
    Kept {
        name: "global_grants",
        before: &[
            ("USER", "char(32)"),
            ("HOST", "char(60)"),
            ("PRIV", "char(32)"),
            ("WITH_GRANT_OPTION", YES_NO),
        ],
        privileges: Priv::NONE,
        after: &[],
        key: 3,
    },
    // The logs as tables.
    Kept {
        name: "general_log",
        before: &[
            ("event_time", "timestamp"),
            ("user_host", "mediumtext"),
            ("thread_id", "bigint(21) unsigned"),
            ("server_id", "int(10) unsigned"),
            ("command_type", "varchar(64)"),
            ("argument", "mediumtext"),
        ],
        privileges: Priv::NONE,
        after: &[],
        key: 0,
    },
    Kept {
        name: "slow_log",
        before: &[
            ("start_time", "timestamp"),
            ("user_host", "mediumtext"),
            ("query_time", "time"),
            ("lock_time", "time"),
            ("rows_sent", "int(11)"),
            ("rows_examined", "int(11)"),
            ("db", "varchar(512)"),
            ("last_insert_id", "int(11)"),
            ("insert_id", "int(11)"),
            ("server_id", "int(10) unsigned"),
            ("sql_text", "mediumtext"),
            ("thread_id", "bigint(21) unsigned"),
        ],
        privileges: Priv::NONE,
        after: &[],
        key: 0,
    },
];

fn columns(kept: &Kept) -> Vec<ColumnText> {
    let privileges =
        NAMES.iter().filter(|(p, ..)| kept.privileges.has(*p)).map(|(_, name, _)| (*name, YES_NO));
    kept.before.iter().copied().chain(privileges).chain(kept.after.iter().copied()).collect()
}

/// Labels of an ENUM or SET as written.
fn labels(declared: &str) -> Vec<String> {
    let inside = declared.split_once('(').map_or("", |(_, rest)| rest.trim_end_matches(')'));
    inside.split(',').map(|label| label.trim().trim_matches('\'').to_owned()).collect()
}

/// The columns of a table to be made. Names of hosts are ASCII: where pages are small the longest key fits only if they do not
/// take three bytes a character.
fn columns_to_make(kept: &Kept, page_size: usize) -> Vec<Column> {
    let small = page_size < 8_192;
    let of_host = |name: &str| small && name.to_ascii_lowercase().ends_with("host");
    columns(kept)
        .into_iter()
        .map(|text| column(text, if of_host(text.0) { EXACT_ASCII } else { EXACT }))
        .collect()
}

fn column((name, declared): ColumnText, of_names: u16) -> Column {
    let nullable = declared.ends_with(" null");
    let declared = declared.trim_end_matches(" null");
    let (word, args) = declared.split_once('(').unwrap_or((declared, ""));
    let length = args.split(')').next().and_then(|n| n.parse().ok()).unwrap_or(0);
    let ty = match word {
        "char" => {
            let names = ["Host", "User", "Db", "Table_name", "Proxied_host", "Proxied_user", "Password"];
            let of_roles = name.ends_with("HOST") || name.ends_with("USER");
            let exact = names.contains(&name) || of_roles;
            let collation = if exact { of_names } else { GENERAL };
            SqlType { length, collation, ..SqlType::new(Kind::Char) }
        }
        "enum" | "set" => {
            let kind = if word == "enum" { Kind::Enum } else { Kind::Set };
            let bytes = labels(declared).into_iter().map(|l| l.into_bytes().into_boxed_slice());
            SqlType { collation: GENERAL, labels: Some(bytes.collect()), ..SqlType::new(kind) }
        }
        "blob" => SqlType { length: 65_535, ..SqlType::new(Kind::Text) },
        "text" => SqlType { length: 65_535, collation: EXACT, ..SqlType::new(Kind::Text) },
        "varchar" => SqlType { length, collation: GENERAL, ..SqlType::new(Kind::VarChar) },
        "mediumtext" => SqlType { length: 0xFF_FFFF, collation: GENERAL, ..SqlType::new(Kind::MediumText) },
        "bigint" => SqlType { length, unsigned: true, ..SqlType::new(Kind::BigInt) },
        "time" => SqlType { length: 10, ..SqlType::new(Kind::Time) },
        "tinyint" => SqlType { length, ..SqlType::new(Kind::TinyInt) },
        "smallint" => SqlType { length, unsigned: true, ..SqlType::new(Kind::SmallInt) },
        "timestamp" => SqlType { length: 19, ..SqlType::new(Kind::Timestamp) },
        _ => SqlType { length, unsigned: declared.ends_with("unsigned"), ..SqlType::new(Kind::Int) },
    };
    // Long texts have no defaults; the password is NULL in accounts made by others.
    let ty = if word == "text" || nullable { ty } else { ty.not_null() };
    let mut column = Column::new(ty.to_def(name));
    let mut extra = vaquita_engine::kept::Extra::new(declared);
    if matches!(ty.kind, Kind::Enum | Kind::Set) {
        column.labels = labels(declared);
        extra.set("collate", Some(GENERAL.to_string()));
    }
    column.extra = extra.to_text();
    column.default = match ty.kind {
        Kind::Text if word == "text" => DefaultValue::Null,
        _ if nullable => DefaultValue::Null,
        Kind::Text | Kind::MediumText => DefaultValue::None,
        Kind::Timestamp => DefaultValue::Now,
        _ => {
            let mut stored = Vec::new();
            ColumnType::new(ty, vaquita_engine::lower::RowFormat::Dynamic).push_implicit_default(&mut stored);
            DefaultValue::Stored(stored)
        }
    };
    if word == "timestamp" && !nullable {
        column.on_update_now = true;
    }
    column
}

/// Tables that the first version made.
const TABLES_OF_FIRST_VERSION: u64 = 7;

/// Whether the folder has never had accounts: it is to get the tables and `root@localhost`. Tables that were there and are
/// gone are no reason to let everybody in.
pub(super) fn is_new(db: &Database) -> SqlResult<bool> {
    let core = db.engine.core();
    let storage = &core.storage;
    // Those of a MySQL server are not read here, and not to be got around.
    if storage.fs().exists(&storage.options().dir.join("mysql/user.frm")) {
        return Ok(false);
    }
    let ever_made = error::of_engine(core.dict.tables_ever_made(storage))?;
    let ours = TABLES.len() as u64;
    match error::of_engine(core.dict.find(storage, "mysql/user"))? {
        // Accounts are the first to be made: a folder of an earlier version, which made fewer tables, is not new.
        None => Ok(ever_made < ours.min(TABLES_OF_FIRST_VERSION)),
        // A crash came before the first account.
        Some(_) if ever_made <= ours => {
            let there = insider(db)?.run("select 1 from mysql.user limit 1")?;
            Ok(there.is_empty())
        }
        Some(_) => Ok(false),
    }
}

/// Whether the folder has a table that older ones have not.
fn has_table(engine: &Engine, name: &str) -> SqlResult<bool> {
    let core = engine.core();
    error::of_engine(core.dict.find(&core.storage, name)).map(|found| found.is_some())
}

/// Whether it has the table of privileges on procedures and functions.
fn has_routines(engine: &Engine) -> SqlResult<bool> {
    has_table(engine, "mysql/procs_priv")
}

/// Makes those tables that earlier versions did not have, in a folder that has the others.
pub(super) fn create_later(engine: &Engine) -> SqlResult<()> {
    create(engine, |kept| {
        matches!(kept.name, "procs_priv" | "role_edges" | "default_roles" | "global_grants")
    })
}

/// Makes the tables that are not there.
pub(super) fn create_missing(engine: &Engine) -> SqlResult<()> {
    create(engine, |_| true)
}

fn create(engine: &Engine, wanted: impl Fn(&Kept) -> bool) -> SqlResult<()> {
    let core = engine.core();
    let mut session = engine.session();
    for kept in TABLES.iter().filter(|kept| wanted(kept)) {
        let name = format!("mysql/{}", kept.name);
        if error::of_engine(core.dict.find(&core.storage, &name))?.is_some() {
            continue;
        }
        let mut spec =
            TableSpec::new(&name, columns_to_make(kept, core.storage.options().page_size.logical()));
        if kept.key > 0 {
            spec.primary_key = Some((0..kept.key).map(KeyPart::whole).collect());
        } else {
            let no_default = |c: &&mut Column| c.default != DefaultValue::Now;
            spec.columns.iter_mut().filter(no_default).for_each(|c| c.default = DefaultValue::None);
        }
        spec.collation = GENERAL;
        spec.comment = match kept.name {
            "user" => "Users and global privileges",
            "db" => "Database privileges",
            "tables_priv" => "Table privileges",
            "columns_priv" => "Column privileges",
            "procs_priv" => "Procedure privileges",
            "general_log" => "General log",
            "slow_log" => "Slow log",
            "role_edges" => "Role hierarchy and role grants",
            "default_roles" => "Default roles",
            "global_grants" => "Extended global grants",
            _ => "User proxy privileges",
        }
        .to_owned();
        error::of_engine(session.create_table(&spec))?;
    }
    Ok(())
}

/// The columns of `mysql.user` that it may lack, those that are there.
fn optional_columns(engine: &Engine) -> SqlResult<Vec<&'static str>> {
    let core = engine.core();
    let table = error::of_engine(core.dict.find(&core.storage, "mysql/user"))?;
    let is_there = |name: &str| {
        let columns = table.as_ref().map_or(&[][..], |table| &table.columns);
        columns.iter().any(|column| column.def.name.eq_ignore_ascii_case(name))
    };
    Ok(OPTIONAL.into_iter().filter(|name| is_there(name)).collect())
}

/// Adds the columns that `mysql.user` lacks. Passwords that are there count as set now.
pub(super) fn add_missing_columns(db: &Database) -> SqlResult<()> {
    let there = optional_columns(&db.engine)?;
    let user = TABLES.iter().find(|kept| kept.name == "user").map_or(&[][..], |kept| kept.after);
    let mut behind = "password_expired";
    let mut added = Vec::new();
    for (name, declared) in user.iter().filter(|(name, _)| OPTIONAL.contains(name)) {
        if !there.contains(name) {
            let default = if *declared == YES_NO { " not null default 'N'" } else { " default null" };
            added.push(format!("add column {name} {declared}{default} after {behind}"));
        }
        behind = name;
    }
    if added.is_empty() {
        return Ok(());
    }
    let mut insider = insider(db)?;
    insider.run(&format!("alter table mysql.user {}", added.join(", ")))?;
    if !there.contains(&LAST_CHANGED) {
        insider.run(&format!("update mysql.user set {LAST_CHANGED} = now()"))?;
    }
    Ok(())
}

fn yes(cell: Option<&Option<String>>) -> bool {
    matches!(cell, Some(Some(text)) if text == "Y")
}

fn cell(row: &[Option<String>], at: usize) -> String {
    row.get(at).cloned().flatten().unwrap_or_default()
}

fn number(row: &[Option<String>], at: usize) -> u64 {
    cell(row, at).parse().unwrap_or(0)
}

/// Columns of a table's privileges, for a list of columns.
fn privilege_columns(level: Priv) -> String {
    let names = NAMES.iter().filter(|(p, ..)| level.has(*p)).map(|(_, name, _)| *name);
    names.collect::<Vec<_>>().join(", ")
}

/// Privileges from the cells from `at` on.
fn privileges_of(row: &[Option<String>], at: usize, level: Priv) -> Priv {
    let of_level = NAMES.iter().filter(|(p, ..)| level.has(*p));
    of_level.enumerate().filter(|(n, _)| yes(row.get(at + n))).fold(Priv::NONE, |all, (_, (p, ..))| all | *p)
}

/// Names in the SETs of `tables_priv`.
const SET_NAMES: &[(&str, Priv)] = &[
    ("Select", Priv::SELECT),
    ("Insert", Priv::INSERT),
    ("Update", Priv::UPDATE),
    ("Delete", Priv::DELETE),
    ("Create", Priv::CREATE),
    ("Drop", Priv::DROP),
    ("Grant", Priv::GRANT),
    ("References", Priv::REFERENCES),
    ("Index", Priv::INDEX),
    ("Alter", Priv::ALTER),
    ("Create View", Priv::CREATE_VIEW),
    ("Show view", Priv::SHOW_VIEW),
    ("Trigger", Priv::TRIGGER),
];

fn privileges_from_set(text: &str) -> Priv {
    let of = |name: &str| {
        SET_NAMES.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map_or(Priv::NONE, |(_, p)| *p)
    };
    text.split(',').fold(Priv::NONE, |all, name| all | of(name))
}

fn set_of(privileges: Priv) -> String {
    let names = SET_NAMES.iter().filter(|(_, p)| privileges.has(*p)).map(|(name, _)| *name);
    format!("'{}'", names.collect::<Vec<_>>().join(","))
}

const GLOBAL_LEVEL: Priv = Priv((1 << 29) - 1);
const DATABASE_LEVEL: Priv = Priv(Priv::DATABASE.0 | Priv::GRANT.0);

/// Reads everything.
pub(super) fn load(db: &Database) -> SqlResult<Grants> {
    let there = optional_columns(&db.engine)?;
    let or_null = |name: &str, read: &str| if there.contains(&name) { read } else { "null" }.to_owned();
    let mut insider = insider(db)?;
    let mut grants = Grants {
        keeps_lifetimes: there.contains(&LAST_CHANGED) && there.contains(&LIFETIME),
        keeps_locks: there.contains(&LOCKED),
        keeps_routines: has_routines(&db.engine)?,
        keeps_of_roles: there.contains(&CREATES_ROLES) && there.contains(&DROPS_ROLES),
        keeps_dynamic: has_table(&db.engine, "mysql/global_grants")?,
        ..Grants::default()
    };
    let columns = format!(
        "Host, User, Password, ssl_type, max_questions, max_updates, max_connections, max_user_connections, plugin, \
         authentication_string, password_expired, {}, x509_issuer, x509_subject, ssl_cipher, {}, {}, {}, {}",
        or_null(LOCKED, LOCKED),
        or_null(LAST_CHANGED, "unix_timestamp(password_last_changed)"),
        or_null(LIFETIME, LIFETIME),
        or_null(CREATES_ROLES, CREATES_ROLES),
        or_null(DROPS_ROLES, DROPS_ROLES)
    );
    let sql = format!("select {columns}, {} from mysql.user", privilege_columns(GLOBAL_LEVEL));
    for row in insider.run(&sql)? {
        let (password, authentication) = (cell(&row, 2), cell(&row, 9));
        let plugin = match cell(&row, 8) {
            plugin if plugin.is_empty() => vaquita_session::password::NATIVE.to_owned(),
            plugin => plugin,
        };
        let stored = if authentication.is_empty() { password } else { authentication };
        let (user, host) = (cell(&row, 1), cell(&row, 0));
        grants.accounts.push(AccountGrants {
            local_only: user == "root" && stored.is_empty(),
            user,
            host,
            plugin,
            authentication: stored.into_bytes(),
            ssl: match cell(&row, 3).as_str() {
                "ANY" => SslKind::Any,
                "X509" => SslKind::X509,
                "SPECIFIED" => SslKind::Specified,
                _ => SslKind::None,
            },
            limits: [number(&row, 4), number(&row, 5), number(&row, 6)],
            max_user_connections: number(&row, 7),
            password_expired: yes(row.get(10)),
            locked: yes(row.get(11)),
            demanded: [12, 13, 14].map(|at| cell(&row, at).into_bytes()),
            password_changed: cell(&row, 15).parse().ok().filter(|&at| at > 0),
            password_lifetime: cell(&row, 16).parse().ok(),
            global: privileges_of(&row, 17, Priv::OF_ROLES) | privileges_of(&row, 19, GLOBAL_LEVEL),
            gives: Priv::NONE,
        });
    }
    load_dynamic(&mut *insider, &mut grants)?;
    let sql = format!("select Host, Db, User, {} from mysql.db", privilege_columns(DATABASE_LEVEL));
    for row in insider.run(&sql)? {
        grants.databases.push(DatabaseGrant {
            host: cell(&row, 0),
            database: cell(&row, 1),
            user: cell(&row, 2),
            privileges: privileges_of(&row, 3, DATABASE_LEVEL),
        });
    }
    let sql = "select Host, Db, User, Table_name, Grantor, Table_priv from mysql.tables_priv";
    for row in insider.run(sql)? {
        grants.tables.push(TableGrant {
            host: cell(&row, 0),
            database: cell(&row, 1),
            user: cell(&row, 2),
            table: cell(&row, 3),
            grantor: cell(&row, 4),
            privileges: privileges_from_set(&cell(&row, 5)),
            columns: Vec::new(),
        });
    }
    let sql = "select Host, Db, User, Table_name, Column_name, Column_priv from mysql.columns_priv";
    for row in insider.run(sql)? {
        let (host, database, user, table) = (cell(&row, 0), cell(&row, 1), cell(&row, 2), cell(&row, 3));
        let same = |g: &&mut TableGrant| {
            g.host == host && g.database == database && g.user == user && g.table == table
        };
        if let Some(grant) = grants.tables.iter_mut().find(same) {
            grant.columns.push((cell(&row, 4), privileges_from_set(&cell(&row, 5))));
        }
    }
    grants.routines = load_routines(db, &mut *insider)?;
    load_roles(db, &mut *insider, &mut grants)?;
    grants.sort();
    Ok(grants)
}

/// Dynamic privileges. Names that nothing depends on here are left alone.
fn load_dynamic(insider: &mut dyn Insider, grants: &mut Grants) -> SqlResult<()> {
    if !grants.keeps_dynamic {
        return Ok(());
    }
    for row in insider.run("select USER, HOST, PRIV, WITH_GRANT_OPTION from mysql.global_grants")? {
        let name = cell(&row, 2);
        let known = NAMES.iter().find(|(p, _, n)| Priv::DYNAMIC.has(*p) && n.eq_ignore_ascii_case(&name));
        let account = grants.account_mut(&cell(&row, 0), &cell(&row, 1));
        if let (Some((privilege, ..)), Some(account)) = (known, account) {
            account.global |= *privilege;
            account.gives |= if yes(row.get(3)) { *privilege } else { Priv::NONE };
        }
    }
    Ok(())
}

/// Writes the dynamic privileges of an account.
fn save_dynamic(insider: &mut dyn Insider, account: &AccountGrants, user: &str, host: &str) -> SqlResult<()> {
    for (privilege, _, name) in NAMES.iter().filter(|(p, ..)| (account.global & Priv::DYNAMIC).has(*p)) {
        let option = if account.gives.has(*privilege) { "Y" } else { "N" };
        insider.run(&format!(
            "insert into mysql.global_grants (USER, HOST, PRIV, WITH_GRANT_OPTION) values ({user}, {host}, '{name}', '{option}')"
        ))?;
    }
    Ok(())
}

/// Privileges on procedures and functions.
fn load_routines(db: &Database, insider: &mut dyn Insider) -> SqlResult<Vec<RoutineGrant>> {
    if !has_routines(&db.engine)? {
        return Ok(Vec::new());
    }
    let sql = "select Host, Db, User, Routine_name, Routine_type, Grantor, Proc_priv from mysql.procs_priv";
    let grant = |row: Vec<Option<String>>| RoutineGrant {
        host: cell(&row, 0),
        database: cell(&row, 1),
        user: cell(&row, 2),
        routine: cell(&row, 3).to_lowercase(),
        is_function: cell(&row, 4) == "FUNCTION",
        grantor: cell(&row, 5),
        privileges: routine_privileges_from_set(&cell(&row, 6)),
    };
    Ok(insider.run(sql)?.into_iter().map(grant).collect())
}

/// Names in the SET of `procs_priv`.
const ROUTINE_SET_NAMES: [(&str, Priv); 3] =
    [("Execute", Priv::EXECUTE), ("Alter Routine", Priv::ALTER_ROUTINE), ("Grant", Priv::GRANT)];

fn routine_privileges_from_set(text: &str) -> Priv {
    let named = |name: &str| {
        ROUTINE_SET_NAMES.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map_or(Priv::NONE, |(_, p)| *p)
    };
    text.split(',').fold(Priv::NONE, |all, name| all | named(name))
}

/// Writes what an account may do with procedures and functions.
fn save_routines(insider: &mut dyn Insider, grants: &Grants, user: &str, host: &str) -> SqlResult<()> {
    let (u, h) = (quote(user.as_bytes()), quote(host.as_bytes()));
    for grant in grants.routines.iter().filter(|g| g.user == user && g.host == host) {
        let names = ROUTINE_SET_NAMES.iter().filter(|(_, p)| grant.privileges.has(*p)).map(|(name, _)| *name);
        let sql = format!(
            "insert into mysql.procs_priv (Host, Db, User, Routine_name, Routine_type, Grantor, Proc_priv) values \
             ({h}, {}, {u}, {}, '{}', {}, '{}')",
            quote(grant.database.as_bytes()),
            quote(grant.routine.as_bytes()),
            if grant.is_function { "FUNCTION" } else { "PROCEDURE" },
            quote(grant.grantor.as_bytes()),
            names.collect::<Vec<_>>().join(",")
        );
        insider.run(&sql)?;
    }
    Ok(())
}

/// Which roles are granted to whom. A folder of an earlier version has no tables for them.
fn load_roles(db: &Database, insider: &mut dyn Insider, grants: &mut Grants) -> SqlResult<()> {
    let core = db.engine.core();
    for name in ["mysql/role_edges", "mysql/default_roles"] {
        if error::of_engine(core.dict.find(&core.storage, name))?.is_none() {
            return Ok(());
        }
    }
    grants.roles.kept = true;
    let sql = "select FROM_USER, FROM_HOST, TO_USER, TO_HOST, WITH_ADMIN_OPTION from mysql.role_edges";
    for row in insider.run(sql)? {
        grants.roles.edges.push(Edge {
            role: (cell(&row, 0), cell(&row, 1)),
            to: (cell(&row, 2), cell(&row, 3)),
            admin: yes(row.get(4)),
        });
    }
    let sql = "select USER, HOST, DEFAULT_ROLE_USER, DEFAULT_ROLE_HOST from mysql.default_roles";
    for row in insider.run(sql)? {
        let of = (cell(&row, 0), cell(&row, 1));
        grants.roles.defaults.push((of, (cell(&row, 2), cell(&row, 3))));
    }
    Ok(())
}

/// Writes the roles of an account, and to whom it is granted as a role.
fn save_roles(insider: &mut dyn Insider, grants: &Grants, user: &str, host: &str) -> SqlResult<()> {
    let (u, h) = (quote(user.as_bytes()), quote(host.as_bytes()));
    for (table, of, with) in [("role_edges", "TO_", "FROM_"), ("default_roles", "", "DEFAULT_ROLE_")] {
        insider.run(&format!(
            "delete from mysql.{table} where {of}HOST = {h} and {of}USER = {u} or {with}HOST = {h} and {with}USER = {u}"
        ))?;
    }
    let is = |name: &(String, String)| name.0 == user && name.1 == host;
    let quoted =
        |name: &(String, String)| format!("{}, {}", quote(name.1.as_bytes()), quote(name.0.as_bytes()));
    for edge in grants.roles.edges.iter().filter(|edge| is(&edge.to) || is(&edge.role)) {
        let admin = if edge.admin { "Y" } else { "N" };
        let (role, to) = (quoted(&edge.role), quoted(&edge.to));
        insider.run(&format!(
            "insert into mysql.role_edges (FROM_HOST, FROM_USER, TO_HOST, TO_USER, WITH_ADMIN_OPTION) values \
             ({role}, {to}, '{admin}')"
        ))?;
    }
    for (of, role) in grants.roles.defaults.iter().filter(|(of, role)| is(of) || is(role)) {
        let (of, role) = (quoted(of), quoted(role));
        insider.run(&format!(
            "insert into mysql.default_roles (HOST, USER, DEFAULT_ROLE_HOST, DEFAULT_ROLE_USER) values ({of}, {role})"
        ))?;
    }
    Ok(())
}

/// Writes everything of these accounts, as one transaction that is durable afterwards.
pub(super) fn save(
    insider: &mut dyn Insider,
    grants: &Grants,
    accounts: &[(String, String)],
) -> SqlResult<()> {
    insider.run("begin")?;
    let done = accounts.iter().try_for_each(|(user, host)| save_one(insider, grants, user, host));
    match done {
        Ok(()) => insider.run("commit").map(|_| ()),
        Err(e) => {
            insider.run("rollback")?;
            Err(e)
        }
    }
}

fn flags(privileges: Priv, level: Priv) -> String {
    let flag = |(p, ..): &(Priv, &str, &str)| if privileges.has(*p) { "'Y'" } else { "'N'" };
    NAMES.iter().filter(|(p, ..)| level.has(*p)).map(flag).collect::<Vec<_>>().join(", ")
}

fn save_one(insider: &mut dyn Insider, grants: &Grants, user: &str, host: &str) -> SqlResult<()> {
    let (u, h) = (quote(user.as_bytes()), quote(host.as_bytes()));
    // An older folder that cannot be completed has no such table, and no such privileges.
    let routines = grants.keeps_routines.then_some("procs_priv");
    let dynamic = grants.keeps_dynamic.then_some("global_grants");
    let tables = ["columns_priv", "tables_priv", "db", "user"].into_iter().chain(routines).chain(dynamic);
    for table in tables {
        insider.run(&format!("delete from mysql.{table} where Host = {h} and User = {u}"))?;
    }
    if grants.roles.kept {
        save_roles(insider, grants, user, host)?;
    }
    let Some(account) = grants.account(user, host) else { return Ok(()) };
    let mut sql = String::new();
    let stored = quote(&account.authentication);
    let native = account.plugin == vaquita_session::password::NATIVE;
    let ssl = match account.ssl {
        SslKind::None => "",
        SslKind::Any => "ANY",
        SslKind::X509 => "X509",
        SslKind::Specified => "SPECIFIED",
    };
    let yes_no = |yes: bool| if yes { "'Y'" } else { "'N'" };
    let (mut names, mut values) = (String::new(), String::new());
    if grants.keeps_lifetimes {
        let or_null = |value: Option<String>| value.unwrap_or_else(|| "null".to_owned());
        names += &format!(", {LAST_CHANGED}, {LIFETIME}");
        let changed = or_null(account.password_changed.map(|at| format!("from_unixtime({at})")));
        values +=
            &format!(", {changed}, {}", or_null(account.password_lifetime.map(|days| days.to_string())));
    }
    if grants.keeps_locks {
        names += &format!(", {LOCKED}");
        values += &format!(", {}", yes_no(account.locked));
    }
    if grants.keeps_of_roles {
        names += &format!(", {CREATES_ROLES}, {DROPS_ROLES}");
        values += &format!(", {}", flags(account.global, Priv::OF_ROLES));
    }
    // Writing to a string does not fail.
    let _ = write!(
        sql,
        "insert into mysql.user (Host, User, Password, ssl_type, ssl_cipher, x509_issuer, x509_subject, max_questions, \
         max_updates, max_connections, max_user_connections, plugin, authentication_string, password_expired{names}, \
         {}) values ({h}, {u}, {}, '{ssl}', {}, {}, {}, {}, {}, {}, {}, {}, {stored}, {}{values}, {})",
        privilege_columns(GLOBAL_LEVEL),
        if native { stored.as_str() } else { "''" },
        quote(&account.demanded[2]),
        quote(&account.demanded[0]),
        quote(&account.demanded[1]),
        account.limits[0],
        account.limits[1],
        account.limits[2],
        account.max_user_connections,
        quote(account.plugin.as_bytes()),
        yes_no(account.password_expired),
        flags(account.global, GLOBAL_LEVEL)
    );
    insider.run(&sql)?;
    if grants.keeps_dynamic {
        save_dynamic(insider, account, &u, &h)?;
    }
    for grant in grants.databases.iter().filter(|g| g.user == user && g.host == host) {
        let sql = format!(
            "insert into mysql.db (Host, Db, User, {}) values ({h}, {}, {u}, {})",
            privilege_columns(DATABASE_LEVEL),
            quote(grant.database.as_bytes()),
            flags(grant.privileges, DATABASE_LEVEL)
        );
        insider.run(&sql)?;
    }
    for grant in grants.tables.iter().filter(|g| g.user == user && g.host == host) {
        let (d, t) = (quote(grant.database.as_bytes()), quote(grant.table.as_bytes()));
        let on_columns = grant.columns.iter().fold(Priv::NONE, |all, (_, p)| all | *p);
        let sql = format!(
            "insert into mysql.tables_priv (Host, Db, User, Table_name, Grantor, Table_priv, Column_priv) values \
             ({h}, {d}, {u}, {t}, {}, {}, {})",
            quote(grant.grantor.as_bytes()),
            set_of(grant.privileges),
            set_of(on_columns)
        );
        insider.run(&sql)?;
        for (column, privileges) in &grant.columns {
            let sql = format!(
                "insert into mysql.columns_priv (Host, Db, User, Table_name, Column_name, Column_priv) values \
                 ({h}, {d}, {u}, {t}, {}, {})",
                quote(column.as_bytes()),
                set_of(*privileges)
            );
            insider.run(&sql)?;
        }
    }
    match grants.keeps_routines {
        true => save_routines(insider, grants, user, host),
        false => Ok(()),
    }
}

/// A session that may do everything, for the tables of `mysql`.
pub(super) fn insider(db: &Database) -> SqlResult<Box<dyn Insider>> {
    let mut insider = db.insider()?;
    insider.ignore_force_recovery();
    // In UTC no hour comes twice: times that are read are written as what they are.
    insider.run("set sql_mode = '', time_zone = '+00:00'")?;
    Ok(insider)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_tables_are_those_that_are_named() {
        let names: Vec<&str> = super::TABLES.iter().map(|kept| kept.name).collect();
        assert_eq!(names, crate::accounts::TABLES);
    }
}
