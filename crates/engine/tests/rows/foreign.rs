//! Foreign keys: what MySQL 5.6.24 does with the same statements.

use crate::rows::bed::{Bed, column, index, int};
use std::sync::Arc;
use vaquita_base::codec::get_u32;
use vaquita_engine::ddl::{ForeignKeySpec, TableSpec};
use vaquita_engine::table::ReferentialAction::{self, Cascade, Restrict, SetNull};
use vaquita_engine::{Error, Result, RowKey, Session, Table};
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_format::index_def::KeyPart;

fn refers(
    columns: &[&str],
    parent: &str,
    parents: &[&str],
    del: ReferentialAction,
    upd: ReferentialAction,
) -> ForeignKeySpec {
    let own = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
    ForeignKeySpec {
        name: None,
        columns: own(columns),
        parent: parent.into(),
        parent_columns: own(parents),
        on_delete: del,
        on_update: upd,
    }
}

/// `t (a INT PRIMARY KEY, b INT, KEY kb (b), FOREIGN KEY (b) REFERENCES t (a))`.
fn self_referring(bed: &Bed, del: ReferentialAction, upd: ReferentialAction) -> Arc<Table> {
    let mut spec = TableSpec::new(
        "test/t",
        vec![column(ColumnDef::int("a", 4, false).not_null()), column(ColumnDef::int("b", 4, false))],
    );
    spec.primary_key = Some(vec![KeyPart::whole(0)]);
    spec.indexes = vec![index("kb", &[KeyPart::whole(1)], false)];
    spec.foreign_keys = vec![refers(&["b"], "test/t", &["a"], del, upd)];
    bed.create(&spec)
}

fn insert(session: &mut Session, table: &Arc<Table>, a: i32, b: Option<i32>) -> Result<RowKey> {
    let (a, b) = (int(a), b.and_then(int));
    session.run(|s| s.insert(table, &[a.as_deref(), b.as_deref()]))
}

fn key(a: i32) -> RowKey {
    RowKey::new([&int(a).unwrap()[..]])
}

fn set(session: &mut Session, table: &Arc<Table>, at: i32, changes: &[(usize, Option<i32>)]) -> Result<bool> {
    let values: Vec<_> = changes.iter().map(|&(c, v)| (c, v.and_then(int))).collect();
    let changes: Vec<_> = values.iter().map(|(c, v)| (*c, v.as_deref())).collect();
    session.run(|s| s.update(table, &key(at), &changes))
}

fn delete(session: &mut Session, table: &Arc<Table>, a: i32) -> Result<bool> {
    session.run(|s| s.delete(table, &key(a)))
}

/// Rows as numbers.
fn rows(bed: &Bed, table: &Table) -> Vec<Vec<Option<i32>>> {
    let number = |v: &Option<Vec<u8>>| v.as_ref().map(|v| (get_u32(v, 0) ^ 0x8000_0000) as i32);
    bed.rows(table).iter().map(|(_, row)| row.iter().map(number).collect()).collect()
}

fn refused(result: Result<bool>) {
    assert!(matches!(result, Err(Error::RowIsReferenced { .. })), "{result:?}");
}

#[test]
fn a_row_that_refers_to_itself_stays_under_restrict() {
    let bed = Bed::new(1);
    let table = self_referring(&bed, Restrict, Restrict);
    let mut session = bed.session();
    insert(&mut session, &table, 1, Some(1)).unwrap();
    refused(delete(&mut session, &table, 1));
    refused(set(&mut session, &table, 1, &[(0, Some(2)), (1, Some(2))]));
    assert_eq!(rows(&bed, &table), [[Some(1), Some(1)]]);
    bed.purge_and_check(&table);
}

#[test]
fn a_family_goes_by_cascade() {
    let bed = Bed::new(1);
    let table = self_referring(&bed, Cascade, Restrict);
    let mut session = bed.session();
    for (a, b) in [(1, 1), (2, 1), (3, 2)] {
        insert(&mut session, &table, a, Some(b)).unwrap();
    }
    assert!(delete(&mut session, &table, 1).unwrap());
    assert_eq!(bed.purge_and_check(&table).rows, 0);
}

#[test]
fn an_update_does_not_come_back_to_its_table() {
    let bed = Bed::new(1);
    let table = self_referring(&bed, Restrict, Cascade);
    let mut session = bed.session();
    insert(&mut session, &table, 1, None).unwrap();
    insert(&mut session, &table, 2, Some(1)).unwrap();
    refused(set(&mut session, &table, 1, &[(0, Some(5))]));
    insert(&mut session, &table, 3, Some(3)).unwrap();
    refused(set(&mut session, &table, 3, &[(0, Some(6))]));
    assert_eq!(rows(&bed, &table), [[Some(1), None], [Some(2), Some(1)], [Some(3), Some(3)]]);
    bed.purge_and_check(&table);
}

#[test]
fn cascades_nest_fourteen_deep() {
    for (n, goes) in [(15, true), (16, false)] {
        let bed = Bed::new(1);
        let table = self_referring(&bed, Cascade, Restrict);
        let mut session = bed.session();
        for a in 0..n {
            insert(&mut session, &table, a, (a > 0).then_some(a - 1)).unwrap();
        }
        let done = delete(&mut session, &table, 0);
        if goes {
            assert!(done.unwrap());
            assert_eq!(bed.purge_and_check(&table).rows, 0);
        } else {
            refused(done);
            assert_eq!(bed.purge_and_check(&table).rows, 16);
        }
    }
}

/// `p (a INT PRIMARY KEY)` and `t (a INT PRIMARY KEY, b INT)`.
fn family(bed: &Bed, del: ReferentialAction, upd: ReferentialAction) -> (Arc<Table>, Arc<Table>) {
    let mut parent = TableSpec::new("test/p", vec![column(ColumnDef::int("a", 4, false).not_null())]);
    parent.primary_key = Some(vec![KeyPart::whole(0)]);
    bed.create(&parent);
    let mut child = TableSpec::new(
        "test/t",
        vec![column(ColumnDef::int("a", 4, false).not_null()), column(ColumnDef::int("b", 4, false))],
    );
    child.primary_key = Some(vec![KeyPart::whole(0)]);
    child.indexes = vec![index("kb", &[KeyPart::whole(1)], false)];
    child.foreign_keys = vec![refers(&["b"], "test/p", &["a"], del, upd)];
    let child = bed.create(&child);
    (bed.table("test/p"), child)
}

#[test]
fn null_and_new_keys_reach_the_children() {
    let bed = Bed::new(1);
    let (parent, child) = family(&bed, SetNull, Cascade);
    let mut session = bed.session();
    for a in [1, 2] {
        session.run(|s| s.insert(&parent, &[int(a).as_deref()])).unwrap();
    }
    for (a, b) in [(1, 1), (2, 2), (3, 2), (4, 1)] {
        insert(&mut session, &child, a, Some(b)).unwrap();
    }
    session.begin(vaquita_engine::AccessMode::ReadWrite, false).unwrap();
    assert!(delete(&mut session, &parent, 1).unwrap());
    assert!(set(&mut session, &parent, 2, &[(0, Some(7))]).unwrap());
    let after = [[Some(1), None], [Some(2), Some(7)], [Some(3), Some(7)], [Some(4), None]];
    assert_eq!(rows(&bed, &child), after);
    session.rollback().unwrap();
    assert_eq!(rows(&bed, &child)[0], [Some(1), Some(1)]);
    assert_eq!(rows(&bed, &child)[2], [Some(3), Some(2)]);
    assert_eq!(rows(&bed, &parent), [[Some(1)], [Some(2)]]);
    bed.purge_and_check(&child);
    bed.purge_and_check(&parent);
}

#[test]
fn checks_can_be_turned_off() {
    let bed = Bed::new(1);
    let (parent, child) = family(&bed, Cascade, Cascade);
    let mut session = bed.session();
    session.settings.foreign_key_checks = false;
    insert(&mut session, &child, 1, Some(5)).unwrap();
    session.run(|s| s.insert(&parent, &[int(5).as_deref()])).unwrap();
    assert!(delete(&mut session, &parent, 5).unwrap());
    assert_eq!(rows(&bed, &child), [[Some(1), Some(5)]]);
    session.settings.foreign_key_checks = true;
    assert!(matches!(insert(&mut session, &child, 2, Some(5)), Err(Error::NoReferencedRow { .. })));
    assert!(matches!(set(&mut session, &child, 1, &[(1, Some(6))]), Err(Error::NoReferencedRow { .. })));
    assert!(set(&mut session, &child, 1, &[(1, None)]).unwrap());
}

/// A change of case is a change of the key: refused under RESTRICT, handed on by CASCADE.
#[test]
fn a_change_of_case_reaches_the_children() {
    for (upd, expected) in [(Restrict, &b"a"[..]), (Cascade, &b"A"[..])] {
        let bed = Bed::new(1);
        let text = |name: &str| column(ColumnDef::varchar(name, 10, Charset::LATIN1).not_null());
        let mut parent = TableSpec::new("test/p", vec![text("a")]);
        parent.primary_key = Some(vec![KeyPart::whole(0)]);
        bed.create(&parent);
        let mut child =
            TableSpec::new("test/t", vec![column(ColumnDef::int("a", 4, false).not_null()), text("b")]);
        child.primary_key = Some(vec![KeyPart::whole(0)]);
        child.indexes = vec![index("kb", &[KeyPart::whole(1)], false)];
        child.foreign_keys = vec![refers(&["b"], "test/p", &["a"], Restrict, upd)];
        let child = bed.create(&child);
        let parent = bed.table("test/p");
        let mut session = bed.session();
        session.run(|s| s.insert(&parent, &[Some(b"a")])).unwrap();
        session.run(|s| s.insert(&child, &[int(1).as_deref(), Some(b"a")])).unwrap();
        let done = session.run(|s| s.update(&parent, &RowKey::new([&b"a"[..]]), &[(0, Some(b"A"))]));
        assert_eq!(done.is_ok(), upd == Cascade, "{done:?}");
        assert_eq!(bed.rows(&child)[0].1[1].as_deref(), Some(expected));
        assert_eq!(bed.rows(&parent)[0].1[0].as_deref(), Some(expected));
        bed.purge_and_check(&child);
        bed.purge_and_check(&parent);
    }
}

#[test]
fn a_null_in_any_column_refers_to_nothing() {
    let bed = Bed::new(1);
    let int_column = |name: &str| ColumnDef::int(name, 4, false);
    let mut parent = TableSpec::new(
        "test/p",
        vec![column(int_column("a").not_null()), column(int_column("b").not_null())],
    );
    parent.primary_key = Some(vec![KeyPart::whole(0), KeyPart::whole(1)]);
    bed.create(&parent);
    let columns = vec![column(int_column("i").not_null()), column(int_column("a")), column(int_column("b"))];
    let mut child = TableSpec::new("test/t", columns);
    child.primary_key = Some(vec![KeyPart::whole(0)]);
    child.indexes = vec![index("kab", &[KeyPart::whole(1), KeyPart::whole(2)], false)];
    child.foreign_keys = vec![refers(&["a", "b"], "test/p", &["a", "b"], Restrict, Restrict)];
    let child = bed.create(&child);
    let mut session = bed.session();
    let row = |i, a: Option<i32>, b: Option<i32>| [int(i), a.and_then(int), b.and_then(int)];
    let values = row(1, None, Some(5));
    session.run(|s| s.insert(&child, &values.each_ref().map(Option::as_deref))).unwrap();
    let values = row(2, Some(4), Some(5));
    let done = session.run(|s| s.insert(&child, &values.each_ref().map(Option::as_deref)));
    assert!(matches!(&done, Err(Error::NoReferencedRow { value, .. }) if value == "4-5"), "{done:?}");
}
