//! `daemon_memcached_option`: memcached's own command line, as the plugin of MySQL takes it.
//!
//! ```text
//! -p 11211 -S -t 4 -c 1000 -l 127.0.0.1
//! ```

use std::net::IpAddr;
use std::path::PathBuf;

/// What was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    /// `-p`.
    pub(super) port: Option<u16>,
    /// `-l`.
    pub(super) addr: Option<IpAddr>,
    /// `-s`.
    pub(super) socket: Option<PathBuf>,
    /// `-a`, octal.
    pub(super) socket_mode: Option<u32>,
    /// `-t`.
    pub(super) threads: Option<usize>,
    /// `-c`.
    pub(super) max_connections: Option<usize>,
    /// `-I`, bytes.
    pub(super) item_size_max: Option<usize>,
    /// `-m`, bytes.
    pub(super) memory: Option<usize>,
    /// `-o idle_timeout=N`.
    pub(super) idle_timeout_s: Option<u32>,
    /// `-S`.
    pub(super) sasl: bool,
    /// Options without a meaning here, for the log.
    pub(super) meaningless: Vec<String>,
}

/// Letters of memcached's options that take a value.
const WITH_VALUE: &str = "pUslatcImofbRDBuPneXY";

/// Letters that take none.
const WITHOUT_VALUE: &str = "SvkrMLCFAWd";

/// Reads the text.
///
/// # Errors
/// For people: what is no option of memcached's, or has no such value.
pub(super) fn parse(text: &str) -> Result<Asked, String> {
    let mut asked = Asked::default();
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let Some(letters) = word.strip_prefix('-').filter(|l| !l.is_empty() && !l.starts_with('-')) else {
            return Err(format!("'{word}' is no option of memcached's"));
        };
        let mut rest = letters.chars();
        while let Some(letter) = rest.next() {
            if WITHOUT_VALUE.contains(letter) {
                asked.switch(letter);
                continue;
            }
            if !WITH_VALUE.contains(letter) {
                return Err(format!("'-{letter}' is no option of memcached's"));
            }
            let value = match rest.as_str() {
                "" => words.next().ok_or_else(|| format!("-{letter} wants a value"))?,
                value => value,
            };
            asked.take(letter, value)?;
            break;
        }
    }
    Ok(asked)
}

impl Asked {
    fn switch(&mut self, letter: char) {
        match letter {
            'S' => self.sasl = true,
            _ => self.meaningless.push(format!("-{letter}")),
        }
    }

    fn take(&mut self, letter: char, value: &str) -> Result<(), String> {
        let wrong = || format!("-{letter}: '{value}' will not do");
        let number = || value.parse::<usize>().map_err(|_| wrong());
        match letter {
            'p' => self.port = Some(value.parse().map_err(|_| wrong())?),
            'l' => self.listen(value).ok_or_else(wrong)?,
            's' => self.socket = Some(value.into()),
            'a' => self.socket_mode = Some(u32::from_str_radix(value, 8).map_err(|_| wrong())?),
            't' => self.threads = Some(number()?),
            'c' => self.max_connections = Some(number()?.max(1)),
            'I' => self.item_size_max = Some(bytes(value).ok_or_else(wrong)?),
            'm' => self.memory = Some(number()?.checked_mul(1 << 20).ok_or_else(wrong)?),
            'o' => self.extended(value).ok_or_else(wrong)?,
            // No UDP: 0 is what there is.
            'U' if value == "0" => {}
            'B' if value == "auto" => {}
            _ => self.meaningless.push(format!("-{letter} {value}")),
        }
        Ok(())
    }

    /// `ADDRESS` or `ADDRESS:PORT`; of several the first.
    fn listen(&mut self, value: &str) -> Option<()> {
        let mut all = value.split(',');
        let first = all.next()?;
        self.meaningless.extend(all.map(|other| format!("-l {other}")));
        if let Ok(addr) = first.parse::<std::net::SocketAddr>() {
            (self.addr, self.port) = (Some(addr.ip()), Some(addr.port()));
            return Some(());
        }
        self.addr = Some(match first {
            "localhost" => IpAddr::from([127, 0, 0, 1]),
            "*" => IpAddr::from([0_u16; 8]),
            addr => addr.trim_matches(['[', ']']).parse().ok()?,
        });
        Some(())
    }

    fn extended(&mut self, value: &str) -> Option<()> {
        for option in value.split(',') {
            match option.split_once('=') {
                Some(("idle_timeout", seconds)) => self.idle_timeout_s = Some(seconds.parse().ok()?),
                _ => self.meaningless.push(format!("-o {option}")),
            }
        }
        Some(())
    }
}

/// A size: `1048576`, `1024k`, `1m`.
fn bytes(text: &str) -> Option<usize> {
    let (digits, unit) = match text.char_indices().last()? {
        (at, 'k' | 'K') => (&text[..at], 1 << 10),
        (at, 'm' | 'M') => (&text[..at], 1 << 20),
        (at, 'g' | 'G') => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    digits.parse::<usize>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_plugin_is_started_with() {
        let asked = parse("-p 11222 -S -t4 -c 100 -U 0 -l 127.0.0.1 -I 2m").unwrap();
        let wanted = Asked {
            port: Some(11_222),
            addr: Some(IpAddr::from([127, 0, 0, 1])),
            threads: Some(4),
            max_connections: Some(100),
            item_size_max: Some(2 << 20),
            sasl: true,
            ..Asked::default()
        };
        assert_eq!(asked, wanted);
        assert_eq!(parse("").unwrap(), Asked::default());
        assert_eq!(parse("-l[::1]:7").unwrap().addr, Some("::1".parse().unwrap()));
        assert_eq!(parse("-l[::1]:7").unwrap().port, Some(7));
        assert_eq!(parse("-o idle_timeout=60,modern").unwrap().idle_timeout_s, Some(60));
        assert_eq!(parse("-s /tmp/m -a 0777").unwrap().socket_mode, Some(0o777));
    }

    #[test]
    fn what_has_no_meaning_is_told_and_what_is_none_is_refused() {
        assert_eq!(parse("-vv -U 11211 -d").unwrap().meaningless, ["-v", "-v", "-U 11211", "-d"]);
        for text in ["-p", "-p x", "-p 65536", "-y", "p", "--port=1", "-", "-I 1x", "-l nowhere", "-a 9"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
