//! SET.

use super::{Parser, R};
use crate::ast::{ColumnRef, Expr, ExprKind, Ident, SetItem, SetPassword, Stmt, SystemVar, VarScope};
use crate::keyword::Kw;
use crate::token::T;

impl<'a> Parser<'a> {
    pub(super) fn set(&mut self) -> R<Stmt<'a>> {
        self.expect_kw(Kw::Set)?;
        if self.eat_kw(Kw::Transaction) {
            return self.set_transaction(VarScope::Implicit);
        }
        if let Some(role) = self.set_role()? {
            return Ok(role);
        }
        if self.peek().kw == Kw::Transaction
            && let Some(scope) = self.scope()
        {
            self.advance();
            return self.set_transaction(scope);
        }
        let mut scope = None;
        self.comma_list(|parser| Ok(parser.set_item(&mut scope)?.0)).map(Stmt::Set)
    }

    /// `GLOBAL`, `SESSION`, `LOCAL` as words before a variable.
    fn scope(&mut self) -> Option<VarScope> {
        let scope = match self.kw() {
            Kw::Global => VarScope::Global,
            Kw::Session | Kw::Local => VarScope::Session,
            _ => return None,
        };
        if !matches!(self.peek().kind, T::Word | T::Quoted) {
            return None;
        }
        self.advance();
        Some(scope)
    }

    /// One assignment, and whether it says itself whose variable it is; else the `scope` that was said last counts.
    pub(super) fn set_item(&mut self, scope: &mut Option<VarScope>) -> R<(SetItem<'a>, bool)> {
        let said = self.scope();
        if said.is_none()
            && let Some(item) = self.set_without_scope()?
        {
            return Ok((item, false));
        }
        *scope = said.or(*scope);
        let (instance, name) = self.variable_name()?;
        if let Some(row) = instance {
            self.note_row_column(row, name, true);
        }
        self.assign()?;
        let value = self.set_value()?;
        let scope = scope.unwrap_or(VarScope::Session);
        Ok((SetItem::SystemVar(SystemVar { scope, instance, name }, value), said.is_some()))
    }

    /// What is assigned by another form than a variable's name.
    fn set_without_scope(&mut self) -> R<Option<SetItem<'a>>> {
        match self.s.tok.kind {
            T::UserVar => {
                let name = self.user_var_name();
                self.assign()?;
                return self.expr().map(|value| Some(SetItem::UserVar(name, value)));
            }
            T::AtAt => {
                let var = *self.system_var()?;
                self.assign()?;
                return self.set_value().map(|value| Some(SetItem::SystemVar(var, value)));
            }
            _ => {}
        }
        let assigns = matches!(self.peek().kind, T::Eq | T::Assign | T::Dot);
        match self.kw() {
            Kw::Names if !assigns => self.set_names().map(Some),
            Kw::Character | Kw::Char => {
                self.charset_words()?;
                self.name_or_default().map(SetItem::CharacterSet).map(Some)
            }
            Kw::Charset if !assigns => {
                self.advance();
                self.name_or_default().map(SetItem::CharacterSet).map(Some)
            }
            Kw::Password => self.set_password().map(Some),
            _ => Ok(None),
        }
    }

    /// `=` or `:=`.
    fn assign(&mut self) -> R<()> {
        if self.eat(T::Assign) { Ok(()) } else { self.expect(T::Eq) }
    }

    /// An expression, or a word: DEFAULT, ON, ALL, BINARY, ROW, SYSTEM.
    fn set_value(&mut self) -> R<Expr<'a>> {
        let span = self.s.tok.span();
        let alone = matches!(self.peek().kind, T::Comma | T::Eof | T::Semi);
        if alone && self.at_kw(Kw::Default) {
            self.advance();
            return Ok(Expr { kind: ExprKind::Default, span });
        }
        if alone && matches!(self.kw(), Kw::On | Kw::All | Kw::Binary) {
            let column = self.alloc(ColumnRef { schema: None, table: None, name: self.ident_text() });
            self.advance();
            return Ok(Expr { kind: ExprKind::Column(column), span });
        }
        self.expr()
    }

    fn set_names(&mut self) -> R<SetItem<'a>> {
        self.expect_kw(Kw::Names)?;
        let charset = self.name_or_default()?;
        let mut collation = None;
        if charset.is_some() && self.eat_kw(Kw::Collate) {
            collation = self.name_or_default()?;
        }
        Ok(SetItem::Names { charset, collation })
    }

    /// `PASSWORD [FOR user] = '…' | PASSWORD('…') | OLD_PASSWORD('…')`.
    fn set_password(&mut self) -> R<SetItem<'a>> {
        self.expect_kw(Kw::Password)?;
        let user = if self.eat_kw(Kw::For) { Some(self.user_name()?) } else { None };
        self.assign()?;
        let function: Option<fn(&'a [u8]) -> SetPassword<'a>> = match self.kw() {
            Kw::Password => Some(SetPassword::Password),
            Kw::OldPassword => Some(SetPassword::OldPassword),
            _ => None,
        };
        let value = match function {
            Some(function) => {
                self.advance();
                self.expect(T::LParen)?;
                let text = self.text()?;
                self.expect(T::RParen)?;
                function(text)
            }
            None => SetPassword::Text(self.text()?),
        };
        Ok(SetItem::Password { user, value })
    }

    /// A user variable's name, as in USING.
    pub(super) fn user_var_required(&mut self) -> R<Ident<'a>> {
        if self.at(T::UserVar) { Ok(self.user_var_name()) } else { self.fail() }
    }
}
