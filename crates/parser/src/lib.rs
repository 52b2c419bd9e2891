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
use keyword::Kw;
use lexer::Lexer;
use token::T;

pub use digest::{Digest, LiftedLiteral, Source, ValueTag, digest, param_positions};
pub use error::{ParseError, ParseErrorKind};
pub use keyword::needs_quotes;
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
    /// Whether an expression reads a local variable of a program.
    pub reads_locals: bool,
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

/// Whether MySQL 5.6 puts a name in quotes where SHOW CREATE TABLE and `.frm` files have a clause PARTITION BY: what it does not read as a
/// name without quotes, words of its grammar, reserved or not, and names without any letter of ASCII, `_` or `$`.
pub fn is_quoted_in_partitions(name: &[u8]) -> bool {
    let kw = Kw::of(name);
    let is_word = kw != Kw::Other && !kw.is_function() && !kw.is_later();
    let is_number = name.iter().all(|b| b.is_ascii_digit() || *b >= 0x80);
    is_word || is_number || needs_quotes(name) || !is_one_word(name)
}

/// Whether a name without quotes is read as one: not as a number, nor as what stands before a string.
fn is_one_word(name: &[u8]) -> bool {
    let token = Lexer::new(name, ParseMode::default()).next();
    token.kind == T::Word && token.span().end as usize == name.len()
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

/// The words of a text without quotes, names or of the grammar, as far as it can be read.
pub fn words(text: &str, mode: ParseMode) -> Vec<&str> {
    let tokens = Lexer::new(text.as_bytes(), mode).tokens();
    let words = tokens.filter(|token| token.kind == T::Word);
    words.map(|word| &text[word.start as usize..word.end as usize]).collect()
}

/// The first one of strings that stand side by side: it gives a column its name. `None` if `text` is not several strings.
pub fn first_of_strings(text: &[u8], mode: ParseMode) -> Option<Vec<u8>> {
    let mut lexer = Lexer::new(text, mode);
    let token = lexer.next();
    if token.kind != T::String || token.flags & token::JOINED == 0 {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_outside_of_quotes() {
        let text = r"select json_keys(`d`.`json_a`,'it\'s over \\') AS `over`,cast('x' as char charset utf8) AS `a``b except c` from `d`.`t`";
        assert_eq!(
            words(text, ParseMode::default()),
            ["select", "json_keys", "AS", "cast", "as", "char", "charset", "utf8", "AS", "from"]
        );
        assert_eq!(words("'not ended", ParseMode::default()), [""; 0]);
    }

    /// As MySQL 5.6.24 shows partitions of these names.
    #[test]
    fn names_of_partitions_in_quotes() {
        let plain = "mid max now sum count curdate mäx p漢 漢x é_ x1é 1a 1_ 1aä a$ $ _p p_1 x n b e1 utf8 window json others role account";
        for name in plain.split(' ') {
            assert!(!is_quoted_in_partitions(name.as_bytes()), "{name}");
        }
        let quoted = "123 é 漢字 1é é1 select SeLeCt value values date user less nchar true end list mod a.b a-b a`b p#1 a'b";
        for name in quoted.split(' ').chain(["", "a b"]) {
            assert!(is_quoted_in_partitions(name.as_bytes()), "{name}");
        }
        // It does not take them: without quotes it would not read what it has written.
        for name in ["1e5", "0x10", "0b1", "_utf8", "_LATIN1"] {
            assert!(is_quoted_in_partitions(name.as_bytes()), "{name}");
        }
    }
}
