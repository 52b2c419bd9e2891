//! Patterns of the names of databases and hosts: those of LIKE.

/// Characters before the first wildcard.
pub fn specificity(pattern: &str) -> usize {
    let mut escaped = false;
    for (at, c) in pattern.char_indices() {
        match c {
            '\\' if !escaped => {
                escaped = true;
                continue;
            }
            '%' | '_' if !escaped => return at,
            _ => {}
        }
        escaped = false;
    }
    usize::MAX
}

/// Whether a text matches a pattern of LIKE with `\` as escape.
pub fn like(pattern: &str, text: &str, case: bool) -> bool {
    let same = |a: char, b: char| a == b || (!case && a.to_lowercase().eq(b.to_lowercase()));
    let (mut p, mut t) = (pattern.chars(), text.chars());
    // Where the last `%` may take one character more.
    let mut again: Option<(std::str::Chars<'_>, std::str::Chars<'_>)> = None;
    loop {
        let fits = match (p.next(), t.clone().next()) {
            (None, None) => return true,
            (Some('%'), _) => {
                again = Some((p.clone(), t.clone()));
                continue;
            }
            (Some('_'), Some(_)) => true,
            (Some('\\'), Some(c)) => match p.next() {
                Some(escaped) => same(escaped, c),
                None => same('\\', c),
            },
            (Some(wanted), Some(c)) => same(wanted, c),
            (_, _) => false,
        };
        if fits {
            t.next();
            continue;
        }
        let Some((rest, from)) = &mut again else { return false };
        if from.next().is_none() {
            return false;
        }
        (p, t) = (rest.clone(), from.clone());
    }
}

/// A piece of a pattern of LIKE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    Exactly(char),
    One,
    Any,
}

fn pieces(pattern: &str) -> Vec<Piece> {
    let mut chars = pattern.chars();
    let mut out = Vec::new();
    while let Some(c) = chars.next() {
        out.push(match c {
            '%' => Piece::Any,
            '_' => Piece::One,
            '\\' => Piece::Exactly(chars.next().unwrap_or('\\')),
            c => Piece::Exactly(c),
        });
    }
    out
}

/// Whether every name that matches `pattern` matches `wider`, as far as one look from left to right can tell.
pub fn covers(wider: &str, pattern: &str) -> bool {
    let (wider, pattern) = (pieces(wider), pieces(pattern));
    let fits = |w: Piece, p: Piece| w == p || w == Piece::One && p != Piece::Any;
    let (mut w, mut p) = (0, 0);
    // Where the last `%` may take one piece more.
    let mut again: Option<(usize, usize)> = None;
    while p < pattern.len() {
        match wider.get(w) {
            Some(Piece::Any) => {
                again = Some((w + 1, p));
                w += 1;
            }
            Some(&piece) if fits(piece, pattern[p]) => (w, p) = (w + 1, p + 1),
            _ => match &mut again {
                Some((rest, from)) => {
                    *from += 1;
                    (w, p) = (*rest, *from);
                }
                None => return false,
            },
        }
    }
    wider[w..].iter().all(|piece| *piece == Piece::Any)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_names() {
        for (pattern, text, expected) in [
            ("sbtest", "sbtest", true),
            ("sbtest", "sbtest1", false),
            ("sb_est", "sbtest", true),
            ("sb\\_est", "sbtest", false),
            ("sb\\_est", "sb_est", true),
            ("%", "", true),
            ("%", "anything", true),
            ("%a%b", "xaxbxab", true),
            ("%a%b", "xaxbxac", false),
            ("a%", "ba", false),
            ("a%%", "a", true),
            ("_", "", false),
            ("__", "é", false),
            ("_", "é", true),
            ("10.%.%.1", "10.2.3.1", true),
            ("10.%.%.1", "10.2.1", false),
            ("a\\", "a\\", true),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(like(pattern, text, true), expected, "{pattern} {text}");
        }
        for (wider, pattern, expected) in [
            ("a_b", "a_b", true),
            ("a_b", "a\\_b", true),
            ("a_b", "axb", true),
            ("a\\_b", "a_b", false),
            ("a\\_b", "a\\_b", true),
            ("a", "a%", false),
            ("a%", "a%", true),
            ("a%", "a_x%b", true),
            ("a_", "a%", false),
            ("%b", "a%", false),
            ("%b", "a%b", true),
            ("%", "", true),
            ("", "%", false),
        ] {
            assert_eq!(covers(wider, pattern), expected, "{wider} {pattern}");
        }
        assert!(like("HOST%", "hostname", false) && !like("HOST%", "hostname", true));
    }
}
