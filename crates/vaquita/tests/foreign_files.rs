//! Files that other servers than MySQL 5.6 made: what its format describes is read, all else is refused with the maker's name,
//! and no row that was never there is shown.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;

use common::{Scratch, vaquita};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use vaquita_peers::{MariaDb, Mysql56, Options, Server};

fn assert_says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word:?} is missing in: {text}");
    }
}

/// No row comes out of the file, and everything that looks at it names the maker.
fn assert_refused(ibd: &Path, words: &[&str]) {
    for format in ["tsv", "sql"] {
        let (code, out, err) = vaquita(&[&"dump", &ibd, &"--format", &format]);
        assert_eq!((code, &*out), (2, ""), "{}: {err}", ibd.display());
        assert_says(&err, words);
    }
    let (code, out, _) = vaquita(&[&"check", &ibd]);
    assert_eq!(code, 1, "{out}");
    assert_says(&out, words);
    assert_says(&out, &["maker: made by ", "FAULTY"]);
}

/// The same where already the pages are in another format.
fn assert_not_inspected(ibd: &Path, words: &[&str]) {
    for what in [&["tree"][..], &["page", "3"], &["records", "3"], &["extents"], &[]] {
        let mut args: Vec<&dyn AsRef<OsStr>> = vec![&"inspect", &ibd];
        args.extend(what.iter().map(|w| w as &dyn AsRef<OsStr>));
        let (code, out, err) = vaquita(&args);
        assert_eq!((code, &*out), (2, ""), "{}: {err}", ibd.display());
        assert_says(&err, words);
    }
}

fn dump(ibd: &Path, args: &[&str]) -> String {
    let mut all: Vec<&dyn AsRef<OsStr>> = vec![&"dump", &ibd];
    all.extend(args.iter().map(|a| a as &dyn AsRef<OsStr>));
    let (code, out, err) = vaquita(&all);
    assert_eq!((code, &*err), (0, ""), "{}", ibd.display());
    out
}

/// The fixtures of MySQL 5.7 and 8.0, unpacked, with the `.frm` that MySQL 5.6.24 writes for their definitions.
fn later_mysql(scratch: &Scratch) -> (PathBuf, Vec<String>) {
    let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testing/fixtures/newer/newer.tar.xz");
    let status = Command::new("tar").arg("-xJf").arg(archive).arg("-C").arg(&scratch.0).status().unwrap();
    assert!(status.success());
    let server = Mysql56::start(Options::new()).unwrap();
    let mut tables = Vec::new();
    for entry in fs::read_dir(scratch.0.join("mysql57")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "sql") {
            server.sql(&format!("use test;\n{}", fs::read_to_string(&path).unwrap())).unwrap();
            let table = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let frm = server.datadir().join(format!("test/{table}.frm"));
            for maker in ["mysql57", "mysql80"] {
                fs::copy(&frm, scratch.0.join(maker).join(format!("{table}.frm"))).unwrap();
            }
            tables.push(table);
        }
    }
    assert_eq!(tables.len(), 5);
    (scratch.0.clone(), tables)
}

#[test]
fn mysql_57_is_read_and_80_is_named() {
    let scratch = Scratch::new("later-mysql");
    let (dir, tables) = later_mysql(&scratch);
    for table in &tables {
        let ibd = dir.join(format!("mysql57/{table}.ibd"));
        let rows = dump(&ibd, &[]);
        let (_, rows) = rows.split_once('\n').unwrap();
        assert_eq!(rows, fs::read_to_string(ibd.with_extension("tsv")).unwrap(), "{table}");
        let (code, out, _) = vaquita(&[&"check", &ibd]);
        assert_eq!(code, 0, "{out}");

        let ibd = dir.join(format!("mysql80/{table}.ibd"));
        let words = ["made by MySQL 8.0.18", "SDI", "flags 0x4021", "not read here"];
        assert_refused(&ibd, &words);
        assert_not_inspected(&ibd, &words);
    }
    // What is damaged says nothing about its maker.
    let mut bytes = fs::read(dir.join("mysql80/tb02.ibd")).unwrap();
    bytes[300] ^= 1;
    let ibd = scratch.put("tb02.ibd", &bytes);
    let (code, out, err) = vaquita(&[&"dump", &ibd, &"--frm", &dir.join("mysql80/tb02.frm")]);
    assert_eq!((code, &*out), (2, ""));
    assert!(err.contains("space flags") && !err.contains("8.0"), "{err}");
}

/// Tables of a MariaDB as it comes out, but for the format of pages.
fn mariadb(options: Options, statements: &str) -> Server {
    let mut server = MariaDb::start(options).unwrap();
    server.sql(&format!("create database d;\nuse d;\n{statements}")).unwrap();
    server.shutdown_slow().unwrap();
    server
}

fn file(server: &Server, table: &str) -> PathBuf {
    server.datadir().join(format!("d/{table}.ibd"))
}

/// Table, definition and rows, what is said of it.
const REFUSED: [(&str, &str, &str); 12] = [
    (
        "dropped",
        "(a int primary key, b varchar(9), c int); insert into dropped values (1,'x',2);
         alter table dropped drop column b, algorithm=instant; insert into dropped values (3,4)",
        "added or dropped instantly",
    ),
    (
        "added",
        "(a int primary key, b int); insert into added values (1,2);
         alter table added add column c int default 7, algorithm=instant; insert into added values (3,4,5)",
        "added or dropped instantly",
    ),
    ("ids", "(a int primary key, u uuid); insert into ids values (1, uuid())", "column u has type uuid"),
    ("addresses", "(a int primary key, i inet6, f inet4)", "column i has type inet6, column f has type inet4"),
    (
        "virt",
        "(a int primary key, v int as (a+1) virtual, b varchar(9)); insert into virt (a, b) values (1,'x')",
        "column v is VIRTUAL",
    ),
    (
        "generated",
        "(a int primary key, p int as (a+2) stored); insert into generated (a) values (1)",
        "column p is generated",
    ),
    (
        "packed",
        "(a int primary key, z text compressed, y varchar(200) compressed);
         insert into packed values (1, repeat('a',1000), repeat('b',150))",
        "column z is COMPRESSED, column y is COMPRESSED",
    ),
    (
        "fractions",
        "(a int primary key, d datetime(3), t time(2), s timestamp(6) null);
         insert into fractions values (1,'2020-01-02 03:04:05.678','-11:22:33.44','2020-01-02 03:04:05.678901')",
        "column d has fractions of seconds in MariaDB's own form, column t has fractions",
    ),
    ("hashed", "(a int primary key, z text, unique key (z)); insert into hashed values (1,'x')", "DB_ROW_HASH_1 is hidden"),
    (
        "versioned",
        "(a int primary key, b int) with system versioning; insert into versioned values (1,2);
         update versioned set b = 3",
        "system versioning",
    ),
    ("unseen", "(a int primary key, b int invisible default 5, c int)", "column b is INVISIBLE"),
    (
        "squeezed",
        "(a int primary key, b varchar(200)) page_compressed=1;
         insert into squeezed select seq, repeat('a',200) from seq_1_to_1000",
        "page_compressed (flags 0x10021)",
    ),
];

/// As far as they go, the formats of MariaDB are those of MySQL 5.6.
const READ: [(&str, &str, &str); 8] = [
    (
        "plain",
        "(a int primary key, b varchar(20) character set utf8mb4, c datetime(3), t time(2), s timestamp(6) null,
           e enum('x','y'), key (b), key (e, c));
         insert into plain values (1,'öne','2020-01-02 03:04:05.678','-11:22:33.44','2020-01-02 03:04:05.678901','y')",
        "a\tb\tc\tt\ts\te\n1\töne\t2020-01-02 03:04:05.678\t-11:22:33.44\t2020-01-02 03:04:05.678901\ty\n",
    ),
    ("compact", "(a int primary key) row_format=compact; insert into compact values (7)", "a\n7\n"),
    ("redundant", "(a int, b char(3)) row_format=redundant; insert into redundant values (7,'x')", "a\tb\n7\tx\n"),
    ("zipped", "(a int primary key) row_format=compressed; insert into zipped values (7)", "a\n7\n"),
    (
        "nopad",
        "(a varchar(9) collate utf8mb4_nopad_bin, b char(5) collate latin1_nopad_bin, c char(4) collate utf8mb4_uca1400_ai_ci,
           e enum('ä','ö') collate uca1400_as_cs) charset=utf8mb4;
         insert into nopad values ('é','ü','😀','ö')",
        "a\tb\tc\te\né\tü\t😀\tö\n",
    ),
    (
        "checked",
        "(a int primary key check (a > 2), b varchar(99) default (concat('x',1)), j json); insert into checked (a) values (3)",
        "a\tb\tj\n3\tx1\tNULL\n",
    ),
    ("ignoring", "(a int primary key, b int, key (b) ignored); insert into ignoring values (1,2)", "a\tb\n1\t2\n"),
    (
        "downwards",
        "(a int, b int, primary key (a desc), key (b desc)); insert into downwards values (1,2),(3,4)",
        "a\tb\n3\t4\n1\t2\n",
    ),
];

#[test]
fn what_mariadb_writes_beyond_56_is_named() {
    let mut script = String::new();
    for (table, rest, _) in REFUSED {
        let old_times = if table == "fractions" { "off" } else { "on" };
        script += &format!("set global mysql56_temporal_format={old_times};\ncreate table {table} {rest};\n");
    }
    let server = mariadb(Options::new().set("innodb_checksum_algorithm", "crc32"), &script);
    for (table, _, why) in REFUSED {
        assert_refused(&file(&server, table), &["made by MariaDB", why, "not read here"]);
    }
    for table in ["dropped", "added", "squeezed"] {
        assert_not_inspected(&file(&server, table), &["made by MariaDB"]);
    }
}

#[test]
fn what_mariadb_writes_as_56_is_read() {
    let script: String =
        READ.iter().map(|(name, rest, _)| format!("create table {name} {rest};\n")).collect();
    let mut server = mariadb(Options::new().set("innodb_checksum_algorithm", "crc32"), &script);
    for (table, _, rows) in READ {
        let ibd = file(&server, table);
        assert_eq!(dump(&ibd, &[]), rows, "{table}");
        let (code, out, _) = vaquita(&[&"check", &ibd]);
        if table == "downwards" {
            assert_eq!(code, 1);
            assert_says(&out, &["made by MariaDB 10.11.", "keys in descending order"]);
        } else {
            assert_eq!(code, 0, "{out}");
        }
    }
    for (table, left_out) in [
        ("checked", "CHECK constraints, DEFAULT expressions"),
        ("ignoring", "IGNORED of keys"),
        ("downwards", "descending order of keys"),
        ("nopad", "collations of later servers"),
    ] {
        let (code, out, err) = vaquita(&[&"dump", &file(&server, table), &"--format", &"sql"]);
        assert_eq!(code, 0);
        assert_says(&err, &["made by MariaDB 10.11.", "leaves out", left_out]);
        assert!(out.starts_with("CREATE TABLE") && !out.contains('?'), "{out}");
    }
    assert_eq!(vaquita(&[&"dump", &file(&server, "plain"), &"--format", &"sql"]).2, "");

    // A .cfg alone does not tell enough of MariaDB's columns.
    server.start_again().unwrap();
    let cfg = file(&server, "plain").with_extension("cfg");
    let mut session = server.session().unwrap();
    session.run("flush tables d.plain for export").unwrap();
    let copy = Scratch::new("mariadb-cfg");
    let ibd = copy.put("plain.ibd", &fs::read(file(&server, "plain")).unwrap());
    copy.put("plain.cfg", &fs::read(cfg).unwrap());
    session.run("unlock tables").unwrap();
    let (code, out, err) = vaquita(&[&"dump", &ibd]);
    assert_eq!((code, &*out), (2, ""));
    assert_says(&err, &["made by MariaDB", "--frm"]);
    fs::copy(file(&server, "plain").with_extension("frm"), ibd.with_extension("frm")).unwrap();
    assert_eq!(dump(&ibd, &[]), READ[0].2);
}

/// The format that MariaDB has pages in unless it is told otherwise.
#[test]
fn full_crc32_is_named() {
    let server = mariadb(
        Options::new(),
        "create table t (a int primary key); insert into t values (1);
         create table squeezed (a int primary key, b text) page_compressed=1;
         insert into squeezed select seq, repeat('a',200) from seq_1_to_100;
         create table zipped (a int primary key) row_format=compressed; insert into zipped values (7);",
    );
    for (table, words) in [
        ("t", ["format full_crc32 (flags 0x15)", "MariaDB"]),
        ("squeezed", ["format full_crc32, page_compressed", "MariaDB"]),
    ] {
        assert_refused(&file(&server, table), &words);
        assert_not_inspected(&file(&server, table), &words);
    }
    // Compressed pages are as they were.
    assert_eq!(dump(&file(&server, "zipped"), &[]), "a\n7\n");
    for path in [server.datadir().join("ibdata1"), server.datadir().to_owned()] {
        let (code, out, _) = vaquita(&[&"check", &path]);
        assert_eq!(code, 1, "{out}");
        assert_says(&out, &["made by MariaDB", "not read here"]);
    }
    let (code, _, err) = vaquita(&[&"inspect", &server.datadir()]);
    assert_eq!(code, 2);
    assert_says(&err, &["made by MariaDB 10.11.", "redo log"]);
}

/// Every file below a folder with its bytes.
fn contents(dir: &Path) -> std::collections::BTreeMap<PathBuf, Vec<u8>> {
    let mut all = std::collections::BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(contents(&path));
        } else {
            all.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    all
}

/// A folder of MariaDB is not served, whatever its pages are and with its log or without; nothing in it changes.
#[test]
fn a_folder_of_mariadb_is_refused_by_name() {
    for algorithm in ["crc32", "full_crc32"] {
        let options = Options::new().set("innodb_checksum_algorithm", algorithm);
        let server = mariadb(options, "create table t (a int primary key); insert into t values (1);");
        let dir = server.datadir();
        for with_log in [true, false] {
            if !with_log {
                fs::remove_file(dir.join("ib_logfile0")).unwrap();
            }
            let before = contents(dir);
            for more in [&[][..], &["--take-over"], &["--innodb_force_recovery=6"]] {
                let done = Command::new(env!("CARGO_BIN_EXE_vaquita"))
                    .arg("serve")
                    .arg(dir)
                    .args(["--port=0", "--skip-grant-tables"])
                    .arg(format!("--socket={}", dir.join("../vq.sock").display()))
                    .args(more)
                    .output()
                    .unwrap();
                let said = String::from_utf8_lossy(&done.stderr).into_owned();
                assert_eq!(done.status.code(), Some(2), "{said}");
                assert_says(&said, &["made by MariaDB", "not read here"]);
                if with_log {
                    assert_says(&said, &["MariaDB 10.11."]);
                }
                assert!(contents(dir) == before, "{algorithm}: something was written");
            }
        }
    }
}

/// Files of a server that runs are looked at all the same, and it is said.
#[test]
fn files_in_use() {
    let mut server = Mysql56::start(Options::new()).unwrap();
    server
        .sql("create table test.t (a int primary key) engine=innodb; insert into test.t values (1)")
        .unwrap();
    let dir = server.datadir().to_owned();
    let ibd = dir.join("test/t.ibd");
    let holder = format!("in use by process {} (mysqld)", server.pid().unwrap());
    for (what, path) in
        [("dump", &ibd), ("check", &ibd), ("inspect", &ibd), ("check", &dir), ("inspect", &dir)]
    {
        let (_, _, err) = vaquita(&[&what, path]);
        assert_says(&err, &[&holder, "may be a moment's"]);
    }
    server.shutdown_slow().unwrap();
    for (what, path) in [("dump", &ibd), ("check", &ibd), ("check", &dir)] {
        let (code, _, err) = vaquita(&[&what, path]);
        assert_eq!((code, &*err), (0, ""));
    }
    // This server locks its system tablespace for all of them.
    let scratch = Scratch::new("in-use");
    let dir = scratch.0.join("data");
    let mut ours =
        vaquita_clients::Vaquita::start(Path::new(env!("CARGO_BIN_EXE_vaquita")), &dir, &[]).unwrap();
    ours.sql("create database d; create table d.t (a int)").unwrap();
    let ibd = dir.join("d/t.ibd");
    for path in [&ibd, &dir] {
        let (_, _, err) = vaquita(&[&"check", path]);
        assert_says(&err, &["ibdata1 is in use by ", "may be a moment's"]);
    }
    ours.stop().unwrap();
    assert_eq!(vaquita(&[&"check", &dir]).2, "");
}
