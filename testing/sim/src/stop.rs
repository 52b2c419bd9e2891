//! Why an operation of the simulated machine ended early.

use std::fmt;
use vaquita_base::PageId;
use vaquita_io::ErrorKind;
use vaquita_storage::Error;

/// What an error of the engine tells its caller; the judge of a run needs no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The power is off.
    PowerOff,
    /// A read failed.
    Read,
    /// A write, a sync or a change of a name failed.
    Write,
    /// The disk is full.
    NoSpace,
    /// Stored bytes are wrong.
    Corruption,
    /// Refused because of an earlier failure.
    Poisoned,
    /// The redo log or the folder as a whole cannot be used.
    Refused,
    /// Anything else.
    Other,
}

/// An error of the engine.
#[derive(Debug, Clone)]
pub struct EngineError {
    /// Its kind.
    pub class: Class,
    /// The page it names.
    pub page: Option<PageId>,
    /// Its words.
    pub text: String,
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.class, self.text)
    }
}

fn class_of_io(e: &vaquita_io::Error) -> Class {
    match (e.kind, e.op) {
        (ErrorKind::PowerOff, _) => Class::PowerOff,
        (ErrorKind::NoSpace, _) => Class::NoSpace,
        (_, "read") => Class::Read,
        (ErrorKind::Other, _) => Class::Write,
        _ => Class::Other,
    }
}

impl From<Error> for EngineError {
    fn from(e: Error) -> Self {
        let (class, page) = match &e {
            Error::Io(io) => (class_of_io(io), None),
            Error::Page { page, .. } | Error::Structure { page, .. } | Error::FutureLsn { page, .. } => {
                (Class::Corruption, Some(*page))
            }
            Error::Log(_) | Error::Folder(_) => (Class::Refused, None),
            Error::SpaceFull { .. } => (Class::NoSpace, None),
            Error::Poisoned(_) => (Class::Poisoned, None),
            _ => (Class::Other, None),
        };
        Self { class, page, text: e.to_string() }
    }
}

impl From<vaquita_storage::log::LogError> for EngineError {
    fn from(e: vaquita_storage::log::LogError) -> Self {
        Error::from(e).into()
    }
}

impl From<vaquita_btree::Error> for EngineError {
    fn from(e: vaquita_btree::Error) -> Self {
        match e {
            vaquita_btree::Error::Storage(e) => e.into(),
            vaquita_btree::Error::Corrupt { page, .. } => {
                Self { class: Class::Corruption, page: Some(page), text: e.to_string() }
            }
            e => Self { class: Class::Other, page: None, text: e.to_string() },
        }
    }
}

/// The end of an operation that did not succeed.
#[derive(Debug, Clone)]
pub enum Stop {
    /// The engine gave an error.
    Engine(EngineError),
    /// Creating or dropping a tablespace gave an error: a failure there need not end the instance.
    FileOp(EngineError),
    /// The engine gave a wrong answer.
    Wrong(String),
}

impl Stop {
    /// A wrong answer.
    pub fn wrong(text: impl Into<String>) -> Self {
        Stop::Wrong(text.into())
    }

    /// An error of a file operation.
    pub fn file_op(e: impl Into<EngineError>) -> Self {
        Stop::FileOp(e.into())
    }
}

impl<E: Into<EngineError>> From<E> for Stop {
    fn from(e: E) -> Self {
        Stop::Engine(e.into())
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Engine(e) => e.fmt(f),
            Stop::FileOp(e) => write!(f, "file operation: {e}"),
            Stop::Wrong(text) => f.write_str(text),
        }
    }
}
