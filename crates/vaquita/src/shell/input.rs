//! Cutting input into statements and the shell's own commands, as MySQL's client does: statements end with `;`, `\g` or
//! `\G` outside of quotes and comments, `delimiter` changes the `;`.

use std::collections::VecDeque;

pub(super) const HELP: &str = "\
;  \\g         run the statement
\\G            run it, one value a line
\\c            forget what was typed
\\q quit exit  leave
\\s status     whom this talks to, and how
\\u use D      the database to use
\\. source F   run the statements of file F
\\P pager C    show results through command C
\\n nopager    show them on the terminal again
\\T tee F      write everything to file F, too
\\t notee      no more
\\# rehash     read the names anew that the Tab key completes
\\d delimiter D  end statements with D from now on
\\h help       this
";

/// Something to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// A statement without its delimiter, where its first line is, and whether rows are wanted one value a line.
    Statement { text: Vec<u8>, vertical: bool, line: usize },
    /// Leave.
    Quit,
    /// List the commands.
    Help,
    /// Run a file.
    Source(String),
    /// Tell whom this talks to.
    Status,
    /// Use a database.
    Use(String),
    /// Results go through a command; `None`: no more.
    Pager(Option<String>),
    /// Everything goes to a file, too; `None`: no more.
    Tee(Option<String>),
    /// Read the names anew that are completed.
    Rehash,
    /// A backslash with something that is no command.
    Unknown(String),
}

/// A statement that ended with the input.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rest {
    pub(super) text: Vec<u8>,
    pub(super) line: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inside {
    Nothing,
    /// A string or name in this quote.
    Quote(u8),
    /// `/* */`
    Comment,
}

/// Takes lines, gives pieces.
#[derive(Debug)]
pub(super) struct Splitter {
    delimiter: Vec<u8>,
    text: Vec<u8>,
    /// Line of the first byte of `text` that is not space.
    first_line: usize,
    line: usize,
    inside: Inside,
    ready: VecDeque<Piece>,
}

impl Splitter {
    pub(super) fn new() -> Splitter {
        Splitter {
            delimiter: b";".to_vec(),
            text: Vec::new(),
            first_line: 1,
            line: 0,
            inside: Inside::Nothing,
            ready: VecDeque::new(),
        }
    }

    /// What ends statements.
    pub(super) fn delimiter(&self) -> String {
        String::from_utf8_lossy(&self.delimiter).into_owned()
    }

    /// What has been completed.
    pub(super) fn next_piece(&mut self) -> Option<Piece> {
        self.ready.pop_front()
    }

    /// What the next line goes on with, for a prompt: a quote, `*` in a comment, `-` in a statement.
    pub(super) fn pending(&self) -> Option<char> {
        match self.inside {
            Inside::Quote(quote) => Some(quote.into()),
            Inside::Comment => Some('*'),
            Inside::Nothing => (!self.is_blank()).then_some('-'),
        }
    }

    fn is_blank(&self) -> bool {
        self.text.iter().all(u8::is_ascii_whitespace)
    }

    /// Forgets an unfinished statement.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.inside = Inside::Nothing;
    }

    /// The end: a last statement does not need its delimiter.
    pub(super) fn finish(&mut self) -> Option<Rest> {
        let text = std::mem::take(&mut self.text);
        self.inside = Inside::Nothing;
        (!text.iter().all(u8::is_ascii_whitespace)).then_some(Rest { text, line: self.first_line })
    }

    /// Takes a line with its end.
    pub(super) fn push_line(&mut self, line: &[u8]) {
        self.line += 1;
        if self.inside == Inside::Nothing && self.is_blank() && self.command_line(line) {
            return;
        }
        let mut at = 0;
        while at < line.len() {
            at += match self.inside {
                Inside::Quote(quote) => self.in_quote(&line[at..], quote),
                Inside::Comment => self.in_comment(&line[at..]),
                Inside::Nothing => self.outside(&line[at..]),
            };
        }
    }

    /// Commands that are words on a line of their own.
    fn command_line(&mut self, line: &[u8]) -> bool {
        let line = String::from_utf8_lossy(line);
        let line = line.trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let bare = word.trim_end_matches(';').to_ascii_lowercase();
        let argument = || rest.trim().trim_end_matches(';').trim_end().to_owned();
        match bare.as_str() {
            "status" if rest.is_empty() => self.ready.push_back(Piece::Status),
            // With its delimiter it is a statement like others.
            "use" if !rest.is_empty() && !line.contains(&*String::from_utf8_lossy(&self.delimiter)) => {
                self.ready.push_back(Piece::Use(unquoted(&argument())));
            }
            "pager" if !rest.is_empty() => self.ready.push_back(Piece::Pager(Some(argument()))),
            "pager" | "nopager" if rest.is_empty() => self.ready.push_back(Piece::Pager(None)),
            "tee" if !rest.is_empty() => self.ready.push_back(Piece::Tee(Some(argument()))),
            "notee" if rest.is_empty() => self.ready.push_back(Piece::Tee(None)),
            "rehash" if rest.is_empty() => self.ready.push_back(Piece::Rehash),
            "delimiter" if !rest.trim().is_empty() => self.delimiter = rest.trim().as_bytes().to_vec(),
            "quit" | "exit" if rest.is_empty() => self.ready.push_back(Piece::Quit),
            "help" | "?" if rest.is_empty() => self.ready.push_back(Piece::Help),
            "source" if !rest.is_empty() => {
                self.ready.push_back(Piece::Source(rest.trim().trim_end_matches(';').to_owned()));
            }
            _ => return false,
        }
        true
    }

    fn take(&mut self, bytes: &[u8]) {
        if self.is_blank() && bytes.iter().any(|b| !b.is_ascii_whitespace()) {
            self.text.clear();
            self.first_line = self.line;
        }
        self.text.extend_from_slice(bytes);
    }

    fn in_quote(&mut self, rest: &[u8], quote: u8) -> usize {
        let escapes = quote != b'`';
        let len = if escapes && rest[0] == b'\\' {
            rest.len().min(2)
        } else {
            if rest[0] == quote {
                // A doubled quote closes and opens again, which comes to the same.
                self.inside = Inside::Nothing;
            }
            1
        };
        self.text.extend_from_slice(&rest[..len]);
        len
    }

    fn in_comment(&mut self, rest: &[u8]) -> usize {
        let len = if rest.starts_with(b"*/") {
            self.inside = Inside::Nothing;
            2
        } else {
            1
        };
        self.text.extend_from_slice(&rest[..len]);
        len
    }

    fn outside(&mut self, rest: &[u8]) -> usize {
        if rest.starts_with(&self.delimiter) {
            self.end_statement(false);
            return self.delimiter.len();
        }
        match rest[0] {
            quote @ (b'\'' | b'"' | b'`') => {
                self.take(&rest[..1]);
                self.inside = Inside::Quote(quote);
                1
            }
            b'/' if rest.starts_with(b"/*") => {
                self.take(&rest[..2]);
                self.inside = Inside::Comment;
                2
            }
            b'#' => self.line_comment(rest),
            b'-' if rest.starts_with(b"--") && rest.get(2).is_none_or(|b| b.is_ascii_whitespace()) => {
                self.line_comment(rest)
            }
            b'\\' => self.backslash(rest),
            _ => {
                self.take(&rest[..1]);
                1
            }
        }
    }

    /// A comment up to the end of the line is dropped; its line end stays, so that lines are counted right.
    fn line_comment(&mut self, rest: &[u8]) -> usize {
        if rest.ends_with(b"\n") && !self.is_blank() {
            self.text.push(b'\n');
        }
        rest.len()
    }

    fn end_statement(&mut self, vertical: bool) {
        if self.is_blank() {
            self.text.clear();
            return;
        }
        let text = std::mem::take(&mut self.text);
        self.ready.push_back(Piece::Statement { text, vertical, line: self.first_line });
    }

    fn backslash(&mut self, rest: &[u8]) -> usize {
        match rest.get(1) {
            Some(b'g') => self.end_statement(false),
            Some(b'G') => self.end_statement(true),
            Some(b'c') => self.clear(),
            Some(b'q') => self.ready.push_back(Piece::Quit),
            Some(b'h' | b'?') => self.ready.push_back(Piece::Help),
            Some(b's') => self.ready.push_back(Piece::Status),
            Some(b'n') => self.ready.push_back(Piece::Pager(None)),
            Some(b't') => self.ready.push_back(Piece::Tee(None)),
            Some(b'#') => self.ready.push_back(Piece::Rehash),
            Some(command @ (b'.' | b'u' | b'P' | b'T' | b'd')) => {
                let argument = String::from_utf8_lossy(&rest[2..]).trim().to_owned();
                self.backslash_with(*command, argument);
                return rest.len();
            }
            Some(b'N') => self.take(&rest[..2]),
            other => {
                let word = other.map_or("\\".to_owned(), |&b| format!("\\{}", char::from(b)));
                self.ready.push_back(Piece::Unknown(word));
            }
        }
        rest.len().min(2)
    }
}

impl Splitter {
    /// Commands that take the rest of the line.
    fn backslash_with(&mut self, command: u8, argument: String) {
        let some = || Some(argument.trim_end_matches(';').trim_end().to_owned()).filter(|a| !a.is_empty());
        let piece = match command {
            b'.' => Piece::Source(argument),
            b'u' => Piece::Use(unquoted(argument.trim_end_matches(';'))),
            b'P' => Piece::Pager(some()),
            b'T' => Piece::Tee(some()),
            _ => {
                if !argument.is_empty() {
                    self.delimiter = argument.into_bytes();
                }
                return;
            }
        };
        self.ready.push_back(piece);
    }
}

/// A name as typed, with or without backquotes.
fn unquoted(name: &str) -> String {
    let name = name.trim();
    let inner = name.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
    inner.map_or_else(|| name.to_owned(), |inner| inner.replace("``", "`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<(String, bool, usize)> {
        let mut splitter = Splitter::new();
        let mut out = Vec::new();
        for line in text.split_inclusive('\n') {
            splitter.push_line(line.as_bytes());
            while let Some(piece) = splitter.next_piece() {
                match piece {
                    Piece::Statement { text, vertical, line } => {
                        out.push((String::from_utf8_lossy(&text).trim().to_owned(), vertical, line));
                    }
                    other => out.push((format!("{other:?}"), false, 0)),
                }
            }
        }
        if let Some(rest) = splitter.finish() {
            out.push((String::from_utf8_lossy(&rest.text).trim().to_owned(), false, rest.line));
        }
        out
    }

    #[test]
    fn statements_end_where_mysql_ends_them() {
        let text = "select 1; select ';', \"a;b\", `c;d`\n, 'it''s', 'a\\'b;'; -- not; this\n# nor; this\n/* nor;\n this */ select 2\\G\n;;\nselect 3";
        assert_eq!(
            pieces(text),
            [
                ("select 1".to_owned(), false, 1),
                ("select ';', \"a;b\", `c;d`\n, 'it''s', 'a\\'b;'".to_owned(), false, 1),
                ("/* nor;\n this */ select 2".to_owned(), true, 4),
                ("select 3".to_owned(), false, 7),
            ]
        );
    }

    #[test]
    fn commands() {
        let text = "delimiter //\nselect 1; select 2//\nDELIMITER ;\nselect 3;\nhelp\nsource some file.sql\nselect 4\\c\n\\x\nquit\n";
        let got: Vec<String> = pieces(text).into_iter().map(|(text, ..)| text).collect();
        assert_eq!(
            got,
            [
                "select 1; select 2",
                "select 3",
                "Help",
                "Source(\"some file.sql\")",
                "Unknown(\"\\\\x\")",
                "Quit"
            ]
        );
    }

    #[test]
    fn a_minus_minus_needs_a_space() {
        assert_eq!(pieces("select 1--1;")[0].0, "select 1--1");
        assert_eq!(pieces("select 1 --\n+1;")[0].0, "select 1 \n+1");
    }

    #[test]
    fn what_is_pending_shows_in_the_prompt() {
        let mut splitter = Splitter::new();
        assert_eq!(splitter.pending(), None);
        splitter.push_line(b"select 'a\n");
        assert_eq!(splitter.pending(), Some('\''));
        splitter.push_line(b"' /* x\n");
        assert_eq!(splitter.pending(), Some('*'));
        splitter.push_line(b"*/ , 1\n");
        assert_eq!(splitter.pending(), Some('-'));
        splitter.push_line(b";\n");
        assert_eq!(splitter.pending(), None);
    }

    #[test]
    fn commands_with_arguments() {
        let text = "use my db\nuse d; select 1;\n\\u `a``b`\n\\P less -S\npager\ntee /tmp/x;\nnotee\n\\s\nstatus;\n\\d //\n\
                    select 2; 3//\n\\d ;\n\\n\nrehash\n\\T\n";
        let got: Vec<String> = pieces(text).into_iter().map(|(text, ..)| text).collect();
        assert_eq!(
            got,
            [
                "Use(\"my db\")",
                "use d",
                "select 1",
                "Use(\"a`b\")",
                "Pager(Some(\"less -S\"))",
                "Pager(None)",
                "Tee(Some(\"/tmp/x\"))",
                "Tee(None)",
                "Status",
                "Status",
                "select 2; 3",
                "Pager(None)",
                "Rehash",
                "Tee(None)",
            ]
        );
    }
}
