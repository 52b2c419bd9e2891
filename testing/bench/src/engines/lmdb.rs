//! LMDB through heed: a memory-mapped copy-on-write B-tree in C, one writer, durable commits by default.

use std::path::Path;

use heed::byteorder::BigEndian;
use heed::types::{Bytes, U64};
use heed::{Database, Env, EnvOpenOptions};

use crate::{Failure, Store, value_of};

/// Address space for the map; only what is used takes room.
const MAP_BYTES: usize = 8 << 30;

type Rows = Database<U64<BigEndian>, Bytes>;

/// Opens a fresh store.
#[allow(unsafe_code)]
pub(super) fn open(folder: &Path) -> Result<Box<dyn Store>, Failure> {
    let mut options = EnvOpenOptions::new();
    options.map_size(MAP_BYTES);
    // SAFETY: the map is undefined if the file changes under it or is opened twice in one process. The folder is a
    // fresh one of this run, and each run opens it once.
    let environment = unsafe { options.open(folder)? };
    let mut transaction = environment.write_txn()?;
    let rows = environment.create_database(&mut transaction, None)?;
    transaction.commit()?;
    Ok(Box::new(Lmdb { environment, rows }))
}

struct Lmdb {
    environment: Env,
    rows: Rows,
}

impl Store for Lmdb {
    fn insert(&self, keys: &mut dyn Iterator<Item = u64>, per_transaction: usize) -> Result<(), Failure> {
        let mut keys = keys.peekable();
        while keys.peek().is_some() {
            let mut transaction = self.environment.write_txn()?;
            for key in keys.by_ref().take(per_transaction) {
                self.rows.put(&mut transaction, &key, &value_of(key))?;
            }
            transaction.commit()?;
        }
        Ok(())
    }

    fn get(&self, key: u64) -> Result<Option<u8>, Failure> {
        let transaction = self.environment.read_txn()?;
        Ok(self.rows.get(&transaction, &key)?.map(|value| value[0]))
    }

    fn scan(&self, first: u64, count: usize) -> Result<u64, Failure> {
        let transaction = self.environment.read_txn()?;
        let mut sum = 0;
        for row in self.rows.range(&transaction, &(first..))?.take(count) {
            sum += u64::from(row?.1[0]);
        }
        Ok(sum)
    }
}
