//! Rows of a file, which comes in pieces.

use vaquita_plan::file_format::FileFormat;
use vaquita_types::{SqlResult, memory};

/// A field of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    start: usize,
    end: usize,
    null: bool,
    /// Nothing stood there, not even quotes.
    void: bool,
}

/// The fields of one row, escapes resolved.
#[derive(Debug, Default)]
pub(super) struct Record {
    bytes: Vec<u8>,
    fields: Vec<Span>,
    /// The file ended before the line did.
    cut: bool,
}

impl Record {
    /// Number of fields.
    pub(super) fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether there are fields beyond so many before the end of the line. A terminator with nothing behind it begins
    /// none; nobody looks at a line that the file does not end.
    pub(super) fn has_more_than(&self, n: usize) -> bool {
        !self.cut && (self.fields.len() > n + 1 || self.fields.get(n).is_some_and(|field| !field.void))
    }

    /// A field; `None` inside: NULL.
    pub(super) fn get(&self, i: usize) -> Option<Option<&[u8]>> {
        let field = self.fields.get(i)?;
        Some((!field.null).then(|| &self.bytes[field.start..field.end]))
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.fields.clear();
        self.cut = false;
    }
}

/// What a look for a row came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// A row.
    Row,
    /// Not without more of the file.
    More,
    /// The file is over.
    End,
}

/// A row that is longer than the longest packet comes from no table.
const ROW_MAX: usize = 1 << 30;

/// Takes a file apart.
#[derive(Debug)]
pub(super) struct Reader<'f> {
    format: &'f FileFormat,
    /// Fields of a row, where only their number ends it.
    columns: usize,
    /// Widths of fields without terminators.
    widths: Vec<usize>,
    buffer: Vec<u8>,
    at: usize,
    /// So many bytes have to be there before a row is looked for again.
    awaited: usize,
    /// No more comes.
    ended: bool,
    /// Lines still to be skipped.
    skip: u64,
}

/// How a field ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    Field,
    Line,
    File,
}

/// The end of what is there, while more may come.
struct Short;

impl<'f> Reader<'f> {
    pub(super) fn new(format: &'f FileFormat, columns: usize, widths: Vec<usize>, skip: u64) -> Reader<'f> {
        Reader { format, columns, widths, buffer: Vec::new(), at: 0, awaited: 0, ended: false, skip }
    }

    /// Appends a piece of the file; an empty one is its end.
    ///
    /// # Errors
    /// No memory for a row that does not end.
    pub(super) fn push(&mut self, piece: &[u8]) -> SqlResult<()> {
        self.ended |= piece.is_empty();
        self.buffer.drain(..self.at);
        self.at = 0;
        if self.buffer.len() > ROW_MAX {
            return Err(memory::no_memory(self.buffer.len() + piece.len()));
        }
        memory::append(&mut self.buffer, piece)
    }

    /// Reads the next row.
    pub(super) fn next(&mut self, record: &mut Record) -> Next {
        if self.buffer.len() - self.at < self.awaited && !self.ended {
            return Next::More;
        }
        self.awaited = 0;
        while self.skip > 0 {
            match find(&self.buffer[self.at..], &self.format.lines_terminated) {
                Some(at) => self.at += at + self.format.lines_terminated.len(),
                None if self.ended => return Next::End,
                None => return self.more(),
            }
            self.skip -= 1;
        }
        let start = self.at;
        match self.record(record) {
            Ok(true) => Next::Row,
            Ok(false) => Next::End,
            Err(Short) => {
                self.at = start;
                self.more()
            }
        }
    }

    /// What is there is no whole row. It is looked at again from its start, so when there is much more of it.
    fn more(&mut self) -> Next {
        self.awaited = (self.buffer.len() - self.at).saturating_mul(2);
        Next::More
    }

    fn record(&mut self, record: &mut Record) -> Result<bool, Short> {
        record.clear();
        if !self.format.lines_starting.is_empty() {
            match find(&self.buffer[self.at..], &self.format.lines_starting) {
                Some(at) => self.at += at + self.format.lines_starting.len(),
                None if self.ended => return Ok(false),
                None => return Err(Short),
            }
        }
        if self.at == self.buffer.len() {
            return if self.ended { Ok(false) } else { Err(Short) };
        }
        if self.format.is_fixed_width() {
            return self.fixed(record).map(|()| true);
        }
        loop {
            let stop = self.field(record)?;
            let full = self.format.lines_terminated.is_empty() && record.len() >= self.columns;
            record.cut = stop == Stop::File;
            if stop != Stop::Field || full {
                return Ok(true);
            }
        }
    }

    /// The byte at an offset from here; `Ok(None)` at the end of the file.
    #[inline]
    fn peek(&self, offset: usize) -> Result<Option<u8>, Short> {
        match self.buffer.get(self.at + offset) {
            Some(&b) => Ok(Some(b)),
            None if self.ended => Ok(None),
            None => Err(Short),
        }
    }

    /// Whether this comes next.
    #[inline]
    fn comes(&self, what: &[u8]) -> Result<bool, Short> {
        if what.is_empty() {
            return Ok(false);
        }
        let rest = &self.buffer[self.at..];
        let n = rest.len().min(what.len());
        match (rest[..n] == what[..n], n == what.len(), self.ended) {
            (true, true, _) => Ok(true),
            (true, false, false) => Err(Short),
            _ => Ok(false),
        }
    }

    /// Whether the field ends here, and how; goes past its end.
    #[inline]
    fn stop(&mut self) -> Result<Option<Stop>, Short> {
        if self.peek(0)?.is_none() {
            return Ok(Some(Stop::File));
        }
        if self.comes(&self.format.fields_terminated)? {
            self.at += self.format.fields_terminated.len();
            return Ok(Some(Stop::Field));
        }
        if self.comes(&self.format.lines_terminated)? {
            self.at += self.format.lines_terminated.len();
            return Ok(Some(Stop::Line));
        }
        Ok(None)
    }

    fn field(&mut self, record: &mut Record) -> Result<Stop, Short> {
        let start = record.bytes.len();
        let quote = match (self.format.enclosed, self.peek(0)?) {
            (Some(quote), Some(b)) if quote == b => Some(quote),
            _ => None,
        };
        let (stop, escaped_null) = match quote {
            Some(quote) => {
                self.at += 1;
                self.enclosed(quote, record)?
            }
            None => self.plain(record)?,
        };
        let text = &record.bytes[start..];
        let word = quote.is_none()
            && (self.format.enclosed.is_some() || self.format.escaped.is_none())
            && text == b"NULL";
        let null = word || escaped_null && text == b"N";
        let end = record.bytes.len();
        record.fields.push(Span { start, end, null, void: quote.is_none() && start == end });
        Ok(stop)
    }

    /// A field without quotes. Whether it began with an escaped `N`.
    fn plain(&mut self, record: &mut Record) -> Result<(Stop, bool), Short> {
        let start = record.bytes.len();
        let mut escaped_null = false;
        loop {
            if let Some(stop) = self.stop()? {
                return Ok((stop, escaped_null));
            }
            let Some(b) = self.peek(0)? else { return Ok((Stop::File, escaped_null)) };
            if Some(b) == self.format.escaped {
                escaped_null |= self.escape(record)? && record.bytes.len() == start + 1;
                continue;
            }
            record.bytes.push(b);
            self.at += 1;
        }
    }

    /// A field in quotes, the first of which is behind. A quote that nothing follows which could end the field belongs
    /// to it; a doubled one is one.
    fn enclosed(&mut self, quote: u8, record: &mut Record) -> Result<(Stop, bool), Short> {
        loop {
            let Some(b) = self.peek(0)? else { return Ok((Stop::File, false)) };
            if b == quote && self.peek(1)? == Some(quote) {
                record.bytes.push(quote);
                self.at += 2;
                continue;
            }
            if b == quote {
                self.at += 1;
                if let Some(stop) = self.stop()? {
                    return Ok((stop, false));
                }
                record.bytes.push(quote);
                continue;
            }
            if Some(b) == self.format.escaped {
                self.escape(record)?;
                continue;
            }
            record.bytes.push(b);
            self.at += 1;
        }
    }

    /// An escape and what it stands before. Whether that was `N`.
    fn escape(&mut self, record: &mut Record) -> Result<bool, Short> {
        let Some(b) = self.peek(1)? else {
            record.bytes.extend(self.peek(0)?);
            self.at += 1;
            return Ok(false);
        };
        self.at += 2;
        record.bytes.push(match b {
            b'0' => 0,
            b'b' => 8,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'Z' => 26,
            b => b,
        });
        Ok(b == b'N')
    }

    /// Fields by their widths, up to the end of the line.
    fn fixed(&mut self, record: &mut Record) -> Result<(), Short> {
        for i in 0..self.widths.len() {
            let start = record.bytes.len();
            let mut ended = false;
            for _ in 0..self.widths[i] {
                ended = self.comes(&self.format.lines_terminated)? || self.peek(0)?.is_none();
                if ended {
                    break;
                }
                record.bytes.extend(self.peek(0)?);
                self.at += 1;
            }
            let end = record.bytes.len();
            if end > start || !ended {
                record.fields.push(Span { start, end, null: false, void: start == end });
            }
        }
        while !self.format.lines_terminated.is_empty() && self.peek(0)?.is_some() {
            if self.comes(&self.format.lines_terminated)? {
                self.at += self.format.lines_terminated.len();
                break;
            }
            self.at += 1;
        }
        Ok(())
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    match needle {
        [] => None,
        [b] => haystack.iter().position(|h| h == b),
        _ => haystack.windows(needle.len()).position(|w| w == needle),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Rows = Vec<Vec<Option<String>>>;

    fn read(format: &FileFormat, text: &str, piece: usize) -> Rows {
        let mut reader = Reader::new(format, 2, vec![2, 3], 0);
        let mut record = Record::default();
        let mut rows = Vec::new();
        let mut pieces = text.as_bytes().chunks(piece).chain([&[][..]]);
        loop {
            match reader.next(&mut record) {
                Next::Row => rows.push(
                    (0..record.len())
                        .map(|i| record.get(i).unwrap().map(|f| String::from_utf8(f.to_vec()).unwrap()))
                        .collect(),
                ),
                Next::End => return rows,
                Next::More => reader.push(pieces.next().unwrap()).unwrap(),
            }
        }
    }

    fn row(fields: &[&str]) -> Vec<Option<String>> {
        fields.iter().map(|f| (*f != "<null>").then(|| (*f).to_owned())).collect()
    }

    /// The same rows however the file is cut into pieces.
    fn check(format: &FileFormat, text: &str, want: &[&[&str]]) {
        let want: Rows = want.iter().map(|r| row(r)).collect();
        for piece in [1, 2, 3, 1000] {
            assert_eq!(read(format, text, piece), want, "{text:?} in pieces of {piece}");
        }
    }

    #[test]
    fn fields_and_lines() {
        let mut f = FileFormat::default();
        check(&f, "1\ta\n2\t\\N\n3\tx\\ty\\\\\n", &[&["1", "a"], &["2", "<null>"], &["3", "x\ty\\"]]);
        check(&f, "1\tNULL\n2", &[&["1", "NULL"], &["2"]]);
        check(&f, "\\Nx\t\\0\\b\\Z", &[&["Nx", "\0\u{8}\u{1a}"]]);
        f.fields_terminated = Box::from(*b",");
        f.enclosed = Some(b'"');
        check(
            &f,
            "\"a,\n\"\"b\"\"\",NULL\n\"NULL\",x\"y\"\n\"q\"z\",\\N\n",
            &[&["a,\n\"b\"", "<null>"], &["NULL", "x\"y\""], &["q\"z", "<null>"]],
        );
        f.lines_starting = Box::from(*b"xxx");
        check(&f, "xxx\"abc\",1\nsomething xxx\"def\",2\n\"ghi\",3\n", &[&["abc", "1"], &["def", "2"]]);
        f.lines_starting = Box::default();
        f.lines_terminated = Box::from(*b"\r\n");
        check(&f, "1,2\r\n3,4", &[&["1", "2"], &["3", "4"]]);
        f.lines_terminated = Box::default();
        check(&f, "1,2,3,4,", &[&["1", "2"], &["3", "4"]]);
    }

    #[test]
    fn fields_of_fixed_width() {
        let f = FileFormat { fields_terminated: Box::default(), ..FileFormat::default() };
        check(&f, "12abc\n3 de \n4\n", &[&["12", "abc"], &["3 ", "de "], &["4"]]);
    }

    #[test]
    fn lines_to_be_skipped() {
        let f = FileFormat::default();
        let mut reader = Reader::new(&f, 2, Vec::new(), 2);
        let mut record = Record::default();
        assert_eq!(reader.next(&mut record), Next::More);
        reader.push(b"head\nhead\n1\t2\n").unwrap();
        reader.push(b"").unwrap();
        assert_eq!(reader.next(&mut record), Next::Row);
        assert_eq!(record.get(1), Some(Some(&b"2"[..])));
        assert_eq!(reader.next(&mut record), Next::End);
    }
}
