//! Statements that cannot be taken back: what they left never becomes part of what is committed.

use crate::rows::bed::{Bed, Row, folder, int, specs};
use std::sync::Arc;
use vaquita_base::{PageId, PageNo, SpaceId};
use vaquita_engine::{Durability, Error, Fate, RowKey, Session, Table, Xid};
use vaquita_format::fil::{self, PageType};
use vaquita_io::sim::{Fault, Injection, SimDisk};

const ROWS: i32 = 1_500;

fn row(id: i32) -> Row {
    let text = format!("{id:0>width$}", width = 4 + id as usize % 14);
    vec![int(id), Some(text.into_bytes()), int(id * 7 % 100), int(id)]
}

fn fields(row: &Row) -> Vec<Option<&[u8]>> {
    row.iter().map(Option::as_deref).collect()
}

fn key(id: i32) -> RowKey {
    let mut key = RowKey::default();
    key.push(&int(id).unwrap());
    key
}

fn filled(bed: &Bed) -> Arc<Table> {
    let table = bed.create(&specs()[0]);
    let mut session = bed.session();
    session.run(|s| (0..ROWS).try_for_each(|id| s.insert(&table, &fields(&row(id))).map(drop))).unwrap();
    table
}

/// A change that stays, whatever becomes of the statement behind it.
fn first_change(session: &mut Session, table: &Arc<Table>) {
    session.run(|s| s.update(table, &key(3), &[(2, int(-1).as_deref())])).unwrap();
}

/// Updates, deletes and inserts in all indexes, all over the table.
fn statement(session: &mut Session, table: &Arc<Table>) {
    let mut s = session.statement();
    for id in (0..ROWS).step_by(3) {
        let (n, u, v) = (int(-id), int(-1 - id), vec![b'z'; 20]);
        let changes = [(1, Some(&v[..])), (2, n.as_deref()), (3, u.as_deref())];
        s.update(table, &key(id), &changes).unwrap();
    }
    for id in (1..ROWS).step_by(5) {
        s.delete(table, &key(id)).unwrap();
    }
    for id in ROWS..ROWS + 60 {
        s.insert(table, &fields(&row(id))).unwrap();
    }
}

fn rows(bed: &Bed, table: &Table) -> Vec<Row> {
    bed.rows(table).into_iter().map(|(_, row)| row).collect()
}

/// What only a doomed transaction does.
fn assert_doomed(session: &mut Session, table: &Arc<Table>) {
    assert!(session.is_doomed());
    let refused = |e: Error| matches!(e, Error::Doomed { fate: Fate::Open, .. });
    assert!(refused(session.run(|s| s.update(table, &key(9), &[(2, None)])).unwrap_err()));
    assert!(refused(session.run(|s| s.table("test/plain")).unwrap_err()));
    assert!(refused(session.statement().insert(table, &fields(&row(9_000))).unwrap_err()));
    assert!(refused(session.rollback_to_savepoint("s").unwrap_err()));
    assert!(refused(session.release_savepoint("s").unwrap_err()));
}

/// The ways to a commit.
const WAYS: [fn(&mut Session) -> vaquita_engine::Result<Durability>; 4] = [
    |s| s.commit(),
    |s| s.begin(vaquita_engine::AccessMode::ReadWrite, false).map(|()| Durability::default()),
    |s| s.xa_prepare(Xid::new(1, b"x", b"").unwrap()),
    |s| s.drop_table("test/none").map(|()| Durability::default()),
];

/// Whether the statement could not be taken back while something was broken. `by_savepoint`: nothing failed but the client
/// thinks better of it.
fn doom(
    bed: &Bed,
    table: &Arc<Table>,
    by_savepoint: bool,
    way: usize,
    broken: impl FnOnce(),
    mended: impl FnOnce(),
) -> bool {
    let before = rows(bed, table);
    let mut session = bed.session();
    session.begin(vaquita_engine::AccessMode::ReadWrite, false).unwrap();
    first_change(&mut session, table);
    session.savepoint("s");
    let from = session.start_statement();
    statement(&mut session, table);
    broken();
    let taken = match by_savepoint {
        false => session.fail_statement(from, &Error::LockWaitTimeout),
        true => {
            drop(session.end_statement().unwrap());
            session.rollback_to_savepoint("s")
        }
    };
    if taken.is_ok() {
        mended();
        session.commit().unwrap().wait().unwrap();
        let mut expected = before;
        expected[3][2] = int(-1);
        assert_eq!(rows(bed, table), expected);
        session.run(|s| s.update(table, &key(3), &[(2, row(3)[2].as_deref())])).unwrap();
        return false;
    }
    assert_doomed(&mut session, table);
    let refused = WAYS[way](&mut session).map(drop).unwrap_err();
    let Error::Doomed { fate, .. } = refused else { panic!("{refused}") };
    assert!(!session.is_doomed() && !session.in_transaction());
    mended();
    let mut other = bed.session();
    if fate == Fate::InBackground {
        // What it changed is locked, and nobody sees it.
        let blocked = other.run(|s| s.update(table, &key(3), &[(2, None)])).unwrap_err();
        assert!(matches!(blocked, Error::LockWaitTimeout), "{blocked}");
        while bed.engine.core().rollback_step().unwrap() {}
    }
    assert_eq!(rows(bed, table), before);
    other.run(|s| s.update(table, &key(3), &[(2, row(3)[2].as_deref())])).unwrap();
    true
}

/// Turns the bytes of a page that say whose it is.
fn turn(bed: &Bed, page: PageId) {
    let mut mtr = bed.engine.core().storage.begin().unwrap();
    let page = mtr.get_exclusive(page).unwrap();
    for at in (24..26).chain(66..74) {
        let value = !mtr.page(page)[at];
        mtr.write_u8(page, at, value);
    }
    mtr.commit();
}

fn pages_of_kind(bed: &Bed, space: SpaceId, kind: PageType) -> Vec<PageId> {
    let storage = &bed.engine.core().storage;
    let size = storage.spaces().get(space).unwrap().size_pages();
    let is = |id: &PageId| {
        let mut mtr = storage.begin().unwrap();
        mtr.get_shared(*id).is_ok_and(|page| fil::raw_type(mtr.page(page)) == kind.as_u16())
    };
    (0..size).map(|no| PageId::new(space, PageNo(no))).filter(is).collect()
}

#[test]
fn a_damaged_page_dooms_the_transaction() {
    let bed = Bed::new(1);
    let table = filled(&bed);
    let pages = pages_of_kind(&bed, table.space, PageType::Index);
    assert!(pages.len() > 8, "{pages:?}");
    let mut doomed = 0;
    for (n, &page) in pages.iter().enumerate() {
        let broken = || turn(&bed, page);
        doomed += usize::from(doom(&bed, &table, n % 2 == 1, n % WAYS.len(), broken, broken));
    }
    assert!(doomed >= pages.len() / 2, "{doomed} of {}", pages.len());
    bed.purge_and_check(&table);
}

/// A folder whose pool holds less than the table.
fn small(disk: SimDisk) -> Bed {
    let folder = folder(disk).with(|o| o.storage.buffer_pool_size = 5 << 20);
    let engine = folder.open().unwrap();
    Bed { disk: folder.disk, engine }
}

#[test]
fn a_read_that_fails_at_any_step_dooms_the_transaction() {
    let disk = Bed::new(2).disk;
    let bed = small(disk);
    let table = filled(&bed);
    let pages = pages_of_kind(&bed, table.space, PageType::Index);
    let storage = &bed.engine.core().storage;
    let mut doomed = 0;
    for after in 0..40 {
        let broken = || {
            // All pages are to be read again.
            storage.flush_everything().unwrap();
            for no in 0..500 {
                let mut mtr = storage.begin().unwrap();
                let _ = mtr.get_shared(PageId::new(SpaceId::SYSTEM, PageNo(no)));
            }
            bed.disk.inject(Injection::new(Fault::ReadError).on_path("plain").after(after).always());
        };
        let mended = || bed.disk.clear_injections();
        doomed +=
            usize::from(doom(&bed, &table, after % 2 == 1, after as usize % WAYS.len(), broken, mended));
    }
    assert!(doomed > pages.len() / 2, "{doomed} of {}", pages.len());
    bed.purge_and_check(&table);
}

/// Rows became shorter, others took the room, the disk is full: the long rows still come back.
#[test]
fn a_full_disk_does_not_keep_a_statement_from_being_taken_back() {
    for (count, updated) in [(700, 40), (6_000, 300)] {
        let bed = Bed::new(3);
        let table = bed.create(&specs()[0]);
        let mut session = bed.session();
        let long = vec![b'l'; 20];
        let row_of = |id: i32| vec![int(id), Some(long.clone()), int(id * 7 % 100), int(id)];
        let insert = |s: &mut Session, id: i32| s.run(|s| s.insert(&table, &fields(&row_of(id))).map(drop));
        (0..count).for_each(|id| insert(&mut session, id * 2).unwrap());
        let before = rows(&bed, &table);
        session.begin(vaquita_engine::AccessMode::ReadWrite, false).unwrap();
        first_change_of(&mut session, &table, 0);
        let from = session.start_statement();
        for id in 0..updated {
            session.statement().update(&table, &key(id * 2), &[(1, None)]).unwrap();
        }
        bed.disk.set_capacity(Some(bed.disk.used()));
        // Another one fills the pages, until there is no room even between them.
        let mut other = bed.session();
        let mut came = Vec::new();
        for id in 0..count {
            match insert(&mut other, id * 2 + 1) {
                Ok(()) => came.push(id * 2 + 1),
                Err(e) => assert!(e.no_space().is_some() || matches!(e, Error::LockWaitTimeout), "{e}"),
            }
        }
        session.fail_statement(from, &Error::LockWaitTimeout).unwrap();
        session.rollback().unwrap();
        let mut expected = before;
        expected.extend(came.iter().map(|&id| row_of(id)));
        expected.sort();
        assert_eq!(rows(&bed, &table), expected);
        assert!(!came.is_empty());
        bed.disk.set_capacity(None);
    }
}

fn first_change_of(session: &mut Session, table: &Arc<Table>, id: i32) {
    session.run(|s| s.update(table, &key(id), &[(2, int(-1).as_deref())])).unwrap();
}

/// One row of many fails, its part cannot be taken back, the statement can.
#[test]
fn a_part_of_a_statement_that_stays_does_no_harm_if_the_whole_is_taken_back() {
    let bed = Bed::new(4);
    let table = filled(&bed);
    let before = rows(&bed, &table);
    let pages = pages_of_kind(&bed, table.space, PageType::Index);
    let mut met = 0;
    for &page in &pages {
        let mut session = bed.session();
        session.begin(vaquita_engine::AccessMode::ReadWrite, false).unwrap();
        let from = session.start_statement();
        statement(&mut session, &table);
        turn(&bed, page);
        let part = session.statement().take_back(from + 20);
        turn(&bed, page);
        if let Err(e) = part {
            met += 1;
            assert!(session.is_doomed());
            session.fail_statement(from, &e).unwrap();
        } else {
            session.fail_statement(from, &Error::LockWaitTimeout).unwrap();
        }
        assert!(!session.is_doomed());
        first_change(&mut session, &table);
        session.rollback().unwrap();
        assert_eq!(rows(&bed, &table), before);
    }
    assert!(met > 0);
}
