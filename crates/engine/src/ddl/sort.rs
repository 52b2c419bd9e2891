//! Sorting the entries of an index to be built: runs sorted in memory, kept in temporary files when they do not fit, then
//! merged.
//!
//! An entry is its fields one after the other, each a length (u32; all ones: NULL) and its bytes; in memory and in a
//! file the length of it all precedes it.
//!
//! # Crash
//! Temporary files are left behind; the next opening removes them.

use crate::error::{Error, Result};
use std::cmp::Ordering;
use std::path::PathBuf;
use std::sync::Arc;
use vaquita_base::codec::{get_u32, push_u32, put_u32};
use vaquita_format::index_def::IndexDef;
use vaquita_format::record::compare_fields;
use vaquita_format::tuple::TupleField;
use vaquita_io::{File, OpenMode, OpenOptions};
use vaquita_storage::Storage;

/// Names of temporary files begin so.
const PREFIX: &str = "#sql-vaquita-sort-";
/// Bytes read from a run at a time.
const READ: usize = 256 << 10;
/// Bytes of an entry's length.
const LEN: usize = 4;

fn io(e: vaquita_io::Error) -> Error {
    Error::Storage(e.into())
}

/// Removes the temporary files of a process that is gone.
pub(super) fn remove_leftovers(storage: &Storage) -> Result<()> {
    for path in storage.fs().list_dir(&storage.options().dir).map_err(io)? {
        if path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(PREFIX)) {
            storage.fs().remove_file(&path).map_err(io)?;
        }
    }
    Ok(())
}

/// Sorts the entries of one index.
#[derive(Debug)]
pub(super) struct Sorter<'s> {
    storage: &'s Storage,
    def: Arc<IndexDef>,
    limit: usize,
    bytes: Vec<u8>,
    starts: Vec<usize>,
    runs: Vec<Run>,
}

impl<'s> Sorter<'s> {
    /// A sorter that keeps about `limit` bytes in memory.
    pub(super) fn new(storage: &'s Storage, def: Arc<IndexDef>, limit: usize) -> Self {
        Self { storage, def, limit, bytes: Vec::new(), starts: Vec::new(), runs: Vec::new() }
    }

    /// Adds an entry.
    pub(super) fn push(&mut self, fields: &[TupleField<'_>]) -> Result<()> {
        let start = self.bytes.len();
        self.bytes.resize(start + LEN, 0);
        for field in fields {
            push_u32(&mut self.bytes, field.data.map_or(u32::MAX, |d| d.len() as u32));
            self.bytes.extend_from_slice(field.data.unwrap_or_default());
        }
        let len = self.bytes.len() - start - LEN;
        put_u32(&mut self.bytes, start, len as u32);
        self.starts.push(start);
        if self.bytes.len() + self.starts.len() * size_of::<usize>() >= self.limit {
            self.write_run()?;
        }
        Ok(())
    }

    fn sort(&mut self) {
        let (bytes, def) = (&self.bytes, &*self.def);
        self.starts.sort_unstable_by(|&a, &b| compare(def, entry_at(bytes, a), entry_at(bytes, b)));
    }

    fn write_run(&mut self) -> Result<()> {
        self.sort();
        let name = format!("{PREFIX}{:x}-{}", self.def.id().get(), self.runs.len());
        let path = self.storage.options().dir.join(name);
        let file = self.storage.fs().open(&path, OpenOptions::new(OpenMode::CreateNew)).map_err(io)?;
        let mut run = Run::new(self.storage, path, file);
        let mut block = Vec::with_capacity(READ + (64 << 10));
        for &start in &self.starts {
            let end = start + LEN + get_u32(&self.bytes, start) as usize;
            block.extend_from_slice(&self.bytes[start..end]);
            if block.len() >= READ {
                run.append(&block)?;
                block.clear();
            }
        }
        run.append(&block)?;
        self.runs.push(run);
        self.bytes.clear();
        self.starts.clear();
        Ok(())
    }

    /// Calls `each` for all entries in order.
    pub(super) fn finish(mut self, mut each: impl FnMut(&[TupleField<'_>]) -> Result<()>) -> Result<()> {
        let mut fields = Vec::new();
        if self.runs.is_empty() {
            self.sort();
            for &start in &self.starts {
                let mut fields = Vec::with_capacity(self.def.n_fields());
                fields.extend(split(entry_at(&self.bytes, start)));
                each(&fields)?;
            }
            return Ok(());
        }
        self.write_run()?;
        let mut runs = std::mem::take(&mut self.runs);
        for run in &mut runs {
            run.advance()?;
        }
        while let Some(least) = self.least(&runs) {
            fields.extend(split(runs[least].entry()).map(|f| f.data.map(<[u8]>::to_vec)));
            let borrowed: Vec<_> = fields.iter().map(|f| TupleField::nullable(f.as_deref())).collect();
            each(&borrowed)?;
            fields.clear();
            runs[least].advance()?;
        }
        Ok(())
    }

    fn least(&self, runs: &[Run]) -> Option<usize> {
        let with_entry = (0..runs.len()).filter(|&i| runs[i].has_entry);
        with_entry.min_by(|&a, &b| compare(&self.def, runs[a].entry(), runs[b].entry()))
    }
}

fn entry_at(bytes: &[u8], start: usize) -> &[u8] {
    let len = get_u32(bytes, start) as usize;
    &bytes[start + LEN..start + LEN + len]
}

/// The fields of an entry.
fn split(entry: &[u8]) -> impl Iterator<Item = TupleField<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        if at >= entry.len() {
            return None;
        }
        let len = get_u32(entry, at);
        at += LEN;
        if len == u32::MAX {
            return Some(TupleField::NULL);
        }
        let data = &entry[at..at + len as usize];
        at += data.len();
        Some(TupleField::new(data))
    })
}

fn compare(def: &IndexDef, a: &[u8], b: &[u8]) -> Ordering {
    let fields = split(a).zip(split(b)).zip(def.compare_plan());
    fields
        .map(|((a, b), cmp)| compare_fields(*cmp, a.data, b.data))
        .find(|o| o.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// A sorted run in a temporary file, and where it is being read.
#[derive(Debug)]
struct Run {
    fs: Arc<dyn vaquita_io::FileSystem>,
    path: PathBuf,
    file: Arc<dyn File>,
    len: u64,
    /// Bytes read into the buffer so far.
    read: u64,
    buffer: Vec<u8>,
    at: usize,
    has_entry: bool,
}

impl Run {
    fn new(storage: &Storage, path: PathBuf, file: Arc<dyn File>) -> Run {
        let fs = storage.fs().clone();
        Run { fs, path, file, len: 0, read: 0, buffer: Vec::new(), at: 0, has_entry: false }
    }

    fn append(&mut self, block: &[u8]) -> Result<()> {
        self.file.write_at(block, self.len).map_err(io)?;
        self.len += block.len() as u64;
        Ok(())
    }

    fn entry(&self) -> &[u8] {
        entry_at(&self.buffer, self.at)
    }

    /// Goes to the next entry, the first one at first.
    fn advance(&mut self) -> Result<()> {
        if self.has_entry {
            self.at += LEN + self.entry().len();
        }
        self.has_entry = self.fill(LEN)? && {
            let len = get_u32(&self.buffer, self.at) as usize;
            self.fill(LEN + len)?
        };
        Ok(())
    }

    /// Sees to it that `n` bytes are in the buffer; whether there are so many.
    fn fill(&mut self, n: usize) -> Result<bool> {
        if self.buffer.len() - self.at >= n {
            return Ok(true);
        }
        self.buffer.drain(..self.at);
        self.at = 0;
        let more = (self.len - self.read).min(READ.max(n) as u64) as usize;
        let old = self.buffer.len();
        self.buffer.resize(old + more, 0);
        self.file.read_at(&mut self.buffer[old..], self.read).map_err(io)?;
        self.read += more as u64;
        Ok(self.buffer.len() >= n)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // What cannot be removed now is removed at the next opening.
        let _ = self.fs.remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vaquita_base::{IndexId, ManualClock, Rng};
    use vaquita_format::PageSize;
    use vaquita_format::column::ColumnDef;
    use vaquita_format::index_def::{IndexSpec, RowFormat};
    use vaquita_io::sim::SimDisk;
    use vaquita_storage::Options;

    /// However many runs there are, what comes out is what went in, in order; no file is left.
    #[test]
    fn runs_of_any_size_are_merged() {
        let disk = SimDisk::new(1);
        disk.put_dir("/db".as_ref());
        let clock = Arc::new(ManualClock::new());
        let storage = Storage::open(Arc::new(disk.clone()), clock, Options::new("/db")).unwrap();
        let spec = IndexSpec {
            id: IndexId(20),
            name: "i".into(),
            row_format: RowFormat::Dynamic,
            page_size: PageSize::DEFAULT,
        };
        let columns = vec![ColumnDef::varbinary("a", 400), ColumnDef::int("b", 4, true).not_null()];
        let def = Arc::new(IndexDef::plain(spec, columns, 2).unwrap());
        let files = disk.files().len();
        for (limit, n) in [(1 << 20, 1_000), (20_000, 3_000), (400, 200), (1, 30), (100, 0)] {
            let mut rng = Rng::new(limit as u64);
            let mut sorter = Sorter::new(&storage, def.clone(), limit);
            let mut want = Vec::new();
            for i in 0..n {
                let a = (!rng.one_in(5)).then(|| vec![rng.below(4) as u8; rng.index(300)]);
                let mut b = Vec::new();
                push_u32(&mut b, i);
                sorter.push(&[TupleField::nullable(a.as_deref()), TupleField::new(&b)]).unwrap();
                want.push((a, b));
            }
            want.sort();
            let mut got = Vec::new();
            sorter
                .finish(|f| {
                    got.push((f[0].data.map(<[u8]>::to_vec), f[1].data.unwrap().to_vec()));
                    Ok(())
                })
                .unwrap();
            assert!(got == want, "{limit}");
            assert_eq!(disk.files().len(), files);
        }
    }
}
