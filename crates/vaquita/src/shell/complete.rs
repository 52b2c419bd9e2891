//! What the Tab key completes: words of SQL, databases, tables, columns.

use super::backend::Backend;
use super::print::Collected;
use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};
use std::collections::BTreeMap;

/// Columns that are kept in mind.
const COLUMNS_MAX: usize = 50_000;

/// Names of the present database.
#[derive(Debug, Default)]
pub(super) struct Words {
    databases: Vec<String>,
    /// Columns by table.
    tables: BTreeMap<String, Vec<String>>,
}

impl Words {
    /// Reads them. What cannot be read is not completed: the next statement tells what is wrong.
    pub(super) fn read(backend: &mut dyn Backend) -> Words {
        let mut ask = |text: &str| {
            let mut found = Collected::default();
            let done = backend.run(text.as_bytes(), &mut found);
            if done.is_ok() { found.rows } else { Vec::new() }
        };
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let databases = ask("SHOW DATABASES").iter().filter_map(|row| row.first()).map(text).collect();
        let columns = ask(&format!(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = DATABASE() \
             ORDER BY table_name, ordinal_position LIMIT {COLUMNS_MAX}"
        ));
        let mut tables: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for row in &columns {
            if let [table, column] = &row[..] {
                tables.entry(text(table)).or_default().push(text(column));
            }
        }
        Words { databases, tables }
    }

    /// Where the word before the cursor begins, and what it may become.
    fn complete(&self, line: &str, cursor: usize) -> (usize, Vec<String>) {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
        let before = &line[..cursor];
        let word = before.trim_end_matches(is_part).len();
        let prefix = &before[word..];
        let owner = before[..word].strip_suffix('.');
        let owner = owner.map(|rest| &rest[rest.trim_end_matches(is_part).len()..]);
        let mut found: Vec<String> = match owner {
            Some(table) => self.columns_of(table, prefix),
            // Of nothing there is too much.
            None if prefix.is_empty() => Vec::new(),
            None => self.anything(prefix),
        };
        found.sort_unstable();
        found.dedup();
        (word, found)
    }

    /// Columns of a table; behind another name, which may be an alias, of all tables.
    fn columns_of(&self, table: &str, prefix: &str) -> Vec<String> {
        let named = self.tables.iter().find(|(name, _)| name.eq_ignore_ascii_case(table));
        let columns: Vec<&String> = match named {
            Some((_, columns)) => columns.iter().collect(),
            None => self.tables.values().flatten().collect(),
        };
        columns.into_iter().filter(|c| begins(c, prefix)).cloned().collect()
    }

    fn anything(&self, prefix: &str) -> Vec<String> {
        let small = prefix.chars().next().is_some_and(char::is_lowercase);
        let keywords = KEYWORDS.iter().filter(|k| begins(k, prefix));
        let keywords = keywords.map(|k| if small { k.to_ascii_lowercase() } else { (*k).to_owned() });
        let names = self.databases.iter().chain(self.tables.keys()).chain(self.tables.values().flatten());
        keywords.chain(names.filter(|n| begins(n, prefix)).cloned()).collect()
    }
}

fn begins(name: &str, prefix: &str) -> bool {
    let mut chars = name.chars();
    prefix.chars().all(|p| chars.next().is_some_and(|c| c.to_lowercase().eq(p.to_lowercase())))
}

/// The line editor's helper.
#[derive(Debug, Default)]
pub(super) struct Completion {
    pub(super) words: Words,
}

impl Completer for Completion {
    type Candidate = String;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.words.complete(line, pos))
    }
}

impl Hinter for Completion {
    type Hint = String;
}

impl Highlighter for Completion {}
impl Validator for Completion {}
impl Helper for Completion {}

/// Words of SQL that are worth completing.
const KEYWORDS: &[&str] = &[
    "ACTION",
    "ADD",
    "ALL",
    "ALTER",
    "ANALYZE",
    "AND",
    "AS",
    "ASC",
    "AUTO_INCREMENT",
    "BEGIN",
    "BETWEEN",
    "BIGINT",
    "BINARY",
    "BLOB",
    "BY",
    "CALL",
    "CASCADE",
    "CASE",
    "CHANGE",
    "CHAR",
    "CHARACTER",
    "CHARSET",
    "CHECK",
    "CHECKSUM",
    "COLLATE",
    "COLUMN",
    "COLUMNS",
    "COMMENT",
    "COMMIT",
    "CONSTRAINT",
    "CONVERT",
    "COUNT",
    "CREATE",
    "CROSS",
    "CURRENT_DATE",
    "CURRENT_TIMESTAMP",
    "CURRENT_USER",
    "DATABASE",
    "DATABASES",
    "DATE",
    "DATETIME",
    "DECIMAL",
    "DEFAULT",
    "DELETE",
    "DESC",
    "DESCRIBE",
    "DISTINCT",
    "DOUBLE",
    "DROP",
    "DUPLICATE",
    "ELSE",
    "END",
    "ENGINE",
    "ENUM",
    "EXISTS",
    "EXPLAIN",
    "FALSE",
    "FIELDS",
    "FIRST",
    "FLOAT",
    "FLUSH",
    "FOR",
    "FORCE",
    "FOREIGN",
    "FROM",
    "FULL",
    "FUNCTION",
    "GLOBAL",
    "GRANT",
    "GRANTS",
    "GROUP",
    "GROUP_CONCAT",
    "HAVING",
    "IDENTIFIED",
    "IF",
    "IGNORE",
    "IN",
    "INDEX",
    "INFILE",
    "INNER",
    "INNODB",
    "INSERT",
    "INT",
    "INTEGER",
    "INTERVAL",
    "INTO",
    "IS",
    "ISOLATION",
    "JOIN",
    "KEY",
    "KEYS",
    "KILL",
    "LEFT",
    "LEVEL",
    "LIKE",
    "LIMIT",
    "LINES",
    "LOAD",
    "LOCAL",
    "LOCK",
    "LONGBLOB",
    "LONGTEXT",
    "MAX",
    "MEDIUMINT",
    "MIN",
    "MODIFY",
    "NAMES",
    "NATURAL",
    "NOT",
    "NULL",
    "OFFSET",
    "ON",
    "OPTIMIZE",
    "OR",
    "ORDER",
    "OUTFILE",
    "PASSWORD",
    "PRIMARY",
    "PRIVILEGES",
    "PROCESSLIST",
    "READ",
    "REFERENCES",
    "REGEXP",
    "RELEASE",
    "RENAME",
    "REPLACE",
    "RESTRICT",
    "REVOKE",
    "RIGHT",
    "ROLLBACK",
    "ROW_FORMAT",
    "SAVEPOINT",
    "SCHEMA",
    "SELECT",
    "SESSION",
    "SET",
    "SHARE",
    "SHOW",
    "SMALLINT",
    "START",
    "STATUS",
    "STRAIGHT_JOIN",
    "SUM",
    "TABLE",
    "TABLES",
    "TEMPORARY",
    "TERMINATED",
    "TEXT",
    "THEN",
    "TIME",
    "TIMESTAMP",
    "TINYINT",
    "TO",
    "TRANSACTION",
    "TRUE",
    "TRUNCATE",
    "UNION",
    "UNIQUE",
    "UNLOCK",
    "UNSIGNED",
    "UPDATE",
    "USE",
    "USER",
    "USING",
    "VALUES",
    "VARBINARY",
    "VARCHAR",
    "VARIABLES",
    "VIEW",
    "WARNINGS",
    "WHEN",
    "WHERE",
    "WITH",
    "WORK",
    "WRITE",
    "YEAR",
    "ZEROFILL",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_completed_by_what_is_before_them() {
        let words = Words {
            databases: vec!["shop".into()],
            tables: BTreeMap::from([
                ("customer".into(), vec!["id".into(), "Name".into()]),
                ("süd".into(), vec!["name2".into()]),
            ]),
        };
        let of = |line: &str| words.complete(line, line.len());
        assert_eq!(of("sel"), (0, vec!["select".to_owned()]));
        assert_eq!(of("SELECT * FRO"), (9, vec!["FROM".to_owned()]));
        assert_eq!(of("select * from cust"), (14, vec!["customer".to_owned()]));
        assert_eq!(of("use sho"), (4, vec!["shop".to_owned(), "show".to_owned()]));
        assert_eq!(of("select customer.n"), (16, vec!["Name".to_owned()]));
        assert_eq!(of("select c.n"), (9, vec!["Name".to_owned(), "name2".to_owned()]));
        assert_eq!(of("select customer."), (16, vec!["Name".to_owned(), "id".to_owned()]));
        assert_eq!(of("select * from SÜ"), (14, vec!["süd".to_owned()]));
        assert_eq!(of("select "), (7, Vec::new()));
        // Only what is before the cursor counts.
        assert_eq!(words.complete("sel from", 3), (0, vec!["select".to_owned()]));
    }

    #[test]
    fn the_list_is_in_order() {
        assert!(KEYWORDS.windows(2).all(|w| w[0] < w[1]));
    }
}
