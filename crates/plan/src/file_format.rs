//! `FIELDS … LINES …`: the text form of rows in files, for LOAD DATA and SELECT … INTO OUTFILE.

use vaquita_parser::ast;
use vaquita_types::{SqlError, SqlResult};

/// How rows are written in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFormat {
    /// Between two fields.
    pub fields_terminated: Box<[u8]>,
    /// Around a field.
    pub enclosed: Option<u8>,
    /// Only texts are enclosed.
    pub optionally: bool,
    /// Before what would be taken for something else.
    pub escaped: Option<u8>,
    /// Before the first field of a line.
    pub lines_starting: Box<[u8]>,
    /// Behind the last field of a line.
    pub lines_terminated: Box<[u8]>,
}

impl Default for FileFormat {
    fn default() -> FileFormat {
        FileFormat {
            fields_terminated: Box::from(*b"\t"),
            enclosed: None,
            optionally: false,
            escaped: Some(b'\\'),
            lines_starting: Box::default(),
            lines_terminated: Box::from(*b"\n"),
        }
    }
}

impl FileFormat {
    /// The format that a statement asks for.
    ///
    /// # Errors
    /// 1083: ENCLOSED BY or ESCAPED BY of more than one character.
    pub fn of(ast: &ast::FileFormat<'_>) -> SqlResult<FileFormat> {
        let one = |given: Option<&[u8]>, default: Option<u8>| match given {
            None => Ok(default),
            Some([]) => Ok(None),
            Some(&[byte]) => Ok(Some(byte)),
            Some(_) => {
                Err(SqlError::new(1083, "Field separator argument is not what is expected; check the manual"))
            }
        };
        let default = FileFormat::default();
        let text = |given: Option<&[u8]>, default: Box<[u8]>| given.map_or(default, Box::from);
        Ok(FileFormat {
            fields_terminated: text(ast.fields_terminated, default.fields_terminated),
            enclosed: one(ast.fields_enclosed, None)?,
            optionally: ast.optionally_enclosed,
            escaped: one(ast.fields_escaped, default.escaped)?,
            lines_starting: text(ast.lines_starting, default.lines_starting),
            lines_terminated: text(ast.lines_terminated, default.lines_terminated),
        })
    }

    /// Neither terminated nor enclosed: fields have the width of their columns.
    pub fn is_fixed_width(&self) -> bool {
        self.fields_terminated.is_empty() && self.enclosed.is_none()
    }

    /// Appends a row; a field is its text (`None`: NULL) and whether its type is a text type. `widths` are those of
    /// the columns, for [`FileFormat::is_fixed_width`].
    pub fn push_row<'f>(
        &self,
        fields: impl Iterator<Item = (Option<&'f [u8]>, bool)>,
        widths: &[usize],
        out: &mut Vec<u8>,
    ) {
        out.extend_from_slice(&self.lines_starting);
        for (i, (field, text)) in fields.enumerate() {
            if i > 0 {
                out.extend_from_slice(&self.fields_terminated);
            }
            if self.is_fixed_width() {
                let field = field.unwrap_or_default();
                out.extend_from_slice(field);
                let width = widths.get(i).copied().unwrap_or(0);
                out.resize(out.len() + width.saturating_sub(field.len()), b' ');
                continue;
            }
            let enclosed = self.enclosed.filter(|_| text || !self.optionally);
            match field {
                None => match self.escaped {
                    Some(escape) => out.extend_from_slice(&[escape, b'N']),
                    None => out.extend_from_slice(b"NULL"),
                },
                Some(field) => {
                    out.extend(enclosed);
                    self.push_escaped(field, enclosed, out);
                    out.extend(enclosed);
                }
            }
        }
        out.extend_from_slice(&self.lines_terminated);
    }

    fn push_escaped(&self, field: &[u8], enclosed: Option<u8>, out: &mut Vec<u8>) {
        let Some(escape) = self.escaped else {
            out.extend_from_slice(field);
            return;
        };
        // Within quotes what is between fields means nothing.
        let of_field = enclosed.or(self.fields_terminated.first().copied());
        let of_line = self.lines_terminated.first().copied();
        for &b in field {
            match b {
                0 => out.extend_from_slice(&[escape, b'0']),
                b if b == escape || Some(b) == of_field || Some(b) == of_line => {
                    out.extend_from_slice(&[escape, b]);
                }
                b => out.push(b),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(format: &FileFormat, fields: &[(Option<&[u8]>, bool)]) -> String {
        let mut out = Vec::new();
        format.push_row(fields.iter().copied(), &[], &mut out);
        String::from_utf8(out).unwrap()
    }

    /// Files that MySQL 5.6.24 wrote for the same values.
    #[test]
    fn rows_as_a_real_server_writes_them() {
        let fields: [(Option<&[u8]>, bool); 4] =
            [(Some(b"a\tb\\c\nd\0e"), true), (None, true), (Some(b"5"), false), (Some(b"q\"x,"), true)];
        let mut format = FileFormat::default();
        assert_eq!(row(&format, &fields), "a\\\tb\\\\c\\\nd\\0e\t\\N\t5\tq\"x,\n");
        format.fields_terminated = Box::from(*b",");
        format.enclosed = Some(b'"');
        format.optionally = true;
        assert_eq!(row(&format, &fields), "\"a\tb\\\\c\\\nd\\0e\",\\N,5,\"q\\\"x,\"\n");
        format.optionally = false;
        format.escaped = None;
        format.lines_starting = Box::from(*b">");
        format.lines_terminated = Box::from(*b"\r\n");
        assert_eq!(row(&format, &fields[1..]), ">NULL,\"5\",\"q\"x,\"\r\n");
    }
}
