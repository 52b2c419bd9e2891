//! Views in folders that MySQL 5.6.24 made: their files are the server's own, and each of the two sees what the other has done to them.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use vaquita_clients::Vaquita;
use vaquita_isolation::mysql::Client;
use vaquita_peers::{Mysql56, Options};

fn start(dir: &Path, options: &[&str]) -> Vaquita {
    Vaquita::start(Path::new(env!("CARGO_BIN_EXE_vaquita")), dir, options).unwrap()
}

fn assert_says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word:?} is missing in: {text}");
    }
}

fn sql_fails(server: &Vaquita, statement: &str, words: &[&str]) {
    assert_says(&server.sql(statement).expect_err(statement).to_string(), words);
}

/// Statements about views, with the character set of the client that sends them.
const VIEWS: [(&str, &str); 26] = [
    ("utf8", "create view plain as select a, b from t where b <> 'x' with local check option"),
    (
        "utf8",
        "create algorithm=temptable definer=u@`%` sql security invoker view `odd v``w/x` as select a, 'q''\\\\\\n' s from t",
    ),
    (
        "utf8",
        "create algorithm=merge view merged as select b, a + 1 c from plain join t using (a, b) with cascaded check option",
    ),
    ("utf8", "create definer=root@localhost sql security definer view said as select 1"),
    ("utf8", "create view altered as select a from t"),
    ("utf8", "alter sql security invoker view altered as select a from t"),
    ("utf8", "alter view altered as select b from t"),
    ("utf8", "create or replace view altered as select a from t"),
    ("utf8", "alter view altered as select a, b from t"),
    ("utf8", "create view o.x (`y z`, e) as   select a,\n\t'it''s' from d.t  /* what it is */ ;"),
    ("utf8", "create view outer_join as select t.a from t left join t2 on t.a = t2.a"),
    ("utf8", "create view twice as select a from t where a in (select a from t)"),
    ("utf8", "create view by_view as select a from t where a in (select c from merged)"),
    (
        "utf8",
        "create view other_first as select t.a from t join t2 on t.a = t2.a where t.a > all (select z from t2)",
    ),
    ("utf8", "create view limited as select a from t order by a limit 3"),
    ("utf8", "create view over_limited as select * from limited"),
    ("utf8", "create view counted as select count(*) n, max(b) from t group by a having count(*) > 1"),
    ("utf8", "create view united as select 1 union select 2 union all (select 3)"),
    ("utf8", "create view itself as select x.a from t x, t y"),
    ("utf8", "create view nothing as select 1 from dual where 1"),
    ("utf8", "create view kept as select `ä`, 'ö' as `ü` from wide where `ä` = 'é漢'"),
    // What is sent is UTF-8 all the same: two letters of latin1 for each that is not ASCII's.
    ("latin1", "create view kept_in_latin1 as select b, 'ö' as `ü` from t"),
    ("latin1", "create view `née` as select 1 as `é`"),
    ("utf8mb4", "create view beyond as select '😀' s, 'é' e"),
    ("utf8", "rename table said to unsaid, itself to said"),
    ("utf8", "drop view twice"),
];

fn make_views(socket: &Path) {
    let mut client = Client::connect(socket, "").unwrap();
    client.query("use d").unwrap();
    for (charset, sql) in VIEWS {
        client.query(&format!("set names {charset}")).unwrap();
        client.query(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
}

/// MySQL 5.6.24 and we make the same views: but for when that was, the files are the same.
#[test]
fn files_of_views_are_the_servers_own() {
    let mut theirs = Mysql56::start(Options::new()).unwrap();
    theirs
        .sql(
            "create database d default character set utf8; create database o; use d; set names utf8;
             create table t (a int primary key, b varchar(20)) engine=innodb; create table t2 (a int, z int) engine=innodb;
             create table wide (`ä` varchar(10) character set utf8) engine=innodb; insert into t values (1, 'one'), (2, 'two')",
        )
        .unwrap();
    theirs.shutdown().unwrap();
    let scratch = vaquita_peers::scratch_dir("vq-views").unwrap();
    let copied = Command::new("cp").arg("-r").arg(theirs.datadir()).arg(&scratch).status().unwrap();
    assert!(copied.success());
    let dir = scratch.join(theirs.datadir().file_name().unwrap());
    theirs.start_again().unwrap();
    make_views(&theirs.socket());
    let mut ours = start(&dir, &["--take-over", "--skip-grant-tables"]);
    make_views(&ours.socket());
    for (sql, what) in [
        ("create view d.v as select json_extract('{}', '$.a') as x", "JSON_EXTRACT"),
        ("create view d.v as select regexp_replace(b, 'x', 'y') as x from d.t", "REGEXP_REPLACE"),
        ("create view d.v as select 1 intersect select 1", "INTERSECT"),
        ("create view d.v as select cast(a as double) as x from d.t", "DOUBLE"),
    ] {
        sql_fails(&ours, sql, &["1235", what]);
    }
    ours.stop().unwrap();
    let views = |dir: &Path| -> BTreeMap<PathBuf, String> {
        let files = ["d", "o"].iter().flat_map(|database| fs::read_dir(dir.join(database)).unwrap());
        let paths = files.map(|file| file.unwrap().path());
        let read = paths.map(|path| (path.strip_prefix(dir).unwrap().to_owned(), fs::read(&path).unwrap()));
        let views = read.filter(|(_, bytes)| bytes.starts_with(b"TYPE=VIEW\n"));
        let lines = |bytes: &[u8]| -> String {
            let text = bytes.escape_ascii().to_string().replace("\\n", "\n");
            text.lines()
                .filter(|line| !line.starts_with("timestamp="))
                .map(|line| line.to_owned() + "\n")
                .collect()
        };
        views.map(|(path, bytes)| (path, lines(&bytes))).collect()
    };
    let (of_theirs, of_ours) = (views(theirs.datadir()), views(&dir));
    assert_eq!(of_ours.keys().collect::<Vec<_>>(), of_theirs.keys().collect::<Vec<_>>());
    for (path, file) in &of_theirs {
        assert_eq!(&of_ours[path], file, "{}", path.display());
    }
    theirs.shutdown().unwrap();

    // The server reads what was written here, and what it does then is so here.
    let mut theirs = Mysql56::open(&dir, Options::new()).unwrap();
    let rows = theirs.rows("set names utf8; select * from d.beyond; select * from d.kept; select c from d.merged order by c; select * from o.x; select count(*) from d.kept_in_latin1").unwrap();
    let wanted: [&[&str]; 6] = [&["?", "é"], &["2"], &["3"], &["1", "it's"], &["2", "it's"], &["2"]];
    assert_eq!(rows, wanted);
    theirs
        .sql(
            "set names utf8; use d; create or replace view plain as select 5 as five; alter view limited as select 'их' as s; drop view counted; drop view united;
             create table united (a int) engine=innodb; create view made as select a from t; rename table outer_join to inner_join; drop view nothing;
             create table nothing (a int) engine=myisam",
        )
        .unwrap();
    theirs.shutdown().unwrap();
    let mut ours = start(&dir, &["--skip-grant-tables"]);
    assert_says(&ours.log(), &["view `d`.`counted` is gone", "view `d`.`nothing` is gone"]);
    let read = "set names utf8; select * from d.plain; select * from d.limited; select max(a) from d.made; select count(*) from d.united; select count(*) from d.inner_join";
    assert_eq!(ours.sql(read).unwrap(), "5\nих\n2\n0\n2\n");
    for gone in ["counted", "nothing", "outer_join"] {
        sql_fails(&ours, &format!("select * from d.{gone}"), &["1146"]);
    }
    sql_fails(&ours, "create view d.nothing as select 1", &["1235", "`d`.`nothing`"]);
    ours.stop().unwrap();
    fs::remove_dir_all(&scratch).unwrap();
}
