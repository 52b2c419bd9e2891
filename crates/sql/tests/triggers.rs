//! Triggers where one session, or MySQL 5.6, is not enough: several of one moment, plans that are there already, privileges,
//! columns of later servers, folders that are opened again.

use crate::support;

use support::{connect_as, open, root, run, until};

/// Runs statements that must do what they should.
#[track_caller]
fn all(c: &mut vaquita_sql::Connection, list: &[&str]) {
    for sql in list {
        assert_eq!(run(c, sql), "", "{sql}");
    }
}

#[test]
fn several_of_one_moment() {
    let opened = open();
    let mut c = root(&opened.db);
    all(
        &mut c,
        &[
            "create database d",
            "use d",
            "create table t (id int primary key, s varchar(100))",
            "create trigger b before insert on t for each row set new.s = concat(new.s, 'b')",
            "create trigger d before insert on t for each row follows b set new.s = concat(new.s, 'd')",
            "create trigger a before insert on t for each row precedes b set new.s = concat(new.s, 'a')",
            "create trigger c before insert on t for each row precedes `d` set new.s = concat(new.s, 'c')",
            "create trigger e before insert on t for each row follows d set new.s = concat(new.s, 'e')",
            "insert into t values (1, '-')",
        ],
    );
    let refused = run(&mut c, "create trigger f before insert on t for each row set new.s = ''");
    assert!(refused.starts_with("1235 "), "{refused}");
    let refused = run(&mut c, "create trigger f after insert on t for each row follows a set @a = 1");
    assert_eq!(
        refused,
        "3011 Referenced trigger 'a' for the given action time and event type does not exist."
    );
    assert_eq!(run(&mut c, "select s from t"), "-abcde");
    let order = "select group_concat(trigger_name, action_order order by action_order) from \
                 information_schema.triggers where trigger_schema = 'd'";
    assert_eq!(run(&mut c, order), "a1,b2,c3,d4,e5");
    assert_eq!(
        run(&mut c, "show create trigger c").split('|').nth(2),
        Some(
            "CREATE DEFINER=`root`@`localhost` trigger c before insert on t for each row FOLLOWS `b` \
             set new.s = concat(new.s, 'c')"
        )
    );
    all(&mut c, &["drop trigger b", "rename table t to u", "insert into u values (2, '-')"]);
    assert_eq!(run(&mut c, "select s from u where id = 2"), "-acde");
    let text = run(&mut c, "show create trigger a");
    assert!(text.contains("trigger a before insert ON `u` for each row set"), "{text}");
    drop(c);
    let opened = opened.reopen();
    let mut c = root(&opened.db);
    all(&mut c, &["use d", "alter table u add k int", "insert into u values (3, '-', 1)"]);
    assert_eq!(run(&mut c, "select s from u where id = 3"), "-acde");
}

/// Statements whose plans are kept fire the triggers there are when they run.
#[test]
fn plans_follow_triggers() {
    let opened = open();
    let (mut c, mut other) = (root(&opened.db), root(&opened.db));
    all(&mut c, &["create database d", "use d", "create table t (id int auto_increment primary key, n int)"]);
    all(
        &mut c,
        &["create table log (n int)", "prepare ins from 'insert into t (n) values (?)'", "set @n = 1"],
    );
    all(
        &mut c,
        &["prepare upd from 'update t set n = n + 1 where id = 1'", "prepare del from 'delete from t'"],
    );
    all(&mut other, &["use d"]);
    let statements = ["insert into t (n) values (7)", "execute ins using @n", "execute upd", "execute del"];
    for round in 0..3 {
        for _ in 0..2 {
            all(&mut c, &statements);
        }
        let fired = run(&mut c, "select count(*) from log");
        assert_eq!(fired, if round == 1 { "9" } else { "0" }, "round {round}");
        all(&mut c, &["delete from log", "alter table t auto_increment = 1"]);
        let changes: &[&str] = match round {
            0 => &[
                "create trigger i after insert on t for each row insert into log values (new.n)",
                "create trigger u after update on t for each row insert into log values (new.n)",
                "create trigger d before delete on t for each row insert into log values (old.n)",
            ],
            _ => &["drop trigger i", "drop trigger u", "drop trigger d"],
        };
        if round < 2 {
            all(&mut other, changes);
        }
    }
}

/// A trigger is made when nobody has rows of its table in hand.
#[test]
fn making_one_waits_for_transactions() {
    let opened = open();
    let (mut c, mut other) = (root(&opened.db), root(&opened.db));
    all(
        &mut c,
        &["create database d", "use d", "create table t (id int)", "begin", "insert into t values (1)"],
    );
    std::thread::scope(|scope| {
        let made = scope.spawn(move || {
            run(&mut other, "create trigger d.x before insert on d.t for each row set new.id = 5")
        });
        until("it waits", || run(&mut c, "show processlist").contains("Waiting for table metadata lock"));
        all(&mut c, &["insert into t values (2)", "commit"]);
        assert_eq!(made.join().expect("no panic"), "");
        all(&mut c, &["insert into t values (3)"]);
        assert_eq!(run(&mut c, "select * from t"), "1\n2\n5");
    });
}

#[test]
fn privileges() {
    let opened = open();
    let mut c = root(&opened.db);
    all(
        &mut c,
        &[
            "create database d",
            "create table d.t (id int)",
            "create table d.log (id int)",
            "create user u@localhost",
            "grant insert, select on d.* to u@localhost",
            "create trigger d.x after insert on d.t for each row insert into d.log values (new.id)",
        ],
    );
    let mut u = connect_as(&opened.db, "u", "localhost").expect("connects");
    all(&mut u, &["use d", "insert into t values (1)", "show triggers"]);
    assert_eq!(run(&mut u, "select count(*) from information_schema.triggers"), "0");
    let denied = "1142 TRIGGER command denied to user 'u'@'localhost' for table 't'";
    assert_eq!(run(&mut u, "create trigger y before insert on t for each row set @a = 1"), denied);
    assert_eq!(run(&mut u, "drop trigger x"), denied);
    assert!(run(&mut u, "show create trigger x").starts_with("1227 Access denied; you need"));
    assert!(run(&mut u, "drop trigger none").starts_with("1360 "));
    all(&mut c, &["grant trigger on d.t to u@localhost"]);
    assert!(run(&mut u, "show triggers").starts_with("x|INSERT|t|insert into d.log"));
    let refused =
        run(&mut u, "create definer = root@localhost trigger y before insert on t for each row set @a = 1");
    assert!(refused.starts_with("1227 Access denied; you need"), "{refused}");
    // It may not do more than its definer.
    all(&mut u, &["create trigger y before insert on t for each row delete from log"]);
    let denied = "1142 DELETE command denied to user 'u'@'localhost' for table 'log'";
    assert_eq!(run(&mut c, "insert into d.t values (2)"), denied);
    all(&mut u, &["drop trigger y"]);
    all(&mut c, &["insert into d.t values (2)"]);
    assert_eq!(run(&mut c, "select group_concat(id) from d.log"), "1,2");
}

/// What a table asks of its rows is asked after the triggers before the change; what follows from other columns follows from what they
/// have set.
#[test]
fn columns_of_later_servers() {
    let opened = open();
    let mut c = root(&opened.db);
    all(
        &mut c,
        &[
            "create database d",
            "use d",
            "create table t (id int primary key, n int check (n < 100), g int as (n * 2) stored, v int as (n + 1), \
             e int default (id + 5), key (v))",
            "create trigger i before insert on t for each row set @seen = concat_ws(',', new.g, new.v, new.e), \
             new.n = if(new.n > 100, 99, new.n + 1)",
            "create trigger u before update on t for each row set new.n = if(new.n = 50, 500, new.n + 1)",
            "insert into t (id, n) values (1, 10)",
        ],
    );
    assert_eq!(run(&mut c, "select t.*, @seen from t"), "1|11|22|12|6|20,11,6");
    all(&mut c, &["insert into t (id, n) values (2, 1000)", "update t set n = 30 where id = 2"]);
    assert_eq!(run(&mut c, "select * from t where v = 32"), "2|31|62|32|7");
    assert_eq!(run(&mut c, "update t set n = 50"), "3819 Check constraint 't_chk_1' is violated.");
    all(&mut c, &["insert into t (id, n) values (1, 3) on duplicate key update n = 60"]);
    assert_eq!(run(&mut c, "select * from t where v = 62"), "1|61|122|62|6");
}

/// Rows that are read from the statement's text one by one are rows as others.
#[test]
fn many_rows() {
    let opened = open();
    let mut c = root(&opened.db);
    let rows: Vec<String> = (1..=20).map(|n| format!("({n})")).collect();
    let rows = rows.join(", ");
    all(
        &mut c,
        &[
            "create database d",
            "use d",
            "create table t (id int primary key)",
            "create table log (id int)",
            "create trigger x after insert on t for each row insert into log values (new.id)",
            &format!("insert into t values {rows}"),
        ],
    );
    assert_eq!(run(&mut c, "select count(*), sum(id) from log"), "20|210");
    let many = format!("create trigger y before insert on log for each row insert into t values {rows}");
    all(&mut c, &[&many]);
    let used = "1442 Can't update table 't' in stored function/trigger because it is already used by statement which invoked \
                this stored function/trigger.";
    assert_eq!(run(&mut c, "insert into t values (100)"), used);
    assert_eq!(
        run(
            &mut c,
            &format!("insert into t select id + 1000 from ({rows_of}) r", rows_of = "select 1 as id")
        ),
        used
    );
    assert_eq!(run(&mut c, "select count(*) from t"), "20");
}

/// A statement and what its triggers have done are one: taken back together, there together after a crash.
#[test]
fn a_statement_is_one_with_its_triggers() {
    let opened = open();
    let mut c = root(&opened.db);
    all(
        &mut c,
        &[
            "create database d",
            "use d",
            "create table t (id int primary key)",
            "create table log (id int)",
            "create trigger x after insert on t for each row begin insert into log values (new.id); \
             if new.id = 13 then signal sqlstate '45000' set message_text = 'thirteen'; end if; end",
            "begin",
            "insert into t values (1), (2)",
        ],
    );
    assert_eq!(run(&mut c, "insert into t values (11), (12), (13)"), "1644 thirteen");
    all(&mut c, &["commit", "begin", "insert into t values (21), (22)"]);
    assert_eq!(run(&mut c, "select group_concat(id) from log"), "1,2,21,22");
    drop(c);
    let opened = opened.crash_and_open_with(&[]).expect("opens");
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "select group_concat(id) from d.log"), "1,2");
    assert_eq!(run(&mut c, "select group_concat(id) from d.t"), "1,2");
    all(&mut c, &["insert into d.t values (3)"]);
    assert_eq!(run(&mut c, "select count(*) from d.log"), "3");
}

/// A plan that is kept may be for a table that has changed since: its parent was written anew. The statement begins again then, and
/// nothing of what was computed for it may have happened.
#[test]
fn they_fire_once_where_a_plan_is_made_anew() {
    let opened = open();
    let mut c = root(&opened.db);
    let mut other = root(&opened.db);
    all(
        &mut c,
        &[
            "create database d",
            "use d",
            "create table p (id int primary key)",
            "create table c (id int auto_increment primary key, p int, n int, foreign key (p) references p (id))",
            "create table log (id int auto_increment primary key)",
            "create trigger t before insert on c for each row begin set @fired = @fired + 1; insert into log values (); end",
            "insert into p values (1)",
            "prepare s from 'insert into c (p, n) values (1, 1)'",
            "prepare q from 'insert into c (p, n) select id, 1 from p'",
        ],
    );
    let mut rows = 0;
    let written = ["insert into c (p, n) values (1, 1)", "replace into c (p, n) values (1, 1)"];
    for statement in written.into_iter().chain(["execute s", "execute q"]) {
        for change in ["set @a = 1", "alter table d.p force", "alter table d.c force"] {
            all(&mut c, &["set @fired = 0", statement, statement]);
            all(&mut other, &[change]);
            all(&mut c, &[statement]);
            rows += 3;
            assert_eq!(run(&mut c, "select @fired"), "3", "{statement} after {change}");
            let logged = run(&mut c, "select count(*), max(id) from log");
            assert_eq!(logged, format!("{rows}|{rows}"), "{statement} after {change}");
        }
    }
}
