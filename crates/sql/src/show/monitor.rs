//! SHOW ENGINE INNODB STATUS.

use crate::database::Database;
use std::fmt::Write;
use vaquita_base::Health;

/// The report, in the sections of MySQL's.
pub(super) fn status(db: &Database) -> String {
    let core = db.engine.core();
    let metrics = core.metrics();
    let metric = |name: &str| metrics.iter().find(|(n, _)| *n == name).map_or(0, |(_, value)| *value);
    let mut out = String::new();
    let mut section = |title: &str, body: &str| {
        let rule = "-".repeat(title.len());
        // Writing to a string does not fail.
        let _ = write!(out, "{rule}\n{title}\n{rule}\n{body}");
    };
    if let Some(deadlock) = core.last_deadlock() {
        section("LATEST DETECTED DEADLOCK", &deadlock);
    }
    let mut body = String::new();
    let _ = writeln!(body, "Trx id counter {}", core.txn.next_id());
    let history = metric("trx_rseg_history_len");
    let services = db.engine.services();
    let purging = services.iter().find(|(name, _)| name == "purge").map(|(_, health)| health);
    let purge = match purging {
        None => "disabled",
        Some(Health::Fails { .. } | Health::Ended { .. }) => "stopped",
        Some(Health::Works) if history == 0 => "running but idle",
        Some(Health::Works) => "running",
    };
    let purged = metric("purge_trx_no_limit");
    let _ = writeln!(body, "Purge done for trx's n:o < {purged} undo n:o < 0 state: {purge}");
    let _ = writeln!(body, "History list length {history}");
    let _ = writeln!(body, "LIST OF TRANSACTIONS FOR EACH SESSION:");
    let now = core.storage.clock().now_us();
    for trx in core.txn.describe() {
        let seconds = now.saturating_sub(trx.started_us) / 1_000_000;
        let _ = writeln!(body, "---TRANSACTION {}, ACTIVE {seconds} sec", trx.id);
        let _ = writeln!(
            body,
            "{} lock struct(s), {} row lock(s), undo log entries {}",
            trx.lock_structs, trx.records_locked, trx.undo_records
        );
        let _ = writeln!(body, "MySQL thread id {}", trx.tag);
        if let Some(since) = trx.waiting_since_us {
            let waited = now.saturating_sub(since) / 1_000_000;
            let _ = writeln!(body, "------- TRX HAS BEEN WAITING {waited} SEC FOR A LOCK TO BE GRANTED");
        }
    }
    section("TRANSACTIONS", &body);
    let mut body = String::new();
    for (name, health) in &services {
        let _ = writeln!(body, "{name} {health}");
    }
    let passed = metric("purge_passed_over");
    if passed > 0 {
        let _ = writeln!(body, "purge has passed over {passed} undo record(s) of damaged tables");
    }
    let stuck = core.stuck_transactions();
    if stuck > 0 {
        let _ = writeln!(
            body,
            "rollback cannot finish {stuck} transaction(s) at present, whose rows stay locked"
        );
    }
    section("BACKGROUND SERVICES", &body);
    section("LOCKS", &core.describe_locks());
    let pool = core.storage.pool();
    let body = format!(
        "Log sequence number {}\nLog flushed up to   {}\nLast checkpoint at  {}\n{} log syncs done\n",
        metric("log_lsn_current"),
        metric("log_lsn_last_flush"),
        metric("log_lsn_last_checkpoint"),
        metric("log_syncs")
    );
    section("LOG", &body);
    let body = format!(
        "Buffer pool size   {}\nFree buffers       {}\nDatabase pages     {}\nModified db pages  {}\nPages read {}\n",
        pool.frame_count(),
        pool.free_count(),
        pool.frame_count() - pool.free_count(),
        pool.dirty_count(),
        metric("buffer_pool_reads")
    );
    section("BUFFER POOL AND MEMORY", &body);
    let body = format!(
        "Number of rows inserted {}, updated {}, deleted {}, read {}\n",
        metric("dml_inserts"),
        metric("dml_updates"),
        metric("dml_deletes"),
        metric("dml_reads")
    );
    section("ROW OPERATIONS", &body);
    let title = "=====================================\nINNODB MONITOR OUTPUT\n=====================================\n";
    format!(
        "\n{title}{out}----------------------------\nEND OF INNODB MONITOR OUTPUT\n============================\n"
    )
}
