//! Where the rows of a table that is written anew have gone, if their old keys do not tell it: the old key of every row that was
//! copied, in their order, and the key of its copy.
//!
//! Both are packed (as [`packed`](super::packed) says) and written as what they do not have in common with those of the row before: some bytes of a row
//! where keys are numbers. Blocks of some KB go to a temporary file; their first keys are kept in memory, so that a row is found by
//! reading one block.
//!
//! | of a record | |
//! |---|---|
//! | bytes that the old key has in common with the one before | compressed |
//! | bytes that follow, and these | compressed, bytes |
//! | the same of the new key | |

use super::packed::compare;
use super::temp_file::{TempFile, io};
use crate::error::{Error, Result};
use std::cmp::Ordering;
use std::sync::Arc;
use vaquita_base::checksum::crc32c;
use vaquita_base::codec::{Reader, Truncated, push_compressed};
use vaquita_format::index_def::IndexDef;
use vaquita_storage::Storage;

/// Bytes of a block, about.
const BLOCK: usize = 4 << 10;

/// A block in the file.
#[derive(Debug)]
struct Block {
    /// The first key in it.
    first: Box<[u8]>,
    at: u64,
    len: u32,
    sum: u32,
}

/// A key, and those that are written next to it in common with it.
#[derive(Debug, Default)]
struct Deltas {
    before: Vec<u8>,
}

impl Deltas {
    fn push(&mut self, value: &[u8], out: &mut Vec<u8>) {
        let common = self.before.iter().zip(value).take_while(|(a, b)| a == b).count();
        push_compressed(out, common as u32);
        push_compressed(out, (value.len() - common) as u32);
        out.extend_from_slice(&value[common..]);
        self.before.truncate(common);
        self.before.extend_from_slice(&value[common..]);
    }

    fn read(&mut self, reader: &mut Reader<'_>) -> std::result::Result<(), Truncated> {
        self.before.truncate(reader.compressed()? as usize);
        let len = reader.compressed()? as usize;
        self.before.extend_from_slice(reader.bytes(len)?);
        Ok(())
    }
}

/// The places of the copies of rows.
#[derive(Debug)]
pub(crate) struct Places {
    storage: Arc<Storage>,
    /// Names its file.
    name: String,
    /// Of the old keys.
    def: Arc<IndexDef>,
    /// The block being filled, and the first key in it.
    tail: Vec<u8>,
    tail_first: Vec<u8>,
    old: Deltas,
    new: Deltas,
    blocks: Vec<Block>,
    file: Option<TempFile>,
    len: u64,
}

impl Places {
    /// Of no row. `name` is one that no other temporary file has at the same time.
    pub(crate) fn new(storage: &Arc<Storage>, name: String, def: Arc<IndexDef>) -> Places {
        Places {
            storage: storage.clone(),
            name,
            def,
            tail: Vec::new(),
            tail_first: Vec::new(),
            old: Deltas::default(),
            new: Deltas::default(),
            blocks: Vec::new(),
            file: None,
            len: 0,
        }
    }

    /// Notes where the copy of a row is whose key follows those before.
    ///
    /// # Errors
    /// Of the file.
    pub(crate) fn push(&mut self, old: &[u8], new: &[u8]) -> Result<()> {
        debug_assert!(
            self.tail.is_empty() || compare(&self.def, &self.old.before, old).is_lt(),
            "keys of {} come in their order",
            self.name
        );
        if self.tail.is_empty() {
            self.tail_first.clear();
            self.tail_first.extend_from_slice(old);
        }
        self.old.push(old, &mut self.tail);
        self.new.push(new, &mut self.tail);
        if self.tail.len() >= BLOCK { self.write_block() } else { Ok(()) }
    }

    fn write_block(&mut self) -> Result<()> {
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(TempFile::create(&self.storage, &self.name)?),
        };
        file.file.write_at(&self.tail, self.len).map_err(io)?;
        self.blocks.push(Block {
            first: self.tail_first.as_slice().into(),
            at: self.len,
            len: self.tail.len() as u32,
            sum: crc32c(&self.tail),
        });
        self.len += self.tail.len() as u64;
        self.tail.clear();
        (self.old, self.new) = (Deltas::default(), Deltas::default());
        Ok(())
    }

    /// Where the copy of a row went whose key collates like this one.
    ///
    /// # Errors
    /// Of the file, damage.
    pub(crate) fn find(&self, old: &[u8]) -> Result<Option<Vec<u8>>> {
        if !self.tail.is_empty() && compare(&self.def, &self.tail_first, old).is_le() {
            return self.find_in(&self.tail, old);
        }
        let behind = self.blocks.partition_point(|block| compare(&self.def, &block.first, old).is_le());
        let (Some(block), Some(file)) = (self.blocks[..behind].last(), &self.file) else { return Ok(None) };
        let mut bytes = vec![0; block.len as usize];
        file.file.read_at(&mut bytes, block.at).map_err(io)?;
        if crc32c(&bytes) != block.sum {
            return Err(file.damaged());
        }
        self.find_in(&bytes, old)
    }

    fn find_in(&self, block: &[u8], wanted: &[u8]) -> Result<Option<Vec<u8>>> {
        let cut = |_| Error::Corrupt(format!("{}: a record is cut off", self.name));
        let mut reader = Reader::new(block);
        let (mut old, mut new) = (Deltas::default(), Deltas::default());
        while !reader.rest().is_empty() {
            old.read(&mut reader).map_err(cut)?;
            new.read(&mut reader).map_err(cut)?;
            match compare(&self.def, &old.before, wanted) {
                Ordering::Less => {}
                Ordering::Equal => return Ok(Some(new.before)),
                Ordering::Greater => break,
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::online::packed::push_all;
    use crate::online::temp_file::storage_on as open;
    use vaquita_base::codec::push_u32;
    use vaquita_base::{IndexId, Rng};
    use vaquita_format::PageSize;
    use vaquita_format::column::{Charset, ColumnDef};
    use vaquita_format::index_def::IndexSpec;
    use vaquita_format::row_format::RowFormat;
    use vaquita_format::tuple::TupleField;
    use vaquita_io::sim::SimDisk;

    fn packed(text: &[u8], n: u32) -> Vec<u8> {
        let mut out = Vec::new();
        let mut number = Vec::new();
        push_u32(&mut number, n);
        push_all(&mut out, &[TupleField::new(text), TupleField::new(&number)]);
        out
    }

    fn def() -> Arc<IndexDef> {
        let columns = vec![
            ColumnDef::varchar("a", 20, Charset::LATIN1).not_null(),
            ColumnDef::int("b", 4, true).not_null(),
        ];
        let spec = IndexSpec {
            id: IndexId(1),
            name: "PRIMARY".into(),
            row_format: RowFormat::Compact,
            page_size: PageSize::DEFAULT,
        };
        Arc::new(IndexDef::plain(spec, columns, 2).unwrap())
    }

    /// Whatever was noted is found, in the file and before it is written, and nothing else; a key in another spelling, too.
    #[test]
    fn what_was_noted_is_found() {
        let disk = SimDisk::new(1);
        let storage = open(&disk);
        let files = disk.files().len();
        for rows in [0, 1, 2, 300, 5_000] {
            let mut rng = Rng::new(rows);
            let mut places = Places::new(&storage, "places-1".into(), def());
            let mut noted = Vec::new();
            let key = |n: u64, lower| {
                let text = format!("Key {:04}", n / 3);
                let text = if lower { text.to_lowercase() } else { text };
                packed(text.as_bytes(), n as u32 % 3 * 10)
            };
            for n in (0..rows * 2).step_by(2) {
                let place = packed(b"", rng.below(1 << 32) as u32);
                places.push(&key(n, false), &place).unwrap();
                noted.push(place);
            }
            for (n, place) in noted.iter().enumerate() {
                let n = n as u64 * 2;
                assert_eq!(
                    places.find(&key(n, n.is_multiple_of(3))).unwrap().as_ref(),
                    Some(place),
                    "{n} of {rows}"
                );
                assert_eq!(places.find(&key(n + 1, n.is_multiple_of(3))).unwrap(), None, "{n} of {rows}");
            }
            assert_eq!(places.find(&packed(b"", 7)).unwrap(), None);
            assert_eq!(places.blocks.len() > 5, rows == 5_000);
            drop(places);
            assert_eq!(disk.files().len(), files);
        }
    }

    /// What is read of the file is not believed.
    #[test]
    fn a_damaged_block_is_told() {
        let disk = SimDisk::new(1);
        let storage = open(&disk);
        let mut places = Places::new(&storage, "places-1".into(), def());
        (0..5_000).for_each(|n| places.push(&packed(b"a", n), &packed(b"b", n)).unwrap());
        let file = places.file.as_ref().unwrap();
        file.file.write_at(&[77], BLOCK as u64 + 100).unwrap();
        let at = places.blocks[1].first.clone();
        assert!(matches!(places.find(&at), Err(Error::Corrupt(_))));
        assert!(places.find(&packed(b"a", 0)).unwrap().is_some());
    }
}
