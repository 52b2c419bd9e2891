//! Views against a model: several transactions change rows at random; what each view sees, through every index and both
//! ways, is what was committed when it was opened, and the changes of its own transaction.

use crate::cursor::bed::{
    BY_U, INDEXES, PRIMARY, Row, Rows, create, engine, fields, in_order, random_row, read, values,
};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use vaquita_base::Rng;
use vaquita_engine::stored::int;
use vaquita_engine::{
    AccessMode, Direction, Engine, Isolation, PointRead, ReadOptions, RowKey, Seek, Session, Table,
};
use vaquita_format::index_def::RowFormat;

const WRITERS: usize = 4;
const IDS_EACH: i32 = 40;

/// A transaction that changes its own share of the ids.
struct Writer {
    session: Session,
    /// Its uncommitted rows; `None` is deleted.
    pending: BTreeMap<i32, Option<Row>>,
    open: bool,
}

struct Reader {
    session: Session,
    sees: Rows,
}

struct World {
    engine: Engine,
    table: Arc<Table>,
    committed: Rows,
    writers: Vec<Writer>,
    readers: Vec<Reader>,
    rng: Rng,
    long: usize,
}

impl World {
    fn new(seed: u64, format: RowFormat, page_size: usize) -> World {
        let engine = engine(seed, page_size);
        let table = create(&engine, format);
        let writers = (0..WRITERS)
            .map(|_| {
                let mut session = engine.session();
                session.settings.isolation = Isolation::ReadCommitted;
                session.settings.lock_wait_timeout = 0;
                Writer { session, pending: BTreeMap::new(), open: false }
            })
            .collect();
        let (committed, rng) = (Rows::new(), Rng::new(seed));
        World { engine, table, committed, writers, readers: Vec::new(), rng, long: page_size * 2 }
    }

    /// One statement of one writer.
    fn write(&mut self) {
        let w = self.rng.index(WRITERS);
        let id = w as i32 + WRITERS as i32 * self.rng.below(IDS_EACH as u64) as i32;
        let writer = &mut self.writers[w];
        if !writer.open {
            writer.session.begin(AccessMode::ReadWrite, false).unwrap();
            writer.open = true;
        }
        let now = match writer.pending.get(&id) {
            Some(row) => row.clone(),
            None => self.committed.get(&id).cloned(),
        };
        let new = random_row(&mut self.rng, id, self.long);
        let key = RowKey::new([&int(id)[..]]);
        let (table, rng) = (&self.table, &mut self.rng);
        let after = writer.session.run(|s| {
            let values = values(&new);
            let fields = fields(&values);
            match &now {
                None => s.insert(table, &fields).map(|_| Some(new.clone())),
                Some(_) if rng.one_in(4) => {
                    assert!(s.delete(table, &key)?);
                    Ok(None)
                }
                Some(old) => {
                    let mut after = old.clone();
                    let mut changes = Vec::new();
                    for (column, field) in fields.iter().enumerate().skip(1) {
                        if rng.one_in(2) {
                            changes.push((column, *field));
                            match column {
                                1 => after.a = new.a,
                                2 => after.b = new.b.clone(),
                                3 => after.t = new.t.clone(),
                                4 => after.u = new.u,
                                _ => after.c = new.c.clone(),
                            }
                        }
                    }
                    s.update(table, &key, &changes)?;
                    Ok(Some(after))
                }
            }
        });
        match after {
            Ok(after) => drop(self.writers[w].pending.insert(id, after)),
            // Writers change rows of their own, but may meet in the gaps of the unique index.
            Err(vaquita_engine::Error::LockWaitTimeout) => {}
            Err(e) => panic!("{e}"),
        }
    }

    fn end(&mut self) {
        let w = self.rng.index(WRITERS);
        let writer = &mut self.writers[w];
        let pending = std::mem::take(&mut writer.pending);
        writer.open = false;
        if self.rng.one_in(3) {
            writer.session.rollback().unwrap();
            return;
        }
        let _durable = writer.session.commit().unwrap();
        merge(&mut self.committed, pending);
    }

    fn open_reader(&mut self) {
        let mut session = self.engine.session();
        session.settings.isolation = Isolation::RepeatableRead;
        session.begin(AccessMode::ReadOnly, true).unwrap();
        self.readers.push(Reader { session, sees: self.committed.clone() });
    }

    fn check_all(&mut self) {
        let (table, rng) = (&self.table, &mut self.rng);
        for reader in &mut self.readers {
            check(&mut reader.session, table, &reader.sees, rng);
        }
        for writer in &mut self.writers {
            let mut sees = self.committed.clone();
            merge(&mut sees, writer.pending.clone());
            check(&mut writer.session, table, &sees, rng);
        }
        let mut dirty = self.committed.clone();
        self.writers.iter().for_each(|w| merge(&mut dirty, w.pending.clone()));
        let mut session = self.engine.session();
        session.settings.isolation = Isolation::ReadUncommitted;
        check(&mut session, table, &dirty, rng);
    }
}

fn merge(rows: &mut Rows, changes: BTreeMap<i32, Option<Row>>) {
    for (id, row) in changes {
        match row {
            Some(row) => drop(rows.insert(id, row)),
            None => drop(rows.remove(&id)),
        }
    }
}

/// Everything a session sees is `sees`.
fn check(session: &mut Session, table: &Arc<Table>, sees: &Rows, rng: &mut Rng) {
    for index in INDEXES {
        let want = in_order(sees, index);
        let options = ReadOptions::by_index(index);
        let forward = scan(session, table, &options, Direction::Forward);
        assert_eq!(forward, want, "index {index} forwards");
        let mut backward = scan(session, table, &options, Direction::Backward);
        backward.reverse();
        assert_eq!(backward, want, "index {index} backwards");
        assert_eq!(one_by_one(session, table, &options), want, "index {index}, row by row");
    }
    session
        .run(|s| {
            assert_eq!(s.count(table)?, sees.len() as u64);
            let found = Mutex::new(Vec::new());
            s.parallel_scan(table, &ReadOptions::by_index(PRIMARY), 2, |_, row| {
                found.lock().unwrap().push(read(row));
                ControlFlow::Continue(())
            })?;
            let mut found = found.into_inner().unwrap();
            found.sort_by_key(|r| r.id);
            assert_eq!(found, in_order(sees, PRIMARY), "by two threads");
            Ok(())
        })
        .unwrap();
    let mut by_id = PointRead::new(table.clone(), ReadOptions::default()).unwrap();
    let mut by_u = PointRead::new(table.clone(), ReadOptions::by_index(BY_U)).unwrap();
    for _ in 0..20 {
        let id = rng.below(WRITERS as u64 * IDS_EACH as u64) as i32;
        let got = session.run(|s| s.get(&mut by_id, &[Some(&int(id))], read)).unwrap();
        assert_eq!(got.as_ref(), sees.get(&id));
        let u = id * 4 + rng.below(4) as i32;
        let got = session.run(|s| s.get(&mut by_u, &[Some(&int(u))], read)).unwrap();
        assert_eq!(got.as_ref(), sees.values().find(|r| r.u == Some(u)));
    }
    let ids: Vec<i32> = (0..40).map(|_| rng.below(WRITERS as u64 * IDS_EACH as u64) as i32).collect();
    let rows = many(session, &mut by_id, &ids);
    assert_eq!(rows, ids.iter().map(|id| sees.get(id).cloned()).collect::<Vec<_>>());
    let us: Vec<i32> = ids.iter().map(|id| id * 4 + rng.below(4) as i32).collect();
    let rows = many(session, &mut by_u, &us);
    let seen = |u: &i32| sees.values().find(|r| r.u == Some(*u)).cloned();
    assert_eq!(rows, us.iter().map(seen).collect::<Vec<_>>());
}

/// Rows by many keys in one visit.
fn many(session: &mut Session, read_by: &mut PointRead, keys: &[i32]) -> Vec<Option<Row>> {
    let stored: Vec<[u8; 4]> = keys.iter().map(|&key| int(key)).collect();
    let keys: Vec<[Option<&[u8]>; 1]> = stored.iter().map(|key| [Some(&key[..])]).collect();
    let mut rows = Vec::new();
    session
        .run(|s| {
            s.get_many(read_by, &keys, |i, row| {
                assert_eq!(i, rows.len(), "in the order of the keys");
                rows.push(row.map(read));
                ControlFlow::Continue(())
            })
        })
        .unwrap();
    rows
}

fn scan(session: &mut Session, table: &Arc<Table>, options: &ReadOptions, dir: Direction) -> Vec<Row> {
    let mut found = Vec::new();
    session
        .run(|s| {
            let mut cursor = s.cursor(table, options)?;
            match dir {
                Direction::Forward => cursor.seek_first(),
                Direction::Backward => cursor.seek_last(),
            }
            s.for_each(&mut cursor, dir, |row| {
                found.push(read(row));
                ControlFlow::Continue(())
            })
        })
        .unwrap();
    found
}

/// A scan by single fetches that turns round twice on its way.
fn one_by_one(session: &mut Session, table: &Arc<Table>, options: &ReadOptions) -> Vec<Row> {
    let mut found: Vec<Row> = Vec::new();
    session
        .run(|s| {
            let mut cursor = s.cursor(table, options)?;
            while let Some(row) = s.next(&mut cursor)? {
                found.push(read(&row));
                if found.len() == 7 || found.len() == 40 {
                    for back in 1..=3 {
                        let row = s.prev(&mut cursor)?.expect("they were there before");
                        assert_eq!(read(&row), found[found.len() - 1 - back]);
                    }
                    for forth in (0..3).rev() {
                        let row = s.next(&mut cursor)?.expect("they were there before");
                        assert_eq!(read(&row), found[found.len() - 1 - forth]);
                    }
                }
            }
            assert!(s.next(&mut cursor)?.is_none());
            // Behind the end, and back.
            let last = s.prev(&mut cursor)?.map(|row| read(&row));
            assert_eq!(last.as_ref(), found.last());
            Ok(())
        })
        .unwrap();
    found
}

fn play(seed: u64, format: RowFormat, page_size: usize, steps: u32) {
    let mut world = World::new(seed, format, page_size);
    for step in 0..steps {
        match world.rng.below(40) {
            0..=1 => world.open_reader(),
            2..=4 => world.end(),
            5 if !world.readers.is_empty() => {
                let i = world.rng.index(world.readers.len());
                let _durable = world.readers.swap_remove(i).session.commit().unwrap();
            }
            6..=7 => drop(world.engine.core().purge_step().unwrap()),
            _ => world.write(),
        }
        if step % 50 == 49 {
            world.check_all();
        }
    }
    world.check_all();
}

#[test]
fn views_see_what_was_committed_dynamic() {
    play(1, RowFormat::Dynamic, 4096, 600);
}

#[test]
fn views_see_what_was_committed_compact() {
    play(2, RowFormat::Compact, 16384, 400);
}

#[test]
fn views_see_what_was_committed_redundant() {
    play(3, RowFormat::Redundant, 8192, 400);
}

#[test]
fn ranges_begin_and_end_where_they_are_told() {
    let mut world = World::new(4, RowFormat::Dynamic, 8192);
    (0..400).for_each(|_| world.write());
    world.writers.iter_mut().for_each(|w| drop(w.session.commit().unwrap()));
    let writers = std::mem::take(&mut world.writers);
    writers.into_iter().for_each(|w| merge(&mut world.committed, w.pending));
    let mut session = world.engine.session();
    let rows = &world.committed;
    let by_a = in_order(rows, crate::cursor::bed::BY_A);
    let modes = [Seek::GreaterOrEqual, Seek::Greater, Seek::LessOrEqual, Seek::Less, Seek::Equal];
    let ids = |rows: &[Row]| rows.iter().map(|r| r.id).collect::<Vec<_>>();
    for (mode, a) in modes.into_iter().flat_map(|m| (-5..6).map(move |a| (m, a))) {
        let want: Vec<Row> = by_a
            .iter()
            .filter(|r| match mode {
                Seek::GreaterOrEqual => r.a >= Some(a),
                Seek::Greater => r.a > Some(a),
                Seek::LessOrEqual => r.a <= Some(a),
                Seek::Less => r.a < Some(a),
                Seek::Equal => r.a == Some(a),
            })
            .cloned()
            .collect();
        let directions: &[Direction] = match mode {
            Seek::GreaterOrEqual | Seek::Greater => &[Direction::Forward],
            Seek::LessOrEqual | Seek::Less => &[Direction::Backward],
            Seek::Equal => &[Direction::Forward, Direction::Backward],
        };
        for &dir in directions {
            let mut got = Vec::new();
            session
                .run(|s| {
                    let mut cursor =
                        s.cursor(&world.table, &ReadOptions::by_index(crate::cursor::bed::BY_A))?;
                    cursor.seek(&[Some(&int(a))], mode)?;
                    s.for_each(&mut cursor, dir, |row| {
                        got.push(read(row));
                        ControlFlow::Continue(())
                    })
                })
                .unwrap();
            if dir == Direction::Backward {
                got.reverse();
            }
            assert_eq!(ids(&got), ids(&want), "{mode:?} {a} {dir:?}");
        }
    }
    // Two-sided ranges by the primary key.
    for (low, high) in [(3, 60), (10, 10), (50, 20), (-5, 1_000)] {
        for (low_in, high_in) in [(true, true), (true, false), (false, true), (false, false)] {
            let inside = |id: i32| {
                (if low_in { id >= low } else { id > low }) && if high_in { id <= high } else { id < high }
            };
            let want: Vec<i32> = rows.keys().copied().filter(|&id| inside(id)).collect();
            let mut got = Vec::new();
            session
                .run(|s| {
                    let mut cursor = s.cursor(&world.table, &ReadOptions::default().columns([0]))?;
                    cursor.seek(
                        &[Some(&int(low))],
                        if low_in { Seek::GreaterOrEqual } else { Seek::Greater },
                    )?;
                    cursor.set_upper(&[Some(&int(high))], high_in)?;
                    while let Some(row) = s.next(&mut cursor)? {
                        got.push(vaquita_engine::stored::to_signed(row.column(0).unwrap()) as i32);
                    }
                    Ok(())
                })
                .unwrap();
            assert_eq!(got, want);
            got.clear();
            session
                .run(|s| {
                    let mut cursor = s.cursor(&world.table, &ReadOptions::default().columns([0]))?;
                    cursor.seek(&[Some(&int(high))], if high_in { Seek::LessOrEqual } else { Seek::Less })?;
                    cursor.set_lower(&[Some(&int(low))], low_in)?;
                    while let Some(row) = s.prev(&mut cursor)? {
                        got.push(vaquita_engine::stored::to_signed(row.column(0).unwrap()) as i32);
                    }
                    Ok(())
                })
                .unwrap();
            got.reverse();
            assert_eq!(got, want);
        }
    }
}
