//! Folders that the engine wrote, judged by `vaquita check`, which shares nothing with the engine but the formats: at rest,
//! with unfinished work, and as power cuts leave them.
#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use vaquita::workshop::check::{NamedSpace, SetVerdict, check_set};
use vaquita::workshop::source::MemorySpace;
use vaquita_base::Rng;
use vaquita_engine::table::ReferentialAction;
use vaquita_engine::{Column, Engine, ForeignKeySpec, IndexSpec, RowKey, Session, TableSpec, stored};
use vaquita_format::PageSize;
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_format::index_def::{KeyPart, RowFormat};
use vaquita_format::undo::Xid;
use vaquita_io::sim::SimDisk;
use vaquita_testkit::engine_folder::EngineFolder;

/// An engine on a disk with some clients that work on some tables.
struct World {
    disk: SimDisk,
    engine: Engine,
    clients: Vec<Session>,
    rng: Rng,
    made: u32,
}

const FORMATS: [RowFormat; 3] = [RowFormat::Compact, RowFormat::Dynamic, RowFormat::Redundant];

fn spec(name: &str, format: RowFormat) -> TableSpec {
    let mut spec = TableSpec::new(
        name,
        vec![
            Column::new(ColumnDef::int("id", 4, false).not_null()),
            Column::new(ColumnDef::int("n", 4, false)),
            Column::new(ColumnDef::varchar("v", 40, Charset::UTF8)),
            Column::new(ColumnDef::text_blob("t", 2, Charset::UTF8)),
        ],
    );
    let index = |name: &str, parts: &[KeyPart], unique| IndexSpec {
        name: name.into(),
        parts: parts.to_vec(),
        unique,
        comment: String::new(),
    };
    spec.row_format = format;
    spec.primary_key = Some(vec![KeyPart::whole(0)]);
    spec.indexes = vec![
        index("n", &[KeyPart::whole(1)], false),
        index("v", &[KeyPart::prefix(2, 15)], false),
        index("vn", &[KeyPart::whole(2), KeyPart::whole(1)], true),
        index("t", &[KeyPart::prefix(3, 60), KeyPart::whole(1)], false),
    ];
    spec
}

impl World {
    fn new(seed: u64, n_clients: usize) -> World {
        let disk = EngineFolder::new(seed).disk;
        let engine = open(&disk);
        let clients = (0..n_clients).map(|_| engine.session()).collect();
        let mut world = World { disk, engine, clients, rng: Rng::new(seed), made: 0 };
        for (i, format) in FORMATS.into_iter().enumerate() {
            let mut spec = spec(&format!("w/t{i}"), format);
            // Some of the keys descend.
            if i != 1 {
                let primary = spec.primary_key.iter_mut().filter(|_| i == 2);
                let others = spec.indexes.iter_mut().map(|index| &mut index.parts);
                primary.chain(others).for_each(|parts| parts[0].descending = true);
            }
            world.engine.session().create_table(&spec).unwrap();
        }
        let mut child = spec("w/child", RowFormat::Dynamic);
        child.foreign_keys.push(ForeignKeySpec {
            name: None,
            columns: vec!["n".into()],
            parent: "w/t1".into(),
            parent_columns: vec!["id".into()],
            on_delete: ReferentialAction::Cascade,
            on_update: ReferentialAction::Cascade,
        });
        world.engine.session().create_table(&child).unwrap();
        let mut keyless = spec("w/keyless", RowFormat::Compact);
        keyless.primary_key = None;
        world.engine.session().create_table(&keyless).unwrap();
        world.made = 0;
        world
    }

    /// One statement of one client, or the end of its transaction. Conflicts and duplicates are part of life.
    fn step(&mut self) {
        let me = self.rng.index(self.clients.len());
        let table = ["w/t0", "w/t1", "w/t2", "w/child", "w/keyless"][self.rng.index(5)];
        let id = self.rng.below(150) as i32;
        let key = match table {
            "w/keyless" => RowKey::new([&[0, 0, 0, 0, 2, id as u8][..]]),
            _ => RowKey::new([&stored::int(id)[..]]),
        };
        let (n, v, t) = (stored::int(self.rng.below(150) as i32), self.text(), self.long());
        let n = (!self.rng.one_in(6)).then_some(&n[..]);
        let v = (!self.rng.one_in(6)).then_some(v.as_bytes());
        let what = self.rng.below(20);
        let session = &mut self.clients[me];
        let _ = match what {
            0..=6 => session.run(|s| {
                let t1 = s.table(table)?;
                s.insert(&t1, &[Some(&stored::int(id)), n, v, Some(t.as_bytes())]).map(|_| ())
            }),
            7..=10 => session.run(|s| {
                let t1 = s.table(table)?;
                s.update(&t1, &key, &[(1, n), (2, v)]).map(|_| ())
            }),
            11 => session.run(|s| {
                let t1 = s.table(table)?;
                s.update(&t1, &key, &[(0, Some(&stored::int(id + 500))), (3, Some(t.as_bytes()))]).map(|_| ())
            }),
            12..=14 => session.run(|s| {
                let t1 = s.table(table)?;
                s.delete(&t1, &key).map(|_| ())
            }),
            15 if !session.in_transaction() => session.begin(Default::default(), false),
            15 => session.rollback(),
            16 => {
                session.savepoint("s");
                Ok(())
            }
            17 => session.rollback_to_savepoint("s"),
            _ => session.commit().map(|_| ()),
        };
    }

    fn text(&mut self) -> String {
        let word = ["a", "B", "ä", "Straße", "x€y", ""][self.rng.index(6)];
        format!("{word}{}", self.rng.below(30))
    }

    /// Short, or so long that it leaves the page.
    fn long(&mut self) -> String {
        let n = if self.rng.one_in(12) { 9_000 } else { self.rng.index(200) };
        "tÄxt ".repeat(n / 5)
    }

    /// A definition comes, changes, or goes.
    fn define(&mut self) {
        self.made += 1;
        let name = format!("w/d{}", self.made % 4);
        let mut session = self.engine.session();
        let format = FORMATS[self.rng.index(3)];
        let _ = match self.rng.below(6) {
            0 | 1 => session.create_table(&spec(&name, format)),
            2 => session.drop_table(&name),
            3 => session.truncate_table(&name),
            4 => session.rename_table(&name, &format!("w/d{}", (self.made + 1) % 4)),
            _ => session.drop_index(&name, "vn"),
        };
    }

    fn work(&mut self, steps: u64) {
        for n in 0..steps {
            if self.disk.is_off() {
                return;
            }
            if n % 50 == 49 {
                self.define();
            }
            self.step();
            if self.rng.one_in(40) {
                let _ = self.engine.core().storage.flush_everything();
            }
            if self.rng.one_in(20) {
                let _ = self.engine.core().purge_step();
            }
        }
    }
}

fn open(disk: &SimDisk) -> Engine {
    EngineFolder::on(disk.clone()).with(|o| o.storage.buffer_pool_size = 16 << 20).open().unwrap()
}

/// The tablespaces of a disk, checked where they are.
fn judge(disk: &SimDisk) -> SetVerdict {
    let load = |path: &Path| MemorySpace::new(PageSize::DEFAULT, disk.contents(path).unwrap());
    let system = load("/db/ibdata1".as_ref());
    let ibds: Vec<PathBuf> =
        disk.files().into_iter().filter(|p| p.extension().is_some_and(|e| e == "ibd")).collect();
    let name = |p: &Path| p.strip_prefix("/db").unwrap().with_extension("").display().to_string();
    let spaces: Vec<(String, MemorySpace)> = ibds.iter().map(|p| (name(p), load(p))).collect();
    let named: Vec<NamedSpace<'_>> = spaces.iter().map(|(name, src)| NamedSpace { name, src }).collect();
    check_set(&system, &named, true)
}

fn expect_sound(disk: &SimDisk, why: &str) -> SetVerdict {
    let verdict = judge(disk);
    assert_eq!(verdict.faults(), [""; 0], "{why}; notes: {:#?}", verdict.notes());
    verdict
}

/// Exit code and output of the command on a copy of the disk in real files.
fn command(disk: &SimDisk, name: &str) -> (u8, String) {
    let dir = std::env::temp_dir().join(format!("vaquita-engine-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    for path in disk.files() {
        let to = dir.join(path.strip_prefix("/db").unwrap());
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::write(&to, disk.contents(&path).unwrap()).unwrap();
    }
    let args = ["vaquita".into(), "check".into(), dir.clone().into_os_string()];
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = vaquita::cli::run_code(args, &mut out, &mut err);
    std::fs::remove_dir_all(&dir).unwrap();
    assert_eq!(String::from_utf8(err).unwrap(), "");
    (code, String::from_utf8(out).unwrap())
}

#[test]
fn at_rest() {
    for seed in 0..6 {
        let mut world = World::new(seed, 4);
        world.work(600);
        let mut prepared = world.engine.session();
        prepared.begin(Default::default(), false).unwrap();
        prepared
            .run(|s| {
                let table = s.table("w/t0")?;
                s.insert(&table, &[Some(&stored::int(9000 + seed as i32)), None, None, Some(b"xa")]).map(drop)
            })
            .unwrap();
        prepared.xa_prepare(Xid::new(1, b"global", b"branch").unwrap()).unwrap().wait().unwrap();
        drop(prepared);
        let World { disk, engine, clients, .. } = world;
        // Unfinished transactions are taken back.
        drop(clients);
        while engine.core().rollback_step().unwrap() {}
        while engine.core().purge_step().unwrap() {}
        engine.close().unwrap();
        drop(engine);
        let verdict = expect_sound(&disk, &format!("seed {seed}"));
        let transactions = verdict.transactions().unwrap();
        assert_eq!(
            (transactions.active().count(), transactions.prepared().count()),
            (0, 1),
            "{transactions}"
        );
        assert_eq!(transactions.history(), 0, "{transactions}");
        let (code, out) = command(&disk, "rest");
        assert_eq!(code, 0, "{out}");
        assert!(out.contains("xid 'global','branch',1"), "{out}");
    }
}

/// What a power cut leaves is sound once the log is applied, and again after recovery.
#[test]
fn after_power_cuts() {
    let (mut unclean, mut active) = (0, 0);
    for seed in 100..125 {
        let mut world = World::new(seed, 4);
        world.work(150);
        let at = world.disk.ops() + 1 + world.rng.below(120);
        world.disk.arm_cut(at);
        let _cut = catch_unwind(AssertUnwindSafe(|| world.work(1500)));
        world.disk.power_cut();
        let disk = world.disk.restart();
        std::mem::forget(world.clients);
        let (code, out) = command(&disk, "cut");
        assert_eq!(code, 0, "seed {seed}, as the power cut left it: {out}");
        unclean += u32::from(out.contains("not shut down cleanly"));
        active += u32::from(out.contains("is active: "));

        let engine = open(&disk);
        while engine.core().rollback_step().unwrap() {}
        while engine.core().purge_step().unwrap() {}
        engine.close().unwrap();
        let verdict = expect_sound(&disk, &format!("seed {seed}, recovered"));
        let transactions = verdict.transactions().unwrap();
        assert_eq!(
            (transactions.active().count(), transactions.prepared().count(), transactions.history()),
            (0, 0, 0),
            "{transactions}"
        );
    }
    assert!(unclean > 20 && active > 5, "{unclean} folders with changes in the log, {active} with open work");
}
