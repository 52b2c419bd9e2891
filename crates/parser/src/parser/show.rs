//! SHOW, DESCRIBE, EXPLAIN.

use super::{Parser, R};
use crate::ast::{
    Explain, ExplainFormat, ExplainTarget, Ident, ObjectName, ProgramKind, Show, ShowEngine, ShowFilter,
    Stmt, VarScope,
};
use crate::keyword::Kw;
use crate::token::T;

impl<'a> Parser<'a> {
    pub(super) fn show(&mut self) -> R<Stmt<'a>> {
        self.expect_kw(Kw::Show)?;
        let show = self.show_what()?;
        Ok(Stmt::Show(self.alloc(show)))
    }

    fn show_what(&mut self) -> R<Show<'a>> {
        let kw = self.kw();
        self.advance();
        let show = match kw {
            Kw::Databases | Kw::Schemas => Show::Databases(self.filter_clause()?),
            Kw::Full | Kw::Extended => return self.show_full(),
            Kw::Tables => self.show_tables(false)?,
            Kw::Columns | Kw::Fields => self.show_columns(false)?,
            Kw::Processlist => Show::Processlist { full: false },
            Kw::Table => {
                self.expect_kw(Kw::Status)?;
                let schema = self.schema_clause()?;
                Show::TableStatus { schema, filter: self.filter_clause()? }
            }
            Kw::Open => {
                self.expect_kw(Kw::Tables)?;
                let schema = self.schema_clause()?;
                Show::OpenTables { schema, filter: self.filter_clause()? }
            }
            Kw::Index | Kw::Indexes | Kw::Keys => {
                let table = self.table_clause()?;
                Show::Index { table, filter: self.where_clause()? }
            }
            Kw::Triggers => {
                let schema = self.schema_clause()?;
                Show::Triggers { schema, filter: self.filter_clause()? }
            }
            Kw::Events => {
                let schema = self.schema_clause()?;
                Show::Events { schema, filter: self.filter_clause()? }
            }
            Kw::Create => self.show_create()?,
            Kw::Variables => Show::Variables { scope: VarScope::Implicit, filter: self.filter_clause()? },
            Kw::Status => Show::Status { scope: VarScope::Implicit, filter: self.filter_clause()? },
            Kw::Global => self.show_scoped(VarScope::Global)?,
            Kw::Session | Kw::Local => self.show_scoped(VarScope::Session)?,
            Kw::Warnings => Show::Warnings(self.limit()?),
            Kw::Errors => Show::Errors(self.limit()?),
            Kw::Count => self.show_count()?,
            Kw::Engines => Show::Engines,
            Kw::Storage => {
                self.expect_kw(Kw::Engines)?;
                Show::Engines
            }
            Kw::Engine => self.show_engine()?,
            Kw::Character | Kw::Char => {
                self.expect_kw(Kw::Set)?;
                Show::CharacterSet(self.filter_clause()?)
            }
            Kw::Charset => Show::CharacterSet(self.filter_clause()?),
            Kw::Collation => Show::Collation(self.filter_clause()?),
            Kw::Grants => {
                let user = if self.eat_kw(Kw::For) { Some(self.user_name()?) } else { None };
                let using = user.is_some() && self.eat_kw(Kw::Using);
                let using = if using { self.comma_list(Self::user_name)? } else { &[] };
                Show::Grants { user, using }
            }
            Kw::Privileges => Show::Privileges,
            Kw::Plugins => Show::Plugins,
            Kw::Procedure | Kw::Function => self.show_program(kw)?,
            Kw::Profiles => Show::Profiles,
            Kw::Profile => {
                self.rest_of_statement();
                Show::Profile
            }
            Kw::Master => {
                if self.eat_kw(Kw::Logs) {
                    Show::BinaryLogs
                } else {
                    self.expect_kw(Kw::Status)?;
                    Show::MasterStatus
                }
            }
            Kw::Slave => {
                if self.eat_kw(Kw::Hosts) {
                    Show::SlaveHosts
                } else {
                    self.expect_kw(Kw::Status)?;
                    self.rest_of_statement();
                    Show::SlaveStatus
                }
            }
            Kw::Binary => {
                self.expect_kw(Kw::Logs)?;
                Show::BinaryLogs
            }
            Kw::Binlog | Kw::Relaylog => self.show_binlog(kw == Kw::Relaylog)?,
            Kw::Authors => Show::Authors,
            Kw::Contributors => Show::Contributors,
            _ => return self.fail_at_previous(),
        };
        Ok(show)
    }

    /// After SHOW FULL.
    fn show_full(&mut self) -> R<Show<'a>> {
        let kw = self.kw();
        self.advance();
        match kw {
            Kw::Tables => self.show_tables(true),
            Kw::Columns | Kw::Fields => self.show_columns(true),
            Kw::Processlist => Ok(Show::Processlist { full: true }),
            _ => self.fail_at_previous(),
        }
    }

    fn show_tables(&mut self, full: bool) -> R<Show<'a>> {
        let schema = self.schema_clause()?;
        Ok(Show::Tables { full, schema, filter: self.filter_clause()? })
    }

    fn show_columns(&mut self, full: bool) -> R<Show<'a>> {
        let table = self.table_clause()?;
        Ok(Show::Columns { full, table, filter: self.filter_clause()? })
    }

    fn show_scoped(&mut self, scope: VarScope) -> R<Show<'a>> {
        if self.eat_kw(Kw::Variables) {
            return Ok(Show::Variables { scope, filter: self.filter_clause()? });
        }
        self.expect_kw(Kw::Status)?;
        Ok(Show::Status { scope, filter: self.filter_clause()? })
    }

    /// `COUNT(*) WARNINGS | ERRORS`.
    fn show_count(&mut self) -> R<Show<'a>> {
        if !self.at(T::LParen) {
            return self.fail_at_previous();
        }
        self.advance();
        self.expect(T::Star)?;
        self.expect(T::RParen)?;
        if self.eat_kw(Kw::Warnings) {
            return Ok(Show::CountWarnings);
        }
        self.expect_kw(Kw::Errors)?;
        Ok(Show::CountErrors)
    }

    fn show_engine(&mut self) -> R<Show<'a>> {
        let name = if self.eat_kw(Kw::All) { None } else { Some(self.ident_or_text()?) };
        let what = match self.kw() {
            Kw::Status => ShowEngine::Status,
            Kw::Mutex => ShowEngine::Mutex,
            Kw::Logs => ShowEngine::Logs,
            _ => return self.fail(),
        };
        self.advance();
        Ok(Show::Engine { name, what })
    }

    fn show_program(&mut self, kw: Kw) -> R<Show<'a>> {
        let kind = if kw == Kw::Procedure { ProgramKind::Procedure } else { ProgramKind::Function };
        if self.eat_kw(Kw::Code) {
            return Ok(Show::ProgramCode { kind, name: self.object_name()? });
        }
        self.expect_kw(Kw::Status)?;
        Ok(Show::ProgramStatus { kind, filter: self.filter_clause()? })
    }

    fn show_create(&mut self) -> R<Show<'a>> {
        let kw = self.kw();
        match kw {
            Kw::Procedure | Kw::Function | Kw::Trigger | Kw::Event => {
                let kind = self.program_kind()?;
                return Ok(Show::CreateProgram { kind, name: self.object_name()? });
            }
            _ => self.advance(),
        }
        match kw {
            Kw::Table => self.object_name().map(Show::CreateTable),
            Kw::View => self.object_name().map(Show::CreateView),
            Kw::Database | Kw::Schema => {
                let if_not_exists = self.if_not_exists()?;
                Ok(Show::CreateDatabase { name: self.ident()?, if_not_exists })
            }
            Kw::User => self.user_name().map(Show::CreateUser),
            _ => self.fail_at_previous(),
        }
    }

    /// `[IN 'log'] [FROM n] [LIMIT …]`.
    fn show_binlog(&mut self, relay: bool) -> R<Show<'a>> {
        self.expect_kw(Kw::Events)?;
        let log = if self.eat_kw(Kw::In) { Some(self.text()?) } else { None };
        let from = if self.eat_kw(Kw::From) { Some(self.number()?) } else { None };
        Ok(Show::BinlogEvents { relay, log, from, limit: self.limit()? })
    }

    /// `FROM d`, `IN d` or nothing.
    fn schema_clause(&mut self) -> R<Option<Ident<'a>>> {
        if self.eat_kw(Kw::From) || self.eat_kw(Kw::In) { self.ident().map(Some) } else { Ok(None) }
    }

    /// `FROM t [FROM d]`.
    fn table_clause(&mut self) -> R<ObjectName<'a>> {
        if !self.eat_kw(Kw::From) {
            self.expect_kw(Kw::In)?;
        }
        let table = self.object_name()?;
        let schema = self.schema_clause()?.or(table.schema);
        Ok(ObjectName { schema, name: table.name })
    }

    /// A pattern of names, as these in UTF-8.
    fn like_text(&mut self) -> R<&'a [u8]> {
        Ok(self.text().map(|text| self.named(text))?.name)
    }

    fn filter_clause(&mut self) -> R<ShowFilter<'a>> {
        if self.eat_kw(Kw::Like) {
            return self.like_text().map(ShowFilter::Like);
        }
        self.where_clause()
    }

    fn where_clause(&mut self) -> R<ShowFilter<'a>> {
        if self.eat_kw(Kw::Where) { self.expr_ref().map(ShowFilter::Where) } else { Ok(ShowFilter::None) }
    }

    /// A syntax error at the token that was just taken.
    #[cold]
    fn fail_at_previous<V>(&mut self) -> R<V> {
        let end = self.s.prev_end as usize;
        // The words of SHOW hold no space: go back to the start of the last one.
        let text = &self.sql[..end];
        let start = text.iter().rposition(|byte| byte.is_ascii_whitespace()).map_or(0, |at| at + 1);
        self.failure.get_or_insert((crate::error::ParseErrorKind::Syntax, start));
        Err(super::Fail)
    }

    /// DESCRIBE, DESC, EXPLAIN.
    pub(super) fn describe(&mut self) -> R<Stmt<'a>> {
        self.advance();
        let explains = match self.kw() {
            Kw::Extended | Kw::Partitions | Kw::Format | Kw::Analyze => {
                !matches!(self.peek().kind, T::Eof | T::Semi | T::Dot)
            }
            Kw::For => true,
            _ => self.at(T::LParen) || self.at_explainable(),
        };
        if explains {
            return self.explain();
        }
        let table = self.object_name()?;
        let filter = match self.s.tok.kind {
            T::String => ShowFilter::Like(self.like_text()?),
            _ if self.at_ident() => ShowFilter::Like(self.ident()?.name),
            _ => ShowFilter::None,
        };
        Ok(Stmt::Show(self.alloc(Show::Columns { full: false, table, filter })))
    }

    fn at_explainable(&self) -> bool {
        matches!(
            self.kw(),
            Kw::Select | Kw::Insert | Kw::Replace | Kw::Update | Kw::Delete | Kw::With | Kw::Table
        ) || (self.at_kw(Kw::Values) && self.peek().kw == Kw::Row)
    }

    fn explain(&mut self) -> R<Stmt<'a>> {
        let mut explain = Explain {
            format: ExplainFormat::Traditional,
            extended: false,
            partitions: false,
            analyze: false,
            target: ExplainTarget::Connection(0),
        };
        loop {
            match self.kw() {
                Kw::Extended => explain.extended = true,
                Kw::Partitions => explain.partitions = true,
                Kw::Analyze => explain.analyze = true,
                Kw::Format => {
                    self.advance();
                    self.expect(T::Eq)?;
                    explain.format = self.explain_format()?;
                    continue;
                }
                _ => break,
            }
            self.advance();
        }
        if self.eat_kw(Kw::For) {
            self.expect_kw(Kw::Connection)?;
            explain.target = ExplainTarget::Connection(self.number()?);
        } else {
            if !self.at(T::LParen) && !self.at_explainable() {
                return self.fail();
            }
            let stmt = self.any_statement()?;
            explain.target = ExplainTarget::Statement(self.alloc(stmt));
        }
        Ok(Stmt::Explain(self.alloc(explain)))
    }

    fn explain_format(&mut self) -> R<ExplainFormat<'a>> {
        let name = self.ident_or_text()?;
        Ok(if name.is("json") {
            ExplainFormat::Json
        } else if name.is("traditional") {
            ExplainFormat::Traditional
        } else {
            ExplainFormat::Other(name)
        })
    }
}
