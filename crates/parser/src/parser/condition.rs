//! SIGNAL, RESIGNAL, GET DIAGNOSTICS.

use super::{Parser, R};
use crate::ast::{
    ConditionItem, ConditionValue, Diagnostics, DiagnosticsTarget, Expr, ExprKind, GetDiagnostics, Signal,
    Stmt,
};
use crate::keyword::Kw;
use crate::token::T;

/// Words of the items of a condition.
const ITEMS: [(&[u8], ConditionItem); 13] = [
    (b"class_origin", ConditionItem::ClassOrigin),
    (b"subclass_origin", ConditionItem::SubclassOrigin),
    (b"constraint_catalog", ConditionItem::ConstraintCatalog),
    (b"constraint_schema", ConditionItem::ConstraintSchema),
    (b"constraint_name", ConditionItem::ConstraintName),
    (b"catalog_name", ConditionItem::CatalogName),
    (b"schema_name", ConditionItem::SchemaName),
    (b"table_name", ConditionItem::TableName),
    (b"column_name", ConditionItem::ColumnName),
    (b"cursor_name", ConditionItem::CursorName),
    (b"message_text", ConditionItem::MessageText),
    (b"mysql_errno", ConditionItem::MysqlErrno),
    (b"returned_sqlstate", ConditionItem::ReturnedSqlstate),
];

impl<'a> Parser<'a> {
    /// At SIGNAL or RESIGNAL.
    pub(super) fn signal(&mut self) -> R<Stmt<'a>> {
        let again = self.at_kw(Kw::Resignal);
        self.advance();
        let condition = match self.kw() {
            Kw::Sqlstate => Some(self.sqlstate()?),
            _ if self.at_ident() => Some(ConditionValue::Name(self.ident()?)),
            _ if again => None,
            _ => return self.fail(),
        };
        let mut items: &[_] = &[];
        if self.eat_kw(Kw::Set) {
            items = self.comma_list(|parser| {
                let item = parser.condition_item()?;
                if item == ConditionItem::ReturnedSqlstate {
                    return parser.fail();
                }
                parser.expect(T::Eq)?;
                Ok((item, parser.simple_value()?))
            })?;
        }
        Ok(Stmt::Signal(self.alloc(Signal { again, condition, items })))
    }

    /// A literal, a variable or a name: neither signs nor functions.
    fn simple_value(&mut self) -> R<Expr<'a>> {
        let is_simple = match self.s.tok.kind {
            T::Int | T::Decimal | T::Float | T::String | T::National | T::Hex | T::HexNumber => true,
            T::Bit | T::BitNumber | T::Null | T::Introducer | T::UserVar | T::AtAt | T::Quoted => true,
            T::Param => self.mode.params,
            T::Word => {
                let is_date = matches!(self.kw(), Kw::Date | Kw::Time | Kw::Timestamp);
                let is_truth = matches!(self.kw(), Kw::True | Kw::False | Kw::Null);
                is_truth || is_date && self.peek().kind == T::String || self.at_ident()
            }
            _ => false,
        };
        if !is_simple {
            return self.fail();
        }
        if self.at(T::Word) && self.at_ident() && self.peek().kind == T::LParen {
            self.advance();
            return self.fail();
        }
        let start = self.s.tok.start;
        let value = self.primary(start, false)?;
        match value.kind {
            ExprKind::AssignUserVar { .. } => self.fail(),
            _ => Ok(value),
        }
    }

    fn condition_item(&mut self) -> R<ConditionItem> {
        let Some((_, item)) = ITEMS.iter().find(|(word, _)| self.word_is(word)) else { return self.fail() };
        self.advance();
        Ok(*item)
    }

    /// At GET.
    pub(super) fn get_diagnostics(&mut self) -> R<Stmt<'a>> {
        self.advance();
        let stacked = self.word_is(b"stacked");
        if stacked || self.word_is(b"current") {
            self.advance();
        }
        self.expect_kw(Kw::Diagnostics)?;
        let what = match self.eat_kw(Kw::Condition) {
            true => {
                let number = self.expr()?;
                let items = self.comma_list(|parser| {
                    let target = parser.diagnostics_target()?;
                    Ok((target, parser.condition_item()?))
                })?;
                Diagnostics::Condition { number, items }
            }
            false => Diagnostics::Statement(self.comma_list(|parser| {
                let target = parser.diagnostics_target()?;
                let rows = parser.word_is(b"row_count");
                if !rows && !parser.word_is(b"number") {
                    return parser.fail();
                }
                parser.advance();
                Ok((target, rows))
            })?),
        };
        Ok(Stmt::GetDiagnostics(self.alloc(GetDiagnostics { stacked, what })))
    }

    /// `target =`.
    fn diagnostics_target(&mut self) -> R<DiagnosticsTarget<'a>> {
        let target = match self.at(T::UserVar) {
            true => DiagnosticsTarget::User(self.user_var_name()),
            false => {
                let name = self.ident()?;
                self.local(name).map_or(DiagnosticsTarget::Unknown(name), DiagnosticsTarget::Local)
            }
        };
        self.expect(T::Eq)?;
        Ok(target)
    }
}
