//! Names of tables in file names, and what of a definition is in a character set of its own: `dump` writes what MySQL 5.6.24 takes
//! back, and files have the names that it gives them.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;

use common::{Scratch, vaquita};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use vaquita_clients::Vaquita;
use vaquita_peers::{Mysql56, Options, Server};

const NAMES: [&str; 12] =
    ["CON", "Con", "prn", "aux", "nul", "com1", "COM9", "lpt5", "com0", "lpt10", "conin", "clock$"];

/// The names of all files of these databases, as `database/file`.
fn files(dir: &Path, databases: &[&str], extension: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for database in databases {
        for entry in fs::read_dir(dir.join(database)).unwrap() {
            let name = entry.unwrap().file_name().to_str().unwrap().to_owned();
            if name.ends_with(extension) {
                all.insert(format!("{database}/{name}"));
            }
        }
    }
    all
}

fn dump_sql(path: &Path, args: &[&str]) -> String {
    let mut all: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"dump", &path, &"--format", &"sql"];
    all.extend(args.iter().map(|a| a as &dyn AsRef<std::ffi::OsStr>));
    let (code, out, err) = vaquita(&all);
    assert_eq!((code, &*err), (0, ""), "{}", path.display());
    out
}

#[test]
fn names_of_devices() {
    let mut script = String::from("create database nul;\ncreate database test2;\n");
    for (n, name) in NAMES.iter().enumerate() {
        for database in ["nul", "test2"] {
            script += &format!("create table {database}.`{name}` (a int primary key) engine=innodb;\n");
            script += &format!("insert into {database}.`{name}` values ({n});\n");
        }
    }
    let mut theirs = Mysql56::start(Options::new()).unwrap();
    theirs.sql(&script).unwrap();
    let scratch = Scratch::new("device-names");
    let dir = scratch.0.join("data");
    let mut ours = Vaquita::start(Path::new(env!("CARGO_BIN_EXE_vaquita")), &dir, &[]).unwrap();
    ours.sql(&script).unwrap();
    let databases = ["nul@@@", "test2"];
    assert_eq!(files(&dir, &databases, ".ibd"), files(theirs.datadir(), &databases, ".ibd"));
    let listed = "select table_schema, table_name from information_schema.tables
                  where table_schema in ('nul', 'test2') order by 1, 2";
    assert_eq!(ours.sql(listed).unwrap().lines().count(), 2 * NAMES.len());
    ours.sql("alter table nul.`CON` rename to test2.`com2`; drop table nul.aux; drop database test2; create table nul.aux (b int)").unwrap();
    assert!(dir.join("nul@@@/aux@@@.ibd").is_file() && !dir.join("test2").exists());
    ours.stop().unwrap();

    theirs.shutdown_slow().unwrap();
    for (n, name) in NAMES.iter().enumerate().filter(|(_, name)| !name.ends_with('$')) {
        let marked = theirs.datadir().join(format!("test2/{name}@@@.ibd"));
        let plain = theirs.datadir().join(format!("test2/{name}.ibd"));
        let sql = dump_sql(if marked.is_file() { &marked } else { &plain }, &[]);
        assert!(sql.starts_with(&format!("CREATE TABLE `{name}` (\n")), "{sql}");
        assert!(sql.contains(&format!("INSERT INTO `{name}` VALUES\n({n})")), "{sql}");
    }
    // Taken over, they are found under these names.
    let mut ours = Vaquita::start(
        Path::new(env!("CARGO_BIN_EXE_vaquita")),
        theirs.datadir(),
        &["--take-over", "--skip-grant-tables"],
    )
    .unwrap();
    assert_eq!(ours.sql("select a from nul.`Con`; select a from test2.`COM9`").unwrap(), "1\n6\n");
    ours.stop().unwrap();
}

/// SHOW CREATE TABLE has no comment in the comment of the clause.
#[test]
fn partitions_by_key() {
    let mut server = Mysql56::start(Options::new()).unwrap();
    let clauses = [
        ("k1", "key() partitions 2"),
        ("k2", "linear key algorithm=1 (a) partitions 3"),
        ("k3", "range (a) subpartition by key (a) subpartitions 2 (partition con values less than (9))"),
        ("k4", "key algorithm=2 (a) (partition x, partition nul)"),
    ];
    for (table, clause) in clauses {
        let script =
            format!("create table test.{table} (a int primary key) engine=innodb partition by {clause}");
        server.sql(&script).unwrap();
    }
    let shown =
        |server: &Server, table: &str| server.rows(&format!("show create table test.{table}")).unwrap();
    let before: Vec<_> = clauses.iter().map(|(table, _)| shown(&server, table)).collect();
    server.shutdown_slow().unwrap();
    let mut script = String::from("create database again;\nuse again;\n");
    for (table, _) in clauses {
        let prefix = format!("{table}#P#");
        let is_first = |name: &String| name.contains(&prefix);
        let file = files(server.datadir(), &["test"], ".ibd").into_iter().find(is_first).unwrap();
        script += &dump_sql(&server.datadir().join(file), &[]);
    }
    server.start_again().unwrap();
    server.sql(&script).unwrap();
    for ((table, _), before) in clauses.iter().zip(before) {
        assert_eq!(server.rows(&format!("show create table again.{table}")).unwrap(), before);
    }
}

/// Character set and a label in it.
const LABELS: [(&str, &str); 39] = [
    ("armscii8", "abc"),
    ("ascii", "abc"),
    ("big5", "數據"),
    ("cp1250", "žluť"),
    ("cp1251", "дом"),
    ("cp1256", "سلام"),
    ("cp1257", "žąė"),
    ("cp850", "äöü"),
    ("cp852", "žluť"),
    ("cp866", "дом"),
    ("cp932", "データ"),
    ("dec8", "äöü"),
    ("eucjpms", "データ"),
    ("euckr", "데이터"),
    ("gb2312", "数据"),
    ("gbk", "数据"),
    ("geostd8", "ვიც"),
    ("greek", "αβγ"),
    ("hebrew", "שלום"),
    ("hp8", "äöü"),
    ("keybcs2", "žluť"),
    ("koi8r", "дом"),
    ("koi8u", "дім"),
    ("latin1", "äöü€"),
    ("latin2", "žluť"),
    ("latin5", "ışğ"),
    ("latin7", "žąė"),
    ("macce", "žluť"),
    ("macroman", "äöü"),
    ("sjis", "ソデ"),
    ("swe7", "åäö"),
    ("tis620", "ไทย"),
    ("ucs2", "дом€"),
    ("ujis", "データ"),
    ("utf16", "дом😀"),
    ("utf16le", "дом😀"),
    ("utf32", "дом😀"),
    ("utf8", "дом€"),
    ("utf8mb4", "дом😀"),
];

/// Labels of ENUM and SET lie in the `.frm` in the column's character set.
#[test]
fn labels_in_every_character_set() {
    let mut server = Mysql56::start(Options::new()).unwrap();
    let mut script = String::from("create database en;\nuse en;\nset names utf8mb4;\n");
    for (set, l) in LABELS {
        script += &format!(
            "create table e_{set} (id int primary key, e enum('{l}','b''\\\\x','') character set {set},
               s set('{l}','y z') character set {set} default '{l}', d enum('{l}') character set {set} not null default '{l}',
               key (e, s)) engine=innodb;
             insert into e_{set} values (1,'{l}','{l},y z','{l}'), (2,'b''\\\\x','','{l}'), (3,'',null,'{l}');\n"
        );
    }
    server.sql(&script).unwrap();
    server.shutdown_slow().unwrap();
    let mut script = String::from("create database again;\nuse again;\nset names utf8mb4;\n");
    for (set, _) in LABELS {
        script += &dump_sql(&server.datadir().join(format!("en/e_{set}.ibd")), &[]);
    }
    server.start_again().unwrap();
    server.sql(&script).unwrap();
    for (set, label) in LABELS {
        let shown = |database: &str| {
            let asked = format!(
                "show create table {database}.e_{set}; select id, e, e+0, s, s+0, d, hex(e), hex(s) from {database}.e_{set} order by id"
            );
            server.rows(&asked).unwrap()
        };
        assert_eq!(shown("again"), shown("en"), "{set}");
        assert!(shown("en").iter().any(|row| row.get(1).is_some_and(|e| e == label)), "{set}");
    }
}
