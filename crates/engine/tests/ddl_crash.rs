//! Random changes of definitions with the power going off anywhere: afterwards every change that returned is there, one
//! that was cut off is there entirely or not at all, there is a file for each table and a table for each file, in the folder or in a
//! directory elsewhere, no
//! segment of the system tablespace is without an owner, and no number is given twice.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeMap;
use std::sync::Arc;
use vaquita_base::codec::{get_u16, get_u32, get_u64};
use vaquita_base::{ManualClock, PageId, PageNo, Rng, SpaceId};
use vaquita_engine::table::ReferentialAction;
use vaquita_engine::{
    Alteration, Column, ColumnOrigin, Concurrency, Engine, Error, ForeignKeySpec, IndexSpec, KeptKeys,
    Options, ReadOptions, Result, Session, TableSpec, stored,
};
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_format::flst::SegmentHeader;
use vaquita_format::index_def::KeyPart;
use vaquita_format::{PageSize, fil, trx_sys, undo};
use vaquita_io::sim::{SimDisk, TracedOp};
use vaquita_storage::SystemFile;
use vaquita_storage::fsp;

const NAMES: [&str; 6] = ["a/t", "a/u", "b/t", "b/v", "c/w", "c/x"];
const INDEXES: [&str; 3] = ["i1", "i2", "i3"];

#[derive(Debug, Clone, PartialEq, Eq)]
struct Table {
    own: bool,
    /// Its file is in a directory elsewhere.
    far: bool,
    rows: i32,
    indexes: Vec<&'static str>,
    parent: Option<&'static str>,
    /// Its second column, which the foreign key and indexes have, is called by its other name.
    renamed: bool,
}

/// The names of that column.
const COLUMN: [&str; 2] = ["n", "m"];

/// The directory elsewhere.
const FAR: &str = "/far/";

type Model = BTreeMap<&'static str, Table>;

fn options() -> Options {
    let mut options = Options { background: false, ..Options::new("/db") };
    options.storage.page_size = PageSize::new(4096).unwrap();
    options.storage.buffer_pool_size = 300 * 4096;
    options.storage.log_file_size = 256 << 10;
    options.storage.log_buffer_size = 64 << 10;
    options.storage.data_file_path = vec![SystemFile { name: "ibdata1".into(), size_bytes: 4 << 20 }];
    options.storage.live.autoextend_increment_bytes = 1 << 20;
    options.txn.rollback_segments = 2;
    options
}

fn open(disk: &SimDisk) -> Result<Engine> {
    Engine::open_with(Arc::new(disk.clone()), Arc::new(ManualClock::new()), options())
}

fn spec(name: &str, table: &Table) -> TableSpec {
    let columns = vec![
        Column::new(ColumnDef::int("id", 4, false).not_null()),
        Column::new(ColumnDef::int(COLUMN[usize::from(table.renamed)], 4, false)),
        Column::new(ColumnDef::varchar("v", 50, Charset::UTF8)),
    ];
    let mut spec = TableSpec::new(name, columns);
    spec.primary_key = Some(vec![KeyPart::whole(0)]);
    spec.file_per_table = table.own;
    spec.directory = table.far.then(|| FAR.to_owned());
    spec.comment = "a comment that is long enough to fill several rows; ".repeat(50);
    spec.indexes.extend(table.indexes.iter().map(|name| index(name)));
    if let Some(parent) = table.parent {
        spec.foreign_keys.push(ForeignKeySpec {
            name: None,
            columns: vec![COLUMN[usize::from(table.renamed)].into()],
            parent: parent.into(),
            parent_columns: vec!["id".into()],
            on_delete: ReferentialAction::Cascade,
            on_update: ReferentialAction::Restrict,
        });
    }
    spec
}

fn index(name: &str) -> IndexSpec {
    let down = |part| KeyPart { descending: true, ..part };
    let parts = match name {
        "i1" => vec![KeyPart::whole(1)],
        "i2" => vec![down(KeyPart::prefix(2, 15)), KeyPart::whole(1)],
        _ => vec![KeyPart::whole(0), down(KeyPart::whole(2))],
    };
    IndexSpec { name: name.into(), parts, unique: name == "i3", comment: name.to_uppercase() }
}

fn fill(session: &mut Session, name: &str, rows: std::ops::Range<i32>) -> Result<()> {
    session.run(|s| {
        let table = s.table(name)?;
        for id in rows.clone() {
            let v = format!("value {id}");
            s.insert(&table, &[Some(&stored::int(id)), None, Some(v.as_bytes())])?;
        }
        Ok(())
    })
}

/// Writes a table anew, as ALTER TABLE does.
fn rebuild(session: &mut Session, name: &str, spec: &TableSpec, renamed: &[(&str, &str)]) -> Result<()> {
    session.rebuild_table(
        name,
        spec,
        KeptKeys { without: &[], renamed },
        Concurrency::Reads,
        |s, from, to| {
            let mut cursor = s.cursor(from, &ReadOptions::default())?;
            cursor.seek_first();
            let mut values: Vec<Option<Vec<u8>>> = vec![None; 3];
            while let Some(row) = s.next(&mut cursor)? {
                for (i, value) in values.iter_mut().enumerate() {
                    *value = row.column(i).map(<[u8]>::to_vec);
                }
                let fields: Vec<Option<&[u8]>> = values.iter().map(Option::as_deref).collect();
                s.insert_for_good(to, &fields)?;
            }
            Ok(())
        },
    )
}

/// Gives the column its other name: the old and the new one.
fn rename_column(table: &mut Table) -> Vec<(&'static str, &'static str)> {
    let old = COLUMN[usize::from(table.renamed)];
    table.renamed = !table.renamed;
    vec![(old, COLUMN[usize::from(table.renamed)])]
}

/// Two tables change names by way of a free one; now and then a third one takes that afterwards.
fn change_of_places(
    rng: &mut Rng,
    have: &[&'static str],
    free: &[&'static str],
) -> Option<Vec<(&'static str, &'static str)>> {
    let (a, b) = (*have.get(rng.index(have.len().max(1)))?, *have.first()?);
    let between = *free.first().filter(|_| a != b)?;
    let mut pairs = vec![(a, between), (b, a), (between, b)];
    let third = have.iter().find(|name| ![a, b].contains(*name));
    pairs.extend(third.filter(|_| rng.one_in(2)).map(|third| (*third, between)));
    Some(pairs)
}

/// What a RENAME of several pairs makes of the model.
fn rename_all(model: &mut Model, pairs: &[(&'static str, &'static str)]) {
    for (from, to) in pairs {
        let table = model.remove(from).expect("it is there by then");
        model.insert(to, table);
        model.values_mut().filter(|t| t.parent == Some(from)).for_each(|t| t.parent = Some(to));
    }
}

type ChangeOf = Box<dyn FnOnce(&mut Session) -> Result<()>>;

/// One change takes a table's foreign key and an index, and gives it a foreign key, perhaps by the same name, the indexes it has not, and
/// perhaps another name of a column.
fn exchange_all(rng: &mut Rng, table: &mut Table, name: &'static str, parent: &'static str) -> ChangeOf {
    let key = format!("{}_ibfk_1", name.rsplit_once('/').map_or(name, |(_, name)| name));
    let dropped_keys: Vec<String> = table.parent.iter().map(|_| key.clone()).collect();
    let column = COLUMN[usize::from(table.renamed)];
    let added_keys = [ForeignKeySpec {
        name: Some(key),
        columns: vec![column.into()],
        parent: parent.into(),
        parent_columns: vec![if parent == name { "id" } else { "ID" }.into()],
        on_delete: ReferentialAction::Cascade,
        on_update: ReferentialAction::Restrict,
    }];
    let gone: Vec<String> = table.indexes.iter().filter(|i| **i == "i3").map(|i| (*i).into()).collect();
    let indexes: Vec<IndexSpec> =
        INDEXES.into_iter().filter(|i| *i != "i3" && !table.indexes.contains(i)).map(index).collect();
    table.parent = Some(parent);
    let renames = rng.one_in(2);
    if renames {
        rename_column(table);
    }
    table.indexes = vec!["i1", "i2"];
    let mut spec = spec(name, table);
    spec.foreign_keys.clear();
    Box::new(move |s| {
        let from = s.run(|s| s.table(name))?;
        let kept: Vec<ColumnOrigin> = (0..spec.columns.len()).map(ColumnOrigin::Kept).collect();
        let alteration = Alteration {
            dropped_keys: &dropped_keys,
            dropped_indexes: &gone,
            added_keys: &added_keys,
            definition: renames.then_some((&spec, &kept[..])),
            ..Alteration::default()
        };
        let done = s.alter_in_place(&from, &[parent], |table| {
            table.alter(&indexes, alteration, Concurrency::Writes)
        })?;
        assert!(done, "nobody else changes {name}");
        Ok(())
    })
}

/// Draws a change and makes it of a copy of the model; what is to be done on the folder.
fn draw(rng: &mut Rng, model: &mut Model) -> Option<ChangeOf> {
    let have: Vec<&'static str> = model.keys().copied().collect();
    let free: Vec<&'static str> = NAMES.into_iter().filter(|n| !have.contains(n)).collect();
    let name = (!have.is_empty()).then(|| have[rng.index(have.len())]);
    let new = (!free.is_empty()).then(|| free[rng.index(free.len())]);
    let is_parent = |model: &Model, name| model.iter().any(|(n, t)| *n != name && t.parent == Some(name));
    match rng.below(20) {
        0..=3 => {
            let new = new?;
            let parent = name.filter(|_| rng.one_in(2));
            let indexes = if parent.is_some() || rng.one_in(2) { vec!["i1"] } else { vec![] };
            let own = !rng.one_in(3);
            let far = own && rng.one_in(2);
            let table = Table { own, far, rows: 0, indexes, parent, renamed: false };
            let spec = spec(new, &table);
            model.insert(new, table);
            Some(Box::new(move |s| s.create_table(&spec)))
        }
        4..=5 => {
            let name = name.filter(|n| !is_parent(model, *n))?;
            model.remove(name);
            Some(Box::new(move |s| s.drop_table(name)))
        }
        6..=7 => {
            let (name, new) = (name?, new?);
            rename_all(model, &[(name, new)]);
            Some(Box::new(move |s| s.rename_table(name, new)))
        }
        8 => {
            let pairs = change_of_places(rng, &have, &free)?;
            rename_all(model, &pairs);
            Some(Box::new(move |s| s.rename_tables(&pairs)?.map_err(|(_, e)| e)))
        }
        9 => {
            let name = name.filter(|n| !is_parent(model, *n))?;
            model.get_mut(name)?.rows = 0;
            Some(Box::new(move |s| s.truncate_table(name)))
        }
        10 => {
            let name = name?;
            let missing: Vec<_> =
                INDEXES.into_iter().filter(|i| !model[name].indexes.contains(i)).take(2).collect();
            model.get_mut(name)?.indexes.extend(&missing);
            let specs: Vec<IndexSpec> = missing.into_iter().map(index).collect();
            Some(Box::new(move |s| s.add_indexes(name, &specs)))
        }
        11..=12 => {
            let name = name?;
            let table = model.get_mut(name)?;
            let at = table.indexes.iter().position(|i| *i != "i1" || table.parent.is_none())?;
            let gone = table.indexes.remove(at);
            Some(Box::new(move |s| s.drop_index(name, gone)))
        }
        13..=14 => {
            let name = name?;
            let table = model.get_mut(name)?;
            table.own = !table.own;
            table.far = table.own && rng.one_in(2);
            let renaming = if rng.one_in(2) { rename_column(table) } else { vec![] };
            if !table.indexes.contains(&"i2") {
                table.indexes.push("i2");
            }
            let mut spec = spec(&format!("{}/#sql-vq7", &name[..1]), table);
            // Those of the old table stay.
            spec.foreign_keys.clear();
            Some(Box::new(move |s| rebuild(s, name, &spec, &renaming)))
        }
        15..=16 => {
            let name = name?;
            let table = model.get_mut(name)?;
            rename_column(table);
            let mut spec = spec(name, table);
            spec.foreign_keys.clear();
            let kept: Vec<ColumnOrigin> = (0..spec.columns.len()).map(ColumnOrigin::Kept).collect();
            Some(Box::new(move |s| {
                let from = s.run(|s| s.table(name))?;
                let done = s.alter_in_place(&from, &[], |table| {
                    let definition = Some((&spec, &kept[..]));
                    table.alter(&[], Alteration { definition, ..Alteration::default() }, Concurrency::Nothing)
                })?;
                assert!(done, "nobody else changes {name}");
                Ok(())
            }))
        }
        17 => {
            let (name, parent) = (name?, have[rng.index(have.len())]);
            Some(exchange_all(rng, model.get_mut(name)?, name, parent))
        }
        _ => {
            let name = name?;
            let table = model.get_mut(name)?;
            let from = table.rows;
            table.rows += 1 + rng.below(60) as i32;
            let rows = from..table.rows;
            Some(Box::new(move |s| fill(s, name, rows)))
        }
    }
}

fn core_tables(engine: &Engine) -> Vec<String> {
    engine.core().user_tables().unwrap()
}

/// The folder as the model would have it.
fn found(engine: &Engine) -> Model {
    let core = engine.core();
    let mut out = Model::new();
    for name in core_tables(engine) {
        let table = core.table(&name).unwrap();
        let name = NAMES.into_iter().find(|n| *n == name).unwrap();
        let records =
            |i: &vaquita_engine::Index| vaquita_btree::validate(&i.tree, &core.storage).unwrap().records;
        let rows = records(&table.indexes[0]);
        assert!(table.indexes.iter().all(|i| records(i) == rows), "{name}: indexes disagree");
        let indexes = table.indexes[1..].iter().map(|i| {
            assert_eq!(i.comment, i.name.to_uppercase(), "{name}");
            let down: Vec<bool> = index(&i.name).parts.iter().map(|part| part.descending).collect();
            let is_down = |at: usize| i.def().compare_plan()[at].is_descending();
            assert!(down.iter().enumerate().all(|(at, down)| is_down(at) == *down), "{name}: {}", i.name);
            INDEXES.into_iter().find(|n| **n == i.name).unwrap()
        });
        let renamed = table.columns[1].def.name == COLUMN[1];
        let parent = table.foreign_keys.first().map(|k| {
            assert_eq!(k.child_columns, [COLUMN[usize::from(renamed)]], "{name}");
            assert_eq!((k.id.clone(), k.child.as_str()), (format!("{name}_ibfk_1"), name));
            let parent = core.table(&k.parent).unwrap();
            assert!(k.parent == *name || parent.referenced_by.contains(k));
            NAMES.into_iter().find(|n| **n == k.parent).unwrap()
        });
        out.insert(
            name,
            Table {
                own: table.space != SpaceId::SYSTEM,
                far: table.directory.is_some(),
                rows: rows as i32,
                indexes: indexes.collect(),
                parent,
                renamed,
            },
        );
    }
    out
}

fn same(a: &Model, b: &Model) -> bool {
    let sorted = |m: &Model| -> Vec<_> {
        let mut m = m.clone();
        m.values_mut().for_each(|t| t.indexes.sort_unstable());
        m.into_iter().collect()
    };
    sorted(a) == sorted(b)
}

/// Every segment of the system tablespace belongs to somebody.
fn check_segments(engine: &Engine) {
    let core = engine.core();
    let storage = &core.storage;
    let summary = fsp::validate(&mut storage.begin_read(), SpaceId::SYSTEM).unwrap();
    let page = |no| storage.pool().get_shared(PageId::new(SpaceId::SYSTEM, no)).unwrap();
    let mut owned = BTreeMap::new();
    let mut owner = |no: PageNo, offset: usize, whose: String| {
        let inode = SegmentHeader::read(&page(no), offset).inode;
        let id = get_u64(&page(inode.page), inode.offset.into());
        assert_eq!(owned.insert(id, whose.clone()), None, "{whose}");
    };
    owner(PageNo(3), 94, "change buffer".into());
    owner(trx_sys::PAGE, trx_sys::SEGMENT, "transactions".into());
    owner(PageNo(7), 94, "dictionary".into());
    owner(trx_sys::PAGE, trx_sys::doublewrite_offset(4096), "doublewrite".into());
    let header = vaquita_format::dict::DictHeader::read(&page(PageNo(7)));
    let core_roots = [
        header.tables_root,
        header.table_ids_root,
        header.columns_root,
        header.indexes_root,
        header.fields_root,
    ];
    let trees = core.dict.sys_indexes(storage).unwrap();
    let trees = trees.iter().filter(|i| i.space == SpaceId::SYSTEM).map(|i| (i.root, i.name.clone()));
    for (root, name) in trees.chain(core_roots.map(|root| (root, "core".to_owned()))) {
        owner(root, 74, format!("leaves of {name}"));
        owner(root, 84, format!("top of {name}"));
    }
    let rsegs: Vec<PageNo> = {
        let trx_sys = page(trx_sys::PAGE);
        (0..trx_sys::N_RSEGS).filter_map(|n| trx_sys::rseg(&trx_sys, n)).map(|(_, no)| no).collect()
    };
    for &rseg in &rsegs {
        owner(rseg, 62, format!("rollback segment {rseg}"));
        for slot in 0..4096 / 16 {
            let no = PageNo(get_u32(&page(rseg), 72 + 4 * slot));
            if !no.is_null() {
                owner(no, 60, format!("undo log {rseg} {slot}"));
            }
        }
    }
    // Undo logs that wait for purge are found through the history.
    for no in 0..summary.header.size {
        let id = PageId::new(SpaceId::SYSTEM, PageNo(no));
        let Ok(undo) = storage.pool().get_shared(id) else { continue };
        let waits = fil::page_type(&undo) == Some(fil::PageType::UndoLog)
            && get_u16(&undo, undo::SEGMENT_STATE) == 4
            && get_u32(&undo, undo::SEGMENT_HEADER + 4) != 0;
        drop(undo);
        if waits && fsp::is_page_allocated(&mut storage.begin_read(), id.space, id.page_no).unwrap() {
            owner(id.page_no, undo::SEGMENT_HEADER, format!("undo log at {no}"));
        }
    }
    for (id, pages) in &summary.segments {
        assert!(owned.contains_key(&id.get()), "segment {id} of {pages} pages belongs to nobody: {owned:?}");
    }
    let exist = |id: &u64| summary.segments.iter().any(|(s, _)| s.get() == *id);
    assert!(owned.keys().all(exist), "{owned:?} but {:?}", summary.segments);
}

fn check_files(disk: &SimDisk, engine: &Engine, model: &Model) {
    let file = |(name, table): (&&str, &Table)| match table.far {
        false => vec![format!("/db/{name}.ibd")],
        true => vec![format!("{FAR}{name}.ibd"), format!("/db/{name}.isl")],
    };
    let own = || model.iter().filter(|(_, t)| t.own);
    let mut want: Vec<String> = own().flat_map(file).collect();
    want.sort();
    let is_system = |f: &String| f.starts_with("/db/ib") || f.ends_with(".pid") || f.ends_with("lock");
    let files: Vec<String> =
        disk.files().iter().map(|f| f.display().to_string()).filter(|f| !is_system(f)).collect();
    assert_eq!(files, want);
    let core = engine.core();
    assert_eq!(core.dict.sys_tablespaces(&core.storage).unwrap().len(), own().count());
    let mut paths: Vec<String> =
        core.dict.sys_datafiles(&core.storage).unwrap().into_iter().map(|row| row.path).collect();
    let path = |(name, t): (&&str, &Table)| format!("{}{name}.ibd", if t.far { FAR } else { "./" });
    let mut known: Vec<String> = own().map(path).collect();
    paths.sort();
    known.sort();
    assert_eq!(paths, known);
    for (name, _) in model.iter().filter(|(_, t)| t.far) {
        let link = disk.contents(format!("/db/{name}.isl").as_ref()).unwrap();
        assert_eq!(link, format!("{FAR}{name}.ibd").into_bytes());
    }
}

/// Greatest numbers given.
fn greatest(engine: &Engine) -> [u64; 3] {
    let core = engine.core();
    let page = core.storage.pool().get_shared(PageId::new(SpaceId::SYSTEM, PageNo(7))).unwrap();
    let header = vaquita_format::dict::DictHeader::read(&page);
    [header.table_id.get(), header.index_id.get(), header.space_id.get().into()]
}

/// Gives how many tables were left behind under temporary names.
fn run(seed: u64) -> usize {
    let mut left_behind = 0;
    let mut rng = Rng::new(seed);
    let mut disk = SimDisk::new(seed);
    disk.put_dir("/db".as_ref());
    let mut engine = open(&disk).unwrap();
    let mut model = Model::new();
    check_segments(&engine);
    let mut numbers = greatest(&engine);
    for round in 0..5 {
        disk.arm_cut(disk.ops() + 1 + rng.below(400));
        let mut after = model.clone();
        let mut session = engine.session();
        while !disk.is_off() {
            after = model.clone();
            let Some(change) = draw(&mut rng, &mut after) else { continue };
            match change(&mut session) {
                Ok(()) => model = after.clone(),
                Err(e) => assert!(disk.is_off(), "seed {seed}, round {round}: {e}\n{model:?}\n{after:?}"),
            }
            if rng.one_in(4) {
                let _ = engine.core().purge_step();
            }
            if rng.one_in(10) {
                let _ = engine.core().storage.flush_everything();
            }
        }
        drop(session);
        drop(engine);
        disk = if rng.one_in(4) { disk.after_kill() } else { disk.restart() };
        if rng.one_in(3) {
            // Recovery is cut off too.
            disk.arm_cut(disk.ops() + 1 + rng.below(100));
            drop(open(&disk));
            disk = disk.restart();
        }
        engine = open(&disk).unwrap_or_else(|e| panic!("seed {seed}, round {round}: {e}"));
        // The copies that cut rebuilds left behind are dropped when what is unfinished in them is rolled back.
        left_behind += engine.leftovers().len();
        while engine.core().rollback_step().unwrap() {}
        let left = core_tables(&engine).into_iter().filter(|n| !NAMES.contains(&n.as_str()));
        assert_eq!(left.collect::<Vec<_>>(), Vec::<String>::new(), "seed {seed}, round {round}");
        let have = found(&engine);
        let context = format!("seed {seed}, round {round}:\n{have:?}\nnot\n{model:?}\nnor\n{after:?}");
        assert!(same(&have, &model) || same(&have, &after), "{context}");
        model = have;
        check_files(&disk, &engine, &model);
        check_segments(&engine);
        let now = greatest(&engine);
        assert!(now.iter().zip(numbers).all(|(a, b)| *a >= b), "seed {seed}: {now:?} after {numbers:?}");
        numbers = now;
    }
    left_behind
}

/// A disk that fills up in the middle of a change: it is refused and leaves nothing; with room it works.
#[test]
fn a_full_disk_leaves_nothing_behind() {
    let mut refused = [0; 2];
    for seed in 0..25 {
        let mut rng = Rng::new(seed);
        let disk = SimDisk::new(seed);
        disk.put_dir("/db".as_ref());
        let engine = open(&disk).unwrap();
        let mut session = engine.session();
        let mut model = Model::new();
        for _ in 0..60 {
            let mut after = model.clone();
            let Some(change) = draw(&mut rng, &mut after) else { continue };
            let full = rng.one_in(2);
            if full {
                disk.set_capacity(Some(disk.used() + rng.below(6) * 4096));
            }
            let done = change(&mut session);
            disk.set_capacity(None);
            match done {
                Ok(()) => model = after,
                Err(e) => {
                    assert!(full, "seed {seed}: {e}");
                    refused[usize::from(matches!(e, Error::Storage(_)))] += 1;
                    let have = found(&engine);
                    assert!(same(&have, &model), "seed {seed}: {e}: {have:?}, not {model:?}");
                    check_files(&disk, &engine, &model);
                    check_segments(&engine);
                }
            }
        }
        let have = found(&engine);
        assert!(same(&have, &model), "seed {seed}: {have:?}, not {model:?}");
        check_files(&disk, &engine, &model);
        check_segments(&engine);
    }
    assert!(refused[0] + refused[1] > 20, "{refused:?}");
}

#[test]
fn definitions_are_whole_after_power_cuts() {
    let number = |name: &str| std::env::var(name).ok().and_then(|s| s.parse().ok());
    let first = number("DDL_FIRST").unwrap_or(0);
    let seeds = number("DDL_SEEDS").unwrap_or(40);
    let left_behind: usize = (first..first + seeds).map(run).sum();
    assert!(seeds < 40 || left_behind > 0, "no cut fell into a rebuild");
}

/// What a change of a definition waits for is what makes statements slow on real disks: the log, and files whose names are not yet safe.
#[test]
fn a_change_of_a_definition_waits_for_little() {
    let disk = SimDisk::new(2);
    disk.put_dir("/db".as_ref());
    let engine = open(&disk).unwrap();
    let mut session = engine.session();
    let plain = Table { own: true, far: false, rows: 0, indexes: vec!["i1"], parent: None, renamed: false };
    // Makes the directory of the database.
    session.create_table(&spec("a/u", &plain)).unwrap();
    let mut waits = |change: &mut dyn FnMut(&mut Session) -> Result<()>| {
        disk.set_trace(true);
        change(&mut session).unwrap();
        let name = |op: &TracedOp| op.path.file_name().unwrap().to_string_lossy().into_owned();
        // A write to the log is durable when it returns.
        let waits = |op: &TracedOp| op.what.starts_with("sync") || name(op).starts_with("ib_logfile");
        disk.trace().iter().filter(|op| waits(op)).map(name).collect::<Vec<_>>()
    };
    let log = "ib_logfile0";
    // What gets rid of the file; the file; the definition.
    assert_eq!(waits(&mut |s| s.create_table(&spec("a/t", &plain))), [log, "t.ibd", log]);
    assert_eq!(waits(&mut |s| s.rename_table("a/t", "a/v")), [log, log]);
    // The same: the empty file gets the name when the old one is gone.
    let truncated = waits(&mut |s| s.truncate_table("a/v"));
    assert!(
        matches!(&truncated[..], [a, file, b] if a == log && b == log && file.starts_with("#sql-")),
        "{truncated:?}"
    );
    assert_eq!(waits(&mut |s| s.drop_table("a/v")), [log]);
    // And the checkpoint makes the names durable.
    let mut checkpoint = |_: &mut Session| engine.core().storage.flush_everything().map_err(Error::from);
    assert!(waits(&mut checkpoint).contains(&"a".to_owned()));
}
