//! Folders of servers that were shut down: nothing is wrong, whatever is left to purge.

use vaquita_peers::Mysql56;

use crate::folders::{check, workload};

#[test]
fn shut_down_with_history_and_without() {
    let mut server = Mysql56::start(workload::options()).unwrap();
    workload::create(&server);
    workload::fill(&server);
    // An old snapshot keeps purge from everything that follows.
    let mut reader = server.session().unwrap();
    reader.run("start transaction with consistent snapshot").unwrap();
    reader.run("select count(*) from w.tc").unwrap();
    workload::change(&server);
    server.shutdown().unwrap();
    let (code, out) = check(server.datadir());
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("0 transactions active, 0 prepared"), "{out}");
    assert!(!out.contains(" 0 logs in the history"), "{out}");

    server.start_again().unwrap();
    workload::change(&server);
    server.shutdown_slow().unwrap();
    let (code, out) = check(server.datadir());
    assert_eq!(code, 0, "{out}");
    assert!(!out.contains("note:"), "{out}");
}

/// Definitions change in every way: the dictionary, the files and the trees go along.
#[test]
fn after_all_kinds_of_definitions() {
    let mut server = Mysql56::start(workload::options()).unwrap();
    workload::create(&server);
    workload::fill(&server);
    let far = vaquita_peers::scratch_dir("vq-far").unwrap();
    let sql = "use w;
        alter table tc add column more int default 3, add key km (more);
        alter table tc drop key g, algorithm=inplace; alter table td drop key u, add unique key u2 (code, id);
        alter table tr add column x varchar(10) after id, algorithm=copy;
        alter table tz row_format=compressed key_block_size=4;
        rename table nopk to nokey; create table gone like tc; insert into gone select * from tc; drop table gone;
        truncate table child; insert into child select n, n % 100 from seq;
        alter table child drop foreign key fk; alter table child add constraint fk2 foreign key (p) references parent (id);
        create table self (id int primary key, up int, foreign key (up) references self (id) on delete cascade)
          engine=innodb;
        insert into self select n, if(n = 0, null, n div 2) from seq order by n;
        delete from self where id = 3;
        create table docs (id int auto_increment primary key, t text, fulltext key ft (t)) engine=innodb;
        insert into docs (t) values ('one two three'), ('four five'), ('six seven eight');
        alter table docs drop key ft;
        create table part (id int not null, v varchar(20), key (v)) engine=innodb
          partition by hash (id) partitions 3;
        insert into part select n, concat('p', n) from seq; alter table part coalesce partition 1;
        create table `odd-näme 1` (a int, key `k€y` (a)) engine=innodb; insert into `odd-näme 1` values (1), (2);
        create database w2; rename table w.parent to w2.parent;
        create table dropped_ref (id int primary key, r int) engine=innodb;
        set foreign_key_checks = 0;
        alter table dropped_ref add constraint nowhere foreign key (r) references w2.never (id);
        create temporary table tmp (a int) engine=innodb; insert into tmp values (1);";
    server.sql(&format!("set sql_mode = '';\n{sql}")).unwrap();
    server
        .sql(&format!(
            "use w; create table far (id int primary key, v int, key (v)) engine=innodb data directory='{}';
             insert into far select n, n % 10 from seq;
             create table disc (id int primary key) engine=innodb; alter table disc discard tablespace;",
            far.display()
        ))
        .unwrap();
    server.shutdown().unwrap();
    let (code, out) = check(server.datadir());
    assert_eq!(code, 0, "{out}");
    let notes: Vec<&str> = out.lines().filter_map(|l| l.trim().strip_prefix("note: ")).collect();
    let [path, foreign] = notes[..] else { panic!("{out}") };
    assert_eq!(foreign, "foreign key w/nowhere: there is no table w2/never");
    // The server itself forgets to change it.
    assert!(
        path.contains("SYS_DATAFILES says ./w/parent.ibd") && path.ends_with("it is of w2/parent"),
        "{out}"
    );
    assert!(out.contains(&format!("{}/w/far.ibd", far.display())), "{out}");

    // The far file goes away.
    std::fs::rename(far.join("w/far.ibd"), far.join("w/elsewhere.ibd")).unwrap();
    let (code, out) = check(server.datadir());
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("file of a table: w/far has none for its tablespace"), "{out}");
    std::fs::remove_dir_all(&far).unwrap();
}

#[test]
fn of_other_page_sizes() {
    for size in ["4k", "8k"] {
        let options = workload::options().set("innodb_page_size", size).set("innodb_large_prefix", 0);
        let mut server = Mysql56::start(options).unwrap();
        server
            .sql(
                "create database w; use w; create table seq (n int primary key) engine=memory;
                 insert into seq values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9);
                 create table t (id int primary key, a varchar(100), b blob, key (a), key (b(40)), key (a(5), b(9)))
                   engine=innodb row_format=dynamic;
                 create table z (id int primary key, a varchar(100), b blob, key (a), key (b(40)))
                   engine=innodb row_format=compressed key_block_size=2;
                 insert into t select a.n + 10 * b.n + 100 * c.n, concat('a', a.n, b.n),
                   if(c.n = 5, null, repeat(char(b.n), a.n * c.n * 200)) from seq a, seq b, seq c;
                 insert into z select id, a, left(b, 300) from t;
                 update t set b = concat(b, 'x') where id % 7 = 0; update z set a = upper(a) where id % 2 = 0;
                 delete from t where id % 5 = 2; delete from z where id % 9 = 1;",
            )
            .unwrap();
        server.kill();
        let (code, out) = check(server.datadir());
        assert_eq!(code, 0, "{size}: {out}");
        assert!(out.contains("changes of compressed pages"), "{out}");
        server.start_again().unwrap();
        server.shutdown().unwrap();
        let (code, out) = check(server.datadir());
        assert_eq!(code, 0, "{size}: {out}");
        assert!(!out.contains("note:"), "{out}");
    }
}

/// A killed server leaves the table that an ALTER TABLE was at: its file without a row of the dictionary, or the row without
/// the file, and MySQL leaves both as they are. That is told and is no fault; of any other table it is one.
#[test]
fn with_what_a_killed_alter_table_leaves() {
    let mut server = Mysql56::start(workload::options()).unwrap();
    server
        .sql(
            "create database w; use w; create table t (a int primary key) engine=innodb; insert into t values (1);
             create table `#mysql50##sql-ib29-77` (a int primary key) engine=innodb;",
        )
        .unwrap();
    server.shutdown().unwrap();
    let folder = server.datadir().join("w");
    let (code, out) = check(server.datadir());
    assert_eq!(code, 0, "{out}");
    assert!(!out.contains("note:"), "{out}");

    std::fs::rename(folder.join("#sql-ib29-77.ibd"), folder.join("#sql-ib30-78.ibd")).unwrap();
    let (code, out) = check(server.datadir());
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("note: file of a table: w/#sql-ib29-77 has none; its tablespace"), "{out}");
    assert!(out.contains("is in w/#sql-ib30-78.ibd; left by an ALTER TABLE that a crash ended"), "{out}");

    std::fs::remove_file(folder.join("#sql-ib30-78.ibd")).unwrap();
    std::fs::copy(folder.join("t.ibd"), folder.join("#sql-ib31-79.ibd")).unwrap();
    let (code, out) = check(server.datadir());
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("note: file of a table: w/#sql-ib29-77 has none for its tablespace"), "{out}");
    assert!(out.contains("note: orphan file: w/#sql-ib31-79.ibd"), "{out}");

    // The rows are in the intermediate file alone: the table lacks them.
    std::fs::remove_file(folder.join("t.ibd")).unwrap();
    let (code, out) = check(server.datadir());
    assert_eq!(code, 1, "{out}");
    let faults: Vec<&str> = out.lines().skip_while(|l| !l.starts_with("dictionary")).collect();
    assert!(faults[0].contains("FAULTY"), "{out}");
    assert!(faults[1].starts_with("    file of a table: w/t has none; its tablespace"), "{out}");
    assert!(faults[1].ends_with("is in w/#sql-ib31-79.ibd"), "{out}");
    assert_eq!(out.lines().filter(|l| l.contains("FAULTY")).count(), 1, "{out}");
}
