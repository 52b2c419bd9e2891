//! Documents to search: pages of documentation from Debian's packages, without their marks, cut into pieces of about equal size.
//!
//! The packages are unpacked beside the peers, and the documents kept there as a file of `LOAD DATA`: a line each, title and text.

use crate::Failure;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use vaquita_peers::{DebianPackages, Paths, install_debian};

/// Raise the number when the packages change.
const FOLDER: &str = "documentation-1";
const PACKAGES: [&str; 8] = [
    "linux-doc-6.1",
    "erlang-doc",
    "python3.11-doc",
    "postgresql-doc-15",
    "libboost1.74-doc",
    "qtbase5-doc-html",
    "sqlite3-doc",
    "openjdk-17-doc",
];

/// A file of documents.
#[derive(Debug)]
pub(super) struct Corpus {
    pub(super) path: PathBuf,
    /// Bytes of all titles and texts.
    pub(super) bytes: u64,
    pub(super) documents: u64,
}

/// The documents of the corpus, at most so many megabytes, pieces of about `piece` bytes; made if there is no such file.
pub(super) fn corpus(megabytes: u64, piece: usize) -> Result<Corpus, Failure> {
    let pages = install_debian(FOLDER, &DebianPackages { whole: &[], alone: &PACKAGES, without: &[] })?;
    let path = Paths::locate().root().join(format!("{FOLDER}-{megabytes}-{piece}.txt"));
    if !path.is_file() {
        let making = path.with_extension(std::process::id().to_string());
        write(&pages, &making, megabytes * 1_000_000, piece)?;
        fs::rename(&making, &path)?;
    }
    let (mut bytes, mut documents) = (0, 0);
    for line in BufReader::new(File::open(&path)?).split(b'\n') {
        bytes += line?.len() as u64;
        documents += 1;
    }
    Ok(Corpus { path, bytes, documents })
}

/// The first documents but the last `n`, as the bytes of a file of `LOAD DATA`, and the last `n` ones as literals of SQL.
pub(super) fn parts(corpus: &Corpus, n: u64) -> Result<(Vec<u8>, Vec<[String; 2]>), Failure> {
    let mut loaded = fs::read(&corpus.path)?;
    let first = corpus.documents.saturating_sub(n) as usize;
    let cut = loaded
        .iter()
        .enumerate()
        .filter(|&(_, &byte)| byte == b'\n')
        .nth(first.saturating_sub(1))
        .map_or(0, |(at, _)| at + 1);
    let rest = String::from_utf8(loaded.split_off(cut))?;
    // Backslashes are doubled in the file already.
    let literal = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let pair = |line: &str| line.split_once('\t').map(|(title, text)| [literal(title), literal(text)]);
    let single = rest.lines().map(|line| pair(line).ok_or_else(|| Failure::from("a line without a title")));
    Ok((loaded, single.collect::<Result<_, _>>()?))
}

fn write(pages: &Path, into: &Path, limit: u64, piece: usize) -> Result<(), Failure> {
    let mut files = Vec::new();
    list(pages, &mut files)?;
    files.sort();
    let mut out = BufWriter::new(File::create(into)?);
    let mut written = 0;
    for file in files {
        let page = String::from_utf8_lossy(&fs::read(&file)?).into_owned();
        let (title, text) = plain(&page);
        for part in pieces(&text, piece) {
            let line = format!("{title}\t{part}\n").replace('\\', "\\\\");
            written += line.len() as u64;
            if written > limit {
                return Ok(out.flush()?);
            }
            out.write_all(line.as_bytes())?;
        }
    }
    Err(format!("the documentation has but {written} bytes").into())
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            list(&entry.path(), files)?;
        } else if kind.is_file() && entry.path().extension().is_some_and(|e| e == "html") {
            files.push(entry.path());
        }
    }
    Ok(())
}

/// Title and text of a page, words divided by single spaces.
fn plain(page: &str) -> (String, String) {
    let body = page.find("<body").map_or(page, |at| &page[at..]);
    let title = page.find("<title").and_then(|at| page[at..].split_once("</title"));
    let mut title = title.map_or_else(String::new, |(title, _)| without_marks(title));
    while title.len() > 200 {
        title.pop();
    }
    (title, without_marks(body))
}

fn without_marks(html: &str) -> String {
    let mut text = String::with_capacity(html.len() / 2);
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        push(&mut text, &rest[..at]);
        rest = &rest[at..];
        // What is in these is not read by people.
        let ends = ["script", "style"].iter().find(|name| rest[1..].starts_with(**name));
        let end = ends.and_then(|name| rest.find(&format!("</{name}"))).unwrap_or(0);
        rest = rest[end..].find('>').map_or("", |close| &rest[end + close + 1..]);
    }
    push(&mut text, rest);
    text
}

/// Adds words with a space between.
fn push(text: &mut String, more: &str) {
    for word in more.split_whitespace() {
        if !text.is_empty() {
            text.push(' ');
        }
        let mut rest = word;
        while let Some(at) = rest.find('&') {
            text.push_str(&rest[..at]);
            let (name, behind) = rest[at + 1..].split_once(';').unwrap_or(("", ""));
            text.push(match name {
                "amp" => '&',
                "lt" => '<',
                "gt" => '>',
                "quot" => '"',
                _ => ' ',
            });
            rest = behind;
        }
        text.push_str(rest);
    }
}

/// A text in pieces of so many bytes, or some more, that end with a word.
fn pieces(text: &str, len: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.bytes().skip(len).position(|byte| byte == b' ').map_or(rest.len(), |at| len + at);
        let (piece, behind) = rest.split_at(end);
        rest = behind.trim_start();
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_its_words() {
        let page = "<html><head><title>A &amp; b</title><style>x{}</style></head><body class=1>\n<p>One\
                    <script>if (1 < 2) {}</script> two&nbsp;<b>three</b>";
        assert_eq!(plain(page), ("A & b".to_owned(), "One two  three".to_owned()));
        assert_eq!(pieces("one two three", 4).collect::<Vec<_>>(), ["one two", "three"]);
    }
}
