//! The rows of a partition: in memory up to a limit, then in a file; read by cursors that go forwards. Rows that no cursor will
//! come to any more may be let go.

use std::sync::Arc;
use vaquita_expr::EvalCx;
use vaquita_session::temp::TmpFolders;
use vaquita_session::temp::spill::{FileRows, RowFile};
use vaquita_types::SqlResult;

/// Bytes of rows that are let go at once, at least.
const LET_GO: usize = 64 << 10;

/// Rows with the keys they are sorted by.
pub(super) struct Store {
    bytes: Vec<u8>,
    places: Vec<Place>,
    /// Number of the first row that is still there.
    base: u64,
    file: Option<RowFile>,
    limit: usize,
    folders: Arc<TmpFolders>,
    /// How many came.
    pub(super) rows: u64,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    start: usize,
    key_end: usize,
    end: usize,
}

impl Store {
    pub(super) fn new(limit: usize, folders: Arc<TmpFolders>) -> Store {
        Store { bytes: Vec::new(), places: Vec::new(), base: 0, file: None, limit, folders, rows: 0 }
    }

    /// Forgets all rows.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
        self.file = None;
        self.base = 0;
        self.rows = 0;
    }

    /// Whether there were too many rows for the memory: they are read when all have come.
    pub(super) fn is_in_file(&self) -> bool {
        self.file.is_some()
    }

    /// Whether the last row's key is another one than that of the row before it.
    pub(super) fn begins_group(&self) -> bool {
        let key = |place: &Place| &self.bytes[place.start..place.key_end];
        match self.places.as_slice() {
            [.., before, last] => key(before) != key(last),
            _ => true,
        }
    }

    /// Takes a row.
    pub(super) fn push(&mut self, key: &[u8], body: &[u8]) -> SqlResult<()> {
        self.rows += 1;
        if let Some(file) = &mut self.file {
            file.push(key, body);
            return if file.is_full() { file.relieve() } else { Ok(()) };
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(body);
        self.places.push(Place { start, key_end, end: self.bytes.len() });
        if self.bytes.len() + self.places.len() * size_of::<Place>() > self.limit {
            let file = self.file.insert(RowFile::new(&self.folders)?);
            for place in &self.places {
                file.push(&self.bytes[place.start..place.key_end], &self.bytes[place.key_end..place.end]);
                if file.is_full() {
                    file.relieve()?;
                }
            }
            self.bytes = Vec::new();
            self.places = Vec::new();
        }
        Ok(())
    }

    /// Whether it is worth asking which rows may go.
    pub(super) fn may_let_go(&self) -> bool {
        self.bytes.len() >= 2 * LET_GO.min(self.limit / 4)
    }

    /// No cursor comes to rows before this one any more. They go if they are half of those there are, so that each of the others
    /// moves a few times at most.
    pub(super) fn let_go(&mut self, before: u64) {
        let rows = (before.saturating_sub(self.base) as usize).min(self.places.len());
        let bytes = self.places.get(rows).map_or(self.bytes.len(), |place| place.start);
        if bytes < self.bytes.len() / 2 {
            return;
        }
        self.bytes.drain(..bytes);
        self.places.drain(..rows);
        for place in &mut self.places {
            place.start -= bytes;
            place.key_end -= bytes;
            place.end -= bytes;
        }
        self.base += rows as u64;
    }

    /// All rows have come.
    pub(super) fn complete(&mut self, cx: &mut EvalCx<'_>) -> SqlResult<()> {
        cx.state.note_spill(self.file.is_some(), self.bytes.len());
        self.file.as_mut().map_or(Ok(()), RowFile::relieve)
    }
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

    /// Key of the present row.
    pub(super) fn key<'s>(&'s self, store: &'s Store) -> &'s [u8] {
        match &self.file {
            Some(file) => &file.key,
            None => {
                let place = self.place(store);
                &store.bytes[place.start..place.key_end]
            }
        }
    }

    /// The present row.
    pub(super) fn body<'s>(&'s self, store: &'s Store) -> &'s [u8] {
        match &self.file {
            Some(file) => &file.body,
            None => {
                let place = self.place(store);
                &store.bytes[place.key_end..place.end]
            }
        }
    }

    fn place(&self, store: &Store) -> Place {
        store.places[(self.next - 1 - store.base) as usize]
    }
}
