//! Why a variable is refused, in words that end the error: "Variable 'log_bin' can't be set to the value of 'ON': there is no
//! binary log here".

pub(super) const ALL_FOLDERS: &str = "every folder of the data folder is a database";
pub(super) const CASE_COUNTS: &str = "names of tables are told apart by their case";
pub(super) const ENGLISH_MESSAGES: &str = "messages are in English";
pub(super) const GAPS_ARE_LOCKED: &str = "gaps are always locked";
pub(super) const NO_BINLOG: &str = "there is no binary log here";
pub(super) const NO_COMPRESSION_FIGURES: &str = "there are no figures of compression here";
pub(super) const NO_CORRUPTED: &str = "damaged tables are not loaded";
pub(super) const FIXED_SIGNS: &str = "the signs of InnoDB's searches are fixed";
pub(super) const NO_GTIDS: &str = "there are no GTIDs here";
pub(super) const NO_MARKERS: &str = "EXPLAIN FORMAT=JSON has no comments";
pub(super) const NO_NAMES: &str = "addresses of clients are not resolved to names";
pub(super) const NO_OLD: &str = "statements mean what they mean in 5.6";
pub(super) const NO_OLD_PASSWORDS: &str = "passwords of before 4.1 and of sha256_password are not known here";
pub(super) const NO_PERFORMANCE_SCHEMA: &str =
    "of the performance schema there is `events_stages_current` alone, which is always on";
pub(super) const NO_PRINTING: &str =
    "the monitor is not printed into the log; SHOW ENGINE INNODB STATUS has it";
pub(super) const NO_PROFILES: &str = "there are no profiles of statements here";
pub(super) const NO_PROXIES: &str = "there are no proxy users here";
pub(super) const NO_REPLICATION: &str = "there is no replication here";
pub(super) const NO_SYSLOG: &str = "the log goes to a file or to standard error";
pub(super) const NO_TRACE: &str = "there is no trace of the optimizer here";
pub(super) const NO_TRX_TRACKER: &str = "the state of transactions is not tracked";
pub(super) const NOT_COUNTED: &str = "the allocator of this program does not count";
pub(super) const NO_UNDO_SPACES: &str = "undo logs are in the system tablespace";
pub(super) const ONE_DEFAULT_COLLATION: &str = "the default collation of utf8mb4 is fixed";
pub(super) const ONE_ENGINE: &str = "there is one storage engine, and it is needed";
pub(super) const ONE_FOLDER: &str = "all files of InnoDB are in the data folder";
