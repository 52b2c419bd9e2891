//! Watches: whoever reads only when a watch says that rows may have changed never keeps what is out of date, and reads
//! nothing while nothing happens.

use crate::cursor::bed::{TABLE, create, engine, fill, insert, one};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use vaquita_base::Rng;
use vaquita_engine::stored::{int, to_signed};
use vaquita_engine::{
    AccessMode, Direction, Engine, Isolation, ReadLock, ReadOptions, RowKey, Session, Table, Watch,
};
use vaquita_format::index_def::RowFormat;

/// What was read: `a` of each row.
type Kept = Vec<(i64, i64)>;

fn read(session: &mut Session, table: &Arc<Table>) -> Kept {
    session.settings.isolation = Isolation::ReadCommitted;
    let mut kept = Vec::new();
    session
        .run(|s| {
            let mut cursor = s.cursor(table, &ReadOptions::by_index(0).columns([0, 1]))?;
            s.for_each(&mut cursor, Direction::Forward, |row| {
                kept.push((to_signed(row.column(0).unwrap()), row.column(1).map_or(0, to_signed)));
                ControlFlow::Continue(())
            })
        })
        .unwrap();
    kept
}

/// Someone who reads a table when it must.
struct Keeper<'e> {
    engine: &'e Engine,
    table: Arc<Table>,
    session: Session,
    kept: Option<(Watch, Kept)>,
    reads: usize,
}

impl<'e> Keeper<'e> {
    fn new(engine: &'e Engine, table: &Arc<Table>) -> Keeper<'e> {
        Keeper { engine, table: table.clone(), session: engine.session(), kept: None, reads: 0 }
    }

    fn get(&mut self) -> &Kept {
        if self.kept.as_ref().is_none_or(|(watch, _)| watch.may_have_changed()) {
            let watch = Watch::new(self.engine.core(), &self.table);
            self.kept = Some((watch, read(&mut self.session, &self.table)));
            self.reads += 1;
        }
        &self.kept.as_ref().unwrap().1
    }
}

fn set(session: &mut Session, table: &Arc<Table>, id: i32, a: i32) {
    session.run(|s| s.update(table, &RowKey::new([&int(id)[..]]), &[(1, Some(&int(a)))])).unwrap();
}

#[test]
fn nothing_is_read_while_nothing_happens() {
    let engine = engine(1, 16 << 10);
    let table = create(&engine, RowFormat::Compact);
    fill(&engine, &table, (0..5).map(one));
    let (mut first, mut second) = (Keeper::new(&engine, &table), Keeper::new(&engine, &table));
    let mut session = engine.session();
    for round in 1..4 {
        for _ in 0..3 {
            first.get();
            second.get();
        }
        // One who looks does not make the other one read.
        assert_eq!((first.reads, second.reads), (round, round));
        // Nor do those who read, with locks or without.
        read(&mut session, &table);
        session
            .run(|s| {
                let mut cursor = s.cursor(&table, &ReadOptions::by_index(0).locking(ReadLock::Shared))?;
                s.for_each(&mut cursor, Direction::Forward, |_| ControlFlow::Continue(()))
            })
            .unwrap();
        first.get();
        assert_eq!(first.reads, round);
        set(&mut session, &table, 1, round as i32 + 100);
        assert_eq!(first.get()[1], (1, round as i64 + 100));
    }
}

#[test]
fn what_is_open_is_read_until_it_is_over() {
    let engine = engine(2, 16 << 10);
    let table = create(&engine, RowFormat::Compact);
    fill(&engine, &table, (0..5).map(one));
    let mut keeper = Keeper::new(&engine, &table);
    keeper.get();
    let mut session = engine.session();
    for (commit, a) in [(true, 77), (false, 88)] {
        session.begin(AccessMode::ReadWrite, false).unwrap();
        set(&mut session, &table, 2, a);
        let reads = keeper.reads;
        let before = keeper.get().clone();
        assert_eq!(keeper.get(), &before, "not committed, not seen");
        assert_eq!(keeper.reads, reads + 2, "it may be committed at any time");
        if commit {
            drop(session.commit().unwrap());
        } else {
            session.rollback().unwrap();
        }
        assert_eq!(keeper.get()[2], (2, 77));
        let reads = keeper.reads;
        keeper.get();
        assert_eq!(keeper.reads, reads);
    }
}

#[test]
fn a_table_that_is_another_one_has_changed() {
    let engine = engine(3, 16 << 10);
    let table = create(&engine, RowFormat::Compact);
    fill(&engine, &table, (0..5).map(one));
    let mut session = engine.session();
    let watch = |session: &mut Session| {
        let table = session.run(|s| s.table(TABLE)).unwrap();
        let watch = Watch::new(engine.core(), &table);
        assert!(!watch.may_have_changed());
        watch
    };
    let first = watch(&mut session);
    session.drop_index(TABLE, "b").unwrap();
    assert!(first.may_have_changed(), "another definition");
    let second = watch(&mut session);
    session.truncate_table(TABLE).unwrap();
    assert!(second.may_have_changed(), "emptied");
    let third = watch(&mut session);
    session.rename_table(TABLE, "test/other").unwrap();
    assert!(third.may_have_changed(), "another name");
}

/// What was committed before a keeper asks is in what it gets; whoever committed it, and however many do.
#[test]
fn nothing_is_missed() {
    let engine = engine(4, 16 << 10);
    let table = create(&engine, RowFormat::Compact);
    const WRITERS: i32 = 3;
    fill(&engine, &table, (0..WRITERS).map(|id| crate::cursor::bed::Row { a: Some(0), ..one(id) }));
    let committed: Vec<AtomicI64> = (0..WRITERS).map(|_| AtomicI64::new(0)).collect();
    let over = AtomicI64::new(0);
    std::thread::scope(|scope| {
        for id in 0..WRITERS {
            let (engine, table, committed, over) = (&engine, &table, &committed, &over);
            scope.spawn(move || {
                let mut session = engine.session();
                let mut rng = Rng::new(id as u64);
                for n in 1..=400 {
                    set(&mut session, table, id, n);
                    committed[id as usize].store(n.into(), Ordering::SeqCst);
                    (0..rng.below(300)).for_each(|_| std::hint::spin_loop());
                }
                over.fetch_add(1, Ordering::SeqCst);
            });
        }
        for _ in 0..2 {
            scope.spawn(|| {
                let mut keeper = Keeper::new(&engine, &table);
                loop {
                    let last = over.load(Ordering::SeqCst) == i64::from(WRITERS);
                    let least: Vec<i64> = committed.iter().map(|n| n.load(Ordering::SeqCst)).collect();
                    let kept = keeper.get();
                    for (id, &least) in least.iter().enumerate() {
                        assert!(kept[id].1 >= least, "row {id}: {} kept, {least} committed", kept[id].1);
                    }
                    if last {
                        break;
                    }
                }
            });
        }
    });
    let mut session = engine.session();
    let row = one(50);
    let mut keeper = Keeper::new(&engine, &table);
    keeper.get();
    session.run(|s| insert(s, &table, &row)).unwrap();
    assert_eq!(keeper.get().len(), WRITERS as usize + 1, "an insert");
    session.run(|s| s.delete(&table, &RowKey::new([&int(50)[..]]))).unwrap();
    assert_eq!(keeper.get().len(), WRITERS as usize, "a delete");
}
