//! Damaged undo records and rows: errors, never a panic.

use crate::rows::random::World;
use std::panic::{AssertUnwindSafe, catch_unwind};
use vaquita_base::{PageId, PageNo, Rng, SpaceId};
use vaquita_engine::check::check_table;
use vaquita_engine::cursor::ReadLock;
use vaquita_engine::{ReadOptions, Session};
use vaquita_format::fil::{self, PageType};

/// Overwrites bytes of some pages of a kind.
fn damage(world: &World, space: SpaceId, kind: PageType, rng: &mut Rng) {
    let storage = &world.bed.engine.core().storage;
    for page in 3..600 {
        let mut mtr = storage.begin().unwrap();
        let Ok(page) = mtr.get_exclusive(PageId::new(space, PageNo(page))) else { return };
        let bytes = mtr.page(page);
        if fil::raw_type(bytes) != kind.as_u16() {
            continue;
        }
        let end = if kind == PageType::UndoLog { 1_200 } else { bytes.len() - 8 };
        for _ in 0..1 + rng.below(4) {
            // Behind the headers, where records are.
            let at = if kind == PageType::UndoLog { 272 } else { 120 } + rng.index(end - 280);
            mtr.write_u8(page, at, rng.below(256) as u8);
        }
        mtr.commit();
    }
}

fn run(seed: u64) {
    let mut rng = Rng::new(seed);
    let mut world = World::new(seed, 3);
    for _ in 0..200 {
        world.step();
    }
    if rng.one_in(2) {
        damage(&world, SpaceId::SYSTEM, PageType::UndoLog, &mut rng);
    } else {
        let table = rng.index(world.tables.len());
        damage(&world, world.tables[table].space, PageType::Index, &mut rng);
    }
    let panics = catch_unwind(AssertUnwindSafe(|| {
        world.roll_back_all();
        let core = world.bed.engine.core();
        for table in &world.tables {
            // Errors are expected.
            let _ = check_table(core, table);
        }
        let _ = core.purge_step();
    }));
    assert!(panics.is_ok(), "seed {seed}");
}

#[test]
fn damage_is_an_error() {
    for seed in 0..40 {
        run(seed);
    }
}

/// Overwrites bytes anywhere on a page but its own number and LSN: headers, links and directories too.
fn damage_page(world: &World, space: SpaceId, page: PageNo, rng: &mut Rng) {
    let storage = &world.bed.engine.core().storage;
    let mut mtr = storage.begin().unwrap();
    let Ok(page) = mtr.get_exclusive(PageId::new(space, page)) else { return };
    let len = mtr.page(page).len();
    for _ in 0..1 + rng.below(6) {
        let at = match rng.below(4) {
            // Links to the pages beside it.
            0 => 8 + rng.index(8),
            // Headers of pages of trees, of segments, of lists.
            1 => 38 + rng.index(62),
            2 => len - 8 - 2 - rng.index(60),
            _ => 38 + rng.index(len - 46),
        };
        let value = if rng.one_in(2) { rng.below(256) as u8 } else { [0, 1, 0x7f, 0xff][rng.index(4)] };
        mtr.write_u8(page, at, value);
    }
    mtr.commit();
}

/// Every row of a table by an index, errors welcome.
fn read(session: &mut Session, world: &World, table: usize, options: &ReadOptions, down: bool) {
    let table = &world.tables[table];
    let _ = session.run(|s| {
        let mut cursor = s.cursor(table, options)?;
        if down {
            cursor.seek_last()
        } else {
            cursor.seek_first()
        }
        let mut value = Vec::new();
        for _ in 0..3_000 {
            let row = if down { s.prev(&mut cursor)? } else { s.next(&mut cursor)? };
            let Some(row) = row else { break };
            for column in 0..table.columns.len() {
                value.clear();
                row.read_column(column, &mut value)?;
            }
        }
        Ok(())
    });
}

/// Statements on damaged tables: each ends, with an error if it must, and so do rollback, purge and checks.
fn statements(seed: u64) {
    let mut rng = Rng::new(seed);
    let mut world = World::new(seed, 2);
    world.shape.long = 3_000;
    for _ in 0..150 {
        world.step();
    }
    let keys: Vec<_> = world.tables.iter().map(|table| world.bed.rows(table)).collect();
    let spaces: Vec<SpaceId> = world.tables.iter().map(|table| table.space).collect();
    for _ in 0..1 + rng.below(8) {
        let space = if rng.one_in(4) { SpaceId::SYSTEM } else { spaces[rng.index(spaces.len())] };
        let pages = world.bed.engine.core().storage.spaces().get(space).map_or(1, |s| s.size_pages());
        damage_page(&world, space, PageNo(rng.below(pages.into()) as u32), &mut rng);
    }
    let panics = catch_unwind(AssertUnwindSafe(|| {
        world.roll_back_all();
        let mut session = world.bed.session();
        session.settings.lock_wait_timeout = 0;
        for _ in 0..40 {
            let at = rng.index(world.tables.len());
            let (table, row) = (world.tables[at].clone(), world.row(at));
            let fields: Vec<Option<&[u8]>> = row.iter().map(Option::as_deref).collect();
            let key = (!keys[at].is_empty()).then(|| keys[at][rng.index(keys[at].len())].0.clone());
            match (rng.below(6), key) {
                (0 | 1, _) => _ = session.run(|s| s.insert(&table, &fields)),
                (2, Some(key)) => {
                    let changes: Vec<_> = (1..fields.len()).map(|i| (i, fields[i])).collect();
                    let _ = session.run(|s| s.update(&table, &key, &changes));
                }
                (3, Some(key)) => _ = session.run(|s| s.delete(&table, &key)),
                _ => {
                    let mut options = ReadOptions::by_index(rng.index(table.indexes.len()));
                    if rng.one_in(3) {
                        options = options.locking(ReadLock::Exclusive);
                    }
                    read(&mut session, &world, at, &options, rng.one_in(2));
                }
            }
        }
        drop(session);
        let core = world.bed.engine.core();
        for table in &world.tables {
            let _ = check_table(core, table);
            let _ = core.analyze(table);
        }
        for _ in 0..5 {
            let _ = core.purge_step();
        }
        let _ = core.storage.flush_everything();
    }));
    assert!(panics.is_ok(), "seed {seed}");
}

#[test]
fn statements_on_damage_end() {
    let number = |name: &str| std::env::var(name).ok().and_then(|s| s.parse().ok());
    let first = number("DAMAGE_FIRST").unwrap_or(0);
    for seed in first..first + number("DAMAGE_SEEDS").unwrap_or(60) {
        statements(seed);
    }
}
