//! Texts for MySQL's client, as mysqldump writes them: a line `DELIMITER ;;` is none of SQL, it says what ends the statements
//! behind it, so that bodies of triggers, routines and events may have semicolons.

/// The start of the next statement, or DELIMITER line, behind blanks and comments; version comments are statements.
fn skip_blank(text: &[u8]) -> &[u8] {
    let mut rest = text;
    loop {
        rest = rest.trim_ascii_start();
        let is_dashes = rest.starts_with(b"--")
            && rest.get(2).is_none_or(|c| c.is_ascii_whitespace() || c.is_ascii_control());
        if is_dashes || rest.starts_with(b"#") {
            rest = &rest[line_len(rest)..];
        } else if rest.starts_with(b"/*") && !rest.starts_with(b"/*!") && !rest.starts_with(b"/*M!") {
            rest = &rest[comment_len(rest)..];
        } else {
            return rest;
        }
    }
}

/// Bytes of the first line with its end.
fn line_len(text: &[u8]) -> usize {
    text.iter().position(|&c| c == b'\n').map_or(text.len(), |at| at + 1)
}

/// Bytes of the comment that a text begins with.
fn comment_len(text: &[u8]) -> usize {
    let end = text.windows(2).skip(2).position(|two| two == b"*/");
    end.map_or(text.len(), |at| at + 4)
}

/// If the next thing is a DELIMITER line: what ends statements from there on, and where the line ends.
pub(super) fn delimiter_line(text: &[u8]) -> Option<(&[u8], usize)> {
    let rest = skip_blank(text);
    let (word, given) = rest.split_at_checked(b"delimiter".len())?;
    if !word.eq_ignore_ascii_case(b"delimiter") || !matches!(given.first(), Some(b' ' | b'\t')) {
        return None;
    }
    let line = &given[..line_len(given)];
    let ends = line.trim_ascii().split(u8::is_ascii_whitespace).next().filter(|ends| !ends.is_empty())?;
    Some((ends, text.len() - given.len() + line.len()))
}

/// Bytes of the first statement of a text, without what ends it, and with it. A delimiter within quotes or comments ends nothing.
pub(super) fn delimited(text: &[u8], ends: &[u8]) -> (usize, usize) {
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with(ends) {
            return (at, at + ends.len());
        }
        at += match rest[0] {
            quote @ (b'\'' | b'"' | b'`') => quoted_len(rest, quote),
            b'#' => line_len(rest),
            b'-' if rest.starts_with(b"-- ") || rest.starts_with(b"--\n") => line_len(rest),
            // The body of a version comment is SQL.
            b'/' if rest.starts_with(b"/*") && !rest.starts_with(b"/*!") && !rest.starts_with(b"/*M!") => {
                comment_len(rest)
            }
            _ => 1,
        };
    }
    (text.len(), text.len())
}

/// Bytes of the quoted text that a text begins with.
fn quoted_len(text: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while let Some(&c) = text.get(at) {
        match c {
            b'\\' if quote != b'`' => at += 2,
            c if c == quote => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}
