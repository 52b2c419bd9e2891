//! PARTITION BY.

use super::{Parser, R};
use crate::ast::{
    Expr, PartitionAction, PartitionDef, PartitionExpr, PartitionMethod, PartitionValues, Partitioning,
    TableOption,
};
use crate::error::ParseError;
use crate::keyword::Kw;
use crate::token::T;

impl<'a> Parser<'a> {
    /// A text that is nothing but `PARTITION BY …`.
    pub(crate) fn partitioning_alone(mut self) -> Result<&'a Partitioning<'a>, ParseError> {
        self.advance();
        let read = match self.partitioning() {
            Ok(read) if self.s.tok.kind == T::Eof => return Ok(read),
            Ok(_) => self.fail::<&'a Partitioning<'a>>(),
            Err(fail) => Err(fail),
        };
        debug_assert!(read.is_err());
        Err(self.into_error())
    }

    /// `PARTITION BY …`.
    pub(super) fn partitioning(&mut self) -> R<&'a Partitioning<'a>> {
        let start = self.s.tok.start;
        self.expect_kw(Kw::Partition)?;
        self.expect_kw(Kw::By)?;
        let method = self.partition_method()?;
        let count = if self.eat_kw(Kw::Partitions) { Some(self.number()?) } else { None };
        let mut sub = None;
        if self.eat_kw(Kw::Subpartition) {
            self.expect_kw(Kw::By)?;
            let method = self.partition_method()?;
            let count = if self.eat_kw(Kw::Subpartitions) { Some(self.number()?) } else { None };
            sub = Some((method, count));
        }
        let partitions = if self.at(T::LParen) { self.partition_defs()? } else { &[] };
        let span = self.span_from(start);
        Ok(self.alloc(Partitioning { method, count, sub, partitions, span }))
    }

    fn partition_method(&mut self) -> R<PartitionMethod<'a>> {
        let linear = self.eat_kw(Kw::Linear);
        let kw = self.kw();
        if !matches!(kw, Kw::Hash | Kw::Key) && (linear || !matches!(kw, Kw::Range | Kw::List)) {
            return self.fail();
        }
        self.advance();
        match kw {
            Kw::Hash => Ok(PartitionMethod::Hash { linear, on: self.expr_in_parens()? }),
            Kw::Key => {
                let mut algorithm = None;
                if self.eat_kw(Kw::Algorithm) {
                    self.skip_eq();
                    algorithm = Some(self.number()?);
                }
                self.expect(T::LParen)?;
                let columns = if self.at(T::RParen) { &[] } else { self.ident_list()? };
                self.expect(T::RParen)?;
                Ok(PartitionMethod::Key { linear, algorithm, columns })
            }
            Kw::Range if self.eat_kw(Kw::Columns) => {
                self.ident_list_in_parens().map(PartitionMethod::RangeColumns)
            }
            Kw::Range => self.expr_in_parens().map(PartitionMethod::Range),
            Kw::List if self.eat_kw(Kw::Columns) => {
                self.ident_list_in_parens().map(PartitionMethod::ListColumns)
            }
            Kw::List => self.expr_in_parens().map(PartitionMethod::List),
            _ => self.fail(),
        }
    }

    fn expr_in_parens(&mut self) -> R<PartitionExpr<'a>> {
        let start = self.s.tok.start + 1;
        self.expect(T::LParen)?;
        let expr = self.expr()?;
        let text = self.span_from(start);
        self.expect(T::RParen)?;
        Ok(PartitionExpr { expr, text })
    }

    /// `(PARTITION …, …)`.
    pub(super) fn partition_defs(&mut self) -> R<&'a [PartitionDef<'a>]> {
        self.list_in_parens(Self::partition_def)
    }

    fn partition_def(&mut self) -> R<PartitionDef<'a>> {
        self.expect_kw(Kw::Partition)?;
        let name = self.ident()?;
        let mut values = PartitionValues::None;
        if self.eat_kw(Kw::Values) {
            if self.eat_kw(Kw::Less) {
                self.expect_kw(Kw::Than)?;
                values = if self.eat_kw(Kw::Maxvalue) {
                    PartitionValues::MaxValue
                } else {
                    PartitionValues::LessThan(self.list_in_parens(Self::partition_value)?)
                };
            } else {
                self.expect_kw(Kw::In)?;
                values = PartitionValues::In(self.list_in_parens(|parser| {
                    if parser.at(T::LParen) {
                        return parser.list_in_parens(Self::partition_value);
                    }
                    let value = parser.partition_value()?;
                    Ok(&*parser.arena.alloc_slice_copy(&[value]))
                })?);
            }
        }
        let options = self.partition_options()?;
        let mut subpartitions: &'a [PartitionDef<'a>] = &[];
        if self.at(T::LParen) {
            subpartitions = self.list_in_parens(|parser| {
                parser.expect_kw(Kw::Subpartition)?;
                let name = parser.ident_or_text()?;
                let options = parser.partition_options()?;
                Ok(PartitionDef { name, values: PartitionValues::None, options, subpartitions: &[] })
            })?;
        }
        Ok(PartitionDef { name, values, options, subpartitions })
    }

    /// A bound; `None` for MAXVALUE.
    fn partition_value(&mut self) -> R<Option<Expr<'a>>> {
        if self.eat_kw(Kw::Maxvalue) { Ok(None) } else { self.expr().map(Some) }
    }

    /// Options of a partition: those of tables, STORAGE before ENGINE, NODEGROUP.
    fn partition_options(&mut self) -> R<&'a [TableOption<'a>]> {
        let mut options = self.new_list();
        loop {
            if self.at_kw(Kw::Storage) && self.peek().kw == Kw::Engine {
                self.advance();
            }
            if self.eat_kw(Kw::Nodegroup) {
                self.skip_eq();
                self.number()?;
                continue;
            }
            match self.table_option()? {
                Some(option) => options.push(option),
                None => return Ok(options.into_bump_slice()),
            }
        }
    }

    /// After ADD PARTITION.
    pub(super) fn add_partition(&mut self) -> R<PartitionAction<'a>> {
        self.skip_no_binlog();
        if self.eat_kw(Kw::Partitions) {
            return Ok(PartitionAction::Add { partitions: &[], count: Some(self.number()?) });
        }
        Ok(PartitionAction::Add { partitions: self.partition_defs()?, count: None })
    }
}
