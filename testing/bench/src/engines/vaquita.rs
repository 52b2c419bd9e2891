//! Vaquita's storage core: one index tree in a tablespace of its own, changes in mini-transactions.
//!
//! There are no transactions at this layer: a "transaction" of the workload is a run of mini-transactions whose last
//! LSN is made durable, which makes all of them durable.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use vaquita_base::{IndexId, SpaceId, SystemClock};
use vaquita_btree::{Cursor, Tree};
use vaquita_format::PageSize;
use vaquita_format::checksum::ChecksumAlgorithm;
use vaquita_format::column::ColumnDef;
use vaquita_format::flags::SpaceFlags;
use vaquita_format::index_def::{IndexDef, IndexSpec, RowFormat};
use vaquita_format::index_page::SearchMode;
use vaquita_format::record::Offsets;
use vaquita_format::tuple::{Tuple, TupleField};
use vaquita_io::real::{RealDisk, RealDiskOptions};
use vaquita_storage::{LiveSettings, Options, Services, Storage};

use crate::{Failure, Store, VALUE_LEN, value_of};

/// The tablespace of the rows.
pub const SPACE: SpaceId = SpaceId(1);

/// Opens a fresh store with a pool that holds all rows.
pub(super) fn open(folder: &Path) -> Result<Box<dyn Store>, Failure> {
    Ok(Box::new(Rows::create(options(folder))?))
}

/// Settings for the comparisons: pool and log large enough not to be what is measured; `crc32` checksums, because the
/// `innodb` sum is a chain of five operations a byte, 25 us a page on any processor.
pub fn options(folder: &Path) -> Options {
    Options {
        buffer_pool_size: 512 << 20,
        log_file_size: 512 << 20,
        log_buffer_size: 16 << 20,
        live: LiveSettings { checksum_algorithm: ChecksumAlgorithm::Crc32, ..LiveSettings::default() },
        ..Options::new(folder)
    }
}

/// The index of the rows: an unsigned key of eight bytes and a fixed value.
pub fn index() -> Result<Arc<IndexDef>, Failure> {
    let spec = IndexSpec {
        id: IndexId(100),
        name: "rows".into(),
        row_format: RowFormat::Compact,
        page_size: PageSize::DEFAULT,
    };
    let columns =
        vec![ColumnDef::int("k", 8, true).not_null(), ColumnDef::binary("v", VALUE_LEN as u32).not_null()];
    Ok(Arc::new(IndexDef::plain(spec, columns, 1)?))
}

/// A folder with one tree of rows.
#[derive(Debug)]
pub struct Rows {
    /// The tree.
    pub tree: Tree,
    /// Stopped before the folder is closed.
    services: Option<Services>,
    /// The folder.
    pub storage: Arc<Storage>,
}

impl Rows {
    /// Makes a folder with an empty tree and starts the background services.
    ///
    /// # Errors
    /// The engine's.
    pub fn create(options: Options) -> Result<Rows, Failure> {
        let storage = open_folder(options)?;
        let flags = SpaceFlags::new(storage.options().page_size, false, false)?;
        storage.create_table_space(SPACE, flags, "rows")?;
        let mut mtr = storage.begin()?;
        mtr.keep_before_images();
        let tree = Tree::create(&mut mtr, SPACE, index()?)?;
        mtr.commit();
        let services = Some(Services::start(&storage)?);
        Ok(Rows { tree, services, storage })
    }

    /// Opens the folder again, with or without background services.
    ///
    /// # Errors
    /// The engine's.
    pub fn open(options: Options, root: vaquita_base::PageNo, services: bool) -> Result<Rows, Failure> {
        let storage = open_folder(options)?;
        storage.open_table_space(SPACE, &storage.options().dir.join("rows.ibd"))?;
        let tree = Tree::open(&storage, SPACE, root, index()?)?;
        let services = if services { Some(Services::start(&storage)?) } else { None };
        Ok(Rows { tree, services, storage })
    }

    /// Shuts down cleanly.
    ///
    /// # Errors
    /// The engine's.
    pub fn close(mut self) -> Result<(), Failure> {
        self.services = None;
        Ok(self.storage.close()?)
    }

    /// Inserts one row; not durable yet.
    ///
    /// # Errors
    /// The engine's.
    pub fn insert_one(&self, key: u64) -> Result<vaquita_base::Lsn, Failure> {
        let (k, v) = (key_bytes(key), value_of(key));
        let fields = [TupleField::new(&k), TupleField::new(&v)];
        Ok(self.tree.insert(&self.storage, &Tuple::new(&fields))?)
    }
}

fn open_folder(options: Options) -> Result<Arc<Storage>, Failure> {
    let disk = Arc::new(RealDisk::new(RealDiskOptions::default()));
    Ok(Arc::new(Storage::open(disk, Arc::new(SystemClock::new()), options)?))
}

/// The stored form of a key.
pub fn key_bytes(key: u64) -> [u8; 8] {
    let mut bytes = [0; 8];
    vaquita_base::codec::put_u64(&mut bytes, 0, key);
    bytes
}

impl Store for Rows {
    fn insert(&self, keys: &mut dyn Iterator<Item = u64>, per_transaction: usize) -> Result<(), Failure> {
        let mut keys = keys.peekable();
        while keys.peek().is_some() {
            let mut last = None;
            for key in keys.by_ref().take(per_transaction) {
                last = Some(self.insert_one(key)?);
            }
            if let Some(lsn) = last {
                self.storage.log().flush_up_to(lsn)?;
            }
        }
        Ok(())
    }

    fn get(&self, key: u64) -> Result<Option<u8>, Failure> {
        let k = key_bytes(key);
        let fields = [TupleField::new(&k)];
        // All fields are fixed and not NULL: the value begins behind the key.
        Ok(self
            .tree
            .lookup(&self.storage, &Tuple::new(&fields), |found| {
                found.page.get(usize::from(found.rec) + k.len()).copied()
            })?
            .flatten())
    }

    fn scan(&self, first: u64, count: usize) -> Result<u64, Failure> {
        let k = key_bytes(first);
        let fields = [TupleField::new(&k)];
        let mut cursor = Cursor::new(&self.tree, &self.storage);
        cursor.seek(&Tuple::new(&fields), SearchMode::GreaterOrEqual)?;
        let (mut sum, mut left, mut offsets) = (0, count, Offsets::new());
        let mut failure = None;
        cursor.for_each(|row| {
            if left == 0 {
                return ControlFlow::Break(());
            }
            left -= 1;
            match row.parse(self.tree.index(), &mut offsets) {
                Ok(()) => sum += u64::from(row.field(&offsets, 1).map_or(0, |v| v[0])),
                Err(e) => {
                    failure = Some(e);
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        })?;
        failure.map_or(Ok(sum), |e| Err(e.into()))
    }
}
