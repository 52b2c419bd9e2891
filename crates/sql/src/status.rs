//! Lines of SHOW STATUS.

use crate::database::Database;
use crate::logs::stamp;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use vaquita_engine::hot_set::Progress;
use vaquita_session::SessionState;
use vaquita_session::status::{COM_NAMES, SessionStatus};

/// Names and values: of a session, or of all.
pub(crate) fn list(db: &Database, session: Option<&SessionState>) -> Vec<(String, String)> {
    let counters = match session {
        Some(state) => {
            let mut own = state.told_status.clone();
            own.add(&state.status);
            own
        }
        None => total(db),
    };
    let mut out: Vec<(String, String)> = Vec::with_capacity(400);
    let mut push = |name: &str, value: u64| out.push((name.to_owned(), value.to_string()));
    for (name, value) in counters.list() {
        push(name, value);
    }
    for (at, name) in COM_NAMES.iter().enumerate() {
        push(&format!("Com_{name}"), counters.com.get(at).copied().unwrap_or(0));
    }
    let status = db.status();
    push("Aborted_clients", status.aborted_clients.load(Ordering::Relaxed));
    push("Aborted_connects", status.aborted_connects.load(Ordering::Relaxed));
    push("Connections", status.connections.load(Ordering::Relaxed));
    let refused = status.connection_errors_max_connections.load(Ordering::Relaxed);
    push("Connection_errors_max_connections", refused);
    push("Max_used_connections", status.max_used_connections.load(Ordering::Relaxed));
    push("Threads_connected", db.processes().connected() as u64);
    push("Threads_running", db.processes().running() as u64);
    let uptime = db.opened.elapsed().as_secs();
    push("Uptime", uptime);
    push("Uptime_since_flush_status", uptime.saturating_sub(status.flushed_at.load(Ordering::Relaxed)));
    push("Prepared_stmt_count", db.prepared_count.load(Ordering::Relaxed));
    push("Open_tables", db.engine.core().dict.tables_in_memory() as u64);
    push("Open_table_definitions", db.engine.core().dict.tables_in_memory() as u64);
    let opened = db.engine.core().dict.tables_opened();
    push("Opened_tables", opened);
    push("Opened_table_definitions", opened);
    push("Open_files", db.engine.core().storage.spaces().open_file_count().into());
    push("Global_connection_memory", db.memory.shown());
    push("Vaquita_plans", db.plans.len() as u64);
    push("Vaquita_ft_counts_bytes", vaquita_engine::fulltext::kept_bytes(db.engine.core()));
    for name in ABSENT {
        push(name, 0);
    }
    for (name, value) in innodb(db) {
        push(name, value);
    }
    let (dump, load) = db.engine.core().hot_set.progress();
    let [dump, load] =
        [("dump", dump), ("load", load)].map(|(what, progress)| progress_text(db, what, progress));
    let tls = session.and_then(|state| state.tls.as_ref());
    for (name, value) in [
        ("Compression", if session.is_some_and(|state| state.compressed) { "ON" } else { "OFF" }),
        ("Innodb_buffer_pool_dump_status", &dump),
        ("Innodb_buffer_pool_load_status", &load),
        ("Innodb_have_atomic_builtins", "ON"),
        ("Rpl_status", "AUTH_MASTER"),
        ("Slave_running", "OFF"),
        ("Ssl_cipher", tls.map_or("", |(cipher, _)| cipher)),
        ("Ssl_version", tls.map_or("", |(_, version)| version)),
    ] {
        out.push((name.to_owned(), value.to_owned()));
    }
    out.sort();
    out
}

/// How far a dump or a load of the buffer pool is, in MySQL's words.
fn progress_text(db: &Database, what: &str, progress: Progress) -> String {
    match progress {
        Progress::NotStarted => "not started".to_owned(),
        Progress::Said(text) => text,
        Progress::Completed { at_us, remark } => {
            let ago = Duration::from_micros(db.engine.core().storage.clock().now_us().saturating_sub(at_us));
            let at = (SystemTime::now() - ago).duration_since(UNIX_EPOCH).unwrap_or_default();
            format!("Buffer pool(s) {what} completed at {}{remark}", stamp(at.as_secs() as i64))
        }
    }
}

/// Counters of what does not exist here, a query cache, a binary log, a cache of keys: nothing of it happens, and so 0 is true.
const ABSENT: &[&str] = &[
    "Binlog_cache_disk_use",
    "Binlog_cache_use",
    "Delayed_errors",
    "Delayed_insert_threads",
    "Delayed_writes",
    "Key_blocks_not_flushed",
    "Key_blocks_unused",
    "Key_blocks_used",
    "Key_read_requests",
    "Key_reads",
    "Key_write_requests",
    "Key_writes",
    "Open_streams",
    "Qcache_free_blocks",
    "Qcache_free_memory",
    "Qcache_hits",
    "Qcache_inserts",
    "Qcache_lowmem_prunes",
    "Qcache_not_cached",
    "Qcache_queries_in_cache",
    "Qcache_total_blocks",
    "Slave_open_temp_tables",
];

/// Of sessions that have ended and of those there are, as far as they have told.
fn total(db: &Database) -> SessionStatus {
    db.status().ended.lock().clone()
}

fn innodb(db: &Database) -> Vec<(&'static str, u64)> {
    let core = db.engine.core();
    let metrics = core.metrics();
    let metric = |name: &str| metrics.iter().find(|(n, _)| *n == name).map_or(0, |(_, value)| *value);
    let pool = core.storage.pool();
    let (stats, log) = (&pool.stats, core.storage.log().stats());
    let page = core.storage.options().page_size.logical() as u64;
    let (frames, free, dirty) =
        (pool.frame_count() as u64, pool.free_count() as u64, pool.dirty_count() as u64);
    let waits = metric("lock_rec_lock_waits");
    let time = metric("lock_row_lock_time");
    vec![
        ("Innodb_buffer_pool_pages_data", frames - free),
        ("Innodb_buffer_pool_bytes_data", (frames - free) * page),
        ("Innodb_buffer_pool_pages_dirty", dirty),
        ("Innodb_buffer_pool_bytes_dirty", dirty * page),
        ("Innodb_buffer_pool_pages_free", free),
        ("Innodb_buffer_pool_pages_misc", 0),
        ("Innodb_buffer_pool_pages_total", frames),
        ("Innodb_buffer_pool_read_ahead", stats.read_ahead.get()),
        ("Innodb_buffer_pool_read_ahead_evicted", stats.read_ahead_evicted.get()),
        ("Innodb_buffer_pool_read_requests", stats.requests.get()),
        ("Innodb_buffer_pool_reads", stats.reads.get()),
        ("Innodb_buffer_pool_wait_free", stats.wait_free.get()),
        ("Innodb_data_reads", stats.reads.get()),
        ("Innodb_data_read", stats.reads.get() * page),
        ("Innodb_pages_read", stats.reads.get()),
        ("Innodb_log_waits", log.buffer_waits.get()),
        ("Innodb_log_write_requests", log.appends.get()),
        ("Innodb_log_writes", log.writes.get()),
        ("Innodb_os_log_fsyncs", log.syncs.get()),
        ("Innodb_os_log_written", log.written_bytes.get()),
        ("Innodb_page_size", page),
        ("Innodb_row_lock_current_waits", metric("lock_row_lock_current_waits")),
        ("Innodb_row_lock_time", time),
        ("Innodb_row_lock_time_avg", time.checked_div(waits).unwrap_or(0)),
        ("Innodb_row_lock_time_max", metric("lock_row_lock_time_max")),
        ("Innodb_row_lock_waits", waits),
        ("Innodb_rows_deleted", metric("dml_deletes")),
        ("Innodb_rows_inserted", metric("dml_inserts")),
        ("Innodb_rows_read", metric("dml_reads")),
        ("Innodb_rows_updated", metric("dml_updates")),
        ("Innodb_num_open_files", core.storage.spaces().open_file_count().into()),
        ("Innodb_available_undo_logs", core.options.txn.rollback_segments as u64),
    ]
}
