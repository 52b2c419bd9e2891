//! Unicode 9.0: no server of that generation is at hand, so the expectations are those of the standard (UTS #10 and
//! DUCET 9.0.0) and of the manual's description of `utf8mb4_0900_ai_ci`.

use super::*;

fn ai_ci() -> Collation {
    Collation::of(255).unwrap()
}

fn weights(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    ai_ci().weight_string(text.as_bytes(), &mut out);
    out
}

#[test]
fn accents_and_case_do_not_matter() {
    for (a, b) in [
        ("a", "A"),
        ("é", "E"),
        ("ß", "ss"),
        ("æ", "Ae"),
        ("ﬃ", "FFI"),
        ("Å", "A\u{30A}"),
        ("①", "1"),
        ("ø", "O"),
    ] {
        assert!(ai_ci().equal(a.as_bytes(), b.as_bytes()), "{a} {b}");
    }
    for (a, b) in
        [("a", "b"), ("a b", "ab"), ("a-b", "ab"), ("o", "ɵ"), ("😀", "😁"), ("a", "あ"), ("中", "丟")]
    {
        assert!(!ai_ci().equal(a.as_bytes(), b.as_bytes()), "{a} {b}");
    }
    assert_eq!(ai_ci().compare("あ".as_bytes(), "ア".as_bytes()), Equal);
}

#[test]
fn texts_are_not_padded() {
    assert_eq!(ai_ci().compare(b"a", b"a "), Less);
    assert_eq!(ai_ci().compare(b"a", b"a\t"), Less);
    assert_eq!(ai_ci().compare(b"", b""), Equal);
    assert!(!ai_ci().pads());
}

#[test]
fn elements_of_the_table() {
    assert_eq!(weights("a"), [0x1C, 0x47]);
    assert_eq!(weights(" "), [0x02, 0x09]);
    assert_eq!(weights("\u{301}\u{200B}"), []);
    // Emoji are in the table since 9.0's symbols were; ideographs, Tangut and unassigned ones are derived.
    assert_eq!(weights("中"), [0xFB, 0x40, 0xCE, 0x2D]);
    assert_eq!(weights("𠀀"), [0xFB, 0x84, 0x80, 0x00]);
    assert_eq!(weights("\u{17001}"), [0xFB, 0x00, 0x80, 0x01]);
    assert_eq!(weights("\u{E0001}".trim()), []);
    assert_eq!(weights("\u{10FFFF}"), [0xFB, 0xE1, 0xFF, 0xFF]);
}

#[test]
fn canonical_equivalents_are_equal() {
    // Hangul syllables and their letters; contractions of a letter with a mark that makes another letter.
    for (a, b) in [
        ("가", "\u{1100}\u{1161}"),
        ("각", "\u{1100}\u{1161}\u{11A8}"),
        ("힣", "\u{1112}\u{1175}\u{11C2}"),
        ("й", "и\u{306}"),
        ("آ", "\u{627}\u{653}"),
        ("ொ", "\u{BC6}\u{BBE}"),
    ] {
        assert_eq!(weights(a), weights(b), "{a}");
        let (a, b) = (format!("x{a}y"), format!("x{b}y"));
        assert_eq!(ai_ci().compare(a.as_bytes(), b.as_bytes()), Equal);
        assert_eq!(ai_ci().hash(a.as_bytes(), 0), ai_ci().hash(b.as_bytes(), 0));
    }
    assert_ne!(weights("и"), weights("й"));
}

#[test]
fn thai_vowels_sort_after_the_consonant_they_precede() {
    assert_eq!(weights("เก"), [weights("ก"), weights("เ")].concat());
    assert_eq!(ai_ci().compare("เก".as_bytes(), "ข".as_bytes()), Less);
}

#[test]
fn long_ascii_texts_with_something_else_at_the_end() {
    let texts =
        ["abcdefghijkl", "ABCDEFGHIJKL\u{B7}", "abcdefghijkl\u{387}x", "abcdefghijk\u{140}", "abcdefghijkm"];
    for id in [192, 224, 214, 246, 255] {
        let collation = Collation::of(id).unwrap();
        for a in texts {
            for b in texts {
                let plain = by_weights_of(collation, a, b);
                assert_eq!(collation.compare(a.as_bytes(), b.as_bytes()), plain, "{id} {a} {b}");
            }
        }
    }
}

#[test]
fn ranges_of_like_hold_contractions() {
    let texts = [
        "и",
        "и\u{306}",
        "й",
        "йод",
        "и\u{306}од",
        "иод",
        "l\u{B7}",
        "LL",
        "เก",
        "เขา",
        "กเ",
        "ель",
        "мир",
        "миг",
    ];
    for pattern in ["и%", "и\u{306}", "й%", "l%", "l\u{B7}%", "เ%", "เก%", "กเ%", "ми%", "ми_", "е%", "иод"]
    {
        let range = ai_ci().like_range(pattern.as_bytes(), None, 6);
        for text in texts.iter().map(|text| text.as_bytes()) {
            let Some(range) = range.as_ref().filter(|_| ai_ci().like(text, pattern.as_bytes(), None)) else {
                continue;
            };
            let within =
                ai_ci().compare(&range.min, text).is_le() && ai_ci().compare(text, &range.max).is_le();
            assert!(within, "{pattern} {text:x?} {range:x?}");
        }
    }
    let start = |pattern: &str| ai_ci().like_range(pattern.as_bytes(), None, 6).map(|range| range.min);
    assert_eq!(start("мир%").unwrap(), "мир".as_bytes());
    assert_eq!(start("ми%").unwrap(), "м".as_bytes());
    assert_eq!(start("hello%").unwrap(), b"hello");
    assert_eq!(start("เ%"), None);
}

/// Compares without the fast path for ASCII.
fn by_weights_of(collation: Collation, a: &str, b: &str) -> Ordering {
    let Order::Uca(version) = collation.order else { panic!("not of Unicode") };
    by_weights(uca::Elements(version, Utf8), a.as_bytes(), b.as_bytes())
}

#[test]
fn upper_and_lower_case() {
    let out = |change: fn(Collation, &[u8], &mut Vec<u8>), text: &str| {
        let mut out = Vec::new();
        change(ai_ci(), text.as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    };
    assert_eq!(out(Collation::upper, "straße ÿ ꭰ 𐓘 𞤢"), "STRAßE Ÿ Ꭰ 𐒰 𞤀");
    assert_eq!(out(Collation::lower, "ÀΣ Ꭰ 𞤀"), "àσ ꭰ 𞤢");
}
