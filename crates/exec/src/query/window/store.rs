//! The rows of a partition: in memory up to a limit, then in a file; read by cursors that go forwards.

use std::sync::Arc;
use vaquita_expr::EvalCx;
use vaquita_session::temp::TmpFolders;
use vaquita_session::temp::spill::{FileRows, RowFile};
use vaquita_types::SqlResult;

/// Rows with the keys they are sorted by.
pub(super) struct Store {
    bytes: Vec<u8>,
    places: Vec<Place>,
    file: Option<RowFile>,
    limit: usize,
    folders: Arc<TmpFolders>,
    /// How many.
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
        Store { bytes: Vec::new(), places: Vec::new(), file: None, limit, folders, rows: 0 }
    }

    /// Forgets all rows.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
        self.file = None;
        self.rows = 0;
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

    /// All rows have come.
    pub(super) fn complete(&mut self, cx: &mut EvalCx<'_>) -> SqlResult<()> {
        cx.state.note_spill(self.file.is_some(), self.bytes.len());
        self.file.as_mut().map_or(Ok(()), RowFile::relieve)
    }

    /// A cursor before the first row.
    pub(super) fn cursor(&self) -> Cursor<'_> {
        Cursor { store: self, file: self.file.as_ref().map(RowFile::rows), next: 0 }
    }
}

/// Goes through the rows of a partition.
pub(super) struct Cursor<'s> {
    store: &'s Store,
    file: Option<FileRows<'s>>,
    /// Number of the row that [`Cursor::advance`] goes to.
    pub(super) next: u64,
}

impl Cursor<'_> {
    /// Goes to the next row; whether there is one.
    pub(super) fn advance(&mut self) -> SqlResult<bool> {
        if self.next >= self.store.rows {
            return Ok(false);
        }
        self.next += 1;
        match &mut self.file {
            Some(file) => file.advance(),
            None => Ok(true),
        }
    }

    /// Goes on until the next row is that one.
    pub(super) fn skip_to(&mut self, row: u64) -> SqlResult<()> {
        if self.file.is_none() {
            self.next = self.next.max(row);
            return Ok(());
        }
        while self.next < row && self.advance()? {}
        Ok(())
    }

    fn place(&self) -> Place {
        self.store.places[self.next as usize - 1]
    }

    /// Key of the present row.
    pub(super) fn key(&self) -> &[u8] {
        match &self.file {
            Some(file) => &file.key,
            None => &self.store.bytes[self.place().start..self.place().key_end],
        }
    }

    /// The present row.
    pub(super) fn body(&self) -> &[u8] {
        match &self.file {
            Some(file) => &file.body,
            None => &self.store.bytes[self.place().key_end..self.place().end],
        }
    }
}
