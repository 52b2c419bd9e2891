//! `.frm` files that are written here, judged by MySQL 5.6.24: they are its own byte for byte, and it works with them.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;

use common::{Scratch, vaquita};
use std::fs;
use std::path::Path;
use vaquita::Database;
use vaquita_clients::Vaquita;
use vaquita_isolation::mysql::{Answer, Client};
use vaquita_peers::{Mysql56, Options};

type Rows = Vec<Vec<Option<String>>>;

/// A column of every type, with what a column can have.
const EVERY: &str = "create table every (
  id int unsigned not null auto_increment, t tinyint(1) default '-1', s smallint unsigned zerofill default 7, m mediumint not null,
  b bigint unsigned default 18446744073709551615, f float default 1.5, f2 float(7,3) not null, d double, d2 double(10,2) unsigned default 2.25,
  n decimal(20,4) not null default -1.5, n2 decimal(65,30) unsigned, bi bit(12) default b'1010', bo bit(1) not null, y year default 1999,
  da date not null default '2001-02-03', ti time(2) default '-01:02:03.45', dt datetime(3) default current_timestamp(3) on update current_timestamp(3),
  d0 datetime, ts timestamp not null default current_timestamp, t6 timestamp(6) null default '2001-02-03 04:05:06.789',
  c char(10) character set utf8 not null default 'hé' comment 'é', cb char(5) collate latin1_bin, c0 char(0), bn binary(4) default 'ab',
  v varchar(40) character set utf8mb4 default '漢', vl varchar(300) not null default '', vb varbinary(300), u2 char(3) character set ucs2 default 'é',
  u16 char(3) character set utf16, tb tinyblob, bl blob, mb mediumblob, lb longblob not null, tt tinytext, tx text character set utf8,
  mt mediumtext, lt longtext character set sjis, e enum('a','b,c','é') character set utf8 default 'é', e2 enum('x','y') not null,
  st set('1','2','3','4','5','6','7','8','9') not null default '1,9', g geometry, p point not null, pg polygon,
  `naïve 漢` int comment 'a long comment, a long comment, a long comment',
  primary key (id), unique key u (s, t, id), unique key un (m), key kv (v(10), n), key kb (bl(20)) using btree comment 'of bytes', key kc (c, cb),
  key ke (e, st) key_block_size=4, key kd (d, f)
) engine=innodb default charset=latin1 min_rows=2 max_rows=10 avg_row_length=33 pack_keys=1 stats_persistent=0 stats_auto_recalc=1
  stats_sample_pages=7 checksum=1 row_format=dynamic comment='x''y é'";

const EVERY_ROWS: &str = "insert into every (id, m, f2, bo, vb, lb, tx, tt, e2, g, p, pg, lt, tb, `naïve 漢`, d0, ts, dt) values
  (1, 5, 1.5, 1, x'00ff', 'long', 'the quick fox', 'words', 'y', x'000000000101000000000000000000F03F0000000000000040', x'000000000101000000000000000000F03F0000000000000040',
   null, 'ア', 'tb', 9, '2010-01-02 03:04:05', '2011-01-02 03:04:05', '2012-01-02 03:04:05.678'),
  (2, -5, 2.5, 0, null, repeat('x', 20000), 'brown dog', 'other', 'x', null, x'000000000101000000000000000000F03F0000000000000040', null, null, null, null, null,
   '2011-01-02 03:04:05', '2012-01-02 03:04:05.678')";

const EVERY_SELECT: &str = "select id, t, s, m, b, f, f2, d, d2, n, n2, bi+0, bo+0, y, da, ti, dt, d0, ts, t6, c, cb, c0, hex(bn), v, vl, hex(vb), u2, u16,
  hex(tb), hex(bl), hex(mb), md5(lb), tt, tx, mt, lt, e, e2, st, hex(g), hex(p), hex(pg), `naïve 漢` from every order by id";

/// Other shapes of tables.
const OTHERS: [(&str, &str); 8] = [
    ("texts", "create table texts (id int not null primary key, a text, b varchar(300), c tinytext,
      fulltext key words (a, b) comment 'w', fulltext key w2 (c)) engine=innodb default charset=utf8 row_format=compact"),
    ("old_form", "create table old_form (a char(20) not null, b char(5), c int) engine=innodb default charset=utf8 row_format=compact"),
    ("wide", "create table wide (a char(5) character set utf16 default 'xä', b char(3) character set utf16le default 'xä', c char(5) character set ucs2 not null default 'é',
      d char(3) character set utf32 default 'a ', e varchar(3) character set utf16 not null default '', f char(4) character set utf16le, key (a), key (b (2))) engine=innodb row_format=compact"),
    ("commented", "create table commented (a int comment 'c') engine=innodb row_format=redundant comment='<300>'"),
    ("ranges", "create table ranges (a int not null, b varchar(10), key (b)) engine=innodb row_format=dynamic
      partition by range (a) (partition p0 values less than (10) comment = 'é', partition `p-1` values less than maxvalue)"),
    ("subs", "create table subs (a int not null primary key, d date) engine=innodb row_format=compact partition by list (a)
      subpartition by hash (a) subpartitions 2 (partition pa values in (1, 2), partition pb values in (3))"),
    ("hashed", "create table hashed (a int not null primary key) engine=innodb row_format=compact partition by linear key (a) partitions 3"),
    ("many", "create table many (<columns>) engine=innodb row_format=dynamic comment='m'"),
];

fn create_of(statement: &str) -> String {
    let columns: Vec<String> =
        (0..300).map(|n| format!("column_{n} int, e{n} enum('{}')", n % 100)).collect();
    statement.replace("<300>", &"long ".repeat(60)).replace("<columns>", &columns.join(", "))
}

fn rows(client: &mut Client, sql: &str) -> Rows {
    match client.query(sql) {
        Ok(Answer::Rows(rows)) => rows,
        other => panic!("{sql}: {other:?}"),
    }
}

fn run(client: &mut Client, sql: &str) {
    if let Err(e) = client.query(sql) {
        panic!("{sql}: {e}");
    }
}

/// SHOW CREATE TABLE without where it counts from.
fn shown(client: &mut Client, table: &str) -> String {
    let text = rows(client, &format!("show create table {table}"))[0][1].clone().unwrap();
    match text.split_once(" AUTO_INCREMENT=") {
        Some((before, rest)) => format!("{before}{}", &rest[rest.find(' ').unwrap()..]),
        None => text,
    }
}

fn enter(client: &mut Client, database: &str) {
    for sql in ["set names utf8mb4", "set time_zone = '+00:00'", &format!("use {database}")] {
        run(client, sql);
    }
}

/// What an export puts beside the files of tables is what the server writes for the same statements; with it in the place of its own it
/// takes the files in, and shows and reads the tables as they are here.
#[test]
fn files_of_an_export_are_the_servers_own() {
    let scratch = Scratch::new("frm-export");
    let mut ours =
        Vaquita::start(Path::new(env!("CARGO_BIN_EXE_vaquita")), &scratch.0.join("data"), &[]).unwrap();
    let mut theirs = Mysql56::start(Options::new()).unwrap();
    let mut client = Client::connect(&ours.socket(), "").unwrap();
    let mut other = Client::connect(&theirs.socket(), "").unwrap();
    for client in [&mut client, &mut other] {
        run(client, "create database d default character set latin1");
        enter(client, "d");
        run(client, EVERY);
        OTHERS.iter().for_each(|(_, sql)| run(client, &create_of(sql)));
    }
    run(&mut client, EVERY_ROWS);
    for sql in ["insert into ranges values (1, 'x'), (11, 'y')", "insert into old_form values ('a', null, 5)"]
    {
        run(&mut client, sql);
    }
    let names: Vec<&str> = ["every"].into_iter().chain(OTHERS.iter().map(|(name, _)| *name)).collect();
    let (here, there) = (scratch.0.join("data/d"), theirs.datadir().join("d"));
    run(&mut client, &format!("flush tables {} for export", names.join(", ")));
    assert!(!here.join("every.frm").exists(), "nobody has asked for it");
    run(&mut client, "unlock tables");
    run(&mut client, "set vaquita_export_frm = on");
    run(&mut client, &format!("flush tables {} for export", names.join(", ")));
    let copies = scratch.0.join("copies");
    fs::create_dir(&copies).unwrap();
    for entry in fs::read_dir(&here).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, copies.join(path.file_name().unwrap())).unwrap();
    }
    run(&mut client, "unlock tables");
    let left = fs::read_dir(&here).unwrap().map(|e| e.unwrap().path());
    let left: Vec<_> = left.filter(|p| p.extension().is_some_and(|e| e == "frm" || e == "par")).collect();
    assert!(left.is_empty(), "they go with the locks: {left:?}");
    for name in &names {
        for kind in ["frm", "par"] {
            let read = |dir: &Path| fs::read(dir.join(format!("{name}.{kind}"))).ok();
            assert!(read(&copies) == read(&there), "{name}.{kind} is another one");
        }
        assert!(copies.join(format!("{name}.frm")).exists(), "{name}");
    }
    assert!(copies.join("subs.par").exists());

    // In the place of its own.
    theirs.shutdown().unwrap();
    for name in &names {
        for kind in ["frm", "par"] {
            let from = copies.join(format!("{name}.{kind}"));
            if from.exists() {
                fs::copy(from, there.join(format!("{name}.{kind}"))).unwrap();
            }
        }
    }
    theirs.start_again().unwrap();
    let mut other = Client::connect(&theirs.socket(), "").unwrap();
    enter(&mut other, "d");
    for name in &names {
        assert_eq!(shown(&mut other, name), shown(&mut client, name), "{name}");
        let columns = format!("show full columns from {name}");
        assert_eq!(rows(&mut other, &columns), rows(&mut client, &columns), "{name}");
    }
    run(&mut other, "alter table every discard tablespace");
    for kind in ["ibd", "cfg"] {
        fs::copy(copies.join(format!("every.{kind}")), there.join(format!("every.{kind}"))).unwrap();
    }
    run(&mut other, "alter table every import tablespace");
    let wanted = rows(&mut client, EVERY_SELECT);
    assert_eq!(rows(&mut other, EVERY_SELECT), wanted);
    for name in &names {
        let checked = rows(&mut other, &format!("check table {name}"));
        assert_eq!(checked.last().unwrap()[3].as_deref(), Some("OK"), "{name}: {checked:?}");
    }
    theirs.shutdown().unwrap();

    // The file alone tells what the table is.
    fs::remove_file(copies.join("every.cfg")).unwrap();
    let ibd = copies.join("every.ibd");
    let (code, dumped, err) = vaquita(&[&"dump", &ibd]);
    assert_eq!((code, &*err), (0, ""));
    assert!(dumped.contains("18446744073709551615\t1.5\t1.500\t"), "{dumped}");
    assert!(dumped.contains("\té\ty\t1,9\t"), "{dumped}");
    let part = copies.join("ranges#P#p0.ibd");
    let (code, dumped, err) = vaquita(&[&"dump", &part]);
    assert_eq!((code, &*err), (0, ""), "{dumped}");
    assert!(dumped.contains("1\tx"), "{dumped}");
    let dir = scratch.0.join("new");
    Database::open(&dir).unwrap().close().unwrap();
    let (code, _, err) = vaquita(&[&"import", &dir, &ibd, &"--database", &"d"]);
    assert_eq!((code, &*err), (0, ""));
    let (code, imported, err) = vaquita(&[&"sql", &dir, &"-e", &"show create table d.every"]);
    assert_eq!((code, &*err), (0, ""));
    let imported = imported.replace("\\n", "\n").replace("\\\\", "\\");
    let definition = shown(&mut client, "every");
    let first = definition.split(" ENGINE=").next().unwrap();
    assert!(imported.contains(first), "{imported}\n{first}");
    ours.stop().unwrap();
}

/// What a server of 5.6 cannot be told is named, and nothing is locked.
#[test]
fn what_a_file_cannot_say_is_refused() {
    let scratch = Scratch::new("frm-refused");
    let mut ours =
        Vaquita::start(Path::new(env!("CARGO_BIN_EXE_vaquita")), &scratch.0.join("data"), &[]).unwrap();
    let mut client = Client::connect(&ours.socket(), "").unwrap();
    run(&mut client, "create database d");
    enter(&mut client, "d");
    run(&mut client, "set vaquita_export_frm = on");
    for (columns, what) in [
        ("a int, b int generated always as (a + 1) stored", "column `b`, which is generated"),
        ("a int, b int invisible", "column `b`, which is invisible"),
        ("a varchar(40) default (uuid())", "the DEFAULT of column `a`"),
        ("a json", "column `a` of type JSON"),
        ("a int, check (a > 1)", "CHECK constraint `t_chk_1`"),
        ("a int, key k (a) invisible", "key `k`, which is invisible"),
        ("a int, key k ((a + 1))", "keys of expressions"),
        ("a text, fulltext key k (a) with parser ngram", "the parser of FULLTEXT key `k`"),
        ("a char(3) collate utf8mb4_0900_ai_ci", "collation utf8mb4_0900_ai_ci of a"),
    ] {
        run(&mut client, &format!("create table t ({columns})"));
        let refused = client.query("flush tables t for export").unwrap_err().to_string();
        assert!(refused.contains("1235") && refused.contains(what), "{columns}: {refused}");
        run(&mut client, "drop table t");
    }
    ours.stop().unwrap();
}

/// Tables of the server's before the folder is taken over.
const THEIRS: &str = "create table parent (a int not null, b int not null, primary key (a), key b (b)) engine=innodb;
  create table child (a int not null, p int, q int, primary key (a), key q (q), constraint of_q foreign key (q) references parent (b)
    on delete cascade, foreign key (p) references parent (a)) engine=innodb;
  create table changed (id int not null, v varchar(20) not null default 'd' comment 'kept', e enum('a', 'b') default 'b', t text,
    primary key (id), key k (v) comment 'of k', key l (v(5), e) using hash, fulltext key words (t)) engine=innodb comment='kept, too' min_rows=3;
  create table renamed (id int not null, e set('x', 'y') default 'x' comment 'c', primary key (id)) engine=innodb comment='r' max_rows=7;
  create table first (id int not null, a int default 1, primary key (id)) engine=innodb;
  create table second (id int not null, b char(5) default 'x', primary key (id)) engine=innodb;
  create table dropped (a int) engine=innodb;
  create table gone (a int) engine=innodb partition by hash (a) partitions 2;
  create table emptied (a decimal(5,2) default 1.5, n enum('m', 'n')) engine=innodb;
  create table still (a int not null auto_increment, b timestamp(3) null, e enum('s', 't') default 't', primary key (a)) engine=innodb;
  insert into parent values (1, 10), (2, 20); insert into child values (1, 1, 10), (2, 2, 20);
  insert into changed values (1, 'one', 'a', 'the quick fox'), (2, 'two', 'b', 'brown'); insert into renamed values (1, 'x,y');
  insert into first values (1, 5); insert into second values (2, 'b'); insert into emptied values (1, 'm');
  insert into still values (7, null, 's'); insert into ranges values (1, 'a'), (50, 'b'); insert into subs values (1, '2001-01-01'), (3, null);
  insert into wide values ('a', 'bä', '', 'é', 'x', ''), (default, default, default, default, default, 'ab  '), ('漢', '', 'z', 'ü', '', null);
  insert into texts values (1, 'the quick fox', 'runs', 'away'), (2, 'brown', 'dog', 'sleeps')";

/// What is done to them here.
const OURS: [&str; 23] = [
    "alter table every add column extra set('p', 'q') character set utf8 not null default 'q' comment 'new' after t, drop column d0, \
     add key kx (extra), comment 'changed here'",
    "alter table changed change v w varchar(25) not null default 'new' comment 'other', drop key l, algorithm=inplace",
    "create unique index u on changed (w, id) comment 'of u'",
    "alter table changed add column n decimal(10,3) unsigned zerofill default '1.5' after id, alter e drop default",
    "create database e",
    "rename table renamed to e.moved, first to aside, second to first, aside to second",
    "drop table dropped, gone",
    "truncate table emptied",
    "alter table child drop foreign key of_q, drop key q, add constraint again foreign key (q) references parent (b) on update cascade",
    "alter table hashed remove partitioning",
    "alter table commented partition by hash (a) partitions 3",
    "alter table subs rename to lists",
    "alter table ranges reorganize partition `p-1` into (partition middle values less than (40), partition top values less than maxvalue)",
    "alter table old_form convert to character set latin1, add fulltext key (a, b)",
    "create table alike like changed",
    "insert into alike select * from changed",
    "create table grandchild (a int not null, primary key (a), constraint g foreign key (a) references child (a)) engine=innodb row_format=compact",
    "insert into grandchild values (1); insert into every (m, f2, bo, lb, e2, p) values (77, 1, 0, '', 'x', x'000000000101000000000000000000F03F0000000000000040')",
    "create table comes (a int) engine=innodb row_format=compact; drop table comes; create table comes (b year) engine=innodb row_format=compact",
    "insert into wide values ('b', 'bä', '', 'é', 'x', ''), ('c', 'cc', default, default, default, 'ab  '), ('漢字', '', 'z', 'ü', '', null)",
    "insert into wide (f) values ('x')",
    "alter table wide comment 'c', add column g char(5) character set utf16 default 'yä' after a",
    "alter table texts comment 'with words', drop key w2, change b b2 varchar(310) not null",
];

/// All tables of two databases as the server shows them, and their rows.
fn everything(client: &mut Client) -> Vec<(String, String, Rows, Rows)> {
    let mut all = Vec::new();
    for database in ["d", "e"] {
        run(client, &format!("use {database}"));
        for table in rows(client, "show tables").into_iter().map(|row| row[0].clone().unwrap()) {
            let columns = rows(client, &format!("show full columns from `{table}`"));
            let values: Vec<String> =
                columns.iter().map(|c| format!("hex(`{}`)", c[0].as_deref().unwrap())).collect();
            let order = if values.len() > 1 { "1, 2" } else { "1" };
            let select = format!("select {} from `{table}` order by {order}", values.join(", "));
            let values = rows(client, &select);
            all.push((format!("{database}.{table}"), shown(client, &format!("`{table}`")), columns, values));
        }
    }
    all
}

fn assert_same(these: &[(String, String, Rows, Rows)], those: &[(String, String, Rows, Rows)]) {
    let names = |all: &[(String, String, Rows, Rows)]| all.iter().map(|t| t.0.clone()).collect::<Vec<_>>();
    assert_eq!(names(these), names(those));
    for ((name, create, columns, rows), that) in these.iter().zip(those) {
        assert_eq!((create, columns), (&that.1, &that.2), "{name}");
        assert_eq!(rows, &that.3, "{name}");
    }
}

/// MySQL 5.6.24 makes a folder, it is taken over and its tables change here, that server opens it again and works with all of them, and
/// then it is open here once more.
#[test]
fn a_folder_that_both_open_in_turn() {
    let mut theirs = Mysql56::start(Options::new()).unwrap();
    let mut other = Client::connect(&theirs.socket(), "").unwrap();
    run(&mut other, "create database d default character set latin1");
    enter(&mut other, "d");
    run(&mut other, EVERY);
    run(&mut other, EVERY_ROWS);
    OTHERS.iter().for_each(|(_, sql)| run(&mut other, &create_of(sql)));
    THEIRS.split(';').for_each(|sql| run(&mut other, sql));
    theirs.shutdown().unwrap();

    let options = ["--take-over", "--skip-grant-tables", "--innodb-default-row-format=compact"];
    let binary = Path::new(env!("CARGO_BIN_EXE_vaquita"));
    let mut ours = Vaquita::start(binary, theirs.datadir(), &options).unwrap();
    let mut client = Client::connect(&ours.socket(), "").unwrap();
    enter(&mut client, "d");
    for statements in OURS {
        statements.split("; ").for_each(|sql| run(&mut client, sql));
    }
    let refused = client.query("alter table emptied add column g int generated always as (a + 1) stored");
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("1235") && refused.contains("column `g`, which is generated"), "{refused}");
    let said = everything(&mut client);
    ours.stop().unwrap();

    theirs.start_again().unwrap();
    let mut other = Client::connect(&theirs.socket(), "").unwrap();
    enter(&mut other, "d");
    assert_same(&everything(&mut other), &said);
    for (name, ..) in &said {
        let checked = rows(&mut other, &format!("check table {name}"));
        assert_eq!(checked.last().unwrap()[3].as_deref(), Some("OK"), "{name}: {checked:?}");
    }
    run(&mut other, "use d");
    let found = "select id from texts where match (a, b2) against ('quick')";
    assert_eq!(rows(&mut other, found), [[Some("1".to_owned())]]);
    let refers = other.query("insert into grandchild values (55)").unwrap_err().to_string();
    assert!(refers.contains("1452"), "{refers}");
    for sql in [
        "insert into every (m, f2, bo, lb, e2, p, extra) values (78, 1, 0, '', 'y', geomfromtext('point(1 1)'), 'p,q')",
        "insert into changed (id, w, t) values (9, 'nine', 'quick, too')",
        "update alike set n = n + 1",
        "insert into ranges values (41, 'x')",
        "insert into comes values (1999)",
        "alter table alike add z int, drop column e",
        // The number of the table stays, and what is kept of it here is of yesterday.
        "alter table changed comment 'by them', change w w2 varchar(25) not null default 'theirs' comment 'too'",
        "create table by_them (a enum('1', '2') default '2') engine=innodb",
        "drop table grandchild",
        "rename table e.moved to back",
    ] {
        run(&mut other, sql);
    }
    let said = everything(&mut other);
    theirs.shutdown().unwrap();

    let mut ours = Vaquita::start(binary, theirs.datadir(), &options[1..]).unwrap();
    let mut client = Client::connect(&ours.socket(), "").unwrap();
    enter(&mut client, "d");
    assert_same(&everything(&mut client), &said);
    run(&mut client, "insert into d.alike (id, w) values (1000, 'x')");
    ours.stop().unwrap();
}

/// Sessions that export a table at one time do not take each other's descriptions away.
#[test]
fn descriptions_stay_until_the_last_export_ends() {
    let scratch = Scratch::new("frm-two");
    let mut ours =
        Vaquita::start(Path::new(env!("CARGO_BIN_EXE_vaquita")), &scratch.0.join("data"), &[]).unwrap();
    let mut clients = [(); 2].map(|()| Client::connect(&ours.socket(), "").unwrap());
    run(&mut clients[0], "create database d");
    run(&mut clients[0], "create table d.t (a int primary key) row_format=compact");
    let file = |kind: &str| fs::read(scratch.0.join("data/d/t").with_extension(kind)).ok();
    let [first, second] = &mut clients;
    for (by_first, by_second) in
        [("for export", "for export"), ("with read lock", "for export"), ("for export", "with read lock")]
    {
        run(first, "set vaquita_export_frm = on");
        run(first, &format!("flush tables d.t {by_first}"));
        let described = [file("cfg"), file("frm")];
        assert!(described.iter().all(Option::is_some));
        run(second, &format!("flush tables d.t {by_second}"));
        run(second, "unlock tables");
        assert!(described == [file("cfg"), file("frm")], "{by_first}, {by_second}");
        run(second, "set vaquita_export_frm = on");
        run(second, &format!("flush tables d.t {by_second}"));
        run(first, "unlock tables");
        assert!(described == [file("cfg"), file("frm")], "{by_first}, {by_second}");
        run(second, "unlock tables");
        assert_eq!([file("cfg"), file("frm")], [None, None]);
        run(second, "set vaquita_export_frm = off");
    }
    ours.stop().unwrap();
}
