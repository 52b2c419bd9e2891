//! The digest of a statement: what its plan is cached by.
//!
//! One pass over the tokens, without a tree. Literals that cannot change the meaning or the column names of the
//! statement are lifted out: the key has their type only, and the values are listed. [`crate::parse`] with
//! [`crate::ParseMode::lift`] turns the same literals, in the same order, into
//! [`crate::ast::ExprKind::Lifted`] nodes.
//!
//! The key is the text itself with a control byte for each lifted literal. No such byte can stand outside of
//! quotes in a text that has tokens only, so different statements have different keys. Space and comments are cut
//! at both ends; comments are dropped where the text does not name columns, since tracers put a new one into every
//! statement.

use std::borrow::Cow;

use crate::ast::Span;
use crate::lexer::Lexer;
use crate::lift::Lifter;
use crate::mode::ParseMode;
use crate::text;
use crate::token::{T, Token};

/// Statements with more lifted literals are rather bulk inserts than repeated.
const LITERALS_MAX: usize = 256;

/// A statement's key and its lifted literals. Kept and reused, so that a digest allocates nothing in the long run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Digest {
    /// Normalised text: equal keys mean equal plans, for one `sql_mode` and one default database.
    pub key: Vec<u8>,
    /// The lifted literals in their order.
    pub literals: Vec<LiftedLiteral>,
    /// Number of `?`.
    pub params: u32,
}

/// A literal that was lifted out of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiftedLiteral {
    /// A whole number.
    Int(u64),
    /// A number with a decimal point, or a whole one beyond 64 bits: its text.
    Decimal(Span),
    /// A number with an exponent: its text.
    Float(Span),
    /// A string.
    String {
        /// The string with its quotes.
        span: Span,
        /// The text between the quotes is the value; otherwise [`LiftedLiteral::bytes`] has to resolve escapes,
        /// doubled quotes or a further string that goes on.
        plain: bool,
    },
}

impl LiftedLiteral {
    /// Puts what stands for it into the key: all that the types of expressions depend on. That is whether a whole
    /// number needs the sign's bit, the digits after a decimal point, and whether a string is ASCII.
    /// `text` is all of the literal, further strings that go on included.
    fn push_tag(self, text: &[u8], key: &mut Vec<u8>) {
        match self {
            Self::Int(value) => key.push(if i64::try_from(value).is_ok() { 1 } else { 2 }),
            Self::Decimal(_) => {
                let scale = text.iter().rev().position(|&byte| byte == b'.').unwrap_or(0);
                key.extend_from_slice(&[3, u8::try_from(scale).unwrap_or(u8::MAX)]);
            }
            Self::Float(_) => key.push(4),
            Self::String { .. } => key.push(if text.is_ascii() { 5 } else { 6 }),
        }
    }

    /// The bytes of a decimal or float (its text) or of a string (its value) of the text `sql` it was lifted from;
    /// a whole number has none.
    #[must_use]
    pub fn bytes<'s>(&self, sql: &'s [u8], mode: ParseMode) -> Cow<'s, [u8]> {
        match *self {
            Self::Int(_) => Cow::Borrowed(&[]),
            Self::Decimal(span) | Self::Float(span) => Cow::Borrowed(span.of(sql)),
            Self::String { span, plain: true } => {
                Cow::Borrowed(Span { start: span.start + 1, end: span.end.saturating_sub(1) }.of(sql))
            }
            Self::String { span, plain: false } => {
                let mut lexer = Lexer::new(&sql[span.start as usize..], mode);
                let token = lexer.next();
                let mut value = Vec::with_capacity(token.end as usize);
                text::resolve(&sql[span.start as usize..], &token, 0, &lexer, |bytes| {
                    value.extend_from_slice(bytes);
                });
                Cow::Owned(value)
            }
        }
    }

    fn of(sql: &[u8], token: &Token) -> Self {
        let span = token.span();
        match token.kind {
            T::Int => text::int_value(span.of(sql)).map_or(Self::Decimal(span), Self::Int),
            T::Decimal => Self::Decimal(span),
            T::Float => Self::Float(span),
            _ => Self::String { span, plain: token.flags == 0 },
        }
    }
}

/// Digests the one statement in `sql` into `digest`; false if it is not to be cached, and `digest` says nothing
/// then.
///
/// Not cached: anything but SELECT, INSERT, REPLACE, UPDATE, DELETE; several statements; executable comments; text
/// that is no statement at all; hundreds of literals.
#[must_use]
pub fn digest(sql: &[u8], mode: ParseMode, digest: &mut Digest) -> bool {
    digest.key.clear();
    digest.literals.clear();
    digest.params = 0;
    if u32::try_from(sql.len()).is_err() {
        return false;
    }
    let mut lexer = Lexer::new(sql, mode);
    let mut lifter = Lifter::new();
    // The text from `copied` to `end` is still to be put into the key.
    let mut copied = 0;
    let mut end = 0;
    loop {
        let token = lexer.next();
        let start = token.start as usize;
        if lexer.comments && (end == 0 || !lifter.in_select_list()) {
            digest.key.extend_from_slice(&sql[copied..end]);
            if end != 0 {
                digest.key.push(b' ');
            }
            copied = start;
        } else if end == 0 {
            copied = start;
        }
        match token.kind {
            T::Eof => break,
            T::Semi => {
                if lexer.next().kind == T::Eof {
                    break;
                }
                return false;
            }
            T::Param => digest.params += 1,
            _ => {}
        }
        if lifter.step(&token) {
            let literal = LiftedLiteral::of(sql, &token);
            digest.key.extend_from_slice(&sql[copied..start]);
            literal.push_tag(&sql[start..lexer.position()], &mut digest.key);
            digest.literals.push(literal);
            copied = lexer.position();
            end = copied;
            if digest.literals.len() > LITERALS_MAX {
                return false;
            }
        } else {
            end = lexer.position();
            if end == token.start as usize {
                return false;
            }
        }
        if !lifter.is_cacheable() {
            return false;
        }
    }
    if copied < end {
        digest.key.extend_from_slice(&sql[copied..end]);
    }
    // Trailing comments leave a space behind.
    while digest.key.last() == Some(&b' ') {
        digest.key.pop();
    }
    lifter.is_cacheable() && !lexer.executable
}
