//! Statements by their first word.

use super::{Parser, R};
use crate::ast::{MaintainAction, Stmt};
use crate::keyword::Kw;
use crate::token::T;

impl<'a> Parser<'a> {
    pub(super) fn any_statement(&mut self) -> R<Stmt<'a>> {
        match self.kw() {
            Kw::Select | Kw::Table => self.query().map(Stmt::Query),
            Kw::Insert | Kw::Replace => self.insert(),
            Kw::Update => self.update(None),
            Kw::Delete => self.delete(None),
            Kw::Other if self.at(T::LParen) => self.query_in_parens().map(Stmt::Query),
            Kw::With => self.with_statement(),
            Kw::Values if self.peek().kw == Kw::Row => self.query().map(Stmt::Query),
            Kw::Set => self.set(),
            Kw::Commit => self.commit(),
            Kw::Begin => self.begin(),
            Kw::Rollback => self.rollback(),
            Kw::Start => self.start(),
            Kw::Savepoint => self.savepoint(),
            Kw::Release => self.release(),
            Kw::Xa => self.xa(),
            Kw::Lock => self.lock_tables(),
            Kw::Unlock => self.unlock_tables(),
            Kw::Use => {
                self.advance();
                self.ident().map(Stmt::Use)
            }
            Kw::Show => self.show(),
            Kw::Desc | Kw::Describe | Kw::Explain => self.nested(Self::describe),
            Kw::Create => self.create(),
            Kw::Alter => self.alter(),
            Kw::Drop => self.drop(),
            Kw::Truncate => self.truncate(),
            Kw::Rename => self.rename(),
            Kw::Load => self.load_statement(),
            Kw::Import => self.import_tables(),
            Kw::Do => self.do_statement(),
            Kw::Call => self.call_statement(),
            Kw::Handler => self.handler(),
            Kw::Prepare => self.prepare(),
            Kw::Execute => self.execute(),
            Kw::Deallocate => self.deallocate(),
            Kw::Analyze => self.maintain(MaintainAction::Analyze),
            Kw::Check => self.maintain(MaintainAction::Check),
            Kw::Optimize => self.maintain(MaintainAction::Optimize),
            Kw::Repair => self.maintain(MaintainAction::Repair),
            Kw::Checksum => self.maintain(MaintainAction::Checksum),
            Kw::Kill => self.kill(),
            Kw::Flush => self.flush(),
            Kw::Reset => self.reset(),
            Kw::Help => self.help(),
            Kw::Shutdown => {
                self.advance();
                Ok(Stmt::Shutdown)
            }
            Kw::Grant | Kw::Revoke => self.grant(),
            kw => self.other_statement(kw),
        }
    }

    /// `WITH … SELECT | UPDATE | DELETE`.
    fn with_statement(&mut self) -> R<Stmt<'a>> {
        let bookmark = (self.s, self.joins);
        let with = self.with()?;
        match self.kw() {
            Kw::Update => self.update(Some(with)),
            Kw::Delete => self.delete(Some(with)),
            _ => {
                (self.s, self.joins) = bookmark;
                self.query().map(Stmt::Query)
            }
        }
    }

    fn load_statement(&mut self) -> R<Stmt<'a>> {
        if self.peek().kw == Kw::Index {
            return self.unsupported("LOAD INDEX INTO CACHE");
        }
        self.load()
    }

    /// Statements whose syntax is read over, and those that are none.
    fn other_statement(&mut self, kw: Kw) -> R<Stmt<'a>> {
        let next = self.peek().kw;
        let feature = match (kw, next) {
            (Kw::Change, Kw::Master) => "CHANGE MASTER TO",
            (Kw::Stop, Kw::Slave) => "STOP SLAVE",
            (Kw::Purge, Kw::Binary | Kw::Master) => "PURGE BINARY LOGS",
            (Kw::Install, Kw::Plugin) => "INSTALL PLUGIN",
            (Kw::Uninstall, Kw::Plugin) => "UNINSTALL PLUGIN",
            (Kw::Cache, Kw::Index) => "CACHE INDEX",
            (Kw::Binlog, _) => "BINLOG",
            (Kw::Signal | Kw::Resignal, _) => return self.signal(),
            (Kw::Get, _) => return self.get_diagnostics(),
            _ => return self.fail(),
        };
        self.unsupported(feature)
    }
}
