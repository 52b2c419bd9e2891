//! Windows, and the keys they share with ORDER BY.

use super::{Parser, R};
use crate::ast::{Expr, ExprKind, Frame, FrameBound, Ident, OrderItem, Over, WindowSpec};
use crate::keyword::Kw;
use crate::token::T;

impl<'a> Parser<'a> {
    /// `OVER w`, `OVER (…)`. The word is a name elsewhere: an alias, most of all.
    pub(super) fn over(&mut self) -> R<Option<&'a Over<'a>>> {
        if !self.at_kw(Kw::Over) {
            return Ok(None);
        }
        let next = self.peek();
        if next.kind == T::LParen {
            self.advance();
            let spec = self.window_spec()?;
            return Ok(Some(self.alloc(Over::Spec(self.alloc(spec)))));
        }
        let named = matches!(next.kind, T::Word | T::Quoted) && !next.kw.is_reserved();
        if !named {
            return Ok(None);
        }
        self.advance();
        let name = self.ident()?;
        Ok(Some(self.alloc(Over::Named(name))))
    }

    /// `[FROM FIRST | LAST] [RESPECT | IGNORE NULLS]` between the arguments of some window functions and OVER: whether LAST and
    /// IGNORE were said.
    pub(super) fn null_treatment(&mut self, name: Ident<'a>) -> R<(bool, bool)> {
        let known = |word: &str| name.name.eq_ignore_ascii_case(word.as_bytes());
        if !(known("nth_value") || ["lag", "lead", "first_value", "last_value"].iter().any(|w| known(w))) {
            return Ok((false, false));
        }
        let (mut last, mut ignore) = (false, false);
        let mut lexer = self.s.lexer;
        let (next, third) = (lexer.next(), lexer.next());
        let behind = matches!(third.kw, Kw::Over | Kw::Respect | Kw::Ignore);
        if known("nth_value") && self.at_kw(Kw::From) && matches!(next.kw, Kw::First | Kw::Last) && behind {
            last = next.kw == Kw::Last;
            self.advance();
            self.advance();
        }
        if matches!(self.kw(), Kw::Respect | Kw::Ignore) && self.peek().kw == Kw::Nulls {
            ignore = self.kw() == Kw::Ignore;
            self.advance();
            self.advance();
        }
        Ok((last, ignore))
    }

    /// `( [name] [PARTITION BY …] [ORDER BY …] [frame] )`.
    pub(super) fn window_spec(&mut self) -> R<WindowSpec<'a>> {
        self.expect(T::LParen)?;
        let mut spec = WindowSpec { base: None, partition_by: &[], order_by: &[], frame: None };
        if self.at_ident() && !matches!(self.kw(), Kw::Rows | Kw::Groups) {
            spec.base = Some(self.ident()?);
        }
        if self.eat_kw(Kw::Partition) {
            self.expect_kw(Kw::By)?;
            spec.partition_by = self.expr_list()?;
        }
        if self.eat_kw(Kw::Order) {
            self.expect_kw(Kw::By)?;
            spec.order_by = self.order_items()?;
        }
        if matches!(self.kw(), Kw::Rows | Kw::Range) {
            let rows = self.kw() == Kw::Rows;
            self.advance();
            let frame = if self.eat_kw(Kw::Between) {
                let start = self.frame_bound()?;
                self.expect_kw(Kw::And)?;
                Frame { rows, start, end: Some(self.frame_bound()?) }
            } else {
                Frame { rows, start: self.frame_bound()?, end: None }
            };
            spec.frame = Some(self.alloc(frame));
        }
        self.expect(T::RParen)?;
        Ok(spec)
    }

    fn frame_bound(&mut self) -> R<FrameBound<'a>> {
        if self.eat_kws(Kw::Current, Kw::Row) {
            return Ok(FrameBound::CurrentRow);
        }
        if self.eat_kws(Kw::Unbounded, Kw::Preceding) {
            return Ok(FrameBound::UnboundedPreceding);
        }
        if self.eat_kws(Kw::Unbounded, Kw::Following) {
            return Ok(FrameBound::UnboundedFollowing);
        }
        let distance = if self.eat_kw(Kw::Interval) {
            let start = self.s.prev_end;
            let amount = self.expr_ref()?;
            let unit = self.unit()?;
            let kind = ExprKind::DateAdd { base: amount, amount, unit, subtract: false };
            Expr { kind, span: self.span_from(start) }
        } else {
            self.expr()?
        };
        if self.eat_kw(Kw::Preceding) {
            return Ok(FrameBound::Preceding(distance));
        }
        self.expect_kw(Kw::Following)?;
        Ok(FrameBound::Following(distance))
    }

    /// `expr [ASC | DESC], …`.
    pub(super) fn order_items(&mut self) -> R<&'a [OrderItem<'a>]> {
        self.comma_list(|parser| {
            let expr = parser.expr()?;
            let descending = parser.eat_kw(Kw::Desc);
            let explicit = descending || parser.eat_kw(Kw::Asc);
            Ok(OrderItem { expr, descending, explicit })
        })
    }
}
