//! How many clients and files of tables fit into what the system lets this process open.
//!
//! Every client has a socket, every table in use a file. What is asked for and does not fit is cut before the folder is opened,
//! with a line in the log, as MySQL does.

use super::options::Settings;
use vaquita_server::ErrorLog;
use vaquita_sql::vars::Globals;

/// Files that a server has open besides those of clients and tables: its standard ones, logs, the system tablespace, sockets that
/// listen, loops and rings of the kernel, temporary files.
const OWN: u64 = 40;
/// Files of tables that are open at once, at least.
const TABLE_FILES_MIN: u64 = 10;
/// Files that MySQL asks for if nobody says how many.
const FILES_WANTED: u64 = 5_000;
/// `table_open_cache` is not cut below.
const TABLE_CACHE_MIN: u64 = 400;

/// What needs files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Needs {
    max_connections: u64,
    memcached_max_connections: u64,
    table_open_cache: u64,
    innodb_open_files: u64,
}

impl Needs {
    fn of(globals: &Globals) -> Needs {
        let said = |name: &str| globals.text(name).is_some_and(|text| !matches!(text.as_str(), "" | "0"));
        let memcached =
            ["memcached_port", "memcached_socket", "daemon_memcached_option"].into_iter().any(said);
        Needs {
            max_connections: globals.uint("max_connections"),
            memcached_max_connections: if memcached { globals.uint("memcached_max_connections") } else { 0 },
            table_open_cache: globals.uint("table_open_cache"),
            innodb_open_files: globals.uint("innodb_open_files"),
        }
    }

    /// As MySQL reckons it.
    fn files_wanted(self, asked: Option<u64>) -> u64 {
        let by_tables = 10 + self.max_connections + 2 * self.table_open_cache;
        by_tables.max(5 * self.max_connections).max(asked.unwrap_or(FILES_WANTED))
    }

    /// What of it fits into so many files. One client more than `max_connections` may come in.
    fn cut(self, files: u64) -> Needs {
        let clients = files.saturating_sub(OWN + TABLE_FILES_MIN + 1);
        let memcached = match self.max_connections + self.memcached_max_connections > clients {
            true => self.memcached_max_connections.min((clients / 2).max(1)),
            false => self.memcached_max_connections,
        };
        let sql = self.max_connections.min(clients.saturating_sub(memcached)).max(1);
        let by_cache = (files.saturating_sub(10 + sql) / 2).max(TABLE_CACHE_MIN);
        Needs {
            max_connections: sql,
            memcached_max_connections: memcached,
            table_open_cache: self.table_open_cache.min(by_cache),
            innodb_open_files: self
                .innodb_open_files
                .min(files.saturating_sub(OWN + 1 + sql + memcached))
                .max(TABLE_FILES_MIN),
        }
    }
}

/// Raises the limit of open files as far as it goes and cuts to it what needs files: the system variables to open with.
pub(super) fn fit(settings: &Settings, log: &ErrorLog) -> Vec<(String, String)> {
    let mut variables = settings.variables.clone();
    // What is wrong with them is said when they are used.
    let Ok(globals) = Globals::new(&variables) else { return variables };
    let asked = settings.value("open_files_limit").map(|_| globals.uint("open_files_limit"));
    let needs = Needs::of(&globals);
    let wanted = needs.files_wanted(asked.filter(|&n| n > 0));
    let Some(files) = vaquita_net::files::raise_file_limit(wanted) else { return variables };
    let changed = |what: &str, is: u64, wanted: u64| {
        log.warning(&format!("Changed limits: {what}: {is} (requested {wanted})"));
    };
    if files < wanted {
        changed("max_open_files", files, wanted);
    }
    let cut = needs.cut(files);
    for (name, is, wanted) in [
        ("max_connections", cut.max_connections, needs.max_connections),
        ("memcached_max_connections", cut.memcached_max_connections, needs.memcached_max_connections),
        ("table_open_cache", cut.table_open_cache, needs.table_open_cache),
        ("innodb_open_files", cut.innodb_open_files, needs.innodb_open_files),
    ] {
        if is != wanted {
            changed(name, is, wanted);
            variables.push((name.to_owned(), is.to_string()));
        }
    }
    variables.push(("open_files_limit".to_owned(), files.to_string()));
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFAULTS: Needs = Needs {
        max_connections: 151,
        memcached_max_connections: 0,
        table_open_cache: 2_000,
        innodb_open_files: 2_000,
    };

    #[test]
    fn what_fits_is_left_alone() {
        assert_eq!(DEFAULTS.files_wanted(None), 5_000);
        assert_eq!(DEFAULTS.files_wanted(Some(9_000)), 9_000);
        assert_eq!(Needs { max_connections: 2_000, ..DEFAULTS }.files_wanted(Some(100)), 10_000);
        assert_eq!(DEFAULTS.cut(5_000), DEFAULTS);
    }

    #[test]
    fn what_is_cut_fits() {
        for memcached in [0, 1_024] {
            for files in [52, 64, 100, 200, 400, 1_024, 3_000] {
                let cut = Needs { memcached_max_connections: memcached, ..DEFAULTS }.cut(files);
                let sum =
                    cut.max_connections + 1 + cut.memcached_max_connections + cut.innodb_open_files + OWN;
                assert!(sum <= files.max(OWN + TABLE_FILES_MIN + 3), "{files}: {cut:?}");
                assert!(cut.max_connections > 0 && cut.innodb_open_files >= TABLE_FILES_MIN, "{cut:?}");
            }
        }
        let cut = DEFAULTS.cut(64);
        assert_eq!((cut.max_connections, cut.table_open_cache, cut.innodb_open_files), (13, 400, 10));
        let cut = DEFAULTS.cut(1_024);
        assert_eq!((cut.max_connections, cut.table_open_cache, cut.innodb_open_files), (151, 431, 832));
    }
}
