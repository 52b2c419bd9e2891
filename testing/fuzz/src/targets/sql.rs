//! SQL text: digest and parser. The first byte chooses the mode.

use bumpalo::Bump;
use vaquita_parser::{Digest, ParseMode, SqlMode, digest};

const MODES: [SqlMode; 5] = [
    SqlMode::ANSI_QUOTES,
    SqlMode::PIPES_AS_CONCAT,
    SqlMode::NO_BACKSLASH_ESCAPES,
    SqlMode::HIGH_NOT_PRECEDENCE,
    SqlMode::IGNORE_SPACE,
];

/// The mode that `byte` stands for.
fn mode_of(byte: u8) -> ParseMode {
    let chosen = MODES.iter().enumerate().filter(|(bit, _)| byte >> bit & 1 == 1);
    let sql_mode = chosen.fold(SqlMode::default(), |mode, (_, &bit)| mode.with(bit));
    ParseMode { sql_mode, lift: byte >> 5 & 1 == 1, params: byte >> 6 & 1 == 0, ..ParseMode::default() }
}

/// The digest takes any text, and its literals lie inside of it; what was digested once is so again.
pub(super) fn lexer(data: &[u8]) {
    let Some((&byte, sql)) = data.split_first() else { return };
    let mode = mode_of(byte);
    let (mut first, mut second) = (Digest::default(), Digest::default());
    let cached = digest(sql, mode, &mut first);
    for literal in &first.literals {
        assert!(literal.bytes(sql, mode).len() <= sql.len());
    }
    assert_eq!(digest(sql, mode, &mut second), cached);
    assert_eq!(first, second);
}

/// The parser takes any text, statement by statement, and lifts what the digest lifts.
pub(super) fn parser(data: &[u8]) {
    let Some((&byte, mut sql)) = data.split_first() else { return };
    let mode = mode_of(byte);
    let mut key = Digest::default();
    loop {
        let arena = Bump::new();
        let Ok(parsed) = vaquita_parser::parse(sql, &arena, mode) else { return };
        assert!(parsed.span.start <= parsed.span.end && parsed.span.end as usize <= sql.len());
        if mode.lift && digest(sql, mode, &mut key) {
            assert_eq!(parsed.lifted as usize, key.literals.len());
            assert_eq!(parsed.params, key.params);
        }
        let Some(next) = parsed.next else { return };
        assert!(next > 0);
        sql = &sql[next..];
    }
}

/// The corpus, plain and with all that may change.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let corpus = include_str!("../../../../crates/parser/tests/corpus.sql");
    let lines = corpus.lines().filter(|line| !line.is_empty() && !line.starts_with("##"));
    lines.flat_map(|line| [0x20u8, 0x1F].map(|mode| [&[mode], line.as_bytes()].concat())).collect()
}
