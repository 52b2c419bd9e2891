//! Tables that Vaquita built, in a real MySQL 5.6.24, and back.
#![allow(dead_code, clippy::unwrap_used, reason = "tests; each file uses a part")]

pub(crate) mod life;

use crate::common::{Scratch, vaquita};
use std::path::Path;
use vaquita_format::cfg::TableMeta;
use vaquita_format::checksum::ChecksumAlgorithm;
use vaquita_format::column::{MType, mysql_type};
use vaquita_format::text::TextType;
use vaquita_format::value::Value;
use vaquita_peers::{Mysql56, Options, Paths, Server};
use vaquita_testkit::table_builder::{Column, Identity, TableBuilder, TableDef, TableFiles, literal};

/// A row to be written.
pub(crate) type Values = Vec<Value<'static>>;

/// A server whose page size is that of the tables.
pub(crate) fn server(page_size: usize) -> Server {
    Mysql56::start(Options::new().set("innodb_page_size", page_size)).unwrap()
}

/// A table to be built in a folder of the test's, for import.
pub(crate) fn builder(scratch: &Scratch, table: &TableDef, checksums: ChecksumAlgorithm) -> TableBuilder {
    let identity = Identity::foreign(table);
    TableBuilder::create(&scratch.0.join(&table.name), table.clone(), &identity, checksums).unwrap()
}

/// Makes the table on the server and has it take the built files in, without a warning.
pub(crate) fn import(server: &Server, table: &TableDef, files: &TableFiles) {
    let warnings = import_files(server, table, &[&files.ibd, &files.cfg]);
    assert_eq!(warnings, "", "{} is imported without a warning", table.name);
    check_table(server, table);
}

/// As [`import`], with nothing but the tablespace: the server finds the roots itself.
pub(crate) fn import_without_cfg(server: &Server, table: &TableDef, files: &TableFiles) {
    let warnings = import_files(server, table, &[&files.ibd]);
    assert!(
        warnings.contains("\t1810\t") && warnings.lines().count() == 2,
        "only the .cfg is missed: {warnings}"
    );
    check_table(server, table);
}

fn import_files(server: &Server, table: &TableDef, files: &[&Path]) -> String {
    let name = &table.name;
    server.sql(&format!("use test; {}; alter table {name} discard tablespace", table.create_sql())).unwrap();
    for file in files {
        std::fs::copy(file, server.datadir().join("test").join(file.file_name().unwrap())).unwrap();
    }
    let answer = server.sql(&format!("use test; alter table {name} import tablespace; show warnings"));
    answer.unwrap_or_else(|e| panic!("{name}: {e}\n{}", server.error_log()))
}

/// CHECK TABLE .. EXTENDED says OK, every index tells the same, and the server's log complains of nothing.
pub(crate) fn check_table(server: &Server, table: &TableDef) {
    let name = &table.name;
    let answer = server.rows(&format!("check table test.{name} extended")).unwrap();
    assert_eq!(
        answer,
        [[format!("test.{name}").as_str(), "check", "status", "OK"]],
        "{}",
        server.error_log()
    );
    let indexes = server.rows(&format!(
        "select index_name, group_concat(column_name), sum(sub_part is not null) from information_schema.statistics \
         where table_schema='test' and table_name='{name}' group by index_name"
    ));
    for index in indexes.unwrap() {
        let [index, columns, "0"] = [&*index[0], &*index[1], &*index[2]] else { continue };
        // Each sum is over the same values, read from an index of its own.
        let sum = |hint: &str| {
            let values: Vec<String> =
                columns.split(',').map(|c| format!("crc32(ifnull(hex({c}),'-'))")).collect();
            let query = format!("select count(*), sum({}) from test.{name} {hint}", values.join(" * 3 + "));
            server.rows(&query).unwrap()
        };
        let clustered = if table.create_sql().contains("PRIMARY KEY") { "force index (primary)" } else { "" };
        assert_eq!(sum(&format!("force index ({index})")), sum(clustered), "index {index} of {name}");
    }
    let log = server.error_log();
    let complaint = log
        .lines()
        .find(|l| ["ERROR", "Error:", "orrupt", "in the future"].iter().any(|word| l.contains(word)));
    assert_eq!(complaint, None, "{log}");
}

/// All rows as the server shows them, under the columns' names: in order of the clustered index, bytes in hexadecimal,
/// FLOAT as the double it is.
pub(crate) fn rows(server: &Server, table: &TableDef) -> String {
    let columns: Vec<String> = table.columns.iter().map(shown).collect();
    let by = table.clustered_columns().map_or(String::new(), |key| format!("order by {key}"));
    server.sql(&format!("select {} from test.{} {by}", columns.join(", "), table.name)).unwrap()
}

fn shown(column: &Column) -> String {
    let name = column.name();
    let text = TextType::of_column(&column.def);
    match column.def.mtype {
        MType::Float => format!("{name} + 0e0 as {name}"),
        _ if column.def.mysql_type() == mysql_type::NEWDECIMAL => name.to_owned(),
        _ if text.is_hex() => format!("hex({name}) as {name}"),
        _ => name.to_owned(),
    }
}

/// The same rows, given to the server in SQL, in a table beside: what it shows of that one.
pub(crate) fn rows_of_twin<'v>(
    server: &Server,
    table: &TableDef,
    values: impl IntoIterator<Item = &'v Values>,
) -> String {
    let twin = table.clone().named(&format!("{}_twin", table.name));
    let mut script = format!("use test; {};\n", twin.create_sql());
    for row in values {
        let row: Vec<String> = twin.columns.iter().zip(row).map(|(c, v)| literal(c, v)).collect();
        script += &format!("insert into {} values ({});\n", twin.name, row.join(","));
    }
    let script = format!("set autocommit=0;\n{script}commit;");
    server.sql(&script).unwrap();
    rows(server, &twin)
}

/// Runs statements on the table and on its twin; both must then hold the same, and Vaquita must read it.
pub(crate) fn change_and_read_back(server: &Server, table: &TableDef, statements: &str, scratch: &Scratch) {
    let twin = table.clone().named(&format!("{}_twin", table.name));
    for name in [&table.name, &twin.name] {
        server.sql(&format!("use test; {}", statements.replace(" T ", &format!(" {name} ")))).unwrap();
    }
    check_table(server, table);
    assert_same(&in_order(table, rows(server, table)), &in_order(table, rows(server, &twin)));
    read_back(server, table, scratch);
}

/// Exports the table from the server; Vaquita finds it in order and reads the same rows as the server.
pub(crate) fn read_back(server: &Server, table: &TableDef, scratch: &Scratch) {
    let expected = rows(server, table);
    let folder = scratch.0.join(format!("{}-back", table.name));
    std::fs::create_dir_all(&folder).unwrap();
    server.export("test", &[&table.name], &folder).unwrap();
    same_rows(&folder.join(format!("{}.ibd", table.name)), &expected);
}

/// `vaquita check` is content with a file, and `vaquita dump` writes these rows.
pub(crate) fn same_rows(ibd: &Path, expected: &str) {
    let (code, out, err) = vaquita(&[&"check", &ibd]);
    assert_eq!((code, &*err), (0, ""), "{out}");
    let (code, out, err) = vaquita(&[&"dump", &ibd]);
    assert_eq!((code, &*err), (0, ""));
    assert_same(&out, expected);
}

/// Compares long texts line by line, so that a failure shows the line.
pub(crate) fn assert_same(ours: &str, theirs: &str) {
    if ours == theirs {
        return;
    }
    for (number, (ours, theirs)) in ours.lines().zip(theirs.lines()).enumerate() {
        if ours != theirs {
            let pairs = ours.split('\t').zip(theirs.split('\t')).enumerate();
            let fields: Vec<_> = pairs.filter(|(_, (a, b))| a != b).collect();
            panic!("line {number}: {fields:?}");
        }
    }
    panic!("{} lines against {}", ours.lines().count(), theirs.lines().count());
}

/// Rows in an order that does not depend on the hidden row ids.
pub(crate) fn in_order(table: &TableDef, rows: String) -> String {
    if table.clustered_columns().is_some() {
        return rows;
    }
    let mut lines: Vec<&str> = rows.lines().collect();
    lines[1..].sort_unstable();
    lines.join("\n")
}

/// Puts a built file into the place of the server's own, while the server is shut down. `build` is told the numbers
/// the server gave to the table.
pub(crate) fn swap(
    server: &mut Server,
    table: &TableDef,
    scratch: &Scratch,
    build: impl FnOnce(&Identity) -> TableFiles,
) {
    let name = &table.name;
    server.sql(&format!("use test; {}", table.create_sql())).unwrap();
    let folder = scratch.0.join(format!("{name}-own"));
    std::fs::create_dir_all(&folder).unwrap();
    server.export("test", &[name], &folder).unwrap();
    let cfg = TableMeta::parse(&std::fs::read(folder.join(format!("{name}.cfg"))).unwrap()).unwrap();
    let files = build(&Identity::of_cfg(&cfg));
    let built = TableMeta::parse(&std::fs::read(&files.cfg).unwrap()).unwrap();
    assert_eq!(built.columns, cfg.columns, "Vaquita describes the columns as the server does");
    assert_eq!(built.indexes, cfg.indexes, "and the indexes, roots included");
    server.shutdown_slow().unwrap();
    std::fs::copy(&files.ibd, server.datadir().join(format!("test/{name}.ibd"))).unwrap();
    server.start_again().unwrap();
    check_table(server, table);
}

/// MariaDB's own tool finds every checksum right; it knows crc32 only.
pub(crate) fn innochecksum(files: &TableFiles) {
    let paths = Paths::installed().unwrap();
    let done = paths.command("usr/bin/innochecksum").arg(&files.ibd).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned() + &String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && said.is_empty(), "{}: {said}", done.status);
}
