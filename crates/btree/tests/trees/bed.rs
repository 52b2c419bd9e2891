//! A folder with a tablespace and trees of several kinds in it.

use std::collections::BTreeMap;
use std::sync::Arc;
use vaquita_base::{IndexId, ManualClock, PageNo, Rng, SpaceId};
use vaquita_btree::{Tree, TreeReport, validate};
use vaquita_format::PageSize;
use vaquita_format::checksum::ChecksumAlgorithm;
use vaquita_format::column::ColumnDef;
use vaquita_format::flags::SpaceFlags;
use vaquita_format::index_def::{IndexDef, IndexSpec, KeyPart, RowFormat};
use vaquita_format::tuple::{Tuple, TupleField};
use vaquita_io::FileSystem;
use vaquita_io::sim::SimDisk;
use vaquita_storage::{LiveSettings, Options, Storage, SystemFile};

pub(crate) const SPACE: SpaceId = SpaceId(7);

/// Values of the fields of a record, in index order; `None` is NULL.
pub(crate) type Row = Vec<Option<Vec<u8>>>;

/// What the records of a tree look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Clustered on an integer, a variable value.
    IntKey,
    /// Clustered on a variable binary key, a value that may leave the page.
    VarKey,
    /// Secondary: two nullable fields and the clustered key.
    Nullable,
    /// Long keys: few records on a node page, so tall trees.
    LongKey,
    /// Keys of up to nearly half a small page, short ones among them: node pages of two or three children, and least
    /// keys that change to much longer ones.
    HugeKey,
}

pub(crate) const KINDS: [Kind; 4] = [Kind::IntKey, Kind::VarKey, Kind::Nullable, Kind::LongKey];

pub(crate) struct Bed {
    pub(crate) disk: SimDisk,
    pub(crate) storage: Arc<Storage>,
    pub(crate) page_size: PageSize,
}

pub(crate) fn options(page_size: PageSize, frames: usize) -> Options {
    let extent = u64::from(page_size.extent_pages()) * page_size.physical() as u64;
    Options {
        page_size,
        buffer_pool_size: frames * page_size.logical(),
        data_file_path: vec![SystemFile { name: "ibdata1".into(), size_bytes: 4 * extent }],
        live: LiveSettings {
            autoextend_increment_bytes: extent,
            checksum_algorithm: ChecksumAlgorithm::Crc32,
            ..LiveSettings::default()
        },
        log_file_size: 2 << 20,
        log_buffer_size: 256 << 10,
        ..Options::new("/db")
    }
}

impl Bed {
    pub(crate) fn new(page_size: usize, frames: usize, seed: u64) -> Self {
        let disk = SimDisk::new(seed);
        disk.put_dir("/db".as_ref());
        let bed = Self::open(disk, page_size, frames);
        let flags = SpaceFlags::new(bed.page_size, false, false).unwrap();
        bed.storage.create_table_space(SPACE, flags, "t").unwrap();
        bed
    }

    pub(crate) fn open(disk: SimDisk, page_size: usize, frames: usize) -> Self {
        let page_size = PageSize::new(page_size).unwrap();
        let fs: Arc<dyn FileSystem> = Arc::new(disk.clone());
        let clock = Arc::new(ManualClock::new());
        let storage = Storage::open(fs, clock, options(page_size, frames)).expect("the folder opens");
        Self { disk, storage: Arc::new(storage), page_size }
    }

    /// Opens the tablespace after a restart.
    pub(crate) fn open_space(&self) {
        self.storage.open_table_space(SPACE, "/db/t.ibd".as_ref()).unwrap();
    }

    pub(crate) fn index(&self, kind: Kind, format: RowFormat) -> Arc<IndexDef> {
        Arc::new(index(kind, format, self.page_size))
    }

    pub(crate) fn tree(&self, kind: Kind, format: RowFormat) -> Tree {
        let mut mtr = self.storage.begin().unwrap();
        mtr.keep_before_images();
        let tree = Tree::create(&mut mtr, SPACE, self.index(kind, format)).unwrap();
        mtr.commit();
        tree
    }

    pub(crate) fn reopen_tree(&self, root: PageNo, kind: Kind, format: RowFormat) -> Tree {
        Tree::open(&self.storage, SPACE, root, self.index(kind, format)).unwrap()
    }

    /// Checks the space management of the tablespace.
    pub(crate) fn validate_space(&self) {
        let mut mtr = self.storage.begin_read();
        vaquita_storage::fsp::validate(&mut mtr, SPACE).unwrap_or_else(|e| panic!("{e}"));
    }

    pub(crate) fn validate(&self, tree: &Tree) -> TreeReport {
        validate(tree, &self.storage).unwrap_or_else(|e| panic!("{e}"))
    }
}

pub(crate) fn index(kind: Kind, format: RowFormat, page_size: PageSize) -> IndexDef {
    let spec = |id| IndexSpec { id: IndexId(id), name: "i".into(), row_format: format, page_size };
    let pk = [KeyPart::whole(0)];
    match kind {
        Kind::IntKey => {
            let columns = [ColumnDef::int("id", 4, false).not_null(), ColumnDef::varbinary("v", 300)];
            IndexDef::clustered(spec(11), &columns, Some(&pk)).unwrap()
        }
        Kind::VarKey => {
            let columns = [
                ColumnDef::varbinary("k", 60).not_null(),
                ColumnDef::blob("v", 3),
                ColumnDef::blob("w", 3),
                ColumnDef::int("n", 8, false),
            ];
            IndexDef::clustered(spec(12), &columns, Some(&pk)).unwrap()
        }
        Kind::Nullable => {
            let columns = [
                ColumnDef::int("id", 8, false).not_null(),
                ColumnDef::int("a", 2, false),
                ColumnDef::varbinary("b", 40),
            ];
            let clustered = IndexDef::clustered(spec(13), &columns, Some(&pk)).unwrap();
            let parts = [KeyPart::whole(1), KeyPart::whole(2)];
            IndexDef::secondary(spec(14), &columns, &parts, false, &clustered).unwrap()
        }
        Kind::LongKey => {
            let columns =
                vec![ColumnDef::varbinary("k", 900).not_null(), ColumnDef::int("n", 4, true).not_null()];
            IndexDef::plain(spec(15), columns, 1).unwrap()
        }
        Kind::HugeKey => {
            let columns =
                vec![ColumnDef::varbinary("k", 1_900).not_null(), ColumnDef::int("n", 4, true).not_null()];
            IndexDef::plain(spec(16), columns, 1).unwrap()
        }
    }
}

/// A row with this number as its key; the rest is random.
pub(crate) fn row(kind: Kind, key: u32, rng: &mut Rng, big: usize) -> Row {
    let bytes = |rng: &mut Rng, max: usize| {
        let len = rng.index(max + 1);
        let fill = rng.below(256) as u8;
        Some(vec![fill; len])
    };
    let trx = Some(vec![0, 0, 0, 0, 1, 2]);
    let roll = Some(vec![0x80, 0, 0, 0, 0, 0, 0]);
    match kind {
        Kind::IntKey => {
            let v = if rng.one_in(8) { None } else { bytes(rng, 300) };
            vec![Some(be(key.into(), 4)), trx, roll, v]
        }
        Kind::VarKey => {
            let mut k = be(key.into(), 4);
            k.extend(std::iter::repeat_n(7, key as usize % 50));
            let v = if rng.one_in(4) { bytes(rng, big) } else { bytes(rng, 100) };
            let w = if rng.one_in(6) { bytes(rng, big) } else { None };
            let n = if rng.one_in(2) { None } else { Some(be(rng.next_u64(), 8)) };
            vec![Some(k), trx, roll, v, w, n]
        }
        Kind::Nullable => {
            // Derived from the key, as all of it is compared.
            let a = if key.is_multiple_of(7) { None } else { Some(be(u64::from(key % 5), 2)) };
            let b = if key.is_multiple_of(3) { None } else { Some(vec![b'x'; key as usize % 40]) };
            vec![a, b, Some(be(key.into(), 8))]
        }
        Kind::LongKey => {
            let mut k = vec![b'k'; 100 + key as usize % 700];
            k.extend(be(key.into(), 4));
            k[..2].copy_from_slice(&be(u64::from(key) * 2_654_435_761 % 65_536, 2));
            vec![Some(k), Some(be(rng.below(1 << 32), 4))]
        }
        Kind::HugeKey => {
            let scattered = u64::from(key) * 2_654_435_761 % 65_536;
            let mut k = be(scattered << 32 | u64::from(key), 8);
            let len = [20, 1_900, 300, 1_200, 1_850, 60, 700][scattered as usize % 7];
            k.resize(len, b'h');
            vec![Some(k), Some(be(rng.below(1 << 32), 4))]
        }
    }
}

pub(crate) fn be(v: u64, n: usize) -> Vec<u8> {
    (0..n).rev().map(|i| (v >> (8 * i)) as u8).collect()
}

pub(crate) fn fields(row: &[Option<Vec<u8>>]) -> Vec<TupleField<'_>> {
    row.iter().map(|f| TupleField::nullable(f.as_deref())).collect()
}

pub(crate) fn n_key(tree: &Tree) -> usize {
    tree.index().n_uniq_in_tree()
}

/// Inserts a row, long values off the page.
pub(crate) fn insert(bed: &Bed, tree: &Tree, row: &Row) -> vaquita_btree::Result<()> {
    let fields = fields(row);
    let tuple = Tuple::new(&fields);
    let stored = tree.store(&bed.storage, &tuple)?;
    match tree.insert_record(&bed.storage, &tuple, &stored.record) {
        Ok(_) => Ok(()),
        Err(e) => {
            stored.abandon(tree, &bed.storage).unwrap();
            Err(e)
        }
    }
}

/// Removes a row and its long values.
pub(crate) fn remove(bed: &Bed, tree: &Tree, row: &Row) -> bool {
    let fields = fields(&row[..n_key(tree)]);
    let key = Tuple::new(&fields);
    tree.free_owned(&bed.storage, &key, |_, _| true).unwrap();
    tree.remove(&bed.storage, &key).unwrap().is_some()
}

/// Every record of the tree, in order, with its long values.
pub(crate) fn contents(bed: &Bed, tree: &Tree) -> BTreeMap<Row, (Row, bool)> {
    let mut out = BTreeMap::new();
    let mut cursor = tree_cursor(bed, tree);
    let mut more = cursor.first().unwrap();
    while more {
        let (row, deleted) = read_row(bed, tree, &cursor.record().unwrap());
        out.insert(row[..n_key(tree)].to_vec(), (row, deleted));
        more = cursor.next().unwrap();
    }
    out
}

pub(crate) fn tree_cursor<'s>(bed: &'s Bed, tree: &'s Tree) -> vaquita_btree::Cursor<'s> {
    vaquita_btree::Cursor::new(tree, &bed.storage)
}

pub(crate) fn read_row(bed: &Bed, tree: &Tree, record: &vaquita_btree::RecordRef<'_>) -> (Row, bool) {
    let mut offsets = vaquita_format::record::Offsets::new();
    record.parse(tree.index(), &mut offsets).unwrap();
    let row = (0..offsets.n_fields())
        .map(|i| {
            let local = record.field(&offsets, i)?;
            if !offsets.is_external(i) {
                return Some(local.to_vec());
            }
            let mut value = Vec::new();
            tree.read_value(&bed.storage, local, &mut value).unwrap();
            Some(value)
        })
        .collect();
    (row, record.is_deleted())
}

pub(crate) fn shuffle<T>(rng: &mut Rng, items: &mut [T]) {
    for i in (1..items.len()).rev() {
        items.swap(i, rng.index(i + 1));
    }
}
