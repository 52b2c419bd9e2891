//! FULLTEXT keys with a parser: what the manual of MySQL 5.7 says of `ngram`, stems and Unicode's words, and who keeps the parser.

use crate::support;

use support::{Opened, answers, open, open_with, root, run};
use vaquita_sql::Connection;

const TEXTS: &str = "insert into t values (1, '数据库管理', '在本教程中我将向你展示如何管理数据库'), \
     (2, '数据库应用开发', '学习开发数据库应用程序'), (3, 'MySQL完全手册', '学习MySQL的一切'), (4, null, 'abc def'), \
     (5, 'abcdef', 'ab bc'), (6, 'punct, ok', ''), (7, 'east', 'west')";

/// A database with a table of texts in `ngram` of the size the server has.
fn ngrams(opened: &Opened) -> Connection {
    let mut c = root(&opened.db);
    run(&mut c, "set innodb_ft_enable_stopword = 0; create database d default charset utf8mb4; use d");
    run(
        &mut c,
        "create table t (id int primary key, a varchar(100), b text, fulltext ft (a, b) with parser ngram)",
    );
    run(&mut c, TEXTS);
    c
}

fn found(c: &mut Connection, query: &str) -> String {
    let rows = run(c, &format!("select id from t where match (a, b) against ({query}) order by id"));
    rows.replace('\n', " ")
}

#[test]
fn sequences_are_found_as_the_manual_says() {
    let opened = open();
    let mut c = ngrams(&opened);
    for (query, rows) in [
        // Natural language: any of the sequences.
        ("'数据'", "1 2"),
        ("'管理'", "1"),
        ("'数据库手册'", "1 2 3"),
        ("'mysql'", "3"),
        ("'MYSQL'", "3"),
        // Boolean mode: the sequences one after the other.
        ("'数据库' in boolean mode", "1 2"),
        ("'数据库管' in boolean mode", "1"),
        ("'据库用' in boolean mode", ""),
        ("'+数据库 -手册 -管理' in boolean mode", "2"),
        ("'手册 管理' in boolean mode", "1 3"),
        // A text `ab bc` has the sequences of `abc`.
        ("'abc' in boolean mode", "4 5"),
        ("'\"abc def\"' in boolean mode", "4"),
        ("'\"abc def\"'", "4"),
        // Shorter than a sequence: those that begin with it. Longer: without the star.
        ("'数*' in boolean mode", "1 2"),
        ("'A*' in boolean mode", "4 5 7"),
        ("'数据库管*' in boolean mode", "1"),
        ("'ab*' in boolean mode", "4 5"),
        ("'数' in boolean mode", ""),
        ("'数'", ""),
        // Spaces divide, nothing else does.
        ("'t,' in boolean mode", "6"),
        ("'ok' in boolean mode", "6"),
        ("', ' in boolean mode", ""),
    ] {
        assert_eq!(found(&mut c, query), rows, "{query}");
    }
    assert_eq!(run(&mut c, "check table t"), "d.t|check|status|OK");
    run(&mut c, "set global innodb_ft_aux_table = 'd/t'");
    let words =
        "select distinct word from information_schema.innodb_ft_index_cache where doc_id = 4 order by 1";
    assert_eq!(run(&mut c, words), "ab\nbc\nde\nef");
}

#[test]
fn sequences_are_as_long_as_it_is_said() {
    let opened = open_with(&[("ngram_token_size", "3"), ("innodb_ft_min_token_size", "5")]);
    let mut c = ngrams(&opened);
    for (query, rows) in [
        ("'数据库'", "1 2"),
        ("'数据'", ""),
        ("'数据*' in boolean mode", "1 2"),
        ("'abcd' in boolean mode", "5"),
        ("'abc'", "4 5"),
    ] {
        assert_eq!(found(&mut c, query), rows, "{query}");
    }
    answers(&mut c, &[("select @@ngram_token_size", "3"), ("set global ngram_token_size = 2", "ERROR 1238")]);
    drop(c);
    let opened = opened.reopen_with(&[("ngram_token_size", "10")]).expect("opens");
    let mut c = root(&opened.db);
    answers(&mut c, &[("select @@ngram_token_size", "10")]);
    drop(c);
    let opened = opened.reopen_with(&[("ngram_token_size", "11")]).expect("it is cut, as in MySQL");
    let mut c = root(&opened.db);
    answers(&mut c, &[("select @@ngram_token_size", "10")]);
}

/// A sequence with a stopword in it is left out.
#[test]
fn stopwords_within_sequences() {
    let opened = open();
    let mut c = root(&opened.db);
    answers(
        &mut c,
        &[
            ("create database d default charset utf8mb4; use d; create table s (value varchar(20))", ""),
            ("insert into s values (','), ('longer'); set innodb_ft_user_stopword_table = 'd/s'", ""),
            ("create table t (a varchar(20), fulltext (a) with parser ngram)", ""),
            ("insert into t values ('a,b cd'), ('longer')", ""),
            ("set global innodb_ft_aux_table = 'd/t'", ""),
            ("select distinct word from information_schema.innodb_ft_index_cache", "cd\ner\nge\nlo\nng\non"),
            ("select a from t where match (a) against ('a,b')", ""),
            ("select a from t where match (a) against ('cd')", "a,b cd"),
            (
                "set innodb_ft_user_stopword_table = null; create table u like t; insert into u values ('east'), ('xist')",
                "",
            ),
            // `ea` and `as` are left out, but a word is found only where all of it is.
            ("select a from u where match (a) against ('east' in boolean mode)", "east"),
            ("select a from u where match (a) against ('st' in boolean mode)", "east\nxist"),
            ("select a from u where match (a) against ('ea' in boolean mode)", ""),
        ],
    );
}

#[test]
fn definitions_keep_their_parser() {
    const SHOWN: &str = "show create table t";
    fn keys(c: &mut Connection, table: &str) -> Vec<String> {
        let shown = run(c, &format!("show create table {table}"));
        let keys = shown.lines().filter(|line| line.contains("FULLTEXT"));
        keys.map(|line| line.trim_start().trim_end_matches(',').to_owned()).collect()
    }
    let opened = open();
    let mut c = ngrams(&opened);
    let ft = "FULLTEXT KEY `ft` (`a`,`b`) /*!50100 WITH PARSER `ngram` */ ";
    assert_eq!(keys(&mut c, "t"), [ft]);
    answers(
        &mut c,
        &[
            ("create fulltext index en on t (b) with parser STEM_English", ""),
            ("alter table t add fulltext de (b) with parser stem_german comment 'x'", ""),
            ("alter table t add fulltext no (b) with parser mecab", "1128 Function 'mecab' is not defined"),
            (
                "create fulltext index no on t (b) with parser `no such`",
                "1128 Function 'no such' is not defined",
            ),
            ("create table no (a text, key (a(9)) with parser ngram)", "ERROR 1064"),
        ],
    );
    let en = "FULLTEXT KEY `en` (`b`) /*!50100 WITH PARSER `stem_english` */ ";
    let de = "FULLTEXT KEY `de` (`b`) COMMENT 'x' /*!50100 WITH PARSER `stem_german` */ ";
    assert_eq!(keys(&mut c, "t"), [ft, en, de]);
    for change in [
        "alter table t add c int",
        "alter table t drop c, algorithm = copy",
        "alter table t comment = 'y'",
        "alter table t modify a varchar(120)",
        "alter table t add key k (a)",
        "alter table t change a a2 varchar(120), change b b2 text; alter table t change a2 a varchar(120), change b2 b text",
        "optimize table t",
        "alter table t force",
        "rename table t to u, u to t",
    ] {
        let done = run(&mut c, change);
        assert!(done.is_empty() || done.ends_with("status|OK"), "{change}: {done}");
        assert_eq!(keys(&mut c, "t"), [ft, en, de], "{change}");
        assert_eq!(found(&mut c, "'数据'"), "1 2", "{change}");
    }
    // What SHOW CREATE TABLE says makes the same table.
    let shown = run(&mut c, SHOWN);
    let statement = shown.split_once('|').expect("two cells").1.replace("`t`", "`again`");
    answers(&mut c, &[(&*statement, ""), ("insert into again select * from t", "")]);
    assert_eq!(keys(&mut c, "again"), [ft, en, de]);
    run(&mut c, "create table alike like t");
    assert_eq!(keys(&mut c, "alike"), [ft, en, de]);

    // Another parser is another index; a name has that of whoever has the name.
    run(&mut c, "alter table t drop index ft, add fulltext ft (a, b)");
    assert_eq!(keys(&mut c, "t").len(), 3);
    assert_eq!((found(&mut c, "'数据'"), found(&mut c, "'数据库管理'")), (String::new(), "1".to_owned()));
    run(
        &mut c,
        "alter table t rename index en to english; alter table t drop index de, add fulltext en (b) with parser ngram",
    );
    let english = "FULLTEXT KEY `english` (`b`) /*!50100 WITH PARSER `stem_english` */ ";
    let en_now = "FULLTEXT KEY `en` (`b`) /*!50100 WITH PARSER `ngram` */ ";
    let plain = "FULLTEXT KEY `ft` (`a`,`b`)";
    let mut now = keys(&mut c, "t");
    now.sort();
    assert_eq!(now, [en_now, english, plain]);
    drop(c);

    let opened = opened.reopen();
    let mut c = root(&opened.db);
    run(&mut c, "use d");
    let mut now = keys(&mut c, "t");
    now.sort();
    assert_eq!(now, [en_now, english, plain]);
    assert_eq!(keys(&mut c, "again"), [ft, en, de]);
    answers(
        &mut c,
        &[
            ("truncate t; insert into t values (1, '数据库管理', 'xyz')", ""),
            ("select id from t where match (a, b) against ('数据库管理')", "1"),
            ("check table t, again", "d.t|check|status|OK\nd.again|check|status|OK"),
            ("select plugin_type from information_schema.plugins where plugin_name = 'ngram'", "FTPARSER"),
        ],
    );
    drop(c);

    let opened = opened.crash_and_open_with(&[]).expect("opens");
    let mut c = root(&opened.db);
    run(&mut c, "use d");
    assert_eq!(keys(&mut c, "again"), [ft, en, de]);
    assert_eq!(run(&mut c, "select id from t where match (a, b) against ('数据库管理')"), "1");
}

#[test]
fn words_of_languages_and_of_unicode() {
    let opened = open();
    let mut c = root(&opened.db);
    answers(
        &mut c,
        &[
            ("create database d default charset utf8mb4; use d", ""),
            (
                "create table t (id int primary key, en text, de text, un text, fulltext (en) with parser stem_english, fulltext (de) with parser stem_german, fulltext (un) with parser unicode)",
                "",
            ),
            (
                "insert into t values (1, 'He was running his boats', 'alte Häuser', 'that costs 3.14, isn''t it'), (2, 'she runs', 'ein Haus', 'pi is 3 and 14'), (3, 'it ran', 'hausen', '')",
                "",
            ),
            ("select id from t where match (en) against ('run')", "1\n2"),
            ("select id from t where match (en) against ('+boat +runs' in boolean mode)", "1"),
            ("select id from t where match (en) against ('\"running his boat\"' in boolean mode)", "1"),
            ("select id from t where match (de) against ('Haus') order by id", "1\n2\n3"),
            ("select id from t where match (un) against ('3.14')", "1"),
            ("select id from t where match (un) against ('isn''t')", "1"),
            ("check table t", "d.t|check|status|OK"),
        ],
    );
}
