//! A folder on a disk whose operations are counted, with a table of some rows.

use parking_lot::Mutex;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use vaquita_base::ManualClock;
use vaquita_engine::check::check_table;
use vaquita_engine::{Column, Engine, Error, IndexSpec, Options, Session, TableSpec, stored};
use vaquita_format::PageSize;
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_format::index_def::KeyPart;
use vaquita_io::sim::SimDisk;
use vaquita_io::{BatchOp, File, FileSystem, OpenMode, OpenOptions, Result as IoResult, Transfer};
use vaquita_storage::{SystemFile, fsp};

pub(crate) const TABLE: &str = "d/t";
pub(crate) const ROWS: i32 = 700;
pub(crate) const SORT_FILES: &str = "#sql-vaquita-sort-";

/// Something that happens at an operation of the disk.
pub(crate) type Event = Box<dyn FnOnce() + Send>;

/// Counts the operations that change a disk, and lets something happen before one of them.
#[derive(Default)]
pub(crate) struct Moments {
    count: AtomicU64,
    event: Mutex<Option<(u64, Event)>>,
    of_file: Mutex<Option<(&'static str, Event)>>,
}

impl Moments {
    pub(crate) fn next(&self) {
        let now = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let due = self.event.lock().take_if(|(at, _)| now >= *at);
        if let Some((_, event)) = due {
            event();
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Lets something happen before the next operation on a file with such a path.
    pub(crate) fn at_file(&self, path: &'static str, event: impl FnOnce() + Send + 'static) {
        *self.of_file.lock() = Some((path, Box::new(event)));
    }

    fn next_of(&self, path: &Path) {
        let is_it = |(part, _): &mut (&str, Event)| path.to_string_lossy().contains(*part);
        let due = self.of_file.lock().take_if(is_it);
        if let Some((_, event)) = due {
            event();
        }
        self.next();
    }

    /// Lets something happen before every operation that changes the disk.
    pub(crate) fn always(self: &Arc<Self>, event: impl Fn() + Send + Sync + 'static) {
        self.again(Arc::new(event));
    }

    fn again(self: &Arc<Self>, event: Arc<dyn Fn() + Send + Sync>) {
        let moments = self.clone();
        self.at(1, move || {
            event();
            moments.again(event);
        });
    }

    pub(crate) fn at(&self, moment: u64, event: impl FnOnce() + Send + 'static) {
        *self.event.lock() = Some((self.count() + moment, Box::new(event)));
    }
}

/// A disk whose operations are moments.
#[derive(Clone)]
pub(crate) struct Watched {
    pub(crate) disk: SimDisk,
    pub(crate) moments: Arc<Moments>,
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.disk.fmt(f)
    }
}

#[derive(Debug)]
struct WatchedFile {
    of: Watched,
    file: Arc<dyn File>,
}

impl File for WatchedFile {
    fn path(&self) -> &Path {
        self.file.path()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> IoResult<()> {
        self.file.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> IoResult<()> {
        self.of.moments.next_of(self.path());
        self.file.write_at(buf, offset)
    }

    fn write_durable_at(&self, buf: &[u8], offset: u64) -> IoResult<()> {
        self.of.moments.next();
        self.file.write_durable_at(buf, offset)
    }

    fn sync(&self) -> IoResult<()> {
        self.file.sync()
    }

    fn len(&self) -> IoResult<u64> {
        self.file.len()
    }

    fn set_len(&self, len: u64) -> IoResult<()> {
        self.of.moments.next();
        self.file.set_len(len)
    }
}

impl FileSystem for Watched {
    fn open(&self, path: &Path, options: OpenOptions) -> IoResult<Arc<dyn File>> {
        if options.mode == OpenMode::CreateNew {
            self.moments.next();
        }
        let file = self.disk.open(path, options)?;
        Ok(Arc::new(WatchedFile { of: self.clone(), file }))
    }

    fn run_batch(
        &self,
        ops: &mut [BatchOp<'_>],
        done: &mut dyn FnMut(usize, &mut BatchOp<'_>, IoResult<()>),
    ) {
        for (no, op) in ops.iter_mut().enumerate() {
            let result = match &mut op.transfer {
                Transfer::Read(buf) => op.file.read_at(buf, op.offset),
                Transfer::Write(buf) => op.file.write_at(buf, op.offset),
            };
            done(no, op, result);
        }
    }

    fn remove_file(&self, path: &Path) -> IoResult<()> {
        self.moments.next();
        self.disk.remove_file(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> IoResult<()> {
        self.disk.rename(from, to)
    }

    fn create_dir_all(&self, path: &Path) -> IoResult<()> {
        self.disk.create_dir_all(path)
    }

    fn remove_dir(&self, path: &Path) -> IoResult<()> {
        self.disk.remove_dir(path)
    }

    fn list_dir(&self, path: &Path) -> IoResult<Vec<PathBuf>> {
        self.disk.list_dir(path)
    }

    fn is_dir(&self, path: &Path) -> bool {
        self.disk.is_dir(path)
    }

    fn exists(&self, path: &Path) -> bool {
        self.disk.exists(path)
    }

    fn sync_dir(&self, path: &Path) -> IoResult<()> {
        self.disk.sync_dir(path)
    }
}

/// A folder with a table of some rows, open.
pub(crate) struct Bed {
    pub(crate) fs: Watched,
    pub(crate) engine: Engine,
    /// Those without a build.
    pub(crate) files: Vec<PathBuf>,
}

impl Bed {
    pub(crate) fn open(disk: SimDisk) -> Bed {
        let mut options = Options { background: false, ..Options::new("/db") };
        options.storage.page_size = PageSize::new(4096).unwrap();
        options.storage.buffer_pool_size = 60 * 4096;
        options.storage.log_file_size = 1 << 20;
        options.storage.data_file_path = vec![SystemFile { name: "ibdata1".into(), size_bytes: 4 << 20 }];
        options.txn.rollback_segments = 2;
        // Runs of a few entries, and more of them than one merge takes.
        options.sort_buffer_size = 1 << 8;
        let fs = Watched { disk, moments: Arc::default() };
        let engine = Engine::open_with(Arc::new(fs.clone()), Arc::new(ManualClock::new()), options).unwrap();
        let files = fs.disk.files();
        Bed { fs, engine, files }
    }

    pub(crate) fn new() -> Bed {
        let disk = SimDisk::new(5);
        disk.put_dir("/db".as_ref());
        let mut bed = Bed::open(disk);
        let columns = vec![
            Column::new(ColumnDef::int("id", 4, false).not_null()),
            Column::new(ColumnDef::int("n", 4, false)),
            Column::new(ColumnDef::varchar("v", 200, Charset::LATIN1)),
        ];
        let mut spec = TableSpec::new(TABLE, columns);
        spec.primary_key = Some(vec![KeyPart::whole(0)]);
        let mut session = bed.engine.session();
        session.create_table(&spec).unwrap();
        let filled = session.run(|s| {
            let table = s.table(TABLE)?;
            for id in 0..ROWS {
                let v = format!("{:05}{}", id * 7_919 % ROWS, "x".repeat(100));
                s.insert(&table, &[Some(&stored::int(id)), Some(&stored::int(id % 9)), Some(v.as_bytes())])?;
            }
            Ok(())
        });
        filled.unwrap();
        drop(session);
        bed.files = bed.fs.disk.files();
        bed
    }

    /// Lets `build` go on until one of the disk's operations, where the power goes off, or the program alone; the folder as it is when
    /// it was opened again. `None`: it ended before.
    pub(crate) fn cut_off(
        disk: SimDisk,
        moment: u64,
        power: bool,
        build: impl FnOnce(&Bed) -> Result<(), Error>,
    ) -> Option<Bed> {
        let mut bed = Bed::open(disk);
        let found = Arc::new(Mutex::new(None));
        let (fs, dead) = (bed.fs.disk.clone(), found.clone());
        bed.fs.moments.at(moment, move || {
            *dead.lock() = Some(if power {
                fs.power_cut();
                fs.restart()
            } else {
                fs.after_kill()
            });
        });
        let built = build(&bed).is_ok();
        let files = std::mem::take(&mut bed.files);
        let after = found.lock().take();
        drop(bed);
        let Some(after) = after else {
            assert!(built, "{moment}: it failed by itself");
            return None;
        };
        let mut bed = Bed::open(after);
        while bed.engine.core().rollback_step().unwrap() {}
        bed.files = files;
        Some(bed)
    }

    pub(crate) fn session(&self) -> Session {
        self.engine.session()
    }

    /// Two indexes, one of them unique.
    pub(crate) fn build(&self, session: &mut Session) -> Result<(), Error> {
        let index = |name: &str, part, unique| IndexSpec {
            name: name.into(),
            parts: vec![KeyPart::whole(part)],
            unique,
            comment: String::new(),
        };
        session.add_indexes(TABLE, &[index("by_n", 1, false), index("by_v", 2, true)])
    }

    pub(crate) fn drop_indexes(&self) {
        let mut session = self.session();
        ["by_n", "by_v"].into_iter().for_each(|name| session.drop_index(TABLE, name).unwrap());
    }

    /// Operations of a build that nothing disturbs. Its indexes are dropped again.
    pub(crate) fn moments_of_a_build(&self) -> u64 {
        let before = self.fs.moments.count();
        self.build(&mut self.session()).unwrap();
        let count = self.fs.moments.count() - before;
        assert!(self.check("an undisturbed build"));
        self.drop_indexes();
        count
    }

    /// The table is whole, with both indexes or none, and nothing else is there; whether it has the indexes.
    pub(crate) fn check(&self, when: &str) -> bool {
        let core = self.engine.core();
        let files: Vec<PathBuf> = self.fs.disk.files();
        assert_eq!(files, self.files, "{when}");
        let table = core.table(TABLE).unwrap();
        let report = check_table(core, &table).unwrap_or_else(|e| panic!("{when}: {e}"));
        assert_eq!(report.rows, ROWS as u64, "{when}");
        assert_eq!(report.leaked_pages(), 0, "{when}");
        let summary = fsp::validate(&mut core.storage.begin_read(), table.space).unwrap();
        assert_eq!(summary.segments.len(), 2 * table.indexes.len(), "{when}: trees that belong to nobody");
        assert!([1, 3].contains(&table.indexes.len()), "{when}");
        table.indexes.len() == 3
    }
}
