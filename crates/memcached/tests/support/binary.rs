//! What is asked in binary frames: lists of scripts, each what one connection sends.

use super::pair::Side;
use super::{Frame, Memcached, frames, now, shown};

pub(crate) const FLAGS: &[u8] = &[0, 0, 0, 7, 0, 0, 0, 0];
pub(crate) const NO_EXPIRY: &[u8] = &[0; 4];

pub(crate) fn frame(opcode: u8, extras: &[u8], key: &[u8], value: &[u8]) -> Vec<u8> {
    Frame { opcode, extras, key, value, opaque: 0xdead_beef, ..Frame::default() }.bytes()
}

pub(crate) fn with_cas(opcode: u8, extras: &[u8], key: &[u8], value: &[u8], cas: u64) -> Vec<u8> {
    Frame { opcode, extras, key, value, cas, opaque: 0x0102_0304, ..Frame::default() }.bytes()
}

pub(crate) fn counting(delta: u64, initial: u64, expires: u32) -> Vec<u8> {
    let mut extras = Vec::new();
    vaquita_base::codec::push_u64(&mut extras, delta);
    vaquita_base::codec::push_u64(&mut extras, initial);
    vaquita_base::codec::push_u32(&mut extras, expires);
    extras
}

/// What every script finds.
pub(crate) fn before() -> Vec<u8> {
    [
        frame(0x08, b"", b"", b""),
        frame(0x01, FLAGS, b"a", b"abc"),
        frame(0x01, &[0; 8], b"n", b"10"),
        frame(0x01, &[0; 8], b"e", b""),
    ]
    .concat()
}

pub(crate) fn noop() -> Vec<u8> {
    frame(0x0a, b"", b"", b"")
}

/// Gets and what they are told of.
pub(crate) fn gets() -> Vec<Vec<u8>> {
    let mut scripts = Vec::new();
    for key in [&b"a"[..], b"e", b"no", &[b'k'; 250], b"\x00\xff \r\n"] {
        for opcode in [0x00, 0x09, 0x0c, 0x0d] {
            scripts.push([frame(opcode, b"", key, b""), noop()].concat());
            scripts.push([with_cas(opcode, b"", key, b"", 5), noop()].concat());
        }
        for opcode in [0x1c, 0x1d, 0x1e, 0x23, 0x24] {
            scripts.push([frame(opcode, NO_EXPIRY, key, b""), noop()].concat());
            scripts.push([frame(opcode, &[0, 0, 1, 0], key, b""), noop(), frame(0, b"", key, b"")].concat());
        }
    }
    let all = [0x0d, 0x09, 0x00]
        .map(|opcode| [&b"a"[..], b"no", b"e", b"n", b"a"].map(|key| frame(opcode, b"", key, b"")).concat());
    scripts.push([all.concat(), noop()].concat());
    scripts
}

/// Changes, loud and quiet, with numbers and without.
pub(crate) fn changes() -> Vec<Vec<u8>> {
    let mut scripts = Vec::new();
    for key in [&b"a"[..], b"no"] {
        for quiet in [0x00, 0x10] {
            for cas in [0, 1, u64::MAX] {
                for opcode in [0x01, 0x02, 0x03] {
                    let change = with_cas(opcode + quiet, FLAGS, key, b"new value", cas);
                    scripts.push([change, noop(), frame(0, b"", key, b"")].concat());
                }
                let change = with_cas(0x04 + quiet, b"", key, b"", cas);
                scripts.push([change, noop(), frame(0, b"", key, b"")].concat());
                let quiet = if quiet == 0 { 0 } else { 0x0b };
                for opcode in [0x0e, 0x0f] {
                    let change = with_cas(opcode + quiet, b"", key, b"more", cas);
                    scripts.push([change, noop(), frame(0, b"", key, b"")].concat());
                }
            }
        }
    }
    scripts.push(
        [frame(0x01, &[0, 0, 0, 0, 255, 255, 255, 255], b"x", b"v"), frame(0, b"", b"x", b"")].concat(),
    );
    scripts.push([frame(0x01, &[0, 0, 0, 0, 0, 39, 141, 1], b"x", b"v"), frame(0, b"", b"x", b"")].concat());
    scripts.push([frame(0x01, &[255; 8], b"x", b"v"), frame(0, b"", b"x", b"")].concat());
    scripts.push([frame(0x0e, b"", b"a", b""), noop()].concat());
    for opcode in [0x08, 0x18] {
        scripts.push([frame(opcode, b"", b"", b""), noop(), frame(0, b"", b"a", b"")].concat());
        scripts.push([frame(opcode, NO_EXPIRY, b"", b""), noop(), frame(0, b"", b"a", b"")].concat());
        scripts.push([frame(opcode, &[0, 0, 1, 0], b"", b""), noop(), frame(0, b"", b"a", b"")].concat());
    }
    scripts
}

/// Counting, loud and quiet.
pub(crate) fn counts() -> Vec<Vec<u8>> {
    let mut scripts = Vec::new();
    for key in [&b"n"[..], b"a", b"no"] {
        for opcode in [0x05, 0x06, 0x15, 0x16] {
            for (delta, initial, expires) in
                [(1, 5, u32::MAX), (1, 5, 0), (0, u64::MAX, 0), (u64::MAX, 0, 0), (3, 77, 1000)]
            {
                // A count that becomes shorter is padded there, and is not here.
                let becomes_shorter = key == b"n" && (opcode & 0x0f == 6) == (delta < u64::MAX) && delta > 0
                    || key == b"n" && delta == u64::MAX;
                for cas in [0, 1] {
                    let count = with_cas(opcode, &counting(delta, initial, expires), key, b"", cas);
                    let then = if becomes_shorter { noop() } else { frame(0, b"", key, b"") };
                    scripts.push([count, noop(), then].concat());
                }
            }
        }
    }
    scripts
}

/// Frames whose parts do not fit their opcode: told so, and hung up on.
pub(crate) fn broken_frames() -> Vec<Vec<u8>> {
    let mut scripts = Vec::new();
    let mut broken = |frame: Vec<u8>| scripts.push(frame);
    for opcode in [0x00, 0x09, 0x0c, 0x0d, 0x04, 0x14] {
        broken(frame(opcode, NO_EXPIRY, b"a", b""));
        broken(frame(opcode, b"", b"a", b"value"));
        broken(frame(opcode, b"", b"", b""));
        broken(frame(opcode, b"", &[b'k'; 251], b""));
    }
    for opcode in [0x01, 0x02, 0x03, 0x11] {
        broken(frame(opcode, b"", b"a", b"value"));
        broken(frame(opcode, NO_EXPIRY, b"a", b"value"));
        broken(frame(opcode, FLAGS, b"", b"value"));
        broken(frame(opcode, FLAGS, &[b'k'; 251], b"value"));
    }
    for opcode in [0x05, 0x06, 0x15] {
        broken(frame(opcode, b"", b"a", b""));
        broken(frame(opcode, &[0; 20], b"", b""));
        broken(frame(opcode, &[0; 20], b"a", b"value"));
    }
    for opcode in [0x0e, 0x0f, 0x19] {
        broken(frame(opcode, FLAGS, b"a", b"value"));
        broken(frame(opcode, b"", b"", b"value"));
    }
    for opcode in [0x1c, 0x1d, 0x1e, 0x23, 0x24] {
        broken(frame(opcode, b"", b"a", b""));
        broken(frame(opcode, NO_EXPIRY, b"", b""));
    }
    for opcode in [0x07, 0x0a, 0x0b, 0x08] {
        broken(frame(opcode, b"", b"a", b""));
        broken(frame(opcode, &[0], b"", b""));
    }
    broken(frame(0x10, NO_EXPIRY, b"", b""));
    for body_len in [0, 1, 2] {
        broken(Frame { opcode: 0, key: b"abc", body_len: Some(body_len), ..Frame::default() }.bytes());
        let set = Frame { opcode: 1, extras: FLAGS, key: b"a", value: b"v", ..Frame::default() };
        broken(Frame { body_len: Some(body_len), ..set }.bytes());
    }
    scripts
}

/// Runs scripts on both servers; those that are answered in another way.
pub(crate) fn differences(real: &Memcached, local: &impl Side, scripts: &[Vec<u8>]) -> Vec<String> {
    let mut differences = Vec::new();
    for script in scripts {
        local.set_now(now());
        real.talk(&before());
        local.talk(&before());
        let (theirs, ours) = (frames(&real.talk(script)), frames(&local.talk(script).0));
        if theirs != ours {
            let script = shown(script);
            differences.push(format!("{script}\n  memcached: {theirs:#?}\n  here: {ours:#?}\n"));
        }
    }
    differences
}
