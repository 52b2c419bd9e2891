//! Natural language: terms and phrases, all of them optional. Of the signs there is only `*`, where it stands alone.

use super::boolean::Parser;
use super::lexer::Lexer;
use super::{Part, SyntaxError};

/// The parts of a text.
///
/// # Errors
/// Bad syntax: a `*` that stands alone before something else than a term, or at the end with no term before it.
pub fn parse(text: &[u8]) -> Result<Vec<Part>, SyntaxError> {
    Parser::new(Lexer::without_signs(text)).query()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::Sign;

    fn term(text: &str, is_prefix: bool) -> Part {
        Part::Term { sign: Sign::Optional, text: text.as_bytes().to_vec(), is_prefix }
    }

    #[test]
    fn signs_are_characters_like_others() {
        let phrase = Part::Phrase { sign: Sign::Optional, text: b"b c".to_vec(), within: None };
        let read = parse(b"+a-x* \"b c\" (d\"").expect("well-formed");
        assert_eq!(read, [term("+a-x*", false), phrase, term("(d", false)]);
    }

    #[test]
    fn a_star_that_stands_alone_is_a_sign() {
        assert_eq!(
            parse(b"** pe * *%nu").expect("well-formed"),
            [term("**", false), term("pe", true), term("nu", false)]
        );
        for (text, unexpected) in [("*", "$end"), ("pe * *\n", "$end"), ("*\"pear\"", "FTS_TEXT")] {
            let error = parse(text.as_bytes()).expect_err(text).to_string();
            assert_eq!(
                error,
                format!("syntax error, unexpected {unexpected}, expecting FTS_TERM or FTS_NUMB or '*'")
            );
        }
    }
}
