//! Rows in temporary files: what does not fit in memory.

use super::folders::TmpFolders;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use vaquita_types::{SqlError, SqlResult};

/// Bytes that are gathered before they are written.
const BUFFER: usize = 256 << 10;

/// Bytes between two keys that are kept in memory, of rows in the order of their keys.
const BLOCK: u64 = 16 << 10;

/// Bytes before a row: the lengths of its key and of the rest.
const LENGTHS: usize = 8;

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

/// Rows of a file, one after the other; each is looked at where it was read to.
#[derive(Debug)]
pub struct FileRows<'f> {
    part: Part<'f>,
    buffer: Vec<u8>,
    /// Bytes of the buffer that were read.
    filled: usize,
    /// Where the present row begins in the buffer, its key ends, it ends.
    start: usize,
    key_end: usize,
    end: usize,
}

impl<'f> FileRows<'f> {
    /// Those between two places of a file, read by so many bytes at a time.
    pub fn new(file: &'f File, start: u64, end: u64, buffer: usize) -> FileRows<'f> {
        FileRows::of(Held::Borrowed(file), start, end, buffer)
    }

    fn of(file: Held<'f>, start: u64, end: u64, buffer: usize) -> FileRows<'f> {
        let part = Part { file, at: start, end };
        FileRows { part, buffer: vec![0; buffer.max(LENGTHS)], filled: 0, start: 0, key_end: 0, end: 0 }
    }

    /// Key of the present row.
    pub fn key(&self) -> &[u8] {
        &self.buffer[self.start..self.key_end]
    }

    /// The present row.
    pub fn body(&self) -> &[u8] {
        &self.buffer[self.key_end..self.end]
    }

    /// Goes to the next row; whether there is one.
    ///
    /// # Errors
    /// The file.
    pub fn advance(&mut self) -> SqlResult<bool> {
        if self.filled - self.end < LENGTHS && !self.fill(LENGTHS)? {
            return Ok(false);
        }
        let lengths = &self.buffer[self.end..self.end + LENGTHS];
        let of =
            |at: usize| u32::from_le_bytes([lengths[at], lengths[at + 1], lengths[at + 2], lengths[at + 3]]);
        let (key, body) = (of(0) as usize, of(4) as usize);
        let len = LENGTHS + key + body;
        if self.filled - self.end < len {
            self.fill(len)?;
        }
        self.start = self.end + LENGTHS;
        self.key_end = self.start + key;
        self.end = self.key_end + body;
        Ok(true)
    }

    /// Reads on until there are so many bytes behind the present row; whether there are any.
    #[cold]
    fn fill(&mut self, wanted: usize) -> SqlResult<bool> {
        self.buffer.copy_within(self.end..self.filled, 0);
        self.filled -= self.end;
        (self.start, self.key_end, self.end) = (0, 0, 0);
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted, 0);
        }
        while self.filled < wanted {
            let n = self.part.read(&mut self.buffer[self.filled..]).map_err(|e| io(&e))?;
            if n == 0 && self.filled == 0 {
                return Ok(false);
            }
            if n == 0 {
                return Err(io(&std::io::ErrorKind::UnexpectedEof.into()));
            }
            self.filled += n;
        }
        Ok(true)
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

impl Part<'_> {
    /// Reads as many bytes as there are at once, and as have room; 0 at the end.
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
    fn rows_of_all_lengths_are_read_with_any_buffer() {
        let length = |n: usize| if n % 50 == 7 { 70_000 + n } else { n % 40 };
        let row = |n: usize| (vec![n as u8; n % 5], vec![n as u8; length(n)]);
        let mut file = RowFile::new(&TmpFolders::default()).unwrap();
        for (key, body) in (0..400).map(row) {
            file.push(&key, &body);
            file.relieve().unwrap();
        }
        for buffer in [1, 9, 100, 64 << 10, 1 << 20] {
            let mut rows = FileRows::new(&file.file, 0, file.written, buffer);
            for (key, body) in (0..400).map(row) {
                assert!(rows.advance().unwrap());
                assert_eq!((rows.key(), rows.body()), (&key[..], &body[..]), "{buffer}");
            }
            assert!(!rows.advance().unwrap() && !rows.advance().unwrap());
            // A row that ends too early is an error, not the end.
            let mut rows = FileRows::new(&file.file, 0, file.written - 1, buffer);
            let told = (0..400).map(|_| rows.advance()).find_map(Result::err);
            assert_eq!(told.unwrap().code, 3);
        }
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
            while rows.advance().unwrap() && *rows.key() <= key[..] {
                if rows.key() == key {
                    assert!(rows.body().starts_with(format!("{n} {found} ").as_bytes()));
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
