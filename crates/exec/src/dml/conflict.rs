//! The row that is in the way of a new one.

use super::message::failure;
use super::row::RowBuffer;
use vaquita_catalog::TableInfo;
use vaquita_catalog::error;
use vaquita_engine::row::entry::{Entry, Given, build};
use vaquita_engine::{Field, PointRead, ReadLock, ReadOptions, RowKey, Session};
use vaquita_types::SqlResult;

/// A row of the table.
#[derive(Debug, Default)]
pub(crate) struct Existing {
    /// Its key.
    pub(crate) key: RowKey,
    /// All its columns.
    pub(crate) row: RowBuffer,
}

/// Finds rows by unique indexes, locking them X.
#[derive(Debug, Default)]
pub(crate) struct Finder {
    reads: Vec<(usize, PointRead)>,
    /// Memory to be used again.
    spare: Option<Existing>,
}

impl Finder {
    /// The row that has the unique key of `row` in the named index.
    ///
    /// # Errors
    /// Of the engine.
    pub(crate) fn find(
        &mut self,
        engine: &mut Session,
        info: &TableInfo,
        index: &str,
        row: &RowBuffer,
    ) -> SqlResult<Option<Existing>> {
        let table = &info.table;
        let Some(at) = table.indexes.iter().position(|i| i.name == index) else {
            return Err(error::engine(&vaquita_engine::Error::Corrupt(format!("there is no index {index}"))));
        };
        let read = match self.reads.iter().position(|(index, _)| *index == at) {
            Some(found) => &mut self.reads[found].1,
            None => {
                let options = ReadOptions::by_index(at).locking(ReadLock::Exclusive);
                let read = PointRead::new(table.clone(), options).map_err(|e| error::engine(&e))?;
                self.reads.push((at, read));
                let last = self.reads.len() - 1;
                &mut self.reads[last].1
            }
        };
        let fields = row.fields(info);
        let given = Given { values: &fields, row_id: &[] };
        let mut entry = Entry::new();
        build(table, &table.indexes[at], &given, &mut entry);
        let key: Vec<Field<'_>> =
            entry[..table.indexes[at].def().n_uniq()].iter().map(|field| field.data).collect();
        let mut found = self.spare.take().unwrap_or_default();
        let copied = engine.statement().get(read, &key, |old| {
            old.row_key(&mut found.key)?;
            found.row.copy(old)
        });
        match copied.map_err(|e| failure(&e, info))? {
            Some(copied) => copied.map_err(|e| failure(&e, info)).map(|()| Some(found)),
            None => Ok(None),
        }
    }

    /// Takes memory back.
    pub(crate) fn keep(&mut self, existing: Existing) {
        self.spare = Some(existing);
    }
}
