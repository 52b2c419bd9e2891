//! Typing SQL: line editing, history over sessions, statements over several lines.

use super::Shell;
use super::input::Splitter;
use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::{Config, Editor};
use std::io;
use std::path::PathBuf;

/// Kept lines of history.
const HISTORY: usize = 5_000;

fn history_file() -> Option<PathBuf> {
    std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".vaquita_history"))
}

fn other(e: ReadlineError) -> io::Error {
    io::Error::other(e)
}

/// Reads and runs until the user leaves.
pub(super) fn run(shell: &mut Shell<'_>) -> io::Result<()> {
    let config = Config::builder().max_history_size(HISTORY).map_err(other)?.auto_add_history(false).build();
    let mut editor: Editor<(), DefaultHistory> = Editor::with_config(config).map_err(other)?;
    let history = history_file();
    if let Some(path) = &history {
        // The first time there is none.
        let _ = editor.load_history(path);
    }
    writeln!(shell.out, "{}. \\h lists the commands, \\q leaves.", shell.backend.greeting())?;
    let left = converse(shell, &mut editor);
    if let Some(path) = &history
        && let Err(e) = editor.save_history(path)
    {
        writeln!(shell.err, "the history was not saved: {}: {e}", path.display())?;
    }
    left
}

fn converse(shell: &mut Shell<'_>, editor: &mut Editor<(), DefaultHistory>) -> io::Result<()> {
    let mut splitter = Splitter::new();
    let mut typed = String::new();
    loop {
        let prompt = match splitter.pending() {
            None => "vaquita> ".to_owned(),
            Some(c) => format!("      {c}> "),
        };
        match editor.readline(&prompt) {
            Ok(line) => {
                typed += &line;
                typed.push('\n');
                splitter.push_line(format!("{line}\n").as_bytes());
                let go_on = shell.run_pieces(&mut splitter)?;
                if splitter.pending().is_none() {
                    // A statement of several lines comes back as one.
                    let whole = std::mem::take(&mut typed);
                    if !whole.trim().is_empty() {
                        editor.add_history_entry(whole.trim_end()).map_err(other)?;
                    }
                }
                if !go_on {
                    return Ok(());
                }
            }
            Err(ReadlineError::Interrupted) => {
                splitter.clear();
                typed.clear();
            }
            Err(ReadlineError::Eof) => return Ok(()),
            Err(e) => return Err(other(e)),
        }
    }
}
