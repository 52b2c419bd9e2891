//! CREATE TABLE, indexes, constraints.

use super::{Parser, R};
use crate::ast::{
    CreateIndex, CreateTable, DropIndex, ForeignKey, Ident, IndexAlgorithm, IndexDef, IndexKind,
    IndexOptions, KeyPart, KeyTarget, SelectDuplicates, Stmt, TableElement,
};
use crate::keyword::Kw;
use crate::token::T;

impl<'a> Parser<'a> {
    /// CREATE [TEMPORARY] TABLE, at TABLE.
    pub(super) fn create_table(&mut self, temporary: bool) -> R<Stmt<'a>> {
        self.expect_kw(Kw::Table)?;
        let if_not_exists = self.if_not_exists()?;
        let name = self.object_name()?;
        let mut table = CreateTable {
            temporary,
            if_not_exists,
            name,
            like: None,
            elements: &[],
            options: &[],
            partitioning: None,
            select: None,
            select_duplicates: SelectDuplicates::Error,
        };
        if self.eat_kw(Kw::Like) {
            table.like = Some(self.object_name()?);
            return Ok(Stmt::CreateTable(self.alloc(table)));
        }
        if self.at(T::LParen) && self.peek().kw == Kw::Like {
            self.advance();
            self.advance();
            table.like = Some(self.object_name()?);
            self.expect(T::RParen)?;
            return Ok(Stmt::CreateTable(self.alloc(table)));
        }
        if self.at(T::LParen) && !self.parens_open_query() {
            table.elements = self.list_in_parens(Self::table_element)?;
        }
        table.options = self.table_options()?;
        if self.at_kw(Kw::Partition) {
            table.partitioning = Some(self.partitioning()?);
        }
        self.create_select(&mut table)?;
        Ok(Stmt::CreateTable(self.alloc(table)))
    }

    fn parens_open_query(&self) -> bool {
        let mut lexer = self.s.lexer;
        let mut token = lexer.next();
        while token.kind == T::LParen {
            token = lexer.next();
        }
        matches!(token.kw, Kw::Select | Kw::With)
    }

    /// `[IGNORE | REPLACE] [AS] SELECT …`.
    fn create_select(&mut self, table: &mut CreateTable<'a>) -> R<()> {
        table.select_duplicates = match self.kw() {
            Kw::Ignore => SelectDuplicates::Ignore,
            Kw::Replace => SelectDuplicates::Replace,
            _ => SelectDuplicates::Error,
        };
        let mut wanted = table.select_duplicates != SelectDuplicates::Error;
        if wanted {
            self.advance();
        }
        wanted |= self.eat_kw(Kw::As);
        if self.at_query() {
            table.select = Some(self.query()?);
        } else if self.at(T::LParen) {
            table.select = Some(self.query_in_parens()?);
        } else if wanted {
            return self.fail();
        }
        Ok(())
    }

    /// `IF NOT EXISTS` or nothing.
    pub(super) fn if_not_exists(&mut self) -> R<bool> {
        if !self.eat_kw(Kw::If) {
            return Ok(false);
        }
        self.expect_kw(Kw::Not)?;
        self.expect_kw(Kw::Exists)?;
        Ok(true)
    }

    /// `IF EXISTS` or nothing.
    pub(super) fn if_exists(&mut self) -> R<bool> {
        if !self.eat_kw(Kw::If) {
            return Ok(false);
        }
        self.expect_kw(Kw::Exists)?;
        Ok(true)
    }

    fn table_element(&mut self) -> R<TableElement<'a>> {
        match self.constraint_or_index()? {
            Some(element) => Ok(element),
            None => self.column_def().map(TableElement::Column),
        }
    }

    /// An index, foreign key or check if one begins here.
    pub(super) fn constraint_or_index(&mut self) -> R<Option<TableElement<'a>>> {
        let mut constraint = None;
        let named = self.eat_kw(Kw::Constraint);
        if named && self.at_ident() {
            constraint = Some(self.ident()?);
        }
        let element = match self.kw() {
            Kw::Primary => {
                self.advance();
                self.expect_kw(Kw::Key)?;
                TableElement::Index(self.index_def(IndexKind::Primary, constraint)?)
            }
            Kw::Unique => {
                self.advance();
                self.eat_index_word();
                TableElement::Index(self.index_def(IndexKind::Unique, constraint)?)
            }
            Kw::Foreign => TableElement::ForeignKey(self.foreign_key(constraint)?),
            Kw::Check => TableElement::Check(self.check_named(constraint)?),
            _ if named => return self.fail(),
            Kw::Index | Kw::Key => {
                self.advance();
                TableElement::Index(self.index_def(IndexKind::Plain, None)?)
            }
            Kw::Fulltext => {
                self.advance();
                self.eat_index_word();
                TableElement::Index(self.index_def(IndexKind::FullText, None)?)
            }
            Kw::Spatial => {
                self.advance();
                self.eat_index_word();
                TableElement::Index(self.index_def(IndexKind::Spatial, None)?)
            }
            _ => return Ok(None),
        };
        Ok(Some(element))
    }

    /// `INDEX`, `KEY` or nothing.
    fn eat_index_word(&mut self) {
        if !self.eat_kw(Kw::Index) {
            self.eat_kw(Kw::Key);
        }
    }

    /// `[name] [USING …] (parts) options`.
    fn index_def(&mut self, kind: IndexKind, constraint: Option<Ident<'a>>) -> R<&'a IndexDef<'a>> {
        let mut name = None;
        if self.at_ident() && !(self.at_kw(Kw::Type) && self.peek().kind != T::LParen) {
            name = Some(self.ident()?);
        }
        let mut options = IndexOptions::default();
        if matches!(self.kw(), Kw::Using | Kw::Type) {
            options.algorithm = Some(self.index_algorithm(kind)?);
        }
        let parts = self.key_parts()?;
        self.index_options(kind, &mut options)?;
        Ok(self.alloc(IndexDef { kind, constraint, name, parts, options }))
    }

    /// `USING | TYPE BTREE | HASH | RTREE`, which indexes of other kinds have not.
    fn index_algorithm(&mut self, kind: IndexKind) -> R<IndexAlgorithm> {
        if matches!(kind, IndexKind::FullText | IndexKind::Spatial) {
            return self.fail();
        }
        self.advance();
        let algorithm = match self.kw() {
            Kw::Btree => IndexAlgorithm::BTree,
            Kw::Hash => IndexAlgorithm::Hash,
            Kw::Rtree => IndexAlgorithm::RTree,
            _ => return self.fail(),
        };
        self.advance();
        Ok(algorithm)
    }

    fn key_parts(&mut self) -> R<&'a [KeyPart<'a>]> {
        self.list_in_parens(|parser| {
            let (target, prefix) = if parser.eat(T::LParen) {
                let expr = parser.expr()?;
                parser.expect(T::RParen)?;
                (KeyTarget::Expr(expr), None)
            } else {
                let name = parser.ident()?;
                (KeyTarget::Column(name), parser.length_in_parens()?)
            };
            let descending = parser.eat_kw(Kw::Desc);
            if !descending {
                parser.eat_kw(Kw::Asc);
            }
            Ok(KeyPart { target, prefix, descending })
        })
    }

    fn index_options(&mut self, kind: IndexKind, options: &mut IndexOptions<'a>) -> R<()> {
        loop {
            match self.kw() {
                Kw::Using | Kw::Type => options.algorithm = Some(self.index_algorithm(kind)?),
                Kw::KeyBlockSize => {
                    self.advance();
                    self.skip_eq();
                    options.key_block_size = Some(self.number()?);
                }
                Kw::Comment => {
                    self.advance();
                    options.comment = Some(self.text()?);
                }
                Kw::With => {
                    self.advance();
                    if kind != IndexKind::FullText {
                        return self.fail();
                    }
                    self.expect_kw(Kw::Parser)?;
                    options.parser = Some(self.ident()?);
                }
                Kw::Visible | Kw::Invisible => {
                    options.invisible = self.at_kw(Kw::Invisible);
                    self.advance();
                }
                _ => return Ok(()),
            }
        }
    }

    /// `FOREIGN KEY [name] (…) REFERENCES …`.
    fn foreign_key(&mut self, constraint: Option<Ident<'a>>) -> R<&'a ForeignKey<'a>> {
        self.expect_kw(Kw::Foreign)?;
        self.expect_kw(Kw::Key)?;
        let index_name = if self.at_ident() { Some(self.ident()?) } else { None };
        let columns = self.ident_list_in_parens()?;
        let references = self.references()?;
        Ok(self.alloc(ForeignKey { constraint, index_name, columns, references }))
    }

    /// CREATE [UNIQUE | FULLTEXT | SPATIAL] INDEX, at the first of these words.
    pub(super) fn create_index(&mut self) -> R<Stmt<'a>> {
        let kind = match self.kw() {
            Kw::Unique => IndexKind::Unique,
            Kw::Fulltext => IndexKind::FullText,
            Kw::Spatial => IndexKind::Spatial,
            _ => IndexKind::Plain,
        };
        if kind != IndexKind::Plain {
            self.advance();
        }
        self.expect_kw(Kw::Index)?;
        let name = self.ident()?;
        let mut options = IndexOptions::default();
        if matches!(self.kw(), Kw::Using | Kw::Type) {
            options.algorithm = Some(self.index_algorithm(kind)?);
        }
        self.expect_kw(Kw::On)?;
        let table = self.object_name()?;
        let parts = self.key_parts()?;
        self.index_options(kind, &mut options)?;
        let (algorithm, lock) = self.algorithm_and_lock()?;
        let index = IndexDef { kind, constraint: None, name: Some(name), parts, options };
        Ok(Stmt::CreateIndex(self.alloc(CreateIndex { table, index, algorithm, lock })))
    }

    /// DROP INDEX, after INDEX.
    pub(super) fn drop_index(&mut self) -> R<Stmt<'a>> {
        let name = self.index_name()?;
        self.expect_kw(Kw::On)?;
        let table = self.object_name()?;
        let (algorithm, lock) = self.algorithm_and_lock()?;
        Ok(Stmt::DropIndex(self.alloc(DropIndex { table, name, algorithm, lock })))
    }

    /// An index's name; PRIMARY without quotes is no name to MySQL either.
    pub(super) fn index_name(&mut self) -> R<Ident<'a>> {
        self.ident()
    }
}
