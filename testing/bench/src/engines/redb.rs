//! redb: a copy-on-write B-tree in Rust, one writer, durable commits by default.

use std::path::Path;

use redb::{Database, ReadableDatabase, TableDefinition};

use crate::{Failure, Store, value_of};

const ROWS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("rows");

/// Opens a fresh store.
pub(super) fn open(folder: &Path) -> Result<Box<dyn Store>, Failure> {
    let database = Database::create(folder.join("rows.redb"))?;
    let transaction = database.begin_write()?;
    transaction.open_table(ROWS)?;
    transaction.commit()?;
    Ok(Box::new(Redb { database }))
}

struct Redb {
    database: Database,
}

impl Store for Redb {
    fn insert(&self, keys: &mut dyn Iterator<Item = u64>, per_transaction: usize) -> Result<(), Failure> {
        let mut keys = keys.peekable();
        while keys.peek().is_some() {
            let transaction = self.database.begin_write()?;
            {
                let mut rows = transaction.open_table(ROWS)?;
                for key in keys.by_ref().take(per_transaction) {
                    rows.insert(key, value_of(key).as_slice())?;
                }
            }
            transaction.commit()?;
        }
        Ok(())
    }

    fn get(&self, key: u64) -> Result<Option<u8>, Failure> {
        let rows = self.database.begin_read()?.open_table(ROWS)?;
        Ok(rows.get(key)?.map(|value| value.value()[0]))
    }

    fn scan(&self, first: u64, count: usize) -> Result<u64, Failure> {
        let rows = self.database.begin_read()?.open_table(ROWS)?;
        let mut sum = 0;
        for row in rows.range(first..)?.take(count) {
            sum += u64::from(row?.1.value()[0]);
        }
        Ok(sum)
    }
}
