//! However the bytes are cut on their way, the answers are the same.

use crate::support;

use support::{Frame, Local, now, shown};

fn check(script: &[u8]) {
    let now = now();
    let whole = Local::new(now).talk(script);
    for at in 1..script.len() {
        let (first, rest) = script.split_at(at);
        let cut = Local::new(now).talk_in_pieces([first, rest]);
        assert!(cut == whole, "cut at {at}: {}\n {}\n {}", shown(script), shown(&whole.0), shown(&cut.0));
    }
    for length in [1, 2, 3, 7] {
        let cut = Local::new(now).talk_in_pieces(script.chunks(length));
        assert!(
            cut == whole,
            "pieces of {length}: {}\n {}\n {}",
            shown(script),
            shown(&whole.0),
            shown(&cut.0)
        );
    }
}

#[test]
fn text_scripts() {
    let lists = [include_str!("scripts/classic.txt"), include_str!("scripts/meta.txt")];
    for line in lists.iter().flat_map(|list| list.lines()) {
        let line = line.replace("K250", &"k".repeat(250)).replace("K251", &"k".repeat(251));
        let line = line.replace('|', "\r\n").replace('$', "");
        check(format!("set a 5 0 3\r\nabc\r\nset n 1 0 2\r\n10\r\n{line}\r\nget a n\r\n").as_bytes());
    }
}

#[test]
fn values_and_long_lines() {
    let value = "x".repeat(300);
    check(format!("set a 0 0 300\r\n{value}\r\nget a b a\r\nms b 300 k\r\n{value}\r\nmg b v\r\n").as_bytes());
    let keys = "key ".repeat(20);
    check(format!("set key 0 0 1\r\nv\r\nget {keys}\r\ngets {keys}\r\n").as_bytes());
}

/// Gets with more keys than a line may have bytes are taken key by key.
#[test]
fn lines_without_end() {
    let now = now();
    let longest = "k".repeat(251);
    for tail in ["key \r\n", "no\r\nversion\r\n", &format!("{longest} key\r\nversion\r\n"), "   \r\n"] {
        let script = format!("set key 0 0 1\r\nv\r\nget {}{tail}", "key ".repeat(6000));
        let whole = Local::new(now).talk(script.as_bytes());
        for length in [1, 100, 4096, 16384, 20000] {
            let cut = Local::new(now).talk_in_pieces(script.as_bytes().chunks(length));
            assert!(cut == whole, "pieces of {length}: {} {}", shown(&whole.0), shown(&cut.0));
        }
        assert!(whole.0.len() > 6000 * 13, "every key is answered");
    }
    for script in [format!("mg {}\r\n", "v ".repeat(10_000)), "x".repeat(20_000), "\r".repeat(20_000)] {
        for length in [1000, 40_000] {
            let cut = Local::new(now).talk_in_pieces(script.as_bytes().chunks(length));
            assert_eq!(cut, (b"CLIENT_ERROR line too long\r\n".to_vec(), true), "pieces of {length}");
        }
    }
}

#[test]
fn binary_frames() {
    let extras = [0, 0, 0, 7, 0, 0, 0, 0];
    let frame = |opcode, extras: &[u8], key: &[u8], value: &[u8]| {
        Frame { opcode, extras, key, value, opaque: 0x0102_0304, ..Frame::default() }.bytes()
    };
    let mut script = Vec::new();
    for opcode in [0x01, 0x11, 0x02, 0x13] {
        script.extend(frame(opcode, &extras, b"key", &[b'x'; 100]));
    }
    for opcode in [0x00, 0x09, 0x0c, 0x0d] {
        script.extend(frame(opcode, &[], b"key", b""));
        script.extend(frame(opcode, &[], b"no", b""));
    }
    script.extend(frame(0x0e, &[], b"key", b"more"));
    script.extend(frame(0x1d, &[0; 4], b"key", b""));
    script.extend(frame(0x55, &[1, 2], b"key", b"what"));
    script.extend(frame(0x10, &[], b"sizes", b""));
    script.extend(frame(0x0a, &[], b"", b""));
    check(&script);
    script.extend(frame(0x00, &extras, b"key", b""));
    check(&script);
}

/// Answers stop where there are enough of them, and go on where they stopped.
#[test]
fn answers_are_bounded() {
    let now = now();
    let mut service = support::service(now);
    service.limits.output_max = 1000;
    let small = Local::with(service, now);
    let large = Local::new(now);
    let value = "v".repeat(600);
    let mut script = format!("set a 0 0 600\r\n{value}\r\n");
    script += "get a a no a a\r\nget a\r\nget no\r\ngets a a\r\nmg a v\r\nmg no\r\nmg a k v\r\ngat 0 a a no a\r\nget no no\r\nversion\r\n";
    assert_eq!(small.talk(script.as_bytes()), large.talk(script.as_bytes()));

    let mut conn = vaquita_memcached::conn::Conn::new(small.service.clone());
    let (mut input, mut rounds) = (script.as_bytes(), 0);
    loop {
        let mut out = Vec::new();
        let next = conn.advance(input, now, &mut small.store(), &mut out);
        assert!(out.len() < 1000 + 700, "{} bytes of answers", out.len());
        input = &[];
        rounds += 1;
        if next == vaquita_memcached::conn::Next::Read {
            break;
        }
    }
    assert!(rounds > 5, "{rounds} rounds");
    let frames: Vec<u8> = (0..20u32)
        .flat_map(|opaque| Frame { opcode: 0x0c, key: b"a", opaque, ..Frame::default() }.bytes())
        .collect();
    large.talk(format!("set a 0 0 600\r\n{value}\r\n").as_bytes());
    assert!(small.talk(&frames) == large.talk(&frames), "frames are answered in order");
}
