//! A server that cannot write all it would: a statement that wants more ends with an error and leaves nothing, and the server
//! lives.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;

use common::Scratch;
use std::os::unix::fs::PermissionsExt;
use vaquita_clients::Vaquita;

/// Blocks of 512 bytes up to which a file may grow: 32 MB, more than the files that the server itself needs have.
const BLOCKS: u32 = 65_536;

#[test]
fn a_file_that_cannot_be_written_whole_is_removed() {
    let scratch = Scratch::new("little-room");
    let binary = env!("CARGO_BIN_EXE_vaquita");
    // Writes beyond the limit fail, where the signal for them is ignored.
    let script = format!("#!/bin/sh\ntrap '' XFSZ\nulimit -f {BLOCKS}\nexec '{binary}' \"$@\"\n");
    let limited = scratch.put("limited", script.as_bytes());
    std::fs::set_permissions(&limited, std::fs::Permissions::from_mode(0o755)).unwrap();
    let options = [
        "--secure-file-priv=",
        "--max-allowed-packet=64M",
        "--innodb-buffer-pool-size=16M",
        "--innodb-log-file-size=8M",
    ];
    let mut server = Vaquita::start(&limited, &scratch.0.join("data"), &options).unwrap();
    server.sql("create database d; create table d.n (i int primary key); insert into d.n values (1), (2), (3), (4), (5)").unwrap();
    for (name, sql) in [
        ("rows.txt", "select repeat('a', 10000000) from d.n into outfile"),
        (
            "value.txt",
            "select concat(repeat('a', 16000000), repeat('b', 16000000), repeat('c', 16000000)) into dumpfile",
        ),
    ] {
        let file = scratch.0.join(name);
        let sql = format!("{sql} '{}'", file.display());
        let output = server.client("mariadb").unwrap().args(["-e", &sql]).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        let wanted = format!("Error writing file '{}' (Errcode: 27 - File too large)", file.display());
        assert!(told.contains("ERROR 3 (HY000)") && told.contains(&wanted), "{told}");
        assert!(!file.exists(), "{name}");
        // With room it can be given again.
        server.sql(&format!("select i from d.n into outfile '{}'", file.display())).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "1\n2\n3\n4\n5\n");
    }
    server.stop().unwrap();
}
