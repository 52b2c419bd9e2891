//! `mysql.proc` and `mysql.event`: what the dictionary keeps of routines and events, with the columns that MySQL 5.6.24 has. They
//! are read as other tables of `mysql` are, by whoever may; nobody writes to them, and no list has them, so that dumps of `mysql` leave
//! out what they have as statements.

use super::making::{Cells, Making, text};
use crate::event::EventState;
use crate::event::schedule::{Schedule, unit_name};
use crate::routine::{kind_name, property};
use vaquita_catalog::object::{ObjectBody, Security};
use vaquita_engine::ObjectKind;
use vaquita_parser::ast::ProgramKind;
use vaquita_session::vars::{self, VarValue, id};
use vaquita_types::temporal::calendar::from_unix;
use vaquita_types::{SqlResult, Value};

#[rustfmt::skip]
pub(super) const TABLES: &[super::definitions::Definition] = &[
    ("event", &[
        ("db", "char(64) utf8_bin!"), ("name", "char(64)!"), ("body", "longblob!"), ("definer", "char(77) utf8_bin!"),
        ("execute_at", "datetime"), ("interval_value", "int(11)"),
        ("interval_field", "enum(YEAR,QUARTER,MONTH,DAY,HOUR,MINUTE,WEEK,SECOND,MICROSECOND,YEAR_MONTH,DAY_HOUR,DAY_MINUTE,\
          DAY_SECOND,HOUR_MINUTE,HOUR_SECOND,MINUTE_SECOND,DAY_MICROSECOND,HOUR_MICROSECOND,MINUTE_MICROSECOND,SECOND_MICROSECOND)"),
        ("created", "timestamp!"), ("modified", "timestamp!"), ("last_executed", "datetime"), ("starts", "datetime"),
        ("ends", "datetime"), ("status", "enum(ENABLED,DISABLED,SLAVESIDE_DISABLED)!"), ("on_completion", "enum(DROP,PRESERVE)!"),
        ("sql_mode", SQL_MODE), ("comment", "char(64) utf8_bin!"), ("originator", "int(10) unsigned!"),
        ("time_zone", "char(64) latin1_swedish_ci!"), ("character_set_client", "char(32) utf8_bin"),
        ("collation_connection", "char(32) utf8_bin"), ("db_collation", "char(32) utf8_bin"), ("body_utf8", "longblob"),
    ]),
    ("proc", &[
        ("db", "char(64) utf8_bin!"), ("name", "char(64)!"), ("type", "enum(FUNCTION,PROCEDURE)!"), ("specific_name", "char(64)!"),
        ("language", "enum(SQL)!"), ("sql_data_access", "enum(CONTAINS_SQL,NO_SQL,READS_SQL_DATA,MODIFIES_SQL_DATA)!"),
        ("is_deterministic", "enum(YES,NO)!"), ("security_type", "enum(INVOKER,DEFINER)!"), ("param_list", "blob!"),
        ("returns", "longblob!"), ("body", "longblob!"), ("definer", "char(77) utf8_bin!"), ("created", "timestamp!"),
        ("modified", "timestamp!"), ("sql_mode", SQL_MODE), ("comment", "text utf8_bin!"),
        ("character_set_client", "char(32) utf8_bin"), ("collation_connection", "char(32) utf8_bin"),
        ("db_collation", "char(32) utf8_bin"), ("body_utf8", "longblob"),
    ]),
];

const SQL_MODE: &str = "set(REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,NOT_USED,ONLY_FULL_GROUP_BY,\
    NO_UNSIGNED_SUBTRACTION,NO_DIR_IN_CREATE,POSTGRESQL,ORACLE,MSSQL,DB2,MAXDB,NO_KEY_OPTIONS,NO_TABLE_OPTIONS,NO_FIELD_OPTIONS,\
    MYSQL323,MYSQL40,ANSI,NO_AUTO_VALUE_ON_ZERO,NO_BACKSLASH_ESCAPES,STRICT_TRANS_TABLES,STRICT_ALL_TABLES,NO_ZERO_IN_DATE,\
    NO_ZERO_DATE,INVALID_DATES,ERROR_FOR_DIVISION_BY_ZERO,TRADITIONAL,NO_AUTO_CREATE_USER,HIGH_NOT_PRECEDENCE,\
    NO_ENGINE_SUBSTITUTION,PAD_CHAR_TO_FULL_LENGTH)!";

/// A label of the column of that number, by its text.
fn label(table: usize, column: usize, label: &str) -> Value<'static> {
    let ty = TABLES[table].1[column].1;
    let labels = ty.split_once('(').map_or("", |(_, labels)| labels).trim_end_matches(['!', ')']);
    let number = labels.split(',').position(|one| one == label).map_or(0, |at| at as u64 + 1);
    Value::Label { number, text: label.as_bytes().to_vec().into() }
}

fn sql_mode(mode: u64) -> Value<'static> {
    let text = VarValue::UInt(mode).show(id::SQL_MODE.def().kind);
    Value::Label { number: mode & u64::from(u32::MAX), text: text.into_bytes().into() }
}

/// What ends a row of both.
fn charsets(body: &ObjectBody) -> Cells {
    vec![
        text(vars::charset_name(body.client_collation)),
        text(vars::collation_name(body.connection_collation)),
        text(vars::collation_name(body.database_collation)),
        text(&body.text),
    ]
}

fn definer(body: &ObjectBody) -> Value<'static> {
    text(format!("{}@{}", body.definer.0, body.definer.1))
}

/// `proc`.
pub(super) fn proc(m: &mut Making<'_, '_>) -> SqlResult<()> {
    const PROC: usize = 1;
    let objects = m.db.engine.core().objects();
    let kinds = [ProgramKind::Function, ProgramKind::Procedure];
    for (database, file_name) in m.all_databases(0)? {
        for kind in kinds {
            for object in objects.list(crate::program::object_kind(kind), &file_name) {
                let body = ObjectBody::of(object)?;
                let security = if body.security == Security::Invoker { "INVOKER" } else { "DEFINER" };
                let mut row = vec![
                    text(&database),
                    text(&object.name),
                    label(PROC, 2, kind_name(kind)),
                    text(&object.name),
                    label(PROC, 4, "SQL"),
                    label(PROC, 5, &body.get(property::ACCESS).replace(' ', "_")),
                    label(PROC, 6, body.get(property::DETERMINISTIC)),
                    label(PROC, 7, security),
                    text(body.as_sent(body.get(property::PARAMS))),
                    text(body.get(property::RETURNS)),
                    text(body.source()),
                    definer(&body),
                    m.local(body.created as i64),
                    m.local(body.modified as i64),
                    sql_mode(body.sql_mode),
                    text(&body.comment),
                ];
                row.extend(charsets(&body));
                m.push(row);
            }
        }
    }
    Ok(())
}

/// `event`. Times of the schedule are in UTC.
pub(super) fn event(m: &mut Making<'_, '_>) -> SqlResult<()> {
    const EVENT: usize = 0;
    let utc = |at: Option<i64>| at.and_then(|at| from_unix(at, 0)).map_or(Value::Null, Value::DateTime);
    let objects = m.db.engine.core().objects();
    for (database, file_name) in m.all_databases(0)? {
        for object in objects.list(ObjectKind::Event, &file_name) {
            let body = ObjectBody::of(object)?;
            let state = EventState::of(&body);
            let (at, every) = match &state.schedule {
                Schedule::At(at) => (Some(*at), None),
                Schedule::Every(every) => (None, Some(every)),
            };
            let mut row = vec![
                text(&database),
                text(&object.name),
                text(body.source()),
                definer(&body),
                utc(at),
                every.map_or(Value::Null, |every| Value::Int(every.amount.into())),
                every.map_or(Value::Null, |every| label(EVENT, 6, unit_name(every.unit))),
                m.local(body.created as i64),
                m.local(body.modified as i64),
                utc(state.last_executed),
                utc(every.map(|every| every.starts)),
                utc(every.and_then(|every| every.ends)),
                label(EVENT, 12, state.status.name()),
                label(EVENT, 13, if state.preserve { "PRESERVE" } else { "DROP" }),
                sql_mode(body.sql_mode),
                text(&body.comment),
                Value::UInt(state.originator),
                text(&*state.time_zone),
            ];
            row.extend(charsets(&body));
            m.push(row);
        }
    }
    Ok(())
}
