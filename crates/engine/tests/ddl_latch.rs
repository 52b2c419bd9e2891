//! What a change of definitions keeps from whom: nobody waits while another table's file becomes durable, and nobody works
//! on files while the dictionary's latch is held, by whomever.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::slow_disk;

use slow_disk::{Barrier, SlowDisk};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, Weak, mpsc};
use std::time::Duration;
use vaquita_base::ManualClock;
use vaquita_engine::core::Core;
use vaquita_engine::table::ReferentialAction;
use vaquita_engine::{
    Column, Concurrency, Engine, ForeignKeySpec, IndexSpec, KeptKeys, Options, ReadOptions, Session,
    TableSpec, stored,
};
use vaquita_format::column::ColumnDef;
use vaquita_format::index_def::KeyPart;
use vaquita_io::sim::SimDisk;
use vaquita_io::{BatchOp, File, FileSystem, OpenMode, OpenOptions, Transfer};

fn spec(name: &str) -> TableSpec {
    let columns = vec![
        Column::new(ColumnDef::int("id", 4, false).not_null()),
        Column::new(ColumnDef::int("n", 4, false)),
    ];
    let mut spec = TableSpec::new(name, columns);
    spec.primary_key = Some(vec![KeyPart::whole(0)]);
    spec.file_per_table = true;
    spec
}

fn index(name: &str, unique: bool) -> IndexSpec {
    IndexSpec { name: name.into(), parts: vec![KeyPart::whole(1)], unique, comment: String::new() }
}

fn refers_to(parent: &str) -> ForeignKeySpec {
    ForeignKeySpec {
        name: Some("fk".into()),
        columns: vec!["n".into()],
        parent: parent.into(),
        parent_columns: vec!["id".into()],
        on_delete: ReferentialAction::Cascade,
        on_update: ReferentialAction::Restrict,
    }
}

fn open(fs: Arc<dyn FileSystem>, log_file_size: u64) -> Engine {
    let mut options = Options { background: false, ..Options::new("/db") };
    options.storage.buffer_pool_size = 8 << 20;
    options.storage.log_file_size = log_file_size;
    Engine::open_with(fs, Arc::new(ManualClock::new()), options).unwrap()
}

fn use_table(session: &mut Session, name: &str) {
    session
        .run(|s| {
            let table = s.table(name)?;
            s.insert(&table, &[Some(&stored::int(1)), Some(&stored::int(1))]).map(|_| ())
        })
        .unwrap();
    session.commit().unwrap().wait().unwrap();
}

#[test]
fn tables_are_opened_and_made_while_the_file_of_another_becomes_durable() {
    let disk = SimDisk::new(3);
    disk.put_dir("/db".as_ref());
    let barrier = Arc::new(Barrier::default());
    let slow_disk = || Arc::new(SlowDisk { disk: disk.clone(), barrier: barrier.clone() });
    let engine = open(slow_disk(), 4 << 20);
    engine.session().create_table(&spec("a/known")).unwrap();
    engine.close().unwrap();
    let engine = open(slow_disk(), 4 << 20);
    barrier.close("slow.ibd");
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| engine.session().create_table(&spec("a/slow")));
        barrier.wait_for_a_visitor();
        let (done, others) = mpsc::channel();
        let engine = &engine;
        scope.spawn(move || {
            let mut session = engine.session();
            // Not in memory yet: its definition is read.
            use_table(&mut session, "a/known");
            session.create_table(&spec("a/quick")).unwrap();
            use_table(&mut session, "a/quick");
            session.drop_table("a/quick").unwrap();
            done.send(()).unwrap();
        });
        let others = others.recv_timeout(Duration::from_secs(60));
        barrier.open();
        assert_eq!(others, Ok(()), "the others go on");
        slow.join().unwrap().unwrap();
    });
    use_table(&mut engine.session(), "a/slow");
    engine.close().unwrap();
}

/// Notes the work on files that is done while the dictionary's latch is held. One thread works, so it is that one's.
#[derive(Debug, Default)]
struct Watch {
    core: OnceLock<Weak<Core>>,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    works: usize,
    latched: Vec<String>,
}

impl Watch {
    fn works(&self, what: &str, path: &Path) {
        let Some(core) = self.core.get().and_then(Weak::upgrade) else { return };
        let mut seen = self.seen.lock().unwrap();
        seen.works += 1;
        if core.dict.is_latched() {
            seen.latched.push(format!("{what} {}", path.display()));
        }
    }

    /// What was done since the last call.
    fn take(&self) -> Seen {
        std::mem::take(&mut self.seen.lock().unwrap())
    }
}

#[derive(Debug)]
struct WatchedDisk {
    disk: SimDisk,
    watch: Arc<Watch>,
}

#[derive(Debug)]
struct WatchedFile {
    file: Arc<dyn File>,
    watch: Arc<Watch>,
}

impl File for WatchedFile {
    fn path(&self) -> &Path {
        self.file.path()
    }
    fn read_at(&self, buf: &mut [u8], offset: u64) -> vaquita_io::Result<()> {
        self.file.read_at(buf, offset)
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> vaquita_io::Result<()> {
        self.file.write_at(buf, offset)
    }
    fn sync(&self) -> vaquita_io::Result<()> {
        self.watch.works("sync of", self.file.path());
        self.file.sync()
    }
    fn len(&self) -> vaquita_io::Result<u64> {
        self.file.len()
    }
    fn set_len(&self, len: u64) -> vaquita_io::Result<()> {
        self.file.set_len(len)
    }
}

impl FileSystem for WatchedDisk {
    fn open(&self, path: &Path, options: OpenOptions) -> vaquita_io::Result<Arc<dyn File>> {
        if options.mode == OpenMode::CreateNew {
            self.watch.works("making of", path);
        }
        let file = self.disk.open(path, options)?;
        Ok(Arc::new(WatchedFile { file, watch: self.watch.clone() }))
    }
    fn run_batch(
        &self,
        ops: &mut [BatchOp<'_>],
        done: &mut dyn FnMut(usize, &mut BatchOp<'_>, vaquita_io::Result<()>),
    ) {
        for (i, op) in ops.iter_mut().enumerate() {
            let result = match &mut op.transfer {
                Transfer::Read(buf) => op.file.read_at(buf, op.offset),
                Transfer::Write(buf) => op.file.write_at(buf, op.offset),
            };
            done(i, op, result);
        }
    }
    fn remove_file(&self, path: &Path) -> vaquita_io::Result<()> {
        self.watch.works("removal of", path);
        self.disk.remove_file(path)
    }
    fn remove_dir(&self, path: &Path) -> vaquita_io::Result<()> {
        self.watch.works("removal of", path);
        self.disk.remove_dir(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> vaquita_io::Result<()> {
        self.watch.works("renaming of", from);
        self.disk.rename(from, to)
    }
    fn create_dir_all(&self, path: &Path) -> vaquita_io::Result<()> {
        self.watch.works("making of", path);
        self.disk.create_dir_all(path)
    }
    fn list_dir(&self, path: &Path) -> vaquita_io::Result<Vec<PathBuf>> {
        self.disk.list_dir(path)
    }
    fn is_dir(&self, path: &Path) -> bool {
        self.disk.is_dir(path)
    }
    fn exists(&self, path: &Path) -> bool {
        self.disk.exists(path)
    }
    fn sync_dir(&self, path: &Path) -> vaquita_io::Result<()> {
        self.watch.works("sync of", path);
        self.disk.sync_dir(path)
    }
}

fn watched(log_file_size: u64) -> (SimDisk, Arc<Watch>, Engine) {
    let disk = SimDisk::new(4);
    disk.put_dir("/db".as_ref());
    let watch = Arc::new(Watch::default());
    let engine = open(Arc::new(WatchedDisk { disk: disk.clone(), watch: watch.clone() }), log_file_size);
    watch.core.set(Arc::downgrade(engine.core())).unwrap();
    (disk, watch, engine)
}

/// Runs a change, which works on files, and never under the latch.
fn free_of_the_latch<R>(watch: &Watch, what: &str, change: impl FnOnce() -> R) -> R {
    watch.take();
    let done = change();
    let seen = watch.take();
    assert!(seen.works > 0, "{what}: nothing became durable");
    assert_eq!(seen.latched, Vec::<String>::new(), "{what}");
    done
}

/// Writes a table anew, as ALTER TABLE does.
fn rebuild(session: &mut Session, name: &str, spec: &TableSpec, without: &[String]) {
    let keys = KeptKeys { without, ..KeptKeys::default() };
    let copied: vaquita_engine::Result<()> =
        session.rebuild_table(name, spec, keys, Concurrency::Reads, |s, from, to| {
            let mut cursor = s.cursor(from, &ReadOptions::default())?;
            cursor.seek_first();
            let mut values = vec![None; 2];
            while let Some(row) = s.next(&mut cursor)? {
                values.iter_mut().enumerate().for_each(|(i, v)| *v = row.column(i).map(<[u8]>::to_vec));
                let fields: Vec<Option<&[u8]>> = values.iter().map(Option::as_deref).collect();
                s.insert_for_good(to, &fields)?;
            }
            Ok(())
        });
    copied.unwrap();
}

#[test]
fn no_file_is_worked_on_under_the_latch() {
    let (_, watch, engine) = watched(4 << 20);
    let mut session = engine.session();
    let mut run = |what: &str, change: &mut dyn FnMut(&mut Session)| {
        free_of_the_latch(&watch, what, || change(&mut session));
    };
    let core = engine.core();
    run("CREATE DATABASE", &mut |_| vaquita_engine::ddl::create_database(core, "a", "").unwrap());
    run("ALTER DATABASE", &mut |_| vaquita_engine::ddl::alter_database(core, "a", "x").unwrap());
    for own in [true, false] {
        let spec = |name: &str| TableSpec { file_per_table: own, ..spec(name) };
        run("CREATE TABLE", &mut |s| s.create_table(&spec("a/t")).unwrap());
        run("CREATE TABLE", &mut |s| s.create_table(&spec("a/p")).unwrap());
        run("INSERT", &mut |s| use_table(s, "a/p"));
        run("INSERT", &mut |s| use_table(s, "a/t"));
        run("ADD INDEX", &mut |s| s.add_indexes("a/t", &[index("i", false), index("j", true)]).unwrap());
        run("DROP INDEX", &mut |s| s.drop_index("a/t", "i").unwrap());
        run("ADD FOREIGN KEY", &mut |s| s.add_foreign_keys("a/t", &[refers_to("a/p")]).unwrap());
        run("RENAME TABLE", &mut |s| s.rename_table("a/t", "b/u").unwrap());
        run("ALTER TABLE", &mut |s| rebuild(s, "b/u", &spec("b/#sql-vq1"), &[]));
        run("ALTER TABLE without", &mut |s| rebuild(s, "b/u", &spec("b/#sql-vq1"), &["fk".into()]));
        run("ADD FOREIGN KEY", &mut |s| s.add_foreign_keys("b/u", &[refers_to("a/p")]).unwrap());
        run("DROP FOREIGN KEY", &mut |s| s.drop_foreign_key("b/u", "fk").unwrap());
        run("TRUNCATE TABLE", &mut |s| s.truncate_table("b/u").unwrap());
        run("INSERT", &mut |s| use_table(s, "b/u"));
        run("DROP TABLE", &mut |s| s.drop_table("b/u").unwrap());
        run("DROP TABLE", &mut |s| s.drop_table("a/p").unwrap());
    }
    run("CREATE TABLE", &mut |s| s.create_table(&spec("a/t")).unwrap());
    run("DROP DATABASE", &mut |s| drop(s.drop_database("a").unwrap()));
}

#[test]
fn a_change_that_is_taken_back_works_on_files_without_the_latch() {
    let (disk, watch, engine) = watched(4 << 20);
    let mut session = engine.session();
    session.create_table(&spec("a/p")).unwrap();
    session.create_table(&spec("a/t")).unwrap();
    session.add_foreign_keys("a/t", &[refers_to("a/p")]).unwrap();
    // A constraint of that name is there: it is found out after the file has its new name.
    session.create_table(&spec("b/p")).unwrap();
    session.create_table(&spec("b/t")).unwrap();
    session.add_foreign_keys("b/t", &[refers_to("b/p")]).unwrap();
    free_of_the_latch(&watch, "RENAME TABLE", || session.rename_table("b/t", "a/u").unwrap_err());
    assert!(disk.exists("/db/b/t.ibd".as_ref()) && !disk.exists("/db/a/u.ibd".as_ref()));
    for n in 1..3 {
        session
            .run(|s| {
                let table = s.table("b/p")?;
                s.insert(&table, &[Some(&stored::int(n)), Some(&stored::int(1))]).map(|_| ())
            })
            .unwrap();
    }
    session.commit().unwrap().wait().unwrap();
    let twice = [index("i", true)];
    free_of_the_latch(&watch, "ADD INDEX", || session.add_indexes("b/p", &twice).unwrap_err());
    // No room for the file of the empty table; the old one has its name again.
    session.create_table(&spec("c/t")).unwrap();
    let mut refused = 0;
    for room in 0..12 {
        use_table(&mut session, "c/t");
        disk.set_capacity(Some(disk.used() + room * 16_384));
        watch.take();
        let done = session.truncate_table("c/t");
        disk.set_capacity(None);
        assert_eq!(watch.take().latched, Vec::<String>::new(), "TRUNCATE TABLE");
        refused += usize::from(done.is_err());
        assert!(disk.exists("/db/c/t.ibd".as_ref()), "after {done:?}");
        session.truncate_table("c/t").unwrap();
    }
    assert!(refused > 0, "the disk was never too small");
}

#[test]
fn room_in_the_log_is_made_before_the_latch_is_taken() {
    let (_, watch, engine) = watched(512 << 10);
    let mut session = engine.session();
    let comment = "a comment that is long enough to fill many rows; ".repeat(1_500);
    let spec = TableSpec { comment, ..spec("a/t") };
    watch.take();
    let (mut checkpoints, mut last) = (0, 0);
    for round in 0..30 {
        session.create_table(&spec).unwrap();
        session.drop_table("a/t").unwrap();
        while engine.core().purge_step().unwrap() {}
        let seen = watch.take();
        let age = engine.core().storage.log().age();
        checkpoints += usize::from(age < last);
        last = age;
        assert_eq!(seen.latched, Vec::<String>::new(), "round {round}");
    }
    assert!(checkpoints > 2, "the log was never full");
}
