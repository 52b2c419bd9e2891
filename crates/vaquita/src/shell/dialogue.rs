//! Typing SQL: line editing, history over sessions, statements over several lines.

use super::Shell;
use super::complete::{Completion, Words};
use super::input::Splitter;
use super::interrupt::Interrupts;
use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::{CompletionType, Config, Editor};
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
    let config = Config::builder()
        .max_history_size(HISTORY)
        .map_err(other)?
        .auto_add_history(false)
        .completion_type(CompletionType::List)
        .build();
    let mut editor: Editor<Completion, DefaultHistory> = Editor::with_config(config).map_err(other)?;
    editor.set_helper(Some(Completion::default()));
    shell.interrupts = Some(Interrupts::new()?);
    let history = history_file();
    if let Some(path) = &history {
        // The first time there is none.
        let _ = editor.load_history(path);
    }
    let greeting = format!("{}. \\h lists the commands, \\q leaves.\n", shell.backend.greeting());
    shell.say(&greeting)?;
    let left = converse(shell, &mut editor);
    if let Some(path) = &history
        && let Err(e) = editor.save_history(path)
    {
        writeln!(shell.err, "the history was not saved: {}: {e}", path.display())?;
    }
    left
}

fn converse(shell: &mut Shell<'_>, editor: &mut Editor<Completion, DefaultHistory>) -> io::Result<()> {
    let mut splitter = Splitter::new();
    let mut typed = String::new();
    loop {
        if std::mem::take(&mut shell.names_changed)
            && let Some(helper) = editor.helper_mut()
        {
            let _killable = shell.interrupts.as_ref().map(|i| i.during(shell.backend.killer()));
            helper.words = Words::read(shell.backend.as_mut());
        }
        let prompt = match splitter.pending() {
            None => "vaquita> ".to_owned(),
            Some(c) => format!("      {c}> "),
        };
        match editor.readline(&prompt) {
            Ok(line) => {
                shell.note(&format!("{prompt}{line}\n"))?;
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
            // From elsewhere than the keyboard: there is nothing to end.
            Err(ReadlineError::Signal(_)) => {}
            Err(ReadlineError::Eof) => return Ok(()),
            Err(e) => return Err(other(e)),
        }
    }
}
