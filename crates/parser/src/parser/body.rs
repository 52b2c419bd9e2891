//! Bodies of stored programs.

use super::{Parser, R};
use crate::ast::{
    Block, Branches, ConditionValue, Declaration, Ident, Loop, LoopEnd, ProgramStmt, SetInBody, Span, Stmt,
};
use crate::keyword::Kw;
use crate::token::T;

impl<'a> Parser<'a> {
    /// The body of a program.
    pub(super) fn program_body(&mut self) -> R<&'a ProgramStmt<'a>> {
        if self.at_end() {
            return self.fail();
        }
        let body = self.program_stmt()?;
        Ok(self.alloc(body))
    }

    /// A statement of a body, without the semicolon behind it.
    fn program_stmt(&mut self) -> R<ProgramStmt<'a>> {
        self.nested(Self::program_stmt_here)
    }

    fn program_stmt_here(&mut self) -> R<ProgramStmt<'a>> {
        if self.at_ident() && self.peek().kind == T::Colon {
            let label = self.ident()?;
            self.advance();
            return self.labelled(Some(label));
        }
        match self.kw() {
            Kw::Begin | Kw::Loop | Kw::While | Kw::Repeat => self.labelled(None),
            Kw::If => {
                self.advance();
                let branches = self.if_branches()?;
                Ok(ProgramStmt::If(branches))
            }
            Kw::Case => self.case_statement(),
            Kw::Leave => {
                self.advance();
                self.ident().map(ProgramStmt::Leave)
            }
            Kw::Iterate => {
                self.advance();
                self.ident().map(ProgramStmt::Iterate)
            }
            Kw::Return => {
                self.advance();
                self.span_of_expr().map(ProgramStmt::Return)
            }
            Kw::Open => {
                self.advance();
                self.ident().map(ProgramStmt::Open)
            }
            Kw::Close => {
                self.advance();
                self.ident().map(ProgramStmt::Close)
            }
            Kw::Fetch => self.fetch(),
            Kw::Set => self.set_in_body(),
            _ => self.sql_in_body(),
        }
    }

    fn sql_in_body(&mut self) -> R<ProgramStmt<'a>> {
        let start = self.s.tok.start;
        let stmt = self.any_statement()?;
        if !self.at_end() {
            return self.fail();
        }
        Ok(ProgramStmt::Sql(stmt, self.span_from(start)))
    }

    /// An expression, by its place.
    fn span_of_expr(&mut self) -> R<Span> {
        let start = self.s.tok.start;
        self.expr()?;
        Ok(self.span_from(start))
    }

    /// Statements, each with its semicolon, up to what is none.
    fn program_stmts(&mut self, ends: &[Kw]) -> R<&'a [ProgramStmt<'a>]> {
        let mut list = self.new_list();
        while !ends.contains(&self.kw()) {
            list.push(self.program_stmt()?);
            self.expect(T::Semi)?;
        }
        Ok(list.into_bump_slice())
    }

    /// The same, at least one.
    fn some_stmts(&mut self, ends: &[Kw]) -> R<&'a [ProgramStmt<'a>]> {
        if ends.contains(&self.kw()) {
            return self.fail();
        }
        self.program_stmts(ends)
    }

    fn labelled(&mut self, label: Option<Ident<'a>>) -> R<ProgramStmt<'a>> {
        let kw = self.kw();
        self.advance();
        let (until, body) = match kw {
            Kw::Begin => return self.block(label),
            Kw::Loop => {
                let body = self.some_stmts(&[Kw::End])?;
                self.end_of(Kw::Loop)?;
                (LoopEnd::Never, body)
            }
            Kw::While => {
                let condition = self.span_of_expr()?;
                self.expect_kw(Kw::Do)?;
                let body = self.some_stmts(&[Kw::End])?;
                self.end_of(Kw::While)?;
                (LoopEnd::While(condition), body)
            }
            Kw::Repeat => {
                let body = self.some_stmts(&[Kw::Until])?;
                self.expect_kw(Kw::Until)?;
                let condition = self.span_of_expr()?;
                self.end_of(Kw::Repeat)?;
                (LoopEnd::Until(condition), body)
            }
            _ => return self.fail(),
        };
        let end_label = self.end_label(label)?;
        Ok(ProgramStmt::Loop(self.alloc(Loop { label, end_label, until, body })))
    }

    fn end_of(&mut self, what: Kw) -> R<()> {
        self.expect_kw(Kw::End)?;
        self.expect_kw(what)
    }

    /// The label behind a block or loop: only if there is one before it.
    fn end_label(&mut self, label: Option<Ident<'a>>) -> R<Option<Ident<'a>>> {
        match label.is_some() && self.at_ident() {
            true => self.ident().map(Some),
            false => Ok(None),
        }
    }

    /// Behind BEGIN.
    fn block(&mut self, label: Option<Ident<'a>>) -> R<ProgramStmt<'a>> {
        let mut declarations = self.new_list();
        while self.eat_kw(Kw::Declare) {
            declarations.push(self.nested(Self::declaration)?);
            self.expect(T::Semi)?;
        }
        let body = self.program_stmts(&[Kw::End])?;
        self.expect_kw(Kw::End)?;
        let end_label = self.end_label(label)?;
        let declarations = declarations.into_bump_slice();
        Ok(ProgramStmt::Block(self.alloc(Block { label, end_label, declarations, body })))
    }

    /// Behind DECLARE.
    fn declaration(&mut self) -> R<Declaration<'a>> {
        if matches!(self.kw(), Kw::Continue | Kw::Exit) && self.peek().kw == Kw::Handler {
            let goes_on = self.at_kw(Kw::Continue);
            self.advance();
            self.advance();
            self.expect_kw(Kw::For)?;
            let conditions = self.comma_list(Self::handled)?;
            let body = self.program_body()?;
            return Ok(Declaration::Handler { goes_on, conditions, body });
        }
        let names = self.ident_list()?;
        if let [name] = names {
            if self.eat_kw(Kw::Condition) {
                self.expect_kw(Kw::For)?;
                return self.code_or_state().map(|value| Declaration::Condition(*name, value));
            }
            if self.eat_kw(Kw::Cursor) {
                self.expect_kw(Kw::For)?;
                let start = self.s.tok.start;
                let stmt = match self.kw() {
                    Kw::Show => self.show()?,
                    _ if self.at(T::LParen) => self.query_in_parens().map(Stmt::Query)?,
                    _ => self.query().map(Stmt::Query)?,
                };
                return Ok(Declaration::Cursor(*name, stmt, self.span_from(start)));
            }
        }
        let data_type = self.column_type()?;
        let default = if self.eat_kw(Kw::Default) { Some(self.span_of_expr()?) } else { None };
        Ok(Declaration::Vars { names, data_type, default })
    }

    /// A number or an SQLSTATE.
    fn code_or_state(&mut self) -> R<ConditionValue<'a>> {
        match self.at_kw(Kw::Sqlstate) {
            true => self.sqlstate(),
            false => self.number().map(ConditionValue::Code),
        }
    }

    /// `SQLSTATE [VALUE] '…'`.
    pub(super) fn sqlstate(&mut self) -> R<ConditionValue<'a>> {
        self.expect_kw(Kw::Sqlstate)?;
        self.eat_kw(Kw::Value);
        self.text().map(ConditionValue::State)
    }

    /// What a handler is for.
    fn handled(&mut self) -> R<ConditionValue<'a>> {
        let class = match self.kw() {
            Kw::Sqlwarning => ConditionValue::Warning,
            Kw::Sqlexception => ConditionValue::Exception,
            Kw::Not => {
                self.advance();
                if !self.word_is(b"found") {
                    return self.fail();
                }
                ConditionValue::NotFound
            }
            Kw::Sqlstate => return self.sqlstate(),
            _ if self.at_ident() => return self.ident().map(ConditionValue::Name),
            _ => return self.number().map(ConditionValue::Code),
        };
        self.advance();
        Ok(class)
    }

    /// Behind IF: to END IF.
    fn if_branches(&mut self) -> R<&'a Branches<'a>> {
        let mut branches = self.new_list();
        loop {
            let condition = self.span_of_expr()?;
            self.expect_kw(Kw::Then)?;
            let body = self.some_stmts(&[Kw::Elseif, Kw::Else, Kw::End])?;
            branches.push((condition, body));
            if !self.eat_kw(Kw::Elseif) {
                break;
            }
        }
        let otherwise = if self.eat_kw(Kw::Else) { Some(self.some_stmts(&[Kw::End])?) } else { None };
        self.end_of(Kw::If)?;
        Ok(self.alloc(Branches { branches: branches.into_bump_slice(), otherwise }))
    }

    fn case_statement(&mut self) -> R<ProgramStmt<'a>> {
        self.expect_kw(Kw::Case)?;
        let operand = if self.at_kw(Kw::When) { None } else { Some(self.span_of_expr()?) };
        let mut branches = self.new_list();
        while self.eat_kw(Kw::When) {
            let condition = self.span_of_expr()?;
            self.expect_kw(Kw::Then)?;
            branches.push((condition, self.some_stmts(&[Kw::When, Kw::Else, Kw::End])?));
        }
        if branches.is_empty() {
            return self.fail();
        }
        let otherwise = if self.eat_kw(Kw::Else) { Some(self.some_stmts(&[Kw::End])?) } else { None };
        self.end_of(Kw::Case)?;
        let branches = self.alloc(Branches { branches: branches.into_bump_slice(), otherwise });
        Ok(ProgramStmt::Case { operand, branches })
    }

    /// `FETCH [[NEXT] FROM] cursor INTO a, b`.
    fn fetch(&mut self) -> R<ProgramStmt<'a>> {
        self.expect_kw(Kw::Fetch)?;
        if self.at_kw(Kw::Next) && self.peek().kw == Kw::From {
            self.advance();
        }
        self.eat_kw(Kw::From);
        let cursor = self.ident()?;
        self.expect_kw(Kw::Into)?;
        Ok(ProgramStmt::Fetch { cursor, into: self.ident_list()? })
    }

    /// SET; SET TRANSACTION and SET ROLE are statements as any other.
    fn set_in_body(&mut self) -> R<ProgramStmt<'a>> {
        let bookmark = self.s;
        let first = self.peek();
        self.advance();
        let of_transaction = first.kw == Kw::Transaction
            || matches!(first.kw, Kw::Global | Kw::Session | Kw::Local) && self.peek().kw == Kw::Transaction;
        let of_role = match first.kw {
            Kw::Role => !matches!(self.peek().kind, T::Eq | T::Assign | T::Dot),
            Kw::Default => self.peek().kw == Kw::Role,
            _ => false,
        };
        if of_transaction || of_role {
            self.s = bookmark;
            return self.sql_in_body();
        }
        let mut scope = None;
        let items = self.comma_list(|parser| {
            let start = parser.s.tok.start;
            let (item, has_scope) = parser.set_item(&mut scope)?;
            Ok(SetInBody { item, span: parser.span_from(start), has_scope })
        })?;
        match self.at_end() {
            true => Ok(ProgramStmt::Set(items)),
            false => self.fail(),
        }
    }
}
