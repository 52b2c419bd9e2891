//! The grammar, by recursive descent.
//!
//! One token of lookahead; where that does not suffice the next one is peeked at, or (rarely, and never nested) the
//! state is copied and restored. Nesting is bounded, so that no text exhausts the stack of the parser or of those
//! who walk the tree.

mod account;
mod admin;
mod alter;
mod body;
mod column;
mod condition;
mod dml;
mod event;
mod expr;
mod func;
mod hint;
mod json_table;
mod names;
mod option;
mod partition;
mod program;
mod query;
mod role;
mod schema;
mod set;
mod show;
mod stmt;
mod table;
mod tables;
mod txn;
mod window;

use bumpalo::Bump;
use bumpalo::collections::Vec as ArenaVec;

use crate::ast::{Expr, Ident, ObjectName, RowColumn, Span, Stmt};
use crate::error::{ParseError, ParseErrorKind};
use crate::keyword::Kw;
use crate::lexer::Lexer;
use crate::lift::Lifter;
use crate::mode::{Names, ParseMode, SqlMode, TwoByte};
use crate::text;
use crate::token::{ESCAPED, JOINED, T, Token};
use crate::{Local, Parsed};

/// Deepest nesting of parentheses, calls and queries.
const DEPTH_MAX: u32 = 200;

/// Greatest height of an expression; `1 + 1 + …` is as high as it is long. AND and OR are built balanced.
const HEIGHT_MAX: u32 = 500;

/// Joins and set operations of one statement.
const JOINS_MAX: u32 = 1000;

/// Parsing stopped; the parser holds why.
#[derive(Debug, Clone, Copy)]
struct Fail;

type R<T> = Result<T, Fail>;

/// Everything that going back has to restore.
#[derive(Debug, Clone, Copy)]
struct State<'a> {
    lexer: Lexer<'a>,
    /// The token to look at.
    tok: Token,
    /// Its number if it is a lifted literal, or a parameter where literals are lifted; else `u32::MAX`.
    tok_lifted: u32,
    /// End of the token before.
    prev_end: u32,
    lifter: Lifter,
    /// Literals lifted so far, and parameters if literals are lifted.
    numbered: u32,
    /// Parameters so far.
    params: u32,
    /// An expression so far reads a local variable.
    reads_locals: bool,
}

pub(crate) struct Parser<'a> {
    sql: &'a [u8],
    arena: &'a Bump,
    mode: ParseMode,
    s: State<'a>,
    /// Stack on which lists of expressions are gathered before they go to the arena in one piece.
    scratch: Vec<Expr<'a>>,
    /// Nesting right now.
    depth: u32,
    /// Greatest height of the expressions parsed since an enclosing expression began.
    peak: u32,
    joins: u32,
    /// The expression that starts now is a select item and may be `t.*`.
    star_allowed: bool,
    /// The `t.*` met.
    star: Option<ObjectName<'a>>,
    failure: Option<(ParseErrorKind, usize)>,
    /// Local variables that names may stand for; of several with one name the last counts.
    locals: &'a [Local],
    /// In the body of a trigger: the columns of `NEW` and `OLD` met.
    row_columns: Option<Vec<RowColumn<'a>>>,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(sql: &'a [u8], arena: &'a Bump, mode: ParseMode) -> Self {
        // Positions are 32 bits wide; no packet is longer than 1 GB.
        let sql = &sql[..sql.len().min(u32::MAX as usize)];
        let tok = Token { kind: T::Eof, flags: 0, kw: Kw::Other, start: 0, end: 0 };
        let state = State {
            lexer: Lexer::new(sql, mode),
            tok,
            tok_lifted: u32::MAX,
            prev_end: 0,
            lifter: Lifter::new(),
            numbered: 0,
            params: 0,
            reads_locals: false,
        };
        Self {
            sql,
            arena,
            mode,
            s: state,
            scratch: Vec::new(),
            depth: 0,
            peak: 0,
            joins: 0,
            star_allowed: false,
            star: None,
            failure: None,
            locals: &[],
            row_columns: None,
        }
    }

    /// The same inside of a stored program.
    pub(crate) fn with_locals(self, locals: &'a [Local]) -> Self {
        Self { locals, ..self }
    }

    /// The place of the local variable of that name.
    #[inline]
    fn local(&self, name: Ident<'_>) -> Option<u32> {
        if self.locals.is_empty() {
            return None;
        }
        self.locals.iter().rfind(|local| local.name.eq_ignore_ascii_case(name.name)).map(|local| local.place)
    }

    /// The place of a column of `NEW` or `OLD`: a local variable whose name has a dot in it.
    fn local_of(&self, first: Ident<'_>, second: Ident<'_>) -> Option<u32> {
        if self.locals.is_empty() || !(first.is("new") || first.is("old")) {
            return None;
        }
        let name = [first.name, b".", second.name].concat();
        self.local(Ident::new(&name))
    }

    /// Notes a column of `NEW` or `OLD` in the body of a trigger.
    #[inline]
    fn note_row_column(&mut self, first: Ident<'a>, name: Ident<'a>, set: bool) {
        if let Some(columns) = &mut self.row_columns
            && (first.is("new") || first.is("old"))
        {
            columns.push(RowColumn { new: first.is("new"), set, name });
        }
    }

    /// Parses the statement and finds where the next one starts.
    pub(crate) fn statement(mut self) -> Result<Parsed<'a>, ParseError> {
        self.advance();
        let start = self.s.tok.start;
        if self.at_end() {
            return self.no_statement();
        }
        let stmt = match self.any_statement() {
            Ok(stmt) => stmt,
            Err(Fail) => return Err(self.into_error()),
        };
        let span = Span { start, end: self.s.prev_end };
        let next = match self.s.tok.kind {
            T::Eof => None,
            T::Semi => self.next_statement(),
            _ => {
                let _: R<()> = self.fail();
                return Err(self.into_error());
            }
        };
        let State { params, numbered, reads_locals, .. } = self.s;
        Ok(Parsed { stmt, span, next, params, lifted: numbered.saturating_sub(params), reads_locals })
    }

    /// Parses an expression, and nothing more.
    pub(crate) fn expression(mut self) -> Result<Expr<'a>, ParseError> {
        self.advance();
        let expr = match self.expr() {
            Ok(expr) if self.s.tok.kind == T::Eof => return Ok(expr),
            Ok(_) => self.fail::<Expr<'a>>(),
            Err(fail) => Err(fail),
        };
        debug_assert!(expr.is_err());
        Err(self.into_error())
    }

    /// Comments are a statement that does nothing; nothing at all is an error.
    fn no_statement(self) -> Result<Parsed<'a>, ParseError> {
        if !self.s.lexer.comments {
            return Err(ParseError::at(ParseErrorKind::Empty, self.sql, 0));
        }
        let end = self.s.tok.start;
        let next = if self.at(T::Semi) { self.next_statement() } else { None };
        Ok(Parsed {
            stmt: Stmt::Empty,
            span: Span { start: end, end },
            next,
            params: 0,
            lifted: 0,
            reads_locals: false,
        })
    }

    /// At the semicolon: where text follows, if any does. A zero byte at the end is one: an empty statement.
    fn next_statement(&self) -> Option<usize> {
        let mut lexer = self.s.lexer;
        (lexer.next().kind != T::Eof || !lexer.is_exhausted()).then_some(self.s.lexer.position())
    }

    fn into_error(self) -> ParseError {
        let (kind, offset) = self.failure.unwrap_or((ParseErrorKind::Syntax, 0));
        ParseError::at(kind, self.sql, offset)
    }

    /// A syntax error at the current token.
    #[cold]
    fn fail<V>(&mut self) -> R<V> {
        self.fail_as(ParseErrorKind::Syntax)
    }

    #[cold]
    fn fail_as<V>(&mut self, kind: ParseErrorKind) -> R<V> {
        let mut offset = self.s.tok.start as usize;
        // MySQL's lexer has by then passed over a comma, and looked past WITH for CUBE and ROLLUP.
        if self.at_kw(Kw::With) {
            let next = self.peek();
            offset = if next.kind == T::Comma { next.end } else { next.start } as usize;
        } else if self.at(T::Comma) {
            offset = self.s.tok.end as usize;
        }
        if self.s.tok.kind == T::Eof {
            // Lines are counted up to the last byte that says something.
            let text = self.sql[..offset].trim_ascii_end();
            offset = text.len();
            return self.fail_at_end(kind, offset);
        }
        self.failure.get_or_insert((kind, offset));
        Err(Fail)
    }

    #[cold]
    fn fail_at_end<V>(&mut self, kind: ParseErrorKind, offset: usize) -> R<V> {
        self.sql = &self.sql[..offset];
        self.failure.get_or_insert((kind, offset));
        Err(Fail)
    }

    // Tokens.

    #[inline]
    fn advance(&mut self) {
        // Behind the last one of strings that were joined.
        self.s.prev_end = self.s.lexer.position() as u32;
        self.s.tok = self.s.lexer.next();
        if self.mode.lift {
            self.s.tok_lifted = u32::MAX;
            let lifted = self.s.lifter.step(&self.s.tok);
            if lifted || self.s.tok.kind == T::Param {
                self.s.tok_lifted = self.s.numbered;
                self.s.numbered += 1;
            }
        }
    }

    /// The token after the current one.
    fn peek(&self) -> Token {
        let mut lexer = self.s.lexer;
        lexer.next()
    }

    #[inline]
    fn at(&self, kind: T) -> bool {
        self.s.tok.kind == kind
    }

    /// The current word of the grammar; [`Kw::Other`] for anything else.
    #[inline]
    fn kw(&self) -> Kw {
        self.s.tok.kw
    }

    #[inline]
    fn at_kw(&self, kw: Kw) -> bool {
        self.s.tok.kw == kw
    }

    #[inline]
    fn eat(&mut self, kind: T) -> bool {
        let here = self.at(kind);
        if here {
            self.advance();
        }
        here
    }

    #[inline]
    fn eat_kw(&mut self, kw: Kw) -> bool {
        let here = self.at_kw(kw);
        if here {
            self.advance();
        }
        here
    }

    /// Two words, both or none.
    fn eat_kws(&mut self, first: Kw, second: Kw) -> bool {
        let here = self.at_kw(first) && self.peek().kw == second;
        if here {
            self.advance();
            self.advance();
        }
        here
    }

    #[inline]
    fn expect(&mut self, kind: T) -> R<()> {
        if self.eat(kind) { Ok(()) } else { self.fail() }
    }

    #[inline]
    fn expect_kw(&mut self, kw: Kw) -> R<()> {
        if self.eat_kw(kw) { Ok(()) } else { self.fail() }
    }

    /// An optional `=`.
    fn skip_eq(&mut self) {
        self.eat(T::Eq);
    }

    /// At the end of the statement.
    fn at_end(&self) -> bool {
        matches!(self.s.tok.kind, T::Eof | T::Semi)
    }

    // Names.

    /// Whether the token is a name: quoted, or a word that is not reserved.
    #[inline]
    fn at_ident(&self) -> bool {
        match self.s.tok.kind {
            T::Word if self.kw() == Kw::Other => true,
            T::Word if self.kw().is_reserved() => false,
            T::Word if matches!(self.kw(), Kw::Intersect | Kw::Except) => self.set_op().is_none(),
            T::Word => !self.kw().is_function() || !self.calls(),
            T::Quoted | T::Introducer => true,
            _ => false,
        }
    }

    #[inline]
    fn ident(&mut self) -> R<Ident<'a>> {
        if !self.at_ident() {
            return self.fail();
        }
        let ident = self.ident_text();
        self.advance();
        Ok(ident)
    }

    /// The current token as a name, whatever word it is.
    #[inline]
    fn ident_text(&self) -> Ident<'a> {
        let tok = &self.s.tok;
        let text = tok.span().of(self.sql);
        if tok.kind != T::Quoted {
            return self.named(text);
        }
        self.unquote(text, tok.flags)
    }

    /// A name, in UTF-8 whatever the text is in.
    #[inline]
    fn named(&self, text: &'a [u8]) -> Ident<'a> {
        match self.mode.names {
            Some(names) if !text.is_ascii() => self.named_in(names, text),
            _ => Ident::new(text),
        }
    }

    #[cold]
    fn named_in(&self, names: Names, text: &'a [u8]) -> Ident<'a> {
        match (names.decode)(names.collation, text) {
            Some(name) => Ident::new(self.arena.alloc_str(&name).as_bytes()),
            None => Ident::new(text),
        }
    }

    /// The name between the quotes of `text`.
    fn unquote(&self, text: &'a [u8], flags: u8) -> Ident<'a> {
        if flags & ESCAPED == 0 {
            return self.named(&text[1..text.len() - 1]);
        }
        let mut name = ArenaVec::with_capacity_in(text.len(), self.arena);
        text::unescape(text, false, TwoByte::None, |bytes| name.extend_from_slice(bytes));
        self.named(name.into_bump_slice())
    }

    /// `[schema.]name`, `.name`.
    fn object_name(&mut self) -> R<ObjectName<'a>> {
        if self.at(T::Dot) {
            self.advance();
            return Ok(ObjectName { schema: None, name: self.ident_after_dot()? });
        }
        let first = self.ident()?;
        if self.eat(T::Dot) {
            return Ok(ObjectName { schema: Some(first), name: self.ident_after_dot()? });
        }
        Ok(ObjectName { schema: None, name: first })
    }

    /// The name after a dot. The lexer has already taken the meaning from words right after it.
    fn ident_after_dot(&mut self) -> R<Ident<'a>> {
        self.ident()
    }

    /// `AS name`, `name`, or nothing; with `AS` a name must follow.
    fn table_alias(&mut self) -> R<Option<Ident<'a>>> {
        if self.eat_kw(Kw::As) || self.eat(T::Eq) || self.at_ident() {
            return self.ident().map(Some);
        }
        Ok(None)
    }

    fn ident_list(&mut self) -> R<&'a [Ident<'a>]> {
        self.comma_list(Self::ident)
    }

    /// `( name, … )`.
    fn ident_list_in_parens(&mut self) -> R<&'a [Ident<'a>]> {
        self.expect(T::LParen)?;
        let list = self.ident_list()?;
        self.expect(T::RParen)?;
        Ok(list)
    }

    fn object_name_list(&mut self) -> R<&'a [ObjectName<'a>]> {
        self.comma_list(Self::object_name)
    }

    /// A name or a string: character sets, collations, users, plugins.
    fn ident_or_text(&mut self) -> R<Ident<'a>> {
        if self.at(T::String) { self.text().map(|text| self.named(text)) } else { self.ident() }
    }

    // Literals of the grammar (not of expressions).

    /// `'…'`.
    fn text(&mut self) -> R<&'a [u8]> {
        if !self.at(T::String) {
            return self.fail();
        }
        if self.s.tok.flags & JOINED != 0 {
            // Only literals of expressions may go on in another string.
            let next = self.s.lexer.joined(self.s.tok.end as usize).next();
            let offset = next.map_or(self.s.tok.end as usize, |(start, _)| start);
            self.failure.get_or_insert((ParseErrorKind::Syntax, offset));
            return Err(Fail);
        }
        let value = text::string_value(self.sql, &self.s.tok, 0, &self.s.lexer, self.arena);
        self.advance();
        Ok(value)
    }

    /// `'…'`, `x'…'`, `b'…'`, `0x…`.
    fn text_or_bytes(&mut self) -> R<&'a [u8]> {
        let literal = match self.s.tok.kind {
            T::String => return self.text(),
            T::Hex | T::HexNumber | T::Bit | T::BitNumber => self.bytes_value(),
            _ => return self.fail(),
        };
        self.advance();
        Ok(literal)
    }

    /// The bytes of the current hex or bit token.
    fn bytes_value(&self) -> &'a [u8] {
        let text = self.s.tok.span().of(self.sql);
        match self.s.tok.kind {
            T::Hex => text::hex_value(&text[2..text.len() - 1], self.arena),
            T::HexNumber => text::hex_value(&text[2..], self.arena),
            T::Bit => text::bit_value(&text[2..text.len() - 1], self.arena),
            _ => text::bit_value(&text[2..], self.arena),
        }
    }

    /// A whole number of at most 64 bits, decimal or `0x…`.
    fn number(&mut self) -> R<u64> {
        let text = self.s.tok.span().of(self.sql);
        let value = match self.s.tok.kind {
            T::Int => text::int_value(text),
            T::HexNumber | T::Hex => {
                let bytes = self.bytes_value();
                (bytes.len() <= 8)
                    .then(|| bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
            }
            _ => None,
        };
        let Some(value) = value else { return self.fail() };
        self.advance();
        Ok(value)
    }

    /// A decimal number, cut at 32 bits: lengths and precisions.
    fn length(&mut self) -> R<u32> {
        if !self.at(T::Int) {
            return self.fail();
        }
        let text = self.s.tok.span().of(self.sql);
        let value = text::int_value(text).unwrap_or(u64::MAX);
        self.advance();
        Ok(u32::try_from(value).unwrap_or(u32::MAX))
    }

    /// `( n )` or nothing.
    fn length_in_parens(&mut self) -> R<Option<u32>> {
        if !self.eat(T::LParen) {
            return Ok(None);
        }
        let length = self.length()?;
        self.expect(T::RParen)?;
        Ok(Some(length))
    }

    // Lists, nesting, allocation.

    fn comma_list<V: Copy>(&mut self, mut item: impl FnMut(&mut Self) -> R<V>) -> R<&'a [V]> {
        let first = item(self)?;
        if !self.at(T::Comma) {
            return Ok(self.arena.alloc_slice_copy(&[first]));
        }
        let mut list = ArenaVec::with_capacity_in(8, self.arena);
        list.push(first);
        while self.eat(T::Comma) {
            list.push(item(self)?);
        }
        Ok(list.into_bump_slice())
    }

    fn list_in_parens<V: Copy>(&mut self, item: impl FnMut(&mut Self) -> R<V>) -> R<&'a [V]> {
        self.expect(T::LParen)?;
        let list = self.comma_list(item)?;
        self.expect(T::RParen)?;
        Ok(list)
    }

    fn new_list<V>(&self) -> ArenaVec<'a, V> {
        ArenaVec::new_in(self.arena)
    }

    #[inline]
    fn alloc<V: Copy>(&self, value: V) -> &'a V {
        self.arena.alloc(value)
    }

    /// Runs `inner` one level deeper.
    #[inline]
    fn nested<V>(&mut self, inner: impl FnOnce(&mut Self) -> R<V>) -> R<V> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return self.fail_as(ParseErrorKind::TooDeep);
        }
        let taken = self.arena.allocated_bytes() + self.scratch.capacity() * size_of::<Expr<'_>>();
        if taken > self.mode.memory_max {
            return self.fail_as(ParseErrorKind::TooLarge(taken));
        }
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn count_join(&mut self) -> R<()> {
        self.joins += 1;
        if self.joins > JOINS_MAX { self.fail_as(ParseErrorKind::TooDeep) } else { Ok(()) }
    }

    /// From `start` to the end of the last token taken.
    #[inline]
    fn span_from(&self, start: u32) -> Span {
        Span { start, end: self.s.prev_end }
    }

    fn has(&self, bit: SqlMode) -> bool {
        self.mode.sql_mode.has(bit)
    }

    /// A parenthesis follows the current word at once, as built-in functions need it.
    fn calls(&self) -> bool {
        let next = self.peek();
        next.kind == T::LParen && (next.start == self.s.tok.end || self.has(SqlMode::IGNORE_SPACE))
    }
}
