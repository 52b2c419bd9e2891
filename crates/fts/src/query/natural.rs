//! Natural language: terms and phrases, all of them optional; no character but quotes is a sign.

use super::lexer::{Lexer, Token};
use super::{Part, Sign};

/// The parts of a text.
pub fn parse(text: &[u8]) -> Vec<Part> {
    let mut lexer = Lexer::without_signs(text);
    let mut parts = Vec::new();
    loop {
        let sign = Sign::Optional;
        parts.push(match lexer.next() {
            Token::End => return parts,
            Token::Text(text) => Part::Phrase { sign, text: text.to_vec(), within: None },
            Token::Number(text) | Token::Term(text) => {
                Part::Term { sign, text: text.to_vec(), is_prefix: false }
            }
            Token::Sign(_) => unreachable!("there are no signs in natural language"),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_characters_like_others() {
        let text = |text: &str| text.as_bytes().to_vec();
        let term = |t| Part::Term { sign: Sign::Optional, text: text(t), is_prefix: false };
        let phrase = Part::Phrase { sign: Sign::Optional, text: text("b c"), within: None };
        assert_eq!(parse(b"+a-x* \"b c\" (d\""), [term("+a-x*"), phrase, term("(d")]);
    }
}
