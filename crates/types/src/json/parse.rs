//! Text to documents (RFC 8259).

use super::{DEPTH_MAX, Json};
use crate::error::{SqlError, SqlResult};
use crate::{memory, number};

/// Reads a document from UTF-8 text.
///
/// # Errors
/// 3140 with the position of what is wrong; 3157 for more than 100 levels.
pub fn parse(text: &[u8]) -> SqlResult<Json> {
    let mut p = Parser { text, at: 0, depth: 0 };
    p.space();
    if p.at == text.len() {
        return Err(p.error("The document is empty."));
    }
    let value = p.value()?;
    p.space();
    if p.at < text.len() {
        return Err(p.error("The document root must not follow by other values."));
    }
    Ok(value)
}

struct Parser<'t> {
    text: &'t [u8],
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn error(&self, what: &str) -> SqlError {
        SqlError::new(3140, format!("Invalid JSON text: \"{what}\" at position {}.", self.at))
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self) -> SqlResult<Json> {
        match self.peek() {
            Some(b'{') => self.nested(Parser::object),
            Some(b'[') => self.nested(Parser::array),
            Some(b'"') => Ok(Json::Text(self.string()?)),
            Some(b'n') => self.word("null", Json::Null),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => Err(self.error("Invalid value.")),
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> SqlResult<Json>) -> SqlResult<Json> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(SqlError::of(3157, &[]));
        }
        self.at += 1;
        self.space();
        let v = read(self)?;
        self.depth -= 1;
        Ok(v)
    }

    fn word(&mut self, word: &str, v: Json) -> SqlResult<Json> {
        if !self.text[self.at..].starts_with(word.as_bytes()) {
            self.at += 1;
            return Err(self.error("Invalid value."));
        }
        self.at += word.len();
        Ok(v)
    }

    fn object(&mut self) -> SqlResult<Json> {
        let mut members = Vec::new();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Json::Object(members));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.error("Missing a name for object member."));
            }
            let key = self.string()?;
            if key.len() > 0xFFFF {
                return Err(SqlError::of(3151, &[]));
            }
            self.space();
            if self.peek() != Some(b':') {
                return Err(self.error("Missing a colon after a name of object member."));
            }
            self.at += 1;
            self.space();
            memory::short(size_of::<(Vec<u8>, Json)>())?;
            let value = self.value()?;
            memory::push(&mut members, (key, value))?;
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return Err(self.error("Missing a comma or '}' after an object member.")),
            }
            self.space();
        }
        self.at += 1;
        Json::object(members)
    }

    fn array(&mut self) -> SqlResult<Json> {
        let mut items = Vec::new();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Json::Array(items));
        }
        loop {
            memory::short(size_of::<Json>())?;
            let value = self.value()?;
            memory::push(&mut items, value)?;
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                _ => return Err(self.error("Missing a comma or ']' after an array element.")),
            }
            self.space();
        }
        self.at += 1;
        Ok(Json::Array(items))
    }

    fn number(&mut self) -> SqlResult<Json> {
        let start = self.at;
        let digits = |p: &mut Self| {
            let from = p.at;
            while matches!(p.peek(), Some(b'0'..=b'9')) {
                p.at += 1;
            }
            p.at - from
        };
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let zero = self.peek() == Some(b'0');
        let ints = digits(self);
        if ints == 0 {
            return Err(self.error("Invalid value."));
        }
        if zero && ints > 1 {
            // A zero stands alone: what follows is another value.
            self.at = self.at - ints + 1;
            return Ok(Json::Int(0));
        }
        let mut whole = true;
        if self.peek() == Some(b'.') {
            self.at += 1;
            whole = false;
            if digits(self) == 0 {
                return Err(self.error("Miss fraction part in number."));
            }
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            whole = false;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if digits(self) == 0 {
                return Err(self.error("Miss exponent in number."));
            }
        }
        let text = &self.text[start..self.at];
        if whole {
            let parsed = number::parse_int(text);
            if !parsed.overflow {
                return Ok(match parsed.value {
                    number::Integer::Signed(v) => Json::Int(v),
                    number::Integer::Unsigned(v) => Json::UInt(v),
                });
            }
        }
        let parsed = number::parse_f64(text);
        if parsed.overflow {
            return Err(self.error("Number too big to be stored in double."));
        }
        Ok(Json::Double(parsed.value))
    }

    fn string(&mut self) -> SqlResult<Vec<u8>> {
        self.at += 1;
        let mut out = Vec::new();
        loop {
            let run =
                self.text[self.at..].iter().take_while(|b| !matches!(b, b'"' | b'\\' | 0..0x20)).count();
            let piece = &self.text[self.at..self.at + run];
            if let Err(e) = std::str::from_utf8(piece) {
                self.at += e.valid_up_to();
                return Err(self.error("Invalid encoding in string."));
            }
            memory::short(run)?;
            memory::append(&mut out, piece)?;
            self.at += run;
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.escape(&mut out)?,
                Some(_) => return Err(self.error("Invalid encoding in string.")),
                None => return Err(self.error("Missing a closing quotation mark in string.")),
            }
        }
        self.at += 1;
        Ok(out)
    }

    fn escape(&mut self, out: &mut Vec<u8>) -> SqlResult<()> {
        memory::reserve(out, 4)?;
        let c = self.text.get(self.at + 1).copied();
        self.at += 2;
        match c {
            Some(c @ (b'"' | b'\\' | b'/')) => out.push(c),
            Some(b'b') => out.push(8),
            Some(b'f') => out.push(12),
            Some(b'n') => out.push(10),
            Some(b'r') => out.push(13),
            Some(b't') => out.push(9),
            Some(b'u') => {
                let c = self.unicode()?;
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
            _ => {
                self.at -= 2;
                return Err(self.error("Invalid escape character in string."));
            }
        }
        Ok(())
    }

    fn hex(&mut self) -> SqlResult<u32> {
        let digits = self.text.get(self.at..self.at + 4).and_then(|d| std::str::from_utf8(d).ok());
        let value = digits.and_then(|d| u32::from_str_radix(d, 16).ok());
        let value = value.ok_or_else(|| self.error("Incorrect hex digit after \\u escape in string."))?;
        self.at += 4;
        Ok(value)
    }

    fn unicode(&mut self) -> SqlResult<char> {
        let first = self.hex()?;
        let code = match first {
            0xD800..0xDC00 => {
                let bad = "The surrogate pair in string is invalid.";
                if !self.text[self.at..].starts_with(b"\\u") {
                    return Err(self.error(bad));
                }
                self.at += 2;
                let second = self.hex()?;
                if !(0xDC00..0xE000).contains(&second) {
                    return Err(self.error(bad));
                }
                0x1_0000 + ((first & 0x3FF) << 10 | second & 0x3FF)
            }
            _ => first,
        };
        char::from_u32(code).ok_or_else(|| self.error("The surrogate pair in string is invalid."))
    }
}
