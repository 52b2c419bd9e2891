//! What can go wrong with a peer: always a sentence for the person who runs the tests.

use std::fmt;

/// A peer could not be installed, started, asked or stopped.
#[derive(Debug)]
#[non_exhaustive]
pub enum PeerError {
    /// The programs are not there; the text says which command installs them.
    NotInstalled(String),
    /// A command or a server failed; the text holds its output.
    Failed(String),
    /// The server answered a statement with an error, as its client prints it (`ERROR 1146 (42S02) ..`).
    Sql(String),
    /// A file operation failed.
    Io {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: std::io::Error,
    },
}

impl PeerError {
    /// Ties an I/O error to what was tried.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> PeerError {
        let what = what.into();
        move |source| PeerError::Io { what, source }
    }
}

impl fmt::Display for PeerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PeerError::NotInstalled(text) | PeerError::Failed(text) | PeerError::Sql(text) => {
                f.write_str(text)
            }
            PeerError::Io { what, source } => write!(f, "{what}: {source}"),
        }
    }
}

impl std::error::Error for PeerError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            PeerError::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
