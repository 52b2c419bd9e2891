//! Every system variable does something, is warned of, or is refused.

mod facts;
mod limits;
mod proofs;
mod storage;
use crate::support;
mod values;
mod waiting;

use support::{open_with, root, run};
use vaquita_sql::Connection;
use vaquita_sql::vars::{Access, Effect, Globals, Kind, Scope, VarDef, all};

/// Nothing to be said.
const NOTHING: [&str; 0] = [];

/// Variables whose every value says how things are: there is no binary log to write or not, and one engine.
const SILENT: [&str; 3] = ["default_tmp_storage_engine", "pseudo_slave_mode", "sql_log_bin"];

/// A value that the variable does not have by default.
fn another(def: &VarDef) -> String {
    let other = |names: &[&str]| {
        let other = names.iter().rev().find(|name| !name.eq_ignore_ascii_case(def.default));
        (*other.expect("another value")).to_owned()
    };
    match def.kind {
        Kind::Bool => if def.default == "1" { "OFF" } else { "ON" }.to_owned(),
        Kind::UInt(min, max, block) => {
            let default: u64 = def.default.parse().expect("a number");
            let (up, down) = (default.saturating_add(block), default.saturating_sub(block));
            if up <= max && up > default { up } else { down.max(min) }.to_string()
        }
        Kind::Int(..) => "7".to_owned(),
        Kind::Double(..) => "2.5".to_owned(),
        Kind::Enum(names) => other(names),
        Kind::Set(names) => (*names.iter().find(|name| **name != def.default).expect("another")).to_owned(),
        Kind::Switches(names) => {
            let first = format!("{}=on", names[0]);
            format!("{}={}", names[0], if def.default.contains(&first) { "off" } else { "on" })
        }
        Kind::SqlMode => "ANSI".to_owned(),
        Kind::Text => "something_else".to_owned(),
        Kind::Charset { .. } => "latin1".to_owned(),
        Kind::Collation => "latin1_bin".to_owned(),
        Kind::Engine => "InnoDB".to_owned(),
        Kind::TimeZone => "+01:00".to_owned(),
        Kind::Locale => "de_DE".to_owned(),
        Kind::Ranking => "bm25".to_owned(),
        Kind::Version => "8.0.36".to_owned(),
    }
}

fn quoted(def: &VarDef, value: &str) -> String {
    match def.kind {
        Kind::UInt(..) | Kind::Int(..) | Kind::Double(..) => value.to_owned(),
        _ => format!("'{value}'"),
    }
}

/// The warnings of a statement.
fn warnings_of(c: &mut Connection, sql: &str) -> String {
    // A statement without tables keeps the warnings of the one before.
    run(c, "select count(*) from mysql.user");
    run(c, &format!("{sql}; show warnings"))
}

fn at_start(name: &str, value: &str) -> Result<Globals, String> {
    Globals::new(&[(name.to_owned(), value.to_owned())]).map_err(|e| format!("{} {}", e.code, e.message))
}

/// The value as SHOW has it.
fn shown(globals: &Globals, name: &str) -> String {
    globals.text(name).unwrap_or_default()
}

#[test]
fn at_start_every_variable_is_taken_warned_of_or_refused() {
    for def in all() {
        let (name, value) = (def.name, another(def));
        let answer = at_start(name, &value);
        if def.access == Access::Fact || def.scope == Scope::Session {
            assert_eq!(answer.err(), Some(format!("1238 Variable '{name}' is a read only variable")));
            continue;
        }
        let by_default = at_start(name, shown(&Globals::new(&[]).expect("defaults"), name).as_str());
        if def.default != "\0" {
            let by_default = by_default.expect("the default is taken");
            assert_eq!(by_default.notes(), NOTHING, "{name} by default");
        }
        if name.ends_with("connection_memory_limit") {
            let why = "the allocator of this program does not count";
            let message = format!("1231 Variable '{name}' can't be set to the value of '{value}': {why}");
            assert_eq!(answer.expect_err("nothing is counted here"), message);
            continue;
        }
        match def.effect {
            _ if SILENT.contains(&name) => assert_eq!(answer.expect("taken").notes(), NOTHING),
            Effect::Works | Effect::AtStart => {
                let globals = answer.expect("taken");
                assert_eq!(globals.notes(), NOTHING, "{name}");
            }
            Effect::Tuning => {
                let globals = answer.expect("taken");
                assert_eq!(globals.notes(), [format!("'{name}' has no effect here")]);
            }
            Effect::Absent => {
                let globals = answer.expect("taken");
                assert_eq!(globals.notes(), [format!("'{name}' has no effect here")]);
                let defaults = Globals::new(&[]).expect("defaults");
                assert_eq!(shown(&globals, name), shown(&defaults, name), "{name} says how things are");
            }
            Effect::Refused(why) => {
                let error = answer.expect_err("refused");
                let message = format!("1231 Variable '{name}' can't be set to the value of '{value}': {why}");
                assert_eq!(error, message);
            }
        }
    }
}

#[test]
fn set_takes_warns_of_or_refuses_every_variable() {
    let opened = open_with(&[]);
    let mut c = root(&opened.db);
    for def in
        all().iter().filter(|def| matches!(def.effect, Effect::Tuning | Effect::Absent | Effect::Refused(_)))
    {
        let (name, value) = (def.name, another(def));
        let written = quoted(def, &value);
        let scopes: &[&str] = match def.scope {
            Scope::Global => &["global"],
            Scope::Session => &["session"],
            Scope::Both => &["global", "session"],
        };
        for scope in scopes {
            let was = run(&mut c, &format!("select @@{scope}.{name}"));
            let answer = warnings_of(&mut c, &format!("set {scope} {name} = {written}"));
            let now = run(&mut c, &format!("select @@{scope}.{name}"));
            if def.access != Access::Live {
                assert_eq!(answer, format!("1238 Variable '{name}' is a read only variable"));
                continue;
            }
            if answer.starts_with("1621 ") {
                assert_eq!((name, *scope), ("net_buffer_length", "session"));
                continue;
            }
            match def.effect {
                _ if SILENT.contains(&name) => assert_eq!(answer, ""),
                Effect::Refused(why) => {
                    assert!(answer.starts_with(&format!("1231 Variable '{name}' can't be set")), "{answer}");
                    assert!(answer.ends_with(why), "{answer}");
                    assert_eq!(now, was, "{name}");
                }
                Effect::Absent => {
                    assert_eq!(answer, format!("Warning|1105|'{name}' has no effect here"));
                    assert_eq!(now, was, "{name}");
                }
                _ => {
                    assert_eq!(answer, format!("Warning|1105|'{name}' has no effect here"));
                    assert_ne!(now, was, "{name}");
                    let again = warnings_of(&mut c, &format!("set {scope} {name} = {written}"));
                    assert_eq!(again, "", "what it is already is not warned of");
                }
            }
            // Saved and put back, as dumps do.
            assert_eq!(warnings_of(&mut c, &format!("set {scope} {name} = default")), "", "{name}");
            let put_back = format!("set @old = @@{scope}.{name}; set {scope} {name} = @old");
            assert_eq!(warnings_of(&mut c, &put_back), "", "{name}");
        }
    }
}

/// What dumps and drivers begin with is taken without a warning.
#[test]
fn first_words_of_programs_are_not_warned_of() {
    let opened = open_with(&[]);
    let mut c = root(&opened.db);
    for sql in [
        // mysqldump.
        "/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */",
        "/*!40101 SET NAMES utf8 */",
        "/*!40103 SET @OLD_TIME_ZONE=@@TIME_ZONE */",
        "/*!40103 SET TIME_ZONE='+00:00' */",
        "/*!40014 SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0 */",
        "/*!40014 SET @OLD_FOREIGN_KEY_CHECKS=@@FOREIGN_KEY_CHECKS, FOREIGN_KEY_CHECKS=0 */",
        "/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */",
        "/*!40111 SET @OLD_SQL_NOTES=@@SQL_NOTES, SQL_NOTES=0 */",
        "/*!40111 SET SQL_NOTES=@OLD_SQL_NOTES */",
        "SET @MYSQLDUMP_TEMP_LOG_BIN = @@SESSION.SQL_LOG_BIN",
        "SET @@SESSION.SQL_LOG_BIN= 0",
        "SET @@GLOBAL.GTID_PURGED=''",
        "SET @@SESSION.SQL_LOG_BIN = @MYSQLDUMP_TEMP_LOG_BIN",
        "/*!40100 SET @@SQL_MODE='' */",
        "SET SESSION information_schema_stats_expiry=0",
        "/*!50530 SET @@SESSION.PSEUDO_SLAVE_MODE=1*/",
        "SET @@SESSION.GTID_NEXT= 'AUTOMATIC'",
        // Drivers and frameworks.
        "SET autocommit=1, character_set_results = NULL, sql_mode='STRICT_TRANS_TABLES'",
        "SET net_write_timeout=600",
        "SET SQL_SELECT_LIMIT=DEFAULT",
        "SET SQL_AUTO_IS_NULL = 0",
        "SET sql_auto_is_null=0, sql_big_selects=1",
        "SET NAMES utf8mb4 COLLATE utf8mb4_unicode_ci",
        "SET @@SESSION.sql_auto_is_null = 0, @@SESSION.wait_timeout = 2147483, @@SESSION.sql_mode = 'TRADITIONAL'",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "SET SESSION group_concat_max_len = 100000, lock_wait_timeout = 60, innodb_lock_wait_timeout = 1",
        "SET profiling = 0",
        "SET GLOBAL event_scheduler = OFF",
        "SET default_storage_engine = InnoDB",
    ] {
        assert_eq!(warnings_of(&mut c, sql), "", "{sql}");
    }
}

#[test]
fn the_shown_values_of_what_is_not_here_are_true() {
    let opened = open_with(&[
        ("innodb_adaptive_hash_index", "ON"),
        ("innodb_change_buffering", "all"),
        ("query_cache_size", "16M"),
        ("default_storage_engine", "MyISAM"),
    ]);
    let mut c = root(&opened.db);
    let sql = "select @@innodb_adaptive_hash_index, @@innodb_change_buffering, @@query_cache_size, @@default_storage_engine";
    assert_eq!(run(&mut c, sql), "0|none|0|InnoDB");
    let notes = opened.db.globals().notes().join("\n");
    assert!(
        notes.contains("'query_cache_size' has no effect") && notes.contains("InnoDB instead of 'MyISAM'"),
        "{notes}"
    );
}
