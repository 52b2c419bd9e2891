//! A tree is dropped in many mini-transactions, and the drop is begun again after a crash or an error in between. It
//! freed the leaf segment again, by an inode that was another tree's by then.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;
use vaquita_base::{IndexId, ManualClock, SpaceId};
use vaquita_btree::{Tree, validate};
use vaquita_format::PageSize;
use vaquita_format::column::ColumnDef;
use vaquita_format::flags::SpaceFlags;
use vaquita_format::index_def::{IndexDef, IndexSpec, RowFormat};
use vaquita_format::tuple::{Tuple, TupleField};
use vaquita_io::FileSystem;
use vaquita_io::sim::SimDisk;
use vaquita_storage::fsp;
use vaquita_storage::{Options, Storage, SystemFile};

const SPACE: SpaceId = SpaceId(7);
const ROWS: u64 = 600;

fn folder() -> Storage {
    let disk = SimDisk::new(1);
    disk.put_dir("/db".as_ref());
    let page_size = PageSize::new(4096).unwrap();
    let fs: Arc<dyn FileSystem> = Arc::new(disk);
    let options = Options {
        page_size,
        buffer_pool_size: 64 * 4096,
        data_file_path: vec![SystemFile { name: "ibdata1".into(), size_bytes: 4 << 20 }],
        log_file_size: 2 << 20,
        ..Options::new("/db")
    };
    let storage = Storage::open(fs, Arc::new(ManualClock::new()), options).unwrap();
    storage.create_table_space(SPACE, SpaceFlags::new(page_size, false, false).unwrap(), "t").unwrap();
    storage
}

fn tree_with_rows(storage: &Storage, id: u64) -> Tree {
    let spec = IndexSpec {
        id: IndexId(id),
        name: "i".into(),
        row_format: RowFormat::Compact,
        page_size: storage.options().page_size,
    };
    let columns = vec![ColumnDef::int("k", 8, true).not_null(), ColumnDef::binary("v", 60).not_null()];
    let index = Arc::new(IndexDef::plain(spec, columns, 1).unwrap());
    let mut mtr = storage.begin().unwrap();
    mtr.keep_before_images();
    let tree = Tree::create(&mut mtr, SPACE, index).unwrap();
    mtr.commit();
    for n in 0..ROWS {
        let key: Vec<u8> = (0..8).rev().map(|i| (n >> (8 * i)) as u8).collect();
        let fields = [TupleField::new(&key), TupleField::new(&[7; 60])];
        tree.insert(storage, &Tuple::new(&fields)).unwrap();
    }
    tree
}

#[test]
fn a_drop_begun_again_frees_no_other_tree() {
    let storage = folder();
    let old = tree_with_rows(&storage, 1);
    old.free_but_not_root(&storage).unwrap();
    let young = tree_with_rows(&storage, 2);

    // As after a crash between the last mini-transaction and the end of the drop.
    let old = Tree::open(&storage, SPACE, old.root(), old.index().clone()).unwrap();
    old.free_but_not_root(&storage).unwrap();
    let mut mtr = storage.begin().unwrap();
    mtr.keep_before_images();
    old.free_root(&mut mtr).unwrap();
    mtr.commit();

    let report = validate(&young, &storage).unwrap();
    assert_eq!((report.records, report.leaked_pages), (ROWS, 0));
    fsp::validate(&mut storage.begin_read(), SPACE).unwrap();
}
