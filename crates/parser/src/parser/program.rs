//! CREATE PROCEDURE, FUNCTION, TRIGGER, EVENT: the head; the body is found, not parsed.

use super::schema::CreateHead;
use super::{Parser, R};
use crate::ast::{
    CreateProgram, DropProgram, ParamMode, ProgramKind, ProgramParam, Span, Stmt, TriggerEvent, TriggerHead,
};
use crate::keyword::Kw;
use crate::token::T;

impl<'a> Parser<'a> {
    /// At PROCEDURE, FUNCTION, TRIGGER or EVENT.
    pub(super) fn create_program(&mut self, head: CreateHead<'a>) -> R<Stmt<'a>> {
        let kind = self.program_kind()?;
        if head.algorithm.is_some() || head.or_replace {
            return self.fail();
        }
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
            characteristics: Span::default(),
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
            ProgramKind::Trigger => program.trigger = Some(self.trigger_head()?),
            ProgramKind::Event => {
                let start = self.s.tok.start;
                self.expect_kw(Kw::On)?;
                self.expect_kw(Kw::Schedule)?;
                while !self.at_kw(Kw::Do) && !self.at_end() && !self.at(T::Error) {
                    self.advance();
                }
                program.characteristics = self.span_from(start);
                self.expect_kw(Kw::Do)?;
            }
        }
        program.body = self.body()?;
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
        self.expect(T::RParen)?;
        if function {
            self.expect_kw(Kw::Returns)?;
            program.returns = Some(self.column_type()?);
        }
        Ok(())
    }

    /// `DETERMINISTIC`, `READS SQL DATA`, `COMMENT '…'` and so on.
    fn characteristics(&mut self) -> R<Span> {
        let start = self.s.tok.start;
        loop {
            match self.kw() {
                Kw::Comment => {
                    self.advance();
                    self.text()?;
                }
                Kw::Language => {
                    self.advance();
                    self.expect_kw(Kw::Sql)?;
                }
                Kw::Not => {
                    self.advance();
                    self.expect_kw(Kw::Deterministic)?;
                }
                Kw::Deterministic => self.advance(),
                Kw::Contains | Kw::No => {
                    self.advance();
                    self.expect_kw(Kw::Sql)?;
                }
                Kw::Reads | Kw::Modifies => {
                    self.advance();
                    self.expect_kw(Kw::Sql)?;
                    self.expect_kw(Kw::Data)?;
                }
                Kw::Sql => {
                    self.advance();
                    self.expect_kw(Kw::Security)?;
                    if !self.eat_kw(Kw::Definer) {
                        self.expect_kw(Kw::Invoker)?;
                    }
                }
                _ => return Ok(Span { start, end: self.s.prev_end.max(start) }),
            }
        }
    }

    fn trigger_head(&mut self) -> R<TriggerHead<'a>> {
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
        self.expect_kw(Kw::On)?;
        let table = self.object_name()?;
        self.expect_kw(Kw::For)?;
        self.expect_kw(Kw::Each)?;
        self.expect_kw(Kw::Row)?;
        if matches!(self.kw(), Kw::Follows | Kw::Precedes) {
            self.advance();
            self.ident()?;
        }
        Ok(TriggerHead { before, event, table })
    }

    /// The body: to the semicolon that is inside of no BEGIN, CASE, IF, LOOP, REPEAT or WHILE.
    fn body(&mut self) -> R<Span> {
        let start = self.s.tok.start;
        if self.at_end() {
            return self.fail();
        }
        let mut open = 0u32;
        // IF, REPEAT and the like are also functions, and words after END.
        let mut statement_start = true;
        loop {
            let kind = self.s.tok.kind;
            let kw = self.kw();
            match kind {
                T::Eof if open > 0 => return self.fail(),
                T::Error => return self.fail(),
                T::Eof => break,
                T::Semi if open == 0 => break,
                _ => {}
            }
            // BEGIN also follows the condition of a handler; nowhere in a body is it anything else.
            let compound = matches!(kw, Kw::If | Kw::While | Kw::Loop | Kw::Repeat);
            if matches!(kw, Kw::Case | Kw::Begin) || (statement_start && compound) {
                open += 1;
            } else if kw == Kw::End {
                let Some(less) = open.checked_sub(1) else { return self.fail() };
                open = less;
                let ended = matches!(self.peek().kw, Kw::If | Kw::Case | Kw::While | Kw::Loop | Kw::Repeat);
                if ended {
                    self.advance();
                }
            }
            statement_start = self.starts_statement(kind, kw);
            self.advance();
        }
        Ok(self.span_from(start))
    }

    /// Whether a statement begins after the current token: `;`, `label:`, THEN, ELSE, DO, LOOP, REPEAT, BEGIN.
    fn starts_statement(&self, kind: T, kw: Kw) -> bool {
        matches!(kind, T::Semi | T::Colon)
            || matches!(kw, Kw::Then | Kw::Else | Kw::Do | Kw::Loop | Kw::Repeat | Kw::Begin)
    }

    /// DROP PROCEDURE, FUNCTION, TRIGGER, EVENT.
    pub(super) fn drop_program(&mut self) -> R<Stmt<'a>> {
        let kind = self.program_kind()?;
        let if_exists = self.if_exists()?;
        Ok(Stmt::DropProgram(DropProgram { kind, if_exists, name: self.object_name()? }))
    }
}
