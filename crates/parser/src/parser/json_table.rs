//! JSON_TABLE in FROM.

use super::{Parser, R};
use crate::ast::{Ident, JsonColumn, JsonInstead, JsonPathColumn, JsonRows, JsonTable, TableRef};
use crate::error::ParseErrorKind;
use crate::keyword::Kw;
use crate::token::T;

impl<'a> Parser<'a> {
    /// `JSON_TABLE(doc, 'path' COLUMNS (…)) [AS] alias`.
    pub(super) fn json_table(&mut self) -> R<TableRef<'a>> {
        self.advance();
        self.expect(T::LParen)?;
        let doc = self.expr()?;
        self.expect(T::Comma)?;
        let rows = self.json_rows()?;
        self.expect(T::RParen)?;
        let Some(alias) = self.table_alias()? else {
            return self.fail_as(ParseErrorKind::FunctionWithoutAlias);
        };
        Ok(TableRef::Json(self.alloc(JsonTable { doc, rows, alias })))
    }

    /// `'path' COLUMNS (…)`.
    fn json_rows(&mut self) -> R<JsonRows<'a>> {
        let path = self.text()?;
        self.expect_kw(Kw::Columns)?;
        let columns = self.nested(|parser| parser.list_in_parens(Self::json_column))?;
        Ok(JsonRows { path, columns })
    }

    fn json_column(&mut self) -> R<JsonColumn<'a>> {
        if self.at_kw(Kw::Nested) && self.nests() {
            self.advance();
            self.eat_kw(Kw::Path);
            return self.json_rows().map(JsonColumn::Nested);
        }
        let name = self.ident()?;
        if self.eat_kw(Kw::For) {
            self.expect_kw(Kw::Ordinality)?;
            return Ok(JsonColumn::Ordinality(name));
        }
        self.json_path_column(name).map(|column| JsonColumn::Path(self.alloc(column)))
    }

    /// What follows NESTED is a path: it is no column of that name.
    fn nests(&self) -> bool {
        let next = self.peek();
        next.kind == T::String || next.kw == Kw::Path
    }

    fn json_path_column(&mut self, name: Ident<'a>) -> R<JsonPathColumn<'a>> {
        let ty = self.column_type()?;
        let exists = self.eat_kw(Kw::Exists);
        self.expect_kw(Kw::Path)?;
        let path = self.text()?;
        let (mut on_empty, mut on_error) = (None, None);
        while !exists && (on_empty.is_none() || on_error.is_none()) {
            let instead = match self.kw() {
                Kw::Null => JsonInstead::Null,
                Kw::Error => JsonInstead::Error,
                Kw::Default => {
                    self.advance();
                    JsonInstead::Default(self.text()?)
                }
                _ => break,
            };
            if !matches!(instead, JsonInstead::Default(_)) {
                self.advance();
            }
            self.expect_kw(Kw::On)?;
            let on = if on_error.is_none() && self.eat_kw(Kw::Error) {
                &mut on_error
            } else if on_empty.is_none() {
                self.expect_kw(Kw::Empty)?;
                &mut on_empty
            } else {
                return self.fail();
            };
            *on = Some(instead);
        }
        let on_empty = on_empty.unwrap_or(JsonInstead::Null);
        let on_error = on_error.unwrap_or(JsonInstead::Null);
        Ok(JsonPathColumn { name, ty, path, exists, on_empty, on_error })
    }
}
