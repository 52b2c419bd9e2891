//! Broken statements, and what the real server says of them.
//!
//! `errors.tsv` holds statements of the corpus with a word taken out, put in or moved, and the text that the error of
//! MySQL 5.6.24 quotes (asked by PREPARE).

use bumpalo::Bump;
use vaquita_parser::{ParseError, ParseErrorKind, ParseMode, SqlMode, parse};

const TABLE: &str = include_str!("errors.tsv");

fn error_of(sql: &str) -> Option<ParseError> {
    let arena = Bump::new();
    let mode = ParseMode { server_version: 50_624, params: false, ..ParseMode::default() };
    parse(sql.as_bytes(), &arena, mode).err()
}

#[test]
fn errors_quote_what_the_real_server_quotes() {
    let mut failures = Vec::new();
    for row in TABLE.lines() {
        let (sql, near) = row.split_once('\t').expect("two columns");
        let got = error_of(sql).map(|error| String::from_utf8_lossy(&error.near).into_owned());
        if got.as_deref() != Some(near) {
            failures.push(format!("{sql}\n    near {got:?}, wanted {near}"));
        }
    }
    assert!(failures.is_empty(), "{}:\n{}", failures.len(), failures.join("\n"));
    assert_eq!(TABLE.lines().count(), 400);
}

/// Each line was answered so by 5.6.24.
#[test]
fn positions_of_what_the_lexer_refuses() {
    let cases = [
        ("select 1 /* unclosed", "/* unclosed", 1),
        ("select 1 /*! +1", "", 1),
        ("select 'abc", "'abc", 1),
        ("select `abc", "`abc", 1),
        ("select x'4'", "x'4'", 1),
        ("select b'12'", "b'12'", 1),
        ("select 1.5.5", ".5", 1),
        ("select 1 2", "2", 1),
        ("select ((((1", "", 1),
        ("select 1 from", "", 1),
        ("select\n1\nfrom\n", "", 3),
        ("select a b c", "c", 1),
        ("select 1 union select 2 order", "", 1),
        ("select * from t where", "", 1),
        ("SELECT 'a\\'b\\", "'a\\'b\\", 1),
        ("select 1 from t limit -1", "-1", 1),
        ("select \u{1}", "\u{1}", 1),
        ("select ?", "?", 1),
        ("select count (*)", "*)", 1),
        ("select 1\n\nfrom t where\na = = 2", "= 2", 4),
    ];
    for (sql, near, line) in cases {
        let error = error_of(sql).unwrap_or_else(|| panic!("accepted: {sql}"));
        assert_eq!(
            (error.number(), String::from_utf8_lossy(&error.near).as_ref(), error.line),
            (1064, near, line),
            "{sql}"
        );
    }
}

#[test]
fn messages_are_those_of_the_real_server() {
    let cases = [
        ("", 1065, "Query was empty"),
        (";", 1065, "Query was empty"),
        ("select * from (select 1)", 1248, "Every derived table must have its own alias"),
        ("select 1 order by 1 union select 2", 1221, "Incorrect usage of UNION and ORDER BY"),
        ("select 1 into @a union select 2", 1221, "Incorrect usage of UNION and INTO"),
        (
            "selec 1",
            1064,
            "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version \
             for the right syntax to use near 'selec 1' at line 1",
        ),
    ];
    for (sql, number, message) in cases {
        let error = error_of(sql).unwrap_or_else(|| panic!("accepted: {sql}"));
        assert_eq!((error.number(), error.to_string().as_str()), (number, message), "{sql}");
    }
}

/// Only the first 80 bytes are quoted.
#[test]
fn long_texts_are_cut() {
    let error = error_of(&format!("selec {}", "x".repeat(200))).expect("refused");
    assert_eq!(error.near.len(), 80);
}

/// Nesting is bounded in every direction, far below what a thread's stack holds.
#[test]
fn deep_nesting_is_an_error() {
    let deep = [
        format!("select {}1{}", "(".repeat(100_000), ")".repeat(100_000)),
        format!("select {}1", "-".repeat(100_000).replace('-', "- ")),
        format!("select {}1", "not ".repeat(100_000)),
        format!("select {}1{}", "f(".repeat(100_000), ")".repeat(100_000)),
        format!("select {}", vec!["1"; 100_000].join("+")),
        format!("select {}1", "case when ".repeat(100_000)),
        format!("select * from {}t{}", "(".repeat(100_000), ")".repeat(100_000)),
        format!("select * from t {}", "join t ".repeat(100_000)),
        format!("select * from t {}", "left join t ".repeat(100_000)),
        format!("select 1 {}", "union select 1 ".repeat(100_000)),
        format!("{}select 1", "explain ".repeat(100_000)),
        format!("select {}", "(select ".repeat(100_000)),
        format!("select 1 {}", "in (1 ".repeat(100_000)),
        format!("select @a {}1", ":= @a ".repeat(100_000)),
        format!("select 1 {}", "between 0 and 1 ".repeat(100_000)),
        format!("select 1 {}", "member of (1 ".repeat(100_000)),
        format!("select 1 {}", "+ interval 1 ".repeat(100_000)),
    ];
    for sql in &deep {
        let error = error_of(sql).unwrap_or_else(|| panic!("accepted: {}", &sql[..40]));
        assert!(matches!(error.kind, ParseErrorKind::TooDeep | ParseErrorKind::Syntax), "{}", &sql[..40]);
    }
}

/// A tree may take so much memory and no more.
#[test]
fn trees_have_a_limit() {
    let sql = format!("select 1 from t where a in ({})", vec!["1"; 100_000].join(","));
    let arena = bumpalo::Bump::new();
    let limited = |memory_max: usize| {
        let mode = ParseMode { memory_max, ..ParseMode::default() };
        parse(sql.as_bytes(), &arena, mode).map(|_| ())
    };
    let refused = limited(1 << 20).expect_err("a hundred thousand expressions in a megabyte");
    let ParseErrorKind::TooLarge(bytes) = refused.kind else { panic!("{refused}") };
    assert!((1 << 20..4 << 20).contains(&bytes), "{bytes}");
    assert_eq!((refused.number(), refused.to_string()), (5, format!("Out of memory (Needed {bytes} bytes)")));
    limited(1 << 30).expect("room enough");
}

/// Conditions that programs write: thousands of terms, and lists.
#[test]
fn long_conditions_are_fine() {
    let or = format!("select 1 from t where {}", vec!["a = 1"; 20_000].join(" or "));
    let and = format!("select 1 from t where {}", vec!["a = 1"; 20_000].join(" and "));
    let list = format!("select 1 from t where a in ({})", vec!["1"; 100_000].join(","));
    let nested = format!("select {}1{}", "(1 + ".repeat(60), ")".repeat(60));
    for sql in [or, and, list, nested] {
        assert_eq!(error_of(&sql), None, "{}", &sql[..40]);
    }
}

#[test]
fn modes_change_what_quotes_mean() {
    let arena = Bump::new();
    let ansi = ParseMode { sql_mode: SqlMode::ANSI_QUOTES, ..ParseMode::default() };
    assert!(parse(br#"select * from "t" where "a""b" = 'x'"#, &arena, ansi).is_ok());
    assert!(parse(br#"select * from "t""#, &arena, ParseMode::default()).is_err());
    let plain = ParseMode { sql_mode: SqlMode::NO_BACKSLASH_ESCAPES, ..ParseMode::default() };
    assert!(parse(br"select 'a\'", &arena, plain).is_ok());
    assert!(parse(br"select 'a\'", &arena, ParseMode::default()).is_err());
}
