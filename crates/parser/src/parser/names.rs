//! Columns, variables and calls by name.

use super::{Parser, R};
use crate::ast::{ColumnRef, Expr, ExprKind, Ident, ObjectName, SystemVar, VarScope};
use crate::text;
use crate::token::T;

impl<'a> Parser<'a> {
    /// `@name`, `@name := value`.
    pub(super) fn user_var(&mut self) -> R<ExprKind<'a>> {
        let name = self.user_var_name();
        if !self.eat(T::Assign) {
            return Ok(ExprKind::UserVar(name));
        }
        let value = self.expr_ref()?;
        Ok(ExprKind::AssignUserVar { name, value })
    }

    /// Takes the `@name` at hand.
    pub(super) fn user_var_name(&mut self) -> Ident<'a> {
        let tok = self.s.tok;
        let text = &tok.span().of(self.sql)[1..];
        let name = match text.first() {
            Some(b'`') => self.unquote(text, tok.flags),
            Some(b'\'' | b'"') => {
                Ident::new(text::string_value(self.sql, &tok, 1, &self.s.lexer, self.arena))
            }
            _ => Ident::new(text),
        };
        self.advance();
        name
    }

    /// `@@[scope.]name`.
    pub(super) fn system_var(&mut self) -> R<&'a SystemVar<'a>> {
        self.expect(T::AtAt)?;
        if self.s.tok.start != self.s.prev_end {
            return self.fail();
        }
        let scope = if self.word_is(b"global") {
            VarScope::Global
        } else if self.word_is(b"session") || self.word_is(b"local") {
            VarScope::Session
        } else {
            VarScope::Implicit
        };
        if scope != VarScope::Implicit && self.peek().kind == T::Dot {
            self.advance();
            self.advance();
            let (instance, name) = self.variable_name()?;
            return Ok(self.alloc(SystemVar { scope, instance, name }));
        }
        let (instance, name) = self.variable_name()?;
        Ok(self.alloc(SystemVar { scope: VarScope::Implicit, instance, name }))
    }

    /// `[instance.]name`.
    pub(super) fn variable_name(&mut self) -> R<(Option<Ident<'a>>, Ident<'a>)> {
        let first = self.ident()?;
        if self.eat(T::Dot) {
            let name = self.ident()?;
            return Ok((Some(first), name));
        }
        Ok((None, first))
    }

    /// A column or a call of a function that is no word of the grammar.
    pub(super) fn name(&mut self, start: u32, star_allowed: bool) -> R<Expr<'a>> {
        if self.at(T::Dot) {
            self.advance();
            let table = self.ident()?;
            self.expect(T::Dot)?;
            let name = self.ident()?;
            return Ok(self.column_expr(None, Some(table), name, start));
        }
        let first = self.ident()?;
        match self.s.tok.kind {
            T::LParen => self.call(None, first, start, true),
            T::Dot => self.qualified(first, start, star_allowed),
            _ => match self.local(first) {
                Some(place) => Ok(self.local_expr(place, start)),
                None => Ok(self.column_expr(None, None, first, start)),
            },
        }
    }

    fn local_expr(&mut self, place: u32, start: u32) -> Expr<'a> {
        self.s.reads_locals = true;
        Expr { kind: ExprKind::Local(place), span: self.span_from(start) }
    }

    fn qualified(&mut self, first: Ident<'a>, start: u32, star_allowed: bool) -> R<Expr<'a>> {
        self.advance();
        if star_allowed && self.at(T::Star) {
            return Ok(self.star(ObjectName { schema: None, name: first }, start));
        }
        let second = self.ident()?;
        if self.at(T::LParen) {
            return self.call(Some(first), second, start, true);
        }
        if !self.eat(T::Dot) {
            self.note_row_column(first, second, false);
            return match self.local_of(first, second) {
                Some(place) => Ok(self.local_expr(place, start)),
                None => Ok(self.column_expr(None, Some(first), second, start)),
            };
        }
        if star_allowed && self.at(T::Star) {
            return Ok(self.star(ObjectName { schema: Some(first), name: second }, start));
        }
        let third = self.ident()?;
        Ok(self.column_expr(Some(first), Some(second), third, start))
    }

    /// Notes `t.*`; the expression is only a place holder.
    fn star(&mut self, table: ObjectName<'a>, start: u32) -> Expr<'a> {
        self.advance();
        self.star = Some(table);
        Expr { kind: ExprKind::Default, span: self.span_from(start) }
    }

    fn column_expr(
        &self,
        schema: Option<Ident<'a>>,
        table: Option<Ident<'a>>,
        name: Ident<'a>,
        start: u32,
    ) -> Expr<'a> {
        let column = self.alloc(ColumnRef { schema, table, name });
        Expr { kind: ExprKind::Column(column), span: self.span_from(start) }
    }

    /// `[[d.]t.]c`.
    pub(super) fn column_ref(&mut self) -> R<ColumnRef<'a>> {
        if self.at(T::Dot) {
            self.advance();
            let table = self.ident()?;
            self.expect(T::Dot)?;
            return Ok(ColumnRef { schema: None, table: Some(table), name: self.ident()? });
        }
        let first = self.ident()?;
        if !self.eat(T::Dot) {
            return Ok(ColumnRef { schema: None, table: None, name: first });
        }
        let second = self.ident()?;
        if !self.eat(T::Dot) {
            return Ok(ColumnRef { schema: None, table: Some(first), name: second });
        }
        Ok(ColumnRef { schema: Some(first), table: Some(second), name: self.ident()? })
    }
}
