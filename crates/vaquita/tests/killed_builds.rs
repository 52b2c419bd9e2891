//! A server that is killed while it builds indexes, or rebuilds tables: the folder as it was left has no fault, and after the
//! next start the tables are whole and nothing of the build is there.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;

use common::{Scratch, vaquita};
use std::path::Path;
use std::process::{Command, Stdio};
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

/// Pools of which the first ones have no room for all of the redo: recovery then applies it in several rounds.
const POOLS: [&str; 3] =
    ["--innodb-buffer-pool-size=5M", "--innodb-buffer-pool-size=8M", "--innodb-buffer-pool-size=32M"];

/// Tables of one database for which CHECK TABLE does not say OK.
fn damaged(server: &Vaquita, database: &str) -> Vec<String> {
    let names = format!("select table_name from information_schema.tables where table_schema = '{database}'");
    let names = server.sql(&names).unwrap();
    let tables = names.lines().skip(1).map(|name| format!("`{database}`.`{name}`"));
    let checked = tables.map(|table| (server.sql(&format!("check table {table}")).unwrap(), table));
    checked.filter(|(said, _)| !said.contains("OK")).map(|(said, table)| format!("{table}: {said}")).collect()
}

#[test]
fn a_folder_of_a_server_killed_amid_rebuilds_opens_with_any_pool() {
    let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testing/fixtures/killed/rebuild.tar.xz");
    for pool in POOLS {
        let scratch = Scratch::new("killed-rebuild-fixture");
        let unpacked =
            Command::new("tar").arg("-xJf").arg(&archive).arg("-C").arg(&scratch.0).status().unwrap();
        assert!(unpacked.success());
        let dir = scratch.0.join("rebuild");
        let mut server = Vaquita::start(Path::new(env!("CARGO_BIN_EXE_vaquita")), &dir, &[pool]).unwrap();
        assert_eq!(damaged(&server, "k"), [""; 0], "{pool}");
        server.stop().unwrap();
        let (code, out, _) = vaquita(&[&"check", &dir]);
        assert_eq!(code, 0, "{pool}: {out}");
    }
}

/// Writers beside rebuilds, truncates and drops; each round is killed after another number of rebuilds and started again with another pool.
#[test]
fn a_server_killed_amid_rebuilds_starts_again() {
    let scratch = Scratch::new("killed-rebuilds");
    let dir = scratch.0.join("data");
    let binary = Path::new(env!("CARGO_BIN_EXE_vaquita"));
    let mut server = Vaquita::start(binary, &dir, &[POOLS[1]]).unwrap();
    let made = "create database d;
                create table d.n (i int primary key);
                insert into d.n values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9);
                create table d.done (i int);
                create table d.t (id int primary key auto_increment, a int, s varchar(200), key (a), key (s(50)));
                insert into d.t (a, s) select a.i, concat(d.i, c.i, b.i, a.i, repeat('x', 150))
                  from d.n a, d.n b, d.n c, d.n d;
                create table d.u like d.t;
                insert into d.u select * from d.t";
    server.sql(made).unwrap();
    let writes = "update t set a = a + 1, s = concat(left(s, 150), 'y') where id between 100 and 4000;
                  delete from t where id > 10000;
                  insert into t (a, s) select a, s from t limit 500;
                  update u set a = a + 1 where id < 3000;";
    let rebuilds = "alter table t engine = innodb;
                    drop table if exists v;
                    create table v like u;
                    insert into v select * from u limit 3000;
                    alter table v engine = innodb;
                    update v set a = a + 1;
                    truncate v;
                    insert into v select * from u limit 500;
                    drop table v;
                    insert into done values (1);";
    // Too long for an argument.
    let scripts = [("writes.sql", writes), ("rebuilds.sql", rebuilds)]
        .map(|(name, script)| scratch.put(name, script.repeat(500).as_bytes()));
    for round in 0..4 {
        server.sql("delete from d.done").unwrap();
        let mut clients: Vec<_> = scripts
            .each_ref()
            .map(|file| {
                let mut client = server.client("mariadb").unwrap();
                client.args(["-f", "d"]).stdin(std::fs::File::open(file).unwrap());
                client.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
            })
            .into();
        while server.sql("select count(*) >= 2 from d.done").unwrap().lines().last() != Some("1") {}
        // Not always at the same step.
        (0..round).for_each(|_| drop(server.sql("select sleep(0), count(*) from d.u").unwrap()));
        server.kill();
        for client in &mut clients {
            let _ = client.wait().unwrap();
        }
        server = Vaquita::start(binary, &dir, &[POOLS[round % 3]]).unwrap();
        assert_eq!(damaged(&server, "d"), [""; 0], "round {round}");
    }
    server.stop().unwrap();
    let (code, out, _) = vaquita(&[&"check", &dir]);
    assert_eq!(code, 0, "{out}");
}
