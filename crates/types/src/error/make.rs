//! Constructors of the frequent errors.

use super::SqlError;

impl SqlError {
    /// 1064: the text near which, and its line.
    pub fn syntax(message: &str, near: &str, line: u32) -> SqlError {
        SqlError::of(1064, &[&message, &near, &line])
    }

    /// 1054: `clause` is such as `field list`, `where clause`.
    pub fn unknown_column(name: &str, clause: &str) -> SqlError {
        SqlError::of(1054, &[&name, &clause])
    }

    /// 1052.
    pub fn ambiguous_column(name: &str, clause: &str) -> SqlError {
        SqlError::of(1052, &[&name, &clause])
    }

    /// 1046: no database selected.
    pub fn no_database() -> SqlError {
        SqlError::of(1046, &[])
    }

    /// 1049.
    pub fn unknown_database(name: &str) -> SqlError {
        SqlError::of(1049, &[&name])
    }

    /// 1007.
    pub fn database_exists(name: &str) -> SqlError {
        SqlError::of(1007, &[&name])
    }

    /// 1008.
    pub fn no_such_database_to_drop(name: &str) -> SqlError {
        SqlError::of(1008, &[&name])
    }

    /// 1146.
    pub fn no_such_table(database: &str, table: &str) -> SqlError {
        SqlError::of(1146, &[&database, &table])
    }

    /// 1051: of DROP TABLE.
    pub fn unknown_table(name: &str) -> SqlError {
        SqlError::of(1051, &[&name])
    }

    /// 1109: of an alias in a clause.
    pub fn unknown_table_in(name: &str, clause: &str) -> SqlError {
        SqlError::of(1109, &[&name, &clause])
    }

    /// 1050.
    pub fn table_exists(name: &str) -> SqlError {
        SqlError::of(1050, &[&name])
    }

    /// 1066.
    pub fn duplicate_alias(name: &str) -> SqlError {
        SqlError::of(1066, &[&name])
    }

    /// 1060.
    pub fn duplicate_column(name: &str) -> SqlError {
        SqlError::of(1060, &[&name])
    }

    /// 1061.
    pub fn duplicate_key_name(name: &str) -> SqlError {
        SqlError::of(1061, &[&name])
    }

    /// 1062: the values joined by `-`, and the key's name.
    pub fn duplicate_entry(value: &str, key: &str) -> SqlError {
        SqlError::of(1062, &[&value, &key])
    }

    /// 1048.
    pub fn not_null(column: &str) -> SqlError {
        SqlError::of(1048, &[&column])
    }

    /// 1364.
    pub fn no_default(column: &str) -> SqlError {
        SqlError::of(1364, &[&column])
    }

    /// 1067.
    pub fn invalid_default(column: &str) -> SqlError {
        SqlError::of(1067, &[&column])
    }

    /// 1136: as many values as columns are wanted.
    pub fn value_count(row: u64) -> SqlError {
        SqlError::of(1136, &[&row])
    }

    /// 1110.
    pub fn column_twice(name: &str) -> SqlError {
        SqlError::of(1110, &[&name])
    }

    /// 1690: `BIGINT UNSIGNED`, and the expression's text.
    pub fn out_of_range(what: &str, expression: &str) -> SqlError {
        SqlError::of(1690, &[&what, &expression])
    }

    /// 1582: of a native function.
    pub fn parameter_count(function: &str) -> SqlError {
        SqlError::of(1582, &[&function])
    }

    /// 1210.
    pub fn wrong_arguments(function: &str) -> SqlError {
        SqlError::of(1210, &[&function])
    }

    /// 1305: `FUNCTION db.f does not exist`.
    pub fn unknown_function(name: &str) -> SqlError {
        SqlError::of(1305, &[&"FUNCTION", &name])
    }

    /// 1241.
    pub fn operand_columns(count: usize) -> SqlError {
        SqlError::of(1241, &[&count])
    }

    /// 1242: more than one row.
    pub fn subquery_rows() -> SqlError {
        SqlError::of(1242, &[])
    }

    /// 1111: an aggregate where none may be.
    pub fn group_function() -> SqlError {
        SqlError::of(1111, &[])
    }

    /// 1193.
    pub fn unknown_variable(name: &str) -> SqlError {
        SqlError::of(1193, &[&name])
    }

    /// 1231.
    pub fn wrong_value_for_variable(name: &str, value: &str) -> SqlError {
        SqlError::of(1231, &[&name, &value])
    }

    /// 1232.
    pub fn wrong_type_for_variable(name: &str) -> SqlError {
        SqlError::of(1232, &[&name])
    }

    /// 1115.
    pub fn unknown_charset(name: &str) -> SqlError {
        SqlError::of(1115, &[&name])
    }

    /// 1273.
    pub fn unknown_collation(name: &str) -> SqlError {
        SqlError::of(1273, &[&name])
    }

    /// 1286.
    pub fn unknown_engine(name: &str) -> SqlError {
        SqlError::of(1286, &[&name])
    }

    /// 1243: of a prepared statement.
    pub fn unknown_statement(id: &str, command: &str) -> SqlError {
        SqlError::of(1243, &[&id, &command])
    }

    /// 1045.
    pub fn access_denied(user: &str, host: &str, with_password: bool) -> SqlError {
        SqlError::of(1045, &[&user, &host, &if with_password { "YES" } else { "NO" }])
    }

    /// 1044.
    pub fn database_denied(user: &str, host: &str, database: &str) -> SqlError {
        SqlError::of(1044, &[&user, &host, &database])
    }

    /// 1142.
    pub fn table_denied(command: &str, user: &str, host: &str, table: &str) -> SqlError {
        SqlError::of(1142, &[&command, &user, &host, &table])
    }

    /// 1227.
    pub fn privilege_needed(privilege: &str) -> SqlError {
        SqlError::of(1227, &[&privilege])
    }

    /// 1317: KILL QUERY.
    pub fn interrupted() -> SqlError {
        SqlError::of(1317, &[])
    }

    /// 1792.
    pub fn read_only_transaction() -> SqlError {
        SqlError::of(1792, &[])
    }

    /// 1072.
    pub fn key_column_missing(name: &str) -> SqlError {
        SqlError::of(1072, &[&name])
    }

    /// 1091: no such column or key.
    pub fn cannot_drop(name: &str) -> SqlError {
        SqlError::of(1091, &[&name])
    }

    /// 1094.
    pub fn unknown_thread(id: u64) -> SqlError {
        SqlError::of(1094, &[&id])
    }

    /// 1221.
    pub fn wrong_usage(one: &str, other: &str) -> SqlError {
        SqlError::of(1221, &[&one, &other])
    }

    /// 1059.
    pub fn too_long_name(name: &str) -> SqlError {
        SqlError::of(1059, &[&name])
    }
}
