//! Queries as trees: what stands in `AGAINST (..)`.
//!
//! Reading a text is pure syntax; what its terms mean to an index is the business of [`crate::search`].

mod boolean;
mod lexer;
mod natural;

use std::fmt;

pub use boolean::parse as parse_boolean;
pub use natural::parse as parse_natural;

/// What a sign before a term asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// None: documents with it are found.
    Optional,
    /// `+`: documents without it are not found.
    Required,
    /// `-`: documents with it are not found.
    Excluded,
    /// `>`: it ranks higher.
    More,
    /// `<`: it ranks lower.
    Less,
    /// `~`: documents found before rank lower if they have it; none is found by it.
    Against,
}

/// A part of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Characters without a space between, as written.
    Term {
        /// What is before it.
        sign: Sign,
        /// The characters.
        text: Vec<u8>,
        /// `*` is behind it: words that start so.
        is_prefix: bool,
    },
    /// A text in quotes.
    Phrase {
        /// What is before it.
        sign: Sign,
        /// What is between the quotes.
        text: Vec<u8>,
        /// `@n` is behind it: its words in any order, within so many words.
        within: Option<u64>,
    },
    /// A query in parentheses.
    Group {
        /// What is before it.
        sign: Sign,
        /// What is between them.
        parts: Vec<Part>,
    },
}

impl Part {
    /// The sign before it.
    pub fn sign(&self) -> Sign {
        match self {
            Part::Term { sign, .. } | Part::Phrase { sign, .. } | Part::Group { sign, .. } => *sign,
        }
    }
}

/// A query that is none, in the words of the server (error 1064).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    unexpected: &'static str,
    expected: Option<&'static str>,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "syntax error, unexpected {}", self.unexpected)?;
        match self.expected {
            Some(expected) => write!(f, ", expecting {expected}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for SyntaxError {}
