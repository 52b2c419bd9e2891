//! DELETE, from one table or from several that are joined.

use super::message::failure;
use super::triggers::{self, Seen};
use super::writer::engine;
use crate::matching::{self, Matched};
use crate::statement::{Outcome, Planned};
use std::collections::HashSet;
use std::sync::Arc;
use vaquita_engine::{Error, RowKey};
use vaquita_expr::EvalCx;
use vaquita_parser::ast::TriggerEvent;
use vaquita_plan::MatchPlan;
use vaquita_session::SessionCx;
use vaquita_session::privilege::{Priv, Wanted};
use vaquita_session::sink::{ColumnMeta, ResultSink};
use vaquita_types::{Level, SqlResult, Value};

/// A planned DELETE.
#[derive(Debug)]
pub struct DeletePlan {
    matching: MatchPlan,
    ignore: bool,
    wants: Box<[Wanted]>,
}

impl DeletePlan {
    /// The changing part over a reading part.
    pub fn new(matching: MatchPlan, ignore: bool, mut wants: Vec<Wanted>) -> DeletePlan {
        wants.extend(matching.targets.iter().flat_map(|t| t.wants(Priv::DELETE, None)));
        wants.sort_by_key(|w| w.by_column);
        DeletePlan { matching, ignore, wants: wants.into() }
    }

    /// Deletes the rows of one match; how many.
    fn delete(
        &self,
        cx: &mut EvalCx<'_>,
        matched: &Matched<'_>,
        own: &mut [HashSet<RowKey>],
    ) -> SqlResult<u64> {
        let mut deleted = 0;
        for (at, (target, key)) in self.matching.targets.iter().zip(matched.keys).enumerate() {
            let Some(key) = key else { continue };
            let mut seen = None;
            if let Some(triggers) = &target.triggers {
                // A row that matches several times is deleted once.
                if !own[at].insert(key.clone()) {
                    continue;
                }
                let old = triggers::matched(triggers, &target.info, matched.row, target.slot, cx)?;
                let mut row = Seen { old, new: Vec::new() };
                triggers::fire(triggers, true, TriggerEvent::Delete, &mut row, cx)?;
                seen = Some((triggers, row));
            }
            cx.state.status.handler_delete += 1;
            let mut statement = engine(cx)?.statement();
            let mark = statement.mark();
            match statement.delete(&target.info.table, key) {
                Ok(false) => {}
                Ok(true) => {
                    deleted += 1;
                    if let Some((triggers, mut row)) = seen {
                        triggers::fire(triggers, false, TriggerEvent::Delete, &mut row, cx)?;
                    }
                }
                Err(e @ Error::RowIsReferenced { .. }) if self.ignore => {
                    statement.take_back(mark).map_err(|e| failure(&e, &target.info))?;
                    let error = failure(&e, &target.info);
                    cx.state.warnings.push(Level::Error, error.code, error.message);
                }
                Err(e) => return Err(failure(&e, &target.info)),
            }
        }
        Ok(deleted)
    }
}

impl Planned for DeletePlan {
    fn columns(&self) -> Option<&Arc<[ColumnMeta]>> {
        None
    }

    fn wants(&self) -> &[Wanted] {
        &self.wants
    }

    fn run(
        &self,
        cx: &mut SessionCx<'_>,
        params: &[Value<'_>],
        _: &mut dyn ResultSink,
    ) -> SqlResult<Outcome> {
        let mut affected_rows = 0;
        let mut eval = cx.eval();
        let fires = self.matching.targets.iter().any(|target| target.triggers.is_some());
        let mut seen = if fires { vec![HashSet::new(); self.matching.targets.len()] } else { Vec::new() };
        eval.state.subqueries.ignore = self.ignore;
        let done = matching::run(&self.matching, &mut eval, params, &mut |cx, matched| {
            affected_rows += self.delete(cx, matched, &mut seen)?;
            Ok(())
        });
        eval.state.subqueries.ignore = false;
        done?;
        Ok(Outcome { affected_rows, ..Outcome::default() })
    }
}
