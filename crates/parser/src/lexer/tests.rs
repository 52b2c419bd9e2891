//! Tokens at the edges: where they begin and end, and what they are.

use super::{Lexer, find_either};
use crate::keyword::Kw;
use crate::mode::{ParseMode, SqlMode};
use crate::token::{ESCAPED, JOINED, T, Token};

fn tokens_in(sql: &str, mode: ParseMode) -> Vec<Token> {
    let mut lexer = Lexer::new(sql.as_bytes(), mode);
    let mut tokens = Vec::new();
    loop {
        let token = lexer.next();
        if token.kind == T::Eof {
            assert_eq!(lexer.next().kind, T::Eof, "the end stays the end");
            return tokens;
        }
        tokens.push(token);
        if token.kind == T::Error {
            return tokens;
        }
    }
}

/// Kinds and texts of all tokens up to the first that is none.
fn kinds(sql: &str) -> Vec<(T, &str)> {
    kinds_in(sql, ParseMode::default())
}

fn kinds_in(sql: &str, mode: ParseMode) -> Vec<(T, &str)> {
    let tokens = tokens_in(sql, mode);
    tokens.iter().map(|token| (token.kind, &sql[token.start as usize..token.end as usize])).collect()
}

fn with(sql_mode: SqlMode) -> ParseMode {
    ParseMode { sql_mode, ..ParseMode::default() }
}

#[test]
fn either_byte_is_found_wherever_it_is() {
    for length in 0..70 {
        let mut bytes = vec![b'x'; length];
        assert_eq!(find_either(&bytes, b'\'', b'\\'), None);
        for at in 0..length {
            for (byte, later) in [(b'\'', b'\\'), (b'\\', b'\'')] {
                bytes[at] = byte;
                bytes[at + 1..].fill(later);
                assert_eq!(find_either(&bytes, b'\'', b'\\'), Some(at));
            }
            bytes[at..].fill(b'x');
        }
    }
}

#[test]
fn numbers_end_where_they_end() {
    for (sql, kind) in [
        ("0", T::Int),
        ("18446744073709551616", T::Int),
        ("1.", T::Decimal),
        (".5", T::Decimal),
        ("1.50", T::Decimal),
        ("1e5", T::Float),
        ("1E+05", T::Float),
        ("1.e-3", T::Float),
        (".5e1", T::Float),
        ("0x1Fa", T::HexNumber),
        ("0b0110", T::BitNumber),
        ("x'4F'", T::Hex),
        ("X''", T::Hex),
        ("b'01'", T::Bit),
        // Names that begin with digits.
        ("1a", T::Word),
        ("1e", T::Word),
        ("0x", T::Word),
        ("0X41", T::Word),
        ("0b2", T::Word),
        ("0xfg", T::Word),
    ] {
        assert_eq!(kinds(sql), [(kind, sql)], "{sql}");
    }
    assert_eq!(kinds("1.5.2"), [(T::Decimal, "1.5"), (T::Decimal, ".2")]);
    assert_eq!(kinds("1e+"), [(T::Word, "1e"), (T::Plus, "+")]);
    assert_eq!(kinds("1-1"), [(T::Int, "1"), (T::Minus, "-"), (T::Int, "1")]);
    // An odd number of digits, and others than of the base, are no token.
    for sql in ["x'4'", "x'4G'", "b'2'", "x'4F"] {
        assert_eq!(kinds(sql)[0].0, T::Error, "{sql}");
    }
}

/// What stands after a dot is a name, whatever it looks like.
#[test]
fn names_after_dots() {
    assert_eq!(kinds("t.1e5"), [(T::Word, "t"), (T::Dot, "."), (T::Word, "1e5")]);
    assert_eq!(kinds("t . 5"), [(T::Word, "t"), (T::Dot, "."), (T::Int, "5")]);
    assert_eq!(kinds("`t`.5a"), [(T::Quoted, "`t`"), (T::Dot, "."), (T::Word, "5a")]);
    let words = |sql: &str| tokens_in(sql, ParseMode::default()).iter().map(|t| t.kw).collect::<Vec<_>>();
    assert_eq!(words("select"), [Kw::Select]);
    assert_eq!(words("select.select"), [Kw::Other; 3]);
    assert_eq!(words("SeLeCt from"), [Kw::Select, Kw::From]);
}

#[test]
fn operators_are_as_long_as_they_can_be() {
    let all = [
        ("<=>", T::NullSafeEq),
        ("<=", T::Le),
        ("<>", T::Ne),
        ("!=", T::Ne),
        ("<<", T::Shl),
        ("<", T::Lt),
        (">=", T::Ge),
        (">>", T::Shr),
        (">", T::Gt),
        ("->>", T::ArrowArrow),
        ("->", T::Arrow),
        ("-", T::Minus),
        ("&&", T::AndAnd),
        ("&", T::Amp),
        ("||", T::OrOr),
        ("|", T::Pipe),
        ("!", T::Bang),
        (":=", T::Assign),
        (":", T::Colon),
        ("\\N", T::Null),
        ("=", T::Eq),
    ];
    for (sql, kind) in all {
        assert_eq!(kinds(sql), [(kind, sql)]);
        assert_eq!(kinds(&format!("a{sql}b"))[1], (kind, sql));
    }
    assert_eq!(kinds("<==>"), [(T::Le, "<="), (T::Eq, "="), (T::Gt, ">")]);
    assert_eq!(kinds("a \u{1} b")[1].0, T::Error);
}

#[test]
fn comments_are_space() {
    for sql in ["1 -- two\n+ 3", "1 # two\n+ 3", "1/* two */+/**/3", "1 --\n+ 3", "1/*/ two */+ 3"] {
        assert_eq!(kinds(sql), [(T::Int, "1"), (T::Plus, "+"), (T::Int, "3")], "{sql}");
    }
    // Without space behind them two minus signs are two.
    assert_eq!(kinds("1--2").len(), 4);
    assert_eq!(kinds("1 --"), [(T::Int, "1")]);
    assert_eq!(kinds("'--' '/*'")[0].0, T::String);
    for sql in ["1 /* two", "1 /*! + 2", "/*"] {
        assert_eq!(kinds(sql).last().map(|t| t.0), Some(T::Error), "{sql}");
    }
}

#[test]
fn executable_comments_go_by_their_version() {
    let mode = ParseMode { server_version: 50_744, ..ParseMode::default() };
    let sum = [(T::Int, "1"), (T::Plus, "+"), (T::Int, "2")];
    for sql in ["1 /*! + 2 */", "1 /*!50744 + 2 */", "1 /*!050744 + 2 */", "1 /*!40101 + */ 2"] {
        assert_eq!(kinds_in(sql, mode), sum, "{sql}");
    }
    for sql in ["1 /*!50745 + 9 */ + 2", "1 /*!99999 + /* 8 */ 9 */ + 2", "1 /*!800000 '*/ + 2"] {
        assert_eq!(kinds_in(sql, mode), sum, "{sql}");
    }
    // Later versions hide what is here from earlier ones.
    for sql in ["/*!80016 NOT ENFORCED */ /*!80016 NOT NULL */", "/*!80016 NOT ENFORCED*/"] {
        assert_eq!(kinds_in(sql, mode), [(T::Word, "NOT"), (T::Word, "ENFORCED")], "{sql}");
    }
    // Less than five digits are no version, but what is executed.
    assert_eq!(kinds_in("/*!1234 */", mode), [(T::Int, "1234")]);
}

#[test]
fn strings_and_what_is_in_them() {
    let one = |sql: &str, mode: ParseMode| {
        let tokens = tokens_in(sql, mode);
        assert_eq!(tokens.len(), 1, "{sql}: {tokens:?}");
        (tokens[0].kind, tokens[0].flags)
    };
    let plain = ParseMode::default();
    assert_eq!(one("'abc'", plain), (T::String, 0));
    assert_eq!(one("''", plain), (T::String, 0));
    assert_eq!(one("'a''b'", plain), (T::String, ESCAPED));
    assert_eq!(one(r"'a\'b'", plain), (T::String, ESCAPED));
    assert_eq!(one("\"a'b\"", plain), (T::String, 0));
    assert_eq!(one("n'x'", plain), (T::National, 0));
    assert_eq!(one("'a' 'b'\n\"c\"", plain).1 & JOINED, JOINED);
    assert_eq!(one(r"'a\'", with(SqlMode::NO_BACKSLASH_ESCAPES)), (T::String, 0));
    assert_eq!(one("\"a\"", with(SqlMode::ANSI_QUOTES)), (T::Quoted, 0));
    assert_eq!(one("`a``b`", plain).0, T::Quoted);
    for sql in ["'a", r"'a\'", "\"a", "`a", "'a''"] {
        assert_eq!(kinds(sql)[0].0, T::Error, "{sql}");
    }
}

#[test]
fn variables_and_introducers() {
    assert_eq!(kinds("@a.b$c + 1")[0], (T::UserVar, "@a.b$c"));
    assert_eq!(kinds("@'a b'"), [(T::UserVar, "@'a b'")]);
    assert_eq!(kinds("@`a``b`"), [(T::UserVar, "@`a``b`")]);
    assert_eq!(kinds("@"), [(T::UserVar, "@")]);
    assert_eq!(kinds("@@x"), [(T::AtAt, "@@"), (T::Word, "x")]);
    assert_eq!(kinds("_utf8'x'"), [(T::Introducer, "_utf8"), (T::String, "'x'")]);
    assert_eq!(kinds("_LATIN1 'x'")[0], (T::Introducer, "_LATIN1"));
    assert_eq!(kinds("_nothing'x'")[0], (T::Word, "_nothing"));
    assert_eq!(kinds("?"), [(T::Param, "?")]);
}

/// Whatever the bytes are: tokens follow one another, and the last one ends with the text.
#[test]
fn spans_cover_any_text_in_order() {
    let pieces =
        ["a", "1", ".", "'x'", "`y`", "--", " ", "/*", "*/", "!", "@", "\\", "0x1", "é", "\"", "\n", "#"];
    for (i, first) in pieces.iter().enumerate() {
        for second in pieces {
            for third in &pieces[i..] {
                let sql = format!("{first}{second}{third}");
                let mut end = 0;
                for token in tokens_in(&sql, ParseMode::default()) {
                    assert!(token.start >= end && token.end >= token.start, "{sql}: {token:?}");
                    assert!(token.end as usize <= sql.len(), "{sql}: {token:?}");
                    assert_eq!((token.span().start, token.span().end), (token.start, token.end));
                    end = token.end;
                }
            }
        }
    }
}
