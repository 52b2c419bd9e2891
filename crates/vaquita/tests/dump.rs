//! `vaquita dump` of files that a real MySQL 5.6.24 wrote, against what that server answered.

#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;

use std::path::Path;

use common::{Scratch, data_folder, fixture, fixture_dir, table_of, tablespaces, vaquita};

/// The server's rows of a table: header line, rows.
fn expected(table: &str) -> String {
    let file = match table {
        t if t.starts_with("defaults") => "defaults_e_1",
        t if t.starts_with("blob_") => "blob_compact",
        t => t,
    };
    std::fs::read_to_string(fixture(&format!("{file}.tsv"))).unwrap()
}

/// Header and sorted rows: for tables that the server reads in another order than the file has.
fn as_set(tsv: &str) -> (String, Vec<String>) {
    let mut lines = tsv.lines().map(String::from);
    let header = lines.next().unwrap();
    let mut rows: Vec<String> = lines.collect();
    rows.sort();
    (header, rows)
}

/// Only the CREATE TABLE says what a table is; where there are several, the one of its name.
#[test]
fn statements_describe_tables() {
    let scratch = Scratch::new("dump-statements");
    let mut all = String::new();
    let (mut dumped, mut rows_of_parts) = (0, 0);
    for ibd in tablespaces() {
        let table = table_of(&ibd);
        let file = if table.starts_with("defaults") { "defaults_e_1" } else { &table };
        let create = std::fs::read_to_string(fixture(&format!("{file}.create.sql"))).unwrap();
        let sql = scratch.put(&format!("{file}.sql"), create.as_bytes());
        all += &format!("{};\n", create.trim_end().trim_end_matches(';'));
        let copy = scratch.0.join(ibd.file_name().unwrap());
        std::fs::copy(&ibd, &copy).unwrap();
        let (code, out, err) = vaquita(&[&"dump", &copy, &"--sql", &sql]);
        assert_eq!((code, &*err), (0, ""), "{table}");
        match table.as_str() {
            "part" | "subpart" => {
                let ((columns, rows), whole) = (as_set(&out), as_set(&expected(&table)));
                assert_eq!(columns, whole.0, "{table}");
                assert!(rows.iter().all(|row| whole.1.contains(row)), "{table}: {out}");
                rows_of_parts += rows.len();
            }
            "nopk" => assert_eq!(as_set(&out), as_set(&expected(&table))),
            _ => assert_eq!(out, expected(&table), "{table}"),
        }
        let (code, out, _) = vaquita(&[&"check", &copy, &"--sql", &sql]);
        assert!(code == 0 && !out.contains("not described"), "{table}: {out}");
        dumped += 1;
    }
    let parts = tablespaces().iter().filter(|ibd| ["part", "subpart"].contains(&&*table_of(ibd))).count();
    assert_eq!(dumped, 27 + parts);
    let whole: usize = ["part", "subpart"].map(|table| as_set(&expected(table)).1.len()).iter().sum();
    assert!(parts > 0 && rows_of_parts == whole, "{rows_of_parts} of {whole} rows in {parts} partitions");
    let all = scratch.put("all.sql", all.as_bytes());
    let tree = scratch.0.join("tree.ibd");
    let (code, out, _) = vaquita(&[&"dump", &tree, &"--sql", &all]);
    assert_eq!((code, &*out), (0, &*expected("tree")));
    let (code, out, _) = vaquita(&[&"dump", &tree, &"--sql", &all, &"--format", &"sql"]);
    assert!(code == 0 && out.starts_with("CREATE TABLE `tree` ("), "{}", &out[..200]);
    // Another table's.
    let (code, out, err) = vaquita(&[&"dump", &tree, &"--sql", &scratch.0.join("nopk.sql")]);
    assert_eq!((code, &*out), (2, ""));
    assert!(err.contains("the rows are not those of the CREATE TABLE"), "{err}");
    let none = scratch.put("none.sql", b"select 1;");
    let (code, _, err) = vaquita(&[&"dump", &tree, &"--sql", &none]);
    assert!(code == 2 && err.contains("no CREATE TABLE"), "{err}");
}

fn dump_whole_tables(args: impl Fn(&Path, &str) -> Vec<String>) {
    let mut parts: std::collections::BTreeMap<String, String> = Default::default();
    for ibd in tablespaces() {
        let table = table_of(&ibd);
        let args: Vec<String> = args(&ibd, &table);
        let mut all: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"dump", &ibd];
        all.extend(args.iter().map(|a| a as &dyn AsRef<std::ffi::OsStr>));
        let (code, out, err) = vaquita(&all);
        assert_eq!((code, &*err), (0, ""), "{ibd:?}");
        // Partitions: one header, the rows of all.
        match parts.entry(table) {
            std::collections::btree_map::Entry::Vacant(e) => {
                e.insert(out);
            }
            std::collections::btree_map::Entry::Occupied(mut e) => {
                let rows = out.split_once('\n').unwrap().1;
                e.get_mut().push_str(rows);
            }
        }
    }
    assert_eq!(parts.len(), 29);
    for (table, out) in parts {
        let expected = expected(&table);
        if ["nopk", "part", "subpart"].contains(&&*table) {
            assert_eq!(as_set(&out), as_set(&expected), "{table}");
        } else {
            assert_eq!(out, expected, "{table}");
        }
    }
}

#[test]
fn with_cfg_and_frm() {
    dump_whole_tables(|ibd, table| {
        let frm = fixture(&format!("{table}.frm"));
        let cfg = ibd.with_extension("cfg");
        vec!["--cfg".into(), cfg.display().to_string(), "--frm".into(), frm.display().to_string()]
    });
}

#[test]
fn with_frm_alone() {
    dump_whole_tables(|_, table| {
        vec!["--frm".into(), fixture(&format!("{table}.frm")).display().to_string()]
    });
}

#[test]
fn with_cfg_alone_labels_are_numbers() {
    let (ibd, cfg) = (fixture("types_dynamic.ibd"), fixture("types_dynamic.cfg"));
    let (code, out, err) = vaquita(&[&"dump", &ibd, &"--cfg", &cfg]);
    assert_eq!((code, &*err), (0, ""));
    let expected = expected("types_dynamic");
    let columns: Vec<&str> = expected.lines().next().unwrap().split('\t').collect();
    for (ours, theirs) in out.lines().skip(1).zip(expected.lines().skip(1)) {
        let pairs = ours.split('\t').zip(theirs.split('\t')).zip(&columns);
        for ((ours, theirs), column) in pairs {
            match *column {
                // 'blue' is the third label; 'a,c,i' bits 0, 2 and 8.
                "e1" if theirs == "blue" => assert_eq!(ours, "3"),
                "s1" if theirs == "a,c,i" => assert_eq!(ours, "261"),
                "n1" if theirs == "0.01" => assert_eq!(ours, "8000000001"),
                // The .cfg does not know how many digits there are.
                "t3" | "ts1" | "ts5" if theirs != "NULL" => {
                    assert!(ours.starts_with(theirs), "{ours} {theirs}")
                }
                c if c.starts_with(['e', 's', 'n']) || c == "d_nn" => {}
                c => assert_eq!(ours, theirs, "{c}"),
            }
        }
    }
}

#[test]
fn redundant_records_describe_themselves() {
    let scratch = Scratch::new("bare");
    let ibd = scratch.put("types_redundant.ibd", &std::fs::read(fixture("types_redundant.ibd")).unwrap());
    let (code, out, err) = vaquita(&[&"dump", &ibd]);
    assert_eq!((code, &*err), (0, ""));
    let lines: Vec<Vec<&str>> = out.lines().map(|l| l.split('\t').collect()).collect();
    assert_eq!(lines.len(), 5);
    assert_eq!(lines[0][..2], ["field_0", "field_1"]);
    assert_eq!((lines[1][0], lines[1][3]), ("80000001", "7F"));
    let compact = scratch.put("types_compact.ibd", &std::fs::read(fixture("types_compact.ibd")).unwrap());
    let (code, out, err) = vaquita(&[&"dump", &compact]);
    assert_eq!((code, &*out), (2, ""));
    assert!(err.contains("--cfg") && err.contains("--frm"), "{err}");
}

#[test]
fn delete_marked_rows_are_shown_on_demand() {
    for table in ["delmark", "delmark_zip"] {
        let ibd = fixture(&format!("{table}.ibd"));
        let (code, out, _) = vaquita(&[&"dump", &ibd, &"--deleted"]);
        assert_eq!(code, 0);
        let (live, deleted): (Vec<&str>, Vec<&str>) = out.lines().skip(1).partition(|l| l.starts_with("0\t"));
        let live: Vec<&str> = live.iter().map(|l| &l[2..]).collect();
        assert_eq!(live, expected(table).lines().skip(1).collect::<Vec<_>>());
        assert!(!deleted.is_empty() && deleted.iter().all(|l| l.starts_with("1\t")), "{table}");
        assert!(out.starts_with("(deleted)\tid\t"));
        let (code, json, _) = vaquita(&[&"dump", &ibd, &"--deleted", &"--format", &"json"]);
        assert_eq!(code, 0);
        assert_eq!(json.matches("\"(deleted)\":true").count(), deleted.len());
        let (_, sql, _) = vaquita(&[&"dump", &ibd, &"--deleted", &"--format", &"sql"]);
        assert_eq!(sql.lines().filter(|l| l.starts_with("-- deleted: (")).count(), deleted.len());
    }
}

#[test]
fn other_forms() {
    let ibd = fixture("defaults@0020@0p@002d1.ibd");
    let (_, csv, _) = vaquita(&[&"dump", &ibd, &"--format", &"csv"]);
    let mut lines = csv.lines();
    assert_eq!(lines.next().unwrap(), r#""id","a","b","c","d","e","f","g","h ü","i","j","k""#);
    let row = r#"1000,1,"de'f","y,z","2015-01-01 01:01:01",1.500,"2000-01-01 00:00:00","p,q","5",,,"#;
    assert_eq!(lines.next().unwrap(), row);
    let (_, json, _) = vaquita(&[&"dump", &ibd, &"--format", &"json"]);
    let row = r#"{"id":1000,"a":1,"b":"de'f","c":"y,z","d":"2015-01-01 01:01:01","e":1.500,"f":"2000-01-01 00:00:00","#;
    assert!(json.starts_with(row), "{json}");
    let (_, sql, _) = vaquita(&[&"dump", &ibd, &"--format", &"sql"]);
    assert!(
        sql.starts_with("CREATE TABLE `defaults é-1` (\n  `id` int(10) unsigned NOT NULL AUTO_INCREMENT,\n")
    );
    assert!(sql.contains(") ENGINE=InnoDB AUTO_INCREMENT=1002 DEFAULT CHARSET=utf8"));
    let row = "INSERT INTO `defaults é-1` VALUES\n(1000,1,'de''f','y,z','2015-01-01 01:01:01',1.500,'2000-01-01 00:00:00','p,q',0x5,NULL,NULL,NULL),\n(";
    assert!(sql.contains(row) && sql.ends_with("NULL);\n"), "{sql}");
}

/// 250 rows and more: statements of a hundred rows each.
#[test]
fn insert_statements_have_an_end() {
    let (_, sql, _) = vaquita(&[&"dump", &fixture("nopk.ibd"), &"--format", &"sql"]);
    assert_eq!(sql.matches("INSERT INTO").count(), 1);
    let (_, sql, _) = vaquita(&[&"dump", &fixture("tree.ibd"), &"--format", &"sql"]);
    assert_eq!(sql.matches("INSERT INTO `tree` VALUES\n").count(), 48);
    assert_eq!(sql.matches(";\n").count(), 49, "the CREATE TABLE and 48 of a hundred rows");
}

#[test]
fn tables_of_a_data_folder() {
    let scratch = Scratch::new("datadir");
    let dir = data_folder(&scratch);
    let rows = std::fs::read_to_string(fixture_dir().join("datadir/rows.txt")).unwrap();
    for block in rows.split("-- ").skip(1) {
        let (table, expected) = block.split_once('\n').unwrap();
        let (code, out, err) = if table == "insys" {
            let frm = dir.join("shop/insys.frm");
            vaquita(&[&"dump", &dir.join("ibdata1"), &"--table", &"shop/insys", &"--frm", &frm])
        } else {
            vaquita(&[&"dump", &dir.join(format!("shop/{table}.ibd"))])
        };
        assert_eq!((code, &*err), (0, ""), "{table}");
        let (ours, theirs) = (as_set(&out), as_set(expected));
        assert_eq!(ours.0, theirs.0, "{table}");
        for (a, b) in ours.1.iter().zip(&theirs.1) {
            let fields = a.split('\t').zip(b.split('\t')).enumerate();
            for (i, (a, b)) in fields {
                // Long values are cut in rows.txt, and BLOBs are text there.
                let same = match (table, i) {
                    ("doc", 2) => a.len() >= b.len() || a == b,
                    ("orders", 3) | ("insys", 1) => a.starts_with(b),
                    _ => a == b,
                };
                assert!(same, "{table}: {a} {b}");
            }
        }
        assert_eq!(ours.1.len(), theirs.1.len(), "{table}");
    }
    // The dictionary's own numbers have no sign.
    let (_, spaces, _) = vaquita(&[&"dump", &dir.join("ibdata1"), &"--table", &"SYS_TABLESPACES"]);
    assert!(spaces.contains("\n1\tmysql/innodb_table_stats\t0\n"), "{spaces}");
    assert!(spaces.contains("\tshop/orders\t33\n"), "{spaces}");
    // The tables that the dictionary itself is made of.
    for (table, header, row) in [
        ("SYS_TABLES", "NAME\tID\tN_COLS\tTYPE\tMIX_ID\tMIX_LEN\tCLUSTER_NAME\tSPACE\n", "shop/orders\t"),
        ("SYS_COLUMNS", "TABLE_ID\tPOS\tNAME\tMTYPE\tPRTYPE\tLEN\tPREC\n", "\tdatabase_name\t"),
        ("SYS_INDEXES", "TABLE_ID\tID\tNAME\tN_FIELDS\tTYPE\tSPACE\tPAGE_NO\n", "\tPRIMARY\t"),
        ("SYS_FIELDS", "INDEX_ID\tPOS\tCOL_NAME\n", "\tdatabase_name\n"),
    ] {
        let (code, out, err) = vaquita(&[&"dump", &dir.join("ibdata1"), &"--table", &table]);
        assert_eq!((code, &*err), (0, ""), "{table}");
        assert!(
            out.starts_with(header) && out.contains(row),
            "{table}: {}",
            out.lines().next().unwrap_or_default()
        );
    }
    let (code, _, err) = vaquita(&[&"dump", &dir.join("ibdata1")]);
    assert_eq!(code, 2);
    assert!(err.contains("--table") && err.contains("shop/insys"), "{err}");
}

/// A damaged leaf costs its own rows only; a damaged root costs none that its leaves still have.
#[test]
fn damage_is_named_and_passed_over() {
    let scratch = Scratch::new("damaged");
    let frm = fixture("tree_redundant.frm");
    let whole = std::fs::read(fixture("tree_redundant.ibd")).unwrap();
    let all = expected("tree_redundant").lines().count() - 1;
    let (mut lost_rows, mut faulty) = (0, 0);
    for page in 3..whole.len() / 16384 {
        let mut bytes = whole.clone();
        bytes[page * 16384 + 5000] ^= 0x10;
        let ibd = scratch.put("tree_redundant.ibd", &bytes);
        let (code, out, err) = vaquita(&[&"dump", &ibd, &"--frm", &frm]);
        let rows = out.lines().count() - 1;
        if code == 0 {
            assert_eq!((rows, &*err), (all, ""), "a page of another index: {page}");
            continue;
        }
        faulty += 1;
        assert_eq!(code, 1);
        assert!(err.contains(&format!("page {page}: ")), "{err}");
        assert!(rows > all / 2, "page {page}: {rows} rows are left");
        if page == 3 {
            assert_eq!(as_set(&out), as_set(&expected("tree_redundant")), "the root has no rows");
        } else {
            lost_rows += all - rows;
        }
    }
    assert!(faulty > 10);
    assert_eq!(lost_rows, all, "each row was lost once");
}

/// A root page that is gone altogether: its leaves are found all over the file.
#[test]
fn a_lost_root_costs_no_rows() {
    let scratch = Scratch::new("lost-root");
    for (name, page_len) in [("tree", 16384), ("vkey", 16384), ("zip4", 4096), ("tree_redundant", 16384)] {
        let mut bytes = std::fs::read(fixture(&format!("{name}.ibd"))).unwrap();
        bytes[3 * page_len..4 * page_len].fill(0);
        let ibd = scratch.put(&format!("{name}.ibd"), &bytes);
        for metadata in ["cfg", "frm"] {
            let file = fixture(&format!("{name}.{metadata}"));
            let (code, out, err) = vaquita(&[&"dump", &ibd, &format!("--{metadata}"), &file]);
            assert_eq!(code, 1, "{name} {metadata}: {err}");
            assert!(err.contains("page 3: "), "{err}");
            // Three levels: inner pages are not needed either.
            assert_eq!(as_set(&out), as_set(&expected(name)), "{name} {metadata}");
        }
    }
}

/// A root page that is gone, whatever the table: the rows that are told are rows, entries of other indexes are not taken for them.
#[test]
fn a_lost_root_gives_no_junk() {
    let scratch = Scratch::new("no-junk");
    let mut refused = 0;
    for ibd in tablespaces() {
        let table = table_of(&ibd);
        let mut bytes = std::fs::read(&ibd).unwrap();
        // The size of compressed pages is in the flags of page 0, as a power of two.
        let page_len = match bytes[57] >> 1 & 15 {
            0 => 16384,
            compressed => 512 << compressed,
        };
        if bytes.len() <= 4 * page_len {
            continue;
        }
        bytes[3 * page_len..4 * page_len].fill(0);
        let damaged = scratch.put(ibd.file_name().unwrap().to_str().unwrap(), &bytes);
        let (code, out, err) = vaquita(&[&"dump", &damaged, &"--frm", &fixture(&format!("{table}.frm"))]);
        assert!(code == 1 || code == 2, "{table}: {code} {err}");
        let (header, known) = as_set(&expected(&table));
        if out.is_empty() {
            refused += usize::from(err.contains("the root of the clustered index"));
            continue;
        }
        let (told_header, told) = as_set(&out);
        assert_eq!(told_header, header, "{table}");
        for row in told {
            assert!(known.contains(&row), "{table}: no row: {row}");
        }
    }
    assert!(refused > 0, "no table whose other indexes outlive the rows");
}

#[test]
fn what_cannot_be_dumped() {
    let scratch = Scratch::new("nothing");
    for (name, bytes, word) in [
        ("zero.ibd", vec![], "not a tablespace"),
        ("short.ibd", vec![1; 900], "not a tablespace"),
        ("garbage.ibd", (0..70_000u32).map(|i| ((i * 7919) >> 3) as u8).collect(), "not a tablespace"),
        ("zeros.ibd", vec![0; 98_304], "do not fit"),
    ] {
        let path = scratch.put(name, &bytes);
        let (code, out, err) = vaquita(&[&"dump", &path, &"--frm", &fixture("tree.frm")]);
        assert_eq!((code, &*out), (2, ""), "{name}");
        assert!(err.contains(word) && err.contains(name), "{name}: {err}");
    }
    let (code, _, err) = vaquita(&[&"dump", &scratch.0.join("missing.ibd")]);
    assert_eq!(code, 2);
    assert!(err.contains("missing.ibd"), "{err}");
    let (code, _, err) = vaquita(&[&"dump", &fixture("tree.ibd"), &"--cfg", &fixture("zip4.cfg")]);
    assert_eq!(code, 2);
    assert!(err.contains("do not fit"), "{err}");
    let (code, _, err) = vaquita(&[&"dump", &fixture("tree.ibd"), &"--frm", &fixture("tree.cfg")]);
    assert_eq!(code, 2);
    assert!(err.contains("tree.cfg"), "{err}");
    assert_eq!(vaquita(&[&"dump"]).0, 2);
    assert_eq!(vaquita(&[&"--help"]).0, 0);
}

/// Rows that are whole on a page whose checksum is not: kept back, unless they are asked for.
#[test]
fn rows_of_damaged_pages_on_demand() {
    let scratch = Scratch::new("damaged-pages");
    for (table, page_len) in
        [("tree_redundant", 16_384), ("tree", 16_384), ("blob_compact", 16_384), ("zip4", 4096)]
    {
        let frm = fixture(&format!("{table}.frm"));
        let whole = std::fs::read(fixture(&format!("{table}.ibd"))).unwrap();
        let mut told = 0;
        let pages = whole.len() / page_len;
        for page in (3..pages).step_by(pages.div_ceil(20)) {
            let mut bytes = whole.clone();
            bytes[page * page_len] ^= 0x10;
            let ibd = scratch.put(&format!("{table}.ibd"), &bytes);
            let (code, kept_back, err) = vaquita(&[&"dump", &ibd, &"--frm", &frm]);
            if code == 0 {
                assert_eq!(
                    (&*kept_back, &*err),
                    (&*expected(table), ""),
                    "{table}: not a page of its rows: {page}"
                );
                continue;
            }
            assert_eq!(code, 1);
            assert!(err.contains(&format!("page {page}: ")) && err.contains("checksum"), "{err}");
            let (code, out, err) = vaquita(&[&"dump", &ibd, &"--frm", &frm, &"--damaged-pages"]);
            assert_eq!(out, expected(table), "{table}: page {page}");
            assert_eq!(code, 1, "{table}: page {page}");
            assert!(err.contains(&format!("page {page}: damaged page: page checksum")), "{err}");
            told += 1;
        }
        assert!(told > 0, "{table}: {told}");
        // A page that is gone cannot be taken.
        let mut bytes = whole.clone();
        bytes[3 * page_len..4 * page_len].fill(0);
        let ibd = scratch.put(&format!("{table}.ibd"), &bytes);
        let (code, _, err) = vaquita(&[&"dump", &ibd, &"--frm", &frm, &"--damaged-pages"]);
        assert!(code == 1 && err.contains("page 3: "), "{err}");
    }
}
