//! CREATE EVENT and ALTER EVENT.

use super::schema::CreateHead;
use super::{Parser, R};
use crate::ast::{AlterEvent, EventHead, EventSchedule, EventStatus, Span, Stmt};
use crate::keyword::Kw;

impl<'a> Parser<'a> {
    /// What CREATE EVENT has between its name and DO.
    pub(super) fn event_head(&mut self) -> R<EventHead<'a>> {
        let mut head = EventHead::default();
        self.expect_kw(Kw::On)?;
        self.expect_kw(Kw::Schedule)?;
        head.schedule = Some(self.event_schedule()?);
        if self.eat_kw(Kw::On) {
            head.preserve = Some(self.on_completion()?);
        }
        head.status = self.event_status()?;
        head.comment = self.event_comment()?;
        Ok(head)
    }

    /// ALTER EVENT, at that word.
    pub(super) fn alter_event(&mut self, of: CreateHead<'a>) -> R<Stmt<'a>> {
        self.expect_kw(Kw::Event)?;
        if of.algorithm.is_some() || of.or_replace || of.security.is_some() {
            return self.fail();
        }
        let name = self.object_name()?;
        let mut head = EventHead::default();
        let start = self.s.tok.start;
        if self.eat_kw(Kw::On) {
            if self.eat_kw(Kw::Schedule) {
                head.schedule = Some(self.event_schedule()?);
                if self.eat_kw(Kw::On) {
                    head.preserve = Some(self.on_completion()?);
                }
            } else {
                head.preserve = Some(self.on_completion()?);
            }
        }
        if self.eat_kw(Kw::Rename) {
            self.expect_kw(Kw::To)?;
            head.rename = Some(self.object_name()?);
        }
        head.status = self.event_status()?;
        head.comment = self.event_comment()?;
        let body = match self.eat_kw(Kw::Do) {
            true => {
                let start = self.body_start();
                let code = self.program_body()?;
                Some((code, self.span_from(start)))
            }
            false => None,
        };
        // Nothing is no change.
        if self.s.tok.start == start {
            return self.fail();
        }
        Ok(Stmt::AlterEvent(self.alloc(AlterEvent { definer: of.definer, name, head, body })))
    }

    /// Where the text of a body begins, behind DO: with the comments before it.
    pub(super) fn body_start(&self) -> u32 {
        let between = Span { start: self.s.prev_end, end: self.s.tok.start }.of(self.sql);
        self.s.prev_end + between.iter().take_while(|b| b.is_ascii_whitespace()).count() as u32
    }

    fn event_schedule(&mut self) -> R<EventSchedule<'a>> {
        if self.eat_kw(Kw::At) {
            return Ok(EventSchedule::At(self.expr()?));
        }
        self.expect_kw(Kw::Every)?;
        let (value, unit) = (self.expr()?, self.unit()?);
        let starts = if self.eat_kw(Kw::Starts) { Some(self.expr()?) } else { None };
        let ends = if self.eat_kw(Kw::Ends) { Some(self.expr()?) } else { None };
        Ok(EventSchedule::Every { value, unit, starts, ends })
    }

    /// Behind ON.
    fn on_completion(&mut self) -> R<bool> {
        self.expect_kw(Kw::Completion)?;
        let not = self.eat_kw(Kw::Not);
        self.expect_kw(Kw::Preserve)?;
        Ok(!not)
    }

    fn event_status(&mut self) -> R<Option<EventStatus>> {
        if self.eat_kw(Kw::Enable) {
            return Ok(Some(EventStatus::Enabled));
        }
        if !self.eat_kw(Kw::Disable) {
            return Ok(None);
        }
        if !self.eat_kw(Kw::On) {
            return Ok(Some(EventStatus::Disabled));
        }
        self.expect_kw(Kw::Slave)?;
        Ok(Some(EventStatus::SlavesideDisabled))
    }

    fn event_comment(&mut self) -> R<Option<&'a [u8]>> {
        if self.eat_kw(Kw::Comment) { self.text().map(Some) } else { Ok(None) }
    }
}
