//! Transactions, XA, LOCK TABLES.

use super::{Parser, R};
use crate::ast::{
    AccessMode, Completion, Isolation, Stmt, TableLock, TableLockKind, Txn, VarScope, Xa, XaStartOption, Xid,
};
use crate::keyword::Kw;
use crate::token::T;

impl<'a> Parser<'a> {
    fn txn(&self, txn: Txn<'a>) -> Stmt<'a> {
        Stmt::Txn(self.alloc(txn))
    }

    pub(super) fn start(&mut self) -> R<Stmt<'a>> {
        self.expect_kw(Kw::Start)?;
        if self.at_kw(Kw::Slave) {
            return self.unsupported("START SLAVE");
        }
        self.expect_kw(Kw::Transaction)?;
        let (mut consistent_snapshot, mut access) = (false, None);
        if !self.at_end() {
            loop {
                match self.kw() {
                    Kw::With => {
                        self.advance();
                        self.expect_kw(Kw::Consistent)?;
                        self.expect_kw(Kw::Snapshot)?;
                        consistent_snapshot = true;
                    }
                    Kw::Read if access.is_none() => access = Some(self.access_mode()?),
                    _ => return self.fail(),
                }
                if !self.eat(T::Comma) {
                    break;
                }
            }
        }
        Ok(self.txn(Txn::Start { consistent_snapshot, access }))
    }

    /// `READ ONLY`, `READ WRITE`.
    fn access_mode(&mut self) -> R<AccessMode> {
        self.expect_kw(Kw::Read)?;
        let mode = match self.kw() {
            Kw::Only => AccessMode::ReadOnly,
            Kw::Write => AccessMode::ReadWrite,
            _ => return self.fail(),
        };
        self.advance();
        Ok(mode)
    }

    pub(super) fn begin(&mut self) -> R<Stmt<'a>> {
        self.expect_kw(Kw::Begin)?;
        self.eat_kw(Kw::Work);
        Ok(self.txn(Txn::Start { consistent_snapshot: false, access: None }))
    }

    pub(super) fn commit(&mut self) -> R<Stmt<'a>> {
        self.expect_kw(Kw::Commit)?;
        self.eat_kw(Kw::Work);
        let completion = self.completion()?;
        Ok(self.txn(Txn::Commit(completion)))
    }

    pub(super) fn rollback(&mut self) -> R<Stmt<'a>> {
        self.expect_kw(Kw::Rollback)?;
        self.eat_kw(Kw::Work);
        if self.eat_kw(Kw::To) {
            self.eat_kw(Kw::Savepoint);
            let name = self.ident()?;
            return Ok(self.txn(Txn::RollbackTo(name)));
        }
        let completion = self.completion()?;
        Ok(self.txn(Txn::Rollback(completion)))
    }

    /// `[AND [NO] CHAIN] [[NO] RELEASE]`.
    fn completion(&mut self) -> R<Completion> {
        let mut completion = Completion::default();
        if self.eat_kw(Kw::And) {
            completion.chain = Some(!self.eat_kw(Kw::No));
            self.expect_kw(Kw::Chain)?;
        }
        if self.eat_kw(Kw::No) {
            self.expect_kw(Kw::Release)?;
            completion.release = Some(false);
        } else if self.at_kw(Kw::Release) {
            if completion.chain == Some(true) {
                return self.fail();
            }
            self.advance();
            completion.release = Some(true);
        }
        Ok(completion)
    }

    pub(super) fn savepoint(&mut self) -> R<Stmt<'a>> {
        self.expect_kw(Kw::Savepoint)?;
        let name = self.ident()?;
        Ok(self.txn(Txn::Savepoint(name)))
    }

    pub(super) fn release(&mut self) -> R<Stmt<'a>> {
        self.expect_kw(Kw::Release)?;
        self.expect_kw(Kw::Savepoint)?;
        let name = self.ident()?;
        Ok(self.txn(Txn::Release(name)))
    }

    /// After `SET [scope] TRANSACTION`.
    pub(super) fn set_transaction(&mut self, scope: VarScope) -> R<Stmt<'a>> {
        let (mut isolation, mut access) = (None, None);
        loop {
            match self.kw() {
                Kw::Isolation if isolation.is_none() => {
                    self.advance();
                    self.expect_kw(Kw::Level)?;
                    isolation = Some(self.isolation()?);
                }
                Kw::Read if access.is_none() => access = Some(self.access_mode()?),
                _ => return self.fail(),
            }
            if !self.eat(T::Comma) {
                return Ok(self.txn(Txn::Set { scope, isolation, access }));
            }
        }
    }

    fn isolation(&mut self) -> R<Isolation> {
        if self.eat_kw(Kw::Read) {
            if self.eat_kw(Kw::Uncommitted) {
                return Ok(Isolation::ReadUncommitted);
            }
            self.expect_kw(Kw::Committed)?;
            return Ok(Isolation::ReadCommitted);
        }
        if self.eat_kw(Kw::Repeatable) {
            self.expect_kw(Kw::Read)?;
            return Ok(Isolation::RepeatableRead);
        }
        self.expect_kw(Kw::Serializable)?;
        Ok(Isolation::Serializable)
    }

    pub(super) fn xa(&mut self) -> R<Stmt<'a>> {
        self.expect_kw(Kw::Xa)?;
        let kw = self.kw();
        match kw {
            Kw::Start | Kw::Begin | Kw::End | Kw::Prepare | Kw::Commit | Kw::Rollback | Kw::Recover => {
                self.advance();
            }
            _ => return self.fail(),
        }
        let xa = match kw {
            Kw::Start | Kw::Begin => {
                let xid = self.xid()?;
                let option = if self.eat_kw(Kw::Join) {
                    XaStartOption::Join
                } else if self.eat_kw(Kw::Resume) {
                    XaStartOption::Resume
                } else {
                    XaStartOption::None
                };
                Xa::Start { xid, option }
            }
            Kw::End => {
                let xid = self.xid()?;
                let suspend = self.eat_kw(Kw::Suspend);
                if suspend && self.eat_kw(Kw::For) {
                    self.expect_kw(Kw::Migrate)?;
                }
                Xa::End { xid, suspend }
            }
            Kw::Prepare => Xa::Prepare(self.xid()?),
            Kw::Commit => {
                let xid = self.xid()?;
                let one_phase = self.eat_kw(Kw::One);
                if one_phase {
                    self.expect_kw(Kw::Phase)?;
                }
                Xa::Commit { xid, one_phase }
            }
            Kw::Rollback => Xa::Rollback(self.xid()?),
            _ => {
                let convert = self.eat_kw(Kw::Convert);
                if convert {
                    self.expect_kw(Kw::Xid)?;
                }
                Xa::Recover { convert }
            }
        };
        Ok(self.txn(Txn::Xa(xa)))
    }

    fn xid(&mut self) -> R<Xid<'a>> {
        let gtrid = self.text_or_bytes()?;
        let (mut bqual, mut format): (&[u8], u64) = (&[], 1);
        if self.eat(T::Comma) {
            bqual = self.text_or_bytes()?;
            if self.eat(T::Comma) {
                format = self.number()?;
            }
        }
        Ok(Xid { gtrid, bqual, format })
    }

    /// LOCK TABLES.
    pub(super) fn lock_tables(&mut self) -> R<Stmt<'a>> {
        self.expect_kw(Kw::Lock)?;
        if !self.eat_kw(Kw::Tables) {
            self.expect_kw(Kw::Table)?;
        }
        let locks = self.comma_list(|parser| {
            let name = parser.object_name()?;
            let alias = if parser.at_kw(Kw::LowPriority) { None } else { parser.table_alias()? };
            let mut low_priority = false;
            let kind = if parser.eat_kw(Kw::Read) {
                if parser.eat_kw(Kw::Local) { TableLockKind::ReadLocal } else { TableLockKind::Read }
            } else {
                low_priority = parser.eat_kw(Kw::LowPriority);
                parser.expect_kw(Kw::Write)?;
                TableLockKind::Write
            };
            Ok(TableLock { name, alias, kind, low_priority })
        })?;
        Ok(self.txn(Txn::LockTables(locks)))
    }

    pub(super) fn unlock_tables(&mut self) -> R<Stmt<'a>> {
        self.expect_kw(Kw::Unlock)?;
        if !self.eat_kw(Kw::Tables) {
            self.expect_kw(Kw::Table)?;
        }
        Ok(self.txn(Txn::UnlockTables))
    }
}
