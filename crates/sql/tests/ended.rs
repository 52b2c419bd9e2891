//! Statements that cannot go on: no room on the disk, somebody ended them, a folder for their files is not there, a literal does not
//! fit.

use crate::support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use support::{open, root, run};
use vaquita_base::{ManualClock, PageId, PageNo};
use vaquita_engine::{Engine, Options};
use vaquita_io::sim::{Fault, Injection, SimDisk};
use vaquita_sql::{ConnectInfo, Connection, Database};

fn on_disk(disk: &SimDisk) -> Connection {
    disk.put_dir("/".as_ref());
    let mut options = Options::new("/db");
    options.background = false;
    options.storage.buffer_pool_size = 16 << 20;
    options.sort_buffer_size = 128 << 10;
    let engine =
        Engine::open_with(Arc::new(disk.clone()), Arc::new(ManualClock::new()), options).expect("it opens");
    let db = Database::on_engine(engine, &[]).expect("a database");
    db.connect(ConnectInfo::embedded()).expect("a session")
}

/// A table of 2000 rows of 500 bytes.
fn with_rows(connection: &mut Connection) {
    let statements = [
        "create database d",
        "use d",
        "create table ten (i int primary key)",
        "insert into ten values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)",
        "create table t (id int primary key, a int, s varchar(500), key (a))",
        "insert into t select a.i + 10 * b.i + 100 * c.i + 1000 * d.i, a.i, repeat('x', 500) from ten a, ten b, ten c, ten d
         where d.i < 2",
    ];
    for sql in statements {
        assert_eq!(run(connection, sql), "", "{sql}");
    }
}

/// Without KILL it would be planned for minutes, to end in another error.
#[test]
fn planning_is_ended() {
    let opened = open();
    let mut c = root(&opened.db);
    run(&mut c, "create database d; use d");
    let keys: Vec<String> = (0..16).map(|n| format!("key k{n} (a, b, c{n})")).collect();
    let columns: Vec<String> = (0..16).map(|n| format!("c{n} int")).collect();
    run(&mut c, &format!("create table t (a int, b int, {}, {})", columns.join(","), keys.join(",")));
    run(&mut c, "insert into t (a, b) values (1, 1), (2, 2), (3, 3)");
    let values: Vec<String> = (0..3_000).map(|n| (n * 7).to_string()).collect();
    let values = values.join(",");
    let tables: Vec<String> = (0..60).map(|n| format!("t t{n}")).collect();
    let conditions: Vec<String> = (0..60).map(|n| format!("t{n}.a in ({values})")).collect();
    let join = format!("select 1 from {} where {}", tables.join(","), conditions.join(" and "));
    let joined = format!("select nosuch from ({join}) x");
    let lists: Vec<String> = (0..2_000).map(|n| format!("sha2(repeat('{n}', 1000000), 512)")).collect();
    let constants = format!("select nosuch from (select concat_ws('', {}) x) x", lists.join(","));
    for sql in [joined, constants] {
        let id = c.id();
        let mut other = root(&opened.db);
        std::thread::scope(|scope| {
            let ended = scope.spawn(|| run(&mut c, &sql));
            let listed = format!(
                "select count(*) from information_schema.processlist where id = {id} and info like '%nosuch%'"
            );
            while run(&mut other, &listed) == "0" && !ended.is_finished() {
                std::thread::yield_now();
            }
            run(&mut other, &format!("kill query {id}"));
            assert_eq!(ended.join().expect("ends"), "1317 Query execution was interrupted");
        });
    }
}

#[test]
fn a_full_disk_is_a_full_table() {
    let disk = SimDisk::new(3);
    let mut connection = on_disk(&disk);
    with_rows(&mut connection);
    let full = |connection: &mut Connection, sql: &str| {
        let answer = run(connection, sql);
        assert!(answer.starts_with("1114 The table"), "{sql}: {answer}");
    };
    disk.set_capacity(Some(disk.used() + (64 << 10)));
    full(&mut connection, "create table u (i int primary key)");
    let answer = run(&mut connection, "insert into t select id + 2000, a, s from t");
    assert_eq!(answer, "1114 The table 't' is full");
    let answer = run(&mut connection, "update t set s = repeat('y', 499), a = a + 1, id = id + 100000");
    assert_eq!(answer, "1114 The table 't' is full");
    full(&mut connection, "alter table t add b int first, algorithm = inplace");
    let told = run(&mut connection, "optimize table t");
    assert!(told.starts_with("d.t|optimize|Error|The table is full"), "{told}");
    // What failed has changed nothing, and the folder lives.
    assert_eq!(run(&mut connection, "select count(*), sum(id), min(s) = max(s) from t"), "2000|1999000|1");
    assert_eq!(run(&mut connection, "check table t"), "d.t|check|status|OK");
    assert_eq!(run(&mut connection, "update t set a = 77 where id = 5"), "");
    disk.set_capacity(None);
    disk.inject(Injection::new(Fault::NoSpace).on_path("#sql-vaquita-sort-").always());
    for sql in
        ["create index s on t (s(400))", "alter table t add key s (s(400)), add unique key (id, s(400))"]
    {
        let answer = run(&mut connection, sql);
        assert!(answer.starts_with("1878 Temporary file write failure"), "{sql}: {answer}");
    }
    disk.clear_injections();
    assert_eq!(run(&mut connection, "check table t"), "d.t|check|status|OK");
    for sql in [
        "create table u (i int primary key)",
        "alter table t add b int first, algorithm = inplace",
        "alter table t add key (s(200))",
    ] {
        assert_eq!(run(&mut connection, sql), "", "{sql}");
    }
    assert_eq!(run(&mut connection, "insert into t (id, a, s) select id + 2000, a, s from t"), "");
    assert_eq!(run(&mut connection, "check table t"), "d.t|check|status|OK");
}

#[test]
fn long_statements_on_tables_look_who_ends_them() {
    let opened = support::open();
    let mut connection = support::root(&opened.db);
    with_rows(&mut connection);
    let parted = "create table p (id int primary key, a int, s varchar(500), key (a)) partition by range (id) (partition p0 values less than (10000))";
    assert_eq!(run(&mut connection, parted), "");
    let statements = [
        "check table t",
        "checksum table t",
        "analyze table t",
        "optimize table t",
        "create index b on t (s(20))",
        "alter table t add key (s(20)), add unique key (a, id)",
        "alter table t add b int first, algorithm = inplace",
        "alter table t engine = innodb",
        "alter table p exchange partition p0 with table t",
        "insert into t select id + 5000, a, s from t",
    ];
    for sql in statements {
        let mut session = support::root(&opened.db);
        assert_eq!(run(&mut session, "use d"), "");
        let (db, id, asked) = (Arc::downgrade(&opened.db), session.id(), Arc::new(AtomicU32::new(0)));
        let seen = asked.clone();
        // A server is told after a millisecond that the statement goes on, this one at once: that is when it is ended.
        session.set_yield_after(Duration::ZERO);
        session.set_yield_hook(Arc::new(move || {
            if seen.fetch_add(1, Ordering::Relaxed) == 0
                && let Some(db) = db.upgrade()
            {
                db.processes().kill(id, true);
            }
        }));
        let answer = run(&mut session, sql);
        assert!(asked.load(Ordering::Relaxed) > 0, "{sql}: nobody was asked: {answer}");
        assert!(
            answer.starts_with("1317 ") || answer.contains("Query execution was interrupted"),
            "{sql}: {answer}"
        );
    }
    assert_eq!(run(&mut connection, "select count(*), count(distinct s) from t"), "2000|1");
    assert_eq!(run(&mut connection, "check table t"), "d.t|check|status|OK");
    // Whoever was ended holds nothing, and what was not done can be done.
    for (sql, answer) in [
        ("select count(*) from p", "0"),
        ("insert into p values (1, 1, 'x'); delete from p", ""),
        ("alter table p exchange partition p0 with table t", ""),
        ("select count(*) from p", "2000"),
    ] {
        assert_eq!(run(&mut connection, sql), answer, "{sql}");
    }
}

/// Rows may be collected before any is written: who ends the statement later is heard, too.
#[test]
fn writing_rows_is_ended() {
    let opened = support::open_with(&[("sort_buffer_size", "32768")]);
    let mut connection = support::root(&opened.db);
    with_rows(&mut connection);
    let rows: Vec<String> = (5_000..10_000).map(|n| format!("({n}, 1, 'y')")).collect();
    let values = format!("insert into t values {}", rows.join(", "));
    for sql in [
        "insert into t select id + 5000, a, s from t",
        "insert into t select id + 5000, a, s from t order by id desc",
        "replace into t select id, a + 1, 'y' from t",
        "update t set id = id + 10000",
        "update t set s = 'y' order by s, id",
        &values[..],
    ] {
        let mut session = support::root(&opened.db);
        assert_eq!(run(&mut session, "use d"), "");
        let (db, id, asked) = (Arc::downgrade(&opened.db), session.id(), AtomicU32::new(0));
        session.set_yield_after(Duration::ZERO);
        session.set_yield_hook(Arc::new(move || {
            // The rows are collected by then.
            if asked.fetch_add(1, Ordering::Relaxed) == 10
                && let Some(db) = db.upgrade()
            {
                db.processes().kill(id, true);
            }
        }));
        let answer = run(&mut session, sql);
        assert!(answer.starts_with("1317 "), "{sql:.80}: {answer}");
    }
    let all = "select count(*), count(distinct s), min(id), max(id) from t";
    assert_eq!(run(&mut connection, all), "2000|1|0|1999");
    // What is not ended does its work, in the order of its rows.
    let sql = "insert into t select id + 5000, a, s from t order by a, id";
    assert_eq!(run(&mut connection, sql), "");
    assert_eq!(run(&mut connection, all), "4000|1|0|6999");
    assert_eq!(run(&mut connection, "check table t"), "d.t|check|status|OK");
    let made = "create table n (k int auto_increment primary key, id int, s varchar(500)); \
                insert into n (id, s) select id, s from t where id < 2000; \
                insert into n (id, s) select -id, s from n order by id desc";
    assert_eq!(run(&mut connection, made), "");
    assert_eq!(
        run(
            &mut connection,
            "select count(*) from n a join n b on a.k + 1 = b.k where a.id < 0 and b.id < a.id"
        ),
        "0"
    );
    assert_eq!(
        run(
            &mut connection,
            "select count(*) from n a join n b on a.k + 1 = b.k where a.id < 0 and b.id > a.id"
        ),
        "1999"
    );
}

#[test]
fn temporary_files_are_in_tmpdir() {
    let base = std::env::temp_dir().join(format!("vaquita-tmpdir-{}", std::process::id()));
    let (one, two, gone) = (base.join("one"), base.join("two"), base.join("gone"));
    std::fs::create_dir_all(&one).expect("a folder");
    std::fs::create_dir_all(&two).expect("a folder");
    let folders = format!("{}:{}", one.display(), two.display());
    let Err(refused) = support::try_open_new(&[("tmpdir", &format!("{folders}:{}", gone.display()))]) else {
        panic!("a folder that is not there was taken");
    };
    assert!(refused.message.contains(&format!("tmpdir: '{}'", gone.display())), "{refused:?}");

    let opened = support::open_with(&[("tmpdir", &folders), ("sort_buffer_size", "32768")]);
    let mut connection = support::root(&opened.db);
    with_rows(&mut connection);
    assert_eq!(run(&mut connection, "select @@tmpdir"), folders);
    let sorted = "select count(*) from (select distinct s, id from t order by s, id) t";
    assert_eq!(run(&mut connection, &format!("{sorted}; {sorted}; {sorted}")), "2000");
    // They are nowhere else: without the folders there are no files.
    std::fs::remove_dir_all(&base).expect("they are empty of files that have names");
    let sorted = "select id from t order by s, id limit 150000, 1";
    for _ in 0..2 {
        let answer = run(&mut connection, sorted);
        assert!(answer.starts_with("3 Error writing file"), "{answer}");
    }
    std::fs::create_dir_all(&one).expect("a folder");
    let answers = [run(&mut connection, sorted), run(&mut connection, sorted)];
    assert_eq!(answers.iter().filter(|answer| answer.is_empty()).count(), 1, "in turn: {answers:?}");
    std::fs::remove_dir_all(&base).expect("it is there");
}

/// What MySQL 5.6.24 stores and calculates.
#[test]
fn hexadecimal_literals_of_more_than_64_bits() {
    let opened = support::open();
    let mut connection = support::root(&opened.db);
    for sql in [
        "create database d",
        "use d",
        "create table h (i int, b bigint, u bigint unsigned, d decimal(65,0), f double, v varchar(40), bt bit(20), y year)",
        "set sql_mode = ''",
    ] {
        assert_eq!(run(&mut connection, sql), "", "{sql}");
    }
    let stored = [
        ("i", "0x414243444546474849", "2147483647", 1264),
        ("i", "0x000000000000000041", "2147483647", 1264),
        ("i", "0x0000000000000041", "65", 0),
        ("b", "0x414243444546474849", "9223372036854775807", 1264),
        ("u", "0x010000000000000000", "18446744073709551615", 1264),
        ("u", "0xFFFFFFFFFFFFFFFF", "18446744073709551615", 0),
        ("d", "0x414243444546474849", "9223372036854775807", 1264),
        ("d", "0xFFFFFFFFFFFFFFFF", "9223372036854775807", 1264),
        ("f", "0x414243444546474849", "9.223372036854776e18", 1264),
        ("f", "0xFFFFFFFFFFFFFFFF", "9.223372036854776e18", 1264),
        ("v", "0x414243444546474849", "ABCDEFGHI", 0),
        ("bt + 0", "0x414243444546474849", "1048575", 1264),
        ("y", "0x0000000000000007DF00", "0000", 1264),
    ];
    for (shown, literal, wanted, warning) in stored {
        let column = shown.split(' ').next().unwrap_or_default();
        assert_eq!(run(&mut connection, "delete from h"), "");
        assert_eq!(run(&mut connection, &format!("insert into h ({column}) values ({literal})")), "");
        let told = run(&mut connection, "show warnings");
        assert_eq!(told.contains("|1264|"), warning == 1264, "{column} {literal}: {told}");
        assert_eq!(run(&mut connection, &format!("select {shown} from h")), wanted, "{column} {literal}");
    }
    assert_eq!(run(&mut connection, "set sql_mode = 'STRICT_ALL_TABLES'"), "");
    for column in ["i", "b", "u", "d", "f", "bt", "y"] {
        let answer = run(&mut connection, &format!("insert into h ({column}) values (0x000000000000000041)"));
        assert_eq!(answer, format!("1264 Out of range value for column '{column}' at row 1"));
    }
    let numbers = "select 0x414243444546474849 % 7, 0x414243444546474849 & 0xFF, 0x414243444546474849 << 1, 0x000000000000000041 + 0,
        cast(0x414243444546474849 as unsigned), 0x414243444546474849 = 'ABCDEFGHI', repeat('a', 0x000000000000000003)";
    assert_eq!(run(&mut connection, numbers), "4|73|9549470188530733202|65|4774735094265366601|1|aaa");
}

/// The load of a list of pages is ended between two of its parts by who asks for that.
#[test]
fn a_load_of_the_pool_is_ended() {
    let mut c = on_disk(&SimDisk::new(9));
    with_rows(&mut c);
    let db = c.database().clone();
    let core = db.engine().core();
    let status = "show status like 'Innodb_buffer_pool_load_status'";
    let load = |during: &dyn Fn()| {
        assert!(core.hot_set_step(&|| false), "the list is written");
        let over = || {
            during();
            false
        };
        assert!(core.hot_set_step(&over), "it is loaded");
    };
    let ask = "set global innodb_buffer_pool_dump_now = 1, global innodb_buffer_pool_load_now = 1";
    let asking = std::cell::RefCell::new(c);
    let run_now = |sql: &str| run(&mut asking.borrow_mut(), sql);
    assert_eq!(run_now(ask), "");
    load(&|| ());
    assert!(run_now(status).contains("Buffer pool(s) load completed at "), "{}", run_now(status));
    assert_eq!(run_now(ask), "");
    load(&|| assert_eq!(run_now("set global innodb_buffer_pool_load_abort = 1"), ""));
    assert!(run_now(status).ends_with("|Buffer pool(s) load aborted on request"), "{}", run_now(status));
    // Whoever asks for the next one wants it.
    assert_eq!(run_now(ask), "");
    load(&|| ());
    assert!(run_now(status).contains("Buffer pool(s) load completed at "), "{}", run_now(status));
}

/// Changes bytes of all pages of the indexes of table `d/t` but their roots, or changes them back.
fn turn_leaves(db: &Database, index: usize) {
    let core = db.engine().core();
    let table = core.table("d/t").expect("a table");
    let id = table.indexes[index].id.get();
    let root = table.indexes[index].tree.root();
    let pages = core.storage.spaces().get(table.space).expect("its file").size_pages();
    let mut turned = 0;
    for no in (0..pages).map(PageNo).filter(|no| *no != root) {
        let mut mtr = core.storage.begin().expect("begins");
        let page = mtr.get_exclusive(PageId::new(table.space, no)).expect("a page");
        let of_index = vaquita_base::codec::get_u64(mtr.page(page), 66);
        if of_index != id && of_index != !id {
            continue;
        }
        for at in (24..26).chain(66..74) {
            let value = !mtr.page(page)[at];
            mtr.write_u8(page, at, value);
        }
        mtr.commit();
        turned += 1;
    }
    assert!(turned > 2, "{turned} pages");
}

/// A statement fails and cannot be taken back: nothing commits what it left, whatever the way.
#[test]
fn what_cannot_be_taken_back_is_never_committed() {
    let disk = SimDisk::new(5);
    disk.put_dir("/".as_ref());
    let mut options = Options::new("/db");
    options.background = false;
    options.storage.buffer_pool_size = 16 << 20;
    let engine = Engine::open_with(Arc::new(disk), Arc::new(ManualClock::new()), options).expect("it opens");
    let db = Database::on_engine(engine, &[]).expect("a database");
    let connect = || db.connect(ConnectInfo::embedded()).expect("a session");
    let mut c = connect();
    with_rows(&mut c);
    for sql in [
        "alter table t add key (s(100), a)",
        "create table kept (id int primary key)",
        "create table fires (id int primary key)",
        "create trigger g after insert on fires for each row update t set s = concat('z', id) where id < 900",
        "create function f() returns int begin declare continue handler for sqlexception begin end;
           update t set s = concat('z', id) where id < 900; return 1; end",
        "create procedure p() begin declare continue handler for sqlexception begin end;
           update t set s = concat('z', id) where id < 900; commit; end",
    ] {
        assert_eq!(run(&mut c, sql), "", "{sql}");
    }
    let before = run(&mut c, "select sum(crc32(concat(id, s, a))) from t");
    // Rows are changed one by one until an entry of a page comes that is damaged: it is not the first.
    let update = "update t set a = a + 100, s = if(id < 500, s, concat('z', id)) order by id";
    let fails = |c: &mut Connection, sql: &str, code: &str| {
        let answer = run(c, sql);
        assert!(answer.starts_with(code), "{sql}: {answer}");
    };
    let commits: &[&[&str]] = &[
        &["commit"],
        &["begin"],
        &["start transaction"],
        &["create table x (i int)"],
        &["drop table kept"],
        &["truncate table kept"],
        &["analyze table kept"],
        &["lock tables kept write"],
        &["set autocommit = 1"],
        &["create view v as select 1"],
        &["rollback"],
    ];
    for commit in commits {
        let mut c = connect();
        run(&mut c, "use d; set autocommit = 0");
        assert_eq!(run(&mut c, "insert into kept values (1)"), "");
        assert_eq!(run(&mut c, "savepoint s"), "");
        turn_leaves(&db, 2);
        fails(&mut c, update, "1181 Got error during ROLLBACK");
        for refused in [
            "select 1",
            "select * from kept",
            "insert into kept values (2)",
            "rollback to s",
            "release savepoint s",
            "savepoint s2",
            "call p()",
            "do f()",
            "create temporary table q (i int)",
        ] {
            fails(&mut c, refused, "1181 Got error during ROLLBACK: a statement of the transaction failed");
        }
        assert!(run(&mut c, "show warnings").contains("1181"));
        match commit {
            ["rollback"] => drop(run(&mut c, "rollback")),
            _ => commit.iter().for_each(|sql| fails(&mut c, sql, "1180 Got error during COMMIT")),
        }
        assert_eq!(run(&mut c, "select count(*) from kept where id = 2"), "0", "{commit:?}");
        turn_leaves(&db, 2);
        while db.engine().core().rollback_step().expect("it is whole again") {}
        run(&mut c, "rollback");
        assert_eq!(run(&mut c, "select count(*) from kept"), "0", "{commit:?}");
        assert_eq!(run(&mut c, "select sum(crc32(concat(id, s, a))) from t"), before, "{commit:?}");
    }
    // Parts of statements: functions and triggers, with handlers that would go on. The handler of the procedure takes the error of
    // its COMMIT, too, which rolls back.
    for (sql, code) in [
        ("select f()", Some("1180")),
        ("insert into fires values (1)", Some("")),
        ("call p()", None),
        (update, Some("")),
    ] {
        let mut c = connect();
        run(&mut c, "use d");
        turn_leaves(&db, 2);
        let answer = run(&mut c, sql);
        match code {
            Some(code) => assert!(!answer.is_empty() && answer.starts_with(code), "{sql}: {answer}"),
            None => assert_eq!(answer, "", "{sql}"),
        }
        turn_leaves(&db, 2);
        while db.engine().core().rollback_step().expect("it is whole again") {}
        assert_eq!(run(&mut c, "select count(*) from fires"), "0", "{sql}");
        assert_eq!(run(&mut c, "select sum(crc32(concat(id, s, a))) from t"), before, "{sql}");
    }
    // A branch of XA can only be rolled back.
    let mut c = connect();
    run(&mut c, "use d; xa start 'x'");
    turn_leaves(&db, 2);
    fails(&mut c, update, "1181");
    fails(&mut c, "xa end 'x'", "1399");
    fails(&mut c, "xa prepare 'x'", "1399");
    run(&mut c, "xa rollback 'x'");
    turn_leaves(&db, 2);
    while db.engine().core().rollback_step().expect("it is whole again") {}
    assert_eq!(run(&mut c, "select sum(crc32(concat(id, s, a))) from t"), before);
    assert_eq!(run(&mut c, "check table t"), "d.t|check|status|OK");
}

/// Numbers of documents behind the last one would begin anew.
#[test]
fn the_last_number_of_a_document_is_refused() {
    let opened = support::open();
    let mut c = support::root(&opened.db);
    for sql in [
        "create database d",
        "use d",
        "create table f (FTS_DOC_ID bigint unsigned not null, s text, unique key FTS_DOC_ID_INDEX (FTS_DOC_ID),
           fulltext key (s))",
        "insert into f values (1, 'one'), (2, 'two')",
    ] {
        assert_eq!(run(&mut c, sql), "", "{sql}");
    }
    for sql in [
        "update f set FTS_DOC_ID = 18446744073709551615 where FTS_DOC_ID = 2",
        "update f set FTS_DOC_ID = 18446744073709551615, s = 'three' where FTS_DOC_ID = 2",
        "insert into f values (18446744073709551615, 'four')",
    ] {
        assert!(run(&mut c, sql).starts_with("182 "), "{sql}");
    }
    assert_eq!(
        run(&mut c, "update f set FTS_DOC_ID = 18446744073709551614, s = 'five' where FTS_DOC_ID = 2"),
        ""
    );
    assert_eq!(run(&mut c, "select count(*) from f where match(s) against('five')"), "1");
    drop(c);
    let opened = opened.reopen();
    let mut c = support::root(&opened.db);
    assert_eq!(
        run(&mut c, "select FTS_DOC_ID from d.f where match(s) against('five two' in boolean mode)"),
        "18446744073709551614"
    );
    assert_eq!(run(&mut c, "check table d.f"), "d.f|check|status|OK");
}
