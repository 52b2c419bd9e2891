//! The first search by BM25 reads the rows, to know how long documents are: it ends at the row at which its statement ends, whoever
//! waits for it meanwhile ends by himself, and the next one does it all the same.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::documents;

use documents::TABLE;
use std::sync::mpsc;
use vaquita_engine::fulltext::{FullTextReader, Mode, NamedRanking, Ranking};
use vaquita_engine::{Engine, Error};

const ROWS: i32 = 300;

/// Rows of one to seven words, all of which have `apple`, in lists.
fn filled() -> Engine {
    documents::filled((0..ROWS).map(|id| format!("apple{}", " pear".repeat(id as usize % 7))))
}

fn bm25() -> Ranking {
    "bm25".parse::<NamedRanking>().unwrap().of(&["a"]).unwrap()
}

/// The ranks of all documents, as bits; `go_on` says how long.
fn search(engine: &Engine, go_on: &mut dyn FnMut() -> bool) -> Result<Vec<(u64, u32)>, Error> {
    let table = engine.core().table(TABLE)?;
    let reader = FullTextReader::open(engine.core(), &table, &table.fulltext[0])?.asking(go_on);
    match reader.search(Mode::Natural, &bm25(), b"apple pear") {
        Ok(found) => Ok(found.iter().map(|found| (found.doc.0, found.rank.to_bits())).collect()),
        Err(vaquita_engine::fulltext::SearchError::Index(e)) => Err(e),
        Err(vaquita_engine::fulltext::SearchError::Syntax(e)) => panic!("{e}"),
    }
}

/// Says no when it is asked for the `last` time.
fn until(last: usize, asked: &mut usize) -> impl FnMut() -> bool + '_ {
    move || {
        *asked += 1;
        *asked < last
    }
}

#[test]
fn it_ends_wherever_the_statement_ends() {
    let wanted = search(&filled(), &mut || true).unwrap();
    assert_eq!(wanted.len(), ROWS as usize);
    let engine = filled();
    // Among the lists of the words, at the first rows, behind some that are known, at the last row.
    let mut ended = 0;
    for last in [1, 2, 3, 4, 100, 257, 290, 299] {
        let mut asked = 0;
        let answer = search(&engine, &mut until(last, &mut asked));
        assert!(matches!(answer, Err(Error::Interrupted)), "{last}: {answer:?}");
        assert_eq!(asked, last, "nothing is read when it was said to end");
        ended += 1;
    }
    assert_eq!(ended, 8);
    let mut asked = 0;
    assert_eq!(search(&engine, &mut until(usize::MAX, &mut asked)).unwrap(), wanted);
    assert!(asked >= ROWS as usize, "the rows were read: {asked}");
    // They are known now.
    let mut again = 0;
    assert_eq!(search(&engine, &mut until(usize::MAX, &mut again)).unwrap(), wanted);
    assert!(again < 20, "{again}");
}

#[test]
fn who_waits_for_another_ends_by_himself() {
    let wanted = search(&filled(), &mut || true).unwrap();
    for first_goes_on in [false, true] {
        let engine = filled();
        let (is_amid, amid) = mpsc::channel();
        let (go, gone) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            let engine = &engine;
            let first = scope.spawn(move || {
                let mut asked = 0;
                search(engine, &mut || {
                    asked += 1;
                    if asked == 100 {
                        is_amid.send(()).unwrap();
                        gone.recv().unwrap();
                        return first_goes_on;
                    }
                    true
                })
            });
            amid.recv().unwrap();
            // The first one has 98 rows and does not go on: this one waits, and is ended.
            let mut asked = 0;
            let second = search(engine, &mut until(10, &mut asked));
            assert!(matches!(second, Err(Error::Interrupted)), "{second:?}");
            // This one waits until it is ready, or does it itself.
            let third = scope.spawn(move || search(engine, &mut || true));
            go.send(()).unwrap();
            let first = first.join().unwrap();
            match first_goes_on {
                true => assert_eq!(first.unwrap(), wanted),
                false => assert!(matches!(first, Err(Error::Interrupted)), "{first:?}"),
            }
            assert_eq!(third.join().unwrap().unwrap(), wanted);
        });
    }
}
