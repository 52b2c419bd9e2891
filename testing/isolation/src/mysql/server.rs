//! The real server as a player of scripts.

use super::wire::{Answer, Client, WireError};
use crate::Level;
use crate::script::{Connection, Plan, Reply, Script, Server};
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

/// The sessions whose transactions wait for a lock, by the monitor's list of transactions.
fn waiting_threads(status: &str) -> Vec<u64> {
    let list = status.split_once("LIST OF TRANSACTIONS FOR EACH SESSION:").map_or("", |(_, list)| list);
    let list = list.split_once("\nFILE I/O\n").map_or(list, |(list, _)| list);
    let waits = |transaction: &&str| transaction.lines().any(|line| line.starts_with("LOCK WAIT "));
    let thread = |transaction: &str| {
        let number = transaction.lines().find_map(|line| line.strip_prefix("MySQL thread id "))?;
        number.split(',').next()?.parse().ok()
    };
    list.split("---TRANSACTION ").filter(waits).filter_map(thread).collect()
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
