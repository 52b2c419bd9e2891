//! MySQL 5.6.24 as the judge: it plays scripts for the recorder and runs the random transactions that prove the
//! checker's rules.

mod database;
mod server;
mod wire;

pub use database::MysqlDatabase;
pub use server::MysqlServer;
pub(crate) use server::{NO_LOCKS, lock_lines};
pub use wire::{Answer, Client, WireError};

use vaquita_peers::{Mysql56, Options, Server};

/// The server with which recordings are made. Statistics are taken once, after the setup, so that the optimizer's
/// choices do not depend on when a background thread looks at a table.
///
/// # Errors
/// It is not installed, or does not start.
pub fn start() -> Result<Server, String> {
    let options = Options::new()
        .set("innodb_stats_auto_recalc", 0)
        .set("innodb_flush_log_at_trx_commit", 0)
        .set("innodb_lock_wait_timeout", 50)
        .set("max_connections", 100);
    let server = Mysql56::start(options).map_err(|e| e.to_string())?;
    server.sql("create database if not exists iso").map_err(|e| e.to_string())?;
    Ok(server)
}
