//! Tokens of a query.
//!
//! Spaces, ends of lines, `%` and quotes without a partner divide terms and mean nothing; every other character that is no sign
//! is part of a term: `it's,fine` is one. NUL ends the query.

/// A token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// One of `+ - < > ~ ( ) * @`.
    Sign(u8),
    /// Digits alone.
    Number(&'a [u8]),
    Term(&'a [u8]),
    /// Between quotes.
    Text(&'a [u8]),
    End,
}

impl Token<'_> {
    /// Its name in messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Token::Sign(b'+') => "'+'",
            Token::Sign(b'-') => "'-'",
            Token::Sign(b'<') => "'<'",
            Token::Sign(b'>') => "'>'",
            Token::Sign(b'~') => "'~'",
            Token::Sign(b'(') => "'('",
            Token::Sign(b')') => "')'",
            Token::Sign(b'*') => "'*'",
            Token::Sign(_) => "'@'",
            Token::Number(_) => "FTS_NUMB",
            Token::Term(_) => "FTS_TERM",
            Token::Text(_) => "FTS_TEXT",
            Token::End => "$end",
        }
    }
}

/// Reads tokens from the front of a text.
#[derive(Debug)]
pub(super) struct Lexer<'a> {
    rest: &'a [u8],
    /// Whether signs are tokens: not in natural language.
    has_signs: bool,
}

const SIGNS: &[u8] = b"+-<>~()*@";

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a [u8], has_signs: bool) -> Lexer<'a> {
        let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
        Lexer { rest: &text[..end], has_signs }
    }

    pub(super) fn next(&mut self) -> Token<'a> {
        loop {
            let Some((&first, after)) = self.rest.split_first() else { return Token::End };
            if first == b'"'
                && let Some(end) = after.iter().position(|&byte| byte == b'"')
            {
                self.rest = &after[end + 1..];
                return Token::Text(&after[..end]);
            }
            if self.divides(first) {
                self.rest = after;
                continue;
            }
            if self.is_sign(first) {
                self.rest = after;
                return Token::Sign(first);
            }
            let len = self.rest.iter().position(|&byte| self.divides(byte) || self.is_sign(byte));
            let (term, rest) = self.rest.split_at(len.unwrap_or(self.rest.len()));
            self.rest = rest;
            return if term.iter().all(u8::is_ascii_digit) { Token::Number(term) } else { Token::Term(term) };
        }
    }

    fn divides(&self, byte: u8) -> bool {
        matches!(byte, b' ' | b'\n' | b'%' | b'"')
    }

    fn is_sign(&self, byte: u8) -> bool {
        self.has_signs && SIGNS.contains(&byte)
    }
}
