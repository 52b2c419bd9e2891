//! What stands in FROM.

use super::{Parser, R};
use crate::ast::{
    DerivedTable, Ident, IndexHint, IndexHintKind, IndexHintScope, Join, JoinCondition, JoinKind, NamedTable,
    Query, TableRef,
};
use crate::error::ParseErrorKind;
use crate::keyword::Kw;
use crate::token::T;

/// Parentheses in FROM.
enum Group<'a> {
    Query(&'a Query<'a>),
    Tables(TableRef<'a>),
}

impl<'a> Parser<'a> {
    /// `table, …`.
    pub(super) fn table_refs(&mut self) -> R<&'a [TableRef<'a>]> {
        self.comma_list(Self::table_ref)
    }

    /// A table with what is joined to it; also `{ OJ … }`.
    fn table_ref(&mut self) -> R<TableRef<'a>> {
        let left = self.table_factor()?;
        self.joins(left, false)
    }

    /// Joins after `left`, from the left to the right; with `until_on` only up to the ON that belongs further out.
    fn joins(&mut self, mut left: TableRef<'a>, until_on: bool) -> R<TableRef<'a>> {
        loop {
            if until_on && matches!(self.kw(), Kw::On | Kw::Using) {
                return Ok(left);
            }
            let (kind, natural) = match self.kw() {
                Kw::Join => (JoinKind::Inner, false),
                Kw::Inner | Kw::Cross => {
                    self.advance();
                    (JoinKind::Inner, false)
                }
                Kw::StraightJoin => (JoinKind::Straight, false),
                Kw::Left | Kw::Right => (self.outer_side(), false),
                Kw::Natural => {
                    self.advance();
                    (self.natural_kind(), true)
                }
                _ => return Ok(left),
            };
            self.count_join()?;
            if kind != JoinKind::Straight {
                self.expect_kw(Kw::Join)?;
            } else {
                self.advance();
            }
            let right = self.table_factor()?;
            left = self.join(left, right, kind, natural)?;
        }
    }

    /// `LEFT [OUTER]`, `RIGHT [OUTER]`.
    fn outer_side(&mut self) -> JoinKind {
        let kind = if self.at_kw(Kw::Left) { JoinKind::Left } else { JoinKind::Right };
        self.advance();
        self.eat_kw(Kw::Outer);
        kind
    }

    fn natural_kind(&mut self) -> JoinKind {
        if matches!(self.kw(), Kw::Left | Kw::Right) {
            return self.outer_side();
        }
        self.eat_kw(Kw::Inner);
        JoinKind::Inner
    }

    /// The condition of a join, and before it the joins inside of its right side.
    fn join(
        &mut self,
        left: TableRef<'a>,
        right: TableRef<'a>,
        kind: JoinKind,
        natural: bool,
    ) -> R<TableRef<'a>> {
        let outer = matches!(kind, JoinKind::Left | JoinKind::Right);
        let (right, condition) = if natural {
            (right, JoinCondition::Natural)
        } else {
            let mut right = right;
            // `a LEFT JOIN b LEFT JOIN c ON … ON …`: the first ON belongs to the inner join.
            if outer && !matches!(self.kw(), Kw::On | Kw::Using) {
                right = self.nested(|parser| parser.joins(right, true))?;
            }
            (right, self.join_condition(outer, kind)?)
        };
        Ok(TableRef::Join(self.alloc(Join { left, right, kind, condition })))
    }

    fn join_condition(&mut self, required: bool, kind: JoinKind) -> R<JoinCondition<'a>> {
        if self.eat_kw(Kw::On) {
            return self.expr().map(JoinCondition::On);
        }
        if kind != JoinKind::Straight && self.eat_kw(Kw::Using) {
            return self.ident_list_in_parens().map(JoinCondition::Using);
        }
        if required { self.fail() } else { Ok(JoinCondition::None) }
    }

    fn table_factor(&mut self) -> R<TableRef<'a>> {
        match self.s.tok.kind {
            T::LParen => match self.nested(Self::group)? {
                Group::Query(query) => self.derived(query, false),
                Group::Tables(tables) => Ok(tables),
            },
            T::LBrace => {
                self.advance();
                // `{ OJ … }`; any word will do.
                self.ident()?;
                let tables = self.nested(Self::table_ref)?;
                self.expect(T::RBrace)?;
                Ok(tables)
            }
            T::Word if self.at_kw(Kw::Lateral) && self.peek().kind == T::LParen => {
                self.advance();
                let query = self.subquery()?;
                self.derived(query, true)
            }
            T::Word if self.at_kw(Kw::JsonTable) && self.peek().kind == T::LParen => self.json_table(),
            _ => self.named_table(),
        }
    }

    /// `( query )` or `( tables )`.
    fn group(&mut self) -> R<Group<'a>> {
        self.expect(T::LParen)?;
        let start = self.s.tok.start;
        if self.at_query() {
            let query = self.query()?;
            self.expect(T::RParen)?;
            return Ok(Group::Query(query));
        }
        let first = if self.at(T::LParen) {
            match self.nested(Self::group)? {
                Group::Query(query) if self.at(T::RParen) => {
                    self.advance();
                    return Ok(Group::Query(query));
                }
                Group::Query(query) if self.continues_query() => {
                    let query = self.query_after(query, start)?;
                    self.expect(T::RParen)?;
                    return Ok(Group::Query(query));
                }
                Group::Query(query) => self.derived(query, false)?,
                Group::Tables(tables) => tables,
            }
        } else {
            self.table_factor()?
        };
        let first = self.joins(first, false)?;
        if !self.at(T::Comma) {
            self.expect(T::RParen)?;
            return Ok(Group::Tables(first));
        }
        let mut list = self.new_list();
        list.push(first);
        while self.eat(T::Comma) {
            list.push(self.table_ref()?);
        }
        self.expect(T::RParen)?;
        Ok(Group::Tables(TableRef::List(list.into_bump_slice())))
    }

    /// The name of a derived table.
    fn derived(&mut self, query: &'a Query<'a>, lateral: bool) -> R<TableRef<'a>> {
        let Some(alias) = self.table_alias()? else {
            return self.fail_as(ParseErrorKind::DerivedWithoutAlias);
        };
        let columns = if self.at(T::LParen) { self.ident_list_in_parens()? } else { &[] };
        Ok(TableRef::Derived(self.alloc(DerivedTable { query, alias, columns, lateral })))
    }

    /// A table with partitions, alias and hints.
    pub(super) fn named_table(&mut self) -> R<TableRef<'a>> {
        let name = self.object_name()?;
        let partitions = self.partition_names()?;
        let alias = if self.starts_window() { None } else { self.table_alias()? };
        let hints = self.index_hints()?;
        Ok(TableRef::Table(self.alloc(NamedTable { name, partitions, alias, hints })))
    }

    /// `WINDOW w AS (` is a clause; WINDOW alone is a name.
    fn starts_window(&self) -> bool {
        if !self.at_kw(Kw::Window) {
            return false;
        }
        let mut lexer = self.s.lexer;
        lexer.next();
        lexer.next().kw == Kw::As
    }

    /// `PARTITION (p, …)` or nothing.
    pub(super) fn partition_names(&mut self) -> R<&'a [Ident<'a>]> {
        if !self.eat_kw(Kw::Partition) {
            return Ok(&[]);
        }
        self.ident_list_in_parens()
    }

    fn index_hints(&mut self) -> R<&'a [IndexHint<'a>]> {
        if !matches!(self.kw(), Kw::Use | Kw::Force | Kw::Ignore) {
            return Ok(&[]);
        }
        let mut hints = self.new_list();
        loop {
            let kind = match self.kw() {
                Kw::Use => IndexHintKind::Use,
                Kw::Force => IndexHintKind::Force,
                Kw::Ignore => IndexHintKind::Ignore,
                _ => break,
            };
            self.advance();
            if !self.eat_kw(Kw::Index) {
                self.expect_kw(Kw::Key)?;
            }
            let scope = self.hint_scope()?;
            self.expect(T::LParen)?;
            let mut indexes: &'a [Ident<'a>] = &[];
            if !(kind == IndexHintKind::Use && self.at(T::RParen)) {
                indexes = self.comma_list(|parser| {
                    if parser.at_kw(Kw::Primary) {
                        let name = parser.ident_text();
                        parser.advance();
                        return Ok(name);
                    }
                    parser.ident()
                })?;
            }
            self.expect(T::RParen)?;
            hints.push(IndexHint { kind, scope, indexes });
        }
        Ok(hints.into_bump_slice())
    }

    /// `FOR JOIN | ORDER BY | GROUP BY` or nothing.
    fn hint_scope(&mut self) -> R<Option<IndexHintScope>> {
        if !self.eat_kw(Kw::For) {
            return Ok(None);
        }
        if self.eat_kw(Kw::Join) {
            return Ok(Some(IndexHintScope::Join));
        }
        if self.eat_kws(Kw::Order, Kw::By) {
            return Ok(Some(IndexHintScope::OrderBy));
        }
        if self.eat_kws(Kw::Group, Kw::By) {
            return Ok(Some(IndexHintScope::GroupBy));
        }
        self.fail()
    }
}
