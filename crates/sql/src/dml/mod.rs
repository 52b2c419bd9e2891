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
//! | LOAD DATA; rows in files | [`load`], [`file_format`] |
//! | ANALYZE, CHECK, CHECKSUM and the like | [`maintain`](mod@maintain), `checksum` |
//! | literals without an expression | `literal` |
//! | names | `scope` |

pub(crate) mod auto_inc;
mod checksum;
mod conflict;
pub mod delete;
pub mod file_format;
pub mod insert;
mod literal;
pub mod load;
pub mod maintain;
mod message;
mod row;
mod scope;
mod store;
#[cfg(test)]
mod tests;
pub mod update;
mod writer;

pub use delete::DeletePlan;
pub use file_format::FileFormat;
pub use insert::{InsertPlan, is_bulk, plan_bulk, plan_insert};
pub use load::{LoadPlan, plan_load};
pub use maintain::maintain;
pub use scope::default_value;
pub use update::UpdatePlan;

use crate::accounts::{Priv, Wanted};
use crate::connection::wanted_of;
use crate::expr::CompileCx;
use crate::plan::matching::{MatchPlan, MatchRequest, plan_match};
use crate::plan::{Planner, SourceLock};
use crate::sink::ResultSink;
use crate::statement::{Outcome, PlanCx, Planned, StmtCx};
use std::sync::Arc;
use vaquita_parser::ast::{self, Stmt};
use vaquita_types::{SqlError, SqlResult};

/// Plans a statement that changes rows.
///
/// # Errors
/// Names, types, what is not supported.
pub fn plan(cx: &mut PlanCx<'_>, stmt: &Stmt<'_>) -> SqlResult<Arc<dyn Planned>> {
    match stmt {
        Stmt::Insert(insert) => Ok(Arc::new(plan_insert(insert, cx)?)),
        Stmt::Update(update) => {
            if update.with.is_some() {
                return Err(SqlError::unsupported("WITH"));
            }
            let request = MatchRequest {
                from: update.tables,
                filter: update.filter,
                order_by: update.order_by,
                limit: update.limit,
                delete_from: &[],
                assignments: update.assignments,
            };
            let (matching, wants) = matching(cx, &request)?;
            Ok(Arc::new(UpdatePlan::new(matching, update.ignore, update.is_multi_table(), wants)))
        }
        Stmt::Delete(delete) => {
            if delete.with.is_some() {
                return Err(SqlError::unsupported("WITH"));
            }
            let request = MatchRequest {
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
    let planner = Planner::new(cx.stmt.db, cx.stmt.engine, cx.sql, cx.params, crate::virtual_tables::find)
        .locking_sources(sources)
        .changing(changing);
    let mut compile =
        CompileCx { param_types: cx.param_types, ..CompileCx::new(Some(cx.stmt.db), &mut *cx.stmt.state) };
    let matching = plan_match(&planner, request, &mut compile)?;
    let mut wants = wanted_of(matching.uses());
    if one {
        // Who may change a table is told of the column they may not read.
        let targets = &matching.targets;
        let is_target = |w: &Wanted| targets.iter().any(|t| w.is_of_table(&t.info.database, &t.info.name));
        wants.iter_mut().filter(|w| is_target(w)).for_each(|w| w.by_column = true);
    }
    Ok((matching, wants))
}

/// Runs LOAD DATA.
///
/// # Errors
/// Of the statement.
pub fn load_data(
    cx: &mut StmtCx<'_>,
    ast: &ast::LoadData<'_>,
    sink: &mut dyn ResultSink,
) -> SqlResult<Outcome> {
    let plan = plan_load(ast, &mut PlanCx { stmt: cx.reborrow(), params: &[], param_types: &[], sql: &[] })?;
    // The table and the file have been asked for, what subqueries read has not.
    cx.state.check_privileges(plan.wants())?;
    plan.run(cx, &[], sink)
}
