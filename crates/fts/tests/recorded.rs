//! Answers of a MySQL 5.6.24 to queries, recorded: the same documents, the same ranks to the digit, the same words of errors.
//! `mysql56.rs` holds them against a server and records them.

use crate::common;

use common::{ODD, corpus, data, index, index_in, mode, odd_documents, odd_queries};
use vaquita_format::charset::Charset;
use vaquita_fts::query::parse_boolean;

#[test]
fn errors_have_the_servers_words() {
    let (mut refused, mut read) = (0, 0);
    for line in data("syntax.tsv").lines() {
        let (query, error) = line.split_once('\t').expect("two columns");
        let ours = parse_boolean(query.as_bytes(), Charset::UTF8MB4).err().map(|error| error.to_string());
        assert_eq!(ours.as_deref().unwrap_or_default(), error, "{query}");
        *(if error.is_empty() { &mut read } else { &mut refused }) += 1;
    }
    assert!(refused > 500 && read > 100, "{refused} {read}");
}

#[test]
fn answers_and_ranks() {
    let ours = index(&corpus());
    let mut found = 0;
    for line in data("answers.tsv").lines() {
        let [name, query, answer] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let answer: Vec<(u64, f32)> = answer
            .split(' ')
            .filter(|one| !one.is_empty())
            .map(|one| one.split_once(':').expect("a document and a rank"))
            .map(|(doc, rank)| (doc.parse().expect("a number"), rank.parse().expect("a number")))
            .collect();
        let ours: Vec<_> = ours
            .ask(mode(name), query)
            .expect("well-formed")
            .into_iter()
            // A rank of nothing is no match to a WHERE.
            .filter(|found| found.rank != 0.0)
            .map(|found| (found.doc.0, found.rank))
            .collect();
        assert_eq!(ours, answer, "{name} {query}");
        found += answer.len();
    }
    assert!(found > 3_000, "{found}");
}

#[test]
fn answers_to_odd_queries() {
    let ours = index_in(45, &odd_documents(ODD.0, ODD.1));
    let (answers, mut found, mut refused) = (data("odd.txt"), 0, 0);
    assert_eq!(answers.lines().count() as u64, ODD.2);
    for ((mode, query), answer) in odd_queries(ODD.0, ODD.2).iter().zip(answers.lines()) {
        let theirs: Result<Vec<(u64, f32)>, _> = match answer.starts_with("syntax") {
            true => Err(answer.to_owned()),
            false => Ok(answer
                .split(' ')
                .filter(|one| !one.is_empty())
                .map(|one| one.split_once(':').expect("a document and a rank"))
                .map(|(doc, rank)| (doc.parse().expect("a number"), rank.parse().expect("a number")))
                .collect()),
        };
        let ours = ours.ask(*mode, query).map(|matches| {
            let matches = matches.into_iter().filter(|found| found.rank != 0.0);
            matches.map(|found| (found.doc.0, found.rank)).collect::<Vec<_>>()
        });
        // Where words are added up in another order the last digit may differ.
        let near =
            |(a, b): (&(u64, f32), &(u64, f32))| a.0 == b.0 && (a.1 - b.1).abs() <= b.1.abs() * 1e-5 + 1e-6;
        let same = match (&ours, &theirs) {
            (Ok(ours), Ok(theirs)) => ours.len() == theirs.len() && ours.iter().zip(theirs).all(near),
            _ => ours == theirs,
        };
        assert!(same, "{mode:?} {query:?}: {ours:?}, not {theirs:?}");
        refused += usize::from(theirs.is_err());
        found += theirs.map_or(0, |theirs| theirs.len());
    }
    assert!(found > 2_000 && refused > 30, "{found} {refused}");
}
