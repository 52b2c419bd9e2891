//! Tables that lived in the engine, judged by a real MySQL 5.6.24: taken by IMPORT TABLESPACE, or found in its own folder
//! after the engine had it; checked, compared row by row, changed there, and read back.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;
use crate::exchange;

use common::{Scratch, vaquita};
use exchange::life::{self, Life};
use exchange::{
    Values, assert_same, change_and_read_back, check_table, import, in_order, read_back, rows, rows_of_twin,
    server,
};
use std::path::Path;
use vaquita_engine::check::TableReport;
use vaquita_engine::{Engine, Options};
use vaquita_format::PageSize;
use vaquita_format::checksum::ChecksumAlgorithm::{Crc32, Innodb};
use vaquita_format::index_def::RowFormat::{self, Compact, Dynamic, Redundant};
use vaquita_peers::Server;
use vaquita_testkit::table_builder::{Key, TableDef};

/// Columns of many types, values off the page among them; indexes over text, numbers, prefixes, NULLs.
fn of_many_types(name: &str, format: RowFormat) -> TableDef {
    let columns = [
        "id INT NOT NULL",
        "i1 TINYINT",
        "u8 BIGINT UNSIGNED",
        "u INT",
        "n DECIMAL(12,3)",
        "dt DATETIME(6)",
        "ts TIMESTAMP(3) NULL",
        "d DOUBLE",
        "e ENUM('red','green','blue')",
        "b BIT(12)",
        "c CHAR(10) CHARACTER SET utf8",
        "l CHAR(8)",
        "v VARCHAR(80) CHARACTER SET utf8",
        "w VARCHAR(600)",
        "nn VARCHAR(20) CHARACTER SET utf8 NOT NULL",
        "bb BLOB",
        "lb LONGBLOB",
        "t MEDIUMTEXT CHARACTER SET utf8",
    ];
    let keys = vec![
        Key::primary("id"),
        Key::unique("uu", "u"),
        Key::plain("k_n", "n, dt"),
        Key::plain("k_d", "d, e, b"),
        Key::plain("k_c", "c, l"),
        Key::plain("k_v", "v, i1"),
        Key::plain("k_w", "w(30), u8"),
        Key::plain("k_lb", "lb(9), t(7)"),
    ];
    TableDef::new(name, format, &columns, keys)
}

const CHANGES_OF_TYPES: &str = "
    insert into T select id + 1100000, i1, u8, null, n, dt, ts, d, e, b, c, l, v, w, nn, bb, lb, t from T where id % 2 = 0;
    update T set lb = repeat(x'00ff', 20000), v = 'longer than it was', n = n / 2 where id % 5 = 0;
    update T set t = 'short', lb = null, w = repeat('w', 590), u = null where id % 7 = 0;
    delete from T where id % 4 = 1;
    insert into T (id, nn, u) select id + 3000000, 'new', id + 2000000 from T where id % 3 = 0;";

/// Trees of three levels.
fn of_several_levels(name: &str, format: RowFormat) -> TableDef {
    let columns = [
        "id INT NOT NULL",
        "u INT",
        "k BIGINT",
        "wide VARBINARY(700)",
        "v VARCHAR(60) CHARACTER SET utf8 NOT NULL",
    ];
    let keys = vec![
        Key::primary("id"),
        Key::unique("uu", "u"),
        Key::plain("kw", "wide"),
        Key::plain("kv", "v(8), k"),
    ];
    TableDef::new(name, format, &columns, keys)
}

const CHANGES_OF_LEVELS: &str = "
    delete from T where id % 3 = 0;
    update T set id = id + 2000000, v = concat(left(v, 40), ' moved') where id % 5 = 1;
    update T set wide = repeat('b', 690) where id % 7 = 2;
    insert into T (id, k, v) select id + 5000000, k, v from T where id % 4 = 0;";

/// Rows so small that some fit one page.
fn of_one_page(name: &str, format: RowFormat) -> TableDef {
    let columns = ["id INT NOT NULL", "c CHAR(9) CHARACTER SET utf8", "v VARCHAR(20)", "n DECIMAL(9,2)"];
    let keys = vec![Key::primary("id"), Key::unique("un", "n, id"), Key::plain("kc", "c(2), v")];
    TableDef::new(name, format, &columns, keys)
}

fn without_a_key(name: &str, format: RowFormat) -> TableDef {
    let columns =
        ["id INT", "u INT", "b VARCHAR(200)", "c CHAR(9) CHARACTER SET utf8", "n DECIMAL(9,2)", "x LONGBLOB"];
    let keys = vec![Key::unique("uu", "u"), Key::plain("kb", "b(5), c"), Key::plain("kn", "n, id")];
    TableDef::new(name, format, &columns, keys)
}

fn of_a_long_key(name: &str, format: RowFormat) -> TableDef {
    let columns = [
        "id INT NOT NULL",
        "a VARCHAR(60) CHARACTER SET utf8 NOT NULL",
        "b VARBINARY(200) NOT NULL",
        "z DATETIME(2)",
        "v VARCHAR(1000)",
    ];
    let keys = vec![Key::primary("a, b, id"), Key::plain("kz", "z"), Key::plain("kv", "v(40), z")];
    TableDef::new(name, format, &columns, keys)
}

const CHANGES_OF_KEYS: &str = "
    delete from T where id % 4 = 0;
    update T set id = id + 2000000 where id % 7 = 3;";

/// `vaquita check` finds nothing in a folder.
fn folder_is_sound(dir: &Path) {
    let (code, out, err) = vaquita(&[&"check", &dir]);
    assert_eq!((code, &*err), (0, ""), "{out}");
}

/// The server shows these rows.
fn server_shows(server: &Server, table: &TableDef, values: &[Values]) {
    let twin = rows_of_twin(server, table, values);
    assert_same(&in_order(table, rows(server, table)), &in_order(table, twin));
}

fn heights(report: &TableReport) -> Vec<u32> {
    report.trees.iter().map(|t| t.height).collect()
}

#[test]
fn tables_of_the_engine_are_imported() {
    let scratch = Scratch::new("engine-import");
    let dir = scratch.0.join("data");
    let engine = life::open(&dir);
    let tables = [
        (of_many_types("types_c", Compact), 250, CHANGES_OF_TYPES),
        (of_many_types("types_d", Dynamic), 250, CHANGES_OF_TYPES),
        (of_several_levels("levels_c", Compact), 3_500, CHANGES_OF_LEVELS),
        (without_a_key("nokey_d", Dynamic), 1_500, CHANGES_OF_KEYS),
        (without_a_key("nokey_c", Compact), 300, CHANGES_OF_KEYS),
        (of_a_long_key("long_key_d", Dynamic), 2_000, CHANGES_OF_KEYS),
        // REDUNDANT trees of more than one page crash the server when it imports them.
        (of_one_page("page_r", Redundant), 40, CHANGES_OF_KEYS),
    ];
    let mut lived = Vec::new();
    for (seed, (table, count, changes)) in tables.into_iter().enumerate() {
        engine.session().create_table(&life::spec(&table)).unwrap();
        let mut life = Life::new(&engine, &table, seed as u64);
        life.fill(count);
        if count > 40 {
            life.change(80, 400)
        } else {
            life.change(10, 30)
        }
        let (values, report) = life.end();
        match count {
            3_500 => assert!(heights(&report).contains(&3), "{report:?}"),
            40 => assert_eq!(heights(&report), [1; 3]),
            _ => {}
        }
        lived.push((life::describe(&engine, &table, &scratch.0.join("cfg")), table, values, changes));
    }
    engine.close().unwrap();
    drop(engine);
    folder_is_sound(&dir);

    let server = server(16_384);
    for (files, table, values, changes) in lived {
        import(&server, &table, &files);
        server_shows(&server, &table, &values);
        read_back(&server, &table, &scratch);
        change_and_read_back(&server, &table, changes, &scratch);
    }
}

#[test]
fn pages_of_other_sizes() {
    let scratch = Scratch::new("engine-small");
    for size in [4_096, 8_192] {
        let dir = scratch.0.join(size.to_string());
        let mut options = life::options(&dir);
        options.storage.page_size = PageSize::new(size).unwrap();
        options.storage.live.checksum_algorithm = if size == 4_096 { Crc32 } else { Innodb };
        let engine = Engine::open(options).unwrap();
        let tables = [
            (narrower(of_many_types("types_d", Dynamic)), 120, CHANGES_OF_TYPES),
            (without_a_key("nokey_c", Compact), 300, CHANGES_OF_KEYS),
        ];
        let mut lived = Vec::new();
        for (seed, (table, count, changes)) in tables.into_iter().enumerate() {
            let table = table.with_page_size(size);
            engine.session().create_table(&life::spec(&table)).unwrap();
            let mut life = Life::new(&engine, &table, 60 + seed as u64);
            life.fill(count);
            life.change(40, 200);
            let (values, _) = life.end();
            lived.push((life::describe(&engine, &table, &dir.join("cfg")), table, values, changes));
        }
        engine.close().unwrap();
        drop(engine);

        let server = server(size);
        for (files, table, values, changes) in lived {
            import(&server, &table, &files);
            server_shows(&server, &table, &values);
            change_and_read_back(&server, &table, changes, &scratch);
        }
    }
}

/// Rows that fit small pages.
fn narrower(table: TableDef) -> TableDef {
    let columns: Vec<String> =
        table.columns.iter().map(|c| c.sql.replace("VARCHAR(600)", "VARCHAR(300)")).collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    TableDef::new(&table.name, table.row_format, &columns, table.keys)
}

/// Four sessions in each table at the same time, purge and the page cleaner in their threads.
#[test]
fn tables_of_several_sessions() {
    const SESSIONS: i64 = 4;
    let scratch = Scratch::new("engine-threads");
    let dir = scratch.0.join("data");
    let engine = Engine::open(Options { background: true, ..life::options(&dir) }).unwrap();
    let mut lived = Vec::new();
    for table in [of_many_types("types_d", Dynamic), without_a_key("nokey_c", Compact)] {
        engine.session().create_table(&life::spec(&table)).unwrap();
        let work = |number| {
            let mut life = Life::new(&engine, &table, 80 + number as u64).among(number, SESSIONS);
            life.fill(100);
            life.change(40, 60);
            life.leave()
        };
        let values: Vec<Values> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..SESSIONS).map(|number| scope.spawn(move || work(number))).collect();
            all.into_iter().flat_map(|one| one.join().unwrap()).collect()
        });
        life::settle(&engine, &table, &values);
        lived.push((life::describe(&engine, &table, &scratch.0.join("cfg")), table, values));
    }
    assert!(engine.failure().is_none());
    engine.close().unwrap();
    drop(engine);
    folder_is_sound(&dir);

    let server = server(16_384);
    for (files, table, values) in lived {
        import(&server, &table, &files);
        server_shows(&server, &table, &values);
        read_back(&server, &table, &scratch);
    }
}

/// Tables that were emptied, renamed, and have got an index over rows that were there.
#[test]
fn definitions_that_the_engine_changed() {
    let scratch = Scratch::new("engine-ddl");
    let dir = scratch.0.join("data");
    let engine = life::open(&dir);
    let mut lived = Vec::new();
    for (seed, format) in [(21, Compact), (22, Dynamic)] {
        let table = of_many_types(&format!("late_{format:?}").to_lowercase(), format);
        let mut first = table.clone().named("first");
        let late = first.keys.split_off(5);
        engine.session().create_table(&life::spec(&first)).unwrap();
        let mut life = Life::new(&engine, &first, seed);
        life.fill(60);
        life.truncate();
        life.fill(150);
        life.change(10, 50);
        let late: Vec<_> = late.iter().map(|key| life::index(&table, key)).collect();
        life.session().add_indexes("test/first", &late).unwrap();
        life.change(10, 50);
        life.rename(&table.name);
        life.change(10, 50);
        let (values, _) = life.end();
        lived.push((life::describe(&engine, &table, &scratch.0.join("cfg")), table, values));
    }
    engine.close().unwrap();
    drop(engine);
    folder_is_sound(&dir);

    let server = server(16_384);
    for (files, table, values) in lived {
        import(&server, &table, &files);
        server_shows(&server, &table, &values);
        change_and_read_back(&server, &table, CHANGES_OF_TYPES, &scratch);
    }
}

/// The server makes tables, the engine fills them in the server's folder, the server goes on with them; then the engine
/// reads what the server wrote.
#[test]
fn tables_live_in_a_folder_of_the_server() {
    let mut server = server(16_384);
    let tables = [
        (of_many_types("types_r", Redundant), 200, CHANGES_OF_TYPES),
        (of_several_levels("levels_r", Redundant), 3_500, CHANGES_OF_LEVELS),
        (without_a_key("nokey_r", Redundant), 600, CHANGES_OF_KEYS),
        (without_a_key("nokey_d", Dynamic), 300, CHANGES_OF_KEYS),
        (of_a_long_key("long_key_r", Redundant), 1_000, CHANGES_OF_KEYS),
    ];
    for (table, ..) in &tables {
        server.sql(&format!("use test; {}", table.create_sql())).unwrap();
    }
    let dir = server.datadir().to_owned();
    server.shutdown_slow().unwrap();

    let engine = life::open(&dir);
    let mut lived = Vec::new();
    for (seed, (table, count, changes)) in tables.into_iter().enumerate() {
        let mut life = Life::new(&engine, &table, 40 + seed as u64);
        life.fill(count);
        life.change(60, 400);
        let (values, report) = life.end();
        if count == 3_500 {
            assert!(heights(&report).contains(&3), "{report:?}");
        }
        lived.push((table, values, changes));
    }
    engine.close().unwrap();
    drop(engine);
    folder_is_sound(&dir);

    server.start_again().unwrap();
    for (table, values, _) in &lived {
        check_table(&server, table);
        server_shows(&server, table, values);
    }
    server.shutdown_slow().unwrap();
    let engine = life::open_read_only(&dir);
    for (table, values, _) in &lived {
        life::shows(&engine, table, &table.name, values);
        life::shows(&engine, table, &format!("{}_twin", table.name), values);
    }
    engine.close().unwrap();
    drop(engine);

    server.start_again().unwrap();
    let scratch = Scratch::new("engine-travels");
    for (table, _, changes) in lived {
        change_and_read_back(&server, &table, changes, &scratch);
    }
    server.shutdown_slow().unwrap();
    folder_is_sound(&dir);
}
