//! Random and damaged texts: an answer always, a panic never.

use bumpalo::Bump;
use proptest::prelude::*;
use vaquita_parser::{Digest, ParseMode, SqlMode, digest, parse};

const CORPUS: &str = include_str!("corpus.sql");

fn corpus() -> Vec<&'static str> {
    CORPUS.lines().filter(|line| !line.is_empty() && !line.starts_with("##")).collect()
}

fn modes() -> impl Strategy<Value = ParseMode> {
    let sql_modes = prop::sample::subsequence(
        vec![
            SqlMode::ANSI_QUOTES,
            SqlMode::PIPES_AS_CONCAT,
            SqlMode::NO_BACKSLASH_ESCAPES,
            SqlMode::HIGH_NOT_PRECEDENCE,
            SqlMode::IGNORE_SPACE,
        ],
        0..=5,
    );
    (sql_modes, any::<bool>(), any::<bool>()).prop_map(|(bits, lift, params)| ParseMode {
        sql_mode: bits.into_iter().fold(SqlMode::default(), SqlMode::with),
        lift,
        params,
        ..ParseMode::default()
    })
}

/// Parses and digests; both agree on what is lifted whenever both succeed.
fn check(sql: &[u8], mode: ParseMode) {
    let arena = Bump::new();
    let parsed = parse(sql, &arena, ParseMode { lift: true, ..mode });
    let mut key = Digest::default();
    let cached = digest(sql, mode, &mut key);
    if let Ok(parsed) = &parsed {
        assert!(parsed.span.end as usize <= sql.len());
        assert!(parsed.next.is_none_or(|next| next <= sql.len()));
        if cached {
            assert_eq!(parsed.lifted as usize, key.literals.len());
            for literal in &key.literals {
                let _ = literal.bytes(sql, mode);
            }
        }
    }
    let _ = parse(sql, &arena, mode);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes(sql in prop::collection::vec(any::<u8>(), 0..200), mode in modes()) {
        check(&sql, mode);
    }

    #[test]
    fn random_words(
        words in prop::collection::vec(prop::sample::select(words()), 0..40),
        glue in prop::sample::select(vec!["", " ", "/**/"]),
        mode in modes(),
    ) {
        check(words.join(glue).as_bytes(), mode);
    }

    #[test]
    fn damaged_statements(
        line in prop::sample::select(corpus()),
        cut in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        mode in modes(),
    ) {
        let mut sql = line.as_bytes().to_vec();
        let at = cut.index(sql.len());
        check(&sql[..at], mode);
        sql[at] = byte;
        check(&sql, mode);
        sql.remove(at);
        check(&sql, mode);
    }
}

/// All the words and signs of the corpus.
fn words() -> Vec<&'static str> {
    let mut words: Vec<&str> = corpus()
        .iter()
        .flat_map(|line| line.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_'))
        .collect();
    words.sort_unstable();
    words.dedup();
    words
}
