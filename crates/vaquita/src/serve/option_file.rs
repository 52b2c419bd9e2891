//! Option files: `my.cnf`.
//!
//! ```text
//! # a comment
//! [mysqld]
//! port = 3307
//! skip-name-resolve
//! log_error = 'a name with # and \t escapes'   # a comment; the quotes around a value go
//! !include other.cnf
//! !includedir conf.d
//! ```
//!
//! Only the groups of servers count, whatever the case of their names; others are for other programs. An option before any group is an
//! error, as it is MySQL's. A file that is included begins without a group; one that is not there is left out, with a warning.

use std::fs;
use std::path::{Path, PathBuf};

/// Groups that a server reads.
const GROUPS: [&str; 5] = ["mysqld", "server", "vaquita", "mysqld-5.7", "mysqld-5.6"];

/// Files that include files that include files..
const DEPTH_MAX: usize = 10;

/// An option as written: its name, and its value if it has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) name: String,
    pub(super) value: Option<String>,
    /// For messages.
    pub(super) place: String,
}

/// What a file and those that it includes say.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub(super) lines: Vec<Line>,
    /// For the log.
    pub(super) warnings: Vec<String>,
}

/// Reads a file and what it includes.
///
/// # Errors
/// A file that cannot be read, a line that cannot be understood: with its place.
pub(super) fn read(path: &Path) -> Result<Read, String> {
    let mut read = Read::default();
    read_into(path, &mut read, 0)?;
    Ok(read)
}

fn read_into(path: &Path, read: &mut Read, depth: usize) -> Result<(), String> {
    let text = match fs::read(path) {
        // As MySQL has it: what is included may be missing.
        Err(e) if depth > 0 && e.kind() == std::io::ErrorKind::NotFound => {
            read.warnings.push(format!("{}: not there, and so not included", path.display()));
            return Ok(());
        }
        text => text.map_err(|e| format!("{}: {e}", path.display()))?,
    };
    let text = String::from_utf8_lossy(&text);
    let dir = path.parent().unwrap_or(Path::new("."));
    // Whether the group is one of ours; `None` before the first one.
    let mut ours = None;
    for (number, line) in text.lines().enumerate() {
        let place = format!("{}:{}", path.display(), number + 1);
        match parse_line(line.trim()).map_err(|why| format!("{place}: {why}"))? {
            Parsed::Nothing => {}
            Parsed::Group(name) => ours = Some(GROUPS.iter().any(|group| group.eq_ignore_ascii_case(name))),
            Parsed::Include(what, is_dir) => {
                if depth >= DEPTH_MAX {
                    return Err(format!("{place}: too many files include each other"));
                }
                for file in included(&dir.join(what), is_dir).map_err(|why| format!("{place}: {why}"))? {
                    read_into(&file, read, depth + 1)?;
                }
            }
            Parsed::Unknown(word) => {
                read.warnings.push(format!("{place}: '{word}' is none of !include and !includedir"))
            }
            Parsed::Option(name, _) if ours.is_none() => {
                return Err(format!(
                    "{place}: '{name}' stands before any [group]; options of the server belong to [mysqld]"
                ));
            }
            Parsed::Option(name, value) if ours == Some(true) => {
                let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
                if name.is_empty() || !name.chars().all(is_name) {
                    return Err(format!("{place}: '{name}' is no option"));
                }
                read.lines.push(Line { name: name.to_owned(), value, place });
            }
            Parsed::Option(..) => {}
        }
    }
    Ok(())
}

fn included(path: &Path, is_dir: bool) -> Result<Vec<PathBuf>, String> {
    if !is_dir {
        return Ok(vec![path.to_owned()]);
    }
    let entries = fs::read_dir(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "cnf"));
    files.sort();
    Ok(files)
}

#[derive(Debug, PartialEq, Eq)]
enum Parsed<'l> {
    Nothing,
    Group(&'l str),
    Include(&'l str, bool),
    /// A word after `!` that is none.
    Unknown(&'l str),
    Option(&'l str, Option<String>),
}

fn parse_line(line: &str) -> Result<Parsed<'_>, String> {
    if line.is_empty() || line.starts_with(['#', ';']) {
        return Ok(Parsed::Nothing);
    }
    if let Some(rest) = line.strip_prefix('[') {
        let (name, _) = rest.split_once(']').ok_or("a group's name ends with ]")?;
        return Ok(Parsed::Group(name.trim_end()));
    }
    if let Some(directive) = line.strip_prefix('!') {
        let (word, rest) = directive.split_once([' ', '\t']).unwrap_or((directive, ""));
        return Ok(match word {
            "include" => Parsed::Include(rest.trim(), false),
            "includedir" => Parsed::Include(rest.trim(), true),
            word => Parsed::Unknown(word),
        });
    }
    let line = without_comment(line);
    Ok(match line.split_once('=') {
        Some((name, value)) => Parsed::Option(name.trim_end(), Some(unescape(unquote(value.trim())))),
        None => Parsed::Option(line.trim_end(), None),
    })
}

/// A line up to its comment: a `#` between quotes is none. A quote that is not closed keeps all of the line.
fn without_comment(line: &str) -> &str {
    let (mut quote, mut escaped) = (None, false);
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '#') => return &line[..at],
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if c == open && !escaped => quote = None,
            _ => {}
        }
        // Outside of quotes a backslash escapes no quote.
        escaped = quote.is_some() && c == '\\' && !escaped;
    }
    line
}

/// A value without the quotes around it, if there is one at both ends.
fn unquote(text: &str) -> &str {
    let between = |quote| text.strip_prefix(quote).and_then(|rest: &str| rest.strip_suffix(quote));
    between('\'').or_else(|| between('"')).unwrap_or(text)
}

/// A value with its escapes; what is no escape stays as it is.
fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('r') => out.push('\r'),
                Some('b') => out.push('\u{8}'),
                Some('s') => out.push(' '),
                Some(c @ ('\\' | '\'' | '"')) => out.push(c),
                Some(c) => out.extend(['\\', c]),
                None => out.push('\\'),
            },
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let option = |name, value: &str| Ok(Parsed::Option(name, Some(value.to_owned())));
        assert_eq!(parse_line("port = 3307"), option("port", "3307"));
        assert_eq!(parse_line("socket=/run/x.sock # here"), option("socket", "/run/x.sock"));
        assert_eq!(parse_line("log_error='a b#c'  # x"), option("log_error", "a b#c"));
        assert_eq!(parse_line(r#"a="x\ty\\z\s\q""#), option("a", "x\ty\\z \\q"));
        assert_eq!(parse_line("a="), option("a", ""));
        assert_eq!(parse_line("skip-name-resolve # x"), Ok(Parsed::Option("skip-name-resolve", None)));
        assert_eq!(parse_line("[mysqld]"), Ok(Parsed::Group("mysqld")));
        assert_eq!(parse_line("!includedir /etc/d"), Ok(Parsed::Include("/etc/d", true)));
        assert_eq!(parse_line("!include x.cnf"), Ok(Parsed::Include("x.cnf", false)));
        assert_eq!(parse_line("; x"), Ok(Parsed::Nothing));
        assert!(parse_line("[mysqld").is_err());
        assert_eq!(parse_line("!foo bar"), Ok(Parsed::Unknown("foo")));
        // Of quotes, those around the value go; a # between any is text.
        for (line, value) in [
            ("a=set @a='#x'", "set @a='#x'"),
            ("a='set @a=\"#x\"' # y", "set @a=\"#x\""),
            ("a='x' y", "'x' y"),
            ("a='x", "'x"),
            ("a=it's # z", "it's # z"),
            ("a=f 'g # h' i # j", "f 'g # h' i"),
            ("a=b # c 'd", "b"),
            ("a=#b", ""),
            ("a=\"f\" \"g\"", "f\" \"g"),
            ("a=''", ""),
            ("a='", "'"),
            ("a=x;y ;z", "x;y ;z"),
            ("a = b c  d", "b c  d"),
            (r"a=x\ty\sz\\w\qe\'f\#h", "x\ty z\\w\\qe'f\\#h"),
            ("a=x\\", "x\\"),
        ] {
            assert_eq!(parse_line(line), option("a", value), "{line}");
        }
    }

    #[test]
    fn groups_and_includes() {
        let dir = std::env::temp_dir().join(format!("vaquita-cnf-{}", std::process::id()));
        fs::create_dir_all(dir.join("conf.d")).unwrap();
        let main = "[client]\nport=1\nsome words\n[MySQLd] # ours\nport=2\n!include none.cnf\n!includedir conf.d\n[server]\nuser=x\n";
        fs::write(dir.join("my.cnf"), main).unwrap();
        fs::write(dir.join("conf.d/b.cnf"), "[vaquita]\nb=2\n").unwrap();
        fs::write(dir.join("conf.d/a.cnf"), "[mysqld]\na=1\n[mysql]\nc=3\n").unwrap();
        fs::write(dir.join("conf.d/ignored.txt"), "[mysqld]\nd=4\n").unwrap();
        let Read { lines, warnings } = read(&dir.join("my.cnf")).unwrap();
        assert!(warnings.len() == 1 && warnings[0].contains("none.cnf: not there"), "{warnings:?}");
        let got: Vec<(&str, &str)> =
            lines.iter().map(|l| (l.name.as_str(), l.value.as_deref().unwrap_or(""))).collect();
        assert_eq!(got, [("port", "2"), ("a", "1"), ("b", "2"), ("user", "x")]);
        assert!(lines[1].place.ends_with("a.cnf:2"));
        fs::write(dir.join("loop.cnf"), "!include loop.cnf\n").unwrap();
        assert!(read(&dir.join("loop.cnf")).unwrap_err().contains("include each other"));
        assert!(read(&dir.join("none.cnf")).is_err());
        // Whoever includes lends no group, and gets none back.
        for (text, place) in [
            ("# x\nport=9\n[mysqld]\nport=2\n", "bad.cnf:2"),
            ("!include conf.d/a.cnf\nport=1\n", "bad.cnf:2"),
            ("[mysqld]\n!include conf.d/lone.cnf\n", "lone.cnf:1"),
        ] {
            fs::write(dir.join("bad.cnf"), text).unwrap();
            fs::write(dir.join("conf.d/lone.cnf"), "port=1\n").unwrap();
            let why = read(&dir.join("bad.cnf")).unwrap_err();
            assert!(why.contains(place) && why.contains("'port' stands before any [group]"), "{why}");
        }
        fs::write(dir.join("bad.cnf"), "[mysqld]\nsome words\n").unwrap();
        assert!(read(&dir.join("bad.cnf")).unwrap_err().contains("'some words' is no option"));
        fs::remove_dir_all(&dir).unwrap();
    }
}
