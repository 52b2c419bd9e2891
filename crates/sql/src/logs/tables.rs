//! The logs as tables: `mysql.general_log` and `mysql.slow_log`.
//!
//! Rows wait in memory as lines of the files do, and are put into the tables by a session of this layer, which is not logged
//! itself. What cannot be put there now is tried again; beyond [`super::BUFFER_MAX`] the oldest rows go.

use crate::insider::{Insider, Insiders, quoted};
use std::collections::VecDeque;
use vaquita_types::SqlResult;

/// Rows that one INSERT takes.
const ROWS: usize = 200;

/// The tables, by their names in the engine.
pub(super) const TABLES: [&str; 2] = ["mysql/general_log", "mysql/slow_log"];

/// Rows that wait.
#[derive(Debug, Default)]
pub(super) struct Rows {
    waiting: VecDeque<(&'static str, String)>,
    bytes: usize,
}

impl Rows {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds a row: the table, its values as INSERT has them.
    pub(super) fn push(&mut self, table: &'static str, values: String) {
        self.bytes += values.len();
        self.waiting.push_back((table, values));
        while self.bytes > super::BUFFER_MAX
            && let Some((_, oldest)) = self.waiting.pop_front()
        {
            self.bytes -= oldest.len();
        }
    }

    /// The first rows, all of one table; they are no longer waiting.
    pub(super) fn take(&mut self) -> Option<(&'static str, Vec<String>)> {
        let table = self.waiting.front()?.0;
        let mut rows = Vec::new();
        while rows.len() < ROWS
            && let Some((_, row)) = self.waiting.pop_front_if(|(of, _)| *of == table)
        {
            self.bytes -= row.len();
            rows.push(row);
        }
        Some((table, rows))
    }

    /// Rows that were taken in vain.
    pub(super) fn put_back(&mut self, table: &'static str, rows: Vec<String>) {
        for row in rows.into_iter().rev() {
            self.bytes += row.len();
            self.waiting.push_front((table, row));
        }
    }
}

/// A session that puts rows into the tables; `None`: the folder is closed.
pub(super) fn session(insiders: &dyn Insiders) -> Option<SqlResult<Box<dyn Insider>>> {
    let settings =
        "set sql_mode = '', time_zone = '+00:00', lock_wait_timeout = 1, innodb_lock_wait_timeout = 1";
    Some(insiders.session()?.and_then(|mut session| session.run(settings).map(|_| session)))
}

/// Columns of a table in the order of a row's values. Who administers a folder may give it more.
fn columns(table: &str) -> &'static str {
    match table {
        "slow_log" => {
            "start_time, user_host, query_time, lock_time, rows_sent, rows_examined, db, last_insert_id, insert_id, server_id, \
             sql_text, thread_id"
        }
        _ => "event_time, user_host, thread_id, server_id, command_type, argument",
    }
}

/// Puts rows into a table.
pub(super) fn insert(session: &mut dyn Insider, table: &str, rows: &[String]) -> SqlResult<()> {
    let sql = format!("insert into mysql.{table} ({}) values {}", columns(table), rows.join(","));
    session.run(&sql).map(drop)
}

/// A moment, as a value.
pub(super) fn moment(us: i64) -> String {
    format!("from_unixtime({})", us.div_euclid(1_000_000).max(1))
}

/// A span of time, as a value: whole seconds.
pub(super) fn span(us: u64) -> String {
    format!("sec_to_time({})", us / 1_000_000)
}

/// A text, as a value. The tables are in UTF-8 of three bytes at most, as MySQL's are.
pub(super) fn text(text: &str) -> String {
    let kept: String = text.chars().map(|c| if u32::from(c) > 0xFFFF { '?' } else { c }).collect();
    quoted(kept.as_bytes())
}
