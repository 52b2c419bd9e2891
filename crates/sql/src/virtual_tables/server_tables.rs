//! Engines, character sets, sessions, variables, counters, privileges.

use super::making::{Making, text, text_or_null, yes_no};
use crate::database::Database;
use vaquita_session::privilege::Priv;
use vaquita_session::vars;
use vaquita_types::{SqlResult, Value};

pub(super) fn engines(m: &mut Making<'_, '_>) -> SqlResult<()> {
    m.push(vec![
        text("InnoDB"),
        text("DEFAULT"),
        text("Supports transactions, row-level locking, and foreign keys"),
        text("YES"),
        text("YES"),
        text("YES"),
    ]);
    Ok(())
}

pub(super) fn character_sets(m: &mut Making<'_, '_>) -> SqlResult<()> {
    for listed in &vaquita_engine::lower::charset::list::CHARSETS {
        m.push(vec![
            text(listed.name),
            text(vars::collation_name(listed.default_collation)),
            text(listed.description),
            Value::UInt(listed.mb_max_len.into()),
        ]);
    }
    Ok(())
}

pub(super) fn collations(m: &mut Making<'_, '_>) -> SqlResult<()> {
    for listed in vaquita_engine::lower::collation::list::collations() {
        m.push(vec![
            text(listed.name),
            text(listed.charset),
            Value::UInt(listed.id.into()),
            text(if listed.is_default { "Yes" } else { "" }),
            text(if listed.implemented { "Yes" } else { "" }),
            Value::UInt(listed.sort_len.into()),
        ]);
    }
    Ok(())
}

pub(super) fn collation_applicability(m: &mut Making<'_, '_>) -> SqlResult<()> {
    for listed in vaquita_engine::lower::collation::list::collations() {
        m.push(vec![text(listed.name), text(listed.charset)]);
    }
    Ok(())
}

pub(super) fn processlist(m: &mut Making<'_, '_>) -> SqlResult<()> {
    let all = m.state().privileges.global.has(Priv::PROCESS);
    for process in m.db.processes().list() {
        let doing = process.doing();
        if !all && doing.user != m.state().user {
            continue;
        }
        let info = (!doing.text.is_empty()).then_some(doing.text);
        m.push(vec![
            Value::UInt(process.id.into()),
            text(doing.user),
            text(doing.host),
            text_or_null((!doing.database.is_empty()).then_some(doing.database)),
            text(doing.command),
            Value::Int(doing.since.elapsed().as_secs() as i64),
            text(doing.state),
            text_or_null(info),
        ]);
    }
    Ok(())
}

fn pairs(m: &mut Making<'_, '_>, list: impl IntoIterator<Item = (String, String)>) -> SqlResult<()> {
    let one = m.wanted.text(0).map(|name| String::from_utf8_lossy(name).into_owned());
    for (name, value) in list {
        if one.as_ref().is_none_or(|one| one.eq_ignore_ascii_case(&name)) {
            m.push(vec![text(name.to_uppercase()), text(value)]);
        }
    }
    Ok(())
}

fn variables(m: &mut Making<'_, '_>, global: bool) -> SqlResult<()> {
    let list = crate::set::list(global, m.db, m.state());
    pairs(m, list.into_iter().map(|(name, value)| (name.to_owned(), value)))
}

pub(super) fn global_variables(m: &mut Making<'_, '_>) -> SqlResult<()> {
    variables(m, true)
}

pub(super) fn session_variables(m: &mut Making<'_, '_>) -> SqlResult<()> {
    variables(m, false)
}

pub(super) fn global_status(m: &mut Making<'_, '_>) -> SqlResult<()> {
    let list = crate::status::list(m.db, None);
    pairs(m, list)
}

pub(super) fn session_status(m: &mut Making<'_, '_>) -> SqlResult<()> {
    let list = crate::status::list(m.db, Some(m.state()));
    pairs(m, list)
}

/// Lines of SHOW PLUGINS: name, type.
pub(crate) fn plugin_list(db: &Database) -> Vec<(&str, &'static str)> {
    let parsers = db.engine.core().options.parsers.names().map(|name| (name, "FTPARSER"));
    PLUGINS.iter().copied().chain(parsers).collect()
}

const PLUGINS: &[(&str, &str)] = &[
    ("mysql_native_password", "AUTHENTICATION"),
    ("caching_sha2_password", "AUTHENTICATION"),
    ("InnoDB", "STORAGE ENGINE"),
    ("INNODB_TRX", "INFORMATION SCHEMA"),
    ("INNODB_LOCKS", "INFORMATION SCHEMA"),
    ("INNODB_LOCK_WAITS", "INFORMATION SCHEMA"),
    ("INNODB_METRICS", "INFORMATION SCHEMA"),
    ("INNODB_FT_DEFAULT_STOPWORD", "INFORMATION SCHEMA"),
    ("INNODB_FT_DELETED", "INFORMATION SCHEMA"),
    ("INNODB_FT_BEING_DELETED", "INFORMATION SCHEMA"),
    ("INNODB_FT_CONFIG", "INFORMATION SCHEMA"),
    ("INNODB_FT_INDEX_CACHE", "INFORMATION SCHEMA"),
    ("INNODB_FT_INDEX_TABLE", "INFORMATION SCHEMA"),
    ("INNODB_SYS_TABLES", "INFORMATION SCHEMA"),
    ("INNODB_SYS_TABLESTATS", "INFORMATION SCHEMA"),
    ("INNODB_SYS_INDEXES", "INFORMATION SCHEMA"),
    ("INNODB_SYS_COLUMNS", "INFORMATION SCHEMA"),
    ("INNODB_SYS_FIELDS", "INFORMATION SCHEMA"),
    ("INNODB_SYS_FOREIGN", "INFORMATION SCHEMA"),
    ("INNODB_SYS_FOREIGN_COLS", "INFORMATION SCHEMA"),
    ("INNODB_SYS_TABLESPACES", "INFORMATION SCHEMA"),
    ("INNODB_SYS_DATAFILES", "INFORMATION SCHEMA"),
    // What programs look for to know whether tables may have partitions.
    ("partition", "STORAGE ENGINE"),
];

pub(super) fn plugins(m: &mut Making<'_, '_>) -> SqlResult<()> {
    for (name, kind) in plugin_list(m.db) {
        m.push(vec![
            text(name),
            text("1.0"),
            text("ACTIVE"),
            text(kind),
            text("50744.0"),
            Value::Null,
            Value::Null,
            text("Vaquita"),
            text(""),
            text("MIT OR Apache-2.0"),
            text("FORCE"),
        ]);
    }
    Ok(())
}

/// Accounts whose privileges the session may see: its own, or all of them.
fn visible(m: &Making<'_, '_>, user: &str, host: &str) -> bool {
    let state = m.state();
    state.privileges.global.has(Priv::SELECT) || (user == state.account_user && host == state.account_host)
}

fn grantee(user: &str, host: &str) -> Value<'static> {
    text(format!("'{user}'@'{host}'"))
}

pub(super) fn user_privileges(m: &mut Making<'_, '_>) -> SqlResult<()> {
    for account in &m.db.accounts().grants().accounts {
        if !visible(m, &account.user, &account.host) {
            continue;
        }
        let grantable = account.global.has(Priv::GRANT);
        let has = account.global - Priv::GRANT - Priv::DYNAMIC;
        let mut names: Vec<(&str, bool)> = has.names().map(|name| (name, grantable)).collect();
        if names.is_empty() {
            names.push(("USAGE", grantable));
        }
        let dynamic = account.global & Priv::DYNAMIC;
        names.extend((dynamic - account.gives).names().map(|name| (name, false)));
        names.extend((dynamic & account.gives).names().map(|name| (name, true)));
        for (name, grantable) in names {
            m.push(vec![grantee(&account.user, &account.host), text("def"), text(name), yes_no(grantable)]);
        }
    }
    Ok(())
}

pub(super) fn schema_privileges(m: &mut Making<'_, '_>) -> SqlResult<()> {
    for grant in &m.db.accounts().grants().databases {
        if !visible(m, &grant.user, &grant.host) {
            continue;
        }
        let grantable = grant.privileges.has(Priv::GRANT);
        let has = grant.privileges - Priv::GRANT;
        let names: Vec<&str> = if has.is_none() { vec!["USAGE"] } else { has.names().collect() };
        for name in names {
            m.push(vec![
                grantee(&grant.user, &grant.host),
                text("def"),
                text(&grant.database),
                text(name),
                yes_no(grantable),
            ]);
        }
    }
    Ok(())
}

pub(super) fn table_privileges(m: &mut Making<'_, '_>) -> SqlResult<()> {
    for grant in &m.db.accounts().grants().tables {
        if !visible(m, &grant.user, &grant.host) || grant.privileges.is_none() {
            continue;
        }
        let grantable = grant.privileges.has(Priv::GRANT);
        for name in (grant.privileges - Priv::GRANT).names() {
            m.push(vec![
                grantee(&grant.user, &grant.host),
                text("def"),
                text(&grant.database),
                text(&grant.table),
                text(name),
                yes_no(grantable),
            ]);
        }
    }
    Ok(())
}

pub(super) fn column_privileges(m: &mut Making<'_, '_>) -> SqlResult<()> {
    for grant in &m.db.accounts().grants().tables {
        if !visible(m, &grant.user, &grant.host) {
            continue;
        }
        let grantable = grant.privileges.has(Priv::GRANT);
        for (column, privileges) in &grant.columns {
            for name in privileges.names() {
                m.push(vec![
                    grantee(&grant.user, &grant.host),
                    text("def"),
                    text(&grant.database),
                    text(&grant.table),
                    text(column),
                    text(name),
                    yes_no(grantable),
                ]);
            }
        }
    }
    Ok(())
}
