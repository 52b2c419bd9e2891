//! XA: the states of a session's branch, and what is allowed in them.

use super::Connection;
use crate::xa_branches::{Branch, is_same};
use std::sync::Arc;
use vaquita_catalog::error;
use vaquita_engine::Xid;
use vaquita_exec::Outcome;
use vaquita_parser::ast::{self, Xa, XaStartOption};
use vaquita_session::sink::{ColumnMeta, ResultSink};
use vaquita_types::{SqlError, SqlResult, SqlType, Value};

/// Where a session's branch is.
#[derive(Debug, Default)]
pub(super) enum XaState {
    /// There is none.
    #[default]
    None,
    /// Between XA START and XA END.
    Active(Branch),
    /// After XA END.
    Idle(Branch),
    /// After XA PREPARE: the transaction has left the session.
    Prepared(Branch),
    /// Rolled back by a deadlock or the like: only XA ROLLBACK is allowed.
    RolledBack(Branch),
}

impl XaState {
    fn name(&self) -> &'static str {
        match self {
            XaState::None => "NON-EXISTING",
            XaState::Active(_) => "ACTIVE",
            XaState::Idle(_) => "IDLE",
            XaState::Prepared(_) => "PREPARED",
            XaState::RolledBack(_) => "ROLLBACK ONLY",
        }
    }

    fn wrong(&self) -> SqlError {
        let state = self.name();
        SqlError::new(
            1399,
            format!(
                "XAER_RMFAIL: The command cannot be executed when global transaction is in the  {state} state"
            ),
        )
    }

    /// Statements on rows: none in a branch that has ended.
    pub(super) fn check_statement(&self) -> SqlResult<()> {
        match self {
            XaState::None | XaState::Active(_) => Ok(()),
            _ => Err(self.wrong()),
        }
    }

    /// BEGIN, COMMIT, ROLLBACK: none in a branch.
    pub(super) fn check_local(&self) -> SqlResult<()> {
        match self {
            XaState::None => Ok(()),
            _ => Err(self.wrong()),
        }
    }

    /// What commits implicitly: none in a branch.
    pub(super) fn check_ddl(&self) -> SqlResult<()> {
        self.check_local()
    }

    /// Savepoints: within a branch too.
    pub(super) fn check_savepoint(&self) -> SqlResult<()> {
        self.check_statement()
    }

    fn is_of(&self, xid: &Xid) -> bool {
        match self {
            XaState::None => false,
            XaState::Active(own) | XaState::Idle(own) | XaState::Prepared(own) | XaState::RolledBack(own) => {
                own.is(xid)
            }
        }
    }
}

fn not_found() -> SqlError {
    SqlError::new(1397, "XAER_NOTA: Unknown XID")
}

fn xid_of(xid: &ast::Xid<'_>) -> SqlResult<Xid> {
    let invalid = || SqlError::new(1398, "XAER_INVAL: Invalid arguments (or unsupported command)");
    let format = u32::try_from(xid.format).map_err(|_| invalid())?;
    Xid::new(format, xid.gtrid, xid.bqual).map_err(|_| invalid())
}

impl Connection {
    pub(super) fn run_xa(&mut self, xa: &Xa<'_>, sink: &mut dyn ResultSink) -> SqlResult<Outcome> {
        match xa {
            Xa::Start { xid, option } => self.xa_start(xid_of(xid)?, *option)?,
            Xa::End { xid, suspend } => self.xa_end(&xid_of(xid)?, *suspend)?,
            Xa::Prepare(xid) => self.xa_prepare(&xid_of(xid)?)?,
            Xa::Commit { xid, one_phase } => self.xa_commit(&xid_of(xid)?, *one_phase)?,
            Xa::Rollback(xid) => self.xa_rollback(&xid_of(xid)?)?,
            Xa::Recover { convert } => return self.xa_recover(*convert, sink),
        }
        Ok(Outcome::default())
    }

    fn xa_start(&mut self, xid: Xid, option: XaStartOption) -> SqlResult<()> {
        match (option, &self.xa) {
            (XaStartOption::Resume, XaState::Idle(own)) => {
                if !own.is(&xid) {
                    return Err(not_found());
                }
                self.move_branch(XaState::Active);
                return Ok(());
            }
            (XaStartOption::Join | XaStartOption::Resume, _) => {
                return Err(SqlError::new(1398, "XAER_INVAL: Invalid arguments (or unsupported command)"));
            }
            (XaStartOption::None, XaState::None) => {}
            (XaStartOption::None, state) => return Err(state.wrong()),
        }
        if self.locked.is_active() || self.engine.in_transaction() {
            return Err(SqlError::new(1400, "XAER_OUTSIDE: Some work is done outside global transaction"));
        }
        let branch = self.db.xa_branches.enter(xid, || self.db.engine.xa_recover());
        let branch = branch.ok_or_else(|| SqlError::new(1440, "XAER_DUPID: The XID already exists"))?;
        let access = self.engine.settings.access;
        error::of_engine(self.engine.begin(access, false))?;
        self.xa = XaState::Active(branch);
        Ok(())
    }

    /// The session's branch gets into another state.
    fn move_branch(&mut self, state: impl FnOnce(Branch) -> XaState) {
        self.xa = match std::mem::take(&mut self.xa) {
            XaState::None => XaState::None,
            XaState::Active(own) | XaState::Idle(own) | XaState::Prepared(own) | XaState::RolledBack(own) => {
                state(own)
            }
        };
    }

    fn xa_end(&mut self, xid: &Xid, suspend: bool) -> SqlResult<()> {
        if suspend {
            return Err(SqlError::new(1398, "XAER_INVAL: Invalid arguments (or unsupported command)"));
        }
        match &self.xa {
            XaState::Active(own) if own.is(xid) => {
                self.move_branch(XaState::Idle);
                Ok(())
            }
            XaState::Active(_) => Err(not_found()),
            state => Err(state.wrong()),
        }
    }

    fn xa_prepare(&mut self, xid: &Xid) -> SqlResult<()> {
        let own = match &self.xa {
            XaState::Idle(own) if own.is(xid) => own.xid(),
            XaState::Idle(_) => return Err(not_found()),
            state => return Err(state.wrong()),
        };
        self.state.status.handler_prepare += 1;
        let durability = error::of_engine(self.engine.xa_prepare(own))?;
        self.committed(durability);
        *self.process.waits.lock() = Some(self.engine.handle());
        self.engine.set_tag(u64::from(self.state.connection_id));
        self.move_branch(XaState::Prepared);
        Ok(())
    }

    fn xa_commit(&mut self, xid: &Xid, one_phase: bool) -> SqlResult<()> {
        let is_own = self.xa.is_of(xid);
        match &self.xa {
            // The name is free when the work is done.
            XaState::Idle(_) if is_own && one_phase => {
                let _branch = std::mem::take(&mut self.xa);
                self.commit()
            }
            XaState::Prepared(own) if is_own && !one_phase => {
                let xid = own.xid();
                let _branch = std::mem::take(&mut self.xa);
                self.xa_commit_prepared(&xid)
            }
            XaState::None if !one_phase => {
                let xid = self.left_alone(xid)?;
                self.xa_commit_prepared(&xid)
            }
            state if is_own => Err(state.wrong()),
            _ => Err(self.of_other(xid)),
        }
    }

    /// A prepared branch whose session has gone.
    fn left_alone(&self, xid: &Xid) -> SqlResult<Xid> {
        if self.db.xa_branches.contains(xid) {
            return Err(not_found());
        }
        let mut prepared = self.db.engine.xa_recover().into_iter().filter(|other| is_same(other, xid));
        let exact = prepared.clone().find(|other| other == xid);
        exact.or_else(|| prepared.next()).ok_or_else(not_found)
    }

    /// Why nothing becomes of a branch that is not the session's own, while it has one or asks for one phase.
    fn of_other(&self, xid: &Xid) -> SqlError {
        match (&self.xa, self.left_alone(xid)) {
            (XaState::None, _) | (_, Err(_)) => not_found(),
            (state, Ok(_)) => state.wrong(),
        }
    }

    fn xa_commit_prepared(&mut self, xid: &Xid) -> SqlResult<()> {
        error::of_engine(self.engine.begin_change())?;
        let durability = error::of_engine(self.db.engine.xa_commit(xid))?;
        self.committed(durability);
        Ok(())
    }

    fn xa_rollback(&mut self, xid: &Xid) -> SqlResult<()> {
        let is_own = self.xa.is_of(xid);
        match &self.xa {
            XaState::Idle(_) | XaState::RolledBack(_) if is_own => {
                let _branch = std::mem::take(&mut self.xa);
                error::of_engine(self.engine.rollback())
            }
            XaState::Prepared(own) if is_own => {
                let xid = own.xid();
                let _branch = std::mem::take(&mut self.xa);
                error::of_engine(self.db.engine.xa_rollback(&xid))
            }
            XaState::None => error::of_engine(self.db.engine.xa_rollback(&self.left_alone(xid)?)),
            state if is_own => Err(state.wrong()),
            _ => Err(self.of_other(xid)),
        }
    }

    /// A deadlock took the branch's work: it can only be rolled back.
    pub(super) fn xa_lost(&mut self) {
        if let XaState::Active(_) | XaState::Idle(_) = &self.xa {
            self.move_branch(XaState::RolledBack);
        }
    }

    fn xa_recover(&self, convert: bool, sink: &mut dyn ResultSink) -> SqlResult<Outcome> {
        let number = |name: &str| ColumnMeta::new(name, SqlType::bigint(false).not_null());
        let data = ColumnMeta::new("data", SqlType::varchar(128, 33).not_null());
        let columns: Arc<[ColumnMeta]> =
            [number("formatID"), number("gtrid_length"), number("bqual_length"), data].into();
        sink.columns(&columns)?;
        let xids = self.db.engine.xa_recover();
        for xid in &xids {
            let bytes = [xid.gtrid(), xid.bqual()].concat();
            let data = match convert {
                false => Value::owned(bytes),
                true => {
                    let digits: String = bytes.iter().map(|b| format!("{b:02X}")).collect();
                    Value::owned(format!("0x{digits}").into_bytes())
                }
            };
            sink.row(&[
                Value::Int(xid.format.into()),
                Value::Int(xid.gtrid().len() as i64),
                Value::Int(xid.bqual().len() as i64),
                data,
            ])?;
        }
        Ok(Outcome { affected_rows: xids.len() as u64, has_result: true, ..Outcome::default() })
    }
}
