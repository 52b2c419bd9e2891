//! The corpus of statements of MySQL's dialect, and what clients send: every line parses.

use bumpalo::Bump;
use vaquita_parser::{Digest, ParseMode, digest, parse};

const CORPUS: &str = include_str!("corpus.sql");

/// What connectors, object mappers, sysbench and the stock tools send.
const CLIENTS: &str = include_str!("clients.sql");

/// What the real server refuses too (5.6.24), with the text its error quotes.
const REFUSED: (&str, &str) =
    ("SELECT /* c1 */ 1 /*! STRAIGHT_JOIN */ + /*!50000 2 */", "STRAIGHT_JOIN */ + /*!50000 2 */");

fn statements() -> impl Iterator<Item = &'static str> {
    let lines = CORPUS.lines().chain(CLIENTS.lines());
    lines.filter(|line| !line.is_empty() && !line.starts_with("##") && *line != REFUSED.0)
}

#[test]
fn every_statement_parses_to_its_end() {
    let mut failures = Vec::new();
    for sql in statements() {
        let arena = Bump::new();
        match parse(sql.as_bytes(), &arena, ParseMode::default()) {
            Ok(parsed) => assert_eq!(parsed.next, None, "{sql}"),
            Err(error) => failures.push(format!("{error}\n    in {sql}")),
        }
    }
    assert!(failures.is_empty(), "{} statements:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn what_the_real_server_refuses_is_refused() {
    let arena = Bump::new();
    let error = parse(REFUSED.0.as_bytes(), &arena, ParseMode::default()).expect_err("refused");
    assert_eq!(error.near, REFUSED.1.as_bytes());
}

/// The parser numbers the literals that the digest lifts, all of them and no others.
#[test]
fn parser_and_digest_lift_the_same_literals() {
    let mut key = Digest::default();
    let mut cached = 0;
    for sql in statements() {
        let arena = Bump::new();
        let mode = ParseMode { lift: true, ..ParseMode::default() };
        if !digest(sql.as_bytes(), mode, &mut key) {
            continue;
        }
        let parsed = parse(sql.as_bytes(), &arena, mode).expect("the corpus parses");
        let tree = format!("{parsed:?}");
        assert_eq!(parsed.lifted as usize, key.literals.len(), "{sql}");
        assert_eq!(parsed.params, key.params, "{sql}");
        for no in 0..parsed.lifted + parsed.params {
            let literals = tree.matches(&format!("Lifted {{ no: {no},")).count();
            let params = tree.matches(&format!("Param({no})")).count();
            assert_eq!(literals + params, 1, "value {no} of {sql}");
        }
        cached += 1;
    }
    assert!(cached > 60, "{cached}");
}
