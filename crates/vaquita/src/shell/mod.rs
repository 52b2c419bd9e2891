//! The shell: SQL typed by people or piped by scripts, run on a folder in this process or on a server.
//!
//! | part | module |
//! |---|---|
//! | cutting input into statements and commands | [`input`] |
//! | tables, vertical rows, tab-separated rows; other forms | [`print`](mod@print), [`forms`] |
//! | where results go: the terminal, a pager, a file | [`page`] |
//! | where statements run: a folder, a server | [`backend`], [`remote`], [`address`] |
//! | the dialogue: line editing, history; the Tab key; Ctrl-C | [`dialogue`], [`complete`], [`interrupt`] |
//! | commands that are no statements | [`commands`] |
//! | how long a statement runs | [`progress`] |
//! | what was asked and answered, for comparing | [`transcript`] |
//!
//! Exit codes: 0 all statements worked, 1 one failed, 2 there was nobody to run them.

mod address;
mod backend;
mod commands;
mod complete;
mod dialogue;
mod forms;
mod input;
mod interrupt;
mod page;
mod print;
mod progress;
mod remote;
mod transcript;

use address::{Address, ServerArgs};
use backend::{Backend, Local};
use input::{Piece, Splitter};
use interrupt::Interrupts;
use page::Page;
use print::{Form, Layout, Printer};
use progress::Ticker;
use std::fs::File;
use std::io::{self, BufRead, IsTerminal, Write};
use std::time::Instant;
use vaquita_sql::SqlError;

/// What the command line says.
#[derive(Debug, clap::Args)]
pub(crate) struct ShellArgs {
    /// A data folder (created if it is not there), or mysql://USER[:PASSWORD]@HOST[:PORT][/DATABASE]
    #[arg(required_unless_present_any = ["socket", "host", "port", "user"])]
    target: Option<String>,
    #[command(flatten)]
    server: ServerArgs,
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
    /// Form of results [default: a table by hand, else tsv]
    #[arg(long, value_enum, value_name = "FORM", conflicts_with_all = ["table", "batch", "vertical"])]
    format: Option<Form>,
    /// By hand: do not read the names that the Tab key completes
    #[arg(short = 'A', long)]
    no_auto_rehash: bool,
    /// Go on after an error
    #[arg(short, long)]
    force: bool,
    /// Write down what was asked and answered, with counts, warnings and errors: to compare servers
    #[arg(long, conflicts_with_all = ["table", "batch", "vertical", "format"])]
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
    /// What results are shown through.
    pager: Option<String>,
    /// Where everything goes, too.
    tee: Option<(String, File)>,
    /// By hand only: scripts end by the signal.
    interrupts: Option<Interrupts>,
    /// The names that are completed follow the statements.
    follows_names: bool,
    /// They are to be read anew.
    names_changed: bool,
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
    let layout = Layout { form: form(args, by_hand), names: !args.skip_column_names };
    let mut shell = Shell {
        backend,
        layout,
        talkative: by_hand && !args.transcript,
        force: args.force || by_hand || args.transcript,
        transcript: args.transcript,
        failed: false,
        pager: None,
        tee: None,
        interrupts: None,
        follows_names: by_hand && !args.no_auto_rehash,
        names_changed: by_hand && !args.no_auto_rehash,
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

fn form(args: &ShellArgs, by_hand: bool) -> Form {
    match args.format {
        Some(form) => form,
        None if args.vertical => Form::Vertical,
        None if (by_hand || args.table) && !args.batch => Form::Table,
        None => Form::Tsv,
    }
}

fn connect(args: &ShellArgs) -> Result<Box<dyn Backend>, String> {
    let mut backend: Box<dyn Backend> = match &args.target {
        Some(dir) if !dir.starts_with("mysql://") => {
            if args.server.is_given() {
                return Err(format!(
                    "{dir}: --socket, --host, --port, --user and --password are of servers, not of folders"
                ));
            }
            if dir.contains("://") {
                return Err(format!(
                    "{dir}: servers are reached by mysql://USER:PASSWORD@HOST/DATABASE, and by no other protocol"
                ));
            }
            crate::serve::check_folder(std::path::Path::new(dir), false)?;
            let mut variables = Vec::new();
            for setting in &args.variables {
                let (name, value) = setting
                    .split_once('=')
                    .ok_or_else(|| format!("--set {setting}: wanted is NAME=VALUE"))?;
                variables.push((name.to_owned(), value.to_owned()));
            }
            Box::new(Local::open(dir, variables).map_err(|e| format!("{dir}: {e}"))?)
        }
        url => Box::new(remote::Remote::connect(&Address::of(url.as_deref(), &args.server)?)?),
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
                command => self.command(command, splitter)?,
            }
        }
        Ok(true)
    }

    fn statement(&mut self, text: &[u8], vertical: bool, line: usize) -> io::Result<()> {
        if self.transcript {
            return transcript::statement(self.backend.as_mut(), text, self.out);
        }
        let layout = Layout { form: if vertical { Form::Vertical } else { self.layout.form }, ..self.layout };
        let start = Instant::now();
        let tee = self.tee.as_mut().map(|(_, file)| file);
        let mut page = match Page::open(self.out, self.pager.as_deref(), tee) {
            Ok(page) => page,
            Err(e) => return self.complain(&format!("the pager cannot be run: {e}")),
        };
        let mut printer = Printer::new(layout, &mut page);
        let done = {
            let _killable = self.interrupts.as_ref().map(|i| i.during(self.backend.killer()));
            let _ticker = (self.talkative && io::stderr().is_terminal())
                .then(|| Ticker::start(self.backend.activity()));
            self.backend.run(text, &mut printer)
        };
        let what_was_done = printer.finish(start.elapsed())?;
        page.close()?;
        if self.talkative {
            self.say(&what_was_done)?;
        }
        self.names_changed |= self.follows_names && commands::changes_names(text);
        if let Err(e) = done {
            self.failed = true;
            self.report(&e, line)?;
        }
        Ok(())
    }

    /// Writes to the file, if there is one.
    fn note(&mut self, text: &str) -> io::Result<()> {
        match &mut self.tee {
            Some((_, file)) => file.write_all(text.as_bytes()),
            None => Ok(()),
        }
    }

    /// Writes to the terminal, past the pager.
    fn say(&mut self, text: &str) -> io::Result<()> {
        self.note(text)?;
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }

    /// Something that is no statement went wrong.
    fn complain(&mut self, why: &str) -> io::Result<()> {
        self.failed = true;
        self.say_error(&format!("ERROR: {why}\n"))
    }

    fn say_error(&mut self, text: &str) -> io::Result<()> {
        self.note(text)?;
        self.err.write_all(text.as_bytes())
    }

    fn report(&mut self, e: &SqlError, line: usize) -> io::Result<()> {
        let at = if self.talkative { String::new() } else { format!(" at line {line}") };
        self.say_error(&format!("ERROR {} ({}){at}: {}\n", e.code, e.sqlstate, e.message))
    }
}
