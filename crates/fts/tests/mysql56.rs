//! The same documents and queries, here and in a MySQL 5.6.24: same words, same places, same answers, same ranks.
#![expect(clippy::unwrap_used, reason = "a test")]

mod common;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::Stdio;

use common::{Memory, Queries, corpus, data, data_path, index, mode, paragraphs};
use vaquita_fts::search::Mode;
use vaquita_peers::{Mysql56, Options, Server};

/// As a string literal of SQL.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''").replace('\0', "\\0"))
}

struct Pair {
    server: Server,
    ours: Memory,
    texts: Vec<String>,
}

type Documents = Vec<(u64, Option<String>, String)>;

/// This project's pages as documents: some without a title, numbers with gaps.
fn pages() -> Documents {
    let document = |(at, (title, body)): (usize, (String, String))| {
        (at as u64 * 3 + 1, (at % 7 != 0).then_some(title), body)
    };
    paragraphs().into_iter().enumerate().map(document).collect()
}

/// Tables `test.late`, indexed when the rows were there, and `test.early`, whose words are in the cache.
fn pair(documents: &Documents) -> Pair {
    let server = Mysql56::start(
        Options::new()
            .set("innodb_ft_cache_size", 80_000_000)
            // Ranks go by its number of rows: all pages are looked at for it, however many there are.
            .set("innodb_stats_persistent_sample_pages", 10_000),
    )
    .unwrap();
    let mut sql = String::from("use test; set names utf8;\n");
    for (table, key) in [("late", ""), ("early", ", fulltext key (title, body)")] {
        sql += &format!(
            "create table {table} (FTS_DOC_ID bigint unsigned not null primary key, title varchar(300), body text{key}) \
             charset utf8;\n"
        );
    }
    for (doc, title, body) in documents {
        let title = title.as_ref().map_or("null".into(), |title| quoted(title));
        let values = format!("({doc}, {title}, {})", quoted(body));
        sql += &format!("insert into late values {values};\ninsert into early values {values};\n");
    }
    sql += "alter table late add fulltext key (title, body);\nanalyze table late, early;\n";
    server.sql(&sql).unwrap();
    let texts = documents.iter().map(|(.., body)| body.clone()).collect();
    Pair { server, ours: index(documents), texts }
}

type Places = BTreeMap<(String, u64), Vec<u32>>;

/// Words with their documents and places, as an information_schema table tells them: places after the first one of a document
/// as what is added to the one before.
fn server_places(server: &Server, table: &str, from: &str) -> Places {
    let sql = format!(
        "set names utf8; set global innodb_ft_aux_table = 'test/{table}'; \
         select word, doc_id, position from information_schema.{from};"
    );
    let mut places = Places::new();
    for row in server.rows(&sql).unwrap() {
        let [word, doc, position] = &row[..] else { panic!("{row:?}") };
        let list = places.entry((word.clone(), doc.parse().unwrap())).or_default();
        let before = list.last().copied().unwrap_or(0);
        list.push(before + position.parse::<u32>().unwrap());
    }
    places
}

fn our_places(ours: &Memory) -> Places {
    let mut places = Places::new();
    for word in ours.cache.lists() {
        for node in &word.nodes {
            node.validate().unwrap();
            let mut postings = node.postings();
            while let Some(posting) = postings.next().unwrap() {
                let text = String::from_utf8(word.text.to_vec()).unwrap();
                places.insert((text, posting.doc.0), posting.positions().unwrap());
            }
        }
    }
    places
}

/// The server's answers to queries: documents with ranks, or the words of an error.
fn server_answers(
    server: &Server,
    table: &str,
    queries: &[(Mode, String)],
) -> Vec<Result<Vec<(u64, f64)>, String>> {
    let mut sql = String::from("use test; set names utf8;\n");
    for (at, (mode, query)) in queries.iter().enumerate() {
        let mode = match mode {
            Mode::Natural => "",
            Mode::Expanded => " with query expansion",
            Mode::Boolean => " in boolean mode",
        };
        let condition = format!("match (title, body) against ({}{mode})", quoted(query));
        // One line each: an error tells its line.
        sql += &format!("select {at}, FTS_DOC_ID, {condition} from {table} where {condition};\n");
    }
    assert_eq!(sql.lines().count(), queries.len() + 1, "queries have no line feeds");
    let mut command = server.client("mariadb");
    command.args(["--batch", "--skip-column-names", "--force"]);
    let mut client =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = client.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(sql.as_bytes()).unwrap());
        client.wait_with_output().unwrap()
    });
    let mut answers: Vec<Result<Vec<_>, _>> = queries.iter().map(|_| Ok(Vec::new())).collect();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let row: Vec<_> = line.split('\t').collect();
        let answer = answers[row[0].parse::<usize>().unwrap()].as_mut().unwrap();
        answer.push((row[1].parse().unwrap(), row[2].parse().unwrap()));
    }
    // The client repeats the statement before the error.
    for line in String::from_utf8(output.stderr).unwrap().lines().filter(|line| line.starts_with("ERROR ")) {
        let (place, text) = line.split_once(": ").unwrap();
        assert!(place.starts_with("ERROR 1064 (42000) at line "), "{line}");
        let number: usize = place.rsplit(' ').next().unwrap().parse().unwrap();
        answers[number - 2] = Err(text.to_owned());
    }
    answers
}

#[test]
fn words_and_places_are_the_servers() {
    let Pair { server, ours, .. } = pair(&pages());
    let ours = our_places(&ours);
    assert!(ours.len() > 5_000, "{}", ours.len());
    for (table, from) in [("late", "innodb_ft_index_table"), ("early", "innodb_ft_index_cache")] {
        let theirs = server_places(&server, table, from);
        for (key, places) in &ours {
            assert_eq!(theirs.get(key), Some(places), "{key:?} in {from}");
        }
        assert_eq!(ours.len(), theirs.len(), "{from}");
    }
}

#[test]
fn answers_and_ranks_are_the_servers() {
    let Pair { server, ours, texts } = pair(&pages());
    let mut maker = Queries::new(11, texts);
    let mut queries = Vec::new();
    for at in 0..1800 {
        queries.push(match at % 9 {
            0 => (Mode::Natural, maker.natural()),
            6..9 => (Mode::Boolean, maker.phrase()),
            1 => (Mode::Expanded, maker.expanded()),
            _ => (Mode::Boolean, maker.boolean(at % 3)),
        });
    }
    let answers = server_answers(&server, "late", &queries);
    let (mut wrong, mut found, mut to_the_digit) = (Vec::new(), 0, 0);
    for ((mode, query), theirs) in queries.iter().zip(&answers) {
        let mut ours = ours.ask(*mode, query).map(|matches| {
            matches.iter().map(|found| (found.doc.0, f64::from(found.rank))).collect::<Vec<_>>()
        });
        let mut theirs = theirs.clone();
        // A rank of nothing is no match to who asks for matches.
        if let Ok(ours) = &mut ours {
            ours.retain(|(_, rank)| *rank != 0.0);
        }
        if let Ok(theirs) = &mut theirs {
            theirs.sort_by_key(|(doc, _)| *doc);
        }
        let same = match (&ours, &theirs) {
            (Ok(ours), Ok(theirs)) => {
                found += theirs.len();
                to_the_digit += ours.iter().zip(theirs).filter(|(a, b)| a == b).count();
                ours.len() == theirs.len()
                    && ours
                        .iter()
                        .zip(theirs)
                        .all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() <= b.1.abs() * 0.005 + 1e-6)
            }
            _ => ours == theirs,
        };
        if !same {
            let differ = match (&ours, &theirs) {
                (Ok(ours), Ok(theirs)) => {
                    let only = |a: &[(u64, f64)], b: &[(u64, f64)]| -> Vec<_> {
                        a.iter().filter(|a| !b.contains(a)).take(5).copied().collect()
                    };
                    format!("ours {:?}, theirs {:?}", only(ours, theirs), only(theirs, ours))
                }
                _ => format!("ours {ours:?}, theirs {theirs:?}"),
            };
            wrong.push(format!("{mode:?} {query}\n {differ}"));
        }
    }
    println!("{} queries, {found} matches, {to_the_digit} ranks equal to the digit", queries.len());
    for text in wrong.iter().take(12) {
        println!("{}", text.chars().take(900).collect::<String>());
    }
    assert_eq!(wrong.len(), 0, "of {}", queries.len());
    // Where the server adds up a query's words in another order the last digit may differ.
    assert!(found > 50_000 && to_the_digit * 1000 >= found * 999, "{to_the_digit} of {found}");
}

/// What `recorded.rs` takes for the server's words is what it says. With `VAQUITA_RECORD_FTS` set they are recorded anew.
#[test]
fn what_is_recorded_is_what_the_server_says() {
    let documents = corpus();
    let Pair { server, texts, .. } = pair(&documents);
    let syntax: Vec<_> =
        data("syntax.tsv").lines().map(|line| line.split_once('\t').unwrap().0.to_owned()).collect();
    let queries: Vec<_> = syntax.into_iter().map(|query| (Mode::Boolean, query)).collect();
    let answers = server_answers(&server, "late", &queries);
    let mut recorded = String::new();
    for ((_, query), answer) in queries.iter().zip(answers) {
        recorded += &format!("{query}\t{}\n", answer.err().unwrap_or_default());
    }
    compare("syntax.tsv", &recorded);

    let mut maker = Queries::new(23, texts);
    let queries: Vec<_> = (0..600)
        .map(|at| match at % 6 {
            0 => ("natural", maker.natural()),
            1 if at % 36 == 1 => ("expanded", maker.expanded()),
            _ => ("boolean", maker.boolean(at % 3)),
        })
        .collect();
    let asked: Vec<_> = queries.iter().map(|(name, query)| (mode(name), query.clone())).collect();
    let mut recorded = String::new();
    for ((mode, query), answer) in queries.iter().zip(server_answers(&server, "late", &asked)) {
        let mut answer = answer.unwrap();
        answer.sort_by_key(|(doc, _)| *doc);
        let shown: Vec<_> = answer.iter().map(|(doc, rank)| format!("{doc}:{}", *rank as f32)).collect();
        recorded += &format!("{mode}\t{query}\t{}\n", shown.join(" "));
    }
    compare("answers.tsv", &recorded);
}

fn compare(name: &str, recorded: &str) {
    if std::env::var_os("VAQUITA_RECORD_FTS").is_some() {
        std::fs::write(data_path(name), recorded).unwrap();
    }
    assert!(data(name) == recorded, "{name} is not what the server says: VAQUITA_RECORD_FTS=1 records it");
}
