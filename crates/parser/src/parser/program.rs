//! CREATE PROCEDURE, FUNCTION, TRIGGER, EVENT: the head.

use super::schema::CreateHead;
use super::{Parser, R};
use crate::ast::{
    AlterProgram, Characteristics, CreateProgram, DataAccess, DropProgram, ParamMode, ProgramKind,
    ProgramParam, ProgramStmt, Span, Stmt, TriggerEvent, TriggerHead,
};
use crate::keyword::Kw;
use crate::token::T;

impl<'a> Parser<'a> {
    /// At PROCEDURE, FUNCTION, TRIGGER or EVENT.
    pub(super) fn create_program(&mut self, head: CreateHead<'a>) -> R<Stmt<'a>> {
        let first = self.s.tok.start;
        if head.algorithm.is_some() || head.or_replace {
            return self.fail();
        }
        let kind = self.program_kind()?;
        let if_not_exists = self.if_not_exists()?;
        let name = self.object_name()?;
        let mut program = CreateProgram {
            kind,
            if_not_exists,
            definer: head.definer,
            name,
            params: &[],
            returns: None,
            trigger: None,
            params_text: Span::default(),
            returns_text: Span::default(),
            characteristics: Characteristics::default(),
            event: None,
            code: &ProgramStmt::Set(&[]),
            body: Span::default(),
        };
        match kind {
            ProgramKind::Procedure | ProgramKind::Function => {
                if self.loadable_function() {
                    return self.unsupported("CREATE FUNCTION … SONAME");
                }
                self.program_params(&mut program)?;
                program.characteristics = self.characteristics()?;
            }
            ProgramKind::Trigger => program.trigger = Some(self.trigger_head(first)?),
            ProgramKind::Event => {
                program.event = Some(self.event_head()?);
                self.expect_kw(Kw::Do)?;
            }
        }
        let start = match kind {
            ProgramKind::Event => self.body_start(),
            _ => self.s.tok.start,
        };
        self.row_columns = program.trigger.is_some().then(Vec::new);
        program.code = self.program_body()?;
        program.body = self.span_from(start);
        if let (Some(trigger), Some(columns)) = (&mut program.trigger, self.row_columns.take()) {
            trigger.columns = self.arena.alloc_slice_copy(&columns);
        }
        Ok(Stmt::CreateProgram(self.alloc(program)))
    }

    pub(super) fn program_kind(&mut self) -> R<ProgramKind> {
        let kind = match self.kw() {
            Kw::Procedure => ProgramKind::Procedure,
            Kw::Function => ProgramKind::Function,
            Kw::Trigger => ProgramKind::Trigger,
            Kw::Event => ProgramKind::Event,
            _ => return self.fail(),
        };
        self.advance();
        Ok(kind)
    }

    /// `RETURNS …` right after the name: a function in a shared library.
    fn loadable_function(&self) -> bool {
        self.at_kw(Kw::Returns)
    }

    fn program_params(&mut self, program: &mut CreateProgram<'a>) -> R<()> {
        let function = program.kind == ProgramKind::Function;
        self.expect(T::LParen)?;
        let start = self.s.prev_end;
        if !self.at(T::RParen) {
            program.params = self.comma_list(|parser| {
                let mode = match parser.kw() {
                    _ if function => None,
                    Kw::In => Some(ParamMode::In),
                    Kw::Out => Some(ParamMode::Out),
                    Kw::Inout => Some(ParamMode::InOut),
                    _ => None,
                };
                if mode.is_some() {
                    parser.advance();
                }
                let name = parser.ident()?;
                let data_type = parser.column_type()?;
                Ok(ProgramParam { mode: mode.unwrap_or(ParamMode::In), name, data_type })
            })?;
        }
        program.params_text = Span { start, end: self.s.tok.start };
        self.expect(T::RParen)?;
        if function {
            self.expect_kw(Kw::Returns)?;
            let start = self.s.tok.start;
            program.returns = Some(self.column_type()?);
            program.returns_text = self.span_from(start);
        }
        Ok(())
    }

    /// `DETERMINISTIC`, `READS SQL DATA`, `COMMENT '…'` and so on; the last of a kind counts.
    fn characteristics(&mut self) -> R<Characteristics<'a>> {
        let mut found = Characteristics::default();
        loop {
            let kw = self.kw();
            match kw {
                Kw::Comment => {
                    self.advance();
                    found.comment = Some(self.text()?);
                }
                Kw::Language => {
                    self.advance();
                    self.expect_kw(Kw::Sql)?;
                }
                Kw::Not => {
                    self.advance();
                    self.expect_kw(Kw::Deterministic)?;
                    found.deterministic = Some(false);
                }
                Kw::Deterministic => {
                    self.advance();
                    found.deterministic = Some(true);
                }
                Kw::Contains | Kw::No => {
                    self.advance();
                    self.expect_kw(Kw::Sql)?;
                    let access = if kw == Kw::No { DataAccess::No } else { DataAccess::Contains };
                    found.access = Some(access);
                }
                Kw::Reads | Kw::Modifies => {
                    self.advance();
                    self.expect_kw(Kw::Sql)?;
                    self.expect_kw(Kw::Data)?;
                    let access = if kw == Kw::Reads { DataAccess::Reads } else { DataAccess::Modifies };
                    found.access = Some(access);
                }
                Kw::Sql => {
                    self.advance();
                    self.expect_kw(Kw::Security)?;
                    let definer = self.eat_kw(Kw::Definer);
                    if !definer {
                        self.expect_kw(Kw::Invoker)?;
                    }
                    found.invoker = Some(!definer);
                }
                _ => return Ok(found),
            }
        }
    }

    /// ALTER PROCEDURE, FUNCTION, at that word.
    pub(super) fn alter_program(&mut self) -> R<Stmt<'a>> {
        let function = self.at_kw(Kw::Function);
        self.advance();
        let name = self.object_name()?;
        let characteristics = self.characteristics()?;
        Ok(Stmt::AlterProgram(self.alloc(AlterProgram { function, name, characteristics })))
    }

    /// `first`: where the word TRIGGER stands.
    fn trigger_head(&mut self, first: u32) -> R<TriggerHead<'a>> {
        let before = self.at_kw(Kw::Before);
        if !before && !self.at_kw(Kw::After) {
            return self.fail();
        }
        self.advance();
        let event = match self.kw() {
            Kw::Insert => TriggerEvent::Insert,
            Kw::Update => TriggerEvent::Update,
            Kw::Delete => TriggerEvent::Delete,
            _ => return self.fail(),
        };
        self.advance();
        // With what stands before the next word: it is shown as it was written.
        let on_start = self.s.tok.start;
        let head = Span { start: first, end: on_start };
        self.expect_kw(Kw::On)?;
        let table = self.object_name()?;
        let each_start = self.s.tok.start;
        let on = Span { start: on_start, end: each_start };
        self.expect_kw(Kw::For)?;
        self.expect_kw(Kw::Each)?;
        self.expect_kw(Kw::Row)?;
        let each = Span { start: each_start, end: self.s.tok.start };
        let order = match self.kw() {
            kw @ (Kw::Follows | Kw::Precedes) => {
                self.advance();
                Some((kw == Kw::Follows, self.ident()?))
            }
            _ => None,
        };
        Ok(TriggerHead { before, event, table, order, head, on, each, columns: &[] })
    }

    /// DROP PROCEDURE, FUNCTION, TRIGGER, EVENT.
    pub(super) fn drop_program(&mut self) -> R<Stmt<'a>> {
        let kind = self.program_kind()?;
        let if_exists = self.if_exists()?;
        Ok(Stmt::DropProgram(DropProgram { kind, if_exists, name: self.object_name()? }))
    }
}
