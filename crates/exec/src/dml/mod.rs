//! INSERT, REPLACE, UPDATE, DELETE, LOAD DATA.
//!
//! Each statement has a plan ([`crate::statement::Planned`]) that holds compiled expressions and is run many times. Rows
//! are made in stored form (`row`): values go through `store`, which knows defaults, NULL and the statement's mode; what
//! a row is refused for by the engine is told in MySQL's words by `message`.
//!
//! | part | file |
//! |---|---|
//! | INSERT, REPLACE: plan and rows | [`insert`] |
//! | UPDATE, DELETE, over the planner's reading part | [`update`], [`delete`] |
//! | writing a row, whatever is in its way | `writer`, `conflict` |
//! | AUTO_INCREMENT | `auto_inc` |
//! | LOAD DATA; rows in files | [`load`], [`vaquita_plan::file_format`] |
//! | CHECKSUM TABLE's number | `checksum` |
//! | literals without an expression | `literal` |
//! | columns that are calculated, rows held against CHECK constraints | `rules` |
//! | triggers around the changes | `triggers` |
//! | names | `scope` |

pub mod auto_inc;
mod checksum;
mod conflict;
pub mod delete;
pub mod insert;
mod literal;
pub mod load;
mod message;
mod row;
mod rules;
mod scope;
mod store;
#[cfg(test)]
mod tests;
mod triggers;
pub mod update;
mod writer;

pub use checksum::checksum;
pub use delete::DeletePlan;
pub use insert::{InsertPlan, is_bulk, plan_bulk, plan_insert};
pub use load::{LoadPlan, plan_load};
pub use rules::{Calculated, complete_row};
pub use update::UpdatePlan;

use crate::statement::{Outcome, PlanCx, Planned};
use std::sync::Arc;
use vaquita_parser::ast::{self, Stmt};
use vaquita_plan::SourceLock;
use vaquita_plan::wanted_of;
use vaquita_plan::{MatchPlan, MatchRequest, plan_match};
use vaquita_session::privilege::{Priv, Wanted};
use vaquita_session::sink::ResultSink;
use vaquita_types::{SqlError, SqlResult};

/// Plans a statement that changes rows.
///
/// # Errors
/// Names, types, what is not supported.
pub fn plan(cx: &mut PlanCx<'_>, stmt: &Stmt<'_>) -> SqlResult<Arc<dyn Planned>> {
    match stmt {
        Stmt::Insert(insert) => Ok(Arc::new(plan_insert(insert, cx)?)),
        Stmt::Update(update) => {
            let request = MatchRequest {
                hints: update.hints,
                with: update.with,
                from: update.tables,
                filter: update.filter,
                order_by: update.order_by,
                limit: update.limit,
                delete_from: &[],
                assignments: update.assignments,
            };
            let (matching, wants) = matching(cx, &request)?;
            let joined = update.is_multi_table() || matching.several;
            Ok(Arc::new(UpdatePlan::new(cx.session.db.next_plan(), matching, update.ignore, joined, wants)))
        }
        Stmt::Delete(delete) => {
            let request = MatchRequest {
                hints: delete.hints,
                with: delete.with,
                from: delete.from,
                filter: delete.filter,
                order_by: delete.order_by,
                limit: delete.limit,
                delete_from: delete.targets,
                assignments: &[],
            };
            let (matching, wants) = matching(cx, &request)?;
            Ok(Arc::new(DeletePlan::new(matching, delete.ignore, wants)))
        }
        _ => Err(SqlError::unsupported("this statement here")),
    }
}

fn matching(cx: &mut PlanCx<'_>, request: &MatchRequest<'_>) -> SqlResult<(MatchPlan, Vec<Wanted>)> {
    let one = request.delete_from.is_empty() && matches!(request.from, [ast::TableRef::Table(_)]);
    let sources = match one && !request.assignments.is_empty() {
        true => SourceLock::AboveReadCommitted,
        false => SourceLock::Always,
    };
    let changing = match (one, request.assignments.is_empty()) {
        (true, true) => Priv::DELETE,
        (true, false) => Priv::UPDATE,
        // Which of several tables are changed is known only when all are open.
        (false, _) => Priv::SELECT | Priv::UPDATE | Priv::DELETE,
    };
    let (planner, mut compile) = cx.planning();
    let planner = planner.locking_sources(sources).changing(changing);
    let matching = plan_match(&planner, request, &mut compile)?;
    let mut wants = wanted_of(matching.uses());
    if one {
        // Who may change a table is told of the column they may not read.
        let targets = &matching.targets;
        let is_target = |w: &Wanted| {
            w.through.is_none()
                && targets.iter().any(|t| {
                    let own = (t.info.definition.database.as_str(), t.info.definition.name.as_str());
                    let (database, name) = t.view.as_ref().map_or(own, |view| view.name());
                    w.is_of_table(database, name)
                })
        };
        wants.iter_mut().filter(|w| is_target(w)).for_each(|w| w.by_column = true);
    }
    Ok((matching, wants))
}

/// Runs LOAD DATA.
///
/// # Errors
/// Of the statement.
pub fn load_data(
    cx: &mut PlanCx<'_>,
    ast: &ast::LoadData<'_>,
    sink: &mut dyn ResultSink,
) -> SqlResult<Outcome> {
    let plan = plan_load(ast, cx)?;
    // The table and the file have been asked for, what subqueries read has not.
    cx.session.state.check_privileges(plan.wants())?;
    plan.run(&mut cx.session, &[], sink)
}
