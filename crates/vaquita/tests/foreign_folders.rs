//! Folders that other servers made: two servers never have one at a time, nothing in it changes before somebody says so, and
//! who may come in is not forgotten. And the ways into a folder whose accounts are lost or damaged.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;

use common::{Scratch, data_folder};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use vaquita_clients::Vaquita;
use vaquita_peers::{Mysql56, Options};

const BINARY: &str = env!("CARGO_BIN_EXE_vaquita");

fn start(dir: &Path, options: &[&str]) -> Vaquita {
    Vaquita::start(Path::new(BINARY), dir, options).unwrap()
}

/// What the server says when it does not start.
fn refusal(dir: &Path, options: &[&str]) -> String {
    match Vaquita::start(Path::new(BINARY), dir, options) {
        Ok(_) => panic!("{} was opened", dir.display()),
        Err(why) => why.to_string(),
    }
}

fn assert_says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word:?} is missing in: {text}");
    }
}

/// Every file below a folder with its bytes.
fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(contents(&path));
        } else {
            all.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    all
}

fn assert_unchanged(dir: &Path, before: &BTreeMap<PathBuf, Vec<u8>>) {
    let now = contents(dir);
    let names = |all: &BTreeMap<PathBuf, Vec<u8>>| all.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&now), names(before));
    let changed: Vec<_> = before.keys().filter(|path| now[*path] != before[*path]).collect();
    assert!(changed.is_empty(), "{changed:?}");
}

fn sql_fails(server: &Vaquita, statement: &str, words: &[&str]) {
    let why = server.sql(statement).expect_err(statement).to_string();
    assert_says(&why, words);
}

/// MySQL locks ibdata1 while it runs, and so do we.
#[test]
fn two_servers_never_have_a_folder_at_a_time() {
    let mut theirs = Mysql56::start(Options::new()).unwrap();
    let dir = theirs.datadir().to_owned();
    let pid = format!("process {} (mysqld)", theirs.pid().unwrap());
    for options in [&["--take-over"][..], &["--skip-grant-tables"]] {
        assert_says(&refusal(&dir, options), &["ibdata1", &pid]);
    }
    let Err(why) = vaquita::Database::open(&dir) else { panic!("opened beside a running server") };
    assert_says(&why.to_string(), &["ibdata1", &pid]);
    theirs
        .sql("create table test.t (a int primary key) engine=innodb; insert into test.t values (1)")
        .unwrap();
    theirs.shutdown().unwrap();

    let mut ours = start(&dir, &["--take-over", "--skip-grant-tables"]);
    ours.sql("insert into test.t values (2)").unwrap();
    let log = theirs.start_refused("Unable to lock ./ibdata1").unwrap();
    assert_says(&log, &["Unable to lock ./ibdata1"]);
    ours.stop().unwrap();
    theirs.start_again().unwrap();
    assert_eq!(theirs.rows("select a from test.t; check table test.t").unwrap()[1], ["2"]);
}

#[test]
fn nothing_changes_in_a_folder_that_is_not_taken_over() {
    let scratch = Scratch::new("foreign-read");
    let dir = data_folder(&scratch);
    let before = contents(&dir);

    let mut server = start(&dir, &[]);
    sql_fails(&server, "select 1", &["1045", "made by another server", "--skip-grant-tables"]);
    server.stop().unwrap();
    assert_says(&server.log(), &["open for reading only", "--take-over", "nobody can log in"]);
    assert_unchanged(&dir, &before);

    let mut server = start(&dir, &["--skip-grant-tables"]);
    assert_eq!(server.sql("select count(*) from shop.customer").unwrap(), "2\n");
    for change in [
        "delete from shop.customer",
        "insert into shop.nokey select * from shop.nokey",
        "create table shop.new (a int)",
        "drop table shop.customer",
        "alter table shop.customer add x int",
        "truncate table shop.customer",
        "create database new",
        "drop database shop",
        "flush privileges; create user u@localhost",
    ] {
        sql_fails(&server, change, &["ERROR"]);
    }
    sql_fails(&server, "delete from shop.customer", &["1290", "--take-over"]);
    sql_fails(&server, "create table shop.new (a int)", &["1290", "--take-over"]);
    server.stop().unwrap();
    assert_unchanged(&dir, &before);

    // Inside a process: the same.
    let db = vaquita::Database::open(&dir).unwrap();
    let mut conn = db.connect().unwrap();
    assert_eq!(conn.query("select * from shop.customer", ()).unwrap().len(), 2);
    assert_eq!(conn.execute("delete from shop.customer", ()).unwrap_err().code, 1290);
    drop(conn);
    db.close().unwrap();
    assert_unchanged(&dir, &before);
}

/// A password that the folder had is not got around: until an account is made, nobody comes in.
#[test]
fn a_folder_that_is_taken_over_has_no_accounts_until_they_are_made() {
    let scratch = Scratch::new("foreign-taken");
    let dir = data_folder(&scratch);
    let mut server = start(&dir, &["--take-over"]);
    sql_fails(&server, "select 1", &["1045", "no account"]);
    assert_says(&server.log(), &["is taken over", "SYS_VAQUITA_TABLES", "nobody can log in"]);
    server.stop().unwrap();

    // It is ours now: the option is not wanted again.
    let mut server = start(&dir, &["--skip-grant-tables"]);
    server.sql("insert into shop.nokey select * from shop.nokey").unwrap();
    sql_fails(&server, "create user u@localhost", &["1290", "--skip-grant-tables"]);
    sql_fails(&server, "show grants", &["1290", "--skip-grant-tables"]);
    let making = "flush privileges; create user root@localhost identified by 'secret';
                  grant all on *.* to root@localhost with grant option";
    server.sql(making).unwrap();
    sql_fails(&server, "select 1", &["1045"]);
    server.stop().unwrap();

    let mut server = start(&dir, &[]);
    sql_fails(&server, "select 1", &["1045"]);
    let mut client = server.client("mariadb").unwrap();
    let done =
        client.args(["--password=secret", "--execute", "select count(*) from mysql.user"]).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    server.stop().unwrap();
}

#[test]
fn lost_and_damaged_accounts_close_the_door() {
    let scratch = Scratch::new("lost-accounts");
    let dir = scratch.0.join("data");
    let mut server = start(&dir, &[]);
    server.sql("create database d; create table d.t (a int); insert into d.t values (1)").unwrap();
    server.stop().unwrap();

    // A page of mysql.user is torn.
    let file = dir.join("mysql/user.ibd");
    let whole = fs::read(&file).unwrap();
    let mut torn = whole.clone();
    torn[3 * 16_384..4 * 16_384].fill(0);
    fs::write(&file, &torn).unwrap();
    assert_says(&refusal(&dir, &[]), &["`mysql`.`user`: page ", "is damaged", "--skip-grant-tables"]);
    let mut server = start(&dir, &["--skip-grant-tables"]);
    assert_eq!(server.sql("select a from d.t").unwrap(), "1\n");
    server.stop().unwrap();
    fs::write(&file, &whole).unwrap();

    let mut server = start(&dir, &[]);
    server.sql("drop database mysql").unwrap();
    server.stop().unwrap();
    assert_says(&refusal(&dir, &[]), &["mysql.user", "--skip-grant-tables"]);
    let mut server = start(&dir, &["--skip-grant-tables"]);
    server
        .sql("flush privileges; create user me@localhost identified by 'x'; grant all on *.* to me@localhost")
        .unwrap();
    server.stop().unwrap();
    let mut server = start(&dir, &[]);
    sql_fails(&server, "select 1", &["1045"]);
    server.stop().unwrap();
}

/// A folder of our own in which nothing else was ever made: not even then does root come back by himself.
#[test]
fn an_empty_folder_without_accounts_stays_closed() {
    let scratch = Scratch::new("lost-accounts-empty");
    let dir = scratch.0.join("data");
    let mut server = start(&dir, &[]);
    server.sql("drop database mysql").unwrap();
    server.stop().unwrap();
    assert_says(&refusal(&dir, &[]), &["mysql.user"]);
}

/// Without accounts, no other machine comes in.
#[test]
fn without_accounts_only_this_machine_is_listened_to() {
    let scratch = Scratch::new("skip-grants");
    let dir = scratch.0.join("data");
    let mut server = start(&dir, &["--skip-grant-tables", "--bind=0.0.0.0"]);
    assert_says(server.ready(), &["mysql=127.0.0.1:"]);
    let mut client = server.client("mariadb").unwrap();
    let done = client.args(["--user=anybody", "--password=wrong", "--execute", "select 1"]).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    server.stop().unwrap();
    // The folder was new: it got its accounts all the same.
    let mut server = start(&dir, &[]);
    assert_eq!(server.sql("select user from mysql.user").unwrap(), "root\n");
    server.stop().unwrap();
}

/// Folders that later servers made say whose they are.
#[test]
fn folders_of_later_servers_are_named() {
    let scratch = Scratch::new("foreign-later");
    let header = |format: [u8; 4], creator: &str| {
        let mut bytes = vec![0; 4096];
        bytes[..4].copy_from_slice(&format);
        bytes[16..16 + creator.len()].copy_from_slice(creator.as_bytes());
        bytes
    };
    let makers =
        [([0, 0, 0, 1], "MySQL 5.7.44"), ([0, 0, 0, 4], "MySQL 8.0.28"), (*b"Phys", "MariaDB 10.11.6")];
    for (format, creator) in makers {
        let dir = scratch.0.join(creator);
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("ib_logfile0"), header(format, creator)).unwrap();
        fs::write(dir.join("ibdata1"), vec![0; 12 << 20]).unwrap();
        assert_says(&refusal(&dir, &["--take-over"]), &[creator]);
    }
    let dir = scratch.0.join("of-8.0.30");
    fs::create_dir_all(dir.join("#innodb_redo")).unwrap();
    assert_says(&refusal(&dir, &[]), &["MySQL 8.0"]);
}

/// Settings of the server that made a folder are named, with their values.
#[test]
fn settings_that_a_folder_needs_are_named() {
    let mut several =
        Mysql56::start(Options::new().set("innodb_data_file_path", "ibdata1:12M;ibdata2:10M:autoextend"))
            .unwrap();
    several
        .sql("create table test.t (a int primary key) engine=innodb; insert into test.t values (1)")
        .unwrap();
    several.shutdown().unwrap();
    let why = refusal(several.datadir(), &["--skip-grant-tables"]);
    let value = why.split("innodb_data_file_path='").nth(1).and_then(|rest| rest.split('\'').next()).unwrap();
    let option = format!("--innodb-data-file-path={value}");
    let mut server = start(several.datadir(), &["--skip-grant-tables", &option]);
    assert_eq!(server.sql("select a from test.t").unwrap(), "1\n");
    server.stop().unwrap();

    let other = Options::new()
        .set("innodb_page_size", "8k")
        .set("innodb_undo_tablespaces", 2)
        .set("innodb_undo_logs", 20);
    let mut other = Mysql56::start(other).unwrap();
    other
        .sql("create table test.t (a int primary key) engine=innodb; insert into test.t values (1)")
        .unwrap();
    other.shutdown().unwrap();
    let why = refusal(other.datadir(), &["--skip-grant-tables"]);
    assert_says(&why, &["innodb_page_size=8192"]);
    let mut server =
        start(other.datadir(), &["--take-over", "--skip-grant-tables", "--innodb-page-size=8192"]);
    server.sql("insert into test.t values (2), (3); update test.t set a = a + 10").unwrap();
    server.stop().unwrap();
    other.start_again().unwrap();
    let rows = other.rows("select a from test.t; check table test.t").unwrap();
    assert_eq!(rows[..3], [["11"], ["12"], ["13"]]);
    assert_eq!(rows[3][3], "OK");
}

/// What the server keeps of a table that cannot be understood is not kept here: such tables are read, and not changed.
#[test]
fn tables_that_are_not_kept_up_here_can_only_be_read() {
    let mut theirs = Mysql56::start(Options::new()).unwrap();
    theirs
        .sql(
            "set names utf8; create database k; use k;
             create table part (id int not null, v int) engine=innodb partition by hash (id) partitions 2;
             insert into part values (1, 1), (2, 2);
             create table doc (id int primary key, t text, fulltext key (t)) engine=innodb;
             insert into doc values (1, 'one two three');
             create table trig (id int primary key) engine=innodb; insert into trig values (1);
             create trigger b before insert on trig for each row set new.id = new.id + 100;
             create table `trig-ö` (id int primary key) engine=innodb;
             create trigger `b-ö` before insert on `trig-ö` for each row set new.id = new.id + 100;
             create trigger a after insert on `trig-ö` for each row insert into trig values (new.id);
             create table zip (id int primary key) engine=innodb row_format=compressed key_block_size=8;
             insert into zip values (1);
             create table zip_part (id int) engine=innodb row_format=compressed partition by hash (id) partitions 2;
             create table zip_gone (id int primary key, t text, fulltext key (t)) engine=innodb row_format=compressed;
             create table gone (id int primary key) engine=innodb; create table isam (id int) engine=myisam;
             create table plain (id int primary key) engine=innodb; insert into plain values (1);",
        )
        .unwrap();
    theirs.shutdown().unwrap();
    theirs.start_again().unwrap();
    // A crash that leaves nothing to recover of the compressed table.
    theirs.sql("insert into k.plain values (2)").unwrap();
    theirs.kill();
    let dir = theirs.datadir().to_owned();
    let list = dir.join("k/trig.TRG");
    let triggers = fs::read_to_string(&list).unwrap();
    let damaged = triggers.replace("for each row", "for each rows");
    assert_ne!(damaged, triggers);
    fs::write(&list, &damaged).unwrap();
    assert_says(&refusal(&dir, &["--skip-grant-tables"]), &["not shut down cleanly", "--take-over"]);

    let mut ours = start(&dir, &["--take-over", "--skip-grant-tables"]);
    assert_says(
        &ours.log(),
        &["recovery: ", "bytes of redo from LSN", "triggers of table `k`.`trig` are not taken over"],
    );
    assert_eq!(ours.sql("select * from k.plain order by id").unwrap(), "1\n2\n");
    assert_eq!(ours.sql("select * from k.doc").unwrap(), "1\tone two three\n");
    sql_fails(&ours, "select * from k.zip", &["1812"]);
    // Pages that are not understood are left alone, whatever else the statement would do.
    for change in [
        "rename table k.gone to k.left, k.zip to k.zap",
        "alter table k.zip rename to k.zap",
        "rename table k.zip_part to k.zap",
        "rename table k.zip_gone to k.zap",
        "truncate table k.zip",
        "truncate table k.zip_part",
        "alter table k.zip add v int",
        "select * from k.zip_part",
    ] {
        sql_fails(&ours, change, &["1812", "ROW_FORMAT=COMPRESSED"]);
    }
    ours.sql("drop table k.zip_part, k.zip_gone").unwrap();
    for (change, word) in [("delete from k.trig", "triggers"), ("insert into k.trig values (5)", "triggers")]
    {
        sql_fails(&ours, change, &["1036", word]);
    }
    // A partition is no table that could be named.
    sql_fails(&ours, "insert into k.`#mysql50#part#P#p0` values (1, 1)", &["1146"]);
    // Triggers that cannot be read, and tables that are not InnoDB's, are in the server's files only.
    for (change, word) in [
        ("alter table k.trig add v int", "triggers"),
        ("rename table k.trig to k.other", "triggers"),
        ("drop table k.isam", ".frm"),
        ("create table k.isam (id int)", ".frm"),
    ] {
        sql_fails(&ours, change, &["1235", word]);
    }
    ours.sql("insert into k.plain values (3); create table if not exists k.plain (id int)").unwrap();
    assert_eq!(ours.sql("create table k.made (id int) row_format=compact; show warnings").unwrap(), "");
    ours.sql(
        "insert into k.made values (1); alter table k.doc add v int, drop index t, add fulltext key t (t)",
    )
    .unwrap();
    ours.sql(
        "set names utf8; drop table k.gone, k.`trig-ö`; create table k.`trig-ö` (id int) row_format=compact",
    )
    .unwrap();
    ours.sql("set names utf8; insert into k.`trig-ö` values (5)").unwrap();
    ours.stop().unwrap();
    assert_eq!(fs::read_to_string(&list).unwrap(), damaged);
    fs::write(&list, &triggers).unwrap();

    theirs.start_again().unwrap();
    let all = "select count(*) from k.part; select count(*) from k.plain; select count(*) from k.zip;
               select count(*) from k.doc where match (t) against ('two'); select count(*) from k.trig;
               select count(*) from k.made; select count(*) from k.isam";
    assert_eq!(theirs.rows(all).unwrap(), [["2"], ["3"], ["1"], ["1"], ["1"], ["1"], ["0"]]);
    let tables = theirs.rows("set names utf8; show tables from k").unwrap();
    assert_eq!(tables, [["doc"], ["isam"], ["made"], ["part"], ["plain"], ["trig"], ["trig-ö"], ["zip"]]);
    let triggers = "set names utf8; select trigger_name, event_object_table from information_schema.triggers;
                    create trigger k.`b-ö` before insert on k.`trig-ö` for each row set new.id = new.id + 1;
                    insert into k.`trig-ö` values (7); select id from k.`trig-ö`";
    assert_eq!(theirs.rows(triggers).unwrap(), [vec!["b", "trig"], vec!["5"], vec!["8"]]);
}

/// Of a folder without the server's own tables nobody knows whether a server will come back: nothing follows there, so the definition of a
/// table that stands in a `.frm` alone is not changed, nor is the file replaced or removed.
#[test]
fn definitions_that_a_file_alone_has_are_not_changed() {
    let mut theirs = Mysql56::start(Options::new()).unwrap();
    theirs
        .rows(
            "create database k; create table k.plain (id int primary key, e enum('a', 'b') default 'b') engine=innodb charset=koi8r;
             insert into k.plain (id) values (1); create table k.part (id int) engine=innodb partition by hash (id) partitions 2",
        )
        .unwrap();
    theirs.shutdown().unwrap();
    let dir = theirs.datadir().to_owned();
    fs::remove_file(dir.join("mysql/user.frm")).unwrap();
    let mut ours = start(&dir, &["--take_over", "--skip_grant_tables"]);
    let file = |name: &str| fs::read(dir.join("k").join(name)).unwrap();
    let before = ["plain.frm", "part.frm", "part.par"].map(file);
    for change in [
        "alter table k.plain add v int",
        "drop table k.plain",
        "rename table k.plain to k.other",
        "create index i on k.part (id)",
        "alter table k.part add partition partitions 1",
        "drop database k",
    ] {
        sql_fails(&ours, change, &["1235", ".frm"]);
    }
    let exported = "set vaquita_export_frm = on; flush tables k.plain, k.part for export; unlock tables; show create table k.plain";
    assert_says(&ours.sql(exported).unwrap(), &["enum('a','b') DEFAULT 'b'", "koi8r"]);
    assert!(before == ["plain.frm", "part.frm", "part.par"].map(file));
    ours.sql("create table k.made (id int); alter table k.made add v int; rename table k.made to k.known; drop table k.known").unwrap();
    ours.stop().unwrap();
}

/// What the server says of its tables is said of them here, word for word.
#[test]
fn tables_are_described_as_they_were() {
    let mut theirs = Mysql56::start(Options::new()).unwrap();
    theirs
        .sql(
            "create database f; use f; set names utf8;
             create table one (a int) engine=innodb row_format=compact stats_sample_pages=5 stats_auto_recalc=1
               stats_persistent=0 pack_keys=0 checksum=1 delay_key_write=1 min_rows=2 max_rows=9 avg_row_length=33;
             create table two (a int) engine=innodb row_format=dynamic pack_keys=default checksum=0 min_rows=0;
             create table three (a int) engine=innodb row_format=redundant key_block_size=8;
             create table words (id int auto_increment comment 'dér key', t text, u varchar(50) not null,
               w varchar(20) character set gbk, primary key (id) comment 'the key', fulltext key ftx (t) comment 'full',
               fulltext ft2 (u, t), key h using hash (u(10)) comment 'some',
               unique key b using btree (w) key_block_size=4)
               engine=innodb comment='tä''ble' row_format=compact default charset=utf8;
             create table texts (a tinytext character set utf16, b mediumtext character set utf32,
               c longtext character set ucs2, d text character set utf8mb4, e tinyblob, f text character set sjis,
               g varchar(10) character set ucs2, h enum('x', 'yy') character set utf32) engine=innodb;",
        )
        .unwrap();
    let mut asked: Vec<String> = ["one", "two", "three", "words", "texts"]
        .iter()
        .flat_map(|table| {
            [format!("show create table f.{table}"), format!("show full columns from f.{table}")]
        })
        .collect();
    asked.push(
        "select table_name, create_options from information_schema.tables where table_schema = 'f'".into(),
    );
    let schema = "from information_schema.columns where table_schema = 'f'";
    asked.push(format!(
        "select column_name, character_maximum_length, character_octet_length, column_key {schema}"
    ));
    asked.push(
        "select index_name, seq_in_index, column_name, non_unique, collation, sub_part, packed, nullable, index_type,
         comment, index_comment from information_schema.statistics where table_schema = 'f'"
            .into(),
    );
    let said = |sql: &String| theirs.sql(&format!("set names utf8; {sql}")).unwrap();
    let said: Vec<String> = asked.iter().map(said).collect();
    theirs.shutdown().unwrap();
    let mut ours = start(theirs.datadir(), &["--skip-grant-tables"]);
    for (sql, said) in asked.iter().zip(&said) {
        let (_headings, said) = said.split_once('\n').unwrap();
        assert_eq!(ours.sql(&format!("set names utf8; {sql}")).unwrap(), said, "{sql}");
    }
    ours.stop().unwrap();
}

/// InnoDB numbers the documents of FULLTEXT indexes in a column of its own, which outlives them. Nobody sees it, unless he has
/// declared it.
#[test]
fn numbers_of_documents_that_nobody_declared_are_not_seen() {
    let mut theirs = Mysql56::start(Options::new()).unwrap();
    theirs
        .sql(
            "create database k; use k;
             create table doc (id int primary key, t text, fulltext key (t)) engine=innodb;
             create table old (id int primary key, t text, fulltext key (t)) engine=innodb row_format=redundant;
             create table kept (id int primary key, t text, fulltext key (t), key (t(3))) engine=innodb;
             create table own (FTS_DOC_ID bigint unsigned not null auto_increment primary key, t text,
                               fulltext key (t)) engine=innodb;
             insert into doc values (1, 'one'), (2, null); insert into old values (1, 'one'), (3, 'three');
             insert into kept values (1, 'one'); insert into own (t) values ('one');
             alter table kept drop index t;",
        )
        .unwrap();
    let seen = [
        "select * from k.doc; select d.*, 7 from k.doc as d order by d.id desc",
        "select * from k.old; select * from k.kept; select * from k.own",
        "select * from k.doc natural join k.old; select * from k.doc join k.kept using (id)",
        "select fts_doc_id, t from k.own where fts_doc_id = 1",
        "checksum table k.doc, k.old, k.kept, k.own",
        "select table_name, column_name, ordinal_position, column_type from information_schema.columns
         where table_schema = 'k' order by 1, 3",
        "select table_name, index_name, column_name from information_schema.statistics
         where table_schema = 'k' and index_type = 'BTREE' order by 1, 2",
    ];
    let answers: Vec<String> = seen
        .iter()
        .map(|sql| theirs.client("mariadb").args(["-BNe", sql]).output().unwrap().stdout)
        .map(|out| String::from_utf8(out).unwrap())
        .collect();
    let unknown = [
        "select fts_doc_id from k.doc",
        "select d.FTS_DOC_ID from k.old d",
        "select 1 from k.kept where fts_doc_id > 0",
        "select * from k.doc join k.old using (fts_doc_id)",
        "update k.doc set fts_doc_id = 9",
        "insert into k.doc (id, t, fts_doc_id) values (9, 'nine', 9)",
    ];
    for sql in unknown {
        assert_says(&theirs.sql(sql).expect_err(sql).to_string(), &["1054"]);
    }
    theirs.shutdown().unwrap();

    let mut ours = start(theirs.datadir(), &["--take-over", "--skip-grant-tables"]);
    for (sql, answer) in seen.iter().zip(&answers) {
        assert_eq!(&ours.sql(sql).unwrap(), answer, "{sql}");
    }
    for sql in unknown {
        sql_fails(&ours, sql, &["1054"]);
    }
    let made = ours.sql("show create table k.doc; show columns from k.old; show index from k.kept").unwrap();
    assert!(!made.to_ascii_lowercase().contains("fts_doc_id"), "{made}");
    assert_says(&ours.sql("show create table k.own").unwrap(), &["FTS_DOC_ID"]);
    for change in ["insert into k.kept values (5, 'five')", "delete from k.own", "update k.old set t = 'x'"] {
        ours.sql(change).unwrap();
    }
    let rows =
        ["select * from k.kept order by id", "select count(*) from k.own", "select * from k.old order by id"];
    let answers = rows.map(|sql| ours.sql(sql).unwrap());
    ours.stop().unwrap();
    theirs.start_again().unwrap();
    for (sql, answer) in rows.iter().zip(&answers) {
        let out = theirs.client("mariadb").args(["-BNe", sql]).output().unwrap().stdout;
        assert_eq!(&String::from_utf8(out).unwrap(), answer, "{sql}");
    }
    theirs.shutdown().unwrap();
}

/// What the crash left is told with numbers and rows, as the server that crashed tells it; the end of it, too.
#[test]
fn recovery_tells_which_transactions_it_takes_back() {
    let mut theirs = Mysql56::start(Options::new()).unwrap();
    theirs.sql("create database k; create table k.t (a int primary key) engine=innodb; insert into k.t values (1), (2)").unwrap();
    let mut active = theirs.session().unwrap();
    active.run("begin").unwrap();
    active.run("insert into k.t values (10), (11), (12)").unwrap();
    active.run("delete from k.t where a = 1").unwrap();
    let mut prepared = theirs.session().unwrap();
    for sql in ["xa start 'x'", "insert into k.t values (20), (21)", "xa end 'x'", "xa prepare 'x'"] {
        prepared.run(sql).unwrap();
    }
    theirs.sql("insert into k.t values (99)").unwrap();
    theirs.kill();

    let mut ours = start(theirs.datadir(), &["--take-over", "--skip-grant-tables"]);
    let log = loop {
        let log = ours.log();
        if log.contains("recovery: Rollback of non-prepared transactions completed") {
            break log;
        }
        std::thread::yield_now();
    };
    let told: Vec<&str> = log.lines().filter_map(|line| line.split_once("recovery: ")).map(|l| l.1).collect();
    let id = told
        .iter()
        .find_map(|l| l.strip_prefix("Rolling back trx with id ")?.strip_suffix(", 4 rows to undo"));
    let id = id.unwrap_or_else(|| panic!("{log}"));
    assert_says(
        &log,
        &[
            "1 transaction(s) which must be rolled back, in total 4 row operations to undo",
            &format!("Rollback of trx with id {id} completed"),
            "in prepared state after recovery; it contains changes to 2 rows",
            "1 transactions in prepared state after recovery",
        ],
    );
    assert_eq!(ours.sql("xa recover").unwrap(), "1\t1\t0\tx\n");
    // The prepared one belongs to nobody. What MySQL 5.6.24 says of it.
    let shown = "select trx_state, trx_weight, trx_mysql_thread_id, trx_query, trx_operation_state, trx_tables_in_use,
        trx_tables_locked, trx_lock_structs, trx_rows_locked, trx_rows_modified, trx_isolation_level, trx_unique_checks,
        trx_foreign_key_checks, trx_is_read_only, trx_autocommit_non_locking from information_schema.innodb_trx";
    let told = ours.sql(shown).unwrap();
    assert_eq!(told, "RUNNING\t3\t0\tNULL\tNULL\t0\t0\t1\t0\t2\tREPEATABLE READ\t1\t1\t0\t0\n");
    ours.sql("xa commit 'x'").unwrap();
    assert_eq!(ours.sql("select group_concat(a order by a) from k.t").unwrap(), "1,2,20,21,99\n");
    ours.stop().unwrap();
}

/// Views of the other server are read once: they are shown and used, rows go through them, and what is dropped stays away.
#[test]
fn views_are_taken_over() {
    let mut theirs = Mysql56::start(Options::new()).unwrap();
    let dir = theirs.datadir().to_owned();
    theirs
        .sql(
            "create database d; use d; create table t (a int primary key, b varchar(20)) engine=innodb;
             insert into t values (1, 'it''s\n'), (2, 'b\\\\');
             create view v as select a, b from t where b <> 'x' with local check option;
             create algorithm=temptable sql security invoker view `odd v``w` as select a, 'q''\\\\\\n' s from t;
             create view n as select a + 1 as c from v;
             create algorithm=merge view m as select a from t;
             create view gone as select a from t",
        )
        .unwrap();
    let shown =
        "select table_name, view_definition, check_option, is_updatable, security_type, character_set_client
                 from information_schema.views where table_schema = 'd' order by table_name";
    let wanted = theirs.rows(shown).unwrap();
    let rows = "select * from d.n; select s from d.`odd v``w`";
    let wanted_rows = theirs.rows(rows).unwrap();
    theirs.shutdown().unwrap();

    let mut ours = start(&dir, &["--take-over", "--skip-grant-tables"]);
    let lines = |rows: &[Vec<String>]| rows.iter().map(|r| r.join("\t") + "\n").collect::<String>();
    assert_eq!(ours.sql(shown).unwrap(), lines(&wanted));
    assert_eq!(ours.sql(rows).unwrap(), lines(&wanted_rows));
    ours.sql("insert into d.v values (3, 'c'); update d.m set a = 4 where a = 2; drop view d.gone").unwrap();
    sql_fails(&ours, "insert into d.v values (5, 'x')", &["1369", "d.v"]);
    ours.sql("create or replace view d.m as select a from d.t where a < 3").unwrap();
    ours.stop().unwrap();

    let mut ours = start(&dir, &["--skip-grant-tables"]);
    assert_eq!(ours.sql("select a from d.m; select max(a) from d.t").unwrap(), "1\n4\n");
    sql_fails(&ours, "select * from d.gone", &["1146"]);
    ours.sql("create table d.gone (a int) row_format=compact").unwrap();
    ours.stop().unwrap();
    theirs.start_again().unwrap();
    assert_eq!(theirs.rows("select a from d.m; select count(*) from d.gone").unwrap(), [["1"], ["0"]]);
}
