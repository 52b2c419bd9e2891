//! What rows show: the columns asked for, from whatever record has them; and cursors whose leaves change under them.

use crate::cursor::bed::{
    BY_A, BY_A_T, INDEXES, PRIMARY, Row, Rows, create, engine, fields, fill, in_order, index, insert,
    random_row, read, values,
};
use std::ops::ControlFlow;
use std::sync::Arc;
use vaquita_base::Rng;
use vaquita_engine::ddl::TableSpec;
use vaquita_engine::stored::{int, to_signed};
use vaquita_engine::{
    AccessMode, Column, Direction, Engine, Error, Isolation, PointRead, ReadOptions, RowKey, Seek, Table,
};
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_format::index_def::{KeyPart, RowFormat};

fn random_rows(n: i32, seed: u64) -> Rows {
    let mut rng = Rng::new(seed);
    (0..n).map(|id| (id, random_row(&mut rng, id, 9_000))).collect()
}

/// Every list of columns shows the values of these columns, by every index, of current and of older versions.
#[test]
fn any_columns_by_any_index() {
    for format in [RowFormat::Dynamic, RowFormat::Compact, RowFormat::Redundant] {
        let engine = engine(7, 16_384);
        let table = create(&engine, format);
        let rows = random_rows(60, 7);
        fill(&engine, &table, rows.values().cloned());
        let mut older = engine.session();
        older.begin(AccessMode::ReadOnly, true).unwrap();
        let mut newer = engine.session();
        for id in 0..30 {
            let mut after = rows[&id].clone();
            (after.a, after.t, after.c) = (Some(id), b"new".to_vec(), Some(vec![b'n'; 12_000]));
            let stored = values(&after);
            let fields = fields(&stored);
            newer
                .run(|s| {
                    s.update(
                        &table,
                        &RowKey::new([&int(id)[..]]),
                        &[(1, fields[1]), (3, fields[3]), (5, fields[5])],
                    )
                })
                .unwrap();
        }
        let mut rng = Rng::new(3);
        for at in INDEXES {
            let want = in_order(&rows, at);
            for _ in 0..12 {
                let n = rng.index(7);
                let columns: Vec<usize> = (0..n).map(|_| rng.index(6)).collect();
                let options = ReadOptions::by_index(at).columns(columns.clone());
                let mut seen = Vec::new();
                older
                    .run(|s| {
                        let mut cursor = s.cursor(&table, &options)?;
                        let mut key = RowKey::default();
                        s.for_each(&mut cursor, Direction::Forward, |row| {
                            assert_eq!(row.n_columns(), columns.len());
                            row.row_key(&mut key).unwrap();
                            let shown: Vec<Option<Vec<u8>>> = (0..columns.len())
                                .map(|i| {
                                    let mut out = Vec::new();
                                    row.read_column(i, &mut out).unwrap().then_some(out)
                                })
                                .collect();
                            seen.push((to_signed(key.fields().next().unwrap()) as i32, shown));
                            ControlFlow::Continue(())
                        })
                    })
                    .unwrap();
                let want: Vec<_> = want
                    .iter()
                    .map(|r| {
                        let all = values(r);
                        (r.id, columns.iter().map(|&c| all[c].clone()).collect::<Vec<_>>())
                    })
                    .collect();
                assert_eq!(seen, want, "{format:?} index {at} columns {columns:?}");
            }
        }
    }
}

#[test]
fn what_is_not_there_is_refused() {
    let engine = engine(8, 8192);
    let table = create(&engine, RowFormat::Dynamic);
    let mut session = engine.session();
    let refused = |options: ReadOptions, session: &mut vaquita_engine::Session| {
        matches!(session.run(|s| s.cursor(&table, &options)), Err(Error::WrongState(_)))
    };
    assert!(refused(ReadOptions::by_index(6), &mut session));
    assert!(refused(ReadOptions::default().columns([6]), &mut session));
    assert!(PointRead::new(table.clone(), ReadOptions::by_index(BY_A)).is_err(), "not unique");
    let mut point = PointRead::new(table.clone(), ReadOptions::by_index(crate::cursor::bed::BY_U)).unwrap();
    let null = session.run(|s| s.get(&mut point, &[None], |_| ()));
    assert!(matches!(null, Err(Error::WrongState(_))), "NULL is not unique");
    let mut cursor = session.run(|s| s.cursor(&table, &ReadOptions::default())).unwrap();
    assert!(
        cursor.seek(&[Some(&int(1)), Some(&int(2))], Seek::Equal).is_err(),
        "more fields than the key has"
    );
}

/// A key on a prefix, and a secondary index with the whole column: the entry holds more than the clustered key takes.
#[test]
fn a_key_on_a_prefix() {
    let engine = engine(9, 8192);
    let columns = vec![
        Column::new(ColumnDef::varchar("p", 20, Charset::UTF8).not_null()),
        Column::new(ColumnDef::int("n", 4, false)),
    ];
    let spec = TableSpec {
        primary_key: Some(vec![KeyPart::prefix(0, 6)]),
        indexes: vec![index("p", &[KeyPart::whole(0)], false), index("n", &[KeyPart::whole(1)], false)],
        ..TableSpec::new(crate::cursor::bed::TABLE, columns)
    };
    let table = crate::cursor::bed::create_table(&engine, spec);
    let mut session = engine.session();
    let texts = ["äb tail", "äc", "b", "zürich", "zo"];
    for (i, text) in texts.iter().enumerate() {
        let n = int(10 - i as i32);
        session.run(|s| s.insert(&table, &[Some(text.as_bytes()), Some(&n)])).unwrap();
    }
    for (at, order) in
        [(1, ["äb tail", "äc", "b", "zo", "zürich"]), (2, ["zo", "zürich", "b", "äc", "äb tail"])]
    {
        let mut seen = Vec::new();
        let mut keys = Vec::new();
        session
            .run(|s| {
                let mut cursor = s.cursor(&table, &ReadOptions::by_index(at))?;
                while let Some(row) = s.next(&mut cursor)? {
                    seen.push(String::from_utf8(row.column(0).unwrap().to_vec()).unwrap());
                    let mut key = RowKey::default();
                    row.row_key(&mut key)?;
                    keys.push(String::from_utf8(key.fields().next().unwrap().to_vec()).unwrap());
                }
                Ok(())
            })
            .unwrap();
        if at == 2 {
            assert_eq!(seen, order);
        } else {
            seen.sort();
            let mut sorted = order.map(str::to_owned).to_vec();
            sorted.sort();
            assert_eq!(seen, sorted);
        }
        let short: Vec<String> = seen.iter().map(|t| t.chars().take(2).collect()).collect();
        if at == 2 {
            assert_eq!(keys, short, "the key is what the clustered index has of it");
        }
    }
}

/// Rows come and go, leaves split and merge, purge removes what it may, between any two fetches: a cursor of a view gives
/// what the view sees, each row once, in order.
#[test]
fn a_scan_is_not_disturbed() {
    for (seed, format) in [(1, RowFormat::Dynamic), (2, RowFormat::Compact)] {
        let engine = engine(seed, 8192);
        let table = create(&engine, format);
        let rows = random_rows(300, seed);
        fill(&engine, &table, rows.values().cloned());
        for at in INDEXES {
            for dir in [Direction::Forward, Direction::Backward] {
                disturb(&engine, &table, at, dir, seed);
            }
        }
    }
}

fn disturb(engine: &Engine, table: &Arc<Table>, at: usize, dir: Direction, seed: u64) {
    let mut rng = Rng::new(seed * 100 + at as u64);
    let mut reader = engine.session();
    reader.settings.isolation = Isolation::RepeatableRead;
    reader.begin(AccessMode::ReadOnly, true).unwrap();
    let mut want = Vec::new();
    reader
        .run(|s| {
            let mut cursor = s.cursor(table, &ReadOptions::by_index(PRIMARY))?;
            s.for_each(&mut cursor, Direction::Forward, |row| {
                want.push(read(row));
                ControlFlow::Continue(())
            })
        })
        .unwrap();
    let rows: Rows = want.into_iter().map(|r| (r.id, r)).collect();
    let mut want = in_order(&rows, at);
    if dir == Direction::Backward {
        want.reverse();
    }
    let mut writer = engine.session();
    let mut cursor = reader.run(|s| s.cursor(table, &ReadOptions::by_index(at))).unwrap();
    match dir {
        Direction::Forward => cursor.seek_first(),
        Direction::Backward => cursor.seek_last(),
    }
    let mut got: Vec<Row> = Vec::new();
    loop {
        for _ in 0..3 {
            change_something(engine, &mut writer, table, &mut rng);
        }
        let fetched = reader
            .run(|s| {
                let row = match dir {
                    Direction::Forward => s.next(&mut cursor)?,
                    Direction::Backward => s.prev(&mut cursor)?,
                };
                Ok(row.map(|row| read(&row)))
            })
            .unwrap();
        match fetched {
            Some(row) => got.push(row),
            None => break,
        }
    }
    assert_eq!(got, want, "index {at} {dir:?}");
}

fn change_something(
    engine: &Engine,
    writer: &mut vaquita_engine::Session,
    table: &Arc<Table>,
    rng: &mut Rng,
) {
    let id = rng.below(600) as i32;
    let key = RowKey::new([&int(id)[..]]);
    let new = random_row(rng, id, 3_000);
    match rng.below(4) {
        0 => drop(writer.run(|s| s.delete(table, &key)).unwrap()),
        1 if rng.one_in(8) => drop(engine.core().purge_step().unwrap()),
        _ => {
            let stored = values(&new);
            let fields = fields(&stored);
            let changes: Vec<_> = fields.iter().copied().enumerate().skip(1).collect();
            if !writer.run(|s| s.update(table, &key, &changes)).unwrap() {
                match writer.run(|s| insert(s, table, &new)) {
                    Ok(_) | Err(Error::DuplicateKey { .. }) => {}
                    Err(e) => panic!("{e}"),
                }
            }
        }
    }
}

/// Several fields of a key, some of them given.
#[test]
fn prefixes_of_a_key() {
    let engine = engine(12, 8192);
    let table = create(&engine, RowFormat::Dynamic);
    let rows = random_rows(200, 12);
    fill(&engine, &table, rows.values().cloned());
    let want: Vec<i32> = in_order(&rows, BY_A_T)
        .iter()
        .filter(|r| r.a == Some(2) && crate::cursor::bed::folded(&r.t) == b"B")
        .map(|r| r.id)
        .collect();
    assert!(want.len() > 3);
    let mut session = engine.session();
    for mode in [Seek::Equal, Seek::GreaterOrEqual] {
        let mut got = Vec::new();
        session
            .run(|s| {
                let mut cursor = s.cursor(&table, &ReadOptions::by_index(BY_A_T).columns([0]))?;
                let key: [Option<&[u8]>; 2] = [Some(&int(2)), Some(b"b")];
                cursor.seek(&key, mode)?;
                cursor.set_upper(&key, true)?;
                while let Some(row) = s.next(&mut cursor)? {
                    got.push(to_signed(row.column(0).unwrap()) as i32);
                }
                Ok(())
            })
            .unwrap();
        assert_eq!(got, want, "{mode:?}");
    }
}

/// An index that is younger than a view has no entries for what the view sees: it is refused, other indexes are read, and
/// so is the index once the view is gone.
#[test]
fn an_index_younger_than_the_view_is_refused() {
    let engine = engine(14, 8192);
    let table = create(&engine, RowFormat::Dynamic);
    let rows = random_rows(40, 14);
    fill(&engine, &table, rows.values().cloned());
    drop(table);
    let mut older = engine.session();
    older.begin(AccessMode::ReadOnly, true).unwrap();
    let mut ddl = engine.session();
    let key = RowKey::new([&int(3)[..]]);
    let table = ddl.run(|s| s.table(crate::cursor::bed::TABLE)).unwrap();
    ddl.run(|s| s.update(&table, &key, &[(3, Some(b"zz"))])).unwrap();
    drop(table);
    ddl.add_indexes(crate::cursor::bed::TABLE, &[index("t", &[KeyPart::whole(3)], false)]).unwrap();
    let table = older.run(|s| s.table(crate::cursor::bed::TABLE)).unwrap();
    let by_t = table.index("t").unwrap();
    let mut cursor = older.run(|s| s.cursor(&table, &ReadOptions::by_index(by_t))).unwrap();
    let refused = older.run(|s| s.next(&mut cursor).map(|row| row.is_some()));
    assert!(matches!(refused, Err(Error::ViewTooOld(_))), "{refused:?}");
    assert_eq!(older.run(|s| s.count(&table)).unwrap(), 40);
    let mut point = PointRead::new(table.clone(), ReadOptions::default()).unwrap();
    let seen = older.run(|s| s.get(&mut point, &[Some(&int(3))], read)).unwrap();
    assert_eq!(seen.as_ref(), rows.get(&3), "the row as it was");
    let _durable = older.commit().unwrap();
    cursor.seek(&[Some(b"zz")], Seek::Equal).unwrap();
    let found = older.run(|s| Ok(s.next(&mut cursor)?.map(|row| read(&row).id))).unwrap();
    assert_eq!(found, Some(3));
}

/// A transaction that uses a table already takes no older object of it: that one does not know the index that came since,
/// and a row changed by it would have no entry there.
#[test]
fn an_object_older_than_the_index_is_refused_in_a_transaction_that_uses_the_table() {
    let engine = engine(15, 8192);
    let old = create(&engine, RowFormat::Dynamic);
    fill(&engine, &old, random_rows(40, 15).values().cloned());
    let mut ddl = engine.session();
    ddl.add_indexes(crate::cursor::bed::TABLE, &[index("t", &[KeyPart::whole(3)], false)]).unwrap();
    let new = ddl.run(|s| s.table(crate::cursor::bed::TABLE)).unwrap();
    assert_eq!(old.id, new.id, "only the definition has changed");
    let (three, four) = (RowKey::new([&int(3)[..]]), RowKey::new([&int(4)[..]]));
    let mut session = engine.session();
    session.begin(AccessMode::ReadWrite, false).unwrap();
    session.run(|s| s.update(&new, &three, &[(3, Some(b"zz"))])).unwrap();
    let update = session.run(|s| s.update(&old, &four, &[(3, Some(b"zz"))]));
    assert!(matches!(update, Err(Error::TableChanged(_))), "{update:?}");
    let count = session.run(|s| s.count(&old));
    assert!(matches!(count, Err(Error::TableChanged(_))), "{count:?}");
    session.run(|s| s.update(&new, &four, &[(3, Some(b"zz"))])).unwrap();
    let _durable = session.commit().unwrap();
    let core = engine.core();
    while core.purge_step().unwrap() {}
    let report = vaquita_engine::check::check_table(core, &new).unwrap();
    assert!(report.is_purged(), "{report:?}");
}
