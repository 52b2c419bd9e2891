//! Words, numbers, strings and signs.

/// A token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A keyword or name.
    Word(String),
    Number(i64),
    Text(String),
    Sign(&'static str),
}

/// Longer ones first.
const SIGNS: [&str; 12] = ["<=", ">=", "<>", "<", ">", "=", "(", ")", ",", "*", "+", "%"];

pub(super) fn tokens(sql: &str) -> Result<Vec<Token>, String> {
    let mut rest = sql.trim_start();
    let mut tokens = Vec::new();
    while let Some(first) = rest.chars().next() {
        let length = if first == '\'' {
            let end = rest[1..].find('\'').ok_or_else(|| format!("a string without an end: {rest}"))?;
            tokens.push(Token::Text(rest[1..=end].to_owned()));
            end + 2
        } else if first.is_ascii_digit() {
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            tokens.push(Token::Number(rest[..end].parse().map_err(|_| format!("too great: {rest}"))?));
            end
        } else if first.is_ascii_alphabetic() || first == '_' {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            tokens.push(Token::Word(rest[..end].to_owned()));
            end
        } else if first == '-' {
            tokens.push(Token::Sign("-"));
            1
        } else {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
            let sign = sign.ok_or_else(|| format!("an unknown sign: {rest}"))?;
            tokens.push(Token::Sign(sign));
            sign.len()
        };
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}
