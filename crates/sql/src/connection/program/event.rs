//! An execution of an event, in a session of its own.

use crate::connection::Connection;
use std::sync::Arc;
use std::time::Instant;
use vaquita_engine::Object;
use vaquita_exec::Outcome;
use vaquita_session::privilege::Priv;
use vaquita_session::sink::{ColumnMeta, Completion, ResultSink};
use vaquita_session::status::Com;
use vaquita_types::{SqlError, SqlResult, Value, Warning};

/// Results of an event go nowhere.
struct Nowhere;

impl ResultSink for Nowhere {
    fn columns(&mut self, _: &Arc<[ColumnMeta]>) -> SqlResult<()> {
        Ok(())
    }

    fn row(&mut self, _: &[Value<'_>]) -> SqlResult<()> {
        Ok(())
    }

    fn end(&mut self, _: Completion) -> SqlResult<()> {
        Ok(())
    }
}

impl Connection {
    /// Executes an event of a database, as its definer. What its body leaves uncommitted is rolled back.
    ///
    /// # Errors
    /// 1044 the definer may have no events there; those of the body.
    pub(crate) fn run_event(&mut self, object: &Object, database: &str, text: &str) -> SqlResult<()> {
        let _paid = self.state.memory.enter();
        self.begin("Query", text.as_bytes(), Com::Other);
        self.process.begin("Connect", text.as_bytes(), Instant::now());
        let done = self.event_body(object, database);
        // Nobody is told of an error here that the one of the event is not more to the point than.
        let rolled_back = vaquita_catalog::error::of_engine(self.engine.rollback());
        let done = done.and(rolled_back).map(|()| Outcome::default());
        self.end(done, 0, &mut Nowhere)
    }

    fn event_body(&mut self, object: &Object, database: &str) -> SqlResult<()> {
        self.refresh_privileges();
        let privileges = &self.state.privileges;
        if !(privileges.global | privileges.in_database(database)).has(Priv::EVENT) {
            let (user, host) = (&self.state.account_user, &self.state.account_host);
            return Err(SqlError::database_denied(user, host, database));
        }
        let db = self.db.clone();
        let routine = crate::program::event(&db, &mut self.state, object, database)?;
        let frame = self.enter(routine, Vec::new(), Vec::new())?;
        self.run_frame(frame, &mut Nowhere).map(drop)
    }

    /// The conditions that the last statement left.
    pub(crate) fn conditions(&self) -> &[Warning] {
        self.state.warnings.list()
    }
}
