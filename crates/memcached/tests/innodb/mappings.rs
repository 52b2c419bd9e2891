//! Keys and values of every kind; how connections choose mappings; what cannot be mapped.

use crate::innodb::bed::{Bed, Ops, index, insert, insert_text, mistake, spec};
use std::ops::ControlFlow;
use vaquita_engine::table::DefaultValue;
use vaquita_engine::{Column, Field, stored};
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_memcached::store::{Count, Counted, Expiry, Failure, Mode, NewItem, Outcome, Range, Store};

/// A table of two columns, mapped as `m` without anything else.
fn two(bed: &Bed, key: ColumnDef, value: ColumnDef) {
    let spec = spec("test/two", vec![key.not_null(), value], &[0]);
    bed.session().create_table(&spec).expect("made");
    bed.map(["m", "test", "two", "k", "v", "0", "", "", "PRIMARY"]);
}

fn text(name: &str, chars: u32) -> ColumnDef {
    ColumnDef::varchar(name, chars, Charset::UTF8)
}

#[test]
fn integer_keys_of_all_widths() {
    for (bytes, unsigned, good, bad) in [
        (1, false, ["-128", "127"], ["-129", "128"]),
        (1, true, ["0", "255"], ["-1", "256"]),
        (2, false, ["-32768", "32767"], ["-32769", "32768"]),
        (3, true, ["0", "16777215"], ["16777216", "x"]),
        (4, false, ["-2147483648", "2147483647"], ["2147483648", "1.0"]),
        (
            8,
            false,
            ["-9223372036854775808", "9223372036854775807"],
            ["9223372036854775808", "-9223372036854775809"],
        ),
        (8, true, ["0", "18446744073709551615"], ["18446744073709551616", ""]),
    ] {
        let bed = Bed::new();
        two(&bed, ColumnDef::int("k", bytes, unsigned), ColumnDef::blob("v", 2));
        let mut store = bed.store();
        store.bind(b"m").unwrap();
        for key in good {
            assert_eq!(store.set(key, key), 0, "no column for numbers");
            assert_eq!(store.one(key), Some((0, 0, key.as_bytes().to_vec())));
        }
        for key in bad {
            let why = "the key is no value of the column's type: column k";
            assert_eq!(mistake(store.all(&[key])), why, "{key}");
            assert_eq!(mistake(store.keep(Mode::Set, key, "v")), why, "{key}");
        }
        // In the order of the numbers.
        let mut keys = Vec::new();
        let all = Range {
            from: None,
            from_included: true,
            to: None,
            to_included: true,
            descending: false,
            limit: 9,
        };
        store
            .range(&all, |item| {
                keys.push(String::from_utf8_lossy(item.key).into_owned());
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(keys, good);
        assert_eq!(store.delete(good[0].as_bytes(), 0), Ok(Outcome::Done(0)));
        assert_eq!(store.one(good[0]), None);
    }
}

#[test]
fn string_keys_are_compared_as_their_columns_are() {
    let binary = Bed::new();
    two(&binary, ColumnDef::varbinary("k", 10), ColumnDef::blob("v", 2));
    let mut store = binary.store();
    store.bind(b"m").unwrap();
    store.set("a", "1");
    assert_eq!(store.all(&["A", "a ", "a"]).map(|all| all.len()), Ok(1));
    store
        .store(Mode::Set, b"\xff\x00", &NewItem { flags: 0, expires: Expiry(0), value: b"\x00" }, 0)
        .unwrap();
    assert_eq!(binary.rows("test/two").len(), 2);

    let padded = Bed::new();
    two(&padded, ColumnDef::char("k", 6, Charset::LATIN1), ColumnDef::char("v", 5, Charset::UTF8));
    let mut store = padded.store();
    store.bind(b"m").unwrap();
    store.set("a", "x");
    assert_eq!(store.value("A"), Some("x".into()));
    store.set("A", "yé");
    assert_eq!(store.value("a"), Some("yé".into()));
    assert_eq!(padded.rows("test/two").len(), 1);

    let unicode = Bed::new();
    two(&unicode, text("k", 3), text("v", 3));
    let mut store = unicode.store();
    store.bind(b"m").unwrap();
    store.set("äöü", "ÄÖÜ");
    // utf8_general_ci.
    assert_eq!(store.value("AOU"), Some("ÄÖÜ".into()));
    assert_eq!(store.keep(Mode::Set, "k", "äöüx"), Err(Failure::TooLarge));
    let bad = NewItem { flags: 0, expires: Expiry(0), value: b"\xff" };
    let why = mistake(store.store(Mode::Set, b"k", &bad, 0));
    assert_eq!(why, "the value is not text of the column's character set: column v");
    assert_eq!(
        mistake(store.keep(Mode::Set, "💚", "v")),
        "the key is not text of the column's character set: column k"
    );
    assert_eq!(store.one("💚"), None);
}

#[test]
fn binary_keys_are_padded_to_their_width() {
    let bed = Bed::new();
    two(&bed, ColumnDef::binary("k", 4), ColumnDef::binary("v", 3));
    let mut store = bed.store();
    store.bind(b"m").unwrap();
    store.set("ab", "c");
    // As SQL shows it.
    assert_eq!(store.one("ab\0\0").map(|seen| seen.2), Some(b"c\0\0".to_vec()));
    assert_eq!(store.one("ab").map(|seen| seen.2), Some(b"c\0\0".to_vec()));
}

/// Key of two columns by a unique secondary index, values of several types, a column with a default, one that counts.
fn wide(bed: &Bed) {
    let columns = vec![
        ColumnDef::int("id", 4, true).not_null(),
        text("k1", 10).not_null(),
        ColumnDef::int("k2", 2, false).not_null(),
        text("v1", 10),
        ColumnDef::int("v2", 4, false),
        ColumnDef::decimal("v3", 6, 2),
        ColumnDef::int("f", 4, true),
        ColumnDef::int("c", 8, false),
        ColumnDef::int("e", 8, false),
        text("other", 10).not_null(),
    ];
    let mut spec = spec("test/wide", columns, &[0]);
    spec.columns[0].auto_increment = true;
    spec.columns[5].decimal = Some((6, 2));
    spec.columns[9].default = DefaultValue::Stored(b"given".to_vec());
    spec.indexes = vec![index("by_key", &[1, 2], true)];
    bed.session().create_table(&spec).expect("made");
    bed.map(["wide", "test", "wide", "k1|k2", "v1, v2;v3", "f", "c", "e", "by_key"]);
}

#[test]
fn several_columns_and_a_secondary_index() {
    let bed = Bed::new();
    wide(&bed);
    let mut store = bed.store();
    assert_eq!(store.bind(b"wide"), Ok("test/wide".into()));
    let item = NewItem { flags: 9, expires: Expiry(0), value: b"text|-5|12.5" };
    let Ok(Outcome::Done(cas)) = store.store(Mode::Add, b"a|1", &item, 0) else { panic!("it is new") };
    assert_eq!(store.one("A|1"), Some((9, cas, b"text|-5|12.50".to_vec())));
    assert_eq!(store.keep(Mode::Add, "A|1", "x|1|1"), Ok(Outcome::NotStored));
    store.set("a|2", "||");
    assert_eq!(store.value("a|2"), Some("||".into()));
    store.set("a|1", "only");
    assert_eq!(store.value("a|1"), Some("only||".into()));
    let rows = bed.rows("test/wide");
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0][0], Some(stored::int_unsigned(1).to_vec()));
    // Nothing is text, and no number.
    assert_eq!((&rows[1][3], &rows[1][4], &rows[1][5]), (&Some(vec![]), &None, &None));
    assert_eq!(rows[1][9], Some(b"given".to_vec()));
    assert_eq!(
        store.keep(Mode::Replace, "a|1", "x|y|z"),
        Err(Failure::Client("the value is no value of the column's type: column v2".into()))
    );
    assert_eq!(mistake(store.all(&["a"])), "the key needs 2 fields");
    assert_eq!(mistake(store.all(&["a|x"])), "the key is no value of the column's type: column k2");
    assert_eq!(store.delete(b"a|2", 0), Ok(Outcome::Done(0)));
    assert_eq!(bed.rows("test/wide").len(), 1);
    // All that begin with a field.
    store.set("b|3", "3");
    store.set("b|-1", "1");
    let mut seen = Vec::new();
    let from = Some(&b"b"[..]);
    let range = Range { from, from_included: true, to: from, to_included: true, descending: false, limit: 9 };
    store
        .range(&range, |item| {
            seen.push(format!(
                "{} {}",
                String::from_utf8_lossy(item.key),
                String::from_utf8_lossy(item.value)
            ));
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(seen, ["b|-1 1||", "b|3 3||"]);
}

#[test]
fn a_number_as_value_and_null() {
    let bed = Bed::new();
    two(&bed, text("k", 10), ColumnDef::int("v", 4, true));
    let one: [Field<'_>; 2] = [Some(b"null"), None];
    insert(&mut bed.session(), "test/two", &one);
    let mut store = bed.store();
    store.bind(b"m").unwrap();
    assert_eq!(store.value("null"), Some(String::new()));
    store.set("n", "41");
    let up = Count { delta: 1, down: false, initial: None, expires: None, cas: 0 };
    assert_eq!(store.count(b"n", &up), Ok(Counted::Done(42, 0)));
    assert_eq!(bed.rows("test/two")[0][1], Some(stored::int_unsigned(42).to_vec()));
    store.set("n", "4294967295");
    assert!(matches!(store.count(b"n", &up), Err(Failure::Client(_))), "the column's range ends here");
    assert_eq!(store.value("n"), Some("4294967295".into()));
    // The same value again is no change, and kept all the same.
    store.set("n", "4294967295");
    store.set("n", "");
    assert_eq!(bed.rows("test/two")[0][1], None);
}

/// As SQL prints and reads it.
#[test]
fn other_types_are_their_text() {
    let column = |def: ColumnDef, declared: &str, labels: &[&str]| {
        let mut column = Column::new(def);
        column.extra = declared.into();
        column.labels = labels.iter().map(|&label| label.to_owned()).collect();
        column
    };
    for (column, given, shown, bad) in [
        (column(ColumnDef::enumeration("v", 3), "enum('a','b','é')", &["a", "b", "é"]), "B", "b", "c"),
        (column(ColumnDef::set("v", 3), "set('x','y','z')", &["x", "y", "z"]), "z,x", "x,z", "x,w"),
        (column(ColumnDef::date("v"), "date", &[]), "2024-02-29", "2024-02-29", "2023-02-29"),
        (
            column(ColumnDef::datetime("v", 3), "datetime(3)", &[]),
            "2024-02-29 12:34:56.789",
            "2024-02-29 12:34:56.789",
            "yesterday",
        ),
        (column(ColumnDef::time("v", 0), "time", &[]), "-12:30:00", "-12:30:00", "noon"),
        (column(ColumnDef::double("v"), "double", &[]), "1.5e3", "1500", "1.5x"),
        (column(ColumnDef::year("v"), "year(4)", &[]), "1999", "1999", "3000"),
    ] {
        let bed = Bed::new();
        let at = column.extra.clone();
        let mut spec = spec("test/two", vec![ColumnDef::int("k", 4, false).not_null()], &[0]);
        spec.columns.push(column);
        bed.session().create_table(&spec).unwrap();
        bed.map(["m", "test", "two", "k", "v", "0", "", "", "PRIMARY"]);
        let mut store = bed.store();
        store.set("@@m.1", given);
        assert_eq!(store.value("1").as_deref(), Some(shown), "{at}");
        let why = mistake(store.keep(Mode::Set, "1", bad));
        assert_eq!(why, "the value is no value of the column's type: column v", "{at}");
        // Nothing is NULL.
        store.set("1", "");
        assert_eq!(bed.rows("test/two")[0][1], None, "{at}");
        assert_eq!(store.value("1").as_deref(), Some(""), "{at}");
    }
}

#[test]
fn long_values_off_the_page() {
    let bed = Bed::new();
    two(&bed, text("k", 10), ColumnDef::blob("v", 3));
    let mut store = bed.store();
    store.bind(b"m").unwrap();
    let long = "0123456789".repeat(10_000);
    store.set("k", &long);
    assert_eq!(store.value("k").as_deref(), Some(&long[..]));
    assert_eq!(store.keep(Mode::Append, "k", "end"), Ok(Outcome::Done(0)));
    assert_eq!(store.value("k"), Some(format!("{long}end")));
    store.set("k", "short");
    assert_eq!(store.value("k"), Some("short".into()));
}

#[test]
fn connections_choose() {
    let bed = Bed::new();
    two(&bed, text("k", 10), text("v", 10));
    insert_text(&mut bed.session(), "test/two", &["key_a", "other"]);
    let (mut a, mut b) = (bed.store(), bed.store());
    assert_eq!(a.value("@@m.key_a"), Some("other".into()));
    // It stays the connection's own, and only its own.
    assert_eq!(a.value("key_a"), Some("other".into()));
    assert_eq!(b.value("key_a"), None);
    assert_eq!(b.value("AA"), Some("HELLO, HELLO".into()));
    // A name alone shows the table.
    assert_eq!(b.value("@@m"), Some("test/two".into()));
    assert_eq!(b.value("key_a"), Some("other".into()));
    // Several in one go.
    let all = a.all(&["@@default.AA", "AA", "@@m.key_a", "no", "key_a"]).unwrap();
    let values: Vec<_> = all.iter().map(|(at, seen)| (*at, seen.2.len())).collect();
    assert_eq!(values, [(0, 12), (1, 12), (2, 5), (4, 5)]);
    a.set("@@m.new", "v");
    assert_eq!(b.value("new"), Some("v".into()));
    assert_eq!(mistake(a.all(&["@@nothing.k"])), "there is no mapping nothing");
    assert_eq!(a.value("new"), Some("v".into()), "the old one stays");
    assert_eq!(mistake(a.keep(Mode::Set, "@@m", "v")), "there is no key behind the mapping's name");
    // A stretch may name it, too.
    let mut seen = 0;
    let from = Some(&b"@@default.A"[..]);
    let range = Range { from, from_included: true, to: None, to_included: true, descending: false, limit: 9 };
    a.range(&range, |_| {
        seen += 1;
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(seen, 1);
}

#[test]
fn changes_of_the_configuration_need_no_restart() {
    let bed = Bed::new();
    let mut store = bed.store();
    assert_eq!(store.value("AA"), Some("HELLO, HELLO".into()));
    // A new mapping is found when it is asked for.
    two(&bed, text("k", 10), text("v", 10));
    store.set("@@m.k", "v");
    // The delimiter, at the next look.
    let options = bed.table("innodb_memcache/config_options");
    let mut session = bed.session();
    let key = vaquita_engine::RowKey::new([&b"table_map_delimiter"[..]]);
    session.run(|s| s.update(&options, &key, &[(1, Some(b":"))])).unwrap();
    bed.tables.sweep().unwrap();
    assert_eq!(store.value("@@m:k"), Some("v".into()));
    assert_eq!(mistake(store.all(&["@@m.k"])), "there is no mapping m.k");
    // Another table behind the same name.
    let spec = spec("test/three", vec![text("k", 10).not_null(), text("v", 10)], &[0]);
    session.create_table(&spec).unwrap();
    let containers = bed.table("innodb_memcache/containers");
    let key = vaquita_engine::RowKey::new([&b"m"[..]]);
    session.run(|s| s.update(&containers, &key, &[(2, Some(b"three"))])).unwrap();
    bed.tables.sweep().unwrap();
    assert_eq!(store.one("k"), None);
    store.set("k", "3");
    assert_eq!(bed.rows("test/three").len(), 1);
    // Gone.
    session.run(|s| s.delete(&containers, &key)).unwrap();
    bed.tables.sweep().unwrap();
    assert_eq!(mistake(store.all(&["k"])), "there is no mapping m");
    store.bind(b"default").unwrap();
    assert_eq!(store.value("AA"), Some("HELLO, HELLO".into()));
}

#[test]
fn a_table_is_mapped_twice_and_the_first_row_is_the_default() {
    let bed = Bed::new();
    let containers = bed.table("innodb_memcache/containers");
    let key = vaquita_engine::RowKey::new([&b"default"[..]]);
    bed.session().run(|s| s.delete(&containers, &key)).unwrap();
    bed.tables.sweep().unwrap();
    let mut store = bed.store();
    assert_eq!(store.all(&["AA"]), Err(Failure::Server("innodb_memcache.containers is empty".into())));
    bed.map(["b", "test", "demo_test", "c1", "c2", "0", "", "", "PRIMARY"]);
    bed.map(
        ["a", "test", "demo_test", "c1", "c2|c3", "", "", "", "PRIMARY"]
            .map(|v| if v.is_empty() { "0" } else { v }),
    );
    bed.tables.sweep().unwrap();
    assert_eq!(store.value("AA"), Some("HELLO, HELLO|8".into()));
    assert_eq!(store.value("@@b.AA"), Some("HELLO, HELLO".into()));
    store.set("@@a.AA", "x|77");
    assert_eq!(store.value("@@b.AA"), Some("x".into()));
}

#[test]
fn what_cannot_be_mapped_says_why() {
    let bed = Bed::new();
    let mut needy =
        spec("test/needy", vec![text("k", 9).not_null(), text("v", 9), text("n", 9).not_null()], &[0]);
    needy.columns.push(Column::new(ColumnDef::float("x")));
    needy.indexes = vec![index("plain", &[1], false)];
    bed.session().create_table(&needy).unwrap();
    let why = |row: [&str; 8]| {
        let containers = bed.table("innodb_memcache/containers");
        let key = vaquita_engine::RowKey::new([&b"bad"[..]]);
        bed.session().run(|s| s.delete(&containers, &key)).unwrap();
        let mut all = ["bad"; 9];
        all[1..].copy_from_slice(&row);
        bed.map(all);
        match bed.store().bind(b"bad") {
            Err(Failure::Server(text)) => text,
            other => panic!("{row:?}: {other:?}"),
        }
    };
    let missing = why(["test", "missing", "k", "v", "0", "", "", "PRIMARY"]);
    assert_eq!(missing, "table test/missing does not exist");
    let why = |row| why(row).strip_prefix("mapping bad: ").expect("it is named").to_owned();
    assert_eq!(
        why(["test", "needy", "k", "v", "0", "", "", "PRIMARY"]),
        "column n has no default and is not mapped"
    );
    assert_eq!(
        why(["test", "demo_test", "c9", "c2", "0", "", "", "PRIMARY"]),
        "test/demo_test has no column c9"
    );
    assert_eq!(why(["test", "demo_test", "c1", "c2", "0", "", "", "i"]), "test/demo_test has no index i");
    assert_eq!(why(["test", "demo_test", "c1", "", "0", "", "", "PRIMARY"]), "value_columns is empty");
    assert_eq!(
        why(["test", "demo_test", "c1", "c2", "c2", "", "", "PRIMARY"]),
        "column c2 is no integer of 4 bytes or more"
    );
    assert_eq!(
        why(["test", "demo_test", "c1", "c2", "c3", "c3", "", "PRIMARY"]),
        "column c3 is no integer of 8 bytes or more"
    );
    assert_eq!(
        why(["test", "demo_test", "c1", "c2", "c3", "", "c3", "PRIMARY"]),
        "column c3 has two meanings"
    );
    assert_eq!(why(["test", "demo_test", "c1", "c1", "c3", "", "", "PRIMARY"]), "column c1 has two meanings");
    assert_eq!(why(["test", "needy", "v", "n", "0", "", "", "plain"]), "index plain is not unique");
    let columns = "the columns of index PRIMARY are not those of key_columns, whole and in this order";
    assert_eq!(why(["test", "demo_test", "c2", "c1", "0", "", "", "PRIMARY"]), columns);
}

/// Rows come in here without SQL: what only SQL calculates and checks is not left out silently.
#[test]
fn tables_with_rules_for_their_rows_are_not_mapped() {
    let mapped = |change: &dyn Fn(&mut vaquita_engine::TableSpec)| {
        let bed = Bed::new();
        let mut spec = spec("test/two", vec![text("k", 9).not_null(), text("v", 9), text("o", 9)], &[0]);
        change(&mut spec);
        bed.session().create_table(&spec).expect("made");
        bed.map(["m", "test", "two", "k", "v", "0", "", "", "PRIMARY"]);
        bed.store().bind(b"m").map_err(|e| format!("{e:?}"))
    };
    assert_eq!(mapped(&|_| {}), Ok("test/two".into()));
    let why = mapped(&|spec| spec.extra = "\ncheck/c/clause=(`v` > 1)".to_owned()).unwrap_err();
    assert!(why.contains("the table has CHECK constraints"), "{why}");
    let why = mapped(&|spec| spec.columns[2].extra = "varchar(9)\ngenerated=`v`".to_owned()).unwrap_err();
    assert!(why.contains("column o is calculated"), "{why}");
    let why = mapped(&|spec| spec.columns[2].default = DefaultValue::Text("`v`".to_owned())).unwrap_err();
    assert!(why.contains("column o is calculated"), "{why}");
}
