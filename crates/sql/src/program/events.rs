//! CREATE, ALTER and DROP EVENT.

use super::compile;
use super::define::{NAME_MAX, definer, names};
use crate::event::schedule::{Every, LAST_MOMENT, Schedule};
use crate::event::{EventState, Status};
use crate::statement::StmtCx;
use std::sync::Arc;
use vaquita_catalog::error;
use vaquita_catalog::object::ObjectBody;
use vaquita_engine::{Object, ObjectKind, Put};
use vaquita_exec::Outcome;
use vaquita_parser::ast::{self, ProgramKind};
use vaquita_types::temporal::interval::Unit;
use vaquita_types::{Level, SqlError, SqlResult};

/// Most characters of a comment.
const COMMENT_MAX: usize = 64;

/// A schedule as a statement says it: with values in place of expressions, in seconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Timing {
    At(i64),
    Every { amount: u32, unit: Unit, starts: Option<i64>, ends: Option<i64> },
}

impl Timing {
    /// The schedule of an event that had `before`: without a start it begins now, and an end stays.
    ///
    /// # Errors
    /// 1543.
    fn schedule(&self, now: i64, before: Option<&Schedule>) -> SqlResult<Schedule> {
        Ok(match *self {
            Timing::At(at) => Schedule::At(at),
            Timing::Every { amount, unit, starts, ends } => {
                let starts = starts.unwrap_or(now);
                if ends.is_some_and(|ends| ends <= starts) {
                    return Err(bad_end());
                }
                let kept = match before {
                    Some(Schedule::Every(every)) => every.ends,
                    _ => None,
                };
                Schedule::Every(Every { amount, unit, starts, ends: ends.or(kept) })
            }
        })
    }
}

/// Error 1543.
pub(crate) fn bad_end() -> SqlError {
    SqlError::new(1543, "ENDS is either invalid or before STARTS")
}

/// Error 1539.
pub(crate) fn unknown(name: &str) -> SqlError {
    SqlError::new(1539, format!("Unknown event '{name}'"))
}

fn exists(name: &str) -> SqlError {
    SqlError::new(1537, format!("Event '{name}' already exists"))
}

fn status_of(said: ast::EventStatus) -> Status {
    match said {
        ast::EventStatus::Enabled => Status::Enabled,
        ast::EventStatus::Disabled => Status::Disabled,
        ast::EventStatus::SlavesideDisabled => Status::SlavesideDisabled,
    }
}

/// Whether the times of a schedule are over.
fn is_over(schedule: &Schedule, now: i64) -> bool {
    match schedule {
        Schedule::At(at) => *at < now,
        Schedule::Every(every) => every.ends.is_some_and(|ends| ends < now),
    }
}

fn comment_of(cx: &StmtCx<'_>, comment: &[u8]) -> String {
    cx.state.vars.client_text(comment).chars().take(COMMENT_MAX).collect()
}

/// The statement's time.
fn now(cx: &StmtCx<'_>) -> i64 {
    cx.state.now_us.div_euclid(1_000_000).clamp(0, LAST_MOMENT)
}

/// # Errors
/// 1059, 1458.
fn check_name(name: &str) -> SqlResult<()> {
    if name.chars().count() > NAME_MAX {
        return Err(SqlError::new(1059, format!("Identifier name '{name}' is too long")));
    }
    match name.is_empty() || name.ends_with(' ') {
        true => Err(SqlError::new(1458, format!("Incorrect routine name '{name}'"))),
        false => Ok(()),
    }
}

/// CREATE EVENT. Whoever may make events in the database is known.
///
/// # Errors
/// 1049, 1059, 1458, 1537, 1543, those of the body.
pub(crate) fn create(
    cx: &mut StmtCx<'_>,
    program: &ast::CreateProgram<'_>,
    sql: &[u8],
    timing: Option<&Timing>,
) -> SqlResult<Outcome> {
    let (database, file_name, name) = names(cx, &program.name)?;
    let head = program.event.unwrap_or_default();
    check_name(&name)?;
    let collation = database_collation(cx, &database, &file_name)?;
    let definer = definer(cx, program.definer.as_ref())?;
    compile::compile(program, sql, collation, None, cx.state)?;
    let now = now(cx);
    let timing = timing.ok_or_else(|| SqlError::new(1105, "an event without a schedule"))?;
    let mut state = EventState {
        over: false,
        schedule: timing.schedule(now, None)?,
        status: head.status.map_or(Status::Enabled, status_of),
        preserve: head.preserve == Some(true),
        last_executed: None,
        time_zone: cx.state.vars.time_zone.to_string(),
        originator: cx.db.globals.uint("server_id"),
    };
    if cx.engine.objects().get(ObjectKind::Event, &file_name, &name).is_some() {
        return already_there(cx, program, &name);
    }
    if is_over(&state.schedule, now) {
        if !state.preserve {
            cx.state.warnings.push(
                Level::Note,
                1588,
                "Event execution time is in the past and ON COMPLETION NOT PRESERVE is set. The event was dropped \
                 immediately after creation.",
            );
            return Ok(Outcome::default());
        }
        disable_what_is_over(cx, &mut state);
    }
    let created = now.unsigned_abs();
    let mut body = ObjectBody {
        definer,
        sql_mode: cx.state.vars.sql_mode.0,
        client_collation: cx.state.vars.character_set_client,
        connection_collation: cx.state.vars.collation_connection,
        database_collation: collation,
        created,
        modified: created,
        comment: head.comment.map_or_else(String::new, |comment| comment_of(cx, comment)),
        ..ObjectBody::default()
    };
    let sent = program.body.of(sql);
    body.set_text(sent, cx.state.vars.client_text(sent).into_owned());
    state.put(&mut body);
    let object = Object::new(ObjectKind::Event, file_name, name.clone(), body.encode());
    match cx.engine.put_object(&object, Put::New) {
        Err(vaquita_engine::Error::ObjectExists(_)) => already_there(cx, program, &name),
        done => {
            error::of_engine(done)?;
            cx.db.events.wake();
            Ok(Outcome::default())
        }
    }
}

fn already_there(cx: &mut StmtCx<'_>, program: &ast::CreateProgram<'_>, name: &str) -> SqlResult<Outcome> {
    let there = exists(name);
    if !program.if_not_exists {
        return Err(there);
    }
    cx.state.warnings.push(Level::Note, there.code, there.message);
    Ok(Outcome::default())
}

/// An event that stays though its times are over rests.
fn disable_what_is_over(cx: &mut StmtCx<'_>, state: &mut EventState) {
    if state.status == Status::Enabled {
        state.status = Status::Disabled;
        let text = "Event execution time is in the past. Event has been disabled";
        cx.state.warnings.push(Level::Note, 1544, text);
    }
}

/// # Errors
/// 1049; 1044 information_schema.
fn database_collation(cx: &StmtCx<'_>, database: &str, file_name: &str) -> SqlResult<u16> {
    if vaquita_catalog::is_virtual_database(database) {
        let (user, host) = (&cx.state.account_user, &cx.state.account_host);
        return Err(SqlError::database_denied(user, host, database));
    }
    match vaquita_catalog::database_options(cx.db.engine.core(), file_name)? {
        Some(options) => Ok(options.unwrap_or(cx.state.vars.collation_server)),
        None => Err(SqlError::new(1049, format!("Unknown database '{database}'"))),
    }
}

/// ALTER EVENT: what is said changes, and whoever says it becomes the definer.
///
/// # Errors
/// 1049, 1059, 1458, 1537, 1539, 1543, 1551, 1589, those of the body.
pub(crate) fn alter(
    cx: &mut StmtCx<'_>,
    alter: &ast::AlterEvent<'_>,
    sql: &[u8],
    timing: Option<&Timing>,
) -> SqlResult<Outcome> {
    let (database, file_name, name) = names(cx, &alter.name)?;
    let target = match &alter.head.rename {
        Some(to) => Some(new_name(cx, to, (&file_name, &name))?),
        None => None,
    };
    let definer = definer(cx, alter.definer.as_ref())?;
    let there = cx.engine.objects().get(ObjectKind::Event, &file_name, &name).cloned();
    let there = there.ok_or_else(|| unknown(&name))?;
    if let Some((file_name, name)) = &target
        && cx.engine.objects().get(ObjectKind::Event, file_name, name).is_some()
    {
        return Err(exists(name));
    }
    let mut body = ObjectBody::of(&there)?;
    change(cx, alter, timing, &mut body)?;
    if let Some((code, span)) = alter.body {
        body.database_collation = database_collation(cx, &database, &file_name)?;
        compile::compile(&program_of(alter, code, span), sql, body.database_collation, None, cx.state)?;
        body.client_collation = cx.state.vars.character_set_client;
        body.set_text(span.of(sql), cx.state.vars.client_text(span.of(sql)).into_owned());
        body.sql_mode = cx.state.vars.sql_mode.0;
    } else {
        // The statement goes on meaning what it meant, if it can be said in the other character set.
        let said = ObjectBody { client_collation: cx.state.vars.character_set_client, ..body.clone() };
        if said.can_send(&body.text) && said.source() == said.as_sent(&body.text) {
            body.client_collation = said.client_collation;
        }
    }
    body.connection_collation = cx.state.vars.collation_connection;
    body.definer = definer;
    body.modified = now(cx).unsigned_abs();
    store(cx, &there, target, &body)?;
    cx.db.events.wake();
    Ok(Outcome::default())
}

/// Database in file names and name of what an event is to be called.
///
/// # Errors
/// 1049, 1059, 1458, 1551.
fn new_name(cx: &StmtCx<'_>, to: &ast::ObjectName<'_>, from: (&str, &str)) -> SqlResult<(String, String)> {
    let (database, file_name, name) = names(cx, to)?;
    check_name(&name)?;
    let same = ObjectKind::Event.fold(&name) == ObjectKind::Event.fold(from.1) && file_name == from.0;
    if same {
        return Err(SqlError::new(1551, "Same old and new event name"));
    }
    database_collation(cx, &database, &file_name)?;
    Ok((file_name, name))
}

/// What ALTER EVENT says besides name and body.
fn change(
    cx: &mut StmtCx<'_>,
    alter: &ast::AlterEvent<'_>,
    timing: Option<&Timing>,
    body: &mut ObjectBody,
) -> SqlResult<()> {
    let mut state = EventState::of(body);
    // Whoever alters it wants it.
    state.over = false;
    let said = alter.head.status.map(status_of);
    if let Some(preserve) = alter.head.preserve {
        state.preserve = preserve;
    }
    if let Some(timing) = timing {
        let now = now(cx);
        state.schedule = timing.schedule(now, Some(&state.schedule))?;
        state.time_zone = cx.state.vars.time_zone.to_string();
        if is_over(&state.schedule, now) {
            if !state.preserve {
                return Err(SqlError::new(
                    1589,
                    "Event execution time is in the past and ON COMPLETION NOT PRESERVE is set. The event was not changed. \
                     Specify a time in the future.",
                ));
            }
            let mut as_said = EventState { status: said.unwrap_or(Status::Enabled), ..state.clone() };
            disable_what_is_over(cx, &mut as_said);
            state.status = as_said.status;
        } else if let Some(status) = said {
            state.status = status;
        }
    } else if let Some(status) = said {
        state.status = status;
    }
    if let Some(comment) = alter.head.comment {
        body.comment = comment_of(cx, comment);
    }
    state.put(body);
    Ok(())
}

/// The new body of an event as a program to be compiled.
fn program_of<'a>(
    alter: &ast::AlterEvent<'a>,
    code: &'a ast::ProgramStmt<'a>,
    body: ast::Span,
) -> ast::CreateProgram<'a> {
    ast::CreateProgram {
        kind: ProgramKind::Event,
        if_not_exists: false,
        definer: None,
        name: alter.name,
        params: &[],
        returns: None,
        trigger: None,
        params_text: ast::Span::default(),
        returns_text: ast::Span::default(),
        characteristics: ast::Characteristics::default(),
        event: Some(alter.head),
        code,
        body,
    }
}

fn store(
    cx: &mut StmtCx<'_>,
    there: &Arc<Object>,
    target: Option<(String, String)>,
    body: &ObjectBody,
) -> SqlResult<()> {
    let from = (there.database.as_str(), there.name.as_str());
    let done = match target {
        None => {
            let object = Object::new(ObjectKind::Event, from.0, from.1, body.encode());
            cx.engine.put_object(&object, Put::Existing)
        }
        Some((database, name)) => {
            let object = Object::new(ObjectKind::Event, database, name, body.encode());
            cx.engine.move_object(from, &object)
        }
    };
    match done {
        Err(vaquita_engine::Error::NoSuchObject(name)) => Err(unknown(&name)),
        Err(vaquita_engine::Error::ObjectExists(name)) => Err(exists(&name)),
        done => error::of_engine(done),
    }
}

/// DROP EVENT. Executions that have begun go on.
///
/// # Errors
/// 1539.
pub(super) fn drop(cx: &mut StmtCx<'_>, drop: &ast::DropProgram<'_>) -> SqlResult<Outcome> {
    let (_, file_name, name) = names(cx, &drop.name)?;
    if error::of_engine(cx.engine.drop_object(ObjectKind::Event, &file_name, &name))? {
        return Ok(Outcome::default());
    }
    if !drop.if_exists {
        return Err(unknown(&name));
    }
    cx.state.warnings.push(Level::Note, 1305, format!("Event {name} does not exist"));
    Ok(Outcome::default())
}

/// The statement that makes an event, as SHOW CREATE has it.
pub(crate) fn create_text(name: &str, body: &ObjectBody, quote: impl Fn(&str) -> String) -> String {
    let state = EventState::of(body);
    let (user, host) = (quote(&body.definer.0), quote(&body.definer.1));
    let zone = state.zone();
    let time = |at: i64| local_text(at, &zone);
    let mut out = format!("CREATE DEFINER={user}@{host} EVENT {} ON SCHEDULE ", quote(name));
    match &state.schedule {
        Schedule::At(at) => out.push_str(&format!("AT '{}'", time(*at))),
        Schedule::Every(every) => {
            let unit = crate::event::schedule::unit_name(every.unit);
            out.push_str(&format!("EVERY {} {unit} STARTS '{}'", every.shown(), time(every.starts)));
            if let Some(ends) = every.ends {
                out.push_str(&format!(" ENDS '{}'", time(ends)));
            }
        }
    }
    let not = if state.preserve { "" } else { "NOT " };
    out.push_str(&format!(" ON COMPLETION {not}PRESERVE {}", state.status.clause()));
    if !body.comment.is_empty() {
        let comment = body.comment.replace('\\', "\\\\").replace('\'', "''");
        out.push_str(&format!(" COMMENT '{comment}'"));
    }
    out.push_str(" DO ");
    out.push_str(&body.text);
    out
}

/// A moment as text in a time zone.
fn local_text(at: i64, zone: &vaquita_types::TimeZone) -> String {
    use vaquita_types::temporal::calendar::from_unix;
    let local = from_unix(zone.to_local(at), 0).unwrap_or_default();
    let value = vaquita_types::Value::DateTime(local);
    let ty = vaquita_types::SqlType::new(vaquita_types::Kind::DateTime);
    String::from_utf8_lossy(&value.to_text(&ty)).into_owned()
}
