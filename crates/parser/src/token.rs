//! Tokens.

use crate::ast::Span;
use crate::keyword::Kw;

/// Kinds of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum T {
    /// End of the text.
    Eof,
    /// A name without quotes; the token's `kw` says which word of the grammar it is.
    Word,
    /// A name in backticks, or in `"` with ANSI_QUOTES.
    Quoted,
    Int,
    Decimal,
    Float,
    /// `'…'`, `"…"`.
    String,
    /// `N'…'`.
    National,
    /// `x'…'`.
    Hex,
    /// `0x…`.
    HexNumber,
    /// `b'…'`.
    Bit,
    /// `0b…`.
    BitNumber,
    /// `_charset` of a known character set.
    Introducer,
    /// `?`.
    Param,
    /// `@name`, `@'name'`, `@`: the token covers the sign and the name.
    UserVar,
    /// `@@`.
    AtAt,
    /// `\N`.
    Null,
    Semi,
    Comma,
    Dot,
    LParen,
    RParen,
    LBrace,
    RBrace,
    Star,
    Plus,
    Minus,
    Slash,
    Percent,
    Caret,
    Amp,
    Pipe,
    Tilde,
    Bang,
    Eq,
    NullSafeEq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Shl,
    Shr,
    AndAnd,
    OrOr,
    Assign,
    /// `:` of a label.
    Colon,
    Arrow,
    ArrowArrow,
    /// Bytes that start no token; a quote or comment that is not closed.
    Error,
}

/// A string holds escapes or doubled quotes.
pub(crate) const ESCAPED: u8 = 1;
/// A string goes on in further strings after its end (`'a' 'b'`).
pub(crate) const JOINED: u8 = 2;

/// A token: what it is and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: T,
    /// [`ESCAPED`], [`JOINED`].
    pub(crate) flags: u8,
    /// The word, for [`T::Word`].
    pub(crate) kw: Kw,
    /// First byte.
    pub(crate) start: u32,
    /// Byte after the last one.
    pub(crate) end: u32,
}

impl Token {
    pub(crate) fn span(&self) -> Span {
        Span { start: self.start, end: self.end }
    }
}
