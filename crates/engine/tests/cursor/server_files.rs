//! Rows of a data folder that a real MySQL 5.6.24 wrote and shut down cleanly, read by every index.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use vaquita_engine::{AccessMode, Direction, Engine, Isolation, Options, ReadOptions, RowKey};
use vaquita_storage::SystemFile;

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn unpack() -> Folder {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../testing/fixtures/mysql56/datadir/data56-clean.tar.xz");
    let dir = std::env::temp_dir().join(format!("vaquita-cursor-server-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    let folder = Folder(dir);
    assert!(
        Command::new("tar").arg("-xJf").arg(fixture).arg("-C").arg(&folder.0).status().unwrap().success()
    );
    folder
}

#[test]
fn every_index_leads_to_the_same_rows() {
    let folder = unpack();
    let mut options = Options { background: false, ..Options::new(folder.0.join("data56-clean")) };
    options.storage.read_only = true;
    options.storage.data_file_path = vec![SystemFile { name: "ibdata1".into(), size_bytes: 12 << 20 }];
    options.storage.log_file_size = 4 << 20;
    let engine = Engine::open(options).unwrap();
    for (name, rows) in [("customer", 2), ("orders", 3), ("nokey", 3), ("insys", 2), ("art", 2)] {
        for isolation in [Isolation::ReadUncommitted, Isolation::ReadCommitted, Isolation::RepeatableRead] {
            let mut session = engine.session();
            session.settings.isolation = isolation;
            session.begin(AccessMode::ReadOnly, false).unwrap();
            let table = session.run(|s| s.table(&format!("shop/{name}"))).unwrap();
            let mut all: Vec<BTreeSet<Vec<Vec<u8>>>> = Vec::new();
            for index in 0..table.indexes.len() {
                for dir in [Direction::Forward, Direction::Backward] {
                    let mut keys = BTreeSet::new();
                    let mut shown = 0;
                    session
                        .run(|s| {
                            let mut cursor = s.cursor(&table, &ReadOptions::by_index(index))?;
                            if dir == Direction::Backward {
                                cursor.seek_last();
                            }
                            s.for_each(&mut cursor, dir, |row| {
                                let mut key = RowKey::default();
                                row.row_key(&mut key).unwrap();
                                let mut all: Vec<Vec<u8>> = key.fields().map(<[u8]>::to_vec).collect();
                                for i in 0..row.n_columns() {
                                    let mut value = Vec::new();
                                    row.read_column(i, &mut value).unwrap();
                                    all.push(value);
                                }
                                keys.insert(all);
                                shown += 1;
                                ControlFlow::Continue(())
                            })
                        })
                        .unwrap();
                    assert_eq!(shown, keys.len(), "each row once");
                    all.push(keys);
                }
            }
            assert!(all.iter().all(|keys| *keys == all[0]), "{name}: all indexes and directions agree");
            let count = session.run(|s| s.count(&table)).unwrap();
            assert_eq!((count, all[0].len() as u64), (rows, rows), "{name}");
            let _durable = session.commit().unwrap();
        }
    }
    engine.close().unwrap();
}
