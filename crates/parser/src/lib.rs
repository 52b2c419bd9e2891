//! SQL as MySQL reads it: bytes to syntax tree, and the digest that plans are cached by.
//!
//! The dialect is that of MySQL 5.6 with 5.7's and the common 8.0 additions where they do not take a word away
//! that 5.6 allows as a name. Input is bytes, not UTF-8. Nothing here knows tables, types or values: see the
//! module [`ast`] for what the tree promises.
#![forbid(unsafe_code)]

pub mod ast;
mod digest;
mod error;
mod keyword;
mod lexer;
mod lift;
mod mode;
mod parser;
mod print;
mod text;
mod token;

use bumpalo::Bump;

pub use digest::{Digest, LiftedLiteral, Source, ValueTag, digest, param_positions};
pub use error::{ParseError, ParseErrorKind};
pub use keyword::{is_quoted_in_partitions, needs_quotes};
pub use mode::{Names, ParseMode, SqlMode, TwoByte};
pub use print::{NotPrinted, Printed, print_expression, push_quoted};

/// One statement of a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parsed<'a> {
    /// The statement.
    pub stmt: ast::Stmt<'a>,
    /// Its text, without the semicolon and the space around it.
    pub span: ast::Span,
    /// Where the text goes on after the semicolon; `None` if nothing but space and comments follows.
    pub next: Option<usize>,
    /// Number of `?` parameters.
    pub params: u32,
    /// Number of lifted literals ([`ast::ExprKind::Lifted`]).
    pub lifted: u32,
}

/// Parses the statement at the start of `sql`.
///
/// Several statements in one text are parsed one by one: call again with the rest from [`Parsed::next`]. Spans
/// count from the start of the `sql` given to the call.
///
/// # Errors
/// [`ParseErrorKind::Empty`] if there is nothing, not even a comment; otherwise what is wrong, and where.
pub fn parse<'a>(sql: &'a [u8], arena: &'a Bump, mode: ParseMode) -> Result<Parsed<'a>, ParseError> {
    parser::Parser::new(sql, arena, mode).statement()
}

/// Reads the text of an expression as [`print_expression`] writes it, UTF-8, whatever modes a session has; `read` gets the tree.
///
/// # Errors
/// It is none.
pub fn with_expression<R>(text: &str, read: impl FnOnce(&ast::Expr<'_>) -> R) -> Result<R, ParseError> {
    let arena = Bump::new();
    let mode = ParseMode { params: false, ..ParseMode::default() };
    let expr = parser::Parser::new(text.as_bytes(), &arena, mode).expression()?;
    Ok(read(&expr))
}

/// Reads the text of a clause `PARTITION BY …` as it is kept with a table, UTF-8, whatever modes a session has; `read` gets the tree.
///
/// # Errors
/// It is none.
pub fn with_partitioning<R>(
    text: &str,
    read: impl FnOnce(&ast::Partitioning<'_>) -> R,
) -> Result<R, ParseError> {
    let arena = Bump::new();
    let mode = ParseMode { params: false, ..ParseMode::default() };
    let partitioning = parser::Parser::new(text.as_bytes(), &arena, mode).partitioning_alone()?;
    Ok(read(partitioning))
}

/// A local variable of a stored program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Local {
    /// Its name.
    pub name: Box<[u8]>,
    /// Its place among the variables.
    pub place: u32,
}

/// The first one of strings that stand side by side: it gives a column its name. `None` if `text` is not several strings.
pub fn first_of_strings(text: &[u8], mode: ParseMode) -> Option<Vec<u8>> {
    let mut lexer = lexer::Lexer::new(text, mode);
    let token = lexer.next();
    if token.kind != token::T::String || token.flags & token::JOINED == 0 {
        return None;
    }
    let (mut out, quoted) = (Vec::new(), token.span().of(text));
    text::unescape(quoted, lexer.escapes(), lexer.two_byte(), |bytes| out.extend_from_slice(bytes));
    Some(out)
}

/// As [`parse`], where names may stand for local variables: they hide columns. Of several with one name the last counts.
///
/// # Errors
/// As [`parse`].
pub fn parse_with<'a>(
    sql: &'a [u8],
    arena: &'a Bump,
    mode: ParseMode,
    locals: &'a [Local],
) -> Result<Parsed<'a>, ParseError> {
    parser::Parser::new(sql, arena, mode).with_locals(locals).statement()
}
