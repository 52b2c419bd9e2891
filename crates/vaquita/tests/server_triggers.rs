//! Triggers in folders that MySQL 5.6.24 made: two folders that begin as one, of which one is the server's all the time; the other one goes
//! back and forth. Whoever has it, the same statements do the same to it, and what the folders keep of triggers is the same, byte for byte.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use vaquita_clients::Vaquita;
use vaquita_isolation::mysql::Client;
use vaquita_peers::{Mysql56, Options};

/// Of each database, `{d}` being its name.
const TABLES: [&str; 12] = [
    "create database {d} default character set utf8",
    "use {d}",
    "create table t (a int primary key, b varchar(60), c int) engine=innodb default charset=utf8 row_format=compact",
    "create table t2 (a int, z int) engine=innodb row_format=compact",
    "create table log (id int auto_increment primary key, what varchar(60)) engine=innodb default charset=utf8 row_format=compact",
    "create table `odd t``w/x'q` (a int) engine=innodb row_format=compact",
    "create table wide (w varchar(20)) engine=innodb default charset=utf8 row_format=compact",
    "create table p (a int, v int) engine=innodb row_format=compact partition by hash (a) partitions 2",
    "create table r (a int) engine=innodb row_format=compact",
    "create table s (a int) engine=innodb row_format=compact",
    "create table dropped (a int) engine=innodb row_format=compact",
    "create table `tö` (a int) engine=innodb row_format=compact",
];

/// Statements about triggers, with the character set of the client that sends them and its `sql_mode`.
const TRIGGERS: [(&str, &str, &str); 29] = [
    (
        "utf8",
        "",
        "create trigger bi before insert on t for each row set new.b = concat(new.b, 'it''s \\'\"\\\\ \\n ')",
    ),
    (
        "utf8",
        "NO_ENGINE_SUBSTITUTION",
        "create trigger ai after insert on t for each row begin /* why */ insert into log (what) values (concat(new.a, new.b)); -- rest\n set @x = '\t'; end ; ",
    ),
    (
        "utf8",
        "ANSI_QUOTES",
        "create definer=u@`%` trigger \"b u\" before update on \"t\" for each row set new.\"b\" = concat(old.\"c\", 'é漢')",
    ),
    (
        "utf8",
        "NO_BACKSLASH_ESCAPES,STRICT_ALL_TABLES,ANSI",
        "create trigger `a'u` after update on t for each row insert into log (what) values ('a\\' || new.b)",
    ),
    (
        "utf8",
        "",
        "create trigger {d}.`bd``/x` before delete on {d}.t for each row begin if old.a > 100 then signal sqlstate '45000' set message_text = 'nö'; end if; end",
    ),
    (
        "utf8",
        "",
        "create /* why */ definer = current_user() trigger `näme` after delete\n on\t{d} . t for   each row\ninsert into log (what) values (concat(old.a, 'ж'))",
    ),
    ("utf8", "", "create trigger odd before insert on `odd t``w/x'q` for each row set new.a = new.a + 1   "),
    // What is sent is UTF-8 all the same: two letters of latin1 for each that is not ASCII's.
    ("latin1", "", "create trigger `née` before insert on wide for each row set new.w = 'é'"),
    (
        "latin1",
        "",
        "create trigger kept after insert on wide for each row insert into log (what) values (_utf8'é')",
    ),
    ("latin1", "", "create definer=`ü x`@`%` trigger by_ue before delete on wide for each row set @a = 'ö'"),
    (
        "utf8mb4",
        "",
        "create trigger four before update on wide for each row begin set @a = '😀'; insert into log (what) values (char_length(@a)); end",
    ),
    (
        "binary",
        "",
        "create trigger bin after update on wide for each row insert into log (what) values (hex('é'))",
    ),
    ("utf8", "", "create trigger pb before insert on p for each row set new.v = new.v * 2"),
    (
        "utf8",
        "",
        "create trigger pa after update on p for each row insert into log (what) values (concat('p', old.v, new.v))",
    ),
    (
        "utf8",
        "",
        "/*!50003 CREATE*/ /*!50017 DEFINER=`root`@`localhost`*/ /*!50003 TRIGGER dmp BEFORE INSERT ON t2 FOR EACH ROW begin set new.z = 5; end */",
    ),
    ("utf8", "", "create trigger con before update on t2 for each row set new.z = new.z # but\n + 1"),
    ("utf8", "", "create trigger gone before delete on t2 for each row set @a = 1"),
    (
        "utf8",
        "MYSQL40",
        "create trigger old after delete on t2 for each row insert into log (what) values ('t2')",
    ),
    ("utf8", "", "drop trigger {d}.gone"),
    ("utf8", "", "create trigger r1 after insert on r for each row insert into log (what) values ('r')"),
    ("utf8", "ANSI_QUOTES", "create trigger r2 before insert on\"{d}\".r for each row set new.a = new.a + 1"),
    ("utf8", "", "rename table r to `r n``e\"w`"),
    ("utf8", "", "create trigger s1 after insert on s for each row insert into log (what) values ('s')"),
    ("utf8", "", "alter table s rename to s2, add column z int"),
    ("utf8", "", "create trigger dr after insert on dropped for each row set @a = 1"),
    ("utf8", "", "drop table dropped"),
    ("utf8", "", "create trigger ue before insert on `tö` for each row set new.a = new.a * 3"),
    ("utf8", "", "rename table t2 to t3, `tö` to t2, t3 to `tö`"),
    ("utf8", "", "rename table t to o.t"),
];

/// What the server does alone, before anybody else has the folder.
const OF_THE_SERVER: [(&str, &str, &str); 4] = [
    ("utf8", "", "set sql_quote_show_create = 0"),
    ("utf8", "", "create trigger plain before insert on s2 for each row set new.z = 4"),
    (
        "utf8",
        "",
        "create trigger {d}.`select` after delete on s2 for each row insert into log (what) values ('gone')",
    ),
    ("utf8", "", "set sql_quote_show_create = 1"),
];

/// What fires them.
const CHANGES: [&str; 24] = [
    "delete from log",
    "delete from t",
    "insert into t values (1, 'x', 7), (200, 'y', 8), (3, 'z', 9)",
    "update t set c = c + 1 where a < 3",
    "delete from t where a = 3",
    "delete from t where a = 200",
    "replace into t values (1, 'again', 5)",
    "insert into t values (1, 'there', 5) on duplicate key update c = 6",
    "select * from t order by a",
    "insert into `odd t``w/x'q` values (1)",
    "select * from `odd t``w/x'q`",
    "insert into wide values ('w')",
    "update wide set w = 'ж'",
    "select hex(w) from wide",
    "insert into p values (1, 2), (2, 3)",
    "update p set v = v + 1, a = a + 1 order by a desc",
    "select * from p order by a, v",
    "insert into t2 values (1)",
    "select * from t2",
    "select a, z from `tö`",
    "insert into `r n``e\"w` values (5)",
    "insert into s2 values (1, 2)",
    "select * from s2",
    "select what from log order by id",
];

/// What the server does when it has the folder in turn, and what is done here then.
const IN_TURN: [[(&str, &str, &str); 6]; 2] = [
    [
        ("utf8", "", "drop trigger {d}.bi"),
        ("utf8", "", "create trigger bi before insert on t for each row set new.c = 77"),
        ("utf8", "", "rename table p to p2, t to tt, tt to t"),
        ("utf8", "", "rename table p2 to p"),
        ("utf8", "", "drop table wide"),
        (
            "utf8",
            "ANSI_QUOTES",
            "create table wide (w varchar(20)) engine=innodb default charset=utf8 row_format=compact",
        ),
    ],
    [
        ("utf8", "", "alter table t add column d int not null default 3 after b, add key (c)"),
        ("utf8", "", "create index k on p (v)"),
        ("utf8", "", "alter table p remove partitioning"),
        (
            "utf8",
            "",
            "create trigger `née` after insert on wide for each row insert into log (what) values (concat(new.w, 'ö'))",
        ),
        ("utf8", "", "drop trigger `a'u`"),
        ("utf8", "", "rename table s2 to s3"),
    ],
];

type Answer = Result<Vec<Vec<Option<String>>>, String>;

fn ask(client: &mut Client, sql: &str) -> Answer {
    let rows = client.query(sql).map_err(|e| e.to_string())?.into_rows();
    // 5.6 has no characters of four bytes in what it shows.
    let cell = |cell: Option<String>| cell.map(|text| text.replace('😀', "?"));
    Ok(rows.into_iter().map(|row| row.into_iter().map(cell).collect()).collect())
}

/// Runs statements in a database; what is said of each.
fn run(client: &mut Client, database: &str, statements: &[(&str, &str, &str)]) -> Vec<(String, Answer)> {
    let run_one = |&(charset, mode, sql): &(&str, &str, &str)| {
        for first in
            [format!("use {database}"), format!("set names {charset}"), format!("set sql_mode = '{mode}'")]
        {
            ask(client, &first).unwrap();
        }
        let sql = sql.replace("{d}", database);
        let answer = ask(client, &sql);
        (sql, answer)
    };
    statements.iter().map(run_one).collect()
}

fn in_utf8<'a>(statements: &[&'a str]) -> Vec<(&'static str, &'static str, &'a str)> {
    statements.iter().map(|sql| ("utf8", "", *sql)).collect()
}

/// What is to be seen of triggers, and what they do.
fn seen(socket: &Path) -> Vec<(String, Answer)> {
    let mut client = Client::connect(socket, "").unwrap();
    ask(&mut client, "set names utf8").unwrap();
    // But for ACTION_STATEMENT: 5.6 shows there what strings mean, and no quotes within them.
    let list = "select trigger_catalog, trigger_schema, trigger_name, event_manipulation, event_object_catalog, event_object_schema, \
                event_object_table, action_order, action_condition, action_orientation, action_timing, action_reference_old_table, \
                action_reference_new_table, action_reference_old_row, action_reference_new_row, created, sql_mode, definer, \
                character_set_client, collation_connection, database_collation from information_schema.triggers \
                where trigger_schema in ('d', 'e') order by trigger_schema, event_object_table, event_manipulation, action_timing";
    let listed = ask(&mut client, list);
    let named: Vec<(String, String)> = listed
        .iter()
        .flatten()
        .map(|row| (row[1].clone().unwrap(), row[2].clone().unwrap().replace('`', "``")))
        // 5.6 reads the definer, which stands there in UTF-8, as latin1.
        .filter(|(_, name)| name != "by_ue")
        .collect();
    let mut out = vec![(list.to_owned(), listed)];
    for (database, name) in named {
        let sql = format!("show create trigger `{database}`.`{name}`");
        let answer = ask(&mut client, &sql);
        out.push((sql, answer));
    }
    for database in ["d", "e"] {
        let mut shown = run(&mut client, database, &in_utf8(&["show triggers"]));
        let statements = shown.iter_mut().flat_map(|(_, answer)| answer.iter_mut().flatten());
        statements.for_each(|row| drop(row.remove(3)));
        out.extend(shown);
        out.extend(run(&mut client, database, &in_utf8(&CHANGES)));
    }
    out
}

/// The files of triggers.
fn files(dir: &Path) -> BTreeMap<PathBuf, String> {
    let files = ["d", "e", "o"].iter().flat_map(|database| fs::read_dir(dir.join(database)).unwrap());
    let paths = files.map(|file| file.unwrap().path());
    let of_triggers = paths.filter(|path| path.extension().is_some_and(|e| e == "TRG" || e == "TRN"));
    let read = |path: PathBuf| {
        let text = fs::read(&path).unwrap().escape_ascii().to_string().replace("\\n", "\n");
        (path.strip_prefix(dir).unwrap().to_owned(), text)
    };
    of_triggers.map(read).collect()
}

/// The same was said, and the same files are there.
fn assert_same(when: &str, ours: &[(String, Answer)], theirs: &[(String, Answer)], dirs: [&Path; 2]) {
    let [our_files, their_files] = dirs.map(files);
    let same = |a: &String, b: &String, what: &dyn std::fmt::Display| match a == b {
        true => String::new(),
        false => format!("{when}: {what}\n  here: {a}\n  5.6:  {b}\n"),
    };
    let said = ours
        .iter()
        .zip(theirs)
        .map(|((sql, ours), (_, theirs))| same(&format!("{ours:?}"), &format!("{theirs:?}"), sql));
    let none = String::new();
    let paths: BTreeSet<_> = our_files.keys().chain(their_files.keys()).collect();
    let kept = paths.into_iter().map(|path| {
        let of = |files: &BTreeMap<PathBuf, String>| files.get(path).unwrap_or(&none).clone();
        same(&of(&our_files), &of(&their_files), &path.display())
    });
    let differences: String = said.chain(kept).collect();
    assert!(differences.is_empty(), "{differences}");
    assert_eq!(ours.len(), theirs.len(), "{when}");
}

/// Runs statements in both databases and looks at what came of them.
fn turn(socket: &Path, statements: &[(&str, &str, &str)], databases: &[&str]) -> Vec<(String, Answer)> {
    let mut client = Client::connect(socket, "").unwrap();
    let mut out: Vec<_> =
        databases.iter().flat_map(|database| run(&mut client, database, statements)).collect();
    out.extend(seen(socket));
    out
}

#[test]
fn triggers_go_back_and_forth() {
    let mut theirs = Mysql56::start(Options::new()).unwrap();
    let mut client = Client::connect(&theirs.socket(), "").unwrap();
    for sql in
        ["set names utf8", "create database o", "grant all on *.* to u@'%'", "grant all on *.* to `ü x`@'%'"]
    {
        ask(&mut client, sql).unwrap();
    }
    for database in ["d", "e"] {
        TABLES.iter().for_each(|sql| drop(ask(&mut client, &sql.replace("{d}", database)).unwrap()));
    }
    // Those of one database are made by the server, those of the other one by whoever has the folder.
    let made = run(&mut client, "d", &TRIGGERS);
    let failed: Vec<_> = made.iter().filter(|(_, answer)| answer.is_err()).collect();
    assert!(run(&mut client, "d", &OF_THE_SERVER).iter().all(|(_, answer)| answer.is_ok()));
    assert!(failed.len() == 1 && failed[0].0 == "rename table t to o.t", "{failed:?}");
    drop(client);
    theirs.shutdown().unwrap();
    let scratch = vaquita_peers::scratch_dir("vq-triggers").unwrap();
    let copied = Command::new("cp").arg("-r").arg(theirs.datadir()).arg(&scratch).status().unwrap();
    assert!(copied.success());
    let dir = scratch.join(theirs.datadir().file_name().unwrap());
    theirs.start_again().unwrap();
    let open =
        |options: &[&str]| Vaquita::start(Path::new(env!("CARGO_BIN_EXE_vaquita")), &dir, options).unwrap();

    let mut ours = open(&["--take-over", "--skip-grant-tables"]);
    let [of_ours, of_theirs] =
        [ours.socket(), theirs.socket()].map(|socket| turn(&socket, &TRIGGERS, &["e"]));
    assert_same("made here", &of_ours, &of_theirs, [&dir, theirs.datadir()]);
    ours.stop().unwrap();

    let mut other = Mysql56::open(&dir, Options::new()).unwrap();
    let [of_ours, of_theirs] =
        [other.socket(), theirs.socket()].map(|socket| turn(&socket, &IN_TURN[0], &["d", "e"]));
    assert_same("the server has it", &of_ours, &of_theirs, [&dir, theirs.datadir()]);
    other.shutdown().unwrap();

    let mut ours = open(&["--skip-grant-tables"]);
    let log = ours.log();
    for name in ["kept", "by_ue", "bin"] {
        assert!(log.contains(&format!("trigger `{name}` of table `d`.`wide` is gone")), "{log}");
    }
    let [of_ours, of_theirs] =
        [ours.socket(), theirs.socket()].map(|socket| turn(&socket, &IN_TURN[1], &["d", "e"]));
    assert_same("it is here again", &of_ours, &of_theirs, [&dir, theirs.datadir()]);
    ours.stop().unwrap();

    let mut other = Mysql56::open(&dir, Options::new()).unwrap();
    let [of_ours, of_theirs] = [other.socket(), theirs.socket()].map(|socket| turn(&socket, &[], &[]));
    assert_same("the server has it again", &of_ours, &of_theirs, [&dir, theirs.datadir()]);
    other.shutdown().unwrap();
    fs::remove_dir_all(&scratch).unwrap();
}
