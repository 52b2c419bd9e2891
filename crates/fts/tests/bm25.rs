//! Searches by BM25 beside a count of all texts that knows nothing of indexes: what is found is what InnoDB's ranks find, the ranks
//! are those of the formula, words counted as their columns weigh.

use crate::common;

use common::{Memory, utf8};
use proptest::collection::vec;
use proptest::prelude::*;
use vaquita_base::rng::Rng;
use vaquita_fts::ranking::{NamedRanking, Ranking};
use vaquita_fts::search::{Mode, best_first};

const WORDS: [&str; 8] = ["apple", "apples", "pear", "plum", "fig", "the", "of", "quince"];

/// Words of a text that are indexed: `the` is a stopword, `of` is both that and short.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(' ').filter(|word| !word.is_empty() && *word != "the" && *word != "of")
}

/// Whether a word is meant by a term: itself, or one that begins with it.
fn is_meant(term: &str, word: &str) -> bool {
    match term.strip_suffix('*') {
        Some(prefix) => word.starts_with(prefix),
        None => word == term,
    }
}

/// What the formula gives a document for terms, each counted once.
fn score(documents: &[Vec<String>], weights: &[f64], document: &[String], terms: &[&str]) -> f64 {
    let times = |document: &[String], term: &str| -> f64 {
        let texts = document.iter().zip(weights);
        texts
            .map(|(text, weight)| weight * words(text).filter(|word| is_meant(term, word)).count() as f64)
            .sum()
    };
    let has = |document: &[String], term: &str| {
        document.iter().any(|text| words(text).any(|word| is_meant(term, word)))
    };
    let length = |document: &[String]| -> f64 {
        document.iter().zip(weights).map(|(text, weight)| weight * words(text).count() as f64).sum()
    };
    let count = documents.len() as f64;
    let mean = documents.iter().map(|document| length(document)).sum::<f64>() / count;
    let mut sum = 0.0;
    for term in terms {
        let times = times(document, term);
        if times > 0.0 {
            let with = documents.iter().filter(|document| has(document, term)).count() as f64;
            let rarity = (1.0 + (count - with + 0.5) / (with + 0.5)).ln();
            sum += rarity * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * length(document) / mean));
        }
    }
    sum
}

fn texts() -> impl Strategy<Value = Vec<Vec<String>>> {
    let text = vec(prop::sample::select(&WORDS[..]), 0..9).prop_map(|words| words.join(" "));
    vec(vec(text, 2), 1..20)
}

fn index(documents: &[Vec<String>]) -> Memory {
    let columns =
        |document: &Vec<String>| document.iter().map(|text| Some(text.clone().into_bytes())).collect();
    Memory::new(utf8(), documents.iter().enumerate().map(|(doc, texts)| (doc as u64, columns(texts))))
}

fn ranking(weights: &[f64]) -> Ranking {
    let named = NamedRanking::Bm25(vec![("a".to_owned(), weights[0]), ("b".to_owned(), weights[1])]);
    named.of(&["a", "b"]).expect("both are there")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]
    #[test]
    fn ranks_are_those_of_the_formula(
        documents in texts(),
        weights in prop::sample::select(&[[1.0, 1.0], [3.0, 3.0], [4.0, 1.0], [0.25, 7.5], [0.0, 1.0]][..]),
        asked in vec((0usize..3, prop::sample::select(&["apple", "apple*", "pl*", "pear", "fig", "the"][..])), 1..5),
    ) {
        let memory = index(&documents);
        // Terms of every sign; a term counts once, however often it comes.
        let signs = ["", "+", "-"];
        let query: Vec<String> = asked.iter().map(|(sign, term)| format!("{}{term}", signs[*sign])).collect();
        let mut terms: Vec<&str> = asked.iter().filter(|(sign, _)| *sign < 2).map(|(_, term)| *term).collect();
        terms.sort_unstable();
        terms.dedup();
        let found = memory.ask_ranked(Mode::Boolean, &ranking(&weights), &query.join(" ")).expect("a query");
        let plain = memory.ask(Mode::Boolean, &query.join(" ")).expect("a query");
        prop_assert_eq!(found.iter().map(|found| found.doc).collect::<Vec<_>>(), plain.iter().map(|found| found.doc).collect::<Vec<_>>());
        for found in found {
            let wanted = score(&documents, &weights, &documents[found.doc.0 as usize], &terms);
            prop_assert!((f64::from(found.rank) - wanted).abs() < 1e-5 * wanted.max(1.0), "{query:?}: {found:?}, {wanted}");
        }
    }

    #[test]
    fn natural_language_has_the_same_ranks(documents in texts(), asked in vec(prop::sample::select(&WORDS[..]), 1..5)) {
        let memory = index(&documents);
        let mut terms: Vec<&str> = asked.iter().copied().filter(|term| !["the", "of"].contains(term)).collect();
        terms.sort_unstable();
        terms.dedup();
        let found = memory.ask_ranked(Mode::Natural, &ranking(&[2.0, 1.0]), &asked.join(" ")).expect("a query");
        let wanted: Vec<(u64, f64)> = documents
            .iter()
            .enumerate()
            .map(|(doc, texts)| (doc as u64, score(&documents, &[2.0, 1.0], texts, &terms)))
            .filter(|(_, score)| *score > 0.0)
            .collect();
        prop_assert_eq!(found.len(), wanted.len());
        for (found, (doc, score)) in found.iter().zip(wanted) {
            prop_assert_eq!(found.doc.0, doc);
            prop_assert!((f64::from(found.rank) - score).abs() < 1e-5, "{found:?}, {score}");
        }
    }
}

/// A corpus as texts are: few words that most documents have, many that few have; documents of very different lengths, some of them
/// deleted if it `deletes`.
fn corpus(rng: &mut Rng, documents: u64, deletes: bool) -> Memory {
    let mut text = |most: usize| {
        let mut text = String::new();
        for _ in 0..rng.index(most) {
            let below = 1 + rng.index(60);
            let below = 1 + rng.index(below);
            let rank = rng.index(below);
            text += &format!("word{rank} ");
        }
        text.into_bytes()
    };
    let documents = (0..documents).map(|doc| {
        let most = if doc % 7 == 0 { 200 } else { 20 };
        (doc * 3, vec![(doc % 5 != 0).then(|| text(6)), Some(text(most))])
    });
    let mut memory = Memory::new(utf8(), documents.collect::<Vec<_>>());
    if deletes {
        memory.documents.retain(|doc, _| doc.0 % 11 != 0);
    }
    memory
}

/// The best few are those of the full ranking, to the bit and in its order, documents of equal ranks by their numbers.
#[test]
fn the_best_few_are_those_of_all() {
    let mut rng = Rng::new(5);
    let (mut compared, mut equal) = (0, 0);
    let weights = [[1.0, 1.0], [3.0, 3.0], [4.0, 1.0], [0.25, 7.5], [0.0, 1.0], [1.0, 0.0]];
    let rankings: Vec<_> = weights.iter().map(|of| ranking(of)).chain([Ranking::Innodb]).collect();
    for (documents, queries) in [(1, 20), (30, 40), (400, 12), (2500, 2)] {
        let memories = [corpus(&mut rng, documents, true), corpus(&mut rng, documents, false)];
        for ranking in &rankings {
            for round in 0..queries {
                let memory = &memories[round % 2];
                let terms: Vec<_> = (0..1 + rng.index(5))
                    .map(|_| match rng.below(8) {
                        0 => format!("word{}*", rng.below(7)),
                        1 => "the".to_owned(),
                        2 => format!("word{},word{}", rng.below(60), rng.below(60)),
                        _ => {
                            let below = 1 + rng.index(60);
                            format!("word{}", rng.index(below))
                        }
                    })
                    .collect();
                let query = terms.join(" ");
                let mode = if query.contains('*') || rng.one_in(2) { Mode::Boolean } else { Mode::Natural };
                memory.keeps.set(false);
                let mut all = memory.ask_ranked(mode, ranking, &query).expect("a query");
                memory.keeps.set(true);
                assert_eq!(memory.ask_ranked(mode, ranking, &query).expect("a query"), all, "{query}");
                all.retain(|found| found.rank != 0.0);
                best_first(&mut all);
                for (n, keeps) in [0, 1, 2, 10, 70].into_iter().flat_map(|n| [(n, false), (n, true)]) {
                    memory.keeps.set(keeps);
                    let best = memory.ask_best(mode, ranking, &query, n).expect("words without signs");
                    assert_eq!(best, all[..all.len().min(n)], "{query} of {documents}, {ranking:?}");
                    compared += best.len();
                    equal += best.windows(2).filter(|two| two[0].rank == two[1].rank).count();
                }
            }
        }
    }
    assert!(compared > 4_000 && equal > 50, "{compared} {equal}");
    let memory = corpus(&mut rng, 20, false);
    for query in ["+word1", "-word1", "\"word1 word2\"", "(word1)", "word1 >word2", "~word1"] {
        assert_eq!(memory.ask_best(Mode::Boolean, &ranking(&[1.0, 1.0]), query, 3), None, "{query}");
    }
    assert_eq!(memory.ask_best(Mode::Expanded, &ranking(&[1.0, 1.0]), "word1", 3), None);
}

/// Signs that move ranks do so by one, as with InnoDB's.
#[test]
fn signs_add_and_take_one() {
    let memory =
        index(&[vec!["apple".to_owned(), "pear".to_owned()], vec!["plum".to_owned(), "fig".to_owned()]]);
    let rank = |query: &str| {
        memory.ask_ranked(Mode::Boolean, &ranking(&[1.0, 1.0]), query).expect("a query")[0].rank
    };
    let plain = rank("apple");
    assert!((rank(">apple") - plain - 1.0).abs() < 1e-6);
    assert!((rank("<apple") - plain + 1.0).abs() < 1e-6);
}
