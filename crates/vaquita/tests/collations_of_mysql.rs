//! Every collation of a real MySQL 5.6.24: names and numbers, random texts in the same order and with the same weights,
//! and tables in its own folder that both write, which its CHECK TABLE EXTENDED finds sound.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::vaquita;
use std::fmt::Write as _;
use vaquita_base::Rng;
use vaquita_format::charset::Charset;
use vaquita_format::collation::{self, Collation};
use vaquita_peers::{Mysql56, Options, Server};

/// Letters that collations treat in different ways; where a character set does not have one, it is left out.
const LETTERS: &str = "aAáàâäÄåÅæÆbcCčČçdDđdžeEéêhHiIıİjJlLłnNñÑoOóôöÖøőrRřsSšßtTuUüÜvVyYÿzZžŽ019 -[]\\_%.\
    αΑжЖيکคกเ็่අක一中文あアｱ가한①Ａａ";

/// A text in a character set.
fn random_text(charset: Charset, rng: &mut Rng) -> Vec<u8> {
    let letters: Vec<char> = LETTERS.chars().collect();
    let mut text = Vec::new();
    for _ in 0..=rng.below(4) {
        let letter = letters[rng.below(letters.len() as u64) as usize];
        charset.push(letter.into(), &mut text);
    }
    text
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02X}");
        out
    })
}

fn literal(charset: Charset, text: &[u8]) -> String {
    format!("convert(x'{}' using {})", hex(text), charset.name)
}

/// What the server lists: collation, character set, number, default, length factor.
fn names_are_the_server_s(server: &Server) -> Vec<u16> {
    let listed = server
        .rows("select id, collation_name, character_set_name, is_default, sortlen from information_schema.collations order by id")
        .unwrap();
    let ours: Vec<Vec<String>> = collation::list::collations()
        .filter(|c| c.id != 255)
        .map(|c| {
            let default = if c.is_default { "Yes" } else { "" };
            [&c.id.to_string(), c.name, c.charset, default, &c.sort_len.to_string()]
                .map(str::to_owned)
                .to_vec()
        })
        .collect();
    assert_eq!(ours, listed);
    listed.iter().map(|row| row[0].parse().unwrap()).collect()
}

/// STRCMP(), LIKE and WEIGHT_STRING() of random texts. (Weights of the 8-bit collations from the table of orders are
/// ranks, those of UTF-16 surrogates none.)
fn texts_compare_alike(server: &Server, ids: &[u16], rng: &mut Rng) {
    let weighs = |id: u16| matches!(id, 1 | 2 | 12 | 18 | 19 | 24 | 28 | 31 | 34 | 95 | 97 | 101..=247);
    for &id in ids {
        let collation = Collation::of(id).unwrap();
        let (charset, name) = (collation.charset(), collation.name());
        let pairs: Vec<_> = (0..30).map(|_| [random_text(charset, rng), random_text(charset, rng)]).collect();
        let selects: Vec<String> = pairs
            .iter()
            .enumerate()
            .map(|(i, [a, b])| {
                let (a, b) = (literal(charset, a), literal(charset, b));
                format!(
                    "select {i} i, strcmp({a} collate {name}, {b} collate {name}), {a} like {b} collate {name}, \
                     hex(weight_string({a} collate {name}))"
                )
            })
            .collect();
        let answers = server.rows(&(selects.join(" union all ") + " order by i")).unwrap();
        assert_eq!(answers.len(), pairs.len());
        for ([a, b], answer) in pairs.iter().zip(&answers) {
            let told = || format!("{name}: {} {}", hex(a), hex(b));
            assert_eq!((collation.compare(a, b) as i32).to_string(), answer[1], "{}", told());
            let like = collation.like(a, b, Some(u32::from(b'\\')));
            assert_eq!(i32::from(like).to_string(), answer[2], "LIKE {}", told());
            let mut weights = Vec::new();
            collation.weight_string(a, &mut weights);
            if weighs(id) && !a.is_empty() {
                assert_eq!(hex(&weights), answer[3], "weights {}", told());
            }
        }
    }
}

/// Tables with an index on a text of each collation: rows of the server, more of ours, more of the server.
fn both_write_tables(mut server: Server, ids: &[u16], rng: &mut Rng) {
    let texts: Vec<_> = ids
        .iter()
        .filter(|&&id| id != 63)
        .map(|&id| {
            let charset = Charset::of_collation(id).unwrap();
            (id, charset, (0..24).map(|_| random_text(charset, rng)).collect::<Vec<_>>())
        })
        .collect();
    let insert = |third: usize| {
        texts.iter().fold(String::new(), |mut sql, (id, charset, texts)| {
            let rows = texts.iter().enumerate().skip(third * 8).take(8);
            let rows: Vec<_> = rows.map(|(i, t)| format!("({i}, {})", literal(*charset, t))).collect();
            let _ = writeln!(sql, "insert into orders.t{id} values {};", rows.join(", "));
            sql
        })
    };
    let mut create = "create database orders;".to_owned();
    for (id, charset, _) in &texts {
        let name = collation::name(*id).unwrap();
        let _ = writeln!(
            create,
            "create table orders.t{id} (id int primary key, v varchar(10), key (v), key p (v(2))) engine=innodb \
             character set {} collate {name};",
            charset.name
        );
    }
    server.sql(&(create + &insert(0))).unwrap();
    server.shutdown_slow().unwrap();
    let dir = server.datadir().to_owned();
    let (code, _, err) = vaquita(&[&"sql", &dir, &"--execute", &insert(1)]);
    assert_eq!((code, &*err), (0, ""));
    server.start_again().unwrap();
    server.sql(&insert(2)).unwrap();
    let names: Vec<String> = texts.iter().map(|(id, ..)| format!("orders.t{id}")).collect();
    for row in server.rows(&format!("check table {} extended", names.join(", "))).unwrap() {
        assert_eq!((&*row[2], &*row[3]), ("status", "OK"), "{row:?}");
    }
    // By the index, both give the rows in the same order.
    let select = |id: u16| {
        format!("select '{id}', id from orders.t{id} force index (v) where v >= '' order by v, id;\n")
    };
    let selects: String = texts.iter().map(|&(id, ..)| select(id)).collect();
    let theirs = server.rows(&selects).unwrap();
    server.shutdown_slow().unwrap();
    let (code, out, err) =
        vaquita(&[&"sql", &dir, &"--batch", &"--skip-column-names", &"--execute", &selects]);
    assert_eq!((code, &*err), (0, ""));
    let ours: Vec<Vec<&str>> = out
        .lines()
        .map(|line| line.split('\t').collect())
        .filter(|row: &Vec<&str>| row.len() == 2 && row[1].parse::<i32>().is_ok())
        .collect();
    assert_eq!(ours, theirs);
}

#[test]
fn all_collations_of_the_server() {
    let seed = 5624;
    let mut rng = Rng::new(seed);
    let server = Mysql56::start(Options::new()).unwrap();
    let ids = names_are_the_server_s(&server);
    texts_compare_alike(&server, &ids, &mut rng);
    both_write_tables(server, &ids, &mut rng);
}
