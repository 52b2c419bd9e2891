//! Tables with FULLTEXT indexes that a MySQL 5.6.24 has made are changed here; then both are asked the same questions: the server
//! has to find what is found here, with the same ranks.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use vaquita_base::rng::Rng;
use vaquita_clients::Vaquita;
use vaquita_clients::wire::{Answer, Wire};
use vaquita_peers::{Mysql56, Options, Server};

const BINARY: &str = env!("CARGO_BIN_EXE_vaquita");

const TABLES: &str = "
    create database k; use k; set names utf8;
    create table art (id int primary key, title varchar(100), body text, n int, key (n),
                      fulltext key tb (title, body), fulltext key body (body)) charset utf8;
    create table own (FTS_DOC_ID bigint unsigned not null primary key, t text, n int, fulltext key t (t)) charset latin1;
    create table kid (id int primary key, art int, t varchar(200), key (art), fulltext key t (t),
                      foreign key (art) references art (id) on delete cascade on update cascade) charset utf8;
    insert into art values (1, 'apple pie', 'pear', 1), (2, 'pear', 'apple apple', 2), (3, 'fig', 'kiwi apple', 3),
      (4, null, null, 4), (5, 'grape', 'the fig apple pear', 5);
    insert into own values (1, 'apple', 1), (2, 'pear fig', 1), (3, 'été', 1), (7, 'kiwi', 1);
    insert into kid values (1, 1, 'apple kid'), (2, 1, 'pear kid'), (3, 2, 'fig kid');
    delete from art where id = 4;";

const WORDS: [&str; 24] = [
    "apple",
    "pear",
    "fig",
    "kiwi",
    "grape",
    "plum",
    "cherry",
    "the",
    "of",
    "lemon",
    "lime",
    "melon",
    "peach",
    "date",
    "apricot",
    "applesauce",
    "figs",
    "Élan",
    "elan",
    "x1",
    "zz",
    "banana",
    "berry",
    "quince",
];

fn words(rng: &mut Rng, max: u64) -> String {
    let count = 1 + rng.below(max);
    let word =
        |rng: &mut Rng| WORDS[(rng.below(WORDS.len() as u64).min(rng.below(WORDS.len() as u64))) as usize];
    (0..count).map(|_| word(rng)).collect::<Vec<_>>().join(" ")
}

/// Changes of a transaction or outside of one, which fail in part.
fn changes(rng: &mut Rng, count: usize, next_own: &mut u64) -> String {
    let mut sql = String::from("use k; set names utf8;\n");
    for _ in 0..count {
        let (id, text) = (rng.below(300), words(rng, 12));
        let title = words(rng, 3);
        match rng.below(20) {
            0..=5 => writeln!(sql, "insert ignore into art values ({id}, '{title}', '{text}', {id} % 7);"),
            6 => writeln!(sql, "replace into art values ({id}, null, '{text}', 3);"),
            7 => writeln!(sql, "insert into art values ({id}, '{title}', '', 1) on duplicate key update body = '{text}';"),
            8 => writeln!(sql, "update art set body = '{text}' where id between {id} and {id} + 3;"),
            9 => writeln!(sql, "update art set n = n + 1, title = title where id > {id};"),
            10 => writeln!(sql, "delete from art where id = {id};"),
            11 => writeln!(sql, "update ignore art set id = id + 1000 where id = {id};"),
            12 => writeln!(sql, "insert ignore into kid select {id}, id, '{text}' from art where id > {id} limit 1;"),
            13 => writeln!(sql, "update kid join art on kid.art = art.id set kid.t = '{text}', art.title = '{title}' where art.id = {id};"),
            14 => writeln!(sql, "delete kid, art from kid join art on kid.art = art.id where kid.id = {id};"),
            15 | 16 => {
                *next_own += 1 + rng.below(9);
                writeln!(sql, "insert into own values ({next_own}, '{text}', 1);")
            }
            17 => {
                *next_own += 1;
                writeln!(sql, "update own set t = '{text}', FTS_DOC_ID = {next_own} where n = 1 order by FTS_DOC_ID limit 1;")
            }
            18 => writeln!(sql, "update own set n = n + 1 where t like '%apple%'; delete from own where n > 4 limit 1;"),
            _ => transaction(rng, &mut sql),
        }
        .unwrap();
    }
    sql
}

/// One with savepoints, which ends one way or the other.
fn transaction(rng: &mut Rng, sql: &mut String) -> std::fmt::Result {
    writeln!(sql, "begin;")?;
    for step in 0..rng.below(5) {
        let (id, text) = (rng.below(300), words(rng, 6));
        writeln!(sql, "replace into art values ({id}, '{text}', '{text}', {step});")?;
        match rng.below(4) {
            0 => writeln!(sql, "savepoint s; delete from art where id = {id};")?,
            1 => writeln!(
                sql,
                "savepoint s; update art set body = 'melon {text}' where id < {id}; rollback to s;"
            )?,
            2 => writeln!(
                sql,
                "delete from art where id = {id}; insert into art values ({id}, 'again', '{text}', 0);"
            )?,
            _ => {}
        }
    }
    writeln!(sql, "{};", if rng.below(3) == 0 { "rollback" } else { "commit" })
}

/// Searches of all modes.
fn queries(rng: &mut Rng, count: usize) -> Vec<String> {
    let indexes =
        [("art", "title, body", "id"), ("art", "body", "id"), ("own", "t", "n"), ("kid", "t", "id")];
    let query = |rng: &mut Rng| {
        let (table, columns, _) = indexes[rng.below(4) as usize];
        let id = if table == "own" { "FTS_DOC_ID" } else { "id" };
        let word = |rng: &mut Rng| WORDS[rng.below(WORDS.len() as u64) as usize].to_owned();
        let (text, mode) = match rng.below(4) {
            0 => (words(rng, 3), ""),
            1 => (word(rng), ""),
            2 => (format!("\"{} {}\"", word(rng), word(rng)), "in boolean mode"),
            _ => {
                let signs = ["", "+", "-", ">", "<", "~"];
                let part = |rng: &mut Rng| {
                    let star = if rng.below(5) == 0 { "*" } else { "" };
                    format!("{}{}{star}", signs[rng.below(6) as usize], word(rng))
                };
                ((0..1 + rng.below(3)).map(|_| part(rng)).collect::<Vec<_>>().join(" "), "in boolean mode")
            }
        };
        let matching = format!("match ({columns}) against ('{text}' {mode})");
        format!("select {id} as i, {matching} as r from k.{table} where {matching} order by 1;")
    };
    (0..count).map(|_| query(rng)).collect()
}

type Answers = Vec<BTreeMap<u64, f64>>;

/// All of them in one conversation.
fn script(queries: &[String]) -> String {
    let mut sql = String::from("set names utf8; analyze table k.art, k.own, k.kid;\n");
    for query in queries {
        writeln!(sql, "select 'q' as i, 0 as r; {query}").unwrap();
    }
    sql
}

fn answers(printed: &str) -> Answers {
    let mut answers = Vec::new();
    for line in printed.lines() {
        let Some((id, rank)) = line.split_once('\t') else { continue };
        match (id, id.parse(), rank.parse()) {
            ("q", ..) => answers.push(BTreeMap::new()),
            (_, Ok(id), Ok(rank)) => drop(answers.last_mut().unwrap().insert(id, rank)),
            _ => {}
        }
    }
    answers
}

/// The same documents, and ranks within half of a hundredth.
fn compare(queries: &[String], ours: &Answers, theirs: &Answers) {
    assert_eq!((ours.len(), theirs.len()), (queries.len(), queries.len()));
    let mut found = 0;
    let mut wrong = Vec::new();
    for ((query, ours), theirs) in queries.iter().zip(ours).zip(theirs) {
        let close = |a: f64, b: f64| (a - b).abs() <= 0.005 * a.abs().max(b.abs());
        let same =
            ours.keys().eq(theirs.keys()) && ours.values().zip(theirs.values()).all(|(a, b)| close(*a, *b));
        if !same {
            wrong.push(format!("{query}\nours {ours:?}\ntheirs {theirs:?}"));
        }
        found += theirs.len();
    }
    assert!(
        wrong.is_empty(),
        "{} of {} are other answers:\n{}",
        wrong.len(),
        queries.len(),
        wrong[..wrong.len().min(5)].join("\n")
    );
    assert!(found > queries.len(), "{found} documents");
}

fn ask_server(server: &Server, queries: &[String]) -> Answers {
    answers(&server.sql(&script(queries)).unwrap())
}

/// Duplicates are part of it: such statements change nothing, or the transaction goes on without them.
fn run(ours: &Vaquita, sql: &str) {
    let mut session = Wire::connect(ours.port(), "root").unwrap();
    for statement in sql.split(';').map(str::trim).filter(|statement| !statement.is_empty()) {
        let answer = session.query(statement).unwrap();
        assert!(matches!(answer.code(), 0 | 1062), "{statement}: {answer:?}");
    }
}

/// The last document of a table that is in the lists.
fn last_written(ours: &Vaquita) -> u64 {
    let last = "set global innodb_ft_aux_table = 'k/art'; select max(doc_id) from information_schema.innodb_ft_index_table";
    ours.sql(last).unwrap().trim().parse().unwrap()
}

#[test]
fn the_server_finds_what_was_written_here() {
    let mut theirs = Mysql56::start(Options::new()).unwrap();
    theirs.sql(TABLES).unwrap();
    let dir = theirs.datadir().to_owned();
    theirs.shutdown().unwrap();

    let mut rng = Rng::new(7);
    let mut next_own = 7;
    let mut options = vec!["--take-over", "--skip-grant-tables"];
    for round in 0..3 {
        // Words are written whenever there are some kilobytes of a table, or of all of them.
        match round {
            1 => options.push("--innodb_ft_total_cache_size=20000"),
            2 => options[2] = "--innodb_ft_cache_size=20000",
            _ => {}
        }
        let mut ours = Vaquita::start(Path::new(BINARY), &dir, &options).unwrap();
        let before = last_written(&ours);
        run(&ours, &changes(&mut rng, 400, &mut next_own));
        assert_eq!(last_written(&ours) > before, round > 0, "{options:?}");
        let queries = queries(&mut rng, 200);
        let found = answers(&ours.sql(&script(&queries)).unwrap());
        ours.stop().unwrap();

        theirs.start_again().unwrap();
        compare(&queries, &found, &ask_server(&theirs, &queries));
        theirs.sql("delete from k.art where id % 10 = 7; insert into k.art values (5000, 'server', 'apple of the server', 1);
                    delete from k.art where id = 5000").unwrap();
        theirs.shutdown().unwrap();
    }
}

/// What is in the lists of a table, as INNODB_FT_INDEX_TABLE and the others show it.
const LISTS: [&str; 4] = [
    "select * from information_schema.innodb_ft_index_table order by 1, 2, 3, 4, 5, 6",
    "select * from information_schema.innodb_ft_deleted order by 1",
    "select * from information_schema.innodb_ft_being_deleted order by 1",
    "select * from information_schema.innodb_ft_config order by 1",
];

fn lists(session: &mut Wire) -> Vec<Answer> {
    for name in ["k/nosuch", "nosuch", "k/art_plain"] {
        let answer = session.query(&format!("set global innodb_ft_aux_table = '{name}'")).unwrap();
        assert_eq!(answer.code(), 1231, "{answer:?}");
    }
    let mut shown = Vec::new();
    for name in ["k/art", "k/own"] {
        session.query(&format!("set global innodb_ft_aux_table = '{name}'")).unwrap();
        shown.extend(LISTS.iter().map(|query| session.query(query).unwrap()));
    }
    shown
}

/// Killed with words in memory only and a transaction that is open, it finds the same afterwards; so does the server, also when
/// deleted documents have been removed from the lists.
#[test]
fn a_crash_loses_nothing() {
    let mut theirs = Mysql56::start(Options::new()).unwrap();
    theirs.sql(TABLES).unwrap();
    let dir = theirs.datadir().to_owned();
    theirs.shutdown().unwrap();

    let mut rng = Rng::new(77);
    let mut next_own = 7;
    let options = ["--take-over", "--skip-grant-tables", "--innodb_ft_cache_size=40000"];
    let mut ours = Vaquita::start(Path::new(BINARY), &dir, &options).unwrap();
    run(&ours, &changes(&mut rng, 300, &mut next_own));
    let mut open = Wire::connect(ours.port(), "root").unwrap();
    for statement in ["begin", "insert into k.art values (7000, 'apple', 'apple', 1)"] {
        assert_eq!(open.query(statement).unwrap().code(), 0, "{statement}");
    }
    let queries = queries(&mut rng, 150);
    let found = answers(&ours.sql(&script(&queries)).unwrap());
    ours.kill();

    ours.start_again().unwrap();
    let again = answers(&ours.sql(&script(&queries)).unwrap());
    for ((query, before), after) in queries.iter().zip(&found).zip(&again) {
        assert!(before.keys().eq(after.keys()), "{query}: {before:?}, then {after:?}");
    }
    let checked = ours.sql("check table k.art, k.own, k.kid").unwrap();
    assert_eq!(checked.matches("status\tOK").count(), 3, "{checked}");
    ours.sql("set global innodb_optimize_fulltext_only = 1; optimize table k.art, k.own, k.kid").unwrap();
    let mut session = Wire::connect(ours.port(), "root").unwrap();
    let shown = lists(&mut session);
    assert!(matches!(&shown[1], Answer::Rows(rows) if rows.is_empty()), "all are removed: {:?}", shown[1]);
    assert!(matches!(&shown[0], Answer::Rows(rows) if rows.len() > 500));
    let optimized = answers(&ours.sql(&script(&queries)).unwrap());
    ours.stop().unwrap();

    theirs.start_again().unwrap();
    compare(&queries, &optimized, &ask_server(&theirs, &queries));
    assert_eq!(lists(&mut Wire::connect(theirs.port(), "root").unwrap()), shown);
    theirs.shutdown().unwrap();
}

/// The user's own numbers are taken and refused as by the server.
#[test]
fn numbers_of_the_users_own() {
    const STATEMENTS: &str = "insert into b values (10001, 'x'); insert into b values (0, 'x');
        insert into b values (10000, 'first'); insert into b values (10000, 'again'); insert into b values (20001, 'far');
        insert into b values (20000, 'far'); insert into b values (20001, 'a'), (20001, 'dup');
        insert into b values (20001, 'a'), (20002, 'bbb'), (20001, 'xx');
        begin; insert into b values (20010, 'x'); rollback; insert into b values (20005, 'a'); insert into b values (20010, 'a');
        insert ignore into b values (20001, 'ign'); replace into b values (20010, 'repl');
        insert into b values (20010, 'x') on duplicate key update t = 'yyy'; insert into b values (20011, 'x');
        update b set FTS_DOC_ID = 20011, t = 'same id' where FTS_DOC_ID = 20011;
        update b set t = 'x' where FTS_DOC_ID = 20011; update b set t = 'y' where FTS_DOC_ID = 20011;
        update b set FTS_DOC_ID = FTS_DOC_ID + 1 where FTS_DOC_ID = 20011; update b set FTS_DOC_ID = FTS_DOC_ID + 1;
        update b set FTS_DOC_ID = FTS_DOC_ID + 100 order by FTS_DOC_ID; update b set n = 5;
        update b set FTS_DOC_ID = 40000 where FTS_DOC_ID = 10000; select FTS_DOC_ID, t from b;
        delete from b where FTS_DOC_ID > 10000; insert into b values (20100, 'a'); select FTS_DOC_ID, t from b";
    let mut theirs = Mysql56::start(Options::new()).unwrap();
    let table = "(FTS_DOC_ID bigint unsigned not null primary key, t text, fulltext key ft (t)) charset utf8";
    theirs
        .sql(&format!(
            "create database k; create table k.b {table}; create database l; create table l.b {table}"
        ))
        .unwrap();
    let ask = |session: &mut Wire, database: &str| -> Vec<Answer> {
        session.query(&format!("use {database}")).unwrap();
        STATEMENTS.split(';').map(|statement| session.query(statement.trim()).unwrap()).collect()
    };
    let expected = ask(&mut Wire::connect(theirs.port(), "root").unwrap(), "k");
    let dir = theirs.datadir().to_owned();
    theirs.shutdown().unwrap();
    let mut ours = Vaquita::start(Path::new(BINARY), &dir, &["--take-over", "--skip-grant-tables"]).unwrap();
    let found = ask(&mut Wire::connect(ours.port(), "root").unwrap(), "l");
    for ((statement, found), expected) in STATEMENTS.split(';').zip(&found).zip(&expected) {
        let found = format!("{found:?}").replace("'l.", "'k.");
        assert_eq!(found, format!("{expected:?}"), "{statement}");
    }
    ours.stop().unwrap();
}

/// Writers and searchers at the same time: whatever a searcher is shown has the word, and in the end every row is found.
#[test]
fn writers_and_searchers() {
    let mut theirs = Mysql56::start(Options::new()).unwrap();
    theirs.sql("create database k; create table k.c (id int primary key, t text, fulltext key t (t)) charset utf8").unwrap();
    let dir = theirs.datadir().to_owned();
    theirs.shutdown().unwrap();
    let options = ["--take-over", "--skip-grant-tables", "--innodb_ft_cache_size=30000"];
    let mut ours = Vaquita::start(Path::new(BINARY), &dir, &options).unwrap();
    let port = ours.port();
    std::thread::scope(|scope| {
        for writer in 0..3u64 {
            scope.spawn(move || {
                let mut rng = Rng::new(writer);
                let mut session = Wire::connect(port, "root").unwrap();
                for at in 0..400u64 {
                    let (id, text) = (writer * 1000 + rng.below(60), words(&mut rng, 8));
                    let statement = match (at % 20, rng.below(4)) {
                        (0, _) => "begin".to_owned(),
                        (10, _) => if rng.below(2) == 0 { "rollback" } else { "commit" }.to_owned(),
                        (_, 0) => format!("delete from k.c where id = {id}"),
                        (_, 1) => format!("update k.c set t = '{text}' where id = {id}"),
                        _ => format!("replace into k.c values ({id}, '{text}')"),
                    };
                    let answer = session.query(&statement).unwrap();
                    assert_eq!(answer.code(), 0, "{statement}: {answer:?}");
                }
                session.query("commit").unwrap();
            });
        }
        for searcher in 0..2u64 {
            scope.spawn(move || {
                let mut rng = Rng::new(100 + searcher);
                let mut session = Wire::connect(port, "root").unwrap();
                for at in 0..150 {
                    let word = WORDS[rng.below(7) as usize];
                    let wrong = format!(
                        "select count(*) from k.c where match (t) against ('{word}') and concat(' ', t, ' ') not like '% {word} %'"
                    );
                    assert_eq!(session.query(&wrong).unwrap().value().as_deref(), Some("0"), "{word}");
                    if searcher == 0 && at % 50 == 49 {
                        session.query("set global innodb_optimize_fulltext_only = 1").unwrap();
                        session.query("optimize table k.c").unwrap();
                    }
                }
            });
        }
    });
    let mut session = Wire::connect(port, "root").unwrap();
    for word in
        WORDS.iter().filter(|word| word.len() > 2 && word.is_ascii() && **word != "the" && **word != "elan")
    {
        let found =
            format!("select group_concat(id order by id) from k.c where match (t) against ('{word}')");
        let has = format!(
            "select group_concat(id order by id) from k.c where concat(' ', t, ' ') like '% {word} %'"
        );
        assert_eq!(session.query(&found).unwrap(), session.query(&has).unwrap(), "{word}");
    }
    assert!(ours.sql("check table k.c").unwrap().contains("status\tOK"));
    drop(session);
    ours.stop().unwrap();
}

/// OPTIMIZE TABLE looks at so many words, and goes on with the next ones when it is called again, also after a restart.
#[test]
fn optimize_goes_on_where_it_stopped() {
    let mut theirs = Mysql56::start(Options::new()).unwrap();
    theirs.sql("create database k; create table k.c (id int primary key, t text, fulltext key t (t)) charset utf8").unwrap();
    let dir = theirs.datadir().to_owned();
    theirs.shutdown().unwrap();
    let mut ours = Vaquita::start(Path::new(BINARY), &dir, &["--take-over", "--skip-grant-tables"]).unwrap();
    let words: Vec<String> = (0..2_500).map(|n| format!("word{n}")).collect();
    ours.sql(&format!(
        "insert into k.c values (1, '{}'), (2, 'word1 word2499'), (3, 'word7'); delete from k.c where id in (1, 3)",
        words.join(" ")
    ))
    .unwrap();
    let optimize = "set global innodb_optimize_fulltext_only = 1; set global innodb_ft_num_word_optimize = 1000; \
                    optimize table k.c; set global innodb_ft_aux_table = 'k/c'; \
                    select count(*) from information_schema.innodb_ft_deleted; \
                    select count(*) from information_schema.innodb_ft_being_deleted; \
                    select count(*) from information_schema.innodb_ft_index_table";
    let counts = |ours: &Vaquita| -> Vec<u64> {
        let printed = ours.sql(optimize).unwrap();
        assert!(printed.starts_with("k.c\toptimize\tstatus\tOK\n"), "{printed}");
        printed.lines().filter_map(|line| line.parse().ok()).collect()
    };
    let first = counts(&ours);
    assert_eq!(first[..2], [0, 2], "they are being removed");
    assert!((1_500..1_505).contains(&first[2]), "{first:?}");
    ours.sql("delete from k.c where id = 2").unwrap();
    ours.kill();
    ours.start_again().unwrap();
    let second = counts(&ours);
    assert_eq!(second[..2], [1, 2]);
    assert!((500..505).contains(&second[2]), "{second:?}");
    assert_eq!(counts(&ours), [1, 0, 2], "word1 and word2499 of the row that went meanwhile");
    assert_eq!(counts(&ours), [0, 0, 0]);
    let checked = ours.sql("check table k.c").unwrap();
    assert!(checked.contains("status\tOK"), "{checked}");
    ours.stop().unwrap();
}

/// Rows of LOAD DATA are found, and those of a prepared transaction once it is committed, also when a kill and a restart lie between,
/// and others have committed and written words meanwhile.
#[test]
fn loaded_files_and_prepared_transactions() {
    let mut theirs = Mysql56::start(Options::new()).unwrap();
    theirs
        .sql(
            "create database k; create table k.c (id int primary key, t text, fulltext key t (t)) charset utf8;
             insert into k.c values (1, 'old'), (2, 'old words')",
        )
        .unwrap();
    let dir = theirs.datadir().to_owned();
    theirs.shutdown().unwrap();
    let options = ["--take-over", "--skip-grant-tables"];
    let mut ours = Vaquita::start(Path::new(BINARY), &dir, &options).unwrap();
    let file = std::env::temp_dir().join(format!("vq-loaded-{}", std::process::id()));
    let lines: String = (10..60).map(|id| format!("{id}\tloaded word{}\n", id % 2)).collect();
    std::fs::write(&file, lines).unwrap();
    let load = format!("load data local infile '{}' into table k.c", file.display());
    let mut client = ours.client("mariadb").unwrap();
    assert!(client.args(["--local-infile=1", "--execute", &load]).status().unwrap().success());
    std::fs::remove_file(&file).unwrap();

    let mut session = Wire::connect(ours.port(), "root").unwrap();
    for statement in [
        "xa start 'a'",
        "insert into k.c values (100, 'prepared loaded')",
        "delete from k.c where id = 2",
        "update k.c set t = 'new words' where id = 1",
        "xa end 'a'",
        "xa prepare 'a'",
    ] {
        assert_eq!(session.query(statement).unwrap().code(), 0, "{statement}");
    }
    drop(session);
    let found = |ours: &Vaquita, word: &str| {
        let query = format!("select count(*), min(id) from k.c where match (t) against ('{word}')");
        ours.sql(&query).unwrap().trim().replace('\t', " ")
    };
    ours.sql("insert into k.c values (101, 'late loaded'); set global innodb_optimize_fulltext_only = 1; optimize table k.c").unwrap();
    for round in 0..2 {
        assert_eq!(found(&ours, "loaded"), "51 10", "round {round}");
        assert_eq!(found(&ours, "word1"), "25 11");
        assert_eq!(found(&ours, "old"), "2 1");
        assert_eq!(found(&ours, "prepared"), "0 NULL");
        if round == 0 {
            ours.kill();
            ours.start_again().unwrap();
        }
    }
    ours.sql("xa commit 'a'").unwrap();
    assert_eq!(found(&ours, "loaded"), "52 10");
    assert_eq!(found(&ours, "prepared"), "1 100");
    assert_eq!(found(&ours, "old"), "0 NULL");
    assert_eq!(found(&ours, "new"), "1 1");
    let checked = ours.sql("check table k.c").unwrap();
    assert!(checked.contains("status\tOK"), "{checked}");
    ours.stop().unwrap();

    theirs.start_again().unwrap();
    for (word, count) in [("loaded", 52), ("prepared", 1), ("old", 0), ("new", 1), ("late", 1)] {
        let query = format!("select id from k.c where match (t) against ('{word}')");
        assert_eq!(theirs.rows(&query).unwrap().len(), count, "{word}");
    }
    theirs.shutdown().unwrap();
}

/// A table that is made here, through changes of its definition with words in memory and in the lists: after each of them every word is
/// found in exactly the rows that have it.
#[test]
fn definitions_change_under_the_words() {
    let dir = vaquita_peers::scratch_dir("vq-words").unwrap();
    let options = ["--skip-grant-tables", "--innodb_ft_cache_size=8000"];
    let mut ours = Vaquita::start(Path::new(BINARY), &dir.join("data"), &options).unwrap();
    ours.sql("create database k; create table k.c (id int primary key, t text, u varchar(200), fulltext key t (t)) charset utf8").unwrap();
    let mut rng = Rng::new(3);
    let mut table = "c".to_owned();
    let mut columns = vec!["t"];
    let steps = [
        "select 1",
        "alter table k.c add fulltext key u (u)",
        "alter table k.c add column n int default 1, add key (n)",
        "rename table k.c to k.d",
        "optimize table k.d",
        "alter table k.d drop index u",
        "set global innodb_optimize_fulltext_only = 1; optimize table k.d",
        "alter table k.d force",
        "create fulltext index tu on k.d (u)",
        "alter table k.d modify t mediumtext",
        "truncate table k.d",
        "alter table k.d drop index t",
        "alter table k.d add fulltext key again (t), drop index n",
        "rename table k.d to k.c",
    ];
    for step in steps {
        let mut session = Wire::connect(ours.port(), "root").unwrap();
        for _ in 0..60 {
            let (id, text, more) = (rng.below(80), words(&mut rng, 7), words(&mut rng, 3));
            let statement = match rng.below(5) {
                0 => format!("delete from k.{table} where id = {id}"),
                1 => format!("update k.{table} set t = '{text}' where id between {id} and {id} + 2"),
                2 => format!("update k.{table} set u = '{more}' where id = {id}"),
                _ => format!("replace into k.{table} (id, t, u) values ({id}, '{text}', '{more}')"),
            };
            let answer = session.query(&statement).unwrap();
            assert_eq!(answer.code(), 0, "{statement}: {answer:?}");
        }
        drop(session);
        ours.sql(step).unwrap_or_else(|e| panic!("{step}: {e:?}"));
        match step {
            _ if step.starts_with("rename") => table = step[step.len() - 1..].to_owned(),
            _ if step.contains("fulltext key again") => columns = vec!["t", "u"],
            _ if step.contains("drop index t") => columns = vec!["u"],
            _ if step.contains("drop index u") => columns = vec!["t"],
            _ if step.contains("fulltext key u") || step.contains("index tu") => columns = vec!["t", "u"],
            _ => {}
        }
        let mut session = Wire::connect(ours.port(), "root").unwrap();
        for column in &columns {
            for word in WORDS
                .iter()
                .filter(|word| word.len() > 2 && word.is_ascii() && !["the", "elan"].contains(word))
            {
                let ids = format!("select group_concat(id order by id) from k.{table} where");
                let found = session.query(&format!("{ids} match ({column}) against ('{word}')")).unwrap();
                let has =
                    session.query(&format!("{ids} concat(' ', {column}, ' ') like '% {word} %'")).unwrap();
                assert_eq!(found, has, "{word} in {column} after {step}");
            }
        }
        let checked = ours.sql(&format!("check table k.{table}")).unwrap();
        assert!(checked.contains("status\tOK"), "{step}: {checked}");
        drop(session);
        if rng.below(3) == 0 {
            ours.kill();
            ours.start_again().unwrap();
        }
    }
    ours.stop().unwrap();
    std::fs::remove_dir_all(dir).unwrap();
}
