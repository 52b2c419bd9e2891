//! Strings of views, procedures, functions and triggers mean for every session what they meant for the one that wrote them, and dumps
//! (which ask without conversion) get the bytes that were sent. Programs answer as in MySQL 5.6.24; there a view whose string is
//! compared with a column of another character set finds nothing, or cannot be read.

use crate::support;

use support::{open, root, run};
use vaquita_sql::Connection;
use vaquita_sql::sink::Collected;

/// A session's character set, a word in it with its backslashes doubled, and the word in UTF-8.
const CREATORS: [(&str, &[u8], &str); 6] = [
    ("latin1", b"\xE9", "é"),
    ("gbk", b"\xA8\xA6\xD6\xD0\\\\", "é中\\"),
    // Both characters end in the byte of a backslash, which escapes nothing.
    ("sjis", b"\x83\x5C\x95\x5C", "ソ表"),
    ("koi8r", b"\xD6", "ж"),
    ("utf8", "é中ソ".as_bytes(), "é中ソ"),
    ("utf8mb4", "é中ソ😀".as_bytes(), "é中ソ😀"),
];

fn hex(text: &str) -> String {
    text.bytes().map(|b| format!("{b:02X}")).collect()
}

/// `text` with the creator's word for `@` and his character set for `CS`.
#[track_caller]
fn sent(c: &mut Connection, text: &str, (charset, word, _): (&str, &[u8], &str)) {
    let parts: Vec<Vec<u8>> =
        text.replace("CS", charset).split('@').map(|part| part.as_bytes().to_vec()).collect();
    let sql = parts.join(word);
    if let Err(e) = c.query(&sql, &mut Collected::default()) {
        panic!("{text} in {charset}: {} {}", e.code, e.message);
    }
}

/// The first row of the first result: a CALL has another one behind it.
fn first(c: &mut Connection, sql: &str) -> String {
    let mut sink = Collected::default();
    if let Err(e) = c.query(sql.as_bytes(), &mut sink) {
        return format!("{} {}", e.code, e.message);
    }
    let row = sink.results.first().and_then(|result| result.rows.first());
    let cell = |cell: &Option<String>| cell.clone().unwrap_or_else(|| "NULL".into());
    row.map_or_else(String::new, |row| row.iter().map(cell).collect::<Vec<_>>().join("|"))
}

const MADE: [&str; 7] = [
    "create view v_CS as select w from t where w = '@'",
    "create view vi_CS as select concat('@', 'z') y, _CS'@' x from t where w = _CS'@'",
    "create function f_CS() returns varchar(30) charset utf8mb4 return concat('@', _CS'@')",
    "create procedure p_CS(x varchar(30) charset utf8mb4) begin declare y varchar(30) charset utf8mb4 default '@';
       select count(*), hex(y), x = '@' from t where w = '@'; end",
    "create table t_CS (a int, b varchar(60) charset utf8mb4 default '@', check (b <> '@@@@'),
       c varchar(60) charset utf8mb4 as (concat(_CS'@', b)))",
    "create trigger tr_CS before insert on t_CS for each row set new.b = concat(new.b, '@')",
    "create event e_CS on schedule every 1 day disable do insert into t values ('@')",
];

#[track_caller]
fn all_mean_the_same(db: &std::sync::Arc<vaquita_sql::Database>) {
    for reader in ["latin1", "gbk", "sjis", "koi8r", "utf8", "utf8mb4", "binary"] {
        let mut c = root(db);
        assert_eq!(run(&mut c, &format!("set names {reader}")), "");
        assert_eq!(run(&mut c, "use d"), "");
        for (creator, _, word) in CREATORS {
            let it = hex(word);
            for (sql, wanted) in [
                ("select hex(convert(w using utf8mb4)) from v_CS", it.clone()),
                (
                    "select hex(convert(y using utf8mb4)), hex(convert(x using utf8mb4)) from vi_CS",
                    format!("{it}7A|{it}"),
                ),
                ("select hex(f_CS())", format!("{it}{it}")),
                (&format!("call p_CS(convert(0x{it} using utf8mb4))"), format!("1|{it}|1")),
                ("delete from t_CS", String::new()),
                ("insert into t_CS (a) values (1)", String::new()),
                ("select hex(b), hex(c) from t_CS", format!("{it}{it}|{it}{it}{it}")),
            ] {
                let sql = sql.replace("CS", creator);
                assert_eq!(first(&mut c, &sql), wanted, "{sql}, read in {reader}");
            }
        }
    }
}

#[test]
fn strings_mean_what_their_writer_meant() {
    let opened = open();
    let mut c = root(&opened.db);
    for sql in ["create database d charset utf8mb4", "use d", "create table t (w varchar(30))"] {
        assert_eq!(run(&mut c, sql), "", "{sql}");
    }
    for (charset, _, word) in CREATORS {
        assert_eq!(
            run(&mut c, &format!("insert into t values (convert(0x{} using utf8mb4))", hex(word))),
            ""
        );
        let mut writer = root(&opened.db);
        assert_eq!(run(&mut writer, &format!("set names {charset}")), "");
        assert_eq!(run(&mut writer, "use d"), "");
        for text in MADE {
            sent(&mut writer, text, (charset, CREATORS.iter().find(|c| c.0 == charset).expect("it").1, word));
        }
    }
    all_mean_the_same(&opened.db);
    drop(c);
    let opened = opened.reopen();
    all_mean_the_same(&opened.db);
}

/// What SHOW says is the text; to whoever has nothing converted it is what was sent.
#[test]
fn shown_as_text_and_as_what_was_sent() {
    let opened = open();
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "create database d charset utf8mb4"), "");
    for sql in ["use d", "create table t (w varchar(30))", "set names latin1"] {
        assert_eq!(run(&mut c, sql), "", "{sql}");
    }
    for text in MADE {
        sent(&mut c, text, CREATORS[0]);
    }
    let objects = [
        ("view", "v", "= '@')"),
        ("view", "vi", "concat('@','z') AS `y`,_latin1 0xE9 AS `x`"),
        ("function", "f", "return concat('@', _latin1'@')"),
        ("procedure", "p", "default '@';"),
        ("trigger", "tr", "concat(new.b, '@')"),
        ("event", "e", "values ('@')"),
    ];
    // What is not UTF-8 is a replacement character in the collected texts, for each byte that was sent.
    for (results, word) in [("utf8mb4", "é"), ("binary", "\u{FFFD}")] {
        assert_eq!(run(&mut c, &format!("set character_set_results = {results}")), "");
        for (kind, name, part) in objects {
            let shown = run(&mut c, &format!("show create {kind} {name}_latin1"));
            assert!(shown.contains(&part.replace('@', word)), "{kind} {name} in {results}: {shown}");
        }
    }
    assert_eq!(run(&mut c, "set names utf8mb4"), "");
    for (sql, wanted) in [
        (
            "select view_definition from information_schema.views where table_name = 'v_latin1'",
            "select `d`.`t`.`w` AS `w` from `d`.`t` where (`d`.`t`.`w` = 'é')",
        ),
        ("select event_definition from information_schema.events", "insert into t values ('é')"),
        ("select action_statement from information_schema.triggers", "set new.b = concat(new.b, 'é')"),
    ] {
        assert_eq!(run(&mut c, sql), wanted, "{sql}");
    }
}

/// Bytes that are no text stay what they are in a program; a view, whose text is written anew, does not take them.
#[test]
fn bytes_that_are_no_text() {
    let opened = open();
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "create database d"), "");
    assert_eq!(run(&mut c, "use d"), "");
    let no_text = ("utf8mb4", &b"\xFF\xFE"[..], "");
    sent(&mut c, "create function f() returns varchar(9) return hex(_binary'@')", no_text);
    sent(&mut c, "create view v as select hex(_binary'@') x", no_text);
    drop(c);
    let opened = opened.reopen();
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "select d.f(), x from d.v"), "FFFE|FFFE");
    let sql = b"create view d.w as select '\xFF'";
    let refused = c.query(sql, &mut Collected::default()).expect_err("no text");
    assert_eq!((refused.code, &*refused.message), (1300, "Invalid character string in a view: 'FF'"));
}

/// An event that is altered by a session of another character set says what it said.
#[test]
fn an_event_that_another_session_alters() {
    let opened = open();
    let mut c = root(&opened.db);
    for sql in ["create database d charset utf8mb4", "use d", "set names utf8mb4"] {
        assert_eq!(run(&mut c, sql), "", "{sql}");
    }
    assert_eq!(run(&mut c, "create event e on schedule every 1 day disable do set @x = 'жé'"), "");
    assert_eq!(run(&mut c, "create event f on schedule every 1 day disable do set @x = 'é'"), "");
    assert_eq!(run(&mut c, "set names latin1"), "");
    assert_eq!(run(&mut c, "alter event e comment 'c'"), "");
    assert_eq!(run(&mut c, "alter event f comment 'c'"), "");
    assert_eq!(run(&mut c, "set names utf8mb4"), "");
    let sql =
        "select event_name, event_definition, character_set_client from information_schema.events order by 1";
    assert_eq!(run(&mut c, sql), "e|set @x = 'жé'|utf8mb4\nf|set @x = 'é'|latin1");
}
