use std::cmp::Ordering::{self, Equal, Greater, Less};

use vaquita_base::{Rng, checksum::crc32c};

use super::*;

mod recorded;
mod unicode;

/// Every collation id whose order is known.
fn known() -> Vec<u16> {
    (0..=300).filter(|&id| is_known(id)).collect()
}

#[test]
fn weights_are_those_of_a_real_server() {
    // CRC-32C of HEX(WEIGHT_STRING()) of MySQL 5.6.24 over all characters (BMP without surrogates; all bytes).
    let mut unicode = Vec::new();
    for c in (0..0xD800u32).chain(0xE000..0x1_0000) {
        vaquita_base::codec::push_u16(&mut unicode, general_weight(c));
    }
    assert_eq!(crc32c(&unicode), 0x9296_597F);
    assert_eq!(crc32c(&latin::LATIN1_SWEDISH_CI), 0xCAA7_CF40);
    assert_eq!(crc32c(&latin::LATIN1_GENERAL_CI), 0x9768_25FD);
    assert_eq!(crc32c(&latin::LATIN1_GENERAL_CS), 0xAD88_F979);
    assert_eq!(crc32c(&latin::LATIN1_GERMAN1_CI), 0x4AA5_9FAF);
    assert_eq!(crc32c(&latin::LATIN1_DANISH_CI), 0x1F39_E3E8);
    assert_eq!(crc32c(&latin::LATIN1_SPANISH_CI), 0x8181_8185);
    assert_eq!(general_weight(0x1_F600), 0xFFFD);
}

#[test]
fn answers_of_a_real_server() {
    // STRCMP(a COLLATE .., b COLLATE ..) of MySQL 5.6.24.
    let cases: &[(u16, &[u8], &[u8], Ordering)] = &[
        (13, b"\xA1", b"\x81\x40", Greater),
        (13, b"\xE0\x40", b"\xA1", Greater),
        (13, b"\xDF", b"\xE0\x40", Less),
        (13, b"z", b"\x81\x40", Less),
        (13, b"\x81\x40", b" ", Greater),
        (13, b"\x81\x40", b"\xA1 ", Less),
        (13, b"a", b"A ", Equal),
        (13, b"a\x01", b"A", Less),
        (13, b"\x88\x9F", b"\x88\xA0", Less),
        (13, b"\xC5", b"\x85\x83", Greater),
        (55, b"\xD8\x00\xDC\x00", b"\xE0\x00", Greater),
        (54, b"\xD8\x00\xDC\x00", b"\xE0\x00", Greater),
        (54, b"\xD8\x00\xDC\x00", b"\xFF\xFD", Equal),
        (54, b"\xD8\x00\xDC\x00", b"\xD8\x3D\xDE\x00", Equal),
        (60, b"\x00\x01\x00\x00", b"\x00\x00\xFF\xFD", Equal),
        (46, b"\xF0\x9F\x98\x80", b"\xEF\x80\x80", Greater),
        (90, b"\x00a\x00\x01", b"\x00a", Less),
        (35, b"\x00a", b"\x00A\x00 ", Equal),
        (90, b"\x00a", b"\x00a\x00 ", Equal),
    ];
    for &(id, a, b, expected) in cases {
        assert_eq!(compare(id, a, b), expected, "{id} {a:x?} {b:x?}");
        assert_eq!(compare(id, b, a), expected.reverse(), "{id} {b:x?} {a:x?}");
    }
}

#[test]
fn case_accents_and_padding() {
    let (e, e_acute) = ("E".as_bytes(), "é".as_bytes());
    for id in [33, 45] {
        assert_eq!(compare(id, e, e_acute), Equal);
        assert_eq!(compare(id, "straße".as_bytes(), b"STRASE  "), Equal);
        assert_eq!(compare(id, "й".as_bytes(), "и".as_bytes()), Greater);
        assert_eq!(compare(id, b"a\t", b"a"), Less);
    }
    assert_eq!(compare(83, e, e_acute), Less);
    assert_eq!(compare(83, b"a ", b"a"), Equal);
    assert_eq!(compare(63, b"a ", b"a"), Greater);
    assert_eq!(compare(8, b"\xC4", b"Z"), Greater);
    assert_eq!(compare(8, b"\xE4\xF6", b"\xC6\xD6 "), Equal);
    assert_eq!(compare(48, b"\xC4", b"B"), Less);
    assert_eq!(compare(48, b"\xC4", b"A"), Greater);
    assert_eq!(compare(47, b"a", b"A"), Greater);
    assert_eq!(compare(8, b"", b"  "), Equal);
}

/// As words in full-text indexes of MySQL 5.6.24 are found by `start*`.
#[test]
fn starts_go_by_weights() {
    for (id, start, texts, others) in [
        (224, "stras", &["straße", "strasse", "strast", "stras"][..], &["straz"][..]),
        (224, "straß", &["straße", "strasse"], &["strast", "stras"]),
        (224, "ab", &["abba", "ábc", "a\u{301}bc"], &["aarhus", "æble"]),
        (224, "\u{301}", &["abba", "日本"], &[]),
        (203, "a", &["abba", "ábc", "aeble"], &["aarhus", "Ålborg", "æble"]),
        (203, "aa", &["aarhus", "Ålborg"], &["abba"]),
        (206, "l", &["lobo"], &["llano"]),
        (206, "c", &["cizek", "cukr"], &["chata"]),
        (206, "ch", &["chata", "chleb"], &["cizek"]),
        (33, "stras", &["strasse", "straße"], &["straz"]),
        (33, "strass", &["strasse"], &["straße"]),
        (46, "stras", &["strasse"], &["Strasse", "stra"]),
    ] {
        let collation = Collation::of(id).expect("known");
        let starts = |text: &&&str| collation.starts_with(text.as_bytes(), start.as_bytes());
        assert_eq!(texts.iter().filter(starts).count(), texts.len(), "{start} {texts:?}");
        assert_eq!(others.iter().filter(starts).count(), 0, "{start} {others:?}");
    }
    // In latin2 and cp1250 0xE8 is a c with its hook, 0xED an i with its acute accent.
    for id in [2, 34] {
        let collation = Collation::of(id).expect("known");
        let starts = |text: &[u8], start: &[u8]| collation.starts_with(text, start);
        assert!(starts(b"cizek", b"ci") && starts(b"chata", b"ch") && starts(b"\xE8\xEDzek", b"\xE8\xED"));
        assert!(!starts(b"chata", b"c") && !starts(b"\xE8izek", b"c") && !starts(b"\xE8\xEDzek", b"\xE8i"));
    }
    let german2 = Collation::of(31).expect("known");
    assert!(german2.starts_with(b"stra\xDFe", b"stras") && german2.starts_with(b"strasse", b"stra\xDF"));
}

#[test]
fn orders_are_total_on_any_bytes() {
    let mut rng = Rng::new(11);
    let alphabet = [
        0x00, b' ', b' ', b'a', b'A', b'z', 0x80, 0x81, 0x40, 0xC3, 0xA9, 0xD8, 0xDC, 0xE0, 0xF0, 0x9F, 0xFF,
    ];
    for id in known() {
        for _ in 0..3_000 {
            let [a, b, c] = [(); 3].map(|()| {
                let len = rng.index(6);
                (0..len).map(|_| alphabet[rng.index(alphabet.len())]).collect::<Vec<u8>>()
            });
            let ab = compare(id, &a, &b);
            assert_eq!(ab, compare(id, &b, &a).reverse(), "{id} {a:x?} {b:x?}");
            if ab == compare(id, &b, &c) {
                assert_eq!(compare(id, &a, &c), ab, "{id} {a:x?} {b:x?} {c:x?}");
            }
            assert_eq!(compare(id, &a, &a), Equal);
            agrees(Collation::of(id).unwrap(), &a, &b);
        }
    }
}

#[test]
fn nothing_fails_on_any_bytes() {
    let mut rng = Rng::new(3);
    let alphabet = [
        0, b' ', b'a', b'l', b'%', b'_', b'\\', 0xB7, 0xC2, 0xCC, 0x80, 0x81, 0xD0, 0xB8, 0xE0, 0xB9, 0xED,
        0xF0, 0x9F, 0xFF,
    ];
    for id in known() {
        let collation = Collation::of(id).unwrap();
        for _ in 0..500 {
            let [a, b] = [(); 2].map(|()| {
                let len = rng.index(9);
                (0..len).map(|_| alphabet[rng.index(alphabet.len())]).collect::<Vec<u8>>()
            });
            let mut out = Vec::new();
            with_scheme!(collation, scheme => {
                let mut weights = Vec::new();
                scheme.each_weight(&a, |weight| weights.push(weight));
                assert!(weights.into_iter().eq(scheme.weights(&a)), "{id} {a:x?}");
            });
            collation.like(&a, &b, Some(u32::from(b'\\')));
            collation.like_range(&b, None, 5);
            assert!(collation.find(&a, &b, 0).is_none_or(|at| at + b.len() <= a.len()));
            collation.weight_string(&a, &mut out);
            collation.upper(&a, &mut out);
            collation.lower(&a, &mut out);
            for to in [8, 33, 35, 45, 54, 63] {
                let to = Charset::of_collation(to).unwrap();
                out.clear();
                crate::charset::convert(collation.charset(), to, &a, &mut out);
                if collation.charset() != Charset::BINARY {
                    assert_eq!(to.first_malformed(&out), None, "{id} {a:x?}");
                }
            }
        }
        assert_eq!(collation.like(b"", b"%", None), collation.charset().mb_min_len == 1);
        assert_eq!(collation.find(b"", b"", 0), Some(0));
    }
}

/// Equality, hashes and sort keys say what comparing says; keys can be put one after the other.
fn agrees(collation: Collation, a: &[u8], b: &[u8]) {
    let order = collation.compare(a, b);
    assert_eq!(collation.equal(a, b), order.is_eq());
    if order.is_eq() {
        assert_eq!(collation.hash(a, 7), collation.hash(b, 7), "{} {a:x?} {b:x?}", collation.name());
    }
    if let Some((x, y)) = a.iter().zip(b).find(|(x, y)| x != y)
        && let Some(by_bytes) = collation.by_differing_bytes(*x, *y)
    {
        assert_eq!(by_bytes, order, "{} {a:x?} {b:x?}", collation.name());
    }
    let key = |text: &[u8], next: &[u8]| {
        let mut key = Vec::new();
        collation.sort_key(text, &mut key);
        collation.sort_key(next, &mut key);
        key
    };
    for (next_a, next_b) in [(&b""[..], &b""[..]), (b"b", b"a"), (b"\x01", b"\xFF")] {
        let both = order.then_with(|| collation.compare(next_a, next_b));
        assert_eq!(key(a, next_a).cmp(&key(b, next_b)), both, "{} {a:x?} {b:x?}", collation.name());
    }
}

#[test]
fn hashes_differ() {
    for id in known() {
        let collation = Collation::of(id).unwrap();
        let hash = |n: u32| {
            let mut text = Vec::new();
            for digit in format!("{n:08}").chars() {
                collation.charset().push(u32::from(digit), &mut text);
            }
            collation.hash(&text, 1)
        };
        let hashes: std::collections::HashSet<_> = (0..10_000).map(hash).collect();
        assert_eq!(hashes.len(), 10_000, "{id}");
        assert_ne!(collation.hash(b"a", 1), collation.hash(b"a", 2));
    }
}

#[test]
fn every_known_collation_has_a_character_set() {
    for id in known() {
        assert!(Charset::of_collation(id).is_some(), "{id}");
    }
    for &(id, name) in &names::NAMES {
        let charset = Charset::of_collation(id).unwrap();
        assert!(name.starts_with(charset.name), "{name}");
        assert_eq!((super::name(id), by_name(name)), (Some(name), is_known(id).then_some(id)));
    }
    assert_eq!((0..300).filter(|&id| Charset::of_collation(id).is_some()).count(), names::NAMES.len());
    assert!(is_primary(8) && is_primary(33) && !is_primary(83));
    assert_eq!(known().len(), 220);
    assert!(!is_known(0) && !is_known(216) && !is_known(300));
}

/// Characters, and pairs of them, that are equal or become so in lower case.
#[test]
fn no_equal_text_is_shorter() {
    for id in [8, 33, 45, 46, 83, 51, 12, 24, 87, 88, 47] {
        let collation = Collation::of(id).expect("known");
        let charset = collation.charset();
        let mut by_key = std::collections::HashMap::<Vec<u8>, (usize, Vec<Vec<u8>>)>::new();
        for code in (1..0xD800u32).chain(0xE000..0x1_0000) {
            let mut character = Vec::new();
            if !charset.push(code, &mut character) {
                continue;
            }
            let (mut lower, mut key) = (Vec::new(), Vec::new());
            collation.lower(&character, &mut lower);
            collation.sort_key(&lower, &mut key);
            let of = by_key.entry(key).or_insert((usize::MAX, Vec::new()));
            of.0 = of.0.min(character.len());
            of.1.push(lower);
        }
        assert!(by_key.len() > 100, "{id}");
        let a_least = collation.least_bytes(b"a").expect("ASCII");
        assert_eq!(a_least, 1);
        for (shortest, texts) in by_key.values() {
            for text in texts {
                let least = collation.least_bytes(text).expect("a character");
                assert!(least <= *shortest, "{id} {text:x?}: {least}, {shortest}");
                let twice = collation.least_bytes(&[&text[..], b"a"].concat()).expect("characters");
                assert!((least.max(1)..=shortest + 1).contains(&twice), "{id} {text:x?}");
            }
        }
    }
    assert_eq!(Collation::of(33).expect("known").least_bytes("дом".as_bytes()), Some(6));
    assert_eq!(Collation::of(33).expect("known").least_bytes("été".as_bytes()), Some(3));
    assert_eq!(Collation::of(83).expect("known").least_bytes("été".as_bytes()), Some(5));
    for (id, text) in [(192, &b"ss"[..]), (31, b"ss"), (13, b"a"), (33, b"\xFF")] {
        assert_eq!(Collation::of(id).expect("known").least_bytes(text), None, "{id}");
    }
}
