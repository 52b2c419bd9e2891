//! Boolean mode.
//!
//! ```text
//! query  = { part }
//! part   = [ sign ] ( term | phrase | "(" query ")" )
//! sign   = "+" | "-" | "<" | ">" | "~"
//! term   = { "*" } ( TERM | NUMBER ) [ "*" ]
//! phrase = TEXT [ "@" NUMBER ]
//! ```
//!
//! `*` before a term means nothing. Messages name what the server's do, where it has room for the list of what may follow.

use vaquita_format::charset::Charset;

use super::lexer::{Lexer, Token};
use super::{Part, Sign, SyntaxError};

/// Groups within groups, beyond which a query is refused: each takes stack when it is read and when it is answered.
const DEPTH_MAX: usize = 100;

/// The parts of a query in a character set.
///
/// # Errors
/// Bad syntax.
pub fn parse(text: &[u8], charset: Charset) -> Result<Vec<Part>, SyntaxError> {
    Parser::new(Lexer::with_signs(text, charset)).query()
}

/// Reads parts, of whatever tokens there are.
pub(super) struct Parser<'a> {
    lexer: Lexer<'a>,
    next: Token<'a>,
    depth: usize,
}

impl<'a> Parser<'a> {
    pub(super) fn new(mut lexer: Lexer<'a>) -> Parser<'a> {
        let next = lexer.next();
        Parser { lexer, next, depth: 0 }
    }

    fn advance(&mut self) -> Token<'a> {
        std::mem::replace(&mut self.next, self.lexer.next())
    }

    fn unexpected<T>(&self, expected: Option<&'static str>) -> Result<T, SyntaxError> {
        Err(SyntaxError { unexpected: self.next.name(), expected })
    }

    /// Up to the end, or to the parenthesis that ends a group.
    pub(super) fn query(&mut self) -> Result<Vec<Part>, SyntaxError> {
        let mut parts = Vec::new();
        loop {
            match self.next {
                Token::End if self.depth == 0 => return Ok(parts),
                Token::Sign(b')') if self.depth > 0 => return Ok(parts),
                Token::Sign(b')' | b'@') if self.depth == 0 => return self.unexpected(Some("$end")),
                Token::End | Token::Sign(b'@') => return self.unexpected(None),
                _ => parts.push(self.part()?),
            }
        }
    }

    fn part(&mut self) -> Result<Part, SyntaxError> {
        let sign = self.sign();
        match self.next {
            Token::Sign(b'(') => self.group(sign),
            Token::Text(text) => {
                self.advance();
                Ok(Part::Phrase { sign, text: text.to_vec(), within: self.within()? })
            }
            Token::Term(_) | Token::Number(_) | Token::Sign(b'*') => self.term(sign),
            Token::Sign(_) | Token::End => self.unexpected(None),
        }
    }

    fn sign(&mut self) -> Sign {
        let sign = match self.next {
            Token::Sign(b'+') => Sign::Required,
            Token::Sign(b'-') => Sign::Excluded,
            Token::Sign(b'>') => Sign::More,
            Token::Sign(b'<') => Sign::Less,
            Token::Sign(b'~') => Sign::Against,
            _ => return Sign::Optional,
        };
        self.advance();
        sign
    }

    fn group(&mut self, sign: Sign) -> Result<Part, SyntaxError> {
        if self.depth == DEPTH_MAX {
            return self.unexpected(Some("fewer parentheses"));
        }
        self.advance();
        self.depth += 1;
        let parts = self.query()?;
        self.depth -= 1;
        self.advance();
        Ok(Part::Group { sign, parts })
    }

    fn term(&mut self, sign: Sign) -> Result<Part, SyntaxError> {
        while self.next == Token::Sign(b'*') {
            self.advance();
            if !matches!(self.next, Token::Sign(b'*') | Token::Term(_) | Token::Number(_)) {
                return self.unexpected(Some("FTS_TERM or FTS_NUMB or '*'"));
            }
        }
        let (Token::Term(text) | Token::Number(text)) = self.advance() else {
            unreachable!("whoever calls has seen a term or its stars")
        };
        let is_prefix = self.next == Token::Sign(b'*');
        if is_prefix {
            self.advance();
        }
        Ok(Part::Term { sign, text: text.to_vec(), is_prefix })
    }

    fn within(&mut self) -> Result<Option<u64>, SyntaxError> {
        if self.next != Token::Sign(b'@') {
            return Ok(None);
        }
        self.advance();
        let Token::Number(digits) = self.next else { return self.unexpected(Some("FTS_NUMB")) };
        self.advance();
        let number = digits
            .iter()
            .try_fold(0u64, |number, digit| number.checked_mul(10)?.checked_add(u64::from(digit - b'0')));
        Ok(Some(number.unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &[u8]) -> Result<Vec<Part>, SyntaxError> {
        super::parse(text, Charset::UTF8MB4)
    }

    /// A query in one way of writing: signs, groups in parentheses, stars, phrases.
    fn shown(parts: &[Part]) -> String {
        let one = |part: &Part| {
            let sign = match part.sign() {
                Sign::Optional => "",
                Sign::Required => "+",
                Sign::Excluded => "-",
                Sign::More => ">",
                Sign::Less => "<",
                Sign::Against => "~",
            };
            let what = match part {
                Part::Term { text, is_prefix, .. } => {
                    format!("{}{}", String::from_utf8_lossy(text), if *is_prefix { "*" } else { "" })
                }
                Part::Phrase { text, within, .. } => {
                    let within = within.map_or(String::new(), |n| format!("@{n}"));
                    format!("\"{}\"{within}", String::from_utf8_lossy(text))
                }
                Part::Group { parts, .. } => format!("({})", shown(parts)),
            };
            sign.to_owned() + &what
        };
        parts.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_a_query_is() {
        for (query, read) in [
            ("+ apple*banana", "+apple* banana"),
            ("a,b%c \"d e", "a,b c d e"),
            ("\"a b\"@3 +(c -\"d\") 5 5x", "\"a b\"@3 +(c -\"d\") 5 5x"),
            ("***a* ()", "a* ()"),
            // Between characters of words they divide.
            ("+a-b", "+a b"),
            ("a+b-c* a-(b)", "a b c* a -(b)"),
            ("é-日 ü+_ 3-4 \"a\"@2-b", "é 日 ü _ 3 4 \"a\"@2 b"),
            ("a- b a -b a'-b a-'b a.-b a,+b", "a -b a -b a' -b a -'b a. -b a, +b"),
            ("a😀-b a、-b a-😀b a*-b a>b", "a😀 -b a、 -b a -😀b a* -b a >b"),
            ("\"a-b\"", "\"a-b\""),
            // Behind an odd number of quotes they do not.
            ("a\" b-c", "a b -c"),
            ("a\" b\" c-d \"e-f", "a \" b\" c d e -f"),
            // Quotes have their partner in their line.
            ("\"a\nb\" c\"d", "a b \" c\" d"),
            ("\"a\n\" b-c", "a b c"),
            ("\"a\nb-c", "a b -c"),
            ("\ta\tb \t c \t\t+\t d\t-\te", "\ta\tb c +d\t -\te"),
            ("\"\t\r\" \"\"@3", "\"\t\r\" \"\"@3"),
            ("a\0b", "a"),
            ("\"a\"@99999999999999999999", "\"a\"@18446744073709551615"),
        ] {
            assert_eq!(shown(&parse(query.as_bytes()).expect(query)), read);
        }
    }

    #[test]
    fn groups_have_an_end() {
        let deep = |n: usize| "(".repeat(n) + "a" + &")".repeat(n);
        assert!(parse(deep(DEPTH_MAX).as_bytes()).is_ok());
        assert!(parse(deep(DEPTH_MAX + 1).as_bytes()).is_err());
        assert!(parse("(".repeat(100_000).as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[ab5+<>~()*@\" %.é\n-]{0,40}") {
            if let Ok(parts) = parse(text.as_bytes()) {
                let again = shown(&parts);
                prop_assert_eq!(shown(&parse(again.as_bytes()).unwrap()), again);
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(text: Vec<u8>) {
            let _ = parse(&text);
        }
    }
}
