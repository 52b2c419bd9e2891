//! Keys that collate alike are one key: a row that gets another spelling of its own while its table is written anew.

use crate::rebuilds::{ANEW, Bed, Keep, Kind, TABLE};
use std::sync::Arc;
use vaquita_engine::check::check_table;
use vaquita_engine::{
    Column, Concurrency, Error, KeptKeys, ReadOptions, Result, RowKey, Session, TableSpec, stored,
};
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_format::index_def::KeyPart;
use vaquita_io::sim::SimDisk;

fn spec(name: &str, key: Vec<KeyPart>) -> TableSpec {
    let columns = vec![
        Column::new(ColumnDef::varchar("name", 30, Charset::LATIN1).not_null()),
        Column::new(ColumnDef::int("n", 4, false).not_null()),
    ];
    let mut spec = TableSpec::new(name, columns);
    spec.primary_key = Some(key);
    spec
}

fn insert(session: &mut Session, name: &str, n: i32) {
    session
        .run(|s| {
            let table = s.table(TABLE)?;
            s.insert(&table, &[Some(name.as_bytes()), Some(&stored::int(n))]).map(drop)
        })
        .unwrap();
}

fn respell(session: &mut Session, from: &str, to: &str) {
    let done = session.run(|s| {
        let table = s.table(TABLE)?;
        s.update(&table, &RowKey::new([from.as_bytes()]), &[(0, Some(to.as_bytes()))])
    });
    assert!(done.unwrap(), "{from} becomes {to}");
}

fn remove(session: &mut Session, name: &str) {
    let done = session.run(|s| {
        let table = s.table(TABLE)?;
        s.delete(&table, &RowKey::new([name.as_bytes()]))
    });
    assert!(done.unwrap(), "{name} goes");
}

/// In the middle: one spelling becomes another, and back, and a row goes and comes again under another one.
fn change(session: &mut Session) {
    respell(session, "bo", "Bo");
    respell(session, "anna", "ANNA");
    respell(session, "ANNA", "anna");
    remove(session, "carl");
    insert(session, "Carl", 30);
    respell(session, "Carl", "CARL");
    insert(session, "emil", 5);
    respell(session, "emil", "Emil");
    remove(session, "EMIL");
}

#[test]
fn a_key_in_another_spelling_is_the_same_key() {
    let whole = KeyPart::whole(0);
    let down = KeyPart { descending: true, ..whole };
    for (key, told, what) in [
        (whole, true, "the same key"),
        (down, true, "another order"),
        (down, false, "another order, not told of"),
    ] {
        let disk = SimDisk::new(5);
        disk.put_dir("/db".as_ref());
        let bed = Bed::open(disk.clone(), Arc::new(disk));
        let mut session = bed.engine.session();
        session.create_table(&spec(TABLE, vec![whole])).unwrap();
        ["anna", "bo", "carl", "dora"].iter().zip(1..).for_each(|(name, n)| insert(&mut session, name, n));
        let mut other = bed.engine.session();
        let origins = vec![Some(0), Some(1)];
        let event: Box<dyn FnOnce()> = Box::new(move || change(&mut other));
        let keep = Keep::new(Kind::Same, &origins, 2, Some(event));
        let known = [told.then_some(0), Some(1)];
        let (anew, writes) = (spec(ANEW, vec![key]), Concurrency::Writes);
        let done: Result<_> =
            session.rebuild_table_beside(TABLE, &anew, KeptKeys::default(), &known, writes, |_, _| {
                Ok::<_, Error>(keep)
            });
        done.unwrap_or_else(|e| panic!("{what}: {e}"));
        let table = bed.engine.core().table(TABLE).unwrap();
        check_table(bed.engine.core(), &table).unwrap();
        let rows = session.run(|s| {
            let mut cursor = s.cursor(&table, &ReadOptions::default())?;
            let mut rows = Vec::new();
            while let Some(row) = s.next(&mut cursor)? {
                let name = String::from_utf8_lossy(row.column(0).unwrap()).into_owned();
                rows.push((name, stored::to_signed(row.column(1).unwrap())));
            }
            Ok(rows)
        });
        let mut rows = rows.unwrap();
        rows.sort();
        let wanted =
            [("Bo", 2), ("CARL", 30), ("anna", 1), ("dora", 4)].map(|(name, n)| (name.to_owned(), n));
        assert_eq!(rows, wanted, "{what}");
    }
}
