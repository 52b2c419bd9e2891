//! `vaquita inspect`: the facts it shows are those the format's specification gives for these files.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;

use common::{Scratch, data_folder, fixture, tablespaces, vaquita};

/// The value of a line `label  value`.
fn fact<'o>(out: &'o str, label: &str) -> &'o str {
    let line = out.lines().find(|l| l.trim_start().starts_with(label));
    line.unwrap_or_else(|| panic!("no {label} in {out}")).trim_start()[label.len()..].trim()
}

#[test]
fn a_tablespace_at_a_glance() {
    let (code, out, err) = vaquita(&[&"inspect", &fixture("tree.ibd")]);
    assert_eq!((code, &*err), (0, ""));
    assert_eq!(fact(&out, "file"), "704 pages, 11.0 MiB");
    assert_eq!(fact(&out, "page size"), "16384 bytes");
    assert_eq!(fact(&out, "tablespace"), "430");
    assert_eq!(fact(&out, "row format"), "COMPACT");
    assert_eq!(fact(&out, "described by"), "tree.cfg and tree.frm");
    assert_eq!(fact(&out, "clustered"), "PRIMARY (id), root 3");
    assert_eq!(fact(&out, "INDEX"), "143");
    assert!(out.contains("\n           0  HBNRRRRRlllllll"), "{out}");
    let (_, out, _) = vaquita(&[&"inspect", &fixture("zip4.ibd")]);
    assert_eq!(fact(&out, "page size"), "16384 bytes, compressed to 4096");
    assert_eq!(fact(&out, "flags"), "0x27 (Barracuda)");
    assert_eq!(fact(&out, "row format"), "COMPRESSED");
}

#[test]
fn single_pages() {
    let (code, out, _) = vaquita(&[&"inspect", &fixture("parent.ibd"), &"page", &"3"]);
    assert_eq!(code, 0);
    assert!(out.starts_with("page 3 of ") && out.contains(": INDEX\n"), "{out}");
    assert_eq!(fact(&out, "index"), "841 (parent.PRIMARY)");
    assert_eq!(fact(&out, "records"), "2, COMPACT");
    assert_eq!(fact(&out, "heap"), "4 records up to 170");
    assert_eq!(fact(&out, "last insert"), "at 150, direction right, 1 in a row");
    assert_eq!(fact(&out, "leaf segment"), "inode at 2+242 of tablespace 487");
    assert!(fact(&out, "structure").starts_with("sound; 0 delete-marked"), "{out}");
    for page in 0..6 {
        let (code, out, _) = vaquita(&[&"inspect", &fixture("empty.ibd"), &"page", &page.to_string()]);
        assert_eq!(code, 0, "{out}");
    }
    let (code, out, _) = vaquita(&[&"inspect", &fixture("empty.ibd"), &"page", &"6"]);
    assert_eq!(code, 1);
    assert!(out.contains("beyond the last of 6 pages"), "{out}");
}

#[test]
fn records_of_a_page() {
    let (code, out, _) = vaquita(&[&"inspect", &fixture("nopk.ibd"), &"records", &"3"]);
    assert_eq!(code, 0);
    assert!(out.starts_with("page 3: index 740 (nopk.GEN_CLUST_INDEX), level 0, 5 records\n"), "{out}");
    let first = out.lines().nth(2).unwrap();
    assert!(
        first.contains("DB_ROW_ID=1536, DB_TRX_ID=34137, DB_ROLL_PTR=0xe0000002390110, a=1, b='one'"),
        "{out}"
    );
    assert!(out.contains("a=NULL, b=NULL"), "{out}");
    let (_, out, _) = vaquita(&[&"inspect", &fixture("tree.ibd"), &"records", &"3"]);
    assert!(out.lines().nth(2).unwrap().contains("minimum id="), "{out}");
    assert_eq!(out.matches(" -> page ").count(), 93);
    let (_, out, _) = vaquita(&[&"inspect", &fixture("delmark.ibd"), &"records", &"3"]);
    assert!(out.contains(" deleted id="), "{out}");
    let (code, out, _) = vaquita(&[&"inspect", &fixture("tree.ibd"), &"records", &"0"]);
    assert_eq!(code, 1);
    assert!(out.contains("not an index page"), "{out}");
}

#[test]
fn trees_and_extents() {
    let (code, out, _) = vaquita(&[&"inspect", &fixture("tree.ibd"), &"tree"]);
    assert_eq!(code, 0);
    assert!(out.contains("tree.PRIMARY  (index 746, clustered, root page 3)\n"), "{out}");
    assert!(out.contains("4 800 records"), "{out}");
    let (code, out, _) = vaquita(&[&"inspect", &fixture("tree.ibd"), &"extents"]);
    assert_eq!(code, 0);
    assert!(out.contains("leaves of tree.PRIMARY") && out.contains("256 - 383"), "{out}");
    let (code, out, _) = vaquita(&[&"inspect", &fixture("blob_zip4.ibd"), &"tree"]);
    assert_eq!(code, 0);
    assert!(out.contains("off-page"), "{out}");
}

#[test]
fn a_data_folder_and_its_log() {
    let scratch = Scratch::new("inspect-folder");
    let dir = data_folder(&scratch);
    let (code, out, err) = vaquita(&[&"inspect", &dir]);
    assert_eq!((code, &*err), (0, ""), "{out}");
    assert!(out.contains("system tablespace") && out.contains("shop/customer"), "{out}");
    for args in [&["log"][..], &[]] {
        let mut all: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"inspect"];
        let log = dir.join("ib_logfile0");
        all.push(if args.is_empty() { &log } else { &dir });
        all.extend(args.iter().map(|a| a as &dyn AsRef<std::ffi::OsStr>));
        let (code, out, _) = vaquita(&all);
        assert_eq!(code, 0);
        assert_eq!(fact(&out, "checkpoint 2"), "number 1, LSN 1750900, offset 109428");
        assert_eq!(fact(&out, "end of log"), "LSN 1750900, 0 bytes after the checkpoint");
    }
    let (code, out, _) = vaquita(&[&"inspect", &dir.join("ibdata1")]);
    assert_eq!(code, 0);
    assert!(out.contains("shop/insys") && out.contains("doublewrite"), "{out}");
    for page in [0, 1, 2, 3, 4, 5, 6, 7, 8, 64, 215, 301] {
        let (code, out, _) = vaquita(&[&"inspect", &dir.join("ibdata1"), &"page", &page.to_string()]);
        assert!(code <= 1 && !out.is_empty(), "{out}");
    }
    let (code, out, _) = vaquita(&[&"inspect", &dir.join("ibdata1"), &"records", &"8"]);
    assert_eq!(code, 0);
    assert!(out.contains("NAME=") && out.contains("dictionary.SYS_TABLES.CLUST_IND"), "{out}");
}

/// Without the last checkpoint, the log from the one before is read: 107 KB that a server wrote.
#[test]
fn the_log_of_a_server() {
    let scratch = Scratch::new("inspect-log");
    let dir = data_folder(&scratch);
    let log = dir.join("ib_logfile0");
    let mut bytes = std::fs::read(&log).unwrap();
    bytes[1536] ^= 1;
    std::fs::write(&log, &bytes).unwrap();
    let (code, out, _) = vaquita(&[&"inspect", &dir, &"log"]);
    assert_eq!(code, 0, "{out}");
    assert!(fact(&out, "checkpoint 2").starts_with("not valid"), "{out}");
    assert!(out.contains("records by type") && out.contains("CompRecInsert"), "{out}");
    assert!(!out.contains("STOPPED"), "{out}");
}

/// Every view of every fixture runs.
#[test]
fn all_views_of_all_files() {
    for ibd in tablespaces() {
        for view in [
            &[][..],
            &["tree"],
            &["extents"],
            &["page", "3"],
            &["records", "3"],
            &["page", "0"],
            &["page", "2"],
        ] {
            let mut all: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"inspect", &ibd];
            all.extend(view.iter().map(|a| a as &dyn AsRef<std::ffi::OsStr>));
            let (code, out, err) = vaquita(&all);
            assert_eq!((code, &*err), (0, ""), "{ibd:?} {view:?} {out}");
        }
    }
}
