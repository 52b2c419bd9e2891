//! Bytes to tokens.
//!
//! What belongs here and not to the grammar: comments (executable ones by version), the sql_mode's say in quotes
//! and escapes, names that begin with a digit, `_charset` introducers, `@` variables as one token, strings that
//! follow one another.

use crate::ast::Span;
use crate::keyword::Kw;
use crate::mode::{ParseMode, SqlMode, TwoByte};
use crate::token::{ESCAPED, JOINED, T, Token};

/// Classes of bytes.
const SPACE: u8 = 1;
const NAME: u8 = 2;
const DIGIT: u8 = 4;
const HEX: u8 = 8;
/// May begin a comment, or end an executable one.
const COMMENT: u8 = 16;

static CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C => SPACE,
            b'0'..=b'9' => NAME | DIGIT | HEX,
            b'a'..=b'f' | b'A'..=b'F' => NAME | HEX,
            b'/' | b'-' | b'#' | b'*' => COMMENT,
            b'g'..=b'z' | b'G'..=b'Z' | b'_' | b'$' | 0x80..=0xFF => NAME,
            _ => 0,
        };
        byte += 1;
    }
    table
}

#[inline]
fn is(byte: u8, class: u8) -> bool {
    CLASS[byte as usize] & class != 0
}

/// Bytes that are a token by themselves, whatever follows; [`T::Error`] for all others.
static SINGLE: [T; 256] = single();

const fn single() -> [T; 256] {
    let mut table = [T::Error; 256];
    let mut at = 0;
    let tokens = [
        (b',', T::Comma),
        (b'(', T::LParen),
        (b')', T::RParen),
        (b'*', T::Star),
        (b'=', T::Eq),
        (b'+', T::Plus),
        (b'/', T::Slash),
        (b'%', T::Percent),
        (b'^', T::Caret),
        (b'~', T::Tilde),
        (b'?', T::Param),
        (b';', T::Semi),
        (b'{', T::LBrace),
        (b'}', T::RBrace),
    ];
    while at < tokens.len() {
        table[tokens[at].0 as usize] = tokens[at].1;
        at += 1;
    }
    table
}

/// Character sets that make `_name` an introducer: those of 5.6 and 5.7.
const CHARSETS: [&str; 41] = [
    "armscii8", "ascii", "big5", "binary", "cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866",
    "cp932", "dec8", "eucjpms", "euckr", "gb18030", "gb2312", "gbk", "geostd8", "greek", "hebrew", "hp8",
    "keybcs2", "koi8r", "koi8u", "latin1", "latin2", "latin5", "latin7", "macce", "macroman", "sjis", "swe7",
    "tis620", "ucs2", "ujis", "utf16", "utf16le", "utf32", "utf8", "utf8mb4",
];

/// Reads tokens one after the other. A copy of it is a bookmark.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lexer<'a> {
    sql: &'a [u8],
    pos: usize,
    /// End of the previous token, if it was a name: a dot right there is a separator, never a number's point.
    name_end: usize,
    /// The next token is the name after a dot: no word of the grammar.
    after_dot: bool,
    /// Inside an executable comment.
    executing: bool,
    /// Backslash escapes are on.
    escapes: bool,
    /// Where a backslash may be half a character.
    two_byte: TwoByte,
    ansi_quotes: bool,
    version: u32,
    /// A comment stood before the last token.
    pub(crate) comments: bool,
    /// Such a one with optimizer hints, `/*+ … */`, the last of several.
    pub(crate) hint: Option<Span>,
    /// An executable comment that counts was met.
    pub(crate) executable: bool,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(sql: &'a [u8], mode: ParseMode) -> Self {
        Self {
            sql,
            pos: 0,
            name_end: usize::MAX,
            after_dot: false,
            executing: false,
            two_byte: mode.two_byte,
            escapes: !mode.sql_mode.has(SqlMode::NO_BACKSLASH_ESCAPES),
            ansi_quotes: mode.sql_mode.has(SqlMode::ANSI_QUOTES),
            version: mode.server_version,
            comments: false,
            hint: None,
            executable: false,
        }
    }

    /// Where a backslash may be half a character.
    pub(crate) fn two_byte(&self) -> TwoByte {
        self.two_byte
    }

    /// Backslash escapes are on.
    pub(crate) fn escapes(&self) -> bool {
        self.escapes
    }

    /// The strings that go on after the one that ends at `pos`: their ranges, quotes included.
    pub(crate) fn joined(&self, pos: usize) -> impl Iterator<Item = (usize, usize)> + use<'a> {
        let mut lexer = Self { pos, ..*self };
        std::iter::from_fn(move || {
            let start = if lexer.skip_space() { lexer.pos } else { return None };
            let quote = lexer.at(start);
            if !lexer.is_string_quote(quote) {
                return None;
            }
            let (end, _) = lexer.end_of_string(start + 1, quote)?;
            lexer.pos = end;
            Some((start, end))
        })
    }

    /// Byte at `pos`; 0 past the end.
    #[inline]
    fn at(&self, pos: usize) -> u8 {
        self.sql.get(pos).copied().unwrap_or(0)
    }

    /// Where the last token ended; after the last one of strings that were joined.
    #[inline]
    pub(crate) fn position(&self) -> usize {
        self.pos
    }

    /// Whether the text has been read to its last byte, a zero byte and the space around it included.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.pos >= self.sql.len()
    }

    #[inline]
    fn token(&mut self, kind: T, start: usize, end: usize) -> Token {
        self.pos = end;
        Token { kind, flags: 0, kw: Kw::Other, start: start as u32, end: end as u32 }
    }

    /// The tokens from here on, up to the end or to what is none.
    pub(crate) fn tokens(mut self) -> impl Iterator<Item = Token> {
        std::iter::from_fn(move || {
            let token = self.next();
            (!matches!(token.kind, T::Eof | T::Error)).then_some(token)
        })
    }

    /// The next token; [`T::Eof`] again and again at the end.
    #[inline]
    pub(crate) fn next(&mut self) -> Token {
        (self.comments, self.hint) = (false, None);
        if !self.skip_space() {
            let start = self.pos;
            return self.token(T::Error, start, start);
        }
        let start = self.pos;
        let Some(&byte) = self.sql.get(start) else {
            if self.executing {
                return self.token(T::Error, start, start);
            }
            return self.token(T::Eof, start, start);
        };
        if is(byte, NAME) {
            return self.word_or_number(byte, start);
        }
        self.after_dot = false;
        let single = SINGLE[byte as usize];
        if single != T::Error {
            return self.token(single, start, start + 1);
        }
        match byte {
            b'`' => self.quoted_name(start, b'`'),
            b'\'' => self.string(T::String, start, start),
            b'"' if self.ansi_quotes => self.quoted_name(start, b'"'),
            b'"' => self.string(T::String, start, start),
            b'.' => self.dot(start),
            b'@' => self.variable(start),
            // Clients send the end of a C string along.
            0 if !self.executing && self.sql[start + 1..].trim_ascii().is_empty() => {
                self.token(T::Eof, start, start)
            }
            _ => self.operator(byte, start),
        }
    }

    /// Skips space and comments; false at a comment that is not closed.
    #[inline]
    fn skip_space(&mut self) -> bool {
        loop {
            let byte = self.at(self.pos);
            if !is(byte, SPACE | COMMENT) {
                return true;
            }
            if is(byte, SPACE) {
                self.pos += 1;
                continue;
            }
            match self.skip_comment(byte) {
                Some(true) => {}
                Some(false) => return true,
                None => return false,
            }
        }
    }

    /// Skips a comment if there is one (`Some(true)`); `None` if it is not closed.
    fn skip_comment(&mut self, byte: u8) -> Option<bool> {
        let next = self.at(self.pos + 1);
        match byte {
            b'#' => self.skip_line(),
            b'-' if next == b'-' => {
                let third = self.at(self.pos + 2);
                // Two minus signs are a comment only before space, a control character or the end.
                if !is(third, SPACE) && third >= b' ' && third != 0x7F {
                    return Some(false);
                }
                self.skip_line();
            }
            b'*' if self.executing && next == b'/' => {
                self.executing = false;
                self.pos += 2;
            }
            b'/' if next == b'*' => {
                if self.at(self.pos + 2) == b'!' && !self.executing {
                    self.enter_executable()?;
                } else {
                    let start = self.pos;
                    self.pos = self.end_of_comment(start + 2, false)?;
                    if self.sql[start + 2] == b'+' && self.pos > start + 4 {
                        self.hint = Some(Span { start: start as u32, end: self.pos as u32 });
                    }
                }
            }
            _ => return Some(false),
        }
        self.comments = true;
        Some(true)
    }

    fn skip_line(&mut self) {
        let rest = &self.sql[self.pos..];
        self.pos += rest.iter().position(|&byte| byte == b'\n').map_or(rest.len(), |line| line + 1);
    }

    /// Position after the `*/` that closes the comment whose content starts at `pos`.
    fn end_of_comment(&self, mut pos: usize, nested: bool) -> Option<usize> {
        while pos + 1 < self.sql.len() {
            match (self.sql[pos], self.sql[pos + 1]) {
                (b'*', b'/') => return Some(pos + 2),
                (b'/', b'*') if nested => pos = self.end_of_comment_flat(pos + 2)?,
                _ => pos += 1,
            }
        }
        None
    }

    fn end_of_comment_flat(&self, pos: usize) -> Option<usize> {
        let rest = self.sql.get(pos..)?;
        rest.windows(2).position(|pair| pair == b"*/").map(|at| pos + at + 2)
    }

    /// At `/*!`: goes in if there is no version or one that is reached, else past the whole comment.
    fn enter_executable(&mut self) -> Option<()> {
        let digits_start = self.pos + 3;
        let digits = (0..6).take_while(|&digit| is(self.at(digits_start + digit), DIGIT)).count();
        if digits < 5 {
            self.pos = digits_start;
            self.executing = true;
            self.executable = true;
            return Some(());
        }
        let version = self.sql[digits_start..digits_start + digits]
            .iter()
            .fold(0, |number: u32, &digit| number * 10 + u32::from(digit - b'0'));
        if version <= self.version || self.is_of_what_is_here(digits_start + digits) {
            self.pos = digits_start + digits;
            self.executing = true;
            self.executable = true;
        } else {
            self.pos = self.end_of_comment(digits_start, true)?;
        }
        Some(())
    }

    /// Whether a comment of a later version says no more than what dumps of definitions say so and is here: the content at `pos`.
    fn is_of_what_is_here(&self, pos: usize) -> bool {
        const WORDS: [&[u8]; 2] = [b"NOT ENFORCED", b"INVISIBLE"];
        let rest = self.sql.get(pos..).unwrap_or_default();
        let content = rest.windows(2).position(|pair| pair == b"*/").map_or(rest, |end| &rest[..end]);
        WORDS.contains(&content.trim_ascii())
    }

    /// End of the name that starts or goes on at `pos`.
    #[inline]
    fn end_of_name(&self, pos: usize) -> usize {
        let rest = &self.sql[pos..];
        pos + rest.iter().position(|&byte| !is(byte, NAME)).unwrap_or(rest.len())
    }

    #[inline]
    fn word_or_number(&mut self, byte: u8, start: usize) -> Token {
        if self.after_dot {
            self.after_dot = false;
            let end = self.end_of_name(start);
            self.name_end = end;
            return self.token(T::Word, start, end);
        }
        if is(byte, DIGIT) {
            return self.number(start);
        }
        let end = self.end_of_name(start + 1);
        if end == start + 1 && self.at(end) == b'\'' {
            match byte {
                b'n' | b'N' => return self.string(T::National, start, end),
                b'x' | b'X' => return self.digits_in_quotes(T::Hex, start, end + 1),
                b'b' | b'B' => return self.digits_in_quotes(T::Bit, start, end + 1),
                _ => {}
            }
        }
        self.name_end = end;
        self.pos = end;
        let text = &self.sql[start..end];
        if byte == b'_' && is_charset(&text[1..]) {
            return self.token(T::Introducer, start, end);
        }
        if self.at(end) == b'.' && is(self.at(end + 1), NAME) {
            // What a dot and a name follow is a name, whatever word it is.
            return self.token(T::Word, start, end);
        }
        Token { kind: T::Word, flags: 0, kw: Kw::of(text), start: start as u32, end: end as u32 }
    }

    /// A number, or a name that begins with a digit.
    fn number(&mut self, start: usize) -> Token {
        let sql = self.sql;
        let digits_end = |from: usize| {
            from + sql[from..].iter().position(|&byte| !is(byte, DIGIT)).unwrap_or(sql.len() - from)
        };
        let end = digits_end(start);
        let next = self.at(end);
        if next == b'.' {
            return self.fraction(start, end + 1);
        }
        if !is(next, NAME) {
            return self.token(T::Int, start, end);
        }
        if matches!(next, b'e' | b'E') {
            let sign = usize::from(matches!(self.at(end + 1), b'+' | b'-'));
            if is(self.at(end + 1 + sign), DIGIT) {
                let end = digits_end(end + 1 + sign);
                return self.token(T::Float, start, end);
            }
        }
        let end = self.end_of_name(end);
        let text = &self.sql[start..end];
        let radix = |class: fn(&u8) -> bool| text.len() > 2 && text[2..].iter().all(class);
        // The prefixes are lower case only: 0X41 is a name.
        if text.starts_with(b"0x") && radix(|&byte| is(byte, HEX)) {
            return self.token(T::HexNumber, start, end);
        }
        if text.starts_with(b"0b") && radix(|&byte| matches!(byte, b'0' | b'1')) {
            return self.token(T::BitNumber, start, end);
        }
        self.name_end = end;
        self.token(T::Word, start, end)
    }

    /// The rest of a number whose digits after the point start at `pos`.
    fn fraction(&mut self, start: usize, pos: usize) -> Token {
        let mut end = pos;
        while is(self.at(end), DIGIT) {
            end += 1;
        }
        if matches!(self.at(end), b'e' | b'E') {
            let sign = usize::from(matches!(self.at(end + 1), b'+' | b'-'));
            if is(self.at(end + 1 + sign), DIGIT) {
                end += 2 + sign;
                while is(self.at(end), DIGIT) {
                    end += 1;
                }
                return self.token(T::Float, start, end);
            }
        }
        self.token(T::Decimal, start, end)
    }

    fn dot(&mut self, start: usize) -> Token {
        let next = self.at(start + 1);
        if self.name_end == start {
            self.after_dot = is(next, NAME);
        } else if is(next, DIGIT) {
            return self.fraction(start, start + 1);
        }
        self.token(T::Dot, start, start + 1)
    }

    /// `` `name` ``.
    fn quoted_name(&mut self, start: usize, quote: u8) -> Token {
        let mut flags = 0;
        let mut pos = start + 1;
        loop {
            let Some(length) = self.sql[pos..].iter().position(|&byte| byte == quote) else {
                return self.token(T::Error, start, self.sql.len());
            };
            pos += length + 1;
            if self.at(pos) != quote {
                break;
            }
            flags = ESCAPED;
            pos += 1;
        }
        self.name_end = pos;
        Token { flags, ..self.token(T::Quoted, start, pos) }
    }

    /// A string whose quote is at `quote_pos`.
    #[inline]
    fn string(&mut self, kind: T, start: usize, quote_pos: usize) -> Token {
        self.after_dot = false;
        let quote = self.sql[quote_pos];
        let Some((end, mut flags)) = self.end_of_string(quote_pos + 1, quote) else {
            return self.token(T::Error, start, self.sql.len());
        };
        self.pos = end;
        // Usually a comma or parenthesis follows; only after space may another string go on.
        let next = self.at(end);
        if is(next, SPACE) || matches!(next, b'/' | b'#' | b'\'' | b'"') {
            let bookmark = *self;
            if self.skip_space() && self.is_string_quote(self.at(self.pos)) {
                flags |= JOINED;
                while self.skip_space() && self.is_string_quote(self.at(self.pos)) {
                    let quote = self.sql[self.pos];
                    let Some((end, _)) = self.end_of_string(self.pos + 1, quote) else {
                        let at = self.pos;
                        return self.token(T::Error, at, self.sql.len());
                    };
                    self.pos = end;
                }
            } else {
                *self = bookmark;
            }
        }
        Token { kind, flags, kw: Kw::Other, start: start as u32, end: end as u32 }
    }

    #[inline]
    fn is_string_quote(&self, byte: u8) -> bool {
        byte == b'\'' || (byte == b'"' && !self.ansi_quotes)
    }

    /// Position after the closing quote of a string whose content starts at `pos`, and its flags.
    #[inline]
    fn end_of_string(&self, mut pos: usize, quote: u8) -> Option<(usize, u8)> {
        let mut flags = 0;
        loop {
            let rest = self.sql.get(pos..)?;
            let length = match self.two_byte {
                TwoByte::None => find_either(rest, quote, b'\\')?,
                wide => wide.find(rest, quote, b'\\')?,
            };
            pos += length;
            if rest[length] == b'\\' {
                if self.escapes {
                    flags = ESCAPED;
                    pos += 2;
                } else {
                    pos += 1;
                }
            } else if self.at(pos + 1) == quote {
                flags = ESCAPED;
                pos += 2;
            } else {
                return Some((pos + 1, flags));
            }
        }
    }

    /// `x'…'`, `b'…'` whose content starts at `pos`.
    fn digits_in_quotes(&mut self, kind: T, start: usize, pos: usize) -> Token {
        let rest = &self.sql[pos..];
        let good = |byte: u8| if kind == T::Hex { is(byte, HEX) } else { matches!(byte, b'0' | b'1') };
        let length = rest.iter().position(|&byte| !good(byte)).unwrap_or(rest.len());
        if self.at(pos + length) != b'\'' || (kind == T::Hex && length % 2 != 0) {
            return self.token(T::Error, start, start + 1);
        }
        self.token(kind, start, pos + length + 1)
    }

    /// `@@`, `@name`, `@'name'`.
    fn variable(&mut self, start: usize) -> Token {
        let next = self.at(start + 1);
        if next == b'@' {
            return self.token(T::AtAt, start, start + 2);
        }
        if next == b'\'' || next == b'"' {
            return match self.end_of_string(start + 2, next) {
                Some((end, flags)) => Token { flags, ..self.token(T::UserVar, start, end) },
                None => self.token(T::Error, start + 1, self.sql.len()),
            };
        }
        if next == b'`' {
            let name = self.quoted_name(start + 1, b'`');
            let kind = if name.kind == T::Error { T::Error } else { T::UserVar };
            return Token { kind, start: start as u32, ..name };
        }
        let rest = &self.sql[start + 1..];
        let length = rest.iter().position(|&byte| !is(byte, NAME) && byte != b'.').unwrap_or(rest.len());
        self.token(T::UserVar, start, start + 1 + length)
    }

    fn operator(&mut self, byte: u8, start: usize) -> Token {
        let (second, third) = (self.at(start + 1), self.at(start + 2));
        let (kind, length) = match (byte, second, third) {
            (b'<', b'=', b'>') => (T::NullSafeEq, 3),
            (b'<', b'=', _) => (T::Le, 2),
            (b'<', b'>', _) | (b'!', b'=', _) => (T::Ne, 2),
            (b'<', b'<', _) => (T::Shl, 2),
            (b'<', ..) => (T::Lt, 1),
            (b'>', b'=', _) => (T::Ge, 2),
            (b'>', b'>', _) => (T::Shr, 2),
            (b'>', ..) => (T::Gt, 1),
            (b'-', b'>', b'>') => (T::ArrowArrow, 3),
            (b'-', b'>', _) => (T::Arrow, 2),
            (b'-', ..) => (T::Minus, 1),
            (b'&', b'&', _) => (T::AndAnd, 2),
            (b'&', ..) => (T::Amp, 1),
            (b'|', b'|', _) => (T::OrOr, 2),
            (b'|', ..) => (T::Pipe, 1),
            (b'!', ..) => (T::Bang, 1),
            (b':', b'=', _) => (T::Assign, 2),
            (b':', ..) => (T::Colon, 1),
            (b'\\', b'N', _) => (T::Null, 2),
            _ => (T::Error, 1),
        };
        self.token(kind, start, start + length)
    }
}

fn is_charset(name: &[u8]) -> bool {
    CHARSETS.iter().any(|charset| name.eq_ignore_ascii_case(charset.as_bytes()))
}

/// The place of the first byte that is one of two. Most bytes of texts are in strings: they are looked at by sixteen.
#[inline]
fn find_either(bytes: &[u8], one: u8, other: u8) -> Option<usize> {
    let is_it = |byte: &u8| *byte == one || *byte == other;
    let (chunks, _) = bytes.as_chunks::<16>();
    // Without a way out in the middle of it, the compiler compares a chunk at once.
    let has_it = |chunk: &&[u8; 16]| chunk.iter().fold(false, |found, byte| found | is_it(byte));
    let skipped = 16 * chunks.iter().take_while(|chunk| !has_it(chunk)).count();
    bytes[skipped..].iter().position(is_it).map(|at| skipped + at)
}

#[cfg(test)]
mod tests;
