//! Options of MySQL's servers that are no system variables here: older names, options that were removed, those of parts that are
//! not here. Ordinary option files have them, so they do not stop the start unless something would be missed.

/// What becomes of such an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is this variable.
    Is(&'static str),
    /// It says what is so anyway.
    AsItIs,
    /// Nothing depends on it: a warning for the log.
    WithoutEffect,
    /// It would change answers, durability or access: why it is refused.
    Refused(&'static str),
}

/// Older names of variables.
const RENAMED: &[(&str, &str)] = &[
    ("bind", "bind_address"),
    ("default_character_set", "character_set_server"),
    ("default_collation", "collation_server"),
    ("default_table_type", "default_storage_engine"),
    ("default_time_zone", "time_zone"),
    ("isolation_level", "transaction_isolation"),
    ("language", "lc_messages_dir"),
    ("myisam_recover", "myisam_recover_options"),
    ("record_buffer", "read_buffer_size"),
    ("skip_locking", "skip_external_locking"),
    ("table_cache", "table_open_cache"),
    ("warnings", "log_warnings"),
];

/// What programs around a server look at, and what says "without" of something that is not here.
const AS_IT_IS: &[&str] = &[
    "basedir",
    "character_set_client_handshake",
    "console",
    "datadir",
    "skip_archive",
    "skip_bdb",
    "skip_blackhole",
    "skip_federated",
    "skip_host_cache",
    "skip_mysqlx",
    "skip_ndbcluster",
    "skip_new",
    "skip_partition",
    "skip_slave_start",
    "skip_stack_trace",
    "skip_symbolic_links",
    "skip_thread_priority",
];

/// Options that nothing depends on, removed ones among them.
const WITHOUT_EFFECT: &[&str] = &[
    "allow_suspicious_udfs",
    "archive",
    "binlog_do_db",
    "binlog_ignore_db",
    "binlog_row_event_max_size",
    "blackhole",
    "csv",
    "delay_key_write_for_all_tables",
    "disconnect_slave_event_count",
    "engine_condition_pushdown",
    "external_locking",
    "federated",
    "innodb_additional_mem_pool_size",
    "innodb_buffer_pool_awe_mem_mb",
    "innodb_buffer_pool_populate",
    "innodb_corrupt_table_action",
    "innodb_empty_free_list_algorithm",
    "innodb_extra_undoslots",
    "innodb_file_io_threads",
    "innodb_flush_sync",
    "innodb_log_arch_dir",
    "innodb_log_archive",
    "innodb_mirrored_log_groups",
    "innodb_numa_interleave",
    "innodb_redo_log_capacity",
    "innodb_dedicated_server",
    "innodb_status_file",
    "innodb_use_global_flush_log_at_trx_commit",
    "innodb_use_sys_malloc",
    "key_cache_segments",
    "log_bin_index",
    "log_isam",
    "log_long_format",
    "log_short_format",
    "log_tc",
    "log_tc_size",
    "master_connect_retry",
    "master_retry_count",
    "max_binlog_dump_events",
    "memlock",
    "multi_range_count",
    "myisam_block_size",
    "old_style_user_limits",
    "partition",
    "plugin_maturity",
    "port_open_timeout",
    "relay_log_index",
    "rpl_recovery_rank",
    "show_slave_auth_info",
    "slave_parallel_type",
    "slave_preserve_commit_order",
    "slow_start_timeout",
    "sporadic_binlog_dump_fail",
    "sql_bin_update_same",
    "ssl_fips_mode",
    "super_large_pages",
    "symbolic_links",
    "temp_pool",
    "thread_concurrency",
    "timed_mutexes",
    "use_stat_tables",
    "verbose",
];

/// Families of options of parts that are not here.
const FAMILIES: &[&str] = &[
    "aria_",
    "feedback",
    "maria_",
    "mysqlx",
    "ndb",
    "performance_schema_",
    "rocksdb_",
    "rpl_semi_sync_",
    "tokudb_",
];

/// Options that would be missed.
const REFUSED: &[(&str, &str)] = &[
    ("abort_slave_event_count", "there is no replication here"),
    ("bootstrap", "a new folder is made at its first start"),
    ("chroot", "the server stays where it is started"),
    ("des_key_file", "there is no DES_ENCRYPT here"),
    ("early_plugin_load", "plugins are not loaded"),
    ("init_rpl_role", "there is no replication here"),
    ("plugin_load", "plugins are not loaded"),
    ("plugin_load_add", "plugins are not loaded"),
    ("safe_user_create", "whoever has the privileges may create users"),
    ("skip_character_set_client_handshake", "the character set that a client asks for is its own"),
    ("skip_innodb", "InnoDB is the only engine"),
    ("sysdate_is_now", "SYSDATE() tells the time of its call"),
    ("tc_heuristic_recover", "prepared transactions are ended by XA COMMIT and XA ROLLBACK"),
    ("wsrep_on", "there is no replication here"),
    ("wsrep_provider", "there is no replication here"),
];

/// Families of options that would be missed.
const REFUSED_FAMILIES: &[(&str, &str)] = &[
    ("master_", "there is no replication here"),
    ("replicate_", "there is no replication here"),
    ("validate_password", "passwords are not checked for their strength"),
    ("connection_control", "failed logins are not delayed; max_connect_errors counts them"),
    ("audit_", "there is no audit log here"),
    ("wsrep_", "there is no replication here"),
];

/// Ways to say no.
pub(super) fn is_off(value: Option<&str>) -> bool {
    value.is_some_and(|v| matches!(v.to_ascii_lowercase().as_str(), "0" | "off" | "false" | "no"))
}

/// What becomes of an option that is no variable; `None`: nobody knows it.
pub(super) fn fate(name: &str, value: Option<&str>) -> Option<Fate> {
    if let Some((_, new)) = RENAMED.iter().find(|(old, _)| *old == name) {
        return Some(Fate::Is(new));
    }
    if AS_IT_IS.contains(&name) {
        return Some(Fate::AsItIs);
    }
    // The one part that is here.
    if name == "innodb" {
        return Some(if is_off(value) { Fate::Refused("InnoDB is the only engine") } else { Fate::AsItIs });
    }
    if let Some((_, why)) = REFUSED.iter().find(|(known, _)| *known == name) {
        return Some(if is_off(value) { Fate::AsItIs } else { Fate::Refused(why) });
    }
    // What is not here may well be off.
    let without = ["skip_", "disable_"].iter().find_map(|prefix| name.strip_prefix(prefix));
    if without.is_some_and(is_known) || (is_off(value) && is_known(name)) {
        return Some(Fate::AsItIs);
    }
    if WITHOUT_EFFECT.contains(&name) || FAMILIES.iter().any(|family| name.starts_with(family)) {
        return Some(Fate::WithoutEffect);
    }
    let family = REFUSED_FAMILIES.iter().find(|(family, _)| name.starts_with(family));
    family.map(|(_, why)| Fate::Refused(why))
}

fn is_known(name: &str) -> bool {
    WITHOUT_EFFECT.contains(&name)
        || REFUSED.iter().any(|(known, _)| *known == name)
        || FAMILIES.iter().any(|family| name.starts_with(family))
        || REFUSED_FAMILIES.iter().any(|(family, _)| name.starts_with(family))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_becomes_of_options() {
        let refused = |fate: Option<Fate>| matches!(fate, Some(Fate::Refused(_)));
        assert_eq!(fate("table_cache", Some("64")), Some(Fate::Is("table_open_cache")));
        assert_eq!(fate("symbolic_links", Some("0")), Some(Fate::AsItIs));
        assert_eq!(fate("symbolic_links", Some("1")), Some(Fate::WithoutEffect));
        assert_eq!(fate("skip_federated", None), Some(Fate::AsItIs));
        assert_eq!(fate("skip_external", None), None);
        assert_eq!(fate("innodb", None), Some(Fate::AsItIs));
        assert!(refused(fate("innodb", Some("OFF"))) && refused(fate("skip_innodb", None)));
        assert_eq!(fate("performance_schema_max_table_instances", Some("400")), Some(Fate::WithoutEffect));
        assert!(refused(fate("replicate_do_db", Some("shop"))));
        assert!(refused(fate("skip_character_set_client_handshake", None)));
        assert_eq!(fate("wsrep_on", Some("OFF")), Some(Fate::AsItIs));
        assert_eq!(fate("no_such_option", None), None);
    }

    #[test]
    fn none_is_listed_twice_or_a_variable() {
        let lists = RENAMED.iter().map(|(old, _)| *old).chain(AS_IT_IS.iter().copied());
        let lists = lists.chain(WITHOUT_EFFECT.iter().copied()).chain(REFUSED.iter().map(|(name, _)| *name));
        let mut seen = std::collections::HashSet::new();
        for name in lists {
            assert!(seen.insert(name), "{name} is listed twice");
            let may_be = matches!(name, "basedir" | "datadir");
            let is_variable = vaquita_sql::vars::VarId::find(name.as_bytes())
                .is_some_and(|id| id.def().access != vaquita_sql::vars::Access::Fact);
            assert!(may_be || !is_variable, "{name} is a variable");
        }
    }
}
