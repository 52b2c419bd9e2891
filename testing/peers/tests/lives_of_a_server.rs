//! Both peers start, answer, stop cleanly, survive a kill and start again; sessions hold locks; errors arrive.
#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use vaquita_peers::{Flavour, MariaDb, Mysql56, Options, PeerError, Server, scratch_dir};

fn fill_kill_and_restart(mut server: Server) {
    server.sql("create table test.t (a int primary key, b varchar(20)) engine=innodb").unwrap();
    server.sql("insert into test.t values (1,'one'),(2,NULL),(3,'tab\\there')").unwrap();
    let expected = "a\tb\n1\tone\n2\tNULL\n3\ttab\\there\n";
    assert_eq!(server.sql("select * from test.t order by a").unwrap(), expected);

    server.kill();
    assert_eq!(server.pid(), None);
    server.start_again().unwrap();
    assert_eq!(
        server.sql("select * from test.t order by a").unwrap(),
        expected,
        "committed rows survive a kill"
    );

    server.shutdown_slow().unwrap();
    server.start_again().unwrap();
    let rows = server.rows("select a, hex(b) from test.t where a < 3 order by a").unwrap();
    assert_eq!(rows, [["1", "6F6E65"], ["2", "NULL"]]);
    server.shutdown().unwrap();
}

#[test]
fn mysql_starts_stops_and_recovers() {
    let server = Mysql56::start(Options::new().set("innodb_page_size", "8k")).unwrap();
    assert_eq!(server.flavour(), Flavour::Mysql56);
    assert_eq!(
        server.rows("select version(), @@innodb_page_size, @@time_zone").unwrap(),
        [["5.6.24", "8192", "+00:00"]]
    );
    fill_kill_and_restart(server);
}

#[test]
fn mariadb_starts_stops_and_recovers() {
    let server = MariaDb::start(Options::new()).unwrap();
    assert!(server.rows("select version()").unwrap()[0][0].starts_with("10.11."));
    fill_kill_and_restart(server);
}

#[test]
fn sessions_hold_locks_and_report_errors() {
    let server = Mysql56::start(Options::new().set("innodb_lock_wait_timeout", 1)).unwrap();
    server
        .sql("create table test.t (a int primary key) engine=innodb; insert into test.t values (1)")
        .unwrap();
    let mut first = server.session().unwrap();
    first.run("begin").unwrap();
    assert_eq!(first.run("select * from test.t for update").unwrap(), "a\n1\n");
    let mut second = server.session().unwrap();
    let refused = second.run("update test.t set a = 2");
    assert!(matches!(&refused, Err(PeerError::Sql(text)) if text.contains("ERROR 1205")), "{refused:?}");
    first.run("commit;").unwrap();
    let refused = server.sql("select * from test.missing");
    assert!(
        matches!(&refused, Err(PeerError::Sql(text)) if text.contains("ERROR 1146 (42S02)")),
        "{refused:?}"
    );
}

#[test]
fn exported_files_are_copied_and_a_copied_folder_opens() {
    let mut server = Mysql56::start(Options::new()).unwrap();
    server
        .sql("create table test.t (a int primary key) engine=innodb; insert into test.t values (7)")
        .unwrap();
    let into = scratch_dir("vq-export").unwrap();
    server.export("test", &["t"], &into).unwrap();
    assert_eq!(std::fs::metadata(into.join("t.ibd")).unwrap().len() % 16384, 0);
    assert!(into.join("t.cfg").is_file() && into.join("t.frm").is_file());
    std::fs::remove_dir_all(&into).unwrap();

    server.shutdown().unwrap();
    let again = Mysql56::open(server.datadir(), Options::new()).unwrap();
    assert_eq!(again.rows("select * from test.t").unwrap(), [["7"]]);
}
