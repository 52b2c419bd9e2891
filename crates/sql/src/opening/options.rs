//! The engine's settings from system variables.

use std::path::Path;
use vaquita_engine::lower::{ForceRecovery, PageSize, SystemFile};
use vaquita_session::vars::{Globals, VarId};
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
    storage.page_size = page_size_of(page_size)?;
    storage.buffer_pool_size = size("buffer_pool_size");
    storage.buffer_pool_instances = size("buffer_pool_instances");
    for var in VarId::all() {
        crate::database::set_in_storage(&mut storage.live, var, &globals.get(var));
    }
    if let Some(path) = globals.text("innodb_data_file_path") {
        let files = DataFiles::parse(&path).ok_or_else(|| wrong("innodb_data_file_path", &path))?;
        storage.data_file_path = files.files;
        storage.autoextend = files.autoextend;
        storage.autoextend_max = files.max;
    }
    if let Some(dir) = globals.text("innodb_data_home_dir") {
        storage.data_home_dir = dir.into();
    }
    if let Some(dir) = globals.text("innodb_log_group_home_dir") {
        storage.log_group_home_dir = dir.into();
    }
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
    storage.doublewrite = number("doublewrite") != 0;
    storage.open_files = size("open_files");
    storage.force_recovery = ForceRecovery(number("force_recovery") as u8);
    storage.read_only = number("read_only") != 0;
    storage.take_over = globals.is_on("take_over");
    if let Some(dir) = globals.text("innodb_undo_directory").filter(|dir| !dir.is_empty()) {
        storage.undo_directory = dir.into();
    }
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
    options.sort_buffer_size = size("sort_buffer_size");
    options.word_sizes = size("ft_min_token_size")..=size("ft_max_token_size");
    options.parsers.ngram_size = usize::try_from(globals.uint("ngram_token_size")).unwrap_or(usize::MAX);
    options.online_alter_log_max_size = number("online_alter_log_max_size");
    options.fulltext.cache_size = number("ft_cache_size");
    options.fulltext.total_cache_size = number("ft_total_cache_size");
    options.fulltext.search_limit = number("ft_result_cache_limit");
    options.fulltext.counts_size = globals.uint("vaquita_ft_counts_size");
    options.fulltext.ft_optimize_deleted = globals.uint("vaquita_ft_optimize_deleted");
    options.fulltext.stopword_table = globals.text("innodb_ft_server_stopword_table");
    options.disk.native_aio = number("use_native_aio") != 0;
    options.disk.io_threads = size("read_io_threads") + size("write_io_threads");
    options.hot_set.file = globals.text("innodb_buffer_pool_filename").unwrap_or_default().into();
    options.hot_set.pct = small("buffer_pool_dump_pct");
    options.hot_set.dump_at_shutdown = number("buffer_pool_dump_at_shutdown") != 0;
    options.buffer_pool_load_at_startup = number("buffer_pool_load_at_startup") != 0;
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

/// Page sizes of MySQL 5.6. The larger ones of 5.7 are not taken for 16K silently.
fn page_size_of(bytes: usize) -> SqlResult<PageSize> {
    PageSize::new(bytes).filter(|size| size.logical() <= PageSize::DEFAULT.logical()).ok_or_else(|| {
        SqlError::new(
            1231,
            format!("innodb_page_size cannot be {bytes}: pages have 4096, 8192 or 16384 bytes"),
        )
    })
}

/// What `innodb_data_file_path` says.
struct DataFiles {
    files: Vec<SystemFile>,
    autoextend: bool,
    max: Option<u64>,
}

impl DataFiles {
    /// `ibdata1:12M;ibdata2:12M:autoextend:max:500M`. Only the last file may grow.
    fn parse(path: &str) -> Option<DataFiles> {
        let mut all = DataFiles { files: Vec::new(), autoextend: false, max: None };
        for text in path.split(';').filter(|f| !f.trim().is_empty()) {
            if all.autoextend {
                return None;
            }
            let mut parts = text.split(':').map(str::trim);
            let name = parts.next().filter(|n| !n.is_empty())?;
            let size_bytes = bytes_of(parts.next()?)?;
            all.files.push(SystemFile { name: name.into(), size_bytes });
            match (parts.next(), parts.next(), parts.next(), parts.next()) {
                (None, ..) => {}
                (Some("autoextend"), None, ..) => all.autoextend = true,
                (Some("autoextend"), Some("max"), Some(max), None) => {
                    all.autoextend = true;
                    all.max = Some(bytes_of(max)?).filter(|&max| max > 0);
                }
                _ => return None,
            }
        }
        (!all.files.is_empty()).then_some(all)
    }
}

/// `12M`.
fn bytes_of(size: &str) -> Option<u64> {
    let (digits, shift) = match size.as_bytes().last()?.to_ascii_uppercase() {
        b'K' => (&size[..size.len() - 1], 10),
        b'M' => (&size[..size.len() - 1], 20),
        b'G' => (&size[..size.len() - 1], 30),
        _ => (size, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}
