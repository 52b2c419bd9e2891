//! The error log, in MySQL's form.
//!
//! ```text
//! 2026-11-21T22:47:03.004512Z 12 [Note] Aborted connection 12 to db: 'shop' user: 'web' host: 'localhost' (..)
//! ```

use parking_lot::Mutex;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// How grave a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gravity {
    /// For the record.
    Note,
    /// Somebody should look at it.
    Warning,
    /// Something does not work.
    Error,
}

impl Gravity {
    fn as_str(self) -> &'static str {
        match self {
            Gravity::Note => "Note",
            Gravity::Warning => "Warning",
            Gravity::Error => "ERROR",
        }
    }
}

/// Where lines go.
#[derive(Debug)]
pub struct ErrorLog {
    path: Option<PathBuf>,
    /// `None`: standard error.
    file: Mutex<Option<File>>,
}

impl ErrorLog {
    /// To standard error.
    pub fn to_stderr() -> ErrorLog {
        ErrorLog { path: None, file: Mutex::new(None) }
    }

    /// Nowhere.
    pub fn nowhere() -> ErrorLog {
        ErrorLog { path: None, file: Mutex::new(File::options().write(true).open("/dev/null").ok()) }
    }

    /// To the end of a file.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn to_file(path: PathBuf) -> io::Result<ErrorLog> {
        let file = open(&path)?;
        Ok(ErrorLog { path: Some(path), file: Mutex::new(Some(file)) })
    }

    /// Opens the file anew, after somebody has moved it away (FLUSH LOGS).
    ///
    /// # Errors
    /// The file cannot be opened; the old one stays in use.
    pub fn reopen(&self) -> io::Result<()> {
        if let Some(path) = &self.path {
            *self.file.lock() = Some(open(path)?);
        }
        Ok(())
    }

    /// Writes a line; `connection` is 0 for the server itself. A log that cannot be written is no reason to stop.
    pub fn write(&self, gravity: Gravity, connection: u32, text: &str) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let stamp = stamp(now.as_secs(), now.subsec_micros());
        let line = format!("{stamp} {connection} [{}] {}\n", gravity.as_str(), one_line(text));
        let mut file = self.file.lock();
        let _ = match file.as_mut() {
            Some(file) => file.write_all(line.as_bytes()),
            None => io::stderr().lock().write_all(line.as_bytes()),
        };
    }

    /// A note of the server itself.
    pub fn note(&self, text: &str) {
        self.write(Gravity::Note, 0, text);
    }

    /// A warning of the server itself.
    pub fn warning(&self, text: &str) {
        self.write(Gravity::Warning, 0, text);
    }

    /// An error of the server itself.
    pub fn error(&self, text: &str) {
        self.write(Gravity::Error, 0, text);
    }
}

fn open(path: &PathBuf) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}

/// What clients send may end up in a line: it must stay one.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn stamp(seconds: u64, micros: u32) -> String {
    let (days, second_of_day) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days as i64);
    let (hour, minute, second) = (second_of_day / 3600, second_of_day / 60 % 60, second_of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

/// Year, month and day of a day counted from 1970-01-01, in eras of 400 years that begin in March.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps() {
        assert_eq!(stamp(0, 0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(stamp(951_782_400, 1), "2000-02-29T00:00:00.000001Z");
        assert_eq!(stamp(1_795_301_223, 4512), "2026-11-21T22:47:03.004512Z");
        assert_eq!(stamp(4_102_444_799, 999_999), "2099-12-31T23:59:59.999999Z");
    }

    #[test]
    fn a_line_stays_one() {
        assert_eq!(one_line("user 'a\nb\x1b[0m'"), "user 'a b [0m'");
    }
}
