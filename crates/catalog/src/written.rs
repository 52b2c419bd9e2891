//! Names and literals as SQL text has them.

/// A name between backquotes.
pub fn quoted_name(name: &str) -> String {
    name_in('`', name)
}

/// A name between quotes of a kind.
pub(crate) fn name_in(quote: char, name: &str) -> String {
    format!("{quote}{}{quote}", name.replace(quote, &format!("{quote}{quote}")))
}

/// A string literal; `quote` stands for a quote in it.
pub(crate) fn push_literal(text: &str, quote: &str, out: &mut String) {
    out.push('\'');
    for c in text.chars() {
        match c {
            '\'' => out.push_str(quote),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\0' => out.push_str("\\0"),
            c => out.push(c),
        }
    }
    out.push('\'');
}
