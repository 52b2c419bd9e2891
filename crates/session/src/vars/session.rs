//! A session's values.

use super::{VarId, VarValue, parse};
use crate::temp::{SortRoom, TmpFolders};
use std::borrow::Cow;
use std::sync::Arc;
use vaquita_engine::lower::charset::Charset;
use vaquita_types::{SqlMode, TimeZone};

/// Session values. What many statements read is a plain field, kept in step with the variable of its name; the others are
/// read by [`SessionVars::get`].
#[derive(Debug, Clone)]
pub struct SessionVars {
    /// `auto_increment_increment`.
    pub auto_increment_increment: u64,
    /// `auto_increment_offset`.
    pub auto_increment_offset: u64,
    /// `autocommit`.
    pub autocommit: bool,
    /// Default collation of `character_set_client`.
    pub character_set_client: u16,
    /// Default collation of `character_set_results`; `None`: texts go out as they are.
    pub character_set_results: Option<u16>,
    /// `collation_connection`; its character set is `character_set_connection`.
    pub collation_connection: u16,
    /// `collation_database`: of the current database.
    pub collation_database: u16,
    /// `collation_server`.
    pub collation_server: u16,
    /// `completion_type`: 0 nothing, 1 CHAIN, 2 RELEASE.
    pub completion_type: u8,
    /// `default_week_format`.
    pub default_week_format: u32,
    /// `div_precision_increment`.
    pub div_precision_increment: u8,
    /// `explicit_defaults_for_timestamp`.
    pub explicit_defaults_for_timestamp: bool,
    /// `foreign_key_checks`.
    pub foreign_key_checks: bool,
    /// `group_concat_max_len`.
    pub group_concat_max_len: u64,
    /// `max_join_size` unless `sql_big_selects` is set; `u64::MAX`: no limit.
    pub join_size_max: u64,
    /// `sql_auto_is_null`.
    pub sql_auto_is_null: bool,
    /// `join_buffer_size`.
    pub join_buffer_size: u64,
    /// `tmp_table_size`.
    pub tmp_table_size: u64,
    /// `max_heap_table_size`.
    pub max_heap_table_size: u64,
    /// `long_query_time` in microseconds.
    pub long_query_time_us: u64,
    /// `min_examined_row_limit`.
    pub min_examined_row_limit: u64,
    /// `sql_log_off`: nothing of the session goes to the general log.
    pub sql_log_off: bool,
    /// `max_allowed_packet`.
    pub max_allowed_packet: u64,
    /// `max_error_count`.
    pub max_error_count: usize,
    /// `max_execution_time` in milliseconds; 0: no limit.
    pub max_execution_time: u64,
    /// `cte_max_recursion_depth`.
    pub cte_max_recursion_depth: u64,
    /// `net_read_timeout`, seconds.
    pub net_read_timeout: u32,
    /// `net_write_timeout`, seconds.
    pub net_write_timeout: u32,
    /// `progress_report_time`, seconds.
    pub progress_report_time: u32,
    /// `sort_buffer_size`.
    pub sort_buffer_size: u64,
    /// `sql_mode`.
    pub sql_mode: SqlMode,
    /// `sql_notes`: conditions of level Note are kept.
    pub sql_notes: bool,
    /// `sql_quote_show_create`.
    pub sql_quote_show_create: bool,
    /// `sql_safe_updates`.
    pub sql_safe_updates: bool,
    /// `sql_select_limit`; `u64::MAX`: none.
    pub sql_select_limit: u64,
    /// `time_zone`.
    pub time_zone: Arc<TimeZone>,
    /// `timestamp` in microseconds, if it is set: NOW() stands still.
    pub timestamp_us: Option<i64>,
    /// `insert_id`: the next AUTO_INCREMENT value, 0 if it is not set; the next INSERT takes it.
    pub insert_id: u64,
    /// `pseudo_thread_id`, if it is set: CONNECTION_ID() gives it.
    pub pseudo_thread_id: Option<u64>,
    /// `tx_isolation`: 0 READ-UNCOMMITTED to 3 SERIALIZABLE.
    pub tx_isolation: u8,
    /// `tx_read_only`.
    pub tx_read_only: bool,
    /// `tmpdir`.
    pub tmp_folders: Arc<TmpFolders>,
    /// `unique_checks`.
    pub unique_checks: bool,
    /// `wait_timeout`.
    pub wait_timeout: u32,
    /// Of all that plans of statements depend on.
    fingerprint: u64,
    /// The values it began with.
    base: Arc<[VarValue]>,
    /// What it has set since.
    own: Vec<(VarId, VarValue)>,
}

macro_rules! ids {
    ($($id:ident)*) => {
        /// Places of variables in the table.
        #[allow(missing_docs)]
        pub mod id {
            use super::VarId;
            $(pub const $id: VarId = VarId::of(lower(stringify!($id)).as_str());)*

            pub(super) struct Lower([u8; 64], usize);
            impl Lower {
                pub(super) const fn as_str(&self) -> &str {
                    let (name, _) = self.0.split_at(self.1);
                    match std::str::from_utf8(name) {
                        Ok(name) => name,
                        Err(_) => panic!("names are ASCII"),
                    }
                }
            }
            const fn lower(name: &str) -> Lower {
                let (mut out, mut at) = ([0; 64], 0);
                while at < name.len() {
                    out[at] = name.as_bytes()[at].to_ascii_lowercase();
                    at += 1;
                }
                Lower(out, at)
            }
        }
    };
}

ids! {
    AUTO_INCREMENT_INCREMENT AUTO_INCREMENT_OFFSET AUTOCOMMIT CHARACTER_SET_CLIENT CHARACTER_SET_CONNECTION
    CHARACTER_SET_DATABASE CHARACTER_SET_FILESYSTEM CHARACTER_SET_RESULTS CHARACTER_SET_SERVER COLLATION_CONNECTION COLLATION_DATABASE
    COLLATION_SERVER COMPLETION_TYPE CTE_MAX_RECURSION_DEPTH DEFAULT_WEEK_FORMAT DIV_PRECISION_INCREMENT
    ERROR_COUNT EXPLICIT_DEFAULTS_FOR_TIMESTAMP FOREIGN_KEY_CHECKS GROUP_CONCAT_MAX_LEN IDENTITY INSERT_ID
    INNODB_FLUSH_LOG_AT_TRX_COMMIT INNODB_FT_ENABLE_STOPWORD INNODB_FT_USER_STOPWORD_TABLE INNODB_LOCK_WAIT_TIMEOUT
    INTERACTIVE_TIMEOUT JOIN_BUFFER_SIZE LAST_INSERT_ID
    LOCK_WAIT_TIMEOUT LONG_QUERY_TIME MAX_ALLOWED_PACKET MAX_CONNECTIONS MAX_ERROR_COUNT MAX_EXECUTION_TIME MAX_JOIN_SIZE
    MAX_HEAP_TABLE_SIZE MAX_USER_CONNECTIONS PSEUDO_THREAD_ID RAND_SEED1 RAND_SEED2
    READ_ONLY SESSION_TRACK_SCHEMA SESSION_TRACK_STATE_CHANGE SESSION_TRACK_SYSTEM_VARIABLES
    SORT_BUFFER_SIZE
    MAX_SP_RECURSION_DEPTH SQL_AUTO_IS_NULL SQL_BIG_SELECTS SQL_LOG_BIN SQL_MODE SQL_NOTES SQL_QUOTE_SHOW_CREATE SQL_SAFE_UPDATES SQL_SELECT_LIMIT SUPER_READ_ONLY
    TIME_ZONE TIMESTAMP TMP_TABLE_SIZE TRANSACTION_ISOLATION TRANSACTION_READ_ONLY TX_ISOLATION TX_READ_ONLY UNIQUE_CHECKS WAIT_TIMEOUT
    WARNING_COUNT VAQUITA_FT_RANKING CONNECTION_MEMORY_CHUNK_SIZE CONNECTION_MEMORY_LIMIT GLOBAL_CONNECTION_MEMORY_LIMIT
    GLOBAL_CONNECTION_MEMORY_TRACKING BASEDIR GENERAL_LOG GENERAL_LOG_FILE LOG_OUTPUT
    BLOCK_ENCRYPTION_MODE DEFAULT_PASSWORD_LIFETIME INNODB_TABLE_LOCKS MANDATORY_ROLES ACTIVATE_ALL_ROLES_ON_LOGIN
    MIN_EXAMINED_ROW_LIMIT OFFLINE_MODE SQL_REQUIRE_PRIMARY_KEY SERVER_UUID SLOW_QUERY_LOG SLOW_QUERY_LOG_FILE SQL_LOG_OFF SYSTEM_TIME_ZONE TMPDIR DATADIR EVENT_SCHEDULER HOSTNAME LC_TIME_NAMES OPTIMIZER_SWITCH NET_READ_TIMEOUT NET_WRITE_TIMEOUT PROGRESS_REPORT_TIME VAQUITA_EXPORT_FRM
}

/// Variables that plans of statements depend on.
const PLANS_DEPEND_ON: &[VarId] = &[
    id::SQL_MODE,
    id::CHARACTER_SET_CLIENT,
    id::CHARACTER_SET_RESULTS,
    id::COLLATION_CONNECTION,
    id::COLLATION_DATABASE,
    id::TIME_ZONE,
    id::DIV_PRECISION_INCREMENT,
    id::DEFAULT_WEEK_FORMAT,
    id::GROUP_CONCAT_MAX_LEN,
    id::SQL_SELECT_LIMIT,
    id::SQL_SAFE_UPDATES,
    id::SQL_AUTO_IS_NULL,
    id::SQL_BIG_SELECTS,
    id::MAX_JOIN_SIZE,
    id::OPTIMIZER_SWITCH,
    id::LC_TIME_NAMES,
    // Constants are calculated while planning; longer ones are NULL.
    id::MAX_ALLOWED_PACKET,
    id::BLOCK_ENCRYPTION_MODE,
];

impl SessionVars {
    /// A session's values to begin with.
    pub(super) fn new(base: Arc<[VarValue]>) -> SessionVars {
        let mut vars = SessionVars {
            auto_increment_increment: 1,
            auto_increment_offset: 1,
            autocommit: true,
            character_set_client: 0,
            character_set_results: None,
            collation_connection: 0,
            collation_database: 0,
            collation_server: 0,
            completion_type: 0,
            default_week_format: 0,
            div_precision_increment: 4,
            explicit_defaults_for_timestamp: false,
            foreign_key_checks: true,
            group_concat_max_len: 0,
            join_size_max: u64::MAX,
            sql_auto_is_null: false,
            join_buffer_size: 0,
            tmp_table_size: 0,
            max_heap_table_size: 0,
            long_query_time_us: 0,
            min_examined_row_limit: 0,
            sql_log_off: false,
            max_allowed_packet: 0,
            max_error_count: 0,
            max_execution_time: 0,
            cte_max_recursion_depth: 0,
            net_read_timeout: 0,
            net_write_timeout: 0,
            progress_report_time: 0,
            sort_buffer_size: 0,
            sql_mode: SqlMode::default(),
            sql_notes: true,
            sql_quote_show_create: true,
            sql_safe_updates: false,
            sql_select_limit: 0,
            time_zone: Arc::new(TimeZone::UTC),
            timestamp_us: None,
            insert_id: 0,
            pseudo_thread_id: None,
            tx_isolation: 2,
            tx_read_only: false,
            tmp_folders: Arc::default(),
            unique_checks: true,
            wait_timeout: 0,
            fingerprint: 0,
            base,
            own: Vec::new(),
        };
        VarId::all().for_each(|id| vars.apply(id));
        vars.fingerprint = vars.calculate_fingerprint();
        vars
    }

    /// The value of a variable that sessions have.
    pub fn get(&self, id: VarId) -> &VarValue {
        match self.own.iter().find(|(own, _)| *own == id) {
            Some((_, value)) => value,
            None => &self.base[id.at()],
        }
    }

    /// Sets a variable, and the field of its name.
    pub fn put(&mut self, id: VarId, value: VarValue) {
        match self.own.iter_mut().find(|(own, _)| *own == id) {
            Some((_, old)) => *old = value,
            None => self.own.push((id, value)),
        }
        self.apply(id);
        if PLANS_DEPEND_ON.contains(&id) {
            self.fingerprint = self.calculate_fingerprint();
        }
    }

    /// A number that is the same for settings under which a text means the same.
    #[inline]
    pub fn plan_fingerprint(&self) -> u64 {
        self.fingerprint
    }

    fn calculate_fingerprint(&self) -> u64 {
        use std::hash::{BuildHasher, Hash, Hasher};
        let mut hasher = foldhash::quality::FixedState::with_seed(0).build_hasher();
        for &id in PLANS_DEPEND_ON {
            match self.get(id) {
                VarValue::Null => u64::MAX.hash(&mut hasher),
                VarValue::Int(n) => n.hash(&mut hasher),
                VarValue::UInt(n) => n.hash(&mut hasher),
                VarValue::Double(n) => n.to_bits().hash(&mut hasher),
                VarValue::Text(text) => text.hash(&mut hasher),
            }
        }
        hasher.finish()
    }

    fn apply(&mut self, changed: VarId) {
        let value = match self.own.iter().find(|(own, _)| *own == changed) {
            Some((_, value)) => value,
            None => &self.base[changed.at()],
        };
        let number = value.uint();
        let on = number != 0;
        let small = u32::try_from(number).unwrap_or(u32::MAX);
        match changed {
            id::AUTO_INCREMENT_INCREMENT => self.auto_increment_increment = number,
            id::AUTO_INCREMENT_OFFSET => self.auto_increment_offset = number,
            id::AUTOCOMMIT => self.autocommit = on,
            id::CHARACTER_SET_CLIENT => self.character_set_client = number as u16,
            id::CHARACTER_SET_RESULTS => {
                self.character_set_results = (*value != VarValue::Null).then_some(number as u16);
            }
            id::COLLATION_CONNECTION => self.collation_connection = number as u16,
            id::COLLATION_DATABASE => self.collation_database = number as u16,
            id::COLLATION_SERVER => self.collation_server = number as u16,
            id::COMPLETION_TYPE => self.completion_type = number as u8,
            id::DEFAULT_WEEK_FORMAT => self.default_week_format = small,
            id::DIV_PRECISION_INCREMENT => self.div_precision_increment = number as u8,
            id::EXPLICIT_DEFAULTS_FOR_TIMESTAMP => self.explicit_defaults_for_timestamp = on,
            id::FOREIGN_KEY_CHECKS => self.foreign_key_checks = on,
            id::GROUP_CONCAT_MAX_LEN => self.group_concat_max_len = number,
            id::MAX_JOIN_SIZE | id::SQL_BIG_SELECTS => {
                self.join_size_max = match self.get(id::SQL_BIG_SELECTS).uint() {
                    0 => self.get(id::MAX_JOIN_SIZE).uint(),
                    _ => u64::MAX,
                };
            }
            id::SQL_AUTO_IS_NULL => self.sql_auto_is_null = on,
            id::JOIN_BUFFER_SIZE => self.join_buffer_size = number,
            id::TMP_TABLE_SIZE => self.tmp_table_size = number,
            id::MAX_HEAP_TABLE_SIZE => self.max_heap_table_size = number,
            id::LONG_QUERY_TIME => {
                if let VarValue::Double(seconds) = value {
                    self.long_query_time_us = (seconds * 1e6) as u64;
                }
            }
            id::MIN_EXAMINED_ROW_LIMIT => self.min_examined_row_limit = number,
            id::SQL_LOG_OFF => self.sql_log_off = on,
            id::MAX_ALLOWED_PACKET => self.max_allowed_packet = number,
            id::MAX_ERROR_COUNT => self.max_error_count = small as usize,
            id::CTE_MAX_RECURSION_DEPTH => self.cte_max_recursion_depth = number,
            id::MAX_EXECUTION_TIME => self.max_execution_time = number,
            id::NET_READ_TIMEOUT => self.net_read_timeout = small,
            id::NET_WRITE_TIMEOUT => self.net_write_timeout = small,
            id::PROGRESS_REPORT_TIME => self.progress_report_time = small,
            id::SORT_BUFFER_SIZE => self.sort_buffer_size = number,
            id::SQL_MODE => self.sql_mode = SqlMode(number),
            id::SQL_NOTES => self.sql_notes = on,
            id::SQL_QUOTE_SHOW_CREATE => self.sql_quote_show_create = on,
            id::SQL_SAFE_UPDATES => self.sql_safe_updates = on,
            id::SQL_SELECT_LIMIT => self.sql_select_limit = number,
            id::TIME_ZONE => {
                if let VarValue::Text(name) = value
                    && let Some(zone) = TimeZone::find(name)
                {
                    self.time_zone = Arc::new(zone);
                }
            }
            id::TIMESTAMP => {
                self.timestamp_us = match value {
                    VarValue::Double(seconds) if *seconds > 0.0 => Some((seconds * 1e6).round() as i64),
                    _ => None,
                };
            }
            id::INSERT_ID => self.insert_id = number,
            id::TX_ISOLATION => self.tx_isolation = number as u8,
            id::TX_READ_ONLY => self.tx_read_only = on,
            id::TMPDIR => {
                if let VarValue::Text(folders) = value {
                    self.tmp_folders = Arc::new(TmpFolders::of(folders));
                }
            }
            id::UNIQUE_CHECKS => self.unique_checks = on,
            id::WAIT_TIMEOUT => self.wait_timeout = small,
            _ => {}
        }
    }

    /// What literals and parameters are converted from and to; `None` if `character_set_client` is what
    /// `character_set_connection` is.
    #[inline]
    pub fn of_literals(&self) -> Option<(Charset, Charset)> {
        if self.character_set_client == self.collation_connection {
            return None;
        }
        let of = |id| Charset::of_collation(id).unwrap_or(Charset::BINARY);
        let (from, to) = (of(self.character_set_client), of(self.collation_connection));
        (from != to && from != Charset::BINARY && to != Charset::BINARY).then_some((from, to))
    }

    /// The character set of statements, unless it is UTF-8 or just bytes.
    #[inline]
    pub fn client_charset(&self) -> Option<Charset> {
        let charset = Charset::of_collation(self.character_set_client)?;
        (charset != Charset::BINARY && !charset.is_utf8()).then_some(charset)
    }

    /// Name of a file as the system is to be asked for it, from the client's text: in `character_set_filesystem`, unless that is
    /// `binary`.
    pub fn file_name<'t>(&self, name: &'t [u8]) -> Cow<'t, [u8]> {
        let to = Charset::of_collation(self.get(id::CHARACTER_SET_FILESYSTEM).uint() as u16);
        let (Some(from), Some(to)) = (Charset::of_collation(self.character_set_client), to) else {
            return name.into();
        };
        if from == to || from == Charset::BINARY || to == Charset::BINARY {
            return name.into();
        }
        let mut converted = Vec::with_capacity(name.len());
        vaquita_engine::lower::charset::convert(from, to, name, &mut converted);
        converted.into()
    }

    /// Text of a statement that is no value: a comment, a label, the name of a column that has none.
    pub fn client_text<'t>(&self, text: &'t [u8]) -> Cow<'t, str> {
        let decoded = self.client_charset().and_then(|charset| charset.decode(text));
        decoded.unwrap_or_else(|| String::from_utf8_lossy(text))
    }

    /// Bytes of memory for what a query keeps of its rows: the keys of DISTINCT, groups, the rows of a derived table.
    pub fn tmp_memory(&self) -> usize {
        usize::try_from(self.tmp_table_size.min(self.max_heap_table_size)).unwrap_or(usize::MAX)
    }

    /// Bytes of memory for the inner table of a hash join.
    pub fn join_memory(&self) -> usize {
        self.tmp_memory().max(usize::try_from(self.join_buffer_size).unwrap_or(usize::MAX))
    }

    /// Memory and files for a sort.
    pub fn sort_room(&self) -> SortRoom {
        let memory = usize::try_from(self.sort_buffer_size).unwrap_or(usize::MAX);
        SortRoom::new(memory, self.tmp_folders.clone())
    }

    /// Name of `character_set_results`, for what converts; `None`: nothing is converted.
    pub fn results_charset(&self) -> Option<&'static str> {
        self.character_set_results.map(parse::charset_name)
    }
}
