//! A database in a folder of its own, and what statements answer as text.
#![allow(dead_code, reason = "each test program uses its part")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use vaquita_sql::sink::Collected;
use vaquita_sql::{ConnectInfo, Connection, Database, Options, SqlError};

/// Waits until something is so, looking again and again.
#[track_caller]
pub(crate) fn until(what: &str, mut so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}: not within a minute");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A folder that goes when the value goes.
pub(crate) struct Folder(std::path::PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An open database.
pub(crate) struct Opened {
    /// The database.
    pub(crate) db: Arc<Database>,
    folder: Folder,
}

impl Opened {
    /// Closes it and opens it again. Its sessions are gone.
    pub(crate) fn reopen(self) -> Opened {
        self.db.close().expect("closes");
        drop(self.db);
        Opened { db: open_in(&self.folder.0), folder: self.folder }
    }
}

impl Opened {
    /// Closes it and opens it again with these variables, and none else.
    ///
    /// # Errors
    /// Of opening; the folder is then gone.
    pub(crate) fn reopen_with(self, variables: &[(&str, &str)]) -> Result<Opened, SqlError> {
        self.db.close().expect("closes");
        self.open_again(variables)
    }

    /// Lets it go without closing it, as a crash does, and opens it again with these variables.
    ///
    /// # Errors
    /// Of opening; the folder is then gone.
    pub(crate) fn crash_and_open_with(self, variables: &[(&str, &str)]) -> Result<Opened, SqlError> {
        self.open_again(variables)
    }

    fn open_again(self, variables: &[(&str, &str)]) -> Result<Opened, SqlError> {
        drop(self.db);
        let db = try_open_in(&self.folder.0, variables)?;
        Ok(Opened { db, folder: self.folder })
    }

    /// Its folder.
    pub(crate) fn path(&self) -> &std::path::Path {
        &self.folder.0
    }
}

/// A database in a new folder, with these variables and none else.
///
/// # Errors
/// Of opening.
pub(crate) fn try_open_new(variables: &[(&str, &str)]) -> Result<Opened, SqlError> {
    let folder = Folder(new_folder());
    let db = try_open_in(&folder.0, variables)?;
    Ok(Opened { db, folder })
}

fn try_open_in(dir: &std::path::Path, variables: &[(&str, &str)]) -> Result<Arc<Database>, SqlError> {
    let variables = variables.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    Database::open(Options { dir: dir.to_owned(), variables })
}

/// A database in a new folder.
pub(crate) fn open() -> Opened {
    open_with(&[])
}

fn new_folder() -> std::path::PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    let dir = std::env::temp_dir().join(format!("vaquita-sql-{}-{n}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    dir
}

/// A database in a new folder, with variables set from the start.
pub(crate) fn open_with(variables: &[(&str, &str)]) -> Opened {
    let dir = new_folder();
    Opened { db: open_in_with(&dir, variables), folder: Folder(dir) }
}

fn open_in(dir: &std::path::Path) -> Arc<Database> {
    open_in_with(dir, &[])
}

fn open_in_with(dir: &std::path::Path, more: &[(&str, &str)]) -> Arc<Database> {
    let variables = [("innodb_buffer_pool_size", "16M"), ("innodb_log_file_size", "4M")];
    let variables = variables.iter().chain(more).map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    Database::open(Options { dir: dir.to_owned(), variables }).expect("opens")
}

/// A session of an account, whoever has it.
///
/// # Errors
/// Of connecting.
pub(crate) fn connect_as(db: &Arc<Database>, user: &str, account_host: &str) -> Result<Connection, SqlError> {
    db.connect(ConnectInfo {
        user: user.into(),
        account_host: account_host.into(),
        ..ConnectInfo::embedded()
    })
}

/// A session of root.
pub(crate) fn root(db: &Arc<Database>) -> Connection {
    connect_as(db, "root", "localhost").expect("connects")
}

/// Rows of the last statement, cells joined by `|`, rows by newlines; or the error's number and message.
pub(crate) fn run(connection: &mut Connection, sql: &str) -> String {
    let mut sink = Collected::default();
    if let Err(e) = connection.query(sql.as_bytes(), &mut sink) {
        return format!("{} {}", e.code, e.message);
    }
    let Some(last) = sink.results.last() else { return String::new() };
    let cell = |c: &Option<String>| c.clone().unwrap_or_else(|| "NULL".into());
    let row = |r: &Vec<Option<String>>| r.iter().map(cell).collect::<Vec<_>>().join("|");
    last.rows.iter().map(row).collect::<Vec<_>>().join("\n")
}

/// Statements and what they answer: the text of [`run`], or `ERROR` and a number.
#[track_caller]
pub(crate) fn answers<'a>(
    connection: &mut Connection,
    statements: impl IntoIterator<Item = &'a (&'a str, &'a str)>,
) {
    let mut wrong = Vec::new();
    for (statement, wanted) in statements {
        let told = run(connection, statement);
        let right = match wanted.strip_prefix("ERROR ") {
            Some(code) => told.starts_with(&format!("{code} ")),
            None => told == *wanted,
        };
        if !right {
            wrong.push(format!("{statement}\n  wanted {wanted}\n  told   {told}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
