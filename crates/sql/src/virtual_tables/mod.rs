//! information_schema: tables whose rows are made when asked. SHOW takes most of its answers from there.
//!
//! | part | file |
//! |---|---|
//! | columns of the tables | `definitions` |
//! | how rows are made | `making` |
//! | databases, tables, columns, keys | `schema_tables` |
//! | procedures and functions | `routines` |
//! | triggers | `triggers` |
//! | events | `events` |
//! | views | `schema_views` |
//! | roles | `role_tables` |
//! | `mysql.proc`, `mysql.event` | `mysql_tables` |
//! | engines, character sets, sessions, variables, privileges | `server_tables` |
//! | `performance_schema` | `performance_tables` |
//! | full-text indexes | `fulltext_tables` |
//! | transactions, locks, the engine's dictionary | `innodb_tables` |

mod definitions;
mod events;
mod fulltext_tables;
mod innodb_tables;
mod making;
mod mysql_tables;
mod partitions;
mod performance_tables;
mod role_tables;
mod routines;
mod schema_tables;
mod schema_views;
mod server_tables;
mod triggers;

pub(crate) use making::{
    Cells, InfoTables, NAMES, parse_type, rows_of, table, tables_of, text, text_or_null,
};
pub(crate) use server_tables::plugin_list;

use vaquita_types::SqlResult;

/// CREATE TABLE of a virtual table, as SHOW CREATE TABLE has it.
pub(crate) fn create_virtual(database: &str, name: &str) -> String {
    let found = table(database, name);
    let column = |(name, ty): &(&str, &str)| match ty.strip_suffix('!') {
        Some(ty) => {
            let default = if ty.starts_with("varchar") || *ty == *"longtext" { "''" } else { "'0'" };
            format!("  `{name}` {} NOT NULL DEFAULT {default}", making::as_sql(ty))
        }
        None => format!("  `{name}` {} DEFAULT NULL", making::as_sql(ty)),
    };
    let columns: Vec<String> = found.map_or(Vec::new(), |t| t.declared().iter().map(column).collect());
    let (temporary, engine) = match found.is_some_and(|table| table.is_of_performance()) {
        true => ("", "PERFORMANCE_SCHEMA"),
        false => ("TEMPORARY ", "MEMORY"),
    };
    format!(
        "CREATE {temporary}TABLE `{name}` (\n{}\n) ENGINE={engine} DEFAULT CHARSET=utf8",
        columns.join(",\n")
    )
}

/// What makes the rows of a table; `None`: it is always empty.
fn maker(name: &str) -> Option<fn(&mut making::Making<'_, '_>) -> SqlResult<()>> {
    Some(match name {
        "SCHEMATA" => schema_tables::schemata,
        "TABLES" => schema_tables::tables,
        "COLUMNS" => schema_tables::columns,
        "STATISTICS" => schema_tables::statistics,
        "TRIGGERS" => triggers::triggers,
        "EVENTS" => events::events,
        "VIEWS" => schema_views::views,
        "KEY_COLUMN_USAGE" => schema_tables::key_column_usage,
        "TABLE_CONSTRAINTS" => schema_tables::table_constraints,
        "CHECK_CONSTRAINTS" => schema_tables::check_constraints,
        "REFERENTIAL_CONSTRAINTS" => schema_tables::referential_constraints,
        "PARTITIONS" => partitions::partitions,
        "ROUTINES" => routines::routines,
        "PARAMETERS" => routines::parameters,
        "ENGINES" => server_tables::engines,
        "CHARACTER_SETS" => server_tables::character_sets,
        "COLLATIONS" => server_tables::collations,
        "COLLATION_CHARACTER_SET_APPLICABILITY" => server_tables::collation_applicability,
        "PROCESSLIST" => server_tables::processlist,
        "GLOBAL_VARIABLES" => server_tables::global_variables,
        "SESSION_VARIABLES" => server_tables::session_variables,
        "GLOBAL_STATUS" => server_tables::global_status,
        "SESSION_STATUS" => server_tables::session_status,
        "PLUGINS" => server_tables::plugins,
        "USER_PRIVILEGES" => server_tables::user_privileges,
        "SCHEMA_PRIVILEGES" => server_tables::schema_privileges,
        "TABLE_PRIVILEGES" => server_tables::table_privileges,
        "COLUMN_PRIVILEGES" => server_tables::column_privileges,
        "APPLICABLE_ROLES" => role_tables::applicable_roles,
        "ADMINISTRABLE_ROLE_AUTHORIZATIONS" => role_tables::administrable,
        "ENABLED_ROLES" => role_tables::enabled_roles,
        "ROLE_TABLE_GRANTS" => role_tables::role_table_grants,
        "ROLE_COLUMN_GRANTS" => role_tables::role_column_grants,
        "ROLE_ROUTINE_GRANTS" => role_tables::role_routine_grants,
        "proc" => mysql_tables::proc,
        "event" => mysql_tables::event,
        "events_stages_current" => performance_tables::stages_current,
        "INNODB_TRX" => innodb_tables::trx,
        "INNODB_LOCKS" => innodb_tables::locks,
        "INNODB_LOCK_WAITS" => innodb_tables::lock_waits,
        "INNODB_METRICS" => innodb_tables::metrics,
        "INNODB_FT_DEFAULT_STOPWORD" => fulltext_tables::default_stopwords,
        "INNODB_FT_DELETED" => fulltext_tables::deleted,
        "INNODB_FT_BEING_DELETED" => fulltext_tables::being_deleted,
        "INNODB_FT_CONFIG" => fulltext_tables::config,
        "INNODB_FT_INDEX_CACHE" => fulltext_tables::index_cache,
        "INNODB_FT_INDEX_TABLE" => fulltext_tables::index_table,
        "INNODB_SYS_TABLES" => innodb_tables::sys_tables,
        "INNODB_SYS_COLUMNS" => innodb_tables::sys_columns,
        "INNODB_SYS_INDEXES" => innodb_tables::sys_indexes,
        "INNODB_SYS_FIELDS" => innodb_tables::sys_fields,
        "INNODB_SYS_FOREIGN" => innodb_tables::sys_foreign,
        "INNODB_SYS_FOREIGN_COLS" => innodb_tables::sys_foreign_cols,
        "INNODB_SYS_TABLESPACES" => innodb_tables::sys_tablespaces,
        "INNODB_SYS_DATAFILES" => innodb_tables::sys_datafiles,
        "INNODB_TEMP_TABLE_INFO" => innodb_tables::temp_table_info,
        "INNODB_SYS_TABLESTATS" => innodb_tables::sys_tablestats,
        _ => return None,
    })
}
