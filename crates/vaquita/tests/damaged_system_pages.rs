//! Damage in the pages that a folder has once, in their places: what a start says of it, and how far `innodb_force_recovery`
//! gets past it.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;

use common::{Scratch, data_folder};
use std::fs;
use std::path::{Path, PathBuf};
use vaquita_clients::Vaquita;

const PAGE: usize = 16_384;
/// Page of the transaction system, and the header of the first rollback segment.
const TRX_SYS: usize = 5;
const RSEG: usize = 6;

fn start(dir: &Path, level: u8) -> Result<Vaquita, String> {
    let level = format!("--innodb_force_recovery={level}");
    let options = ["--skip-grant-tables", &level];
    Vaquita::start(Path::new(env!("CARGO_BIN_EXE_vaquita")), dir, &options).map_err(|e| e.to_string())
}

fn assert_says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word:?} is missing in: {text}");
    }
}

/// A folder that was shut down cleanly, with a table and something in its history.
fn folder(scratch: &Scratch) -> PathBuf {
    let dir = scratch.0.join("data");
    let mut server = start(&dir, 0).unwrap();
    server
        .sql("create database d; create table d.t (a int primary key); insert into d.t values (1), (2)")
        .unwrap();
    server.sql("delete from d.t where a = 2").unwrap();
    server.stop().unwrap();
    dir
}

/// Changes a page of ibdata1; the page as it was.
fn damage(dir: &Path, page: usize, how: impl FnOnce(&mut [u8])) {
    let path = dir.join("ibdata1");
    let mut bytes = fs::read(&path).unwrap();
    how(&mut bytes[page * PAGE..(page + 1) * PAGE]);
    fs::write(&path, bytes).unwrap();
}

fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy(&path, &target),
            false => assert!(fs::copy(&path, &target).is_ok()),
        }
    }
}

fn rows_of(mut server: Vaquita, table: &str) -> String {
    let rows = server.sql(&format!("select count(*) from {table}")).unwrap();
    server.stop().unwrap();
    rows
}

/// A flipped bit where nothing is stored: MySQL 5.6.24 reads the page as it is from level 1 on.
#[test]
fn a_checksum_that_does_not_hold_is_passed_from_level_1_on() {
    let scratch = Scratch::new("system-page-flipped");
    let whole = folder(&scratch);
    let dir = scratch.0.join("copy");
    for page in [TRX_SYS, RSEG] {
        let named = format!("page 0:{page}");
        copy(&whole, &dir);
        damage(&dir, page, |bytes| bytes[5_000] ^= 0x55);
        let why = start(&dir, 0).err().unwrap();
        assert_says(&why, &[&named, "ibdata1", "checksum", "innodb_force_recovery=1", "restore a backup"]);
        for level in [1, 3, 4, 5, 6] {
            copy(&whole, &dir);
            damage(&dir, page, |bytes| bytes[5_000] ^= 0x55);
            let server = start(&dir, level).unwrap_or_else(|e| panic!("page {page}, level {level}: {e}"));
            server.sql("insert into d.t values (3)").expect_err("nothing changes");
            let log = server.log();
            assert_eq!(rows_of(server, "d.t"), "1\n", "page {page}, level {level}");
            if page == TRX_SYS || level < 5 {
                assert_says(&log, &[&named, "is read as it is, because of innodb_force_recovery"]);
            }
        }
    }
}

/// A header that is gone: only who looks at no undo logs gets past it, as in MySQL.
#[test]
fn a_rollback_segment_that_is_gone_is_passed_from_level_5_on() {
    let scratch = Scratch::new("system-page-zeroed");
    let whole = folder(&scratch);
    let dir = scratch.0.join("copy");
    for level in 0..=6 {
        copy(&whole, &dir);
        damage(&dir, RSEG, |bytes| bytes.fill(0));
        match start(&dir, level) {
            Ok(server) => {
                assert!(level >= 5, "level {level}");
                assert_eq!(rows_of(server, "d.t"), "1\n");
            }
            Err(why) => {
                assert!(level < 5, "level {level}: {why}");
                assert_says(
                    &why,
                    &["page 0:6", "rollback segment", "innodb_force_recovery=5", "restore a backup"],
                );
            }
        }
    }
}

#[test]
fn a_transaction_system_that_is_gone_is_named() {
    let scratch = Scratch::new("trx-sys-zeroed");
    let dir = folder(&scratch);
    damage(&dir, TRX_SYS, |bytes| bytes.fill(0));
    for level in [0, 1, 6] {
        let why = start(&dir, level).err().unwrap();
        assert_says(&why, &["ibdata1", "page 5", "transaction system", "is lost", "restore a backup"]);
    }
}

/// The same in a folder of MySQL 5.6, read as it is.
#[test]
fn of_another_servers_folder() {
    let scratch = Scratch::new("system-page-mysql");
    let whole = data_folder(&scratch);
    let dir = scratch.0.join("copy");
    for (level, opens) in [(0, false), (1, true), (4, true), (6, true)] {
        copy(&whole, &dir);
        damage(&dir, RSEG, |bytes| bytes[5_000] ^= 0x55);
        match start(&dir, level) {
            Ok(server) => {
                assert!(opens);
                assert_eq!(rows_of(server, "shop.customer"), "2\n");
            }
            Err(why) => {
                assert!(!opens, "{why}");
                assert_says(&why, &["page 0:6", "innodb_force_recovery=1"]);
            }
        }
    }
}
