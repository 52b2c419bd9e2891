//! Commands of the shell that are no statements.

use super::Shell;
use super::input::{self, Piece, Splitter};
use super::print::{Collected, Nothing};
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io;

impl Shell<'_> {
    /// Does what a piece says that is no statement.
    pub(super) fn command(&mut self, command: Piece, splitter: &Splitter) -> io::Result<()> {
        match command {
            Piece::Help => self.say(input::HELP),
            Piece::Source(path) => match File::open(&path) {
                Ok(file) => self.run_text(&mut io::BufReader::new(file)),
                Err(e) => self.complain(&format!("{path}: {e}")),
            },
            Piece::Use(name) => self.choose(&name),
            Piece::Status => self.status(splitter),
            Piece::Pager(command) => {
                let text = match &command {
                    Some(command) => format!("Results are shown through '{command}'.\n"),
                    None => "Results are shown here.\n".to_owned(),
                };
                self.pager = command;
                self.remark(&text)
            }
            Piece::Tee(path) => self.tee(path),
            Piece::Rehash => {
                self.names_changed = true;
                Ok(())
            }
            Piece::Unknown(word) => self.complain(&format!("no command {word}; \\h lists them")),
            Piece::Statement { .. } | Piece::Quit => Ok(()),
        }
    }

    /// Says something to people only.
    fn remark(&mut self, text: &str) -> io::Result<()> {
        if self.talkative { self.say(text) } else { Ok(()) }
    }

    fn choose(&mut self, name: &str) -> io::Result<()> {
        let text = format!("use `{}`", name.replace('`', "``"));
        match self.backend.run(text.as_bytes(), &mut Nothing) {
            Ok(()) => {
                self.names_changed |= self.follows_names;
                self.remark("Database changed\n")
            }
            Err(e) => {
                self.failed = true;
                self.say_error(&format!("ERROR {} ({}): {}\n", e.code, e.sqlstate, e.message))
            }
        }
    }

    fn tee(&mut self, path: Option<String>) -> io::Result<()> {
        let Some(path) = path else {
            self.tee = None;
            return self.remark("Nothing is written to a file.\n");
        };
        match OpenOptions::new().create(true).append(true).open(&path) {
            Ok(file) => {
                let text = format!("Everything is written to {path}, too.\n");
                self.tee = Some((path, file));
                self.remark(&text)
            }
            Err(e) => self.complain(&format!("{path}: {e}")),
        }
    }

    fn status(&mut self, splitter: &Splitter) -> io::Result<()> {
        const ASKED: &str = "SELECT CONNECTION_ID(), DATABASE(), USER(), VERSION(), @@character_set_client, \
                             @@character_set_connection, @@character_set_results, @@character_set_server";
        let (mut found, mut uptime) = (Collected::default(), Collected::default());
        let asked = self.backend.run(ASKED.as_bytes(), &mut found);
        let asked = asked.and_then(|()| self.backend.run(b"SHOW GLOBAL STATUS LIKE 'Uptime'", &mut uptime));
        if let Err(e) = asked {
            self.failed = true;
            return self.say_error(&format!("ERROR {} ({}): {}\n", e.code, e.sqlstate, e.message));
        }
        let row = found.rows.pop().unwrap_or_default();
        let cell = |i: usize| row.get(i).cloned().flatten().unwrap_or_default();
        let sets =
            format!("client {}, connection {}, results {}, server {}", cell(4), cell(5), cell(6), cell(7));
        let seconds = uptime.rows.pop().and_then(|mut row| row.pop().flatten()).unwrap_or_default();
        let mut out = format!("--------------\n{}\n\n", self.backend.greeting());
        for (name, value) in [
            ("Connection id", cell(0)),
            ("Current database", cell(1)),
            ("Current user", cell(2)),
            ("Version", cell(3)),
            ("Character sets", sets),
            ("Uptime", format!("{seconds} sec")),
            ("Delimiter", splitter.delimiter()),
            ("Pager", self.pager.clone().unwrap_or_else(|| "none".into())),
            ("Tee file", self.tee.as_ref().map_or("none", |(path, _)| path).to_owned()),
        ] {
            // Writing to a string does not fail.
            let _ = writeln!(out, "{:<20}{value}", format!("{name}:"));
        }
        out += "--------------\n\n";
        self.say(&out)
    }
}

/// Whether a statement may change which tables, columns and databases there are in the present database.
pub(super) fn changes_names(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let end = text.iter().position(|b| !b.is_ascii_alphabetic()).unwrap_or(text.len());
    let words: [&[u8]; 5] = [b"use", b"create", b"alter", b"drop", b"rename"];
    words.iter().any(|word| text[..end].eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::changes_names;

    #[test]
    fn statements_that_change_names() {
        assert!(
            changes_names(b" Use d")
                && changes_names(b"create table t (a int)")
                && changes_names(b"DROP\ntable t")
        );
        assert!(!changes_names(b"user") && !changes_names(b"select 1") && !changes_names(b""));
    }
}
