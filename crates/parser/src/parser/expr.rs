//! Expressions.
//!
//! Precedence climbing over the levels of MySQL's grammar. Each operator has a level, and a least level of the
//! expression on its left: that is how `a IS TRUE = b` and `a IN (b) + c` are syntax errors, as they are in 5.6.

use super::{HEIGHT_MAX, Parser, R};
use crate::ast::{
    BinaryOp, Case, Expr, ExprKind, Ident, IsTest, Literal, Quantifier, Query, Span, UnaryOp, When,
};
use crate::error::ParseErrorKind;
use crate::keyword::Kw;
use crate::mode::SqlMode;
use crate::text;
use crate::token::T;

/// Levels, loosest first.
type Level = u8;
const ANY: Level = 0;
const OR: Level = 1;
const XOR: Level = 2;
const AND: Level = 3;
const NOT: Level = 4;
const TRUTH: Level = 5;
const COMPARISON: Level = 6;
const PREDICATE: Level = 7;
const BIT_OR: Level = 8;
const BIT_AND: Level = 9;
const SHIFT: Level = 10;
const ADD: Level = 11;
const MUL: Level = 12;
const BIT_XOR: Level = 13;
const CONCAT: Level = 14;
const UNARY: Level = 15;
const COLLATE: Level = 16;
pub(super) const PRIMARY: Level = 17;

/// What parentheses hold.
pub(super) enum Paren<'a> {
    Expr(Expr<'a>),
    Query(&'a Query<'a>),
}

impl<'a> Parser<'a> {
    pub(super) fn expr(&mut self) -> R<Expr<'a>> {
        self.expr_at(ANY)
    }

    pub(super) fn expr_ref(&mut self) -> R<&'a Expr<'a>> {
        let expr = self.expr()?;
        Ok(self.alloc(expr))
    }

    /// An expression, or the word DEFAULT where a value is assigned.
    pub(super) fn expr_or_default(&mut self) -> R<Expr<'a>> {
        if self.at_kw(Kw::Default) && self.peek().kind != T::LParen {
            let span = self.s.tok.span();
            self.advance();
            return Ok(Expr { kind: ExprKind::Default, span });
        }
        self.expr()
    }

    /// Arithmetic without comparison.
    pub(super) fn bit_expr(&mut self) -> R<&'a Expr<'a>> {
        self.operand(BIT_OR)
    }

    fn operand(&mut self, min: Level) -> R<&'a Expr<'a>> {
        let expr = self.expr_at(min)?;
        Ok(self.alloc(expr))
    }

    /// An expression all of whose operators have at least level `min`.
    fn expr_at(&mut self, min: Level) -> R<Expr<'a>> {
        let outer = std::mem::replace(&mut self.peak, 0);
        let start = self.s.tok.start;
        let (left, level) = self.nested(|parser| parser.prefix(min))?;
        let expr = self.climb(left, level, min, start)?;
        // What is above adds its own level to the highest of its parts.
        self.peak = outer.max(self.peak + 1);
        Ok(expr)
    }

    /// Goes on with operators after `left`, which began at `start`.
    pub(super) fn climb(
        &mut self,
        mut left: Expr<'a>,
        mut level: Level,
        min: Level,
        start: u32,
    ) -> R<Expr<'a>> {
        loop {
            let (op, own) = match self.s.tok.kind {
                T::Comma | T::RParen | T::Eof | T::Semi => return Ok(left),
                T::Eq => (BinaryOp::Eq, COMPARISON),
                T::NullSafeEq => (BinaryOp::NullSafeEq, COMPARISON),
                T::Ne => (BinaryOp::Ne, COMPARISON),
                T::Lt => (BinaryOp::Lt, COMPARISON),
                T::Le => (BinaryOp::Le, COMPARISON),
                T::Gt => (BinaryOp::Gt, COMPARISON),
                T::Ge => (BinaryOp::Ge, COMPARISON),
                T::Pipe => (BinaryOp::BitOr, BIT_OR),
                T::Amp => (BinaryOp::BitAnd, BIT_AND),
                T::Shl => (BinaryOp::ShiftLeft, SHIFT),
                T::Shr => (BinaryOp::ShiftRight, SHIFT),
                T::Plus => (BinaryOp::Add, ADD),
                T::Minus => (BinaryOp::Sub, ADD),
                T::Star => (BinaryOp::Mul, MUL),
                T::Slash => (BinaryOp::Div, MUL),
                T::Percent => (BinaryOp::Mod, MUL),
                T::Caret => (BinaryOp::BitXor, BIT_XOR),
                T::AndAnd => (BinaryOp::And, AND),
                T::OrOr if self.has(SqlMode::PIPES_AS_CONCAT) => (BinaryOp::Concat, CONCAT),
                T::OrOr => (BinaryOp::Or, OR),
                T::Arrow => (BinaryOp::JsonExtract, PRIMARY),
                T::ArrowArrow => (BinaryOp::JsonUnquoteExtract, PRIMARY),
                T::Word => match self.kw() {
                    Kw::Other => return Ok(left),
                    Kw::And => (BinaryOp::And, AND),
                    Kw::Or => (BinaryOp::Or, OR),
                    Kw::Xor => (BinaryOp::Xor, XOR),
                    Kw::Div => (BinaryOp::IntDiv, MUL),
                    Kw::Mod => (BinaryOp::Mod, MUL),
                    _ => match self.word_operator(left, level, min, start)? {
                        Some((expr, own)) => {
                            (left, level) = (expr, own);
                            self.grow()?;
                            continue;
                        }
                        None => return Ok(left),
                    },
                },
                _ => return Ok(left),
            };
            if own < min || level < own {
                return Ok(left);
            }
            left = match own {
                AND | OR => self.chain(op, own, left, start)?,
                COMPARISON => self.comparison(op, left, start)?,
                ADD => self.sum(op, left, start)?,
                PRIMARY => self.json_path(op, left, start)?,
                _ => self.binary(op, own + 1, left, start)?,
            };
            level = own;
            self.grow()?;
        }
    }

    /// An operator was put above what was parsed.
    fn grow(&mut self) -> R<()> {
        self.peak += 1;
        if self.peak > HEIGHT_MAX { self.fail_as(ParseErrorKind::TooDeep) } else { Ok(()) }
    }

    fn binary(&mut self, op: BinaryOp, right: Level, left: Expr<'a>, start: u32) -> R<Expr<'a>> {
        let left = self.alloc(left);
        self.advance();
        let right = self.operand(right)?;
        Ok(Expr { kind: ExprKind::Binary { op, left, right }, span: self.span_from(start) })
    }

    /// `a AND b AND …`: balanced, since generated statements have thousands.
    fn chain(&mut self, op: BinaryOp, level: Level, left: Expr<'a>, start: u32) -> R<Expr<'a>> {
        let base = self.scratch.len();
        self.scratch.push(left);
        loop {
            self.advance();
            let operand = self.expr_at(level + 1)?;
            self.scratch.push(operand);
            let again = match op {
                BinaryOp::And => self.at_kw(Kw::And) || self.at(T::AndAnd),
                _ => self.at_kw(Kw::Or) || (self.at(T::OrOr) && !self.has(SqlMode::PIPES_AS_CONCAT)),
            };
            if !again {
                break;
            }
        }
        let count = self.scratch.len() - base;
        self.peak += count.ilog2();
        let operands = &self.scratch[base..];
        let whole = Span { start, end: self.s.prev_end };
        let expr = balanced(self.arena, op, operands, whole);
        self.scratch.truncate(base);
        Ok(expr)
    }

    fn comparison(&mut self, op: BinaryOp, left: Expr<'a>, start: u32) -> R<Expr<'a>> {
        let next = self.peek();
        let quantifier = match next.kw {
            Kw::All => Some(Quantifier::All),
            Kw::Any | Kw::Some => Some(Quantifier::Any),
            _ => None,
        };
        let Some(quantifier) = quantifier else { return self.binary(op, PREDICATE, left, start) };
        let bookmark = self.s;
        self.advance();
        self.advance();
        if !self.at(T::LParen) {
            // ANY and SOME are names elsewhere.
            self.s = bookmark;
            return self.binary(op, PREDICATE, left, start);
        }
        if op == BinaryOp::NullSafeEq {
            return self.fail();
        }
        let left = self.alloc(left);
        let query = self.subquery()?;
        Ok(Expr { kind: ExprKind::Quantified { left, op, quantifier, query }, span: self.span_from(start) })
    }

    /// `+` and `-`, whose right side may be an interval.
    fn sum(&mut self, op: BinaryOp, left: Expr<'a>, start: u32) -> R<Expr<'a>> {
        if self.peek().kw != Kw::Interval {
            return self.binary(op, MUL, left, start);
        }
        let left = self.alloc(left);
        self.advance();
        let interval_start = self.s.tok.start;
        match self.nested(Self::interval_or_call)? {
            Ok((amount, unit)) => {
                let subtract = op == BinaryOp::Sub;
                let kind = ExprKind::DateAdd { base: left, amount, unit, subtract };
                Ok(Expr { kind, span: self.span_from(start) })
            }
            Err(call) => {
                let right = self.climb(call, PRIMARY, MUL, interval_start)?;
                let kind = ExprKind::Binary { op, left, right: self.alloc(right) };
                Ok(Expr { kind, span: self.span_from(start) })
            }
        }
    }

    /// `column->'$.path'`.
    fn json_path(&mut self, op: BinaryOp, left: Expr<'a>, start: u32) -> R<Expr<'a>> {
        if !matches!(left.kind, ExprKind::Column(_)) {
            return self.fail();
        }
        let left = self.alloc(left);
        self.advance();
        let span = self.s.tok.span();
        let path = Expr { kind: ExprKind::Literal(Literal::String(self.text()?)), span };
        let kind = ExprKind::Binary { op, left, right: self.alloc(path) };
        Ok(Expr { kind, span: self.span_from(start) })
    }

    /// Operators that are words: IS, IN, BETWEEN, LIKE, REGEXP, SOUNDS LIKE, MEMBER OF, COLLATE, and NOT before them.
    fn word_operator(
        &mut self,
        left: Expr<'a>,
        level: Level,
        min: Level,
        start: u32,
    ) -> R<Option<(Expr<'a>, Level)>> {
        let kw = self.kw();
        let (own, needs) = match kw {
            Kw::Is => (TRUTH, COMPARISON),
            Kw::In | Kw::Between | Kw::Like | Kw::Regexp | Kw::Rlike | Kw::Not => (PREDICATE, BIT_OR),
            Kw::Sounds if self.peek().kw == Kw::Like => (PREDICATE, BIT_OR),
            Kw::Member if self.peek().kw == Kw::Of => (PREDICATE, BIT_OR),
            Kw::Collate => (COLLATE, COLLATE),
            _ => return Ok(None),
        };
        if level < needs {
            return Ok(None);
        }
        if kw == Kw::Is {
            return self.is_test(left, min, start);
        }
        if own < min {
            return Ok(None);
        }
        let negated = kw == Kw::Not;
        if negated {
            if !matches!(self.peek().kw, Kw::In | Kw::Between | Kw::Like | Kw::Regexp | Kw::Rlike) {
                return Ok(None);
            }
            self.advance();
        }
        let operand = self.alloc(left);
        let kw = self.kw();
        self.advance();
        let kind = match kw {
            Kw::In => self.in_list(operand, negated)?,
            Kw::Between => {
                let low = self.bit_expr()?;
                self.expect_kw(Kw::And)?;
                // Of the same level: a chain is as deep as it is long.
                let high = self.nested(|parser| parser.operand(PREDICATE))?;
                ExprKind::Between { operand, low, high, negated }
            }
            Kw::Like => {
                let pattern = self.operand(CONCAT)?;
                let escape = if self.eat_kw(Kw::Escape) { Some(self.operand(CONCAT)?) } else { None };
                ExprKind::Like { operand, pattern, escape, negated }
            }
            Kw::Sounds => {
                self.advance();
                ExprKind::Binary { op: BinaryOp::SoundsLike, left: operand, right: self.bit_expr()? }
            }
            Kw::Member => {
                self.advance();
                self.expect(T::LParen)?;
                let array = self.nested(Self::expr_ref)?;
                self.expect(T::RParen)?;
                ExprKind::Binary { op: BinaryOp::MemberOf, left: operand, right: array }
            }
            Kw::Collate => ExprKind::Collate { operand, collation: self.collation_name()? },
            _ => ExprKind::Regexp { operand, pattern: self.bit_expr()?, negated },
        };
        Ok(Some((Expr { kind, span: self.span_from(start) }, own)))
    }

    fn is_test(&mut self, left: Expr<'a>, min: Level, start: u32) -> R<Option<(Expr<'a>, Level)>> {
        let mut next = self.s.lexer;
        let mut word = next.next().kw;
        let negated = word == Kw::Not;
        if negated {
            word = next.next().kw;
        }
        let null = word == Kw::Null;
        let own = if null { COMPARISON } else { TRUTH };
        if own < min {
            return Ok(None);
        }
        self.advance();
        self.eat_kw(Kw::Not);
        let test = match self.kw() {
            Kw::Null => IsTest::Null,
            Kw::True => IsTest::True,
            Kw::False => IsTest::False,
            Kw::Unknown => IsTest::Unknown,
            _ => return self.fail(),
        };
        self.advance();
        let kind = ExprKind::Is { operand: self.alloc(left), test, negated };
        Ok(Some((Expr { kind, span: self.span_from(start) }, own)))
    }

    fn in_list(&mut self, operand: &'a Expr<'a>, negated: bool) -> R<ExprKind<'a>> {
        if !self.at(T::LParen) {
            return self.fail();
        }
        match self.nested(Self::paren_list)? {
            ParenList::Query(query) => Ok(ExprKind::InSubquery { operand, query, negated }),
            ParenList::Exprs(list) => Ok(ExprKind::InList { operand, list, negated }),
        }
    }

    /// What stands before any infix operator, and the level it has.
    fn prefix(&mut self, min: Level) -> R<(Expr<'a>, Level)> {
        let start = self.s.tok.start;
        let star_allowed = std::mem::take(&mut self.star_allowed);
        let op = match self.s.tok.kind {
            T::Minus => UnaryOp::Neg,
            T::Plus => UnaryOp::Plus,
            T::Tilde => UnaryOp::BitNot,
            T::Bang => UnaryOp::Not,
            T::Word if self.kw() == Kw::Not && self.has(SqlMode::HIGH_NOT_PRECEDENCE) => UnaryOp::Not,
            T::Word if self.kw() == Kw::Not => {
                if min > NOT {
                    return self.fail();
                }
                self.advance();
                let operand = self.operand(NOT)?;
                let kind = ExprKind::Unary { op: UnaryOp::Not, operand };
                return Ok((Expr { kind, span: self.span_from(start) }, NOT));
            }
            T::Word if self.kw() == Kw::Binary => UnaryOp::Binary,
            _ => return self.primary(start, star_allowed).map(|expr| (expr, PRIMARY)),
        };
        self.advance();
        let operand = self.operand(UNARY)?;
        let kind = ExprKind::Unary { op, operand };
        Ok((Expr { kind, span: self.span_from(start) }, UNARY))
    }

    /// A literal, name, call, or something in parentheses.
    #[inline]
    pub(super) fn primary(&mut self, start: u32, star_allowed: bool) -> R<Expr<'a>> {
        let kind = match self.s.tok.kind {
            T::Word => return self.word(start, star_allowed),
            T::Quoted => return self.name(start, star_allowed),
            T::Int | T::Decimal | T::Float | T::String => self.plain_literal(),
            T::National | T::Hex | T::HexNumber | T::Bit | T::BitNumber | T::Null => {
                let literal = self.other_literal();
                ExprKind::Literal(literal)
            }
            T::Param if self.mode.params => self.param(),
            T::LParen => match self.paren()? {
                Paren::Expr(expr) => return Ok(expr),
                Paren::Query(query) => ExprKind::Subquery(query),
            },
            T::Introducer => return self.introduced(start),
            T::UserVar => self.user_var()?,
            T::AtAt => ExprKind::SystemVar(self.system_var()?),
            T::LBrace => return self.odbc(start),
            // `.t.c`: a table of the current database.
            T::Dot => return self.name(start, star_allowed),
            _ => return self.fail(),
        };
        Ok(Expr { kind, span: self.span_from(start) })
    }

    /// The parameter at hand.
    pub(super) fn param(&mut self) -> ExprKind<'a> {
        let number = if self.mode.lift { self.s.tok_lifted } else { self.s.params };
        self.s.params += 1;
        self.advance();
        ExprKind::Param(number)
    }

    /// The literal at hand, lifted or not.
    #[inline]
    pub(super) fn plain_literal(&mut self) -> ExprKind<'a> {
        let text = self.s.tok.span().of(self.sql);
        let literal = match self.s.tok.kind {
            T::Int => text::int_value(text).map_or(Literal::Decimal(text), Literal::Int),
            T::Decimal => Literal::Decimal(text),
            T::Float => Literal::Float(text),
            _ => Literal::String(text::string_value(self.sql, &self.s.tok, 0, &self.s.lexer, self.arena)),
        };
        let no = self.s.tok_lifted;
        self.advance();
        if no == u32::MAX { ExprKind::Literal(literal) } else { ExprKind::Lifted { no, literal } }
    }

    fn other_literal(&mut self) -> Literal<'a> {
        let literal = match self.s.tok.kind {
            T::National => Literal::Introduced {
                charset: Ident::new(b"utf8"),
                value: text::string_value(self.sql, &self.s.tok, 1, &self.s.lexer, self.arena),
            },
            T::Hex | T::HexNumber => Literal::Hex(self.bytes_value()),
            T::Bit | T::BitNumber => Literal::Bit(self.bytes_value()),
            _ => Literal::Null,
        };
        self.advance();
        literal
    }

    /// `_charset` before a string; else it is a name.
    fn introduced(&mut self, start: u32) -> R<Expr<'a>> {
        let next = self.peek().kind;
        if !matches!(next, T::String | T::Hex | T::HexNumber | T::Bit | T::BitNumber) {
            return self.name(start, false);
        }
        let charset = Ident::new(&self.ident_text().name[1..]);
        self.advance();
        let value = self.text_or_bytes()?;
        let kind = ExprKind::Literal(Literal::Introduced { charset, value });
        Ok(Expr { kind, span: self.span_from(start) })
    }

    /// `{d '…'}`, `{t '…'}`, `{ts '…'}`, `{fn f()}`.
    fn odbc(&mut self, start: u32) -> R<Expr<'a>> {
        self.advance();
        let name = self.ident()?;
        let kind = ExprKind::OdbcEscape { name, value: self.expr_ref()? };
        self.expect(T::RBrace)?;
        Ok(Expr { kind, span: self.span_from(start) })
    }

    /// At `(`: an expression, a row, or a query. Which of them is only known after the innermost parentheses.
    pub(super) fn paren(&mut self) -> R<Paren<'a>> {
        let start = self.s.tok.start;
        match self.nested(Self::paren_list)? {
            ParenList::Query(query) => Ok(Paren::Query(query)),
            ParenList::Exprs(&[one]) => Ok(Paren::Expr(one)),
            ParenList::Exprs(list) => {
                Ok(Paren::Expr(Expr { kind: ExprKind::Row(list), span: self.span_from(start) }))
            }
        }
    }

    /// `( query )` or `( expr, … )`.
    fn paren_list(&mut self) -> R<ParenList<'a>> {
        self.expect(T::LParen)?;
        if self.at_query() {
            let query = self.query()?;
            self.expect(T::RParen)?;
            return Ok(ParenList::Query(query));
        }
        let start = self.s.tok.start;
        let first = if self.at(T::LParen) {
            match self.paren()? {
                Paren::Query(query) if self.at(T::RParen) => {
                    self.advance();
                    return Ok(ParenList::Query(query));
                }
                Paren::Query(query) if self.continues_query() => {
                    let query = self.query_after(query, start)?;
                    self.expect(T::RParen)?;
                    return Ok(ParenList::Query(query));
                }
                Paren::Query(query) => {
                    let left = Expr { kind: ExprKind::Subquery(query), span: self.span_from(start) };
                    self.climb(left, PRIMARY, ANY, start)?
                }
                Paren::Expr(left) => self.climb(left, PRIMARY, ANY, start)?,
            }
        } else {
            self.expr()?
        };
        let list = self.exprs_after(first)?;
        self.expect(T::RParen)?;
        Ok(ParenList::Exprs(list))
    }

    /// `, expr …` after the first.
    fn exprs_after(&mut self, first: Expr<'a>) -> R<&'a [Expr<'a>]> {
        let base = self.scratch.len();
        self.scratch.push(first);
        while self.eat(T::Comma) {
            let expr = self.expr()?;
            self.scratch.push(expr);
        }
        Ok(self.take_scratch(base))
    }

    /// Moves what was gathered since `base` into the arena.
    pub(super) fn take_scratch(&mut self, base: usize) -> &'a [Expr<'a>] {
        let list = self.arena.alloc_slice_copy(&self.scratch[base..]);
        self.scratch.truncate(base);
        list
    }

    /// `expr, …`.
    pub(super) fn expr_list(&mut self) -> R<&'a [Expr<'a>]> {
        let first = self.expr()?;
        self.exprs_after(first)
    }

    /// `( [expr, …] )`.
    pub(super) fn args(&mut self) -> R<&'a [Expr<'a>]> {
        self.expect(T::LParen)?;
        if self.eat(T::RParen) {
            return Ok(&[]);
        }
        let list = self.expr_list()?;
        self.expect(T::RParen)?;
        Ok(list)
    }

    /// `( query )`, in any number of parentheses.
    pub(super) fn subquery(&mut self) -> R<&'a Query<'a>> {
        if !self.at(T::LParen) {
            return self.fail();
        }
        match self.paren()? {
            Paren::Query(query) => Ok(query),
            Paren::Expr(_) => self.fail(),
        }
    }

    /// `CASE … END`.
    pub(super) fn case(&mut self, start: u32) -> R<Expr<'a>> {
        self.advance();
        let operand = if self.at_kw(Kw::When) { None } else { Some(self.expr_ref()?) };
        let mut branches = self.new_list();
        while self.eat_kw(Kw::When) {
            let when = self.expr()?;
            self.expect_kw(Kw::Then)?;
            branches.push(When { when, then: self.expr()? });
        }
        if branches.is_empty() {
            return self.fail();
        }
        let otherwise = if self.eat_kw(Kw::Else) { Some(self.expr_ref()?) } else { None };
        self.expect_kw(Kw::End)?;
        let case = self.alloc(Case { operand, branches: branches.into_bump_slice(), otherwise });
        Ok(Expr { kind: ExprKind::Case(case), span: self.span_from(start) })
    }

    /// A collation's name; `binary` is a word of the grammar.
    pub(super) fn collation_name(&mut self) -> R<Ident<'a>> {
        self.charset_name()
    }

    pub(super) fn charset_name(&mut self) -> R<Ident<'a>> {
        if self.at_kw(Kw::Binary) {
            let name = self.ident_text();
            self.advance();
            return Ok(name);
        }
        self.ident_or_text()
    }
}

/// `( query )` or `( expr, … )`.
enum ParenList<'a> {
    Exprs(&'a [Expr<'a>]),
    Query(&'a Query<'a>),
}

/// The operands joined by `op`, in order, as a tree of least height.
fn balanced<'a>(arena: &'a bumpalo::Bump, op: BinaryOp, operands: &[Expr<'a>], span: Span) -> Expr<'a> {
    if let [one] = operands {
        return *one;
    }
    // Short chains lean left, as they are written.
    let middle = if operands.len() <= 4 { operands.len() - 1 } else { operands.len().div_ceil(2) };
    let (left, right) = operands.split_at(middle);
    let part = |list: &[Expr<'a>], whole: Span| match (list.first(), list.last()) {
        (Some(first), Some(last)) => Span { start: first.span.start, end: last.span.end },
        _ => whole,
    };
    let left = balanced(arena, op, left, part(left, span));
    let right = balanced(arena, op, right, part(right, span));
    Expr { kind: ExprKind::Binary { op, left: arena.alloc(left), right: arena.alloc(right) }, span }
}
