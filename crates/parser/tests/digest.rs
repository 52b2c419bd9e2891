//! Keys of statements: what shares a plan, what does not, and what is lifted.

use std::borrow::Cow;

use vaquita_parser::{Digest, LiftedLiteral, ParseMode, Source, SqlMode, ValueTag, digest};

fn digest_of(sql: &str) -> Option<Digest> {
    let mut out = Digest::default();
    digest(sql.as_bytes(), ParseMode::default(), &mut out).then_some(out)
}

/// The lifted literals as text.
fn lifted(sql: &str) -> Option<Vec<String>> {
    let digest = digest_of(sql)?;
    let text = |literal: &LiftedLiteral| match literal {
        LiftedLiteral::Int(value) => value.to_string(),
        other => String::from_utf8_lossy(&other.bytes(sql.as_bytes(), ParseMode::default())).into_owned(),
    };
    Some(digest.literals.iter().map(text).collect())
}

#[test]
fn statements_that_differ_in_values_share_a_plan() {
    let same = [
        ["SELECT c FROM t WHERE id=5", "SELECT c FROM t WHERE id=70000"],
        ["SELECT c FROM t WHERE id BETWEEN 1 AND 2", "SELECT c FROM t WHERE id BETWEEN 30 AND 40"],
        ["UPDATE t SET a='x', b=1.5 WHERE id=1", "UPDATE t SET a='it''s', b=22.5 WHERE id=2"],
        ["INSERT INTO t (a, b) VALUES (1, 'x')", "INSERT INTO t (a, b) VALUES (2, \"y\\n\")"],
        ["DELETE FROM t WHERE a IN (1,2)", "DELETE FROM t WHERE a IN (3,4)"],
        ["SELECT a FROM t WHERE b=1 LIMIT 5", "SELECT a FROM t WHERE b=2 LIMIT 50"],
        ["SELECT a FROM t WHERE b=1e5", "SELECT a FROM t WHERE b=2.5e-7"],
        ["SELECT a FROM t WHERE b='a' 'b'", "SELECT a FROM t WHERE b='c'"],
        ["SELECT a FROM t WHERE b='a' 'e'", "SELECT a FROM t WHERE b='a' 'é'"],
        ["SELECT a FROM t WHERE b='e'", "SELECT a FROM t WHERE b='é'"],
        ["SELECT a FROM t WHERE b=1", "  SELECT a FROM t WHERE b=9 ; "],
        ["SELECT a FROM t WHERE b=1 /* trace 17 */", "/* trace 4 */ SELECT a FROM t WHERE b=2 /* trace 5 */"],
        ["SELECT a FROM t -- x\nWHERE b=1", "SELECT a FROM t -- y\nWHERE b=1"],
    ];
    for [left, right] in same {
        let (left_key, right_key) = (digest_of(left).expect(left).key, digest_of(right).expect(right).key);
        assert_eq!(left_key, right_key, "{left} | {right}");
    }
}

#[test]
fn statements_that_mean_something_else_do_not() {
    let different = [
        ["SELECT 1 FROM t", "SELECT 2 FROM t"],
        ["SELECT a FROM t WHERE b=1", "SELECT a FROM t WHERE b=1.0"],
        ["SELECT a FROM t WHERE b=1.0", "SELECT a FROM t WHERE b=1.00"],
        ["SELECT a FROM t WHERE b=1", "SELECT a FROM t WHERE b='1'"],
        ["SELECT a FROM t WHERE b=1.5", "SELECT a FROM t WHERE b=1.5e0"],
        ["SELECT a FROM t WHERE b=9223372036854775807", "SELECT a FROM t WHERE b=9223372036854775808"],
        ["SELECT a FROM t WHERE b=1", "SELECT a FROM t WHERE b=?"],
        ["SELECT a FROM t ORDER BY 1", "SELECT a FROM t ORDER BY 2"],
        ["SELECT a FROM t GROUP BY 1", "SELECT a FROM t GROUP BY 2"],
        ["SELECT a+1 FROM t", "SELECT a +1 FROM t"],
        ["SELECT a FROM t WHERE b=ROUND(c, 1)", "SELECT a FROM t WHERE b=ROUND(c, 2)"],
        ["SELECT a FROM t WHERE b=CAST(c AS CHAR(1))", "SELECT a FROM t WHERE b=CAST(c AS CHAR(2))"],
        ["SELECT a FROM t WHERE b LIKE c ESCAPE '|'", "SELECT a FROM t WHERE b LIKE c ESCAPE '#'"],
        ["SELECT a FROM t WHERE b=NULL", "SELECT a FROM t WHERE b=TRUE"],
        ["SELECT a FROM t WHERE b=DATE '2020-01-01'", "SELECT a FROM t WHERE b=DATE '2020-01-02'"],
        ["SELECT a FROM t WHERE b=_latin1'a'", "SELECT a FROM t WHERE b=_latin1'b'"],
        ["SELECT a FROM t WHERE b=x'41'", "SELECT a FROM t WHERE b=x'42'"],
        ["SELECT a FROM t WHERE b IN (1,2)", "SELECT a FROM t WHERE b IN (1,2,3)"],
        ["SELECT a FROM t", "SELECT A FROM t"],
        ["SELECT '\u{5}' FROM t WHERE a='x'", "SELECT 'y' FROM t WHERE a='x'"],
    ];
    for [left, right] in different {
        let (left_key, right_key) = (digest_of(left).expect(left).key, digest_of(right).expect(right).key);
        assert_ne!(left_key, right_key, "{left} | {right}");
    }
}

#[test]
fn literals_come_in_order_with_their_values() {
    let cases: [(&str, &[&str]); 9] = [
        ("SELECT 7, a FROM t WHERE b=8 AND c='d' ORDER BY 9 LIMIT 10, 11", &["8", "d", "10", "11"]),
        ("SELECT a FROM t WHERE b='it''s \\'q\\' \\\\ \\n' 'x'", &["it's 'q' \\ \nx"]),
        ("SELECT a FROM t WHERE b=18446744073709551616", &["18446744073709551616"]),
        (
            "INSERT INTO t VALUES (1,-2,'x',NULL,f(3),4.5) ON DUPLICATE KEY UPDATE a=VALUES(a)+6",
            &["1", "2", "x", "4.5", "6"],
        ),
        ("INSERT INTO t (a) SELECT 5 FROM u WHERE v=6", &["6"]),
        ("UPDATE t SET a=a+1, b=IF(c,2,3) WHERE id=4", &["1", "4"]),
        (
            "SELECT a FROM (SELECT 1 AS a FROM t WHERE b=2) d WHERE a IN (SELECT 3 FROM u WHERE v=4) AND w=5",
            &["2", "4", "5"],
        ),
        ("SELECT a FROM t WHERE (b, c) = (1, 2) OR NOT (d = 3)", &["1", "2", "3"]),
        ("SELECT a FROM t WHERE b > NOW() - INTERVAL 7 DAY", &["7"]),
    ];
    for (sql, expected) in cases {
        assert_eq!(lifted(sql).as_deref(), Some(expected.map_to_strings().as_slice()), "{sql}");
    }
}

/// The key of a statement with values of these types.
fn key_with(sql: &str, tags: &[ValueTag]) -> Vec<u8> {
    let digest = digest_of(sql).expect(sql);
    assert_eq!(digest.params as usize, tags.len(), "{sql}");
    let mut key = Vec::new();
    digest.push_key(|number| tags[number], &mut key);
    key
}

#[test]
fn parameters_and_literals_of_one_type_share_a_plan() {
    use ValueTag::{Decimal, Float, Int, String, UInt};
    let same: [(&str, &[ValueTag], &str); 9] = [
        ("SELECT c FROM t WHERE id=?", &[Int], "SELECT c FROM t WHERE id=5"),
        ("SELECT c FROM t WHERE id=?", &[UInt], "SELECT c FROM t WHERE id=9223372036854775808"),
        ("SELECT c FROM t WHERE id = ? /* x */", &[Int], "SELECT c FROM t WHERE id = 5"),
        ("SELECT c FROM t WHERE id BETWEEN ? AND 7", &[Int], "SELECT c FROM t WHERE id BETWEEN 5 AND 8"),
        (
            "UPDATE t SET a=?, b=? WHERE id=?",
            &[String, Decimal(2), Int],
            "UPDATE t SET a='x', b=1.25 WHERE id=3",
        ),
        ("INSERT INTO t VALUES (?,-?,NULL)", &[Float, Int], "INSERT INTO t VALUES (1e5,-2,NULL)"),
        (
            "SELECT a FROM t WHERE b IN (?, 2,?) LIMIT ?",
            &[Int, Int, Int],
            "SELECT a FROM t WHERE b IN (1, 2,3) LIMIT 4",
        ),
        ("SELECT a FROM t WHERE b= ?", &[Int], "SELECT a FROM t WHERE b= 1"),
        ("SELECT a FROM t", &[], "SELECT a FROM t"),
    ];
    for (prepared, tags, text) in same {
        assert_eq!(key_with(prepared, tags), digest_of(text).expect(text).key, "{prepared} | {text}");
    }
    let different: [(&str, &[ValueTag], &str); 6] = [
        ("SELECT c FROM t WHERE id=?", &[String], "SELECT c FROM t WHERE id=5"),
        ("SELECT c FROM t WHERE id=?", &[Decimal(1)], "SELECT c FROM t WHERE id=1.25"),
        ("SELECT ? FROM t WHERE id=1", &[Int], "SELECT 5 FROM t WHERE id=1"),
        ("SELECT a FROM t ORDER BY ?", &[Int], "SELECT a FROM t ORDER BY 1"),
        ("SELECT a FROM t WHERE b=ROUND(c, ?)", &[Int], "SELECT a FROM t WHERE b=ROUND(c, 1)"),
        ("SELECT a FROM t WHERE b=?", &[ValueTag::Other(1)], "SELECT a FROM t WHERE b=1"),
    ];
    for (prepared, tags, text) in different {
        assert_ne!(key_with(prepared, tags), digest_of(text).expect(text).key, "{prepared} | {text}");
    }
    let a_place = "SELECT ? FROM t WHERE b=1";
    assert_ne!(key_with(a_place, &[Int]), key_with(a_place, &[String]));
}

#[test]
fn values_come_in_the_order_of_the_text() {
    let sql = "SELECT ?, a FROM t WHERE b=? AND c=7 AND d IN (8, ?) LIMIT 9";
    let digest = digest_of(sql).expect("cached");
    let param = |number, lifts| Source::Param { number, lifts };
    let sources: Vec<Source> = digest.sources().collect();
    let expected = [
        param(0, false),
        param(1, true),
        Source::Literal(0),
        Source::Literal(1),
        param(2, true),
        Source::Literal(2),
    ];
    assert_eq!(sources, expected);
    let arena = bumpalo::Bump::new();
    let mode = ParseMode { lift: true, ..ParseMode::default() };
    let parsed = vaquita_parser::parse(sql.as_bytes(), &arena, mode).expect("parses");
    let tree = format!("{:?}", parsed.stmt);
    for no in [2, 3, 5] {
        assert!(tree.contains(&format!("Lifted {{ no: {no},")), "{no} in {tree}");
    }
    for no in [0, 1, 4] {
        assert!(tree.contains(&format!("Param({no})")), "{no} in {tree}");
    }
    assert_eq!((parsed.params, parsed.lifted), (3, 3));
}

trait MapToStrings {
    fn map_to_strings(&self) -> Vec<String>;
}

impl MapToStrings for &[&str] {
    fn map_to_strings(&self) -> Vec<String> {
        self.iter().map(|text| (*text).to_owned()).collect()
    }
}

#[test]
fn what_is_not_cached() {
    let many = format!("INSERT INTO t VALUES {}", vec!["(1,2)"; 200].join(","));
    let deep = format!("SELECT a FROM t WHERE {}b{}", "(".repeat(70), ")".repeat(70));
    let refused = [
        "",
        "-- nothing",
        "SHOW TABLES",
        "SET a=1",
        "BEGIN",
        "CREATE TABLE t (a INT)",
        "(SELECT 1)",
        "SELECT 1; SELECT 2",
        "SELECT 1 /*!50000 + 1 */",
        "SELECT a FROM t WHERE b='open",
        "SELECT a FROM t WHERE b=1 /* open",
        "SELECT a FROM t INTO OUTFILE 'x' CHARACTER SET utf8",
        "SELECT {d '2020-01-01'}",
        many.as_str(),
        deep.as_str(),
    ];
    for sql in refused {
        assert_eq!(digest_of(sql), None, "{sql}");
    }
}

#[test]
fn a_plain_string_is_borrowed() {
    let sql = "SELECT a FROM t WHERE b='plain' AND c='not''plain'";
    let digest = digest_of(sql).expect("cached");
    let borrowed = |at: usize| {
        matches!(digest.literals[at].bytes(sql.as_bytes(), ParseMode::default()), Cow::Borrowed(_))
    };
    assert!(borrowed(0) && !borrowed(1));
}

/// With ANSI_QUOTES a string in double quotes is a name, and stays.
#[test]
fn the_mode_decides_what_a_literal_is() {
    let sql = br#"SELECT a FROM t WHERE b="c""#;
    let mut out = Digest::default();
    assert!(digest(sql, ParseMode::default(), &mut out));
    assert_eq!(out.literals.len(), 1);
    let ansi = ParseMode { sql_mode: SqlMode::ANSI_QUOTES, ..ParseMode::default() };
    assert!(digest(sql, ansi, &mut out));
    assert_eq!(out.literals.len(), 0);
}
