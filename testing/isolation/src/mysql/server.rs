//! The real server as a player of scripts.

use super::wire::{Answer, Client, WireError};
use crate::Level;
use crate::script::{Connection, Plan, Reply, Script, Server};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long answers are waited for before a server is asked who waits.
const PAUSE: Duration = Duration::from_millis(2);
const DATABASE: &str = "iso";

/// Plays scripts on a running MySQL 5.6.24.
#[derive(Debug)]
pub struct MysqlServer {
    socket: PathBuf,
    admin: Client,
    /// `innodb_trx` shows the present however often it is asked.
    present: bool,
}

/// One session.
#[derive(Debug)]
struct MysqlConnection(Client);

impl MysqlServer {
    /// On the server at `socket`.
    ///
    /// # Errors
    /// It does not answer.
    pub fn connect_to(socket: &Path) -> Result<MysqlServer, String> {
        let mut admin = Client::connect(socket, DATABASE).map_err(|e| e.to_string())?;
        // EXPLAIN may read rows of tables it takes for constant.
        admin.query("set session transaction isolation level read uncommitted").map_err(|e| e.to_string())?;
        Ok(MysqlServer { socket: socket.to_path_buf(), admin, present: false })
    }

    /// A server whose `innodb_trx` shows the present however often it is asked: Vaquita's.
    #[must_use]
    pub fn asked_often(mut self) -> MysqlServer {
        self.present = true;
        self
    }

    fn ask(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, String> {
        self.admin.query(sql).map(Answer::into_rows).map_err(|e| format!("{e}: {sql}"))
    }
}

impl Connection for MysqlConnection {
    fn id(&self) -> u64 {
        self.0.thread_id().into()
    }

    fn execute(&mut self, sql: &str, _plan: Option<&Plan>) -> Reply {
        match self.0.query(sql) {
            Ok(Answer::Affected(n)) => Reply::Affected(n),
            Ok(Answer::Rows(rows)) => Reply::Rows(rows),
            // A syntax error or an unknown name is the script's mistake, not an outcome.
            Err(WireError::Server { code: 1064 | 1054 | 1146, message }) => Reply::Broken(message),
            Err(WireError::Server { code, .. }) => Reply::Error(code),
            Err(e) => Reply::Broken(e.to_string()),
        }
    }
}

impl Server for MysqlServer {
    fn prepare(&mut self, script: &Script) -> Result<(), String> {
        for table in self.ask("show tables")?.into_iter().flatten().flatten() {
            self.ask(&format!("drop table `{table}`"))?;
        }
        for sql in &script.setup {
            self.ask(sql)?;
        }
        for table in self.ask("show tables")?.into_iter().flatten().flatten() {
            self.ask(&format!("analyze table `{table}`"))?;
        }
        Ok(())
    }

    fn connect(&mut self, level: Level) -> Result<Box<dyn Connection>, String> {
        let mut client = Client::connect(&self.socket, DATABASE).map_err(|e| e.to_string())?;
        client
            .query(&format!("set session transaction isolation level {}", level.sql()))
            .map_err(|e| e.to_string())?;
        Ok(Box::new(MysqlConnection(client)))
    }

    fn plan(&mut self, _step: usize, sql: &str) -> Result<Option<Plan>, String> {
        if !["select", "update", "delete"].iter().any(|word| sql.starts_with(word)) {
            return Ok(None);
        }
        // Without the locks: EXPLAIN would take them.
        let sql = sql.trim_end_matches(" for update").trim_end_matches(" lock in share mode");
        let rows = self.ask(&format!("explain {sql}"))?;
        let row = rows.first().ok_or("EXPLAIN gave nothing")?;
        let column = |at: usize| row.get(at).cloned().flatten();
        let extra = column(9).unwrap_or_default();
        Ok(Some(Plan {
            access: column(3).unwrap_or_else(|| "none".into()).to_lowercase(),
            key: column(5),
            covering: extra.split("; ").any(|word| word == "Using index"),
            pushed: extra.contains("Using index condition"),
            buffered: extra.contains("Using temporary") || extra.contains("Using filesort"),
        }))
    }

    /// The original's `information_schema.innodb_trx` is a snapshot that is taken anew only if nobody asked for it for a
    /// tenth of a second; its monitor's text is of this moment.
    fn waiting(&mut self) -> Result<Vec<u64>, String> {
        if self.present {
            let rows = self.ask(
                "select trx_mysql_thread_id from information_schema.innodb_trx where trx_state = 'LOCK WAIT'",
            )?;
            return Ok(rows.into_iter().flatten().flatten().filter_map(|id| id.parse().ok()).collect());
        }
        let status = self.ask("show engine innodb status")?;
        let text = status.into_iter().flatten().flatten().next_back().unwrap_or_default();
        Ok(waiting_threads(&text))
    }

    fn pause(&self) -> Duration {
        PAUSE
    }

    fn interrupt(&mut self, session: u64) -> Result<(), String> {
        self.ask(&format!("kill {session}")).map(drop)
    }

    fn locks(&mut self) -> Result<BTreeMap<u64, Vec<String>>, String> {
        if self.present {
            return Ok(BTreeMap::new());
        }
        self.ask("set global innodb_status_output_locks = on")?;
        let status = self.ask("show engine innodb status")?;
        Ok(locks_by_thread(&status.into_iter().flatten().flatten().next_back().unwrap_or_default()))
    }

    fn last_deadlock(&mut self) -> Result<String, String> {
        let status = self.ask("show engine innodb status")?;
        let text = status.into_iter().flatten().flatten().next_back().unwrap_or_default();
        let report = text.split_once("LATEST DETECTED DEADLOCK\n").map_or("", |(_, report)| report);
        Ok(report.split_once("\nTRANSACTIONS\n").map_or(report, |(report, _)| report).to_owned())
    }

    /// The history list's length does not fall to 0 (it is counted down in large steps), and how far purge has come says
    /// nothing about what was still to come. So: idle, and no further than before, for a second.
    fn purge(&mut self) -> Result<(), String> {
        let (mut before, mut unchanged) = (String::new(), 0);
        for _ in 0..1000 {
            let status = self.ask("show engine innodb status")?;
            let text = status.into_iter().flatten().flatten().next_back().unwrap_or_default();
            let now = text.lines().find(|line| line.starts_with("Purge done for trx")).unwrap_or_default();
            unchanged = if now == before && now.ends_with("idle") { unchanged + 1 } else { 0 };
            if unchanged == 20 {
                return Ok(());
            }
            before = now.to_owned();
            std::thread::sleep(Duration::from_millis(50));
        }
        Err(format!("purge does not come to rest: {before}"))
    }
}

/// The monitor's list of transactions: thread, and what is said of it.
fn transactions(status: &str) -> Vec<(u64, &str)> {
    let list = status.split_once("LIST OF TRANSACTIONS FOR EACH SESSION:").map_or("", |(_, list)| list);
    let list = list.split_once("\nFILE I/O\n").map_or(list, |(list, _)| list);
    let thread = |transaction: &str| -> Option<u64> {
        let number = transaction.lines().find_map(|line| line.strip_prefix("MySQL thread id "))?;
        number.split(',').next()?.parse().ok()
    };
    list.split("---TRANSACTION ").filter_map(|text| Some((thread(text)?, text))).collect()
}

/// The sessions whose transactions wait for a lock.
fn waiting_threads(status: &str) -> Vec<u64> {
    let waits = |text: &str| text.lines().any(|line| line.starts_with("LOCK WAIT "));
    transactions(status).into_iter().filter(|(_, text)| waits(text)).map(|(thread, _)| thread).collect()
}

/// The number before a word.
fn number_before<'t>(text: &'t str, word: &str) -> &'t str {
    let before = text.split_once(word).map_or("", |(before, _)| before);
    before.trim_end().rsplit(' ').next().filter(|n| !n.is_empty()).unwrap_or("0")
}

/// What the monitor with `innodb_status_output_locks` says of each session's locks.
fn locks_by_thread(status: &str) -> BTreeMap<u64, Vec<String>> {
    let mut all = BTreeMap::new();
    for (thread, text) in transactions(status) {
        let mut locks: Vec<(&str, Vec<u32>)> = Vec::new();
        for line in text.lines().skip_while(|line| !line.starts_with("MySQL thread id ")) {
            if line.starts_with("TABLE LOCK ") || line.starts_with("RECORD LOCKS ") {
                locks.push((line, Vec::new()));
            } else if let (Some(rest), Some((_, heaps))) =
                (line.strip_prefix("Record lock, heap no "), locks.last_mut())
            {
                heaps.extend(rest.split(' ').next().and_then(|heap| heap.parse::<u32>().ok()));
            }
        }
        let waits = |(words, _): &(&str, Vec<u32>)| words.ends_with(" waiting");
        // A request that waits is told once more, before the list.
        if locks.first().is_some_and(waits) {
            locks.remove(0);
        }
        let mut lines = lock_lines(locks.iter().map(|(words, heaps)| (*words, heaps.clone())));
        let undo = text.lines().find_map(|line| line.split_once("undo log entries ")).map_or("0", |(_, n)| n);
        let structs = text.lines().find(|line| line.contains("lock struct(s)"));
        let structs = structs.map_or("0", |line| number_before(line, "lock struct(s)"));
        lines.insert(0, format!("{structs} lock(s), {undo} undo"));
        if lines[0] != NO_LOCKS {
            if text.contains("SUPPRESSING FURTHER PRINTS") {
                lines.truncate(1);
            }
            all.insert(thread, lines);
        }
    }
    all
}

/// What is said of a session without locks.
pub(crate) const NO_LOCKS: &str = "0 lock(s), 0 undo";

/// Locks in short, each with its line in the monitor: index, mode and kind, records by their heap numbers. How they are
/// spread over structures of one kind is left out; it depends on who waited.
pub(crate) fn lock_lines<'w>(locks: impl Iterator<Item = (&'w str, Vec<u32>)>) -> Vec<String> {
    let mut merged: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    for (words, heaps) in locks {
        let after = |word: &str| words.split_once(word).map_or("", |(_, rest)| rest);
        let index = match after(" index ").split(' ').next() {
            None | Some("") => "table",
            Some(name) => name.trim_matches('`'),
        };
        let mode = after(" trx id ").split_once(' ').map_or("", |(_, mode)| mode);
        let mode = mode.replace("lock_mode ", "").replace("lock mode ", "");
        if index == "table" || !heaps.is_empty() {
            merged.entry(format!("{index} {mode}")).or_default().extend(heaps);
        }
    }
    let line = |(words, heaps): (String, BTreeSet<u32>)| {
        let heaps: String = heaps.iter().map(|heap| format!(" {heap}")).collect();
        words + &heaps
    };
    merged.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_monitor_tells_who_waits() {
        let status = "LATEST DETECTED DEADLOCK\n---TRANSACTION 9, ACTIVE 1 sec\nLOCK WAIT 2 lock struct(s)\n\
            MySQL thread id 9, OS thread handle 0x1, query id 1 localhost root\n\
            TRANSACTIONS\nLIST OF TRANSACTIONS FOR EACH SESSION:\n\
            ---TRANSACTION 0, not started\nMySQL thread id 3, OS thread handle 0x1, query id 2 localhost root init\n\
            ---TRANSACTION 7, ACTIVE 1 sec inserting\nmysql tables in use 1, locked 1\n\
            LOCK WAIT 3 lock struct(s), heap size 360, 2 row lock(s)\n\
            MySQL thread id 4, OS thread handle 0x1, query id 5 localhost root update\n\
            ---TRANSACTION 6, ACTIVE 2 sec\n2 lock struct(s)\nMySQL thread id 5, OS thread handle 0x1\n\
            --------\nFILE I/O\n--------\n";
        assert_eq!(waiting_threads(status), [4]);
        assert_eq!(waiting_threads(""), []);
    }
}
