//! Upper and lower case: one character for one character, as UPPER() and LOWER() do it.

mod tables;

use super::{Charset, Form, packed};

/// Characters `.0` to `.1` in steps of `.2`; what is added to the code.
struct Run(u32, u32, u32, i32);

/// The version of Unicode whose letters have case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaseVersion {
    /// 3.0, of the BMP.
    V300,
    /// 5.2.
    V520,
    /// 9.0.
    V900,
}

/// Which case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// Capital letters.
    Upper,
    /// Small letters.
    Lower,
}

impl Charset {
    /// Appends `text` in upper or lower case. Bytes that are no text stay, and so do letters whose counterpart is not
    /// in the character set. The East Asian sets have tables of their own; `binary` has no letters.
    pub fn change_case(self, case: Case, version: CaseVersion, text: &[u8], out: &mut Vec<u8>) {
        if matches!(self.form, Form::Binary) {
            return out.extend_from_slice(text);
        }
        let mut rest = text;
        while !rest.is_empty() {
            if self.is_ascii_based() && rest[0].is_ascii() {
                let (ascii, after) = rest.split_at(crate::ascii::len(rest));
                let start = out.len();
                out.extend_from_slice(ascii);
                match case {
                    Case::Upper => out[start..].make_ascii_uppercase(),
                    Case::Lower => out[start..].make_ascii_lowercase(),
                }
                rest = after;
                continue;
            }
            let len = self.char_len(rest).unwrap_or(1);
            let (character, after) = rest.split_at(len);
            if let Form::EastAsian(set) = self.form {
                match set.change_case(character, case == Case::Upper) {
                    Some(code) => packed::push_code(code, out),
                    None => out.extend_from_slice(character),
                }
                rest = after;
                continue;
            }
            let changed = match self.form {
                Form::Latin1 => Some(change_latin1(character[0], case)),
                _ => self.next(character).map(|(code, _)| change(code, case, version)),
            };
            let before = out.len();
            if !changed.is_some_and(|code| self.push(code, out)) {
                out.truncate(before);
                out.extend_from_slice(character);
            }
            rest = after;
        }
    }
}

/// Windows-1252 is taken for ISO 8859-1, which has no letters below 0xC0.
fn change_latin1(byte: u8, case: Case) -> u32 {
    let changed = match (byte, case) {
        (0xE0..=0xF6 | 0xF8..=0xFE, Case::Upper) => byte - 0x20,
        (0xC0..=0xD6 | 0xD8..=0xDE, Case::Lower) => byte + 0x20,
        (_, Case::Upper) => byte.to_ascii_uppercase(),
        (_, Case::Lower) => byte.to_ascii_lowercase(),
    };
    u32::from(super::latin1(changed))
}

/// The character in upper or lower case.
pub fn change(code: u32, case: Case, version: CaseVersion) -> u32 {
    if code < 0x80 {
        let byte = code as u8;
        return u32::from(if case == Case::Upper {
            byte.to_ascii_uppercase()
        } else {
            byte.to_ascii_lowercase()
        });
    }
    let runs: &[Run] = match (case, version) {
        (Case::Upper, CaseVersion::V300) => &tables::UPPER_V300,
        (Case::Upper, CaseVersion::V520) => &tables::UPPER_V520,
        (Case::Upper, CaseVersion::V900) => &tables::UPPER_V900,
        (Case::Lower, CaseVersion::V300) => &tables::LOWER_V300,
        (Case::Lower, CaseVersion::V520) => &tables::LOWER_V520,
        (Case::Lower, CaseVersion::V900) => &tables::LOWER_V900,
    };
    // Runs of even and odd characters do not overlap: the last one that begins at the character or before decides.
    let after = runs.partition_point(|run| run.0 <= code);
    match runs[..after].last() {
        Some(&Run(first, last, step, delta)) if code <= last && (code - first).is_multiple_of(step) => {
            code.wrapping_add_signed(delta)
        }
        _ => code,
    }
}
