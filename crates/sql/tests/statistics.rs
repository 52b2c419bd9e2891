//! Numbers about tables: what information_schema and SHOW say beside what is there; and what statements that make or
//! change them really do.

use crate::support;

use support::{open, root, run};
use vaquita_sql::Connection;

fn number(c: &mut Connection, sql: &str) -> u64 {
    let shown = run(c, sql);
    shown.parse().unwrap_or_else(|_| panic!("{sql}: {shown}"))
}

fn table_number(c: &mut Connection, column: &str) -> u64 {
    number(
        c,
        &format!(
            "select {column} from information_schema.tables where table_schema = 'd' and table_name = 't'"
        ),
    )
}

fn cardinalities(c: &mut Connection) -> String {
    run(
        c,
        "select group_concat(index_name, seq_in_index, '=', cardinality order by index_name, seq_in_index) \
         from information_schema.statistics where table_schema = 'd' and table_name = 't'",
    )
}

/// A thousand rows: seven values of `a`, fifty of `b`, NULL in every tenth row of `c`.
fn filled(c: &mut Connection) {
    run(c, "create database d; use d");
    run(
        c,
        "create table t (id int primary key auto_increment, a int, b int, c int, pad char(200) not null default 'x', \
         key ab (a, b), key c (c))",
    );
    let row = |id: u32| match id % 10 {
        0 => format!("({id}, {}, {}, null)", id % 7, id % 50),
        _ => format!("({id}, {}, {}, {id})", id % 7, id % 50),
    };
    let rows: Vec<String> = (1..=1_000).map(row).collect();
    assert_eq!(run(c, &format!("insert into t (id, a, b, c) values {}", rows.join(","))), "");
}

#[test]
fn small_tables_are_counted() {
    let opened = open();
    let mut c = root(&opened.db);
    filled(&mut c);
    run(&mut c, "analyze table t");
    assert_eq!(table_number(&mut c, "table_rows"), 1_000);
    // lcm(7, 50) = 350 pairs; 900 numbers and NULL.
    assert_eq!(cardinalities(&mut c), "ab1=7,ab2=350,c1=901,PRIMARY1=1000");
    // Since then: what comes and goes is counted on.
    run(&mut c, "delete from t where id <= 30");
    assert_eq!(table_number(&mut c, "table_rows"), 970);
    // Enough changes, and all is found out anew.
    run(&mut c, "update t set a = 1");
    assert_eq!(cardinalities(&mut c), "ab1=1,ab2=50,c1=874,PRIMARY1=970");
}

#[test]
fn an_empty_table_has_no_rows() {
    let opened = open();
    let mut c = root(&opened.db);
    run(&mut c, "create database d; use d; create table t (id int primary key, v int, key (v))");
    assert_eq!(table_number(&mut c, "table_rows"), 0);
    assert_eq!(table_number(&mut c, "data_length"), 16_384);
    assert_eq!(table_number(&mut c, "index_length"), 16_384);
    assert_eq!(cardinalities(&mut c), "PRIMARY1=0,v1=0");
}

#[test]
fn lengths_are_those_of_the_segments() {
    let opened = open();
    let mut c = root(&opened.db);
    filled(&mut c);
    run(&mut c, "analyze table t");
    // 1,000 rows of some 230 bytes: 15 to 20 pages of 16 KiB and the root; secondary entries of some 20 bytes: 2 and the root.
    let (data, index) = (table_number(&mut c, "data_length"), table_number(&mut c, "index_length"));
    assert!((15 * 16_384..=32 * 16_384).contains(&data), "{data}");
    assert!((2 * 16_384..=12 * 16_384).contains(&index), "{index}");
    assert_eq!(table_number(&mut c, "avg_row_length"), data / 1_000);
    let sys = run(
        &mut c,
        "select num_rows, clust_index_size, other_index_size, modified_counter \
         from information_schema.innodb_sys_tablestats where name = 'd/t'",
    );
    assert_eq!(sys, format!("1000|{}|{}|0", data / 16_384, index / 16_384));
    // An index more, and its pages freed again. (Purge may give pages of the others back meanwhile.)
    run(&mut c, "alter table t add key pad (pad)");
    let more = table_number(&mut c, "index_length");
    assert!(more >= 13 * 16_384, "{more}");
    run(&mut c, "alter table t drop key pad");
    let less = table_number(&mut c, "index_length");
    assert!(less <= more - 13 * 16_384, "{less} after {more}");
    let partitions = "select table_rows, data_length, index_length from information_schema.partitions where table_schema = 'd'";
    assert_eq!(run(&mut c, partitions), format!("1000|{data}|{less}"));
}

#[test]
fn optimize_writes_the_table_anew() {
    let opened = open();
    let mut c = root(&opened.db);
    filled(&mut c);
    let id = "select table_id from information_schema.innodb_sys_tables where name = 'd/t'";
    let (before, length) = (number(&mut c, id), table_number(&mut c, "data_length"));
    run(&mut c, "delete from t where id % 10 > 0");
    let said = run(&mut c, "optimize table t, missing");
    assert_eq!(
        said,
        "d.t|optimize|note|Table does not support optimize, doing recreate + analyze instead\n\
         d.t|optimize|status|OK\n\
         d.missing|optimize|Error|Table 'd.missing' doesn't exist\n\
         d.missing|optimize|status|Operation failed"
    );
    assert_ne!(number(&mut c, id), before);
    assert!(table_number(&mut c, "data_length") < length / 2);
    assert_eq!(run(&mut c, "select count(*), sum(id) from t"), "100|50500");
}

#[test]
fn algorithm_and_lock_are_kept_or_refused() {
    let opened = open();
    let mut c = root(&opened.db);
    filled(&mut c);
    let instead =
        |what: &str, of: &str| format!("1845 {what} is not supported for this operation. Try {of}.");
    let because =
        |what: &str, why: &str, of: &str| format!("1846 {what} is not supported. Reason: {why}. Try {of}.");
    let copies = "COPY algorithm requires a lock";
    let cases = [
        ("alter table t modify b bigint, algorithm=inplace", String::new()),
        ("alter table t modify b int, lock=none", String::new()),
        (
            "alter table t modify b bigint, algorithm=copy, lock=none",
            because("LOCK=NONE", copies, "LOCK=SHARED"),
        ),
        (
            "alter table t comment = 'x', algorithm=instant, lock=none",
            "1221 Incorrect usage of ALGORITHM=INSTANT and LOCK=NONE".into(),
        ),
        ("alter table t add key b (b), lock=shared", String::new()),
        ("alter table t drop key b, add key b (b, a), lock=none", String::new()),
        ("drop index b on t lock=shared", String::new()),
        ("create index b on t (b) algorithm=inplace lock=none", String::new()),
        ("drop index b on t", String::new()),
        ("alter table t force, algorithm=instant", instead("ALGORITHM=INSTANT", "ALGORITHM=INPLACE")),
        ("alter table t add d int, algorithm=inplace, lock=none", String::new()),
        ("alter table t drop d, lock=shared", String::new()),
        ("alter table t force, lock=none", String::new()),
        ("create index b on t (b) algorithm=inplace lock=exclusive", String::new()),
        ("drop index b on t algorithm=inplace lock=none", String::new()),
        ("alter table t add key b (b), algorithm=copy", String::new()),
        ("alter table t modify b bigint, algorithm=copy, lock=exclusive", String::new()),
    ];
    for (sql, answer) in cases {
        assert_eq!(run(&mut c, sql), answer, "{sql}");
    }
}

#[test]
fn a_read_lock_on_a_table_writes_its_pages() {
    let opened = open();
    let mut c = root(&opened.db);
    filled(&mut c);
    let marked = "insert into t (a, pad) values (1, 'a row that nobody has written yet')";
    let file = opened.db.engine().core().storage.place_of("d/t", None);
    assert_eq!(run(&mut c, marked), "");
    run(&mut c, "flush tables t with read lock");
    let bytes = std::fs::read(&file).unwrap();
    assert!(bytes.windows(33).any(|at| at == b"a row that nobody has written yet"));
    assert!(run(&mut c, "insert into t (a) values (1)").starts_with("1099 "));
    run(&mut c, "unlock tables");
    assert_eq!(run(&mut c, "insert into t (a) values (1)"), "");
}
