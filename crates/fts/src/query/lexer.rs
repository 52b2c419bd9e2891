//! Tokens of a query.
//!
//! Spaces, ends of lines, `%` and quotes without a partner in their line divide terms and mean nothing; every other character that is no sign
//! is part of a term: `it's,fine` is one. Tabs are, too, unless there is nothing else. NUL ends the query. `+` and `-` between two characters of words are no signs, they divide: `foo-bar`
//! is two terms, the second one without a sign (what is a character of words says MySQL 5.6.24, as in texts). Behind an odd number of quotes
//! they are signs all the same: `pear" fig-nut` is `pear fig -nut`. In natural language a `*` that stands alone is a sign, and nothing else.

use vaquita_format::charset::Charset;

use crate::word_class::WordClass;

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
    text: &'a [u8],
    /// Byte that is read next.
    at: usize,
    /// Whether signs are tokens wherever they are: not in natural language.
    has_signs: bool,
    /// Where `+` and `-` divide, in ascending order.
    joints: Vec<usize>,
}

const SIGNS: &[u8] = b"+-<>~()*@";

impl<'a> Lexer<'a> {
    /// In boolean mode, of a text in a character set.
    pub(super) fn with_signs(text: &'a [u8], charset: Charset) -> Lexer<'a> {
        let text = until_nul(text);
        Lexer { text, at: 0, has_signs: true, joints: joints(text, WordClass::of(charset)) }
    }

    /// In natural language.
    pub(super) fn without_signs(text: &'a [u8]) -> Lexer<'a> {
        Lexer { text: until_nul(text), at: 0, has_signs: false, joints: Vec::new() }
    }

    pub(super) fn next(&mut self) -> Token<'a> {
        while let Some(&first) = self.text.get(self.at) {
            let start = self.at;
            if first == b'"'
                && let Some(len) = self.text[start + 1..].iter().position(|byte| b"\"\n".contains(byte))
                && self.text[start + 1 + len] == b'"'
            {
                self.at += len + 2;
                return Token::Text(&self.text[start + 1..][..len]);
            }
            if self.divides(start) {
                self.at += 1;
                continue;
            }
            if self.is_sign(start) {
                self.at += 1;
                return Token::Sign(first);
            }
            let is_end = |at: &usize| self.divides(*at) || self.is_sign(*at);
            self.at = (start..self.text.len()).find(is_end).unwrap_or(self.text.len());
            if self.text[start..self.at].iter().all(|&byte| byte == b'\t') {
                continue;
            }
            let term = &self.text[start..self.at];
            if term == b"*" {
                return Token::Sign(b'*');
            }
            return if term.iter().all(u8::is_ascii_digit) { Token::Number(term) } else { Token::Term(term) };
        }
        Token::End
    }

    fn divides(&self, at: usize) -> bool {
        matches!(self.text[at], b' ' | b'\n' | b'%' | b'"') || self.joints.binary_search(&at).is_ok()
    }

    fn is_sign(&self, at: usize) -> bool {
        self.has_signs && SIGNS.contains(&self.text[at])
    }
}

fn until_nul(text: &[u8]) -> &[u8] {
    &text[..text.iter().position(|&byte| byte == 0).unwrap_or(text.len())]
}

/// Where a text has `+` or `-` between two characters of words.
fn joints(text: &[u8], class: WordClass) -> Vec<usize> {
    let (mut found, mut at, mut was_word, mut is_quoted) = (Vec::new(), 0, false, false);
    while at < text.len() {
        let (len, is_word) = class.first(&text[at..]);
        let next = (at + len).min(text.len());
        is_quoted ^= len == 1 && text[at] == b'"';
        if was_word
            && !is_quoted
            && len == 1
            && matches!(text[at], b'+' | b'-')
            && next < text.len()
            && class.first(&text[next..]).1
        {
            found.push(at);
        }
        (at, was_word) = (next, is_word);
    }
    found
}
