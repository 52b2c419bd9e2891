//! The error of every decoder: which check failed, where, what was expected and what was found.

use std::fmt;

/// Result of decoding.
pub type Result<T> = std::result::Result<T, Corruption>;

/// Bytes that break a rule of the format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Corruption {
    /// The rule, in the words of the format: "n_owned of slot", "record next offset".
    pub check: &'static str,
    /// Byte offset in the page or file at which it was found, where known.
    pub offset: Option<usize>,
    /// Expected and found, in words.
    pub detail: String,
}

impl Corruption {
    /// A broken rule.
    #[cold]
    pub fn new(check: &'static str, detail: impl Into<String>) -> Self {
        Self { check, offset: None, detail: detail.into() }
    }

    /// Adds the place.
    #[must_use]
    pub fn at(mut self, offset: usize) -> Self {
        self.offset = Some(offset);
        self
    }
}

impl fmt::Display for Corruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.check)?;
        if let Some(offset) = self.offset {
            write!(f, " at byte {offset}")?;
        }
        write!(f, ": {}", self.detail)
    }
}

impl std::error::Error for Corruption {}

impl From<vaquita_base::codec::Truncated> for Corruption {
    fn from(t: vaquita_base::codec::Truncated) -> Self {
        Corruption::new("length", "the bytes end within a value").at(t.at)
    }
}
