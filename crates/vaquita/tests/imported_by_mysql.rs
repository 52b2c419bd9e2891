//! Tablespaces that Vaquita built, judged by a real MySQL 5.6.24: taken by IMPORT TABLESPACE (REDUNDANT ones put into
//! its data folder, as that server crashes when it imports those), checked, compared row by row, changed there, and read
//! back.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;
use crate::exchange;

use common::{Scratch, vaquita};
use exchange::{
    Values, assert_same, builder, change_and_read_back, check_table, import, import_without_cfg, in_order,
    innochecksum, read_back, rows, rows_of_twin, same_rows, server, swap,
};
use std::collections::BTreeMap;
use vaquita_base::{Lsn, Rng};
use vaquita_format::checksum::ChecksumAlgorithm::{self, Crc32, Innodb, None as NoChecksum};
use vaquita_format::index_def::RowFormat::{self, Compact, Dynamic, Redundant};
use vaquita_format::value::Value;
use vaquita_testkit::table_builder::{Key, Row, TableBuilder, TableDef, TableFiles, random_row};

/// Every column type, as in the fixture tables.
const EVERY_TYPE: [&str; 63] = [
    "id INT NOT NULL",
    "i1 TINYINT",
    "u1 TINYINT UNSIGNED",
    "i2 SMALLINT",
    "u2 SMALLINT UNSIGNED",
    "i3 MEDIUMINT",
    "u3 MEDIUMINT UNSIGNED",
    "i4 INT",
    "u4 INT UNSIGNED",
    "i8 BIGINT",
    "u8 BIGINT UNSIGNED",
    "f FLOAT",
    "d DOUBLE",
    "fu FLOAT UNSIGNED",
    "n1 DECIMAL(10,2)",
    "n2 DECIMAL(65,30)",
    "n3 DECIMAL(5,0)",
    "n4 DECIMAL(4,4)",
    "n5 DECIMAL(18,9) UNSIGNED",
    "b1 BIT(1)",
    "b7 BIT(7)",
    "b12 BIT(12)",
    "b64 BIT(64)",
    "dt DATE",
    "t0 TIME",
    "t3 TIME(3)",
    "t6 TIME(6)",
    "dt0 DATETIME",
    "dt2 DATETIME(2)",
    "dt6 DATETIME(6)",
    "ts0 TIMESTAMP NULL",
    "ts1 TIMESTAMP(1) NULL",
    "ts5 TIMESTAMP(5) NULL",
    "y YEAR",
    "e1 ENUM('red','green','blue')",
    "s1 SET('a','b','c','d','e','f','g','h','i')",
    "c_l CHAR(10)",
    "c_u CHAR(10) CHARACTER SET utf8",
    "c_m CHAR(10) CHARACTER SET utf8mb4",
    "c_a CHAR(10) CHARACTER SET ascii",
    "c_2 CHAR(5) CHARACTER SET ucs2",
    "c_s CHAR(6) CHARACTER SET sjis",
    "v_l VARCHAR(20)",
    "v_u VARCHAR(100) CHARACTER SET utf8",
    "v_m VARCHAR(200) CHARACTER SET utf8mb4",
    "v_2 VARCHAR(30) CHARACTER SET ucs2",
    "v_big VARCHAR(1000)",
    "v_bin VARCHAR(30) CHARACTER SET latin1 COLLATE latin1_bin",
    "bi BINARY(8)",
    "vb VARBINARY(40)",
    "tb TINYBLOB",
    "bb BLOB",
    "mb MEDIUMBLOB",
    "lb LONGBLOB",
    "tt TINYTEXT",
    "tx TEXT CHARACTER SET utf8",
    "mt MEDIUMTEXT CHARACTER SET utf8mb4",
    "lt LONGTEXT",
    "c_nn CHAR(4) CHARACTER SET utf8 NOT NULL",
    "v_nn VARCHAR(10) NOT NULL",
    "dt_nn DATETIME NOT NULL",
    "d_nn DECIMAL(6,3) NOT NULL",
    "bl TINYINT",
];

fn table_of_every_type(name: &str, format: RowFormat) -> TableDef {
    let keys = vec![
        Key::primary("id"),
        Key::unique("ku", "u8, id"),
        Key::plain("k_d", "d"),
        Key::plain("k_f", "f, i2"),
        Key::plain("k_n", "n2"),
        Key::plain("k_t", "t3, dt6, ts5, y"),
        Key::plain("k_e", "e1, s1, b12"),
        Key::plain("k_lu", "c_l, c_u"),
        Key::plain("k_m", "c_m"),
        Key::plain("k_v2", "v_2, c_2"),
        Key::plain("k_vu", "v_u"),
        Key::plain("k_bin", "v_bin, bi, vb"),
        Key::plain("k_p", "v_big(20), tx(7), lb(9), c_m(3)"),
    ];
    TableDef::new(name, format, &EVERY_TYPE, keys)
}

/// Rows of random values, under their ids.
fn random_rows(rng: &mut Rng, table: &TableDef, ids: impl IntoIterator<Item = i64>) -> BTreeMap<i64, Values> {
    let row = |id| {
        let mut values = random_row(rng, table);
        values[0] = Value::Int(id);
        (id, values)
    };
    ids.into_iter().map(row).collect()
}

/// A life of a table: random rows come in random order, a third is deleted (half of these only marked), some of the
/// deleted ones come back under their keys with other values. What is there in the end.
fn live(builder: &mut TableBuilder, rng: &mut Rng, count: i64) -> BTreeMap<i64, Values> {
    let table = builder.table().clone();
    let mut ids: Vec<i64> = (-count / 2..count - count / 2).map(|n| n * 3).collect();
    for i in (1..ids.len()).rev() {
        ids.swap(i, rng.index(i + 1));
    }
    let mut rows = random_rows(rng, &table, ids.iter().copied());
    let mut stored: BTreeMap<i64, Row> = BTreeMap::new();
    for id in &ids {
        let row = builder.encode(&rows[id]).unwrap();
        builder.insert(&row).unwrap();
        stored.insert(*id, row);
    }
    builder.next_transaction();
    for id in ids.iter().take(ids.len() / 3) {
        rows.remove(id);
        if rng.one_in(2) {
            builder.mark_deleted(&stored[id]).unwrap();
        } else {
            builder.purge(&stored[id]).unwrap();
        }
    }
    builder.next_transaction();
    let again = random_rows(rng, &table, ids.iter().copied().take(ids.len() / 6));
    for values in again.values() {
        let row = builder.encode(values).unwrap();
        builder.insert(&row).unwrap();
    }
    rows.extend(again);
    builder.validate().unwrap();
    rows
}

fn build(
    table: &TableDef,
    scratch: &Scratch,
    seed: u64,
    count: i64,
    checksums: ChecksumAlgorithm,
) -> (TableFiles, BTreeMap<i64, Values>) {
    let mut builder = builder(scratch, table, checksums);
    let rows = live(&mut builder, &mut Rng::new(seed), count);
    (builder.finish(0).unwrap(), rows)
}

/// What the server then does to a table of every type, here with its name.
const CHANGES: &str = "
    insert into T select id + 1000000, i1, u1, i2, u2, i3, u3, i4, u4, i8, null, f, d, fu, n1, n2, n3, n4, n5, b1, b7, b12,
      b64, dt, t0, t3, t6, dt0, dt2, dt6, ts0, ts1, ts5, y, e1, s1, c_l, c_u, c_m, c_a, c_2, c_s, v_l, v_u, v_m, v_2, v_big,
      v_bin, bi, vb, tb, bb, mb, lb, tt, tx, mt, lt, c_nn, v_nn, dt_nn, d_nn, bl from T where id % 2 = 0;
    update T set v_u = repeat(_utf8 x'c3bc', 90), bb = repeat('B', 2900), lt = repeat('L', 39000), u8 = null where id % 5 = 0;
    update T set lb = repeat(x'00ff', 9000), c_2 = 'back', n2 = n2 / 3 where id % 7 = 0;
    update T set lt = 'short', lb = null, mb = '' where id % 35 = 0;
    delete from T where id % 4 = 1;
    insert into T (id, v_nn, c_nn, dt_nn, d_nn, v_big) select id + 5000000, 'new', 'nn', '2015-04-18', 1.5, repeat('v', id % 1000)
      from T where id % 4 = 0;";

#[test]
fn every_type_in_compact_and_dynamic() {
    let scratch = Scratch::new("import-types");
    let server = server(16_384);
    for (name, format) in [("types_c", Compact), ("types_d", Dynamic)] {
        let table = table_of_every_type(name, format);
        let (files, values) = build(&table, &scratch, 1, 300, Innodb);
        import(&server, &table, &files);
        assert_same(&rows(&server, &table), &rows_of_twin(&server, &table, values.values()));
        read_back(&server, &table, &scratch);
        change_and_read_back(&server, &table, CHANGES, &scratch);
    }
}

#[test]
fn small_pages() {
    let scratch = Scratch::new("import-small");
    for (size, checksums) in [(4_096, Crc32), (8_192, NoChecksum)] {
        let server = server(size);
        for format in [Compact, Dynamic] {
            let name = format!("small_{size}_{format:?}").to_lowercase();
            let table = table_with_long_values(&name, format).with_page_size(size);
            let (files, values) = build(&table, &scratch, size as u64, 800, checksums);
            import(&server, &table, &files);
            assert_same(&rows(&server, &table), &rows_of_twin(&server, &table, values.values()));
            let changes = "
                insert into T select id + 1000000, k, repeat(b, 2), l, v from T where id % 2 = 0;
                update T set l = repeat('m', 9000), v = concat(v, 'x') where id % 5 = 0;
                delete from T where id % 4 = 1;";
            change_and_read_back(&server, &table, changes, &scratch);
        }
    }
}

fn table_with_long_values(name: &str, format: RowFormat) -> TableDef {
    let columns = [
        "id INT NOT NULL",
        "k BIGINT UNSIGNED",
        "b VARBINARY(700)",
        "l LONGTEXT",
        "v VARCHAR(60) CHARACTER SET utf8mb4 NOT NULL",
    ];
    let keys = vec![
        Key::primary("id"),
        Key::unique("uk", "k, id"),
        Key::plain("kv", "v, k"),
        Key::plain("kb", "b(100), l(5)"),
    ];
    TableDef::new(name, format, &columns, keys)
}

/// The server crashes when it imports a REDUNDANT table of more than one level, its own included, so the file takes the
/// place of the server's own while the server is down.
#[test]
fn redundant_files_take_the_place_of_the_server_s_own() {
    let scratch = Scratch::new("swap");
    let mut server = server(16_384);
    let tables = [
        (table_of_every_type("types_r", Redundant), 300),
        (table_with_long_values("tree_r", Redundant), 3_000),
    ];
    for (table, count) in tables {
        let mut values = BTreeMap::new();
        swap(&mut server, &table, &scratch, |identity| {
            let dir = scratch.0.join(&table.name);
            let mut builder = TableBuilder::create(&dir, table.clone(), identity, Innodb).unwrap();
            values = live(&mut builder, &mut Rng::new(5), count);
            let files = builder.finish(0).unwrap();
            files.restamp(table.page_size, Lsn(10_000), Innodb).unwrap();
            files
        });
        assert_same(&rows(&server, &table), &rows_of_twin(&server, &table, values.values()));
        read_back(&server, &table, &scratch);
        let changes = if table.name == "types_r" {
            CHANGES
        } else {
            "delete from T where id % 2 = 0; update T set l = repeat('m', 9000) where id % 5 = 0"
        };
        change_and_read_back(&server, &table, changes, &scratch);
        let expected = rows(&server, &table);
        server.shutdown_slow().unwrap();
        same_rows(&server.datadir().join(format!("test/{}.ibd", table.name)), &expected);
        let (code, out, err) = vaquita(&[&"check", &server.datadir()]);
        assert_eq!((code, &*err), (0, ""), "{out}");
        server.start_again().unwrap();
    }
}

/// Sizes around those at which values move off the page and chains grow by a page.
#[test]
fn off_page_columns() {
    let scratch = Scratch::new("import-blobs");
    let server = server(16_384);
    let columns = ["id INT NOT NULL", "a LONGBLOB", "b LONGTEXT", "c VARCHAR(3000)"];
    let keys = vec![Key::primary("id"), Key::plain("bp", "b(20)"), Key::plain("ap", "a(767)")];
    let sizes: [[Option<usize>; 3]; 14] = [
        [None, None, None],
        [Some(0), Some(0), Some(0)],
        [Some(767), Some(768), Some(769)],
        [Some(8_098), None, None],
        [Some(8_099), None, None],
        [Some(8_100), None, None],
        [Some(8_101), None, None],
        [Some(8_102), Some(1), None],
        [Some(16_330), Some(16_331), Some(3_000)],
        [Some(16_318), Some(16_319), Some(1)],
        [Some(768 + 16_330), Some(768 + 16_331), Some(3_000)],
        [Some(100_000), Some(40_000), Some(2_000)],
        [Some(20), Some(21), Some(3_000)],
        [Some(1_200_000), Some(2_000_000), Some(789)],
    ];
    for (name, format) in [("blob_c", Compact), ("blob_d", Dynamic)] {
        let table = TableDef::new(name, format, &columns, keys.clone());
        let builder = builder(&scratch, &table, Innodb);
        let mut rng = Rng::new(8);
        let mut values: BTreeMap<i64, Values> = BTreeMap::new();
        for round in 0..4 {
            for (i, sizes) in sizes.iter().enumerate() {
                let id = round * 100 + i as i64;
                let [a, b, c] = *sizes;
                let text = |n: usize| (0..n).map(|i| b"Off page "[(i + n) % 9]).collect::<Vec<u8>>();
                let mut bytes = |n: usize| {
                    let mut out = vec![0; n];
                    rng.fill(&mut out);
                    out
                };
                let value = |v: Option<Vec<u8>>| v.map_or(Value::Null, |v| Value::Bytes(v.into()));
                let row =
                    vec![Value::Int(id), value(a.map(&mut bytes)), value(b.map(text)), value(c.map(text))];
                let stored = builder.encode(&row).unwrap();
                builder.insert(&stored).unwrap();
                match (round, i % 3) {
                    (0, 0) => builder.purge(&stored).unwrap(),
                    (0, 1) => builder.mark_deleted(&stored).unwrap(),
                    (1, 1) => {
                        builder.mark_deleted(&stored).unwrap();
                        builder.insert(&stored).unwrap();
                        values.insert(id, row);
                    }
                    _ => drop(values.insert(id, row)),
                }
            }
        }
        builder.validate().unwrap();
        let files = builder.finish(0).unwrap();
        import(&server, &table, &files);
        assert_same(&rows(&server, &table), &rows_of_twin(&server, &table, values.values()));
        let changes = "
            insert into T select id + 1000, a, b, c from T where id % 2 = 0;
            update T set a = concat(a, 'x'), c = 'c' where id % 5 = 0;
            update T set b = repeat('b', 30000) where id % 7 = 0;
            update T set b = left(b, 100), a = null where id % 3 = 0;
            delete from T where id % 4 = 0;";
        change_and_read_back(&server, &table, changes, &scratch);
    }
}

/// Keys of every shape: none, unique ones that cluster, several columns of variable length, NULLs in unique keys.
///
/// `composite` has an index that holds a column twice, a prefix and the whole; the server refuses the `.cfg` of such a
/// table, its own too ("field a prefix len 0 doesn't match").
#[test]
fn keys_of_every_shape() {
    let scratch = Scratch::new("import-keys");
    let server = server(16_384);
    let tables = [
        TableDef::new(
            "nopk",
            Compact,
            &["id INT", "b VARCHAR(20)", "c CHAR(9) CHARACTER SET utf8"],
            vec![Key::plain("ka", "id"), Key::plain("kb", "b(5), c")],
        ),
        TableDef::new(
            "promoted",
            Dynamic,
            &["id INT NOT NULL", "x VARCHAR(12) CHARACTER SET utf8 NOT NULL", "y INT", "z DATETIME(2)"],
            vec![Key::unique("ux", "x, id"), Key::unique("uy", "y, z, id"), Key::plain("kz", "z")],
        ),
        TableDef::new(
            "composite",
            Dynamic,
            &[
                "id INT NOT NULL",
                "a VARCHAR(60) CHARACTER SET utf8mb4 NOT NULL",
                "b VARBINARY(300) NOT NULL",
                "c DECIMAL(12,3)",
                "v VARCHAR(1000)",
            ],
            vec![Key::primary("a, b, id"), Key::plain("kc", "c, a(3)"), Key::plain("kv", "v, b(7)")],
        ),
        TableDef::new(
            "one_page",
            Redundant,
            &["id INT NOT NULL", "c CHAR(9) CHARACTER SET utf8", "v VARCHAR(20)", "n DECIMAL(9,2)"],
            vec![Key::primary("id"), Key::unique("un", "n, id"), Key::plain("kc", "c(2), v")],
        ),
        TableDef::new(
            "narrow",
            Compact,
            &["id SMALLINT NOT NULL", "t TINYINT"],
            vec![Key::primary("id"), Key::plain("kt", "t")],
        ),
    ];
    for table in tables {
        // REDUNDANT trees of more than one page crash the server when it imports them.
        let count = if table.row_format == Redundant { 60 } else { 4_000 };
        let (files, values) = build(&table, &scratch, 11, count, Innodb);
        if table.name == "composite" {
            import_without_cfg(&server, &table, &files);
        } else {
            import(&server, &table, &files);
        }
        let twin = rows_of_twin(&server, &table, values.values());
        assert_same(&in_order(&table, rows(&server, &table)), &in_order(&table, twin));
        let changes = "
            delete from T where id % 4 = 0;
            update T set id = id + 1 where id % 7 = 3;";
        change_and_read_back(&server, &table, changes, &scratch);
    }
}

/// A row of the big table, from its number alone; `round` tells a row from the one it replaces.
fn big_row(id: u32, round: u64) -> Values {
    let hash = u64::from(id).wrapping_add(round << 40).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
    let text = |s: String| Value::Bytes(s.into_bytes().into());
    vec![
        Value::UInt(id.into()),
        Value::Int((hash % 5_000) as i64 - 2_500),
        text(format!("{hash:011x}{id:x}")),
        if hash.is_multiple_of(9) {
            Value::Null
        } else {
            text(format!("s{}-{}", hash % 700, "é".repeat(hash as usize % 20)))
        },
        text("pad ".repeat(hash as usize % 12).trim_end().to_owned()),
    ]
}

/// The row as the server shows it.
fn big_line(row: &Values) -> String {
    let field = |v: &Value<'_>| match v {
        Value::Null => "NULL".to_owned(),
        Value::UInt(v) => v.to_string(),
        Value::Int(v) => v.to_string(),
        Value::Bytes(v) => String::from_utf8(v.to_vec()).unwrap(),
        other => panic!("{other:?} in the big table"),
    };
    row.iter().map(field).collect::<Vec<_>>().join("\t")
}

/// 200,000 rows and three secondary indexes, in the end; half of them came in order, half at random, many went and
/// some of those came back.
#[test]
fn two_hundred_thousand_rows() {
    const ROWS: u32 = 220_000;
    let scratch = Scratch::new("import-big");
    let columns = [
        "id INT UNSIGNED NOT NULL AUTO_INCREMENT",
        "k INT NOT NULL",
        "u CHAR(20) NOT NULL",
        "s VARCHAR(60) CHARACTER SET utf8",
        "pad VARCHAR(100) NOT NULL",
    ];
    let keys = vec![
        Key::primary("id"),
        Key::unique("uu", "u"),
        Key::plain("kk", "k, pad"),
        Key::plain("ks", "s(10), k"),
    ];
    let table = TableDef::new("big", Compact, &columns, keys);
    let mut builder = builder(&scratch, &table, Crc32);
    let mut ids: Vec<u32> = (1..=ROWS).collect();
    let mut rng = Rng::new(2);
    for i in (ROWS as usize / 2..ids.len()).rev() {
        ids.swap(i, ROWS as usize / 2 + rng.index(i + 1 - ROWS as usize / 2));
    }
    let mut lines = BTreeMap::new();
    for &id in &ids {
        let values = big_row(id, 0);
        builder.insert(&builder.encode(&values).unwrap()).unwrap();
        lines.insert(id, big_line(&values));
    }
    builder.next_transaction();
    // Runs of rows, so that pages become empty and merge; and single rows everywhere.
    let gone = |id: u32| id % 3_000 < 250 || id.is_multiple_of(17);
    for &id in ids.iter().filter(|&&id| gone(id)) {
        let row = builder.encode(&big_row(id, 0)).unwrap();
        if id % 5 == 0 {
            builder.mark_deleted(&row).unwrap()
        } else {
            builder.purge(&row).unwrap()
        }
        lines.remove(&id);
    }
    builder.next_transaction();
    for &id in ids.iter().filter(|&&id| gone(id) && id % 2 == 0) {
        let values = big_row(id, 1);
        builder.insert(&builder.encode(&values).unwrap()).unwrap();
        lines.insert(id, big_line(&values));
    }
    assert!(lines.len() >= 200_000, "{}", lines.len());
    let reports = builder.validate().unwrap();
    assert!(reports.iter().all(|r| r.height >= 2), "{reports:?}");
    let files = builder.finish(u64::from(ROWS) + 1).unwrap();
    innochecksum(&files);

    let server = server(16_384);
    import(&server, &table, &files);
    let expected: Vec<&str> =
        std::iter::once("id\tk\tu\ts\tpad").chain(lines.values().map(|l| &**l)).collect();
    assert_same(&rows(&server, &table), &(expected.join("\n") + "\n"));
    server.sql("insert into test.big (k, u, s, pad) values (1, 'the next number', 's', '')").unwrap();
    let next = server.rows("select id from test.big where u = 'the next number'").unwrap();
    let last = lines.last_key_value().unwrap().0;
    assert_eq!(next, [[(last + 1).to_string()]], "IMPORT counts on from the rows, whatever the .cfg says");
    server
        .sql(
            "use test;
             delete from big where id % 1000 between 300 and 420;
             update big set s = concat('changed ', id), k = k + 1 where id % 23 = 0;
             insert into big (k, u, s, pad) select k, concat('new ', id), reverse(s), pad from big where id % 19 = 0;",
        )
        .unwrap();
    check_table(&server, &table);
    read_back(&server, &table, &scratch);
}

/// Trees built bottom-up from sorted rows.
#[test]
fn trees_built_in_one_go() {
    let scratch = Scratch::new("import-bulk");
    let server = server(16_384);
    let tables = [
        (table_with_long_values("bulk_c", Compact), 3_000, 100),
        (table_of_every_type("bulk_d", Dynamic), 150, 69),
    ];
    for (table, count, fill_percent) in tables {
        let builder = builder(&scratch, &table, Innodb);
        let values = random_rows(&mut Rng::new(4), &table, -count / 2..count / 2);
        let rows_in_order: Vec<Row> = values.values().map(|v| builder.encode(v).unwrap()).collect();
        builder.load_sorted(&rows_in_order, fill_percent).unwrap();
        builder.validate().unwrap();
        let files = builder.finish(0).unwrap();
        import(&server, &table, &files);
        assert_same(&rows(&server, &table), &rows_of_twin(&server, &table, values.values()));
        let changes = "
            delete from T where id % 4 = 0;
            update T set id = id + 100000 where id % 7 = 3;";
        change_and_read_back(&server, &table, changes, &scratch);
    }
}
