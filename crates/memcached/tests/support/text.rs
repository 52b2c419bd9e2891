//! What is asked in text and meta commands.

/// Every line is a script; `\r\n` comes behind it, and `|` stands for one.
fn scripts(lines: &str) -> Vec<Vec<u8>> {
    let lines = lines.lines().filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let line = line.replace("K250", &"k".repeat(250)).replace("K251", &"k".repeat(251));
            format!("{}\r\n", line.replace('|', "\r\n")).into_bytes()
        })
        .collect()
}

/// What every script finds.
pub(crate) const BEFORE: &[u8] =
    b"set a 5 0 3\r\nabc\r\nset n 3 0 2\r\n10\r\nset e 0 0 0\r\n\r\nset t 1 1000 2\r\ntt\r\n";

/// Scripts of the classic commands.
pub(crate) fn classic() -> Vec<Vec<u8>> {
    scripts(include_str!("../scripts/classic.txt"))
}

/// Scripts of the meta commands.
pub(crate) fn meta() -> Vec<Vec<u8>> {
    scripts(include_str!("../scripts/meta.txt"))
}

/// Every letter as a flag, with and without a token, of every command.
pub(crate) fn every_meta_flag() -> Vec<Vec<u8>> {
    let mut scripts = Vec::new();
    for letter in b'!'..=b'~' {
        // Fetched and idle are told from other clocks, stale and win by what is kept in other places: see `meta_commands`.
        if letter == b'l' || letter == b'h' || letter == b'$' {
            continue;
        }
        for token in ["", "7", "x", "77777"] {
            let flag = format!("{}{token}", letter as char);
            for (command, value) in [("mg a", ""), ("mg no", ""), ("ms a 1", "v\r\n"), ("ms no 1", "v\r\n")] {
                scripts.push(format!("{command} {flag}\r\n{value}version\r\n").into_bytes());
            }
            for command in
                ["md a", "md no", "ma n", "ma no", "ma a", "mg YQ== b k", "md YQ== b k O1 q", "ma bg== b k v"]
            {
                scripts.push(format!("{command} {flag}\r\nversion\r\n").into_bytes());
            }
        }
    }
    scripts.retain(|script| !is_known_difference(script));
    scripts
}

/// What is answered in another way on purpose (`docs/memcached.md`).
fn is_known_difference(script: &[u8]) -> bool {
    let line = String::from_utf8_lossy(script);
    // A key asked for in base64 comes back in base64, whoever kept it how; quiet is quiet for what is made anew, too.
    (line.starts_with("mg YQ== b k ") || line.starts_with("md YQ== b k ") || line.starts_with("ma bg== b k "))
        && line.contains(" b k")
        && !line.contains("CLIENT_ERROR")
}
