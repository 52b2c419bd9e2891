//! The rows of a partition: in memory up to a limit, then in a file; read by cursors that go forwards. Rows that no cursor will
//! come to any more may be let go.

use std::sync::Arc;
use vaquita_expr::EvalCx;
use vaquita_session::temp::TmpFolders;
use vaquita_session::temp::spill::{FileRows, RowFile};
use vaquita_types::SqlResult;

/// Bytes of rows that are let go at once, at least.
const LET_GO: usize = 64 << 10;

/// Rows, each with whether it is the first of its peers.
pub(super) struct Store {
    bytes: Vec<u8>,
    /// Where they end in `bytes`; none of them are there if they are in a file.
    ends: Vec<usize>,
    /// Key of the last row, if there is any.
    key: Option<Vec<u8>>,
    /// Number of the first row that is still there.
    base: u64,
    file: Option<RowFile>,
    limit: usize,
    folders: Arc<TmpFolders>,
    /// How many came.
    pub(super) rows: u64,
}

impl Store {
    pub(super) fn new(limit: usize, folders: Arc<TmpFolders>) -> Store {
        Store { bytes: Vec::new(), ends: Vec::new(), key: None, base: 0, file: None, limit, folders, rows: 0 }
    }

    /// Forgets all rows.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.key = None;
        self.file = None;
        self.base = 0;
        self.rows = 0;
    }

    /// Whether there were too many rows for the memory: they are read when all have come.
    pub(super) fn is_in_file(&self) -> bool {
        self.file.is_some()
    }

    /// Takes a row; whether its key is another one than that of the row before it.
    pub(super) fn push(&mut self, key: &[u8], body: &[u8]) -> SqlResult<bool> {
        self.rows += 1;
        let is_new = match &mut self.key {
            Some(last) if are_same(last, key) => false,
            Some(last) => {
                last.clear();
                last.extend_from_slice(key);
                true
            }
            none => {
                *none = Some(key.to_vec());
                true
            }
        };
        self.bytes.push(u8::from(is_new));
        self.bytes.extend_from_slice(body);
        if let Some(file) = &mut self.file {
            file.push(&[], &self.bytes);
            self.bytes.clear();
            if file.is_full() {
                file.relieve()?;
            }
            return Ok(is_new);
        }
        self.ends.push(self.bytes.len());
        if self.bytes.len() + self.ends.len() * size_of::<usize>() > self.limit {
            let file = self.file.insert(RowFile::new(&self.folders)?);
            let mut start = 0;
            for end in std::mem::take(&mut self.ends) {
                file.push(&[], &self.bytes[start..end]);
                start = end;
                if file.is_full() {
                    file.relieve()?;
                }
            }
            self.bytes = Vec::new();
        }
        Ok(is_new)
    }

    /// Takes the row of this number, which is in memory, apart as [`parts`] does.
    fn row(&self, number: u64) -> (bool, &[u8]) {
        let at = (number - self.base) as usize;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        parts(&self.bytes[start..self.ends[at]])
    }

    /// Whether it is worth asking which rows may go.
    pub(super) fn may_let_go(&self) -> bool {
        self.bytes.len() >= 2 * LET_GO.min(self.limit / 4)
    }

    /// No cursor comes to rows before this one any more. They go if they are half of those there are, so that each of the others
    /// moves a few times at most.
    pub(super) fn let_go(&mut self, before: u64) {
        let rows = (before.saturating_sub(self.base) as usize).min(self.ends.len());
        let bytes = rows.checked_sub(1).map_or(0, |last| self.ends[last]);
        if bytes < self.bytes.len() / 2 {
            return;
        }
        self.bytes.drain(..bytes);
        self.ends.drain(..rows);
        self.ends.iter_mut().for_each(|end| *end -= bytes);
        self.base += rows as u64;
    }

    /// All rows have come.
    pub(super) fn complete(&mut self, cx: &mut EvalCx<'_>) -> SqlResult<()> {
        cx.state.note_spill(self.file.is_some(), self.bytes.len());
        self.file.as_mut().map_or(Ok(()), RowFile::relieve)
    }
}

/// Whether two keys are the same. Empty ones are very often compared, and lie nowhere: the C library's masked load of nothing from
/// there takes the processor some hundred cycles.
pub(super) fn are_same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && (a.is_empty() || a == b)
}

/// Whether a row is the first of its peers, and the row.
fn parts(kept: &[u8]) -> (bool, &[u8]) {
    kept.split_first().map_or((true, &[]), |(&is_new, body)| (is_new != 0, body))
}

/// Goes through the rows of a partition: a new one stands before the first.
#[derive(Default)]
pub(super) struct Cursor {
    file: Option<FileRows<'static>>,
    /// Number of the row that [`Cursor::advance`] goes to.
    pub(super) next: u64,
}

impl Cursor {
    /// Goes to the next row; whether there is one.
    pub(super) fn advance(&mut self, store: &Store) -> SqlResult<bool> {
        if self.next >= store.rows {
            return Ok(false);
        }
        self.settle(store)?;
        if let Some(rows) = &mut self.file {
            rows.advance()?;
        }
        self.next += 1;
        Ok(true)
    }

    /// Rows that it has read from memory may be in a file now: it goes to its place there.
    pub(super) fn settle(&mut self, store: &Store) -> SqlResult<()> {
        if self.file.is_none()
            && let Some(file) = &store.file
        {
            let rows = self.file.insert(file.shared_rows());
            for _ in store.base..self.next {
                rows.advance()?;
            }
        }
        Ok(())
    }

    /// Goes on until the next row is that one.
    pub(super) fn skip_to(&mut self, store: &Store, row: u64) -> SqlResult<()> {
        if store.file.is_none() {
            self.next = self.next.max(row);
            return Ok(());
        }
        while self.next < row && self.advance(store)? {}
        Ok(())
    }

    /// Whether the present row is the first of its peers.
    pub(super) fn is_new(&self, store: &Store) -> bool {
        match &self.file {
            Some(file) => parts(file.body()).0,
            None => store.row(self.next - 1).0,
        }
    }

    /// The present row.
    pub(super) fn body<'s>(&'s self, store: &'s Store) -> &'s [u8] {
        match &self.file {
            Some(file) => parts(file.body()).1,
            None => store.row(self.next - 1).1,
        }
    }
}
