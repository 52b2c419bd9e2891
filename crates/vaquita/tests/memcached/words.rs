//! A table with a FULLTEXT index behind the door: what clients store is found by MATCH, and what they take away is not.

use crate::memcached::Bed;

const TABLE: &str = "
create table test.words (c1 varchar(32) not null primary key, c2 varchar(1024), c3 int, c4 bigint unsigned, c5 int,
  fulltext k (c2));
insert into innodb_memcache.containers values ('words', 'test', 'words', 'c1', 'c2', 'c3', 'c4', 'c5', 'PRIMARY');
";

const WORDS: [&str; 9] = ["apple", "pear", "plum", "fig", "tree", "kiwi", "120", "125", "124"];

/// The keys that MATCH finds by each word, against those whose values have it.
fn check(bed: &Bed, what: &str) {
    for word in WORDS {
        let keys = |condition: &str| {
            bed.sql(&format!(
                "select ifnull(group_concat(c1 order by c1), '') from test.words where {condition}"
            ))
        };
        let found = keys(&format!("match (c2) against ('{word}')"));
        assert_eq!(found, keys(&format!("concat(' ', c2, ' ') like '% {word} %'")), "{what}: {word}");
    }
    let checked = bed.sql("check table test.words extended");
    assert!(checked.ends_with("OK\n"), "{what}: {checked}");
}

#[test]
fn what_clients_store_is_found() {
    let mut bed = Bed::new("words", &[]);
    bed.sql(TABLE);
    // Operations, their answers, and what is found then by one word.
    let steps: [(&str, &str, &str, &str); 14] = [
        ("set a 0 0 10\r\napple pear\r\n", "STORED", "apple", "a"),
        ("set b 0 0 5\r\napple\r\n", "STORED", "apple", "a,b"),
        ("add c 0 0 4\r\nplum\r\n", "STORED", "plum", "c"),
        ("add c 0 0 5\r\napple\r\n", "NOT_STORED", "apple", "a,b"),
        ("replace b 0 0 8\r\nfig tree\r\n", "STORED", "apple", "a"),
        ("replace x 0 0 8\r\nfig tree\r\n", "NOT_STORED", "tree", "b"),
        ("append b 0 0 5\r\n kiwi\r\n", "STORED", "kiwi", "b"),
        ("prepend c 0 0 5\r\nkiwi \r\n", "STORED", "kiwi", "b,c"),
        ("set n 0 0 3\r\n120\r\n", "STORED", "120", "n"),
        ("incr n 5\r\n", "125", "125", "n"),
        ("decr n 1\r\n", "124", "125", ""),
        ("set a 0 0 9\r\nplum pear\r\n", "STORED", "plum", "a,c"),
        ("delete c\r\n", "DELETED", "plum", "a"),
        ("delete c\r\n", "NOT_FOUND", "kiwi", "b"),
    ];
    let mut talk = bed.connect();
    assert_eq!(talk.ask("bind words\r\n", ""), "OK\r\n");
    for (operation, answer, word, keys) in steps {
        assert_eq!(talk.ask(operation, ""), format!("{answer}\r\n"), "{operation}");
        let found = bed.sql(&format!(
            "select ifnull(group_concat(c1 order by c1), '') from test.words where match (c2) against ('{word}')"
        ));
        assert_eq!(found, format!("{keys}\n"), "{operation}");
    }
    check(&bed, "as it went");
    drop(talk);
    bed.server.stop().expect("a clean end");
    bed.server.start_again().expect("it opens again");
    check(&bed, "after a restart");
    let mut talk = bed.connect();
    assert_eq!(talk.ask("bind words\r\n", ""), "OK\r\n");
    assert_eq!(talk.ask("set d 0 0 8\r\nfig pear\r\n", ""), "STORED\r\n");
    assert_eq!(talk.ask("delete b\r\n", ""), "DELETED\r\n");
    check(&bed, "gone on");
    bed.server.kill();
    bed.server.start_again().expect("it opens again");
    check(&bed, "after a crash");
    // Of SQL's rows as of the door's.
    bed.sql("optimize table test.words; update test.words set c2 = 'kiwi tree' where c1 = 'd'");
    check(&bed, "written anew");
}

/// A batch that is not committed is found by nobody; what ends the server commits it.
#[test]
fn a_batch_is_found_when_it_is_committed() {
    let mut bed = Bed::new("words-batch", &["--daemon-memcached-w-batch-size=1000"]);
    bed.sql(TABLE);
    let mut talk = bed.connect();
    assert_eq!(talk.ask("bind words\r\n", ""), "OK\r\n");
    for key in 0..30 {
        assert_eq!(talk.ask(&format!("set k{key} 0 0 5\r\napple\r\n"), ""), "STORED\r\n");
        if key % 3 == 0 {
            assert_eq!(talk.ask(&format!("delete k{key}\r\n"), ""), "DELETED\r\n");
        }
    }
    let count = "select count(*) from test.words where match (c2) against ('apple')";
    assert_eq!(bed.sql(count), "0\n");
    bed.server.stop().expect("a clean end");
    bed.server.start_again().expect("it opens again");
    assert_eq!(bed.sql(count), "20\n");
    check(&bed, "after the end");
}
