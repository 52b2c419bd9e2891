//! What is wrong with a text.

use std::fmt;

/// Bytes of the text that a syntax error quotes at most.
const NEAR_MAX: usize = 80;

/// A text that is no statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// What is wrong.
    pub kind: ParseErrorKind,
    /// Where, in bytes from the start of the text.
    pub offset: usize,
    /// Line of it, from 1.
    pub line: u32,
    /// The text from there on, at most 80 bytes.
    pub near: Vec<u8>,
}

/// Kinds of errors; [`ParseError::number`] gives MySQL's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// 1064: the text at `near` does not fit.
    Syntax,
    /// 1065: nothing but space and comments.
    Empty,
    /// 1800: the name at `near` is no ALGORITHM of ALTER TABLE.
    UnknownAlgorithm,
    /// 1801: the name at `near` is no LOCK of ALTER TABLE.
    UnknownLock,
    /// 1221: `Incorrect usage of %s and %s`.
    WrongUsage(&'static str, &'static str),
    /// 1248: a derived table without alias.
    DerivedWithoutAlias,
    /// A table function without a name.
    FunctionWithoutAlias,
    /// 1064 too, for nesting deeper than the parser follows (MySQL: memory exhausted).
    TooDeep,
    /// 5: the tree would take more than [`crate::ParseMode::memory_max`]; it has so many bytes already.
    TooLarge(usize),
}

impl ParseError {
    /// A syntax error at `offset` of `sql`.
    #[must_use]
    pub fn syntax(sql: &[u8], offset: usize) -> Self {
        Self::at(ParseErrorKind::Syntax, sql, offset)
    }

    /// An error of the given kind at `offset` of `sql`.
    #[must_use]
    pub fn at(kind: ParseErrorKind, sql: &[u8], offset: usize) -> Self {
        let offset = offset.min(sql.len());
        let before = &sql[..offset];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        let rest = &sql[offset..];
        let near = rest[..rest.len().min(NEAR_MAX)].to_vec();
        Self { kind, offset, line: u32::try_from(line).unwrap_or(u32::MAX), near }
    }

    /// The name that `near` begins with, without its quotes.
    fn name(&self) -> std::borrow::Cow<'_, str> {
        let is_of_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..);
        let name = match *self.near {
            [quote @ (b'`' | b'"'), ref rest @ ..] => rest.split(|byte| *byte == quote).next(),
            _ => self.near.split(|byte| !is_of_word(*byte)).next(),
        };
        String::from_utf8_lossy(name.unwrap_or_default())
    }

    /// MySQL's error number.
    #[must_use]
    pub fn number(&self) -> u16 {
        match self.kind {
            ParseErrorKind::Syntax | ParseErrorKind::TooDeep => 1064,
            ParseErrorKind::Empty => 1065,
            ParseErrorKind::UnknownAlgorithm => 1800,
            ParseErrorKind::UnknownLock => 1801,
            ParseErrorKind::WrongUsage(..) => 1221,
            ParseErrorKind::DerivedWithoutAlias => 1248,
            ParseErrorKind::FunctionWithoutAlias => 3667,
            ParseErrorKind::TooLarge(_) => 5,
        }
    }
}

impl fmt::Display for ParseError {
    /// MySQL's message.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ParseErrorKind::Syntax => write!(
                f,
                "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server \
                 version for the right syntax to use near '{}' at line {}",
                String::from_utf8_lossy(&self.near),
                self.line
            ),
            ParseErrorKind::TooDeep => write!(
                f,
                "memory exhausted near '{}' at line {}",
                String::from_utf8_lossy(&self.near),
                self.line
            ),
            ParseErrorKind::TooLarge(bytes) => write!(f, "Out of memory (Needed {bytes} bytes)"),
            ParseErrorKind::Empty => f.write_str("Query was empty"),
            ParseErrorKind::UnknownAlgorithm => write!(f, "Unknown ALGORITHM '{}'", self.name()),
            ParseErrorKind::UnknownLock => write!(f, "Unknown LOCK type '{}'", self.name()),
            ParseErrorKind::WrongUsage(first, second) => {
                write!(f, "Incorrect usage of {first} and {second}")
            }
            ParseErrorKind::DerivedWithoutAlias => f.write_str("Every derived table must have its own alias"),
            ParseErrorKind::FunctionWithoutAlias => f.write_str("Every table function must have an alias."),
        }
    }
}

impl std::error::Error for ParseError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_told_by_line_and_by_what_stands_there() {
        let sql = "select 1,\n  2,\n  from t";
        let error = ParseError::syntax(sql.as_bytes(), sql.find("from").unwrap());
        assert_eq!((error.line, error.offset, error.number()), (3, 17, 1064));
        assert_eq!(error.near, b"from t");
        assert!(error.to_string().ends_with("the right syntax to use near 'from t' at line 3"), "{error}");
        // A place on the line break belongs to the line that it ends.
        assert_eq!(ParseError::syntax(sql.as_bytes(), 9).line, 1);
        assert_eq!(ParseError::syntax(sql.as_bytes(), 10).line, 2);
    }

    #[test]
    fn what_is_quoted_has_an_end() {
        let long = "x".repeat(200);
        let error = ParseError::syntax(long.as_bytes(), 100);
        assert_eq!(error.near.len(), NEAR_MAX);
        let at_end = ParseError::syntax(long.as_bytes(), 1_000);
        assert_eq!((at_end.offset, at_end.near.len()), (200, 0));
        // Half a character at the cut is shown as what it is not, and no panic.
        let accents = "é".repeat(60);
        assert!(ParseError::syntax(accents.as_bytes(), 1).to_string().contains('\u{fffd}'));
    }

    #[test]
    fn numbers_and_messages_of_kinds() {
        let of = |kind| ParseError::at(kind, b"select", 0);
        for (kind, number, message) in [
            (ParseErrorKind::UnknownAlgorithm, 1800, "Unknown ALGORITHM 'select'"),
            (ParseErrorKind::UnknownLock, 1801, "Unknown LOCK type 'select'"),
            (ParseErrorKind::Empty, 1065, "Query was empty"),
            (ParseErrorKind::WrongUsage("UNION", "INTO"), 1221, "Incorrect usage of UNION and INTO"),
            (ParseErrorKind::DerivedWithoutAlias, 1248, "Every derived table must have its own alias"),
            (ParseErrorKind::TooDeep, 1064, "memory exhausted near 'select' at line 1"),
            (ParseErrorKind::TooLarge(77), 5, "Out of memory (Needed 77 bytes)"),
        ] {
            assert_eq!((of(kind).number(), &*of(kind).to_string()), (number, message));
        }
    }
}
