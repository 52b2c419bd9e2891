//! The tables that the memcached door is configured by.
//!
//! They have the names, columns and rows of those that the daemon_memcached plugin's configuration script makes, except
//! that the mapping of `test.demo_test` is named `default`, so that it is the one that connections begin with, also when others
//! are added; and that `flags` may be NULL, as its neighbours may.

use std::sync::Arc;
use vaquita_sql::{ConnectInfo, Database, SqlResult};

/// `containers` is there only with its first row: it is made under another name. All else can be done again.
const SCRIPT: &str = "
CREATE DATABASE IF NOT EXISTS innodb_memcache;
CREATE TABLE IF NOT EXISTS innodb_memcache.cache_policies (
  policy_name VARCHAR(40) NOT NULL PRIMARY KEY,
  get_policy ENUM('innodb_only', 'cache_only', 'caching', 'disabled') NOT NULL,
  set_policy ENUM('innodb_only', 'cache_only', 'caching', 'disabled') NOT NULL,
  delete_policy ENUM('innodb_only', 'cache_only', 'caching', 'disabled') NOT NULL,
  flush_policy ENUM('innodb_only', 'cache_only', 'caching', 'disabled') NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = latin1;
CREATE TABLE IF NOT EXISTS innodb_memcache.config_options (
  name VARCHAR(50) NOT NULL PRIMARY KEY,
  value VARCHAR(50)
) ENGINE = InnoDB DEFAULT CHARSET = latin1;
INSERT IGNORE INTO innodb_memcache.cache_policies
  VALUES ('cache_policy', 'innodb_only', 'innodb_only', 'innodb_only', 'innodb_only');
INSERT IGNORE INTO innodb_memcache.config_options VALUES ('separator', '|'), ('table_map_delimiter', '.');
CREATE DATABASE IF NOT EXISTS test;
CREATE TABLE IF NOT EXISTS test.demo_test (
  c1 VARCHAR(32) NOT NULL DEFAULT '',
  c2 VARCHAR(1024) DEFAULT NULL,
  c3 INT(11) DEFAULT NULL,
  c4 BIGINT(20) UNSIGNED DEFAULT NULL,
  c5 INT(11) DEFAULT NULL,
  PRIMARY KEY (c1)
) ENGINE = InnoDB DEFAULT CHARSET = latin1;
INSERT IGNORE INTO test.demo_test VALUES ('AA', 'HELLO, HELLO', 8, 0, 0);
DROP TABLE IF EXISTS innodb_memcache.containers_new;
CREATE TABLE innodb_memcache.containers_new (
  name VARCHAR(50) NOT NULL PRIMARY KEY,
  db_schema VARCHAR(250) NOT NULL,
  db_table VARCHAR(250) NOT NULL,
  key_columns VARCHAR(250) NOT NULL,
  value_columns VARCHAR(250) DEFAULT NULL,
  flags VARCHAR(250) DEFAULT '0',
  cas_column VARCHAR(250) DEFAULT NULL,
  expire_time_column VARCHAR(250) DEFAULT NULL,
  unique_idx_name_on_key VARCHAR(250) NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = latin1;
INSERT INTO innodb_memcache.containers_new
  VALUES ('default', 'test', 'demo_test', 'c1', 'c2', 'c3', 'c4', 'c5', 'PRIMARY');
RENAME TABLE innodb_memcache.containers_new TO innodb_memcache.containers;
";

/// Makes the tables if `innodb_memcache.containers` is not there; whether it did.
///
/// # Errors
/// Those of the statements; a folder that cannot be changed.
pub(crate) fn make_tables(db: &Arc<Database>) -> SqlResult<bool> {
    let engine = db.engine();
    let core = engine.core();
    let there = core.dict.find(&core.storage, "innodb_memcache/containers");
    if !matches!(there, Ok(None)) {
        return Ok(false);
    }
    let mut connection = db.connect(ConnectInfo::embedded())?;
    connection.query(SCRIPT.as_bytes(), &mut crate::embedded::Rows::default())?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use crate::embedded::{Database, Rows};

    fn texts(rows: Rows) -> Vec<String> {
        rows.iter().map(|row| row.get::<String>(0).unwrap()).collect()
    }

    #[test]
    fn the_tables_are_made_once() {
        let dir = std::env::temp_dir().join(format!("vaquita-memcached-tables-{}", std::process::id()));
        let db = Database::open(&dir).unwrap();
        assert!(super::make_tables(db.shared()).unwrap());
        let mut c = db.connect().unwrap();
        let rows = c.query("SELECT concat_ws(',', c1, c2, c3, c4, c5) FROM test.demo_test", ()).unwrap();
        assert_eq!(texts(rows), ["AA,HELLO, HELLO,8,0,0"]);
        let all =
            "SELECT concat_ws(',', name, db_schema, db_table, key_columns, value_columns, flags, cas_column,
                   expire_time_column, unique_idx_name_on_key) FROM innodb_memcache.containers";
        assert_eq!(texts(c.query(all, ()).unwrap()), ["default,test,demo_test,c1,c2,c3,c4,c5,PRIMARY"]);
        let options = "SELECT concat(name, '=', value) FROM innodb_memcache.config_options ORDER BY name";
        assert_eq!(texts(c.query(options, ()).unwrap()), ["separator=|", "table_map_delimiter=."]);
        c.execute("UPDATE innodb_memcache.containers SET flags = '0'", ()).unwrap();
        assert!(!super::make_tables(db.shared()).unwrap());
        assert_eq!(texts(c.query("SELECT flags FROM innodb_memcache.containers", ()).unwrap()), ["0"]);
        drop(c);
        db.close().unwrap();
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
