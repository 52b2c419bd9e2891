//! The same documents and queries, here and in a MySQL 5.6.24: same words, same places, same answers, same ranks.
#![expect(clippy::unwrap_used, reason = "a test")]

use crate::common;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::Stdio;

use common::{
    Memory, ODD, Queries, corpus, data, data_path, index_in, mode, odd_documents, odd_queries, paragraphs,
};
use vaquita_fts::search::Mode;
use vaquita_peers::{Mysql56, Options, Server};

/// As a string literal of SQL.
fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('\'', "''").replace('\0', "\\0");
    format!("'{}'", text.replace('\n', "\\n").replace('\r', "\\r"))
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
    pair_in("utf8", 33, documents)
}

/// The same in another character set, whose default collation is given.
fn pair_in(charset: &str, collation: u16, documents: &Documents) -> Pair {
    let server = Mysql56::start(
        Options::new()
            .set("innodb_ft_cache_size", 80_000_000)
            // Ranks go by its number of rows: all pages are looked at for it, however many there are.
            .set("innodb_stats_persistent_sample_pages", 10_000),
    )
    .unwrap();
    let mut sql = String::from("use test; set names utf8mb4;\n");
    for (table, key) in [("late", ""), ("early", ", fulltext key (title, body)")] {
        sql += &format!(
            "create table {table} (FTS_DOC_ID bigint unsigned not null primary key, title varchar(300), body text{key}) \
             charset {charset};\n"
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
    Pair { server, ours: index_in(collation, documents), texts }
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
    let mut sql = String::from("use test; set names utf8mb4;\n");
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

/// Where answers differ.
#[derive(Default)]
struct Differences {
    /// Queries with what is said of them.
    wrong: Vec<String>,
    found: usize,
    to_the_digit: usize,
}

impl Differences {
    /// Compares ours with theirs; whether they are the same.
    fn look(
        &mut self,
        ours: &Memory,
        mode: Mode,
        query: &str,
        theirs: &Result<Vec<(u64, f64)>, String>,
    ) -> bool {
        let mut ours = ours.ask(mode, query).map(|matches| {
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
                self.found += theirs.len();
                self.to_the_digit += ours.iter().zip(theirs).filter(|(a, b)| a == b).count();
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
            self.wrong.push(format!("{mode:?} {query}\n {differ}"));
        }
        same
    }
}

/// A query that is answered otherwise, made shorter as long as it is.
fn shortened(server: &Server, ours: &Memory, mode: Mode, query: &str) -> String {
    let mut shortest = query.to_owned();
    loop {
        let chars: Vec<char> = shortest.chars().collect();
        let without =
            |from: usize, to: usize| -> String { chars[..from].iter().chain(&chars[to..]).collect() };
        let queries: Vec<_> = (1..=chars.len().min(12))
            .rev()
            .flat_map(|some| (0..=chars.len() - some).map(move |from| (from, from + some)))
            .map(|(from, to)| (mode, without(from, to)))
            .collect();
        let answers = server_answers(server, "late", &queries);
        let differs = queries
            .iter()
            .zip(&answers)
            .find(|((mode, query), theirs)| !Differences::default().look(ours, *mode, query, theirs));
        match differs {
            Some(((_, query), _)) => shortest.clone_from(query),
            None => return shortest,
        }
    }
}

/// Texts and queries with words of several scripts, emoji, marks and signs wherever they come: in few documents, where words often have none
/// in common, and in more. `VAQUITA_FTS_SEED` and `VAQUITA_FTS_QUERIES` ask for others and for more.
fn odd_queries_in(collation: &str, id: u16, documents: u64) {
    let number = |name: &str, default: u64| {
        std::env::var(name).map_or(default, |value| value.parse().expect("a number"))
    };
    let (seed, count) = (number("VAQUITA_FTS_SEED", 1), number("VAQUITA_FTS_QUERIES", 3000));
    let charset = format!("utf8mb4 collate {collation}");
    let Pair { server, ours, .. } = pair_in(&charset, id, &odd_documents(seed, documents));
    let queries = odd_queries(seed, count);
    let answers = server_answers(&server, "late", &queries);
    let (mut differences, mut shown) = (Differences::default(), BTreeMap::new());
    for ((mode, query), theirs) in queries.iter().zip(&answers) {
        if !differences.look(&ours, *mode, query, theirs) && shown.len() < 20 {
            let short = shortened(&server, &ours, *mode, query);
            let answer = &server_answers(&server, "late", &[(*mode, short.clone())])[0];
            let mut one = Differences::default();
            one.look(&ours, *mode, &short, answer);
            shown.entry(format!("{mode:?} {short:?}")).or_insert((query, one.wrong));
        }
    }
    for (short, (query, wrong)) in &shown {
        println!("{short}\n  of {query:?}\n  {}", wrong.join("").chars().take(600).collect::<String>());
    }
    let refused = answers.iter().filter(|answer| answer.is_err()).count();
    println!("{collation}: {count} queries, {refused} refused, {} matches", differences.found);
    assert_eq!(differences.wrong.len(), 0, "of {count}");
}

#[test]
fn odd_queries_are_answered_as_by_the_server() {
    odd_queries_in("utf8mb4_general_ci", 45, 250);
}

#[test]
fn odd_queries_of_few_documents_are_answered_as_by_the_server() {
    odd_queries_in("utf8mb4_bin", 46, 30);
}

#[test]
fn odd_queries_where_a_character_equals_several_are_answered_as_by_the_server() {
    odd_queries_in("utf8mb4_unicode_ci", 224, 120);
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
    let mut differences = Differences::default();
    for ((mode, query), theirs) in queries.iter().zip(&answers) {
        differences.look(&ours, *mode, query, theirs);
    }
    let Differences { wrong, found, to_the_digit } = differences;
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

/// The same of odd queries: what `recorded.rs` makes them of is the same.
#[test]
fn what_is_recorded_of_odd_queries_is_what_the_server_says() {
    let (documents, queries) = (odd_documents(ODD.0, ODD.1), odd_queries(ODD.0, ODD.2));
    let Pair { server, .. } = pair_in("utf8mb4", 45, &documents);
    let mut recorded = String::new();
    for answer in server_answers(&server, "late", &queries) {
        recorded += &match answer {
            Ok(mut found) => {
                found.sort_by_key(|(doc, _)| *doc);
                let shown: Vec<_> =
                    found.iter().map(|(doc, rank)| format!("{doc}:{}", *rank as f32)).collect();
                shown.join(" ")
            }
            Err(error) => error,
        };
        recorded.push('\n');
    }
    compare("odd.txt", &recorded);
}

fn compare(name: &str, recorded: &str) {
    if std::env::var_os("VAQUITA_RECORD_FTS").is_some() {
        std::fs::write(data_path(name), recorded).unwrap();
    }
    assert!(data(name) == recorded, "{name} is not what the server says: VAQUITA_RECORD_FTS=1 records it");
}
