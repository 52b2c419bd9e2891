//! SELECT, UNION and their clauses.

use super::expr::Paren;
use super::{Parser, R};
use crate::ast::{
    CommonTable, Expr, ExprKind, FileFormat, Ident, IntoClause, IntoVar, Limit, LockStrength, LockWait,
    Locking, NamedWindow, OrderItem, Query, QueryBody, Select, SelectItem, SelectOptions, SetOp,
    SetOperation, With,
};
use crate::error::ParseErrorKind;
use crate::keyword::Kw;
use crate::token::T;

/// Clauses after a query's rows.
#[derive(Debug, Clone, Copy, Default)]
struct Tail<'a> {
    order_by: &'a [OrderItem<'a>],
    limit: Option<&'a Limit<'a>>,
    locking: &'a [Locking<'a>],
    procedure: Option<&'a [Expr<'a>]>,
    into: Option<&'a IntoClause<'a>>,
}

impl<'a> Parser<'a> {
    /// Whether a query begins here (without parentheses).
    pub(super) fn at_query(&self) -> bool {
        match self.kw() {
            Kw::Select | Kw::With => true,
            Kw::Values => self.peek().kw == Kw::Row,
            Kw::Table => true,
            _ => false,
        }
    }

    /// Whether what follows a query in parentheses makes it part of a larger one.
    pub(super) fn continues_query(&self) -> bool {
        matches!(self.kw(), Kw::Union | Kw::Order | Kw::Limit | Kw::Into | Kw::For | Kw::Lock)
            || self.set_op().is_some()
    }

    /// The set operator here. INTERSECT and EXCEPT are names unless an operand follows.
    pub(super) fn set_op(&self) -> Option<SetOp> {
        let op = match self.kw() {
            Kw::Union => return Some(SetOp::Union),
            Kw::Intersect => SetOp::Intersect,
            Kw::Except => SetOp::Except,
            _ => return None,
        };
        let next = self.peek();
        let operand = matches!(next.kw, Kw::Select | Kw::All | Kw::Distinct | Kw::Values | Kw::Table);
        (operand || next.kind == T::LParen).then_some(op)
    }

    /// A query expression.
    pub(super) fn query(&mut self) -> R<&'a Query<'a>> {
        let start = self.s.tok.start;
        self.nested(|parser| {
            let with = if parser.at_kw(Kw::With) { Some(parser.with()?) } else { None };
            let (body, into) = parser.query_term()?;
            parser.rest_of_query(with, body, into, start)
        })
    }

    /// A query expression whose first part, in parentheses from `start`, has been read.
    pub(super) fn query_after(&mut self, first: &'a Query<'a>, start: u32) -> R<&'a Query<'a>> {
        self.rest_of_query(None, QueryBody::Nested(first), None, start)
    }

    /// A query in parentheses with what may follow it, at the start of a statement.
    pub(super) fn query_in_parens(&mut self) -> R<&'a Query<'a>> {
        let start = self.s.tok.start;
        let Paren::Query(query) = self.paren()? else { return self.fail() };
        if self.continues_query() { self.query_after(query, start) } else { Ok(query) }
    }

    fn rest_of_query(
        &mut self,
        with: Option<&'a With<'a>>,
        mut body: QueryBody<'a>,
        mut into: Option<&'a IntoClause<'a>>,
        start: u32,
    ) -> R<&'a Query<'a>> {
        let mut tail = self.tail()?;
        while let Some(op) = self.set_op() {
            self.count_join()?;
            if op != SetOp::Union && (tail.limit.is_some() || !tail.order_by.is_empty()) {
                return self.fail();
            }
            body = self.left_of_union(body, tail, into, start)?;
            self.advance();
            let all = self.eat_kw(Kw::All);
            if !all {
                self.eat_kw(Kw::Distinct);
            }
            let (right, right_into) = self.query_term()?;
            body = self.set_operation(op, all, body, right);
            into = right_into;
            tail = self.tail()?;
        }
        let query = Query {
            with,
            body,
            order_by: tail.order_by,
            limit: tail.limit,
            locking: tail.locking,
            procedure: tail.procedure,
            into: tail.into.or(into),
            span: self.span_from(start),
        };
        Ok(self.alloc(query))
    }

    /// `left op right`, where INTERSECT takes the last operand of what stands before it.
    fn set_operation(
        &self,
        op: SetOp,
        all: bool,
        left: QueryBody<'a>,
        right: QueryBody<'a>,
    ) -> QueryBody<'a> {
        let operation = match left {
            QueryBody::SetOperation(&before) if op == SetOp::Intersect && before.op != SetOp::Intersect => {
                SetOperation { right: self.set_operation(op, all, before.right, right), ..before }
            }
            _ => SetOperation { op, all, left, right },
        };
        QueryBody::SetOperation(self.alloc(operation))
    }

    /// Clauses before UNION: LIMIT belongs to the SELECT before it, others must stand in parentheses.
    fn left_of_union(
        &mut self,
        body: QueryBody<'a>,
        tail: Tail<'a>,
        into: Option<&'a IntoClause<'a>>,
        start: u32,
    ) -> R<QueryBody<'a>> {
        if tail.into.or(into).is_some() {
            return self.fail_as(ParseErrorKind::WrongUsage("UNION", "INTO"));
        }
        if !tail.order_by.is_empty() {
            return self.fail_as(ParseErrorKind::WrongUsage("UNION", "ORDER BY"));
        }
        if tail.limit.is_none() && tail.locking.is_empty() {
            return Ok(body);
        }
        let query = Query {
            with: None,
            body,
            order_by: &[],
            limit: tail.limit,
            locking: tail.locking,
            procedure: None,
            into: None,
            span: self.span_from(start),
        };
        Ok(QueryBody::Nested(self.alloc(query)))
    }

    /// One operand of UNION, and an INTO inside of it.
    fn query_term(&mut self) -> R<(QueryBody<'a>, Option<&'a IntoClause<'a>>)> {
        match self.kw() {
            Kw::Select => self.select(),
            Kw::Values => {
                self.advance();
                let rows = self.comma_list(|parser| {
                    parser.expect_kw(Kw::Row)?;
                    parser.args()
                })?;
                Ok((QueryBody::Values(rows), None))
            }
            Kw::Table => {
                self.advance();
                Ok((QueryBody::Table(self.object_name()?), None))
            }
            _ if self.at(T::LParen) => match self.paren()? {
                Paren::Query(query) => Ok((QueryBody::Nested(query), None)),
                Paren::Expr(_) => self.fail(),
            },
            _ => self.fail(),
        }
    }

    pub(super) fn with(&mut self) -> R<&'a With<'a>> {
        self.expect_kw(Kw::With)?;
        let recursive = self.eat_kw(Kw::Recursive);
        let tables = self.comma_list(|parser| {
            let name = parser.ident()?;
            let columns = if parser.at(T::LParen) { parser.ident_list_in_parens()? } else { &[] };
            parser.expect_kw(Kw::As)?;
            Ok(CommonTable { name, columns, query: parser.subquery()? })
        })?;
        Ok(self.alloc(With { recursive, tables }))
    }

    fn select(&mut self) -> R<(QueryBody<'a>, Option<&'a IntoClause<'a>>)> {
        let start = self.s.tok.start;
        self.expect_kw(Kw::Select)?;
        let hints = self.hints();
        let options = self.select_options();
        let items = self.comma_list(Self::select_item)?;
        let into = if self.at_kw(Kw::Into) { Some(self.select_into()?) } else { None };
        let mut select = Select { hints, options, ..Select::of_items(items) };
        if self.eat_kw(Kw::From) {
            select.from_dual = self.eat_kw(Kw::Dual);
            if !select.from_dual {
                select.from = self.table_refs()?;
            }
        }
        self.select_clauses(&mut select)?;
        select.span = self.span_from(start);
        Ok((QueryBody::Select(self.alloc(select)), into))
    }

    /// WHERE to WINDOW. 5.6 wants FROM before them, later versions do not.
    fn select_clauses(&mut self, select: &mut Select<'a>) -> R<()> {
        if self.eat_kw(Kw::Where) {
            select.filter = Some(self.expr_ref()?);
        }
        if self.eat_kw(Kw::Group) {
            self.expect_kw(Kw::By)?;
            select.group_by = self.order_items()?;
            if self.at_kw(Kw::With) && matches!(self.peek().kw, Kw::Rollup | Kw::Cube) {
                self.advance();
                self.expect_kw(Kw::Rollup)?;
                select.rollup = true;
            }
        }
        if self.eat_kw(Kw::Having) {
            select.having = Some(self.expr_ref()?);
        }
        if self.at_kw(Kw::Window) {
            self.advance();
            select.windows = self.comma_list(|parser| {
                let name = parser.ident()?;
                parser.expect_kw(Kw::As)?;
                Ok(NamedWindow { name, spec: parser.window_spec()? })
            })?;
        }
        Ok(())
    }

    fn select_options(&mut self) -> SelectOptions {
        let mut options = SelectOptions::default();
        loop {
            let option = match self.kw() {
                Kw::Distinct | Kw::Distinctrow => &mut options.distinct,
                Kw::All => &mut options.all,
                Kw::HighPriority => &mut options.high_priority,
                Kw::StraightJoin => &mut options.straight_join,
                Kw::SqlSmallResult => &mut options.sql_small_result,
                Kw::SqlBigResult => &mut options.sql_big_result,
                Kw::SqlBufferResult => &mut options.sql_buffer_result,
                Kw::SqlCalcFoundRows => &mut options.sql_calc_found_rows,
                // These two are no reserved words: a column may have their name.
                Kw::SqlCache if self.option_not_column() => &mut options.sql_cache,
                Kw::SqlNoCache if self.option_not_column() => &mut options.sql_no_cache,
                _ => return options,
            };
            *option = true;
            self.advance();
        }
    }

    fn option_not_column(&self) -> bool {
        !matches!(self.peek().kind, T::Comma | T::Dot | T::Eof | T::Semi | T::RParen)
    }

    fn select_item(&mut self) -> R<SelectItem<'a>> {
        if self.at(T::Star) {
            self.advance();
            return Ok(SelectItem::Wildcard);
        }
        let start = self.s.tok.start;
        self.star_allowed = true;
        let expr = self.expr()?;
        self.star_allowed = false;
        if let Some(table) = self.star.take() {
            if !matches!(expr.kind, ExprKind::Default) {
                return self.fail();
            }
            return Ok(SelectItem::TableWildcard(table));
        }
        let span = self.span_from(start);
        let alias = self.select_alias()?;
        Ok(SelectItem::Expr { expr, alias, span })
    }

    /// `[AS] name`, `[AS] 'name'`, or nothing.
    fn select_alias(&mut self) -> R<Option<Ident<'a>>> {
        if self.eat_kw(Kw::As) {
            return self.ident_or_text().map(Some);
        }
        match self.s.tok.kind {
            T::Comma => Ok(None),
            T::String => self.text().map(|text| Some(Ident::new(text))),
            T::Word | T::Quoted if self.at_ident() => self.ident().map(Some),
            _ => Ok(None),
        }
    }

    // After the rows.

    fn tail(&mut self) -> R<Tail<'a>> {
        let mut tail = Tail::default();
        if matches!(self.s.tok.kind, T::Eof | T::RParen) {
            return Ok(tail);
        }
        if self.eat_kw(Kw::Order) {
            self.expect_kw(Kw::By)?;
            tail.order_by = self.order_items()?;
        }
        tail.limit = self.limit()?;
        if self.at_kw(Kw::Procedure) {
            self.advance();
            self.ident()?;
            tail.procedure = Some(self.args()?);
        }
        let mut locking = self.new_list();
        loop {
            match self.kw() {
                Kw::Into => tail.into = Some(self.select_into()?),
                Kw::For => {
                    self.advance();
                    locking.push(self.for_clause()?);
                }
                Kw::Lock => {
                    self.advance();
                    self.expect_kw(Kw::In)?;
                    self.expect_kw(Kw::Share)?;
                    self.expect_kw(Kw::Mode)?;
                    locking.push(Locking { strength: LockStrength::Share, of: &[], wait: LockWait::Wait });
                }
                _ => break,
            }
        }
        if !locking.is_empty() {
            tail.locking = locking.into_bump_slice();
        }
        Ok(tail)
    }

    /// `UPDATE | SHARE [OF …] [NOWAIT | SKIP LOCKED]`.
    fn for_clause(&mut self) -> R<Locking<'a>> {
        let strength = match self.kw() {
            Kw::Update => LockStrength::Update,
            Kw::Share => LockStrength::Share,
            _ => return self.fail(),
        };
        self.advance();
        let of = if self.eat_kw(Kw::Of) { self.object_name_list()? } else { &[] };
        let wait = if self.eat_kw(Kw::Nowait) {
            LockWait::NoWait
        } else if self.eat_kws(Kw::Skip, Kw::Locked) {
            LockWait::SkipLocked
        } else {
            LockWait::Wait
        };
        Ok(Locking { strength, of, wait })
    }

    /// `LIMIT …` or nothing.
    pub(super) fn limit(&mut self) -> R<Option<&'a Limit<'a>>> {
        if !self.eat_kw(Kw::Limit) {
            return Ok(None);
        }
        let first = self.limit_value()?;
        let limit = if self.eat(T::Comma) {
            Limit { count: self.limit_value()?, offset: Some(first) }
        } else if self.eat_kw(Kw::Offset) {
            Limit { count: first, offset: Some(self.limit_value()?) }
        } else {
            Limit { count: first, offset: None }
        };
        Ok(Some(self.alloc(limit)))
    }

    /// A number, a parameter, or a variable of a stored program.
    fn limit_value(&mut self) -> R<Expr<'a>> {
        let start = self.s.tok.start;
        let kind = match self.s.tok.kind {
            T::Int => self.plain_literal(),
            T::HexNumber => {
                let number = self.number()?;
                ExprKind::Literal(crate::ast::Literal::Int(number))
            }
            T::Param if self.mode.params => self.param(),
            T::Word | T::Quoted if self.at_ident() => return self.name(start, false),
            _ => return self.fail(),
        };
        Ok(Expr { kind, span: self.span_from(start) })
    }

    fn select_into(&mut self) -> R<&'a IntoClause<'a>> {
        self.expect_kw(Kw::Into)?;
        let clause = match self.kw() {
            Kw::Outfile => {
                self.advance();
                let file = self.text()?;
                let charset = self.file_charset()?;
                IntoClause::OutFile { file, charset, format: self.file_format()? }
            }
            Kw::Dumpfile => {
                self.advance();
                IntoClause::DumpFile(self.text()?)
            }
            _ => IntoClause::Vars(self.comma_list(|parser| {
                if parser.at(T::UserVar) {
                    return Ok(IntoVar::User(parser.user_var_name()));
                }
                let name = parser.ident()?;
                if parser.row_columns.is_some() && (name.is("new") || name.is("old")) && parser.eat(T::Dot) {
                    // A column of the row of a trigger is no variable.
                    parser.ident()?;
                    return Ok(IntoVar::Unknown(name));
                }
                Ok(parser.local(name).map_or(IntoVar::Unknown(name), IntoVar::Local))
            })?),
        };
        Ok(self.alloc(clause))
    }

    /// `CHARACTER SET cs` of a file.
    pub(super) fn file_charset(&mut self) -> R<Option<Ident<'a>>> {
        if !matches!(self.kw(), Kw::Charset | Kw::Character | Kw::Char) {
            return Ok(None);
        }
        self.charset_words()?;
        self.charset_name().map(Some)
    }

    /// `[FIELDS | COLUMNS …] [LINES …]`.
    pub(super) fn file_format(&mut self) -> R<FileFormat<'a>> {
        let mut format = FileFormat::default();
        if matches!(self.kw(), Kw::Fields | Kw::Columns) {
            self.advance();
            if !matches!(self.kw(), Kw::Terminated | Kw::Optionally | Kw::Enclosed | Kw::Escaped) {
                return self.fail();
            }
            loop {
                match self.kw() {
                    Kw::Terminated => format.fields_terminated = Some(self.word_by_text()?),
                    Kw::Optionally => {
                        self.advance();
                        format.optionally_enclosed = true;
                        format.fields_enclosed = Some(self.word_by_text()?);
                    }
                    Kw::Enclosed => format.fields_enclosed = Some(self.word_by_text()?),
                    Kw::Escaped => format.fields_escaped = Some(self.word_by_text()?),
                    _ => break,
                }
            }
        }
        if self.eat_kw(Kw::Lines) {
            if !matches!(self.kw(), Kw::Terminated | Kw::Starting) {
                return self.fail();
            }
            loop {
                match self.kw() {
                    Kw::Terminated => format.lines_terminated = Some(self.word_by_text()?),
                    Kw::Starting => format.lines_starting = Some(self.word_by_text()?),
                    _ => break,
                }
            }
        }
        Ok(format)
    }

    /// `WORD BY 'text'`.
    fn word_by_text(&mut self) -> R<&'a [u8]> {
        self.advance();
        self.expect_kw(Kw::By)?;
        self.text_or_bytes()
    }
}
