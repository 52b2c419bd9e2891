use super::*;

fn doc(text: &str) -> Vec<u8> {
    binary::encode(&parse::parse(text.as_bytes()).unwrap()).unwrap()
}

fn shown(doc: &[u8]) -> String {
    let mut out = Vec::new();
    push_text(doc, &mut out).unwrap();
    String::from_utf8_lossy(&out).into_owned()
}

/// Examples of the manual of MySQL 8.0.
#[test]
fn documents_are_normalised() {
    for (text, want) in [
        (r#"{"key1": 1, "key2": "abc", "key1": "def"}"#, r#"{"key1": "def", "key2": "abc"}"#),
        (r#" [ 1 ,2,[ ] , { } ]"#, "[1, 2, [], {}]"),
        (r#"{"bb":1,"a":2,"c":3,"aa":4}"#, r#"{"a": 2, "c": 3, "aa": 4, "bb": 1}"#),
        ("1.0", "1.0"),
        ("1e2", "100.0"),
        ("-5", "-5"),
        ("18446744073709551615", "18446744073709551615"),
        ("9223372036854775808", "9223372036854775808"),
        (r#""\u00e9\ud83d\ude00\/\n\u0001\"""#, "\"é😀/\\n\\u0001\\\"\""),
        ("null", "null"),
        ("[true, false, 70000, -40000, 5000000000]", "[true, false, 70000, -40000, 5000000000]"),
    ] {
        assert_eq!(shown(&doc(text)), want, "{text}");
    }
}

/// The layout as the manual's sources of the format describe it.
#[test]
fn the_binary_form_is_that_of_mysql() {
    assert_eq!(doc("null"), NULL);
    assert_eq!(doc("true"), [4, 1]);
    assert_eq!(doc("1"), [5, 1, 0]);
    assert_eq!(doc("-1"), [5, 0xFF, 0xFF]);
    assert_eq!(doc("70000"), [7, 0x70, 0x11, 1, 0]);
    assert_eq!(doc("\"abc\""), [12, 3, b'a', b'b', b'c']);
    assert_eq!(doc("[]"), [2, 0, 0, 4, 0]);
    // Count, size; entries: literal inline, string at its offset; the string.
    assert_eq!(doc("[true, \"x\"]"), [2, 2, 0, 12, 0, 4, 1, 0, 12, 10, 0, 1, b'x']);
    // Count, size; key at 11 of one byte; int16 inline; the key.
    assert_eq!(doc("{\"a\": 2}"), [0, 1, 0, 12, 0, 11, 0, 1, 0, 5, 2, 0, b'a']);
}

#[test]
fn large_documents_take_the_large_form() {
    let long = "x".repeat(70_000);
    let text = format!(r#"{{"a": "{long}", "b": [-3, 100000, "{long}"]}}"#);
    let stored = doc(&text);
    assert_eq!(stored[0], 1);
    assert_eq!(shown(&stored), text);
}

#[test]
fn errors_tell_the_place() {
    for (text, want) in [
        ("", "Invalid JSON text: \"The document is empty.\" at position 0."),
        ("[1,2", "Invalid JSON text: \"Missing a comma or ']' after an array element.\" at position 4."),
        ("{\"a\" 1}", "Invalid JSON text: \"Missing a colon after a name of object member.\" at position 5."),
        ("1 2", "Invalid JSON text: \"The document root must not follow by other values.\" at position 2."),
        ("[1,]", "Invalid JSON text: \"Invalid value.\" at position 3."),
    ] {
        let e = parse::parse(text.as_bytes()).unwrap_err();
        assert_eq!((e.code, &*e.message), (3140, want), "{text}");
    }
    assert_eq!(parse::parse("[".repeat(101).as_bytes()).unwrap_err().code, 3157);
    assert!(parse::parse(format!("{}{}", "[".repeat(100), "]".repeat(100)).as_bytes()).is_ok());
}

/// Each is less than the next: the order of types and values of the manual.
#[test]
fn documents_have_an_order() {
    let sorted = [
        "null",
        "-1",
        "0.5",
        "1",
        "18446744073709551615",
        "\"\"",
        "\"a\"",
        "\"b\"",
        "{}",
        "{\"a\": 1}",
        "[]",
        "[1]",
        "[1, 2]",
        "[2]",
        "false",
        "true",
    ];
    for (i, a) in sorted.iter().enumerate() {
        for (j, b) in sorted.iter().enumerate() {
            let (a, b) = (doc(a), doc(b));
            assert_eq!(compare(&a, &b), i.cmp(&j), "{i} {j}");
            let (mut x, mut y) = (Vec::new(), Vec::new());
            push_sort_key(&a, &mut x);
            push_sort_key(&b, &mut y);
            assert_eq!(x.cmp(&y), i.cmp(&j), "keys of {i} {j}");
        }
    }
    assert_eq!(compare(&doc("1"), &doc("1.0")), Ordering::Equal);
}

/// Damaged documents read as something, without a panic.
#[test]
fn any_bytes_can_be_read() {
    let stored = doc(r#"{"a": [1, "xyz", {"b": 2.5}], "ccc": "text"}"#);
    for at in 0..stored.len() {
        for bit in 0..8 {
            let mut broken = stored.clone();
            broken[at] ^= 1 << bit;
            shown(&broken);
            compare(&broken, &stored);
            shown(&broken[..at]);
        }
    }
}

fn found(text: &str, path: &str) -> Vec<String> {
    let doc = doc(text);
    let path = path::Path::parse(path.as_bytes()).unwrap();
    path.seek(Node::of(&doc).unwrap())
        .unwrap()
        .iter()
        .map(|node| {
            let mut out = Vec::new();
            push_node(node, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        })
        .collect()
}

/// Examples of the manual, and their neighbours.
#[test]
fn paths_lead_to_values() {
    let list = "[3, {\"a\": [5, 6], \"b\": 10}, [99, 100]]";
    for (doc, path, want) in [
        (list, "$[0]", &["3"][..]),
        (list, "$[1].a[1]", &["6"]),
        (list, "$[2]", &["[99, 100]"]),
        (list, "$[3]", &[]),
        (list, "$[last][last-1]", &["99"]),
        (list, "$[0][0][last]", &["3"]),
        ("[1, 2, 3, 4, 5]", "$[1 to 3]", &["2", "3", "4"]),
        ("[1, 2, 3, 4, 5]", "$[last-2 to last]", &["3", "4", "5"]),
        ("[1, 2, 3, 4, 5]", "$[3 to 9]", &["4", "5"]),
        ("{\"a\": 1, \"b\": 2, \"c\": [3, 4, 5]}", "$.*", &["1", "2", "[3, 4, 5]"]),
        ("{\"a\": 1, \"b\": 2, \"c\": [3, 4, 5]}", "$.c[*]", &["3", "4", "5"]),
        ("{\"a\": {\"b\": 1}, \"c\": {\"b\": 2}}", "$**.b", &["1", "2"]),
        ("{\"a fish\": \"shark\"}", "$.\"a fish\"", &["\"shark\""]),
        ("[[1]]", "$**[0]", &["[1]", "1"]),
    ] {
        assert_eq!(found(doc, path), want, "{doc} {path}");
    }
}

#[test]
fn what_is_no_path_is_refused() {
    for text in
        ["", "a", "$.", "$.a-b", "$[", "$[a]", "$**", "$.***", "$[1 to]", "$[3 to 1]", "$[last-1 to last-3]"]
    {
        assert_eq!(path::Path::parse(text.as_bytes()).unwrap_err().code, 3143, "{text}");
    }
}

/// Numbers that are one as floats are still two.
#[test]
fn long_numbers_differ() {
    let (a, b) = (doc("9007199254740993"), doc("9007199254740992"));
    assert_eq!(compare(&a, &b), Ordering::Greater);
    let (mut x, mut y) = (Vec::new(), Vec::new());
    push_sort_key(&a, &mut x);
    push_sort_key(&b, &mut y);
    assert_eq!(x.cmp(&y), Ordering::Greater);
}

#[test]
fn a_long_value_in_the_innermost_of_many_arrays_is_written_once() {
    let mut tree = Json::Text(vec![b'x'; 70_000]);
    for _ in 0..DEPTH_MAX {
        tree = Json::Array(vec![tree]);
    }
    // Writing it twice in each level would take for ever.
    let doc = tree.to_document().unwrap();
    assert_eq!(Node::of(&doc).unwrap().to_tree().unwrap(), tree);
}

#[test]
fn the_small_form_ends_where_its_offsets_do() {
    for len in 65_500..65_540 {
        for tree in [
            Json::Array(vec![Json::Text(vec![b'x'; len]), Json::Int(70_000), Json::Int(-1)]),
            Json::Object(vec![
                (b"k".to_vec(), Json::Text(vec![b'x'; len])),
                (b"l".to_vec(), Json::Double(1.5)),
            ]),
        ] {
            let doc = binary::encode(&tree).unwrap();
            assert_eq!(Node::of(&doc).unwrap().to_tree().unwrap(), tree, "{len}");
            let is_small = matches!(doc[0], 0 | 2);
            assert_eq!(is_small, doc.len() - 1 <= 0xFFFF, "{len}: {} bytes", doc.len());
        }
    }
}
