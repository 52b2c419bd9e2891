//! Literals.

use super::Printer;
use std::fmt::Write;
use vaquita_parser::ast::{self, Literal};
use vaquita_types::{SqlError, SqlResult};

impl Printer<'_> {
    /// A string of the statement.
    ///
    /// # Errors
    /// 1300: there is no text for it.
    pub(super) fn string(&mut self, bytes: &[u8]) -> SqlResult<()> {
        let text = (self.decode)(bytes).ok_or_else(|| {
            let digits: String = bytes.iter().take(6).map(|b| format!("{b:02X}")).collect();
            SqlError::new(1300, format!("Invalid character string in a view: '{digits}'"))
        })?;
        self.quoted(&text);
        Ok(())
    }

    pub(super) fn quoted(&mut self, text: &str) {
        self.out.push('\'');
        for c in text.chars() {
            match c {
                '\'' => self.put("\\'"),
                '\\' => self.put("\\\\"),
                '\n' => self.put("\\n"),
                '\r' => self.put("\\r"),
                '\0' => self.put("\\0"),
                '\u{1a}' => self.put("\\Z"),
                c => self.out.push(c),
            }
        }
        self.out.push('\'');
    }

    pub(super) fn literal(&mut self, literal: &Literal<'_>) -> SqlResult<()> {
        let hex = |out: &mut String, bytes: &[u8]| {
            out.push_str("0x");
            bytes.iter().for_each(|b| write!(out, "{b:02X}").unwrap_or_default());
        };
        match literal {
            Literal::Null => self.put("NULL"),
            Literal::Bool(on) => self.put(if *on { "1" } else { "0" }),
            Literal::Int(n) => self.put(&n.to_string()),
            Literal::Decimal(text) | Literal::Float(text) => self.put(&String::from_utf8_lossy(text)),
            Literal::String(text) => self.string(text)?,
            Literal::Introduced { charset, value } => {
                let charset = charset.to_string().to_lowercase();
                let text = format!("_{charset}");
                self.put(&text);
                // The bytes are of that character set, the text around them is not.
                match std::str::from_utf8(value) {
                    Ok(text) if text.is_ascii() || charset.starts_with("utf8") => self.quoted(text),
                    _ => {
                        self.put(" ");
                        hex(&mut self.out, value);
                    }
                }
            }
            Literal::Hex(bytes) => hex(&mut self.out, bytes),
            Literal::Bit(bytes) => {
                self.put("b'");
                let bits: String = bytes.iter().map(|b| format!("{b:08b}")).collect();
                let bits = bits.trim_start_matches('0');
                self.put(if bits.is_empty() { "0" } else { bits });
                self.put("'");
            }
            Literal::Temporal { kind, text } => {
                self.put(match kind {
                    ast::TemporalKind::Date => "DATE",
                    ast::TemporalKind::Time => "TIME",
                    ast::TemporalKind::DateTime | ast::TemporalKind::Timestamp => "TIMESTAMP",
                });
                self.string(text)?;
            }
        }
        Ok(())
    }
}
