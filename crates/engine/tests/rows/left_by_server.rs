//! A folder as a killed MySQL 5.6.24 leaves it, with transactions under way and history not purged: recovered, taken back
//! and purged here.

use crate::rows::bed::folder;
use std::fs;
use std::path::Path;
use vaquita_engine::check::check_table;
use vaquita_io::sim::SimDisk;
use vaquita_peers::{Mysql56, Options, Server};

fn copy(disk: &SimDisk, from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let at = to.join(path.file_name().unwrap());
        if path.is_dir() {
            disk.put_dir(&at);
            copy(disk, &path, &at);
        } else if path.is_file() {
            disk.put_file(&at, &fs::read(&path).unwrap());
        }
    }
}

const TABLES: &str = "
create table test.p (id int primary key, a int, b varchar(20), c text, key (a), unique key (b), key (c(10))) engine=innodb;
create table test.k (a int, b varchar(30), key (a), key (b(5))) engine=innodb row_format=redundant;
create table test.l (id varchar(10) primary key, x longblob, y text, n int, key (x(20)), key (n)) engine=innodb row_format=dynamic;
insert into test.p values (1,10,'one','c one'),(2,20,'two',null),(3,30,'three',repeat('x',9000)),(4,40,null,'four'),(5,50,null,null);
insert into test.k values (1,'eins'),(2,'zwei'),(3,null),(null,'vier');
insert into test.l values ('a',repeat('a',50000),repeat('y',20000),1),('b',repeat('b',100),null,2),('c',repeat('c',200000),repeat('z',300),null);
";

const UNFINISHED: [&str; 2] = [
    "begin;
     insert into test.p values (6,60,'six',repeat('s',30000));
     update test.p set a=a+1, c=repeat('n',20000) where id in (1,3);
     delete from test.p where id=2;
     insert into test.p values (2,21,'TWO','again');
     update test.p set b='ONE' where id=1;
     update test.k set a=a+10 where a=1;
     delete from test.k where a=2",
    "begin;
     update test.l set id='A' where id='a';
     update test.l set x=repeat('q',90000), n=7 where id='A';
     update test.l set id='d', y=null where id='c';
     delete from test.l where id='b';
     insert into test.l values ('b',repeat('B',40000),'new',22)",
];

/// Rows of the tables, as the server's client prints them.
fn contents(server: &Server) -> Vec<Vec<Vec<String>>> {
    ["p order by id", "k order by a", "l order by id"]
        .iter()
        .map(|table| server.rows(&format!("select * from test.{table}")).unwrap())
        .collect()
}

#[test]
fn what_a_killed_server_left_is_taken_back() {
    let mut server = Mysql56::start(
        Options::new().set("innodb_log_file_size", "8M").set("innodb_checksum_algorithm", "crc32"),
    )
    .unwrap();
    server.sql(TABLES).unwrap();
    // History: an old view keeps purge away.
    let mut view = server.session().unwrap();
    view.run("start transaction with consistent snapshot").unwrap();
    server.sql("update test.p set a=41 where id=4; delete from test.p where id=5; update test.l set n=3 where id='b'").unwrap();
    let wanted: Vec<_> = [
        "select * from test.p order by id",
        "select * from test.k order by a",
        "select * from test.l order by id",
    ]
    .map(|q| server.rows(q).unwrap())
    .into();
    let mut sessions: Vec<_> = UNFINISHED.map(|_| server.session().unwrap()).into();
    for (session, statements) in sessions.iter_mut().zip(UNFINISHED) {
        session.run(statements).unwrap();
    }
    server.sql("set global innodb_flush_log_at_trx_commit=1; create table test.z (a int) engine=innodb; insert into test.z values (1)").unwrap();
    server.kill();
    let disk = SimDisk::new(1);
    disk.put_dir("/db".as_ref());
    copy(&disk, server.datadir(), "/db".as_ref());
    let engine = folder(disk.clone()).with(|o| o.storage.take_over = true).open().unwrap();
    let core = engine.core();
    assert_eq!(core.txn.active().len(), 2);
    assert!(core.txn.history_len() > 2);
    while core.rollback_step().unwrap() {}
    assert_eq!(core.txn.active().len(), 0);
    for name in ["test/p", "test/k", "test/l", "test/z"] {
        let table = core.table(name).unwrap();
        check_table(core, &table).unwrap();
    }
    while core.purge_step().unwrap() {}
    for (n, name) in ["test/p", "test/k", "test/l"].into_iter().enumerate() {
        let table = core.table(name).unwrap();
        let report = check_table(core, &table).unwrap();
        assert_eq!(report.rows, wanted[n].len() as u64, "{name}");
        assert!(report.is_purged() && report.leaked_pages() == 0, "{name}: {report:?}");
    }
    engine.close().unwrap();
    drop(engine);
    // And the server finds its rows.
    for file in disk.files() {
        let to = server.datadir().join(file.strip_prefix("/db").unwrap());
        fs::write(to, disk.contents(&file).unwrap()).unwrap();
    }
    server.start_again().unwrap();
    let found = contents(&server);
    assert!(found == wanted);
    let checked = server.sql("check table test.p, test.k, test.l extended").unwrap();
    assert_eq!(checked.matches("\tOK").count(), 3, "{checked}");
}
