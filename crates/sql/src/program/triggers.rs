//! CREATE TRIGGER and DROP TRIGGER; triggers as they are listed, in the order in which they are fired.

use super::compile;
use super::define::{NAME_MAX, definer, names};
use crate::accounts::seconds_now;
use crate::database::Database;
use crate::ddl::trigger_files;
use crate::routine::{Routine, event_name, property};
use crate::statement::StmtCx;
use std::fmt::Write as _;
use std::sync::Arc;
use vaquita_catalog::object::ObjectBody;
use vaquita_catalog::{TableInfo, error, sql_name, trigger};
use vaquita_engine::{Object, ObjectKind, Put};
use vaquita_exec::Outcome;
use vaquita_parser::ast::{self, Ident, ObjectName, TriggerEvent};
use vaquita_session::SessionState;
use vaquita_types::{Level, SqlError, SqlResult};

/// Error 1360.
pub(crate) fn missing() -> SqlError {
    SqlError::new(1360, "Trigger does not exist")
}

/// A trigger as the dictionary has it.
#[derive(Debug, Clone)]
pub(crate) struct Listed {
    /// Its database, as SQL calls it.
    pub(crate) database: String,
    /// Its table.
    pub(crate) table: String,
    pub(crate) object: Arc<Object>,
    pub(crate) body: ObjectBody,
    /// Its place among those of the same moment, from 1; 0: it is the only one.
    pub(crate) place: usize,
    /// The one before it.
    pub(crate) before: Option<String>,
}

/// The moments of triggers, in the order in which they are listed.
const MOMENTS: [(&str, &str); 6] = [
    ("BEFORE", "INSERT"),
    ("AFTER", "INSERT"),
    ("BEFORE", "UPDATE"),
    ("AFTER", "UPDATE"),
    ("BEFORE", "DELETE"),
    ("AFTER", "DELETE"),
];

fn timing(before: bool) -> &'static str {
    if before { "BEFORE" } else { "AFTER" }
}

/// Triggers of a table, moment by moment, in the order in which they are fired.
///
/// # Errors
/// One cannot be read.
pub(crate) fn of_table(objects: &[Arc<Object>]) -> SqlResult<Vec<Listed>> {
    let mut all = Vec::with_capacity(objects.len());
    for object in objects {
        let body = ObjectBody::of(object)?;
        let (database, table) = object.table_name().map(|name| sql_name(&name)).unwrap_or_default();
        all.push(Listed { database, table, object: object.clone(), body, place: 0, before: None });
    }
    let mut out: Vec<Listed> = Vec::with_capacity(all.len());
    for (timing, event) in MOMENTS {
        let is_of =
            |t: &&Listed| t.body.get(property::TIMING) == timing && t.body.get(property::EVENT) == event;
        let mut of_moment: Vec<Listed> = all.iter().filter(is_of).cloned().collect();
        of_moment.sort_by(|a, b| a.body.get(property::ORDER).cmp(b.body.get(property::ORDER)));
        let several = of_moment.len() > 1;
        let mut before = None;
        for (at, mut listed) in of_moment.into_iter().enumerate() {
            listed.place = if several { at + 1 } else { 0 };
            listed.before = before.replace(listed.object.name.clone());
            out.push(listed);
        }
    }
    Ok(out)
}

/// The triggers of a table that are fired by these changes, compiled, in their order.
///
/// # Errors
/// One cannot be read or compiled any more.
pub(crate) fn compiled(
    db: &Database,
    state: &mut SessionState,
    table: &Arc<TableInfo>,
    events: &[TriggerEvent],
) -> SqlResult<Vec<Arc<Routine>>> {
    let listed = of_table(&table.table.triggers)?;
    let wanted = listed.iter().filter(|listed| {
        let event = listed.body.get(property::EVENT);
        events.iter().any(|wanted| event_name(*wanted) == event)
    });
    wanted.map(|listed| super::trigger(db, state, &listed.object, table)).collect()
}

/// Database and name of the table that a CREATE TRIGGER is about.
pub(crate) fn table_of(program: &ast::CreateProgram<'_>, current: &str) -> Option<(String, String)> {
    let trigger = program.trigger.as_ref()?;
    let schema = trigger.table.schema.or(program.name.schema);
    let database = schema.map_or_else(|| current.to_owned(), |schema| schema.to_string());
    Some((database, trigger.table.name.to_string()))
}

/// A trigger by its name, in the dictionary.
pub(crate) fn find(db: &Database, database: &str, name: &str) -> Option<Arc<Object>> {
    let file_name = vaquita_catalog::file_name(database).ok()?;
    db.engine.core().objects().get(ObjectKind::Trigger, &file_name, name).cloned()
}

/// The statement that makes a trigger, as SHOW CREATE TRIGGER has it: in the words it was made with, but for a table that has
/// another name by now, and the trigger before it. Names are quoted as where it was made.
pub(crate) fn create_text(listed: &Listed) -> String {
    let body = &listed.body;
    let on = match listed.table == body.get(property::TABLE) {
        true => body.get(property::ON).to_owned(),
        false => trigger::server_on(&listed.table, body.sql_mode),
    };
    let mut text = trigger::create_head(body);
    for part in [body.get(property::HEAD), &on, body.get(property::EACH)] {
        text += part;
        if !part.ends_with(|c: char| c.is_ascii_whitespace()) {
            text.push(' ');
        }
    }
    if let Some(name) = &listed.before {
        let _ = write!(text, "FOLLOWS {} ", trigger::quoted(name, body.sql_mode));
    }
    text + &body.text
}

/// CREATE TRIGGER.
///
/// # Errors
/// 1235, 1359, 1347, 1361, 1435, 1465, 3011; those of the body.
pub(super) fn create(
    cx: &mut StmtCx<'_>,
    program: &ast::CreateProgram<'_>,
    sql: &[u8],
) -> SqlResult<Outcome> {
    let Some(head) = &program.trigger else { return Err(SqlError::unsupported("this trigger")) };
    let (database, file_name, name) = names(cx, &program.name)?;
    if name.chars().count() > NAME_MAX {
        return Err(SqlError::new(1059, format!("Identifier name '{name}' is too long")));
    }
    let (of_table, table) = table_of(program, &cx.state.database).unwrap_or_default();
    let info = target(cx, &database, &of_table, &table)?;
    trigger_files::check_table(cx, &info.table.name)?;
    let collation = vaquita_catalog::database_options(cx.db.engine.core(), &file_name)?
        .flatten()
        .unwrap_or(cx.state.vars.collation_server);
    let definer = definer(cx, program.definer.as_ref())?;
    compile::compile(program, sql, collation, Some(&info), cx.state)?;
    let there = self::of_table(&info.table.triggers)?;
    // One of a table that is not InnoDB's is known to its server alone.
    let core = cx.db.engine.core();
    let exists =
        find(cx.db, &database, &name).is_some() || core.is_name_of_a_server_trigger(&file_name, &name);
    if exists && program.if_not_exists {
        cx.state.warnings.push(Level::Note, 1359, "Trigger already exists");
        return Ok(Outcome::default());
    }
    let order = place(&there, head)?;
    if exists {
        return Err(SqlError::new(1359, "Trigger already exists"));
    }
    let text = |span: ast::Span| cx.state.vars.client_text(span.of(sql)).into_owned();
    let now = seconds_now() as u64;
    let mut body = ObjectBody {
        definer,
        sql_mode: cx.state.vars.sql_mode.0,
        client_collation: cx.state.vars.character_set_client,
        connection_collation: cx.state.vars.collation_connection,
        database_collation: collation,
        created: now,
        modified: now,
        ..ObjectBody::default()
    };
    body.set_text(program.body.of(sql), text(program.body));
    body.set(property::TIMING, timing(head.before));
    body.set(property::EVENT, event_name(head.event));
    body.set(property::ORDER, order);
    body.set(property::HEAD, text(head.head));
    body.set(property::ON, text(head.on));
    body.set(property::EACH, text(head.each));
    body.set(property::TABLE, &*table);
    let table = vaquita_catalog::file_name(&table)?;
    let mut object = Object { table, ..Object::new(ObjectKind::Trigger, file_name, name, body.encode()) };
    trigger_files::tell(cx, &mut object, &mut body, (head.order.is_some(), program.if_not_exists))?;
    match cx.engine.put_object(&object, Put::New) {
        Err(vaquita_engine::Error::ObjectExists(_)) => Err(SqlError::new(1359, "Trigger already exists")),
        done => error::of_engine(done).map(|()| Outcome::default()),
    }
}

/// The table that a trigger is to be made for.
fn target(cx: &mut StmtCx<'_>, database: &str, of_table: &str, table: &str) -> SqlResult<Arc<TableInfo>> {
    for name in [of_table, database] {
        if vaquita_catalog::is_virtual_database(name) {
            let (user, host) = (&cx.state.account_user, &cx.state.account_host);
            return Err(SqlError::database_denied(user, host, name));
        }
    }
    if of_table.eq_ignore_ascii_case("mysql") {
        return Err(SqlError::new(1465, "Triggers can not be created on system tables"));
    }
    if vaquita_session::access::has_temporary(cx.engine, of_table, table) {
        let message = format!("Trigger's '{table}' is view or temporary table");
        return Err(SqlError::new(1361, message));
    }
    let engine_name = vaquita_catalog::engine_name(of_table, table)?;
    let core = cx.db.engine.core();
    if core.objects().view(&engine_name).is_some() {
        return Err(SqlError::new(1347, format!("'{of_table}.{table}' is not BASE TABLE")));
    }
    let found = error::of_engine(core.table(&engine_name))?;
    if of_table != database {
        return Err(SqlError::new(1435, "Trigger in wrong schema"));
    }
    Ok(Arc::new(TableInfo::new(found)?))
}

/// The place of a new trigger among those of its moment.
fn place(there: &[Listed], head: &ast::TriggerHead<'_>) -> SqlResult<String> {
    let (timing, event) = (timing(head.before), event_name(head.event));
    let of_moment: Vec<&Listed> = there
        .iter()
        .filter(|t| t.body.get(property::TIMING) == timing && t.body.get(property::EVENT) == event)
        .collect();
    let order = |at: usize| of_moment.get(at).map(|listed| listed.body.get(property::ORDER));
    let Some((follows, other)) = &head.order else {
        return match of_moment.is_empty() {
            true => Ok(property::ONLY_PLACE.to_owned()),
            false => Err(SqlError::new(
                1235,
                "This version of MySQL doesn't yet support 'multiple triggers with the same action time and event for \
                 one table'",
            )),
        };
    };
    let other = other.to_string();
    let Some(at) = of_moment.iter().position(|listed| listed.object.name == other) else {
        let message =
            format!("Referenced trigger '{other}' for the given action time and event type does not exist.");
        return Err(SqlError::new(3011, message));
    };
    Ok(match follows {
        true => between(order(at).unwrap_or_default(), order(at + 1)),
        false => between(at.checked_sub(1).and_then(order).unwrap_or_default(), order(at)),
    })
}

/// Digits behind a decimal point that stand for a number between two others: above `low`, below `high` (1 without). None of
/// them ends in 0.
fn between(low: &str, high: Option<&str>) -> String {
    let digit = |text: &str, none: u8| text.as_bytes().first().map_or(none, |d| d - b'0');
    let rest = |text: &str| text.get(1..).unwrap_or_default().to_owned();
    let (mut low, mut high) = (low.to_owned(), high.map(str::to_owned));
    let mut out = String::new();
    loop {
        let from = digit(&low, 0);
        let to = high.as_deref().map_or(10, |high| digit(high, 10));
        if to - from > 1 {
            out.push(char::from(b'0' + (from + to) / 2));
            return out;
        }
        out.push(char::from(b'0' + from));
        // Below a next digit that is one more everything is free.
        high = if to == from { high.as_deref().map(rest) } else { None };
        low = rest(&low);
    }
}

/// DROP TRIGGER.
///
/// # Errors
/// 1360; 1235 one that only a MySQL server knows.
pub(super) fn drop(cx: &mut StmtCx<'_>, drop: &ast::DropProgram<'_>) -> SqlResult<Outcome> {
    let (database, file_name, name) = names(cx, &drop.name)?;
    match find(cx.db, &database, &name).and_then(|object| object.table_name()) {
        Some(table) => trigger_files::check_table(cx, &table)?,
        None if cx.db.engine.core().is_name_of_a_server_trigger(&file_name, &name) => {
            let what = format!("dropping trigger `{database}`.`{name}`, which only a MySQL server knows");
            return Err(SqlError::unsupported(&what));
        }
        None => {}
    }
    if error::of_engine(cx.engine.drop_object(ObjectKind::Trigger, &file_name, &name))? {
        return Ok(Outcome::default());
    }
    if !drop.if_exists {
        return Err(missing());
    }
    let missing = missing();
    cx.state.warnings.push(Level::Note, missing.code, missing.message);
    Ok(Outcome::default())
}

/// Database and table of the trigger that a statement names, if it is there.
pub(crate) fn named(db: &Database, name: &ObjectName<'_>, current: &str) -> Option<(String, String)> {
    let text = |ident: Ident<'_>| ident.to_string();
    let database = name.schema.map_or_else(|| current.to_owned(), text);
    let object = find(db, &database, &text(name.name))?;
    object.table_name().map(|name| sql_name(&name))
}

#[cfg(test)]
mod tests {
    use super::{between, property};

    #[test]
    fn there_is_always_a_place_between() {
        let mut order = vec![between("", None)];
        assert_eq!(order, [property::ONLY_PLACE]);
        for i in 0..200 {
            let at = i * 7 % (order.len() + 1);
            let low = at.checked_sub(1).map_or("", |at| order[at].as_str());
            let made = between(low, order.get(at).map(String::as_str));
            assert!(!made.ends_with('0'), "{made}");
            order.insert(at, made);
        }
        assert!(order.windows(2).all(|pair| pair[0] < pair[1]), "{order:?}");
        assert_eq!((between("5", None), between("", Some("1"))), ("7".into(), "05".into()));
    }
}
