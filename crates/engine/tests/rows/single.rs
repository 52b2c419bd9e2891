//! Single facts: undo records byte for byte, values off the page under a new key, a full disk, key text in messages.

use crate::rows::bed::{Bed, column, index, int};
use std::sync::{Arc, Mutex};
use vaquita_base::{RollPtr, TrxId};
use vaquita_engine::ddl::TableSpec;
use vaquita_engine::row::image::Image;
use vaquita_engine::row::undo_record::{Modification, insert_body, modify_body};
use vaquita_engine::row::versions::find_row;
use vaquita_engine::{AccessMode, Error, RowKey, Table, WaitFor, WaitHook};
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_format::index_def::KeyPart;
use vaquita_format::index_page::SysFields;
use vaquita_format::record::ExternRef;
use vaquita_format::tuple::TupleField;
use vaquita_format::undo::record::{UndoRecord, UndoType, UndoValue};

fn key(n: i32) -> RowKey {
    RowKey::new([&int(n).unwrap()[..]])
}

fn row(bed: &Bed, table: &Table, n: i32) -> Image {
    let key = int(n).unwrap();
    find_row(bed.engine.core(), table, &[TupleField::new(&key)]).unwrap().unwrap()
}

/// `id INT PRIMARY KEY, a INT, b VARCHAR(10), c INT, d VARCHAR(30)`, an index on `a`.
fn five_columns(bed: &Bed) -> Arc<Table> {
    let mut spec = TableSpec::new(
        "test/five",
        vec![
            column(ColumnDef::int("id", 4, false).not_null()),
            column(ColumnDef::int("a", 4, false)),
            column(ColumnDef::varchar("b", 10, Charset::LATIN1)),
            column(ColumnDef::int("c", 4, false)),
            column(ColumnDef::varchar("d", 30, Charset::LATIN1)),
        ],
    );
    spec.primary_key = Some(vec![KeyPart::whole(0)]);
    spec.indexes = vec![index("a", &[KeyPart::whole(1)], false)];
    bed.create(&spec)
}

/// Told around work.
#[derive(Debug, Default)]
struct Note(Mutex<Vec<&'static str>>);

impl WaitHook for Note {
    fn before(&self, what: WaitFor) {
        if what == WaitFor::Work {
            self.0.lock().unwrap().push("before");
        }
    }

    fn after(&self, what: WaitFor) {
        if what == WaitFor::Work {
            self.0.lock().unwrap().push("after");
        }
    }
}

#[test]
fn a_long_rollback_tells_that_it_begins() {
    let bed = Bed::new(1);
    let table = five_columns(&bed);
    let note = Arc::new(Note::default());
    for (rows, told) in [(10, &[][..]), (200, &["before", "after"])] {
        let mut session = bed.session();
        session.set_wait_hook(note.clone());
        session.begin(AccessMode::ReadWrite, false).unwrap();
        for n in 0..rows {
            let values = [int(n), int(1), None, int(3), None];
            session.run(|s| s.insert(&table, &values.each_ref().map(Option::as_deref))).unwrap();
        }
        session.rollback().unwrap();
        assert_eq!(*note.0.lock().unwrap(), told, "{rows} rows");
    }
}

/// The examples of the specification: `0b 00 15 04 80000006` and
/// `1c 04 15 00 00006f09 e0890000 013b0110 .. 01 06 0a 6331..`, but for the number of the table.
#[test]
fn undo_records_are_those_of_the_specification() {
    let bed = Bed::new(1);
    let table = five_columns(&bed);
    let number = u8::try_from(table.id.get()).unwrap();
    assert!(number < 0x80, "one byte");
    let six = int(6).unwrap();
    assert_eq!(insert_body(0, &table, &[TupleField::new(&six)]), [0x0B, 0, number, 4, 0x80, 0, 0, 6]);

    let values = [int(6), int(1), None, int(3), Some(b"c1c1c1c1c1".to_vec())];
    bed.session().run(|s| s.insert(&table, &values.each_ref().map(Option::as_deref))).unwrap();
    let mut old = row(&bed, &table, 6);
    old.set_sys(SysFields { trx_id: TrxId(0x6F09), roll_ptr: RollPtr(0x0089_0000_013B_0110) });
    let change = Modification { ty: UndoType::UpdateExisting, fields: &[6], order_changes: false };
    let body = modify_body(4, &table, &old, change).unwrap();
    let mut expected = vec![0x1C, 4, number, 0, 0, 0, 0, 0x6F, 9, 0xE0, 0x89, 0, 0, 1, 0x3B, 1, 0x10];
    expected.extend_from_slice(&[4, 0x80, 0, 0, 6, 1, 6, 10]);
    expected.extend_from_slice(b"c1c1c1c1c1");
    assert_eq!(body, expected);

    // Any index is ordered by id and a: positions 0 and 3.
    let ordering = [0, 14, 0, 4, 0x80, 0, 0, 6, 3, 4, 0x80, 0, 0, 1];
    let change = Modification { ty: UndoType::UpdateExisting, fields: &[3], order_changes: true };
    let body = modify_body(4, &table, &old, change).unwrap();
    let mut expected = vec![0x0C, 4, number, 0, 0, 0, 0, 0x6F, 9, 0xE0, 0x89, 0, 0, 1, 0x3B, 1, 0x10];
    expected.extend_from_slice(&[4, 0x80, 0, 0, 6, 1, 3, 4, 0x80, 0, 0, 1]);
    expected.extend_from_slice(&ordering);
    assert_eq!(body, expected);

    let change = Modification { ty: UndoType::DeleteMark, fields: &[], order_changes: true };
    let body = modify_body(4, &table, &old, change).unwrap();
    let mut expected = vec![0x0E, 4, number, 0, 0, 0, 0, 0x6F, 9, 0xE0, 0x89, 0, 0, 1, 0x3B, 1, 0x10];
    expected.extend_from_slice(&[4, 0x80, 0, 0, 6]);
    expected.extend_from_slice(&ordering);
    assert_eq!(body, expected);

    // NULL is five bytes; a record brought back is of type 13 and has its mark among the info bits.
    old.set_deleted(true);
    let change = Modification { ty: UndoType::UpdateDeleted, fields: &[4], order_changes: true };
    let body = modify_body(4, &table, &old, change).unwrap();
    assert_eq!(body[..4], [0x0D, 4, number, 0x20]);
    assert_eq!(body[22..29], [1, 4, 0xF0, 0xFF, 0xFF, 0xFF, 0xFF]);
}

/// `id INT PRIMARY KEY, x BLOB, y BLOB`, an index on 12 bytes of `x`.
fn two_blobs(bed: &Bed) -> Arc<Table> {
    let mut spec = TableSpec::new(
        "test/blobs",
        vec![
            column(ColumnDef::int("id", 4, false).not_null()),
            column(ColumnDef::blob("x", 4)),
            column(ColumnDef::blob("y", 4)),
        ],
    );
    spec.primary_key = Some(vec![KeyPart::whole(0)]);
    spec.indexes = vec![index("x", &[KeyPart::prefix(1, 12)], false)];
    bed.create(&spec)
}

/// An off-page column that an index holds a prefix of: marker, length in the record, length here, prefix, reference.
#[test]
fn undo_of_an_off_page_value_has_the_prefix_that_indexes_need() {
    let bed = Bed::new(1);
    let table = two_blobs(&bed);
    let long = vec![b'x'; 20_000];
    let values = [int(1), Some(long), Some(vec![b'y'; 20_000])];
    bed.session().run(|s| s.insert(&table, &values.each_ref().map(Option::as_deref))).unwrap();
    let mut old = row(&bed, &table, 1);
    old.load_external(bed.engine.core(), &table).unwrap();
    let reference = old.field(3).unwrap().to_vec();
    assert_eq!(reference.len(), 20);
    let change = Modification { ty: UndoType::UpdateExisting, fields: &[4], order_changes: true };
    let body = modify_body(0, &table, &old, change).unwrap();
    assert_eq!(body[0], 0x8C, "an off-page column is updated");
    let record = UndoRecord::parse(&body, 1).unwrap();
    assert_eq!(record.updates().collect::<Vec<_>>(), [(4, UndoValue::External(old.field(4).unwrap()))]);
    let with_prefix = [&b"xxxxxxxxxxxx"[..], &reference].concat();
    let expected = [
        (0, UndoValue::Inline(&[0x80, 0, 0, 1][..])),
        (3, UndoValue::ExternalPrefix { local_len: 20, bytes: &with_prefix }),
    ];
    assert_eq!(record.ordering().collect::<Vec<_>>(), expected);
    // Of a row that is deleted the value may be on its way out.
    let change = Modification { ty: UndoType::UpdateDeleted, fields: &[], order_changes: true };
    let body = modify_body(0, &table, &old, change).unwrap();
    let record = UndoRecord::parse(&body, 1).unwrap();
    assert_eq!(record.ordering().nth(1), Some((3, UndoValue::External(&reference))));
}

fn chain(image: &Image, field: usize) -> ExternRef {
    image.reference(field).unwrap().unwrap()
}

#[test]
fn values_off_the_page_go_along_to_a_new_key() {
    let bed = Bed::new(1);
    let table = two_blobs(&bed);
    let mut session = bed.session();
    let values = [int(1), Some(vec![b'x'; 30_000]), Some(vec![b'y'; 20_000])];
    session.run(|s| s.insert(&table, &values.each_ref().map(Option::as_deref))).unwrap();
    let before = row(&bed, &table, 1);
    session.begin(AccessMode::ReadWrite, false).unwrap();
    let (two, short) = (int(2), b"short");
    session.run(|s| s.update(&table, &key(1), &[(0, two.as_deref()), (2, Some(short))])).unwrap();
    let (old, new) = (row(&bed, &table, 1), row(&bed, &table, 2));
    assert!(old.is_deleted() && !new.is_deleted());
    // The old record gives x away and keeps y; the new one owns x, inherited.
    assert_eq!(chain(&old, 3), ExternRef { owner: false, ..chain(&before, 3) });
    assert_eq!(chain(&old, 4), chain(&before, 4));
    assert_eq!(chain(&new, 3), ExternRef { owner: true, inherited: true, ..chain(&before, 3) });
    assert_eq!(new.field(4), Some(&short[..]));
    // Another value replaces the inherited one, and everything is taken back.
    let other = vec![b'z'; 40_000];
    session.run(|s| s.update(&table, &key(2), &[(1, Some(&other))])).unwrap();
    session.rollback().unwrap();
    let after = row(&bed, &table, 1);
    assert!(!after.is_deleted());
    assert_eq!((chain(&after, 3), chain(&after, 4)), (chain(&before, 3), chain(&before, 4)));
    assert_eq!(bed.rows(&table)[0].1, values);
    bed.purge_and_check(&table);
    // The same for good.
    session.run(|s| s.update(&table, &key(1), &[(0, two.as_deref()), (2, Some(short))])).unwrap();
    bed.purge_and_check(&table);
    session.run(|s| s.update(&table, &key(2), &[(1, Some(&other))])).unwrap();
    bed.purge_and_check(&table);
    session.run(|s| s.delete(&table, &key(2))).unwrap();
    let report = bed.purge_and_check(&table);
    assert_eq!((report.rows, report.trees[0].off_page_pages), (0, 0));
}

/// Whatever a full disk stops is taken back, and what was there stays usable.
#[test]
fn a_full_disk_stops_statements_only() {
    let bed = Bed::new(1);
    let table = two_blobs(&bed);
    let mut session = bed.session();
    bed.disk.set_capacity(Some(bed.disk.used() + (2 << 20)));
    let mut refused = 0;
    for n in 0..600 {
        let x = vec![n as u8; 3_000 + (n as usize % 7) * 4_000];
        let values = [int(n), Some(x), Some(vec![b'y'; 20])];
        match session.run(|s| s.insert(&table, &values.each_ref().map(Option::as_deref))) {
            Ok(_) => {}
            Err(Error::Storage(_) | Error::Tree(_)) => refused += 1,
            Err(e) => panic!("{e}"),
        }
    }
    assert!(refused > 50, "{refused}");
    let report = bed.purge_and_check(&table);
    assert_eq!(report.rows, 600 - refused);
    bed.disk.set_capacity(None);
    let values = [int(1_000), Some(vec![1; 50_000]), None];
    session.run(|s| s.insert(&table, &values.each_ref().map(Option::as_deref))).unwrap();
    assert_eq!(bed.purge_and_check(&table).rows, report.rows + 1);
}

#[test]
fn refusals_name_what_is_wrong() {
    let bed = Bed::new(1);
    let table = five_columns(&bed);
    let mut session = bed.session();
    let mut insert = |values: [Option<Vec<u8>>; 5]| {
        session.run(|s| s.insert(&table, &values.each_ref().map(Option::as_deref))).map(drop)
    };
    let refused = insert([None, None, None, None, None]).unwrap_err();
    assert!(matches!(&refused, Error::NullNotAllowed { column, .. } if column == "id"), "{refused}");
    let long = Some(vec![b'x'; 31]);
    assert!(matches!(insert([int(1), None, None, None, long]), Err(Error::WrongState(_))));
    let narrow = Some(vec![0; 3]);
    assert!(matches!(insert([int(1), narrow, None, None, None]), Err(Error::WrongState(_))));
    assert!(matches!(session.run(|s| s.insert(&table, &[])), Err(Error::WrongState(_))));
    bed.purge_and_check(&table);
}

/// 40 columns of 250 bytes never leave the page.
#[test]
fn a_row_that_cannot_be_stored_is_refused() {
    let bed = Bed::new(1);
    let mut columns = vec![column(ColumnDef::int("id", 4, false).not_null())];
    columns.extend((0..40).map(|n| column(ColumnDef::varchar(format!("c{n}"), 250, Charset::LATIN1))));
    let mut spec = TableSpec::new("test/wide", columns);
    spec.primary_key = Some(vec![KeyPart::whole(0)]);
    let table = match bed.session().create_table(&spec) {
        Ok(()) => bed.table("test/wide"),
        // Refused when it is made, as MySQL does in strict mode.
        Err(_) => return,
    };
    let values: Vec<Option<Vec<u8>>> =
        std::iter::once(int(1)).chain((0..40).map(|_| Some(vec![b'x'; 250]))).collect();
    let fields: Vec<_> = values.iter().map(Option::as_deref).collect();
    let refused = bed.session().run(|s| s.insert(&table, &fields));
    assert!(matches!(refused, Err(Error::RowTooBig { limit: 8125, .. })), "{refused:?}");
    assert_eq!(bed.purge_and_check(&table).rows, 0);
}
