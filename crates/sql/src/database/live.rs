//! Global variables that reach the running engine.

use super::Database;
use crate::monitors;
use std::sync::atomic::Ordering;
use vaquita_engine::fulltext;
use vaquita_engine::hot_set::Ask;
use vaquita_engine::lower::{ChecksumAlgorithm, FlushNeighbors, LiveSettings};
use vaquita_session::vars::{VarId, VarValue, id};

/// Tells those who work of a variable that has a new value, if it can be taken while they do. Sessions look at
/// `flush_at_commit` when they begin a statement.
pub(super) fn apply(db: &Database, var: VarId, value: &VarValue) {
    let on = value.uint() != 0;
    match var {
        id::INNODB_FLUSH_LOG_AT_TRX_COMMIT => {
            let policy = value.uint() as u8;
            db.flush_at_commit.store(policy, Ordering::Relaxed);
            db.engine.core().live.flush_log_at_trx_commit.store(policy, Ordering::Relaxed);
        }
        id::GLOBAL_CONNECTION_MEMORY_LIMIT => db.memory.set_limit(value.uint()),
        id::DEFAULT_PASSWORD_LIFETIME => {
            db.accounts.set_default_lifetime(u16::try_from(value.uint()).unwrap_or(u16::MAX));
        }
        // What is no list was refused, or is one of an option file: nobody gets a role by it.
        id::MANDATORY_ROLES => db.accounts.set_mandatory_roles(roles(var, value).unwrap_or_default()),
        id::ACTIVATE_ALL_ROLES_ON_LOGIN => db.accounts.activate_all_roles(on),
        id::READ_ONLY => db.read_only.store(on, Ordering::Relaxed),
        id::SUPER_READ_ONLY => db.super_read_only.store(on, Ordering::Relaxed),
        _ if db.engine.core().storage.change(|live| set_in_storage(live, var, value)) => {}
        _ => apply_to_engine(db, var, value),
    }
}

/// The roles that `mandatory_roles` names; `None`: the text is no list of roles.
pub(super) fn roles(var: VarId, value: &VarValue) -> Option<Vec<(String, String)>> {
    crate::accounts::roles::parse_list(&value.text(var.def().kind).unwrap_or_default())
}

/// Gives the setting of the storage that a variable is its value; whether it is one.
pub(crate) fn set_in_storage(live: &mut LiveSettings, var: VarId, value: &VarValue) -> bool {
    let (number, on) = (value.uint(), value.uint() != 0);
    let small = u32::try_from(number).unwrap_or(u32::MAX);
    match var.def().name {
        "innodb_old_blocks_pct" => live.old_blocks_pct = small,
        "innodb_old_blocks_time" => live.old_blocks_time_ms = small,
        "innodb_read_ahead_threshold" => live.read_ahead_threshold = small,
        "innodb_random_read_ahead" => live.random_read_ahead = on,
        "innodb_autoextend_increment" => live.autoextend_increment_bytes = number << 20,
        "innodb_checksum_algorithm" => {
            live.checksum_algorithm = checksum(&value.text(var.def().kind).unwrap_or_default());
        }
        "innodb_flush_neighbors" => live.flush_neighbors = neighbors(number),
        "innodb_io_capacity" => live.io_capacity = small,
        "innodb_io_capacity_max" => live.io_capacity_max = small,
        "innodb_max_dirty_pages_pct" => live.max_dirty_pages_pct = small.max(1),
        "innodb_max_dirty_pages_pct_lwm" => live.max_dirty_pages_pct_lwm = small,
        "innodb_adaptive_flushing" => live.adaptive_flushing = on,
        "innodb_adaptive_flushing_lwm" => live.adaptive_flushing_lwm = small,
        "innodb_flushing_avg_loops" => live.flushing_avg_loops = small,
        "innodb_lru_scan_depth" => live.lru_scan_depth = small,
        "innodb_flush_log_at_timeout" => live.flush_log_at_timeout = small,
        _ => return false,
    }
    true
}

/// Checksum of that name.
fn checksum(name: &str) -> ChecksumAlgorithm {
    match name {
        "crc32" | "strict_crc32" => ChecksumAlgorithm::Crc32,
        "none" | "strict_none" => ChecksumAlgorithm::None,
        _ => ChecksumAlgorithm::Innodb,
    }
}

/// `innodb_flush_neighbors`.
fn neighbors(number: u64) -> FlushNeighbors {
    match number {
        0 => FlushNeighbors::None,
        1 => FlushNeighbors::Contiguous,
        _ => FlushNeighbors::Extent,
    }
}

fn apply_to_engine(db: &Database, var: VarId, value: &VarValue) {
    let number = value.uint();
    let core = db.engine.core();
    let live = &core.live;
    match var.def().name {
        "innodb_purge_batch_size" => {
            let size = usize::try_from(number).unwrap_or(usize::MAX);
            live.purge_batch_size.store(size, Ordering::Relaxed);
        }
        "innodb_max_purge_lag" => live.max_purge_lag.store(number, Ordering::Relaxed),
        "innodb_max_purge_lag_delay" => live.max_purge_lag_delay.store(number, Ordering::Relaxed),
        "innodb_online_alter_log_max_size" => {
            live.online_alter_log_max_size.store(number, Ordering::Relaxed);
        }
        "innodb_ft_result_cache_limit" => live.search_limit.store(number, Ordering::Relaxed),
        "vaquita_ft_counts_size" => fulltext::limit_kept(core, number),
        "vaquita_ft_optimize_deleted" => live.ft_optimize_deleted.store(number, Ordering::Relaxed),
        "innodb_ft_server_stopword_table" => {
            *live.stopword_table.write() = value.text(var.def().kind).map(Into::into);
        }
        "innodb_fast_shutdown" => live.fast_shutdown.store(number as u8, Ordering::Relaxed),
        "innodb_print_all_deadlocks" => live.print_all_deadlocks.store(number != 0, Ordering::Relaxed),
        "innodb_buffer_pool_dump_at_shutdown" => core.hot_set.settings().dump_at_shutdown = number != 0,
        "innodb_buffer_pool_dump_pct" => core.hot_set.settings().pct = number as u32,
        "innodb_buffer_pool_filename" => {
            let file = value.text(var.def().kind).unwrap_or_default();
            core.hot_set.settings().file = file.into();
        }
        // Two names of one setting; the smaller value counts.
        "innodb_rollback_segments" => use_segments(db, number, "innodb_undo_logs"),
        "innodb_undo_logs" => use_segments(db, number, "innodb_rollback_segments"),
        _ => {}
    }
}

/// What setting a variable to the name of a counter asks of it.
pub(super) fn monitor_request(var: VarId) -> Option<monitors::Ask> {
    Some(match var.def().name {
        "innodb_monitor_enable" => monitors::Ask::Enable,
        "innodb_monitor_disable" => monitors::Ask::Disable,
        "innodb_monitor_reset" => monitors::Ask::Reset,
        "innodb_monitor_reset_all" => monitors::Ask::ResetAll,
        _ => return None,
    })
}

/// What setting a variable to ON asks of the engine, if that is all it does: it is OFF again at once.
pub(super) fn request(var: VarId) -> Option<Ask> {
    Some(match var.def().name {
        "innodb_buffer_pool_dump_now" => Ask::Dump,
        "innodb_buffer_pool_load_now" => Ask::Load,
        "innodb_buffer_pool_load_abort" => Ask::AbortLoad,
        _ => return None,
    })
}

fn use_segments(db: &Database, number: u64, other: &str) {
    let segments = number.min(db.globals.uint(other));
    db.engine.core().txn.set_rollback_segments(usize::try_from(segments).unwrap_or(usize::MAX));
}
