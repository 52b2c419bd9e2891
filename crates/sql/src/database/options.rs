//! The engine's settings from system variables.

use crate::vars::{Globals, VarId};
use std::path::Path;
use vaquita_engine::lower::ChecksumAlgorithm;
use vaquita_engine::lower::{FlushNeighbors, ForceRecovery, SystemFile};
use vaquita_types::{SqlError, SqlResult};

/// Settings for the engine in that folder.
///
/// # Errors
/// 1231 for values that the engine cannot have.
pub(super) fn engine_options(dir: &Path, globals: &Globals) -> SqlResult<vaquita_engine::Options> {
    let number = |name: &str| globals.uint(&format!("innodb_{name}"));
    let small = |name: &str| u32::try_from(number(name)).unwrap_or(u32::MAX);
    let size = |name: &str| usize::try_from(number(name)).unwrap_or(usize::MAX);
    let mut options = vaquita_engine::Options::new(dir);
    let storage = &mut options.storage;
    let page_size = size("page_size");
    storage.page_size = vaquita_engine::lower::PageSize::new(page_size)
        .ok_or_else(|| wrong("innodb_page_size", &page_size.to_string()))?;
    storage.buffer_pool_size = size("buffer_pool_size");
    storage.buffer_pool_instances = size("buffer_pool_instances");
    storage.old_blocks_pct = small("old_blocks_pct");
    storage.old_blocks_time_ms = small("old_blocks_time");
    storage.read_ahead_threshold = small("read_ahead_threshold");
    storage.random_read_ahead = number("random_read_ahead") != 0;
    if let Some(path) = globals.text("innodb_data_file_path") {
        storage.data_file_path = data_files(&path).ok_or_else(|| wrong("innodb_data_file_path", &path))?;
    }
    storage.autoextend_increment_bytes = number("autoextend_increment") << 20;
    storage.log_files_in_group = small("log_files_in_group");
    storage.log_file_size = number("log_file_size");
    storage.log_buffer_size = size("log_buffer_size");
    if let Some(method) = globals.text("innodb_flush_method")
        && let Some(method) = flush_method(&method)
    {
        storage.flush_method = method;
    }
    // Commits that do not wait for the disk would wait for its write.
    storage.log_file_buffering = number("log_file_buffering") != 0 || number("flush_log_at_trx_commit") != 1;
    storage.checksum_algorithm = match globals.text("innodb_checksum_algorithm").unwrap_or_default().as_str()
    {
        "crc32" | "strict_crc32" => ChecksumAlgorithm::Crc32,
        "none" | "strict_none" => ChecksumAlgorithm::None,
        _ => ChecksumAlgorithm::Innodb,
    };
    storage.doublewrite = number("doublewrite") != 0;
    storage.flush_neighbors = match number("flush_neighbors") {
        0 => FlushNeighbors::None,
        1 => FlushNeighbors::Contiguous,
        _ => FlushNeighbors::Extent,
    };
    storage.io_capacity = small("io_capacity");
    storage.io_capacity_max = small("io_capacity_max").max(storage.io_capacity);
    storage.max_dirty_pages_pct = small("max_dirty_pages_pct").max(1);
    storage.max_dirty_pages_pct_lwm = small("max_dirty_pages_pct_lwm");
    storage.adaptive_flushing = number("adaptive_flushing") != 0;
    storage.adaptive_flushing_lwm = small("adaptive_flushing_lwm");
    storage.flushing_avg_loops = small("flushing_avg_loops");
    storage.lru_scan_depth = small("lru_scan_depth");
    storage.open_files = size("open_files");
    storage.force_recovery = ForceRecovery(number("force_recovery") as u8);
    storage.read_only = number("read_only") != 0;
    options.txn.rollback_segments = size("rollback_segments").min(size("undo_logs"));
    options.txn.deadlock_detect = number("deadlock_detect") != 0;
    options.txn.print_all_deadlocks = number("print_all_deadlocks") != 0;
    options.flush_log_at_trx_commit = number("flush_log_at_trx_commit") as u8;
    options.lock_wait_timeout = small("lock_wait_timeout");
    options.rollback_on_timeout = number("rollback_on_timeout") != 0;
    options.autoinc_lock_mode = number("autoinc_lock_mode") as u8;
    options.purge_threads = size("purge_threads");
    options.purge_batch_size = size("purge_batch_size");
    options.max_purge_lag = number("max_purge_lag");
    options.max_purge_lag_delay = number("max_purge_lag_delay");
    options.fast_shutdown = number("fast_shutdown") as u8;
    let cache = VarId::find(b"table_definition_cache").map_or(0, |id| globals.get(id).uint());
    options.table_definition_cache = usize::try_from(cache).unwrap_or(usize::MAX);
    Ok(options)
}

fn wrong(name: &str, value: &str) -> SqlError {
    SqlError::new(1231, format!("Variable '{name}' can't be set to the value of '{value}'"))
}

fn flush_method(name: &str) -> Option<vaquita_engine::lower::FlushMethod> {
    use vaquita_engine::lower::FlushMethod as M;
    match name {
        "fsync" => Some(M::Fsync),
        "O_DSYNC" => Some(M::ODsync),
        "O_DIRECT" => Some(M::ODirect),
        "O_DIRECT_NO_FSYNC" => Some(M::ODirectNoFsync),
        _ => None,
    }
}

/// `ibdata1:12M;ibdata2:12M:autoextend`.
fn data_files(path: &str) -> Option<Vec<SystemFile>> {
    let file = |text: &str| {
        let mut parts = text.split(':');
        let name = parts.next().filter(|n| !n.is_empty())?;
        let size = parts.next()?.trim();
        let (digits, shift) = match size.as_bytes().last()?.to_ascii_uppercase() {
            b'K' => (&size[..size.len() - 1], 10),
            b'M' => (&size[..size.len() - 1], 20),
            b'G' => (&size[..size.len() - 1], 30),
            _ => (size, 0),
        };
        let size_bytes = digits.parse::<u64>().ok()?.checked_mul(1 << shift)?;
        Some(SystemFile { name: name.into(), size_bytes })
    };
    path.split(';').filter(|f| !f.is_empty()).map(file).collect()
}
