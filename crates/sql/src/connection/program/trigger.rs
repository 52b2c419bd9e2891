//! Triggers: they run in the middle of a statement that changes rows, as functions do.

use super::function::{NoResults, inside};
use crate::connection::Connection;
use crate::database::Database;
use crate::routine::{Fired, Routine};
use std::sync::{Arc, Weak};
use vaquita_expr::EvalCx;
use vaquita_expr::trigger::{Trigger, TriggerRows};
use vaquita_parser::ast::TriggerEvent;
use vaquita_types::{SqlError, SqlResult};

/// A trigger as plans have it.
#[derive(Debug)]
pub(super) struct OfTable {
    pub(super) routine: Arc<Routine>,
    pub(super) db: Weak<Database>,
}

impl OfTable {
    fn fired(&self) -> &Fired {
        self.routine.fired.as_ref().expect("it was compiled for a table")
    }
}

impl Trigger for OfTable {
    fn fired_at(&self) -> (bool, TriggerEvent) {
        let fired = self.fired();
        (fired.before, fired.event)
    }

    fn columns(&self) -> &[usize] {
        &self.fired().columns
    }

    fn fire(&self, cx: &mut EvalCx<'_>, rows: &mut TriggerRows<'_>) -> SqlResult<()> {
        let closed = || SqlError::new(1105, "the folder is closed");
        let db = self.db.upgrade().ok_or_else(closed)?;
        inside(db, cx, |inner| inner.fire(&self.routine, rows))
    }
}

impl Connection {
    fn fire(&mut self, routine: &Arc<Routine>, rows: &mut TriggerRows<'_>) -> SqlResult<()> {
        super::call::check_depth(self.state.program.depth)?;
        let suspended = self.state.suspend();
        self.state.program.depth += 1;
        let done = self.run_trigger(routine, rows);
        self.state.program.depth -= 1;
        self.state.resume(suspended);
        done
    }

    fn run_trigger(&mut self, routine: &Arc<Routine>, rows: &mut TriggerRows<'_>) -> SqlResult<()> {
        let mut frame = self.enter(routine.clone(), Vec::new(), Vec::new())?;
        let wants = routine.fired.as_ref().map_or(&[][..], |fired| &fired.wants);
        self.refresh_privileges();
        if let Err(e) = self.check_wanted(wants) {
            self.leave(&mut frame);
            return Err(e);
        }
        for (var, local) in routine.code.vars.iter().zip(&mut frame.locals) {
            let Some(of_row) = &var.of_row else { break };
            let row: &[_] = if of_row.new { &*rows.new } else { rows.old };
            *local = row.get(of_row.column).cloned().unwrap_or_default();
        }
        let mut ended = self.run_frame(frame, &mut NoResults("trigger"))?;
        for place in std::mem::take(&mut ended.assigned) {
            let place = place as usize;
            if let Some(of_row) = &routine.code.vars[place].of_row {
                rows.new[of_row.column] = ended.locals[place].clone();
                rows.set.push(of_row.column);
            }
        }
        Ok(())
    }
}
