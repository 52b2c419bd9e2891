//! Commands made at random, right and wrong.

use vaquita_base::Rng;

const KEYS: [&str; 5] = ["a", "b", "n", "key:1", "longer-key-with-some-more-letters"];
const SCRIPTS: usize = 250;
const COMMANDS: usize = 12;

fn pick<'a>(rng: &mut Rng, choices: &[&'a str]) -> &'a str {
    choices[rng.index(choices.len())]
}

/// A value; counts keep their length, for memcached pads those that become shorter.
fn value(rng: &mut Rng, key: &str) -> String {
    if key == "n" {
        return (5000 + rng.index(1000)).to_string();
    }
    "vw \r\n".chars().cycle().skip(rng.index(5)).take(rng.index(40)).collect()
}

fn command(rng: &mut Rng, intact: bool) -> String {
    let key = pick(rng, &KEYS);
    let other = pick(rng, &KEYS);
    let noreply = pick(rng, &["", "", "", " noreply"]);
    let seconds = pick(rng, &["0", "0", "0", "100000", "-1"]);
    match rng.index(14) {
        0 => format!("get {key}\r\n"),
        1 => format!("gets {key} {other} {key}\r\n"),
        2..=4 => {
            let value = value(rng, key);
            // What is put to a count would make it longer.
            let names = ["set", "set", "add", "replace", "append", "prepend"];
            let name = pick(rng, if key == "n" { &names[..4] } else { &names });
            let flags = rng.index(70_000);
            format!("{name} {key} {flags} {seconds} {}{noreply}\r\n{value}\r\n", value.len())
        }
        5 => {
            let value = value(rng, key);
            format!("cas {key} 1 0 {} {}{noreply}\r\n{value}\r\n", value.len(), rng.index(3))
        }
        6 => format!("{} {key} {}{noreply}\r\n", pick(rng, &["incr", "decr"]), rng.index(9)),
        7 => format!("delete {key}{noreply}\r\n"),
        8 => format!("touch {key} {seconds}{noreply}\r\n"),
        9 => format!("{} {seconds} {key} {other}\r\n", pick(rng, &["gat", "gats"])),
        10 | 11 => {
            let flags = ["v", "f", "c", "s", "k", "q", "Oabc", "u", "T100000", "N100000", "t"];
            let flags = if intact { &flags[..] } else { &flags[..10] };
            format!("mg {key}{}\r\n", some(rng, flags))
        }
        12 => {
            let value = value(rng, key);
            let flags = ["F7", "c", "k", "Oxyz", "q", "ME", "MR", "C1", "I", "T100000"];
            format!("ms {key} {}{}\r\n{value}\r\n", value.len(), some(rng, &flags))
        }
        _ => {
            if rng.index(2) == 0 {
                return format!("md {key}{}\r\n", some(rng, &["q", "k", "O1", "C1", "I", "T100000"]));
            }
            format!("ma {key}{}\r\n", some(rng, &["v", "c", "k", "O1", "D3", "MD", "C1", "T100000"]))
        }
    }
}

/// Some of the flags, in any order; but `t` last: before flags that change the end it tells the old one there.
fn some(rng: &mut Rng, flags: &[&str]) -> String {
    let mut chosen: Vec<&str> = flags.iter().copied().filter(|_| rng.index(4) == 0).collect();
    for index in (1..chosen.len()).rev() {
        chosen.swap(index, rng.index(index + 1));
    }
    chosen.sort_by_key(|&flag| flag == "t");
    chosen.iter().map(|flag| format!(" {flag}")).collect()
}

/// Changes a byte of the text, not so that values come to other lengths of lines by chance: commands go wrong, not the test.
fn damage(rng: &mut Rng, script: &mut Vec<u8>) {
    let letters = b"abgmst019 -x\r\n";
    let at = rng.index(script.len());
    match rng.index(3) {
        0 => script[at] = letters[rng.index(letters.len())],
        1 => script.insert(at, letters[rng.index(letters.len())]),
        _ => drop(script.remove(at)),
    }
}

/// What every script finds.
pub(crate) const BEFORE: &[u8] = b"set a 5 0 3\r\nabc\r\nset n 3 0 4\r\n5000\r\n";

/// Scripts with so many damaged bytes each.
pub(crate) fn scripts(seed: u64, damages: usize) -> Vec<Vec<u8>> {
    let mut rng = Rng::new(seed);
    (0..SCRIPTS)
        .map(|_| {
            let mut script = String::new();
            (0..COMMANDS).for_each(|_| script += &command(&mut rng, damages == 0));
            let mut script = script.into_bytes();
            (0..damages).for_each(|_| damage(&mut rng, &mut script));
            // A client that leaves amid a value is not answered there, not even what it asked before.
            script.extend_from_slice(&b"\r\nversion".repeat(500));
            script.extend_from_slice(b"\r\n");
            script
        })
        .collect()
}
