//! Option files: `my.cnf`.
//!
//! ```text
//! # a comment
//! [mysqld]
//! port = 3307
//! skip-name-resolve
//! log_error = 'a name with spaces and \t escapes'   ; quotes keep what is between them
//! !include other.cnf
//! !includedir conf.d
//! ```
//!
//! Only the groups of servers count; others are for other programs.

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

/// Reads a file and what it includes.
///
/// # Errors
/// A file that cannot be read, a line that cannot be understood: with its place.
pub(super) fn read(path: &Path) -> Result<Vec<Line>, String> {
    let mut lines = Vec::new();
    read_into(path, &mut lines, 0)?;
    Ok(lines)
}

fn read_into(path: &Path, lines: &mut Vec<Line>, depth: usize) -> Result<(), String> {
    let text = fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let text = String::from_utf8_lossy(&text);
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut ours = false;
    for (number, line) in text.lines().enumerate() {
        let place = format!("{}:{}", path.display(), number + 1);
        match parse_line(line.trim()).map_err(|why| format!("{place}: {why}"))? {
            Parsed::Nothing => {}
            Parsed::Group(name) => ours = GROUPS.contains(&name),
            Parsed::Include(what, is_dir) => {
                if depth >= DEPTH_MAX {
                    return Err(format!("{place}: too many files include each other"));
                }
                for file in included(&dir.join(what), is_dir).map_err(|why| format!("{place}: {why}"))? {
                    read_into(&file, lines, depth + 1)?;
                }
            }
            Parsed::Option(name, value) if ours => {
                lines.push(Line { name: name.to_owned(), value, place });
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
    Option(&'l str, Option<String>),
}

fn parse_line(line: &str) -> Result<Parsed<'_>, String> {
    if line.is_empty() || line.starts_with(['#', ';']) {
        return Ok(Parsed::Nothing);
    }
    if let Some(rest) = line.strip_prefix('[') {
        let (name, _) = rest.split_once(']').ok_or("a group's name ends with ]")?;
        return Ok(Parsed::Group(name.trim()));
    }
    if let Some(rest) = line.strip_prefix("!includedir") {
        return Ok(Parsed::Include(rest.trim(), true));
    }
    if let Some(rest) = line.strip_prefix("!include") {
        return Ok(Parsed::Include(rest.trim(), false));
    }
    let (name, value) = match line.split_once('=') {
        Some((name, value)) => (name, Some(unquote(value.trim())?)),
        None => (line.split_once('#').map_or(line, |(name, _)| name), None),
    };
    let name = name.trim();
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || !name.chars().all(is_name) {
        return Err(format!("'{name}' is no option"));
    }
    Ok(Parsed::Option(name, value))
}

/// A value without its quotes, its escapes and the comment behind it.
fn unquote(text: &str) -> Result<String, String> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'));
    let mut out = String::new();
    let mut chars = text.chars().skip(usize::from(quote.is_some()));
    loop {
        match chars.next() {
            None if quote.is_some() => return Err("a quote is not closed".into()),
            None => break,
            Some(c) if Some(c) == quote => break,
            Some('#') if quote.is_none() => break,
            Some('\\') => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('r') => out.push('\r'),
                Some('b') => out.push('\u{8}'),
                Some('s') => out.push(' '),
                Some(c @ ('\\' | '\'' | '"')) => out.push(c),
                // What is no escape stays as it is.
                Some(c) => out.extend(['\\', c]),
                None => out.push('\\'),
            },
            Some(c) => out.push(c),
        }
    }
    Ok(if quote.is_none() { out.trim_end().to_owned() } else { out })
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
        assert!(parse_line("[mysqld").is_err() && parse_line("a='x").is_err() && parse_line("= 5").is_err());
    }

    #[test]
    fn groups_and_includes() {
        let dir = std::env::temp_dir().join(format!("vaquita-cnf-{}", std::process::id()));
        fs::create_dir_all(dir.join("conf.d")).unwrap();
        let main = "port=9\n[client]\nport=1\n[mysqld]\nport=2\n!includedir conf.d\n[server]\nuser=x\n";
        fs::write(dir.join("my.cnf"), main).unwrap();
        fs::write(dir.join("conf.d/b.cnf"), "[vaquita]\nb=2\n").unwrap();
        fs::write(dir.join("conf.d/a.cnf"), "[mysqld]\na=1\n[mysql]\nc=3\n").unwrap();
        fs::write(dir.join("conf.d/ignored.txt"), "[mysqld]\nd=4\n").unwrap();
        let lines = read(&dir.join("my.cnf")).unwrap();
        let got: Vec<(&str, &str)> =
            lines.iter().map(|l| (l.name.as_str(), l.value.as_deref().unwrap_or(""))).collect();
        assert_eq!(got, [("port", "2"), ("a", "1"), ("b", "2"), ("user", "x")]);
        assert!(lines[1].place.ends_with("a.cnf:2"));
        fs::write(dir.join("loop.cnf"), "!include loop.cnf\n").unwrap();
        assert!(read(&dir.join("loop.cnf")).unwrap_err().contains("include each other"));
        assert!(read(&dir.join("none.cnf")).is_err());
        fs::remove_dir_all(&dir).unwrap();
    }
}
