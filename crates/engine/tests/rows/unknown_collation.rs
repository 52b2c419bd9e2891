//! A table whose texts have a collation that is not known here: its rows can be read, and nothing else.

use crate::rows::bed::{Bed, column, int};
use std::sync::Arc;
use vaquita_engine::cursor::{PointRead, ReadOptions};
use vaquita_engine::ddl::TableSpec;
use vaquita_engine::{Error, Result, RowKey, Table};
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_format::index_def::KeyPart;

/// One that no MySQL 5.6 has.
const UNKNOWN: u16 = 1070;

fn unknown<T: std::fmt::Debug>(result: Result<T>) {
    match result {
        Err(Error::UnknownCollation { table, collation }) => {
            assert_eq!((table.as_str(), collation.as_str()), ("test/t", "1070"));
        }
        other => panic!("{other:?}"),
    }
}

fn table(bed: &Bed) -> Arc<Table> {
    let text = Charset { collation: UNKNOWN, mbminlen: 1, mbmaxlen: 4 };
    let mut spec = TableSpec::new(
        "test/t",
        vec![column(ColumnDef::int("a", 4, false).not_null()), column(ColumnDef::varchar("v", 20, text))],
    );
    spec.primary_key = Some(vec![KeyPart::whole(0)]);
    bed.create(&spec)
}

#[test]
fn it_can_only_be_read() {
    let bed = Bed::new(1);
    let table = table(&bed);
    let (a, key) = (int(1), RowKey::new([&int(1).unwrap()[..]]));
    let mut session = bed.session();
    unknown(session.run(|s| s.insert(&table, &[a.as_deref(), Some(b"x")])));
    unknown(session.run(|s| s.update(&table, &key, &[(1, Some(b"y"))])));
    unknown(session.run(|s| s.delete(&table, &key)));
    assert!(bed.rows(&table).is_empty());
    // Rows are found by the keys whose order is known.
    let mut read = PointRead::new(table.clone(), ReadOptions::default()).unwrap();
    let found = session.run(|s| s.get(&mut read, &[a.as_deref()], |_| ()));
    assert_eq!(found.unwrap(), None);
}

#[test]
fn no_index_is_made_on_it() {
    let bed = Bed::new(2);
    let text = Charset { collation: UNKNOWN, mbminlen: 1, mbmaxlen: 4 };
    let mut spec = TableSpec::new("test/t", vec![column(ColumnDef::varchar("v", 20, text).not_null())]);
    spec.primary_key = Some(vec![KeyPart::whole(0)]);
    assert!(matches!(bed.session().create_table(&spec), Err(Error::BadDefinition(_))));
}
