//! DISCARD and IMPORT TABLESPACE: the table has its rows, or it is discarded and the user's file can be imported still.

use crate::imports::small::open;
use crate::imports::*;
use std::path::Path;
use vaquita_base::PageNo;
use vaquita_base::codec::put_u32;
use vaquita_engine::Error;
use vaquita_format::cfg::TableMeta;
use vaquita_format::checksum::{self, ChecksumAlgorithm};
use vaquita_format::index_page::{self, header};
use vaquita_format::{PageSize, fil};

/// A folder whose table is discarded, with a file to be imported.
fn folder(exported: &Exported, format: RowFormat, described: bool) -> SimDisk {
    folder_of(&spec(format), exported, described)
}

/// The same of a table of that definition.
fn folder_of(spec: &TableSpec, exported: &Exported, described: bool) -> SimDisk {
    let [file, description] =
        if spec.directory.is_some() { [FAR_FILE, FAR_DESCRIPTION] } else { [FILE, DESCRIPTION] };
    let disk = SimDisk::new(2);
    disk.put_dir("/db".as_ref());
    let engine = open(&disk).unwrap();
    let mut session = engine.session();
    session.create_table(spec).unwrap();
    insert(&mut session, 500..520);
    assert!(session.discard_tablespace(TABLE).unwrap());
    drop(session);
    engine.close().unwrap();
    assert!(!disk.files().contains(&LINK.into()), "a table without a file has a link");
    disk.put_file(file.as_ref(), &exported.file);
    if described {
        disk.put_file(description.as_ref(), &exported.description);
    }
    disk
}

fn is_discarded(engine: &Engine) -> bool {
    matches!(engine.core().table(TABLE), Err(Error::Discarded(name)) if name == TABLE)
}

/// Nothing but the table's file and what describes it.
fn check_files(disk: &SimDisk) {
    let in_database: Vec<_> =
        disk.files().into_iter().filter(|file| file.parent().is_some_and(|dir| dir.ends_with("a"))).collect();
    let far = in_database.iter().any(|file| file.starts_with(FAR));
    let wanted =
        if far { [FAR_FILE, FAR_DESCRIPTION, LINK] } else { [FILE, DESCRIPTION, FILE] }.map(Path::new);
    assert!(in_database.iter().all(|file| wanted.contains(&&**file)), "{in_database:?}");
}

#[test]
fn a_table_is_discarded_or_whole() {
    for (format, described, far) in [
        (RowFormat::Dynamic, true, false),
        (RowFormat::Compact, false, false),
        (RowFormat::Redundant, true, false),
        (RowFormat::Dynamic, false, true),
    ] {
        let exported = exported(format);
        let spec = TableSpec { directory: far.then(|| FAR.to_owned()), ..spec(format) };
        let whole = folder_of(&spec, &exported, described);
        let mut old = 0;
        for cut in 1.. {
            let disk = whole.fork(cut);
            let engine = open(&disk).unwrap();
            assert!(is_discarded(&engine));
            disk.arm_cut(disk.ops() + cut);
            let done = engine.session().import_tablespace(TABLE);
            if !disk.is_off() {
                assert_eq!(done.unwrap().without_description.is_none(), described);
                assert!(rows(&engine) == exported.rows, "other rows");
                check_files(&disk);
                assert_eq!(disk.files().contains(&LINK.into()), far, "a link");
                // What was answered lasts.
                drop(engine);
                disk.power_cut();
                let disk = disk.restart();
                assert!(
                    rows(&open(&disk).unwrap()) == exported.rows,
                    "{format:?}: other rows after it was done"
                );
                break;
            }
            drop(engine);
            let what = format!("{format:?}");
            after_cut(&disk, (&what, cut), &exported.rows, |engine, disk| {
                check_files(disk);
                if is_discarded(engine) {
                    old += 1;
                    engine
                        .session()
                        .import_tablespace(TABLE)
                        .unwrap_or_else(|e| panic!("{what}, cut {cut}: {e}"));
                }
            });
        }
        assert!(old > 20, "{format:?}: {old} outcomes are discarded");
    }
}

#[test]
fn a_discarded_table_has_its_file_or_none() {
    for (file, directory) in [(FILE, None), (FAR_FILE, Some(FAR))] {
        let (mut old, mut new) = (0, 0);
        for seed in 3..8 {
            let counts = discards(seed, file, directory.map(str::to_owned));
            (old, new) = (old + counts.0, new + counts.1);
        }
        assert!(old > 0 && new > 0, "{file}: {old} outcomes are not discarded, {new} are");
    }
}

/// How many outcomes are not discarded, and are.
fn discards(seed: u64, file: &str, directory: Option<String>) -> (u32, u32) {
    let disk = SimDisk::new(seed);
    disk.put_dir("/db".as_ref());
    let engine = open(&disk).unwrap();
    let far = directory.is_some();
    engine.session().create_table(&TableSpec { directory, ..spec(RowFormat::Dynamic) }).unwrap();
    insert(&mut engine.session(), 0..20);
    let before = rows(&engine);
    engine.close().unwrap();
    let (mut old, mut new) = (0, 0);
    for cut in 1.. {
        let disk = disk.fork(1_000 * seed + cut);
        let engine = open(&disk).unwrap();
        disk.arm_cut(disk.ops() + cut);
        let done = engine.session().discard_tablespace(TABLE);
        if !disk.is_off() {
            assert!(done.unwrap());
            assert!(!engine.session().discard_tablespace(TABLE).unwrap(), "it is discarded already");
            return (old, new);
        }
        drop(engine);
        for _ in 0..3 {
            let disk = disk.restart();
            let engine = open(&disk).unwrap();
            let there = disk.files().contains(&file.into());
            assert_eq!(is_discarded(&engine), !there, "cut {cut}");
            assert_eq!(disk.files().contains(&LINK.into()), there && far, "cut {cut}");
            match there {
                true => assert!(rows(&engine) == before, "other rows"),
                false => engine.session().drop_table(TABLE).unwrap(),
            }
            if there { old += 1 } else { new += 1 }
        }
    }
    unreachable!("some time the power stays on");
}

/// The file of a table comes back to where it was: neither what the log has of its first life nor what it has of its end is for it.
#[test]
fn a_table_may_have_its_own_file_again() {
    let disk = SimDisk::new(6);
    disk.put_dir("/db".as_ref());
    let engine = open(&disk).unwrap();
    let mut session = engine.session();
    session.create_table(&spec(RowFormat::Dynamic)).unwrap();
    insert(&mut session, 0..40);
    let before = rows(&engine);
    session.lock_table_name(TABLE, vaquita_engine::MdlMode::SharedNoWrite).unwrap();
    let table = engine.core().table(TABLE).unwrap();
    session.export_tables(&[table], "here", &[]).unwrap();
    let [file, description] = [FILE, DESCRIPTION].map(|path| disk.contents(path.as_ref()).unwrap());
    session.unlock_tables();
    delete(&mut session, 0..30);
    insert(&mut session, 100..130);
    assert!(session.discard_tablespace(TABLE).unwrap());
    disk.put_file(FILE.as_ref(), &file);
    disk.put_file(DESCRIPTION.as_ref(), &description);
    let disk = disk.after_kill();
    drop(session);
    drop(engine);
    let engine = open(&disk).unwrap();
    assert!(is_discarded(&engine));
    assert!(disk.contents(FILE.as_ref()).unwrap() == file, "the file was changed before it was imported");
    engine.session().import_tablespace(TABLE).unwrap();
    assert!(rows(&engine) == before, "other rows");
}

/// Whatever is wrong with the file is said, and the table is discarded as before, the file as it was.
#[test]
fn what_is_no_file_of_the_table_changes_nothing() {
    let format = RowFormat::Dynamic;
    let exported = exported(format);
    let whole = folder(&exported, format, true);
    let page = 4_096;
    let mut damaged = Vec::new();
    for no in 0..exported.file.len() / page {
        let mut file = exported.file.clone();
        file[no * page + 100] ^= 1;
        // A page that nobody has written has no checksum.
        if exported.file[no * page..][..page].iter().any(|&byte| byte != 0) {
            damaged.push((format!("a bit of page {no}"), file));
        }
    }
    damaged.push(("half a page".into(), exported.file[..exported.file.len() - page / 2].to_vec()));
    damaged.push(("fewer pages".into(), exported.file[..exported.file.len() - page].to_vec()));
    damaged.push(("nothing".into(), Vec::new()));
    let mut swapped = exported.file.clone();
    swapped[3 * page..5 * page].rotate_left(page);
    damaged.push(("pages that changed places".into(), swapped));
    for (what, file) in damaged {
        refused(&whole, &exported, &what, &file);
    }
    // A description of something else.
    let meta = TableMeta::parse(&exported.description).unwrap();
    let mut others = Vec::new();
    let mut other = |what: &str, change: &dyn Fn(&mut TableMeta)| {
        let mut meta = meta.clone();
        change(&mut meta);
        others.push((what.to_owned(), meta.write()));
    };
    other("Column k not found in tablespace.", &|m| m.columns[1].column.name = "q".into());
    other("Column k length mismatch.", &|m| m.columns[1].column.len = 8);
    other("Index u not found in tablespace meta-data file.", &|m| m.indexes[2].name = "q".into());
    other(
        "Number of indexes don't match, table has 3 indexes but the tablespace meta-data file has 2 indexes",
        &|m| drop(m.indexes.pop()),
    );
    // How many indexes there are is looked at before the columns, some of which they tell to be in an order.
    other(
        "Number of indexes don't match, table has 3 indexes but the tablespace meta-data file has 2 indexes",
        &|m| {
            m.indexes.pop();
            m.columns[1].column.len = 8;
        },
    );
    for (what, description) in others {
        let disk = whole.fork(5);
        disk.put_file(DESCRIPTION.as_ref(), &description);
        let engine = open(&disk).unwrap();
        let refused = engine.session().import_tablespace(TABLE);
        assert!(matches!(&refused, Err(Error::SchemaMismatch(text)) if *text == what), "{what}: {refused:?}");
        assert!(is_discarded(&engine));
    }
}

/// The file that was to be imported, and what describes it, are somebody's: they stay as they are when the table goes.
#[test]
fn a_file_stays_when_its_discarded_table_is_dropped() {
    let exported = exported(RowFormat::Dynamic);
    let whole = folder(&exported, RowFormat::Dynamic, true);
    for cut in 1.. {
        let disk = whole.fork(cut);
        let engine = open(&disk).unwrap();
        disk.arm_cut(disk.ops() + cut);
        let done = engine.session().drop_table(TABLE);
        let was_cut = disk.is_off();
        assert!(was_cut || done.is_ok(), "{done:?}");
        drop(engine);
        let disk = disk.restart();
        let [file, description] = [FILE, DESCRIPTION].map(|path| disk.contents(path.as_ref()).unwrap());
        assert!(file == exported.file && description == exported.description, "cut {cut}");
        let engine = open(&disk).unwrap();
        let gone = matches!(engine.core().table(TABLE), Err(Error::NoSuchTable(_)));
        assert!(gone || was_cut && is_discarded(&engine), "cut {cut}");
        if !was_cut {
            assert!(
                engine.session().create_table(&spec(RowFormat::Dynamic)).is_err(),
                "the file is in the way"
            );
            return;
        }
    }
    unreachable!("some time the power stays on");
}

/// Without a description the row format is said that the file's flags and pages tell, as by MySQL 5.6.24.
#[test]
fn a_file_of_another_row_format_is_told() {
    let formats = [
        (RowFormat::Redundant, "ROW_TYPE_REDUNDANT"),
        (RowFormat::Compact, "ROW_TYPE_COMPACT"),
        (RowFormat::Dynamic, "ROW_TYPE_DYNAMIC"),
    ];
    for (of_file, theirs) in formats {
        let exported = exported(of_file);
        for (of_table, ours) in formats.into_iter().filter(|(format, _)| *format != of_file) {
            let engine = open(&folder(&exported, of_table, false)).unwrap();
            let refused = engine.session().import_tablespace(TABLE);
            let wanted = format!("Table has {ours} row format, .ibd file has {theirs} row format.");
            assert!(matches!(&refused, Err(Error::SchemaMismatch(text)) if *text == wanted), "{refused:?}");
            assert!(is_discarded(&engine));
        }
    }
}

/// A file whose tablespace has the number of another table's here does not keep the folder from being opened.
#[test]
fn a_file_may_have_the_number_of_another_tablespace() {
    let exported = exported(RowFormat::Dynamic);
    let disk = folder(&exported, RowFormat::Dynamic, true);
    let engine = open(&disk).unwrap();
    let mut session = engine.session();
    // Tables until one has the number that the file has.
    let from = TableMeta::parse(&exported.description).unwrap().indexes[0].space;
    let other = (0..20).find_map(|n| {
        let mut other = spec(RowFormat::Dynamic);
        other.name = format!("a/o{n}");
        session.create_table(&other).unwrap();
        (engine.core().table(&other.name).unwrap().space == from).then_some(other.name)
    });
    let other = other.expect("a table with that number");
    drop(session);
    let disk = disk.after_kill();
    drop(engine);
    let engine = open(&disk).unwrap();
    engine.core().table(&other).unwrap();
    assert!(is_discarded(&engine));
    engine.session().import_tablespace(TABLE).unwrap();
    assert!(rows(&engine) == exported.rows, "other rows");
}

/// Changes a page of a file and stamps it anew: whole, and wrong.
fn altered(file: &[u8], no: usize, change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    const PAGE: usize = 4_096;
    let mut file = file.to_vec();
    let page = &mut file[no * PAGE..][..PAGE];
    change(page);
    checksum::stamp(page, PageSize::new(PAGE).unwrap(), ChecksumAlgorithm::default());
    file
}

/// The leaves of an index, from left to right, as its pages say.
fn leaves(file: &[u8], root: PageNo) -> Vec<PageNo> {
    let page = |no: PageNo| &file[no.get() as usize * 4_096..][..4_096];
    let id = header::index_id(page(root));
    let is_leaf = |no: PageNo| {
        let page = page(no);
        fil::page_type(page) == Some(fil::PageType::Index)
            && header::index_id(page) == id
            && header::level(page) == 0
            && fil::page_no(page) == no
    };
    let all: Vec<PageNo> = (0..(file.len() / 4_096) as u32).map(PageNo).filter(|&no| is_leaf(no)).collect();
    let mut at = *all.iter().find(|&&no| fil::prev(page(no)).is_null()).unwrap();
    let mut chain = vec![at];
    while !fil::next(page(at)).is_null() {
        at = fil::next(page(at));
        chain.push(at);
    }
    chain
}

/// Pages that are whole and do not hang together, entries that are not those of the rows: refused by name, and nothing changes.
#[test]
fn pages_hang_together() {
    let format = RowFormat::Dynamic;
    let exported = exported(format);
    let whole = folder(&exported, format, true);
    let meta = TableMeta::parse(&exported.description).unwrap();
    let root = |name: &str| meta.indexes.iter().find(|index| index.name == name).unwrap().root;
    let chain = leaves(&exported.file, root("PRIMARY"));
    assert!(chain.len() >= 4, "{chain:?}");
    let at = |i: usize| chain[i].get() as usize;
    let mut cases = Vec::new();
    let next_of = |i: usize, to: PageNo| altered(&exported.file, at(i), |page| fil::set_next(page, to));
    let prev_of = |i: usize, to: PageNo| altered(&exported.file, at(i), |page| fil::set_prev(page, to));
    cases.push(("a page is left out", next_of(1, chain[3]), "PRIMARY, level 0: page"));
    cases.push(("a link to the left leads elsewhere", prev_of(2, chain[0]), "PRIMARY, level 0: page"));
    cases.push(("the chain ends early", next_of(1, PageNo::NULL), "PRIMARY, level 0: page"));
    // Both sides of a link agree that there is none.
    let cut = altered(&next_of(1, PageNo::NULL), at(2), |page| fil::set_prev(page, PageNo::NULL));
    cases.push(("two chains", cut, "2 pages have none before them"));
    // Two pages change places in the chain, links and all.
    let (a, b, c, d) = (chain[0], chain[1], chain[2], chain[3]);
    let mut swapped = exported.file.clone();
    for (no, prev, next) in [(a, PageNo::NULL, c), (c, a, b), (b, c, d)] {
        swapped = altered(&swapped, no.get() as usize, |page| {
            fil::set_prev(page, prev);
            fil::set_next(page, next);
        });
    }
    swapped = altered(&swapped, d.get() as usize, |page| fil::set_prev(page, b));
    cases.push(("two pages that changed places", swapped, "not in the order in which the level above"));
    // A leaf goes for another one: pointed to twice, and not at all.
    let parent = root("PRIMARY").get() as usize;
    let lost = altered(&exported.file, parent, |page| {
        let (mut from, mut to) = ([0; 4], [0; 4]);
        put_u32(&mut from, 0, chain[1].get());
        put_u32(&mut to, 0, chain[2].get());
        let found = page.windows(4).position(|bytes| bytes == from && bytes != to);
        let found = found.filter(|&at| at > 100).unwrap_or_else(|| {
            100 + page[100..].windows(4).position(|bytes| bytes == from).expect("a pointer to the page")
        });
        page[found..found + 4].copy_from_slice(&to);
    });
    cases.push(("a page nobody points to", lost, "not those that the level above points to"));
    // The greatest value of an index becomes one that no row has.
    let leaf = leaves(&exported.file, root("k")).last().unwrap().get() as usize;
    let other = altered(&exported.file, leaf, |page| {
        let rec = index_page::records(page).map(Result::unwrap).last().unwrap();
        page[usize::from(rec) + 2] += 1;
    });
    cases.push(("an entry of no row", other, "the entries of index k are not those that the rows give"));
    for (what, file, says) in cases {
        let detail = refused(&whole, &exported, what, &file);
        assert!(detail.contains(says), "{what}: {detail}");
    }
}

/// Why a file is not taken. It stays as it is, nothing has changed, and the right one is taken afterwards.
fn refused(whole: &SimDisk, exported: &Exported, what: &str, file: &[u8]) -> String {
    let disk = whole.fork(4);
    disk.put_file(FILE.as_ref(), file);
    let engine = open(&disk).unwrap_or_else(|e| panic!("{what}: {e}"));
    let refused = engine.session().import_tablespace(TABLE);
    let Err(Error::BadImport { detail, .. }) = refused else { panic!("{what}: {refused:?}") };
    assert!(is_discarded(&engine), "{what}");
    assert_eq!(disk.contents(FILE.as_ref()).unwrap(), file, "{what}");
    check_files(&disk);
    disk.put_file(FILE.as_ref(), &exported.file);
    engine.session().import_tablespace(TABLE).unwrap();
    assert!(rows(&engine) == exported.rows, "{what}: other rows");
    detail
}
