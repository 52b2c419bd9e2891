//! Binary frames are answered as memcached 1.6.18 answers them.

use crate::support;

use std::sync::Arc;
use support::binary::{self, FLAGS, differences, frame, noop};
use support::{Frame, Local, Memcached, frames, now, shown};
use vaquita_memcached::store::{Peer, Users};

fn check(scripts: &[Vec<u8>]) {
    let differences = differences(&Memcached::start(&[]), &Local::new(now()), scripts);
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}

#[test]
fn gets() {
    check(&binary::gets());
}

#[test]
fn changes() {
    check(&binary::changes());
}

#[test]
fn counts() {
    check(&binary::counts());
}

#[test]
fn broken_frames() {
    check(&binary::broken_frames());
}

#[test]
fn other_commands() {
    let mut scripts: Vec<Vec<u8>> =
        [0x0a, 0x0b, 0x07, 0x17].into_iter().map(|opcode| frame(opcode, b"", b"", b"")).collect();
    for group in [&b"sizes"[..], b"reset", b"foo", b"detail", b"detail on", b"detail off"] {
        scripts.push([frame(0x10, b"", group, b""), noop()].concat());
    }
    for opcode in (0x1f..=0x22).chain(0x25..=0x3d).chain([0x40, 0x50, 0x7f, 0x80, 0xff]) {
        scripts.push([frame(opcode, b"", b"", b""), noop()].concat());
        if (0x20..=0x22).contains(&opcode) {
            scripts.push([frame(opcode, FLAGS, b"key", b"value"), noop()].concat());
            scripts.push([frame(opcode, b"", b"PLAIN", b""), noop()].concat());
            continue;
        }
        // memcached passes over extras and key twice, and so over what follows.
        let (answers, closed) =
            Local::new(now()).talk(&[frame(opcode, FLAGS, b"key", b"value"), noop()].concat());
        assert!(!closed && frames(&answers).len() == 2, "{opcode:#x} is passed over");
    }
    check(&scripts);
}

/// Values over the limit are swallowed; lengths may lie as they like.
#[test]
fn too_large() {
    let value = vec![b'v'; 1 << 20];
    let mut scripts = Vec::new();
    for (opcode, extras) in [(0x01, FLAGS), (0x11, FLAGS), (0x02, FLAGS), (0x0e, b""), (0x1a, b"")] {
        scripts.push([frame(opcode, extras, b"x", &value), noop(), frame(0, b"", b"x", b"")].concat());
    }
    // Key, value and 59 bytes more make the item; flags 4.
    for length in [(1 << 20) - 60 - 4, (1 << 20) - 60 - 3] {
        scripts.push([frame(0x01, FLAGS, b"x", &value[..length]), noop()].concat());
    }
    for body_len in [0x7fff_ffff, u32::MAX] {
        let set = Frame { opcode: 1, extras: FLAGS, key: b"x", value: b"v", ..Frame::default() };
        scripts.push(Frame { body_len: Some(body_len), ..set }.bytes());
    }
    let local = Local::new(now());
    for script in &scripts {
        let (answers, closed) = local.talk(script);
        assert!(!closed, "{}", shown(script));
        assert!(frames(&answers)[0].contains(if answers[7] == 3 { "Too large." } else { "status 00" }));
    }
    // A length of two gigabytes is waited for there.
    scripts.truncate(scripts.len() - 2);
    check(&scripts);
}

#[derive(Debug)]
struct OneUser;

impl Users for OneUser {
    fn check(&self, user: &[u8], password: &[u8], _: &Peer) -> bool {
        user == b"user" && password == b"secret"
    }
}

fn with_sasl() -> Local {
    let mut service = support::service(now());
    service.users = Some(Arc::new(OneUser));
    Local::with(service, now())
}

/// Who has not shown who it is is refused as memcached refuses it.
#[test]
fn before_a_login() {
    let real = Memcached::start_sasl();
    let local = with_sasl();
    let mut scripts: Vec<Vec<u8>> = (0..=0x1e)
        .chain([0x23, 0x24, 0x55])
        .filter(|&opcode| opcode != 0x0b)
        .map(|opcode| frame(opcode, b"", b"key", b""))
        .collect();
    scripts.push([frame(0x0b, b"", b"", b""), frame(0x0b, b"", b"", b"")].concat());
    scripts.push([frame(0x20, b"", b"", b""), noop()].concat());
    scripts.push(frame(0x20, b"", b"key", b""));
    scripts.push(frame(0x21, b"", b"", b""));
    scripts.push(frame(0x21, b"", &[b'P'; 33], b"\0u\0p"));
    scripts.push([frame(0x21, b"", b"PLAIN", b"\0u\0p"), frame(0x0b, b"", b"", b"")].concat());
    scripts.push([frame(0x21, b"", b"OTHER", b"\0u\0p"), frame(0, b"", b"a", b"")].concat());
    scripts.push([frame(0x21, b"", b"PLAIN", b""), frame(0x22, b"", b"PLAIN", b"\0u\0p"), noop()].concat());
    scripts.push([frame(0x22, b"", b"PLAIN", b"\0u\0p"), frame(0x0b, b"", b"", b"")].concat());
    scripts.push([frame(0x21, b"", b"PLAIN", &[b'p'; 10_000]), frame(0x0b, b"", b"", b"")].concat());
    let mut differences = Vec::new();
    for script in &scripts {
        let (theirs, ours) = (frames(&real.talk(script)), frames(&local.talk(script).0));
        if theirs != ours {
            let script = shown(script);
            differences.push(format!("{script}\n  memcached: {theirs:#?}\n  here: {ours:#?}\n"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn a_login_opens_everything_and_a_failed_one_closes_it() {
    let local = with_sasl();
    let statuses = |script: &[Vec<u8>]| {
        let (answers, closed) = local.talk(&script.concat());
        let statuses: Vec<String> = frames(&answers)
            .iter()
            .map(|frame| frame.split(' ').nth(7).unwrap_or_default().to_owned())
            .collect();
        (statuses.join(" "), closed)
    };
    let login = |message: &[u8]| frame(0x21, b"", b"PLAIN", message);
    let (good, bad) = (login(b"\0user\0secret"), login(b"\0user\0wrong"));
    let set = frame(0x01, FLAGS, b"a", b"v");
    assert_eq!(statuses(&[good.clone(), set.clone(), noop()]), ("00 00 00".into(), false));
    assert_eq!(statuses(&[bad.clone(), set.clone(), noop()]), ("20 20".into(), true));
    assert_eq!(statuses(&[bad.clone(), good.clone(), set.clone()]), ("20 00 00".into(), false));
    assert_eq!(statuses(&[good.clone(), bad, set.clone()]), ("00 20 20".into(), true));
    let step = frame(0x22, b"", b"PLAIN", b"\0user\0secret");
    assert_eq!(statuses(&[login(b""), step, set]), ("21 00 00".into(), false));
    let (answers, _) = local.talk(&good);
    assert!(answers.ends_with(b"Authenticated"));
    assert_eq!(local.talk(b"version\r\n"), (b"CLIENT_ERROR unauthenticated\r\n".to_vec(), true));
    assert_eq!(local.service.stats.auth_errors.get(), 3);
}
