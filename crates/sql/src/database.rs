//! A folder opened as a database.

use crate::accounts::Accounts;
use crate::catalog::Catalog;
use crate::connection::{ConnectInfo, Connection};
use crate::plan_cache::PlanCache;
use crate::process::Processes;
use crate::status::Status;
use crate::vars::Globals;
use std::path::PathBuf;
use std::sync::Arc;
use vaquita_engine::Engine;
use vaquita_types::SqlResult;

/// How to open.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder; created if it is not there.
    pub dir: PathBuf,
    /// System variables, by name, as text: what `--name=value` and option files give.
    pub variables: Vec<(String, String)>,
}

/// What the sessions of a folder share.
#[derive(Debug)]
pub struct Database {
    /// The engine.
    pub(crate) engine: Engine,
    /// Global system variables.
    pub(crate) globals: Globals,
    /// Status counters.
    pub(crate) status: Status,
    /// Connected sessions, named locks.
    pub(crate) processes: Processes,
    /// Users and grants.
    pub(crate) accounts: Accounts,
    /// Plans by text.
    pub(crate) plans: PlanCache,
    /// Tables with their SQL types.
    pub(crate) catalog: Catalog,
}

impl Database {
    /// Opens a folder; a new one gets its system tables and `root@localhost`.
    ///
    /// # Errors
    /// The folder cannot be used, a variable is unknown or has a value it cannot have.
    pub fn open(_options: Options) -> SqlResult<Arc<Database>> {
        unimplemented!()
    }

    /// A session for somebody who is already authenticated.
    ///
    /// # Errors
    /// 1040 too many connections, 1226 too many of this user, 1044/1049 the wanted database.
    pub fn connect(self: &Arc<Self>, _info: ConnectInfo) -> SqlResult<Connection> {
        unimplemented!()
    }

    /// Users, passwords, grants.
    pub fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// Global variables.
    pub fn globals(&self) -> &Globals {
        &self.globals
    }

    /// Status counters; doors count here what they see.
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// Who is connected.
    pub fn processes(&self) -> &Processes {
        &self.processes
    }

    /// The engine below.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Ends all sessions' waits, rolls back what is open, writes a checkpoint.
    ///
    /// # Errors
    /// Files.
    pub fn close(&self) -> SqlResult<()> {
        unimplemented!()
    }
}
