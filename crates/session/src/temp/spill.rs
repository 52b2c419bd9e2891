//! Rows in temporary files: what does not fit in memory.

use super::folders::TmpFolders;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use vaquita_types::{SqlError, SqlResult};

/// Bytes that are gathered before they are written.
const BUFFER: usize = 256 << 10;

/// Bytes between two keys that are kept in memory, of rows in the order of their keys.
const BLOCK: u64 = 16 << 10;

/// An error of a temporary file, as an error of the statement.
pub fn io(e: &std::io::Error) -> SqlError {
    vaquita_catalog::error::writing("a temporary file", e)
}

/// Rows one behind the other, each with a key that may be empty. In the order of their keys they can be found by key: one
/// key of each block is kept in memory.
#[derive(Debug)]
pub struct RowFile {
    file: Arc<File>,
    /// Bytes in the file.
    written: u64,
    /// What is not written yet.
    buffer: Vec<u8>,
    /// Keys and where their rows are.
    index: Vec<(Box<[u8]>, u64)>,
}

impl RowFile {
    /// An empty one.
    ///
    /// # Errors
    /// The file.
    pub fn new(folders: &TmpFolders) -> SqlResult<RowFile> {
        let file = folders.file().map_err(|e| io(&e))?;
        Ok(RowFile { file: Arc::new(file), written: 0, buffer: Vec::new(), index: Vec::new() })
    }

    /// Takes a row. Writes nothing: see [`RowFile::is_full`].
    pub fn push(&mut self, key: &[u8], body: &[u8]) {
        let at = self.written + self.buffer.len() as u64;
        if !key.is_empty() && self.index.last().is_none_or(|(_, last)| at - last >= BLOCK) {
            self.index.push((key.into(), at));
        }
        push_row(key, body, &mut self.buffer);
    }

    /// Whether it is time for [`RowFile::relieve`].
    pub fn is_full(&self) -> bool {
        self.buffer.len() >= BUFFER
    }

    /// Writes what is gathered. No page may be latched.
    ///
    /// # Errors
    /// The file.
    pub fn relieve(&mut self) -> SqlResult<()> {
        self.file.write_all_at(&self.buffer, self.written).map_err(|e| io(&e))?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// All rows; everything is to be written before.
    pub fn rows(&self) -> FileRows<'_> {
        debug_assert!(self.buffer.is_empty(), "rows are read before they are written");
        FileRows::new(&self.file, 0, self.written, 64 << 10)
    }

    /// All rows, read by one who keeps the file; everything is to be written before.
    pub fn shared_rows(&self) -> FileRows<'static> {
        debug_assert!(self.buffer.is_empty(), "rows are read before they are written");
        FileRows::of(Held::Shared(self.file.clone()), 0, self.written, 64 << 10)
    }

    /// Rows among which are those of a key, from the first of that key on if there is one.
    pub fn starting_at(&self, key: &[u8]) -> FileRows<'_> {
        debug_assert!(self.buffer.is_empty(), "rows are read before they are written");
        // Rows of the key may begin in the block before the first one that begins with it.
        let block = self.index.partition_point(|(first, _)| **first < *key).saturating_sub(1);
        let start = self.index.get(block).map_or(0, |(_, at)| *at);
        FileRows::new(&self.file, start, self.written, BLOCK as usize)
    }
}

fn push_row(key: &[u8], body: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(key.len() as u32).to_le_bytes());
    out.extend_from_slice(&(body.len() as u32).to_le_bytes());
    out.extend_from_slice(key);
    out.extend_from_slice(body);
}

/// Rows of a file, one after the other.
#[derive(Debug)]
pub struct FileRows<'f> {
    reader: BufReader<Part<'f>>,
    /// Key of the present row.
    pub key: Vec<u8>,
    /// The present row.
    pub body: Vec<u8>,
}

impl<'f> FileRows<'f> {
    /// Those between two places of a file, read by so many bytes at a time.
    pub fn new(file: &'f File, start: u64, end: u64, buffer: usize) -> FileRows<'f> {
        FileRows::of(Held::Borrowed(file), start, end, buffer)
    }

    fn of(file: Held<'f>, start: u64, end: u64, buffer: usize) -> FileRows<'f> {
        let reader = BufReader::with_capacity(buffer, Part { file, at: start, end });
        FileRows { reader, key: Vec::new(), body: Vec::new() }
    }

    /// Reads the next row into `key` and `body`; whether there is one.
    ///
    /// # Errors
    /// The file.
    pub fn advance(&mut self) -> SqlResult<bool> {
        let mut read = || {
            let buffer = self.reader.fill_buf()?;
            if buffer.is_empty() {
                return Ok(false);
            }
            // Nearly all rows are in the buffer as a whole.
            if let Some(([a, b, c, d, e, f, g, h], rest)) = buffer.split_first_chunk() {
                let key = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
                let len = key + u32::from_le_bytes([*e, *f, *g, *h]) as usize;
                if let Some(row) = rest.get(..len) {
                    self.key.clear();
                    self.key.extend_from_slice(&row[..key]);
                    self.body.clear();
                    self.body.extend_from_slice(&row[key..]);
                    self.reader.consume(8 + len);
                    return Ok(true);
                }
            }
            let mut lengths = [0; 8];
            self.reader.read_exact(&mut lengths)?;
            let [a, b, c, d, e, f, g, h] = lengths;
            self.key.resize(u32::from_le_bytes([a, b, c, d]) as usize, 0);
            self.body.resize(u32::from_le_bytes([e, f, g, h]) as usize, 0);
            self.reader.read_exact(&mut self.key)?;
            self.reader.read_exact(&mut self.body)?;
            Ok(true)
        };
        read().map_err(|e: std::io::Error| io(&e))
    }
}

#[derive(Debug)]
enum Held<'f> {
    Borrowed(&'f File),
    Shared(Arc<File>),
}

/// A part of a file, read at its own place.
#[derive(Debug)]
struct Part<'f> {
    file: Held<'f>,
    at: u64,
    end: u64,
}

impl Read for Part<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let len = out.len().min((self.end - self.at) as usize);
        let file = match &self.file {
            Held::Borrowed(file) => file,
            Held::Shared(file) => &**file,
        };
        let n = file.read_at(&mut out[..len], self.at)?;
        self.at += n as u64;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vaquita_base::codec::push_uint;

    fn key(n: u32) -> Vec<u8> {
        let mut key = Vec::new();
        push_uint(&mut key, 4, n.into());
        key
    }

    #[test]
    fn a_full_disk_is_told() {
        let file = File::options().write(true).open("/dev/full").unwrap();
        let mut rows = RowFile { file: Arc::new(file), written: 0, buffer: Vec::new(), index: Vec::new() };
        rows.push(b"k", b"body");
        let told = rows.relieve().unwrap_err();
        let text = "Error writing file 'a temporary file' (Errcode: 28 - No space left on device)";
        assert_eq!((told.code, &*told.message), (3, text));
    }

    #[test]
    fn rows_are_found_by_key_across_blocks() {
        let mut file = RowFile::new(&TmpFolders::default()).unwrap();
        // Keys with no rows, one row, and more rows than a block holds.
        let many = |n: u32| if n == 40 { 5_000 } else { n % 3 };
        for n in 0..100_u32 {
            for i in 0..many(n) {
                file.push(&key(n), format!("{n} {i} {}", "x".repeat(20)).as_bytes());
                if file.is_full() {
                    file.relieve().unwrap();
                }
            }
        }
        file.relieve().unwrap();
        assert!(file.index.len() > 3);
        for n in 0..101_u32 {
            let (mut rows, key) = (file.starting_at(&key(n)), key(n));
            let mut found = 0;
            while rows.advance().unwrap() && rows.key[..] <= key[..] {
                if rows.key == key {
                    assert!(rows.body.starts_with(format!("{n} {found} ").as_bytes()));
                    found += 1;
                }
            }
            assert_eq!(found, if n == 100 { 0 } else { many(n) }, "{n}");
        }
        let mut all = file.rows();
        let mut n = 0;
        while all.advance().unwrap() {
            n += 1;
        }
        assert_eq!(n, (0..100).map(many).sum::<u32>());
    }
}
