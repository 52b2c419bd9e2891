//! INSERT, REPLACE, UPDATE, DELETE, LOAD DATA, HANDLER, DO, CALL.

use super::{Parser, R};
use crate::ast::{
    Assignment, BinaryOp, CallProcedure, ColumnRef, Delete, Expr, Handler, HandlerPosition, Insert,
    InsertSource, LoadData, LoadDuplicates, LoadTarget, ObjectName, Priority, RowAlias, Stmt, Update, With,
};
use crate::keyword::Kw;
use crate::token::T;

impl<'a> Parser<'a> {
    /// INSERT and REPLACE.
    pub(super) fn insert(&mut self) -> R<Stmt<'a>> {
        let replace = self.at_kw(Kw::Replace);
        self.advance();
        let hints = self.hints();
        let priority = self.priority();
        let ignore = !replace && self.eat_kw(Kw::Ignore);
        self.eat_kw(Kw::Into);
        let table = self.object_name()?;
        let partitions = self.partition_names()?;
        let mut insert = Insert {
            hints,
            replace,
            priority,
            ignore,
            table,
            partitions,
            columns: None,
            source: InsertSource::Values(&[]),
            row_alias: None,
            on_duplicate: &[],
        };
        if self.at_kw(Kw::Set) {
            self.insert_set(&mut insert)?;
        } else {
            if self.at(T::LParen) && !self.opens_query() {
                insert.columns = Some(self.insert_columns()?);
            }
            insert.source = self.insert_source()?;
        }
        if matches!(insert.source, InsertSource::Values(_)) && self.eat_kw(Kw::As) {
            let name = self.ident()?;
            let columns = if self.at(T::LParen) { self.ident_list_in_parens()? } else { &[] };
            insert.row_alias = Some(RowAlias { name, columns });
        }
        if !replace && self.eat_kw(Kw::On) {
            self.expect_kw(Kw::Duplicate)?;
            self.expect_kw(Kw::Key)?;
            self.expect_kw(Kw::Update)?;
            insert.on_duplicate = self.assignments()?;
        }
        Ok(Stmt::Insert(self.alloc(insert)))
    }

    fn priority(&mut self) -> Priority {
        let priority = match self.kw() {
            Kw::LowPriority => Priority::Low,
            Kw::HighPriority => Priority::High,
            Kw::Delayed => Priority::Delayed,
            _ => return Priority::Normal,
        };
        self.advance();
        priority
    }

    /// A parenthesis here begins a query, not a list of columns.
    fn opens_query(&self) -> bool {
        let mut lexer = self.s.lexer;
        let mut token = lexer.next();
        while token.kind == T::LParen {
            token = lexer.next();
        }
        matches!(token.kw, Kw::Select | Kw::With | Kw::Table)
    }

    fn insert_columns(&mut self) -> R<&'a [ColumnRef<'a>]> {
        self.expect(T::LParen)?;
        if self.eat(T::RParen) {
            return Ok(&[]);
        }
        let columns = self.comma_list(Self::column_ref)?;
        self.expect(T::RParen)?;
        Ok(columns)
    }

    fn insert_set(&mut self, insert: &mut Insert<'a>) -> R<()> {
        self.expect_kw(Kw::Set)?;
        let assignments = self.assignments()?;
        insert.columns = Some(self.arena.alloc_slice_fill_iter(assignments.iter().map(|item| item.column)));
        let row: &'a [Expr<'a>] = self.arena.alloc_slice_fill_iter(assignments.iter().map(|item| item.value));
        insert.source = InsertSource::Values(self.arena.alloc_slice_copy(&[row]));
        Ok(())
    }

    fn insert_source(&mut self) -> R<InsertSource<'a>> {
        if matches!(self.kw(), Kw::Values | Kw::Value) {
            if self.peek().kw == Kw::Row {
                return self.query().map(InsertSource::Query);
            }
            self.advance();
            return self.rows().map(InsertSource::Values);
        }
        if self.at(T::LParen) {
            return self.query_in_parens().map(InsertSource::Query);
        }
        if self.at_query() {
            return self.query().map(InsertSource::Query);
        }
        self.fail()
    }

    /// `(…), (…)`.
    fn rows(&mut self) -> R<&'a [&'a [Expr<'a>]]> {
        let first = self.row()?;
        if !self.at(T::Comma) {
            return Ok(self.arena.alloc_slice_copy(&[first]));
        }
        let mut rows = Vec::with_capacity(64);
        rows.push(first);
        while self.eat(T::Comma) {
            let row = self.row()?;
            rows.push(row);
        }
        Ok(self.arena.alloc_slice_copy(&rows))
    }

    /// One row; literals, which most values are, take a short way.
    fn row(&mut self) -> R<&'a [Expr<'a>]> {
        self.expect(T::LParen)?;
        if self.eat(T::RParen) {
            return Ok(&[]);
        }
        let base = self.scratch.len();
        loop {
            let value = match self.s.tok.kind {
                T::Int | T::String | T::Decimal | T::Float => self.row_literal()?,
                _ => self.expr_or_default()?,
            };
            self.scratch.push(value);
            if !self.eat(T::Comma) {
                break;
            }
        }
        self.expect(T::RParen)?;
        Ok(self.take_scratch(base))
    }

    /// A literal, alone or at the start of an expression.
    #[inline]
    fn row_literal(&mut self) -> R<Expr<'a>> {
        let start = self.s.tok.start;
        let kind = self.plain_literal();
        let literal = Expr { kind, span: self.span_from(start) };
        if matches!(self.s.tok.kind, T::Comma | T::RParen) {
            return Ok(literal);
        }
        self.peak = 0;
        self.climb(literal, super::expr::PRIMARY, 0, start)
    }

    /// `column = value, …`.
    pub(super) fn assignments(&mut self) -> R<&'a [Assignment<'a>]> {
        self.comma_list(|parser| {
            let column = parser.column_ref()?;
            if !parser.eat(T::Assign) {
                parser.expect(T::Eq)?;
            }
            Ok(Assignment { column, value: parser.expr_or_default()? })
        })
    }

    pub(super) fn update(&mut self, with: Option<&'a With<'a>>) -> R<Stmt<'a>> {
        self.expect_kw(Kw::Update)?;
        let hints = self.hints();
        let low_priority = self.eat_kw(Kw::LowPriority);
        let ignore = self.eat_kw(Kw::Ignore);
        let tables = self.table_refs()?;
        self.expect_kw(Kw::Set)?;
        let assignments = self.assignments()?;
        let (filter, order_by, limit) = self.row_clauses()?;
        let update =
            Update { hints, with, low_priority, ignore, tables, assignments, filter, order_by, limit };
        Ok(Stmt::Update(self.alloc(update)))
    }

    /// `[WHERE] [ORDER BY] [LIMIT n]`.
    fn row_clauses(
        &mut self,
    ) -> R<(Option<&'a Expr<'a>>, &'a [crate::ast::OrderItem<'a>], Option<&'a crate::ast::Limit<'a>>)> {
        let filter = if self.eat_kw(Kw::Where) { Some(self.expr_ref()?) } else { None };
        let order_by = if self.eat_kw(Kw::Order) {
            self.expect_kw(Kw::By)?;
            self.order_items()?
        } else {
            &[]
        };
        let limit = self.limit()?;
        if limit.is_some_and(|limit| limit.offset.is_some()) {
            return self.fail();
        }
        Ok((filter, order_by, limit))
    }

    pub(super) fn delete(&mut self, with: Option<&'a With<'a>>) -> R<Stmt<'a>> {
        self.expect_kw(Kw::Delete)?;
        let mut delete = Delete {
            hints: self.hints(),
            with,
            low_priority: false,
            quick: false,
            ignore: false,
            targets: &[],
            from: &[],
            filter: None,
            order_by: &[],
            limit: None,
        };
        loop {
            let option = match self.kw() {
                Kw::LowPriority => &mut delete.low_priority,
                Kw::Quick => &mut delete.quick,
                Kw::Ignore => &mut delete.ignore,
                _ => break,
            };
            *option = true;
            self.advance();
        }
        if self.eat_kw(Kw::From) {
            self.delete_from(&mut delete)?;
        } else {
            delete.targets = self.comma_list(Self::delete_target)?;
            self.expect_kw(Kw::From)?;
            delete.from = self.table_refs()?;
            delete.filter = self.filter()?;
        }
        Ok(Stmt::Delete(self.alloc(delete)))
    }

    /// After DELETE FROM: one table, or `a, b USING …`.
    fn delete_from(&mut self, delete: &mut Delete<'a>) -> R<()> {
        let bookmark = self.s;
        let targets = self.comma_list(Self::delete_target)?;
        if self.eat_kw(Kw::Using) {
            delete.targets = targets;
            delete.from = self.table_refs()?;
            delete.filter = self.filter()?;
            return Ok(());
        }
        self.s = bookmark;
        let table = self.named_table()?;
        delete.from = self.arena.alloc_slice_copy(&[table]);
        (delete.filter, delete.order_by, delete.limit) = self.row_clauses()?;
        Ok(())
    }

    fn filter(&mut self) -> R<Option<&'a Expr<'a>>> {
        if self.eat_kw(Kw::Where) { self.expr_ref().map(Some) } else { Ok(None) }
    }

    /// `[d.]t[.*]`.
    fn delete_target(&mut self) -> R<ObjectName<'a>> {
        let first = self.ident()?;
        if !self.eat(T::Dot) {
            return Ok(ObjectName { schema: None, name: first });
        }
        if self.eat(T::Star) {
            return Ok(ObjectName { schema: None, name: first });
        }
        let name = self.ident()?;
        if self.eat(T::Dot) {
            self.expect(T::Star)?;
        }
        Ok(ObjectName { schema: Some(first), name })
    }

    /// LOAD DATA and LOAD XML.
    pub(super) fn load(&mut self) -> R<Stmt<'a>> {
        self.expect_kw(Kw::Load)?;
        let xml = self.at_kw(Kw::Xml);
        if !xml && !self.at_kw(Kw::Data) {
            return self.fail();
        }
        self.advance();
        let priority = match self.kw() {
            Kw::LowPriority => Priority::Low,
            Kw::Concurrent => Priority::High,
            _ => Priority::Normal,
        };
        if priority != Priority::Normal {
            self.advance();
        }
        let local = self.eat_kw(Kw::Local);
        self.expect_kw(Kw::Infile)?;
        let file = self.text()?;
        let duplicates = match self.kw() {
            Kw::Replace => LoadDuplicates::Replace,
            Kw::Ignore => LoadDuplicates::Ignore,
            _ => LoadDuplicates::Unspecified,
        };
        if duplicates != LoadDuplicates::Unspecified {
            self.advance();
        }
        self.expect_kw(Kw::Into)?;
        self.expect_kw(Kw::Table)?;
        let table = self.object_name()?;
        let partitions = self.partition_names()?;
        let charset = self.file_charset()?;
        let mut rows_identified = None;
        if xml && self.eat_kw(Kw::Rows) {
            self.expect_kw(Kw::Identified)?;
            self.expect_kw(Kw::By)?;
            rows_identified = Some(self.text_or_bytes()?);
        }
        let format = self.file_format()?;
        let mut ignore_lines = 0;
        if self.eat_kw(Kw::Ignore) {
            ignore_lines = self.number()?;
            if !self.eat_kw(Kw::Lines) {
                self.expect_kw(Kw::Rows)?;
            }
        }
        let mut targets: &'a [LoadTarget<'a>] = &[];
        if self.eat(T::LParen) {
            if !self.at(T::RParen) {
                targets = self.comma_list(Self::load_target)?;
            }
            self.expect(T::RParen)?;
        }
        let assignments = if self.eat_kw(Kw::Set) { self.assignments()? } else { &[] };
        Ok(Stmt::LoadData(self.alloc(LoadData {
            xml,
            priority,
            local,
            file,
            duplicates,
            table,
            partitions,
            charset,
            rows_identified,
            format,
            ignore_lines,
            targets,
            assignments,
        })))
    }

    fn load_target(&mut self) -> R<LoadTarget<'a>> {
        if self.at(T::UserVar) {
            return Ok(LoadTarget::Var(self.user_var_name()));
        }
        self.column_ref().map(LoadTarget::Column)
    }

    pub(super) fn do_statement(&mut self) -> R<Stmt<'a>> {
        self.expect_kw(Kw::Do)?;
        self.expr_list().map(Stmt::Do)
    }

    pub(super) fn call_statement(&mut self) -> R<Stmt<'a>> {
        self.expect_kw(Kw::Call)?;
        let name = self.object_name()?;
        let args = if self.at(T::LParen) { self.args()? } else { &[] };
        Ok(Stmt::Call(self.alloc(CallProcedure { name, args })))
    }

    pub(super) fn handler(&mut self) -> R<Stmt<'a>> {
        self.expect_kw(Kw::Handler)?;
        let table = self.object_name()?;
        let handler = match self.kw() {
            Kw::Open => {
                self.advance();
                Handler::Open { table, alias: self.table_alias()? }
            }
            Kw::Close => {
                self.advance();
                Handler::Close(table)
            }
            Kw::Read => {
                self.advance();
                self.handler_read(table)?
            }
            _ => return self.fail(),
        };
        Ok(Stmt::Handler(self.alloc(handler)))
    }

    fn handler_read(&mut self, table: ObjectName<'a>) -> R<Handler<'a>> {
        let scan = matches!(self.kw(), Kw::First | Kw::Next)
            && !matches!(self.peek().kind, T::Eq | T::Lt | T::Le | T::Gt | T::Ge)
            && !matches!(self.peek().kw, Kw::First | Kw::Next | Kw::Prev | Kw::Last);
        let mut index = None;
        if !scan {
            if self.at_kw(Kw::Primary) {
                index = Some(self.ident_text());
                self.advance();
            } else {
                index = Some(self.ident()?);
            }
        }
        let position = match (self.kw(), self.s.tok.kind) {
            (Kw::First, _) => HandlerPosition::First,
            (Kw::Next, _) => HandlerPosition::Next,
            (Kw::Prev, _) => HandlerPosition::Prev,
            (Kw::Last, _) => HandlerPosition::Last,
            (_, kind) => {
                let op = match kind {
                    T::Eq => BinaryOp::Eq,
                    T::Le => BinaryOp::Le,
                    T::Lt => BinaryOp::Lt,
                    T::Ge => BinaryOp::Ge,
                    T::Gt => BinaryOp::Gt,
                    _ => return self.fail(),
                };
                self.advance();
                HandlerPosition::Key(op, self.handler_key()?)
            }
        };
        if !matches!(position, HandlerPosition::Key(..)) {
            self.advance();
        }
        let filter = self.filter()?;
        Ok(Handler::Read { table, index, position, filter, limit: self.limit()? })
    }

    /// `( value, … )`, with DEFAULT allowed as in rows.
    fn handler_key(&mut self) -> R<&'a [Expr<'a>]> {
        let key = self.row()?;
        if key.is_empty() { self.fail() } else { Ok(key) }
    }
}
