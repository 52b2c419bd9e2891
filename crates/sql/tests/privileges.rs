//! What accounts may do: every kind of statement by accounts of many privileges.
//!
//! `privileges/matrix.tsv` was recorded by `record.py` there from MySQL 5.6.24. Its lines are what was made first
//! (`setup`), the accounts with their statements, and the statements tried: what makes up for one that worked, and for every
//! account what it was told: an error's number, `0`, or `+` and the number of rows. `known.tsv` lists what differs here,
//! by statement and account, ours after the arrow, and why: the test fails when something else differs, and when something
//! listed no longer does. `objects.tsv`, of `record_objects.py`, and `objects_known.tsv` are the same for views, procedures,
//! functions, triggers, events and temporary tables. `temporary.tsv`, of `record_temporary.py`, and `temporary_known.tsv` have every
//! statement that names tables by a user whose temporary tables have these names.

use crate::support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use support::{connect_as, open, root, run};
use vaquita_sql::sink::Collected;
use vaquita_sql::{Connection, Database};

/// After these a session is not what it was.
const LEAVES_TRACES: [&str; 5] = ["use", "lock", "flush", "set", "prepare"];

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/privileges").join(name);
    std::fs::read_to_string(path).expect("the recording")
}

/// What a session is told, as the recording says it.
fn told(session: &mut Connection, sql: &str) -> String {
    let mut sink = Collected::default();
    match session.query(sql.as_bytes(), &mut sink) {
        Err(e) => e.code.to_string(),
        // A CALL ends with a result that has no rows.
        Ok(()) => match sink.results.first().filter(|r| !r.columns.is_empty()) {
            Some(result) => format!("+{}", result.rows.len()),
            None => "0".to_owned(),
        },
    }
}

/// One session for each account, made anew when a statement may have left something in it.
struct Accounts {
    db: Arc<Database>,
    names: Vec<String>,
    sessions: Vec<Connection>,
}

impl Accounts {
    fn told(&mut self, at: usize, sql: &str) -> String {
        let answer = told(&mut self.sessions[at], sql);
        let word = sql.split(' ').next().unwrap_or_default();
        let leaves_traces = LEAVES_TRACES.contains(&word) || sql.starts_with("create temporary ");
        if leaves_traces && answer.starts_with(['0', '+']) {
            self.sessions[at] = connect_as(&self.db, &self.names[at], "localhost").expect("connects");
        }
        answer
    }
}

/// Whether counts of rows are compared: those of what MySQL has and we have not are not.
fn same(ours: &str, theirs: &str, sql: &str) -> bool {
    let own_lists = ["show privileges", "show engines", "show plugins", "show engine innodb mutex"];
    ours == theirs || own_lists.contains(&sql) && ours.starts_with(['0', '+']) && theirs.starts_with('+')
}

#[test]
fn every_statement_by_every_account() {
    play("matrix.tsv", "known.tsv");
}

#[test]
fn views_and_programs_by_every_account() {
    play("objects.tsv", "objects_known.tsv");
}

/// Plays a recording.
fn play(recording: &str, known: &str) {
    // Files may be anywhere, so that the privilege alone decides.
    let opened = support::open_with(&[("secure_file_priv", "")]);
    let mut c = root(&opened.db);
    // Where 5.6 makes an account by GRANT, so do we.
    assert_eq!(run(&mut c, "set global sql_mode = 'NO_ENGINE_SUBSTITUTION'"), "");
    let mut c = root(&opened.db);
    let matrix = read(recording);
    let mut accounts = Accounts { db: opened.db.clone(), names: Vec::new(), sessions: Vec::new() };
    let (mut granted, mut differing) = (Vec::new(), BTreeSet::new());
    for line in matrix.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        match fields[..] {
            ["setup", sql] => assert_eq!(run(&mut c, sql), "", "{sql}"),
            ["account", name, made] => {
                made.split("; ").for_each(|sql| assert_eq!(run(&mut c, sql), "", "{sql}"));
                accounts.sessions.push(connect_as(&opened.db, name, "localhost").expect("connects"));
                accounts.names.push(name.to_owned());
                let grants = made
                    .split("; ")
                    .skip(1)
                    .map(|g| g.replace("grant ", "").replace(&format!(" to {name}@localhost"), ""));
                granted.push(grants.collect::<Vec<_>>().join(", "));
            }
            ["statement", sql, repair, cells] => {
                for (at, theirs) in cells.split(' ').enumerate() {
                    let ours = accounts.told(at, sql);
                    let leaves_some =
                        ["drop table a.t", "drop view a.v"].iter().any(|drop| sql.contains(drop));
                    if !repair.is_empty() && (ours == "0" || leaves_some) {
                        for repair in repair.split("; ") {
                            let done = run(&mut c, repair);
                            assert!(done.is_empty(), "{repair} after {sql} by {}: {done}", granted[at]);
                        }
                    }
                    if !same(&ours, theirs, sql) {
                        differing.insert(format!("{sql}\t{}\t{theirs} -> {ours}", granted[at]));
                    }
                }
            }
            _ => panic!("a line that is none: {line}"),
        }
    }
    compare_with_known(&differing, &read(known));
}

/// What differs is what is known to differ.
fn compare_with_known(differing: &BTreeSet<String>, known: &str) {
    let known: BTreeMap<&str, &str> = known.lines().filter_map(|l| l.rsplit_once('\t')).collect();
    let new: Vec<&str> = differing.iter().map(String::as_str).filter(|d| !known.contains_key(d)).collect();
    assert!(new.is_empty(), "other answers than MySQL's:\n{}", new.join("\n"));
    let gone: Vec<&&str> = known.keys().filter(|k| !differing.contains(**k)).collect();
    assert!(gone.is_empty(), "no longer other answers: {gone:?}");
}

/// What the questions of `temporary.tsv` answer.
fn seen(session: &mut Connection, questions: &[&str]) -> Vec<String> {
    let answers = questions.iter().map(|sql| run(session, sql));
    let told = answers.filter(|answer| answer.parse::<u16>().is_err() && !is_error(answer));
    told.flat_map(|answer| answer.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Whether `run` has answered with an error: its number comes first.
fn is_error(answer: &str) -> bool {
    answer.split(' ').next().is_some_and(|word| word.len() == 4 && word.parse::<u16>().is_ok())
}

/// Lines that are gone, and lines that came.
fn difference(before: &[String], after: &[String]) -> String {
    let gone = before.iter().filter(|line| !after.contains(line)).map(|line| format!("-{line}"));
    let came = after.iter().filter(|line| !before.contains(line)).map(|line| format!("+{line}"));
    gone.chain(came).collect::<Vec<_>>().join("; ")
}

/// What looks after tables says in its rows how that went.
fn told_of_each(session: &mut Connection, sql: &str) -> String {
    let mut sink = Collected::default();
    if let Err(e) = session.query(sql.as_bytes(), &mut sink) {
        return e.code.to_string();
    }
    let looks_after = ["analyze", "check", "optimize", "repair", "checksum"];
    match sink.results.first().filter(|_| sql.split(' ').next().is_some_and(|w| looks_after.contains(&w))) {
        None => "0".to_owned(),
        Some(result) => {
            let cell = |cell: Option<&Option<String>>| cell.cloned().flatten().unwrap_or("None".to_owned());
            let lines = result.rows.iter().map(|row| format!("{} {}", cell(row.first()), cell(row.last())));
            format!("0 {}", lines.collect::<Vec<_>>().join(", "))
        }
    }
}

/// The name of a temporary table opens no other table, and hides none from those who ask for privileges on it.
#[test]
fn names_of_temporary_tables_waive_nothing_of_others() {
    let opened = open();
    let mut c = root(&opened.db);
    let made = "create user u@localhost; grant create temporary tables on d.* to u@localhost; grant all on own.* to u@localhost";
    assert_eq!(run(&mut c, made), "");
    // Whatever refers to what: a failure shows itself in the answers.
    run(&mut c, "set foreign_key_checks = 0");
    let (recording, known) = (read("temporary.tsv"), read("temporary_known.tsv"));
    let lines: Vec<Vec<&str>> = recording.lines().map(|line| line.split('\t').collect()).collect();
    let of = |kind: &str| -> Vec<&str> { lines.iter().filter(|l| l[0] == kind).map(|l| l[1]).collect() };
    let (setup, own, shared, private) = (of("setup"), of("own"), of("shared"), of("private"));
    let mut differing = BTreeSet::new();
    let mut fresh = false;
    for line in lines.iter().filter(|line| line[0] == "statement") {
        if !fresh {
            setup.iter().for_each(|sql| assert_eq!(run(&mut c, sql), "", "{sql}"));
        }
        let mut user = connect_as(&opened.db, "u", "localhost").expect("connects");
        own.iter().for_each(|sql| assert_eq!(run(&mut user, sql), "", "{sql}"));
        let before = [seen(&mut c, &shared), seen(&mut user, &private)];
        let answer = told_of_each(&mut user, line[1]);
        run(&mut user, "unlock tables");
        let after = [seen(&mut c, &shared), seen(&mut user, &private)];
        // Nothing of the others' has changed: the next one begins with it.
        fresh = before[0] == after[0];
        let ours = format!("{answer} | {}", difference(&before.concat(), &after.concat()));
        let theirs = format!("{} | {}", line[2], line[3]);
        if ours != theirs {
            differing.insert(format!("{}\t{theirs} -> {ours}", line[1]));
        }
    }
    compare_with_known(&differing, &known);
    // What is shown is the session's own, too.
    setup.iter().for_each(|sql| assert_eq!(run(&mut c, sql), "", "{sql}"));
    let mut user = connect_as(&opened.db, "u", "localhost").expect("connects");
    run(&mut user, "create temporary table d.secret (mine int)");
    let shown = run(&mut user, "show create table d.secret");
    assert!(shown.contains("CREATE TEMPORARY TABLE") && shown.contains("`mine`"), "{shown}");
    assert_eq!(
        run(&mut user, "create table own.copy select * from d.secret; show columns from own.copy"),
        "mine|int(11)|YES||NULL|"
    );
}

/// Being allowed to give privileges in one database is not being lord of the accounts.
#[test]
fn grant_does_not_reach_accounts() {
    let opened = open();
    let mut c = root(&opened.db);
    let made = "create database a; create table a.t (id int, b int); create user adm@localhost, v@localhost; \
                create user col@localhost, e@localhost; grant select (id) on a.t to col@localhost with grant option; \
                grant all on a.* to adm@localhost with grant option; \
                grant all on `a\\_b`.* to e@localhost with grant option";
    assert_eq!(run(&mut c, made), "");
    let before = run(&mut c, "select * from mysql.user order by user, host");
    let mut adm = connect_as(&opened.db, "adm", "localhost").expect("connects");
    let mysql = "1044 Access denied for user 'adm'@'localhost' to database 'mysql'";
    let everywhere = "1045 Access denied for user 'adm'@'localhost' (using password: NO)";
    for (sql, answer) in [
        ("grant select on a.* to root@localhost identified by 'pwn'", mysql),
        (
            "grant select on a.* to root@localhost identified by password '*14E65567ABDB5135D0CFD9A70B3032C179A49EE7'",
            mysql,
        ),
        ("grant select on a.* to root@localhost identified with mysql_native_password", mysql),
        ("grant select on a.* to root@localhost require x509", mysql),
        ("grant select on a.* to root@localhost with max_user_connections 1", mysql),
        ("grant select on a.* to v@localhost, root@localhost identified by 'pwn'", mysql),
        ("grant usage on *.* to root@localhost identified by 'pwn'", everywhere),
        (
            "grant select on a.* to z@localhost identified by 'x'",
            "1410 You are not allowed to create a user with GRANT",
        ),
        ("grant select on a.* to z@localhost", "1133 Can't find any matching row in the user table"),
        ("set password for root@localhost = 'x'", mysql),
        (
            "alter user adm@localhost account unlock",
            "1227 Access denied; you need (at least one of) the CREATE USER privilege(s) for this operation",
        ),
        (
            "alter user adm@localhost require none",
            "1227 Access denied; you need (at least one of) the CREATE USER privilege(s) for this operation",
        ),
        ("revoke select on *.* from root@localhost", everywhere),
    ] {
        assert_eq!(run(&mut adm, sql), answer, "{sql}");
    }
    assert_eq!(run(&mut c, "select * from mysql.user order by user, host"), before);
    assert_eq!(run(&mut adm, "grant select on a.* to v@localhost"), "");
    assert_eq!(run(&mut adm, "alter user adm@localhost identified by 'own'"), "");
    let mut col = connect_as(&opened.db, "col", "localhost").expect("connects");
    for (sql, answer) in [
        ("grant select (id) on a.t to v@localhost", ""),
        (
            "grant select (b) on a.t to v@localhost",
            "1143 SELECT command denied to user 'col'@'localhost' for column 'b' in table 't'",
        ),
        (
            "grant select on a.t to v@localhost",
            "1142 SELECT command denied to user 'col'@'localhost' for table 't'",
        ),
    ] {
        assert_eq!(run(&mut col, sql), answer, "{sql}");
    }
    // A pattern that is wider than one's own.
    let mut e = connect_as(&opened.db, "e", "localhost").expect("connects");
    assert_eq!(run(&mut e, "grant select on `a\\_b`.* to v@localhost"), "");
    assert_eq!(
        run(&mut e, "grant select on `a_b`.* to v@localhost"),
        "1044 Access denied for user 'e'@'localhost' to database 'a_b'"
    );
}

/// A statement's plan is kept: what it needs is asked again by everybody.
#[test]
fn kept_plans_ask_again() {
    let opened = open();
    let mut c = root(&opened.db);
    let made = "create database d; create table d.t (id int primary key, secret int); create user i@localhost, s@localhost; \
                grant insert (id) on d.t to i@localhost; grant insert, update on d.t to s@localhost";
    assert_eq!(run(&mut c, made), "");
    let update = "insert into d.t (id) values (1) on duplicate key update secret = 5";
    let reading = "insert into d.t (id) values (1) on duplicate key update secret = secret + 1";
    assert_eq!(run(&mut c, update), "");
    assert_eq!(run(&mut c, reading), "");
    let mut i = connect_as(&opened.db, "i", "localhost").expect("connects");
    let denied = "1142 UPDATE command denied to user 'i'@'localhost' for table 't'";
    assert_eq!(run(&mut i, update), denied);
    assert_eq!(run(&mut i, &update.replace("(1)", "(1), (2), (3), (4), (5), (6), (7), (8)")), denied);
    let mut s = connect_as(&opened.db, "s", "localhost").expect("connects");
    assert_eq!(run(&mut s, update), "");
    assert_eq!(
        run(&mut s, reading),
        "1143 SELECT command denied to user 's'@'localhost' for column 'secret' in table 't'"
    );
    assert_eq!(run(&mut c, "select * from d.t"), "1|5");
}

/// A name that has no room in the tables of accounts would be another one when they are read again.
#[test]
fn names_of_accounts_that_are_too_long_are_refused_everywhere() {
    let opened = open();
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "create database d; create user there@h"), "");
    let (host, user) = ("h".repeat(61), "u".repeat(33));
    let of_host = format!("1470 String '{host}' is too long for host name (should be no longer than 60)");
    let of_user = format!("1470 String '{user}' is too long for user name (should be no longer than 32)");
    for (name, answer) in [(format!("'u'@'{host}'"), of_host), (format!("'{user}'@'h'"), of_user)] {
        for sql in [
            format!("create user {name}"),
            format!("create user if not exists ok@h, {name} identified by 'x'"),
            format!("alter user {name} identified by 'x'"),
            format!("drop user {name}"),
            format!("rename user there@h to {name}"),
            format!("grant select on *.* to {name}"),
            format!("grant select on *.* to {name} identified by 'x'"),
            format!("revoke select on *.* from {name}"),
            format!("set password for {name} = ''"),
            format!("create role {name}"),
            format!("create definer = {name} view d.v as select 1"),
            format!("create definer = {name} procedure d.p() select 1"),
            format!("create definer = {name} function d.f() returns int return 1"),
            format!("create definer = {name} event d.e on schedule every 1 day do set @x = 1"),
        ] {
            assert_eq!(run(&mut c, &sql), answer, "{sql}");
        }
    }
    let fits = format!("create user '{}'@'{}'", &user[1..], &host[1..]);
    assert_eq!(run(&mut c, &fits), "");
    assert_eq!(run(&mut c, "flush privileges"), "");
    assert_eq!(run(&mut c, &fits.replace("create", "drop")), "");
    assert_eq!(run(&mut c, "select count(*) from mysql.user where user like 'u%'"), "0");
}

/// Where files of tables are, and what stands in files, is for those who may read and write the server's files.
#[test]
fn the_servers_files_are_for_those_with_the_privilege() {
    let opened = support::open_with(&[("secure_file_priv", "")]);
    let mut c = root(&opened.db);
    let elsewhere = std::env::temp_dir().join(format!("vaquita-elsewhere-{}", std::process::id()));
    let elsewhere = elsewhere.to_str().expect("a name").to_owned();
    assert_eq!(
        run(&mut c, "create database d; create user u@localhost; grant all on d.* to u@localhost"),
        ""
    );
    let mut u = connect_as(&opened.db, "u", "localhost").expect("connects");
    let denied = "1045 Access denied for user 'u'@'localhost' (using password: NO)";
    let parted = "create table d.p (a int) partition by range (a)";
    assert_eq!(run(&mut u, &format!("{parted} (partition p0 values less than (5))")), "");
    for sql in [
        format!("create table d.t (a int) data directory = '{elsewhere}'"),
        format!("create table d.t (a int) index directory = '{elsewhere}'"),
        format!("create temporary table d.t (a int) data directory = '{elsewhere}'"),
        format!("{parted} (partition p values less than (5) data directory = '{elsewhere}')"),
        format!(
            "alter table d.p add partition (partition p1 values less than (9) data directory = '{elsewhere}')"
        ),
        format!(
            "alter table d.p reorganize partition p0 into (partition p0 values less than (5) data directory = '{elsewhere}')"
        ),
    ] {
        if !sql.contains("temporary")
            || run(&mut c, "grant create temporary tables on d.* to u@localhost").is_empty()
        {
            assert_eq!(run(&mut u, &sql), denied, "{sql}");
        }
    }
    assert!(!Path::new(&elsewhere).exists());
    // What a default gives, whoever inserts gets into the table: not what only some of them may read.
    let refused = "3770 Default value expression of column 'a' contains a disallowed function: load_file.";
    for session in [&mut u, &mut c] {
        for sql in [
            "create table d.l (a text default (load_file('/etc/hostname')))",
            "create table d.l (a text default (concat('x', load_file('/etc/hostname'))))",
            "alter table d.p add a2 int, add b text, alter b set default (load_file('/etc/hostname'))",
        ] {
            let answer = run(session, sql);
            assert_eq!(
                answer,
                refused.replace("'a'", if sql.starts_with("alter") { "'b'" } else { "'a'" }),
                "{sql}"
            );
        }
    }
}

/// With an expired password a session can change it, and nothing else.
/// As MySQL 5.6.24 asks it: rows go with their partition.
#[test]
fn partitions_are_dropped_and_emptied_by_those_who_may_drop() {
    let opened = open();
    let mut root = root(&opened.db);
    for sql in [
        "create database d",
        "create table d.t (a int) partition by list (a) (partition p0 values in (0), partition p1 values in (1))",
        "create user u@localhost",
        "grant alter, select, insert on d.* to u@localhost",
    ] {
        assert_eq!(told(&mut root, sql), "0", "{sql}");
    }
    let drop = "alter table d.t drop partition p1";
    let truncate = "alter table d.t truncate partition p0";
    let mut u = connect_as(&opened.db, "u", "localhost").expect("connects");
    for sql in [drop, truncate] {
        assert_eq!(told(&mut u, sql), "1142", "{sql}");
    }
    assert_eq!(told(&mut root, "grant drop on d.t to u@localhost"), "0");
    let mut u = connect_as(&opened.db, "u", "localhost").expect("connects");
    for sql in [truncate, drop] {
        assert_eq!(told(&mut u, sql), "0", "{sql}");
    }
    assert_eq!(told(&mut root, "select count(*) from d.t partition (p1)"), "1735");
}

#[test]
fn expired_passwords_are_changed_first() {
    let opened = open();
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "create user u@localhost; grant all on *.* to u@localhost"), "");
    let mut u = connect_as(&opened.db, "u", "localhost").expect("connects");
    assert_eq!(run(&mut u, "select 1"), "1");
    let prepared = u.prepare(b"select 2").expect("prepares");
    assert_eq!(run(&mut c, "alter user u@localhost password expire"), "");
    let expired = "1820 You must SET PASSWORD before executing this statement";
    for sql in [
        "select 1",
        "begin",
        "commit",
        "use mysql",
        "show databases",
        "create database d",
        "alter table mysql.user engine = innodb",
        "grant select on *.* to u@localhost",
        "/* set */ do 1",
        "flush privileges",
    ] {
        assert_eq!(run(&mut u, sql), expired, "{sql}");
    }
    let mut sink = Collected::default();
    assert_eq!(u.execute(prepared.id, &[], &mut sink).map_err(|e| e.code), Err(1820));
    assert_eq!(u.prepare(b"select 3").map_err(|e| e.code).map(drop), Err(1820));
    assert_eq!(run(&mut u, "/* a driver */ set names utf8"), "");
    assert!(run(&mut u, "set global sort_buffer_size = 262144").starts_with("1227 "));
    assert!(run(&mut u, "alter user root@localhost identified by 'x'").starts_with("1227 "));
    assert_eq!(run(&mut u, "set password = 'new'"), "");
    assert_eq!(run(&mut u, "select 1"), "1");
    assert_eq!(run(&mut c, "alter user u@localhost password expire"), "");
    assert_eq!(run(&mut u, "select 1"), expired);
    assert_eq!(run(&mut u, "alter user u@localhost identified by 'newer'"), "");
    assert_eq!(run(&mut u, "select 1"), "1");
}

/// Lines behind the first one are in no order.
#[test]
fn grants_are_shown_as_by_mysql() {
    let opened = open();
    let mut c = root(&opened.db);
    run(&mut c, "create database d; create table d.t (a int, b int); create table d.t2 (a int)");
    let mut wrong = String::new();
    for line in include_str!("privileges/grants.tsv").lines().filter(|line| !line.starts_with('#')) {
        let (statements, shown) = line.split_once('\t').expect("statements and an answer");
        run(&mut c, "create user u@h");
        let done = run(&mut c, statements);
        let answer = run(&mut c, "show grants for u@h");
        let sorted = |text: &str, by: char| {
            let mut lines: Vec<String> = text.split(by).map(str::to_owned).collect();
            lines[1..].sort();
            lines
        };
        if sorted(&answer, '\n') != sorted(shown, '|') {
            wrong += &format!("{statements}\n  {done}\n  {answer}\n  {shown}\n");
        }
        run(&mut c, "drop user u@h");
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// As MySQL 5.6.24 has it, a hash is for those with SUPER: with it, others could guess the password at leisure.
#[test]
fn grants_show_no_hash_to_those_without_super() {
    let opened = open();
    let mut c = root(&opened.db);
    let made = "create user a@localhost identified by 'x'; create user m@localhost; grant select, update on mysql.* to m@localhost; \
                create user s@localhost; grant super on *.* to s@localhost; grant select on mysql.* to s@localhost";
    assert_eq!(run(&mut c, made), "");
    let grants = "show grants for a@localhost";
    let without = "GRANT USAGE ON *.* TO 'a'@'localhost' IDENTIFIED BY PASSWORD";
    let with = format!("{without} '*B69027D44F6E5EDC07F1AEAD1477967B16F28227'");
    assert_eq!(run(&mut c, grants), with);
    assert_eq!(run(&mut connect_as(&opened.db, "s", "localhost").expect("connects"), grants), with);
    assert_eq!(run(&mut connect_as(&opened.db, "m", "localhost").expect("connects"), grants), without);
    assert_eq!(run(&mut c, "set password for a@localhost = ''"), "");
    let mut a = connect_as(&opened.db, "a", "localhost").expect("connects");
    assert_eq!(run(&mut c, "set password for a@localhost = 'x'"), "");
    for grants in [grants, "show grants", "show grants for current_user()"] {
        assert_eq!(run(&mut a, grants), without, "{grants}");
    }
}

/// Whose sessions an account sees, and which of them it may end. As MySQL 5.6.24: SUPER ends what it does not see.
#[test]
fn sessions_are_seen_and_ended_by_those_who_may() {
    let opened = open();
    let mut c = root(&opened.db);
    for sql in [
        "create user web@'%'; create user other@'%'; create user proc@'%'; create user boss@'%'",
        "grant process on *.* to proc@'%'; grant super on *.* to boss@'%'",
    ] {
        assert_eq!(run(&mut c, sql), "");
    }
    let of = |user: &str| connect_as(&opened.db, user, "%").expect("connects");
    let (mut web, mate, other, mut proc, mut boss) =
        (of("web"), of("web"), of("other"), of("proc"), of("boss"));
    let users = |c: &mut Connection, list: &str| {
        let lines = run(c, list);
        let mut users: Vec<String> =
            lines.lines().map(|line| line.split('|').nth(1).unwrap_or_default().to_owned()).collect();
        users.sort();
        users.join(" ")
    };
    let table = "select id, user from information_schema.processlist";
    for list in ["show processlist", "show full processlist", table] {
        assert_eq!(users(&mut web, list), "web web", "{list}");
        assert_eq!(users(&mut proc, list), "boss other proc root web web", "{list}");
        assert_eq!(users(&mut boss, list), "boss", "{list}");
        assert_eq!(users(&mut c, list), "boss other proc root web web", "{list}");
    }
    let id = other.id();
    let refused = format!("1095 You are not owner of thread {id}");
    for (session, kill) in [(&mut web, "kill"), (&mut proc, "kill query")] {
        assert_eq!(run(session, &format!("{kill} {id}")), refused);
    }
    assert!(!other.is_killed());
    assert_eq!(run(&mut web, &format!("kill {}", mate.id())), "");
    assert_eq!(run(&mut boss, &format!("kill {id}")), "");
    assert!(mate.is_killed() && other.is_killed());
}
