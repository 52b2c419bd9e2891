//! `sql_mode`: the bits and names of MySQL 5.7.

use std::ops::{BitAnd, BitOr, BitOrAssign};

/// A set of modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SqlMode(pub u64);

impl SqlMode {
    /// `||` concatenates.
    pub const PIPES_AS_CONCAT: SqlMode = SqlMode(1 << 1);
    /// `"` quotes names.
    pub const ANSI_QUOTES: SqlMode = SqlMode(1 << 2);
    /// Blanks may stand between a function's name and `(`.
    pub const IGNORE_SPACE: SqlMode = SqlMode(1 << 3);
    /// UNSIGNED is ignored in subtraction.
    pub const NO_UNSIGNED_SUBTRACTION: SqlMode = SqlMode(1 << 6);
    /// Directory options of CREATE TABLE are ignored.
    pub const NO_DIR_IN_CREATE: SqlMode = SqlMode(1 << 7);
    /// REAL is FLOAT.
    pub const REAL_AS_FLOAT: SqlMode = SqlMode(1);
    /// Columns that are not grouped are refused.
    pub const ONLY_FULL_GROUP_BY: SqlMode = SqlMode(1 << 5);
    /// SHOW CREATE omits MySQL's key options.
    pub const NO_KEY_OPTIONS: SqlMode = SqlMode(1 << 13);
    /// SHOW CREATE omits MySQL's table options.
    pub const NO_TABLE_OPTIONS: SqlMode = SqlMode(1 << 14);
    /// SHOW CREATE omits MySQL's column options.
    pub const NO_FIELD_OPTIONS: SqlMode = SqlMode(1 << 15);
    /// Combination of others.
    pub const ANSI: SqlMode = SqlMode(1 << 18);
    /// 0 can be stored into AUTO_INCREMENT columns.
    pub const NO_AUTO_VALUE_ON_ZERO: SqlMode = SqlMode(1 << 19);
    /// `\` is a character like others.
    pub const NO_BACKSLASH_ESCAPES: SqlMode = SqlMode(1 << 20);
    /// Strict for transactional tables.
    pub const STRICT_TRANS_TABLES: SqlMode = SqlMode(1 << 21);
    /// Strict for all tables.
    pub const STRICT_ALL_TABLES: SqlMode = SqlMode(1 << 22);
    /// Dates must not have zero parts.
    pub const NO_ZERO_IN_DATE: SqlMode = SqlMode(1 << 23);
    /// `0000-00-00` is no date.
    pub const NO_ZERO_DATE: SqlMode = SqlMode(1 << 24);
    /// The day may be up to 31 in every month.
    pub const ALLOW_INVALID_DATES: SqlMode = SqlMode(1 << 25);
    /// Division by zero is reported.
    pub const ERROR_FOR_DIVISION_BY_ZERO: SqlMode = SqlMode(1 << 26);
    /// Combination of others.
    pub const TRADITIONAL: SqlMode = SqlMode(1 << 27);
    /// GRANT makes no users.
    pub const NO_AUTO_CREATE_USER: SqlMode = SqlMode(1 << 28);
    /// `NOT a BETWEEN b AND c` is `(NOT a) BETWEEN b AND c`.
    pub const HIGH_NOT_PRECEDENCE: SqlMode = SqlMode(1 << 29);
    /// An engine that is not there is an error.
    pub const NO_ENGINE_SUBSTITUTION: SqlMode = SqlMode(1 << 30);
    /// CHAR comes out padded.
    pub const PAD_CHAR_TO_FULL_LENGTH: SqlMode = SqlMode(1 << 31);

    /// The default of MySQL 5.7.
    pub const DEFAULT: SqlMode = SqlMode(
        SqlMode::ONLY_FULL_GROUP_BY.0
            | SqlMode::STRICT_TRANS_TABLES.0
            | SqlMode::NO_ZERO_IN_DATE.0
            | SqlMode::NO_ZERO_DATE.0
            | SqlMode::ERROR_FOR_DIVISION_BY_ZERO.0
            | SqlMode::NO_AUTO_CREATE_USER.0
            | SqlMode::NO_ENGINE_SUBSTITUTION.0,
    );

    /// Names by bit; empty where there is none.
    pub const NAMES: [&'static str; 32] = [
        "REAL_AS_FLOAT",
        "PIPES_AS_CONCAT",
        "ANSI_QUOTES",
        "IGNORE_SPACE",
        "NOT_USED",
        "ONLY_FULL_GROUP_BY",
        "NO_UNSIGNED_SUBTRACTION",
        "NO_DIR_IN_CREATE",
        "POSTGRESQL",
        "ORACLE",
        "MSSQL",
        "DB2",
        "MAXDB",
        "NO_KEY_OPTIONS",
        "NO_TABLE_OPTIONS",
        "NO_FIELD_OPTIONS",
        "MYSQL323",
        "MYSQL40",
        "ANSI",
        "NO_AUTO_VALUE_ON_ZERO",
        "NO_BACKSLASH_ESCAPES",
        "STRICT_TRANS_TABLES",
        "STRICT_ALL_TABLES",
        "NO_ZERO_IN_DATE",
        "NO_ZERO_DATE",
        "ALLOW_INVALID_DATES",
        "ERROR_FOR_DIVISION_BY_ZERO",
        "TRADITIONAL",
        "NO_AUTO_CREATE_USER",
        "HIGH_NOT_PRECEDENCE",
        "NO_ENGINE_SUBSTITUTION",
        "PAD_CHAR_TO_FULL_LENGTH",
    ];

    /// Whether all bits of `mode` are set.
    #[inline]
    pub const fn has(self, mode: SqlMode) -> bool {
        self.0 & mode.0 == mode.0
    }

    /// Whether values that do not fit are errors (every table is transactional here).
    #[inline]
    pub const fn is_strict(self) -> bool {
        self.0 & (SqlMode::STRICT_TRANS_TABLES.0 | SqlMode::STRICT_ALL_TABLES.0) != 0
    }

    /// The same without some.
    #[must_use]
    pub const fn without(self, modes: SqlMode) -> SqlMode {
        SqlMode(self.0 & !modes.0)
    }
}

impl BitOr for SqlMode {
    type Output = SqlMode;

    fn bitor(self, other: SqlMode) -> SqlMode {
        SqlMode(self.0 | other.0)
    }
}

impl BitAnd for SqlMode {
    type Output = SqlMode;

    fn bitand(self, other: SqlMode) -> SqlMode {
        SqlMode(self.0 & other.0)
    }
}

impl BitOrAssign for SqlMode {
    fn bitor_assign(&mut self, other: SqlMode) {
        self.0 |= other.0;
    }
}
