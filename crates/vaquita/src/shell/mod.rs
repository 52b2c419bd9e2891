//! The shell: SQL typed by people or piped by scripts, run on a folder in this process or on a server.
//!
//! | part | module |
//! |---|---|
//! | cutting input into statements and commands | [`input`] |
//! | tables, vertical rows, tab-separated rows | [`print`](mod@print) |
//! | where statements run: a folder, a server | [`backend`], [`remote`] |
//! | the dialogue: line editing, history | [`dialogue`] |
//! | how long a statement runs | [`progress`] |
//! | what was asked and answered, for comparing | [`transcript`] |
//!
//! Exit codes: 0 all statements worked, 1 one failed, 2 there was nobody to run them.

mod backend;
mod dialogue;
mod input;
mod print;
mod progress;
mod remote;
mod transcript;

use backend::{Backend, Local};
use input::{Piece, Splitter};
use print::{Layout, Printer};
use progress::Ticker;
use std::io::{self, BufRead, IsTerminal, Write};
use std::time::Instant;
use vaquita_sql::SqlError;

/// What the command line says.
#[derive(Debug, clap::Args)]
pub(crate) struct ShellArgs {
    /// A data folder (created if it is not there), or mysql://USER[:PASSWORD]@HOST[:PORT][/DATABASE]
    target: String,
    /// Run these statements instead of reading them
    #[arg(short, long, value_name = "SQL")]
    execute: Vec<String>,
    /// Begin in this database
    #[arg(short = 'D', long, value_name = "NAME")]
    database: Option<String>,
    /// Results as tables, also when not typed by hand
    #[arg(short, long)]
    table: bool,
    /// Results as tab-separated lines, also when typed by hand
    #[arg(short = 'B', long, conflicts_with = "table")]
    batch: bool,
    /// No line of column names
    #[arg(short = 'N', long)]
    skip_column_names: bool,
    /// Results one value a line
    #[arg(short = 'E', long)]
    vertical: bool,
    /// Go on after an error
    #[arg(short, long)]
    force: bool,
    /// Write down what was asked and answered, with counts, warnings and errors: to compare servers
    #[arg(long, conflicts_with_all = ["table", "batch", "vertical"])]
    transcript: bool,
    /// System variables of the folder, as NAME=VALUE
    #[arg(long = "set", value_name = "NAME=VALUE")]
    variables: Vec<String>,
}

/// A shell with its backend and its way of printing.
struct Shell<'o> {
    backend: Box<dyn Backend>,
    layout: Layout,
    /// Counts and times after every statement; progress of long ones.
    talkative: bool,
    force: bool,
    transcript: bool,
    failed: bool,
    out: &'o mut dyn Write,
    err: &'o mut dyn Write,
}

/// Runs the shell; gives the exit code.
pub(crate) fn run(args: &ShellArgs, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    let backend = match connect(args) {
        Ok(backend) => backend,
        Err(why) => {
            let _ = writeln!(err, "vaquita: {why}");
            return 2;
        }
    };
    let by_hand = args.execute.is_empty() && io::stdin().is_terminal();
    let layout = Layout {
        table: (by_hand || args.table) && !args.batch,
        vertical: args.vertical,
        names: !args.skip_column_names,
    };
    let mut shell = Shell {
        backend,
        layout,
        talkative: by_hand && !args.transcript,
        force: args.force || by_hand || args.transcript,
        transcript: args.transcript,
        failed: false,
        out,
        err,
    };
    let done = if !args.execute.is_empty() {
        shell.run_text(&mut args.execute.join(";\n").as_bytes())
    } else if by_hand {
        dialogue::run(&mut shell)
    } else {
        shell.run_text(&mut io::stdin().lock())
    };
    let closed = shell.backend.close();
    let failed = shell.failed;
    if let Err(e) = done {
        // Whoever reads our output has seen enough.
        if e.kind() != io::ErrorKind::BrokenPipe {
            let _ = writeln!(err, "vaquita: {e}");
            return 2;
        }
    }
    if let Err(e) = closed {
        let _ = writeln!(err, "vaquita: {e}");
        return 2;
    }
    u8::from(failed && !by_hand && !args.transcript)
}

fn connect(args: &ShellArgs) -> Result<Box<dyn Backend>, String> {
    let mut backend: Box<dyn Backend> = if args.target.starts_with("mysql://") {
        Box::new(remote::Remote::connect(&args.target)?)
    } else {
        let mut variables = Vec::new();
        for setting in &args.variables {
            let (name, value) =
                setting.split_once('=').ok_or_else(|| format!("--set {setting}: wanted is NAME=VALUE"))?;
            variables.push((name.to_owned(), value.to_owned()));
        }
        Box::new(Local::open(&args.target, variables).map_err(|e| format!("{}: {e}", args.target))?)
    };
    if let Some(name) = &args.database {
        let text = format!("use `{}`", name.replace('`', "``"));
        backend.run(text.as_bytes(), &mut print::Nothing).map_err(|e| e.to_string())?;
    }
    Ok(backend)
}

impl Shell<'_> {
    /// Runs everything that a script holds.
    fn run_text(&mut self, text: &mut dyn BufRead) -> io::Result<()> {
        let mut splitter = Splitter::new();
        let mut line = Vec::new();
        loop {
            line.clear();
            if text.read_until(b'\n', &mut line)? == 0 {
                break;
            }
            splitter.push_line(&line);
            if !self.run_pieces(&mut splitter)? {
                return Ok(());
            }
        }
        if let Some(rest) = splitter.finish() {
            self.statement(&rest.text, false, rest.line)?;
        }
        self.out.flush()
    }

    /// Runs what is complete; false: no more is to be run.
    fn run_pieces(&mut self, splitter: &mut Splitter) -> io::Result<bool> {
        while let Some(piece) = splitter.next_piece() {
            match piece {
                Piece::Statement { text, vertical, line } => {
                    self.statement(&text, vertical, line)?;
                    if self.failed && !self.force {
                        return Ok(false);
                    }
                }
                Piece::Quit => return Ok(false),
                Piece::Help => write!(self.out, "{}", input::HELP)?,
                Piece::Source(path) => match std::fs::File::open(&path) {
                    Ok(file) => self.run_text(&mut io::BufReader::new(file))?,
                    Err(e) => {
                        self.failed = true;
                        writeln!(self.err, "ERROR: {path}: {e}")?;
                    }
                },
                Piece::Unknown(word) => {
                    self.failed = true;
                    writeln!(self.err, "ERROR: no command {word}; \\h lists them")?;
                }
            }
        }
        Ok(true)
    }

    fn statement(&mut self, text: &[u8], vertical: bool, line: usize) -> io::Result<()> {
        if self.transcript {
            return transcript::statement(self.backend.as_mut(), text, self.out);
        }
        let layout = Layout { vertical: vertical || self.layout.vertical, ..self.layout };
        let start = Instant::now();
        let mut printer = Printer::new(layout, self.talkative, self.out);
        let done = {
            let _ticker = (self.talkative && io::stderr().is_terminal())
                .then(|| Ticker::start(self.backend.activity()));
            self.backend.run(text, &mut printer)
        };
        printer.finish(start.elapsed())?;
        self.out.flush()?;
        if let Err(e) = done {
            self.failed = true;
            self.report(&e, line)?;
        }
        Ok(())
    }

    fn report(&mut self, e: &SqlError, line: usize) -> io::Result<()> {
        let at = if self.talkative { String::new() } else { format!(" at line {line}") };
        writeln!(self.err, "ERROR {} ({}){at}: {}", e.code, e.sqlstate, e.message)
    }
}
