//! Random statements on MySQL 5.6.24 and here.

use super::harness::Server;

#[test]
fn without_tables() {
    let mut s = Server::new("notables");
    assert_eq!(s.lines("SELECT 1"), ["1"]);
    assert_eq!(s.lines("SELECT 1+1 AS two, 'x', NULL"), ["2,x,NULL"]);
    assert!(s.lines("SELECT 1 WHERE 1=0").is_empty());
    assert_eq!(s.lines("SELECT 1 UNION SELECT 2 UNION SELECT 1 ORDER BY 1 DESC"), ["2", "1"]);
}

/// A table of 2,000 rows: `a` has 20 values, `u` is unique, `s` repeats.
fn filled(name: &str) -> Server {
    let mut s = Server::new(name);
    s.run(
        "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, a INT, u INT, s VARCHAR(20), \
         KEY a (a), UNIQUE KEY u (u), KEY sa (s, a))",
    );
    for chunk in 0..20 {
        let row = |i: i32| format!("({i},{},{},'s{}')", i % 20, i * 3, i % 100);
        let rows: Vec<String> = (chunk * 100..chunk * 100 + 100).map(row).collect();
        s.run(&format!("INSERT INTO t VALUES {}", rows.join(",")));
    }
    s
}

/// Type of access, key and Extra of the first table.
fn access(s: &mut Server, sql: &str) -> String {
    let explained = s.run(&format!("EXPLAIN {sql}"));
    let row = &explained.rows[0];
    let at = |name: &str| {
        let place = explained.names.iter().position(|n| n == name).expect("a column of EXPLAIN");
        row[place].clone()
    };
    format!("{} {} {}", at("type"), at("key"), at("Extra"))
}

#[test]
fn the_index_that_helps_is_used() {
    let mut s = filled("paths");
    let cases = [
        ("SELECT * FROM t WHERE id = 5", "const PRIMARY NULL"),
        ("SELECT * FROM t WHERE u = '30'", "const u NULL"),
        ("SELECT * FROM t WHERE id BETWEEN 5 AND 9", "range PRIMARY Using where"),
        ("SELECT * FROM t WHERE id IN (1, 3, 5)", "range PRIMARY Using where"),
        ("SELECT * FROM t WHERE a = 3 AND id = 3", "const PRIMARY Using where"),
        ("SELECT * FROM t WHERE a = 3", "ref a NULL"),
        ("SELECT a FROM t WHERE s = 's7' AND a = 7", "ref sa Using index"),
        ("SELECT * FROM t WHERE s LIKE 's77%'", "range sa Using where"),
        ("SELECT * FROM t WHERE a >= 0", "ALL NULL Using where"),
        ("SELECT * FROM t ORDER BY id DESC LIMIT 3", "index PRIMARY NULL"),
        ("SELECT * FROM t ORDER BY a LIMIT 3", "index a NULL"),
        ("SELECT * FROM t ORDER BY s", "ALL NULL Using filesort"),
        ("SELECT MAX(u) FROM t", "index u Using index"),
        ("SELECT * FROM t WHERE s = 5", "ALL NULL Using where"),
        ("SELECT 1 FROM t WHERE 1 = 0", "NULL NULL Impossible WHERE"),
    ];
    for (sql, wanted) in cases {
        assert_eq!(access(&mut s, sql), wanted, "{sql}");
    }
}

#[test]
fn a_kept_plan_serves_other_values_and_follows_the_table() {
    let mut s = filled("kept");
    for id in [5, 6, 1999, 2000] {
        let rows = s.lines(&format!("SELECT u FROM t WHERE id = {id}"));
        assert_eq!(rows, if id < 2000 { vec![(id * 3).to_string()] } else { Vec::new() });
    }
    s.run("ALTER TABLE t DROP COLUMN u, ADD COLUMN u VARCHAR(9) DEFAULT 'new'");
    assert_eq!(s.lines("SELECT u FROM t WHERE id = 5"), ["new"]);
    s.run("DROP TABLE t");
    assert_eq!(s.error("SELECT u FROM t WHERE id = 5"), 1146);
}

#[test]
fn large_sorts_and_groups() {
    let mut s = filled("sorts");
    s.run("SET sort_buffer_size = 32768");
    let rows =
        s.lines("SELECT x.id, y.id FROM t x JOIN t y ON y.a = x.a WHERE x.id < 20 ORDER BY y.id DESC, x.id");
    assert_eq!(rows.len(), 2_000);
    assert_eq!((rows[0].as_str(), rows[1_999].as_str()), ("19,1999", "0,0"));
    assert_eq!(
        s.lines("SELECT COUNT(*), SUM(n) FROM (SELECT s, COUNT(*) n FROM t GROUP BY s) g"),
        ["100,2000"]
    );
    assert_eq!(s.lines("SELECT a, COUNT(*) FROM t GROUP BY a WITH ROLLUP HAVING a IS NULL"), ["NULL,2000"]);
}

#[test]
fn rows_that_move_are_changed_once() {
    let mut s = filled("halloween");
    s.run("UPDATE t SET a = a + 1 WHERE a >= 10");
    assert_eq!(s.lines("SELECT SUM(a) FROM t"), [(19_000 + 1_000).to_string()]);
    s.run("UPDATE t SET id = id + 5000 WHERE id >= 1000");
    assert_eq!(s.lines("SELECT COUNT(*), MIN(id), MAX(id) FROM t WHERE id >= 1000"), ["1000,6000,6999"]);
}

#[test]
fn names_that_are_wrong() {
    let mut s = filled("names");
    for (sql, code) in [
        ("SELECT x FROM t", 1054),
        ("SELECT id FROM t, t u", 1052),
        ("SELECT 1 FROM t, t", 1066),
        ("SELECT * FROM nope", 1146),
        ("SELECT z.* FROM t", 1051),
        ("SELECT *", 1096),
        ("SELECT a, COUNT(*) FROM t", 1140),
        ("SELECT id, COUNT(*) FROM t GROUP BY a", 1055),
        ("SELECT COUNT(*) FROM t WHERE COUNT(*) > 1", 1111),
        ("SELECT 1 UNION SELECT 1, 2", 1222),
        ("SELECT (SELECT id FROM t)", 1242),
        ("UPDATE t SET a = (SELECT MAX(a) FROM t)", 1093),
    ] {
        assert_eq!(s.error(sql), code, "{sql}");
    }
    s.run("UPDATE t SET a = (SELECT MAX(a) FROM (SELECT * FROM t) m)");
    assert_eq!(s.lines("SELECT DISTINCT a FROM t"), ["19"]);
}

#[test]
fn waiting_functions_hold_no_page() {
    let mut s = filled("sleep");
    let started =
        s.lines("SELECT id, SLEEP(0), (SELECT COUNT(*) FROM t u WHERE u.a = t.a) FROM t WHERE id < 2");
    assert_eq!(started, ["0,0,100", "1,0,100"]);
    assert_eq!(s.lines("SELECT COUNT(*) FROM t WHERE SLEEP(0) = 0 AND id < 50"), ["50"]);
}
