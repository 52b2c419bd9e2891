//! The database as the house behind the door.

use crate::backend::{Backend, Client, DoorLimits, Happening, Hooks, Report, SessionLimits, Watch};
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use vaquita_sql::accounts::Account;
use vaquita_sql::process::stage_name;
use vaquita_sql::{
    ConnectInfo, Connection, Database, Prepared, ResultSink, SessionChange, SqlError, SqlResult, Transport,
    Value,
};

/// A database to put a door in front of.
#[derive(Debug, Clone)]
pub struct DatabaseBackend(Arc<Database>);

impl DatabaseBackend {
    /// The house of this database. Threads that wait for its pages give their loops away from now on.
    pub fn new(database: Arc<Database>) -> DatabaseBackend {
        database.engine().on_page_wait(vaquita_net::hand_over_for_page);
        DatabaseBackend(database)
    }
}

impl Backend for DatabaseBackend {
    fn reserve_id(&self) -> u32 {
        self.0.processes().reserve_id()
    }

    fn account(&self, user: &str, host: &str, transport: &Transport) -> Option<Account> {
        self.0.accounts().find(user, host, transport)
    }

    fn method_by(&self, draw: u64) -> String {
        self.0.accounts().method_by(draw)
    }

    fn closed(&self) -> Option<String> {
        self.0.accounts().closed().map(|closed| closed.reason)
    }

    fn connect(&self, info: ConnectInfo, hooks: Hooks) -> SqlResult<Box<dyn Client>> {
        let mut connection = self.0.connect(info)?;
        connection.engine().set_wait_hook(hooks.wait);
        connection.set_yield_hook(hooks.pause);
        connection.set_kill_hook(hooks.kill);
        connection.set_tls(hooks.tls);
        connection.set_compressed(hooks.compressed);
        connection.set_tells_after_rows(hooks.tells_after_rows);
        connection.run_init_connect()?;
        Ok(Box::new(Session(connection)))
    }

    fn kill(&self, id: u32) {
        self.0.processes().kill(id, false);
    }

    fn limits(&self) -> DoorLimits {
        let globals = self.0.globals();
        let number = |name: &str| globals.uint(name).try_into().unwrap_or(u32::MAX);
        DoorLimits {
            max_connections: number("max_connections"),
            max_connect_errors: globals.uint("max_connect_errors"),
            connect_timeout_s: number("connect_timeout"),
            require_secure_transport: globals.is_on("require_secure_transport"),
            disconnect_on_expired_password: globals.is_on("disconnect_on_expired_password"),
        }
    }

    fn collation(&self) -> u16 {
        self.0.globals().session().collation_server
    }

    fn count(&self, what: Happening) {
        let status = self.0.status();
        match what {
            Happening::AbortedConnect => status.count_aborted_connect(),
            Happening::AbortedClient => status.count_aborted_client(),
            Happening::TooMany => {
                // A connection that was tried, too.
                status.count_connection();
                status.connection_errors_max_connections.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

struct Session(Connection);

impl Client for Session {
    fn query(&mut self, sql: &[u8], sink: &mut dyn ResultSink) -> SqlResult<()> {
        self.0.query(sql, sink)
    }

    fn prepare(&mut self, sql: &[u8]) -> SqlResult<Prepared> {
        self.0.prepare(sql)
    }

    fn execute(&mut self, id: u32, params: &[Value<'_>], sink: &mut dyn ResultSink) -> SqlResult<()> {
        self.0.execute(id, params, sink)
    }

    fn close_statement(&mut self, id: u32) {
        self.0.close_statement(id);
    }

    fn name_of(&self, bytes: &[u8]) -> String {
        self.0.client_text(bytes)
    }

    fn statistics(&mut self) -> String {
        self.0.statistics()
    }

    fn take_changes(&mut self) -> Vec<SessionChange> {
        self.0.take_changes()
    }

    fn use_database(&mut self, name: &str) -> SqlResult<()> {
        self.0.log_command("Init DB", name);
        self.0.use_database(name)
    }

    fn reset(&mut self) -> SqlResult<()> {
        self.0.reset()
    }

    fn change_user(&mut self, info: ConnectInfo) -> SqlResult<()> {
        self.0.change_user(info)
    }

    fn set_multi_statements(&mut self, allowed: bool) {
        self.0.set_multi_statements(allowed);
    }

    fn status_flags(&self) -> u16 {
        self.0.status_flags()
    }

    fn limits(&self) -> SessionLimits {
        let vars = &self.0.state().vars;
        SessionLimits {
            max_allowed_packet: vars.max_allowed_packet as usize,
            idle_timeout_s: vars.wait_timeout,
            net_read_timeout_s: vars.net_read_timeout,
            net_write_timeout_s: vars.net_write_timeout,
            progress_report_time_s: vars.progress_report_time,
        }
    }

    fn watch(&self) -> Option<Watch> {
        let process = self.0.process().clone();
        Some(Arc::new(move || {
            let sight = process.sight()?;
            Some(Report {
                stage: sight.phase,
                stages: sight.phases,
                done: sight.phase_completed,
                of: sight.phase_estimated,
                what: stage_name(sight.stage)?,
            })
        }))
    }

    fn message<'m>(&self, message: &'m str) -> Cow<'m, [u8]> {
        self.0.message(message)
    }

    fn note_error(&mut self, error: &SqlError) {
        self.0.note_error(error);
    }

    fn check_debug(&mut self) -> SqlResult<()> {
        self.0.check_debug()
    }

    fn may_hold(&self, bytes: usize) -> SqlResult<()> {
        self.0.may_hold(bytes)
    }

    fn hold(&mut self, bytes: usize) {
        self.0.hold(bytes);
    }

    fn count_bytes(&mut self, received: u64, sent: u64) {
        let status = &mut self.0.state_mut().status;
        status.bytes_received += received;
        status.bytes_sent += sent;
    }
}
