//! Prepared statements, table maintenance, administration.

use super::{Parser, R};
use crate::ast::{
    Execute, Flush, FlushLock, FlushOption, FlushWhat, Kill, Maintain, MaintainAction, MaintainOptions,
    Prepare, PrepareSource, ResetOption, Stmt,
};
use crate::keyword::Kw;
use crate::token::T;

impl<'a> Parser<'a> {
    pub(super) fn prepare(&mut self) -> R<Stmt<'a>> {
        self.expect_kw(Kw::Prepare)?;
        let name = self.ident()?;
        self.expect_kw(Kw::From)?;
        let source = if self.at(T::UserVar) {
            PrepareSource::Var(self.user_var_name())
        } else {
            PrepareSource::Text(self.text()?)
        };
        Ok(Stmt::Prepare(self.alloc(Prepare { name, source })))
    }

    pub(super) fn execute(&mut self) -> R<Stmt<'a>> {
        self.expect_kw(Kw::Execute)?;
        let name = self.ident()?;
        let using = if self.eat_kw(Kw::Using) { self.comma_list(Self::user_var_required)? } else { &[] };
        Ok(Stmt::Execute(self.alloc(Execute { name, using })))
    }

    pub(super) fn deallocate(&mut self) -> R<Stmt<'a>> {
        self.expect_kw(Kw::Deallocate)?;
        self.expect_kw(Kw::Prepare)?;
        self.ident().map(Stmt::Deallocate)
    }

    /// `NO_WRITE_TO_BINLOG`, `LOCAL` or nothing.
    pub(super) fn skip_no_binlog(&mut self) -> bool {
        self.eat_kw(Kw::NoWriteToBinlog) || self.eat_kw(Kw::Local)
    }

    /// ANALYZE, CHECK, OPTIMIZE, REPAIR, CHECKSUM TABLE.
    pub(super) fn maintain(&mut self, action: MaintainAction) -> R<Stmt<'a>> {
        self.advance();
        let may_skip = !matches!(action, MaintainAction::Check | MaintainAction::Checksum);
        let no_binlog = may_skip && self.skip_no_binlog();
        if !self.eat_kw(Kw::Tables) {
            self.expect_kw(Kw::Table)?;
        }
        let tables = self.object_name_list()?;
        let options = match action {
            MaintainAction::Analyze | MaintainAction::Optimize => MaintainOptions::default(),
            _ => self.maintain_options(),
        };
        Ok(Stmt::Maintain(self.alloc(Maintain { action, no_binlog, tables, partitions: None, options })))
    }

    pub(super) fn maintain_options(&mut self) -> MaintainOptions {
        let mut options = MaintainOptions::default();
        loop {
            let option = match self.kw() {
                Kw::Quick => &mut options.quick,
                Kw::Fast => &mut options.fast,
                Kw::Medium => &mut options.medium,
                Kw::Extended => &mut options.extended,
                Kw::Changed => &mut options.changed,
                Kw::UseFrm => &mut options.use_frm,
                Kw::For if self.peek().kw == Kw::Upgrade => {
                    self.advance();
                    &mut options.for_upgrade
                }
                _ => return options,
            };
            *option = true;
            self.advance();
        }
    }

    pub(super) fn kill(&mut self) -> R<Stmt<'a>> {
        self.expect_kw(Kw::Kill)?;
        let query = self.eat_kw(Kw::Query);
        if !query {
            self.eat_kw(Kw::Connection);
        }
        let id = self.expr()?;
        Ok(Stmt::Kill(self.alloc(Kill { query, id })))
    }

    pub(super) fn flush(&mut self) -> R<Stmt<'a>> {
        self.expect_kw(Kw::Flush)?;
        let no_binlog = self.skip_no_binlog();
        let what = if matches!(self.kw(), Kw::Table | Kw::Tables) {
            self.advance();
            self.flush_tables()?
        } else {
            FlushWhat::Options(self.comma_list(Self::flush_option)?)
        };
        Ok(Stmt::Flush(self.alloc(Flush { no_binlog, what })))
    }

    fn flush_tables(&mut self) -> R<FlushWhat<'a>> {
        let tables = if self.at_ident() { self.object_name_list()? } else { &[] };
        let lock = if self.eat_kw(Kw::With) {
            self.expect_kw(Kw::Read)?;
            self.expect_kw(Kw::Lock)?;
            FlushLock::Read
        } else if !tables.is_empty() && self.eat_kw(Kw::For) {
            self.expect_kw(Kw::Export)?;
            FlushLock::Export
        } else {
            FlushLock::None
        };
        Ok(FlushWhat::Tables { tables, lock })
    }

    fn flush_option(&mut self) -> R<FlushOption> {
        let kw = self.kw();
        let option = match kw {
            Kw::Privileges => FlushOption::Privileges,
            Kw::Logs => FlushOption::Logs,
            Kw::Binary | Kw::Engine | Kw::Error | Kw::General | Kw::Relay | Kw::Slow => {
                self.advance();
                if !self.at_kw(Kw::Logs) {
                    return self.fail();
                }
                FlushOption::Logs
            }
            Kw::Status => FlushOption::Status,
            Kw::Hosts => FlushOption::Hosts,
            Kw::Query => {
                self.advance();
                if !self.at_kw(Kw::Cache) {
                    return self.fail();
                }
                FlushOption::QueryCache
            }
            Kw::DesKeyFile => FlushOption::DesKeyFile,
            Kw::UserResources => FlushOption::UserResources,
            Kw::Master => FlushOption::Master,
            Kw::Slave => FlushOption::Slave,
            Kw::OptimizerCosts => FlushOption::OptimizerCosts,
            _ => return self.fail(),
        };
        self.advance();
        Ok(option)
    }

    pub(super) fn reset(&mut self) -> R<Stmt<'a>> {
        self.expect_kw(Kw::Reset)?;
        self.comma_list(|parser| {
            let option = match parser.kw() {
                Kw::Master => ResetOption::Master,
                Kw::Slave => ResetOption::Slave,
                Kw::Query => {
                    parser.advance();
                    if !parser.at_kw(Kw::Cache) {
                        return parser.fail();
                    }
                    ResetOption::QueryCache
                }
                _ => return parser.fail(),
            };
            parser.advance();
            if option == ResetOption::Slave {
                parser.eat_kw(Kw::All);
            }
            Ok(option)
        })
        .map(Stmt::Reset)
    }

    pub(super) fn help(&mut self) -> R<Stmt<'a>> {
        self.expect_kw(Kw::Help)?;
        let topic = if self.at(T::String) { self.text()? } else { self.ident()?.name };
        Ok(Stmt::Help(topic))
    }
}
