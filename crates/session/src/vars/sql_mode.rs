//! `sql_mode` as text, and as the parser wants it.

use std::borrow::Cow;
use vaquita_engine::lower::charset::Charset;
use vaquita_parser::{Names, ParseMode, TwoByte};
use vaquita_types::SqlMode;

const fn of(bits: &[usize]) -> u64 {
    let (mut mode, mut at) = (0, 0);
    while at < bits.len() {
        mode |= 1 << bits[at];
        at += 1;
    }
    mode
}

/// What a name of a combination stands for, beside its own bit.
const COMBINED: [(usize, u64); 9] = [
    (8, of(&[1, 2, 3, 13, 14, 15])),
    (9, of(&[1, 2, 3, 13, 14, 15, 28])),
    (10, of(&[1, 2, 3, 13, 14, 15])),
    (11, of(&[1, 2, 3, 13, 14, 15])),
    (12, of(&[1, 2, 3, 13, 14, 15, 28])),
    (16, of(&[29])),
    (17, of(&[29])),
    (18, of(&[0, 1, 2, 3])),
    (27, of(&[21, 22, 23, 24, 26, 28, 30])),
];

/// The bit that has no meaning.
const NOT_USED: usize = 4;

/// The mode of a list of names, with what combinations stand for.
///
/// # Errors
/// What is no name.
pub(super) fn parse(text: &str) -> Result<SqlMode, &str> {
    let mut bits = 0;
    for name in text.split(',').filter(|n| !n.is_empty()) {
        let known = |(bit, n): (usize, &&str)| bit != NOT_USED && n.eq_ignore_ascii_case(name.trim());
        let at = SqlMode::NAMES.iter().enumerate().position(known);
        bits |= 1u64 << at.ok_or(name)?;
    }
    Ok(expanded(bits))
}

/// With what combinations stand for.
pub(super) fn expanded(given: u64) -> SqlMode {
    let with = |mode, &(bit, stands_for): &(usize, u64)| {
        if given & 1 << bit != 0 { mode | stands_for } else { mode }
    };
    SqlMode(COMBINED.iter().fold(given, with))
}

/// Names of the bits.
pub(super) fn show(mode: SqlMode) -> String {
    let set = SqlMode::NAMES.iter().enumerate().filter(|(bit, _)| mode.0 & 1 << bit != 0);
    set.map(|(bit, name)| if bit == NOT_USED { "" } else { name }).collect::<Vec<_>>().join(",")
}

/// What changes how text is read.
pub fn for_parser(mode: SqlMode) -> vaquita_parser::SqlMode {
    use vaquita_parser::SqlMode as P;
    let pairs = [
        (SqlMode::ANSI_QUOTES, P::ANSI_QUOTES),
        (SqlMode::PIPES_AS_CONCAT, P::PIPES_AS_CONCAT),
        (SqlMode::NO_BACKSLASH_ESCAPES, P::NO_BACKSLASH_ESCAPES),
        (SqlMode::HIGH_NOT_PRECEDENCE, P::HIGH_NOT_PRECEDENCE),
        (SqlMode::IGNORE_SPACE, P::IGNORE_SPACE),
    ];
    pairs.iter().filter(|(ours, _)| mode.has(*ours)).fold(P::default(), |all, (_, theirs)| all.with(*theirs))
}

/// How a text is read under a mode, in the character set of a collation (`character_set_client`).
pub fn parse_mode(sql_mode: vaquita_parser::SqlMode, client: u16) -> ParseMode {
    // The default collations of sjis and cp932, big5, gbk.
    let two_byte = match client {
        13 | 95 => TwoByte::ShiftJis,
        1 => TwoByte::Big5,
        28 => TwoByte::Gbk,
        _ => TwoByte::None,
    };
    let is_other = |charset: &Charset| *charset != Charset::BINARY && !charset.is_utf8();
    let names = Charset::of_collation(client).filter(is_other).map(|_| Names {
        collation: client,
        decode: |collation, text| Charset::of_collation(collation)?.decode(text).map(Cow::into_owned),
    });
    ParseMode { sql_mode, two_byte, names, ..ParseMode::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `SET sql_mode = …; SELECT @@sql_mode, @@sql_mode + 0` of MySQL 5.6.24.
    #[test]
    fn combinations_are_spelled_out_as_mysql_does() {
        for (given, shown) in [
            ("ansi", "REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ANSI"),
            (
                "traditional",
                "STRICT_TRANS_TABLES,STRICT_ALL_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,\
                 TRADITIONAL,NO_AUTO_CREATE_USER,NO_ENGINE_SUBSTITUTION",
            ),
            (
                "ORACLE",
                "PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ORACLE,NO_KEY_OPTIONS,NO_TABLE_OPTIONS,NO_FIELD_OPTIONS,\
                 NO_AUTO_CREATE_USER",
            ),
            ("MYSQL40", "MYSQL40,HIGH_NOT_PRECEDENCE"),
            ("", ""),
        ] {
            assert_eq!(parse(given).map(show).as_deref(), Ok(shown));
        }
        assert_eq!(parse("ansi,nonsense"), Err("nonsense"));
    }
}
