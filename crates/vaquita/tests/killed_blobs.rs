//! A server that is killed while it replaces long values: the folder as it was left has no fault, and is whole when it was opened
//! again.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;

use common::{Scratch, vaquita};
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Stdio};
use vaquita_clients::Vaquita;

const WRITERS: usize = 3;

/// A client that replaces rows until its server is gone.
fn writer(server: &Vaquita, number: usize) -> Child {
    let mut script = String::new();
    for n in 0..400 {
        let (id, letter) = (number * 10 + n % 4, char::from(b'a' + (n % 26) as u8));
        let (long, short) = (700_000 + n * 130_007 % 2_000_000, 100_000 + n * 70_001 % 300_000);
        script += &format!("replace into d.t values ({id}, repeat('{letter}', {long}));\n");
        script += &format!("replace into d.c values ({id}, repeat('{letter}', {short}));\n");
    }
    let mut client = server.client("mariadb").unwrap();
    client.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut client = client.spawn().unwrap();
    let mut stdin = client.stdin.take().unwrap();
    std::thread::spawn(move || {
        // Its server goes away in the middle.
        let _ = stdin.write_all(script.as_bytes());
    });
    client
}

fn replaced(server: &Vaquita) -> u64 {
    let text = server.sql("show global status like 'Com_replace'").unwrap();
    text.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn what_was_under_way_is_no_fault() {
    let scratch = Scratch::new("killed-blobs");
    let dir = scratch.0.join("data");
    let mut server = Vaquita::start(Path::new(env!("CARGO_BIN_EXE_vaquita")), &dir, &[]).unwrap();
    let made = "create database d;
                create table d.t (id int primary key, b longblob) row_format=dynamic;
                create table d.c (id int primary key, b longblob) row_format=compact";
    server.sql(made).unwrap();
    for round in 0..8 {
        let mut clients: Vec<Child> = (0..WRITERS).map(|n| writer(&server, n)).collect();
        while replaced(&server) < 12 + 7 * round {}
        server.kill();
        for client in &mut clients {
            client.wait().unwrap();
        }
        let (code, out, err) = vaquita(&[&"check", &dir]);
        assert_eq!((code, &*err), (0, ""), "round {round}:\n{out}");
        server.start_again().unwrap();
        assert!(server.sql("check table d.t, d.c").unwrap().matches("OK").count() == 2);
    }
    server.stop().unwrap();
    let (code, out, _) = vaquita(&[&"check", &dir]);
    assert_eq!(code, 0, "{out}");
    assert!(!out.contains("being written or freed"), "{out}");
}
