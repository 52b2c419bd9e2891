//! What statements look like to the session that runs them: made by [`crate::plan`], kept in caches, run many times.

use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::Arc;
use vaquita_expr::CompileCx;
use vaquita_plan::{MakeSearchable, Planner, Runnable, VirtualTables};
use vaquita_session::SessionCx;
use vaquita_session::privilege::{Priv, Wanted};
use vaquita_session::sink::{ColumnMeta, ResultSink};
use vaquita_types::{SqlResult, SqlType, Value};

/// What planning needs besides.
#[derive(Debug)]
pub struct PlanCx<'c> {
    /// The session.
    pub session: SessionCx<'c>,
    /// Values of the parameters of the first execution; empty if they are not known.
    pub params: &'c [Value<'c>],
    /// Types of the parameters: literals that were lifted out, or `?` (text until they are known).
    pub param_types: &'c [SqlType],
    /// The statement's text, which spans point into.
    pub sql: &'c [u8],
    /// The virtual tables there are.
    pub virtual_tables: &'c dyn VirtualTables,
}

impl PlanCx<'_> {
    /// What planning the parts of the statement needs: of names and plans, of expressions.
    pub fn planning(&mut self) -> (Planner<'_>, CompileCx<'_>) {
        let SessionCx { db, engine, state } = &mut self.session;
        let makers = (crate::subquery::runnable as Runnable, crate::fulltext::searchable as MakeSearchable);
        let planner = Planner::new(db, engine, self.sql, self.params, self.virtual_tables, makers);
        let compile = CompileCx { param_types: self.param_types, ..CompileCx::new(Some(*db), state) };
        (planner, compile)
    }
}

/// What a statement did.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Rows changed (or found, under CLIENT_FOUND_ROWS); rows sent by a SELECT.
    pub affected_rows: u64,
    /// Whether rows were sent: ROW_COUNT() is -1 then.
    pub has_result: bool,
    /// What the client is told as insert id; 0: none. LAST_INSERT_ID() is in [`vaquita_session::SessionState::new_insert_id`].
    pub insert_id: u64,
    /// FOUND_ROWS(), of a SELECT.
    pub found_rows: Option<u64>,
    /// Text such as `Records: 3  Duplicates: 0  Warnings: 0`.
    pub info: Cow<'static, str>,
    /// Status flags of the protocol that only the statement knows: NO_INDEX (32), NO_GOOD_INDEX (16).
    pub status: u16,
}

/// A planned statement: immutable, shared by sessions, run many times.
pub trait Planned: Debug + Send + Sync {
    /// Columns of its result; `None` if it has none.
    fn columns(&self) -> Option<&Arc<[ColumnMeta]>>;

    /// Privileges it needs; checked before every run.
    fn wants(&self) -> &[Wanted];

    /// Runs it. Sends columns and rows (or nothing), not the end. Notices by error 1412
    /// (`vaquita_engine::Error::TableChanged`), before anything is sent, that a definition is not the one it was planned
    /// for: the caller plans anew.
    ///
    /// # Errors
    /// Of the statement, of the sink. The caller takes its changes back.
    fn run(
        &self,
        cx: &mut SessionCx<'_>,
        params: &[Value<'_>],
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Outcome>;

    /// Whether it uses tables, those of information_schema too.
    fn uses_tables(&self) -> bool {
        !self.wants().is_empty()
    }

    /// Whether it changes rows or locks them to change them: not while another session holds the global read lock.
    fn changes_rows(&self) -> bool {
        self.wants().iter().any(|w| w.privileges.any(Priv::INSERT | Priv::UPDATE | Priv::DELETE))
    }

    /// Whether it calls stored functions or fires triggers, which may not change its tables.
    fn calls_programs(&self) -> bool {
        false
    }

    /// Whether the plan may be kept for the next execution of the same text.
    fn is_reusable(&self) -> bool {
        true
    }
}
