//! Answers recorded from MySQL 5.6.24.

use super::*;
use crate::charset::{Case, CaseVersion, change_case};

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal digits"))
        .collect()
}

fn collation(id: &str) -> Collation {
    Collation::of(id.parse().expect("a number")).expect("a known collation")
}

/// CRC-32C of WEIGHT_STRING() of every character but surrogates, each with its length in front.
fn weights_of_all(id: u16, last: u32) -> u32 {
    let collation = Collation::of(id).unwrap();
    let (mut all, mut text, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    for c in (0..0xD800u32).chain(0xE000..=last) {
        text.clear();
        weights.clear();
        assert!(collation.charset().push(c, &mut text));
        collation.weight_string(&text, &mut weights);
        all.push(weights.len() as u8);
        all.extend_from_slice(&weights);
    }
    crc32c(&all)
}

#[test]
fn weights_of_every_character() {
    assert_eq!(weights_of_all(192, 0xFFFF), 0xF8D4_1370);
    assert_eq!(weights_of_all(224, 0x10_FFFF), 0xB9EF_95FD);
    assert_eq!(weights_of_all(214, 0xFFFF), 0xC8D5_81AD);
    assert_eq!(weights_of_all(246, 0x10_FFFF), 0x9506_0EED);
    assert_eq!(weights_of_all(45, 0x10_FFFF), 0x56E7_BDCA);
}

#[test]
fn case_of_every_character() {
    // CRC-32C of UPPER() and LOWER() in UTF-32. In utf8mb4_unicode_520_ci the server loses the characters that are
    // longer in the other case; they are left out.
    let all = |case, version, lost: &[u32]| {
        let mut all = Vec::new();
        for c in (0..0xD800u32).chain(0xE000..=0x10_FFFF).filter(|c| !lost.contains(c)) {
            vaquita_base::codec::push_u32(&mut all, change_case(c, case, version));
        }
        crc32c(&all)
    };
    assert_eq!(all(Case::Upper, CaseVersion::V300, &[]), 0xB9FA_E377);
    assert_eq!(all(Case::Lower, CaseVersion::V300, &[]), 0xA7F9_A193);
    let lost = [0x23F, 0x240, 0x250, 0x251, 0x252, 0x26B, 0x271, 0x27D];
    assert_eq!(all(Case::Upper, CaseVersion::V520, &lost), 0x517F_19FC);
    assert_eq!(all(Case::Lower, CaseVersion::V520, &[0x23A, 0x23E]), 0xFECA_BD47);
}

#[test]
fn like() {
    // collation, text, pattern, escape character (-: ESCAPE ''), text LIKE pattern. An empty escape character is none,
    // but the server takes a backslash for it, except in binary.
    for line in include_str!("like.tsv").lines() {
        let fields: Vec<_> = line.split('\t').collect();
        let &[id, text, pattern, escape, expected] = fields.as_slice() else { panic!("{line}") };
        let (collation, text, pattern) = (collation(id), bytes(text), bytes(pattern));
        let empty = (id != "63").then_some('\\');
        let escape = if escape == "-" { empty } else { escape.chars().next() }.map(u32::from);
        let matches = collation.like(&text, &pattern, escape);
        assert_eq!(matches, expected == "1", "{line}");
        if let (true, Some(range)) = (matches, collation.like_range(&pattern, escape, 12)) {
            assert!(collation.compare(&range.min, &text).is_le(), "{line} {range:x?}");
            assert!(collation.compare(&text, &range.max).is_le(), "{line} {range:x?}");
        }
    }
}

#[test]
fn order_search_and_case() {
    // collation, a, b, c, STRCMP(a, b), LOCATE(c, a), WEIGHT_STRING(a), UPPER(a), LOWER(a)
    for line in include_str!("order.tsv").lines() {
        let fields: Vec<_> = line.split('\t').collect();
        let &[id, a, b, c, order, place, weights, upper, lower] = fields.as_slice() else { panic!("{line}") };
        let (collation, a, b, c) = (collation(id), bytes(a), bytes(b), bytes(c));
        let expected = order.parse::<i32>().unwrap().cmp(&0);
        assert_eq!(collation.compare(&a, &b), expected, "{line}");
        assert_eq!(collation.compare(&b, &a), expected.reverse(), "{line}");
        let found = collation.find(&a, &c, 0).map_or(0, |at| collation.charset().char_count(&a[..at]) + 1);
        assert_eq!(found, place.parse().unwrap(), "{line}");
        let out = |change: fn(Collation, &[u8], &mut Vec<u8>)| {
            let mut out = Vec::new();
            change(collation, &a, &mut out);
            out
        };
        assert_eq!(out(Collation::weight_string), bytes(weights), "{line}");
        assert_eq!(out(Collation::upper), bytes(upper), "{line}");
        assert_eq!(out(Collation::lower), bytes(lower), "{line}");
    }
}

#[test]
fn collations_of_the_packed_tables() {
    // collation, a, b, STRCMP(a, b), a LIKE b, WEIGHT_STRING(a); written by gen/server.py.
    for line in include_str!("packed.tsv").lines() {
        let fields: Vec<_> = line.split('\t').collect();
        let &[id, a, b, order, like, weights] = fields.as_slice() else { panic!("{line}") };
        let (collation, a, b) = (collation(id), bytes(a), bytes(b));
        let expected = order.parse::<i32>().unwrap().cmp(&0);
        assert_eq!(collation.compare(&a, &b), expected, "{line}");
        assert_eq!(collation.compare(&b, &a), expected.reverse(), "{line}");
        let key = |text: &[u8]| {
            let mut key = Vec::new();
            collation.sort_key(text, &mut key);
            key
        };
        assert_eq!(key(&a).cmp(&key(&b)), expected, "{line}");
        assert_eq!(collation.equal(&a, &b), expected.is_eq(), "{line}");
        assert!(!expected.is_eq() || collation.hash(&a, 7) == collation.hash(&b, 7), "{line}");
        assert_eq!(collation.like(&a, &b, Some(u32::from(b'\\'))), like == "1", "{line}");
        let mut weight = Vec::new();
        collation.weight_string(&a, &mut weight);
        assert_eq!(weight, bytes(weights), "{line}");
    }
}

#[test]
fn a_prefix_bounds_what_begins_with_it() {
    // `ch` sorts behind `h`, so `c%` has no bounds where it is a letter; `ca%` has.
    let texts = ["c", "ca", "cb", "ch", "cha", "cz", "d", "h", "hz", "Ch", "CH", "CA"];
    for id in [202u16, 226, 138, 111, 170, 2, 34, 203, 206, 213, 31, 18] {
        let collation = Collation::of(id).unwrap();
        let encode = |text: &str| {
            let mut out = Vec::new();
            text.chars().for_each(|c| assert!(collation.charset().push(c.into(), &mut out)));
            out
        };
        for pattern in ["c%", "ca%", "ch%", "h%"] {
            let pattern = encode(pattern);
            let Some(range) = collation.like_range(&pattern, None, 10) else { continue };
            for text in texts.map(encode) {
                if collation.like(&text, &pattern, None) {
                    assert!(collation.compare(&range.min, &text).is_le(), "{id} {text:x?} {range:x?}");
                    assert!(collation.compare(&text, &range.max).is_le(), "{id} {text:x?} {range:x?}");
                }
            }
        }
    }
    assert_eq!(Collation::of(202).unwrap().like_range(b"c%", None, 10), None);
}

#[test]
fn other_8_bit_collations() {
    // CRC-32C of the ranks of WEIGHT_STRING() of every byte, by number of the collation.
    let ids = [
        3, 4, 6, 7, 9, 10, 14, 16, 20, 21, 22, 23, 25, 26, 27, 29, 30, 32, 36, 37, 38, 39, 40, 41, 42, 44,
        51, 52, 57, 59, 92, 99,
    ];
    let mut all = Vec::new();
    for id in ids {
        for byte in 0..=255 {
            Collation::of(id).unwrap().weight_string(&[byte], &mut all);
        }
    }
    assert_eq!(crc32c(&all), 0xC8DA_8D2D);
    // collation, a, b, STRCMP(a, b), a LIKE b
    for line in include_str!("eight_bit.tsv").lines() {
        let fields: Vec<_> = line.split('\t').collect();
        let &[id, a, b, order, like] = fields.as_slice() else { panic!("{line}") };
        let (collation, a, b) = (collation(id), bytes(a), bytes(b));
        assert_eq!(collation.compare(&a, &b), order.parse::<i32>().unwrap().cmp(&0), "{line}");
        assert_eq!(collation.like(&a, &b, Some(u32::from(b'\\'))), like == "1", "{line}");
    }
}
