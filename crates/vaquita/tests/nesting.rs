//! Statements as deep or as long as a packet allows: each has an answer or a clear error, in a time that grows with its length, and
//! the server lives.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::{Path, PathBuf};
use vaquita_clients::Vaquita;
use vaquita_clients::wire::{Answer, Wire};

struct Place {
    server: Vaquita,
    dir: PathBuf,
}

impl Place {
    fn start() -> Place {
        let dir = std::env::temp_dir().join(format!("vaquita-nesting-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        let options = ["--innodb-buffer-pool-size=32M", "--max-allowed-packet=256M"];
        let server =
            Vaquita::start(Path::new(env!("CARGO_BIN_EXE_vaquita")), &dir.join("data"), &options).unwrap();
        Place { server, dir }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What it says no test asks for.
        let _ = self.server.stop();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// `before` so many times, `core`, `after` as many times.
fn nested(before: &str, core: &str, after: &str, times: usize) -> String {
    format!("{}{core}{}", before.repeat(times), after.repeat(times))
}

#[test]
fn nothing_is_too_deep_or_too_long_for_an_answer() {
    let place = Place::start();
    let mut wire = Wire::connect(place.server.port(), "root").unwrap();
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (i INT PRIMARY KEY, s VARCHAR(20))",
        "INSERT INTO d.t VALUES (1, 'a'), (7, 'b')",
    ] {
        assert!(matches!(wire.query(sql).unwrap(), Answer::Ok(_)), "{sql}");
    }
    let many = 100_000;
    let list =
        |n: usize, one: &dyn Fn(usize) -> String, by: &str| (0..n).map(one).collect::<Vec<_>>().join(by);
    // What answers: a value, or the number of an error.
    let answered: Vec<(String, &str)> = vec![
        (format!("SELECT {}", nested("(", "1", ")", 150)), "1"),
        (format!("SELECT {}1", "NOT ".repeat(150)), "1"),
        (format!("SELECT {}1", "- ".repeat(150)), "1"),
        (
            format!(
                "SELECT COUNT(*) FROM d.t WHERE i IN ({})",
                list(1_000_000, &|i| (2 * i).to_string(), ",")
            ),
            "0",
        ),
        (format!("SELECT COUNT(*) FROM d.t WHERE s IN ({})", list(300_000, &|i| format!("'{i}'"), ",")), "0"),
        (format!("SELECT 5 IN ({})", list(300_000, &|i| i.to_string(), ",")), "1"),
        (format!("SELECT '5' IN ({})", list(300_000, &|i| format!("'{i}'"), ",")), "1"),
        (
            format!("SELECT COUNT(*) FROM d.t WHERE {}", list(many, &|i| format!("i = {}", i + 2), " OR ")),
            "1",
        ),
        (
            format!("SELECT COUNT(*) FROM d.t WHERE {}", list(many, &|i| format!("i <> {}", i + 2), " AND ")),
            "1",
        ),
        (
            format!("SELECT COUNT(*) FROM d.t WHERE {}", list(many, &|i| format!("s LIKE '{i}%'"), " OR ")),
            "0",
        ),
        (format!("SELECT {}", list(many, &|_| "1".into(), " XOR ")), "error"),
        (format!("SELECT {}", list(400, &|_| "1".into(), "+")), "400"),
        (format!("SELECT LENGTH(CONCAT({}))", list(many, &|_| "'x'".into(), ",")), "100000"),
        (format!("SELECT GREATEST({})", list(many, &|i| i.to_string(), ",")), "99999"),
        (format!("SELECT CASE 5 {} END", list(many, &|i| format!("WHEN {i} THEN {i}"), " ")), "5"),
        (list(900, &|_| "SELECT 1".into(), " UNION "), "1"),
    ];
    for (sql, wanted) in answered {
        let answer = wire.query(&sql).unwrap();
        match wanted {
            "error" => assert!(answer.code() != 0, "{sql:.60}: {answer:?}"),
            wanted => assert_eq!(
                answer.value().as_deref(),
                Some(wanted),
                "{sql:.60}: {:.200}",
                format!("{answer:?}")
            ),
        }
    }
    let refused = [
        format!("SELECT {}", nested("(", "1", ")", many)),
        "(".repeat(10 * many),
        format!("SELECT {}1", "NOT ".repeat(many)),
        format!("SELECT {}1", "!".repeat(many)),
        format!("SELECT {}1", "- ".repeat(many)),
        format!("SELECT {}1", "~".repeat(many)),
        format!("SELECT {}'a'", "BINARY ".repeat(many)),
        format!("SELECT {}", nested("CASE WHEN 1 THEN ", "1", " END", many)),
        format!("SELECT {}", nested("IF(1, ", "1", ", 2)", many)),
        format!("SELECT {}", nested("ABS(", "1", ")", many)),
        format!("SELECT {}", nested("(SELECT ", "1", ")", many)),
        format!("SELECT {}", nested("EXISTS (SELECT 1 FROM d.t WHERE ", "1", ")", many)),
        format!("SELECT * FROM {}", nested("(SELECT * FROM ", "d.t", ") t", many)),
        format!("SELECT * FROM {}", nested("(", "d.t", ")", many)),
        format!("{} SELECT 1", "(SELECT 1) UNION ".repeat(many)),
        list(10_000, &|_| "SELECT 1".into(), " UNION ALL "),
        format!("SELECT * FROM d.t {}", "JOIN d.t USING (i) ".repeat(many)),
        format!("SELECT * FROM d.t {}", list(many, &|i| format!("t{i}"), ", d.t ")),
        format!("SELECT {}", list(many, &|_| "1".into(), "+")),
        format!("SELECT {}", nested("1 MEMBER OF (", "1", ")", many)),
        format!("SELECT {}", nested("'2000-01-01' + INTERVAL ", "1", " DAY", many)),
        format!("SELECT 1{}", " IS NULL".repeat(many)),
        format!("SELECT 1{}", " = 1".repeat(many)),
        format!("SELECT 'a'{}", " COLLATE utf8mb4_bin".repeat(many)),
        format!("SELECT 1{}", " BETWEEN 0 AND 1".repeat(many)),
        format!("SELECT 1{}", " IN (1)".repeat(many)),
        format!("SELECT '2000-01-01'{}", " + INTERVAL 1 DAY".repeat(many)),
        format!("SELECT ROW(1, {})", nested("ROW(1, ", "1", ")", many)),
        format!("SELECT 1 FROM d.t GROUP BY {}", list(many, &|i| i.to_string(), ",")),
        format!("SELECT 1 FROM d.t ORDER BY {}", nested("(", "1", ")", many)),
        format!("INSERT INTO d.t VALUES ({}, 1)", nested("(", "1", ")", many)),
        format!("UPDATE d.t SET i = {}", nested("(", "1", ")", many)),
        format!("CREATE TABLE d.u (i INT DEFAULT {})", nested("(", "1", ")", many)),
        format!(
            "CREATE TABLE d.u (i INT) PARTITION BY RANGE ({}) (PARTITION p VALUES LESS THAN (1))",
            nested("(", "i", ")", many)
        ),
        format!("SET @v = {}", nested("(", "1", ")", many)),
        format!("EXPLAIN SELECT {}", nested("(", "1", ")", many)),
        format!("{}SELECT 1", "EXPLAIN ".repeat(many)),
        format!("PREPARE s FROM '{}'", nested("(", "1", ")", many)),
        format!("SELECT JSON_VALID('{}')", nested("[", "1", "]", many)),
        format!("SELECT CAST('{}' AS JSON)", nested("{\"a\":", "1", "}", many)),
        format!("SELECT '{}' REGEXP '{}'", "a", nested("(", "a", ")", many)),
        format!("SELECT {}1", "/*! ".repeat(many)),
        format!("SELECT {} 1", "/* ".repeat(many)),
        format!(
            "CREATE TRIGGER d.x BEFORE INSERT ON d.t FOR EACH ROW {}",
            nested("BEGIN ", "", " END;", many)
        ),
        format!("WITH a AS ({}) SELECT 1", nested("WITH a AS (", "SELECT 1", ") SELECT 1", many)),
    ];
    for sql in refused {
        let answer = match wire.query(&sql) {
            Ok(answer) => answer,
            Err(e) => panic!("{sql:.60}: {e}\n{}", place.server.log()),
        };
        assert!(answer.code() != 0, "{sql:.60}: {:.200}", format!("{answer:?}"));
        assert_eq!(wire.query("SELECT 'lives'").unwrap().value().as_deref(), Some("lives"), "{sql:.60}");
    }
}
