//! The general log and the slow query log, in MySQL's form.
//!
//! Statements put their lines into a buffer in memory; a thread of the logs' own writes it, so that no statement waits for a disk.
//! Only when more is buffered than [`BUFFER_MAX`] does a statement write itself. Passwords do not get into the logs.

use crate::vars::Globals;
use parking_lot::{Condvar, Mutex};
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use vaquita_types::temporal::calendar;
use vaquita_types::{SqlError, SqlResult, TimeZone};

/// Bytes that may wait to be written.
const BUFFER_MAX: usize = 16 << 20;

/// Which log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    General,
    Slow,
}

/// One log's file and what waits for it.
#[derive(Debug, Default)]
struct LogFile {
    path: PathBuf,
    file: Option<Arc<File>>,
    /// Lines that are not written yet.
    waiting: Vec<u8>,
    /// The second of the last line: it is not told again.
    last_second: i64,
    /// The database of the last statement in the slow log.
    last_database: String,
}

#[derive(Debug, Default)]
struct State {
    general: LogFile,
    slow: LogFile,
    ends: bool,
}

impl State {
    fn log(&mut self, which: Which) -> &mut LogFile {
        match which {
            Which::General => &mut self.general,
            Which::Slow => &mut self.slow,
        }
    }
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// There is something to write, or the end.
    work: Condvar,
    /// Held while lines go to a file: they go in their order.
    writing: Mutex<()>,
}

/// The logs of a database.
#[derive(Debug, Default)]
pub(crate) struct StatementLogs {
    general_on: AtomicBool,
    slow_on: AtomicBool,
    shared: Arc<Shared>,
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
}

/// What the slow query log tells of a statement.
#[derive(Debug)]
pub(crate) struct SlowStatement<'a> {
    /// Number of the connection.
    pub(crate) id: u32,
    /// User as given, and of the account.
    pub(crate) user: (&'a str, &'a str),
    /// Host of the client.
    pub(crate) host: &'a str,
    /// The current database.
    pub(crate) database: &'a str,
    /// How long it took, microseconds.
    pub(crate) micros: u64,
    /// How long it waited for locks, microseconds.
    pub(crate) lock_micros: u64,
    /// Rows it sent.
    pub(crate) rows_sent: u64,
    /// Rows it read from tables.
    pub(crate) rows_examined: u64,
    /// Microseconds since 1970 when it began.
    pub(crate) began_us: i64,
    /// Its text.
    pub(crate) text: &'a [u8],
}

impl StatementLogs {
    /// Whether statements go to the general log.
    #[inline]
    pub(crate) fn general_on(&self) -> bool {
        self.general_on.load(Ordering::Relaxed)
    }

    /// Whether slow ones go to the slow query log.
    #[inline]
    pub(crate) fn slow_on(&self) -> bool {
        self.slow_on.load(Ordering::Relaxed)
    }

    /// Opens and closes files as the variables say.
    ///
    /// # Errors
    /// 29: a file that cannot be opened; that log is off then.
    pub(crate) fn configure(&self, globals: &Globals, dir: &Path) -> SqlResult<()> {
        let to_file =
            globals.text("log_output").is_some_and(|to| to.contains("FILE") && !to.contains("NONE"));
        self.switch(Which::General, to_file && globals.is_on("general_log"), globals, dir)?;
        self.switch(Which::Slow, to_file && globals.is_on("slow_query_log"), globals, dir)
    }

    fn switch(&self, which: Which, on: bool, globals: &Globals, dir: &Path) -> SqlResult<()> {
        let (flag, name) = match which {
            Which::General => (&self.general_on, "general_log_file"),
            Which::Slow => (&self.slow_on, "slow_query_log_file"),
        };
        let path = dir.join(globals.text(name).unwrap_or_default());
        if flag.load(Ordering::Relaxed) == on && (!on || self.shared.state.lock().log(which).path == path) {
            return Ok(());
        }
        flag.store(false, Ordering::Relaxed);
        self.write_waiting();
        if !on {
            self.shared.state.lock().log(which).file = None;
            return Ok(());
        }
        let file = open(&path)?;
        let header = header(globals);
        let mut state = self.shared.state.lock();
        *state.log(which) =
            LogFile { path, file: Some(Arc::new(file)), waiting: header, ..LogFile::default() };
        drop(state);
        self.start_thread()?;
        self.shared.work.notify_one();
        flag.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn start_thread(&self) -> SqlResult<()> {
        let mut thread = self.thread.lock();
        if thread.is_none() {
            let shared = self.shared.clone();
            let started =
                std::thread::Builder::new().name("vaquita-logs".into()).spawn(move || while shared.step() {});
            *thread =
                Some(started.map_err(|e| SqlError::new(1135, format!("Can't create a new thread: {e}")))?);
        }
        Ok(())
    }

    /// A line of the general log.
    pub(crate) fn general(&self, id: u32, command: &str, argument: &[u8], now_us: i64) {
        let second = now_us.div_euclid(1_000_000);
        let mut state = self.shared.state.lock();
        let log = &mut state.general;
        let mut head = String::new();
        match log.last_second == second {
            true => head.push_str("\t\t"),
            false => {
                head.push_str(&stamp(second));
                head.push('\t');
            }
        }
        log.last_second = second;
        let _ = write!(head, "{id:5} {command}\t");
        log.waiting.extend_from_slice(head.as_bytes());
        log.waiting.extend_from_slice(&without_passwords(argument));
        log.waiting.push(b'\n');
        let full = log.waiting.len() > BUFFER_MAX;
        drop(state);
        self.wake(full);
    }

    /// A statement in the slow query log.
    pub(crate) fn slow(&self, statement: &SlowStatement<'_>) {
        let now = statement.began_us + i64::try_from(statement.micros).unwrap_or(0);
        let second = now.div_euclid(1_000_000);
        let mut state = self.shared.state.lock();
        let log = &mut state.slow;
        let mut head = String::new();
        if log.last_second != second {
            log.last_second = second;
            let _ = writeln!(head, "# Time: {}", stamp(second));
        }
        let (user, account) = statement.user;
        let (host, address) = match statement.host.parse::<std::net::IpAddr>() {
            Ok(_) => ("", statement.host),
            Err(_) => (statement.host, ""),
        };
        let _ = writeln!(head, "# User@Host: {user}[{account}] @ {host} [{address}]  Id: {:5}", statement.id);
        let [seconds, waited] = [statement.micros, statement.lock_micros].map(|us| us as f64 / 1e6);
        let (sent, examined) = (statement.rows_sent, statement.rows_examined);
        let _ = writeln!(
            head,
            "# Query_time: {seconds:.6}  Lock_time: {waited:.6} Rows_sent: {sent}  Rows_examined: {examined}"
        );
        if log.last_database != statement.database {
            statement.database.clone_into(&mut log.last_database);
            if !statement.database.is_empty() {
                let _ = writeln!(head, "use {};", statement.database);
            }
        }
        let _ = writeln!(head, "SET timestamp={};", statement.began_us.div_euclid(1_000_000));
        log.waiting.extend_from_slice(head.as_bytes());
        log.waiting.extend_from_slice(&without_passwords(statement.text));
        log.waiting.extend_from_slice(b";\n");
        let full = log.waiting.len() > BUFFER_MAX;
        drop(state);
        self.wake(full);
    }

    fn wake(&self, full: bool) {
        match full {
            true => self.write_waiting(),
            false => {
                self.shared.work.notify_one();
            }
        }
    }

    /// Writes what waits.
    pub(crate) fn write_waiting(&self) {
        self.shared.write_waiting();
    }

    /// Opens the files anew, after somebody has moved them away (FLUSH LOGS).
    ///
    /// # Errors
    /// 29: one cannot be opened; the old file stays in use.
    pub(crate) fn reopen(&self) -> SqlResult<()> {
        self.write_waiting();
        for which in [Which::General, Which::Slow] {
            let path = {
                let mut state = self.shared.state.lock();
                let log = state.log(which);
                log.file.as_ref().map(|_| log.path.clone())
            };
            if let Some(path) = path {
                let file = open(&path)?;
                self.shared.state.lock().log(which).file = Some(Arc::new(file));
            }
        }
        Ok(())
    }
}

impl Drop for StatementLogs {
    fn drop(&mut self) {
        self.shared.state.lock().ends = true;
        self.shared.work.notify_all();
        if let Some(thread) = self.thread.get_mut().take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Waits for lines and writes them; `false`: that was all.
    fn step(&self) -> bool {
        let mut state = self.state.lock();
        while state.general.waiting.is_empty() && state.slow.waiting.is_empty() && !state.ends {
            self.work.wait(&mut state);
        }
        let ends = state.ends;
        drop(state);
        self.write_waiting();
        !ends
    }

    fn write_waiting(&self) {
        let _in_order = self.writing.lock();
        for which in [Which::General, Which::Slow] {
            let (lines, file) = {
                let mut state = self.state.lock();
                let log = state.log(which);
                (std::mem::take(&mut log.waiting), log.file.clone())
            };
            if let Some(file) = file.filter(|_| !lines.is_empty()) {
                // A log that cannot be written is no reason to stop.
                let _ = file.as_ref().write_all(&lines);
            }
        }
    }
}

/// Whether a file can be a log: error 1231 otherwise.
pub(crate) fn can_be_log(dir: &Path, name: &str) -> bool {
    !name.is_empty() && open(&dir.join(name)).is_ok()
}

fn open(path: &Path) -> SqlResult<File> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o640)
        .open(path)
        .map_err(|e| SqlError::new(29, format!("File '{}' not found (Errcode: {e})", path.display())))
}

fn header(globals: &Globals) -> Vec<u8> {
    let text = |name: &str| globals.text(name).unwrap_or_default();
    format!(
        "vaquita, Version: {} ({}). started with:\nTcp port: {}  Unix socket: {}\nTime                 Id Command    Argument\n",
        text("version"),
        text("version_comment"),
        text("port"),
        text("socket")
    )
    .into_bytes()
}

/// `261123  5:05:01`, in the time of the operating system.
pub(crate) fn stamp(second: i64) -> String {
    let local = second + i64::from(TimeZone::system().offset_at(second));
    let at = calendar::from_unix(local, 0).unwrap_or_default();
    format!(
        "{:02}{:02}{:02} {:2}:{:02}:{:02}",
        at.date.year % 100,
        at.date.month,
        at.date.day,
        at.hour,
        at.minute,
        at.second
    )
}

/// A text with `<secret>` for what stands where passwords do: behind IDENTIFIED BY, PASSWORD(, PASSWORD =.
fn without_passwords(text: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    let lower = text.to_ascii_lowercase();
    let has = |word: &[u8]| lower.windows(word.len()).any(|w| w == word);
    if !has(b"password") && !has(b"identified") {
        return text.into();
    }
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    let mut secret = false;
    while at < text.len() {
        let byte = lower[at];
        if matches!(byte, b'\'' | b'"') {
            let end = end_of_quoted(text, at);
            out.extend_from_slice(if secret { b"<secret>" } else { &text[at..end] });
            secret = false;
            at = end;
        } else if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'@') || byte >= 0x80 {
            let word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'@') || b >= 0x80;
            let end = at + lower[at..].iter().take_while(|b| word(**b)).count();
            // `SET PASSWORD FOR user = 'x'`: the user's name is no secret, what follows `=` is.
            secret = matches!(&lower[at..end], b"by" | b"password" | b"as");
            out.extend_from_slice(&text[at..end]);
            at = end;
        } else {
            secret |= byte == b'=';
            secret &= !matches!(byte, b',' | b';');
            out.push(text[at]);
            at += 1;
        }
    }
    out.into()
}

/// Where a quoted text that begins at `at` ends.
fn end_of_quoted(text: &[u8], at: usize) -> usize {
    let quote = text[at];
    let mut end = at + 1;
    while end < text.len() {
        match text[end] {
            b'\\' => end += 2,
            b if b == quote && text.get(end + 1) == Some(&quote) => end += 2,
            b if b == quote => return end + 1,
            _ => end += 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_told() {
        for (text, told) in [
            ("create user 'u'@'%' identified by 'pa''ss'", "create user 'u'@'%' identified by <secret>"),
            (
                "GRANT ALL ON *.* TO u IDENTIFIED BY PASSWORD '*AB' WITH x",
                "GRANT ALL ON *.* TO u IDENTIFIED BY PASSWORD <secret> WITH x",
            ),
            ("set password = password(\"x\\\"y\")", "set password = password(<secret>)"),
            ("set password for 'u'@'h' = 'x'", "set password for 'u'@'h' = <secret>"),
            ("select 'a', password('b'), 'c'", "select 'a', password(<secret>), 'c'"),
            ("select 'no', 1", "select 'no', 1"),
        ] {
            let got = without_passwords(text.as_bytes()).into_owned();
            assert_eq!(String::from_utf8(got).expect("text"), told);
        }
    }
}
