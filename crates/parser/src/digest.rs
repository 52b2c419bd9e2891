//! The digest of a statement: what its plan is cached by.
//!
//! One pass over the tokens, without a tree. Literals that cannot change the meaning or the column names of the
//! statement are lifted out: the key has their type only, and the values are listed. [`crate::parse`] with
//! [`crate::ParseMode::lift`] turns the same literals, in the same order, into
//! [`crate::ast::ExprKind::Lifted`] nodes.
//!
//! The key is the text itself with a control byte for each lifted literal. No such byte can stand outside of
//! quotes in a text that has tokens only, so different statements have different keys. A parameter that stands where a
//! literal would be lifted leaves its place open: with the type of its value there the key is that of the text with
//! such a literal. Space and comments are cut
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
    /// Where they stand.
    places: Vec<Place>,
}

/// Where a parameter stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    /// Where the type of its value belongs in the key.
    at: usize,
    /// Literals before it.
    literals: usize,
    /// A literal would be lifted there.
    lifts: bool,
}

/// What of a value the key has: what the types of expressions depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueTag {
    /// A whole number that fits 63 bits and a sign.
    Int,
    /// An unsigned one.
    UInt,
    /// An exact number with so many digits after the point.
    Decimal(u8),
    /// A number with an exponent.
    Float,
    /// Text.
    String,
    /// What no literal is; below 200.
    Other(u8),
}

impl ValueTag {
    fn push(self, key: &mut Vec<u8>) {
        match self {
            Self::Int => key.push(1),
            Self::UInt => key.push(2),
            Self::Decimal(scale) => key.extend_from_slice(&[3, scale]),
            Self::Float => key.push(4),
            Self::String => key.push(5),
            Self::Other(what) => key.extend_from_slice(&[6, what]),
        }
    }
}

/// A value of a statement: literals that are lifted and parameters, in the order of the text. The parser numbers them so
/// under [`ParseMode::lift`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The lifted literal of that number.
    Literal(usize),
    /// A parameter.
    Param {
        /// Its number among them.
        number: usize,
        /// It stands where a literal would be lifted.
        lifts: bool,
    },
}

impl Digest {
    /// Appends the key with the types of the parameters' values.
    ///
    /// # Panics
    /// If there are fewer than [`Digest::params`].
    pub fn push_key(&self, tag: impl Fn(usize) -> ValueTag, out: &mut Vec<u8>) {
        let mut copied = 0;
        for (number, place) in self.places.iter().enumerate() {
            out.extend_from_slice(&self.key[copied..place.at]);
            tag(number).push(out);
            copied = place.at;
        }
        out.extend_from_slice(&self.key[copied..]);
    }

    /// Where the values come from.
    pub fn sources(&self) -> impl Iterator<Item = Source> + '_ {
        let before = |number: usize| self.places.get(number).map_or(self.literals.len(), |p| p.literals);
        (0..=self.places.len()).flat_map(move |number| {
            let first = if number == 0 { 0 } else { before(number - 1) };
            let literals = (first..before(number)).map(Source::Literal);
            let param = self.places.get(number).map(|p| Source::Param { number, lifts: p.lifts });
            literals.chain(param)
        })
    }
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
    /// What of it the key has. `text` is all of the literal.
    fn tag(self, text: &[u8]) -> ValueTag {
        match self {
            Self::Int(value) if i64::try_from(value).is_ok() => ValueTag::Int,
            Self::Int(_) => ValueTag::UInt,
            Self::Decimal(_) => {
                let scale = text.iter().rev().position(|&byte| byte == b'.').unwrap_or(0);
                ValueTag::Decimal(u8::try_from(scale).unwrap_or(u8::MAX))
            }
            Self::Float(_) => ValueTag::Float,
            Self::String { .. } => ValueTag::String,
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

/// Where the `?` of a text that could be parsed are.
pub fn param_positions(sql: &[u8], mode: ParseMode) -> impl Iterator<Item = usize> {
    let tokens = Lexer::new(sql, mode).tokens();
    tokens.filter(|token| token.kind == T::Param).map(|token| token.start as usize)
}

/// Digests the one statement in `sql` into `digest`; false if it is not to be cached, and `digest` says nothing
/// then.
///
/// Not cached: anything but SELECT, INSERT, REPLACE, UPDATE, DELETE; several statements; executable comments and hints; text
/// that is no statement at all; hundreds of literals.
#[must_use]
pub fn digest(sql: &[u8], mode: ParseMode, digest: &mut Digest) -> bool {
    digest.key.clear();
    digest.literals.clear();
    digest.params = 0;
    digest.places.clear();
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
        if lexer.hint.is_some() {
            return false;
        }
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
                if lexer.next().kind == T::Eof && lexer.is_exhausted() {
                    break;
                }
                return false;
            }
            T::Param => {
                let lifts = lifter.lifts();
                end = if lifts { start } else { lexer.position() };
                digest.key.extend_from_slice(&sql[copied..end]);
                let place = Place { at: digest.key.len(), literals: digest.literals.len(), lifts };
                digest.places.push(place);
                digest.params += 1;
                copied = lexer.position();
            }
            _ => {}
        }
        if lifter.step(&token) {
            let literal = LiftedLiteral::of(sql, &token);
            digest.key.extend_from_slice(&sql[copied..start]);
            literal.tag(&sql[start..lexer.position()]).push(&mut digest.key);
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
    let least = digest.places.last().map_or(0, |place| place.at);
    while digest.key.len() > least && digest.key.last() == Some(&b' ') {
        digest.key.pop();
    }
    lifter.is_cacheable() && !lexer.executable
}
