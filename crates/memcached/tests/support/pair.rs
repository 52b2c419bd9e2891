//! Both servers, asked the same.

use super::{Local, Memcached, now, shown};

/// What is asked beside the real memcached.
pub(crate) trait Side {
    /// A connection that sends `input`: what it is answered, and whether it is closed then.
    fn talk(&self, input: &[u8]) -> (Vec<u8>, bool);

    /// Sets the clock.
    fn set_now(&self, now: u32);
}

impl Side for Local {
    fn talk(&self, input: &[u8]) -> (Vec<u8>, bool) {
        self.talk_in_pieces([input])
    }

    fn set_now(&self, now: u32) {
        self.seconds.set(now);
    }
}

/// A script is what one connection sends. `$key` stands for the item's number at the beginning of the script.
pub(crate) struct Pair<L = Local> {
    pub(crate) real: Memcached,
    pub(crate) local: L,
}

impl Pair {
    pub(crate) fn start() -> Pair {
        Pair::with(Local::new(now()))
    }
}

impl<L: Side> Pair<L> {
    pub(crate) fn with(local: L) -> Pair<L> {
        Pair { real: Memcached::start(&[]), local }
    }

    /// Runs one script on both, after `before`, from nothing; what the two answer.
    pub(crate) fn run(&self, before: &[u8], script: &[u8]) -> (Vec<u8>, Vec<u8>) {
        self.local.set_now(now());
        let before = [b"flush_all\r\n", before].concat();
        self.real.talk(&before);
        self.local.talk(&before);
        let real = self.real.talk(&numbered(script, |key| number(&self.real.talk(key))));
        let local = self.local.talk(&numbered(script, |key| number(&self.local.talk(key).0))).0;
        (ranked(&real), ranked(&local))
    }

    /// Runs scripts; those that are answered in another way.
    pub(crate) fn differences<'a>(
        &self,
        scripts: impl IntoIterator<Item = (&'a [u8], &'a [u8])>,
    ) -> Vec<String> {
        let mut differences = Vec::new();
        for (before, script) in scripts {
            // Where seconds are told, one may pass between the two.
            let same = (0..3).any(|_| {
                let (real, local) = self.run(before, script);
                real == local
            });
            if !same {
                let (real, local) = self.run(before, script);
                differences.push(format!(
                    "{}\n   memcached: {}\n   here:      {}\n",
                    shown(script),
                    shown(&real),
                    shown(&local)
                ));
            }
        }
        differences
    }
}

/// Puts numbers of items where `$key` stands.
fn numbered(script: &[u8], number_of: impl Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let mut parts = script.split(|&byte| byte == b'$');
    let mut out = parts.next().unwrap_or_default().to_vec();
    for part in parts {
        let end = part.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(part.len());
        out.extend(number_of(&[b"gets ", &part[..end], b"\r\n"].concat()));
        out.extend_from_slice(&part[end..]);
    }
    out
}

/// The number in the answer of `gets`.
fn number(answer: &[u8]) -> Vec<u8> {
    let line = answer.split(|&byte| byte == b'\r').next().unwrap_or_default();
    line.split(|&byte| byte == b' ').nth(4).unwrap_or(b"0").to_vec()
}

/// Replaces the numbers of items by the order in which they are told: the two servers begin to count elsewhere.
fn ranked(answer: &[u8]) -> Vec<u8> {
    let mut seen: Vec<Vec<u8>> = Vec::new();
    let mut rank = |number: &[u8]| {
        if number == b"0" {
            return b"0".to_vec();
        }
        let known = seen.iter().position(|old| old == number).unwrap_or_else(|| {
            seen.push(number.to_vec());
            seen.len() - 1
        });
        format!("#{known}").into_bytes()
    };
    let lines = answer.split(|&byte| byte == b'\n').map(|line| {
        let is_value = line.starts_with(b"VALUE ");
        let is_meta = [&b"VA "[..], b"HD ", b"EX ", b"NS ", b"NF "].iter().any(|code| line.starts_with(code));
        let words = line.split(|&byte| byte == b' ').enumerate().map(|(place, word)| {
            let (word, end) = match word.strip_suffix(b"\r") {
                Some(word) => (word, &b"\r"[..]),
                None => (word, &b""[..]),
            };
            let ranked = match word {
                _ if is_value && place == 4 => rank(word),
                [b'c', number @ ..] if is_meta && !number.is_empty() => [b"c", &*rank(number)].concat(),
                _ => word.to_vec(),
            };
            [&ranked, end].concat()
        });
        words.collect::<Vec<_>>().join(&b' ')
    });
    lines.collect::<Vec<_>>().join(&b'\n')
}

/// Fails if there are differences.
pub(crate) fn check(differences: &[String]) {
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}
