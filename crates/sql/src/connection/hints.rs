//! Optimizer hints that hold for a statement as a whole: SET_VAR, MAX_EXECUTION_TIME. What they are about tables is the
//! planner's business.
//!
//! Statements with hints are in no cache of plans: what they set is set before they are planned, and given back after they
//! ran, whatever came of it.

use super::Connection;
use std::time::Duration;
use vaquita_exec::Outcome;
use vaquita_parser::ast::{self, Hint, HintWhat, Stmt};
use vaquita_session::vars::{VarId, VarValue, id};
use vaquita_types::{SqlError, SqlResult};

/// Variables that SET_VAR may set: those of MySQL 8.0's manual that are here.
const HINTABLE: &[&str] = &[
    "auto_increment_increment",
    "auto_increment_offset",
    "big_tables",
    "bulk_insert_buffer_size",
    "cte_max_recursion_depth",
    "default_tmp_storage_engine",
    "div_precision_increment",
    "end_markers_in_json",
    "eq_range_index_dive_limit",
    "foreign_key_checks",
    "group_concat_max_len",
    "insert_id",
    "join_buffer_size",
    "lock_wait_timeout",
    "max_error_count",
    "max_execution_time",
    "max_heap_table_size",
    "max_join_size",
    "max_length_for_sort_data",
    "max_seeks_for_key",
    "max_sort_length",
    "optimizer_prune_level",
    "optimizer_search_depth",
    "optimizer_switch",
    "range_alloc_block_size",
    "range_optimizer_max_mem_size",
    "read_buffer_size",
    "read_rnd_buffer_size",
    "sort_buffer_size",
    "sql_auto_is_null",
    "sql_big_selects",
    "sql_buffer_result",
    "sql_mode",
    "sql_safe_updates",
    "sql_select_limit",
    "time_zone",
    "timestamp",
    "tmp_table_size",
    "unique_checks",
    "updatable_views_with_limit",
];

impl Connection {
    /// Runs a statement as its hints want it.
    pub(super) fn with_hints(
        &mut self,
        stmt: &Stmt<'_>,
        body: impl FnOnce(&mut Connection) -> SqlResult<Outcome>,
    ) -> SqlResult<Outcome> {
        let hints = Hint::of_statement(stmt);
        if hints.is_empty() {
            return body(self);
        }
        let mut before: Vec<(VarId, VarValue)> = Vec::new();
        for hint in hints {
            match &hint.what {
                HintWhat::MaxExecutionTime(limit) => self.limit_time(stmt, *limit),
                HintWhat::SetVar(var, value) => self.set_for_statement(var, value, &mut before),
                HintWhat::ResourceGroup(name) => {
                    let text = format!("Unresolved name '{name}' for RESOURCE_GROUP hint");
                    self.state.warnings.warn(3128, text);
                }
                // The statement's own words are no query block that the planner sees.
                HintWhat::Wrong { near, line } if matches!(stmt, Stmt::Insert(_)) => {
                    let near = String::from_utf8_lossy(near);
                    let text = format!("Optimizer hint syntax error near '{near}' at line {line}");
                    self.state.warnings.warn(1064, text);
                }
                _ => {}
            }
        }
        let done = body(self);
        for (var, value) in before.into_iter().rev() {
            if var == id::MAX_ERROR_COUNT {
                self.state.warnings.set_limit(value.uint() as usize);
            }
            self.state.vars.put(var, value);
        }
        self.settings_changed();
        done
    }

    /// MAX_EXECUTION_TIME: of queries alone, from their beginning on.
    fn limit_time(&mut self, stmt: &Stmt<'_>, limit: u64) {
        match stmt {
            Stmt::Query(_) if self.state.program.running.is_empty() => {
                let at = self.statement_start.checked_add(Duration::from_millis(limit));
                self.state.deadline = at.filter(|_| limit != 0);
            }
            Stmt::Explain(_) => {}
            _ => {
                let text =
                    "MAX_EXECUTION_TIME hint is supported by top-level standalone SELECT statements only";
                self.state.warnings.warn(3125, text);
            }
        }
    }

    /// SET_VAR. What cannot be set is warned of, and the statement runs without it.
    fn set_for_statement(
        &mut self,
        var: &ast::SystemVar<'_>,
        value: &ast::Expr<'_>,
        before: &mut Vec<(VarId, VarValue)>,
    ) {
        let name = var.name.to_string();
        let Some(id) = VarId::find(var.name.name) else {
            let text = format!("Unresolved name '{name}' for SET_VAR hint");
            self.state.warnings.warn(3128, text);
            return;
        };
        if !HINTABLE.contains(&id.def().name) {
            let text = format!("Variable '{}' cannot be set using SET_VAR hint.", id.def().name);
            self.state.warnings.warn(3637, text);
            return;
        }
        if before.iter().any(|(there, _)| *there == id) {
            let text = format!("Hint SET_VAR({name}) is ignored as conflicting/duplicated");
            self.state.warnings.warn(3126, text);
            return;
        }
        if let Err(e) = self.set_hinted(var, id, value, before) {
            self.state.warnings.warn(e.code, e.message);
        }
    }

    fn set_hinted(
        &mut self,
        var: &ast::SystemVar<'_>,
        id: VarId,
        value: &ast::Expr<'_>,
        before: &mut Vec<(VarId, VarValue)>,
    ) -> Result<(), SqlError> {
        let value = self.hinted_value(var, value)?;
        before.push((id, vaquita_session::var_ref::read_session(id, &self.state)));
        crate::set::assign(id, false, value, &self.db, &mut self.state)?;
        if id == id::MAX_EXECUTION_TIME && self.state.vars.max_execution_time != 0 {
            let limit = Duration::from_millis(self.state.vars.max_execution_time);
            self.state.deadline = self.statement_start.checked_add(limit);
        }
        if id == id::TIMESTAMP {
            self.state.now_us = self.state.vars.timestamp_us.unwrap_or(self.state.now_us);
        }
        self.settings_changed();
        Ok(())
    }
}
