//! The sessions of the article "Online ALTER TABLE in MySQL 5.6", its examples 1 to 6, on MySQL 5.6.24 and on Vaquita: rows affected,
//! rows found and definitions are the same. Sizes and times are not looked at; the rows are those of information_schema, of which the
//! servers have different numbers.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;
use vaquita_clients::Vaquita;
use vaquita_isolation::mysql::{Answer, Client, WireError};
use vaquita_peers::{Mysql56, Options};

/// Example 1, with as many doublings of the big table as a test has time for.
const SETUP: &[&str] = &[
    "set autocommit = 0",
    "set foreign_key_checks = 1",
    "set global innodb_file_per_table = 1",
    "set old_alter_table = 0",
    "drop database if exists test",
    "create database test default character set latin1",
    "use test",
    "drop table if exists small_table",
    "create table small_table as select * from information_schema.columns",
    "alter table small_table add id int unsigned not null primary key auto_increment",
    "select count(id) from small_table",
    // Not every server has this schema.
    "update small_table set table_schema = 'performance_schema' where table_name = 'TRIGGERS'",
    "drop table if exists big_table",
    "create table big_table as select * from information_schema.columns",
    "show create table big_table",
    "insert into big_table select * from big_table",
    "insert into big_table select * from big_table",
    "insert into big_table select * from big_table",
    "commit",
    "alter table big_table add id int unsigned not null primary key auto_increment",
    "select count(id) from big_table",
];

/// Example 2.
const INDEXES: &[&str] = &[
    "set old_alter_table = 0",
    "create index i_dtyp_small on small_table (data_type)",
    "drop index i_dtyp_small on small_table",
    "set old_alter_table = 1",
    "create index i_dtyp_small on small_table (data_type)",
    "drop index i_dtyp_small on small_table",
    "set old_alter_table = 0",
    "create index i_dtyp_big on big_table (data_type)",
    "drop index i_dtyp_big on big_table",
    "set old_alter_table = 1",
    "create index i_dtyp_big on big_table (data_type)",
    "drop index i_dtyp_big on big_table",
    "set old_alter_table = 0",
];

/// Example 4.
const RENAMED: &[&str] = &[
    "alter table small_table change `IS_NULLABLE` `NULLABLE` varchar(3) character set utf8 not null",
    "set old_alter_table = 1",
    "alter table small_table change `NULLABLE` `IS_NULLABLE` varchar(3) character set utf8 not null",
    "set old_alter_table = 0",
    "alter table big_table change `IS_NULLABLE` `NULLABLE` varchar(3) character set utf8 not null",
    "set old_alter_table = 1",
    "alter table big_table change `NULLABLE` `IS_NULLABLE` varchar(3) character set utf8 not null",
    "set old_alter_table = 0",
];

/// Example 5.
const FOREIGN_KEYS: &[&str] = &[
    "set foreign_key_checks = 1",
    "set autocommit = 0",
    "drop table if exists schema_names",
    "create table schema_names (id int unsigned not null primary key auto_increment, schema_name varchar(64) \
     character set utf8 not null, index i_schema (schema_name)) as select distinct table_schema schema_name from small_table",
    "show create table schema_names",
    "show create table small_table",
    "show create table big_table",
    "alter table small_table add constraint small_fk foreign key i_table_schema (table_schema) references \
     schema_names(schema_name) on delete cascade",
    "alter table big_table add constraint big_fk foreign key i_table_schema (table_schema) references \
     schema_names(schema_name) on delete cascade",
    "show create table small_table",
    "show create table big_table",
    "select schema_name from schema_names where schema_name in ('mysql', 'test') order by schema_name",
    "select count(*) > 0 from big_table where table_schema = 'test'",
    "delete from schema_names where schema_name = 'test'",
    "select schema_name from schema_names where schema_name in ('mysql', 'test') order by schema_name",
    "select count(table_schema) > 0 howmany, table_schema from small_table group by table_schema having table_schema in ('mysql', 'test')",
    "select count(table_schema) > 0 howmany, table_schema from big_table group by table_schema having table_schema in ('mysql', 'test')",
    "rollback",
    "select schema_name from schema_names where schema_name in ('mysql', 'test') order by schema_name",
    "select count(table_schema) > 0 howmany, table_schema from small_table group by table_schema having table_schema in ('mysql', 'test')",
    "select count(table_schema) > 0 howmany, table_schema from big_table group by table_schema having table_schema in ('mysql', 'test')",
    "alter table small_table drop foreign key small_fk, drop index small_fk",
    "alter table big_table drop foreign key big_fk",
    "show create table small_table",
    "show create table big_table",
];

/// Example 6, of four names that both servers have.
const NUMBERS: &[&str] = &[
    "drop table if exists schema_names",
    "create table schema_names (id int unsigned not null primary key auto_increment, schema_name varchar(64) \
     character set utf8 not null, index i_schema (schema_name)) as select distinct table_schema schema_name from small_table \
     where table_schema in ('information_schema', 'mysql', 'performance_schema', 'test') order by schema_name",
    "show create table schema_names",
    "select * from schema_names order by id",
    "insert into schema_names (schema_name) values ('eight'), ('nine')",
    "set old_alter_table = 0",
    "alter table schema_names auto_increment=20",
    "insert into schema_names (schema_name) values ('foo'), ('bar')",
    "commit",
    "set old_alter_table = 1",
    "alter table schema_names auto_increment=30",
    "insert into schema_names (schema_name) values ('bletch'),('baz')",
    "commit",
    "select * from schema_names order by id",
    "set old_alter_table = 0",
    "show create table schema_names",
];

/// Foreign keys are held against the rows in place.
const IN_PLACE_HERE: [&str; 2] =
    ["alter table small_table add constraint", "alter table big_table add constraint"];

fn ask(client: &mut Client, statement: &str) -> Answer {
    match client.query(statement) {
        Ok(answer) => answer,
        Err(e) => panic!("{statement}: {e:?}"),
    }
}

fn number(client: &mut Client, statement: &str) -> u64 {
    match ask(client, statement) {
        Answer::Rows(rows) => rows[0][0].as_ref().unwrap().parse().unwrap(),
        Answer::Affected(n) => panic!("{statement}: {n} rows affected"),
    }
}

/// What a server says to the statements; numbers of rows that are all rows of the small or the big table are told as that.
fn played(client: &mut Client, statements: &[&str]) -> Vec<String> {
    let sizes = |client: &mut Client| {
        ["small_table", "big_table"].map(|table| {
            client.query(&format!("select count(*) from {table}")).ok().and_then(|answer| match answer {
                Answer::Rows(rows) => rows[0][0].as_ref().unwrap().parse::<u64>().ok(),
                Answer::Affected(_) => None,
            })
        })
    };
    let told = |client: &mut Client, statement: &&str| {
        let answer = ask(client, statement);
        let said = match answer {
            Answer::Affected(0) => "0 rows affected".to_owned(),
            Answer::Affected(n) if sizes(client).contains(&Some(n)) => "all rows affected".to_owned(),
            // Half of them are new.
            Answer::Affected(n) if sizes(client).contains(&Some(2 * n)) => "as many rows again".to_owned(),
            Answer::Affected(n) if n < 100 => format!("{n} rows affected"),
            Answer::Affected(_) => "some rows affected".to_owned(),
            Answer::Rows(_) if statement.starts_with("select count(id)") => "rows".to_owned(),
            Answer::Rows(rows) => format!("{rows:?}"),
        };
        // A column of information_schema that newer servers have.
        let said = said.replace("  `GENERATION_EXPRESSION` longtext CHARACTER SET utf8 NOT NULL,\\n", "");
        let said =
            said.replace(",\\n  `GENERATION_EXPRESSION` longtext CHARACTER SET utf8 NOT NULL\\n", "\\n");
        format!("{statement}: {}", without_large_counters(&said))
    };
    statements.iter().map(|statement| told(client, statement)).collect()
}

/// AUTO_INCREMENT of tables with as many rows as the server has columns.
fn without_large_counters(text: &str) -> String {
    match text.split_once("AUTO_INCREMENT=") {
        Some((before, rest)) => {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            match digits > 2 {
                true => format!("{before}AUTO_INCREMENT=n{}", &rest[digits..]),
                false => text.to_owned(),
            }
        }
        None => text.to_owned(),
    }
}

/// Example 3: rows are deleted, and the deletion taken back, while an index is made and dropped. What was said, in its order.
fn concurrent(client: &mut Client, mut other: Client, whom: Whom) -> Vec<String> {
    let mut said = Vec::new();
    let find = "select distinct character_set_name from big_table where table_name = 'FILES' order by 1";
    ask(&mut other, "use test");
    for change in
        ["create index i_concurrent on big_table(table_name)", "drop index i_concurrent on big_table"]
    {
        // A transaction that has changed rows keeps the change from its end.
        ask(client, "commit");
        said.extend(played(
            client,
            &["set autocommit = 0", find, "delete from big_table where table_name = 'FILES'", find],
        ));
        let (ended, end) = channel();
        let statement = change.to_owned();
        let changing = std::thread::spawn(move || {
            let answer = ask(&mut other, &statement);
            ended.send(()).unwrap();
            (other, answer)
        });
        assert!(
            end.recv_timeout(Duration::from_millis(300)).is_err(),
            "{change} did not wait for the transaction"
        );
        said.extend(played(client, &["rollback"]));
        let (with, answer) = changing.join().unwrap();
        other = with;
        said.push(format!("{change}: {answer:?}"));
        said.extend(played(client, &[find]));
    }
    // And the other way round: rows are changed while the index is being made.
    for round in 0..20 {
        let (ended, end) = channel();
        let changing = std::thread::spawn(move || {
            ask(&mut other, "create index i_concurrent on big_table(table_name)");
            ended.send(()).unwrap();
            other
        });
        let mut meanwhile = 0;
        while end.try_recv().is_err() {
            match client.query("delete from big_table where table_name = 'FILES' limit 5") {
                Ok(_) => meanwhile += 1,
                // The change that waits for its end and the statement that comes meanwhile may be a deadlock there.
                Err(WireError::Server { code: 1213, .. }) if whom == Whom::Mysql => {}
                Err(e) => panic!("{e:?}"),
            }
            ask(client, "rollback");
        }
        other = changing.join().unwrap();
        let by_index = "select count(*) from big_table force index (i_concurrent) where table_name = 'FILES'";
        let by_rows = "select count(*) from big_table ignore index (i_concurrent) where table_name = 'FILES'";
        assert_eq!(number(client, by_index), number(client, by_rows), "round {round}");
        ask(client, "commit");
        ask(&mut other, "drop index i_concurrent on big_table");
        if meanwhile > 2 {
            return said;
        }
    }
    panic!("in twenty rounds nothing was changed while an index was made");
}

/// Who is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whom {
    Mysql,
    Ours,
}

fn all(mut client: Client, other: Client, whom: Whom) -> Vec<String> {
    let mut said = played(&mut client, SETUP);
    said.extend(played(&mut client, INDEXES));
    said.extend(concurrent(&mut client, other, whom));
    said.extend(played(&mut client, RENAMED));
    said.extend(played(&mut client, FOREIGN_KEYS));
    said.extend(played(&mut client, NUMBERS));
    let check = ask(&mut client, "check table small_table, big_table, schema_names");
    said.push(format!("{check:?}"));
    said
}

#[test]
fn the_articles_sessions_say_what_they_say_in_mysql() {
    let dir = std::env::temp_dir().join(format!("vaquita-ddl-documents-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let peer = Mysql56::start(Options::new()).unwrap();
    let connect = || Client::connect(&peer.socket(), "").unwrap();
    let wanted = all(connect(), connect(), Whom::Mysql);
    let mut server =
        Vaquita::start(Path::new(env!("CARGO_BIN_EXE_vaquita")), &dir.join("data"), &[]).unwrap();
    let connect = || Client::connect(&server.socket(), "").unwrap();
    let got = all(connect(), connect(), Whom::Ours);
    server.stop().unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
    let is_in_place = |said: &str| IN_PLACE_HERE.iter().any(|begins| said.starts_with(begins));
    let wanted: Vec<String> = wanted
        .iter()
        .map(|said| if is_in_place(said) { said.replace(": all rows", ": 0 rows") } else { said.clone() })
        .collect();
    let differing: Vec<String> = wanted
        .iter()
        .zip(&got)
        .filter(|(wanted, got)| wanted != got)
        .map(|(wanted, got)| format!("MySQL:   {wanted}\nVaquita: {got}"))
        .collect();
    assert!(differing.is_empty(), "{}", differing.join("\n\n"));
    assert_eq!(wanted.len(), got.len());
}
