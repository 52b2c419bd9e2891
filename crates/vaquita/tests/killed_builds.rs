//! A server that is killed while it builds indexes: the folder as it was left has no fault, and after the next start the table
//! is whole and nothing of the build is there.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{Scratch, vaquita};
use std::path::Path;
use std::process::Stdio;
use vaquita_clients::Vaquita;

fn sort_files(dir: &Path) -> usize {
    let names = std::fs::read_dir(dir).unwrap().map(|file| file.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().starts_with("#sql-vaquita-sort-")).count()
}

#[test]
fn what_was_begun_of_an_index_is_gone() {
    let scratch = Scratch::new("killed-builds");
    let dir = scratch.0.join("data");
    let options = ["--innodb-sort-buffer-size=65536"];
    let mut server = Vaquita::start(Path::new(env!("CARGO_BIN_EXE_vaquita")), &dir, &options).unwrap();
    let made = "create database d;
                create table d.n (i int primary key);
                insert into d.n values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9);
                create table d.t (id int primary key auto_increment, a int, s varchar(200));
                insert into d.t (a, s) select a.i, concat(d.i, c.i, b.i, a.i, repeat('x', 90))
                  from d.n a, d.n b, d.n c, d.n d";
    server.sql(made).unwrap();
    let mut under_way = 0;
    for round in 0..6 {
        let mut client = server.client("mariadb").unwrap();
        client.args(["-e", "alter table d.t add unique key one (s, id), add key two (a, s)"]);
        let mut client = client.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Each time a little later.
        while sort_files(&dir) <= round * 4 && client.try_wait().unwrap().is_none() {}
        server.kill();
        let built = client.wait().unwrap().success();
        let (code, out, err) = vaquita(&[&"check", &dir]);
        assert_eq!((code, &*err), (0, ""), "round {round}:\n{out}");
        server.start_again().unwrap();
        assert_eq!(sort_files(&dir), 0, "round {round}");
        let indexes =
            "select count(distinct index_name) from information_schema.statistics where table_name = 't'";
        let indexes = server.sql(indexes).unwrap();
        let has_them = match indexes.lines().last().unwrap() {
            "1" => false,
            "3" => true,
            other => panic!("round {round}: {other} indexes"),
        };
        assert!(has_them || !built, "round {round}: they were built and are gone");
        under_way += u32::from(!has_them);
        assert!(server.sql("check table d.t").unwrap().contains("OK"), "round {round}");
        if has_them {
            server.sql("alter table d.t drop key one, drop key two").unwrap();
        }
    }
    assert!(under_way > 0, "no build was under way");
    server.sql("alter table d.t add unique key one (s, id), add key two (a, s)").unwrap();
    server.stop().unwrap();
    let (code, out, _) = vaquita(&[&"check", &dir]);
    assert_eq!(code, 0, "{out}");
    assert!(!out.contains("being written or freed"), "{out}");
}
