//! `performance_schema`: what sessions are at. Of its tables there is `events_stages_current`, with the columns of MySQL 5.7: a row for
//! each session that changes a definition, from the first stage of it that takes longer to its end. Nothing is switched on for it, and
//! nothing is kept of a stage that is over.

use super::making::{Making, text};
use vaquita_engine::{Sight, Stage};
use vaquita_session::process::stage_name;
use vaquita_types::{SqlResult, Value};

#[rustfmt::skip]
pub(super) const TABLES: &[super::definitions::Definition] = &[
    ("events_stages_current", &[
        ("THREAD_ID", "bigint(20) unsigned!"), ("EVENT_ID", "bigint(20) unsigned!"), ("END_EVENT_ID", "bigint(20) unsigned"),
        ("EVENT_NAME", "varchar(128)!"), ("SOURCE", "varchar(64)"), ("TIMER_START", "bigint(20) unsigned"),
        ("TIMER_END", "bigint(20) unsigned"), ("TIMER_WAIT", "bigint(20) unsigned"), ("WORK_COMPLETED", "bigint(20) unsigned"),
        ("WORK_ESTIMATED", "bigint(20) unsigned"), ("NESTING_EVENT_ID", "bigint(20) unsigned"),
        ("NESTING_EVENT_TYPE", "enum(TRANSACTION,STATEMENT,STAGE,WAIT)"),
    ]),
];

/// Picoseconds in a microsecond: times are in picoseconds.
const PS: u64 = 1_000_000;

/// `events_stages_current`. A thread's number is its connection's. Where a stage stands in the source is not told, and no statement is
/// an event here that it could be nested in.
pub(super) fn stages_current(m: &mut Making<'_, '_>) -> SqlResult<()> {
    for process in m.db.processes().list() {
        let Some(Sight { stage, number, since_us, now_us, completed, estimated, .. }) = process.sight()
        else {
            continue;
        };
        let Some(name) = event_name(stage) else { continue };
        m.push(vec![
            Value::UInt(process.id.into()),
            Value::UInt(number),
            Value::Null,
            text(name),
            Value::Null,
            Value::UInt(since_us * PS),
            Value::UInt(now_us * PS),
            Value::UInt((now_us - since_us) * PS),
            Value::UInt(completed),
            Value::UInt(estimated),
            Value::Null,
            Value::Null,
        ]);
    }
    Ok(())
}

/// The instrument of a stage; `None`: MySQL has none for it.
fn event_name(stage: Stage) -> Option<String> {
    let class = match stage {
        Stage::Idle | Stage::File | Stage::Check => return None,
        Stage::Copy => "sql",
        Stage::Scan
        | Stage::References
        | Stage::Sort
        | Stage::Load
        | Stage::Flush
        | Stage::LogIndex
        | Stage::LogTable
        | Stage::Commit => "innodb",
    };
    stage_name(stage).map(|name| format!("stage/{class}/{name}"))
}
