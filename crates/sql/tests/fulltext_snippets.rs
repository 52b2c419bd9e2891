//! FTS_SNIPPET(): what it shows of a text, against a computation that looks at every piece.

use crate::support;

use std::collections::BTreeSet;
use support::{open, root, run};
use vaquita_base::Rng;

const WORDS: [&str; 9] = ["apple", "pear", "plum", "fig", "nut", "the", "Apple", "pearl", "x"];

/// The most different words of the query in so many words one after the other.
fn most(text: &[&str], wanted: &[&str], len: usize) -> usize {
    let hits = |piece: &[&str]| -> usize {
        let found = piece.iter().map(|word| word.to_lowercase());
        found.filter(|word| wanted.contains(&word.as_str())).collect::<BTreeSet<_>>().len()
    };
    text.windows(len.min(text.len())).map(hits).max().unwrap_or(0)
}

#[test]
fn the_piece_with_the_most_words_is_shown_and_every_hit_is_marked() {
    let opened = open();
    let mut c = root(&opened.db);
    run(
        &mut c,
        "create database d; use d; create table t (id int primary key, a text, fulltext (a)) charset utf8mb4",
    );
    let mut rng = Rng::new(7);
    for id in 0..60 {
        let text: Vec<&str> = (0..1 + rng.below(30)).map(|_| WORDS[rng.below(9) as usize]).collect();
        let wanted = ["apple", "fig"];
        let len = 1 + rng.below(8) as usize;
        run(&mut c, &format!("insert into t values ({id}, '{}')", text.join(" ")));
        let shown = run(
            &mut c,
            &format!("select fts_snippet(a, '+fig apple -pear the', '[', ']', {len}) from t where id = {id}"),
        );
        let piece: Vec<&str> = shown.split(' ').filter(|word| !word.is_empty() && *word != "...").collect();
        let bare: Vec<&str> = piece.iter().map(|word| word.trim_matches(['[', ']'])).collect();
        assert!(piece.len() <= len, "{shown}");
        assert!(text.windows(bare.len()).any(|words| words == bare), "{shown} is of {text:?}");
        for word in &piece {
            let is_wanted = wanted.contains(&word.trim_matches(['[', ']']).to_lowercase().as_str());
            assert_eq!(word.starts_with('['), is_wanted, "{word} in {shown}");
        }
        let found: BTreeSet<String> =
            piece.iter().filter(|word| word.starts_with('[')).map(|word| word.to_lowercase()).collect();
        assert_eq!(found.len(), most(&text, &wanted, len), "{shown} is the best of {text:?}");
    }
}

#[test]
fn arguments() {
    let opened = open();
    let mut c = root(&opened.db);
    let shown = [
        ("'one two three'", "'two'", "", "one <b>two</b> three"),
        ("'one two three'", "'tw*'", ", '', ''", "one two three"),
        ("'one two three'", "'\"two three\"'", ", '<', '>', 2", " ... <two> <three>"),
        ("'one two three'", "'+(two'", ", '<', '>', 1", " ... <two> ... "),
        ("null", "'two'", "", "NULL"),
        ("'one'", "null", "", "NULL"),
        ("'one'", "'one'", ", null, 'x'", "NULL"),
        ("'one'", "'one'", ", '', '', null", "NULL"),
        ("''", "'one'", "", ""),
    ];
    for (text, query, more, wanted) in shown {
        assert_eq!(
            run(&mut c, &format!("select fts_snippet({text}, {query}{more})")),
            wanted,
            "{text} {query}{more}"
        );
    }
    for (arguments, error) in [("'a'", "1582"), ("'a', 'b', 'c'", "1582"), ("_utf16'a', 'b'", "1235")] {
        let refused = run(&mut c, &format!("select fts_snippet({arguments})"));
        assert!(refused.contains(error), "{arguments}: {refused}");
    }
}

/// Of a column words are those of its index: sequences, stems, stopwords of its own.
#[test]
fn words_are_those_of_the_index() {
    let opened = open();
    let mut c = root(&opened.db);
    let made = "create database d default charset utf8mb4; use d;
        create table stop (value varchar(20)); insert into stop values ('boats'); set innodb_ft_user_stopword_table = 'd/stop';
        create table t (id int primary key, a varchar(200), b text, fulltext g (a) with parser ngram,
            fulltext s (a) with parser stem_english, fulltext w (a), fulltext w2 (b));
        insert into t values (1, '学习开发数据库应用 MySQL数据', 'the boats'), (2, 'he runs boats, running', '')";
    assert_eq!(run(&mut c, made), "");
    for (select, shown) in [
        // Two letters are a word of `ngram`, three of InnoDB's.
        (
            "fts_snippet(a, '数据') from t",
            "学习开发<b>数据</b>库应用 MySQL<b>数据</b>\nhe runs boats, running",
        ),
        (
            "fts_snippet(a, '数据库', '[', ']') from t use index (g)",
            "学习开发[数据库]应用 MySQL数据\nhe runs boats, running",
        ),
        ("fts_snippet(a, '库应', '[', ']', 3) from t where id = 1", " ... 据[库应]用 ... "),
        ("fts_snippet(a, 'run') from t use index (s) where id = 2", "he <b>runs</b> boats, <b>running</b>"),
        ("fts_snippet(a, 'runs') from t ignore index (g, s) where id = 2", "he <b>runs</b> boats, running"),
        ("fts_snippet(a, '数据') from t use index (w) where id = 1", "学习开发数据库应用 MySQL数据"),
        ("fts_snippet(b, 'the boats') from t where id = 1", "<b>the</b> boats"),
        ("fts_snippet(concat(b, ''), 'the boats') from t where id = 1", "the <b>boats</b>"),
        (
            "fts_snippet(x.a, y.q) from t x join (select '数据' q) y where x.id = 1",
            "学习开发<b>数据</b>库应用 MySQL<b>数据</b>",
        ),
        ("(select fts_snippet(t.a, '开发')) from t where id = 1", "学习<b>开发</b>数据库应用 MySQL数据"),
        ("max(fts_snippet(a, '应用')) from t", "学习开发数据库<b>应用</b> MySQL数据"),
    ] {
        assert_eq!(run(&mut c, &format!("select {select}")), shown, "{select}");
    }
    run(
        &mut c,
        "create view v as select id, a from t; prepare p from 'select fts_snippet(a, ?) from v where id = 1'",
    );
    for (query, shown) in
        [("数据", "学习开发<b>数据</b>库应用 MySQL<b>数据</b>"), ("用", "学习开发数据库应用 MySQL数据")]
    {
        assert_eq!(run(&mut c, &format!("set @q = '{query}'; execute p using @q")), shown);
    }
    // Without that index it is the next one.
    run(&mut c, "alter table t drop index g");
    assert_eq!(run(&mut c, "set @q = 'running'; execute p using @q"), "学习开发数据库应用 MySQL数据");
    assert_eq!(
        run(&mut c, "select fts_snippet(a, 'run') from v where id = 2"),
        "he <b>runs</b> boats, <b>running</b>"
    );
}
